//! JSON documents that are longer than memory: read and sealed exchange by exchange.

use crate::exchanges::{Folder, of_the_report};
use cassette::{
    Cassette, Content, DocumentProgress, Form, FormError, Note, ReadOptions, SealError, SealOptions, SealedDocument,
    seal_document,
};
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Writes a cassette of the Magneto-Serge system with bodies of 64 KiB, until the file has `bytes` bytes; gives how many interactions it has.
fn write_report(path: &Path, bytes: u64) -> u64 {
    let mut file = BufWriter::new(fs::File::create(path).unwrap());
    write!(file, "{{\"version\":\"1.0\",\"name\":\"long\",\"recorded_at\":\"2025-10-11T12:30:45Z\",\"interactions\":[")
        .unwrap();
    let (mut written, mut count) = (0, 0_u64);
    while written < bytes {
        let body: Vec<u8> = (0..64 << 10).map(|at: u64| (at * at + count) as u8).collect();
        let body = serde_json::to_string(&body).unwrap();
        let comma = if count == 0 { "" } else { ",\n" };
        let text = format!(
            "{comma}{{\"type\":\"Http\",\"request\":{{\"method\":\"GET\",\"url\":\"https://frogs.example/{count}\",\
             \"headers\":{{}},\"body\":null}},\"response\":{{\"status\":200,\"headers\":{{\"a\":\"]}},\\\"{{[\"}},\
             \"body\":{body}}},\"recorded_at\":\"2025-10-11T12:30:45Z\",\"response_time_ms\":250}}"
        );
        file.write_all(text.as_bytes()).unwrap();
        (written, count) = (written + text.len() as u64, count + 1);
    }
    file.write_all(b"]}").unwrap();
    file.flush().unwrap();
    count
}

/// All of it, if everything is to be tested.
fn report_bytes() -> u64 {
    if std::env::var_os("METROON_EXHAUSTIVE").is_some() { 420 << 20 } else { 8 << 20 }
}

#[test]
fn a_report_of_any_length_is_sealed_in_little_memory() {
    let folder = Folder::new();
    let (from, to) = (folder.join("long.json"), folder.join("long.cassette"));
    let count = write_report(&from, report_bytes());
    let mut last = DocumentProgress::default();
    let mut calls = 0;
    // A limit that is a fraction of the file holds for each exchange, and not for all of them.
    let reading = ReadOptions::default().bytes_max(2 << 20);
    let sealed = seal_document(&from, &to, SealOptions::default(), reading, &mut |progress| {
        assert!(progress.exchanges == last.exchanges + 1 && progress.bytes >= last.bytes);
        (last, calls) = (progress, calls + 1);
    });
    let SealedDocument::Sealed(counts) = sealed.unwrap() else { panic!("it is long") };
    assert_eq!((counts.exchanges, calls, last.bytes_in_all), (count, count, fs::metadata(&from).unwrap().len()));
    assert!(last.bytes <= last.bytes_in_all && last.bytes > last.bytes_in_all - (1 << 20));
    let cassette = Cassette::open(&to).unwrap();
    cassette.verify().unwrap();
    assert_eq!(cassette.len() as u64, count);
    let exchange = cassette.exchange(7).unwrap();
    assert_eq!(exchange.request.target, "/7");
    let response = exchange.response.unwrap();
    assert_eq!((response.at_us, response.headers[0].value.to_vec()), (250_000, b"]},\"{[".to_vec()));
    let body = response.body.unwrap();
    assert!(body.bytes().iter().zip(0_u64..).all(|(&byte, at)| byte == (at * at + 7) as u8));
    assert_eq!(cassette.meta().unwrap()[0].value, "long");
    assert_eq!(folder.names(), ["long.cassette", "long.json"]);
}

/// What is in memory is counted as what it takes there, not as many times its text.
#[test]
fn a_report_is_opened_in_no_more_memory_than_it_takes() {
    let folder = Folder::new();
    let from = folder.join("long.json");
    let count = write_report(&from, 8 << 20);
    let (opened, form) = Cassette::open_any_with(&from, ReadOptions::default().bytes_max(4 << 20)).unwrap();
    assert_eq!((opened.len() as u64, form), (count, Form::Json));
    let error = Cassette::open_any_with(&from, ReadOptions::default().bytes_max(1 << 20)).unwrap_err();
    let FormError::TooMuch(excess) = &error else { panic!("{error}") };
    assert_eq!(excess.what, "the cassette with all of its bodies");
}

