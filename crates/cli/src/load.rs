//! `metroon kb load`: files of facts into a knowledge base.

use crate::end::End;
use crate::limits::{Heard, watch_for_interrupts};
use crate::output::{Ended, Out, ProgressLine, counted, fail};
use crate::render;
use crate::run::{base_failed, recall_failed};
use clap::{Args, ValueEnum};
use metroon::load::{FileFormat, LoadError, LoadFailure, LoadOptions, LoadProgress, LoadReport, Skipped};
use metroon::storage::CommitJournal;
use metroon::tape::{RecallError, find_error};
use metroon::world::WorldError;
use metroon::{Engine, KnowledgeBaseError, SystemWorld};
use serde_json::json;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

const ABOUT: &str = "\
The ending of a file's name says its format; --format says it otherwise:
  metta      .metta           each plain form is an atom; forms after `!` are left out
  csv        .csv             (HEAD value …) for each line after the headings
  tsv        .tsv, .tab       the same with tabs, and quotes mean nothing
  ntriples   .nt              (triple subject predicate object)
  jsonlines  .jsonl, .ndjson  (HEAD (key value) …) for an object a line
HEAD is the name of the file without its ending. A number is a number, a text that can be a symbol is one, any other text is a
string. docs/loading.md says more.

A file that was loaded before adds nothing; of an edited one the difference is applied. There is a commit every 100,000 atoms
or so: if the load is ended, load the file again to go on.

Exit code: 0 fine; 1 a file could not be loaded to its end; 2 wrong usage, no such file; 3 all was loaded except what does not
parse; 4 the knowledge base is damaged.";

#[derive(Debug, Args)]
#[command(after_help = ABOUT)]
pub(crate) struct LoadArguments {
    /// The knowledge base; it is made if it does not exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// The files, loaded in order; `-` is the standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,

    /// The format of the files
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatName>,

    /// What each atom begins with, instead of the name of the file
    #[arg(long, value_name = "HEAD")]
    head: Option<String>,

    /// The first line of a CSV or TSV file is data like the others
    #[arg(long)]
    no_headings: bool,

    /// Read files, and write commits, with this many threads. The number changes nothing but the time
    #[arg(long, value_name = "N", default_value_t = NonZeroUsize::MIN)]
    threads: NonZeroUsize,

    /// Print one JSON object a file
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatName {
    Metta,
    Csv,
    Tsv,
    Ntriples,
    Jsonlines,
}

impl From<FormatName> for FileFormat {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Metta => Self::Metta,
            FormatName::Csv => Self::Csv,
            FormatName::Tsv => Self::Tsv,
            FormatName::Ntriples => Self::NTriples,
            FormatName::Jsonlines => Self::JsonLines,
        }
    }
}

/// Loads the files that the command line names.
pub(crate) fn load(arguments: &LoadArguments) -> Ended {
    let mut engine = open(&arguments.directory)?;
    engine.set_threads(arguments.threads);
    let heard = Heard::default();
    watch_for_interrupts(&mut engine, None, &heard);
    let options = LoadOptions {
        format: arguments.format.map(FileFormat::from),
        head: arguments.head.clone(),
        has_no_headings: arguments.no_headings,
    };
    let mut out = Out::new();
    let loaded = load_all(&mut engine, arguments, &options, &mut out);
    heard.set();
    let closed = engine.finish().map_err(|error| recall_failed(&error));
    let end = loaded?;
    closed?;
    out.end()?;
    Ok(end)
}

/// The engine of a knowledge base that is opened for writing.
pub(crate) fn open(directory: &Path) -> Result<Engine, End> {
    let base = CommitJournal::open(directory).map_err(|error| base_failed(directory, &error))?;
    let engine = Engine::with_base(SystemWorld::default(), base).map_err(|error| match &error {
        RecallError::KnowledgeBase(error) => base_failed(directory, error),
        _ => recall_failed(&error),
    })?;
    for warning in engine.warnings() {
        render::say(&format!("warning: {warning}"));
    }
    Ok(engine)
}

