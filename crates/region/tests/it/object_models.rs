//! Generated programs on arrays, maps and bytes, against the collections of the standard library.

use std::collections::HashMap;

use proptest::prelude::*;
use region::{Bound, Full, Heap, Mark, Ref, Region};

use crate::basics::small;
use crate::objects::isomorphic;

/// A key as the model sees it: what is compared by content has it, the rest has a number.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Key {
    Small(u32),
    Number(u32, u64),
    Text(String),
    Buffer(Vec<u8>),
    Thing(usize),
}

#[derive(Clone, Debug)]
enum Step {
    Insert(Key, u32),
    Remove(Key),
    Get(Key),
    Copy,
}

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        (0..40_u32).prop_map(Key::Small),
        (0..2_u32, 0..10_u64).prop_map(|(kind, bits)| Key::Number(kind, bits << 60 | bits)),
        "[ab\0]{0,3}([ab\0]{6})?".prop_map(Key::Text),
        prop::collection::vec(0..3_u8, 0..10).prop_map(Key::Buffer),
        (0..20_usize).prop_map(Key::Thing),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (key(), any::<u16>()).prop_map(|(key, value)| Step::Insert(key, u32::from(value))),
        4 => key().prop_map(Step::Remove),
        2 => key().prop_map(Step::Get),
        1 => Just(Step::Copy),
    ]
}

/// A map, the model of it, and what its keys without content are, over which copies are told where they went.
struct World {
    heap: Heap,
    region: Region,
    map: Ref,
    things: Vec<Ref>,
    values: HashMap<Key, u32>,
    order: Vec<Key>,
}

impl World {
    fn new() -> Result<World, Full> {
        let mut heap = Heap::new();
        let mut region = heap.open();
        let map = heap.map(&mut region)?;
        let mut things = Vec::new();
        for at in 0..5 {
            things.push(heap.expression(&mut region, &[small(at)])?);
            things.push(heap.variable(&mut region, at)?);
            things.push(heap.array(&mut region, &[map, small(at)])?);
            things.push(heap.map(&mut region)?);
        }
        Ok(World { heap, region, map, things, values: HashMap::new(), order: Vec::new() })
    }

    fn word(&mut self, key: &Key) -> Result<Ref, Full> {
        match key {
            Key::Small(value) => Ok(small(*value)),
            Key::Number(kind, bits) => self.heap.number(&mut self.region, *kind, *bits),
            Key::Text(text) => self.heap.string(&mut self.region, text),
            Key::Buffer(bytes) => self.heap.buffer(&mut self.region, bytes),
            Key::Thing(at) => Ok(self.things[*at]),
        }
    }

    fn step(&mut self, step: Step) -> Result<(), Full> {
        match step {
            Step::Insert(key, value) => {
                let word = self.word(&key)?;
                let old = self.heap.map_insert(&mut self.region, self.map, word, small(value))?;
                assert_eq!(old, self.values.insert(key.clone(), value).map(small));
                if old.is_none() {
                    self.order.push(key);
                }
            }
            Step::Remove(key) => {
                let word = self.word(&key)?;
                assert_eq!(self.heap.map_remove(self.map, word), self.values.remove(&key).map(small));
                self.order.retain(|kept| *kept != key);
            }
            Step::Get(key) => {
                let word = self.word(&key)?;
                let value = self.values.get(&key).copied().map(small);
                assert_eq!(self.heap.map_get(self.map, word), value);
                if let Key::Text(text) = key {
                    assert_eq!(self.heap.map_get_string(self.map, &text), value);
                }
            }
            Step::Copy => self.copy()?,
        }
        Ok(())
    }

    fn copy(&mut self) -> Result<(), Full> {
        let mut to = self.heap.open();
        let mut copying = self.heap.copy(&self.region, Mark::START, Bound::Kept, &mut to, |foreign| foreign)?;
        let map = copying.root(self.map)?;
        let things = self.things.iter().map(|thing| copying.root(*thing)).collect::<Result<Vec<Ref>, Full>>()?;
        copying.scan()?;
        assert!(isomorphic(&self.heap, self.map, map));
        assert_eq!(self.heap.dangling(&[&to], &[map]), None);
        self.heap.close(std::mem::replace(&mut self.region, to));
        (self.map, self.things) = (map, things);
        Ok(())
    }

    fn check(&mut self) -> Result<(), Full> {
        let entries: Vec<(Ref, Ref)> = self.heap.map_entries(self.map).collect();
        assert_eq!((entries.len(), self.heap.map_length(self.map)), (self.order.len(), self.order.len()));
        assert_eq!(self.heap.map_entries(self.map).len(), self.order.len());
        for (at, (key, value)) in entries.into_iter().enumerate() {
            let wanted = self.order[at].clone();
            assert_eq!(value, small(self.values[&wanted]));
            let same = self.word(&wanted)?;
            assert_eq!(
                (self.heap.map_get(self.map, key), self.heap.map_get(self.map, same)),
                (Some(value), Some(value))
            );
        }
        Ok(())
    }
}

#[derive(Clone, Debug)]
enum ArrayStep {
    Push(u32),
    Pop,
    Set(usize, u32),
    Copy,
}

fn array_step() -> impl Strategy<Value = ArrayStep> {
    prop_oneof![
        6 => (0..1_000_u32).prop_map(ArrayStep::Push),
        2 => Just(ArrayStep::Pop),
        2 => (0..50_usize, 0..1_000_u32).prop_map(|(at, value)| ArrayStep::Set(at, value)),
        1 => Just(ArrayStep::Copy),
    ]
}

