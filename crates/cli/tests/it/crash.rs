//! Runs that are killed at any moment: a base holds exactly what was committed, and a tape what was recorded.

use crate::harness::{Folder, signal};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const ROUNDS_BIG: u64 = 12;
const ROUNDS_RECORDED: u64 = 25;

/// How often a base is killed: 50 times, or 200 if `METROON_EXHAUSTIVE` is set.
fn rounds() -> u64 {
    if std::env::var_os("METROON_EXHAUSTIVE").is_some() { 200 } else { 50 }
}

/// Numbers that look random and are the same in every run of the test.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// A run that is fed a program, whose output lines can be read as they come.
pub(crate) struct Running {
    child: Child,
    pub(crate) lines: Receiver<String>,
    last: Option<String>,
}

impl Running {
    pub(crate) fn begin(folder: &Folder, arguments: &[&str], program: String) -> Self {
        let mut child = folder.command(arguments).spawn().expect("the binary runs");
        let mut input = child.stdin.take().expect("there is an input");
        // The run may be killed before it has read all.
        std::thread::spawn(move || drop(input.write_all(program.as_bytes())));
        let mut out = BufReader::new(child.stdout.take().expect("there is an output"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            // A line counts when its end is there.
            while out.read_line(&mut line).is_ok_and(|_| line.ends_with('\n')) {
                let _ = sender.send(line.trim_end().to_owned());
                line.clear();
            }
        });
        Self { child, lines, last: None }
    }

    pub(crate) fn wait_for_line(&mut self) {
        self.last = Some(self.lines.recv_timeout(Duration::from_secs(60)).expect("the run prints a line"));
    }

    /// Kills it; gives the last line it printed, and what it said.
    pub(crate) fn kill(mut self) -> (Option<String>, String) {
        signal(self.child.id(), "KILL");
        self.child.wait().expect("the run has ended");
        let mut said = String::new();
        let mut err = self.child.stderr.take().expect("there is an error output");
        err.read_to_string(&mut said).expect("it can be read");
        let last = self.lines.iter().last();
        (last.or(self.last), said)
    }
}

pub(crate) fn number_of(line: Option<String>) -> Option<u64> {
    line.map(|line| line.trim_matches(['[', ']']).parse().expect("the line is a number"))
}

/// The numbered facts of the base, which must be 1, 2, 3 and so on.
pub(crate) fn count_facts(folder: &Folder) -> u64 {
    let atoms = folder.atoms();
    let facts: Vec<&String> = atoms.iter().filter(|atom| atom.starts_with("(fact ")).collect();
    for (index, fact) in facts.iter().enumerate() {
        assert_eq!(**fact, format!("(fact {})", index + 1), "a hole after {index} of {} facts", facts.len());
    }
    facts.len() as u64
}

/// What the system has outlives the process: a commit is told of when the system has it, and no disk is waited for.
#[test]
fn commits_that_only_the_system_has_outlive_the_process() {
    let folder = Folder::new("crash-system");
    for round in 1..=5 {
        let before = if folder.path().join("kb").exists() { count_facts(&folder) } else { 0 };
        let forms = (before + 1..before + 5_000)
            .map(|number| format!("!(let $x (add-atom &self (fact {number})) {number})\n"))
            .collect();
        let mut running = Running::begin(&folder, &["run", "--kb", "kb", "--durability", "system"], forms);
        (0..100 * round).for_each(|_| running.wait_for_line());
        let (last, said) = running.kill();
        let acknowledged = number_of(last).expect("lines were printed");
        let held = count_facts(&folder);
        assert!(held >= acknowledged, "round {round}: {held} of {acknowledged}: {said}");
        folder.good(&["kb", "verify", "kb"]);
    }
    let refused = folder.run(&["run", "--durability", "system", "-e", "1"]);
    assert!(refused.code == Some(2) && refused.err.contains("--kb"), "{}", refused.err);
}

/// Runs forms in the base, and kills the run while it opens the base in some rounds, and while it commits in most; gives the last number
/// that it printed.
fn kill_in_round(folder: &Folder, round: u64, forms: String, dice: &mut Dice) -> Option<u64> {
    let mut run = Running::begin(folder, &["run", "--kb", "kb", "-"], forms);
    if !round.is_multiple_of(8) {
        run.wait_for_line();
    }
    std::thread::sleep(Duration::from_micros(dice.below(20_000)));
    let (line, said) = run.kill();
    assert!(!said.contains("error"), "round {round}: {said}");
    number_of(line)
}

