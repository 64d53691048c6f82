//! Programs in a network of their own, and hosts that pass. Nothing here leaves the computer: a program that would is isolated, and is
//! not started if it cannot be.

use super::harness::{Stage, client, has, run, words};
use crate::harness::Ended;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

fn shell(script: &str) -> Vec<std::ffi::OsString> {
    words(&["sh", "-c", script])
}

/// A place with a cassette that has an exchange, if the system isolates programs.
fn stage(name: &str) -> Option<Stage> {
    if !has("curl", "--version") {
        return None;
    }
    let stage = Stage::new(name);
    let recorded = stage.record(&shell("curl -s 'https://api.metroon.test/json'"));
    assert_eq!(recorded.code, Some(0), "{}", recorded.err);
    let asked = stage.replay(&["--isolate"], &words(&["true"]));
    let message = asked.err.split("this system gives no network namespace").nth(1);
    match message {
        Some(_) => has("a system with network namespaces for users", "").then_some(stage),
        None => Some(stage),
    }
}

/// A server on the user's loopback, for as many connections as come.
fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is loopback");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut some = [0; 4096];
            if stream.read(&mut some).is_ok_and(|count| count > 0) {
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfrog";
                stream.write_all(answer).expect("the client listens");
            }
        }
    });
    address
}

#[test]
fn what_goes_past_the_proxy_is_refused_and_named() {
    let Some(stage) = stage("past") else { return };
    let script = "curl -s 'https://api.metroon.test/json'; curl -s --noproxy '*' -m 9 http://frog.invalid:8080/; \
                  curl -s --noproxy '*' -m 9 http://192.0.2.1/; curl -s --noproxy '*' -m 9 'http://[2001:db8::1]:81/'; true";
    let ended = stage.replay(&["--isolate"], &shell(script));
    assert_eq!((ended.code, ended.out.as_str()), (Some(4), r#"{"frog":"Sam","green":true}"#), "{}", ended.err);
    let said = "error: sh went past the proxy, to 192.0.2.1:80, [2001:db8::1]:81, frog.invalid:8080; it is isolated, so \
                nothing got there\nhelp: ";
    assert!(ended.err.starts_with(said), "{}", ended.err);
    assert!(ended.err.ends_with("metroon: answered 1 request from trip.cassette\n"), "{}", ended.err);
    // A recording is no replay that differs, and still not all that the program did.
    let mut recording = stage.recording(&["--isolate", "--mode=all", "--", "sh", "-c"]);
    let ended = run(recording.arg(script));
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), r#"{"frog":"Sam","green":true}"#), "{}", ended.err);
    assert!(ended.err.starts_with("error: sh went past the proxy, to 192.0.2.1:80"), "{}", ended.err);
    assert!(ended.err.ends_with("metroon: recorded 1 exchange in trip.cassette\n"), "{}", ended.err);
}

#[test]
fn datagrams_and_names_go_nowhere() {
    let Some(stage) = stage("datagrams") else { return };
    if !has("python3", "--version") {
        return;
    }
    let script = "import socket\n\
                  print(socket.gethostbyname('frog.invalid').startswith('198.18.'))\n\
                  socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 443))\n";
    let ended = stage.replay(&["--isolate"], &words(&["python3", "-I", "-c", script]));
    assert_eq!((ended.code, ended.out.as_str()), (Some(4), "True\n"), "{}", ended.err);
    assert!(ended.err.starts_with("error: python3 went past the proxy, to udp 192.0.2.1:443;"), "{}", ended.err);
}

/// A conversation goes on as it was recorded in a network in which there is nothing but the proxy, over TLS and with the server gone; what was
/// not recorded gets no further.
#[test]
fn a_websocket_is_answered_in_a_sealed_network() {
    if stage("websocket-sealed").is_none() || !has("python3", "--version") {
        return;
    }
    let mut stage = Stage::new("websocket-sealed");
    let program = |texts: &[&str]| {
        let mut program = words(&["python3", "-B"]);
        program.push(client("with_socket.py").into_os_string());
        program.extend(words(texts));
        program
    };
    let recorded = stage.record(&program(&["croak", "croak, croak"]));
    assert_eq!(recorded.code, Some(0), "{}", recorded.err);
    let expected = "line status 101\nline answer 1 b'croak'\nline answer 1 b'croak, croak'\nline close 8\n";
    assert_eq!(recorded.out, expected, "{}", recorded.err);
    stage.stop_origin();
    let ended = stage.replay(&["--isolate=on"], &program(&["croak", "croak, croak"]));
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), expected), "{}", ended.err);
    assert_eq!(ended.err, "metroon: answered 1 request from trip.cassette\n");
    // Something else is said: the conversation ends, the replay names it, and the network is not asked.
    let ended = stage.replay(&["--isolate=on"], &program(&["croak", "quack"]));
    assert_eq!(ended.code, Some(4), "{}{}", ended.out, ended.err);
    assert!(ended.out.starts_with("line status 101\nline answer 1 b'croak'\n"), "{}", ended.out);
    assert!(!ended.out.contains("quack") && ended.err.contains("quack"), "{}{}", ended.out, ended.err);
    // As in another form, that of other programs as well.
    for form in ["trip.json.gz", "trip.har"] {
        let convert = ["cassette", "convert", "trip.cassette", form];
        let said = run(&mut stage.metroon(&convert));
        assert!(said.code == Some(0) && said.out.contains("1 exchange, 4 messages of 1 WebSocket"), "{}", said.out);
        let mut replay = stage.metroon(&["replay", form, "--isolate=on", "--"]);
        let ended = run(replay.args(program(&["croak", "croak, croak"])));
        assert_eq!((ended.code, ended.out.as_str()), (Some(0), expected), "{form}: {}", ended.err);
    }
}

