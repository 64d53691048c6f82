//! What comes over the boundary: places for results, and arrays.
//!
//! A pointer to an argument is an `Option` of a reference, which the compiler checks for NULL and which needs no unsafe code. One to
//! a result is an [`Out`]. An array is a pointer and a length, put together here. What the caller answers for: a pointer that is not NULL points to as
//! many things as the header says, which nobody changes during the call.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::slice;

use crate::status::{Outcome, Status, last_message};

/// A place for a result, or NULL. It need not hold anything yet, and may lie where an argument lies, as in a call that makes
/// something of what was made before: no reference of it is made.
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Writes a result, if it is wanted.
    pub(crate) fn write(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not NULL; the caller answers for what lies there.
            unsafe { self.0.write(value) }
        }
    }
}

/// A place that must be there.
pub(crate) fn place<T>(out: Out<T>) -> Outcome<Out<T>> {
    if out.0.is_null() { Err(Status::Null.into()) } else { Ok(out) }
}

/// An argument that must be there.
pub(crate) fn given<T>(argument: Option<T>) -> Outcome<T> {
    Ok(argument.ok_or(Status::Null)?)
}

/// The `length` things from a pointer on. If there are none, it may be NULL.
pub(crate) fn array<'a, T: Copy>(at: *const T, length: usize) -> Outcome<&'a [T]> {
    if length == 0 {
        return Ok(&[]);
    }
    check(at, length)?;
    // SAFETY: not NULL, aligned and no longer than memory, as was checked; the caller answers for what lies there.
    Ok(unsafe { slice::from_raw_parts(at, length) })
}

/// The `length` things from a pointer on, to be changed. If there are none, it may be NULL.
pub(crate) fn array_mut<'a, T: Copy>(at: *mut T, length: usize) -> Outcome<&'a mut [T]> {
    if length == 0 {
        return Ok(&mut []);
    }
    check(at.cast_const(), length)?;
    // SAFETY: as above; nobody else uses it during the call.
    Ok(unsafe { slice::from_raw_parts_mut(at, length) })
}

/// Room for `length` results, which need not hold anything yet.
pub(crate) fn room<'a, T: Copy>(at: *mut T, length: usize) -> Outcome<&'a mut [MaybeUninit<T>]> {
    array_mut(at.cast::<MaybeUninit<T>>(), length)
}

fn check<T>(at: *const T, length: usize) -> Outcome {
    if at.is_null() {
        return Err(Status::Null.into());
    }
    let fits = length.checked_mul(size_of::<T>()).is_some_and(|bytes| bytes <= isize::MAX as usize);
    if fits && at.is_aligned() { Ok(()) } else { Err(Status::OutOfRange.into()) }
}

/// Writes all of it, or says how much there is.
pub(crate) fn write<T: Copy>(from: &[T], to: &mut [MaybeUninit<T>], count: Out<usize>) -> Outcome {
    count.write(from.len());
    if to.len() < from.len() {
        return Err(Status::TooSmall.into());
    }
    to.iter_mut().zip(from).for_each(|(to, from)| {
        to.write(*from);
    });
    Ok(())
}

/// Copies what this thread's last error said, as far as it fits, with a NUL after it. Gives how long it is.
#[unsafe(no_mangle)]
extern "C" fn mnr_error_message(to: *mut c_char, size: usize) -> usize {
    let copy = |message: &str| {
        if let Ok(to @ [_, ..]) = room(to.cast::<u8>(), size) {
            let count = message.len().min(to.len() - 1);
            to.iter_mut().zip(message.bytes().take(count).chain([0])).for_each(|(to, byte)| {
                to.write(byte);
            });
        }
        message.len()
    };
    last_message(copy).unwrap_or(0)
}