#[test]
fn a_base_that_is_killed_again_and_again_holds_what_was_acknowledged() {
    let folder = Folder::new("crash-facts");
    folder.good(&["run", "--kb", "kb", "-e", "!(bind! &last (new-state 0))"]);
    let mut dice = Dice(20_240_229);
    let mut facts = 0;
    let mut rounds_with_facts = 0;
    for round in 0..rounds() {
        let forms = (facts + 1..facts + 1000)
            .map(|n| format!("!(let () (add-atom &self (fact {n})) (let $s (change-state! &last {n}) {n}))\n"));
        let acknowledged = kill_in_round(&folder, round, forms.collect(), &mut dice).unwrap_or(facts);
        rounds_with_facts += u64::from(acknowledged > facts);
        // In some rounds what comes next begins with a checkpoint, in others with one that was killed.
        if round % 5 == 1 {
            folder.good(&["kb", "compact", "kb"]);
        } else if round % 5 == 3 {
            let compacting = Running::begin(&folder, &["kb", "compact", "kb"], String::new());
            std::thread::sleep(Duration::from_micros(dice.below(40_000)));
            compacting.kill();
        }
        let found = count_facts(&folder);
        assert!(
            (acknowledged..=acknowledged + 1).contains(&found),
            "round {round}: {acknowledged} facts were acknowledged, and {found} are there"
        );
        facts = found;
        if round % 10 == 9 {
            let again =
                folder.good(&["run", "--kb", "kb", "-e", "!(get-state &last) !(collapse (match &self (fact $n) $n))"]);
            let mut lines = again.lines();
            assert_eq!(lines.next(), Some(format!("[{facts}]").as_str()), "the state is of another commit");
            let numbers: Vec<String> = (1..=facts).map(|number| number.to_string()).collect();
            assert_eq!(lines.next(), Some(format!("[({})]", numbers.join(" ")).as_str()));
        }
    }
    assert!(rounds_with_facts > rounds() / 2, "only {rounds_with_facts} rounds added facts");
    let verified = folder.good(&["kb", "verify", "kb"]);
    assert!(verified.contains("sound"), "{verified}");
}

/// The changes that a watcher prints of commits after one, each with its commit.
fn watched(folder: &Folder, after: u64, last: u64) -> Vec<(u64, String)> {
    let (after, last) = (after.to_string(), last.to_string());
    let lines = folder.good(&["watch", "kb", "--live", "facts", "--from", &after, "--to", &last]);
    let parts = |line: &str| line.split_once(" + ").map(|(epoch, fact)| (epoch.parse().ok(), fact.to_owned()));
    let change = |line: &str| match parts(line) {
        Some((Some(epoch), fact)) => (epoch, fact),
        _ => panic!("{line} is no fact that came"),
    };
    lines.lines().map(change).collect()
}

/// A writer with a live query that has a name is killed again and again: what it acknowledged is there, and who follows the name goes on
/// after the commit that they were told of last without a gap and without a repeat.
#[test]
fn a_writer_with_a_live_query_that_is_killed_many_times_is_followed_without_a_gap() {
    let folder = Folder::new("crash-live");
    let begin = "!(import! &self live-queries) !(live facts (fact $n) $n) (: seen (-> Atom %Undefined%)) \
                 (= (seen (added $n $commit)) (add-atom &self (seen $n))) !(on-change facts seen)";
    folder.good(&["run", "--kb", "kb", "-e", begin]);
    let mut dice = Dice(20_261_126);
    let (mut facts, mut told) = (0, 0);
    let mut heard = Vec::new();
    for round in 0..rounds() {
        let forms = (facts + 1..facts + 600).map(|n| format!("!(let () (add-atom &self (fact {n})) {n})\n"));
        let acknowledged = kill_in_round(&folder, round, forms.collect(), &mut dice).unwrap_or(facts);
        if round % 5 == 1 {
            folder.good(&["kb", "compact", "kb"]);
        }
        let found = count_facts(&folder);
        assert!(
            (acknowledged..=acknowledged + 1).contains(&found),
            "round {round}: {acknowledged} facts were acknowledged, and {found} are there"
        );
        facts = found;
        let stats: serde_json::Value =
            serde_json::from_str(&folder.good(&["kb", "stats", "kb", "--json"])).expect("JSON");
        assert_eq!(stats["live_queries"], 1, "round {round}");
        let last = stats["commits"].as_u64().expect("a number");
        if last > told {
            heard.extend(watched(&folder, told, last));
            told = last;
        }
        assert_eq!(heard.len() as u64, facts, "round {round}: a gap or a repeat");
        if round % 10 == 9 {
            assert!(folder.good(&["kb", "verify", "kb"]).contains("sound"), "round {round}");
        }
    }
    for (index, (epoch, fact)) in heard.iter().enumerate() {
        assert_eq!(*fact, (index + 1).to_string());
        assert!(index == 0 || heard[index - 1].0 < *epoch, "commit {epoch} comes late");
    }
    assert!(facts > rounds(), "only {facts} facts were added");
    // A program is told the same, by the journal.
    let asked = folder.good(&["run", "--kb", "kb", "-e", "!(count-results (changes facts 0))"]);
    assert_eq!(asked, format!("[{facts}]\n"));
}

