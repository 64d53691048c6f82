//! The control socket.

use crate::fixture::{Mode, Trip, client, client_of};
use cassette::Cassette;
use serde_json::{Value, json};
use server::{ControlOptions, Proxy};
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
fn a_running_proxy_uses_another_cassette() {
    let trip = Trip::new();
    let cassettes = trip.folder.path("cassettes");
    std::fs::create_dir(&cassettes).unwrap();
    let control = ControlOptions { socket: Some(trip.folder.path("control.sock")), cassettes: Some(cassettes.clone()) };
    let proxy = Proxy::start(trip.options(Mode::All).control(control)).unwrap();
    let path = proxy.control().unwrap().to_owned();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let mut client = client(&proxy);
    client.get("/json");
    assert_eq!(command(&proxy, &json!({"command": "status"}))["recorded"], 1);
    let switched = command(&proxy, &json!({"command": "use", "cassette": "b.cassette", "mode": "record"}));
    assert_eq!((&switched["ok"], &switched["mode"]), (&json!(true), &json!("all")), "{switched}");
    // The cassette before is sealed, and the connection goes on.
    assert_eq!(Cassette::open(trip.cassette()).unwrap().len(), 1);
    client.get("/bytes/10");
    // The cassette is used again: what was recorded is on it, and a request that comes meanwhile waits.
    let asking = std::thread::spawn({
        let address = proxy.address();
        move || (11..31).all(|bytes| client_of(address).get(&format!("/bytes/{bytes}")).status == 200)
    });
    let again = command(&proxy, &json!({"command": "use", "cassette": "./b.cassette", "mode": "new_episodes"}));
    assert_eq!((&again["ok"], &again["mode"]), (&json!(true), &json!("new")), "{again}");
    assert!(asking.join().unwrap());
    let replaying = command(&proxy, &json!({"command": "use", "cassette": "b.cassette", "mode": "replay"}));
    assert_eq!(replaying["ok"], true, "{replaying}");
    assert_eq!(client.get("/bytes/10").body.len(), 10);
    assert_eq!(client.get("/json").status, 599);
    std::fs::write(cassettes.join("notes.txt"), "of mine").unwrap();
    for wrong in [
        json!({"command": "use", "cassette": "notes.txt", "mode": "record"}),
        json!({"command": "use", "cassette": "../b.cassette", "mode": "record"}),
        json!({"command": "use", "cassette": "c.cassette", "mode": "replay"}),
        json!({"command": "use", "cassette": "c.cassette", "mode": "sing"}),
        json!({"command": "sing"}),
        json!(3),
    ] {
        let answer = command(&proxy, &wrong);
        assert!(answer["ok"] == false && answer["error"].is_string(), "{answer}");
    }
    assert_eq!(std::fs::read_to_string(cassettes.join("notes.txt")).unwrap(), "of mine");
    assert_eq!(proxy.cassette(), Some(std::fs::canonicalize(cassettes.join("b.cassette")).unwrap()));
    assert_eq!(command(&proxy, &json!({"command": "stop"}))["ok"], true);
    proxy.wait();
    proxy.stop().unwrap();
    assert!(!path.exists());
    assert_eq!(Cassette::open(cassettes.join("b.cassette")).unwrap().len(), 21);
}

#[test]
fn a_socket_takes_no_file_away() {
    let trip = Trip::new();
    let notes = trip.folder.path("notes.txt");
    std::fs::write(&notes, "of mine").unwrap();
    let control = ControlOptions { socket: Some(notes.clone()), cassettes: None };
    let error = Proxy::start(trip.options(Mode::All).control(control)).unwrap_err().to_string();
    assert!(error.contains("notes.txt") && error.contains("something else lies there"), "{error}");
    assert_eq!(std::fs::read_to_string(notes).unwrap(), "of mine");
}
