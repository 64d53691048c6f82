//! What redaction does not spoil: schemas, words with their probabilities, identifiers, what tools are called with, and the match of a
//! request with the recorded one.

use cassette::matching::{MatchRules, Player, Repeats};
use cassette::redact::{BodyRedactor, Redacted, Redaction, RedactionRules};
use cassette::{Body, Exchange, Header, Note, Request, Response};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::sync::Arc;

const KEY: &str = "sk-proj-0123456789abcdefABCDEF";

fn asked(body: &str) -> Request<'static> {
    let headers = vec![Header::new("Content-Type", "application/json")];
    Request {
        method: "POST".into(),
        host: "api.test".into(),
        target: "/v1".into(),
        headers,
        body: Some(Body::new(0, body.to_owned())),
        ..Request::default()
    }
}

/// An exchange in which both sides say this.
fn both(body: &str, kind: &'static str) -> Exchange<'static> {
    let headers = vec![Header::new("Content-Type", kind)];
    let response = Response { headers, body: Some(Body::new(0, body.to_owned())), ..Response::default() };
    Exchange { request: asked(body), response: Some(response), ..Exchange::default() }
}

fn bodies(exchange: &Exchange<'_>) -> [String; 2] {
    let response = exchange.response.as_ref().map(|response| response.body_bytes()).unwrap_or_default();
    [exchange.request.body_bytes(), response].map(|body| String::from_utf8_lossy(body).into_owned())
}

/// What becomes of a text on either side, and in a stream, in chunks of any length. All are the same.
fn redacted(text: &str) -> (String, Redacted) {
    let mut exchange = both(text, "application/json");
    let found = Redaction::usual().exchange(&mut exchange);
    let [request, response] = bodies(&exchange);
    assert_eq!(request, response);
    for bytes in [1, 7, 50, 1_000, text.len().max(1)] {
        let headers = [Header::new("Content-Type", "application/json")];
        let mut stream = BodyRedactor::of_request(Redaction::usual(), &headers);
        let mut given = Vec::new();
        text.as_bytes().chunks(bytes).for_each(|chunk| given.extend_from_slice(stream.push(0, chunk).bytes()));
        given.extend_from_slice(stream.finish().bytes());
        assert_eq!(String::from_utf8_lossy(&given), request, "in chunks of {bytes} bytes");
    }
    let before = exchange.clone();
    let again = Redaction::usual().exchange(&mut exchange);
    assert_eq!((again.findings, exchange), (vec![], before), "a second time");
    (request, found)
}

fn stays(text: &str) {
    let (after, found) = redacted(text);
    assert_eq!(after, text);
    assert_eq!(found.findings, [], "{text}");
}

/// In each way in which JSON is written: in one line, in many, and in a string of another text.
fn written(value: &Value) -> [String; 3] {
    let text = value.to_string();
    [text.clone(), serde_json::to_string_pretty(value).unwrap(), json!({"text": text}).to_string()]
}

#[test]
fn redaction_keeps_schemas() {
    let credentials = json!({
        "type": "object", "properties": {"user": {"type": "string"}, "password": {"type": "string", "minLength": 8}},
        "required": ["user", "password"], "additionalProperties": false
    });
    for schema in [
        json!({"type": "string", "description": "The key of the user, 32 letters", "minLength": 32}),
        json!({"type": ["string", "null"], "pattern": "^[a-z]+$", "x-order": 1, "default": null}),
        json!({"anyOf": [{"type": "string"}, {"type": "null"}], "default": null, "title": "Api Key"}),
        json!({"title": "Api Key"}),
        json!({"$ref": "#/$defs/Key"}),
        json!({"type": "STRING", "description": "as Gemini has it", "nullable": true}),
        json!({"type": "string", "enum": ["a", "b"]}),
        json!({"type": "array", "items": {"type": "object", "properties": {"token": {"type": "string"}}}}),
        credentials.clone(),
    ] {
        for name in ["api_key", "password", "credentials", "access_token", "token", "secret"] {
            let parameters =
                json!({"type": "object", "properties": {"url": {"type": "string"}, name: schema}, "required": [name]});
            for tool in [
                json!({"tools": [{"type": "function", "function": {"name": "f", "parameters": parameters}}]}),
                json!({"tools": [{"name": "f", "input_schema": parameters}]}),
                json!({"result": {"tools": [{"name": "f", "inputSchema": parameters}]}}),
            ] {
                written(&tool).iter().for_each(|text| stays(text));
            }
        }
    }
    // What a schema says of values is a value, and what only looks like a schema is none.
    for (text, expected) in [
        (
            r#"{"api_key":{"type":"string","default":"hunter2"}}"#,
            r#"{"api_key":{"type":"string","default":"REDACTED"}}"#,
        ),
        (
            r#"{"credentials":{"type":"object","password":"hunter2"}}"#,
            r#"{"credentials":{"type":"REDACTED","password":"REDACTED"}}"#,
        ),
        (r#"{"credentials":{"type":"basic"}}"#, r#"{"credentials":{"type":"REDACTED"}}"#),
        (r#"{"properties":{"password":"hunter2"}}"#, r#"{"properties":{"password":"REDACTED"}}"#),
    ] {
        assert_eq!(redacted(text).0, expected);
    }
}

#[test]
fn redaction_keeps_logprobs() {
    let word = "internationalization2024";
    for logprobs in [
        json!([{"token": word, "logprob": -0.31, "bytes": [105, 110], "top_logprobs": [{"token": word, "logprob": -0.31}]}]),
        json!([{"logprob": -1.5, "token": word}]),
        json!([{"token": word, "tokenId": 17, "logProbability": -0.25}]),
        json!({"tokens": [word], "token_logprobs": [-0.5], "top_logprobs": [{"password": -0.5, " secret": -1.25, "api_key": -9999.0}]}),
    ] {
        let value = json!({"choices": [{"index": 0, "logprobs": {"content": logprobs}}]});
        written(&value).iter().for_each(|text| stays(text));
    }
    assert_eq!(redacted(r#"{"token":"internationalization2024","id":7}"#).0, r#"{"token":"REDACTED","id":7}"#);
}

#[test]
fn redaction_keeps_ids() {
    for id in [
        "toolu_01A09q90qw90lq917835lq9",
        "call_abc123DEF456ghi789JKL012",
        "msg_01XFDUDYJgAACzvnptvVoYEL",
        "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
        "req_011CSHoEeqs5C35K2UUqR7Fy",
        "resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b",
        "fc_12345xyz67890abcdef",
    ] {
        for name in ["id", "tool_call_id", "previous_response_id", "request_id", "token", "item_id"] {
            let value = json!({name: id, "next": {"ids": [id]}, "text": format!("see {id}.")});
            written(&value).iter().for_each(|text| stays(text));
        }
    }
}

/// Ways in which a tool is called, in a text or in an object.
fn calls(arguments: &Value) -> Vec<Value> {
    let text = arguments.to_string();
    vec![
        json!({"tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "login", "arguments": text}}]}),
        json!({"tool_calls": [{"function": {"arguments": text, "name": "login"}, "id": "call_1"}]}),
        json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": text}}]}}]}),
        json!({"type": "function_call", "call_id": "call_1", "name": "login", "arguments": text}),
        json!({"type": "response.function_call_arguments.done", "item_id": "fc_1", "arguments": text}),
        json!({"type": "response.function_call_arguments.delta", "item_id": "fc_1", "delta": text}),
        json!({"content": [{"type": "tool_use", "id": "toolu_1", "name": "login", "input": arguments}]}),
        json!({"content": [{"id": "toolu_1", "input": arguments, "name": "login", "type": "tool_use"}]}),
        json!({"content": [{"input": arguments, "name": "login", "type": "tool_use"}]}),
        json!({"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": text}}),
        json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "login", "arguments": arguments}}),
        json!({"parts": [{"functionCall": {"name": "login", "args": arguments}}]}),
        json!({"message": {"tool_calls": [{"function": {"name": "login", "arguments": arguments}}]}}),
    ]
}

#[test]
fn a_tool_is_called_with_what_it_was_called_with() {
    let arguments = json!({
        "user": "u", "password": "hunter2", "nested": {"api_key": "k", "credentials": [1, "x"]},
        "url": "https://a.test/?access_token=t", "token": "0123456789abcdef"
    });
    for call in calls(&arguments) {
        for text in [call.to_string(), serde_json::to_string_pretty(&call).unwrap()] {
            let (after, found) = redacted(&text);
            assert_eq!((after, &found.findings[..]), (text.clone(), &[][..]), "{text}");
            // That they stay is told, for either side.
            assert!(found.stays.len() >= 8, "{text}: {:?}", found.stays);
        }
        let mut exchange = both(&call.to_string(), "application/json");
        Redaction::usual().exchange(&mut exchange);
        let places = "request body, in what a tool is called with; response body, in what a tool is called with";
        assert_eq!(exchange.notes, [Note::new("redacted.stays", places)]);
    }
    // What has the form of a key is replaced there as well, under its place; so is a name of the user.
    let rules = RedactionRules { names: vec!["password".to_owned()], ..RedactionRules::default() };
    let of_user = Arc::new(rules.compile().unwrap());
    for call in calls(&json!({"password": "hunter2", "text": KEY})) {
        let text = call.to_string();
        let (after, found) = redacted(&text);
        assert_eq!(after, text.replace(KEY, "REDACTED"));
        assert!(
            found.findings.iter().all(|finding| finding.place.ends_with("in what a tool is called with")),
            "{found:?}"
        );
        let mut exchange = both(&text, "application/json");
        assert_eq!(of_user.exchange(&mut exchange).stays, []);
        assert_eq!(bodies(&exchange)[0], text.replace(KEY, "REDACTED").replace("hunter2", "REDACTED"));
    }
    // Elsewhere a name counts.
    for text in [
        r#"{"input":"hunter2","password":"x"}"#,
        r#"{"input":[{"password":"x"}]}"#,
        r#"{"arguments":{"password":"x"}}"#,
    ] {
        assert_eq!(redacted(text).0, text.replace("\"x\"", "\"REDACTED\""));
    }
}

/// What a program says of an answer without secrets is what it said of one with them.
#[test]
fn redaction_does_not_unmatch() {
    let arguments = json!({"password": "hunter2", "text": KEY, "n": 1});
    let tool =
        json!({"name": "login", "input_schema": {"type": "object", "properties": {"api_key": {"type": "string"}}}});
    let asked_with = |arguments: &Value, said: &str| {
        json!({
            "model": "m", "api_key": "k", "tools": [tool], "messages": [
                {"role": "assistant", "content": said},
                {"role": "assistant", "tool_calls": [{"id": "call_1", "function": {"name": "login", "arguments": arguments.to_string()}}]},
                {"role": "tool", "tool_call_id": "call_1", "content": "done"}
            ]
        })
        .to_string()
    };
    let said = format!("The key is {KEY}, use {{\"password\": \"hunter2\"}}.");
    let mut recorded = both(&asked_with(&arguments, &said), "application/json");
    Redaction::usual().exchange(&mut recorded);
    // What the program was told on replay.
    let told = json!({"password": "hunter2", "text": "REDACTED", "n": 1});
    let said = "The key is REDACTED, use {\"password\": \"REDACTED\"}.";
    let mut live = asked(&asked_with(&told, said).replace("\"k\"", "\"dummy\""));
    Redaction::usual().request(&mut live);
    let cassette = [recorded];
    let player = Player::new(&cassette[..], MatchRules::default(), Repeats::Refused).unwrap();
    assert!(player.find(&live).is_ok(), "{}", bodies(&cassette[0])[0]);
    // Another argument is another question.
    let mut other = asked(&asked_with(&json!({"password": "other", "text": "REDACTED", "n": 1}), said));
    Redaction::usual().request(&mut other);
    assert!(player.find(&other).is_err());
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).and_then(|()| encoder.finish()).unwrap()
}

fn zlib(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).and_then(|()| encoder.finish()).unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).unwrap()
}

