//! Programs made from numbers: token soups, well-formed nonsense, damaged programs, rules that rewrite each other.
//!
//! Each is made from a seed, so that the same test runs the same programs every time and a failure can be run again.

use generate::Dice;

/// Words that mean something, in any position.
const WORDS: &str = r#"
    a b foo bar é $x $y $_ $ 0 1 -3 2.5 1e400 99999999999999999999 True False "text" "" "\u{0}" PI () ! top corelib &self &s
    = : :< -> , Error Empty NotReducible return Type Atom Symbol Variable Expression Grounded Number %Undefined% StateMonad
    SpaceType @doc max-stack-depth type-check auto interpreter bare-minimal
    eval evalc chain function unify cons-atom decons-atom collapse-bind superpose-bind metta context-space call-native
    id noeval quote unquote empty atom-subst if let case switch switch-minimal switch-internal if-decons-expr if-error
    return-on-error collapse unique union intersection subtraction car-atom cdr-atom map-atom filter-atom foldl-atom
    for-each-in-atom first-from-pair noreduce-eq
    assert assertEqual assertEqualToResult assertAlphaEqual assertIncludes
"#;

/// A word of the language: one of [`WORDS`], or a native function.
fn word(dice: &mut Dice) -> &'static str {
    let words: Vec<&str> = match dice.below(2) {
        0 => WORDS.split_whitespace().collect(),
        _ => metta::stdlib::operations().map(|spec| spec.name).collect(),
    };
    dice.pick(&words)
}

/// Words and brackets in any order.
pub(crate) fn soup(dice: &mut Dice) -> String {
    let length = 3 + dice.below(40);
    let token = |dice: &mut Dice| match dice.below(10) {
        0..3 => "(".to_owned(),
        3..6 => ")".to_owned(),
        6 => "! (".to_owned(),
        _ => word(dice).to_owned(),
    };
    (0..length).map(|_| token(dice)).collect::<Vec<_>>().join(" ")
}

/// A well-formed expression, at most this deep.
fn expression(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 || dice.below(4) == 0 {
        return word(dice).to_owned();
    }
    let children: Vec<String> = (0..=dice.below(5)).map(|_| expression(dice, depth - 1)).collect();
    format!("({})", children.join(" "))
}

/// Facts and rules, then questions.
pub(crate) fn sentence(dice: &mut Dice) -> String {
    let mut lines: Vec<String> = vec!["! (bind! &s (new-space))".to_owned()];
    for _ in 0..dice.below(4) {
        lines.push(format!("(= (foo {}) {})", expression(dice, 1), expression(dice, 3)));
        lines.push(expression(dice, 3));
    }
    lines.extend((0..3).map(|_| format!("! {}", expression(dice, 4))));
    lines.join("\n")
}

/// Sound programs to be damaged.
pub(crate) const SOUND: &[&str] = &[
    "(= (fact $n) (if (< $n 2) 1 (* $n (fact (- $n 1))))) ! (fact 8)",
    "(: S (-> Nat Nat)) (: Z Nat) (= (plus Z $y) $y) (= (plus (S $x) $y) (S (plus $x $y))) ! (plus (S (S Z)) (S Z))",
    "(p 1) (p 2) (q 2) ! (match &self (, (p $x) (q $x)) (found $x)) ! (collapse (match &self (p $x) $x))",
    "! (bind! &st (new-state 0)) (= (count $n) (if (== $n 0) (get-state &st) \
     (let $_ (change-state! &st (+ 1 (get-state &st))) (count (- $n 1))))) ! (count 9)",
    "! (let* (($x (superpose (1 2 3))) ($y (superpose ($x 4)))) (case ($x $y) (((2 $z) (two $z)) ($_ Empty))))",
    "! (bind! &k (new-space)) ! (add-atom &k (: a A)) ! (add-atom &k (: r (-> A B))) (= (bc (: $p $t) $d) \
     (match &k (: $p $t) (: $p $t))) (= (bc (: ($f $a) $t) (S $d)) (let* (((: $f (-> $s $t)) (bc (: $f (-> $s $t)) $d)) \
     ((: $a $s) (bc (: $a $s) $d))) (: ($f $a) $t))) ! (bc (: $p B) (S Z))",
    "! (foldl-atom (1 2 3) 0 $a $b (+ $a $b)) ! (map-atom (1 2) $x (eval (* $x $x))) ! (filter-atom (1 2) $x (eval (> $x 1)))",
    "! (chain (collapse-bind (eval (superpose (1 2)))) $r (chain (superpose-bind $r) $one (cons-atom $one (end))))",
    "(= (f) (function (chain (eval (g)) $x (unify $x (ok $y) (return $y) (return no))))) (= (g) (ok 5)) (= (g) bad) ! (f)",
    "! (pragma! type-check auto) (: f (-> Number String)) (f 1) ! (f \"a\") ! (get-type (f 1)) ! (assertEqual (+ 1 1) 2)",
];

/// A sound program with a few tokens removed, doubled, exchanged or replaced.
pub(crate) fn damaged(dice: &mut Dice) -> String {
    let spaced = dice.pick(SOUND).replace('(', " ( ").replace(')', " ) ");
    let mut tokens: Vec<String> = spaced.split_whitespace().map(str::to_owned).collect();
    for _ in 0..=dice.below(4) {
        let (at, other) = (dice.below(tokens.len()), dice.below(tokens.len()));
        match dice.below(4) {
            0 => drop(tokens.remove(at)),
            1 => tokens.insert(at, tokens[other].clone()),
            2 => tokens.swap(at, other),
            _ => word(dice).clone_into(&mut tokens[at]),
        }
    }
    tokens.join(" ")
}

/// Rules that rewrite each other, mostly for ever.
pub(crate) fn rule_set(dice: &mut Dice) -> String {
    let heads = ["f", "g", "h"];
    let term = |dice: &mut Dice| match dice.below(6) {
        0 => "$x".to_owned(),
        1 => "a".to_owned(),
        2 => format!("({} $x)", dice.pick(&heads)),
        3 => format!("({} (s $x))", dice.pick(&heads)),
        4 => format!("(s ({} $x))", dice.pick(&heads)),
        _ => "(s $x)".to_owned(),
    };
    let argument = ["$x", "(s $x)", "a", "$y"];
    let rule = |dice: &mut Dice| format!("(= ({} {}) {})", dice.pick(&heads), dice.pick(&argument), term(dice));
    let rules: Vec<String> = (0..2 + dice.below(5)).map(|_| rule(dice)).collect();
    format!("{}\n! ({} (s (s a)))\n! (collapse (f $z))", rules.join("\n"), heads[dice.below(3)])
}
