//! A program prints the same lines, whoever runs it and however often: the numbers of fresh variables and the
//! names of spaces included.

use crate::generated::{SOUND, rule_set, sentence};
use crate::harness::{Program, Ran, run};
use generate::Dice;

/// Programs in which fresh variables, spaces, states and multisets are seen.
const REVEALING: &[&str] = &[
    "(= (f) $x) ! (f) ! (collapse (superpose ((f) (f)))) (rule $a $b) ! (get-atoms &self) ! (match &self (rule $p $q) ($p $q))",
    "! (new-space) ! (bind! &s (new-space)) ! &s ! (new-space) ! (context-space) ! (new-state (new-space))",
    "! (unique-atom (c a b a $x $y c)) ! (intersection-atom (a b c d e f) (f e d c b a)) ! (subtraction-atom (a b c d) (b))",
    "! (assertEqual (superpose (a b c d e)) (superpose (f g h i j)))",
    "(: a A) (: a B) (: a C) (: a D) (: f (-> A R1)) (: f (-> B R2)) ! (get-type (f a)) ! (get-type (a a))",
    "(:< A B) (:< A C) (:< A D) (: x A) ! (get-type x) ! (print-mods!) ! (help! if)",
    "(f a) (f b) (g c) (h $z) (f d) ! (match &self ($h $x) ($h $x)) ! (match &self (, ($h $x) ($k $x)) ($h $k))",
    "! (sealed () (foo $x $y)) ! (chain (collapse-bind (unify ($x $y) ($y a) ok no)) $r $r)",
];

fn assert_same(text: &str, first: &Ran, again: &Ran) {
    assert_eq!(first.lines, again.lines, "{text}");
    assert_eq!(first.traced, again.traced, "{text}");
    assert_eq!(format!("{:?}", first.statistics), format!("{:?}", again.statistics), "{text}");
}

#[test]
fn a_program_prints_the_same_every_time() {
    for text in REVEALING.iter().chain(SOUND) {
        let first = run(text);
        for _ in 0..3 {
            assert_same(text, &first, &run(text));
        }
    }
}

#[test]
fn a_program_prints_the_same_on_every_thread() {
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..4).map(|_| scope.spawn(|| REVEALING.iter().map(|text| run(text)).collect::<Vec<_>>())).collect();
        let all: Vec<Vec<Ran>> = threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
        for ran in &all[1..] {
            REVEALING.iter().zip(&all[0]).zip(ran).for_each(|((text, first), again)| assert_same(text, first, again));
        }
    });
}

#[test]
fn generated_programs_print_the_same_twice() {
    for seed in 0..150 {
        let text = if seed % 3 == 0 { rule_set(&mut Dice::new(seed)) } else { sentence(&mut Dice::new(seed)) };
        let twice = [(); 2].map(|()| Program::new(text.as_str()).with_steps(2_000).run());
        assert_same(&text, &twice[0], &twice[1]);
    }
}
