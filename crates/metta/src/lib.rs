//! The MeTTa language: what a program means.
//!
//! Text becomes a tree with diagnostics ([`syntax`]), the tree becomes atoms ([`Tokenizer`]) of a [`Program`], atoms are evaluated
//! (`evaluate`, and the two evaluators `interpreter` and `machine`) with their types ([`types`]) and the standard library
//! ([`stdlib`]). A [`Session`] runs the sources of a program.
//!
//! This crate does no input or output and reads no clock: whatever a program asks of the world goes through a
//! [`World`].
#![forbid(unsafe_code)]

mod bundled;
mod check;
mod commit;
mod datalog;
mod derivation;
mod describe;
mod documentation;
mod effects;
mod environment;
mod evaluate;
mod failure;
mod format;
mod handles;
mod host;
mod host_call;
mod instructions;
mod interpreter;
mod limits;
mod live;
mod load;
mod lowering;
mod machine;
mod memory_pages;
mod memory_stores;
mod memory_world;
pub mod names;
mod open_services;
mod operation;
mod outcome;
mod page_steps;
mod page_types;
mod pages;
mod passes;
mod program;
mod random;
mod reader;
mod record;
mod refusal;
mod rules;
mod run;
mod service_requests;
mod services;
mod session;
mod settings;
mod stated;
pub mod stdlib;
mod stores;
pub mod syntax;
mod tables;
mod tokenizer;
mod transaction;
pub mod types;
mod world;

pub use bundled::{FILE_TEXT_BYTES_MAX, FILES_OPEN_MAX, GENERATORS_MAX, generator_atom};
pub use check::{check, nearest};
pub use commit::{Cause, CauseKind, Commit, CommitError, CommitSink, CommitStamp, CommitTrigger, SinkError};
pub use derivation::{Derivation, Derivations, Ground, NearMiss, STATES_MAX_DEFAULT, derivations};
pub use describe::{documentation_of, known_names, type_of, types_of_text};
pub use documentation::Documentation;
pub use effects::Effects;
pub use environment::{CarryOut, Environment, HostFunction, OpenFile};
pub use evaluate::Evaluator;
pub use failure::{Certainty, FailedCall, Failure, Place};
pub use format::format;
pub use host::{HostEffects, HostSignature, held_function};
pub use host_call::{HostCall, RecordedAnswer};
pub use limits::{DEPTH_MAX_DEFAULT, HEAP_BYTES_DEFAULT, Halted, Interrupt, LimitReached, Limits, WRITTEN_BYTES_MAX};
pub use live::{
    Aggregate, AnswerChange, LIVE_QUERIES_MAX, LiveCall, LiveDefinition, LiveError, LiveKeeper, LiveKept, LiveNews,
    LiveNewsKind, LiveQuery, LiveRules, LiveRulesUpdate, LiveSource, LiveStatistics, NamedQuery, Top,
};
pub use load::{
    COMMIT_RECORDS, Format, Formats, LoadError, LoadProgress, LoadReport, LoadSource, MettaText, OnProgress, Out,
    RECORD_BYTES_MAX, Skipped, WordMeaning, Words,
};
pub use lowering::{Arithmetic, Comparison, Logic, Lowering};
pub use machine::{Explained, FrozenResults};
pub use memory_world::{MemoryOutput, MemoryWorld};
pub use open_services::{OpenServices, ask_service};
pub use operation::{Call, Compatibility, Native, Operation, OperationDocumentation, OperationSpec};
pub use outcome::{Outcome, Refused, Stop};
pub use page_steps::{
    FoundPage, PAGE_NUMBERS_MAX, PageStep, StepPage, checked_bytes, history_too_long, no_page, numbers_of, page_steps,
    shown_page,
};
pub use page_types::{PageKind, PageNumber, PageNumbers, PageType};
pub use pages::{
    ChangedPage, ListedPage, PageChange, PageContent, PageEvent, PageName, PagePlace, PagesAnswer, PagesRequest,
};
pub use passes::{Pass, Passes};
pub use program::history::{Event, Reason, SourceId};
pub use program::modules::{ModuleError, ModuleId};
pub use program::{
    ChangeExtent, ModuleSearch, PAST_SERIALS, Program, ProgramSnapshot, RestoreError, SnapshotSpaces, resolve_host,
};
pub use random::Generator;
pub use reader::read_atom;
pub use record::{
    Begun, ContentHasher, History, Known, NO_HISTORY, RunRecord, RunRecordError, SourceContent, SourceText,
};
pub use refusal::{EffectKind, EffectRefused};
pub use region::FreezeError;
pub use run::{FormAnswer, OnAnswer, OnEvent, RunEvent};
pub use service_requests::{AsksService, ServiceAnswer, ServiceRequest};
pub use services::{AnswerSize, SERVICES_OPEN_MAX, ServiceId, ServiceKind};
pub use session::{
    Ask, Clock, LoggedKind, LoggedQuery, LoggedStep, LoggedWay, ProfileNode, QueryLog, Run, RunEnd, Session, Source,
    Statistics, Step,
};
pub use space::LiveDatalogStatistics as LiveRulesStatistics;
pub use stores::{StoreAnswer, StoreChange, StoreRequest};
pub use tokenizer::{Tokenizer, WordMaker};
pub use world::{FileId, OpenMode, READ_BYTES_MAX, World, WorldError, clean_path};