fn load_all(engine: &mut Engine, arguments: &LoadArguments, options: &LoadOptions, out: &mut Out) -> Ended {
    let mut end = End::Fine;
    for file in &arguments.files {
        let mut shown = ProgressLine::default();
        let loaded = engine.load(file, options, &mut |progress| shown.show(|| progress_text(file, progress)));
        shown.end();
        let report = loaded.map_err(|error| failed(file, &error, engine.epoch()))?;
        out.line(&if arguments.json { report_json(file, &report) } else { report_line(file, &report) })?;
        // What is said of the file on the standard error comes after it.
        out.end()?;
        report.skipped.iter().for_each(|skipped| say_skipped(file, skipped));
        if !report.is_whole() {
            end = End::NotParsed;
        }
    }
    Ok(end)
}

fn report_line(file: &str, report: &LoadReport) -> String {
    if report.is_unchanged {
        return format!("{file}: unchanged, nothing to add");
    }
    let mut line = format!("{file}: {} added", counted(report.added, "atom"));
    let others = [(report.removed, "removed"), (report.kept, "there before")];
    for (count, what) in others.into_iter().filter(|(count, _)| *count > 0) {
        line.push_str(&format!(", {count} {what}"));
    }
    line
}

fn report_json(file: &str, report: &LoadReport) -> String {
    let skipped = |skipped: &Skipped| {
        let Skipped { reason, is_error, count, line } = skipped;
        json!({ "reason": reason, "error": is_error, "count": count, "line": line })
    };
    let skipped: Vec<_> = report.skipped.iter().map(skipped).collect();
    json!({
        "file": file,
        "unchanged": report.is_unchanged,
        "added": report.added,
        "removed": report.removed,
        "kept": report.kept,
        "skipped": skipped,
    })
    .to_string()
}

fn say_skipped(file: &str, skipped: &Skipped) {
    let Skipped { reason, is_error, count, line } = skipped;
    let kind = if *is_error { "warning" } else { "note" };
    let more = if *count > 1 { format!(" ({count} such, this is the first)") } else { String::new() };
    render::say(&format!("{kind}: {file}:{line}: not loaded: {reason}{more}"));
}

/// Tells why a file was not loaded to its end.
fn failed(file: &str, failure: &LoadFailure, epoch: Option<u64>) -> End {
    // A file that is not a regular one was read, and cannot be read again.
    let advice = if Path::new(file).is_file() { "; load the file again to go on" } else { "" };
    let help = |epoch: Option<u64>| format!("commit {} stands{advice}", epoch.unwrap_or_default());
    match failure {
        LoadFailure::Options(error) => {
            fail(&error.to_string(), "`metroon kb load --help` lists formats and heads", End::Usage)
        }
        LoadFailure::Load(LoadError::World(error @ WorldError::NotFound { .. })) => {
            fail(&error.to_string(), "check the path", End::Usage)
        }
        LoadFailure::Load(LoadError::RunRecord(error)) => {
            let base = find_error::<KnowledgeBaseError>(error.as_ref());
            let end = if base.is_some_and(KnowledgeBaseError::is_damage) { End::Damaged } else { End::Error };
            fail(&format!("{file}: {error}"), base.and_then(KnowledgeBaseError::help).unwrap_or_default(), end)
        }
        error => fail(&format!("{file}: {error}"), &help(epoch), End::Error),
    }
}

/// How far a load is.
fn progress_text(file: &str, progress: LoadProgress) -> String {
    let percent = progress.bytes_in_all.map(|all| progress.bytes.saturating_mul(100) / all.max(1));
    let part = percent.map_or_else(String::new, |percent| format!(" {percent} %,"));
    format!("{file}:{part} {}", counted(progress.added, "atom"))
}
