//! A proxy without a program: it says how it is reached, and stays until it is told to end.

use super::signals::Signals;
use crate::end::End;
use crate::output::fail;
use crate::render;
use serde_json::{Map, Value, json};
use server::{Proxy, Report};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

/// How often it is looked whether the control socket was told to stop.
const CONTROL_LOOKED_AT: Duration = Duration::from_millis(200);

/// Waits for a signal, for the word of the control socket, or for the end of the standard input where a program reads the JSON. Gives the exit code.
pub(super) fn until_told(
    proxy: &Proxy,
    is_json: bool,
    doing: &str,
    variables: &[(OsString, OsString)],
    signals: &Signals,
) -> u8 {
    let address = proxy.address();
    if !address.ip().is_loopback() {
        render::say(&format!("warning: everybody who reaches this computer at {address} can use the proxy"));
    }
    let (tell, told) = mpsc::channel();
    let of_signals = tell.clone();
    // Once it ends, nobody has to be told.
    if let Err(error) = signals.each(move |_| of_signals.send(()).unwrap_or(())) {
        return fail(&format!("cannot watch for signals: {error}"), "end other programs", End::Error).code();
    }
    if is_json {
        let line = ready(proxy, variables);
        let mut out = io::stdout().lock();
        if let Err(error) = writeln!(out, "{line}").and_then(|()| out.flush()) {
            return fail(&format!("cannot say that the proxy is ready: {error}"), "", End::Error).code();
        }
        std::thread::spawn(move || watch_input(&tell));
    } else {
        say_how(proxy, doing);
    }
    // One sender at least lives as long as signals are watched for.
    while told.recv_timeout(CONTROL_LOOKED_AT).is_err() && !proxy.is_stopping() {}
    0
}

/// The process that started the proxy holds its standard input open; when that ends, the proxy ends.
fn watch_input(tell: &Sender<()>) {
    let mut block = [0; 256];
    while io::stdin().read(&mut block).is_ok_and(|count| count > 0) {}
    tell.send(()).unwrap_or(());
}

fn ready(proxy: &Proxy, variables: &[(OsString, OsString)]) -> Value {
    let text = |text: &OsString| text.to_string_lossy().into_owned();
    let variables: Map<String, Value> =
        variables.iter().map(|(name, value)| (text(name), Value::String(text(value)))).collect();
    json!({
        "proxy": format!("http://{}", proxy.address()),
        "ca": proxy.authority().certificate(),
        "bundle": proxy.authority().bundle(),
        "control": proxy.control(),
        "env": variables,
    })
}

/// Counts what was asked, for the program that reads the JSON; `kept` is whether there is a cassette now.
pub(super) fn say_done(report: &Report, is_kept: bool) {
    let Report { connections, requests, recorded, replayed, forwarded, missed, ambiguous, .. } = report;
    let line = json!({
        "connections": connections, "requests": requests, "recorded": recorded, "answered": replayed,
        "forwarded": forwarded, "missed": missed, "ambiguous": ambiguous, "kept": is_kept,
    });
    // A program that has stopped reading does not want to know.
    let _ = writeln!(io::stdout().lock(), "{line}");
}

fn say_how(proxy: &Proxy, doing: &str) {
    let address = proxy.address();
    let certificate = proxy.authority().certificate().display();
    render::say(&format!("metroon: {doing}, on http://{address}"));
    render::say(&format!("help: such as `curl --proxy http://{address} --cacert {certificate} URL`; Ctrl-C ends it"));
}
