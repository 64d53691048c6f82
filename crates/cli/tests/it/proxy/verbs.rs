//! What `record` and `replay -- COMMAND` say and how they end, whatever the client.

use super::harness::{Stage, data_folder, has, run, words};
use crate::harness::{signal, wait};
use cassette::Cassette;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const CURL: &str = "curl --silent --show-error";

fn curl(target: &str) -> Vec<std::ffi::OsString> {
    shell(&format!("{CURL} 'https://api.metroon.test{target}'"))
}

fn shell(script: &str) -> Vec<std::ffi::OsString> {
    words(&["sh", "-c", script])
}

/// Waits until something is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what} does not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_output_and_the_code_are_the_programs() {
    let stage = Stage::new("code");
    let ended = stage.record(&shell("echo out; echo err >&2; exit 7"));
    assert_eq!((ended.code, ended.out.as_str()), (Some(7), "out\n"));
    assert!(ended.err.starts_with("err\nmetroon: recorded nothing, so there is no trip.cassette\n"), "{}", ended.err);
    assert!(ended.err.contains("warning: sh made no request through the proxy\nhelp: "), "{}", ended.err);
    assert!(!stage.folder.path().join("trip.cassette").exists());
    let ended = stage.record(&shell("kill -9 $$"));
    assert_eq!(ended.code, Some(137));
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    let stage = Stage::new("started");
    let ended = stage.record(&words(&["no-such-program"]));
    assert_eq!(ended.code, Some(127));
    assert!(ended.err.starts_with("error: there is no program no-such-program\nhelp: "), "{}", ended.err);
    assert!(ended.err.ends_with("metroon: recorded nothing, so there is no trip.cassette\n"), "{}", ended.err);
    let ended = stage.record(&words(&["./"]));
    assert_eq!(ended.code, Some(126));
    assert!(ended.err.starts_with("error: cannot run ./: "), "{}", ended.err);
}

#[test]
fn a_miss_is_told_with_the_nearest_recording() {
    if !has("curl", "--version") {
        return;
    }
    let mut stage = Stage::new("miss");
    assert_eq!(stage.record(&curl("/echo?frog=Sam")).code, Some(0));
    stage.stop_origin();
    let ended = stage.replay(&[], &curl("/echo?frog=Fritz"));
    assert_eq!(ended.code, Some(4), "{}", ended.err);
    let told = "error: no recorded exchange answers GET https://api.metroon.test/echo?frog=Fritz\n  nearest is exchange 0, \
                GET https://api.metroon.test/echo?frog=Sam; what differs:\n    query frog: recorded \"Sam\", now \"Fritz\"\n\
                help: record it: `metroon record -o trip.cassette --mode new -- …`, or allow it with --ignore-query frog\n";
    assert!(ended.err.contains(told), "{}", ended.err);
    assert!(ended.out.contains("Fritz"), "the program is told as well: {}", ended.out);
    let ended = stage.replay(&["--ignore-query", "frog"], &curl("/echo?frog=Fritz"));
    assert_eq!(ended.code, Some(0), "{}", ended.err);
}

/// A client that asks again misses again: that is one miss with a number.
#[test]
fn equal_misses_are_told_once() {
    if !has("curl", "--version") {
        return;
    }
    let mut stage = Stage::new("miss-again");
    assert_eq!(stage.record(&curl("/echo?frog=Sam")).code, Some(0));
    stage.stop_origin();
    let ended = stage
        .replay(&[], &shell(&format!("for n in 1 2 3; do {CURL} 'https://api.metroon.test/echo?frog=Fritz'; done")));
    assert_eq!(ended.code, Some(4), "{}", ended.err);
    assert_eq!(ended.err.matches("error: no recorded exchange answers").count(), 1, "{}", ended.err);
    assert!(ended.err.contains("\n  it came 3 times\n"), "{}", ended.err);
}

