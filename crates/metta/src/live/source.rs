//! What the answers of live queries depend on.

use space::{Head, SharedSpace, SignedRows, Terms};

/// What the answers of a live query depend on. A commit changes some sources, and only queries that depend on these are looked at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LiveSource {
    /// Rows of a length and head.
    Rows(Head),
    /// The atoms of a space that are not rows, by the serial number of the space.
    Others(u64),
    /// Which spaces are imported.
    Imports,
    /// Whatever a commit changes.
    Anything,
}

impl LiveSource {
    /// The sources that a commit changes: the rows and other atoms that it changed, and whether imports may have changed.
    pub fn changed_by(rows: &SignedRows, has_modules: bool) -> Vec<Self> {
        let others = rows.open_spaces().map(|space| Self::Others(space.serial()));
        let mut sources: Vec<Self> = rows_of(rows).into_iter().chain(others).collect();
        sources.extend(has_modules.then_some(Self::Imports));
        sources.push(Self::Anything);
        sources
    }

    /// Those of a query that rows of such heads answer, in these spaces.
    pub(super) fn of(heads: impl Iterator<Item = Head>, spaces: &[SharedSpace]) -> Vec<Self> {
        let others = spaces.iter().map(|space| Self::Others(space.serial()));
        let mut sources: Vec<Self> = Vec::new();
        for source in heads.map(Self::Rows).chain(others).chain([Self::Imports]) {
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        sources
    }
}

fn rows_of(rows: &SignedRows) -> Vec<LiveSource> {
    let Some(space) = rows.any_space() else { return Vec::new() };
    let dictionary = space.dictionary();
    let terms: &Terms = &dictionary.read().expect("no panic while terms are locked");
    rows.touched(terms).into_iter().map(LiveSource::Rows).collect()
}
