//! The reference interpreter: minimal MeTTa, read literally, on an explicit stack.
//!
//! It is the oracle that every faster evaluator is compared with, so it is written to be obvious. Source of the
//! algorithm: the MeTTa specification and the minimal MeTTa specification of Hyperon Experimental 0.2.10.
//!
//! An evaluation explores alternatives depth first, in the order in which rules were added, from left to right:
//!
//! 1. The *work* at hand is one step: an atom to evaluate as MeTTa (`metta.rs`), an instruction of minimal MeTTa
//!    (`minimal.rs`), or a result to hand to the frame that waits for it.
//! 2. A step with several outcomes continues with the first and leaves a *choice* with the others.
//! 3. What the current alternative has bound is in the store; leaving the alternative undoes it.
//! 4. A *barrier* collects all results of a part of the evaluation, each with what it bound outside, before the
//!    evaluation goes on: `collapse-bind` is one, and so is the evaluation of every expression, because errors count
//!    only if nothing succeeded.
//! 5. An expression in tail position shares the barrier it would have nested in: filtering errors twice is the same
//!    as filtering once, so a tail call needs no stack.
//!
//! Differences from the specification, which a program can see only by the order of results and its use of memory: rule
//! variables are substituted at once and not kept as bindings; alternatives have a fixed order.

mod frame;
mod metta;
mod minimal;
mod store;
mod tabled;
mod tracing;

use crate::environment::Stop;
use crate::evaluate::{Answer, Evaluate, Traced};
use crate::instructions;
use crate::limits::{LimitReached, LongStep, Watch};
use crate::names;
use crate::program::Program;
use crate::session::Session;
use crate::types::TypeMemory;
use frame::{Behind, Frame, FrameRef, Target, Waiting};
use space::{Atom, Grounded, SharedSpace, SharedState, Solution, Variable, distinct_parts_in, variables};
use std::sync::Arc;
use store::Store;

/// Evaluates MeTTa: the whole algorithm, types included.
pub(crate) struct Interpreter;

impl Evaluate<Session> for Interpreter {
    fn evaluate(&self, session: &mut Session, space: &SharedSpace, atom: &Atom) -> Answer {
        let target = Target { type_atom: names::undefined(), space: space.clone() };
        let watch = Watch::begin(&session.limits);
        let evaluation = Evaluation { is_reference: true, ..Evaluation::new(session, space.clone(), watch) };
        evaluation.run(Work::Metta(atom.clone(), target))
    }

    fn trace(&self, session: &mut Session, space: &SharedSpace, atom: &Atom, steps_max: u64) -> Traced {
        let target = Target { type_atom: names::undefined(), space: space.clone() };
        let watch = Watch::of_part(&session.limits, Some(steps_max));
        let mut evaluation = Evaluation { is_reference: true, ..Evaluation::new(session, space.clone(), watch) };
        let library = evaluation.session.program.library_rule_names();
        evaluation.trace = Some(Traced { library, ..Traced::default() });
        evaluation.run_to_end(Work::Metta(atom.clone(), target), None, BarrierKind::Top);
        evaluation.trace.take().unwrap_or_default()
    }

    fn state_changes(&self, _: &SharedState) {}
}

/// Evaluates minimal MeTTa code, without types and without evaluating arguments.
pub(crate) struct MinimalInterpreter;

impl Evaluate<Session> for MinimalInterpreter {
    fn evaluate(&self, session: &mut Session, space: &SharedSpace, atom: &Atom) -> Answer {
        let watch = Watch::begin(&session.limits);
        Evaluation::new(session, space.clone(), watch).run(Work::Minimal(atom.clone()))
    }

    fn state_changes(&self, _: &SharedState) {}
}

