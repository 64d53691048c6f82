//! Programs in which a part of an expression binds a variable that a later part holds. If the later part was a variable or evaluated data
//! when the expression began, it is not evaluated at its turn, whatever was bound in between.
//!
//! The later part is evaluated or given as it stands. It is a variable, data with one, or a call that comes to itself. The variable is bound
//! to something that can be reduced further. Both parts stand in tuples, data, calls with and without types, native functions, lists, forms
//! and minimal code.

use crate::Dice;

/// How many functions a program has.
const FUNCTIONS: usize = 3;

const PROLOGUE: &str = "\
(= (k 1) 2) (= (k 2) (k 1))
(= (bz (Z (k 1))) done) (= (bs (S (k 2))) done) (= (bp (k 1)) bound) (= (bn 1) one)
(= (b2 (k 1)) first) (= (b2 3) second) (= (bq (Z $y) $y) pair)
(= (mk $x) (Z $x)) (= (mk2 $x) (S (Z $x)))
(= (returning $x) (function (return $x)))
(= (returning-behind $x $y) (function (chain (eval (bz $x)) $r (return $x))))
(= (coming-behind $x $y) (chain (eval (bp $y)) $r $x))
(= (same $x) $x) (= (g $x $y) (G $y $x)) (= (g3 $x $y $z) (G $z $y $x)) (= (h a $y) (H $y)) (= (free) $new)
(: raw (-> Atom %Undefined%)) (= (raw $x) $x)
(: rawq (-> Atom Atom)) (= (rawq $x) (Q $x))
(: T2 (-> $t $u D)) (: D2 (-> %Undefined% %Undefined% D)) (: D3 (-> D D D))
(: tn (-> %Undefined% Number Number)) (= (tn $x $y) $y)
(: tu (-> %Undefined% %Undefined% D)) (= (tu $x $y) (U $y $x))
(: raw-tuple (-> Atom Atom %Undefined%)) (= (raw-tuple $x $y) (R $x $y))
(: raw-inside (-> Atom Atom %Undefined%)) (= (raw-inside $x $y) (R (S $x) $y))
(: raw-data (-> Atom Atom %Undefined%)) (= (raw-data $x $y) (D3 $x $y))
(: raw-call (-> Atom Atom %Undefined%)) (= (raw-call $x $y) (g $x $y))
(: raw-typed (-> Atom Atom %Undefined%)) (= (raw-typed $x $y) (tu $x $y))
(: raw-in-call (-> Atom Atom %Undefined%)) (= (raw-in-call $x $y) (g (S $x) $y))
(: raw-behind-call (-> Atom Atom %Undefined%)) (= (raw-behind-call $x $y) (g3 $x (S a) $y))
(: raw-in-typed (-> Atom Atom %Undefined%)) (= (raw-in-typed $x $y) (tu (S $x) $y))
(: raw-in-data (-> Atom Atom %Undefined%)) (= (raw-in-data $x $y) (R (S $x) $y (same a)))
(: raw-equal (-> Atom Atom %Undefined%)) (= (raw-equal $x $y) (id (== $x $y)))
(: raw-in-equal (-> Atom Atom %Undefined%)) (= (raw-in-equal $x $y) (== (S $x) $y))
(: raw-in-list (-> Atom Atom %Undefined%)) (= (raw-in-list $x $y) (Q (S $x) (S $y) $y))
(: raw-headed (-> Atom Atom %Undefined%)) (= (raw-headed $x $y) ((quote R) $x $y))
(: raw-head (-> Atom Atom %Undefined%)) (= (raw-head $x $y) ($x $y))
(fact (k 1)) (stored (Z $v))
";

/// The arguments of functions: `V` is a variable, and `~` the number of a function.
#[rustfmt::skip]
const VALUES: &[&str] = &[
    "(Z V)", "(Z V)", "(S V)", "(V)", "(Z (S V))", "(Z V V)", "(+ V 1)", "(Z (+ V 1))", "(D2 V 1)", "(T2 V a)",
    "(mk V)", "(mk2 V)", "(same (Z V))", "(quote (Z V))", "(raw (Z V))", "(rawq (Z V))", "(match &self (stored $t) $t)",
    "(cons-atom Z (V))", "(superpose ((Z V) 1))", "(if True (Z V) x)", "(let $m 1 (Z V))", "V", "V", "(id (Z V))",
    "(h b V)", "(k (Z V))", "(Z (k (S V)))", "(free)", "(Z (free))", "(case 1 ((1 (Z V))))", "(collapse (Z V))",
    "(chain (Z V) $c $c)", "(get-type V)", "(== V 1)", "(f~ a V)",
];

