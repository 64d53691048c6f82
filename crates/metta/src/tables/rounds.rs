//! Tables that a program asks for with `(pragma! table name)`, and how they are filled.
//!
//! 1. A call whose arguments are evaluated is *asked* for by its key: the space, the expected type and the call itself up to
//!    the names of variables.
//! 2. If its table is complete and nothing has changed since, its answers are the results. If it is being filled, the
//!    answers found so far are; where the call is the only alternative of its expression, the reader stays on: it goes on
//!    with each answer as it is found.
//! 3. If rows answer it ([`crate::datalog`]), its table is complete at once. Otherwise the evaluator *begins* to fill it: it evaluates the call as it would without tables, adds each result as an
//!    answer when it is found, errors at the end, and *ends the round*.
//! 4. A call that has read a table below it in the stack of calls in progress depends on it: it is part of the *component*
//!    of the lowest such call, its *leader*, and ends with the answers that it has. The leader goes through another
//!    round, in which the members are evaluated anew, each at most once, until no reader has missed an answer. Then the whole
//!    component is complete.
//! 5. A complete table notes the *stamp* of its last round: how often spaces, states and settings had changed. With
//!    another stamp it is filled anew.
//! 6. What *asks for all* results of a part of the evaluation, for their absence, their number or the first of them, must have
//!    read complete tables only. Whatever it calls is evaluated above it; if that reads a call in progress below it, all that lies
//!    between the two is a cycle, and the form ends with an error that names it ([`Tables::cycle`]).
//! 7. An error counts only if a call has no other result. So readers of a table that is not complete do not see its errors. If in the end a
//!    table that was read has nothing but errors, they are *shown*, and its leader goes through further rounds. If a call whose errors
//!    were shown has a result then, the form ends with an error as well.
//! 8. Which call leads a component depends on what was asked first. So the answers of a component of several calls are
//!    put into an order that does not.
//!
//! Tables in progress lie on two stacks, as in Tarjan's algorithm for strongly connected components: the calls in
//! progress, and the members of components that are not complete.

use super::answer::{Answer, Answers};
use super::store::{Entry, Found, Key, Stamp, Store};
use super::{CallKey, Policy};
use crate::datalog::{Goals, RowAnswers};
use crate::limits::LimitReached;
use crate::names;
use rustc_hash::{FxHashMap, FxHashSet};
use space::{Atom, Symbol, canonical};
use std::mem;
use std::rc::Rc;

/// The setting that names the tabled functions.
pub(crate) const SETTING: &str = "table";

/// What is remembered, and how long.
const POLICY: Policy = Policy::Declared;

/// What an answer, and what a table, takes beside its bytes.
const BYTES_EACH: usize = POLICY.bytes_each();

/// The most calls of a cycle that an error names.
const CYCLE_SHOWN_MAX: usize = 32;

/// All tables of a run.
#[derive(Default)]
pub(crate) struct Tables {
    names: FxHashSet<Symbol>,
    /// How often `names` has changed.
    version: u32,
    /// How often something has changed that the log of changes does not count.
    resets: u64,
    /// The calls that are complete.
    complete: Store,
    /// The others.
    index: FxHashMap<Key, usize>,
    tables: Vec<Table>,
    active: Vec<Active>,
    members: Vec<Member>,
    /// What is evaluated began above something that asks for all results, with this number of calls in progress below that.
    floor: usize,
    stamp: Stamp,
    bytes: usize,
    rounds: u64,
    found: u64,
    /// Calls that are answered over rows.
    pub(crate) goals: Goals,
}

