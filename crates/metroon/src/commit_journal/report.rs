//! What a base holds, in numbers.

use super::checkpoint::CheckpointReport;
use super::load::Loaded;
use metta::{NamedQuery, Session};

/// What a base holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnowledgeBaseReport {
    /// How many commits there are, those that were given up included.
    pub commits: u64,
    /// The first commit that is kept: 1 unless some were given up.
    pub first: u64,
    /// The state hash after the last.
    pub hash: u128,
    /// How many atoms the program's space holds, copies counted.
    pub atoms: u64,
    /// How many spaces there are beside it, modules' included.
    pub spaces: usize,
    /// How many states there are.
    pub states: usize,
    /// How many sources have run.
    pub sources: usize,
    /// How many live queries have names.
    pub live_queries: usize,
    /// How many things other than atoms the base was told to keep: states and spaces made, words bound, imports.
    pub others: u64,
    /// The checkpoint that it was read from.
    pub checkpoint: Option<CheckpointReport>,
}

impl statistics::Statistics for KnowledgeBaseReport {
    fn what(&self) -> &'static str {
        "knowledge base"
    }

    fn entries(&self, to: &mut statistics::Entries) {
        to.count("commits", "Commits that there are, those that were given up included.", self.commits);
        to.count("first", "The first commit that is kept: 1 unless some were given up.", self.first);
        to.count("atoms", "Atoms in the program's space, copies counted.", self.atoms);
        to.count("spaces", "Spaces beside it, those of modules included.", self.spaces as u64);
        to.count("states", "States.", self.states as u64);
        to.count("sources", "Sources that have run.", self.sources as u64);
        to.count("live_queries", "Live queries that have names.", self.live_queries as u64);
        to.count("others", "Other things that are kept: states and spaces made, words bound, imports.", self.others);
        let meaning = "The checkpoint that it was read from, if there is one.";
        match &self.checkpoint {
            Some(checkpoint) => to.group("checkpoint", meaning, |to| {
                to.count("commit", "The commit after which it was made.", checkpoint.epoch);
                to.bytes("bytes", "Its file.", checkpoint.bytes);
            }),
            None => to.no_group("checkpoint", meaning),
        }
        to.text("state", "The hash of all that it holds after the last commit.", format!("{:032x}", self.hash));
    }
}

impl KnowledgeBaseReport {
    pub(crate) fn new(loaded: &Loaded, session: &Session, first: u64) -> Self {
        Self {
            commits: loaded.epoch,
            first,
            hash: loaded.hash.value(),
            atoms: loaded.atoms.try_into().unwrap_or(0),
            // The library and the program have one each.
            spaces: session.program().space_count() - 2,
            states: session.program().state_count(),
            sources: loaded.sources.numbered() as usize,
            live_queries: NamedQuery::all(session.program()).len(),
            others: loaded.others,
            checkpoint: loaded.checkpoint,
        }
    }
}
