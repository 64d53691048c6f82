//! Bases of a million and of ten million facts, reopened and asked: a process for each question, from its start to its end.
//!
//! 1. `kb load` makes both bases, with their checkpoints; that is not timed. Each subject has another object, so that there are as many
//!    names as facts.
//! 2. The peer of the million is loading its text and asking it, which is what there would be without a base; that of the ten million is the
//!    same question to the million, which must take half as long at least.
//! 3. How much of a process lies in memory is read while it runs, as the system counts it, in bytes.

use super::{Contest, Failure, checksum, process, remove, text};
use crate::compare::{Timed, judged};
use crate::row::{Ratio, Row};
use crate::{Plan, Rows, command};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const MILLION: u64 = 1_000_000;
const TEN_MILLION: u64 = 10_000_000;
const ROUNDS: usize = 15;
const ROUNDS_TEXT: usize = 5;
/// How many processes are looked at for the memory that one takes.
const LOOKS: usize = 40;

/// One question, as a pattern for `kb query` and as a form of a program.
const PATTERN: &str = "(edge a77 $x)";
const FORM: &str = "!(match &self (edge a77 $x) $x)";
const JOIN: &str = "!(collapse (match &self (, (edge a77 $x) (edge $y $x)) $y))";

pub(super) fn rows(plan: &Plan) -> Rows {
    let metroon = command::build("release")?;
    let scratch = plan.scratch.canonicalize()?;
    let bases = [("million", plan.scaled(MILLION)), ("ten-million", plan.scaled(TEN_MILLION))];
    let [million, ten] = bases.map(|(name, facts)| Base { facts, path: scratch.join(name), metroon: metroon.clone() });
    let facts = scratch.join("facts.metta");
    million.make(&facts)?;
    let mut rows = vec![million.against_text(plan, &facts)?];
    ten.make(&facts)?;
    remove(&facts)?;
    rows.extend(ten.against(&million, plan)?);
    rows.push(ten.resident(&million)?);
    remove(&million.path)?;
    remove(&ten.path)?;
    Ok(rows)
}

/// A base of `facts` facts.
struct Base {
    facts: u64,
    path: PathBuf,
    metroon: PathBuf,
}

impl Base {
    /// Writes the text, and loads it.
    fn make(&self, facts: &Path) -> Result<(), Failure> {
        let mut out = BufWriter::new(File::create(facts)?);
        for number in 0..self.facts {
            writeln!(out, "(edge a{number} b{})", number / 3)?;
        }
        out.flush()?;
        drop(out);
        remove(&self.path)?;
        process(&self.metroon, &["kb", "load", text(&self.path), text(facts)])?;
        Ok(())
    }

    fn ask(&self, form: &str) -> Result<Timed, Failure> {
        process(&self.metroon, &["run", "--read-only", "--kb", text(&self.path), "-e", form])
    }

    fn query(&self) -> Result<Timed, Failure> {
        process(&self.metroon, &["kb", "query", text(&self.path), PATTERN, "$x"])
    }

    fn against_text(&self, plan: &Plan, program: &Path) -> Result<Row, Failure> {
        let contest = Contest {
            name: "a base of 1M facts reopened and asked",
            n: 1,
            peer: "loading its text and asking",
            rounds: ROUNDS_TEXT,
            must: Some(50.0),
            note: "a process from start to end; the base has a checkpoint",
        };
        contest.run(plan, &mut || self.ask(FORM), &mut || process(&self.metroon, &["run", text(program), "-e", FORM]))
    }

    /// Rows of questions to this base beside the same to one of a tenth of the facts.
    fn against(&self, smaller: &Self, plan: &Plan) -> Rows {
        let contest =
            |name, note| Contest { name, n: 1, peer: "the same of 1M", rounds: ROUNDS, must: Some(0.5), note };
        let queried = contest("a base of 10M facts asked by `metroon kb query`", "a process from start to end");
        let matched = contest("a base of 10M facts asked by `match`", "`metroon run --read-only`, from start to end");
        let joined = contest("a base of 10M facts, a join", "two patterns, one of them with a constant");
        Ok(vec![
            queried.run(plan, &mut || self.query(), &mut || smaller.query())?,
            matched.run(plan, &mut || self.ask(FORM), &mut || smaller.ask(FORM))?,
            joined.run(plan, &mut || self.ask(JOIN), &mut || smaller.ask(JOIN))?,
        ])
    }

    /// How much memory a question takes, and what part of the base that is.
    fn resident(&self, smaller: &Self) -> Result<Row, Failure> {
        let [ours, theirs] = [self.peaks()?, smaller.peaks()?];
        let ratio = theirs / ours;
        let share = ours * 100.0 / folder_bytes(&self.path)? as f64;
        Ok(Row {
            suite: super::SUITE,
            case: "a base of 10M facts asked by `match`, memory".to_owned(),
            n: 1,
            ours: Some(ours),
            peer: "the same of 1M",
            peer_figure: Some(theirs),
            ratio: Some(Ratio { median: ratio, min: ratio, max: ratio }),
            rounds: 1,
            unit: Some("bytes"),
            note: judged(
                &format!("the most that was seen in memory while 40 processes asked, {share:.1} % of the base"),
                Some((0.5, "the issue")),
                Some(ratio),
            ),
        })
    }

    /// The most of several processes: each is looked at while it is there, which is not for long.
    fn peaks(&self) -> Result<f64, Failure> {
        (0..LOOKS).try_fold(0.0, |most: f64, _| Ok(most.max(self.peak()?)))
    }

    /// The most memory that a process which asks has, as the system says while it is there.
    fn peak(&self) -> Result<f64, Failure> {
        let script = "\"$@\" & child=$!; peak=0; \
             while line=$(grep VmHWM /proc/$child/status 2>/dev/null); do set -- $line; \
             if [ \"${2:-0}\" -gt \"$peak\" ]; then peak=$2; fi; done; wait $child; echo $peak";
        let arguments = ["run", "--read-only", "--kb", text(&self.path), "-e", FORM];
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).arg(&self.metroon).args(arguments).stdin(Stdio::null());
        let output = command.output()?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let kilobytes = printed.lines().last().and_then(|line| line.trim().parse::<f64>().ok());
        if checksum(&printed) == checksum("") {
            return Err("the process printed nothing".into());
        }
        Ok(kilobytes.filter(|found| *found > 0.0).ok_or("the system does not say how large it was")? * 1024.0)
    }
}

fn folder_bytes(folder: &Path) -> Result<u64, Failure> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        bytes += if about.is_dir() { folder_bytes(&entry.path())? } else { about.len() };
    }
    Ok(bytes)
}
