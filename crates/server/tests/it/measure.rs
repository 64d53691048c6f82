//! How fast answers come from a tape, and go to one. Run with `--release --ignored measure`; times are those of a machine at rest.

use crate::fixture::{Client, Mode, Rude, Trip, client_of};
use server::{Proxy, Resolve};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

const PATHS: usize = 500;

fn request(number: usize) -> Vec<u8> {
    let body = format!(r#"{{"request": {number}, "data": "test data"}}"#);
    format!(
        "POST http://api.example.com/resource/{number} HTTP/1.1\r\nHost: api.example.com\r\nUser-Agent: raw\r\nAccept: */*\r\nContent-Type: application/json\r\nAuthorization: Bearer token-{number}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Asks for each path once; gives requests in a second.
fn round(client: &mut Client<TcpStream>, requests: &[Vec<u8>], rounds: usize) -> f64 {
    let begun = Instant::now();
    for request in requests.iter().cycle().take(requests.len() * rounds) {
        client.send(request);
        let answer = client.answer("GET");
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    (requests.len() * rounds) as f64 / begun.elapsed().as_secs_f64()
}

fn together(address: SocketAddr, connections: usize, requests: &[Vec<u8>], rounds: usize) -> f64 {
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..connections {
            scope.spawn(|| round(&mut client_of(address), requests, rounds));
        }
    });
    (requests.len() * rounds * connections) as f64 / begun.elapsed().as_secs_f64()
}

#[test]
#[ignore = "measures"]
fn measure() {
    let requests: Vec<_> = (0..PATHS).map(request).collect();
    let body = r#"{"response": 1, "result": [1,2,3,4,5], "message": "success"}"#;
    let answer: &'static [u8] =
        format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len())
            .leak()
            .as_bytes();
    let server = Rude::with(move |stream| {
        let mut client = Client { stream, buffer: Vec::new() };
        while let Some(head) = client.head() {
            let text = String::from_utf8(head).unwrap();
            let length: usize = text.split("Content-Length: ").nth(1).unwrap().lines().next().unwrap().parse().unwrap();
            while client.buffer.len() < length {
                client.fill();
            }
            client.buffer.drain(..length);
            client.stream.write_all(answer).unwrap();
        }
    });
    let trip = Trip::new();
    let to = Resolve { host: "api.example.com".to_owned(), port: None, to: server.address };
    let direct = round(&mut client_of(server.address), &requests, 20);
    crate::fixture::say(format_args!("the client and a server of its kind: {direct:.0} requests a second"));
    let proxy = Proxy::start(trip.options(Mode::All).resolve(to)).unwrap();
    let recorded = round(&mut client_of(proxy.address()), &requests, 4);
    crate::fixture::say(format_args!("recorded, one connection: {recorded:.0}"));
    proxy.stop().unwrap();
    let options = trip.options(Mode::None).repeats(cassette::matching::Repeats::Last);
    let proxy = Proxy::start(options).unwrap();
    for _ in 0..3 {
        crate::fixture::say(format_args!(
            "replayed, one connection: {:.0}",
            round(&mut client_of(proxy.address()), &requests, 40)
        ));
    }
    crate::fixture::say(format_args!("replayed, four connections: {:.0}", together(proxy.address(), 4, &requests, 20)));
    let mut secure = client_of(proxy.address()).secure(&proxy, "api.example.com");
    let inside: Vec<_> = requests
        .iter()
        .map(|one| String::from_utf8(one.clone()).unwrap().replace("http://api.example.com", ""))
        .collect();
    secure.send(&inside[0]);
    crate::fixture::say(format_args!("over TLS, which is not on the tape: {}", secure.answer("GET").status));
}
