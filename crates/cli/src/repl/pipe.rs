//! Inputs from what is no terminal: no prompt, no colours, the same answers.

use super::session::Session;
use super::{Next, enter, is_open};
use crate::end::End;
use crate::output::fail;

/// The most bytes of one input: a stream without an end is no input.
const INPUT_BYTES_MAX: usize = 1 << 30;

/// Runs inputs until the stream ends.
pub(super) fn read(session: &mut Session) -> End {
    let mut input = String::new();
    // The lock is not kept: `:step` reads lines itself.
    loop {
        match std::io::stdin().read_line(&mut input) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                return fail(&format!("cannot read the standard input: {error}"), "pipe UTF-8 text in", End::Usage);
            }
        }
        if input.len() > INPUT_BYTES_MAX {
            return fail("an input has more than 1 GiB and is not closed", "close its brackets", End::Usage);
        }
        if is_open(&input) {
            continue;
        }
        if let Next::Ends(end) = enter(session, &std::mem::take(&mut input)) {
            return end;
        }
    }
    // What is left is not closed, and is told so.
    match enter(session, &input) {
        Next::Ends(end) => end,
        Next::GoesOn => End::Fine,
    }
}
