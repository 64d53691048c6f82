//! Matching, building and resolving.
//!
//! 1. Matching goes both ways: an unbound variable of either side is bound to what faces it, and the trail notes it.
//! 2. A variable is not bound to something around itself: where that would happen, nothing matches.
//! 3. An expression whose children are in normal form is noted as in normal form too, under the number that rules stand at: as long as no
//!    rule and no type changes it is its own result and is not evaluated again. It holds no variable.

use super::Rooms;
use super::alternatives::lay_out;
use super::choices::Destination;
use super::code::{Data, DataSlot, HEADER, Instruction, NEXT_RULE, Pc, ReturnPoint, Slot, TemplatePart};
use super::frames::Frames;
use super::types::TypeChecker;
use super::values::{LOOKS_BETWEEN_LIMITS, Looked, Scope};
use super::words::{FOREIGN, INTEGER, SYMBOL, TERM, is_always_normal, is_small, plain};
use super::{Halt, Machine, Running};
use crate::interpreter::Task;
use region::{Full, Ref, tag};
use space::{Atom, Grounded, Met, Outcomes};

/// How two values compare.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unified {
    Yes,
    No,
    /// One of them is a space, which stands for a query.
    Custom,
}

/// Two expressions of the same length that are gone through side by side.
pub(super) struct Pair {
    left: Ref,
    right: Ref,
    length: usize,
    /// The children that come next.
    next: usize,
}

/// How two expressions compare as far as words and variables go.
enum WordComparison {
    Same,
    Different,
    /// Up to these two.
    Others(Ref, Ref),
}

/// What comes after two values were looked at.
enum UnifyStep {
    /// The ones behind them.
    Over,
    /// Their children.
    Into(Pair),
    /// Nothing.
    Out(Unified),
}

