//! What the fuzz targets run, on changed copies of good files: cassettes of every form.

#[path = "../../../../fuzz/src/cassettes.rs"]
mod body;

#[path = "../../../../fuzz/src/redaction.rs"]
mod redaction;

use crate::exchanges::{of_the_report, with_everything};
use crate::har::foreign;
use crate::hostile::{Numbers, mutated};
use cassette::{Body, Content, Exchange, KeyScheme, Note, write_cassette_on};
use journal::simulated::SimulatedDisk;

/// How many changed copies of each file; `METROON_FUZZ_ROUNDS` asks for more.
const ROUNDS: u64 = 300;

fn run(form: &str, file: &[u8], seed: u64) {
    let read = |bytes: &[u8]| body::run(form, bytes);
    let rounds = std::env::var("METROON_FUZZ_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS);
    assert!(read(file));
    let mut numbers = Numbers(seed);
    let read = (0..rounds).filter(|_| read(&mutated(file, &mut numbers))).count();
    assert!(rounds < ROUNDS || read > 2, "seed {seed}: {read} of {rounds} were read");
}

fn content() -> Content {
    let mut long = of_the_report(2);
    long.response.as_mut().unwrap().body = Some(Body::new(1, b"all the same ".repeat(300)));
    Content { exchanges: vec![with_everything(0), of_the_report(1), long], meta: vec![Note::new("name", "a")] }
}

fn sealed(exchanges: &[Exchange<'_>]) -> Vec<u8> {
    let disk = SimulatedDisk::new();
    write_cassette_on(&disk, "a.cassette", exchanges, &[Note::new("name", "a")], KeyScheme::target()).unwrap();
    disk.contents("a.cassette").unwrap()
}

#[test]
fn sealed_cassettes_that_were_changed() {
    // One whose rows are used where they lie, and one whose rows are compressed.
    let noise: Vec<u8> = (0..700_u32).map(|byte| (byte.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut exchange = of_the_report(0);
    exchange.request.body = Some(Body::new(0, noise));
    run("cassette", &sealed(&[exchange]), 1);
    run("cassette", &sealed(&content().exchanges), 2);
    run("cassette", &sealed(&(0..300).map(of_the_report).collect::<Vec<_>>()), 3);
}

/// The golden recording has every kind of frame.
#[test]
fn recordings_that_were_changed() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/version-1/golden.cassette.recording");
    let disk = journal::SingleFile::open(&path).unwrap();
    let mut reader = journal::Reader::from_frame(std::sync::Arc::new(disk), 0).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = reader.read_next().unwrap() {
        frames.extend((frame.payload.len() as u16).to_le_bytes());
        frames.extend(frame.payload);
    }
    run("recording", &frames, 4);
}

#[test]
fn forms_that_were_changed() {
    run("json", &content().to_json(true).unwrap(), 5);
    run("msgpack", &content().to_msgpack().unwrap(), 6);
    run("text", content().to_text().as_bytes(), 7);
}

#[test]
fn documents_of_others_that_were_changed() {
    for (name, seed) in [("chrome.har", 8), ("firefox.har", 9)] {
        run("har", &foreign(name), seed);
    }
    for (name, seed) in [("vcrpy-6.yaml", 10), ("vcrpy-httpx-4.yaml", 11), ("ruby-6.yml", 12)] {
        run("vcr_yaml", &foreign(name), seed);
    }
    for (name, seed) in [("vcrpy-8.json", 13), ("ruby-6.json", 14)] {
        run("vcr_json", &foreign(name), seed);
    }
}

/// Bodies with secrets in every form, and some that are not text, of every type: redaction changes none that it does not report.
#[test]
fn bodies_that_redaction_does_not_report_are_as_they_were() {
    let rounds = std::env::var("METROON_FUZZ_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS);
    let key = "sk-proj-0123456789abcdefABCDEF";
    let json = format!("{{\"password\": \"hunter2\", \"a\": \"{{\\\"token\\\":\\\"{key}\\\"}}\"}}\n");
    let form = format!("grant_type=authorization_code&code=4%2F0AX4XfWh&password=x&q={key}");
    let xml = "<a password='x'><b:password c='d'>hunter2</b:password><token><![CDATA[0123456789abcdef]]></token></a>";
    let yaml = "a:\n  password: x # c\n  credentials:\n    - y\n  z: {secret: w, b: c}\n";
    let part = "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\nhunter2\r\n--b--\r\n";
    let program = format!("\x7fELF\0sk-ecdsa-sha2-nistp256\0{key}\0?sig=x\0\"pwd\":\"x\"\0");
    let mut numbers = Numbers(15);
    let mut found = 0;
    for (body, kind) in [
        (&*json, 2),
        (&form, 3),
        (xml, 7),
        (yaml, 8),
        (part, 9),
        (&program, 1),
        (&json, 5),
        ("A=b\nDB_PASSWORD=hunter2\n", 4),
    ] {
        for piece in 0..6 {
            let input = [&[kind, 0, piece, piece % 5], body.as_bytes()].concat();
            assert!(redaction::run(&input), "{kind}");
            found += (0..rounds / 6).filter(|_| redaction::run(&mutated(&input, &mut numbers))).count();
        }
    }
    assert!(rounds < ROUNDS || found > 100, "{found}");
}
