//! The proxies, each a process that is ended by its id.

use super::{HOST, REQUESTS, response_body};
use crate::peers::{mitmproxy, python_with_mitmproxy};
use crate::{Plan, command};
use cassette::{Body, Exchange, Header, Recorder, RecorderOptions, Request, Response};
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const FLOWS: &str = "bench/programs/proxy/flows.py";

/// A proxy that runs.
pub(super) struct Proxy {
    process: Child,
    pub(super) address: SocketAddr,
    /// The certificate that vouches for what it says of itself.
    pub(super) authority: PathBuf,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // It has nothing to tell any more; what it wrote is not looked at.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Starts the command with these words; its data lies in the scratch folder.
pub(super) fn ours(plan: &Plan, words: &[&str]) -> Result<Proxy, Box<dyn Error>> {
    let mut command = Command::new(command::build("release")?);
    command.args(words).args(["--listen", "127.0.0.1:0", "--ready-json"]);
    command.env("METROON_DATA_DIR", plan.scratch.canonicalize()?.join("data"));
    // It ends when its input does, which lasts as long as the process is held here.
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(process.stdout.take().ok_or("the standard output was asked for")?).read_line(&mut line)?;
    let ready: serde_json::Value =
        serde_json::from_str(&line).map_err(|error| format!("the command said {line:?}: {error}"))?;
    let said = |name: &str| ready[name].as_str().ok_or_else(|| format!("no {name} in {line}"));
    let address = said("proxy")?.trim_start_matches("http://").parse()?;
    Ok(Proxy { process, address, authority: PathBuf::from(said("ca")?) })
}

/// Starts mitmproxy with these words; its data lies in the scratch folder.
pub(super) fn theirs(plan: &Plan, words: &[&str]) -> Result<Proxy, Box<dyn Error>> {
    let folder = plan.scratch.canonicalize()?.join("mitmproxy");
    let port = free_port()?;
    let mut command = Command::new(mitmproxy(plan.may_install)?);
    command.args(["--quiet", "--listen-host", "127.0.0.1", "--listen-port", &port.to_string()]);
    command.arg("--set").arg(format!("confdir={}", folder.display())).args(words);
    let process = command.stdin(Stdio::null()).spawn()?;
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let proxy = Proxy { process, address, authority: folder.join("mitmproxy-ca-cert.pem") };
    let began = Instant::now();
    while TcpStream::connect(address).is_err() || !proxy.authority.is_file() {
        if began.elapsed() > Duration::from_secs(60) {
            return Err("mitmproxy does not listen".into());
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(proxy)
}

/// A port that was free a moment ago: mitmproxy cannot say which one it took.
fn free_port() -> Result<u16, Box<dyn Error>> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// A cassette with an answer to each request.
pub(super) fn cassette(plan: &Plan, scheme: &'static str, port: u16) -> Result<PathBuf, Box<dyn Error>> {
    let path = plan.scratch.join(format!("{scheme}.cassette"));
    let recorder = Recorder::open(&path, RecorderOptions::default())?;
    for number in 0..REQUESTS {
        let body = Body::new(0, response_body(number));
        let length = Header::new("content-length", body.bytes().len().to_string());
        let headers = vec![Header::new("content-type", "application/json"), length];
        let request = Request {
            method: "GET".into(),
            scheme: scheme.into(),
            host: HOST.into(),
            port,
            target: format!("/resource/{number}").into(),
            headers: vec![Header::new("host", HOST)],
            ..Request::default()
        };
        let response = Response { status: 200, headers, body: Some(body), ..Response::default() };
        recorder.record(Exchange { request, response: Some(response), ..Exchange::default() })?;
    }
    recorder.finish()?;
    Ok(path)
}

/// A recording of mitmproxy with the same.
pub(super) fn flows(plan: &Plan, scheme: &str) -> Result<PathBuf, Box<dyn Error>> {
    let path = plan.scratch.join(format!("{scheme}.flows"));
    let mut command = Command::new(python_with_mitmproxy(plan.may_install)?);
    let made = command.arg(FLOWS).arg(&path).args([&REQUESTS.to_string(), scheme]).status()?;
    if !made.success() {
        return Err(format!("{FLOWS}: {made}").into());
    }
    Ok(path)
}

/// A path as a word of a command.
pub(super) fn text(path: &Path) -> &str {
    path.to_str().expect("the scratch folder has a name in UTF-8")
}
