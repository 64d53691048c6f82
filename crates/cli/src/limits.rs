//! The limits of a run: what the command line says of them, and the threads that hold a process to them.
//!
//! 1. The evaluator looks at steps, memory, time and Ctrl-C between two steps, and inside of some. It ends with an error that
//!    names the limit, after the results found so far.
//! 2. A single step may take longer or more than that. So one thread looks at the clock, and one at what the process has
//!    allocated ([`region::memory`]), often enough that it can have grown only a little in between. When a limit is passed by
//!    half, the process ends with a message.
//!
//! The memory that is counted is what is allocated: not code, stacks, or what is mapped from files, which the system takes
//! back when it needs it.

use crate::byte_count::byte_count;
use crate::render;
use clap::Args;
use metroon::Engine;
use metroon::limits::{HEAP_BYTES_DEFAULT, Interrupt, LimitReached};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How long an evaluation that is told to end may go on: a single step of it can be very long.
const GRACE: Duration = Duration::from_secs(3);
/// How long an evaluation whose time is up may go on, at least; at most it is half of the time it had.
const GRACE_LEAST: Duration = Duration::from_millis(300);

/// What is not worth ending a process for.
const SLACK: usize = 4 << 20;

/// How many bytes a process is taken to allocate in a nanosecond at most.
const BYTES_A_NANOSECOND: usize = 8;
/// How often the memory of the process is looked at.
const LOOKS: std::ops::RangeInclusive<Duration> = Duration::from_micros(500)..=Duration::from_millis(50);

/// References of a heap lead no further than this.
const HEAP_BYTES_MAX: u64 = HEAP_BYTES_DEFAULT as u64;

/// What a replay may take unless the command line says something else: a tape is a stranger's program.
const REPLAY_HEAP: u64 = 1 << 30;
const REPLAY_MEMORY: u64 = 2 << 30;
const REPLAY_TIME: Duration = Duration::from_secs(600);

/// The limits that the command line names.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct LimitArguments {
    /// End a `!` form that takes more memory than this many bytes, what it adds to spaces included: 4G if nothing is said, and
    /// 1G for `replay`; K, M and G stand for 2^10, 2^20 and 2^30
    #[arg(long, value_name = "BYTES", value_parser = heap_bytes)]
    pub(crate) heap: Option<u64>,

    /// End a `!` form in which the process takes more memory than this many bytes, all spaces included; 2G for `replay` if
    /// nothing is said
    #[arg(long, value_name = "BYTES", value_parser = byte_count)]
    pub(crate) memory: Option<u64>,

    /// End a `!` form after this many steps
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = steps)]
    pub(crate) steps: Option<u64>,

    /// End the run after this many seconds; a `replay` after 600 if nothing is said
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
}

impl LimitArguments {
    /// Those of a replay, where nothing is said.
    pub(crate) fn of_replay(self) -> Self {
        Self {
            heap: self.heap.or(Some(REPLAY_HEAP)),
            memory: self.memory.or(Some(REPLAY_MEMORY)),
            steps: self.steps,
            timeout: self.timeout.or(Some(REPLAY_TIME)),
        }
    }

    /// The first that is named.
    pub(crate) fn named(&self) -> Option<&'static str> {
        let all = [
            ("--heap", self.heap.is_some()),
            ("--memory", self.memory.is_some()),
            ("--steps", self.steps.is_some()),
            ("--timeout", self.timeout.is_some()),
        ];
        all.into_iter().find_map(|(name, is_named)| is_named.then_some(name))
    }
}

fn heap_bytes(text: &str) -> Result<u64, String> {
    byte_count(text).and_then(|bytes| {
        if bytes <= HEAP_BYTES_MAX { Ok(bytes) } else { Err("a `!` form takes at most 4G".to_owned()) }
    })
}

fn steps(text: &str) -> Result<u64, String> {
    let steps = text.parse().ok().filter(|steps| *steps > 0);
    steps.ok_or_else(|| "expected a whole number above 0, such as 1000000".to_owned())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let expected = "expected a number of seconds above 0, such as 10 or 0.5";
    let seconds: f64 = text.parse().map_err(|_| expected.to_owned())?;
    Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero()).ok_or(expected.to_owned())
}

/// Ends the process when it takes much more memory than it may: in a single step, or while files are read.
#[derive(Clone, Default)]
pub(crate) struct MemoryGuard(Arc<OnceLock<Interrupt>>);

