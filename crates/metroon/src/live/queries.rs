//! The live queries of an engine, as nodes of a schedule.
//!
//! 1. A node is a *source*, what answers depend on ([`LiveSource`]); a call of rules ([`LiveRules`]), which depends on sources; or a query,
//!    which depends on sources or on a call.
//! 2. A commit names the sources that it changed. The [schedule](schedule::Schedule) runs what depends on them, each node once, calls before
//!    their queries, and looks at no other.
//! 3. A node takes the signed rows of the commit, or of its call, where they lie, and leaves what they change. A call whose answers stay the
//!    same leaves its queries alone. If what a node depends on is another thing after that, its edges are drawn anew.
//!
//! Invariants: a source, or a call, is a node as long as something depends on it; each query has a node of its own; queries of one
//! call share its node.

use metta::{
    AnswerChange, ChangeExtent, Commit, Event, LiveDefinition, LiveError, LiveQuery, LiveRules, LiveRulesStatistics,
    LiveRulesUpdate, LiveSource, Program,
};
use rustc_hash::FxHashMap;
use schedule::{Node, Run, Schedule, Wave};
use space::{Changes, SignedRows};
use std::convert::Infallible;

/// What a commit came to for a query.
#[derive(Debug)]
pub(super) enum LiveChange {
    /// Its answers have changed; nothing in it if rules are followed again and nothing has changed since they stopped.
    Answers(Vec<AnswerChange>),
    /// They are not kept up to date any more.
    Stopped(&'static str),
}

/// What a commit came to for the queries that it touched, by their numbers; those whose answers it left are not there.
pub(super) type Changed = Vec<(usize, LiveChange)>;

/// The live queries of an engine, by their numbers.
#[derive(Default)]
pub(super) struct LiveQueries {
    schedule: Schedule,
    nodes: Nodes,
    statistics: LiveQueriesStatistics,
}

/// What the live queries of a knowledge base have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveQueriesStatistics {
    /// How many queries are followed.
    pub queries: u64,
    /// How many commits touched any of them.
    pub commits: u64,
    /// How often a query, or a call that queries are of, was reached from something that a commit had changed.
    pub reached: u64,
    /// How often one was looked at: once for each commit that touched it.
    pub ran: u64,
    /// How often its answers stayed the same.
    pub cut_off: u64,
}

impl statistics::Statistics for LiveQueriesStatistics {
    fn what(&self) -> &'static str {
        "live queries"
    }

    fn entries(&self, to: &mut statistics::Entries) {
        to.count("queries", "Queries that are followed.", self.queries);
        to.count("commits", "Commits that touched what their answers depend on.", self.commits);
        to.count("reached", "How often one was reached from something that a commit had changed.", self.reached);
        to.count("ran", "How often one was looked at: once for each commit that touched it.", self.ran);
        to.count("cut_off", "How often nothing changed in its answers.", self.cut_off);
    }
}

/// What the nodes of the schedule are.
#[derive(Default)]
struct Nodes {
    all: Vec<Held>,
    free: Vec<Node>,
    sources: FxHashMap<LiveSource, Node>,
    /// Calls by what says whether two are the same.
    calls: FxHashMap<Vec<u8>, Node>,
}

enum Held {
    /// The number is free.
    Nothing,
    Source(LiveSource),
    Call(Box<LiveRules>),
    /// A query, and the call that it is of.
    Query(Box<LiveQuery>, Option<Node>),
}

impl LiveQueries {
    /// Adds a query of a program; gives its number.
    ///
    /// # Errors
    /// It asks for something that cannot be kept up to date.
    pub(super) fn add(&mut self, definition: &LiveDefinition, program: &Program) -> Result<usize, LiveError> {
        let node = match definition.result {
            Some(_) => self.add_of_call(definition, program)?,
            None => {
                let (space, variables) = (program.top_space(), program.variables_numbered());
                let query = LiveQuery::new(definition, &space, variables)?;
                let sources = query.sources();
                let node = self.nodes.add(Held::Query(Box::new(query), None));
                self.depend_on_sources(node, sources);
                node
            }
        };
        self.statistics.queries += 1;
        Ok(node as usize)
    }

