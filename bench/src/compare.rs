//! Two ways of doing the same work, measured in turn.
//!
//! 1. Both sides run once, unmeasured, so that files, memory and code are warm.
//! 2. In each round both run, and the one that begins changes from round to round: whatever else the machine does meets both.
//! 3. Each side gives a checksum of what it made; a difference ends the suite, since times of different work mean nothing.
//! 4. The ratio of each round is taken by itself, and the median of those ratios counts.

use crate::row::{Ratio, Row};
use std::error::Error;
use std::time::{Duration, Instant};

/// What a side did in a round.
pub(crate) struct Timed {
    pub(crate) elapsed: Duration,
    pub(crate) checksum: u64,
}

/// A side of a comparison, called once a round. It times itself, so that it can prepare and clean up.
pub(crate) type Side<'a> = &'a mut dyn FnMut() -> Result<Timed, Box<dyn Error>>;

/// What is compared.
pub(crate) struct Case {
    pub(crate) suite: &'static str,
    pub(crate) name: String,
    /// Operations in a round.
    pub(crate) n: u64,
    pub(crate) peer: &'static str,
    pub(crate) rounds: usize,
    pub(crate) note: String,
}

/// Runs both sides in turn.
pub(crate) fn compare(case: Case, ours: Side<'_>, peer: Side<'_>) -> Result<Row, Box<dyn Error>> {
    let mut times = (Vec::new(), Vec::new());
    for round in 0..=case.rounds {
        let (our, their) = if round % 2 == 0 {
            let our = ours()?;
            (our, peer()?)
        } else {
            let their = peer()?;
            (ours()?, their)
        };
        if our.checksum != their.checksum {
            let (name, ours, theirs) = (&case.name, our.checksum, their.checksum);
            return Err(format!("{name}: the sides did different work: checksums {ours:x} and {theirs:x}").into());
        }
        if round > 0 {
            times.0.push(our.elapsed.as_nanos() as f64);
            times.1.push(their.elapsed.as_nanos() as f64);
        }
    }
    Ok(row(case, times))
}

/// Runs both sides in turn, with a note that says what the ratio must be, and whether it is.
pub(crate) fn contest(
    mut case: Case,
    must: Option<(f64, &str)>,
    ours: Side<'_>,
    peer: Side<'_>,
) -> Result<Row, Box<dyn Error>> {
    let note = std::mem::take(&mut case.note);
    let mut row = compare(case, ours, peer)?;
    row.note = judged(&note, must, row.ratio.map(|ratio| ratio.median));
    Ok(row)
}

/// The row of what both sides took in each round; it is also shown.
pub(crate) fn row(case: Case, (ours, theirs): (Vec<f64>, Vec<f64>)) -> Row {
    let ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, theirs)| theirs / ours).collect();
    let (min, max) = ratios.iter().fold((f64::MAX, f64::MIN), |(low, high), &ratio| (low.min(ratio), high.max(ratio)));
    let Case { suite, name, n, peer, rounds, note } = case;
    let (ours, peer_figure, median) = (Some(median(ours)), Some(median(theirs)), median(ratios));
    eprintln!("{name:<40} {median:>8.2} times {peer}");
    let ratio = Some(Ratio { median, min, max });
    Row { suite, case: name, n, ours, peer, peer_figure, ratio, rounds, unit: None, note }
}

pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    if figures.len().is_multiple_of(2) { (figures[middle - 1] + figures[middle]) / 2.0 } else { figures[middle] }
}

/// Times a piece of work.
pub(crate) fn timed<T>(work: impl FnOnce() -> Result<T, Box<dyn Error>>) -> Result<(Duration, T), Box<dyn Error>> {
    let began = Instant::now();
    let done = work()?;
    Ok((began.elapsed(), done))
}

/// The note, with the must and whether it is met.
pub(crate) fn judged(note: &str, must: Option<(f64, &str)>, ratio: Option<f64>) -> String {
    let Some((least, case)) = must else { return note.to_owned() };
    let verdict = if ratio.is_some_and(|ratio| ratio >= least) { "met" } else { "missed" };
    let separator = if note.is_empty() { "" } else { "; " };
    format!("{note}{separator}must be {least} or more ({case}): {verdict}")
}

/// What a side took, without what it does beside the work.
#[derive(Default)]
pub(crate) struct Clock {
    pub(crate) elapsed: Duration,
}

impl Clock {
    /// Work that is part of the comparison.
    #[inline]
    pub(crate) fn run<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let done = work();
        self.elapsed += began.elapsed();
        done
    }

    pub(crate) fn done(self, checksum: u64) -> Timed {
        Timed { elapsed: self.elapsed, checksum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_the_ratios_counts() {
        let case = Case { suite: "s", name: "c".to_owned(), n: 1, peer: "p", rounds: 3, note: String::new() };
        let row = row(case, (vec![1.0, 2.0, 4.0], vec![3.0, 2.0, 8.0]));
        assert_eq!((row.ours, row.peer_figure), (Some(2.0), Some(3.0)));
        assert_eq!(row.ratio, Some(Ratio { median: 2.0, min: 1.0, max: 3.0 }));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn different_work_is_no_comparison() {
        let case = Case { suite: "s", name: "c".to_owned(), n: 1, peer: "p", rounds: 1, note: String::new() };
        let side = |checksum| move || Ok(Timed { elapsed: Duration::from_nanos(1), checksum });
        assert!(compare(case, &mut side(1), &mut side(2)).is_err());
    }

    #[test]
    fn a_must_is_met_or_missed() {
        assert_eq!(judged("16 B", None, Some(1.0)), "16 B");
        assert_eq!(judged("16 B", Some((2.0, "copy")), Some(2.0)), "16 B; must be 2 or more (copy): met");
        assert_eq!(judged("", Some((2.0, "copy")), Some(1.99)), "must be 2 or more (copy): missed");
    }
}
