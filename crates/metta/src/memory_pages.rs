//! States of pages in memory, as a [`MemoryWorld`](crate::MemoryWorld) has them: a copy of all that there is after each commit, which share what pages
//! hold.

use crate::open_services::OpenServices;
use crate::page_steps::{
    FoundPage, PAGE_NUMBERS_MAX, PageStep, StepPage, checked_bytes, history_too_long, no_page, numbers_of, page_steps,
};
use crate::page_types::PageType;
use crate::pages::{ChangedPage, ListedPage, PageEvent, PageName, PagePlace, PagesAnswer, PagesRequest};
use crate::services::{AnswerSize, ServiceId, ServiceKind};
use crate::world::WorldError;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const KIND: ServiceKind = ServiceKind::Pages;

/// What reads a part of what has changed.
const CHANGES: &str = "pages-changes! from a later commit on";
/// What reads a page without a list of all.
const BY_NAME: &str = "pages-read! or pages-range! with the name of a page";

/// States in memory.
#[derive(Debug)]
pub(crate) struct MemoryPages {
    /// What each folder was after each commit, from none on.
    folders: BTreeMap<String, Vec<Version>>,
    open: OpenServices<Open>,
}

impl Default for MemoryPages {
    fn default() -> Self {
        Self { folders: BTreeMap::new(), open: OpenServices::new(KIND) }
    }
}

#[derive(Debug)]
enum Open {
    Folder(String),
    Alone { version: Version, is_fixed: bool },
}

/// A state after a commit.
#[derive(Clone, Debug, Default)]
struct Version {
    epoch: u64,
    slots: Vec<Slot>,
    /// The slots without a page, the one that is used next last.
    free: Vec<u32>,
}

/// What is at a place.
#[derive(Clone, Debug, Default)]
struct Slot {
    generation: u32,
    page: Option<Page>,
    created: u64,
    changed: u64,
}

#[derive(Clone, Debug)]
struct Page {
    name: String,
    metadata: Arc<[u8]>,
    bytes: Arc<[u8]>,
}

impl MemoryPages {
    /// Does what is asked.
    pub(crate) fn ask(&mut self, request: &PagesRequest) -> Result<PagesAnswer, WorldError> {
        match request {
            PagesRequest::New => self.keep("a state", Open::Alone { version: Version::default(), is_fixed: false }),
            PagesRequest::Open { path } => self.open_folder(path),
            PagesRequest::Commit { state, .. } => {
                let (version, failed) = (self.at(*state)?, |reason| WorldError::of_service(KIND, *state, reason));
                if matches!(self.open.at(*state)?, Open::Alone { is_fixed: true, .. }) {
                    return Err(WorldError::service_is_fixed(KIND, *state));
                }
                let next = version.next(request, self.held()).map_err(failed)?;
                self.put(*state, next)
            }
            PagesRequest::Checkpoint { state } => self.versions(*state).map(|_| PagesAnswer::Done),
            PagesRequest::Snapshot { state } => {
                let version = self.at(*state)?.clone();
                self.copy(*state, version, true)
            }
            PagesRequest::Fork { state, epoch } => self.fork(*state, *epoch),
            PagesRequest::History { state, page } => self.history(*state, page),
            PagesRequest::Close { state } => self.open.close(*state).map(|_| PagesAnswer::Done),
            PagesRequest::Epoch { state } => Ok(PagesAnswer::Epoch(self.at(*state)?.epoch)),
            PagesRequest::List { state } => self.at(*state)?.list(*state),
            PagesRequest::Changes { state, since } => self.at(*state)?.changes(*state, *since),
            PagesRequest::Read { state, page, from, most } => {
                let version = self.at(*state)?;
                let read = version.find(page, &BTreeSet::new()).ok_or_else(|| no_page(page));
                let read = read.and_then(|(found, held)| numbers_of(&found, &held.bytes, *from, *most));
                read.map(PagesAnswer::Numbers).map_err(|reason| WorldError::of_service(KIND, *state, reason))
            }
        }
    }

    fn keep(&mut self, name: &str, open: Open) -> Result<PagesAnswer, WorldError> {
        self.open.check_room(name)?;
        Ok(PagesAnswer::Opened { state: self.open.keep(open), warnings: Vec::new() })
    }

    fn open_folder(&mut self, path: &str) -> Result<PagesAnswer, WorldError> {
        self.open.check_room(path)?;
        if self.open.iter().any(|open| matches!(open, Open::Folder(other) if other == path)) {
            return Err(WorldError::service_failed(path, "it is open already"));
        }
        self.folders.entry(path.to_owned()).or_insert_with(|| vec![Version::default()]);
        self.keep(path, Open::Folder(path.to_owned()))
    }

