//! Keeping secrets off a cassette. Tests named after a defect of an earlier system say so.

use crate::planted;
use cassette::matching::{Player, Repeats};
use cassette::redact::{BodyRedactor, LOOKAHEAD_BYTES, Redaction, RedactionRules, RuleError};
use cassette::{
    Body, Chunk, Direction, Exchange, Header, Informational, NetworkError, NetworkErrorKind, Note, Opcode, Outcome,
    Request, Response, WsFrame,
};
use proptest::prelude::*;
use std::sync::{Arc, LazyLock};

const KEY: &str = "sk-proj-0123456789abcdefABCDEF";

fn request(target: &str, headers: &[(&'static str, &str)], body: &str) -> Request<'static> {
    planted::request(headers, target, (!body.is_empty()).then(|| body.as_bytes().to_vec()))
}

/// The usual rules, made once.
static USUAL: LazyLock<Arc<Redaction>> = LazyLock::new(Redaction::usual);

fn redacted(mut request: Request<'static>) -> Request<'static> {
    USUAL.request(&mut request);
    request
}

fn header(request: &Request<'_>, name: &str) -> String {
    request.header_values(name).map(|value| value.to_text_lossy().into_owned()).collect::<Vec<_>>().join(" | ")
}

fn body(request: &Request<'_>) -> String {
    String::from_utf8_lossy(request.body_bytes()).into_owned()
}

/// Whether a secret is anywhere in an exchange.
fn shows(exchange: &Exchange<'_>, secret: &str) -> bool {
    let bytes = format!("{exchange:?}");
    bytes.contains(secret)
}

#[test]
fn headers_keep_what_is_no_secret() {
    let request = redacted(request(
        "/",
        &[
            ("Authorization", "Bearer abc.def"),
            ("Proxy-Authorization", "Basic dTpw"),
            ("Cookie", "session=abc; theme=dark; flag"),
            ("X-Api-Key", "k"),
            ("Accept", "text/html"),
            ("Referer", "https://a.test/?access_token=t&x=1"),
            ("X-Page-Token", "next"),
        ],
        "",
    ));
    for (name, expected) in [
        ("authorization", "Bearer REDACTED"),
        ("proxy-authorization", "Basic REDACTED"),
        ("cookie", "session=REDACTED; theme=REDACTED; REDACTED"),
        ("x-api-key", "REDACTED"),
        ("accept", "text/html"),
        ("referer", "https://a.test/?access_token=REDACTED&x=1"),
        ("x-page-token", "next"),
    ] {
        assert_eq!(header(&request, name), expected, "{name}");
    }
}

#[test]
fn set_cookie_keeps_its_attributes() {
    let headers = vec![Header::new("Set-Cookie", "a=secret; Path=/; HttpOnly"), Header::new("set-cookie", "b=")];
    let response = Response { status: 200, headers, ..Response::default() };
    let mut exchange = Exchange { response: Some(response), ..Exchange::default() };
    USUAL.exchange(&mut exchange);
    let values: Vec<_> = exchange.response.iter().flat_map(|response| response.header_values("set-cookie")).collect();
    assert_eq!(values, ["a=REDACTED; Path=/; HttpOnly", "b="]);
}

#[test]
fn redaction_keeps_match() {
    let recorded = request(
        "/v1?api_key=one&x=1",
        &[("Authorization", "Bearer one"), ("Content-Type", "application/json"), ("Content-Length", "40")],
        r#"{"client_secret": "one", "prompt": "hi"}"#,
    );
    let live = request(
        "/v1?api_key=another&x=1",
        &[("Content-Type", "application/json"), ("Content-Length", "44")],
        r#"{"client_secret": "another", "prompt": "hi"}"#,
    );
    let mut exchange = Exchange { request: recorded, ..Exchange::default() };
    USUAL.exchange(&mut exchange);
    assert_eq!(header(&exchange.request, "content-length"), body(&exchange.request).len().to_string());
    let cassette = [exchange];
    let player = Player::new(&cassette[..], cassette::matching::MatchRules::default(), Repeats::Refused).unwrap();
    assert!(player.find(&live).is_err());
    assert!(player.find(&redacted(live)).is_ok());
}

#[test]
fn redaction_covers_all_kinds() {
    let text = || format!("the key {KEY} was refused");
    let frame = |direction, opcode, text: String| WsFrame::new(0, direction, opcode, text);
    let mut close = vec![3, 232];
    close.extend(text().into_bytes());
    let mut exchange = Exchange {
        request: Request {
            trailers: vec![Header::new("X-Trailer", text())],
            ..request(&format!("/bot/{KEY}"), &[("X-Other", KEY)], &format!("key={KEY}"))
        },
        informational: vec![Informational { headers: vec![Header::new("Link", text())], ..Informational::default() }],
        response: Some(Response {
            reason: text().into(),
            body: Some(Body::new(0, text())),
            trailers: vec![Header::new("X-Trailer", text())],
            ..Response::default()
        }),
        frames: Some(vec![
            frame(Direction::Sent, Opcode::TEXT, text()),
            frame(Direction::Received, Opcode::BINARY, text()),
            WsFrame::new(0, Direction::Received, Opcode::CLOSE, close),
        ]),
        outcome: Outcome::Aborted(NetworkError { kind: NetworkErrorKind::Other, message: text().into() }),
        notes: vec![Note::new("seen", text())],
        ..Exchange::default()
    };
    let found = USUAL.scan(&exchange);
    assert_eq!(found.findings.len(), 13, "{:#?}", found.findings);
    assert!(shows(&exchange, "0123456789abcdef"));
    assert_eq!(USUAL.exchange(&mut exchange), found);
    assert!(!shows(&exchange, "0123456789abcdef"), "{exchange:#?}");
    assert!(USUAL.scan(&exchange).findings.is_empty());
    let code = exchange.frames.as_ref().and_then(|frames| frames[2].close()).and_then(|close| close.code);
    assert_eq!(code, Some(1_000));
}

#[test]
fn what_secrets_look_like_is_known() {
    let digits = "0123456789abcdefghijABCDEFGHIJ0123456789";
    for secret in [
        KEY.to_owned(),
        format!("ghp_{}", &digits[..36]),
        format!("github_pat_{digits}"),
        format!("glpat-{}", &digits[..20]),
        "xoxb-0123456789-abcdef".to_owned(),
        "AKIA0123456789ABCDEF".to_owned(),
        format!("AIza{}", &digits[..35]),
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl".to_owned(),
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----".to_owned(),
        format!("sk_live_{}", &digits[..24]),
        format!("hf_{}", &digits[..34]),
        format!("npm_{}", &digits[..36]),
    ] {
        let found = body(&redacted(request("/", &[], &format!("before {secret}, after"))));
        assert_eq!(found, "before REDACTED, after", "{secret}");
    }
    let escaped = format!(r#"{{"text": "one\n{KEY}\ttwo"}}"#);
    assert_eq!(body(&redacted(request("/", &[], &escaped))), r#"{"text": "one\nREDACTED\ttwo"}"#);
    for harmless in ["sk-learn-is-a-library-for-python", "AKIA0123", "desk-0123456789abcdefghij", "bearer of good news"]
    {
        assert_eq!(body(&redacted(request("/", &[], harmless))), harmless);
    }
    let url = "postgres://user:hunter2@db.test/x";
    assert_eq!(body(&redacted(request("/", &[], url))), "postgres://user:REDACTED@db.test/x");
}

#[test]
fn users_have_rules_of_their_own() {
    let rules = RedactionRules {
        names: vec!["Member-Number".to_owned()],
        patterns: vec![r"\bID-([0-9]+)".to_owned()],
        secrets: vec![b"p\"ss/word".to_vec()],
        ..RedactionRules::default()
    };
    let redaction = rules.compile().unwrap();
    let mut asked = request(
        "/?member_number=7&q=p%22ss%2Fword",
        &[("member-number", "7"), ("X-Raw", "p\"ss/word")],
        r#"{"memberNumber": 7, "id": "ID-42", "text": "it is p\"ss/word"}"#,
    );
    redaction.request(&mut asked);
    assert_eq!(asked.target, "/?member_number=REDACTED&q=REDACTED");
    assert_eq!((header(&asked, "member-number"), header(&asked, "x-raw")), ("REDACTED".into(), "REDACTED".into()));
    assert_eq!(body(&asked), r#"{"memberNumber": 0, "id": "ID-REDACTED", "text": "it is REDACTED"}"#);
    let only = RedactionRules { without_usual: true, names: vec!["x".to_owned()], ..RedactionRules::default() }
        .compile()
        .unwrap();
    let mut asked = request("/?x=1&password=2", &[("Authorization", "a")], KEY);
    only.request(&mut asked);
    assert_eq!((asked.target.as_text(), body(&asked).as_str()), (Some("/?x=REDACTED&password=2"), KEY));
    let mut untouched = request("/?password=2", &[("Authorization", "a")], KEY);
    let before = untouched.clone();
    assert!(Redaction::nothing().request(&mut untouched).findings.is_empty());
    assert_eq!(untouched, before);
}

#[test]
fn rules_that_cannot_be_used_are_refused() {
    let short = RedactionRules { secrets: vec![b"abc".to_vec()], ..RedactionRules::default() };
    assert!(matches!(short.compile(), Err(RuleError::ShortSecret)));
    let pattern = RedactionRules { patterns: vec!["(".to_owned()], ..RedactionRules::default() };
    let error = pattern.compile().unwrap_err().to_string();
    assert!(error.starts_with("an expression for secrets cannot be read"), "{error}");
}

#[test]
fn a_secret_is_found_wherever_chunks_end() {
    let event = format!("data: {{\"api_key\": \"abc\", \"text\": \"{KEY}\"}}\n\n");
    for cut in 1..event.len() {
        let (one, other) = event.split_at(cut);
        let mut body = Body::new(3, one.to_owned());
        body.push(7, other.as_bytes());
        let mut asked = Request { body: Some(body), ..request("/", &[], "") };
        USUAL.request(&mut asked);
        let body = asked.body.as_ref().unwrap();
        assert_eq!(*body.bytes(), "data: {\"api_key\": \"REDACTED\", \"text\": \"REDACTED\"}\n\n");
        assert_eq!(body.chunks().iter().map(|chunk| chunk.at_us).collect::<Vec<_>>(), [3, 7]);
        let head = body.chunks()[0].bytes;
        assert!(one.len() > event.len() - 3 || head < body.bytes().len(), "{cut}");
    }
}

#[test]
fn a_secret_is_found_wherever_frames_end() {
    for cut in 1..KEY.len() {
        let (one, other) = KEY.split_at(cut);
        let first = WsFrame { is_final: false, ..WsFrame::new(1, Direction::Received, Opcode::TEXT, one) };
        let ping = WsFrame::new(2, Direction::Received, Opcode::PING, "ping");
        let sent = WsFrame::new(3, Direction::Sent, Opcode::TEXT, "sent");
        let last = WsFrame::new(4, Direction::Received, Opcode::CONTINUATION, other);
        let mut exchange = Exchange { frames: Some(vec![first, ping, sent, last]), ..Exchange::default() };
        let found = USUAL.exchange(&mut exchange).findings;
        assert_eq!(found.len(), 1, "{cut}");
        let payloads: Vec<_> = exchange.frames.iter().flatten().map(|frame| frame.payload.to_text_lossy()).collect();
        assert_eq!(payloads, ["REDACTED", "ping", "sent", ""]);
    }
}

#[test]
fn compressed_bodies_are_looked_into() {
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;
    let gzip = |text: &str| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish()).expect("memory takes it")
    };
    let response = |bytes: Vec<u8>| Response {
        headers: vec![Header::new("Content-Encoding", "gzip"), Header::new("Content-Length", bytes.len().to_string())],
        body: Some(Body::new(0, bytes)),
        ..Response::default()
    };
    let mut clean = Exchange { response: Some(response(gzip("hello"))), ..Exchange::default() };
    let before = clean.clone();
    assert_eq!(USUAL.exchange(&mut clean).findings.len(), 0);
    assert_eq!(clean, before, "byte by byte");

    let mut with_secret = Exchange { response: Some(response(gzip(&format!("key {KEY}")))), ..Exchange::default() };
    assert_eq!(USUAL.exchange(&mut with_secret).findings.len(), 1);
    let response_is = with_secret.response.as_ref().unwrap();
    assert_eq!(response_is.body_bytes(), b"key REDACTED");
    assert_eq!(response_is.headers, [Header::new("Content-Length", "12")]);
    assert_eq!(with_secret.notes, [Note::new("redacted.content-encoding", "gzip")]);

    let unknown = Response { headers: vec![Header::new("Content-Encoding", "sdch")], ..response(b"??".to_vec()) };
    let mut opaque = Exchange { response: Some(unknown), ..Exchange::default() };
    assert_eq!(USUAL.exchange(&mut opaque).opaque, ["response body"]);
    let compressed = WsFrame { reserved: 4, ..WsFrame::new(0, Direction::Sent, Opcode::TEXT, vec![1, 2]) };
    let mut opaque = Exchange { frames: Some(vec![compressed]), ..Exchange::default() };
    assert_eq!(USUAL.exchange(&mut opaque).opaque, ["message of frame 0"]);
}

/// A body that comes chunk by chunk, of a type that is text.
fn stream(is_form: bool) -> BodyRedactor {
    let kind = if is_form { "application/x-www-form-urlencoded" } else { "text/event-stream" };
    BodyRedactor::of_request(USUAL.clone(), &[Header::new("Content-Type", kind)])
}

/// Texts in which secrets are likely.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "\"password\": \"x\"",
        "\\\"pwd\\\":\\\"y\\\"",
        "?api_key=z&",
        "{",
        "}",
        "[1,",
        "]",
        "\"",
        "\\",
        ":",
        "\"pwd\":",
        "12",
        " ",
        "bearer abcdefghijklmnop",
        KEY,
        "sk-",
        "REDACTED",
        "\"credentials\": {",
        "ü",
        "\n",
        "\"arguments\":\"{\\\"content\\\":\\\"",
        "\\\",\\\"password\\\":\\\"x\\\"}\"",
        "&Signature=x",
        "\\u0026pwd=y",
    ]);
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn redacting_twice_is_redacting_once(text in any_text(), cuts in prop::collection::vec(0.0..1.0, 0..3)) {
        let mut ends: Vec<_> = cuts.iter().map(|cut: &f64| (cut * text.len() as f64) as usize).collect();
        ends.sort_unstable();
        ends.push(text.len());
        let mut begin = 0;
        let chunks = ends.into_iter().map(|end| {
            let bytes = end - std::mem::replace(&mut begin, end);
            Chunk { at_us: 0, bytes }
        });
        let body = Body::from_parts(text.clone(), chunks.collect()).unwrap();
        let once = redacted(Request { body: Some(body), ..request("/", &[], "") });
        let whole = redacted(request("/", &[], &text));
        prop_assert_eq!(self::body(&once), self::body(&whole));
        prop_assert_eq!(&redacted(once.clone()), &once);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Chunk by chunk a body becomes what it becomes as a whole, in the same chunks.
    #[test]
    fn a_stream_is_redacted_as_a_whole_is(
        parts in prop::collection::vec((any_text(), 0..3_usize, prop::bool::ANY), 1..8),
        cuts in prop::collection::vec(0.0..1.0, 0..20),
        is_form in prop::bool::ANY,
    ) {
        let padding = |size: usize| ["", "padding, ", "more and more padding "][size].repeat([0, 300, 700][size]);
        let text: String = parts.iter().map(|(part, size, line)| part.clone() + &padding(*size) + if *line { "\n" } else { "" }).collect();
        let mut ends: Vec<_> = cuts.iter().map(|cut: &f64| (cut * text.len() as f64) as usize).collect();
        ends.sort_unstable();
        ends.push(text.len());
        let mut stream = stream(is_form);
        let (mut given, mut chunks, mut begin) = (Vec::new(), Vec::new(), 0);
        let mut take = |body: Body<'static>| {
            given.extend_from_slice(body.bytes());
            chunks.extend(body.chunks().iter().map(|chunk| chunk.at_us));
        };
        for (at_us, &end) in ends.iter().enumerate() {
            take(stream.push(at_us as u64, &text.as_bytes()[begin..end]));
            begin = end;
        }
        take(stream.finish());
        let kind = if is_form { "application/x-www-form-urlencoded" } else { "text/event-stream" };
        let whole = redacted(request("/", &[("Content-Type", kind)], &text));
        // A secret that is longer than the look-ahead may be found in part only.
        prop_assume!(body(&whole).len() + LOOKAHEAD_BYTES / 2 > text.len());
        prop_assert!(*given == *body(&whole).as_bytes(), "{} bytes, not {}", given.len(), body(&whole).len());
        prop_assert_eq!(chunks, (0..ends.len() as u64).collect::<Vec<_>>());
    }
}

#[test]
fn lines_of_a_stream_do_not_wait() {
    let mut stream = stream(false);
    let event = stream.push(1, b"data: {\"text\": \"hello\"}\n\n");
    assert_eq!(*event.bytes(), "data: {\"text\": \"hello\"}\n\n");
    assert!(stream.push(2, b"data: {\"api_key\":\n").bytes().is_empty());
    let rest = stream.push(3, b"\"abcdef\"}\n");
    assert_eq!(*rest.bytes(), "data: {\"api_key\":\n\"REDACTED\"}\n");
    assert_eq!((rest.chunks().len(), stream.found().replaced), (2, 1));
    assert!(stream.push(4, b"-----BEGIN PRIVATE KEY-----\nMII\n").bytes().is_empty());
    assert_eq!(*stream.push(5, b"E=\n-----END PRIVATE KEY-----\n").bytes(), "REDACTED\n");
}

#[test]
fn a_long_stream_is_held_in_little_memory() {
    let mut stream = stream(false);
    let chunk = b"no line ends here ".repeat(4_000);
    let mut given = 0;
    for round in 1..=100 {
        given += stream.push(round, &chunk).bytes().len();
        assert!(round as usize * chunk.len() - given <= LOOKAHEAD_BYTES + chunk.len());
    }
    given += stream.finish().bytes().len();
    assert_eq!(given, 100 * chunk.len());
}

#[test]
fn a_long_secret_object_is_replaced_all_the_way() {
    let mut stream = stream(false);
    let mut given = Vec::new();
    given.extend_from_slice(stream.push(0, b"{\"credentials\": [\n").bytes());
    for _ in 0..500 {
        given.extend_from_slice(stream.push(0, b"\"very secret\",\n").bytes());
    }
    given.extend_from_slice(stream.push(0, b"7],\n\"open\": \"very open\"}\n").bytes());
    let text = String::from_utf8(given).unwrap();
    assert!(!text.contains("very secret") && text.ends_with("0],\n\"open\": \"very open\"}\n"));
}

/// A body as a stream gives it, in chunks of this many bytes.
fn streamed(text: &str, bytes: usize) -> String {
    let mut stream = stream(false);
    let mut given = Vec::new();
    for chunk in text.as_bytes().chunks(bytes) {
        given.extend_from_slice(stream.push(0, chunk).bytes());
    }
    given.extend_from_slice(stream.finish().bytes());
    String::from_utf8(given).unwrap()
}

#[test]
fn a_stream_keeps_step_in_long_strings_of_json_in_json() {
    let content = "many words ".repeat(4_000);
    let text = format!(r#"{{"arguments":"{{\"content\":\"{content}\",\"password\":\"hunter2\"}}"}}"#);
    for bytes in [100, 5_000, 16 << 10, 1 << 20] {
        assert_eq!(streamed(&text, bytes), text.replace("hunter2", "REDACTED"), "{bytes}");
    }
    let alone = r#"a 5" screen {"password":"x"}"#;
    assert_eq!(streamed(alone, 3), r#"a 5" screen {"password":"REDACTED"}"#);
}

#[test]
fn a_long_secret_object_is_replaced_wherever_it_is_cut() {
    let list = (0..3_000).map(|index| format!("\"secret {index}\"")).collect::<Vec<_>>().join(", ");
    let text = format!("{{\"credentials\": [{list}], \"z\": \"{}\"}}", "z".repeat(30 << 10));
    for bytes in [997, 5_000, 20_000] {
        assert!(!streamed(&text, bytes).contains("secret"), "{bytes}");
    }
}

#[test]
fn a_chunk_of_many_bytes_waits_for_the_end_of_a_secret() {
    let mut stream = stream(false);
    let long = "x".repeat(2 << 20) + " \"password\": \"hun";
    assert!(stream.push(0, long.as_bytes()).bytes().is_empty());
    let rest = stream.push(1, b"ter2\"");
    let last = stream.finish();
    let text = [&rest.bytes()[..], last.bytes()].concat();
    assert!(text.ends_with(b"x \"password\": \"REDACTED\""));
}

#[test]
fn many_small_chunks_of_a_long_secret_cost_little() {
    let took = |lines: usize| {
        let began = std::time::Instant::now();
        let text = "\"password\": \"".to_owned() + &"a b c\\n".repeat(lines);
        assert!(streamed(&text, 2).starts_with("\"password\": \"REDACTED"));
        let text = "\"credentials\": [\n".to_owned() + &"\"x\",\n".repeat(lines);
        assert!(!streamed(&text, 2).contains('x'));
        began.elapsed()
    };
    // Looked through again for every chunk, eight times as many take sixty-four times as long.
    assert!((0..5).any(|_| took(8_000) < 32 * took(1_000)));
}

#[test]
fn an_expression_that_matches_nothing_replaces_nothing() {
    for pattern in [r"token=(\w*)", "^", "x*", "$"] {
        let rules = RedactionRules { patterns: vec![pattern.to_owned()], ..RedactionRules::default() };
        let mut asked = request("/", &[("X-Empty", "")], "a token=");
        let before = asked.clone();
        assert!(rules.compile().unwrap().request(&mut asked).findings.is_empty());
        assert_eq!(asked, before, "{pattern}");
    }
}

#[test]
fn bodies_that_are_not_compressed_as_they_say_are_looked_into() {
    let text = format!("key {KEY}");
    for coding in ["utf-8", "none", "aws-chunked", "gzip", "br", "zstd", "deflate", "gzip, gzip, gzip, gzip, gzip"] {
        let mut exchange =
            Exchange { request: request("/", &[("Content-Encoding", coding)], &text), ..Exchange::default() };
        let redacted = USUAL.exchange(&mut exchange);
        assert_eq!(body(&exchange.request), "key REDACTED", "{coding}");
        assert_eq!((redacted.findings.len(), redacted.opaque), (1, vec!["request body".to_owned()]), "{coding}");
        let note = Note::new("redacted.opaque", "request body");
        for _ in 0..2 {
            assert_eq!(exchange.notes, std::slice::from_ref(&note));
            USUAL.exchange(&mut exchange);
        }
    }
}

#[test]
fn authorization_keeps_known_schemes_only() {
    for (value, expected) in [
        ("Digest username=\"u\", response=\"r\"", "Digest REDACTED"),
        ("AWS4-HMAC-SHA256 Credential=a/b, Signature=c", "AWS4-HMAC-SHA256 REDACTED"),
        ("hunter2 and more", "REDACTED"),
        ("hunter2", "REDACTED"),
    ] {
        assert_eq!(header(&redacted(request("/", &[("Authorization", value)], "")), "authorization"), expected);
    }
    let cookie = format!("{KEY}=x; a=b");
    assert_eq!(header(&redacted(request("/", &[("Cookie", &cookie)], "")), "cookie"), "REDACTED=REDACTED; a=REDACTED");
    let cookie = format!("a=b; Path=/{KEY}");
    assert_eq!(
        header(&redacted(request("/", &[("Set-Cookie", &cookie)], "")), "set-cookie"),
        "a=REDACTED; Path=/REDACTED"
    );
}

#[test]
fn secrets_of_users_are_found_however_they_are_written() {
    let rules = RedactionRules { secrets: vec![b"hunter 2!/&".to_vec()], ..RedactionRules::default() };
    let redaction = rules.compile().unwrap();
    for written in ["hunter 2!/&", "hunter%202!%2f%26", "hunter+2%21%2F%26", r"hunter 2!\/\u0026", r"hunter 2!\\/&"] {
        let mut asked = request("/", &[], &format!("({written})"));
        redaction.request(&mut asked);
        assert_eq!(body(&asked), "(REDACTED)", "{written}");
    }
}

#[test]
fn parts_of_a_form_are_looked_into() {
    let part =
        |value: &str| format!("--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n{value}\r\n--b--\r\n");
    assert_eq!(body(&redacted(request("/", &[], &part("hunter2")))), part("REDACTED"));
    for bytes in 1..90 {
        assert_eq!(streamed(&part("hunter2"), bytes), part("REDACTED"), "{bytes}");
    }
}

fn response(kind: &str, body: &[u8]) -> Exchange<'static> {
    let headers = vec![Header::new("Content-Type", kind.to_owned())];
    let response = Response { headers, body: Some(Body::new(0, body.to_vec())), ..Response::default() };
    Exchange { response: Some(response), ..Exchange::default() }
}

fn response_body(exchange: &Exchange<'_>) -> Vec<u8> {
    exchange.response.as_ref().map(|response| response.body_bytes().to_vec()).unwrap_or_default()
}

/// Such a name was taken for a key, and the program came back 183 bytes shorter.
#[test]
fn a_program_is_not_edited() {
    let program = b"\x7fELF\x02\x01\0sk-ecdsa-sha2-nistp256-cert-v01@openssh.com\0\"password\": \"hunter2\"\0?sig=x\0";
    for kind in ["application/octet-stream", "application/x-executable", "text/plain", ""] {
        let mut exchange = response(kind, program);
        let before = exchange.clone();
        assert_eq!(USUAL.exchange(&mut exchange), cassette::redact::Redacted::default(), "{kind}");
        assert_eq!(exchange, before, "{kind}");
    }
    let program = [&program[..], KEY.as_bytes()].concat();
    let mut exchange = response("application/octet-stream", &program);
    let redacted = USUAL.exchange(&mut exchange);
    assert_eq!((redacted.findings.len(), redacted.kept.len()), (0, 1));
    assert_eq!(response_body(&exchange), program);
    assert_eq!(exchange.notes, [Note::new("redacted.kept", "response body: an API key that begins with sk-")]);
}

#[test]
fn a_name_of_a_kind_of_key_is_no_key() {
    for harmless in ["sk-ecdsa-sha2-nistp256", "sk-ssh-ed25519-cert-v01", "AKIAIOSFODNN7EXAMPLE"] {
        assert_eq!(body(&redacted(request("/", &[], harmless))), harmless);
    }
    let blob = format!("{}-sk-0123456789abcdefABCDEF-x", "A1b2C3d4".repeat(4));
    assert_eq!(body(&redacted(request("/", &[], &blob))), blob);
}

/// What a stream gives of a body of a type.
fn streamed_as(kind: &str, pieces: &[&[u8]]) -> (Vec<Vec<u8>>, Vec<u8>, cassette::redact::Findings) {
    let headers = [Header::new("Content-Type", kind.to_owned())];
    let mut stream = BodyRedactor::of_response(USUAL.clone(), &headers);
    let mut each: Vec<_> = pieces.iter().map(|piece| stream.push(0, piece).bytes().to_vec()).collect();
    each.push(stream.finish().bytes().to_vec());
    let whole = each.concat();
    (each, whole, stream.found().clone())
}

#[test]
fn a_stream_of_no_type_waits_until_it_is_known_to_be_text() {
    let line = b"DB_PASSWORD=hunter2\n";
    let (each, whole, found) = streamed_as("application/octet-stream", &[b"begin\n", line, b"end\n"]);
    assert_eq!((&each[0][..], &each[1][..]), (&b"begin\n"[..], &b""[..]));
    assert_eq!((&whole[..], found.replaced), (&b"begin\nDB_PASSWORD=REDACTED\nend\n"[..], 1));
    let (_, whole, found) = streamed_as("application/octet-stream", &[b"begin\n", line, b"\0\x01\n"]);
    assert_eq!((&whole[..], found.count()), (&b"begin\nDB_PASSWORD=hunter2\n\0\x01\n"[..], 0));
    let key = format!("key {KEY}\n");
    let (_, whole, found) = streamed_as("", &[key.as_bytes(), b"\0"]);
    assert_eq!((whole, found.replaced, found.kept), ([key.as_bytes(), b"\0"].concat(), 0, 1));
    let (each, ..) = streamed_as("text/event-stream", &[key.as_bytes(), b"\0"]);
    assert_eq!(each[0], b"key REDACTED\n");
}

#[test]
fn a_secret_in_a_file_of_a_form_stays_beside_one_in_a_field() {
    let body = |value: &str| {
        let field = format!("--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n{value}\r\n");
        let file = format!("--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n\0{KEY}\0\r\n--b--\r\n");
        field + &file
    };
    let mut exchange = response("multipart/form-data; boundary=b", body("hunter2").as_bytes());
    let redacted = USUAL.exchange(&mut exchange);
    assert_eq!(response_body(&exchange), body("REDACTED").as_bytes());
    assert_eq!((redacted.findings.len(), redacted.kept.len()), (1, 1));
}

/// A token that decodes: header, claims, signature.
fn jwt(claims: &str) -> String {
    use base64::Engine;
    let encode = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
    format!("{}.{}.{}", encode(r#"{"alg":"HS256","typ":"JWT"}"#), encode(claims), encode("the signature"))
}

#[test]
fn a_token_that_a_server_gives_keeps_its_shape() {
    let claims = r#"{"sub":"1234567890","exp":1999999999,"api_key":"hunter2"}"#;
    let without = jwt(&claims.replace("hunter2", "REDACTED"));
    let without = &without[..=without.rfind('.').expect("there are two")];
    let text = |token: &str| format!(r#"{{"access_token": "{token}", "text": "it is {token}", "id": 7}}"#);
    let mut exchange = response("application/json", text(&jwt(claims)).as_bytes());
    assert_eq!(USUAL.exchange(&mut exchange).findings.len(), 2);
    assert_eq!(String::from_utf8_lossy(&response_body(&exchange)), text(without));
    // Once is enough, and nothing is left that keeps a cassette from being sealed.
    assert_eq!(USUAL.exchange(&mut exchange).findings, []);
    assert_eq!(Redaction::known_forms().scan(&exchange).findings, []);
    // What a program says is compared: one token is as good as another.
    let asked = request("/", &[("Authorization", &format!("Bearer {}", jwt(claims)))], &text(&jwt(claims)));
    let asked = redacted(asked);
    assert_eq!((header(&asked, "authorization"), body(&asked)), ("Bearer REDACTED".to_owned(), text("REDACTED")));
}

#[test]
fn words_that_are_secrets_at_times_are_told_apart() {
    for (target, expected) in [
        ("/cb?code=4/0AX4XfWh&state=x", "/cb?code=REDACTED&state=x"),
        ("/oauth/callback?code=0123456789abcdef", "/oauth/callback?code=REDACTED"),
        ("/?token=0123456789abcdef", "/?token=REDACTED"),
        ("/bot123456789:AAabcdefghijklmnopqrstuvwxyz0123456/sendMessage", "/REDACTED/sendMessage"),
        ("/services/T0123ABCD/B0123ABCD/abcdefghijklmnop01234567", "/REDACTED"),
        ("/zip?code=10115-Berlin", "/zip?code=10115-Berlin"),
        ("/coins?token=USDT&page_token=0123456789abcdef", "/coins?token=USDT&page_token=0123456789abcdef"),
    ] {
        assert_eq!(redacted(request(target, &[], "")).target, expected);
    }
    let json = "application/json";
    for (text, expected) in [
        (
            r#"{"grant_type":"authorization_code","code":"4/0AX4XfWh"}"#,
            r#"{"grant_type":"authorization_code","code":"REDACTED"}"#,
        ),
        (r#"{"token":"0123456789abcdef"}"#, r#"{"token":"REDACTED"}"#),
        (r#"{"error":{"code":"E1234567","state":1}}"#, r#"{"error":{"code":"E1234567","state":1}}"#),
        (r#"{"token":" the","logprob":-0.1}"#, r#"{"token":" the","logprob":-0.1}"#),
        (r#"{"token":1234567890123456}"#, r#"{"token":1234567890123456}"#),
    ] {
        assert_eq!(body(&redacted(request("/", &[("Content-Type", json)], text))), expected);
    }
    let form = "application/x-www-form-urlencoded";
    let asked = request("/", &[("Content-Type", form)], "grant_type=authorization_code&code=4%2F0AX4XfWh");
    assert_eq!(body(&redacted(asked)), "grant_type=authorization_code&code=REDACTED");
}

/// What fuzzing found: text in which a placeholder shows another secret.
#[test]
fn what_a_placeholder_shows_is_replaced_in_the_same_pass() {
    let token = "eyJhbGciOiJub25lIn0.eyJwYXNzd29yZCI6Imh1bnRlcjIiLCJhIjoxfQ";
    for text in [
        // JSON that is cut inside a string: the name stands in a token.
        format!("{{token\"token\":\"0123456789abcdef\"}}\n{{\"token\":\"{token}.c2\"password\":\"hunter2\"}}\n"),
        "{\"token\":\"01234567\"}\n{\"token\":\"eyJhbGciOiJub25lIn0.eyJwYXNzd29yZCI6Imh1bnRlcjIi\"credentials\":[LCJhIjoxfQ.c2ln\"}"
            .to_owned(),
        format!("{{\"a\": \"{KEY}\"password\": \"hunter2"),
    ] {
        let mut exchange = response("application/x-ndjson", text.as_bytes());
        exchange.request = request("/", &[("Content-Type", "application/x-ndjson")], &text);
        assert!(!USUAL.exchange(&mut exchange).findings.is_empty());
        assert!(!shows(&exchange, "hunter2"), "{exchange:?}");
        let once = exchange.clone();
        assert_eq!((USUAL.exchange(&mut exchange).findings, exchange), (vec![], once), "{text}");
    }
}

/// What fuzzing found: a token in a cookie that has the `=` after its name in it.
#[test]
fn what_stays_of_a_cookie_is_looked_through_again() {
    for name in ["Cookie", "Set-Cookie", "Authorization", "X-Api-Key"] {
        let once = redacted(request("/", &[(name, "a https:\\/Bearer abcdefghijklmnop1en=t; b=c")], ""));
        assert_eq!(redacted(once.clone()), once);
        assert!(!header(&once, name).contains("abcdefgh"));
    }
}

/// Two messages of one side, of which the second refers to the first, and a last one.
fn conversation(texts: [&str; 3], is_final: bool) -> Exchange<'static> {
    let mut compress = flate2::Compress::new(flate2::Compression::best(), false);
    let frame = |text: &str| {
        let mut payload = Vec::with_capacity(text.len() + 64);
        compress.compress_vec(text.as_bytes(), &mut payload, flate2::FlushCompress::Sync).expect("there is room");
        payload.truncate(payload.len() - 4);
        WsFrame { reserved: 4, ..WsFrame::new(0, Direction::Received, Opcode::TEXT, payload) }
    };
    let mut frames: Vec<_> = texts.into_iter().map(frame).collect();
    frames[2].is_final = is_final;
    Exchange { frames: Some(frames), ..Exchange::default() }
}

#[test]
fn compressed_messages_are_looked_into() {
    let harmless = conversation(["a frog croaks", "a frog croaks", "and eats flies"], true);
    let mut same = harmless.clone();
    assert_eq!((USUAL.exchange(&mut same), same), (cassette::redact::Redacted::default(), harmless));

    let secret = format!("{{\"api_key\": \"hunter2\", \"text\": \"{KEY}\"}}");
    for is_final in [true, false] {
        let mut exchange = conversation(["hello", &secret, &secret], is_final);
        let first = exchange.frames.as_ref().expect("it has some")[0].clone();
        assert_eq!(Redaction::known_forms().scan(&exchange).findings.len(), 2);
        assert_eq!(USUAL.exchange(&mut exchange).findings.len(), 4);
        let frames = exchange.frames.as_ref().expect("it has some");
        assert_eq!(frames[0], first, "what came before is as it was");
        for frame in &frames[1..] {
            assert_eq!(
                (frame.reserved, frame.payload.to_text_lossy()),
                (0, secret.replace("hunter2", "REDACTED").replace(KEY, "REDACTED").into())
            );
        }
        assert_eq!(exchange.notes, [Note::new("redacted.websocket-compression", "permessage-deflate")]);
        assert_eq!(USUAL.exchange(&mut exchange).findings, []);
    }
    // A later message may refer to one with a secret, and has none itself.
    let mut exchange = conversation(["hello", &secret, "no secret: text"], true);
    USUAL.exchange(&mut exchange);
    let frames = exchange.frames.expect("it has some");
    assert_eq!((frames[2].reserved, &frames[2].payload), (0, &"no secret: text".into()));
}
