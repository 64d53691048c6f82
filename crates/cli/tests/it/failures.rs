//! Forms that fail: what is said of the place, the calls and what was not run.

use crate::harness::{Folder, run};

const DEEP: &str = "\
(: square (-> Number Number))
(= (square $x)
   (* $x $x))
(= (area $side) (square $side))
(= (report $side) (area $side))
!(report 3)
!(report \"a\")
(a fact)
!(report 4)
!(report 5)
";

#[test]
fn an_error_has_its_place_and_the_calls_it_was_made_under() {
    let folder = Folder::new("failures_deep");
    folder.write("deep.metta", &DEEP.replace("(: square (-> Number Number))\n", ""));
    let expected = "\
error[bad-argument-type]: argument 1 of `*` is of type `String`, and `Number` is expected
 --> deep.metta:2:4
  |
2 |    (* $x $x))
  |    ^^^^^^^^^ (* \"a\" \"a\")
  |
note: in `(square \"a\")`, deep.metta:1
      called by `(area \"a\")`, deep.metta:3
      called by `(report \"a\")`, deep.metta:4
      called by the form at deep.metta:6
note: 3 later forms were not run; --keep-going runs them
help: the type of `*` is `(-> Number Number Number)`
";
    for evaluator in [&[][..], &["--interpreter"][..]] {
        let ended = folder.run(&[&["run", "deep.metta"], evaluator].concat());
        assert_eq!(ended.err, expected);
        let out = "[9]\n[(Error (* \"a\" \"a\") (BadArgType 1 Number String))]\n";
        assert_eq!((ended.out.as_str(), ended.code), (out, Some(1)));
    }
}

#[test]
fn a_call_that_its_type_refuses_is_where_it_is_written() {
    let folder = Folder::new("failures_typed");
    folder.write("deep.metta", DEEP);
    let ended = folder.run(&["run", "deep.metta"]);
    let place = "\
 --> deep.metta:4:17
  |
4 | (= (area $side) (square $side))
  |                 ^^^^^^^^^^^^^^ (square \"a\")
  |
note: in `(area \"a\")`, deep.metta:4
";
    assert!(ended.err.contains(place), "{}", ended.err);
}

#[test]
fn the_forms_after_one_that_failed_are_run_if_wanted() {
    let folder = Folder::new("failures_going_on");
    folder.write("deep.metta", DEEP);
    let ended = folder.run(&["run", "--keep-going", "deep.metta", "-e", "!(report 6)"]);
    let out = "[9]\n[(Error (square \"a\") (BadArgType 1 Number String))]\n[16]\n[25]\n[36]\n";
    assert_eq!((ended.out.as_str(), ended.code), (out, Some(1)));
    assert!(!ended.err.contains("not run"), "{}", ended.err);
}

#[test]
fn a_program_reads_the_same_as_json() {
    let folder = Folder::new("failures_json");
    folder.write("deep.metta", DEEP);
    let ended = folder.run(&["run", "--json", "deep.metta"]);
    let last = ended.out.lines().last().expect("there is a line");
    let value: serde_json::Value = serde_json::from_str(last).expect("it is JSON");
    let failure = &value["failure"];
    assert_eq!((&value["form"], &value["line"]), (&2.into(), &7.into()));
    assert_eq!(failure["code"], "bad-argument-type");
    let place = serde_json::json!({"file": "deep.metta", "line": 4, "column": 17, "text": "(square $side)"});
    assert_eq!(failure["place"], place);
    assert_eq!((&failure["certainty"], &failure["forms_not_run"]), (&"seen".into(), &3.into()));
    let names: Vec<_> = failure["calls"].as_array().expect("calls").iter().map(|call| call["name"].clone()).collect();
    assert_eq!(names, ["area", "report"]);
    assert!(ended.err.is_empty(), "{}", ended.err);
}

#[test]
fn an_error_that_a_program_makes_is_where_it_is_written() {
    let folder = Folder::new("failures_own");
    let text = "\
(= (pour $plant)
   (if (== $plant mint)
       (Error (pour $plant) the-can-is-empty)
       poured))
!(pour tulips)
!(collapse (superpose ((pour mint) (pour tulips))))
!(pour mint)
";
    folder.write("pour.metta", text);
    let ended = folder.run(&["run", "pour.metta"]);
    let expected = "\
error[failed]: `(pour mint)` came to an error: the-can-is-empty
 --> pour.metta:3:8
  |
3 |        (Error (pour $plant) the-can-is-empty)
  |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ (pour mint)
  |
note: in `(pour mint)`, pour.metta:1
      called by the form at pour.metta:7
";
    assert_eq!(ended.err, expected);
}

#[test]
fn a_form_with_effects_has_the_place_that_can_only_be_it() {
    let folder = Folder::new("failures_effects");
    let text = "\
(= (main $x)
   (let $done (add-atom &self (seen $x)) (half $x)))
(= (half $x) (/ $x 0))
!(main 4)
";
    folder.write("effects.metta", text);
    let ended = folder.run(&["run", "effects.metta"]);
    let expected = "\
error[division-by-zero]: division by zero
 --> effects.metta:3:14
  |
3 | (= (half $x) (/ $x 0))
  |              ^^^^^^^^ (/ 4 0)
  |
note: `half` is the only rule with such an expression; the calls from the form at effects.metta:4 are not known, since it has effects or is long
";
    assert_eq!(ended.err, expected);
    let seen = folder.run(&["run", "--keep-going", "effects.metta", "-e", "!(collapse (match &self (seen $x) $x))"]);
    assert!(seen.out.ends_with("[(4)]\n"), "{}", seen.out);
}

