//! Maps that never change and share their parts, and graphs that do change.
//!
//! What is given is looked at before it is used: a map must be an expression of a count and a branch, a node one of a value and a map
//! of edges or none. What lies below and is not what it should be ends the call as broken.

use std::collections::HashSet;

use region::shared_map::SharedMapError;
use region::{FrozenHeap, Heap, Ref, Tether, Words, graph, shared_map};

use crate::arguments::{Out, array, place, room, write};
use crate::changing::change;
use crate::heaps::{Region, reading};
use crate::making::{Entry, made, make};
use crate::reading::{IS_TETHER, expression_in, map_in, read, read_to, whole};
use crate::status::{Failed, Outcome, Status, guard};

impl From<SharedMapError> for Failed {
    fn from(error: SharedMapError) -> Failed {
        match error {
            SharedMapError::Full(full) => full.into(),
            _ => Status::WrongKind.into(),
        }
    }
}

fn shared_map_in(heap: &Heap<impl Words>, map: Ref) -> Outcome {
    let is_map = expression_in(heap, map)? == 2 && heap.child(map, 0).is_immediate();
    if is_map && heap.child(map, 1).is_expression() {
        expression_in(heap, heap.child(map, 1))?;
        return Ok(());
    }
    Err(Status::WrongKind.into())
}

fn node_in(heap: &Heap<impl Words>, node: Ref) -> Outcome {
    if expression_in(heap, node)? != 2 {
        return Err(Status::WrongKind.into());
    }
    let edges = heap.child(node, 1);
    if edges.is_expression() { map_in(heap, edges) } else { Ok(()) }
}

fn entries(of: impl IntoIterator<Item = (Ref, Ref)>) -> Vec<Entry> {
    of.into_iter().map(|(key, value)| Entry { key, value }).collect()
}

#[unsafe(no_mangle)]
extern "C" fn mnr_shared_map(region: Region, out: Out<Ref>) -> Status {
    made(out, || make(region, &[], |heap, region| Ok(shared_map::empty(heap, region)?)))
}

#[unsafe(no_mangle)]
extern "C" fn mnr_shared_map_insert(region: Region, map: Ref, key: Ref, value: Ref, out: Out<Ref>) -> Status {
    made(out, || {
        make(region, &[map, key, value], |heap, region| {
            shared_map_in(heap, map)?;
            whole(heap, key)?;
            Ok(shared_map::insert(heap, region, map, key, value)?)
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_shared_map_remove(region: Region, map: Ref, key: Ref, out: Out<Ref>) -> Status {
    made(out, || {
        make(region, &[map], |heap, region| {
            shared_map_in(heap, map)?;
            whole(heap, key)?;
            Ok(shared_map::remove(heap, region, map, key)?)
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_shared_map_get(readable: u64, map: Ref, key: Ref, out: Out<Ref>) -> Status {
    read_to!(readable, out, |heap| {
        shared_map_in(heap, map)?;
        whole(heap, key)?;
        Ok(shared_map::get(heap, map, key).ok_or(Status::NoKey)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_shared_map_length(readable: u64, map: Ref, out: Out<usize>) -> Status {
    read_to!(readable, out, |heap| {
        shared_map_in(heap, map)?;
        Ok(shared_map::length(heap, map))
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_shared_map_entries(
    readable: u64,
    map: Ref,
    to: *mut Entry,
    size: usize,
    count: Out<usize>,
) -> Status {
    guard(|| {
        let to = room(to, size)?;
        read!(readable, |heap| {
            shared_map_in(heap, map)?;
            write(&entries(shared_map::entries(heap, map)), to, count)
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_node(region: Region, value: Ref, out: Out<Ref>) -> Status {
    made(out, || make(region, &[value], |heap, region| Ok(graph::node(heap, region, value)?)))
}

#[unsafe(no_mangle)]
extern "C" fn mnr_edge_add(region: Region, from: Ref, to: Ref, value: Ref) -> Status {
    guard(|| {
        change(region, from, &[to, value], |entry, handle| {
            node_in(entry.regions.heap(), from)?;
            node_in(entry.regions.heap(), to)?;
            let (heap, region) = entry.regions.parts(handle)?;
            graph::add_edge(heap, region, from, to, value)?;
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_edge_remove(region: Region, from: Ref, to: Ref, removed: Out<Ref>) -> Status {
    guard(|| {
        change(region, from, &[], |entry, _| {
            node_in(entry.regions.heap(), from)?;
            node_in(entry.regions.heap(), to)?;
            removed.write(graph::remove_edge(entry.regions.heap_mut(), from, to).ok_or(Status::NoKey)?);
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_edge(readable: u64, from: Ref, to: Ref, out: Out<Ref>) -> Status {
    read_to!(readable, out, |heap| {
        node_in(heap, from)?;
        node_in(heap, to)?;
        Ok(graph::edge(heap, from, to).ok_or(Status::NoKey)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_edges(readable: u64, node: Ref, to: *mut Entry, size: usize, count: Out<usize>) -> Status {
    guard(|| {
        let to = room(to, size)?;
        read!(readable, |heap| {
            node_in(heap, node)?;
            write(&entries(graph::edges(heap, node)), to, count)
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_reachable(
    readable: u64,
    from: *const Ref,
    length: usize,
    to: *mut Ref,
    size: usize,
    count: Out<usize>,
) -> Status {
    guard(|| {
        let (from, to) = (array(from, length)?, room(to, size)?);
        read!(readable, |heap| write(&reachable(heap, from)?, to, count))
    })
}

/// As [`graph::reachable`], with a look at each node.
fn reachable(heap: &Heap<impl Words>, from: &[Ref]) -> Outcome<Vec<Ref>> {
    let mut seen = HashSet::new();
    let mut found: Vec<Ref> = from.iter().map(|node| node.unmarked()).filter(|node| seen.insert(*node)).collect();
    let mut next = 0;
    while let Some(&node) = found.get(next) {
        node_in(heap, node)?;
        found.extend(graph::edges(heap, node).map(|(to, _)| to).filter(|to| seen.insert(*to)));
        next += 1;
    }
    Ok(found)
}
