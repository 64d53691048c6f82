//! The rules of a goal, written down over numbered relations, and made queries.
//!
//! 1. Relation 0 is the goal: its arguments and its result. Another relation is a predicate, or the *calls* of one: the values that its rows are
//!    asked for.
//! 2. If arguments of the goal are known, each predicate has a relation for each set of columns that are known when a rule asks for it, from
//!    left to right. A rule for such a relation begins with its calls, and what comes before a call in a rule concludes that call (magic sets:
//!    Bancilhon, Maier, Sagiv, Ullman, 1986). Where an absence asks for a predicate, all is derived instead: what is absent must not depend
//!    on what is asked.
//! 3. Values that are fixed are put in for their variables. Each variable has a name that says its number.

use super::TestFilter;
use super::component::{Component, LiveRule};
use crate::atom::{Atom, Variable};
use crate::datalog::program::{Operand, Part, Program, Refused, Rule};
use crate::query::{DeltaQuery, FilterPart, Head, HeadPart, conjunction};
use crate::rewrite::{Rewrite, rewrite};
use crate::space_handle::SharedSpace;
use crate::term::Term;
use std::collections::BTreeSet;

/// The number of the goal.
pub(super) const GOAL: i64 = 0;

/// How many relations a goal has at most.
const RELATIONS_MAX: usize = 1_024;

/// What a relation is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Goal,
    /// One row without columns, for rules that ask for nothing.
    Always,
    /// A predicate, with these columns known.
    Rows(usize, u64),
    /// What it is asked for then.
    Calls(usize, u64),
}

/// The rules of each relation. Calls name relations.
pub(super) struct Clauses<'p> {
    program: &'p Program,
    /// Whether relations say what is asked for.
    has_calls: bool,
    relations: Vec<Of>,
    rules: Vec<Vec<Rule>>,
}

/// Which bits of a column are set.
fn is_known(mask: u64, column: usize) -> bool {
    mask >> column & 1 == 1
}

impl<'p> Clauses<'p> {
    /// Those of the rows of a predicate whose arguments have these values, where there is one.
    pub(super) fn of(program: &'p Program, predicate: usize, arguments: &[Option<Atom>]) -> Result<Self, Refused> {
        let known = arguments.iter().enumerate().filter(|(_, value)| value.is_some());
        let mask = known.fold(0, |mask, (column, _)| mask | 1 << column);
        let has_calls = mask != 0 && !asks_for_absent_rows(program, predicate);
        let mut clauses = Self { program, has_calls, relations: Vec::new(), rules: Vec::new() };
        clauses.relation(Of::Goal)?;
        let mask = if has_calls { mask } else { 0 };
        clauses.goal(predicate, arguments, mask)?;
        let mut next = 1;
        while let Some(&of) = clauses.relations.get(next) {
            match of {
                Of::Rows(predicate, mask) => clauses.rows(next, predicate, mask)?,
                Of::Always => clauses.rules[next].push(fact(Vec::new())),
                Of::Goal | Of::Calls(..) => {}
            }
            next += 1;
        }
        Ok(clauses)
    }

    fn relation(&mut self, of: Of) -> Result<usize, Refused> {
        if let Some(known) = self.relations.iter().position(|known| *known == of) {
            return Ok(known);
        }
        if self.relations.len() == RELATIONS_MAX {
            return Err(Refused::NotRows("calls are made in too many ways"));
        }
        self.relations.push(of);
        self.rules.push(Vec::new());
        Ok(self.relations.len() - 1)
    }

