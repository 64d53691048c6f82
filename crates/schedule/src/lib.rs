//! Which nodes have to run after some have changed, and in which order.
//!
//! A node is a number. It depends on other nodes, or on none. The schedule knows nothing of what a node holds: its owner says
//! what running one means, by [`Run`].
//!
//! 1. Each node has a **height**: 0 if it depends on nothing, otherwise more than the height of each node that it depends on.
//! 2. [`Schedule::propagate`] queues the dependents of what has changed, and hands the nodes that are queued to their owner
//!    height by height, lowest first, in the order of their numbers.
//! 3. The dependents of a node are queued only if running it has changed it. Where nothing changes, the wave ends.
//!
//! So each node runs at most once, after everything that it depends on, and only if some of that has changed.
//!
//! Invariants: heights grow along every edge, so there is no cycle; dependencies and dependents say the same; the queue is empty after
//! [`Schedule::propagate`].
//!
//! A node may hold anything. Here the nodes are a relation and the sum of its numbers, kept by differences:
//!
//! ```
//! use schedule::{Node, Run, Schedule};
//!
//! /// What has come to the numbers in a commit, and the sum of all.
//! struct Sum {
//!     come: Vec<i64>,
//!     sum: i64,
//! }
//!
//! impl Run for Sum {
//!     type Error = String;
//!
//!     fn run(&mut self, nodes: &[Node], changed: &mut Vec<Node>) -> Result<(), String> {
//!         let difference: i64 = self.come.iter().sum();
//!         self.sum = self.sum.checked_add(difference).ok_or("the sum is too large")?;
//!         if difference != 0 {
//!             changed.extend_from_slice(nodes);
//!         }
//!         Ok(())
//!     }
//! }
//!
//! const NUMBERS: Node = 0;
//! const SUM: Node = 1;
//! let mut schedule = Schedule::new();
//! schedule.set_dependencies(SUM, &[NUMBERS]).expect("there is no cycle");
//! let mut sum = Sum { come: vec![3, 4], sum: 0 };
//! // A commit says which nodes it has changed.
//! let wave = schedule.propagate(&mut vec![NUMBERS], &mut sum)?;
//! assert_eq!((sum.sum, wave.ran, wave.cut_off), (7, 1, 0));
//! sum.come = vec![1, -1];
//! let wave = schedule.propagate(&mut vec![NUMBERS], &mut sum)?;
//! assert_eq!((sum.sum, wave.cut_off), (7, 1), "what depends on the sum would not run");
//! # Ok::<(), String>(())
//! ```
//!
//! Cost: a node that is reached costs its dependents, and 64 heights a look at a word. Adding a node with dependencies costs
//! those; changing the dependencies of a node costs what depends on it and lies low enough. No recursion.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The number of a node. Numbers are given by the owner of a schedule, densely: memory is kept for the largest.
pub type Node = u32;

/// Runs nodes of one height.
pub trait Run {
    /// Why a node could not be run.
    type Error;

    /// Runs these nodes, in any order, and adds those that have changed to `changed`.
    ///
    /// # Errors
    /// A node cannot be run. The wave ends, and what it has done so far is the owner's to undo.
    fn run(&mut self, nodes: &[Node], changed: &mut Vec<Node>) -> Result<(), Self::Error>;
}

/// What depends on what. The [`crate`] says how it works.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    nodes: Vec<Edges>,
    queue: Queue,
}

#[derive(Clone, Debug, Default)]
struct Edges {
    dependencies: Box<[Node]>,
    dependents: Vec<Node>,
    height: u32,
}

/// What a wave came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wave {
    /// How often a node was reached from one that had changed: more often than nodes ran, where several had changed that a node depends on.
    pub visited: u64,
    /// How many nodes ran.
    pub ran: u64,
    /// How many of those did not change, so that nothing went on from them.
    pub cut_off: u64,
    /// How many heights had nodes that ran.
    pub heights: u64,
}

/// Nodes that would depend on themselves: each on the next, the last on the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle(pub Vec<Node>);

impl Schedule {
    /// A schedule without nodes.
    pub fn new() -> Self {
        Self::default()
    }

