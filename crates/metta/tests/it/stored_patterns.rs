//! Matches whose answers include atoms with variables: rules and types that are data. The machine compiles such atoms.

use crate::harness::{Program, check_both};

/// Each of these, asked twice after some lines, gives this the second time, in both evaluators.
#[track_caller]
fn check_asked(lines: &str, asked: &[(&str, &str)]) {
    let programs: Vec<(String, &str)> =
        asked.iter().map(|(question, answer)| (format!("{lines}\n!{question}\n!{question}"), *answer)).collect();
    let programs: Vec<(&str, &str)> = programs.iter().map(|(text, answer)| (text.as_str(), *answer)).collect();
    check_both(&programs);
}

/// A space with these atoms, one a line.
fn space_of(name: &str, atoms: &str) -> String {
    let added = atoms.lines().map(str::trim).filter(|atom| !atom.is_empty());
    let added: Vec<String> = added.map(|atom| format!("!(add-atom {name} {atom})")).collect();
    format!("!(bind! {name} (new-space))\n{}\n", added.join("\n"))
}

#[test]
fn facts_and_atoms_with_variables_answer_in_the_order_in_which_they_were_added() {
    let atoms = "(: one (P a))
        (: two (-> (P $x) (Q $x)))
        (: three (P b))
        (: two (-> (P $x) (Q $x)))
        (: four (-> (P $y) (P $y)))
        (: one (P a))";
    let lines = space_of("&b", atoms) + "(= (ask $n $t) (match &b (: $n $t) ($n $t)))";
    check_asked(
        &lines,
        &[
            (
                "(ask $n $t)",
                "[(one (P a)), (one (P a)), (two (-> (P $x#) (Q $x#))), (two (-> (P $x#) (Q $x#))), (three (P b)), \
                 (four (-> (P $y#) (P $y#)))]",
            ),
            ("(ask $n (P $t))", "[(one (P a)), (one (P a)), (three (P b))]"),
            ("(ask two $t)", "[(two (-> (P $x#) (Q $x#))), (two (-> (P $x#) (Q $x#)))]"),
            ("(ask $n (-> $a (Q c)))", "[(two (-> (P c) (Q c))), (two (-> (P c) (Q c)))]"),
            ("(ask five $t)", "[]"),
        ],
    );
    let lines =
        space_of("&b", "(r $x one)\n$any\n(r a two)\n($f a three)") + "(= (ask $a) (match &b (r $a $n) ($a $n)))";
    check_asked(
        &lines,
        &[
            ("(ask a)", "[(a one), (a $n#), (a two), (a three)]"),
            ("(ask b)", "[(b one), (b $n#)]"),
            ("(ask $v)", "[($v one), ($v $n#), (a two), (a three)]"),
        ],
    );
}

/// A conjunction is asked as an atom, and each variable in it gets its number there.
#[test]
fn variables_of_a_conjunction_that_become_one_have_the_name_of_the_older() {
    let lines = space_of("&b", "$any\n(: $x $x)\n(: a b)")
        + "(= (ask $t) (match &b (, (: $n $t) c) ($n $t)))
         (: from (-> Atom %Undefined%)) (= (from $end) (collapse (ask $w)))";
    check_asked(&lines, &[("(from here)", "[(($n# $w#) ($w# $w#) (a b))]")]);
}

/// Of variables that become one, that of the call is left, then that of the pattern, then that of the atom.
#[test]
fn variables_of_an_answer_have_the_names_that_the_interpreter_gives_them() {
    let lines = space_of("&b", "(: r (-> (P $x) (Q $x $y)))\n(: s (-> $x $x))\n(: t $x $x)")
        + "(= (ask $p) (match &b (: $n $p) ($n $p)))
           (= (both $p) (match &b (: $n $a $b) ($a $b $p)))
           (= (inside) (match &b (: $n (-> $from $to)) ($n $from $to)))
           (= (given $q) (match &b (: $n $q $new) ($q $new)))
           (= (wrapped) (match &b (: $n (-> (P $in) $out)) ($in $out)))";
    check_asked(
        &lines,
        &[
            ("(ask $z)", "[(r (-> (P $x#) (Q $x# $y#))), (s (-> $x# $x#))]"),
            ("(ask (-> $a $b))", "[(r (-> (P $x#) (Q $x# $y#))), (s (-> $b $b))]"),
            ("(both 1)", "[($a# $a# 1)]"),
            ("(inside)", "[(r (P $x#) (Q $x# $y#)), (s $from# $from#)]"),
            ("(given $q)", "[($q $q)]"),
            ("(given (f $q))", "[((f $q) (f $q))]"),
            ("(wrapped)", "[($in# (Q $in# $y#)), ($in# (P $in#))]"),
        ],
    );
}

