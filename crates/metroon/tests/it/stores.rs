//! Stores of a program: on the disk and in memory alike, within what is permitted, and on the tape of a run.

use crate::services::{Folder, SECRET, printing, refuses_secrets, replayed, run, transaction_refuses};
use journal::{Disk, MemoryDisk};
use metroon::run::ProgramEnd;
use metroon::world::{ServiceId, StoreAnswer, StoreRequest, WorldError, ask_service};
use metroon::{MemoryWorld, Permissions, PermittedWorld, SystemWorld, Tape, World};
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

fn opening(path: &str, for_writing: bool) -> StoreRequest {
    StoreRequest::Open { path: path.to_owned(), for_writing }
}

/// Makes requests of one store.
struct Requests {
    word: u64,
    open: Vec<ServiceId>,
}

impl Requests {
    fn below(&mut self, most: u64) -> u64 {
        self.word = self.word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.word >> 33) % most
    }

    /// One that is open, if any is.
    fn store(&mut self) -> ServiceId {
        let count = self.open.len() as u64;
        if count == 0 {
            return ServiceId(99);
        }
        let place = self.below(count) as usize;
        self.open[place]
    }

    fn key(&mut self) -> Vec<u8> {
        vec![b'k', self.below(40) as u8]
    }

    fn next(&mut self, path: &str) -> StoreRequest {
        let kind = self.below(11);
        let store = self.store();
        match kind {
            0 => opening(path, self.below(2) == 0),
            1 => StoreRequest::Snapshot { store },
            2 => StoreRequest::Close { store },
            3..=5 => {
                let change =
                    |count: u64, key: Vec<u8>| (key, (!count.is_multiple_of(4)).then(|| count.to_le_bytes().to_vec()));
                let changes = (0..self.below(5)).map(|count| change(count, self.key())).collect();
                StoreRequest::Commit { store, changes }
            }
            6..=8 => StoreRequest::Get { store, key: self.key() },
            _ => {
                let from = (self.below(3) > 0).then(|| self.key());
                let to = (self.below(5) > 0).then(|| self.key());
                StoreRequest::Range { store, from, to, is_backward: self.below(2) == 0, most: self.below(30) }
            }
        }
    }
}

/// Some thousand requests of one store, and what each came to, as text.
fn played(world: &mut dyn World, path: &str) -> Vec<String> {
    let mut seen = Vec::new();
    let mut requests = Requests { word: 11, open: Vec::new() };
    for _ in 0..2000 {
        let request = requests.next(path);
        let answer = ask_service(world, request.clone());
        match (&request, &answer) {
            (_, Ok(StoreAnswer::Opened(store))) => requests.open.push(*store),
            (StoreRequest::Close { store }, Ok(_)) => requests.open.retain(|other| other != store),
            _ => {}
        }
        // The messages of the disk say more.
        seen.push(answer.map_or_else(|_| "refused".to_owned(), |answer| format!("{answer:?}")));
    }
    seen
}

#[test]
fn a_store_in_memory_is_like_one_on_the_disk() {
    let folder = Folder::new("stores-alike");
    let on_disk = played(&mut SystemWorld::default(), &folder.path("store"));
    let in_memory = played(&mut MemoryWorld::default(), "store");
    let first = on_disk.iter().zip(&in_memory).position(|(here, there)| here != there);
    assert_eq!(first.map(|at| (at, &on_disk[at], &in_memory[at])), None);
    let count = |what: &str| on_disk.iter().filter(|seen| seen.contains(what)).count();
    let counts = ["Entries([(", "Value(Some", "refused", "Done"].map(count);
    assert!(counts.iter().all(|count| *count > 40), "{counts:?}");
}

#[test]
fn what_a_program_stores_is_there_for_the_next_one_and_a_replay_needs_no_store() {
    let folder = Folder::new("stores-replay");
    let path = folder.path("towns");
    let (world, _) = printing();
    let write = format!(
        "!(import! &self store) !(bind! &s (store-open! \"{path}\"))
         !(store-batch! &s ((put Oslo 717710) (put (founded Oslo) 1048) (put gone 1))) !(store-delete! &s gone)"
    );
    assert!(matches!(run(world, None, &write), (ProgramEnd::Finished, Ok(()))));

    let read = format!(
        "!(import! &self store) !(bind! &s (store-open! \"{path}\")) !(store-put! &s Hamar 32688)
         !(collapse (store-range! &s ())) !(store-get! &s Oslo) !(add-atom &self (oslo (store-get! &s Oslo)))"
    );
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let (world, lines) = printing();
    let tape = Tape::on_disk(Arc::clone(&disk)).expect("a tape is made");
    assert!(matches!(run(world, Some(tape), &read), (ProgramEnd::Finished, Ok(()))));
    let recorded = lines.lock().expect("nobody panics").clone();
    assert!(recorded.contains(&"[((Hamar 32688) (Oslo 717710) ((founded Oslo) 1048))]".to_owned()), "{recorded:#?}");

    fs::remove_dir_all(&path).expect("it is there");
    assert_eq!(replayed(disk), recorded);
    assert!(!fs::exists(&path).expect("it can be looked for"), "a replay makes no store");
}