/// A part of an evaluation that is done here for the machine.
pub(crate) enum Task {
    /// Evaluate an atom to a type.
    Metta(Atom, Atom),
    /// Evaluate a call to a type, but go on with none of the first `passed` results of its arguments, as one that was evaluated so far has done
    /// already.
    Behind { call: Atom, type_atom: Atom, passed: usize },
    /// Make a call whose arguments are evaluated, its result of a type; whether they were something else before.
    Call(Atom, Atom, bool),
    /// Make a call whose arguments are evaluated, its result of a type, without a look at its table, which the machine fills.
    Untabled(Atom, Atom),
    /// Run the code that a call was reduced to, its result of a type; whether the call was something else before.
    Code { call: Atom, code: Atom, type_atom: Atom, changed: bool },
    /// Run as minimal MeTTa: `Empty` is a result like any other.
    Minimal(Atom),
    /// Run the body of a `function` that this call has entered.
    Function(Atom, Atom),
}

/// What a part of an evaluation came to: each result with what it binds of the variables that were there before.
pub(crate) struct TaskOutcome {
    pub(crate) results: Vec<(Solution, Atom)>,
    pub(crate) limit: Option<LimitReached>,
    pub(crate) stop: Option<Stop>,
    pub(crate) steps: u64,
    pub(crate) depth_max: usize,
}

/// Does a part of an evaluation, in at most `steps_max` steps; `most` is how many of its results are wanted, if not all are.
pub(crate) fn solve(
    session: &mut Session,
    space: &SharedSpace,
    (task, most): (Task, Option<usize>),
    steps_max: Option<u64>,
) -> TaskOutcome {
    let watch = Watch::of_part(&session.limits, steps_max);
    let mut evaluation = Evaluation::new(session, space.clone(), watch);
    let is_minimal = matches!(task, Task::Minimal(_) | Task::Function(..));
    let mut waiting = None;
    let work = match task {
        Task::Metta(atom, type_atom) => Work::Metta(atom, Target { type_atom, space: space.clone() }),
        Task::Behind { call, type_atom, passed } => {
            evaluation.behind = Some(Behind::new(passed));
            Work::Metta(call, Target { type_atom, space: space.clone() })
        }
        Task::Call(atom, type_atom, changed) => Work::Call(atom, changed, Target { type_atom, space: space.clone() }),
        Task::Untabled(atom, type_atom) => Work::Untabled(atom, Target { type_atom, space: space.clone() }),
        Task::Code { call, code, type_atom, changed } => {
            Work::Code(call, code, changed, Target { type_atom, space: space.clone() })
        }
        Task::Minimal(atom) => Work::Minimal(atom),
        Task::Function(body, call) => {
            waiting = Some(Waiting::Function { call });
            Work::Minimal(body)
        }
    };
    let kind = most.filter(|_| !is_minimal).map_or(BarrierKind::Top, |left| BarrierKind::First { left });
    let answer = evaluation.run_to_end(work, waiting, kind);
    let mut collected = std::mem::take(&mut evaluation.barriers[0].results);
    if let BarrierKind::First { left } = evaluation.barriers[0].kind {
        collected = first_results(collected, left);
    }
    let results = collected.into_iter().filter(|found| is_minimal || !found.atom.is_symbol(names::EMPTY));
    TaskOutcome {
        results: results.map(|Collected { solution, atom, .. }| (solution, atom)).collect(),
        limit: answer.limit,
        stop: answer.stop,
        steps: answer.steps,
        depth_max: answer.depth_max,
    }
}

/// One step to take.
#[derive(Clone)]
enum Work {
    /// Evaluate as MeTTa.
    Metta(Atom, Target),
    /// Evaluate what a call was reduced to: whatever it comes to is not what was asked about.
    Reduct(Atom, Target),
    /// Make a call whose arguments are evaluated.
    Call(Atom, bool, Target),
    /// Make a call whose arguments are evaluated, without a look at its table.
    Untabled(Atom, Target),
    /// Run the code that a call was reduced to.
    Code(Atom, Atom, bool, Target),
    /// Run as minimal MeTTa; data is its own result.
    Minimal(Atom),
    /// Hand a result to the frame on top.
    Return(Atom),
    /// Hand an atom to the frame on top that evaluates to itself.
    Same(Atom),
}