impl Running<'_> {
    pub(super) fn match_leaf(&mut self, slot: Slot, leaf: Ref, or: Pc) -> Result<(), Halt> {
        let value = self.m.read(slot);
        if value == leaf {
            return Ok(());
        }
        match value.tag() {
            tag::VARIABLE => {
                self.m.bind(value, leaf);
                Ok(())
            }
            SYMBOL if leaf.tag() != FOREIGN => self.no_match(or),
            _ if self.m.values.equal_leaves(value, leaf) => Ok(()),
            FOREIGN if self.m.values.space_of(value).is_some() => self.match_custom(or),
            _ if self.m.values.space_of(leaf).is_some() => self.match_custom(or),
            _ => self.no_match(or),
        }
    }

    /// A head that does not match is followed by the next rule's; a pattern elsewhere says where to go.
    pub(super) fn no_match(&mut self, or: Pc) -> Result<(), Halt> {
        if or == NEXT_RULE {
            return self.mismatch();
        }
        self.m.frames.pc = or;
        Ok(())
    }

    /// A pattern that meets a space is a query of it: the interpreter knows how.
    fn match_custom(&mut self, or: Pc) -> Result<(), Halt> {
        if let Some(&elsewhere) = self.m.code.spaces.get(&or) {
            self.m.frames.pc = elsewhere;
            return Ok(());
        }
        debug_assert!(or == NEXT_RULE, "a pattern outside of a head says where to go when it meets a space");
        let trying = self.m.choices.trying;
        if or != NEXT_RULE {
            return self.no_match(or);
        }
        if trying.matched {
            return self.try_rule_with_spaces();
        }
        self.m.undo_to(trying.trail);
        let function = self.m.code.groups[trying.group as usize].function;
        self.interpret_call(function, trying.from)
    }

    pub(super) fn match_shape(&mut self, slot: Slot, dst: Slot, shape: u32, or: Pc) -> Result<(), Halt> {
        let mut value = self.m.read(slot);
        let (length, head) = {
            let shape = &self.m.code.shapes[shape as usize];
            (shape.length as usize, shape.head)
        };
        if value.tag() == TERM {
            match self.opened_as(value, length, head)? {
                Some(opened) => value = opened,
                None => return self.no_match(or),
            }
        }
        if value.is_expression() {
            return self.match_children(value, dst, length, head, or);
        }
        match value.tag() {
            tag::VARIABLE => self.build_shape(value, shape),
            FOREIGN if self.m.values.space_of(value).is_some() => self.match_custom(or),
            _ => self.no_match(or),
        }
    }

    /// A term as an expression of the heap, if it may have a shape.
    #[inline(never)]
    fn opened_as(&mut self, term: Ref, length: usize, head: Option<Ref>) -> Result<Option<Ref>, Full> {
        let may_have = self.m.values.term_shape(term, length as u32, head);
        if may_have { self.m.values.open_term(term).map(Some) } else { Ok(None) }
    }

    #[inline]
    fn match_children(&mut self, value: Ref, dst: Slot, length: usize, head: Option<Ref>, or: Pc) -> Result<(), Halt> {
        let to = self.m.frames.base + HEADER + usize::from(dst);
        let children = self.m.values.heap.children(value);
        if children.len() != length {
            return self.no_match(or);
        }
        let skipped = usize::from(head.is_some());
        let found = children.first().copied();
        lay_out(&mut self.m.frames.stack[to..to + length - skipped], &children[skipped..]);
        match (head, found) {
            (Some(head), Some(found)) if head != found => self.match_head(found, head, or),
            _ => Ok(()),
        }
    }

    /// The head of an expression is not the word that is looked for, but may come to be it.
    fn match_head(&mut self, found: Ref, head: Ref, or: Pc) -> Result<(), Halt> {
        let found = self.m.values.heap.walk(found);
        if found.tag() == tag::VARIABLE {
            self.m.bind(found, head);
            return Ok(());
        }
        match found == head || self.m.values.equal_leaves(found, head) {
            true => Ok(()),
            false if self.m.values.space_of(found).or(self.m.values.space_of(head)).is_some() => self.match_custom(or),
            false => self.no_match(or),
        }
    }

    /// An unbound variable becomes what the pattern says.
    fn build_shape(&mut self, variable: Ref, shape: u32) -> Result<(), Halt> {
        let (template, built) = {
            let shape = &self.m.code.shapes[shape as usize];
            (shape.template, shape.built)
        };
        for place in 0..self.m.code.shapes[shape as usize].variables.len() {
            let (slot, name) = self.m.code.shapes[shape as usize].variables[place];
            let made = match name.tag() {
                INTEGER => self.m.values.make_form_variable(name.payload())?,
                _ => self.m.values.variable(name)?,
            };
            self.m.set_slot(slot, made);
        }
        let value = self.build(template)?;
        if self.m.occurs(variable, value) {
            let or = self.m.code.shapes[shape as usize].or;
            return self.no_match(or);
        }
        self.m.bind(variable, value);
        self.m.frames.pc = built;
        Ok(())
    }

    pub(super) fn match_same(&mut self, mut left: Slot, mut right: Slot, mut or: Pc) -> Result<(), Halt> {
        loop {
            let (known, value) = (self.m.slot(left), self.m.slot(right));
            match self.m.unify(value, known)? {
                Unified::Yes => return Ok(()),
                Unified::No => self.no_match(or)?,
                Unified::Custom => return self.match_custom(or),
            }
            // Rule after rule, often, looks for the same at another place.
            match self.m.code.instructions[self.m.frames.pc as usize] {
                Instruction::MatchSame { left: next, right: facing, or: behind } => {
                    (left, right, or) = (next, facing, behind);
                    self.m.frames.pc += 1;
                }
                _ => return Ok(()),
            }
        }
    }

    /// A compound as an expression of the heap.
    pub(super) fn opened(&mut self, value: Ref) -> Result<Ref, Halt> {
        if value.tag() == TERM { Ok(self.m.values.open_term(value)?) } else { Ok(value) }
    }

    /// Builds what a template says.
    pub(super) fn build(&mut self, template: u32) -> Result<Ref, Halt> {
        let Machine { values, code, frames: Frames { stack, base, .. }, rooms: Rooms { scratch, .. }, .. } =
            &mut self.m;
        let (frame, mut count) = (&stack[*base + HEADER..], 0);
        let parts = &code.templates[template as usize];
        if scratch.len() < parts.len() {
            scratch.resize(parts.len(), Ref::from_bits(0));
        }
        for part in parts {
            let made = match *part {
                TemplatePart::Leaf(leaf) => leaf,
                TemplatePart::Slot(slot) => Ref::from_bits(frame[usize::from(slot)]),
                TemplatePart::Expression(children) => {
                    count -= children as usize;
                    values.heap.expression(&mut values.region, &scratch[count..count + children as usize])?
                }
            };
            scratch[count] = made;
            count += 1;
        }
        debug_assert!(count == 1, "a template makes one value");
        Ok(scratch[0])
    }

    /// An expression of evaluated children: data, unless a rule reduces it after all.
    #[inline]
    pub(super) fn construct(&mut self, data: u32) -> Result<(), Halt> {
        let Some(value) = self.constructed(data)? else { return Ok(()) };
        let Data { function, return_point, .. } = self.m.code.data[data as usize];
        if !self.is_constructor(function)? {
            return self.call_built(value, data);
        }
        let ReturnPoint { pc, dst, .. } = self.m.code.return_points[return_point as usize];
        self.m.set_slot(dst, value);
        self.m.frames.pc = pc;
        Ok(())
    }

    /// Makes an expression of evaluated children the result of the frame at hand: data, unless a rule reduces it after all.
    #[inline]
    pub(super) fn return_constructed(&mut self, data: u32) -> Result<(), Halt> {
        let Some(value) = self.constructed(data)? else { return Ok(()) };
        if !self.is_constructor(self.m.code.data[data as usize].function)? {
            return self.call_built(value, data);
        }
        self.give(value)
    }

    /// Builds data, noted as in normal form if all its children are; `None` if a child needs to be evaluated, the code goes on
    /// elsewhere then.
    #[inline(always)]
    pub(super) fn constructed(&mut self, data: u32) -> Result<Option<Ref>, Full> {
        let m = &mut self.m;
        let Data { stamp, slots, is_normal, is_same, is_changed, or, typed, .. } = &m.code.data[data as usize];
        let (mut is_normal, frame) = (*is_normal, &m.frames.stack[m.frames.base + HEADER..]);
        let made = m.values.heap.stamp(&mut m.values.region, stamp, m.types.notes.normal())?;
        for &DataSlot { place, slot, is_value } in slots {
            let mut child = Ref::from_bits(frame[usize::from(slot)]);
            if !is_always_normal(child) {
                let found = m.values.look(child, m.types.notes, is_value);
                let Looked { value, is_normal: is_found } = match found {
                    Some(found) => found,
                    None => {
                        m.frames.pc = *or;
                        return Ok(None);
                    }
                };
                (child, is_normal) = (value, is_normal && is_found);
            }
            m.values.heap.set_child(made, usize::from(place), child);
        }
        if typed.is_some() {
            return Ok(self.constructed_by_type(made, data, is_normal));
        }
        if is_normal {
            return Ok(Some(if *is_same { made.marked() } else { made }));
        }
        m.values.note_open(made, *is_changed);
        Ok(Some(made))
    }

    /// Notes of built data what its type says, which has variables; `None` if it needs to be evaluated, the code goes on elsewhere then.
    #[inline(never)]
    fn constructed_by_type(&mut self, made: Ref, data: u32, is_normal: bool) -> Option<Ref> {
        let Data { is_same, or, ref typed, .. } = self.m.code.data[data as usize];
        let is_looked_at = typed.as_ref().is_some_and(|typed| typed.expected.is_none());
        if !is_normal && is_looked_at {
            self.m.values.note_open(made, false);
            return Some(made);
        }
        let typed = self.m.code.data[data as usize].typed.as_mut().expect("it is of a type");
        let variables = self.session.program.variables();
        let mut types = TypeChecker::new(&mut self.m.types, &mut self.m.values, &self.space, variables);
        match types.note_of_made(made, typed) {
            None if !is_looked_at => {
                self.m.frames.pc = or;
                return None;
            }
            Some(note) if is_normal => {
                self.m.values.heap.set_note(made, note);
                return Some(if is_same { made.marked() } else { made });
            }
            _ => {}
        }
        self.m.values.note_open(made, false);
        Some(made)
    }

    /// Calls what was thought to be data.
    #[cold]
    fn call_built(&mut self, call: Ref, data: u32) -> Result<(), Halt> {
        let Data { function, return_point, is_same, is_changed, .. } = self.m.code.data[data as usize];
        let is_same = is_same && !is_changed && !self.m.values.is_changed(call);
        self.m.values.heap.set_note(call, 0);
        let type_id = self.m.code.functions[function as usize].expected();
        let type_atom = self.types().type_atom(type_id);
        self.interpret(call.unmarked(), Destination::ReturnPoint(return_point), |atom| {
            Task::Call(atom, type_atom, !is_same)
        })
    }

    /// A value with everything bound in it put in.
    pub(super) fn resolve(&mut self, value: Ref) -> Result<Ref, Halt> {
        let value = self.m.values.heap.walk(value);
        if !value.is_expression()
            || value.tag() == tag::MARKED
            || self.m.types.notes.hold(self.m.values.heap.note(value))
        {
            return Ok(value);
        }
        if !self.m.mentions_bound(value) {
            return Ok(value);
        }
        self.rebuild(value)
    }

    /// An expression with what is bound in it in place of variables. What holds nothing bound stays, and what is met more than once is
    /// made once, so it is as large as all that is bound. Limits are looked at all the same.
    fn rebuild(&mut self, value: Ref) -> Result<Ref, Halt> {
        let m = &mut self.m;
        let (mut looks, mut known) = (0_usize, Outcomes::default());
        let mut open: Vec<Rebuilt> = vec![Rebuilt::of(value, m.values.heap.length(value))];
        loop {
            let top = open.last_mut().expect("an expression is open");
            let made = if let Some(&written) = m.values.heap.children(top.expression).get(top.done.len()) {
                let child = m.values.heap.walk(written);
                top.is_changed |= child != written;
                if child.tag() != tag::EXPRESSION || m.types.notes.hold(m.values.heap.note(child)) {
                    child
                } else if let Some(made) = known.of(child.payload() as usize) {
                    top.is_changed |= made != child;
                    made
                } else {
                    open.push(Rebuilt::of(child, m.values.heap.length(child)));
                    looks += 1;
                    if looks.is_multiple_of(LOOKS_BETWEEN_LIMITS) && m.values.ceiling.is_passed() {
                        return Err(m.values.ceiling.passed());
                    }
                    continue;
                }
            } else {
                let Rebuilt { expression, done, is_changed } = open.pop().expect("an expression is open");
                let made = match is_changed {
                    true => m.values.heap.expression(&mut m.values.region, &done)?,
                    false => expression,
                };
                known.keep(expression.payload() as usize, &(), &made);
                match open.last_mut() {
                    Some(around) => around.is_changed |= is_changed,
                    None => return Ok(made),
                }
                made
            };
            open.last_mut().expect("an expression is open").done.push(made);
        }
    }
}

