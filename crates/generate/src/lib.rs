//! MeTTa programs made from seeds, for tests and chores: the same seed gives the same program everywhere.
//!
//! 1. [`program`] writes one, of the [`Features`] asked for. It terminates, mostly; a limit on steps is the backstop.
//! 2. [`mutant`] changes one that somebody else wrote, and [`spliced`] puts one together from several; [`vectors`] calls functions
//!    whose types hold lengths, [`countdowns`] functions that carry values along, [`recursion`] tabled functions in layers,
//!    [`branches`] chooses between branches that hold variables, [`heads`] applies what expressions come to, [`bound_late`] binds what
//!    stands behind in the same expression, and [`results`] puts what calls came to where one says of which type the other is. The alternatives of [`multiplied`] are too many to go through.
//! 3. Two ways of running a program are compared with [`renamed`] or [`as_multiset`].
//! 4. [`shrink`] makes a program that differs as small as it can.
//!
//! Nothing here knows how programs are run, and nothing that is shipped depends on it.

#![forbid(unsafe_code)]

mod bound_late;
mod branches;
mod changes;
mod compare;
mod countdowns;
mod dice;
mod differential;
mod expressions;
mod features;
mod functional;
mod functions;
mod heads;
mod kinds;
mod multiplied;
mod mutants;
mod nested;
mod patterns;
mod queries;
mod recursion;
mod results;
mod shapes;
mod shrink;
mod siblings;
mod some_results;
mod splices;
mod tabling;
mod texts;
mod trees;
mod typed_parts;
mod vectors;
mod writer;

pub use bound_late::bound_late;
pub use branches::branches;
pub use compare::{as_multiset, nameless, renamed, unnumbered};
pub use countdowns::countdowns;
pub use dice::Dice;
pub use differential::{Difference, Ran, Report, compare, range, seeds};
pub use features::{FEATURES, Feature, Features};
pub use heads::heads;
pub use multiplied::multiplied;
pub use mutants::mutant;
pub use recursion::recursion;
pub use results::results;
pub use shrink::shrink;
pub use splices::spliced;
pub use typed_parts::{typed_parts, typed_parts_behind_queries};
pub use vectors::vectors;

/// A program with one form a line, without comments.
#[must_use]
pub fn one_form_a_line(program: &str) -> String {
    trees::text(&trees::forms(program))
}

/// A program of a seed. It uses some of the features, and grows with `size`, about a function and two questions each.
#[must_use]
pub fn program(seed: u64, features: Features, size: usize) -> String {
    let mut dice = Dice::new(seed);
    let features = features.some(&mut dice);
    let program = writer::Writer::new(dice, features).program(size);
    let program = if features.has(Feature::Tables) { tabling::tabled(&program, seed) } else { program };
    let program = if features.has(Feature::SomeResults) { some_results::woven(&program, seed) } else { program };
    let program = if features.has(Feature::Shapes) { program + &shapes::lines(seed) } else { program };
    let program = if features.has(Feature::Patterns) { program + &patterns::lines(seed) } else { program };
    let program = if features.has(Feature::Queries) { program + &queries::lines(seed) } else { program };
    if features.has(Feature::Siblings) { program + &siblings::lines(seed) } else { program }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trees::{forms, text};

    #[test]
    fn a_program_is_well_formed_and_the_same_every_time() {
        for seed in 0..200 {
            let made = program(seed, Features::all(), 4);
            assert_eq!(made, program(seed, Features::all(), 4));
            assert_eq!(text(&forms(&made)), made, "seed {seed}");
            assert_eq!(made.matches('(').count(), made.matches(')').count(), "seed {seed}");
        }
    }

    #[test]
    fn recursion_and_branches_are_well_formed_and_the_same_every_time() {
        for made in [recursion, branches, bound_late, results] {
            for seed in 0..200 {
                let program = made(seed);
                assert_eq!(program, made(seed));
                assert_eq!(program.matches('(').count(), program.matches(')').count(), "seed {seed}");
            }
        }
    }

    #[test]
    fn every_feature_changes_some_program() {
        for (feature, word) in FEATURES.iter().filter(|(feature, _)| *feature != Feature::Core) {
            let without = Features::all().without(&[*feature]);
            let differs = |seed| program(seed, Features::all(), 4) != program(seed, without, 4);
            assert!((0..100).any(differs), "{word} changes nothing");
        }
    }
}
