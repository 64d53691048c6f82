//! What bases kept wrongly once, or could not be opened with again. The corpus in a base is in `tests/corpus`.

use crate::harness::{Nobody, STEPS_MAX, print_answer};
use journal::{Disk, MemoryDisk};
use metroon::run::{RunRequest, Source};
use metroon::storage::CommitJournal;
use metroon::{Engine, MemoryWorld};
use std::sync::Arc;

/// Runs a text in a base on a disk.
fn run_in_base(disk: &Arc<dyn Disk>, world: MemoryWorld, text: &str) {
    let base = CommitJournal::on_disk(Arc::clone(disk), "/kb").expect("the base opens");
    let mut engine = Engine::with_base(world, base).expect("the base loads");
    engine.limits_mut().steps_max = Some(STEPS_MAX);
    engine.run_source(&Source::text(text), &mut print_answer);
    engine.finish().expect("the base closes");
}

/// An error that held what its transaction had made once put that into a base, which could not be opened again.
#[test]
fn what_a_transaction_undid_is_not_kept() {
    let made = ["(new-state 1)", "(new-space)", "(let () (import! &self undone) (op))"];
    for made in made {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let kept = format!(
            "!(case (transaction (let $made {made} (Error $made no))) (((Error $made $why) (add-atom &self (kept $made)))))"
        );
        for text in [&*kept, "!(match &self (kept $it) (add-atom &self (found $it)))"] {
            run_in_base(&disk, MemoryWorld::default().with_source("undone.metta", "(= (op) get-type)"), text);
        }
        run_in_base(&disk, MemoryWorld::default(), "!(get-atoms &self)");
    }
}

/// A bracket that was missing for a moment once removed from a base all that stood behind it.
#[test]
fn an_edit_that_does_not_parse_removes_nothing() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let mut seen = Vec::new();
    for text in ["(a) (b) (c)", "(d) (a) (b (c)", "(d) (a) (c)"] {
        for file in ["f.metta", "ask.metta"] {
            let world =
                MemoryWorld::default().with_source("f.metta", text).with_source("ask.metta", "!(get-atoms &self)");
            let output = world.output();
            let base = CommitJournal::on_disk(Arc::clone(&disk), "/kb").expect("the base opens");
            let mut engine = Engine::with_base(world, base).expect("the base loads");
            engine.run_program(&RunRequest { files: vec![file.to_owned()], ..RunRequest::default() }, &mut Nobody);
            engine.finish().expect("the base closes");
            seen.extend(output.printed());
        }
    }
    assert_eq!(seen, ["[(a), (b), (c)]", "[(a), (b), (c), (d)]", "[(a), (c), (d)]"]);
}

/// Sources that changed nothing once left gaps in the numbers of a base's sources, and it could not be opened again.
#[test]
fn sources_that_change_nothing_leave_no_gap() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let sit = |texts: &[&str]| {
        let world = MemoryWorld::default().with_source("nothing.metta", "!(+ 1 2)");
        let output = world.output();
        let base = CommitJournal::on_disk(Arc::clone(&disk), "/kb").expect("the base opens");
        let mut engine = Engine::with_base(world, base).expect("the base loads");
        let expressions = texts.iter().map(|text| (*text).to_owned()).collect();
        let program = RunRequest { files: vec!["nothing.metta".to_owned()], expressions, ..RunRequest::default() };
        engine.run_program(&program, &mut Nobody);
        engine.finish().expect("the base closes");
        output.printed()
    };
    sit(&["!(+ 1 2)", "!(+ 1 2)", "(a)", "!(+ 1 2)", "; nothing", "(b)"]);
    assert_eq!(sit(&["!(get-atoms &self)"]), ["[3]", "[(a), (b)]"]);
    sit(&["!(+ 1 2)", "", "(c)"]);
    assert_eq!(sit(&["!(get-atoms &self)"]), ["[3]", "[(a), (b), (c)]"]);
}

/// The file of a module was once looked for in the present working directory, under the path it had in the first one.
#[test]
fn an_edited_module_is_found_from_another_working_directory() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let app = "!(import! &self m) !(match &self (x $x) $x)";
    let sit = |app_path: &str, sources: [(&str, &str); 2]| {
        let world =
            sources.into_iter().fold(MemoryWorld::default(), |world, (path, text)| world.with_source(path, text));
        let world = world.with_source(app_path, app);
        let output = world.output();
        let base = CommitJournal::on_disk(Arc::clone(&disk), "/kb").expect("the base opens");
        let mut engine = Engine::with_base(world, base).expect("the base loads");
        engine.run_program(&RunRequest { files: vec![app_path.to_owned()], ..RunRequest::default() }, &mut Nobody);
        engine.finish().expect("the base closes");
        output.printed()
    };
    let other = ("m.metta", "(x other)");
    assert_eq!(sit("app/main.metta", [("app/m.metta", "(x 1)"), other]), ["[()]", "[1]"]);
    assert_eq!(sit("/app/main.metta", [("/app/m.metta", "(x 2)"), ("app/m.metta", "(x other)")]), ["[()]", "[2]"]);
}

