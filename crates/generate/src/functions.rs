//! Functions: their rules, by the ways in which they may recur, and their types.

use crate::features::Feature;
use crate::kinds::Kind;
use crate::writer::{DEPTH, Writer};

/// A function that the program declares.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) parameters: Vec<Kind>,
    pub(crate) result: Kind,
    /// Whether it has finitely many answers for unbound arguments.
    pub(crate) is_finite: bool,
}

type Way = fn(&mut Writer);

const WAYS: &[(Feature, Way)] = &[
    (Feature::Core, Writer::table),
    (Feature::Core, Writer::table),
    (Feature::Core, Writer::countdown),
    (Feature::Core, Writer::on_nat),
    (Feature::Core, Writer::on_list),
    (Feature::Core, Writer::mutual),
    (Feature::Core, Writer::other_arity),
    (Feature::Alternatives, Writer::search),
    (Feature::Match, Writer::over_facts),
    (Feature::Relational, Writer::relation),
    (Feature::HigherOrder, Writer::applying),
    (Feature::Minimal, Writer::in_instructions),
    (Feature::Functional, Writer::over_list),
    (Feature::Functional, Writer::returning),
    (Feature::Nested, Writer::collecting),
];

impl Writer {
    pub(crate) fn declare_function(&mut self) {
        self.level = self.functions.len();
        let declared = self.functions.len();
        let way = self.choose(WAYS);
        self.scoped(way);
        if self.has(Feature::Types) && !self.dice.one_in(3) {
            for index in declared..self.functions.len() {
                let named = format!("(: {} ", self.functions[index].name);
                if !self.has(Feature::SeveralTypes) && self.types.iter().any(|known| known.starts_with(&named)) {
                    continue;
                }
                let declaration = self.type_declaration(index);
                self.types.push(declaration.clone());
                self.line(declaration);
                if self.has(Feature::SeveralTypes) && self.dice.one_in(10) {
                    let another = self.type_declaration(index);
                    self.line(another);
                }
            }
        }
    }

    pub(crate) fn function(&mut self, parameters: Vec<Kind>, result: Kind, is_finite: bool) -> String {
        let name = format!("f{}", self.functions.len());
        self.functions.push(Function { name: name.clone(), parameters, result, is_finite });
        name
    }

    pub(crate) fn rule(&mut self, head: &str, body: &str) {
        let rule = format!("(= {head} {body})");
        self.rules.push(rule.clone());
        self.line(rule);
    }

    fn parameters(&mut self, most: usize) -> Vec<Kind> {
        (0..self.dice.below(most + 1)).map(|_| self.kind()).collect()
    }

    /// Rules that may overlap and do not recur.
    fn table(&mut self) {
        let (parameters, result) = (self.parameters(3), self.kind());
        let name = self.function(parameters.clone(), result, true);
        for _ in 0..1 + self.dice.below(4) {
            let (head, body) = self.table_rule(&name, &parameters, result);
            self.rule(&head, &body);
        }
    }

    /// A head and a body of lower functions.
    pub(crate) fn table_rule(&mut self, name: &str, parameters: &[Kind], result: Kind) -> (String, String) {
        let outside = std::mem::take(&mut self.scope);
        let patterns: Vec<String> = parameters.iter().map(|kind| self.pattern(*kind, 2)).collect();
        let body = self.expression(result, DEPTH);
        self.scope = outside;
        (call(name, &patterns), body)
    }

    /// Recursion on a number that gets smaller, with others carried along.
    fn countdown(&mut self) {
        let (carried, result) = (self.parameters(2), self.kind());
        let kinds: Vec<Kind> = [Kind::Small].into_iter().chain(carried.iter().copied()).collect();
        let name = self.function(kinds, result, false);
        // No other variable begins with these letters.
        let n = "$n".to_owned();
        self.scope.push((n.clone(), Kind::Small));
        let variables: Vec<String> = carried.iter().map(|kind| self.variable(*kind)).collect();
        let head = call(&name, &[vec![n.clone()], variables].concat());
        let base = self.expression(result, 1);
        let again = self.again(&name, &format!("(- {n} 1)"), &carried);
        let step = self.step(result, &again);
        if self.dice.one_in(3) {
            let zero = head.replacen(&n, "0", 1);
            // The number of the head does not reach the base.
            let base = base.replace(&n, "0");
            self.rule(&zero, &base);
            self.rule(&head, &format!("(if (> {n} 0) {step} (empty))"));
        } else {
            self.rule(&head, &format!("(if (< {n} 1) {base} {step})"));
        }
        self.scope.clear();
        self.perhaps_another_rule();
    }

    /// The call of the function itself on something smaller.
    fn again(&mut self, name: &str, smaller: &str, carried: &[Kind]) -> String {
        let others: Vec<String> = carried.iter().map(|kind| self.expression(*kind, 1)).collect();
        call(name, &[vec![smaller.to_owned()], others].concat())
    }

