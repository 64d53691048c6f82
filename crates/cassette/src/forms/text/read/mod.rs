//! Reading a cassette that is text.
//!
//! Each line says by its first word what it is, or belongs to the line above it. What is wrong is said with line and column.

mod line;

use super::{INDENT, KINDS, MAGIC, OPCODES, VERSION, VERSIONS};
use crate::bytes::Bytes;
use crate::content::Content;
use crate::exchange::{Exchange, NetworkError, Note, Outcome};
use crate::forms::FormError;
use crate::message::{Body, Header, HttpVersion, Informational, Request, Response};
use crate::websocket::{Direction, Opcode, WsFrame};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use line::{SyntaxProblem, TextLine};

/// All of a cassette.
pub(in crate::forms) fn read(bytes: &[u8]) -> Result<Content, FormError> {
    let told = |wrong: SyntaxProblem| FormError::malformed("text", &wrong);
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| told(SyntaxProblem::no_text(bytes, error.valid_up_to())))?;
    let mut lines = TextLine::all(text);
    let first = lines.next().unwrap_or_default();
    let version = first.text.strip_prefix(MAGIC).and_then(|version| version.trim_end().parse().ok());
    let version: u32 = version.ok_or_else(|| told(first.wrong(0, format!("the first line is `{MAGIC}{VERSION}`"))))?;
    if version > VERSION {
        return Err(FormError::Version { file: String::new(), version });
    }
    TextReader::default().read(lines).map_err(told)
}

/// What has been read.
#[derive(Default)]
struct TextReader {
    content: Content,
    /// The exchange that is being read.
    exchange: Option<ParsedExchange>,
    has_ended: bool,
}

/// An exchange, as far as it was read.
#[derive(Default)]
struct ParsedExchange {
    exchange: Exchange<'static>,
    has_started: bool,
    has_request: bool,
    has_outcome: bool,
    /// What indented lines belong to.
    place: Section,
    /// The bytes that indented lines add up to, of a chunk or of a frame.
    open: Option<OpenBody>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Section {
    /// Nothing can be below.
    #[default]
    Nothing,
    RequestHeaders,
    RequestBody,
    RequestTrailers,
    Informational,
    ResponseHeaders,
    ResponseBody,
    ResponseTrailers,
    Frame,
}

#[derive(Default)]
struct OpenBody {
    at_us: u64,
    bytes: Vec<u8>,
    /// Whether there was a line of text, or of base64.
    has_text: bool,
    has_base64: bool,
}

impl TextReader {
    fn read<'t>(mut self, lines: impl Iterator<Item = TextLine<'t>>) -> Result<Content, SyntaxProblem> {
        let mut last = 1;
        for line in lines.filter(|line| !line.says_nothing()) {
            last = line.number;
            if self.has_ended {
                return Err(line.wrong(0, "something follows the line `end`: it is the last one"));
            }
            self.take(line)?;
        }
        let missing = || {
            SyntaxProblem::at(last, 1, "the line `end` is missing at the end: the file was cut off, or it needs one")
        };
        if self.has_ended { Ok(self.content) } else { Err(missing()) }
    }

    fn take(&mut self, mut line: TextLine<'_>) -> Result<(), SyntaxProblem> {
        if let Some(below) = line.text.strip_prefix(INDENT) {
            let at = line.text.len() - below.len();
            let draft = self.exchange.as_mut().ok_or_else(|| line.wrong(at, NOTHING_ABOVE))?;
            return draft.below(&line, at);
        }
        let word = line.word()?;
        match (word, &mut self.exchange) {
            ("meta", None) => self.content.meta.push(pair(&mut line).map(|(name, value)| Note { name, value })?),
            ("exchange" | "end", _) => {
                self.finish_exchange(&line)?;
                self.begin(word == "end", &mut line)?;
            }
            (_, Some(draft)) => draft.take(word, &mut line)?,
            _ => return Err(unknown(&line, word, "`meta`, `exchange` and `end`")),
        }
        line.end()
    }

    fn begin(&mut self, is_end: bool, line: &mut TextLine<'_>) -> Result<(), SyntaxProblem> {
        if is_end {
            self.has_ended = true;
            return Ok(());
        }
        let number = line.number("the number of an exchange")?;
        self.exchange =
            Some(ParsedExchange { exchange: Exchange { number, ..Exchange::default() }, ..ParsedExchange::default() });
        Ok(())
    }

