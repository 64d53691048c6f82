//! Recorded runs and their replays: what differs is found where it does. That every program of the corpus comes to the same
//! elsewhere is tested in `tests/corpus`.

use crate::harness::{Ended, Folder, feed, signal, wait};
use journal::{Durability, Journal, Options, Reader, SingleFile};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

/// The first byte of a tape's frame says its kind.
const EFFECT: u8 = 3;
const COMMIT: u8 = 4;
/// The second byte of an effect says what was asked.
const PRINT: u8 = 0;
const READ_SOURCE: u8 = 1;
const RANDOM: u8 = 6;

fn frames(tape: &Path) -> Vec<Vec<u8>> {
    let disk = Arc::new(SingleFile::open(tape).expect("the tape opens"));
    let mut reader = Reader::from_frame(disk, 0).expect("the tape is a journal");
    let mut frames = Vec::new();
    while let Some(frame) = reader.read_next().expect("the tape is sound") {
        frames.push(frame.payload.to_vec());
    }
    frames
}

fn write_tape(path: &Path, frames: &[Vec<u8>]) {
    let disk = Arc::new(SingleFile::create(path).expect("a tape can be made"));
    let options = Options::default().segment_bytes(u64::MAX);
    let (journal, _) = Journal::open(disk, options).expect("a tape can be made");
    journal.append_all(frames, Durability::Os).expect("a tape can be written");
    journal.close().expect("a tape can be written");
}

fn is_effect(frame: &[u8], kind: u8) -> bool {
    frame.starts_with(&[EFFECT, kind])
}

