//! Alternatives that see what their siblings did: rules for constructors and special forms that are added on the way, states
//! that are changed between rules, code in facts, long expressions.
//!
//! Engines that try alternatives in another order print something else, so these lines are for evaluators that promise one
//! order. They follow a program, with functions and dice of their own: the same seed without them is the same program.

use crate::Dice;

/// Rules that are added while something is under way. What they say is smaller than what they reduce.
const ADDED: &[&str] = &[
    "(= (Box $x) opened)",
    "(= (Box 2) 3)",
    "(= (Pair $x 1) (one $x))",
    "(= (Pair $x $y) paired)",
    "(= (Cons $x Nil) (single $x))",
    "(= (Cons $x $y) linked)",
    "(= (S $n) more)",
    "(= (part $x) 1)",
    "(= (part 1) 2)",
    "(= (if True $x 1) mine)",
    "(= (if True $x $y) mine)",
    "(= (if False 1 $y) other)",
    "(= (let $x 1 $y) bound)",
    "(= (let $x $y 2) two)",
    "(= (case 1 $x) chosen)",
    "(= (switch 1 $x) switched)",
    "(= (switch $x $y) switched)",
    "(= (id 1) same)",
    "(= (switch-minimal 1 $x) smaller)",
    "(= (switch-internal 2 $x) inner)",
    "(= (collapse 1) (many))",
    "(= (car-atom (1 $x)) first)",
    "(= (unique $x) sole)",
    "(= (loose $x) $x)",
    "(: Box (-> Number Closed))",
    "(: part (-> Number Number))",
];

/// What facts hold, and what answers with variables may come to.
const HELD: &[&str] = &[
    "NotReducible",
    "(function ())",
    "(function (return (part 1)))",
    "(function (return NotReducible))",
    "(function (chain (eval (part 2)) $q (return ($q $q))))",
    "Empty",
    "(Error a b)",
    "(part 1)",
    "1",
    "True",
];

/// What every program of these lines begins with.
const PROLOGUE: &[&str] = &[
    "!(bind! &q1 (new-state 1))",
    "!(bind! &q2 (new-state 2))",
    "(= (part 2) 1)",
    "(= (st $x $y) apart)",
    "(= (st $x $x) alike)",
    "(= (st $x $y) after)",
    "(= (binds $x (S Z)) $x)",
    "(= (first $x $y) $x)",
];

/// Writes the lines of a seed, every fourth time.
pub(crate) fn lines(seed: u64) -> String {
    let mut writer = Siblings { dice: Dice::new(seed ^ 0x51b1_1465), several: 0 };
    if !writer.dice.one_in(4) {
        return String::new();
    }
    let mut lines: Vec<String> = PROLOGUE.iter().map(|line| (*line).to_owned()).collect();
    for _ in 0..1 + writer.dice.below(2) {
        lines.push(format!("(held {})", writer.dice.pick(HELD)));
    }
    for _ in 0..1 + writer.dice.below(2) {
        writer.declare(&mut lines);
    }
    for place in 0..1 + writer.dice.below(2) {
        let depth = if writer.dice.one_in(3) { 3 } else { 2 };
        let body = writer.expression(depth, &["$x"]);
        lines.push(format!("(= (g{place} $x) {body})"));
        let argument = writer.expression(1, &[]);
        lines.push(format!("!(g{place} {argument})"));
    }
    for _ in 0..1 + writer.dice.below(2) {
        let asked = writer.expression(2, &[]);
        lines.push(format!("!(id {asked})"));
        let kept = writer.expression(1, &[]);
        let (change, rest) = (writer.change(), writer.expression(1, &["$k"]));
        lines.push(format!("!(let* (($k {kept}) ($c {change})) (kept $k {rest}))"));
    }
    lines.join("\n") + "\n"
}

struct Siblings {
    dice: Dice,
    /// How many functions with several results there are.
    several: usize,
}

impl Siblings {
    /// A function with several results, one of which changes something; or one that builds a list meanwhile.
    fn declare(&mut self, lines: &mut Vec<String>) {
        let name = format!("sv{}", self.several);
        self.several += 1;
        if self.dice.one_in(3) {
            let (wrapped, end) = (self.expression(1, &["$n"]), self.leaf(&[]));
            let mut rules = vec![
                format!("(= ({name} Z) {end})"),
                format!("(= ({name} (S $n)) (Cons {wrapped} ({name} $n)))"),
                format!("(= ({name} (S $n)) (let $_ {} {}))", self.change(), self.leaf(&["$n"])),
            ];
            self.shuffle(&mut rules);
            lines.extend(rules);
            lines.push(format!("!({name} (S (S Z)))"));
            return;
        }
        let mut rules = vec![format!("(= ({name}) {})", self.leaf(&[]))];
        for _ in 0..1 + self.dice.below(2) {
            rules.push(format!("(= ({name}) (let $_ {} {}))", self.change(), self.leaf(&[])));
        }
        self.shuffle(&mut rules);
        lines.extend(rules);
    }

