//! What a program may ask of states of pages: pages of numbers that change together, and what they were after each commit.
//!
//! A request and its answer are plain data, so that a recording holds both and a replay needs no state.

use crate::page_types::{PageKind, PageNumber, PageNumbers};
use crate::services::ServiceId;
use serde::{Deserialize, Serialize};

/// The place of a page in its state, and how many pages had that place before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PagePlace {
    /// Counted from 0.
    pub slot: u32,
    /// Counted from 0.
    pub generation: u32,
}

/// A page, as a program names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PageName {
    /// By its name: the first page that has it, in the order of places.
    Named(String),
    /// By its place.
    At(PagePlace),
}

/// What a new page holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PageContent {
    /// As many zeros.
    Zeros(u64),
    /// These numbers.
    Numbers(Vec<PageNumber>),
}

/// A change of the pages of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum PageChange {
    /// A page is made.
    Create {
        /// Its name, which no page has yet.
        name: String,
        /// What its numbers are like.
        kind: PageKind,
        /// What it holds; it is as long as that for ever.
        content: PageContent,
    },
    /// Numbers are written, from one on, counted from 0.
    Write {
        /// To which page.
        page: PageName,
        /// The first.
        from: u64,
        /// What is written.
        numbers: Vec<PageNumber>,
    },
    /// A page goes.
    Delete {
        /// Which.
        page: PageName,
    },
}

/// What is asked of states of pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum PagesRequest {
    /// To make a state without pages that keeps nothing on the disk.
    New,
    /// To open the state in a folder, which is made if there is none.
    Open {
        /// The folder.
        path: String,
    },
    /// To make these changes together, durably.
    Commit {
        /// In which state.
        state: ServiceId,
        /// In their order.
        changes: Vec<PageChange>,
        /// Where they come from; empty if that is not said.
        source: String,
        /// The commit that they follow from.
        cause: Option<u64>,
    },
    /// Which pages there are, in the order of their places.
    List {
        /// In which state.
        state: ServiceId,
    },
    /// Numbers of a page.
    Read {
        /// Of which state.
        state: ServiceId,
        /// Which page.
        page: PageName,
        /// The first, counted from 0.
        from: u64,
        /// How many at most.
        most: u64,
    },
    /// The number of the last commit.
    Epoch {
        /// Of which state.
        state: ServiceId,
    },
    /// Which pages have changed since a commit.
    Changes {
        /// Of which state.
        state: ServiceId,
        /// The commit, or 0.
        since: u64,
    },
    /// What a page held after each commit that changed it.
    History {
        /// Of which state.
        state: ServiceId,
        /// Which page.
        page: PageName,
    },
    /// To keep the state as it is now.
    Snapshot {
        /// Which state.
        state: ServiceId,
    },
    /// To make another state that is as this one was after a commit, and keeps nothing on the disk.
    Fork {
        /// Which state.
        state: ServiceId,
        /// The commit, or 0.
        epoch: u64,
    },
    /// To write a checkpoint.
    Checkpoint {
        /// Of which state.
        state: ServiceId,
    },
    /// To close a state or a snapshot.
    Close {
        /// Which.
        state: ServiceId,
    },
}

impl PagesRequest {
    /// Whether it changes what lies outside. A commit to a state in memory counts, since nothing could take it back.
    pub fn is_outward(&self) -> bool {
        matches!(self, Self::Open { .. } | Self::Commit { .. } | Self::Checkpoint { .. })
    }

    /// The texts that it hands over.
    pub fn contents(&self) -> Vec<&[u8]> {
        match self {
            Self::Commit { changes, source, .. } => {
                let names = changes.iter().filter_map(|change| match change {
                    PageChange::Create { name, .. } => Some(name),
                    PageChange::Write { page, .. } | PageChange::Delete { page } => text_of(page),
                });
                names.chain([source]).map(String::as_bytes).collect()
            }
            Self::Read { page, .. } | Self::History { page, .. } => {
                text_of(page).map(String::as_bytes).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }
}

fn text_of(page: &PageName) -> Option<&String> {
    if let PageName::Named(name) = page { Some(name) } else { None }
}

/// A page that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedPage {
    /// Where.
    pub place: PagePlace,
    /// Its name, or nothing.
    pub name: String,
    /// What its numbers are like.
    pub kind: PageKind,
    /// How many there are in each direction; all of them are the product.
    pub shape: Vec<u64>,
    /// The last commit that changed it.
    pub changed: u64,
}

/// What has happened to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PageEvent {
    /// It was made.
    Created,
    /// It holds something else.
    Written,
    /// It went.
    Deleted,
}

/// A page to which something has happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedPage {
    /// Where it is, or was.
    pub place: PagePlace,
    /// Its name, or nothing; nothing if it went.
    pub name: String,
    /// What has happened.
    pub event: PageEvent,
}

/// What a state of pages answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum PagesAnswer {
    /// It is done.
    Done,
    /// A state or a snapshot is open.
    Opened {
        /// Which.
        state: ServiceId,
        /// What opening it has mended, or done without.
        warnings: Vec<String>,
    },
    /// The number of a commit.
    Epoch(u64),
    /// The pages that there are.
    Pages(Vec<ListedPage>),
    /// Numbers of a page.
    Numbers(PageNumbers),
    /// What has happened to pages, in the order of their places.
    Changes(Vec<ChangedPage>),
    /// What a page held after commits.
    Versions(Vec<(u64, PageNumbers)>),
}

impl PagesAnswer {
    /// The texts and the bytes of pages that it brings.
    pub fn contents(&self) -> Vec<&[u8]> {
        match self {
            Self::Pages(pages) => pages.iter().map(|page| page.name.as_bytes()).collect(),
            Self::Numbers(numbers) => vec![&numbers.bytes],
            Self::Changes(changes) => changes.iter().map(|change| change.name.as_bytes()).collect(),
            Self::Versions(versions) => versions.iter().map(|(_, numbers)| numbers.bytes.as_slice()).collect(),
            _ => Vec::new(),
        }
    }
}