    fn finish_exchange(&mut self, line: &TextLine<'_>) -> Result<(), SyntaxProblem> {
        let Some(mut draft) = self.exchange.take() else { return Ok(()) };
        draft.close();
        let number = draft.exchange.number;
        let missing = match (draft.has_started, draft.has_request) {
            (true, true) => None,
            (false, _) => Some("`started`"),
            (_, false) => Some("`request`"),
        };
        if let Some(missing) = missing {
            return Err(line.wrong(0, format!("exchange {number} ends here and has no line {missing}: add it")));
        }
        self.content.exchanges.push(draft.exchange);
        Ok(())
    }
}

const NOTHING_ABOVE: &str =
    "an indented line belongs to the line above it, and there is none that it can belong to: move it or take it out";

fn unknown(line: &TextLine<'_>, word: &str, known: &str) -> SyntaxProblem {
    let is_conflict = ["<<<<<<<", "=======", ">>>>>>>", "|||||||"].iter().any(|mark| word.starts_with(mark));
    if is_conflict {
        return line.wrong(0, "a merge conflict: keep the lines that are to stay, and take its marks out");
    }
    let word: String = word.chars().take(40).collect();
    line.wrong(0, format!("`{word}` cannot be here; there are {known}, and lines indented by two spaces below some"))
}

const OF_AN_EXCHANGE: &str = "`started`, `ended`, `request`, `informational`, `response`, `body`, `chunk`, `trailers`, \
                              `websocket`, `sent`, `received`, `outcome`, `note`, `exchange` and `end`";

impl ParsedExchange {
    /// A line that begins with a word.
    fn take(&mut self, word: &str, line: &mut TextLine<'_>) -> Result<(), SyntaxProblem> {
        self.close();
        let before = std::mem::take(&mut self.place);
        match word {
            "started" => self.started(line),
            "ended" => once(line, self.exchange.ended_us.is_some())
                .and_then(|()| line.time())
                .map(|ended_us| self.exchange.ended_us = Some(ended_us)),
            "request" => self.request(line),
            "informational" => self.informational(line),
            "response" => self.response(line),
            "body" => self.body(before, line),
            "chunk" => self.chunk(before, line),
            "trailers" => self.trailers(before, line),
            "websocket" => once(line, self.exchange.frames.is_some()).map(|()| self.exchange.frames = Some(Vec::new())),
            "sent" => self.frame(Direction::Sent, line),
            "received" => self.frame(Direction::Received, line),
            "outcome" => self.outcome(line),
            "note" => pair(line).map(|(name, value)| self.exchange.notes.push(Note { name, value })),
            _ => Err(unknown(line, word, OF_AN_EXCHANGE)),
        }
    }

    /// A line below another one.
    fn below(&mut self, line: &TextLine<'_>, at: usize) -> Result<(), SyntaxProblem> {
        let Exchange { request, response, informational, .. } = &mut self.exchange;
        let response = response.as_mut();
        let headers = match self.place {
            Section::Nothing => return Err(line.wrong(at, NOTHING_ABOVE)),
            Section::RequestBody | Section::ResponseBody | Section::Frame => {
                return self.open.get_or_insert_default().take(line, at);
            }
            Section::RequestHeaders => Some(&mut request.headers),
            Section::RequestTrailers => Some(&mut request.trailers),
            Section::Informational => informational.last_mut().map(|informational| &mut informational.headers),
            Section::ResponseHeaders => response.map(|response| &mut response.headers),
            Section::ResponseTrailers => response.map(|response| &mut response.trailers),
        };
        let mut line = line.from(at);
        let (name, value) = pair(&mut line)?;
        if let Some(headers) = headers {
            headers.push(Header { name, value });
        }
        Ok(())
    }

    /// Puts what was read from indented lines where it belongs.
    fn close(&mut self) {
        let Some(OpenBody { at_us, bytes, .. }) = self.open.take() else { return };
        match self.place {
            Section::Frame => {
                if let Some(frame) = self.exchange.frames.as_mut().and_then(|frames| frames.last_mut()) {
                    // In front is the code of a close frame.
                    frame.payload.0.to_mut().extend_from_slice(&bytes);
                }
            }
            place => {
                if let Some(body) = self.body_at(place) {
                    body.get_or_insert_default().push(at_us, &bytes);
                }
            }
        }
    }