/// Ours, in gzip, and whole documents say the same in both ways.
#[test]
fn a_long_document_of_ours_is_read_alike() {
    let folder = Folder::new();
    let exchanges: Vec<_> = (0..12_000).map(of_the_report).collect();
    let content = Content { exchanges, meta: vec![Note::new("name", "a \"[{ name")] };
    for name in ["a.json", "a.json.gz"] {
        content.write(folder.join(name), SealOptions::default().keep_secrets()).unwrap();
        assert_eq!(Content::read(folder.join(name)).unwrap(), content, "{name}");
        let to = folder.join("a.cassette");
        let keep = SealOptions::default().keep_secrets();
        let sealed = seal_document(folder.join(name), &to, keep, ReadOptions::default(), &mut |_| {}).unwrap();
        assert!(matches!(sealed, SealedDocument::Sealed(_)), "{name}: {sealed:?}");
        assert_eq!(Content::read(&to).unwrap(), content, "{name}");
    }
    assert!(fs::metadata(folder.join("a.json.gz")).unwrap().len() > 256 << 10, "it is long, too");
}

#[test]
fn what_is_wrong_in_a_long_document_is_said_with_its_place() {
    let folder = Folder::new();
    let (from, to) = (folder.join("long.json"), folder.join("long.cassette"));
    write_report(&from, 5 << 20);
    let text = fs::read_to_string(&from).unwrap();
    let seal = |text: &str| {
        fs::write(&from, text).unwrap();
        let sealed = seal_document(&from, &to, SealOptions::default(), ReadOptions::default(), &mut |_| {});
        assert!(!to.exists() && folder.names() == ["long.json"], "{:?}", folder.names());
        sealed.unwrap_err().to_string()
    };
    let error = seal(&text.replacen("/3\",\"headers\":{}", "/3\",\"headers\":[]", 1));
    assert!(error.contains("expected a map at line 4 column 83, in number 3 of \"interactions\""), "{error}");
    let error = seal(&text.replacen("\"url\":\"https://frogs.example/3\"", "\"url\":\"frogs\"", 1));
    assert!(error.contains("\"frogs\" is not a URL of HTTP at line 4 column 1"), "{error}");
    let error = seal(&text.replacen(",\n", ",,\n", 1));
    assert!(error.contains("`,` is not expected between elements of \"interactions\" at line 1"), "{error}");
    let error = seal(&text[..text.len() - 2]);
    assert!(error.contains("the list \"interactions\" has no end at line"), "{error}");
    let error = seal(&text[..text.len() - 100_000]);
    assert!(error.contains("the list \"interactions\" has no end at line"), "{error}");
    let error = seal(&text[..text.len() - 1]);
    assert!(error.contains("EOF while parsing an object"), "{error}");
    let error = seal(&text.replacen("\"Http\"", "\"Telnet\"", 1));
    assert!(error.contains("unknown variant `Telnet`"), "{error}");
}

/// A secret of a known form keeps it from being sealed, wherever it is.
#[test]
fn a_long_document_with_a_secret_is_not_sealed() {
    let folder = Folder::new();
    let (from, to) = (folder.join("long.json"), folder.join("long.cassette"));
    write_report(&from, 5 << 20);
    let text = fs::read_to_string(&from).unwrap();
    let secret = "/3\",\"headers\":{\"Authorization\":\"Bearer 0123456789-croak-9876543210\"}";
    fs::write(&from, text.replacen("/3\",\"headers\":{}", secret, 1)).unwrap();
    let seal = |options| seal_document(&from, &to, options, ReadOptions::default(), &mut |_| {});
    let error = seal(SealOptions::default()).unwrap_err();
    assert!(matches!(error, FormError::Seal(_)), "{error}");
    assert_eq!(folder.names(), ["long.json"]);
    assert!(matches!(seal(SealOptions::default().keep_secrets()), Ok(SealedDocument::Sealed(_))));
}

/// A document whose order is another, and one of another kind, is read whole.
#[test]
fn other_documents_are_read_otherwise() {
    let folder = Folder::new();
    let (from, to) = (folder.join("a.json"), folder.join("a.cassette"));
    let filler = "x".repeat(5 << 20);
    let documents = [
        format!("{{\"interactions\":[{{}}],\"name\":\"{filler}\"}}"),
        format!("{{\"log\":{{\"entries\":[]}},\"x\":\"{filler}\"}}"),
        format!("{{\"http_interactions\":[],\"x\":\"{filler}\"}}"),
        format!("{{\"x\":\"{filler}\",\"name\":\"a\",\"interactions\":[]}}"),
        filler,
    ];
    for document in documents {
        fs::write(&from, &document).unwrap();
        let sealed = seal_document(&from, &to, SealOptions::default(), ReadOptions::default(), &mut |_| {});
        assert_eq!(sealed.unwrap(), SealedDocument::Otherwise, "{}", &document[..40]);
        assert_eq!(folder.names(), ["a.json"]);
    }
    // Exchanges that are not in the order of their numbers.
    let exchanges: Vec<_> = (0..12_000).rev().map(of_the_report).collect();
    let content = Content { exchanges, meta: Vec::new() };
    fs::write(&from, content.to_json(true).unwrap()).unwrap();
    let keep = SealOptions::default().keep_secrets();
    let sealed = seal_document(&from, &to, keep, ReadOptions::default(), &mut |_| {});
    assert_eq!(sealed.unwrap(), SealedDocument::Otherwise);
    assert_eq!(Cassette::open_any(&from).unwrap().0.exchange(0).unwrap().number, 0);
}

