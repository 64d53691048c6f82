//! HAR, both ways.

use crate::exchanges::{exchange, of_the_report, with_everything};
use crate::plain;
use cassette::{Body, Content, Exchange, Header, HttpVersion, NetworkErrorKind, Note, Opcode, Outcome};
use proptest::prelude::*;

fn written(exchanges: Vec<Exchange<'static>>) -> (Content, Vec<String>, String) {
    let (bytes, losses) = Content { exchanges, meta: Vec::new() }.to_har().unwrap();
    let back = Content::from_har(&bytes).unwrap();
    (back, losses.iter().map(ToString::to_string).collect(), String::from_utf8(bytes).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn har_loses_nothing_that_it_can_hold(exchange in plain::of_browser()) {
        let (back, losses, text) = written(vec![exchange.clone()]);
        prop_assert_eq!(losses, [""; 0], "{}", text);
        prop_assert_eq!(back.exchanges, [exchange]);
    }

    #[test]
    fn har_says_what_it_cannot_hold(exchange in exchange(0)) {
        let (back, losses, text) = written(vec![exchange.clone()]);
        prop_assert_eq!(losses.is_empty(), back.exchanges == [exchange], "{:?} {}", losses, text);
    }
}

/// A file in the shape in which somebody's program writes it.
pub(crate) fn foreign(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/foreign").join(name);
    std::fs::read(path).unwrap()
}

fn header<'h>(headers: &'h [Header<'_>], name: &str) -> Vec<&'h str> {
    headers.iter().filter(|header| header.is(name)).map(|header| header.value.as_text().unwrap()).collect()
}

#[test]
fn what_chrome_writes_is_read() {
    let content = Content::from_har(&foreign("chrome.har")).unwrap();
    // In the order in which they began.
    let targets: Vec<_> = content.exchanges.iter().map(|exchange| exchange.request.target.as_text().unwrap()).collect();
    let data = "image/gif;base64,R0lGODlhAQAB";
    assert_eq!(targets, ["/list?page=2&q=caf%C3%A9", "/dot.gif", "/login", "/x.js", "/live", data]);
    let [list, dot, login, ads, live, data] = &content.exchanges[..] else { panic!("six exchanges") };

    assert_eq!(list.started_ns, 1_772_442_904_119_000_000);
    assert_eq!((list.ended_us, list.request.version), (Some(88_521), HttpVersion::Http2));
    assert_eq!(list.request.headers[0], Header::new("accept", "text/html"));
    assert_eq!(list.request.headers.len(), 3);
    let response = list.response.as_ref().unwrap();
    // 1.857 blocked, 0.009 DNS, 21.5 connect (9.21 of which is TLS), 0.229 send, 63.1 wait.
    assert_eq!(response.at_us, 86_695);
    assert_eq!(header(&response.headers, "set-cookie").len(), 2);
    assert_eq!(response.body.as_ref().unwrap().chunks()[0].at_us, 88_521);

    assert_eq!(dot.request.version, HttpVersion::Http3);
    assert!(dot.response.as_ref().unwrap().body_bytes().starts_with(b"GIF89a\x01"));
    assert_eq!(login.request.body_bytes(), b"name=J%C3%BCrgen&way=a+b");
    assert_eq!(login.response.as_ref().unwrap().body, None);
    let Outcome::Aborted(error) = &ads.outcome else { panic!("{ads:?}") };
    assert_eq!((error.kind, &ads.response), (NetworkErrorKind::Dns, &None));
    assert_eq!((&data.request.scheme, &data.outcome), (&"data".into(), &Outcome::Truncated));

    let frames = live.frames.as_ref().unwrap();
    assert_eq!((&live.request.scheme, live.request.port), (&"https".into(), 443));
    assert_eq!((frames[0].at_us, frames[0].opcode), (500_000, Opcode::TEXT));
    assert_eq!((frames[1].at_us, frames[1].opcode, &*frames[1].payload), (625_000, Opcode::BINARY, &b"\0\x01\xff"[..]));
}

/// HAR has bodies without compression, below headers that name it.
#[test]
fn a_header_names_no_compression_that_is_not_there() {
    let content = Content::from_har(&foreign("chrome.har")).unwrap();
    let response = content.exchanges[0].response.as_ref().unwrap();
    assert!(header(&response.headers, "content-encoding").is_empty());
    assert_eq!(header(&response.headers, "content-length"), [response.body_bytes().len().to_string()]);
    let (bytes, losses) = content.to_har().unwrap();
    assert_eq!(losses, []);
    let text = String::from_utf8(bytes).unwrap();
    let written: serde_json::Value = serde_json::from_str(&text).unwrap();
    let entry = &written["log"]["entries"][0];
    assert_eq!(entry["response"]["headers"][0]["value"], "br");
    assert_eq!(entry["response"]["headers"][2]["value"], "61");
    assert_eq!((&entry["response"]["bodySize"], &entry["response"]["content"]["size"]), (&61.into(), &77.into()));
}

/// A cassette has the compressed bytes; HAR cannot have them.
#[test]
fn compressed_bodies_are_written_without_compression() {
    use std::io::Write;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(b"a long text, a long text, a long text").unwrap();
    let gzip = gzip.finish().unwrap();
    let mut exchange = of_the_report(0);
    exchange.started_ns -= exchange.started_ns % 1_000_000;
    let response = exchange.response.as_mut().unwrap();
    response.headers = vec![
        Header::new("content-encoding", "gzip"),
        Header::new("Content-Length", gzip.len().to_string()),
        Header::new("a", "b"),
    ];
    response.body = Some(Body::new(0, gzip.clone()));
    let (back, losses, text) = written(vec![exchange.clone()]);
    assert_eq!(losses, ["compressed bytes of the response's body, which is written without compression (exchange 0)"]);
    assert!(text.contains("\"text\": \"a long text, a long text, a long text\""), "{text}");
    assert!(text.contains(&format!("\"bodySize\": {}", gzip.len())), "{text}");
    let response = back.exchanges[0].response.as_ref().unwrap();
    assert_eq!(response.headers, [Header::new("Content-Length", "37"), Header::new("a", "b")]);
    // A second time nothing is lost.
    let (again, losses, _) = written(back.exchanges.clone());
    assert_eq!((again, losses), (back, vec![]));
}

#[test]
fn what_firefox_writes_is_read() {
    let content = Content::from_har(&foreign("firefox.har")).unwrap();
    let [made, cached] = &content.exchanges[..] else { panic!("two exchanges") };
    assert_eq!(made.started_ns, 1_772_442_904_500_000_000);
    assert_eq!(header(&made.request.headers, "x-trace"), ["a", "b"]);
    assert_eq!(made.request.body_bytes(), "{\"name\":\"Grüße\"}".as_bytes());
    let response = made.response.as_ref().unwrap();
    assert_eq!((response.status, response.at_us, &response.reason), (201, 48_000, &"Created".into()));
    // Cookies that no header has become headers.
    assert_eq!(header(&response.headers, "set-cookie"), ["sid=abc; Path=/; HttpOnly"]);
    assert_eq!(header(&cached.request.headers, "cookie"), ["sid=abc"]);
    assert_eq!((cached.response.as_ref().unwrap().status, &cached.outcome), (304, &Outcome::Complete));
}

/// What HAR has and a cassette has not comes back.
#[test]
fn har_comes_back() {
    let content = Content::from_har(&foreign("chrome.har")).unwrap();
    let (bytes, losses) = content.to_har().unwrap();
    assert_eq!(losses, []);
    assert_eq!(Content::from_har(&bytes).unwrap(), content);
    let mut theirs: serde_json::Value = serde_json::from_slice(&foreign("chrome.har")).unwrap();
    let mut ours: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    for document in [&mut theirs, &mut ours] {
        let entries = document["log"]["entries"].as_array_mut().unwrap();
        entries.sort_by_key(|entry| entry["startedDateTime"].to_string());
        for entry in entries {
            // Made anew of the headers and the URL.
            for part in ["request", "response"] {
                entry[part].as_object_mut().unwrap().remove("cookies");
            }
            entry["request"].as_object_mut().unwrap().remove("queryString");
            if let Some(data) = entry["request"].get_mut("postData") {
                data.as_object_mut().unwrap().remove("params");
            }
        }
    }
    assert_eq!(with_floats(ours), with_floats(theirs));
}

/// `1` and `1.0` are one number.
fn with_floats(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(list) => list.into_iter().map(with_floats).collect(),
        Value::Object(map) => map.into_iter().map(|(name, value)| (name, with_floats(value))).collect(),
        other => other,
    }
}

/// A request whose body is there as parameters only.
fn of_parameters(header: &str, data: serde_json::Value) -> Exchange<'static> {
    let request = serde_json::json!({
        "method": "POST",
        "url": "https://a.test/",
        "headers": [{"name": "Content-Type", "value": header}],
        "postData": data,
    });
    let har = serde_json::json!({"log": {"version": "1.2", "entries": [{"request": request}]}});
    Content::from_har(har.to_string().as_bytes()).unwrap().exchanges.remove(0)
}

