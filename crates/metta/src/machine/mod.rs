//! The machine: rules compiled to code, run on region memory.
//!
//! It gives the same results in the same order as the reference interpreter ([`crate::interpreter`]), some hundred times
//! faster. `docs/machine.md` has its instructions and an example.
//!
//! 1. A function is compiled when it is called first after a change of the rules (`compile`): one piece of code for each
//!    rule, and a switch on the argument that tells most rules apart.
//! 2. Code runs on a stack of frames (`run.rs`) whose slots hold references (`values.rs`): small integers and symbols as
//!    they are, expressions and variables in a region of the heap.
//! 3. Alternatives are choices (`choices.rs`), taken up in `alternatives.rs`: what was bound since is undone, what was allocated since is given back.
//! 4. What has no code yet, such as an expression that a match has found, is evaluated child by child (`evaluate.rs`).
//! 5. What the machine does not compile it hands to the interpreter, expression by expression, and counts it.
//! 6. What a loop does not need any more is collected when memory has doubled (`garbage.rs`).
//!
//! Nothing here recurses on the native stack with a program.

mod alternatives;
mod applicable;
mod arithmetic;
mod changed_states;
mod changing;
mod choices;
mod classes;
mod code;
mod compile;
mod evaluate;
mod explain;
mod facts;
mod forget;
mod frozen;
mod fuel;
mod garbage;
mod halt;
mod held;
mod inert;
mod interned;
mod interpreted;
mod kept;
mod lists;
mod minimal;
mod native;
mod normal_calls;
mod normal_form;
mod normal_terms;
mod noted_states;
mod notes;
mod operations;
mod pieces;
mod queries;
mod results;
mod run;
mod schemes;
mod spaces_met;
mod special;
mod states;
mod substitute;
mod tabled;
mod terms;
mod transactions;
mod trmc;
mod type_graph;
mod type_table;
mod typed;
mod types;
mod unify;
mod values;
mod well_typed;
mod words;

use crate::interpreter::Answer;
use crate::limits::{LimitReached, Watch};
use crate::names;
use crate::operation::Stop;
use crate::runner::{Runner, Statistics};
pub(crate) use changing::classify;
use choices::{Choice, MemoryFloor, Trying};
use code::{ANSWER, Code, HEADER, Pc, TypeId};
pub use frozen::FrozenResults;
use halt::{Halt, Reason};
pub(crate) use interpreted::Interpreted;
pub(crate) use noted_states::ChangedStates;
use notes::Notes;
use region::{Full, Ref};
use rustc_hash::FxHashMap;
use space::{Atom, SharedSpace};
use types::HeadKind;
use values::{Ceiling, Scope, Values};
use words::EMPTY;

/// Words of the stack for each frame of depth that is allowed.
const WORDS_PER_FRAME: usize = 12;

/// Words that the stack has in any case.
const STACK_MIN: usize = 1 << 8;

/// The state of a machine, which outlives an evaluation: its code and tables do.
pub(crate) struct Machine {
    values: Values,
    code: Code,
    stack: Vec<u32>,
    frame_base: usize,
    pc: Pc,
    acc: Ref,
    choices: Vec<Choice>,
    trail: Vec<Ref>,
    /// The end of what choices need of the stack.
    protected: usize,
    floor: MemoryFloor,
    trying: Trying,
    changed_states: ChangedStates,
    /// The variables of the tabled calls that are being evaluated.
    filling: Vec<choices::Caller>,
    scratch: Vec<Ref>,
    /// A row on its way into a space, and a query on its way to one.
    row: Vec<space::Term>,
    query_room: Option<Box<queries::QueryRoom>>,
    pairs: Vec<unify::Pair>,
    /// A child that is to be evaluated next, as the result of the frame at hand.
    pending: Option<(Ref, TypeId)>,
    work: Vec<Ref>,
    /// What rules stand at, and the same for types and special forms.
    version: u32,
    shapes: u32,
    /// Whether rules may change while a form is evaluated: code looks for that then.
    is_exact: bool,
    /// What expressions in normal form are noted with.
    notes: Notes,
    /// The list of facts that is entered by a link: its code is needed.
    entered: Option<u32>,
    /// How many lists of facts are being compiled, one for the other.
    links: u32,
    counts: [u64; space::CLASSES],
    /// The version of the names of tabled functions that code was made for.
    tabling: u32,
    watched: Vec<SharedSpace>,
    heads: FxHashMap<(Ref, usize), HeadKind>,
    /// Which heads have rules for so many arguments, as far as it was asked since rules last changed.
    ruled: FxHashMap<(Ref, code::Slot), bool>,
    /// Which types agree, inside a type or at its top; the only types of symbols.
    agreeing: FxHashMap<(TypeId, TypeId, bool), bool>,
    only_types: FxHashMap<Ref, Option<TypeId>>,
    /// Whether types are declared for whole expressions, and for those of which heads and numbers of arguments.
    has_whole_types: bool,
    whole_types: FxHashMap<(Ref, usize), bool>,
    /// Whether the program declares types, or something else that may say how calls are evaluated.
    has_types: bool,
    typed: FxHashMap<(Ref, TypeId, bool), bool>,
    schemes: schemes::Schemes,
    well_typed: well_typed::WellTyped,
    special: FxHashMap<&'static str, bool>,
    number_type: TypeId,
    bool_type: TypeId,
    atom_type: TypeId,
    expression_type: TypeId,
    stack_max: usize,
    /// Calls and steps until limits are looked at, and how many there were when that was decided.
    fuel: u32,
    fuel_given: u32,
    calls: u64,
    steps: u64,
    found_same: normal_calls::SameTerms,
    /// How many parts were compared to find out whether something came to itself.
    compared: u64,
    interpreted: u64,
    depth_max: usize,
    /// Heap bytes at which garbage is collected.
    collect_at: usize,
    collections: u64,
    /// The heads that have rules, and whether others than symbols have, as of a version.
    rule_heads: lists::RuleHeads,
    /// What was counted for the run already.
    heap_counted: region::Statistics,
    collections_counted: u64,
}

