//! WebSockets whose messages are compressed, spoken by hand on both sides.

use crate::fixture::{Client, Mode, Rude, Trip, client};
use cassette::matching::{BodyRule, JsonPath, MatchRules};
use cassette::redact::MessageReader;
use cassette::{Cassette, Direction, Opcode, WsFrame};
use flate2::{Compress, Compression, FlushCompress};
use server::{Proxy, ProxyOptions, Resolve};
use std::net::TcpStream;

/// It has a form that is known, and is nobody's.
const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

/// One side of a conversation.
struct Side {
    client: Client<TcpStream>,
    compress: Option<Compress>,
    reader: MessageReader,
    is_masked: bool,
}

impl Side {
    fn new(client: Client<TcpStream>, level: Option<Compression>, is_masked: bool) -> Self {
        let compress = level.map(|level| Compress::new(level, false));
        Self { client, compress, reader: MessageReader::new(), is_masked }
    }

    fn say(&mut self, text: &str) {
        let (first, payload) = match &mut self.compress {
            None => (0x81, text.as_bytes().to_vec()),
            Some(compress) => {
                let mut payload = Vec::with_capacity(text.len() + 64);
                compress.compress_vec(text.as_bytes(), &mut payload, FlushCompress::Sync).unwrap();
                payload.truncate(payload.len() - 4);
                (0xc1, payload)
            }
        };
        let mask = if self.is_masked { 0x80 } else { 0 };
        let length = (payload.len() as u16).to_be_bytes();
        let mut frame = vec![first, mask | 126, length[0], length[1]];
        // A mask of zeros changes nothing.
        frame.extend([0_u8; 4].iter().filter(|_| self.is_masked));
        frame.extend(payload);
        self.client.send(frame);
    }

    /// The next message, and whether it was compressed; nothing at the end.
    fn hear(&mut self) -> Option<(String, bool)> {
        let need = |count: usize, client: &mut Client<TcpStream>| {
            while client.buffer.len() < count {
                if !client.fill() {
                    return None;
                }
            }
            Some(client.buffer.drain(..count).collect::<Vec<u8>>())
        };
        let head = need(2, &mut self.client)?;
        let length = match head[1] & 0x7f {
            126 => u16::from_be_bytes(need(2, &mut self.client)?.try_into().unwrap()).into(),
            length => usize::from(length),
        };
        if head[1] & 0x80 != 0 {
            need(4, &mut self.client)?;
        }
        let payload = need(length, &mut self.client)?;
        let opcode = Opcode::new(head[0] & 15)?;
        if opcode == Opcode::CLOSE {
            return None;
        }
        let frame = WsFrame { reserved: head[0] >> 4 & 7, ..WsFrame::new(0, Direction::Received, opcode, payload) };
        let said = self.reader.read(std::slice::from_ref(&frame)).expect("it can be read");
        Some((String::from_utf8(said.into_owned()).unwrap(), frame.reserved == 4))
    }
}

/// A server that answers each message with what it heard, and with a secret beside it.
fn server() -> Rude {
    Rude::with(|stream: TcpStream| {
        let mut client = Client { stream, buffer: Vec::new() };
        if client.head().is_none() {
            return;
        }
        client.send(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: x\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
        );
        let mut side = Side::new(client, Some(Compression::best()), false);
        while let Some((heard, _)) = side.hear() {
            side.say(&format!("{{\"heard\": {heard}, \"key\": \"{SECRET}\"}}"));
            side.say(&format!("{{\"again\": {heard}}}"));
        }
    })
}

/// Says some messages, and gives what came back of each, and whether all of it was compressed.
fn talk(proxy: &Proxy, level: Option<Compression>, said: &[&str]) -> (Vec<String>, bool) {
    let mut client = client(proxy);
    client.connect("rude.test", 80);
    let offer = if level.is_some() { "Sec-WebSocket-Extensions: permessage-deflate\r\n" } else { "" };
    client.send(format!(
        "GET /ws HTTP/1.1\r\nHost: rude.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{offer}\r\n"
    ));
    let head = String::from_utf8(client.head().unwrap()).unwrap();
    assert!(head.starts_with("HTTP/1.1 101") && head.contains("permessage-deflate") == level.is_some(), "{head}");
    let mut side = Side::new(client, level, true);
    let (mut heard, mut is_compressed) = (Vec::new(), true);
    for text in said {
        side.say(text);
        for _ in 0..2 {
            let (text, was_compressed) = side.hear().expect("it is answered");
            heard.push(text);
            is_compressed &= was_compressed;
        }
    }
    side.client.send([0x88, 0x80, 0, 0, 0, 0]);
    // Until the other end has heard it, it is not on the cassette.
    while side.hear().is_some() {}
    (heard, is_compressed)
}

