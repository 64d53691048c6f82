//! The thread that writes to a knowledge base.
//!
//! It owns the engine, which is made on it and never leaves it. What it is to do comes through a queue of bounded length: if the
//! queue is full, the caller waits. It does one thing after the other, in the order of the queue.

use crate::engine::Engine;
use crate::recall::RecallError;
use std::fmt;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle, ThreadId};

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

/// The handle of the thread that writes.
pub(crate) struct Writer {
    requests: SyncSender<Request>,
    thread: Mutex<Option<JoinHandle<Result<(), RecallError>>>>,
    id: ThreadId,
}

impl Writer {
    /// Starts the thread, whose engine `make` makes there.
    pub(crate) fn start(
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
        Ok(Self { requests, thread: Mutex::new(Some(thread)), id })
    }

    /// Lets the engine do something, and waits until that is done.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<T, WriterError> {
        if thread::current().id() == self.id {
            return Err(WriterError::AskedByItself);
        }
        let (done, result) = sync_channel(1);
        let work: Work = Box::new(move |engine| {
            // The answer is not taken any more if the caller's thread has ended.
            let _ = done.send(work(engine));
        });
        self.requests.send(Request::Work(work)).map_err(|_| self.gone())?;
        result.recv().map_err(|_| self.gone())
    }

    /// Why the thread answers no more.
    fn gone(&self) -> WriterError {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_some() { WriterError::Panicked } else { WriterError::Closed }
    }

    /// Does what is in the queue by now, and ends the thread.
    pub(crate) fn close(&self) -> Result<(), WriterError> {
        if thread::current().id() == self.id {
            return Err(WriterError::AskedByItself);
        }
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(thread) = thread.take() else { return Ok(()) };
        // One that has panicked takes no more.
        let _ = self.requests.send(Request::Close);
        thread.join().map_err(|_| WriterError::Panicked)?.map_err(WriterError::Recall)
    }
}

impl Drop for Writer {
    /// Every commit is durable. A caller that wants to hear what fails here calls `close` first.
    fn drop(&mut self) {
        if thread::current().id() == self.id {
            // A transaction held the last handle: the thread ends after it.
            let _ = self.requests.try_send(Request::Close);
            return;
        }
        let _ = self.close();
    }
}

fn work_off(mut engine: Engine, queue: &Receiver<Request>) -> Result<(), RecallError> {
    while let Ok(Request::Work(work)) = queue.recv() {
        work(&mut engine);
    }
    engine.finish()
}
