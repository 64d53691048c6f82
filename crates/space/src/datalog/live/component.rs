//! Relations that depend on each other, and how they are brought up to date.

use super::{LiveDatalogStatistics, sorted};
use crate::query::{Begin, DeltaQuery, Head, HeadPart, SignedRows, View, conclude};
use crate::row::Row;
use crate::space_handle::SharedSpace;
use crate::term::{SharedTerms, Term};

/// A component.
pub(super) struct Component {
    pub(super) rules: Vec<LiveRule>,
    /// Rows that are always there.
    pub(super) facts: Vec<Vec<Term>>,
    /// The heads of the facts of spaces that its rules ask for.
    pub(super) heads: Vec<Head>,
    /// The components that it depends on.
    pub(super) below: Vec<usize>,
}

/// A rule: what it concludes from the answers of a query.
pub(super) struct LiveRule {
    pub(super) query: DeltaQuery,
    pub(super) head: Vec<HeadPart>,
    /// Whether it asks for rows of its own component.
    pub(super) is_recursive: bool,
}

/// The spaces that rules ask, and the one of derived rows among them.
type Ground<'a> = (&'a [SharedSpace], &'a SharedSpace);

/// Whether a derived row is there, among spaces of which that of derived rows is the last.
fn is_there(row: &[Term], view: View<'_>) -> bool {
    let derived = view.spaces.last().expect("there is a space of derived rows");
    derived.relation_of_length(row.len()).copies(row, view.terms) > 0
}

fn add_all<'r>(derived: &SharedSpace, rows: impl Iterator<Item = &'r [Term]>) {
    derived.write(|space| {
        let dictionary = SharedTerms::clone(space.terms());
        let mut terms = dictionary.write().expect("no panic while terms are locked");
        rows.for_each(|row| space.contents_mut().add_row(row, None, &mut terms));
    });
}

fn remove_all<'r>(derived: &SharedSpace, rows: impl Iterator<Item = &'r [Term]>) {
    derived.write(|space| rows.for_each(|row| space.take_back(Row::Expression(row))));
}

impl LiveRule {
    /// Hands out the rows that it concludes in the derivations that are asked for.
    fn each(
        &mut self,
        begin: Begin<'_>,
        (spaces, changed): (&[SharedSpace], &mut SignedRows),
        statistics: &mut LiveDatalogStatistics,
        mut take: impl FnMut(&[Term], View<'_>),
    ) -> Option<()> {
        let (head, mut row) = (&self.head, Vec::new());
        let looked_at = self.query.derivations(begin, (spaces, changed), &mut |answer, view| {
            conclude(head, answer, &mut row);
            take(&row, view);
        })?;
        statistics.looked_at += looked_at;
        Some(())
    }
}

impl Component {
    /// Finds its rows, where none are known. `None` if rows do not answer its rules.
    pub(super) fn fill(
        &mut self,
        (spaces, derived): Ground<'_>,
        changed: &mut SignedRows,
        statistics: &mut LiveDatalogStatistics,
    ) -> Option<()> {
        let (mut own, mut next) = (SignedRows::of_sets(), SignedRows::of_sets());
        self.facts.iter().for_each(|fact| _ = next.insert(derived, fact, 1));
        for rule in &mut self.rules {
            rule.each(Begin::All, (spaces, changed), statistics, |row, _| _ = next.insert(derived, row, 1))?;
        }
        self.grow(next, &mut own, (spaces, derived), changed, statistics)
    }

    /// Brings its rows up to date; says whether they have changed. `None` if rows do not answer its rules: it is as it was then.
    pub(super) fn update(
        &mut self,
        ground: Ground<'_>,
        changed: &mut SignedRows,
        statistics: &mut LiveDatalogStatistics,
    ) -> Option<bool> {
        let mut own = SignedRows::of_sets();
        if self.update_into(&mut own, ground, changed, statistics).is_none() {
            let of_sign =
                |sign: i64| own.each_of(ground.1).filter(move |(_, count)| *count == sign).map(|(row, _)| row);
            remove_all(ground.1, of_sign(1));
            add_all(ground.1, of_sign(-1));
            return None;
        }
        let of_sign = |sign: i64| {
            let rows = own.each_of(ground.1).filter(move |(_, count)| *count == sign);
            sorted(rows.map(|(row, _)| row.to_vec()).collect(), ground.1)
        };
        let [went, came] = [of_sign(-1), of_sign(1)];
        went.iter().for_each(|row| changed.push(ground.1, row, -1));
        came.iter().for_each(|row| changed.push(ground.1, row, 1));
        statistics.went += went.len() as u64;
        statistics.came += came.len() as u64;
        Some(!went.is_empty() || !came.is_empty())
    }

