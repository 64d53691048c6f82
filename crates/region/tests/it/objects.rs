//! Strings, buffers, arrays and maps, and what is made as a whole: by example, and against the collections of the standard
//! library. A copy is compared by walking over both sides at once.

use std::collections::HashMap;

use region::{BYTES_MAX, Bound, ENTRIES_MAX, Full, Heap, LENGTH_MAX, Limit, Mark, Object, Ref, Region, tag};

use crate::basics::small;
use crate::defects::{escape, overwrite};

/// Whether two graphs are the same but for where they lie: strings, numbers and immediates are equal, what is one thing here
/// is one thing there.
pub(crate) fn isomorphic(heap: &Heap, one: Ref, other: Ref) -> bool {
    let (mut there, mut back) = (HashMap::new(), HashMap::new());
    let mut open = vec![(one, other)];
    while let Some((one, other)) = open.pop() {
        if one.tag() != other.tag() || !heap.is_whole(one) || !heap.is_whole(other) {
            return false;
        }
        if one.is_immediate() {
            if one != other {
                return false;
            }
            continue;
        }
        let (plain, opposite) = (one.unmarked(), other.unmarked());
        match (there.insert(plain, opposite), back.insert(opposite, plain)) {
            (None, None) if children_agree(heap, one, other, &mut open) => {}
            (Some(known), Some(from)) if (known, from) == (opposite, plain) => {}
            _ => return false,
        }
    }
    true
}

/// Whether two things are alike themselves; what they lead to is added to what is open.
fn children_agree(heap: &Heap, one: Ref, other: Ref, open: &mut Vec<(Ref, Ref)>) -> bool {
    if one.is_number() {
        return one.payload() & 1 == other.payload() & 1 && heap.number_bits(one) == heap.number_bits(other);
    }
    if one.is_variable() {
        let bindings = (heap.binding(one), heap.binding(other));
        open.extend(bindings.0.iter().copied().zip(bindings.1));
        return heap.label(one) == heap.label(other) && bindings.0.is_some() == bindings.1.is_some();
    }
    if heap.object(one) != heap.object(other) || heap.note(one) != heap.note(other) {
        return false;
    }
    let parts = |object: Ref| match heap.object(object) {
        Object::Expression => heap.children(object).to_vec(),
        Object::Array => heap.array_elements(object).to_vec(),
        Object::Map => heap.map_entries(object).flat_map(|(key, value)| [key, value]).collect(),
        Object::Buffer | Object::String => Vec::new(),
    };
    let (parts, others) = (parts(one), parts(other));
    open.extend(parts.iter().copied().zip(others.iter().copied()));
    let bytes_agree = !heap.is_bytes(one) || heap.bytes(one) == heap.bytes(other);
    parts.len() == others.len() && bytes_agree
}

/// Copies what a root leads to, and holds the copy against it.
fn copy(heap: &mut Heap, from: &Region, to: &mut Region, root: Ref) -> Result<Ref, Full> {
    let mut copying = heap.copy(from, Mark::START, Bound::Kept, to, |foreign| foreign)?;
    let copy = copying.root(root)?;
    copying.scan()?;
    assert!(isomorphic(heap, root, copy), "a copy is like what it was copied from");
    assert_eq!(heap.dangling(&[to], &[copy]), None, "nothing of a copy lies elsewhere");
    Ok(copy)
}

/// D13: an earlier region memory took the first zero of a string for its end.
#[test]
fn strings_keep_nul() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    for content in ["", "\0", "a\0b", "\0\0\0\0\0\0\0\0", "end\0", "\0\0\0\0start"] {
        let string = heap.string(&mut region, content)?;
        assert_eq!((heap.bytes(string).len(), heap.object(string)), (content.len(), Object::String));
        assert_eq!(heap.bytes(string).to_text().as_deref(), Some(content));
        assert!(heap.bytes(string) == *content);
    }
    let (short, long) = (heap.string(&mut region, "end")?, heap.string(&mut region, "end\0")?);
    assert!(heap.bytes(short) < heap.bytes(long));
    let root = heap.expression(&mut region, &[short, long, short])?;
    let (to, root) = escape(&mut heap, region, root)?;
    let other = overwrite(&mut heap)?;
    let [short, long, again] = *heap.children(root) else { panic!("three children") };
    assert_eq!((heap.bytes(short).to_vec(), heap.bytes(long).to_vec()), (b"end".to_vec(), b"end\0".to_vec()));
    assert_eq!(short, again);
    heap.close(other);
    heap.close(to);
    Ok(())
}

