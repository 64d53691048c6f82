//! Messages of the protocol: a head that says how long the body is, and a body of JSON.

use serde_json::{Value, json};
use std::io::{self, BufRead, Write};

/// The longest body that is read, in bytes.
const BODY_BYTES_MAX: usize = 256 << 20;

/// The longest line of a head.
const LINE_BYTES_MAX: u64 = 4096;

/// A request, which has a number, or a notification, which has none.
pub(super) struct Message {
    pub(super) id: Option<Value>,
    pub(super) method: String,
    pub(super) parameters: Value,
}

/// What was read.
pub(super) enum Read {
    Message(Message),
    /// A message that is none; the next one can be read.
    Unreadable(String),
    End,
}

/// Reads the next message.
///
/// # Errors
/// The stream cannot be read, or is not one of messages.
pub(super) fn read(input: &mut impl BufRead) -> io::Result<Read> {
    let Some(length) = read_head(input)? else { return Ok(Read::End) };
    if length > BODY_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a message of {length} bytes is too long")));
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    let parsed: Value = match serde_json::from_slice(&body) {
        Ok(parsed) => parsed,
        Err(error) => return Ok(Read::Unreadable(format!("a message is not JSON: {error}"))),
    };
    let Some(method) = parsed["method"].as_str() else {
        // An answer to a request of ours would be one, and we make none.
        return Ok(Read::Unreadable("a message has no method".to_owned()));
    };
    let id = parsed.get("id").filter(|id| !id.is_null()).cloned();
    Ok(Read::Message(Message { id, method: method.to_owned(), parameters: parsed["params"].clone() }))
}

/// The length of the body; `None` at the end of the stream.
fn read_head(input: &mut impl BufRead) -> io::Result<Option<usize>> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if io::Read::take(&mut *input, LINE_BYTES_MAX).read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        match (line.trim_end(), length) {
            ("", Some(length)) => return Ok(Some(length)),
            ("", None) => return Err(invalid("the head of a message has no Content-Length")),
            (field, _) => {
                let (name, value) = field.split_once(':').ok_or_else(|| invalid("the head of a message is none"))?;
                if name.eq_ignore_ascii_case("content-length") {
                    length = Some(value.trim().parse().map_err(|_| invalid("Content-Length is not a number"))?);
                }
            }
        }
    }
}

/// Writes a message.
pub(super) fn write(output: &mut impl Write, message: &Value) -> io::Result<()> {
    let body = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    output.flush()
}

pub(super) fn result(id: Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

pub(super) fn error(id: Value, code: i64, reason: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": reason } })
}

pub(super) fn notification(method: &str, parameters: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": parameters })
}
