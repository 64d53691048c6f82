//! One process writes, and several others read meanwhile.

use crate::folder::Folder;
use crate::history::{put, read, words};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use store::{Durability, Options, Store};

const PLACE: &str = "STORE_READ_PLACE";
/// Where each reader leaves a file when it has looked once.
const SEEN: &str = "STORE_READ_SEEN";
const READERS: usize = 3;
/// After this many batches the readers have seen enough.
const BATCHES: u32 = 20_000;
/// How long the readers may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Not a test of its own: a process that reads, until it has seen all. Without the place it has nothing to do.
#[test]
fn child() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let (mut before, mut looks, began) = (0, 0, Instant::now());
    while before < BATCHES && began.elapsed() < PATIENCE {
        let snapshot = Store::open_read_only(Path::new(&place)).unwrap();
        let Some(keyspace) = snapshot.keyspace("words") else { continue };
        let found = read(&snapshot, keyspace).unwrap();
        let count = found.len() as u32;
        assert!(count >= before, "what was seen stays");
        assert!(found.into_iter().eq((0..count).map(|number| (number.to_be_bytes().to_vec(), vec![number as u8; 60]))));
        before = count;
        looks += 1;
        if looks == 1 {
            let seen = std::env::var_os(SEEN).expect("the writer waits for it");
            std::fs::write(Path::new(&seen).join(std::process::id().to_string()), "").unwrap();
        }
    }
    assert!(before == BATCHES && looks > 1, "{before} batches in {looks} looks");
}

#[test]
fn several_processes_read_what_one_writes() {
    let (folder, seen) = (Folder::new(), Folder::new());
    std::fs::create_dir_all(seen.path()).unwrap();
    let options = Options::default().memtable_bytes(100_000).part_bytes(200_000).first_level_runs(2, 4);
    let store = Store::create(folder.path(), options).unwrap();
    let keyspace = words(&store);
    let reader = || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processes::child", "--test-threads=1"])
            .env(PLACE, folder.path())
            .env(SEEN, seen.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let readers: Vec<Child> = (0..READERS).map(|_| reader()).collect();
    let began = Instant::now();
    for number in 0..BATCHES {
        // Each reader sees a part first, however late it begins.
        while number == BATCHES / 2
            && std::fs::read_dir(seen.path()).unwrap().count() < READERS
            && began.elapsed() < PATIENCE
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        store.commit(&put(keyspace, number.to_be_bytes(), [number as u8; 60]), Durability::Os).unwrap();
    }
    for mut reader in readers {
        assert!(reader.wait().unwrap().success());
    }
    store.close().unwrap();
}