    /// What is made of the result of the recursive call.
    pub(crate) fn step(&mut self, result: Kind, again: &str) -> String {
        match self.dice.below(4) {
            0 => again.to_owned(),
            1 => self.scoped(|writer| {
                let rest = writer.variable(result);
                format!("(let {rest} {again} {})", writer.expression(result, 2))
            }),
            2 if result == Kind::Number => format!("(+ {again} {again})"),
            _ => self.wrapped(result, again),
        }
    }

    fn wrapped(&mut self, kind: Kind, inner: &str) -> String {
        match kind {
            Kind::Number => format!("(+ {} {inner})", self.expression(Kind::Number, 1)),
            Kind::Truth => format!("(and {} {inner})", self.expression(Kind::Truth, 1)),
            Kind::Nat => format!("(S {inner})"),
            Kind::List => format!("(Cons {} {inner})", self.expression(Kind::Number, 1)),
            Kind::Tuple => format!("({} {inner})", self.expression(Kind::Number, 1)),
            Kind::Data => format!("(Pair {} {inner})", self.expression(Kind::Color, 1)),
            Kind::Small | Kind::Color | Kind::Function | Kind::Text => inner.to_owned(),
        }
    }

    /// A rule more for the function just declared, so that its rules overlap.
    fn perhaps_another_rule(&mut self) {
        if self.has(Feature::Alternatives) && self.dice.one_in(4) {
            let Function { name, parameters, result, .. } = self.functions.last().expect("one was declared").clone();
            let (head, body) = self.table_rule(&name, &parameters, result);
            self.rule(&head, &body);
        }
    }

    /// Recursion on `Z` and `(S $n)`.
    fn on_nat(&mut self) {
        let (carried, result) = (self.parameters(2), self.kind());
        self.structural(Kind::Nat, &carried, result);
    }

    /// Recursion on `Nil` and `(Cons $head $tail)`.
    fn on_list(&mut self) {
        let (carried, result) = (self.parameters(1), self.kind());
        self.structural(Kind::List, &carried, result);
    }

    fn structural(&mut self, kind: Kind, carried: &[Kind], result: Kind) {
        let kinds: Vec<Kind> = [kind].into_iter().chain(carried.iter().copied()).collect();
        let name = self.function(kinds, result, false);
        self.scoped(|writer| {
            let others: Vec<String> = carried.iter().map(|kind| writer.pattern(*kind, 1)).collect();
            let end = if kind == Kind::Nat { "Z" } else { "Nil" };
            let base = writer.expression(result, 2);
            writer.rule(&call(&name, &[vec![end.to_owned()], others].concat()), &base);
        });
        self.scoped(|writer| {
            let rest = writer.variable(kind);
            let more = match kind {
                Kind::Nat => format!("(S {rest})"),
                _ => format!("(Cons {} {rest})", writer.variable(Kind::Number)),
            };
            let others: Vec<String> = carried.iter().map(|kind| writer.variable(*kind)).collect();
            let again = writer.again(&name, &rest, carried);
            let step = writer.step(result, &again);
            writer.rule(&call(&name, &[vec![more], others].concat()), &step);
        });
        self.perhaps_another_rule();
    }

    /// Two functions that call each other.
    fn mutual(&mut self) {
        let result = self.kind();
        let names = [self.function(vec![Kind::Nat], result, false), self.function(vec![Kind::Nat], result, false)];
        for (name, other) in [(&names[0], &names[1]), (&names[1], &names[0])] {
            let base = self.expression(result, 1);
            self.rule(&format!("({name} Z)"), &base);
            let step = self.step(result, &format!("({other} $k)"));
            self.rule(&format!("({name} (S $k))"), &step);
        }
    }

    /// A function that bears the name of another one and takes another number of arguments.
    fn other_arity(&mut self) {
        let Some(namesake) = self.callee(|_| true) else { return self.table() };
        let (parameters, result) = (self.parameters(3), self.kind());
        if parameters.len() == namesake.parameters.len() {
            return self.table();
        }
        let name = namesake.name;
        for _ in 0..1 + self.dice.below(2) {
            let (head, body) = self.table_rule(&name, &parameters, result);
            self.rule(&head, &body);
        }
        self.functions.push(Function { name, parameters, result, is_finite: true });
    }

    /// A choice at every step.
    fn search(&mut self) {
        let result = self.kind();
        let name = self.function(vec![Kind::Small], result, false);
        let n = self.variable(Kind::Small);
        let base = self.expression(result, 1);
        let again = format!("({name} (- {n} 1))");
        let (one, other) = (self.step(result, &again), self.expression(result, 1));
        let condition = format!("(< {n} 1)");
        if self.dice.one_in(2) {
            self.rule(&format!("({name} {n})"), &format!("(if {condition} {base} (superpose ({one} {other})))"));
        } else {
            self.rule(&format!("({name} {n})"), &format!("(if {condition} {base} {one})"));
            self.rule(&format!("({name} {n})"), &format!("(if {condition} (empty) {other})"));
        }
    }