#[test]
fn parameters_without_a_text_become_a_body() {
    let parameters = serde_json::json!([
        {"name": "user name", "value": "a&b"},
        {"name": "password", "value": "hunter2"},
        {"name": "f\"ile", "fileName": "a.txt", "contentType": "text/plain"},
    ]);
    let (fields, parts) = ("application/x-www-form-urlencoded", "multipart/form-data; boundary=b0");
    let of_parts = concat!(
        "--b0\r\nContent-Disposition: form-data; name=\"user name\"\r\n\r\na&b\r\n",
        "--b0\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\nhunter2\r\n",
        "--b0\r\nContent-Disposition: form-data; name=\"f%22ile\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\n\r\n",
        "--b0--\r\n"
    );
    for (header, kind, expected, note) in [
        (fields, fields, "user+name=a%26b&password=hunter2&f%22ile=", "a form, made of"),
        (parts, parts, of_parts, "a form of parts, made of"),
        (parts, "multipart/form-data", of_parts, "a form of parts, made of"),
    ] {
        let exchange = of_parameters(header, serde_json::json!({"mimeType": kind, "params": parameters}));
        assert_eq!(String::from_utf8_lossy(exchange.request.body_bytes()), expected);
        let noted: Vec<_> = exchange.notes.iter().map(|note| note.value.to_text_lossy()).collect();
        assert!(exchange.notes[0].name == "har.request.body" && noted[0].starts_with(note), "{noted:?}");
        // A secret is in the body only, where redaction takes it out.
        assert!(noted.iter().all(|note| !note.contains("hunter2")), "{noted:?}");
        let (back, losses, _) = written(vec![exchange.clone()]);
        assert_eq!((back.exchanges, losses), (vec![exchange], vec![]));
    }
    // No boundary, no form: the parameters stay in the note.
    for kind in ["multipart/form-data", "application/json"] {
        let exchange = of_parameters(kind, serde_json::json!({"mimeType": kind, "params": parameters}));
        assert_eq!((exchange.request.body, exchange.notes.len()), (None, 1));
        assert!(exchange.notes[0].value.to_text_lossy().contains("user name"));
    }
}

