//! What the changes of a program come to for the pages of a state: the steps that a world makes, in which names are places and numbers are bytes.
//!
//! 1. A page is looked for among those that earlier changes have made, and then in the state, unless an earlier change has deleted it.
//! 2. What cannot be made is found here, for all worlds alike: a page that is not there, a name that is taken, numbers that do not fit.

use crate::page_types::{PageKind, PageNumber, PageNumbers};
use crate::pages::{PageChange, PageContent, PageName, PagePlace};
use std::collections::{BTreeMap, BTreeSet};

/// How many bytes the pages of all states, forks and snapshots that a program has open may have, if one more is made.
pub(crate) const PAGES_BYTES_MAX: u64 = 1 << 30;

/// How many bytes the name of a page may have.
const NAME_BYTES_MAX: usize = 1 << 10;

/// How many numbers one answer may have.
pub const PAGE_NUMBERS_MAX: u64 = 1 << 22;

/// A page of a state, as a world finds it.
#[derive(Clone, Debug)]
pub struct FoundPage {
    /// Where it is.
    pub place: PagePlace,
    /// What its numbers are like.
    pub kind: PageKind,
    /// How many it has.
    pub count: u64,
}

/// A page, as a step names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepPage {
    /// One of the state.
    There(PagePlace),
    /// One that these steps make: how many they make before it.
    New(usize),
}

/// A step of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageStep {
    /// Makes a page.
    Create {
        /// Its name.
        name: String,
        /// What is kept with it.
        metadata: Vec<u8>,
        /// What it holds.
        bytes: Vec<u8>,
    },
    /// Writes bytes.
    Write {
        /// To which page.
        page: StepPage,
        /// From which byte on.
        offset: usize,
        /// What.
        bytes: Vec<u8>,
    },
    /// Deletes a page.
    Delete {
        /// Which.
        page: StepPage,
    },
}

/// The steps of these changes. `find` finds a page of the state that is not among those that are deleted, and `held` says how many bytes
/// all pages have that the program has open.
///
/// # Errors
/// Why a change cannot be made.
pub fn page_steps(
    changes: &[PageChange],
    held: u64,
    find: impl Fn(&PageName, &BTreeSet<PagePlace>) -> Option<FoundPage>,
) -> Result<Vec<PageStep>, String> {
    let mut planned = Planned { find, made: BTreeMap::new(), made_count: 0, gone: BTreeSet::new(), held };
    changes.iter().map(|change| planned.step(change)).collect()
}

/// What earlier changes come to.
struct Planned<F> {
    find: F,
    /// The pages that they make and do not delete: how many were made before, of which kind and how long each is.
    made: BTreeMap<String, (usize, PageKind, u64)>,
    made_count: usize,
    /// The pages of the state that they delete.
    gone: BTreeSet<PagePlace>,
    held: u64,
}

impl<F: Fn(&PageName, &BTreeSet<PagePlace>) -> Option<FoundPage>> Planned<F> {
    fn step(&mut self, change: &PageChange) -> Result<PageStep, String> {
        match change {
            PageChange::Create { name, kind, content } => self.create(name, *kind, content),
            PageChange::Write { page, from, numbers } => {
                let (found, kind, count) = self.look(page)?;
                let given = numbers.len() as u64;
                if from.checked_add(given).is_none_or(|end| end > count) {
                    let shown = shown_page(page);
                    return Err(format!("{shown} has {count} numbers, and {given} from number {from} on are written"));
                }
                let offset = usize::try_from(*from).map_err(|error| error.to_string())? * kind.width();
                Ok(PageStep::Write { page: found, offset, bytes: bytes_of(kind, numbers)? })
            }
            PageChange::Delete { page } => {
                let (found, kind, count) = self.look(page)?;
                self.held = self.held.saturating_sub(count * kind.width() as u64);
                match found {
                    StepPage::New(number) => self.made.retain(|_, (made, ..)| *made != number),
                    StepPage::There(place) => _ = self.gone.insert(place),
                }
                Ok(PageStep::Delete { page: found })
            }
        }
    }

    fn create(&mut self, name: &str, kind: PageKind, content: &PageContent) -> Result<PageStep, String> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return Err(format!("a page has a name of 1 to {NAME_BYTES_MAX} bytes, and this one has {}", name.len()));
        }
        let named = PageName::Named(name.to_owned());
        if self.made.contains_key(name) || (self.find)(&named, &self.gone).is_some() {
            return Err(format!("there is a page {name:?} already; write to it, or choose another name"));
        }
        let count = match content {
            PageContent::Zeros(count) => *count,
            PageContent::Numbers(numbers) => numbers.len() as u64,
        };
        let bytes = count.saturating_mul(kind.width() as u64);
        self.held = checked_bytes(self.held, bytes)?;
        let bytes = match content {
            PageContent::Zeros(_) => vec![0; usize::try_from(bytes).map_err(|error| error.to_string())?],
            PageContent::Numbers(numbers) => bytes_of(kind, numbers)?,
        };
        self.made.insert(name.to_owned(), (self.made_count, kind, count));
        self.made_count += 1;
        Ok(PageStep::Create { name: name.to_owned(), metadata: kind.metadata(count), bytes })
    }

    fn look(&self, page: &PageName) -> Result<(StepPage, PageKind, u64), String> {
        let made = match page {
            PageName::Named(name) => self.made.get(name),
            PageName::At(_) => None,
        };
        if let Some((number, kind, count)) = made {
            return Ok((StepPage::New(*number), *kind, *count));
        }
        let found = (self.find)(page, &self.gone).ok_or_else(|| no_page(page))?;
        Ok((StepPage::There(found.place), found.kind, found.count))
    }
}