/// Puts a text of equal length in the place of another.
fn replace(frame: &mut [u8], from: &str, to: &str) -> usize {
    assert_eq!(from.len(), to.len());
    let found: Vec<usize> = frame
        .windows(from.len())
        .enumerate()
        .filter(|(_, window)| *window == from.as_bytes())
        .map(|(at, _)| at)
        .collect();
    for at in &found {
        frame[*at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    found.len()
}

/// Records a program, changes the frames of its tape, and replays that.
fn tampered(test: &str, program: &str, change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Ended {
    let folder = Folder::new(test);
    folder.write("p.metta", program);
    folder.good(&["run", "p.metta", "--record", "tape"]);
    let mut frames = frames(&folder.path().join("tape"));
    change(&mut frames);
    write_tape(&folder.path().join("other"), &frames);
    folder.run(&["replay", "other"])
}

const RULES: &str = "(first fact)
!(+ 1 1)
!(+ 2 2)
(= (price) 10)
(= (unused) 20)
!(price)
!(let $p (price) (add-atom &self (paid $p)))
";

#[test]
fn a_tape_says_whether_results_of_calls_were_remembered() {
    let folder = Folder::new("replay_memo");
    folder.write("p.metta", "(= (fib $n) (if (< $n 2) $n (+ (fib (- $n 1)) (fib (- $n 2)))))\n!(fib 15)\n");
    for (tape, flags, format) in [("with.tape", &[][..], 2), ("without.tape", &["--no-memo"][..], 1)] {
        let recorded = folder.run(&[&["run", "--record", tape, "p.metta"], flags].concat());
        assert_eq!((recorded.out.as_str(), recorded.code), ("[610]\n", Some(0)), "{}", recorded.err);
        assert_eq!(frames(&folder.path().join(tape))[0][1], format);
        let replayed = folder.run(&["replay", tape]);
        assert_eq!((replayed.out.as_str(), replayed.code), ("[610]\n", Some(0)), "{}", replayed.err);
    }
}

#[test]
fn a_copied_tape_replays() {
    let ended = tampered("replay-copied", RULES, |_| {});
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "[2]\n[4]\n[10]\n[()]\n"));
    assert_eq!(ended.err, "replayed 4 commits: all the same\n");
}

#[test]
fn an_edited_rule_is_found_at_the_first_commit_that_differs() {
    let ended = tampered("replay-rule", RULES, |frames| {
        let edited: usize = frames
            .iter_mut()
            .filter(|frame| is_effect(frame, READ_SOURCE))
            .map(|frame| replace(frame, "(= (price) 10)", "(= (price) 11)"))
            .sum();
        assert_eq!(edited, 1);
    });
    assert_eq!((ended.code, ended.out.as_str()), (Some(4), "[2]\n[4]\n"));
    assert!(ended.err.contains("at commit 3, at p.metta:6:1"), "{}", ended.err);
    assert!(ended.err.contains("recorded: + (= (price) 10)\n"), "{}", ended.err);
    assert!(ended.err.contains("replayed: + (= (price) 11)\n"), "{}", ended.err);
}

#[test]
fn an_edited_form_that_changes_no_state_is_found_in_the_output() {
    let ended = tampered("replay-form", RULES, |frames| {
        let source = frames.iter_mut().find(|frame| is_effect(frame, READ_SOURCE)).expect("a source is read");
        assert_eq!(replace(source, "!(+ 2 2)", "!(+ 2 7)"), 1);
    });
    assert_eq!((ended.code, ended.out.as_str()), (Some(4), "[2]\n"));
    assert!(ended.err.contains("at commit 2, at p.metta:3:1: the output"), "{}", ended.err);
    assert!(
        ended.err.contains("recorded: print [4]\n") && ended.err.contains("replayed: print [9]\n"),
        "{}",
        ended.err
    );
}

const DRAWS: &str = "!(import! &self random)
!(random-int &rng 0 1000000000)
!(let $n (random-int &rng 0 1000000000) (add-atom &self (drawn 2 $n)))
!(let $n (random-int &rng 0 1000000000) (add-atom &self (drawn 3 $n)))
!(random-int &rng 0 1000000000)
!(let $n (random-int &rng 0 1000000000) (add-atom &self (drawn 5 $n)))
";

/// Changes a recorded random number, counted from 0; gives how many there are.
fn change_draw(frames: &mut [Vec<u8>], number: usize) -> usize {
    let mut draws: Vec<&mut Vec<u8>> = frames.iter_mut().filter(|frame| is_effect(frame, RANDOM)).collect();
    // After the request comes whether the answer is an error, then the number, its lowest bits first.
    assert_eq!(draws[number][2], 0, "the answer is a number");
    // A number of eight bytes takes nine or ten here, the highest bit of each being no part of it.
    let highest = draws[number].len() - 4;
    draws[number][highest] ^= 0x55;
    draws.len()
}

#[test]
fn a_changed_random_number_is_found_at_the_commit_that_used_it() {
    for (draw, commit, line, what) in [
        (0, 2, 2, "the output"),
        (1, 3, 3, "change 1"),
        (2, 4, 4, "change 1"),
        (3, 5, 5, "the output"),
        (4, 6, 6, "change 1"),
    ] {
        let ended = tampered("replay-random", DRAWS, |frames| assert_eq!(change_draw(frames, draw), 5));
        assert_eq!((ended.code, ended.out.lines().count()), (Some(4), line - 1), "{}", ended.err);
        let place = format!("at commit {commit}, at p.metta:{line}:1: {what}");
        assert!(ended.err.contains(&place), "expected {place}: {}", ended.err);
        assert!(ended.err.contains("  recorded: ") && ended.err.contains("  replayed: "), "{}", ended.err);
    }
}

#[test]
fn a_missing_or_added_frame_is_found() {
    for (kind, second) in [(EFFECT, Some(PRINT)), (EFFECT, Some(RANDOM)), (COMMIT, None)] {
        let is_wanted = |frame: &Vec<u8>| frame[0] == kind && second.is_none_or(|second| frame[1] == second);
        for is_added in [false, true] {
            let ended = tampered("replay-frames", DRAWS, |frames| {
                let places: Vec<usize> = (0..frames.len()).filter(|&index| is_wanted(&frames[index])).collect();
                // The third of its kind.
                let place = places[2];
                if is_added {
                    frames.insert(place, frames[place].clone());
                } else {
                    frames.remove(place);
                }
            });
            assert_eq!(ended.code, Some(4), "{kind} {second:?} {is_added}: {}", ended.err);
            assert!(ended.err.contains("the replay differs from the recording at commit "), "{}", ended.err);
            let lines = ended.out.lines().count();
            assert!((2..=4).contains(&lines), "{kind} {second:?} {is_added}: {lines} lines: {}", ended.err);
        }
    }
}

#[test]
fn a_tape_that_goes_on_after_the_run_has_ended_differs() {
    let ended = tampered("replay-longer", RULES, |frames| {
        let print = frames.iter().rfind(|frame| is_effect(frame, PRINT)).expect("a line is printed").clone();
        frames.insert(frames.len() - 1, print);
    });
    assert_eq!(ended.code, Some(4));
    assert!(ended.err.contains("the end") && ended.err.contains("replayed: the run has ended"), "{}", ended.err);
}

#[test]
fn a_tape_without_its_end_is_of_a_run_that_was_killed() {
    let ended = tampered("replay-killed", RULES, |frames| drop(frames.pop()));
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "[2]\n[4]\n[10]\n[()]\n"));
    assert!(ended.err.starts_with("warning: the tape ends here") && ended.err.contains("4 commits"), "{}", ended.err);
}

