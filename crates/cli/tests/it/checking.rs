//! `metroon check`: what is found, what is not, and how it ends.

use crate::harness::{Ended, Folder, file, run, run_with_input};

fn checked(text: &str) -> Ended {
    run_with_input(&["check", "-"], text.as_bytes())
}

/// The code and the place of each finding.
fn found(text: &str) -> Vec<String> {
    let ended = run_with_input(&["check", "--json", "-"], text.as_bytes());
    let line = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).expect("a finding is JSON");
        format!("{} {}:{}", value["code"].as_str().expect("a code"), value["line"], value["column"])
    };
    ended.out.lines().map(line).collect()
}

#[test]
fn a_misspelt_name() {
    let ended = checked("(= (mother-of $x) (match &self (parent $p $x) $p))\n(parent Rhea Zeus)\n!(mothr-of Zeus)\n");
    let expected = "\
warning[unknown-function]: no rule for `mothr-of`; did you mean `mother-of`?
 --> standard input:3:3
  |
3 | !(mothr-of Zeus)
  |   ^^^^^^^^ is data as it stands
  |
help: write `mother-of`, or declare the name if it is meant as data: `(: mothr-of (-> … …))`
1 finding in 1 file
";
    assert_eq!((ended.err.as_str(), ended.code), (expected, Some(1)));
}

#[test]
fn fifteen_mistakes() {
    for (mistake, codes) in [
        ("(= (double $x) (* 2 $x))\n!(duoble 2)", &["unknown-function 2:3"][..]),
        ("!(println \"hello\")", &["unknown-function 1:3"]),
        ("(= (f $x) (siz-atom $x))", &["unknown-function 1:12"]),
        ("(= (double $x) (* 2 $x))\n!(double 2 3)", &["wrong-number-of-arguments 2:3"]),
        ("(: f (-> Number Number))\n(= (f $x) $x)\n!(f 1 2)", &["wrong-number-of-arguments 3:2"]),
        ("!(+ 1 2 3)", &["wrong-number-of-arguments 1:2"]),
        ("!(+ 1 \"a\")", &["bad-argument-type 1:2"]),
        ("(= (f $x) (if (> $x 0) (+ \"a\" $x) 0))", &["bad-argument-type 1:24"]),
        ("(: f (-> Number Number))\n(= (f $x) $x)\n(= (g) (f \"text\"))", &["bad-argument-type 3:8"]),
        ("(= (+ $a $b) (plus $a $b))", &["unreachable-rule 1:4"]),
        ("(: f (-> Number Number))\n(= (f \"a\") 1)", &["unreachable-rule 2:4"]),
        ("(= (f $x) (* 2 $x))\n(= (f $y) (* 2 $y))", &["duplicate-rule 2:1"]),
        ("(= (area $width $height) (* $width $heigth))", &["misspelt-variable 1:36"]),
        ("(= (f $x) (* $x $factor))", &["unbound-variable 1:17"]),
        ("!(import! &self no-such-module)", &["cannot-define 1:1"]),
        ("!(+ 1 2", &["unclosed-expression 1:2"]),
    ] {
        assert_eq!(found(mistake), codes, "{mistake}");
    }
}

#[test]
fn a_word_that_gets_its_meaning_further_down() {
    for (program, codes) in [
        (
            "(= (dice) (random-int &rng 1 7))\n!(import! &self random)\n!(dice)",
            &["word-before-its-meaning 1:12", "word-before-its-meaning 1:23"][..],
        ),
        (
            "(= (json-encode $x) mine)\n!(import! &self json)\n!(json-encode 1)",
            &["unreachable-rule 1:4", "word-before-its-meaning 1:5"],
        ),
        ("(= (room) (get-atoms &room))\n!(bind! &room (new-space))\n!(room)", &["word-before-its-meaning 1:22"]),
        ("!(import! &self random)\n(= (dice) (random-int &rng 1 7))\n!(import! &self random)\n!(dice)", &[]),
        // Rules of a module are found wherever they are used.
        ("(= (best $x) (keep-if $x $y (> $y 1)))\n!(import! &self tuples)\n!(best (1 2))", &[]),
    ] {
        assert_eq!(found(program), codes, "{program}");
    }
}

#[test]
fn settings_without_an_effect() {
    let ended = checked("!(pragma! typecheck auto)\n!(pragma! type-check atuo)\n!(pragma! colour red)\n");
    let expected = "\
warning[unknown-setting]: `pragma!` has no setting `typecheck`; did you mean `type-check`?
 --> standard input:1:11
  |
1 | !(pragma! typecheck auto)
  |           ^^^^^^^^^ has no effect
  |
help: write `type-check`
warning[unknown-setting]: this value turns `type-check` off; did you mean `auto`?
 --> standard input:2:22
  |
2 | !(pragma! type-check atuo)
  |                      ^^^^ has no effect
  |
help: write `auto`
warning[unknown-setting]: `pragma!` has no setting `colour`; known settings: max-stack-depth, type-check, interpreter, semantics, table, untable, memoise
 --> standard input:3:11
  |
3 | !(pragma! colour red)
  |           ^^^^^^ has no effect
3 findings in 1 file
";
    assert_eq!((ended.err.as_str(), ended.code), (expected, Some(1)));
    assert_eq!(found("!(pragma! type-check off)\n!(pragma! max-stack-depth 9)\n!(pragma! memoise off)"), [""; 0]);
}

