//! Generated programs on three heaps against the obvious model: expressions, variables, numbers, bytes, arrays and maps in one
//! graph, which go from region to region and from heap to heap by every way, under limits.
//!
//! 1. A program makes things in six regions, two a heap, changes them, marks, rewinds, sets limits, and lets things go.
//! 2. The model does the same with nodes in a vector. Where a limit refuses, the model does nothing: nothing may have changed.
//! 3. After each step everything that lives is compared, and so are the counts: cells handed out and copied, refusals, bytes.

use std::collections::HashMap;

use proptest::prelude::*;
use region::{Bound, EscapePath, EscapeReport, FreezeError, Full, Heap, Mark, Ref, Region, tag};

use crate::basics::small;

const HEAPS: usize = 3;
const REGIONS: usize = 2 * HEAPS;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Value {
    Immediate(Ref),
    Node(usize),
}

#[derive(Clone, Debug)]
enum Content {
    Expression(Vec<Value>),
    Variable(u32, Option<Value>),
    Number(u32, u64),
    Text(String),
    Buffer(Vec<u8>),
    Array(Vec<Value>),
    /// Entries in their order, how many were written to the table, and how many fit.
    Map(Vec<(Value, Value)>, usize, usize),
}

#[derive(Clone, Debug)]
struct Node {
    region: usize,
    content: Content,
    reference: Ref,
    lives: bool,
    /// When it was made, or came to its region.
    born: usize,
    /// When it was given more room, which is lost if that is rewound.
    grown: usize,
}

/// What is to be made: a number that chooses the kind, one for its size, and one for what is in it.
type Thing = (usize, usize, usize);

/// Numbers choose among what there is, modulo how much that is.
#[derive(Clone, Debug)]
enum Step {
    Make { at: usize, things: Vec<Thing> },
    Change { pick: usize, how: usize, value: usize },
    Mark(usize),
    Rewind(usize, usize),
    Limit(usize, Option<usize>),
    Quota(usize, Option<usize>),
    Go { from: usize, to: usize, how: usize, roots: Vec<usize> },
}

fn step() -> impl Strategy<Value = Step> {
    let (at, pick) = (0..REGIONS, any::<usize>());
    let size = prop_oneof![
        12 => 0..9_usize,
        3 => prop::sample::select(vec![62, 63, 64, 65, 126, 127, 128, 254, 255, 511, 1_000]),
        1 => prop::sample::select(vec![8_190, 8_191, 8_192, 10_000]),
    ];
    let limit = prop_oneof![2 => Just(None), 1 => (0..120_usize).prop_map(Some)];
    prop_oneof![
        8 => (at.clone(), prop::collection::vec((pick, size, pick), 1..12)).prop_map(|(at, things)| Step::Make { at, things }),
        10 => (pick, pick, pick).prop_map(|(pick, how, value)| Step::Change { pick, how, value }),
        2 => at.clone().prop_map(Step::Mark),
        1 => (at.clone(), pick).prop_map(|(at, mark)| Step::Rewind(at, mark)),
        1 => (0..HEAPS, limit.clone()).prop_map(|(heap, chunks)| Step::Limit(heap, chunks)),
        1 => (at.clone(), limit).prop_map(|(at, chunks)| Step::Quota(at, chunks)),
        8 => (at, 1..REGIONS, pick, prop::collection::vec(pick, 1..4))
            .prop_map(|(from, to, how, roots)| Step::Go { from, to: (from + to) % REGIONS, how, roots }),
    ]
}

/// What a heap has counted that a step may change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Counts {
    given: u64,
    copied: u64,
    failures: u64,
}

struct World {
    heaps: Vec<Heap>,
    regions: Vec<Region>,
    marks: Vec<Vec<(Mark, usize)>>,
    nodes: Vec<Node>,
    now: usize,
}

fn foreign(shift: u32) -> impl FnMut(Ref) -> Ref + Copy {
    move |met| Ref::new(met.tag(), met.payload() + shift)
}

/// The cells of an expression and its prefix.
fn cells(length: usize) -> u64 {
    length as u64 / 2 + 1 + u64::from(length > 8_190)
}

