//! Generated programs on a table of regions against the obvious model: who lives, who may refer to what, what each call says.
//!
//! 1. A program opens regions, some within others, lets them retain and tether each other, makes expressions, closes regions,
//!    joins them and lets results leave; and it does so with handles of regions that are long gone.
//! 2. The model knows of each region what the rules say: open, retained, tethered, referred to. It predicts every answer.
//! 3. After each step everything in every region that lives is read: what it refers to is there.

use proptest::prelude::*;
use region::{EscapePath, HandleError, Heap, Ref, RegionHandle, RegionTable, ReleaseOutcome};

use crate::basics::small;

#[derive(Clone, Copy, Debug)]
enum Step {
    Open,
    OpenWithin,
    Close,
    Retain,
    Release,
    Tether,
    Untether,
    Refer,
    Make { value: u32, child: usize },
    Splice,
    Leave { root: usize },
}

/// A region as the rules have it.
#[derive(Debug)]
struct Model {
    handle: RegionHandle,
    is_open: bool,
    retained: u32,
    tethers: u32,
    parent: Option<usize>,
    refers: Vec<usize>,
    lives: bool,
}

/// An expression of a value and of another one, or of zero.
#[derive(Clone, Copy, Debug)]
struct Node {
    region: usize,
    reference: Ref,
    value: u32,
    child: Option<usize>,
}

struct World {
    regions: RegionTable,
    models: Vec<Model>,
    nodes: Vec<Node>,
}

type Answer<T> = Result<T, HandleError>;

impl World {
    fn open_children(&self, of: usize) -> u32 {
        self.models.iter().filter(|model| model.parent == Some(of) && model.is_open).count() as u32
    }

    /// How often a region is retained, by its owner, by regions that refer to it and by those within it.
    fn external(&self, of: usize) -> u32 {
        let by_regions = self.models.iter().filter(|model| model.lives).flat_map(|model| &model.refers);
        self.models[of].retained + by_regions.filter(|other| **other == of).count() as u32
    }

    /// Lets go what nothing holds any more. Whether that was one of them.
    fn settle(&mut self, of: usize) -> ReleaseOutcome {
        while let Some(dead) = (0..self.models.len()).find(|at| {
            let model = &self.models[*at];
            model.lives && !model.is_open && model.tethers == 0 && self.external(*at) == 0
        }) {
            self.models[dead].lives = false;
        }
        if self.models[of].lives { ReleaseOutcome::Kept } else { ReleaseOutcome::Freed }
    }

    fn lives(&self, of: usize) -> Answer<()> {
        if self.models[of].lives { Ok(()) } else { Err(HandleError::Freed) }
    }

    fn is_open(&self, of: usize) -> Answer<()> {
        self.lives(of)?;
        if self.models[of].is_open { Ok(()) } else { Err(HandleError::Closed) }
    }

    fn may_close(&self, of: usize) -> Answer<()> {
        self.is_open(of)?;
        match self.open_children(of) {
            0 => Ok(()),
            count => Err(HandleError::HasChildren(count)),
        }
    }

    fn may_leave(&self, from: usize, to: usize) -> Answer<()> {
        if from == to {
            return Err(HandleError::Same);
        }
        self.may_close(from)?;
        self.is_open(to)
    }

    /// Whether what lies in a region may refer to what lies in another one.
    fn may_refer(&self, from: usize, to: usize) -> bool {
        let mut outer = Some(from);
        while let Some(at) = outer.filter(|at| *at != to) {
            outer = self.models[at].parent;
        }
        outer.is_some() || self.models[from].refers.contains(&to)
    }

    fn add(&mut self, handle: RegionHandle, parent: Option<usize>) {
        let refers = parent.into_iter().collect();
        self.models.push(Model { handle, is_open: true, retained: 0, tethers: 0, parent, refers, lives: true });
    }