/// What tells of a program and was left out of its cassette is no reason for its replay to differ.
#[test]
fn telemetry_that_was_left_out_does_not_differ() {
    if !has("curl", "--version") {
        return;
    }
    let mut stage = Stage::new("telemetry");
    let tell = "--data '{}' --header 'Content-Type: application/json' https://api.metroon.test/v1/traces";
    let program = shell(&format!("{CURL} https://api.metroon.test/json; {CURL} {tell}"));
    let mut recording = stage.recording(&["--leave-out", "path=/v1/traces", "--"]);
    let recorded = run(recording.args(&program));
    assert_eq!(recorded.code, Some(0), "{}", recorded.err);
    stage.stop_origin();
    let ended = stage.replay(&[], &program);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.out.ends_with("{}"), "{}", ended.out);
    let said =
        "note: 1 request with telemetry taken and sent nowhere: 1 for OpenTelemetry\nmetroon: answered 1 request from";
    assert!(ended.err.contains(said), "{}", ended.err);
}

/// A recording that was refused stays unsealed, and answers from it say where they come from.
#[test]
fn answers_from_a_recording_that_was_not_sealed_name_it() {
    if !has("curl", "--version") {
        return;
    }
    let stage = Stage::new("unsealed");
    assert_eq!(stage.record(&curl("/json")).code, Some(0));
    let path = |name: &str| stage.folder.path().join(name);
    // What a crash, or a secret that was found when it was sealed, leaves.
    let content = cassette::Content::read(path("trip.cassette")).expect("it is sealed");
    let recorder =
        cassette::Recorder::open(path("cut.cassette"), cassette::RecorderOptions::default()).expect("it is opened");
    for exchange in content.exchanges {
        recorder.record(exchange).expect("it is recorded");
    }
    recorder.stop().expect("it is written");
    for (words, code) in [(&["record", "-o", "cut.cassette", "--"][..], 0), (&["replay", "cut.cassette", "--"], 0)] {
        let ended = run(stage.metroon(words).args(curl("/json")));
        assert_eq!(ended.code, Some(code), "{words:?}: {}", ended.err);
        let note = "note: there is no cut.cassette: answers come from cut.cassette.recording, which was not sealed\n\
                    help: `metroon cassette convert cut.cassette cut.cassette` seals it";
        assert!(ended.err.contains(note), "{words:?}: {}", ended.err);
        assert!(
            ended.err.contains("metroon: answered 1 request from cut.cassette.recording"),
            "{words:?}: {}",
            ended.err
        );
    }
    let missed = run(stage.metroon(&["record", "-o", "cut.cassette", "--"]).args(curl("/other")));
    assert!(
        missed.code == Some(4) && missed.err.contains("`metroon record -o cut.cassette --mode new"),
        "{}",
        missed.err
    );
    stage.folder.good(&["cassette", "convert", "cut.cassette", "cut.cassette"]);
    let ended = run(stage.metroon(&["replay", "cut.cassette", "--"]).args(curl("/json")));
    assert!(ended.code == Some(0) && !ended.err.contains("note: there is no"), "{}", ended.err);
}

/// A replay compares what was recorded, so a cassette remembers what was a secret.
#[test]
fn secrets_are_the_same_in_a_replay() {
    if !has("curl", "--version") {
        return;
    }
    for options in [&["--keep-secrets"][..], &["--secret-name", "frog"], &["--secret-from", "PATH"], &[]] {
        let stage = Stage::new("secrets");
        let program = curl("/json?api_key=croak-croak&frog=Sam");
        let ended = run(stage.recording(options).arg("--").args(&program));
        assert_eq!(ended.code, Some(0), "{options:?}: {}", ended.err);
        for options in [&[], options] {
            let ended = stage.replay(options, &program);
            assert_eq!(ended.code, Some(0), "{options:?}: {}", ended.err);
        }
        let shown = stage.folder.good(&["cassette", "show", "trip.cassette"]);
        assert_eq!(shown.contains("croak"), options == ["--keep-secrets"], "{shown}");
    }
}

