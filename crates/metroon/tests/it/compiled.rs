//! Which forms of the library the machine has code for: `corpus/compiled.tsv` says so for each, and each is run in a loop.

use crate::harness::{STEPS_MAX, output_with, print_answer, programs, read, root};
use metroon::{Engine, Evaluator, MemoryWorld};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// How often each form is called.
const TIMES: u64 = 30;

/// How many forms may be left to the interpreter. It may only shrink.
const INTERPRETED_MAX: usize = 13;

/// A form as the table has it.
struct Form {
    name: String,
    /// Why it is interpreted, if it is.
    reason: Option<String>,
    expression: String,
    definitions: String,
}

fn corpus() -> PathBuf {
    root().join("corpus")
}

fn forms() -> Vec<Form> {
    let table = read(&corpus().join("compiled.tsv"));
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let [name, how, expression, definitions] = fields[..] else { panic!("not four fields: {line}") };
            let reason = how.strip_prefix("interpreted: ").map(str::to_owned);
            assert!(how == "compiled" || reason.as_ref().is_some_and(|reason| !reason.is_empty()), "{line}");
            let [name, expression, definitions] = [name, expression, definitions].map(str::to_owned);
            Form { name, reason, expression, definitions }
        })
        .collect()
}

impl Form {
    /// A program that calls the form in a loop.
    fn in_a_loop(&self) -> String {
        let Self { expression, definitions, .. } = self;
        format!(
            "{definitions}\n(= (step $n) {expression})\n(= (loop $n) (if (== $n 0) done (let $ignored (collapse (step $n)) \
             (loop (- $n 1)))))\n!(loop {TIMES})\n"
        )
    }

    /// How many expressions were left to the interpreter.
    fn interpreted(&self) -> u64 {
        let world = programs(&corpus(), "", MemoryWorld::default());
        let printed = world.output();
        let mut engine = Engine::without(world, &[]);
        engine.limits_mut().steps_max = Some(STEPS_MAX);
        engine.run_text(&self.in_a_loop(), &mut print_answer);
        let count = engine.session().statistics().interpreted;
        drop(engine);
        let last = printed.printed().pop().unwrap_or_default();
        assert_eq!(last, "[done]", "{} {}", self.name, self.expression);
        count
    }
}

#[test]
fn each_name_of_the_library_has_a_form() {
    let forms = forms();
    let known: BTreeSet<&str> = forms.iter().map(|form| form.name.as_str()).collect();
    let coverage = read(&corpus().join("coverage.tsv"));
    let names = coverage.lines().filter_map(|line| line.split_once('\t')).map(|(name, _)| name);
    let missing: Vec<&str> = names.filter(|name| !known.contains(name)).collect();
    assert!(missing.is_empty(), "corpus/compiled.tsv has no line for {}", missing.join(", "));
}

#[test]
fn what_the_table_calls_compiled_is_never_left_to_the_interpreter() {
    let forms = forms();
    let mut wrong = Vec::new();
    for form in &forms {
        let count = form.interpreted();
        match (&form.reason, count) {
            (None, 0) => {}
            (None, count) => wrong.push(format!("{}: {} is interpreted {count} times", form.name, form.expression)),
            (Some(_), 0) => wrong.push(format!("{}: {} is compiled now: say so", form.name, form.expression)),
            (Some(_), _) => {}
        }
    }
    assert!(wrong.is_empty(), "corpus/compiled.tsv is not right:\n{}", wrong.join("\n"));
    let exceptions = forms.iter().filter(|form| form.reason.is_some()).count();
    assert!(exceptions <= INTERPRETED_MAX, "{exceptions} forms are interpreted, {INTERPRETED_MAX} before");
}

#[test]
fn each_form_has_the_same_answers_in_both_evaluators() {
    let mut differences = Vec::new();
    for form in forms() {
        let Form { expression, definitions, .. } = &form;
        let text = format!(
            "{definitions}\n(= (step $n) {expression})\n(= (inside $n) (got {expression}))\n!(step 7)\n!(inside 3)\n!(step 1)\n"
        );
        let [one, other] = [Evaluator::Interpreter, Evaluator::Machine].map(|evaluator| {
            let (printed, _) = output_with(evaluator, &corpus(), &text, &[]);
            generate::unnumbered(&printed)
        });
        if one != other {
            differences.push(format!("{}: {expression}\n  interpreter {one:?}\n  machine     {other:?}", form.name));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
