//! Results of a form as other threads read them, while the evaluation goes on.

use crate::harness::line_of;
use metta::{Evaluator, FrozenResults, MemoryWorld, Session};
use space::Atom;
use std::sync::Arc;
use std::sync::mpsc::channel;

/// The frozen results of each form of a program, and its results as atoms.
fn run(text: &str) -> Vec<(Arc<FrozenResults>, Vec<Atom>)> {
    let mut session = Session::new(Box::new(MemoryWorld::default()));
    session.freeze_results(true);
    let mut all = Vec::new();
    session.run(text, &mut |_, answer| {
        let frozen = answer.frozen.expect("it was asked for").as_ref().expect("there is room");
        all.push((Arc::clone(frozen), answer.results.to_vec()));
        Ok(())
    });
    all
}

const PROGRAM: &str = r#"
    (= (list $n) (if (== $n 0) Nil (Cons $n (list (- $n 1)))))
    (= (pair $x $y) (P $x $y)) (= (f a) 1) (= (f b) 2) (fact (g 1)) (fact (g 2))
    !(list 2000)
    !(superpose (1 2.5 "text" True (A $x $x ()) 100000000000000000000 -7))
    !(collapse (f $x))
    !(let $x (f $y) (got $x $y))
    !(pair $u (+ 1 2))
    !(match &self (fact $what) $what)
    !(empty)
    !((new-state 3) &self +)
    ! Empty
"#;

#[test]
fn frozen_results_are_the_results() {
    let all = run(PROGRAM);
    assert_eq!(all.len(), 9);
    for (frozen, results) in &all {
        assert_eq!(frozen.len(), results.len());
        assert_eq!(frozen.is_empty(), results.is_empty());
        let atoms: Vec<String> = frozen.atoms().map(|atom| atom.to_string()).collect();
        let expected: Vec<String> = results.iter().map(Atom::to_string).collect();
        assert_eq!(atoms, expected);
        assert_eq!(frozen.get(results.len()), None);
        // Variables are the same ones, not only of the same name.
        assert!(frozen.atoms().eq(results.iter().cloned()));
    }
}

/// What an imported source evaluates on the way are no results of the form that imports it.
#[test]
fn results_of_an_imported_source_are_not_those_of_the_import() {
    let world = MemoryWorld::default().with_source("inner.metta", "(= (two) 2) !(two) !(+ (two) 40)");
    let mut session = Session::new(Box::new(world));
    session.freeze_results(true);
    let mut all = Vec::new();
    session.run("!(import! &self inner) !(superpose ((two) 3))", &mut |_, answer| {
        let frozen = answer.frozen.map(|frozen| frozen.as_ref().expect("there is room").atoms().collect::<Vec<_>>());
        all.push((frozen, answer.results.to_vec()));
        Ok(())
    });
    let numbers = [2, 3].map(|number: i64| Atom::from(space::Number::Int(number)));
    assert_eq!(all, [(Some(vec![Atom::unit()]), vec![Atom::unit()]), (Some(numbers.to_vec()), numbers.to_vec())]);
}

#[test]
fn another_thread_reads_results_while_the_evaluation_goes_on() {
    let (sender, receiver) = channel::<(Arc<FrozenResults>, String)>();
    let reader = std::thread::spawn(move || {
        let mut held = Vec::new();
        let mut read = 0;
        for (frozen, expected) in receiver {
            held.push((frozen, expected));
            // All that came so far, again and again, while later forms are evaluated and garbage is collected.
            for (frozen, expected) in &held {
                let atoms: Vec<String> = frozen.atoms().map(|atom| atom.to_string()).collect();
                assert_eq!(format!("[{}]", atoms.join(", ")), *expected);
                read += 1;
            }
        }
        read
    });
    let mut session = Session::new(Box::new(MemoryWorld::default()));
    session.freeze_results(true);
    session.collect_garbage_from(1 << 12);
    let rules = "(= (list $n) (if (== $n 0) Nil (Cons $n (list (- $n 1))))) (= (alt $n) $n) (= (alt $n) (but $n $x))\n";
    let forms = (0..40).fold(rules.to_owned(), |text, n| format!("{text} !(list {n}) !(alt {n})"));
    let ran = session.run(&forms, &mut |_, answer| {
        let frozen = answer.frozen.expect("it was asked for").as_ref().expect("there is room");
        sender.send((Arc::clone(frozen), line_of(answer))).expect("the reader listens");
        Ok(())
    });
    assert!(matches!(ran.end, metta::RunEnd::Finished));
    drop(sender);
    assert_eq!(reader.join().expect("what was read is right"), (1..=80).sum::<u32>());
}

/// An alternative that a limit ended had bound what an earlier result holds.
#[test]
fn results_before_a_limit_are_as_they_were() {
    let text = "(= (f $x) (found $x)) (= (f $x) (let $x 1 (loop $x))) (= (loop $x) (loop $x)) !(f $y)";
    let mut session = Session::new(Box::new(MemoryWorld::default()));
    session.limits_mut().steps_max = Some(1_000);
    session.freeze_results(true);
    let mut lines = Vec::new();
    session.run(text, &mut |_, answer| {
        let frozen = answer.frozen.expect("it was asked for").as_ref().expect("there is room");
        lines.push((line_of(answer), frozen.atoms().map(|atom| atom.to_string()).collect::<Vec<_>>()));
        Ok(())
    });
    let (line, frozen) = &lines[0];
    assert!(line.starts_with("[(found $y), (Error "), "{line}");
    assert_eq!(frozen, &["(found $y)"]);
}

#[test]
fn nothing_is_frozen_unasked_or_by_the_interpreter() {
    let mut session = Session::new(Box::new(MemoryWorld::default()));
    let mut frozen = 0;
    session.run("!(+ 1 2)", &mut |_, answer| {
        frozen += usize::from(answer.frozen.is_some());
        Ok(())
    });
    session.freeze_results(true);
    session.set_evaluator(Evaluator::Interpreter);
    session.run("!(+ 1 2)", &mut |_, answer| {
        frozen += usize::from(answer.frozen.is_some());
        Ok(())
    });
    assert_eq!(frozen, 0);
}

#[test]
fn a_deep_result_is_frozen_and_read() {
    let all = run("(= (deep $n) (if (== $n 0) Z (S (deep (- $n 1))))) !(deep 200000)");
    let (frozen, results) = &all[0];
    assert_eq!(frozen.get(0).as_ref(), Some(&results[0]));
}
