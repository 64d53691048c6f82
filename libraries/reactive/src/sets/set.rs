//! Pages of one length, in an order.

use crate::page::{PageId, Snapshot};
use crate::{Epoch, Location};
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Pages of one length, in an order, as they were in a snapshot.
///
/// They share their bytes with the snapshot. What a router keeps of them on a device belongs to the set, and goes with it.
#[derive(Debug)]
pub struct PageSet {
    members: Vec<Member>,
    page_bytes: usize,
    #[cfg(feature = "gpu")]
    pub(super) resident: Option<super::resident::Resident>,
}

/// A page of a set.
#[derive(Debug)]
struct Member {
    id: PageId,
    changed: Epoch,
    bytes: Arc<[u8]>,
}

/// Why a set cannot be made, or an operation does not take it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetError {
    /// A set has one page at least.
    Empty,
    /// The page is not there.
    NoSuchPage(PageId),
    /// Pages of a set are equally long.
    Lengths {
        /// The page that differs from the first.
        page: PageId,
        /// How long it is.
        bytes: usize,
        /// How long the first is.
        expected: usize,
    },
    /// The two sets of an operation have as many pages, of one length.
    Unlike {
        /// How many pages the first set has, and how long they are.
        left: (usize, usize),
        /// How many pages the second set has, and how long they are.
        right: (usize, usize),
    },
    /// A page does not hold what the operation needs.
    Shape {
        /// How long the pages are, in bytes.
        page_bytes: usize,
        /// What the operation needs, in words.
        needed: String,
    },
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "a set of pages needs one page at least"),
            Self::NoSuchPage(page) => write!(f, "{page} is not in the snapshot"),
            Self::Lengths { page, bytes, expected } => {
                write!(
                    f,
                    "{page} has {bytes} bytes and the first page of the set {expected}: pages of a set are equally long"
                )
            }
            Self::Unlike { left, right } => write!(
                f,
                "the sets are unlike: {} pages of {} bytes, and {} pages of {} bytes",
                left.0, left.1, right.0, right.1
            ),
            Self::Shape { page_bytes, needed } => write!(f, "the pages have {page_bytes} bytes; {needed}"),
        }
    }
}

impl Error for SetError {}

impl PageSet {
    /// The pages of these names, as the snapshot has them. Nothing is copied.
    ///
    /// # Errors
    /// There are none, one of them is not there, or their lengths differ.
    pub fn new(snapshot: &Snapshot, pages: impl IntoIterator<Item = PageId>) -> Result<Self, SetError> {
        let members: Vec<Member> =
            pages.into_iter().map(|page| Member::of(snapshot, page)).collect::<Result<_, _>>()?;
        let page_bytes = members.first().ok_or(SetError::Empty)?.bytes.len();
        if let Some(other) = members.iter().find(|member| member.bytes.len() != page_bytes) {
            return Err(SetError::Lengths { page: other.id, bytes: other.bytes.len(), expected: page_bytes });
        }
        Ok(Self {
            members,
            page_bytes,
            #[cfg(feature = "gpu")]
            resident: None,
        })
    }

    /// A set of pages that are of no state.
    #[cfg(any(test, feature = "gpu"))]
    pub(super) fn of_bytes(pages: Vec<Arc<[u8]>>) -> Self {
        let page_bytes = pages.first().map_or(0, |page| page.len());
        let member = |(slot, bytes)| Member { id: PageId::new(slot, 0), changed: 0, bytes };
        Self {
            members: (0..).zip(pages).map(member).collect(),
            page_bytes,
            #[cfg(feature = "gpu")]
            resident: None,
        }
    }

    /// Takes the pages as a later snapshot has them; gives how many have changed. A copy on a device is stale until the set is made resident
    /// again (`Router::make_resident`, with the feature `gpu`): until then the processor does what is asked of the set.
    ///
    /// # Errors
    /// A page is not there any more, and the set stays as it was. The length of a page cannot change.
    pub fn follow(&mut self, snapshot: &Snapshot) -> Result<usize, SetError> {
        let later: Vec<Member> =
            self.members.iter().map(|member| Member::of(snapshot, member.id)).collect::<Result<_, _>>()?;
        let is_changed = |(old, new): &(&Member, &Member)| !Arc::ptr_eq(&old.bytes, &new.bytes);
        let changed = self.members.iter().zip(&later).filter(is_changed).count();
        self.members = later;
        Ok(changed)
    }

    /// How many pages it has: one at least.
    #[expect(clippy::len_without_is_empty, reason = "a set is never empty")]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// How long each page is, in bytes.
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// How long all pages are together, in bytes.
    pub fn bytes(&self) -> usize {
        self.page_bytes * self.members.len()
    }

    /// The pages, in order.
    pub fn ids(&self) -> impl Iterator<Item = PageId> {
        self.members.iter().map(|member| member.id)
    }

    /// What the pages hold, in order.
    pub fn contents(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.members.iter().map(|member| &*member.bytes)
    }

    /// The last commit that had changed each page, in order.
    pub fn changed(&self) -> impl Iterator<Item = Epoch> {
        self.members.iter().map(|member| member.changed)
    }

    /// Where a page of the set lies; none if there is no such page. A copy that is not current, or on a device
    /// that is known to be lost, is not a location: a router finds out when it next sends something there.
    pub fn location(&self, index: usize) -> Option<Location> {
        let member = self.members.get(index)?;
        #[cfg(feature = "gpu")]
        if self.resident.as_ref().is_some_and(|resident| resident.is_current_at(index, &member.bytes)) {
            return Some(Location::MemoryAndGpu);
        }
        let _ = member;
        Some(Location::Memory)
    }

    /// The bytes of the pages, to be told apart from others by their addresses.
    #[cfg(feature = "gpu")]
    pub(super) fn shared(&self) -> impl ExactSizeIterator<Item = &Arc<[u8]>> {
        self.members.iter().map(|member| &member.bytes)
    }
}

impl Member {
    fn of(snapshot: &Snapshot, id: PageId) -> Result<Self, SetError> {
        let found = snapshot.share(id).zip(snapshot.changed(id));
        found.map(|(bytes, changed)| Self { id, changed, bytes }).ok_or(SetError::NoSuchPage(id))
    }
}