    fn shuffle(&mut self, rules: &mut [String]) {
        for last in (1..rules.len()).rev() {
            let other = self.dice.below(last + 1);
            rules.swap(last, other);
        }
    }

    fn change(&mut self) -> String {
        match self.dice.below(8) {
            0 => format!("(change-state! &q{} {})", 1 + self.dice.below(2), 1 + self.dice.below(2)),
            1 => format!("(remove-atom &self {})", self.dice.pick(ADDED)),
            2 => format!("(add-atom &self (held {}))", self.dice.pick(HELD)),
            _ => format!("(add-atom &self {})", self.dice.pick(ADDED)),
        }
    }

    fn leaf(&mut self, scope: &[&str]) -> String {
        match self.dice.below(6) {
            0 | 1 if !scope.is_empty() => self.dice.pick(scope).to_owned(),
            0 | 2 => (1 + self.dice.below(2)).to_string(),
            1 => self.dice.pick(&["True", "False", "Z", "Nil"]).to_owned(),
            3 if self.several > 0 => format!("(sv{})", self.dice.below(self.several)),
            4 => format!("(part {})", 1 + self.dice.below(2)),
            _ => self.dice.pick(&["red", "1", "(S Z)"]).to_owned(),
        }
    }

    fn expression(&mut self, depth: usize, scope: &[&str]) -> String {
        if depth == 0 || self.dice.one_in(5) {
            return self.leaf(scope);
        }
        let depth = depth - 1;
        let inner = |writer: &mut Self| writer.expression(depth, scope);
        match self.dice.below(20) {
            0 => format!("(Box {})", inner(self)),
            1 => format!("(Pair {} {})", inner(self), inner(self)),
            2 => format!("(Cons {} {})", inner(self), inner(self)),
            3 => format!("(part {})", inner(self)),
            4 => format!("(if {} {} {})", self.truth(depth, scope), inner(self), inner(self)),
            5 => format!("(case {} ((1 {}) ($w {})))", inner(self), inner(self), self.with("$w", depth, scope)),
            6 => format!("(switch {} ((1 {}) ($w {})))", inner(self), inner(self), self.with("$w", depth, scope)),
            7 => format!("(let $v {} {})", inner(self), self.with("$v", depth, scope)),
            8 => format!("(let (quote $v) (quote {}) {})", inner(self), self.with("$v", depth, scope)),
            9 => format!("(superpose ({} {}))", inner(self), inner(self)),
            10 => format!("(unique {})", inner(self)),
            11 => "(match &self (held $h) $h)".to_owned(),
            12 => format!("(match &self (held $h) {})", self.with("$h", depth, scope)),
            13 => format!("(st &q1 &q{})", 1 + self.dice.below(2)),
            14 => self.long(depth, scope),
            15 => format!("(let* (($v {}) ($w {})) {})", inner(self), inner(self), self.with("$v", depth, scope)),
            16 => format!("(first {} {})", inner(self), inner(self)),
            17 => format!("((part {}) {})", inner(self), inner(self)),
            18 => format!("(collapse {})", inner(self)),
            _ => format!("(loose {})", inner(self)),
        }
    }

    fn with(&mut self, variable: &str, depth: usize, scope: &[&str]) -> String {
        let scope: Vec<&str> = scope.iter().copied().chain([variable]).collect();
        if self.dice.one_in(3) { variable.to_owned() } else { self.expression(depth, &scope) }
    }

    fn truth(&mut self, depth: usize, scope: &[&str]) -> String {
        match self.dice.below(3) {
            0 => format!("(== {} 1)", self.expression(depth, scope)),
            1 => format!("(let $_ {} {})", self.change(), self.dice.pick(&["True", "False"])),
            _ => "(superpose (True False))".to_owned(),
        }
    }

    /// An expression of many parts, one of which binds a variable that is another one.
    fn long(&mut self, depth: usize, scope: &[&str]) -> String {
        let count = 20 + self.dice.below(40);
        let mut parts: Vec<String> = (0..count).map(|_| "0".to_owned()).collect();
        for part in ["(binds 1 $u)".to_owned(), "$u".to_owned(), self.expression(depth, scope)] {
            let place = self.dice.below(parts.len() + 1);
            parts.insert(place, part);
        }
        format!("(long {})", parts.join(" "))
    }
}