/// A cassette of a conversation, and how a proxy is told where the server is.
fn recorded(said: &[&str]) -> (Trip, Resolve) {
    let server = server();
    let resolve = Resolve { host: "rude.test".to_owned(), port: None, to: server.address };
    let trip = Trip::new();
    let proxy = Proxy::start(trip.options(Mode::All).resolve(resolve.clone())).unwrap();
    let (heard, is_compressed) = talk(&proxy, Some(Compression::best()), said);
    assert!(is_compressed && heard[0].contains(SECRET));
    let report = proxy.stop().unwrap();
    assert_eq!(report.secrets.replaced, said.len() as u64, "{:?}", report.secrets);
    (trip, resolve)
}

fn replaying(trip: &Trip, more: impl Fn(ProxyOptions) -> ProxyOptions) -> Proxy {
    Proxy::start(more(trip.options(Mode::None))).unwrap()
}

const SAID: [&str; 2] = [r#"{"frog": "Sam", "n": 1}"#, r#"{"frog": "Sam", "n": 2}"#];

#[test]
fn compressed_messages_have_no_secret_on_the_cassette_and_replay() {
    let (trip, _) = recorded(&SAID);
    let bytes = std::fs::read(trip.cassette()).unwrap();
    assert!(memchr::memmem::find(&bytes, &SECRET.as_bytes()[4..]).is_none());
    let cassette = Cassette::open(trip.cassette()).unwrap();
    let exchange = cassette.exchange(0).unwrap();
    let mut reader = MessageReader::new();
    for frame in exchange.frames.iter().flatten().filter(|frame| frame.opcode == Opcode::TEXT) {
        let said = reader.read(std::slice::from_ref(frame)).expect("it can be read");
        assert!(memchr::memmem::find(&said, SECRET.as_bytes()).is_none());
    }
    let proxy = replaying(&trip, |options| options);
    // Another compressor, and another way to write the same JSON.
    let again = [r#"{"n": 1, "frog": "Sam"}"#, r#"{"n":2,"frog":"Sam"}"#];
    let (heard, _) = talk(&proxy, Some(Compression::none()), &again);
    assert_eq!(heard[0], format!("{{\"heard\": {}, \"key\": \"REDACTED\"}}", SAID[0]));
    assert_eq!(heard[3], format!("{{\"again\": {}}}", SAID[1]));
    let report = proxy.stop().unwrap();
    assert_eq!(report.websocket_differences, 0, "{:?}", report.warnings);
}

#[test]
fn a_client_that_takes_no_compression_gets_none() {
    let (trip, _) = recorded(&SAID);
    let proxy = replaying(&trip, |options| options);
    let (heard, is_compressed) = talk(&proxy, None, &SAID);
    assert_eq!((heard.len(), is_compressed), (4, false));
    assert_eq!(heard[1], format!("{{\"again\": {}}}", SAID[0]));
    let report = proxy.stop().unwrap();
    assert_eq!(report.websocket_differences, 0, "{:?}", report.warnings);
}

#[test]
fn a_compressed_message_that_differs_is_shown_in_words() {
    let (trip, _) = recorded(&SAID);
    let other = [SAID[0], r#"{"frog": "Fritz", "n": 2}"#];
    let proxy = replaying(&trip, |options| options);
    talk(&proxy, Some(Compression::fast()), &other);
    let report = proxy.stop().unwrap();
    assert_eq!(report.websocket_differences, 1, "{:?}", report.warnings);
    assert!(report.warnings[0].contains("message at frog: recorded \"Sam\", now \"Fritz\""), "{:?}", report.warnings);
    // What is left out of bodies is left out of messages.
    let rules =
        MatchRules { body: BodyRule::JsonWithout(vec![JsonPath::new("frog").unwrap()]), ..MatchRules::default() };
    let proxy = replaying(&trip, |options| options.rules(rules.clone()));
    talk(&proxy, Some(Compression::fast()), &other);
    let report = proxy.stop().unwrap();
    assert_eq!(report.websocket_differences, 0, "{:?}", report.warnings);
}
