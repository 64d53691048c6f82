//! Which functions are of Datalog shape, and what their rules say.
//!
//! A body is read from outside in. What a part finds is there for those inside it, so the parts of a rule stand from left to right as
//! they are evaluated. A body with alternatives is several rules, in their order.

use crate::lowering::{Comparison, Logic, SpecialForm};
use crate::names;
use crate::program::history::PAST_SERIALS;
use crate::rules::{AskedRules, Match, Reading, Shape, has_no_result};
use crate::stdlib::forms;
use crate::types;
use space::{
    Atom, DatalogProgram, Grounded, Operand, Part, Predicate, Refused, Rule, SharedSpace, Symbol, Variable,
    VariableSource,
};

/// How many parts a rule may have, and how many rules a function.
const PARTS_MAX: usize = 64;
const RULES_MAX: usize = 256;

type Why = &'static str;

/// Where rules are looked up.
pub(crate) struct Lookup<'a> {
    pub(crate) space: &'a SharedSpace,
    pub(crate) library: &'a SharedSpace,
    pub(crate) source: &'a mut VariableSource,
    pub(crate) is_tabled: &'a dyn Fn(&Symbol) -> bool,
}

/// Functions of Datalog shape.
pub(crate) struct Recognized {
    /// The name and the number of arguments of each predicate.
    pub(crate) functions: Vec<(Symbol, usize)>,
    /// The comparisons of its tests, and what each is to say.
    pub(crate) tests: Vec<(Comparison, bool)>,
    pub(crate) program: DatalogProgram,
}

/// Reads a function and those that it calls.
struct Reader<'l, 'a> {
    lookup: &'l mut Lookup<'a>,
    functions: Vec<(Symbol, usize)>,
    tests: Vec<(Comparison, bool)>,
}

/// A rule as far as it was read.
#[derive(Clone, Default)]
struct Draft {
    head: Vec<Operand>,
    parts: Vec<DraftPart>,
    /// The variables and their numbers; several may have one number.
    names: Vec<(Variable, u32)>,
    variables: u32,
}

/// A part of a rule: the kinds of [`Part`], to be made again for each alternative.
#[derive(Clone)]
enum DraftPart {
    Match(SharedSpace, Atom, Vec<(Variable, u32)>),
    Call(usize, Vec<Operand>),
    Absent(Box<DraftPart>),
    Test(usize, Vec<Operand>),
}

impl DraftPart {
    fn made(&self) -> Part {
        match self.clone() {
            Self::Match(space, query, variables) => Part::Match { space, query, variables },
            Self::Call(predicate, columns) => Part::Call { predicate, columns },
            Self::Absent(part) => Part::Absent(Box::new(part.made())),
            Self::Test(test, operands) => Part::Test { test, operands },
        }
    }
}

/// Reads the function of this name and number of arguments, and those that it calls.
pub(crate) fn recognize(lookup: &mut Lookup<'_>, name: &Symbol, arguments: usize) -> Result<Recognized, Why> {
    let mut reader = Reader { lookup, functions: vec![(name.clone(), arguments)], tests: Vec::new() };
    let mut predicates = Vec::new();
    while let Some((name, arguments)) = reader.functions.get(predicates.len()).cloned() {
        predicates.push(reader.function(&name, arguments)?);
    }
    let program = DatalogProgram::new(predicates).map_err(|refused| match refused {
        Refused::NotRows(why) => why,
        Refused::Stopped => unreachable!("nothing is evaluated"),
    })?;
    Ok(Recognized { functions: reader.functions, tests: reader.tests, program })
}

/// The value of data that comes to itself.
pub(crate) fn leaf(atom: &Atom) -> Option<&Atom> {
    let is_leaf = match atom {
        Atom::Symbol(name) => ![names::EMPTY, names::NOT_REDUCIBLE].contains(&name.as_str()),
        Atom::Grounded(value) => matches!(value, Grounded::Bool(_) | Grounded::Number(_) | Grounded::Text(_)),
        _ => false,
    };
    is_leaf.then_some(atom)
}

impl Reader<'_, '_> {
    fn function(&mut self, name: &Symbol, arguments: usize) -> Result<Predicate, Why> {
        let head = Atom::Symbol(name.clone());
        let types = types::types_of(self.lookup.space, &head, self.lookup.source);
        if !types.iter().all(|found| found.atom.is_symbol(names::UNDEFINED)) {
            return Err("the function has a declared type");
        }
        let (mut rules, mut is_total) = (Vec::new(), false);
        let asked = AskedRules::of(name, arguments, self.lookup.source);
        let found = asked.all_in(self.lookup.space, self.lookup.source);
        if found.is_empty() {
            return Err("the function has no rules");
        }
        for (heads, body) in found {
            let mut draft = Draft::default();
            for head in &heads {
                let operand = draft.operand(head).ok_or("an argument in the head of a rule is an expression")?;
                draft.head.push(operand);
            }
            let is_new =
                |(place, head): (usize, &Atom)| matches!(head, Atom::Variable(_)) && !heads[..place].contains(head);
            is_total |= heads.iter().enumerate().all(is_new);
            self.body(draft, &body, &mut rules)?;
        }
        Ok(Predicate { arguments, result: None, is_total, rules })
    }