    /// All that a state was.
    fn versions(&self, state: ServiceId) -> Result<&[Version], WorldError> {
        match self.open.at(state)? {
            Open::Folder(path) => Ok(&self.folders[path]),
            Open::Alone { .. } => {
                Err(WorldError::of_service(KIND, state, "it has no folder, so what it was is not kept"))
            }
        }
    }

    /// What a state is.
    fn at(&self, state: ServiceId) -> Result<&Version, WorldError> {
        Ok(self.version(self.open.at(state)?))
    }

    fn version<'a>(&'a self, open: &'a Open) -> &'a Version {
        match open {
            Open::Folder(path) => self.folders[path].last().expect("it has begun"),
            Open::Alone { version, .. } => version,
        }
    }

    /// How many bytes the pages of all that is open have.
    fn held(&self) -> u64 {
        self.open.iter().map(|open| self.version(open).bytes()).sum()
    }

    fn put(&mut self, state: ServiceId, next: Option<Version>) -> Result<PagesAnswer, WorldError> {
        let Some(next) = next else { return Ok(PagesAnswer::Epoch(self.at(state)?.epoch)) };
        let epoch = next.epoch;
        match self.open.at_mut(state)? {
            Open::Folder(path) => self.folders.entry(path.clone()).or_default().push(next),
            Open::Alone { version, .. } => *version = next,
        }
        Ok(PagesAnswer::Epoch(epoch))
    }

    fn fork(&mut self, state: ServiceId, epoch: u64) -> Result<PagesAnswer, WorldError> {
        let now = self.at(state)?;
        let version = if epoch > now.epoch {
            let reason = format!("there is no commit {epoch}; the last one is {}", now.epoch);
            return Err(WorldError::of_service(KIND, state, reason));
        } else if epoch == now.epoch {
            now.clone()
        } else {
            self.versions(state)?.iter().find(|version| version.epoch == epoch).expect("each commit is kept").clone()
        };
        self.copy(state, version, false)
    }

    fn copy(&mut self, of: ServiceId, version: Version, is_fixed: bool) -> Result<PagesAnswer, WorldError> {
        let all = checked_bytes(self.held(), version.bytes());
        all.map_err(|reason| WorldError::of_service(KIND, of, reason))?;
        self.keep("a copy", Open::Alone { version, is_fixed })
    }

    fn history(&self, state: ServiceId, page: &PageName) -> Result<PagesAnswer, WorldError> {
        let failed = |reason| WorldError::of_service(KIND, state, reason);
        let now = self.at(state)?;
        let (found, _) = now.find(page, &BTreeSet::new()).ok_or_else(|| failed(no_page(page)))?;
        let mut left = PAGE_NUMBERS_MAX;
        let mut versions = Vec::new();
        for version in self.versions(state)? {
            let Some((slot, held)) = version.page(found.place).filter(|(slot, _)| slot.changed == version.epoch) else {
                continue;
            };
            left = left.checked_sub(found.count.max(1)).ok_or_else(|| failed(history_too_long()))?;
            versions.push((slot.changed, numbers_of(&found, &held.bytes, 0, u64::MAX).map_err(failed)?));
        }
        Ok(PagesAnswer::Versions(versions))
    }
}

impl Version {
    fn bytes(&self) -> u64 {
        self.slots.iter().filter_map(|slot| slot.page.as_ref()).map(|page| page.bytes.len() as u64).sum()
    }

    fn there(&self) -> impl Iterator<Item = (PagePlace, &Slot, &Page)> {
        (0..).zip(&self.slots).filter_map(|(number, slot)| {
            let place = PagePlace { slot: number, generation: slot.generation };
            slot.page.as_ref().map(|page| (place, slot, page))
        })
    }

    fn page(&self, place: PagePlace) -> Option<(&Slot, &Page)> {
        let slot = self.slots.get(place.slot as usize).filter(|slot| slot.generation == place.generation)?;
        Some((slot, slot.page.as_ref()?))
    }

    fn find(&self, name: &PageName, gone: &BTreeSet<PagePlace>) -> Option<(FoundPage, &Page)> {
        let is_meant = |place: PagePlace, page: &Page| match name {
            PageName::Named(name) => page.name == *name,
            PageName::At(other) => place == *other,
        };
        let mut there = self.there().filter(|(place, ..)| !gone.contains(place));
        let (place, _, page) = there.find(|(place, _, page)| is_meant(*place, page))?;
        let held = PageType::of(&page.metadata, page.bytes.len());
        Some((FoundPage { place, kind: held.kind, count: held.count() }, page))
    }

