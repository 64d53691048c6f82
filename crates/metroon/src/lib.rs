//! Metroon: a MeTTa reasoning engine.
//!
//! An [`Engine`] runs MeTTa programs, one after the other in one space, and hands out each answer as it comes:
//!
//! ```
//! use metroon::{Engine, MemoryWorld};
//!
//! let world = MemoryWorld::default();
//! let mut engine = Engine::new(world);
//! let mut answers = Vec::new();
//! engine.run_text("(= (double $x) (* 2 $x)) ! (double 21)", &mut |_, answer| {
//!     answers.push(answer.results[0].to_string());
//!     Ok(())
//! });
//! assert_eq!(answers, ["42"]);
//! ```
//!
//! A [`KnowledgeBase`] is shared by threads: one of them writes, and all others ask a [`View`], which is the knowledge base as it was after
//! a commit. It lies in a directory, and whoever [subscribes](KnowledgeBase::subscribe) to a query hears what each commit changes in its
//! answers:
//!
//! ```
//! use metroon::{KnowledgeBase, KnowledgeBaseOptions, LiveEvent, LiveRequest, SystemWorld};
//!
//! # let folder = std::env::temp_dir().join(format!("metroon-main-path-{}", std::process::id()));
//! # let _ = std::fs::remove_dir_all(&folder);
//! let base = KnowledgeBase::open(&folder, KnowledgeBaseOptions::new(SystemWorld::default()))?;
//! base.run("(road Oslo Hamar) (= (next $from) (match &self (road $from $to) $to))")?;
//!
//! // What a pattern matches, and what rules come to.
//! let view = base.view();
//! assert_eq!(view.query("(road Oslo $town)", "$town")?[0].to_string(), "Hamar");
//! assert_eq!(view.evaluate("!(next Oslo)")?[0].results[0].to_string(), "Hamar");
//!
//! // From now on, what changes: first the answers that there are, then their end.
//! let mut followed = base.subscribe(&LiveRequest::new("(road Oslo $town)").template("$town"))?;
//! assert!(matches!(followed.try_next()?, Some(LiveEvent::Answers { .. })));
//! assert!(matches!(followed.try_next()?, Some(LiveEvent::SnapshotEnd { answers: 1, .. })));
//! base.run("!(add-atom &self (road Oslo Bergen))")?;
//! let Some(LiveEvent::Changes { epoch, changes }) = followed.try_next()? else { panic!("a road has come") };
//! assert_eq!((epoch, changes.len()), (2, 1));
//! base.close()?;
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Everything a program asks of the world goes through a [`World`]: [`SystemWorld`] is the machine it runs on,
//! [`MemoryWorld`] a world of texts for tests and embedding. A [`PermittedWorld`] before either refuses what a program may not reach.
#![forbid(unsafe_code)]

mod answer;
mod checker;
mod commit_journal;
mod engine;
mod file_place;
pub mod history;
mod knowledge_base;
pub mod live;
pub mod load;
pub mod logs;
mod metrics;
mod no_world;
mod package;
mod permissions;
mod program;
mod recall;
mod run_statistics;
mod system_pages;
mod system_stores;
mod system_world;
pub mod tape;
mod view;
mod writer;

pub use answer::Answer;
pub use commit_journal::KnowledgeBaseError;
pub use engine::Engine;
pub use history::History;
pub use knowledge_base::{KnowledgeBase, KnowledgeBaseOptions, RunError};
pub use live::{LiveEvent, LiveRequest, Subscription};
pub use metta::syntax;
pub use metta::{Evaluator, FormAnswer, Limits, MemoryWorld, Run, RunEnd, World};
pub use permissions::{Permissions, PermittedWorld};
pub use space::Atom;
pub use system_world::SystemWorld;
pub use tape::Tape;
pub use view::{View, ViewError};

/// Commits as they are made: what they are told to, what they have changed, and who made them.
pub mod commits {
    pub use metta::{
        Cause, CauseKind, ChangeExtent, Commit, CommitError, CommitSink, CommitStamp, CommitTrigger, SinkError,
        SourceId,
    };
    pub use space::{Change as SpaceChange, ChangeDetail, Changes, Delta};
}

/// What an editor asks of a source: whether it is right, how it is laid out, and what is known of a name.
pub mod editing {
    pub use crate::checker::{Checked, check_source, check_source_in};
    pub use metta::{documentation_of, format, known_names, nearest, type_of, types_of_text};
}

/// Functions that a program calls and its host carries out.
pub mod host {
    pub use metta::{
        CarryOut, EffectKind, EffectRefused, Environment, HostCall, HostEffects, HostFunction, HostSignature, Outcome,
        held_function,
    };
}

/// What a run may take, and how it is ended from outside.
pub mod limits {
    pub use crate::knowledge_base::REQUESTS_WAITING_DEFAULT;
    pub use metta::{HEAP_BYTES_DEFAULT, Interrupt, LimitReached, Limits, Reason, STATES_MAX_DEFAULT};
}

/// What a run has done and where its time went, and how the machine compiles rules.
pub mod observe {
    pub use crate::metrics::Metrics;
    pub use crate::run_statistics::RunStatistics;
    pub use metta::{
        Ask, Clock, Explained, LoggedKind, LoggedQuery, LoggedStep, LoggedWay, Pass, Passes, ProfileNode, QueryLog,
        Session, Statistics, Step,
    };
}

/// Programs and what they say: sources, modules and packages, the events of a run, and engines on threads of their own.
pub mod run {
    pub use crate::knowledge_base::Completed;
    pub use crate::package::{Package, PackagePermissions};
    pub use crate::program::{ProgramEnd, ProgramSource, Reporter, RunRequest};
    pub use crate::view::Reader;
    pub use crate::writer::{EngineThread, HomeProcess, Pending, WriterError};
    pub use metta::{FreezeError, FrozenResults, ModuleId, ModuleSearch, OnAnswer, OnEvent, Program, RunEvent, Source};
    pub use space::{AnswerTable, QueryWay, Row};
}

/// The folder of a knowledge base: its journal, checkpoints, backups and what is done to them.
pub mod storage {
    pub use crate::commit_journal::{
        BackedUp, CheckpointReport, CheckpointVerdict, CommitJournal, CommitsGivenUp, CompactProgress, Compacted,
        HISTORY_BYTES_DEFAULT, KnowledgeBaseReport, SalvagedKnowledgeBase,
    };
    pub use crate::file_place::FilePlace;
    pub use journal::Durability;
}

/// Why there is an answer, why there is none, and where a run went wrong.
pub mod why {
    pub use metta::{Certainty, Derivation, Derivations, FailedCall, Failure, Ground, NearMiss, Place};
}

/// What a program may ask of the world outside.
pub mod world {
    pub use crate::permissions::OpensPlaces;
    pub use crate::system_world::Printer;
    pub use metta::{
        AsksService, ChangedPage, FileId, ListedPage, MemoryOutput, OpenMode, PageChange, PageContent, PageEvent,
        PageKind, PageName, PageNumber, PageNumbers, PagePlace, PagesAnswer, PagesRequest, READ_BYTES_MAX,
        ServiceAnswer, ServiceId, ServiceKind, ServiceRequest, StoreAnswer, StoreChange, StoreRequest, World,
        WorldError, ask_service, clean_path,
    };
}

/// The programs on the page about embedding.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
mod page_of_embedding {}

/// The program on the page about knowledge bases.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/knowledge-base.md")]
mod page {}

/// The program on the page about live queries.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/live.md")]
mod page_of_live_queries {}
