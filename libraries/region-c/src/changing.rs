//! Changing what is in a region: children, bindings, labels, bytes, elements and entries.
//!
//! What is changed must lie in the region that is given, and what is stored must be good for as long as that region.

use region::{Object, Ref, RegionHandle};

use crate::arguments::{Out, array, place};
use crate::heaps::{HeapEntry, Region, with};
use crate::reading::{array_in, chain, expression_in, map_in, object_in, variable_in, whole};
use crate::status::{Outcome, Status, guard};

/// Works on something in a region, after a look at it and at what is to be stored.
pub(crate) fn change<T>(
    region: Region,
    target: Ref,
    stored: &[Ref],
    work: impl FnOnce(&mut HeapEntry, RegionHandle) -> Outcome<T>,
) -> Outcome<T> {
    with(region.heap, |entry| {
        let handle = region.handle();
        let (heap, made) = entry.regions.parts(handle)?;
        if !target.is_immediate() && !heap.holds(made, target) {
            return Err(Status::Foreign.into());
        }
        entry.check_all(handle, stored)?;
        work(entry, handle)
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_set_child(region: Region, expression: Ref, index: usize, child: Ref) -> Status {
    guard(|| {
        change(region, expression, &[child], |entry, _| {
            let heap = entry.regions.heap_mut();
            if index >= expression_in(heap, expression)? {
                return Err(Status::OutOfRange.into());
            }
            heap.set_child(expression, index, child);
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_bind(region: Region, variable: Ref, value: Ref) -> Status {
    guard(|| {
        change(region, variable, &[value], |entry, _| {
            let heap = entry.regions.heap_mut();
            variable_in(heap, variable)?;
            chain(heap, value, |on_the_way| if on_the_way == variable { Err(Status::Ring.into()) } else { Ok(()) })?;
            heap.bind(variable, value);
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_unbind(region: Region, variable: Ref) -> Status {
    guard(|| {
        change(region, variable, &[], |entry, _| {
            variable_in(entry.regions.heap(), variable)?;
            entry.regions.heap_mut().unbind(variable);
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_set_label(region: Region, variable: Ref, label: u32) -> Status {
    guard(|| {
        change(region, variable, &[], |entry, _| {
            variable_in(entry.regions.heap(), variable)?;
            entry.regions.heap_mut().set_label(variable, label);
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_write_bytes(region: Region, buffer: Ref, position: usize, bytes: *const u8, count: usize) -> Status {
    guard(|| {
        let bytes = array(bytes, count)?;
        change(region, buffer, &[], |entry, _| {
            let heap = entry.regions.heap_mut();
            if object_in(heap, buffer)? != Object::Buffer {
                return Err(Status::WrongKind.into());
            }
            if heap.bytes(buffer).len().checked_sub(position).is_none_or(|room| room < count) {
                return Err(Status::OutOfRange.into());
            }
            heap.write_bytes(buffer, position, bytes);
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_array_set(region: Region, array: Ref, position: usize, element: Ref) -> Status {
    guard(|| {
        change(region, array, &[element], |entry, _| {
            array_in(entry.regions.heap(), array)?;
            let before = entry.regions.heap_mut().array_set(array, position, element);
            before.map(|_| ()).ok_or(Status::OutOfRange.into())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_array_push(region: Region, array: Ref, element: Ref) -> Status {
    guard(|| {
        change(region, array, &[element], |entry, handle| {
            array_in(entry.regions.heap(), array)?;
            let (heap, region) = entry.regions.parts(handle)?;
            Ok(heap.array_push(region, array, element)?)
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_array_pop(region: Region, array: Ref, out: Out<Ref>) -> Status {
    guard(|| {
        let out = place(out)?;
        change(region, array, &[], |entry, _| {
            array_in(entry.regions.heap(), array)?;
            out.write(entry.regions.heap_mut().array_pop(array).ok_or(Status::OutOfRange)?);
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_map_insert(region: Region, map: Ref, key: Ref, value: Ref) -> Status {
    guard(|| {
        change(region, map, &[key, value], |entry, handle| {
            map_in(entry.regions.heap(), map)?;
            whole(entry.regions.heap(), key)?;
            let (heap, region) = entry.regions.parts(handle)?;
            heap.map_insert(region, map, key, value)?;
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_map_remove(region: Region, map: Ref, key: Ref, removed: Out<Ref>) -> Status {
    guard(|| {
        change(region, map, &[], |entry, _| {
            map_in(entry.regions.heap(), map)?;
            whole(entry.regions.heap(), key)?;
            let value = entry.regions.heap_mut().map_remove(map, key).ok_or(Status::NoKey)?;
            removed.write(value);
            Ok(())
        })
    })
}
