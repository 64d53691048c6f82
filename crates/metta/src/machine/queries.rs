//! `match`: what a pattern finds in a space, one alternative for each answer.
//!
//! 1. The pattern is read from the code, with what slots hold put in: keys of the dictionary, and variables.
//! 2. If all answers are rows ([`space::RowQuery`]) they are kept as terms. With each in turn the code behind goes on:
//!    new variables of the pattern are slots and take the terms as they are, variables from outside are bound.
//! 3. Otherwise the space is asked with the pattern as an atom; new variables are made in the heap first.
//!
//! All answers are found before the first is used: what the code behind adds is not seen.

use super::choices::{Choice, ChoiceKind, CollectedResult, Destination};
use super::code::{HEADER, QueryPart, Slot};
use super::terms::Keyed;
use super::values::{Scope, TERM, TRUE, term_of};
use super::{Halt, Machine, Running};
use region::Ref;
use space::{NO_TERM, RowPart, RowQuery, Term, Terms};

/// Answers that are rows, while they are gone through.
#[derive(Default)]
pub(super) struct Rows {
    answers: Vec<Term>,
    next: usize,
    query: u32,
    /// The variables from outside, bound by the last terms of an answer.
    pub(super) outer: Vec<Ref>,
    pub(super) return_point: u32,
}

/// Where atoms with variables answer a query, they mostly do so again.
const LEAPS: u8 = 15;

/// What makes a pattern unfit to be asked for as rows.
struct NotRowShaped;

