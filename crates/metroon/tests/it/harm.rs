//! Every byte of a base and of a tape is damaged, and both are cut off at every length: what opens is a prefix of what
//! was there, or an error that says where; never something else.

use crate::history::{DIRECTORY, engine, run};
use journal::simulated::SimulatedDisk;
use journal::{Disk, Reader};
use metroon::run::{Reporter, RunRequest};
use metroon::storage::CommitJournal;
use metroon::tape::{ReplayEnd, TapeReader};
use metroon::{Engine, History, MemoryWorld, Tape, syntax};
use std::sync::Arc;

/// Of the bytes that no frame depends on, this many are tried once.
const UNUSED_STEP: usize = 499;

fn shared(disk: &SimulatedDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

/// The frames that can be read.
fn frames(disk: &SimulatedDisk) -> Option<Vec<Vec<u8>>> {
    let mut reader = Reader::from_frame(shared(disk), 0).ok()?;
    let mut frames = Vec::new();
    while let Some(frame) = reader.read_next().ok()? {
        frames.push(frame.payload.to_vec());
    }
    Some(frames)
}

/// Calls `check` with copies of a disk, a byte of which is damaged or that is cut off.
fn each_damage(disk: &SimulatedDisk, mut check: impl FnMut(&SimulatedDisk, &str)) {
    let sound = frames(disk);
    for name in disk.names() {
        let bytes = disk.contents(&name).expect("it is there");
        for offset in 0..bytes.len() {
            let damaged = disk.duplicate();
            assert!(damaged.flip(&name, offset as u64, 1 << (offset % 8)));
            if frames(&damaged) != sound || offset % UNUSED_STEP == 0 {
                check(&damaged, &format!("byte {offset} of {name}"));
            }
        }
        let mut last = None;
        for length in 0..bytes.len() {
            let cut = disk.duplicate();
            cut.put(&name, &bytes[..length]);
            let found = frames(&cut);
            // Cut off at one place or the next, most look alike.
            if found != last || length % UNUSED_STEP == 0 {
                check(&cut, &format!("{name} cut off at {length}"));
            }
            last = found;
        }
    }
}

/// A base of some commits, and what it holds after each.
fn base() -> (SimulatedDisk, Vec<Vec<String>>) {
    let disk = SimulatedDisk::new();
    let mut base = engine(&shared(&disk), MemoryWorld::default());
    for text in ["(a 1) (a $x) ! (bind! &s (new-state 1))", "! (add-atom &self (in &s))", "! (remove-atom &self (a 1))"]
    {
        run(&mut base, text);
    }
    base.finish().expect("it closes");
    let view = History::on_disk(&shared(&disk), DIRECTORY).expect("it is sound");
    let epochs = 0..=view.epoch();
    let states = epochs.map(|epoch| printed(&view.atoms_at(epoch).expect("there is such a commit")));
    (disk, states.collect())
}

fn printed(atoms: &[metroon::Atom]) -> Vec<String> {
    atoms.iter().map(|atom| crate::history::plain(&atom.to_string())).collect()
}

#[test]
fn a_damaged_base_is_a_prefix_or_an_error_that_says_where() {
    let (disk, states) = base();
    let (mut errors, mut prefixes, mut same) = (0, 0, 0);
    each_damage(&disk, |damaged, context| {
        for mends in [false, true] {
            if mends && let Err(error) = CommitJournal::on_disk(shared(damaged), DIRECTORY) {
                assert!(says_where(&error.to_string()), "{context}: {error}");
                continue;
            }
            match History::on_disk(&shared(damaged), DIRECTORY) {
                Ok(view) => {
                    let epoch = view.epoch() as usize;
                    assert_eq!(printed(&view.atoms().expect("it reads")), states[epoch], "{context}: commit {epoch}");
                    if epoch + 1 == states.len() { same += 1 } else { prefixes += 1 }
                }
                Err(error) => {
                    assert!(says_where(&error.to_string()), "{context}: {error}");
                    errors += 1;
                }
            }
        }
    });
    // Every commit is synced, so that damage is never taken for the end.
    assert!(errors > 500 && prefixes == 0 && same > 20, "{errors} errors, {prefixes} prefixes, {same} the same");
}

/// Whether a message names a place.
fn says_where(message: &str) -> bool {
    ["segment", "offset", "frame", "byte", "begin", "journal"].iter().any(|word| message.contains(word))
}

struct Nobody;

impl Reporter for Nobody {
    fn diagnostic(&mut self, _: &str, _: &syntax::LineIndex<'_>, _: &syntax::Diagnostic) {}
}

/// A tape, and what was printed meanwhile. One that is killed has no end, and its last frames are not synced.
fn tape(is_killed: bool) -> (SimulatedDisk, Vec<String>) {
    let expressions = ["(a 1) ! (println! hello) ! (random-int &rng 0 9)", "! (get-atoms &self)"];
    let program = RunRequest { expressions: expressions.map(str::to_owned).to_vec(), ..RunRequest::default() };
    let disk = SimulatedDisk::new();
    let world = MemoryWorld::default();
    let output = world.output();
    let tape = Tape::on_disk(shared(&disk)).expect("a tape is made");
    let mut engine = Engine::remembering(world, None, Some(tape), &program).expect("the tape begins");
    engine.run_program(&program, &mut Nobody);
    if is_killed {
        let killed = disk.duplicate();
        drop(engine);
        return (killed, output.printed());
    }
    engine.finish().expect("the tape ends");
    (disk, output.printed())
}

/// What a replay came to: an error at its beginning, cut off, or the same.
#[derive(Default, Debug)]
struct Outcomes {
    errors: u32,
    cut_off: u32,
    same: u32,
}

impl Outcomes {
    fn replay(&mut self, damaged: &SimulatedDisk, recorded: &[String], context: &str) {
        let world = MemoryWorld::default().with_seed(1);
        let output = world.output();
        let opened = TapeReader::on_disk(shared(damaged)).map_err(|error| error.to_string());
        let replaying = opened.and_then(|tape| Engine::replaying(world, tape, None).map_err(|error| error.to_string()));
        let (mut engine, program) = match replaying {
            Ok(replaying) => replaying,
            Err(error) => {
                // Of a file that is cut off before its first frame nobody can say that it was a tape.
                assert!(says_where(&error) || error == "it holds no recorded run", "{context}: {error}");
                self.errors += 1;
                return;
            }
        };
        engine.run_program(&program, &mut Nobody);
        let (_, ended) = engine.replayed().expect("it replays");
        assert!(recorded.starts_with(&output.printed()), "{context}: {:?}", output.printed());
        match (ended, engine.finish()) {
            (None, Ok(())) => {
                assert_eq!(output.printed(), recorded, "{context}");
                self.same += 1;
            }
            (Some(ReplayEnd::TapeEnds(_)), _) | (None, Err(_)) => self.cut_off += 1,
            (Some(end), _) => panic!("{context}: {end}"),
        }
    }
}

#[test]
fn a_damaged_tape_replays_alike_as_far_as_it_goes_or_is_an_error() {
    for is_killed in [false, true] {
        let (disk, recorded) = tape(is_killed);
        let mut outcomes = Outcomes::default();
        each_damage(&disk, |damaged, context| outcomes.replay(damaged, &recorded, context));
        let Outcomes { errors, cut_off, same } = outcomes;
        if is_killed {
            assert!(cut_off > 100 && same == 0, "{outcomes:?}");
        } else {
            assert!(errors > 500 && same > 10 && cut_off == 0, "{outcomes:?}");
        }
    }
}
