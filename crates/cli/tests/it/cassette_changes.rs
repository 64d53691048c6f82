//! `metroon cassette convert`, `diff`, `merge` and `redact`: what is made of cassettes.

use crate::cassette_verbs::{content, exchange, forms, record};
use crate::harness::Folder;
use cassette::{Body, Content, Exchange, Header, Note, SealOptions};

/// A key of no service, in a form that one gives them.
const SECRET: &str = "sk-canary-0123456789abcdefghij";

fn put(folder: &Folder, name: &str, content: &Content) {
    content.write(folder.path().join(name), SealOptions::default().keep_secrets()).expect("it is written");
}

fn get(folder: &Folder, name: &str) -> Content {
    Content::read(folder.path().join(name)).expect("it is read")
}

#[test]
fn every_form_becomes_every_other() {
    let folder = forms("cassette-convert");
    for (from, kind) in [("a.cassette", "cassette"), ("a.json", "json"), ("a.msgpack", "msgpack"), ("a.txt", "text")] {
        for (form, ending) in [("cassette", "cassette"), ("json", "json"), ("msgpack", "mp"), ("text", "txt")] {
            let named = format!("{kind}-{form}.{ending}");
            let out = folder.good(&["cassette", "convert", from, &named]);
            assert!(out.starts_with(&format!("{named}: {form}, 3 exchanges, ")), "{out}");
            assert_eq!(get(&folder, &named), content(), "{named}");
            // Whatever the name.
            let other = format!("{kind}-{form}.file");
            folder.good(&["cassette", "convert", "--to", form, from, &other]);
            let bytes = |name: &str| std::fs::read(folder.path().join(name)).expect("it is read");
            assert_eq!(bytes(&other), bytes(&named), "{other}");
        }
    }
}

#[test]
fn a_form_can_be_printed() {
    let folder = forms("cassette-print");
    assert_eq!(folder.good(&["cassette", "convert", "a.cassette", "--to", "text"]), content().to_text());
    let json = folder.good(&["cassette", "convert", "--to", "json", "a.txt"]);
    assert_eq!(Content::from_json(json.as_bytes()).expect("JSON"), content());
    for arguments in [&["a.cassette", "--to", "cassette"][..], &["a.cassette"], &["a.cassette", "--to", "xml"]] {
        let ended = folder.run(&[&["cassette", "convert"], arguments].concat());
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{arguments:?}: {}", ended.err);
    }
}

#[test]
fn nothing_is_overwritten_without_being_asked() {
    let folder = forms("cassette-exists");
    folder.write("there.json", "mine");
    for arguments in [
        &["convert", "a.cassette", "there.json"][..],
        &["merge", "a.cassette", "a.json", "-o", "there.json"],
        &["redact", "a.cassette", "-o", "there.json"],
    ] {
        let ended = folder.run(&[&["cassette"], arguments].concat());
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{arguments:?}");
        let expected = "error: there is something at there.json already\nhelp: --force puts the new one in its place\n";
        assert_eq!(ended.err, expected);
        assert_eq!(std::fs::read_to_string(folder.path().join("there.json")).expect("it is read"), "mine");
    }
    folder.good(&["cassette", "convert", "--force", "a.cassette", "there.json"]);
    assert_eq!(get(&folder, "there.json"), content());
    // Also what it is made of.
    folder.good(&["cassette", "convert", "--force", "there.json", "there.json", "--to", "cassette"]);
    assert_eq!(get(&folder, "there.json"), content());
}

#[test]
fn where_nothing_can_be_written_is_said() {
    let folder = forms("cassette-nowhere");
    std::fs::create_dir(folder.path().join("folder.json")).expect("it is made");
    for (to, code, word) in [
        ("folder.json", 2, "folder.json is a directory"),
        ("/dev/null", 2, "/dev/null is not an ordinary file"),
        ("missing/a.json", 1, "cannot open the folder of missing/a.json"),
        ("missing/a.cassette", 1, "cannot open the folder of missing/a.cassette"),
        ("cut.cassette", 2, "there is a recording of cut.cassette already: cut.cassette.recording"),
        ("b.cassette.recording", 2, "b.cassette.recording is the name of a recording"),
    ] {
        let ended = folder.run(&["cassette", "convert", "--force", "a.cassette", to, "--keep-secrets"]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(code), ""), "{to}: {}", ended.err);
        assert!(ended.err.contains(word), "{to}: {}", ended.err);
    }
}

