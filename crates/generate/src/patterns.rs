//! Atoms with variables as data: rules, types and facts that spaces hold, which functions match again and again, with changes between
//! and from within. Arguments and answers are not evaluated: what is looked at is what matches.
//!
//! These lines follow a program, with functions and dice of their own: the same seed without them is the same program.

use crate::Dice;

/// What every program of these lines begins with.
const PROLOGUE: &[&str] = &[
    "!(bind! &p1 (new-space))",
    "!(bind! &p2 (new-space))",
    "!(bind! &pst (new-state 1))",
    "(: derive (-> Atom Atom %Undefined%))",
    "(= (derive $d (: $p $t)) (match &p1 (: $p $t) (quote (: $p $t))))",
    "(= (derive (S $d) (: ($f $x) $t)) (match &p1 (: $f (-> $u $t)) \
     (let (quote (: $x $u)) (derive $d (: $x $u)) (quote (: ($f $x) $t)))))",
];

/// What has no parts.
const LEAVES: &[&str] = &["a", "b", "a", "b", "1", "2", "1.0", "7.5", "\"t\"", "True", "()", "9999999999999999999999"];

/// Expressions, with `_` in place of each part.
const SHAPES: &[&str] = &["(P _)", "(P _)", "(Q _ _)", "(-> _ _)", "(-> _ _)", "(-> _ _ _)", "(_ _)", "(P (Q _ _))"];

/// Writes the lines of a seed, every third time.
pub(crate) fn lines(seed: u64) -> String {
    let mut writer = Patterns { dice: Dice::new(seed ^ 0x7a77_e125), functions: 0, is_odd: false };
    if !writer.dice.one_in(3) {
        return String::new();
    }
    let mut lines: Vec<String> = PROLOGUE.iter().map(|line| (*line).to_owned()).collect();
    let size = if writer.dice.one_in(4) { 20 } else { 8 };
    for _ in 0..1 + writer.dice.below(size) {
        lines.push(format!("!{}", writer.addition()));
    }
    for _ in 0..2 + writer.dice.below(3) {
        writer.declare(&mut lines);
        for _ in 0..1 + writer.dice.below(3) {
            lines.push(format!("!{}", writer.question(&["$v", "$w"])));
            if writer.dice.one_in(3) {
                lines.push(format!("!{}", writer.change()));
            }
        }
    }
    writer.repeated(&mut lines);
    lines.join("\n") + "\n"
}

struct Patterns {
    dice: Dice,
    /// How many functions there are.
    functions: usize,
    /// Whether states and spaces may be in what is written.
    is_odd: bool,
}

impl Patterns {
    fn term(&mut self, depth: usize, variables: &[&str]) -> String {
        let roll = self.dice.below(10);
        if roll < 4 && !variables.is_empty() {
            return self.dice.pick(variables).to_owned();
        }
        if roll < 6 || depth == 0 {
            return self.leaf();
        }
        let mut made = String::new();
        for letter in self.dice.pick(SHAPES).chars() {
            match letter {
                '_' => made += &self.term(depth - 1, variables),
                letter => made.push(letter),
            }
        }
        made
    }

    /// Seldom a state or a space, which match in another way, where that is wanted.
    fn leaf(&mut self) -> String {
        match self.dice.below(40) {
            0 if self.is_odd => "&pst".to_owned(),
            1 if self.is_odd => "&p2".to_owned(),
            _ => self.dice.pick(LEAVES).to_owned(),
        }
    }

    /// Only one of the spaces has states and spaces in it.
    fn space(&mut self) -> &'static str {
        self.is_odd = self.dice.one_in(4);
        if self.is_odd { "&p2" } else { "&p1" }
    }

    /// An atom of a space.
    fn stored(&mut self) -> String {
        let variables: &[&str] = if self.dice.one_in(3) { &[] } else { &["$x", "$y", "$z"] };
        let name = self.dice.pick(&["one", "two", "two", "three", "$x"]);
        match self.dice.below(12) {
            0 => format!("(= {} {})", self.term(2, variables), self.term(2, variables)),
            1 => format!("(: {name} {} {})", self.term(1, variables), self.term(1, variables)),
            2 if self.dice.one_in(4) => "$x".to_owned(),
            3 => format!("({} {} {})", self.term(1, variables), self.term(1, variables), self.term(1, variables)),
            _ => format!("(: {name} {})", self.term(2, variables)),
        }
    }

    fn addition(&mut self) -> String {
        format!("(add-atom {} {})", self.space(), self.stored())
    }

    fn change(&mut self) -> String {
        match self.dice.below(5) {
            0 => format!("(remove-atom {} {})", self.space(), self.stored()),
            1 => format!("(add-atom {} (unrelated {}))", self.space(), self.leaf()),
            2 => format!("(change-state! &pst {})", self.dice.below(3)),
            _ => self.addition(),
        }
    }

    /// A function that matches a pattern with its arguments.
    fn declare(&mut self, lines: &mut Vec<String>) {
        let name = format!("ask{}", self.functions);
        self.functions += 1;
        let variables = ["$a", "$b", "$m", "$n", "$a", "$b"];
        let pattern = match self.dice.below(6) {
            0 => format!("(= {} {})", self.term(2, &variables), self.term(1, &variables)),
            1 => "(: $a $a)".to_owned(),
            2 => format!("(: $m {})", self.term(2, &variables)),
            3 => format!("(, (: $m $a) {})", self.term(1, &variables)),
            _ => format!("(: {} {})", self.term(1, &variables), self.term(2, &variables)),
        };
        let template = match self.dice.below(5) {
            0 => format!("(let $c {} (quote ($a $b $m)))", self.change()),
            1 => "(quote ($n $fresh $a))".to_owned(),
            _ => format!("(quote ({} {}))", self.term(2, &variables), self.term(1, &variables)),
        };
        let space = if self.dice.one_in(3) { "$s" } else { "&p1" };
        lines.push(format!("(: {name} (-> Atom Atom Atom %Undefined%))"));
        lines.push(format!("(= ({name} $s $a $b) (match {space} {pattern} {template}))"));
    }

    fn question(&mut self, variables: &[&str]) -> String {
        let space = self.space();
        if self.dice.one_in(4) {
            self.is_odd = false;
            let depth = self.dice.pick(&["Z", "(S Z)"]);
            return format!("(derive {depth} (: {} {}))", variables[0], self.term(2, variables));
        }
        let function = self.dice.below(self.functions);
        let (one, other) = (self.term(2, variables), self.term(2, variables));
        format!("(ask{function} {space} {one} {other})")
    }

    /// Asks two questions again and again, with a change between. They share variables: which of two that become one stays is seen by that.
    fn repeated(&mut self, lines: &mut Vec<String>) {
        let (one, other) = (self.question(&["$v", "$w"]), self.question(&["$v", "$w"]));
        let change = self.change();
        lines.push(format!(
            "(= (repeated $k) (if (< $k 1) end \
             (let* (($all (collapse {one})) ($c {change}) ($more (collapse {other}))) \
             (turn $all $more (repeated (- $k 1))))))"
        ));
        lines.push(format!("!(repeated {})", 1 + self.dice.below(4)));
    }
}
