//! Clients that people use, against an origin that is reached by a name: each is recorded, with certificates verified, and
//! then answered from the cassette when the origin is gone.
//!
//! A client prints what it sees, a line each. All lines must be the same in the replay, but for the times of `piece` lines: after
//! the first, each must come when it came as the recording has it. How late the machine makes a bare timer meanwhile is allowed for.

use super::harness::{Stage, client, has, named, run, words};
use crate::harness::Ended;
use cassette::{Cassette, Direction, Exchange, WsFrame};
use std::ffi::OsString;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How far a piece of a stream may be from when it was recorded.
const TOLERANCE_MS: i64 = 20;
/// Two programs are woken for a piece, the proxy and the client: each may be as late as a timer is.
const WAKES: i64 = 2;
/// A busy machine may stop the client for longer than the timer that is measured. If a replay was late, another one is made: a proxy
/// that keeps no time is late in each of them.
const REPLAYS_MAX: usize = 3;

/// What a client saw.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    lines: Vec<String>,
    /// Milliseconds after the first piece.
    times: Vec<i64>,
}

impl Seen {
    fn of(ended: &Ended) -> Self {
        assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
        let (mut lines, mut times) = (Vec::new(), Vec::new());
        for line in ended.out.lines() {
            match line.strip_prefix("piece ").and_then(|rest| rest.split_once(' ')) {
                Some((time, rest)) => {
                    times.push(time.parse::<i64>().expect("a time is a number"));
                    lines.push(format!("piece {rest}"));
                }
                None => lines.push(line.to_owned()),
            }
        }
        Self { lines, times: after_the_first(times) }
    }
}

fn after_the_first(times: Vec<i64>) -> Vec<i64> {
    times.iter().map(|time| time - times[0]).collect()
}

/// Milliseconds after the first of the chunks of the event stream, or the messages of the ticker, of which a cassette has one at most.
fn recorded_times(cassette: &Path) -> Vec<i64> {
    let cassette = Cassette::open(cassette).expect("there is a cassette");
    let all = cassette.exchanges().map(|exchange| times(&exchange.expect("it can be read")));
    let mut all = all.filter(|times| !times.is_empty());
    let times = all.next().unwrap_or_default();
    assert!(all.next().is_none(), "a client tells the times of one stream");
    after_the_first(times.iter().map(|&at_us| at_us as i64 / 1_000).collect())
}

/// Does something, and gives by how many milliseconds a timer of this process was late at most meanwhile. A thread that
/// only sleeps is woken sooner than one that works, as clients do, so the timer works a little as well.
fn with_lateness<T>(act: impl FnOnce() -> T) -> (T, i64) {
    const TICK: Duration = Duration::from_millis(4);
    const WORK: Duration = Duration::from_millis(1);
    let (acting, over) = channel::<()>();
    let timer = std::thread::spawn(move || {
        let mut most = Duration::ZERO;
        loop {
            let begun = Instant::now();
            let is_over = over.recv_timeout(TICK) != Err(RecvTimeoutError::Timeout);
            let woken = Instant::now();
            while woken.elapsed() < WORK {
                std::hint::spin_loop();
            }
            most = most.max(begun.elapsed().saturating_sub(TICK + WORK));
            if is_over {
                return most;
            }
        }
    });
    let done = act();
    drop(acting);
    (done, timer.join().expect("a timer ends").as_millis() as i64)
}

/// When the pieces of a stream came that a client tells the times of.
fn times(exchange: &Exchange<'_>) -> Vec<u64> {
    if !exchange.request.target.to_text_lossy().contains("gap=100") {
        return Vec::new();
    }
    let is_message = |frame: &&WsFrame<'_>| frame.direction == Direction::Received && frame.opcode.number() < 8;
    match &exchange.frames {
        Some(frames) => frames.iter().filter(is_message).map(|frame| frame.at_us).collect(),
        None => {
            let body = exchange.response.as_ref().and_then(|response| response.body.as_ref());
            body.into_iter().flat_map(|body| body.chunks()).map(|chunk| chunk.at_us).collect()
        }
    }
}

/// The last piece of a stream may be one that a client keeps to itself, such as `[DONE]`.
fn is_near(seen: &[i64], recorded: &[i64], tolerance_ms: i64) -> bool {
    let is_whole = (seen.len()..=seen.len() + 1).contains(&recorded.len());
    is_whole && seen.iter().zip(recorded).all(|(one, other)| (one - other).abs() <= tolerance_ms)
}

/// Records a client, takes the origin away, and answers the client from the cassette. Gives what it said the first time.
fn both_ways(name: &str, program: &[OsString]) -> Vec<String> {
    both_ways_on(Stage::new(name), name, program)
}