#[test]
fn bytes_of_every_length_are_read_back_and_copied() -> Result<(), Full> {
    let mut heap = Heap::new();
    let (mut region, mut to) = (heap.open(), heap.open());
    let lengths = (0..40).chain([503, 504, 505, 511, 512, 513, 1023, 1024, 1025, 4096, 100_000]);
    let mut made = Vec::new();
    for length in lengths {
        let content: Vec<u8> = (0..length).map(|at| (at * 7 + length) as u8).collect();
        made.push((heap.buffer(&mut region, &content)?, content));
        heap.number(&mut region, 0, u64::MAX)?;
    }
    let all: Vec<Ref> = made.iter().map(|made| made.0).collect();
    let root = heap.expression(&mut region, &all)?;
    let root = copy(&mut heap, &region, &mut to, root)?;
    heap.close(region);
    let other = overwrite(&mut heap)?;
    for ((_, content), copy) in made.iter().zip(heap.children(root)) {
        let bytes = heap.bytes(*copy);
        assert_eq!((bytes.to_vec(), bytes.is_empty()), (content.clone(), content.is_empty()));
        assert!(bytes.iter().eq(content.iter().copied()) && bytes.iter().rev().eq(content.iter().rev().copied()));
        assert_eq!((bytes.get(content.len()), bytes.get(usize::MAX)), (None, None));
    }
    heap.close(other);
    heap.close(to);
    Ok(())
}

#[test]
fn a_buffer_is_written_where_it_should_be() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    for length in 0..20 {
        for from in 0..=length {
            for to in from..=length {
                let buffer = heap.reserve_buffer(&mut region, length)?;
                let guard = heap.number(&mut region, 0, u64::MAX)?;
                let mut model = vec![0; length];
                for byte in [b'x', b'y'] {
                    heap.write_bytes(buffer, from, &vec![byte; to - from]);
                    model[from..to].fill(byte);
                }
                assert_eq!((heap.bytes(buffer).to_vec(), heap.number_bits(guard)), (model.clone(), u64::MAX));
                let mut part = [1; 20];
                let count = heap.bytes(buffer).copy_to(from, &mut part[..to - from]);
                assert_eq!((count, &part[..count]), (to - from, &model[from..to]));
                assert_eq!(heap.bytes(buffer).words().len(), length.div_ceil(4));
            }
        }
    }
    heap.close(region);
    Ok(())
}

#[test]
fn bytes_print_as_text_and_as_bytes() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let string = heap.string(&mut region, "grüße\0")?;
    let buffer = heap.buffer(&mut region, b"\xFFab")?;
    assert_eq!(
        (heap.bytes(string).to_string(), heap.bytes(buffer).to_string()),
        ("grüße\0".into(), "\u{FFFD}ab".into())
    );
    assert_eq!(format!("{:?}", heap.bytes(buffer)), r#"b"\xffab""#);
    assert_eq!(heap.bytes(buffer).to_text(), None);
    heap.close(region);
    Ok(())
}

