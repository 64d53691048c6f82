//! All counts are printed in one text layout and one JSON layout, and say the same.

use crate::cassette_verbs::forms;
use crate::harness::Folder;
use serde_json::Value;

/// Names that are in the object and no counts: lists beside them.
const DETAILS: [&str; 5] = ["what", "about", "checkpoints", "page_details", "last_commits"];

/// A folder with a thing of each kind that is counted.
fn things(test: &str) -> Folder {
    let folder = forms(test);
    folder.good(&["run", "--kb", "kb", "-e", "(parent Tom Bob) !(bind! &n (new-state 1))"]);
    folder.good(&["run", "--record", "run.tape", "-e", "!(+ 1 2)"]);
    folder.good(&["store", "put", "store", "Oslo", "717710"]);
    folder.good(&["store", "compact", "store"]);
    folder.good(&["store", "put", "store", "what", "another"]);
    folder.good(&["run", "-e", PAGES]);
    folder
}

const PAGES: &str = "!(import! &self pages) !(bind! &s (pages-open! \"sheet\")) \
                     !(pages-commit! &s ((create \"net\" f8 (1.0 2.0))))";

/// Each name that leads to an entry or a group, with the one of `about`, in the order of an object.
fn names_of(object: &Value, about: &Value, path: &str, found: &mut Vec<String>) {
    let is_of_data = about.get(format!("{path}*")).is_some();
    for (name, value) in object.as_object().expect("it is an object") {
        if path.is_empty() && DETAILS.contains(&name.as_str()) {
            continue;
        }
        let inner = format!("{path}{}", if is_of_data { "*" } else { name });
        let told = &about[&inner];
        assert!(told["meaning"].as_str().is_some_and(|meaning| meaning.ends_with('.')), "{inner}: {told}");
        let is_group = value.is_object() || told["unit"].is_null();
        let units = ["count", "bytes", "nanoseconds", "ratio", "text"];
        assert!(is_group || told["unit"].as_str().is_some_and(|unit| units.contains(&unit)), "{inner}: {told}");
        found.push(if is_of_data { name.clone() } else { name.replace('_', " ") });
        if value.is_object() {
            names_of(value, about, &format!("{inner}."), found);
        }
    }
}

/// The names of the lines of a text.
fn names_in(text: &str) -> Vec<String> {
    let name = |line: &str| line.trim_start().split("  ").next().unwrap_or_default().trim_end_matches(':').to_owned();
    text.lines().map(name).collect()
}

/// That a text and an object have the same names, and what each is.
fn agree(command: &str, text: &str, json: &str) {
    let object: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{command}: {error}: {json}"));
    assert!(object["what"].is_string(), "{command}: {object}");
    let (mut named, mut shown) = (Vec::new(), names_in(text));
    names_of(&object, &object["about"], "", &mut named);
    named.sort();
    shown.sort();
    assert!(!named.is_empty() && named == shown, "{command}:\n{named:#?}\n{shown:#?}");
}

#[test]
fn every_command_that_counts_prints_one_text_layout_and_one_object() {
    let folder = things("statistics-commands");
    for command in [
        "kb stats kb",
        "store stats store",
        "pages stats sheet",
        "journal stats kb",
        "cassette stats a.cassette",
        "cassette stats cut.cassette",
        "tape stats run.tape",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let json = folder.good(&[&words[..], &["--json"]].concat());
        agree(command, &folder.good(&words), &json);
    }
}

#[test]
fn runs_and_watches_print_counts_on_the_standard_error_or_as_the_last_object() {
    let folder = things("statistics-runs");
    let run = ["run", "--stats", "-e", "(= (f $n) (if (== $n 0) done (f (- $n 1)))) !(f 5)"];
    let watch = ["watch", "kb", "(parent $x $y)", "--from", "0", "--to", "1", "--stats"];
    let kept = [&run[..], &["--kb", "other", "--record", "new.tape"]].concat();
    let again = [&run[..], &["--kb", "other", "--record", "newer.tape", "--json"]].concat();
    for (command, json) in [
        (run.to_vec(), [&run[..], &["--json"]].concat()),
        (kept, again),
        (watch.to_vec(), [&watch[..], &["--json"]].concat()),
    ] {
        let (text, json) = (folder.run(&command).err, folder.run(&json).out);
        agree(&command.join(" "), &text, json.lines().last().expect("there is output"));
    }
}

#[test]
fn all_layers_that_took_part_in_a_run_are_counted() {
    let folder = things("statistics-layers");
    let words = ["run", "--stats", "--json", "--kb", "kb", "--record", "all.tape", "-e", "(a 1) !(+ 1 2)"];
    let out = folder.good(&words);
    let counts: Value = serde_json::from_str(out.lines().last().expect("there is output")).expect("JSON");
    assert_eq!(counts["what"], "run");
    assert!(counts["elapsed"].as_u64() > Some(0));
    assert_eq!((&counts["evaluations"], &counts["atoms_added"]), (&1.into(), &1.into()));
    assert_eq!(counts["machine"]["regions_joined"], 1, "{counts}");
    assert_eq!(counts["space"]["atoms"], 2);
    assert_eq!((&counts["base"]["epoch"], &counts["tape"]["commits"]), (&2.into(), &1.into()));
    assert!(counts["base"]["frames"].as_u64() > Some(0) && counts["tape"]["frames"].as_u64() > Some(0), "{counts}");
    assert_eq!(counts["about"]["machine.cells"]["unit"], "count");
}

#[test]
fn a_look_says_what_its_counts_are() {
    let folder = things("statistics-look");
    for path in ["kb", "store", "sheet", "a.cassette", "run.tape"] {
        let found: Value = serde_json::from_str(&folder.good(&["look", path, "--json"])).expect("JSON");
        let counts = &found["counts"];
        assert_eq!(counts["what"], found["kind"]);
        names_of(counts, &counts["about"], "", &mut Vec::new());
    }
}
