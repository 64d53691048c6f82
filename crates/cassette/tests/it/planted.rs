//! Two hundred secrets of forty kinds, in every place that a secret may have, compressed or not: none is in a file, at any time.

use crate::exchanges::Folder;
use cassette::{
    Body, Cassette, Direction, Exchange, ExchangeEnd, Header, Opcode, Recorder, RecorderOptions, Request, Response,
    WsFrame,
};
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use flate2::{Compress, Compression, FlushCompress};
use std::io::Write;
use std::path::Path;

/// Letters and digits, the same for a seed.
fn word(seed: u64, length: usize, alphabet: &str) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let alphabet: Vec<char> = alphabet.chars().collect();
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        alphabet[(state >> 11) as usize % alphabet.len()]
    };
    (0..length).map(|_| next()).collect()
}

const ANY: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const HEX: &str = "0123456789abcdef";
const BIG: &str = "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789";

/// Secrets that are known by their form, whatever they are called: the kind, and one of a seed.
pub(crate) fn by_form(seed: u64) -> Vec<(&'static str, String)> {
    let any = |length| word(seed, length, ANY);
    let hex = |length| word(seed, length, HEX);
    let big = |length| word(seed, length, BIG);
    let pem = format!("-----BEGIN PRIVATE KEY-----\\n{}\\n-----END PRIVATE KEY-----", any(64));
    vec![
        ("openai", format!("sk-proj-{}1a", any(40))),
        ("anthropic", format!("sk-ant-api03-{}1a", any(60))),
        ("github", format!("ghp_{}", any(36))),
        ("github app", format!("ghs_{}", any(36))),
        ("github fine", format!("github_pat_{}", any(40))),
        ("gitlab", format!("glpat-{}", any(20))),
        ("slack", format!("xoxb-{}", any(24))),
        ("aws", format!("AKIA{}", big(16))),
        ("google", format!("AIza{}", any(35))),
        ("google access", format!("ya29.{}", any(40))),
        ("jwt", format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{}", any(43))),
        ("stripe", format!("sk_live_{}", any(24))),
        ("npm", format!("npm_{}", any(36))),
        ("hugging face", format!("hf_{}", any(34))),
        ("pypi", format!("pypi-{}", any(60))),
        ("sendgrid", format!("SG.{}.{}", any(22), any(43))),
        ("telegram", format!("bot123456789:AA{}", any(33))),
        ("slack webhook", format!("https://hooks.slack.com/services/T0123456/B0123456/{}", any(24))),
        ("discord webhook", format!("https://discord.com/api/webhooks/123456789012345678/{}", any(68))),
        ("groq", format!("gsk_{}", any(52))),
        ("xai", format!("xai-{}", any(80))),
        ("perplexity", format!("pplx-{}", any(48))),
        ("tavily", format!("tvly-{}", any(32))),
        ("langsmith", format!("lsv2_pt_{}", any(43))),
        ("replicate", format!("r8_{}", any(37))),
        ("pinecone", format!("pcsk_{}", any(60))),
        ("databricks", format!("dapi{}", hex(32))),
        ("digitalocean", format!("dop_v1_{}", hex(64))),
        ("shopify", format!("shpat_{}", hex(32))),
        ("vault", format!("hvs.{}", any(60))),
        ("private key", pem),
        ("url password", format!("postgres://user:{}@db.test/x", any(20))),
        ("bearer", format!("Bearer {}", any(32))),
    ]
}

/// Names whose values are secrets.
const NAMES: [&str; 8] =
    ["password", "client_secret", "api_key", "access_token", "refresh_token", "token", "pwd", "private_key"];

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory takes it")
}

