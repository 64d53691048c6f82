//! Reading what is in a heap or under a tether: both are readables, whose numbers differ in the highest bit.
//!
//! A reference that outlived its region refers to some cell of the heap. What is read there means nothing, but it is read
//! within the heap: each reference is compared with its end, and what does not lie there as a whole is refused as broken.

use region::{FrozenHeap, Heap, Object, Ref, Tether, Words, tag};

use crate::arguments::{Out, array, array_mut, place, room, write};
use crate::heaps::reading;
use crate::making::Entry;
use crate::status::{Outcome, Status, guard};

/// The bit of a readable that is a tether.
pub(crate) const IS_TETHER: u64 = 1 << 63;

/// Reads a heap or what a tether keeps. The code is there for both, since their words do not lie in the same way.
macro_rules! read {
    ($readable:expr, |$heap:ident| $work:expr) => {
        if $readable & IS_TETHER == 0 {
            reading($readable, |entry| {
                let $heap = entry.regions.heap();
                $work
            })
        } else {
            Tether::parked($readable & !IS_TETHER, |tether| {
                let $heap: &FrozenHeap = tether;
                $work
            })?
        }
    };
}

/// Reads something to a place.
macro_rules! read_to {
    ($readable:expr, $out:expr, |$heap:ident| $work:expr) => {
        guard(|| {
            let out = place($out)?;
            out.write(read!($readable, |$heap| $work)?);
            Ok(())
        })
    };
}

pub(crate) use {read, read_to};

/// Refuses what lies after the end.
fn within(heap: &Heap<impl Words>, reference: Ref) -> Outcome {
    let cell = if reference.is_number() { reference.payload() >> 1 } else { reference.payload() };
    if (cell as usize) < heap.words().len() / 2 { Ok(()) } else { Err(Status::OutOfRange.into()) }
}

fn of_kind(heap: &Heap<impl Words>, reference: Ref, is_it: bool) -> Outcome {
    if is_it { within(heap, reference) } else { Err(Status::WrongKind.into()) }
}

pub(crate) fn variable_in(heap: &Heap<impl Words>, reference: Ref) -> Outcome {
    of_kind(heap, reference, reference.is_variable())
}

/// Follows bindings, and looks at each variable on the way. No sound chain has more of them than the heap has cells.
pub(crate) fn chain(heap: &Heap<impl Words>, from: Ref, look: impl Fn(Ref) -> Outcome) -> Outcome<Ref> {
    let mut at = from;
    for _ in 0..=heap.words().len() / 2 {
        if !at.is_variable() {
            return Ok(at);
        }
        within(heap, at)?;
        look(at)?;
        match heap.binding(at) {
            Some(value) => at = value,
            None => return Ok(at),
        }
    }
    Err(Status::Broken.into())
}

pub(crate) fn object_in(heap: &Heap<impl Words>, reference: Ref) -> Outcome<Object> {
    of_kind(heap, reference, reference.is_expression())?;
    whole(heap, reference)?;
    Ok(heap.object(reference))
}

/// Refuses what does not lie in the heap as a whole.
pub(crate) fn whole(heap: &Heap<impl Words>, reference: Ref) -> Outcome {
    if heap.is_whole(reference) { Ok(()) } else { Err(Status::Broken.into()) }
}

/// The length of an expression.
pub(crate) fn expression_in(heap: &Heap<impl Words>, reference: Ref) -> Outcome<usize> {
    match object_in(heap, reference)? {
        Object::Expression => Ok(heap.length(reference)),
        _ => Err(Status::WrongKind.into()),
    }
}

pub(crate) fn array_in(heap: &Heap<impl Words>, reference: Ref) -> Outcome {
    if object_in(heap, reference)? == Object::Array { Ok(()) } else { Err(Status::WrongKind.into()) }
}

pub(crate) fn map_in(heap: &Heap<impl Words>, reference: Ref) -> Outcome {
    if object_in(heap, reference)? == Object::Map { Ok(()) } else { Err(Status::WrongKind.into()) }
}

fn bytes_in(heap: &Heap<impl Words>, reference: Ref) -> Outcome {
    match object_in(heap, reference)? {
        Object::String | Object::Buffer => Ok(()),
        _ => Err(Status::WrongKind.into()),
    }
}

