//! Expressions whose value is of a kind, and which have no effects except printing.

use crate::features::Feature;
use crate::functions::{Function, call};
use crate::kinds::Kind;
use crate::writer::Writer;

type Form = fn(&mut Writer, Kind, usize) -> String;

/// Forms whose value is of any kind.
const GENERAL: &[(Feature, Form)] = &[
    (Feature::Core, Writer::call),
    (Feature::Core, Writer::call),
    (Feature::Core, Writer::call),
    (Feature::Core, Writer::if_form),
    (Feature::Core, Writer::let_form),
    (Feature::Core, Writer::let_star),
    (Feature::Core, Writer::case_form),
    (Feature::Switch, Writer::case_empty),
    (Feature::Switch, Writer::switch_form),
    (Feature::Alternatives, Writer::alternatives),
    (Feature::Match, Writer::query),
    (Feature::Relational, Writer::relational),
    (Feature::Relational, Writer::solved),
    (Feature::Minimal, Writer::instructions),
    (Feature::Quoting, Writer::quoting),
    (Feature::Errors, Writer::errors),
    (Feature::Sealed, Writer::sealed),
    (Feature::Print, Writer::print),
    (Feature::Order, Writer::ordered),
    (Feature::Collapse, Writer::counted),
    (Feature::States, Writer::local_state),
    (Feature::Spaces, Writer::local_space),
    (Feature::VariableHeads, Writer::variable_head),
    (Feature::Nested, Writer::nested),
    (Feature::Texts, Writer::by_text),
];

const NUMBERS: &[(Feature, Form)] = &[
    (Feature::Core, Writer::arithmetic),
    (Feature::Core, Writer::arithmetic),
    (Feature::Tuples, Writer::number_of_tuple),
    (Feature::Tuples, Writer::fold),
    (Feature::Collapse, Writer::size_of_collapse),
    (Feature::HigherOrder, Writer::apply),
    (Feature::Curried, Writer::curried),
    (Feature::Dependent, Writer::vector),
    (Feature::Functional, Writer::functional_number),
    (Feature::Functional, Writer::functional_number),
];

const TUPLES: &[(Feature, Form)] = &[
    (Feature::Core, Writer::pair),
    (Feature::Tuples, Writer::map),
    (Feature::Tuples, Writer::filter),
    (Feature::Tuples, Writer::parts_of_tuple),
    (Feature::Order, Writer::collapsed),
    (Feature::Texts, Writer::sorted),
];

impl Writer {
    /// One of the forms whose feature is there.
    pub(crate) fn choose<T: Copy>(&mut self, forms: &[(Feature, T)]) -> T {
        let enabled: Vec<T> = forms.iter().filter(|(feature, _)| self.has(*feature)).map(|(_, form)| *form).collect();
        self.dice.pick(&enabled)
    }

    /// An expression that is nested at most this deep.
    pub(crate) fn expression(&mut self, kind: Kind, depth: usize) -> String {
        if depth == 0 || self.dice.one_in(5) {
            return self.leaf(kind);
        }
        let is_other = self.has(Feature::IllTyped) && self.dice.one_in(24);
        let kind = if is_other { self.kind() } else { kind };
        if self.dice.one_in(2) {
            let form = self.choose(GENERAL);
            return form(self, kind, depth - 1);
        }
        self.special(kind, depth - 1)
    }

    /// A form whose value is of this kind only.
    fn special(&mut self, kind: Kind, depth: usize) -> String {
        match kind {
            Kind::Number => self.choose(NUMBERS)(self, kind, depth),
            Kind::Tuple => self.choose(TUPLES)(self, kind, depth),
            Kind::Small => format!("(- {} 1)", self.leaf(Kind::Small)),
            Kind::Truth => self.condition(depth),
            Kind::Nat => format!("(S {})", self.expression(kind, depth)),
            Kind::List if self.has(Feature::Functional) && self.dice.one_in(2) => self.functional_list(depth),
            Kind::List => format!("(Cons {} {})", self.expression(Kind::Number, depth), self.expression(kind, depth)),
            Kind::Data if self.dice.one_in(2) => format!("(Box {})", self.expression(Kind::Number, depth)),
            Kind::Data => {
                format!("(Pair {} {})", self.expression(Kind::Color, depth), self.expression(Kind::Number, depth))
            }
            Kind::Text => self.made_text(depth),
            Kind::Color | Kind::Function => self.call(kind, depth),
        }
    }