#[test]
fn converting_seals_what_a_crash_left() {
    let folder = Folder::new("cassette-seal");
    record(&folder, "cut.cassette");
    let recorded = get(&folder, "cut.cassette");
    assert_eq!(recorded.exchanges.len(), 4);
    // To another name: the recording stays.
    folder.good(&["cassette", "convert", "cut.cassette.recording", "other.cassette"]);
    assert_eq!(get(&folder, "other.cassette"), recorded);
    assert!(folder.path().join("cut.cassette.recording").exists());
    // To its own: it is sealed, and goes.
    let out = folder.good(&["cassette", "convert", "cut.cassette.recording", "cut.cassette"]);
    assert!(out.starts_with("cut.cassette: cassette, 4 exchanges, "), "{out}");
    assert!(!folder.path().join("cut.cassette.recording").exists());
    assert_eq!(get(&folder, "cut.cassette"), recorded);
    // What was added to a sealed cassette is sealed behind what it had.
    record(&folder, "cut.cassette");
    folder.good(&["cassette", "convert", "./cut.cassette", "cut.cassette"]);
    let both = get(&folder, "cut.cassette");
    assert_eq!(both.exchanges.len(), 8);
    assert_eq!(both.exchanges[..4], recorded.exchanges);
    assert!(folder.good(&["cassette", "verify", "cut.cassette"]).contains("sound, sealed: 8 exchanges"));
}

#[test]
fn cassettes_that_say_the_same_do_not_differ() {
    let folder = forms("cassette-same");
    for (one, other) in [("a.cassette", "a.txt"), ("a.json", "a.msgpack"), ("a.cassette", "a.cassette")] {
        assert_eq!(folder.good(&["cassette", "diff", one, other]), "");
        assert_eq!(folder.good(&["cassette", "diff", "--times", one, other]), "");
    }
    // Later, and in other pieces.
    let mut later = content();
    for exchange in &mut later.exchanges {
        exchange.number += 7;
        exchange.started_ns += 5;
        exchange.ended_us = exchange.ended_us.map(|ended_us| ended_us + 1);
    }
    put(&folder, "later.cassette", &later);
    assert_eq!(folder.good(&["cassette", "diff", "a.cassette", "later.cassette"]), "");
    let ended = folder.run(&["cassette", "diff", "--times", "a.cassette", "later.cassette"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.starts_with("~ 0, 7  GET https://frogs.example/frogs/0\n    number: 0 -> 7\n"), "{}", ended.out);
}

#[test]
fn what_differs_is_said_field_by_field() {
    let folder = forms("cassette-diff");
    let mut other = content();
    other.meta = vec![Note::new("name", "toads")];
    let response = other.exchanges[0].response.as_mut().expect("there is one");
    response.status = 404;
    response.headers.push(Header::new("X-Pond", "a\x1b[31m"));
    response.body = Some(Body::new(7, r#"{"frog": 0, "green": false}"#));
    other.exchanges[2].frames.as_mut().expect("there are some")[0].payload = "ribbit".into();
    other.exchanges[1].number = 5;
    other.exchanges[1].request.target = "/toads".into();
    other.exchanges.sort_by_key(|exchange| exchange.number);
    put(&folder, "b.json", &other);
    let ended = folder.run(&["cassette", "diff", "a.cassette", "b.json"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(1), ""));
    let expected = r#"~ cassette name: "frogs" -> "toads"
- 1  GET https://frogs.example/frogs/1
+ 5  GET https://frogs.example/toads
~ 0  GET https://frogs.example/frogs/0
    response status: 200 -> 404
    response header x-pond: nothing -> "a\u{1b}[31m"
    response body at green: true -> false
~ 2  GET https://frogs.example/frogs/2
    frame 0 payload: "croak" -> "ribbit"
"#;
    assert_eq!(ended.out, expected);
    let ended = folder.run(&["cassette", "diff", "--json", "a.cassette", "b.json"]);
    assert_eq!(ended.code, Some(1));
    let objects: Vec<serde_json::Value> =
        ended.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(objects.len(), 5);
    assert_eq!((&objects[1]["only"], &objects[1]["number"]), (&"first".into(), &1.into()));
    assert_eq!(objects[3]["changes"][0]["second"], "404");
}

/// A request whose body changed is the same request still, and order counts among equal ones.
#[test]
fn exchanges_are_paired_by_what_they_ask() {
    let folder = Folder::new("cassette-pairs");
    let post = |number: u64, body: &'static str, answer: &'static str| {
        let mut exchange = exchange(number);
        exchange.request.method = "POST".into();
        exchange.request.target = "/ask".into();
        exchange.request.body = Some(Body::new(0, body));
        exchange.response.as_mut().expect("there is one").body = Some(Body::new(0, answer));
        exchange
    };
    let cassette = |exchanges| Content { exchanges, meta: Vec::new() };
    put(&folder, "a.cassette", &cassette(vec![post(0, "one", "1"), post(1, "one", "2"), post(2, "two", "3")]));
    put(&folder, "b.cassette", &cassette(vec![post(0, "three", "3"), post(1, "one", "1"), post(2, "one", "x")]));
    let ended = folder.run(&["cassette", "diff", "a.cassette", "b.cassette"]);
    let expected = "~ 1, 2  POST https://frogs.example/ask\n    response body from byte 0: \"2\" -> \"x\"\n\
                    ~ 2, 0  POST https://frogs.example/ask\n    request body from byte 1: \"two\" -> \"three\"\n";
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), expected));
}