    /// The rule of the goal, and what is asked for at the beginning.
    fn goal(&mut self, predicate: usize, arguments: &[Option<Atom>], mask: u64) -> Result<(), Refused> {
        let rows = self.relation(Of::Rows(predicate, mask))?;
        let operand = |(column, value): (usize, &Option<Atom>)| match value {
            Some(value) => Operand::Constant(value.clone()),
            None => Operand::Variable(column as u32),
        };
        let mut columns: Vec<Operand> = arguments.iter().enumerate().map(operand).collect();
        let mut head = columns.clone();
        match &self.program.predicates[predicate].result {
            Some(result) => head.push(Operand::Constant(result.clone())),
            None => {
                let result = Operand::Variable(arguments.len() as u32);
                head.push(result.clone());
                columns.push(result);
            }
        }
        let variables = arguments.len() as u32 + 1;
        let parts = vec![Part::Call { predicate: rows, columns }];
        self.rules[GOAL as usize].push(Rule { head, parts, variables, fixed: Vec::new() });
        if mask != 0 {
            let calls = self.relation(Of::Calls(predicate, mask))?;
            self.rules[calls].push(fact(arguments.iter().flatten().cloned().map(Operand::Constant).collect()));
        }
        Ok(())
    }

    /// The rules of a predicate with these columns known.
    fn rows(&mut self, relation: usize, predicate: usize, mask: u64) -> Result<(), Refused> {
        for rule in &self.program.predicates[predicate].rules {
            let rule = with_fixed_values(rule);
            let mut bound = BTreeSet::new();
            let mut parts = Vec::new();
            if mask != 0 {
                let calls = self.relation(Of::Calls(predicate, mask))?;
                let known = rule.head.iter().enumerate().filter(|(column, _)| is_known(mask, *column));
                let columns: Vec<Operand> = known.map(|(_, operand)| operand.clone()).collect();
                bind(&columns, &mut bound);
                parts.push(Part::Call { predicate: calls, columns });
            }
            for part in &rule.parts {
                let part = self.part(part, &bound, &parts, rule.variables)?;
                match &part {
                    Part::Match { variables, .. } => bound.extend(variables.iter().map(|&(_, number)| number)),
                    Part::Call { columns, .. } => bind(columns, &mut bound),
                    Part::Absent(_) | Part::Test { .. } => {}
                }
                parts.push(part);
            }
            let asks = parts.iter().any(|part| matches!(part, Part::Match { .. } | Part::Call { .. }));
            if !asks && !parts.is_empty() {
                parts.insert(0, Part::Call { predicate: self.relation(Of::Always)?, columns: Vec::new() });
            }
            self.rules[relation].push(Rule { parts, ..rule });
        }
        Ok(())
    }

    /// A part of a rule, in terms of relations; if it is a call, that is concluded from what comes before it.
    fn part(&mut self, part: &Part, bound: &BTreeSet<u32>, before: &[Part], variables: u32) -> Result<Part, Refused> {
        Ok(match part {
            Part::Call { predicate, columns } => {
                let is_bound = |operand: &Operand| match operand {
                    Operand::Variable(variable) => bound.contains(variable),
                    Operand::Constant(_) => true,
                };
                let arguments = columns.iter().take(self.program.predicates[*predicate].arguments).enumerate();
                let known = arguments.filter(|(_, operand)| self.has_calls && is_bound(operand));
                let mask = known.fold(0, |mask, (column, _)| mask | 1 << column);
                let rows = self.relation(Of::Rows(*predicate, mask))?;
                if mask != 0 {
                    let calls = self.relation(Of::Calls(*predicate, mask))?;
                    let known = columns.iter().enumerate().filter(|(column, _)| is_known(mask, *column));
                    let head: Vec<Operand> = known.map(|(_, operand)| operand.clone()).collect();
                    let is_itself = |part: &Part| matches!(part, Part::Call { predicate, columns } if *predicate == calls && *columns == head);
                    if !before.iter().any(is_itself) {
                        self.rules[calls].push(Rule { head, parts: before.to_vec(), variables, fixed: Vec::new() });
                    }
                }
                Part::Call { predicate: rows, columns: columns.clone() }
            }
            Part::Absent(inner) => Part::Absent(Box::new(self.part(inner, &BTreeSet::new(), &[], variables)?)),
            other => other.clone(),
        })
    }

    /// The spaces that rules name.
    pub(super) fn asked(&self) -> Vec<SharedSpace> {
        let parts = self.rules.iter().flatten().flat_map(|rule| &rule.parts);
        let asked = parts.map(|part| if let Part::Absent(inner) = part { inner } else { part });
        each_once(
            asked.filter_map(|part| if let Part::Match { space, .. } = part { Some(space.clone()) } else { None }),
        )
    }

