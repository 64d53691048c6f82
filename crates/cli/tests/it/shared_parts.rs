//! Data that holds its parts many times, on its way through commands: what would write it out ends soon, and says why.

use crate::harness::Folder;
use std::time::{Duration, Instant};

/// `(double N a)` is an atom of N levels, each of which is a pair of the one below.
const DOUBLE: &str = "(= (double $n $x) (if (== $n 0) $x (double (- $n 1) (P $x $x))))\n";

/// As long as no command takes that does not write it out, on a busy machine.
const LONGEST: Duration = Duration::from_secs(20);

/// Runs a program with these flags in both evaluators; what it wrote, and how it ended.
fn ends(test: &str, flags: &[&str], program: &str) -> Vec<(Option<i32>, String)> {
    let mut ended = Vec::new();
    for evaluator in [None, Some("--interpreter")] {
        let folder = Folder::new(&format!("{test}{}", evaluator.unwrap_or_default()));
        folder.write("program.metta", &format!("{DOUBLE}{program}"));
        let mut arguments = vec!["run"];
        arguments.extend(flags);
        arguments.extend(evaluator);
        arguments.push("program.metta");
        let began = Instant::now();
        let run = folder.run(&arguments);
        assert!(began.elapsed() < LONGEST, "{arguments:?} took {:?}: {program}", began.elapsed());
        assert!(run.out.len() + run.err.len() < 1 << 16, "{arguments:?}: {program}");
        ended.push((run.code, run.out + &run.err));
    }
    ended
}

#[test]
fn what_watches_a_run_shows_beginnings() {
    let programs = [
        "!(let $q (double 60 a) (size-atom $q))",
        "(= (size $x) (size-atom $x))\n!(let $q (double 60 a) (size $q))",
        "(= (first ($x $y $z)) $x)\n!(let $q (double 60 a) (first $q))",
        "!(let $q (double 60 a) (+ 1 $q))",
        "(: g (-> Number Number))\n!(let $q (double 60 a) (g $q))",
        "!(let $q (double 60 a) (car-atom (Error $q $q)))",
        "!(let $q (double 60 a) (match &self $q 1))",
    ];
    for flags in [
        &["--stats"][..],
        &["--profile", "profile.json"],
        &["--trace", "double"],
        &["--trace", "size"],
        &["--explain-queries"],
        &["--json"],
        &["--notes", "--keep-going"],
        &["--record", "tape"],
    ] {
        for program in programs {
            ends("shared-watched", flags, program);
        }
    }
}

#[test]
fn a_text_of_shared_parts_is_refused_before_it_is_written() {
    for program in
        ["!(println! (double 60 a))", "!(let $q (double 60 a) (repr $q))", "!(assertEqual (double 60 a) (double 59 b))"]
    {
        for (code, said) in ends("shared-text", &[], program) {
            assert!(code == Some(1) && said.contains("more than 268435456 bytes"), "{program}: {code:?} {said}");
        }
    }
}

#[test]
fn a_base_keeps_what_can_be_written() {
    for program in [
        "!(let $q (double 60 a) (add-atom &self $q))",
        "!(let $q (double 60 a) (add-atom &self (fact $q)))",
        "!(let $q (double 60 $v) (add-atom &self (fact $q)))",
        "!(let $q (double 60 a) (bind! &word $q))",
        "!(let $q (double 60 a) (pragma! word $q))",
        "!(bind! &s (new-state a))\n!(let $q (double 60 a) (let $x (change-state! &s $q) done))",
    ] {
        for (code, said) in ends("shared-base", &["--kb", "base"], program) {
            assert!(code == Some(1) && said.contains("and cannot be kept: ("), "{program}: {code:?} {said}");
        }
    }
    // What is long is kept.
    for (code, said) in
        ends("shared-base-short", &["--kb", "base"], "!(let $q (double 16 a) (add-atom &self (fact $q)))")
    {
        assert!(code == Some(0), "{said}");
    }
}

#[test]
fn a_base_is_as_it_was_before_what_it_did_not_keep() {
    let folder = Folder::new("shared-base-again");
    folder.write("one.metta", "(fact 1)\n");
    folder.write("two.metta", &format!("{DOUBLE}(fact 2)\n!(let $q (double 60 a) (add-atom &self (fact $q)))\n"));
    folder.good(&["run", "--kb", "base", "one.metta"]);
    assert_eq!(folder.run(&["run", "--kb", "base", "two.metta"]).code, Some(1));
    let again = folder.good(&["run", "--kb", "base", "-e", "!(match &self (fact $x) $x)"]);
    assert!(again.contains('1') && !again.contains('P'), "{again}");
}