/// Lengths that cannot be are refused before anything is taken.
#[test]
fn lengths_that_cannot_be_are_refused_at_once() {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let before = heap.mark(&region);
    let too_long = [BYTES_MAX + 1, (1 << 29) - 1, 1 << 29, (1 << 29) + 1, 1 << 32, usize::MAX - 1, usize::MAX];
    for length in too_long {
        let limits = [
            heap.reserve_buffer(&mut region, length).map_err(|full| full.limit()),
            heap.reserve_array(&mut region, length).map_err(|full| full.limit()),
            heap.reserve_map(&mut region, length).map_err(|full| full.limit()),
            heap.tree(&mut region, 1, length, |_| small(0)).map_err(|full| full.limit()),
        ];
        assert_eq!(limits, [Err(Limit::ByteLength), Err(Limit::Length), Err(Limit::Entries), Err(Limit::Length)]);
    }
    for (depth, branching) in [(29, 2), (30, 2), (u32::MAX, 2), (u32::MAX, 1), (1 << 29 | 1, 1), (3, 1 << 20)] {
        let full = heap.tree(&mut region, depth, branching, |_| small(0)).map_err(|full| full.limit());
        assert_eq!(full, Err(Limit::Addresses), "{depth} {branching}");
    }
    assert_eq!(heap.reserve_array(&mut region, LENGTH_MAX + 1).map_err(|full| full.limit()), Err(Limit::Length));
    assert_eq!(heap.reserve_map(&mut region, ENTRIES_MAX + 1).map_err(|full| full.limit()), Err(Limit::Entries));
    assert_eq!((heap.mark(&region), heap.statistics().bytes_held), (before, 0));
    assert_eq!(heap.statistics().limit_failures, 7 * 4 + 6 + 2);
    heap.close(region);
    assert_eq!(heap.statistics().cells_handed_out, 0);
}

fn pairs_one_by_one(heap: &mut Heap, region: &mut Region, elements: &[Ref], tail: Ref) -> Result<Ref, Full> {
    elements.iter().rev().try_fold(tail, |rest, element| heap.expression(region, &[*element, rest]))
}

fn tree_one_by_one(
    heap: &mut Heap,
    region: &mut Region,
    depth: u32,
    branching: usize,
    leaf: &mut dyn FnMut() -> Ref,
) -> Result<Ref, Full> {
    if depth == 0 {
        return Ok(leaf());
    }
    let children: Vec<Ref> =
        (0..branching).map(|_| tree_one_by_one(heap, region, depth - 1, branching, leaf)).collect::<Result<_, _>>()?;
    heap.expression(region, &children)
}

/// A heap where `free` free chunks lie among as many in use, and which can have no more.
fn scattered(free: usize) -> Result<(Heap, Region), Full> {
    let mut heap = if free == 0 { Heap::new() } else { Heap::with_limit(2 * free * 512) };
    let (mut keeper, mut gaps) = (heap.open(), heap.open());
    for _ in 0..free {
        heap.reserve(&mut keeper, 126)?;
        heap.reserve(&mut gaps, 126)?;
    }
    heap.close(gaps);
    Ok((heap, keeper))
}

/// D10, D11: a list made as a whole had one element, and a tree one node.
#[test]
fn batch_equals_one_by_one() -> Result<(), Full> {
    for free in [None, Some(400)] {
        let (mut heap, keeper) = match free {
            Some(free) => scattered(free)?,
            None => scattered(0)?,
        };
        for length in [0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 100, 1_000] {
            for ahead in [0, 1, 61, 62, 63] {
                let mut region = heap.open();
                heap.reserve(&mut region, ahead * 2)?;
                let elements: Vec<Ref> = (0..length).map(small).collect();
                let one_by_one = pairs_one_by_one(&mut heap, &mut region, &elements, small(7))?;
                let whole = heap.list(&mut region, &elements, small(7))?;
                assert!(isomorphic(&heap, one_by_one, whole), "{length}");
                if free.is_some() && length > 100 {
                    // There is no place for this many words in a row.
                    assert!(heap.array(&mut region, &elements).is_err());
                    heap.close(region);
                    continue;
                }
                let (array, expression) =
                    (heap.array(&mut region, &elements)?, heap.expression(&mut region, &elements)?);
                for elements in [array, expression] {
                    let whole = heap.list_of(&mut region, elements, small(7))?;
                    assert!(isomorphic(&heap, one_by_one, whole), "{length}");
                }
                assert!(heap.list_elements(whole).eq(elements));
                heap.close(region);
            }
        }
        for (depth, branching) in [
            (0, 2),
            (1, 0),
            (5, 0),
            (1, 1),
            (700, 1),
            (1, 2),
            (2, 2),
            (9, 2),
            (4, 5),
            (2, 40),
            (1, 8190),
            (1, 8191),
            (2, 60),
        ] {
            if free.is_some() && branching > 125 {
                continue;
            }
            let mut region = heap.open();
            let mut leaves = (0..).map(small);
            let one_by_one =
                tree_one_by_one(&mut heap, &mut region, depth, branching, &mut || leaves.next().expect("enough"))?;
            let whole = heap.tree(&mut region, depth, branching, |at| small(at as u32))?;
            assert!(isomorphic(&heap, one_by_one, whole), "{depth} {branching}");
            heap.close(region);
        }
        heap.close(keeper);
        let refused = if free.is_some() { 5 } else { 0 };
        assert_eq!((heap.statistics().bytes_live, heap.statistics().limit_failures), (0, refused));
    }
    Ok(())
}