impl MemoryGuard {
    /// Begins to look, before anything is read.
    pub(crate) fn start(limits: &LimitArguments) -> Self {
        let guard = Self::default();
        let (watched, limits) = (guard.clone(), *limits);
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(watched.look(&limits));
            }
        });
        guard
    }

    /// Looks at what the evaluations of an engine take, too.
    pub(crate) fn watch(&self, engine: &mut Engine) {
        // Each process has one engine.
        let _ = self.0.set(engine.limits_mut().interrupt.clone());
    }

    /// Looks once; gives the time until the next look.
    fn look(&self, limits: &LimitArguments) -> Duration {
        let mut now = region::memory::of_process();
        let form = self.0.get().and_then(Interrupt::ceiling).map(|most| most.saturating_add(SLACK));
        let whole = limits.memory.map(half_as_much_again);
        if form.into_iter().chain(whole).any(|most| now > most) {
            // What is allocated and was not written to yet is not memory yet.
            now = resident().map_or(now, |resident| resident.min(now));
        }
        if let (Some(most), Some(_)) = (limits.memory, whole.filter(|most| now > *most)) {
            end(&format!("the process took more than its memory of {most} bytes"), "--memory");
        }
        if form.is_some_and(|most| now > most) {
            let most = limits.heap.unwrap_or(HEAP_BYTES_MAX);
            end(&format!("a single step of the evaluation took more than its heap of {most} bytes"), "--heap");
        }
        let room = form.into_iter().chain(whole).min().map_or(usize::MAX, |most| most - now);
        Duration::from_nanos((room / BYTES_A_NANOSECOND) as u64).clamp(*LOOKS.start(), *LOOKS.end())
    }
}

/// The bytes of the process that lie in memory, where the system tells.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: usize = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes << 10)
}

fn half_as_much_again(bytes: u64) -> usize {
    usize::try_from(bytes.saturating_add(bytes / 2)).unwrap_or(usize::MAX)
}

/// Ends the process.
fn end(message: &str, flag: &str) -> ! {
    let help =
        format!("what was printed before it stands; look for a text or a list that doubles, or allow more with {flag}");
    render::error(message, Some(&help));
    std::process::exit(1);
}

/// Whether an evaluation that was told to end has done so.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<AtomicBool>);

impl Heard {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Waits for the evaluation to end; if it does not, ends the process.
    fn wait_or_exit(&self, grace: Duration) {
        std::thread::sleep(grace);
        if !self.0.load(Ordering::Relaxed) {
            let help = "what was printed before it stands; look for a pattern with very many matches, for an atom that \
                        doubles again and again, or for a file that does not answer";
            render::error("the evaluation was told to end, but a single step of it has not ended yet", Some(help));
            std::process::exit(1);
        }
    }
}

/// Ends evaluations when time is up, and at Ctrl-C; a second Ctrl-C ends the process, and so does an evaluation that
/// does not end.
pub(crate) fn watch_for_interrupts(engine: &mut Engine, timeout: Option<Duration>, heard: &Heard) {
    let interrupt = engine.limits_mut().interrupt.clone();
    if let Some(time) = timeout {
        let (interrupt, heard) = (interrupt.clone(), heard.clone());
        std::thread::spawn(move || {
            std::thread::sleep(time);
            interrupt.time_is_up();
            heard.wait_or_exit((time / 2).clamp(GRACE_LEAST, GRACE));
        });
    }
    let heard = heard.clone();
    let handler = ctrlc::set_handler(move || {
        if interrupt.reason() == Some(LimitReached::Cancelled) {
            std::process::exit(130);
        }
        interrupt.cancel();
        let heard = heard.clone();
        std::thread::spawn(move || heard.wait_or_exit(GRACE));
    });
    if let Err(error) = handler {
        render::say(&format!("warning: Ctrl-C will end the program at once: {error}"));
    }
}

/// What a limit was reached by, as a sentence, and what to do about it.
pub(crate) fn explain_limit(limit: LimitReached, place: &str, is_kept: bool) -> (String, &'static str) {
    match limit {
        LimitReached::Steps(steps) => (
            format!("the evaluation at {place} took all of its {steps} steps"),
            "look for a loop that does not end, or allow more with --steps",
        ),
        LimitReached::Depth(depth) => (
            format!("the evaluation at {place} is nested {depth} frames deep"),
            "look for a recursion that does not end, or make the call the last thing its function does",
        ),
        LimitReached::Heap(bytes) => (
            format!("the evaluation at {place} took all of its heap of {bytes} bytes"),
            if bytes < HEAP_BYTES_MAX {
                "look for a list or a recursion that grows without end, or allow more with --heap"
            } else {
                "look for a list or a recursion that grows without end: a heap has no more"
            },
        ),
        LimitReached::Memory(bytes) => (
            format!("the process took all of its memory of {bytes} bytes, in the evaluation at {place}"),
            "look for a space or a list that grows without end, or allow more with --memory",
        ),
        LimitReached::Written(bytes) => (
            format!("what the evaluation at {place} came to is written with more than {bytes} bytes"),
            "it holds its parts many times: ask for its size or for a part of it",
        ),
        LimitReached::AddressSpace(bytes) => (
            format!(
                "the evaluation at {place} needs {bytes} bytes of address space for its heap, and the system refuses them"
            ),
            "raise the limit of address space (ulimit -v), set vm.overcommit_memory to 0 or 1, or run with --interpreter",
        ),
        LimitReached::Time => (
            format!("the evaluation at {place} did not end in time"),
            "look for a loop that does not end, or allow more with --timeout",
        ),
        _ if is_kept => (format!("the evaluation at {place} was cancelled"), "run the program again to go on"),
        _ => (format!("the evaluation at {place} was cancelled"), "what was printed and added before it stands"),
    }
}
