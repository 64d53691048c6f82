//! `kb compact --keep-commits`: old commits are given up, and every verb says so.

use crate::harness::{Folder, counted};

/// Four commits, the first three of which fill a segment each.
fn long_history(test: &str) -> Folder {
    let folder = Folder::new(test);
    for number in 1..4 {
        folder.write("long.metta", &format!("(long {number} \"{}\")\n(fact {number})\n", "x".repeat(9 << 20)));
        folder.good(&["kb", "load", "kb", "long.metta"]);
    }
    folder.good(&["run", "--kb", "kb", "-e", "(fact 4)"]);
    folder
}

#[test]
fn what_was_given_up_is_said_to_be() {
    let folder = long_history("kb-retention");
    folder.good(&["kb", "backup", "kb", "--to", "before"]);
    let said = folder.good(&["kb", "compact", "kb", "--keep-commits", "2"]);
    assert!(said.starts_with("kb: checkpoint after commit 4\ngiven up: 2 commits, "), "{said}");
    assert!(said.ends_with(" bytes; commit 3 is the first that is kept\n"), "{said}");
    let log = folder.good(&["kb", "log", "kb"]);
    assert_eq!(
        log.lines().map(|line| line.trim().split(' ').next()).collect::<Vec<_>>(),
        [Some("3"), Some("4")],
        "{log}"
    );
    let stats = folder.good(&["kb", "stats", "kb"]);
    assert_eq!((counted(&stats, "commits"), counted(&stats, "first")), ("4", "3"));
    for arguments in [
        &["kb", "log", "kb", "--from", "2"][..],
        &["kb", "at", "kb", "1"],
        &["kb", "diff", "kb", "1", "4"],
        &["kb", "fork", "kb", "--to", "fork", "--at", "1"],
        &["kb", "query", "kb", "(fact $x)", "--as-of", "1"],
        &["run", "--kb", "kb", "--as-of", "1", "-e", "!(match &self (fact $x) $x)"],
        &["why", "kb", "(fact 1)", "--as-of", "1"],
        &["kb", "log", "kb", "(fact 4)", "--from", "1"],
        &["watch", "kb", "(fact $x)", "--from", "1"],
    ] {
        let refused = folder.run(arguments);
        assert_eq!(refused.code, Some(2), "{arguments:?}: {}", refused.err);
        assert!(refused.err.contains("the commits before 3 were given up"), "{arguments:?}: {}", refused.err);
        assert!(refused.err.contains("help: ask a backup"), "{arguments:?}: {}", refused.err);
    }
    assert!(!folder.path().join("fork").exists());
    // What there was after the last of them is known, and what came later.
    assert_eq!(folder.good(&["kb", "query", "kb", "(fact $x)", "$x", "--as-of", "2"]), "2\n");
    assert!(folder.good(&["kb", "diff", "kb", "2", "4"]).contains("+ (fact 4)  -e:1\n"));
    assert!(folder.good(&["why", "kb", "(fact 4)"]).starts_with("(fact 4)  commit 4  "));
    let partly = folder.run(&["why", "kb", "(fact $x)"]);
    assert_eq!(partly.code, Some(0), "{}", partly.err);
    folder.good(&["run", "--kb", "kb", "-e", "(fact 5)"]);
    folder.good(&["kb", "fork", "kb", "--to", "fork", "--at", "3"]);
    assert_eq!(folder.good(&["kb", "query", "fork", "(fact $x)", "$x"]), "3\n");
    let refused = folder.run(&["run", "--kb", "kb", "--record", "tape", "-e", "!(+ 1 2)"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("those before 3 were given up"), "{}", refused.err);
    assert!(!folder.path().join("tape").exists());
    // The copy that was made before has everything.
    assert_eq!(folder.good(&["kb", "query", "before", "(fact $x)", "$x", "--as-of", "1"]), "1\n");
}

#[test]
fn a_base_that_gave_up_commits_is_verified_copied_and_salvaged() {
    let folder = long_history("kb-retention-copies");
    folder.good(&["kb", "compact", "kb", "--keep-commits", "1", "--json"]);
    let verified = folder.good(&["kb", "verify", "kb"]);
    assert!(verified.contains("the commits before 4 were given up"), "{verified}");
    assert!(verified.contains("the checkpoint after commit 4 is what the journal comes to"), "{verified}");
    let shown = folder.good(&["journal", "show", "kb"]);
    assert!(!shown.trim_start().starts_with("0 "), "{shown}");
    assert_ne!(counted(&folder.good(&["journal", "stats", "kb"]), "first"), "0");
    folder.good(&["journal", "verify", "kb"]);
    let early = folder.run(&["journal", "show", "kb", "--from", "0"]);
    assert!(early.code == Some(2) && early.err.contains("was given up when the journal was trimmed"), "{}", early.err);
    for (made, arguments) in [
        ("copy", &["kb", "backup", "kb", "--to", "copy"][..]),
        ("saved", &["kb", "salvage", "kb", "--to", "saved"]),
        ("fork", &["kb", "fork", "kb", "--to", "fork"]),
    ] {
        folder.good(arguments);
        folder.good(&["kb", "verify", made]);
        assert_eq!(
            folder.good(&["kb", "query", made, "(fact $x)", "$x"]),
            folder.good(&["kb", "query", "kb", "(fact $x)", "$x"])
        );
        folder.good(&["run", "--kb", made, "-e", "(fact more)"]);
        folder.good(&["kb", "verify", made]);
    }
    // What the history begins with is damaged: answers come from the checkpoint, and a salvage makes a base of that.
    let name = "kb/journal/00000000000000000003.beginning";
    let mut bytes = std::fs::read(folder.path().join(name)).expect("it is there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(folder.path().join(name), bytes).expect("it is written");
    let expected = folder.good(&["kb", "query", "copy", "(fact $x)", "$x"]);
    assert_eq!(folder.good(&["kb", "query", "kb", "(fact $x)", "$x"]) + "more\n", expected);
    let verified = folder.run(&["kb", "verify", "kb"]);
    assert_eq!(verified.code, Some(4), "{}", verified.err);
    assert!(verified.err.contains(".beginning") && verified.err.contains("kb salvage"), "{}", verified.err);
    folder.good(&["kb", "salvage", "kb", "--to", "again"]);
    folder.good(&["kb", "verify", "again"]);
    assert_eq!(folder.good(&["kb", "query", "again", "(fact $x)", "$x"]) + "more\n", expected);
    // Which facts a file states is not known there, and nothing is made up.
    folder.write("long.metta", "(fact changed)");
    let edited = folder.run(&["run", "--kb", "again", "long.metta"]);
    assert_eq!(edited.code, Some(1), "{} {}", edited.out, edited.err);
    assert!(edited.err.contains("what the files of the knowledge base state is not known"), "{}", edited.err);
}
