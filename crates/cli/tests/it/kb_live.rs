//! `metroon kb live` and `metroon watch --live`: live queries that have names.

use crate::harness::{Folder, counted, wait};
use std::io::{BufRead, BufReader};

fn shop(test: &str) -> Folder {
    let folder = Folder::new(test);
    folder.good(&["run", "--kb", "kb", "-e", "(price tea 3) (price cake 7)"]);
    folder
}

#[test]
fn queries_are_added_listed_followed_and_removed() {
    let folder = shop("kb-live");
    let none = folder.run(&["kb", "live", "list", "kb"]);
    assert_eq!(none.code, Some(1));
    assert!(none.err.contains("kb has no live queries") && none.err.contains("kb live add"), "{}", none.err);
    let added =
        folder.good(&["kb", "live", "add", "kb", "all", "(price $what $price)", "(all $price)", "--sum", "$price"]);
    assert_eq!(added, "kb: all is registered\n");
    folder.good(&["kb", "live", "add", "kb", "names", "(price $what $price)", "$what"]);
    folder.good(&[
        "kb",
        "live",
        "add",
        "kb",
        "dear",
        "(price $what $price)",
        "--greatest",
        "1",
        "$price",
        "--key",
        "$what",
    ]);
    let listed = folder.good(&["kb", "live", "list", "kb"]);
    let expected = "all  (price $what $price) (all $price) ((sum $price))\n\
                    names  (price $what $price) $what\n\
                    dear  (price $what $price) (price $what $price) ((greatest 1 $price) (key $what))\n";
    assert_eq!(listed, expected);
    let object = folder.good(&["kb", "live", "list", "kb", "--json"]);
    let object: serde_json::Value = serde_json::from_str(object.lines().next().expect("a line")).expect("JSON");
    assert_eq!((object["name"].as_str(), object["options"][0].as_str()), (Some("all"), Some("(sum $price)")));
    assert_eq!(counted(&folder.good(&["kb", "stats", "kb"]), "live queries"), "3");
    assert!(folder.good(&["kb", "log", "kb"]).contains("live queries:1"));
    assert_eq!(folder.good(&["watch", "kb", "--live", "all", "--from", "0", "--to", "4"]), "1 ~ (all 0) -> (all 10)\n");
    assert_eq!(folder.good(&["watch", "kb", "--live", "names", "--to", "4"]), "4 + tea\n4 + cake\n4 . 2 answers\n");
    assert_eq!(folder.good(&["kb", "live", "remove", "kb", "names"]), "kb: names has ended\n");
    assert_eq!(folder.good(&["kb", "live", "list", "kb"]).lines().count(), 2);
    assert!(folder.good(&["kb", "verify", "kb"]).contains("sound"));
}

#[test]
fn what_cannot_be_registered_or_found_is_said() {
    let folder = shop("kb-live-errors");
    folder.good(&["kb", "live", "add", "kb", "prices", "(price $what $price)"]);
    let refused = |arguments: &[&str], code: i32, wanted: &[&str]| {
        let ended = folder.run(arguments);
        assert_eq!(ended.code, Some(code), "{arguments:?}: {}", ended.err);
        assert!(wanted.iter().all(|part| ended.err.contains(part)), "{arguments:?}: {}", ended.err);
    };
    let add = |name: &'static str, more: &[&'static str]| [&["kb", "live", "add", "kb", name], more].concat();
    refused(&add("prices", &["(price $x $y)"]), 2, &["there is a live query prices already"]);
    refused(&add("(a b)", &["(price $x $y)"]), 2, &["cannot be the name"]);
    refused(&add("other", &["(price $x"]), 3, &["PATTERN"]);
    refused(&add("other", &["(price $x $y)", "(a) (b)"]), 2, &["TEMPLATE must be one atom"]);
    refused(&add("other", &["(price $x $y)", "(+ $y 1)"]), 2, &["would be evaluated"]);
    refused(&add("other", &["(price $x $y)", "--sum", "$z"]), 2, &["$z"]);
    refused(&["kb", "live", "remove", "kb", "pricse"], 2, &["there is no live query pricse; did you mean prices?"]);
    assert_eq!(folder.good(&["kb", "log", "kb"]).lines().count(), 2, "what is refused is no commit");
    refused(&["watch", "kb", "--live", "pricse"], 2, &["did you mean prices?", "kb live list"]);
    refused(&["watch", "kb", "--live", "prices", "(price $x $y)"], 2, &["cannot be used with"]);
    refused(&["watch", "kb"], 2, &["PATTERN"]);
    refused(&["kb", "live", "list", "nowhere"], 2, &["nowhere"]);
    refused(&["kb", "live", "add", "nowhere", "a", "(b)"], 2, &["nowhere"]);
    assert!(!folder.path().join("nowhere").exists());
}

#[test]
fn a_name_is_followed_while_another_process_writes() {
    let folder = shop("kb-live-other");
    folder.good(&["kb", "live", "add", "kb", "names", "(price $what $price)", "$what"]);
    let arguments = ["watch", "kb", "--live", "names", "--limit", "4"];
    let mut watching = folder.command(&arguments).spawn().expect("it starts");
    let mut lines = BufReader::new(watching.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    assert_eq!(lines.by_ref().take(3).collect::<Vec<_>>(), ["2 + tea", "2 + cake", "2 . 2 answers"]);
    folder.good(&["run", "--kb", "kb", "-e", "(price pie 1)"]);
    assert_eq!(lines.next().as_deref(), Some("3 + pie"));
    folder.good(&["kb", "live", "remove", "kb", "names"]);
    folder.good(&["run", "--kb", "kb", "-e", "!(remove-atom &self (price pie 1))"]);
    assert_eq!(lines.next().as_deref(), Some("5 - pie"));
    assert_eq!(wait(watching).code, Some(0));
}

#[test]
fn a_load_calls_functions_for_what_it_has_added() {
    let folder = Folder::new("kb-live-load");
    folder.write(
        "rules.metta",
        "!(import! &self live-queries) !(live prices (prices $what $price) ($what $price)) (: note (-> Atom %Undefined%))
        (= (note (added ($what $price) $commit)) (let $seen (noted $what) (add-atom &self $seen))) !(on-change prices note)",
    );
    folder.write("prices.csv", "what,price\ntea,3\ncake,7\n");
    folder.good(&["run", "--kb", "kb", "rules.metta"]);
    folder.good(&["kb", "load", "kb", "prices.csv"]);
    assert_eq!(folder.good(&["kb", "query", "kb", "(noted $what)", "$what"]), "tea\ncake\n");
}
