//! Every interleaving of the tether word and of announcements, gone through by loom.
//!
//! The two files are compiled here once more, with loom's atomic numbers and cells in place of the real ones. A cell that
//! is read and written at the same time, or read after it was destroyed, fails the model.
//!
//! `cargo test --manifest-path crates/region/models/Cargo.toml` runs them.
#![cfg(test)]
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU32, Ordering};

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;

mod sync {
    pub(super) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
}

#[allow(dead_code, unreachable_pub)]
#[path = "../../src/tether/announcement.rs"]
mod announcement;
#[allow(dead_code, unreachable_pub)]
#[path = "../../src/tether/word.rs"]
mod word;

use announcement::{Announcement, look};
use word::{AfterEnd, Refused, StartFailed, Word};

/// A region as small as it can be.
struct Model {
    word: Word,
    readers: [Announcement; 2],
    /// Loom notes who reads and writes it, and what may happen at the same time.
    content: UnsafeCell<()>,
    /// How often it was destroyed. Loom does not see this, so it orders nothing.
    destroyed: AtomicU32,
}

const NAME: u64 = 77;

impl Model {
    fn open() -> (Arc<Model>, u32) {
        let readers = [Announcement::new(), Announcement::new()];
        let model = Model { word: Word::new(), readers, content: UnsafeCell::new(()), destroyed: AtomicU32::new(0) };
        let of = model.word.open();
        (Arc::new(model), of)
    }

    fn read(&self) {
        self.content.with(|_| assert_eq!(self.destroyed(), 0, "read after it was destroyed"));
    }

    fn destroy(&self) {
        self.content.with_mut(|_| self.destroyed.fetch_add(1, Ordering::Relaxed));
    }

    fn start(&self, of: u32) -> Result<(), Refused> {
        self.word.start(of).map_err(|StartFailed { refused, then }| {
            self.settle(then);
            refused
        })
    }

    fn tether(&self, of: u32) -> Result<(), Refused> {
        self.start(of)?;
        self.read();
        self.settle(self.word.end());
        Ok(())
    }

    /// Closes, as any thread may.
    fn close(&self, of: u32) -> Result<(), Refused> {
        self.settle(self.word.close(of)?);
        Ok(())
    }

    /// Closes, and ends the tether that the owner has.
    fn give_up(&self, of: u32) -> Result<(), Refused> {
        let closed = self.close(of);
        self.settle(self.word.end());
        closed
    }

    fn settle(&self, then: AfterEnd) {
        if then == AfterEnd::Destroy {
            self.destroy();
        }
    }

    /// Reads under an announcement, and again under the same one.
    fn announce(&self, reader: usize, of: u32) -> Result<(), Refused> {
        for _ in 0..2 {
            self.readers[reader].start(NAME, &self.word, of)?;
            self.read();
        }
        self.readers[reader].rest();
        Ok(())
    }

    /// Destroys unless an announcement stands against it.
    fn try_destroy(&self) -> bool {
        look();
        let free = !self.readers.iter().any(|reader| reader.name() == NAME);
        if free {
            self.destroy();
        }
        free
    }

    fn destroyed(&self) -> u32 {
        self.destroyed.load(Ordering::Relaxed)
    }
}

/// Goes through the interleavings with at most `preemptions` changes of thread against a running one's will.
fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// D8: a close that met a tether left both parties with the region.
#[test]
fn tether_and_close_destroy_once() {
    explore(3, || {
        let (model, of) = Model::open();
        let others: Vec<_> = (0..2)
            .map(|_| {
                let model = model.clone();
                thread::spawn(move || model.tether(of))
            })
            .collect();
        assert_eq!(model.give_up(of), Ok(()));
        for other in others {
            assert!(matches!(other.join().expect("no panic"), Ok(()) | Err(Refused::Closed)));
        }
        assert_eq!(model.destroyed(), 1);
        assert_eq!(model.start(of), Err(Refused::Closed));
    });
}

#[test]
fn of_two_closers_one_closes() {
    explore(3, || {
        let (model, of) = Model::open();
        assert_eq!(model.word.end(), AfterEnd::Nothing, "it is open, even if nobody reads");
        let reader = {
            let model = model.clone();
            thread::spawn(move || model.tether(of).is_ok())
        };
        let closer = {
            let model = model.clone();
            thread::spawn(move || model.close(of).is_ok())
        };
        let closed = model.close(of).is_ok();
        assert_ne!(closed, closer.join().expect("no panic"), "exactly one has closed");
        reader.join().expect("no panic");
        assert_eq!(model.destroyed(), 1);
    });
}

