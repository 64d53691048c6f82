//! The text form: what people read, what they may write, and what is said of what cannot be read.

use crate::exchanges::{exchange, of_the_report, with_everything};
use cassette::{
    Body, Content, Direction, Exchange, Form, FormError, Header, Note, Opcode, Outcome, Request, Response, WsFrame,
};
use proptest::prelude::*;

fn content() -> Content {
    Content { exchanges: vec![with_everything(0), of_the_report(7)], meta: vec![Note::new("name", "a")] }
}

const TEXT: &str = r#"metroon-cassette text 1
meta name: a

exchange 0
started 1969-12-31T23:59:59.999999999Z
ended +18446744073709551615us
request GET https://api.example.com /resource/0 HTTP/2
  Content-Type: application/json
  Authorization: Bearer token-0
body
chunk +3us
  = b25l
chunk +5us
chunk +9us
  = AP8=
trailers
  t: 1
informational 103 +1us Early Hints
  link: </a>
response 101 HTTP/1.0 +2us Switching Protocols
  Set-Cookie: a=1
  set-cookie: \{ff00}
body
chunk +3us
  = b25l
chunk +5us
chunk +9us
  = AP8=
trailers
  :
websocket
sent text +7us
  | hello
received binary +8us more reserved=4
  = /g==
received close +9us code=1000
  | bye
outcome aborted timeout 30: late
note har.comment: x

exchange 7
started 2025-10-09T08:53:20.130459708Z
request GET https://api.example.com /resource/7 HTTP/1.1
  Content-Type: application/json
  Authorization: Bearer token-7
body
  | {"request": 7, "data": "test data"}
response 200 HTTP/1.1 +0us
  Content-Type: application/json
body
  | {"response": 7, "result": [1,2,3,4,5], "message": "success"}

end
"#;

#[test]
fn everything_has_its_line() {
    assert_eq!(content().to_text(), TEXT);
    assert_eq!(Content::from_text(TEXT.as_bytes()).unwrap(), content());
    assert_eq!(Form::of_content(TEXT.as_bytes()), Some(Form::Text));
}

/// With carriage returns, comments and blank lines, as editors and people leave them, and what need not be said left out.
#[test]
fn what_people_write_is_read() {
    let by_hand = "\u{feff}metroon-cassette text 1\r
# What the server says.\r
exchange 3\r
started 2026-01-01T00:00:00Z

request GET http://a.test:8080 /\r
response 404\r
  Content-Type: text/plain
body
  | one
  +  line
  |
  | another
sent text +1us
end
";
    let error = Content::from_text(by_hand.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("line 14, column 1: a message belongs to a WebSocket"), "{error}");
    let by_hand = by_hand.replace("sent text +1us\n", "");
    let read = Content::from_text(by_hand.as_bytes()).unwrap();
    let headers = vec![Header::new("Content-Type", "text/plain")];
    let body = Some(Body::new(0, "one line\n\nanother"));
    let expected = Exchange {
        number: 3,
        started_ns: 1_767_225_600_000_000_000,
        request: Request {
            method: "GET".into(),
            scheme: "http".into(),
            host: "a.test".into(),
            port: 8080,
            target: "/".into(),
            ..Request::default()
        },
        response: Some(Response { status: 404, headers, body, ..Response::default() }),
        ..Exchange::default()
    };
    assert_eq!(read.exchanges, [expected]);
}

