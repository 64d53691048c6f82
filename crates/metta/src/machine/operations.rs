//! Calls of native functions without code of their own, as the result of the frame at hand.
//!
//! What such a call comes to is evaluated with the type that its results are expected to be of, one result after the other:
//! a choice for those that are left goes on at an *answer return point*, of which there is one for each type.

use super::code::{Code, ESCAPE, HEADER, Instruction, ReturnPoint, TypeId};
use super::control::choices::Destination;
use super::control::collected::CollectedResults;
use super::handover::{as_evaluated, with_bound};
use super::tuple_frame::SHAPE;
use super::values::Scope;
use super::{Halt, Reason, Running};
use crate::interpreter::Task;
use crate::operation::Outcome;
use crate::{instructions, names};
use region::Ref;
use space::{Atom, Solution};

/// The slots that a frame has whose results go on at an answer return point.
const SLOTS: usize = 1;

impl Code {
    /// The return point where each result of a native call is evaluated to a type, or taken as it stands.
    fn answer_return_point(&mut self, type_id: TypeId, is_raw: bool) -> u32 {
        if let Some(&return_point) = self.answer_return_points.get(&type_id) {
            return return_point;
        }
        let pc = self.instructions.len() as u32;
        self.instructions.push(match is_raw {
            true => Instruction::Return { slot: SHAPE },
            false => Instruction::TailEvaluate { slot: SHAPE, type_id, is_answer: true },
        });
        let (at, slots) = (SLOTS as u16, (SLOTS + HEADER) as u16);
        self.return_points.push(ReturnPoint { pc, dst: SHAPE, at, error: ESCAPE, slots, ..ReturnPoint::default() });
        let return_point = (self.return_points.len() - 1) as u32;
        self.answer_return_points.insert(type_id, return_point);
        self.end_piece();
        return_point
    }
}

impl Running<'_> {
    /// Calls a native function on arguments that are evaluated, as the result of the frame at hand; `changed` says whether they
    /// were something else before.
    pub(super) fn operate_on(
        &mut self,
        head: Ref,
        arguments: &[Ref],
        changed: bool,
        type_id: TypeId,
    ) -> Result<(), Halt> {
        let operation = self.m.values.foreign_of(head).clone();
        let mut scope = Scope::default();
        let (call, outcome) = self.outcome_of(&operation, arguments, &mut scope)?;
        let results: Vec<(Solution, Atom)> = match outcome {
            Outcome::Results(results) => results.into_iter().map(|result| (Solution::new(), result)).collect(),
            Outcome::Solutions(solutions) => solutions,
            Outcome::NotReducible => {
                let children: Vec<Ref> = std::iter::once(head).chain(arguments.iter().copied()).collect();
                let call = self.m.values.heap.expression(&mut self.m.values.region, &children)?;
                let value = if changed { call } else { self.m.evaluated(call) };
                return self.give(value);
            }
            Outcome::Failure(message) => vec![(Solution::new(), names::error(call.clone(), message))],
            Outcome::Stop(stop) => return Err(Reason::Stop(stop).into()),
        };
        self.go_on_with_atoms(&call, results, type_id, &mut scope)
    }

    /// Evaluates what a call was reduced to, as results of the frame at hand.
    fn go_on_with_atoms(
        &mut self,
        call: &Atom,
        results: Vec<(Solution, Atom)>,
        type_id: TypeId,
        scope: &mut Scope,
    ) -> Result<(), Halt> {
        if results.iter().any(|(_, atom)| instructions::is_odd(atom)) {
            return self.operate_oddly(call, results, type_id, scope);
        }
        let mut loaded = CollectedResults::with_capacity(results.len());
        for (solution, atom) in results {
            loaded.push(self.m.values.load_result(solution, &atom, scope)?);
        }
        self.limits().collect_soon();
        self.go_on_with_answers(loaded, type_id)
    }

    /// Makes a call whose head is no name, by the rules that match it, as the result of the frame at hand.
    pub(super) fn reduce_compound(&mut self, call: Ref, changed: bool, type_id: TypeId) -> Result<(), Halt> {
        self.count_step()?;
        let mut scope = Scope::default();
        let atom = self.m.values.store(call, &mut scope, self.session.program.variables())?;
        let is_open = instructions::has_variable_head(&atom);
        let source = self.session.program.variables();
        let body = source.fresh(names::asked());
        let rule = Atom::expression([names::equal(), atom.clone(), Atom::Variable(body.clone())]);
        let found = if is_open { Vec::new() } else { self.space.query(&rule, source) };
        if found.is_empty() {
            let value = if changed { call } else { self.m.evaluated(call) };
            return self.give(value);
        }
        let answers = found.into_iter().map(|mut solution| {
            let place = solution.iter().position(|(variable, _)| *variable == body);
            let answer = place.map_or_else(|| Atom::Variable(body.clone()), |place| solution.remove(place).1);
            (solution, answer)
        });
        self.go_on_with_atoms(&atom, answers.collect(), type_id, &mut scope)
    }

    /// Evaluates each of the answers of a call, as results of the frame at hand.
    fn go_on_with_answers(&mut self, answers: CollectedResults, type_id: TypeId) -> Result<(), Halt> {
        self.m.frames.own(SLOTS)?;
        let is_raw = type_id == self.m.types.atom_type;
        let return_point = self.m.code.answer_return_point(type_id, is_raw);
        self.deliver_all(answers, Destination::ReturnPoint(return_point))
    }

    /// Evaluates the answers of a call where one is code or says that nothing was reduced: the interpreter evaluates the others as well,
    /// so that all are results in their order.
    fn operate_oddly(
        &mut self,
        call: &Atom,
        answers: Vec<(Solution, Atom)>,
        type_id: TypeId,
        scope: &mut Scope,
    ) -> Result<(), Halt> {
        let mut loaded = CollectedResults::with_capacity(answers.len());
        for (solution, atom) in answers {
            if atom.is_symbol(names::NOT_REDUCIBLE) {
                let call = as_evaluated(call, &solution);
                loaded.push(self.m.values.load_result(solution, &call, scope)?);
            } else if instructions::is_function(&atom) {
                self.run_function(call, (solution, atom), scope, &mut loaded)?;
            } else if names::is_empty_or_error(&atom) {
                loaded.push(self.m.values.load_result(solution, &atom, scope)?);
            } else {
                let atom = with_bound(&atom, &solution);
                let type_atom = self.types().type_atom(type_id);
                let found = self.hand_over(Task::Metta(atom, type_atom), None)?;
                for (mut further, atom) in self.accept_found(found)? {
                    further.extend(solution.iter().cloned());
                    loaded.push(self.m.values.load_result(further, &atom, scope)?);
                }
            }
        }
        self.deliver_all(loaded, Destination::Frame)
    }
}
