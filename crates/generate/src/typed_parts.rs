//! Data and functions whose types leave something open, with arguments that are evaluated first: by functions without a type, which print,
//! bind, or answer more than once on the way.
//!
//! Which type a variable of a function type stands for is known when an argument has been evaluated. Engines that look at the types
//! afterwards see what later arguments have bound, and those that evaluate a call once more have its effects twice.
//!
//! Half of the programs have effects in arguments. Arguments are of all types, with several answers, each of which may be printed once the call is
//! evaluated.

use crate::Dice;

/// How many calls a program has.
const CALLS: usize = 10;

const PROLOGUE: &str = "\
(: (two things) Pair) (n (two things)) (m 7) (m 8)
(: typed (-> Number Rows)) (: taking (-> Atom Number Rows)) (: open (-> $a $b Rows)) (: kept Atom) (: held (T Atom)) (: sym Sym) (: text String)
(= (part $x) $x)
(= (fed $x) (let $y $x $y))
(= (two) (match &self (n $y) $y))
(= (loud $x) (let $_ (println! (told $x)) $x))
(= (each $x) (superpose ($x 1)))
(= (loudly $x) (part (loud $x))) (= (printed $x) (again (part (println! $x))))
(= (noted $x) (chain (println! (noted $x)) $_ $x))
(= (several) a) (= (several) sym) (= (several) typed) (= (several) 1) (= (several) text)
(= (again $x) $x) (= (again $x) sym) (= (again $x) (part $x))
(= (rarely $x) (if (== $x 1) (empty) $x))
(= (added $x) (let $_ (add-atom &self (m 9)) $x))
(: count (-> $t $t Number)) (= (count $x $y) 2)
(: fst (-> $a $b $a)) (= (fst $x $y) $x)
";

/// What an argument of a declared type may be of.
const FORMALS: [&str; 10] = ["$t", "$t", "$t", "$u", "($t)", "(List $t)", "(T $t)", "Number", "Atom", "%Undefined%"];

/// What arguments come to, once evaluated.
const VALUES: [&str; 26] = [
    "$p",
    "1",
    "\"s\"",
    "a",
    "sym",
    "kept",
    "held",
    "typed",
    "taking",
    "open",
    "Error",
    "+",
    "()",
    "(two things)",
    "(1)",
    "(two)",
    "(match &self (n $y) $y)",
    "(and a $y)",
    "(typed 1)",
    "(typed a)",
    "(+ 1 2)",
    "(== 1 2)",
    "(several)",
    "(superpose (1 typed a))",
    "(let $z (several) $z)",
    "(match &self (m $y) $y)",
];

/// What calls a function with effects that only what a query answers names.
const BEHIND_QUERIES: &str = "\
(effect loud) (effect noted)
(= (run $x) (match &self (effect $f) ($f $x))) (= (either $x) $x) (= (either $x) (run $x)) (= (tried $x) (typed $x)) (= (tried $x) (run $x))
";

/// What they are evaluated by.
const PLAIN: [&str; 6] = ["part", "part", "fed", "each", "again", "rarely"];
const WITH_EFFECTS: [&str; 12] =
    ["loud", "loud", "each", "noted", "added", "part", "part", "again", "fed", "loudly", "loudly", "printed"];

const WITH_EFFECTS_BEHIND_QUERIES: [&str; 8] = ["run", "run", "either", "tried", "part", "part", "again", "fed"];

/// A program of a seed.
#[must_use]
pub fn typed_parts(seed: u64) -> String {
    let mut dice = Dice::new(seed ^ 0x0be2_7171);
    let wrapped = if dice.one_in(2) { &WITH_EFFECTS[..] } else { &PLAIN[..] };
    TypedParts { dice, arities: Vec::new(), wrapped }.program(PROLOGUE.to_owned(), "")
}

/// A program in which arguments have effects of functions that only what a query answers names, so that an engine does not know of them before it
/// evaluates a call. Each form prints its number first: `(form N)`.
#[must_use]
pub fn typed_parts_behind_queries(seed: u64) -> String {
    let dice = Dice::new(seed ^ 0x51e2_09b3);
    let writer = TypedParts { dice, arities: Vec::new(), wrapped: &WITH_EFFECTS_BEHIND_QUERIES };
    writer.program(format!("{PROLOGUE}{BEHIND_QUERIES}"), "!(println! (form {place}))\n")
}

struct TypedParts {
    dice: Dice,
    /// How many arguments each constructor takes.
    arities: Vec<usize>,
    /// What evaluates their arguments.
    wrapped: &'static [&'static str],
}

impl TypedParts {
    /// What stands before each form has the form's number in place of `{place}`.
    fn program(mut self, mut text: String, before_form: &str) -> String {
        for at in 0..3 {
            let arity = 2 + self.dice.below(2);
            let formals: Vec<&str> = (0..arity).map(|_| self.formal()).collect();
            let result = self.dice.pick(&["Rows", "Rows", "(Rows $t)", "$t"]);
            text += &format!("(: Row{at} (-> {} {result}))\n", formals.join(" "));
            self.arities.push(arity);
        }
        for place in 0..CALLS {
            let called = self.call(1);
            text += &before_form.replace("{place}", &place.to_string());
            text += &match self.dice.below(5) {
                4 => format!("(= (with{place} $p) {called})\n!(with{place} {})\n", self.several()),
                3 => format!("!(let $made {called} (println! (made $made)))\n"),
                0 => format!("(= (go{place}) {called})\n!(go{place})\n"),
                _ => format!("!{called}\n"),
            };
        }
        text
    }

    fn formal(&mut self) -> &'static str {
        self.dice.pick(&FORMALS)
    }

    fn call(&mut self, depth: usize) -> String {
        let at = self.dice.below(self.arities.len() + 2);
        let (name, arity) = match self.arities.get(at) {
            Some(&arity) => (format!("Row{at}"), arity),
            None => (self.dice.pick(&["count", "fst"]).to_owned(), 2),
        };
        let arguments: Vec<String> = (0..arity).map(|_| self.argument(depth)).collect();
        format!("({name} {})", arguments.join(" "))
    }

    /// A value with several answers.
    fn several(&mut self) -> &'static str {
        self.dice.pick(&["(several)", "(superpose (1 a))", "(again 1)"])
    }

    fn argument(&mut self, depth: usize) -> String {
        let is_nested = depth > 0 && self.dice.one_in(6);
        let value = if is_nested { self.call(depth - 1) } else { self.dice.pick(&VALUES).to_owned() };
        if self.dice.one_in(6) { value } else { format!("({} {value})", self.dice.pick(self.wrapped)) }
    }
}
