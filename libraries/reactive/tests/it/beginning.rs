//! A state in a folder asks nothing of the disk before its first commit, and that commit makes all of it or nothing.

use crate::board::{create, functions, write};
use journal::Durability;
use reactive::{CommitError, OpenError, Options, State, Transaction};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// `METROON_KILL_ROUNDS` asks for another number.
const ROUNDS: u64 = 200;
const PLACE: &str = "REACTIVE_BEGINNING_PLACE";

fn place(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()))
}

fn created(folder: &Path) -> State {
    State::create_in(folder, functions(), Options::default())
}

#[test]
fn nothing_is_there_before_the_first_commit() {
    let folder = place("beginning").join("inner");
    let mut state = created(&folder);
    state.checkpoint().unwrap();
    state.sync(Durability::Fsync).unwrap();
    assert!(state.verify().unwrap().is_sound());
    assert!(matches!(state.history(reactive::PageId::new(0, 0)), Err(OpenError::NoLog)));
    assert_eq!(state.fork(0).unwrap().epoch(), 0);
    assert!(!folder.parent().unwrap().exists());
    let page = create(&mut state, b"begun");
    state.checkpoint().unwrap();
    write(&mut state, page, b"b");
    assert_eq!(state.history(page).unwrap().len(), 1);
    drop(state);
    let (state, warnings) = State::open_in(&folder, functions(), Options::default()).unwrap();
    assert!(warnings.is_empty());
    assert_eq!((state.epoch(), state.read(page)), (1, Some(&b"begun"[..])));
    std::fs::remove_dir_all(folder.parent().unwrap()).unwrap();
}

#[test]
fn a_first_commit_that_finds_the_folder_taken_is_refused_and_can_be_made_later() {
    let folder = place("taken");
    let (mut holder, mut other) = (created(&folder), created(&folder));
    holder.claim().unwrap();
    holder.claim().unwrap();
    let mut transaction = Transaction::new();
    transaction.create(b"one");
    let said = other.commit(&transaction).unwrap_err();
    assert!(matches!(&said, CommitError::Log(_)) && said.to_string().contains("holds the lock"), "{said}");
    assert_eq!((other.epoch(), other.pages().count()), (0, 0));
    // The first one never commits.
    drop(holder);
    assert_eq!(other.commit(&transaction).unwrap().epoch, 1);
    drop(other);
    let said = created(&folder).commit(&transaction).unwrap_err().to_string();
    assert!(said.contains("holds a state already"), "{said}");
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "a file").unwrap();
    let said = created(&folder).commit(&transaction).unwrap_err().to_string();
    assert!(said.contains("cannot be used"), "{said}");
    std::fs::remove_file(folder).unwrap();
}

/// Not a test of its own: the process that is killed. Without the place it has nothing to do.
#[test]
fn child() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let say = |word: &str| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "\n{word}").and_then(|()| out.flush()).unwrap();
    };
    let mut state = created(Path::new(&place));
    say("made");
    create(&mut state, b"begun");
    say("committed");
    std::thread::sleep(Duration::from_secs(60));
}

/// Whether the child acknowledged its commit before it was killed.
fn killed(place: &Path, round: u64) -> bool {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "beginning::child", "--nocapture", "--test-threads=1"])
        .env(PLACE, place)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut words = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(words.any(|word| word == "made"), "the child makes a state");
    std::thread::sleep(Duration::from_micros(round * 397 % 8_000));
    child.kill().unwrap();
    let is_committed = words.any(|word| word == "committed");
    child.wait().unwrap();
    is_committed
}

#[test]
fn a_process_that_is_killed_around_its_first_commit_leaves_nothing_or_a_state() {
    let rounds = std::env::var("METROON_KILL_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let (mut before, mut after) = (0, 0);
    for round in 0..rounds {
        let folder = place(&format!("begun-{round}"));
        let is_committed = killed(&folder, round);
        let (mut state, _) = State::open_in(&folder, functions(), Options::default()).unwrap();
        assert!(state.epoch() >= u64::from(is_committed) && state.epoch() <= 1, "round {round}");
        assert_eq!(state.pages().count() as u64, state.epoch(), "round {round}");
        if state.epoch() == 0 {
            create(&mut state, b"begun");
        }
        let page = state.pages().next().unwrap();
        assert_eq!(state.read(page), Some(&b"begun"[..]), "round {round}");
        assert!(state.verify().unwrap().is_sound(), "round {round}");
        *if is_committed { &mut after } else { &mut before } += 1;
        drop(state);
        std::fs::remove_dir_all(folder).unwrap();
    }
    assert!(before > 0, "no round killed the child before its commit was acknowledged ({after} after)");
}
