//! Facts and what is asked of them: conjunctions, tests of answers, absence, several spaces, with changes between.
//!
//! The values are numbers of several kinds, symbols, texts, compounds and calls, so that some tests are certain, some are errors and some
//! mean something else. Now and then a fact holds a variable. These lines follow a program, with dice of their own: the same seed
//! without them is the same program.

use crate::Dice;

const PROLOGUE: &[&str] = &[
    "!(bind! &asked1 (new-space))",
    "!(bind! &asked2 (new-space))",
    "(= (marked $x) (mark $x))",
    "(= (twice $x) (superpose ($x $x)))",
    "(= (noted $x) (let $w1 (add-atom &asked1 (row $x 3)) $x))",
];

const VALUES: &[&str] = &[
    "1",
    "2",
    "3",
    "5",
    "1",
    "2",
    "3",
    "a",
    "b",
    "c",
    "a",
    "2.0",
    "2.5",
    "\"t\"",
    "True",
    "Empty",
    "(f 1)",
    "()",
    "(f ())",
    "(twice a)",
    "99999999999999999999",
];

const SPACES: &[&str] = &["&asked1", "&asked1", "&asked2", "&self"];

/// Patterns, with `_` in the place of each variable or value.
const PATTERNS: &[&str] =
    &["(row _ _)", "(row _ _)", "(edge _ _)", "(edge _ _)", "(edge _ (pair _ _))", "(only _)", "(wide _ _ _)"];

const TESTS: &[&str] = &[
    "(> _ 2)",
    "(< _ _)",
    "(>= _ 2)",
    "(<= (+ _ 1) _)",
    "(== _ _)",
    "(== _ a)",
    "(not (== _ _))",
    "(and (> _ 1) (< _ 5))",
    "(or (== _ 1) (> _ 2))",
    "(== (% _ 2) 1)",
    "(> (/ 6 _) 2)",
    "(not (> _ _))",
    "_",
    "(xor (> _ 2) (== _ _))",
];

/// Writes the lines of a seed, every third time.
pub(crate) fn lines(seed: u64) -> String {
    let mut writer = Queries { dice: Dice::new(seed ^ 0x91e5_77a1) };
    if !writer.dice.one_in(3) {
        return String::new();
    }
    let mut lines: Vec<String> = PROLOGUE.iter().map(|line| (*line).to_owned()).collect();
    let facts = if writer.dice.one_in(4) { 60 } else { 12 };
    for _ in 0..2 + writer.dice.below(facts) {
        lines.push(format!("!{}", writer.change(true)));
    }
    for number in 0..2 + writer.dice.below(4) {
        lines.push(format!("(= (query{number} $a) {})", writer.goal()));
        for _ in 0..1 + writer.dice.below(3) {
            let argument = if writer.dice.one_in(4) { "$w" } else { writer.dice.pick(VALUES) };
            lines.push(format!("!(collapse (query{number} {argument}))"));
            if writer.dice.one_in(3) {
                lines.push(format!("!{}", writer.change(false)));
            }
        }
    }
    lines.push(format!("!{}", writer.goal()));
    lines.join("\n") + "\n"
}

struct Queries {
    dice: Dice,
}

impl Queries {
    /// A text with something in the place of each hole.
    fn filled(&mut self, text: &str, variables: bool) -> String {
        let mut made = String::new();
        for letter in text.chars() {
            match letter {
                '_' if variables && !self.dice.one_in(5) => {
                    made += self.dice.pick(&["$x", "$y", "$z", "$x", "$y", "$a"])
                }
                '_' => made += self.dice.pick(VALUES),
                letter => made.push(letter),
            }
        }
        made
    }

    fn change(&mut self, adds: bool) -> String {
        let (space, pattern) = (self.dice.pick(SPACES), self.dice.pick(PATTERNS));
        let has_variables = self.dice.one_in(40);
        let fact = self.filled(pattern, has_variables);
        let name = if adds || self.dice.one_in(2) { "add-atom" } else { "remove-atom" };
        format!("({name} {space} {fact})")
    }

    fn pattern(&mut self) -> String {
        let one = |queries: &mut Self| {
            let pattern = queries.dice.pick(PATTERNS);
            queries.filled(pattern, true)
        };
        match self.dice.below(3) {
            0 => format!("(, {} {})", one(self), one(self)),
            _ => one(self),
        }
    }

    fn query(&mut self, template: &str) -> String {
        let space = self.dice.pick(SPACES);
        format!("(match {space} {} {template})", self.pattern())
    }

    fn goal(&mut self) -> String {
        let template = self.template(3);
        let query = self.query(&template);
        match self.dice.below(9) {
            0 => format!("(count-results {query})"),
            1 => format!("(once {query})"),
            2 => format!("(limit 3 {query})"),
            3 => format!("(has-result {query})"),
            4 => format!("(got {query})"),
            _ => query,
        }
    }

    fn template(&mut self, depth: usize) -> String {
        if depth == 0 {
            let data =
                ["($x $y)", "(got $x $y $z)", "$x", "found", "(marked $x)", "(noted $x)", "$y", "($x (pair $y $a))"];
            return self.dice.pick(&data).to_owned();
        }
        let rest = self.template(depth - 1);
        match self.dice.below(8) {
            0 | 1 => {
                let test = self.dice.pick(TESTS);
                let test = self.filled(test, true);
                let nothing = self.dice.pick(&["(empty)", "Empty", "(empty)", "other"]);
                if self.dice.one_in(3) {
                    format!("(if {test} {nothing} {rest})")
                } else {
                    format!("(if {test} {rest} {nothing})")
                }
            }
            2 | 3 => self.query(&rest),
            4 => {
                let found = self.dice.pick(&["yes", "$x", "$y", "(noted $x)"]);
                let query = self.query(found);
                match self.dice.below(4) {
                    0 => format!("(if (has-result {query}) (empty) {rest})"),
                    1 => format!("(if (not (has-result {query})) (empty) {rest})"),
                    2 => format!("(if (== () (collapse {query})) {rest} (empty))"),
                    _ => format!("(case {query} ((Empty {rest})))"),
                }
            }
            _ => rest,
        }
    }
}
