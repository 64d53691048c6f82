//! Texts that a stream gives in pieces, looked through as the texts that they are.
//!
//! 1. The pieces of each text, by [dialect](crate::dialect), are joined without their escapes, behind the last words of what was given out.
//! 2. What is found there is replaced in the pieces in which it stands: the placeholder where it begins, nothing where it goes on. So every
//!    event stays JSON, and keeps its place and its time.
//!    What says a piece once more is emptied if the piece is replaced.
//! 3. The end of a text that may be the beginning of a secret is held back, and with it all that came after it. It is not any more when
//!    the text goes on as no secret does, or is over.
//! 4. A text of which more than [`HELD_TEXT_BYTES_MAX`] are held back, or enough of it that [`HELD_BYTES_MAX`] of the stream are, is
//!    replaced from there on until it is over, which is told as any finding is. So memory is bounded, and nothing gets by.

use super::content::BodyContext;
use super::text::PLACEHOLDER;
use super::{Redaction, Replacement, TextFindings};
use crate::dialect::units::{Framing, Unit, Units, cut};
use crate::dialect::{Delta, Mirror, StreamEvent, TextKind, may_have_tokens, next_char, read};
use std::collections::BTreeMap;
use std::ops::Range;

/// More of a text is not held back.
pub const HELD_TEXT_BYTES_MAX: usize = 64 << 10;

/// More of a stream is not held back for one text.
pub const HELD_BYTES_MAX: usize = 512 << 10;

/// How much of what was given out of a text is kept.
const CONTEXT_BYTES: usize = 512;

/// How many texts are known by what was given out of them.
const TEXTS_MAX: usize = 256;

const OF_NO_END: &str = "a text that began as a secret does and had no end";

/// What is known of the texts of a stream by what was given out.
#[derive(Clone, Debug, Default)]
pub(crate) struct JoinedTexts {
    texts: BTreeMap<String, TextContext>,
    /// Whether any was given out.
    has_any: bool,
    /// Whether nothing waits any more: what would be held back is replaced.
    cuts: bool,
}

#[derive(Clone, Debug, Default)]
struct TextContext {
    /// The last words.
    words: Vec<u8>,
    /// Whether nothing of it is given out any more.
    is_cut: bool,
}

/// What is held back.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeldBack {
    /// From where on.
    pub(crate) from: Option<usize>,
    /// Texts of which nothing is given out any more.
    pub(crate) cut: Vec<String>,
}

/// What was found in joined texts.
#[derive(Debug, Default)]
pub(crate) struct JoinedFindings<'r> {
    /// In order, without overlaps. One that goes on from another piece says nothing of what it is.
    pub(crate) replacements: Vec<Replacement<'r>>,
    pub(crate) held: HeldBack,
    /// Where tools are called with something.
    pub(crate) arguments: Vec<Range<usize>>,
    /// Values of secret names that stay.
    pub(crate) stays: Vec<Range<usize>>,
    /// Events that give texts in pieces.
    units: Vec<Range<usize>>,
}

impl JoinedFindings<'_> {
    /// Whether a place in the body goes from one event that gives a text in pieces to another. What is found there without regard to
    /// events is none of its own: it would take events away, and is found in the text.
    pub(crate) fn goes_over_events(&self, place: &Range<usize>) -> bool {
        let unit_of = |at: usize| {
            let index = self.units.partition_point(|unit| unit.end <= at);
            self.units.get(index).filter(|unit| unit.start <= at).map(|_| index)
        };
        match (unit_of(place.start), unit_of(place.end - 1)) {
            (Some(first), Some(last)) => first != last,
            _ => false,
        }
    }
}

/// A text, as far as it is there.
struct JoinedText {
    kind: TextKind,
    /// The last words of what was given out, and then the pieces.
    text: Vec<u8>,
    pieces: Vec<TextPiece>,
    is_cut: bool,
    is_over: bool,
}

/// A piece of a text.
struct TextPiece {
    /// Where it stands in the text.
    text: Range<usize>,
    /// Where it stands in the body.
    place: Range<usize>,
    /// Where else in the body it is said.
    mirrors: Vec<Mirror>,
}

impl TextPiece {
    /// Where in the body the first of all places is that say something of it from a place in the text on.
    fn begin(&self, body: &[u8], at: usize) -> usize {
        let own = self.place.start + escaped_length(&body[self.place.clone()], at - self.text.start);
        self.mirrors.iter().map(|(range, _)| range.start).fold(own, usize::min)
    }
}

