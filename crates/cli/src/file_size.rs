//! A file that may not grow any further (`ulimit -f`) is an error like a full disk, with a message.
//!
//! The system sends SIGXFSZ to a thread that writes beyond the limit, which ends the process without a message. Where the
//! signal is held back, the write fails instead, and the error is reported.

use nix::sys::signal::{SigSet, Signal};
use std::io;

/// Holds the signal back in this thread and in all that it starts from now on.
///
/// # Errors
/// The system refuses.
pub(crate) fn hold_signal() -> io::Result<()> {
    Ok(SigSet::from(Signal::SIGXFSZ).thread_block()?)
}

/// Starts a program, which is to get the signal as if nobody held it back: it takes over what the thread that starts it does.
///
/// # Errors
/// The system refuses, or what is started does not start.
pub(crate) fn with_signal<T>(start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let signal = SigSet::from(Signal::SIGXFSZ);
    signal.thread_unblock()?;
    let started = start();
    signal.thread_block()?;
    started
}
