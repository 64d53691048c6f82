//! Cassettes of VCR, in YAML and JSON: those of vcrpy (Python) and those of VCR (Ruby).
//!
//! They have requests and responses, and little else: no times but when an interaction was recorded, no chunks, no errors, no
//! WebSockets. What they have beside stays as notes, `vcr.interaction` and `vcr.cassette` or, of Ruby's, `vcr.ruby.interaction`
//! and `vcr.ruby.cassette`, and is put back when the same style is written. What is lost is said: each interaction is read
//! again and compared ([`super::losses`]).

mod read;
mod structured;
mod write;

use super::document::{Node, SyntaxProblem, difference, from_json, from_yaml, merge, to_json, to_yaml};
use super::error::FormError;
use super::foreign::{note, noted};
use super::losses::{Loss, Losses, WHOLE_EXCHANGES, differences};
use crate::content::Content;
use crate::exchange::{Exchange, Note};
use crate::limits::ReadOptions;
use std::collections::BTreeSet;

/// Whose layout a VCR cassette has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VcrStyle {
    /// That of vcrpy, as it has been since 1.0: `version: 1` and `interactions`.
    #[default]
    Python,
    /// That of VCR for Ruby, as it has been since 2.0: `http_interactions`.
    Ruby,
}

/// Whether a cassette is JSON or YAML. JSON has no bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    Json,
    Yaml,
}

/// The notes of bodies that were made of a tree, and of the lines that such a request had.
const REQUEST_BODY_NOTE: &str = "vcr.request.body";
const RESPONSE_BODY_NOTE: &str = "vcr.response.body";
const REQUEST_LINES_NOTE: &str = "vcr.request.headers";
/// The note of a time without a zone.
const TIME_NOTE: &str = "vcr.recorded_at";

impl VcrStyle {
    fn interactions(self) -> &'static str {
        match self {
            Self::Python => "interactions",
            Self::Ruby => "http_interactions",
        }
    }

    fn interaction_note(self) -> &'static str {
        match self {
            Self::Python => "vcr.interaction",
            Self::Ruby => "vcr.ruby.interaction",
        }
    }

    /// The note of lines of the response that name a compression and are not so.
    fn lines_note(self) -> &'static str {
        match self {
            Self::Python => "vcr.response.headers",
            Self::Ruby => "vcr.ruby.response.headers",
        }
    }

    fn cassette_note(self) -> &'static str {
        match self {
            Self::Python => "vcr.cassette",
            Self::Ruby => "vcr.ruby.cassette",
        }
    }

    /// A cassette without interactions.
    fn empty_cassette(self) -> Node {
        let interactions = Node::List(Vec::new());
        match self {
            Self::Python => Node::map([("interactions", interactions), ("version", 1_u64.into())]),
            Self::Ruby => {
                let writer = concat!("Metroon ", env!("CARGO_PKG_VERSION"));
                Node::map([("http_interactions", interactions), ("recorded_with", writer.into())])
            }
        }
    }
}

impl Syntax {
    fn name(self) -> &'static str {
        match self {
            Self::Json => "VCR JSON",
            Self::Yaml => "VCR YAML",
        }
    }
}

impl Content {
    /// As a VCR cassette in YAML, and what it cannot hold: times but that of the recording, chunks, trailers, errors, WebSockets.
    ///
    /// # Errors
    /// Memory is too small, in effect.
    pub fn to_vcr_yaml(&self, style: VcrStyle) -> Result<(Vec<u8>, Vec<Loss>), FormError> {
        write(self, style, Syntax::Yaml)
    }

    /// As a VCR cassette in JSON, and what it cannot hold: as in YAML, and in the style of Python bodies that are not UTF-8.
    ///
    /// # Errors
    /// Memory is too small, in effect.
    pub fn to_vcr_json(&self, style: VcrStyle) -> Result<(Vec<u8>, Vec<Loss>), FormError> {
        write(self, style, Syntax::Json)
    }

