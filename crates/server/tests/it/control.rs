//! The control socket.

use crate::fixture::{Mode, Trip, client};
use cassette::Tape;
use serde_json::{Value, json};
use server::{Control, Proxy};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

fn command(proxy: &Proxy, command: &Value) -> Value {
    let mut stream = UnixStream::connect(proxy.control().unwrap()).unwrap();
    stream.write_all(format!("{command}\n").as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

#[test]
fn a_running_proxy_uses_another_tape() {
    let trip = Trip::new();
    let tapes = trip.folder.path("tapes");
    std::fs::create_dir(&tapes).unwrap();
    let control = Control { socket: Some(trip.folder.path("control.sock")), tapes: Some(tapes.clone()) };
    let proxy = Proxy::start(trip.options(Mode::All).control(control)).unwrap();
    let path = proxy.control().unwrap().to_owned();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let mut client = client(&proxy);
    client.get("/json");
    assert_eq!(command(&proxy, &json!({"command": "status"}))["recorded"], 1);
    let switched = command(&proxy, &json!({"command": "use", "tape": "b.tape", "mode": "record"}));
    assert_eq!((&switched["ok"], &switched["mode"]), (&json!(true), &json!("all")), "{switched}");
    // The tape before is sealed, and the connection goes on.
    assert_eq!(Tape::open(trip.tape()).unwrap().len(), 1);
    client.get("/bytes/10");
    let replaying = command(&proxy, &json!({"command": "use", "tape": "b.tape", "mode": "replay"}));
    assert_eq!(replaying["ok"], true, "{replaying}");
    assert_eq!(client.get("/bytes/10").body.len(), 10);
    assert_eq!(client.get("/json").status, 599);
    for wrong in [
        json!({"command": "use", "tape": "../b.tape", "mode": "record"}),
        json!({"command": "use", "tape": "c.tape", "mode": "replay"}),
        json!({"command": "use", "tape": "c.tape", "mode": "sing"}),
        json!({"command": "sing"}),
        json!(3),
    ] {
        let answer = command(&proxy, &wrong);
        assert!(answer["ok"] == false && answer["error"].is_string(), "{answer}");
    }
    assert_eq!(command(&proxy, &json!({"command": "stop"}))["ok"], true);
    proxy.wait();
    proxy.stop().unwrap();
    assert!(!path.exists());
    assert_eq!(Tape::open(tapes.join("b.tape")).unwrap().len(), 1);
}
