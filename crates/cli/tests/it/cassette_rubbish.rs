//! What `metroon cassette` makes of files that a stranger may hand over: a message, little memory, and an end.

use crate::cassette_verbs::forms;
use crate::harness::{Ended, Folder, run_with_input};
use cassette::{Body, Exchange, Response, SealOptions, write_cassette};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

/// Every verb with a cassette.
const VERBS: [&[&str]; 9] = [
    &["show", "T"],
    &["show", "T", "0"],
    &["stats", "T"],
    &["verify", "T"],
    &["convert", "T", "--to", "json"],
    &["convert", "T", "new.cassette", "--force"],
    &["diff", "T", "T"],
    &["merge", "T", "T", "-o", "merged.cassette", "--force"],
    &["redact", "T", "-o", "redacted.cassette", "--force"],
];

/// Runs a verb in 1 GiB of addresses at most.
fn run(folder: &Folder, verb: &[&str], cassette: &str) -> Ended {
    let words: Vec<&str> = verb.iter().map(|word| if *word == "T" { cassette } else { word }).collect();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 1048576; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_metroon"), "cassette"]).args(words);
    command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    crate::harness::wait(command.spawn().expect("the shell runs"))
}

/// That it ended by itself, with a code that says that something is wrong and a message.
fn refused(ended: &Ended, what: &str) {
    assert!(matches!(ended.code, Some(1..=4)), "{what}: {:?} {} {}", ended.code, ended.out, ended.err);
    assert!(ended.err.contains("error: ") && !ended.err.contains("panicked"), "{what}: {}", ended.err);
}

#[test]
fn rubbish_is_refused_by_every_verb() {
    let folder = forms("cassette-rubbish");
    let good = std::fs::read(folder.path().join("a.cassette")).expect("it is read");
    let recording = std::fs::read(folder.path().join("cut.cassette.recording")).expect("it is read");
    let ones = |from: usize, bytes: &[u8]| [&bytes[..from], &vec![0xFF; bytes.len() - from]].concat();
    for (name, bytes) in [
        ("empty.cassette", Vec::new()),
        ("short.cassette", good[..30].to_vec()),
        ("cut-off.cassette", good[..good.len() - 1].to_vec()),
        ("longer.cassette", [&good[..], b"more"].concat()),
        ("numbers.cassette", ones(good.len() - 100, &good)),
        ("header.cassette", ones(24, &good)),
        ("noise.cassette", (0..5000_u32).map(|byte| (byte.wrapping_mul(2_654_435_761) >> 24) as u8).collect()),
        ("header.cassette.recording", recording[..40].to_vec()),
        ("empty.json", Vec::new()),
        ("noise.json", b"{\"format\": \"metroon-cassette\", \"version\": 1, \"exchanges\": [{}]}".to_vec()),
        ("later.json", b"{\"format\": \"metroon-cassette\", \"version\": 99, \"exchanges\": []}".to_vec()),
        ("open.har", b"{\"log\": {\"entries\": [".to_vec()),
        ("noise.yaml", b"interactions: [*a]".to_vec()),
        ("noise.mp", vec![0x94, 0xDD, 0xFF, 0xFF, 0xFF, 0xFF]),
        (
            "many.mp",
            [&b"\x94\xABmetroon-cassette\x01\xDD\xFF\xFF\xFF\xFF"[..], &[0x92, 0xA0, 0xA0].repeat(10)].concat(),
        ),
        ("noise.txt", b"metroon-cassette text 1\nexchange 99999999999999999999999\n".to_vec()),
    ] {
        std::fs::write(folder.path().join(name), &bytes).expect("it is written");
        for verb in VERBS {
            refused(&run(&folder, verb, name), &format!("{name} {verb:?}"));
        }
    }
    for verb in VERBS {
        refused(&run(&folder, verb, "."), "a folder");
        refused(&run(&folder, verb, "/dev/zero"), "a device");
        refused(&run(&folder, verb, "not-there"), "nothing");
    }
}

/// Opening one would wait for its writer.
#[test]
fn a_named_pipe_is_refused_at_once() {
    let folder = forms("cassette-fifo");
    let made =
        Command::new("mkfifo").args(["pipe.cassette", "beside.cassette.recording"]).current_dir(folder.path()).status();
    assert!(made.expect("`mkfifo` can be run").success());
    for (name, verb) in ["pipe.cassette", "beside.cassette"].iter().flat_map(|name| VERBS.map(|verb| (name, verb))) {
        let ended = run(&folder, verb, name);
        refused(&ended, name);
        assert!(ended.err.contains("a named pipe, not a regular file"), "{name} {verb:?}: {}", ended.err);
    }
}