impl Running<'_> {
    /// Asks a space and goes on with each answer.
    pub(super) fn query(&mut self, query: u32, space: Slot, return_point: u32) -> Result<(), Halt> {
        let space = self.m.read(space);
        let leaps = &mut self.m.code.queries[query as usize].leaps;
        if *leaps > 0 {
            *leaps -= 1;
            return self.query_atoms(query, space);
        }
        let mut asked = std::mem::take(&mut self.m.asked);
        let mut outer = Vec::new();
        let done = match self.m.ask(query, space, &mut asked, &mut outer) {
            Some(_) if asked.is_given_up() => return Err(self.m.values.ceiling.passed()),
            None => {
                self.m.code.queries[query as usize].leaps = LEAPS;
                self.query_atoms(query, space)
            }
            Some(0) => self.fail(),
            Some(1) => self.m.take_answer(query, asked.answers(), &outer, return_point),
            Some(_) => {
                let rows = Rows { answers: std::mem::take(asked.answers()), next: 0, query, outer, return_point };
                let base = self.m.frame_base;
                let top = base + HEADER + usize::from(self.m.return_point(return_point).at);
                self.m.push_choice(base, top, ChoiceKind::Rows(Box::new(rows)));
                self.m.next_row()
            }
        };
        self.m.asked = asked;
        done
    }

    /// Asks with an atom.
    fn query_atoms(&mut self, query: u32, space: Ref) -> Result<(), Halt> {
        for place in 0..self.m.code.queries[query as usize].fresh.len() {
            let (slot, name) = self.m.code.queries[query as usize].fresh[place];
            let made = match self.m.code.queries[query as usize].is_form {
                true => self.m.values.make_form_variable(name)?,
                false => self.m.values.heap.variable(&mut self.m.values.region, name)?,
            };
            self.m.set_slot(slot, made);
        }
        let template = self.m.code.queries[query as usize].template;
        let pattern = self.build(template)?;
        let mut scope = Scope::default();
        let atom = self.m.values.store(pattern, &mut scope, &mut self.runner.variables)?;
        let space = self.m.values.space_of(space).cloned().expect("a guard stands before a query");
        let ceiling = &self.m.values.ceiling;
        let found = space.query_unless(&atom, &mut self.runner.variables, &|| ceiling.is_passed());
        let Some(solutions) = found else { return Err(ceiling.passed()) };
        let mut results = Vec::with_capacity(solutions.len());
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
    /// Finds the answers, if they are all rows, and gives how many there are.
    fn ask(&mut self, query: u32, space: Ref, asked: &mut RowQuery, outer: &mut Vec<Ref>) -> Option<usize> {
        asked.clear();
        self.read_query(query, asked, outer).ok()?;
        let ceiling = &self.values.ceiling;
        self.values.space_of(space)?.rows_unless(asked, &|| ceiling.is_passed())
    }

    /// Puts together what is asked for. Variables from outside are numbered behind the new ones.
    fn read_query(&mut self, query: u32, asked: &mut RowQuery, outer: &mut Vec<Ref>) -> Result<(), NotRowShaped> {
        let terms = self.values.terms.clone();
        let terms = terms.read().expect("no panic while terms are locked");
        let first_outer = self.code.queries[query as usize].fresh.len();
        for pattern in 0..self.code.queries[query as usize].patterns.len() {
            for part in 0..self.code.queries[query as usize].patterns[pattern].len() {
                match self.code.queries[query as usize].patterns[pattern][part] {
                    QueryPart::Open(length) => asked.push(RowPart::Open(length)),
                    QueryPart::New(variable) => asked.push(RowPart::Variable(variable)),
                    QueryPart::Leaf(leaf) => self.ask_for(leaf, first_outer, asked, outer, &terms)?,
                    QueryPart::Slot(slot) => {
                        let value = self.read(slot);
                        match self.code.queries[query as usize].patterns[pattern].len() {
                            1 => self.ask_for_whole(value, first_outer, asked, outer, &terms)?,
                            _ => self.ask_for(value, first_outer, asked, outer, &terms)?,
                        }
                    }
                }
            }
            asked.end_pattern();
        }
        let is_join = self.code.queries[query as usize].may_join
            && asked.head().is_none_or(|head| head != NO_TERM && terms.atom(head).is_symbol(","));
        if is_join { Err(NotRowShaped) } else { Ok(()) }
    }

    /// Adds what a value asks for that is a pattern by itself: a row has columns, even if all of it is known.
    fn ask_for_whole(
        &mut self,
        value: Ref,
        first_outer: usize,
        asked: &mut RowQuery,
        outer: &mut Vec<Ref>,
        terms: &Terms,
    ) -> Result<(), NotRowShaped> {
        let value = self.values.heap.walk(value);
        if value.tag() == TERM {
            let children = terms.children(term_of(value)).unwrap_or_default();
            asked.push(RowPart::Open(children.len() as u32));
            children.iter().for_each(|&child| asked.push(RowPart::Key(terms.key(child))));
            return Ok(());
        }
        if !value.is_expression() {
            return self.ask_for(value, first_outer, asked, outer, terms);
        }
        let length = self.values.heap.length(value);
        asked.push(RowPart::Open(length as u32));
        (0..length).try_for_each(|place| {
            let child = self.values.heap.child(value, place);
            self.ask_for(child, first_outer, asked, outer, terms)
        })
    }

    /// Adds what a value asks for.
    fn ask_for(
        &mut self,
        value: Ref,
        first_outer: usize,
        asked: &mut RowQuery,
        outer: &mut Vec<Ref>,
        terms: &Terms,
    ) -> Result<(), NotRowShaped> {
        let mut work = vec![value];
        while let Some(value) = work.pop() {
            let value = self.values.heap.walk(value);
            match self.values.key_of(value, terms) {
                Keyed::Key(key) => asked.push(RowPart::Key(key)),
                Keyed::NotRowShaped => return Err(NotRowShaped),
                Keyed::Open => {
                    let children = self.values.heap.children(value);
                    asked.push(RowPart::Open(children.len() as u32));
                    work.extend(children.iter().rev());
                }
                Keyed::Variable(variable) => {
                    let known = outer.iter().position(|&known| known == variable);
                    let place = known.unwrap_or_else(|| {
                        outer.push(variable);
                        outer.len() - 1
                    });
                    asked.push(RowPart::Variable((first_outer + place) as u32));
                }
            }
        }
        Ok(())
    }

    /// Goes on with the next answer of the choice on top.
    pub(super) fn next_row(&mut self) -> Result<(), Halt> {
        let last = self.choices.last_mut().expect("there is a choice");
        let ChoiceKind::Rows(rows) = &mut last.kind else { unreachable!("it is a choice of rows") };
        // It is lent out while its answer is put where it belongs.
        let mut rows = std::mem::take(&mut **rows);
        let width = self.code.queries[rows.query as usize].fresh.len() + rows.outer.len();
        let from = rows.next;
        rows.next += width.max(1);
        self.take_answer(rows.query, &rows.answers[from..rows.next], &rows.outer, rows.return_point)?;
        if rows.next >= rows.answers.len() {
            self.pop_choice();
        } else if let Some(Choice { kind: ChoiceKind::Rows(place), .. }) = self.choices.last_mut() {
            **place = rows;
        }
        Ok(())
    }

    /// Goes on at a return point with an answer: new variables are slots, those from outside are bound.
    fn take_answer(&mut self, query: u32, answer: &[Term], outer: &[Ref], return_point: u32) -> Result<(), Halt> {
        let Self { values, code, stack, trail, frame_base: base, pc, .. } = self;
        let fresh = &code.queries[query as usize].fresh;
        for (&(slot, _), &term) in fresh.iter().zip(answer) {
            stack[*base + HEADER + usize::from(slot)] = values.load_term(term)?.bits();
        }
        for (&variable, &term) in outer.iter().zip(answer.iter().skip(fresh.len())) {
            let value = values.load_term(term)?;
            trail.push(variable);
            values.heap.bind(variable, value);
        }
        *pc = code.return_points[return_point as usize].pc;
        Ok(())
    }
}
