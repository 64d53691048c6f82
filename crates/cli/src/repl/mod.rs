//! `metroon repl`: forms are read, run and answered one after the other.
//!
//! 1. [`editor`] reads from a terminal, with history, completion and colours; [`pipe`] from anything else, without a prompt.
//! 2. What begins with `:` is one of the [`commands`]; all else is MeTTa text, which a [`session`] runs.
//! 3. Ctrl-C ends the evaluation that is under way, and nothing else.
//!
//! An input may have several lines: it goes on until its brackets and quotes are closed.

mod commands;
mod editor;
mod pipe;
mod session;
mod shown;
mod words;

use crate::end::End;
use crate::limits::{LimitArguments, MemoryGuard};
use crate::permissions::PermissionArguments;
use clap::Args;
use metroon::Engine;
use metroon::syntax::{Severity, parse};
use session::Session;
use std::io::IsTerminal;
use std::path::PathBuf;

pub(crate) const ABOUT: &str = "\
An input is MeTTa text, as in a file: a form after `!` is evaluated, any other is added to the space. It goes on over several lines until its
brackets are closed. What begins with `:` is a command; `:help` lists them. Ctrl-C ends an evaluation or drops a line, Ctrl-D leaves.

With --kb, what an input did is on the disk before its answer is printed. The lines that were entered on a terminal are kept in
$XDG_STATE_HOME/metroon/history, or ~/.local/state/metroon/history.

Exit code: 0 left; 1 the output cannot be written; 2 wrong usage; 4 the knowledge base is damaged.";

/// What `metroon repl` is asked for.
#[derive(Debug, Args)]
pub(crate) struct ReplArguments {
    /// Programs to run first, in the same space
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<String>,

    /// Go on in the knowledge base in this directory, and keep in it what is done
    #[arg(long, value_name = "DIR")]
    pub(crate) kb: Option<PathBuf>,

    /// Evaluate with the reference interpreter, which is slow
    #[arg(long)]
    pub(crate) interpreter: bool,

    #[command(flatten)]
    pub(crate) limits: LimitArguments,

    #[command(flatten)]
    pub(crate) permissions: PermissionArguments,
}

/// What becomes of the loop after an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    GoesOn,
    Ends(End),
}

/// Reads and runs inputs until there are no more.
pub(crate) fn run(arguments: &ReplArguments) -> End {
    let guard = MemoryGuard::start(&arguments.limits);
    let mut session = match Session::new(arguments, &guard) {
        Ok(session) => session,
        Err(end) => return end,
    };
    for file in &arguments.files {
        match session.load(file) {
            Ok(Next::GoesOn) => {}
            Ok(Next::Ends(end)) | Err(end) => return session.finish(end),
        }
    }
    read(session)
}

/// Reads and runs inputs in an engine that has run already.
pub(crate) fn go_on(engine: Engine, limits: &LimitArguments, guard: &MemoryGuard) -> End {
    read(Session::over(engine, None, limits, guard))
}

fn read(mut session: Session) -> End {
    let end = if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        editor::read(&mut session)
    } else {
        pipe::read(&mut session)
    };
    session.finish(end)
}

/// Runs an input: a command or MeTTa text.
fn enter(session: &mut Session, input: &str) -> Next {
    let trimmed = input.trim();
    match trimmed.strip_prefix(':') {
        // `:` is a word of the language, and no expression begins with it.
        Some(command) if command.starts_with(|first: char| first.is_ascii_alphabetic()) => {
            commands::run(session, command)
        }
        _ if trimmed.is_empty() => Next::GoesOn,
        _ => session.run(input),
    }
}

/// Whether an input ends inside an expression or a text, so that more is to come.
fn is_open(input: &str) -> bool {
    if input.trim_start().starts_with(':') {
        return false;
    }
    let parsed = parse(input);
    let mut errors = parsed.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    let is_of_end = |code: &str| matches!(code, "unclosed-expression" | "unclosed-string");
    errors.next().is_some_and(|first| is_of_end(first.code)) && errors.all(|other| is_of_end(other.code))
}
