//! Signals that end programs, taken one by one: which it was decides what the child gets.

use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;
use std::io;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// What asks a program to end.
const ENDING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// Ending signals, held back from this process since [`Signals::hold`].
pub(super) struct Signals(SigSet);

/// A signal that came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
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
    /// moment a signal ends this process as it would have before [`Signals::hold`].
    pub(super) fn start(&self, command: &mut Command) -> io::Result<Child> {
        self.0.thread_unblock()?;
        let started = command.spawn();
        self.0.thread_block()?;
        started
    }

    /// Calls for each that comes, on a thread of its own.
    pub(super) fn each(&self, mut act: impl FnMut(Arrived) + Send + 'static) -> io::Result<()> {
        let mut source = Source::new(self.0)?;
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            while let Some(arrived) = source.next() {
                act(arrived);
            }
        })?;
        Ok(())
    }
}

#[cfg(target_os = "linux")]
struct Source(nix::sys::signalfd::SignalFd);

#[cfg(target_os = "linux")]
impl Source {
    fn new(set: SigSet) -> io::Result<Self> {
        Ok(Self(nix::sys::signalfd::SignalFd::new(&set)?))
    }

    fn next(&mut self) -> Option<Arrived> {
        let information = self.0.read_signal().ok().flatten()?;
        let signal = Signal::try_from(i32::try_from(information.ssi_signo).ok()?).ok()?;
        // A process that sends a signal says which it is; the kernel is none.
        Some(Arrived { signal, is_of_terminal: information.ssi_pid == 0 })
    }
}

#[cfg(not(target_os = "linux"))]
struct Source(SigSet);

#[cfg(not(target_os = "linux"))]
impl Source {
    fn new(set: SigSet) -> io::Result<Self> {
        Ok(Self(set))
    }

    fn next(&mut self) -> Option<Arrived> {
        use std::io::IsTerminal;
        let signal = self.0.wait().ok()?;
        // Who sent it is not known here; at a terminal it was most likely that.
        Some(Arrived { signal, is_of_terminal: signal == Signal::SIGINT && io::stdin().is_terminal() })
    }
}

/// The process that signals are passed on to, while it runs.
#[derive(Clone, Default)]
pub(super) struct Recipient(Arc<AtomicI32>);

impl Recipient {
    pub(super) fn set(&self, process: Option<u32>) {
        let process = process.and_then(|process| i32::try_from(process).ok());
        self.0.store(process.unwrap_or(0), Ordering::SeqCst);
    }

    /// Passes a signal on, unless it went there already.
    pub(super) fn pass_on(&self, arrived: Arrived) {
        let process = self.0.load(Ordering::SeqCst);
        if process > 0 && !arrived.is_of_terminal {
            // A child that has just ended needs none.
            let _ = kill(Pid::from_raw(process), arrived.signal);
        }
    }
}
