//! Making a transaction happen, whole or not at all.
//!
//! 1. The steps are applied in order. What a page or a derivation was before is saved when it is first touched.
//! 2. Each page that was written is compared with what it was: the bytes that differ are its delta. A page that holds the
//!    same as before is put back and was not written.
//! 3. What depends on a page that changed is derived anew, each page once ([`schedule`]).
//! 4. The commit is written to the log.
//! 5. Subscribers are told.
//!
//! Whatever fails up to 4, what was saved is put back. Only the log can have kept more than the state then: if writing it failed in
//! the middle. It takes nothing more in that case, and opening the state again shows what it kept.
//!
//! Pages are compared and logged in the order of their places, derived in that order as well, and named in the order of the steps: the
//! same transactions make the same log.

use crate::Epoch;
use crate::diff::diff;
use crate::error::CommitError;
use crate::events::Change;
use crate::function::FunctionName;
use crate::metadata::Metadata;
use crate::node::{Derivation, Node};
use crate::page::{PAGE_BYTES_MAX, Page, PageId, contents};
use crate::record::{Origin, Structural};
use crate::state::State;
use crate::statistics::{Latency, Statistics};
use crate::transaction::{PageRef, Step, Transaction};
use crate::work::Work;
use journal::Durability;
use schedule::Cycle;
use std::sync::Arc;

/// What a transaction came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Commit {
    /// Its number; that of the last commit before if nothing changed, since that is not a commit.
    pub epoch: Epoch,
    /// The pages that it made, in the order in which [`NewPage`](crate::NewPage)s were given.
    pub created: Vec<PageId>,
    /// What it cost.
    pub statistics: Statistics,
}

impl State {
    /// Makes the changes of a transaction, all or none.
    ///
    /// If nothing changes, because what is written is there already, it is not a commit: nothing is logged, and nothing runs.
    ///
    /// # Errors
    /// A step cannot be made, a function fails, or the log does not take it. The state is as it was then.
    pub fn commit(&mut self, transaction: &Transaction) -> Result<Commit, CommitError> {
        self.commit_as(transaction, self.options.durability)
    }

    /// [`State::commit`], which waits for as much as is said here.
    pub(crate) fn commit_as(
        &mut self,
        transaction: &Transaction,
        durability: Durability,
    ) -> Result<Commit, CommitError> {
        let begun = self.now();
        let origin = Origin::new(&transaction.source, transaction.cause);
        let outcome = self.apply_all(transaction).and_then(|()| self.settle(&origin, Some(durability)));
        let mut commit = self.end(outcome)?;
        if commit.statistics.commits > 0 && self.times.is_some() {
            let took = self.now() - begun;
            commit.statistics.latency = Latency::of_one(took);
            self.times.iter_mut().for_each(|times| times.add(took));
        }
        Ok(commit)
    }

    /// Keeps what a transaction did, or puts back what was.
    pub(crate) fn end(&mut self, outcome: Result<Option<Statistics>, CommitError>) -> Result<Commit, CommitError> {
        let created = std::mem::take(&mut self.work.created);
        let mut statistics = match outcome {
            Ok(Some(statistics)) => statistics,
            Ok(None) => {
                let unchanged = self.work.saved.pages.len() as u64 + self.work.equal_pages();
                self.undo();
                let statistics = Statistics { unchanged, ..Statistics::default() };
                self.statistics.add(&statistics);
                return Ok(Commit { epoch: self.epoch, created, statistics });
            }
            Err(error) => {
                self.undo();
                return Err(error);
            }
        };
        self.epoch += 1;
        let begun = self.now();
        self.publish();
        statistics.stages.notify = self.now() - begun;
        self.forget_saved();
        self.statistics.add(&statistics);
        Ok(Commit { epoch: self.epoch, created, statistics })
    }

    /// Puts back what steps have done that are not to be kept.
    pub(crate) fn refuse(&mut self) {
        self.work.created.clear();
        self.undo();
    }