    /// The spaces that are asked, imports included, and the one of derived rows, which comes last.
    pub(super) fn spaces(&self, derived: &SharedSpace) -> Vec<SharedSpace> {
        let mut spaces = with_imports(&self.asked());
        spaces.push(derived.clone());
        spaces
    }

    /// Its relations by components, those first that others depend on; the last is that of the goal.
    pub(super) fn components(&self, ground: Ground<'_>, filter: TestFilter<'_>) -> Result<Vec<Component>, Refused> {
        let asked: Vec<BTreeSet<usize>> = self.rules.iter().map(|rules| asked_by(rules)).collect();
        let groups = in_order(&asked);
        let place = |relation: usize| groups.iter().position(|group| group.contains(&relation)).expect("each has one");
        let component = |group: &BTreeSet<usize>| {
            let (mut rules, mut facts, mut heads) = (Vec::new(), Vec::new(), Vec::new());
            for (&relation, rule) in group.iter().flat_map(|of| self.rules[*of].iter().map(move |rule| (of, rule))) {
                if rule.parts.is_empty() {
                    facts.push(fact_row(relation, &rule.head, ground.1)?);
                } else {
                    let is_recursive = asked_by(std::slice::from_ref(rule)).iter().any(|asked| group.contains(asked));
                    rules.push(live_rule((relation, rule), is_recursive, ground, filter, &mut heads)?);
                }
            }
            let below = group.iter().flat_map(|&of| &asked[of]).filter(|asked| !group.contains(asked));
            let below: BTreeSet<usize> = below.map(|&asked| place(asked)).collect();
            Ok(Component { rules, facts, heads, below: below.into_iter().collect() })
        };
        groups.iter().map(component).collect()
    }
}

/// The spaces that rules ask, and the one of derived rows among them.
type Ground<'a> = (&'a [SharedSpace], &'a SharedSpace);

/// A space and those that it imports.
fn asked_with(space: &SharedSpace) -> Vec<SharedSpace> {
    std::iter::once(space.clone()).chain(space.imports()).collect()
}

/// Spaces and those that they import, each once.
pub(super) fn with_imports(spaces: &[SharedSpace]) -> Vec<SharedSpace> {
    each_once(spaces.iter().flat_map(asked_with))
}

fn each_once(spaces: impl Iterator<Item = SharedSpace>) -> Vec<SharedSpace> {
    spaces.fold(Vec::new(), |mut once, space| {
        if !once.iter().any(|known: &SharedSpace| known.is_same(&space)) {
            once.push(space);
        }
        once
    })
}

fn fact(head: Vec<Operand>) -> Rule {
    Rule { head, parts: Vec::new(), variables: 0, fixed: Vec::new() }
}

fn bind(columns: &[Operand], bound: &mut BTreeSet<u32>) {
    bound.extend(columns.iter().filter_map(|column| match column {
        Operand::Variable(variable) => Some(*variable),
        Operand::Constant(_) => None,
    }));
}

/// Whether a predicate, or one that it depends on, asks whether there is no row of another.
fn asks_for_absent_rows(program: &Program, predicate: usize) -> bool {
    let (mut seen, mut work) = (BTreeSet::from([predicate]), vec![predicate]);
    while let Some(of) = work.pop() {
        for (called, is_absent) in
            program.predicates[of].rules.iter().flat_map(|rule| &rule.parts).filter_map(Part::called)
        {
            if is_absent {
                return true;
            }
            if seen.insert(called) {
                work.push(called);
            }
        }
    }
    false
}