#[test]
fn a_recorded_line_that_the_run_does_not_come_to_is_never_printed() {
    // All recorded lines are replaced, and then each alone: a replay that prints the recording would show one.
    let lines = ["[2]", "[4]", "[10]", "[()]"];
    for replaced in [None, Some(0), Some(1), Some(2), Some(3)] {
        let ended = tampered("replay-lines", RULES, |frames| {
            let prints = frames.iter_mut().filter(|frame| is_effect(frame, PRINT));
            for (index, frame) in prints.enumerate() {
                if replaced.is_none_or(|replaced| replaced == index) {
                    assert_eq!(replace(frame, lines[index], &"#".repeat(lines[index].len())), 1);
                }
            }
        });
        let first = replaced.unwrap_or(0);
        let before: String = lines[..first].iter().map(|line| format!("{line}\n")).collect();
        assert_eq!((ended.code, ended.out), (Some(4), before));
        let shown = format!("replayed: print {}\n", lines[first]);
        assert!(ended.err.contains("recorded: print ##") && ended.err.contains(&shown), "{}", ended.err);
    }
}

#[test]
fn a_replay_stops_where_it_is_told_to() {
    let folder = Folder::new("replay-to");
    folder.write("p.metta", RULES);
    folder.good(&["run", "p.metta", "--record", "tape"]);
    let ended = folder.run(&["replay", "tape", "--to", "2"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "[2]\n[4]\n"));
    assert_eq!(ended.err, "replayed up to commit 2: all the same so far\n");
    let ended = folder.run(&["replay", "tape", "--to", "9"]);
    assert_eq!((ended.code, ended.out.lines().count()), (Some(0), 4));
    assert_eq!(ended.err, "replayed 4 commits: all the same; there is no commit 9\n");
}

#[test]
fn a_run_in_a_base_replays_without_the_base() {
    let folder = Folder::new("replay-base");
    folder.write("a.metta", "(fact 1)\n(= (double $x) (* 2 $x))\n!(bind! &n (new-state 5))\n");
    folder.write(
        "b.metta",
        "!(double 4)\n!(change-state! &n 6)\n(fact 2)\n!(match &self (fact $x) $x)\n!(epoch &self)\n",
    );
    folder.good(&["run", "--kb", "kb", "a.metta"]);
    let recorded = folder.good(&["run", "--kb", "kb", "--record", "tape", "b.metta"]);
    assert_eq!(recorded, "[8]\n[(State 6)]\n[1, 2]\n[3]\n");
    // The base has gone on meanwhile, and then is gone.
    folder.good(&["run", "--kb", "kb", "-e", "(fact 3) !(change-state! &n 7)"]);
    assert_eq!(folder.good(&["replay", "tape"]), recorded);
    std::fs::remove_dir_all(folder.path().join("kb")).expect("the base can be removed");
    assert_eq!(folder.good(&["replay", "tape"]), recorded);
}

