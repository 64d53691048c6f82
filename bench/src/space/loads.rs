//! Loading a text of facts.
//!
//! Each side reads a file with the same facts in its own syntax and has them ready for questions: hyperon and SWI-Prolog as they are,
//! DuckDB as a table with an index of each column. Ours is asked by the second argument at the end, which makes that index.

use super::facts::{Form, write_file};
use super::{Contest, DUCKDB, HYPERON, Peer, SWIPL};
use crate::compare::{Clock, Timed};
use crate::{Plan, Rows};
use metroon::{Engine, LoadOptions, SystemWorld};
use std::error::Error;
use std::path::Path;

const HYPERON_EDGES_MAX: u64 = 1_000_000;

pub(super) fn rows(plan: &Plan) -> Rows {
    let mut rows = sized(plan, 1_000_000, "1M", 5)?;
    rows.extend(sized(plan, 10_000_000, "10M", 1)?);
    Ok(rows)
}

fn sized(plan: &Plan, full: u64, shown: &str, rounds: usize) -> Rows {
    let edges = plan.scaled(full);
    let path = |form: Form| plan.scratch.join("edges").with_extension(form.extension());
    for form in [Form::Metta, Form::Csv, Form::Prolog] {
        write_file(&path(form), form, edges)?;
    }
    // Of ten million facts hyperon would take more memory than most machines have: it loads fewer, compared by the fact.
    let fewer = edges.min(plan.scaled(HYPERON_EDGES_MAX));
    let path_of_fewer = plan.scratch.join("fewer.metta");
    write_file(&path_of_fewer, Form::Metta, fewer)?;
    let mut rows = Vec::new();
    for (mut peer, must) in
        [(Peer::hyperon(plan)?, Some(10.0)), (Peer::duckdb(plan)?, Some(1.0)), (Peer::swipl(plan)?, None)]
    {
        let is_slow = peer.name == HYPERON;
        let file = if is_slow { path_of_fewer.clone() } else { path(peer.form) };
        let their_edges = if is_slow { fewer } else { edges };
        let contest = Contest {
            name: &format!("text load of {shown}, a fact"),
            n: edges,
            peer: peer.name,
            must,
            rounds,
            note: note(peer.name),
        };
        rows.push(contest.run(plan, &mut || load(&path(Form::Metta), edges), &mut || {
            let loaded = peer.load(&file)?;
            if loaded.checksum != their_edges {
                return Err(format!("{} loaded {} facts of {their_edges}", peer.name, loaded.checksum).into());
            }
            let elapsed = loaded.elapsed.mul_f64(edges as f64 / their_edges as f64);
            Ok(Timed { elapsed, checksum: edges })
        })?);
    }
    Ok(rows)
}

fn note(peer: &str) -> &'static str {
    match peer {
        DUCKDB => "(edge aI bJ), J of 1,000; DuckDB reads the same as CSV and indexes both columns",
        HYPERON => {
            "(edge aI bJ), J of 1,000; hyperon loads 1M in any case, and is compared by the fact; MORK's recorded figure is 463 ns a fact at 1M"
        }
        SWIPL => "(edge aI bJ), J of 1,000; SWI-Prolog reads terms and asserts each",
        _ => "",
    }
}

/// Ours: the loader, then a question by the second argument.
fn load(path: &Path, edges: u64) -> Result<Timed, Box<dyn Error>> {
    let mut engine = Engine::new(SystemWorld::default());
    let mut clock = Clock::default();
    let file = path.to_str().ok_or("the path is no text")?;
    let report = clock.run(|| {
        let report = engine.load(file, &LoadOptions::default(), &mut |_| {});
        engine.run_text("!(match &self (edge $x b1) $x)", &mut |_, _| Ok(()));
        report
    })?;
    if report.added != edges || !report.is_whole() {
        return Err(format!("{} facts were loaded of {edges}", report.added).into());
    }
    Ok(clock.done(report.added))
}