impl JoinedTexts {
    /// What would be held back from now on is replaced, or is not any more.
    pub(crate) fn cut_what_is_held(&mut self, cuts: bool) {
        self.cuts = cuts;
    }

    /// Whether any text was given out.
    pub(crate) fn is_empty(&self) -> bool {
        !self.has_any
    }

    /// Looks through what stands in a body from a place on, at which a unit begins.
    pub(crate) fn look<'r>(
        &self,
        redaction: &'r Redaction,
        body: &[u8],
        (from, framing): (usize, Framing),
    ) -> JoinedFindings<'r> {
        let Units { units, incomplete } = cut(body, from, framing);
        let mut found = self.look_at(redaction, body, &units);
        let waits =
            framing == Framing::Events || matches!(framing, Framing::Values { is_list: true }) || !self.is_empty();
        // One value is looked through for tokens when all of it is there.
        if let Some(incomplete) = incomplete.filter(|&begin| waits || may_have_tokens(&body[begin..])) {
            let held = &mut found.held.from;
            *held = Some(held.map_or(incomplete, |held| held.min(incomplete)));
        }
        found
    }

    /// Looks through the texts that units join.
    pub(crate) fn look_at<'r>(&self, redaction: &'r Redaction, body: &[u8], units: &[Unit]) -> JoinedFindings<'r> {
        let mut found = JoinedFindings::default();
        for (field, text) in self.joined(body, units, &mut found.units) {
            self.look_through(redaction, body, (field, text), &mut found);
        }
        found.replacements.sort_by_key(|replacement| replacement.range.start);
        found
    }

    fn joined(&self, body: &[u8], units: &[Unit], with_deltas: &mut Vec<Range<usize>>) -> BTreeMap<String, JoinedText> {
        let mut joined: BTreeMap<String, JoinedText> = BTreeMap::new();
        for unit in units {
            let text = unit.text(body);
            let StreamEvent { deltas, over } = read(&text);
            with_deltas.extend((!deltas.is_empty()).then(|| unit.range.clone()));
            for Delta { field, kind, content, mirrors } in deltas {
                let known = self.texts.get(&field);
                let own = joined.entry(field).or_insert_with(|| JoinedText {
                    kind,
                    text: known.map(|known| known.words.clone()).unwrap_or_default(),
                    pieces: Vec::new(),
                    is_cut: known.is_some_and(|known| known.is_cut),
                    is_over: false,
                });
                let begin = own.text.len();
                push_unescaped(&text[content.clone()], &mut own.text);
                // A mirror may go over lines.
                let end = |at: usize| unit.place(&(at..at)).start;
                let mirrors = mirrors.into_iter().map(|(range, instead)| (end(range.start)..end(range.end), instead));
                let (text, mirrors) = (begin..own.text.len(), mirrors.collect());
                own.pieces.push(TextPiece { text, place: unit.place(&content), mirrors });
                own.is_over = false;
            }
            for name in over {
                joined.iter_mut().filter(|(field, _)| field.starts_with(&name)).for_each(|(_, own)| own.is_over = true);
            }
        }
        joined
    }

    fn look_through<'r>(
        &self,
        redaction: &'r Redaction,
        body: &[u8],
        (field, own): (String, JoinedText),
        found: &mut JoinedFindings<'r>,
    ) {
        let JoinedText { text, pieces, .. } = &own;
        let Some(first) = pieces.first().map(|piece| &piece.text) else { return };
        if own.is_cut {
            let rest = Replacement { range: first.start..text.len(), placeholder: "".into(), what: "" };
            return replace(body, pieces, &rest, first.start, found);
        }
        let about = BodyContext::joined(own.kind);
        let TextFindings { replacements, members, stays, .. } = redaction.look_through_some(text, &about, false);
        if own.kind == TextKind::Arguments {
            found.arguments.extend(pieces.iter().map(|piece| piece.place.clone()));
            let stays = stays.into_iter().filter(|range| range.end > first.start);
            found.stays.extend(stays.map(|range| {
                let begin = place_of(body, pieces, range.start.max(first.start));
                begin..begin + 1
            }));
        }
        let held = if own.is_over { text.len() } else { redaction.may_go_on_from(text, &members).max(first.start) };
        let held_in_body = (held < text.len()).then(|| place_of(body, pieces, held));
        let is_too_much = held < text.len() && self.cuts
            || text.len() - held > HELD_TEXT_BYTES_MAX
            || held_in_body.is_some_and(|held| body.len() - held > HELD_BYTES_MAX);
        let known = if is_too_much { held } else { text.len() };
        for replacement in replacements.iter().filter(|replacement| replacement.range.start < known) {
            replace(body, pieces, replacement, first.start, found);
        }
        if is_too_much {
            let begin = replacements.iter().find(|hit| hit.range.contains(&held)).map_or(held, |hit| hit.range.end);
            let rest = Replacement { range: begin..text.len(), placeholder: PLACEHOLDER.into(), what: OF_NO_END };
            replace(body, pieces, &rest, first.start, found);
            found.held.cut.push(field);
        } else if let Some(begin) = held_in_body {
            found.held.from = Some(found.held.from.map_or(begin, |held| held.min(begin)));
        }
    }

    /// Takes what is given out of a body up to an end: all units that end before it. Gives where the first one begins that does not.
    pub(crate) fn given(
        &mut self,
        body: &[u8],
        (from, framing): (usize, Framing),
        end: usize,
        cut_texts: &[String],
    ) -> usize {
        let Units { mut units, .. } = cut(body, from, framing);
        let rest = units.iter().find(|unit| unit.range.end > end).map(|unit| unit.range.start);
        units.retain(|unit| unit.range.end <= end);
        let last = units.last().map_or(from, |unit| unit.range.end);
        self.given_units(body, &units, cut_texts);
        rest.unwrap_or(last).min(end)
    }

    /// Takes note of units that were given away.
    pub(crate) fn given_units(&mut self, body: &[u8], units: &[Unit], cut_texts: &[String]) {
        for (field, own) in self.joined(body, units, &mut Vec::new()) {
            let mut begin = own.text.len().saturating_sub(CONTEXT_BYTES);
            if begin > 0 {
                let space = own.text[begin..].iter().position(u8::is_ascii_whitespace);
                begin += space.unwrap_or(0);
            }
            self.has_any = true;
            if own.is_over && !self.texts.contains_key(&field) {
                // It was all of it.
                continue;
            }
            let known = self.texts.entry(field).or_default();
            known.words = own.text[begin..].to_vec();
            known.is_cut &= !own.is_over;
        }
        for field in cut_texts {
            self.texts.entry(field.clone()).or_default().is_cut = true;
        }
        while self.texts.len() > TEXTS_MAX {
            let Some(field) = self.texts.iter().find(|(_, known)| !known.is_cut).map(|(field, _)| field.clone()) else {
                return;
            };
            self.texts.remove(&field);
        }
    }
}

