//! What is recorded is there: sealed when the recording stops, as it was when it does not.

use crate::exchanges::{Folder, exchanges, of_the_report, with_everything};
use cassette::{
    Body, Cassette, Direction, Exchange, ExchangeEnd, Informational, Note, Opcode, Outcome, Recorder, RecorderOptions,
    Request, Response, TryRecordError, WsFrame,
};
use journal::Durability;
use proptest::prelude::*;

fn open(path: &std::path::Path) -> Recorder {
    Recorder::open(path, RecorderOptions::default().keep_secrets()).unwrap()
}

fn all(cassette: &Cassette) -> Vec<Exchange<'static>> {
    cassette.exchanges().map(|exchange| exchange.unwrap().into_owned()).collect()
}

#[test]
fn a_recording_becomes_a_cassette() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let options = RecorderOptions::default().keep_secrets().meta(Note::new("name", "a"));
    let recorder = Recorder::open(&path, options).unwrap();
    for number in 0..100 {
        assert_eq!(recorder.record(of_the_report(number)).unwrap(), number);
    }
    recorder.finish().unwrap();
    assert_eq!(folder.names(), ["a.cassette"]);
    let cassette = Cassette::open(&path).unwrap();
    assert_eq!(all(&cassette), (0..100).map(of_the_report).collect::<Vec<_>>());
    assert_eq!(cassette.meta().unwrap(), [Note::new("name", "a")]);
}

