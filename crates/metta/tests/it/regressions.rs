//! Named defects of other implementations, each a few lines long: numbers, errors, spaces, parsing.
//!
//! `he_N` is the issue of that number in the tracker of Hyperon Experimental.

use crate::harness::{Program, answers, check, run};
use metta::RunEnd;
use metta::syntax::Severity;

#[test]
fn int_overflow_promotes_or_errors() {
    check(&[
        ("! (* 9223372036854775807 2)", &["[18446744073709551614]"]),
        (
            "! (+ 9223372036854775807 1) ! (- -9223372036854775808 1)",
            &["[9223372036854775808]", "[-9223372036854775809]"],
        ),
        ("! (- (+ 9223372036854775807 1) 1)", &["[9223372036854775807]"]),
        ("! (abs-math -9223372036854775808)", &["[9223372036854775808]"]),
        ("! (== (* 4294967296 4294967296) 18446744073709551616)", &["[True]"]),
        ("! (< 9223372036854775807 9223372036854775808) ! (> 1e300 99999999999999999999)", &["[True]", "[True]"]),
        ("! (+ 99999999999999999999 0.5)", &["[1e20]"]),
        ("! (% 100000000000000000000 7) ! (/ 100000000000000000000 -7)", &["[2]", "[-14285714285714285714]"]),
        (
            "(= (fact $n) (if (< $n 2) 1 (* $n (fact (- $n 1))))) ! (fact 21) ! (fact 30)",
            &["[51090942171709440000]", "[265252859812191058636308480000000]"],
        ),
    ]);
}

#[test]
fn int_edge_no_abort() {
    check(&[
        ("! (% 5 0)", &["[(Error (% 5 0) DivisionByZero)]"]),
        ("! (/ 5 0)", &["[(Error (/ 5 0) DivisionByZero)]"]),
        ("! (/ -9223372036854775808 -1)", &["[9223372036854775808]"]),
        ("! (% -9223372036854775808 -1)", &["[0]"]),
        ("! (/ -9223372036854775808 0)", &["[(Error (/ -9223372036854775808 0) DivisionByZero)]"]),
        ("! (% 99999999999999999999 0)", &["[(Error (% 99999999999999999999 0) DivisionByZero)]"]),
        ("! (/ 5 0.0) ! (/ -5.0 0) ! (% 5.0 0) ! (/ 0 0.0)", &["[inf]", "[-inf]", "[NaN]", "[NaN]"]),
        ("! (index-atom (a b) -1)", &["[(Error (index-atom (a b) -1) Index is out of bounds)]"]),
        (
            "! (index-atom (a b) 9223372036854775808)",
            &["[(Error (index-atom (a b) 9223372036854775808) Index is out of bounds)]"],
        ),
        (
            "! (pow-math 2 9223372036854775807)",
            &["[(Error (pow-math 2 9223372036854775807) power argument is too big, try using float value)]"],
        ),
        ("! (sqrt-math -1) ! (log-math 0 0)", &["[NaN]", "[NaN]"]),
    ]);
}

#[test]
fn he_886() {
    check(&[
        (
            "(= (f $a) ($a $a)) (f dog) (= (g) there) (g)
             ! (let $all (collapse (get-atoms &self)) (size-atom $all))
             ! (assertAlphaEqualToResult (get-atoms &self) ((= (f $a) ($a $a)) (f dog) (= (g) there) (g)))
             ! (match &self (f $x) $x)",
            &["[4]", "[()]", "[dog]"],
        ),
        (
            "! (add-atom &self (+ 1 2)) ! (get-atoms &self) ! (collapse (get-atoms &self))",
            &["[()]", "[(+ 1 2)]", "[((+ 1 2))]"],
        ),
    ]);
}

#[test]
fn he_915() {
    let ran = Program::new("! (filter-atom (1 2 3 4 5) $x (eval (> $x 3))) ! (filter-atom (1 2 3 4 5) $x (> $x 3))")
        .with_steps(2_000)
        .run();
    assert_eq!(ran.answers, ["[(4 5)]", "[(Error (filter-atom (1 2 3 4 5) $x (> $x 3)) NoReturn)]"]);
}

/// The chainer of the report, to this depth.
fn chaining_over_lambda(depth: usize) -> String {
    let depth = "(S ".repeat(depth) + "Z" + &")".repeat(depth);
    format!(
        "! (bind! &kb (new-space))
         ! (add-atom &kb (: S (-> (: $x Nat) Nat)))
         ! (add-atom &kb (: $x Var))
         ! (add-atom &kb (: λ (-> (: $x Var) (-> (: $y $b) (-> (: $x $a) $b)))))
         (= (bc (: $proof $claim) $_) (match &kb (: $proof $claim) (: $proof $claim)))
         (= (bc (: ($f $x) $claim) (S $k))
            (let* (((: $f (-> (: $x $premise) $claim)) (bc (: $f (-> (: $x $premise) $claim)) $k))
                   ((: $x $premise) (bc (: $x $premise) $k)))
              (: ($f $x) $claim)))
         ! (bc (: $proof (-> (: $k Nat) Nat)) {depth})"
    )
}