/// D5: arrays and dictionaries were copied without their content.
#[test]
fn arrays_and_maps_are_copied_deep() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let shared = heap.expression(&mut region, &[small(1)])?;
    let name = heap.string(&mut region, "name")?;
    let array = heap.array(&mut region, &[shared, name, shared.marked()])?;
    let map = heap.map(&mut region)?;
    // Both lead to each other, and to themselves.
    heap.array_push(&mut region, array, array)?;
    heap.array_push(&mut region, array, map)?;
    for (key, value) in [(name, array), (map, map), (array, shared), (small(3), small(4)), (shared, name)] {
        heap.map_insert(&mut region, map, key, value)?;
    }
    heap.map_remove(map, small(3));
    let mut to = heap.open();
    let inner = copy(&mut heap, &region, &mut to, array)?;
    heap.close(region);
    let other = overwrite(&mut heap)?;
    let [shared, name, again, own, map] = *heap.array_elements(inner) else { panic!("five elements") };
    assert_eq!((own, again, heap.children(shared)), (inner, shared.marked(), &[small(1)][..]));
    let entries: Vec<(Ref, Ref)> = heap.map_entries(map).collect();
    assert_eq!(entries, [(name, inner), (map, map), (inner, shared), (shared, name)]);
    for (key, value) in entries {
        assert_eq!(heap.map_get(map, key), Some(value));
    }
    let same = heap.string(&mut to, "name")?;
    assert_eq!((heap.map_get(map, same), heap.map_get(map, small(3))), (Some(inner), None));
    heap.map_insert(&mut to, map, small(3), small(5))?;
    assert_eq!(heap.map_entries(map).last(), Some((small(3), small(5))));
    heap.close(other);
    heap.close(to);
    Ok(())
}

/// A map of an earlier region memory said of a key whose value was zero that it was not there.
#[test]
fn a_key_of_value_zero_is_contained() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let map = heap.map(&mut region)?;
    let zero = Ref::from_bits(0);
    assert_eq!(heap.map_get(map, zero), None);
    assert_eq!(heap.map_insert(&mut region, map, zero, zero), Ok(None));
    assert_eq!((heap.map_get(map, zero), heap.map_length(map)), (Some(zero), 1));
    assert_eq!((heap.map_remove(map, zero), heap.map_remove(map, zero), heap.map_length(map)), (Some(zero), None, 0));
    heap.close(region);
    Ok(())
}