/// What the program of the two tests below does with each fact: it takes all that it has not been told of, and keeps of each that it did.
const HANDLING: &str = "!(import! &self live-queries) !(live facts (fact $n) $n) !(changes facts) \
                        (= (handle (added $n $commit)) (add-atom &self (handled $n))) \
                        (= (handle-all) (handle (changes facts))) (: seen (-> Atom %Undefined%))";

/// The facts that were handled, in the order in which they were.
fn handled(folder: &Folder) -> Vec<u64> {
    let number = |atom: &String| atom.strip_prefix("(handled ")?.strip_suffix(')')?.parse().ok();
    folder.atoms().iter().filter_map(number).collect()
}

/// The calls that a killed run has not made are not made later. What they were for is found by `changes`, once.
#[test]
fn what_a_killed_run_was_called_for_is_found_by_changes() {
    let folder = Folder::new("crash-on-change");
    let seen = "(= (spin $n) (if (== $n 0) done (spin (- $n 1)))) \
                (= (seen (added $n $commit)) (if (== $n 3) (spin-first) (handle-all))) \
                (= (spin-first) (let $said (println! begun) (let $spun (spin 1000000000000) (handle-all)))) \
                !(on-change facts seen)";
    folder.good(&["run", "--kb", "kb", "-e", HANDLING, "-e", seen]);
    let forms = (1..=5).map(|n| format!("!(let () (add-atom &self (fact {n})) {n})\n")).collect();
    let mut run = Running::begin(&folder, &["run", "--kb", "kb", "-"], forms);
    while run.last.as_deref() != Some("begun") {
        run.wait_for_line();
    }
    run.kill();
    // The commit of the third fact stands, and its call has left nothing.
    assert_eq!((count_facts(&folder), handled(&folder)), (3, vec![1, 2]));
    folder.good(&["run", "--kb", "kb", "-e", "!(add-atom &self (something else))"]);
    assert_eq!(handled(&folder), [1, 2]);
    assert_eq!(folder.good(&["run", "--kb", "kb", "-e", "!(handle-all)"]), "[()]\n");
    assert_eq!(handled(&folder), [1, 2, 3]);
    assert_eq!(folder.good(&["run", "--kb", "kb", "-e", "!(handle-all)"]), "[]\n");
}

/// A run is killed again and again at any moment: each fact is handled once by a function that takes what has changed from `changes`, since the
/// place up to which the program was told is part of the commit that keeps what the function did.
#[test]
fn each_change_is_handled_once_however_often_the_run_is_killed() {
    let folder = Folder::new("crash-handled");
    folder.good(&[
        "run",
        "--kb",
        "kb",
        "-e",
        HANDLING,
        "-e",
        "(= (seen $change) (handle-all)) !(on-change facts seen)",
    ]);
    let mut dice = Dice(20_261_127);
    for round in 0..ROUNDS_RECORDED {
        let facts = count_facts(&folder);
        let forms = (facts + 1..facts + 600).map(|n| format!("!(let () (add-atom &self (fact {n})) {n})\n"));
        let forms = std::iter::once("!(let $all (collapse (handle-all)) 0)\n".to_owned()).chain(forms);
        kill_in_round(&folder, round, forms.collect(), &mut dice);
        let (facts, handled) = (count_facts(&folder), handled(&folder));
        let expected: Vec<u64> = (1..=facts).collect();
        assert!(expected.starts_with(&handled), "round {round}: of {facts} facts were handled: {handled:?}");
        assert!(facts <= handled.len() as u64 + 1, "round {round}: {} of {facts} were handled", handled.len());
    }
    folder.good(&["run", "--kb", "kb", "-e", "!(collapse (handle-all))"]);
    let facts = count_facts(&folder);
    assert!(facts > ROUNDS_RECORDED, "only {facts} facts were added");
    assert_eq!(handled(&folder), (1..=facts).collect::<Vec<u64>>());
}