    fn body_at(&mut self, place: Section) -> Option<&mut Option<Body<'static>>> {
        match place {
            Section::RequestBody => Some(&mut self.exchange.request.body),
            Section::ResponseBody => self.exchange.response.as_mut().map(|response| &mut response.body),
            _ => None,
        }
    }

    fn started(&mut self, line: &mut TextLine<'_>) -> Result<(), SyntaxProblem> {
        once(line, std::mem::replace(&mut self.has_started, true))?;
        let (at, word) = (line.next_at(), line.word()?);
        let started: Result<Timestamp, _> = word.parse();
        let started_ns = started.ok().and_then(|started| i64::try_from(started.as_nanosecond()).ok());
        let wrong = || line.wrong(at, "no time from 1678 to 2262 such as 2026-02-03T04:05:06.789Z");
        self.exchange.started_ns = started_ns.ok_or_else(wrong)?;
        Ok(())
    }

    fn request(&mut self, line: &mut TextLine<'_>) -> Result<(), SyntaxProblem> {
        once(line, std::mem::replace(&mut self.has_request, true))?;
        let method = line.bytes("the method of the request, such as GET")?;
        let (scheme, host, port) = line.origin()?;
        let target = line.bytes("the target of the request, such as /path?query")?;
        let version = line.version()?.unwrap_or_default();
        self.exchange.request = Request { method, scheme, host, port, target, version, ..Request::default() };
        self.place = Section::RequestHeaders;
        Ok(())
    }

    fn informational(&mut self, line: &mut TextLine<'_>) -> Result<(), SyntaxProblem> {
        let status = line.number("the status of a response, such as 103")?;
        let at_us = line.optional_time()?.unwrap_or_default();
        let reason = line.rest()?;
        self.exchange.informational.push(Informational { at_us, status, reason, headers: Vec::new() });
        self.place = Section::Informational;
        Ok(())
    }

    fn response(&mut self, line: &mut TextLine<'_>) -> Result<(), SyntaxProblem> {
        once(line, self.exchange.response.is_some())?;
        let status = line.number("the status of a response, such as 200")?;
        let version = line.version()?.unwrap_or_default();
        let at_us = line.optional_time()?.unwrap_or_default();
        let reason = line.rest()?;
        self.exchange.response = Some(Response { at_us, status, reason, version, ..Response::default() });
        self.place = Section::ResponseHeaders;
        Ok(())
    }

    fn body(&mut self, before: Section, line: &TextLine<'_>) -> Result<(), SyntaxProblem> {
        self.place = match before {
            Section::RequestHeaders => Section::RequestBody,
            Section::ResponseHeaders => Section::ResponseBody,
            _ => return Err(line.wrong(0, "a body comes after the headers of a request or a response, once")),
        };
        if let Some(body) = self.body_at(self.place) {
            *body = Some(Body::default());
        }
        Ok(())
    }

    fn chunk(&mut self, before: Section, line: &mut TextLine<'_>) -> Result<(), SyntaxProblem> {
        if !matches!(before, Section::RequestBody | Section::ResponseBody) {
            return Err(line.wrong(0, "a chunk belongs to a body: put the line `body` before the first one"));
        }
        self.place = before;
        self.open = Some(OpenBody { at_us: line.time()?, ..OpenBody::default() });
        Ok(())
    }

    fn trailers(&mut self, before: Section, line: &TextLine<'_>) -> Result<(), SyntaxProblem> {
        self.place = match before {
            Section::RequestHeaders | Section::RequestBody => Section::RequestTrailers,
            Section::ResponseHeaders | Section::ResponseBody => Section::ResponseTrailers,
            _ => return Err(line.wrong(0, "trailers come after the headers or the body of a message, once")),
        };
        Ok(())
    }

    fn frame(&mut self, direction: Direction, line: &mut TextLine<'_>) -> Result<(), SyntaxProblem> {
        let Some(frames) = &mut self.exchange.frames else {
            return Err(
                line.wrong(0, "a message belongs to a WebSocket: put the line `websocket` before the first one")
            );
        };
        let opcode = opcode(line)?;
        let mut frame = WsFrame::new(line.time()?, direction, opcode, Bytes::EMPTY);
        while !line.is_at_end() {
            let (at, word) = (line.next_at(), line.word()?);
            if !put_flag(&mut frame, word) {
                let known = "`more`, `reserved=N` up to 7 and, of a close frame, `code=N`";
                return Err(line.wrong(at, format!("`{word}` cannot be here; there are {known}")));
            }
        }
        frames.push(frame);
        self.place = Section::Frame;
        Ok(())
    }

    fn outcome(&mut self, line: &mut TextLine<'_>) -> Result<(), SyntaxProblem> {
        once(line, std::mem::replace(&mut self.has_outcome, true))?;
        let at = line.next_at();
        self.exchange.outcome = match line.word()? {
            "complete" => Outcome::Complete,
            "truncated" => Outcome::Truncated,
            "partial" => Outcome::Partial,
            "aborted" => Outcome::Aborted(network_error(line)?),
            _ => return Err(line.wrong(at, "an outcome is complete, truncated, partial or aborted")),
        };
        Ok(())
    }
}