#[test]
fn he_556() {
    assert_eq!(answers(&chaining_over_lambda(1))[4], "[(: S (-> (: $k Nat) Nat))]");
    let third = &answers(&chaining_over_lambda(3))[4];
    assert_eq!(third.matches("(-> (: $k Nat) Nat)").count(), 9, "{third}");
    assert!(third.starts_with("[(: S (-> (: $k Nat) Nat)), (: (((λ S) S) S) (-> (: $k Nat) Nat)), "), "{third}");
    let fifth = Program::new(chaining_over_lambda(5)).with_steps(200_000).run();
    assert!(fifth.answers[4].ends_with("(StepLimit 200000))]"), "the whole of depth five is too much for a test");
}

#[test]
fn he_855() {
    let ran = run("! ((println! \"hello\")) ! (()) ! (() a) ! ((nop) 1 2)");
    assert_eq!(ran.lines, ["hello", "[(())]", "[(())]", "[(() a)]", "[(() 1 2)]"]);
}

#[test]
fn he_328() {
    check(&[
        (
            "! (bind! &in (new-space)) ! (add-atom &in (leaf 1)) ! (add-atom &in (leaf 2))
             (tree &in) (tree (leaf 3))
             ! (match &self (tree (leaf $x)) $x)
             ! (match &self (tree $x) found)",
            &["[()]", "[()]", "[()]", "[1, 2, 3]", "[found, found]"],
        ),
        (
            "! (bind! &a (new-space)) ! (bind! &b (new-space)) ! (add-atom &a (leaf 1)) ! (add-atom &a (leaf 2))
             ! (add-atom &b (sub &a)) (top &b)
             ! (match &self (top (sub (leaf $x))) $x)
             ! (match &self (, (top (sub (leaf $x))) (top (sub (leaf $y)))) ($x $y))",
            &["[()]", "[()]", "[()]", "[()]", "[()]", "[1, 2]", "[(1 1), (1 2), (2 1), (2 2)]"],
        ),
    ]);
}

#[test]
fn min_atom_keeps_int() {
    check(&[
        ("! (min-atom (3 1 2)) ! (max-atom (3 1 2.5))", &["[1.0]", "[3.0]"]),
        (
            "! (pragma! semantics strict) ! (min-atom (3 1 2)) ! (max-atom (3 1 2.5)) ! (max-atom (1 99999999999999999999))",
            &["[()]", "[1]", "[3]", "[99999999999999999999]"],
        ),
    ]);
}

#[test]
fn parse_error_keeps_results() {
    for (broken, code) in [
        ("(foo", "unclosed-expression"),
        ("foo)", "unexpected-close"),
        ("! \"abc", "unclosed-string"),
        ("! (a $x#1)", "reserved-in-variable"),
        ("! (a \0)", "nul-byte"),
        ("!", "bang-without-atom"),
    ] {
        let ran = run(&format!("(p 1)\n! (+ 1 2)\n! (match &self (p $x) $x)\n{broken}"));
        assert_eq!(ran.answers, ["[3]", "[1]"], "{broken:?}");
        assert!(matches!(ran.end, RunEnd::NotParsed), "{broken:?}: {:?}", ran.end);
        assert_eq!(ran.diagnostics[0].code, code);
    }
}

#[test]
fn bang_symbol_warns() {
    let ran = run("!foo\n! (match &self !foo yes)\n!(+ 1 2)\n(a !b)");
    assert_eq!(ran.answers, ["[yes]", "[3]"]);
    let warnings: Vec<_> = ran.diagnostics.iter().map(|one| (one.severity, one.code, one.span.start)).collect();
    assert_eq!(warnings, [(Severity::Warning, "bang-symbol", 0)]);
}

#[test]
fn bang_symbol_warns_in_an_imported_file() {
    let program = Program::new("! (import! &self a) ! (include b)");
    let ran = program.with_file("a.metta", "(p 1)\n  !foo").with_file("b.metta", "!bar").run();
    assert_eq!(ran.answers, ["[()]", "[]"]);
    let warning = |place: &str, word: &str| {
        format!("warning: {place}: `{word}` is a symbol: it is added to the space and not evaluated")
    };
    assert_eq!(ran.traced, [warning("a.metta:2:3", "!foo"), warning("b.metta:1:1", "!bar")]);
}

/// Texts with everything in them that needs an escape, or might.
fn difficult_texts() -> Vec<String> {
    let mut texts: Vec<String> = (0..0x250_u32).filter_map(char::from_u32).map(String::from).collect();
    texts.extend(
        ["", "\"", "\\", "\\\\\"", "\\n", "a\nb\r\t", "{}", "$x", ";", "(", "'", "\u{0}1", "\u{1b}[31m"]
            .map(String::from),
    );
    texts.extend(
        ["\u{feff}", "\u{200b}", "\u{301}", "e\u{301}", "\u{1F600}", "\u{10FFFF}", "\u{D7FF}\u{E000}"]
            .map(String::from),
    );
    texts
}

#[test]
fn string_escape_roundtrip() {
    use metta::syntax::{NodeKind, parse};
    for text in difficult_texts() {
        let printed = space::Atom::from(text.as_str()).to_string();
        let parsed = parse(&printed);
        assert_eq!(parsed.diagnostics, [], "{printed}");
        assert_eq!(parsed.tree.kind(parsed.tree.forms()[0].node), NodeKind::String(&text), "{printed}");
        let program =
            format!("(holds {printed}) ! {printed} ! (match &self (holds {printed}) found) ! (== {printed} {printed})");
        assert_eq!(answers(&program), [format!("[{printed}]"), "[found]".into(), "[True]".into()], "{printed}");
    }
}
