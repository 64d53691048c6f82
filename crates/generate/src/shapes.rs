//! Words of the library where nobody expects them: `Error` and `Empty` as data and as heads, expressions with types of their own,
//! functions of the library on arguments they are not made for, arguments that bind what stands beside them, spaces as heads, rules
//! whose head is a variable.
//!
//! These lines follow a program, with functions and dice of their own: the same seed without them is the same program.

use crate::Dice;

/// What every program of these lines begins with.
const PROLOGUE: &[&str] = &[
    "(: (two things) Pair)",
    "(: (c d) (C D))",
    "(: Thing Kind)",
    "(: pair Pair)",
    "(= (one) 5)",
    "(= (many) 1)",
    "(= (many) (Error many one))",
    "(= (several) a)",
    "(= (several) \"s\")",
    "(n 5)",
    "(n \"str\")",
    "(n Empty)",
    "(n (Error))",
    "(n (two things))",
    "(= (has $x) (if (== $x Empty) no yes))",
    "(= (both $x $y) (together $x $y))",
    "(= (apply1 $f $x) ($f $x))",
    "(: sum (-> Number Number Number))",
    "(= (sum $a $b) (got $a $b))",
    "(: whole (-> (A B) %Undefined%))",
    "(= (whole $x) succeeded)",
    "(: raw (-> Atom %Undefined%))",
    "(= (raw $x) (shown $x))",
    "(: Link (-> $t (Chain $t) (Chain $t)))",
    "(: End (Chain $t))",
    "(: Twin (-> $t $t Twins))",
    "(: Row (-> $t ($t) Rows))",
    "(= (part $x) $x)",
    "!(bind! &shape (new-space))",
    "!(add-atom &shape (n 7))",
];

/// Rules that match more than what one name calls.
const WIDE: &[&str] = &[
    "(= $any done)",
    "(= ($f 5) (of-five $f))",
    "(= (&shape 5) in-shape)",
    "(= ($f &shape) (in $f))",
    "(= (($f 1) $x) ($x $f))",
    "(n &shape)",
];

const LEAVES: &[&str] = &[
    "Empty",
    "NotReducible",
    "1",
    "-3",
    "2.5",
    "True",
    "\"s\"",
    "a",
    "pair",
    "Thing",
    "()",
    "End",
    "(two things)",
    "(c d)",
    "(Thing)",
    "(one)",
    "(many)",
    "(several)",
    "(Error a b)",
    "(Error a)",
    "(Error)",
    "(Empty)",
    "(Empty a)",
    "$x",
    "$x",
    "$y",
];

/// Words that are rarely arguments; Hyperon takes the end of a tuple that begins with the first for an error.
const RARE: &[&str] = &["Error", "foo", "+", "if", "match", "%Undefined%", "Number", "->", "="];

/// Functions of the library and of the prologue, with how many arguments they take.
const FUNCTIONS: &[(&str, usize)] = &[
    ("+", 2),
    ("-", 2),
    ("%", 2),
    ("<", 2),
    ("==", 2),
    ("==", 2),
    ("and", 2),
    ("or", 2),
    ("not", 1),
    ("if", 3),
    ("id", 1),
    ("quote", 1),
    ("noeval", 1),
    ("car-atom", 1),
    ("cdr-atom", 1),
    ("cons-atom", 2),
    ("size-atom", 1),
    ("index-atom", 2),
    ("min-atom", 1),
    ("has", 1),
    ("both", 2),
    ("apply1", 2),
    ("sum", 2),
    ("whole", 1),
    ("raw", 1),
    ("Link", 2),
    ("Twin", 2),
    ("Row", 2),
    ("part", 1),
    ("&shape", 1),
    ("foo", 1),
    ("foo", 2),
    ("Empty", 1),
    ("Error", 2),
    ("if-error", 3),
    ("if-equal", 4),
    ("get-metatype", 1),
    ("assertEqual", 2),
    ("assertAlphaEqual", 2),
    ("assertEqualToResult", 2),
];

/// Writes the lines of a seed, every second time.
pub(crate) fn lines(seed: u64) -> String {
    let mut shapes = Shapes { dice: Dice::new(seed ^ 0x5ba9_e500) };
    if !shapes.dice.one_in(2) {
        return String::new();
    }
    let mut lines: Vec<String> = PROLOGUE.iter().map(|line| (*line).to_owned()).collect();
    if shapes.dice.one_in(4) {
        lines.push(shapes.dice.pick(WIDE).to_owned());
    }
    for place in 0..1 + shapes.dice.below(2) {
        let body = shapes.expression(2);
        lines.push(format!("(= (h{place} $x) {body})"));
        let argument = shapes.expression(1);
        lines.push(format!("!(bag (collapse (h{place} {argument})))"));
    }
    for _ in 0..2 + shapes.dice.below(3) {
        let asked = shapes.expression(3);
        lines.push(format!("!(bag (collapse {asked}))"));
    }
    lines.push(format!("!{}", shapes.call(2)));
    lines.join("\n") + "\n"
}

struct Shapes {
    dice: Dice,
}

impl Shapes {
    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 || self.dice.one_in(4) {
            return self.leaf();
        }
        match self.dice.below(3) {
            0 => self.form(depth - 1),
            _ => self.call(depth - 1),
        }
    }

    fn leaf(&mut self) -> String {
        let words = if self.dice.one_in(16) { RARE } else { LEAVES };
        self.dice.pick(words).to_owned()
    }

    fn call(&mut self, depth: usize) -> String {
        let (name, count) = self.dice.pick(FUNCTIONS);
        let count = if self.dice.one_in(24) { count + 1 } else { count };
        let arguments: Vec<String> = (0..count).map(|_| self.expression(depth)).collect();
        format!("({name} {})", arguments.join(" "))
    }

    /// What binds variables, or has several results.
    fn form(&mut self, depth: usize) -> String {
        let (one, other) = (self.expression(depth), self.expression(depth));
        let function = self.dice.pick(&["+", "sum", "foo", "both", "==", "and", "Twin"]);
        match self.dice.below(19) {
            14 => format!("(Row (part {one}) (part {other}))"),
            15 => format!("((let $y {one} ($y)) {other})"),
            16 => format!("(let $y &shape ($y {other}))"),
            17 => format!("(match &self (n $y) ($y {one}))"),
            18 => "(match &self (n $y) $y)".to_owned(),
            0 => format!("({function} (let $y {one} 1) $y)"),
            1 => format!("({function} (match &self (n $y) 1) $y)"),
            2 => format!("({function} (let (q $y) (noeval (q {one})) {other}) $y)"),
            3 => format!("(let $y {one} {other})"),
            4 => format!("(let $y {one} ($y {other}))"),
            5 => format!("(case {one} ((Empty {other}) ($z (got $z))))"),
            6 => format!("(superpose ({one} {other}))"),
            7 => format!("(map-atom ({one} {other}) $v ({function} $v {other}))"),
            8 => format!("(unify {one} $y ({function} 1 $y) {other})"),
            9 => format!("(match &self (n $y) ({function} $y {one}))"),
            10 => format!("(match {one} (n 5) {other})"),
            11 => format!("(Link (map-atom (1 2) $v {one}) {other})"),
            12 => format!("(({one}) {other})"),
            _ => format!("({one} {other})"),
        }
    }
}
