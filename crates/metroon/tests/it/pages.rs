//! States of pages of a program: on the disk and in memory alike, within what is permitted, and on the tape of a run.

use crate::services::{Folder, SECRET, printing, refuses_secrets, replayed, run, transaction_refuses};
use journal::{Disk, MemoryDisk};
use metroon::run::ProgramEnd;
use metroon::world::{
    PageChange, PageContent, PageKind, PageName, PageNumber, PageNumbers, PagePlace, PagesAnswer, PagesRequest,
    ServiceId, WorldError, ask_service,
};
use metroon::{MemoryWorld, Permissions, PermittedWorld, SystemWorld, Tape, World};
use reactive::{FunctionName, Functions, Inputs, Metadata, Options, State, Transaction};
use std::fs;
use std::sync::Arc;

fn opening(path: &str) -> PagesRequest {
    PagesRequest::Open { path: path.to_owned() }
}

/// Makes requests of one folder, and of states in memory.
struct Requests {
    word: u64,
    open: Vec<ServiceId>,
}

impl Requests {
    fn below(&mut self, most: u64) -> u64 {
        self.word = self.word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.word >> 33) % most
    }

    /// One that is open, if any is: most often the first.
    fn state(&mut self) -> ServiceId {
        let count = self.open.len() as u64;
        if count == 0 {
            return ServiceId(99);
        }
        let place = if self.below(3) > 0 { 0 } else { self.below(count) as usize };
        self.open[place]
    }

    fn page(&mut self) -> PageName {
        match self.below(4) {
            0 if self.below(3) == 0 => {
                PageName::At(PagePlace { slot: self.below(5) as u32, generation: self.below(4) as u32 })
            }
            _ => PageName::Named(format!("p{}", self.below(3))),
        }
    }

    fn numbers(&mut self) -> Vec<PageNumber> {
        let number = |requests: &mut Self| match requests.below(12) {
            0 if requests.below(4) == 0 => PageNumber::from(2.5),
            1 if requests.below(4) == 0 => PageNumber::Int(300),
            _ => PageNumber::Int(i128::from(requests.below(3))),
        };
        (0..self.below(3)).map(|_| number(self)).collect()
    }

    fn change(&mut self) -> PageChange {
        match self.below(16) {
            0..=2 => {
                let name = format!("p{}", self.below(4));
                let kind = [PageKind::U1, PageKind::I2, PageKind::F8][self.below(3) as usize];
                let content = match self.below(2) {
                    0 => PageContent::Zeros(1 + self.below(5)),
                    _ => PageContent::Numbers(self.numbers()),
                };
                PageChange::Create { name, kind, content }
            }
            3 => PageChange::Delete { page: self.page() },
            _ => PageChange::Write { page: self.page(), from: self.below(2), numbers: self.numbers() },
        }
    }

    fn next(&mut self, path: &str) -> PagesRequest {
        let kind = self.below(24);
        let state = self.state();
        match kind {
            0 => opening(path),
            1 if self.below(3) == 0 => PagesRequest::New,
            1 if self.below(2) == 0 => PagesRequest::Snapshot { state },
            3 if self.below(3) == 0 => PagesRequest::Fork { state, epoch: self.below(30) },
            _ if self.open.is_empty() => opening(path),
            _ if self.open.len() > 6 => PagesRequest::Close { state },
            4 if self.below(4) == 0 => PagesRequest::Close { state },
            5 => PagesRequest::Checkpoint { state },
            6 => PagesRequest::Epoch { state },
            7 | 8 => PagesRequest::List { state },
            9 | 10 => PagesRequest::Changes { state, since: self.below(30) },
            11 => PagesRequest::History { state, page: self.page() },
            12..=15 => {
                let most = if self.below(2) == 0 { u64::MAX } else { self.below(3) };
                PagesRequest::Read { state, page: self.page(), from: self.below(3), most }
            }
            _ => {
                let changes = (0..self.below(3)).map(|_| self.change()).collect();
                let cause = (self.below(6) == 0).then(|| self.below(12));
                PagesRequest::Commit { state, changes, source: "a test".to_owned(), cause }
            }
        }
    }
}