    /// Brings its rows up to date and leaves in `own` what changed in them. `None` if rows do not answer its rules.
    fn update_into(
        &mut self,
        own: &mut SignedRows,
        (spaces, derived): Ground<'_>,
        changed: &mut SignedRows,
        statistics: &mut LiveDatalogStatistics,
    ) -> Option<()> {
        let gone = self.over_deleted((spaces, derived), changed, statistics)?;
        remove_all(derived, gone.each_of(derived).map(|(row, _)| row));
        gone.each_of(derived).for_each(|(row, _)| own.push(derived, row, -1));
        let mut next = self.still_concluded(&gone, (spaces, derived), changed, statistics)?;
        statistics.put_back += next.each_of(derived).count() as u64;
        for rule in &mut self.rules {
            rule.each(Begin::Made, (spaces, changed), statistics, |row, view| {
                if !is_there(row, view) {
                    next.insert(derived, row, 1);
                }
            })?;
        }
        self.grow(next, own, (spaces, derived), changed, statistics)
    }

    /// The rows of which a derivation has ended, and what follows from them; as they were before.
    fn over_deleted(
        &mut self,
        (spaces, derived): Ground<'_>,
        changed: &mut SignedRows,
        statistics: &mut LiveDatalogStatistics,
    ) -> Option<SignedRows> {
        let (mut gone, mut next) = (SignedRows::of_sets(), SignedRows::of_sets());
        let mut mark = |row: &[Term], view: View<'_>, next: &mut SignedRows| {
            // A derivation with a row that an absence was asked about may have been none.
            if is_there(row, view) && gone.insert(derived, row, 1) {
                next.insert(derived, row, 1);
            }
        };
        for rule in &mut self.rules {
            rule.each(Begin::Ended, (spaces, changed), statistics, |row, view| mark(row, view, &mut next))?;
        }
        while !next.is_empty() {
            statistics.rounds += 1;
            let last = std::mem::replace(&mut next, SignedRows::of_sets());
            for rule in self.rules.iter_mut().filter(|rule| rule.is_recursive) {
                let begin = Begin::WithBefore(&last);
                rule.each(begin, (spaces, changed), statistics, |row, view| mark(row, view, &mut next))?;
            }
        }
        Some(gone)
    }

    /// Those of some rows that were taken away which the rules conclude from what is left.
    fn still_concluded(
        &mut self,
        gone: &SignedRows,
        (spaces, derived): Ground<'_>,
        changed: &mut SignedRows,
        statistics: &mut LiveDatalogStatistics,
    ) -> Option<SignedRows> {
        let mut back = SignedRows::of_sets();
        let rows: Vec<&[Term]> = gone.each_of(derived).map(|(row, _)| row).collect();
        let mut is_back: Vec<bool> = rows.iter().map(|row| self.facts.iter().any(|fact| fact == row)).collect();
        for LiveRule { query, head, .. } in &mut self.rules {
            let left: Vec<usize> = (0..rows.len()).filter(|&place| !is_back[place]).collect();
            let asked = left.into_iter().map(|place| (place, rows[place]));
            statistics.looked_at +=
                query.concluded(head, asked, (spaces, changed), &mut |place| is_back[place] = true)?;
        }
        let found = rows.iter().zip(is_back).filter(|(_, is_back)| *is_back);
        found.for_each(|(row, _)| _ = back.insert(derived, row, 1));
        Some(back)
    }

    /// Adds rows, and round by round what follows from them; each is noted in `own` as one that came.
    fn grow(
        &mut self,
        mut next: SignedRows,
        own: &mut SignedRows,
        (spaces, derived): Ground<'_>,
        changed: &mut SignedRows,
        statistics: &mut LiveDatalogStatistics,
    ) -> Option<()> {
        while !next.is_empty() {
            statistics.rounds += 1;
            add_all(derived, next.each_of(derived).map(|(row, _)| row));
            next.each_of(derived).for_each(|(row, _)| own.push(derived, row, 1));
            let last = std::mem::replace(&mut next, SignedRows::of_sets());
            for rule in self.rules.iter_mut().filter(|rule| rule.is_recursive) {
                rule.each(Begin::WithNow(&last), (spaces, changed), statistics, |row, view| {
                    if !is_there(row, view) {
                        next.insert(derived, row, 1);
                    }
                })?;
            }
        }
        Some(())
    }
}
