//! Point queries through the API beside hyperon, which is asked exactly the same: the same questions in the same order, as often, of
//! patterns that both sides made before.
//!
//! The numbers of the questions are written to a file, which the script of the peer makes its patterns of.

use super::facts::write_file;
use super::lookups::{self, EDGES, Lengths, QUESTIONS};
use super::{Contest, Failure, HYPERON, Peer};
use crate::compare::Timed;
use crate::row::Row;
use crate::{Plan, Rows};
use space::{Atom, PreparedQuery, Snapshot};
use std::time::Duration;

/// The questions that are asked again and again, and how often in a round.
const WORKING_SET: u64 = 1_000;
const PASSES: u64 = 20;

/// How many times as fast as hyperon a point query must be.
const MUST: f64 = 1000.0;

const EACH_ONCE: &str = "(edge aI $x), the same questions on both sides, each asked once a round, in an order that is none; queries \
     prepared as hyperon's atoms are made before";
const AGAIN: &str = "(edge aI $x), the same 1,000 questions on both sides, drawn in no order, asked 20 times each a round, one pass after \
     the other: a working set; queries prepared as hyperon's atoms are made before";

/// What both sides are asked.
struct Work {
    name: &'static str,
    questions: u64,
    passes: u64,
    note: &'static str,
}

/// Ours, one by one or in one call.
type Ask = fn(&Snapshot, &[PreparedQuery], &Lengths) -> Timed;

pub(super) fn rows(plan: &Plan) -> Rows {
    let edges = plan.scaled(EDGES);
    let mut hyperon = Peer::hyperon(plan)?;
    let facts = plan.scratch.join("asked").with_extension(hyperon.form.extension());
    write_file(&facts, hyperon.form, edges)?;
    hyperon.load(&facts)?;
    let space = lookups::space_of(edges);
    let works = [
        Work { name: "prepared", questions: plan.scaled(QUESTIONS), passes: 1, note: EACH_ONCE },
        Work { name: "1,000 prepared again and again", questions: WORKING_SET, passes: PASSES, note: AGAIN },
    ];
    let mut rows = Vec::new();
    for work in works {
        let numbers: Vec<u64> = (0..work.questions).map(|question| lookups::asked_about(question, edges)).collect();
        let lines: String = numbers.iter().map(|number| format!("{number}\n")).collect();
        let path = plan.scratch.join("numbers").with_extension("txt");
        std::fs::write(&path, lines)?;
        hyperon.worker.ask(&format!("take {}", path.display()))?;
        let open: Vec<Atom> = numbers.iter().map(|&number| lookups::pattern(number)).collect();
        let (queries, snapshot) = (lookups::prepared_queries(&space, &open), space.snapshot());
        let lengths = Lengths::of(&snapshot);
        let asks: [(&str, Ask); 2] = [("", lookups::asked_prepared), (", many together", lookups::asked_together)];
        for (how, ask) in asks {
            let mut ours = || again(work.passes, || ask(&snapshot, &queries, &lengths));
            rows.push(work.row(plan, how, &mut ours, &mut hyperon)?);
        }
    }
    Ok(rows)
}

/// Several passes as one.
fn again(passes: u64, pass: impl Fn() -> Timed) -> Timed {
    let none = Timed { elapsed: Duration::ZERO, checksum: 0 };
    (0..passes)
        .map(|_| pass())
        .fold(none, |all, pass| Timed { elapsed: all.elapsed + pass.elapsed, checksum: all.checksum + pass.checksum })
}

impl Work {
    fn row(&self, plan: &Plan, how: &str, ours: &mut dyn FnMut() -> Timed, hyperon: &mut Peer) -> Result<Row, Failure> {
        let note = if how.is_empty() { String::new() } else { "; ours in one call a pass".to_owned() };
        let contest = Contest {
            name: &format!("first argument bound, 1M, {}{how}", self.name),
            n: self.questions * self.passes,
            peer: HYPERON,
            must: Some(MUST),
            rounds: 3,
            note: &format!("{}{note}", self.note),
        };
        contest.run(plan, &mut || Ok(ours()), &mut || hyperon.worker.ask(&format!("asked {}", self.passes)))
    }
}
