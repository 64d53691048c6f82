//! Tethers by number, for code in other languages, which can hold numbers only.
//!
//! A tether that is parked lies in a table. Its number says where, and below that the generation of the entry, which rises each
//! time: to end a tether twice, or one that was never started, is an error and takes nothing from anybody. An entry whose
//! generations are used up is not used again.
//!
//! Cost: a lock to park and to take.

use std::error::Error;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::tether::Tether;

/// There is no tether of this number: it was never parked, or was taken already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotParked(u64);

impl fmt::Display for NotParked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no tether {}: it was never started, or has ended already", self.0)
    }
}

impl Error for NotParked {}

/// The tether could not be parked, and is here again: the table is full, or the system refused memory for it.
#[derive(Debug)]
pub struct NoParking(pub Tether);

impl fmt::Display for NoParking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no room for one more tether by number: end some")
    }
}

impl Error for NoParking {}

struct Table {
    entries: Vec<Entry>,
    free: Vec<u32>,
}

struct Entry {
    generation: u32,
    tether: Option<Tether>,
}

static TABLE: Mutex<Table> = Mutex::new(Table { entries: Vec::new(), free: Vec::new() });

fn table() -> MutexGuard<'static, Table> {
    // Nothing that holds the lock can panic with the table in disorder.
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tether {
    /// Parks this tether. It goes on until it is [taken](Tether::take) by the number that this gives, which is not 0.
    pub fn park(self) -> Result<u64, NoParking> {
        let mut table = table();
        let Some(at) = table.place() else { return Err(NoParking(self)) };
        let entry = &mut table.entries[at as usize];
        entry.tether = Some(self);
        Ok(u64::from(at) << 32 | u64::from(entry.generation))
    }

    /// Reads under a tether that is parked, and stays so. The table is locked meanwhile: nobody can take it.
    pub fn parked<T>(number: u64, read: impl FnOnce(&Tether) -> T) -> Result<T, NotParked> {
        let (at, generation) = ((number >> 32) as usize, number as u32);
        let table = table();
        let entry = table.entries.get(at).filter(|entry| entry.generation == generation);
        entry.and_then(|entry| entry.tether.as_ref()).map(read).ok_or(NotParked(number))
    }

    /// Takes a tether that was parked, to drop it or to use it.
    pub fn take(number: u64) -> Result<Tether, NotParked> {
        let (at, generation) = ((number >> 32) as u32, number as u32);
        let mut table = table();
        let entry = table.entries.get_mut(at as usize).filter(|entry| entry.generation == generation);
        let (entry, tether) =
            entry.and_then(|entry| entry.tether.take().map(|tether| (entry, tether))).ok_or(NotParked(number))?;
        if let Some(next) = entry.generation.checked_add(1) {
            entry.generation = next;
            table.free.push(at);
        }
        Ok(tether)
    }
}

impl Table {
    /// An entry without a tether.
    fn place(&mut self) -> Option<u32> {
        if let Some(at) = self.free.pop() {
            return Some(at);
        }
        let at = u32::try_from(self.entries.len()).ok()?;
        self.entries.try_reserve(1).ok()?;
        // Room for all of them, so that giving one back cannot fail.
        self.free.try_reserve(self.entries.len() + 1).ok()?;
        self.entries.push(Entry { generation: 1, tether: None });
        Some(at)
    }
}