#[test]
fn what_is_no_tape_is_said_to_be_none() {
    let folder = Folder::new("replay-none");
    folder.write("p.metta", RULES);
    folder.good(&["run", "--kb", "kb", "p.metta"]);
    folder.good(&["run", "p.metta", "--record", "tape"]);
    let segment = std::fs::read_dir(folder.path().join("kb/journal")).expect("a folder can be listed").next();
    std::fs::copy(segment.expect("there is one").expect("it is read").path(), folder.path().join("segment"))
        .expect("copied");
    folder.write("empty", "");
    for (path, code) in [("missing", 2), ("p.metta", 2), (".", 2), ("kb", 2), ("empty", 2), ("segment", 2)] {
        let ended = folder.run(&["replay", path]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(code), ""), "{path}: {}", ended.err);
        assert!(ended.err.starts_with("error: ") && ended.err.contains(path), "{path}: {}", ended.err);
        assert!(ended.err.contains("help: "), "{path}: {}", ended.err);
    }
    let again = folder.run(&["run", "p.metta", "--record", "tape"]);
    assert_eq!((again.code, again.out.as_str()), (Some(2), ""));
    assert!(again.err.contains("tape") && again.err.contains("never overwritten"), "{}", again.err);
}

#[test]
fn a_damaged_tape_is_damage() {
    let folder = Folder::new("replay-damaged");
    folder.write("p.metta", &format!("{RULES}{}", "!(+ 1 1)\n".repeat(50)));
    folder.good(&["run", "p.metta", "--record", "tape"]);
    let path = folder.path().join("tape");
    let mut bytes = std::fs::read(&path).expect("the tape can be read");
    // In the middle of its frames.
    let printed: Vec<usize> = (0..bytes.len() - 3).filter(|&at| &bytes[at..at + 3] == b"[2]").collect();
    bytes[printed[printed.len() / 2]] ^= 0x20;
    std::fs::write(&path, bytes).expect("the tape can be written");
    let ended = folder.run(&["replay", "tape"]);
    assert_eq!(ended.code, Some(4), "{}", ended.err);
    assert!(ended.err.contains("tape") && ended.err.contains("help: "), "{}", ended.err);
}

#[test]
fn a_replay_that_somebody_ends_is_no_difference() {
    let folder = Folder::new("replay-interrupt");
    folder.write("p.metta", "(= (loop $n) (loop (+ $n 1)))\n! ready\n!(loop 0)\n");
    let ended = folder.run(&["run", "p.metta", "--record", "tape", "--steps", "1000000"]);
    assert_eq!(ended.code, Some(1));
    let mut child = folder.command(&["replay", "tape"]).spawn().expect("the binary runs");
    let mut out = BufReader::new(child.stdout.take().expect("there is an output"));
    let mut line = String::new();
    out.read_line(&mut line).expect("a line can be read");
    signal(child.id(), "INT");
    let ended = wait(child);
    // A machine that is fast enough may have come to the end.
    let expected = match ended.code {
        Some(1) => "error: the replay was cancelled; replayed 1 commit: all the same so far\n",
        _ => "replayed 2 commits: all the same\n",
    };
    assert_eq!((line.as_str(), ended.err.as_str()), ("[ready]\n", expected));
    assert_eq!(folder.run(&["replay", "tape"]).code, Some(0));
}

