//! Rule programs of Datalog shape, evaluated over rows of numbered terms.
//!
//! A [`Program`] says what holds: predicates with rules, whose parts are patterns of spaces, other predicates, absences and tests. A
//! [`Datalog`] answers *goals*: all rows of a predicate with known values in some columns.
//!
//! 1. Terms get dense numbers when they are first met ([`values`]). What a pattern finds for given values is asked of its space once
//!    and kept ([`matched`]).
//! 2. Predicates that depend on each other are a *component*. Answers of another component are found whole, as a goal of their
//!    own, before they are used.
//! 3. A component is [planned](plan) for the columns that are known. If all its calls have the values of the goal, nothing else is
//!    looked at. If each recursive call is the last part of its rule, calls are walked one after the other. Otherwise it is found out
//!    first which calls there are ([demand](evaluate)), by the same rules.
//! 4. [Rounds](evaluate): the rows of a round follow from those of the rounds before it, one of which is new. A row that is known is
//!    found in a bitmap or a hash table ([`tuples`]).
//!
//! **Order.** Rows of a goal come by the round in which a derivation first gives them; in a round by the first rule, as written, and
//! then by what the parts of the rule match, from left to right: rows of spaces in the order of queries, rows of predicates in this
//! order. It does not depend on which columns are known, so it is the same whatever is evaluated for a goal.
//!
//! What is not certainly of this shape is refused ([`Refused::NotRows`]): values that are not leaves or match others that are not equal,
//! atoms with variables that may match, heads with variables that nothing binds.

mod columns;
mod evaluate;
mod live;
mod matched;
mod plan;
mod program;
mod step;
mod tuples;
mod values;

pub use evaluate::{Datalog, Found, Watch};
pub use live::{LiveDatalog, LiveDatalogStatistics, TestFilter};
pub use program::{Operand, Part, Predicate, Program, Refused, Rule};
pub use values::Values;