    /// A call of a function with such a result, or a value where there is none.
    pub(crate) fn call(&mut self, kind: Kind, depth: usize) -> String {
        match self.callee(|function| function.result == kind) {
            Some(function) => {
                let arguments = self.arguments(&function, depth);
                call(&function.name, &arguments)
            }
            None => self.leaf(kind),
        }
    }

    pub(crate) fn callee(&mut self, fits: impl Fn(&Function) -> bool) -> Option<Function> {
        let fitting: Vec<&Function> = self.functions[..self.level].iter().filter(|function| fits(function)).collect();
        let index = if fitting.is_empty() { return None } else { self.dice.below(fitting.len()) };
        fitting.get(index).map(|function| (*function).clone())
    }

    pub(crate) fn arguments(&mut self, function: &Function, depth: usize) -> Vec<String> {
        let kinds = function.parameters.iter();
        let mut arguments: Vec<String> = kinds.map(|kind| self.expression(*kind, depth)).collect();
        if self.has(Feature::IllTyped) && self.dice.one_in(24) {
            match arguments.pop() {
                Some(argument) if self.dice.one_in(2) => arguments.extend([argument, "extra".to_owned()]),
                Some(_) => {}
                None => arguments.push("extra".to_owned()),
            }
        }
        arguments
    }

    fn if_form(&mut self, kind: Kind, depth: usize) -> String {
        let condition = self.expression(Kind::Truth, depth);
        format!("(if {condition} {} {})", self.expression(kind, depth), self.expression(kind, depth))
    }

    fn condition(&mut self, depth: usize) -> String {
        let kind = self.kind();
        match self.dice.below(6) {
            0..3 => {
                let operation = self.dice.pick(&["<", ">", "<=", ">=", "=="]);
                let left = self.expression(Kind::Number, depth);
                format!("({operation} {left} {})", self.expression(Kind::Number, depth))
            }
            3 => {
                let operation = self.dice.pick(&["and", "or", "xor"]);
                let left = self.expression(Kind::Truth, depth);
                format!("({operation} {left} {})", self.expression(Kind::Truth, depth))
            }
            4 => format!("(not {})", self.expression(Kind::Truth, depth)),
            _ => format!("(== {} {})", self.expression(kind, depth), self.expression(kind, depth)),
        }
    }

    fn let_form(&mut self, kind: Kind, depth: usize) -> String {
        let bound = self.kind();
        let value = self.expression(bound, depth);
        self.scoped(|writer| {
            let pattern = writer.pattern(bound, 1);
            format!("(let {pattern} {value} {})", writer.expression(kind, depth))
        })
    }

    fn let_star(&mut self, kind: Kind, depth: usize) -> String {
        self.scoped(|writer| {
            let pairs: Vec<String> = (0..1 + writer.dice.below(3))
                .map(|_| {
                    let bound = writer.kind();
                    let value = writer.expression(bound, depth);
                    format!("({} {value})", writer.pattern(bound, 1))
                })
                .collect();
            format!("(let* ({}) {})", pairs.join(" "), writer.expression(kind, depth))
        })
    }

    fn branches(&mut self, subject: Kind, kind: Kind, depth: usize) -> Vec<String> {
        let branch = |writer: &mut Self| {
            let pattern = writer.pattern(subject, 2);
            format!("({pattern} {})", writer.expression(kind, depth))
        };
        (0..1 + self.dice.below(3)).map(|_| self.scoped(branch)).collect()
    }

    fn case_form(&mut self, kind: Kind, depth: usize) -> String {
        let of = self.kind();
        let subject = self.expression(of, depth);
        format!("(case {subject} ({}))", self.branches(of, kind, depth).join(" "))
    }

    fn case_empty(&mut self, kind: Kind, depth: usize) -> String {
        let of = self.kind();
        let subject = if self.dice.one_in(3) { "(empty)".to_owned() } else { self.expression(of, depth) };
        let branches = self.branches(of, kind, depth).join(" ");
        format!("(case {subject} ({branches} (Empty {})))", self.expression(kind, depth))
    }

    fn switch_form(&mut self, kind: Kind, depth: usize) -> String {
        let of = self.kind();
        let subject = self.expression(of, depth);
        format!("(switch {subject} ({}))", self.branches(of, kind, depth).join(" "))
    }

    fn alternatives(&mut self, kind: Kind, depth: usize) -> String {
        let (one, other) = (self.expression(kind, depth), self.expression(kind, depth));
        match self.dice.below(9) {
            0..3 => format!("(superpose ({one} {other}))"),
            7 => format!("(subtraction {one} {other})"),
            8 => format!("(intersection {one} {one})"),
            3 => format!("(superpose ({one} {other} {}))", self.leaf(kind)),
            4 => "(empty)".to_owned(),
            5 => format!("(union {one} {other})"),
            _ => format!("(unique {one})"),
        }
    }

