//! Our side: a knowledge base in memory, and who follows its live queries.

use super::graph::Change;
use super::sides::{Follows, Told};
use crate::compare::Clock;
use metroon::live::LiveQueriesStatistics;
use metroon::run::ModuleId;
use metroon::{Engine, KnowledgeBase, KnowledgeBaseOptions, LiveEvent, LiveRequest, MemoryWorld, RunEnd, Subscription};
use space::Atom;
use std::error::Error;

/// How many changes may wait for whoever follows: more than any round makes.
const WAITING_MAX: usize = 1 << 24;

/// A knowledge base with followers.
pub(super) struct Base {
    base: KnowledgeBase,
    followers: Vec<Subscription>,
    /// How many answers there are, of all queries.
    answers: i64,
}

impl Base {
    /// A base in which a text has run, with queries that are followed from then on.
    pub(super) fn new(text: &str, requests: &[LiveRequest]) -> Result<Self, Box<dyn Error>> {
        let base = KnowledgeBase::in_memory(KnowledgeBaseOptions::new(MemoryWorld::default()))?;
        base.run(text)?;
        let followers = requests.iter().map(|request| base.subscribe_with(request, WAITING_MAX, None));
        let followers = followers.collect::<Result<_, _>>()?;
        let mut made = Self { base, followers, answers: 0 };
        made.hear()?;
        Ok(made)
    }

    /// Takes what the followers are to be told.
    fn hear(&mut self) -> Result<Told, Box<dyn Error>> {
        let mut told = Told::default();
        for follower in &mut self.followers {
            while let Some(event) = follower.try_next()? {
                match event {
                    LiveEvent::Answers { changes, .. } | LiveEvent::Changes { changes, .. } => {
                        for change in changes {
                            told.come += if change.after.is_some() { change.copies } else { 0 };
                            told.gone += if change.before.is_some() { change.copies } else { 0 };
                        }
                    }
                    LiveEvent::SnapshotEnd { .. } | LiveEvent::Progress { .. } => {}
                    other => return Err(format!("a follower was told {other:?}").into()),
                }
            }
        }
        self.answers += told.come as i64 - told.gone as i64;
        Ok(told)
    }

    /// Makes each text a commit, one after the other, and takes what all of them change.
    pub(super) fn commit_each(&mut self, texts: Vec<String>) -> Result<(Clock, Told), Box<dyn Error>> {
        let mut clock = Clock::default();
        let told = clock.run(|| {
            let ended = self.base.transact(move |engine| {
                texts.iter().map(|text| engine.run_text(text, &mut |_, _| Ok(())).end).find(|end| !is_fine(end))
            })?;
            if let Some(end) = ended {
                return Err(format!("a commit ended early: {end:?}").into());
            }
            self.hear()
        })?;
        Ok((clock, told))
    }

    /// Makes each group of texts one commit.
    pub(super) fn commit_groups(&mut self, groups: Vec<String>) -> Result<(Clock, Told), Box<dyn Error>> {
        let mut clock = Clock::default();
        let told = clock.run(|| {
            let committed = self.base.transact(move |engine| {
                groups.iter().try_for_each(|text| {
                    let end = engine.transaction(|engine| (engine.run_text(text, &mut |_, _| Ok(())).end, true));
                    end.map_err(|error| error.to_string())
                        .and_then(|end| if is_fine(&end) { Ok(()) } else { Err(format!("{end:?}")) })
                })
            })?;
            committed.map_err(|reason| format!("a commit failed: {reason}"))?;
            self.hear()
        })?;
        Ok((clock, told))
    }

    /// What its live queries have done.
    pub(super) fn statistics(&self) -> Result<LiveQueriesStatistics, Box<dyn Error>> {
        Ok(self.base.live_statistics()?)
    }
}

impl Follows for Base {
    fn answers(&self) -> i64 {
        self.answers
    }

    fn apply(&mut self, changes: &[Change], each: usize) -> Result<(Clock, Told), Box<dyn Error>> {
        let commits: Vec<Vec<Change>> = changes.chunks(each).map(<[Change]>::to_vec).collect();
        let mut clock = Clock::default();
        let told = clock.run(|| {
            let committed = self.base.transact(move |engine| {
                let words = ["remove-atoms &self", "edge"]
                    .map(|text| engine.session_mut().program_mut().read(ModuleId::TOP, text).0);
                commits.iter().try_for_each(|changes| commit(engine, &words, changes))
            })?;
            committed.map_err(|reason| format!("a commit failed: {reason}"))?;
            self.hear()
        })?;
        Ok((clock, told))
    }
}

/// Makes changes one commit, of atoms that are made for it: what a program does that has them as values. `words` are the beginning of a form that
/// removes atoms, and of an edge.
fn commit(engine: &mut Engine, words: &[Vec<Atom>; 2], changes: &[Change]) -> Result<(), String> {
    if let [_] = changes {
        return make(engine, words, changes);
    }
    // What comes is there before anything goes, so that an edge may do both.
    let (added, removed): (Vec<Change>, Vec<Change>) = changes.iter().partition(|change| change.is_added);
    let ended = engine.transaction(|engine| {
        let mut kinds = [added, removed].into_iter().filter(|kind| !kind.is_empty());
        (kinds.try_for_each(|changes| make(engine, words, &changes)), true)
    });
    ended.map_err(|error| error.to_string())?
}

/// Adds edges, or removes edges.
fn make(engine: &mut Engine, [removing, edge]: &[Vec<Atom>; 2], changes: &[Change]) -> Result<(), String> {
    let atom = |change: &Change| {
        let ends = [change.edge.0, change.edge.1].map(|end| Atom::from(i64::from(end)));
        Atom::expression(edge.iter().cloned().chain(ends).collect::<Vec<_>>())
    };
    let mut atoms: Vec<Atom> = changes.iter().map(atom).collect();
    let is_added = changes.first().is_some_and(|change| change.is_added);
    if !is_added {
        let form = removing.iter().cloned().chain([Atom::expression(atoms)]);
        atoms = vec![Atom::expression(form.collect::<Vec<_>>())];
    }
    match engine.run_atoms("edges", &atoms, !is_added, &mut |_, _| Ok(())).end {
        end if is_fine(&end) => Ok(()),
        end => Err(format!("{end:?}")),
    }
}

fn is_fine(end: &RunEnd) -> bool {
    matches!(end, RunEnd::Finished)
}

/// The form that makes a change.
pub(super) fn text_of(change: &Change) -> String {
    let Change { edge: (from, to), is_added } = change;
    if *is_added { format!("(edge {from} {to})\n") } else { format!("!(remove-atom &self (edge {from} {to}))\n") }
}

/// The text that states edges.
pub(super) fn stated(edges: &[super::graph::Edge]) -> String {
    edges.iter().map(|&edge| text_of(&Change { edge, is_added: true })).collect()
}
