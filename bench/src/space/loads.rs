//! Loading a text of facts, in the ways that a user has. `metroon run FILE` takes it form by form, as any program; `metroon kb load`
//! takes it as data, of which nothing is evaluated, and keeps it on disk; `Engine::load` does that in memory. Each row says which.
//!
//! Each side reads a file with the same facts in its own syntax and has them ready for questions: hyperon and SWI-Prolog as they are,
//! DuckDB as a table with an index of the second column. Ours is asked by the second argument at the end, which makes that index.

use super::facts::{Form, write_file};
use super::{Contest, DUCKDB, Failure, HYPERON, Peer, SWIPL};
use crate::compare::{Clock, Timed};
use crate::{Plan, Rows};
use metroon::load::LoadOptions;
use metroon::storage::CommitJournal;
use metroon::{Engine, RunEnd, SystemWorld};
use std::path::Path;

const HYPERON_EDGES_MAX: u64 = 1_000_000;

/// How a user has a text of facts loaded.
#[derive(Clone, Copy)]
enum Way {
    Run,
    Load,
    LoadKept,
}

pub(super) fn rows(plan: &Plan) -> Rows {
    let mut rows = sized(plan, (1_000_000, "1M"), &[Way::Run, Way::Load, Way::LoadKept], 5)?;
    rows.extend(sized(plan, (10_000_000, "10M"), &[Way::Load], 1)?);
    Ok(rows)
}

fn sized(plan: &Plan, (full, shown): (u64, &str), ways: &[Way], rounds: usize) -> Rows {
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
        for &way in ways {
            let contest = Contest {
                name: &format!("text load of {shown} {}, a fact", way.shown()),
                n: edges,
                peer: peer.name,
                must: must.filter(|_| matches!(way, Way::Load)),
                rounds,
                note: &way.noted(note(peer.name)),
            };
            rows.push(contest.run(plan, &mut || load(way, &path(Form::Metta), edges), &mut || {
                let loaded = peer.load(&file)?;
                if loaded.checksum != their_edges {
                    return Err(format!("{} loaded {} facts of {their_edges}", peer.name, loaded.checksum).into());
                }
                let elapsed = loaded.elapsed.mul_f64(edges as f64 / their_edges as f64);
                Ok(Timed { elapsed, checksum: edges })
            })?);
        }
    }
    Ok(rows)
}

fn note(peer: &str) -> &'static str {
    match peer {
        DUCKDB => "(edge aI bJ), J of 1,000; DuckDB reads the same as CSV and indexes the second column",
        HYPERON => {
            "(edge aI bJ), J of 1,000; hyperon loads 1M in any case, and is compared by the fact; MORK's recorded figure is 463 ns a fact at 1M"
        }
        SWIPL => "(edge aI bJ), J of 1,000; SWI-Prolog reads terms and asserts each",
        _ => "",
    }
}

impl Way {
    fn shown(self) -> &'static str {
        match self {
            Self::Run => "by `metroon run`",
            Self::Load => "by `Engine::load`",
            Self::LoadKept => "by `metroon kb load`",
        }
    }

    fn noted(self, note: &str) -> String {
        let kept = if matches!(self, Self::LoadKept) {
            "; ours also keeps the facts on disk, the peer in memory only"
        } else {
            ""
        };
        format!("{note}{kept}")
    }

    /// An engine to load into; one that keeps what it loads has a new knowledge base beside the file.
    fn engine(self, file: &Path) -> Result<Engine, Failure> {
        let world = SystemWorld::default();
        if !matches!(self, Self::LoadKept) {
            return Ok(Engine::new(world));
        }
        let folder = file.with_extension("kb");
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        Ok(Engine::with_base(world, CommitJournal::open(&folder)?)?)
    }

    /// Loads a file, and says how many facts came of it.
    fn take(self, engine: &mut Engine, file: &str) -> Result<u64, Failure> {
        let before = engine.atom_count();
        match self {
            Self::Run => {
                let text = std::fs::read_to_string(file)?;
                let run = engine.run_text(&text, &mut |_, _| Ok(()));
                if !matches!(run.end, RunEnd::Finished) {
                    return Err(format!("the run of {file} ended early: {:?}", run.end).into());
                }
            }
            Self::Load | Self::LoadKept => {
                let report = engine.load(file, &LoadOptions::default(), &mut |_| {})?;
                if !report.is_whole() {
                    return Err(format!("{file} was not loaded whole").into());
                }
            }
        }
        Ok((engine.atom_count() - before) as u64)
    }
}

/// Ours: the text, then a question by the second argument.
fn load(way: Way, path: &Path, edges: u64) -> Result<Timed, Failure> {
    let mut engine = way.engine(path)?;
    let mut clock = Clock::default();
    let file = path.to_str().ok_or("the path is not UTF-8")?;
    let (added, _engine) = clock.run(|| {
        let added = way.take(&mut engine, file)?;
        engine.run_text("!(match &self (edge $x b1) $x)", &mut |_, _| Ok(()));
        // What is kept is on disk when it is finished; memory is given back outside of the clock.
        let engine = if matches!(way, Way::LoadKept) { engine.finish().map(|()| None)? } else { Some(engine) };
        Ok::<_, Failure>((added, engine))
    })?;
    if added != edges {
        return Err(format!("{added} facts were loaded of {edges}").into());
    }
    Ok(clock.done(added))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_loads_every_fact() {
        let folder = std::env::temp_dir().join(format!("metroon-bench-loads-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("edges.metta");
        write_file(&path, Form::Metta, 2_000).unwrap();
        for way in [Way::Run, Way::Load, Way::LoadKept] {
            assert_eq!(load(way, &path, 2_000).unwrap().checksum, 2_000, "{}", way.shown());
            assert!(load(way, &path, 2_001).is_err(), "{}", way.shown());
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
