//! One page changes, and what depends on it follows.

use super::differential::Differential;
use super::sheets::{Incremental, Ours, Salsa, Shape, Sheet};
use super::{Failure, PAGE_BYTES, ROUNDS, SUITE, images};
use crate::compare::{Case, Clock, Timed, contest};
use crate::row::Row;
use crate::{Plan, Rows};
use reactive::{Functions, Options, State, Transaction};
use std::error::Error;

pub(super) const SALSA: &str = "salsa";
const INCREMENTAL: &str = "incremental";
const DIFFERENTIAL: &str = "differential-dataflow";

/// A case: its name, the shape, how many pages follow, and what must be beside salsa.
const CASES: &[(&str, Shape, u64, Option<f64>)] = &[
    ("one hop", Shape::Chain(2), 1, None),
    ("chain of 10", Shape::Chain(10), 9, None),
    ("chain of 32", Shape::Chain(32), 31, None),
    ("chain of 128", Shape::Chain(128), 127, Some(2.0)),
    ("chain of 1,000", Shape::Chain(1_000), 999, Some(2.0)),
    ("fan-out of 1,000", Shape::Fan(1_000), 1_000, Some(1.5)),
    ("32 diamonds, one above the other", Shape::Diamonds(32), 96, Some(1.5)),
];

/// About how many pages are derived in a round.
const DERIVED: u64 = 100_000;

pub(super) fn rows(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    for &(name, shape, follow, must) in CASES {
        let n = plan.scaled(DERIVED / follow);
        let dense = images(PAGE_BYTES);
        let note = "all bytes of the first page change; no log on either side";
        rows.extend(beside_all(plan, name, n, shape, &dense, must, note)?);
    }
    let sparse = images(10);
    let note = "ten bytes of the first page change; no log on either side";
    rows.extend(beside_all(plan, "one hop, ten bytes", plan.scaled(DERIVED), Shape::Chain(2), &sparse, None, note)?);
    // The lowest bits of all images are the same, so nothing follows from the page that has them.
    let even: Vec<Vec<u8>> =
        images(PAGE_BYTES).into_iter().map(|image| image.into_iter().map(|byte| byte & !1).collect()).collect();
    let note =
        "the first page that follows does not change, so a thousand behind it need no look; no log on either side";
    let name = "cut off before a chain of 1,000";
    rows.extend(beside_all(plan, name, plan.scaled(1_000), Shape::CutOff(1_000), &even, Some(20.0), note)?);
    rows.push(made(plan)?);
    Ok(rows)
}

fn beside_all(
    plan: &Plan,
    name: &str,
    n: u64,
    shape: Shape,
    images: &[Vec<u8>],
    must: Option<f64>,
    note: &str,
) -> Rows {
    let mut ours = Ours::new(shape).map_err(plain)?;
    let (mut salsa, mut incremental, differential) =
        (Salsa::new(shape), Incremental::new(shape), Differential::new(shape));
    let salsa = beside(plan, name, n, SALSA, must, note, images, (&mut ours, &mut salsa))?;
    let mut ours = Ours::new(shape).map_err(plain)?;
    let incremental = beside(plan, name, n, INCREMENTAL, None, note, images, (&mut ours, &mut incremental))?;
    let mut rows = vec![salsa, incremental];
    if let Some(mut differential) = differential {
        let mut ours = Ours::new(shape).map_err(plain)?;
        rows.push(beside(plan, name, n, DIFFERENTIAL, None, note, images, (&mut ours, &mut differential))?);
    }
    Ok(rows)
}

#[allow(clippy::too_many_arguments, reason = "a case in a line")]
fn beside(
    plan: &Plan,
    name: &str,
    n: u64,
    peer: &'static str,
    must: Option<f64>,
    note: &str,
    images: &[Vec<u8>],
    (ours, theirs): (&mut dyn Sheet, &mut dyn Sheet),
) -> Result<Row, Box<dyn Error>> {
    let rounds = plan.rounds(ROUNDS);
    let case = Case { suite: SUITE, name: name.to_owned(), n, peer, rounds, note: note.to_owned() };
    let must = must.map(|least| (least, "times salsa"));
    contest(case, must, &mut || write_all(ours, n, images), &mut || write_all(theirs, n, images))
}

/// Writes the images in turn, beginning with the first, so that all rounds and sides do the same.
pub(super) fn write_all(sheet: &mut dyn Sheet, n: u64, images: &[Vec<u8>]) -> Result<Timed, Box<dyn Error>> {
    let mut clock = Clock::default();
    let sum = clock.run(|| {
        let writes = images.iter().cycle().take(n as usize);
        writes
            .map(|image| sheet.write(image))
            .try_fold(0_u64, |sum, looked| Ok::<_, Failure>(sum.wrapping_add(looked?)))
    });
    Ok(clock.done(sum.map_err(plain)?))
}

/// The error, for threads that do not leave.
pub(super) fn plain(error: Failure) -> Box<dyn Error> {
    error
}

/// Making a state with a page in it.
fn made(plan: &Plan) -> Result<Row, Box<dyn Error>> {
    let n = plan.scaled(20_000);
    let image = images(PAGE_BYTES).swap_remove(0);
    let mut pooled = State::new(Functions::new(), Options::default());
    let mut transaction = Transaction::new();
    let case = Case {
        suite: SUITE,
        name: "a state with a page, made and dropped".to_owned(),
        n,
        peer: SALSA,
        rounds: plan.rounds(ROUNDS),
        note: "ours is reset and used again, as a pool would; salsa makes a database and an input".to_owned(),
    };
    let ours = &mut || {
        let mut clock = Clock::default();
        let sum = clock.run(|| {
            (0..n).try_fold(0, |sum, _| {
                pooled.reset(None);
                transaction.clear();
                transaction.create(&image);
                let page = pooled.commit(&transaction)?.created[0];
                Ok::<u64, Failure>(sum + super::sheets::look(pooled.read(page).ok_or("the page is there")?))
            })
        });
        Ok(clock.done(sum.map_err(plain)?))
    };
    let theirs = &mut || {
        let mut clock = Clock::default();
        let sum = clock.run(|| (0..n).map(|_| super::sheets::one_input(&image)).sum());
        Ok(clock.done(sum))
    };
    contest(case, Some((10.0, "times salsa")), ours, theirs)
}
