//! Several tests that small integers pass are one: whether all values are small integers.

use crate::machine::code::Guard;
use crate::machine::core::{Core, Shortcut, Test};
use crate::machine::lower::Lower;

pub(super) fn run(node: &mut Core, lower: &mut Lower<'_>) {
    if let Core::Guarded(guarded) = node {
        let is_passed = |test: &&Test| matches!(test, Test::Is(_, Guard::Number) | Test::SameType(..));
        let count = guarded.tests.iter().filter(|test| **test != Test::Unchanged).count();
        let is_decided =
            matches!(&guarded.fast, Core::If(branches) if branches.shortcut == Some(Shortcut::BeforeTests));
        let are_all = guarded.tests.iter().filter(is_passed).count() == count;
        guarded.is_passed_by_small = count > 1 && !is_decided && are_all && lower.facts.may_change();
    }
    node.each_part_mut(&mut |part| run(part, lower));
}
