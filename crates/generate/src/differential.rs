//! Two ways of running generated programs, compared.

use crate::compare::nameless;
use crate::shrink;
use std::ops::Range;
use std::{fmt, io};

/// What running a program came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ran {
    /// What it printed, in a form in which two ways can be compared.
    Printed(Vec<String>),
    /// It asked for more than it may have: nothing to compare.
    Stopped,
}

impl Ran {
    /// What the program printed without the names of variables: see [`nameless`].
    #[must_use]
    pub fn nameless(self, program: &str) -> Self {
        let Self::Printed(lines) = self else { return self };
        Self::Printed(lines.iter().flat_map(|line| nameless(program, line)).collect())
    }
}

/// A program that two ways of running it disagree about.
#[derive(Debug)]
pub struct Difference {
    /// What the program was made from.
    pub seed: u64,
    /// The smallest program found.
    pub program: String,
    /// What the two ways print.
    pub printed: [Vec<String>; 2],
}

/// What came of a comparison.
#[derive(Debug, Default)]
pub struct Report {
    /// How many programs ran both ways.
    pub compared: usize,
    /// How many did not end in time one way or the other.
    pub stopped: usize,
    /// Those that differ.
    pub differences: Vec<Difference>,
}

/// A comparison ends after this many differences.
const DIFFERENCES_MAX: usize = 5;

/// Runs a program of each seed both ways. A program that differs is made smaller.
pub fn compare(
    seeds: Range<u64>,
    make: impl Fn(u64) -> String,
    mut first: impl FnMut(&str) -> Ran,
    mut second: impl FnMut(&str) -> Ran,
) -> Report {
    let mut report = Report::default();
    for seed in seeds {
        let program = make(seed);
        match differing(&program, &mut first, &mut second) {
            None => report.stopped += 1,
            Some(None) => report.compared += 1,
            Some(Some(_)) => {
                report.compared += 1;
                let shows = |text: &str| differing(text, &mut first, &mut second).flatten().is_some();
                let program = shrink(&program, shows);
                let printed = differing(&program, &mut first, &mut second).flatten().expect("it still differs");
                report.differences.push(Difference { seed, program, printed });
            }
        }
        if report.differences.len() == DIFFERENCES_MAX {
            break;
        }
    }
    report
}

/// What a program prints both ways if that differs; none if it was stopped.
fn differing(
    program: &str,
    first: &mut impl FnMut(&str) -> Ran,
    second: &mut impl FnMut(&str) -> Ran,
) -> Option<Option<[Vec<String>; 2]>> {
    let (Ran::Printed(one), Ran::Printed(other)) = (first(program), second(program)) else { return None };
    Some((one != other).then_some([one, other]))
}

/// The seeds `A..B` named by the variable `METROON_SEEDS`, otherwise `usual`.
///
/// # Panics
/// The variable holds something else.
#[must_use]
pub fn seeds(usual: Range<u64>) -> Range<u64> {
    match std::env::var("METROON_SEEDS") {
        Ok(text) if !text.is_empty() => range(&text).unwrap_or_else(|error| panic!("METROON_SEEDS: {error}")),
        _ => usual,
    }
}

/// Reads `A..B`.
///
/// # Errors
/// Anything else; the message says what is wanted.
pub fn range(text: &str) -> Result<Range<u64>, String> {
    let ends = text.split_once("..").and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    ends.map(|(from, to)| from..to)
        .ok_or_else(|| format!("{text} is not a range of seeds; write A..B, such as 0..1000"))
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}:\n{}", self.seed, self.program.trim_end())?;
        writeln!(f, "  one way:\n    {}", self.printed[0].join("\n    "))?;
        write!(f, "  the other:\n    {}", self.printed[1].join("\n    "))
    }
}

impl Report {
    /// Tells those who run a test with `--nocapture` how many programs were compared.
    pub fn say(&self) {
        let _ = io::Write::write_fmt(&mut io::stderr(), format_args!("{self}\n"));
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for difference in &self.differences {
            writeln!(f, "{difference}\n")?;
        }
        let Report { compared, stopped, differences } = self;
        write!(f, "{compared} programs compared, {} differ, {stopped} stopped", differences.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_found_and_made_small() {
        let printed = |text: &str| Ran::Printed(vec![text.len().to_string()]);
        let other = |text: &str| match text.contains("bad") {
            true => Ran::Printed(vec!["0".to_owned()]),
            false => printed(text),
        };
        let make = |seed: u64| if seed == 7 { "(a (b bad))\n(c)\n".to_owned() } else { "(fine)\n".to_owned() };
        let report = compare(0..10, make, printed, other);
        assert_eq!((report.compared, report.stopped, report.differences.len()), (10, 0, 1));
        assert_eq!((report.differences[0].seed, report.differences[0].program.as_str()), (7, "bad\n"));
        let stopped = compare(0..3, make, printed, |_| Ran::Stopped);
        assert_eq!((stopped.compared, stopped.stopped), (0, 3));
    }

    #[test]
    fn a_range_is_read() {
        assert_eq!(range("3..10"), Ok(3..10));
        assert!(range("3").unwrap_err().contains("write A..B"));
    }
}