/// That something is there for the first time.
fn once(line: &TextLine<'_>, is_there: bool) -> Result<(), SyntaxProblem> {
    match is_there {
        true => Err(line.wrong(0, "the exchange has such a line already: take one of them out")),
        false => Ok(()),
    }
}

/// `NAME: VALUE`.
fn pair(line: &mut TextLine<'_>) -> Result<(Bytes<'static>, Bytes<'static>), SyntaxProblem> {
    let name = line.until_colon()?;
    Ok((name, line.rest()?))
}

fn opcode(line: &mut TextLine<'_>) -> Result<Opcode, SyntaxProblem> {
    let (at, word) = (line.next_at(), line.word()?);
    let named = OPCODES.iter().find(|(name, _)| *name == word).map(|(_, number)| *number);
    let numbered = || word.strip_prefix("opcode=").and_then(|number| number.parse().ok());
    let names = || OPCODES.map(|(name, _)| name).join(", ");
    let wrong = || line.wrong(at, format!("a frame is {}, or opcode=N up to 15", names()));
    named.or_else(numbered).and_then(Opcode::new).ok_or_else(wrong)
}

/// Whether this is something that a frame can be.
fn put_flag(frame: &mut WsFrame<'_>, word: &str) -> bool {
    if word == "more" {
        frame.is_final = false;
        return true;
    }
    let number = |name: &str| word.strip_prefix(name)?.parse::<u16>().ok();
    if let Some(bits) = number("reserved=").filter(|&bits| bits < 8) {
        frame.reserved = bits as u8;
        return true;
    }
    match number("code=").filter(|_| frame.opcode == Opcode::CLOSE) {
        Some(code) => frame.payload = code.to_be_bytes().to_vec().into(),
        None => return false,
    }
    true
}

fn network_error(line: &mut TextLine<'_>) -> Result<NetworkError<'static>, SyntaxProblem> {
    let (at, kind) = (line.next_at(), line.before_colon()?);
    let (name, number) = kind.split_once(' ').map_or((kind, None), |(name, number)| (name, Some(number)));
    let of = KINDS.iter().find(|(known, _)| *known == name).map(|(_, of)| of);
    let number = number.map_or(Some(0), |number| number.parse().ok());
    let wrong = || {
        let names = KINDS.map(|(name, _)| name).join(", ");
        line.wrong(at, format!("after `aborted` comes one of {names}, a number for timeout and redirects, and a colon"))
    };
    let (of, number) = of.zip(number).ok_or_else(wrong)?;
    Ok(NetworkError { kind: of(number), message: line.rest()? })
}

impl OpenBody {
    /// A line of content.
    fn take(&mut self, line: &TextLine<'_>, at: usize) -> Result<(), SyntaxProblem> {
        let below = &line.text[at..];
        let (mark, behind) = below.split_at(below.chars().next().map_or(0, char::len_utf8));
        let behind_at = line.text.len() - behind.len();
        let text = match behind {
            "" => "",
            _ => behind
                .strip_prefix(' ')
                .ok_or_else(|| line.wrong(behind_at, "a space is missing before the content"))?,
        };
        let text_at = line.text.len() - text.len();
        match mark {
            "|" | "+" if self.has_base64 => Err(line.wrong(at, "text and base64 in one place: write all of it as one")),
            "+" if !self.has_text => {
                Err(line.wrong(at, "a line `+` goes on with a line `|`, and there is none before it"))
            }
            "|" | "+" => {
                self.bytes.extend((mark == "|" && self.has_text).then_some(b'\n'));
                self.has_text = true;
                self.bytes.extend(line.unescape(text_at, text)?);
                Ok(())
            }
            "=" if self.has_text => Err(line.wrong(at, "text and base64 in one place: write all of it as one")),
            "=" => {
                self.has_base64 = true;
                self.bytes.extend(base64(line, text_at, text)?);
                Ok(())
            }
            _ => Err(line.wrong(at, "content begins with `| `, `+ ` to go on in the same line, or `= ` for base64")),
        }
    }
}

fn base64(line: &TextLine<'_>, at: usize, text: &str) -> Result<Vec<u8>, SyntaxProblem> {
    let text = text.trim_end();
    STANDARD.decode(text).map_err(|error| {
        let offset = match error {
            base64::DecodeError::InvalidByte(offset, _) => offset,
            _ => text.len(),
        };
        let message = "no base64: each line has a multiple of four of A-Z a-z 0-9 + /, or = at the end";
        line.wrong(at + offset.min(text.len()), message)
    })
}

fn version(word: &str) -> Option<HttpVersion> {
    VERSIONS.iter().find(|(_, name)| *name == word).map(|(version, _)| *version)
}
