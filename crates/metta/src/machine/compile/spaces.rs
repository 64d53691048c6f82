//! Native functions of states and spaces that have instructions of their own.

use super::{Compiler, Dest, QueryGoal};
use crate::lowering::Lowering;
use crate::machine::code::{Gathering, Guard, Instruction, Query, QueryPart, Slot, TemplatePart, TypeId, WrittenQuery};
use crate::machine::core::{Core, Evaluator, Written};
use crate::machine::lower::OddAnswer;
use crate::machine::types::Formal;
use crate::program::modules::ModuleId;
use crate::stdlib;
use space::{Atom, Grounded, Variable, conjunction, variables};
use std::rc::Rc;

impl Compiler<'_, '_> {
    /// `(match space pattern template)`
    pub(super) fn query_form(&mut self, atom: &Atom, type_id: TypeId, dest: Dest) {
        let arguments = &atom.children().expect("a call is an expression")[1..];
        let mut tests = Vec::new();
        let Some((signature, tests_of_type)) = self.lower().signature_of(atom) else {
            return self.plain(atom, type_id, dest);
        };
        self.guard_each(&tests_of_type, atom, type_id, dest);
        let result = signature.result.unwrap_or(type_id);
        if !self.run.types().agrees_statically(result, type_id)
            || !self.facts().arguments_agree(&signature.formals, arguments, &mut tests)
        {
            return self.plain(atom, type_id, dest);
        }
        self.guard_each(&tests, atom, type_id, dest);
        match (arguments, &*signature.formals) {
            ([space, pattern, template], &[Formal::Typed(formal), ref pattern_formal, ref template_formal])
                if !crate::instructions::is_function(template)
                    && !matches!(pattern_formal, Formal::Typed(_))
                    && !matches!(template_formal, Formal::Typed(_)) =>
            {
                self.make_ahead_of(space, Some(pattern), [template]);
                let slot = self.native_operand(space, formal);
                self.query((space, slot), pattern, template, dest);
            }
            _ => {
                let head =
                    self.run.m.values.constant_leaf(&atom.children().expect("it is a call")[0]).expect("it is a leaf");
                self.lowered(dest, |lower, place| lower.native(head, &signature, arguments, place));
            }
        }
    }

    /// Each answer of a space is an alternative, for which the template is evaluated.
    fn query(&mut self, (written, space): (&Atom, Slot), pattern: &Atom, template: &Atom, dest: Dest) {
        let head = stdlib::operation_atom(stdlib::lowered(Lowering::Query), ModuleId::LIBRARY);
        let stand_in = self.stand_in(space);
        let rest = Atom::expression([head, stand_in, pattern.clone(), template.clone()]);
        if !matches!(written, Atom::Grounded(Grounded::Space(_))) {
            // What is no space is an argument all the same: it is evaluated, and its type was looked at.
            let called = Written { atom: rest.clone(), type_id: 0, by: Evaluator::Interpreter };
            let label = self.elsewhere(Rc::new(Core::Written(called)), dest);
            self.emit_to(Instruction::Guard { slot: space, guard: Guard::Space, or: 0 }, label);
        }
        let is_goal = std::mem::take(&mut self.is_goal) && dest == Dest::Tail;
        let goal = match self.gathers {
            Some([begun, value]) if dest == Dest::Slot(value) => QueryGoal::List(begun),
            _ if is_goal => QueryGoal::Some,
            _ => QueryGoal::Unknown,
        };
        match self.fusion(written, pattern, template) {
            Some(fusion) => self.fused(fusion, (space, &rest), goal, dest),
            None => self.unfused(space, rest.clone(), goal, dest),
        }
    }

    /// Each answer of one `match` is an alternative, for which the template is evaluated, whatever that asks.
    pub(super) fn unfused(&mut self, space: Slot, rest: Atom, goal: QueryGoal, dest: Dest) {
        let [_, _, pattern, template] = rest.children().expect("it is a call") else { unreachable!("it is a match") };
        let asked = variables(pattern);
        for variable in variables(template).iter().filter(|variable| !asked.contains(variable)) {
            self.slot_of(variable);
        }
        self.within_barrier(dest, |compiler, dest| {
            compiler.ask(space, pattern, &asked, (template, goal));
            compiler.answer(template, 0, dest, OddAnswer::Enters(rest.clone()));
        });
    }

