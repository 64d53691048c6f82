//! The origin answers as its table of routes says, over bare sockets: its clients are the tests of others.

use origin::Origin;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// What came until the connection ended, and whether it ended in order.
fn ask(origin: &Origin, request: &str) -> (String, bool) {
    let mut stream = TcpStream::connect(origin.plain()).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a time can be set");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut bytes = Vec::new();
    let ended = stream.read_to_end(&mut bytes).is_ok();
    (String::from_utf8_lossy(&bytes).into_owned(), ended)
}

fn get(origin: &Origin, target: &str) -> (String, bool) {
    ask(origin, &format!("GET {target} HTTP/1.1\r\nHost: pond\r\nTE: trailers\r\nConnection: close\r\n\r\n"))
}

#[test]
fn each_route_answers() {
    let origin = Origin::start();
    for (target, part) in [
        ("/json", "{\"frog\":\"Sam\",\"green\":true}"),
        ("/count", "\r\n\r\n1"),
        ("/count", "\r\n\r\n2"),
        ("/bytes/3", "content-length: 3\r\n"),
        ("/bytes/3?length=no", "transfer-encoding: chunked"),
        ("/encoded/br", "content-encoding: br"),
        ("/twice", "x-twice: two"),
        ("/trailers", "x-sum: 3"),
        ("/sse?n=2&gap=1", "data: 1\n\n"),
        ("/refuse", "HTTP/1.1 417"),
        ("/status/204", "HTTP/1.1 204"),
        ("/redirect?to=/pond", "location: /pond"),
        ("/nothing", "HTTP/1.1 404"),
    ] {
        let (answer, in_order) = get(&origin, target);
        assert!(in_order && answer.contains(part), "{target}: {answer}");
    }
    assert_eq!(origin.requests()[0], "GET /json");
}

#[test]
fn bodies_break_off_with_a_reset_or_an_end() {
    let origin = Origin::start();
    let (early, in_order) = get(&origin, "/early?after=5");
    assert!(in_order && early.contains("content-length: 1000") && early.len() < 500, "{early}");
    let (_, in_order) = get(&origin, "/reset");
    assert!(!in_order, "a reset is an error of the reader");
}

#[test]
fn bodies_come_back() {
    let origin = Origin::start();
    let head = "POST /upload HTTP/1.1\r\nHost: pond\r\nConnection: close\r\nContent-Length: 3\r\n\r\n";
    assert!(ask(&origin, &format!("{head}abc")).0.contains(r#"{"bytes":3,"sum":294}"#));
    let mirror = head.replace("upload", "mirror?piece=2&length=no").replace("Host", "Content-Encoding: frog\r\nHost");
    let mirrored = ask(&origin, &format!("{mirror}abc")).0;
    assert!(mirrored.contains("content-encoding: frog\r\n") && !mirrored.contains("content-type"), "{mirrored}");
    assert!(mirrored.ends_with("\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"), "{mirrored}");
    let said = ask(&origin, &format!("{}abc", head.replace("upload", "v1/chat/completions"))).0;
    assert!(said.contains("A frog croaks, and eats flies."), "{said}");
}

#[test]
fn a_stopped_origin_frees_its_ports() {
    let origin = Origin::start();
    let address = origin.plain();
    origin.stop();
    assert!(std::net::TcpListener::bind(address).is_ok());
}
