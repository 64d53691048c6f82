//! `metroon kb load`, as a person uses it.

use crate::harness::{Folder, counted, signal};
use std::time::Duration;

#[test]
fn it_says_what_it_did_and_what_it_left_out() {
    let folder = Folder::new("load-says");
    folder.write("people.csv", "name,age\nAnn,41\nBob\n");
    let ended = folder.run(&["kb", "load", "t.kb", "people.csv"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(3), "people.csv: 1 atom added\n"));
    assert_eq!(
        ended.err,
        "note: people.csv:1: not loaded: headings\nwarning: people.csv:3: not loaded: another number of values than the first line has\n"
    );
    folder.write("people.csv", "name,age\nAnn,41\nBob,7\n");
    assert_eq!(folder.good(&["kb", "load", "t.kb", "people.csv"]), "people.csv: 1 atom added, 1 there before\n");
    assert_eq!(folder.good(&["kb", "load", "t.kb", "people.csv"]), "people.csv: unchanged, nothing to add\n");
    let json = folder.good(&["kb", "load", "t.kb", "people.csv", "--json"]);
    assert!(json.contains("\"unchanged\":true"), "{json}");
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let folder = Folder::new("load-wrong");
    folder.write("x.dat", "a\n");
    for (arguments, expected) in [
        (&["kb", "load", "t.kb", "x.dat"][..], "does not say its format"),
        (&["kb", "load", "t.kb", "gone.csv"], "there is no file gone.csv"),
        (&["kb", "load", "t.kb", "x.dat", "--format", "csv", "--head", "a b"], "not a symbol"),
        (&["kb", "load", "t.kb"], "required"),
    ] {
        let ended = folder.run(arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains(expected) && ended.out.is_empty(), "{arguments:?}: {}", ended.err);
    }
}

/// What can be read only once is read once; `/dev/stdin` is a pipe here.
#[test]
fn a_pipe_is_read_once() {
    use std::io::Write;
    let folder = Folder::new("load-pipe");
    let mut command = folder.command(&["kb", "load", "t.kb", "/dev/stdin", "--format", "csv", "--head", "e"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    child.stdin.take().expect("it is piped").write_all(b"a,b\n1,2\n3,4\n").expect("it is read");
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "/dev/stdin: 2 atoms added\n");
}

/// A load that is killed leaves its last commit, and loading the file again completes it.
#[test]
fn a_load_that_is_killed_goes_on_where_its_last_commit_was() {
    const FACTS: usize = 300_000;
    let folder = Folder::new("load-killed");
    let text: String = (0..FACTS).map(|number| format!("(fact {number})\n")).collect();
    folder.write("facts.metta", &text);
    for delay in [300, 900, 1_500] {
        let mut child = folder.command(&["kb", "load", "t.kb", "facts.metta"]).spawn().expect("the binary runs");
        std::thread::sleep(Duration::from_millis(delay));
        signal(child.id(), "KILL");
        child.wait().expect("it has ended");
        let dump = folder.run(&["kb", "dump", "t.kb"]);
        if dump.code == Some(0) {
            // What is there is a beginning of the file.
            let lines: Vec<&str> = dump.out.lines().filter(|line| line.starts_with('(')).collect();
            let expected: Vec<String> = (0..lines.len()).map(|number| format!("(fact {number})")).collect();
            assert!(lines == expected, "{} facts with a hole", lines.len());
        }
    }
    let out = folder.good(&["kb", "load", "t.kb", "facts.metta"]);
    assert!(out.starts_with("facts.metta: "), "{out}");
    let stats = folder.good(&["kb", "stats", "t.kb"]);
    assert_eq!(counted(&stats, "atoms"), FACTS.to_string());
    assert_eq!(folder.good(&["kb", "load", "t.kb", "facts.metta"]), "facts.metta: unchanged, nothing to add\n");
}
