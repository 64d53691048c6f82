//! Whatever happens to the bytes of a cassette: the right content or a precise error.

use crate::exchanges::{Folder, of_the_report, with_everything};
use cassette::{Body, Cassette, Exchange, KeyScheme, Note, Recorder, RecorderOptions, write_cassette};
use journal::{Disk, Durability, MemoryDisk};
use std::sync::Arc;

fn some() -> Vec<Exchange<'static>> {
    let mut long = of_the_report(2);
    long.response.as_mut().unwrap().body = Some(Body::new(1, b"all the same ".repeat(300)));
    vec![with_everything(0), of_the_report(1), long]
}

fn sealed_bytes() -> Vec<u8> {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    write_cassette(&path, &some(), &[Note::new("name", "a")], KeyScheme::target()).unwrap();
    std::fs::read(path).unwrap()
}

/// Everything that is on a cassette, if all of it can be read.
fn read(bytes: Vec<u8>) -> Option<(Vec<Exchange<'static>>, Vec<usize>)> {
    let cassette = Cassette::from_bytes(bytes, "a.cassette").ok()?;
    let exchanges: Result<Vec<_>, _> =
        cassette.exchanges().map(|exchange| exchange.map(Exchange::into_owned)).collect();
    let found = cassette.find(&KeyScheme::target(), &of_the_report(1).request);
    cassette.meta().ok()?;
    Some((exchanges.ok()?, found.ok()?))
}

#[test]
fn a_sealed_cassette_cut_anywhere_is_an_error() {
    let bytes = sealed_bytes();
    assert_eq!(read(bytes.clone()), Some((some(), vec![1])));
    for length in 0..bytes.len() {
        assert!(Cassette::from_bytes(bytes[..length].to_vec(), "a.cassette").is_err(), "{length}");
    }
    assert!(Cassette::from_bytes([&bytes[..], b"\0"].concat(), "a.cassette").is_err());
}

#[test]
fn a_flipped_bit_of_a_sealed_cassette_is_an_error() {
    let bytes = sealed_bytes();
    for bit in 0..8 * bytes.len() {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(read(flipped), None, "bit {bit}");
    }
}

fn recorded(folder: &Folder) -> Vec<u8> {
    let recorder = Recorder::open(folder.join("whole.cassette"), RecorderOptions::default().keep_secrets()).unwrap();
    for exchange in some() {
        recorder.record_sync(exchange, Durability::Os).unwrap();
    }
    let bytes = std::fs::read(folder.join("whole.cassette.recording")).unwrap();
    recorder.stop().unwrap();
    bytes
}

fn is_prefix_of_some(found: &[Exchange<'_>]) -> bool {
    some().iter().zip(found).all(|(one, other)| one == other) && found.len() <= 3
}

/// The exchanges of a recording of these bytes, if it can be read.
fn read_recording(bytes: &[u8]) -> Option<Vec<Exchange<'static>>> {
    let disk = MemoryDisk::new();
    disk.create("00000000000000000000.segment").unwrap().write_full(0, bytes).unwrap();
    let cassette = Cassette::from_recording(Arc::new(disk), "a recording").ok()?;
    Some(cassette.exchanges().map(|exchange| exchange.unwrap().into_owned()).collect())
}

#[test]
fn a_recording_cut_anywhere_is_a_prefix_or_an_error() {
    let bytes = recorded(&Folder::new());
    let mut lengths = Vec::new();
    for length in 0..=bytes.len() {
        if let Some(found) = read_recording(&bytes[..length]) {
            assert!(is_prefix_of_some(&found), "{length}");
            lengths.push(found.len());
        }
    }
    assert!(lengths.is_sorted());
    assert_eq!(lengths.last(), Some(&3));
}

#[test]
fn a_flipped_bit_of_a_recording_is_a_prefix_or_an_error() {
    let bytes = recorded(&Folder::new());
    for bit in 8 * 12288..8 * bytes.len() {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        if let Some(found) = read_recording(&flipped) {
            assert!(is_prefix_of_some(&found), "{bit}");
        }
    }
}
