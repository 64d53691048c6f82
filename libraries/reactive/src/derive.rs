//! Running the functions of derived pages, one height after the other.
//!
//! The pages of a height do not depend on each other. Where they and what they read are large, threads share them. What they
//! wrote is taken in the order of the pages, so the outcome is the same for any number of threads.

use crate::Epoch;
use crate::error::CommitError;
use crate::function::Inputs;
use crate::node::{Derivation, Node};
use crate::options::Clock;
use crate::page::{Buffers, PageId, PageTable, contents};
use crate::statistics::Statistics;
use crate::work::Saved;
use schedule::{Node as NodeNumber, Run};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Threads share the pages of a height if these and what they read have this many bytes. Starting threads costs some 50 µs.
const PARALLEL_BYTES_MIN: usize = 4 << 20;

/// Runs functions and stores what they wrote.
pub(crate) struct Deriving<'a> {
    pub(crate) pages: &'a mut PageTable,
    pub(crate) nodes: &'a mut [Node],
    pub(crate) buffers: &'a mut Buffers,
    pub(crate) saved: &'a mut Saved,
    pub(crate) statistics: &'a mut Statistics,
    pub(crate) epoch: Epoch,
    pub(crate) threads: Option<usize>,
    pub(crate) is_checked: bool,
    /// Measures how long functions run.
    pub(crate) clock: Option<&'a Clock>,
}

impl Run for Deriving<'_> {
    type Error = CommitError;

    fn run(&mut self, nodes: &[NodeNumber], changed: &mut Vec<NodeNumber>) -> Result<(), CommitError> {
        let now = |clock: Option<&Clock>| clock.map_or(0, |clock| clock());
        let begun = now(self.clock);
        let outcome = self.run_all(nodes, changed);
        self.statistics.stages.run += now(self.clock) - begun;
        outcome
    }
}

impl Deriving<'_> {
    fn run_all(&mut self, nodes: &[NodeNumber], changed: &mut Vec<NodeNumber>) -> Result<(), CommitError> {
        if nodes.len() > 1 && self.threads != Some(1) && self.bytes_of(nodes) >= PARALLEL_BYTES_MIN {
            return self.run_shared(nodes, changed);
        }
        for &slot in nodes {
            let buffer = self.buffer_for(slot);
            let written = self.job(slot).run(buffer, self.is_checked)?;
            self.store(slot, written, changed);
        }
        Ok(())
    }

    /// How many bytes the functions of these pages write and read.
    fn bytes_of(&self, nodes: &[NodeNumber]) -> usize {
        let held = |slot: u32| self.pages.at(slot).and_then(|page| page.bytes.as_ref()).map_or(0, |bytes| bytes.len());
        let of = |&slot: &u32| {
            let read: usize = derivation(self.nodes, slot).dependencies.iter().map(|page| held(page.slot)).sum();
            held(slot) + read
        };
        nodes.iter().map(of).sum()
    }

    fn buffer_for(&mut self, slot: u32) -> Arc<[u8]> {
        let length = self.pages.at(slot).and_then(|page| page.bytes.as_ref()).map_or(0, |bytes| bytes.len());
        let derivation = derivation(self.nodes, slot);
        let inputs = Inputs::new(self.pages, &derivation.dependencies);
        if derivation.function.writes_all(&inputs, length) {
            return self.buffers.take(length);
        }
        self.buffers.take_zeroed(length)
    }

    fn job(&self, slot: u32) -> Job<'_> {
        let generation = self.pages.at(slot).expect("a derived page is there").generation;
        Job { page: PageId { slot, generation }, pages: self.pages, derivation: derivation(self.nodes, slot) }
    }

    fn run_shared(&mut self, nodes: &[NodeNumber], changed: &mut Vec<NodeNumber>) -> Result<(), CommitError> {
        let buffers: Vec<_> = nodes.iter().map(|&slot| self.buffer_for(slot)).collect();
        let mut jobs: Vec<_> = nodes.iter().map(|&slot| self.job(slot)).zip(buffers).collect();
        let threads = self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let share = jobs.len().div_ceil(threads);
        let is_checked = self.is_checked;
        let run = |jobs: Vec<(Job<'_>, Arc<[u8]>)>| -> Vec<_> {
            jobs.into_iter().map(|(job, buffer)| job.run(buffer, is_checked)).collect()
        };
        let written: Vec<_> = std::thread::scope(|scope| {
            let mut threads = Vec::new();
            while jobs.len() > share {
                let last = jobs.split_off(jobs.len() - share);
                threads.push(scope.spawn(move || run(last)));
            }
            let mut written = run(jobs);
            for thread in threads.into_iter().rev() {
                written.extend(thread.join().expect("what functions panic with is caught"));
            }
            written
        });
        for (&slot, written) in nodes.iter().zip(written) {
            self.store(slot, written?, changed);
        }
        Ok(())
    }

    fn store(&mut self, slot: u32, written: Arc<[u8]>, changed: &mut Vec<NodeNumber>) {
        let derivation = self.nodes[slot as usize].derivation.as_mut().expect("the page is derived");
        self.saved.ran.push((slot, std::mem::replace(&mut derivation.ran, self.epoch)));
        self.statistics.bytes_compared += written.len() as u64;
        let page = self.pages.at_mut(slot);
        if page.bytes.as_deref() == Some(&*written) {
            self.buffers.give(written);
            return;
        }
        self.saved.replace(slot, page, written);
        page.changed = self.epoch;
        changed.push(slot);
    }
}