/// The table of a call that is not complete.
struct Table {
    key: Key,
    answers: Vec<Answer>,
    known: FxHashSet<Box<[u8]>>,
    /// What its answers are counted with.
    bytes: usize,
    /// Whether an answer is no error.
    has_result: bool,
    /// Whether somebody has read it in this round, when it was not complete.
    is_read: bool,
    /// Whether its errors are seen by readers although it is not complete.
    shows_errors: bool,
    state: TableState,
    /// The fewest answers that a reader had seen in this round when it left.
    least_read: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TableState {
    /// To be evaluated when it is asked for; it may have answers of an earlier round.
    Open,
    /// Being evaluated, at this place among the calls in progress.
    Active(usize),
    /// Evaluated in this round of its leader, at this place among the members.
    Waiting(usize),
    /// Its answers are with the complete calls.
    Complete,
}

/// A call in progress.
struct Active {
    table: usize,
    /// Its place among the members.
    member: usize,
    /// The lowest call in progress that it depends on.
    lowest: usize,
    /// How much had changed when this round began.
    stamp: Stamp,
    /// What was evaluated in an earlier round and not yet in this one.
    open: Vec<usize>,
}

/// A call whose component is not complete.
struct Member {
    table: usize,
    call: Atom,
}

/// What is known of a call.
pub(crate) enum CallState {
    /// These are its answers.
    Read(Answers),
    /// These are its answers so far.
    Follow(usize),
    /// It is to be evaluated: nothing is known of it that holds now.
    Fill(usize),
}

/// How a round ends.
pub(crate) enum RoundEnd {
    /// Somebody may have missed an answer.
    Again,
    /// The call has a result only because it seemed to have none: this error says so.
    NotStratified(Atom),
    /// These are the answers.
    Done(Answers),
}

impl Tables {
    /// The functions that are tabled from now on.
    pub(crate) fn set_names(&mut self, names: impl Iterator<Item = Symbol>) {
        let names = names.collect();
        if self.names != names {
            self.names = names;
            self.version += 1;
        }
        self.reset();
    }

    /// Whether calls of a function are tabled.
    pub(crate) fn is_tabled(&self, name: &Symbol) -> bool {
        !self.names.is_empty() && self.names.contains(name)
    }

    /// Another number whenever other functions are tabled.
    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    /// What was found so far holds no more.
    pub(crate) fn reset(&mut self) {
        self.resets += 1;
    }

    /// How many evaluations of calls have filled tables, and how many answers they found.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.rounds, self.found)
    }

    /// The bytes that tables take, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many calls are in progress.
    pub(crate) fn depth(&self) -> usize {
        self.active.len()
    }

    /// Says what is known of a call, after `changes` changes of spaces and states; `bytes_max` is what tables may take.
    ///
    /// # Errors
    /// They take more.
    pub(crate) fn ask(
        &mut self,
        asking: &CallKey,
        changes: u64,
        bytes_max: Option<usize>,
    ) -> Result<CallState, LimitReached> {
        let stamp = Stamp { changes, resets: self.resets };
        if self.active.is_empty() && (stamp != self.stamp || bytes_max.is_some_and(|most| self.bytes > most / 2)) {
            self.clear();
            self.stamp = stamp;
        }
        let table = match self.complete.find(&asking.key, stamp, POLICY) {
            Found::Known(answers) => return Ok(CallState::Read(answers)),
            Found::Outdated(bytes) => {
                self.bytes -= bytes;
                self.make(&asking.key)
            }
            Found::Nothing => match self.index.get(asking.key.as_slice()) {
                Some(&known) => known,
                None => {
                    self.bytes += asking.key.len() + BYTES_EACH;
                    self.make(&asking.key)
                }
            },
        };
        let lowest = match self.tables[table].state {
            TableState::Open | TableState::Complete => None,
            TableState::Active(lowest) => Some(lowest),
            TableState::Waiting(member) => Some(self.active_with(member)),
        };
        if let Some(lowest) = lowest {
            self.depend(lowest);
            return Ok(CallState::Follow(table));
        }
        self.check_bytes(bytes_max)?;
        Ok(CallState::Fill(table))
    }

    /// Begins to evaluate a call, after `changes` changes of spaces and states.
    pub(crate) fn fill(&mut self, table: usize, call: &Atom, changes: u64) {
        self.begin(table, call.clone(), Stamp { changes, resets: self.resets });
    }

