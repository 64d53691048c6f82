//! What comes of a file has a limit, whatever the file says, and the limit has a name.

use crate::exchanges::{Folder, of_the_report};
use cassette::{
    Body, Cassette, Content, Exchange, Form, FormError, Header, Note, ReadError, ReadOptions, Recorder,
    RecorderOptions, Response, SealOptions, Selection, write_cassette,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write;
use std::path::Path;

const MEGABYTE: u64 = 1 << 20;

fn most(bytes: u64) -> ReadOptions {
    ReadOptions::default().bytes_max(bytes)
}

/// A cassette of one exchange, whose response is this.
fn cassette(folder: &Folder, response: Response<'static>) -> std::path::PathBuf {
    let path = folder.join("a.cassette");
    let exchange = Exchange { response: Some(response), ..of_the_report(0) };
    write_cassette(&path, &[exchange], &[], SealOptions::default()).unwrap();
    path
}

fn excess<T>(read: Result<T, ReadError>) -> String {
    match read {
        Err(error @ ReadError::TooMuch(_)) => error.to_string(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was read"),
    }
}

#[test]
fn a_body_in_memory_is_limited_and_one_in_fragments_less_so() {
    let folder = Folder::new();
    let zeros = Body::new(0, vec![0; 16 << 20]);
    let path = cassette(&folder, Response { body: Some(zeros), ..Response::default() });
    assert!(fs::metadata(&path).unwrap().len() < 2000);
    let cassette = Cassette::open_with(&path, most(4 * MEGABYTE)).unwrap();
    cassette.verify().unwrap();
    assert!(excess(cassette.exchange(0)).contains("a.cassette: a body has more than the 4194304 bytes"));
    assert!(excess(cassette.outline(0).unwrap().into_exchange()).contains("a body"));
    let mut body = cassette.outline(0).unwrap().response_body.unwrap();
    while body.read().unwrap().is_some() {}
    let small = Cassette::open_with(&path, most(MEGABYTE / 2)).unwrap();
    assert!(excess(small.outline(0).unwrap().response_body.unwrap().read().map(drop)).contains("a body"));
    // A new cassette takes it as it goes.
    Selection::of(&cassette).unwrap().write(folder.join("b.cassette"), SealOptions::default()).unwrap();
    assert!(Cassette::open_with(&path, most(17 * MEGABYTE)).unwrap().exchange(0).is_ok());
}

#[test]
fn all_bodies_together_are_limited() {
    let folder = Folder::new();
    let body = Body::new(0, vec![0; 1 << 20]);
    let response = Response { body: Some(body), ..Response::default() };
    let exchange = |number| Exchange { number, response: Some(response.clone()), ..of_the_report(number) };
    let exchanges: Vec<_> = (0..10).map(exchange).collect();
    write_cassette(folder.join("a.cassette"), &exchanges, &[], SealOptions::default()).unwrap();
    let cassette = Cassette::open_with(folder.join("a.cassette"), most(8 * MEGABYTE)).unwrap();
    assert!((0..10).all(|index| cassette.exchange(index).is_ok()));
    let message = excess(Selection::of(&cassette).unwrap().content());
    assert!(message.contains("the cassette with all of its bodies has more than the 8388608 bytes"), "{message}");
}

/// Headers of two bytes each, which are 48 in memory, in a block of a few.
#[test]
fn lists_of_an_exchange_are_limited() {
    let folder = Folder::new();
    let headers = vec![Header::new("", ""); 1 << 20];
    let path = cassette(&folder, Response { headers, ..Response::default() });
    assert!(fs::metadata(&path).unwrap().len() < 2000);
    let cassette = Cassette::open_with(&path, most(8 * MEGABYTE)).unwrap();
    assert!(excess(cassette.outline(0)).contains("a.cassette: the lists of an exchange"));
    assert!(Cassette::open_with(&path, most(128 * MEGABYTE)).unwrap().exchange(0).is_ok());
}

#[test]
fn what_is_decompressed_and_kept_is_limited() {
    let folder = Folder::new();
    let exchanges: Vec<_> = (0..5000).map(of_the_report).collect();
    write_cassette(folder.join("a.cassette"), &exchanges, &[], SealOptions::default()).unwrap();
    let read = |options| {
        let cassette = Cassette::open_with(folder.join("a.cassette"), options).unwrap();
        cassette.exchanges().map(|exchange| exchange.map(drop)).collect::<Result<Vec<_>, _>>()
    };
    assert!(excess(read(most(300 << 10))).contains("a.cassette: what is decompressed of the cassette"));
    assert_eq!(read(most(8 * MEGABYTE)).unwrap().len(), 5000);
}

#[test]
fn a_recording_is_limited() {
    let folder = Folder::new();
    let recorder = Recorder::open(folder.join("a.cassette"), RecorderOptions::default()).unwrap();
    for number in 0..1000 {
        recorder.record(of_the_report(number)).unwrap();
    }
    recorder.stop().unwrap();
    assert!(
        excess(Cassette::open_with(folder.join("a.cassette"), most(100 << 10)))
            .contains("a.cassette.recording: the recording")
    );
    assert_eq!(Cassette::open_with(folder.join("a.cassette"), most(MEGABYTE)).unwrap().len(), 1000);
}

/// As many values as fit into a document, each of them of a few bytes.
#[test]
fn documents_are_limited_by_what_is_made_of_them() {
    let headers = vec![Header::new("", ""); 1 << 16];
    let response = Response { headers, ..Response::default() };
    let exchange = Exchange { response: Some(response), ..of_the_report(0) };
    let content = Content { exchanges: vec![exchange], meta: vec![Note::new("name", "a")] };
    for form in [Form::Json, Form::MessagePack, Form::Text, Form::Har] {
        let bytes = content.encode(form).unwrap().bytes;
        let refused = Content::decode_with(&bytes, form, most(3 * MEGABYTE));
        let Err(FormError::TooMuch(excess)) = refused else { panic!("{form}: {refused:?}") };
        assert_eq!((excess.what, excess.most), ("what the document becomes in memory", 3 * MEGABYTE), "{form}");
        assert!(Content::decode_with(&bytes, form, ReadOptions::default()).is_ok(), "{form}");
    }
    let many = format!("interactions: []\nx: [{}]\n", "a,".repeat(1 << 17));
    let json = format!("{{\"interactions\": [], \"x\": [{}1]}}", "1,".repeat(1 << 17));
    for (form, text) in [(Form::Vcr, many), (Form::VcrJson, json)] {
        let refused = Content::decode_with(text.as_bytes(), form, most(3 * MEGABYTE));
        assert!(matches!(refused, Err(FormError::TooMuch(_))), "{form}");
    }
    // Cut anywhere, it is refused all the same before it is read.
    let bytes = content.to_msgpack().unwrap();
    let cut = Content::decode_with(&bytes[..bytes.len() - 1], Form::MessagePack, most(3 * MEGABYTE));
    assert!(matches!(cut, Err(FormError::TooMuch(_))));
}

#[test]
fn a_file_that_is_longer_than_the_limit_is_not_read() {
    let folder = Folder::new();
    let path = folder.join("sparse.har");
    fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    let error = Cassette::open_any(&path).unwrap_err();
    assert!(error.to_string().contains("sparse.har: the file has more than the 1073741824 bytes"), "{error}");
    let error = Content::read(&path).unwrap_err();
    assert!(matches!(error, FormError::TooMuch(_)), "{error}");
}

/// Nobody waits for the other end of a pipe, and nothing is read of a device.
#[test]
fn only_regular_files_are_opened() {
    let folder = Folder::new();
    let pipe = folder.join("a.cassette");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (path, what) in
        [(pipe.as_path(), "a named pipe"), (Path::new("/dev/zero"), "a device"), (&folder.join("."), "a folder")]
    {
        let expected = format!("it is {what}, not a regular file");
        for error in [Cassette::open(path).unwrap_err().to_string(), Cassette::open_any(path).unwrap_err().to_string()]
        {
            assert!(error.contains(&expected), "{error}");
        }
    }
    // Nor as the recording beside a cassette.
    fs::remove_file(&pipe).unwrap();
    let recording = folder.join("a.cassette.recording");
    assert!(std::process::Command::new("mkfifo").arg(&recording).status().unwrap().success());
    let error = Cassette::open(&pipe).unwrap_err().to_string();
    assert!(error.contains("a named pipe, not a regular file"), "{error}");
}

/// 250 KB that would be 250 MB.
#[test]
fn a_compressed_body_is_decoded_up_to_a_limit() {
    let gzip = |bytes: usize| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let zeros = vec![0; 1 << 20];
        (0..bytes >> 20).for_each(|_| encoder.write_all(&zeros).unwrap());
        let headers = vec![Header::new("Content-Encoding", "gzip")];
        Response { headers, body: Some(Body::new(0, encoder.finish().unwrap())), ..Response::default() }
    };
    assert_eq!(gzip(64 << 20).decoded_body().unwrap().bytes().len(), 64 << 20);
    assert!(gzip(65 << 20).decoded_body().is_none());
}

/// The cassette, its recording, and what is converted from it are for their owner alone.
#[test]
fn cassettes_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let mode = |name: &str| fs::metadata(folder.join(name)).unwrap().permissions().mode() & 0o777;
    let recorder = Recorder::open(folder.join("a.cassette"), RecorderOptions::default()).unwrap();
    recorder.record(of_the_report(0)).unwrap();
    recorder.begin(1, &of_the_report(1).request).unwrap();
    recorder.stop().unwrap();
    assert_eq!(mode("a.cassette.recording"), 0o600);
    Recorder::open(folder.join("a.cassette"), RecorderOptions::default()).unwrap().finish().unwrap();
    assert_eq!(mode("a.cassette"), 0o600);
    let content = Content::read(folder.join("a.cassette")).unwrap();
    for name in ["b.cassette", "b.json", "b.txt", "b.har", "b.yaml", "b.msgpack"] {
        content.write(folder.join(name), SealOptions::default()).unwrap();
        assert_eq!(mode(name), 0o600, "{name}");
    }
    // One that others could read is not, once it is written anew.
    fs::set_permissions(folder.join("b.txt"), fs::Permissions::from_mode(0o644)).unwrap();
    content.write(folder.join("b.txt"), SealOptions::default()).unwrap();
    assert_eq!(mode("b.txt"), 0o600);
}
