//! Programs so long that they are read in several pieces: each comes to what a short one comes to.

use metta::syntax::Severity;
use metta::{MemoryWorld, Run, RunEnd, RunEvent, Session, Source};
use std::fmt::Write as _;

/// More than one piece.
const FACTS: usize = 60_000;

/// Facts, and a line between the two halves of them.
fn facts_around(middle: &str) -> String {
    let mut text = String::new();
    for number in 0..FACTS {
        if number == FACTS / 2 {
            text.push_str(middle);
            text.push('\n');
        }
        writeln!(text, "(fact {number})").expect("a text takes what is written");
    }
    text
}

/// What a text says, and how its run ends.
fn run(session: &mut Session, text: &str) -> (Vec<String>, Run) {
    let mut said = Vec::new();
    let source = Source { origin: "long.metta", ..Source::text(text) };
    let run = session.run_explaining(&source, true, &mut |_, event| {
        said.push(match event {
            RunEvent::Answer(answer) => format!("{}: {:?}", answer.number, answer.results),
            RunEvent::Failure(failure) => {
                let position = failure.place.position();
                format!("{} at line {}, {} not run", failure.code, position.line, failure.not_run)
            }
        });
        Ok(())
    });
    (said, run)
}

fn session() -> Session {
    Session::new(Box::new(MemoryWorld::default()))
}

#[test]
fn a_form_finds_what_all_pieces_before_it_state_and_no_more() {
    let text = facts_around("!(let $all (collapse (match &self (fact $n) $n)) (size-atom $all))")
        + "!(match &self (fact 59999) last)\n";
    let (said, run) = run(&mut session(), &text);
    assert_eq!(said, ["1: [30000]", "2: [last]"]);
    assert!(matches!(run.end, RunEnd::Finished) && run.diagnostics.is_empty(), "{run:?}");
}

#[test]
fn what_stands_before_an_error_in_the_last_piece_runs() {
    let text = "!(+ 1 1)\n".to_owned()
        + &facts_around("!bang")
        + "!(match &self (fact 59999) last)\n(never closed\n!(+ 2 2)\n";
    let mut session = session();
    let (said, run) = run(&mut session, &text);
    assert_eq!(said, ["1: [2]", "2: [last]"]);
    assert!(matches!(run.end, RunEnd::NotParsed), "{:?}", run.end);
    let found: Vec<_> = run.diagnostics.iter().map(|found| (found.severity, found.span.slice(&text))).collect();
    assert_eq!(found, [(Severity::Warning, "!bang"), (Severity::Error, "(")]);
    assert_eq!(session.top_space().len(), FACTS + 1);
}

#[test]
fn what_is_wrong_behind_the_end_of_a_run_is_still_said() {
    let text = "!(Error a b)\n".to_owned() + &facts_around("") + "\n)\n(fact x)\n";
    let mut session = session();
    let (said, run) = run(&mut session, &text);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[1].ends_with("60000 not run"), "{said:?}");
    assert!(matches!(run.end, RunEnd::Error), "{:?}", run.end);
    assert_eq!(run.diagnostics.len(), 1, "{:?}", run.diagnostics);
    assert_eq!(session.top_space().len(), 0);
}

#[test]
fn an_error_is_explained_by_a_rule_of_another_piece() {
    let text = facts_around("(= (half $n) (/ $n \"two\"))") + "!(half 3)\n!(+ 1 1)\n";
    let (said, _) = run(&mut session(), &text);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[1].ends_with(&format!("at line {}, 1 not run", FACTS / 2 + 1)), "{said:?}");
}

#[test]
fn what_an_imported_text_warns_of_is_told_once() {
    let world = MemoryWorld::default().with_source("long.metta", facts_around("!bang"));
    let output = world.output();
    let (said, run) =
        run(&mut Session::new(Box::new(world)), "!(import! &self long)\n!(match &self (fact 59999) last)\n");
    assert_eq!(said, ["1: [()]", "2: [last]"]);
    assert!(matches!(run.end, RunEnd::Finished), "{run:?}");
    let warning = "`!bang` is a symbol: it is added to the space and not evaluated";
    assert_eq!(output.traced(), [format!("warning: long.metta:{}:1: {warning}", FACTS / 2 + 1)]);
}