    /// Tells subscribers what has changed.
    fn publish(&mut self) {
        if self.subscribers.is_empty() {
            return;
        }
        let mut changes = Vec::new();
        for (slot, before) in &self.work.saved.pages {
            let now = self.pages.at(*slot).expect("places stay");
            let id = |generation| PageId { slot: *slot, generation };
            let was_replaced = now.generation != before.generation;
            if before.bytes.is_some() && was_replaced {
                changes.push((id(before.generation), Change::Deleted));
            }
            let Some(bytes) = &now.bytes else { continue };
            match &before.bytes {
                Some(old) if !was_replaced => match diff(old, bytes, &mut self.work.runs) {
                    0 => {}
                    count => changes.push((id(now.generation), Change::Written { bytes: Some(count) })),
                },
                _ => changes.push((id(now.generation), Change::Created)),
            }
        }
        self.subscribers.publish(self.epoch, &changes);
    }

    fn forget_saved(&mut self) {
        let Work { saved, .. } = &mut self.work;
        saved.places().for_each(|slot| self.hash.note(slot));
        for (slot, before) in saved.pages.drain(..) {
            saved.is_saved[slot as usize] = false;
            if let Some(bytes) = before.bytes {
                self.buffers.give(bytes);
            }
        }
        self.work.clear();
    }

    /// Puts everything back that was saved.
    fn undo(&mut self) {
        let Work { saved, .. } = &mut self.work;
        saved.places().for_each(|slot| self.hash.note(slot));
        for (slot, ran) in saved.ran.drain(..).rev() {
            if let Some(derivation) = &mut self.nodes[slot as usize].derivation {
                derivation.ran = ran;
            }
        }
        for (slot, node) in saved.nodes.drain(..).rev() {
            let dependencies = node.derivation.as_ref().map(|derivation| &*derivation.dependencies);
            let slots: Vec<u32> = dependencies.unwrap_or_default().iter().map(|page| page.slot).collect();
            self.schedule.set_dependencies(slot, &slots).expect("it depended on these before");
            self.nodes[slot as usize] = node;
        }
        for (slot, before) in saved.pages.drain(..) {
            saved.is_saved[slot as usize] = false;
            if let Some(bytes) = std::mem::replace(self.pages.at_mut(slot), before).bytes {
                self.buffers.give(bytes);
            }
        }
        if let Some((free, slots)) = saved.free.take() {
            self.free = free;
            self.pages.truncate(slots);
            self.nodes.truncate(slots as usize);
        }
        self.work.clear();
    }

    fn apply_all(&mut self, transaction: &Transaction) -> Result<(), CommitError> {
        if let Some(cause) = transaction.cause.filter(|cause| !(1..=self.epoch).contains(cause)) {
            return Err(CommitError::UnknownCause { cause, last: self.epoch });
        }
        let begun = self.now();
        for (number, step) in transaction.steps.iter().enumerate() {
            self.apply(number, step, &transaction.bytes)?;
        }
        self.work.applied = self.now() - begun;
        Ok(())
    }

    fn apply(&mut self, number: usize, step: &Step, bytes: &[u8]) -> Result<(), CommitError> {
        match step {
            Step::Create { bytes: range } => {
                let page = self.make_page(number, range.len())?;
                self.written(page).copy_from_slice(&bytes[range.clone()]);
            }
            Step::Derive { length, function, dependencies } => {
                let dependencies = self.resolve_all(number, dependencies)?;
                self.make_derived(number, *length, function, dependencies)?;
            }
            Step::Rederive { page, function, dependencies } => {
                let page = self.resolve(number, *page)?;
                let dependencies = self.resolve_all(number, dependencies)?;
                self.rederive(number, page, function, dependencies)?;
            }
            Step::Delete { page } => {
                let page = self.resolve(number, *page)?;
                self.delete(number, page)?;
            }
            Step::Describe { page, metadata } => {
                let page = self.resolve(number, *page)?;
                self.describe(number, page, metadata)?;
            }
            Step::Write { page, offset, bytes: range } => {
                let page = self.writable(number, *page, *offset, range.len())?;
                if self.holds_already(page, *offset, &bytes[range.clone()]) {
                    self.work.equal.push(page.slot);
                    return Ok(());
                }
                let is_whole = range.len() == self.length(page);
                let held = if is_whole { self.overwritten(page) } else { self.written(page) };
                held[*offset..*offset + range.len()].copy_from_slice(&bytes[range.clone()]);
            }
            Step::WriteMasked { page, mask, bytes: range } => {
                let page = self.writable(number, *page, 0, 0)?;
                let length = self.length(page);
                let (named, given) = (mask.count(), range.len());
                if mask.len() != length || named != given {
                    let (mask, bytes) = (mask.len(), given);
                    return Err(CommitError::MaskLength { page, step: number, length, mask, named, bytes });
                }
                let held = self.written(page);
                for (place, byte) in mask.iter().zip(&bytes[range.clone()]) {
                    held[place] = *byte;
                }
            }
            Step::Merge { page, offset, merge, operand } => {
                let page = self.writable(number, *page, *offset, operand.len())?;
                if !operand.len().is_multiple_of(merge.width()) {
                    let (bytes, width) = (operand.len(), merge.width());
                    return Err(CommitError::OperandLength { page, step: number, bytes, width });
                }
                let held = &mut self.written(page)[*offset..*offset + operand.len()];
                merge.apply(held, &bytes[operand.clone()]);
            }
        }
        Ok(())
    }

