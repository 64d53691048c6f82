//! What can go wrong: one enumeration an operation. Every message says what, where and what next.

use crate::Epoch;
use crate::function::FunctionName;
use crate::metadata::Metadata;
use crate::page::{PAGE_BYTES_MAX, PageId};
use crate::record::Malformed;
use crate::transaction::NewPage;
use journal::LockError;
use std::error::Error;
use std::fmt;
use std::path::PathBuf;

/// Why a transaction was refused. The state, and its log, are as they were before, but for [`CommitError::Log`].
#[derive(Debug)]
#[non_exhaustive]
pub enum CommitError {
    /// The transaction says that it follows from a commit that there is not.
    UnknownCause {
        /// The commit.
        cause: Epoch,
        /// The last one that there is.
        last: Epoch,
    },
    /// A step names a page that is not there, or was deleted in an earlier step.
    UnknownPage {
        /// The page.
        page: PageId,
        /// The step, counted from 0.
        step: usize,
    },
    /// A step names a page that an earlier step of the same transaction was to make, and none does.
    UnknownNewPage {
        /// The page.
        page: NewPage,
        /// The step, counted from 0.
        step: usize,
    },
    /// A step writes past the end of a page.
    OutOfPage {
        /// The page.
        page: PageId,
        /// The step, counted from 0.
        step: usize,
        /// How long the page is, in bytes.
        length: usize,
        /// Where the step would end, in bytes from the beginning of the page.
        end: usize,
    },
    /// A mask is for a page of another length, or comes with more or fewer bytes than it names.
    MaskLength {
        /// The page.
        page: PageId,
        /// The step, counted from 0.
        step: usize,
        /// How long the page is, in bytes.
        length: usize,
        /// For which length the mask is.
        mask: usize,
        /// How many bytes it names.
        named: usize,
        /// How many bytes there are.
        bytes: usize,
    },
    /// The operand of a merge does not consist of whole numbers.
    OperandLength {
        /// The page.
        page: PageId,
        /// The step, counted from 0.
        step: usize,
        /// How long the operand is, in bytes.
        bytes: usize,
        /// What that must be a multiple of.
        width: usize,
    },
    /// A page would be longer than [`PAGE_BYTES_MAX`].
    PageTooLong {
        /// The step, counted from 0.
        step: usize,
        /// How long it would be, in bytes.
        bytes: usize,
    },
    /// A step writes to a page that is derived.
    Derived {
        /// The page.
        page: PageId,
        /// The step, counted from 0.
        step: usize,
    },
    /// A step derives a page anew that is not derived.
    NotDerived {
        /// The page.
        page: PageId,
        /// The step, counted from 0.
        step: usize,
    },
    /// A derived page would depend on nothing.
    NoDependencies {
        /// The step, counted from 0.
        step: usize,
    },
    /// There is no function of this name and version.
    UnknownFunction {
        /// The function.
        function: FunctionName,
        /// The step, counted from 0.
        step: usize,
    },
    /// The name of a function is longer than [`FunctionName::BYTES_MAX`].
    NameTooLong {
        /// The step, counted from 0.
        step: usize,
    },
    /// What a page is described by is longer than it may be: the name than [`Metadata::NAME_BYTES_MAX`], the rest than
    /// [`Metadata::BYTES_MAX`].
    MetadataTooLong {
        /// The step, counted from 0.
        step: usize,
    },
    /// Pages would be derived from themselves: each from the next, the last from the first.
    Cycle {
        /// The pages.
        pages: Vec<PageId>,
    },
    /// A page is deleted from which another one is derived.
    InUse {
        /// The page.
        page: PageId,
        /// The page that is derived from it.
        by: PageId,
        /// The step, counted from 0.
        step: usize,
    },
    /// A function could not derive a page, or panicked.
    Function {
        /// The page.
        page: PageId,
        /// Its function.
        function: FunctionName,
        /// What the function says.
        reason: String,
    },
    /// A function has read a page on which the page that it derives does not depend.
    UndeclaredRead {
        /// The page.
        page: PageId,
        /// Its function.
        function: FunctionName,
        /// The page that it has read.
        read: PageId,
    },
    /// A function that was run twice wrote two things.
    Impure {
        /// The page.
        page: PageId,
        /// Its function.
        function: FunctionName,
    },
    /// There are as many pages as can be named.
    TooManyPages,
    /// The log did not take the commit. If it says that it may have, only opening the state again tells.
    Log(Box<dyn Error + Send + Sync>),
}