impl World {
    fn new() -> World {
        let mut heaps: Vec<Heap> = (0..HEAPS).map(|_| Heap::new()).collect();
        let regions = (0..REGIONS).map(|at| heaps[at / 2].open()).collect();
        World { heaps, regions, marks: vec![vec![(Mark::START, 0)]; REGIONS], nodes: Vec::new(), now: 1 }
    }

    fn living(&self, is_wanted: impl Fn(&Node) -> bool) -> Vec<usize> {
        (0..self.nodes.len()).filter(|node| self.nodes[*node].lives && is_wanted(&self.nodes[*node])).collect()
    }

    /// Something that may be referred to in a heap.
    fn value(&self, heap: usize, pick: usize) -> Value {
        let living = self.living(|node| node.region / 2 == heap);
        if pick.is_multiple_of(4) || living.is_empty() {
            return Value::Immediate(Ref::new((pick / 4 % 4) as u32, (pick / 16 % 100) as u32));
        }
        Value::Node(living[pick / 4 % living.len()])
    }

    fn word(&self, value: Value) -> Ref {
        match value {
            Value::Immediate(word) => word,
            Value::Node(node) => self.nodes[node].reference,
        }
    }

    fn walk(&self, mut value: Value) -> Value {
        while let Value::Node(node) = value
            && let Content::Variable(_, Some(next)) = self.nodes[node].content
        {
            value = next;
        }
        value
    }

    fn counts(&self, heap: usize) -> Counts {
        let statistics = self.heaps[heap].statistics();
        let open = &self.regions[2 * heap..2 * heap + 2];
        Counts {
            given: statistics.cells_handed_out
                - open.iter().map(|region| self.heaps[heap].cells_ahead(region)).sum::<u64>(),
            copied: statistics.cells_copied,
            failures: statistics.limit_failures,
        }
    }

    /// The cells of what is like this node, and lies here.
    fn size(&self, node: usize, heap: usize, reference: Ref) -> u64 {
        match &self.nodes[node].content {
            Content::Expression(children) => cells(children.len()),
            Content::Variable(..) | Content::Number(..) => 1,
            Content::Text(text) => 2 + text.len().div_ceil(8).max(1) as u64,
            Content::Buffer(bytes) => 2 + bytes.len().div_ceil(8).max(1) as u64,
            Content::Array(_) => 2 + cells(self.heaps[heap].array_room(reference)),
            Content::Map(_, _, room) => 3 + cells(2 * room + 2) + *room as u64,
        }
    }

    fn push(&mut self, region: usize, content: Content, reference: Ref) -> u64 {
        self.nodes.push(Node { region, content, reference, lives: true, born: self.now, grown: 0 });
        self.size(self.nodes.len() - 1, region / 2, reference)
    }

    fn content(&self, heap: usize, (kind, size, pick): Thing) -> Content {
        let values = |count: usize| (0..count).map(|at| self.value(heap, pick / (at + 1))).collect::<Vec<Value>>();
        match kind % 8 {
            0 | 1 => Content::Expression(values(size)),
            2 => Content::Variable(pick as u32, None),
            3 => Content::Number((pick % 2) as u32, pick as u64 >> 60),
            4 => Content::Text("a\0b".chars().cycle().skip(pick % 3).take(size).collect()),
            5 => Content::Buffer(vec![pick as u8; size]),
            6 => Content::Array(values(size)),
            _ => Content::Map(Vec::new(), 0, size.next_power_of_two().max(4)),
        }
    }

