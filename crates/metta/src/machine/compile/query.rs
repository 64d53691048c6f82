//! Questions to spaces.

use super::{Compiler, Dest};
use crate::machine::code::{
    FusedQuery, Gathering, Instruction, Query, QueryFilter, QueryFilters, QueryPart, Slot, TemplateData, TemplatePart,
    TestedValue, WrittenQuery,
};
use crate::machine::core::{self, Given, QueryTest};
use crate::machine::words::{EMPTY, ERROR, NOT_REDUCIBLE};
use space::{Atom, Variable};
use std::rc::Rc;

/// What is known of the results of a query.
#[derive(Clone, Copy, PartialEq, Eq)]
enum QueryGoal {
    Unknown,
    /// Only some of them may be wanted, or their number.
    Some,
    /// They become the list of the collector that is noted in a slot.
    List(Slot),
}

impl Compiler<'_, '_> {
    /// Each answer is an alternative, for which the template is evaluated.
    pub(super) fn query(&mut self, query: &core::Query, dest: Dest) {
        let goal = match self.gathers {
            Some([begun, value]) if dest == Dest::Slot(value) => QueryGoal::List(begun),
            _ if query.is_goal && dest == Dest::Tail => QueryGoal::Some,
            _ => QueryGoal::Unknown,
        };
        let one_by_one = query.one_by_one.as_ref().map(|node| self.elsewhere(Rc::clone(node), dest));
        let others: Vec<Slot> = query.others.iter().map(|space| self.slot_of_node(space)).collect();
        let space = self.state.variables[&query.space];
        self.within_barrier(dest, |compiler, dest| {
            let (number, return_point) = compiler.asked(query, others, goal);
            let asked = &compiler.run.m.code.queries[number as usize];
            let (is_some, atoms) = (asked.template_data.is_some(), asked.atoms);
            if let Some(label) = one_by_one {
                compiler.emit(Instruction::QueryFused { query: number, space, return_point });
                compiler.emit_to(Instruction::Jump { to: 0 }, label);
            } else if is_some {
                compiler.emit(Instruction::QuerySome { query: number, space, return_point });
            } else {
                compiler.emit(Instruction::Query { query: number, space, return_point });
            }
            let here = compiler.here();
            let points = &mut compiler.run.m.code.return_points;
            (points[return_point as usize].pc, points[atoms as usize].pc) = (here, here);
            compiler.state.is_stale = true;
            compiler.node(&query.then, dest);
        });
    }

    /// What is asked: its number, and where the code goes on with an answer.
    fn asked(&mut self, query: &core::Query, others: Vec<Slot>, goal: QueryGoal) -> (u32, u32) {
        let is_fused = query.one_by_one.is_some();
        let mut slots = Vec::new();
        let parts =
            |compiler: &mut Self, (_, pattern): &(u8, Atom)| compiler.query_parts(pattern, &query.new, &mut slots);
        let mut parts = parts;
        let patterns: Box<[Box<[QueryPart]>]> = query.patterns.iter().map(|pattern| parts(self, pattern)).collect();
        let filters = self.filters_of(query, &mut slots);
        let (dst, fresh, return_point) = self.fresh_slots(&query.new);
        let (template, atoms) = match is_fused {
            true => (0, return_point),
            false => (self.template(&query.pattern), self.return_point(dst, None)),
        };
        let may_join = !is_fused
            && !matches!(patterns.first().map(|parts| &parts[..]), Some([QueryPart::Open(_), second, ..])
                if !matches!(second, QueryPart::Slot(_)));
        let is_known = is_fused || goal != QueryGoal::Unknown;
        let template_data = if is_known { self.template_data(&query.template) } else { None };
        let gathering = if template_data.is_some() { self.gathering(&query.template, goal) } else { None };
        let places = query.patterns.iter().map(|(place, _)| *place).collect();
        let fused = FusedQuery { places, others: others.into(), is_goal: goal == QueryGoal::Some };
        self.run.m.code.queries.push(Query {
            patterns,
            slots: slots.into(),
            kept: Default::default(),
            fresh,
            is_form: self.is_form,
            may_join,
            template,
            atoms,
            candidates: Default::default(),
            filters,
            written: WrittenQuery::new(query.pattern.clone(), &query.new.iter().collect::<Vec<_>>()),
            fused: is_fused.then(|| Box::new(fused)),
            template_data,
            gathering,
        });
        ((self.run.m.code.queries.len() - 1) as u32, return_point)
    }

