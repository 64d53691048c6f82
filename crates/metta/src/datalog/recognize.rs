//! Which functions are of Datalog shape, and what their rules say.
//!
//! A body is read from outside in. What a part finds is there for those inside it, so the parts of a rule stand from left to right as
//! they are evaluated. A body with alternatives is several rules, in their order.

use crate::lowering::{Comparison, Logic, Lowering};
use crate::names;
use crate::operation::lowering_of;
use crate::program::history::PAST_SERIALS;
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
        let found = self.rules_of(name, arguments);
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

    /// The rules of a function: for each its arguments and its body.
    fn rules_of(&mut self, name: &Symbol, arguments: usize) -> Vec<(Vec<Atom>, Atom)> {
        let source = &mut *self.lookup.source;
        let asked: Vec<Variable> = (0..=arguments).map(|_| source.fresh(names::asked())).collect();
        let variables = asked.iter().cloned().map(Atom::Variable);
        let call = std::iter::once(Atom::Symbol(name.clone())).chain(variables.clone().take(arguments));
        let call = Atom::expression(call.collect::<Vec<_>>());
        let body = Atom::Variable(asked[arguments].clone());
        let found = self.lookup.space.query(&Atom::expression([names::equal(), call, body]), source);
        let value = |solution: &space::Solution, variable: &Variable| {
            let bound = solution.iter().find(|(bound, _)| bound == variable).map(|(_, value)| value.clone());
            bound.unwrap_or_else(|| Atom::Variable(variable.clone()))
        };
        let rule = |solution: &space::Solution| {
            let mut all: Vec<Atom> = asked.iter().map(|variable| value(solution, variable)).collect();
            let body = all.pop().expect("there is a body");
            (all, body)
        };
        found.iter().map(rule).collect()
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
        let Some([head, arguments @ ..]) = body.children() else { return Err("a body is not data") };
        match (lowering_of(head), arguments) {
            (Some(Lowering::Query), [space, query, template]) => {
                let part = draft.query(space, query)?;
                draft.parts.push(part);
                self.body(draft, template, rules)
            }
            (Some(Lowering::LetAll), [pairs, body]) => self.let_all(draft, pairs, body, rules),
            (Some(Lowering::Superpose), [alternatives]) => {
                let alternatives =
                    alternatives.children().ok_or("the alternatives of superpose are not written out")?;
                alternatives.iter().try_for_each(|body| self.body(draft.clone(), body, rules))
            }
            (None, [test, yes, no]) if self.is_form(head, "if", 3) => self.choice(draft, test, [yes, no], rules),
            (None, [pattern, value, body]) if self.is_form(head, "let", 3) => {
                self.bind(&mut draft, pattern, value)?;
                self.body(draft, body, rules)
            }
            (None, []) if self.is_form(head, "empty", 0) => Ok(()),
            _ => {
                let result = self.value(&mut draft, body)?;
                draft.head.push(result);
                let parts = draft.parts.iter().map(DraftPart::made).collect();
                rules.push(Rule { head: draft.head, parts, variables: draft.variables, fixed: Vec::new() });
                Ok(())
            }
        }
    }

    /// Whether a head is a form of the library that means what the library says.
    fn is_form(&mut self, head: &Atom, name: &str, arguments: usize) -> bool {
        let Lookup { space, library, source, .. } = &mut *self.lookup;
        let parts = forms::special_form(name).map_or(&[][..], |form| form.parts);
        let whole = (name, arguments);
        let mut all = std::iter::once(&whole).chain(parts);
        head.is_symbol(name)
            && all
                .all(|(part, arguments)| forms::means_what_the_library_says((space, library), source, part, *arguments))
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
            let is_nothing = body.is_symbol(names::EMPTY)
                || body.children().is_some_and(|body| body.len() == 1 && body[0].is_symbol("empty"));
            if !is_nothing {
                let mut draft = draft.clone();
                self.test(&mut draft, test, wanted)?;
                self.body(draft, body, rules)?;
            }
        }
        Ok(())
    }

    fn test(&mut self, draft: &mut Draft, test: &Atom, wanted: bool) -> Result<(), Why> {
        let Some([head, arguments @ ..]) = test.children() else { return Err("a condition is not a comparison") };
        match (lowering_of(head), arguments) {
            (Some(Lowering::Comparison(comparison)), [left, right]) => {
                let operands = [left, right].map(|operand| draft.operand(operand));
                let operands: Option<Vec<Operand>> = operands.into_iter().collect();
                self.tests.push((comparison, wanted));
                let operands = operands.ok_or("what is compared is an expression")?;
                draft.parts.push(DraftPart::Test(self.tests.len() - 1, operands));
                Ok(())
            }
            (Some(Lowering::Logic(Logic::Not)), [inner]) => self.test(draft, inner, !wanted),
            (Some(Lowering::Logic(Logic::And)), [left, right]) if wanted => {
                self.test(draft, left, true)?;
                self.test(draft, right, true)
            }
            (None, [goal]) if self.is_form(head, "has-result", 1) => self.presence(draft, goal, wanted),
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
        if let Some([head, space, query, template]) = goal.children()
            && lowering_of(head) == Some(Lowering::Query)
        {
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
        if let Some([head, space, query, template]) = atom.children()
            && lowering_of(head) == Some(Lowering::Query)
        {
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
