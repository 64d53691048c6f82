//! The corpus in every mode: kept in a base, taken up again half-way, recorded and replayed; by the machine and by the
//! interpreter. One expected output.
//!
//! Programs about the past of a base lie in `corpus/recall`. A folder in there holds the sittings of one program in one
//! base, each with the files as they are then.

use crate::harness::{STEPS_MAX, files, first_difference, print_answer, programs, read, root};
use journal::{Disk, MemoryDisk};
use metroon::{
    Engine, Evaluator, KnowledgeBase, MemoryOutput, MemoryWorld, Program, ProgramEnd, Reporter, Source, Tape,
    TapeReader, syntax,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Programs that hold something between two forms that lives as long as the process, and why.
const NOT_TAKEN_UP: [(&str, &str); 1] = [("files", "it holds a file open")];

fn corpus() -> PathBuf {
    root().join("corpus")
}

/// Runs each program of the corpus in a mode and compares its output.
fn check_mode(mode: &str, run: impl Fn(&str, &str) -> String) {
    let mut failures = Vec::new();
    for program in files(&corpus(), "metta") {
        let name = name_of(&program);
        let (expected, actual) = (read(&program.with_extension("expected")), run(&name, &read(&program)));
        if actual != expected {
            failures.push(format!("{name}: {}", first_difference(&expected, &actual)));
        }
    }
    assert!(failures.is_empty(), "{} programs differ when {mode}:\n{}", failures.len(), failures.join("\n"));
}

fn name_of(program: &Path) -> String {
    program.file_stem().expect("a program has a name").to_string_lossy().into_owned()
}

pub(crate) fn text_of(output: &MemoryOutput) -> String {
    output.printed().into_iter().map(|line| line + "\n").collect()
}

/// Runs a text in a base on a disk.
fn run_in_base(disk: &Arc<dyn Disk>, world: MemoryWorld, text: &str) {
    run_in_base_with(Evaluator::default(), disk, world, text);
}

fn run_in_base_with(evaluator: Evaluator, disk: &Arc<dyn Disk>, world: MemoryWorld, text: &str) {
    let base = KnowledgeBase::on_disk(Arc::clone(disk), "/kb").expect("the base opens");
    let mut engine = Engine::with_base(world, base).expect("the base loads");
    engine.set_evaluator(evaluator);
    engine.limits_mut().steps_max = Some(STEPS_MAX);
    engine.run_source(&Source::text(text), &mut print_answer);
    engine.finish().expect("the base closes");
}

fn check_in_a_base(evaluator: Evaluator) {
    check_mode("kept in a base", |_, text| {
        let world = programs(&corpus(), "", MemoryWorld::default());
        let output = world.output();
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        run_in_base_with(evaluator, &disk, world, text);
        text_of(&output)
    });
}

#[test]
fn the_corpus_prints_the_same_in_a_base() {
    check_in_a_base(Evaluator::Machine);
}

#[test]
fn the_corpus_prints_the_same_in_a_base_interpreted() {
    check_in_a_base(Evaluator::Interpreter);
}

/// A program's text up to the middle of its forms, and the rest.
pub(crate) fn halves(text: &str) -> (&str, &str) {
    let parsed = syntax::parse(text);
    let forms = parsed.forms_before_error();
    let middle =
        forms.get(forms.len() / 2).map_or(text.len(), |form| form.bang_span.unwrap_or(form.span).start as usize);
    text.split_at(middle)
}

fn check_reopened(evaluators: [Evaluator; 2]) {
    check_mode("reopened half-way", |name, text| {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let is_whole = NOT_TAKEN_UP.iter().any(|(program, _)| *program == name);
        let (first, second) = if is_whole { (text, "") } else { halves(text) };
        let outputs = [(first, evaluators[0]), (second, evaluators[1])].map(|(half, evaluator)| {
            let world = programs(&corpus(), "", MemoryWorld::default());
            let output = world.output();
            run_in_base_with(evaluator, &disk, world, half);
            text_of(&output)
        });
        outputs.concat()
    });
}

#[test]
fn the_corpus_prints_the_same_when_its_base_is_reopened_half_way() {
    check_reopened([Evaluator::Machine, Evaluator::Machine]);
}

/// A base is not the evaluator's that made it.
#[test]
fn the_corpus_prints_the_same_when_its_base_is_reopened_half_way_by_the_other_evaluator() {
    check_reopened([Evaluator::Interpreter, Evaluator::Machine]);
}

/// Hears nothing.
pub(crate) struct Nobody;

impl Reporter for Nobody {
    fn diagnostic(&mut self, _: &str, _: &str, _: &syntax::Diagnostic) {}
}

fn check_replayed(evaluator: Evaluator) {
    check_mode("recorded and replayed", |name, _| {
        let world = programs(&corpus(), "", MemoryWorld::default());
        let recorded = world.output();
        let files = vec![format!("{name}.metta")];
        let program = Program { files, steps_max: Some(STEPS_MAX), evaluator, ..Program::default() };
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let tape = Tape::on_disk(Arc::clone(&disk)).expect("a tape is made");
        let mut engine = Engine::remembering(world, None, Some(tape), &program).expect("the tape begins");
        engine.run_program(&program, &mut Nobody);
        engine.finish().expect("the tape ends");

        // The world of the replay has no files, another clock and other random numbers.
        let world = MemoryWorld::default().with_clock(1, 1).with_seed(99);
        let replayed = world.output();
        let tape = TapeReader::on_disk(disk).expect("the tape opens");
        let (mut engine, program) = Engine::replaying(world, tape, None).expect("the tape begins");
        let end = engine.run_program(&program, &mut Nobody);
        assert!(!matches!(end, ProgramEnd::Memory(_) | ProgramEnd::NotRead(_)), "{name}: {end:?}");
        let (commits, stopped) = engine.replayed().expect("it replays");
        assert!(commits > 0 && stopped.is_none(), "{name}: {commits} commits, {stopped:?}");
        engine.finish().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(text_of(&recorded), text_of(&replayed), "{name}");
        text_of(&replayed)
    });
}

#[test]
fn the_corpus_prints_the_same_recorded_and_replayed() {
    check_replayed(Evaluator::Machine);
}

#[test]
fn the_corpus_prints_the_same_recorded_and_replayed_interpreted() {
    check_replayed(Evaluator::Interpreter);
}

/// What has to do with a base in the corpus: the folders of the sittings of each program, and the program's file.
fn recall_programs() -> Vec<(String, Vec<PathBuf>)> {
    let folder = corpus().join("recall");
    let single =
        files(&folder, "metta").into_iter().map(|program| (name_of(&program) + ".metta", vec![folder.clone()]));
    let edited = ["1", "2", "3"].map(|sitting| folder.join("edited").join(sitting));
    single.chain([("program.metta".to_owned(), edited.to_vec())]).collect()
}

/// Runs a file of a folder in a base, and on a tape if there is one; gives what is printed.
fn sit(base: &Arc<dyn Disk>, folder: &Path, program: &Program, tape: Option<Tape>) -> String {
    let world = programs(folder, "", MemoryWorld::default());
    let output = world.output();
    let base = KnowledgeBase::on_disk(Arc::clone(base), "/kb").expect("the base opens");
    let mut engine = Engine::remembering(world, Some(base), tape, program).expect("the base loads");
    engine.run_program(program, &mut Nobody);
    engine.finish().expect("the base closes");
    text_of(&output)
}

/// Runs what is on a tape again, in a world that holds nothing.
fn replay(tape: Arc<dyn Disk>) -> String {
    let world = MemoryWorld::default();
    let output = world.output();
    let tape = TapeReader::on_disk(tape).expect("the tape opens");
    let (mut engine, program) = Engine::replaying(world, tape, None).expect("the tape begins");
    engine.run_program(&program, &mut Nobody);
    engine.finish().expect("all is the same");
    text_of(&output)
}

/// What the programs about the past print that fail, given how a sitting is run.
fn check_recall(run: impl Fn(&Arc<dyn Disk>, &Path, &Program) -> String) {
    for (file, sittings) in recall_programs() {
        let program = Program { files: vec![file.clone()], steps_max: Some(STEPS_MAX), ..Program::default() };
        let base: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        for folder in sittings {
            let expected = read(&folder.join(&file).with_extension("expected"));
            let actual = run(&base, &folder, &program);
            let place = folder.join(&file);
            assert_eq!(actual, expected, "{}: {}", place.display(), first_difference(&expected, &actual));
        }
    }
}

#[test]
fn the_past_of_a_base_is_what_it_was() {
    check_recall(|base, folder, program| sit(base, folder, program, None));
}

#[test]
fn the_past_of_a_base_is_the_same_recorded_and_replayed() {
    check_recall(|base, folder, program| {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let tape = Tape::on_disk(Arc::clone(&disk)).expect("a tape is made");
        let recorded = sit(base, folder, program, Some(tape));
        assert_eq!(replay(disk), recorded, "{}", folder.display());
        recorded
    });
}

#[test]
fn removing_any_name_of_the_past_makes_a_program_fail() {
    let folder = corpus().join("recall");
    let table = read(&corpus().join("coverage.tsv"));
    let rows: Vec<_> = table.lines().filter_map(|line| line.split_once("\trecall/")).collect();
    assert!(!rows.is_empty(), "coverage.tsv names no program in recall/");
    for (name, program) in rows {
        let file = format!("{program}.metta");
        // A name that the library lacks is a symbol like any other.
        let text = read(&folder.join(&file)).replace(&format!("({name} "), &format!("(lacking-{name} "));
        let world = programs(&folder, "", MemoryWorld::default()).with_source(&file, text);
        let output = world.output();
        let base = KnowledgeBase::on_disk(Arc::new(MemoryDisk::new()), "/kb").expect("the base opens");
        let mut engine = Engine::with_base(world, base).expect("the base loads");
        engine.run_program(&Program { files: vec![file], ..Program::default() }, &mut Nobody);
        let expected = read(&folder.join(program).with_extension("expected"));
        assert_ne!(text_of(&output), expected, "recall/{program} does not need {name}");
    }
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
            let base = KnowledgeBase::on_disk(Arc::clone(&disk), "/kb").expect("the base opens");
            let mut engine = Engine::with_base(world, base).expect("the base loads");
            engine.run_program(&Program { files: vec![file.to_owned()], ..Program::default() }, &mut Nobody);
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
        let base = KnowledgeBase::on_disk(Arc::clone(&disk), "/kb").expect("the base opens");
        let mut engine = Engine::with_base(world, base).expect("the base loads");
        let expressions = texts.iter().map(|text| (*text).to_owned()).collect();
        let program = Program { files: vec!["nothing.metta".to_owned()], expressions, ..Program::default() };
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
        let base = KnowledgeBase::on_disk(Arc::clone(&disk), "/kb").expect("the base opens");
        let mut engine = Engine::with_base(world, base).expect("the base loads");
        engine.run_program(&Program { files: vec![app_path.to_owned()], ..Program::default() }, &mut Nobody);
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
    let sit = |program: Program| {
        let world = MemoryWorld::default()
            .with_source("app/main.metta", app)
            .with_source("app/m.metta", "(x 1)")
            .with_source("m.metta", "(x other)");
        let output = world.output();
        let base = KnowledgeBase::on_disk(Arc::clone(&disk), "/kb").expect("the base opens");
        let mut engine = Engine::with_base(world, base).expect("the base loads");
        engine.run_program(&program, &mut Nobody);
        engine.finish().expect("the base closes");
        output.printed()
    };
    let file = Program { files: vec!["app/main.metta".to_owned()], ..Program::default() };
    assert_eq!(sit(file), ["[()]", "[1]"]);
    let expression = Program { expressions: vec![app.to_owned()], ..Program::default() };
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
        let base = KnowledgeBase::on_disk(Arc::clone(&disk), "/kb").expect("the base opens");
        let mut engine = Engine::with_base(world, base).expect("the base loads");
        engine.run_program(&Program { files: vec!["main.metta".to_owned()], ..Program::default() }, &mut Nobody);
        engine.finish().expect("the base closes");
        seen.extend(output.printed());
    }
    assert_eq!(seen, ["read", "[()]", "[1]", "[()]", "[1, 2]", "[()]", "[2]"]);
}
