//! A real process is killed with SIGKILL while its threads append to real files. What it acknowledged is there.
//!
//! 1. The parent starts this very test program with [`child`] as the only test and a folder, or a file, in its environment.
//! 2. The child opens the journal; its threads append frames and say on standard output which were acknowledged.
//! 3. The parent kills it after a while that differs from round to round, opens the journal and looks.
//!
//! The child goes on with the same journal in every round, so torn tails are met and cut as well.

use crate::folder::Folder;
use journal::{Directory, Disk, Durability, FRAMES_AT, Journal, Options, Reader, SingleFile, verify};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

const ROUNDS: u64 = 50;
const THREADS: u64 = 3;
const PLACE: &str = "JOURNAL_KILL_PLACE";
/// What a journal in one file is called.
const TAPE: &str = "killed.tape";

fn options() -> Options {
    Options::default().segment_bytes(FRAMES_AT + 50_000)
}

/// What the frame says of itself: which thread made it, its count there, and filling that follows from both.
fn frame(thread: u64, count: u64) -> Vec<u8> {
    let filling = (thread * 7 + count) as u8;
    let mut bytes = [thread.to_le_bytes(), count.to_le_bytes()].concat();
    bytes.resize(16 + (count % 900) as usize, filling);
    bytes
}

/// The disk at a place: one file if the place is called so, which is made if it is not there.
fn disk(place: &Path) -> Arc<dyn Disk> {
    if !place.ends_with(TAPE) {
        return Arc::new(Directory::create(place).unwrap());
    }
    let disk = if place.exists() { SingleFile::open(place) } else { SingleFile::create(place) };
    Arc::new(disk.unwrap())
}

/// Not a test of its own: the process that is killed. Without the place it has nothing to do.
#[test]
fn child() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let disk = disk(Path::new(&place));
    let (journal, _) = Journal::open(disk, options()).unwrap();
    let begin = journal.progress().appended;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let journal = &journal;
            scope.spawn(move || append_for_ever(journal, thread, begin));
        }
    });
}

fn append_for_ever(journal: &Journal, thread: u64, begin: u64) {
    for count in begin.. {
        let durability = if count % 3 == 0 { Durability::Fsync } else { Durability::Os };
        let number = journal.append(&frame(thread, count), durability).unwrap().number;
        let mut out = std::io::stdout().lock();
        writeln!(out, "\nacknowledged {number} {thread} {count}").and_then(|()| out.flush()).unwrap();
    }
}

fn start(place: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child", "--nocapture", "--test-threads=1"])
        .env(PLACE, place)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The frames a child acknowledged until it was killed: number, thread, count.
fn acknowledged(mut child: Child, round: u64) -> Vec<[u64; 3]> {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut found: Vec<[u64; 3]> = lines.find_map(|line| parse(&line)).into_iter().collect();
    std::thread::sleep(Duration::from_micros(round * 1777 % 20_000));
    child.kill().unwrap();
    found.extend(lines.filter_map(|line| parse(&line)));
    child.wait().unwrap();
    found
}

fn parse(line: &str) -> Option<[u64; 3]> {
    // The last line may end in the middle of a number; then its end is missing.
    let mut words = line.strip_prefix("acknowledged ")?.split(' ').map(|word| word.parse().ok());
    let found = [words.next()??, words.next()??, words.next()??];
    words.next().is_none().then_some(found)
}

fn read(disk: Arc<dyn Disk>) -> Vec<Vec<u8>> {
    let mut reader = Reader::from_frame(disk, 0).unwrap();
    let mut found = Vec::new();
    while let Some(frame) = reader.read_next().unwrap() {
        found.push(frame.payload.to_vec());
    }
    found
}

#[test]
fn what_a_killed_process_acknowledged_is_there() {
    let folder = Folder::new();
    kill_and_look(folder.path());
}

#[test]
fn what_a_killed_process_acknowledged_is_there_in_one_file() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path()).unwrap();
    kill_and_look(&folder.path().join(TAPE));
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [TAPE], "nothing is left beside it");
}

fn kill_and_look(place: &Path) {
    let (mut frames, mut total) = (Vec::new(), 0);
    for round in 0..ROUNDS {
        let acknowledged = acknowledged(start(place), round);
        let before = std::mem::replace(&mut frames, read(disk(place)));
        assert!(frames.starts_with(&before), "round {round}: earlier frames changed");
        let torn = acknowledged.len().saturating_sub(1);
        for [number, thread, count] in &acknowledged[..torn] {
            assert_eq!(frames.get(*number as usize), Some(&frame(*thread, *count)), "round {round}: frame {number}");
        }
        total += acknowledged.len();
    }
    assert!(total as u64 > ROUNDS, "{total} frames were acknowledged in {ROUNDS} rounds");
    let (journal, _) = Journal::open(disk(place), options()).unwrap();
    assert_eq!(journal.progress().appended, frames.len() as u64);
    journal.close().unwrap();
    let report = verify(disk(place)).unwrap();
    assert!(report.is_sound() && report.warnings.is_empty(), "{report:?}");
}