    fn add_of_call(&mut self, definition: &LiveDefinition, program: &Program) -> Result<Node, LiveError> {
        let key = LiveRules::key(&definition.pattern);
        let call = match self.nodes.calls.get(&key) {
            Some(&call) => call,
            None => {
                let rules = LiveRules::new(&definition.pattern, program)?;
                let sources = rules.sources();
                let call = self.nodes.add(Held::Call(Box::new(rules)));
                self.nodes.calls.insert(key, call);
                self.depend_on_sources(call, sources);
                call
            }
        };
        let Held::Call(rules) = &self.nodes.all[call as usize] else { unreachable!("it is a call") };
        match LiveQuery::of_rules(definition, rules) {
            Ok(query) => {
                let node = self.nodes.add(Held::Query(Box::new(query), Some(call)));
                self.depend(node, &[call]);
                Ok(node)
            }
            Err(error) => {
                self.forget_unused(&[call]);
                Err(error)
            }
        }
    }

    /// Takes a query out.
    pub(super) fn remove(&mut self, number: usize) {
        if let Some(Held::Query(..)) = self.nodes.all.get(number) {
            self.depend(number as Node, &[]);
            self.nodes.remove(number as Node);
            self.statistics.queries -= 1;
        }
    }

    /// The query of a number.
    pub(super) fn get(&self, number: usize) -> Option<&LiveQuery> {
        match self.nodes.all.get(number)? {
            Held::Query(query, _) => Some(query),
            _ => None,
        }
    }

    /// What a query knows of its answers now; `None` if they are found by rows of a snapshot.
    pub(super) fn known(&mut self, number: usize) -> Option<Vec<AnswerChange>> {
        match self.nodes.all.get_mut(number)? {
            Held::Query(query, _) if !query.is_by_rows() => Some(query.known()),
            _ => None,
        }
    }

    /// The answers of a query as they were before these changes, which no commit has yet.
    pub(super) fn known_before(&mut self, number: usize, uncommitted: &Changes) -> Vec<AnswerChange> {
        match self.nodes.all.get_mut(number) {
            Some(Held::Query(query, _)) => query.known_before(&mut SignedRows::of(uncommitted)),
            _ => Vec::new(),
        }
    }

    /// Why the call that a query is of is not kept up to date, if it is not.
    pub(super) fn stopped(&self, number: usize) -> Option<&'static str> {
        let Held::Query(_, Some(call)) = self.nodes.all.get(number)? else { return None };
        if let Held::Call(rules) = &self.nodes.all[*call as usize] { rules.stopped() } else { None }
    }

    /// What was done for the call that a query is of, if it is of one.
    pub(super) fn rules_statistics(&self, number: usize) -> Option<LiveRulesStatistics> {
        let Held::Query(_, Some(call)) = self.nodes.all.get(number)? else { return None };
        if let Held::Call(rules) = &self.nodes.all[*call as usize] { Some(rules.statistics()) } else { None }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.statistics.queries == 0
    }

    /// What was done.
    pub(super) fn statistics(&self) -> LiveQueriesStatistics {
        self.statistics
    }

    /// What a commit changes in the answers of each query.
    pub(super) fn take(&mut self, commit: &Commit) -> Changed {
        // No setting is an import, and that a program was told of something is one.
        let has_modules = commit.events.iter().any(|event| !matches!(event, Event::Set { .. }));
        let extent = ChangeExtent { modules: commit.extent.modules && has_modules, ..commit.extent };
        self.take_changes(&commit.changes, extent, commit.variables)
    }

    /// What changes that were noted in another way change in the answers of each query.
    pub(super) fn take_changes(&mut self, changes: &Changes, extent: ChangeExtent, variables: u64) -> Changed {
        if self.is_empty() {
            return Vec::new();
        }
        let rows = SignedRows::of(changes);
        let sources = LiveSource::changed_by(&rows, extent.modules);
        let touched = sources.iter().filter_map(|source| self.nodes.sources.get(source).copied());
        let mut touched: Vec<Node> = touched.collect();
        if touched.is_empty() {
            return Vec::new();
        }
        let mut taking = Taking {
            nodes: &mut self.nodes,
            rows,
            has_modules: extent.modules,
            variables,
            updates: FxHashMap::default(),
            found: Vec::new(),
            moved: Vec::new(),
        };
        let Ok(wave) = self.schedule.propagate(&mut touched, &mut taking);
        let Taking { found, moved, .. } = taking;
        for node in moved {
            let sources = match &self.nodes.all[node as usize] {
                Held::Query(query, _) => query.sources(),
                Held::Call(rules) => rules.sources(),
                Held::Nothing | Held::Source(_) => continue,
            };
            self.depend_on_sources(node, sources);
        }
        self.statistics.count(wave);
        found
    }

    fn depend_on_sources(&mut self, node: Node, sources: Vec<LiveSource>) {
        let dependencies: Vec<Node> = sources.into_iter().map(|source| self.nodes.source(source)).collect();
        self.depend(node, &dependencies);
    }

    /// Makes a node depend on these, in place of those before.
    fn depend(&mut self, node: Node, dependencies: &[Node]) {
        let before = self.schedule.dependencies(node).to_vec();
        self.schedule.set_dependencies(node, dependencies).expect("queries depend on calls, and these on sources");
        self.forget_unused(&before);
    }

    /// Takes out sources and calls on which nothing depends any more.
    fn forget_unused(&mut self, nodes: &[Node]) {
        for &node in nodes {
            if self.schedule.dependents(node).is_empty() {
                let below = self.schedule.dependencies(node).to_vec();
                self.schedule.clear(node);
                self.nodes.remove(node);
                self.forget_unused(&below);
            }
        }
    }
}