/// An expression that is made anew if something in it is bound.
struct Rebuilt {
    expression: Ref,
    done: Vec<Ref>,
    is_changed: bool,
}

impl Rebuilt {
    fn of(expression: Ref, length: usize) -> Self {
        Self { expression, done: Vec::with_capacity(length), is_changed: false }
    }
}

impl Machine {
    /// Makes two values equal, if that can be.
    pub(super) fn unify(&mut self, left: Ref, right: Ref) -> Result<Unified, Halt> {
        let heap = &self.values.heap;
        let (left, right) = (heap.walk(left), heap.walk(right));
        if plain(left) == plain(right) {
            return Ok(Unified::Yes);
        }
        let mut inside = match self.values.pair(left, right) {
            Some(pair) => pair,
            None => match self.unify_different(left, right)? {
                UnifyStep::Into(pair) => pair,
                UnifyStep::Over => return Ok(Unified::Yes),
                UnifyStep::Out(unified) => return Ok(unified),
            },
        };
        match self.unify_words(&mut inside) {
            WordComparison::Same => Ok(Unified::Yes),
            WordComparison::Different => Ok(Unified::No),
            WordComparison::Others(left, right) => {
                let mut open = std::mem::take(&mut self.rooms.pairs);
                open.clear();
                let unified = self.unify_inside(inside, (left, right), &mut open);
                self.rooms.pairs = open;
                unified
            }
        }
    }

