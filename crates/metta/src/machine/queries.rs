//! `match`: what a pattern finds in a space, one alternative for each answer.
//!
//! 1. The pattern is read from the code, with what slots hold put in: keys of the dictionary, and variables.
//! 2. If all answers are rows ([`space::RowQuery`]) they are kept as terms. With each in turn the code behind goes on:
//!    new variables of the pattern are slots and take the terms as they are, variables from outside are bound.
//! 3. Otherwise the space is asked with the pattern as an atom; new variables are made in the heap first.
//!
//! All answers are found before the first is used: what the code behind adds is not seen.

use super::choices::{ChoiceKind, Gathered, To};
use super::code::{HEADER, QueryPart, Slot};
use super::terms::Keyed;
use super::values::{Scope, TRUE};
use super::{Halt, Machine, Running};
use region::Ref;
use space::{NO_TERM, RowPart, RowQuery, Term, Terms};

/// Answers that are rows, while they are gone through.
pub(super) struct Rows {
    answers: Vec<Term>,
    next: usize,
    query: u32,
    /// The variables from outside, bound by the last terms of an answer.
    pub(super) outer: Vec<Ref>,
    pub(super) site: u32,
}

/// What makes a pattern unfit to be asked for as rows.
struct Unusual;

impl Running<'_> {
    /// Asks a space and goes on with each answer.
    pub(super) fn query(&mut self, query: u32, space: Slot, site: u32) -> Result<(), Halt> {
        let space = self.m.read(space);
        match self.m.answers(query, space, site) {
            Some(rows) if rows.answers.is_empty() => self.fail(),
            Some(rows) => {
                let base = self.m.base;
                let top = base + HEADER + usize::from(self.m.site(site).at);
                self.m.push_choice(base, top, ChoiceKind::Rows(rows));
                self.m.next_row()
            }
            None => self.query_atoms(query, space),
        }
    }

    /// Asks with an atom.
    fn query_atoms(&mut self, query: u32, space: Ref) -> Result<(), Halt> {
        for place in 0..self.m.code.queries[query as usize].fresh.len() {
            let (slot, name) = self.m.code.queries[query as usize].fresh[place];
            let made = match self.m.code.queries[query as usize].is_form {
                true => self.form_variable(name)?,
                false => self.m.values.heap.variable(&mut self.m.values.region, name)?,
            };
            self.m.set_slot(slot, made);
        }
        let template = self.m.code.queries[query as usize].template;
        let pattern = self.build(template)?;
        let mut scope = Scope::default();
        let atom = self.m.values.store(pattern, &mut scope, &mut self.runner.variables);
        let space = self.m.values.space_of(space).cloned().expect("a guard stands before a query");
        let solutions = space.query(&atom, &mut self.runner.variables);
        let mut results = Vec::with_capacity(solutions.len());
        for solution in solutions {
            let mut bound = Vec::with_capacity(solution.len());
            for (variable, value) in solution {
                let value = self.m.values.load(&value, &mut scope)?;
                bound.extend(scope.get(&variable).map(|&variable| (variable, value)));
            }
            results.push(Gathered { value: TRUE, bound });
        }
        let site = self.m.code.queries[query as usize].atoms;
        self.deliver_all(results, To::Site(site))
    }
}

impl Machine {
    /// The answers as rows, if they are all rows.
    fn answers(&mut self, query: u32, space: Ref, site: u32) -> Option<Box<Rows>> {
        let mut asked = std::mem::take(&mut self.asked);
        asked.clear();
        let mut outer = Vec::new();
        let is_usual = self.read_query(query, &mut asked, &mut outer).is_ok();
        let space = self.values.space_of(space).filter(|_| is_usual);
        let answers = space.and_then(|space| space.rows(&asked));
        self.asked = asked;
        Some(Box::new(Rows { answers: answers?, next: 0, query, outer, site }))
    }

    /// Puts together what is asked for. Variables from outside are numbered behind the new ones.
    fn read_query(&mut self, query: u32, asked: &mut RowQuery, outer: &mut Vec<Ref>) -> Result<(), Unusual> {
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
                        self.ask_for(value, first_outer, asked, outer, &terms)?;
                    }
                }
            }
            asked.end_pattern();
        }
        let is_join = self.code.queries[query as usize].may_join
            && asked.head().is_none_or(|head| head != NO_TERM && terms.atom(head).is_symbol(","));
        if is_join { Err(Unusual) } else { Ok(()) }
    }

    /// Adds what a value asks for.
    fn ask_for(
        &mut self,
        value: Ref,
        first_outer: usize,
        asked: &mut RowQuery,
        outer: &mut Vec<Ref>,
        terms: &Terms,
    ) -> Result<(), Unusual> {
        let mut work = vec![value];
        while let Some(value) = work.pop() {
            let value = self.values.heap.walk(value);
            match self.values.key_of(value, terms) {
                Keyed::Key(key) => asked.push(RowPart::Key(key)),
                Keyed::Unusual => return Err(Unusual),
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
        let Self { choices, values, code, stack, trail, base, pc, .. } = self;
        let last = choices.last_mut().expect("there is a choice");
        let ChoiceKind::Rows(rows) = &mut last.kind else { unreachable!("it is a choice of rows") };
        let fresh = &code.queries[rows.query as usize].fresh;
        let (slots, width) = (*base + HEADER, fresh.len() + rows.outer.len());
        let (own, outside) = rows.answers[rows.next..].split_at(fresh.len().min(rows.answers.len() - rows.next));
        if width > 0 {
            for (&(slot, _), &term) in fresh.iter().zip(own) {
                stack[slots + usize::from(slot)] = values.load_term(term)?.bits();
            }
            for (&variable, &term) in rows.outer.iter().zip(outside) {
                let value = values.load_term(term)?;
                trail.push(variable);
                values.heap.bind(variable, value);
            }
        }
        *pc = code.sites[rows.site as usize].pc;
        rows.next += width.max(1);
        if rows.next >= rows.answers.len() {
            self.pop_choice();
        }
        Ok(())
    }
}