    /// A query of the facts.
    pub(crate) fn query(&mut self, kind: Kind, depth: usize) -> String {
        self.scoped(|writer| {
            let factors: Vec<String> = (0..1 + writer.dice.below(2)).map(|_| writer.factor()).collect();
            let pattern = if factors.len() == 1 { factors[0].clone() } else { format!("(, {})", factors.join(" ")) };
            format!("(match &self {pattern} {})", writer.expression(kind, depth))
        })
    }

    fn factor(&mut self) -> String {
        match self.dice.below(3) {
            0 => format!("(edge {} {})", self.pattern(Kind::Color, 0), self.pattern(Kind::Color, 0)),
            1 => format!("(age {} {})", self.pattern(Kind::Color, 0), self.pattern(Kind::Number, 0)),
            _ => format!("(item {})", self.pattern(Kind::Data, 1)),
        }
    }

    /// A call with unbound variables, and what is made of what they were found to be.
    fn relational(&mut self, kind: Kind, depth: usize) -> String {
        let Some(function) = self.callee(|function| function.is_finite && !function.parameters.is_empty()) else {
            return self.call(kind, depth);
        };
        self.scoped(|writer| {
            let arguments: Vec<String> = function
                .parameters
                .iter()
                .map(|kind| if writer.dice.one_in(3) { writer.leaf(*kind) } else { writer.variable(*kind) })
                .collect();
            let answer = writer.pattern(function.result, 1);
            format!("(let {answer} {} {})", call(&function.name, &arguments), writer.expression(kind, depth))
        })
    }

    /// An equation solved for its parts, with fuel.
    fn solved(&mut self, kind: Kind, depth: usize) -> String {
        let of = self.dice.pick(&[Kind::Nat, Kind::List]);
        let name = if of == Kind::Nat { "add" } else { "append" };
        let value = self.value(of);
        self.scoped(|writer| {
            let (left, right) = (writer.variable(of), writer.variable(of));
            let fuel = "(F (F (F (F E))))";
            format!("(let {value} ({name} {fuel} {left} {right}) {})", writer.expression(kind, depth))
        })
    }

    /// A minimal instruction that has a value, and what that is.
    pub(crate) fn code(&mut self) -> (Kind, String) {
        let kind = self.kind();
        // To evaluate an unbound variable is to ask for every rule there is, the library's included.
        let called = match self.call(kind, 1) {
            variable if variable.starts_with('$') => self.value(kind),
            called => called,
        };
        let code = match self.dice.below(5) {
            0 => format!("(metta {called} %Undefined% &self)"),
            1 => format!("(evalc {called} &self)"),
            2 => format!("(chain (collapse-bind (eval {called})) $pairs (superpose-bind $pairs))"),
            _ => format!("(eval {called})"),
        };
        (kind, code)
    }

    fn instructions(&mut self, kind: Kind, depth: usize) -> String {
        let (of, code) = self.code();
        self.scoped(|writer| match writer.dice.below(5) {
            0 => format!("(chain {code} {} {})", writer.variable(of), writer.expression(kind, depth)),
            1 => {
                let (answer, pattern) = (writer.variable(of), writer.pattern(of, 1));
                let (found, otherwise) = (writer.leaf(kind), writer.leaf(kind));
                format!(
                    "(function (chain {code} {answer} (unify {answer} {pattern} (return {found}) (return {otherwise}))))"
                )
            }
            2 => match writer.call(kind, depth) {
                variable if variable.starts_with('$') => format!("(id {variable})"),
                called => format!("(eval {called})"),
            },
            3 => format!("(id {})", writer.expression(kind, depth)),
            _ => {
                let (subject, otherwise) = (writer.leaf(of), writer.expression(kind, depth));
                let pattern = writer.pattern(of, 2);
                format!("(unify {subject} {pattern} {} {otherwise})", writer.expression(kind, depth))
            }
        })
    }

    fn quoting(&mut self, kind: Kind, depth: usize) -> String {
        let inner = self.expression(kind, depth);
        match self.dice.below(6) {
            0 => format!("(unquote (quote {inner}))"),
            1 => format!("(noeval {inner})"),
            2 => format!("(quote {inner})"),
            3 => format!("(get-type {inner})"),
            4 => format!("(get-metatype {inner})"),
            _ => format!("(let $q (quote {inner}) (unquote $q))"),
        }
    }

