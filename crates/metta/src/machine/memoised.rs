//! Calls of functions whose results are remembered: see [`super::memo`].
//!
//! 1. When a function is compiled, it is looked whether it is pure and calls itself at two places of one right side ([`super::purity`]).
//!    Its code is then entered through here.
//! 2. A call is looked for if all its arguments are leaves and all its results are wanted. If it is known, its results are those of the frame.
//! 3. Otherwise the code runs in a second frame above the arguments, as for a tabled function, and a collector takes its results. They are kept
//!    if none of them is an error or has a variable in it, and are the results of the first frame.
//!
//! The second frame takes words of the stack that the call would not take otherwise. The limit of the stack is that many words further up
//! meanwhile: a program may be as deep as without. The stack does not shrink within a form, so later calls may be a little deeper.

use super::choices::{CollectorPurpose, Destination};
use super::code::{CHANGED, FACTS, HEADER, Kind, OPEN, REDUCE, Slot, Tabled};
use super::collected::{CollectedResult, CollectedResults};
use super::memo::{PARTS_MAX, RESULTS_MAX, Remembered, parts_of};
use super::values::Scope;
use super::words::{FOREIGN, INTEGER, SYMBOL};
use super::{Halt, Machine, Running};
use region::{Ref, tag};
use space::{Atom, Grounded};

/// How many calls whose results are to be kept may be in progress, one inside the other. A tail call keeps its frame while it is one.
const NESTED_MAX: usize = 1 << 14;

impl Machine {
    /// Writes the key of the call of the frame at hand. `false` if an argument is no leaf, or if the function was given up.
    fn write_memo_key(&mut self, function: u32) -> bool {
        let found = self.code.functions[function as usize];
        let word = u64::from(found.head.bits()) | u64::from(found.arguments) << 32 | u64::from(found.type_id) << 48;
        self.memo.begin_key(word, self.code.version) && (0..found.arguments).all(|slot| self.push_memo_word(slot))
    }

    /// Adds what a slot holds to the key, if it is a leaf that is equal to itself only.
    fn push_memo_word(&mut self, slot: Slot) -> bool {
        let value = self.read(slot);
        match value.tag() {
            INTEGER | SYMBOL => self.memo.key.push(u64::from(value.bits())),
            tag::NUMBER => {
                let is_float = value.payload() & 1;
                self.memo.key.push(u64::from(Ref::new(tag::NUMBER, is_float).bits()));
                self.memo.key.push(self.values.heap.number_bits(value));
            }
            FOREIGN if self.is_plain_constant(value) => self.memo.key.push(u64::from(value.bits())),
            _ => return false,
        }
        true
    }

    /// Whether a value is a constant of code, of which there is one for each value, and holds nothing that changes.
    fn is_plain_constant(&self, value: Ref) -> bool {
        let is_constant = value.payload() & 1 == 0;
        is_constant
            && matches!(
                self.values.foreign_of(value),
                Atom::Grounded(Grounded::Number(_) | Grounded::Bool(_) | Grounded::Text(_))
            )
    }

    /// Whether results have no errors among them and no variables in them, and few parts; no more parts than that are looked at.
    fn are_small_and_ground(&self, results: &[Ref]) -> bool {
        if results.iter().any(|&value| self.is_error(value)) {
            return false;
        }
        let (mut work, mut left) = (results.to_vec(), PARTS_MAX);
        while let Some(value) = work.pop() {
            let value = self.values.heap.walk(value);
            if value.is_expression() {
                let children = self.values.heap.children(value);
                if children.len() >= left {
                    return false;
                }
                work.extend(children);
            }
            if value.is_variable() || left == 0 {
                return false;
            }
            left -= 1;
        }
        true
    }

    /// Choices were taken away: calls are not in progress any more whose collectors were among them.
    pub(super) fn leave_memoised(&mut self) {
        if self.memo.opened() > 0 {
            let left = self.choices.stack.iter().filter(|choice| choice.is_of_memo()).count();
            self.frames.stack_max -= self.memo.close_from(left);
        }
    }
}