#[test]
fn what_occurs_twice_in_a_pattern_or_an_atom_must_become_equal() {
    let lines = space_of("&b", "(same $x $x)\n(twice (f $x) $x)\n(pair $x (f $x))\n(three $x $y $x)")
        + "(= (same $a $b) (match &b (same $a $b) (yes $a $b)))
           (= (twice $a $b) (match &b (twice $a $b) (yes $a $b)))
           (= (pair $a) (match &b (pair $a $a) (yes $a)))
           (= (three $a $b) (match &b (three $a (g $b) $n) (yes $a $b $n)))
           (= (own $a) (match &b (same $n (h $n $a)) (yes $n)))
           (= (fresh) (match &b (same $m $n) ($m $n)))";
    check_asked(
        &lines,
        &[
            ("(same 1 2)", "[]"),
            ("(same 1 $v)", "[(yes 1 1)]"),
            ("(same (f $v) (f 1))", "[(yes (f 1) (f 1))]"),
            ("(same (f $v) $v)", "[]"),
            ("(same $v $w)", "[(yes $w $w)]"),
            ("(twice $a $b)", "[(yes (f $b) $b)]"),
            ("(twice $a (f $a))", "[]"),
            ("(twice (f $a) $a)", "[(yes (f $a) $a)]"),
            ("(pair $a)", "[]"),
            ("(pair 1)", "[]"),
            ("(three $a $b)", "[(yes $a $b $a)]"),
            ("(three (k $b) $b)", "[(yes (k $b) $b (k $b))]"),
            ("(own 1)", "[]"),
            ("(fresh)", "[($m# $m#)]"),
        ],
    );
}