    fn make_one(&mut self, at: usize, thing: Thing) {
        let (content, before) = (self.content(at / 2, thing), self.counts(at / 2));
        let words =
            |world: &World, values: &[Value]| values.iter().map(|value| world.word(*value)).collect::<Vec<Ref>>();
        let mark = self.heaps[at / 2].mark(&self.regions[at]);
        let (heap, made) = match &content {
            Content::Expression(children) | Content::Array(children) => {
                let words = words(self, children);
                let (heap, region) = (&mut self.heaps[at / 2], &mut self.regions[at]);
                let is_array = matches!(content, Content::Array(_));
                let made = if is_array { heap.array(region, &words) } else { heap.expression(region, &words) };
                (heap, made)
            }
            content => {
                let (heap, region) = (&mut self.heaps[at / 2], &mut self.regions[at]);
                let made = match content {
                    Content::Variable(label, _) => heap.variable(region, *label),
                    Content::Number(kind, bits) => heap.number(region, *kind, *bits),
                    Content::Text(text) => heap.string(region, text),
                    Content::Buffer(bytes) => heap.buffer(region, bytes),
                    Content::Map(_, _, room) => heap.reserve_map(region, *room),
                    Content::Expression(_) | Content::Array(_) => unreachable!("made above"),
                };
                (heap, made)
            }
        };
        match made {
            Ok(made) => {
                let cells = self.push(at, content, made);
                assert_eq!(self.counts(at / 2), Counts { given: before.given + cells, ..before });
            }
            Err(_) => {
                assert_eq!(heap.mark(&self.regions[at]), mark);
                assert_eq!(self.counts(at / 2), Counts { failures: before.failures + 1, ..before });
            }
        }
    }

    fn change(&mut self, pick: usize, how: usize, value: usize) {
        let living = self.living(|_| true);
        if living.is_empty() {
            return;
        }
        let node = living[pick % living.len()];
        let (heap, reference) = (self.nodes[node].region / 2, self.nodes[node].reference);
        let value = self.value(heap, value);
        let word = self.word(value);
        let mut content = self.nodes[node].content.clone();
        match &mut content {
            Content::Expression(children) if !children.is_empty() => {
                let at = how % children.len();
                children[at] = value;
                self.heaps[heap].set_child(reference, at, word);
            }
            Content::Variable(_, binding) => {
                *binding = None;
                self.nodes[node].content = content.clone();
                self.heaps[heap].unbind(reference);
                if self.walk(value) != Value::Node(node) {
                    self.heaps[heap].bind(reference, word);
                    let Content::Variable(label, _) = content else { unreachable!("it is one") };
                    content = Content::Variable(label, Some(value));
                }
            }
            Content::Buffer(bytes) => {
                let at = how % (bytes.len() + 1);
                let written = vec![how as u8; (bytes.len() - at).min(7)];
                bytes[at..at + written.len()].copy_from_slice(&written);
                self.heaps[heap].write_bytes(reference, at, &written);
            }
            Content::Array(elements) => self.change_array(node, elements, how, value),
            Content::Map(entries, used, room) => self.change_map(node, entries, (used, room), how, value),
            _ => {}
        }
        self.nodes[node].content = content;
    }

    fn change_array(&mut self, node: usize, elements: &mut Vec<Value>, how: usize, value: Value) {
        let (at, array, word) = (self.nodes[node].region, self.nodes[node].reference, self.word(value));
        let (heap, region) = (&mut self.heaps[at / 2], &mut self.regions[at]);
        match how % 8 {
            0 => assert_eq!(heap.array_pop(array).is_some(), elements.pop().is_some()),
            1 if !elements.is_empty() => {
                let position = how / 8 % elements.len();
                heap.array_set(array, position, word);
                elements[position] = value;
            }
            _ => {
                for _ in 0..how / 8 % 40 {
                    let mark = heap.mark(region);
                    let pushed = heap.array_push(region, array, word);
                    if heap.mark(region) != mark {
                        self.nodes[node].grown = self.now;
                    }
                    match pushed {
                        Ok(()) => elements.push(value),
                        Err(_) => assert_eq!(heap.mark(region), mark),
                    }
                }
            }
        }
    }

