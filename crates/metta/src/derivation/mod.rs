//! Why a call has a result: which rules and facts lead to it, found when somebody asks.
//!
//! Nothing is recorded while programs run. A derivation is searched for among the rules and facts of a space as they are, or as they were
//! after a commit:
//!
//! 1. A *goal* is that an expression comes to a result, that a fact is there, or that a test holds. A rule whose head unifies with a call
//!    replaces the goal by that of its body; `match`, `let`, `let*`, `if`, `superpose` and arithmetic are taken as the evaluators take them.
//! 2. States, which are goals that are left with what is bound, are taken up in the order of how many rules and facts they have used. So the
//!    shortest derivations are found first, and a cycle of rules only makes longer ones.
//! 3. A state with the same goals as one before leads to nothing new; for the k shortest, each is taken up k times.
//! 4. Where a goal fails, it is noted how many goals were left: the nearest misses say what would be needed.
//!
//! The search gives up after a given number of states, and where a derivation becomes too long, and says so. What a body asks in another
//! form is named, and not guessed at.
//!
//! Cost: a state costs a query and a copy of its goals.

mod goals;
mod search;
mod tree;

pub use search::{Derivations, NearMiss, STATES_MAX_DEFAULT, derivations};
pub use tree::{Derivation, Ground};
