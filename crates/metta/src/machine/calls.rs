//! Calls: a frame is made, and the code of the function is entered.
//!
//! A call puts its arguments after the caller's frame and goes on with the function's code; a tail call puts them over its own frame, unless a choice
//! still needs that.

use super::code::{ArgumentSource, Arguments, Group, HEADER, Kind, SOURCES_MAX, Slot};
use super::words::EMPTY;
use super::{Halt, Running};

impl Running<'_> {
    #[inline(always)]
    pub(super) fn call(&mut self, function: u32, return_point: u32, begun: bool) -> Result<(), Halt> {
        let at = self.m.code.return_point(return_point).at;
        let place = self.m.frames.base + HEADER + usize::from(at);
        self.m.frames.write_header(place, return_point);
        if !begun {
            self.m.frames.stack[place + 2] = self.m.choices.stack.len() as u32;
        }
        self.m.frames.base = if place >= self.m.frames.protected {
            place
        } else {
            let arguments = usize::from(self.m.code.functions[function as usize].arguments);
            self.m.frames.frame_at(at, arguments)?
        };
        self.enter(function)
    }

    /// Writes the arguments of a list to the stack from a place on, above all that they are read from; `None` if one needs
    /// to be evaluated, and the code goes on elsewhere.
    #[inline(always)]
    fn write_arguments(&mut self, arguments: u32, to: usize) -> Option<usize> {
        let Arguments { sources, or, .. } = &self.m.code.arguments[arguments as usize];
        for (place, source) in (to..).zip(sources) {
            let value = match *source {
                ArgumentSource::Leaf(leaf) => leaf,
                ArgumentSource::Slot(slot) => self.m.frames.slot(slot),
                ArgumentSource::Normal(slot) => match self.m.normal(self.m.read(slot), 0) {
                    None | Some(EMPTY) => {
                        self.m.frames.pc = *or;
                        return None;
                    }
                    Some(value) => value,
                },
            };
            self.m.frames.stack[place] = value.bits();
        }
        Some(sources.len())
    }

    #[inline]
    pub(super) fn call_with(&mut self, function: u32, arguments: u32, return_point: u32) -> Result<(), Halt> {
        let base = self.m.frames.base;
        let at = self.m.code.return_point(return_point).at;
        let place = (base + HEADER + usize::from(at)).max(self.m.frames.protected);
        if place + HEADER + SOURCES_MAX > self.m.frames.stack.len() {
            self.m.frames.ensure(place - base + SOURCES_MAX)?;
        }
        if self.write_arguments(arguments, place + HEADER).is_none() {
            return Ok(());
        }
        let level = self.m.choices.stack.len() as u32;
        self.m.frames.stack[place..place + HEADER].copy_from_slice(&[return_point, base as u32, level, 0]);
        self.m.frames.base = place;
        self.enter(function)
    }

    /// A call in place of the frame at hand.
    #[inline(always)]
    pub(super) fn tail_call_with(&mut self, function: u32, arguments: u32) -> Result<(), Halt> {
        if self.lay_over(arguments)? { self.enter(function) } else { Ok(()) }
    }

    /// Puts arguments in place of the frame at hand. They are laid out above it first if one is read from where another
    /// goes. `false` if one needs to be evaluated.
    #[inline(always)]
    pub(super) fn lay_over(&mut self, arguments: u32) -> Result<bool, Halt> {
        let base = self.m.frames.base;
        let Arguments { above, is_direct, .. } = self.m.code.arguments[arguments as usize];
        let has_room = base + HEADER + SOURCES_MAX <= self.m.frames.stack.len();
        if is_direct && has_room && base >= self.m.frames.protected {
            return Ok(self.write_arguments(arguments, base + HEADER).is_some());
        }
        let from = (base + HEADER + usize::from(above)).max(self.m.frames.protected);
        if from + SOURCES_MAX > self.m.frames.stack.len() {
            self.m.frames.ensure(from - base + SOURCES_MAX)?;
        }
        let Some(count) = self.write_arguments(arguments, from) else { return Ok(false) };
        self.m.frames.move_over(from, count)?;
        Ok(true)
    }

    #[inline]
    pub(super) fn tail_call(&mut self, function: u32, at: Slot) -> Result<(), Halt> {
        let count = usize::from(self.m.code.functions[function as usize].arguments);
        let from = self.m.frames.base + HEADER + usize::from(at) + HEADER;
        self.tail_with(function, from, count)
    }

    /// Calls a function in place of this frame on arguments that lie somewhere above it.
    pub(super) fn tail_with(&mut self, function: u32, from: usize, count: usize) -> Result<(), Halt> {
        self.m.frames.move_over(from, count)?;
        self.enter(function)
    }

    /// Goes on with the code of a function, its frame made.
    #[inline(always)]
    pub(super) fn enter(&mut self, function: u32) -> Result<(), Halt> {
        self.count_call(function)?;
        self.enter_counted(function)
    }

    /// Goes on with the code of a function, its frame made and its call counted already.
    #[inline(always)]
    pub(super) fn enter_counted(&mut self, function: u32) -> Result<(), Halt> {
        let mut found = self.m.code.functions[function as usize];
        if found.version != self.m.code.version {
            self.compile(function)?;
            found = self.m.code.functions[function as usize];
        }
        self.m.frames.ensure(found.slots)?;
        match found.kind {
            Kind::Exclusive(exclusive) => self.enter_exclusive(exclusive),
            Kind::Rule(pc) => {
                self.m.frames.pc = pc;
                Ok(())
            }
            kind => self.enter_other(function, kind),
        }
    }

    /// Goes on with the code of a function where several rules may match, or none has to.
    #[inline(never)]
    fn enter_other(&mut self, function: u32, kind: Kind) -> Result<(), Halt> {
        match kind {
            Kind::Group(group) => self.enter_group(group),
            Kind::Constructor => self.give_unreduced(function, self.m.frames.pc),
            Kind::Tabled(policy) => self.enter_tabled(function, policy),
            Kind::Guarded(guarded) => {
                let entered = self.admitted(function, guarded);
                self.enter_counted(entered)
            }
            Kind::Indexed(index) => self.enter_indexed(function, index),
            Kind::Stale | Kind::Interpreted => self.interpret_call(function, self.m.frames.pc),
            Kind::Rule(_) | Kind::Exclusive(_) => unreachable!("these are entered in place"),
        }
    }

    /// Calls a list of facts in place of the frame at hand.
    pub(super) fn tail_call_facts(&mut self, group: u32, arguments: u32) -> Result<(), Halt> {
        let Group { function, slots, .. } = self.m.code.groups[group as usize];
        if !self.lay_over(arguments)? {
            return Ok(());
        }
        self.m.code.entered = Some(group);
        let counted = self.count_call(function);
        self.m.code.entered = None;
        counted?;
        self.m.frames.ensure(slots)?;
        self.enter_group(group)
    }
}