    /// From a VCR cassette in YAML, of vcrpy or of VCR for Ruby. Nothing is lost: what an exchange has no place for becomes a note.
    ///
    /// # Errors
    /// It is not such a cassette; the message names the place.
    pub fn from_vcr_yaml(bytes: &[u8]) -> Result<Self, FormError> {
        read(bytes, Syntax::Yaml, ReadOptions::default())
    }

    /// From a VCR cassette in JSON, of vcrpy or of VCR for Ruby. Nothing is lost: what an exchange has no place for becomes a note.
    ///
    /// # Errors
    /// As [`Content::from_vcr_yaml`].
    pub fn from_vcr_json(bytes: &[u8]) -> Result<Self, FormError> {
        read(bytes, Syntax::Json, ReadOptions::default())
    }
}

/// The style of a text that has the line with which the interactions of a cassette begin.
pub(super) fn style_of_yaml(text: &[u8]) -> Option<VcrStyle> {
    [VcrStyle::Python, VcrStyle::Ruby].into_iter().find(|style| {
        let name = style.interactions().as_bytes();
        let mut places = memchr::memmem::find_iter(text, name);
        places.any(|at| (at == 0 || text[at - 1] == b'\n') && text[at + name.len()..].starts_with(b":"))
    })
}

/// Reads a cassette of either style. Exchanges are in its order.
pub(super) fn read(bytes: &[u8], syntax: Syntax, options: ReadOptions) -> Result<Content, FormError> {
    let document = match syntax {
        Syntax::Json => from_json(bytes, options),
        Syntax::Yaml => from_yaml(bytes, options),
    };
    let mut document = document.map_err(|unread| unread.of(syntax.name()))?;
    content(&mut document).map_err(|wrong| FormError::malformed(syntax.name(), &wrong))
}

fn content(document: &mut Node) -> Result<Content, SyntaxProblem> {
    let is_old = document.list().is_ok_and(|list| list.first().is_some_and(|first| first.get("request").is_some()));
    if is_old {
        return Err(SyntaxProblem::new(
            "a cassette of a version before 1.0: record it again, or let its own migration mend it",
        ));
    }
    let members = document.members()?;
    let style = match members.iter().any(|(name, _)| name == VcrStyle::Ruby.interactions()) {
        true => VcrStyle::Ruby,
        false => VcrStyle::Python,
    };
    let name = style.interactions();
    let mut exchanges = match members.iter().any(|(other, _)| other == name) {
        // An empty cassette may have nothing there.
        true => document.read_if(name, |list| list.each(|interaction| read::interaction(interaction, style)))?,
        false => return Err(SyntaxProblem::new("neither `interactions` nor `http_interactions` is there")),
    }
    .unwrap_or_default();
    exchanges.iter_mut().zip(0..).for_each(|(exchange, number)| exchange.number = number);
    let mut meta = if style == VcrStyle::Python { take_metadata(document) } else { Vec::new() };
    let missing = difference(document, &style.empty_cassette(), &[name]);
    meta.extend(missing.iter().map(|missing| note(style.cassette_note(), missing)));
    Ok(Content { exchanges, meta })
}

/// What vcrpy keeps beside interactions, as far as it is texts.
fn take_metadata(document: &mut Node) -> Vec<Note<'static>> {
    let Node::Map(members) = document else { return Vec::new() };
    let metadata = members.iter_mut().find(|(name, _)| name == "metadata");
    let Some((_, Node::Map(metadata))) = metadata else { return Vec::new() };
    let taken = metadata.iter().filter(|(_, node)| node.is_text());
    let notes = taken.map(|(name, node)| Note::new(name.clone(), node.text().unwrap_or_default().to_owned())).collect();
    metadata.retain(|(_, node)| !node.is_text());
    if metadata.is_empty() {
        members.retain(|(name, _)| name != "metadata");
    }
    notes
}

