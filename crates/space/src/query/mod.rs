//! The one way in which a space is queried: pattern, plan, execute, project.
//!
//! 1. A [pattern](pattern) is its parts in the order in which it is written: the opening of an expression, the match key of what
//!    must be there, a parameter, or a variable.
//! 2. A [`Plan`] says for each pattern what is known of its rows when its turn comes. It depends on the query alone, so
//!    a caller keeps it; what differs from one execution to the next are its parameters.
//! 3. It is [executed](execute) over a view: a space and its imports, [live](live) and locked, or a snapshot. The patterns of a
//!    conjunction are answered one after the other, each for many answers so far: this is the order of [`crate::SharedSpace::query`].
//!    For each answer the shortest index among the paths whose keys are known is walked, as in [`crate::Relation`].
//!    Where rows are many it is [chosen](join) how to go on: in another order, or by a join. The order of the answers stays.
//! 4. Where each column is known or the place of a variable of its own, columns are taken [as they lie](project).
//!    Patterns as written are [searched](search) depth first by parts, so the [first](first) answers come without the others; what is only
//!    counted is not made.
//! 5. If an atom that is not a row may match, in the space or in one that it imports, rows do not answer the query: the patterns from the
//!    first such one on are answered by unification ([`crate::contents`]), whose candidates the same planning narrows. Queries that are
//!    [atoms](solutions) put both together.
//!
//! 6. What a commit changes in the answers of a query is found from the [rows that it changed](delta).
//!
//! What was found out about the imports and about atoms that are not rows is kept with the plan, and holds until they change.

mod adjacent;
mod counted;
mod cursor;
mod delta;
mod execute;
mod explain;
mod explanation;
mod extent;
mod filter;
mod first;
mod grouped;
mod join;
mod live;
mod loops;
mod made;
mod matching;
mod pattern;
mod plan;
mod project;
mod search;
mod solutions;
mod subquery;
mod usage;
mod view;

pub use cursor::Cursor;
pub use delta::{AnswersAt, DeltaQuery, Head, SignedAnswers, SignedRows};
pub(crate) use delta::{Begin, HeadPart, conclude};
pub use execute::{Answers, ShouldStop};
pub(crate) use explain::{explain, explained};
pub use explanation::{ExplainedStep, PlanStep, QueryExplanation, QueryWay, StepOf};
pub use filter::{Filter, FilterInputs, FilterPart, FilterValue, Given, passes};
pub use grouped::AnswerGroup;
pub use live::{Asked, Question};
pub(crate) use loops::known_keys;
pub(crate) use pattern::extent;
pub use pattern::{NO_TERM, PatternPart, conjunction};
pub use plan::Plan;
pub use solutions::AnswerTable;
pub(crate) use solutions::Queried;
pub(crate) use view::{View, with_imports};