/// Some hundred bytes that would be 64 MB, and a document of 8 KB that would be gigabytes.
#[test]
fn what_would_be_too_much_is_named_with_the_flag() {
    let folder = forms("cassette-bomb");
    let response = Response { status: 200, body: Some(Body::new(0, vec![0; 64 << 20])), ..Response::default() };
    let exchange = Exchange { response: Some(response), ..crate::cassette_verbs::exchange(0) };
    let path = folder.path().join("bomb.cassette");
    write_cassette(&path, &[exchange], &[], SealOptions::default()).expect("it is written");
    assert!(std::fs::metadata(&path).expect("it is there").len() < 4000);
    for arguments in [&["show", "bomb.cassette", "0"][..], &["convert", "bomb.cassette", "--to", "json"]] {
        let ended = folder.run(&[&["cassette", "--max-size", "16M"], arguments].concat());
        assert_eq!(ended.code, Some(1), "{}", ended.err);
        assert!(ended.err.starts_with("error: bomb.cassette: "), "{}", ended.err);
        assert!(ended.err.contains("has more than the 16777216 bytes that may be made of one file"), "{}", ended.err);
        assert!(ended.err.contains("help: if you trust the file, `--max-size 4G`"), "{}", ended.err);
    }
    let verified = folder.good(&["cassette", "verify", "bomb.cassette", "--max-size", "16M"]);
    assert!(verified.contains("sound, sealed: 1 exchange"), "{verified}");
    folder.good(&["cassette", "convert", "--max-size", "16M", "bomb.cassette", "copy.cassette"]);
    folder.good(&["cassette", "show", "bomb.cassette", "0"]);

    let mut laughs = "a: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..30 {
        laughs += &format!("b{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 10].join(", "));
    }
    folder.write("laughs.yaml", &(laughs + "interactions: []\n"));
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "ulimit -v 400000; exec \"$@\"",
        "sh",
        env!("CARGO_BIN_EXE_metroon"),
        "cassette",
        "show",
        "laughs.yaml",
    ]);
    command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ended = crate::harness::wait(command.spawn().expect("the shell runs"));
    assert_eq!(ended.code, Some(3), "{}", ended.err);
    assert!(ended.err.contains("aliases repeat more than 67108864 bytes of memory"), "{}", ended.err);

    std::fs::File::create(folder.path().join("sparse.json"))
        .and_then(|file| file.set_len(1 << 40))
        .expect("it is made");
    let ended = run(&folder, &["show", "T"], "sparse.json");
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(ended.err.contains("sparse.json: the file has more than the 1073741824 bytes"), "{}", ended.err);
    for (flags, most) in [(&[][..], "1073741824"), (&["--max-size", "16M"], "16777216")] {
        let ended = folder.run(&[&["record", "-o", "sparse.json", "--mode", "new"], flags, &["--", "true"]].concat());
        assert_eq!(ended.code, Some(1), "{}", ended.err);
        assert!(ended.err.contains(&format!("sparse.json: the file has more than the {most} bytes")), "{}", ended.err);
    }
    for wrong in ["0", "4X", "", "99999999999G"] {
        assert_eq!(folder.run(&["cassette", "show", "a.cassette", "--max-size", wrong]).code, Some(2), "{wrong}");
    }
    let fed =
        run_with_input(&["cassette", "show", "/dev/stdin", "--max-size", "10"], b"metroon-cassette text 1\nend\n");
    assert!(fed.code == Some(1) && fed.err.contains("/dev/stdin: the file has more than the 10 bytes"), "{}", fed.err);
}

/// What comes from other recorders was not looked through by ours.
#[test]
fn secrets_of_an_import_are_named() {
    let folder = Folder::new("cassette-import");
    let headers = "Authorization: [Basic Y3JvYWs6Y3JvYWs=], X-Api-Key: [croak-croak], Cookie: [id=croak]";
    let interaction = format!(
        "- request:\n    method: GET\n    uri: https://pond.example/?api_key=croak\n    body: null\n    headers: {{{headers}}}\n  \
         response:\n    status: {{code: 200, message: OK}}\n    headers: {{Set-Cookie: [id=croak]}}\n    body: {{string: ok}}\n"
    );
    folder.write("old.yaml", &format!("interactions:\n{interaction}{interaction}version: 1\n"));
    let ended = folder.run(&["cassette", "convert", "old.yaml", "new.cassette"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    for place in [
        "request header authorization",
        "request header x-api-key",
        "request header cookie",
        "response header set-cookie",
    ] {
        let line = format!("warning: old.yaml: the {place} has the value of a secret name (exchanges 0, 1)\n");
        assert!(ended.err.contains(&line), "{}", ended.err);
    }
    assert!(ended.err.contains("the request target has "), "{}", ended.err);
    assert!(ended.err.contains("help: `metroon cassette redact old.yaml -o NEW` takes secrets out"), "{}", ended.err);
    let mode = std::fs::metadata(folder.path().join("new.cassette")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let merged = folder.run(&["cassette", "merge", "old.yaml", "-o", "merged.cassette"]);
    assert!(merged.err.contains("request header cookie"), "{}", merged.err);
    let kept = folder.run(&["cassette", "convert", "old.yaml", "kept.cassette", "--keep-secrets"]);
    assert_eq!((kept.code, kept.err.as_str()), (Some(0), ""));
    let redacted = folder.run(&["cassette", "redact", "old.yaml", "-o", "redacted.txt"]);
    assert_eq!(redacted.code, Some(0), "{}", redacted.err);
    let again = folder.run(&["cassette", "convert", "redacted.txt", "again.cassette"]);
    assert_eq!((again.code, again.err.as_str()), (Some(0), ""));
}

/// A body that was a map says so where a person looks.
#[test]
fn a_body_that_was_made_of_a_tree_says_so() {
    let folder = Folder::new("cassette-map");
    folder.write(
        "aiohttp.yaml",
        "interactions:\n- request:\n    body: {frog: Sam}\n    headers: {}\n    method: POST\n    uri: https://pond.example/\n  \
         response:\n    headers: {content-type: [application/json]}\n    parsed_body: {legs: 4}\n    status: {code: 200, message: OK}\nversion: 1\n",
    );
    folder.good(&["cassette", "convert", "aiohttp.yaml", "aiohttp.cassette"]);
    let shown = folder.good(&["cassette", "show", "aiohttp.cassette", "0"]);
    for part in ["{\"frog\":\"Sam\"}", "{\"legs\":4}", "made of the map or list in `body`", "made of `parsed_body`"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}