#[test]
fn a_run_whose_reader_went_away_is_recorded_up_to_there() {
    let folder = Folder::new("replay-pipe");
    folder.write("p.metta", &"!(add-atom &self (a 1))\n".repeat(3_000));
    let mut child =
        folder.command(&["run", "p.metta", "--kb", "kb", "--record", "tape"]).spawn().expect("the binary runs");
    let mut out = BufReader::new(child.stdout.take().expect("there is an output"));
    let mut line = String::new();
    out.read_line(&mut line).expect("a line can be read");
    drop(out);
    let ended = wait(child);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let kept = folder.atoms().len();
    assert!((1..3_000).contains(&kept), "{kept} atoms");
    let replayed = folder.run(&["replay", "tape"]);
    assert_eq!(replayed.code, Some(0), "{}", replayed.err);
    assert!(replayed.err.contains(&format!("replayed {kept} commits: all the same")), "{kept}: {}", replayed.err);
}

/// A secret that a run says or is told would be on its tape, where nothing else can stand in its place.
#[test]
fn a_recorded_run_ends_before_a_secret_is_on_its_tape() {
    let folder = Folder::new("replay-secrets");
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let ask = |name: &str| format!("!(import! &self system)\n!(environment-variable \"{name}\")\n");
    folder.write("named.metta", &ask("POND_API_KEY"));
    folder.write("formed.metta", &ask("POND"));
    folder.write("source.metta", &format!("(key \"{secret}\")\n!(+ 1 1)\n"));
    folder.write("print.metta", "!(println! (format-args \"ghp_01234{}\" (abcdefghij56789ABCDEFGHIJ012345klmnop)))\n");
    let has = |tape: &str, text: &str| {
        let bytes = std::fs::read(folder.path().join(tape)).expect("the tape is there");
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    };
    for (name, value, what) in [
        ("named", "hunter2-of-the-pond", "the environment variable POND_API_KEY"),
        ("formed", secret, "a GitHub token would be on the tape, in the environment variable POND"),
        ("source", secret, "a GitHub token would be on the tape, in the source "),
        ("print", "ghp_01234abc", "a GitHub token would be on the tape, in what the program prints"),
    ] {
        let (program, tape) = (format!("{name}.metta"), format!("{name}.tape"));
        let run = |more: &[&str]| {
            let mut command = folder.command(&[&["run", &program, "--record", &tape], more].concat());
            command.env("POND_API_KEY", "hunter2-of-the-pond").env("POND", secret);
            wait(command.spawn().expect("the binary runs"))
        };
        let ended = run(&[]);
        assert_eq!(ended.code, Some(1), "{name}: {}{}", ended.out, ended.err);
        assert!(ended.err.contains(what) && ended.err.contains("--keep-secrets"), "{name}: {}", ended.err);
        assert!(!has(&tape, value), "{name}");
        std::fs::remove_file(folder.path().join(&tape)).expect("it is there");
        let ended = run(&["--keep-secrets"]);
        assert_eq!(ended.code, Some(0), "{name}: {}{}", ended.out, ended.err);
        assert!(has(&tape, value), "{name}");
        assert_eq!(folder.good(&["replay", &tape]), ended.out, "{name}");
    }
}

/// The base that a run begins with is on its tape.
#[test]
fn a_recorded_run_ends_before_a_secret_of_its_base_is_on_its_tape() {
    let folder = Folder::new("replay-secrets-base");
    // A length of 48 or so is a digit where the record has it, and a text begins behind another one.
    let secrets = ["sk-proj-0123456789abcdefABCDEF0123456789abcdef0123", "ghp_0123456789abcdefghijABCDEFGHIJ012345"];
    for (number, (secret, form)) in [
        (secrets[0], format!("(key \"{}\")", secrets[0])),
        (secrets[1], format!("(key {})", secrets[1])),
        (secrets[0], format!("!(bind! {} 1)", secrets[0])),
        (secrets[1], format!("!(bind! &s (new-state \"{}\"))", secrets[1])),
        (secrets[1], format!("(called ${})", secrets[1])),
    ]
    .into_iter()
    .enumerate()
    {
        let (base, tape) = (format!("kb{number}"), format!("{number}.tape"));
        folder.good(&["run", "--kb", &base, "-e", &form]);
        let run = ["run", "--kb", &base, "--record", &tape, "-e", "!(+ 1 1)"];
        let ended = folder.run(&run);
        assert_eq!(ended.code, Some(2), "{form}: {}{}", ended.out, ended.err);
        let place = "would be on the tape, in the base ";
        assert!(ended.err.contains(place) && ended.err.contains("--keep-secrets"), "{form}: {}", ended.err);
        let path = folder.path().join(&tape);
        let has =
            || std::fs::read(&path).expect("the tape is there").windows(secret.len()).any(|at| at == secret.as_bytes());
        assert!(!has(), "{form}");
        std::fs::remove_file(&path).expect("it is there");
        let kept = folder.good(&[&run[..], &["--keep-secrets"]].concat());
        assert!(has(), "{form}");
        assert_eq!(folder.good(&["replay", &tape]), kept, "{form}");
    }
    // A base without one is recorded as ever.
    folder.good(&["run", "--kb", "kb", "-e", "(fact 1)"]);
    folder.good(&["run", "--kb", "kb", "--record", "tape", "-e", "!(match &self (fact $x) $x)"]);
    assert_eq!(folder.good(&["replay", "tape"]), "[1]\n");
}