pub(crate) fn request(headers: &[(&'static str, &str)], target: &str, body: Option<Vec<u8>>) -> Request<'static> {
    Request {
        method: "POST".into(),
        scheme: "https".into(),
        host: "api.test".into(),
        port: 443,
        target: target.to_owned().into(),
        headers: headers.iter().map(|(name, value)| Header::new(*name, (*value).to_owned())).collect(),
        body: body.map(|body| Body::new(0, body)),
        ..Request::default()
    }
}

fn typed(kind: &'static str, text: &str) -> Exchange<'static> {
    let response = Response {
        status: 200,
        headers: vec![Header::new("Content-Type", kind)],
        body: Some(Body::new(1, text.as_bytes().to_vec())),
        ..Response::default()
    };
    Exchange {
        request: request(&[("Content-Type", kind)], "/", Some(text.as_bytes().to_vec())),
        response: Some(response),
        ..Exchange::default()
    }
}

fn compressed(coding: &'static str, text: &str) -> Exchange<'static> {
    let text = text.as_bytes();
    let body = match coding {
        "gzip" => gzip(text),
        "deflate" => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory takes it")
        }
        _ => {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory takes it")
        }
    };
    let coding = if coding == "raw" { "deflate" } else { coding };
    let headers = vec![Header::new("Content-Type", "application/json"), Header::new("Content-Encoding", coding)];
    let response = Response { headers: headers.clone(), body: Some(Body::new(1, body.clone())), ..Response::default() };
    Exchange {
        request: Request { headers, ..request(&[], "/", Some(body)) },
        response: Some(response),
        ..Exchange::default()
    }
}

/// A conversation in which each side says it twice, compressed or not: the second time refers to the first one.
fn said(text: &str, is_compressed: bool) -> Exchange<'static> {
    let mut frames = Vec::new();
    for direction in [Direction::Sent, Direction::Received] {
        let mut compress = Compress::new(Compression::best(), false);
        for at_us in 0..2 {
            let mut payload = Vec::with_capacity(text.len() + 64);
            if is_compressed {
                compress.compress_vec(text.as_bytes(), &mut payload, FlushCompress::Sync).expect("there is room");
                payload.truncate(payload.len() - 4);
            } else {
                payload.extend_from_slice(text.as_bytes());
            }
            let reserved = if is_compressed { 4 } else { 0 };
            frames.push(WsFrame { reserved, ..WsFrame::new(at_us, direction, Opcode::TEXT, payload) });
        }
    }
    Exchange { request: request(&[], "/ws", None), frames: Some(frames), ..Exchange::default() }
}

/// The places in which anything may be.
fn places_of(secret: &str) -> Vec<Exchange<'static>> {
    let json = format!("{{\"text\": \"it is {secret} and more\", \"n\": 1}}");
    let escaped = secret.replace(':', "%3A").replace(' ', "%20");
    vec![
        Exchange { request: request(&[("X-Other", secret)], "/", None), ..Exchange::default() },
        Exchange { request: request(&[], &format!("/a?x=1&q={escaped}"), None), ..Exchange::default() },
        typed("application/x-www-form-urlencoded", &format!("a=b&q={secret}")),
        typed("application/json", &json),
        typed("application/xml", &format!("<?xml version=\"1.0\"?><a><b>{secret}</b></a>")),
        typed("application/yaml", &format!("a: b\nq: \"{secret}\"\n")),
        typed("application/octet-stream", &format!("said {secret}\n")),
        compressed("gzip", &json),
        compressed("deflate", &json),
        compressed("raw", &json),
        said(&json, false),
        said(&json, true),
    ]
}

/// The places in which the value of a name may be.
fn places_of_name(name: &str, secret: &str) -> Vec<Exchange<'static>> {
    let json = format!("{{\"a\": {{\"{name}\": \"{secret}\"}}}}");
    let part = format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{secret}\r\n--b--\r\n");
    let mut places = vec![
        Exchange { request: request(&[], &format!("/a?x=1&{name}={secret}"), None), ..Exchange::default() },
        typed("application/x-www-form-urlencoded", &format!("a=b&{name}={secret}")),
        typed("application/json", &json),
        typed("text/event-stream", &format!("data: {json}\n\n")),
        typed("application/xml", &format!("<a><x:{name} b='c'>{secret}</x:{name}></a>")),
        typed("text/xml", &format!("<a {name}=\"{secret}\"/>")),
        typed("application/yaml", &format!("a:\n  {name}: {secret} # comment\n")),
        typed("text/plain", &format!("a: b\n{name}: {secret}\n")),
        compressed("gzip", &json),
        said(&json, true),
    ];
    if name != "token" {
        places.push(typed("multipart/form-data; boundary=b", &part));
    }
    places
}

fn files_with(folder: &Path, secret: &str) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let has = |path: &Path| {
        let bytes = std::fs::read(path).unwrap();
        memchr::memmem::find(&bytes, secret.as_bytes()).is_some()
    };
    files.filter(|path| has(path)).map(|path| path.display().to_string()).collect()
}

