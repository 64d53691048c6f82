//! Room for what grows large.

/// From this many bytes on a list grows by an eighth and not to twice its size.
pub(crate) const LARGE_BYTES: usize = 1 << 20;

/// What a list has room for at first.
const FIRST_BYTES: usize = 128;
/// How many entries a table has room for at first.
const FIRST: usize = 14;
/// What the table of a dictionary has room for at first: there are few of them, and a program has more words than that.
pub(crate) const FIRST_TERMS: usize = 56;
/// Up to this many entries a table grows eightfold: most are small, and making one anew costs more than what stays unused.
const SMALL_TABLE: usize = 1 << 9;

/// How many entries a table is to have room for that is full, or is to take `more` more.
pub(crate) fn table(entries: usize, more: usize) -> usize {
    let grown = entries * if entries < SMALL_TABLE { 8 } else { 2 };
    grown.max(entries + more).max(FIRST)
}

/// How many entries a table is to have room for if `expected` more are expected: it grows towards them, eightfold at most, since
/// expectations may be wrong and a sparse table is slow.
pub(crate) fn table_towards(expected: usize, entries: usize, more: usize) -> usize {
    table(entries, more).max((entries + expected).min(entries * 8))
}

/// Makes room for `more` more, as pushing would, but leaves less of it unused in a large list.
#[inline]
pub(crate) fn reserve<T>(list: &mut Vec<T>, more: usize) {
    if list.capacity() - list.len() < more {
        grow(list, more);
    }
}

/// Makes room for `more` more in a list that has room for `first` at first.
#[inline]
pub(crate) fn reserve_first<T>(list: &mut Vec<T>, more: usize, first: usize) {
    reserve(list, if list.capacity() == 0 { more.max(first) } else { more });
}

#[cold]
fn grow<T>(list: &mut Vec<T>, more: usize) {
    match size_of::<T>() * list.len() {
        0 => list.reserve(more.max(FIRST_BYTES / size_of::<T>())),
        LARGE_BYTES.. => list.reserve_exact(more.max(list.len() / 8)),
        _ => list.reserve(more),
    }
}