/// A machine at work for a runner.
pub(crate) struct Running<'r> {
    m: Machine,
    runner: &'r mut Runner,
    space: SharedSpace,
    watch: Watch,
    /// Results of the whole, in the region of the evaluation.
    results: Vec<Ref>,
}

impl Machine {
    /// A machine, unless the system has no address space for its heap.
    fn new(runner: &Runner) -> Result<Self, Full> {
        let mut values = Values::new(runner.terms.clone())?;
        let mut code = Code::new();
        let number_type = code.type_id(&Atom::symbol(names::NUMBER)).expect("the first types fit");
        let bool_type = code.type_id(&Atom::symbol(names::BOOL)).expect("the first types fit");
        let atom_type = code.type_id(&Atom::symbol(names::ATOM)).expect("the first types fit");
        let expression_type = code.type_id(&Atom::symbol(names::EXPRESSION)).expect("the first types fit");
        let heap = values.heap.mark(&values.region);
        let trying = Trying::nothing(heap);
        let acc = values.symbol(&space::Symbol::new(names::EMPTY));
        Ok(Self {
            values,
            code,
            stack: vec![0; 1 << 12],
            frame_base: 0,
            pc: 0,
            acc,
            choices: Vec::new(),
            trail: Vec::new(),
            protected: 0,
            floor: MemoryFloor { choices: 0, heap, foreign: 0 },
            trying,
            changed_states: ChangedStates::default(),
            filling: Vec::new(),
            scratch: Vec::new(),
            row: Vec::new(),
            query_room: None,
            pairs: Vec::new(),
            pending: None,
            work: Vec::new(),
            version: 1,
            shapes: 1,
            is_exact: false,
            notes: Notes::default(),
            entered: None,
            links: 0,
            counts: [0; space::CLASSES],
            tabling: 0,
            watched: Vec::new(),
            heads: FxHashMap::default(),
            typed: FxHashMap::default(),
            schemes: schemes::Schemes::default(),
            well_typed: well_typed::WellTyped::default(),
            ruled: FxHashMap::default(),
            agreeing: FxHashMap::default(),
            only_types: FxHashMap::default(),
            has_whole_types: false,
            has_types: false,
            whole_types: FxHashMap::default(),
            special: FxHashMap::default(),
            number_type,
            bool_type,
            atom_type,
            expression_type,
            stack_max: 0,
            fuel: 1,
            fuel_given: 0,
            calls: 0,
            steps: 0,
            found_same: normal_calls::SameTerms::new(),
            compared: 0,
            interpreted: 0,
            depth_max: 0,
            collect_at: 0,
            collections: 0,
            rule_heads: lists::RuleHeads::default(),
            heap_counted: region::Statistics::default(),
            collections_counted: 0,
        })
    }

    /// Forgets the evaluation before.
    fn reset(&mut self) {
        self.choices.clear();
        self.trail.clear();
        self.filling.clear();
        self.changed_states.clear();
        let fresh = self.values.heap.open();
        let old = std::mem::replace(&mut self.values.region, fresh);
        self.values.heap.close(old);
        self.found_same.forget();
        self.values.interned.forget();
        self.values.kept.forget();
        self.values.foreign.clear();
        self.values.named.clear();
        self.values.beside = 0;
        (self.frame_base, self.protected) = (0, 0);
        let heap = self.values.heap.mark(&self.values.region);
        self.floor = MemoryFloor { choices: 0, heap, foreign: 0 };
        (self.calls, self.steps, self.interpreted, self.compared, self.depth_max) = (0, 0, 0, 0, 0);
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
        counts.calls += self.calls;
        counts.interpreted += self.interpreted;
        counts.compared += self.compared;
        let before = std::mem::replace(&mut self.heap_counted, heap);
        counts.cells += heap.cells_handed_out - before.cells_handed_out;
        counts.cells_copied += heap.cells_copied - before.cells_copied;
        counts.regions_joined += heap.splices - before.splices;
        counts.limit_failures += heap.limit_failures - before.limit_failures;
        counts.heap_bytes_held = counts.heap_bytes_held.max(heap.bytes_held + heap.bytes_beside);
        counts.heap_bytes_peak = counts.heap_bytes_peak.max(heap.bytes_live_peak);
        counts.collections += self.collections - self.collections_counted;
        self.collections_counted = self.collections;
    }