/// What was changed since counts, not the notes.
#[test]
fn notes_do_not_contradict_the_exchange() {
    let mut content = Content::from_har(&foreign("chrome.har")).unwrap();
    content.exchanges.truncate(1);
    let exchange = &mut content.exchanges[0];
    exchange.request.target = "/other".into();
    exchange.response.as_mut().unwrap().at_us = 5;
    let (bytes, losses) = content.to_har().unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains("\"url\": \"https://shop.example/other\""), "{text}");
    assert_eq!(losses.iter().map(|loss| loss.what).collect::<Vec<_>>(), ["notes"]);
    let hostile = [b"[1]".as_slice(), b"{\"log\": 1}", b"{\"log\": {\"entries\": {}}}", b"{\"request\": 1}", b"\xff"];
    for note in hostile {
        content.meta = vec![Note::new("har.document", note)];
        content.exchanges[0].notes = vec![Note::new("har.entry", note), Note::new("har.response.headers", note)];
        let back = Content::from_har(&content.to_har().unwrap().0).unwrap();
        assert_eq!(back.exchanges[0].request, content.exchanges[0].request);
    }
}

#[test]
fn what_har_cannot_hold_is_said() {
    let (_, losses, _) = written(vec![of_the_report(0), with_everything(1), with_everything(3)]);
    let expected = [
        "trailers of the request (exchanges 1 and 3)",
        "chunks of the request's body (exchanges 1 and 3)",
        "responses before the response (exchanges 1 and 3)",
        "chunks of the response's body (exchanges 1 and 3)",
        "bytes of response headers (exchanges 1 and 3)",
        "trailers of the response (exchanges 1 and 3)",
        "bits or bytes of frames of a WebSocket (exchanges 1 and 3)",
        "notes (exchanges 1 and 3)",
        "the order of exchanges that did not begin in the order of their numbers",
        "the numbers of exchanges",
    ];
    for line in expected {
        assert!(losses.iter().any(|loss| loss == line), "{line}: {losses:#?}");
    }
    assert_eq!(losses.len(), expected.len(), "{losses:#?}");
}

#[test]
fn what_is_wrong_with_har_is_said_with_its_place() {
    let entry = |from: &str, to: &str| {
        let text = String::from_utf8(foreign("firefox.har")).unwrap();
        assert!(text.contains(from), "{from}");
        Content::from_har(text.replacen(from, to, 1).as_bytes()).unwrap_err().to_string()
    };
    for (from, to, message) in [
        ("\"POST\"", "7", "log.entries[0].request.method: a text is expected here, and this is a number"),
        ("\"url\": \"http://127.0.0.1:8080/cached\",", "", "log.entries[1].request: `url` is missing"),
        ("304", "70000", "log.entries[1].response.status: 70000 is not a status of HTTP"),
        ("304", "\"304\"", "log.entries[1].response.status: a number is expected here, and this is a text"),
        ("2026-03-02T10:15:04.700+01:00", "yesterday", "log.entries[1].startedDateTime: \"yesterday\" is not a time"),
        ("\"entries\": [", "\"entries\": 1, \"x\": [", "log.entries: a list is expected here"),
        ("\"method\"", "\"url\"", "\"url\" is there twice; remove one of them at line"),
        ("\"method\"", "method", "key must be a string at line"),
    ] {
        let error = entry(from, to);
        assert!(error.contains(message), "{error}");
    }
    assert!(Content::from_har(b"{}").unwrap_err().to_string().contains("`log` is missing"));
}
