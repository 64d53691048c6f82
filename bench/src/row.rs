//! The outcome of a case, and how it is written.
//!
//! A run is a JSON list with an object a line. `ours_ns` and `peer_ns` are medians over the rounds, in nanoseconds for all `n`
//! operations of a round; where there is a `unit`, they are counts of that instead. `ratio` is the median over the rounds
//! of the peer's figure over ours: above 1 we are ahead. `ratio_min` and `ratio_max` are its extremes. What could not be
//! measured, because a side did not finish, is `null`, and the note says why.

use serde_json::Value;

/// One case.
pub(crate) struct Row {
    pub(crate) suite: &'static str,
    pub(crate) case: String,
    /// Operations in a round.
    pub(crate) n: u64,
    pub(crate) ours: Option<f64>,
    pub(crate) peer: &'static str,
    pub(crate) peer_figure: Option<f64>,
    pub(crate) ratio: Option<Ratio>,
    pub(crate) rounds: usize,
    /// What is counted, if not time.
    pub(crate) unit: Option<&'static str>,
    pub(crate) note: String,
}

/// The peer's figure over ours, round by round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Row {
    fn json(&self) -> String {
        let text = |text: &str| Value::from(text).to_string();
        let (suite, case, peer, note) = (text(self.suite), text(&self.case), text(self.peer), text(&self.note));
        let (ours, peer_figure) = (number(self.ours, 0), number(self.peer_figure, 0));
        let of_ratio = |part: fn(Ratio) -> f64| number(self.ratio.map(part), 3);
        let (ratio, min, max) =
            (of_ratio(|ratio| ratio.median), of_ratio(|ratio| ratio.min), of_ratio(|ratio| ratio.max));
        let Self { n, rounds, .. } = self;
        let unit = self.unit.map(|unit| format!(r#","unit":{}"#, text(unit))).unwrap_or_default();
        format!(
            r#"{{"suite":{suite},"case":{case},"n":{n},"ours_ns":{ours},"peer":{peer},"peer_ns":{peer_figure},"ratio":{ratio},"ratio_min":{min},"ratio_max":{max},"rounds":{rounds}{unit},"note":{note}}}"#
        )
    }
}

fn number(figure: Option<f64>, digits: usize) -> String {
    figure.map_or_else(|| "null".to_owned(), |figure| format!("{figure:.digits$}"))
}

/// The text of a run.
pub(crate) fn json(rows: &[Row]) -> String {
    let lines: Vec<String> = rows.iter().map(Row::json).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

/// The names of all cases with their peers, a line each, in the order of the rows. They do not depend on sizes or figures.
pub(crate) fn names(rows: &[Row]) -> String {
    let mut lines: Vec<String> = rows.iter().map(|row| format!("{}\t{}\n", row.case, row.peer)).collect();
    // Some cases differ only by their notes.
    lines.dedup();
    lines.concat()
}

/// The lines of the list of cases that is kept of a suite.
#[cfg(test)]
pub(crate) fn kept_names(suite: &str) -> std::collections::BTreeSet<String> {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(suite).with_extension("txt");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    text.lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_measured_is_null() {
        let ratio = Some(Ratio { median: 2.0, min: 1.5, max: 3.0 });
        let row = Row {
            suite: "s",
            case: "c".to_owned(),
            n: 2,
            ours: Some(1.4),
            peer: "p",
            peer_figure: Some(2.8),
            ratio,
            rounds: 3,
            unit: None,
            note: "why".to_owned(),
        };
        let figures =
            r#""ours_ns":1,"peer":"p","peer_ns":3,"ratio":2.000,"ratio_min":1.500,"ratio_max":3.000,"rounds":3"#;
        assert!(row.json().contains(figures), "{}", row.json());
        let row = Row { ours: None, ratio: None, ..row };
        let figures =
            r#""ours_ns":null,"peer":"p","peer_ns":3,"ratio":null,"ratio_min":null,"ratio_max":null,"rounds":3"#;
        assert!(row.json().contains(figures), "{}", row.json());
    }
}
