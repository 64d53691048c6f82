//! `metroon journal`: what is shown of a journal, what is said of a damaged one, what is saved of it.

use crate::harness::{command, counted, run, wait};
use journal::{Directory, Disk, Durability, FRAMES_AT, Identity, Journal, Options, SingleFile};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder of a test's own, empty.
fn folder(test: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("journal-verbs").join(test);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn append(disk: Arc<dyn Disk>, payloads: &[&[u8]]) {
    let options = Options::default().segment_bytes(FRAMES_AT + 130).identity(Identity(*b"a journal's own!"));
    let (journal, _) = Journal::open(disk, options).unwrap();
    for payload in payloads {
        journal.append(payload, Durability::Os).unwrap();
    }
    journal.close().unwrap();
}

const PAYLOADS: &[&[u8]] = &[b"(Sam is-a frog)", b"", b"line\nbreak \xff \x1b[31m\"quoted\"", &[b'x'; 60]];

/// A journal of four frames in two segments.
fn segments(test: &str) -> PathBuf {
    let path = folder(test).join("base").join("journal");
    append(Arc::new(Directory::create(&path).unwrap()), PAYLOADS);
    path
}

/// A journal of these frames in one file.
fn tape(test: &str) -> PathBuf {
    let path = folder(test).join("trip.tape");
    append(Arc::new(SingleFile::create(&path).unwrap()), PAYLOADS);
    path
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Damages frame 1, which is 32 bytes and lies behind one of 15: its checksum.
fn damage(file: &Path) {
    fs::OpenOptions::new().write(true).open(file).unwrap().write_all_at(b"dam", FRAMES_AT + 47 + 28).unwrap();
}

fn first_segment(folder: &Path) -> PathBuf {
    folder.join("00000000000000000000.segment")
}

#[test]
fn a_line_a_frame() {
    let path = segments("show");
    let ended = run(&["journal", "show", text(&path)]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let lines: Vec<Vec<&str>> = ended.out.lines().map(|line| line.split("  ").map(str::trim).collect()).collect();
    let seen = |line: usize| lines[line].iter().copied().filter(|word| !word.is_empty()).collect::<Vec<_>>();
    assert_eq!(lines.len(), 4);
    let first = seen(0);
    assert_eq!((first[0], first[1], first[2], first[4]), ("0", "0+12288", "15", "(Sam is-a frog)"));
    assert_eq!(first[3].len(), 12);
    assert_eq!(&seen(1)[..3], ["1", "0+12335", "0"]);
    assert_eq!(seen(2)[4], "line\\nbreak \\xff \\u{1b}[31m\"quoted\"");
    assert_eq!((seen(3)[1], seen(3)[4]), ("3+12288", format!("{}…", "x".repeat(48)).as_str()));
}

#[test]
fn a_part_of_the_frames_and_their_bytes() {
    let path = segments("part");
    let ended = run(&["journal", "show", "--from", "2", "--to", "2", "--bytes", text(&path)]);
    assert_eq!(ended.out.lines().count(), 1);
    assert!(ended.out.ends_with("[6c696e650a627265616b20ff201b5b33316d2271756f74656422]\n"), "{}", ended.out);
    let ended = run(&["journal", "show", "--from", "4", text(&path)]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), ""), "the number after the last frame is no error");
    let ended = run(&["journal", "show", "--from", "9", text(&path)]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.err.contains("there is no frame 9: the journal has 4") && ended.err.contains("help: "),
        "{}",
        ended.err
    );
    let ended = run(&["journal", "show", "--from", "2", "--to", "1", text(&path)]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("--to names a frame before --from"), "{}", ended.err);
}

#[test]
fn counts_of_a_journal() {
    let path = segments("stats");
    let ended = run(&["journal", "stats", text(&path)]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    for (name, value) in [
        ("version", "1"),
        ("identity", "61206a6f75726e616c2773206f776e21"),
        ("segments", "2"),
        ("frames", "4"),
        ("bytes", "24837 bytes"),
        ("payload bytes", "101 bytes"),
        ("synced bytes", "24837 bytes"),
    ] {
        assert_eq!(counted(&ended.out, name), value, "{}", ended.out);
    }
}

#[test]
fn a_sound_journal_is_a_line() {
    let path = segments("sound");
    let base = path.parent().unwrap();
    for path in [&path, base] {
        let ended = run(&["journal", "verify", text(path)]);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
        let expected = format!("{}: sound: 4 frames in 2 segments, 24837 bytes, chain ", text(path));
        assert!(ended.out.starts_with(&expected) && ended.out.lines().count() == 1, "{}", ended.out);
    }
    let tape = tape("sound-tape");
    let ended = run(&["journal", "verify", text(&tape)]);
    assert!(ended.out.starts_with(&format!("{}: sound: 4 frames in 1 segment, ", text(&tape))), "{}", ended.out);
}

#[test]
fn a_torn_tail_is_a_warning() {
    let tape = tape("torn");
    let length = fs::metadata(&tape).unwrap().len();
    fs::OpenOptions::new().write(true).open(&tape).unwrap().write_all_at(b"half a frame", length).unwrap();
    let ended = run(&["journal", "verify", text(&tape)]);
    assert_eq!(ended.code, Some(0));
    assert!(ended.out.contains(": sound: 4 frames"), "{}", ended.out);
    let expected = "bytes from byte 12517 on are not a whole frame and were never synced\n";
    assert_eq!(ended.err, format!("warning: {}: 12 {expected}", text(&tape)));
}

#[test]
fn damage_is_named_with_the_way_out() {
    let path = segments("damaged");
    damage(&first_segment(&path));
    let ended = run(&["journal", "verify", text(&path)]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(4), ""));
    let name = text(&path);
    let expected = format!(
        "error: {name} is damaged\n  00000000000000000000.segment at byte 12335: a synced frame is damaged (32 bytes, \
         frame 1)\nhelp: `metroon journal salvage {name} --to NEW` carries what can be read into a new journal\n"
    );
    assert_eq!(ended.err, expected);
    assert_eq!(run(&["journal", "stats", name]).code, Some(4));
    let ended = run(&["journal", "show", name]);
    assert_eq!((ended.code, ended.out.lines().count()), (Some(4), 1), "what comes before it is shown");
    assert!(ended.err.contains("at byte 12335") && ended.err.contains("salvage"), "{}", ended.err);
    let tape = tape("damaged-tape");
    damage(&tape);
    let ended = run(&["journal", "verify", text(&tape)]);
    assert_eq!(ended.code, Some(4));
    assert!(ended.err.contains(&format!("\n  {} at byte 12335: ", text(&tape))), "{}", ended.err);
}

#[test]
fn what_is_whole_is_salvaged() {
    let path = segments("salvage");
    damage(&first_segment(&path));
    let new = path.parent().unwrap().join("saved");
    let ended = run(&["journal", "salvage", text(&path), "--to", text(&new)]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let lines: Vec<&str> = ended.out.lines().collect();
    assert!(lines[0].starts_with(&format!("{}: 3 frames, chain ", text(&new))), "{}", ended.out);
    let lost = "lost 00000000000000000000.segment at byte 12335: a synced frame is damaged (32 bytes, frame 1)";
    assert_eq!(&lines[1..], ["kept frame 0", "kept frames 2 to 3, now frames 1 to 2", lost]);
    assert_eq!(run(&["journal", "verify", text(&new)]).code, Some(0));
    let again = run(&["journal", "salvage", text(&path), "--to", text(&new)]);
    assert_eq!(again.code, Some(2));
    assert!(again.err.contains("it is not empty") && again.err.contains("help: "), "{}", again.err);
}

#[test]
fn a_tape_is_salvaged_to_a_tape() {
    let tape = tape("salvage-tape");
    damage(&tape);
    let new = tape.with_file_name("saved.tape");
    let ended = run(&["journal", "salvage", text(&tape), "--to", text(&new)]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    assert!(new.is_file());
    assert_eq!(run(&["journal", "verify", text(&new)]).code, Some(0));
    let again = run(&["journal", "salvage", text(&tape), "--to", text(&new)]);
    assert_eq!(again.code, Some(2));
    assert!(again.err.contains("exists already"), "{}", again.err);
}

#[test]
fn what_is_no_journal_is_wrong_usage() {
    let empty = folder("none");
    let diary = empty.join("diary.txt");
    fs::write(&diary, "x".repeat(20_000)).unwrap();
    for verb in [&["show"][..], &["stats"], &["verify"], &["salvage", "--to", "unused"]] {
        let ended = |path: &Path| run(&[&["journal"], verb, &[text(path)]].concat());
        let missing = ended(&empty.join("missing"));
        assert_eq!(missing.code, Some(2), "{verb:?}: {}", missing.err);
        assert!(missing.err.starts_with("error: cannot read ") && missing.err.contains("\nhelp: "), "{}", missing.err);
        if verb[0] != "salvage" {
            let none = ended(&empty);
            assert_eq!(none.code, Some(2), "{verb:?}: {}", none.err);
            assert!(none.err.starts_with("error: there is no journal in "), "{}", none.err);
            let diary = ended(&diary);
            assert_eq!(diary.code, Some(2), "{verb:?}: {}", diary.err);
            assert!(diary.err.contains("diary.txt is not a journal\nhelp: "), "{}", diary.err);
        }
    }
    let ended = run(&["journal", "salvage", text(&diary)]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("--to <NEW>"), "{}", ended.err);
}

#[test]
fn a_salvage_of_nothing_leaves_nothing() {
    let empty = folder("nothing");
    fs::create_dir(empty.join("from")).unwrap();
    fs::write(empty.join("diary.txt"), "x".repeat(20_000)).unwrap();
    for (from, to) in [("from", "to"), ("diary.txt", "to.tape")] {
        let ended = run(&["journal", "salvage", text(&empty.join(from)), "--to", text(&empty.join(to))]);
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(!empty.join(to).exists(), "{from}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let path = folder("pipe").join("long.tape");
    append(Arc::new(SingleFile::create(&path).unwrap()), &vec![&b"frame"[..]; 20_000]);
    let mut child = command(&["journal", "show", text(&path)]).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let ended = wait(child);
    assert!(first.contains("0+12288"));
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
}

#[test]
fn help_is_there() {
    let help = run(&["journal", "--help"]);
    assert_eq!(help.code, Some(0));
    for word in ["show", "stats", "verify", "salvage", "Exit code"] {
        assert!(help.out.contains(word), "{word}: {}", help.out);
    }
}
