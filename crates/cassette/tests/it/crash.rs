//! Programs that are killed, power that fails, disks that refuse: what was acknowledged is there, and what was there stays.

use crate::exchanges::{Folder, of_the_report, with_everything};
use cassette::{Cassette, Exchange, KeyScheme, Note, Recorder, RecorderOptions, write_cassette_on};
use journal::Durability;
use journal::simulated::{Fate, Fault, SimulatedDisk};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How many rounds of SIGKILL; `METROON_STRESS_ROUNDS` asks for more.
const ROUNDS: u64 = 200;
/// Where the child records, if this is the child.
const CHILD: &str = "METROON_CASSETTE_CHILD";

fn rounds() -> u64 {
    std::env::var("METROON_STRESS_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS)
}

/// Records until it is killed, and says what was acknowledged. Does nothing unless a parent asks for it.
#[test]
fn child() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let recorder = Recorder::open(path, RecorderOptions::default().keep_secrets()).unwrap();
    loop {
        let number = recorder.start();
        let exchange = Exchange { number, ..of_the_report(number) };
        recorder.record_started(exchange).unwrap();
        recorder.sync(Durability::Os).unwrap();
        writeln!(std::io::stdout(), "acknowledged {number}").unwrap();
    }
}

#[test]
fn what_was_acknowledged_survives_sigkill() {
    let folder = Folder::new();
    let path = folder.join("killed.cassette");
    let mut before = 0;
    for round in 0..rounds() {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["crash::child", "--exact", "--nocapture", "--test-threads=1"])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let reading = std::thread::spawn(move || {
            let acknowledged = lines.map_while(Result::ok).filter_map(|line| {
                let (_, number) = line.split_once("acknowledged ")?;
                number.parse::<u64>().ok()
            });
            acknowledged.last()
        });
        std::thread::sleep(Duration::from_millis(20 + round * 7 % 40));
        child.kill().unwrap();
        child.wait().unwrap();
        let Some(acknowledged) = reading.join().unwrap() else { continue };
        let cassette = Cassette::open(&path).unwrap();
        assert!(cassette.len() as u64 > acknowledged && acknowledged >= before, "{} {acknowledged}", cassette.len());
        before = acknowledged;
        if round % 5 == 4 {
            Recorder::open(&path, RecorderOptions::default().keep_secrets()).unwrap().finish().unwrap();
        }
    }
    let cassette = Cassette::open(&path).unwrap();
    assert!(before > 0);
    for (exchange, number) in cassette.exchanges().zip(0..) {
        assert_eq!(exchange.unwrap(), of_the_report(number));
    }
}

/// Some that differ from the others in everything.
fn previous() -> Vec<Exchange<'static>> {
    vec![with_everything(0), of_the_report(1)]
}

fn next() -> Vec<Exchange<'static>> {
    (0..20).map(of_the_report).collect()
}

fn save(disk: &SimulatedDisk, exchanges: &[Exchange<'_>]) -> Result<(), cassette::SealError> {
    write_cassette_on(disk, "a.cassette", exchanges, &[Note::new("name", "a")], KeyScheme::target())
}

fn found(disk: &SimulatedDisk) -> Vec<Exchange<'static>> {
    let cassette = Cassette::from_bytes(disk.contents("a.cassette").unwrap(), "a.cassette").unwrap();
    cassette.verify().unwrap();
    cassette.exchanges().map(|exchange| exchange.unwrap().into_owned()).collect()
}

fn with_previous() -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    save(&disk, &previous()).unwrap();
    disk
}

#[test]
fn crash_during_save_keeps_previous() {
    let operations = {
        let disk = with_previous();
        let before = disk.operations();
        save(&disk, &next()).unwrap();
        before..disk.operations()
    };
    let mut outcomes = [0, 0];
    for operation in operations {
        for (seed, fate) in Fate::ALL.into_iter().enumerate() {
            let disk = with_previous();
            disk.schedule(operation, Fault::PowerLoss);
            let saved = save(&disk, &next()).is_ok();
            let found = found(&disk.power_loss(fate, seed as u64));
            assert!(found == previous() || found == next(), "{operation} {fate:?}");
            assert!(!saved || found == next(), "{operation} {fate:?}");
            outcomes[usize::from(found == next())] += 1;
        }
    }
    assert!(outcomes.into_iter().all(|count| count > 0), "{outcomes:?}");
}

#[test]
fn a_disk_that_refuses_keeps_previous() {
    let operations = {
        let disk = with_previous();
        let before = disk.operations();
        save(&disk, &next()).unwrap();
        before..disk.operations()
    };
    for (operation, fault) in operations.flat_map(|operation| [(operation, Fault::Broken), (operation, Fault::Full)]) {
        let disk = with_previous();
        disk.schedule(operation, fault);
        let saved = save(&disk, &next());
        let found = found(&disk);
        assert!(found == previous() || found == next(), "{operation}");
        assert!(saved.is_err() || found == next(), "{operation}");
    }
}

#[test]
fn short_writes_are_completed() {
    let disk = with_previous();
    disk.shorten_writes(3);
    save(&disk, &next()).unwrap();
    assert_eq!(found(&disk), next());
}

/// Whoever may write to the folder could lead the new file elsewhere.
#[test]
fn a_link_in_the_place_of_the_new_file_is_not_followed() {
    let folder = Folder::new();
    std::fs::write(folder.join("victim"), "mine").unwrap();
    let recorder = Recorder::open(folder.join("a.cassette"), RecorderOptions::default()).unwrap();
    recorder.record(of_the_report(0)).unwrap();
    std::os::unix::fs::symlink(folder.join("victim"), folder.join(".a.cassette.sealing")).unwrap();
    recorder.finish().unwrap();
    assert_eq!(folder.names(), ["a.cassette", "victim"]);
    assert_eq!(std::fs::read(folder.join("victim")).unwrap(), b"mine");
    assert_eq!(Cassette::open(folder.join("a.cassette")).unwrap().len(), 1);
}
