//! What functions return: 0, or the number of an error. The header has the same numbers, which a test compares.

use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use region::{FreezeError, Full, HandleError, Limit, NoParking, NoReader, NotParked, Refused};

macro_rules! statuses {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        /// What became of a call.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(i32)]
        pub(crate) enum Status {
            $(#[doc = concat!("`", stringify!($number), "`")] $name = $number,)*
        }

        /// All of them: name, number and text.
        const ALL: &[(&str, i32, &CStr)] = &[$((stringify!($name), $number, $text),)*];
    };
}

statuses! {
    Ok = 0, c"no error";
    Null = 1, c"an argument is NULL where something must be; pass a pointer to it";
    NoHeap = 2, c"this thread has no such heap: it was closed, belongs to another thread, or never was";
    NoRegion = 3, c"no region of this heap ever had this handle; use one that it gave out";
    Freed = 4, c"the region was freed; retain a region that is to be used after it is closed";
    Closed = 5, c"the region was closed before; nothing more can be made in it or closed";
    HasChildren = 6, c"regions within the region are still open; close them first";
    Retained = 7, c"the region is retained and cannot be joined to another; release it, or copy what is wanted";
    Tethered = 8, c"the region is tethered and cannot be joined to another; end the tethers, or copy what is wanted";
    NotRetained = 9, c"the region is not retained by its owner; release it once a retain";
    NotTethered = 10, c"the region is not tethered; end a tether once";
    Foreign = 11, c"the value lies in a region that may be freed first; copy it, or let this region refer to it";
    Same = 12, c"both regions are the same; give two";
    TooMany = 13, c"too many to be counted; release some first";
    HeapLimit = 14, c"the heap is full: its limit is reached; raise it, or hold on to less";
    RegionLimit = 15, c"the region is full: its limit is reached; raise it, or hold on to less";
    Addresses = 16, c"the heap is full: it can address no more; hold on to less";
    NumberAddresses = 17, c"the heap is full: its numbers can be addressed no further; hold on to less";
    TooLong = 18, c"too long: an expression, a list or an array has at most 67108864 elements; split it";
    TooManyBytes = 19, c"too long: a string or a buffer has at most 268435456 bytes; split it";
    TooManyEntries = 20, c"too large: a map has at most 16777216 entries; split it";
    NoMemory = 21, c"the system refused memory; hold on to less";
    WrongKind = 22, c"the value is of another kind than the function is for; ask mnr_kind first";
    OutOfRange = 23, c"a position or a size is out of range; compare it with the length first";
    NotText = 24, c"the bytes are not UTF-8, so they cannot be a string; make a buffer";
    Ring = 25, c"the variable would be bound to itself; bind to another value";
    StaleMark = 26, c"the mark is of another region, was changed, or its region was rewound to an earlier one; take a new one";
    Dangling = 27, c"something refers out of what is frozen; copy that into the region first";
    NoSlot = 28, c"no more regions can be frozen; close some";
    FrozenClosed = 29, c"the frozen region was closed; start tethers before its owner closes it";
    FrozenGone = 30, c"there is no such frozen region: its memory was given back, or it never was";
    NoTether = 31, c"there is no such tether: it was never started, or has ended already";
    NoReaders = 32, c"too many threads read without tethers; let some rest and end, or use tethers";
    NoKey = 33, c"the map has no such key";
    TooSmall = 34, c"the room is too small for what is to be written; the count says how much there is";
    Broken = 35, c"a value was used that outlived its region, or there is a defect in the library; check with mnr_dangling";
}

thread_local! {
    static LAST: RefCell<Failed> = const { RefCell::new(Failed { status: Status::Ok, detail: None }) };
}

/// Why a call was refused: the number of it, and what there is to say of this case beyond its text.
///
/// Two words, so that a result with it travels in registers.
#[derive(Debug)]
pub(crate) struct Failed {
    status: Status,
    #[allow(clippy::box_collection)]
    detail: Option<Box<String>>,
}

impl Failed {
    #[cold]
    fn new(status: Status, error: impl Display) -> Failed {
        Failed { status, detail: Some(Box::new(error.to_string())) }
    }
}

pub(crate) type Outcome<T = ()> = Result<T, Failed>;

impl From<Status> for Failed {
    fn from(status: Status) -> Failed {
        Failed { status, detail: None }
    }
}

