//! The live queries that the program of an engine has given names.
//!
//! 1. After each commit that has changed which there are, each is made a query of the [hub](super::hub), or taken out. It begins with the answers
//!    that there are then.
//! 2. What a commit changes in one is kept for the program, once that has asked, and for the functions that it wants to be called.
//! 3. What the program was told of is given up. If more waits than is allowed, all of it is, and where a knowledge base has the commits, it is found
//!    there again.

use super::queries::{LiveChange, LiveQueries};
use metta::{LiveCall, LiveKept, LiveNews, LiveNewsKind, NamedQuery, Program};
use space::Atom;
use std::collections::VecDeque;

/// How many changes wait for a program before they are given up.
const WAITING_MAX: usize = 1 << 14;

/// The named queries of an engine, in the order of their registration.
#[derive(Default)]
pub(super) struct NamedQueries {
    all: Vec<Followed>,
    calls: Vec<LiveCall>,
}

/// A named query that is followed, or cannot be.
struct Followed {
    name: String,
    /// What says whether it is the same query.
    entry: Atom,
    functions: Vec<Atom>,
    /// Its number, or why it cannot be followed.
    number: Result<usize, String>,
    /// All that came after this commit waits; nothing does if the program has not asked.
    kept_after: Option<u64>,
    waiting: VecDeque<LiveNews>,
}

impl NamedQueries {
    /// Makes the queries those that a program names, as a commit has left it; says whether some cannot be followed.
    pub(super) fn follow(
        &mut self,
        queries: &mut LiveQueries,
        program: &Program,
        named: &[NamedQuery],
        epoch: u64,
    ) -> bool {
        let mut before = std::mem::take(&mut self.all);
        for query in named {
            let entry = NamedQuery { functions: Vec::new(), ..query.clone() }.to_atom();
            let place = before.iter().position(|known| known.name == query.name && known.entry == entry);
            let mut followed = match place {
                Some(place) => before.remove(place),
                None => Followed::new(query, entry),
            };
            followed.functions.clone_from(&query.functions);
            followed.begin(query, queries, program, epoch);
            followed.give_up(program, epoch);
            self.all.push(followed);
        }
        for gone in before {
            gone.number.into_iter().for_each(|number| queries.remove(number));
            self.calls.retain(|call| call.name != gone.name);
        }
        self.all.iter().any(|query| query.number.is_err())
    }

    /// Takes what a commit has changed.
    pub(super) fn put(&mut self, program: &Program, epoch: u64, changed: &[(usize, LiveChange)]) {
        for query in &mut self.all {
            let Ok(number) = query.number else { continue };
            for (_, change) in changed.iter().filter(|(changed, _)| *changed == number) {
                let news = news_of(epoch, change);
                if !query.functions.is_empty() {
                    self.calls.extend(news.iter().map(|news| LiveCall {
                        name: query.name.clone(),
                        functions: query.functions.clone(),
                        news: news.clone(),
                    }));
                }
                if NamedQuery::told(program, &query.name).is_some() {
                    query.keep(epoch, news);
                }
            }
        }
    }

    /// The number of a query.
    ///
    /// # Errors
    /// Why it cannot be followed.
    pub(super) fn number(&self, name: &str) -> Result<usize, String> {
        self.get(name).map_or(Err(String::new()), |query| query.number.clone())
    }

    /// What waits of a query; `None` if it is not followed yet.
    pub(super) fn kept(&self, name: &str) -> Option<LiveKept> {
        let query = self.get(name)?;
        Some(LiveKept { after: query.kept_after, news: query.waiting.iter().cloned().collect() })
    }

    /// What is to be called; nothing of it is handed out again.
    pub(super) fn take_calls(&mut self) -> Vec<LiveCall> {
        std::mem::take(&mut self.calls)
    }

    fn get(&self, name: &str) -> Option<&Followed> {
        self.all.iter().find(|query| query.name == name)
    }
}

fn news_of(epoch: u64, change: &LiveChange) -> Vec<LiveNews> {
    match change {
        LiveChange::Answers(changes) => {
            let kinds = changes.iter().cloned().map(LiveNewsKind::Change);
            kinds.map(|kind| LiveNews { epoch, kind }).collect()
        }
        LiveChange::Stopped(reason) => vec![LiveNews { epoch, kind: LiveNewsKind::Stopped((*reason).to_owned()) }],
    }
}

impl Followed {
    fn new(query: &NamedQuery, entry: Atom) -> Self {
        Self {
            name: query.name.clone(),
            entry,
            functions: Vec::new(),
            number: Err(String::new()),
            kept_after: None,
            waiting: VecDeque::new(),
        }
    }

    /// Makes it a query that is followed, if it is none.
    fn begin(&mut self, query: &NamedQuery, queries: &mut LiveQueries, program: &Program, epoch: u64) {
        if self.number.is_err() {
            self.number = queries.add(&query.definition, program).map_err(|error| error.to_string());
            self.kept_after = Some(epoch);
            self.waiting.clear();
        }
    }

    /// Gives up what the program was told of.
    fn give_up(&mut self, program: &Program, epoch: u64) {
        match NamedQuery::told(program, &self.name) {
            // What the last commit changed was kept, if it changed anything.
            Some(told) => {
                let kept_after = self.kept_after.get_or_insert(epoch.saturating_sub(1));
                *kept_after = told.max(*kept_after);
                let kept_after = *kept_after;
                self.waiting.retain(|news| news.epoch > kept_after);
            }
            None => {
                self.kept_after = None;
                self.waiting.clear();
            }
        }
    }

    fn keep(&mut self, epoch: u64, news: Vec<LiveNews>) {
        self.kept_after.get_or_insert(epoch.saturating_sub(1));
        self.waiting.extend(news);
        if self.waiting.len() > WAITING_MAX {
            tracing::warn!(target: crate::logs::LIVE, query = self.name, epoch, "changes are given up");
            self.waiting.clear();
            self.kept_after = Some(epoch);
        }
    }
}
