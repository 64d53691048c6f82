//! Sets of pages on a GPU, where they are resident, beside the processor. One script for a card that is lent: some minutes in all.
//!
//! Without a card nothing is measured, and the rows say so; an adapter that is a processor is none. The suite is built with the feature `gpu`,
//! which `cargo xtask bench gpu` gives.

use crate::compare::{self, Clock, Timed};
use crate::row::Row;
use crate::{Plan, Rows};
use reactive::{Functions, GpuOptions, Options, PageSet, Router, State, Threshold, Transaction};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Instant;

const SUITE: &str = "gpu";
const ROUNDS: usize = 5;
const PEER: &str = "the processor";
/// How many pages one transaction makes.
const MADE_AT_ONCE: usize = 1 << 12;

/// A row: its name, how many pages a set has, how long they are, what is done, and what the note says.
struct Case {
    name: &'static str,
    pages: u64,
    page_bytes: usize,
    work: Work,
    note: &'static str,
}

#[derive(Clone, Copy)]
enum Work {
    Differing,
    Xor,
    /// Of matrices of this order.
    Boolean(usize),
    /// Of matrices of this order.
    MinPlus(usize),
    /// The ten nearest rows, of this number of floats.
    Nearest(usize),
}

const CASES: &[Case] = &[
    Case {
        name: "bytes that differ, two sets of 64 MiB",
        pages: 16 << 10,
        page_bytes: 4 << 10,
        work: Work::Differing,
        note: "pages of 4 KiB",
    },
    Case {
        name: "bytes that differ, two sets of 512 MiB",
        pages: 128 << 10,
        page_bytes: 4 << 10,
        work: Work::Differing,
        note: "pages of 4 KiB",
    },
    Case {
        name: "exclusive or, two sets of 512 MiB",
        pages: 128 << 10,
        page_bytes: 4 << 10,
        work: Work::Xor,
        note: "pages of 4 KiB; all that comes of it crosses the bus",
    },
    Case {
        name: "boolean products, order 2,048",
        pages: 64,
        page_bytes: 2048 * 2048 / 8,
        work: Work::Boolean(2048),
        note: "64 products; half of the bits are set",
    },
    Case {
        name: "min-plus products, order 512",
        pages: 32,
        page_bytes: 4 * 512 * 512,
        work: Work::MinPlus(512),
        note: "32 products of lengths of 32 bits",
    },
    Case {
        name: "the ten nearest of 1M embeddings",
        pages: 1 << 10,
        page_bytes: 4 * 128 * 1024,
        work: Work::Nearest(128),
        note: "128 floats each; distances that the GPU proposes, decided in 64 bits by the processor",
    },
];

pub(crate) fn run(plan: &Plan) -> Rows {
    let clock = Instant::now();
    let clock: reactive::Clock = Arc::new(move || clock.elapsed().as_nanos() as u64);
    let router = Router::open(&GpuOptions { threshold: Threshold::Measured { clock, kept: None } });
    let why = match (router.adapter(), router.none()) {
        (Some(adapter), _) if adapter.is_cpu => format!("{} is a processor", adapter.name),
        (Some(adapter), _) => {
            eprintln!(
                "{}, {} {}; threshold {:?}",
                adapter.name, adapter.driver, adapter.driver_info, adapter.threshold
            );
            return CASES.iter().map(|case| measured(plan, case)).collect();
        }
        (None, none) => none.map_or_else(String::new, ToString::to_string),
    };
    eprintln!("nothing is measured: {why}");
    Ok(CASES.iter().map(unmeasured).collect())
}

/// The row of a machine without a card.
fn unmeasured(case: &Case) -> Row {
    Row {
        suite: SUITE,
        case: case.name.to_owned(),
        n: case.pages,
        ours: None,
        peer: PEER,
        peer_figure: None,
        ratio: None,
        rounds: 0,
        unit: None,
        note: format!(
            "{}; unmeasured: this machine has no card; `cargo xtask bench gpu` on one that has measures it",
            case.note
        ),
    }
}

fn measured(plan: &Plan, case: &Case) -> Result<Row, Box<dyn std::error::Error>> {
    // All is sent to the card, so that the row says what the card does.
    let mut card = Router::open(&GpuOptions { threshold: Threshold::Bytes(0) });
    let mut processor = Router::cpu();
    let pages = plan.scaled(case.pages);
    let (mut left, mut right) = (set(pages, case, 1)?, set(pages, case, 2)?);
    for set in [&mut left, &mut right] {
        card.make_resident(set).map_err(|refused| refused.to_string())?;
    }
    let compared = compare::Case {
        suite: SUITE,
        name: case.name.to_owned(),
        n: pages,
        peer: PEER,
        rounds: plan.rounds(ROUNDS),
        note: case.note.to_owned(),
    };
    let row = compare::compare(compared, &mut || done(&mut card, (&left, &right), case.work), &mut || {
        done(&mut processor, (&left, &right), case.work)
    })?;
    let counts = card.counts();
    if counts.routed != counts.asked {
        return Err(format!("{}: the card did not do all: {counts:?}", case.name).into());
    }
    Ok(row)
}

/// Does the work once; the checksum is of all that it comes to.
fn done(
    router: &mut Router,
    (left, right): (&PageSet, &PageSet),
    work: Work,
) -> Result<Timed, Box<dyn std::error::Error>> {
    let (mut clock, mut hasher) = (Clock::default(), DefaultHasher::new());
    match work {
        Work::Differing => clock.run(|| router.differing(left, right))?.hash(&mut hasher),
        Work::Xor => clock.run(|| router.xor(left, right))?.hash(&mut hasher),
        Work::Boolean(order) => clock.run(|| router.boolean_product(left, right, order))?.hash(&mut hasher),
        Work::MinPlus(order) => clock.run(|| router.min_plus_product(left, right, order))?.hash(&mut hasher),
        Work::Nearest(dimensions) => {
            let found = clock.run(|| router.nearest(left, &vec![0.25; dimensions], 10))?;
            found.iter().for_each(|neighbor| (neighbor.row, neighbor.distance.to_bits()).hash(&mut hasher));
        }
    }
    Ok(clock.done(hasher.finish()))
}

/// Pages of a state, as a snapshot has them: floats between 0 and 1 where they are taken for embeddings, any bits else.
fn set(pages: u64, case: &Case, seed: u64) -> Result<PageSet, Box<dyn std::error::Error>> {
    let mut random = crate::random::Random::new(seed);
    let mut state = State::new(Functions::new(), Options::default());
    let mut ids = Vec::new();
    while (ids.len() as u64) < pages {
        let mut transaction = Transaction::new();
        for _ in 0..MADE_AT_ONCE.min(pages as usize - ids.len()) {
            let words = (0..case.page_bytes / 4).map(|_| 2 * random.below(1 << 31) as u32 + 1);
            let word = |bits: u32| match case.work {
                Work::Nearest(_) => ((bits >> 8) as f32 / (1 << 24) as f32).to_bits(),
                Work::MinPlus(_) => bits >> 8,
                _ => bits,
            };
            let bytes: Vec<u8> = words.flat_map(|bits| word(bits).to_le_bytes()).collect();
            transaction.create(&bytes);
        }
        ids.extend(state.commit(&transaction)?.created);
    }
    Ok(PageSet::new(&state.snapshot(), ids)?)
}
