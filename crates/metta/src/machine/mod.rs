//! The machine: rules compiled to code, run on region memory.
//!
//! It gives the same results in the same order as the reference interpreter ([`crate::interpreter`]), some hundred times
//! faster. `docs/machine.md` has its instructions and an example.
//!
//! 1. A function is compiled when it is called first after a change of the rules (`compile`): one piece of code for each
//!    rule, and a switch on the argument that tells most rules apart.
//! 2. Code runs on a stack of frames (`run.rs`) whose slots hold references (`values.rs`): small integers and symbols as
//!    they are, expressions and variables in a region of the heap.
//! 3. Alternatives are choices (`control`), taken up in `alternatives.rs`: what was bound since is undone, what was allocated since is given back.
//! 4. What has no code yet, such as an expression that a match has found, is evaluated child by child (`evaluate.rs`).
//! 5. What the machine does not compile it hands to the interpreter, expression by expression, and counts it.
//! 6. What a loop does not need any more is collected when memory has doubled (`memory`).
//!
//! Nothing here recurses on the native stack with a program.

mod alternatives;
mod arithmetic;
mod backtracking;
mod begun_again;
mod calls;
mod changed_states;
mod changing;
mod classes;
mod code;
mod collecting;
mod compile;
mod cons_holes;
mod construction;
mod constructors;
mod control;
mod core;
mod delivery;
mod depth;
mod evaluate;
mod explain;
mod facts;
mod float_terms;
mod frozen;
mod fuel;
mod guarded;
mod halt;
mod handover;
mod head_matching;
mod held;
mod holes;
mod indexed;
mod inert;
mod interned;
mod interpreted;
mod lists;
mod lower;
mod matching;
mod memory;
mod minimal;
mod native;
mod nested_data;
mod normal_calls;
mod normal_form;
mod normal_terms;
mod noted_states;
mod notes;
mod open_data;
mod operations;
mod passes;
mod profiling;
mod query;
mod reducts;
mod restart;
mod results;
mod rule_cache;
mod rule_index;
mod rule_selection;
mod rules;
mod run;
mod same_terms;
mod slots;
mod spaces_asked;
mod spaces_met;
mod special;
mod states;
mod substitute;
mod tables;
mod templates;
mod terms;
mod transactions;
mod trmc;
mod tuple_frame;
mod type_errors;
mod typed;
mod types;
mod unreduced;
mod values;
mod versions;
mod words;

use crate::environment::Stop;
use crate::evaluate::{Answer, Evaluate};
use crate::limits::{LimitReached, Watch};
use crate::names;
use crate::session::{Session, Statistics};
use crate::tables::AutomaticTables;
pub(crate) use changing::{classify, is_word_of_code};
pub(crate) use classes::{FACT, classify_head};
use code::{ANSWER, Code, HEADER, Slot, TypeId};
use cons_holes::ConsHoles;
use control::choices::Choices;
use control::frames::{Frames, WORDS_PER_FRAME};
pub use explain::Explained;
pub use frozen::FrozenResults;
use halt::{Halt, Reason};
use held::is_evaluated_open;
use interpreted::Interpreted;
use matching::unification::Unified;
use memory::counters::Counters;
use memory::limits::Limits;
use normal_calls::{UnchangedCalls, call_of};
use noted_states::{ChangedStates, Outer};
use region::{FreezeError, Full, Ref, tag};
use results::{add_results_so_far, results_leave};
use rule_cache::RuleCache;
use slots::Slots;
use space::{Atom, SharedSpace, SharedState};
use std::cell::{Cell, RefCell};
use tuple_frame::{CHILDREN, EXPRESSION};
use types::{FunctionTypes, TypeChecker, Types};
use values::{Ceiling, Scope, Values};
use words::{EMPTY, TERM, evaluated_term};

/// Words that the stack has in any case.
const STACK_MIN: usize = 1 << 8;

/// The state of a machine, which outlives an evaluation: its code and tables do. Each part has a file of its own.
pub(crate) struct Machine {
    /// The heap, and what references mean.
    values: Values,
    code: Code,
    frames: Frames,
    choices: Choices,
    types: Types,
    rule_cache: RuleCache,
    counters: Counters,
    automatic: AutomaticTables,
    cons_holes: ConsHoles,
    rooms: Rooms,
}

