//! Every width against what is done word by word.

use super::*;
use proptest::prelude::*;

/// A child: which kind of thing, and which of them.
type Child = (u8, usize);

/// Expressions with these children, in turn with those of another region. After so many of them a region is joined behind
/// what there was. Behind the last one lies what was given back.
#[derive(Clone, Debug)]
struct Made {
    children: Vec<Vec<Child>>,
    joined_after: usize,
    /// Bits in place of a child.
    garbage: Option<(usize, u32)>,
}

fn made() -> impl Strategy<Value = Made> {
    let children = prop::collection::vec((0_u8..20, any::<usize>()), 0..7);
    let garbage = prop_oneof![
        3 => Just(None),
        1 => (any::<usize>(), 0_u32..20_000).prop_map(Some),
        1 => (any::<usize>(), any::<u32>()).prop_map(Some),
    ];
    (prop::collection::vec(children, 1..500), 1_usize..400, garbage)
        .prop_map(|(children, joined_after, garbage)| Made { children, joined_after, garbage })
}

/// What was made of each kind.
#[derive(Default)]
struct Things {
    expressions: Vec<Ref>,
    variables: Vec<Ref>,
    numbers: Vec<Ref>,
}

impl Things {
    fn one_of(among: &[Ref], pick: usize) -> Option<Ref> {
        (!among.is_empty()).then(|| among[pick % among.len()])
    }

    fn pick(&self, (kind, pick): Child) -> Ref {
        let near = &self.expressions[self.expressions.len().saturating_sub(9)..];
        let far = &self.expressions[..self.expressions.len().min(40)];
        let found = match kind {
            0..=6 => Things::one_of(near, pick),
            7..=11 => Things::one_of(far, pick),
            12..=13 => Things::one_of(&self.expressions, pick),
            14 => Things::one_of(&self.expressions, pick).map(Ref::marked),
            15 => Things::one_of(&self.variables, pick),
            16 => Things::one_of(&self.numbers, pick),
            _ => None,
        };
        found.unwrap_or(Ref::new(u32::from(kind) % 4, pick as u32 % 1_000))
    }
}

impl Made {
    fn make(&self, heap: &mut Heap) -> Result<(Region, Ref), Full> {
        let (mut region, mut part, mut beside) = (heap.open(), heap.open(), heap.open());
        let mut things = Things::default();
        for (at, children) in self.children.iter().enumerate() {
            heap.expression(&mut beside, &[Ref::from_bits(0); 3])?;
            let children: Vec<Ref> = children.iter().map(|child| things.pick(*child)).collect();
            let expression = heap.expression(&mut part, &children)?;
            if at % 7 == 0 {
                things.variables.push(heap.variable(&mut part, at as u32)?);
                heap.bind(things.variables[at / 7], expression);
                things.numbers.push(heap.number(&mut part, 1, at as u64)?);
            }
            things.expressions.push(expression);
            if at % self.joined_after == 0 {
                heap.splice(std::mem::replace(&mut part, Region::EMPTY), &mut region).expect("there is no limit");
            }
        }
        let last = things.expressions[things.expressions.len() - 1];
        self.litter(heap, &mut part, &things)?;
        heap.splice(part, &mut region).expect("there is no limit");
        Ok((region, last))
    }

    /// Puts garbage in place of a child, and leaves some behind the end.
    fn litter(&self, heap: &mut Heap, part: &mut Region, things: &Things) -> Result<(), Full> {
        if let Some((pick, bits)) = self.garbage {
            let expression = things.expressions[pick % things.expressions.len()];
            let length = heap.length(expression);
            if length > 0 {
                heap.set_child(expression, pick / 7 % length, Ref::from_bits(bits));
            }
        }
        let mark = heap.mark(part);
        heap.expression(part, &[Ref::new(tag::EXPRESSION, 1 << 28); 50])?;
        heap.rewind(part, mark);
        Ok(())
    }
}

/// The words of a region that are references, and those that are not, in order.
fn words(heap: &Heap, region: &Region) -> (Vec<Ref>, Vec<Ref>) {
    let (mut references, mut others) = (Vec::new(), Vec::new());
    for (kind, lane) in Kind::ALL.into_iter().zip(region.lanes()) {
        for (start, end) in heap.chunks.extents(&lane, Place::START) {
            for cell in heap.words[word_of(start)..word_of(end)].as_chunks::<2>().0 {
                match kind {
                    Kind::Expressions => references.extend(cell),
                    Kind::Variables => (references.push(cell[0]), others.push(cell[1])).1,
                    Kind::Numbers => others.extend(cell),
                }
            }
        }
    }
    (references, others)
}

/// What becomes of each reference of a region by itself, when it goes to another one.
fn one_by_one(heap: &Heap, region: &Region, to: &Region) -> Option<Vec<Ref>> {
    let mut moves = Moves::new(Width::widest(), heap, region, to);
    words(heap, region).0.into_iter().map(|word| moves.reference(word)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_width_does_what_is_done_word_by_word(made in made()) {
        let mut heap = Heap::new();
        let (region, last) = made.make(&mut heap).expect("there is room");
        let is_whole = one_by_one(&heap, &region, &region).is_some();
        for width in Width::all() {
            let mut other = Heap::new();
            let (mut far, mut root) = (other.open(), [last]);
            let report = heap.relocate_by(width, &mut root, &region, &mut other, &mut far, |met| met).expect("there is room");
            prop_assert_eq!(report.is_some(), is_whole, "{:?}", width);
            if report.is_none() {
                prop_assert_eq!((root, other.chunks.live_count()), ([last], 0), "{:?}", width);
                continue;
            }
            let (references, others) = words(&other, &far);
            prop_assert_eq!(Some(references), one_by_one(&heap, &region, &far), "{:?}", width);
            prop_assert_eq!(others, words(&heap, &region).1, "{:?}", width);
            prop_assert_eq!(other.children(root[0]).len(), heap.children(last).len());
        }
    }
}

#[test]
fn five_bits_are_many() {
    for bits in [0, 1, 3, 7, 0x8000_0011, 15, 31, 0x1f << 59, 0x8001_0101_0001, u64::MAX, u64::MAX << 60] {
        assert_eq!(are_many(bits), bits.count_ones() >= MANY, "{bits:x}");
    }
}

#[test]
fn numbers_that_cannot_be_addressed_stay_where_they_are() -> Result<(), Full> {
    let (mut heap, mut other) = (Heap::new(), Heap::new());
    let (mut region, mut far) = (heap.open(), other.open());
    for _ in 0..=3 * CHUNK_CELLS {
        heap.number(&mut region, 0, 7)?;
    }
    for (limit, is_there) in [(3, false), (4, true)] {
        other.chunks.number_limit = limit;
        let moved = heap.relocate_to(&mut [], &region, &mut other, &mut far, |met| met);
        assert_eq!(moved.map_err(|full| full.limit()).is_ok(), is_there);
        assert_eq!(other.chunks.live_count(), if is_there { 4 } else { 0 });
    }
    heap.close(region);
    other.close(far);
    Ok(())
}