/// A rule with values in the place of variables that are fixed.
fn with_fixed_values(rule: &Rule) -> Rule {
    let value = |variable: u32| rule.fixed.iter().find(|(fixed, _)| *fixed == variable).map(|(_, value)| value);
    let operand = |operand: &Operand| match operand {
        Operand::Variable(variable) => value(*variable).cloned().map_or_else(|| operand.clone(), Operand::Constant),
        Operand::Constant(_) => operand.clone(),
    };
    let operands = |operands: &[Operand]| operands.iter().map(operand).collect();
    let part = |part: &Part| match part {
        Part::Call { predicate, columns } => Part::Call { predicate: *predicate, columns: operands(columns) },
        Part::Test { test, operands: tested } => Part::Test { test: *test, operands: operands(tested) },
        Part::Match { space, query, variables } => {
            let number = |name: &Variable| variables.iter().find(|(known, _)| known == name).map(|(_, number)| *number);
            let put =
                rewrite(query, |name| number(name).and_then(value).cloned().map_or(Rewrite::Keep, Rewrite::Replace));
            let variables = variables.iter().filter(|(_, number)| value(*number).is_none()).cloned().collect();
            Part::Match { space: space.clone(), query: put.unwrap_or_else(|| query.clone()), variables }
        }
        Part::Absent(_) => unreachable!("what is absent is looked into"),
    };
    let part = |whole: &Part| match whole {
        Part::Absent(inner) => Part::Absent(Box::new(part(inner))),
        other => part(other),
    };
    let parts = rule.parts.iter().map(part).collect();
    Rule { head: operands(&rule.head), parts, variables: rule.variables, fixed: Vec::new() }
}

/// The relations that rules ask for.
fn asked_by(rules: &[Rule]) -> BTreeSet<usize> {
    rules.iter().flat_map(|rule| &rule.parts).filter_map(Part::called).map(|(called, _)| called).collect()
}

