//! Counts, sums, extremes and first answers by key, kept up to date.
//!
//! A *group* is what agrees in the key. It keeps what its outcome takes to change: a count, an exact sum, or its values in order. A
//! group is there as long as it has answers; without a key there is one that always is, with a count or sum of nothing.
//!
//! Values are in order if numbers are before all else, by value, and all else is in the order of canonical bytes.
//!
//! What a change costs depends on the logarithm of the size of its group at most, and on how many first answers are wanted.

use super::change::{AnswerChange, SignedTuple, filled, identity};
use super::definition::{Aggregate, Top};
use super::exact_sum::ExactSum;
use rustc_hash::FxHashMap;
use space::{Atom, Grounded, Number, Variable, canonical};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The groups of a query.
pub(super) struct Groups {
    aggregate: Aggregate,
    body: Atom,
    /// The variables that are asked for, and with them the one that stands for an outcome.
    names: Vec<Variable>,
    /// Which of the values make the key.
    key: Vec<usize>,
    /// Which of them is added up or compared.
    value: Option<usize>,
    groups: FxHashMap<Vec<u8>, Group>,
    /// The identities of the groups, in the order in which they came, as far as they are there.
    order: BTreeMap<u64, Vec<u8>>,
    next: u64,
}

struct Group {
    place: u64,
    /// The values of one of its answers, of which the key is right.
    example: Vec<Atom>,
    count: i64,
    content: Content,
}

enum Content {
    Count,
    Sum { sum: ExactSum, others: i64 },
    Ordered(BTreeMap<Ordered, (Vec<Atom>, i64)>),
}

/// A value among others, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ordered {
    number: Option<Number>,
    bytes: Vec<u8>,
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_value = match (&self.number, &other.number) {
            (Some(left), Some(right)) => left.compare(right).unwrap_or(Ordering::Equal),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        };
        by_value.then_with(|| self.bytes.cmp(&other.bytes))
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ordered {
    /// A value, and what tells answers apart that have it.
    fn new(value: &Atom, rest: &[u8]) -> Self {
        let number = match value {
            Atom::Grounded(Grounded::Number(number)) if number.compare(number).is_some() => Some(number.clone()),
            _ => None,
        };
        let mut bytes = canonical::key(value);
        bytes.extend_from_slice(rest);
        Self { number, bytes }
    }
}

/// A row of the outcome, with what tells it apart and its copies.
type Row = (Vec<u8>, Atom, i64);

impl Groups {
    pub(super) fn new(aggregate: &Aggregate, body: &Atom, wanted: &[Variable]) -> Self {
        let (mut names, place) = (wanted.to_vec(), |name: &Variable| wanted.iter().position(|known| known == name));
        let (key, value) = match aggregate {
            Aggregate::Count(variable) => {
                names.push(variable.clone());
                ((0..wanted.len()).collect(), None)
            }
            Aggregate::Sum(variable) | Aggregate::Min(variable) | Aggregate::Max(variable) => {
                let value = place(variable);
                ((0..wanted.len()).filter(|&other| Some(other) != value).collect(), value)
            }
            Aggregate::Top(Top { by, within, .. }) => (within.iter().filter_map(place).collect(), place(by)),
        };
        let (groups, order) = Default::default();
        let mut made =
            Self { aggregate: aggregate.clone(), body: body.clone(), names, key, value, groups, order, next: 0 };
        if made.is_always_there() {
            made.group(&vec![Atom::unit(); wanted.len()]);
        }
        made
    }

    /// Whether there is one group, with or without answers.
    fn is_always_there(&self) -> bool {
        self.key.is_empty() && matches!(self.aggregate, Aggregate::Count(_) | Aggregate::Sum(_))
    }

    /// Takes changes of the answers; gives what they change in the outcome, each group once, in the order in which they were met.
    pub(super) fn take(&mut self, changes: Vec<SignedTuple>) -> Vec<AnswerChange> {
        let mut touched: Vec<(Vec<u8>, Vec<Row>)> = Vec::new();
        let mut places: FxHashMap<Vec<u8>, usize> = FxHashMap::default();
        for (values, count) in changes {
            let key = self.key_of(&values);
            if !places.contains_key(&key) {
                places.insert(key.clone(), touched.len());
                let rows = self.groups.get(&key).map(|group| self.rows(group)).unwrap_or_default();
                touched.push((key, rows));
            }
            self.add(&values, count);
        }
        let mut found = Vec::new();
        for (key, before) in touched {
            let after = self.groups.get(&key).map(|group| self.rows(group)).unwrap_or_default();
            self.differences(before, after, &mut found);
            if !self.is_always_there() && self.groups.get(&key).is_some_and(|group| group.count == 0) {
                let gone = self.groups.remove(&key);
                gone.and_then(|group| self.order.remove(&group.place));
            }
        }
        found
    }

    /// The outcome.
    pub(super) fn all(&self) -> Vec<AnswerChange> {
        let groups = self.order.values().filter_map(|key| self.groups.get(key));
        let rows = groups.flat_map(|group| self.rows(group));
        rows.map(|(_, answer, copies)| AnswerChange::signed(answer, copies)).collect()
    }

    fn key_of(&self, values: &[Atom]) -> Vec<u8> {
        identity(self.key.iter().map(|&place| &values[place]))
    }