fn both_ways_on(mut stage: Stage, name: &str, program: &[OsString]) -> Vec<String> {
    let ended = stage.record(program);
    assert!(ended.err.contains("metroon: recorded "), "{}", ended.err);
    let first = Seen::of(&ended);
    stage.stop_origin();
    let recorded = recorded_times(&stage.folder.path().join("trip.cassette"));
    let mut late = Vec::new();
    for _ in 0..REPLAYS_MAX {
        let (ended, late_ms) = with_lateness(|| stage.replay(&[], program));
        let seen = Seen::of(&ended);
        assert_eq!(seen.lines, first.lines, "{}", ended.err);
        assert!(ended.err.ends_with(" from trip.cassette\n"), "{}", ended.err);
        if is_near(&seen.times, &recorded, TOLERANCE_MS + WAKES * late_ms) {
            return first.lines;
        }
        late.push((seen.times, late_ms));
    }
    panic!("{name}: recorded {recorded:?}; replayed, and by how many milliseconds a timer was late: {late:?}");
}

fn python(name: &str, script: &str) -> Option<Vec<String>> {
    let python = named("METROON_CLIENTS_PYTHON")?;
    Some(both_ways(name, &self::script(&python, script)))
}

/// A client of a server that the origin is not.
fn with_server(kind: &str, name: &str, program: impl Fn(&Path) -> Vec<OsString>) -> Option<Vec<String>> {
    let python = named("METROON_CLIENTS_PYTHON")?;
    let mut stage = Stage::new(name);
    stage.serve(&python, kind);
    Some(both_ways_on(stage, name, &program(&python)))
}

fn script(python: &Path, script: &str) -> Vec<OsString> {
    vec![python.into(), "-B".into(), client(script).into()]
}

fn has_line(lines: &[String], line: &str) {
    assert!(lines.iter().any(|known| known == line), "{line} is not in {lines:#?}");
}

#[test]
fn python_requests() {
    let Some(lines) = python("requests", "with_requests.py") else { return };
    has_line(&lines, "line count ['1', '2', '3']");
    has_line(&lines, "line twice ['one', 'two']");
    has_line(&lines, "line cookies ['', 'pond=deep']");
}

#[test]
fn python_httpx_with_http2() {
    let Some(lines) = python("httpx", "with_httpx.py") else { return };
    has_line(&lines, "line version HTTP/2");
}

#[test]
fn python_aiohttp() {
    let Some(lines) = python("aiohttp", "with_aiohttp.py") else { return };
    has_line(&lines, "line ws two");
}

#[test]
fn python_openai() {
    let Some(lines) = python("openai", "with_openai.py") else { return };
    has_line(&lines, "line whole A frog croaks, and eats flies.");
}

/// It wants an older `openai` than the other clients, so it has a virtual environment of its own.
#[test]
fn python_litellm() {
    let Some(python) = named("METROON_CLIENTS_LITELLM") else { return };
    let lines = both_ways("litellm", &script(&python, "with_litellm.py"));
    has_line(&lines, "line whole A frog croaks, and eats flies.");
    has_line(&lines, "line delta ' eats flies'");
}

#[test]
fn python_websockets() {
    let Some(lines) = python("websockets", "with_websockets.py") else { return };
    has_line(&lines, "line closed 1005");
}

#[test]
fn python_urllib3_and_what_python_has_itself() {
    python("urllib3", "with_itself.py");
}

#[test]
fn python_anthropic() {
    let Some(lines) = python("anthropic", "with_anthropic.py") else { return };
    has_line(&lines, "line whole A frog croaks, and eats flies.");
    has_line(&lines, "line text A frog croaks, and eats flies.");
}

/// Clients that are told to use no proxy, or another, would go past ours to the network, on replay as well.
#[test]
fn python_clients_that_are_told_to_use_no_proxy() {
    let Some(lines) = python("deaf", "with_deaf.py") else { return };
    has_line(&lines, "line httpx ['1', '2']");
    has_line(&lines, "line aiohttp 8");
}

#[test]
fn python_websockets_with_compression() {
    let Some(lines) = with_server("sockets", "deflate", |python| script(python, "with_deflate.py")) else { return };
    has_line(&lines, "line extensions ['PerMessageDeflate']");
    has_line(&lines, "line compressed True");
}

#[test]
fn python_grpc_with_trailers() {
    let Some(lines) = with_server("grpc", "grpc", |python| script(python, "with_grpc.py")) else { return };
    has_line(&lines, "line croak b'croak loud'");
    has_line(&lines, "line ended ('OUT_OF_RANGE', 'no more ticks')");
}

#[test]
fn git_over_http() {
    if has("git", "--version") {
        let program = |_: &Path| vec!["sh".into(), client("git.sh").into()];
        let Some(lines) = with_server("pages", "git", program) else { return };
        assert_eq!(lines.len(), 4, "{lines:#?}");
    }
}