    fn step(&mut self, step: Step, one: usize, other: usize) {
        let (one, other) = (one % self.models.len(), other % self.models.len());
        let (handle, second) = (self.models[one].handle, self.models[other].handle);
        match step {
            Step::Open => {
                let handle = self.regions.open().expect("there is room");
                self.add(handle, None);
            }
            Step::OpenWithin => {
                let answer = self.regions.open_within(handle);
                assert_eq!(answer.map(drop), self.is_open(one));
                if let Ok(handle) = answer {
                    self.add(handle, Some(one));
                }
            }
            Step::Close => {
                let expected = self.may_close(one).map(|()| {
                    self.models[one].is_open = false;
                    self.settle(one)
                });
                assert_eq!(self.regions.close(handle), expected);
            }
            Step::Retain => {
                let expected = self.lives(one).map(|()| self.models[one].retained += 1);
                assert_eq!(self.regions.retain(handle), expected);
            }
            Step::Release => {
                let expected = self.lives(one).and_then(|()| match self.models[one].retained {
                    0 => Err(HandleError::NotRetained),
                    _ => {
                        self.models[one].retained -= 1;
                        Ok(self.settle(one))
                    }
                });
                assert_eq!(self.regions.release(handle), expected);
            }
            Step::Tether => {
                let expected = self.lives(one).map(|()| self.models[one].tethers += 1);
                assert_eq!(self.regions.tether(handle), expected);
            }
            Step::Untether => {
                let expected = self.lives(one).and_then(|()| match self.models[one].tethers {
                    0 => Err(HandleError::NotTethered),
                    _ => {
                        self.models[one].tethers -= 1;
                        Ok(self.settle(one))
                    }
                });
                assert_eq!(self.regions.untether(handle), expected);
            }
            Step::Refer => {
                let expected = self.is_open(one).and_then(|()| match one == other {
                    true => Err(HandleError::Same),
                    false => self.lives(other).map(|()| self.models[one].refers.push(other)),
                });
                assert_eq!(self.regions.refer(handle, second), expected);
            }
            Step::Make { value, child } => self.make(one, value, child),
            Step::Splice => self.splice(one, other),
            Step::Leave { root } => self.leave(one, other, root),
        }
    }

    /// Makes an expression that refers to one that lives, wherever that lies; a table refuses what may be freed first.
    fn make(&mut self, region: usize, value: u32, child: usize) {
        let living: Vec<usize> = (0..self.nodes.len()).filter(|at| self.models[self.nodes[*at].region].lives).collect();
        let child =
            if living.is_empty() || child.is_multiple_of(3) { None } else { Some(living[child % living.len()]) };
        let word = child.map_or(small(0), |child| self.nodes[child].reference);
        let expected = self.lives(region).and_then(|()| match child {
            Some(child) if !self.may_refer(region, self.nodes[child].region) => Err(HandleError::Foreign(word)),
            _ => self.is_open(region),
        });
        let made = self.regions.expression(self.models[region].handle, &[small(value), word]);
        assert_eq!(made.map(drop), expected);
        if let Ok(reference) = made {
            self.nodes.push(Node { region, reference, value, child });
        }
    }

    /// All that was in a region, and what it retained, is the other one's.
    fn join(&mut self, from: usize, to: usize) {
        let refers = std::mem::take(&mut self.models[from].refers);
        self.models[to].refers.extend(refers.into_iter().filter(|other| *other != to));
        self.nodes.iter_mut().filter(|node| node.region == from).for_each(|node| node.region = to);
        self.models[from].is_open = false;
        self.settle(from);
    }

    fn splice(&mut self, from: usize, to: usize) {
        let expected = self.may_leave(from, to).and_then(|()| match (self.models[from].tethers, self.external(from)) {
            (0, 0) => Ok(()),
            (0, retained) => Err(HandleError::Retained(retained)),
            (tethers, _) => Err(HandleError::Tethered(tethers)),
        });
        assert_eq!(self.regions.splice(self.models[from].handle, self.models[to].handle), expected);
        if expected.is_ok() {
            self.join(from, to);
        }
    }

    fn leave(&mut self, from: usize, to: usize, root: usize) {
        let own: Vec<usize> = (0..self.nodes.len()).filter(|at| self.nodes[*at].region == from).collect();
        let root = if own.is_empty() { None } else { Some(own[root % own.len()]) };
        let mut roots = [root.map_or(small(0), |root| self.nodes[root].reference)];
        let report = self.regions.leave(self.models[from].handle, self.models[to].handle, &mut roots);
        assert_eq!(report.map(drop), self.may_leave(from, to));
        let Ok(report) = report else { return };
        if self.models[from].tethers == 0 && self.external(from) == 0 {
            assert_eq!(report.path, EscapePath::Spliced, "the region is small");
            return self.join(from, to);
        }
        let refers = self.models[from].refers.clone();
        self.models[to].refers.extend(refers.into_iter().filter(|other| *other != to));
        self.models[from].is_open = false;
        let (mut copy, mut next) = (roots[0], root);
        while let Some(node) = next.filter(|node| self.nodes[*node].region == from) {
            let Node { value, child, .. } = self.nodes[node];
            let is_copied = child.filter(|child| self.nodes[*child].region == from);
            let child = if is_copied.is_some() { Some(self.nodes.len() + 1) } else { child };
            self.nodes.push(Node { region: to, reference: copy, value, child });
            (copy, next) = (self.regions.heap().child(copy, 1), is_copied);
        }
        self.settle(from);
    }