/// Room that is kept from one step to the next.
struct Rooms {
    scratch: Vec<Ref>,
    /// A row on its way into a space, and a query on its way to one.
    row: Vec<space::Term>,
    query_room: Option<Box<query::QueryRoom>>,
    matching: query::MatchRoom,
}

/// Evaluates with a machine, which it keeps from one evaluation to the next. While that machine is at work, an evaluation inside
/// the one at hand has another.
#[derive(Default)]
pub(crate) struct MachineEvaluator {
    machine: RefCell<Option<Box<Machine>>>,
    /// What states held before native functions changed them while a machine was at work.
    changed_states: RefCell<ChangedStates>,
    /// What was left to the interpreter.
    interpreted: RefCell<Interpreted>,
    /// Heap bytes from which on the machine looks at every call whether garbage is to be collected, for tests of that.
    collect_from: Cell<Option<usize>>,
    freezes_results: Cell<bool>,
    /// Of the form of the program that was evaluated last.
    frozen: RefCell<Option<Result<FrozenResults, FreezeError>>>,
}

impl MachineEvaluator {
    /// Lets the machine look at every call whether garbage is to be collected, from `bytes` bytes of heap on.
    pub(crate) fn collect_garbage_from(&self, bytes: usize) {
        self.collect_from.set(Some(bytes));
    }

    /// Says whether the results of each form of the program are frozen as well.
    pub(crate) fn freeze_results(&self, freezes: bool) {
        self.freezes_results.set(freezes);
    }

    /// The frozen results of the form that was evaluated last, if it was evaluated here and they were asked for.
    pub(crate) fn take_frozen(&self) -> Option<Result<FrozenResults, FreezeError>> {
        self.frozen.take()
    }

    /// What was left to the interpreter, and how often; the most frequent come first, equally frequent ones by name.
    pub(crate) fn interpreted_forms(&self) -> Vec<(String, u64)> {
        self.interpreted.borrow().kinds()
    }

    /// The machine that was kept, or a new one.
    fn take_machine(&self, session: &mut Session) -> Result<Box<Machine>, Full> {
        if let Some(machine) = self.machine.take() {
            return Ok(machine);
        }
        let before = region::memory::of_thread();
        let made = Machine::new(session)?;
        session.form_steps.leave_out(region::memory::of_thread() - before);
        Ok(Box::new(made))
    }

    /// Keeps a machine for the next evaluation, with what was noted for the one that this was a part of.
    fn put_back(&self, machine: Box<Machine>, outer: Outer) {
        self.machine.replace(Some(machine));
        self.changed_states.replace(outer.into_states());
    }
}

impl Evaluate<Session> for MachineEvaluator {
    fn evaluate(&self, session: &mut Session, space: &SharedSpace, atom: &Atom) -> Answer {
        let mut machine = match self.take_machine(session) {
            Ok(machine) => machine,
            Err(full) => {
                return Answer { limit: Some(LimitReached::AddressSpace(full.bytes())), ..Answer::default() };
            }
        };
        let mut running = Running::new(*machine, self, session, space);
        let halt = running.evaluate(atom);
        let answer = running.finish(halt);
        *machine = running.m;
        self.put_back(machine, running.outer);
        answer
    }

    fn bytes_held(&self) -> usize {
        self.machine.borrow().as_ref().map_or(0, |machine| machine.heap_bytes_held())
    }

    fn state_changes(&self, state: &SharedState) {
        self.changed_states.borrow_mut().note_for_machine(state);
    }
}

/// A machine at work for a session.
pub(crate) struct Running<'r> {
    m: Machine,
    /// What it notes for the evaluation that it is a part of.
    outer: Outer,
    evaluator: &'r MachineEvaluator,
    session: &'r mut Session,
    space: SharedSpace,
    watch: Watch,
    /// Results of the whole, in the region of the evaluation.
    results: Vec<Ref>,
}