    /// Goes through two expressions side by side from these two children on, depth first; `open` has the expressions that
    /// it is inside of.
    #[inline(never)]
    fn unify_inside(
        &mut self,
        mut inside: Pair,
        (mut left, mut right): (Ref, Ref),
        open: &mut Vec<Pair>,
    ) -> Result<Unified, Halt> {
        let mut met = Met::of_fast_walk();
        loop {
            let is_compound = |side: Ref| side.is_expression() || side.tag() == TERM;
            // What was made equal is equal wherever it is met again.
            let is_done = is_compound(left) && is_compound(right) && !met.is_new((plain(left), plain(right)));
            match if is_done { UnifyStep::Over } else { self.unify_different(left, right)? } {
                UnifyStep::Over => {}
                UnifyStep::Into(pair) => {
                    // What is complete is not returned to: lists need no memory.
                    if inside.next < inside.length {
                        open.push(inside);
                    }
                    inside = pair;
                }
                UnifyStep::Out(unified) => return Ok(unified),
            }
            (left, right) = loop {
                match self.unify_words(&mut inside) {
                    WordComparison::Others(left, right) => break (left, right),
                    WordComparison::Different => return Ok(Unified::No),
                    WordComparison::Same => match open.pop() {
                        Some(around) => inside = around,
                        None => return Ok(Unified::Yes),
                    },
                }
            };
        }
    }