/// One way to go on: what it binds, and what to do then.
struct Alternative {
    solution: Solution,
    work: Work,
    /// Frames to push before the work, for code that a call was reduced to.
    frames: Vec<Waiting>,
}

impl Alternative {
    fn new(solution: Solution, work: Work) -> Self {
        Self { solution, work, frames: Vec::new() }
    }
}

/// Alternatives still to be tried.
struct Choice {
    mark: usize,
    frame: FrameRef,
    rest: Rest,
}

/// What is left of a choice.
enum Rest {
    /// These.
    Given(std::vec::IntoIter<Alternative>),
    /// The answers of a table from here on, those included that are still to be found.
    Answers { table: usize, next: usize, variables: Vec<Variable> },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BarrierKind {
    /// The whole evaluation.
    Top,
    /// `collapse-bind`: all results, as a tuple of pairs.
    Collapse,
    /// `collapse-bind` with a number: the first results, of which `left` are still to be found.
    First { left: usize },
    /// The evaluation of an expression: errors only if there is nothing else.
    Expression,
    /// A round of a tabled call.
    Table,
}

/// A part of the evaluation whose results are collected.
struct Barrier {
    kind: BarrierKind,
    /// Where its results go.
    parent: FrameRef,
    mark: usize,
    choices: usize,
    /// The youngest variable that existed before: younger ones are not seen outside.
    last_visible: u64,
    /// How many tabled calls are in progress below the innermost part of the evaluation that asks for all results.
    asks_all_above: usize,
    results: Vec<Collected>,
}

/// A result that a barrier has collected.
struct Collected {
    /// What it bound outside the barrier.
    solution: Solution,
    atom: Atom,
    /// Whether the atom asked about evaluates to itself.
    itself: bool,
}

struct Evaluation<'r> {
    session: &'r mut Session,
    context: SharedSpace,
    watch: Watch,
    store: Store,
    types: TypeMemory,
    choices: Vec<Choice>,
    barriers: Vec<Barrier>,
    /// The tabled calls that are being evaluated.
    filling: Vec<tabled::Filling>,
    /// What the outermost call leaves out, until it begins.
    behind: Option<Behind>,
    /// The frame on top of the current alternative's stack.
    frame: FrameRef,
    depth_max: usize,
    stop: Option<Stop>,
    /// Whether all is evaluated here, so that rows are found by the definition of their order.
    is_reference: bool,
    /// What was noted so far, if a trace is wanted.
    trace: Option<Traced>,
}

impl<'r> Evaluation<'r> {
    fn new(session: &'r mut Session, context: SharedSpace, watch: Watch) -> Self {
        Self {
            session,
            context,
            watch,
            store: Store::default(),
            types: TypeMemory::default(),
            choices: Vec::new(),
            barriers: Vec::new(),
            filling: Vec::new(),
            behind: None,
            frame: None,
            depth_max: 0,
            stop: None,
            is_reference: false,
            trace: None,
        }
    }

    fn run(mut self, work: Work) -> Answer {
        let answer = self.run_to_end(work, None, BarrierKind::Top);
        Answer { results: self.results_so_far(), ..answer }
    }

    /// Runs until nothing is left; the results are in the first barrier, which is of this kind. A frame may wait for them above it.
    fn run_to_end(&mut self, work: Work, waiting: Option<Waiting>, kind: BarrierKind) -> Answer {
        self.raise_barrier(kind);
        waiting.into_iter().for_each(|waiting| self.push(waiting));
        let mut next = Some(work);
        let mut limit = None;
        while let Some(work) = next {
            let depth = frame::depth(&self.frame);
            self.depth_max = self.depth_max.max(depth);
            limit = self.watch.step(depth, &mut self.session.form_steps);
            if limit.is_some() || self.stop.is_some() {
                break;
            }
            if self.store.is_crowded() {
                self.collect_garbage(&work);
            }
            next = self.step(work);
        }
        let stop = self.stop.take();
        let (limit, stop) = match stop {
            Some(Stop::Limit(inside)) => (Some(inside), None),
            stop => (limit, stop),
        };
        Answer { results: Vec::new(), limit, stop, steps: self.watch.steps(), depth_max: self.depth_max }
    }