    #[cold]
    fn stack_full(&self) -> Halt {
        Reason::Limit(LimitReached::Depth(self.stack_max / WORDS_PER_FRAME)).into()
    }
}

/// The code of the functions of a name; `None` if nothing is defined for it.
pub(crate) fn explain(runner: &mut Runner, name: &str) -> Option<String> {
    explain::explain(runner, name)
}

/// The code of all functions that the program defines.
pub(crate) fn explain_all(runner: &mut Runner) -> Vec<String> {
    explain::explain_all(runner)
}

/// Evaluates an atom as MeTTa.
pub(crate) fn evaluate(runner: &mut Runner, space: &SharedSpace, atom: &Atom) -> Answer {
    let mut running = match Running::new(runner, space) {
        Ok(running) => running,
        Err(full) => return Answer { limit: Some(LimitReached::AddressSpace(full.bytes())), ..Answer::default() },
    };
    let halt = running.evaluate(atom);
    running.finish(halt)
}

impl<'r> Running<'r> {
    fn new(runner: &'r mut Runner, space: &SharedSpace) -> Result<Self, Full> {
        let m = match runner.machine.take() {
            Some(machine) => *machine,
            None => {
                let before = region::memory::of_thread();
                let made = Machine::new(runner)?;
                runner.form_steps.leave_out(region::memory::of_thread() - before);
                made
            }
        };
        let watch = Watch::begin(&runner.limits);
        runner.changed_states.want(true);
        Ok(Running { m, runner, space: space.clone(), watch, results: Vec::new() })
    }

    /// Makes the machine ready for an evaluation, as limits and rules are now.
    fn prepare(&mut self) {
        self.m.reset();
        self.set_collect_from();
        self.m.stack_max = self.runner.limits.depth_max.saturating_mul(WORDS_PER_FRAME).max(STACK_MIN);
        self.m.stack.truncate(self.m.stack_max);
        self.m.values.ceiling = Ceiling::of(&self.runner.limits, &self.runner.form_steps);
        self.limit_heap();
        if self.m.watched.first().is_none_or(|watched| !watched.is_same(&self.space)) {
            let space = self.space.clone();
            self.m.watch(&space);
            self.m.next_version(true);
        }
        self.m.values.begin_marking();
        self.refresh();
        if self.m.schemes.are_many() {
            self.m.next_version(true);
        }
        self.forget_forms();
        self.give_fuel();
        self.m.stack[..HEADER].copy_from_slice(&[ANSWER, 0, 0, 0]);
    }

    fn evaluate(&mut self, atom: &Atom) -> Halt {
        self.prepare();
        if !self.m.is_exact && changing::form_may_change_rules(atom) {
            self.m.be_exact();
        }
        if let Err(halt) = self.begin(atom) {
            return halt;
        }
        self.run()
    }

    /// Lays out the evaluation of an atom above the first frame.
    fn begin(&mut self, atom: &Atom) -> Result<(), Halt> {
        self.m.ensure(64)?;
        match self.compile_form(atom)? {
            Some(pc) => {
                self.m.pc = pc;
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

    fn finish(mut self, halt: Halt) -> Answer {
        let (mut limit, mut stop) = (None, None);
        match *halt.0 {
            Reason::Complete => {}
            // What tables take of it is part of the limit.
            Reason::Limit(LimitReached::Heap(left)) => {
                let most = self.runner.limits.heap_bytes_max.map_or(left, |most| most as u64);
                let recorded = self.runner.form_steps.halted().map(|halted| halted.reason);
                limit = recorded.or(Some(LimitReached::Heap(most)));
            }
            Reason::Limit(reached) => limit = Some(reached),
            Reason::Stop(Stop::Limit(inside)) => limit = Some(inside),
            Reason::Stop(reason) => stop = Some(reason),
        }
        if limit.is_some() {
            self.add_results_so_far();
        }
        self.settle_fuel();
        let steps = self.m.calls + self.m.steps;
        let (results, is_cut) = self.results_leave(limit.is_some_and(LimitReached::is_of_memory));
        if is_cut && limit.is_none() {
            limit = self.runner.limits.heap_bytes_max.map(|most| LimitReached::Heap(most as u64));
        }
        let answer = Answer { results, limit, stop, steps, depth_max: self.m.depth_max };
        self.m.count(self.runner.statistics_mut());
        self.runner.machine = Some(Box::new(self.m));
        self.runner.changed_states.want(false);
        answer
    }
}
