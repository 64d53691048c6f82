//! Generated programs against the obvious model: nodes in a vector that refer to each other by number.
//!
//! 1. A program makes things in several regions, binds variables, replaces children, marks and rewinds, and copies.
//! 2. The model does the same. Where the heap refuses because of a limit, the model does nothing.
//! 3. After each step everything that lives is compared, word by word. A copy is compared by walking over both sides with a
//!    map in both directions, and the cells it took are counted.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use region::{Bound, EscapePath, Full, Heap, Mark, Ref, Region, tag};

/// What a word is in the model.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Value {
    Immediate(Ref),
    Node { node: usize, marked: bool },
}

#[derive(Clone, Debug)]
enum Content {
    Expression { children: Vec<Value>, note: u16 },
    Variable { label: u32, binding: Option<Value> },
    Number { kind: u32, bits: u64 },
}

#[derive(Clone, Debug)]
struct Node {
    region: usize,
    content: Content,
    reference: Ref,
    lives: bool,
    /// When it was made in its region, or came to it.
    born: usize,
}

/// A step of a program. Numbers choose among what there is, modulo how much that is.
#[derive(Clone, Debug)]
enum Step {
    Expression { region: usize, length: usize, picks: Vec<usize> },
    Reserve { region: usize, length: usize },
    Variable { region: usize, label: u32 },
    Number { region: usize, kind: u32, bits: u64 },
    Bind { variable: usize, value: usize },
    Unbind { variable: usize },
    SetChild { expression: usize, index: usize, child: usize },
    Note { expression: usize, note: u16 },
    ClearNotes,
    Mark { region: usize },
    Rewind { region: usize, mark: usize },
    Reopen { region: usize },
    Splice { from: usize, to: usize },
    Transmigrate { from: usize, to: usize, roots: Vec<usize> },
    Emigrate { from: usize, closes: bool, roots: Vec<usize> },
    Copy { from: usize, to: usize, mark: usize, replaced: bool, roots: Vec<usize> },
}

const REGIONS: usize = 3;

