//! Generated programs over typed rules, most of them well typed: both evaluators answer the same.

use crate::harness::Program;
use metta::Evaluator;

/// Rules that are well typed, some that are not, and names without types or with several.
const RULES: &str = "
    (: Nil (List $a)) (: Cons (-> $a (List $a) (List $a)))
    (: Pair (-> $a $b (Pair $a $b)))
    (: VNil (Vec $t Z)) (: VCons (-> $t (Vec $t $n) (Vec $t (S $n))))
    (: Z Nat) (: S (-> Nat Nat))
    (: Hidden (-> $t Hidden)) (: Taking (-> (-> Number Number) Taking))
    (: upto (-> Number (List Number))) (= (upto $n) (if (< $n 1) Nil (Cons $n (upto (- $n 1)))))
    (: sum (-> (List Number) Number)) (= (sum Nil) 0) (= (sum (Cons $x $xs)) (+ $x (sum $xs)))
    (: increase (-> Number Number)) (= (increase $x) (+ $x 1))
    (: halves (-> Number Number)) (= (halves $x) $x) (= (halves $x) (/ $x 2))
    (: is-odd (-> Number Bool)) (= (is-odd $x) (== (% $x 2) 1))
    (: plus (-> Number Number Number)) (= (plus $x $y) (+ $x $y))
    (: map (-> (-> $a $b) (List $a) (List $b)))
    (= (map $f Nil) Nil) (= (map $f (Cons $x $xs)) (Cons ($f $x) (map $f $xs)))
    (: fold (-> (-> $a $b $b) $b (List $a) $b))
    (= (fold $f $z Nil) $z) (= (fold $f $z (Cons $x $xs)) ($f $x (fold $f $z $xs)))
    (: append (-> (List $a) (List $a) (List $a)))
    (= (append Nil $ys) $ys) (= (append (Cons $x $xs) $ys) (Cons $x (append $xs $ys)))
    (: length (-> (List $a) Number)) (= (length Nil) 0) (= (length (Cons $x $xs)) (+ 1 (length $xs)))
    (: head (-> (List $a) $a)) (= (head (Cons $x $xs)) $x)
    (: repeat (-> Nat $t (Vec $t $n))) (= (repeat Z $x) VNil) (= (repeat (S $k) $x) (VCons $x (repeat $k $x)))
    (: vmap (-> (-> $a $b) (Vec $a $n) (Vec $b $n)))
    (= (vmap $f VNil) VNil) (= (vmap $f (VCons $x $xs)) (VCons ($f $x) (vmap $f $xs)))
    (: vzip (-> (Vec $a $n) (Vec $b $n) (Vec (Pair $a $b) $n)))
    (= (vzip VNil VNil) VNil)
    (= (vzip (VCons $x $xs) (VCons $y $ys)) (VCons (Pair $x $y) (vzip $xs $ys)))
    (: vhead (-> (Vec $t (S $n)) $t)) (= (vhead (VCons $x $xs)) $x)
    (: vlength (-> (Vec $t $n) Number)) (= (vlength VNil) 0) (= (vlength (VCons $x $xs)) (+ 1 (vlength $xs)))
    (: swap (-> (Pair $a $b) (Pair $b $a))) (= (swap $p) (let (Pair $x $y) $p (Pair $y $x)))
    (: twice (-> (-> $a $a) $a $a)) (= (twice $f $x) ($f ($f $x)))
    (: five (-> (-> Number Number) Number)) (= (five $f) ($f 5))
    (: same (-> $a $a Bool)) (= (same $x $y) (== $x $y))
    (: pick (-> $a $a Number)) (= (pick 0 $y) (increase $y)) (= (pick True $y) (if $y 7 8))
    (: safe (-> (List $a) Number))
    (= (safe $l) (case $l ((Nil 0) ((Cons $x (Cons $y $ys)) 2) ($_ 1))))
    (: steps (-> Number Number)) (= (steps $n) (let* (($a (increase $n)) ($b (plus $a $n))) (* $a $b)))
    (: crash (-> Number Number)) (= (crash $x) (/ $x 0))
    (: liar (-> Number Number)) (= (liar $x) \"text\")
    (: unbox (-> Hidden Hidden)) (= (unbox (Hidden $x)) (Hidden (Hidden $x)))
    (: taken (-> Taking Number)) (= (taken (Taking $f)) ($f 3))
    (: coin (-> Number)) (= (coin) 1) (= (coin) 2)
    (: constant (-> $a $b $a)) (= (constant $x $y) $x)
    (: none (-> Number Number)) (= (none $x) (if (== $x 1) (empty) $x))
    (: number-or-text Number) (: number-or-text String)
    (= (mystery $x) \"text\") (= (untyped $x) (Cons $x Nil))";

/// What an argument is meant to be.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    Number,
    Truth,
    Numbers,
    Lists,
    Pair,
    Nat,
    Vector,
    Function,
    Anything,
}

const ALL: [Of; 8] = [Of::Number, Of::Truth, Of::Numbers, Of::Lists, Of::Pair, Of::Nat, Of::Vector, Of::Function];

/// Calls by what they give.
const CALLS: [(Of, &str, &[Of]); 33] = [
    (Of::Number, "sum", &[Of::Numbers]),
    (Of::Number, "increase", &[Of::Number]),
    (Of::Number, "halves", &[Of::Number]),
    (Of::Number, "plus", &[Of::Number, Of::Number]),
    (Of::Number, "+", &[Of::Number, Of::Number]),
    (Of::Number, "fold", &[Of::Anything, Of::Number, Of::Numbers]),
    (Of::Number, "length", &[Of::Numbers]),
    (Of::Number, "length", &[Of::Lists]),
    (Of::Number, "head", &[Of::Numbers]),
    (Of::Number, "vhead", &[Of::Vector]),
    (Of::Number, "vlength", &[Of::Vector]),
    (Of::Number, "twice", &[Of::Function, Of::Number]),
    (Of::Number, "five", &[Of::Function]),
    (Of::Number, "pick", &[Of::Number, Of::Number]),
    (Of::Number, "pick", &[Of::Truth, Of::Truth]),
    (Of::Number, "safe", &[Of::Numbers]),
    (Of::Number, "steps", &[Of::Number]),
    (Of::Number, "taken", &[Of::Anything]),
    (Of::Number, "constant", &[Of::Number, Of::Anything]),
    (Of::Number, "none", &[Of::Number]),
    (Of::Truth, "is-odd", &[Of::Number]),
    (Of::Truth, "same", &[Of::Anything, Of::Anything]),
    (Of::Numbers, "upto", &[Of::Number]),
    (Of::Numbers, "map", &[Of::Function, Of::Numbers]),
    (Of::Numbers, "append", &[Of::Numbers, Of::Numbers]),
    (Of::Numbers, "Cons", &[Of::Number, Of::Numbers]),
    (Of::Lists, "Cons", &[Of::Numbers, Of::Lists]),
    (Of::Pair, "Pair", &[Of::Anything, Of::Anything]),
    (Of::Pair, "swap", &[Of::Pair]),
    (Of::Vector, "repeat", &[Of::Nat, Of::Number]),
    (Of::Vector, "vmap", &[Of::Function, Of::Vector]),
    (Of::Vector, "vzip", &[Of::Vector, Of::Vector]),
    (Of::Vector, "VCons", &[Of::Number, Of::Vector]),
];

/// A sequence of numbers that only the seed decides (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % bound as u64) as usize
    }

    fn one_of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }

    /// An expression that is meant to be of a type, and now and then is not; it may name these variables.
    fn expression(&mut self, of: Of, depth: usize, variables: &[&str]) -> String {
        let of = if of == Of::Anything || self.below(12) == 0 { ALL[self.below(ALL.len())] } else { of };
        if !variables.is_empty() && self.below(5) == 0 {
            return self.one_of(variables).to_owned();
        }
        if depth == 0 || self.below(4) == 0 {
            return self.leaf(of);
        }
        match self.below(12) {
            0 => {
                let value = self.expression(Of::Anything, depth - 1, variables);
                let pattern = self.one_of(&["$v", "(Cons $v $w)", "(Pair $v $v)", "$v"]);
                let inside: Vec<&str> = variables.iter().copied().chain(["$v"]).collect();
                format!("(let {pattern} {value} {})", self.expression(of, depth - 1, &inside))
            }
            1 => {
                let condition = self.expression(Of::Truth, depth - 1, variables);
                let then = self.expression(of, depth - 1, variables);
                format!("(if {condition} {then} {})", self.expression(of, depth - 1, variables))
            }
            _ => {
                let calls: Vec<_> = CALLS.iter().filter(|(given, ..)| *given == of).collect();
                if calls.is_empty() {
                    return self.leaf(of);
                }
                let (_, name, parts) = calls[self.below(calls.len())];
                let parts: Vec<String> =
                    parts.iter().map(|&part| self.expression(part, depth - 1, variables)).collect();
                format!("({name} {})", parts.join(" "))
            }
        }
    }

    fn leaf(&mut self, of: Of) -> String {
        let odd =
            ["nothing", "$free", "number-or-text", "(mystery 1)", "(untyped 2)", "(crash 1)", "(liar 1)", "\"text\""];
        if self.below(14) == 0 {
            return self.one_of(&odd).to_owned();
        }
        let leaves: &[&str] = match of {
            Of::Number => &["0", "1", "2", "(coin)", "3.5", "(none (coin))"],
            Of::Truth => &["True", "False", "(== 1 1)"],
            Of::Numbers => &["Nil", "(Cons 1 Nil)", "(upto 3)", "(Cons nothing (Cons 2 Nil))", "(Cons $free Nil)"],
            Of::Lists => &["Nil", "(Cons Nil Nil)", "(Cons (upto 2) (Cons Nil Nil))"],
            Of::Pair => &["(Pair 1 \"a\")", "(Pair Nil Nil)", "(Pair increase (coin))"],
            Of::Nat => &["Z", "(S Z)", "(S (S Z))", "(S nothing)"],
            Of::Vector => &["VNil", "(VCons 1 VNil)", "(repeat (S Z) 7)", "(VCons 1 (VCons True VNil))"],
            Of::Function => {
                &["increase", "halves", "is-odd", "mystery", "five", "crash", "head", "nothing", "none", "S"]
            }
            Of::Anything => {
                &["plus", "+", "(Taking increase)", "(Taking mystery)", "(Hidden 1)", "(unbox (Hidden crash))"]
            }
        };
        self.one_of(leaves).to_owned()
    }

    fn program(&mut self) -> String {
        let mut program = String::new();
        for number in 0..3 {
            let (first, second) = (ALL[self.below(ALL.len())], ALL[self.below(ALL.len())]);
            let body = self.expression(Of::Anything, 3, &["$x", "$y"]);
            let arguments = format!("{} {}", self.expression(first, 2, &[]), self.expression(second, 2, &[]));
            program += &format!("(= (f{number} $x $y) {body})\n!(f{number} {arguments})\n");
            program += &format!("!{}\n", self.expression(Of::Anything, 4, &[]));
        }
        program
    }
}