    fn errors(&mut self, kind: Kind, depth: usize) -> String {
        let (inner, other) = (self.expression(kind, depth), self.expression(kind, depth));
        match self.dice.below(6) {
            0 => format!("(Error {inner} oops)"),
            1 => format!("(if-error {inner} {other} {})", self.leaf(kind)),
            2 => format!("(return-on-error {inner} {other})"),
            3 => format!("(case {inner} (((Error $of $why) {other}) ($ok $ok)))"),
            4 => format!("(let $ok {inner} $ok)"),
            _ => "(car-atom ())".to_owned(),
        }
    }

    fn sealed(&mut self, kind: Kind, depth: usize) -> String {
        let (inner, other) = (self.expression(kind, depth), self.expression(kind, depth));
        let kept: Vec<String> = self.scope.iter().map(|(variable, _)| variable.clone()).collect();
        match self.dice.below(4) {
            0 => format!("(sealed ({}) {inner})", kept.join(" ")),
            1 => format!("(if-equal {inner} {other} {} {})", self.leaf(kind), self.leaf(kind)),
            2 => self.scoped(|writer| {
                // Not a variable of the value itself: there Hyperon leaves it as it is.
                let variable = writer.fresh("$put");
                writer.scope.push((variable.clone(), kind));
                format!("(atom-subst {inner} {variable} {})", writer.expression(kind, depth))
            }),
            _ => format!("(if (=alpha {inner} {other}) {} {})", self.leaf(kind), self.leaf(kind)),
        }
    }

    fn print(&mut self, kind: Kind, depth: usize) -> String {
        let of = self.kind();
        let (ignored, shown) = (self.fresh("$_"), self.leaf(of));
        format!("(let {ignored} (println! (shown {shown})) {})", self.expression(kind, depth))
    }

    /// The first of the alternatives.
    fn ordered(&mut self, kind: Kind, depth: usize) -> String {
        let all = self.expression(kind, depth);
        let found = self.fresh("$all");
        match self.dice.below(3) {
            0 => format!("(let {found} (collapse {all}) (car-atom {found}))"),
            1 => format!("(let {found} (collapse {all}) (superpose {found}))"),
            _ => format!("(case (collapse {all}) ((() {}) (({found}) {found})))", self.leaf(kind)),
        }
    }

    /// Something that depends on how many alternatives there are.
    fn counted(&mut self, kind: Kind, depth: usize) -> String {
        let of = self.kind();
        let all = self.expression(of, depth);
        let found = self.fresh("$all");
        format!(
            "(let {found} (collapse {all}) (if (== (size-atom {found}) 1) {} {}))",
            self.leaf(kind),
            self.leaf(kind)
        )
    }

    /// A state that one alternative has for itself.
    fn local_state(&mut self, kind: Kind, depth: usize) -> String {
        let (state, ignored) = (self.fresh("$state"), self.fresh("$_"));
        let held = if self.has(Feature::UntypedStates) { kind } else { Kind::Number };
        let is_plain = !self.has(Feature::UntypedStates);
        let first = if is_plain { self.value(held) } else { self.expression(held, depth) };
        let then = self.value(held);
        format!("(let {state} (new-state {first}) (let {ignored} (change-state! {state} {then}) (get-state {state})))")
    }

    /// A space that one alternative has for itself.
    fn local_space(&mut self, kind: Kind, depth: usize) -> String {
        let (space, ignored) = (self.fresh("$space"), self.fresh("$_"));
        let (added, body) = (self.leaf(Kind::Data), self.kind());
        self.scoped(|writer| {
            let pattern = writer.pattern(Kind::Data, 1);
            let found = writer.expression(kind, depth);
            let fact = writer.value(body);
            format!(
                "(let* (({space} (new-space)) ({ignored} (add-atom {space} (held {added}))) \
                 ({ignored} (add-atom {space} (held {fact})))) (match {space} (held {pattern}) {found}))"
            )
        })
    }

    /// A call that only a rule with a variable for a head can answer.
    fn variable_head(&mut self, kind: Kind, depth: usize) -> String {
        let word = self.dice.pick(&["any", "what", "red"]);
        format!("({word} (Key {}))", self.expression(kind, depth))
    }

