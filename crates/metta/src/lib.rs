//! The MeTTa language: what a program means.
//!
//! Text becomes a tree with diagnostics ([`syntax`]), the tree becomes atoms ([`Tokenizer`]), atoms are evaluated
//! ([`interpreter`]) with their types ([`types`]) and the standard library ([`stdlib`]). A [`Runner`] holds the
//! modules of a program and runs sources in them.
//!
//! This crate does no input or output and reads no clock: whatever a program asks of the world goes through a
//! [`World`].
#![forbid(unsafe_code)]

mod bundled;
mod effects;
mod instructions;
pub mod interpreter;
mod limits;
mod load;
mod lowering;
mod machine;
mod memory;
mod memory_world;
mod modules;
pub mod names;
mod operation;
mod outcome;
mod random;
mod reader;
mod restore;
mod runner;
mod stated;
pub mod stdlib;
pub mod syntax;
mod tables;
mod tokenizer;
mod transaction;
pub mod types;
mod world;

pub use bundled::{FILE_TEXT_BYTES_MAX, FILES_OPEN_MAX, GENERATORS_MAX, generator_atom};
pub use effects::Effects;
pub use limits::{DEPTH_MAX_DEFAULT, HEAP_BYTES_DEFAULT, Halted, Interrupt, LimitReached, Limits};
pub use load::{
    COMMIT_RECORDS, Format, Formats, LoadError, LoadProgress, LoadReport, LoadSource, MettaText, OnProgress, Out,
    RECORD_BYTES_MAX, Skipped, WordMeaning, Words,
};
pub use lowering::{Arithmetic, Comparison, Logic, Lowering};
pub use machine::FrozenResults;
pub use memory::{
    Begun, Cause, CauseKind, Commit, CommitTrigger, ContentHasher, Event, Known, Memory, MemoryError, NO_HISTORY,
    Reason, SourceContent, SourceId, SourceText,
};
pub use memory_world::{MemoryOutput, MemoryWorld};
pub use modules::{ModuleError, ModuleId};
pub use operation::{Call, Native, Operation, OperationSpec, Outcome, Stop};
pub use random::Generator;
pub use reader::read_atom;
pub use restore::RestoreError;
pub use runner::{Evaluator, FormAnswer, OnAnswer, Run, RunEnd, Runner, Source, Statistics};
pub use tokenizer::Tokenizer;
pub use world::{FileId, OpenMode, READ_BYTES_MAX, World, WorldError, clean_path};
