//! Making: expressions, variables, numbers, strings, buffers, arrays, maps, lists and trees.
//!
//! What is to be referred to is checked ([`region::RegionTable::check`]), but for what the inline path makes, which does not
//! check either: it would cost more than making it.

use region::{Heap, Ref, Region as Made, RegionHandle};

use crate::arguments::{Out, array, given, place};
use crate::heaps::{Builder, HeapEntry, Region, with};
use crate::reading::{array_in, expression_in};
use crate::status::{Failed, Outcome, Status, guard};

/// A key and its value: `mnr_entry`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Entry {
    pub(crate) key: Ref,
    pub(crate) value: Ref,
}

impl HeapEntry {
    /// Refuses what things in a region may not refer to.
    pub(crate) fn check_all<'r>(&self, handle: RegionHandle, values: impl IntoIterator<Item = &'r Ref>) -> Outcome {
        let check = |value: &Ref| self.regions.check(handle, *value);
        values.into_iter().filter(|value| !value.is_immediate()).try_for_each(check).map_err(Failed::from)
    }
}

/// Makes one thing in a region, of what it may refer to.
pub(crate) fn make(
    region: Region,
    of: &[Ref],
    work: impl FnOnce(&mut Heap, &mut Made) -> Outcome<Ref>,
) -> Outcome<Ref> {
    with(region.heap, |entry| {
        entry.regions.parts(region.handle())?;
        entry.check_all(region.handle(), of)?;
        let (heap, region) = entry.regions.parts(region.handle())?;
        work(heap, region)
    })
}

/// Writes what was made, when no argument is looked at any more: it may lie in the same place.
pub(crate) fn made(out: Out<Ref>, work: impl FnOnce() -> Outcome<Ref>) -> Status {
    guard(|| {
        let out = place(out)?;
        out.write(work()?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_build_slowly(
    builder: Option<&mut Builder>,
    children: *const Ref,
    length: usize,
    out: Out<Ref>,
) -> Status {
    guard(|| {
        let (builder, out, children) = (given(builder)?, place(out)?, array(children, length)?);
        let made = with(builder.region.heap, |entry| {
            entry.relend(builder)?;
            let (heap, region) = entry.regions.parts(builder.region.handle())?;
            Ok(heap.expression(region, children)?)
        })?;
        out.write(made);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_expression(region: Region, children: *const Ref, length: usize, out: Out<Ref>) -> Status {
    made(out, || {
        let children = array(children, length)?;
        make(region, children, |heap, region| Ok(heap.expression(region, children)?))
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_variable(region: Region, label: u32, out: Out<Ref>) -> Status {
    made(out, || make(region, &[], |heap, region| Ok(heap.variable(region, label)?)))
}

#[unsafe(no_mangle)]
extern "C" fn mnr_number(region: Region, kind: u32, bits: u64, out: Out<Ref>) -> Status {
    made(out, || {
        if kind > 1 {
            return Err(Status::OutOfRange.into());
        }
        make(region, &[], |heap, region| Ok(heap.number(region, kind, bits)?))
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_string(region: Region, text: *const u8, length: usize, out: Out<Ref>) -> Status {
    made(out, || {
        let text = if length > region::BYTES_MAX { None } else { Some(array(text, length)?) };
        make(region, &[], |heap, region| {
            let Some(text) = text else { return Ok(heap.reserve_buffer(region, length)?) };
            let text = str::from_utf8(text).map_err(|_| Status::NotText)?;
            Ok(heap.string(region, text)?)
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_buffer(region: Region, bytes: *const u8, length: usize, out: Out<Ref>) -> Status {
    made(out, || {
        let bytes = if bytes.is_null() || length > region::BYTES_MAX { None } else { Some(array(bytes, length)?) };
        make(region, &[], |heap, region| match bytes {
            Some(bytes) => Ok(heap.buffer(region, bytes)?),
            None => Ok(heap.reserve_buffer(region, length)?),
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_array(region: Region, elements: *const Ref, length: usize, out: Out<Ref>) -> Status {
    made(out, || {
        let elements = array(elements, length)?;
        make(region, elements, |heap, region| Ok(heap.array(region, elements)?))
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_array_with_room(region: Region, room: usize, out: Out<Ref>) -> Status {
    made(out, || make(region, &[], |heap, region| Ok(heap.reserve_array(region, room)?)))
}

#[unsafe(no_mangle)]
extern "C" fn mnr_map(region: Region, room: usize, out: Out<Ref>) -> Status {
    made(out, || make(region, &[], |heap, region| Ok(heap.reserve_map(region, room)?)))
}

#[unsafe(no_mangle)]
extern "C" fn mnr_map_of(region: Region, entries: *const Entry, length: usize, out: Out<Ref>) -> Status {
    made(out, || {
        let entries: Vec<(Ref, Ref)> = array(entries, length)?.iter().map(|entry| (entry.key, entry.value)).collect();
        let of: Vec<Ref> = entries.iter().flat_map(|(key, value)| [*key, *value]).collect();
        make(region, &of, |heap, region| Ok(heap.map_of(region, &entries)?))
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_list(region: Region, elements: *const Ref, length: usize, tail: Ref, out: Out<Ref>) -> Status {
    made(out, || {
        let elements = array(elements, length)?;
        with(region.heap, |entry| entry.check_all(region.handle(), &[tail]))?;
        make(region, elements, |heap, region| Ok(heap.list(region, elements, tail)?))
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_list_of(region: Region, elements: Ref, tail: Ref, out: Out<Ref>) -> Status {
    made(out, || {
        make(region, &[elements, tail], |heap, region| {
            if array_in(heap, elements).is_err() {
                expression_in(heap, elements)?;
            }
            Ok(heap.list_of(region, elements, tail)?)
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_tree(
    region: Region,
    depth: u32,
    branching: usize,
    leaves: *const Ref,
    count: usize,
    out: Out<Ref>,
) -> Status {
    made(out, || {
        let leaves = array(leaves, count)?;
        if branching.checked_pow(depth) != Some(count) {
            return Err(Status::OutOfRange.into());
        }
        make(region, leaves, |heap, region| Ok(heap.tree(region, depth, branching, |at| leaves[at])?))
    })
}
