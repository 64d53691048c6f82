//! What it costs that a run is remembered: the program `examples/wordnet.metta`, which reads 574,041 facts and asks some forty
//! questions. Its data is made by `cargo xtask wordnet`.

use super::{Contest, process, remove, text};
use crate::{Plan, Rows, command};

const PROGRAM: &str = "examples/wordnet.metta";
const ROUNDS: usize = 7;
/// The target of the recording is near to 1, so it takes more rounds to tell.
const ROUNDS_RECORDED: usize = 15;

pub(super) fn rows(plan: &Plan) -> Rows {
    crate::peers::wordnet(plan.may_install)?;
    let metroon = command::build("release")?;
    let scratch = plan.scratch.canonicalize()?;
    let [tape, base, kept_tape, kept_base] =
        ["run.tape", "base", "kept.tape", "kept-base"].map(|name| scratch.join(name));
    let plain = || process(&metroon, &["run", PROGRAM]);
    process(&metroon, &["run", "--record", text(&kept_tape), PROGRAM])?;
    process(&metroon, &["run", "--kb", text(&kept_base), PROGRAM])?;

    let contest = |name, rounds, peer, must, note| Contest { name, n: 1, peer, rounds, must, note };
    let recorded = contest(
        "WordNet program, recorded",
        ROUNDS_RECORDED,
        "the same, not recorded",
        Some(0.952),
        "what a recording costs: 5 % at most",
    );
    let kept = contest(
        "WordNet program, kept in a new base",
        ROUNDS,
        "the same, not kept",
        None,
        "every fact with its place in the journal, durable before its answer is printed",
    );
    let again = contest(
        "WordNet program, run again in its base",
        ROUNDS,
        "the same, from the text",
        None,
        "the base is opened and nothing is added",
    );
    let replayed = contest(
        "WordNet program, replayed",
        ROUNDS,
        "the run itself",
        None,
        "executed again from the tape, each commit and line checked",
    );
    let mut record = || {
        remove(&tape)?;
        process(&metroon, &["run", "--record", text(&tape), PROGRAM])
    };
    let mut keep = || {
        remove(&base)?;
        process(&metroon, &["run", "--kb", text(&base), PROGRAM])
    };
    Ok(vec![
        recorded.run(plan, &mut record, &mut || plain())?,
        kept.run(plan, &mut keep, &mut || plain())?,
        again.run(plan, &mut || process(&metroon, &["run", "--kb", text(&kept_base), PROGRAM]), &mut || plain())?,
        replayed.run(plan, &mut || process(&metroon, &["replay", text(&kept_tape)]), &mut || plain())?,
    ])
}