/// That secrets were kept once is no leave to keep others.
#[test]
fn what_is_added_keeps_no_secrets_by_itself() {
    if !has("curl", "--version") {
        return;
    }
    let stage = Stage::new("added");
    let kept = run(stage.recording(&["--keep-secrets", "--"]).args(curl("/json?api_key=croak-croak")));
    assert_eq!(kept.code, Some(0), "{}", kept.err);
    let added = run(stage.recording(&["--mode", "new", "--"]).args(curl("/json?api_key=other-croak")));
    assert_eq!(added.code, Some(0), "{}", added.err);
    let shown = stage.folder.good(&["cassette", "show", "trip.cassette"]);
    assert!(shown.contains("croak-croak") && !shown.contains("other-croak"), "{shown}");
}

#[test]
fn what_was_not_asked_for_is_listed() {
    if !has("curl", "--version") {
        return;
    }
    let stage = Stage::new("unused");
    stage.record(&shell(&format!("{CURL} https://api.metroon.test/json https://api.metroon.test/count")));
    let ended = stage.replay(&[], &curl("/json"));
    assert_eq!(ended.code, Some(0));
    let told = "note: 1 recorded exchange not asked for:\n      1  GET https://api.metroon.test/count\nmetroon: answered 1 request";
    assert!(ended.err.contains(told), "{}", ended.err);
}

#[test]
fn modes_say_what_they_did() {
    if !has("curl", "--version") {
        return;
    }
    let stage = Stage::new("modes");
    let mode = |mode: &str, target: &str| {
        let mut command = stage.recording(&["--mode", mode, "--"]);
        let ended = run(command.args(curl(target)));
        (ended.code, ended.err.lines().last().unwrap_or_default().to_owned())
    };
    assert_eq!(mode("once", "/count"), (Some(0), "metroon: recorded 1 exchange in trip.cassette".to_owned()));
    let again = "metroon: answered 1 request from trip.cassette, which was there already; --mode all records it anew";
    assert_eq!(mode("once", "/count"), (Some(0), again.to_owned()));
    assert_eq!(mode("once", "/json").0, Some(4));
    assert_eq!(mode("new", "/json"), (Some(0), "metroon: recorded 1 exchange in trip.cassette".to_owned()));
    assert_eq!(mode("none", "/json"), (Some(0), "metroon: answered 1 request from trip.cassette".to_owned()));
    assert_eq!(mode("all", "/count"), (Some(0), "metroon: recorded 1 exchange in trip.cassette".to_owned()));
    assert_eq!(Cassette::open(stage.folder.path().join("trip.cassette")).expect("it is sealed").len(), 1);
}

