//! `metroon watch`: what a person sees who follows a query, beside a process that writes.

use crate::harness::{Folder, counted, wait};
use std::io::{BufRead, BufReader};

fn shop(test: &str) -> Folder {
    let folder = Folder::new(test);
    folder.write("shop.metta", "(price tea 3) (price cake 7)\n!(add-atom &self (sold-out cake))\n");
    folder.good(&["run", "--kb", "kb", "shop.metta"]);
    folder.good(&[
        "run",
        "--kb",
        "kb",
        "-e",
        "!(let $x (remove-atom &self (price tea 3)) (add-atom &self (price tea 5)))",
    ]);
    folder.good(&["run", "--kb", "kb", "-e", "!(remove-atom &self (sold-out cake))"]);
    folder
}

#[test]
fn the_answers_then_their_end_then_changes() {
    let folder = shop("watch-answers");
    let watched = folder.good(&["watch", "kb", "(price $what $price)", "--from", "0", "--to", "3"]);
    assert_eq!(watched, "1 + (price tea 3)\n1 + (price cake 7)\n2 - (price tea 3)\n2 + (price tea 5)\n");
    let keyed = folder.good(&[
        "watch",
        "kb",
        "(price $what $price)",
        "--key",
        "$what",
        "--from",
        "1",
        "--to",
        "3",
        "--progress",
    ]);
    assert_eq!(keyed, "2 ~ (price tea 3) -> (price tea 5)\n3 .\n");
    let now = folder.good(&["watch", "kb", "(price $what $price)", "$what", "--to", "3"]);
    assert_eq!(now, "3 + cake\n3 + tea\n3 . 2 answers\n");
    let absent = "(if (has-result (match &self (sold-out $what) yes)) (empty) (buy $what))";
    let bought = folder.good(&["watch", "kb", "(price $what $price)", absent, "--from", "0", "--to", "3"]);
    assert_eq!(bought, "1 + (buy tea)\n3 + (buy cake)\n");
    let sums = ["watch", "kb", "(price $what $price)", "(all $price)", "--sum", "$price", "--from", "0", "--to", "3"];
    assert_eq!(folder.good(&sums), "1 ~ (all 0) -> (all 10)\n2 ~ (all 10) -> (all 12)\n");
}

#[test]
fn every_line_can_be_an_object() {
    let folder = shop("watch-json");
    let lines =
        folder.good(&["watch", "kb", "(price $what $price)", "--key", "$what", "--from", "1", "--to", "2", "--json"]);
    let object: serde_json::Value = serde_json::from_str(lines.trim()).expect("JSON");
    assert_eq!(object["commit"], 2);
    assert_eq!(object["change"], "changed");
    assert_eq!((object["before"].as_str(), object["answer"].as_str()), (Some("(price tea 3)"), Some("(price tea 5)")));
}

#[test]
fn commits_of_another_process_are_seen_as_they_come() {
    let folder = shop("watch-other");
    let arguments = ["watch", "kb", "(price $what $price)", "$what", "--limit", "4"];
    let mut watching = folder.command(&arguments).spawn().expect("it starts");
    let mut lines = BufReader::new(watching.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    assert_eq!(lines.by_ref().take(3).collect::<Vec<_>>(), ["3 + cake", "3 + tea", "3 . 2 answers"]);
    folder.good(&["run", "--kb", "kb", "-e", "(price pie 1)"]);
    assert_eq!(lines.next().as_deref(), Some("4 + pie"));
    folder.good(&["run", "--kb", "kb", "-e", "!(remove-atom &self (price pie 1))"]);
    assert_eq!(lines.next().as_deref(), Some("5 - pie"));
    assert!(lines.next().is_none());
    assert_eq!(wait(watching).code, Some(0));
}

#[test]
fn the_answers_of_a_recursive_call_follow_facts_and_rules() {
    let folder = Folder::new("watch-rules");
    folder.write(
        "reach.metta",
        "(e a b) (e b c)
        (= (reach $x) (match &self (e $x $y) $y))
        (= (reach $x) (let $z (reach $x) (match &self (e $z $y) $y)))",
    );
    folder.good(&["run", "--kb", "kb", "reach.metta"]);
    for text in [
        "(e c a)",
        "!(remove-atom &self (e b c))",
        "(= (reach $x) (match &self (f $x $y) $y))",
        "(f a d)",
        "(e d $any)",
        "!(remove-atom &self (e d $any))",
    ] {
        folder.good(&["run", "--kb", "kb", "-e", text]);
    }
    let watch = ["watch", "kb", "(reach a)", "--result", "$r", "--from", "1", "--to", "7", "--stats"];
    let ended = folder.run(&watch);
    let expected =
        "2 + a\n3 - a\n3 - c\n5 + d\n6 ! the rules cannot be followed: atoms with variables may match a pattern\n";
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), expected), "{}", ended.err);
    assert_eq!((counted(&ended.err, "commits"), counted(&ended.err, "changes")), ("6", "4"), "{}", ended.err);
    assert!(ended.err.contains("put back"), "{}", ended.err);
    let template = ["watch", "kb", "(reach $x)", "($x $r)", "--result", "$r", "--to", "7"];
    assert_eq!(folder.good(&template), "7 + (a b)\n7 + (a d)\n7 + (c a)\n7 + (c b)\n7 . 4 answers\n");
    let refused = folder.run(&["watch", "kb", "(e a $x)", "--result", "$r"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.err.contains("cannot be kept up to date from its rules: the function has no rules"),
        "{}",
        refused.err
    );
}

#[test]
fn it_ends_when_nobody_reads() {
    let folder = shop("watch-closed");
    let mut watching = folder.command(&["watch", "kb", "(price $what $price)"]).spawn().expect("it starts");
    let mut output = BufReader::new(watching.stdout.take().expect("it is piped"));
    let mut line = String::new();
    output.read_line(&mut line).expect("it prints");
    drop(output);
    assert_eq!(wait(watching).code, Some(0));
}

#[test]
fn what_is_wrong_is_said() {
    let folder = shop("watch-wrong");
    let said = |arguments: &[&str], code: i32, text: &str| {
        let ended = folder.run(arguments);
        assert_eq!(ended.code, Some(code), "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains(text), "{arguments:?}: {}", ended.err);
    };
    said(&["watch", "nothing", "(a $x)"], 2, "nothing");
    said(&["watch", "kb", "(a $x"], 3, "PATTERN");
    said(&["watch", "kb", "(a $x)", "(+ $x 1)"], 2, "would be evaluated");
    said(&["watch", "kb", "(a $x)", "--from", "9"], 2, "there is no commit 9");
    said(&["watch", "kb", "(a $x)", "--to", "1"], 2, "--from");
    said(&["watch", "kb", "(a $x)", "--greatest", "many", "$x"], 2, "many is not a number of matches");
    said(&["watch", "kb", "(a $x)", "--sum", "$y"], 2, "$y");
}