fn run_array(room: usize, steps: Vec<ArrayStep>) -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let (mut array, mut model) = (heap.reserve_array(&mut region, room)?, Vec::new());
    assert_eq!(heap.array_room(array), room);
    for step in steps {
        match step {
            ArrayStep::Push(value) => {
                heap.array_push(&mut region, array, small(value))?;
                model.push(small(value));
            }
            ArrayStep::Pop => assert_eq!(heap.array_pop(array), model.pop()),
            ArrayStep::Set(at, value) => {
                let old = heap.array_set(array, at, small(value));
                assert_eq!(old, model.get_mut(at).map(|old| std::mem::replace(old, small(value))));
            }
            ArrayStep::Copy => {
                let mut to = heap.open();
                let mut copying = heap.copy(&region, Mark::START, Bound::Kept, &mut to, |foreign| foreign)?;
                let copy = copying.root(array)?;
                copying.scan()?;
                array = copy;
                heap.close(std::mem::replace(&mut region, to));
            }
        }
        assert_eq!((heap.array_elements(array), heap.array_length(array)), (&model[..], model.len()));
        assert_eq!((heap.array_get(array, 0), heap.array_get(array, model.len())), (model.first().copied(), None));
    }
    heap.close(region);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_map_does_what_its_model_does(steps in prop::collection::vec(step(), 1..150)) {
        let mut world = World::new().expect("there is no limit");
        for step in steps {
            world.step(step).expect("there is no limit");
            world.check().expect("there is no limit");
        }
        world.heap.close(world.region);
    }

    #[test]
    fn an_array_does_what_a_vector_does(room in 0..70_usize, steps in prop::collection::vec(array_step(), 1..100)) {
        run_array(room, steps).expect("there is no limit");
    }

    /// Bytes are written, read, compared and copied as slices of bytes are.
    #[test]
    fn bytes_do_what_slices_do(
        contents in prop::collection::vec(prop::collection::vec(0..3_u8, 0..40), 2..6),
        writes in prop::collection::vec((any::<usize>(), any::<usize>(), prop::collection::vec(0..3_u8, 0..40)), 0..6),
        reads in prop::collection::vec((0..50_usize, 0..50_usize), 1..6),
    ) {
        let (mut heap, mut contents) = (Heap::new(), contents);
        let mut region = heap.open();
        let made: Result<Vec<Ref>, Full> = contents.iter().map(|content| heap.buffer(&mut region, content)).collect();
        let made = made.expect("there is no limit");
        for (which, at, content) in writes {
            let which = which % made.len();
            let at = at % (contents[which].len() + 1);
            let content = &content[..content.len().min(contents[which].len() - at)];
            heap.write_bytes(made[which], at, content);
            contents[which][at..at + content.len()].copy_from_slice(content);
        }
        for (one, model) in made.iter().map(|made| heap.bytes(*made)).zip(&contents) {
            prop_assert_eq!(&one.to_vec(), model);
            for (other, opposite) in made.iter().map(|made| heap.bytes(*made)).zip(&contents) {
                prop_assert_eq!((one == other, one.cmp(&other)), (model == opposite, model.cmp(opposite)));
                prop_assert_eq!(one == opposite[..], model == opposite);
            }
            for &(from, count) in &reads {
                let (mut to, mut expected) = ([9; 50], [9; 50]);
                let part = model.get(from..).unwrap_or_default();
                let part = &part[..part.len().min(count)];
                expected[..part.len()].copy_from_slice(part);
                prop_assert_eq!((one.copy_to(from, &mut to[..count]), to), (part.len(), expected));
            }
        }
        heap.close(region);
    }

    /// D10, D11: what is made as a whole is what is made one by one, at every place of a chunk and up to every limit.
    #[test]
    fn batches_equal_one_by_one(
        ahead in 0..64_usize, limit in 1..40_usize, length in 0..400_u32, room in any::<bool>(),
    ) {
        let mut heap = Heap::with_limit(limit * 512);
        let (mut region, mut other) = (heap.open(), heap.open());
        let elements: Vec<Ref> = (0..length).map(small).collect();
        if heap.reserve(&mut region, ahead * 2).is_ok() {
            let mark = heap.mark(&region);
            let whole = heap.list(&mut region, &elements, small(1));
            let lived = heap.statistics().bytes_live;
            if whole.is_err() {
                prop_assert_eq!(heap.mark(&region), mark);
            }
            heap.rewind(&mut region, mark);
            let one_by_one = elements.iter().rev().try_fold(small(1), |rest, element| heap.expression(&mut region, &[*element, rest]));
            prop_assert_eq!(whole.is_ok(), one_by_one.is_ok());
            prop_assert!(whole.is_err() || lived == heap.statistics().bytes_live);
        }
        heap.set_limit(None);
        let entries: Vec<(Ref, Ref)> = elements.iter().map(|element| (small(element.payload() / 2), *element)).collect();
        let map = heap.map_of(&mut other, &entries).expect("there is no limit");
        let array = heap.array(&mut other, &elements).expect("there is no limit");
        let room = if room { entries.len() } else { 0 };
        let (map_by_one, array_by_one) = (heap.reserve_map(&mut other, room), heap.reserve_array(&mut other, room));
        let (map_by_one, array_by_one) = (map_by_one.expect("no limit"), array_by_one.expect("no limit"));
        for ((key, value), element) in entries.iter().zip(&elements) {
            heap.map_insert(&mut other, map_by_one, *key, *value).expect("there is no limit");
            heap.array_push(&mut other, array_by_one, *element).expect("there is no limit");
        }
        prop_assert!(isomorphic(&heap, map, map_by_one) && isomorphic(&heap, array, array_by_one));
        heap.close(region);
        heap.close(other);
    }
}
