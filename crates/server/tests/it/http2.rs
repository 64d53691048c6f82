//! HTTP/2, from the client and to the server.

use crate::fixture::{Trip, client, trusting};
use bytes::Bytes;
use cassette::{Cassette, HttpVersion};
use origin::{Origin, Protocols};
use server::Proxy;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Status, headers, body and trailers.
type Answer = (u16, http::HeaderMap, Vec<u8>, Option<http::HeaderMap>);

/// Asks all of these at once on one connection; gives status, version, body and trailers of each.
fn ask(proxy: &Proxy, requests: Vec<http::Request<Vec<u8>>>) -> Vec<Answer> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut tunnel = client(proxy);
    tunnel.connect(origin::NAME, 443);
    let config = trusting(proxy.authority().certificate(), &[b"h2"]);
    runtime.block_on(async {
        tunnel.stream.set_nonblocking(true).unwrap();
        let stream = TcpStream::from_std(tunnel.stream).unwrap();
        let name = rustls::pki_types::ServerName::try_from(origin::NAME).unwrap();
        let stream = TlsConnector::from(Arc::clone(&config)).connect(name, stream).await.unwrap();
        let (sender, connection) = h2::client::handshake(stream).await.unwrap();
        tokio::spawn(async move { drop(connection.await) });
        let mut asked = Vec::new();
        for request in requests {
            let (parts, body) = request.into_parts();
            let mut ready = sender.clone().ready().await.unwrap();
            let (answer, mut send) = ready.send_request(http::Request::from_parts(parts, ()), body.is_empty()).unwrap();
            if !body.is_empty() {
                send.send_data(Bytes::from(body), true).unwrap();
            }
            asked.push(answer);
        }
        // Each is read while the others are: they share a window.
        let reading: Vec<_> = asked.into_iter().map(|answer| tokio::spawn(read(answer))).collect();
        let mut answers = Vec::new();
        for answer in reading {
            answers.push(answer.await.unwrap());
        }
        answers
    })
}

async fn read(answer: h2::client::ResponseFuture) -> Answer {
    let (parts, mut stream) = answer.await.unwrap().into_parts();
    let mut body = Vec::new();
    while let Some(piece) = stream.data().await {
        let piece = piece.unwrap();
        stream.flow_control().release_capacity(piece.len()).unwrap();
        body.extend_from_slice(&piece);
    }
    let trailers = stream.trailers().await.unwrap();
    (parts.status.as_u16(), parts.headers, body, trailers)
}

fn get(target: &str) -> http::Request<Vec<u8>> {
    let uri = format!("https://{}{target}", origin::NAME);
    http::Request::get(uri).header("te", "trailers").body(Vec::new()).unwrap()
}

fn post(target: &str, body: Vec<u8>) -> http::Request<Vec<u8>> {
    http::Request::post(format!("https://{}{target}", origin::NAME))
        .header("cookie", "a=1")
        .header("cookie", "b=2")
        .body(body)
        .unwrap()
}

fn all(proxy: &Proxy) -> Vec<Answer> {
    ask(
        proxy,
        vec![
            get("/json"),
            get("/trailers"),
            post("/upload", vec![1; 40_000]),
            get("/status/204"),
            get("/bytes/3000000"),
            get("/sse?n=3&gap=1"),
        ],
    )
}

#[test]
fn http2_goes_through_and_comes_back() {
    for protocols in [Protocols::Both, Protocols::Http1] {
        let mut trip = Trip::to(Origin::with(protocols));
        let (recorded, replayed, report) = trip.twice(all);
        assert_eq!(recorded.iter().map(|answer| answer.0).collect::<Vec<_>>(), [200, 200, 200, 204, 200, 200]);
        assert_eq!(recorded[4].2.len(), 3_000_000);
        assert_eq!(recorded[1].3.as_ref().unwrap()["x-sum"], "3", "{protocols:?}");
        assert_eq!(recorded, replayed, "{protocols:?}");
        assert_eq!((report.replayed, report.connections), (6, 1));
        let cassette = Cassette::open(trip.cassette()).unwrap();
        let exchange = cassette.exchange(0).unwrap();
        let answered = if protocols == Protocols::Both { HttpVersion::Http2 } else { HttpVersion::Http11 };
        assert_eq!((exchange.request.version, exchange.response.unwrap().version), (HttpVersion::Http2, answered));
        assert!(exchange.request.headers[0].is("host"));
    }
}

#[test]
fn http2_asks_what_http1_asked() {
    let mut trip = Trip::new();
    let proxy = trip.record();
    let recorded = client(&proxy).secure(&proxy, origin::NAME).ask_inside("GET", "/json", "", b"");
    proxy.stop().unwrap();
    let proxy = trip.replay();
    let replayed = ask(&proxy, vec![get("/json")]).remove(0);
    assert_eq!((replayed.0, replayed.2), (200, recorded.body));
}

#[test]
fn a_stream_that_broke_off_is_reset() {
    let mut trip = Trip::new();
    let broken = |proxy: &Proxy| {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ask(proxy, vec![get("/early?after=20")]))).is_err()
    };
    let (recorded, replayed, _) = trip.twice(broken);
    assert!(recorded && replayed);
}

/// An exporter of telemetry over gRPC reads the status behind the body.
#[test]
fn telemetry_over_grpc_is_taken() {
    let mut trip = Trip::with_json();
    let proxy = trip.replay();
    let uri = format!("https://{}/opentelemetry.proto.collector.trace.v1.TraceService/Export", origin::NAME);
    let request = http::Request::post(uri).header("content-type", "application/grpc").body(vec![0; 5]).unwrap();
    let (status, headers, body, trailers) = ask(&proxy, vec![request]).remove(0);
    assert_eq!((status, body), (200, vec![0; 5]));
    assert_eq!(headers["content-type"], "application/grpc");
    assert_eq!(trailers.unwrap()["grpc-status"], "0");
    let report = proxy.stop().unwrap();
    assert_eq!((report.missed, report.telemetry.get("OpenTelemetry")), (0, Some(&1)));
}
