//! Matching the pattern of a `match` with the atoms that were compiled for it.
//!
//! 1. What the slots of the pattern hold is read, with a key for each: its word, or its length and head. By the keys a list of atoms is
//!    chosen, and most of those that do not match are passed over.
//! 2. The steps of an atom bind variables of the machine, as the head of a rule does. If a later atom of the list may match too,
//!    that becomes a choice.
//! 3. The atoms are those of the space when the query began: a choice keeps the code, and the values that the slots held.
//!
//! If a slot holds a state or a space, there is more to matching than this: such a query is asked with an atom.

use super::candidates::{
    CandidateSwitch, Candidates, Input, List, MatchStep, MatchedPart, NO_KEY, NewVariable, word_key,
};
use crate::machine::code::HEADER;
use crate::machine::control::choices::ChoiceKind;
use crate::machine::matching::unification::Unified;
use crate::machine::values::Values;
use crate::machine::words::{
    EMPTY, FALSE, FOREIGN, INTEGER, SYMBOL, TERM, TRUE, is_plain_word, plain, shape_key, small, term_of,
};
use crate::machine::{Halt, Machine};
use region::{Full, Ref, tag};
use space::{Atom, Grounded, Met, Number, Term};
use std::rc::Rc;

/// A list of up to this many atoms is not made shorter.
const SHORT_ENOUGH: u32 = 2;

/// How many choices that were used up are kept for the next ones.
const SPARE_MAX: usize = 64;

/// An expression of the heap whose children come next, from one of them on.
struct Siblings {
    expression: Ref,
    next: usize,
    length: usize,
}

/// Room for matching atoms, kept from one query to the next.
#[derive(Default)]
pub(in crate::machine) struct MatchRoom {
    /// Room for what slots hold.
    spare: Vec<Vec<Input>>,
    /// What the variables of the atom stand for.
    own: Vec<Ref>,
    /// The expressions that are being compared, and those that are being built.
    open: Vec<Siblings>,
    built: Vec<Siblings>,
}

impl MatchRoom {
    pub(super) fn spare(&mut self, mut inputs: Vec<Input>) {
        if self.spare.len() < SPARE_MAX {
            inputs.clear();
            self.spare.push(inputs);
        }
    }
}

/// A match that is being tried.
struct Matcher<'a> {
    m: &'a mut Machine,
    candidates: &'a Candidates,
    inputs: &'a [Input],
    room: MatchRoom,
}

impl Machine {
    /// What the slots of a pattern hold; `None` if a state or a space is in it.
    pub(super) fn read_inputs(&mut self, query: u32) -> Option<Vec<Input>> {
        let mut inputs = self.rooms.matching.spare.pop().unwrap_or_default();
        let Self { code, frames, values, choices, rooms, .. } = self;
        let frame = &frames.stack[frames.base + HEADER..];
        for &slot in &code.queries[query as usize].slots {
            let value = values.heap.walk(Ref::from_bits(frame[usize::from(slot)]));
            if !holds_no_state(values, value, &mut choices.bindings.work) {
                rooms.matching.spare(inputs);
                return None;
            }
            inputs.push(Input { value, key: candidate_key(values, value) });
        }
        Some(inputs)
    }

    /// Goes on with the next atom that matches, of the choice on top; `false` if there is none, and the choice is gone.
    #[inline(never)]
    pub(in crate::machine) fn next_candidate(&mut self) -> Result<bool, Halt> {
        let last = self.choices.stack.last_mut().expect("there is a choice");
        let ChoiceKind::Candidates(tries) = &mut last.kind else { unreachable!("it is a choice of candidates") };
        let (candidates, return_point) = (Rc::clone(&tries.candidates), tries.return_point);
        // They are lent out while the atoms are tried.
        let inputs = std::mem::take(&mut tries.inputs);
        let (mut next, end) = (tries.next, tries.end);
        while next < end {
            let atom = candidates.listed[next as usize];
            next = following(&candidates, &inputs, next + 1, end);
            if next == end {
                self.choices.pop(&mut self.frames);
            }
            if !self.try_candidate(&candidates, atom, &inputs)? {
                continue;
            }
            match self.choices.stack.last_mut().map(|choice| &mut choice.kind) {
                Some(ChoiceKind::Candidates(tries)) if next < end => (tries.inputs, tries.next) = (inputs, next),
                _ => self.rooms.matching.spare(inputs),
            }
            self.frames.pc = self.code.return_points[return_point as usize].pc;
            return Ok(true);
        }
        self.rooms.matching.spare(inputs);
        Ok(false)
    }