impl Machine {
    /// A machine, unless the system has no address space for its heap.
    fn new(session: &Session) -> Result<Self, Full> {
        let mut values = Values::new(session.program.terms())?;
        let (code, types, rule_cache) = (Code::new(), Types::default(), RuleCache::default());
        let heap = values.heap.mark(&values.region);
        let frames = Frames::new(values.symbol(&space::Symbol::new(names::EMPTY)));
        let rooms = Rooms { scratch: Vec::new(), row: Vec::new(), query_room: None, matching: Default::default() };
        let counters = Counters { fuel: 1, ..Counters::default() };
        let (choices, automatic) = (Choices::new(heap), AutomaticTables::default());
        let cons_holes = ConsHoles::new(values.symbol(&ConsHoles::symbol()));
        Ok(Self { values, code, frames, choices, types, rule_cache, counters, automatic, cons_holes, rooms })
    }

    /// Forgets the evaluation before.
    fn reset(&mut self) {
        let fresh = self.values.heap.open();
        let old = std::mem::replace(&mut self.values.region, fresh);
        self.values.heap.close(old);
        self.values.forget_given_back();
        self.values.foreign.clear();
        self.values.named.clear();
        self.values.beside = 0;
        (self.frames.base, self.frames.protected) = (0, 0);
        self.choices.reset(self.values.heap.mark(&self.values.region));
        self.counters.reset();
    }

    /// The bytes that its heap has, tables beside its cells included.
    pub(crate) fn heap_bytes_held(&self) -> usize {
        self.values.heap.bytes_held()
    }

    /// Gives the memory of an evaluation back and adds what it did to the counts of the run.
    fn count(&mut self, counts: &mut Statistics) {
        let fresh = self.values.heap.open();
        let old = std::mem::replace(&mut self.values.region, fresh);
        self.values.heap.close(old);
        let heap = self.values.heap.statistics();
        let (automatic, functions) = self.automatic.take_counts();
        counts.memo_hits += automatic.hits;
        counts.memo_misses += automatic.misses;
        counts.memo_entries_max = counts.memo_entries_max.max(automatic.entries_max);
        counts.memoised = counts.memoised.max(functions);
        counts.calls += self.counters.calls;
        counts.interpreted += self.counters.interpreted;
        counts.compared += self.counters.compared;
        let before = std::mem::replace(&mut self.counters.heap_counted, heap);
        counts.cells += heap.cells_handed_out - before.cells_handed_out;
        counts.cells_copied += heap.cells_copied - before.cells_copied;
        counts.regions_joined += heap.splices - before.splices;
        counts.escapes_joined += heap.escapes.spliced - before.escapes.spliced;
        counts.escapes_copied += heap.escapes.copied - before.escapes.copied;
        counts.escapes_copied_by_map += heap.escapes.copied_by_map - before.escapes.copied_by_map;
        counts.chunks_max = counts.chunks_max.max(heap.chunks);
        counts.cells_left += heap.cells_left - before.cells_left;
        counts.limit_failures += heap.limit_failures - before.limit_failures;
        counts.heap_bytes_held = counts.heap_bytes_held.max(heap.bytes_held + heap.bytes_beside);
        counts.heap_bytes_peak = counts.heap_bytes_peak.max(heap.bytes_live_peak);
        counts.collections += self.counters.collections - self.counters.collections_counted;
        self.counters.collections_counted = self.counters.collections;
    }
}

impl Machine {
    /// What a slot holds, bindings followed.
    #[inline]
    fn read(&self, slot: Slot) -> Ref {
        let value = self.frames.slot(slot);
        if value.tag() == tag::VARIABLE { self.values.heap.walk(value) } else { value }
    }

