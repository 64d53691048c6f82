//! The runs that were kept: `DATE-HOST/SUITE.json` in a folder, each a list with an object a case; and which cases the suites
//! have today: `SUITE.txt` in a folder, a case a line, its name and its peer with a tab between them.
//!
//! A kept run is never edited. It may have cases that the suite does not make any more, which are left out.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use super::code;
use serde_json::Value;

/// A run of one suite.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) suite: String,
    /// The date and the kind of machine, as the folder is called.
    pub(super) name: String,
    pub(super) cases: Vec<Case>,
    /// How many cases it has that the suite does not make any more. They are not among the cases here.
    pub(super) retired: usize,
    /// How many cases the suite makes that it does not have.
    pub(super) missing: usize,
    /// Whether the code that it measured is the code of the checkout.
    pub(super) is_of_this_code: bool,
}

/// What came of one case. Figures are for all `n` operations of a round, in nanoseconds unless there is a unit. What could
/// not be measured is nothing, and the note says why.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) n: f64,
    pub(super) ours: Option<f64>,
    pub(super) peer: String,
    pub(super) peer_figure: Option<f64>,
    pub(super) ratio: Option<f64>,
    pub(super) ratio_min: Option<f64>,
    pub(super) ratio_max: Option<f64>,
    pub(super) rounds: f64,
    pub(super) unit: Option<String>,
    pub(super) note: String,
}

/// The newest run of each suite, by the date in the name of its folder, with the cases that the suite still makes.
///
/// # Errors
/// A folder or file cannot be read, or holds something else; the message names it.
pub(super) fn newest(runs: &Path, cases: &Path) -> Result<Vec<Run>, String> {
    let mut newest = BTreeMap::new();
    for run in entries(runs)? {
        for file in entries(&run)?.into_iter().filter(|path| path.extension().is_some_and(|end| end == "json")) {
            // Folders come in the order of their dates, so the last one stays.
            newest.insert(stem(&file), file);
        }
    }
    let runs = newest.into_values().map(|file| {
        let mut run = read(&file)?;
        let made = made(cases, &run.suite)?;
        let named = |case: &Case| (case.name.clone(), case.peer.clone());
        let all = run.cases.len();
        run.cases.retain(|case| made.contains(&named(case)));
        run.retired = all - run.cases.len();
        let measured = fs::read_to_string(code::beside(&file)).unwrap_or_default();
        run.is_of_this_code = !measured.is_empty() && measured.trim_end() == code::hash(&run.suite)?;
        run.missing = made.len() - run.cases.iter().map(named).collect::<HashSet<_>>().len();
        Ok(run)
    });
    runs.collect()
}

/// The cases that a suite makes, by name and peer.
///
/// # Errors
/// The list cannot be read, or a line has no tab; the message names it.
pub(super) fn made(folder: &Path, suite: &str) -> Result<HashSet<(String, String)>, String> {
    let file = folder.join(suite).with_extension("txt");
    let text = fs::read_to_string(&file)
        .map_err(|error| format!("cannot read {}: {error}; a run of the suite writes it", file.display()))?;
    let case = |line: &str| {
        let (name, peer) = line.split_once('\t').ok_or(format!("{}: no tab in {line:?}", file.display()))?;
        Ok((name.to_owned(), peer.to_owned()))
    };
    text.lines().map(case).collect()
}

/// The entries of a folder in order; none if there is no folder.
fn entries(folder: &Path) -> Result<Vec<std::path::PathBuf>, String> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let told = |error| format!("cannot read {}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(told)?;
    let mut paths = entries.map(|entry| Ok(entry.map_err(told)?.path())).collect::<Result<Vec<_>, String>>()?;
    paths.sort();
    Ok(paths)
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Reads one run.
///
/// # Errors
/// As [`newest`].
pub(super) fn read(file: &Path) -> Result<Run, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let cases = parse(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    let folder = file.parent().and_then(Path::file_name).unwrap_or_default();
    Ok(Run {
        suite: stem(file),
        name: folder.to_string_lossy().into_owned(),
        cases,
        retired: 0,
        missing: 0,
        is_of_this_code: false,
    })
}

fn parse(text: &str) -> Result<Vec<Case>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    value.as_array().ok_or("not a list of cases")?.iter().map(case).collect()
}

fn case(value: &Value) -> Result<Case, String> {
    let text = |key: &str| value[key].as_str().map(str::to_owned).ok_or(format!("a case without the text \"{key}\""));
    let number = |key: &str| value[key].as_f64().ok_or(format!("a case without the number \"{key}\""));
    let measured =
        |key: &str| if value.get(key).is_some_and(Value::is_null) { Ok(None) } else { number(key).map(Some) };
    Ok(Case {
        name: text("case")?,
        n: number("n")?,
        ours: measured("ours_ns")?,
        peer: text("peer")?,
        peer_figure: measured("peer_ns")?,
        ratio: measured("ratio")?,
        ratio_min: measured("ratio_min")?,
        ratio_max: measured("ratio_max")?,
        rounds: number("rounds")?,
        unit: value["unit"].as_str().map(str::to_owned),
        note: text("note")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASE: &str = r#"{"suite":"s","case":"c","n":2,"ours_ns":10,"peer":"p","peer_ns":30,"ratio":3.0,"ratio_min":2.5,"ratio_max":3.5,"rounds":5,"note":""}"#;

    #[test]
    fn a_case_is_read() {
        let cases = parse(&format!("[{CASE}]")).unwrap();
        assert_eq!((cases[0].name.as_str(), cases[0].ours, cases[0].ratio_max), ("c", Some(10.0), Some(3.5)));
        assert_eq!(cases[0].unit, None);
        let counted = CASE.replace("\"note\"", "\"unit\":\"fsyncs\",\"note\"");
        assert_eq!(parse(&format!("[{counted}]")).unwrap()[0].unit.as_deref(), Some("fsyncs"));
        let unfinished = CASE.replace("\"peer_ns\":30", "\"peer_ns\":null");
        assert_eq!(parse(&format!("[{unfinished}]")).unwrap()[0].peer_figure, None);
    }

    #[test]
    fn the_newest_run_is_shown_without_cases_that_the_suite_lost() {
        let folder = std::env::temp_dir().join(format!("xtask-runs-{}", std::process::id()));
        let (runs, cases) = (folder.join("runs"), folder.join("cases"));
        for (day, names) in [("2026-01-01-here", ["old", "c"]), ("2026-01-02-here", ["c", "lost"])] {
            fs::create_dir_all(runs.join(day)).unwrap();
            let rows = names.map(|name| CASE.replace(r#""case":"c""#, &format!(r#""case":"{name}""#)));
            fs::write(runs.join(day).join("s.json"), format!("[{}]", rows.join(","))).unwrap();
        }
        fs::create_dir_all(&cases).unwrap();
        assert!(newest(&runs, &cases).unwrap_err().contains("a run of the suite writes it"));
        fs::write(cases.join("s.txt"), "c\tp\nnew\tp\nlost\tanother peer\n").unwrap();
        let shown = newest(&runs, &cases).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!((shown.len(), shown[0].name.as_str(), shown[0].cases.len()), (1, "2026-01-02-here", 1));
        assert_eq!((shown[0].cases[0].name.as_str(), shown[0].retired, shown[0].missing), ("c", 1, 2));
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(parse("{}").unwrap_err(), "not a list of cases");
        let without = CASE.replace("\"ratio\":3.0,", "");
        assert_eq!(parse(&format!("[{without}]")).unwrap_err(), "a case without the number \"ratio\"");
    }
}
