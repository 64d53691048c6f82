//! The collection of garbage: what a loop has made and does not need any more.
//!
//! 1. It happens where a function is entered, when the bytes of the heap have doubled since the last time. All that is held
//!    is then in frames, in choices and on the trail.
//! 2. Each frame is suspended at a return point, which lists the slots that still matter; the frame at hand holds arguments. A frame
//!    that several choices share is walked once.
//! 3. What is reachable is copied to a fresh region, and the old one is closed. The trail forgets variables that nothing
//!    reaches any more.
//! 4. It is copied in the order of the choices, from the oldest on, each with the bindings there were when it was made. So
//!    what was newer than a choice lies after what the choice leads to, and is given back when the choice is taken up.
//!
//! 5. A function that calls none while it returns, and puts a list together instead, would never be entered: what makes much
//!    asks for a collection where the frame at hand gives its result (`collect_at_return`).
//!
//! Cost: linear in what survives and in the stack.

use super::limits::Limits;
use crate::machine::Halt;
use crate::machine::code::{ANSWER, Code, HEADER, HOLE, Instruction, Slot};
use crate::machine::control::choices::{Choice, ChoiceKind, Choices, Destination, NONE};
use crate::machine::control::collected::CollectedResults;
use crate::machine::restart::{Restart, restart_of_frame};
use crate::machine::tables::Fillings;
use crate::machine::tuple_frame::slots_of_tuple;
use crate::machine::values::Values;
use crate::machine::words::{EMPTY, FOREIGN, NAMED, bytes_of};
use region::{Bound, Copying, Full, Mark, Ref, Region};
use space::{Atom, Variable};

/// What is in no slot that was written since the last collection, where garbage is collected at every call.
const STALE: Ref = Ref::new(FOREIGN, Ref::PAYLOAD_MAX);

/// The grounded values that survive.
struct Foreign {
    old: Vec<Atom>,
    /// Where each went; `NONE` while nothing refers to it.
    moved: Vec<u32>,
    kept: Vec<Atom>,
}

impl Foreign {
    fn new(old: Vec<Atom>) -> Self {
        Self { moved: vec![NONE; old.len()], old, kept: Vec::new() }
    }

    fn move_one(&mut self, reference: Ref) -> Ref {
        if reference.payload() & 1 == 0 {
            return reference;
        }
        let place = &mut self.moved[(reference.payload() >> 1) as usize];
        if *place == NONE {
            *place = self.kept.len() as u32;
            self.kept.push(self.old[(reference.payload() >> 1) as usize].clone());
        }
        Ref::new(FOREIGN, *place << 1 | 1)
    }
}

/// Bindings that were taken back: the place on the trail, the variable, the value.
type Unbound = Vec<(usize, Ref, Ref)>;

/// A walk over everything that is held.
struct Walk<'a, F> {
    copying: Copying<'a, F>,
    code: &'a Code,
    stack: &'a mut [u32],
    /// A bit for each word of the stack: slots that were moved, and headers of frames whose callers were walked.
    seen: Vec<u64>,
    /// The words of calls that say how long the trail was when they began.
    restarts: Vec<usize>,
}

/// All that is held, for a collection of garbage.
pub(in crate::machine) struct Collection<'a> {
    pub(in crate::machine) limits: Limits<'a>,
    pub(in crate::machine) choices: &'a mut Choices,
    pub(in crate::machine) code: &'a Code,
    pub(in crate::machine) results: &'a mut Vec<Ref>,
}