    /// Inserts a key, or removes one. Numbers and texts are the same key if they are equal.
    fn change_map(
        &mut self,
        node: usize,
        entries: &mut Vec<(Value, Value)>,
        (used, room): (&mut usize, &mut usize),
        how: usize,
        value: Value,
    ) {
        let (at, map) = (self.nodes[node].region, self.nodes[node].reference);
        let key = self.value(at / 2, how / 3);
        if matches!(key, Value::Node(key) if matches!(self.nodes[key].content, Content::Buffer(_))) {
            // A buffer that is a key must not be changed.
            return;
        }
        let found = entries.iter().position(|entry| self.is_same_key(entry.0, key));
        let (key_word, word) = (self.word(key), self.word(value));
        let old = found.map(|found| self.word(entries[found].1));
        let (heap, region) = (&mut self.heaps[at / 2], &mut self.regions[at]);
        if how.is_multiple_of(3) {
            assert_eq!(heap.map_remove(map, key_word), old);
            found.map(|found| entries.remove(found));
            return;
        }
        let mark = heap.mark(region);
        let inserted = heap.map_insert(region, map, key_word, word);
        if heap.mark(region) != mark {
            self.nodes[node].grown = self.now;
        }
        match (inserted, found) {
            (Err(_), _) => assert_eq!((heap.mark(region), found), (mark, None)),
            (Ok(replaced), Some(found)) => {
                assert_eq!(replaced, old);
                entries[found].1 = value;
            }
            (Ok(replaced), None) => {
                assert_eq!(replaced, None);
                if *used == *room {
                    *room *= if entries.len() > *room / 2 { 2 } else { 1 };
                    *used = entries.len();
                }
                *used += 1;
                entries.push((key, value));
            }
        }
    }

    fn is_same_key(&self, one: Value, other: Value) -> bool {
        let (Value::Node(a), Value::Node(b)) = (one, other) else { return one == other };
        match (&self.nodes[a].content, &self.nodes[b].content) {
            (Content::Number(kind, bits), Content::Number(other, others)) => (kind, bits) == (other, others),
            (Content::Text(one), Content::Text(other)) => one == other,
            _ => one == other,
        }
    }

    /// Ends nodes, and what refers to them, as an owner does before memory is given back.
    fn forget(&mut self, is_doomed: impl Fn(&Node) -> bool) {
        self.nodes.iter_mut().for_each(|node| node.lives &= !is_doomed(node));
        let zero = Value::Immediate(small(0));
        for at in self.living(|_| true) {
            let (reference, mut content) = (self.nodes[at].reference, self.nodes[at].content.clone());
            let is_gone = |value: Value| matches!(value, Value::Node(node) if !self.nodes[node].lives);
            let heap = &mut self.heaps[self.nodes[at].region / 2];
            match &mut content {
                Content::Expression(values) | Content::Array(values) => {
                    let is_array = heap.object(reference) == region::Object::Array;
                    for (index, value) in values.iter_mut().enumerate().filter(|(_, value)| is_gone(**value)) {
                        *value = zero;
                        if is_array {
                            heap.array_set(reference, index, small(0));
                        } else {
                            heap.set_child(reference, index, small(0));
                        }
                    }
                }
                Content::Variable(_, binding) if binding.is_some_and(is_gone) => {
                    *binding = None;
                    heap.unbind(reference);
                }
                Content::Map(entries, _, _) => {
                    let word = |value: Value| match value {
                        Value::Immediate(word) => word,
                        Value::Node(node) => self.nodes[node].reference,
                    };
                    for (key, value) in entries.iter_mut().filter(|(_, value)| is_gone(*value)) {
                        *value = zero;
                        let region = &mut self.regions[self.nodes[at].region];
                        heap.map_insert(region, reference, word(*key), small(0)).expect("the key is there");
                    }
                    entries.retain(|(key, _)| {
                        if is_gone(*key) {
                            assert!(heap.map_remove(reference, word(*key)).is_some());
                        }
                        !is_gone(*key)
                    });
                }
                _ => {}
            }
            self.nodes[at].content = content;
        }
    }

    fn step(&mut self, step: Step) {
        self.now += 1;
        match step {
            Step::Make { at, things } => things.into_iter().for_each(|thing| self.make_one(at, thing)),
            Step::Change { pick, how, value } => self.change(pick, how, value),
            Step::Mark(at) => {
                let mark = self.heaps[at / 2].mark(&self.regions[at]);
                self.marks[at].push((mark, self.now));
            }
            Step::Rewind(at, mark) => {
                let which = mark % self.marks[at].len();
                let (mark, since) = self.marks[at][which];
                let before = self.counts(at / 2);
                self.forget(|node| node.region == at && node.born.max(node.grown) >= since);
                self.heaps[at / 2].rewind(&mut self.regions[at], mark);
                self.marks[at].truncate(which + 1);
                assert_eq!(self.counts(at / 2), before);
            }
            Step::Limit(heap, chunks) => self.heaps[heap].set_limit(chunks.map(|chunks| chunks * 512)),
            Step::Quota(at, chunks) => self.regions[at].set_limit(chunks.map(|chunks| chunks * 512)),
            Step::Go { from, to, how, roots } => {
                let values: Vec<Value> = roots.iter().map(|root| self.value(from / 2, *root)).collect();
                if from / 2 == to / 2 {
                    self.go_within(from, to, how, &values)
                } else {
                    self.go(from, to, how, &values)
                }
            }
        }
    }

