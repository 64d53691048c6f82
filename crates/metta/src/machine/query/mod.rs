//! `match`: what a pattern finds in a space, one alternative for each answer.
//!
//! 1. It is decided in which [way] the query is answered: by rows, by the code of atoms, or by an atom.
//! 2. Its pattern is [written down](patterns) when it is asked for the first time: what slots hold are the *parameters* of the plan, which is
//!    kept with the code ([`space::KeptPlan`]). It is written again if a slot holds a variable where it held data, or the other way round.
//! 3. If all answers are rows they are kept as terms. The code goes on with each in turn: new variables of the pattern are slots and
//!    take the terms as they are, variables from outside are bound.
//! 4. If [some](some) answers are wanted, their number, or a list of them, that is asked, where the [template] is seen to come to itself.
//! 5. Otherwise, or if plans do not serve again, the pattern is [matched](candidate_matching) with the code of the atoms that may match it,
//!    which is made when it pays and holds until the space changes.
//! 6. If there is no such code the space is asked with the pattern as an atom; new variables are made in the heap first.
//!
//! What the code after it adds is not seen: all answers are found, or all that may match are known, before the first is used.

mod candidate_compiler;
mod candidate_matching;
mod candidates;
mod gathered;
mod notes;
mod patterns;
mod rows;
mod some;
mod template;
mod way;

pub(super) use candidates::{CandidateCache, CandidateTries};

use super::code::{HEADER, Query, Slot};
use super::control::choices::{Choice, ChoiceKind, Destination, Rows};
use super::control::collected::{CollectedResult, CollectedResults};
use super::values::Scope;
use super::words::TRUE;
use super::{Halt, Machine, Running};
pub(super) use candidate_matching::MatchRoom;
use candidate_matching::following;
use candidates::{Candidates, Input};
use patterns::{QueryInputs, Seen};
use region::Ref;
use space::{Asked, DictionaryReader, Executor, FilterInputs, Given, Outcome, Question, SharedTerms};
use std::rc::Rc;
use way::Way;

/// Room for queries, kept from one to the next.
pub(super) struct QueryRoom {
    dictionary: SharedTerms,
    pub(super) executor: Executor,
    inputs: QueryInputs,
    /// Whether a test was undecided about an answer.
    was_undecided: bool,
}

impl QueryRoom {
    fn new(dictionary: SharedTerms) -> Self {
        Self { dictionary, executor: Executor::default(), inputs: QueryInputs::default(), was_undecided: false }
    }

    /// Whether a test was undecided about an answer, which has passed it.
    pub(super) fn was_undecided(&self) -> bool {
        self.was_undecided
    }

    /// The variables from outside, whose values are the last of each answer.
    pub(super) fn outer(&self) -> &[Ref] {
        &self.inputs.outer
    }

    /// Finds the answers of a query that are asked for, if they are all rows.
    #[inline]
    fn ask(
        &mut self,
        (query, asked): (&mut Query, Asked),
        space: Ref,
        seen: &mut Seen<'_>,
        symbols_differ: bool,
    ) -> Option<Outcome> {
        let Self { dictionary, executor, inputs, was_undecided } = self;
        let mut dictionary = DictionaryReader::new(dictionary);
        let is_planned = inputs.plan(query, seen, &mut dictionary);
        let reserved = inputs.read_tested(query, seen, &mut dictionary);
        let are_spaces = inputs.read_others(query, seen);
        let QueryInputs { parameters, tested, others, .. } = inputs;
        let inputs = FilterInputs::new(tested, &reserved, symbols_differ);
        let given = Given { parameters, filters: &inputs };
        let ceiling = &seen.values.ceiling;
        let question = Question { asked, given, others, should_stop: &|| ceiling.is_passed() };
        let space = seen.values.space_of(space).filter(|_| is_planned && are_spaces);
        let outcome = space.and_then(|space| space.execute(&mut query.kept.plan, &question, &mut dictionary, executor));
        *was_undecided = inputs.was_undecided();
        outcome
    }
}