/// What a document says after its exchanges is counted before it is read, as in a short document.
#[test]
fn the_rest_of_a_long_document_is_limited_by_what_is_made_of_it() {
    let folder = Folder::new();
    let (from, to) = (folder.join("long.json.gz"), folder.join("long.cassette"));
    write_report(&folder.join("long.json"), 5 << 20);
    let text = fs::read_to_string(folder.join("long.json")).unwrap();
    let notes = "[\"\",\"\"],".repeat(1 << 19);
    let content = Content { exchanges: (0..12_000).map(of_the_report).collect(), meta: Vec::new() };
    let ours = String::from_utf8(content.to_json(false).unwrap()).unwrap().replacen("\"meta\":[],", "", 1);
    let ours = ours.strip_suffix('}').unwrap();
    let theirs = text.strip_suffix('}').unwrap();
    let documents =
        [format!("{ours},\"meta\":[{notes}[\"\",\"\"]]}}"), format!("{theirs},\"cookies\":[{notes}[\"\",\"\"]]}}")];
    let keep = || SealOptions::default().keep_secrets();
    for document in documents {
        fs::write(&from, document).unwrap();
        let error = seal_document(&from, &to, keep(), ReadOptions::default().bytes_max(16 << 20), &mut |_| {});
        let error = error.unwrap_err();
        let FormError::TooMuch(excess) = &error else { panic!("{error}") };
        assert_eq!(excess.what, "what the document becomes in memory");
        assert!(!to.exists());
    }
    // Numbers of cookies are no more than their text.
    let numbers = "0,".repeat(1 << 20);
    fs::write(&from, format!("{theirs},\"cookies\":{{\"b\": [{numbers}0], \"a\": 1}}}}")).unwrap();
    seal_document(&from, &to, keep(), ReadOptions::default().bytes_max(16 << 20), &mut |_| {}).unwrap();
    let cassette = Cassette::open(&to).unwrap();
    let meta = cassette.meta().unwrap();
    let cookies = &meta.iter().find(|note| note.name == "report.cookies").unwrap().value;
    assert_eq!(*cookies, *format!("{{\"b\":[{numbers}0],\"a\":1}}"));
}

/// Only the list that was found to be that of the document has exchanges.
#[test]
fn a_second_list_of_another_name_has_no_exchanges() {
    let folder = Folder::new();
    let (from, to) = (folder.join("long.json"), folder.join("long.cassette"));
    let count = write_report(&from, 5 << 20);
    let text = fs::read_to_string(&from).unwrap();
    let content = Content { exchanges: vec![of_the_report(0)], meta: Vec::new() };
    let ours = String::from_utf8(content.to_json(false).unwrap()).unwrap();
    let list = &ours[ours.find("\"exchanges\"").unwrap()..];
    fs::write(&from, format!("{},{list}", text.strip_suffix('}').unwrap())).unwrap();
    let sealed = seal_document(&from, &to, SealOptions::default(), ReadOptions::default(), &mut |_| {}).unwrap();
    let SealedDocument::Sealed(counts) = sealed else { panic!("it is long") };
    assert_eq!(counts.exchanges, count);
}

#[test]
fn a_long_document_may_begin_with_a_mark() {
    let folder = Folder::new();
    let (from, to) = (folder.join("long.json"), folder.join("long.cassette"));
    let keep = || SealOptions::default().keep_secrets();
    let content = Content { exchanges: (0..12_000).map(of_the_report).collect(), meta: Vec::new() };
    fs::write(&from, [b"\xEF\xBB\xBF", content.to_json(true).unwrap().as_slice()].concat()).unwrap();
    let sealed = seal_document(&from, &to, keep(), ReadOptions::default(), &mut |_| {}).unwrap();
    assert!(matches!(sealed, SealedDocument::Sealed(_)), "{sealed:?}");
    assert_eq!(Content::read(&to).unwrap(), content);
    assert_eq!(Content::read(&from).unwrap(), content);
}

/// What got the name while the document was read stays, if that is asked for.
#[test]
fn what_comes_there_meanwhile_is_not_replaced() {
    let folder = Folder::new();
    let (from, to) = (folder.join("long.json"), folder.join("long.cassette"));
    write_report(&from, 5 << 20);
    let seal =
        |options| seal_document(&from, &to, options, ReadOptions::default(), &mut |_| fs::write(&to, "frogs").unwrap());
    let error = seal(SealOptions::default().keep_existing()).unwrap_err();
    assert!(matches!(&error, FormError::Seal(SealError::Exists(name)) if name == "long.cassette"), "{error}");
    assert_eq!(fs::read(&to).unwrap(), b"frogs");
    assert_eq!(folder.names(), ["long.cassette", "long.json"]);
    assert!(matches!(seal(SealOptions::default()), Ok(SealedDocument::Sealed(_))));
    Cassette::open(&to).unwrap();
}