    /// Does a part of a step that may be long, which asks now and then whether to stop. `None` if it has, since a limit was reached:
    /// that ends the evaluation.
    fn unless_over<T>(&mut self, part: impl FnOnce(&Store, &mut Program, &dyn Fn() -> bool) -> Option<T>) -> Option<T> {
        let Session { limits, form_steps, program, .. } = &mut *self.session;
        let step = LongStep::of(&self.watch, limits, form_steps);
        let done = part(&self.store, program, &|| step.look().is_some());
        let (looks, reached) = (step.looks(), step.reached());
        self.watch.count(looks);
        if let Some(limit) = reached {
            self.stop = Some(Stop::Limit(limit));
        }
        done
    }

    /// The atom with every bound variable replaced; `None` if that ends the evaluation.
    fn resolve(&mut self, atom: &Atom) -> Option<Atom> {
        self.unless_over(|store, _, should_stop| store.resolve(atom, should_stop))
    }

    fn step(&mut self, work: Work) -> Option<Work> {
        match work {
            Work::Metta(atom, target) => self.metta(atom, target),
            Work::Reduct(atom, target) => match self.metta(atom, target) {
                Some(Work::Same(atom)) => Some(Work::Return(atom)),
                next => next,
            },
            Work::Call(atom, changed, target) => {
                self.raise_expression_barrier();
                self.metta_call(frame::Call { atom, changed, is_reduct: false }, target)
            }
            Work::Untabled(atom, target) => {
                self.raise_expression_barrier();
                self.untabled_call(frame::Call { atom, changed: true, is_reduct: false }, target)
            }
            Work::Code(call, code, changed, target) => {
                self.raise_expression_barrier();
                let waiting = frame::Call { atom: call.clone(), changed, is_reduct: false };
                self.push(Waiting::Reduct { call: waiting, target });
                self.push(Waiting::Function { call });
                Some(Work::Minimal(instructions::function_body(&code).cloned().unwrap_or(code)))
            }
            Work::Minimal(atom) => self.minimal(atom),
            Work::Return(atom) => self.receive(atom, false),
            Work::Same(atom) => self.receive(atom, true),
        }
    }

    /// Hands a result to the frame on top; `itself` if the atom asked about evaluates to itself.
    fn receive(&mut self, result: Atom, itself: bool) -> Option<Work> {
        if self.trace.is_some() && names::is_error(&result) {
            self.note_error(&result);
        }
        let frame = self.frame.clone().expect("every stack ends in a barrier");
        if matches!(frame.waiting, Waiting::Barrier) {
            self.note_result(&result, itself);
            return self.next_alternative();
        }
        self.frame.clone_from(&frame.parent);
        match &frame.waiting {
            Waiting::Barrier => unreachable!("handled above"),
            Waiting::Chain { variable, template } => self.continue_chain(variable, template, &result),
            Waiting::Function { call } => self.leave_function(call, result),
            Waiting::Tuple(tuple) => self.continue_tuple(tuple, result, itself),
            Waiting::Arguments(arguments) => self.continue_arguments(arguments, result, itself),
            Waiting::Reduct { call, target } => self.after_code(call, result, target),
            // What a call was reduced to is not what was asked about.
            Waiting::Called(called) => {
                self.trace_result(called, &result);
                Some(Work::Return(result))
            }
        }
    }

    fn push(&mut self, waiting: Waiting) {
        self.frame = Frame::push(self.frame.take(), waiting);
    }

    /// Goes on with each of these alternatives in turn.
    fn fork(&mut self, alternatives: Vec<Alternative>) -> Option<Work> {
        let mut rest = alternatives.into_iter();
        let Some(first) = rest.next() else { return self.next_alternative() };
        if rest.len() > 0 {
            self.choices.push(Choice { mark: self.store.mark(), frame: self.frame.clone(), rest: Rest::Given(rest) });
        }
        Some(self.enter(first))
    }