/// Puts a replacement in a text into the pieces of a body in which it stands.
fn replace<'r>(
    body: &[u8],
    pieces: &[TextPiece],
    replacement: &Replacement<'r>,
    given: usize,
    found: &mut JoinedFindings<'r>,
) {
    let Replacement { range, placeholder, what } = replacement;
    // What began in what was given out has its placeholder there.
    let mut is_said = range.start < given;
    for TextPiece { text, place, mirrors } in pieces {
        let (begin, end) = (range.start.max(text.start), range.end.min(text.end));
        if begin >= end {
            continue;
        }
        let content = &body[place.clone()];
        let at = |at: usize| place.start + escaped_length(content, at - text.start);
        let (placeholder, what) = if is_said { ("".into(), "") } else { (placeholder.clone(), *what) };
        found.replacements.push(Replacement { range: at(begin)..at(end), placeholder, what });
        is_said = true;
        let mirrors = mirrors.iter().filter(|(range, instead)| body[range.clone()] != *instead.as_bytes());
        let emptied =
            |(range, instead): &Mirror| Replacement { range: range.clone(), placeholder: (*instead).into(), what: "" };
        found.replacements.extend(mirrors.map(emptied));
    }
}

/// Where in a body the character stands that stands at a place in a text.
fn place_of(body: &[u8], pieces: &[TextPiece], at: usize) -> usize {
    let piece = pieces.iter().find(|piece| piece.text.contains(&at));
    piece.map_or(body.len(), |piece| piece.begin(body, at))
}

/// The content of a string without its escapes.
fn push_unescaped(content: &[u8], text: &mut Vec<u8>) {
    let mut at = 0;
    while let Some((char, length)) = next_char(&content[at..]) {
        text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        at += length;
    }
}

/// The length of the beginning of a content that has this many bytes without escapes.
fn escaped_length(content: &[u8], bytes: usize) -> usize {
    let (mut at, mut done) = (0, 0);
    while done < bytes {
        let Some((char, length)) = next_char(&content[at..]) else { break };
        at += length;
        done += char.len_utf8();
    }
    at.min(content.len())
}