#[test]
fn cassettes_are_merged_in_the_order_of_time() {
    let folder = forms("cassette-merge");
    let at = |number: u64, seconds: i64| Exchange { number, started_ns: seconds * 1_000_000_000, ..exchange(number) };
    // The clock went back on the first one.
    put(
        &folder,
        "x.cassette",
        &Content { exchanges: vec![at(0, 10), at(1, 5), at(2, 30)], meta: vec![Note::new("name", "x")] },
    );
    let notes = vec![Note::new("name", "y"), Note::new("made by", "y")];
    put(&folder, "y.json", &Content { exchanges: vec![at(4, 7), at(9, 20)], meta: notes });
    let out = folder.good(&["cassette", "merge", "x.cassette", "y.json", "-o", "z.txt"]);
    assert!(out.starts_with("z.txt: text, 5 exchanges, "), "{out}");
    let merged = get(&folder, "z.txt");
    let targets: Vec<_> =
        merged.exchanges.iter().map(|exchange| exchange.request.target.to_text_lossy().into_owned()).collect();
    assert_eq!(targets, ["/frogs/4", "/frogs/0", "/frogs/1", "/frogs/9", "/frogs/2"]);
    let numbers: Vec<_> = merged.exchanges.iter().map(|exchange| exchange.number).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4]);
    assert_eq!(merged.meta, [Note::new("made by", "y"), Note::new("name", "y")]);
    // Copies of one recording.
    let ended = folder.run(&["cassette", "merge", "a.cassette", "a.json", "cut.cassette", "-o", "b.cassette"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(ended.err, "note: 6 exchanges left out: equal to one that is there\n");
    assert_eq!(get(&folder, "b.cassette").exchanges[..3], content().exchanges);
}

/// An exchange with a secret of every kind.
fn with_secrets() -> Content {
    let mut secret = exchange(0);
    secret.request.target = "/frogs?api_key=hunter2&page=2".into();
    secret.request.headers.push(Header::new("Authorization", "Bearer hunter2"));
    let body =
        format!(r#"{{"key": "{SECRET}", "member": 4711, "owner": {{"email": "ann@example.com"}}, "pond": "p-123"}}"#);
    secret.response.as_mut().expect("there is one").body = Some(Body::new(0, body));
    Content { exchanges: vec![secret, exchange(1)], meta: vec![Note::new("token", SECRET)] }
}

#[test]
fn secrets_are_taken_out_and_named() {
    let folder = Folder::new("cassette-redact");
    put(&folder, "a.cassette", &with_secrets());
    let out = folder.good(&[
        "cassette",
        "redact",
        "a.cassette",
        "-o",
        "b.cassette",
        "--name",
        "member",
        "--json-path",
        "owner.email",
        "--pattern",
        "p-[0-9]+",
    ]);
    let expected = "exchange 0: request header authorization: the value of a secret name
exchange 0: request target: the value of a secret name
exchange 0: response body: an API key that begins with sk-
exchange 0: response body: an expression of the user
exchange 0: response body: the value of a secret name (2 times)
cassette: note token: the value of a secret name
b.cassette: cassette, 2 exchanges, ";
    assert!(out.starts_with(expected), "{out}");
    let redacted = get(&folder, "b.cassette");
    let first = &redacted.exchanges[0];
    assert_eq!(first.request.target, "/frogs?api_key=REDACTED&page=2");
    let body = r#"{"key": "REDACTED", "member": 0, "owner": {"email": "REDACTED"}, "pond": "REDACTED"}"#;
    assert_eq!(first.response.as_ref().expect("there is one").body_bytes(), body.as_bytes());
    assert_eq!(redacted.exchanges[1], exchange(1));
    assert_eq!(redacted.meta, [Note::new("token", "REDACTED")]);
    assert_eq!(get(&folder, "a.cassette"), with_secrets(), "the cassette is not touched");
    // Again there is nothing.
    let out = folder.good(&["cassette", "redact", "b.cassette", "-o", "c.txt"]);
    assert!(out.starts_with("c.txt: text, 2 exchanges"), "{out}");
}

#[test]
fn only_what_is_named_is_taken_out() {
    let folder = Folder::new("cassette-redact-only");
    put(&folder, "a.cassette", &with_secrets());
    let mut command = folder.command(&[
        "cassette",
        "redact",
        "a.cassette",
        "-o",
        "b.json",
        "--only",
        "--secret-from",
        "POND_SECRET",
        "--keep-secrets",
    ]);
    command.env("POND_SECRET", "hunter2");
    let ended = crate::harness::wait(command.spawn().expect("the binary runs"));
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let text = std::fs::read_to_string(folder.path().join("b.json")).expect("it is read");
    assert!(!text.contains("hunter2") && text.contains(SECRET), "{text}");
    // Without --keep-secrets the key that is left is seen.
    let ended = folder.run(&["cassette", "redact", "a.cassette", "-o", "c.json", "--only", "--name", "member"]);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(!folder.path().join("c.json").exists());
}

#[test]
fn rules_that_cannot_be_used_are_said() {
    let folder = forms("cassette-rules");
    for (arguments, word) in [
        (&["--pattern", "("][..], "an expression for secrets cannot be read"),
        (&["--json-path", "a..b"], "the JSON path `a..b` has an empty name"),
        (&["--secret-from", "NO_SUCH_VARIABLE_HERE"], "there is no text in the environment variable"),
    ] {
        let ended = folder.run(&[&["cassette", "redact", "a.cassette", "-o", "new.cassette"], arguments].concat());
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(ended.err.contains(word), "{arguments:?}: {}", ended.err);
        assert!(!folder.path().join("new.cassette").exists());
    }
}

/// A cassette with a known form of a secret is not written, whatever its form, unless that is asked for.
#[test]
fn a_secret_keeps_a_cassette_from_being_written() {
    let folder = Folder::new("cassette-scan");
    put(&folder, "a.json", &with_secrets());
    for to in ["b.cassette", "b.txt"] {
        let ended = folder.run(&["cassette", "convert", "a.json", to]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""));
        let name = if to == "b.cassette" { "b.cassette" } else { "b.txt" };
        let expected = format!(
            "error: {name}: exchange 0 has an API key that begins with sk- in its response body, and there is another \
             secret\nhelp: `metroon cassette redact a.json -o NEW` takes secrets out; --keep-secrets writes them as they are\n"
        );
        assert_eq!(ended.err, expected);
        assert!(!folder.path().join(to).exists());
    }
    folder.good(&["cassette", "redact", "a.json", "-o", "b.cassette"]);
    folder.good(&["cassette", "convert", "--keep-secrets", "a.json", "c.cassette"]);
    assert_eq!(get(&folder, "c.cassette"), with_secrets());
}