    fn enter(&mut self, alternative: Alternative) -> Work {
        self.store.bind_all(alternative.solution);
        for waiting in alternative.frames {
            if let Waiting::Called(called) = &waiting {
                self.trace_call(called);
            }
            self.push(waiting);
        }
        alternative.work
    }

    /// Leaves the current alternative for the next one of the innermost barrier, or completes that barrier.
    fn next_alternative(&mut self) -> Option<Work> {
        loop {
            let barrier = self.barriers.last().expect("the barrier of the whole evaluation is there");
            if self.choices.len() == barrier.choices {
                return self.complete_barrier();
            }
            let choice = self.choices.last_mut().expect("choices are left above the barrier");
            self.store.undo_to(choice.mark);
            self.frame.clone_from(&choice.frame);
            let (alternative, is_last) = match &mut choice.rest {
                Rest::Given(rest) => (rest.next(), rest.len() == 0),
                Rest::Answers { table, next, variables } => {
                    let alternative = self.session.follow(*table, *next, variables).map(|(behind, solution, atom)| {
                        *next = behind;
                        Alternative::new(solution, Work::Return(atom))
                    });
                    let is_last = alternative.is_none();
                    (alternative, is_last)
                }
            };
            if is_last {
                self.choices.pop();
            }
            if let Some(alternative) = alternative {
                return Some(self.enter(alternative));
            }
        }
    }

    /// Begins a part of the evaluation whose results are collected.
    fn raise_barrier(&mut self, kind: BarrierKind) {
        let asks_all = matches!(kind, BarrierKind::Collapse | BarrierKind::First { .. });
        let asks_all_above = match self.barriers.last() {
            Some(_) if asks_all => self.session.tables.depth(),
            Some(around) => around.asks_all_above,
            None => self.session.tables.floor(),
        };
        self.raise_barrier_above(kind, asks_all_above);
    }

    /// Does so where another part than this one may ask for all results.
    fn raise_barrier_above(&mut self, kind: BarrierKind, asks_all_above: usize) {
        self.barriers.push(Barrier {
            kind,
            parent: self.frame.clone(),
            mark: self.store.mark(),
            choices: self.choices.len(),
            last_visible: self.session.program.variables().last(),
            asks_all_above,
            results: Vec::new(),
        });
        self.push(Waiting::Barrier);
    }

    /// Begins the evaluation of an expression; in tail position the barrier there is already serves for it. Says
    /// whether it does.
    fn raise_expression_barrier(&mut self) -> bool {
        let is_tail = self.frame.as_ref().is_some_and(|frame| matches!(frame.waiting, Waiting::Barrier));
        let innermost = self.barriers.last().expect("the barrier of the whole evaluation is there");
        // The others take each result as it is found: an expression that ends a barrier of theirs needs none of its own.
        let is_shared = is_tail && !matches!(innermost.kind, BarrierKind::Top | BarrierKind::Collapse);
        if !is_shared {
            self.raise_barrier(BarrierKind::Expression);
        }
        is_shared
    }

    fn note_result(&mut self, result: &Atom, itself: bool) {
        let Some(atom) = self.resolve(result) else { return };
        let barrier = self.barriers.last().expect("a result has a barrier");
        let (mark, last_visible) = (barrier.mark, barrier.last_visible);
        if barrier.kind != BarrierKind::Top && atom.is_symbol(names::EMPTY) {
            return;
        }
        let itself = itself && is_one(&atom, result);
        let solution = self.unless_over(|store, _, should_stop| store.since(mark, last_visible, should_stop));
        let Some(solution) = solution else { return };
        let barrier = self.barriers.last_mut().expect("a result has a barrier");
        if barrier.kind == BarrierKind::Table && !names::is_error(&atom) {
            return self.add_answer(&solution, atom);
        }
        if let BarrierKind::First { left } = &mut barrier.kind
            && is_certain(&atom)
        {
            *left -= 1;
            if *left == 0 {
                // Nobody asks for another: the alternatives that are left are not tried.
                self.choices.truncate(barrier.choices);
            }
        }
        barrier.results.push(Collected { solution, atom, itself });
    }