#[test]
fn keys_are_compared_by_what_they_are() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let mut twice = |heap: &mut Heap| -> Result<Vec<Ref>, Full> {
        let region = &mut region;
        Ok(vec![
            heap.number(region, 0, 5)?,
            heap.number(region, 1, 5)?,
            heap.string(region, "five")?,
            heap.buffer(region, b"five")?,
            heap.string(region, "")?,
            heap.buffer(region, b"")?,
            heap.expression(region, &[small(5)])?,
            heap.variable(region, 5)?,
            heap.array(region, &[small(5)])?,
            heap.map(region)?,
        ])
    };
    let (keys, equal) = (twice(&mut heap)?, twice(&mut heap)?);
    let map = heap.map(&mut region)?;
    for (at, key) in (0..).zip(&keys) {
        assert_eq!(heap.map_insert(&mut region, map, *key, small(at)), Ok(None));
    }
    assert_eq!(heap.map_length(map), keys.len());
    for (at, (key, equal)) in (0..).zip(keys.iter().zip(&equal)) {
        assert_eq!(heap.map_get(map, *key), Some(small(at)));
        assert_eq!(heap.map_get(map, *equal), (at < 6).then_some(small(at)), "numbers and bytes by content");
        if key.is_expression() {
            assert_eq!(heap.map_get(map, key.marked()), Some(small(at)), "the mark is not the key's");
        }
    }
    heap.close(region);
    Ok(())
}

/// With bindings replaced, variables that are bound to one value become one key.
#[test]
fn keys_that_a_copy_makes_the_same_are_one() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let (x, y) = (heap.variable(&mut region, 1)?, heap.variable(&mut region, 2)?);
    let map = heap.map_of(&mut region, &[(x, small(1)), (small(9), small(2)), (y, small(3)), (small(8), small(4))])?;
    heap.bind(x, small(9));
    heap.bind(y, small(8));
    let mut to = heap.open();
    let mut copying = heap.copy(&region, Mark::START, Bound::Replaced, &mut to, |foreign| foreign)?;
    let copy = copying.root(map)?;
    copying.scan()?;
    assert_eq!((heap.map_length(map), heap.map_length(copy)), (4, 2));
    assert!(heap.map_entries(copy).eq([(small(9), small(1)), (small(8), small(3))]));
    assert_eq!((heap.map_get(copy, small(9)), heap.map_get(copy, small(8))), (Some(small(1)), Some(small(3))));
    heap.close(region);
    heap.close(to);
    Ok(())
}

/// Foreign immediates in arrays and maps are met once a place, as in expressions.
#[test]
fn foreign_immediates_are_met_once_a_place() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let foreign = |payload: u32| Ref::new(tag::IMMEDIATE_3, payload);
    let array = heap.array(&mut region, &[foreign(1), foreign(2)])?;
    let map = heap.map_of(&mut region, &[(foreign(3), foreign(4)), (foreign(5), array)])?;
    let mut to = heap.open();
    let mut met = Vec::new();
    let next = |reference: Ref| {
        met.push(reference.payload());
        foreign(reference.payload() + 100)
    };
    let mut copying = heap.copy(&region, Mark::START, Bound::Kept, &mut to, next)?;
    let copy = copying.root(map)?;
    copying.scan()?;
    met.sort_unstable();
    assert_eq!(met, [1, 2, 3, 4, 5]);
    assert_eq!(heap.map_get(copy, foreign(103)), Some(foreign(104)));
    let array = heap.map_get(copy, foreign(105)).expect("the key went with the map");
    assert_eq!(heap.array_elements(array), [foreign(101), foreign(102)]);
    heap.close(region);
    heap.close(to);
    Ok(())
}

/// Notes are the owner's on objects as well, and taking them off leaves objects what they are.
#[test]
fn objects_have_notes() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let string = heap.string(&mut region, "text")?;
    let long: Vec<(Ref, Ref)> = (0..9_000).map(|at| (small(at), string)).collect();
    let all = [string, heap.buffer(&mut region, &[1; 1_000])?, heap.array(&mut region, &[string; 9_000])?];
    let map = heap.map_of(&mut region, &long)?;
    let kinds = [Object::String, Object::Buffer, Object::Array, Object::Map];
    let all = [all[0], all[1], all[2], map];
    for (object, note) in all.into_iter().zip([1, u16::MAX, 3, 4]) {
        heap.set_note(object, note);
    }
    let root = heap.expression(&mut region, &all)?;
    let mut to = heap.open();
    copy(&mut heap, &region, &mut to, root)?;
    assert_eq!(all.map(|object| heap.note(object)), [1, u16::MAX, 3, 4]);
    heap.clear_notes();
    assert_eq!((all.map(|object| heap.note(object)), all.map(|object| heap.object(object))), ([0; 4], kinds));
    assert_eq!(heap.array_elements(all[2]), [string; 9_000]);
    assert!(heap.map_entries(map).eq(long));
    heap.close(region);
    heap.close(to);
    Ok(())
}

