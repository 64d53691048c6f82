//! What one command runs: files and texts, in order, in one space.

use metta::syntax::{self, Diagnostic, LineIndex};
use metta::{
    Certainty, Evaluator, FailedCall, Failure, FormAnswer, LimitReached, Place, Run, RunEnd, Source, World, WorldError,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fmt::Write;
use std::sync::Arc;

/// What to run, and how to print the answers. It says everything that a run depends on beside the world.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRequest {
    /// Files, run in order; `-` is the standard input.
    pub files: Vec<String>,
    /// Texts, run after the files.
    pub expressions: Vec<String>,
    /// Whether answers are printed as JSON, one object a line.
    pub json: bool,
    /// The most steps one `!` may take.
    pub steps_max: Option<u64>,
    /// The most frames the stack of an evaluation may have; `None` for the usual.
    pub depth_max: Option<u64>,
    /// What evaluates: a run takes other steps in another one, and variables get other numbers.
    pub evaluator: Evaluator,
    /// The most bytes that one `!` may take; `None` for [`HEAP_BYTES_DEFAULT`](metta::HEAP_BYTES_DEFAULT).
    pub heap_bytes_max: Option<u64>,
    /// Whether each call of a pure function is evaluated, though it was before: a run takes more steps then. A tape says so by its version.
    #[serde(skip)]
    pub no_memo: bool,
}

/// How a program ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProgramEnd {
    /// All of it ran.
    Finished,
    /// An answer had an error in it.
    Error,
    /// A limit was reached.
    Limit {
        /// Which.
        limit: LimitReached,
        /// The source and line of the form that reached it.
        place: String,
    },
    /// A source does not parse, or is not text; the diagnostics say where.
    NotParsed,
    /// A source cannot be read.
    NotRead(WorldError),
    /// The world failed: the output can take no more, the tape has ended.
    World(WorldError),
    /// The run cannot be remembered, or is not the one that is replayed.
    RunRecord(Arc<dyn std::error::Error + Send + Sync>),
}

/// Hears what there is to tell a person about a run, beside its output.
pub trait Reporter {
    /// A source has something to warn of, or does not parse.
    fn diagnostic(&mut self, origin: &str, lines: &LineIndex<'_>, diagnostic: &Diagnostic);

    /// An evaluation that was told to end has done so.
    fn limit_reached(&mut self, _limit: LimitReached) {}

    /// Whether to find out where the error of a form that fails was made.
    fn wants_failures(&self) -> bool {
        false
    }

    /// Whether to look for likely mistakes in each source when it has run.
    fn wants_notes(&self) -> bool {
        false
    }

    /// A source has something that is likely to be a mistake.
    fn note(&mut self, _origin: &str, _lines: &LineIndex<'_>, _finding: &Diagnostic) {}

    /// A form has failed, and its answer was printed.
    fn failure(&mut self, _failure: &Failure) {}
}

/// A source of a program.
pub struct ProgramSource {
    pub(crate) origin: String,
    pub(crate) file: Option<String>,
    pub(crate) directory: String,
    pub(crate) text: String,
    /// Where the file is not UTF-8.
    pub(crate) flaw: Option<Diagnostic>,
}

impl ProgramSource {
    /// Reads a file, or the standard input for `-`.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(world: &mut dyn World, file: &str) -> Result<Self, ProgramEnd> {
        let is_input = file == "-";
        let read = if is_input { world.read_standard_input().map(Arc::new) } else { world.read_source(file) };
        let bytes =
            read.map_err(|error| if error.ends_run() { ProgramEnd::World(error) } else { ProgramEnd::NotRead(error) })?;
        let origin = if is_input { "standard input" } else { file };
        let (text, flaw) = syntax::decode_owned(Arc::unwrap_or_clone(bytes));
        Ok(Self {
            origin: origin.to_owned(),
            file: (!is_input).then(|| file.to_owned()),
            directory: if is_input { String::new() } else { directory_of(file) },
            text,
            flaw,
        })
    }

    /// As what a session takes.
    pub fn as_source(&self) -> Source<'_> {
        let Self { origin, file, directory, text, flaw } = self;
        Source { origin, file: file.as_deref(), directory, text, flaw: flaw.as_ref() }
    }