fn decoded(coding: &str, bytes: &[u8]) -> String {
    let mut text = String::new();
    match coding {
        "gzip" => flate2::read::MultiGzDecoder::new(bytes).read_to_string(&mut text).unwrap(),
        "zlib" => flate2::read::ZlibDecoder::new(bytes).read_to_string(&mut text).unwrap(),
        _ => zstd::Decoder::new(bytes).unwrap().read_to_string(&mut text).unwrap(),
    };
    text
}

#[test]
fn gzip_without_content_encoding() {
    use crate::exchanges::Folder;
    use cassette::{Cassette, ExchangeEnd, Recorder, RecorderOptions};
    let text = format!("{{\"password\": \"hunter2\", \"text\": \"it is {KEY} and more\"}}\n");
    let expected = text.replace("hunter2", "REDACTED").replace(KEY, "REDACTED");
    let folder = Folder::new();
    let recorder = Recorder::open(folder.join("a"), RecorderOptions::default()).unwrap();
    type Encoder = fn(&[u8]) -> Vec<u8>;
    let coders: [(&str, Encoder); 3] = [("gzip", gzip), ("zlib", zlib), ("zstd", zstd)];
    let mut sent = Vec::new();
    for (name, encode) in coders {
        for kind in ["application/json", "application/octet-stream", ""] {
            for said in [text.as_bytes(), b"nothing to hide", b"\x7fELF\0 with \"password\": \"hunter2\"\0"] {
                for bytes in [1, 5, 1_000] {
                    let body = encode(said);
                    let headers =
                        vec![Header::new("Content-Type", kind), Header::new("Content-Length", body.len().to_string())];
                    let asked = Request { headers: headers.clone(), body: Some(Body::default()), ..asked("") };
                    let call = recorder.begin(0, &asked).unwrap();
                    body.chunks(bytes).for_each(|chunk| call.request_chunk(1, chunk).unwrap());
                    call.response(&Response { headers, body: Some(Body::default()), ..Response::default() }).unwrap();
                    body.chunks(bytes).for_each(|chunk| call.response_chunk(2, chunk).unwrap());
                    call.end(ExchangeEnd::default()).unwrap();
                    sent.push((name, said.to_vec(), body));
                }
            }
        }
    }
    recorder.finish().unwrap();
    let cassette = Cassette::open(folder.join("a")).unwrap();
    for ((name, said, body), exchange) in sent.into_iter().zip(cassette.exchanges()) {
        let exchange = exchange.unwrap();
        let response = exchange.response.as_ref().unwrap();
        for (headers, recorded) in
            [(&exchange.request.headers, exchange.request.body_bytes()), (&response.headers, response.body_bytes())]
        {
            assert_eq!(headers[1].value, recorded.len().to_string().as_str());
            if said == text.as_bytes() {
                assert_eq!(decoded(name, recorded), expected);
            } else {
                assert_eq!(recorded, body);
            }
        }
    }
}
