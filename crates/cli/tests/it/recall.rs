//! Runs in a knowledge base: sources that change, runs that are cancelled, two processes at once.

use crate::harness::{Folder, counted, feed, signal, wait};
use std::io::{BufRead, BufReader, Read};

const ENDLESS: &str = "(= (loop $n) (loop (+ $n 1)))\n";

#[test]
fn an_unchanged_file_adds_nothing_again() {
    let folder = Folder::new("recall-unchanged");
    folder.write("p.metta", "(a 1)\n(a 1)\n!(add-atom &self (b 1))\n(c 1)\n");
    for runs in 1..=3 {
        assert_eq!(folder.good(&["run", "--kb", "kb", "p.metta"]), "[()]\n");
        // Forms after `!` are evaluated each time.
        let mut atoms = folder.atoms();
        atoms.sort();
        assert_eq!(atoms, [vec!["(a 1)"; 2], vec!["(b 1)"; runs], vec!["(c 1)"]].concat());
    }
}

#[test]
fn an_edited_file_applies_its_difference() {
    let folder = Folder::new("recall-edited");
    folder.write("p.metta", "(a 1)\n(a 2)\n(a 2)\n(a 3)\n");
    folder.good(&["run", "--kb", "kb", "p.metta"]);
    folder.write("p.metta", "(a 4)\n(a 1)\n(a 2)\n");
    folder.good(&["run", "--kb", "kb", "p.metta"]);
    let mut atoms = folder.atoms();
    atoms.sort();
    assert_eq!(atoms, ["(a 1)", "(a 2)", "(a 4)"]);
    let log = folder.good(&["kb", "log", "kb", "--changes", "--from", "2"]);
    assert!(log.contains("  p.metta  +1 -2\n") && log.contains("- (a 3)  p.metta\n"), "{log}");
    assert!(log.contains("+ (a 4)  p.metta:1\n"), "{log}");
    // Back to the first text: a difference as well.
    folder.write("p.metta", "(a 1)\n(a 2)\n(a 2)\n(a 3)\n");
    folder.good(&["run", "--kb", "kb", "p.metta"]);
    let mut atoms = folder.atoms();
    atoms.sort();
    assert_eq!(atoms, ["(a 1)", "(a 2)", "(a 2)", "(a 3)"]);
}

#[test]
fn a_file_is_known_wherever_it_is_run_from_and_whatever_it_is_called() {
    let folder = Folder::new("recall-moved");
    folder.write("one/p.metta", "(a 1)\n");
    folder.write("two/empty", "");
    folder.good(&["run", "--kb", "kb", "one/p.metta"]);
    let mut elsewhere = folder.command(&["run", "--kb", "../kb", "../one/./p.metta"]);
    let ended = wait(elsewhere.current_dir(folder.path().join("two")).spawn().expect("the binary runs"));
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    assert_eq!(folder.atoms(), ["(a 1)"]);
    std::fs::rename(folder.path().join("one/p.metta"), folder.path().join("two/q.metta")).expect("it moves");
    folder.good(&["run", "--kb", "kb", "two/q.metta"]);
    assert_eq!(folder.atoms(), ["(a 1)"]);
    // Edited under its new name.
    folder.write("two/q.metta", "(a 2)\n");
    folder.good(&["run", "--kb", "kb", "two/q.metta"]);
    assert_eq!(folder.atoms(), ["(a 2)"]);
    // The base and the file moved together.
    let moved = Folder::new("recall-moved-together");
    std::fs::remove_dir_all(moved.path()).expect("it is empty");
    std::fs::rename(folder.path(), moved.path()).expect("it moves");
    moved.good(&["run", "--kb", "kb", "two/q.metta"]);
    assert_eq!(moved.atoms(), ["(a 2)"]);
}

