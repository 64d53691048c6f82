//! Answers that are kept up to date: what a commit changes in the answers of a query, from the rows that it changed.
//!
//! A query is a product of *factors*: its patterns, and for each absence whether there is no row. With `now` and `before` for the rows
//! after and before a commit, and `Δ` for the difference,
//!
//! ```text
//! Δ(A ⋈ B ⋈ C)  =  ΔA ⋈ B before ⋈ C before  +  A now ⋈ ΔB ⋈ C before  +  A now ⋈ B now ⋈ ΔC
//! ```
//!
//! and so on for more. Copies multiply, and what goes counts negative.
//!
//! 1. The [rows](rows) that a commit changed are gathered, with signed counts. What was there before is known from what is there now
//!    and from these: nothing is copied and no snapshot is taken.
//! 2. For each of them, and each pattern that it matches, the other patterns are [walked](walk), those before it now, those after it
//!    before. Indexes find their rows.
//! 3. A row of an absence can only change the answers that agree with it. These are found by the patterns, and it is looked for each
//!    whether the absence holds now and held before.
//! 4. Equal [answers] are added up. They come in the order of the rows that changed, and for one row in the order of a query.
//!
//! What a commit costs depends on the rows that it changed and on those that they meet, not on how many there are. If an atom that is not a
//! row may match, rows do not answer the query, and the caller is told so.
//!
//! Rules of differences: Gupta, Mumick, Subrahmanian, *Maintaining views incrementally* (1993).

mod answers;
mod derivations;
mod head;
mod places;
mod query;
mod rows;
mod walk;

pub use answers::SignedAnswers;
pub(crate) use derivations::{Begin, HeadPart, conclude};
pub use head::Head;
pub use query::DeltaQuery;
pub use rows::SignedRows;

use crate::contents::Contents;
use crate::query::pattern::NO_TERM;
use crate::query::solutions::Queried;
use crate::query::view::{SPACES_MAX, View};
use crate::snapshot::Snapshot;
use crate::space::Space;
use crate::space_handle::SharedSpace;
use crate::term::Term;
use query::{Absence, Made, Pattern};
use rows::RowsOfLength;
use rustc_hash::FxHashSet;
use std::ops::ControlFlow;
use std::sync::{Arc, RwLockReadGuard};
use walk::{DeltaMatch, Moment, Scene, Walk};

/// What is asked of a query whose answers are kept up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswersAt {
    /// All answers, as spaces are now.
    Now,
    /// All answers, as spaces were before some rows changed.
    Before,
    /// What some rows changed.
    Difference,
}

impl DeltaQuery {
    /// Finds answers in spaces that are looked at together, the first before the second and so on, and leaves them in `answers`; gives how
    /// many rows were looked at. `rows` are what has changed in them last. `None` if rows do not answer the query now, or
    /// the spaces cannot be read together.
    pub fn find(
        &mut self,
        asked: AnswersAt,
        spaces: &[SharedSpace],
        rows: &mut SignedRows,
        answers: &mut SignedAnswers,
    ) -> Option<u64> {
        with_scene(spaces, rows, asked != AnswersAt::Now, |scene| self.find_in(asked, scene, answers))
    }

    /// Finds all answers in a snapshot; the same otherwise.
    pub fn find_all(&mut self, snapshot: &Snapshot, answers: &mut SignedAnswers) -> Option<u64> {
        snapshot.with_view(|view| {
            let changed: Vec<&[RowsOfLength]> = vec![&[]; view.spaces.len()];
            self.find_in(AnswersAt::Now, Scene { view, changed: &changed, are_sets: false }, answers)
        })
    }

    fn find_in(&mut self, asked: AnswersAt, scene: Scene<'_>, answers: &mut SignedAnswers) -> Option<u64> {
        let made = self.made(scene.view.terms);
        // What matched before only, and is not a row, has been removed by now: the caller knows that it was there.
        if asked != AnswersAt::Before && !made.is_of_rows(scene.view) {
            return None;
        }
        let query = &*self;
        let made = query.kept();
        answers.begin(query.wanted().len());
        let mut search = DeltaSearch { query, made, scene, group: Group::default(), answers, looked_at: 0 };
        match asked {
            AnswersAt::Now => search.all(Moment::Now),
            AnswersAt::Before => search.all(Moment::Before),
            AnswersAt::Difference => search.difference(),
        }
        Some(search.looked_at)
    }
}

