//! The past of a knowledge base beside its present: `kb diff`, `kb fork`, `run --as-of`; and its files: `kb sources`, `kb forget`.

use crate::harness::Folder;
use std::time::Duration;

/// Commit 1 has three towns, commit 2 takes one away and adds another, commit 3 does nothing but to a state.
fn towns(test: &str) -> Folder {
    let folder = Folder::new(test);
    folder.write(
        "towns.metta",
        "(town Oslo) (town Hamar) (town Oslo)\n(= (all) (collapse (match &self (town $x) $x)))\n",
    );
    folder.good(&["run", "--kb", "kb", "towns.metta"]);
    let change = "!(let $x (remove-atom &self (town Hamar)) (add-atom &self (town Bergen)))";
    folder.good(&["run", "--kb", "kb", "-e", change, "-e", "!(bind! &visits (new-state 1))"]);
    folder.good(&["run", "--kb", "kb", "-e", "!(change-state! &visits 2)"]);
    folder
}

#[test]
fn a_difference_is_what_makes_one_moment_another() {
    let folder = towns("kb-diff");
    assert_eq!(folder.good(&["kb", "diff", "kb", "1", "2"]), "- (town Hamar)  -e:1\n+ (town Bergen)  -e:1\n");
    assert_eq!(folder.good(&["kb", "diff", "kb", "2", "1"]), "+ (town Hamar)  -e:1\n- (town Bergen)  -e:1\n");
    assert_eq!(folder.good(&["kb", "diff", "kb", "2", "2"]), "");
    assert_eq!(folder.good(&["kb", "diff", "kb", "3", "4"]), "~ state 1 = 2\n");
    let all = folder.good(&["kb", "diff", "kb", "0", "4", "--json"]);
    let objects: Vec<serde_json::Value> = all.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let copies: Vec<_> = objects.iter().map(|object| (object["atom"].as_str(), object["copies"].as_i64())).collect();
    assert_eq!(copies[0], (Some("(town Oslo)"), Some(2)));
    assert!(!copies.contains(&(Some("(town Hamar)"), Some(0))), "{all}");
    assert_eq!(folder.run(&["kb", "diff", "kb", "1", "9"]).code, Some(2));
}

#[test]
fn a_fork_goes_on_for_itself() {
    let folder = towns("kb-fork");
    let made = folder.good(&["kb", "fork", "kb", "--to", "then", "--at", "1"]);
    assert!(made.starts_with("then: 1 commit, 4 atoms, state "), "{made}");
    folder.good(&["run", "--kb", "then", "-e", "(town Moss)"]);
    let towns = |base: &str| folder.good(&["run", "--read-only", "--kb", base, "-e", "!(all)"]);
    assert_eq!(towns("then"), "[(Oslo Oslo Hamar Moss)]\n");
    assert_eq!(towns("kb"), "[(Oslo Oslo Bergen)]\n");
    folder.good(&["kb", "verify", "then"]);
    // A file that was run before is known, and states nothing anew.
    folder.good(&["run", "--kb", "then", "towns.metta"]);
    assert_eq!(towns("then"), "[(Oslo Oslo Hamar Moss)]\n");
    folder.good(&["kb", "fork", "kb", "--to", "whole"]);
    assert_eq!(towns("whole"), towns("kb"));
    folder.good(&["kb", "fork", "kb", "--to", "nothing", "--at", "0"]);
    folder.good(&["kb", "verify", "nothing"]);
    assert_eq!(folder.run(&["kb", "fork", "kb", "--to", "whole"]).code, Some(2));
    let late = folder.run(&["kb", "fork", "kb", "--to", "late", "--at", "9"]);
    assert_eq!(late.code, Some(2));
    assert!(!folder.path().join("late").exists(), "{}", late.err);
}