    /// Matches an atom. If it does not match, nothing is bound, and the memory that it took is given back: nobody has seen that yet.
    pub(super) fn try_candidate(&mut self, candidates: &Candidates, atom: u32, inputs: &[Input]) -> Result<bool, Halt> {
        let trail = self.choices.bindings.trail.len();
        let (heap, foreign) = (self.values.heap.mark(&self.values.region), self.values.foreign.len());
        let mut room = std::mem::take(&mut self.rooms.matching);
        room.own.resize(candidates.variables, Ref::from_bits(0));
        let mut matcher = Matcher { m: self, candidates, inputs, room };
        let matches = matcher.steps(atom);
        self.rooms.matching = matcher.room;
        if let Ok(false) = matches {
            self.undo_to(trail);
            self.values.heap.rewind(&mut self.values.region, heap);
            self.values.open_data.forget();
            self.values.foreign.truncate(foreign);
        }
        matches
    }
}

impl Candidates {
    /// The shortest list of atoms that has all those which may match.
    pub(super) fn list_for(&self, inputs: &[Input], values: &Values) -> List {
        let mut best = self.all;
        for CandidateSwitch { path, cases, otherwise } in &self.switches {
            let Input { value, key } = inputs[usize::from(path.input)];
            let key = if path.children().is_empty() { key } else { key_at(values, value, path.children()) };
            if key != NO_KEY {
                let (from, end) = cases.get(&key).copied().unwrap_or(*otherwise);
                if end - from < best.1 - best.0 {
                    best = (from, end);
                }
            }
            if best.1 - best.0 <= SHORT_ENOUGH {
                break;
            }
        }
        best
    }

    /// Makes the new variables of the pattern that answers share.
    pub(super) fn make_new_variables(&self, values: &mut Values, inputs: &mut Vec<Input>) -> Result<(), Full> {
        inputs.resize(inputs.len() + self.cells.len(), Input { value: EMPTY, key: NO_KEY });
        for &NewVariable { name, input, .. } in &self.cells {
            inputs[usize::from(input)].value = match self.is_form {
                true => values.make_form_variable(name)?,
                false => values.heap.variable(&mut values.region, name)?,
            };
        }
        Ok(())
    }
}

