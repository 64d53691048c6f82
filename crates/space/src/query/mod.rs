//! The one way in which a space is queried: pattern, plan, execute, project.
//!
//! 1. A [pattern](pattern) is its parts in the order in which it is written: the opening of an expression, the match key of what
//!    must be there, a parameter, or a variable.
//! 2. A [`Plan`] says for each pattern what is known of its rows when its turn comes. It depends on the query alone, so
//!    a caller keeps it; what differs from one execution to the next are its parameters. A query whose slots may hold variables too keeps
//!    a [`KeptPlan`].
//! 3. A [`Question`] says what is wanted of the answers: all, some, their number, or groups. An [`Executor`] answers it over a view: a space and
//!    its imports, [live](live) and locked, or a snapshot; what comes of it is an [`Outcome`] and the [`Answers`]. The patterns of a
//!    conjunction are answered one after the other, each for many answers so far: this is the order of [`crate::SharedSpace::query`].
//!    For each answer the shortest index among the paths whose keys are known is walked, as in [`crate::Relation`].
//!    In which way it goes on where rows are many is [decided](strategy) by the plan: in another order, or by a [join]. The order of the
//!    answers stays.
//! 4. Where each column is known or the place of a variable of its own, columns are taken [as they lie](project).
//!    Patterns as written are [searched](search) depth first by parts, so the first answers come without the others; what is only
//!    counted is not made.
//! 5. If an atom that is not a row may match, in the space or in one that it imports, rows do not answer the query: the patterns from the
//!    first such one on are answered by unification ([`crate::contents`]), whose candidates the same planning narrows. Queries that are
//!    [atoms](solutions) put both together.
//!
//! 6. What a commit changes in the answers of a query is found from the [rows that it changed](delta).
//!
//! What was found out about the imports and about atoms that are not rows is kept with the plan, and holds until they change.

mod answers;
mod counted;
mod cursor;
mod delta;
mod execution;
mod executor;
mod explain;
mod explanation;
mod extend;
mod extent;
mod filter;
mod grouped;
mod join;
mod kept_plan;
mod live;
mod loops;
mod made;
mod matching;
mod pattern;
mod plan;
mod project;
mod question;
mod rows_only;
mod search;
mod solutions;
mod strategy;
mod subquery;
mod unfinished;
mod usage;
mod view;

pub use answers::{AnswerCursor, Answers};
pub use cursor::Cursor;
pub use delta::{AnswersAt, DeltaQuery, Head, SignedAnswers, SignedRows};
pub(crate) use delta::{Begin, HeadPart, conclude};
pub use executor::Executor;
pub(crate) use explain::{explain, explained};
pub use explanation::{ExplainedStep, PlanStep, QueryExplanation, QueryWay};
pub use filter::{Filter, FilterInputs, FilterPart, FilterValue, Given, passes};
pub use grouped::AnswerGroup;
pub use kept_plan::{KeptPlan, SlotValue};
pub(crate) use loops::known_keys;
pub(crate) use pattern::extent;
pub use pattern::{NO_TERM, PatternPart, conjunction};
pub use plan::Plan;
pub use question::{Asked, Outcome, Question};
pub use solutions::AnswerTable;
pub(crate) use solutions::Queried;
pub use strategy::StepOf;
pub use unfinished::ShouldStop;
pub(crate) use view::{View, with_imports};
