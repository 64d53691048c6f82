//! How people read a report: a line for each entry, with its name, its value and what it means.
//!
//! Names and values are in columns. A long text does not push the meanings of all others to the right. What names of data have in common
//! is said at the first of them.

use crate::{Entry, Item, Report, Unit, Value};
use std::fmt;

/// Values longer than this are not considered for the width of their column.
const VALUE_WIDTH_MAX: usize = 24;

/// A line before it is laid out.
struct Line {
    name: String,
    value: String,
    meaning: &'static str,
}

impl fmt::Display for Report {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        lay_out(&self.items, 0, true, &mut lines);
        let width = |text: &str| text.chars().count();
        let names = lines.iter().map(|line| width(&line.name)).max().unwrap_or(0) + 2;
        let values = lines.iter().map(|line| width(&line.value)).filter(|width| *width <= VALUE_WIDTH_MAX);
        let values = values.max().unwrap_or(0);
        for Line { name, value, meaning } in &lines {
            let line = format!("{name:<names$}  {value:<values$}  {meaning}");
            writeln!(to, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// The lines of items; `explains` says whether their meanings were not told yet.
fn lay_out(items: &[Item], depth: usize, explains: bool, lines: &mut Vec<Line>) {
    for item in items {
        let indented = |name: &str| format!("{:1$}{name}", "", 2 * depth);
        let meaning = if explains { item.meaning() } else { "" };
        match item {
            Item::Entry(entry) => {
                let name = indented(&shown_name(&entry.name));
                lines.push(Line { name, value: shown(entry), meaning });
            }
            Item::Group(group) => {
                let name = indented(&shown_name(&group.name));
                let Some(items) = group.items.as_ref().filter(|items| !items.is_empty()) else {
                    lines.push(Line { name, value: "none".to_owned(), meaning });
                    continue;
                };
                lines.push(Line { name: format!("{name}:"), value: String::new(), meaning });
                if group.is_of_data {
                    of_data(items, depth + 1, explains, lines);
                } else {
                    lay_out(items, depth + 1, explains, lines);
                }
            }
        }
    }
}

/// Things that have their names from data, and are all of one shape.
fn of_data(items: &[Item], depth: usize, explains: bool, lines: &mut Vec<Line>) {
    let indent = 2 * depth;
    for (at, item) in items.iter().enumerate() {
        let name = item.name();
        match item {
            Item::Entry(entry) => {
                lines.push(Line { name: format!("{:indent$}{name}", ""), value: shown(entry), meaning: "" });
            }
            Item::Group(group) => {
                lines.push(Line { name: format!("{:indent$}{name}:", ""), value: String::new(), meaning: "" });
                lay_out(group.items.as_deref().unwrap_or_default(), depth + 1, explains && at == 0, lines);
            }
        }
    }
}

fn shown_name(name: &str) -> String {
    name.replace('_', " ")
}

fn shown(entry: &Entry) -> String {
    match (&entry.value, entry.unit) {
        (Value::Unknown, _) => "-".to_owned(),
        (Value::Text(text), _) => text.clone(),
        (Value::Ratio(ratio), _) => format!("{ratio:.2}"),
        (Value::Number(1), Unit::Bytes) => "1 byte".to_owned(),
        (Value::Number(number), Unit::Bytes) => format!("{number} bytes"),
        (Value::Number(number), Unit::Nanoseconds) => time(*number),
        (Value::Number(number), _) => number.to_string(),
    }
}

/// A time in the unit that people would take; no digit is lost.
fn time(nanoseconds: u64) -> String {
    let (unit, digits) = match nanoseconds {
        0..1_000 => return format!("{nanoseconds} ns"),
        1_000..1_000_000 => ("us", 3),
        1_000_000..1_000_000_000 => ("ms", 6),
        _ => ("s", 9),
    };
    let parts = 10_u64.pow(digits);
    format!("{}.{:0width$} {unit}", nanoseconds / parts, nanoseconds % parts, width = digits as usize)
}