/// How many bytes all pages have that are open, if they have `held` now and some more are made.
///
/// # Errors
/// They are more than may be.
pub fn checked_bytes(held: u64, more: u64) -> Result<u64, String> {
    let all = held.saturating_add(more);
    if all <= PAGES_BYTES_MAX {
        return Ok(all);
    }
    Err(format!(
        "with {more} bytes more all pages that are open, with those of snapshots and forks, have more than {PAGES_BYTES_MAX} bytes; delete some, \
         or close a state with pages-close!"
    ))
}

fn bytes_of(kind: PageKind, numbers: &[PageNumber]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(numbers.len() * kind.width());
    for number in numbers {
        bytes.extend(kind.bytes(*number)?);
    }
    Ok(bytes)
}

/// That a page is not there.
pub fn no_page(page: &PageName) -> String {
    format!("there is no {}; pages-list! gives those that there are", shown_page(page))
}

/// A page, as people read it.
pub fn shown_page(page: &PageName) -> String {
    match page {
        PageName::Named(name) => format!("page {name:?}"),
        PageName::At(PagePlace { slot, generation: 0 }) => format!("page {slot}"),
        PageName::At(PagePlace { slot, generation }) => format!("page {slot}.{generation}"),
    }
}

/// At most `most` numbers of a page, from number `from` on.
///
/// # Errors
/// The page ends before, or they are more than [`PAGE_NUMBERS_MAX`].
pub fn numbers_of(page: &FoundPage, bytes: &[u8], from: u64, most: u64) -> Result<PageNumbers, String> {
    let FoundPage { kind, count, .. } = page;
    let Some(left) = count.checked_sub(from) else {
        return Err(format!("the page has {count} numbers, and those from number {from} on are read"));
    };
    let taken = left.min(most);
    if taken > PAGE_NUMBERS_MAX {
        return Err(format!(
            "{taken} numbers are read, more than {PAGE_NUMBERS_MAX}; read them in parts, with pages-range!"
        ));
    }
    let place =
        |number: u64| usize::try_from(number).map(|number| number * kind.width()).map_err(|error| error.to_string());
    let found = bytes.get(place(from)?..place(from + taken)?);
    let bytes = found.ok_or("the page has other bytes than was said of it")?.to_vec();
    Ok(PageNumbers { kind: *kind, bytes })
}

/// That a history has more numbers than an answer may have.
pub fn history_too_long() -> String {
    format!(
        "what the page held comes to more than {PAGE_NUMBERS_MAX} numbers; look at it after one commit with pages-fork! and pages-read!"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps of changes to a state with two pages of one name.
    fn planned(changes: &[PageChange]) -> Result<Vec<PageStep>, String> {
        page_steps(changes, 0, |page, gone| {
            let mut there = (0..2).map(|slot| PagePlace { slot, generation: 0 }).filter(|place| !gone.contains(place));
            let place = there.find(|place| match page {
                PageName::Named(name) => name == "twin",
                PageName::At(other) => place == other,
            });
            place.map(|place| FoundPage { place, kind: PageKind::I2, count: 3 })
        })
    }

    fn named(name: &str) -> PageName {
        PageName::Named(name.to_owned())
    }

    fn create(name: &str) -> PageChange {
        PageChange::Create { name: name.to_owned(), kind: PageKind::U1, content: PageContent::Zeros(2) }
    }

    #[test]
    fn changes_see_what_earlier_ones_have_made_and_deleted() {
        let write = |page: PageName| PageChange::Write { page, from: 1, numbers: vec![PageNumber::Int(7)] };
        let steps =
            planned(&[create("a"), create("b"), write(named("b")), write(named("twin"))]).expect("all can be made");
        let written = |page, offset, bytes| PageStep::Write { page, offset, bytes };
        let first = StepPage::There(PagePlace { slot: 0, generation: 0 });
        assert_eq!(steps[2..], [written(StepPage::New(1), 1, vec![7]), written(first, 2, vec![7, 0])]);

        let delete = |page: PageName| PageChange::Delete { page };
        let twice = [delete(named("twin")), delete(named("twin"))];
        let steps = planned(&[&[create("a"), delete(named("a")), create("a")], &twice[..], &[create("twin")]].concat());
        assert_eq!(steps.expect("names are free again").len(), 6);
        for refused in [
            &[create("twin")][..],
            &[create("a"), create("a")],
            &[delete(named("twin")), create("twin")],
            &[twice[0].clone(), twice[1].clone(), write(named("twin"))],
            &[create("a"), delete(named("a")), write(named("a"))],
            &[PageChange::Write { page: named("twin"), from: 3, numbers: vec![PageNumber::Int(0)] }],
            &[PageChange::Write { page: named("twin"), from: u64::MAX, numbers: vec![PageNumber::Int(0)] }],
            &[create("")],
        ] {
            assert!(planned(refused).is_err(), "{refused:?}");
        }
    }

    #[test]
    fn pages_have_an_end_however_many_are_made() {
        let large = |name: &str, count| PageChange::Create {
            name: name.to_owned(),
            kind: PageKind::F8,
            content: PageContent::Zeros(count),
        };
        assert!(planned(&[large("a", u64::MAX)]).is_err() && planned(&[large("a", (1 << 27) + 1)]).is_err());
        let none = |_: &PageName, _: &BTreeSet<PagePlace>| None;
        assert!(page_steps(&[large("a", 1)], PAGES_BYTES_MAX - 8, none).is_ok());
        assert!(page_steps(&[large("a", 1)], PAGES_BYTES_MAX - 7, none).is_err());
    }
}