/// A line in which fresh variables are all alike: what a type calls them is not promised.
fn without_names(line: &str) -> String {
    let mut pieces = line.split('#');
    let mut found = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let name = found.rfind('$').expect("a number follows a variable");
        found.truncate(name + 1);
        found += piece.trim_start_matches(|digit: char| digit.is_ascii_digit());
    }
    found
}

/// The rules of `RULES` where only constructors have types.
fn rules_without_types() -> String {
    let forms = forms_of(RULES);
    let has_rules = |name: &str| forms.iter().any(|form| form.starts_with(&format!("(= ({name} ")));
    let is_kept = |form: &&str| {
        form.strip_prefix("(: ").and_then(|form| form.split_once(' ')).is_none_or(|(name, _)| !has_rules(name))
    };
    forms.iter().copied().filter(is_kept).collect::<Vec<_>>().join(" ")
}

/// The forms of a text without strings that hold brackets.
fn forms_of(text: &str) -> Vec<&str> {
    let (mut forms, mut depth, mut from) = (Vec::new(), 0, 0);
    for (place, letter) in text.char_indices() {
        match letter {
            '(' => {
                from = if depth == 0 { place } else { from };
                depth += 1;
            }
            ')' => {
                depth -= 1;
                if depth == 0 {
                    forms.push(&text[from..=place]);
                }
            }
            _ => {}
        }
    }
    forms
}

#[test]
fn both_evaluators_answer_the_same_over_typed_rules() {
    assert_agree(RULES);
}

#[test]
fn both_evaluators_answer_the_same_where_only_constructors_have_types() {
    let rules = rules_without_types();
    assert!(rules.contains("(: Cons ") && rules.contains("(= (map ") && !rules.contains("(: map "), "{rules}");
    assert_agree(&rules);
}

/// Generated programs over these rules have the same answers in both evaluators.
fn assert_agree(rules: &str) {
    let programs = std::env::var("METROON_TYPED_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(150);
    for seed in 0..programs {
        let program = Dice(seed).program();
        let answers = |evaluator| {
            let ran = Program::new(format!("{rules} {program}")).with_evaluator(evaluator).with_steps(100_000).run();
            let answers: Vec<String> = ran.answers.iter().map(|line| without_names(line)).collect();
            (answers, ran.end)
        };
        let (expected, end) = answers(Evaluator::Interpreter);
        let (found, _) = answers(Evaluator::Machine);
        if !expected.iter().chain(&found).any(|line| line.contains("StepLimit")) {
            assert_eq!(found, expected, "seed {seed}, {end:?}:\n{program}");
        }
    }
}
