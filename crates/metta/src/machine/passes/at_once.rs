//! Data with data inside is built by one instruction, in front of the code that builds it part by part: that is needed only if something it
//! takes has to be evaluated first.

use crate::machine::core::{Core, Data};
use crate::machine::lower::Lower;
use crate::machine::nested_data::PARTS_MAX;
use crate::machine::words::{EMPTY, ERROR};

pub(super) fn run(node: &mut Core, lower: &mut Lower<'_>) {
    if let Core::Data(data) = node
        && !data.is_flat
        && !lower.facts.run.machine().code.is_exact
        && is_buildable(data, 0)
        && lower.facts.may_change()
    {
        data.is_at_once = true;
        return;
    }
    node.each_part_mut(&mut |part| run(part, lower));
}

/// Whether data is made of leaves, values of variables and other such data, inside `depth` others.
///
/// Whether types are as they were is asked before a part of it because the parts before it may have to be evaluated. What is built at once
/// evaluates none.
fn is_buildable(data: &Data, depth: usize) -> bool {
    let is_part = |child: &Core| match child.if_unchanged() {
        Core::Leaf(leaf) => *leaf != EMPTY && *leaf != ERROR,
        Core::Variable(_) | Core::Evaluate { .. } => true,
        Core::Data(inside) => inside.head != EMPTY && inside.head != ERROR && is_buildable(inside, depth + 1),
        _ => false,
    };
    depth < PARTS_MAX && data.by.is_none() && data.around.is_none() && data.children.iter().all(is_part)
}