fn length() -> impl Strategy<Value = usize> {
    prop_oneof![
        12 => 0..9_usize,
        2 => prop::sample::select(vec![62, 63, 64, 65, 125, 126, 127, 128, 129, 255]),
        1 => prop::sample::select(vec![1_000, 8_190, 8_191, 8_192, 10_000]),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let (region, pick) = (0..REGIONS, any::<usize>());
    prop_oneof![
        10 => (region.clone(), length(), prop::collection::vec(pick, 1..6))
            .prop_map(|(region, length, picks)| Step::Expression { region, length, picks }),
        1 => (region.clone(), length()).prop_map(|(region, length)| Step::Reserve { region, length }),
        5 => (region.clone(), any::<u32>()).prop_map(|(region, label)| Step::Variable { region, label }),
        3 => (region.clone(), 0..2_u32, any::<u64>()).prop_map(|(region, kind, bits)| Step::Number { region, kind, bits }),
        5 => (pick, pick).prop_map(|(variable, value)| Step::Bind { variable, value }),
        1 => pick.prop_map(|variable| Step::Unbind { variable }),
        3 => (pick, pick, pick).prop_map(|(expression, index, child)| Step::SetChild { expression, index, child }),
        2 => (pick, any::<u16>()).prop_map(|(expression, note)| Step::Note { expression, note }),
        1 => Just(Step::ClearNotes),
        4 => region.clone().prop_map(|region| Step::Mark { region }),
        2 => (region.clone(), pick).prop_map(|(region, mark)| Step::Rewind { region, mark }),
        1 => region.clone().prop_map(|region| Step::Reopen { region }),
        2 => (region.clone(), 1..REGIONS).prop_map(|(from, to)| Step::Splice { from, to: (from + to) % REGIONS }),
        1 => (region.clone(), 1..REGIONS, prop::collection::vec(pick, 1..4))
            .prop_map(|(from, to, roots)| Step::Transmigrate { from, to: (from + to) % REGIONS, roots }),
        2 => (region.clone(), any::<bool>(), prop::collection::vec(pick, 1..4))
            .prop_map(|(from, closes, roots)| Step::Emigrate { from, closes, roots }),
        3 => (region.clone(), 1..REGIONS, pick, any::<bool>(), prop::collection::vec(pick, 1..4))
            .prop_map(|(from, to, mark, replaced, roots)| Step::Copy { from, to: (from + to) % REGIONS, mark, replaced, roots }),
    ]
}

/// A heap and its model, side by side.
struct World {
    heap: Heap,
    regions: Vec<Region>,
    /// Marks of each region, and when they were taken.
    marks: Vec<Vec<(Mark, usize)>>,
    nodes: Vec<Node>,
    /// When the next node is born.
    now: usize,
    /// Cells handed out, as long as that is known.
    cells: Option<u64>,
    /// Another heap, with a region of its own.
    abroad: (Heap, Region),
}

impl World {
    fn new(limit: Option<usize>) -> World {
        let mut heap = Heap::new();
        heap.set_limit(limit.map(|chunks| chunks * 512));
        let regions = (0..REGIONS).map(|_| heap.open()).collect();
        let mut other = Heap::new();
        let region = other.open();
        World {
            abroad: (other, region),
            heap,
            regions,
            marks: vec![vec![(Mark::START, 0)]; REGIONS],
            nodes: Vec::new(),
            now: 0,
            cells: Some(0),
        }
    }

    fn living(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|node| self.nodes[*node].lives).collect()
    }

    /// A living node or an immediate.
    fn value(&self, pick: usize) -> Value {
        let living = self.living();
        if pick.is_multiple_of(3) || living.is_empty() {
            return Value::Immediate(Ref::new((pick / 3 % 4) as u32, (pick / 12 % 1_000) as u32));
        }
        let node = living[pick / 3 % living.len()];
        let marked = matches!(self.nodes[node].content, Content::Expression { .. }) && pick.is_multiple_of(2);
        Value::Node { node, marked }
    }

    fn word(&self, value: Value) -> Ref {
        match value {
            Value::Immediate(reference) => reference,
            Value::Node { node, marked: true } => self.nodes[node].reference.marked(),
            Value::Node { node, marked: false } => self.nodes[node].reference,
        }
    }

    /// A living node whose content is of some kind.
    fn pick(&self, pick: usize, of: impl Fn(&Content) -> bool) -> Option<usize> {
        let found: Vec<usize> = self.living().into_iter().filter(|node| of(&self.nodes[*node].content)).collect();
        (!found.is_empty()).then(|| found[pick % found.len()])
    }

    fn variable(&self, pick: usize) -> Option<usize> {
        self.pick(pick, |content| matches!(content, Content::Variable { .. }))
    }

    fn expression(&self, pick: usize) -> Option<usize> {
        self.pick(pick, |content| matches!(content, Content::Expression { .. }))
    }

    fn walk(&self, mut value: Value) -> Value {
        while let Value::Node { node, .. } = value
            && let Content::Variable { binding: Some(next), .. } = self.nodes[node].content
        {
            value = next;
        }
        value
    }

    fn add(&mut self, region: usize, content: Content, made: Result<Ref, Full>) {
        if let Ok(reference) = made {
            self.cells = self.cells.map(|cells| cells + size(&content));
            self.push(region, content, reference);
        }
    }

    fn push(&mut self, region: usize, content: Content, reference: Ref) {
        self.nodes.push(Node { region, content, reference, lives: true, born: self.now });
        self.now += 1;
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Expression { region, length, picks } => {
                let children: Vec<Value> =
                    (0..length).map(|at| self.value(picks[at % picks.len()] / (at + 1))).collect();
                let words: Vec<Ref> = children.iter().map(|child| self.word(*child)).collect();
                let made = self.heap.expression(&mut self.regions[region], &words);
                self.add(region, Content::Expression { children, note: 0 }, made);
            }
            Step::Reserve { region, length } => {
                let children = vec![Value::Immediate(Ref::from_bits(0)); length];
                let made = self.heap.reserve(&mut self.regions[region], length);
                self.add(region, Content::Expression { children, note: 0 }, made);
            }
            Step::Variable { region, label } => {
                let made = self.heap.variable(&mut self.regions[region], label);
                self.add(region, Content::Variable { label, binding: None }, made);
            }
            Step::Number { region, kind, bits } => {
                let made = self.heap.number(&mut self.regions[region], kind, bits);
                self.add(region, Content::Number { kind, bits }, made);
            }
            Step::Bind { variable, value } => self.bind(variable, value),
            Step::Unbind { variable } => {
                if let Some(variable) = self.variable(variable) {
                    self.write_binding(variable, None);
                }
            }
            Step::SetChild { expression, index, child } => self.set_child(expression, index, child),
            Step::Note { expression, note: wanted } => {
                if let Some(node) = self.expression(expression) {
                    self.heap.set_note(self.nodes[node].reference, wanted);
                    self.write_note(node, wanted);
                }
            }
            Step::ClearNotes => {
                self.heap.clear_notes();
                (0..self.nodes.len()).for_each(|node| self.write_note(node, 0));
            }
            Step::Mark { region } => {
                let mark = self.heap.mark(&self.regions[region]);
                self.marks[region].push((mark, self.now));
            }
            Step::Rewind { region, mark } => self.rewind(region, mark),
            Step::Reopen { region } => {
                self.forget(region, 0);
                let fresh = self.heap.open();
                self.heap.close(std::mem::replace(&mut self.regions[region], fresh));
                self.marks[region].truncate(1);
            }
            Step::Splice { from, to } => {
                let fresh = self.heap.open();
                let closing = std::mem::replace(&mut self.regions[from], fresh);
                self.heap.splice(closing, &mut self.regions[to]).expect("regions have no limit");
                self.came(from, to);
            }
            Step::Transmigrate { from, to, roots } => self.transmigrate(from, to, &roots),
            Step::Emigrate { from, closes, roots } => self.emigrate(from, closes, &roots),
            Step::Copy { from, to, mark, replaced, roots } => self.copy(from, to, mark, replaced, &roots),
        }
    }

    fn bind(&mut self, variable: usize, value: usize) {
        let Some(node) = self.variable(variable) else { return };
        let value = self.value(value);
        if self.walk(value) == self.walk(Value::Node { node, marked: false }) {
            return;
        }
        // Rebinding one variable of a chain may close a ring further on.
        self.write_binding(node, None);
        if self.walk(value) != (Value::Node { node, marked: false }) {
            self.write_binding(node, Some(value));
        }
    }

    fn write_binding(&mut self, node: usize, value: Option<Value>) {
        let reference = self.nodes[node].reference;
        match value {
            Some(value) => self.heap.bind(reference, self.word(value)),
            None => self.heap.unbind(reference),
        }
        if let Content::Variable { binding, .. } = &mut self.nodes[node].content {
            *binding = value;
        }
    }

    fn set_child(&mut self, expression: usize, index: usize, child: usize) {
        let Some(node) = self.expression(expression) else { return };
        let value = self.value(child);
        let word = self.word(value);
        let Content::Expression { children, .. } = &mut self.nodes[node].content else { return };
        if !children.is_empty() {
            let index = index % children.len();
            children[index] = value;
            self.heap.set_child(self.nodes[node].reference, index, word);
        }
    }

    fn write_note(&mut self, node: usize, wanted: u16) {
        if let Content::Expression { note, .. } = &mut self.nodes[node].content {
            *note = wanted;
        }
    }

    fn rewind(&mut self, region: usize, mark: usize) {
        let at = mark % self.marks[region].len();
        let (mark, since) = self.marks[region][at];
        self.forget(region, since);
        self.heap.rewind(&mut self.regions[region], mark);
        self.marks[region].truncate(at + 1);
    }

    /// The nodes of a region are in another one from now on, and its marks are gone.
    fn came(&mut self, from: usize, to: usize) {
        for node in self.nodes.iter_mut().filter(|node| node.region == from) {
            (node.region, node.born) = (to, self.now);
        }
        self.now += 1;
        self.marks[from].truncate(1);
    }

    /// Ends the nodes of a region from some time on, and what refers to them, as an owner does with its trail.
    fn forget(&mut self, region: usize, since: usize) {
        for node in &mut self.nodes {
            node.lives &= node.region != region || node.born < since;
        }
        let gone = |value: &Value, nodes: &[Node]| matches!(value, Value::Node { node, .. } if !nodes[*node].lives);
        for node in self.living() {
            match self.nodes[node].content.clone() {
                Content::Expression { mut children, note } => {
                    for (index, child) in children.iter_mut().enumerate().filter(|(_, child)| gone(child, &self.nodes))
                    {
                        *child = Value::Immediate(Ref::from_bits(0));
                        self.heap.set_child(self.nodes[node].reference, index, Ref::from_bits(0));
                    }
                    self.nodes[node].content = Content::Expression { children, note };
                }
                Content::Variable { binding: Some(value), .. } if gone(&value, &self.nodes) => {
                    self.write_binding(node, None)
                }
                _ => {}
            }
        }
    }

    fn copy(&mut self, from: usize, to: usize, mark: usize, replaced: bool, roots: &[usize]) {
        let (mark, count) = self.marks[from][mark % self.marks[from].len()];
        let bound = if replaced { Bound::Replaced } else { Bound::Kept };
        let values: Vec<Value> = roots.iter().map(|root| self.value(*root)).collect();
        let words: Vec<Ref> = values.iter().map(|value| self.word(*value)).collect();
        let before = self.heap.statistics();
        let [source, target] = self.regions.get_disjoint_mut([from, to]).expect("two regions");
        let stood = self.heap.mark(target);
        let mut met = 0;
        let foreign = |reference: Ref| {
            met += 1;
            Ref::new(tag::IMMEDIATE_3, reference.payload() + 1)
        };
        let Ok(mut copying) = self.heap.copy(source, mark, bound, target, foreign) else { return };
        let copies = words.iter().map(|word| copying.root(*word)).collect::<Result<Vec<Ref>, Full>>();
        let copies = copies.and_then(|copies| copying.scan().map(|()| copies));
        let living = self.nodes.iter().enumerate().filter(|(_, node)| node.lives);
        let moved: HashMap<usize, Option<Ref>> = living.map(|(at, node)| (at, copying.moved(node.reference))).collect();
        let Ok(copies) = copies else {
            assert_eq!(self.heap.mark(&self.regions[to]), stood, "a failed copy leaves nothing");
            self.cells = None;
            return;
        };
        let is_copied = |node: usize| self.is_copied(node, from, count);
        let comparison = Comparison { world: self, heap: &self.heap, is_copied: &is_copied, replaced, shift: 1 };
        let (pairs, foreign) = comparison.compare(&values, &copies);
        assert_eq!(met, foreign, "foreign immediates are met once a place");
        comparison.check_moved(&pairs, &moved);
        self.adopt(to, &pairs, replaced, 1, from, count);
        let copied: u64 = self.nodes[self.nodes.len() - pairs.len()..].iter().map(|node| size(&node.content)).sum();
        assert_eq!(self.heap.statistics().cells_copied - before.cells_copied, copied, "each cell is copied once");
        self.cells = self.cells.map(|cells| cells + copied);
    }

    fn is_copied(&self, node: usize, from: usize, count: usize) -> bool {
        self.nodes[node].region == from && self.nodes[node].born >= count
    }

    fn transmigrate(&mut self, from: usize, to: usize, roots: &[usize]) {
        let values: Vec<Value> = roots.iter().map(|root| self.value(*root)).collect();
        let mut words: Vec<Ref> = values.iter().map(|value| self.word(*value)).collect();
        let fresh = self.heap.open();
        let closing = std::mem::replace(&mut self.regions[from], fresh);
        let report = self.heap.transmigrate(&mut words, closing, &mut self.regions[to]).expect("there is a way");
        let handed_out = report.cells + report.cells_in_vain;
        self.cells = self.cells.map(|cells| cells + handed_out);
        if report.path == EscapePath::Spliced {
            assert_eq!(words, values.iter().map(|value| self.word(*value)).collect::<Vec<Ref>>());
            return self.came(from, to);
        }
        let is_copied = |node: usize| self.is_copied(node, from, 0);
        let comparison = Comparison { world: self, heap: &self.heap, is_copied: &is_copied, replaced: false, shift: 0 };
        let (pairs, _) = comparison.compare(&values, &words);
        let copied: u64 = pairs.keys().map(|node| size(&self.nodes[*node].content)).sum();
        assert_eq!(report.cells, copied, "each cell is copied once");
        self.adopt(to, &pairs, false, 0, from, 0);
        self.forget(from, 0);
        self.marks[from].truncate(1);
    }

    /// What roots lead to goes to the other heap, where it is compared and given back.
    fn emigrate(&mut self, from: usize, closes: bool, roots: &[usize]) {
        let values: Vec<Value> = roots.iter().map(|root| self.value(*root)).collect();
        let mut words: Vec<Ref> = values.iter().map(|value| self.word(*value)).collect();
        let mut met = 0;
        let foreign = |reference: Ref| {
            met += 1;
            Ref::new(tag::IMMEDIATE_3, reference.payload() + 1)
        };
        let (other, region) = &mut self.abroad;
        other.number(region, 1, u64::MAX).expect("there is no limit");
        let mark = other.mark(region);
        let report = self.heap.copy_to(&mut words, &self.regions[from], other, region, foreign).expect("no limit");
        if closes {
            let fresh = self.heap.open();
            self.heap.close(std::mem::replace(&mut self.regions[from], fresh));
        }
        let comparison =
            Comparison { world: self, heap: &self.abroad.0, is_copied: &|_| true, replaced: false, shift: 1 };
        let (pairs, foreign) = comparison.compare(&values, &words);
        let copied: u64 = pairs.keys().map(|node| size(&self.nodes[*node].content)).sum();
        assert_eq!((report.cells, met), (copied, foreign));
        let (other, region) = &mut self.abroad;
        let reached: Vec<Ref> = pairs.values().copied().collect();
        assert_eq!(other.dangling(&[region], &reached), None);
        assert!(reached.iter().all(|made| !other.precedes(*made, region, mark)));
        other.clear_notes();
        assert!(reached.iter().all(|made| !made.is_expression() || other.note(*made) == 0));
        if roots[0].is_multiple_of(2) {
            other.rewind(region, mark);
        }
        if closes {
            self.forget(from, 0);
            self.marks[from].truncate(1);
        }
    }

    /// Makes nodes of the copies.
    fn adopt(
        &mut self,
        region: usize,
        pairs: &HashMap<usize, Ref>,
        replaced: bool,
        shift: u32,
        from: usize,
        count: usize,
    ) {
        let mut old: Vec<usize> = pairs.keys().copied().collect();
        old.sort_unstable();
        let first = self.nodes.len();
        let number: HashMap<usize, usize> = old.iter().enumerate().map(|(at, node)| (*node, first + at)).collect();
        let renumber = |world: &World, value: Value| match if replaced { world.walk(value) } else { value } {
            Value::Node { node, marked } if world.is_copied(node, from, count) => {
                Value::Node { node: number[&node], marked }
            }
            Value::Immediate(word) if word.tag() == tag::IMMEDIATE_3 => {
                Value::Immediate(Ref::new(tag::IMMEDIATE_3, word.payload() + shift))
            }
            shared => shared,
        };
        for node in old {
            let content = match self.nodes[node].content.clone() {
                Content::Expression { children, note } => Content::Expression {
                    children: children.iter().map(|child| renumber(self, *child)).collect(),
                    note,
                },
                Content::Variable { label, binding } => {
                    Content::Variable { label, binding: binding.map(|value| renumber(self, value)) }
                }
                number => number,
            };
            self.push(region, content, pairs[&node]);
        }
    }

    /// Everything that lives is in the heap as it is in the model.
    fn check(&self) {
        for node in self.living() {
            let Node { content, reference, region, born, .. } = &self.nodes[node];
            match content {
                Content::Expression { children, note } => {
                    let words: Vec<Ref> = children.iter().map(|child| self.word(*child)).collect();
                    assert_eq!((self.heap.children(*reference), self.heap.note(*reference)), (&words[..], *note));
                }
                Content::Variable { label, binding } => {
                    let word = binding.map(|value| self.word(value));
                    assert_eq!((self.heap.label(*reference), self.heap.binding(*reference)), (*label, word));
                    let end = self.walk(Value::Node { node, marked: false });
                    assert_eq!(self.heap.walk(*reference), self.word(end));
                }
                Content::Number { kind, bits } => {
                    assert_eq!((reference.payload() & 1, self.heap.number_bits(*reference)), (*kind, *bits));
                }
            }
            for (at, here) in self.regions.iter().enumerate() {
                for (mark, since) in &self.marks[at] {
                    assert_eq!(self.heap.precedes(*reference, here, *mark), at != *region || born < since);
                }
            }
        }
        let words: Vec<Ref> = self.living().iter().map(|node| self.nodes[*node].reference).collect();
        let regions: Vec<&Region> = self.regions.iter().collect();
        assert_eq!(self.heap.dangling(&regions, &words), None);
    }

    fn finish(mut self) {
        let (mut other, region) = self.abroad;
        other.close(region);
        assert_eq!(other.statistics().bytes_live, 0);
        for region in self.regions {
            self.heap.close(region);
        }
        let statistics = self.heap.statistics();
        assert_eq!((statistics.bytes_live, statistics.chunks), (0, statistics.chunks_free));
        if let Some(cells) = self.cells {
            assert_eq!(statistics.cells_handed_out, cells);
        }
    }
}

