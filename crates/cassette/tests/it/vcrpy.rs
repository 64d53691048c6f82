//! What vcrpy wrote is read, and what is written vcrpy replays.
//!
//! `METROON_VCRPY` names a Python that has vcrpy: `cargo xtask test` sets it. Without it these tests are skipped, and say so.

use crate::exchanges::{Folder, of_the_report};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cassette::{Body, Content, Exchange, Form, Header, SealOptions};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// What the script says; `None` if there is no vcrpy.
fn vcrpy(words: &[&str], input: &Value) -> Option<Value> {
    let Some(python) = std::env::var_os("METROON_VCRPY") else {
        let skipped = "skipped: METROON_VCRPY names no Python with vcrpy; `cargo xtask test --only vcrpy` gets one\n";
        std::io::stderr().write_all(skipped.as_bytes()).unwrap();
        return None;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/vcrpy.py");
    let mut command = Command::new(python);
    command.arg("-B").arg(script).args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn bytes(base64: &Value) -> Vec<u8> {
    STANDARD.decode(base64.as_str().unwrap()).unwrap()
}

/// The lines that a client saw, but for those that every server adds.
fn lines(seen: &Value) -> Vec<(String, Vec<u8>)> {
    let line = |line: &Value| (line[0].as_str().unwrap().to_ascii_lowercase(), bytes(&line[1]));
    seen["headers"].as_array().unwrap().iter().map(line).collect()
}

fn recorded_lines(headers: &[Header<'_>]) -> Vec<(String, Vec<u8>)> {
    let line = |header: &Header<'_>| (header.name.to_text_lossy().to_ascii_lowercase(), header.value.to_vec());
    headers.iter().map(line).collect()
}

/// By name: those of one name stay in their order, which is all that a client of vcrpy gets to see.
fn sorted(mut lines: Vec<(String, Vec<u8>)>) -> Vec<(String, Vec<u8>)> {
    lines.sort_by(|(one, _), (other, _)| one.cmp(other));
    lines
}

#[test]
fn what_vcrpy_records_is_read() {
    let folder = Folder::new();
    let path = folder.join("recorded.yaml");
    let Some(seen) = vcrpy(&["record", path.to_str().unwrap()], &Value::Null) else { return };
    let content = Content::read(&path).unwrap();
    let seen = seen.as_array().unwrap();
    assert_eq!(content.exchanges.len(), seen.len());
    for (exchange, seen) in content.exchanges.iter().zip(seen) {
        let (request, response) = (&exchange.request, exchange.response.as_ref().unwrap());
        assert_eq!(
            (request.method.as_text(), request.target.as_text()),
            (seen["method"].as_str(), seen["target"].as_str())
        );
        let sent = request.body.as_ref().map(|body| STANDARD.encode(body.bytes()));
        assert_eq!(sent.as_deref(), seen["sent"].as_str());
        assert_eq!(u64::from(response.status), seen["status"].as_u64().unwrap());
        assert_eq!(response.body_bytes(), bytes(&seen["body"]));
        // vcrpy keeps what urllib3 has decompressed, below the lines of what came.
        let is_decompressed = seen["target"] == "/gzip" && response.body_bytes().starts_with(b"all the same");
        let names_compression = |name: &str| ["content-encoding", "content-length"].contains(&name);
        let mut lines = lines(seen);
        lines.retain(|(name, _)| !is_decompressed || !names_compression(name));
        let mut recorded = recorded_lines(&response.headers);
        recorded.retain(|(name, value)| {
            let is_right = name != "content-encoding" && *value == response.body_bytes().len().to_string().as_bytes();
            !is_decompressed || !names_compression(name) || !is_right
        });
        assert_eq!(sorted(recorded), sorted(lines));
    }
    // Written again, it is the same to vcrpy.
    let (again, losses) = content.to_vcr_yaml(cassette::VcrStyle::Python).unwrap();
    assert_eq!(losses, []);
    assert_eq!(Content::from_vcr_yaml(&again).unwrap(), content);
}

fn exchanges(has_binary: bool) -> Vec<Exchange<'static>> {
    let with = |number: u64, body: &[u8], headers: Vec<Header<'static>>| {
        let mut exchange = of_the_report(number);
        exchange.request.headers.clear();
        let response = exchange.response.as_mut().unwrap();
        (response.reason, response.headers) = ("OK".into(), headers);
        response.body = Some(Body::new(0, body.to_vec()));
        exchange
    };
    let gzip = b"\x1f\x8b\x08\0\0\0\0\0\x02\xff\xabV\xcaLQ\xb2\x02\0\xb1\xe9\x9c\x94\x07\0\0\0";
    let mut exchanges = vec![
        with(0, b"", vec![Header::new("X-Empty", ""), Header::new("X-Utf-8", "é")]),
        with(1, "null".as_bytes(), vec![Header::new("Set-Cookie", "a=1"), Header::new("Set-Cookie", "b: '2'")]),
        with(2, " a: \"b\"\n\t- c\u{85}\u{2028}\u{FEFF}\u{1F600}\0\r\n".as_bytes(), vec![]),
        with(3, b"12", vec![Header::new("Content-Type", "yes"), Header::new("x", "0x1F"), Header::new("y", "1_000")]),
        with(4, b"- 1\n- 2\n", vec![Header::new("Location", "/~?#"), Header::new("~", "~")]),
    ];
    exchanges[2].request.body = Some(Body::new(0, "{\"é\": [\"\\n\"]}\n"));
    exchanges[3].request.body = None;
    if has_binary {
        exchanges.push(with(5, gzip, vec![Header::new("Content-Encoding", "gzip")]));
        exchanges.push(with(6, &(0..=255).collect::<Vec<u8>>().repeat(3), vec![]));
        exchanges[6].request.body = Some(Body::new(0, b"\xff\x00\n"));
    }
    exchanges
}

fn replay(form: Form, name: &str, serializer: &str) {
    let folder = Folder::new();
    let path = folder.join(name);
    let exchanges = exchanges(serializer == "yaml");
    let content = Content { exchanges: exchanges.clone(), meta: vec![cassette::Note::new("name", "replayed: 'yes'")] };
    let losses = content.write_as(form, &path, SealOptions::default()).unwrap().lost;
    assert_eq!(losses, [""; 0]);
    let asked = |exchange: &Exchange<'_>| {
        let request = &exchange.request;
        let url = format!("https://{}{}", request.host.as_text().unwrap(), request.target.as_text().unwrap());
        let body = request.body.as_ref().map(|body| STANDARD.encode(body.bytes()));
        json!({ "method": request.method.as_text(), "url": url, "body": body })
    };
    let asked: Value = exchanges.iter().map(asked).collect();
    let Some(replayed) = vcrpy(&["replay", path.to_str().unwrap(), serializer], &asked) else { return };
    assert_eq!(replayed["loaded"], exchanges.len());
    for (exchange, seen) in exchanges.iter().zip(replayed["seen"].as_array().unwrap()) {
        let response = exchange.response.as_ref().unwrap();
        assert_eq!(u64::from(response.status), seen["status"].as_u64().unwrap());
        assert_eq!(bytes(&seen["body"]), response.body_bytes(), "{exchange:?}");
        assert_eq!(sorted(lines(seen)), sorted(recorded_lines(&response.headers)), "{exchange:?}");
    }
}

#[test]
fn vcrpy_replays_what_is_written() {
    replay(Form::Vcr, "written.yaml", "yaml");
    replay(Form::VcrJson, "written.json", "json");
}