impl Collection<'_> {
    /// Moves all that is reachable to a fresh region; the frame at hand holds this many arguments.
    ///
    /// If the limit leaves no room for the copy, nothing is collected any more. If the system has none, the evaluation is at
    /// its end: what it has found so far stays.
    pub(in crate::machine) fn run(&mut self, arguments: usize) -> Result<(), Halt> {
        if !self.limits.has_room_to_collect() && self.limits.collect_from.is_none() {
            self.limits.put_off_collection();
            return Ok(());
        }
        let found = self.found_so_far();
        self.limits.values.heap.set_limit(None);
        let mut fresh = self.limits.values.heap.open();
        let mut foreign = Foreign::new(std::mem::take(&mut self.limits.values.foreign));
        let copied = self.copy_held(&mut fresh, &mut foreign, arguments);
        let Limits { counters, frames, values, session, collect_from, .. } = &mut self.limits;
        if let Err(full) = copied {
            values.heap.close(fresh);
            values.foreign = foreign.old;
            self.choices.stack.clear();
            *self.results = found;
            return Err(full.into());
        }
        // What is in the accumulator was taken from there.
        frames.acc = EMPTY;
        values.beside = foreign.kept.iter().map(bytes_of).sum();
        values.foreign = foreign.kept;
        let old = std::mem::replace(&mut values.region, fresh);
        values.heap.close(old);
        values.forget_given_back();
        forget_names(values);
        age_choices(self.choices, values.foreign.len());
        counters.collections += 1;
        if *collect_from == Some(0) {
            let free = (frames.base + HEADER + arguments).max(frames.protected);
            frames.stack[free..].fill(STALE.bits());
        }
        if session.limits.heap_bytes_max.is_some_and(|most| values.heap.table_bytes() > most / 16) {
            values.heap.drop_table();
        }
        self.limits.set_collect_at();
        self.limits.limit_heap();
        Ok(())
    }

    /// The results of the whole, and what its outermost expression has found so far.
    fn found_so_far(&self) -> Vec<Ref> {
        let mut found = self.results.clone();
        if let Some(Choice { kind: ChoiceKind::Collector(collector), .. }) = self.choices.stack.first()
            && collector.return_point == ANSWER
        {
            found.extend(collector.results.values());
        }
        found
    }

    /// Copies all that is held, and results, to a fresh region.
    fn copy_held(&mut self, fresh: &mut Region, foreign: &mut Foreign, arguments: usize) -> Result<(), Full> {
        let Limits { values, frames, .. } = &mut self.limits;
        let move_foreign = |reference| foreign.move_one(reference);
        let copying = values.heap.copy(&values.region, Mark::START, Bound::Kept, fresh, move_foreign)?;
        let seen = vec![0; frames.stack.len() / 64 + 1];
        let mut walk = Walk { copying, code: self.code, stack: &mut frames.stack, seen, restarts: Vec::new() };
        let mut bound = walk.unbind(&self.choices.bindings.trail);
        let mut walked = walk.results(self.results);
        walked = walked.and_then(|()| walk.fillings(&mut self.choices.fillings));
        walked = walked.and_then(|()| walk.all(&mut self.choices.stack, &mut bound, frames.base, arguments));
        // If there was no room for all, they are bound again all the same.
        walk.bind(&mut bound, usize::MAX)?;
        walked?;
        walk.forget_unreachable(&mut self.choices.bindings.trail, &mut self.choices.stack);
        Ok(())
    }
}

/// No choice gives anything back that survived, but for what was copied after all that it leads to: so nothing else
/// needs to be kept from them. Grounded values are as old as every choice.
fn age_choices(choices: &mut Choices, foreign: usize) {
    for choice in &mut choices.stack {
        choice.foreign = foreign;
        if let ChoiceKind::Collector(collector) = &mut choice.kind {
            collector.floor.choices = 0;
        }
    }
    choices.floor.choices = 0;
}

/// Forgets the names of variables that nothing refers to any more.
fn forget_names(values: &mut Values) {
    let Values { heap, region, named, beside, .. } = values;
    let old = std::mem::take(named);
    heap.relabel(region, |label| {
        let Some(place) = label.checked_sub(NAMED) else { return label };
        named.push(old[place as usize].clone());
        NAMED + (named.len() - 1) as u32
    });
    *beside += named.len() * size_of::<Variable>();
}

