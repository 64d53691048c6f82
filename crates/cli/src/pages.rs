//! `metroon pages`: states of pages, which programs keep with the library `reactive` or with `metroon.pages` of Python.

use crate::counts;
use crate::end::End;
use crate::output::{Ended, Out, fail};
use clap::{Args, Subcommand};
use journal::{Directory, Disk};
use reactive::{OpenError, Survey, SurveyedCommit, SurveyedPage};
use serde_json::{Map, Value, json};
use statistics::Statistics;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ABOUT: &str = "\
DIR is the folder of a state, which a program made with the Rust library `reactive` or with `metroon.pages` of Python. It is read while
another process writes to it, and needs none of the functions that derive its pages.

Exit code: 0 fine; 1 a file cannot be read, or the output cannot be written; 2 wrong usage, or there is no state; 4 the log is damaged.";

#[derive(Debug, Args)]
#[command(after_help = ABOUT)]
pub(crate) struct PagesArguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print counts of commits, pages, functions, checkpoints and bytes
    #[command(after_help = ABOUT)]
    Stats(StatsArguments),
}

#[derive(Debug, Args)]
struct StatsArguments {
    /// The folder of the state
    #[arg(value_name = "DIR")]
    path: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Does what the command line asks for.
pub(crate) fn run(arguments: &PagesArguments) -> End {
    let Verb::Stats(arguments) = &arguments.verb;
    stats(arguments).unwrap_or_else(|end| end)
}

fn survey(path: &Path) -> Result<Survey, End> {
    let name = path.display();
    let absent =
        || fail(&format!("there is no state in {name}"), "name the folder that a program gave to it", End::Usage);
    let disk: Arc<dyn Disk> = match Directory::open(path) {
        Ok(disk) => Arc::new(disk),
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return Err(absent());
        }
        Err(error) => return Err(fail(&format!("{name}: {error}"), "check that you may read it", End::Error)),
    };
    Survey::read(&disk).map_err(|error| match error {
        OpenError::NoLog => absent(),
        error if is_refusal(&error) => fail(&format!("{name}: {error}"), "check that you may read it", End::Error),
        error => fail(&format!("{name}: {error}"), "", End::Damaged),
    })
}

/// Whether the system refuses to read something, which says nothing about what was written.
fn is_refusal(error: &(dyn Error + 'static)) -> bool {
    let says = |error: &(dyn Error + 'static)| error.is::<std::io::Error>() || error.is::<journal::Failure>();
    std::iter::successors(Some(error), |&error| error.source()).any(says)
}

fn stats(arguments: &StatsArguments) -> Ended {
    let found = survey(&arguments.path)?;
    let mut out = Out::new();
    match arguments.json {
        true => out.line(&Value::Object(in_json(&found)).to_string())?,
        false => counts::print(&mut out, &found, false)?,
    }
    out.end()
}

/// What was counted, and beside it the pages, the checkpoints and the last commits one by one.
fn in_json(found: &Survey) -> Map<String, Value> {
    let mut object = counts::object(&found.report());
    object.insert("checkpoints".to_owned(), json!(found.checkpoints));
    object.insert("page_details".to_owned(), found.page_details.iter().map(page_in_json).collect());
    object.insert("last_commits".to_owned(), found.last_commits.iter().map(commit_in_json).collect());
    object
}

fn page_in_json(found: &SurveyedPage) -> Value {
    let kept = &found.metadata.bytes;
    // What programs keep with a page is often JSON, such as the type and the shape that `metroon.pages` keeps; of the rest only the length is told.
    let metadata = serde_json::from_slice(kept).ok().filter(Value::is_object);
    json!({
        "page": found.page.to_string(),
        "slot": found.page.slot(),
        "generation": found.page.generation(),
        "name": found.metadata.name,
        "metadata": metadata,
        "metadata_bytes": kept.len(),
        "bytes": found.bytes,
        "created": found.created,
        "changed": found.changed,
        "written": found.written,
        "derived_by": found.derived.as_ref().map(|derivation| derivation.function.to_string()),
        "derived_from": found.derived.as_ref().map(|derivation| {
            derivation.dependencies.iter().map(ToString::to_string).collect::<Vec<_>>()
        }),
    })
}

fn commit_in_json(found: &SurveyedCommit) -> Value {
    json!({
        "epoch": found.epoch,
        "source": found.source,
        "cause": found.cause,
        "created": found.created,
        "deleted": found.deleted,
        "written": found.written,
        "bytes_written": found.bytes_written,
    })
}
