//! Cassettes from cassettes: what is written exchange by exchange is what was written at once.

use crate::exchanges::{Folder, exchanges, of_the_report, with_everything};
use cassette::redact::Redaction;
use cassette::{
    Body, Cassette, Chunk, Content, Exchange, Header, KeyScheme, Note, SealError, SealOptions, Selection, merge,
    write_cassette,
};
use proptest::prelude::*;
use std::io::Write;
use std::path::Path;
use std::process::Command;

fn keeps_secrets() -> SealOptions {
    SealOptions::new(KeyScheme::target()).keep_secrets()
}

fn content(path: &Path) -> Content {
    Content::of_cassette(&Cassette::open(path).unwrap()).unwrap()
}

/// One whose body goes in fragments: chunks of all kinds, one of them longer than a piece of a cassette.
fn long(number: u64, text: &str) -> Exchange<'static> {
    let bytes = text.repeat((2 << 20) / text.len()).into_bytes();
    let lengths = [10, 0, 700_000, 1, bytes.len() - 700_011];
    let chunks = lengths.iter().zip(5..).map(|(&bytes, at_us)| Chunk { at_us, bytes }).collect();
    let mut exchange = Exchange { number, ..with_everything(number) };
    let length = Header::new("Content-Length", bytes.len().to_string());
    let response = exchange.response.as_mut().unwrap();
    response.headers = vec![length];
    response.body = Body::from_parts(bytes, chunks);
    exchange
}

#[test]
fn a_copy_is_what_it_was_copied_from() {
    let folder = Folder::new();
    let exchanges =
        [with_everything(1), long(4, "croak "), of_the_report(9), Exchange { number: 10, ..Exchange::default() }];
    write_cassette(folder.join("a"), &exchanges, &[Note::new("name", "a")], keeps_secrets()).unwrap();
    let cassette = Cassette::open(folder.join("a")).unwrap();
    let selection = Selection::of(&cassette).unwrap();
    selection.write(folder.join("b"), keeps_secrets()).unwrap();
    assert_eq!(content(&folder.join("b")), content(&folder.join("a")));
    assert_eq!(selection.content().unwrap(), content(&folder.join("a")));
    assert_eq!(std::fs::read(folder.join("b")).unwrap().len(), std::fs::read(folder.join("a")).unwrap().len());
}

#[test]
fn a_secret_in_a_long_body_is_not_copied() {
    let folder = Folder::new();
    let key = "sk-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL";
    let exchange = long(0, &format!("{{\"croak\": \"{key}\"}}\n"));
    write_cassette(folder.join("a"), std::slice::from_ref(&exchange), &[], keeps_secrets()).unwrap();
    let cassette = Cassette::open(folder.join("a")).unwrap();
    let selection = Selection::of(&cassette).unwrap();
    let refused = selection.write(folder.join("b"), KeyScheme::target());
    assert!(matches!(refused, Err(SealError::Secret(_))), "{refused:?}");
    assert_eq!(folder.names(), ["a"]);

    let redaction = Redaction::usual();
    let mut found = Vec::new();
    let told = |number, redacted: cassette::redact::Redacted| {
        found.extend(redacted.findings.into_iter().map(|one| (number, one)))
    };
    selection.write_redacted(folder.join("b"), KeyScheme::target(), &redaction, told).unwrap();
    let mut whole = exchange;
    let findings = redaction.exchange(&mut whole).findings;
    assert_eq!(found.len(), findings.len());
    let written = content(&folder.join("b")).exchanges.swap_remove(0);
    let (response, expected) = (written.response.unwrap(), whole.response.unwrap());
    assert_eq!(response.body_bytes(), expected.body_bytes());
    assert_eq!(response.headers, expected.headers);
    assert_eq!(response.body.unwrap().chunks().len(), expected.body.unwrap().chunks().len());
    assert_eq!((written.request, written.frames), (whole.request, whole.frames));
}