/// A file that only has a module's name, seen from another directory, was once taken for the module's edited file.
#[test]
fn another_file_of_a_modules_name_is_no_edit_of_it() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let app = "!(import! &self m) !(match &self (x $x) $x)";
    let sit = |program: RunRequest| {
        let world = MemoryWorld::default()
            .with_source("app/main.metta", app)
            .with_source("app/m.metta", "(x 1)")
            .with_source("m.metta", "(x other)");
        let output = world.output();
        let base = CommitJournal::on_disk(Arc::clone(&disk), "/kb").expect("the base opens");
        let mut engine = Engine::with_base(world, base).expect("the base loads");
        engine.run_program(&program, &mut Nobody);
        engine.finish().expect("the base closes");
        output.printed()
    };
    let file = RunRequest { files: vec!["app/main.metta".to_owned()], ..RunRequest::default() };
    assert_eq!(sit(file), ["[()]", "[1]"]);
    let expression = RunRequest { expressions: vec![app.to_owned()], ..RunRequest::default() };
    assert_eq!(sit(expression), ["[()]", "[1]"]);
}

/// An edit of a module was once seen only if the module that imports it was edited as well.
#[test]
fn an_edited_module_is_seen_through_an_unchanged_one() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let mut seen = Vec::new();
    for below in ["(x 1)", "(x 1) (x 2)", "(x 2)"] {
        let world = MemoryWorld::default()
            .with_source("main.metta", "!(import! &self a) !(match &self (x $x) $x)")
            .with_source("a.metta", "!(println! read) !(import! &self top:b)")
            .with_source("b.metta", below);
        let output = world.output();
        let base = CommitJournal::on_disk(Arc::clone(&disk), "/kb").expect("the base opens");
        let mut engine = Engine::with_base(world, base).expect("the base loads");
        engine.run_program(&RunRequest { files: vec!["main.metta".to_owned()], ..RunRequest::default() }, &mut Nobody);
        engine.finish().expect("the base closes");
        seen.extend(output.printed());
    }
    assert_eq!(seen, ["read", "[()]", "[1]", "[()]", "[1, 2]", "[()]", "[2]"]);
}

/// What a text prints in a base on a disk.
fn printed_in_base(disk: &Arc<dyn Disk>, text: &str) -> Vec<String> {
    let world = MemoryWorld::default();
    let output = world.output();
    run_in_base(disk, world, text);
    output.printed()
}

#[test]
fn spaces_made_of_spaces_are_there_when_the_base_is_opened_again() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let made = "!(bind! &s (new-space)) !(add-atoms &s (a a b (p $x)))
        !(bind! &fork (fork-space &s)) !(bind! &two (union-spaces &s &fork)) !(bind! &one (intersect-spaces &two &s))
        !(bind! &none (subtract-spaces &s &one)) !(add-atom &s late) !(remove-atom &fork a)";
    printed_in_base(&disk, made);
    let ask = "!(let $all (collapse (get-atoms (superpose (&s &fork &two &one &none)))) (size-atom $all))
        !(match &fork (p 5) found) !(collapse (match &two a found)) !(let $x (get-atoms &fork) (if (== $x late) $x (empty)))";
    let expected = ["[20]", "[found]", "[(found found found found)]", "[]"];
    assert_eq!(printed_in_base(&disk, ask), expected);
    assert_eq!(printed_in_base(&disk, ask), expected, "asking changes nothing");
    assert_eq!(printed_in_base(&disk, "!(add-atom &fork c) !(match &s c found)"), ["[()]", "[]"]);
    assert_eq!(printed_in_base(&disk, "!(match &fork c found) !(new-space)"), ["[found]", "[GroundingSpace-7]"]);
}

/// A transaction that was undone leaves no space in a base.
#[test]
fn a_fork_that_was_undone_is_not_kept() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let undone = "(a) (b) !(case (transaction (let $k (fork-space &self) (let () (add-atom $k (c)) (Error no $k)))) (($e gone)))";
    assert_eq!(printed_in_base(&disk, undone), ["[gone]"]);
    let expected = ["[()]", "[GroundingSpace-2]", "[(a), (b)]"];
    assert_eq!(printed_in_base(&disk, "!(bind! &k (fork-space &self)) !(&k) !(get-atoms &k)")[..1], expected[..1]);
    assert_eq!(printed_in_base(&disk, "!(id &k) !(get-atoms &k)"), expected[1..]);
}

/// A space of the past can be forked, and the fork can change; the states of the past cannot be kept.
#[test]
fn the_past_can_be_forked() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    printed_in_base(&disk, "(a) !(commit!) !(remove-atom &self (a))");
    let fork =
        "!(bind! &then (fork-space (as-of &self 1))) !(add-atom &then (b)) !(get-atoms &then) !(get-atoms &self)";
    assert_eq!(printed_in_base(&disk, fork), ["[()]", "[()]", "[(a), (b)]", "[]"]);
    assert_eq!(printed_in_base(&disk, "!(get-atoms &then)"), ["[(a), (b)]"]);
    assert_eq!(printed_in_base(&disk, "!(get-atoms (as-of &then (superpose (3 4))))"), ["[(a), (a), (b)]"]);
    printed_in_base(&disk, "!(bind! &state (new-state 1)) !(add-atom &then (counted &state))");
    let refused = printed_in_base(&disk, "!(fork-space (as-of &then (epoch &self)))");
    assert!(refused.len() == 1 && refused[0].starts_with("[(Error (fork-space as-of-"), "{refused:?}");
    assert_eq!(printed_in_base(&disk, "!(new-space)"), ["[GroundingSpace-3]"]);
}
