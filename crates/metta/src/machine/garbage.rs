//! The collection of garbage: what a loop leaves behind.
//!
//! 1. It happens where a function is entered, when the bytes of the heap have doubled since the last time. All that is held
//!    is then in frames, in choices and on the trail.
//! 2. Each frame is suspended at a site, which lists the slots that still matter; the frame at hand holds arguments. A frame
//!    that several choices share is walked once.
//! 3. What is reachable is copied to a fresh region, and the old one is closed. The trail forgets variables that nothing
//!    reaches any more.
//! 4. From then on all that survived is as old as every choice: going back to one gives back only what was made since.
//!
//! Cost: linear in what survives and in the stack.

use super::choices::{Choice, ChoiceKind, Gathered, To};
use super::code::{ANSWER, Code, HEADER, Instruction, Slot, WRAPPER};
use super::evaluate;
use super::run::NONE;
use super::values::{EMPTY, FOREIGN};
use super::{Halt, Machine, Running};
use region::{Bound, Copying, Full, Mark, Ref};
use space::Atom;

/// Heap bytes below which nothing is collected.
pub(super) const COLLECT_FROM: usize = 16 << 20;

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

/// A walk over everything that is held.
struct Walk<'a, F> {
    copying: Copying<'a, F>,
    code: &'a Code,
    stack: &'a mut [u32],
    /// A bit for each word of the stack: slots that were moved, and headers of frames whose callers were walked.
    seen: Vec<u64>,
}

impl Machine {
    /// Whether it is time to collect garbage.
    pub(super) fn is_crowded(&self) -> bool {
        self.values.heap.statistics().bytes_live > self.collect_at
    }

    /// When to collect next, given what survived.
    fn set_collect_at(&mut self, limit: Option<usize>) {
        let live = self.values.heap.statistics().bytes_live;
        // A copy needs as much room again.
        let most = limit.map_or(usize::MAX, |limit| limit / 2);
        self.collect_at = (2 * live).max(COLLECT_FROM).min(most).max(live + live / 8);
    }
}

impl Running<'_> {
    /// Moves all that is reachable to a fresh region; the frame at hand holds so many arguments.
    pub(super) fn collect_garbage(&mut self, arguments: usize) -> Result<(), Halt> {
        let heap_bytes_max = self.heap_bytes_max();
        let m = &mut self.m;
        let mut fresh = m.values.heap.open();
        let mut foreign = Foreign::new(std::mem::take(&mut m.values.foreign));
        let move_foreign = |reference| foreign.move_one(reference);
        let copying = m.values.heap.copy(&m.values.region, Mark::START, Bound::Kept, &mut fresh, move_foreign)?;
        let seen = vec![0; m.stack.len() / 64 + 1];
        let mut walk = Walk { copying, code: &m.code, stack: &mut m.stack, seen };
        for slot in 0..arguments {
            walk.slot(m.base, slot as Slot)?;
        }
        walk.callers(m.base)?;
        for choice in &mut m.choices {
            walk.choice(choice)?;
        }
        for cell in m.filling.iter_mut().flat_map(|caller| &mut caller.cells) {
            *cell = walk.copying.root(*cell)?;
        }
        // What is in the accumulator was taken from there.
        m.acc = EMPTY;
        walk.copying.scan()?;
        forget_unreachable(&mut m.trail, &mut m.choices, &walk.copying);
        drop(walk);
        m.values.foreign = foreign.kept;
        let old = std::mem::replace(&mut m.values.region, fresh);
        m.values.heap.close(old);
        m.age_choices();
        m.collections += 1;
        m.set_collect_at(heap_bytes_max);
        Ok(())
    }
}

impl Machine {
    /// Makes what survived as old as every choice.
    fn age_choices(&mut self) {
        let heap = self.values.heap.mark(&self.values.region);
        let foreign = self.values.foreign.len();
        for choice in &mut self.choices {
            (choice.heap, choice.foreign) = (heap, foreign);
            if let ChoiceKind::Collector(collector) = &mut choice.kind {
                (collector.floor.heap, collector.floor.foreign) = (heap, foreign);
            }
        }
        (self.floor.heap, self.floor.foreign) = (heap, foreign);
    }
}

