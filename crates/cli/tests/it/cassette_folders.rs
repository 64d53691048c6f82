//! `metroon cassette list` and `clean`: what lies in a folder of cassettes, and what of it is of no use.

use crate::cassette_verbs::{content, exchange, forms, record};
use crate::harness::Folder;
use cassette::{Content, Recorder, RecorderOptions, SealOptions};
use std::fs;
use std::path::Path;

fn write(folder: &Folder, name: &str, content: &Content) {
    content.write(folder.path().join(name), SealOptions::default()).expect("it is written");
}

/// All files below a folder, by name.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .expect("it is there")
        .map(|entry| entry.expect("it can be listed").file_name().into_string().expect("it is UTF-8"))
        .collect();
    names.sort();
    names
}

#[test]
fn cassettes_of_a_folder_are_listed_with_what_is_on_them() {
    let folder = forms("cassette-list");
    folder.write("README.md", "# Frogs\n");
    folder.write("package.json", "{\"name\": \"frogs\"}");
    fs::create_dir(folder.path().join("within")).expect("it can be made");
    write(&folder, "within/b.json.gz", &content());
    let ended = folder.run(&["cassette", "list", "."]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let lines: Vec<_> = ended.out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    let times = ["2025-10-09T08:53:20Z", "2025-10-09T08:53:22Z"];
    for (line, (form, name)) in
        lines.iter().zip([("cassette", "a.cassette"), ("json", "a.json"), ("msgpack", "a.msgpack"), ("text", "a.txt")])
    {
        assert_eq!((line[0], &line[3..5], &line[5..]), ("3", &times[..], &[form, "sound", name, "frogs.example"][..]));
    }
    assert_eq!(lines[4][5..], ["cassette", "not", "sealed", "cut.cassette.recording", "frogs.example"]);
    assert_eq!(lines[5][5..], ["json.gz", "sound", "within/b.json.gz", "frogs.example"]);
    assert_eq!((lines.len(), ended.err.as_str()), (6, "note: 2 files in . not listed: no cassettes\n"));
    let json = folder.good(&["cassette", "list", "--json", "."]);
    let first: serde_json::Value =
        serde_json::from_str(json.lines().next().expect("there is a line")).expect("it is JSON");
    assert_eq!((&first["name"], &first["exchanges"], &first["messages"]), (&"a.cassette".into(), &3.into(), &1.into()));
    assert_eq!((&first["servers"]["frogs.example"], &first["state"]), (&3.into(), &"sound".into()));
    assert_eq!(first["first"], "2025-10-09T08:53:20.000000000Z");
}

#[test]
fn damaged_cassettes_are_listed_as_such() {
    let folder = forms("cassette-list-damaged");
    let path = folder.path().join("a.cassette");
    let bytes = fs::read(&path).expect("it is there");
    fs::write(&path, &bytes[..bytes.len() - 9]).expect("it can be written");
    write(&folder, "b.json.gz", &content());
    let path = folder.path().join("b.json.gz");
    let bytes = fs::read(&path).expect("it is there");
    fs::write(&path, &bytes[..bytes.len() - 9]).expect("it can be written");
    let ended = folder.run(&["cassette", "list", "."]);
    assert_eq!(ended.code, Some(4), "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("damaged     a.cassette  ./a.cassette at byte"), "{}", ended.out);
    assert!(
        ended.out.contains("json.gz   damaged     b.json.gz  ./b.json.gz: the end of the gzip file is missing"),
        "{}",
        ended.out
    );
    assert_eq!(folder.run(&["cassette", "list", "nowhere"]).code, Some(2));
}

/// What a crash may leave of every kind, beside what must stay.
fn littered(test: &str) -> Folder {
    let folder = forms(test);
    let path = |name: &str| folder.path().join(name);
    let sealed = fs::read(path("a.cassette")).expect("it is there");
    fs::write(path(".a.cassette.sealing"), &sealed[..100]).expect("it can be written");
    fs::write(path(".b.cassette.sealing"), "").expect("it can be written");
    fs::write(path(".c.cassette.sealing"), "what somebody else calls so").expect("it can be written");
    fs::write(path(".a.json.writing"), "{\n  \"format\": \"metr").expect("it can be written");
    fs::write(path(".b.txt.writing"), "").expect("it can be written");
    fs::write(path(".c.json.gz.writing"), b"\x1F\x8B\x08\0").expect("it can be written");
    fs::write(path(".package.json.writing"), "{\n  \"name\": \"frogs\"").expect("it can be written");
    fs::write(path(".notes.txt.writing"), "Dear diary").expect("it can be written");
    fs::write(path(".diary.json.gz.writing"), "Dear diary").expect("it can be written");
    fs::write(path(".diary.writing"), "Dear diary").expect("it can be written");
    fs::write(path(".d.cassette.recording.unfinished"), "METROONJ").expect("it can be written");
    fs::write(path("blank.cassette.recording"), [0; 5000]).expect("it can be written");
    fs::copy(path("a.cassette"), path("a.json.cassette")).expect("it can be copied");
    fs::copy(path("a.cassette"), path("none.json.cassette")).expect("it can be copied");
    // A cassette whose recording was not taken away when it was sealed.
    let recorder = Recorder::open(path("e.cassette"), RecorderOptions::default()).expect("it is opened");
    recorder.record(exchange(0)).expect("it is recorded");
    recorder.stop().expect("it is written");
    let recording = fs::read(path("e.cassette.recording")).expect("it is there");
    Recorder::open(path("e.cassette"), RecorderOptions::default())
        .expect("it is opened")
        .finish()
        .expect("it is sealed");
    fs::write(path("e.cassette.recording"), recording).expect("it can be written");
    write(&folder, "empty.cassette", &Content::default());
    // One that differs from the file that it stands for.
    write(&folder, "f.txt", &content());
    write(&folder, "f.txt.cassette", &Content { exchanges: vec![exchange(9)], ..content() });
    folder
}

const LEFT_OVER: [&str; 9] = [
    ".a.cassette.sealing",
    ".a.json.writing",
    ".b.cassette.sealing",
    ".b.txt.writing",
    ".c.json.gz.writing",
    ".d.cassette.recording.unfinished",
    "a.json.cassette",
    "blank.cassette.recording",
    "e.cassette.recording",
];

#[test]
fn what_is_left_over_is_named_and_removed_when_that_is_asked_for() {
    let folder = littered("cassette-clean");
    let before = names(folder.path());
    let clean = |words: &[&str]| folder.run(&[&["cassette", "clean", "."], words].concat());
    // What has just changed may be written now.
    let ended = clean(&["--yes"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), "nothing to remove\n"), "{}", ended.out);
    assert!(ended.out.contains("keeps .a.cassette.sealing (100 bytes): it has changed just now"), "{}", ended.out);
    let ended = clean(&["--settled", "0s"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let listed = |begin: &str| -> Vec<String> {
        let named = ended.out.lines().filter_map(|line| line.strip_prefix(begin)?.split_once(" ("));
        named.map(|(name, _)| name.to_owned()).collect()
    };
    assert_eq!(listed("would remove "), LEFT_OVER);
    assert_eq!(listed("keeps "), ["cut.cassette.recording", "empty.cassette", "f.txt.cassette"], "{}", ended.out);
    assert!(ended.err.starts_with("--yes removes 9 files of "), "{}", ended.err);
    assert!(
        ended
            .out
            .contains("4 exchanges that nothing else has; `metroon cassette convert ./cut.cassette ./cut.cassette`")
    );
    assert!(ended.out.contains("f.txt of it\n") && ended.out.contains("it has no exchange; --empty removes it"));
    assert_eq!(names(folder.path()), before, "nothing was asked to be removed");
    let ended = clean(&["--settled", "0s", "--yes", "--json"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{}", ended.out);
    let removed = ended.out.lines().filter(|line| line.contains("\"does\":\"removed\"")).count();
    assert_eq!(removed, LEFT_OVER.len(), "{}", ended.out);
    let left: Vec<_> = before.into_iter().filter(|name| !LEFT_OVER.contains(&name.as_str())).collect();
    assert_eq!(names(folder.path()), left);
    assert_eq!(folder.run(&["cassette", "verify", "e.cassette"]).code, Some(0));
}

/// Whatever its age: its recorder has its lock, in this process or another.
#[test]
fn what_is_being_recorded_stays() {
    let folder = Folder::new("cassette-clean-live");
    let recorder = Recorder::open(folder.path().join("a.cassette"), RecorderOptions::default()).expect("it is opened");
    recorder.begin(1_760_000_009_000_000_000, &exchange(3).request).expect("it is recorded");
    recorder.sync(journal::Durability::Os).expect("it is written");
    let clean = ["cassette", "clean", ".", "--settled", "0s", "--yes"];
    let ended = folder.run(&clean);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(
        ended.out.ends_with("a.cassette.recording (4096 bytes): it is being recorded\n")
            || ended.out.contains(": it is being recorded\n"),
        "{}",
        ended.out
    );
    let listed = folder.good(&["cassette", "list", "."]);
    assert!(listed.contains("  being recorded  a.cassette.recording"), "{listed}");
    recorder.finish().expect("nobody took it away");
    let ended = folder.run(&clean);
    assert_eq!((ended.out.as_str(), ended.err.as_str()), ("", "nothing to remove\n"));
    assert_eq!(names(folder.path()), ["a.cassette"]);
}

/// Where the frames of a recording begin.
const FRAMES_AT: usize = journal::FRAMES_AT as usize;

/// The reader of a recording that was never synced ends where a frame is torn, and whole frames may follow.
#[test]
fn a_recording_whose_first_frame_is_torn_stays() {
    let folder = Folder::new("cassette-clean-torn");
    let path = folder.path().join("a.cassette.recording");
    let recorder =
        Recorder::open(folder.path().join("live.cassette"), RecorderOptions::default()).expect("it is opened");
    for number in 0..3 {
        recorder.record(exchange(number)).expect("it is recorded");
    }
    recorder.sync(journal::Durability::Os).expect("it is written");
    let whole = fs::read(folder.path().join("live.cassette.recording")).expect("it is there");
    recorder.finish().expect("it is sealed");
    let mut torn = whole.clone();
    let frame = FRAMES_AT + torn[FRAMES_AT..].iter().position(|&byte| byte != 0).expect("there are frames");
    torn[frame + 40] ^= 0x55;
    fs::write(&path, &torn).expect("it can be written");
    let clean = ["cassette", "clean", ".", "--settled", "0s", "--yes"];
    let stays = |ended: &crate::harness::Ended| {
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        assert!(ended.out.starts_with("keeps a.cassette.recording "), "{}", ended.out);
        assert!(
            ended.out.contains("`metroon journal salvage ./a.cassette.recording --to NEW.recording`"),
            "{}",
            ended.out
        );
        assert!(path.exists());
    };
    stays(&folder.run(&clean));
    // Neither does a cassette of the name say what the frames are.
    fs::copy(folder.path().join("live.cassette"), folder.path().join("a.cassette")).expect("it can be copied");
    stays(&folder.run(&clean));
    // Without the frames there is nothing to keep.
    fs::remove_file(folder.path().join("a.cassette")).expect("it is there");
    torn[FRAMES_AT..].fill(0);
    fs::write(&path, &torn).expect("it can be written");
    let ended = folder.run(&clean);
    assert!(ended.out.contains("removed a.cassette.recording ") && !path.exists(), "{}{}", ended.out, ended.err);
}

#[test]
fn old_large_and_empty_cassettes_go_when_they_are_named() {
    let folder = Folder::new("cassette-clean-old");
    let now_ns = jiff::Timestamp::now().as_nanosecond() as i64;
    let new = cassette::Exchange { started_ns: now_ns, ..exchange(0) };
    write(&folder, "new.cassette", &Content { exchanges: vec![new], ..Content::default() });
    write(&folder, "old.json.gz", &content());
    write(
        &folder,
        "untimed.json",
        &Content { exchanges: vec![cassette::Exchange { started_ns: 0, ..exchange(0) }], ..Content::default() },
    );
    // One that says for some of its exchanges when they began is not known to be old.
    let untimed = cassette::Exchange { started_ns: 0, ..exchange(1) };
    write(&folder, "half.json", &Content { exchanges: vec![exchange(0), untimed], ..Content::default() });
    write(&folder, "empty.txt", &Content::default());
    record(&folder, "cut.cassette");
    let clean = |words: &[&str]| {
        let ended = folder.run(&[&["cassette", "clean", ".", "--settled=0s"], words].concat());
        let lines = ended.out.lines().filter(|line| line.starts_with("would remove "));
        lines
            .map(|line| line["would remove ".len()..].split(' ').next().expect("a name").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(clean(&[]), [""; 0]);
    assert_eq!(clean(&["--empty"]), ["empty.txt"]);
    assert_eq!(clean(&["--older-than", "30d"]), ["old.json.gz"]);
    assert_eq!(clean(&["--older-than", "100000d"]), [""; 0]);
    assert_eq!(
        clean(&["--larger-than", "1", "--empty"]),
        ["empty.txt", "half.json", "new.cassette", "old.json.gz", "untimed.json"]
    );
}
