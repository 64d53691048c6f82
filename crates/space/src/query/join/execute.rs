//! Executing a join, on several threads where that pays.
//!
//! The values of the first variable are cut into ranges that have about as many nodes below them. Threads take the next range when they
//! are done with one. What they found is put together in the order of the ranges and then sorted like the answers of one thread, so the
//! number of threads changes nothing but the time.

use super::super::filter::Given;
use super::super::unfinished::Unfinished;
use super::super::view::View;
use super::leapfrog::{Inputs, JoinPart, Wanted, run};
use super::pattern::{JoinPattern, Sources};
use super::prepared::{Join, Room};
use crate::relation::Trie;
use crate::term::Term;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A join that is estimated to cost less is not worth a second thread.
const COST_OF_THREADS_MIN_NS: f64 = 5_000_000.0;
/// How many ranges are made for each thread: they take different times.
const RANGES_PER_THREAD: usize = 16;

impl Join {
    /// Adds its answers, in order, and gives how many there are.
    pub(in crate::query) fn execute(
        &self,
        view: View<'_>,
        given: Given<'_>,
        room: Room<'_>,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<usize, Unfinished> {
        self.execute_on(self.threads(), view, given, room, should_stop)
    }

    /// How many answers it has.
    pub(in crate::query) fn count(
        &self,
        view: View<'_>,
        given: Given<'_>,
        after_each: &mut Vec<usize>,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<usize, Unfinished> {
        self.count_on(self.threads(), view, given, after_each, should_stop)
    }

    /// How many answers it has, counted on `threads` threads.
    pub(super) fn count_on(
        &self,
        threads: usize,
        view: View<'_>,
        given: Given<'_>,
        after_each: &mut Vec<usize>,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<usize, Unfinished> {
        let found = self.find(threads, view, (given, Wanted::Number), should_stop)?;
        *after_each = found.after_each;
        Ok(found.made)
    }

    /// How many threads pay.
    fn threads(&self) -> usize {
        let pays = self.cost_ns >= COST_OF_THREADS_MIN_NS;
        if pays { thread::available_parallelism().map_or(1, usize::from) } else { 1 }
    }

    /// Adds its answers, in order, found by `threads` threads.
    pub(super) fn execute_on(
        &self,
        threads: usize,
        view: View<'_>,
        given: Given<'_>,
        Room { answers, after_each, most }: Room<'_>,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<usize, Unfinished> {
        let found = self.find(threads, view, (given, Wanted::Answers { most }), should_stop)?;
        let JoinPart { answers: mut found, order, made, after_each: counted } = found;
        order.sort(self.variables as usize, &mut found);
        if answers.is_empty() {
            *answers = found
        } else {
            answers.extend(found)
        }
        *after_each = counted;
        Ok(made)
    }

    /// Finds the answers, not yet in order, or counts them.
    fn find(
        &self,
        threads: usize,
        view: View<'_>,
        (given, wanted): (Given<'_>, Wanted),
        should_stop: &dyn Fn() -> bool,
    ) -> Result<JoinPart, Unfinished> {
        let sources: Vec<Sources<'_>> = self.patterns.iter().map(|pattern| pattern.sources(view)).collect();
        if !sources.iter().all(Sources::can_be_joined) {
            return Err(Unfinished::NotRows);
        }
        let patterns = self.patterns.iter().zip(&self.columns).zip(&sources);
        let trie = |((pattern, columns), sources): ((&JoinPattern, &Vec<usize>), &Sources<'_>)| {
            if should_stop() { None } else { pattern.trie(columns, sources, view.terms, should_stop) }
        };
        let Some(tries) = patterns.map(trie).collect::<Option<Vec<Arc<Trie>>>>() else {
            return Err(Unfinished::Stopped);
        };
        let are_plain = sources.iter().all(Sources::are_plain) && tries.iter().all(|trie| trie.are_leaves_single());
        let inputs = Inputs { join: self, tries: &tries, sources: &sources, are_plain, given, view, wanted };
        if tries.iter().any(|trie| trie.len() == 0) {
            return Ok(JoinPart { after_each: Vec::new(), ..inputs.nothing() });
        }
        let ranges = if threads > 1 { inputs.ranges(threads * RANGES_PER_THREAD) } else { Vec::new() };
        match ranges.len() {
            0 | 1 => run(&inputs, None, should_stop),
            _ => run_on_threads(threads, &inputs, &ranges, should_stop),
        }
    }
}

impl Inputs<'_> {
    /// Ranges of values of the first variable, all together; none if it is not the first of its patterns, or is not bound.
    fn ranges(&self, count: usize) -> Vec<[Term; 2]> {
        let parameters = self.join.order.iter().take_while(|&&variable| variable >= self.join.variables).count();
        if self.wanted == Wanted::Number && self.join.private.from <= parameters {
            return Vec::new();
        }
        match self.join.steps.get(parameters).map(Vec::as_slice) {
            Some([(pattern, 0), rest @ ..]) if rest.iter().all(|(_, level)| *level == 0) => {
                let bounds = self.tries[*pattern].level(0).bounds(count);
                bounds.windows(2).map(|bounds| [bounds[0], bounds[1]]).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Finds what a join finds in each of some ranges.
fn run_on_threads(
    threads: usize,
    inputs: &Inputs<'_>,
    ranges: &[[Term; 2]],
    should_stop: &dyn Fn() -> bool,
) -> Result<JoinPart, Unfinished> {
    let (next, is_stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let parts: Mutex<Vec<Result<JoinPart, Unfinished>>> =
        Mutex::new(ranges.iter().map(|_| Err(Unfinished::Stopped)).collect());
    let work = |should_stop: &dyn Fn() -> bool| {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(&range) = ranges.get(place) else { return };
            let part = run(inputs, Some(range), should_stop);
            let has_ended = part.is_err();
            parts.lock().expect(UNHARMED)[place] = part;
            if has_ended {
                return is_stopped.store(true, Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        let spawn = |_| scope.spawn(|| work(&|| is_stopped.load(Ordering::Relaxed)));
        let spawned: Vec<_> = (1..threads).map(spawn).collect();
        // Only this thread may ask the caller.
        work(&|| should_stop() || is_stopped.load(Ordering::Relaxed));
        // A thread that met a damaged block of an image ends the whole join as it ended.
        spawned.into_iter().for_each(|thread| thread.join().unwrap_or_else(|payload| resume_unwind(payload)));
    });
    let parts = parts.into_inner().expect(UNHARMED);
    let too_many = parts.iter().any(|part| matches!(part, Err(Unfinished::TooMany)));
    let all = parts.into_iter().reduce(joined).unwrap_or(Err(Unfinished::Stopped));
    if too_many { Err(Unfinished::TooMany) } else { all }
}

/// Why the lock is never poisoned.
const UNHARMED: &str = "nothing panics while the parts of a join are locked";

/// Two parts, of which the second follows the first.
fn joined(first: Result<JoinPart, Unfinished>, second: Result<JoinPart, Unfinished>) -> Result<JoinPart, Unfinished> {
    let (mut first, second) = (first?, second?);
    first.answers.extend(second.answers);
    first.order.append(second.order);
    first.made += second.made;
    first.after_each.iter_mut().zip(second.after_each).for_each(|(sum, more)| *sum += more);
    Ok(first)
}
