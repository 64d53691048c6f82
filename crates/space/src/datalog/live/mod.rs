//! Rows that follow from rules, kept up to date as facts come and go.
//!
//! 1. The rules that a goal needs are written down as [clauses] over numbered relations. If values are known in the goal, further
//!    relations say what is asked for, so that only that is derived.
//! 2. All derived rows lie in a space of their own: a row begins with the number of its relation. Rules are queries over the spaces of
//!    facts and this one, and what a commit changes is found by the queries' rules of differences ([`crate::query`]).
//! 3. Relations that depend on each other are a [component]. Components are brought up to date one after the other, those first
//!    that others depend on. A component whose rows stay the same leaves those behind it alone.
//! 4. A component takes away every row of which a derivation has ended, whatever other derivations it has, and what follows from such rows; it
//!    puts back what still follows from the others; then it adds, round by round, what follows from rows that are new.
//!
//! A row is there once, however many derivations it has. What a commit changed is told in the order of canonical bytes, which says
//! nothing of how it was found.
//!
//! Cost: what a commit changes, what that meets, and what is taken away and put back. Where rows have many derivations, and one of an early row
//! ends, much is put back.
//!
//! Rules of maintenance: Gupta, Mumick, Subrahmanian, *Maintaining views incrementally* (1993), where they are called delete and rederive.

mod clauses;
mod component;

use super::program::{Program, Refused};
use crate::atom::Atom;
use crate::query::{Filter, FilterPart, Head, SignedRows};
use crate::row::Row;
use crate::space_handle::SharedSpace;
use crate::term::Term;
use clauses::{Clauses, GOAL};
use component::Component;
use rustc_hash::FxHashSet;

/// A filter of these operands, by the number of the test that the program has for it; `None` if it cannot be one.
pub type TestFilter<'a> = &'a dyn Fn(usize, Vec<FilterPart>) -> Option<Filter>;

/// Why rules are not followed any more.
const OTHERS_MATCH: Refused = Refused::NotRows("atoms with variables may match a pattern");

/// The rows of a goal, kept up to date.
pub struct LiveDatalog {
    /// Where derived rows lie.
    derived: SharedSpace,
    /// The spaces that rules ask, the derived rows last.
    spaces: Vec<SharedSpace>,
    /// The spaces that rules name.
    asked: Vec<SharedSpace>,
    components: Vec<Component>,
    /// How long the rows of the goal are.
    goal_length: usize,
    statistics: LiveDatalogStatistics,
}

/// What was done to keep rows up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveDatalogStatistics {
    /// How many rows were looked at.
    pub looked_at: u64,
    /// How many derived rows came.
    pub came: u64,
    /// How many went.
    pub went: u64,
    /// How many were taken away and put back.
    pub put_back: u64,
    /// How many rounds there were.
    pub rounds: u64,
}

impl statistics::Statistics for LiveDatalogStatistics {
    fn what(&self) -> &'static str {
        "rules"
    }

    fn entries(&self, to: &mut statistics::Entries) {
        to.count("rounds", "Rounds in which rules found rows.", self.rounds);
        to.count("looked_at", "Rows that were looked at to find what changed.", self.looked_at);
        to.count("came", "Derived rows that came.", self.came);
        to.count("went", "Derived rows that went.", self.went);
        to.count("put_back", "Derived rows that were taken away and put back.", self.put_back);
    }
}

impl LiveDatalogStatistics {
    /// Adds those of other rules.
    pub fn add(&mut self, other: &Self) {
        self.looked_at += other.looked_at;
        self.came += other.came;
        self.went += other.went;
        self.put_back += other.put_back;
        self.rounds += other.rounds;
    }
}

impl LiveDatalog {
    /// The rows of a predicate whose arguments have these values, where there is one. They are kept in `derived`, which holds nothing else: a
    /// row is the number 0, the arguments and the result.
    ///
    /// # Errors
    /// The rules cannot be kept up to date.
    pub fn new(
        program: &Program,
        (predicate, arguments): (usize, &[Option<Atom>]),
        derived: &SharedSpace,
        filter: TestFilter<'_>,
    ) -> Result<Self, Refused> {
        derived.clear();
        let clauses = Clauses::of(program, predicate, arguments)?;
        let spaces = clauses.spaces(derived);
        let components = clauses.components((&spaces, derived), filter)?;
        let (asked, statistics) = (clauses.asked(), LiveDatalogStatistics::default());
        let (derived, goal_length) = (derived.clone(), arguments.len() + 2);
        let mut made = Self { derived, spaces, asked, components, goal_length, statistics };
        let mut changed = SignedRows::of_sets();
        for component in &mut made.components {
            let ground = (&made.spaces[..], &made.derived);
            component.fill(ground, &mut changed, &mut made.statistics).ok_or(OTHERS_MATCH)?;
        }
        Ok(made)
    }

