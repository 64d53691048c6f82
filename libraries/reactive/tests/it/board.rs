//! States for tests, and functions that pages are derived by.

use journal::{Durability, MemoryDisk};
use reactive::{FunctionName, Functions, Inputs, Options, PageId, State, Transaction};
use std::sync::Arc;

/// What the functions of tests do with the pages that they read.
pub(crate) fn functions() -> Functions {
    let mut functions = Functions::new();
    functions.add(sum(), |inputs: &Inputs<'_>, page: &mut [u8]| {
        for input in inputs.iter() {
            page.iter_mut().zip(input).for_each(|(byte, other)| *byte = byte.wrapping_add(*other));
        }
        Ok(())
    });
    functions.add(lowest_bit(), |inputs: &Inputs<'_>, page: &mut [u8]| {
        for input in inputs.iter() {
            page.iter_mut().zip(input).for_each(|(byte, other)| *byte ^= other & 1);
        }
        Ok(())
    });
    functions.add(no_zero(), |inputs: &Inputs<'_>, _: &mut [u8]| {
        if inputs.get(0).first() == Some(&0) { Err("the first byte is zero".into()) } else { Ok(()) }
    });
    functions
}

/// Adds bytes at the same place.
pub(crate) fn sum() -> FunctionName {
    FunctionName::new("sum", 1)
}

/// Adds the lowest bits of bytes at the same place: many changes do not change it.
pub(crate) fn lowest_bit() -> FunctionName {
    FunctionName::new("lowest-bit", 2)
}

/// Fails if the first byte of the first page is zero.
pub(crate) fn no_zero() -> FunctionName {
    FunctionName::new("no-zero", 1)
}

/// A state that keeps no log.
pub(crate) fn state() -> State {
    State::new(functions(), Options::default())
}

/// A state with its log in memory.
pub(crate) fn logged() -> (State, Arc<MemoryDisk>) {
    let disk = Arc::new(MemoryDisk::new());
    let options = Options::default().durability(Durability::Os).log_hashes(true);
    (State::create(disk.clone(), functions(), options), disk)
}

/// Makes a page.
pub(crate) fn create(state: &mut State, bytes: &[u8]) -> PageId {
    let mut transaction = Transaction::new();
    transaction.create(bytes);
    state.commit(&transaction).expect("a page can be made").created[0]
}

/// Derives a page.
pub(crate) fn derive(state: &mut State, length: usize, function: FunctionName, dependencies: &[PageId]) -> PageId {
    let mut transaction = Transaction::new();
    transaction.derive(length, function, dependencies.iter().copied());
    state.commit(&transaction).expect("a page can be derived").created[0]
}

/// Writes to a page.
pub(crate) fn write(state: &mut State, page: PageId, bytes: &[u8]) -> reactive::Commit {
    let mut transaction = Transaction::new();
    transaction.write(page, 0, bytes);
    state.commit(&transaction).expect("the page can be written")
}
