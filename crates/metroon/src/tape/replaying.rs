//! Running a tape again: a world that answers from it, and checks that what is asked and committed is what was.

use super::{Request, TapeCommit, TapeError, TapeFrame, TapeHalted, TapeReader, whole};
use crate::commit_journal::record::RecordError;
use metta::{
    FileId, HostCall, LimitReached, OpenMode, RecordedAnswer, ServiceAnswer, ServiceRequest, World, WorldError,
};
use serde::de::DeserializeOwned;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// The tape that a run follows.
pub(crate) struct Follower {
    tape: TapeReader,
    /// How many commits were equal so far.
    commits: u64,
    /// The form that is being run: where the next commit will be said to be.
    place: String,
    /// Whether a form is being run; if not, what happens belongs to the last commit.
    is_in_form: bool,
    /// The commit after which to stop.
    stop_after: Option<u64>,
    /// Where the recorded run was ended from outside, or since it took too much memory.
    halted: Option<TapeHalted>,
    /// Whether the commits of the recorded run had times.
    is_dated: bool,
    end: Option<ReplayEnd>,
}

pub(crate) type SharedFollower = Rc<RefCell<Follower>>;

/// Why a replay ended before the program did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplayEnd {
    /// The run is not the one that was recorded.
    Differs(Box<Difference>),
    /// The tape ends after this many commits: the recorded run was killed.
    TapeEnds(u64),
    /// It was to stop after this commit.
    Reached(u64),
    /// Somebody ended the replay after this commit.
    Interrupted(u64),
    /// The replay reached a limit that the recorded run did not.
    Limit {
        /// Which.
        limit: LimitReached,
        /// How many commits were equal.
        commits: u64,
    },
    /// What it prints cannot be written here.
    NotShown(WorldError),
    /// The tape cannot be read any further.
    Unreadable(String),
}

/// The first difference between a recorded run and its replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The commit that differs, or the one that was being made.
    pub commit: u64,
    /// The source, line and column of the form that was run.
    pub place: String,
    /// What differs.
    pub what: String,
    /// What the tape has.
    pub recorded: Vec<String>,
    /// What the replay came to.
    pub replayed: Vec<String>,
}

