//! Other ways in and out: IPv6, HTTP/1.0, HTTP/2 without TLS.

use crate::fixture::{Mode, Trip, client, client_of, trusting};
use cassette::{Cassette, HttpVersion};
use server::{Proxy, Resolve};
use std::net::{Ipv6Addr, SocketAddr};

#[test]
fn ipv6_is_spoken_to_the_proxy_and_named_by_clients() {
    let here = SocketAddr::from((Ipv6Addr::LOCALHOST, 0));
    if std::net::TcpListener::bind(here).is_err() {
        crate::fixture::say(format_args!("skipped: this system has no IPv6"));
        return;
    }
    let mut trip = Trip::new();
    let origin = trip.origin.as_ref().unwrap();
    let to = |port, to| Resolve { host: "::1".to_owned(), port: Some(port), to };
    let (plain, tls) = (to(80, origin.plain()), to(443, origin.tls()));
    let both = |mode| {
        let options = trip.options(mode).listen(here).resolve(plain.clone()).resolve(tls.clone());
        let proxy = Proxy::start(options).unwrap();
        assert!(proxy.address().is_ipv6());
        let mut client = client_of(proxy.address());
        client.send("GET http://[::1]/json HTTP/1.1\r\nHost: [::1]\r\n\r\n");
        let plain = client.answer("GET");
        client.send("CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n");
        assert_eq!(client.answer("CONNECT").status, 200);
        let name = rustls::pki_types::ServerName::try_from("::1").unwrap();
        let config = trusting(proxy.authority().certificate(), &[b"http/1.1"]);
        let connection = rustls::ClientConnection::new(config, name).unwrap();
        let stream = rustls::StreamOwned::new(connection, client.stream);
        let mut secure = crate::fixture::Client { stream, buffer: Vec::new() };
        secure.send("GET /json HTTP/1.1\r\nHost: [::1]\r\n\r\n");
        let secure = secure.answer("GET");
        proxy.stop().unwrap();
        [(plain.status, plain.text()), (secure.status, secure.text())]
    };
    let recorded = both(Mode::All);
    let replayed = both(Mode::None);
    assert_eq!(recorded[0].0, 200, "{}", recorded[0].1);
    assert_eq!(recorded, replayed);
    let cassette = Cassette::open(trip.cassette()).unwrap();
    assert_eq!(cassette.request(0).unwrap().line(), "GET http://[::1]/json");
    drop(trip.origin.take());
}

#[test]
fn http_1_0_gets_bodies_that_end_with_the_connection() {
    let mut trip = Trip::new();
    let (recorded, replayed, _) = trip.twice(|proxy| {
        let mut client = client(proxy);
        let ask =
            |target: &str, headers: &str| format!("GET http://{}{target} HTTP/1.0\r\n{headers}\r\n", origin::NAME);
        client.send(ask("/json", "Connection: keep-alive\r\n"));
        let kept = client.answer("GET");
        client.send(ask("/sse?n=2&gap=1", ""));
        (kept, client.answer("GET"))
    });
    assert_eq!(recorded.0.header("connection").as_deref(), Some("keep-alive"));
    assert_eq!((recorded.1.header("transfer-encoding"), recorded.1.text().lines().count()), (None, 4));
    assert_eq!(recorded, replayed);
}

#[test]
fn http2_needs_no_tls_within_a_tunnel() {
    let mut trip = Trip::new();
    let (recorded, replayed, _) = trip.twice(|proxy| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut tunnel = client(proxy);
        tunnel.connect(origin::NAME, 80);
        runtime.block_on(async {
            tunnel.stream.set_nonblocking(true).unwrap();
            let stream = tokio::net::TcpStream::from_std(tunnel.stream).unwrap();
            let (sender, connection) = h2::client::handshake(stream).await.unwrap();
            tokio::spawn(async move { drop(connection.await) });
            let request = http::Request::get(format!("http://{}/json", origin::NAME)).body(()).unwrap();
            let (answer, _) = sender.ready().await.unwrap().send_request(request, true).unwrap();
            let (parts, mut stream) = answer.await.unwrap().into_parts();
            let body = stream.data().await.unwrap().unwrap();
            (parts.status.as_u16(), body)
        })
    });
    assert_eq!(recorded.0, 200);
    assert_eq!(recorded, replayed);
    let cassette = Cassette::open(trip.cassette()).unwrap();
    assert_eq!(cassette.exchange(0).unwrap().response.unwrap().version, HttpVersion::Http2);
}