impl fmt::Display for CommitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownCause { cause, last } => {
                write!(
                    f,
                    "the transaction says that it follows from commit {cause}, and the last one is {last}; name a commit that there is"
                )
            }
            Self::UnknownPage { page, step } => {
                write!(f, "step {step}: there is no {page}; it was deleted, or belongs to another state")
            }
            Self::UnknownNewPage { page, step } => write!(
                f,
                "step {step}: the transaction has made no page number {} before; pages that other transactions make have names once these are committed",
                page.0
            ),
            Self::OutOfPage { page, step, length, end } => {
                write!(
                    f,
                    "step {step}: {page} has {length} bytes, and the step goes up to byte {end}; make a longer page"
                )
            }
            Self::MaskLength { page, step, length, mask, named, bytes } => write!(
                f,
                "step {step}: {page} has {length} bytes, the mask is for {mask} and names {named}, and {bytes} are given; \
                 a mask is for the length of the page and names as many bytes as are given"
            ),
            Self::OperandLength { page, step, bytes, width } => {
                write!(f, "step {step}: {bytes} bytes are merged with {page}; this merge takes multiples of {width}")
            }
            Self::PageTooLong { step, bytes } => {
                write!(f, "step {step}: a page of {bytes} bytes is too long: {PAGE_BYTES_MAX} is the most; use several")
            }
            Self::Derived { page, step } => {
                write!(f, "step {step}: {page} is derived; write to the pages that it is derived from")
            }
            Self::NotDerived { page, step } => {
                write!(f, "step {step}: {page} is not derived; delete it and derive another page")
            }
            Self::NoDependencies { step } => {
                write!(
                    f,
                    "step {step}: a derived page depends on at least one page; create one that holds what never changes"
                )
            }
            Self::UnknownFunction { function, step } => {
                write!(f, "step {step}: there is no function {function}; add it to the functions of the state")
            }
            Self::NameTooLong { step } => {
                write!(f, "step {step}: the name of the function is longer than {} bytes", FunctionName::BYTES_MAX)
            }
            Self::MetadataTooLong { step } => write!(
                f,
                "step {step}: a page is described by a name of up to {} bytes and up to {} other bytes; keep more in a page",
                Metadata::NAME_BYTES_MAX,
                Metadata::BYTES_MAX
            ),
            Self::Cycle { pages } => fmt_cycle(pages, f),
            Self::InUse { page, by, step } => {
                write!(f, "step {step}: {by} is derived from {page}; delete it first, or derive it from other pages")
            }
            Self::Function { page, function, reason } => write!(f, "{function} cannot derive {page}: {reason}"),
            Self::UndeclaredRead { page, function, read } => write!(
                f,
                "{function}, which derives {page}, reads {read}, which is not among its dependencies; name it when {page} is derived"
            ),
            Self::Impure { page, function } => write!(
                f,
                "{function} was run twice for {page} with the same input and wrote two things; a function may depend on what it reads only"
            ),
            Self::TooManyPages => f.write_str("there are as many pages as can be named; delete some"),
            Self::Log(error) => write!(f, "the commit is not logged: {error}"),
        }
    }
}

fn fmt_cycle(pages: &[PageId], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("pages would be derived from themselves: ")?;
    for page in pages {
        write!(f, "{page} from ")?;
    }
    write!(f, "{}", pages[0])
}

impl Error for CommitError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Log(error) => Some(&**error),
            _ => None,
        }
    }
}

