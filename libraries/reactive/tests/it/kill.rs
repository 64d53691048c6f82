//! A real process is killed while it commits. What it acknowledged is there, and the state is whole.
//!
//! The parent starts this very test program with [`child`] as the only test, reads which commits were acknowledged, kills it after a while
//! that differs from round to round, and opens the state.

use crate::board::{functions, sum};
use journal::{Directory, Durability};
use reactive::{Epoch, Options, State, Transaction};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// `METROON_KILL_ROUNDS` asks for another number.
const ROUNDS: u64 = 200;
const PLACE: &str = "REACTIVE_KILL_PLACE";

fn open(place: &Path) -> State {
    let options = Options::default().durability(Durability::Os).log_hashes(true);
    State::open(Arc::new(Directory::create(place).unwrap()), functions(), options).unwrap().0
}

/// Not a test of its own: the process that is killed. Without the place it has nothing to do.
#[test]
fn child() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let mut state = open(Path::new(&place));
    if state.epoch() == 0 {
        let mut transaction = Transaction::new();
        let source = transaction.create(&[0; 200]);
        let copy = transaction.derive(200, sum(), [source]);
        transaction.derive(200, sum(), [source, copy]);
        state.commit(&transaction).unwrap();
    }
    let source = state.pages().next().unwrap();
    loop {
        let mut transaction = Transaction::new();
        transaction.write(source, 0, &(state.epoch() + 1).to_le_bytes());
        let epoch = state.commit(&transaction).unwrap().epoch;
        let mut out = std::io::stdout().lock();
        writeln!(out, "\nacknowledged {epoch}.").and_then(|()| out.flush()).unwrap();
        if epoch.is_multiple_of(37) {
            state.checkpoint().unwrap();
        }
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

/// The last commit that a child acknowledged before it was killed.
fn acknowledged(mut child: Child, round: u64) -> Epoch {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut epochs = lines.filter_map(|line| line.strip_prefix("acknowledged ")?.strip_suffix('.')?.parse().ok());
    let first = epochs.next().expect("the child commits");
    std::thread::sleep(Duration::from_micros(round * 1777 % 20_000));
    child.kill().unwrap();
    let last = epochs.last().unwrap_or(first);
    child.wait().unwrap();
    last
}

#[test]
fn what_a_killed_process_acknowledged_is_there() {
    let rounds = std::env::var("METROON_KILL_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("killed-{}", std::process::id()));
    for round in 0..rounds {
        let last = acknowledged(start(&place), round);
        let state = open(&place);
        assert!(state.epoch() >= last, "round {round}: commit {} of {last}", state.epoch());
        let pages: Vec<_> = state.pages().map(|page| state.read(page).unwrap()).collect();
        assert_eq!(pages[0][..8], state.epoch().to_le_bytes(), "round {round}");
        assert_eq!(pages[0], pages[1], "round {round}: what is derived belongs to what it is derived from");
    }
    std::fs::remove_dir_all(place).unwrap();
}
