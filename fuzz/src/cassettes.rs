//! Bytes that are said to be a cassette, of every form.
//!
//! 1. They are read. Whatever they are, this ends with an error or with exchanges, in memory that does not depend on what they claim.
//! 2. What was read is written in the same form, and read again: it must be the same. HAR and VCR say what they lose, and what
//!    they write must be read.
//!
//! Each says whether anything was read, so that a test knows that its files are not refused at the door.
//!
//! Checksums would stop everything: those of a sealed cassette are put right first, and frames of a recording are written by a journal.
//! This file is compiled by the fuzz targets and by the tests of cassette, which run it on changed copies of good files.

use std::ops::Range;
use std::sync::Arc;

use cassette::matching::{MatchRules, Player, Repeats};
use cassette::{Cassette, Content, KeyScheme, VcrStyle};
use journal::{Durability, Journal, MemoryDisk, Options};

/// Says whether anything was read.
type Read = fn(&[u8]) -> bool;

/// Every form by the name of its target, and what reads it.
const FORMS: [(&str, Read); 8] = [
    ("cassette", cassette),
    ("recording", recording),
    ("json", json),
    ("msgpack", msgpack),
    ("text", text),
    ("har", har),
    ("vcr_yaml", vcr_yaml),
    ("vcr_json", vcr_json),
];

/// Reads bytes as the form of this name; whether there was anything to read.
pub(crate) fn run(form: &str, bytes: &[u8]) -> bool {
    let read = FORMS.iter().find(|(name, _)| *name == form).map(|(_, read)| read);
    read.expect("the form is one of the table")(bytes)
}

/// A sealed cassette.
fn cassette(bytes: &[u8]) -> bool {
    let mut bytes = bytes.to_vec();
    put_checksums_right(&mut bytes);
    let cassette = Cassette::from_bytes(bytes, "a.cassette");
    cassette.iter().for_each(look_at);
    cassette.is_ok()
}

/// Frames of a recording, each behind its length in two bytes.
fn recording(mut bytes: &[u8]) -> bool {
    let disk = Arc::new(MemoryDisk::new());
    let Ok((journal, _)) = Journal::open(disk.clone(), Options::default()) else { return false };
    while let Some((length, rest)) = bytes.split_first_chunk::<2>() {
        let (frame, rest) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
        if journal.append(frame, Durability::Os).is_err() {
            return false;
        }
        bytes = rest;
    }
    if journal.close().is_err() {
        return false;
    }
    let cassette = Cassette::from_recording(disk, "a.cassette.recording");
    cassette.iter().for_each(look_at);
    cassette.is_ok()
}

/// Asks a cassette for everything that it has.
fn look_at(cassette: &Cassette) {
    let _ = (cassette.verify(), cassette.meta(), cassette.summary());
    for exchange in cassette.exchanges().flatten() {
        let _ = cassette.find(&KeyScheme::target(), &exchange.request);
    }
    let Some(last) = cassette.len().checked_sub(1) else { return };
    if let (Ok(player), Ok(exchange)) =
        (Player::new(cassette, MatchRules::default(), Repeats::Last), cassette.exchange(last))
    {
        let _ = player.find(&exchange.request);
    }
}

const HEADER_BYTES: usize = 24;
const TRAILER_BYTES: usize = 144;

/// Makes every checksum of a sealed cassette that of what is there, as far as its parts are where they should be.
fn put_checksums_right(bytes: &mut [u8]) {
    let Some(trailer) = bytes.len().checked_sub(TRAILER_BYTES).filter(|&at| at >= HEADER_BYTES) else { return };
    put(bytes, 0..20, 20);
    let length = bytes.len() as u64;
    bytes[trailer..trailer + 8].copy_from_slice(&length.to_le_bytes());
    if let Some(sections) = sections(bytes, trailer) {
        let entries = [&sections[1], &sections[2]].into_iter().flat_map(|directory| directory.clone().step_by(24));
        for entry in entries.collect::<Vec<_>>() {
            let (offset, stored) = (u32_at(bytes, entry), u32_at(bytes, entry + 12));
            if offset.checked_add(stored).is_some_and(|end| end <= bytes.len()) {
                put(bytes, offset..offset + stored, entry + 20);
            }
        }
        for (section, at) in sections.into_iter().zip([64, 68, 72, 76, 80]) {
            put(bytes, section, trailer + at);
        }
    }
    put(bytes, trailer..trailer + 132, trailer + 132);
}