#[test]
fn a_run_sees_an_earlier_commit() {
    let folder = towns("run-as-of");
    let towns =
        |epoch: &str| folder.good(&["run", "--kb", "kb", "--as-of", epoch, "-e", "!(all)", "-e", "!(epoch &self)"]);
    assert_eq!(towns("1"), "[(Oslo Oslo Hamar)]\n[1]\n");
    assert_eq!(towns("2"), "[(Oslo Oslo Bergen)]\n[2]\n");
    // A file that had run by then states nothing anew.
    assert_eq!(
        folder.good(&["run", "--kb", "kb", "--as-of", "1", "towns.metta", "-e", "!(all)"]),
        "[(Oslo Oslo Hamar)]\n"
    );
    let changed = folder.run(&["run", "--kb", "kb", "--as-of", "1", "-e", "!(add-atom &self (town Moss))"]);
    assert_eq!(changed.code, Some(1));
    assert!(changed.err.contains("read-only"), "{}", changed.err);
    let late = folder.run(&["run", "--kb", "kb", "--as-of", "9", "-e", "!(all)"]);
    assert_eq!(late.code, Some(2));
    assert!(late.err.contains("there is no commit 9"), "{}", late.err);
}

#[test]
fn files_are_listed_and_forgotten() {
    let folder = towns("kb-sources");
    let sources = folder.good(&["kb", "sources", "kb"]);
    assert!(!sources.contains("did not run to its end"), "{sources}");
    let words: Vec<&str> = sources.split_whitespace().collect();
    assert_eq!(
        (&words[..5], words.len(), sources.lines().count()),
        (&["../towns.metta", "4", "atoms", "commit", "1"][..], 6, 1)
    );
    std::fs::copy(folder.path().join("towns.metta"), folder.path().join("copy.metta")).expect("it is copied");
    let copied = folder.run(&["run", "--kb", "kb", "copy.metta"]);
    assert!(copied.err.contains("copy.metta has the text of towns.metta"), "{}", copied.err);
    assert_eq!(folder.good(&["kb", "sources", "kb"]).lines().count(), 2);
    let forgotten = folder.good(&["kb", "forget", "kb", "copy.metta"]);
    assert_eq!(forgotten, "copy.metta: 4 atoms taken out, commit 6\n");
    assert_eq!(folder.good(&["run", "--read-only", "--kb", "kb", "-e", "!(all)"]), "[(Oslo Oslo Bergen)]\n");
    // What a program added stays, and so does what it removed; the file need not be there.
    std::fs::remove_file(folder.path().join("towns.metta")).expect("it is removed");
    assert_eq!(folder.good(&["kb", "forget", "kb", "../towns.metta"]), "../towns.metta: 3 atoms taken out, commit 7\n");
    assert_eq!(folder.atoms(), ["(town Bergen)"]);
    folder.good(&["kb", "verify", "kb"]);
    let unknown = folder.run(&["kb", "forget", "kb", "other.metta"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.err.contains("knows no file other.metta"), "{}", unknown.err);
    folder.good(&["run", "--kb", "kb", "copy.metta"]);
    assert_eq!(folder.good(&["run", "--read-only", "--kb", "kb", "-e", "!(all)"]), "[(Bergen Oslo Oslo Hamar)]\n");
}

/// The dates of the commits of the base `kb`, in order; empty ones for those that have none.
fn dates(folder: &Folder) -> Vec<String> {
    let log = folder.good(&["kb", "log", "kb", "--json"]);
    let objects = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    objects.map(|object| object["time"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_date_names_the_last_commit_that_was_made_by_then() {
    let folder = Folder::new("kb-dates");
    folder.good(&["run", "--kb", "kb", "-e", "(town Oslo)"]);
    // A date says no more than the second.
    std::thread::sleep(Duration::from_millis(1_100));
    folder.good(&["run", "--kb", "kb", "-e", "(town Hamar)"]);
    let dates = dates(&folder);
    assert!(dates.len() == 2 && dates[0] < dates[1], "{dates:?}");
    let log = folder.good(&["kb", "log", "kb"]);
    for (line, date) in log.lines().zip(&dates) {
        assert_eq!(line.split_whitespace().nth(2), Some(date.as_str()), "{log}");
    }
    let ask = "!(collapse (match &self (town $x) $x))";
    let as_of = |when: &str| folder.good(&["run", "--kb", "kb", "--as-of", when, "-e", ask]);
    assert_eq!(as_of(&dates[0]), "[(Oslo)]\n");
    assert_eq!(as_of(&dates[1]), "[(Oslo Hamar)]\n");
    // A day is there until it ends.
    assert_eq!(as_of("2200-01-01"), "[(Oslo Hamar)]\n");
    assert_eq!(folder.good(&["kb", "diff", "kb", &dates[0], "2200-01-01"]), "+ (town Hamar)  -e:1\n");
    assert_eq!(folder.good(&["kb", "query", "kb", "(town $x)", "--as-of", &dates[0]]), "(town Oslo)\n");
    assert!(folder.good(&["kb", "at", "kb", &dates[0]]).ends_with("(town Oslo)\n"));
    assert!(folder.good(&["why", "kb", "(town Oslo)", "--as-of", &dates[0]]).contains("commit 1"));
    assert!(
        folder.good(&["kb", "fork", "kb", "--to", "then", "--at", &dates[0]]).starts_with("then: 1 commit, 1 atom,")
    );
    let numbers = |arguments: &[&str]| -> Vec<String> {
        let log = folder.good(&[&["kb", "log", "kb"], arguments].concat());
        log.lines().map(|line| line.split_whitespace().next().unwrap_or_default().to_owned()).collect()
    };
    // A log begins with a day, and a query is followed from its end on.
    assert_eq!(numbers(&["--from", &dates[1][..10]]), ["1", "2"]);
    assert_eq!(numbers(&["--from", &dates[1]]), ["2"]);
    assert_eq!(numbers(&["--from", "2001-01-01", "--to", &dates[0]]), ["1"]);
    assert_eq!(folder.good(&["watch", "kb", "(town $x)", "--from", &dates[0], "--to", "2"]), "2 + (town Hamar)\n");
    let late = folder.run(&["kb", "log", "kb", "--from", "2200-01-01"]);
    assert_eq!(late.code, Some(2));
    let said = format!(
        "no commit was made at 2200-01-01T00:00:00Z or later: the last one that has a date is commit 2, of {}",
        dates[1]
    );
    assert!(late.err.contains(&said), "{}", late.err);
    let early = folder.run(&["watch", "kb", "(town $x)", "--from", "2001-01-01"]);
    assert_eq!(early.code, Some(2));
    assert!(early.err.contains("no commit was made at 2001-01-01T23:59:59Z or before"), "{}", early.err);
    let early = folder.run(&["run", "--kb", "kb", "--as-of", "2001-01-01", "-e", ask]);
    assert_eq!(early.code, Some(2));
    let said = format!(
        "kb: no commit was made at 2001-01-01T23:59:59Z or before: the first one that has a date is commit 1, of {}",
        dates[0]
    );
    assert!(early.err.contains(&said), "{}", early.err);
    let strange = folder.run(&["kb", "at", "kb", "yesterday"]);
    assert_eq!(strange.code, Some(2));
    assert!(strange.err.contains("neither the number of a commit nor a date"), "{}", strange.err);
}

#[test]
fn runs_without_dates_make_equal_bytes() {
    let folder = Folder::new("kb-undated");
    let frames = |base: &str| {
        folder.good(&["run", "--undated", "--kb", base, "-e", "(town Oslo)", "-e", "!(add-atom &self (town Moss))"]);
        folder.good(&["journal", "show", base])
    };
    assert_eq!(frames("kb").replace("kb", "base"), frames("other").replace("other", "base"));
    assert_eq!(dates(&folder), ["", ""]);
    let asked = folder.run(&["kb", "diff", "kb", "0", "2026-11-20"]);
    assert_eq!(asked.code, Some(2));
    assert!(asked.err.contains("no commit has a date"), "{}", asked.err);
    // A later run may write them, and what it wrote is found.
    folder.good(&["run", "--kb", "kb", "-e", "(town Hamar)"]);
    let dates = dates(&folder);
    assert_eq!((dates.len(), dates[1].as_str(), dates[2].is_empty()), (3, "", false));
    assert_eq!(folder.good(&["kb", "diff", "kb", "2", &dates[2]]), "+ (town Hamar)  -e:1\n");
}

/// A recording of a run in a base has the dates of its commits, and replays.
#[test]
fn a_recorded_run_with_dates_is_replayed() {
    let folder = Folder::new("kb-dates-recorded");
    folder.good(&["run", "--kb", "kb", "-e", "(town Oslo)"]);
    let add = "!(add-atom &self (town Hamar))";
    folder.good(&["run", "--kb", "kb", "--record", "run.tape", "-e", add, "-e", add]);
    assert_eq!(folder.good(&["replay", "run.tape"]), "[()]\n[()]\n");
    folder.good(&["replay", "run.tape", "--to", "1"]);
}

/// What a command prints about the past of an atom, with an index of the history and without one.
fn with_and_without_index(folder: &Folder, arguments: &[&str]) -> String {
    folder.good(&["kb", "index", "kb"]);
    let indexed = folder.run(arguments);
    std::fs::remove_dir_all(folder.path().join("kb/history")).expect("it is removed");
    let read = folder.run(arguments);
    assert_eq!((&indexed.out, &indexed.err, indexed.code), (&read.out, &read.err, read.code), "{arguments:?}");
    indexed.out + &indexed.err
}

#[test]
fn the_log_of_an_atom_has_the_commits_that_changed_it() {
    let folder = towns("kb-log-atom");
    folder.good(&["run", "--kb", "kb", "-e", "!(add-atom &self (town Hamar))", "-e", "!(add-atom &self (town Moss))"]);
    let commits = |arguments: &[&str]| -> Vec<String> {
        let printed = with_and_without_index(&folder, &[&["kb", "log", "kb"], arguments].concat());
        printed.lines().map(|line| line.trim().split(' ').next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(commits(&["(town Hamar)"]), ["1", "2", "5"]);
    assert_eq!(commits(&["(town Hamar)", "--from", "2", "--to", "3"]), ["2"]);
    assert_eq!(commits(&["(town $x)"]), ["1", "2", "5", "6"]);
    let changes = with_and_without_index(&folder, &["kb", "log", "kb", "(town Oslo)", "--changes"]);
    let below: Vec<&str> = changes.lines().skip(1).collect();
    assert_eq!(below, ["        + (town Oslo)  towns.metta:1", "        + (town Oslo)  towns.metta:1"], "{changes}");
    let json = with_and_without_index(&folder, &["kb", "log", "kb", "(town Moss)", "--changes", "--json"]);
    let lines: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    assert_eq!((lines[0]["commit"].as_u64(), lines[0]["added"].as_u64()), (Some(6), Some(1)), "{json}");
    assert_eq!((lines[1]["atom"].as_str(), lines[1]["copies"].as_i64()), (Some("(town Moss)"), Some(1)), "{json}");
    let nothing = with_and_without_index(&folder, &["kb", "log", "kb", "(town Bodo)"]);
    assert!(nothing.contains("no commit of kb added or took away an atom that matches (town Bodo)"), "{nothing}");
    let later = with_and_without_index(&folder, &["kb", "log", "kb", "(town Hamar)", "--from", "6"]);
    let expected = "error: none of these commits of kb added or took away an atom that matches (town Hamar)\n\
                    help: leave out --from and --to to look at all of them\n";
    assert_eq!(later, expected);
    let misspelt = folder.run(&["kb", "log", "kb", "--jsn"]);
    assert_eq!((misspelt.code, misspelt.out.as_str()), (Some(2), ""), "{}", misspelt.err);
    assert!(misspelt.err.contains("--jsn") && misspelt.err.contains("--json"), "{}", misspelt.err);
    let torn = folder.run(&["kb", "log", "kb", "(town"]);
    assert_eq!(torn.code, Some(3), "{}", torn.err);
}

#[test]
fn why_at_an_earlier_commit_reads_the_words_of_that_commit() {
    let folder = towns("kb-why-as-of");
    let why = |atom: &str, when: &str| with_and_without_index(&folder, &["why", "kb", atom, "--as-of", when]);
    assert_eq!(why("(town Hamar)", "1"), "(town Hamar)  commit 1  towns.metta:1:13\n");
    assert_eq!(why("(town Oslo)", "2").lines().count(), 2);
    assert!(why("(town Hamar)", "2").contains("no atom of kb matches (town Hamar)"));
    assert!(why("(town Oslo)", "9").contains("there is no commit 9"));
    assert!(why("(town Oslo)", "2001-01-01").contains("no commit was made at 2001-01-01"));
    assert_eq!(why("(town Hamar)", "2200-01-01"), why("(town Hamar)", "3"));
    folder.good(&["run", "--kb", "kb", "-e", "!(bind! &here (new-space))", "-e", "!(add-atom &self (town &here))"]);
    assert!(why("(town &here)", "4").contains("no atom of kb matches"));
    assert!(why("(town &here)", "6").contains("commit 6"));
}