    /// The slots of the frame at hand.
    #[inline]
    fn slots(&mut self) -> Slots<'_> {
        Slots { frames: &mut self.frames, values: &mut self.values, notes: self.types.notes }
    }

    /// Binds a variable.
    #[inline]
    fn bind(&mut self, variable: Ref, value: Ref) {
        self.choices.bindings.bind(&mut self.values, variable, value);
    }

    /// Undoes bindings.
    #[inline]
    fn undo_to(&mut self, length: usize) {
        self.choices.bindings.undo_to(&mut self.values, length);
    }

    /// Makes two values equal, if that can be.
    fn unify(&mut self, left: Ref, right: Ref) -> Result<Unified, Halt> {
        self.choices.bindings.unify(&mut self.values, self.types.notes, left, right)
    }

    /// A value with everything bound in it put in.
    fn resolve(&mut self, value: Ref) -> Result<Ref, Halt> {
        self.choices.bindings.resolve(&mut self.values, self.types.notes, value)
    }

    /// What a value evaluates to, if that is plain to see.
    #[inline(always)]
    fn normal(&self, value: Ref, type_id: TypeId) -> Option<Ref> {
        self.types.own_result(&self.values, value, type_id)
    }

    /// The call of a function on the arguments of the frame at hand.
    fn call_of(&mut self, function: u32) -> Result<Ref, Halt> {
        Ok(call_of(&self.code, &self.frames, &mut self.values, function)?)
    }

    fn tuple_of(&mut self, length: usize) -> Result<Ref, Halt> {
        let children: Vec<Ref> = (0..length).map(|index| self.read(CHILDREN + index as Slot)).collect();
        Ok(self.values.heap.expression(&mut self.values.region, &children)?)
    }

    /// A child of the expression at hand, as it is written.
    fn original_child(&self, index: usize) -> Ref {
        let expression = self.frames.slot(EXPRESSION);
        self.values.heap.walk(self.values.heap.child(expression, index))
    }

    /// An expression that came to itself: marked, or noted if it holds variables.
    fn evaluated(&mut self, call: Ref) -> Ref {
        self.values.evaluated(call, self.types.notes, self.code.looked_at_max())
    }

    /// Puts what a slot holds into another, noted as evaluated.
    fn note_evaluated(&mut self, slot: Slot, dst: Slot) -> Result<(), Halt> {
        let value = self.read(slot);
        let value = self.resolve(value)?;
        let noted = match value.tag() {
            tag::EXPRESSION => self.evaluated(value),
            TERM => evaluated_term(value),
            _ => value,
        };
        self.frames.put(dst, noted)
    }

    /// Puts what a slot holds into another, with what is bound put into evaluated data.
    fn resolve_data(&mut self, slot: Slot, dst: Slot) -> Result<(), Halt> {
        let value = self.read(slot);
        let resolved = if is_evaluated_open(&self.values, value) { self.resolve(value)? } else { value };
        self.frames.put(dst, resolved)
    }

    /// Builds what a template says.
    fn build(&mut self, template: u32) -> Result<Ref, Halt> {
        Ok(self.code.build(&self.frames, &mut self.values, &mut self.rooms.scratch, template)?)
    }

    /// What is looked at to find out whether a call came to itself.
    #[inline]
    fn unchanged_calls(&mut self) -> UnchangedCalls<'_> {
        UnchangedCalls {
            code: &self.code,
            frames: &mut self.frames,
            values: &mut self.values,
            trying: &self.choices.trying,
            notes: self.types.notes,
            scratch: &mut self.rooms.scratch,
            compared: &mut self.counters.compared,
        }
    }
}

impl<'r> Running<'r> {
    /// In place, since a machine is large: thousands of bytes.
    #[inline(always)]
    fn new(m: Machine, evaluator: &'r MachineEvaluator, session: &'r mut Session, space: &SharedSpace) -> Self {
        let watch = Watch::begin(&session.limits);
        let outer = Outer::new(evaluator.changed_states.replace(ChangedStates::wanted()));
        Running { m, outer, evaluator, session, space: space.clone(), watch, results: Vec::new() }
    }

