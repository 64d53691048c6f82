//! What the frame of a typed call keeps so that it can be begun again: see `begun_again.rs`.

use super::Halt;
use super::code::{HEADER, Slot};
use super::control::frames::Frames;
use super::tuple_frame::{CHILDREN, HELD, SHAPE, TYPED, slots_of_typed};
use super::types::KnownTypes;
use super::words::raw;
use region::Ref;
use std::iter;

/// In place of how many effects there were when the evaluation of an argument began: none is being evaluated.
pub(super) const NOT_AWAITED: usize = 1 << 24;

/// What a typed call has to know to be begun again, in one word of its frame: whether what arguments come to may say more of its
/// types, how many variables were bound before, and whether it is too late. It is 0 if the types are declared.
#[derive(Clone, Copy)]
pub(super) struct Restart(u32);

impl Restart {
    /// For a call of these types whose frame begins at `base`.
    pub(super) fn new(types: KnownTypes, bound: usize, base: usize) -> Self {
        let restart = Self(u32::from(types == KnownTypes::Open));
        match types {
            KnownTypes::Declared => restart,
            // More do not fit.
            _ if base >= Ref::PAYLOAD_MAX as usize || bound >= 1 << 26 => restart.too_late(),
            _ => Self(restart.0 | (bound as u32 + 1) << 2),
        }
    }

    pub(super) fn of(word: Ref) -> Self {
        Self(word.payload())
    }

    pub(super) fn word(self) -> Ref {
        raw(self.0 as usize)
    }

    pub(super) fn is_open(self) -> bool {
        self.0 & 1 == 1
    }

    /// Whether the types of the call are declared, so that nothing is taken for said.
    pub(super) fn is_declared(self) -> bool {
        self.0 == 0
    }

    /// With another number of variables that were bound before.
    pub(super) fn with_bound(self, bound: usize) -> Self {
        Self(self.0 & 3 | (bound as u32 + 1) << 2)
    }

    /// After an argument has had effects, or where the numbers do not fit: the call is not begun again.
    pub(super) fn too_late(self) -> Self {
        Self(self.0 | 2)
    }

    pub(super) fn is_too_late(self) -> bool {
        self.0 & 2 == 2
    }

    /// How many variables were bound before the call.
    pub(super) fn bound(self) -> Option<usize> {
        (self.0 >> 2).checked_sub(1).map(|bound| bound as usize)
    }
}

/// The slot of how many effects there were when the evaluation of an argument began.
pub(super) fn effects_slot(length: usize) -> Slot {
    CHILDREN + length as Slot
}

/// The slot of the type of the whole.
pub(super) fn type_slot(length: usize) -> Slot {
    CHILDREN + 2 * length as Slot
}

/// The slot of how many results of all arguments the call has gone on with.
pub(super) fn passed_slot(length: usize) -> Slot {
    type_slot(length) + 1
}

/// The slot of where a frame begins: in a copy it is where the original does, until `note_moved` has been called.
pub(super) fn base_slot(length: usize) -> Slot {
    type_slot(length) + 2
}

/// The slot of where the frame begins that this one was copied from, if results are left there; 0 if there is none, else one more.
pub(super) fn original_slot(length: usize) -> Slot {
    type_slot(length) + 3
}

/// The slot of how often results had hidden errors about types when the evaluation of an argument began.
pub(super) fn hidden_slot(length: usize) -> Slot {
    type_slot(length) + 4
}

/// The place of the word that says how the call of a frame is begun again. There is none in a frame whose children are evaluated to no types,
/// nor of a call that cannot be begun again.
pub(super) fn restart_of_frame(stack: &[u32], base: usize) -> Option<usize> {
    let place = |slot: Slot| base + HEADER + usize::from(slot);
    let word = |slot: Slot| Ref::from_bits(stack[place(slot)]);
    let is_typed = (word(SHAPE).payload() >> 16) as usize & TYPED != 0;
    (is_typed && Restart::of(word(HELD)).bound().is_some()).then_some(place(HELD))
}

impl Frames {
    /// Notes what is needed to begin the call of the frame at hand again; how many variables were bound before it.
    pub(super) fn note_beginning(&mut self, length: usize, types: KnownTypes, bound: usize) {
        let base = self.base;
        let restart = Restart::new(types, bound, base);
        // What an argument has bound is evaluated like any other argument: none is held, so the slot is free for this.
        self.set_slot(HELD, restart.word());
        if restart.bound().is_some() {
            self.set_slot(effects_slot(length), raw(NOT_AWAITED));
            self.set_slot(passed_slot(length), raw(0));
            self.set_slot(base_slot(length), raw(base));
            self.set_slot(original_slot(length), raw(0));
        }
    }

    /// What the frame at hand says of beginning its call again.
    pub(super) fn restart(&self) -> Restart {
        Restart::of(self.slot(HELD))
    }

    /// Writes to a slot of the frame at hand, and of those that it was copied from.
    pub(super) fn set_slot_of_all(&mut self, length: usize, slot: Slot, word: Ref) {
        self.set_slot(slot, word);
        let originals: Vec<usize> = self.originals(length).collect();
        for original in originals {
            self.stack[original + HEADER + usize::from(slot)] = word.bits();
        }
    }

    /// Where the frames begin that the one at hand was copied from, the last one first.
    pub(super) fn originals(&self, length: usize) -> impl Iterator<Item = usize> {
        let original_of = move |base: usize| {
            let word = self.stack[base + HEADER + usize::from(original_slot(length))];
            Ref::from_bits(word).payload().checked_sub(1).map(|original| original as usize)
        };
        iter::successors(original_of(self.base), move |&base| original_of(base))
    }

    /// To be called where the frame at hand may have become a copy. What is left of an argument's results goes on in the original, which
    /// is kept where it is for that.
    pub(super) fn note_moved(&mut self, length: usize) {
        let (base, before) = (self.base, self.slot(base_slot(length)).payload() as usize);
        if base == before {
            return;
        }
        let is_kept = before + HEADER + slots_of_typed(length) <= self.protected;
        self.set_slot(original_slot(length), raw(if is_kept { before + 1 } else { 0 }));
        self.set_slot(base_slot(length), raw(base));
    }

    /// Makes the frame of a typed call the own one of an alternative: another one goes on with what was there before.
    pub(super) fn own_typed(&mut self, length: usize) -> Result<(), Halt> {
        if self.base >= self.protected {
            return Ok(());
        }
        let slots = slots_of_typed(length);
        self.move_up(self.base + HEADER + slots, slots + HEADER)?;
        if self.restart().bound().is_some() {
            self.note_moved(length);
        }
        Ok(())
    }
}