    /// Makes two values equal that are not the same word, bindings followed.
    fn unify_different(&mut self, left: Ref, right: Ref) -> Result<UnifyStep, Halt> {
        match (left.tag() == tag::VARIABLE, right.tag() == tag::VARIABLE) {
            (true, true) => self.unify_variables(left, right),
            (true, false) => return Ok(self.unify_variable(left, right)),
            (false, true) => return Ok(self.unify_variable(right, left)),
            (false, false) => return self.unify_values(left, right),
        }
        Ok(UnifyStep::Over)
    }

    fn unify_variable(&mut self, variable: Ref, value: Ref) -> UnifyStep {
        if value.is_expression() && self.occurs(variable, value) {
            return UnifyStep::Out(Unified::No);
        }
        self.bind(variable, value);
        UnifyStep::Over
    }

    fn unify_values(&mut self, left: Ref, right: Ref) -> Result<UnifyStep, Halt> {
        let is_compound = |side: Ref| side.is_expression() || side.tag() == TERM;
        match (is_compound(left), is_compound(right)) {
            (true, true) if plain(left) == plain(right) => Ok(UnifyStep::Over),
            (true, true) => {
                let mut opened =
                    |value: Ref| if value.tag() == TERM { self.values.open_term(value) } else { Ok(value) };
                let (left, right) = (opened(left)?, opened(right)?);
                let length = self.values.heap.length(left);
                if length != self.values.heap.length(right) {
                    return Ok(UnifyStep::Out(Unified::No));
                }
                Ok(UnifyStep::Into(Pair { left, right, length, next: 0 }))
            }
            (false, false) if self.values.equal_leaves(left, right) => Ok(UnifyStep::Over),
            _ => {
                let space = self.values.space_of(left).or(self.values.space_of(right));
                Ok(UnifyStep::Out(if space.is_some() { Unified::Custom } else { Unified::No }))
            }
        }
    }

    /// Goes through two expressions side by side as long as that takes nothing but comparing words and binding variables.
    #[inline(always)]
    fn unify_words(&mut self, pair: &mut Pair) -> WordComparison {
        for place in pair.next..pair.length {
            let heap = &self.values.heap;
            let (left, right) = (heap.child(pair.left, place), heap.child(pair.right, place));
            if left == right {
                continue;
            }
            let (left, right) = (heap.walk(left), heap.walk(right));
            if left == right {
                continue;
            }
            match (left.tag(), right.tag()) {
                (tag::VARIABLE, tag::VARIABLE) => self.unify_variables(left, right),
                (tag::VARIABLE, _) if !right.is_expression() => self.bind(left, right),
                (_, tag::VARIABLE) if !left.is_expression() => self.bind(right, left),
                (SYMBOL, SYMBOL | tag::EXPRESSION | tag::MARKED) | (tag::EXPRESSION | tag::MARKED, SYMBOL) => {
                    return WordComparison::Different;
                }
                _ => {
                    pair.next = place + 1;
                    return WordComparison::Others(left, right);
                }
            }
        }
        WordComparison::Same
    }

