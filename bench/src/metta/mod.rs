//! MeTTa programs, and the same in Prolog: whole processes, with the size varied.
//!
//! 1. Every side runs every program in two sizes, in rounds, and each answer is compared with what [`counts`] says.
//! 2. A side's figure is the slope, (large time - small time) / (large work - small work), so that starting and loading cancel.
//!    Times measured inside the peer were no steadier: what moves is the machine.
//! 3. SWI-Prolog does the sizes that ours does. `hyperon` does smaller ones, since it would not finish those, and is compared by
//!    the operation.
//! 4. What does not finish at its limit of time is not run again, and its rows say so.

mod counts;
mod edges;
mod programs;
mod slope;

use crate::compare::{self, Case};
use crate::peers::{self, Swipl};
use crate::row::Row;
use crate::{Plan, Rows, command};
use programs::{PROGRAMS, Program, Sizes, joined};
use slope::{Side, SizedRun};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const SUITE: &str = "metta";
const ROUNDS: usize = 5;
const ROUNDS_QUICK: usize = 3;
/// How long a process may take.
const LIMIT: Duration = Duration::from_secs(60);
const LIMIT_QUICK: Duration = Duration::from_secs(20);

/// What runs the programs.
struct Runners<'a> {
    metroon: PathBuf,
    swipl: Swipl,
    hyperon: PathBuf,
    scratch: &'a Path,
}

pub(crate) fn run(plan: &Plan) -> Rows {
    let programs = chosen(plan.only.as_deref())?;
    let (swipl, hyperon) = (peers::swipl(plan.may_install)?, peers::hyperon(plan.may_install)?);
    let runners = Runners { metroon: command::build("dist")?, swipl, hyperon, scratch: &plan.scratch };
    let mut rows = Vec::new();
    for program in programs {
        rows.extend(measure(program, &runners, plan.is_quick)?);
    }
    Ok(rows)
}

fn chosen(only: Option<&str>) -> Result<Vec<&'static Program>, String> {
    let chosen: Vec<&Program> =
        PROGRAMS.iter().filter(|program| only.is_none_or(|only| program.name == only)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
        return Err(format!("there is no such program; the programs are {}", names.join(", ")));
    }
    Ok(chosen)
}

/// Runs one program on every side, and makes a row for each peer.
fn measure(program: &Program, runners: &Runners<'_>, is_quick: bool) -> Rows {
    let (rounds, limit) = if is_quick { (ROUNDS_QUICK, LIMIT_QUICK) } else { (ROUNDS, LIMIT) };
    let mut sides = sides(program, runners, is_quick)?;
    // The round before the first is not counted: files, memory and processor are warm after it.
    for round in 0..=rounds {
        // The side that begins changes, so that whatever else the machine does slows all alike.
        sides.rotate_left(1);
        for side in &mut sides {
            side.round(round > 0, limit)?;
        }
    }
    sides.sort_by_key(|side| side.rank);
    let (ours, peers) = sides.split_first().ok_or("there are no sides")?;
    Ok(peers.iter().map(|peer| row(program, ours, peer, rounds)).collect())
}

fn sides(program: &Program, runners: &Runners<'_>, is_quick: bool) -> Result<Vec<Side>, Box<dyn Error>> {
    let sizes = if is_quick { program.quick } else { program.full };
    let ours = |path: &Path| {
        let mut command = Command::new(&runners.metroon);
        // The peers make each call, and so does ours.
        command.args(["run", "--no-memo"]).arg(path);
        command
    };
    let hyperon = |path: &Path| {
        let mut command = Command::new(&runners.hyperon);
        command.arg(path);
        command
    };
    Ok(vec![
        Side::new(0, "metroon", in_metta(program, sizes, runners.scratch, ours)?),
        Side::new(1, "swipl", in_prolog(program, sizes, runners, &[])?),
        Side::new(2, "swipl -O", in_prolog(program, sizes, runners, &["-O"])?),
        Side::new(3, "hyperon 0.2.6", in_metta(program, program.hyperon, runners.scratch, hyperon)?),
    ])
}

