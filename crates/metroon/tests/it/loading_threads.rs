//! Files that are loaded with several threads: the base and every message are those of one thread, byte for byte.

use crate::history::engine;
use generate::Dice;
use journal::{Access, Disk, MemoryDisk};
use metroon::MemoryWorld;
use metroon::load::LoadOptions;
use std::num::NonZeroUsize;
use std::sync::Arc;

const THREADS: [usize; 4] = [1, 2, 3, 8];

/// All files of a disk, with their content.
fn contents(disk: &Arc<dyn Disk>) -> Vec<(String, Vec<u8>)> {
    let mut names = disk.list().expect("a disk in memory lists its files");
    names.sort();
    let read = |name: String| {
        let file = disk.open(&name, Access::Read).expect("a file that is listed opens");
        let mut bytes = vec![0; file.length().expect("it has a length") as usize];
        let read = file.read_at(0, &mut bytes).expect("it can be read");
        assert_eq!(read, bytes.len(), "{name} is read whole");
        (name, bytes)
    };
    names.into_iter().map(read).collect()
}

/// What came of loading the contents of a file one after the other.
#[derive(PartialEq)]
struct Outcome {
    reports: Vec<String>,
    epoch: Option<u64>,
    disk: Vec<(String, Vec<u8>)>,
}

/// Loads contents of one file, each in place of the one before, and then asks for something. The load is cancelled when it has told
/// of its progress as often as `ends_after` says.
fn load(threads: usize, file: &str, texts: &[&[u8]], ends_after: usize) -> Outcome {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let mut reports = Vec::new();
    let mut epoch = None;
    for text in texts {
        let mut engine = engine(&disk, MemoryWorld::default().with_source(file, *text));
        engine.set_threads(NonZeroUsize::new(threads).expect("no number of them is 0"));
        let (interrupt, mut heard) = (engine.limits_mut().interrupt.clone(), 0);
        let loaded = engine.load(file, &LoadOptions::default(), &mut |progress| {
            heard += 1;
            reports.push(format!("{progress:?}"));
            if heard == ends_after {
                interrupt.cancel();
            }
        });
        reports.push(match loaded {
            Ok(report) => format!("{report:?}"),
            Err(error) => format!("{error}"),
        });
        interrupt.reset();
        epoch = engine.epoch();
        engine.finish().expect("it closes");
    }
    Outcome { reports, epoch, disk: contents(&disk) }
}

/// Loads with each number of threads, and compares with one thread.
fn compare(file: &str, texts: &[&[u8]], ends_after: usize, what: &str) -> Outcome {
    let expected = load(THREADS[0], file, texts, ends_after);
    for threads in &THREADS[1..] {
        let found = load(*threads, file, texts, ends_after);
        assert_eq!(found.reports, expected.reports, "{what}: {file} with {threads} threads");
        assert_eq!(found.epoch, expected.epoch, "{what}: {file} with {threads} threads");
        assert!(found.disk == expected.disk, "{what}: {file} with {threads} threads: the bytes of the base differ");
    }
    expected
}

/// A line of a file of this format, sound or not.
fn line(dice: &mut Dice, ending: &str) -> String {
    let (a, b) = (dice.below(500), dice.below(100));
    let long = if dice.one_in(200) { "x".repeat(dice.below(30_000)) } else { String::new() };
    match (ending, dice.below(24)) {
        ("metta", 0) => format!("; a comment ( \" {long}\n"),
        ("metta", 1) => format!("(rule $x (f $y {a}) $x) ; after it\n"),
        ("metta", 2) => format!("!(+ {a} {b})\n"),
        ("metta", 3) => format!("(over\n  (several (lines {a}) \"a \\\"text\\\" {long}\")\n  {b}.5)\n"),
        ("metta", 4) => ")\n".to_owned(),
        ("metta", 5) => format!("symbol{a} {b} \"text\" $v\n"),
        ("metta", 6) => format!("(bad \"\\q{long}\")\n"),
        ("metta", 7) => format!("(= (f{a} $x) (g $x)) (c) ()\n"),
        ("metta", 8) => "(space &self)\n".to_owned(),
        ("metta", _) => format!("(edge n{a} n{b} {long}{a})\n"),
        ("csv", 0) => format!("\"over\nlines {long}\",{a},{b}\n"),
        ("csv", 1) => format!("{a},{b}\n"),
        ("csv", 2) => "\n".to_owned(),
        ("csv", 3) => format!("New York,0{a},\"say \"\"{b}\"\"\"\n"),
        ("csv", _) => format!("n{a},{b},{long}{a}\n"),
        ("nt", 0) => "# comment\n".to_owned(),
        ("nt", 1) => format!("<a> <b> {long}\n"),
        ("nt", 2) => format!("_:n{a} <http://e/p> \"t {long}\"@en .\n"),
        ("nt", _) => format!("<http://e/{a}> <http://e/p> \"{b}\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n"),
        (_, 0) => "nope\n".to_owned(),
        (_, 1) => "\n".to_owned(),
        (_, 2) => format!("[{a}, null, {{\"k\": 1e400}}]\n"),
        (_, _) => format!("{{\"a\": {a}, \"b b\": [\"{long}\", {{\"c\": {b}.5}}]}}\n"),
    }
}

/// A text that ends anywhere.
fn text(dice: &mut Dice, ending: &str, bytes: usize) -> Vec<u8> {
    let mut text = String::new();
    while text.len() < bytes {
        text.push_str(&line(dice, ending));
    }
    let mut text = text.into_bytes();
    text.truncate(text.len() - dice.below(400));
    if dice.one_in(3) {
        let place = dice.below(text.len());
        text[place] = dice.pick(&[0, b'"', b'(', 0xff, b'\n', b'!']);
    }
    text
}

#[test]
fn any_number_of_threads_makes_the_same_base() {
    for seed in 0..3 {
        let dice = &mut Dice::new(seed);
        for ending in ["metta", "csv", "tsv", "nt", "jsonl"] {
            let bytes = 70_000 + dice.below(600_000);
            let (first, second) = (text(dice, ending, bytes), text(dice, ending, bytes));
            // An edited content, one that shares most of its lines with the first.
            let edited = [&second[..second.len() / 3], &first[first.len() / 3..]].concat();
            let file = format!("/facts.{ending}");
            compare(&file, &[&first], usize::MAX, &format!("seed {seed}"));
            compare(&file, &[&first, &edited, &edited], usize::MAX, &format!("seed {seed}, edited"));
        }
    }
}

#[test]
fn a_load_of_several_commits_is_the_same_to_its_end_and_to_where_it_was_cancelled() {
    let dice = &mut Dice::new(5);
    let mut text = String::new();
    for number in 0..120_000 {
        match dice.below(5_000) {
            0 => text.push_str("(broken \"\\q\") "),
            1 => text.push_str("(rule $x $y) ; with variables\n"),
            _ => text.push_str(&format!("(edge n{} n{number} {})\n", dice.below(20_000), dice.below(90))),
        }
    }
    let whole = compare("/facts.metta", &[text.as_bytes()], usize::MAX, "whole");
    assert!(whole.reports.len() >= 4, "it is read in several parts");
    for ends_after in [1, 2] {
        let cancelled = compare("/facts.metta", &[text.as_bytes()], ends_after, "cancelled");
        assert!(cancelled.reports.last().is_some_and(|report| report.contains("cancelled")), "{:?}", cancelled.reports);
    }
}