#[test]
fn a_tape_and_a_cassette_are_told_apart() {
    if !has("curl", "--version") {
        return;
    }
    let stage = Stage::new("kinds");
    stage.record(&curl("/json"));
    let ended = stage.folder.run(&["replay", "trip.cassette"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.starts_with("error: trip.cassette is a cassette of network traffic"), "{}", ended.err);
    stage.folder.good(&["run", "-e", "!(+ 1 2)", "--record", "run.tape"]);
    let ended = stage.folder.run(&["replay", "run.tape", "--", "true"]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.err.starts_with("error: run.tape is the tape of a run, not a cassette of network traffic"),
        "{}",
        ended.err
    );
    assert_eq!(stage.folder.run(&["replay", "run.tape"]).code, Some(0));
    let ended = stage.folder.run(&["replay", "none.cassette", "--", "true"]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
}

/// Recording anew replaces a cassette and nothing else.
#[test]
fn what_is_no_cassette_is_left_as_it_is() {
    let stage = Stage::new("no-cassette");
    stage.folder.write("page.html", "<h1>of mine, and longer than the head of a cassette</h1>");
    stage.folder.good(&["run", "-e", "!(+ 1 2)", "--record", "run.tape"]);
    for name in ["page.html", "run.tape", "."] {
        let before = std::fs::read(stage.folder.path().join(name)).ok();
        for mode in ["all", "new", "once"] {
            let ended = run(&mut stage.metroon(&["record", "-o", name, "--mode", mode, "--", "true"]));
            assert_eq!(ended.code, Some(2), "{name} {mode}: {}", ended.err);
            assert!(ended.err.starts_with("error: "), "{name} {mode}: {}", ended.err);
        }
        assert_eq!(std::fs::read(stage.folder.path().join(name)).ok(), before, "{name}");
    }
}

#[test]
fn forgotten_words_are_told() {
    let stage = Stage::new("forgotten");
    for (words, tip) in [
        (&["record", "-o", "trip.cassette", "curl", "-s", "https://a.test/"][..], "`-- curl …`"),
        (&["replay", "trip.cassette", "python3", "frogs.py"], "`-- python3 …`"),
        (&["record", "trip.cassette", "--", "curl"], "`-o trip.cassette`"),
        (&["record", "-o", "trip.cassette", "--listen", "8888"], "such as 127.0.0.1:8888"),
        (&["record", "-o", "folder/trip.cassette", "--", "true"], "record to a folder that is there"),
        (&["replay", "trip.cassette", "--edits", "none.json", "--", "true"], "name a file that is a cassette"),
    ] {
        let ended = run(&mut stage.metroon(words));
        assert!(matches!(ended.code, Some(1 | 2)) && ended.err.contains(tip), "{words:?}: {}", ended.err);
    }
}

/// Bodies of this length have no part in the index of a cassette.
#[test]
fn a_long_upload_is_answered() {
    if !has("curl", "--version") {
        return;
    }
    let mut stage = Stage::new("long");
    stage.folder.write("pond", &"water ".repeat(4 << 20));
    let upload = |from: &str| shell(&format!("{CURL} --data-binary @{from} https://api.metroon.test/upload"));
    let recorded = stage.record(&upload("pond"));
    assert!(recorded.out.contains("\"bytes\":25165824"), "{}{}", recorded.out, recorded.err);
    stage.stop_origin();
    let replayed = stage.replay(&[], &upload("pond"));
    assert_eq!((replayed.code, &replayed.out), (Some(0), &recorded.out), "{}", replayed.err);
    stage.folder.write("lake", &"waves ".repeat(4 << 20));
    assert_eq!(stage.replay(&[], &upload("lake")).code, Some(4));
}

#[test]
fn signals_reach_the_program_and_the_cassette_is_sealed() {
    if !has("curl", "--version") {
        return;
    }
    for (name, code) in [("TERM", 143), ("INT", 130), ("HUP", 129)] {
        // Whoever runs the tests under `nohup`, or behind a shell's `&`, has signals ignored by all of their children.
        if is_ignored(code - 128) {
            continue;
        }
        let stage = Stage::new(&format!("signal-{name}"));
        let script = format!("{CURL} https://api.metroon.test/json > got; exec sleep 60");
        let mut command = stage.recording(&["--"]);
        let child = command.args(shell(&script)).stdin(Stdio::null()).spawn().expect("the binary runs");
        until("the answer", || stage.folder.path().join("got").metadata().is_ok_and(|got| got.len() > 0));
        signal(child.id(), name);
        let ended = wait(child);
        assert_eq!(ended.code, Some(code), "{name}: {}", ended.err);
        assert_eq!(ended.err, "metroon: recorded 1 exchange in trip.cassette\n", "{name}");
        let cassette = Cassette::open(stage.folder.path().join("trip.cassette")).expect("there is a cassette");
        assert!(cassette.is_sealed() && cassette.len() == 1, "{name}");
    }
}

fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored
        .and_then(|ignored| u64::from_str_radix(ignored.trim(), 16).ok())
        .is_some_and(|ignored| ignored >> (signal - 1) & 1 == 1)
}

/// What `nohup` has a program ignore it ignores with `metroon` in between.
#[test]
fn an_ignored_signal_stays_ignored() {
    if !has("curl", "--version") {
        return;
    }
    let stage = Stage::new("nohup");
    let script = format!("{CURL} https://api.metroon.test/json > got; sleep 0.5; echo done");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]);
    let recording = stage.recording(&["--"]);
    command.arg(recording.get_program()).args(recording.get_args()).args(shell(&script));
    for (name, value) in recording.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(stage.folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.stdin(Stdio::null()).spawn().expect("the shell runs");
    until("the answer", || stage.folder.path().join("got").metadata().is_ok_and(|got| got.len() > 0));
    signal(child.id(), "HUP");
    let ended = wait(child);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "done\n"), "{}", ended.err);
}

