//! Programs about the past of a base, in `corpus/recall`. A folder in there holds the sittings of one program in one base, each with
//! the files as they are then.

use crate::harness::{Nobody, STEPS_MAX, programs, text_of};
use crate::programs::{compare, corpus, keep, names};
use journal::{Disk, MemoryDisk};
use libtest_mimic::Trial;
use metroon::run::RunRequest;
use metroon::storage::CommitJournal;
use metroon::tape::TapeReader;
use metroon::{Engine, MemoryWorld, Tape};
use std::path::Path;
use std::sync::Arc;

const FOLDER: &str = "recall";
/// The folders of the programs that are run several times, with the names of their sittings.
const SITTINGS: [(&str, [&str; 3]); 1] = [("edited", ["1", "2", "3"])];

/// Gives what a file of a folder prints in a base.
type Sit = fn(&Arc<dyn Disk>, &Path, &RunRequest) -> String;

const MODES: [(&str, Sit); 2] =
    [("past", |base, folder, program| sit(base, folder, program, None)), ("past-recorded", recorded)];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (mode, run) in MODES {
        let single = names(FOLDER).into_iter().map(|name| (name.clone(), vec![FOLDER.to_owned()], name));
        let edited = SITTINGS.into_iter().map(|(name, sittings)| {
            let folders = sittings.map(|sitting| format!("{FOLDER}/{name}/{sitting}"));
            (name.to_owned(), folders.to_vec(), "program".to_owned())
        });
        for (name, folders, file) in single.chain(edited) {
            trials.push(Trial::test(format!("{mode}::{name}"), move || {
                let files = vec![format!("{file}.metta")];
                let program = RunRequest { files, steps_max: Some(STEPS_MAX), ..RunRequest::default() };
                let base: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
                let printed: Vec<(String, String)> = folders
                    .iter()
                    .map(|folder| (format!("{folder}/{file}"), run(&base, &corpus().join(folder), &program)))
                    .collect();
                if mode == MODES[0].0 {
                    printed.iter().for_each(|(place, text)| keep(place, text));
                }
                printed.iter().try_for_each(|(place, text)| compare(place, text))
            }));
        }
    }
    trials
}

/// Runs a file of a folder in a base, and on a tape if there is one; gives what is printed.
fn sit(base: &Arc<dyn Disk>, folder: &Path, program: &RunRequest, tape: Option<Tape>) -> String {
    let world = programs(folder, "", MemoryWorld::default());
    let output = world.output();
    let base = CommitJournal::on_disk(Arc::clone(base), "/kb").expect("the base opens");
    let mut engine = Engine::remembering(world, Some(base), tape, program).expect("the base loads");
    engine.run_program(program, &mut Nobody);
    engine.finish().expect("the base closes");
    text_of(&output)
}

/// Runs a file of a folder in a base and on a tape, which is replayed in a world that holds nothing.
fn recorded(base: &Arc<dyn Disk>, folder: &Path, program: &RunRequest) -> String {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let tape = Tape::on_disk(Arc::clone(&disk)).expect("a tape is made");
    let recorded = sit(base, folder, program, Some(tape));

    let world = MemoryWorld::default();
    let output = world.output();
    let tape = TapeReader::on_disk(disk).expect("the tape opens");
    let (mut engine, program) = Engine::replaying(world, tape, None).expect("the tape begins");
    engine.run_program(&program, &mut Nobody);
    engine.finish().expect("all is the same");
    assert_eq!(text_of(&output), recorded, "{}", folder.display());
    recorded
}