/// Calls that bind the variable `V`, or one in the value `A`.
#[rustfmt::skip]
const BINDERS: &[&str] = &[
    "(bz A)", "(bz A)", "(bs A)", "(bp V)", "(bp A)", "(bn V)", "(bn A)", "(b2 V)", "(b2 A)", "(bq A (k 1))",
    "(match &self (fact V) ok)", "(unify A (Z (k 1)) yes no)", "(unify V (k 1) yes no)", "(let (Z V) (Z (k 1)) ok)",
    "(let V (quote (k 1)) ok)", "(let A (quote (Z (k 1))) ok)", "(case A (((Z (k 1)) ok)))", "(collapse (bz A))",
    "(id A)", "(raw (bz A))",
];

/// Expressions in which a binder `B` stands before the part `X`, in which it may bind something. Names that end in `#` are those of one
/// expression only: `chain` replaces others of the same name as well.
#[rustfmt::skip]
const PLACES: &[&str] = &[
    "(R B X)", "(R B X)", "(B X)", "(R A B X)", "(T2 B X)", "(D2 B X)", "(D3 B X)", "(g B X)", "(tu B X)", "(tn B X)",
    "(raw-tuple B X)", "(raw-inside B X)", "(raw-data B X)", "(raw-call B X)", "(raw-typed B X)", "(raw-head B X)",
    "(raw-in-call B X)", "(raw-behind-call B X)", "(raw-in-typed B X)", "(raw-in-data B X)", "(raw-equal B X)", "(raw-in-equal B X)",
    "(raw-in-list B X)", "(raw-headed B X)", "((quote R) B X)", "(let $w# ((quote R) A) (P B $w#))", "(let $w# ((quote R) a A) ($w# B X))",
    "(let $r# B (R $r# X))", "(let $r# B X)", "(chain (eval B) $r# (R $r# X))", "(chain B $r# ($r# X))",
    "(function (chain (eval B) $r# (return (R $r# X))))", "(superpose (B X))",
    "(collapse (superpose (B X)))", "(if (== B done) X X)", "(case B (($_# X)))", "(case B ((nope 1) ($s# X)))",
    "(unify B nope 1 X)", "(cons-atom B (X))", "(let* (($r# B) ($s# X)) (R $s#))", "(car-atom (X B))", "(+ B X)",
    "(== B X)", "(assertEqual B X)", "(let ($r# $s#) (B X) (P $r# $s#))", "(collapse (R B X))",
    "(let $w# (R B X) (W $w# X))", "(same (R B X))", "(let $w# X (R B $w#))",
    "(X B)", "(R X B X B)", "(map-atom (B X) $i# (I $i#))", "(foldl-atom (B X) 0 $i# $j# (I $i# $j#))",
];

/// Minimal code that gives the part `X` as it stands, or hands it on, where the binder `B` has bound something before.
#[rustfmt::skip]
const CODE: &[&str] = &[
    "(chain (eval B) $r# X)", "(chain (eval B) $r# X)", "(chain B $r# X)", "(chain (metta B %Undefined% &self) $r# X)",
    "(function (chain (eval B) $r# (return X)))", "(function (chain (metta B %Undefined% &self) $r# (return X)))",
    "(chain (eval B) $r# (metta X %Undefined% &self))", "(chain (metta X %Undefined% &self) $r# (chain (eval B) $s# $r#))",
    "(chain (eval B) $r# (chain (metta X %Undefined% &self) $s# $s#))", "(chain X $r# (chain (eval B) $s# $r#))",
    "(chain (eval B) $r# (unify a a X n))", "(chain (eval B) $r# (unify a b n X))", "(unify a a (chain (eval B) $r# X) n)",
    "(chain (unify a a X n) $r# (chain (eval B) $s# $r#))", "(chain (eval B) $r# (chain X $s# $s#))",
    "(function (chain (eval B) $r# (unify a a (return X) n)))", "(function (chain (eval B) $r# (unify a b n (return X))))",
    "(chain (function (chain (eval B) $r# (return X))) $s# $s#)", "(chain (chain (eval B) $r# X) $s# $s#)",
    "(chain (eval B) $r# (chain (cons-atom X (a)) $s# (chain (decons-atom $s#) $d# (unify $d# ($h# $t#) $h# n))))",
    "(chain (eval B) $r# (eval (returning X)))", "(chain (eval (returning-behind A V)) $r# $r#)",
    "(chain (eval (coming-behind A V)) $r# $r#)", "(chain (eval (returning X)) $r# (chain (eval B) $s# $r#))",
    "(chain (eval B) $r# (eval (if-equal a a X n)))", "(chain (metta (let $w# B X) %Undefined% &self) $r# $r#)",
    "(chain (metta X D &self) $r# (chain (eval B) $s# $r#))", "(chain (eval B) $r# (metta X Atom &self))",
    "(chain (eval B) $r# (chain (metta (Q X) %Undefined% &self) $s# $s#))", "(chain (eval B) $r# (chain (metta X D &self) $s# $s#))",
    "(chain (context-space) $o# (chain (eval B) $r# (metta X %Undefined% $o#)))",
];

