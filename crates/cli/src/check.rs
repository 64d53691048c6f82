//! `metroon check`: likely mistakes in sources, found without running them.

use crate::end::End;
use crate::output::{Ended, Out, counted};
use crate::{package, render, run};
use clap::Args;
use metroon::SystemWorld;
use metroon::editing::check_source_in;
use metroon::run::{ModuleSearch, Package, ProgramSource};
use metroon::syntax::{Diagnostic, LineIndex, Severity};
use serde_json::json;

pub(crate) const ABOUT: &str = "\
Each file is checked as a program of its own, with the modules that it imports; of a package, a folder with a metroon.toml, the program that
this names and each of its modules are. Nothing is run but `import!`, `bind!` and other forms that
say what words mean, and these reach nothing but sources.

Looked for: names that have no rule and are nearly those of others, numbers of arguments that no rule takes, types that the evaluator
refuses, rules that can never be reached or are stated twice, variables that nothing gives a value, modules that cannot be imported. What
stands in assertions and quotations is not looked at.

Exit code: 0 nothing found; 1 something found; 2 wrong usage, or a file cannot be read; 3 a file does not parse.";

/// What `metroon check` is asked for.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The programs; `-` is the standard input, and a folder is a package
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,

    /// Print one JSON object a line: each finding
    #[arg(long)]
    json: bool,
}

/// Checks the files.
pub(crate) fn check(arguments: &CheckArguments) -> End {
    checked(arguments).unwrap_or_else(|end| end)
}

fn checked(arguments: &CheckArguments) -> Ended {
    let mut out = Out::new();
    let (mut worst, mut found) = (End::Fine, 0);
    let files = sources(&arguments.files)?;
    for (file, search) in &files {
        let source = match ProgramSource::read(&mut SystemWorld::default(), file) {
            Ok(source) => source,
            Err(end) => {
                worst = run::explain_unread(end, "check");
                continue;
            }
        };
        let source = source.as_source();
        let checked = check_source_in(SystemWorld::default(), &source, search.clone());
        found += checked.diagnostics.len() as u64;
        let lines = LineIndex::new(source.text);
        for diagnostic in &checked.diagnostics {
            match arguments.json {
                true => out.line(&finding_json(source.origin, &lines, diagnostic))?,
                false => render::diagnostic(source.origin, &lines, diagnostic),
            }
        }
        worst = match (worst, checked.is_unparsed(), checked.diagnostics.is_empty()) {
            (End::Usage, ..) => End::Usage,
            (_, true, _) => End::NotParsed,
            (End::Fine, false, false) => End::Error,
            (worst, ..) => worst,
        };
    }
    out.end()?;
    if !arguments.json && found > 0 {
        let files = counted(files.len() as u64, "file");
        render::say(&format!("{} in {files}", counted(found, "finding")));
    }
    Ok(worst)
}

/// The files that are to be checked, each with the places where its modules are looked for.
fn sources(named: &[String]) -> Result<Vec<(String, ModuleSearch)>, End> {
    let mut sources = Vec::new();
    for file in package::files(named)? {
        if !Package::is_file(&file) {
            sources.push((file, ModuleSearch::default()));
            continue;
        }
        let package = package::read(&file)?;
        let files = package.entry.into_iter().chain(package.modules.files());
        sources.extend(files.map(|file| (file, package.modules.clone())));
    }
    Ok(sources)
}

fn finding_json(origin: &str, lines: &LineIndex<'_>, finding: &Diagnostic) -> String {
    let (start, end) = (lines.position(finding.span.start), lines.position(finding.span.end));
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    json!({
        "file": origin,
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
        "severity": severity,
        "code": finding.code,
        "message": finding.message,
        "help": finding.help,
    })
    .to_string()
}