/// Where index, row blocks, piece blocks, pieces and meta lie, if there is room for them: they end where the trailer begins.
fn sections(bytes: &[u8], trailer: usize) -> Option<[Range<usize>; 5]> {
    let [rows, row_blocks, piece_blocks, pieces, meta] = [40, 44, 48, 52, 56].map(|at| u32_at(bytes, trailer + at));
    let row_bytes = (1..4).find(|&width| rows <= 1 << (8 * width)).unwrap_or(4);
    let lengths = [rows * (4 + row_bytes), row_blocks * 24, piece_blocks * 24, pieces * 28, meta];
    let mut begin = trailer.checked_sub(lengths.iter().sum())?;
    Some(lengths.map(|length| {
        begin += length;
        begin - length..begin
    }))
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    bytes[at..].first_chunk().map_or(0, |number| u32::from_le_bytes(*number) as usize)
}

/// Puts the checksum of a range.
fn put(bytes: &mut [u8], range: Range<usize>, at: usize) {
    let checksum = crc32c::crc32c(&bytes[range]);
    bytes[at..at + 4].copy_from_slice(&checksum.to_le_bytes());
}

/// JSON.
fn json(bytes: &[u8]) -> bool {
    let Ok(content) = Content::from_json(bytes) else { return false };
    let again = content.to_json(true).expect("what was read can be written");
    assert_eq!(Content::from_json(&again).expect("what was written can be read"), content);
    true
}

/// MessagePack.
fn msgpack(bytes: &[u8]) -> bool {
    let Ok(content) = Content::from_msgpack(bytes) else { return false };
    let again = content.to_msgpack().expect("what was read can be written");
    assert_eq!(Content::from_msgpack(&again).expect("what was written can be read"), content);
    true
}

/// Text in lines.
fn text(bytes: &[u8]) -> bool {
    let Ok(content) = Content::from_text(bytes) else { return false };
    let again = content.to_text();
    assert_eq!(Content::from_text(again.as_bytes()).expect("what was written can be read"), content);
    true
}

/// HAR.
fn har(bytes: &[u8]) -> bool {
    let content = Content::from_har(bytes);
    content.iter().for_each(convert);
    content.is_ok()
}

/// Cassettes of VCR in YAML.
fn vcr_yaml(bytes: &[u8]) -> bool {
    let content = Content::from_vcr_yaml(bytes);
    content.iter().for_each(convert);
    content.is_ok()
}

/// Cassettes of VCR in JSON.
fn vcr_json(bytes: &[u8]) -> bool {
    let content = Content::from_vcr_json(bytes);
    content.iter().for_each(convert);
    content.is_ok()
}

/// Writes what was read in every form of others. Nothing is lost that is not said.
fn convert(content: &Content) {
    let (har, losses) = content.to_har().expect("what was read can be written");
    let back = Content::from_har(&har).expect("what was written can be read");
    assert_eq!(losses.is_empty(), back == *content, "{losses:?}");
    for style in [VcrStyle::Python, VcrStyle::Ruby] {
        let (yaml, losses) = content.to_vcr_yaml(style).expect("what was read can be written");
        let back = Content::from_vcr_yaml(&yaml).expect("what was written can be read");
        assert_eq!(losses.is_empty(), back == *content, "{losses:?}");
        let (json, losses) = content.to_vcr_json(style).expect("what was read can be written");
        let back = Content::from_vcr_json(&json).expect("what was written can be read");
        assert_eq!(losses.is_empty(), back == *content, "{losses:?}");
    }
}