/// Hands on spaces as they are now, locked, with what has changed in them; `looks_before` says whether it is asked what was there before.
/// `None` if they cannot be read together.
fn with_scene<T>(
    spaces: &[SharedSpace],
    rows: &mut SignedRows,
    looks_before: bool,
    work: impl FnOnce(Scene<'_>) -> Option<T>,
) -> Option<T> {
    let guards: Vec<RwLockReadGuard<'_, Space>> = spaces.iter().map(SharedSpace::try_guard).collect::<Option<_>>()?;
    let first = guards.first()?;
    let are_together = guards.iter().all(|guard| Arc::ptr_eq(guard.terms(), first.terms()));
    if !are_together || spaces.len() > SPACES_MAX {
        return None;
    }
    let terms = first.terms().try_read().ok()?;
    let contents: Vec<&Contents> = guards.iter().map(|guard| guard.contents()).collect();
    if looks_before {
        spaces.iter().zip(&contents).for_each(|(space, contents)| rows.settle(space, contents, &terms));
    }
    let changed = rows.of_spaces(spaces);
    let view = View { spaces: &contents, others: &[], terms: &terms };
    work(Scene { view, changed: &changed, are_sets: rows.are_sets() })
}

/// Answers that are found together, before they are put in order.
#[derive(Default)]
struct Group {
    cells: Vec<Term>,
    counts: Vec<i64>,
    orders: Vec<u64>,
}

struct DeltaSearch<'a> {
    query: &'a DeltaQuery,
    made: &'a Made,
    scene: Scene<'a>,
    group: Group,
    answers: &'a mut SignedAnswers,
    looked_at: u64,
}

impl<'a> DeltaSearch<'a> {
    /// All answers.
    fn all(&mut self, moment: Moment) {
        let mut walk = Walk::new(self.scene, self.made, &self.made.patterns, moment);
        let nothing = vec![NO_TERM; self.query.width()];
        let _ = walk.go_on_from(&nothing, 0, &mut |way| self.take(&way, |_| moment));
        self.looked_at += walk.looked_at;
        self.end_group();
    }

    /// What has changed: for each row that did, by each pattern that it matches, and by each absence.
    fn difference(&mut self) {
        let (scene, made) = (self.scene, self.made);
        let mut walk = Walk::new(scene, made, &made.patterns, Moment::Before);
        for (space, rows) in each_length(scene.changed) {
            let may_match = |pattern: &&Pattern| pattern.length == rows.length && pattern.asks(space);
            if !made.patterns.iter().any(|pattern| may_match(&pattern)) {
                continue;
            }
            for (row, count) in rows.each() {
                for pattern in (0..made.patterns.len()).filter(|&pattern| may_match(&&made.patterns[pattern])) {
                    (0..made.patterns.len()).for_each(|other| {
                        walk.look_at(other, if other < pattern { Moment::Now } else { Moment::Before });
                    });
                    let width = self.query.width();
                    let _ =
                        walk.begin_with((pattern, row, count), width, &mut |way| self.take(&way, |_| Moment::Before));
                    self.end_group();
                }
            }
        }
        self.looked_at += walk.looked_at;
        (0..made.absences.len()).for_each(|absence| self.difference_of(absence));
    }

    /// What has changed because patterns of an absence match rows that changed.
    fn difference_of(&mut self, number: usize) {
        let (scene, made) = (self.scene, self.made);
        let (absence, width) = (&made.absences[number], self.query.width());
        // What each pattern binds of the variables outside, so that no answer is looked at twice.
        let mut seen: Vec<FxHashSet<Vec<Term>>> = vec![FxHashSet::default(); absence.patterns.len()];
        let mut walk = Walk::new(scene, made, &made.patterns, Moment::Now);
        for place in 0..absence.patterns.len() {
            let outer = absence.patterns[place].variables & self.query.outer();
            for (_, rows) in each_length(scene.changed).filter(|(space, _)| absence.patterns[place].asks(*space)) {
                for (row, _) in rows.each() {
                    let Some(bound) = bound_by(absence, place, row, (outer, width), scene) else { continue };
                    if !seen[place].insert(bound.clone()) {
                        continue;
                    }
                    let known = &seen;
                    let _ = walk.go_on_from(&bound, 0, &mut |way| {
                        let is_seen = |earlier: usize| {
                            let outer = absence.patterns[earlier].variables & self.query.outer();
                            known[earlier].contains(&keys_of(way.answer, outer, scene))
                        };
                        if (0..place).any(is_seen) {
                            return ControlFlow::Continue(());
                        }
                        let [now, before] = [Moment::Now, Moment::Before]
                            .map(|moment| i64::from(self.holds(absence, way.answer, moment)));
                        let moment = |other: usize| if other < number { Moment::Now } else { Moment::Before };
                        self.take_as(&way, (now - before) * way.count, Some(number), moment)
                    });
                    self.end_group();
                }
            }
        }
        self.looked_at += walk.looked_at;
    }