impl Running<'_> {
    /// Asks a space and goes on with each answer.
    pub(super) fn query(&mut self, query: u32, space: Slot, return_point: u32) -> Result<(), Halt> {
        let space = self.m.read(space);
        let way = match self.m.way_of(query, space, false)? {
            Way::Rows if self.query_rows(query, space, return_point)? => return Ok(()),
            Way::Rows => self.m.way_of(query, space, true)?,
            way => way,
        };
        match way {
            Way::Code(candidates, inputs) => {
                self.m.code.queries[query as usize].note_open(self.session, None);
                self.query_candidates(candidates, inputs, return_point)
            }
            Way::Rows | Way::Atoms => self.query_atoms(query, space),
        }
    }

    /// Goes on with each answer if they are all rows; `false` if they are not.
    fn query_rows(&mut self, query: u32, space: Ref, return_point: u32) -> Result<bool, Halt> {
        if !self.m.code.queries[query as usize].filters.filters.is_empty() {
            self.refresh();
        }
        let mut room = self.m.take_query_room();
        let done = match self.m.ask(query, space, &mut room, Asked::All) {
            Some(Outcome::Stopped) => return Err(self.m.values.ceiling.passed()),
            None => {
                self.m.code.queries[query as usize].kept.put_off();
                Ok(false)
            }
            Some(Outcome::Rows(count) | Outcome::Groups(count) | Outcome::Number(count)) => {
                self.m.code.queries[query as usize].note_planned(self.session, Asked::All, count);
                self.go_through(query, &mut room, return_point).map(|()| true)
            }
        };
        self.m.rooms.query_room = Some(room);
        done
    }

    /// Goes on with each of the answers that were found.
    #[inline]
    fn go_through(&mut self, query: u32, room: &mut QueryRoom, return_point: u32) -> Result<(), Halt> {
        let QueryRoom { executor, inputs: QueryInputs { outer, .. }, .. } = room;
        executor.answers_mut().write_out();
        match executor.answers().count() {
            0 => self.fail(),
            1 => self.m.take_answer(query, executor.answers().get(0), outer, return_point),
            _ => {
                let (answers, outer) = (executor.answers_mut().take(), std::mem::take(outer));
                let rows = Rows { answers, query, outer, return_point };
                let base = self.m.frames.base;
                let top = base + HEADER + usize::from(self.m.code.return_point(return_point).at);
                self.m.choices.push(&mut self.m.frames, &self.m.values, (base, top), ChoiceKind::Rows(Box::new(rows)));
                self.m.next_row()
            }
        }
    }

    /// Goes on with each atom that matches what slots hold.
    fn query_candidates(
        &mut self,
        candidates: Rc<Candidates>,
        mut inputs: Vec<Input>,
        return_point: u32,
    ) -> Result<(), Halt> {
        candidates.make_new_variables(&mut self.m.values, &mut inputs)?;
        let (from, end) = candidates.list_for(&inputs, &self.m.values);
        let mut next = following(&candidates, &inputs, from, end);
        let trail = self.m.choices.bindings.trail.len();
        let (heap, foreign) = (self.m.values.heap.mark(&self.m.values.region), self.m.values.foreign.len());
        while next < end {
            let atom = candidates.listed[next as usize];
            next = following(&candidates, &inputs, next + 1, end);
            if !self.m.try_candidate(&candidates, atom, &inputs)? {
                continue;
            }
            if next < end {
                let base = self.m.frames.base;
                let top = base + HEADER + usize::from(self.m.code.return_point(return_point).at);
                let kind =
                    ChoiceKind::Candidates(Box::new(CandidateTries { candidates, next, end, inputs, return_point }));
                self.m.choices.push_made(
                    &mut self.m.frames,
                    Choice { frame_base: base, end: top, top, trail, heap, foreign, kind },
                );
            } else {
                self.m.rooms.matching.spare(inputs);
            }
            self.m.frames.pc = self.m.code.return_points[return_point as usize].pc;
            return Ok(());
        }
        self.m.rooms.matching.spare(inputs);
        self.fail()
    }

    /// Asks with an atom.
    fn query_atoms(&mut self, query: u32, space: Ref) -> Result<(), Halt> {
        for place in 0..self.m.code.queries[query as usize].fresh.len() {
            let (slot, name) = self.m.code.queries[query as usize].fresh[place];
            let made = match self.m.code.queries[query as usize].is_form {
                true => self.m.values.make_form_variable(name)?,
                false => self.m.values.heap.variable(&mut self.m.values.region, name)?,
            };
            self.m.frames.set_slot(slot, made);
        }
        let template = self.m.code.queries[query as usize].template;
        let pattern = self.m.build(template)?;
        let mut scope = Scope::default();
        self.m.values.name_by_age(pattern, self.session.program.variables());
        let atom = self.m.values.store(pattern, &mut scope, self.session.program.variables())?;
        let space = self.m.values.space_of(space).cloned().expect("a guard stands before a query");
        let ceiling = &self.m.values.ceiling;
        let found = space.query_unless(&atom, self.session.program.variables(), &|| ceiling.is_passed());
        let Some(solutions) = found else { return Err(ceiling.passed()) };
        self.m.code.queries[query as usize].note_open(self.session, Some(solutions.len()));
        let mut results = CollectedResults::with_capacity(solutions.len());
        for solution in solutions {
            let mut bound = Vec::with_capacity(solution.len());
            for (variable, value) in solution {
                let value = self.m.values.load(&value, &mut scope)?;
                bound.extend(scope.get(&variable).map(|&variable| (variable, value)));
            }
            results.push(CollectedResult { value: TRUE, bound });
        }
        let return_point = self.m.code.queries[query as usize].atoms;
        self.deliver_all(results, Destination::ReturnPoint(return_point))
    }
}

impl Machine {
    /// Room for a query.
    #[inline]
    pub(super) fn take_query_room(&mut self) -> Box<QueryRoom> {
        let kept = self.rooms.query_room.take();
        kept.unwrap_or_else(|| Box::new(QueryRoom::new(self.values.terms.clone())))
    }

    /// Finds the answers that are asked for, if they are all rows.
    #[inline]
    pub(super) fn ask(&mut self, query: u32, space: Ref, room: &mut QueryRoom, asked: Asked) -> Option<Outcome> {
        let Self { values, code, frames, types, .. } = self;
        let mut seen = Seen { values, frame: &frames.stack[frames.base + HEADER..] };
        let query = &mut code.queries[query as usize];
        room.ask((query, asked), space, &mut seen, !types.has_types)
    }
}
