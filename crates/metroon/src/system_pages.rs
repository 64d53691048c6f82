//! The states of pages that a program has open, in memory and on the disk.

use metta::{
    AnswerSize, ChangedPage, FoundPage, ListedPage, OpenServices, PAGE_NUMBERS_MAX, PageEvent, PageName, PagePlace,
    PageStep, PageType, PagesAnswer, PagesRequest, ServiceId, ServiceKind, StepPage, WorldError, checked_bytes,
    history_too_long, no_page, numbers_of, page_steps,
};
use reactive::{Change, Functions, Metadata, NewPage, OpenError, Options, PageId, PageRef, State, Transaction};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::ops::ControlFlow;

const KIND: ServiceKind = ServiceKind::Pages;

/// What reads a part of what has changed.
const CHANGES: &str = "pages-changes! from a later commit on";
/// What reads a page without a list of all.
const BY_NAME: &str = "pages-read! or pages-range! with the name of a page";

/// What one process's program has open.
pub(crate) struct SystemPages {
    open: OpenServices<Opened>,
}

impl Default for SystemPages {
    fn default() -> Self {
        Self { open: OpenServices::new(KIND) }
    }
}

struct Opened {
    state: State,
    is_fixed: bool,
    /// The pages of each name, in the order of their places.
    names: BTreeMap<String, BTreeSet<PageId>>,
    /// How many bytes all pages have.
    bytes: u64,
}

/// What is done to a state is on the disk when the call ends.
fn options() -> Options {
    Options::default().durability(journal::Durability::Fsync)
}

/// Why a folder is not opened. Nobody can give functions to a program.
fn not_opened(path: &str, error: &OpenError) -> WorldError {
    let reason = match error {
        OpenError::UnknownFunction { function, epoch } => format!(
            "commit {epoch} derives a page by {function}, which no program in MeTTa has; open it in Python or Rust, where its functions are"
        ),
        error => error.to_string(),
    };
    WorldError::service_failed(path, reason)
}

impl SystemPages {
    /// Does what is asked.
    pub(crate) fn ask(&mut self, request: &PagesRequest) -> Result<PagesAnswer, WorldError> {
        match request {
            PagesRequest::New => {
                self.open.check_room("a state")?;
                Ok(self.keep(Opened::new(State::new(Functions::new(), options()), false), Vec::new()))
            }
            PagesRequest::Open { path } => {
                self.open.check_room(path)?;
                let opened = State::open_in(path, Functions::new(), options());
                let (state, warnings) = opened.map_err(|error| not_opened(path, &error))?;
                let warnings = warnings.iter().map(|warning| format!("{path}: {warning}")).collect();
                Ok(self.keep(Opened::new(state, false), warnings))
            }
            PagesRequest::Snapshot { state } => {
                let epoch = self.open.at(*state)?.state.epoch();
                self.fork(*state, epoch, true)
            }
            PagesRequest::Fork { state, epoch } => self.fork(*state, *epoch, false),
            PagesRequest::Commit { state, .. } => {
                let held = self.held();
                self.open.at_mut(*state)?.commit(*state, request, held)
            }
            PagesRequest::Checkpoint { state } => {
                self.open.at_mut(*state)?.state.checkpoint().map_err(|error| failed(*state, &error))?;
                Ok(PagesAnswer::Done)
            }
            PagesRequest::Changes { state, since } => self.open.at(*state)?.changes(*state, *since),
            PagesRequest::Epoch { state } => Ok(PagesAnswer::Epoch(self.open.at(*state)?.state.epoch())),
            PagesRequest::List { state } => self.open.at(*state)?.list(*state),
            PagesRequest::Read { state, page, from, most } => {
                let open = self.open.at(*state)?;
                let (id, found) = open.found(*state, page)?;
                let bytes = open.state.read(id).unwrap_or_default();
                let numbers = numbers_of(&found, bytes, *from, *most).map_err(|reason| failed(*state, &reason))?;
                Ok(PagesAnswer::Numbers(numbers))
            }
            PagesRequest::History { state, page } => self.open.at(*state)?.history(*state, page),
            PagesRequest::Close { state } => self.open.close(*state).map(|_| PagesAnswer::Done),
            _ => Err(WorldError::service_failed(
                "a state",
                "this version of the engine does not know what is asked of it",
            )),
        }
    }