    fn take(&mut self, way: &DeltaMatch<'_>, moment: impl Fn(usize) -> Moment) -> ControlFlow<()> {
        self.take_as(way, way.count, None, moment)
    }

    /// Takes an answer, unless an absence other than one does not hold at its moment.
    fn take_as(
        &mut self,
        way: &DeltaMatch<'_>,
        count: i64,
        but: Option<usize>,
        moment: impl Fn(usize) -> Moment,
    ) -> ControlFlow<()> {
        let made = self.made;
        let mut others = made.absences.iter().enumerate().filter(|(place, _)| Some(*place) != but);
        if count != 0 && others.all(|(place, absence)| self.holds(absence, way.answer, moment(place))) {
            let Group { cells, counts, orders } = &mut self.group;
            cells.extend(self.query.wanted().iter().map(|&variable| way.answer[variable]));
            counts.push(count);
            orders.extend_from_slice(way.orders);
        }
        ControlFlow::Continue(())
    }

    /// Whether an absence lets an answer pass.
    fn holds(&mut self, absence: &'a Absence, answer: &[Term], moment: Moment) -> bool {
        absence.holds((self.scene, self.made), answer, moment, &mut self.looked_at)
    }

    /// Adds the answers that were found together, in order.
    fn end_group(&mut self) {
        let Group { cells, counts, orders } = &mut self.group;
        let (width, patterns) = (self.query.wanted().len(), self.made.patterns.len());
        let order = |place: usize| &orders[place * patterns..][..patterns];
        let mut places: Vec<usize> = (0..counts.len()).collect();
        if !places.is_sorted_by_key(|&place| order(place)) {
            places.sort_by_key(|&place| order(place));
        }
        for place in places {
            self.answers.add(&cells[place * width..][..width], counts[place]);
        }
        cells.clear();
        counts.clear();
        orders.clear();
    }
}

impl Absence {
    /// Whether it lets an answer pass.
    fn holds(&self, (scene, made): (Scene<'_>, &Made), answer: &[Term], moment: Moment, looked_at: &mut u64) -> bool {
        let mut walk = Walk::new(scene, made, &self.patterns, moment);
        let has_row = walk.go_on_from(answer, u64::MAX, &mut |_| ControlFlow::Break(())).is_break();
        *looked_at += walk.looked_at;
        has_row != self.is_absence
    }
}

/// The rows that changed, by the number of their space and by length.
fn each_length<'a>(changed: &[&'a [RowsOfLength]]) -> impl Iterator<Item = (usize, &'a RowsOfLength)> {
    let spaces = changed.iter().enumerate();
    spaces.flat_map(|(space, lengths)| lengths.iter().map(move |rows| (space, rows)))
}

/// The match keys of some variables of an answer, nothing for the others.
fn keys_of(answer: &[Term], variables: u64, scene: Scene<'_>) -> Vec<Term> {
    let is_one = |place: usize| variables >> place & 1 == 1 && answer[place] != NO_TERM;
    let key = |(place, &term): (usize, &Term)| if is_one(place) { scene.view.terms.key(term) } else { NO_TERM };
    answer.iter().enumerate().map(key).collect()
}

/// What a row that a pattern of an absence matches binds of the variables outside, as an answer with `width` variables.
fn bound_by(
    absence: &Absence,
    place: usize,
    row: &[Term],
    (outer, width): (u64, usize),
    scene: Scene<'_>,
) -> Option<Vec<Term>> {
    let pattern = &absence.patterns[place];
    let mut answer = vec![NO_TERM; width];
    pattern.matches(row, &mut answer, scene.view.terms).then(|| keys_of(&answer, outer, scene))
}
