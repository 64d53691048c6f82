//! Functions of many rules: what a call enters depends on its arguments, and is compiled when a call first needs it.
//!
//! 1. The rules of such a function stay in the space, which finds those that agree with an argument by its indexes. What was found for an
//!    argument, and the code made of it, is kept here by what the argument is: a *branch*.
//! 2. A branch leads to code if few rules are left, and else to a *node*, where another argument is looked at, or the whole of one of which the
//!    outermost part was looked at before. A node looks first at what tells most of a sample of its rules apart.
//! 3. A call none of whose arguments says anything there, since they are unbound, say, enters code of all rules that are left.
//! 4. Equal rules have the same code, by whatever arguments they were found.
//!
//! Everything here holds for one version of the rules. When rules have changed it is made again, by need: a node costs a sample, a branch a
//! question to the space, and the code of a branch the rules in it.

use super::code::Entry;
use super::rule_index::{ArgumentKey, Branch, PARTS_MAX, Place, Reached, parts_of};
use super::slots::Slots;
use super::values::{Scope, Values};
use super::words::{FALSE, FOREIGN, INTEGER, SYMBOL, TERM, TRUE, is_plain_word, shape_key, term_of};
use super::{Halt, Running};
use crate::names;
use region::{Ref, tag};
use space::{Atom, Grounded, Variable, VariableSource};

/// Marks the key of a whole term.
const WHOLE_TERM: u64 = 1 << 63;

impl Slots<'_> {
    /// What is at a place, if it says something that holds for ever.
    fn key_at(&mut self, place: Place) -> Option<ArgumentKey> {
        match place {
            Place::Outer(slot) => outer_key(self.values, self.read(slot)),
            Place::Whole(slot) => {
                let value = self.read(slot);
                match value.tag() {
                    _ if !is_small_and_ground(self.values, value) => None,
                    TERM => Some(ArgumentKey::Word(WHOLE_TERM | u64::from(term_of(value).number()))),
                    tag::EXPRESSION | tag::MARKED => Some(ArgumentKey::Value(self.pattern_of(place))),
                    _ => None,
                }
            }
        }
    }

    /// What matches all that have the key that is at a place.
    fn pattern_of(&mut self, place: Place) -> Atom {
        let (Place::Outer(slot) | Place::Whole(slot)) = place;
        let value = self.read(slot);
        match (place, shape_of(self.values, value)) {
            (Place::Outer(_), Some((length, head))) => {
                let rest =
                    (1..u64::from(length)).map(|id| Atom::Variable(Variable::with_id(names::asked().clone(), id)));
                Atom::expression(std::iter::once(self.values.leaf_atom(head)).chain(rest).collect::<Vec<_>>())
            }
            // It has no variable that would take a number.
            _ => self.values.store_whole(value, &mut Scope::default(), &mut VariableSource::default()),
        }
    }
}

fn outer_key(values: &Values, value: Ref) -> Option<ArgumentKey> {
    match value.tag() {
        SYMBOL | INTEGER => Some(ArgumentKey::Word(u64::from(value.bits()))),
        tag::NUMBER => values.number_of(value).map(|number| ArgumentKey::Value(Atom::from(number))),
        FOREIGN if value == TRUE || value == FALSE => Some(ArgumentKey::Word(u64::from(value.bits()))),
        FOREIGN => {
            let atom = values.foreign_of(value);
            is_plain(atom).then(|| ArgumentKey::Value(atom.clone()))
        }
        _ => shape_of(values, value).map(|(length, head)| ArgumentKey::Word(shape_key(length, head))),
    }
}

/// The length and the head of an expression, if that is a name.
fn shape_of(values: &Values, value: Ref) -> Option<(u32, Ref)> {
    match value.tag() {
        tag::EXPRESSION | tag::MARKED => {
            let (length, head) = values.heap.shape(value);
            (length > 0 && is_plain_word(head)).then_some((length as u32, head))
        }
        TERM => {
            let (head, length) = values.shape_of_term(value)?;
            is_plain_word(head).then_some((length as u32, head))
        }
        _ => None,
    }
}

/// Whether an expression has few parts, and no variable, state or space among them.
fn is_small_and_ground(values: &Values, value: Ref) -> bool {
    let (mut work, mut left) = (vec![value], PARTS_MAX);
    while let Some(value) = work.pop() {
        let value = values.heap.walk(value);
        let Some(less) = left.checked_sub(1) else { return false };
        left = less;
        match value.tag() {
            tag::VARIABLE => return false,
            tag::EXPRESSION | tag::MARKED => {
                let children = values.heap.children(value);
                if children.len() > left {
                    return false;
                }
                work.extend(children);
            }
            FOREIGN if !is_plain(values.foreign_of(value)) => return false,
            TERM => match parts_of(&values.leaf_atom(value), left) {
                Some(parts) => left -= parts,
                None => return false,
            },
            _ => {}
        }
    }
    true
}

/// Whether a value is equal to the same values for ever.
fn is_plain(value: &Atom) -> bool {
    matches!(value, Atom::Grounded(Grounded::Number(_) | Grounded::Bool(_) | Grounded::Text(_)))
}

impl Running<'_> {
    /// The code for the arguments of the frame at hand.
    pub(super) fn reached_by_call(&mut self, function: u32, index: u32) -> Result<Entry, Halt> {
        self.m.code.indexes[index as usize].prune();
        let mut node = 0;
        loop {
            let places = self.m.code.indexes[index as usize].nodes[node as usize].places.len();
            let mut branches = (0..places).filter_map(|place| {
                let looked_at = self.m.code.indexes[index as usize].nodes[node as usize].places[place];
                Some((looked_at, Branch { node, place: place as u32, key: self.m.slots().key_at(looked_at)? }))
            });
            let Some((place, branch)) = branches.next() else { return self.all_reached(function, index, node) };
            let known = self.m.code.indexes[index as usize].branches.get(&branch).copied();
            let reached = match known {
                Some(known) => known,
                None => self.make_branch(function, index, (place, branch))?,
            };
            match reached {
                Reached::Code(entry) => return Ok(entry),
                Reached::Node(next) => node = next,
            }
        }
    }

    #[cold]
    fn make_branch(
        &mut self,
        function: u32,
        index: u32,
        (place, branch): (Place, Branch),
    ) -> Result<Reached<Entry>, Halt> {
        let mut known = self.m.code.indexes[index as usize].nodes[branch.node as usize].known.clone();
        let (Place::Outer(slot) | Place::Whole(slot)) = place;
        known[usize::from(slot)] = self.m.slots().pattern_of(place);
        let reached = self.reach(function, index, known)?;
        self.m.code.indexes[index as usize].branches.insert(branch, reached);
        Ok(reached)
    }

    /// The code of all rules that are left at a node.
    #[cold]
    fn all_reached(&mut self, function: u32, index: u32, node: u32) -> Result<Entry, Halt> {
        if let Some(known) = self.m.code.indexes[index as usize].nodes[node as usize].all {
            return Ok(known);
        }
        let entry = self.compile_all_reached(function, index, node)?;
        self.m.code.indexes[index as usize].nodes[node as usize].all = Some(entry);
        Ok(entry)
    }
}
