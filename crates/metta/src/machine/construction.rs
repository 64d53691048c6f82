//! The instructions that build data.
//!
//! An expression whose children are in normal form is noted as in normal form too, under the number that rules stand at: as long as no
//! rule and no type changes it is its own result and is not evaluated again. It holds no variable.

use super::code::{ArgumentOrigin, Data, DataSlot, HEADER, ReturnPoint};
use super::control::choices::Destination;
use super::normal_calls::{are_same, may_begin_with};
use super::types::TypeChecker;
use super::values::Looked;
use super::words::is_always_normal;
use super::{Halt, Running};
use crate::interpreter::Task;
use region::{Full, Ref};

impl Running<'_> {
    /// An expression of evaluated children: data, unless a rule reduces it after all.
    #[inline]
    pub(super) fn construct(&mut self, data: u32) -> Result<(), Halt> {
        let Some(value) = self.constructed(data)? else { return Ok(()) };
        let Data { function, return_point, .. } = self.m.code.data[data as usize];
        if !self.is_constructor(function)? {
            return self.call_built(value, data);
        }
        let ReturnPoint { pc, dst, .. } = self.m.code.return_points[return_point as usize];
        self.m.frames.set_slot(dst, value);
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
        let Data { stamp, slots, is_normal, is_same, evaluated, written, or, typed, .. } = &m.code.data[data as usize];
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
        if evaluated.is_empty() && written.is_none() {
            m.values.note_open(made, *is_same, false, m.types.notes);
        } else {
            note_unless_changed(self, made, data)?;
        }
        Ok(Some(made))
    }

    /// Notes of built data what its type says, which has variables; `None` if it needs to be evaluated, the code goes on elsewhere then.
    #[inline(never)]
    fn constructed_by_type(&mut self, made: Ref, data: u32, is_normal: bool) -> Option<Ref> {
        let Data { is_same, or, ref typed, .. } = self.m.code.data[data as usize];
        let is_looked_at = typed.as_ref().is_some_and(|typed| typed.expected.is_none());
        if !is_normal && is_looked_at {
            self.m.values.note_open(made, is_same, false, self.m.types.notes);
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
        self.m.values.note_open(made, is_same, false, self.m.types.notes);
        Some(made)
    }

    /// Calls what was thought to be data.
    #[cold]
    fn call_built(&mut self, call: Ref, data: u32) -> Result<(), Halt> {
        let Data { function, return_point, is_same, .. } = self.m.code.data[data as usize];
        let is_same = is_same && came_to_themselves(self, data)? && !self.m.values.is_changed(call);
        self.m.values.heap.set_note(call, 0);
        let type_id = self.m.code.functions[function as usize].expected();
        let type_atom = self.types().type_atom(type_id);
        self.interpret(call.unmarked(), Destination::ReturnPoint(return_point), |atom| {
            Task::Call(atom, type_atom, !is_same)
        })
    }
}

/// Notes built data of which only the values tell whether it is what the program says.
#[inline(never)]
fn note_unless_changed(running: &mut Running<'_>, made: Ref, data: u32) -> Result<(), Full> {
    let Data { is_same, written, .. } = running.m.code.data[data as usize];
    let is_same = match written {
        Some(written) if !is_same => is_as_written(running, made, written)?,
        _ => is_same,
    };
    let is_changed = !came_to_themselves(running, data)?;
    running.m.values.note_open(made, is_same, is_changed, running.m.types.notes);
    Ok(())
}

/// Whether built data is what is written, as far as that is easily told.
fn is_as_written(running: &mut Running<'_>, made: Ref, written: ArgumentOrigin) -> Result<bool, Full> {
    let m = &mut running.m;
    let argument = m.values.heap.walk(m.values.heap.child(made, written.index + 1));
    if !may_begin_with(&m.values, argument, written.head) {
        return Ok(false);
    }
    let written = m.code.build(&m.frames, &mut m.values, &mut m.rooms.scratch, written.template)?;
    are_same(&mut m.values, &mut m.counters.compared, (made, written), &mut m.code.looked_at_max())
}

/// Whether the children of data that were evaluated came to themselves.
fn came_to_themselves(running: &mut Running<'_>, data: u32) -> Result<bool, Full> {
    let m = &mut running.m;
    for place in 0..m.code.data[data as usize].evaluated.len() {
        let [before, value] = m.code.data[data as usize].evaluated[place].map(|slot| m.read(slot));
        if !are_same(&mut m.values, &mut m.counters.compared, (value, before), &mut m.code.looked_at_max())? {
            return Ok(false);
        }
    }
    Ok(true)
}