/// Some thousand requests, and what each came to, as text.
fn played(world: &mut dyn World, path: &str, seed: u64) -> Vec<String> {
    let mut seen = Vec::new();
    let mut requests = Requests { word: seed, open: Vec::new() };
    for _ in 0..2000 {
        let request = requests.next(path);
        let answer = ask_service(world, request.clone());
        match (&request, &answer) {
            (PagesRequest::Open { .. }, Ok(PagesAnswer::Opened { state, .. })) => requests.open.insert(0, *state),
            (_, Ok(PagesAnswer::Opened { state, .. })) => requests.open.push(*state),
            (PagesRequest::Close { state }, Ok(_)) => requests.open.retain(|other| other != state),
            _ => {}
        }
        // The messages of the disk say more.
        let shown = answer.map_or_else(|_| "refused".to_owned(), |answer| format!("{answer:?}"));
        seen.push(format!("{request:?}: {shown}"));
    }
    seen
}

#[test]
fn a_state_in_memory_is_like_one_on_the_disk() {
    for seed in 1..4 {
        let folder = Folder::new(&format!("pages-alike-{seed}"));
        let on_disk = played(&mut SystemWorld::default(), &folder.path("state"), seed);
        let in_memory = played(&mut MemoryWorld::default(), &folder.path("state"), seed);
        let first = on_disk.iter().zip(&in_memory).position(|(here, there)| here != there);
        assert_eq!(first.map(|at| (at, &on_disk[at], &in_memory[at])), None);
        let count = |what: &str| on_disk.iter().filter(|seen| seen.contains(what)).count();
        let wanted = ["Pages([Listed", "Numbers(PageN", "Changes([", "Versions([(", "refused", "Done", "Deleted"];
        let counts = wanted.map(count);
        assert!(counts.iter().all(|count| *count > 4), "{counts:?}");
    }
}

