//! Cassettes of VCR, in YAML and JSON, of Python and Ruby.

use crate::exchanges::{exchange, of_the_report, with_everything};
use crate::har::foreign;
use crate::plain;
use cassette::{Body, Content, Exchange, Header, HttpVersion, Note, VcrStyle};
use proptest::prelude::*;

fn check(
    exchanges: &[Exchange<'static>],
    style: VcrStyle,
    is_json: bool,
) -> (Vec<Exchange<'static>>, Vec<String>, String) {
    let content = Content { exchanges: exchanges.to_vec(), meta: Vec::new() };
    let (bytes, losses) = if is_json { content.to_vcr_json(style) } else { content.to_vcr_yaml(style) }.unwrap();
    let back = if is_json { Content::from_vcr_json(&bytes) } else { Content::from_vcr_yaml(&bytes) };
    let text = String::from_utf8(bytes).unwrap();
    let back = back.unwrap_or_else(|error| panic!("{error}\n{text}"));
    (back.exchanges, losses.iter().map(ToString::to_string).collect(), text)
}

/// An exchange as this style can hold it.
fn held(mut exchange: Exchange<'static>, style: VcrStyle) -> Exchange<'static> {
    exchange.request.headers.sort_by(|one, other| one.name.cmp(&other.name));
    let response = exchange.response.as_mut().unwrap();
    response.headers.sort_by(|one, other| one.name.cmp(&other.name));
    let is_empty = response.body_bytes().is_empty();
    let may_lack = exchange.request.method == "HEAD" || matches!(response.status, 204 | 304);
    if is_empty {
        response.body = (!may_lack).then(|| Body::new(0, ""));
    }
    if style == VcrStyle::Ruby {
        exchange.started_ns -= exchange.started_ns % 1_000_000_000;
        exchange.request.body = exchange.request.body.filter(|body| !body.bytes().is_empty());
    }
    exchange
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn vcr_loses_nothing_that_it_can_hold(exchange in plain::exchange()) {
        for style in [VcrStyle::Python, VcrStyle::Ruby] {
            let exchange = held(exchange.clone(), style);
            let (back, losses, text) = check(std::slice::from_ref(&exchange), style, false);
            prop_assert_eq!(losses, [""; 0], "{}", text);
            prop_assert_eq!(&back, std::slice::from_ref(&exchange), "{}", text);
            let (back, losses, text) = check(std::slice::from_ref(&exchange), style, true);
            prop_assert_eq!(losses.is_empty(), back == [exchange], "{:?} {}", losses, text);
        }
    }

    #[test]
    fn vcr_says_what_it_cannot_hold(exchange in exchange(0)) {
        for style in [VcrStyle::Python, VcrStyle::Ruby] {
            for is_json in [false, true] {
                let (back, losses, text) = check(std::slice::from_ref(&exchange), style, is_json);
                prop_assert_eq!(losses.is_empty(), back == [exchange.clone()], "{:?} {}", losses, text);
            }
        }
    }
}

fn headers<'h>(headers: &'h [Header<'_>], name: &str) -> Vec<&'h str> {
    headers.iter().filter(|header| header.is(name)).map(|header| header.value.as_text().unwrap()).collect()
}

#[test]
fn what_vcrpy_writes_is_read() {
    let content = Content::from_vcr_yaml(&foreign("vcrpy-6.yaml")).unwrap();
    let [users, made, raw] = &content.exchanges[..] else { panic!("three exchanges") };
    assert_eq!((users.number, made.number, raw.number), (0, 1, 2));
    assert_eq!((&users.request.host, users.request.port), (&"api.example.com".into(), 443));
    assert_eq!((&users.request.target, &users.request.body), (&"/users?page=1&page=2".into(), &None));
    assert_eq!(headers(&users.request.headers, "accept"), ["*/*"]);
    let response = users.response.as_ref().unwrap();
    assert_eq!(headers(&response.headers, "set-cookie"), ["a=1; Path=/", "b=2; Path=/; HttpOnly"]);
    assert_eq!((&response.body_bytes()[..3], &response.reason), (&b"\x1f\x8b\x08"[..], &"OK".into()));
    // Folded lines are one, and an alias is what it stands for.
    let sent = "{\"name\": \"Grüße\", \"note\": \"a 'quoted' word and a line that is so long that PyYAML folds it into the next one\"}";
    assert_eq!(made.request.body_bytes(), sent.as_bytes());
    let response = made.response.as_ref().unwrap();
    assert_eq!(response.headers, made.request.headers);
    assert_eq!(response.body_bytes(), "{\"id\": 7,\n \"emoji\": \"\u{1F600}\", \"tab\": \"\t\"}".as_bytes());
    assert_eq!((raw.request.body_bytes(), raw.request.port), (&b"\0\x01\x02\xff"[..], 8080));
    let response = raw.response.as_ref().unwrap();
    assert_eq!((response.status, &response.reason, &response.body), (204, &"".into(), &None));
}

#[test]
fn what_vcrpy_wrote_for_httpx_is_read() {
    let content = Content::from_vcr_yaml(&foreign("vcrpy-httpx-4.yaml")).unwrap();
    let response = content.exchanges[0].response.as_ref().unwrap();
    assert_eq!((response.status, response.body_bytes()), (200, &b"{\n  \"args\": {}\n}\n"[..]));
    assert_eq!(headers(&response.headers, "server"), ["gunicorn/19.9.0"]);
    // What is written is what vcrpy writes today.
    let text = String::from_utf8(content.to_vcr_yaml(VcrStyle::Python).unwrap().0).unwrap();
    assert!(text.contains("code: 200") && !text.contains("status_code"), "{text}");
}

#[test]
fn what_vcrpy_writes_as_json_is_read() {
    let content = Content::from_vcr_json(&foreign("vcrpy-8.json")).unwrap();
    assert_eq!(content.exchanges[0].request.body_bytes(), "{\"q\": \"ü\"}".as_bytes());
    assert_eq!(content.meta[0], Note::new("name", "search"));
    let (bytes, losses) = content.to_vcr_json(VcrStyle::Python).unwrap();
    assert_eq!(losses, []);
    let [theirs, ours]: [serde_json::Value; 2] =
        [foreign("vcrpy-8.json"), bytes].map(|bytes| serde_json::from_slice(&bytes).unwrap());
    assert_eq!(ours, theirs);
}

#[test]
fn what_ruby_writes_is_read() {
    let content = Content::from_vcr_yaml(&foreign("ruby-6.yml")).unwrap();
    let [users, upload] = &content.exchanges[..] else { panic!("two exchanges") };
    assert_eq!((&users.request.method, &users.request.body), (&"GET".into(), &None));
    assert_eq!(users.started_ns, 1_320_123_524_000_000_000);
    // The text is UTF-8 in the file; what was sent was not.
    assert_eq!(users.response.as_ref().unwrap().body_bytes(), b"Gr\xfc\xdfe\n");
    assert_eq!((&upload.request.method, upload.request.body_bytes()), (&"POST".into(), &b"\0\x01\xff"[..]));
    let response = upload.response.as_ref().unwrap();
    assert_eq!((response.body_bytes(), headers(&response.headers, "content-length")), (&b"\xff\0\xfe"[..], vec!["3"]));
    let content = Content::from_vcr_json(&foreign("ruby-6.json")).unwrap();
    let [gone] = &content.exchanges[..] else { panic!("one exchange") };
    assert_eq!((&gone.request.method, gone.response.as_ref().unwrap().version), (&"DELETE".into(), HttpVersion::Http2));
    assert_eq!(gone.response.as_ref().unwrap().body, None);
}

/// What a cassette has and a cassette has not comes back in its style, and is said to be lost in the other.
#[test]
fn cassettes_come_back() {
    for (name, style) in [
        ("vcrpy-6.yaml", VcrStyle::Python),
        ("ruby-6.yml", VcrStyle::Ruby),
        ("vcrpy-8.json", VcrStyle::Python),
        ("ruby-6.json", VcrStyle::Ruby),
    ] {
        let is_json = name.ends_with("json");
        let read = if is_json { Content::from_vcr_json } else { Content::from_vcr_yaml };
        let content = read(&foreign(name)).unwrap();
        let (bytes, losses) = content.to_vcr_yaml(style).unwrap();
        assert_eq!(losses, [], "{name}");
        assert_eq!(Content::from_vcr_yaml(&bytes).unwrap(), content, "{name}");
    }
    let content = Content::from_vcr_yaml(&foreign("ruby-6.yml")).unwrap();
    let text = String::from_utf8(content.to_vcr_yaml(VcrStyle::Ruby).unwrap().0).unwrap();
    for line in [
        "effective_url: http://example.com/users?page=2",
        "recorded_with: VCR 6.2.0",
        "method: get",
        "encoding: US-ASCII",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let (_, losses) = content.to_vcr_yaml(VcrStyle::Python).unwrap();
    let losses: Vec<_> = losses.iter().map(ToString::to_string).collect();
    assert_eq!(losses, ["notes (exchange 0)"]);
}

/// Some recorders undo the compression of a body and leave the header that names it.
#[test]
fn a_header_names_no_compression_that_is_not_there() {
    let text = String::from_utf8(foreign("vcrpy-httpx-4.yaml")).unwrap();
    let text = text.replace("server: gunicorn/19.9.0", "content-encoding: gzip\n      content-length: '99'");
    let content = Content::from_vcr_yaml(text.as_bytes()).unwrap();
    let response = content.exchanges[0].response.as_ref().unwrap();
    assert_eq!(headers(&response.headers, "content-encoding"), [""; 0]);
    assert_eq!(headers(&response.headers, "content-length"), ["17"]);
    let (bytes, losses) = content.to_vcr_yaml(VcrStyle::Python).unwrap();
    assert_eq!(losses, []);
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains("content-encoding:\n      - gzip") && text.contains("- '99'"), "{text}");
    // What is compressed stays so.
    let content = Content::from_vcr_yaml(&foreign("vcrpy-6.yaml")).unwrap();
    let response = content.exchanges[0].response.as_ref().unwrap();
    assert_eq!(headers(&response.headers, "content-encoding"), ["gzip"]);
}

#[test]
fn what_vcr_cannot_hold_is_said() {
    let failed = Exchange { response: None, ..of_the_report(2) };
    let (back, losses, text) = check(&[of_the_report(0), with_everything(1), failed], VcrStyle::Python, false);
    assert_eq!(back.len(), 2);
    let expected = [
        "when everything was over (exchange 1)",
        "the version of HTTP of the request (exchange 1)",
        "that it is a WebSocket, and its messages (exchange 1)",
        "how the exchange ended (exchange 1)",
        "whole exchanges that have no response, which are left out (exchange 2)",
        "the numbers of exchanges",
    ];
    for line in expected {
        assert!(losses.iter().any(|loss| loss == line), "{line}: {losses:#?}");
    }
    assert!(!text.contains("response: null"), "{text}");
    let mut binary = of_the_report(0);
    binary.response.as_mut().unwrap().body = Some(Body::new(0, b"\xff\x00"));
    let (_, losses, _) = check(std::slice::from_ref(&binary), VcrStyle::Python, true);
    assert_eq!(losses, ["bytes of the response's body (exchange 0)"]);
    let (back, losses, text) = check(&[binary.clone()], VcrStyle::Python, false);
    assert_eq!((back, losses), (vec![binary], vec![]));
    assert!(text.contains("string: !!binary |\n        /wA=\n"), "{text}");
}

#[test]
fn what_is_wrong_with_a_cassette_is_said_with_its_place() {
    let vcrpy = String::from_utf8(foreign("vcrpy-6.yaml")).unwrap();
    for (from, to, message) in [
        ("method: PUT", "method: [PUT]", "interactions[2].request.method: a text is expected here, and this is a list"),
        ("code: 201", "code: soon", "interactions[1].response.status.code: a number is expected here"),
        (
            "- '*/*'",
            "- {a: b}",
            "interactions[0].request.headers.Accept[0]: a text is expected here, and this is a map",
        ),
        ("uri: http://localhost:8080/raw", "", "interactions[2].request: `uri` is missing"),
        ("interactions:", "actions:", "neither `interactions` nor `http_interactions` is there"),
        ("AAEC/w==", "AA%EC", "no base64: Invalid symbol 37, offset 2. at line"),
        ("!!binary |\n      AAEC", "!!python/object:os.system |\n      AAEC", "makes an object of another program"),
        ("*id001", "*id002", "unknown anchor at line 43 column 14"),
        ("*id001", "[", "at line"),
        ("*id001", "{<<: {a: b}}", "`<<` is not read"),
        ("    status:\n      code: 201", "    headers: {}\n    status:\n      code: 201", "has \"headers\" twice"),
    ] {
        assert!(vcrpy.contains(from), "{from}");
        let error = Content::from_vcr_yaml(vcrpy.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let old = b"- request: {method: GET}\n  response: {}\n";
    assert!(Content::from_vcr_yaml(old).unwrap_err().to_string().contains("a version before 1.0"));
    let two = b"interactions: []\n---\ninteractions: []\n";
    assert!(Content::from_vcr_yaml(two).unwrap_err().to_string().contains("a second document begins"));
    assert!(Content::from_vcr_yaml(b"interactions: []\nversion: 1\n").unwrap().exchanges.is_empty());
    assert!(Content::from_vcr_yaml(b"interactions: \xff").unwrap_err().to_string().contains("no UTF-8 at byte 14"));
}

/// A cassette of vcrpy with this request and this response, each of them lines.
fn cassette(request: &str, response: &str) -> Vec<u8> {
    let indented = |lines: &str| lines.lines().map(|line| format!("    {line}\n")).collect::<String>();
    let (request, response) = (indented(request), indented(response));
    format!(
        "interactions:\n- request:\n    method: POST\n    uri: https://pond.example/\n{request}  response:\n    status: {{code: 200, message: OK}}\n{response}version: 1\n"
    )
    .into_bytes()
}

fn only(bytes: &[u8]) -> Exchange<'static> {
    let content = Content::from_vcr_yaml(bytes);
    let mut content = content.unwrap_or_else(|error| panic!("{error}\n{}", String::from_utf8_lossy(bytes)));
    assert_eq!(content.exchanges.len(), 1);
    content.exchanges.remove(0)
}

fn note<'n>(exchange: &'n Exchange<'_>, name: &str) -> Option<&'n str> {
    exchange.notes.iter().find(|note| note.name == name).and_then(|note| note.value.as_text())
}

/// vcrpy writes what aiohttp is given as `json=` as a map, whatever its names are.
#[test]
fn a_map_as_body_becomes_json() {
    for (yaml, json) in [
        ("body:\n  model: frog\n  n: 3\n  stop: null\n  t: 0.10", r#"{"model":"frog","n":3,"stop":null,"t":0.10}"#),
        ("body: {}", "{}"),
        ("body: {string: croak}", r#"{"string":"croak"}"#),
        ("body: [1, {a: 'no'}]", r#"[1,{"a":"no"}]"#),
        ("body: {id: 12345678901234567890123, on: 1e5}", r#"{"id":12345678901234567890123,"on":"1e5"}"#),
        ("headers: {Content-Type: [application/json], Content-Length: ['99']}\nbody: [a, b]", r#"["a","b"]"#),
    ] {
        let exchange = only(&cassette(yaml, "headers: {}\nbody: {string: ok}"));
        assert_eq!(exchange.request.body_bytes(), json.as_bytes(), "{yaml}");
        assert_eq!(note(&exchange, "vcr.request.body"), Some("JSON, made of the map or list in `body`"), "{yaml}");
        let length = json.len().to_string();
        assert!(headers(&exchange.request.headers, "content-length").iter().all(|found| **found == length));
    }
    let response = only(&cassette("body: null", "headers: {Content-Length: ['7']}\nbody: {frog: Sam}"));
    let response_body = response.response.as_ref().unwrap();
    assert_eq!(response_body.body_bytes(), br#"{"frog":"Sam"}"#);
    assert_eq!(headers(&response_body.headers, "content-length"), ["14"]);
    assert_eq!(note(&response, "vcr.response.body"), Some("JSON, made of the map or list in `body`"));
    // Pieces stay pieces.
    let pieces = only(&cassette("body: [a, b]", "headers: {}\nbody: {string: ok}"));
    assert_eq!((pieces.request.body_bytes(), pieces.notes.len()), (&b"ab"[..], 0));
}

/// Serializers of vcrpy's users write a body as a tree beside it, and nothing in its place.
#[test]
fn a_parsed_body_alone_becomes_the_body() {
    let parsed = "headers: {content-type: [application/json]}\nparsed_body:\n  frog: Sam\n  legs: [1, 2.5, true]";
    let exchange = only(&cassette(parsed, parsed));
    let json = br#"{"frog":"Sam","legs":[1,2.5,true]}"#;
    assert_eq!(exchange.request.body_bytes(), json);
    assert_eq!(exchange.response.as_ref().unwrap().body_bytes(), json);
    for name in ["vcr.request.body", "vcr.response.body"] {
        assert_eq!(note(&exchange, name), Some("JSON, made of `parsed_body`"));
    }
    // A body that says something is what was sent.
    let both =
        only(&cassette("body: sent\nparsed_body: {a: b}", "headers: {}\nbody: {string: got}\nparsed_body: {a: b}"));
    assert_eq!((both.request.body_bytes(), both.response.as_ref().unwrap().body_bytes()), (&b"sent"[..], &b"got"[..]));
    let empty =
        only(&cassette("body: ''\nparsed_body: {a: b}", "headers: {}\nbody: {string: ''}\nparsed_body: {a: b}"));
    assert_eq!(empty.response.as_ref().unwrap().body_bytes(), br#"{"a":"b"}"#);
}

#[test]
fn trees_of_bodies_come_back() {
    let mapped = "headers: {Content-Length: ['99']}\nbody: {frog: Sam, legs: [1, 2.5, null, 'no']}";
    let parsed = "headers: {content-length: ['99'], content-encoding: [gzip]}\nparsed_body: {frog: Sam}";
    let content = Content::from_vcr_yaml(&cassette(mapped, parsed)).unwrap();
    let (yaml, losses) = content.to_vcr_yaml(VcrStyle::Python).unwrap();
    let text = String::from_utf8(yaml.clone()).unwrap();
    assert_eq!(losses, [], "{text}");
    assert!(
        text.contains("body:\n      frog: Sam\n      legs:\n      - 1\n      - 2.5\n      - null\n      - 'no'\n"),
        "{text}"
    );
    assert!(text.contains("parsed_body:\n      frog: Sam\n") && text.contains("- gzip"), "{text}");
    assert!(text.matches("- '99'").count() == 2 && !text.contains("string"), "{text}");
    assert_eq!(Content::from_vcr_yaml(&yaml).unwrap(), content);
    // One that was changed since is a text.
    let mut changed = content.clone();
    changed.exchanges[0].request.body = Some(Body::new(0, "{ }"));
    let (yaml, _) = changed.to_vcr_yaml(VcrStyle::Python).unwrap();
    assert!(String::from_utf8(yaml).unwrap().contains("body: '{ }'"));
    for style in [VcrStyle::Python, VcrStyle::Ruby] {
        assert!(content.to_vcr_json(style).is_ok());
    }
}

#[test]
fn a_tree_that_is_no_json_is_refused_with_its_place() {
    for (body, message) in [
        (
            "body: {frog: {at: 2026-03-02}}",
            "interactions[0].request.body.frog.at: readers of YAML disagree about `2026-03-02`",
        ),
        ("body: {frog: [0x1F]}", "interactions[0].request.body.frog[0]: readers of YAML disagree"),
        ("parsed_body: {frog: .inf}", "interactions[0].request.parsed_body.frog: readers of YAML disagree"),
        ("body: {frog: !!binary AA==}", "interactions[0].request.body.frog: these are bytes"),
    ] {
        let error = Content::from_vcr_yaml(&cassette(body, "headers: {}\nbody: {string: ok}")).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn a_time_without_a_zone_is_utc_and_says_so() {
    for (time, ns) in
        [("2026-03-02T09:15:07", 1_772_442_907_000_000_000), ("2026-03-02 09:15:07.25", 1_772_442_907_250_000_000)]
    {
        let with_time = |time: &str| {
            let mut bytes = cassette("body: null", "headers: {}\nbody: {string: ok}");
            bytes.truncate(bytes.len() - "version: 1\n".len());
            bytes.extend(format!("  recorded_at: '{time}'\n").into_bytes());
            bytes
        };
        let exchange = only(&with_time(time));
        assert_eq!(exchange.started_ns, ns);
        assert_eq!(note(&exchange, "vcr.recorded_at"), Some("has no time zone; taken as UTC"));
        let content = Content { exchanges: vec![exchange], meta: Vec::new() };
        let (yaml, losses) = content.to_vcr_yaml(VcrStyle::Python).unwrap();
        assert_eq!(losses, []);
        assert_eq!(Content::from_vcr_yaml(&yaml).unwrap(), content);
        let zoned = only(&with_time(&format!("{time}Z")));
        assert_eq!((zoned.started_ns, note(&zoned, "vcr.recorded_at")), (ns, None));
        let report = format!(
            r#"{{"version": "1.0", "name": "a", "recorded_at": "{time}", "interactions": [{{"type": "Http", "recorded_at": "{time}",
                "request": {{"method": "GET", "url": "http://a/", "headers": {{}}}}, "response": {{"status": 200, "headers": {{}}}}}}]}}"#
        );
        let report = Content::from_json(report.as_bytes()).unwrap();
        assert_eq!(report.exchanges[0].started_ns, ns);
        assert_eq!(note(&report.exchanges[0], "report.recorded_at"), Some("has no time zone; taken as UTC"));
    }
}

/// What YAML 1.1 takes for a number has a point and a signed exponent.
#[test]
fn floats_are_floats_to_every_reader() {
    let numbers = r#"{"version": 1, "x": [1e20, 1.5e300, 1e-7, 2.5, -1e21], "interactions": []}"#;
    let content = Content::from_vcr_json(numbers.as_bytes()).unwrap();
    let (yaml, _) = content.to_vcr_yaml(VcrStyle::Python).unwrap();
    let text = String::from_utf8(yaml).unwrap();
    for number in ["1.0e+20", "1.5e+300", "1.0e-7", "2.5", "-1.0e+21"] {
        assert!(text.contains(&format!("- {number}\n")), "{text}");
    }
    assert_eq!(
        Content::from_vcr_yaml(text.as_bytes()).unwrap().to_vcr_yaml(VcrStyle::Python).unwrap().0,
        text.as_bytes()
    );
}