#[test]
fn a_copy_of_a_file_states_what_it_states_once_more() {
    let folder = Folder::new("recall-copied");
    folder.write("p.metta", "(a 1)\n");
    folder.write("q.metta", "(a 1)\n");
    folder.good(&["run", "--kb", "kb", "p.metta", "q.metta"]);
    assert_eq!(folder.atoms(), ["(a 1)", "(a 1)"]);
    folder.good(&["run", "--kb", "kb", "q.metta", "p.metta"]);
    assert_eq!(folder.atoms(), ["(a 1)", "(a 1)"]);
    folder.write("q.metta", "(a 2)\n");
    folder.good(&["run", "--kb", "kb", "p.metta", "q.metta"]);
    assert_eq!(folder.atoms(), ["(a 1)", "(a 2)"]);
}

#[test]
fn a_text_that_is_no_file_is_stated_each_time() {
    let folder = Folder::new("recall-text");
    for times in 1..=3 {
        folder.good(&["run", "--kb", "kb", "-e", "(a 1)"]);
        let ended = feed(folder.command(&["run", "--kb", "kb"]), b"(b 1)");
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
        assert_eq!(folder.atoms().len(), 2 * times);
    }
}

#[test]
fn what_a_program_removed_stays_removed_when_its_file_is_run_again() {
    let folder = Folder::new("recall-removed");
    folder.write("p.metta", "(a 1)\n(a 2)\n");
    folder.good(&["run", "--kb", "kb", "p.metta"]);
    folder.good(&["run", "--kb", "kb", "-e", "!(remove-atom &self (a 1))"]);
    folder.good(&["run", "--kb", "kb", "p.metta"]);
    assert_eq!(folder.atoms(), ["(a 2)"]);
    // An edit elsewhere in the file does not bring it back either.
    folder.write("p.metta", "(a 1)\n(a 2)\n(a 3)\n");
    folder.good(&["run", "--kb", "kb", "p.metta"]);
    assert_eq!(folder.atoms(), ["(a 2)", "(a 3)"]);
}

#[test]
fn a_run_that_stopped_half_way_is_taken_up() {
    let folder = Folder::new("recall-half");
    folder.write("p.metta", "(a 1)\n!(/ 1 0)\n(a 2)\n!(match &self (a $x) $x)\n");
    let ended = folder.run(&["run", "--kb", "kb", "p.metta"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), "[(Error (/ 1 0) DivisionByZero)]\n"));
    assert_eq!(folder.atoms(), ["(a 1)"]);
    // A text that did not change stops at the same place, and states nothing twice.
    folder.run(&["run", "--kb", "kb", "p.metta"]);
    assert_eq!(folder.atoms(), ["(a 1)"]);
    folder.write("p.metta", "(a 1)\n!(/ 1 1)\n(a 2)\n!(match &self (a $x) $x)\n");
    assert_eq!(folder.good(&["run", "--kb", "kb", "p.metta"]), "[1]\n[1, 2]\n");
    assert_eq!(folder.good(&["run", "--kb", "kb", "p.metta"]), "[1]\n[1, 2]\n");
    assert_eq!(folder.atoms(), ["(a 1)", "(a 2)"]);
}

#[test]
fn a_source_that_does_not_parse_keeps_what_came_before() {
    let folder = Folder::new("recall-unparsed");
    folder.write("p.metta", "(a 1)\n!(+ 1 1)\n(a 2)\n(a 3\n");
    assert_eq!(folder.run(&["run", "--kb", "kb", "p.metta"]).code, Some(3));
    assert_eq!(folder.atoms(), ["(a 1)", "(a 2)"]);
    folder.write("p.metta", "(a 1)\n!(+ 1 1)\n(a 2)\n(a 3)\n");
    folder.good(&["run", "--kb", "kb", "p.metta"]);
    assert_eq!(folder.atoms(), ["(a 1)", "(a 2)", "(a 3)"]);
}

