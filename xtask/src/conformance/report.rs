//! What came of each assertion, by file and together, as text.

use std::fmt;

use super::assertions::Assertion;
use super::record::Record;
use crate::process::Finished;

/// The words by which a run says that it met a name Metroon does not have yet.
const UNSUPPORTED: &str = "is not supported yet";
/// How much of an unexpected result is shown.
const SHOWN_CHARACTERS_MAX: usize = 160;

/// All files of a suite; those that fail where they come from stand beside.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) files: Vec<FileReport>,
    pub(super) stale: Vec<FileReport>,
}

/// What came of one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileReport {
    name: String,
    tally: Tally,
    /// Line and reason of each assertion that did not pass.
    misses: Vec<(usize, String)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: usize,
    failed: usize,
    unsupported: usize,
}

impl FileReport {
    /// Puts together the assertions of a file, the records of its run, and how the run ended.
    pub(super) fn new(name: String, assertions: &[Assertion], records: &[Record], run: &Finished) -> Self {
        let results = records.iter().filter_map(|record| match record {
            Record::Result { text, .. } => Some(text.as_str()),
            Record::Done { .. } | Record::Failure => None,
        });
        let unsupported = results.chain([run.stderr.as_str()]).any(|text| text.contains(UNSUPPORTED));
        let misses: Vec<(usize, String)> = assertions
            .iter()
            .filter_map(|assertion| miss(assertion.form, records, run).map(|reason| (assertion.line, reason)))
            .collect();
        let missed = misses.len();
        let (failed, unsupported) = if unsupported { (0, missed) } else { (missed, 0) };
        FileReport { name, tally: Tally { passed: assertions.len() - missed, failed, unsupported }, misses }
    }
}

/// Why the form did not pass; none if it did.
fn miss(form: usize, records: &[Record], run: &Finished) -> Option<String> {
    let done = records.iter().find_map(|record| match record {
        Record::Done { form: of, results } if *of == form => Some(*results),
        _ => None,
    });
    let texts: Vec<&str> = records
        .iter()
        .filter_map(|record| match record {
            Record::Result { form: of, text } if *of == form => Some(text.as_str()),
            _ => None,
        })
        .collect();
    match (done, texts.as_slice()) {
        (Some(1), ["()"]) => None,
        (Some(_), texts) => Some(format!("gave [{}]", excerpt(&texts.join(", ")))),
        (None, []) => Some(format!("not reached; the run ended with {}{}", run.ending(), last_words(run))),
        (None, texts) => Some(format!("did not end; it gave [{}] so far", excerpt(&texts.join(", ")))),
    }
}

fn excerpt(text: &str) -> String {
    let line = text.replace('\n', "\\n");
    match line.char_indices().nth(SHOWN_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn last_words(run: &Finished) -> String {
    let last = run.stderr.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(String::new, |line| format!(": {}", excerpt(line.trim())))
}

impl Tally {
    fn total(self) -> usize {
        self.passed + self.failed + self.unsupported
    }

    fn sum(files: &[FileReport]) -> Tally {
        files.iter().fold(Tally::default(), |sum, file| Tally {
            passed: sum.passed + file.tally.passed,
            failed: sum.failed + file.tally.failed,
            unsupported: sum.unsupported + file.tally.unsupported,
        })
    }
}

impl Report {
    pub(super) fn assertions(&self) -> usize {
        Tally::sum(&self.files).total()
    }

    pub(super) fn failed(&self) -> usize {
        Tally::sum(&self.files).failed
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.files.iter().chain(&self.stale).map(|file| file.name.chars().count());
        let width = names.max().unwrap_or(0).max("together, 000 files".len());
        misses(f, &self.files)?;
        writeln!(f, "{:<width$} assertions   passed   failed  unsupported", "file")?;
        for file in &self.files {
            row(f, width, &file.name, file.tally)?;
        }
        row(f, width, &format!("together, {} files", self.files.len()), Tally::sum(&self.files))?;
        if !self.stale.is_empty() {
            writeln!(f, "beside, stale upstream:")?;
            for file in &self.stale {
                row(f, width, &file.name, file.tally)?;
            }
        }
        Ok(())
    }
}

fn row(f: &mut fmt::Formatter<'_>, width: usize, name: &str, tally: Tally) -> fmt::Result {
    let Tally { passed, failed, unsupported } = tally;
    writeln!(f, "{name:<width$} {:>10} {passed:>8} {failed:>8} {unsupported:>12}", tally.total())
}

fn misses(f: &mut fmt::Formatter<'_>, files: &[FileReport]) -> fmt::Result {
    for file in files {
        for (line, reason) in &file.misses {
            writeln!(f, "{}:{line}: {reason}", file.name)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{assertions, record};
    use super::*;
    use std::time::Duration;

    const SOURCE: &str = "!(assertEqual 1 1)\n!(foo)\n!(assertEqual 1 2)\n!(assertEqual 3 3)\n";

    fn report(output: &str, stderr: &str) -> FileReport {
        let run = Finished {
            status: None,
            stdout: output.to_owned(),
            stderr: stderr.to_owned(),
            elapsed: Duration::from_secs(120),
        };
        FileReport::new("a.metta".to_owned(), &assertions::find(SOURCE), &record::read(output), &run)
    }

    const RUN: &str = "{\"form\":1,\"line\":1,\"result\":\"()\"}\n{\"form\":1,\"done\":true,\"results\":1}\n\
                       {\"form\":2,\"line\":2,\"result\":\"()\"}\n{\"form\":2,\"done\":true,\"results\":1}\n\
                       {\"form\":3,\"line\":3,\"result\":\"(Error x)\"}\n{\"form\":3,\"done\":true,\"results\":1}\n";

    #[test]
    fn passed_failed_and_not_reached_are_told_apart() {
        let file = report(RUN, "");
        assert_eq!(file.tally, Tally { passed: 1, failed: 2, unsupported: 0 });
        let expected = [(3, "gave [(Error x)]"), (4, "not reached; the run ended with stopped after 120 s")];
        assert_eq!(file.misses, expected.map(|(line, reason)| (line, reason.to_owned())));
    }

    #[test]
    fn a_run_without_a_name_is_unsupported() {
        let expected = Tally { passed: 1, failed: 0, unsupported: 2 };
        assert_eq!(
            report(&RUN.replace("(Error x)", "(Error x \\\"py-dot is not supported yet\\\")"), "").tally,
            expected
        );
        assert_eq!(report(RUN, "warning: py-dot is not supported yet\n").tally, expected);
    }

    #[test]
    fn an_assertion_passes_only_with_one_unit() {
        let twice = "{\"form\":1,\"result\":\"()\"}\n{\"form\":1,\"result\":\"()\"}\n{\"form\":1,\"results\":2}\n";
        assert_eq!(report(twice, "").misses[0].1, "gave [(), ()]");
        assert_eq!(report("{\"form\":1,\"results\":0}\n", "").misses[0].1, "gave []");
        assert_eq!(report("{\"form\":1,\"result\":\"()\"}\n", "").misses[0].1, "did not end; it gave [()] so far");
    }

    #[test]
    fn the_table_has_a_row_a_file_and_a_sum() {
        let report = Report { files: vec![report(RUN, ""), report(RUN, "")], stale: vec![report("", "")] };
        let text = report.to_string();
        assert!(text.contains("together, 2 files            6        2        4            0\n"), "{text}");
        assert!(
            text.ends_with("beside, stale upstream:\na.metta                      3        0        3            0\n")
        );
        assert_eq!((report.assertions(), report.failed()), (6, 4));
    }
}
