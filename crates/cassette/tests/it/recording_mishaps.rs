//! What is done in the wrong order, too late, twice or too long is an error to who does it, and harms nothing else.

use crate::exchanges::{Folder, of_the_report};
use cassette::redact::RedactionRules;
use cassette::{
    Body, Cassette, Direction, Exchange, ExchangeEnd, Header, KeyScheme, Note, Opcode, Outcome, RecordError, Recorder,
    RecorderOptions, Request, Response, SealError, TryRecordError, WsFrame, write_cassette,
};
use journal::{Durability, Journal, SingleFile};
use std::path::Path;
use std::sync::Arc;

fn open(path: &Path) -> Recorder {
    Recorder::open(path, RecorderOptions::default().keep_secrets()).unwrap()
}

fn all(path: &Path) -> Vec<Exchange<'static>> {
    let cassette = Cassette::open(path).unwrap();
    cassette.verify().unwrap();
    cassette.exchanges().map(|exchange| exchange.unwrap().into_owned()).collect()
}

#[test]
fn nothing_is_recorded_again_and_again() {
    let folder = Folder::new();
    let path = folder.join("empty.cassette");
    for _ in 0..3 {
        open(&path).finish().unwrap();
        assert_eq!(folder.names(), ["empty.cassette"]);
    }
    open(&path).stop().unwrap();
    let cassette = Cassette::open(&path).unwrap();
    assert!(cassette.is_empty() && cassette.is_sealed());
    let recorder = open(&path);
    recorder.record(of_the_report(0)).unwrap();
    recorder.finish().unwrap();
    assert_eq!(all(&path), [of_the_report(0)]);
    // The times of a cassette without exchanges count for nothing.
    let summary = Cassette::open(&path).unwrap().summary();
    assert_eq!((summary.first_started_ns, summary.last_started_ns), [of_the_report(0).started_ns; 2].into());
    let before = std::fs::read(&path).unwrap();
    open(&path).finish().unwrap();
    assert_eq!((std::fs::read(&path).unwrap(), folder.names()), (before, vec!["empty.cassette".to_owned()]));
}

#[test]
fn what_is_told_after_the_end_is_refused() {
    let folder = Folder::new();
    let recorder = open(&folder.join("over.cassette"));
    let call = recorder.begin(0, &of_the_report(0).request).unwrap();
    recorder.finish().unwrap();
    assert!(matches!(call.response_chunk(1, b"late"), Err(RecordError::Closed)));
    let error = call.end(ExchangeEnd::default()).unwrap_err().to_string();
    assert_eq!(error, "the recorder was finished or stopped; end what is recorded before that");
}

/// Of many, each larger than the queue, none waits for ever when the recorder stops.
#[test]
fn who_waits_for_room_is_told_of_the_end() {
    let folder = Folder::new();
    let options = RecorderOptions::default().keep_secrets().queue_bytes(1);
    let recorder = Recorder::open(folder.join("full.cassette"), options).unwrap();
    let call = recorder.begin(0, &of_the_report(0).request).unwrap();
    std::thread::scope(|scope| {
        let told = scope.spawn(|| while call.response_chunk(1, b"more").is_ok() {});
        recorder.stop().unwrap();
        told.join().unwrap();
    });
}

#[test]
fn the_first_notes_wait_for_room() {
    let folder = Folder::new();
    let options = RecorderOptions::default().queue_bytes(1);
    let options = options.meta(Note::new("a", "1")).meta(Note::new("b", "2")).meta(Note::new("c", "3"));
    Recorder::open(folder.join("notes.cassette"), options).unwrap().finish().unwrap();
    assert_eq!(Cassette::open(folder.join("notes.cassette")).unwrap().meta().unwrap().len(), 3);
}

fn growing() -> RecorderOptions {
    let rules = RedactionRules { patterns: vec!["x".to_owned()], without_usual: true, ..RedactionRules::default() };
    RecorderOptions::default().redaction(Arc::new(rules.compile().unwrap()))
}

#[test]
fn redaction_may_make_an_exchange_longer_than_a_frame() {
    let folder = Folder::new();
    let path = folder.join("grown.cassette");
    let recorder = Recorder::open(&path, growing()).unwrap();
    let mut exchange = of_the_report(0);
    exchange.response.as_mut().unwrap().body = Some(Body::new(1, vec![b'x'; 3 << 20]));
    recorder.record(exchange).unwrap();
    recorder.record(of_the_report(1)).unwrap();
    recorder.finish().unwrap();
    let [grown, other] = all(&path).try_into().unwrap();
    let body = grown.response.unwrap().body.unwrap();
    assert_eq!((body.bytes().len(), body.chunks().len()), (24 << 20, 1));
    assert_eq!((grown.outcome, other.number), (Outcome::Complete, 1));
}

#[test]
fn a_part_that_redaction_makes_too_long_is_left_out() {
    let folder = Folder::new();
    let path = folder.join("cut.cassette");
    let recorder = Recorder::open(&path, growing()).unwrap();
    let mut exchange = of_the_report(0);
    exchange.request.headers.push(Header::new("long", vec![b'x'; 3 << 20]));
    recorder.record(exchange).unwrap();
    recorder.record(of_the_report(1)).unwrap();
    recorder.finish().unwrap();
    let [cut, other] = all(&path).try_into().unwrap();
    assert_eq!((cut.outcome, cut.request.headers), (Outcome::Truncated, vec![]));
    assert_eq!((cut.request.target, cut.response), (of_the_report(0).request.target, of_the_report(0).response));
    assert_eq!(other.outcome, Outcome::Complete);
}