type Make<'m> = dyn Fn(&mut Heap, &mut Region) -> Result<Ref, Full> + 'm;

/// With ever more memory, what cannot be made leaves nothing, and what can be made is right.
#[test]
fn what_is_refused_leaves_nothing() {
    let elements: Vec<Ref> = (0..300).map(small).collect();
    let entries: Vec<(Ref, Ref)> = elements.iter().map(|element| (*element, *element)).collect();
    let make: [(&str, &Make<'_>); 8] = [
        ("buffer", &|heap, region| heap.buffer(region, &[7; 2_000])),
        ("reserved buffer", &|heap, region| heap.reserve_buffer(region, 2_000)),
        ("array", &|heap, region| heap.array(region, &elements)),
        ("list", &|heap, region| heap.list(region, &elements, small(0))),
        ("tree", &|heap, region| heap.tree(region, 7, 2, |at| small(at as u32))),
        ("chain", &|heap, region| heap.tree(region, 200, 1, |at| small(at as u32))),
        ("map", &|heap, region| heap.map_of(region, &entries)),
        ("empty map", &|heap, region| heap.map(region)),
    ];
    for (name, make) in make {
        let mut made = 0;
        for chunks in 0..40 {
            let mut heap = Heap::with_limit(chunks * 512);
            let mut region = heap.open();
            let _ = heap.expression(&mut region, &[small(1)]);
            let (mark, before) = (heap.mark(&region), heap.statistics());
            match make(&mut heap, &mut region) {
                Ok(_) => made += 1,
                Err(full) => {
                    assert_eq!((full.limit(), heap.mark(&region)), (Limit::Bytes, mark), "{name}");
                    let after = heap.statistics();
                    assert_eq!(after.cells_handed_out, before.cells_handed_out, "{name}");
                    assert_eq!(after.bytes_live, before.bytes_live, "{name}");
                    assert_eq!(after.limit_failures, before.limit_failures + 1, "{name}");
                }
            }
            heap.close(region);
        }
        assert!((20..40).contains(&made), "{name}: {made}");
    }
}

/// An array and a map that cannot grow are as they were; a copy that fails half-way leaves nothing.
#[test]
fn what_cannot_grow_stays_as_it_is() -> Result<(), Full> {
    for chunks in 3..30 {
        let mut heap = Heap::with_limit(chunks * 512);
        let mut region = heap.open();
        let (array, map) = (heap.array(&mut region, &[])?, heap.map(&mut region)?);
        let (mut pushed, mut inserted) = (0, 0);
        while heap.array_push(&mut region, array, small(pushed)).is_ok()
            && heap.map_insert(&mut region, map, small(inserted), small(pushed)).is_ok()
        {
            (pushed, inserted) = (pushed + 1, inserted + 1);
        }
        let pushed = pushed.max(heap.array_length(array) as u32);
        assert!(heap.array_elements(array).iter().copied().eq((0..pushed).map(small)));
        assert!(heap.map_entries(map).eq((0..inserted).map(|at| (small(at), small(at)))));
        assert!((0..inserted).all(|at| heap.map_get(map, small(at)) == Some(small(at))));
        let root = heap.list(&mut region, &[array, map], small(0));
        let (Ok(root), mut to) = (root, heap.open()) else { continue };
        for more in 0..40 {
            heap.set_limit(Some((chunks + more) * 512));
            let mut copying = heap.copy(&region, Mark::START, Bound::Kept, &mut to, |foreign| foreign)?;
            let copied = copying.root(root).and_then(|root| copying.scan().map(|()| root));
            match copied {
                Ok(copy) => assert!(isomorphic(&heap, root, copy)),
                Err(_) => assert_eq!(heap.mark(&to), Mark::START),
            }
            heap.rewind(&mut to, Mark::START);
        }
        heap.close(region);
        heap.close(to);
    }
    Ok(())
}

/// Objects are made, read and copied in warm memory without asking the system for more.
#[test]
fn warm_objects_ask_for_no_memory() -> Result<(), Full> {
    let mut heap = Heap::new();
    let elements: Vec<Ref> = (0..1_000).map(small).collect();
    let mut round = || -> Result<(), Full> {
        let (mut region, mut to) = (heap.open(), heap.open());
        let (list, array) = (heap.list(&mut region, &elements, small(0))?, heap.array(&mut region, &elements)?);
        let tree = heap.tree(&mut region, 8, 2, |at| small(at as u32))?;
        let string = heap.string(&mut region, "a string of some length")?;
        let map = heap.map(&mut region)?;
        for (at, value) in [list, array, tree, string].into_iter().cycle().take(1_000).enumerate() {
            heap.map_insert(&mut region, map, small(at as u32), value)?;
        }
        let mut copying = heap.copy(&region, Mark::START, Bound::Kept, &mut to, |foreign| foreign)?;
        copying.root(map)?;
        copying.scan()?;
        heap.close(region);
        heap.close(to);
        Ok(())
    };
    // Until free memory has runs that are long enough.
    for _ in 0..4 {
        round()?;
    }
    let counted = allocation_counter::measure(|| round().expect("there is no limit"));
    assert_eq!(counted.count_total, 0);
    Ok(())
}

/// Indexes that are made anew find what they found, entries that were removed and tables that were left among the cells.
#[test]
fn maps_are_indexed_anew() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let mut maps = Vec::new();
    for length in [0, 1, 5, 100, 9_000] {
        let map = heap.map(&mut region)?;
        for at in 0..length {
            let key = heap.expression(&mut region, &[small(at)])?;
            heap.map_insert(&mut region, map, key, small(at))?;
            if at % 3 == 0 {
                heap.map_remove(map, key);
            }
        }
        heap.string(&mut region, "between")?;
        heap.array(&mut region, &[map; 9_000])?;
        maps.push((map, heap.map_entries(map).collect::<Vec<(Ref, Ref)>>()));
    }
    heap.reindex_maps(&region, Mark::START);
    for (map, entries) in maps {
        assert!(heap.map_entries(map).eq(entries.iter().copied()));
        assert!(entries.iter().all(|(key, value)| heap.map_get(map, *key) == Some(*value)));
    }
    heap.close(region);
    Ok(())
}