    /// The types at hand for questions about atoms and values.
    #[inline]
    fn types(&mut self) -> TypeChecker<'_> {
        TypeChecker::new(&mut self.m.types, &mut self.m.values, &self.space, self.session.program.variables())
    }

    /// The limits of the evaluation.
    #[inline]
    fn limits(&mut self) -> Limits<'_> {
        Limits {
            counters: &mut self.m.counters,
            frames: &mut self.m.frames,
            values: &mut self.m.values,
            watch: &mut self.watch,
            session: self.session,
            collect_from: self.evaluator.collect_from.get(),
        }
    }

    /// Questions about the types of functions that their rules answer.
    fn function_types(&mut self) -> FunctionTypes<'_> {
        FunctionTypes::new(self)
    }

    /// Makes the machine ready for an evaluation, as limits and rules are now.
    fn prepare(&mut self) {
        self.m.reset();
        self.limits().set_collect_from();
        self.m.frames.stack_max = self.session.limits.depth_max.saturating_mul(WORDS_PER_FRAME).max(STACK_MIN);
        self.m.frames.stack.truncate(self.m.frames.stack_max);
        self.m.values.ceiling = Ceiling::of(&self.session.limits, &self.session.form_steps);
        self.limits().limit_heap();
        if self.m.code.watched.first().is_none_or(|watched| !watched.is_same(&self.space)) {
            let space = self.space.clone();
            self.m.code.watch(&space, &self.m.values.ceiling);
            self.m.next_version(true);
        }
        self.m.values.begin_marking();
        self.refresh();
        self.begin_remembering();
        if self.m.types.are_many() {
            self.m.next_version(true);
        }
        self.m.code.forget_forms();
        self.limits().give_fuel();
        self.m.frames.stack[..HEADER].copy_from_slice(&[ANSWER, 0, 0, 0]);
    }

    fn evaluate(&mut self, atom: &Atom) -> Halt {
        self.prepare();
        if !self.m.code.is_exact && changing::form_may_change_rules(atom) {
            self.m.be_exact();
        }
        if let Err(halt) = self.begin(atom) {
            return halt;
        }
        self.run()
    }

    /// Lays out the evaluation of an atom above the first frame.
    fn begin(&mut self, atom: &Atom) -> Result<(), Halt> {
        self.m.frames.ensure(64)?;
        match self.compile_form(atom)? {
            Some(pc) => {
                self.m.frames.pc = pc;
                Ok(())
            }
            // On its own `Empty` is a result like any other.
            None if atom.is_symbol(names::EMPTY) => {
                self.results.push(EMPTY);
                Err(Reason::Complete.into())
            }
            None => {
                let value = self.m.values.load(atom, &mut Scope::default())?;
                self.evaluate_here(value, 0)
            }
        }
    }

    fn finish(&mut self, halt: Halt) -> Answer {
        self.m.choices.take_changed_states(&mut self.evaluator.changed_states.borrow_mut(), &mut self.outer);
        let (mut limit, mut stop) = (None, None);
        match *halt.0 {
            Reason::Complete => {}
            // What tables take of it is part of the limit.
            Reason::Limit(LimitReached::Heap(left)) => {
                let most = self.session.limits.heap_bytes_max.map_or(left, |most| most as u64);
                let recorded = self.session.form_steps.halted().map(|halted| halted.reason);
                limit = recorded.or(Some(LimitReached::Heap(most)));
            }
            Reason::Limit(reached) => limit = Some(reached),
            Reason::Stop(Stop::Limit(inside)) => limit = Some(inside),
            Reason::Stop(reason) => stop = Some(reason),
            Reason::Gather => unreachable!("the machine goes on from there"),
        }
        if limit.is_some() {
            add_results_so_far(&mut self.results, &mut self.m.choices, &mut self.m.values);
        }
        self.limits().settle_fuel();
        let steps = self.m.counters.calls + self.m.counters.steps;
        let (results, is_cut) = {
            let has_room = !limit.is_some_and(LimitReached::is_of_memory) && self.limits().has_room_to_collect();
            results_leave(&mut self.m, &mut self.results, (self.session, self.evaluator), has_room)
        };
        if is_cut && limit.is_none() {
            limit = self.session.limits.heap_bytes_max.map(|most| LimitReached::Heap(most as u64));
        }
        let answer = Answer { results, limit, stop, steps, depth_max: self.m.counters.depth_max };
        self.tabling().end_remembering();
        self.m.code.take_up_again();
        self.m.count(&mut self.session.statistics);
        answer
    }
}