impl<F: FnMut(Ref) -> Ref> Walk<'_, F> {
    /// Results of the whole: no choice gives their memory back.
    fn results(&mut self, results: &mut [Ref]) -> Result<(), Full> {
        for result in results {
            *result = self.copying.root(*result)?;
        }
        self.copying.scan()
    }

    /// The variables of calls whose tables are being filled: they are as old as every choice from then on.
    fn fillings(&mut self, fillings: &mut Fillings) -> Result<(), Full> {
        for cell in fillings.cells_mut() {
            *cell = self.copying.root(*cell)?;
        }
        self.copying.scan()
    }

    /// All that is held, what the oldest choice leads to first.
    fn all(&mut self, choices: &mut [Choice], bound: &mut Unbound, base: usize, arguments: usize) -> Result<(), Full> {
        for choice in choices {
            self.bind(bound, choice.trail)?;
            self.choice(choice)?;
            self.copying.scan()?;
            choice.heap = self.copying.mark();
        }
        self.bind(bound, usize::MAX)?;
        for slot in 0..arguments {
            self.slot(base, slot as Slot)?;
        }
        self.callers(base)?;
        self.copying.scan()
    }

    /// Takes all bindings back that are on the trail; gives them, the newest first.
    fn unbind(&mut self, trail: &[Ref]) -> Unbound {
        let newest_first = trail.iter().enumerate().rev();
        newest_first.filter_map(|(place, &variable)| Some((place, variable, self.copying.unbind(variable)?))).collect()
    }

    /// Binds what was bound when the trail had this length.
    fn bind(&mut self, bound: &mut Unbound, length: usize) -> Result<(), Full> {
        while let Some((_, variable, value)) = bound.pop_if(|(place, ..)| *place < length) {
            self.copying.bind(variable, value)?;
        }
        Ok(())
    }

    /// Notes a word of the stack as seen; says whether it was already.
    fn see(&mut self, word: usize) -> bool {
        let (place, bit) = (word / 64, 1 << (word % 64));
        let was_seen = self.seen[place] & bit != 0;
        self.seen[place] |= bit;
        was_seen
    }

    fn slot(&mut self, base: usize, slot: Slot) -> Result<(), Full> {
        let word = base + HEADER + usize::from(slot);
        if !self.see(word) {
            debug_assert_ne!(self.stack[word], STALE.bits(), "slot {slot} is held, and nothing was written to it");
            self.stack[word] = self.copying.root(Ref::from_bits(self.stack[word]))?.bits();
        }
        Ok(())
    }

    /// The slots of a frame that is suspended at a return point.
    fn frame(&mut self, base: usize, return_point: u32) -> Result<(), Full> {
        let code = self.code;
        let waiting = &code.return_points[return_point as usize];
        if let Instruction::Child { .. } = code.instructions[waiting.pc as usize] {
            self.restarts.extend(restart_of_frame(self.stack, base));
            return slots_of_tuple(waiting.dst).try_for_each(|slot| self.slot(base, slot));
        }
        waiting.live.iter().try_for_each(|&slot| self.slot(base, slot))
    }

    /// The frames that wait for a frame's result.
    fn callers(&mut self, mut base: usize) -> Result<(), Full> {
        while !self.see(base) {
            let hole = base + HOLE;
            self.stack[hole] = self.copying.root(Ref::from_bits(self.stack[hole]))?.bits();
            let (return_point, caller) = (self.stack[base], self.stack[base + 1] as usize);
            if return_point == ANSWER {
                break;
            }
            self.frame(caller, return_point)?;
            base = caller;
        }
        Ok(())
    }

    fn choice(&mut self, choice: &mut Choice) -> Result<(), Full> {
        let base = choice.frame_base;
        match &mut choice.kind {
            ChoiceKind::Rules { group, .. } => {
                let function = self.code.groups[*group as usize].function;
                for slot in 0..self.code.functions[function as usize].arguments {
                    self.slot(base, slot)?;
                }
            }
            ChoiceKind::Results { values, to } => {
                for value in values.as_mut_slice() {
                    *value = self.copying.root(*value)?;
                }
                self.resumed_at(base, *to)?;
            }
            ChoiceKind::BoundResults(left) => {
                self.gathered(&mut left.results, left.next)?;
                self.resumed_at(base, left.to)?;
            }
            ChoiceKind::Children { list, return_point, .. } => {
                *list = self.copying.root(*list)?;
                self.resumed(base, *return_point)?;
            }
            ChoiceKind::Alternative { return_point } => self.resumed(base, *return_point)?,
            ChoiceKind::Rows(rows) => {
                for variable in &mut rows.outer {
                    *variable = self.copying.root(*variable)?;
                }
                self.resumed(base, rows.return_point)?;
            }
            ChoiceKind::Candidates(tries) => {
                self.resumed(base, tries.return_point)?;
                self.callers(base)?;
                self.copying.scan()?;
                // The new variables among them are younger than what the frames hold.
                for input in &mut tries.inputs {
                    input.value = self.copying.root(input.value)?;
                }
            }
            ChoiceKind::Answers(followed) => {
                for variable in &mut followed.caller.cells {
                    *variable = self.copying.root(*variable)?;
                }
                self.resumed(base, followed.return_point)?;
            }
            ChoiceKind::TableRows(rows) => {
                for variable in &mut rows.cells {
                    *variable = self.copying.root(*variable)?;
                }
            }
            ChoiceKind::Collector(collector) => {
                self.resumed(base, collector.return_point)?;
                self.callers(base)?;
                self.copying.scan()?;
                // Variables that only its results lead to are none of those that they may bind.
                collector.begun = self.copying.mark();
                self.gathered(&mut collector.results, 0)?;
            }
        }
        self.callers(base)
    }

    /// The slots of a frame that a choice goes on with at a return point.
    fn resumed(&mut self, base: usize, return_point: u32) -> Result<(), Full> {
        if return_point == ANSWER { Ok(()) } else { self.frame(base, return_point) }
    }

    fn resumed_at(&mut self, base: usize, to: Destination) -> Result<(), Full> {
        to.return_point().map_or(Ok(()), |return_point| self.resumed(base, return_point))
    }

    /// Results from a place on.
    fn gathered(&mut self, results: &mut CollectedResults, from: usize) -> Result<(), Full> {
        for value in results.values_from(from) {
            *value = self.copying.root(*value)?;
        }
        for variable in results.variables_from(from) {
            *variable = self.copying.root(*variable)?;
        }
        Ok(())
    }

    /// Shortens the trail by the variables that did not survive; choices remember how long it was, and calls that may be begun again.
    fn forget_unreachable(mut self, trail: &mut Vec<Ref>, choices: &mut [Choice]) {
        let survives = |place: &usize| self.copying.moved(trail[*place]).is_some();
        let places: Vec<usize> = (0..trail.len()).filter(survives).collect();
        let kept = places.iter().filter_map(|&place| self.copying.moved(trail[place])).collect();
        let shortened = |length: usize| places.partition_point(|&place| place < length);
        for choice in choices {
            choice.trail = shortened(choice.trail);
        }
        // A frame that several choices share was met more than once.
        self.restarts.sort_unstable();
        self.restarts.dedup();
        for word in self.restarts {
            let restart = Restart::of(Ref::from_bits(self.stack[word]));
            let shortened = restart.bound().map_or(restart, |bound| restart.with_bound(shortened(bound)));
            self.stack[word] = shortened.word().bits();
        }
        *trail = kept;
    }
}