    /// Whether a page that was not touched yet holds bytes already.
    fn holds_already(&self, page: PageId, offset: usize, bytes: &[u8]) -> bool {
        let held = self.pages.bytes(page).and_then(|held| held.get(offset..offset + bytes.len()));
        held == Some(bytes) && !self.work.saved.has(page.slot)
    }

    /// The name of a page that is there.
    fn resolve(&self, step: usize, page: PageRef) -> Result<PageId, CommitError> {
        let id = match page {
            PageRef::Existing(id) => id,
            PageRef::New(page) => {
                *self.work.created.get(page.index()).ok_or(CommitError::UnknownNewPage { page, step })?
            }
        };
        self.pages.get(id).map(|_| id).ok_or(CommitError::UnknownPage { page: id, step })
    }

    fn resolve_all(&self, step: usize, pages: &[PageRef]) -> Result<Vec<PageId>, CommitError> {
        pages.iter().map(|&page| self.resolve(step, page)).collect()
    }

    /// A page that can be written from `offset` on.
    fn writable(&self, step: usize, page: PageRef, offset: usize, bytes: usize) -> Result<PageId, CommitError> {
        let page = self.resolve(step, page)?;
        if self.nodes[page.slot as usize].derivation.is_some() {
            return Err(CommitError::Derived { page, step });
        }
        let (length, end) = (self.length(page), offset.saturating_add(bytes));
        if end > length {
            return Err(CommitError::OutOfPage { page, step, length, end });
        }
        Ok(page)
    }

    fn length(&self, page: PageId) -> usize {
        self.pages.bytes(page).map_or(0, <[u8]>::len)
    }

    /// What a page that is there holds, to be written. What it held before is saved.
    pub(crate) fn written(&mut self, page: PageId) -> &mut [u8] {
        if self.work.saved.mark(page.slot) {
            let held = self.pages.bytes(page).expect("the page is there");
            let copy = self.buffers.copy(held);
            self.exchange(page.slot, copy);
        }
        contents(self.pages.at_mut(page.slot).bytes.as_mut().expect("the page is there"))
    }

    /// Bytes for a page that is there, all of which are to be written. What it held before is saved.
    fn overwritten(&mut self, page: PageId) -> &mut [u8] {
        if self.work.saved.mark(page.slot) {
            let buffer = self.buffers.take(self.length(page));
            self.exchange(page.slot, buffer);
        }
        contents(self.pages.at_mut(page.slot).bytes.as_mut().expect("the page is there"))
    }

    /// Puts a buffer in the place of what a page holds, and saves that.
    fn exchange(&mut self, slot: u32, buffer: Arc<[u8]>) {
        let entry = self.pages.at_mut(slot);
        let Page { generation, created, changed, .. } = *entry;
        let before = Page { bytes: entry.bytes.replace(buffer), generation, created, changed };
        self.work.saved.pages.push((slot, before));
    }

    /// Makes a page of zeros.
    pub(crate) fn make_page(&mut self, step: usize, length: usize) -> Result<PageId, CommitError> {
        let page = self.add_page(step, length)?;
        self.work.structure.push(Structural::Create { page, length });
        Ok(page)
    }

    pub(crate) fn make_derived(
        &mut self,
        step: usize,
        length: usize,
        function: &FunctionName,
        dependencies: Vec<PageId>,
    ) -> Result<PageId, CommitError> {
        let derivation = self.derivation(step, function, &dependencies)?;
        let page = self.add_page(step, length)?;
        self.depend(page, derivation)?;
        self.work.structure.push(Structural::Derive { page, length, function: function.clone(), dependencies });
        Ok(page)
    }