    fn keep(&mut self, opened: Opened, warnings: Vec<String>) -> PagesAnswer {
        PagesAnswer::Opened { state: self.open.keep(opened), warnings }
    }

    /// How many bytes the pages of all that is open have.
    fn held(&self) -> u64 {
        self.open.iter().map(|open| open.bytes).sum()
    }

    fn fork(&mut self, state: ServiceId, epoch: u64, is_fixed: bool) -> Result<PagesAnswer, WorldError> {
        self.open.check_room("a state")?;
        let fork = self.open.at(state)?.state.fork(epoch).map_err(|error| failed(state, &error))?;
        let fork = Opened::new(fork, is_fixed);
        checked_bytes(self.held(), fork.bytes).map_err(|reason| failed(state, &reason))?;
        Ok(self.keep(fork, Vec::new()))
    }
}

fn failed(state: ServiceId, error: &dyn Display) -> WorldError {
    WorldError::of_service(KIND, state, error.to_string())
}

fn place_of(page: PageId) -> PagePlace {
    PagePlace { slot: page.slot(), generation: page.generation() }
}

fn id_of(place: PagePlace) -> PageId {
    PageId::new(place.slot, place.generation)
}

impl Opened {
    fn new(state: State, is_fixed: bool) -> Self {
        let mut opened = Self { state, is_fixed, names: BTreeMap::new(), bytes: 0 };
        opened.look();
        opened
    }

    /// Finds out which pages there are. It takes a look at each.
    fn look(&mut self) {
        self.names.clear();
        self.bytes = 0;
        for page in self.state.pages() {
            self.bytes += self.state.read(page).map_or(0, <[u8]>::len) as u64;
            if let Some(metadata) = self.state.metadata(page).filter(|metadata| !metadata.name.is_empty()) {
                self.names.entry(metadata.name.clone()).or_default().insert(page);
            }
        }
    }

    fn find(&self, name: &PageName, gone: &BTreeSet<PagePlace>) -> Option<FoundPage> {
        let id = match name {
            PageName::Named(name) => *self.names.get(name)?.iter().find(|&&page| !gone.contains(&place_of(page)))?,
            PageName::At(place) => Some(id_of(*place)).filter(|_| !gone.contains(place))?,
        };
        let held = self.type_of(id)?;
        Some(FoundPage { place: place_of(id), kind: held.kind, count: held.count() })
    }

    fn found(&self, state: ServiceId, page: &PageName) -> Result<(PageId, FoundPage), WorldError> {
        let found = self.find(page, &BTreeSet::new()).ok_or_else(|| failed(state, &no_page(page)))?;
        Ok((id_of(found.place), found))
    }

    /// What a page holds; none if it is not there.
    fn type_of(&self, page: PageId) -> Option<PageType> {
        let length = self.state.read(page)?.len();
        Some(PageType::of(self.state.metadata(page).map_or(&[], |metadata| &metadata.bytes), length))
    }

    fn commit(&mut self, state: ServiceId, commit: &PagesRequest, held: u64) -> Result<PagesAnswer, WorldError> {
        if self.is_fixed {
            return Err(WorldError::service_is_fixed(KIND, state));
        }
        let PagesRequest::Commit { changes, source, cause, .. } = commit else { return Ok(PagesAnswer::Done) };
        let steps = page_steps(changes, held, |page, gone| self.find(page, gone));
        let steps = steps.map_err(|reason| failed(state, &reason))?;
        let mut transaction = Transaction::new().source(source.as_str());
        if let Some(cause) = cause {
            transaction = transaction.caused_by(*cause);
        }
        let has_other_pages = add_steps(&mut transaction, &steps);
        let committed = self.state.commit(&transaction).map_err(|error| failed(state, &error))?;
        if has_other_pages {
            self.look();
        }
        Ok(PagesAnswer::Epoch(committed.epoch))
    }

