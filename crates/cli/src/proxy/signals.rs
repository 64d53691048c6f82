//! Signals that end programs, taken one by one: which it was decides what the child gets.

use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;
use std::io;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What asks a program to end.
const ENDING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// Ending signals, held back from this process since [`Signals::hold`].
pub(super) struct Signals(SigSet);

/// A signal that came.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceivedSignal {
    signal: Signal,
    /// Whether a terminal sent it, which sends it to the child as well.
    is_of_terminal: bool,
}

impl Signals {
    /// Holds them back. To be called before any thread is started, since threads take this over from the one that starts them.
    pub(super) fn hold() -> io::Result<Self> {
        let set: SigSet = ENDING.into_iter().collect();
        set.thread_block()?;
        Ok(Self(set))
    }

    /// Starts a program that holds nothing back. A program takes over what the thread that starts it holds back, so for that
    /// moment a signal is taken by a handler, which a program does not take over. It is not known then which one it was; the
    /// program is asked to end. Where one of them is ignored, as by `nohup`, there is no handler, since the program is to ignore
    /// it as well; another one ends this process then, if it comes in that moment.
    pub(super) fn start(&self, command: &mut Command, recipient: &SignalRecipient) -> io::Result<Child> {
        if ignored_signals().is_some_and(|ignored| ENDING.iter().all(|&signal| ignored & bit(signal) == 0)) {
            let early = recipient.clone();
            let asked = ReceivedSignal { signal: Signal::SIGTERM, is_of_terminal: false };
            match ctrlc::set_handler(move || early.pass_on(asked)) {
                // It is there since another program was started for the same recipient.
                Ok(()) | Err(ctrlc::Error::MultipleHandlers) => {}
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        self.0.thread_unblock()?;
        let started = crate::file_size::with_signal(|| command.spawn());
        self.0.thread_block()?;
        started
    }

    /// Calls for each that comes, on a thread of its own.
    pub(super) fn each(&self, mut act: impl FnMut(ReceivedSignal) + Send + 'static) -> io::Result<()> {
        let mut source = SignalSource::new(self.0)?;
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            while let Some(arrived) = source.next() {
                act(arrived);
            }
        })?;
        Ok(())
    }
}

/// The signals that this process ignores, a bit each, where the system says so.
fn ignored_signals() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(ignored.trim(), 16).ok()
}

fn bit(signal: Signal) -> u64 {
    1 << (signal as u32 - 1)
}

#[cfg(target_os = "linux")]
struct SignalSource(nix::sys::signalfd::SignalFd);

#[cfg(target_os = "linux")]
impl SignalSource {
    fn new(set: SigSet) -> io::Result<Self> {
        Ok(Self(nix::sys::signalfd::SignalFd::new(&set)?))
    }

    fn next(&mut self) -> Option<ReceivedSignal> {
        let information = self.0.read_signal().ok().flatten()?;
        let signal = Signal::try_from(i32::try_from(information.ssi_signo).ok()?).ok()?;
        // A process that sends a signal says which it is; the kernel is none.
        Some(ReceivedSignal { signal, is_of_terminal: information.ssi_pid == 0 })
    }
}

#[cfg(not(target_os = "linux"))]
struct SignalSource(SigSet);

#[cfg(not(target_os = "linux"))]
impl SignalSource {
    fn new(set: SigSet) -> io::Result<Self> {
        Ok(Self(set))
    }

    fn next(&mut self) -> Option<ReceivedSignal> {
        use std::io::IsTerminal;
        let signal = self.0.wait().ok()?;
        // Its sender is not known here; at a terminal it was most likely that.
        Some(ReceivedSignal { signal, is_of_terminal: signal == Signal::SIGINT && io::stdin().is_terminal() })
    }
}

/// The process that signals are passed on to, while it runs.
#[derive(Clone, Default)]
pub(super) struct SignalRecipient(Arc<Mutex<RecipientState>>);

enum RecipientState {
    /// Its number is not known yet. What came is kept for it.
    Starting(Vec<ReceivedSignal>),
    Running(Pid),
    Ended,
}

impl Default for RecipientState {
    fn default() -> Self {
        Self::Starting(Vec::new())
    }
}

impl SignalRecipient {
    /// It runs. It gets what came before its number was known.
    pub(super) fn runs(&self, process: u32) {
        let Ok(process) = i32::try_from(process) else { return };
        let before = std::mem::replace(&mut *self.passing(), RecipientState::Running(Pid::from_raw(process)));
        if let RecipientState::Starting(early) = before {
            early.into_iter().for_each(|arrived| self.pass_on(arrived));
        }
    }

    pub(super) fn ended(&self) {
        *self.passing() = RecipientState::Ended;
    }

    /// Passes a signal on, unless it went there already.
    pub(super) fn pass_on(&self, arrived: ReceivedSignal) {
        match &mut *self.passing() {
            RecipientState::Starting(early) => early.push(arrived),
            RecipientState::Running(process) if !arrived.is_of_terminal => {
                // A child that has just ended needs none.
                let _ = kill(*process, arrived.signal);
            }
            RecipientState::Running(_) | RecipientState::Ended => {}
        }
    }

    fn passing(&self) -> MutexGuard<'_, RecipientState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn what_comes_before_the_program_is_known_reaches_it() {
        let recipient = SignalRecipient::default();
        recipient.pass_on(ReceivedSignal { signal: Signal::SIGTERM, is_of_terminal: false });
        let mut child = Command::new("sleep").arg("60").spawn().expect("there is sleep");
        recipient.runs(child.id());
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::SIGTERM as i32));
        recipient.ended();
        recipient.pass_on(ReceivedSignal { signal: Signal::SIGTERM, is_of_terminal: false });
    }
}
