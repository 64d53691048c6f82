//! What the readers and writers of other recorders' documents share: notes of what a cassette has no place for, and times.

use super::document::{Node, from_json, to_json};
use crate::exchange::Note;
use crate::limits::ReadOptions;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::temporal::DateTimePrinter;
use jiff::tz::TimeZone;

/// What a note says in JSON; `None` if there is none, or it says something else.
pub(super) fn noted(notes: &[Note<'_>], name: &str) -> Option<Node> {
    let note = notes.iter().find(|note| *note.name == *name.as_bytes())?;
    from_json(&note.value, ReadOptions::default()).ok()
}

/// A note in JSON. Its members are sorted: those of a document come back in another order.
pub(super) fn note(name: &'static str, node: &Node) -> Note<'static> {
    let json = to_json(&sorted(node), false).unwrap_or_else(|_| unreachable!("a tree can be written to memory"));
    Note::new(name, json)
}

fn sorted(node: &Node) -> Node {
    match node {
        Node::List(list) => Node::List(list.iter().map(sorted).collect()),
        Node::Map(members) => {
            let mut members: Vec<_> = members.iter().map(|(name, node)| (name.clone(), sorted(node))).collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            Node::Map(members)
        }
        other => other.clone(),
    }
}

/// Puts members to a map.
pub(super) fn add(to: &mut Node, members: Option<Node>) {
    if let (Node::Map(to), Some(Node::Map(members))) = (to, members) {
        to.extend(members);
    }
}

/// A time as ISO 8601 has it, and whether it has a zone. One without is taken as UTC.
pub(super) fn time(text: &str) -> Result<(Timestamp, bool), jiff::Error> {
    let zoned = match text.parse::<Timestamp>() {
        Ok(time) => return Ok((time, true)),
        Err(error) => error,
    };
    // What has an offset and is not a time all the same is not what a reader without one makes of it.
    let utc = text.parse::<DateTime>().and_then(|time| time.to_zoned(TimeZone::UTC));
    utc.map(|time| (time.timestamp(), false)).map_err(|_| zoned)
}

/// The note of a time without a zone.
pub(super) fn without_zone(name: &'static str) -> Note<'static> {
    Note::new(name, "has no time zone; taken as UTC")
}

/// A time as ISO 8601 has it, with three digits after the second, or nine if that is not enough.
pub(super) fn utc(ns: i64) -> String {
    let digits = if ns % 1_000_000 == 0 { 3 } else { 9 };
    match Timestamp::from_nanosecond(ns.into()) {
        Ok(time) => DateTimePrinter::new().precision(Some(digits)).timestamp_to_string(&time),
        Err(_) => unreachable!("64 bits of nanoseconds are within the years of a timestamp"),
    }
}