    /// How many calls are in progress below the innermost part of the evaluation that asks for all results, as far as that began
    /// before the evaluator that is at work.
    pub(crate) fn floor(&self) -> usize {
        self.floor
    }

    /// Says where an evaluator begins its work: see [`Tables::floor`]. Gives what was said before.
    pub(crate) fn set_floor(&mut self, floor: usize) -> usize {
        mem::replace(&mut self.floor, floor)
    }

    /// The error of a reader of a table that is not complete, if something asks for all results with this number of calls in progress
    /// below it, and the table waits for one of them. It names the calls from that one to the reader, each of which depends on the next.
    pub(crate) fn cycle(&self, table: usize, asks_all_above: usize) -> Option<Atom> {
        let (lowest, read) = match self.tables[table].state {
            TableState::Active(lowest) => (lowest, None),
            TableState::Waiting(member) => (self.active_with(member), Some(&self.members[member].call)),
            TableState::Open | TableState::Complete => return None,
        };
        if lowest >= asks_all_above {
            return None;
        }
        let calls = self.active[lowest..].iter().map(|active| &self.members[active.member].call);
        Some(not_stratified(&calls.chain(read).collect::<Vec<_>>()))
    }

    /// The highest call in progress that a member was evaluated for.
    fn active_with(&self, member: usize) -> usize {
        self.active.partition_point(|active| active.member <= member) - 1
    }

    /// A call has these answers.
    ///
    /// # Errors
    /// Tables take more bytes than they may.
    pub(crate) fn complete_with(
        &mut self,
        table: usize,
        rows: RowAnswers,
        changes: u64,
        bytes_max: Option<usize>,
    ) -> Result<Answers, LimitReached> {
        self.rounds += 1;
        self.found += rows.len() as u64;
        let bytes = rows.found.bytes();
        self.bytes += bytes;
        let answers = Answers::Rows(Rc::new(rows));
        let stamp = Stamp { changes, resets: self.resets };
        self.keep(table, Entry { answers: answers.clone(), stamp, bytes });
        self.drop_complete();
        self.check_bytes(bytes_max)?;
        Ok(answers)
    }

    /// A call is complete.
    fn keep(&mut self, table: usize, entry: Entry) {
        let table = &mut self.tables[table];
        table.state = TableState::Complete;
        if let Some((key, _)) = self.index.remove_entry(&table.key) {
            self.complete.insert(key, entry, POLICY);
        }
    }

    /// If all calls are complete, nobody knows the places of their tables any more.
    fn drop_complete(&mut self) {
        if self.index.is_empty() {
            self.tables.clear();
        }
    }

    fn check_bytes(&self, bytes_max: Option<usize>) -> Result<(), LimitReached> {
        match bytes_max {
            Some(most) if self.bytes > most => Err(LimitReached::Heap(most as u64)),
            _ => Ok(()),
        }
    }

    fn make(&mut self, key: &[u8]) -> usize {
        let key = Key::from(key);
        self.index.insert(Rc::clone(&key), self.tables.len());
        self.tables.push(Table {
            key,
            answers: Vec::new(),
            known: FxHashSet::default(),
            bytes: 0,
            has_result: false,
            is_read: false,
            shows_errors: false,
            state: TableState::Open,
            least_read: usize::MAX,
        });
        self.tables.len() - 1
    }

    /// A reader has seen the answers that a table has now, and will see no more of them.
    pub(crate) fn leave(&mut self, table: usize) {
        let table = &mut self.tables[table];
        table.least_read = table.least_read.min(table.answers.len());
        table.is_read = true;
    }

    /// The answers that a table has now, for the call that has asked for it.
    pub(crate) fn answers_so_far(&mut self, table: usize) -> Answers {
        let table = &mut self.tables[table];
        table.is_read = true;
        Answers::Found(table.answers.iter().filter(|answer| table.shows(answer)).cloned().collect())
    }