#[test]
fn values_match_by_what_they_are_worth() {
    let atoms = "(v 1 $x)
        (v 1.0 $x)
        (v 2.5 $x)
        (v \"text\" $x)
        (v True $x)
        (v 99999999999999999999 $x)
        (v () $x)
        (v (k 1) $x)
        (v 1 fact)
        (v \"text\" fact)
        (v (k 1.0) fact)
        (v (k (l 2.5)) fact)";
    let lines = space_of("&b", atoms)
        + "(= (ask $a) (match &b (v $a $n) ($a $n)))
           (= (fixed) (match &b (v 1 $n) $n))
           (= (floats) (match &b (v 2.5 $n) $n))
           (= (deep $a) (match &b (v (k $a) $n) ($a $n)))";
    check_asked(
        &lines,
        &[
            ("(ask 1)", "[(1 $n#), (1 $n#), (1 fact)]"),
            ("(ask 1.0)", "[(1.0 $n#), (1.0 $n#), (1.0 fact)]"),
            ("(ask 2.5)", "[(2.5 $n#)]"),
            ("(ask \"text\")", "[(\"text\" $n#), (\"text\" fact)]"),
            ("(ask True)", "[(True $n#)]"),
            ("(ask 99999999999999999999)", "[(99999999999999999999 $n#)]"),
            ("(ask ())", "[(() $n#)]"),
            ("(ask (k 1))", "[((k 1) $n#), ((k 1) fact)]"),
            ("(ask (k $v))", "[((k 1) $n#), ((k 1.0) fact), ((k (l 2.5)) fact)]"),
            ("(ask (k (l 2.5)))", "[((k (l 2.5)) fact)]"),
            ("(fixed)", "[$n#, $n#, fact]"),
            ("(floats)", "[$n#]"),
            ("(deep 1)", "[(1 $n#), (1 fact)]"),
            ("(deep $d)", "[(1 $n#), (1.0 fact), ((l 2.5) fact)]"),
            ("(let $x (+ 0.5 0.5) (ask $x))", "[(1.0 $n#), (1.0 $n#), (1.0 fact)]"),
        ],
    );
}

#[test]
fn a_match_sees_the_space_as_it_was_when_it_began() {
    let lines = space_of("&b", "(: one $x)\n(: two $x)")
        + "(= (grow $t) (match &b (: $n $t) (let $_ (add-atom &b (: (more $n) $x)) $n)))
           (= (shrink) (match &b (: $n a) (let $_ (remove-atom &b (: two $x)) $n)))
           (= (again $k) (if (== $k 0) () (let* (($found (collapse (match &b (: $n 1) $n)))
              ($_ (add-atom &b (: $k $x))) ($more (again (- $k 1)))) (cons-atom $found $more))))";
    check_asked(
        &lines,
        &[
            ("(grow a)", "[one, two, (more one), (more two)]"),
            ("(shrink)", "[one]"),
            ("(again 2)", "[((one two 2 1) (one two 2 2 1))]"),
        ],
    );
    check_both(&[
        (&format!("{lines} !(grow a)"), "[one, two]"),
        (&format!("{lines} !(shrink)"), "[one, two]"),
        (&format!("{lines} !(again 3)"), "[((one two) (one two 3) (one two 3 2))]"),
    ]);
}

#[test]
fn states_and_spaces_in_patterns_and_atoms_match_by_what_they_hold() {
    let lines = space_of("&in", "(p (inner 7))")
        + "!(bind! &st (new-state 1))\n"
        + &space_of(
            "&b",
            "(held &st $x)\n(held (new-state 1) $x)\n(kept $x $x)\n(space &in $x)\n(free $x one)\n(free (p $q) two)",
        )
        + "(= (held $s) (match &b (held $s $n) $s))
           (= (kept $s $t) (match &b (kept $s $t) yes))
           (= (space $s) (match &b (space $s $n) $s))
           (= (free $s) (match &b (free $s $n) $n))";
    check_asked(
        &lines,
        &[
            ("(held &st)", "[(State 1)]"),
            ("(held $s)", "[(State 1), (State 1)]"),
            ("(let $o (new-state 1) (kept &st $o))", "[yes]"),
            ("(let $o (new-state 2) (kept &st $o))", "[]"),
            ("(space (p $q))", "[(p (inner 7))]"),
            ("(free &in)", "[one, two]"),
            ("(free &st)", "[one]"),
            ("(free 1)", "[one]"),
        ],
    );
}

/// The space itself answers first, then what it imports; a change of either is seen by the next match.
#[test]
fn imports_answer_after_the_space_itself() {
    let text = "!(import! &self rules)
        (= (ask $t) (match &self (kind $n $t) ($n $t)))
        (kind own (P $x))
        !(ask (P 1))
        !(ask (P 1))
        !(add-atom &self (kind late $x))
        !(ask (P 1))
        !(grow)
        !(ask (P 1))";
    for evaluator in [metta::Evaluator::Interpreter, metta::Evaluator::Machine] {
        let rules = "(kind first (P $x)) (kind second (P 1)) (= (grow) (add-atom &self (kind third $x)))";
        let program = Program::new(text).with_file("rules.metta", rules).with_evaluator(evaluator);
        let asked: Vec<String> = program.run().answers.into_iter().filter(|line| line.contains("own")).collect();
        let before = "[(own (P 1)), (first (P 1)), (second (P 1))]";
        let after = "[(own (P 1)), (late (P 1)), (first (P 1)), (second (P 1))]";
        let last = "[(own (P 1)), (late (P 1)), (first (P 1)), (second (P 1)), (third (P 1))]";
        assert_eq!(asked, [before, before, after, last], "{evaluator:?}");
    }
}

/// More atoms than are tried one by one, which are told apart by a word, by the head of an expression and by what is inside.
#[test]
fn many_atoms_are_looked_up_by_what_is_known() {
    let mut atoms = String::from("(: any $x)\n");
    for place in 0..40 {
        atoms += &format!("(: name{place} (Head{} key{place} $x))\n(: name{place} {})\n", place % 4, place % 5);
    }
    let lines = space_of("&b", &atoms)
        + "(= (ask $n $t) (match &b (: $n $t) $n))
           (= (inside $h $k) (match &b (: $n (Head3 $k $v)) ($n $k)))";
    check_asked(
        &lines,
        &[
            ("(ask name7 $t)", "[name7, name7]"),
            ("(ask $n (Head2 key6 1))", "[any, name6]"),
            ("(ask name6 (Head2 key6 1))", "[name6]"),
            (
                "(ask $n (Head2 $k (more $v)))",
                "[any, name2, name6, name10, name14, name18, name22, name26, name30, name34, name38]",
            ),
            ("(ask $n 4.0)", "[any, name4, name9, name14, name19, name24, name29, name34, name39]"),
            ("(ask $n (Head2 key7 1))", "[any]"),
            ("(ask name50 $t)", "[]"),
            ("(inside Head3 key11)", "[(any key11), (name11 key11)]"),
            ("(let $all (collapse (ask $n $t)) (size-atom $all))", "[81]"),
        ],
    );
}

/// A chainer builds its proofs in the heap: no atom is made for what a match has found.
#[test]
fn a_match_of_rules_that_are_data_makes_no_atoms() {
    let lines = space_of(
        "&b",
        "(: greek (Greek socrates))\n(: human (-> (Greek $x) (Human $x)))\n(: mortal (-> (Human $x) (Mortal $x)))",
    ) + "(= (rule $goal) (match &b (: $r (-> $p $goal)) $p))
           (= (loop $k) (if (== $k 0) done (let $p (rule (Mortal $k)) (loop (- $k 1)))))";
    let allocations = |times: usize| {
        let text = format!("{lines} !(loop {times})");
        let measured = allocation_counter::measure(|| {
            assert_eq!(Program::new(text.as_str()).run().answers.last().unwrap(), "[done]")
        });
        measured.count_total
    };
    let (few, many) = (allocations(1_000), allocations(3_000));
    assert!(many < few + 1_000, "{few} allocations for 1,000 matches, {many} for 3,000");
}