#[test]
fn what_a_program_keeps_is_there_for_the_next_one_and_a_replay_needs_no_state() {
    let folder = Folder::new("pages-replay");
    let path = folder.path("sheet");
    let (world, _) = printing();
    let write = format!(
        "!(import! &self pages) !(bind! &s (pages-open! \"{path}\"))
         !(pages-commit! &s ((create \"net\" f8 (100.0 250.5)) (create \"gone\" u1 3) (source \"prices\")))
         !(pages-commit! &s ((write \"net\" 1 (1)) (delete \"gone\") (cause 1)))"
    );
    assert!(matches!(run(world, None, &write), (ProgramEnd::Finished, Ok(()))));

    let read = format!(
        "!(import! &self pages) !(bind! &s (pages-open! \"{path}\")) !(pages-commit! &s ((write \"net\" 0 (7.25))))
         !(pages-read! &s \"net\") !(collapse (pages-history! &s \"net\")) !(collapse (pages-changes! &s 1))
         !(bind! &then (pages-fork! &s 1)) !(collapse (pages-list! &then)) !(pages-checkpoint! &s)
         !(add-atom &self (net (pages-read! &s \"net\")))"
    );
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let (world, lines) = printing();
    let tape = Tape::on_disk(Arc::clone(&disk)).expect("a tape is made");
    assert!(matches!(run(world, Some(tape), &read), (ProgramEnd::Finished, Ok(()))));
    let recorded = lines.lock().expect("nobody panics").clone();
    let expected = [
        "[()]",
        "[()]",
        "[3]",
        "[(7.25 1.0)]",
        "[((1 (100.0 250.5)) (2 (100.0 1.0)) (3 (7.25 1.0)))]",
        "[((written \"net\" (page 0)) (deleted (page 1)))]",
        "[()]",
        "[((\"net\" (page 0) f8 (2) 1) (\"gone\" (page 1) u1 (3) 1))]",
        "[()]",
        "[()]",
    ];
    assert_eq!(recorded, expected);

    fs::remove_dir_all(&path).expect("it is there");
    assert_eq!(replayed(disk), recorded);
    assert!(!fs::exists(&path).expect("it can be looked for"), "a replay makes no state");
}

#[test]
fn a_state_lies_where_a_program_may_read_and_write() {
    let folder = Folder::new("pages-permitted");
    for place in ["inside", "outside", "read"] {
        fs::create_dir_all(folder.path(place)).expect("a folder can be made");
    }
    std::os::unix::fs::symlink(folder.path("outside"), folder.path("inside/link")).expect("a link is made");
    let permissions =
        Permissions::nothing().read(folder.path("inside")).and_then(|some| some.write(folder.path("inside")));
    let permissions = permissions.and_then(|some| some.read(folder.path("read"))).expect("the folders are there");
    let mut world = PermittedWorld::new(SystemWorld::default(), permissions);
    for path in ["outside/state", "inside/link/state", "inside/../outside/state", "read/state"] {
        let path = folder.path(path);
        let refused = ask_service(&mut world, opening(&path));
        assert!(
            matches!(&refused, Err(WorldError::NotPermitted { permission, .. }) if *permission == format!("read={path},write={path}")),
            "{refused:?}"
        );
    }
    assert!(!fs::exists(folder.path("outside/state")).expect("it can be looked for"));
    let Ok(PagesAnswer::Opened { state, .. }) = ask_service(&mut world, opening(&folder.path("inside/state"))) else {
        panic!("it is permitted");
    };
    let change = PageChange::Create { name: "a".to_owned(), kind: PageKind::U1, content: PageContent::Zeros(1) };
    let commit = PagesRequest::Commit { state, changes: vec![change], source: String::new(), cause: None };
    assert_eq!(ask_service(&mut world, commit), Ok(PagesAnswer::Epoch(1)));
    let mut nobody = PermittedWorld::new(SystemWorld::default(), Permissions::nothing());
    assert!(ask_service(&mut nobody, PagesRequest::New).is_ok(), "what is in memory reaches nothing");
}

#[test]
fn secrets_do_not_come_to_a_tape_by_pages() {
    let bytes: Vec<String> = SECRET.bytes().map(|byte| byte.to_string()).collect();
    let texts = [
        format!("!(pages-commit! &s ((create \"{SECRET}\" u1 1)))"),
        format!("!(pages-commit! &s ((source \"{SECRET}\")))"),
        format!("!(pages-read! &s \"{SECRET}\")"),
        format!("!(pages-commit! &s ((create \"a\" u1 ({})))) !(pages-read! &s \"a\")", bytes.join(" ")),
    ];
    refuses_secrets("pages", "(pages-open! \"s\")", &texts);
}

#[test]
fn a_transaction_refuses_to_change_a_state() {
    let change = "(pages-commit! &s ((create \"a\" u1 1)))";
    assert_eq!(transaction_refuses("pages", "(pages-new!)", change, "(pages-epoch! &s)"), "0");
}

#[test]
fn what_opening_a_state_has_done_without_is_said() {
    let folder = Folder::new("pages-warnings");
    let mut state = State::create_in(folder.path("state"), Functions::new(), Options::default());
    let mut transaction = Transaction::new();
    transaction.create(&[7]);
    state.commit(&transaction).expect("it is made");
    state.checkpoint().expect("it is written");
    drop(state);
    let names =
        fs::read_dir(folder.path("state")).expect("it is there").map(|entry| entry.expect("it is there").path());
    let checkpoint =
        names.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "pages")).expect("there is one");
    fs::write(checkpoint, "something else").expect("it is written");
    let mut world = SystemWorld::default();
    let Ok(PagesAnswer::Opened { state, warnings }) = ask_service(&mut world, opening(&folder.path("state"))) else {
        panic!("the log says all");
    };
    assert!(warnings.len() == 1 && warnings[0].contains("is not used"), "{warnings:?}");
    let read =
        PagesRequest::Read { state, page: PageName::At(PagePlace { slot: 0, generation: 0 }), from: 0, most: u64::MAX };
    let numbers = PageNumbers { kind: PageKind::U1, bytes: vec![7] };
    assert_eq!(ask_service(&mut world, read), Ok(PagesAnswer::Numbers(numbers)));
}

#[test]
fn snapshots_do_not_let_pages_grow_without_end() {
    for world in [&mut SystemWorld::default() as &mut dyn World, &mut MemoryWorld::default()] {
        let Ok(PagesAnswer::Opened { state, .. }) = ask_service(world, PagesRequest::New) else { panic!("it is made") };
        let content = PageContent::Zeros(200 << 20);
        let change = PageChange::Create { name: "a".to_owned(), kind: PageKind::U1, content };
        let commit = PagesRequest::Commit { state, changes: vec![change], source: String::new(), cause: None };
        assert_eq!(ask_service(world, commit), Ok(PagesAnswer::Epoch(1)));
        let taken = (0..10).map_while(|_| ask_service(world, PagesRequest::Snapshot { state }).ok()).count();
        assert_eq!(taken, 4);
        let refused = ask_service(world, PagesRequest::Fork { state, epoch: 1 });
        assert!(format!("{refused:?}").contains("pages-close!"), "{refused:?}");
    }
}

#[test]
fn a_state_belongs_to_one_opening_at_a_time_and_a_derived_page_to_the_program_that_has_its_function() {
    let folder = Folder::new("pages-others");
    let mut functions = Functions::new();
    let total = FunctionName::new("total", 1);
    functions.add(total.clone(), |_: &Inputs<'_>, page: &mut [u8]| {
        page.fill(1);
        Ok(())
    });
    let mut state = State::create_in(folder.path("derived"), functions, Options::default());
    let mut transaction = Transaction::new();
    let cell = transaction.create(&2.5_f64.to_le_bytes());
    let kept = b"{\"dtype\": \"<f8\", \"shape\": [1]}".to_vec();
    transaction.describe(cell, Metadata { name: "cell".to_owned(), bytes: kept });
    state.commit(&transaction).expect("it is made");
    let reason = |folder: &str| {
        let answer = ask_service(&mut SystemWorld::default(), opening(folder));
        answer.map_or_else(|error| error.to_string(), |_| "opened".to_owned())
    };
    assert!(reason(&folder.path("derived")).contains("not free"), "{}", reason(&folder.path("derived")));
    drop(state);
    let mut world = SystemWorld::default();
    let Ok(PagesAnswer::Opened { state, .. }) = ask_service(&mut world, opening(&folder.path("derived"))) else {
        panic!("nobody has it");
    };
    let read = PagesRequest::Read { state, page: PageName::Named("cell".to_owned()), from: 0, most: 9 };
    let Ok(PagesAnswer::Numbers(numbers)) = ask_service(&mut world, read) else { panic!("it is there") };
    assert_eq!(numbers.iter().collect::<Vec<_>>(), [PageNumber::from(2.5)]);
    drop(world);

    let mut functions = Functions::new();
    functions.add(total.clone(), |_: &Inputs<'_>, _: &mut [u8]| Ok(()));
    let (mut state, _) = State::open_in(folder.path("derived"), functions, Options::default()).expect("it is closed");
    let cell = state.find("cell").expect("it is there");
    let mut transaction = Transaction::new();
    transaction.derive(8, total, [cell]);
    state.commit(&transaction).expect("it is made");
    drop(state);
    let said = reason(&folder.path("derived"));
    assert!(said.contains("total version 1") && said.contains("no program in MeTTa has"), "{said}");
}
