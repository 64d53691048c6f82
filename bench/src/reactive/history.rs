//! What is kept, written and read again, beside writing and reading as many bytes.

use super::sheets::{Ours, Shape, Sheet, functions};
use super::waves::plain;
use super::{Failure, PAGE_BYTES, ROUNDS, SUITE, images};
use crate::compare::{Case, Clock, contest};
use crate::row::Row;
use crate::{Plan, Rows};
use journal::{Directory, Durability};
use reactive::{Options, State, Transaction};
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

pub(super) fn rows(plan: &Plan) -> Rows {
    Ok(vec![checkpoint(plan)?, restore(plan)?, replay(plan)?])
}

fn create(folder: &Path) -> Result<State, Failure> {
    let _ = std::fs::remove_dir_all(folder);
    Ok(State::create(Arc::new(Directory::create(folder)?), functions(), Options::default().threads(1)))
}

fn open(folder: &Path) -> Result<State, Failure> {
    Ok(State::open(Arc::new(Directory::open(folder)?), functions(), Options::default().threads(1))?.0)
}

/// A state with `pages` pages.
fn filled(folder: &Path, pages: u64) -> Result<State, Failure> {
    let mut state = create(folder)?;
    let mut transaction = Transaction::new();
    images(PAGE_BYTES).iter().cycle().take(pages as usize).for_each(|image| _ = transaction.create(image));
    state.commit(&transaction)?;
    Ok(state)
}

/// How many bytes there are in files whose names end so.
fn bytes(folder: &Path, suffix: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(suffix) {
            bytes.extend(std::fs::read(path)?);
        }
    }
    Ok(bytes)
}

fn case(plan: &Plan, name: &str, n: u64, peer: &'static str, note: &str) -> Case {
    Case { suite: SUITE, name: name.to_owned(), n, peer, rounds: plan.rounds(ROUNDS), note: note.to_owned() }
}

fn checkpoint(plan: &Plan) -> Result<Row, Box<dyn Error>> {
    let n = plan.scaled(10_000);
    let folder = plan.scratch.join("checkpoint");
    let mut state = filled(&folder, n).map_err(plain)?;
    state.checkpoint().map_err(plain)?;
    let written = bytes(&folder, ".pages")?;
    let path = plan.scratch.join("copy");
    let case = case(
        plan,
        "checkpoint of 10,000 pages",
        n,
        "write() and fsync of as many bytes",
        "ours gathers the pages and hashes them besides",
    );
    let ours = &mut || {
        let mut clock = Clock::default();
        clock.run(|| state.checkpoint()).map_err(plain)?;
        Ok(clock.done(n))
    };
    let theirs = &mut || {
        let mut clock = Clock::default();
        clock.run(|| {
            let mut file = std::fs::File::create(&path)?;
            file.write_all(&written)?;
            file.sync_all()
        })?;
        Ok(clock.done(n))
    };
    contest(case, None, ours, theirs)
}

fn restore(plan: &Plan) -> Result<Row, Box<dyn Error>> {
    let n = plan.scaled(10_000);
    let folder = plan.scratch.join("restore");
    filled(&folder, n).and_then(|mut state| state.checkpoint()).map_err(plain)?;
    let note = "ours checks a checksum and the hash of the state, and makes the pages";
    let case = case(plan, "10,000 pages opened from a checkpoint", n, "read() of the checkpoint", note);
    let ours = &mut || {
        let mut clock = Clock::default();
        let state = clock.run(|| open(&folder)).map_err(plain)?;
        Ok(clock.done(state.pages().count() as u64))
    };
    let theirs = &mut || {
        let mut clock = Clock::default();
        let read = clock.run(|| bytes(&folder, ".pages"))?;
        Ok(clock.done(if read.len() as u64 > n * PAGE_BYTES as u64 { n } else { 0 }))
    };
    contest(case, None, ours, theirs)
}

fn replay(plan: &Plan) -> Result<Row, Box<dyn Error>> {
    let n = plan.scaled(10_000);
    let folder = plan.scratch.join("replay");
    let mut sheet = Ours::of(create(&folder).map_err(plain)?, Shape::Chain(10)).map_err(plain)?;
    let images = images(PAGE_BYTES);
    images.iter().cycle().take(n as usize).try_for_each(|image| sheet.write(image).map(drop)).map_err(plain)?;
    sheet.state.sync(Durability::Os).map_err(plain)?;
    drop(sheet);
    let note = "a chain of 10 pages: ours checks each frame of the log, applies it and derives nine pages";
    let case = case(plan, "10,000 commits replayed", n, "read() of the log", note);
    let ours = &mut || {
        let mut clock = Clock::default();
        let state = clock.run(|| open(&folder)).map_err(plain)?;
        Ok(clock.done(state.epoch() - 1))
    };
    let theirs = &mut || {
        let mut clock = Clock::default();
        let read = clock.run(|| bytes(&folder, ".segment"))?;
        Ok(clock.done(if read.len() as u64 > n * PAGE_BYTES as u64 { n } else { 0 }))
    };
    contest(case, None, ours, theirs)
}