impl<F: FnMut(Ref) -> Ref> Walk<'_, F> {
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
            self.stack[word] = self.copying.root(Ref::from_bits(self.stack[word]))?.bits();
        }
        Ok(())
    }

    /// The slots of a frame that is suspended at a site.
    fn frame(&mut self, base: usize, site: u32) -> Result<(), Full> {
        let code = self.code;
        let waiting = &code.sites[site as usize];
        if let Instruction::Child { .. } = code.instructions[waiting.pc as usize] {
            return evaluate::slots_of_tuple(waiting.dst).try_for_each(|slot| self.slot(base, slot));
        }
        waiting.live.iter().try_for_each(|&slot| self.slot(base, slot))
    }

    /// The frames that wait for a frame's result.
    fn callers(&mut self, mut base: usize) -> Result<(), Full> {
        while !self.see(base) {
            let wrapper = base + WRAPPER;
            self.stack[wrapper] = self.copying.root(Ref::from_bits(self.stack[wrapper]))?.bits();
            let (site, caller) = (self.stack[base], self.stack[base + 1] as usize);
            if site == ANSWER {
                break;
            }
            self.frame(caller, site)?;
            base = caller;
        }
        Ok(())
    }

    fn choice(&mut self, choice: &mut Choice) -> Result<(), Full> {
        let base = choice.base;
        match &mut choice.kind {
            ChoiceKind::Rules { group, .. } => {
                let function = self.code.groups[*group as usize].function;
                for slot in 0..self.code.functions[function as usize].arguments {
                    self.slot(base, slot)?;
                }
            }
            ChoiceKind::Results { results, to } => {
                self.gathered(results.as_mut_slice())?;
                match *to {
                    To::Frame => {}
                    To::Site(site) | To::Slot(site) => self.resumed(base, site)?,
                }
            }
            ChoiceKind::Children { list, site, .. } => {
                *list = self.copying.root(*list)?;
                self.resumed(base, *site)?;
            }
            ChoiceKind::Rows(rows) => {
                for variable in &mut rows.outer {
                    *variable = self.copying.root(*variable)?;
                }
                self.resumed(base, rows.site)?;
            }
            ChoiceKind::Answers(followed) => {
                for variable in &mut followed.caller.cells {
                    *variable = self.copying.root(*variable)?;
                }
                self.resumed(base, followed.site)?;
            }
            ChoiceKind::Collector(collector) => {
                self.gathered(&mut collector.results)?;
                self.resumed(base, collector.site)?;
            }
        }
        self.callers(base)
    }

    /// The slots of a frame that a choice goes on with at a site.
    fn resumed(&mut self, base: usize, site: u32) -> Result<(), Full> {
        if site == ANSWER { Ok(()) } else { self.frame(base, site) }
    }

    fn gathered(&mut self, results: &mut [Gathered]) -> Result<(), Full> {
        for gathered in results {
            gathered.value = self.copying.root(gathered.value)?;
            for (variable, value) in &mut gathered.bound {
                *variable = self.copying.root(*variable)?;
                *value = self.copying.root(*value)?;
            }
        }
        Ok(())
    }
}

/// Shortens the trail by the variables that did not survive; choices remember how long it was.
fn forget_unreachable<F: FnMut(Ref) -> Ref>(trail: &mut Vec<Ref>, choices: &mut [Choice], copying: &Copying<'_, F>) {
    let mut kept = Vec::with_capacity(trail.len());
    let mut marks = choices.iter_mut().map(|choice| &mut choice.trail).peekable();
    for (place, &variable) in trail.iter().enumerate() {
        while let Some(mark) = marks.next_if(|mark| **mark == place) {
            *mark = kept.len();
        }
        kept.extend(copying.moved(variable));
    }
    marks.for_each(|mark| *mark = kept.len());
    *trail = kept;
}
