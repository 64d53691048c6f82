//! Higher-order code: functions that are passed on and returned, partial application as data, loops over lists whose step
//! is a variable.

use crate::features::Feature;
use crate::kinds::Kind;
use crate::writer::Writer;

const LIBRARY: &[&str] = &[
    "(= (map $f Nil) Nil)",
    "(= (map $f (Cons $x $xs)) (Cons ($f $x) (map $f $xs)))",
    "(= (keep $p Nil) Nil)",
    "(= (keep $p (Cons $x $xs)) (if ($p $x) (Cons $x (keep $p $xs)) (keep $p $xs)))",
    "(= (fold $f $b Nil) $b)",
    "(= (fold $f $b (Cons $x $xs)) ($f $x (fold $f $b $xs)))",
    "(= (from-left $f $b Nil) $b)",
    "(= (from-left $f $b (Cons $x $xs)) (from-left $f ($f $b $x) $xs))",
    "(= (call (partial $f $a) $b) ($f $a $b))",
    "(= ((after $f $g) $x) ($f ($g $x)))",
    "(= (chosen True) +)",
    "(= (chosen False) -)",
    "(= (positive $n) (> $n 0))",
];

const TYPES: &[&str] = &[
    "(: map (-> (-> Number Number) (List Number) (List Number)))",
    "(: keep (-> (-> Number Bool) (List Number) (List Number)))",
    "(: fold (-> (-> Number Number Number) Number (List Number) Number))",
    "(: from-left (-> (-> Number Number Number) Number (List Number) Number))",
    "(: call (-> %Undefined% Number Number))",
    "(: chosen (-> Bool (-> Number Number Number)))",
    "(: positive (-> Number Bool))",
];

const PARAMETRIC: &[&str] = &[
    "(: map (-> (-> $a $b) (List $a) (List $b)))",
    "(: keep (-> (-> $a Bool) (List $a) (List $a)))",
    "(: fold (-> (-> $a $b $b) $b (List $a) $b))",
];

impl Writer {
    /// The functions that this part of the language needs, perhaps with types.
    pub(crate) fn declare_functionals(&mut self) {
        if !self.has(Feature::Functional) {
            return;
        }
        LIBRARY.iter().for_each(|line| self.line(*line));
        if self.has(Feature::Types) {
            let types = if self.has(Feature::Parametric) && self.dice.one_in(2) { PARAMETRIC } else { TYPES };
            for line in types {
                if self.dice.one_in(2) {
                    self.line(*line);
                }
            }
        }
    }

    /// The name of a function of two numbers.
    fn binary(&mut self) -> String {
        self.named_like(&[Kind::Number, Kind::Number], Kind::Number, &["+", "-"])
    }

    fn predicate(&mut self) -> String {
        self.named_like(&[Kind::Number], Kind::Truth, &["positive"])
    }

    fn named_like(&mut self, parameters: &[Kind], result: Kind, usual: &[&str]) -> String {
        let found = match self.dice.below(2) {
            0 => self.callee(|function| function.parameters == parameters && function.result == result),
            _ => None,
        };
        found.map_or_else(|| self.dice.pick(usual).to_owned(), |function| function.name)
    }

    /// A number that a function makes which is data, a result, or bound to a variable.
    pub(crate) fn functional_number(&mut self, _: Kind, depth: usize) -> String {
        let (one, other) = (self.expression(Kind::Number, depth), self.leaf(Kind::Number));
        match self.dice.below(7) {
            0 => format!("(fold {} {other} {})", self.binary(), self.expression(Kind::List, depth)),
            1 => format!("(from-left {} {other} {})", self.binary(), self.expression(Kind::List, depth)),
            2 => format!("(call (partial {} {one}) {other})", self.binary()),
            3 => format!("((after {} {}) {one})", self.leaf(Kind::Function), self.leaf(Kind::Function)),
            4 => format!("((chosen {}) {one} {other})", self.expression(Kind::Truth, depth)),
            5 => {
                let operation = self.fresh("$op");
                format!("(let {operation} (chosen {}) ({operation} {one} {other}))", self.leaf(Kind::Truth))
            }
            _ => format!("({} {one})", self.expression(Kind::Function, depth)),
        }
    }

    /// A list that a loop over a list makes.
    pub(crate) fn functional_list(&mut self, depth: usize) -> String {
        let list = self.expression(Kind::List, depth);
        match self.dice.below(3) {
            0 => format!("(keep {} {list})", self.predicate()),
            1 => format!("(map {} {list})", self.expression(Kind::Function, depth)),
            _ => format!("(map {} {list})", self.leaf(Kind::Function)),
        }
    }

    /// A loop over a list whose step is its argument.
    pub(crate) fn over_list(&mut self) {
        let result = self.dice.pick(&[Kind::Number, Kind::List]);
        let name = self.function(vec![Kind::Function, Kind::List], result, false);
        let base = self.leaf(result);
        let (applied, again) = ("($g $h)", format!("({name} $g $t)"));
        let step = match (result, self.dice.below(3)) {
            (Kind::Number, 0) => format!("(+ {applied} {again})"),
            (Kind::Number, 1) => format!("($g {again})"),
            (Kind::Number, _) => format!("(let $y {again} ($g $y))"),
            (_, 0) => format!("(let $y {applied} (Cons $y {again}))"),
            (_, 1) => format!("(Cons ($g {applied}) {again})"),
            _ => format!("(Cons {applied} {again})"),
        };
        self.rule(&format!("({name} $g Nil)"), &base);
        self.rule(&format!("({name} $g (Cons $h $t))"), &step);
    }

    /// A function whose value is a function.
    pub(crate) fn returning(&mut self) {
        let parameter = self.kind();
        let name = self.function(vec![parameter], Kind::Function, true);
        for _ in 0..1 + self.dice.below(2) {
            let (head, body) = self.table_rule(&name, &[parameter], Kind::Function);
            self.rule(&head, &body);
        }
    }
}