    /// The instruction that asks. Only some answers may be wanted.
    fn ask(&mut self, space: Slot, pattern: &Atom, asked: &[Variable], (answer, goal): (&Atom, QueryGoal)) {
        let new: Vec<&Variable> = asked.iter().filter(|asked| !self.state.variables.contains_key(asked)).collect();
        let patterns = conjunction(pattern).unwrap_or(std::slice::from_ref(pattern));
        let (filters, answer) = self.tests_of(answer, &new);
        let patterns: Vec<Box<[QueryPart]>> = patterns.iter().map(|pattern| self.query_parts(pattern, &new)).collect();
        let (dst, fresh, return_point) = self.fresh_slots(&new);
        let mut parts: Vec<TemplatePart> = Vec::new();
        self.parts(pattern, &mut parts);
        let template = self.add_template(parts);
        let may_join = !matches!(patterns.first().map(|parts| &parts[..]), Some([QueryPart::Open(_), second, ..])
            if !matches!(second, QueryPart::Slot(_)));
        let parts = patterns.iter().flat_map(|parts| parts.iter());
        let slots =
            parts.filter_map(|part| if let QueryPart::Slot(slot) = part { Some(*slot) } else { None }).collect();
        let patterns = patterns.into();
        let atoms = self.return_point(dst, None);
        let template_data = if goal == QueryGoal::Unknown { None } else { self.template_data(answer) };
        let gathering = if template_data.is_some() { self.gathering(answer, goal) } else { None };
        let is_some = template_data.is_some();
        let is_form = self.is_form;
        let asked = Query {
            patterns,
            slots,
            kept: Default::default(),
            fresh,
            is_form,
            may_join,
            template,
            atoms,
            candidates: Default::default(),
            filters,
            written: WrittenQuery::new(pattern.clone(), &new),
            fused: None,
            template_data,
            gathering,
        };
        self.run.m.code.queries.push(asked);
        let query = (self.run.m.code.queries.len() - 1) as u32;
        for return_point in [return_point, atoms] {
            self.run.m.code.return_points[return_point as usize].pc = self.here() + 1;
        }
        self.emit(match is_some {
            true => Instruction::QuerySome { query, space, return_point },
            false => Instruction::Query { query, space, return_point },
        });
        self.state.is_stale = true;
    }

    /// How the results of a template are gathered, if that is what is wanted of a query.
    pub(super) fn gathering(&mut self, template: &Atom, goal: QueryGoal) -> Option<Box<Gathering>> {
        let QueryGoal::List(begun) = goal else { return None };
        let mut parts = Vec::new();
        self.parts(template, &mut parts);
        Some(Box::new(Gathering { begun, parts: parts.into() }))
    }

    /// Slots for the variables that a query binds, with their names; the slot of a result, and where the code goes on with an answer.
    pub(super) fn fresh_slots(&mut self, new: &[&Variable]) -> (Slot, Box<[(Slot, u32)]>, u32) {
        // Answers that are rows come before the new variables hold anything.
        let dst = self.slot();
        let first = self.slots(new.len());
        let return_point = self.return_point(dst, None);
        let mut fresh = Vec::new();
        for (slot, &variable) in (first..).zip(new) {
            let name = match self.is_form {
                true => self.run.m.values.form_variable(variable),
                false => self.run.m.values.symbol(variable.name()).payload(),
            };
            fresh.push((slot, name));
            self.state.variables.insert(variable.clone(), slot);
            self.mark_live(slot);
        }
        (dst, fresh.into(), return_point)
    }

    pub(super) fn query_parts(&mut self, pattern: &Atom, new: &[&Variable]) -> Box<[QueryPart]> {
        let mut parts = Vec::new();
        let mut work = vec![pattern];
        while let Some(atom) = work.pop() {
            parts.push(match atom {
                Atom::Expression(expression) => {
                    work.extend(expression.children().iter().rev());
                    QueryPart::Open(expression.len() as u32)
                }
                Atom::Variable(variable) => match new.iter().position(|new| *new == variable) {
                    Some(place) => QueryPart::New(place as u32),
                    None => QueryPart::Slot(self.state.variables[variable]),
                },
                leaf => QueryPart::Leaf(self.run.m.values.constant_leaf(leaf).expect("it is a leaf")),
            });
        }
        parts.into()
    }
}