/// Ctrl-C at a terminal reaches the child by the terminal, and must not reach it once more.
#[test]
fn ctrl_c_reaches_the_program_once() {
    if !has("python3", "--version") {
        return;
    }
    let stage = Stage::new("terminal");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/proxy/at_a_terminal.py");
    let mut command = std::process::Command::new("python3");
    command.arg("-B").arg(script).arg(env!("CARGO_BIN_EXE_metroon")).current_dir(stage.folder.path());
    let output = command.env("METROON_DATA_DIR", data_folder()).output().expect("python3 runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("interrupts 1\r\n") && said.ends_with("\ncode 0\n"), "{said}");
}

/// A child gets the signal mask that the person's shell has, not the one of `metroon`.
#[test]
fn no_signal_is_blocked_in_the_program() {
    if !has("python3", "--version") {
        return;
    }
    let stage = Stage::new("mask");
    let script = "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))";
    assert_eq!(stage.record(&words(&["python3", "-c", script])).out, "set()\n");
}

/// A proxy that stays, until its standard input ends.
struct Staying {
    child: Child,
    ready: serde_json::Value,
}

impl Staying {
    fn start(stage: &Stage, words: &[&str]) -> Self {
        Self::of(stage.recording(&["--ready-json"]).args(words))
    }

    fn of(command: &mut std::process::Command) -> Self {
        let mut child = command.spawn().expect("the binary runs");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("it is piped")).read_line(&mut line).expect("it says something");
        Self { child, ready: serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")) }
    }

    /// Asks for a plain target, as a client of a proxy does.
    fn ask(&self, target: &str) -> std::io::Result<String> {
        let proxy = self.ready["proxy"].as_str().and_then(|url| url.strip_prefix("http://")).expect("it has a URL");
        let mut stream = TcpStream::connect(proxy)?;
        let host = origin::NAME;
        write!(stream, "GET http://{host}{target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }
}

#[test]
fn a_proxy_that_stays_is_ready_when_it_says_so() {
    let stage = Stage::new("stays");
    let staying = Staying::start(&stage, &[]);
    let answer = staying.ask("/json").expect("it listens");
    assert!(answer.ends_with(r#"{"frog":"Sam","green":true}"#), "{answer}");
    let variables = &staying.ready["env"];
    assert_eq!(variables["HTTPS_PROXY"], staying.ready["proxy"]);
    assert!(Path::new(staying.ready["ca"].as_str().expect("it has a path")).is_file());
    // Closing its input ends it.
    let ended = wait(staying.child);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), "metroon: recorded 1 exchange in trip.cassette\n"));
}

/// A program that started the proxy reads how much came, and a recording of nothing leaves a cassette only if it may.
#[test]
fn what_was_asked_is_counted_for_a_program() {
    let stage = Stage::new("counted");
    let counted = |words: &[&str], asks: bool| {
        let staying = Staying::start(&stage, words);
        if asks {
            staying.ask("/json").expect("it listens");
        }
        let ended = wait(staying.child);
        let counts: serde_json::Value = serde_json::from_str(&ended.out).expect("it is one line of JSON");
        let is_there = stage.folder.path().join("trip.cassette").exists();
        assert_eq!(counts["kept"], is_there, "{}", ended.err);
        (counts["requests"].as_u64(), counts["recorded"].as_u64(), is_there)
    };
    assert_eq!(counted(&[], false), (Some(0), Some(0), false));
    assert_eq!(counted(&["--allow-empty"], false), (Some(0), Some(0), true));
    assert_eq!(counted(&["--mode", "all"], true), (Some(1), Some(1), true));
}

/// A program that starts `metroon` for its own users has them told in its own words.
#[test]
fn help_speaks_the_words_of_what_started_it() {
    let stage = Stage::new("words");
    for (style, again, allow) in [
        ("pytest", "run pytest with --metroon-mode=new", r#"@pytest.mark.metroon(options=["--ignore-query=frog"])"#),
        ("node", "start metroon with mode: 'new'", "options: ['--ignore-query=frog']"),
    ] {
        let _ = std::fs::remove_file(stage.folder.path().join("trip.cassette"));
        let recorded = Staying::start(&stage, &[]);
        recorded.ask("/json").expect("it listens");
        assert_eq!(wait(recorded.child).code, Some(0));
        let mut command = stage.metroon(&["record", "-o", "trip.cassette", "--mode=none", "--ready-json"]);
        let staying = Staying::of(command.env("METROON_HELP_STYLE", style));
        let answer = staying.ask("/json?frog=Sam").expect("it listens");
        assert!(answer.contains(r#""message": "no recorded exchange answers GET"#), "{answer}");
        let ended = wait(staying.child);
        assert_eq!(ended.code, Some(4));
        assert!(
            ended.err.contains(&format!("\nhelp: record it: {again}, or allow it with {allow}\n")),
            "{}",
            ended.err
        );
    }
}

/// The disk is full, by a limit on the length of files: of the recording, or of the cassette that is made of it.
#[test]
fn a_cassette_that_is_not_there_is_not_said_to_be() {
    if !has("curl", "--version") {
        return;
    }
    let stage = Stage::new("full");
    let path = stage.folder.path().join("trip.cassette");
    // What lies beside the authority is written now.
    assert_eq!(stage.record(&curl("/json")).code, Some(0));
    for blocks in [8, 64, 200, 900] {
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::remove_file(path.with_extension("cassette.recording"));
        let recording = stage.recording(&["--"]);
        let mut limited = std::process::Command::new("sh");
        limited.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"")]);
        limited.arg(recording.get_program()).args(recording.get_args());
        for (name, value) in recording.get_envs() {
            match value {
                Some(value) => limited.env(name, value),
                None => limited.env_remove(name),
            };
        }
        limited.current_dir(stage.folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let script = "for n in 1 2 3 4 5 6 7 8; do curl -s -o /dev/null 'https://api.metroon.test/upload' --data-binary \
                      \"@random\"; done; true";
        std::fs::write(stage.folder.path().join("random"), noise(100_000)).expect("it can be written");
        let ended = run(limited.args(shell(script)));
        let claims = ended.err.contains("exchanges in trip.cassette\n");
        assert!(!claims || path.is_file(), "{blocks}: {}", ended.err);
        if ended.code != Some(0) {
            assert_eq!(ended.code, Some(1), "{blocks}: {}", ended.err);
            assert!(!claims && ended.err.contains("error: "), "{blocks}: {}", ended.err);
        }
    }
}

/// Bytes that nothing makes shorter.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..count).map(next).collect()
}

#[test]
fn a_proxy_that_stays_ends_with_a_signal() {
    let stage = Stage::new("listens");
    let mut command = stage.recording(&["--listen", "127.0.0.1:0"]);
    let mut child = command.stdin(Stdio::null()).spawn().expect("the binary runs");
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().expect("it is piped")).read_line(&mut line).expect("it says something");
    assert!(line.starts_with("metroon: recording to trip.cassette, on http://127.0.0.1:"), "{line}");
    signal(child.id(), "INT");
    let ended = wait(child);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    // The next one would answer everything from a cassette that has nothing.
    assert!(ended.err.ends_with("metroon: recorded nothing, so there is no trip.cassette\n"), "{}", ended.err);
    assert!(!stage.folder.path().join("trip.cassette").exists());
}

/// What a client was answered is on the cassette, however the proxy ends.
#[test]
fn what_was_acknowledged_survives_a_kill() {
    const ROUNDS: u32 = 50;
    let stage = Stage::new("killed");
    let path = stage.folder.path().join("trip.cassette");
    for round in 0..ROUNDS {
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::remove_file(path.with_extension("cassette.recording"));
        let staying = Staying::start(&stage, &[]);
        let id = staying.child.id();
        // Each round is killed somewhere else.
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_micros(u64::from(round) * 700));
            signal(id, "KILL");
        });
        let mut answered = 0;
        while staying.ask(&format!("/bytes/{answered}")).is_ok_and(|answer| is_whole(&answer, answered)) {
            answered += 1;
        }
        killer.join().expect("it was killed");
        wait(staying.child);
        let Ok(cassette) = Cassette::open(&path) else {
            assert_eq!(answered, 0, "round {round}: there is no cassette");
            continue;
        };
        let complete = cassette.exchanges().map(|exchange| exchange.expect("it can be read"));
        let complete = complete.filter(|exchange| exchange.outcome == cassette::Outcome::Complete);
        let complete: Vec<_> = complete.map(|exchange| exchange.request.target.to_text_lossy().into_owned()).collect();
        assert!(complete.len() >= answered, "round {round}: {answered} answered, {complete:?} on the cassette");
        for (number, target) in complete.iter().enumerate() {
            assert_eq!(*target, format!("/bytes/{number}"), "round {round}");
        }
    }
}

