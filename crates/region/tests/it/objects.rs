//! Strings, buffers, arrays and maps, and what is made as a whole: by example, and against the collections of the standard
//! library. A copy is compared by walking over both sides at once.

use std::collections::HashMap;

use region::{BYTES_MAX, Bound, ENTRIES_MAX, Full, Heap, LENGTH_MAX, Limit, Mark, Object, Ref, Region};

use crate::basics::small;
use crate::defects::{escape, overwrite};

/// Whether two graphs are the same but for where they lie: strings, numbers and immediates are equal, what is one thing here
/// is one thing there.
pub(crate) fn isomorphic(heap: &Heap, one: Ref, other: Ref) -> bool {
    let (mut there, mut back) = (HashMap::new(), HashMap::new());
    let mut open = vec![(one, other)];
    while let Some((one, other)) = open.pop() {
        if one.tag() != other.tag() {
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
    assert_eq!(heap.stray(&[to], &[copy]), None, "nothing of a copy lies elsewhere");
    Ok(copy)
}

/// An earlier region memory took the first zero of a string for its end.
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

/// A heap where so many free chunks lie among as many in use, and which can have no more.
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

/// A list made as a whole had one element, and a tree one node.
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
                    // There is no place for so many words in a row.
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