fn journal_bytes(folder: &Folder) -> u64 {
    let entries = std::fs::read_dir(folder.path().join("kb/journal")).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.metadata().ok()).map(|about| about.len()).sum()
}

/// How many atoms each commit added.
fn added(folder: &Folder) -> Vec<u64> {
    let log = folder.good(&["kb", "log", "kb", "--json"]);
    let object = |line: &str| -> serde_json::Value { serde_json::from_str(line).expect("JSON") };
    log.lines().map(|line| object(line)["added"].as_u64().expect("a count")).collect()
}

#[test]
fn a_commit_of_several_frames_is_there_whole_or_not_at_all() {
    const ATOMS: u64 = 6_000;
    const BYTES: u64 = 2_000;
    let folder = Folder::new("crash-big");
    folder.good(&["run", "--kb", "kb", "-e", "(begin)"]);
    let mut dice = Dice(1_234_567);
    let text = "x".repeat(BYTES as usize);
    let (mut commits, mut cut_off) = (0, 0);
    for round in 0..ROUNDS_BIG {
        let atoms = (0..ATOMS).map(|n| format!("(big {round} {n} \"{text}\")\n")).collect::<String>();
        let before = journal_bytes(&folder);
        let run = Running::begin(&folder, &["run", "--kb", "kb", "-"], format!("{atoms}!({round})\n"));
        let enough = before + 1 + dice.below(ATOMS * BYTES * 11 / 10);
        let began = Instant::now();
        // Until `enough` bytes of the commit are written, or all of it for a while.
        while journal_bytes(&folder) < enough && began.elapsed() < Duration::from_millis(2_500) {
            std::thread::sleep(Duration::from_micros(200));
        }
        let (line, _) = run.kill();
        let added = added(&folder);
        assert!(added[1..].iter().all(|count| *count == ATOMS), "round {round}: {added:?}");
        let found = added.len() as u64 - 1;
        let is_there = found - commits;
        assert!(is_there <= 1 && (line.is_none() || is_there == 1), "round {round}: {line:?}, {is_there} commits");
        cut_off += u64::from(is_there == 0 && journal_bytes(&folder) > before);
        commits = found;
    }
    assert!(cut_off > 0, "no commit was cut off: the test proves nothing");
    assert_eq!(folder.atoms().len() as u64, commits * ATOMS + 1);
    assert!(folder.good(&["kb", "verify", "kb"]).contains("sound"));
}

#[test]
fn the_tape_of_a_run_that_was_killed_replays_up_to_its_end() {
    let folder = Folder::new("crash-tape");
    let mut dice = Dice(99);
    let program: String = (1..5_000).map(|n| format!("!(let () (add-atom &self (fact {n})) {n})\n")).collect();
    for round in 0..ROUNDS_RECORDED {
        let tape = format!("tape-{round}");
        let with_base = round % 2 == 1;
        let base: &[&str] = if with_base { &["--kb", "kb"] } else { &[] };
        let arguments = [&["run", "-", "--record", &tape], base].concat();
        let mut run = Running::begin(&folder, &arguments, program.clone());
        run.wait_for_line();
        std::thread::sleep(Duration::from_micros(dice.below(20_000)));
        let acknowledged = number_of(run.kill().0).expect("a line was printed");
        let ended = folder.run(&["replay", &tape]);
        assert_eq!(ended.code, Some(0), "round {round}: {}", ended.err);
        assert!(ended.err.starts_with("warning: the tape ends here"), "round {round}: {}", ended.err);
        let replayed = number_of(ended.out.lines().last().map(str::to_owned)).unwrap_or(0);
        // What is printed is on the tape, but for what the last writes still held.
        assert!(replayed <= acknowledged + 1, "round {round}: {acknowledged} printed, {replayed} replayed");
        assert!(replayed + 1 >= acknowledged, "round {round}: {acknowledged} printed, {replayed} replayed");
        let numbers: String = (1..=replayed).map(|n| format!("[{n}]\n")).collect();
        assert_eq!(ended.out, numbers);
        remove(&folder.path().join(tape));
    }
}

fn remove(path: &Path) {
    std::fs::remove_file(path).expect("a file can be removed");
}
