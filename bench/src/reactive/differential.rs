//! The pages of the suite in differential-dataflow: a page is a collection of one row, its bytes, and what follows from it maps that
//! collection.
//!
//! A write takes the old row away and adds the new one, so each copy is made of both: that is how the library says that a value changed.
//! One worker, which goes on until the last page is up to date.

use super::sheets::{Shape, Sheet, look};
use super::{Failure, PAGE_BYTES};
use differential_dataflow::VecCollection;
use differential_dataflow::input::{Input, InputSession};
use std::cell::Cell;
use std::rc::Rc;
use timely::WorkerConfig;
use timely::communication::Allocator;
use timely::communication::allocator::thread::Thread;
use timely::dataflow::ProbeHandle;
use timely::worker::Worker;

/// differential-dataflow's.
pub(super) struct Differential {
    worker: Worker,
    input: InputSession<u64, Vec<u8>, isize>,
    probe: ProbeHandle<u64>,
    held: Vec<u8>,
    /// What the sheet reads of the last page; see [`look`].
    seen: Rc<Cell<u64>>,
}

fn copied<'scope>(page: VecCollection<'scope, u64, Vec<u8>>) -> VecCollection<'scope, u64, Vec<u8>> {
    // It is handed over, and a page that follows is a copy.
    page.map(|bytes| bytes.as_slice().to_vec())
}

impl Differential {
    /// A chain or a fan; none of other shapes, which need more than maps there.
    pub(super) fn new(shape: Shape) -> Option<Self> {
        let (pages, is_chain) = match shape {
            Shape::Chain(pages) => (pages, true),
            Shape::Fan(pages) => (pages, false),
            Shape::CutOff(_) | Shape::Diamonds(_) => return None,
        };
        let mut worker = Worker::new(WorkerConfig::default(), Allocator::Thread(Thread::default()), None);
        let (seen, probe) = (Rc::new(Cell::new(0)), ProbeHandle::new());
        let observed = |page: VecCollection<'_, u64, Vec<u8>>, probe: &ProbeHandle<u64>| {
            let seen = Rc::clone(&seen);
            page.inspect(move |(bytes, _, count)| {
                if *count > 0 {
                    seen.set(look(bytes));
                }
            })
            .probe_with(probe);
        };
        let input = worker.dataflow::<u64, _, _>(|scope| {
            let (input, first) = scope.new_collection::<Vec<u8>, isize>();
            if is_chain {
                observed((1..pages).fold(first, |last, _| copied(last)), &probe);
            } else {
                (0..pages).for_each(|_| observed(copied(first.clone()), &probe));
            }
            input
        });
        let mut made = Self { worker, input, probe, held: vec![0; PAGE_BYTES], seen };
        made.input.insert(made.held.clone());
        made.follow();
        Some(made)
    }

    fn follow(&mut self) {
        self.input.advance_to(self.input.time() + 1);
        self.input.flush();
        let Self { worker, input, probe, .. } = self;
        worker.step_while(|| probe.less_than(input.time()));
    }
}

impl Sheet for Differential {
    fn write(&mut self, image: &[u8]) -> Result<u64, Failure> {
        self.input.remove(self.held.clone());
        self.held[..image.len()].copy_from_slice(image);
        self.input.insert(self.held.clone());
        self.follow();
        Ok(self.seen.get())
    }
}
