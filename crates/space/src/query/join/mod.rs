//! Several patterns at once: how they are answered where rows are many.
//!
//! 1. There are three ways: loops in the order in which the patterns are written, loops in [another order](reorder), and a
//!    [join](leapfrog) of one variable after the other.
//! 2. What each would cost is [estimated](estimate) from how many rows the patterns have and how those spread over the keys of their
//!    columns, which [some of the rows](sample) show. The cheapest is [chosen](policy), and kept with the plan until the relations have doubled or halved.
//! 3. Whatever is chosen, answers come in the [order](house_order) of loops as written.

mod by_least;
mod estimate;
mod execute;
mod house_order;
mod leapfrog;
mod pattern;
mod policy;
mod prepared;
mod reorder;
mod sample;
#[cfg(test)]
mod tests;

pub(super) use policy::Chosen;
pub(super) use prepared::Room;