    /// What a node depends on, in the order in which that was given.
    pub fn dependencies(&self, node: Node) -> &[Node] {
        self.nodes.get(node as usize).map_or(&[], |edges| &edges.dependencies)
    }

    /// What depends on a node, once for each time that it does.
    pub fn dependents(&self, node: Node) -> &[Node] {
        self.nodes.get(node as usize).map_or(&[], |edges| &edges.dependents)
    }

    /// How many steps a node is above what depends on nothing, at least.
    pub fn height(&self, node: Node) -> u32 {
        self.nodes.get(node as usize).map_or(0, |edges| edges.height)
    }

    /// Makes a node depend on others, in place of those that it depended on. A node may be named more than once.
    ///
    /// # Errors
    /// It would depend on itself. Nothing has changed then.
    pub fn set_dependencies(&mut self, node: Node, dependencies: &[Node]) -> Result<(), Cycle> {
        let largest = dependencies.iter().copied().chain([node]).max().unwrap_or(node) as usize;
        if self.nodes.len() <= largest {
            self.nodes.resize_with(largest + 1, Edges::default);
        }
        if let Some(path) = self.path_to_any(node, dependencies) {
            return Err(Cycle(path));
        }
        self.unlink(node);
        for &dependency in dependencies {
            self.nodes[dependency as usize].dependents.push(node);
        }
        self.nodes[node as usize].dependencies = dependencies.into();
        self.raise(node);
        Ok(())
    }

    /// Takes a node's dependencies away. What depends on it still does.
    pub fn clear(&mut self, node: Node) {
        if let Some(edges) = self.nodes.get(node as usize) {
            let is_free = edges.dependents.is_empty();
            self.unlink(node);
            if is_free {
                self.nodes[node as usize].height = 0;
            }
        }
    }

    fn unlink(&mut self, node: Node) {
        for &dependency in &std::mem::take(&mut self.nodes[node as usize].dependencies) {
            let dependents = &mut self.nodes[dependency as usize].dependents;
            if let Some(place) = dependents.iter().rposition(|&other| other == node) {
                dependents.remove(place);
            }
        }
    }

    /// A way from a node along its dependents to one of `targets`, in the direction of dependencies.
    ///
    /// Heights grow on the way, so what is higher than every target leads to none.
    fn path_to_any(&self, node: Node, targets: &[Node]) -> Option<Vec<Node>> {
        let ceiling = targets.iter().map(|&target| self.height(target)).max()?;
        let mut came_from = vec![(node, usize::MAX)];
        let mut seen = std::collections::BTreeSet::from([node]);
        let mut next = 0;
        while next < came_from.len() {
            let (at, _) = came_from[next];
            if targets.contains(&at) {
                return Some(unwind(&came_from, next));
            }
            for &dependent in self.dependents(at) {
                if self.height(dependent) <= ceiling && seen.insert(dependent) {
                    came_from.push((dependent, next));
                }
            }
            next += 1;
        }
        None
    }

    /// Puts a node, and what depends on it, above its dependencies again. From the lowest up, so that each is looked at once.
    fn raise(&mut self, node: Node) {
        let mut waiting = BinaryHeap::from([Reverse((self.height(node), node))]);
        while let Some(Reverse((_, node))) = waiting.pop() {
            let needed =
                self.dependencies(node).iter().map(|&dependency| self.height(dependency) + 1).max().unwrap_or(0);
            let edges = &mut self.nodes[node as usize];
            if needed > edges.height || edges.dependents.is_empty() {
                edges.height = needed;
                for &dependent in &self.nodes[node as usize].dependents {
                    waiting.push(Reverse((self.height(dependent), dependent)));
                }
            }
        }
    }

    /// Queues a node itself, to run in the next wave whether or not something that it depends on changes.
    pub fn queue(&mut self, node: Node) {
        self.queue.add(node, self.height(node));
    }

