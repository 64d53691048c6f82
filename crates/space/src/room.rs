//! Room for what grows large.

/// From this many bytes on a list grows by an eighth and not to twice its size.
pub(crate) const LARGE_BYTES: usize = 1 << 20;

/// Makes room for so many more, as pushing would, but leaves less of it unused in a large list.
#[inline]
pub(crate) fn reserve<T>(list: &mut Vec<T>, more: usize) {
    if list.capacity() - list.len() < more && size_of::<T>() * list.len() >= LARGE_BYTES {
        list.reserve_exact(more.max(list.len() / 8));
    }
}
