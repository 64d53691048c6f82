//! The ways in which the patterns of a query match, as derivations of what rules conclude.
//!
//! Here copies do not count: a derivation is there or not. Which there are is asked in three ways.
//!
//! 1. [All](Begin::All) that there are now.
//! 2. Those in which one of some rows takes part, or that an absence let pass or did not because of one. All other patterns, and all absences,
//!    are looked at as they are now, or as they were before the commit.
//! 3. Whether there is one that concludes a given row ([`DeltaQuery::concluded`]).

use super::query::{DeltaQuery, Made, Pattern};
use super::rows::{RowsOfLength, SignedRows};
use super::walk::{DeltaMatch, Moment, Scene, Walk};
use super::{bound_by, each_length, with_scene};
use crate::query::pattern::NO_TERM;
use crate::query::view::View;
use crate::space_handle::SharedSpace;
use crate::term::Term;
use std::ops::ControlFlow;

/// Which derivations are asked for.
#[derive(Clone, Copy)]
pub(crate) enum Begin<'a> {
    /// All that there are now.
    All,
    /// Those that a commit has made, as everything is now.
    Made,
    /// Those that a commit has ended, as everything was before. There may be more among them: they are all derivations in which a row takes
    /// part that went, or that an absence let pass by a row that came.
    Ended,
    /// Those with one of these rows, as everything is now.
    WithNow(&'a SignedRows),
    /// Those with one of these rows, as everything was before.
    WithBefore(&'a SignedRows),
}

/// What stands in a column of a conclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadPart {
    /// What a variable of the query is bound to, by its place among these.
    Variable(usize),
    /// A value.
    Value(Term),
}

/// The row that an answer concludes.
#[inline]
pub(crate) fn conclude(head: &[HeadPart], answer: &[Term], row: &mut Vec<Term>) {
    row.clear();
    row.extend(head.iter().map(|part| match *part {
        HeadPart::Variable(variable) => answer[variable],
        HeadPart::Value(value) => value,
    }));
}

impl Begin<'_> {
    fn moment(self) -> Moment {
        match self {
            Self::All | Self::Made | Self::WithNow(_) => Moment::Now,
            Self::Ended | Self::WithBefore(_) => Moment::Before,
        }
    }
}

impl DeltaQuery {
    /// Hands out an answer for each derivation of those that are asked for, some more than once, and what is looked at; gives how many
    /// rows were looked at. `changed` is what a commit has changed. `None` if rows do not answer, or the spaces cannot be read together.
    pub(crate) fn derivations(
        &mut self,
        begin: Begin<'_>,
        (spaces, changed): (&[SharedSpace], &mut SignedRows),
        take: &mut dyn FnMut(&[Term], View<'_>),
    ) -> Option<u64> {
        with_scene(spaces, changed, begin.moment() == Moment::Before, |scene| {
            let made = self.made(scene.view.terms);
            if !made.is_of_rows(scene.view) {
                return None;
            }
            let seeds: Vec<&[RowsOfLength]> = match begin {
                Begin::WithNow(rows) | Begin::WithBefore(rows) => rows.of_spaces(spaces),
                _ => scene.changed.to_vec(),
            };
            let (query, moment) = (&*self, begin.moment());
            let mut search = Derivations { query, made: query.kept(), scene, moment, take, looked_at: 0 };
            match begin {
                Begin::All => search.all(),
                Begin::Made => search.with(&seeds, 1, true),
                Begin::Ended => search.with(&seeds, -1, true),
                Begin::WithNow(_) | Begin::WithBefore(_) => search.with(&seeds, 1, false),
            }
            Some(search.looked_at)
        })
    }

    /// Says which of some rows an answer concludes now, by their places; otherwise as [`DeltaQuery::derivations`].
    pub(crate) fn concluded<'r>(
        &mut self,
        head: &[HeadPart],
        rows: impl Iterator<Item = (usize, &'r [Term])>,
        (spaces, changed): (&[SharedSpace], &mut SignedRows),
        take: &mut dyn FnMut(usize),
    ) -> Option<u64> {
        with_scene(spaces, changed, false, |scene| {
            let made = self.made(scene.view.terms);
            if !made.is_of_rows(scene.view) {
                return None;
            }
            let query = &*self;
            let moment = Moment::Now;
            let mut nothing = |_: &[Term], _: View<'_>| ();
            let mut search = Derivations { query, made: query.kept(), scene, moment, take: &mut nothing, looked_at: 0 };
            for (place, row) in rows.filter(|(_, row)| row.len() == head.len()) {
                if search.has_conclusion(head, row) {
                    take(place);
                }
            }
            Some(search.looked_at)
        })
    }
}

struct Derivations<'a, 't> {
    query: &'a DeltaQuery,
    made: &'a Made,
    scene: Scene<'a>,
    moment: Moment,
    take: &'t mut dyn FnMut(&[Term], View<'_>),
    looked_at: u64,
}