    /// Reads what a body comes to: a rule for each alternative.
    fn body(&mut self, mut draft: Draft, body: &Atom, rules: &mut Vec<Rule>) -> Result<(), Why> {
        if draft.parts.len() > PARTS_MAX || rules.len() > RULES_MAX {
            return Err("there are too many rules, or parts of a rule");
        }
        if body.is_symbol(names::EMPTY) {
            return Ok(());
        }
        if let Some(operand) = draft.operand(body) {
            draft.head.push(operand);
            let parts = draft.parts.iter().map(DraftPart::made).collect();
            rules.push(Rule { head: draft.head, parts, variables: draft.variables, fixed: Vec::new() });
            return Ok(());
        }
        let reading = Reading::of(body);
        if reading.call.is_none() {
            return Err("a body is not data");
        }
        match reading.shape {
            Shape::Match(Match { space, query, template }) => {
                let part = draft.query(space, query)?;
                draft.parts.push(part);
                self.body(draft, template, rules)
            }
            Shape::LetAll { pairs, body } => self.let_all(draft, pairs, body, rules),
            Shape::Alternatives(list) => {
                let alternatives = list.children().ok_or("the alternatives of superpose are not written out")?;
                alternatives.iter().try_for_each(|body| self.body(draft.clone(), body, rules))
            }
            Shape::If { condition, ways } if self.is_of_library(reading.form) => {
                self.choice(draft, condition, ways, rules)
            }
            Shape::Let { pattern, value, body } if self.is_of_library(reading.form) => {
                self.bind(&mut draft, pattern, value)?;
                self.body(draft, body, rules)
            }
            Shape::Nothing if self.is_of_library(reading.form) => Ok(()),
            _ => {
                let result = self.value(&mut draft, body)?;
                draft.head.push(result);
                let parts = draft.parts.iter().map(DraftPart::made).collect();
                rules.push(Rule { head: draft.head, parts, variables: draft.variables, fixed: Vec::new() });
                Ok(())
            }
        }
    }

    /// Whether a form means what the library says.
    fn is_of_library(&mut self, form: Option<&SpecialForm>) -> bool {
        let Lookup { space, library, source, .. } = &mut *self.lookup;
        let Some(form) = form else { return false };
        let whole = (form.name, form.arity);
        std::iter::once(&whole)
            .chain(form.parts)
            .all(|(part, arity)| forms::means_what_the_library_says((space, library), source, part, *arity))
    }

    fn let_all(&mut self, mut draft: Draft, pairs: &Atom, body: &Atom, rules: &mut Vec<Rule>) -> Result<(), Why> {
        for pair in pairs.children().ok_or("the pairs of let* are not written out")? {
            let Some([pattern, value]) = pair.children() else { return Err("the pairs of let* are not written out") };
            self.bind(&mut draft, pattern, value)?;
        }
        self.body(draft, body, rules)
    }

    /// `let`: a pattern is what a value comes to.
    fn bind(&mut self, draft: &mut Draft, pattern: &Atom, value: &Atom) -> Result<(), Why> {
        if let Some(call) = self.call(draft, value)? {
            let result = draft.operand(pattern).ok_or("the pattern of a let is an expression")?;
            draft.push_call(call, result);
            return Ok(());
        }
        let found = self.value(draft, value)?;
        match (pattern, found) {
            (Atom::Variable(variable), Operand::Variable(number)) if draft.number_of(variable).is_none() => {
                draft.names.push((variable.clone(), number));
                Ok(())
            }
            _ => Err("a let binds something else than a variable to what a match finds"),
        }
    }

    /// `if`: a test is a part of the alternative that is chosen.
    fn choice(&mut self, draft: Draft, test: &Atom, ways: [&Atom; 2], rules: &mut Vec<Rule>) -> Result<(), Why> {
        for (body, wanted) in ways.into_iter().zip([true, false]) {
            if !has_no_result(body) {
                let mut draft = draft.clone();
                self.test(&mut draft, test, wanted)?;
                self.body(draft, body, rules)?;
            }
        }
        Ok(())
    }

