//! The rows of a goal by the definition of their order, as plainly as it can be said: what faster ways are compared with.
//!
//! 1. It is found out which calls there are, by going through all rules of all calls until there is nothing new.
//! 2. Then all rows are forgotten. In each round every rule of every call is gone through with the rows of the rounds before, and
//!    what is new comes after what is there.
//!
//! Calls of other components are found whole when they are met.

use rustc_hash::{FxHashMap, FxHashSet};
use space::{
    Atom, DatalogProgram, Operand, Part, Rewrite, Rule, SharedSpace, Variable, VariableSource, Watch, rewrite,
};
use std::cell::RefCell;

type Row = Vec<Atom>;
/// A predicate, and the columns that are known.
type Call = (usize, Vec<Option<Atom>>);

/// The calls of a component, and their rows.
#[derive(Default)]
struct Calls {
    order: Vec<Call>,
    places: FxHashMap<Call, usize>,
    rows: Vec<Vec<Row>>,
}

impl Calls {
    fn add(&mut self, call: Call) -> usize {
        if let Some(&place) = self.places.get(&call) {
            return place;
        }
        self.places.insert(call.clone(), self.order.len());
        self.order.push(call);
        self.rows.push(Vec::new());
        self.order.len() - 1
    }
}

pub(super) struct Naive<'a, 's> {
    program: &'a DatalogProgram,
    watch: &'a dyn Watch,
    source: &'a RefCell<&'s mut VariableSource>,
    known: FxHashMap<Call, Vec<Row>>,
}

impl<'a, 's> Naive<'a, 's> {
    pub(super) fn new(
        program: &'a DatalogProgram,
        watch: &'a dyn Watch,
        source: &'a RefCell<&'s mut VariableSource>,
    ) -> Self {
        Self { program, watch, source, known: FxHashMap::default() }
    }

    /// The rows of a predicate with known values in some columns; `None` if the caller has given up.
    pub(super) fn solve(&mut self, predicate: usize, columns: &[Option<Atom>]) -> Option<Vec<Row>> {
        let call: Call = (predicate, columns.to_vec());
        if let Some(rows) = self.known.get(&call) {
            return Some(rows.clone());
        }
        let mut calls = Calls::default();
        calls.add(call.clone());
        while self.round(&mut calls)? {}
        calls.rows.iter_mut().for_each(Vec::clear);
        while self.round(&mut calls)? {}
        let rows = calls.rows.swap_remove(0);
        self.known.insert(call, rows.clone());
        Some(rows)
    }

    /// Goes through all rules of all calls once; says whether that has found anything.
    fn round(&mut self, calls: &mut Calls) -> Option<bool> {
        let calls_before = calls.order.len();
        let mut found: Vec<Vec<Row>> = Vec::new();
        for place in 0..calls_before {
            let (predicate, columns) = calls.order[place].clone();
            let mut new = Vec::new();
            for rule in &self.program.predicates[predicate].rules {
                if self.watch.should_stop(1, 0) {
                    return None;
                }
                self.rule((predicate, &columns), rule, calls, &mut new)?;
            }
            found.push(new);
        }
        let mut is_new = calls.order.len() > calls_before;
        for (place, new) in found.into_iter().enumerate() {
            let mut known: FxHashSet<Row> = calls.rows[place].iter().cloned().collect();
            let new: Vec<Row> = new.into_iter().filter(|row| known.insert(row.clone())).collect();
            is_new |= !new.is_empty();
            calls.rows[place].extend(new);
        }
        Some(is_new)
    }

    /// The rows that follow from a rule for a call.
    fn rule(
        &mut self,
        (predicate, columns): (usize, &[Option<Atom>]),
        rule: &Rule,
        calls: &mut Calls,
        new: &mut Vec<Row>,
    ) -> Option<()> {
        let mut bound: Vec<Option<Atom>> = vec![None; rule.variables as usize];
        for (variable, value) in &rule.fixed {
            bound[*variable as usize] = Some(value.clone());
        }
        for (operand, column) in rule.head.iter().zip(columns) {
            if let Some(value) = column
                && !agree(operand, value, &mut bound)
            {
                return Some(());
            }
        }
        self.parts(predicate, rule, 0, bound, calls, new)
    }