/// What the function of a page writes, read from the pages as they are.
///
/// # Errors
/// It fails, or reads what it does not depend on.
pub(crate) fn derive_anew(
    page: PageId,
    pages: &PageTable,
    derivation: &Derivation,
    length: usize,
) -> Result<Vec<u8>, CommitError> {
    let mut bytes = vec![0; length];
    Job { page, pages, derivation }.fill(&mut bytes)?;
    Ok(bytes)
}

fn derivation(nodes: &[Node], slot: u32) -> &Derivation {
    nodes[slot as usize].derivation.as_ref().expect("a page that runs is derived")
}

/// One page to derive.
struct Job<'a> {
    page: PageId,
    pages: &'a PageTable,
    derivation: &'a Derivation,
}

impl Job<'_> {
    /// Runs the function on a page that was made ready for it.
    fn run(&self, mut buffer: Arc<[u8]>, is_checked: bool) -> Result<Arc<[u8]>, CommitError> {
        self.fill(contents(&mut buffer))?;
        if is_checked {
            let inputs = Inputs::new(self.pages, &self.derivation.dependencies);
            let mut again = if self.derivation.function.writes_all(&inputs, buffer.len()) {
                // A byte that is not written shows: it was another one the first time.
                buffer.iter().map(|byte| !byte).collect()
            } else {
                vec![0; buffer.len()]
            };
            self.fill(&mut again)?;
            if again != *buffer {
                return Err(CommitError::Impure { page: self.page, function: self.derivation.name.clone() });
            }
        }
        Ok(buffer)
    }

    fn fill(&self, page: &mut [u8]) -> Result<(), CommitError> {
        let inputs = Inputs::new(self.pages, &self.derivation.dependencies);
        let run = catch_unwind(AssertUnwindSafe(|| self.derivation.function.derive(&inputs, page)));
        if let Some(read) = inputs.undeclared() {
            let function = self.derivation.name.clone();
            return Err(CommitError::UndeclaredRead { page: self.page, function, read });
        }
        let reason = match run {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(panic) => format!("it panicked: {}", message_of(&*panic)),
        };
        Err(CommitError::Function { page: self.page, function: self.derivation.name.clone(), reason })
    }
}

/// What a panic says.
fn message_of(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}