#[test]
fn python_pip() {
    let Some(lines) = with_server("pages", "pip", |_| vec!["sh".into(), client("pip.sh").into()]) else { return };
    has_line(&lines, "line Sam");
}

/// Without a virtual environment, with whatever Python there is.
#[test]
fn python_itself() {
    if has("python3", "--version") {
        both_ways("python", &["python3".into(), "-B".into(), client("with_itself.py").into()]);
    }
}

#[test]
fn node_fetch_https_and_http2() {
    if has("node", "--version") {
        both_ways("fetch", &["node".into(), client("with_fetch.mjs").into()]);
    }
}

fn npm(name: &str, script: &str) -> Option<Vec<String>> {
    let modules = named("METROON_CLIENTS_NODE")?;
    let script = format!("NODE_PATH={} exec node {}", modules.display(), client(script).display());
    Some(both_ways(name, &words(&["sh", "-c", &script])))
}

#[test]
fn node_axios_and_undici() {
    npm("npm", "with_npm.cjs");
}

/// Modules are found from where the program lies, so it is copied beside a link to them.
#[test]
fn node_modules_and_http2() {
    let Some(modules) = named("METROON_CLIENTS_NODE") else { return };
    let program = client("with_modules.mjs");
    let (modules, program) = (modules.display(), program.display());
    let script = format!("ln -sfn {modules} node_modules && cp {program} client.mjs && exec node client.mjs");
    let lines = both_ways("modules", &words(&["sh", "-c", &script]));
    has_line(&lines, "line got HTTP/2.0");
    has_line(&lines, "line undici HTTP/2.0");
}

#[test]
fn node_ws() {
    let Some(lines) = npm("ws", "with_ws.cjs") else { return };
    has_line(&lines, "line closed 1005");
    has_line(&lines, "line pong came");
}

#[test]
fn go_net_http() {
    if !has("go", "version") {
        return;
    }
    let folder = crate::harness::Folder::new("proxy-go-build");
    let binary = folder.path().join("client");
    let mut build = std::process::Command::new("go");
    build
        .args(["build", "-o"])
        .arg(&binary)
        .arg(client("client.go"))
        .env("GOFLAGS", "-mod=mod")
        .env("GO111MODULE", "off");
    assert!(build.status().expect("go runs").success());
    let lines = both_ways("go", &[binary.into()]);
    has_line(&lines, "line /json HTTP/2.0 200");
}

#[test]
fn java_http_client() {
    if has("java", "-version") {
        let lines = both_ways("java", &["java".into(), client("Client.java").into()]);
        has_line(&lines, "line /json HTTP_2 200");
    }
}

#[test]
fn curl() {
    if !has("curl", "--version") {
        return;
    }
    for (name, words) in [
        ("curl-1", "--http1.1 --compressed https://api.metroon.test/encoded/gzip https://api.metroon.test/encoded/br"),
        (
            "curl-2",
            "--http2 --include https://api.metroon.test/twice https://api.metroon.test/count https://api.metroon.test/count",
        ),
        ("curl-plain", "--include http://api.metroon.test/twice http://api.metroon.test/bytes/1000?length=no"),
        ("curl-continue", "--http1.1 --data-binary @/bin/sh -H Expect:100-continue https://api.metroon.test/upload"),
        ("curl-stream", "--no-buffer https://api.metroon.test/sse?n=2&gap=1"),
    ] {
        let script = format!("curl --silent --show-error --fail {} | base64", words.replace('&', "\\&"));
        let lines = both_ways_untimed(name, &["sh".into(), "-c".into(), script.into()]);
        assert!(!lines.is_empty(), "{name}");
    }
}

/// As [`both_ways`], for a client that prints no times.
fn both_ways_untimed(name: &str, program: &[OsString]) -> String {
    let mut stage = Stage::new(name);
    // Cookies are secrets, and would be replaced.
    let first = run(stage.recording(&["--keep-secrets", "--"]).args(program));
    assert_eq!(first.code, Some(0), "{}{}", first.out, first.err);
    stage.stop_origin();
    let again = stage.replay(&["--speed", "0"], program);
    assert_eq!((again.code, &again.out), (Some(0), &first.out), "{}", again.err);
    first.out
}

/// That clients verify is what makes the other tests mean something: without the variables they refuse the proxy's certificate.
#[test]
fn certificates_are_verified() {
    if !has("curl", "--version") {
        return;
    }
    let stage = Stage::new("verified");
    let system = "env -u SSL_CERT_FILE -u CURL_CA_BUNDLE curl --silent --show-error https://api.metroon.test/json";
    let ended = stage.record(&words(&["sh", "-c", system]));
    // curl's code for a certificate that cannot be verified.
    assert_eq!(ended.code, Some(60), "{}", ended.err);
    assert!(ended.err.contains("does not trust the proxy's certificate"), "{}", ended.err);
}