/// Writes a cassette, and says what it cannot hold.
fn write(content: &Content, style: VcrStyle, syntax: Syntax) -> Result<(Vec<u8>, Vec<Loss>), FormError> {
    let mut losses = Losses::default();
    let mut interactions = Vec::with_capacity(content.exchanges.len());
    for exchange in &content.exchanges {
        let written = interaction(exchange, style, syntax, &mut losses);
        interactions.extend(written.map_err(|wrong| FormError::malformed(syntax.name(), &wrong))?);
    }
    let is_counted = content.exchanges.iter().zip(0..).all(|(exchange, number)| exchange.number == number);
    if !is_counted || interactions.len() != content.exchanges.len() {
        losses.of_cassette("the numbers of exchanges");
    }
    let mut document = style.empty_cassette();
    if let Some(missing) = noted(&content.meta, style.cassette_note()) {
        merge(&mut document, missing);
    }
    put_meta(&mut document, &content.meta, style, &mut losses);
    set_interactions(&mut document, interactions, style);
    let bytes = match syntax {
        Syntax::Json => to_json(&document, true).map_err(|error| FormError::malformed(syntax.name(), &error))?,
        Syntax::Yaml => to_yaml(&document).into_bytes(),
    };
    Ok((bytes, losses.0))
}

/// Only vcrpy has a place for names and values.
fn put_meta(document: &mut Node, meta: &[Note<'_>], style: VcrStyle, losses: &mut Losses) {
    let mut names = BTreeSet::new();
    let mut metadata = Vec::new();
    let mut is_lost = false;
    for note in meta.iter().filter(|note| *note.name != *style.cassette_note().as_bytes()) {
        match (note.name.as_text(), note.value.as_text()) {
            (Some(name), Some(value)) if style == VcrStyle::Python && names.insert(name) => {
                metadata.push((name.to_owned(), value.into()));
            }
            _ => is_lost = true,
        }
    }
    if is_lost {
        losses.of_cassette("what is known of the cassette");
    }
    if !metadata.is_empty() {
        merge(document, Node::map([("metadata", Node::Map(metadata))]));
    }
}

/// The document that a note makes may be anything: then it is made anew.
fn set_interactions(document: &mut Node, interactions: Vec<Node>, style: VcrStyle) {
    let name = style.interactions();
    if document.get(name).is_none_or(|list| list.list().is_err()) {
        *document = style.empty_cassette();
    }
    let Node::Map(members) = document else { unreachable!("it has interactions") };
    let place = members.iter_mut().find(|(other, _)| other == name);
    let Some((_, place)) = place else { unreachable!("it has interactions") };
    *place = Node::List(interactions);
}

/// An interaction that comes back as the exchange, or as near to it as can be; `None` for one without a response.
fn interaction(
    exchange: &Exchange<'_>,
    style: VcrStyle,
    syntax: Syntax,
    losses: &mut Losses,
) -> Result<Option<Node>, SyntaxProblem> {
    let Some(plain) = write::interaction(exchange, style, syntax) else {
        losses.add(WHOLE_EXCHANGES, exchange.number);
        return Ok(None);
    };
    let lost = differences(exchange, &read::interaction(&plain, style)?);
    let (interaction, lost) = match with_missing(&plain, exchange, style) {
        Some((interaction, fewer)) if fewer.len() < lost.len() => (interaction, fewer),
        _ => (plain, lost),
    };
    lost.into_iter().for_each(|what| losses.add(what, exchange.number));
    Ok(Some(interaction))
}

/// The interaction with what its note says, and what is lost then.
fn with_missing(plain: &Node, exchange: &Exchange<'_>, style: VcrStyle) -> Option<(Node, Vec<&'static str>)> {
    let mut interaction = plain.clone();
    merge(&mut interaction, noted(&exchange.notes, style.interaction_note())?);
    let back = read::interaction(&interaction, style).ok()?;
    let lost = differences(exchange, &back);
    Some((interaction, lost))
}
