//! An engine on a thread of its own, such as the one that writes to a knowledge base.
//!
//! The thread owns the engine, which is made on it and never leaves it. What it is to do comes through a queue of bounded length: if the
//! queue is full, the caller waits. It does one thing after the other, in the order of the queue. Somebody who does not want to wait for
//! the end of something, or not only, has it as [`Pending`].

use crate::engine::Engine;
use crate::recall::RecallError;
use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, ThreadId};
use std::time::Duration;

type Work = Box<dyn FnOnce(&mut Engine) + Send>;

enum Request {
    Work(Work),
    Close,
}

/// Why the writer did not do something.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriterError {
    /// The knowledge base was closed.
    Closed,
    /// The process is a fork of the one that opened the knowledge base, and the thread that writes was not copied with it.
    Forked,
    /// The thread panicked; its last commit stands.
    Panicked,
    /// The writer was asked to do something by something that it is doing, and would have waited for itself.
    AskedByItself,
    /// The thread cannot be started.
    NotStarted(std::io::Error),
    /// The knowledge base cannot be opened or closed.
    Recall(RecallError),
}

impl fmt::Display for WriterError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => formatter.write_str("the knowledge base is closed; open it again"),
            Self::Forked => formatter.write_str(
                "the knowledge base was opened before this process was forked, and the thread that writes to it is in the process that opened \
                 it: open the knowledge base after the fork, or start processes anew instead (the start method \"spawn\")",
            ),
            Self::Panicked => formatter.write_str(
                "the thread that writes to the knowledge base panicked; its last commit stands: open it again",
            ),
            Self::AskedByItself => formatter.write_str(
                "a transaction asked the thread that it runs on to do something, and would have waited for ever; use its engine",
            ),
            Self::NotStarted(error) => write!(formatter, "the thread that writes cannot be started: {error}"),
            Self::Recall(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for WriterError {}

impl From<RecallError> for WriterError {
    fn from(error: RecallError) -> Self {
        Self::Recall(error)
    }
}

/// An engine on a thread of its own. Any thread may ask it for something; it ends when this is dropped.
///
/// ```
/// use metroon::{Engine, MemoryWorld};
/// use metroon::run::EngineThread;
///
/// let thread = EngineThread::start(64, || Ok(Engine::new(MemoryWorld::default())))?;
/// let pending = thread.submit(|engine| {
///     let mut results = Vec::new();
///     engine.run_text("! (+ 1 2)", &mut |_, answer| {
///         results.extend(answer.results.iter().map(ToString::to_string));
///         Ok(())
///     });
///     results
/// })?;
/// assert_eq!(pending.wait()?, ["3"]);
/// thread.close()?;
/// # Ok::<(), metroon::run::WriterError>(())
/// ```
pub struct EngineThread {
    /// It is there until this is dropped.
    requests: Option<SyncSender<Request>>,
    thread: SharedThread,
    id: ThreadId,
    process: HomeProcess,
}

/// The process in which something was made. A fork of it has a copy, but none of its threads, and locks that they held stay locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomeProcess(u32);

impl HomeProcess {
    /// The process that asks.
    pub fn here() -> Self {
        Self(std::process::id())
    }

    /// Whether the process that asks is that one.
    pub fn is_here(self) -> bool {
        self == Self::here()
    }
}

impl EngineThread {
    /// Starts the thread, whose engine `make` makes there. Up to `waiting_max` requests may wait before the next caller waits for room.
    ///
    /// # Errors
    /// The thread cannot be started, or the engine not be made.
    pub fn start(
        waiting_max: usize,
        make: impl FnOnce() -> Result<Engine, RecallError> + Send + 'static,
    ) -> Result<Self, WriterError> {
        let (requests, queue) = sync_channel(waiting_max);
        let (made, is_made) = sync_channel(1);
        let work = move || match make() {
            Ok(engine) => {
                // Somebody waits for it.
                let _ = made.send(Ok(()));
                work_off(engine, &queue)
            }
            Err(error) => {
                let _ = made.send(Err(error));
                Ok(())
            }
        };
        let thread = thread::Builder::new().name("metroon-writer".to_owned()).spawn(work);
        let thread = thread.map_err(WriterError::NotStarted)?;
        let id = thread.thread().id();
        is_made.recv().map_err(|_| WriterError::Panicked)??;
        let (requests, thread) = (Some(requests), Arc::new(Mutex::new(Some(thread))));
        Ok(Self { requests, thread, id, process: HomeProcess::here() })
    }

    /// Lets the engine do something, and waits until that is done.
    ///
    /// # Errors
    /// The thread has ended, or is the one that asks.
    pub fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<T, WriterError> {
        self.submit(work)?.wait()
    }

    /// Lets the engine do something, in its turn.
    ///
    /// # Errors
    /// The thread has ended, or is the one that asks.
    pub fn submit<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<Pending<T>, WriterError> {
        self.check()?;
        let (done, result) = sync_channel(1);
        let work: Work = Box::new(move |engine| {
            // The answer is not taken any more if nobody waits for it.
            let _ = done.send(work(engine));
        });
        let sent = self.requests.as_ref().is_some_and(|requests| requests.send(Request::Work(work)).is_ok());
        if !sent {
            return Err(gone(&self.thread));
        }
        Ok(Pending { result, thread: Arc::clone(&self.thread) })
    }

    /// An error if the thread would never answer.
    fn check(&self) -> Result<(), WriterError> {
        match (self.process.is_here(), self.is_current()) {
            (false, _) => Err(WriterError::Forked),
            (true, true) => Err(WriterError::AskedByItself),
            (true, false) => Ok(()),
        }
    }

    /// The process that has the thread.
    pub fn process(&self) -> HomeProcess {
        self.process
    }

    /// Whether the thread is the one that asks.
    pub fn is_current(&self) -> bool {
        thread::current().id() == self.id
    }

    /// Does what is in the queue by now, and ends the thread.
    ///
    /// # Errors
    /// The thread panicked, what its engine keeps could not be completed, or it is the one that asks.
    pub fn close(&self) -> Result<(), WriterError> {
        self.check()?;
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(thread) = thread.take() else { return Ok(()) };
        // One that has panicked takes no more.
        let _ = self.requests.as_ref().map(|requests| requests.send(Request::Close));
        thread.join().map_err(|_| WriterError::Panicked)?.map_err(WriterError::Recall)
    }
}

impl Drop for EngineThread {
    /// Every commit is durable. A caller that wants to hear what fails here calls `close` first.
    fn drop(&mut self) {
        if !self.process.is_here() {
            // The thread is another process's, and so is what it holds. Nothing here waits for it, or for a lock that it held.
            std::mem::forget(self.requests.take());
            std::mem::forget(std::mem::replace(&mut self.thread, Arc::new(Mutex::new(None))));
            return;
        }
        if self.is_current() {
            // A transaction held the last handle: the thread ends after it.
            let _ = self.requests.as_ref().map(|requests| requests.try_send(Request::Close));
            return;
        }
        let _ = self.close();
    }
}

/// The thread, until it was ended.
type SharedThread = Arc<Mutex<Option<JoinHandle<Result<(), RecallError>>>>>;

/// Why a thread answers no more.
fn gone(thread: &SharedThread) -> WriterError {
    let thread = thread.lock().unwrap_or_else(PoisonError::into_inner);
    if thread.is_some() { WriterError::Panicked } else { WriterError::Closed }
}

/// Something that an engine is to do, or does, or has done. If it is dropped, it is done all the same.
pub struct Pending<T> {
    result: Receiver<T>,
    thread: SharedThread,
}

impl<T> Pending<T> {
    /// Waits until it is done.
    ///
    /// # Errors
    /// The thread panicked or was ended before.
    pub fn wait(self) -> Result<T, WriterError> {
        self.result.recv().map_err(|_| gone(&self.thread))
    }

    /// Waits for so long; `None` if it is not done by then.
    ///
    /// # Errors
    /// As [`Pending::wait`].
    pub fn wait_for(&self, time: Duration) -> Result<Option<T>, WriterError> {
        match self.result.recv_timeout(time) {
            Ok(result) => Ok(Some(result)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(gone(&self.thread)),
        }
    }
}

fn work_off(mut engine: Engine, queue: &Receiver<Request>) -> Result<(), RecallError> {
    while let Ok(Request::Work(work)) = queue.recv() {
        work(&mut engine);
    }
    engine.finish()
}