    fn group(&mut self, values: &[Atom]) -> &mut Group {
        let key = self.key_of(values);
        let (aggregate, order, next) = (&self.aggregate, &mut self.order, &mut self.next);
        self.groups.entry(key).or_insert_with_key(|key| {
            let content = match aggregate {
                Aggregate::Count(_) => Content::Count,
                Aggregate::Sum(_) => Content::Sum { sum: ExactSum::default(), others: 0 },
                Aggregate::Min(_) | Aggregate::Max(_) | Aggregate::Top(_) => Content::Ordered(BTreeMap::new()),
            };
            order.insert(*next, key.clone());
            *next += 1;
            Group { place: *next - 1, example: values.to_vec(), count: 0, content }
        })
    }

    fn add(&mut self, values: &[Atom], count: i64) {
        let (value, is_top) = (self.value, matches!(self.aggregate, Aggregate::Top(_)));
        let group = self.group(values);
        group.count += count;
        match (&mut group.content, value.map(|place| &values[place])) {
            (Content::Sum { sum, .. }, Some(Atom::Grounded(Grounded::Number(number)))) => sum.add(number, count),
            (Content::Sum { others, .. }, _) => *others += count,
            (Content::Ordered(ordered), Some(value)) => {
                let rest = if is_top { identity(values) } else { Vec::new() };
                let place = Ordered::new(value, &rest);
                let held = ordered.entry(place.clone()).or_insert_with(|| (values.to_vec(), 0));
                held.1 += count;
                if held.1 == 0 {
                    ordered.remove(&place);
                }
            }
            (Content::Count | Content::Ordered(_), _) => {}
        }
    }

    /// What a group comes to.
    fn rows(&self, group: &Group) -> Vec<Row> {
        if group.count == 0 && !self.is_always_there() {
            return Vec::new();
        }
        let one = |value: Atom| vec![self.row(&group.example, value)];
        match (&group.content, &self.aggregate) {
            (Content::Count, _) => one(Atom::from(group.count)),
            (Content::Sum { sum, others: 0 }, _) => one(Atom::from(sum.value())),
            (Content::Sum { others, .. }, _) => {
                let message = format!("{others} of the values to be added up are not numbers");
                one(Atom::expression([
                    Atom::symbol(crate::names::ERROR),
                    Atom::symbol("sum"),
                    Atom::from(message.as_str()),
                ]))
            }
            (Content::Ordered(ordered), Aggregate::Top(top)) => self.first_rows(ordered, top),
            (Content::Ordered(ordered), aggregate) => {
                let is_greatest = matches!(aggregate, Aggregate::Max(_));
                let values = if is_greatest { ordered.values().next_back() } else { ordered.values().next() };
                let value = values.zip(self.value).map(|((values, _), place)| values[place].clone());
                value.map(one).unwrap_or_default()
            }
        }
    }

    /// A row in which the outcome is put for its variable.
    fn row(&self, example: &[Atom], value: Atom) -> Row {
        let mut values = example.to_vec();
        match self.value {
            Some(place) => values[place] = value,
            None => values.push(value),
        }
        let answer = filled(&self.body, &self.names, &values);
        (canonical::key(&answer), answer, 1)
    }

    fn first_rows(&self, ordered: &BTreeMap<Ordered, (Vec<Atom>, i64)>, top: &Top) -> Vec<Row> {
        let mut left = i64::try_from(top.most).unwrap_or(i64::MAX);
        let mut rows = Vec::new();
        let mut take = |(values, copies): &(Vec<Atom>, i64)| {
            let taken = left.min(*copies);
            left -= taken;
            let answer = filled(&self.body, &self.names, values);
            rows.push((canonical::key(&answer), answer, taken));
            left > 0
        };
        // Of equal values the order of answers decides, whichever come first.
        if top.is_greatest {
            let _ = ordered.values().rev().all(&mut take);
        } else {
            let _ = ordered.values().all(&mut take);
        }
        rows.retain(|(_, _, copies)| *copies > 0);
        rows
    }

    /// What is to be said if rows became others: one thing that changed, unless they are first answers.
    fn differences(&self, before: Vec<Row>, after: Vec<Row>, found: &mut Vec<AnswerChange>) {
        if !matches!(self.aggregate, Aggregate::Top(_)) {
            let [before, after] = [before, after].map(|rows| rows.into_iter().next());
            if before.as_ref().map(|row| &row.0) != after.as_ref().map(|row| &row.0) {
                let [before, after] = [before, after].map(|row| row.map(|(_, answer, _)| answer));
                found.push(AnswerChange { before, after, copies: 1 });
            }
            return;
        }
        let copies_in =
            |rows: &[Row], identity: &[u8]| rows.iter().filter(|row| row.0 == identity).map(|row| row.2).sum::<i64>();
        let mut seen: Vec<&[u8]> = Vec::new();
        for (identity, answer, _) in before.iter().chain(&after) {
            if seen.contains(&identity.as_slice()) {
                continue;
            }
            seen.push(identity);
            let difference = copies_in(&after, identity) - copies_in(&before, identity);
            if difference != 0 {
                found.push(AnswerChange::signed(answer.clone(), difference));
            }
        }
    }
}