    /// What leaves for the other region of its heap.
    fn go_within(&mut self, from: usize, to: usize, how: usize, values: &[Value]) {
        let mut words: Vec<Ref> = values.iter().map(|value| self.word(*value)).collect();
        let (before, mark) = (self.counts(to / 2), self.heaps[to / 2].mark(&self.regions[to]));
        let (since, age) = self.marks[from][how / 8 % self.marks[from].len()];
        let heap = &mut self.heaps[from / 2];
        let (mut left, mut shift, mut since_when) = (None, 0, 0);
        let result: Result<Option<EscapeReport>, Full> = match how % 4 {
            0 | 1 => {
                let closing = std::mem::replace(&mut self.regions[from], heap.open());
                let target = &mut self.regions[to];
                let moved = match how % 4 {
                    0 => heap.splice(closing, target).map(|()| None),
                    _ => heap.transmigrate(&mut words, closing, target).map(Some),
                };
                left = Some(moved.is_ok());
                moved.map_err(|refused| {
                    self.regions[from] = refused.region;
                    refused.full
                })
            }
            2 => {
                let [source, target] = self.regions.get_disjoint_mut([from, to]).expect("two regions");
                heap.copy_within(&mut words, source, target).map(Some)
            }
            _ => {
                (shift, since_when) = (1, age);
                let [source, target] = self.regions.get_disjoint_mut([from, to]).expect("two regions");
                heap.copy(source, since, Bound::Kept, target, foreign(1)).and_then(|mut copying| {
                    let copies = words.iter().map(|word| copying.root(*word)).collect::<Result<Vec<Ref>, Full>>()?;
                    copying.scan()?;
                    words = copies;
                    Ok(None)
                })
            }
        };
        let after = self.counts(to / 2);
        let Ok(report) = result else {
            assert_eq!(self.heaps[to / 2].mark(&self.regions[to]), mark);
            return assert_eq!(after.failures, before.failures + 1);
        };
        assert_eq!(after.failures, before.failures);
        if left == Some(true) && report.is_none_or(|report| report.path == EscapePath::Spliced) {
            let vain = report.map_or(0, |report| report.cells_in_vain);
            assert_eq!((after.given, after.copied), (before.given + vain, before.copied + vain));
            self.nodes.iter_mut().filter(|node| node.region == from).for_each(|node| {
                (node.region, node.born) = (to, self.now);
            });
            self.marks[from].truncate(1);
            return;
        }
        let is_copied = |node: &Node| node.region == from && node.born >= since_when;
        let cells = self.adopt(values, &words, to, shift, is_copied);
        let all = report.map_or(cells, |report| report.cells + report.cells_in_vain);
        assert_eq!(report.map_or(cells, |report| report.cells), cells, "each cell is copied once");
        assert_eq!((after.given, after.copied), (before.given + all, before.copied + all));
        if left == Some(true) {
            self.leave(from);
        }
    }

    /// The rest of a region is closed.
    fn leave(&mut self, from: usize) {
        let now = self.now;
        self.forget(|node| node.region == from && node.born < now);
        self.marks[from].truncate(1);
    }