/// The processes of an implementation of MeTTa, which reads a file for each size.
fn in_metta(
    program: &Program,
    sizes: Sizes,
    scratch: &Path,
    command: impl Fn(&Path) -> Command,
) -> Result<[SizedRun; 2], Box<dyn Error>> {
    let sized_run = |arguments: &[u64]| {
        let path = scratch.join(format!("{}-{}.metta", program.name, joined(arguments, "-")));
        std::fs::write(&path, program.metta(arguments)?)?;
        Ok::<_, Box<dyn Error>>(SizedRun::new(program, arguments, command(&path)))
    };
    Ok([sized_run(sizes[0])?, sized_run(sizes[1])?])
}

/// The processes of Prolog, which reads a file for each size and is asked for that.
fn in_prolog(
    program: &Program,
    sizes: Sizes,
    runners: &Runners<'_>,
    flags: &[&str],
) -> Result<[SizedRun; 2], Box<dyn Error>> {
    let sized_run = |arguments: &[u64]| {
        let path = runners.scratch.join(format!("{}-{}.pl", program.name, joined(arguments, "-")));
        std::fs::write(&path, program.prolog(arguments)?)?;
        let mut command = runners.swipl.command();
        // Without the user's own settings; the goal fails or throws, or the process halts with status 0.
        command.args(flags).args(["-f", "none", "-g", &program.goal(arguments), "-t", "halt"]).arg(&path);
        Ok::<_, Box<dyn Error>>(SizedRun::new(program, arguments, command))
    };
    Ok([sized_run(sizes[0])?, sized_run(sizes[1])?])
}

/// The row of ours and a peer. A figure is for all the operations by which our two sizes differ.
fn row(program: &Program, ours: &Side, peer: &Side, rounds: usize) -> Row {
    let n = ours.operations();
    let of_all = |slopes: &[f64]| slopes.iter().map(|slope| slope * n as f64).collect::<Vec<f64>>();
    // As in every suite, a quick run has the names of a full one; the note says the sizes.
    let name = case_name(program);
    let note = note(program, ours, peer);
    let (our_slopes, peer_slopes) = (ours.slopes().map(of_all), peer.slopes().map(of_all));
    if let (Some(ours), Some(theirs)) = (&our_slopes, &peer_slopes) {
        let case = Case { suite: SUITE, name, n, peer: peer.name, rounds, note };
        return compare::row(case, (ours.clone(), theirs.clone()));
    }
    eprintln!("{name:<40} no ratio: {note}");
    let [ours, peer_figure] = [our_slopes, peer_slopes].map(|slopes| slopes.map(compare::median));
    Row { suite: SUITE, case: name, n, ours, peer: peer.name, peer_figure, ratio: None, rounds, unit: None, note }
}

fn case_name(program: &Program) -> String {
    format!("{}, {}", program.sized(program.full[1]), program.operation)
}

fn note(program: &Program, ours: &Side, peer: &Side) -> String {
    let answer = format!("{} is the answer", ours.answer());
    let mut parts = vec![program.note.to_owned(), ours.span(program), answer];
    if peer.span(program) != ours.span(program) {
        parts.push(format!("{}: {}", peer.name, peer.span(program)));
    }
    let musts = program.musts.iter().filter(|(name, _)| *name == peer.name);
    parts.extend(musts.map(|(_, ratio)| format!("must be {ratio} or more")));
    parts.extend([ours, peer].into_iter().filter_map(Side::why_without_slopes));
    parts.retain(|part| !part.is_empty());
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::kept_names;

    #[test]
    fn the_list_of_cases_has_each_program_beside_each_peer() {
        let peers = ["swipl", "swipl -O", "hyperon 0.2.6"];
        let beside = |program| peers.map(|peer| format!("{}\t{peer}", case_name(program)));
        assert_eq!(PROGRAMS.iter().flat_map(beside).collect::<std::collections::BTreeSet<_>>(), kept_names(SUITE));
    }
}