#[test]
fn what_is_meant_as_it_stands_is_not_reported() {
    for text in [
        // Data has any head.
        "(= (make $x) (node $x))\n(= (nodes $x) (make $x))\n(node 1)\n!(nodes 2)",
        "(: Cons (-> $t (List $t) (List $t)))\n(: Nil (List $t))\n!(Cons 1 Nil)",
        // Variables get values in patterns and calls.
        "(= (all) (match &self (fact $x $_) (found $x)))\n(fact 1 2)",
        "(= (keep $test $x) (if ($test $x) $x ()))",
        "!(import! &self fileio)\n!(bind! &notes (new-space))\n!(bind! &file (file-open! \"a\" \"r\"))",
        "(= (f $x) (let $y (* 2 $x) (+ $x $y)))",
        "(= (f $x) (let* (($y $x) ($z $y)) (+ $y $z)))",
        "(= (f $x) (case $x ((($a $b) (+ $a $b)) ($_ 0))))",
        "(= (g 1) 2)\n(= (f) (let $r (g $x) (+ $r $x)))",
        "(= (squares $l) (map-atom $l $x (* $x $x)))",
        // Assertions and quotations are looked at by nobody.
        "!(assertEqualToResult (+ 1 \"a\") ((Error (+ 1 \"a\") (BadArgType 2 Number String))))",
        "!(quote (+ 1 \"a\"))",
        // Rules that are added while the program runs.
        "!(add-atom &self (= (later $x) $x))\n!(later 1)",
        "(= (if-then $c $t) (if $c $t ()))",
        // A value as an index of a dependent type.
        "(: Tag Type)\n(: number Tag)\n(: Holds (-> Tag Type Type))\n(: h (Holds number Number))",
        "",
    ] {
        assert_eq!(found(text), [""; 0], "{text}");
    }
}

#[test]
fn what_is_not_evaluated_and_what_fits_anything_is_not_reported() {
    for text in [
        // The result type is Atom, so the body is not evaluated.
        "(: native (-> Grounded Atom))\n(= (native $g) (native value $g))\n!(native 5)",
        // An Atom may be a number.
        "(= (pick) 4)\n!(+ 1 (once (pick)))",
        "(= (pick) 4)\n!(chain (collapse-bind (eval (pick)) 1) $all (size-atom $all))",
        "(= (all $f) (chain (collapse-bind ($f 1) 1) $all (size-atom $all)))",
        "!(assertEqual (import! &self strings) ())\n!(string-length \"ab\")",
        // A type can be a symbol, which a call comes to.
        "(= (type-of 1) int)\n!(let int (type-of 1) (all int))",
        // Infinitely many results, of which some are taken.
        "(= (from $n) $n)\n(= (from $n) (from (+ $n 1)))\n!(limit 3 (from 1))",
        "(fn a b)\n!(match &self (fn $x $y) $x)",
    ] {
        assert_eq!(found(text), [""; 0], "{text}");
    }
}

#[test]
fn a_file_with_the_name_of_a_module_hides_it() {
    let folder = Folder::new("check_hidden");
    folder.write("regex.metta", "(= (mine) 1)\n");
    folder.write("main.metta", "!(import! &self regex)\n!(regex-matches \"a\" \"b\")\n");
    let ended = folder.run(&["check", "main.metta"]);
    assert!(
        ended.err.contains("a file takes the place of the library's module `regex`, which has it"),
        "{}",
        ended.err
    );
    assert!(ended.err.contains("help: rename the file `regex.metta`"), "{}", ended.err);
    folder.write("regex.metta", "!(import! &self regex)\n");
    let ended = folder.run(&["run", "main.metta"]);
    let told = "this file has the name of the library's module regex and comes before it: rename the file";
    assert!(ended.err.contains(told), "{}", ended.err);
}

#[test]
fn nothing_is_run() {
    let folder = Folder::new("check_runs_nothing");
    folder.write("module.metta", "(= (twice $x) (* 2 $x))\n!(println! \"loaded\")\n");
    let text = "!(import! &self fileio)\n!(import! &self module)\n!(println! (twice 4))\n!(file-open! \"made\" \"wc\")\n!(twise 4)\n";
    folder.write("main.metta", text);
    let ended = folder.run(&["check", "main.metta"]);
    assert!(ended.err.contains("no rule for `twise`; did you mean `twice`?"), "{}", ended.err);
    assert_eq!((ended.out.as_str(), ended.code), ("", Some(1)));
    assert!(!folder.path().join("made").exists());
}

#[test]
fn exit_codes() {
    let good = file("check_codes", "good.metta", "!(+ 1 2)\n");
    let good = good.to_str().expect("a path");
    assert_eq!(run(&["check", good]).code, Some(0));
    assert_eq!(run(&["check", good, "/no/such/file"]).code, Some(2));
    assert_eq!(run(&["check"]).code, Some(2));
    assert_eq!(checked("(").code, Some(3));
    assert_eq!(checked("!(+ 1 \"a\")").code, Some(1));
}

#[test]
fn the_corpus_and_the_examples_have_no_false_error() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut files: Vec<String> = Vec::new();
    for folder in ["corpus", "examples"] {
        for entry in std::fs::read_dir(format!("{root}/{folder}")).expect("the folder is there") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|ending| ending == "metta") {
                files.push(path.to_str().expect("a path").to_owned());
            }
        }
    }
    files.sort();
    let arguments: Vec<&str> = ["check", "--json"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let ended = run(&arguments);
    let known = std::fs::read_to_string(format!("{root}/corpus/findings.tsv")).expect("the list is there");
    let finding = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).expect("a finding is JSON");
        let file = value["file"].as_str().and_then(|file| file.rsplit_once('/')).map_or("", |(_, name)| name);
        format!("{file}\t{}\t{}", value["line"], value["code"].as_str().unwrap_or_default())
    };
    let found: Vec<String> = ended.out.lines().map(finding).collect();
    // Each was looked at: the program makes that mistake on purpose.
    assert_eq!(found.join("\n"), known.trim_end(), "findings that are not in corpus/findings.tsv, or no longer found");
}