    /// A function whose answers are facts.
    fn over_facts(&mut self) {
        let (parameters, result) = (self.parameters(2), self.kind());
        let name = self.function(parameters.clone(), result, true);
        let variables: Vec<String> = parameters.iter().map(|kind| self.variable(*kind)).collect();
        let body = self.query(result, 2);
        self.rule(&call(&name, &variables), &body);
    }

    /// Rules without a computation: they hold for values, and find values for variables.
    fn relation(&mut self) {
        let parameters = [self.parameters(2), vec![self.kind()]].concat();
        let result = self.kind();
        let name = self.function(parameters.clone(), result, true);
        for _ in 0..2 + self.dice.below(3) {
            self.scoped(|writer| {
                let patterns: Vec<String> = parameters.iter().map(|kind| writer.pattern(*kind, 1)).collect();
                let body = writer.pattern(result, 1);
                writer.rule(&call(&name, &patterns), &body);
            });
        }
    }

    /// A function that applies its argument.
    fn applying(&mut self) {
        let name = self.function(vec![Kind::Function, Kind::Number], Kind::Number, false);
        let body = match self.dice.below(3) {
            0 => "($g $x)".to_owned(),
            1 => "($g ($g $x))".to_owned(),
            _ => format!("(let $y ($g $x) {})", {
                self.scope.extend([("$y".to_owned(), Kind::Number), ("$x".to_owned(), Kind::Number)]);
                self.expression(Kind::Number, 1)
            }),
        };
        self.rule(&format!("({name} $g $x)"), &body);
    }

    /// A body of minimal instructions.
    fn in_instructions(&mut self) {
        let (parameter, result) = (self.kind(), self.kind());
        let name = self.function(vec![parameter], result, true);
        let x = self.variable(parameter);
        let (kind, code) = self.code();
        let answer = self.variable(kind);
        let pattern = self.pattern(kind, 1);
        let (found, otherwise) = (self.leaf(result), self.leaf(result));
        let body = format!(
            "(function (chain {code} {answer} (unify {answer} {pattern} (return {found}) (return {otherwise}))))"
        );
        self.rule(&format!("({name} {x})"), &body);
    }

    /// The name of a function from a number to a number, or something that stands for one.
    pub(crate) fn function_name(&mut self) -> String {
        let known: Vec<String> = self.functions[..self.level]
            .iter()
            .filter(|function| function.parameters == [Kind::Number] && function.result == Kind::Number)
            .map(|function| function.name.clone())
            .collect();
        match self.dice.below(4) {
            0 if self.has(Feature::Curried) => "(plus 2)".to_owned(),
            1 => "abs-math".to_owned(),
            _ if known.is_empty() => "double".to_owned(),
            _ => known[self.dice.below(known.len())].clone(),
        }
    }

    /// `(: f (-> …))`, mostly right.
    pub(crate) fn type_declaration(&mut self, index: usize) -> String {
        let Function { name, parameters, result, .. } = self.functions[index].clone();
        let mut parts: Vec<String> =
            parameters.iter().chain([&result]).map(|kind| kind.type_name().to_owned()).collect();
        if self.has(Feature::Parametric) && self.dice.one_in(4) {
            let replaced = parts[self.dice.below(parts.len())].clone();
            parts.iter_mut().filter(|part| **part == replaced).for_each(|part| "$t".clone_into(part));
        }
        let narrow = ["Expression", "Symbol", "Variable", "Grounded"];
        for (feature, metatypes) in [(Feature::Metatypes, &["Atom"][..]), (Feature::NarrowMetatypes, &narrow)] {
            if self.has(feature) && self.dice.one_in(6) {
                let (metatype, at) = (self.dice.pick(metatypes), self.dice.below(parts.len()));
                metatype.clone_into(&mut parts[at]);
            }
        }
        if self.has(Feature::IllTyped) && self.dice.one_in(6) {
            let (at, other) = (self.dice.below(parts.len()), self.kind());
            other.type_name().clone_into(&mut parts[at]);
        }
        if self.has(Feature::IllTyped) && self.dice.one_in(12) {
            parts.push("Number".to_owned());
        }
        if self.dice.one_in(8) {
            let at = self.dice.below(parts.len());
            "%Undefined%".clone_into(&mut parts[at]);
        }
        format!("(: {name} (-> {}))", parts.join(" "))
    }
}

pub(crate) fn call(name: &str, arguments: &[String]) -> String {
    let words: Vec<&str> = std::iter::once(name).chain(arguments.iter().map(String::as_str)).collect();
    format!("({})", words.join(" "))
}