/// Why a state cannot be opened, or what it was cannot be found again.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The journal cannot be opened or read.
    Journal(Box<dyn Error + Send + Sync>),
    /// A frame of the journal is not what a state writes.
    Malformed {
        /// The number of the frame.
        frame: u64,
        /// What is wrong with it.
        reason: Malformed,
    },
    /// A commit of the journal is not what a state writes.
    MalformedCommit {
        /// The commit.
        epoch: Epoch,
        /// What is wrong with it.
        reason: Malformed,
    },
    /// The log begins after a commit whose checkpoint is not there.
    NoCheckpoint {
        /// The commit.
        base: Epoch,
    },
    /// A page is derived by a function that was not given.
    UnknownFunction {
        /// The function.
        function: FunctionName,
        /// The commit that derives the page.
        epoch: Epoch,
    },
    /// A commit cannot be made again.
    Replay {
        /// The commit.
        epoch: Epoch,
        /// Why.
        reason: CommitError,
    },
    /// After a commit the state was another one than when the commit was made.
    StateHash {
        /// The commit.
        epoch: Epoch,
        /// The hash in the log.
        logged: u128,
        /// The hash now.
        found: u128,
    },
    /// A derived page holds something else than when the commit was made.
    Derived {
        /// The commit.
        epoch: Epoch,
        /// The page.
        page: PageId,
    },
    /// There is no such commit.
    NoSuchEpoch {
        /// The commit that was asked for.
        epoch: Epoch,
        /// The last one that there is.
        last: Epoch,
    },
    /// The state has no log, so it knows only what it holds now.
    NoLog,
    /// The place for a new state is not empty.
    NotEmpty,
    /// The folder of a state cannot be made or opened.
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The folder of a state cannot be locked.
    Lock(LockError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Journal(error) => write!(f, "the log of the state cannot be read: {error}"),
            Self::Malformed { frame, reason } => write!(
                f,
                "frame {frame} of the log is not what a state writes: {reason}; the journal belongs to something else, or to a newer program"
            ),
            Self::MalformedCommit { epoch, reason } => write!(
                f,
                "commit {epoch} of the log is not what a state writes: {reason}; the journal belongs to something else, or to a newer program"
            ),
            Self::NoCheckpoint { base } => write!(
                f,
                "the log begins after commit {base}, and there is no checkpoint of that commit or a later one; restore it from a copy"
            ),
            Self::UnknownFunction { function, epoch } => {
                write!(
                    f,
                    "commit {epoch} derives a page by {function}, which was not given; add it to the functions and open again"
                )
            }
            Self::Replay { epoch, reason } => write!(f, "commit {epoch} cannot be made again: {reason}"),
            Self::StateHash { epoch, logged, found } => write!(
                f,
                "after commit {epoch} the state has hash {found:032x}, and {logged:032x} was logged; \
                 a function has changed without another version, or is not pure"
            ),
            Self::Derived { epoch, page } => write!(
                f,
                "after commit {epoch} {page} holds something else than was logged; its function has changed without another version, or is not pure"
            ),
            Self::NoSuchEpoch { epoch, last } => write!(f, "there is no commit {epoch}; the last one is {last}"),
            Self::NoLog => {
                f.write_str("the state has no log, so what it was is not kept; give it a disk when it is made")
            }
            Self::NotEmpty => f.write_str("the place holds a state already; open it, or choose an empty one"),
            Self::Folder { folder, error } => write!(f, "the folder {} cannot be used: {error}", folder.display()),
            Self::Lock(error) => write!(f, "the folder of the state is not free: {error}"),
        }
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Journal(error) => Some(&**error),
            Self::Malformed { reason, .. } | Self::MalformedCommit { reason, .. } => Some(reason),
            Self::Replay { reason, .. } => Some(reason),
            Self::Folder { error, .. } => Some(error),
            Self::Lock(error) => Some(error),
            _ => None,
        }
    }
}