    /// The call in progress reads a table that is not complete.
    fn depend(&mut self, lowest: usize) {
        let reader = self.active.last_mut().expect("what is not complete has a call in progress");
        reader.lowest = reader.lowest.min(lowest);
    }

    fn begin(&mut self, table: usize, call: Atom, stamp: Stamp) {
        let lowest = self.active.len();
        self.active.push(Active { table, member: self.members.len(), lowest, stamp, open: Vec::new() });
        self.members.push(Member { table, call });
        let table = &mut self.tables[table];
        (table.state, table.least_read, table.is_read) = (TableState::Active(lowest), usize::MAX, false);
        self.rounds += 1;
    }

    /// Adds an answer to the table of the call in progress: a result and what the variables of the call are with it.
    ///
    /// # Errors
    /// Tables take more bytes than they may.
    pub(crate) fn add(&mut self, answer: Answer, bytes_max: Option<usize>) -> Result<(), LimitReached> {
        let key = answer.key();
        let active = self.active.last().expect("a call is in progress");
        let table = &mut self.tables[active.table];
        let bytes = 2 * key.len() + BYTES_EACH;
        if !table.known.insert(key.into()) {
            return Ok(());
        }
        table.has_result |= !answer.is_error();
        table.answers.push(answer);
        table.bytes += bytes;
        self.found += 1;
        self.bytes += bytes;
        self.check_bytes(bytes_max)
    }

    /// Ends a round of the call in progress, after `changes` changes of spaces and states.
    pub(crate) fn end_round(&mut self, changes: u64) -> RoundEnd {
        let place = self.active.len() - 1;
        let active = &self.active[place];
        let (table, member) = (active.table, active.member);
        if active.lowest < place {
            self.tables[table].state = TableState::Waiting(member);
            let done = self.active.pop().expect("a call is in progress");
            let around = self.active.last_mut().expect("it depends on a call below");
            around.lowest = around.lowest.min(done.lowest);
            around.open.extend(done.open);
            return RoundEnd::Done(self.answers_so_far(table));
        }
        let missed = |member: &Member| {
            let table = &self.tables[member.table];
            table.least_read < table.answers.len()
        };
        if self.members[member..].iter().any(missed) || self.show_errors(member) {
            self.begin_again(changes);
            return RoundEnd::Again;
        }
        if let Some(error) = self.conflict(member) {
            return RoundEnd::NotStratified(error);
        }
        RoundEnd::Done(self.complete())
    }

    /// Shows the errors of members that have nothing else, from a place on, if there are some that a reader has not seen.
    fn show_errors(&mut self, first: usize) -> bool {
        let is_hidden = |member: &Member| {
            let table = &self.tables[member.table];
            table.is_read && !table.shows_errors && !table.has_result && !table.answers.is_empty()
        };
        if !self.members[first..].iter().any(is_hidden) {
            return false;
        }
        for member in &self.members[first..] {
            let table = &mut self.tables[member.table];
            table.shows_errors |= !table.has_result;
        }
        true
    }

    /// The error of a member, from a place on, whose errors were shown and that has a result now.
    fn conflict(&self, first: usize) -> Option<Atom> {
        let has_both = |member: &&Member| {
            let table = &self.tables[member.table];
            table.shows_errors && table.has_result && table.answers.iter().any(Answer::is_error)
        };
        let found = self.members[first..].iter().filter(has_both).map(|member| &member.call);
        found.min_by_key(|call| canonical::key(call)).map(|call| not_stratified(&[call]))
    }

    /// Begins another round of a leader: the members of its component are evaluated anew when they are asked for.
    fn begin_again(&mut self, changes: u64) {
        let stamp = Stamp { changes, resets: self.resets };
        let active = self.active.last_mut().expect("a call is in progress");
        for Member { table, .. } in self.members.drain(active.member + 1..) {
            self.tables[table].state = TableState::Open;
            active.open.push(table);
        }
        let table = &mut self.tables[active.table];
        (table.least_read, table.is_read) = (usize::MAX, false);
        active.stamp = stamp;
        self.rounds += 1;
    }

