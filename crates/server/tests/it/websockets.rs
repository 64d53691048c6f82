//! WebSockets, spoken by a library on the client's side.

use crate::fixture::{Mode, Trip, client};
use cassette::{Cassette, Direction, Opcode, Outcome};
use server::{Latency, Proxy};
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tokio_tungstenite::tungstenite::protocol::WebSocket;
use tokio_tungstenite::tungstenite::{Message, client as handshake};

fn open(proxy: &Proxy, path: &str) -> WebSocket<TcpStream> {
    let mut client = client(proxy);
    client.connect(origin::NAME, 80);
    let (socket, response) = handshake(format!("ws://{}{path}", origin::NAME), client.stream).unwrap();
    assert_eq!(response.status(), 101);
    socket
}

/// Everything that comes until the conversation ends.
fn listen(socket: &mut WebSocket<TcpStream>) -> Vec<Message> {
    std::iter::from_fn(|| socket.read().ok()).filter(|message| !matches!(message, Message::Close(_))).collect()
}

fn echo(proxy: &Proxy) -> Vec<Message> {
    let mut socket = open(proxy, "/ws");
    let mut heard = Vec::new();
    for message in [Message::text("croak"), Message::binary(vec![7; 70_000]), Message::text("")] {
        socket.send(message).unwrap();
        heard.push(socket.read().unwrap());
    }
    socket.close(None).unwrap();
    listen(&mut socket);
    heard
}

/// A proxy that answers as the server did that sent everything back.
fn echo_replayed() -> (Trip, Proxy) {
    let mut trip = Trip::new();
    let proxy = trip.record();
    echo(&proxy);
    proxy.stop().unwrap();
    let proxy = trip.replay();
    (trip, proxy)
}

#[test]
fn ws_send_reaches_server() {
    let mut trip = Trip::new();
    let (recorded, replayed, report) = trip.twice(echo);
    assert_eq!(recorded[0], Message::text("croak"));
    assert_eq!(recorded, replayed);
    assert_eq!((report.replayed, report.websocket_differences), (1, 0), "{:?}", report.warnings);
    let cassette = Cassette::open(trip.cassette()).unwrap();
    let exchange = cassette.exchange(0).unwrap();
    assert_eq!(exchange.outcome, Outcome::Complete);
    let frames = exchange.frames.unwrap();
    assert_eq!(frames.iter().filter(|frame| frame.opcode == Opcode::CLOSE).count(), 2);
    assert_eq!(frames.iter().filter(|frame| frame.direction == Direction::Sent).count(), 4);
}

#[test]
fn ws_time_is_relative() {
    let mut trip = Trip::new();
    let proxy = trip.record();
    let recorded = listen(&mut open(&proxy, "/ws/ticker?n=4&gap=60"));
    proxy.stop().unwrap();
    assert_eq!(recorded.len(), 4);
    let cassette = Cassette::open(trip.cassette()).unwrap();
    let exchange = cassette.exchange(0).unwrap();
    let times: Vec<_> = exchange.frames.unwrap().iter().map(|frame| frame.at_us).collect();
    assert!(times[3] >= 180_000 && times[3] < 10_000_000, "{times:?}");

    drop(trip.origin.take());
    let proxy = Proxy::start(trip.options(Mode::None).latency(Latency::Recorded)).unwrap();
    let begun = Instant::now();
    assert_eq!(listen(&mut open(&proxy, "/ws/ticker?n=4&gap=60")), recorded);
    assert!(begun.elapsed() >= Duration::from_millis(180));
}

#[test]
fn ws_two_connections_interleave() {
    let mut trip = Trip::new();
    let (recorded, replayed, report) = trip.twice(|proxy| {
        let (mut one, mut other) = (open(proxy, "/ws?one"), open(proxy, "/ws?other"));
        let mut heard = Vec::new();
        for round in 0..3 {
            one.send(Message::text(format!("one {round}"))).unwrap();
            other.send(Message::text(format!("other {round}"))).unwrap();
            heard.push((one.read().unwrap(), other.read().unwrap()));
        }
        for socket in [&mut one, &mut other] {
            socket.close(None).unwrap();
            listen(socket);
        }
        heard
    });
    assert_eq!(recorded, replayed);
    assert_eq!(report.websocket_differences, 0, "{:?}", report.warnings);
}

#[test]
fn ws_abort_keeps_messages() {
    let mut trip = Trip::new();
    let (recorded, replayed, _) = trip.twice(|proxy| listen(&mut open(proxy, "/ws/abort")));
    assert_eq!(recorded, [Message::text("last words")]);
    assert_eq!(recorded, replayed);
    let cassette = Cassette::open(trip.cassette()).unwrap();
    assert!(matches!(cassette.exchange(0).unwrap().outcome, Outcome::Aborted(_)));
}

#[test]
fn another_message_is_reported() {
    let mut trip = Trip::new();
    let talk = |proxy: &Proxy, said: &str| {
        let mut socket = open(proxy, "/ws");
        socket.send(Message::text(said.to_owned())).unwrap();
        let heard = socket.read().unwrap();
        socket.close(None).unwrap();
        listen(&mut socket);
        heard
    };
    let proxy = trip.record();
    talk(&proxy, "croak");
    proxy.stop().unwrap();
    let proxy = trip.replay();
    assert_eq!(talk(&proxy, "ribbit"), Message::text("croak"));
    let report = proxy.stop().unwrap();
    assert_eq!(report.websocket_differences, 1);
    assert!(report.warnings[0].contains("recorded \"croak\", now \"ribbit\""), "{:?}", report.warnings);
    assert!(report.differs());
}

#[test]
fn pings_of_now_are_answered() {
    let (_trip, proxy) = echo_replayed();
    let mut socket = open(&proxy, "/ws");
    socket.send(Message::Ping("are you there".into())).unwrap();
    assert_eq!(socket.read().unwrap(), Message::Pong("are you there".into()));
    socket.send(Message::text("croak")).unwrap();
    assert_eq!(socket.read().unwrap(), Message::text("croak"));
}

/// A message in pieces, none of which is the last.
#[test]
fn a_message_without_an_end_does_not_fill_the_memory() {
    let (_trip, proxy) = echo_replayed();
    let mut socket = open(&proxy, "/ws");
    let stream = socket.get_mut();
    let payload = vec![0; 1 << 20];
    let frame = |opcode: u8| [&[opcode, 0xff][..], &(payload.len() as u64).to_be_bytes(), &[0; 4], &payload].concat();
    let (first, next) = (frame(1), frame(0));
    let sent = (0..1_000).take_while(|at| stream.write_all(if *at == 0 { &first } else { &next }).is_ok()).count();
    assert!(sent < 200, "{sent} MiB of a message were taken");
    assert_eq!(proxy.stop().unwrap().websocket_differences, 2);
}
