//! `metroon kb live`: the live queries of a knowledge base that have names.

use crate::end::End;
use crate::kb_lines::warn;
use crate::output::{Ended, Out, fail};
use crate::run::{base_failed, explain, recall_failed};
use crate::watch::{LiveOptions, not_a_query};
use clap::{Args, Subcommand};
use metroon::live::{LiveNameError, NamedLiveQuery};
use metroon::run::ProgramEnd;
use metroon::storage::CommitJournal;
use metroon::{Engine, RunEnd, View};
use serde_json::json;
use std::path::{Path, PathBuf};

const ABOUT: &str = "\
A live query that has a name is part of the knowledge base. Its answers are kept up to date while a program writes, which can ask for what has
changed, `(changes NAME)`, or have a function called, `(on-change NAME FUNCTION)`; `metroon watch DIR --live NAME` follows it.

Exit code: 0 fine; 1 there are none, or the knowledge base cannot be written; 2 wrong usage, no knowledge base there, no such query, or one that
cannot be kept up to date; 3 PATTERN or TEMPLATE does not parse; 4 the knowledge base is damaged.";

#[derive(Debug, Args)]
#[command(after_help = ABOUT)]
pub(crate) struct LiveArguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print a line for each live query, in the order of their registration
    List(ListArguments),
    /// Register a live query under a name
    Add(Box<AddArguments>),
    /// End a live query: its name is free again
    Remove(RemoveArguments),
}

#[derive(Debug, Args)]
struct ListArguments {
    /// The knowledge base
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct AddArguments {
    /// The knowledge base
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// The name, a word
    #[arg(value_name = "NAME")]
    name: String,

    /// What to look for, in quotes for the shell: '(order $who $what $price)', or '(, P1 P2 …)' for several at once
    #[arg(value_name = "PATTERN", allow_hyphen_values = true)]
    pattern: String,

    /// What there is for each match, such as '$who'; PATTERN if it is left out
    #[arg(value_name = "TEMPLATE", allow_hyphen_values = true)]
    template: Option<String>,

    #[command(flatten)]
    options: LiveOptions,
}

#[derive(Debug, Args)]
struct RemoveArguments {
    /// The knowledge base
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// The name of the live query
    #[arg(value_name = "NAME")]
    name: String,
}

/// Does what the command line asks for.
pub(crate) fn live(arguments: &LiveArguments) -> Ended {
    match &arguments.verb {
        Verb::List(arguments) => list(arguments),
        Verb::Add(arguments) => add(arguments),
        Verb::Remove(arguments) => remove(arguments),
    }
}

fn list(arguments: &ListArguments) -> Ended {
    let ListArguments { directory, json } = arguments;
    let view = View::open(directory).map_err(|error| base_failed(directory, &error))?;
    warn(&view.warnings());
    let queries = view.live_queries();
    if queries.is_empty() {
        let message = format!("{} has no live queries", directory.display());
        let help = "`metroon kb live add DIR NAME PATTERN` registers one, and so does `(live NAME PATTERN TEMPLATE)` in a program";
        return Err(fail(&message, help, End::Error));
    }
    let mut out = Out::new();
    for query in &queries {
        out.line(&if *json { query_json(query) } else { query_line(query) })?;
    }
    out.end()
}

/// A query as a program would register it, and what is called.
pub(crate) fn query_line(query: &NamedLiveQuery) -> String {
    let NamedLiveQuery { name, pattern, template, options, functions, .. } = query;
    let options = if options.is_empty() { String::new() } else { format!(" ({})", options.join(" ")) };
    let calls = if functions.is_empty() { String::new() } else { format!("  calls {}", functions.join(", ")) };
    format!("{name}  {pattern} {template}{options}{calls}")
}

fn query_json(query: &NamedLiveQuery) -> String {
    json!({
        "name": query.name,
        "pattern": query.pattern,
        "template": query.template,
        "options": query.options,
        "functions": query.functions,
    })
    .to_string()
}

fn add(arguments: &AddArguments) -> Ended {
    let AddArguments { directory, name, pattern, template, options } = arguments;
    let request = options.request(pattern, template.as_deref())?;
    let registered = with_engine(directory, |engine| engine.add_live_query(name, &request))?;
    registered.map_err(|error| match error {
        LiveNameError::Request(error) => not_a_query(pattern, template.as_deref(), error),
        other => refused(other),
    })?;
    let mut out = Out::new();
    out.line(&format!("{}: {name} is registered", directory.display()))?;
    out.end()
}

fn remove(arguments: &RemoveArguments) -> Ended {
    let RemoveArguments { directory, name } = arguments;
    let ended = with_engine(directory, |engine| engine.end_live_query(name))?;
    ended.map_err(refused)?;
    let mut out = Out::new();
    out.line(&format!("{}: {name} has ended", directory.display()))?;
    out.end()
}

/// Says why a name was not registered or not ended.
fn refused(error: LiveNameError) -> End {
    match error {
        LiveNameError::Run(end) => not_committed(end),
        other => fail(&other.to_string(), "`metroon kb live list DIR` prints those that there are", End::Usage),
    }
}

fn not_committed(end: RunEnd) -> End {
    match end {
        RunEnd::RunRecord(error) => explain(ProgramEnd::RunRecord(error), None),
        RunEnd::World(error) => explain(ProgramEnd::World(error), None),
        end => fail(&LiveNameError::Run(end).to_string(), "every commit before is kept; try again", End::Error),
    }
}

/// Does something with the engine of a knowledge base that is there, and closes it.
fn with_engine<T>(directory: &Path, work: impl FnOnce(&mut Engine) -> T) -> Result<T, End> {
    // A directory without a knowledge base does not get one.
    drop(CommitJournal::read(directory).map_err(|error| base_failed(directory, &error))?);
    let mut engine = crate::load::open(directory)?;
    let done = work(&mut engine);
    engine.finish().map_err(|error| recall_failed(&error))?;
    Ok(done)
}
