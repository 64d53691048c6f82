//! What an earlier system of this kind got wrong, and what no other file is about.

use crate::board::{create, derive, functions, logged, lowest_bit, state, sum, write};
use journal::simulated::SimulatedDisk;
use journal::{Access, Directory, Disk, Durability, FRAMES_AT, MemoryDisk};
use reactive::{Filter, Functions, Location, Mask, OpenError, Options, State, Transaction};
use schedule::Schedule;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const SEGMENT: &str = "00000000000000000000.segment";

/// The bytes of a file.
fn contents(disk: &dyn Disk, name: &str) -> Vec<u8> {
    let file = disk.open(name, Access::Read).unwrap();
    let mut bytes = vec![0; file.length().unwrap() as usize];
    file.read_full(0, &mut bytes).unwrap();
    bytes
}

/// Its run lengths went up to 255 with the top bit as a flag, so that longer runs lost 128 bytes.
#[test]
fn rle_runs_over_127() {
    let (mut state, disk) = logged();
    let page = create(&mut state, &vec![0; 100_000]);
    let mut expected = vec![0_u8; 100_000];
    // Every length up to a few blocks, and then every length of a prime number of bytes.
    for length in (1..400).chain((401..=100_000).step_by(997)).chain([65_535, 65_536, 65_537, 100_000]) {
        let value = (length % 255) as u8 + 1;
        let byte = if expected[0] == value { value ^ 0xff } else { value };
        expected[..length].fill(byte);
        write(&mut state, page, &expected[..length]);
    }
    drop(state);
    let (opened, _) = State::open(disk, functions(), Options::default()).unwrap();
    assert!(opened.read(page) == Some(&expected[..]));
}

/// Its log had no lengths and no checksums: half a frame was an error, or the end of everything in silence.
#[test]
fn torn_tail_every_offset() {
    let disk = Arc::new(SimulatedDisk::new());
    let options = || Options::default().durability(Durability::Os).log_hashes(true);
    let mut state = State::create(disk.clone(), functions(), options());
    let page = create(&mut state, &[0; 20]);
    let total = derive(&mut state, 20, sum(), &[page, page]);
    let mut ends = Vec::new();
    for value in 1..5 {
        ends.push((disk.contents(SEGMENT).unwrap().len(), state.epoch()));
        write(&mut state, page, &[value; 13]);
    }
    drop(state);
    let whole = disk.contents(SEGMENT).unwrap();
    for length in ends[0].0..=whole.len() {
        let torn = Arc::new(SimulatedDisk::new());
        torn.put(SEGMENT, &whole[..length]);
        let (mut opened, warnings) = State::open(torn, functions(), options()).unwrap();
        let last = ends.iter().rev().find(|(end, _)| *end <= length).unwrap();
        let epoch = if length == whole.len() { 6 } else { last.1 };
        assert_eq!(opened.epoch(), epoch, "{length}");
        let is_torn = length < whole.len() && length != last.0;
        assert_eq!(warnings.len(), usize::from(is_torn), "{length}: {warnings:?}");
        let held = opened.read(page).unwrap().to_vec();
        assert_eq!(opened.read(total).unwrap()[0], held[0].wrapping_mul(2), "{length}");
        assert_eq!(write(&mut opened, page, &[99]).epoch, epoch + 1);
    }
}