#[test]
fn an_imported_module_is_run_again_only_when_it_was_edited() {
    let folder = Folder::new("recall-module");
    folder.write("m.metta", "(= (price) 10)\n!(println! loaded)\n");
    folder.write("p.metta", "!(import! &self m)\n!(price)\n");
    assert_eq!(folder.good(&["run", "--kb", "kb", "p.metta"]), "loaded\n[()]\n[10]\n");
    assert_eq!(folder.good(&["run", "--kb", "kb", "p.metta"]), "[()]\n[10]\n");
    folder.write("m.metta", "(= (price) 11)\n!(println! loaded)\n");
    assert_eq!(folder.good(&["run", "--kb", "kb", "p.metta"]), "loaded\n[()]\n[11]\n");
    assert_eq!(folder.good(&["run", "--kb", "kb", "p.metta"]), "[()]\n[11]\n");
}

/// Begins a run that goes on until it is told to end, and reads its first line.
fn endless(folder: &Folder, arguments: &[&str]) -> (std::process::Child, BufReader<std::process::ChildStdout>) {
    let mut child = folder.command(arguments).spawn().expect("the binary runs");
    let mut out = BufReader::new(child.stdout.take().expect("there is an output"));
    let mut line = String::new();
    out.read_line(&mut line).expect("a line can be read");
    assert_eq!(line, "[ready]\n");
    (child, out)
}

const CANCELLED: &str = "(before 1)
!(add-atom &self (kept 1))
! ready
(pending 1)
!(let () (add-atom &self (lost 1)) (loop 0))
(after 1)
";

#[test]
fn what_is_cancelled_leaves_nothing_behind_and_replays_to_the_same_step() {
    for (name, by_time) in [("interrupt", false), ("timeout", true)] {
        let folder = Folder::new(&format!("recall-{name}"));
        folder.write("p.metta", &format!("{ENDLESS}{}", CANCELLED.replacen("!(add-atom &self (kept 1))\n", "", 1)));
        folder.good(&["run", "--kb", "kb", "-e", "!(add-atom &self (kept 1))"]);
        let mut arguments = vec!["run", "--kb", "kb", "--record", "tape", "p.metta"];
        // Without an interrupt it would not end.
        arguments.extend(["--timeout", if by_time { "0.7" } else { "50" }]);
        let (child, mut out) = endless(&folder, &arguments);
        if !by_time {
            std::thread::sleep(std::time::Duration::from_millis(60));
            signal(child.id(), "INT");
        }
        let mut rest = String::new();
        out.read_to_string(&mut rest).expect("the rest can be read");
        let ended = wait(child);
        assert_eq!(ended.code, Some(1), "{}", ended.err);
        let why = if by_time { "TimeLimit" } else { "Cancelled" };
        assert!(rest.starts_with("[(Error ") && rest.ends_with(&format!(" {why})]\n")), "{rest}");
        assert!(ended.err.contains("p.metta:5") && ended.err.contains("as commit 2 left it"), "{}", ended.err);
        let kept = ["(kept 1)", "(= (loop $n) (loop (+ $n 1)))", "(before 1)"];
        assert_eq!(folder.atoms(), kept);
        std::fs::rename(folder.path().join("kb"), folder.path().join("other")).expect("it moves");
        let replayed = folder.run(&["replay", "tape"]);
        assert_eq!((replayed.code, replayed.out), (Some(0), format!("[ready]\n{rest}")), "{}", replayed.err);
        std::fs::rename(folder.path().join("other"), folder.path().join("kb")).expect("it moves");
        // The base goes on from there.
        folder.good(&["run", "--kb", "kb", "-e", "!(add-atom &self (next 1))"]);
        assert_eq!(folder.atoms(), [&kept[..], &["(next 1)"]].concat());
    }
}

