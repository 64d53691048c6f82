//! `metroon kb diff`, `metroon kb fork` and `metroon kb index`: two moments of a knowledge base beside each other, a new one that goes on from a
//! moment, and an index of what happened to each atom.

use crate::kb_lines::{change_json, change_line, open, parent};
use crate::output::{Ended, Out, counted};
use crate::render;
use crate::run::base_failed;
use clap::Args;
use metroon::KnowledgeBaseError;
use metroon::history::{IndexReport, Moment};
use metroon::storage::CommitJournal;
use serde_json::json;
use std::path::PathBuf;

pub(crate) const ABOUT_DIFF: &str = "\
Prints a line for each atom of which there are more copies at the moment TO than at the moment FROM (+), or fewer (-), with the form that
changed it last, and for each state that holds something else (~). What came and went in between is left out. If TO is the earlier one,
the lines say how to get back. A moment is the number of a commit, or a date: then it is the last commit that was made by then. Words, imports and settings are not compared: `kb log --changes` shows those.

Exit code: 0 fine, whether something differs or not; 1 the output cannot be written; 2 wrong usage, or no knowledge base or no such commit
there; 4 the knowledge base is damaged.";

#[derive(Debug, Args)]
#[command(after_help = ABOUT_DIFF)]
pub(crate) struct DiffArguments {
    /// The knowledge base
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// A moment: the number of a commit, of which 0 is the beginning, or a date, such as 2026-11-20 or 2026-11-20T10:00:00Z
    #[arg(value_name = "FROM")]
    from: Moment,

    /// Another one
    #[arg(value_name = "TO")]
    to: Moment,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

pub(crate) const ABOUT_FORK: &str = "\
Makes the knowledge base NEW of the commits of DIR, or of those up to a commit or a date. Each goes on for itself: what happens to one does not
happen to the other. DIR is not changed, and another process may write to it. Make NEW beside DIR, since a knowledge base knows its
source files by their way from its directory.

Exit code: 0 the new knowledge base is made; 1 a file cannot be read or written; 2 wrong usage, or no knowledge base or no such commit
there; 4 DIR is damaged: `kb salvage` makes one of what is sound.";

#[derive(Debug, Args)]
#[command(after_help = ABOUT_FORK)]
pub(crate) struct ForkArguments {
    /// The knowledge base, which is not touched
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Where to make the new one: a directory that is empty or does not exist yet
    #[arg(long, value_name = "NEW")]
    to: PathBuf,

    /// The last commit that it is to have, or the date up to which it is to have them; all there are, if this is left out
    #[arg(long, value_name = "WHEN")]
    at: Option<Moment>,
}

pub(crate) const ABOUT_INDEX: &str = "\
The index says of each atom which commits added and removed it. It lies in DIR/history, is made of the journal, and can be removed at any time. With
it, `metroon why`, `metroon why --as-of` and `metroon kb log` of an atom without variables, and `why` in programs, do not read the journal from its
beginning, and a date is looked up. A process that writes to DIR takes new commits into the index when it is asked; one that only reads looks up what
the index knows, and reads later commits from the journal. This command makes the index, or takes the commits into it that it does not know yet. If it
is damaged or one of another history, it is made anew.

Exit code: 0 fine; 1 the index cannot be written, or another process writes to DIR; 2 wrong usage, or no knowledge base there; 4 the knowledge
base is damaged.";

#[derive(Debug, Args)]
#[command(after_help = ABOUT_INDEX)]
pub(crate) struct IndexArguments {
    /// The knowledge base
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Makes the index of the history, or brings it up to date.
pub(crate) fn index(arguments: &IndexArguments) -> Ended {
    let IndexArguments { directory, json } = arguments;
    // A directory without a knowledge base does not get one.
    drop(CommitJournal::read(directory).map_err(|error| base_failed(directory, &error))?);
    let base = CommitJournal::open(directory).map_err(|error| base_failed(directory, &error))?;
    let indexed = base.index_history().map_err(|error| base_failed(directory, &error));
    let closed = base.close().map_err(|error| base_failed(directory, &error));
    let IndexReport { epoch, taken, is_new, .. } = indexed?;
    closed?;
    let mut out = Out::new();
    if *json {
        out.line(&json!({ "commit": epoch, "changes": taken, "new": is_new }).to_string())?;
        return out.end();
    }
    let made = if is_new { "index made" } else { "index brought up to date" };
    out.line(&format!("{}: {made}: up to commit {epoch}, {} taken", directory.display(), counted(taken, "change")))?;
    out.end()
}

/// Prints what differs between two commits.
pub(crate) fn diff(arguments: &DiffArguments) -> Ended {
    let DiffArguments { directory, from, to, json } = arguments;
    let epoch = |moment: &Moment| moment.epoch_in(directory).map_err(|error| base_failed(directory, &error));
    let (from, to) = (epoch(from)?, epoch(to)?);
    let mut view = open(directory)?;
    let mut out = Out::new();
    let mut written = Ok(());
    let walked = view.difference(from, to, &mut |change| {
        let line = if *json { change_json(to, change) } else { change_line(change).trim().to_owned() };
        written = out.line(&line);
        written.is_ok()
    });
    written?;
    let ended = out.end()?;
    walked.map_err(|error| base_failed(directory, &error))?;
    Ok(ended)
}

/// Makes a knowledge base of the commits of another.
pub(crate) fn fork(arguments: &ForkArguments) -> Ended {
    let ForkArguments { directory, to, at } = arguments;
    let epoch = at.map(|moment| moment.epoch_in(directory)).transpose();
    let forked = epoch.and_then(|epoch| CommitJournal::fork(directory, to, epoch));
    let report = forked.map_err(|error| match error {
        KnowledgeBaseError::Occupied { .. } => base_failed(to, &error),
        error => base_failed(directory, &error),
    })?;
    let mut out = Out::new();
    let (commits, atoms) = (counted(report.commits, "commit"), counted(report.atoms, "atom"));
    out.line(&format!("{}: {commits}, {atoms}, state {:032x}", to.display(), report.hash))?;
    let ended = out.end()?;
    if parent(directory) != parent(to) {
        render::say(&format!(
            "note: a knowledge base knows its source files by their paths from its directory: files that {} has run are others to {}",
            directory.display(),
            to.display()
        ));
    }
    Ok(ended)
}