#[test]
fn what_is_not_readable_is_not_copied() {
    let folder = Folder::new();
    write_cassette(folder.join("a"), &[long(0, "croak ")], &[], keeps_secrets()).unwrap();
    let mut bytes = std::fs::read(folder.join("a")).unwrap();
    bytes[40] ^= 1;
    std::fs::write(folder.join("a"), bytes).unwrap();
    let cassette = Cassette::open(folder.join("a")).unwrap();
    let copied =
        Selection::of(&cassette).map_err(SealError::from).and_then(|all| all.write(folder.join("b"), keeps_secrets()));
    assert!(matches!(copied, Err(SealError::Unreadable(_))), "{copied:?}");
    assert_eq!(folder.names(), ["a"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The obvious way is to have everything in memory.
    #[test]
    fn merging_is_merging_in_memory(one in exchanges(8), other in exchanges(8), shared in exchanges(4)) {
        let folder = Folder::new();
        let numbered = |exchanges: Vec<&Exchange<'static>>| -> Vec<Exchange<'static>> {
            exchanges.into_iter().zip(0..).map(|(exchange, number)| Exchange { number, ..exchange.clone() }).collect()
        };
        let cassettes = [numbered(one.iter().chain(&shared).collect()), numbered(shared.iter().chain(&other).collect())];
        for (name, exchanges) in ["a", "b"].into_iter().zip(&cassettes) {
            write_cassette(folder.join(name), exchanges, &[Note::new("name", name)], keeps_secrets()).unwrap();
        }
        let opened = ["a", "b"].map(|name| Cassette::open(folder.join(name)).unwrap());
        let (selection, duplicates) = Selection::merged(&opened).unwrap();
        let expected = merge(["a", "b"].map(|name| content(&folder.join(name))).into());
        prop_assert_eq!(duplicates, expected.duplicates);
        prop_assert_eq!(&selection.content().unwrap(), &expected.content);
        selection.write(folder.join("c"), keeps_secrets()).unwrap();
        prop_assert_eq!(content(&folder.join("c")), expected.content);
    }
}

/// The bytes of a body whose chunks are all different: more than copying it may take.
fn long_bytes() -> usize {
    if std::env::var_os("METROON_EXHAUSTIVE").is_some() { 256 << 20 } else { 96 << 20 }
}

const CHUNK_BYTES: usize = 64 << 10;
/// What copying, merging and redacting it may take.
const MEMORY_BYTES_MAX: u64 = 60 << 20;
/// Where the child finds its cassette, if this is the child.
const CHILD: &str = "METROON_CASSETTE_LONG_COPY";

/// The most memory that work takes which is not pages of files, in bytes.
fn memory_of(work: impl FnOnce() + Send) -> u64 {
    let now = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    };
    std::thread::scope(|scope| {
        let working = scope.spawn(work);
        let mut most = 0;
        while !working.is_finished() {
            most = most.max(now());
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        working.join().unwrap();
        most
    })
}

/// Does nothing unless a parent asks for it.
#[test]
fn long_copy_child() {
    let Some(folder) = std::env::var_os(CHILD).map(std::path::PathBuf::from) else { return };
    let cassette = Cassette::open(folder.join("a")).unwrap();
    let copy = memory_of(|| Selection::of(&cassette).unwrap().write(folder.join("b"), KeyScheme::target()).unwrap());
    let merged = memory_of(|| {
        let (selection, duplicates) = Selection::merged([&cassette, &cassette]).unwrap();
        assert_eq!(duplicates, 1);
        selection.write(folder.join("c"), KeyScheme::target()).unwrap();
    });
    let redaction = Redaction::usual();
    let redacted = memory_of(|| {
        let selection = Selection::of(&cassette).unwrap();
        selection.write_redacted(folder.join("d"), KeyScheme::target(), &redaction, |_, _| {}).unwrap();
    });
    for name in ["b", "c", "d"] {
        assert_eq!(Cassette::open(folder.join(name)).unwrap().summary().sealed_body_bytes, long_bytes() as u64);
    }
    writeln!(std::io::stdout(), "took {} {copy} {merged} {redacted}", copy.max(merged).max(redacted)).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_long_body_goes_from_cassette_to_cassette_in_fragments() {
    let folder = Folder::new();
    {
        let options = cassette::RecorderOptions::default();
        let recorder = cassette::Recorder::open(folder.join("a"), options).unwrap();
        let call = recorder.begin(0, &of_the_report(0).request.head()).unwrap();
        let headers = vec![Header::new("content-type", "application/octet-stream")];
        call.response(&cassette::Response { status: 200, headers, body: Some(Body::default()), ..Default::default() })
            .unwrap();
        let mut chunk = vec![b' '; CHUNK_BYTES];
        for number in 0..long_bytes() / CHUNK_BYTES {
            chunk[..8].copy_from_slice(format!("{number:08}").as_bytes());
            call.response_chunk(number as u64, &chunk).unwrap();
        }
        call.end(cassette::ExchangeEnd::default()).unwrap();
        recorder.finish().unwrap();
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["selecting::long_copy_child", "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, folder.join(""))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout).into_owned();
    assert!(child.status.success(), "{said}{}", String::from_utf8_lossy(&child.stderr));
    let took = said.lines().find_map(|line| line.split_once("took ")?.1.split(' ').next()?.parse::<u64>().ok());
    assert!(took.is_some_and(|bytes| bytes < MEMORY_BYTES_MAX), "{said}");
}