/// With secrets kept and taken out; a compressed request waits, and its beginning with it.
#[test]
fn frames_of_what_was_not_opened_spoil_nothing() {
    for options in [RecorderOptions::default().keep_secrets(), RecorderOptions::default()] {
        let folder = Folder::new();
        let path = folder.join("ws.cassette");
        let recorder = Recorder::open(&path, options).unwrap();
        let headers = vec![Header::new("Content-Encoding", "gzip")];
        let request = Request { headers, body: Some(Body::new(0, "no gzip")), ..of_the_report(0).request };
        let call = recorder.begin(9, &request).unwrap();
        call.response_chunk(1, b"too early").unwrap();
        call.frame(&WsFrame::new(1, Direction::Sent, Opcode::TEXT, "hello")).unwrap();
        recorder.sync(Durability::Os).unwrap();
        recorder.record(of_the_report(1)).unwrap();
        call.response(&Response::default()).unwrap();
        call.end(ExchangeEnd::default()).unwrap();
        recorder.sync(Durability::Os).unwrap();
        let check = || {
            let found = all(&path);
            assert_eq!((found.len(), found[0].started_ns, found[0].frames.as_ref().unwrap().len()), (2, 9, 1));
            assert_eq!(found[1].number, 1);
        };
        check();
        recorder.finish().unwrap();
        check();
    }
}

#[test]
fn numbers_that_may_be_taken_are_refused() {
    let folder = Folder::new();
    let recorder = open(&folder.join("numbers.cassette"));
    let of = |number| Exchange { number, ..of_the_report(number) };
    let started = recorder.start();
    assert_eq!(recorder.try_record(of(77)).unwrap(), 1);
    assert!(recorder.try_record_started(of(started)).is_ok());
    for taken in [started, 1] {
        assert!(matches!(recorder.record_started(of(taken)), Err(RecordError::NumberTaken(number)) if number == taken));
        let error = recorder.try_record_started(of(taken)).unwrap_err();
        assert!(matches!(error, TryRecordError::Failed(RecordError::NumberTaken(_))), "{error}");
    }
    let long = Exchange { notes: vec![Note::new("long", vec![0; 5 << 20])], ..of(0) };
    assert!(matches!(recorder.record_started(long), Err(RecordError::NumberTaken(0))));
    recorder.record_started(of(5)).unwrap();
    assert_eq!(recorder.record(of(0)).unwrap(), 6);
    recorder.finish().unwrap();
    let numbers: Vec<_> = all(&folder.join("numbers.cassette")).iter().map(|exchange| exchange.number).collect();
    assert_eq!(numbers, [0, 1, 5, 6]);
}

#[test]
fn a_recording_with_one_number_twice_is_read_and_not_sealed() {
    let folder = Folder::new();
    let path = folder.join("twice.cassette");
    let disk = Arc::new(SingleFile::create(folder.join("twice.cassette.recording")).unwrap());
    let (journal, _) = Journal::open(disk, journal::Options::default()).unwrap();
    for started_ns in 0..2 {
        let mut frame = Vec::new();
        Exchange { number: 3, started_ns, ..of_the_report(3) }.encode(&mut frame);
        journal.append(&frame, Durability::Os).unwrap();
    }
    journal.close().unwrap();
    assert_eq!(Cassette::open(&path).unwrap().len(), 2);
    let error = Recorder::open(&path, RecorderOptions::default()).unwrap_err();
    assert!(matches!(error, RecordError::Seal(SealError::SameNumber(3))), "{error}");
    assert_eq!(folder.names(), ["twice.cassette.recording"]);
}

/// No exchange has the last number, so there is always a next one.
#[test]
fn numbers_end() {
    let folder = Folder::new();
    let path = folder.join("last.cassette");
    write_cassette(&path, &[Exchange { number: u64::MAX, ..of_the_report(0) }], &[], KeyScheme::target()).unwrap();
    let recorder = open(&path);
    assert!(matches!(recorder.record(of_the_report(0)), Err(RecordError::NoNumbersLeft)));
    assert!(matches!(recorder.begin(0, &of_the_report(0).request), Err(RecordError::NoNumbersLeft)));
    let number = recorder.start();
    let exchange = Exchange { number, ..of_the_report(0) };
    assert!(matches!(recorder.record_started(exchange), Err(RecordError::NoNumbersLeft)));
    recorder.finish().unwrap();
    assert_eq!(all(&path).len(), 1);
}

#[test]
fn verify_looks_at_the_index() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let exchanges: Vec<_> = (0..100).map(of_the_report).collect();
    write_cassette(&path, &exchanges, &[], KeyScheme::target()).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    // Behind the index are 144 bytes of trailer, one of meta, and one entry each of rows and pieces at most.
    let at = bytes.len() - 144 - 1 - 24 - 100;
    bytes[at] ^= 1;
    let cassette = Cassette::from_bytes(bytes, "a.cassette").unwrap();
    assert!(cassette.exchanges().all(|exchange| exchange.is_ok()));
    assert!(cassette.verify().is_err());
}

#[test]
fn a_cassette_that_cannot_be_added_to_leaves_nothing_half_made() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    write_cassette(&path, &[of_the_report(0)], &[], KeyScheme::target()).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    // The first byte of the first block.
    bytes[24] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let recorder = open(&path);
    recorder.record(of_the_report(1)).unwrap();
    assert!(matches!(recorder.finish(), Err(RecordError::Seal(SealError::Unreadable(_)))));
    assert_eq!(folder.names(), ["a.cassette", "a.cassette.recording"]);
}