    fn test(&mut self, draft: &mut Draft, test: &Atom, wanted: bool) -> Result<(), Why> {
        let reading = Reading::of(test);
        match reading.shape {
            Shape::Comparison(comparison, sides) => {
                let operands = sides.map(|operand| draft.operand(operand));
                let operands: Option<Vec<Operand>> = operands.into_iter().collect();
                self.tests.push((comparison, wanted));
                let operands = operands.ok_or("what is compared is an expression")?;
                draft.parts.push(DraftPart::Test(self.tests.len() - 1, operands));
                Ok(())
            }
            Shape::Not(inner) => self.test(draft, inner, !wanted),
            Shape::Logic(Logic::And, [left, right]) if wanted => {
                self.test(draft, left, true)?;
                self.test(draft, right, true)
            }
            Shape::HasResult(goal) if self.is_of_library(reading.form) => self.presence(draft, goal, wanted),
            _ => Err("a condition is not a comparison"),
        }
    }

    /// `has-result` of a call or of a match.
    fn presence(&mut self, draft: &mut Draft, goal: &Atom, wanted: bool) -> Result<(), Why> {
        if wanted {
            return Err("a rule asks whether there is a result, and goes on if there is");
        }
        let mut inner = draft.clone();
        inner.parts.clear();
        if let Shape::Match(Match { space, query, template }) = Reading::of(goal).shape {
            let part = inner.query(space, query)?;
            inner.operand(template).ok_or("what a match under has-result comes to is an expression")?;
            inner.parts.push(part);
        } else {
            self.value(&mut inner, goal)?;
        }
        let [part] = inner.parts.as_slice() else { return Err("has-result asks for more than one thing") };
        draft.parts.push(DraftPart::Absent(Box::new(part.clone())));
        // The variables of what is absent are no other's.
        draft.variables = inner.variables;
        Ok(())
    }

    /// What an expression comes to, after the parts that find it.
    fn value(&mut self, draft: &mut Draft, atom: &Atom) -> Result<Operand, Why> {
        if let Some(operand) = draft.operand(atom) {
            return Ok(operand);
        }
        if let Shape::Match(Match { space, query, template }) = Reading::of(atom).shape {
            let part = draft.query(space, query)?;
            draft.parts.push(part);
            return draft.operand(template).ok_or("what a match comes to is not data");
        }
        let Some(call) = self.call(draft, atom)? else { return Err("a rule calls a function that is not tabled") };
        let result = draft.fresh();
        draft.push_call(call, result.clone());
        Ok(result)
    }

    /// A call of a tabled function: its predicate and its arguments.
    fn call(&mut self, draft: &mut Draft, atom: &Atom) -> Result<Option<(usize, Vec<Operand>)>, Why> {
        let Some([Atom::Symbol(name), arguments @ ..]) = atom.children() else { return Ok(None) };
        if !(self.lookup.is_tabled)(name) {
            return Ok(None);
        }
        let arguments = arguments.iter().map(|argument| self.value(draft, argument)).collect::<Result<Vec<_>, _>>()?;
        let function = (name.clone(), arguments.len());
        let known = self.functions.iter().position(|known| *known == function);
        let predicate = known.unwrap_or_else(|| {
            self.functions.push(function);
            self.functions.len() - 1
        });
        Ok(Some((predicate, arguments)))
    }
}

impl Draft {
    fn number_of(&self, variable: &Variable) -> Option<u32> {
        self.names.iter().find(|(known, _)| known == variable).map(|(_, number)| *number)
    }

    fn fresh(&mut self) -> Operand {
        self.variables += 1;
        Operand::Variable(self.variables - 1)
    }

    /// A variable or data.
    fn operand(&mut self, atom: &Atom) -> Option<Operand> {
        let Atom::Variable(variable) = atom else { return leaf(atom).cloned().map(Operand::Constant) };
        if let Some(number) = self.number_of(variable) {
            return Some(Operand::Variable(number));
        }
        let operand = self.fresh();
        self.names.push((variable.clone(), self.variables - 1));
        Some(operand)
    }

    fn push_call(&mut self, (predicate, mut columns): (usize, Vec<Operand>), result: Operand) {
        columns.push(result);
        self.parts.push(DraftPart::Call(predicate, columns));
    }

    fn query(&mut self, space: &Atom, query: &Atom) -> Result<DraftPart, Why> {
        let Atom::Grounded(Grounded::Space(space)) = space else {
            return Err("the space of a match is not written out");
        };
        if space.serial() >= PAST_SERIALS {
            return Err("a space of the past is asked");
        }
        let patterns = space::conjunction(query).unwrap_or(std::slice::from_ref(query));
        if patterns.is_empty() || !patterns.iter().all(|pattern| matches!(pattern, Atom::Expression(_))) {
            return Err("a pattern is not an expression");
        }
        let variables = space::variables(query);
        let number = |variable: Variable| match self.operand(&Atom::Variable(variable.clone())) {
            Some(Operand::Variable(number)) => (variable, number),
            _ => unreachable!("it is a variable"),
        };
        let numbered = variables.into_iter().map(number).collect();
        Ok(DraftPart::Match(space.clone(), query.clone(), numbered))
    }
}
