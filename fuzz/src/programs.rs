//! Texts that are said to be programs: read, laid out, checked, and evaluated in both ways.
//!
//! 1. Of the bytes the first says what the others are: a text as it stands, or numbers of words out of [`WORDS`], so that most inputs have
//!    expressions in them.
//! 2. Each function does one thing with the text, and asserts what must hold whatever the text is.
//!
//! This file is compiled by the fuzz targets and by the tests of the language, which run it on inputs of their own.
#![allow(dead_code, reason = "each fuzz target calls one of the functions")]

use metta::syntax::{Diagnostic, Parsed, parse};
use metta::{Evaluator, Limits, MemoryWorld, ModuleId, RunEnd, Session, Source, Tokenizer, check, format, read_atom};

/// Words that programs are made of.
const WORDS: [&str; 64] = [
    "(",
    ")",
    "(",
    ")",
    "(",
    ")",
    "(",
    ")",
    "\n!(",
    "\n(= (",
    "\n(: ",
    "))",
    "$x",
    "$y",
    "$z",
    "$_",
    "0",
    "1",
    "2",
    "-3",
    "2.5",
    "True",
    "False",
    "\"text\"",
    "f",
    "g",
    "h",
    "a",
    "b",
    "S",
    "Z",
    "Number",
    "->",
    "Atom",
    "Type",
    "=",
    ":",
    "+",
    "-",
    "*",
    "<",
    "==",
    "if",
    "let",
    "let*",
    "case",
    "match",
    "&self",
    "unify",
    "superpose",
    "collapse",
    "chain",
    "eval",
    "function",
    "return",
    "cons-atom",
    "car-atom",
    "quote",
    "empty",
    "add-atom",
    "remove-atom",
    "; note\n",
    "Error",
    "get-type",
];

/// A text made of the bytes.
pub(crate) fn text_of(bytes: &[u8]) -> String {
    match bytes {
        [kind, words @ ..] if kind % 2 == 1 => {
            let words = words.iter().map(|word| WORDS[usize::from(*word) % WORDS.len()]);
            words.collect::<Vec<_>>().join(" ")
        }
        [_, text @ ..] => String::from_utf8_lossy(text).into_owned(),
        [] => String::new(),
    }
}

/// Reads a text: places lie in it and in order, and each sound form reads the same alone.
pub(crate) fn read(bytes: &[u8]) {
    let text = text_of(bytes);
    let parsed = parse(&text);
    assert_places(&text, &parsed.diagnostics);
    let mut end = 0;
    for form in parsed.tree.forms() {
        assert!(end <= form.span.start && form.span.start < form.span.end, "forms are in order: {text:?}");
        end = form.span.end;
        // A byte order mark is skipped where a text begins, and nowhere else.
        let alone = parse(&format!(" {}", form.span.slice(&text)));
        let [again] = alone.tree.forms() else { panic!("a form is not one form alone: {text:?}") };
        let words = Tokenizer::literals();
        let [first, second] =
            [(&parsed, form), (&alone, again)].map(|(of, form)| read_atom(&of.tree, form.node, &words));
        assert!(form.bang == again.bang && first == second, "a form reads otherwise alone: {text:?}");
    }
}

/// Lays a sound text out: the layout has the same forms and comments, and is its own layout.
pub(crate) fn lay_out(bytes: &[u8]) {
    let text = text_of(bytes);
    let parsed = parse(&text);
    if parsed.first_error().is_some() {
        return;
    }
    let laid_out = format(&parsed);
    let again = parse(&laid_out);
    assert!(again.first_error().is_none(), "the layout of {text:?} does not parse: {laid_out:?}");
    assert_eq!(atoms(&parsed), atoms(&again), "the layout of {text:?} says something else: {laid_out:?}");
    assert_eq!(parsed.tree.comments().len(), again.tree.comments().len(), "comments of {text:?}: {laid_out:?}");
    assert_eq!(format(&again), laid_out, "the layout of {text:?} is laid out otherwise");
}

/// Checks a text: findings lie in it, and are the same each time.
pub(crate) fn look_for_mistakes(bytes: &[u8]) {
    let text = text_of(bytes);
    let first = findings(&text);
    assert_places(&text, &first);
    assert_eq!(first, findings(&text), "{text:?} is found otherwise the second time");
}

/// Evaluates a text in both ways; whether both came to an end, and so were compared.
pub(crate) fn evaluate(bytes: &[u8]) -> bool {
    let text = text_of(bytes);
    let [interpreter, machine] = [Evaluator::Interpreter, Evaluator::Machine].map(|evaluator| run(&text, evaluator));
    let (Some(interpreter), Some(machine)) = (interpreter, machine) else { return false };
    assert_eq!(interpreter, machine, "the evaluators differ about {text:?}");
    true
}

fn atoms(parsed: &Parsed) -> Vec<(bool, String)> {
    let words = Tokenizer::literals();
    let forms = parsed.tree.forms().iter();
    forms.map(|form| (form.bang, read_atom(&parsed.tree, form.node, &words).to_string())).collect()
}

fn assert_places(text: &str, diagnostics: &[Diagnostic]) {
    for found in diagnostics {
        for span in std::iter::once(found.span).chain(found.related.iter().map(|(span, _)| *span)) {
            let (start, end) = (span.start as usize, span.end as usize);
            let is_in_text = start <= end && text.is_char_boundary(start) && text.is_char_boundary(end);
            assert!(is_in_text, "{} of {text:?} is at {start}..{end}", found.code);
        }
        assert!(!found.message.is_empty(), "{} says something", found.code);
    }
}

fn findings(text: &str) -> Vec<Diagnostic> {
    let mut session = Session::new(Box::new(MemoryWorld::default()));
    session.only_define(true);
    session.keep_going(true);
    session.limits_mut().steps_max = Some(5_000);
    let source = Source { origin: "text", file: None, directory: "", text, flaw: None };
    session.run_source(&source, &mut |_, _| Ok(()));
    check(session.program_mut(), ModuleId::TOP, &parse(text).tree)
}

/// What a run printed and how it ended; `None` if it asked for more than it may have.
fn run(text: &str, evaluator: Evaluator) -> Option<Vec<String>> {
    let world = MemoryWorld::default();
    let output = world.output();
    let mut session = Session::new(Box::new(world));
    session.set_evaluator(evaluator);
    *session.limits_mut() = Limits { steps_max: Some(2_000), heap_bytes_max: Some(16 << 20), ..Limits::default() };
    let run = session.run(text, &mut |world, answer| {
        let results: Vec<String> = answer.results.iter().map(ToString::to_string).collect();
        world.print(&format!("[{}]", results.join(", ")))
    });
    if matches!(run.end, RunEnd::Limit(_)) {
        return None;
    }
    let lines = output.printed();
    Some(lines.iter().flat_map(|line| generate::nameless(text, line)).chain([format!("{:?}", run.end)]).collect())
}