impl<'a> Derivations<'a, '_> {
    fn walk(&self) -> Walk<'a> {
        Walk::new(self.scene, self.made, &self.made.patterns, self.moment)
    }

    fn all(&mut self) {
        let mut walk = self.walk();
        let nothing = vec![NO_TERM; self.query.width()];
        let _ = walk.go_on_from(&nothing, 0, &mut |way| self.pass(&way));
        self.looked_at += walk.looked_at;
    }

    /// Those with a row of this sign among some rows; if absences are looked at, those with a row that lets them pass, too, or did.
    fn with(&mut self, seeds: &[&'a [RowsOfLength]], sign: i64, looks_at_absences: bool) {
        let (made, width) = (self.made, self.query.width());
        let mut walk = self.walk();
        for (space, rows) in each_length(seeds) {
            let may_match = |pattern: &Pattern| pattern.length == rows.length && pattern.asks(space);
            let places: Vec<usize> = (0..made.patterns.len()).filter(|&at| may_match(&made.patterns[at])).collect();
            for (row, _) in rows.each().filter(|(_, count)| count.signum() == sign) {
                for &place in &places {
                    let _ = walk.begin_with((place, row, 1), width, &mut |way| self.pass(&way));
                }
            }
        }
        self.looked_at += walk.looked_at;
        if looks_at_absences && !made.absences.is_empty() {
            self.with_absences(seeds, sign);
        }
    }

    fn with_absences(&mut self, seeds: &[&'a [RowsOfLength]], sign: i64) {
        let (scene, outer, width) = (self.scene, self.query.outer(), self.query.width());
        let mut walk = self.walk();
        for absence in &self.made.absences {
            let wanted = if absence.is_absence { -sign } else { sign };
            for (place, pattern) in absence.patterns.iter().enumerate() {
                let bound_outside = pattern.variables & outer;
                for (_, rows) in each_length(seeds).filter(|(space, _)| pattern.asks(*space)) {
                    for (row, _) in rows.each().filter(|(_, count)| count.signum() == wanted) {
                        let Some(bound) = bound_by(absence, place, row, (bound_outside, width), scene) else {
                            continue;
                        };
                        let _ = walk.go_on_from(&bound, 0, &mut |way| self.pass(&way));
                    }
                }
            }
        }
        self.looked_at += walk.looked_at;
    }

    /// Hands out an answer that all absences let pass.
    fn pass(&mut self, way: &DeltaMatch<'_>) -> ControlFlow<()> {
        if self.is_let_pass(way.answer) {
            (self.take)(way.answer, self.scene.view);
        }
        ControlFlow::Continue(())
    }

    fn is_let_pass(&mut self, answer: &[Term]) -> bool {
        let (scene, made, moment) = (self.scene, self.made, self.moment);
        made.absences.iter().all(|absence| absence.holds((scene, made), answer, moment, &mut self.looked_at))
    }

    fn has_conclusion(&mut self, head: &[HeadPart], row: &[Term]) -> bool {
        let terms = self.scene.view.terms;
        let mut answer = vec![NO_TERM; self.query.width()];
        for (part, &term) in head.iter().zip(row) {
            match *part {
                HeadPart::Value(value) if value == term => {}
                HeadPart::Value(_) => return false,
                HeadPart::Variable(variable) => {
                    let (key, bound) = (terms.key(term), answer[variable]);
                    if bound != NO_TERM && bound != key {
                        return false;
                    }
                    answer[variable] = key;
                }
            }
        }
        let (mut walk, mut concluded) = (self.walk(), Vec::new());
        // Of atoms that are equal and differ, a derivation may conclude the other one.
        let found = walk.go_on_from(&answer, 0, &mut |way| {
            conclude(head, way.answer, &mut concluded);
            let is_it = concluded == row && self.is_let_pass(way.answer);
            if is_it { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        self.looked_at += walk.looked_at;
        found.is_break()
    }
}
