//! Bodies of requests that HAR has as parameters only, without a text: the fields of a form.
//!
//! 1. A form in the encoding of URLs is put together as a browser does.
//! 2. A form of parts becomes a body if its boundary is known, each part by its name. Browsers leave out the content of files: it
//!    is empty then.
//! 3. A note of the exchange says what the body was made of; in HAR `_madeOf` does, beside the text.

use super::super::document::{Node, SyntaxProblem};
use super::super::url::escaped;
use crate::exchange::Note;
use crate::matching::canonical::BodyContent;
use crate::message::Header;

/// The name of the note.
const BODY_NOTE: &str = "har.request.body";
/// The name of the member of an entry of HAR that says what the note says.
const MEMBER: &str = "_madeOf";

const OF_FIELDS: &str = "a form, made of the fields in `postData.params`";
const OF_PARTS: &str = "a form of parts, made of those in `postData.params`";

/// The body that parameters give, and what it was made of; nothing if their type is not a form, or has parts and an unknown
/// boundary.
pub(super) fn made(data: &Node, headers: &[Header<'_>]) -> Result<Option<(Vec<u8>, &'static str)>, SyntaxProblem> {
    let Some(kind) = data.read_if("mimeType", Node::text)? else { return Ok(None) };
    let of_data = [Header::new("Content-Type", kind.to_owned())];
    let fields = match [BodyContent::of(&of_data), BodyContent::of(headers)] {
        [BodyContent::Form, _] => {
            data.read_if("params", |params| params.each(field))?.map(|fields| (fields.join("&"), OF_FIELDS))
        }
        [BodyContent::Multipart(boundary), _] | [_, BodyContent::Multipart(boundary)] if is_of_parts(kind) => {
            let boundary = String::from_utf8_lossy(&boundary);
            let parts = data.read_if("params", |params| params.each(|parameter| part(parameter, &boundary)))?;
            parts.map(|parts| (format!("{}--{boundary}--\r\n", parts.concat()), OF_PARTS))
        }
        _ => None,
    };
    Ok(fields.map(|(body, made_of)| (body.into_bytes(), made_of)))
}

fn is_of_parts(kind: &str) -> bool {
    kind.trim_start().to_ascii_lowercase().starts_with("multipart/form-data")
}

fn field(parameter: &Node) -> Result<String, SyntaxProblem> {
    let part = |name| Ok::<_, SyntaxProblem>(escaped(parameter.read_if(name, Node::text)?.unwrap_or("")));
    Ok(format!("{}={}", part("name")?, part("value")?))
}

/// A part, with the escapes that browsers have in names (HTML, multipart form data).
fn part(parameter: &Node, boundary: &str) -> Result<String, SyntaxProblem> {
    let name = |text: &str| text.replace('\n', "%0A").replace('\r', "%0D").replace('"', "%22");
    let mut part = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"");
    part.push_str(&name(parameter.read_if("name", Node::text)?.unwrap_or("")));
    if let Some(file) = parameter.read_if("fileName", Node::text)? {
        part.push_str(&format!("\"; filename=\"{}", name(file)));
    }
    part.push_str("\"\r\n");
    if let Some(kind) = parameter.read_if("contentType", Node::text)? {
        part.push_str(&format!("Content-Type: {}\r\n", kind.replace(['\r', '\n'], " ")));
    }
    Ok(format!("{part}\r\n{}\r\n", parameter.read_if("value", Node::text)?.unwrap_or("")))
}

/// The note that a body was made.
pub(super) fn note(made_of: &'static str) -> Note<'static> {
    Note::new(BODY_NOTE, made_of)
}

/// What such a note says.
fn noted(notes: &[Note<'_>]) -> Option<&'static str> {
    let note = notes.iter().find(|note| note.name == BODY_NOTE)?;
    [OF_FIELDS, OF_PARTS].into_iter().find(|made_of| note.value == *made_of)
}

/// What a member of HAR says.
pub(super) fn said(data: &Node) -> Option<&'static str> {
    let said = data.get(MEMBER)?.text().ok()?;
    [OF_FIELDS, OF_PARTS].into_iter().find(|made_of| said == *made_of)
}

/// The member of HAR for what the notes of an exchange say.
pub(super) fn member(notes: &[Note<'_>]) -> Option<(String, Node)> {
    noted(notes).map(|made_of| (MEMBER.to_owned(), made_of.into()))
}
