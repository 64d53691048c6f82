//! `metroon kb sources` and `metroon kb forget`: the files that a knowledge base has run or loaded.

use crate::end::End;
use crate::kb_lines::open;
use crate::output::{Ended, Out, counted, fail};
use crate::run::{base_failed, explain, recall_failed};
use clap::Args;
use metroon::history::SourceView;
use metroon::run::ProgramEnd;
use metroon::{Engine, History, RunEnd};
use serde_json::json;
use std::path::{Path, PathBuf};

/// How many digits of a content hash a line shows.
const HASH_DIGITS: usize = 12;

/// The number of the program's own module.
const TOP_MODULE: u32 = 1;

pub(crate) const ABOUT_SOURCES: &str = "\
Prints a line for each file that programs of the knowledge base were read from, or that was loaded: its path from DIR, how many atoms it
states, the last commit in which it did, and the beginning of the BLAKE3 hash of its text. A file that did not run to its end is marked.

Exit code: 0 fine; 1 nothing found, or the output cannot be written; 2 wrong usage, or no knowledge base there; 4 the
knowledge base is damaged.";

#[derive(Debug, Args)]
#[command(after_help = ABOUT_SOURCES)]
pub(crate) struct SourcesArguments {
    /// The knowledge base
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

pub(crate) const ABOUT_FORGET: &str = "\
Takes out of the knowledge base what FILE states in it, copy by copy, as if the file had been emptied and run again. What its `!` forms added
stays, and so does what other files state. FILE itself is not looked at, and need not be there. If it is run again, it states
everything anew. The commit that does this is the last, so `--as-of` still sees what was there before.

Exit code: 0 fine; 1 the knowledge base knows no such file, or it cannot be written; 2 wrong usage, or no knowledge base there; 4 the knowledge
base is damaged.";

#[derive(Debug, Args)]
#[command(after_help = ABOUT_FORGET)]
pub(crate) struct ForgetArguments {
    /// The knowledge base
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// The file: its path from here, or as `kb sources` prints it
    #[arg(value_name = "FILE")]
    file: String,
}

/// Prints the files that a knowledge base knows.
pub(crate) fn sources(arguments: &SourcesArguments) -> Ended {
    let SourcesArguments { directory, json } = arguments;
    let found = found(directory, &open(directory)?)?;
    if found.is_empty() {
        let message = format!("{} has run and loaded no file", directory.display());
        return Err(fail(&message, "texts of -e and of the standard input have no name to be known by", End::Error));
    }
    let mut out = Out::new();
    for source in &found {
        out.line(&if *json { source_json(source) } else { source_line(source) })?;
    }
    out.end()
}

fn found(directory: &Path, history: &History) -> Result<Vec<SourceView>, End> {
    history.sources().map_err(|error| base_failed(directory, &error))
}

fn hash(source: &SourceView) -> String {
    source.content.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn source_line(source: &SourceView) -> String {
    let atoms = counted(source.atoms, "atom");
    let commit = if source.epoch > 0 { format!("  commit {}", source.epoch) } else { String::new() };
    let end = if source.is_complete { "" } else { "  did not run to its end" };
    format!("{}  {atoms}{commit}  {}{end}", source.file, &hash(source)[..HASH_DIGITS])
}

fn source_json(source: &SourceView) -> String {
    json!({
        "file": source.file,
        "atoms": source.atoms,
        "commit": source.epoch,
        "content": hash(source),
        "complete": source.is_complete,
    })
    .to_string()
}

/// Takes out what a file states.
pub(crate) fn forget(arguments: &ForgetArguments) -> Ended {
    let ForgetArguments { directory, file } = arguments;
    let mut engine = crate::load::open(directory)?;
    let (origin, path) = path_of(directory, file)?;
    let before = engine.atom_count();
    let end = forget_in(&mut engine, &origin, &path);
    let (after, epoch) = (engine.atom_count(), engine.epoch().unwrap_or_default());
    engine.finish().map_err(|error| recall_failed(&error))?;
    if end != End::Fine {
        return Err(end);
    }
    let mut out = Out::new();
    let atoms = counted(before.saturating_sub(after) as u64, "atom");
    out.line(&format!("{file}: {atoms} taken out, commit {epoch}"))?;
    out.end()
}

fn forget_in(engine: &mut Engine, origin: &str, path: &str) -> End {
    let run = engine.forget_source(origin, path);
    match run.end {
        RunEnd::Finished => End::Fine,
        RunEnd::RunRecord(error) => explain(ProgramEnd::RunRecord(error), engine.epoch()),
        RunEnd::World(error) => explain(ProgramEnd::World(error), engine.epoch()),
        // An empty text has no answers and parses.
        _ => End::Error,
    }
}

/// What a file that a knowledge base knows is called, and its absolute path.
fn path_of(directory: &Path, file: &str) -> Result<(String, String), End> {
    let sources = found(directory, &open(directory)?)?;
    let absolute = |path: &Path| {
        let absolute = std::path::absolute(path).map_err(|error| fail(&format!("{file}: {error}"), "", End::Error))?;
        Ok::<String, End>(absolute.to_string_lossy().into_owned())
    };
    let base = absolute(directory)?;
    let [here, there] = [absolute(Path::new(file))?, file.to_owned()];
    let named = |source: &&SourceView| {
        source.file == there || metroon::world::clean_path(&base, &source.file) == metroon::world::clean_path("", &here)
    };
    let Some(source) = sources.iter().find(named) else {
        let message = format!("{} knows no file {file}", directory.display());
        let help = format!("`metroon kb sources {}` prints the files that it knows", directory.display());
        return Err(fail(&message, &help, End::Error));
    };
    if source.module != TOP_MODULE {
        let message = format!("{file} was imported as a module, and what imports it needs what it states");
        return Err(fail(&message, "take its lines out of the file, and run the program again", End::Error));
    }
    Ok((source.origin.clone(), metroon::world::clean_path(&base, &source.file)))
}