/// `MNR_KIND_…`: immediates have their tags, what lies in a heap has the numbers after.
fn kind(heap: &Heap<impl Words>, reference: Ref) -> Outcome<u32> {
    if reference.is_immediate() {
        return Ok(reference.tag());
    }
    within(heap, reference)?;
    Ok(match reference.tag() {
        tag::NUMBER => 4,
        tag::VARIABLE => 5,
        _ => match object_in(heap, reference)? {
            Object::Expression => 6,
            Object::String => 7,
            Object::Buffer => 8,
            Object::Array => 9,
            Object::Map => 10,
        },
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_kind(readable: u64, reference: Ref, out: Out<u32>) -> Status {
    read_to!(readable, out, |heap| kind(heap, reference))
}

#[unsafe(no_mangle)]
extern "C" fn mnr_length(readable: u64, reference: Ref, out: Out<usize>) -> Status {
    read_to!(readable, out, |heap| match object_in(heap, reference)? {
        Object::Expression => Ok(heap.length(reference)),
        Object::String | Object::Buffer => Ok(heap.bytes(reference).len()),
        Object::Array => Ok(heap.array_length(reference)),
        Object::Map => Ok(heap.map_length(reference)),
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_child(readable: u64, reference: Ref, index: usize, out: Out<Ref>) -> Status {
    read_to!(readable, out, |heap| match object_in(heap, reference)? {
        Object::Expression => Ok(*heap.children(reference).get(index).ok_or(Status::OutOfRange)?),
        Object::Array => Ok(heap.array_get(reference, index).ok_or(Status::OutOfRange)?),
        _ => Err(Status::WrongKind.into()),
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_children(readable: u64, reference: Ref, to: *mut Ref, size: usize, count: Out<usize>) -> Status {
    guard(|| {
        read!(readable, |heap| match object_in(heap, reference)? {
            Object::Expression => write(heap.children(reference), room(to, size)?, count),
            Object::Array => write(heap.array_elements(reference), room(to, size)?, count),
            _ => Err(Status::WrongKind.into()),
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_list_elements(
    readable: u64,
    list: Ref,
    to: *mut Ref,
    size: usize,
    count: Out<usize>,
    rest_out: Out<Ref>,
) -> Status {
    guard(|| {
        let (to, count) = (room(to, size)?, place(count)?);
        read!(readable, |heap| {
            let (mut rest, mut written) = (list, 0);
            for to in to {
                let Ok(2) = expression_in(heap, rest) else { break };
                to.write(heap.child(rest, 0));
                (rest, written) = (heap.child(rest, 1), written + 1);
            }
            count.write(written);
            rest_out.write(rest);
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_binding(readable: u64, variable: Ref, out: Out<Ref>) -> Status {
    read_to!(readable, out, |heap| {
        variable_in(heap, variable)?;
        Ok(heap.binding(variable).unwrap_or(variable))
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_walk(readable: u64, reference: Ref, out: Out<Ref>) -> Status {
    read_to!(readable, out, |heap| chain(heap, reference, |_| Ok(())))
}

#[unsafe(no_mangle)]
extern "C" fn mnr_label(readable: u64, variable: Ref, out: Out<u32>) -> Status {
    read_to!(readable, out, |heap| {
        variable_in(heap, variable)?;
        Ok(heap.label(variable))
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_number_bits(readable: u64, number: Ref, out: Out<u64>) -> Status {
    read_to!(readable, out, |heap| {
        of_kind(heap, number, number.is_number())?;
        Ok(heap.number_bits(number))
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_bytes(readable: u64, bytes: Ref, to: *mut u8, size: usize, length: Out<usize>) -> Status {
    guard(|| {
        room(to, size)?.fill(std::mem::MaybeUninit::new(0));
        let to = array_mut(to, size)?;
        read!(readable, |heap| {
            bytes_in(heap, bytes)?;
            let bytes = heap.bytes(bytes);
            length.write(bytes.len());
            if to.len() < bytes.len() {
                return Err(Status::TooSmall.into());
            }
            bytes.copy_to(0, to);
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_map_get(readable: u64, map: Ref, key: Ref, out: Out<Ref>) -> Status {
    read_to!(readable, out, |heap| {
        map_in(heap, map)?;
        whole(heap, key)?;
        Ok(heap.map_get(map, key).ok_or(Status::NoKey)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_map_get_string(readable: u64, map: Ref, key: *const u8, length: usize, out: Out<Ref>) -> Status {
    read_to!(readable, out, |heap| {
        map_in(heap, map)?;
        let key = str::from_utf8(array(key, length)?).map_err(|_| Status::NotText)?;
        Ok(heap.map_get_string(map, key).ok_or(Status::NoKey)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_map_entries(readable: u64, map: Ref, to: *mut Entry, size: usize, count: Out<usize>) -> Status {
    guard(|| {
        let to = room(to, size)?;
        read!(readable, |heap| {
            map_in(heap, map)?;
            let entries: Vec<Entry> = heap.map_entries(map).map(|(key, value)| Entry { key, value }).collect();
            write(&entries, to, count)
        })
    })
}