#[test]
fn what_is_printed_on_the_way_is_printed_once() {
    let folder = Folder::new("failures_printed");
    folder.write("say.metta", "(= (f $x) (let $_ (println! $x) (+ $x \"b\")))\n!(f 1)\n");
    let ended = folder.run(&["run", "say.metta"]);
    assert!(ended.out.starts_with("1\n[(Error"), "{}", ended.out);
    assert_eq!(ended.out.lines().count(), 2);
    assert!(ended.err.contains("note: in `(f 1)`, say.metta:1\n"), "{}", ended.err);
}

#[test]
fn a_long_recursion_is_told_in_short() {
    let folder = Folder::new("failures_recursion");
    let text = "(= (down $n) (if (== $n 0) (/ 1 0) (+ 1 (down (- $n 1)))))\n!(down 200)\n";
    folder.write("down.metta", text);
    let ended = folder.run(&["run", "down.metta"]);
    assert!(ended.err.contains("note: in `(down 0)`, down.metta:1\n      called by"), "{}", ended.err);
    assert!(ended.err.contains("calls more of `down`\n"), "{}", ended.err);
    assert!(ended.err.lines().count() < 20, "{}", ended.err);
}

#[test]
fn a_failed_assertion_shows_what_was_expected() {
    let ended = run(&["run", "-e", "!(assertEqual (+ 1 2) 4)"]);
    let expected = "\
error[assertion-failed]: an assertion failed: `assertEqual`
 --> -e:1:2
  |
1 | !(assertEqual (+ 1 2) 4)
  |  ^^^^^^^^^^^^^^^^^^^^^^^
  |
note: Expected: [4]
      Got: [3]
";
    assert_eq!(ended.err, expected);
}

#[test]
fn a_recorded_run_that_fails_is_replayed_the_same() {
    let folder = Folder::new("failures_recorded");
    folder.write("deep.metta", DEEP);
    for json in [&[][..], &["--json"][..]] {
        let tape = if json.is_empty() { "plain.tape" } else { "json.tape" };
        let ran = folder.run(&[&["run", "--record", tape, "deep.metta"], json].concat());
        assert_eq!(ran.code, Some(1));
        let replayed = folder.run(&["replay", tape]);
        assert_eq!((replayed.out, replayed.code), (ran.out, Some(0)), "{}", replayed.err);
    }
}
