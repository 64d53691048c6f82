//! What the verbs of `metroon kb` share: opening the history of a knowledge base, and lines about its changes.

use crate::end::End;
use crate::render;
use crate::run::base_failed;
use metroon::History;
use metroon::history::Change;
use serde_json::json;
use std::path::{Path, PathBuf};

/// How much of an atom is shown in a line of the log, in bytes.
const SHOWN_BYTES_MAX: usize = 2_000;

/// The history of the knowledge base in a directory. Warnings are printed.
pub(crate) fn open(directory: &Path) -> Result<History, End> {
    let history = History::open(directory).map_err(|error| base_failed(directory, &error))?;
    warn(&history.warnings());
    Ok(history)
}

/// Prints what opening could not use.
pub(crate) fn warn(warnings: &[String]) {
    warnings.iter().for_each(|warning| render::say(&format!("warning: {warning}")));
}

/// A change of a commit, below its line.
pub(crate) fn change_line(change: &Change) -> String {
    let sign = match change.copies {
        0 => "~",
        1.. => "+",
        _ => "-",
    };
    let times = if change.copies.abs() > 1 { format!(" ({} times)", change.copies.abs()) } else { String::new() };
    let space = change.space.as_ref().map(|space| format!("  in {space}")).unwrap_or_default();
    let text = cut(&change.text);
    format!("        {sign} {text}{times}{space}  {}", place(&change.origin, change.line))
}

/// A change of a commit as a JSON object.
pub(crate) fn change_json(commit: u64, change: &Change) -> String {
    let what = if change.copies == 0 { "change" } else { "atom" };
    let mut object = json!({
        "commit": commit,
        "copies": change.copies,
        "origin": change.origin,
        "line": change.line,
    });
    object[what] = json!(change.text);
    if let Some(space) = &change.space {
        object["space"] = json!(space);
    }
    object.to_string()
}

/// A source and a line, or the source alone if the form has no line: an edited file no longer has it.
pub(crate) fn place(origin: &str, line: u32) -> String {
    if line == 0 { origin.to_owned() } else { format!("{origin}:{line}") }
}

fn cut(text: &str) -> String {
    if text.len() <= SHOWN_BYTES_MAX {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(SHOWN_BYTES_MAX);
    format!("{}… ({} bytes more)", &text[..end], text.len() - end)
}

/// The directory that another one lies in.
pub(crate) fn parent(directory: &Path) -> Option<PathBuf> {
    Some(std::fs::canonicalize(directory).ok()?.parent()?.to_owned())
}