#[test]
fn an_interrupt_at_any_moment_keeps_whole_commits_and_replays() {
    let forms =
        (1..3_000).map(|n| format!("(plain {n})\n!(let () (add-atom &self (fact {n})) (let $x (spin 20) {n}))\n"));
    let program =
        "(= (spin $n) (if (== $n 0) done (spin (- $n 1))))\n! ready\n".to_owned() + &forms.collect::<String>();
    for round in 0..12 {
        let folder = Folder::new("recall-any-moment");
        folder.write("p.metta", &program);
        let (child, mut out) = endless(&folder, &["run", "--kb", "kb", "--record", "tape", "p.metta"]);
        std::thread::sleep(std::time::Duration::from_micros(round * 3_717));
        signal(child.id(), "INT");
        let mut rest = String::new();
        out.read_to_string(&mut rest).expect("the rest can be read");
        assert_eq!(wait(child).code, Some(1));
        let numbers: Vec<&str> = rest.lines().map(|line| line.trim_matches(['[', ']'])).collect();
        let facts = numbers.iter().take_while(|number| number.parse::<u32>().is_ok());
        let facts: Vec<String> = facts.flat_map(|n| [format!("(plain {n})"), format!("(fact {n})")]).collect();
        assert_eq!(folder.atoms()[1..], facts, "round {round}");
        assert_eq!(folder.good(&["replay", "tape"]), format!("[ready]\n{rest}"), "round {round}");
    }
}

#[test]
fn one_process_writes_and_others_read_meanwhile() {
    let folder = Folder::new("recall-two");
    folder.write("p.metta", &format!("{ENDLESS}(a 1)\n(a 2)\n! ready\n!(loop 0)\n"));
    let (child, mut out) = endless(&folder, &["run", "--kb", "kb", "--timeout", "50", "p.metta"]);
    let second = folder.run(&["run", "--kb", "kb", "-e", "(b 1)"]);
    assert_eq!((second.code, second.out.as_str()), (Some(2), ""));
    assert!(second.err.contains(&format!("process {}", child.id())), "{}", second.err);
    assert!(second.err.contains("help: "), "{}", second.err);
    assert_eq!(folder.atoms().len(), 3);
    assert!(folder.good(&["kb", "log", "kb"]).contains("p.metta:1"));
    assert!(folder.good(&["why", "kb", "(a $x)"]).contains("(a 2)  commit 1  p.metta:3:1"));
    assert!(folder.good(&["kb", "verify", "kb"]).contains("sound"));
    assert_eq!(counted(&folder.good(&["kb", "stats", "kb"]), "commits"), "1");
    signal(child.id(), "INT");
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("the rest can be read");
    wait(child);
    folder.good(&["run", "--kb", "kb", "-e", "(b 1)"]);
    assert_eq!(folder.atoms().len(), 4);
}

#[test]
fn readers_see_whole_commits_while_another_process_writes() {
    let folder = Folder::new("recall-readers");
    let forms: String = (1..=300).map(|n| format!("(left {n})\n(right {n})\n!({n})\n")).collect();
    folder.write("p.metta", &forms);
    folder.good(&["run", "--kb", "kb", "-e", ""]);
    let child = folder.command(&["run", "--kb", "kb", "p.metta"]).spawn().expect("the binary runs");
    let watcher = std::thread::spawn(move || wait(child));
    let mut last = 0;
    while !watcher.is_finished() {
        let atoms = folder.atoms();
        assert!(atoms.len().is_multiple_of(2) && atoms.len() >= last, "{} atoms after {last}", atoms.len());
        last = atoms.len();
        folder.good(&["kb", "log", "kb", "--changes"]);
    }
    assert_eq!(watcher.join().expect("the writer ends").code, Some(0));
    assert_eq!(folder.atoms().len(), 600);
}

#[test]
fn what_is_no_base_is_left_alone() {
    let folder = Folder::new("recall-none");
    folder.write("full/thing", "mine");
    folder.write("file", "mine");
    folder.write("old/MANIFEST", "metroon base\nformat 999\n");
    for (path, code, word) in [
        ("full", 2, "is not a knowledge base"),
        ("file", 2, "is not a knowledge base"),
        ("old", 4, "format 999"),
        ("file/kb", 2, "file/kb"),
    ] {
        let ended = folder.run(&["run", "--kb", path, "-e", "(a 1)"]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(code), ""), "{path}: {}", ended.err);
        assert!(ended.err.contains(word) && ended.err.contains("help: "), "{path}: {}", ended.err);
    }
    assert_eq!(std::fs::read_dir(folder.path().join("full")).expect("it is listed").count(), 1);
}
