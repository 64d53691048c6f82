//! `metroon why --tree` and `--not`: what a result rests on, and what a missing one lacks.

use crate::harness::Folder;

const PATHS: &str = "\
(edge a b) (edge b c) (edge c d) (edge a c)
(= (path $from) (match &self (edge $from $to) $to))
(= (path $from) (let $mid (path $from) (match &self (edge $mid $to) $to)))
(weight a 3) (weight b 5)
(= (heavy) (match &self (weight $x $w) (if (> $w 4) $x (empty))))
(= (grade $x) (match &self (weight $x $w) (+ $w 10)))
";

fn paths(test: &str) -> Folder {
    let folder = Folder::new(test);
    folder.write("paths.metta", PATHS);
    folder.good(&["run", "--kb", "kb", "paths.metta"]);
    folder
}

#[test]
fn a_tree_leads_to_files_and_lines() {
    let folder = paths("why-tree");
    let tree = folder.good(&["why", "kb", "(= (path b) d)", "--tree"]);
    let expected = "\
(= (path b) d)
├─ by (= (path $from) (let $mid (path $from) (match &self (edge $mid $to) $to)))  commit 1  paths.metta:3:1
├─ (= (path b) c)
│  ├─ by (= (path $from) (match &self (edge $from $to) $to))  commit 1  paths.metta:2:1
│  └─ (edge b c)  commit 1  paths.metta:1:12
└─ (edge c d)  commit 1  paths.metta:1:23
";
    assert_eq!(tree, expected);
    // Both evaluators agree that it is a result.
    assert_eq!(folder.good(&["run", "--read-only", "--kb", "kb", "-e", "!(once (path b))"]), "[c]\n");
    assert_eq!(folder.good(&["why", "kb", "(edge a b)", "--tree"]), "(edge a b)  commit 1  paths.metta:1:1\n");
    let heavy = folder.good(&["why", "kb", "(heavy)", "--tree"]);
    assert!(
        heavy.starts_with("(= (heavy) b)\n") && heavy.contains("└─ (> 5 4)") && heavy.contains("(weight b 5)"),
        "{heavy}"
    );
    let grade = folder.good(&["why", "kb", "(= (grade a) 13)", "--tree"]);
    assert!(grade.contains("└─ (weight a 3)  commit 1  paths.metta:4:1"), "{grade}");
}

#[test]
fn the_shortest_come_first() {
    let folder = paths("why-shortest");
    let trees = folder.good(&["why", "kb", "(= (path a) d)", "--tree", "--derivations", "3", "--json"]);
    let objects: Vec<serde_json::Value> = trees.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(objects.len(), 2, "{trees}");
    let first = &objects[0];
    assert_eq!(first["atom"], "(= (path a) d)");
    assert_eq!(first["rule"]["line"], 3);
    assert_eq!(
        (first["from"][0]["atom"].as_str(), first["from"][1]["atom"].as_str()),
        (Some("(= (path a) c)"), Some("(edge c d)"))
    );
    assert_eq!(first["from"][0]["from"][0]["atom"], "(edge a c)");
    assert_eq!(objects[1]["from"][0]["from"][0]["atom"], "(= (path a) b)");
}

#[test]
fn what_is_missing_is_named() {
    let folder = paths("why-not");
    let missing = folder.good(&["why", "kb", "(= (path d) a)", "--not"]);
    let expected =
        "by (= (path $from) (match &self (edge $from $to) $to))  commit 1  paths.metta:2:1\n  lacks (edge d a)\n";
    assert!(missing.starts_with(expected), "{missing}");
    let tested = folder.good(&["why", "kb", "(= (heavy) a)", "--not"]);
    assert!(tested.contains("has   (weight a 3)  commit 1  paths.metta:4:1\n  lacks (> 3 4)"), "{tested}");
    let nothing = folder.good(&["why", "kb", "(edge d e)", "--not"]);
    assert_eq!(nothing, "  lacks (edge d e)\n");
    // A call without a rule stays as it is: it lacks the rule that would make it something else.
    let without_rule = folder.good(&["why", "kb", "(= (weigh a) 3)", "--not"]);
    assert_eq!(without_rule, "  lacks (= (weigh a) 3)\n");
    assert_eq!(folder.run(&["why", "kb", "(= (path a) b)", "--not"]).code, Some(1));
    let unfound = folder.run(&["why", "kb", "(= (path d) a)", "--tree"]);
    assert_eq!(unfound.code, Some(1));
    assert!(unfound.err.contains("--not"), "{}", unfound.err);
}

#[test]
fn it_is_found_again_as_of_a_commit() {
    let folder = paths("why-as-of");
    folder.good(&["run", "--kb", "kb", "-e", "!(remove-atom &self (edge b c))"]);
    assert_eq!(folder.run(&["why", "kb", "(= (path b) d)", "--tree"]).code, Some(1));
    let then = folder.good(&["why", "kb", "(= (path b) d)", "--tree", "--as-of", "1"]);
    assert!(then.contains("(edge b c)  commit 1  paths.metta:1:12"), "{then}");
}