/// The part of a secret that nothing else has.
fn core(secret: &str) -> &str {
    let longest = secret.split(|c: char| !c.is_ascii_alphanumeric()).max_by_key(|part| part.len()).unwrap_or(secret);
    &longest[longest.len().saturating_sub(14)..]
}

/// Whether a secret is anywhere in an exchange, with all that is compressed in it undone.
fn shows(exchange: &Exchange<'_>, core: &str) -> bool {
    let has = |bytes: &[u8]| memchr::memmem::find(bytes, core.as_bytes()).is_some();
    let mut reader = cassette::redact::MessageReader::new();
    let frames = exchange.frames.iter().flatten();
    let messages: Vec<_> =
        frames.map(|frame| reader.read(std::slice::from_ref(frame)).expect("it can be read").into_owned()).collect();
    let request = exchange.request.decoded_body();
    let response = exchange.response.as_ref().and_then(Response::decoded_body);
    format!("{exchange:?}").contains(core)
        || messages.iter().any(|message| has(message))
        || request.into_iter().chain(response).any(|body| has(body.bytes()))
}

/// Records an exchange as a proxy does, in pieces.
fn tell(recorder: &Recorder, exchange: &Exchange<'_>) {
    let head = Request { body: exchange.request.body.as_ref().map(|_| Body::default()), ..exchange.request.head() };
    let call = recorder.begin(0, &head).unwrap();
    exchange.request.body_bytes().chunks(11).for_each(|piece| call.request_chunk(1, piece).unwrap());
    if let Some(response) = &exchange.response {
        call.response(&Response { body: Some(Body::default()), ..response.head() }).unwrap();
        response.body_bytes().chunks(13).for_each(|piece| call.response_chunk(2, piece).unwrap());
    }
    if exchange.frames.is_some() {
        call.open_websocket().unwrap();
        exchange.frames.iter().flatten().for_each(|frame| call.frame(frame).unwrap());
    }
    call.end(ExchangeEnd::default()).unwrap();
}

#[test]
fn two_hundred_planted_secrets_reach_no_disk() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let recorder = Recorder::open(&path, RecorderOptions::default()).unwrap();
    let mut planted = Vec::new();
    let (forms, mut kinds) = (by_form(1).len(), NAMES.len());
    kinds += forms;
    assert!(kinds >= 40, "{kinds}");
    let mut plant = |what: String, secret: &str, exchange: Exchange<'static>| {
        let core = core(secret).to_owned();
        assert!(shows(&exchange, &core), "{what}");
        tell(&recorder, &exchange);
        recorder.record(exchange).unwrap();
        planted.push((what, core));
    };
    for (kind, at) in (0..forms).map(|kind| (kind, 0..places_of("x").len())) {
        for place in at {
            let (name, secret) = by_form(1 + (kind * 100 + place) as u64).swap_remove(kind);
            plant(format!("{name} in place {place}"), &secret, places_of(&secret).swap_remove(place));
        }
    }
    for (kind, name) in NAMES.iter().enumerate() {
        for place in 0..places_of_name(name, "x").len() {
            let secret = format!("a1{}", word(9_000 + (kind * 100 + place) as u64, 22, ANY));
            plant(format!("{name} in place {place}"), &secret, places_of_name(name, &secret).swap_remove(place));
        }
    }
    assert!(planted.len() >= 200, "{}", planted.len());
    let around = path.parent().unwrap();
    recorder.sync(journal::Durability::Os).unwrap();
    let leaks = |planted: &[(String, String)]| {
        let leak = |(what, core): &(String, String)| format!("{what}: {:?}", files_with(around, core));
        planted.iter().map(leak).filter(|leak| !leak.ends_with("[]")).collect::<Vec<_>>()
    };
    assert_eq!(leaks(&planted), [] as [String; 0], "while it is recorded");
    assert!(recorder.findings().replaced >= 2 * planted.len() as u64);
    recorder.finish().unwrap();
    let cassette = Cassette::open(&path).unwrap();
    let exchanges: Vec<_> = cassette.exchanges().map(Result::unwrap).collect();
    assert_eq!(leaks(&planted), [] as [String; 0], "when it is sealed");
    for ((what, core), both) in planted.iter().zip(exchanges.chunks(2)) {
        for exchange in both {
            assert!(!shows(exchange, core), "{what}: {exchange:#?}");
        }
    }
}
