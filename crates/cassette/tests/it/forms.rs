//! JSON, MessagePack and text hold all that a cassette holds.

use crate::exchanges::{Folder, exchanges, of_the_report, with_everything};
use cassette::{Content, Form, FormError, KeyScheme, Note, Recorder, RecorderOptions};
use proptest::prelude::*;
use std::path::Path;

fn content() -> Content {
    Content { exchanges: vec![with_everything(0), of_the_report(1)], meta: vec![Note::new("name", "a")] }
}

#[test]
fn json_is_readable() {
    let text = String::from_utf8(content().to_json(true).unwrap()).unwrap();
    for line in ["\"version\": \"HTTP/2\"", "\"base64\": \"/wA=\"", "\"target\": \"/resource/1\"", "\"after_ms\": 30"] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(text.ends_with("}\n"));
}

#[test]
fn the_name_says_what_is_written() {
    for (name, form) in
        [("a.json", Form::Json), ("a.MP", Form::MessagePack), ("a.msgpack", Form::MessagePack), ("a.Txt", Form::Text)]
    {
        assert_eq!(Form::of_name(Path::new(name)), form, "{name}");
    }
    assert_eq!(Form::of_name(Path::new("a.cassette")), Form::Cassette);
    for form in [Form::Cassette, Form::Json, Form::MessagePack, Form::Text] {
        assert_eq!(form.to_string().parse(), Ok(form));
    }
    let error = "xml".parse::<Form>().unwrap_err().to_string();
    assert_eq!(
        error,
        "`xml` is not a form of a cassette; the forms are cassette, json, msgpack, text, har, vcr, vcr-ruby, vcr-json"
    );
}

#[test]
fn format_found_is_format_loaded() {
    let folder = Folder::new();
    for name in ["a.json", "a.msgpack", "a.cassette", "a.txt"] {
        let path = folder.join(name);
        content().write(&path, KeyScheme::target()).unwrap();
        assert_eq!(Content::read(&path).unwrap(), content(), "{name}");
        // Whatever it is called.
        let renamed = folder.join("renamed.json");
        std::fs::rename(&path, &renamed).unwrap();
        assert_eq!(Content::read(&renamed).unwrap(), content(), "{name}");
    }
    assert_eq!(folder.names(), ["renamed.json"]);
}

#[test]
fn a_recording_is_read_by_the_name_of_its_cassette() {
    let folder = Folder::new();
    let recorder = Recorder::open(folder.join("a.cassette"), RecorderOptions::default().keep_secrets()).unwrap();
    recorder.record(of_the_report(0)).unwrap();
    recorder.stop().unwrap();
    assert_eq!(Content::read(folder.join("a.cassette")).unwrap().exchanges, [of_the_report(0)]);
}

#[test]
fn what_is_wrong_is_said() {
    let folder = Folder::new();
    let json = content().to_json(true).unwrap();
    let text = String::from_utf8(json).unwrap().replace("\"HTTP/2\"", "\"HTTP/7\"");
    std::fs::write(folder.join("a.json"), text).unwrap();
    let error = Content::read(folder.join("a.json")).unwrap_err().to_string();
    assert!(error.contains("a.json: no cassette in JSON: invalid value: string \"HTTP/7\""), "{error}");
    assert!(error.contains("line"), "{error}");
    std::fs::write(folder.join("text"), "none of these").unwrap();
    assert!(matches!(Content::read(folder.join("text")), Err(FormError::Unknown { .. })));
    let later = br#"{"format":"metroon-cassette","version":9,"exchanges":[]}"#;
    assert!(matches!(Content::from_json(later), Err(FormError::Version { version: 9, .. })));
}

#[test]
fn forms_cut_anywhere_are_errors() {
    let (json, msgpack) = (content().to_json(false).unwrap(), content().to_msgpack().unwrap());
    assert_eq!(Content::from_msgpack(&msgpack).unwrap(), content());
    for length in 0..json.len() {
        assert!(Content::from_json(&json[..length]).is_err(), "{length}");
    }
    for length in 0..msgpack.len() {
        assert!(Content::from_msgpack(&msgpack[..length]).is_err(), "{length}");
    }
    for bit in 0..8 * msgpack.len() {
        let mut flipped = msgpack.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        // There is no checksum: it may say something else, and must not panic.
        let _ = Content::from_msgpack(&flipped);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn forms_lose_nothing(exchanges in exchanges(6)) {
        let content = Content { exchanges, meta: vec![Note::new(b"\xff", "")] };
        for is_indented in [false, true] {
            prop_assert_eq!(&Content::from_json(&content.to_json(is_indented).unwrap()).unwrap(), &content);
        }
        prop_assert_eq!(&Content::from_text(content.to_text().as_bytes()).unwrap(), &content);
        prop_assert_eq!(&Content::from_msgpack(&content.to_msgpack().unwrap()).unwrap(), &content);
    }
}