    /// What leaves for a region of another heap.
    fn go(&mut self, from: usize, to: usize, how: usize, values: &[Value]) {
        let mut words: Vec<Ref> = values.iter().map(|value| self.word(*value)).collect();
        let stood = words.clone();
        let (before, mark) = (self.counts(to / 2), self.heaps[to / 2].mark(&self.regions[to]));
        let mut left = false;
        let [heap, other] = self.heaps.get_disjoint_mut([from / 2, to / 2]).expect("two heaps");
        let result: Result<Option<EscapeReport>, Full> = match how % 3 {
            way @ (0 | 1) => {
                let [source, target] = self.regions.get_disjoint_mut([from, to]).expect("two regions");
                let moved = heap.copy_to(&mut words, source, other, target, foreign(1));
                if way == 0 && moved.is_ok() {
                    let fresh = heap.open();
                    heap.close(std::mem::replace(source, fresh));
                    left = true;
                }
                moved.map(Some)
            }
            _ => {
                let frozen = match heap.freeze(&self.regions[from], &words, Bound::Kept, foreign(1)) {
                    Ok(frozen) => frozen,
                    Err(FreezeError::Full(_)) => return,
                    Err(refused) => {
                        assert!(matches!(refused, FreezeError::Dangling(_)));
                        return assert!(!self.reached(values).iter().all(|node| self.nodes[*node].region == from));
                    }
                };
                frozen.thaw(other, &mut self.regions[to], foreign(0)).map(|thawed| {
                    words = thawed;
                    None
                })
            }
        };
        let after = self.counts(to / 2);
        let Ok(report) = result else {
            assert_eq!((self.heaps[to / 2].mark(&self.regions[to]), words), (mark, stood));
            return assert_eq!(after.failures, before.failures + 1);
        };
        assert_eq!(after.failures, before.failures);
        let cells = self.adopt(values, &words, to, 1, |_| true);
        match report {
            Some(report) => {
                let all = report.cells + report.cells_in_vain;
                assert_eq!((report.cells, after.given), (cells, before.given + all));
                assert_eq!(after.copied, before.copied + all);
            }
            // What is frozen has cells that nothing lies in at the ends of chunks.
            None => assert!(after.given >= before.given + cells && after.copied == before.copied),
        }
        if left {
            self.leave(from);
        }
    }

    /// The nodes that values lead to.
    fn reached(&self, values: &[Value]) -> Vec<usize> {
        let (mut reached, mut open) = (Vec::new(), values.to_vec());
        while let Some(value) = open.pop() {
            let Value::Node(node) = value else { continue };
            if !reached.contains(&node) {
                reached.push(node);
                open.extend(parts(&self.nodes[node].content));
            }
        }
        reached
    }

    /// Makes nodes of copies, which are found by a walk over both sides. Gives the cells that they take.
    fn adopt(
        &mut self,
        values: &[Value],
        copies: &[Ref],
        to: usize,
        shift: u32,
        is_copied: impl Fn(&Node) -> bool,
    ) -> u64 {
        let (mut copied, mut taken) = (HashMap::new(), HashMap::new());
        let mut open: Vec<(Value, Ref)> = values.iter().copied().zip(copies.iter().copied()).collect();
        while let Some((value, copy)) = open.pop() {
            let Value::Node(node) = value else { continue };
            if !is_copied(&self.nodes[node]) {
                assert_eq!(copy, self.nodes[node].reference, "what is not copied is shared");
                continue;
            }
            assert_eq!(*taken.entry(copy).or_insert(node), node, "what was apart is apart");
            if let Some(known) = copied.insert(node, copy) {
                assert_eq!(known, copy, "what was shared is shared");
                continue;
            }
            let (parts, words) = (parts(&self.nodes[node].content), self.parts_of(node, to / 2, copy));
            assert_eq!(parts.len(), words.len());
            open.extend(parts.into_iter().zip(words));
        }
        let mut old: Vec<usize> = copied.keys().copied().collect();
        old.sort_unstable();
        let first = self.nodes.len();
        let renumbered = |value: Value| match value {
            Value::Immediate(word) if word.tag() == tag::IMMEDIATE_3 => Value::Immediate(foreign(shift)(word)),
            Value::Node(node) => match old.binary_search(&node) {
                Ok(at) => Value::Node(first + at),
                Err(_) => value,
            },
            immediate => immediate,
        };
        let all = |values: Vec<Value>| values.into_iter().map(renumbered).collect();
        let mut cells = 0;
        for node in &old {
            let content = match self.nodes[*node].content.clone() {
                Content::Expression(children) => Content::Expression(all(children)),
                Content::Array(elements) => Content::Array(all(elements)),
                Content::Variable(label, binding) => Content::Variable(label, binding.map(renumbered)),
                Content::Map(entries, used, room) => {
                    let entries = entries.into_iter().map(|(key, value)| (renumbered(key), renumbered(value)));
                    Content::Map(entries.collect(), used, room)
                }
                other => other,
            };
            cells += self.push(to, content, copied[node]);
        }
        cells
    }