impl fmt::Display for ReplayEnd {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differs(difference) => difference.fmt(formatter),
            Self::TapeEnds(commits) => {
                write!(formatter, "the tape ends after commit {commits}: the recorded run was cut off there")
            }
            Self::NotShown(error) => error.fmt(formatter),
            Self::Interrupted(commit) => write!(formatter, "the replay was cancelled after commit {commit}"),
            Self::Limit { limit, commits } => {
                write!(formatter, "the replay reached a limit of its own after commit {commits}: {limit:?}")
            }
            Self::Reached(commit) => write!(formatter, "stopped after commit {commit}"),
            Self::Unreadable(reason) => formatter.write_str(reason),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the replay differs from the recording at commit {}", self.commit)?;
        if !self.place.is_empty() {
            write!(formatter, ", at {}", self.place)?;
        }
        write!(formatter, ": {}", self.what)?;
        for (side, lines) in [("recorded", &self.recorded), ("replayed", &self.replayed)] {
            for line in lines {
                write!(formatter, "\n  {side}: {line}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ReplayEnd {}

impl Follower {
    /// Follows a tape whose beginning was read.
    pub(crate) fn new(tape: TapeReader, outlook: &Outlook, stop_after: Option<u64>) -> SharedFollower {
        let (halted, is_dated) = (outlook.halted, outlook.is_dated);
        let (commits, place, is_in_form, end) = (0, String::new(), false, None);
        Rc::new(RefCell::new(Self { tape, commits, place, is_in_form, stop_after, halted, is_dated, end }))
    }

    pub(crate) fn commits(&self) -> u64 {
        self.commits
    }

    pub(crate) fn halted(&self) -> Option<TapeHalted> {
        self.halted
    }

    pub(crate) fn end(&self) -> Option<&ReplayEnd> {
        self.end.as_ref()
    }

    pub(crate) fn set_place(&mut self, place: String) {
        self.place = place;
        self.is_in_form = true;
    }

    /// Whether the run is to go on.
    pub(crate) fn check(&mut self) -> Result<(), ReplayEnd> {
        if self.end.is_none() && self.stop_after.is_some_and(|last| self.commits >= last) {
            self.end = Some(ReplayEnd::Reached(self.commits));
        }
        self.end.clone().map_or(Ok(()), Err)
    }

    /// Notes that the replay comes to a limit of its own, or that somebody ends it, which is no difference.
    pub(crate) fn limit(&mut self, limit: LimitReached) -> ReplayEnd {
        self.fail(match limit {
            LimitReached::Cancelled => ReplayEnd::Interrupted(self.commits),
            limit => ReplayEnd::Limit { limit, commits: self.commits },
        })
    }

    fn fail(&mut self, end: ReplayEnd) -> ReplayEnd {
        self.end.get_or_insert(end).clone()
    }

    fn differ(&mut self, what: String, recorded: Vec<String>, replayed: Vec<String>) -> ReplayEnd {
        let commit = if self.is_in_form { self.commits + 1 } else { self.commits.max(1) };
        let place = self.place.clone();
        self.fail(ReplayEnd::Differs(Box::new(Difference { commit, place, what, recorded, replayed })))
    }

    fn next<T>(&mut self, take: impl FnOnce(TapeFrame<'_>) -> Result<T, RecordError>) -> Result<T, ReplayEnd> {
        if let Some(end) = &self.end {
            return Err(end.clone());
        }
        match self.tape.next(take) {
            Ok(Some(taken)) => Ok(taken),
            Ok(None) => Err(self.fail(ReplayEnd::TapeEnds(self.commits))),
            Err(error) => Err(self.fail(ReplayEnd::Unreadable(error.to_string()))),
        }
    }

    /// The recorded answer of a request, which must be the one that was made here.
    fn answer<T: DeserializeOwned>(&mut self, asked: &Request<'_>) -> Result<Result<T, WorldError>, ReplayEnd> {
        let found = self.next(|frame| match frame {
            TapeFrame::Effect(request, answer) if request == *asked => Ok(Ok(whole(answer)?)),
            frame => Ok(Err(describe(&frame))),
        })?;
        found.map_err(|recorded| {
            let is_print = matches!(asked, Request::Print(_));
            let what = if is_print { "the output" } else { "what the run asks of the world" };
            self.differ(what.to_owned(), vec![recorded], vec![asked.to_string()])
        })
    }

    /// Checks a commit against the recorded one.
    pub(crate) fn commit(&mut self, commit: &TapeCommit) -> Result<(), ReplayEnd> {
        let found = self.next(|frame| match frame {
            TapeFrame::Commit(recorded) => Ok(Ok(recorded)),
            frame => Ok(Err(describe(&frame))),
        })?;
        self.place = place_of(commit);
        match found {
            Ok(recorded) if recorded == *commit => {
                self.commits = commit.number;
                self.is_in_form = false;
                Ok(())
            }
            Ok(recorded) => {
                let (what, [recorded, replayed]) = compare(&recorded, commit);
                Err(self.differ(what, recorded, replayed))
            }
            Err(recorded) => {
                let what = "what happens next".to_owned();
                Err(self.differ(what, vec![recorded], vec![format!("the commit ends, at {}", place_of(commit))]))
            }
        }
    }

    /// Passes the frame that says where a form was ended.
    pub(crate) fn halt(&mut self, halted: TapeHalted) -> Result<(), ReplayEnd> {
        let found = self.next(|frame| match frame {
            TapeFrame::Halted(recorded) if recorded == halted => Ok(Ok(())),
            frame => Ok(Err(describe(&frame))),
        })?;
        let here = format!("the form is ended after {} steps", halted.steps);
        found.map_err(|recorded| self.differ("where the form was ended".to_owned(), vec![recorded], vec![here]))
    }

    /// Checks that the tape ends where the run does.
    pub(crate) fn finish(&mut self) -> Result<(), ReplayEnd> {
        let found = self.next(|frame| match frame {
            TapeFrame::End => Ok(Ok(())),
            frame => Ok(Err(describe(&frame))),
        })?;
        found
            .map_err(|recorded| self.differ("the end".to_owned(), vec![recorded], vec!["the run has ended".to_owned()]))
    }
}

fn place_of(commit: &TapeCommit) -> String {
    format!("{}:{}:{}", commit.origin, commit.line, commit.column)
}

/// What differs between two commits, and how each side has it.
fn compare(recorded: &TapeCommit, replayed: &TapeCommit) -> (String, [Vec<String>; 2]) {
    if place_of(recorded) != place_of(replayed) {
        return ("the form that was run".to_owned(), [recorded, replayed].map(|commit| vec![place_of(commit)]));
    }
    let both = |line: fn(&TapeCommit) -> String| [recorded, replayed].map(|commit| vec![line(commit)]);
    let counts = |commit: &TapeCommit| {
        format!("{} added, {} removed, {} other changes", commit.added, commit.removed, commit.others)
    };
    let hash = |commit: &TapeCommit| format!("state {:032x}", u128::from_le_bytes(commit.hash));
    if recorded.sample != replayed.sample {
        let first = recorded.sample.iter().zip(&replayed.sample).take_while(|(left, right)| left == right).count();
        let side = |commit: &TapeCommit| match commit.sample.get(first..) {
            Some(rest) if !rest.is_empty() => rest.iter().take(3).cloned().collect(),
            _ => vec!["no such change".to_owned()],
        };
        return (format!("change {}", first + 1), [side(recorded), side(replayed)]);
    }
    if counts(recorded) != counts(replayed) {
        return ("the number of changes".to_owned(), both(counts));
    }
    if recorded.hash != replayed.hash {
        return ("the state".to_owned(), both(hash));
    }
    ("its number".to_owned(), both(|commit| format!("commit {}, epoch {}", commit.number, commit.epoch)))
}

/// A frame of the tape, for people.
fn describe(frame: &TapeFrame<'_>) -> String {
    match frame {
        TapeFrame::Begin(_) => "the beginning of a tape".to_owned(),
        TapeFrame::Image(_) => "a part of a base".to_owned(),
        TapeFrame::Effect(request, _) => request.to_string(),
        TapeFrame::Commit(commit) => format!("the commit ends, at {}", place_of(commit)),
        TapeFrame::Halted(halted) => format!("the form is ended after {} steps", halted.steps),
        TapeFrame::End => "the run has ended".to_owned(),
    }
}

/// A world that answers from a tape. What is printed goes to another world, when it is what was printed.
pub(crate) struct ReplayingWorld {
    follower: SharedFollower,
    output: Box<dyn World>,
}

impl ReplayingWorld {
    pub(crate) fn new(follower: SharedFollower, output: Box<dyn World>) -> Self {
        Self { follower, output }
    }

    fn ask<T: DeserializeOwned>(&mut self, request: &Request<'_>) -> Result<T, WorldError> {
        let answer = self.follower.borrow_mut().answer(request);
        answer.unwrap_or_else(|end| Err(WorldError::ReplayEnded { reason: end.to_string() }))
    }
}

impl World for ReplayingWorld {
    fn print(&mut self, line: &str) -> Result<(), WorldError> {
        let answer = self.ask(&Request::Print(line.into()));
        if answer.is_ok()
            && let Err(error) = self.output.print(line)
        {
            self.follower.borrow_mut().fail(ReplayEnd::NotShown(error.clone()));
            return Err(error);
        }
        answer
    }

    fn trace(&mut self, line: &str) {
        self.output.trace(line);
    }

    fn read_source(&mut self, path: &str) -> Result<Arc<Vec<u8>>, WorldError> {
        let answer = self.ask::<serde_bytes::ByteBuf>(&Request::ReadSource(path.into()));
        answer.map(|bytes| Arc::new(bytes.into_vec()))
    }

    fn has_source(&mut self, path: &str) -> Result<bool, WorldError> {
        self.ask(&Request::HasSource(path.into()))
    }

    fn read_standard_input(&mut self) -> Result<Vec<u8>, WorldError> {
        self.ask::<serde_bytes::ByteBuf>(&Request::ReadStandardInput).map(serde_bytes::ByteBuf::into_vec)
    }

    fn absolute_path(&mut self, path: &str) -> Result<String, WorldError> {
        self.ask(&Request::AbsolutePath(path.into()))
    }

    fn now(&mut self) -> Result<i64, WorldError> {
        self.ask(&Request::Now)
    }

    fn commit_time(&mut self) -> Result<Option<i64>, WorldError> {
        let is_dated = self.follower.borrow().is_dated;
        if is_dated { self.ask(&Request::CommitTime) } else { Ok(None) }
    }

    fn random(&mut self) -> Result<u64, WorldError> {
        self.ask(&Request::Random)
    }

    fn environment(&mut self, name: &str) -> Result<Option<String>, WorldError> {
        self.ask(&Request::Environment(name.into()))
    }

    fn open_file(&mut self, path: &str, mode: OpenMode) -> Result<FileId, WorldError> {
        self.ask(&Request::OpenFile(path.into(), mode))
    }

    fn read_file(&mut self, file: FileId, bytes_max: u64) -> Result<Vec<u8>, WorldError> {
        let answer = self.ask::<serde_bytes::ByteBuf>(&Request::ReadFile(file, bytes_max));
        answer.map(serde_bytes::ByteBuf::into_vec)
    }

    fn write_file(&mut self, file: FileId, bytes: &[u8]) -> Result<(), WorldError> {
        self.ask(&Request::WriteFile(file, bytes.into()))
    }

    fn seek_file(&mut self, file: FileId, position: u64) -> Result<(), WorldError> {
        self.ask(&Request::SeekFile(file, position))
    }

    fn note_function(&mut self, identity: &str) -> Result<(), WorldError> {
        self.ask(&Request::Function(identity.into()))
    }

    fn recorded_answer(&mut self, call: &HostCall<'_>) -> Result<Option<RecordedAnswer>, WorldError> {
        self.ask(&Request::Call(call.bytes().into())).map(Some)
    }

    fn file_size(&mut self, file: FileId) -> Result<u64, WorldError> {
        self.ask(&Request::FileSize(file))
    }

    fn ask_service(&mut self, request: &ServiceRequest) -> Result<ServiceAnswer, WorldError> {
        let asked = Request::from(request);
        match request {
            ServiceRequest::Store(_) => self.ask(&asked).map(ServiceAnswer::Store),
            ServiceRequest::Pages(_) => self.ask(&asked).map(ServiceAnswer::Pages),
        }
    }

    fn close_file(&mut self, file: FileId) -> Result<(), WorldError> {
        self.ask(&Request::CloseFile(file))
    }
}

/// What a whole tape says of the run before it is run again.
#[derive(Default)]
pub(crate) struct Outlook {
    /// Where it was ended from outside.
    pub(crate) halted: Option<TapeHalted>,
    /// The functions of the host that it could call, by identity.
    pub(crate) functions: Vec<String>,
    /// Whether its commits had times.
    pub(crate) is_dated: bool,
}

/// Reads a tape to its end, and goes back to its beginning.
pub(crate) fn look_ahead(tape: &mut TapeReader) -> Result<Outlook, TapeError> {
    let mut outlook = Outlook::default();
    while let Some(()) = tape.next(|frame| {
        match frame {
            TapeFrame::Halted(found) => outlook.halted = outlook.halted.or(Some(found)),
            TapeFrame::Effect(Request::Function(identity), _) => outlook.functions.push(identity.into_owned()),
            TapeFrame::Effect(Request::CommitTime, _) => outlook.is_dated = true,
            _ => {}
        }
        Ok(())
    })? {}
    tape.rewind()?;
    Ok(outlook)
}