    /// The younger is bound to the older, and what a rule has made to what the form wrote; of two that the form wrote, the
    /// second to the first.
    #[inline(always)]
    fn unify_variables(&mut self, left: Ref, right: Ref) {
        let left_stays =
            self.values.is_written(left) || left.payload() < right.payload() && !self.values.is_written(right);
        if left_stays { self.bind(right, left) } else { self.bind(left, right) }
    }

    /// Whether a variable occurs in a value.
    pub(super) fn occurs(&mut self, variable: Ref, value: Ref) -> bool {
        if !value.is_expression() || value.tag() == tag::MARKED || self.types.notes.hold(self.values.heap.note(value)) {
            return false;
        }
        let mut work = std::mem::take(&mut self.rooms.work);
        work.clear();
        work.push(value);
        let occurs = self.occurs_in_any(variable, &mut work);
        self.rooms.work = work;
        occurs
    }

    fn occurs_in_any(&self, variable: Ref, work: &mut Vec<Ref>) -> bool {
        let mut met = Met::default();
        while let Some(expression) = work.pop() {
            for &child in self.values.heap.children(expression) {
                let child = self.values.heap.walk(child);
                if child == variable {
                    return true;
                }
                let may_hold = child.tag() == tag::EXPRESSION && !self.types.notes.hold(self.values.heap.note(child));
                if may_hold && met.is_new(child) {
                    work.push(child);
                }
            }
        }
        false
    }

    /// Whether a bound variable occurs in an expression.
    fn mentions_bound(&mut self, value: Ref) -> bool {
        let mut work = std::mem::take(&mut self.rooms.work);
        work.clear();
        work.push(value);
        let mentions = self.values.any_mentions_bound(&mut work, self.types.notes);
        self.rooms.work = work;
        mentions
    }

    /// Whether an error says that a limit was reached.
    pub(super) fn is_overflow(&mut self, error: Ref) -> bool {
        let mut scope = Scope::default();
        let atom = self.values.store_whole(error, &mut scope, &mut space::VariableSource::default());
        crate::names::is_overflow(&atom)
    }
}

impl super::values::Values {
    /// Two expressions of the same length.
    #[inline]
    fn pair(&self, left: Ref, right: Ref) -> Option<Pair> {
        if !left.is_expression() || !right.is_expression() {
            return None;
        }
        let length = self.heap.length(left);
        (length == self.heap.length(right)).then_some(Pair { left, right, length, next: 0 })
    }

    /// Whether two leaves are equal: numbers by value, states by content.
    pub(super) fn equal_leaves(&self, left: Ref, right: Ref) -> bool {
        if left == right {
            return true;
        }
        if is_small(left) && is_small(right) || left.tag() == SYMBOL || right.tag() == SYMBOL {
            return false;
        }
        match (self.number_of(left), self.number_of(right)) {
            (Some(left), Some(right)) => left == right,
            (None, None) if left.tag() == FOREIGN && right.tag() == FOREIGN => {
                self.foreign_of(left) == self.foreign_of(right)
            }
            _ => false,
        }
    }

    /// The space that a value is.
    pub(super) fn space_of(&self, value: Ref) -> Option<&space::SharedSpace> {
        match (value.tag() == FOREIGN).then(|| self.foreign_of(value))? {
            Atom::Grounded(Grounded::Space(space)) => Some(space),
            _ => None,
        }
    }

    /// Whether a value is an integer that fits no word.
    pub(super) fn is_big(&self, value: Ref) -> bool {
        value.tag() == FOREIGN && self.number_of(value).is_some()
    }
}