    /// What the copy of a node refers to.
    fn parts_of(&self, node: usize, heap: usize, copy: Ref) -> Vec<Ref> {
        let heap = &self.heaps[heap];
        match self.nodes[node].content {
            Content::Expression(_) => heap.children(copy).to_vec(),
            Content::Array(_) => heap.array_elements(copy).to_vec(),
            Content::Variable(..) => heap.binding(copy).into_iter().collect(),
            Content::Map(..) => heap.map_entries(copy).flat_map(|(key, value)| [key, value]).collect(),
            _ => Vec::new(),
        }
    }

    /// Everything that lives is in its heap as it is in the model.
    fn check(&self) {
        for at in self.living(|_| true) {
            let Node { region, content, reference, .. } = &self.nodes[at];
            let (heap, reference) = (&self.heaps[region / 2], *reference);
            let words = |values: &[Value]| values.iter().map(|value| self.word(*value)).collect::<Vec<Ref>>();
            match content {
                Content::Expression(children) => assert_eq!(heap.children(reference), words(children)),
                Content::Array(elements) => assert_eq!(heap.array_elements(reference), words(elements)),
                Content::Variable(label, binding) => {
                    let binding = binding.map(|value| self.word(value));
                    assert_eq!((heap.label(reference), heap.binding(reference)), (*label, binding));
                }
                Content::Number(kind, bits) => {
                    assert_eq!((reference.payload() & 1, heap.number_bits(reference)), (*kind, *bits));
                }
                Content::Text(text) => assert_eq!(heap.bytes(reference).to_text().as_ref(), Some(text)),
                Content::Buffer(bytes) => assert_eq!(&heap.bytes(reference).to_vec(), bytes),
                Content::Map(entries, _, _) => {
                    let wanted = entries.iter().map(|(key, value)| (self.word(*key), self.word(*value)));
                    assert!(heap.map_entries(reference).eq(wanted.clone()), "in the order of insertion");
                    assert!(wanted.into_iter().all(|(key, value)| heap.map_get(reference, key) == Some(value)));
                    assert_eq!(heap.map_get(reference, small(5_000)), None);
                }
            }
            assert!(heap.holds(&self.regions[*region], reference) && !heap.holds(&self.regions[region ^ 1], reference));
        }
        for (at, heap) in self.heaps.iter().enumerate() {
            let [one, other] = [&self.regions[2 * at], &self.regions[2 * at + 1]];
            let words: Vec<Ref> =
                self.living(|node| node.region / 2 == at).iter().map(|node| self.nodes[*node].reference).collect();
            assert_eq!(heap.dangling(&[one, other], &words), None);
            assert_eq!(heap.bytes_of(one) + heap.bytes_of(other), heap.bytes_live());
            let statistics = heap.statistics();
            assert_eq!(statistics.bytes_live, (statistics.chunks - statistics.chunks_free) * 512);
            assert!(statistics.bytes_live_peak >= statistics.bytes_live);
        }
    }
}

/// What a node refers to.
fn parts(content: &Content) -> Vec<Value> {
    match content {
        Content::Expression(values) | Content::Array(values) => values.clone(),
        Content::Variable(_, binding) => binding.iter().copied().collect(),
        Content::Map(entries, _, _) => entries.iter().flat_map(|(key, value)| [*key, *value]).collect(),
        _ => Vec::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn three_heaps_do_what_the_model_does(steps in prop::collection::vec(step(), 1..60)) {
        let mut world = World::new();
        for step in steps {
            world.step(step);
            world.check();
        }
        for (at, region) in world.regions.into_iter().enumerate() {
            world.heaps[at / 2].close(region);
        }
        prop_assert!(world.heaps.iter().all(|heap| heap.bytes_live() == 0));
    }
}