    fn arithmetic(&mut self, _: Kind, depth: usize) -> String {
        let left = self.expression(Kind::Number, depth);
        match self.dice.below(8) {
            0..3 => format!("(+ {left} {})", self.expression(Kind::Number, depth)),
            3 | 4 => format!("(- {left} {})", self.expression(Kind::Number, depth)),
            5 if self.has(Feature::WideIntegers) => format!("(* {left} {})", self.expression(Kind::Number, depth)),
            5 => format!("(* {left} {})", self.dice.below(7)),
            6 if self.has(Feature::ModuloByZero) => format!("(% {left} {})", self.leaf(Kind::Number)),
            6 => format!("(% {left} {})", 1 + self.dice.below(6)),
            _ => format!("(/ {left} {})", self.leaf(Kind::Number)),
        }
    }

    fn number_of_tuple(&mut self, _: Kind, depth: usize) -> String {
        let tuple = self.expression(Kind::Tuple, depth);
        match self.dice.below(5) {
            0 => format!("(size-atom {tuple})"),
            1 => format!("(index-atom {tuple} {})", self.leaf(Kind::Small)),
            2 if self.has(Feature::WholeFloats) => format!("(max-atom {tuple})"),
            _ => format!("(car-atom {tuple})"),
        }
    }

    fn fold(&mut self, _: Kind, depth: usize) -> String {
        let tuple = self.leaf(Kind::Tuple);
        let begin = self.leaf(Kind::Number);
        let step = self.scoped(|writer| {
            writer.scope.extend([("$sum".to_owned(), Kind::Number), ("$item".to_owned(), Kind::Number)]);
            writer.expression(Kind::Number, depth.min(1))
        });
        format!("(foldl-atom {tuple} {begin} $sum $item {step})")
    }

    fn size_of_collapse(&mut self, _: Kind, depth: usize) -> String {
        let of = self.kind();
        let all = self.fresh("$all");
        format!("(let {all} (collapse {}) (size-atom {all}))", self.expression(of, depth))
    }

    fn apply(&mut self, _: Kind, depth: usize) -> String {
        let function = self.leaf(Kind::Function);
        match self.dice.below(3) {
            0 => format!("({function} {})", self.expression(Kind::Number, depth)),
            1 => format!("(let $h {function} ($h {}))", self.expression(Kind::Number, depth)),
            _ => format!("(twice {function} {})", self.expression(Kind::Number, depth)),
        }
    }

    fn curried(&mut self, _: Kind, depth: usize) -> String {
        let first = self.expression(Kind::Number, depth);
        format!("((plus {first}) {})", self.expression(Kind::Number, depth))
    }

    fn vector(&mut self, _: Kind, depth: usize) -> String {
        let items: Vec<String> = (0..self.dice.below(3)).map(|_| self.expression(Kind::Number, depth)).collect();
        let vector = items.iter().fold("VNil".to_owned(), |rest, item| format!("(VCons {item} {rest})"));
        format!("(vhead {vector})")
    }

    fn pair(&mut self, _: Kind, depth: usize) -> String {
        let (left, right) = (self.kind(), self.kind());
        format!("({} {})", self.expression(left, depth), self.expression(right, depth))
    }

    fn map(&mut self, _: Kind, depth: usize) -> String {
        let tuple = self.leaf(Kind::Tuple);
        let step = self.scoped(|writer| {
            writer.scope.push(("$item".to_owned(), Kind::Number));
            writer.expression(Kind::Number, depth.min(1))
        });
        let step = if self.dice.one_in(2) { format!("(eval {step})") } else { step };
        format!("(map-atom {tuple} $item {step})")
    }

    fn filter(&mut self, _: Kind, _: usize) -> String {
        let (tuple, bound) = (self.leaf(Kind::Tuple), self.leaf(Kind::Number));
        match self.dice.below(6) {
            0 => format!("(filter-atom {tuple} $item (> $item {bound}))"),
            _ => format!("(filter-atom {tuple} $item (eval (> $item {bound})))"),
        }
    }

    fn parts_of_tuple(&mut self, _: Kind, depth: usize) -> String {
        let tuple = self.expression(Kind::Tuple, depth);
        match self.dice.below(6) {
            0 => format!("(cdr-atom {tuple})"),
            1 => format!("(cons-atom {} {tuple})", self.leaf(Kind::Number)),
            2 => format!("(decons-atom {tuple})"),
            3 => format!("(union-atom {tuple} {})", self.leaf(Kind::Tuple)),
            4 => format!("(unique-atom {tuple})"),
            _ => format!("(if-decons-expr {tuple} $head $tail ($tail $head) ())"),
        }
    }

    fn collapsed(&mut self, _: Kind, depth: usize) -> String {
        let of = self.kind();
        format!("(collapse {})", self.expression(of, depth))
    }
}