    /// A leader and its component have all their answers: those of the leader are given. What was left out of the last round is forgotten.
    fn complete(&mut self) -> Answers {
        let active = self.active.pop().expect("a call is in progress");
        let has_several = self.members.len() > active.member + 1;
        let members: Vec<usize> = self.members.drain(active.member..).map(|member| member.table).collect();
        let mut of_leader = None;
        for member in members {
            let table = &mut self.tables[member];
            let (bytes, answers) = (mem::take(&mut table.bytes), table.complete_answers(has_several));
            of_leader.get_or_insert_with(|| answers.clone());
            self.keep(member, Entry { answers, stamp: active.stamp, bytes });
        }
        for table in active.open {
            if self.tables[table].state == TableState::Open {
                self.empty(table);
            }
        }
        self.drop_complete();
        of_leader.expect("the leader is a member")
    }

    /// How many answers a table has.
    pub(crate) fn len(&self, table: usize) -> usize {
        self.tables[table].answers.len()
    }

    /// An answer of a table that is not complete. `None` for an error that does not count because there is something else, or may be.
    pub(crate) fn answer(&self, table: usize, number: usize) -> Option<&Answer> {
        let table = &self.tables[table];
        Some(&table.answers[number]).filter(|answer| table.shows(answer))
    }

    /// Forgets the calls in progress above these, with their components: what was to evaluate them has ended.
    pub(crate) fn abandon(&mut self, depth: usize) {
        let Some(first) = self.active.get(depth) else { return };
        let left: Vec<usize> = self.members.drain(first.member..).map(|member| member.table).collect();
        let open: Vec<usize> = self.active.drain(depth..).flat_map(|active| active.open).collect();
        for table in left.into_iter().chain(open) {
            if self.tables[table].state != TableState::Complete {
                self.empty(table);
            }
        }
    }

    fn empty(&mut self, table: usize) {
        let table = &mut self.tables[table];
        self.bytes -= mem::take(&mut table.bytes);
        table.answers.clear();
        table.known.clear();
        (table.has_result, table.is_read, table.shows_errors) = (false, false, false);
        table.state = TableState::Open;
    }

    fn clear(&mut self) {
        self.complete.clear();
        self.index.clear();
        self.tables.clear();
        self.members.clear();
        self.bytes = 0;
        self.goals.forget();
    }
}

impl Table {
    /// Whether readers see an answer while the table is not complete.
    fn shows(&self, answer: &Answer) -> bool {
        (self.shows_errors && !self.has_result) || !answer.is_needless_error()
    }

    /// Its answers, now that it is complete: an error counts only if there is nothing else. Those of a component of several calls are sorted.
    fn complete_answers(&mut self, is_sorted: bool) -> Answers {
        let mut answers = mem::take(&mut self.answers);
        self.known = FxHashSet::default();
        if self.has_result {
            answers.retain(|answer| !answer.is_needless_error());
        }
        if is_sorted {
            answers.sort_by_cached_key(Answer::key);
        }
        Answers::Found(answers.into())
    }
}

/// The error of calls each of which depends on the next, the last on the first, somewhere by what asks for all results. It begins with the
/// same call wherever the cycle was entered.
fn not_stratified(calls: &[&Atom]) -> Atom {
    let first = (0..calls.len()).min_by_key(|&place| canonical::key(calls[place])).unwrap_or_default();
    let around = calls[first..].iter().chain(&calls[..first]).copied();
    let mut reason: Vec<Atom> = vec![Atom::symbol(names::NOT_STRATIFIED)];
    reason.extend(around.take(CYCLE_SHOWN_MAX).cloned());
    if calls.len() > CYCLE_SHOWN_MAX {
        reason.push(Atom::symbol("..."));
    }
    names::error(calls[first].clone(), Atom::expression(reason))
}