/// D6: Each cell is copied once, and nothing else is touched: cells are counted, not time.
#[test]
fn copies_of_objects_are_linear() -> Result<(), Full> {
    for length in [10, 100, 1_000, 10_000, 100_000] {
        let mut heap = Heap::new();
        let mut region = heap.open();
        let elements: Vec<Ref> = (0..length).map(small).collect();
        let list = heap.list(&mut region, &elements, small(0))?;
        let array = heap.array(&mut region, &vec![list; elements.len()])?;
        let entries: Vec<(Ref, Ref)> = elements.iter().map(|element| (*element, array)).collect();
        let map = heap.map_of(&mut region, &entries)?;
        let buffer = heap.buffer(&mut region, &vec![7; elements.len()])?;
        let root = heap.expression(&mut region, &[map, buffer, array, list, map, buffer])?;
        let mut to = heap.open();
        copy(&mut heap, &region, &mut to, root)?;
        let copied = heap.statistics().cells_copied;
        heap.close(to);
        heap.close(region);
        assert_eq!(heap.statistics().cells_handed_out, 2 * copied);
    }
    Ok(())
}

/// Each scan of a copy leaves its maps complete, and what an earlier one has completed stays so.
#[test]
fn maps_are_complete_scan_by_scan() -> Result<(), Full> {
    let mut heap = Heap::new();
    assert!(!heap.has_maps());
    let mut region = heap.open();
    let mut maps: Vec<Ref> = Vec::new();
    for at in 0..200 {
        let name = heap.string(&mut region, &format!("number {at}"))?;
        let mut entries = vec![(name, small(at))];
        entries.extend(maps.iter().rev().step_by(7).map(|map| (*map, name)));
        maps.push(heap.map_of(&mut region, &entries)?);
    }
    let mut to = heap.open();
    let mut copying = heap.copy(&region, Mark::START, Bound::Kept, &mut to, |foreign| foreign)?;
    let mut copies = Vec::new();
    for map in &maps {
        copies.push(copying.root(*map)?);
        copying.scan()?;
        copying.scan()?;
    }
    heap.close(region);
    let other = overwrite(&mut heap)?;
    for (at, copy) in copies.iter().enumerate() {
        assert_eq!(heap.map_get_string(*copy, &format!("number {at}")), Some(small(at as u32)));
        let (name, _) = heap.map_entries(*copy).next().expect("there is one");
        let earlier: Vec<Ref> = copies[..at].iter().rev().step_by(7).copied().collect();
        assert_eq!(heap.map_length(*copy), earlier.len() + 1);
        assert!(earlier.iter().all(|map| heap.map_get(*copy, *map) == Some(name)));
    }
    assert!(heap.has_maps());
    heap.close(other);
    heap.close(to);
    Ok(())
}

