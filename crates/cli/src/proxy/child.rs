//! The program whose requests are recorded or answered.

use super::arguments::IsolationMode;
use super::signals::{SignalRecipient, Signals};
use crate::end::End;
use crate::output::fail;
use crate::render;
use server::{PassedHost, Proxy};
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus};

/// What shells give for a program that cannot be run, and for one that is not there.
const NOT_RUNNABLE: u8 = 126;
const NOT_FOUND: u8 = 127;
/// What shells add to the number of the signal that ended a program.
const SIGNALLED: i32 = 128;

/// A program that is to be run, and what it is told.
pub(super) struct ChildProgram<'a> {
    pub(super) command: &'a [OsString],
    pub(super) proxy: &'a Proxy,
    /// The hosts that pass.
    pub(super) passes: &'a [PassedHost],
    pub(super) isolate: IsolationMode,
}

/// Why a program does not run.
enum StartError {
    /// It cannot be started.
    Program(io::Error),
    /// It has no network of its own.
    Isolation(String),
    /// It was ended before it had begun, with this code.
    Ended(u8),
    /// Another reason, which was said; and the code.
    Said(u8),
}

/// Runs a program to its end. Signals that end programs are passed on to it. Gives its exit code.
///
/// # Errors
/// The code of a program that cannot be run, after saying so.
pub(super) fn run(program: &ChildProgram<'_>, signals: &Signals) -> Result<u8, u8> {
    let recipient = SignalRecipient::default();
    let passing = recipient.clone();
    if let Err(error) = signals.each(move |arrived| passing.pass_on(arrived)) {
        return Err(fail(&format!("cannot watch for signals: {error}"), "end other programs", End::Error).code());
    }
    let Some(name) = program.command.first() else { return Err(NOT_FOUND) };
    let mut child = match program.start(signals, &recipient) {
        Ok(child) => child,
        Err(StartError::Program(error)) => return Err(not_started(name, &error)),
        Err(StartError::Isolation(why)) => {
            let help = "--isolate=auto goes without, --isolate=off does not try; then what goes past the proxy reaches the network";
            return Err(fail(&format!("{} cannot be isolated: {why}", name.display()), help, End::Error).code());
        }
        Err(StartError::Ended(code) | StartError::Said(code)) => return Err(code),
    };
    recipient.runs(child.id());
    let ended = child.wait();
    recipient.ended();
    match ended {
        Ok(status) => Ok(code(status)),
        Err(error) => Ok(fail(&format!("cannot wait for {}: {error}", name.display()), "", End::Error).code()),
    }
}

impl ChildProgram<'_> {
    fn start(&self, signals: &Signals, recipient: &SignalRecipient) -> Result<Child, StartError> {
        let start = |command: &mut Command| signals.start(command, recipient).map_err(StartError::Program);
        if self.isolate != IsolationMode::Off {
            match self.start_isolated(start) {
                Err(StartError::Isolation(why)) if self.isolate == IsolationMode::Auto => render::say(&format!(
                    "note: {} is not isolated, so what goes past the proxy reaches the network: {why}",
                    self.command[0].display()
                )),
                outcome => return outcome,
            }
        }
        let (name, words) = (&self.command[0], &self.command[1..]);
        start(Command::new(name).args(words).envs(self.variables(false)?))
    }

    /// Starts it in a network of its own.
    #[cfg(target_os = "linux")]
    fn start_isolated(
        &self,
        start: impl FnOnce(&mut Command) -> Result<Child, StartError>,
    ) -> Result<Child, StartError> {
        use server::{Isolation, IsolationError};
        let why = |error: IsolationError| StartError::Isolation(error.to_string());
        let bridges: Vec<_> = self.passes.iter().filter_map(PassedHost::loopback).collect();
        let mut isolation = Isolation::prepare(self.proxy, &bridges).map_err(why)?;
        let command = isolation.command(ISOLATED, &self.command[0], &self.command[1..]);
        let mut command = command.map_err(|error| StartError::Isolation(error.to_string()))?;
        let mut child = start(command.envs(self.variables(true)?))?;
        let refused = match isolation.join(&mut child, self.proxy) {
            Ok(()) => return Ok(child),
            Err(IsolationError::NotStarted(error)) => StartError::Program(error),
            Err(error) => why(error),
        };
        // Its process ends by itself, unless it hangs.
        let _ = child.kill();
        match child.wait() {
            Ok(status) if matches!(status.signal(), Some(signal) if signal != KILLED) => {
                Err(StartError::Ended(code(status)))
            }
            _ => Err(refused),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn start_isolated(&self, _: impl FnOnce(&mut Command) -> Result<Child, StartError>) -> Result<Child, StartError> {
        Err(StartError::Isolation("only Linux has network namespaces".to_owned()))
    }

    /// The variables for it. To a host that passes it goes without the proxy; from a network of its own it gets to no host but those
    /// of loopback.
    fn variables(&self, is_isolated: bool) -> Result<Vec<(OsString, OsString)>, StartError> {
        let direct = self.passes.iter().filter(|pass| !is_isolated || pass.is_loopback()).cloned();
        variables(self.proxy, &direct.collect::<Vec<_>>()).map_err(|end| StartError::Said(end.code()))
    }
}

/// The variables by which programs find a proxy.
pub(super) fn variables(proxy: &Proxy, direct: &[PassedHost]) -> Result<Vec<(OsString, OsString)>, End> {
    let variables = server::environment(proxy.address(), proxy.authority(), direct);
    variables.map_err(|error| fail(&error.to_string(), "", End::Error))
}

/// If this process was started to become a program in a network of its own, it does so; what is given is the code of one that could not.
pub(crate) fn isolated() -> Option<ExitCode> {
    #[cfg(target_os = "linux")]
    {
        let mut words = std::env::args_os().skip(1);
        if words.next().is_some_and(|word| word == ISOLATED) {
            return Some(server::become_isolated(words));
        }
    }
    None
}

/// The word by which this program is started to become another one in a network of its own.
#[cfg(target_os = "linux")]
const ISOLATED: &str = "--become-isolated";
/// The signal by which a process is ended that hangs.
#[cfg(target_os = "linux")]
const KILLED: i32 = 9;

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
