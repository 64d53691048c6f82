//! `metroon run --profile`: counts of calls, and a picture.

use crate::harness::Folder;

const PROGRAM: &str = "!(pragma! memoise off) (= (fib $n) (if (< $n 2) $n (+ (fib (- $n 1)) (fib (- $n 2)))))\n\
                       (= (even 0) True)\n(= (even $n) (if (> $n 0) (odd (- $n 1)) (empty)))\n\
                       (= (odd $n) (if (> $n 0) (even (- $n 1)) (empty)))\n\
                       (= (both $n) (pair (fib $n) (even $n)))\n!(both 10)\n";

/// How often the table says that each function and rule of this name was called, and what follows the name; in alphabetical order.
fn rows(table: &str, name: &str) -> Vec<(u64, String)> {
    let mut rows: Vec<(u64, String)> = table
        .lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [_, "ms", _, "ms", calls, first, rest @ ..] = &words[..] else { return None };
            (*first == name).then(|| (calls.parse().expect("a number"), rest.join(" ")))
        })
        .collect();
    rows.sort_by(|(_, left), (_, right)| left.cmp(right));
    rows
}

/// What the table says of a function, which has one row: how often it was called, and what follows the name.
fn row(table: &str, function: &str) -> (u64, String) {
    let found = rows(table, function);
    let [row] = &found[..] else { panic!("{} rows of {function}: {table}", found.len()) };
    row.clone()
}

#[test]
fn calls_are_counted_exactly_and_drawn() {
    let folder = Folder::new("profile");
    folder.write("p.metta", PROGRAM);
    let ended = folder.run(&["run", "--profile", "p.svg", "p.metta"]);
    assert_eq!((ended.out.as_str(), ended.code), ("[()]\n[(pair 55 True)]\n", Some(0)), "{}", ended.err);
    assert_eq!(row(&ended.err, "fib"), (177, "p.metta:1".to_owned()));
    assert_eq!(row(&ended.err, "even"), (6, "p.metta:2".to_owned()));
    assert_eq!(row(&ended.err, "odd"), (5, "p.metta:4".to_owned()));
    assert_eq!(row(&ended.err, "both"), (1, "p.metta:5".to_owned()));
    // A function with several rules has a row for each of those that were entered.
    let rules = [(6, "$a) p.metta:3".to_owned()), (1, "0) p.metta:2".to_owned())];
    assert_eq!(rows(&ended.err, "(even"), rules);
    assert!(ended.err.ends_with("flame graph  p.svg\n"), "{}", ended.err);
    let svg = std::fs::read_to_string(folder.path().join("p.svg")).expect("the picture is there");
    assert!(svg.starts_with("<svg ") && svg.contains("<title>fib: 177 calls, "), "{svg}");
    assert!(svg.contains("<title>even p.metta:2: 1 calls, "), "{svg}");
}

#[test]
fn a_profile_changes_no_answer() {
    let folder = Folder::new("profile_same");
    folder.write("p.metta", "(= (n) 1) (= (n) 2) !(n) !(collapse (n)) !(/ 1 0)\n");
    let (plain, profiled) = (folder.run(&["run", "p.metta"]), folder.run(&["run", "--profile", "p.svg", "p.metta"]));
    assert_eq!((plain.out, plain.code), (profiled.out, profiled.code));
    assert_eq!(row(&profiled.err, "n").0, 2);
}

#[test]
fn a_picture_never_replaces_a_file() {
    let folder = Folder::new("profile_forgotten");
    folder.write("p.metta", PROGRAM);
    let ended = folder.run(&["run", "--profile", "p.metta"]);
    assert_eq!((ended.out.as_str(), ended.code), ("", Some(2)));
    assert!(ended.err.starts_with("error: p.metta exists already\nhelp: "), "{}", ended.err);
    assert_eq!(std::fs::read_to_string(folder.path().join("p.metta")).expect("the program is there"), PROGRAM);
}

#[test]
fn a_picture_that_cannot_be_written_is_an_error() {
    let folder = Folder::new("profile_nowhere");
    let ended = folder.run(&["run", "--profile", "missing/p.svg", "-e", "!(+ 1 2)"]);
    assert_eq!((ended.out.as_str(), ended.code), ("[3]\n", Some(1)));
    assert!(ended.err.contains("cannot write the flame graph to missing/p.svg"), "{}", ended.err);
    let ended = folder.run(&["run", "--profile", "p.svg", "--interpreter", "-e", "!(+ 1 2)"]);
    assert_eq!(ended.code, Some(2));
}
