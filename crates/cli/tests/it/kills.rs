//! Kills of every verb that writes: a copy says that it is unfinished, a load is whole or can be made again, a watcher beside goes on, a checkpoint that
//! is written beside the commits costs none of them.
//!
//! `METROON_KILLS=1000` says how many rounds each test makes.

use crate::crash::{Dice, Running, count_facts, number_of};
use crate::harness::Folder;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const ROUNDS: u64 = 8;

fn rounds() -> u64 {
    std::env::var("METROON_KILLS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS)
}

fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.metadata().ok()).map(|about| about.len()).sum()
}

/// Facts of some length, so that copying them takes a while.
fn long_facts(count: u64) -> String {
    let text = "x".repeat(2_000);
    (0..count).map(|number| format!("(long {number} \"{text}\")\n")).collect()
}

/// A copy that was cut off is neither a base nor a damaged one: it says what it is, whatever is asked of it, and nothing is salvaged of it that would
/// look whole.
#[test]
fn a_backup_that_is_killed_says_that_it_is_unfinished() {
    let folder = Folder::new("kills-backup");
    folder.write("long.metta", &long_facts(8_000));
    folder.good(&["kb", "load", "kb", "long.metta"]);
    folder.good(&["kb", "compact", "kb"]);
    let whole = bytes_in(&folder.path().join("kb/journal"));
    let mut dice = Dice(20_261_128);
    let (mut unfinished, mut complete) = (0, 0);
    for round in 0..rounds() {
        let (verb, to) = if round % 3 == 2 { ("fork", "copy") } else { ("backup", "copy") };
        let copy = folder.path().join("copy");
        let copying = Running::begin(&folder, &["kb", verb, "kb", "--to", to], String::new());
        let enough = dice.below(whole * 11 / 10);
        let began = Instant::now();
        while bytes_in(&copy.join("journal")) < enough.max(1) && began.elapsed() < Duration::from_secs(20) {
            if copy.join("MANIFEST").exists() {
                break;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        copying.kill();
        if copy.join("MANIFEST").exists() {
            assert!(folder.good(&["kb", "verify", "copy"]).contains("sound"), "round {round}");
            complete += 1;
        } else {
            unfinished += 1;
            for words in [
                &["kb", "verify", "copy"][..],
                &["kb", "dump", "copy"],
                &["kb", "salvage", "copy", "--to", "new"],
                &["kb", "backup", "copy", "--to", "new"],
                &["run", "--kb", "copy", "-e", "1"],
                &["kb", "load", "copy", "long.metta"],
            ] {
                let ended = folder.run(words);
                assert_eq!(ended.code, Some(2), "round {round} {words:?}: {}{}", ended.out, ended.err);
                let said = format!("copy is an unfinished {verb} of ");
                assert!(ended.err.contains(&said), "round {round} {words:?}: {}", ended.err);
                assert!(ended.err.contains("help: remove it"), "round {round} {words:?}: {}", ended.err);
                assert!(!folder.path().join("new").exists(), "round {round} {words:?}");
            }
        }
        fs::remove_dir_all(&copy).expect("it was begun");
    }
    assert!(unfinished > 0, "no copy was cut off ({complete} were complete): the test proves nothing");
    folder.good(&["kb", "backup", "kb", "--to", "copy"]);
    assert!(!folder.path().join("copy/UNFINISHED").exists());
    let [copied, copy] = ["kb", "copy"].map(|base| folder.good(&["kb", "dump", base]));
    // The first line names the base.
    assert!(copied.lines().skip(1).eq(copy.lines().skip(1)), "the copy differs");
}

/// A load that is killed leaves a sound base; made again, it adds what is missing and nothing twice.
#[test]
fn a_load_that_is_killed_can_be_made_again() {
    const FACTS: u64 = 40_000;
    let folder = Folder::new("kills-load");
    folder.write("facts.csv", &(0..FACTS).map(|number| format!("{number},name of {number}\n")).collect::<String>());
    let load = ["kb", "load", "kb", "facts.csv", "--no-headings"];
    let mut dice = Dice(7);
    for round in 0..rounds() {
        let loading = Running::begin(&folder, &load, String::new());
        std::thread::sleep(Duration::from_micros(dice.below(400_000)));
        loading.kill();
        let base = folder.path().join("kb");
        if base.join("MANIFEST").exists() {
            let verified = folder.good(&["kb", "verify", "kb"]);
            assert!(verified.contains("sound"), "round {round}: {verified}");
        }
        if round % 2 == 1 && base.exists() {
            fs::remove_dir_all(&base).expect("it is there");
        }
    }
    folder.good(&load);
    let mut atoms = folder.atoms();
    assert_eq!(atoms.len() as u64, FACTS);
    atoms.sort();
    atoms.dedup();
    assert_eq!(atoms.len() as u64, FACTS);
}

/// A watcher that runs beside goes on when the writer is killed and another one comes: it is told of each fact once, in order.
#[test]
fn a_watcher_beside_goes_on_when_writers_are_killed() {
    let folder = Folder::new("kills-watch");
    folder.good(&["run", "--kb", "kb", "-e", "!(import! &self live-queries) !(live facts (fact $n) $n)"]);
    let watcher = Running::begin(&folder, &["watch", "kb", "--live", "facts", "--from", "0"], String::new());
    let mut dice = Dice(99_991);
    let mut facts = 0;
    for round in 0..rounds() {
        let forms = (facts + 1..facts + 1_000).map(|n| format!("!(let () (add-atom &self (fact {n})) {n})\n"));
        let mut run = Running::begin(&folder, &["run", "--kb", "kb", "-"], forms.collect());
        run.wait_for_line();
        std::thread::sleep(Duration::from_micros(dice.below(30_000)));
        let acknowledged = number_of(run.kill().0).expect("a line was printed");
        if round % 4 == 1 {
            let compacting = Running::begin(&folder, &["kb", "compact", "kb"], String::new());
            std::thread::sleep(Duration::from_micros(dice.below(60_000)));
            compacting.kill();
        }
        facts = count_facts(&folder);
        assert!((acknowledged..=acknowledged + 1).contains(&facts), "round {round}: {facts} of {acknowledged}");
    }
    let mut heard: Vec<String> = Vec::new();
    while (heard.len() as u64) < facts {
        let line = watcher.lines.recv_timeout(Duration::from_secs(30)).expect("the watcher goes on");
        heard.extend(line.split_once(" + ").map(|(_, fact)| fact.to_owned()));
    }
    let expected: Vec<String> = (1..=facts).map(|number| number.to_string()).collect();
    assert_eq!(heard, expected);
    watcher.kill();
    assert!(folder.good(&["kb", "verify", "kb"]).contains("sound"));
}

/// How many checkpoints of a base are whole, and how many are being written.
fn checkpoints(base: &Path) -> (usize, usize) {
    let entries = fs::read_dir(base.join("journal")).into_iter().flatten();
    let names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    let ending = |end: &str| names.iter().filter(|name| name.ends_with(end)).count();
    (ending(".checkpoint"), ending(".checkpoint.new"))
}

fn copy_base(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("the base can be listed") {
        let path = entry.expect("the base can be listed").path();
        let to = to.join(path.file_name().expect("a file has a name"));
        if path.is_dir() {
            copy_base(&path, &to);
        } else {
            fs::copy(&path, &to).expect("a file can be copied");
        }
    }
}

/// Once 64 MiB were journalled, a thread writes a checkpoint while the run goes on. Wherever it is cut off, what was acknowledged is there, and what is
/// opened next does not take half of a checkpoint for one.
#[test]
fn a_run_that_is_killed_while_a_thread_writes_its_checkpoint_loses_nothing() {
    let folder = Folder::new("kills-checkpoint");
    // A run that comes to its end writes a checkpoint, so this one does not.
    let for_ever = "(= (spin) (spin))\n!(filled)\n!(spin)\n";
    let mut filling = Running::begin(&folder, &["run", "--kb", "full", "-"], long_facts(32_000) + for_ever);
    filling.wait_for_line();
    filling.kill();
    let [full, base] = ["full", "kb"].map(|name| folder.path().join(name));
    assert_eq!(checkpoints(&full), (0, 0));
    let mut dice = Dice(20_261_129);
    let (mut cut_off, mut whole) = (0, 0);
    for round in 0..rounds() {
        copy_base(&full, &base);
        // The first commit makes it 64 MiB.
        let more: String = (0..2_000).map(|number| format!("(more {number} \"{}\")\n", "y".repeat(2_000))).collect();
        let forms = (1..600).map(|n| format!("!(let () (add-atom &self (fact {n})) {n})\n"));
        let mut run = Running::begin(&folder, &["run", "--kb", "kb", "-"], more + &forms.collect::<String>());
        run.wait_for_line();
        let began = Instant::now();
        while checkpoints(&base) == (0, 0) && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(Duration::from_micros(dice.below(200_000)));
        let acknowledged = number_of(run.kill().0).expect("a line was printed");
        let (finished, begun) = checkpoints(&base);
        whole += finished;
        cut_off += begun;
        let facts = folder.run(&["kb", "query", "kb", "(fact $n)", "$n"]);
        assert_eq!((facts.code, facts.err.as_str()), (Some(0), ""), "round {round}");
        let found: Vec<u64> = facts.out.lines().map(|line| line.parse().expect("it is a number")).collect();
        assert!(found.iter().copied().eq(1..=found.len() as u64), "round {round}: {found:?}");
        let count = found.len() as u64;
        assert!((acknowledged..=acknowledged + 1).contains(&count), "round {round}: {count} of {acknowledged}");
        if round % 4 == 0 {
            assert!(folder.good(&["kb", "verify", "kb"]).contains("sound"), "round {round}");
        }
        folder.good(&["run", "--kb", "kb", "-e", "(after the kill)"]);
        fs::remove_dir_all(&base).expect("it is there");
    }
    assert!(cut_off + whole > 0, "{cut_off} checkpoints were cut off, {whole} were whole: the test proves nothing");
}