    /// Runs what is queued, and what depends on nodes that have changed. `changed` is emptied, and is memory for the next wave.
    ///
    /// # Errors
    /// A node could not be run. Nothing is queued any more.
    pub fn propagate<R: Run>(&mut self, changed: &mut Vec<Node>, run: &mut R) -> Result<Wave, R::Error> {
        let mut wave = Wave::default();
        let mut nodes = std::mem::take(&mut self.queue.drained);
        let outcome = loop {
            for node in changed.drain(..) {
                wave.visited += self.queue_dependents(node);
            }
            nodes.clear();
            if !self.queue.take_lowest(&mut nodes) {
                break Ok(wave);
            }
            if let Err(error) = run.run(&nodes, changed) {
                break Err(error);
            }
            wave.ran += nodes.len() as u64;
            wave.cut_off += (nodes.len() - changed.len()) as u64;
            wave.heights += 1;
        };
        if outcome.is_err() {
            changed.clear();
            self.queue.clear();
        }
        self.queue.drained = nodes;
        outcome
    }

    /// Queues what depends on a node; says how many times.
    fn queue_dependents(&mut self, node: Node) -> u64 {
        let Some(edges) = self.nodes.get(node as usize) else { return 0 };
        for &dependent in &edges.dependents {
            self.queue.add(dependent, self.nodes[dependent as usize].height);
        }
        edges.dependents.len() as u64
    }
}

/// The way to the entry at `last`, from the end back to the first.
fn unwind(came_from: &[(Node, usize)], last: usize) -> Vec<Node> {
    let mut path = Vec::new();
    let mut at = last;
    while at != usize::MAX {
        path.push(came_from[at].0);
        at = came_from[at].1;
    }
    path
}

/// Nodes that wait to run, by height.
#[derive(Clone, Debug, Default)]
struct Queue {
    /// The nodes of each height that wait.
    levels: Vec<Vec<Node>>,
    /// A bit for each height that has any, and the first word with one, or before it: heights only grow in a wave, so looking for the lowest
    /// goes over the words once.
    heights: Vec<u64>,
    first_word: usize,
    /// Whether each node waits.
    is_queued: Vec<bool>,
    /// Memory for the nodes that are handed out.
    drained: Vec<Node>,
}

impl Queue {
    fn add(&mut self, node: Node, height: u32) {
        let (index, height) = (node as usize, height as usize);
        if self.is_queued.len() <= index {
            self.is_queued.resize(index + 1, false);
        }
        if std::mem::replace(&mut self.is_queued[index], true) {
            return;
        }
        if self.levels.len() <= height {
            self.levels.resize_with(height + 1, Vec::new);
            self.heights.resize(self.levels.len().div_ceil(64), 0);
        }
        self.levels[height].push(node);
        self.heights[height / 64] |= 1 << (height % 64);
        self.first_word = self.first_word.min(height / 64);
    }

    /// Moves the nodes of the lowest height to `nodes`, in the order of their numbers; says whether there were any.
    fn take_lowest(&mut self, nodes: &mut Vec<Node>) -> bool {
        while self.heights.get(self.first_word) == Some(&0) {
            self.first_word += 1;
        }
        let Some(word) = self.heights.get_mut(self.first_word) else { return false };
        let height = self.first_word * 64 + word.trailing_zeros() as usize;
        *word &= *word - 1;
        nodes.append(&mut self.levels[height]);
        nodes.sort_unstable();
        for &node in &*nodes {
            self.is_queued[node as usize] = false;
        }
        true
    }