/// Half of a key is none, and the other half neither.
#[test]
fn a_recorded_run_ends_before_the_rest_of_a_secret_is_on_its_tape() {
    let folder = Folder::new("replay-secrets-halves");
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    folder.write("key.txt", &format!("the key is {secret}, and so on"));
    let read = "(file-read-exact! $f 30)";
    let program = |middle: &str| {
        format!("!(import! &self fileio)\n!(let $f (file-open! \"key.txt\" \"r\") ({read} {middle} {read}))\n")
    };
    folder.write("two.metta", &program(""));
    folder.write("seek.metta", &program("(file-seek! $f 30)"));
    for name in ["two", "seek"] {
        let (file, tape) = (format!("{name}.metta"), format!("{name}.tape"));
        let ended = folder.run(&["run", &file, "--record", &tape]);
        assert_eq!(ended.code, Some(1), "{name}: {}{}", ended.out, ended.err);
        let place = "a GitHub token would be on the tape, in what the program reads from a file";
        assert!(ended.err.contains(place), "{name}: {}{}", ended.out, ended.err);
        let bytes = std::fs::read(folder.path().join(&tape)).expect("the tape is there");
        assert!(!bytes.windows(8).any(|at| at == b"ghijABCD"), "{name}");
        folder.good(&["run", &file, "--record", "kept.tape", "--keep-secrets"]);
        std::fs::remove_file(folder.path().join("kept.tape")).expect("it is there");
    }
}

#[test]
fn a_prompt_opens_where_a_replay_ended() {
    let folder = Folder::new("replay_prompt");
    folder
        .write("p.metta", "(= (double $x) (* 2 $x))\n!(add-atom &self (n 1))\n!(add-atom &self (n 2))\n!(double 4)\n");
    folder.good(&["run", "p.metta", "--record", "tape"]);
    let input = b":space (n $x)\n!(double 21)\n!(add-atom &self (n 9))\n:space (n $x)\n";
    let ended = feed(folder.command(&["replay", "tape", "--to", "1", "--repl"]), input);
    assert_eq!((ended.out.as_str(), ended.code), ("[()]\n(n 1)\n[42]\n[()]\n(n 1)\n(n 9)\n", Some(0)), "{}", ended.err);
    assert!(ended.err.contains("replayed up to commit 1"), "{}", ended.err);
    let whole = feed(folder.command(&["replay", "tape", "--repl"]), b":space (n $x)\n");
    assert_eq!(whole.out, "[()]\n[()]\n[8]\n(n 1)\n(n 2)\n", "{}", whole.err);
    // The tape is as it was, and the program still reaches nothing.
    let ended = feed(
        folder.command(&["replay", "tape", "--repl"]),
        b"!(import! &self fileio)\n!(file-open! \"p.metta\" \"r\")\n",
    );
    assert!(ended.out.contains("Error (file-open!"), "{}{}", ended.out, ended.err);
}
