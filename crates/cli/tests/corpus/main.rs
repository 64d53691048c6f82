//! Every program of the corpus and every example is recorded by the command, and comes to the same when it is replayed elsewhere:
//! one test each, such as `replayed-elsewhere::corpus/peano`.

#[path = "../it/harness.rs"]
#[allow(dead_code, reason = "the tests of `it` use all of it")]
mod harness;

use harness::{Ended, Folder, wait};
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Needs data that is not in the repository.
const NEEDS_DATA: &str = "wordnet.metta";

/// The folders of the programs, and how many each has at least.
const FOLDERS: [(&str, usize); 2] = [("corpus", 40), ("examples", 3)];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = FOLDERS.into_iter().flat_map(|(folder, at_least)| {
        let names = programs(&root().join(folder));
        assert!(names.len() >= at_least, "only {} programs in {folder}", names.len());
        names.into_iter().map(move |program| {
            let name = format!("replayed-elsewhere::{folder}/{}", program.trim_end_matches(".metta"));
            Trial::test(name, move || check(folder, &program))
        })
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn copy_programs(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder can be made");
    for entry in std::fs::read_dir(from).expect("a folder can be listed") {
        let path = entry.expect("a folder can be listed").path();
        let name = path.file_name().expect("it has a name");
        if path.is_dir() && name != "data" {
            copy_programs(&path, &to.join(name));
        } else if path.extension().is_some_and(|ending| ending == "metta") {
            std::fs::copy(&path, to.join(name)).expect("a file can be copied");
        }
    }
}

fn programs(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder can be listed");
    let names = entries.map(|entry| entry.expect("a folder can be listed").file_name().into_string().expect("UTF-8"));
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".metta") && name != NEEDS_DATA).collect();
    names.sort();
    names
}

/// A replay on another machine, as far as a process can tell.
fn replay_elsewhere(tape: &Path, empty: &Path) -> Ended {
    let mut command = Command::new("sh");
    command.args(["-c", "umask 0777 && exec \"$0\" replay \"$1\"", env!("CARGO_BIN_EXE_metroon")]).arg(tape);
    command.current_dir(empty).env_clear();
    for (name, value) in [
        ("TZ", "Pacific/Chatham"),
        ("LANG", "tr_TR.UTF-8"),
        ("LC_ALL", "tr_TR.UTF-8"),
        ("HOME", "/nowhere"),
        ("TMPDIR", "/nowhere"),
        ("PYTHONHASHSEED", "4711"),
        ("RUST_MIN_STACK", "1000000"),
    ] {
        command.env(name, value);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    wait(command.spawn().expect("a shell is there"))
}

/// Records a program, removes it and all beside it, and replays the tape elsewhere.
fn check(name: &str, program: &str) -> Result<(), Failed> {
    let folder = Folder::new(&format!("replay-{name}-{program}"));
    let [sources, empty] = ["sources", "empty"].map(|part| folder.path().join(part));
    copy_programs(&root().join(name), &sources);
    std::fs::create_dir_all(&empty).expect("a folder can be made");
    let tape = folder.path().join("recorded.tape");
    let mut command = folder.command(&["run", program, "--record"]);
    let recorded = wait(command.arg(&tape).current_dir(&sources).spawn().expect("the binary runs"));
    assert!(matches!(recorded.code, Some(0 | 1)), "{}", recorded.err);
    std::fs::remove_dir_all(&sources).expect("the programs can be removed");
    let replayed = replay_elsewhere(&tape, &empty);
    let is_same = replayed.code == Some(0) && replayed.out == recorded.out;
    if !is_same || !replayed.err.ends_with(": all the same\n") {
        return Err(format!("exit {:?}: {}", replayed.code, replayed.err).into());
    }
    let left = std::fs::read_dir(&empty).expect("a folder can be listed").count();
    assert_eq!(left, 0, "a replay has written files");
    Ok(())
}
