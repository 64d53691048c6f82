//! Every operation and every function of the library is called with data that holds its parts many times, in each place of an argument.
//!
//! Such an atom is small in memory, and longer than any disk where it is written out: an operation that looks into each copy of a part
//! never ends, and no limit of steps ends it, since it takes one step. So each call must end soon, whatever it comes to.

use crate::harness::Program;
use metta::Evaluator;
use metta::stdlib::{every_operation, operations};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

const DOUBLE: &str = "(= (double $n $x) (if (== $n 0) $x (double (- $n 1) (P $x $x)))) !(bind! &st (new-state a))";

const MODULES: [&str; 17] = [
    "assoc",
    "catalog",
    "concurrency",
    "dates",
    "fileio",
    "graphs",
    "json",
    "live-queries",
    "queues",
    "random",
    "reasons",
    "regex",
    "sets",
    "strings",
    "system",
    "tuples",
    "valid-time",
];

/// What is written in MeTTa: the library, and the modules that come with the program.
const SOURCES: [&str; 7] = [
    include_str!("../../src/stdlib/prelude.metta"),
    include_str!("../../src/bundled/concurrency.metta"),
    include_str!("../../src/bundled/json.metta"),
    include_str!("../../src/bundled/live_queries.metta"),
    include_str!("../../src/bundled/random.metta"),
    include_str!("../../src/bundled/tuples.metta"),
    include_str!("../../src/bundled/valid_time.metta"),
];

/// How long a call may take. All of them take milliseconds; the machine that runs this may be busy.
const LONGEST: Duration = Duration::from_secs(20);

/// How many calls that do not end are enough: each of them keeps a thread.
const STUCK_MAX: usize = 12;

/// A name, the types of its parameters, and whether it is known without an import.
type Function = (String, Vec<String>, bool);

/// The parts of a text at the outermost level: `A (B C) D` has three.
fn parts(text: &str) -> Vec<String> {
    let (mut depth, mut found) = (0, vec![String::new()]);
    for character in text.chars() {
        depth += i32::from(character == '(') - i32::from(character == ')');
        match found.last_mut() {
            Some(last) if depth > 0 || !character.is_whitespace() => last.push(character),
            _ => found.push(String::new()),
        }
    }
    found.retain(|part| !part.is_empty());
    found
}

/// The types of the parameters of a function type.
fn parameters(signature: &str) -> Option<Vec<String>> {
    let mut all = parts(signature.strip_prefix("(->")?.strip_suffix(')')?);
    all.pop();
    Some(all)
}

fn functions() -> Vec<Function> {
    let core: Vec<&str> = operations().map(|spec| spec.name).collect();
    let natives = every_operation().map(|spec| {
        let types = spec.signature.and_then(parameters).unwrap_or_else(|| vec!["Atom".to_owned(); 3]);
        (spec.name.to_owned(), types, core.contains(&spec.name))
    });
    let written = SOURCES.iter().enumerate().flat_map(|(place, source)| {
        source.lines().filter_map(move |line| {
            let [name, signature] = &parts(line.strip_prefix("(: ")?.strip_suffix(')')?)[..] else { return None };
            Some((name.clone(), parameters(signature)?, place == 0))
        })
    });
    natives.chain(written).filter(|(_, types, _)| !types.is_empty()).collect()
}

/// An argument of a type that most functions take.
fn ordinary(type_name: &str) -> &'static str {
    match type_name {
        "Number" => "3",
        "String" => "\"text\"",
        "Bool" => "True",
        "SpaceType" | "hyperon::space::DynSpace" => "&self",
        "Expression" => "(a b)",
        "Variable" => "$z",
        name if name.starts_with("(StateMonad") => "&st",
        _ => "a",
    }
}

/// Programs with a call each.
fn programs() -> Vec<String> {
    let imports: String = MODULES.iter().map(|module| format!("!(import! &self {module})\n")).collect();
    let mut programs = Vec::new();
    for (name, types, is_known) in functions() {
        let ordinary: Vec<&str> = types.iter().map(|name| ordinary(name)).collect();
        let with = |is_shared: &dyn Fn(usize) -> bool| {
            let argument =
                |(place, given): (usize, &&str)| if is_shared(place) { "$q".to_owned() } else { (*given).to_owned() };
            ordinary.iter().enumerate().map(argument).collect::<Vec<_>>().join(" ")
        };
        let mut calls: Vec<String> = (0..types.len()).map(|shared| with(&|place| place == shared)).collect();
        calls.push(with(&|_| true));
        // A list that holds it, for what takes lists apart.
        calls.push(with(&|_| true).replace("$q", "($q a $q)"));
        for leaf in ["a", "$v"] {
            let import = if is_known { "" } else { &imports };
            let program = |call: &String| format!("{import}{DOUBLE} !(let $q (double 60 {leaf}) ({name} {call}))");
            programs.extend(calls.iter().map(program));
        }
    }
    programs.dedup();
    programs
}

/// Runs programs one after the other on threads of their own; gives those that did not end in time.
fn stuck(programs: &[String], evaluator: Evaluator) -> Vec<String> {
    let (mut next, mut stuck) = (0, Vec::new());
    while next < programs.len() && stuck.len() < STUCK_MAX {
        let (ended, has_ended) = channel();
        let left = programs[next..].to_vec();
        thread::spawn(move || {
            for program in left {
                _ = Program::new(program).with_steps(20_000).with_evaluator(evaluator).keep_going().run();
                if ended.send(()).is_err() {
                    break;
                }
            }
        });
        loop {
            match has_ended.recv_timeout(LONGEST) {
                Ok(()) => next += 1,
                Err(RecvTimeoutError::Disconnected) if next == programs.len() => break,
                Err(why) => {
                    stuck.push(format!("{why}: {}", programs[next].lines().last().unwrap_or_default()));
                    next += 1;
                    break;
                }
            }
        }
    }
    stuck
}

fn check(evaluator: Evaluator) {
    let programs = programs();
    assert!(programs.len() > 1000, "{} calls", programs.len());
    let stuck = stuck(&programs, evaluator);
    assert!(stuck.is_empty(), "these did not end:\n{}", stuck.join("\n"));
}

#[test]
fn every_call_with_shared_parts_ends_in_the_machine() {
    check(Evaluator::Machine);
}

#[test]
fn every_call_with_shared_parts_ends_in_the_interpreter() {
    check(Evaluator::Interpreter);
}
