//! Every operation and every function of the library is called with data that holds its parts many times, in each place of an argument.
//!
//! Such an atom is small in memory, and longer than any disk where it is written out: an operation that looks into each copy of a part
//! never ends, and no limit of steps ends it, since it takes one step. So each call must end soon, whatever it comes to.

use crate::harness::Program;
use metta::Evaluator;
use metta::stdlib::{bundled_operations, operations};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

const DOUBLE: &str = "(= (double $n $x) (if (== $n 0) $x (double (- $n 1) (P $x $x)))) !(bind! &st (new-state a))";

/// What is written in MeTTa, with the module that must be imported for it: the library, and the modules that come with the program.
const SOURCES: [(Option<&str>, &str); 7] = [
    (None, include_str!("../../src/stdlib/prelude.metta")),
    (Some("concurrency"), include_str!("../../src/bundled/concurrency.metta")),
    (Some("json"), include_str!("../../src/bundled/json.metta")),
    (Some("live-queries"), include_str!("../../src/bundled/live_queries.metta")),
    (Some("random"), include_str!("../../src/bundled/random.metta")),
    (Some("tuples"), include_str!("../../src/bundled/tuples.metta")),
    (Some("valid-time"), include_str!("../../src/bundled/valid_time.metta")),
];

/// How long a call may take. All of them take milliseconds; the machine that runs this may be busy.
const LONGEST: Duration = Duration::from_secs(20);

/// How many calls that do not end are enough: each of them keeps a thread.
const STUCK_MAX: usize = 12;

/// A function: its name, the types of its parameters, and the module that must be imported for it.
struct Function {
    name: String,
    parameters: Vec<String>,
    module: Option<&'static str>,
}

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
    let bundled = bundled_operations().map(|(module, spec)| (Some(module), spec));
    let natives = operations().map(|spec| (None, spec)).chain(bundled).map(|(module, spec)| {
        let parameters = spec.signature.and_then(parameters).unwrap_or_else(|| vec!["Atom".to_owned(); 3]);
        Function { name: spec.name.to_owned(), parameters, module }
    });
    let written = SOURCES.iter().flat_map(|&(module, source)| {
        source.lines().filter_map(move |line| {
            let [name, signature] = &parts(line.strip_prefix("(: ")?.strip_suffix(')')?)[..] else { return None };
            Some(Function { name: name.clone(), parameters: parameters(signature)?, module })
        })
    });
    natives.chain(written).filter(|function| !function.parameters.is_empty()).collect()
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
        "Store" => "(store-open! \"s\")",
        "Pages" => "(pages-new!)",
        name if name.starts_with("(StateMonad") => "&st",
        _ => "a",
    }
}

/// Programs with a call each.
fn programs() -> Vec<String> {
    let mut programs = Vec::new();
    for Function { name, parameters: types, module } in functions() {
        let import = module.map(|module| format!("!(import! &self {module})\n")).unwrap_or_default();
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
            let program = |call: &String| format!("{import}{DOUBLE} !(let $q (double 36 {leaf}) ({name} {call}))");
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
                _ = Program::new(program).with_steps(4_000).with_evaluator(evaluator).keep_going().run();
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
    let mut programs = programs();
    assert!(programs.len() > 1000, "{} calls", programs.len());
    // One of five, unless all is to be gone through: calls of a function come in fours, sixes and eights.
    if std::env::var_os("METROON_EXHAUSTIVE").is_none() {
        programs = programs.into_iter().step_by(5).collect();
    }
    let stuck = stuck(&programs, evaluator);
    assert!(stuck.is_empty(), "these did not end:\n{}", stuck.join("\n"));
}

#[test]
fn calls_with_shared_parts_end_in_the_machine() {
    check(Evaluator::Machine);
}

#[test]
fn calls_with_shared_parts_end_in_the_interpreter() {
    check(Evaluator::Interpreter);
}
