//! The knowledge space: atoms, interning, relations and matching.
//!
//! An atom outside a space is a reference-counted immutable tree ([`Atom`]). Inside a space, ground atoms are
//! rows of interned terms ([`Terms`], [`Relation`]) and atoms with variables live in a discrimination tree
//! ([`PatternTree`]); [`Space`] joins the two behind one interface and [`SharedSpace`] is the shared handle that
//! programs hold. A [`Snapshot`] is what a space held at one moment, for other threads to read; an [`Appender`] adds
//! much at once. All queries go through one pipeline: a [`Plan`] is made of patterns and executed. Matching is two-sided unification
//! ([`Bindings`], [`Unifier`]). An [`Image`] is what spaces hold as bytes that are used as they lie. [`canonical`] is the byte form in which atoms leave a process.
//!
//! ```
//! use space::{Atom, SharedSpace, Terms, VariableSource};
//!
//! // Atoms are symbols, variables, values and expressions of them.
//! let road = |from: Atom, to: Atom| Atom::expression([Atom::symbol("road"), from, to]);
//! let [oslo, hamar, bergen] = ["Oslo", "Hamar", "Bergen"].map(Atom::symbol);
//! let space = SharedSpace::new(1, "roads", Terms::shared());
//! space.add(&road(oslo.clone(), hamar.clone()));
//! space.add_many(&[road(hamar.clone(), bergen.clone()), road(oslo.clone(), bergen.clone())]);
//!
//! // A pattern is an atom with variables; each answer says what they stand for.
//! let mut source = VariableSource::default();
//! let towns = space.query(&road(oslo.clone(), Atom::variable("town")), &mut source);
//! let towns: Vec<&Atom> = towns.iter().map(|answer| &answer[0].1).collect();
//! assert_eq!(towns, [&hamar, &bergen]);
//!
//! // Patterns that are to match at once, in whichever order costs least.
//! let [from, between, to] = ["from", "between", "to"].map(Atom::variable);
//! let ways = Atom::expression([Atom::symbol(","), road(from, between.clone()), road(between, to)]);
//! assert_eq!(space.query(&ways, &mut source).len(), 1);
//!
//! // A snapshot costs nothing to take and stays as it is, on any thread.
//! let before = space.snapshot();
//! space.remove(&road(oslo.clone(), bergen));
//! let counted = std::thread::spawn(move || before.cursor(&road(oslo, Atom::variable("town")), &mut source).count());
//! assert_eq!((counted.join().unwrap(), space.len()), (2, 2));
//! ```
//!
//! This crate knows nothing of evaluation, files or time.
//!
//! Every walk over an atom uses an explicit stack: an atom nested a million levels deep is printed, compared,
//! hashed, stored and dropped without touching the limits of the native stack.
#![forbid(unsafe_code)]

mod append;
mod atom;
mod batch;
mod bindings;
pub mod canonical;
mod change;
mod columns;
mod contents;
mod datalog;
mod grounded;
mod image;
mod number;
mod parts;
mod pattern_tree;
mod patterns;
mod prefetch;
mod print;
mod query;
mod relation;
mod rewrite;
mod room;
mod row;
mod shared_space;
mod sharing;
mod snapshot;
mod solve;
mod space;
mod space_handle;
mod space_version;
mod stored;
mod term;
mod unify;
mod words;

pub use append::{Appender, EncodedRoom};
pub use atom::{Atom, Expression, Solution, Symbol, Variable, VariableSource, alpha_equivalent};
pub use batch::{Batch, BatchPart};
pub use bindings::Bindings;
pub use change::{Change, ChangeDetail, ChangeLog, ChangeMark, Changes, Delta, SAMPLE_MAX};
pub use columns::{ImageDamage, ImageError, catching_damage};
pub use contents::{Candidate, FewCandidates, Multiplicity, TooMany};
pub use datalog::{
    Datalog, Found, LiveDatalog, LiveDatalogStatistics, Operand, Part, Predicate, Program as DatalogProgram, Refused,
    Rule, TestFilter, Values, Watch,
};
pub use grounded::{Grounded, HostMatcher, HostSpace, HostValue, SharedState};
pub use image::{Image, ImagePattern, ImageSource, write_image};
pub use number::{ArithmeticError, INTEGER_BITS_MAX, INTEGER_DIGITS_MAX, Number};
pub use parts::{Parts, distinct_open_parts, distinct_parts, distinct_parts_in};
pub use pattern_tree::PatternTree;
pub use print::{beginning, brief, written_bytes_least};
pub use query::{
    AnswerCursor, AnswerGroup, AnswerTable, Answers, AnswersAt, Asked, Cursor, DeltaQuery, Executor, ExplainedStep,
    Filter, FilterInputs, FilterPart, FilterValue, Given, Head, KeptPlan, NO_TERM, Outcome, PatternPart, Plan,
    PlanStep, QueryExplanation, QueryWay, Question, ShouldStop, SignedAnswers, SignedRows, SlotValue, StepOf,
    conjunction, passes,
};
pub use relation::Relation;
pub use rewrite::{
    Rewrite, as_written, has_mark, instantiate, make_fresh, named_as_in_source, replace_leaves, replaced_unless,
    rewrite, substitute, unmarked, variables,
};
pub use row::Row;
pub use shared_space::{CLASSES, ChangeCounts, Classify};
pub use sharing::{Met, Outcomes};
pub use snapshot::Snapshot;
pub use space::Space;
pub use space_handle::SharedSpace;
pub use space_version::SpaceVersion;
pub use stored::{Match, Stored};
pub use term::{DictionaryReader, ResolveHost, SharedTerms, Term, Terms};
pub use unify::Unifier;
