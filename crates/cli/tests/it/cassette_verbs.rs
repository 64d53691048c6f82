//! `metroon cassette`: what is shown of a cassette, what is said of one that cannot be read.

use crate::harness::{Ended, Folder, counted};
use cassette::{
    Body, Content, Direction, Exchange, ExchangeEnd, Filter, Header, LeaveOutRule, NetworkError, NetworkErrorKind,
    Note, Opcode, Outcome, Recorder, RecorderOptions, Request, Response, WsFrame,
};
use std::os::unix::fs::FileExt;

/// A request to a server of frogs.
pub(crate) fn exchange(number: u64) -> Exchange<'static> {
    Exchange {
        number,
        started_ns: 1_760_000_000_000_000_000 + number as i64 * 1_000_000_000,
        ended_us: Some(2_500),
        request: Request {
            method: "GET".into(),
            scheme: "https".into(),
            host: "frogs.example".into(),
            port: 443,
            target: format!("/frogs/{number}").into(),
            headers: vec![Header::new("Accept", "*/*")],
            ..Request::default()
        },
        response: Some(Response {
            at_us: 1_200,
            status: 200,
            reason: "OK".into(),
            headers: vec![Header::new("Content-Type", "application/json")],
            body: Some(Body::new(2_000, format!("{{\"frog\": {number}, \"green\": true}}"))),
            ..Response::default()
        }),
        ..Exchange::default()
    }
}

/// Three requests: one answered, one refused, and a WebSocket.
pub(crate) fn content() -> Content {
    let error = NetworkError { kind: NetworkErrorKind::Refused, message: "nobody".into() };
    let refused = Exchange { response: None, ended_us: None, outcome: Outcome::Aborted(error), ..exchange(1) };
    let frames = vec![
        WsFrame::new(3_000, Direction::Sent, Opcode::TEXT, "croak"),
        WsFrame::new(4_000, Direction::Received, Opcode::CLOSE, b"\x03\xe8bye"),
    ];
    let socket = Exchange { frames: Some(frames), ..exchange(2) };
    Content { exchanges: vec![exchange(0), refused, socket], meta: vec![Note::new("name", "frogs")] }
}

/// A folder with the same cassette in every form, and a recording that was not sealed.
pub(crate) fn forms(test: &str) -> Folder {
    let folder = Folder::new(test);
    for name in ["a.cassette", "a.json", "a.msgpack", "a.txt"] {
        content().write(folder.path().join(name), cassette::SealOptions::default()).expect("it is written");
    }
    record(&folder, "cut.cassette");
    folder
}

/// A recording of the same that nobody sealed, with one request that was not answered.
pub(crate) fn record(folder: &Folder, name: &str) {
    let recorder = Recorder::open(folder.path().join(name), RecorderOptions::default()).expect("it is opened");
    recorder.meta(Note::new("name", "frogs")).expect("it is recorded");
    for exchange in content().exchanges {
        recorder.record(exchange).expect("it is recorded");
    }
    recorder.begin(1_760_000_009_000_000_000, &exchange(3).request).expect("it is recorded");
    recorder.stop().expect("it is written");
}

const FORMS: [&str; 5] = ["a.cassette", "a.json", "a.msgpack", "a.txt", "cut.cassette"];

const LINES: &str = "     \
0  2025-10-09T08:53:20.000Z  200            2.5 ms        26 B  GET https://frogs.example/frogs/0
     1  2025-10-09T08:53:21.000Z  refused             -         0 B  GET https://frogs.example/frogs/1
     2  2025-10-09T08:53:22.000Z  200            2.5 ms        26 B  GET https://frogs.example/frogs/2  (2 frames)
";

#[test]
fn an_exchange_is_a_line() {
    let folder = forms("cassette-show");
    for name in &FORMS[..4] {
        assert_eq!(folder.good(&["cassette", "show", name]), LINES, "{name}");
    }
    let partial =
        "     3  2025-10-09T08:53:29.000Z  partial             -         0 B  GET https://frogs.example/frogs/3\n";
    for name in ["cut.cassette", "cut.cassette.recording"] {
        assert_eq!(folder.good(&["cassette", "show", name]), format!("{LINES}{partial}"), "{name}");
    }
    let json = folder.good(&["cassette", "show", "--json", "a.cassette"]);
    let lines: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["request"], "GET https://frogs.example/frogs/0");
    assert_eq!((lines[1]["outcome"].as_str(), lines[1]["status"].as_u64()), (Some("refused"), None));
    assert_eq!((lines[2]["frames"].as_u64(), lines[2]["duration_us"].as_u64()), (Some(2), Some(2500)));
}