/// Groups of what asks for each other, those first that others ask for.
fn in_order(asked: &[BTreeSet<usize>]) -> Vec<BTreeSet<usize>> {
    let reached: Vec<BTreeSet<usize>> = (0..asked.len())
        .map(|from| {
            let (mut found, mut work) = (BTreeSet::new(), vec![from]);
            while let Some(of) = work.pop() {
                work.extend(asked[of].iter().filter(|&&other| found.insert(other)));
            }
            found
        })
        .collect();
    let mut groups: Vec<BTreeSet<usize>> = Vec::new();
    // What another one asks for reaches less, unless they ask for each other.
    let mut order: Vec<usize> = (0..asked.len()).collect();
    let counted = |of: usize| reached[of].len() + usize::from(!reached[of].contains(&of));
    order.sort_by_key(|&of| (counted(of), of));
    for of in order {
        let together = |&&other: &&usize| reached[other].contains(&of);
        let group: BTreeSet<usize> = reached[of].iter().filter(together).copied().chain([of]).collect();
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups
}

fn relation_atom(relation: usize) -> Atom {
    Atom::from(relation as i64)
}

fn fact_row(relation: usize, head: &[Operand], derived: &SharedSpace) -> Result<Vec<Term>, Refused> {
    let value = |operand: &Operand| match operand {
        Operand::Constant(value) => Ok(value.clone()),
        Operand::Variable(_) => Err(UNBOUND_HEAD),
    };
    let atoms: Vec<Atom> =
        std::iter::once(Ok(relation_atom(relation))).chain(head.iter().map(value)).collect::<Result<_, _>>()?;
    let dictionary = derived.dictionary();
    let mut terms = dictionary.write().expect("no panic while terms are locked");
    Ok(atoms.iter().map(|atom| terms.intern(atom)).collect())
}

const UNBOUND_HEAD: Refused = Refused::NotRows(
    "a rule holds for every value of a variable: ask for that argument by a value, or match it in the rule",
);
const UNBOUND_TEST: Refused = Refused::NotRows("a rule tests what no match and no call binds");
const TOO_LARGE: Refused = Refused::NotRows("a rule has a pattern that rows do not answer, or too many variables");

/// The name of a variable of a rule.
fn name_of(variable: u32) -> Variable {
    Variable::new(&variable.to_string())
}

fn atom_of(operand: &Operand) -> Atom {
    match operand {
        Operand::Variable(variable) => Atom::Variable(name_of(*variable)),
        Operand::Constant(value) => value.clone(),
    }
}

/// The patterns of a part that is not a test, and which spaces they ask, a bit for each.
fn patterns_of(part: &Part, spaces: &[SharedSpace]) -> (Vec<Atom>, u64) {
    match part {
        Part::Match { space, query, variables } => {
            let named = rewrite(query, |name| {
                let number = variables.iter().find(|(known, _)| known == name).map(|(_, number)| *number);
                number.map_or(Rewrite::Keep, |number| Rewrite::Replace(Atom::Variable(name_of(number))))
            });
            let named = named.unwrap_or_else(|| query.clone());
            let patterns = conjunction(&named).unwrap_or(std::slice::from_ref(&named)).to_vec();
            let asked = asked_with(space);
            let is_asked = |known: &SharedSpace| asked.iter().any(|asked| asked.is_same(known));
            let bits = spaces.iter().enumerate().filter(|(_, known)| is_asked(known));
            (patterns, bits.fold(0, |bits, (place, _)| bits | 1 << place))
        }
        Part::Call { predicate, columns } => {
            let row = std::iter::once(relation_atom(*predicate)).chain(columns.iter().map(atom_of));
            (vec![Atom::expression(row.collect::<Vec<_>>())], 1 << (spaces.len() - 1))
        }
        Part::Absent(_) | Part::Test { .. } => (Vec::new(), 0),
    }
}

/// A rule as a query, and the heads of facts that it asks for.
fn live_rule(
    (relation, rule): (usize, &Rule),
    is_recursive: bool,
    (spaces, derived): Ground<'_>,
    filter: TestFilter<'_>,
    heads: &mut Vec<Head>,
) -> Result<LiveRule, Refused> {
    let (mut patterns, mut asked, mut absences) = (Vec::new(), Vec::new(), Vec::new());
    let derived_only = 1 << (spaces.len() - 1);
    for part in &rule.parts {
        let inner = if let Part::Absent(inner) = part { inner } else { part };
        let (found, bits) = patterns_of(inner, spaces);
        heads.extend(found.iter().filter(|_| bits != derived_only).map(Head::of));
        match part {
            Part::Absent(_) => absences.push((found, bits)),
            _ => {
                asked.resize(asked.len() + found.len(), bits);
                patterns.extend(found);
            }
        }
    }
    let mut query = DeltaQuery::new(&patterns).ok_or(TOO_LARGE)?;
    let mut asked_by_absences = Vec::new();
    for (patterns, bits) in &absences {
        asked_by_absences.push(vec![*bits; patterns.len()]);
        if !query.filter_by(patterns, true) {
            return Err(TOO_LARGE);
        }
    }
    query.ask_of(asked, asked_by_absences);
    let place = |query: &DeltaQuery, variable: u32| {
        let name = name_of(variable);
        query.variables().iter().position(|known| *known == name)
    };
    let (mut filters, mut values) = (Vec::new(), Vec::new());
    for part in &rule.parts {
        let Part::Test { test, operands } = part else { continue };
        let operand = |operand: &Operand| match operand {
            Operand::Variable(variable) => {
                place(&query, *variable).map(|place| FilterPart::Variable(place as u32)).ok_or(UNBOUND_TEST)
            }
            Operand::Constant(value) => {
                values.push(value.clone());
                Ok(FilterPart::Given(values.len() as u32 - 1))
            }
        };
        let parts = operands.iter().map(operand).collect::<Result<Vec<_>, _>>()?;
        filters.push(filter(*test, parts).ok_or(UNBOUND_TEST)?);
    }
    query.test_by(filters, values);
    let dictionary = derived.dictionary();
    let mut terms = dictionary.write().expect("no panic while terms are locked");
    let part = |operand: &Operand| match operand {
        Operand::Variable(variable) => place(&query, *variable).map(HeadPart::Variable).ok_or(UNBOUND_HEAD),
        Operand::Constant(value) => Ok(HeadPart::Value(terms.intern(value))),
    };
    let columns = rule.head.iter().map(part).collect::<Result<Vec<_>, _>>()?;
    let number = HeadPart::Value(terms.intern(&relation_atom(relation)));
    let head = std::iter::once(number).chain(columns).collect();
    Ok(LiveRule { query, head, is_recursive })
}