    /// The tests of a query; the slots that their patterns name are added.
    fn filters_of(&mut self, query: &core::Query, slots: &mut Vec<Slot>) -> QueryFilters {
        let mut filters = Vec::with_capacity(query.filters.len());
        for filter in &query.filters {
            filters.push(match filter {
                QueryTest::Values(filter) => QueryFilter::Test(filter.clone()),
                QueryTest::Absence { patterns, own, drops } => {
                    let all: Vec<Variable> = query.new.iter().chain(own).cloned().collect();
                    let parts = |(place, pattern): &(u8, Atom)| (*place, self.query_parts(pattern, &all, slots));
                    QueryFilter::Absence { patterns: patterns.iter().map(parts).collect(), drops: *drops }
                }
            });
        }
        let value = |given: &Given| match given {
            Given::Variable(variable) => TestedValue::Slot(self.state.variables[variable]),
            Given::Leaf(leaf) => TestedValue::Leaf(*leaf),
        };
        QueryFilters { filters: filters.into(), values: query.given.iter().map(value).collect() }
    }

    /// How the results of a template are gathered, if that is what is wanted of a query.
    fn gathering(&mut self, template: &Atom, goal: QueryGoal) -> Option<Box<Gathering>> {
        let QueryGoal::List(begun) = goal else { return None };
        let mut parts: Vec<TemplatePart> = Vec::new();
        self.parts(template, &mut parts);
        Some(Box::new(Gathering { begun, parts: parts.into() }))
    }

    /// Slots for the variables that a query binds, with their names; the slot of a result, and where the code goes on with an answer.
    fn fresh_slots(&mut self, new: &[Variable]) -> (Slot, Box<[(Slot, u32)]>, u32) {
        // Answers that are rows come before the new variables hold anything.
        let dst = self.slot();
        let first = self.slots(new.len());
        let return_point = self.return_point(dst, None);
        let mut fresh = Vec::new();
        for (slot, variable) in (first..).zip(new) {
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

    /// The parts of a pattern, in which the query binds some variables. The slots of the others are added.
    fn query_parts(&mut self, pattern: &Atom, new: &[Variable], slots: &mut Vec<Slot>) -> Box<[QueryPart]> {
        let mut parts = Vec::new();
        let mut work = vec![pattern];
        while let Some(atom) = work.pop() {
            parts.push(match atom {
                Atom::Expression(expression) => {
                    work.extend(expression.children().iter().rev());
                    QueryPart::Open(expression.len() as u32)
                }
                Atom::Variable(variable) => match new.iter().position(|new| new == variable) {
                    Some(place) => QueryPart::New(place as u32),
                    None => {
                        slots.push(self.state.variables[variable]);
                        QueryPart::Slot(self.state.variables[variable])
                    }
                },
                leaf => QueryPart::Leaf(self.run.m.values.constant_leaf(leaf).expect("it is a leaf")),
            });
        }
        parts.into()
    }

    /// What a template is made of, if it is data around variables as far as it is written out.
    fn template_data(&mut self, template: &Atom) -> Option<TemplateData> {
        let (mut heads, mut slots) = (Vec::new(), Vec::new());
        let mut work = vec![(template, None)];
        while let Some((atom, arity)) = work.pop() {
            match atom {
                Atom::Variable(variable) => slots.push((*self.state.variables.get(variable)?, arity)),
                Atom::Expression(_) if arity.is_some() => return None,
                Atom::Expression(expression) => {
                    let [head, arguments @ ..] = expression.children() else { continue };
                    work.push((head, Some(arguments.len())));
                    work.extend(arguments.iter().map(|argument| (argument, None)));
                }
                leaf => {
                    let leaf = self.run.m.values.constant_leaf(leaf)?;
                    if [EMPTY, ERROR, NOT_REDUCIBLE].contains(&leaf) {
                        return None;
                    }
                    heads.extend(arity.map(|arity| (leaf, arity)));
                }
            }
        }
        Some(TemplateData { heads: heads.into(), slots: slots.into() })
    }
}
