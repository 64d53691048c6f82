//! The past of a knowledge base beside its present: `kb diff`, `kb fork`, `run --as-of`; and its files: `kb sources`, `kb forget`.

use crate::harness::Folder;

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