    /// Ends the innermost barrier and goes on with what it collected; `None` when it was the outermost.
    fn complete_barrier(&mut self) -> Option<Work> {
        if self.barriers.len() == 1 {
            return None;
        }
        let barrier = self.barriers.pop().expect("a barrier is complete");
        self.store.undo_to(barrier.mark);
        self.frame = barrier.parent;
        if barrier.kind == BarrierKind::Collapse {
            return Some(Work::Return(pairs(barrier.results)));
        }
        if let BarrierKind::First { left } = barrier.kind {
            return Some(Work::Return(pairs(first_results(barrier.results, left))));
        }
        if barrier.kind == BarrierKind::Table {
            return self.end_round(barrier.results);
        }
        let count = barrier.results.len();
        let has_type_errors = barrier.results.iter().any(|collected| names::is_type_error(&collected.atom));
        let results = without_needless_errors(barrier.results).into_iter();
        if has_type_errors && results.len() < count {
            self.session.form_steps.hide_type_errors();
        }
        let alternatives = results.map(|Collected { solution, atom, itself }| {
            Alternative::new(solution, if itself { Work::Same(atom) } else { Work::Return(atom) })
        });
        self.fork(alternatives.collect())
    }

    /// The results of the whole evaluation, those included that its outermost expression has found so far; not its
    /// errors, which a later result might hide.
    fn results_so_far(&mut self) -> Vec<Atom> {
        let mut found = std::mem::take(&mut self.barriers[0].results);
        if let Some(outermost) = self.barriers.get_mut(1)
            && outermost.kind == BarrierKind::Expression
            && frame::depth(&outermost.parent) == 1
        {
            let results = std::mem::take(&mut outermost.results);
            found.extend(results.into_iter().filter(|collected| is_certain(&collected.atom)));
        }
        found.into_iter().map(|collected| collected.atom).collect()
    }

    /// Forgets bindings that no frame, choice or barrier can reach.
    fn collect_garbage(&mut self, work: &Work) {
        let mut roots = Roots::default();
        roots.add_work(work);
        roots.add_frames(&self.frame);
        for choice in &self.choices {
            roots.add_frames(&choice.frame);
            match &choice.rest {
                Rest::Given(rest) => rest.as_slice().iter().for_each(|alternative| roots.add_alternative(alternative)),
                Rest::Answers { variables, .. } => roots.variables.extend(variables.iter().cloned()),
            }
        }
        for filling in &self.filling {
            roots.add(filling.call());
            roots.add(filling.type_atom());
        }
        for barrier in &self.barriers {
            roots.add_frames(&barrier.parent);
            for collected in &barrier.results {
                roots.add_solution(&collected.solution);
                roots.add(&collected.atom);
            }
        }
        let choices = self.choices.iter_mut().map(|choice| &mut choice.mark);
        let mut marks: Vec<&mut usize> =
            choices.chain(self.barriers.iter_mut().map(|barrier| &mut barrier.mark)).collect();
        marks.sort_by_key(|mark| **mark);
        let looked_at = roots.seen.len() + marks.len();
        self.store.collect(roots.variables, &mut marks, looked_at);
    }
}

/// Errors count only if nothing else was found, but for those that no other result hides.
fn without_needless_errors(mut results: Vec<Collected>) -> Vec<Collected> {
    if results.iter().any(|collected| !names::is_error(&collected.atom)) {
        results.retain(|collected| is_certain(&collected.atom));
    }
    results
}

/// The results of a barrier that asks for the first, of which `left` were not found. If all were found, no error among them
/// counts that a result might hide.
fn first_results(mut results: Vec<Collected>, left: usize) -> Vec<Collected> {
    let most = left + results.iter().filter(|collected| is_certain(&collected.atom)).count();
    if left == 0 {
        results.retain(|collected| is_certain(&collected.atom));
    }
    let mut results = without_needless_errors(results);
    results.truncate(most);
    results
}