#[test]
fn a_store_lies_where_a_program_may_read_and_write() {
    let folder = Folder::new("stores-permitted");
    for place in ["inside", "outside", "read"] {
        fs::create_dir_all(folder.path(place)).expect("a folder can be made");
    }
    symlink(folder.path("outside"), folder.path("inside/link")).expect("a link is made");
    symlink("store", folder.path("inside/near")).expect("a link is made");
    let permissions =
        Permissions::nothing().read(folder.path("inside")).and_then(|some| some.write(folder.path("inside")));
    let permissions = permissions.and_then(|some| some.read(folder.path("read"))).expect("the folders are there");
    ask_service(&mut SystemWorld::default(), opening(&folder.path("read/store"), true)).expect("it is made");
    let mut world = PermittedWorld::new(SystemWorld::default(), permissions);
    for path in ["outside/store", "inside/link/store", "inside/../outside/store", "read/store", "read/new"] {
        let path = folder.path(path);
        let refused = ask_service(&mut world, opening(&path, true));
        assert!(
            matches!(&refused, Err(WorldError::NotPermitted { permission, .. }) if *permission == format!("read={path},write={path}")),
            "{refused:?}"
        );
    }
    let refused = ask_service(&mut world, opening(&folder.path("outside/store"), false));
    assert!(matches!(&refused, Err(WorldError::NotPermitted { .. })), "{refused:?}");
    assert!(!fs::exists(folder.path("outside/store")).expect("it can be looked for"));

    assert!(ask_service(&mut world, opening(&folder.path("read/store"), false)).is_ok());
    let Ok(StoreAnswer::Opened(store)) = ask_service(&mut world, opening(&folder.path("inside/store"), true)) else {
        panic!("it is permitted");
    };
    let changes = vec![(b"k".to_vec(), Some(b"v".to_vec()))];
    assert_eq!(ask_service(&mut world, StoreRequest::Commit { store, changes }), Ok(StoreAnswer::Done));
    assert!(ask_service(&mut world, opening(&folder.path("inside/near"), false)).is_ok(), "a link may lead within");
    let mut nobody = PermittedWorld::new(SystemWorld::default(), Permissions::nothing());
    let nothing = ask_service(&mut nobody, opening(&folder.path("inside/store"), false));
    assert!(matches!(&nothing, Err(WorldError::NotPermitted { .. })), "{nothing:?}");
}

#[test]
fn secrets_do_not_come_to_a_tape_by_a_store() {
    let texts = [
        format!("!(store-put! &s token \"{SECRET}\")"),
        format!("!(store-get! &s \"{SECRET}\")"),
        format!("!(store-batch! &s ((put 1 2) (put \"{SECRET}\" 1)))"),
        // It is printed with an escape before the token.
        "!(store-put! &s token \"Bearer\\tabcdefghijklmnop1234\")".to_owned(),
    ];
    refuses_secrets("store", "(store-open! \"s\")", &texts);
}

#[test]
fn a_transaction_refuses_to_change_a_store() {
    let found =
        transaction_refuses("store", "(store-open! \"s\")", "(store-put! &s a 1)", "(collapse (store-get! &s a))");
    assert_eq!(found, "()");
}

#[test]
fn a_store_too_many_is_refused_before_its_folder_is_made() {
    let folder = Folder::new("stores-open-max");
    let mut world = SystemWorld::default();
    let Ok(StoreAnswer::Opened(store)) = ask_service(&mut world, opening(&folder.path("one"), true)) else {
        panic!("it is made");
    };
    for _ in 1..256 {
        assert!(ask_service(&mut world, StoreRequest::Snapshot { store }).is_ok());
    }
    let refused = ask_service(&mut world, opening(&folder.path("two"), true));
    assert!(format!("{refused:?}").contains("close one with store-close!"), "{refused:?}");
    assert!(!std::path::Path::new(&folder.path("two")).exists());
}