fn is_whole(answer: &str, bytes: usize) -> bool {
    answer.split_once("\r\n\r\n").is_some_and(|(head, body)| head.starts_with("HTTP/1.1 200") && body.len() >= bytes)
}

/// A name that is not that of a cassette gets its own form, whatever the mode, and no cassette is left beside it.
#[test]
fn a_cassette_is_recorded_as_text() {
    if !has("curl", "--version") {
        return;
    }
    let stage = Stage::new("text");
    let record = |file: &str, mode: &str, target: &str| {
        let mut command = stage.recording(&["-o", file, "--mode", mode, "--"]);
        run(command.args(curl(target)))
    };
    let names = |stage: &Stage| {
        let mut names: Vec<_> = std::fs::read_dir(stage.folder.path()).expect("the folder is there").collect();
        names.sort_by_key(|entry| entry.as_ref().map(|entry| entry.file_name()).ok());
        let names = names.into_iter().map(|entry| entry.expect("it is read").file_name().into_string().expect("UTF-8"));
        names.filter(|name| name != "origin.pem").collect::<Vec<_>>()
    };
    let text = |file: &str| std::fs::read_to_string(stage.folder.path().join(file)).expect("it is there");
    let ended = record("trip.txt", "once", "/json");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.ends_with("metroon: recorded 1 exchange in trip.txt\n"), "{}", ended.err);
    assert!(text("trip.txt").starts_with("metroon-cassette text 1\n"), "{}", text("trip.txt"));
    assert_eq!(names(&stage), ["trip.txt"]);
    // It answers, is added to, and is recorded anew.
    let before = text("trip.txt");
    let ended = record("trip.txt", "once", "/json");
    assert!(ended.err.contains("answered 1 request from trip.txt, which was there already"), "{}", ended.err);
    assert_eq!(text("trip.txt"), before);
    let ended = record("trip.txt", "new", "/count");
    assert!(ended.err.ends_with("metroon: recorded 1 exchange in trip.txt\n"), "{}", ended.err);
    let added = text("trip.txt");
    assert!(added.starts_with(before.trim_end_matches("end\n")) && added.contains("/count"), "{added}");
    let mut command = stage.metroon(&["replay", "trip.txt", "--"]);
    let ended = run(command.args(curl("/count")));
    assert!(ended.code == Some(0) && ended.err.ends_with("answered 1 request from trip.txt\n"), "{}", ended.err);
    let ended = record("trip.txt", "all", "/json");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(!text("trip.txt").contains("/count"));
    assert_eq!(names(&stage), ["trip.txt"]);
    for file in ["trip.json", "trip.har", "trip.yaml", "trip.json.gz"] {
        assert_eq!(record(file, "once", "/json").code, Some(0), "{file}");
        let mut command = stage.metroon(&["replay", file, "--"]);
        assert_eq!(run(command.args(curl("/json"))).code, Some(0), "{file}");
    }
    assert_eq!(names(&stage), ["trip.har", "trip.json", "trip.json.gz", "trip.txt", "trip.yaml"]);
    let compressed = std::fs::read(stage.folder.path().join("trip.json.gz")).expect("it is there");
    assert!(compressed.starts_with(b"\x1f\x8b"), "it is gzip");
    // It is added to, and stays what it is.
    assert_eq!(record("trip.json.gz", "new", "/count").code, Some(0));
    let shown = run(&mut stage.metroon(&["cassette", "show", "trip.json.gz"]));
    assert!(shown.out.lines().count() == 2 && shown.out.contains("/count"), "{}", shown.out);
    let ended = record("trip.cassette.gz", "once", "/json");
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(ended.err.contains("a cassette is compressed already"), "{}", ended.err);
}