/// Whether a result counts whatever else is found.
fn is_certain(result: &Atom) -> bool {
    !names::is_error(result) || names::is_never_hidden(result)
}

/// Whether two atoms are one expression in memory.
fn is_one(left: &Atom, right: &Atom) -> bool {
    matches!((left, right), (Atom::Expression(left), Atom::Expression(right)) if left.shares_storage(right))
}

/// The result of `collapse-bind`: a tuple of `(atom bindings)`.
fn pairs(results: Vec<Collected>) -> Atom {
    let pair = |Collected { solution, atom, .. }| {
        Atom::expression([atom, Atom::Grounded(Grounded::Bindings(Arc::new(solution)))])
    };
    Atom::expression(results.into_iter().map(pair).collect::<Vec<_>>())
}

/// The variables from which an evaluation can still reach bindings.
#[derive(Default)]
struct Roots {
    variables: Vec<Variable>,
    /// Frames seen already, by address: stacks share their lower parts.
    seen: rustc_hash::FxHashSet<*const Frame>,
}

impl Roots {
    fn add(&mut self, atom: &Atom) {
        if !atom.is_ground() {
            self.variables.extend(variables(atom));
            self.add_bindings_inside(atom);
        }
    }

    /// What `collapse-bind` returned keeps variables alive too.
    fn add_bindings_inside(&mut self, atom: &Atom) {
        for part in distinct_parts_in(atom, |part| matches!(part, Atom::Expression(_)) && !part.is_ground()) {
            if let Atom::Grounded(Grounded::Bindings(solution)) = part {
                self.add_solution(solution);
            }
        }
    }

    fn add_alternative(&mut self, alternative: &Alternative) {
        self.add_work(&alternative.work);
        self.add_solution(&alternative.solution);
        alternative.frames.iter().for_each(|waiting| self.add_waiting(waiting));
    }

    fn add_solution(&mut self, solution: &Solution) {
        for (variable, value) in solution {
            self.variables.push(variable.clone());
            self.add(value);
        }
    }

    fn add_work(&mut self, work: &Work) {
        match work {
            Work::Metta(atom, target)
            | Work::Reduct(atom, target)
            | Work::Call(atom, _, target)
            | Work::Untabled(atom, target) => {
                self.add(atom);
                self.add(&target.type_atom);
            }
            Work::Code(call, code, _, target) => {
                self.add(call);
                self.add(code);
                self.add(&target.type_atom);
            }
            Work::Minimal(atom) | Work::Return(atom) | Work::Same(atom) => self.add(atom),
        }
    }

    fn add_frames(&mut self, top: &FrameRef) {
        let mut next = top.as_deref();
        while let Some(frame) = next {
            if !self.seen.insert(std::ptr::from_ref(frame)) {
                return;
            }
            self.add_waiting(&frame.waiting);
            next = frame.parent.as_deref();
        }
    }

    fn add_waiting(&mut self, waiting: &Waiting) {
        match waiting {
            Waiting::Barrier => {}
            Waiting::Chain { variable, template } => {
                self.variables.push(variable.clone());
                self.add(template);
            }
            Waiting::Function { call } => self.add(call),
            Waiting::Called(called) => {
                self.add(&called.call);
                self.add(&called.body);
            }
            Waiting::Reduct { call, target } => {
                self.add(&call.atom);
                self.add(&target.type_atom);
            }
            Waiting::Tuple(tuple) => {
                tuple.progress.atoms().for_each(|atom| self.add(atom));
                self.add(&tuple.target.type_atom);
            }
            Waiting::Arguments(arguments) => {
                arguments.progress.atoms().for_each(|atom| self.add(atom));
                self.add(&Atom::Expression(arguments.types.clone()));
                self.add(&arguments.target.type_atom);
            }
        }
    }
}