impl Running<'_> {
    /// Says whether calls of pure functions are remembered in the form that begins.
    pub(super) fn begin_memo(&mut self) {
        let is_on = self.session.memoises && self.session.program.memoises();
        if self.m.code.memoises != is_on {
            self.m.code.memoises = is_on;
            self.m.next_version(false);
        }
    }

    /// How a function is entered that has this code: through the memo, if that is right and promises to pay.
    pub(super) fn memoised_entry(&mut self, function: u32, kind: Kind) -> Kind {
        let has_rules = matches!(kind, Kind::Rule(_) | Kind::Group(_) | Kind::Exclusive(_));
        if !has_rules || !self.is_remembered(function) {
            return kind;
        }
        self.m.code.table(function, self.m.code.functions[function as usize].arguments, kind);
        Kind::Memoised
    }

    /// Whether the results of a function are remembered, as rules and settings stand.
    pub(super) fn is_remembered(&mut self, function: u32) -> bool {
        let found = self.m.code.functions[function as usize];
        let may_be = self.m.code.memoises && !self.m.code.is_exact && found.type_id != REDUCE;
        may_be && self.is_pure_tree_recursion((found.head, found.arguments))
    }

    /// Enters a function whose results are remembered, its frame made.
    pub(super) fn enter_memoised(&mut self, function: u32) -> Result<(), Halt> {
        let level = self.m.frames.stack[self.m.frames.base + 2];
        // Of an open frame only the first results may be wanted.
        if matches!(level, OPEN | FACTS) || !self.m.write_memo_key(function) {
            return self.enter_unremembered(function);
        }
        match self.m.memo.find() {
            Some(results) => self.give_remembered(&results),
            None if self.m.memo.opened() < NESTED_MAX => self.begin_remembering(function),
            None => self.enter_unremembered(function),
        }
    }

    /// Goes on with the code of the function in the frame at hand.
    fn enter_unremembered(&mut self, function: u32) -> Result<(), Halt> {
        self.m.ensure(self.m.code.functions[function as usize].slots)?;
        match self.m.code.tabled[&function].body {
            Kind::Rule(pc) => {
                self.m.frames.pc = pc;
                Ok(())
            }
            Kind::Group(group) => self.enter_group(group),
            Kind::Exclusive(exclusive) => self.enter_exclusive(exclusive),
            other => unreachable!("{other:?} is not remembered"),
        }
    }

    fn give_remembered(&mut self, results: &[Atom]) -> Result<(), Halt> {
        let mut loaded = CollectedResults::with_capacity(results.len());
        for atom in results {
            let value = self.m.values.load(atom, &mut Scope::default())?;
            loaded.push(CollectedResult { value, bound: Vec::new() });
        }
        self.deliver_all(loaded, Destination::Frame)
    }

    /// Runs the code of a function in a frame of its own above the arguments, for a collector.
    fn begin_remembering(&mut self, function: u32) -> Result<(), Halt> {
        let Tabled { return_point, .. } = self.m.code.tabled[&function];
        let words = HEADER + usize::from(self.m.return_point(return_point).at);
        self.m.frames.stack_max += words;
        let place = self.in_form_apart(|m| m.memo.open(words));
        self.begin_second_frame(function, CollectorPurpose::Memo(place))?;
        // As of any call, so that what returns to it is data with a hole where it would be without a memo.
        let level = self.m.choices.stack.len() as u32;
        self.m.frames.stack[self.m.frames.base + 2] = level;
        self.m.pause_backtracking();
        self.m.frames.pc = CHANGED;
        self.enter_unremembered(function)
    }

    /// The call of the frame at hand, at a place among those in progress, has come to its results.
    pub(super) fn end_remembering(&mut self, place: usize, results: CollectedResults) -> Result<(), Halt> {
        let kept = self.results_to_keep(&results)?;
        let words = self.in_form_apart(|m| m.memo.close(place, kept));
        self.m.frames.stack_max -= words;
        self.deliver_all(results, Destination::Frame)
    }

    /// Results as atoms, if they may be given to another call.
    fn results_to_keep(&mut self, results: &CollectedResults) -> Result<Option<Remembered>, Halt> {
        if results.bind_something() || results.len() > RESULTS_MAX || !self.m.are_small_and_ground(results.values()) {
            return Ok(None);
        }
        let mut atoms = Vec::with_capacity(results.len());
        for &value in results.values() {
            atoms.push(self.m.values.store(value, &mut Scope::default(), self.session.program.variables())?);
        }
        let is_small = atoms.iter().map(parts_of).sum::<usize>() <= PARTS_MAX;
        Ok(is_small.then(|| atoms.into()))
    }

    /// Does something with the memo; what that takes or gives back is not of the form.
    pub(super) fn in_form_apart<T>(&mut self, work: impl FnOnce(&mut Machine) -> T) -> T {
        let before = region::memory::of_thread();
        let done = work(&mut self.m);
        self.session.form_steps.leave_out(region::memory::of_thread() - before);
        done
    }
}
