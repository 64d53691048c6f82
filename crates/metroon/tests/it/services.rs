//! Running programs that ask services of the world, on the disk and from a tape.

use crate::tapes::Nobody;
use journal::{Disk, MemoryDisk};
use metroon::run::{ProgramEnd, RunRequest};
use metroon::tape::TapeReader;
use metroon::{Engine, MemoryWorld, SystemWorld, Tape, World};
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A folder for one test, removed at its end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("metroon-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder can be made");
        Self(fs::canonicalize(folder).expect("it is there"))
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("it is UTF-8").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn run(world: impl World + 'static, tape: Option<Tape>, text: &str) -> (ProgramEnd, Result<(), String>) {
    let program = RunRequest { expressions: vec![text.to_owned()], ..RunRequest::default() };
    let mut engine = Engine::remembering(world, None, tape, &program).expect("it begins");
    let end = engine.run_program(&program, &mut Nobody);
    (end, engine.finish().map_err(|error| error.to_string()))
}

/// The machine as a world, and what is printed there.
pub(crate) fn printing() -> (SystemWorld, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let printed = Arc::clone(&lines);
    let printer = move |line: &str| {
        printed.lock().expect("nobody panics").push(line.to_owned());
        Ok(())
    };
    (SystemWorld::default().printing(Box::new(printer)), lines)
}

/// What a replay of a tape prints, which ends as the run did.
pub(crate) fn replayed(disk: Arc<dyn Disk>) -> Vec<String> {
    let tape = TapeReader::on_disk(disk).expect("the tape is sound");
    let (world, lines) = printing();
    let (mut engine, program) = Engine::replaying(world, tape, None).expect("it begins");
    engine.run_program(&program, &mut Nobody);
    assert!(matches!(engine.replayed(), Some((_, None))), "{:?}", engine.replayed());
    engine.finish().expect("the replay ends as the run did");
    let lines = lines.lock().expect("nobody panics");
    lines.clone()
}

/// A token that no recording may hold.
pub(crate) const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

/// Runs each text behind `opening`, an import of a module and the word `&s`, with a tape, and sees to it that the run ends before the secret in it
/// comes to the tape.
pub(crate) fn refuses_secrets(module: &str, opening: &str, texts: &[String]) {
    for text in texts {
        let text = format!("!(import! &self {module}) !(bind! &s {opening}) {text}");
        let program = RunRequest { files: vec!["p.metta".to_owned()], ..RunRequest::default() };
        let world = MemoryWorld::default().with_source("p.metta", format!("!(import! &self {module})"));
        let tape = Tape::on_disk(Arc::new(MemoryDisk::new())).expect("a tape is made");
        let mut engine = Engine::remembering(world, None, Some(tape), &program).expect("it begins");
        let run = engine.run_text(&text, &mut |_, _| Ok(()));
        assert!(format!("{:?}", run.end).contains("RecordingFailed"), "{text}: {:?}", run.end);
    }
}

/// That a transaction refuses a change of what a service has open, as `&s`; gives what `look` comes to afterwards.
pub(crate) fn transaction_refuses(module: &str, opening: &str, change: &str, look: &str) -> String {
    let mut engine = Engine::new(MemoryWorld::default());
    let mut answers = Vec::new();
    let text = format!("!(import! &self {module}) !(bind! &s {opening}) !(transaction {change}) !{look}");
    for form in metroon::syntax::parse(&text).forms_before_error() {
        let from = form.bang_span.unwrap_or(form.span).start as usize;
        engine.run_text(&text[from..form.span.end as usize], &mut |_, answer| {
            answers.extend(answer.results.iter().map(ToString::to_string));
            Ok(())
        });
    }
    assert!(answers[2].starts_with("(Error") && answers[2].contains("transaction"), "{answers:?}");
    answers[3].clone()
}