    /// Goes on with a rule from one of its parts on.
    fn parts(
        &mut self,
        predicate: usize,
        rule: &Rule,
        at: usize,
        bound: Vec<Option<Atom>>,
        calls: &mut Calls,
        new: &mut Vec<Row>,
    ) -> Option<()> {
        let Some(part) = rule.parts.get(at) else {
            new.extend(rule.head.iter().map(|operand| value_of(operand, &bound)).collect::<Option<Row>>());
            return Some(());
        };
        for bound in self.part(predicate, part, &bound, calls)? {
            self.parts(predicate, rule, at + 1, bound, calls, new)?;
        }
        Some(())
    }

    /// The ways in which a part holds, in order.
    fn part(
        &mut self,
        of: usize,
        part: &Part,
        bound: &[Option<Atom>],
        calls: &mut Calls,
    ) -> Option<Vec<Vec<Option<Atom>>>> {
        match part {
            Part::Match { space, query, variables } => Some(self.matches(space, query, variables, bound)),
            Part::Call { predicate, columns } => {
                let mut known: Vec<Option<Atom>> = columns.iter().map(|column| value_of(column, bound)).collect();
                // A call has rows of all results.
                known.iter_mut().skip(self.program.predicates[*predicate].arguments).for_each(|result| *result = None);
                let rows = match self.program.components[of].contains(predicate) {
                    true => {
                        let place = calls.add((*predicate, known));
                        calls.rows[place].clone()
                    }
                    false => self.solve(*predicate, &known)?,
                };
                let ways = rows.iter().filter_map(|row| {
                    let mut bound = bound.to_vec();
                    let agrees = columns.iter().zip(row).all(|(column, value)| agree(column, value, &mut bound));
                    agrees.then_some(bound)
                });
                Some(ways.collect())
            }
            Part::Absent(part) => {
                let is_absent = self.part(of, part, bound, calls)?.is_empty();
                Some(if is_absent { vec![bound.to_vec()] } else { Vec::new() })
            }
            Part::Test { test, operands } => {
                let values: Option<Vec<Atom>> = operands.iter().map(|operand| value_of(operand, bound)).collect();
                let holds = values.and_then(|values| self.watch.test(*test, &values)) == Some(true);
                Some(if holds { vec![bound.to_vec()] } else { Vec::new() })
            }
        }
    }

    fn matches(
        &mut self,
        space: &SharedSpace,
        query: &Atom,
        variables: &[(Variable, u32)],
        bound: &[Option<Atom>],
    ) -> Vec<Vec<Option<Atom>>> {
        let value = |variable: &Variable| {
            let number = variables.iter().find(|(known, _)| known == variable)?.1;
            bound[number as usize].clone()
        };
        let rewritten = rewrite(query, |variable| value(variable).map_or(Rewrite::Keep, Rewrite::Replace));
        let query = rewritten.unwrap_or_else(|| query.clone());
        let found = space.query(&query, &mut self.source.borrow_mut());
        let way = |solution: space::Solution| {
            let mut bound = bound.to_vec();
            for (variable, value) in solution {
                if let Some((_, number)) = variables.iter().find(|(known, _)| *known == variable) {
                    bound[*number as usize] = Some(value);
                }
            }
            bound
        };
        found.into_iter().map(way).collect()
    }
}

fn value_of(operand: &Operand, bound: &[Option<Atom>]) -> Option<Atom> {
    match operand {
        Operand::Variable(variable) => bound[*variable as usize].clone(),
        Operand::Constant(value) => Some(value.clone()),
    }
}

/// Makes an operand a value; says whether it is that value then.
fn agree(operand: &Operand, value: &Atom, bound: &mut [Option<Atom>]) -> bool {
    match operand {
        Operand::Constant(known) => known == value,
        Operand::Variable(variable) => bound[*variable as usize].get_or_insert_with(|| value.clone()) == value,
    }
}
