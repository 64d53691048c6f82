//! What a body is cut into, before anybody knows what it says: the events of a stream of events, or values of JSON one after the other.

use std::borrow::Cow;
use std::ops::Range;

/// How a body is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// Values of JSON: one a line, one after the other, or the elements of one array.
    Values {
        /// Whether one that has no end yet is likely to be followed by others.
        is_list: bool,
    },
}

impl Framing {
    /// How a body is cut that begins so, by what is there and not by what its head says: heads are often wrong.
    pub(crate) fn of(beginning: &[u8], says_lines: bool) -> Option<Self> {
        let beginning = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning).trim_ascii_start();
        let fields: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
        match beginning.first()? {
            b'{' => Some(Self::Values { is_list: says_lines }),
            b'[' | 0x1e => Some(Self::Values { is_list: true }),
            _ if fields.iter().any(|field| beginning.starts_with(field)) => Some(Self::Events),
            _ => None,
        }
    }
}

/// One event or value: where it stands, and where the lines of its text do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    /// All of it, with what belongs to it, such as the name of an event.
    pub(crate) range: Range<usize>,
    lines: Vec<Range<usize>>,
}

impl Unit {
    /// A message that is one value.
    pub(crate) fn line(range: Range<usize>) -> Self {
        Self { lines: vec![range.clone()], range }
    }

    /// Its text. The lines of an event are joined.
    pub(crate) fn text<'b>(&self, body: &'b [u8]) -> Cow<'b, [u8]> {
        match &self.lines[..] {
            [only] => Cow::Borrowed(&body[only.clone()]),
            lines => Cow::Owned(lines.iter().map(|line| &body[line.clone()]).collect::<Vec<_>>().join(&b'\n')),
        }
    }

    /// Where something stands in the body that stands in its text, and in one line of it.
    pub(crate) fn place(&self, in_text: &Range<usize>) -> Range<usize> {
        let mut begin = 0;
        for line in &self.lines {
            if in_text.start <= begin + line.len() {
                let start = line.start + in_text.start - begin;
                return start..start + in_text.len();
            }
            begin += line.len() + 1;
        }
        self.range.end..self.range.end
    }
}

/// What a body is cut into from a place on.
#[derive(Debug, Default)]
pub(crate) struct Units {
    pub(crate) units: Vec<Unit>,
    /// Where one begins that has no end yet.
    pub(crate) incomplete: Option<usize>,
}

/// Cuts a body. What has no end yet is a unit as well, as far as it goes.
pub(crate) fn cut(body: &[u8], from: usize, framing: Framing) -> Units {
    match framing {
        Framing::Events => events(body, from),
        Framing::Values { .. } => values(body, from),
    }
}

fn events(body: &[u8], from: usize) -> Units {
    let mut found = Units::default();
    let (mut begin, mut at) = (from, from);
    let (mut lines, mut is_open) = (Vec::new(), false);
    while at < body.len() {
        let length = memchr::memchr2(b'\n', b'\r', &body[at..]);
        let line = at..length.map_or(body.len(), |length| at + length);
        at = match &body[line.end..] {
            [b'\r', b'\n', ..] => line.end + 2,
            rest => line.end + usize::from(!rest.is_empty()),
        };
        if line.is_empty() {
            if !lines.is_empty() {
                found.units.push(Unit { range: begin..at, lines: std::mem::take(&mut lines) });
            }
            (begin, is_open) = (at, false);
            continue;
        }
        let data = body[line.clone()].strip_prefix(b"data:");
        is_open = length.is_none() || data.is_some();
        if let Some(data) = data {
            let space = usize::from(data.first() == Some(&b' '));
            lines.push(line.end - data.len() + space..line.end);
        }
    }
    let ends_line = matches!(body.last(), Some(b'\n' | b'\r'));
    if !lines.is_empty() {
        let unit = Unit { range: begin..body.len(), lines };
        let is_value = serde_json::from_slice::<serde::de::IgnoredAny>(&unit.text(body)).is_ok();
        found.incomplete = (is_open && !(ends_line && is_value)).then_some(begin);
        found.units.push(unit);
    } else if is_open {
        found.incomplete = Some(begin);
    }
    found
}

fn values(body: &[u8], from: usize) -> Units {
    let mut found = Units::default();
    let mut at = from;
    while at < body.len() {
        match body[at] {
            b'{' => {
                let end = end_of_object(&body[at..]).map(|length| at + length);
                found.incomplete = end.is_none().then_some(at);
                let range = at..end.unwrap_or(body.len());
                at = range.end;
                found.units.push(Unit { lines: vec![range.clone()], range });
            }
            byte if byte.is_ascii_whitespace() || b"[],\x1e".contains(&byte) => at += 1,
            _ => at = memchr::memchr(b'\n', &body[at..]).map_or(body.len(), |length| at + length),
        }
    }
    found
}

/// How long an object is, if it ends.
fn end_of_object(text: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(byte) = text.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b'"' => {
                at += 1;
                while let Some(byte) = text.get(at).filter(|byte| **byte != b'"') {
                    at += if *byte == b'\\' { 2 } else { 1 };
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(body: &str, framing: Framing) -> (Vec<String>, Option<usize>) {
        let Units { units, incomplete } = cut(body.as_bytes(), 0, framing);
        let text = |unit: &Unit| String::from_utf8_lossy(&unit.text(body.as_bytes())).into_owned();
        (units.iter().map(text).collect(), incomplete)
    }

    #[test]
    fn events_are_cut_at_empty_lines() {
        let body = ": hi\n\nevent: a\ndata: {\"x\":\ndata:1}\n\ndata: [DONE]\r\n\r\ndata: {\"y";
        assert_eq!(
            texts(body, Framing::Events),
            (vec!["{\"x\":\n1}".into(), "[DONE]".into(), "{\"y".into()], Some(52))
        );
        assert_eq!(texts("data: {}\n", Framing::Events), (vec!["{}".into()], None));
        assert_eq!(texts("data: {\n", Framing::Events), (vec!["{".into()], Some(0)));
        let unit = &cut(body.as_bytes(), 0, Framing::Events).units[0];
        assert_eq!(&body[unit.place(&(6..7))], "1");
    }

    #[test]
    fn values_are_cut_wherever_they_end() {
        let list = Framing::Values { is_list: true };
        let all = vec!["{\"a\":\"}\\\"{\"}".to_owned(), "{\"b\":[{}]}".to_owned()];
        for body in [
            "[{\"a\":\"}\\\"{\"}\n,\r\n{\"b\":[{}]}]\n",
            "{\"a\":\"}\\\"{\"}\n{\"b\":[{}]}",
            "\x1e{\"a\":\"}\\\"{\"}\n\x1e{\"b\":[{}]}\n",
        ] {
            assert_eq!(texts(body, list), (all.clone(), None), "{body}");
        }
        assert_eq!(texts("{} x {\n{\"a", list), (vec!["{}".into(), "{\"a".into()], Some(7)));
    }
}