    /// The heads of the facts that rules ask for.
    pub fn heads(&self) -> impl Iterator<Item = Head> {
        self.components.iter().flat_map(|component| &component.heads).cloned()
    }

    /// The spaces of facts that are asked, imports included.
    pub fn fact_spaces(&self) -> &[SharedSpace] {
        &self.spaces[..self.spaces.len() - 1]
    }

    /// Whether the spaces that rules name import what they imported when this was made.
    pub fn has_spaces(&self) -> bool {
        let now = clauses::with_imports(&self.asked);
        let are_same = now.len() == self.fact_spaces().len();
        are_same && now.iter().zip(self.fact_spaces()).all(|(now, before)| now.is_same(before))
    }

    /// Takes the rows that a commit changed; gives what that changes in the rows of the goal.
    ///
    /// # Errors
    /// Atoms with variables may match now. The rows of the goal are as they were, and the whole is to be made anew.
    pub fn take(&mut self, rows: &SignedRows) -> Result<SignedRows, Refused> {
        let touched = match rows.any_space() {
            Some(space) => rows.touched(&space.dictionary().read().expect("no panic while terms are locked")),
            None => Vec::new(),
        };
        let has_others = rows.open_spaces().next().is_some();
        let mut changed = rows.as_sets(self.fact_spaces());
        let mut has_changed: Vec<bool> = Vec::new();
        for component in &mut self.components {
            let is_touched = has_others
                || component.below.iter().any(|&below| has_changed[below])
                || component.heads.iter().any(|head| touched.contains(head));
            let ground = (&self.spaces[..], &self.derived);
            has_changed.push(match is_touched {
                true => component.update(ground, &mut changed, &mut self.statistics).ok_or(OTHERS_MATCH)?,
                false => false,
            });
        }
        Ok(self.of_goal(&changed))
    }

    /// What it takes to make rows of a goal of others.
    pub fn difference(derived: &SharedSpace, before: &[Vec<Term>], now: &[Vec<Term>]) -> SignedRows {
        let [had, has] = [before, now].map(|rows| rows.iter().collect::<FxHashSet<_>>());
        let mut changed = SignedRows::of_sets();
        before.iter().filter(|row| !has.contains(row)).for_each(|row| changed.push(derived, row, -1));
        now.iter().filter(|row| !had.contains(row)).for_each(|row| changed.push(derived, row, 1));
        changed
    }

    /// Those of some rows that are of the goal.
    fn of_goal(&self, changed: &SignedRows) -> SignedRows {
        let goal = self.derived.dictionary().read().expect("no panic while terms are locked").find_integer(GOAL);
        let mut found = SignedRows::of_sets();
        let rows = changed.each_of(&self.derived).filter(|(row, _)| row.first().copied() == goal);
        rows.for_each(|(row, count)| found.push(&self.derived, row, count));
        found
    }

    /// What was done.
    pub fn statistics(&self) -> LiveDatalogStatistics {
        self.statistics
    }

    /// The rows of the goal as they are now, in the order of canonical bytes.
    pub fn goal(&self) -> Vec<Vec<Term>> {
        goal_of(&self.derived, self.goal_length)
    }
}

/// The rows of a goal of `length` terms among derived rows, in the order of canonical bytes.
fn goal_of(derived: &SharedSpace, length: usize) -> Vec<Vec<Term>> {
    let rows: Vec<Vec<Term>> = derived.read(|space| {
        let goal = space.terms().read().expect("no panic while terms are locked").find_integer(GOAL);
        let rows = space.contents().relation_of_length(length).all();
        rows.filter(|row| row.terms.first().copied() == goal).map(|row| row.terms.to_vec()).collect()
    });
    sorted(rows, derived)
}

/// Rows in the order of their canonical bytes.
fn sorted(rows: Vec<Vec<Term>>, space: &SharedSpace) -> Vec<Vec<Term>> {
    let dictionary = space.dictionary();
    let terms = dictionary.read().expect("no panic while terms are locked");
    let mut keyed: Vec<(Vec<u8>, Vec<Term>)> = rows
        .into_iter()
        .map(|row| {
            let mut bytes = Vec::new();
            Row::Expression(&row).encode_into(&terms, &mut bytes, |_| ());
            (bytes, row)
        })
        .collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, row)| row).collect()
}