/// What a crash leaves is said by the next recording, with what to type.
#[test]
fn a_crash_leaves_the_recording_of_a_text() {
    if !has("curl", "--version") {
        return;
    }
    let stage = Stage::new("text-crash");
    for (file, form) in [("trip.txt", "text"), ("trip.json.gz", "json")] {
        let mut command = stage.recording(&["-o", file, "--"]);
        let crash = format!("{CURL} https://api.metroon.test/json; kill -9 $PPID; sleep 1");
        let ended = run(command.args(shell(&crash)));
        assert_eq!(ended.code, None, "{}", ended.err);
        assert!(!stage.folder.path().join(file).exists());
        let mut command = stage.recording(&["-o", file, "--"]);
        let ended = run(command.args(curl("/json")));
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        let convert = ["cassette", "convert", "--force", "--to", form, &format!("{file}.cassette"), file];
        let expected = format!(
            "error: a recording of {file} did not come to its end: {file}.cassette.recording\nhelp: `metroon {}` makes {file} of \
             what was recorded",
            convert.join(" ")
        );
        assert!(ended.err.starts_with(&expected), "{}", ended.err);
        let ended = run(&mut stage.metroon(&convert));
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        let shown = run(&mut stage.metroon(&["cassette", "show", file]));
        assert!(shown.out.contains("/json"), "{}", shown.out);
        assert_eq!(cassette::is_gzip(stage.folder.path().join(file)).expect("it is there"), file.ends_with(".gz"));
    }
}

