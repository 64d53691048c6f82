//! `metroon fmt`: sources laid out as everybody lays them out.

use crate::end::End;
use crate::output::{Ended, Out, counted, fail};
use crate::{render, run};
use clap::Args;
use metroon::SystemWorld;
use metroon::editing::format;
use metroon::run::ProgramSource;
use metroon::syntax::{Severity, parse};
use std::io::Write as _;
use std::path::Path;

pub(crate) const ABOUT: &str = "\
Line breaks stay where they are, and so do comments. Set are the space between words, the indentation, the place of `)`, and one empty line
at most; an expression that is longer than a line of 100 columns is broken. The layout of a layout is itself, and means the same.

Each file is written anew if it differs, all at once. `-`, or no file where the standard input is no terminal, reads from there and prints
the result.

Exit code: 0 fine; 1 with --check, something differs, or a file cannot be written; 2 wrong usage, or a file cannot be read; 3 a file does
not parse, and is left as it is.";

/// What `metroon fmt` is asked for.
#[derive(Debug, Args)]
pub(crate) struct FmtArguments {
    /// The files; `-` is the standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,

    /// Change nothing; say which files differ
    #[arg(long)]
    check: bool,
}

/// Lays out the files.
pub(crate) fn fmt(arguments: &FmtArguments) -> End {
    let mut worst = End::Fine;
    let mut differing = 0;
    for file in &arguments.files {
        let end = match one(file, arguments.check, &mut differing) {
            Ok(end) | Err(end) => end,
        };
        if worst == End::Fine || end.code() > worst.code() {
            worst = end;
        }
    }
    if differing > 0 {
        let files = counted(differing, "file");
        render::say(&format!("{files} would be laid out otherwise; `metroon fmt FILE` does it"));
    }
    worst
}

fn one(file: &str, only_checks: bool, differing: &mut u64) -> Ended {
    let source =
        ProgramSource::read(&mut SystemWorld::default(), file).map_err(|end| run::explain_unread(end, "fmt"))?;
    let source = source.as_source();
    let parsed = parse(source.text);
    let errors = parsed.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    let errors: Vec<_> = source.flaw.into_iter().chain(errors).collect();
    if !errors.is_empty() {
        render::diagnostics(source.origin, source.text, errors);
        return Err(End::NotParsed);
    }
    let laid_out = format(&parsed);
    match () {
        () if only_checks && laid_out == source.text => Ok(End::Fine),
        () if only_checks => {
            *differing += 1;
            let mut out = Out::new();
            out.line(source.origin)?;
            out.end()?;
            Err(End::Error)
        }
        () if file == "-" => {
            let mut out = Out::new();
            out.bytes(laid_out.as_bytes())?;
            out.end()
        }
        () if laid_out == source.text => Ok(End::Fine),
        () => write(Path::new(file), &laid_out),
    }
}

/// Puts a text in the place of a file's at once: whoever reads it meanwhile sees the one or the other.
fn write(file: &Path, text: &str) -> Ended {
    let failed = |error: std::io::Error| {
        fail(&format!("cannot write {}: {error}", file.display()), "it is left as it was", End::Error)
    };
    // A link stays a link.
    let target = std::fs::canonicalize(file).map_err(failed)?;
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let fresh = target.with_file_name(name);
    let written = std::fs::metadata(&target).and_then(|before| {
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&fresh)?;
        file.write_all(text.as_bytes())?;
        file.set_permissions(before.permissions())?;
        file.sync_all()?;
        std::fs::rename(&fresh, &target)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&fresh);
    }
    written.map(|()| End::Fine).map_err(failed)
}