/// A tether that is handed to another thread and ends there.
#[test]
fn a_tether_ends_on_any_thread() {
    explore(3, || {
        let (model, of) = Model::open();
        let other = {
            let model = model.clone();
            thread::spawn(move || {
                model.read();
                model.settle(model.word.end());
            })
        };
        assert_eq!(model.close(of), Ok(()));
        other.join().expect("no panic");
        assert_eq!(model.destroyed(), 1);
    });
}

/// A handle of what lay in a place before does not tether what lies there now, and does not keep it from being destroyed: a
/// reader that may not stay does what the last one could not do because of it.
#[test]
fn a_recycled_place_refuses_earlier_handles() {
    // With two of them there are ten times as many interleavings.
    recycle(1, 4);
    recycle(2, 2);
}

fn recycle(late: usize, preemptions: usize) {
    explore(preemptions, move || {
        let (model, of) = Model::open();
        let late: Vec<_> = (0..late)
            .map(|_| {
                let model = model.clone();
                thread::spawn(move || model.tether(of))
            })
            .collect();
        assert_eq!(model.word.close(of), Ok(AfterEnd::Nothing));
        let recycled = model.word.end() == AfterEnd::Destroy;
        if recycled {
            // Nobody may write here but who was told to destroy.
            model.destroy();
            let next = model.word.open();
            assert_eq!(model.start(next), Ok(()));
            model.settle(model.word.end());
            assert_eq!(model.give_up(next), Ok(()));
        }
        for late in late {
            assert!(!matches!(late.join().expect("no panic"), Err(Refused::TooMany)));
        }
        assert_eq!((model.destroyed(), model.word.count()), (1 + u32::from(recycled), 0));
    });
}

/// The owner of a reader may count another one that outlives it, even while the word is closed.
#[test]
fn another_reader_keeps_what_the_first_one_kept() {
    explore(3, || {
        let (model, of) = Model::open();
        let other = {
            let model = model.clone();
            thread::spawn(move || {
                if model.start(of).is_ok() {
                    assert_eq!(model.word.start_another(), Ok(()));
                    model.settle(model.word.end());
                    model.read();
                    model.settle(model.word.end());
                }
            })
        };
        assert_eq!(model.give_up(of), Ok(()));
        other.join().expect("no panic");
        assert_eq!((model.destroyed(), model.word.count()), (1, 0));
    });
}

/// What a reader has announced is not destroyed while it reads, and is as soon as somebody looks afterwards.
#[test]
fn what_is_announced_is_kept() {
    explore(3, || {
        let (model, of) = Model::open();
        let readers: Vec<_> = (0..2)
            .map(|at| {
                let model = model.clone();
                thread::spawn(move || model.announce(at, of))
            })
            .collect();
        assert_eq!(model.word.close(of), Ok(AfterEnd::Nothing));
        assert_eq!(model.word.end(), AfterEnd::Destroy);
        let early = model.try_destroy();
        for reader in readers {
            assert!(matches!(reader.join().expect("no panic"), Ok(()) | Err(Refused::Closed)));
        }
        assert!(early || model.try_destroy(), "nobody reads any more");
        assert_eq!(model.destroyed(), 1);
    });
}

/// Both kinds of readers at once: the last tether ends on another thread than the one that closed.
#[test]
fn tethers_and_announcements_together() {
    explore(3, || {
        let (model, of) = Model::open();
        let announced = {
            let model = model.clone();
            thread::spawn(move || model.announce(0, of).is_ok())
        };
        let tethered = {
            let model = model.clone();
            thread::spawn(move || {
                model.read();
                model.word.end() == AfterEnd::Destroy && model.try_destroy()
            })
        };
        let early = model.word.close(of) == Ok(AfterEnd::Destroy) && model.try_destroy();
        announced.join().expect("no panic");
        let early = tethered.join().expect("no panic") || early;
        assert!(early || model.try_destroy(), "nobody reads any more");
        assert_eq!(model.destroyed(), 1);
    });
}
