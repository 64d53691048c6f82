//! The queries of the suite in differential-dataflow: one worker, which goes on until the answers are up to date.
//!
//! Answers are consolidated before they are counted: what comes and goes in one commit is no change, as on our side.

use super::graph::{Change, Edge};
use super::sides::{Follows, Told};
use crate::compare::Clock;
use differential_dataflow::VecCollection;
use differential_dataflow::input::{Input, InputSession};
use differential_dataflow::operators::Iterate;
use std::cell::Cell;
use std::error::Error;
use std::rc::Rc;
use timely::WorkerConfig;
use timely::communication::Allocator;
use timely::communication::allocator::thread::Thread;
use timely::dataflow::ProbeHandle;
use timely::worker::Worker;

/// A query over edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Paths of two, three or four edges.
    Path(usize),
    Triangle,
    Closure,
}

type Edges<'scope> = VecCollection<'scope, u64, Edge>;

/// A worker with one query.
pub(super) struct Dataflow {
    worker: Worker,
    input: InputSession<u64, Edge, isize>,
    probe: ProbeHandle<u64>,
    told: Rc<Cell<Told>>,
    answers: i64,
}

/// Counts what changes in answers.
fn counted<'scope, D: differential_dataflow::ExchangeData + differential_dataflow::Hashable>(
    answers: VecCollection<'scope, u64, D>,
    told: &Rc<Cell<Told>>,
    probe: &ProbeHandle<u64>,
) {
    let told = Rc::clone(told);
    answers
        .consolidate()
        .inspect(move |(_, _, count)| {
            let mut now = told.get();
            if *count > 0 {
                now.come += count.unsigned_abs() as u64;
            } else {
                now.gone += count.unsigned_abs() as u64;
            }
            told.set(now);
        })
        .probe_with(probe);
}

/// Paths that end with one more edge: the last node is the key.
fn longer<'scope, P: differential_dataflow::ExchangeData>(
    paths: VecCollection<'scope, u64, (u32, P)>,
    edges: Edges<'scope>,
) -> VecCollection<'scope, u64, (u32, (P, u32))> {
    paths.join_map(edges, |&middle, path, &to| (to, (path.clone(), middle)))
}

fn closure(edges: Edges<'_>) -> Edges<'_> {
    edges.clone().iterate(|scope, reached| {
        let edges = edges.enter(scope);
        let by_end = reached.map(|(from, to)| (to, from));
        by_end.join_map(edges.clone(), |_, &from, &to| (from, to)).concat(edges).distinct()
    })
}

fn build(shape: Shape, edges: Edges<'_>, told: &Rc<Cell<Told>>, probe: &ProbeHandle<u64>) {
    let one = edges.clone().map(|(from, to)| (to, from));
    match shape {
        Shape::Path(2) => counted(longer(one, edges), told, probe),
        Shape::Path(3) => counted(longer(longer(one, edges.clone()), edges), told, probe),
        Shape::Path(_) => counted(longer(longer(longer(one, edges.clone()), edges.clone()), edges), told, probe),
        Shape::Triangle => {
            let ends = longer(one, edges.clone()).map(|(to, (from, middle))| ((from, to), middle));
            counted(ends.semijoin(edges), told, probe);
        }
        Shape::Closure => counted(closure(edges), told, probe),
    }
}

impl Dataflow {
    /// The query over these edges, with its answers found.
    pub(super) fn new(shape: Shape, edges: &[Edge]) -> Self {
        let mut worker = Worker::new(WorkerConfig::default(), Allocator::Thread(Thread::default()), None);
        let (told, probe) = (Rc::new(Cell::new(Told::default())), ProbeHandle::new());
        let input = worker.dataflow::<u64, _, _>(|scope| {
            let (input, edges) = scope.new_collection::<Edge, isize>();
            build(shape, edges, &told, &probe);
            input
        });
        let mut made = Self { worker, input, probe, told, answers: 0 };
        edges.iter().for_each(|edge| made.input.insert(*edge));
        made.follow();
        made.hear();
        made
    }

    fn follow(&mut self) {
        self.input.advance_to(self.input.time() + 1);
        self.input.flush();
        let Self { worker, input, probe, .. } = self;
        worker.step_while(|| probe.less_than(input.time()));
    }

    fn hear(&mut self) -> Told {
        let told = self.told.take();
        self.answers += told.come as i64 - told.gone as i64;
        told
    }
}

impl Follows for Dataflow {
    fn answers(&self) -> i64 {
        self.answers
    }

    fn apply(&mut self, changes: &[Change], each: usize) -> Result<(Clock, Told), Box<dyn Error>> {
        let mut clock = Clock::default();
        clock.run(|| {
            for changes in changes.chunks(each) {
                for Change { edge, is_added } in changes {
                    self.input.update(*edge, if *is_added { 1 } else { -1 });
                }
                self.follow();
            }
        });
        let told = self.hear();
        Ok((clock, told))
    }
}
