//! The three hundred bodies of the tests of cassettes, through sockets: curl sends each to an origin that sends it back. They are
//! on the cassette and in the replay byte for byte, or the cassette is not sealed and the reason is said.

#[path = "../../../../cassette/tests/it/bodies/kinds.rs"]
mod kinds;

use super::harness::{Stage, has, words};
use crate::harness::Folder;
use cassette::{Cassette, Exchange, Header};
use kinds::Sample;
use std::fmt::Write;
use std::fs;

/// Writes what curl is to send, and a list of what it is to do with it; gives the list's name.
fn write_list(folder: &Folder, list: &str, samples: &[(usize, &Sample)]) {
    let mut text = String::new();
    for (number, sample) in samples {
        fs::write(folder.path().join(format!("sent-{number}")), &sample.bytes).expect("a file can be written");
        let length = ["yes", "no"][number % 2];
        let version = ["http1.1", "http2"][number / 2 % 2];
        let target = format!("/mirror/{number}?piece={}&length={length}", sample.piece);
        write!(
            text,
            "{version}\nsilent\nshow-error\nfail\nurl = \"https://api.metroon.test{target}\"\nupload-file = \"sent-{number}\"\n\
             output = \"got-{number}\"\n"
        )
        .expect("memory takes it");
        for (name, value) in &sample.headers {
            writeln!(text, "header = \"{name}: {value}\"").expect("memory takes it");
        }
        text.push_str("next\n");
    }
    folder.write(list, text.strip_suffix("next\n").unwrap_or_default());
}

/// Takes away what curl got, which must be what it sent.
fn take_got(folder: &Folder, samples: &[(usize, &Sample)]) {
    for (number, sample) in samples {
        let got = folder.path().join(format!("got-{number}"));
        assert!(fs::read(&got).expect("curl got it") == sample.bytes, "{number}: {:?}", sample.headers);
        fs::remove_file(got).expect("a file can be removed");
    }
}

fn number_of(exchange: &Exchange<'_>) -> usize {
    let target = exchange.request.target.to_text_lossy();
    let number = target.rsplit('/').next().and_then(|last| last.split('?').next());
    number.and_then(|number| number.parse().ok()).expect("targets end with a number")
}

fn has_sample(exchange: &Exchange<'_>, sample: &Sample) {
    let (request, response) = (&exchange.request, exchange.response.as_ref().expect("it was answered"));
    let bodies = [request.body_bytes(), response.body_bytes()];
    assert!(bodies.iter().all(|body| **body == sample.bytes), "{}", number_of(exchange));
    let is_same = |header: &Header<'_>, name: &str, value: &str| {
        header.name.to_text_lossy().eq_ignore_ascii_case(name) && header.value.to_text_lossy() == value
    };
    for (name, value) in &sample.headers {
        let is_there = |headers: &[Header<'_>]| headers.iter().any(|header| is_same(header, name, value));
        assert!(is_there(&request.headers) && is_there(&response.headers), "{}: {name}", number_of(exchange));
    }
}

#[test]
fn three_hundred_bodies_come_through_or_are_refused() {
    if !has("curl", "--version") {
        return;
    }
    let samples: Vec<_> = kinds::three_hundred().collect();
    let (secret, clean): (Vec<_>, Vec<_>) = samples.iter().enumerate().partition(|(_, sample)| sample.has_secret);
    assert_eq!((clean.len(), secret.len()), (275, 25));
    let mut stage = Stage::new("bodies");
    let program = words(&["curl", "--config", "list"]);
    // A secret in what is no text cannot be replaced, so no cassette with it is sealed.
    for sample in &secret {
        write_list(&stage.folder, "list", &[*sample]);
        let ended = stage.record(&program);
        take_got(&stage.folder, &[*sample]);
        let message = "has a GitHub token in its request body, which is not text";
        assert!(ended.code != Some(0) && ended.err.contains(message), "{}: {:?} {}", sample.0, ended.code, ended.err);
        assert!(!stage.folder.path().join("trip.cassette").exists());
        fs::remove_file(stage.folder.path().join("trip.cassette.recording")).expect("the recording stays");
    }
    write_list(&stage.folder, "list", &clean);
    let ended = stage.record(&program);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), "metroon: recorded 275 exchanges in trip.cassette\n"));
    take_got(&stage.folder, &clean);
    stage.stop_origin();
    let cassette = Cassette::open(stage.folder.path().join("trip.cassette")).expect("it is sealed");
    for exchange in cassette.exchanges().map(|exchange| exchange.expect("it can be read")) {
        has_sample(&exchange, &samples[number_of(&exchange)]);
    }
    let ended = stage.replay(&[], &program);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), "metroon: answered 275 requests from trip.cassette\n"));
    take_got(&stage.folder, &clean);
}
