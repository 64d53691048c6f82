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
mod history;
mod knowledge_base;
mod live;
mod load;
pub mod logs;
mod metrics;
mod no_world;
mod package;
mod permissions;
mod program;
mod recall;
mod system_world;
mod tape;
mod view;
mod writer;

pub use answer::Answer;
pub use checker::{Checked, check_source, check_source_in};
pub use commit_journal::{
    BackedUp, Beginning, CheckpointReport, CheckpointVerdict, CommitJournal, CommitsGivenUp, CompactProgress,
    Compacted, HISTORY_BYTES_DEFAULT, KnowledgeBaseError, KnowledgeBaseReport, Moment, MomentError,
    SalvagedKnowledgeBase,
};
pub use engine::Engine;
pub use file_place::FilePlace;
pub use history::{Change, CommitView, History, LogEntry, Origins, SourceView, SourceWriter, Unsound, Unwritten};
pub use journal::Durability;
pub use knowledge_base::{
    BaseLoadError, Completed, KnowledgeBase, KnowledgeBaseOptions, REQUESTS_WAITING_DEFAULT, RunError,
};
pub use live::{
    CHANGES_WAITING_BYTES_DEFAULT, CHANGES_WAITING_DEFAULT, FollowError, LiveEvent, LiveFollower, LiveNameError,
    LiveQueriesStatistics, LiveRequest, LiveRequestError, NamedLiveQuery, SubscribeError, Subscription,
};
pub use load::{FileFormat, LoadFailure, LoadOptions, LoadOptionsError};
pub use metrics::Metrics;
pub use metta::syntax;
pub use metta::{AnswerChange, LiveError, LiveRulesStatistics, LiveStatistics};
pub use metta::{Ask, Clock, ProfileNode, Step};
pub use metta::{CarryOut, Environment, HostCall, HostEffects, HostFunction, HostSignature, Outcome, held_function};
pub use metta::{Cause, CauseKind, Commit, CommitError, CommitSink, CommitStamp, CommitTrigger, SinkError, SourceId};
pub use metta::{Certainty, FailedCall, Failure, Place};
pub use metta::{ChangeExtent, MemoryOutput, MemoryWorld, Program, Reason};
pub use metta::{Derivation, Derivations, Ground, NearMiss, STATES_MAX_DEFAULT};
pub use metta::{EffectKind, EffectRefused, FreezeError, FrozenResults};
pub use metta::{
    Evaluator, FormAnswer, HEAP_BYTES_DEFAULT, Interrupt, LimitReached, Limits, OnAnswer, Run, RunEnd, Source,
    Statistics,
};
pub use metta::{FileId, OpenMode, READ_BYTES_MAX, World, WorldError, clean_path};
pub use metta::{Format, LoadError, LoadProgress, LoadReport, OnProgress, Out, Skipped};
pub use metta::{LoggedKind, LoggedQuery, LoggedStep, LoggedWay, QueryLog};
pub use metta::{ModuleId, ModuleSearch, OnEvent, RunEvent};
pub use metta::{documentation_of, format, known_names, nearest, type_of, types_of_text};
pub use package::{Package, PackagePermissions};
pub use permissions::{OpensPlaces, Permissions, PermittedWorld};
pub use program::{ProgramEnd, ProgramSource, Reporter, RunRequest};
pub use recall::{RecallError, find_error};
pub use space::{AnswerTable, Atom, Change as SpaceChange, ChangeDetail, Changes, Delta, QueryWay, Row};
pub use system_world::{Printer, SystemWorld};
pub use tape::replaying::{Difference, ReplayEnd};
pub use tape::{Tape, TapeError, TapeReader};
pub use view::{Reader, View, ViewError};
pub use writer::{EngineThread, HomeProcess, Pending, WriterError};

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
