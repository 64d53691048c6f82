//! Any sequence of calls, endings and crashes leaves what the model has: a list of frames.

use crate::history::{open, read_all, shared};
use journal::simulated::{Fate, SimulatedDisk};
use journal::{Durability, FRAMES_AT, Journal, Options, Reader, verify};
use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Append(usize, Durability),
    AppendAll(Vec<usize>, Durability),
    Sync(Durability),
    /// Closes the journal and opens it again.
    Close,
    /// Drops it instead.
    Drop,
    /// The power fails and comes back.
    Crash(Fate, u64),
    ReadFrom(prop::sample::Index),
}

fn durability() -> impl Strategy<Value = Durability> {
    prop_oneof![Just(Durability::None), Just(Durability::Os), Just(Durability::Fsync)]
}

fn step() -> impl Strategy<Value = Step> {
    let length = || prop_oneof![4 => 0..120_usize, 1 => 0..3000_usize];
    prop_oneof![
        12 => (length(), durability()).prop_map(|(length, durability)| Step::Append(length, durability)),
        3 => (vec(length(), 0..6), durability()).prop_map(|(lengths, durability)| Step::AppendAll(lengths, durability)),
        2 => durability().prop_map(Step::Sync),
        1 => Just(Step::Close),
        1 => Just(Step::Drop),
        2 => (prop::sample::select(Fate::ALL.to_vec()), any::<u64>()).prop_map(|(fate, seed)| Step::Crash(fate, seed)),
        2 => any::<prop::sample::Index>().prop_map(Step::ReadFrom),
    ]
}

fn options() -> impl Strategy<Value = Options> {
    let segment_bytes = prop_oneof![Just(0), FRAMES_AT..FRAMES_AT + 2000, Just(64 << 20)];
    let buffer_bytes = prop_oneof![Just(0_usize), 0..5000_usize];
    (segment_bytes, buffer_bytes)
        .prop_map(|(segment, buffer)| Options::default().segment_bytes(segment).buffer_bytes(buffer))
}

struct Run {
    disk: SimulatedDisk,
    options: Options,
    journal: Option<Journal>,
    /// Every frame appended, and how many of them certainly survive.
    frames: Vec<Vec<u8>>,
    safe: usize,
    made: usize,
}

impl Run {
    fn new(options: Options) -> Self {
        let disk = SimulatedDisk::new();
        let (journal, _) = open(&disk, &options);
        Self { disk, options, journal: Some(journal), frames: Vec::new(), safe: 0, made: 0 }
    }

    fn journal(&self) -> &Journal {
        self.journal.as_ref().expect("the journal is open between steps")
    }

    fn payload(&mut self, length: usize) -> Vec<u8> {
        self.made += 1;
        vec![self.made as u8; length]
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Append(length, durability) => self.append(*length, *durability),
            Step::AppendAll(lengths, durability) => self.append_all(lengths, *durability),
            Step::Sync(durability) => {
                self.journal().sync(*durability).unwrap();
                self.reached(*durability);
            }
            Step::Close => {
                self.journal.take().expect("open").close().unwrap();
                self.reopen(true);
            }
            Step::Drop => {
                self.journal = None;
                self.reopen(true);
            }
            Step::Crash(fate, seed) => self.crash(*fate, *seed),
            Step::ReadFrom(index) => self.read_from(*index),
        }
    }

    fn append(&mut self, length: usize, durability: Durability) {
        let payload = self.payload(length);
        let place = self.journal().append(&payload, durability).unwrap();
        assert_eq!(place.number, self.frames.len() as u64);
        self.frames.push(payload);
        self.reached(durability);
    }

    fn append_all(&mut self, lengths: &[usize], durability: Durability) {
        let payloads: Vec<Vec<u8>> = lengths.iter().map(|length| self.payload(*length)).collect();
        let places = self.journal().append_all(&payloads, durability).unwrap();
        let numbers: Vec<usize> = places.iter().map(|place| place.number as usize).collect();
        assert_eq!(numbers, (self.frames.len()..self.frames.len() + lengths.len()).collect::<Vec<_>>());
        self.frames.extend(payloads);
        if !lengths.is_empty() {
            self.reached(durability);
        }
    }

    fn reached(&mut self, durability: Durability) {
        if durability == Durability::Fsync {
            self.safe = self.frames.len();
        }
        let progress = self.journal().progress();
        assert_eq!(progress.appended, self.frames.len() as u64);
        assert!(progress.synced >= self.safe as u64 && progress.written >= progress.synced);
    }

    /// Opens what is there; all of it is durable then.
    fn reopen(&mut self, is_whole: bool) {
        let (journal, warnings) = open(&self.disk, &self.options);
        assert!(!is_whole || warnings.is_empty(), "{warnings:?}");
        let found = read_all(&self.disk);
        assert!(found.len() >= self.safe && self.frames.starts_with(&found), "not a prefix");
        assert!(!is_whole || found.len() == self.frames.len());
        assert_eq!(journal.progress().synced, found.len() as u64);
        self.safe = found.len();
        self.frames = found;
        self.journal = Some(journal);
    }

    fn crash(&mut self, fate: Fate, seed: u64) {
        let disk = self.disk.power_loss(fate, seed);
        self.journal = None;
        self.disk = disk;
        self.reopen(false);
    }

    fn read_from(&self, index: prop::sample::Index) {
        let written = self.journal().progress().written as usize;
        let from = index.index(written + 1);
        let mut reader = Reader::from_frame(shared(&self.disk), from as u64).unwrap();
        for expected in &self.frames[from..written] {
            let position = reader.position().unwrap();
            assert_eq!(reader.read_next().unwrap().unwrap().payload, expected);
            let mut again = Reader::from_place(shared(&self.disk), position.place).unwrap();
            assert_eq!(again.read_next().unwrap().unwrap().payload, expected);
            let mut again = Reader::from_position(shared(&self.disk), &position).unwrap();
            assert_eq!(again.read_next().unwrap().unwrap().payload, expected);
            assert_eq!(again.position(), reader.position());
        }
        assert!(reader.read_next().unwrap().is_none());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn calls_and_crashes_leave_what_the_model_has(options in options(), steps in vec(step(), 1..60)) {
        let mut run = Run::new(options);
        for step in &steps {
            run.step(step);
        }
        let chain = run.journal().chain();
        run.step(&Step::Close);
        let report = verify(shared(&run.disk)).unwrap();
        prop_assert!(report.is_sound() && report.warnings.is_empty(), "{report:?}");
        prop_assert_eq!((report.frames, report.chain), (run.frames.len() as u64, Some(chain)));
    }
}