impl Matcher<'_> {
    fn steps(&mut self, atom: u32) -> Result<bool, Halt> {
        let code = &self.candidates.atoms[atom as usize];
        for step in &self.candidates.steps[code.steps.start as usize..code.steps.end as usize] {
            let matches = match *step {
                MatchStep::SetShared { slot, input } => {
                    self.m.frames.set_slot(slot, self.inputs[usize::from(input)].value);
                    true
                }
                MatchStep::MatchInput { input, at } => {
                    self.match_parts(self.inputs[usize::from(input)].value, at as usize)?
                }
                MatchStep::MatchNew { slot, at } => self.match_parts(self.m.frames.slot(slot), at as usize)?,
                MatchStep::SetNew { slot, at } => {
                    let (value, _) = self.build_parts(at as usize)?;
                    self.m.frames.set_slot(slot, value);
                    true
                }
                MatchStep::MatchOwn { own, at, is_first } => {
                    let (value, _) = self.build_parts(at as usize)?;
                    if is_first {
                        self.room.own[usize::from(own)] = value;
                        true
                    } else {
                        self.become_equal(value, self.room.own[usize::from(own)])?
                    }
                }
            };
            if !matches {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn become_equal(&mut self, left: Ref, right: Ref) -> Result<bool, Halt> {
        let unified = self.m.unify(left, right)?;
        debug_assert!(unified != Unified::Custom, "no space is in what the slots hold, and none in the atom");
        Ok(unified == Unified::Yes)
    }

    /// Compares a value with the parts from a place on.
    fn match_parts(&mut self, value: Ref, mut at: usize) -> Result<bool, Halt> {
        let mut value = value;
        self.room.open.clear();
        loop {
            value = self.m.values.heap.walk(value);
            let part = self.candidates.parts[at];
            at = match part {
                MatchedPart::First { own, .. } => {
                    self.room.own[usize::from(own)] = value;
                    at + 1
                }
                MatchedPart::Word(word) if value == word => at + 1,
                MatchedPart::Open { .. } | MatchedPart::Term { .. } if value.tag() == tag::VARIABLE => {
                    match self.bind_parts(value, at)? {
                        Some(after) => after,
                        None => return Ok(false),
                    }
                }
                MatchedPart::Open { length, .. } => {
                    let Some(expression) = self.expression_of_length(value, length as usize)? else {
                        return Ok(false);
                    };
                    self.room.open.push(Siblings { expression, next: 0, length: length as usize });
                    at + 1
                }
                MatchedPart::Term { term, extent } if plain(value) == term => at + extent as usize,
                MatchedPart::Term { .. } => {
                    at += 1;
                    continue;
                }
                part if self.match_leaf_part(value, part)? => at + 1,
                _ => return Ok(false),
            };
            loop {
                let Some(siblings) = self.room.open.last_mut() else { return Ok(true) };
                if siblings.next < siblings.length {
                    value = self.m.values.heap.child(siblings.expression, siblings.next);
                    siblings.next += 1;
                    break;
                }
                self.room.open.pop();
            }
        }
    }

    /// Compares a value with a part that is no expression.
    fn match_leaf_part(&mut self, value: Ref, part: MatchedPart) -> Result<bool, Halt> {
        match part {
            MatchedPart::Word(word) if value.tag() == tag::VARIABLE => {
                self.m.bind(value, word);
                Ok(true)
            }
            MatchedPart::Word(word) => Ok(self.m.values.equal_leaves(value, word)),
            MatchedPart::Value(place) => {
                let known = &self.candidates.values[place as usize];
                if value.tag() == tag::VARIABLE {
                    let made = grounded(&mut self.m.values, known)?;
                    self.m.bind(value, made);
                    return Ok(true);
                }
                Ok(is_grounded(&self.m.values, value, known))
            }
            MatchedPart::Again(own) => self.become_equal(value, self.room.own[usize::from(own)]),
            _ => unreachable!("what the pattern holds is built, and the rest was looked at before"),
        }
    }

    /// A value as an expression of the heap, if it is one of `length` children.
    fn expression_of_length(&mut self, value: Ref, length: usize) -> Result<Option<Ref>, Full> {
        match value.tag() {
            tag::EXPRESSION | tag::MARKED => Ok((self.m.values.heap.length(value) == length).then_some(value)),
            TERM if self.m.values.term_shape(value, length as u32, None) => self.m.values.open_term(value).map(Some),
            _ => Ok(None),
        }
    }

    /// Binds an unbound variable to the expression that begins at a part; gives the place after it, or `None` if the variable is inside of it.
    fn bind_parts(&mut self, variable: Ref, at: usize) -> Result<Option<usize>, Full> {
        let (MatchedPart::Open { extent, .. } | MatchedPart::Term { extent, .. }) = self.candidates.parts[at] else {
            unreachable!("an expression begins there")
        };
        let (value, is_open) = self.build_parts(at)?;
        if is_open && self.m.choices.bindings.occurs(&self.m.values, self.m.types.notes, variable, value) {
            return Ok(None);
        }
        self.m.bind(variable, value);
        Ok(Some(at + extent as usize))
    }

    /// Builds what begins at a part; says too whether there is anything in it that was not made for it.
    fn build_parts(&mut self, mut at: usize) -> Result<(Ref, bool), Full> {
        let mut is_open = false;
        self.room.built.clear();
        loop {
            let mut made = match self.candidates.parts[at] {
                MatchedPart::Word(word) => word,
                MatchedPart::Value(place) => grounded(&mut self.m.values, &self.candidates.values[place as usize])?,
                MatchedPart::First { own, name } => {
                    let variable = self.m.values.variable(name)?;
                    self.room.own[usize::from(own)] = variable;
                    variable
                }
                MatchedPart::Term { term, extent } => {
                    at += extent as usize - 1;
                    term
                }
                MatchedPart::Open { length, .. } => {
                    let length = length as usize;
                    let expression = self.m.values.heap.reserve(&mut self.m.values.region, length)?;
                    if length > 0 {
                        self.room.built.push(Siblings { expression, next: 0, length });
                        at += 1;
                        continue;
                    }
                    expression
                }
                MatchedPart::Again(own) => self.room.own[usize::from(own)],
                MatchedPart::Input(input) => self.inputs[usize::from(input)].value,
                MatchedPart::New(slot) => self.m.frames.slot(slot),
            };
            is_open |= matches!(
                self.candidates.parts[at],
                MatchedPart::Again(_) | MatchedPart::Input(_) | MatchedPart::New(_)
            );
            at += 1;
            loop {
                let Some(siblings) = self.room.built.last_mut() else { return Ok((made, is_open)) };
                self.m.values.heap.set_child(siblings.expression, siblings.next, made);
                siblings.next += 1;
                if siblings.next < siblings.length {
                    break;
                }
                made = siblings.expression;
                self.room.built.pop();
            }
        }
    }
}

/// A number that is one word.
fn small_integer(atom: &Atom) -> Option<Ref> {
    match atom {
        Atom::Grounded(Grounded::Number(Number::Int(word))) => small(*word),
        _ => None,
    }
}

/// The next place of a list, up to its end, whose atom the keys of the inputs do not rule out.
#[inline]
pub(super) fn following(candidates: &Candidates, inputs: &[Input], from: u32, end: u32) -> u32 {
    let fits = |&place: &u32| {
        let atom = &candidates.atoms[candidates.listed[place as usize] as usize];
        candidates.filters[atom.filters.start as usize..atom.filters.end as usize].iter().all(|filter| {
            let key = inputs[usize::from(filter.input)].key;
            key == NO_KEY || key == filter.key
        })
    };
    (from..end).find(fits).unwrap_or(end)
}

/// Whether no state and no space is in a value.
#[inline]
fn holds_no_state(values: &Values, value: Ref, work: &mut Vec<Ref>) -> bool {
    if !value.is_expression() {
        return !is_state(values, value);
    }
    work.clear();
    work.push(value);
    let mut met = Met::default();
    while let Some(expression) = work.pop() {
        for &child in values.heap.children(expression) {
            let child = values.heap.walk(child);
            if child.is_expression() {
                if met.is_new(child.payload()) {
                    work.push(child);
                }
            } else if is_state(values, child) {
                return false;
            }
        }
    }
    true
}

/// Whether a leaf is compared in another way than others.
#[inline]
fn is_state(values: &Values, leaf: Ref) -> bool {
    leaf.tag() == FOREIGN
        && matches!(
            values.foreign_of(leaf),
            Atom::Grounded(Grounded::State(_) | Grounded::Space(_) | Grounded::Bindings(_))
        )
}

/// The key by which atoms for a value are looked up: that of a word that equals nothing else with a key, or of the
/// length and the head of an expression.
fn candidate_key(values: &Values, value: Ref) -> u64 {
    let shape = |length: usize, head: Ref| {
        if length > 0 && is_plain_word(head) { shape_key(length as u32, head) } else { NO_KEY }
    };
    match value.tag() {
        SYMBOL | INTEGER => word_key(value),
        FOREIGN if value == TRUE || value == FALSE => word_key(value),
        tag::EXPRESSION | tag::MARKED => {
            let (length, head) = values.heap.shape(value);
            shape(length, if length > 0 { values.heap.walk(head) } else { head })
        }
        TERM => values.shape_of_term(value).map_or(NO_KEY, |(head, length)| shape(length, head)),
        _ => NO_KEY,
    }
}

/// The key of what is at a path of a value, if there is something.
fn key_at(values: &Values, value: Ref, children: &[u8]) -> u64 {
    let mut value = value;
    for (depth, &child) in children.iter().enumerate() {
        match value.tag() {
            tag::EXPRESSION | tag::MARKED if values.heap.length(value) > usize::from(child) => {
                value = values.heap.walk(values.heap.child(value, usize::from(child)));
            }
            TERM => return key_inside(values, value, &children[depth..]),
            _ => return NO_KEY,
        }
    }
    candidate_key(values, value)
}

/// The key of what is at a path of an interned compound, if there is something.
fn key_inside(values: &Values, term: Ref, children: &[u8]) -> u64 {
    let terms = values.terms.read().expect("no panic while terms are locked");
    let inner = children.iter().try_fold(term_of(term), |term, &child| {
        let inside = terms.children(term)?;
        inside.get(usize::from(child)).copied()
    });
    let key = |term: Term| match terms.children(term) {
        Some(inside @ [head, ..]) => {
            let head = values.known_term(*head).filter(|&head| is_plain_word(head))?;
            Some(shape_key(inside.len() as u32, head))
        }
        _ => {
            let word = values.known_term(term).or_else(|| small_integer(terms.atom(term)))?;
            (is_plain_word(word) || word.tag() == INTEGER).then(|| word_key(word))
        }
    };
    inner.and_then(key).unwrap_or(NO_KEY)
}

/// A grounded value of an atom, in the heap.
fn grounded(values: &mut Values, value: &Atom) -> Result<Ref, Full> {
    match value {
        Atom::Grounded(Grounded::Number(number)) => values.number(number),
        value => Ok(values.foreign(value.clone())),
    }
}

/// Whether a value equals a grounded one, numbers by value.
fn is_grounded(values: &Values, value: Ref, known: &Atom) -> bool {
    match known {
        Atom::Grounded(Grounded::Number(known)) => values.number_of(value).is_some_and(|number| number == *known),
        known => value.tag() == FOREIGN && values.foreign_of(value) == known,
    }
}