fn response_of(body: Option<Body<'static>>) -> Exchange<'static> {
    Exchange { response: Some(Response { body, ..Response::default() }), ..of_the_report(0) }
}

/// Each is another body.
#[test]
fn bodies_that_look_alike_are_told_apart() {
    let with = |chunks: &[(u64, &str)]| {
        let mut body = Body::default();
        chunks.iter().for_each(|(at_us, bytes)| body.push(*at_us, bytes.as_bytes()));
        Some(body)
    };
    for body in [
        None,
        with(&[]),
        with(&[(0, "")]),
        with(&[(1, "")]),
        with(&[(0, ""), (0, "")]),
        with(&[(0, "a"), (0, "")]),
        with(&[(0, "a"), (0, "b")]),
        with(&[(0, "ab")]),
        with(&[(0, "ab\n")]),
        with(&[(0, "\nab")]),
        with(&[(0, "\n")]),
        with(&[(0, "| ab"), (7, "+ = ab"), (8, "  ab  ")]),
        with(&[(0, "a\\{ff}"), (1, "\\"), (2, "{ff}")]),
        with(&[(5, "caf\u{e9} au lait \r\n\tx\t\n"), (6, "\u{202e}\u{feff}")]),
    ] {
        let content = Content { exchanges: vec![response_of(body)], meta: Vec::new() };
        let text = content.to_text();
        assert_eq!(Content::from_text(text.as_bytes()).unwrap(), content, "{text}");
    }
}

/// A chunk that ends in the middle of a character, as they do.
#[test]
fn characters_may_be_cut_by_chunks() {
    let bytes = "a long line of text with one é in it".as_bytes();
    let at = bytes.iter().position(|&byte| byte == 0xC3).unwrap() + 1;
    let mut body = Body::default();
    body.push(0, &bytes[..at]);
    body.push(9, &bytes[at..]);
    let content = Content { exchanges: vec![response_of(Some(body))], meta: Vec::new() };
    let text = content.to_text();
    assert!(text.contains("with one \\{c3}\nchunk +9us\n  | \\{a9} in it\n"), "{text}");
    assert_eq!(Content::from_text(text.as_bytes()).unwrap(), content);
}

/// An edit of one member changes one line, however long the line of JSON was.
#[test]
fn a_change_of_one_thing_is_a_change_of_one_line() {
    let lines = |text: &str| {
        let body: String = (0..40).map(|name| format!(r#""name-{name}":"value","#)).collect();
        let body = format!("{{{}\"last\":0}}", body.replace("name-20\":\"value", &format!("name-20\":\"{text}")));
        Content { exchanges: vec![response_of(Some(Body::new(0, body)))], meta: Vec::new() }.to_text()
    };
    let (one, other) = (lines("value"), lines("a value that is longer than the one before"));
    assert_eq!(one.lines().count(), other.lines().count());
    let changed: Vec<_> = one.lines().zip(other.lines()).filter(|(one, other)| one != other).collect();
    assert_eq!(
        changed,
        [("  + \"name-20\":\"value\",", "  + \"name-20\":\"a value that is longer than the one before\",")]
    );
}

#[test]
fn lines_stay_short() {
    let binary: Vec<u8> = (0..5_000_u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 9) as u8).collect();
    for body in [binary, "x".repeat(5000).into_bytes(), "word ".repeat(1000).into_bytes(), vec![b'\n'; 50]] {
        let text = Content { exchanges: vec![response_of(Some(Body::new(0, body)))], meta: Vec::new() }.to_text();
        assert!(text.lines().all(|line| line.len() <= 210), "{text}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (from, to, message) in [
        ("meta name: a", "meta name a", "line 2, column 12: a colon is missing"),
        ("meta name: a", "name: a", "line 2, column 1: `name:` cannot be here; there are `meta`, `exchange` and `end`"),
        ("exchange 0", "exchange zero", "line 4, column 10: here should be the number of an exchange"),
        ("exchange 0", "exchange 0 0", "line 4, column 12: more than belongs here"),
        (
            "started 1969-12-31T23:59:59.999999999Z",
            "started 1969",
            "line 5, column 9: no time from 1678 to 2262 such as",
        ),
        (
            "started 1969-12-31T23:59:59.999999999Z\n",
            "",
            "line 40, column 1: exchange 0 ends here and has no line `started`",
        ),
        (
            "ended +18446744073709551615us",
            "ended 5",
            "line 6, column 7: here should be a time after the exchange began",
        ),
        (
            "https://api.example.com /resource/0",
            "api.example.com",
            "line 7, column 13: here should be a server such as",
        ),
        ("https://api.example.com", "https://a:x", "line 7, column 13: a port is a number up to 65535"),
        ("https://api.example.com", "ftp://a", "line 7, column 13: a port is missing"),
        (" HTTP/2", " HTTP/7", "line 7, column 49: an unknown version; there are HTTP/0.9"),
        ("  t: 1", "  t:1", "line 17, column 5: a space is missing here"),
        ("  t: 1", "   t: 1\n  é\\{fg}: 1", "line 18, column 4: an unknown escape"),
        ("  = b25l", "  = b2-l", "line 12, column 7: no base64: each line has"),
        ("  = b25l", "  = b25lb", "line 12, column 10: no base64"),
        ("  = b25l", "  | a\n  = b25l", "line 13, column 3: text and base64 in one place"),
        ("  = b25l", "  + b", "line 12, column 3: a line `+` goes on with a line `|`"),
        ("  = b25l", "  b25l", "line 12, column 4: a space is missing before the content"),
        ("  = b25l", "  b b25l", "line 12, column 3: content begins with `| `"),
        ("body\n", "", "line 10, column 1: a chunk belongs to a body"),
        (
            "trailers\n  t: 1\n",
            "body\n",
            "line 16, column 1: a body comes after the headers of a request or a response, once",
        ),
        ("websocket\n", "", "line 31, column 1: a message belongs to a WebSocket"),
        ("sent text", "sent nothing", "line 32, column 6: a frame is continuation, text, binary, close"),
        ("more reserved=4", "more reserved=8", "line 34, column 27: `reserved=8` cannot be here"),
        ("sent text +7us", "sent text +7us code=7", "line 32, column 16: `code=7` cannot be here"),
        ("outcome aborted timeout 30", "outcome over", "line 38, column 9: an outcome is complete"),
        ("timeout 30", "late 30", "line 38, column 17: after `aborted` comes one of dns, refused"),
        ("note har.comment: x", "outcome partial", "line 39, column 1: the exchange has such a line already"),
        ("note har.comment: x", "<<<<<<< HEAD", "line 39, column 1: a merge conflict"),
        ("  Content", "Content", "line 8, column 1: `Content-Type:` cannot be here; there are `started`, `ended`"),
        ("exchange 0\n", "exchange 0\n  a: b\n", "line 5, column 3: an indented line belongs to the line above it"),
        ("\nend\n", "\n", "line 51, column 1: the line `end` is missing at the end: the file was cut off"),
        ("\nend\n", "\nend\nmeta a: b\n", "line 54, column 1: something follows the line `end`"),
    ] {
        assert!(TEXT.contains(from), "{from}");
        let error = Content::from_text(TEXT.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
        assert!(error.contains(message), "{to}: {error}");
    }
}

#[test]
fn what_is_another_text_is_said() {
    let later = TEXT.replacen("text 1", "text 9", 1);
    assert!(matches!(Content::from_text(later.as_bytes()), Err(FormError::Version { version: 9, .. })));
    let error = Content::from_text(b"hello").unwrap_err().to_string();
    assert!(error.contains("line 1, column 1: the first line is `metroon-cassette text 1`"), "{error}");
    let error = Content::from_text(b"metroon-cassette text 1\nmeta \xc3\xa9\xff: a\n").unwrap_err().to_string();
    assert!(error.contains("line 2, column 7: no UTF-8"), "{error}");
    assert_eq!(Content::from_text(b"metroon-cassette text 1\nend").unwrap(), Content::default());
}

#[test]
fn a_text_that_was_cut_off_is_an_error() {
    for length in 0..TEXT.len() - 1 {
        assert!(Content::from_text(&TEXT.as_bytes()[..length]).is_err(), "{length}");
    }
}

#[test]
fn one_exchange_is_its_lines() {
    let text = of_the_report(7).to_text();
    assert!(TEXT.contains(&text) && text.starts_with("exchange 7\n"));
}

/// What a close frame says is kept however short it is.
#[test]
fn close_frames_of_any_length_come_back() {
    let frames: Vec<_> = [&b""[..], b"\x03", b"\x03\xe8", b"\x03\xe8a", b"\xff\xff\xff"]
        .into_iter()
        .map(|payload| WsFrame::new(0, Direction::Sent, Opcode::CLOSE, payload))
        .collect();
    let exchange = Exchange { frames: Some(frames), outcome: Outcome::Truncated, ..of_the_report(0) };
    let content = Content { exchanges: vec![exchange], meta: Vec::new() };
    assert_eq!(Content::from_text(content.to_text().as_bytes()).unwrap(), content);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_exchange_comes_back(exchange in exchange(5), meta in ".*") {
        let content = Content { exchanges: vec![exchange], meta: vec![Note::new(meta.clone(), meta)] };
        let text = content.to_text();
        prop_assert_eq!(&Content::from_text(text.as_bytes()).unwrap(), &content);
        // An editor that takes spaces away at the ends of lines, and one that ends lines otherwise, changes nothing.
        let trimmed: Vec<_> = text.lines().map(str::trim_end).collect();
        prop_assert_eq!(&Content::from_text(trimmed.join("\r\n").as_bytes()).unwrap(), &content);
    }

    #[test]
    fn nothing_makes_the_reader_panic(text in "\\PC*", line in 0_usize..60, cut in any::<prop::sample::Index>()) {
        let mut lines: Vec<String> = TEXT.lines().map(str::to_owned).collect();
        let changed = &mut lines[line % TEXT.lines().count()];
        let at = changed.floor_char_boundary(cut.index(changed.len() + 1));
        changed.insert_str(at, &text);
        let _ = Content::from_text(lines.join("\n").as_bytes());
        let _ = Content::from_text(text.as_bytes());
    }
}