/// What happens piece by piece comes to the exchange that it is.
fn tell(recorder: &Recorder, exchange: &Exchange<'_>) {
    let request =
        Request { body: exchange.request.body.as_ref().map(|_| Body::default()), ..exchange.request.borrowed() };
    let call = recorder.begin(exchange.started_ns, &request).unwrap();
    for (at_us, bytes) in exchange.request.body.iter().flat_map(Body::pieces) {
        call.request_chunk(at_us, bytes).unwrap();
    }
    exchange
        .informational
        .iter()
        .for_each(|informational: &Informational<'_>| call.informational(informational).unwrap());
    if let Some(response) = &exchange.response {
        let body = response.body.as_ref().map(|_| Body::default());
        call.response(&Response { body, ..response.borrowed() }).unwrap();
        for (at_us, bytes) in response.body.iter().flat_map(Body::pieces) {
            call.response_chunk(at_us, bytes).unwrap();
        }
    }
    if let Some(frames) = &exchange.frames {
        call.open_websocket().unwrap();
        frames.iter().for_each(|frame| call.frame(frame).unwrap());
    }
    exchange.notes.iter().for_each(|note| call.note(note).unwrap());
    let ending = ExchangeEnd {
        ended_us: exchange.ended_us,
        request_trailers: exchange.request.trailers.clone(),
        response_trailers: exchange.response.as_ref().map_or(Vec::new(), |response| response.trailers.clone()),
        outcome: exchange.outcome.clone(),
    };
    call.end(ending).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn whole_or_in_pieces_it_is_the_same(exchanges in exchanges(6)) {
        let folder = Folder::new();
        let (whole, pieces) = (folder.join("whole"), folder.join("pieces"));
        let (one, other) = (open(&whole), open(&pieces));
        for exchange in &exchanges {
            one.record(exchange.clone()).unwrap();
            tell(&other, exchange);
        }
        one.sync(Durability::Os).unwrap();
        other.sync(Durability::Os).unwrap();
        let expected: Vec<_> = exchanges.into_iter().zip(0..).map(|(exchange, number)| Exchange { number, ..exchange }).collect();
        for path in [&whole, &pieces] {
            prop_assert_eq!(&all(&Cassette::open(path).unwrap()), &expected);
        }
        one.finish().unwrap();
        other.finish().unwrap();
        prop_assert_eq!(std::fs::read(&whole).unwrap().len(), std::fs::read(&pieces).unwrap().len());
        for path in [&whole, &pieces] {
            prop_assert_eq!(&all(&Cassette::open(path).unwrap()), &expected);
        }
    }
}

#[test]
fn crash_before_stop_keeps_recorded() {
    let folder = Folder::new();
    let path = folder.join("crashed.cassette");
    let recorder = open(&path);
    for number in 0..10 {
        recorder.record_sync(of_the_report(number), Durability::Os).unwrap();
    }
    // As after a crash: nothing but the recording is there.
    assert_eq!(folder.names(), ["crashed.cassette.recording"]);
    let copy = folder.join("copy.cassette.recording");
    std::fs::copy(folder.join("crashed.cassette.recording"), &copy).unwrap();
    drop(recorder);
    for path in [folder.join("copy.cassette"), copy.clone(), path] {
        let cassette = Cassette::open(path).unwrap();
        assert_eq!(all(&cassette), (0..10).map(of_the_report).collect::<Vec<_>>());
        assert!(!cassette.is_sealed());
    }
    let recorder = open(&folder.join("copy.cassette"));
    assert_eq!(recorder.record(of_the_report(10)).unwrap(), 10);
    recorder.finish().unwrap();
    assert_eq!(
        all(&Cassette::open(folder.join("copy.cassette")).unwrap()),
        (0..11).map(of_the_report).collect::<Vec<_>>()
    );
}

#[test]
fn what_is_not_over_is_partial() {
    let folder = Folder::new();
    let path = folder.join("partial.cassette");
    let recorder = open(&path);
    let call = recorder.begin(5, &of_the_report(0).request).unwrap();
    call.response(&Response { status: 200, body: Some(Body::new(3, "data: 1\n\n")), ..Response::default() }).unwrap();
    recorder.record(of_the_report(1)).unwrap();
    recorder.sync(Durability::Os).unwrap();
    let check = || {
        let cassette = Cassette::open(&path).unwrap();
        let first = cassette.exchange(0).unwrap();
        assert_eq!((first.outcome, first.ended_us), (Outcome::Partial, None));
        assert_eq!(first.response.unwrap().body_bytes(), b"data: 1\n\n");
        assert_eq!(cassette.exchange(1).unwrap(), of_the_report(1));
    };
    check();
    drop(call);
    recorder.finish().unwrap();
    check();
}

#[test]
fn a_sealed_cassette_is_added_to() {
    let folder = Folder::new();
    let path = folder.join("grows.cassette");
    for round in 0..4 {
        let recorder = open(&path);
        for number in round * 200..(round + 1) * 200 {
            assert_eq!(recorder.record(of_the_report(number)).unwrap(), number);
        }
        if round == 2 {
            recorder.stop().unwrap();
        } else {
            recorder.finish().unwrap();
        }
        let cassette = Cassette::open(&path).unwrap();
        assert_eq!(all(&cassette), (0..(round + 1) * 200).map(of_the_report).collect::<Vec<_>>());
        assert_eq!(cassette.is_sealed(), round != 2);
        cassette.verify().unwrap();
    }
    assert_eq!(folder.names(), ["grows.cassette"]);
}

#[test]
fn a_recording_that_was_sealed_is_not_there_twice() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let recorder = open(&path);
    recorder.record_sync(of_the_report(0), Durability::Os).unwrap();
    let kept = std::fs::read(folder.join("a.cassette.recording")).unwrap();
    recorder.finish().unwrap();
    // As if the power had failed before the recording was taken away.
    std::fs::write(folder.join("a.cassette.recording"), kept).unwrap();
    assert_eq!(Cassette::open(&path).unwrap().len(), 1);
    let recorder = open(&path);
    assert_eq!(recorder.record(of_the_report(1)).unwrap(), 1);
    recorder.finish().unwrap();
    assert_eq!(all(&Cassette::open(&path).unwrap()), [of_the_report(0), of_the_report(1)]);
}

#[test]
fn drop_waits_for_writer() {
    let folder = Folder::new();
    let path = folder.join("dropped.cassette");
    let recorder = open(&path);
    for number in 0..1000 {
        recorder.record(of_the_report(number)).unwrap();
    }
    drop(recorder);
    assert_eq!(Cassette::open(&path).unwrap().len(), 1000);
}

#[test]
fn queue_is_bounded() {
    let folder = Folder::new();
    let options = RecorderOptions::default().keep_secrets().queue_bytes(20_000).durability(Durability::Fsync);
    let recorder = Recorder::open(folder.join("bounded.cassette"), options).unwrap();
    let mut most = 0;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..500).map(of_the_report).for_each(|exchange| assert!(recorder.record(exchange).is_ok())));
        }
        for _ in 0..1000 {
            most = most.max(recorder.queued_bytes());
        }
    });
    assert!(most <= 20_000, "{most}");
    let full = (0..100_000).find_map(|number| match recorder.try_record(of_the_report(10_000 + number)) {
        Err(TryRecordError::Full(exchange)) => Some(exchange.number == 10_000 + number),
        _ => None,
    });
    assert_eq!(full, Some(true));
}

