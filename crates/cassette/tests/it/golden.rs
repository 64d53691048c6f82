//! Every version that was ever written is read for good: its files are kept in `tests/data`.
//!
//! `METROON_BLESS=1` writes the files of the current version, once, when it is new.

use crate::exchanges::{Folder, of_the_report, with_everything};
use cassette::{Body, Cassette, Content, Exchange, KeyScheme, Note, Recorder, RecorderOptions};
use std::path::PathBuf;

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/version-1").join(name)
}

fn content() -> Content {
    let mut shared = of_the_report(2);
    shared.response.as_mut().unwrap().body = Some(Body::new(17, b"0123456789abcdef".repeat(128)));
    let again = Exchange { number: 5, ..shared.clone() };
    let exchanges = vec![with_everything(0), of_the_report(1), shared, again];
    Content { exchanges, meta: vec![Note::new("name", "golden")] }
}

/// As much as is compressed, which the first 4 KiB of a file are not.
fn long() -> Content {
    Content { exchanges: (0..100).map(of_the_report).collect(), meta: Vec::new() }
}

/// The bytes that are written today for a name.
fn written(name: &str) -> Vec<u8> {
    let folder = Folder::new();
    let path = folder.join(name);
    if name == "golden.cassette.recording" {
        let recorder =
            Recorder::open(folder.join("golden.cassette"), RecorderOptions::default().keep_secrets()).unwrap();
        content().meta.into_iter().for_each(|note| recorder.meta(note).unwrap());
        content().exchanges.into_iter().for_each(|exchange| recorder.record_started(exchange).unwrap());
        let call = recorder.begin(7, &of_the_report(6).request).unwrap();
        call.response_chunk(1, b"unfinished").unwrap();
        drop(call);
        recorder.stop().unwrap();
    } else {
        let content = if name == "long.cassette" { long() } else { content() };
        content.write(&path, KeyScheme::target()).unwrap();
    }
    std::fs::read(path).unwrap()
}

const NAMES: [&str; 6] =
    ["golden.cassette", "long.cassette", "golden.cassette.recording", "golden.json", "golden.msgpack", "golden.txt"];

#[test]
fn what_is_written_is_what_was() {
    for name in NAMES {
        let written = written(name);
        if std::env::var_os("METROON_BLESS").is_some() && !data(name).exists() {
            std::fs::create_dir_all(data("")).unwrap();
            std::fs::write(data(name), &written).unwrap();
        }
        assert!(written == std::fs::read(data(name)).unwrap(), "{name} is written otherwise; make a new version");
    }
}

#[test]
fn what_was_written_is_read() {
    for name in ["golden.cassette", "golden.json", "golden.msgpack", "golden.txt"] {
        // Beside the cassette lies a recording of its own.
        let folder = Folder::new();
        std::fs::copy(data(name), folder.join(name)).unwrap();
        assert_eq!(Content::read(folder.join(name)).unwrap(), content(), "{name}");
    }
    assert_eq!(Content::read(data("long.cassette")).unwrap(), long());
    let recording = Cassette::open(data("golden.cassette.recording")).unwrap();
    let read = Content::of_cassette(&recording).unwrap();
    assert_eq!(read.exchanges[..4], content().exchanges);
    assert_eq!(read.exchanges[4].response, None);
}