/// Each replay says so, since a tool would be called with something else than was recorded.
#[test]
fn a_replay_names_the_answers_that_call_a_tool_with_a_placeholder() {
    if !has("curl", "--version") {
        return;
    }
    let mut stage = Stage::new("placeholder");
    stage.stop_origin();
    let exchange = |number: u64, target: &str, body: &str| {
        let head = format!("exchange {number}\nstarted 2026-02-03T04:05:0{number}Z\nended +9us\n");
        let request = format!("request GET https://api.metroon.test {target} HTTP/1.1\n");
        let response = "response 200 HTTP/1.1 +9us OK\n  Content-Type: application/json\nbody\nchunk +9us\n";
        format!("{head}{request}{response}  | {body}\n\n")
    };
    let call = r#"{"content":[{"type":"tool_use","id":"a","name":"f","input":{"key":"REDACTED"}}]}"#;
    let text = format!(
        "metroon-cassette text 1\n\n{}{}end\n",
        exchange(0, "/said", r#"{"a":"REDACTED"}"#),
        exchange(1, "/call", call)
    );
    std::fs::write(stage.folder.path().join("trip.cassette"), text).expect("it is written");
    let ended =
        stage.replay(&[], &shell(&format!("{CURL} https://api.metroon.test/said https://api.metroon.test/call")));
    let told = "warning: tools are called with REDACTED in place of a secret, in the recorded answers of exchange 1\n";
    assert_eq!((ended.code, ended.err), (Some(0), format!("{told}metroon: answered 2 requests from trip.cassette\n")));
}
