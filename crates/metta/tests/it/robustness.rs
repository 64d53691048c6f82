//! Whatever the text, a run ends: no panic, no more steps than allowed, and no more time than they take.

use crate::generated::{damaged, rule_set, sentence, soup};
use crate::harness::{Program, Ran};
use generate::Dice;
use metta::RunEnd;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The most steps a generated program may take in one `!`. Each may be a result, and each of these larger than the one before.
const STEPS_MAX: u64 = 2_000;

/// No generated program needs as long as this.
const TIME_MAX: Duration = Duration::from_secs(60);

/// Runs a program on a thread of its own, under the step limit; panics if it does not come back.
fn run_bounded(text: &str) -> Ran {
    let (sender, receiver) = channel();
    let program = Program::new(text).with_steps(STEPS_MAX);
    std::thread::spawn(move || drop(sender.send(program.run())));
    match receiver.recv_timeout(TIME_MAX) {
        Ok(ran) => ran,
        Err(RecvTimeoutError::Timeout) => panic!("this program does not end:\n{text}"),
        Err(RecvTimeoutError::Disconnected) => panic!("this program panics:\n{text}"),
    }
}

/// Runs that many programs of a kind; gives how many of them ran to their end.
fn run_many(programs: u64, make: fn(&mut Dice) -> String) -> usize {
    let mut finished = 0;
    for seed in 0..programs {
        let text = make(&mut Dice::new(seed));
        let ran = run_bounded(&text);
        finished += usize::from(matches!(ran.end, RunEnd::Finished));
        assert!(ran.statistics.steps <= STEPS_MAX * ran.statistics.evaluations, "{text}");
    }
    finished
}

#[test]
fn random_token_soups_never_panic() {
    let finished = run_many(1_000, soup);
    assert!((5..500).contains(&finished), "{finished} of 1,000 parse and end");
}

#[test]
fn random_well_formed_programs_never_panic() {
    let finished = run_many(1_000, sentence);
    assert!((5..500).contains(&finished), "{finished} of 1,000 end without an error");
}

#[test]
fn damaged_programs_never_panic() {
    let finished = run_many(1_000, damaged);
    assert!((100..900).contains(&finished), "{finished} of 1,000 parse and end without an error");
}

#[test]
fn generated_rules_end_within_their_fuel() {
    let finished = run_many(300, rule_set);
    assert!((30..270).contains(&finished), "{finished} of 300 end before their fuel");
}
