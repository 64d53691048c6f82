//! A real process is killed with SIGKILL while it commits. What it acknowledged is there.

use crate::folder::Folder;
use crate::history::{put, read, words};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use store::{Durability, Options, Store};

/// How often the process is killed; more often if asked for by `--ignored`.
const ROUNDS: u64 = 12;
const ROUNDS_LONG: u64 = 200;
const PLACE: &str = "STORE_KILL_PLACE";

fn options() -> Options {
    Options::default().memtable_bytes(30_000).part_bytes(50_000).first_level_runs(2, 4)
}

fn open(place: &Path) -> Store {
    if place.join("MANIFEST").exists() {
        Store::open(place, options()).unwrap()
    } else {
        Store::create(place, options()).unwrap()
    }
}

/// Not a test of its own: the process that is killed. Without the place it has nothing to do.
#[test]
fn child() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let store = open(Path::new(&place));
    let words = words(&store);
    for number in store.snapshot().sequence() + 1.. {
        let durability = if number % 50 == 0 { Durability::Fsync } else { Durability::Os };
        store.commit(&put(words, number.to_be_bytes(), vec![number as u8; 80]), durability).unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "\nacknowledged {number} .").and_then(|()| out.flush()).unwrap();
    }
}

#[test]
fn what_a_killed_process_acknowledged_is_there() {
    kill(ROUNDS);
}

#[test]
#[ignore = "takes minutes: `cargo test -p metroon-store kill -- --ignored`"]
fn what_a_process_killed_200_times_acknowledged_is_there() {
    kill(ROUNDS_LONG);
}

fn kill(rounds: u64) {
    let folder = Folder::new();
    let mut least = 0;
    for round in 0..rounds {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::child", "--nocapture", "--test-threads=1"])
            .env(PLACE, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let number = |line: String| line.strip_prefix("acknowledged ")?.strip_suffix(" .")?.parse::<u64>().ok();
        least = least.max(lines.by_ref().find_map(number).expect("the child commits"));
        std::thread::sleep(Duration::from_millis(20 + round * 37 % 150));
        child.kill().unwrap();
        least = least.max(lines.filter_map(number).max().unwrap_or(0));
        child.wait().unwrap();
        let snapshot = Store::open_read_only(folder.path()).unwrap();
        let found = read(&snapshot, snapshot.keyspace("words").unwrap()).unwrap();
        assert!(found.len() as u64 >= least, "round {round}: {} of {least}", found.len());
        let expected = (1..=found.len() as u64).map(|number| (number.to_be_bytes().to_vec(), vec![number as u8; 80]));
        assert!(found.into_iter().eq(expected), "round {round}: not a prefix");
        assert!(snapshot.verify().is_empty(), "round {round}");
    }
    assert!(least > 1000, "{least} batches");
}