/// Later parts: the value, its variable, or data around one of them.
const BEHIND: &[&str] = &["A", "A", "A", "V", "(S A)", "(Z V)"];

/// A program of a seed.
#[must_use]
pub fn bound_late(seed: u64) -> String {
    let mut writer = BoundLate { dice: Dice::new(seed ^ 0xb0bd_1a7e), places: 0 };
    let mut text = PROLOGUE.to_owned();
    // Code is exact then.
    text += writer.dice.pick(&["", "", "(= (nr $x) NotReducible) (= (nr2 (Z (k 1))) NotReducible)\n"]);
    for place in 0..FUNCTIONS {
        text += &format!("(= (f{place} $a $p) {})\n", writer.place("$a", "$p", 2));
    }
    for place in (0..FUNCTIONS).flat_map(|place| [place, place]) {
        text += &writer.question(place);
    }
    let (value, body) = (writer.value(), writer.place("$a", "$p", 1));
    text += &format!("!(let $a {value} {body})\n");
    let value = writer.value();
    text + &format!("!{}\n", writer.place(&value, "$p", 1))
}

struct BoundLate {
    dice: Dice,
    /// How many places were written.
    places: usize,
}

impl BoundLate {
    fn question(&mut self, place: usize) -> String {
        let value = self.value();
        let call = format!("(f{place} {value} $p)");
        match self.dice.below(7) {
            0 => format!("!(let $q {call} (O $q $p))\n"),
            1 => format!("!(O {call} $p)\n"),
            2 => format!("!(let $z {value} (f{place} $z $p))\n"),
            3 => format!("!(f{place} {value} {})\n", self.value()),
            _ => format!("!{call}\n"),
        }
    }

    fn value(&mut self) -> String {
        let function = self.dice.below(FUNCTIONS).to_string();
        filled(self.dice.pick(VALUES), &[('V', "$p")]).replace('~', &function)
    }

    /// A value and its variable at a place, in places inside of each other.
    fn place(&mut self, value: &str, variable: &str, depth: usize) -> String {
        let filled = |template: &str| filled(template, &[('A', value), ('V', variable)]);
        let (mut binds, mut behind) = (filled(self.dice.pick(BINDERS)), filled(self.dice.pick(BEHIND)));
        if depth > 0 && self.dice.one_in(4) {
            behind = self.place(value, variable, depth - 1);
        }
        if depth > 0 && self.dice.one_in(7) {
            binds = self.place(value, variable, depth - 1);
        }
        self.places += 1;
        let places = if self.dice.one_in(4) { CODE } else { PLACES };
        let template = self.dice.pick(places).replace('#', &self.places.to_string());
        self::filled(&template, &[('A', value), ('B', &binds), ('X', &behind)])
    }
}

/// A template with texts in place of letters that stand alone.
fn filled(template: &str, texts: &[(char, &str)]) -> String {
    let stands_alone = |at: usize| {
        let beside = [at.checked_sub(1).and_then(|at| template.as_bytes().get(at)), template.as_bytes().get(at + 1)];
        beside.into_iter().flatten().all(|byte| b"() ".contains(byte))
    };
    template
        .char_indices()
        .map(|(at, letter)| match texts.iter().find(|(known, _)| *known == letter && stands_alone(at)) {
            Some((_, text)) => (*text).to_owned(),
            None => letter.to_string(),
        })
        .collect()
}