impl LiveQueriesStatistics {
    fn count(&mut self, wave: Wave) {
        self.commits += u64::from(wave.ran > 0);
        self.reached += wave.visited;
        self.ran += wave.ran;
        self.cut_off += wave.cut_off;
    }
}

impl Nodes {
    fn add(&mut self, held: Held) -> Node {
        let node = self.free.pop().unwrap_or_else(|| {
            self.all.push(Held::Nothing);
            Node::try_from(self.all.len() - 1).expect("there are fewer queries than a node's number counts")
        });
        self.all[node as usize] = held;
        node
    }

    /// The node of a source.
    fn source(&mut self, source: LiveSource) -> Node {
        if let Some(&node) = self.sources.get(&source) {
            return node;
        }
        let node = self.add(Held::Source(source.clone()));
        self.sources.insert(source, node);
        node
    }

    fn remove(&mut self, node: Node) {
        match std::mem::replace(&mut self.all[node as usize], Held::Nothing) {
            Held::Source(source) => _ = self.sources.remove(&source),
            Held::Call(_) => self.calls.retain(|_, known| *known != node),
            Held::Nothing | Held::Query(..) => {}
        }
        self.free.push(node);
    }
}

/// A commit on its way through what it touches.
struct Taking<'a> {
    nodes: &'a mut Nodes,
    rows: SignedRows,
    has_modules: bool,
    variables: u64,
    /// What it came to for the calls that it touched.
    updates: FxHashMap<Node, LiveRulesUpdate>,
    found: Changed,
    /// What depends on something else now.
    moved: Vec<Node>,
}

impl Taking<'_> {
    /// What it comes to for a query; nothing if its answers stay the same.
    fn change(&mut self, node: Node, query: &mut LiveQuery, call: Option<Node>) -> Option<LiveChange> {
        let Some(call) = call else {
            let was_held = query.is_held();
            let changes = query.take(&mut self.rows, self.variables);
            if query.is_held() != was_held {
                self.moved.push(node);
            }
            return (!changes.is_empty()).then_some(LiveChange::Answers(changes));
        };
        let Held::Call(rules) = &mut self.nodes.all[call as usize] else { return None };
        let update = self.updates.get(&call).copied().unwrap_or(LiveRulesUpdate::Same);
        match update {
            LiveRulesUpdate::Stopped(why) => Some(LiveChange::Stopped(why)),
            LiveRulesUpdate::GoesOn => Some(LiveChange::Answers(query.take_rules(rules))),
            LiveRulesUpdate::Changed | LiveRulesUpdate::Same => {
                let changes = query.take_rules(rules);
                (!changes.is_empty()).then_some(LiveChange::Answers(changes))
            }
        }
    }
}

impl Run for Taking<'_> {
    type Error = Infallible;

    fn run(&mut self, nodes: &[Node], changed: &mut Vec<Node>) -> Result<(), Infallible> {
        for &node in nodes {
            // It is lent out: a query looks at its call.
            match std::mem::replace(&mut self.nodes.all[node as usize], Held::Nothing) {
                Held::Call(mut rules) => {
                    let update = rules.take(&self.rows, self.has_modules, self.variables);
                    if rules.was_found_anew() {
                        self.moved.push(node);
                    }
                    if update != LiveRulesUpdate::Same {
                        changed.push(node);
                    }
                    self.updates.insert(node, update);
                    self.nodes.all[node as usize] = Held::Call(rules);
                }
                Held::Query(mut query, call) => {
                    if let Some(change) = self.change(node, &mut query, call) {
                        changed.push(node);
                        self.found.push((node as usize, change));
                    }
                    self.nodes.all[node as usize] = Held::Query(query, call);
                }
                other => self.nodes.all[node as usize] = other,
            }
        }
        Ok(())
    }
}