    pub(crate) fn rederive(
        &mut self,
        step: usize,
        page: PageId,
        function: &FunctionName,
        dependencies: Vec<PageId>,
    ) -> Result<(), CommitError> {
        if self.nodes[page.slot as usize].derivation.is_none() {
            return Err(CommitError::NotDerived { page, step });
        }
        let derivation = self.derivation(step, function, &dependencies)?;
        self.depend(page, derivation)?;
        self.work.structure.push(Structural::Rederive { page, function: function.clone(), dependencies });
        Ok(())
    }

    /// Says what a page is; nothing happens if that was said already.
    pub(crate) fn describe(&mut self, step: usize, page: PageId, metadata: &Metadata) -> Result<(), CommitError> {
        if metadata.is_too_long() {
            return Err(CommitError::MetadataTooLong { step });
        }
        let node = &mut self.nodes[page.slot as usize];
        let kept = metadata.kept();
        if node.metadata == kept {
            return Ok(());
        }
        self.work.saved.nodes.push((page.slot, node.clone()));
        node.metadata = kept;
        self.work.structure.push(Structural::Describe { page, metadata: metadata.clone() });
        Ok(())
    }

    pub(crate) fn delete(&mut self, step: usize, page: PageId) -> Result<(), CommitError> {
        if let Some(&slot) = self.schedule.dependents(page.slot).first() {
            let generation = self.pages.at(slot).map_or(0, |page| page.generation);
            return Err(CommitError::InUse { page, by: PageId { slot, generation }, step });
        }
        self.save_free();
        let entry = self.pages.at(page.slot).expect("the page is there");
        self.work.saved.keep(page.slot, entry);
        let node = std::mem::take(&mut self.nodes[page.slot as usize]);
        self.work.saved.nodes.push((page.slot, node));
        self.schedule.clear(page.slot);
        let entry = self.pages.at_mut(page.slot);
        entry.bytes = None;
        entry.generation += 1;
        self.free.push(page.slot);
        self.work.structure.push(Structural::Delete { page });
        Ok(())
    }

    fn add_page(&mut self, step: usize, length: usize) -> Result<PageId, CommitError> {
        if length > PAGE_BYTES_MAX {
            return Err(CommitError::PageTooLong { step, bytes: length });
        }
        self.save_free();
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.pages.slots() == u32::MAX => return Err(CommitError::TooManyPages),
            None => {
                self.nodes.push(Node::default());
                self.pages.push()
            }
        };
        let bytes = self.buffers.take_zeroed(length);
        let entry = self.pages.at_mut(slot);
        self.work.saved.keep(slot, entry);
        entry.bytes = Some(bytes);
        entry.created = self.epoch + 1;
        let page = PageId { slot, generation: entry.generation };
        self.work.created.push(page);
        Ok(page)
    }

    fn derivation(&self, step: usize, name: &FunctionName, dependencies: &[PageId]) -> Result<Derivation, CommitError> {
        if name.name.len() > FunctionName::BYTES_MAX {
            return Err(CommitError::NameTooLong { step });
        }
        if dependencies.is_empty() {
            return Err(CommitError::NoDependencies { step });
        }
        let function = self.functions.get(name).cloned();
        let function = function.ok_or_else(|| CommitError::UnknownFunction { function: name.clone(), step })?;
        Ok(Derivation { name: name.clone(), function, dependencies: dependencies.into(), ran: 0 })
    }

    fn depend(&mut self, page: PageId, derivation: Derivation) -> Result<(), CommitError> {
        let slots: Vec<u32> = derivation.dependencies.iter().map(|page| page.slot).collect();
        self.schedule.set_dependencies(page.slot, &slots).map_err(|Cycle(slots)| {
            let named = |slot| PageId { slot, generation: self.pages.at(slot).map_or(0, |page| page.generation) };
            CommitError::Cycle { pages: slots.into_iter().map(named).collect() }
        })?;
        let held = &mut self.nodes[page.slot as usize];
        let metadata = held.metadata.clone();
        let node = std::mem::replace(held, Node { derivation: Some(derivation), metadata, ..Node::default() });
        self.work.saved.nodes.push((page.slot, node));
        self.work.to_derive.push(page.slot);
        Ok(())
    }

    fn save_free(&mut self) {
        if self.work.saved.free.is_none() {
            self.work.saved.free = Some((self.free.clone(), self.pages.slots()));
        }
    }
}