/// A program's own server, asked by itself, by way of `NO_PROXY`, and by way of the proxy.
const OWN_SERVER: &str = r"
import http.server, os, socket, threading, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Length', '4')
        self.end_headers()
        self.wfile.write(b'frog')
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f'http://127.0.0.1:{server.server_port}/'
print(urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url).read())
if os.environ['NO_PROXY']:
    print(urllib.request.urlopen(url).read())
    host, port = os.environ['METROON_PROXY'].rsplit(':', 1)
    proxy = socket.create_connection((host, int(port)))
    proxy.sendall(f'GET {url} HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\nConnection: close\r\n\r\n'.encode())
    answer = b''
    while some := proxy.recv(4096):
        answer += some
    print(answer[-4:])
";

#[test]
fn a_programs_own_server_is_reached() {
    let Some(stage) = stage("own-server") else { return };
    if !has("python3", "--version") {
        return;
    }
    let program = words(&["python3", "-I", "-c", OWN_SERVER]);
    let ended = stage.replay(&["--isolate"], &program);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "b'frog'\n"), "{}", ended.err);
    let all = "b'frog'\n".repeat(3);
    for isolate in ["--isolate=on", "--isolate=off"] {
        let ended = stage.replay(&[isolate, "--pass", "host=localhost"], &program);
        assert_eq!((ended.code, ended.out.as_str()), (Some(0), all.as_str()), "{isolate}: {}", ended.err);
        let said = "metroon: answered 0 requests from trip.cassette; passed on 1 request\n";
        assert!(ended.err.contains(said), "{isolate}: {}", ended.err);
    }
}

#[test]
fn a_port_of_the_users_loopback_is_led_inside() {
    let Some(stage) = stage("bridge") else { return };
    let address = server();
    let curl = words(&["curl", "-s", "--noproxy", "*", &format!("http://{address}/")]);
    let ended = stage.replay(&["--isolate"], &curl);
    assert_eq!((ended.code, ended.out.as_str()), (Some(7), ""), "{}", ended.err);
    assert!(ended.err.contains(&format!("note: nothing answered at {address}, which is the program's own")));
    let ended = stage.replay(&["--isolate", &format!("--pass=host={address}")], &curl);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "frog"), "{}", ended.err);
    assert!(!ended.err.contains("note: nothing answered"), "{}", ended.err);
}

/// It goes to the network in each mode, within TLS of its own, and not to the cassette.
#[test]
fn a_host_that_passes_is_neither_recorded_nor_answered_from_the_cassette() {
    if !has("curl", "--version") {
        return;
    }
    let stage = Stage::new("pass");
    let pass = ["--pass", "host=*.metroon.test", "--"];
    let script = "curl -s --noproxy '' -k 'https://api.metroon.test/count'; curl -s --noproxy '' 'http://api.metroon.test/count'";
    let said = "metroon: recorded nothing, so there is no trip.cassette; passed on 2 requests\n";
    let ended = run(stage.recording(&pass).args(shell(script)));
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "12"), "{}", ended.err);
    assert_eq!(ended.err, said);
    let asked = stage.record(&shell("curl -s 'https://api.metroon.test/count'"));
    assert_eq!(asked.out, "3", "{}", asked.err);
    let ended = run(stage.recording(&pass).args(shell(script)));
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "45"), "{}", ended.err);
}

#[test]
fn hosts_of_no_proxy_pass_if_that_is_asked_for() {
    let stage = Stage::new("no-proxy");
    let no_proxy = |words: &[&str]| {
        let mut recording = stage.recording(words);
        run(recording.env("NO_PROXY", "localhost,.corp.test").args(shell("echo \"$NO_PROXY\"")))
    };
    assert_eq!(no_proxy(&["--"]).out, "\n");
    assert_eq!(no_proxy(&["--pass=no_proxy", "--"]).out, "localhost,127.0.0.1,::1,.corp.test\n");
    let refused = no_proxy(&["--pass=localhost", "--"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("expected a host, such as host=localhost"), "{}", refused.err);
}

#[test]
fn only_a_program_that_is_started_can_be_isolated() {
    let stage = Stage::new("isolate-nothing");
    for isolate in ["--isolate", "--isolate=auto"] {
        let ended = run(&mut stage.recording(&["--ready-json", isolate]));
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{}", ended.err);
        assert!(ended.err.contains("--isolate is for a program that this command starts"), "{}", ended.err);
    }
    assert_eq!(run(&mut stage.recording(&["--ready-json", "--isolate=off"])).code, Some(0));
}

#[test]
fn a_proxy_for_others_is_asked_for_by_name() {
    let stage = Stage::new("public");
    let listening = |words: &[&str]| -> Ended { run(&mut stage.recording(words)) };
    let ended = listening(&["--listen", "0.0.0.0:0"]);
    assert_eq!(ended.code, Some(2));
    assert_eq!(
        ended.err,
        "error: everybody who reaches this computer at 0.0.0.0:0 could use the proxy, and the network that it reaches\n\
         help: listen on 127.0.0.1:0, or add --public if others are to use it\n"
    );
    // With it, the address is named; the standard input is at its end, and so is the proxy.
    let ended = listening(&["--listen", "0.0.0.0:0", "--public", "--ready-json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.starts_with("warning: everybody who reaches this computer at 0.0.0.0:"), "{}", ended.err);
}