    fn check(&self) {
        assert_eq!(self.regions.count(), self.models.iter().filter(|model| model.lives).count());
        let heap = self.regions.heap();
        for node in self.nodes.iter().filter(|node| self.models[node.region].lives) {
            let child = node.child.map_or(small(0), |child| {
                assert!(self.models[self.nodes[child].region].lives, "what is referred to lives");
                self.nodes[child].reference
            });
            assert_eq!(heap.children(node.reference), [small(node.value), child]);
            assert_eq!(self.regions.check(self.models[node.region].handle, node.reference), Ok(()));
        }
        for model in &self.models {
            assert_eq!(self.regions.region(model.handle).is_ok(), model.lives);
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Open),
        4 => Just(Step::OpenWithin),
        6 => Just(Step::Close),
        3 => Just(Step::Retain),
        3 => Just(Step::Release),
        2 => Just(Step::Tether),
        2 => Just(Step::Untether),
        3 => Just(Step::Refer),
        12 => (0..1_000_u32, any::<usize>()).prop_map(|(value, child)| Step::Make { value, child }),
        3 => Just(Step::Splice),
        4 => any::<usize>().prop_map(|root| Step::Leave { root }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    /// D7: no answer is given twice.
    #[test]
    fn a_table_does_what_its_model_does(
        steps in prop::collection::vec((step(), 0..12_usize, 0..12_usize), 1..120),
    ) {
        let mut world = World { regions: RegionTable::new(Heap::new()), models: Vec::new(), nodes: Vec::new() };
        world.regions.open().map(|handle| world.add(handle, None)).expect("there is room");
        for (step, one, other) in steps {
            world.step(step, one, other);
            world.check();
        }
    }
}

/// A region that retained the one it was joined to would have kept it for ever.
#[test]
fn nothing_retains_itself() -> Answer<()> {
    for by_splice in [false, true] {
        let mut regions = RegionTable::new(Heap::new());
        let (one, to) = (regions.open()?, regions.open()?);
        let within = regions.open_within(to)?;
        assert_eq!(regions.refer(one, one), Err(HandleError::Same));
        regions.refer(one, to)?;
        regions.refer(one, to)?;
        for from in [one, within] {
            match by_splice {
                true => regions.splice(from, to)?,
                false => regions.leave(from, to, &mut []).map(drop)?,
            }
        }
        assert_eq!((regions.close(to), regions.count()), (Ok(ReleaseOutcome::Freed), 0));
    }
    Ok(())
}

/// D19: what a region within another one refers to there is kept, wherever it goes and whatever is closed first.
#[test]
fn a_parent_lives_as_long_as_what_was_within_it() -> Answer<()> {
    let mut regions = RegionTable::new(Heap::new());
    let (parent, results) = (regions.open()?, regions.open()?);
    let (kept, leaving) = (regions.open_within(parent)?, regions.open_within(parent)?);
    let shared = regions.expression(parent, &[small(5)])?;
    let made = [regions.expression(kept, &[shared])?, regions.expression(leaving, &[shared])?];
    regions.retain(kept)?;
    assert_eq!(regions.close(kept), Ok(ReleaseOutcome::Kept));
    regions.splice(leaving, results)?;
    assert_eq!(regions.close(parent), Ok(ReleaseOutcome::Kept));
    assert_eq!(regions.release(kept), Ok(ReleaseOutcome::Freed));
    assert_eq!((regions.heap().child(made[1], 0), regions.heap().children(shared)), (shared, &[small(5)][..]));
    assert_eq!((regions.close(results), regions.count()), (Ok(ReleaseOutcome::Freed), 0));
    Ok(())
}