    /// What a commit makes of it; none if it changes nothing.
    fn next(&self, commit: &PagesRequest, held: u64) -> Result<Option<Self>, String> {
        let PagesRequest::Commit { changes, cause, .. } = commit else { return Ok(None) };
        if let Some(cause) = cause.filter(|cause| !(1..=self.epoch).contains(cause)) {
            return Err(format!("it is said to follow from commit {cause}, and the last one is {}", self.epoch));
        }
        let steps = page_steps(changes, held, |name, gone| self.find(name, gone).map(|(found, _)| found))?;
        let mut next = Self { epoch: self.epoch + 1, ..self.clone() };
        let is_structural = steps.iter().any(|step| !matches!(step, PageStep::Write { .. }));
        let mut made = Vec::new();
        for step in steps {
            next.apply(step, &mut made);
        }
        let mut has_changed = is_structural;
        for (number, slot) in next.slots.iter_mut().enumerate() {
            let before = self.slots.get(number);
            if !before.is_some_and(|before| slot.is_as(before)) {
                slot.changed = next.epoch;
                has_changed = true;
            }
        }
        Ok(has_changed.then_some(next))
    }

    fn apply(&mut self, step: PageStep, made: &mut Vec<PagePlace>) {
        let place_of = |page: StepPage| match page {
            StepPage::There(place) => place,
            StepPage::New(number) => made[number],
        };
        match step {
            PageStep::Create { name, metadata, bytes } => {
                let number = self.free.pop().unwrap_or_else(|| {
                    self.slots.push(Slot::default());
                    self.slots.len() as u32 - 1
                });
                let slot = &mut self.slots[number as usize];
                slot.page = Some(Page { name, metadata: metadata.into(), bytes: bytes.into() });
                slot.created = self.epoch;
                made.push(PagePlace { slot: number, generation: slot.generation });
            }
            PageStep::Write { page, offset, bytes } => {
                let slot = &mut self.slots[place_of(page).slot as usize];
                let Some(page) = &mut slot.page else { return };
                let mut held = page.bytes.to_vec();
                held[offset..offset + bytes.len()].copy_from_slice(&bytes);
                page.bytes = held.into();
            }
            PageStep::Delete { page } => {
                let place = place_of(page);
                let slot = &mut self.slots[place.slot as usize];
                slot.page = None;
                slot.generation += 1;
                self.free.push(place.slot);
            }
        }
    }

    fn list(&self, state: ServiceId) -> Result<PagesAnswer, WorldError> {
        let (mut listed, mut size) = (Vec::new(), AnswerSize::default());
        for (place, slot, page) in self.there() {
            let PageType { kind, shape } = PageType::of(&page.metadata, page.bytes.len());
            if !size.takes(page.name.len() + 8 * shape.len()) {
                return Err(WorldError::answer_too_long(KIND, state, BY_NAME));
            }
            listed.push(ListedPage { place, name: page.name.clone(), kind, shape, changed: slot.changed });
        }
        Ok(PagesAnswer::Pages(listed))
    }

    /// Of a page that was deleted it is known that it went, and not when.
    fn changes(&self, state: ServiceId, since: u64) -> Result<PagesAnswer, WorldError> {
        if since > self.epoch {
            let reason = format!("there is no commit {since}; the last one is {}", self.epoch);
            return Err(WorldError::of_service(KIND, state, reason));
        }
        let (mut changes, mut size) = (Vec::new(), AnswerSize::default());
        for (number, slot) in (0..).zip(&self.slots).filter(|(_, slot)| slot.changed > since) {
            let place = |generation| PagePlace { slot: number, generation };
            let is_new = slot.page.is_none() || slot.created > since;
            if !size.takes(slot.page.as_ref().map_or(0, |page| page.name.len())) {
                return Err(WorldError::answer_too_long(KIND, state, CHANGES));
            }
            if let Some(generation) = slot.generation.checked_sub(1).filter(|_| is_new) {
                changes.push(ChangedPage { place: place(generation), name: String::new(), event: PageEvent::Deleted });
            }
            if let Some(page) = &slot.page {
                let event = if is_new { PageEvent::Created } else { PageEvent::Written };
                changes.push(ChangedPage { place: place(slot.generation), name: page.name.clone(), event });
            }
        }
        Ok(PagesAnswer::Changes(changes))
    }
}

impl Slot {
    fn is_as(&self, before: &Self) -> bool {
        let bytes = |slot: &Self| slot.page.as_ref().map(|page| page.bytes.clone());
        self.generation == before.generation && bytes(self) == bytes(before)
    }
}
