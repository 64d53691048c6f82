//! The arena for values of any type, beside bumpalo: the same calls, the same bytes.

use super::allocate::{Size, bump_anew, bump_warm};
use super::child::State;
use super::life::{Shape, bump_anew as bump_each, bump_pooled};
use super::objects::{Node, Nodes, chain_bump, read_last_plain, read_plain};
use super::{Clock, Contest};
use crate::{Plan, Rows};
use bumpalo::Bump;
use region::Arena;
use std::hint::black_box;

const EQUAL: &str = "16 bytes an object on both sides";
const EQUAL_LARGE: &str = "40 bytes an object on both sides";

pub(super) fn rows(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    for size in Size::all(plan) {
        rows.push(warm::<1>(plan, size, EQUAL)?);
        rows.push(warm::<7>(plan, size, EQUAL_LARGE)?);
    }
    rows.extend(lives(plan)?);
    Ok(rows)
}

pub(super) fn fresh_rows(plan: &Plan) -> Rows {
    Ok(vec![fresh::<1>(plan, EQUAL)?, fresh::<7>(plan, EQUAL_LARGE)?])
}

fn chain<const V: usize>(arena: &Arena, objects: u32) -> Option<&Node<'_, V>> {
    (0..objects).fold(None, |before, number| Some(&*arena.alloc(Node::new(number, before))))
}

fn warm<const V: usize>(plan: &Plan, size: Size, note: &str) -> Result<crate::row::Row, super::Failure> {
    let Size { objects, repeats } = size;
    let mut arena = Arena::new();
    let mut ours = || {
        let mut clock = Clock::default();
        clock.run(|| {
            for _ in 1..repeats {
                arena.reset();
                black_box(chain::<V>(&arena, objects));
            }
            arena.reset();
        });
        let last = clock.run(|| chain::<V>(&arena, objects));
        Ok(clock.done(read_plain(last)))
    };
    let mut theirs = bump_warm::<Nodes<V>>();
    let contest = Contest {
        name: &format!("arena: {objects} objects, warm"),
        n: size.total(),
        peer: "bumpalo, reset",
        must: Some((0.91, "small object, warm")),
        note,
    };
    contest.run(plan, &mut ours, &mut || theirs(size))
}

fn fresh<const V: usize>(plan: &Plan, note: &str) -> Result<crate::row::Row, super::Failure> {
    let size = Size::fresh(plan);
    let mut ours = || {
        let mut clock = Clock::default();
        let arena = clock.run(Arena::new);
        let last = clock.run(|| chain::<V>(&arena, size.objects));
        let checksum = read_plain(last);
        clock.run(|| drop(arena));
        Ok(clock.done(checksum))
    };
    let must = Some((1.0, "10M objects, fresh memory"));
    let name = "arena: 10M objects, fresh memory";
    let contest = Contest { name, n: size.total(), peer: "bumpalo, new", must, note };
    contest.run(plan, &mut ours, &mut || bump_anew::<Nodes<V>>(size))
}

/// One region after the other: ours takes its chunk from the pool that it keeps for the thread.
fn lives(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    let cases = [
        (1, "arena: create, 1 object, destroy"),
        (10, "arena: create, 10 objects, destroy"),
        (100, "arena: create, 100 objects, destroy"),
    ];
    for (objects, name) in cases {
        let regions = plan.scaled(800_000);
        let mut ours = || {
            let (mut clock, mut sum) = (Clock::default(), 0);
            clock.run(|| {
                for _ in 0..regions {
                    let arena = black_box(Arena::new());
                    sum += read_last_plain(black_box(chain::<1>(&arena, objects)));
                }
            });
            Ok(clock.done(sum))
        };
        let shape = Shape { regions, objects, repeats: 1 };
        let contest = |peer, least| {
            // What was asked for is of arenas of one chunk.
            let must = (objects <= 10).then_some((least, "create + allocate + destroy"));
            Contest { name, n: regions, peer, must, note: EQUAL }
        };
        rows.push(contest("bumpalo, new", 3.0).run(plan, &mut ours, &mut || bump_each(shape))?);
        rows.push(contest("bumpalo, pool of 32", 1.2).run(plan, &mut ours, &mut || bump_pooled(shape))?);
    }
    Ok(rows)
}

pub(super) fn live_at_once(plan: &Plan, state: State) -> Result<crate::row::Row, super::Failure> {
    const REGIONS: u64 = 1_000;
    let repeats = plan.scaled(200);
    let contest = Contest {
        name: &format!("arena: 1000 live regions of 1 object, {}", state.words),
        n: REGIONS * repeats,
        peer: "bumpalo, new",
        must: Some((8.0, "1,000 live regions")),
        note: EQUAL,
    };
    let mut ours = || {
        let (mut clock, mut sum) = (Clock::default(), 0);
        clock.run(|| {
            for _ in 0..repeats {
                let open: Vec<Arena> = (0..REGIONS).map(|_| Arena::new()).collect();
                let lasts: Vec<_> = open.iter().map(|arena| chain::<1>(arena, 1)).collect();
                sum += lasts.into_iter().map(read_last_plain).sum::<u64>() + open.len() as u64;
            }
        });
        Ok(clock.done(sum))
    };
    let mut theirs = || {
        let (mut clock, mut sum) = (Clock::default(), 0);
        clock.run(|| {
            for _ in 0..repeats {
                let open: Vec<Bump> = (0..REGIONS).map(|_| Bump::new()).collect();
                let lasts: Vec<_> = open.iter().map(|bump| chain_bump::<1>(bump, 1)).collect();
                sum += lasts.into_iter().map(read_last_plain).sum::<u64>() + open.len() as u64;
            }
        });
        Ok(clock.done(sum))
    };
    contest.run(plan, &mut ours, &mut theirs)
}