/// A map that outlived the region which gave back its index, into which something else was written since: no slot is empty.
fn map_without_an_empty_slot() -> Result<(Heap, Ref), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let before = heap.mark(&region);
    let map = heap.map(&mut region)?;
    heap.rewind(&mut region, before);
    for number in 0..64 {
        heap.number(&mut region, 0, u64::MAX - number)?;
    }
    Ok((heap, map))
}

#[test]
#[should_panic(expected = "used after its region had given it back")]
fn a_search_without_an_empty_slot_ends() {
    let (heap, map) = map_without_an_empty_slot().expect("there is no limit");
    heap.map_get(map, Ref::new(tag::IMMEDIATE_3, 7));
}

#[test]
#[should_panic(expected = "used after its region had given it back")]
fn a_removal_without_an_empty_slot_ends() {
    let (mut heap, map) = map_without_an_empty_slot().expect("there is no limit");
    heap.map_remove(map, Ref::new(tag::IMMEDIATE_3, 7));
}

/// What was given back and written over is no whole thing, and neither is what lies behind the end; what is there is.
#[test]
fn what_is_not_whole_is_found() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let elements = vec![small(1); 9_000];
    // So that the region goes on where it was.
    heap.expression(&mut region, &[])?;
    let before = heap.mark(&region);
    let made = [
        heap.map(&mut region)?,
        heap.array(&mut region, &elements[..5])?,
        heap.string(&mut region, "croak")?,
        heap.expression(&mut region, &elements)?,
    ];
    let within = Ref::new(tag::EXPRESSION, made[3].payload() + 7);
    heap.set_child(made[3], 13, small(u32::MAX >> 3));
    assert!(made.iter().all(|made| heap.is_whole(*made)) && !heap.is_whole(within));
    assert!(heap.dangling(&[&region], &[within]) == Some(within) && heap.dangling(&[&region], &made).is_none());
    heap.rewind(&mut region, before);
    heap.expression(&mut region, &vec![small(u32::MAX >> 3); 60])?;
    assert!(!heap.is_whole(made[1]) && !heap.is_whole(made[2]));
    for payload in [heap.words().len() as u32 / 2, Ref::PAYLOAD_MAX] {
        assert!((tag::NUMBER + 1..=tag::MARKED).all(|tag| !heap.is_whole(Ref::new(tag, payload))));
        assert!(!heap.is_whole(Ref::new(tag::NUMBER, payload << 1 & Ref::PAYLOAD_MAX)));
    }
    Ok(())
}
