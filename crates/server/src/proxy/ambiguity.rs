//! Equal requests that were made at once and answered differently: which of them is to have which answer cannot be known.
//!
//! 1. Two requests are equal as the rules of matching have it, so nothing that is compared tells them apart. Which thread or task of
//!    a program made a request is not seen.
//! 2. They were made at once if one was there before the other was answered, in the recording or now. If so, the order in which they
//!    come is an accident, and so is which answer each gets.
//! 3. That matters if a program can tell the [answers apart](cassette::compare::answer_difference). What does not matter is not told.

use super::order::{OrderReport, RecordedSpan};
use cassette::compare::answer_difference;
use cassette::matching::RecordedExchanges;
use cassette::{Cassette, ReadError};
use std::collections::BTreeMap;

/// Recorded exchanges that ask the same, were asked at once, and have different answers. All of them were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AmbiguousAnswers {
    /// Method and URL.
    pub request: String,
    /// The numbers of the exchanges, in order.
    pub exchanges: Vec<u64>,
    /// Where the first two that differ do so, and how: `response body at id: 1 -> 2`.
    pub difference: String,
}

/// What is to be said of the order of a cassette's answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct OrderFindings {
    pub(crate) ambiguous: Vec<AmbiguousAnswers>,
    pub(crate) late: u64,
    pub(crate) untimed: u64,
}

impl OrderFindings {
    /// Of what was given: the positions of each question that had several answers.
    pub(crate) fn of(cassette: &Cassette, repeated: &[Vec<usize>], order: &OrderReport) -> Self {
        let groups = repeated.iter().flat_map(|given| at_once(cassette, given, &order.met));
        let ambiguous = groups.filter_map(|group| ambiguity(cassette, &group)).collect();
        Self { ambiguous, late: order.late, untimed: order.untimed }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.ambiguous.extend(other.ambiguous);
        self.late += other.late;
        self.untimed += other.untimed;
    }
}

/// Divides answers to a question into those that were asked for at once, directly or by way of others; leaves out those that were alone.
fn at_once(cassette: &Cassette, given: &[usize], met: &[(usize, usize)]) -> Vec<Vec<usize>> {
    // What cannot be read was not given to its end, and is told as such.
    let span = |position: usize| Some((RecordedSpan::of(&cassette.outline(position).ok()?), position));
    let mut spans: Vec<_> = given.iter().filter_map(|&position| span(position)).collect();
    spans.sort_unstable_by_key(|(span, _)| span.asked);
    let mut group_of = BTreeMap::new();
    let (mut group, mut until) = (0, None);
    for (span, position) in spans {
        if until.is_none_or(|until| span.asked >= until) {
            group = position;
        }
        until = until.max(Some(span.answered));
        group_of.insert(position, group);
    }
    for (one, other) in met {
        if let (Some(&one), Some(&other)) = (group_of.get(one), group_of.get(other)) {
            group_of.values_mut().filter(|group| **group == other).for_each(|group| *group = one);
        }
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    group_of.into_iter().for_each(|(position, group)| groups.entry(group).or_default().push(position));
    groups.into_values().filter(|group| group.len() > 1).collect()
}

/// What is to be said of exchanges that were asked for at once.
fn ambiguity(cassette: &Cassette, group: &[usize]) -> Option<AmbiguousAnswers> {
    let (&first, others) = group.split_first()?;
    let difference = match others.iter().find_map(|&other| difference(cassette, first, other).transpose())? {
        Ok(difference) => difference,
        Err(error) => format!("they cannot be compared: {error}"),
    };
    let request = Cassette::request(cassette, first).map(|request| request.line()).unwrap_or_default();
    let numbers = group.iter().filter_map(|&position| cassette.number(position).ok());
    Some(AmbiguousAnswers { request, exchanges: numbers.collect(), difference })
}

fn difference(cassette: &Cassette, one: usize, other: usize) -> Result<Option<String>, ReadError> {
    Ok(answer_difference(&cassette.exchange(one)?, &cassette.exchange(other)?).map(|change| change.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cassette::{Body, Content, Exchange, Response};

    /// Exchanges of one question that go on from one time to another, with these answers.
    fn cassette(exchanges: &[(i64, u64, &'static str)]) -> Cassette {
        let exchange = |(number, &(from_us, to_us, body)): (usize, &(i64, u64, &'static str))| {
            let lasted_us = to_us - from_us as u64;
            let body = Some(Body::new(lasted_us, body));
            Exchange {
                number: number as u64,
                started_ns: 1_000_000_000 + from_us * 1_000,
                ended_us: Some(lasted_us + 3),
                response: Some(Response { status: 200, body, ..Response::default() }),
                ..Exchange::default()
            }
        };
        let exchanges = exchanges.iter().enumerate().map(exchange).collect();
        Cassette::from(Content { exchanges, meta: Vec::new() })
    }

    fn numbers(cassette: &Cassette, met: &[(usize, usize)]) -> Vec<Vec<u64>> {
        let repeated = vec![(0..cassette.len()).collect()];
        let order = OrderReport { met: met.to_vec(), ..OrderReport::default() };
        let findings = OrderFindings::of(cassette, &repeated, &order);
        findings.ambiguous.into_iter().map(|ambiguous| ambiguous.exchanges).collect()
    }

    #[test]
    fn answers_are_ambiguous_if_they_overlap_and_differ() {
        // One after the other, at once and equal, at once and different.
        assert!(numbers(&cassette(&[(0, 5, "a"), (5, 9, "b")]), &[]).is_empty());
        assert!(numbers(&cassette(&[(0, 5, "a"), (4, 9, "a")]), &[]).is_empty());
        assert_eq!(numbers(&cassette(&[(0, 5, "a"), (4, 9, "b")]), &[]), [[0, 1]]);
        // By way of one between them, and apart from another pair.
        let chain = cassette(&[(0, 5, "a"), (4, 9, "a"), (8, 12, "b"), (20, 25, "c"), (21, 22, "d"), (30, 31, "e")]);
        assert_eq!(numbers(&chain, &[]), [vec![0, 1, 2], vec![3, 4]]);
        // They are made at once now only.
        assert_eq!(numbers(&cassette(&[(0, 5, "a"), (5, 9, "b"), (9, 10, "c")]), &[(0, 2)]), [[0, 2]]);
    }
}