fn size(content: &Content) -> u64 {
    match content {
        Content::Expression { children, .. } => children.len() as u64 / 2 + 1 + u64::from(children.len() > 8_190),
        _ => 1,
    }
}

/// A walk over the model and a copy of it in the heap.
struct Comparison<'w> {
    world: &'w World,
    /// Where the copy is.
    heap: &'w Heap,
    is_copied: &'w dyn Fn(usize) -> bool,
    replaced: bool,
    /// What was added to foreign immediates.
    shift: u32,
}

impl Comparison<'_> {
    /// Each living node went where the walk has found it, or nowhere.
    fn check_moved(&self, pairs: &HashMap<usize, Ref>, moved: &HashMap<usize, Option<Ref>>) {
        for (&node, &moved) in moved {
            let mut value = Value::Node { node, marked: false };
            if self.replaced {
                value = self.world.walk(value);
            }
            let expected = match value {
                Value::Node { node, marked } if (self.is_copied)(node) => {
                    pairs.get(&node).map(|copy| if marked { copy.marked() } else { *copy })
                }
                shared => Some(self.world.word(shared)),
            };
            assert_eq!(moved, expected, "where {value:?} went");
        }
    }

    /// The copy of each node that was copied, and how many foreign immediates stand in the roots and the copies.
    fn compare(&self, values: &[Value], copies: &[Ref]) -> (HashMap<usize, Ref>, usize) {
        let heap = self.heap;
        let (mut pairs, mut taken, mut foreign) = (HashMap::new(), HashSet::new(), 0);
        let mut open: Vec<(Value, Ref)> = values.iter().copied().zip(copies.iter().copied()).collect();
        while let Some((value, copy)) = open.pop() {
            let value = if self.replaced { self.world.walk(value) } else { value };
            let node = match value {
                Value::Immediate(word) if word.tag() == tag::IMMEDIATE_3 => {
                    foreign += 1;
                    assert_eq!(copy, Ref::new(tag::IMMEDIATE_3, word.payload() + self.shift));
                    continue;
                }
                Value::Node { node, .. } if (self.is_copied)(node) => node,
                shared => {
                    assert_eq!(copy, self.world.word(shared), "what is not copied is shared");
                    continue;
                }
            };
            assert_eq!(copy.tag(), self.world.word(value).tag(), "a copy keeps the mark");
            if let Some(known) = pairs.insert(node, copy.unmarked()) {
                assert_eq!(known, copy.unmarked(), "what was shared is shared");
                continue;
            }
            assert!(taken.insert(copy.unmarked()), "what was apart is apart");
            match &self.world.nodes[node].content {
                Content::Expression { children, note } => {
                    assert_eq!((heap.length(copy), heap.note(copy)), (children.len(), *note));
                    open.extend(children.iter().copied().zip(heap.children(copy).iter().copied()));
                }
                Content::Variable { label, binding } => {
                    assert_eq!((heap.label(copy), heap.binding(copy).is_some()), (*label, binding.is_some()));
                    open.extend(binding.iter().copied().zip(heap.binding(copy)));
                }
                Content::Number { kind, bits } => {
                    assert_eq!((copy.payload() & 1, heap.number_bits(copy)), (*kind, *bits));
                }
            }
        }
        (pairs, foreign)
    }
}