/// What can be read once only is read once.
#[test]
fn a_pipe_is_a_cassette() {
    let folder = forms("cassette-stdin");
    for name in &FORMS[..4] {
        let bytes = std::fs::read(folder.path().join(name)).expect("it is read");
        let ended = crate::harness::run_with_input(&["cassette", "show", "/dev/stdin"], &bytes);
        assert_eq!((ended.code, ended.out.as_str()), (Some(0), LINES), "{name}: {}", ended.err);
    }
    let ended = crate::harness::run_with_input(&["cassette", "verify", "/dev/stdin"], b"nothing of the kind");
    assert_eq!(ended.code, Some(2), "{}", ended.err);
}

#[test]
fn one_exchange_is_shown_in_full() {
    let folder = forms("cassette-show-one");
    let expected = "exchange 2
started 2025-10-09T08:53:22Z
ended +2500us
request GET https://frogs.example /frogs/2 HTTP/1.1
  Accept: */*
response 200 HTTP/1.1 +1200us OK
  Content-Type: application/json
body
chunk +2000us
  | {\"frog\": 2, \"green\": true}
websocket
sent text +3000us
  | croak
received close +4000us code=1000
  | bye
";
    for name in FORMS {
        assert_eq!(folder.good(&["cassette", "show", name, "2"]), expected, "{name}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&folder.good(&["cassette", "show", "a.txt", "2", "--json"])).expect("JSON");
    assert_eq!(json["response"]["status"], 200);
    let ended = folder.run(&["cassette", "show", "a.cassette", "7"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""));
    let expected =
        "error: there is no exchange 7 on a.cassette\nhelp: `metroon cassette show a.cassette` lists the exchanges\n";
    assert_eq!(ended.err, expected);
}

/// `hello frogs` in a block without compression (RFC 1952, RFC 1951).
const GZIP: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\x01\x0b\0\xf4\xffhello frogs";

#[test]
fn a_compressed_body_is_shown_decompressed() {
    let folder = Folder::new("cassette-gzip");
    let mut compressed = exchange(0);
    let response = compressed.response.as_mut().expect("there is one");
    response.headers.push(Header::new("Content-Encoding", "gzip"));
    let whole = [GZIP, &0x8660_4cda_u32.to_le_bytes(), &11_u32.to_le_bytes()].concat();
    response.body = Some(Body::new(2_000, whole));
    let content = Content { exchanges: vec![compressed], meta: Vec::new() };
    content.write(folder.path().join("a.cassette"), cassette::SealOptions::default()).expect("it is written");
    let shown = folder.good(&["cassette", "show", "a.cassette", "0"]);
    assert!(shown.starts_with("# The body of the response is compressed, in 34 bytes"), "{shown}");
    assert!(shown.contains("\n  | hello frogs\n"), "{shown}");
    // The text form has the bytes that were sent.
    assert!(folder.good(&["cassette", "convert", "a.cassette", "--to", "text"]).contains("\n  = H4sI"));
}

#[test]
fn what_a_cassette_comes_to_is_counted() {
    let folder = forms("cassette-stats");
    let stats = folder.good(&["cassette", "stats", "a.cassette"]);
    for (name, value) in [
        ("state", "sealed"),
        ("exchanges", "3"),
        ("complete", "2"),
        ("refused", "1"),
        ("200", "2"),
        ("bodies", "2"),
        ("body bytes", "52 bytes"),
        ("repeated bodies", "0"),
        ("websockets", "1"),
        ("frames", "2"),
        ("first", "2025-10-09T08:53:20.000000000Z"),
        ("last", "2025-10-09T08:53:22.000000000Z"),
        ("least", "1.200000 ms"),
        ("frogs.example", "3"),
    ] {
        assert_eq!(counted(&stats, name), value, "{name} in\n{stats}");
    }
    assert_eq!(counted(&folder.good(&["cassette", "stats", "a.json"]), "state"), "in the form json");
    let cut = folder.good(&["cassette", "stats", "cut.cassette"]);
    assert_eq!(counted(&cut, "state"), "a recording that is not sealed, 4 exchanges");
    let json: serde_json::Value =
        serde_json::from_str(&folder.good(&["cassette", "stats", "--json", "a.cassette"])).expect("JSON");
    let length = std::fs::metadata(folder.path().join("a.cassette")).expect("it is there").len();
    assert_eq!((json["file_bytes"].as_u64(), json["body_bytes"].as_u64()), (Some(length), Some(52)));
    assert_eq!(json["servers"]["frogs.example"], 3);
}

/// What a filter left out is counted, and a time that nobody knows is not 1970.
#[test]
fn what_was_left_out_and_what_is_not_known_is_said() {
    let folder = Folder::new("cassette-left-out");
    let rule = LeaveOutRule { status: Some(200..=299), ..LeaveOutRule::for_reason("answered well") };
    let options = RecorderOptions::default().filter(Filter::default().leave_out(rule));
    let recorder = Recorder::open(folder.path().join("a.cassette"), options).expect("it is opened");
    recorder.record(exchange(0)).expect("it is left out");
    let untimed = Exchange { started_ns: 0, response: None, ended_us: None, ..exchange(1) };
    recorder.record(untimed).expect("it is recorded");
    recorder.finish().expect("it is sealed");
    let stats = folder.good(&["cassette", "stats", "a.cassette"]);
    assert_eq!((counted(&stats, "answered well"), counted(&stats, "first")), ("1", "-"));
    assert!(!stats.contains("1970"), "{stats}");
    let json: serde_json::Value =
        serde_json::from_str(&folder.good(&["cassette", "stats", "--json", "a.cassette"])).expect("JSON");
    assert_eq!((json["left_out"]["answered well"].as_u64(), json["first"].as_str()), (Some(1), None));
    let shown = folder.good(&["cassette", "show", "a.cassette"]);
    assert!(shown.starts_with("     1  unknown time              -  "), "{shown}");
    let json: serde_json::Value =
        serde_json::from_str(&folder.good(&["cassette", "show", "--json", "a.cassette"])).expect("JSON");
    assert!(json["started"].is_null());
}

#[test]
fn a_sound_cassette_is_a_line() {
    let folder = forms("cassette-verify");
    for (name, expected) in [
        ("a.cassette", "a.cassette: sound, sealed: 3 exchanges\n"),
        ("cut.cassette", "cut.cassette: sound, 4 not sealed: 4 exchanges\n"),
        ("cut.cassette.recording", "cut.cassette.recording: sound, 4 not sealed: 4 exchanges\n"),
        ("a.txt", "a.txt: readable as text, which has no checksums: 3 exchanges\n"),
    ] {
        assert_eq!(folder.good(&["cassette", "verify", name]), expected);
    }
}

/// Changes a byte of a file.
fn flip(folder: &Folder, name: &str, at: u64) {
    let path = folder.path().join(name);
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).expect("it is opened");
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).expect("it is read");
    file.write_all_at(&[byte[0] ^ 1], at).expect("it is written");
}

#[test]
fn damage_is_said_with_its_place() {
    let folder = forms("cassette-damage");
    flip(&folder, "a.cassette", 30);
    let ended = folder.run(&["cassette", "verify", "a.cassette"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(4), ""));
    let expected = "error: a.cassette at byte 24: bytes have changed since they were written; restore the file from a copy, or \
                    record it again\nnote: 0 of 3 exchanges can be read\n";
    assert_eq!(ended.err, expected);
    for arguments in [
        &["show", "a.cassette"][..],
        &["show", "a.cassette", "1"],
        &["stats", "a.cassette"],
        &["diff", "a.cassette", "a.json"],
    ] {
        let ended = folder.run(&[&["cassette"], arguments].concat());
        assert_eq!(ended.code, Some(4), "{arguments:?}: {}", ended.err);
    }
    for arguments in [
        &["convert", "a.cassette", "b.json"][..],
        &["redact", "a.cassette", "-o", "b.json"],
        &["merge", "a.cassette", "-o", "b.json"],
    ] {
        let ended = folder.run(&[&["cassette"], arguments].concat());
        assert_eq!(ended.code, Some(4), "{arguments:?}: {}", ended.err);
        assert!(!folder.path().join("b.json").exists());
    }
}

#[test]
fn a_damaged_recording_is_said_with_the_way_out() {
    let folder = Folder::new("cassette-damaged-recording");
    let recorder =
        Recorder::open(folder.path().join("cut.cassette"), RecorderOptions::default()).expect("it is opened");
    recorder.record_sync(exchange(0), journal::Durability::Fsync).expect("it is recorded");
    recorder.record_sync(exchange(1), journal::Durability::Fsync).expect("it is recorded");
    recorder.stop().expect("it is written");
    flip(&folder, "cut.cassette.recording", journal::FRAMES_AT + 60);
    for name in ["cut.cassette", "cut.cassette.recording"] {
        let ended = folder.run(&["cassette", "verify", name]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(4), ""), "{}", ended.err);
        assert!(ended.err.contains("error: cut.cassette.recording is damaged\n  "), "{}", ended.err);
        assert!(ended.err.contains(&format!("at byte {}", journal::FRAMES_AT)), "{}", ended.err);
        assert!(ended.err.contains("help: `metroon journal salvage cut.cassette.recording --to NEW"), "{}", ended.err);
    }
    let ended = folder.run(&["cassette", "convert", "cut.cassette", "cut.cassette"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(4), ""), "{}", ended.err);
    assert!(ended.err.contains("error: cut.cassette.recording is damaged\n  "), "{}", ended.err);
    folder.good(&["journal", "salvage", "cut.cassette.recording", "--to", "saved.cassette.recording"]);
    assert_eq!(
        folder.good(&["cassette", "verify", "saved.cassette"]),
        "saved.cassette: sound, 1 not sealed: 1 exchange\n"
    );
}

/// What a crash leaves behind the last whole frame is no damage.
#[test]
fn a_torn_tail_is_a_warning() {
    let folder = Folder::new("cassette-torn");
    record(&folder, "cut.cassette");
    let path = folder.path().join("cut.cassette.recording");
    let mut bytes = std::fs::read(&path).expect("it is read");
    bytes.extend(b"half a frame");
    std::fs::write(&path, bytes).expect("it is written");
    let ended = folder.run(&["cassette", "verify", "cut.cassette"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "cut.cassette: sound, 4 not sealed: 4 exchanges\n"));
    assert!(ended.err.starts_with("warning: ") && ended.err.contains("12 bytes"), "{}", ended.err);
    let ended = folder.run(&["cassette", "convert", "cut.cassette", "cut.cassette"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(folder.good(&["cassette", "verify", "cut.cassette"]).contains("sound, sealed: 4 exchanges"));
}

/// Every verb, with this path where a cassette is expected.
fn each(folder: &Folder, path: &str, check: impl Fn(&Ended, &[&str])) {
    let verbs: [&[&str]; 7] = [
        &["show", path],
        &["stats", path],
        &["verify", path],
        &["convert", path, "new.json"],
        &["diff", path, "a.json"],
        &["merge", "a.json", path, "-o", "new.json"],
        &["redact", path, "-o", "new.json"],
    ];
    for verb in verbs {
        let ended = folder.run(&[&["cassette"], verb].concat());
        assert!(ended.out.is_empty() && !folder.path().join("new.json").exists(), "{verb:?}");
        assert!(ended.err.starts_with("error: ") && !ended.err.contains("panicked"), "{verb:?}: {}", ended.err);
        check(&ended, verb);
    }
}

#[test]
fn what_is_no_cassette_is_a_wrong_use() {
    let folder = forms("cassette-none");
    folder.write("notes", "this is a text, not a cassette");
    folder.write("empty", "");
    for (path, word) in [
        ("missing.cassette", "cannot open missing.cassette"),
        (".", "it is a folder, not a regular file"),
        ("notes", "notes is neither a cassette nor a form of one; there are cassette, json, msgpack, text"),
        ("empty", "empty is neither a cassette"),
    ] {
        each(&folder, path, |ended, verb| {
            assert_eq!(ended.code, Some(2), "{verb:?}: {}", ended.err);
            assert!(ended.err.contains(word), "{verb:?}: {}", ended.err);
        });
    }
}

#[test]
fn what_was_cut_off_is_said() {
    let folder = forms("cassette-truncated");
    for (name, code, word) in [
        ("a.cassette", 4, "the end of the cassette is missing"),
        ("a.json", 3, "a.json: no cassette in JSON: EOF while parsing"),
        ("a.txt", 3, "the line `end` is missing"),
        ("a.msgpack", 4, "no cassette in MessagePack"),
    ] {
        let bytes = std::fs::read(folder.path().join(name)).expect("it is read");
        let cut = format!("cut-{name}");
        std::fs::write(folder.path().join(&cut), &bytes[..bytes.len() - 5]).expect("it is written");
        each(&folder, &cut, |ended, verb| {
            assert_eq!(ended.code, Some(code), "{verb:?}: {}", ended.err);
            assert!(ended.err.contains(word), "{verb:?}: {}", ended.err);
        });
    }
    let text = content().to_text().replace("HTTP/1.1", "HTTP/7");
    folder.write("b.txt", &text);
    each(&folder, "b.txt", |ended, verb| {
        assert_eq!(ended.code, Some(3), "{verb:?}: {}", ended.err);
        assert!(ended.err.contains("b.txt: no cassette in text: line 7, column "), "{verb:?}: {}", ended.err);
    });
}

/// Nobody but the superuser may read everything.
fn is_superuser() -> bool {
    std::process::Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.starts_with(b"0\n"))
}

#[test]
fn what_may_not_be_read_is_said() {
    use std::os::unix::fs::PermissionsExt;
    if is_superuser() {
        let skipped = "skipped: the superuser may read every file; as another user this is tested\n";
        return std::io::Write::write_all(&mut std::io::stderr(), skipped.as_bytes()).expect("it can be said");
    }
    let folder = forms("cassette-permission");
    for name in ["a.cassette", "a.txt"] {
        let path = folder.path().join(name);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).expect("it is ours");
        let ended = folder.run(&["cassette", "show", name]);
        assert_eq!(ended.code, Some(1), "{}", ended.err);
        assert!(ended.err.contains("you may not read it"), "{}", ended.err);
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let folder = Folder::new("cassette-pipe");
    let exchanges = (0..5_000).map(exchange).collect();
    let content = Content { exchanges, meta: Vec::new() };
    content.write(folder.path().join("a.cassette"), cassette::SealOptions::default()).expect("it is written");
    let mut child = folder.command(&["cassette", "show", "a.cassette"]).spawn().expect("the binary runs");
    drop(child.stdout.take());
    let ended = crate::harness::wait(child);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
}

/// `metroon tape` does what `metroon cassette` does, and says so of the tape of a run.
#[test]
fn tape_is_another_name_of_the_verb_for_cassettes() {
    let folder = forms("cassette-alias");
    for verb in ["show", "stats", "verify"] {
        let [alias, verb] = ["tape", "cassette"].map(|name| folder.good(&[name, verb, "a.cassette"]));
        assert_eq!(alias, verb);
    }
    assert!(folder.good(&["--help"]).contains("[alias: tape]"));
    folder.good(&["run", "--record", "run.tape", "-e", "!(+ 1 2)"]);
    for verb in ["show", "stats", "verify"] {
        let said = folder.good(&["tape", verb, "run.tape"]);
        assert_eq!(said, folder.good(&["journal", verb, "run.tape"]));
        assert!(said.contains("frames") || said.lines().count() > 1, "{said}");
    }
    let one = folder.good(&["tape", "show", "run.tape", "1"]);
    assert_eq!(one, folder.good(&["journal", "show", "run.tape", "--from", "1", "--to", "1"]));
    // What is done with traffic only says what is done with a run.
    for words in [
        &["convert", "run.tape", "new.json"][..],
        &["diff", "run.tape", "a.json"],
        &["merge", "a.json", "run.tape", "-o", "new.json"],
        &["redact", "run.tape", "-o", "new.json"],
    ] {
        let ended = folder.run(&[&["tape"], words].concat());
        let said = "run.tape is the tape of a run, not a cassette of network traffic\nhelp: `metroon tape show run.tape` \
                    lists its frames, `metroon replay run.tape` runs it again";
        assert!(ended.code == Some(2) && ended.err.contains(said), "{words:?}: {}", ended.err);
    }
    let ended = folder.run(&["tape", "show", "--json", "run.tape"]);
    assert!(ended.code == Some(2) && ended.err.contains("leave --json out"), "{}", ended.err);
}

/// A program that reads JSON takes a line for an object: so does `kb load`.
#[test]
fn an_exchange_as_json_is_one_line_that_can_be_loaded() {
    let folder = forms("cassette-json-line");
    for form in FORMS {
        let shown = folder.good(&["cassette", "show", "--json", form, "0"]);
        assert_eq!(shown.lines().count(), 1, "{form}: {shown}");
        let exchange: serde_json::Value = serde_json::from_str(&shown).expect("it is JSON");
        assert_eq!(exchange["request"]["host"], "frogs.example", "{form}");
        folder.write("one.jsonl", &shown);
        let base = format!("{form}.kb");
        let loaded = folder.run(&["kb", "load", &base, "--format", "jsonlines", "one.jsonl"]);
        assert_eq!(loaded.code, Some(0), "{form}: {}{}", loaded.out, loaded.err);
        assert!(!loaded.err.contains("skipped"), "{form}: {}", loaded.err);
    }
}

/// What a conversion says to have written is what is in the file, and no time is made up.
#[test]
fn counts_of_conversions_and_times_of_forms_without_times_are_true() {
    let folder = forms("cassette-true");
    let all = "3 exchanges, 1 message of 1 WebSocket";
    for (name, form, said) in [
        ("n.cassette", "cassette", all),
        ("n.json", "json", all),
        ("n.json.gz", "json in gzip", all),
        ("n.msgpack", "msgpack", all),
        ("n.txt", "text", all),
        ("n.har", "har", all),
        ("n.yaml", "vcr", "2 of 3 exchanges, 0 of 1 message of 1 WebSocket"),
        ("n.yaml.gz", "vcr in gzip", "2 of 3 exchanges, 0 of 1 message of 1 WebSocket"),
    ] {
        let printed = folder.good(&["cassette", "convert", "a.cassette", name]);
        let bytes = std::fs::metadata(folder.path().join(name)).expect("it is there").len();
        assert_eq!(printed, format!("{name}: {form}, {said}, {bytes} bytes\n"));
        let json = folder.good(&["cassette", "convert", "--json", "--force", "a.cassette", name]);
        let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
        let stats: serde_json::Value =
            serde_json::from_str(&folder.good(&["cassette", "stats", "--json", name])).expect("it is JSON");
        assert_eq!((&stats["exchanges"], &json["bytes"]), (&json["exchanges"], &bytes.into()), "{name}");
        assert_eq!(json["gzip"], name.ends_with(".gz"), "{json}");
        let is_vcr = name.contains("yaml");
        let left_out = u64::from(is_vcr);
        assert_eq!((&json["exchanges_left_out"], &json["messages_left_out"]), (&left_out.into(), &left_out.into()));
        assert_eq!(json["lost"].as_array().is_some_and(Vec::is_empty), !is_vcr && name != "n.har", "{json}");
        let answered = if is_vcr { serde_json::Value::Null } else { 1_200_000.into() };
        assert_eq!(stats["answered_after"]["least"], answered, "{name}: {stats}");
        let lines = folder.good(&["cassette", "stats", name]);
        assert_eq!(counted(&lines, "least") == "-", is_vcr, "{lines}");
    }
    assert!(folder.good(&["cassette", "show", "n.yaml"]).contains("         -  "), "no time is known");
    // Nothing but the object is on the standard output.
    folder.write(
        "s.txt",
        &folder.good(&["cassette", "convert", "--to", "text", "a.cassette"]).replace("Accept: ", "Cookie: a="),
    );
    let ended = folder.run(&["cassette", "redact", "--json", "s.txt", "-o", "r.json.gz"]);
    let json: serde_json::Value = serde_json::from_str(&ended.out).expect("it is JSON");
    assert_eq!((&json["exchanges"], &json["form"]), (&3.into(), &"json".into()));
    assert!(ended.err.contains("exchange 0: request header cookie: "), "{}", ended.err);
    assert_eq!(folder.run(&["cassette", "convert", "--json", "--to", "text", "a.cassette"]).code, Some(2));
    let verified = folder.good(&["cassette", "verify", "n.json.gz"]);
    assert_eq!(verified, "n.json.gz: readable as json in gzip, with the checksum of that: 3 exchanges\n");
    assert_eq!(counted(&folder.good(&["cassette", "stats", "n.json.gz"]), "state"), "in the form json, in gzip");
    let ended = folder.run(&["cassette", "convert", "a.cassette", "n.cassette.gz"]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(ended.err.contains("help: leave .gz out, or name a form before it"), "{}", ended.err);
}

/// A document that is longer than what may be made of a file becomes a cassette all the same, and what is wrong with one is said.
#[test]
fn a_long_document_is_converted_piece_by_piece() {
    let folder = Folder::new("cassette-long");
    let body = format!("[{}65]", "65,".repeat(100_000));
    let interaction = |number: u64| {
        format!(
            "{{\"type\":\"Http\",\"request\":{{\"method\":\"GET\",\"url\":\"https://frogs.example/{number}\",\"headers\":{{}},\
             \"body\":null}},\"response\":{{\"status\":200,\"headers\":{{}},\"body\":{body}}},\
             \"recorded_at\":\"2025-10-11T12:30:45Z\",\"response_time_ms\":1500}}"
        )
    };
    let interactions: Vec<_> = (0..20).map(interaction).collect();
    let head = "{\"version\":\"1.0\",\"name\":\"long\",\"recorded_at\":\"2025-10-11T12:30:45Z\",\"interactions\":[";
    folder.write("long.json", &format!("{head}{}]}}", interactions.join(",")));
    let convert = ["cassette", "--max-size", "1M", "convert", "long.json", "long.cassette"];
    let said = folder.good(&convert);
    assert!(said.starts_with("long.cassette: cassette, 20 exchanges, "), "{said}");
    assert_eq!(folder.run(&convert).code, Some(2), "it is there already");
    let shown = folder.good(&["cassette", "show", "long.cassette"]);
    let line = "     0  2025-10-11T12:30:43.500Z  200         1500.0 ms    100001 B  GET https://frogs.example/0\n";
    assert!(shown.starts_with(line), "{shown}");
    // Without how long it took, it is said that only the end is known.
    let untimed = std::fs::read_to_string(folder.path().join("long.json")).expect("it is there");
    folder.write("untimed.json", &untimed.replace(",\"response_time_ms\":1500", ""));
    for (name, bytes_max) in [("a.cassette", "1M"), ("a.txt", "1G")] {
        let ended = folder.run(&["cassette", "--max-size", bytes_max, "convert", "untimed.json", name]);
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        let said = "note: untimed.json says when 20 exchanges had been answered, and not when they began: that time stands for both\n";
        assert_eq!(ended.err, said);
    }
    // To be shown it is in memory whole, and the message says what is too much of it.
    let ended = folder.run(&["cassette", "--max-size", "1M", "show", "long.json"]);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    let said = "error: long.json: the cassette with all of its bodies has more than the 1048576 bytes that may be made of one file \
                (the file itself has 6";
    assert!(ended.err.starts_with(said), "{}", ended.err);
    let broken = std::fs::read_to_string(folder.path().join("long.json")).expect("it is there");
    folder.write("broken.json", &broken.replacen("\"url\":\"https://frogs.example/7\"", "\"url\":7", 1));
    let ended = folder.run(&["cassette", "convert", "broken.json", "broken.cassette"]);
    assert_eq!(ended.code, Some(3), "{}", ended.err);
    assert!(ended.err.contains("in number 7 of \"interactions\""), "{}", ended.err);
    assert!(!folder.path().join("broken.cassette").exists());
}

#[test]
fn help_names_every_verb() {
    let folder = Folder::new("cassette-help");
    let help = folder.good(&["cassette", "--help"]);
    for verb in ["show", "stats", "verify", "convert", "diff", "merge", "redact", "list", "clean"] {
        assert!(help.contains(verb), "{help}");
        assert!(folder.good(&["cassette", verb, "--help"]).contains("Exit code:"), "{verb}");
        assert_eq!(folder.run(&["cassette", verb]).code, Some(2), "{verb}");
    }
    assert_eq!(folder.run(&["cassette"]).code, Some(2));
}

/// What a recorder writes while it goes on is seen, and nothing of it is touched.
#[test]
fn a_recording_that_goes_on_is_shown_and_not_sealed() {
    let folder = Folder::new("cassette-live");
    let recorder =
        Recorder::open(folder.path().join("live.cassette"), RecorderOptions::default()).expect("it is opened");
    recorder.record(exchange(0)).expect("it is recorded");
    let call = recorder.begin(0, &exchange(1).request).expect("it is recorded");
    recorder.sync(journal::Durability::Os).expect("it is written");
    assert_eq!(folder.good(&["cassette", "show", "live.cassette"]).lines().count(), 2);
    let ended = folder.run(&["cassette", "convert", "live.cassette", "live.cassette"]);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(ended.err.contains("help: end the program that records to it"), "{}", ended.err);
    call.end(ExchangeEnd::default()).expect("it is recorded");
    recorder.finish().expect("it is sealed");
    assert!(folder.good(&["cassette", "verify", "live.cassette"]).contains("sound, sealed: 2 exchanges"));
}