impl From<Full> for Failed {
    fn from(full: Full) -> Failed {
        let status = match full.limit() {
            Limit::Bytes => Status::HeapLimit,
            Limit::Region => Status::RegionLimit,
            Limit::Addresses => Status::Addresses,
            Limit::NumberAddresses => Status::NumberAddresses,
            Limit::Length => Status::TooLong,
            Limit::ByteLength => Status::TooManyBytes,
            Limit::Entries => Status::TooManyEntries,
            Limit::Memory | Limit::Reservation => Status::NoMemory,
            _ => Status::HeapLimit,
        };
        Failed::new(status, full)
    }
}

impl From<HandleError> for Failed {
    fn from(error: HandleError) -> Failed {
        let status = match error {
            HandleError::Full(full) => return full.into(),
            HandleError::Unknown => Status::NoRegion,
            HandleError::Freed => Status::Freed,
            HandleError::Closed => Status::Closed,
            HandleError::HasChildren(_) => Status::HasChildren,
            HandleError::Retained(_) => Status::Retained,
            HandleError::Tethered(_) => Status::Tethered,
            HandleError::NotRetained => Status::NotRetained,
            HandleError::NotTethered => Status::NotTethered,
            HandleError::Foreign(_) => Status::Foreign,
            HandleError::Same => Status::Same,
            HandleError::TooMany => Status::TooMany,
            _ => Status::Broken,
        };
        Failed::new(status, error)
    }
}

impl From<FreezeError> for Failed {
    fn from(error: FreezeError) -> Failed {
        let status = match error {
            FreezeError::Full(full) => return full.into(),
            FreezeError::Dangling(_) => Status::Dangling,
            _ => Status::NoSlot,
        };
        Failed::new(status, error)
    }
}

impl From<Refused> for Failed {
    fn from(error: Refused) -> Failed {
        let status = match error {
            Refused::Closed => Status::FrozenClosed,
            Refused::Stale => Status::FrozenGone,
            _ => Status::TooMany,
        };
        Failed::new(status, error)
    }
}

impl From<NotParked> for Failed {
    fn from(error: NotParked) -> Failed {
        Failed::new(Status::NoTether, error)
    }
}

impl From<NoParking> for Failed {
    fn from(error: NoParking) -> Failed {
        Failed::new(Status::TooMany, error)
    }
}

impl From<NoReader> for Failed {
    fn from(error: NoReader) -> Failed {
        Failed::new(Status::NoReaders, error)
    }
}

/// Does what a function is for. Nothing unwinds into code of another language.
pub(crate) fn guard(work: impl FnOnce() -> Outcome) -> Status {
    let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Status::Broken.into()));
    match result {
        Ok(()) => Status::Ok,
        Err(failed) => {
            let status = failed.status;
            // A thread that ends has nowhere to keep it, and nobody to ask for it.
            let _ = LAST.try_with(|last| *last.borrow_mut() = failed);
            status
        }
    }
}

fn text(status: i32) -> &'static CStr {
    let known = ALL.iter().find(|(_, number, _)| *number == status);
    known.map_or(c"no error of this library has this number", |(_, _, text)| text)
}

#[unsafe(no_mangle)]
extern "C" fn mnr_error_text(status: i32) -> *const c_char {
    text(status).as_ptr()
}

/// What this thread's last error said, for as long as the copy below takes.
pub(crate) fn last_message<T>(read: impl FnOnce(&str) -> T) -> Option<T> {
    let read_of = |last: &Failed| match &last.detail {
        Some(detail) => read(detail),
        None => read(&text(last.status as i32).to_string_lossy()),
    };
    LAST.try_with(|last| read_of(&last.borrow())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `HasChildren` is `MNR_HAS_CHILDREN`.
    fn in_header(name: &str) -> String {
        let upper = |c: char| if c.is_uppercase() { format!("_{c}") } else { c.to_uppercase().to_string() };
        format!("MNR{}", name.chars().map(upper).collect::<String>())
    }

    #[test]
    fn the_header_has_the_same_numbers() {
        let header = include_str!("../include/metroon_region.h");
        for (at, (name, number, text)) in ALL.iter().enumerate() {
            let entry = format!(" {} = {number}", in_header(name));
            assert!(header.contains(&format!("{entry},")) || header.contains(&format!("{entry}\n")), "{entry}");
            assert_eq!(*number as usize, at);
            assert!(!text.is_empty());
        }
    }

    #[test]
    fn results_travel_in_registers() {
        assert_eq!(size_of::<Outcome>(), 16);
    }

    #[test]
    fn nothing_unwinds() {
        assert_eq!(guard(|| panic!("a defect")), Status::Broken);
        assert_eq!(guard(|| Err(Status::Ring.into())), Status::Ring);
        assert_eq!(last_message(str::to_owned).unwrap_or_default(), text(Status::Ring as i32).to_string_lossy());
    }
}