    /// A text of the command line.
    pub(crate) fn expression(text: &str) -> Self {
        Self { origin: "-e".to_owned(), file: None, directory: String::new(), text: text.to_owned(), flaw: None }
    }

    /// What the end of its run means for the program.
    pub(crate) fn end(
        &self,
        run: Run,
        (lines, last): (&LineIndex<'_>, u32),
        reporter: &mut dyn Reporter,
    ) -> Result<(), ProgramEnd> {
        for diagnostic in &run.diagnostics {
            reporter.diagnostic(&self.origin, lines, diagnostic);
        }
        match run.end {
            RunEnd::Finished => Ok(()),
            RunEnd::NotParsed => Err(ProgramEnd::NotParsed),
            RunEnd::Limit(limit) => Err(ProgramEnd::Limit { limit, place: format!("{}:{last}", self.origin) }),
            RunEnd::World(error) => Err(ProgramEnd::World(error)),
            RunEnd::RunRecord(error) => Err(ProgramEnd::RunRecord(error)),
            _ => Err(ProgramEnd::Error),
        }
    }

    pub(crate) fn lines(&self) -> LineIndex<'_> {
        LineIndex::new(&self.text)
    }
}

fn directory_of(file: &str) -> String {
    let directory =
        file.rsplit_once('/').map_or("", |(directory, _)| if directory.is_empty() { "/" } else { directory });
    directory.to_owned()
}

/// Prints an answer as Hyperon's runner does: `[a, b]`.
pub(crate) fn print_line(world: &mut dyn World, answer: &FormAnswer<'_>) -> Result<(), WorldError> {
    let mut line = String::from("[");
    for (index, result) in answer.results.iter().enumerate() {
        let between = if index > 0 { ", " } else { "" };
        // A string takes all that is written.
        let _ = write!(line, "{between}{result}");
    }
    line.push(']');
    world.print(&line)
}

/// Prints an answer as JSON: an object for each result, then one for the end.
pub(crate) fn print_json(world: &mut dyn World, answer: &FormAnswer<'_>, line: u32) -> Result<(), WorldError> {
    let form = answer.number;
    for result in answer.results {
        let text = serde_json::Value::from(result.to_string());
        world.print(&format!(r#"{{"form":{form},"line":{line},"result":{text}}}"#))?;
    }
    let (results, error) = (answer.results.len(), answer.is_error());
    world.print(&format!(r#"{{"form":{form},"line":{line},"done":true,"results":{results},"error":{error}}}"#))
}

/// Prints as JSON why a form has failed.
pub(crate) fn print_failure(world: &mut dyn World, failure: &Failure) -> Result<(), WorldError> {
    let line = failure.form.position().line;
    let certainty = match failure.certainty {
        Certainty::Seen => "seen",
        Certainty::OnlyPlace => "only place",
        Certainty::Unknown => "unknown",
    };
    let call = |FailedCall { name, call, rule }: &FailedCall| json!({ "name": name, "call": call, "rule": rule.as_ref().map(place_json) });
    let value = json!({
        "form": failure.number,
        "line": line,
        "failure": {
            "code": failure.code,
            "message": failure.message,
            "place": place_json(&failure.place),
            "certainty": certainty,
            "calls": failure.calls.iter().map(call).collect::<Vec<_>>(),
            "calls_left_out": failure.calls_left_out.map_or(0, |(_, count)| count),
            "help": failure.help,
            "other_errors": failure.others,
            "forms_not_run": failure.not_run,
        },
    });
    world.print(&value.to_string())
}

fn place_json(place: &Place) -> serde_json::Value {
    let position = place.position();
    json!({ "file": &*place.origin, "line": position.line, "column": position.column, "text": place.slice() })
}
