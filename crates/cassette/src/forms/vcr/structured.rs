//! Bodies that a cassette has as trees: a map as `body`, as vcrpy writes what aiohttp is given as `json=`, and `parsed_body`, as
//! serializers of vcrpy's users write it in the place of `body`.
//!
//! The tree becomes JSON, and a note of the exchange says of what. The cassette that is written of the exchange has the tree
//! again, as long as the JSON is what the tree gives.

use super::super::document::{Node, SyntaxProblem, as_json, from_json};
use crate::exchange::Note;
use crate::limits::ReadOptions;
use crate::message::{Body, Header};

/// What a JSON body was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StructuredForm {
    /// A map or a list in the place of the text.
    Body,
    /// A member of its own.
    ParsedBody,
}

impl StructuredForm {
    const ALL: [Self; 2] = [Self::Body, Self::ParsedBody];

    /// What the note says.
    fn note_value(self) -> &'static str {
        match self {
            Self::Body => "JSON, made of the map or list in `body`",
            Self::ParsedBody => "JSON, made of `parsed_body`",
        }
    }

    pub(super) fn note(self, name: &'static str) -> Note<'static> {
        Note::new(name, self.note_value())
    }

    /// The name of the member with the tree.
    pub(super) fn member(self) -> &'static str {
        match self {
            Self::Body => "body",
            Self::ParsedBody => "parsed_body",
        }
    }
}

/// A body with what it was made of, if that was a tree.
pub(super) type StructuredBody = (Option<Body<'static>>, Option<StructuredForm>);

/// The JSON that a tree stands for.
pub(super) fn made(node: &Node, origin: StructuredForm) -> Result<StructuredBody, SyntaxProblem> {
    Ok((Some(Body::new(0, as_json(node)?)), Some(origin)))
}

/// The body of a message: what `body` says or, if that says nothing, what `parsed_body` says.
pub(super) fn or_parsed(message: &Node, body: StructuredBody) -> Result<StructuredBody, SyntaxProblem> {
    let says_nothing = body.0.as_ref().is_none_or(|body| body.bytes().is_empty());
    if !says_nothing {
        return Ok(body);
    }
    let parsed =
        message.read_if(StructuredForm::ParsedBody.member(), |parsed| made(parsed, StructuredForm::ParsedBody))?;
    Ok(parsed.unwrap_or(body))
}

/// Whether a list stands for JSON: it is not a list of pieces, each a text or bytes. If the request says that it is JSON, so must
/// what the pieces come to.
pub(super) fn is_json_list(list: &[Node], headers: &[Header<'_>]) -> bool {
    let is_piece = |node: &Node| matches!(node, Node::Bytes(_)) || node.is_text();
    if !list.iter().all(is_piece) {
        return true;
    }
    let says_json = headers
        .iter()
        .any(|header| header.is("content-type") && header.value.to_text_lossy().to_ascii_lowercase().contains("json"));
    let is_text = |node: &Node| matches!(node, Node::Text(_) | Node::Plain(_));
    says_json && list.iter().all(is_text) && {
        let joined: String = list.iter().filter_map(|piece| piece.text().ok()).collect();
        serde_json::from_str::<serde::de::IgnoredAny>(&joined).is_err()
    }
}

/// The tree that a body was made of by a note, and the member that it stands in; `None` if it is no longer what the tree gives.
pub(super) fn tree(notes: &[Note<'_>], name: &str, body: &[u8]) -> Option<(StructuredForm, Node)> {
    let note = notes.iter().find(|note| *note.name == *name.as_bytes())?;
    let origin = StructuredForm::ALL.into_iter().find(|origin| note.value == origin.note_value())?;
    let tree = from_json(body, ReadOptions::default()).ok()?;
    let is_same = as_json(&tree).is_ok_and(|json| json.as_bytes() == body);
    is_same.then_some((origin, tree))
}
