//! Bodies that are read fragment by fragment are what they are as a whole, and no longer than a block in memory.

use crate::exchanges::{Folder, exchanges, of_the_report};
use cassette::matching::{MatchRules, Player, Repeats};
use cassette::{
    Body, BodyReader, Cassette, Chunk, Exchange, Header, KeyScheme, Outline, Recorder, RecorderOptions, Request,
    Response, write_cassette,
};
use proptest::prelude::*;
use std::io::Write;
use std::process::Command;

/// A body out of its fragments.
fn gathered(reader: Option<BodyReader<'_>>) -> Option<Body<'static>> {
    let mut reader = reader?;
    let length = reader.bytes();
    let (mut bytes, mut chunks) = (Vec::new(), Vec::<Chunk>::new());
    while let Some(fragment) = reader.read().unwrap() {
        bytes.extend_from_slice(fragment.bytes);
        match chunks.last_mut() {
            Some(chunk) if fragment.goes_on => {
                assert!(!fragment.bytes.is_empty() && chunk.at_us == fragment.at_us);
                chunk.bytes += fragment.bytes.len();
            }
            _ => chunks.push(Chunk { at_us: fragment.at_us, bytes: fragment.bytes.len() }),
        }
    }
    assert!(reader.read().unwrap().is_none(), "the end is the end");
    assert_eq!(bytes.len(), length);
    Body::from_parts(bytes, chunks)
}

/// An exchange out of its outline.
fn whole(outline: Outline<'_>) -> Exchange<'_> {
    let mut exchange = outline.exchange;
    assert!(exchange.request.body.is_none());
    exchange.request.body = gathered(outline.request_body);
    if let Some(response) = &mut exchange.response {
        assert!(response.body.is_none());
        response.body = gathered(outline.response_body);
    }
    exchange
}

fn check(cassette: &Cassette) {
    for index in 0..cassette.len() {
        let exchange = cassette.exchange(index).unwrap();
        assert_eq!(cassette.request(index).unwrap(), exchange.request);
        assert_eq!(whole(cassette.outline(index).unwrap()), exchange);
    }
}

/// Bytes of which no piece is like another.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    (0..bytes).map(|_| next()).collect()
}

#[test]
fn chunks_of_every_length_around_a_piece() {
    const PIECE: usize = 256 << 10;
    let lengths = [0, 1, PIECE - 1, 0, PIECE, PIECE + 1, 2 * PIECE, 0, 1023, 3 * PIECE - 2, 0];
    let chunks: Vec<_> = lengths.iter().zip(0..).map(|(&bytes, at_us)| Chunk { at_us, bytes }).collect();
    let bytes = noise(lengths.iter().sum());
    let exchange = |number, bytes: &[u8], chunks: &[Chunk]| {
        let mut exchange = of_the_report(number);
        exchange.request.body = Body::from_parts(bytes.to_vec(), chunks.to_vec());
        exchange.response.as_mut().unwrap().body = Body::from_parts(bytes.to_vec(), chunks.to_vec());
        exchange
    };
    let text = b"the same again and again, ".repeat(40_000);
    let texts = [Chunk { at_us: 3, bytes: 7 }, Chunk { at_us: 4, bytes: text.len() - 7 }];
    let all = [exchange(0, &bytes, &chunks), exchange(1, &text, &texts), exchange(2, b"", &chunks[..1])];
    let folder = Folder::new();
    write_cassette(folder.join("a.cassette"), &all, &[], KeyScheme::target()).unwrap();
    let cassette = Cassette::open(folder.join("a.cassette")).unwrap();
    check(&cassette);
    cassette.verify().unwrap();
}

#[test]
fn what_is_not_sealed_is_read_the_same_way() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let recorder = Recorder::open(&path, RecorderOptions::default().keep_secrets()).unwrap();
    (0..3).for_each(|number| assert_eq!(recorder.record(of_the_report(number)).unwrap(), number));
    recorder.stop().unwrap();
    let cassette = Cassette::open(&path).unwrap();
    assert_eq!((cassette.len(), cassette.is_sealed()), (3, false));
    check(&cassette);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_outline_comes_to_its_exchange(exchanges in exchanges(12)) {
        let folder = Folder::new();
        let path = folder.join("any.cassette");
        write_cassette(&path, &exchanges, &[], KeyScheme::target()).unwrap();
        check(&Cassette::open(&path).unwrap());
    }
}

/// The bytes of a body whose chunks are all different: twice the memory that it may take, and a gibibyte if all is to be gone through.
fn long_bytes() -> usize {
    if std::env::var_os("METROON_EXHAUSTIVE").is_some() { 1 << 30 } else { 200 << 20 }
}

const CHUNK_BYTES: usize = 64 << 10;
/// What the process may take for it.
const MEMORY_BYTES_MAX: u64 = 100 << 20;
/// Where the child records and reads, if this is the child.
const CHILD: &str = "METROON_CASSETTE_LONG_BODY";

/// Memory of this process that is not pages of files, in bytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

fn long_request() -> Request<'static> {
    Request { target: "/long".into(), method: "GET".into(), host: "example.com".into(), ..Request::default() }
}

/// Records, seals, verifies, finds and reads a long body, and says how much memory that took. Does nothing unless a parent
/// asks for it.
#[test]
fn long_body_child() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let mut most = 0;
    let recorder = Recorder::open(&path, RecorderOptions::default()).unwrap();
    let call = recorder.begin(0, &long_request()).unwrap();
    let headers = vec![Header::new("content-type", "application/octet-stream")];
    call.response(&Response { status: 200, headers, body: Some(Body::default()), ..Response::default() }).unwrap();
    let mut chunk = noise(CHUNK_BYTES);
    for number in 0..long_bytes() / CHUNK_BYTES {
        chunk[..8].copy_from_slice(&number.to_le_bytes());
        call.response_chunk(number as u64, &chunk).unwrap();
        most = most.max(if number % 64 == 0 { memory() } else { 0 });
    }
    call.end(cassette::ExchangeEnd::default()).unwrap();
    // Sealing is another thread's work for us: it is looked at from here.
    std::thread::scope(|scope| {
        let sealing = scope.spawn(|| recorder.finish().unwrap());
        while !sealing.is_finished() {
            most = most.max(memory());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    });
    let cassette = Cassette::open(&path).unwrap();
    let player = Player::new(&cassette, MatchRules::default(), Repeats::default()).unwrap();
    let found = player.find(&long_request()).unwrap().position;
    let mut body = cassette.outline(found).unwrap().response_body.unwrap();
    let (mut bytes, mut fragments) = (0, 0);
    while let Some(fragment) = body.read().unwrap() {
        (bytes, fragments) = (bytes + fragment.bytes.len(), fragments + 1);
        most = most.max(if fragments % 64 == 0 { memory() } else { 0 });
    }
    assert_eq!((bytes, fragments), (long_bytes(), long_bytes() / CHUNK_BYTES));
    cassette.verify().unwrap();
    writeln!(std::io::stdout(), "took {}", most.max(memory())).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_long_body_takes_less_than_a_hundred_megabytes() {
    let folder = Folder::new();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["outline::long_body_child", "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, folder.join("long.cassette"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout).into_owned();
    assert!(child.status.success(), "{said}{}", String::from_utf8_lossy(&child.stderr));
    let took = said.lines().find_map(|line| line.split_once("took ")).map(|(_, bytes)| bytes.parse::<u64>().unwrap());
    assert!(took.is_some_and(|bytes| bytes < MEMORY_BYTES_MAX), "{took:?}");
}
