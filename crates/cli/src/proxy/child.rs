//! The program whose requests are recorded or answered.

use super::signals::{Recipient, Signals};
use crate::output::fail;
use crate::render;
use crate::run::End;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

/// What shells give for a program that cannot be run, and for one that is not there.
const NOT_RUNNABLE: u8 = 126;
const NOT_FOUND: u8 = 127;
/// What shells add to the number of the signal that ended a program.
const SIGNALLED: i32 = 128;

/// Runs a program to its end, with these variables. Signals that end programs are passed on to it. Gives its exit code.
///
/// # Errors
/// The code of a program that cannot be run, after saying so.
pub(super) fn run(command: &[OsString], variables: Vec<(OsString, OsString)>, signals: &Signals) -> Result<u8, u8> {
    let Some((program, words)) = command.split_first() else { return Err(NOT_FOUND) };
    let recipient = Recipient::default();
    let passing = recipient.clone();
    if let Err(error) = signals.each(move |arrived| passing.pass_on(arrived)) {
        return Err(fail(&format!("cannot watch for signals: {error}"), "end other programs", End::Error).code());
    }
    let mut child = match signals.start(Command::new(program).args(words).envs(variables), &recipient) {
        Ok(child) => child,
        Err(error) => return Err(not_started(program, &error)),
    };
    recipient.runs(child.id());
    let ended = child.wait();
    recipient.ended();
    match ended {
        Ok(status) => Ok(code(status)),
        Err(error) => Ok(fail(&format!("cannot wait for {}: {error}", program.display()), "", End::Error).code()),
    }
}

fn not_started(program: &OsString, error: &io::Error) -> u8 {
    let shown = program.display();
    if error.kind() == ErrorKind::NotFound {
        render::error(&format!("there is no program {shown}"), Some("name one that is on PATH, or give its path"));
        return NOT_FOUND;
    }
    render::error(
        &format!("cannot run {shown}: {error}"),
        Some("make it executable, or put its interpreter before it"),
    );
    NOT_RUNNABLE
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| SIGNALLED + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_shells() {
        assert_eq!(code(ExitStatus::from_raw(3 << 8)), 3);
        assert_eq!(code(ExitStatus::from_raw(15)), 143);
    }
}