/// Its log was a file in the working directory that all states shared, with numbers that began anew.
#[test]
fn log_private_to_state() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("private-{}", std::process::id()));
    let mut one = State::create_in(&folder, functions(), Options::default());
    let page = create(&mut one, b"mine");
    for second in [
        State::create_in(&folder, functions(), Options::default()).claim().err(),
        State::open_in(&folder, functions(), Options::default()).err(),
    ] {
        let said = second.expect("the folder is taken").to_string();
        assert!(said.contains("process") && said.contains("holds the lock"), "{said}");
    }
    drop(one);
    assert!(matches!(State::create_in(&folder, functions(), Options::default()).claim(), Err(OpenError::NotEmpty)));
    let (state, _) = State::open_in(&folder, functions(), Options::default()).unwrap();
    assert_eq!(state.read(page), Some(&b"mine"[..]));
    drop(state);
    // A log that says that it is another state's is not read as if it were this one's.
    let named =
        |identity| Options::default().journal(journal::Options::default().identity(journal::Identity([identity; 16])));
    let other = Arc::new(MemoryDisk::new());
    create(&mut State::create(other.clone(), functions(), named(1)), b"other");
    let said = State::open(other, functions(), named(2)).err().unwrap().to_string();
    assert!(said.contains("identity"), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// A disk that forgets what is written to it, but for how much it was.
#[derive(Clone, Default)]
struct Sink(Arc<AtomicU64>);

impl Disk for Sink {
    fn list(&self) -> std::io::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn open(&self, _: &str, _: Access) -> std::io::Result<Box<dyn journal::DiskFile>> {
        Err(std::io::ErrorKind::NotFound.into())
    }

    fn create(&self, _: &str) -> std::io::Result<Box<dyn journal::DiskFile>> {
        Ok(Box::new(self.clone()))
    }

    fn rename(&self, _: &str, _: &str) -> std::io::Result<()> {
        Ok(())
    }

    fn remove(&self, _: &str) -> std::io::Result<()> {
        Ok(())
    }

    fn sync_names(&self) -> std::io::Result<()> {
        Ok(())
    }
}

impl journal::DiskFile for Sink {
    fn length(&self) -> std::io::Result<u64> {
        Ok(0)
    }

    fn read_at(&self, _: u64, _: &mut [u8]) -> std::io::Result<usize> {
        Ok(0)
    }

    fn write_at(&self, _: u64, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn set_length(&self, _: u64) -> std::io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> std::io::Result<()> {
        Ok(())
    }
}

/// It kept every delta in memory as well. Ten million commits are run by `--ignored`; the number makes no difference.
fn memory_after(commits: u64) {
    let sink = Sink::default();
    let mut state = State::create(Arc::new(sink.clone()), functions(), Options::default());
    let source = create(&mut state, &[0; 64]);
    derive(&mut state, 64, sum(), &[source]);
    let mut transaction = Transaction::new();
    let mut commit = |state: &mut State, number: u64| {
        transaction.clear();
        transaction.write(source, 0, &number.to_le_bytes());
        state.commit(&transaction).unwrap();
    };
    (1..=1_000).for_each(|number| commit(&mut state, number));
    let grown = allocation_counter::measure(|| (1_001..=commits).for_each(|number| commit(&mut state, number)));
    assert!(grown.bytes_current.unsigned_abs() < 4_096, "{grown:?}");
    assert!(sink.0.load(Ordering::Relaxed) > commits * 64, "each was logged");
    assert_eq!(state.epoch(), commits + 2);
}

#[test]
fn log_memory_bounded() {
    memory_after(100_000);
}

#[test]
#[ignore = "takes half a minute"]
fn log_memory_bounded_over_ten_million_commits() {
    memory_after(10_000_000);
}

/// It had the time of day in its frames.
#[test]
fn log_bytes_reproducible() {
    let made = [1, 1_000_003].map(|tick| {
        let disk = Arc::new(MemoryDisk::new());
        let time = AtomicU64::new(0);
        let clock = Arc::new(move || time.fetch_add(tick, Ordering::Relaxed));
        let options = Options::default().log_hashes(true).clock(clock);
        let mut state = State::create(disk.clone(), functions(), options);
        let page = create(&mut state, b"one");
        derive(&mut state, 3, sum(), &[page]);
        write(&mut state, page, b"two");
        state.checkpoint().unwrap();
        // Beside the log it is kept how long commits took, which nothing reads but a survey.
        let names = disk.list().unwrap().into_iter().filter(|name| name != "STATISTICS");
        names.map(|name| (contents(&*disk, &name), name)).collect::<Vec<_>>()
    });
    assert!(made[0].len() == 2 && made[0] == made[1]);
}

/// Its checkpoints had no graph and no functions.
#[test]
fn checkpoint_round_trip() {
    let (mut state, disk) = logged();
    create(&mut state, b"before");
    let mut transaction = Transaction::new().source("sensor 7").caused_by(1);
    let (one, other) = (transaction.create(b"one"), transaction.create(b""));
    let total = transaction.derive(3, sum(), [one, other]);
    let bit = transaction.derive(2, lowest_bit(), [total]);
    let pages = state.commit(&transaction).unwrap().created;
    let mut transaction = Transaction::new();
    transaction.delete(pages[bit.index()]);
    state.commit(&transaction).unwrap();
    state.checkpoint().unwrap();
    let (hash, why) = (state.state_hash(), state.why(pages[total.index()]));
    drop(state);
    let (mut opened, warnings) = State::open(disk, functions(), Options::default()).unwrap();
    assert!(warnings.is_empty());
    assert_eq!(opened.statistics().commits, 0, "nothing is made again");
    assert_eq!((opened.state_hash(), opened.why(pages[total.index()])), (hash, why));
    assert_eq!(write(&mut opened, pages[one.index()], b"two").statistics.ran, 1);
    assert_eq!(opened.read(pages[total.index()]), Some(&b"two"[..]), "derived pages live");
    assert_eq!(create(&mut opened, b"x").slot(), pages[bit.index()].slot(), "free places are known");
}

/// A later crate of it demanded that a mask be as long as its payload.
#[test]
fn sparse_delta_applies() {
    let (mut sparse, sparse_disk) = logged();
    let (mut dense, dense_disk) = logged();
    let before: Vec<u8> = (0..200).collect();
    let (one, other) = (create(&mut sparse, &before), create(&mut dense, &before));
    let mut mask = Mask::new(200);
    mask.set_range(3..5);
    mask.set_range(64..130);
    mask.set(199);
    let bytes: Vec<u8> = (0..mask.count()).map(|place| 255 - place as u8).collect();
    let mut transaction = Transaction::new();
    transaction.write_masked(one, mask.clone(), &bytes);
    sparse.commit(&transaction).unwrap();
    let mut after = before;
    mask.iter().zip(&bytes).for_each(|(place, byte)| after[place] = *byte);
    write(&mut dense, other, &after);
    assert_eq!(sparse.read(one), dense.read(other));
    assert_eq!(sparse.state_hash(), dense.state_hash());
    assert!(contents(&*sparse_disk, SEGMENT) == contents(&*dense_disk, SEGMENT), "the log says what came of it");
}

/// It dropped all edges between two nodes where one was to go.
#[test]
fn remove_one_edge_kind() {
    let mut schedule = Schedule::new();
    schedule.set_dependencies(2, &[0, 1, 0]).unwrap();
    schedule.set_dependencies(3, &[0]).unwrap();
    schedule.set_dependencies(2, &[0, 1]).unwrap();
    assert_eq!((schedule.dependencies(2), schedule.dependents(0)), (&[0, 1][..], &[3, 2][..]));
    // An edge that is refused leaves those that are there.
    assert!(schedule.set_dependencies(0, &[3]).is_err());
    assert_eq!(
        (schedule.dependencies(2), schedule.dependents(0), schedule.dependents(3)),
        (&[0, 1][..], &[3, 2][..], &[][..])
    );
    let mut state = state();
    let (one, other) = (create(&mut state, &[1]), create(&mut state, &[2]));
    let page = derive(&mut state, 1, sum(), &[one, one, other]);
    let mut transaction = Transaction::new();
    transaction.rederive(page, sum(), [one, other]);
    state.commit(&transaction).unwrap();
    assert_eq!(state.read(page), Some(&[3][..]));
    assert_eq!((write(&mut state, one, &[5]).statistics.ran, state.read(page)), (1, Some(&[7][..])));
}

/// Its handlers ran inside the commit.
#[test]
fn handler_panic_does_not_corrupt() {
    let (mut state, disk) = logged();
    let panics = state.subscribe(Filter::All, 1);
    let goes_on = state.subscribe(Filter::All, 10);
    let page = create(&mut state, &[1]);
    let handler = std::thread::spawn(move || {
        let notice = panics.try_next().expect("there was a commit");
        assert!(notice.changes.is_empty(), "a handler that expects something else");
    });
    assert!(handler.join().is_err());
    for value in 2..5 {
        assert_eq!(write(&mut state, page, &[value]).epoch, u64::from(value));
    }
    assert_eq!(std::iter::from_fn(|| goes_on.try_next()).count(), 4);
    let hash = state.state_hash();
    drop(state);
    assert_eq!(State::open(disk, functions(), Options::default()).unwrap().0.state_hash(), hash);
}

/// Its pages were raw pointers that threads shared.
#[test]
fn pages_not_aliased() {
    let mut state = state();
    let source = create(&mut state, &[0; 512]);
    let copy = derive(&mut state, 512, Functions::passthrough(), &[source]);
    let readers: Vec<_> = (1..=20_u8)
        .map(|value| {
            write(&mut state, source, &[value; 512]);
            let snapshot = state.snapshot();
            std::thread::spawn(move || {
                for page in [source, copy] {
                    assert!(snapshot.read(page).unwrap().iter().all(|&byte| byte == value));
                }
                snapshot
            })
        })
        .collect();
    let snapshots: Vec<_> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
    for (value, snapshot) in (1..).zip(&snapshots) {
        assert_eq!(snapshot.read(copy), Some(&[value; 512][..]), "what came later is elsewhere");
    }
}

/// Its "device" pages lay in the memory of the host.
#[test]
fn gpu_location_honest() {
    let mut state = state();
    let source = create(&mut state, &[7; 1000]);
    let copy = derive(&mut state, 1000, Functions::passthrough(), &[source]);
    assert_eq!([source, copy].map(|page| state.location(page)), [Some(Location::Memory); 2]);
    let cost = state.cost(Location::Memory);
    assert_eq!((cost.pages, cost.bytes), (2, 2_000));
    assert!(cost.overhead_bytes >= 2 * 32, "{cost:?}");
    let mut transaction = Transaction::new();
    transaction.delete(copy);
    state.commit(&transaction).unwrap();
    assert_eq!(state.location(copy), None);
    assert_eq!((state.cost(Location::Memory).pages, state.cost(Location::Memory).bytes), (1, 1_000));
}

/// The folder of a state is made with it, and the lock goes with it.
#[test]
fn a_folder_is_locked_as_long_as_its_state_lives() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("locked-{}", std::process::id()));
    let (mut state, _) = State::open_in(&folder, functions(), Options::default()).unwrap();
    let page = create(&mut state, b"kept");
    state.reset(None);
    assert!(State::open_in(&folder, functions(), Options::default()).is_ok(), "a state that was reset has left it");
    drop(state);
    let (opened, _) = State::open_in(&folder, functions(), Options::default()).unwrap();
    assert_eq!(opened.read(page), Some(&b"kept"[..]));
    assert!(opened.at(0).is_ok() && Directory::open(&folder).unwrap().list().unwrap().contains(&SEGMENT.to_owned()));
    assert!(contents(&Directory::open(&folder).unwrap(), SEGMENT).len() as u64 > FRAMES_AT);
    std::fs::remove_dir_all(folder).unwrap();
}