#[test]
fn a_second_recorder_is_refused() {
    let folder = Folder::new();
    let path = folder.join("one.cassette");
    let recorder = open(&path);
    let error = Recorder::open(&path, RecorderOptions::default().keep_secrets()).unwrap_err();
    assert!(error.to_string().contains("another writer has it open"), "{error}");
    recorder.finish().unwrap();
}

#[test]
fn save_without_runtime_is_an_error() {
    // There is no runtime: a recorder works on any thread, and a folder that is missing is an error at once.
    let folder = Folder::new();
    assert!(Recorder::open(folder.join("missing/a.cassette"), RecorderOptions::default().keep_secrets()).is_err());
}

#[test]
fn long_bodies_and_chunks_come_back() {
    let folder = Folder::new();
    let path = folder.join("long.cassette");
    let recorder = open(&path);
    let mut body = Body::new(1, vec![7; 3 << 20]);
    body.push(2, &vec![9; (1 << 20) + 5]);
    body.push(3, b"end");
    let mut exchange = with_everything(0);
    exchange.response.as_mut().unwrap().body = Some(body.clone());
    exchange.request.body = Some(body);
    recorder.record(exchange.clone()).unwrap();
    recorder.sync(Durability::Os).unwrap();
    assert_eq!(all(&Cassette::open(&path).unwrap()), [exchange.clone()]);
    recorder.finish().unwrap();
    assert_eq!(all(&Cassette::open(&path).unwrap()), [exchange]);
    assert!(std::fs::metadata(&path).unwrap().len() < 10_000);
}

#[test]
fn ws_two_connections_interleave() {
    let folder = Folder::new();
    let path = folder.join("ws.cassette");
    let recorder = open(&path);
    let calls: Vec<_> = (0..2).map(|_| recorder.begin(0, &of_the_report(0).request).unwrap()).collect();
    calls.iter().for_each(|call| call.open_websocket().unwrap());
    for at_us in 0..10 {
        let frame = WsFrame::new(at_us, Direction::Sent, Opcode::TEXT, format!("{at_us}"));
        calls[at_us as usize % 2].frame(&frame).unwrap();
    }
    recorder.finish().unwrap();
    let cassette = Cassette::open(&path).unwrap();
    for (index, exchange) in all(&cassette).into_iter().enumerate() {
        let times: Vec<_> = exchange.frames.unwrap().iter().map(|frame| frame.at_us as usize).collect();
        assert_eq!(times, (0..5).map(|step| 2 * step + index).collect::<Vec<_>>());
    }
}

/// Nobody waits for it, nobody records more, and it is there soon.
#[test]
fn what_is_recorded_is_written_while_nobody_calls() {
    let folder = Folder::new();
    let path = folder.join("alone.cassette");
    let recorder = open(&path);
    recorder.record(of_the_report(0)).unwrap();
    while !folder.join("alone.cassette.recording").exists() || Cassette::open(&path).unwrap().is_empty() {
        std::thread::yield_now();
    }
    assert_eq!(all(&Cassette::open(&path).unwrap()), [of_the_report(0)]);
    recorder.finish().unwrap();
    assert_eq!(folder.names(), ["alone.cassette"]);
}

/// However little is asked for, and whether it was handed over before the end or not, what was recorded is on the cassette.
#[test]
fn every_durability_becomes_a_cassette() {
    for durability in [Durability::None, Durability::Os, Durability::Fsync] {
        for pause in [false, true] {
            let folder = Folder::new();
            let path = folder.join("a.cassette");
            let recorder =
                Recorder::open(&path, RecorderOptions::default().keep_secrets().durability(durability)).unwrap();
            recorder.record(of_the_report(0)).unwrap();
            if pause {
                recorder.sync(Durability::None).unwrap();
            }
            recorder.record(of_the_report(1)).unwrap();
            recorder.finish().unwrap();
            assert_eq!(folder.names(), ["a.cassette"]);
            assert_eq!(all(&Cassette::open(&path).unwrap()), [of_the_report(0), of_the_report(1)]);
        }
    }
}