    fn clear(&mut self) {
        let mut nodes = Vec::new();
        while self.take_lowest(&mut nodes) {
            nodes.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs nodes by writing down which, and says that all but some have changed.
    struct Diary {
        ran: Vec<Vec<Node>>,
        unchanged: Vec<Node>,
        fails: Option<Node>,
    }

    impl Diary {
        fn new() -> Self {
            Self { ran: Vec::new(), unchanged: Vec::new(), fails: None }
        }
    }

    impl Run for Diary {
        type Error = Node;

        fn run(&mut self, nodes: &[Node], changed: &mut Vec<Node>) -> Result<(), Node> {
            self.ran.push(nodes.to_vec());
            if let Some(node) = self.fails.filter(|node| nodes.contains(node)) {
                return Err(node);
            }
            changed.extend(nodes.iter().filter(|node| !self.unchanged.contains(node)));
            Ok(())
        }
    }

    fn schedule(edges: &[(Node, &[Node])]) -> Schedule {
        let mut schedule = Schedule::new();
        for (node, dependencies) in edges {
            schedule.set_dependencies(*node, dependencies).unwrap();
        }
        schedule
    }

    #[test]
    fn a_diamond_runs_its_end_once_after_both_sides() {
        let mut schedule = schedule(&[(1, &[0]), (2, &[0]), (3, &[1, 2])]);
        let mut diary = Diary::new();
        let wave = schedule.propagate(&mut vec![0], &mut diary).unwrap();
        assert_eq!(diary.ran, [vec![1, 2], vec![3]]);
        assert_eq!((wave.visited, wave.ran, wave.cut_off, wave.heights), (4, 3, 0, 2));
    }

    #[test]
    fn what_has_not_changed_ends_the_wave() {
        let mut schedule = schedule(&[(1, &[0]), (2, &[1]), (3, &[2]), (4, &[0])]);
        let mut diary = Diary { unchanged: vec![1], ..Diary::new() };
        let wave = schedule.propagate(&mut vec![0], &mut diary).unwrap();
        assert_eq!(diary.ran, [vec![1, 4]]);
        assert_eq!((wave.ran, wave.cut_off), (2, 1));
    }

    #[test]
    fn a_cycle_is_refused_with_its_nodes_and_leaves_everything() {
        let mut schedule = schedule(&[(1, &[0]), (2, &[1]), (3, &[2])]);
        assert_eq!(schedule.set_dependencies(1, &[3]), Err(Cycle(vec![3, 2, 1])));
        assert_eq!(schedule.set_dependencies(2, &[2]), Err(Cycle(vec![2])));
        assert_eq!((schedule.dependencies(1), schedule.dependents(1)), (&[0][..], &[2][..]));
        let mut diary = Diary::new();
        schedule.propagate(&mut vec![0], &mut diary).unwrap();
        assert_eq!(diary.ran, [[1], [2], [3]]);
    }

    #[test]
    fn other_dependencies_lift_what_stands_above() {
        let mut schedule = schedule(&[(1, &[0]), (2, &[1]), (3, &[2]), (5, &[4]), (6, &[5])]);
        schedule.set_dependencies(5, &[4, 3]).unwrap();
        assert_eq!((schedule.height(5), schedule.height(6)), (4, 5));
        let mut diary = Diary::new();
        schedule.propagate(&mut vec![0, 4], &mut diary).unwrap();
        assert_eq!(diary.ran, [[1], [2], [3], [5], [6]]);
    }

    #[test]
    fn a_wave_that_fails_leaves_nothing_queued() {
        let mut schedule = schedule(&[(1, &[0]), (2, &[0]), (3, &[1, 2])]);
        let mut diary = Diary { fails: Some(2), ..Diary::new() };
        assert_eq!(schedule.propagate(&mut vec![0], &mut diary), Err(2));
        let mut diary = Diary::new();
        schedule.propagate(&mut vec![1], &mut diary).unwrap();
        assert_eq!(diary.ran, [[3]]);
    }

    #[test]
    fn a_node_that_is_cleared_runs_no_more() {
        let mut schedule = schedule(&[(1, &[0, 0]), (2, &[0])]);
        schedule.clear(1);
        assert_eq!(schedule.dependents(0), [2]);
        let mut diary = Diary::new();
        schedule.propagate(&mut vec![0], &mut diary).unwrap();
        assert_eq!(diary.ran, [[2]]);
    }

    #[test]
    fn a_million_nodes_in_a_chain_take_no_native_stack() {
        let mut schedule = Schedule::new();
        for node in 1..=1_000_000 {
            schedule.set_dependencies(node, &[node - 1]).unwrap();
        }
        let ran = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
            struct Count;
            impl Run for Count {
                type Error = ();
                fn run(&mut self, nodes: &[Node], changed: &mut Vec<Node>) -> Result<(), ()> {
                    changed.extend_from_slice(nodes);
                    Ok(())
                }
            }
            schedule.propagate(&mut vec![0], &mut Count).unwrap().ran
        });
        assert_eq!(ran.unwrap().join().unwrap(), 1_000_000);
    }
}
