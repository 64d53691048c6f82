//! Reading a knowledge base beside the process that writes it: `kb query` and `run --read-only`.

use crate::harness::{Folder, signal, wait};
use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

const FAMILY: &str = "(parent Tom Bob)
(parent Pam Bob)
(parent Bob Ann)
(= (child $x) (match &self (parent $x $y) $y))
!(bind! &age (new-state 5))
!(add-atom &self (age Ann &age))
!(remove-atom &self (parent Pam Bob))
!(child Tom)
";

fn family(test: &str) -> Folder {
    let folder = Folder::new(test);
    folder.write("family.metta", FAMILY);
    folder.good(&["run", "--kb", "kb", "family.metta"]);
    folder
}

fn query(folder: &Folder, arguments: &[&str]) -> Vec<String> {
    let printed = folder.good(&[&["kb", "query", "kb"], arguments].concat());
    printed.lines().map(str::to_owned).collect()
}

#[test]
fn a_query_prints_what_matches() {
    let folder = family("query-prints");
    assert_eq!(query(&folder, &["(parent $x $y)"]), ["(parent Tom Bob)", "(parent Bob Ann)"]);
    assert_eq!(query(&folder, &["(parent $x $y)", "($y of $x)"]), ["(Bob of Tom)", "(Ann of Bob)"]);
    assert_eq!(query(&folder, &["(, (parent $x $y) (parent $y $z))", "$z"]), ["Ann"]);
    assert_eq!(query(&folder, &["(parent $x $y)", "$x", "--limit", "1"]), ["Tom"]);
    assert_eq!(query(&folder, &["(parent $x Bob)", "$x", "--as-of", "1"]), ["Tom", "Pam"]);
    assert_eq!(query(&folder, &["(parent Tom $y)", "--json"]), [r#"{"result":"(parent Tom Bob)"}"#]);
    // Nothing is evaluated, rules are found, and words mean what they mean to the program.
    assert_eq!(query(&folder, &["(parent Tom $y)", "(child $y)"]), ["(child Bob)"]);
    assert_eq!(query(&folder, &["(= (child $x) $body)", "$body"]).len(), 1);
    assert_eq!(query(&folder, &["(age $who &age)", "$who"]), ["Ann"]);
    assert_eq!(query(&folder, &["(age Ann $state)", "$state"]).len(), 1);
}

#[test]
fn a_query_without_an_answer_says_why() {
    let folder = family("query-says-why");
    for (arguments, code, said) in [
        (&["kb", "query", "kb", "(parent Ann $y)"][..], 1, "no atom of kb matches (parent Ann $y) after commit"),
        (&["kb", "query", "kb", "(parent $x $y) (b)"], 2, "PATTERN must be one atom"),
        (&["kb", "query", "kb", "(parent $x $y)", "($x"], 3, "TEMPLATE"),
        (&["kb", "query", "kb", "(parent $x $y)", "--as-of", "99"], 2, "there is no commit 99"),
        (&["kb", "query", "other", "(a)"], 2, "there is no knowledge base in other"),
    ] {
        let ended = folder.run(arguments);
        assert_eq!((ended.code, ended.out.as_str()), (Some(code), ""), "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains(said), "{arguments:?}: {}", ended.err);
    }
    assert!(!folder.path().join("other").exists());
}

#[test]
fn a_read_only_run_asks_what_is_there() {
    let folder = family("read-only-asks");
    let state = folder.good(&["kb", "stats", "kb"]);
    let read = |arguments: &[&str]| folder.good(&[&["run", "--read-only", "--kb", "kb"], arguments].concat());
    // A file that was run before states nothing anew; words that it bound stay bound.
    folder.write("family.metta", FAMILY);
    assert_eq!(read(&["-e", "!(child Tom) !(get-state &age) !(epoch &self)"]), "[Bob]\n[5]\n[3]\n");
    assert_eq!(read(&["-e", "!(collapse (match (as-of &self 1) (parent $x Bob) $x))"]), "[(Tom Pam)]\n");
    assert_eq!(read(&["-e", "!(println! printed)"]), "printed\n[()]\n");
    // What a transaction undoes is no change.
    let undone = folder.run(&[
        "run",
        "--read-only",
        "--kb",
        "kb",
        "-e",
        "!(transaction (let $a (add-atom &self (b)) (Error undone $a)))",
    ]);
    assert_eq!(undone.out, "[(Error undone ())]\n", "{}", undone.err);
    // What the run makes for itself lasts as long as the run.
    folder.write(
        "asks.metta",
        "!(bind! &mine (new-space))
!(let $s (new-state 1) (let $t (change-state! $s 2) (add-atom &mine (found (get-state $s)))))
!(match &mine $found $found)
!(pragma! type-check auto)
!(import! &self random)
!(random-int &rng 0 1)
!(epoch &self)
",
    );
    assert_eq!(read(&["asks.metta"]), "[()]\n[()]\n[(found 2)]\n[()]\n[()]\n[0]\n[3]\n");
    assert_eq!(folder.good(&["kb", "stats", "kb"]), state);
}

#[test]
fn a_read_only_run_ends_at_the_first_change() {
    let folder = family("read-only-ends");
    let state = folder.good(&["kb", "stats", "kb"]);
    for (program, place, change) in [
        ("!(child Tom)\n!(add-atom &self (more))\n!(child Bob)", "2:1", "+ (more)"),
        ("!(child Tom)\n\n  (fact $x)\n!(child Bob)", "3:3", "+ (fact $x)"),
        ("!(child Tom)\n!(remove-atom &self (parent Bob Ann))", "2:1", "- (parent Bob Ann)"),
        ("!(child Tom)\n!(change-state! &age 6)", "2:1", "state 1 = 6"),
        ("!(child Tom)\n!(let $s (new-space) (add-atom &self (holds $s)))", "2:1", "+ (holds GroundingSpace-2)"),
        ("!(child Tom)\n(fact)", "2:1", "+ (fact)"),
    ] {
        folder.write("p.metta", program);
        let ended = folder.run(&["run", "--read-only", "--kb", "kb", "p.metta"]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(1), "[Bob]\n"), "{program}: {}", ended.err);
        let said = format!("the form at p.metta:{place} changes the knowledge base, which is read-only: {change}\n");
        assert!(ended.err.contains(&said) && ended.err.contains("without --read-only"), "{program}: {}", ended.err);
    }
    // An edited file states something else.
    folder.write("family.metta", &FAMILY.replace("(parent Bob Ann)", "(parent Bob Eve)"));
    let edited = folder.run(&["run", "--read-only", "--kb", "kb", "family.metta"]);
    assert!(edited.code == Some(1) && edited.err.contains("parent Bob"), "{}{}", edited.out, edited.err);
    assert_eq!(folder.good(&["kb", "stats", "kb"]), state);
    let without = folder.run(&["run", "--read-only", "-e", "!1"]);
    assert!(without.code == Some(2) && without.err.contains("--kb"), "{}", without.err);
    let missing = folder.run(&["run", "--read-only", "--kb", "none", "-e", "!1"]);
    assert!(missing.code == Some(2) && missing.err.contains("there is no knowledge base in none"), "{}", missing.err);
    assert!(!folder.path().join("none").exists());
}

/// How many forms the writer has, each a commit: more than it makes while it is read.
const FORMS: u64 = 50_000;

/// A process that commits again and again: after its commit `n + 1` there are the edges 0 to `n`, and `n` is the latest.
fn writer(folder: &Folder) -> Child {
    let mut program = "(edge 0)\n(latest 0)\n!(started)\n".to_owned();
    for number in 1..FORMS {
        let before = number - 1;
        writeln!(
            program,
            "!(let* (($a (add-atom &self (edge {number}))) ($b (remove-atom &self (latest {before})))) (add-atom &self (latest {number})))"
        )
        .expect("a string takes all");
    }
    folder.write("writer.metta", &program);
    let mut child =
        folder.command(&["run", "--kb", "kb", "writer.metta"]).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut lines = BufReader::new(child.stdout.take().expect("there is an output"));
    let mut first = String::new();
    lines.read_line(&mut first).expect("it prints");
    assert_eq!(first, "[(started)]\n");
    // What it prints from now on is taken, so that it goes on.
    std::thread::spawn(move || lines.lines().for_each(drop));
    child
}

/// What another process sees of the base is the state after one commit, and a later one each time.
#[test]
fn a_base_is_read_while_another_process_writes_to_it() {
    let folder = Folder::new("reading-beside");
    let mut child = writer(&folder);
    let mut seen: Vec<u64> = vec![0];
    let number =
        |text: &str| -> u64 { text.trim_matches(['[', ']', '\n']).parse().unwrap_or_else(|_| panic!("{text}")) };
    for _ in 0..8 {
        let latest = query(&folder, &["(latest $n)", "$n"]);
        assert_eq!(latest.len(), 1, "{latest:?}");
        seen.push(number(&latest[0]));
        let edges = query(&folder, &["(edge $n)", "$n"]);
        let expected: Vec<String> = (0..edges.len()).map(|edge| edge.to_string()).collect();
        assert_eq!(edges, expected);
        seen.push(edges.len() as u64 - 1);
        let asked = "!(epoch &self) !(match &self (latest $n) $n) !(let $edges (collapse (match &self (edge $n) $n)) (size-atom $edges))";
        let run = folder.good(&["run", "--read-only", "--kb", "kb", "-e", asked]);
        let answers: Vec<u64> = run.lines().map(number).collect();
        let [epoch, latest, edges] = answers[..] else { panic!("{run}") };
        assert_eq!((latest + 1, edges), (epoch, epoch), "{run}");
        seen.push(latest);
    }
    assert!(child.try_wait().expect("it is known").is_none(), "the writer ended before it was read to the end");
    assert!(seen.is_sorted() && seen.first() < seen.last(), "{seen:?}");
    signal(child.id(), "KILL");
    wait(child);
    // Also what a killed writer leaves is read, and nothing is written to it.
    let last = number(&query(&folder, &["(latest $n)", "$n"])[0]);
    assert!(seen.last() <= Some(&last));
}

/// The end of a commit that is being written is no error, and the bytes stay.
#[test]
fn a_torn_end_is_read_over() {
    let folder = family("reading-torn");
    let journal = folder.path().join("kb/journal");
    let segment = std::fs::read_dir(&journal)
        .expect("there is a journal")
        .next()
        .expect("it has a segment")
        .expect("it is listed")
        .path();
    let mut bytes = std::fs::read(&segment).expect("it is read");
    bytes.extend_from_slice(b"the beginning of a frame, and not its end");
    std::fs::write(&segment, &bytes).expect("it is written");
    assert_eq!(query(&folder, &["(parent $x Bob)", "$x"]), ["Tom"]);
    assert_eq!(folder.good(&["run", "--read-only", "--kb", "kb", "-e", "!(child Tom)"]), "[Bob]\n");
    assert_eq!(std::fs::read(&segment).expect("it is read"), bytes);
}
