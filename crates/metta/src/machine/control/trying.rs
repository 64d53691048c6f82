//! The rules of a call that may match: which is tried, and which comes next.

use super::choices::{Choices, NONE, Trying};
use super::frames::Frames;
use crate::machine::code::{Code, Key, Listed, Pc, RuleCode, Slot};
use crate::machine::values::Values;
use crate::machine::words::{FOREIGN, TERM, is_small};
use region::{Ref, tag};

impl Choices {
    /// Tries the rule at a place of a list; behind which place the call was made, and whether a rule has matched before.
    #[inline(always)]
    pub(in crate::machine) fn try_place(
        &mut self,
        (code, frames, values): (&Code, &mut Frames, &Values),
        (group, list, place): (u32, u32, u32),
        (from, matched): (Pc, bool),
    ) {
        self.trying = Trying {
            group,
            list,
            next: NONE,
            trail: self.bindings.trail.len(),
            heap: values.heap.mark(&values.region),
            foreign: values.foreign.len(),
            from,
            place,
            matched,
        };
        self.trying.go_to_rule((code, frames, values), place);
    }
}

impl Trying {
    /// Goes to the code of the rule at a place of the list that is being tried, and looks for the next that may match.
    #[inline(always)]
    pub(in crate::machine) fn go_to_rule(
        &mut self,
        (code, frames, values): (&Code, &mut Frames, &Values),
        place: u32,
    ) -> Listed {
        let list = &code.groups[self.group as usize].lists[self.list as usize];
        let found = list[place as usize];
        let is_last = place as usize + 1 == list.len();
        frames.pc = found.pc;
        self.place = place;
        self.next = match found.is_with_next {
            true => place + 1,
            false if is_last => NONE,
            false => candidate((code, frames, values), self.group, self.list, place + 1).unwrap_or(NONE),
        };
        found
    }
}

/// The place of the first rule of a list from a place on that the arguments do not rule out.
pub(in crate::machine) fn candidate(
    (code, frames, values): (&Code, &Frames, &Values),
    group: u32,
    list: u32,
    from: u32,
) -> Option<u32> {
    let group = &code.groups[group as usize];
    let list = &group.lists[list as usize];
    if list.get(from as usize).is_some_and(|first| first.is_certain) {
        return Some(from);
    }
    let fits = |rule: &RuleCode| {
        let mut keys = rule.keys.iter().enumerate();
        keys.all(|(slot, key)| *key == Key::Any || may_match(frames, values, slot as Slot, *key))
    };
    (from..list.len() as u32).find(|&place| fits(&group.rules[list[place as usize].rule as usize]))
}

/// The rules of a group that the switch leaves.
#[inline]
pub(in crate::machine) fn list_for((code, frames, values): (&Code, &Frames, &Values), group: u32) -> u32 {
    let Some(switch) = &code.groups[group as usize].switch else { return 0 };
    let argument = read(frames, values, switch.argument);
    match values.switch_key(argument) {
        None => 0,
        Some(key) => switch.cases.get(&key).copied().unwrap_or(switch.otherwise),
    }
}

#[inline]
fn may_match(frames: &Frames, values: &Values, slot: Slot, key: Key) -> bool {
    let value = read(frames, values, slot);
    match key {
        Key::Any => true,
        Key::Leaf(leaf) => value == leaf || may_equal(value, leaf),
        Key::Shape(length, head) => match value.tag() {
            tag::EXPRESSION | tag::MARKED => {
                let children = values.heap.children(value);
                children.len() == length as usize
                    && head.is_none_or(|head| {
                        let first = children[0];
                        first == head || first.tag() == tag::VARIABLE || may_equal(first, head)
                    })
            }
            TERM => values.term_shape(value, length, head),
            tag::VARIABLE => true,
            FOREIGN => values.space_of(value).is_some(),
            _ => false,
        },
    }
}

/// Whether two values that are not the same word may be equal all the same, or become so.
#[inline]
fn may_equal(value: Ref, leaf: Ref) -> bool {
    match value.tag() {
        tag::VARIABLE => true,
        FOREIGN | tag::NUMBER => leaf.tag() == FOREIGN || leaf.tag() == tag::NUMBER || is_small(leaf),
        tag::EXPRESSION | tag::MARKED | TERM => false,
        _ => leaf.tag() == FOREIGN && is_small(value) || leaf.tag() == tag::NUMBER && is_small(value),
    }
}

/// What a slot holds, bindings followed.
#[inline]
fn read(frames: &Frames, values: &Values, slot: Slot) -> Ref {
    let value = frames.slot(slot);
    if value.tag() == tag::VARIABLE { values.heap.walk(value) } else { value }
}
