//! `case` and `switch` over variables: a branch, all branches, a pattern or a body is a variable, or holds one of the call, of the subject or of another
//! branch. What a branch binds is looked at beside its result.
//!
//! Code for a `case` tries patterns one by one and takes back what the one before has bound; where branches are not written out, it does not know
//! whether one of them matches `Empty`.

use crate::Dice;

/// How many functions a program has.
const FUNCTIONS: usize = 3;

const PROLOGUE: &str = "\
(= (two) 1) (= (two) 2)
(= (none) (empty))
(= (open $e) $a)
(= (same $x) $x)
(= (pair $x) (P $x $y))
(= (listed) ((1 one) ($v (other $v))))
(= (either $e) (($e found) (Empty none)))
(: raw (-> Atom Atom))
(= (raw $x) $x)
(: typed (-> Number Number))
(= (typed $n) (+ $n 1))
(rel a $w) (rel b 1) (rel $w 2)
";

/// A program of a seed.
#[must_use]
pub fn branches(seed: u64) -> String {
    let mut writer = Branches { dice: Dice::new(seed ^ 0xca5e_ca5e), scope: Vec::new() };
    let mut text = PROLOGUE.to_owned();
    for place in 0..FUNCTIONS {
        writer.scope = vec!["$a", "$b"];
        let body = writer.observed();
        text += &format!("(= (f{place} $a $b) {body})\n");
        for _ in 0..2 {
            let arguments = [writer.argument(), writer.argument()].join(" ");
            text += &match writer.dice.below(4) {
                0 => format!("!(let $r (f{place} {arguments}) (R $r $p $q))\n"),
                _ => format!("!(f{place} {arguments})\n"),
            };
        }
        writer.scope = vec!["$p"];
        let asked = writer.observed();
        text += &format!("!{asked}\n");
    }
    text
}

struct Branches {
    dice: Dice,
    /// The variables that stand around.
    scope: Vec<&'static str>,
}

impl Branches {
    /// What a function is called with.
    fn argument(&mut self) -> String {
        let plain = ["1", "2", "a", "$p", "$q", "(P $p 1)", "(P 1 2)", "Empty", "(two)", "()"];
        match self.dice.below(4) {
            0 => {
                self.scope = vec!["$p", "$q"];
                self.list(0)
            }
            1 => self.dice.pick(&["(1 $p)", "($p $p)", "(Empty $q)", "($p (other $p))", "(listed)"]).to_owned(),
            _ => self.dice.pick(&plain).to_owned(),
        }
    }

    /// A `case`, and what it has bound.
    fn observed(&mut self) -> String {
        let chosen = self.choice(2);
        let (one, other) = (self.variable(), self.variable());
        match self.dice.below(11) {
            0 | 1 => chosen,
            2 => format!("(let $r {chosen} (R $r {one} {other}))"),
            3 => format!("(let* (($r {chosen}) ($s (R $r {one}))) (S $s {other}))"),
            4 => format!("(R {one} {other} {chosen})"),
            5 => format!("(collapse {chosen})"),
            6 => format!("(chain {chosen} $r (R $r {one} {other}))"),
            8 => format!("(R {chosen} {one} {other})"),
            9 => format!("(chain {chosen} $r ($r {one}))"),
            7 => format!("(function (chain {chosen} $r (return (R $r {one}))))"),
            _ => format!("(let $r {chosen} (R $r {}))", self.choice(1)),
        }
    }

    fn variable(&mut self) -> &'static str {
        if self.dice.one_in(3) { self.dice.pick(&["$u", "$v", "$w"]) } else { self.dice.pick(&self.scope) }
    }

    fn choice(&mut self, depth: usize) -> String {
        let word = self.dice.pick(&["case", "case", "case", "switch"]);
        let (subject, list) = (self.subject(depth), self.list(depth));
        format!("({word} {subject} {list})")
    }

    fn subject(&mut self, depth: usize) -> String {
        let one = self.variable();
        match self.dice.below(20) {
            0..3 => one.to_owned(),
            3 => self.dice.pick(&["1", "a", "Empty", "(Error a b)"]).to_owned(),
            4 => format!("(P {one} 1)"),
            5 => format!("(P {one} {})", self.variable()),
            6 => "(two)".to_owned(),
            7 => "(none)".to_owned(),
            8 => format!("(open {one})"),
            9 => format!("(pair {one})"),
            10 => format!("(match &self (rel a {one}) {one})"),
            11 => format!("(match &self (rel {one} 2) (P {one} {}))", self.variable()),
            12 => format!("(superpose (1 {one} 2))"),
            13 => format!("(let $u 1 (P $u {one}))"),
            14 => format!("(quote {one})"),
            15 => format!("(typed {one})"),
            16 => format!("(same {one})"),
            17 => format!("(raw (same {one}))"),
            18 if depth > 0 => self.choice(depth - 1),
            _ => format!("(unify {one} 1 (P {one} yes) no)"),
        }
    }

    /// The branches, or what stands for them.
    fn list(&mut self, depth: usize) -> String {
        match self.dice.below(14) {
            0 | 1 => self.variable().to_owned(),
            2 => "(listed)".to_owned(),
            3 => format!("(either {})", self.variable()),
            _ => {
                let count = 1 + self.dice.below(3);
                let written: Vec<String> = (0..count).map(|_| self.branch(depth)).collect();
                format!("({})", written.join(" "))
            }
        }
    }

    fn branch(&mut self, depth: usize) -> String {
        match self.dice.below(16) {
            0 => self.variable().to_owned(),
            1 => self.dice.pick(&["(1)", "()", "1", "(1 2 3)", "(either 1)"]).to_owned(),
            _ => format!("({} {})", self.pattern(), self.body(depth)),
        }
    }

    fn pattern(&mut self) -> String {
        let one = self.variable();
        match self.dice.below(14) {
            0..4 => one.to_owned(),
            4 => "1".to_owned(),
            5 => "Empty".to_owned(),
            6 => format!("(P {one} {one})"),
            7 => format!("(P {one} {})", self.variable()),
            8 => format!("({one} {})", self.variable()),
            9 => format!("({one} 1 {})", self.variable()),
            10 => format!("(Error {one} {})", self.variable()),
            11 => format!("(P 1 (S {one}))"),
            12 => format!("(quote {one})"),
            _ => self.dice.pick(&["2", "a", "(P 1 2)", "$v", "$w"]).to_owned(),
        }
    }

    fn body(&mut self, depth: usize) -> String {
        let one = self.variable();
        match self.dice.below(16) {
            0..4 => one.to_owned(),
            4 => format!("(R {one} {})", self.variable()),
            5 => format!("(pair {one})"),
            6 => format!("(same {one})"),
            7 => format!("(eval {one})"),
            8 => "(empty)".to_owned(),
            9 => "Empty".to_owned(),
            10 => format!("(let {} 3 (Q {one}))", self.variable()),
            11 => format!("(superpose ({one} {}))", self.variable()),
            12 => format!("(open {one})"),
            13 => format!("(match &self (rel {one} $w) (Q {one} $w))"),
            14 if depth > 0 => self.choice(depth - 1),
            _ => self.dice.pick(&["one", "(+ 1 2)", "NotReducible", "(f9 1)"]).to_owned(),
        }
    }
}