fn run(limit: Option<usize>, steps: Vec<Step>) {
    let mut world = World::new(limit);
    for step in steps {
        world.step(step);
        world.check();
        if let Some(limit) = limit {
            assert!(world.heap.statistics().bytes_held <= limit * 512, "no storage beyond the limit");
        }
    }
    world.finish();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn heap_does_what_the_model_does(steps in prop::collection::vec(step(), 1..80)) {
        run(None, steps);
    }

    #[test]
    fn a_limited_heap_does_what_the_model_does(limit in 0..60_usize, steps in prop::collection::vec(step(), 1..80)) {
        run(Some(limit), steps);
    }
}

/// The second chunk of the lane lies right before the first one in memory: where the lane's last chunk ends is where its first
/// one begins, and a copy took the one for the other.
#[test]
fn a_copy_that_begins_where_its_lane_ends() {
    use Step::{Bind, Copy, Emigrate, Expression, Number, Splice, Variable};
    run(
        None,
        vec![
            Expression { region: 2, length: 0, picks: vec![0] },
            Expression { region: 1, length: 126, picks: vec![0] },
            Expression { region: 1, length: 1, picks: vec![2_889_561_777_908_784_214] },
            Expression { region: 0, length: 0, picks: vec![0] },
            Variable { region: 1, label: 0 },
            Number { region: 1, kind: 0, bits: 0 },
            Copy { from: 1, to: 2, mark: 0, replaced: false, roots: vec![7_184_782_771_501_320_529] },
            Splice { from: 1, to: 2 },
            Expression { region: 0, length: 1, picks: vec![1_836_607_626_285_870_208] },
            Bind { variable: 0, value: 0 },
            Emigrate { from: 2, closes: true, roots: vec![2_518_558_950_524_619_958, 16_819_975_937_447_401_864] },
        ],
    );
}