    fn name_of(&self, page: PageId) -> String {
        self.state.metadata(page).map(|metadata| metadata.name.clone()).unwrap_or_default()
    }

    fn list(&self, state: ServiceId) -> Result<PagesAnswer, WorldError> {
        let (mut listed, mut size) = (Vec::new(), AnswerSize::default());
        for page in self.state.pages() {
            let (Some(held), Some(changed)) = (self.type_of(page), self.state.changed(page)) else { continue };
            let (name, PageType { kind, shape }) = (self.name_of(page), held);
            if !size.takes(name.len() + 8 * shape.len()) {
                return Err(WorldError::answer_too_long(KIND, state, BY_NAME));
            }
            listed.push(ListedPage { place: place_of(page), name, kind, shape, changed });
        }
        Ok(PagesAnswer::Pages(listed))
    }

    fn changes(&self, state: ServiceId, since: u64) -> Result<PagesAnswer, WorldError> {
        let last = self.state.epoch();
        if since > last {
            return Err(failed(state, &OpenError::NoSuchEpoch { epoch: since, last }));
        }
        let (mut changes, mut size) = (Vec::new(), AnswerSize::default());
        for (page, change) in self.state.changes_since(since).changes {
            let (name, event) = match change {
                Change::Created => (self.name_of(page), PageEvent::Created),
                Change::Written { .. } => (self.name_of(page), PageEvent::Written),
                Change::Deleted => (String::new(), PageEvent::Deleted),
            };
            if !size.takes(name.len()) {
                return Err(WorldError::answer_too_long(KIND, state, CHANGES));
            }
            changes.push(ChangedPage { place: place_of(page), name, event });
        }
        Ok(PagesAnswer::Changes(changes))
    }

    fn history(&self, state: ServiceId, page: &PageName) -> Result<PagesAnswer, WorldError> {
        let (id, found) = self.found(state, page)?;
        let (mut left, mut versions, mut wrong) = (PAGE_NUMBERS_MAX, Vec::new(), None);
        let read = self.state.each_version(id, |epoch, bytes| {
            let room = left.checked_sub(found.count.max(1)).ok_or_else(history_too_long);
            match room.and_then(|room| Ok((room, numbers_of(&found, bytes, 0, u64::MAX)?))) {
                Ok((room, numbers)) => {
                    left = room;
                    versions.push((epoch, numbers));
                    ControlFlow::Continue(())
                }
                Err(reason) => {
                    wrong = Some(reason);
                    ControlFlow::Break(())
                }
            }
        });
        read.map_err(|error| failed(state, &error))?;
        wrong.map_or(Ok(PagesAnswer::Versions(versions)), |reason| Err(failed(state, &reason)))
    }
}

/// Adds steps to a transaction. Whether other pages are there after them.
fn add_steps(transaction: &mut Transaction, steps: &[PageStep]) -> bool {
    let mut made: Vec<NewPage> = Vec::new();
    let mut has_other_pages = false;
    for step in steps {
        let named = |page: StepPage| match page {
            StepPage::There(place) => PageRef::Existing(id_of(place)),
            StepPage::New(number) => PageRef::New(made[number]),
        };
        match step {
            PageStep::Create { name, metadata, bytes } => {
                let page = transaction.create(bytes);
                transaction.describe(page, Metadata { name: name.clone(), bytes: metadata.clone() });
                made.push(page);
                has_other_pages = true;
            }
            PageStep::Write { page, offset, bytes } => transaction.write(named(*page), *offset, bytes),
            PageStep::Delete { page } => {
                transaction.delete(named(*page));
                has_other_pages = true;
            }
        }
    }
    has_other_pages
}
