//! Bases that were harmed, bases that are not what they seem, and who may write to one.

use crate::harness::{Ended, Folder, signal, wait};
use journal::{Directory, Durability, FRAMES_AT, Journal, Options, Reader};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// A base with a commit for each of these facts.
fn facts(test: &str, count: u32) -> Folder {
    let folder = Folder::new(test);
    let forms: String = (1..=count).map(|n| format!("!(add-atom &self (fact {n}))\n")).collect();
    folder.write("p.metta", &forms);
    folder.good(&["run", "--kb", "kb", "p.metta"]);
    folder
}

fn frames(journal: &Path) -> Vec<Vec<u8>> {
    let disk = Arc::new(Directory::open(journal).expect("it opens"));
    let mut reader = Reader::from_frame(disk, 0).expect("it is a journal");
    let mut frames = Vec::new();
    while let Some(frame) = reader.read_next().expect("it is sound") {
        frames.push(frame.payload.to_vec());
    }
    frames
}

/// Writes the journal of a base anew; gives its segments in order.
fn rewrite(folder: &Folder, frames: &[Vec<u8>], options: Options) -> Vec<PathBuf> {
    let path = folder.path().join("kb/journal");
    fs::remove_dir_all(&path).expect("it goes");
    let (journal, _) =
        Journal::open(Arc::new(Directory::create(&path).expect("it is made")), options).expect("it opens");
    for frame in frames {
        journal.append(frame, Durability::Os).expect("it is appended");
    }
    journal.close().expect("it closes");
    let mut segments: Vec<PathBuf> =
        fs::read_dir(&path).expect("it is listed").map(|entry| entry.expect("it is listed").path()).collect();
    segments.sort();
    segments
}

/// A base whose journal has many segments.
fn segmented(test: &str) -> (Folder, Vec<PathBuf>) {
    let folder = facts(test, 30);
    let found = frames(&folder.path().join("kb/journal"));
    let segments = rewrite(&folder, &found, Options::default().segment_bytes(FRAMES_AT + 600));
    assert!(segments.len() > 3, "{segments:?}");
    folder.good(&["kb", "verify", "kb"]);
    (folder, segments)
}

/// What `kb verify` says of a damaged base: up to which commit it is sound.
fn sound_up_to(folder: &Folder) -> u64 {
    let ended = folder.run(&["kb", "verify", "kb"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(4), ""), "{}", ended.err);
    let (_, rest) = ended.err.split_once("commits up to ").unwrap_or_else(|| panic!("{}", ended.err));
    let (number, _) = rest.split_once(' ').expect("more follows");
    let command = format!("`metroon kb salvage kb --to NEW` makes a knowledge base of the commits up to {number}");
    assert!(ended.err.contains(&command), "{}", ended.err);
    number.parse().expect("it is a number")
}

/// Salvages the base, and goes on in the new one.
fn salvaged(folder: &Folder, commits: u64) {
    let before = listing(&folder.path().join("kb"));
    let ended = folder.run(&["kb", "salvage", "kb", "--to", "new"]);
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    assert!(ended.out.starts_with(&format!("new: {commits} commits, {commits} atoms, state ")), "{}", ended.out);
    assert_eq!(listing(&folder.path().join("kb")), before, "the damaged base is left as it is");
    let verified = folder.good(&["kb", "verify", "new"]);
    assert!(verified.contains(&format!("sound: {commits} commits, {commits} atoms")), "{verified}");
    assert_eq!(folder.good(&["run", "--kb", "new", "-e", "!(match &self (fact 1) (found))"]), "[(found)]\n");
    assert_eq!(folder.run(&["kb", "salvage", "kb", "--to", "new"]).code, Some(2), "nothing is replaced");
}

fn listing(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("it is listed") {
        let path = entry.expect("it is listed").path();
        if path.is_dir() {
            found.extend(listing(&path));
        } else {
            let length = fs::metadata(&path).expect("it is there").len();
            found.push((path, length));
        }
    }
    found.sort();
    found
}

#[test]
fn a_last_segment_that_is_missing_leaves_all_before_it() {
    let (folder, segments) = segmented("bases-missing");
    fs::remove_file(segments.last().expect("there are some")).expect("it goes");
    let sound = sound_up_to(&folder);
    assert!(sound > 20, "{sound}");
    assert_eq!(folder.run(&["run", "--kb", "kb", "-e", "(a)"]).code, Some(4));
    salvaged(&folder, sound);
}

#[test]
fn a_last_segment_that_is_empty_leaves_all_before_it() {
    let (folder, segments) = segmented("bases-empty");
    fs::write(segments.last().expect("there are some"), "").expect("it is emptied");
    let sound = sound_up_to(&folder);
    assert!(sound > 20, "{sound}");
    let ended = folder.run(&["run", "--kb", "kb", "-e", "(a)"]);
    assert_eq!(ended.code, Some(4));
    assert!(ended.err.contains("metroon kb salvage"), "{}", ended.err);
    salvaged(&folder, sound);
}

#[test]
fn a_flipped_byte_in_the_middle_leaves_all_before_it() {
    let (folder, segments) = segmented("bases-flipped");
    let mut bytes = fs::read(&segments[2]).expect("it is read");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&segments[2], bytes).expect("it is written");
    let sound = sound_up_to(&folder);
    salvaged(&folder, sound);
}

#[test]
fn a_manifest_that_is_missing_is_damage_and_can_be_made_again() {
    let folder = facts("bases-manifest", 5);
    for damage in [None, Some("")] {
        match damage {
            None => fs::remove_file(folder.path().join("kb/MANIFEST")).expect("it goes"),
            Some(text) => fs::write(folder.path().join("kb/MANIFEST"), text).expect("it is written"),
        }
        for arguments in
            [&["run", "--kb", "kb", "-e", "(a)"][..], &["kb", "dump", "kb"], &["kb", "load", "kb", "p.metta"]]
        {
            let ended = folder.run(arguments);
            assert_eq!((ended.code, ended.out.as_str()), (Some(4), ""), "{arguments:?}: {}", ended.err);
            assert!(ended.err.contains("its MANIFEST is missing or damaged"), "{}", ended.err);
            assert!(ended.err.contains("metroon kb salvage DIR --to NEW"), "{}", ended.err);
        }
        assert_eq!(sound_up_to(&folder), 5);
    }
    salvaged(&folder, 5);
}

#[test]
fn a_journal_that_is_missing_is_damage_and_nothing_is_made_in_its_place() {
    for (name, harm) in [("folder", true), ("segment", false)] {
        let folder = facts(&format!("bases-journal-{name}"), 3);
        let journal = folder.path().join("kb/journal");
        fs::remove_dir_all(&journal).expect("it goes");
        if !harm {
            fs::create_dir(&journal).expect("it is made");
        }
        let before = listing(&folder.path().join("kb"));
        for arguments in [&["run", "--kb", "kb", "-e", "(a)"][..], &["kb", "verify", "kb"], &["kb", "stats", "kb"]] {
            let ended = folder.run(arguments);
            assert_eq!((ended.code, ended.out.as_str()), (Some(4), ""), "{arguments:?}: {}", ended.err);
            assert!(ended.err.contains("the journal with its commits is missing"), "{}", ended.err);
            assert!(ended.err.contains("help: restore"), "{}", ended.err);
        }
        assert_eq!(listing(&folder.path().join("kb")), before);
    }
}

#[test]
fn a_base_of_later_semantics_is_refused() {
    let folder = facts("bases-semantics", 3);
    let mut found = frames(&folder.path().join("kb/journal"));
    assert_eq!(found[0], [1, 1, 1]);
    found[0] = vec![1, 1, 2];
    rewrite(&folder, &found, Options::default());
    for arguments in [
        &["run", "--kb", "kb", "-e", "(a)"][..],
        &["kb", "verify", "kb"],
        &["kb", "dump", "kb"],
        &["kb", "salvage", "kb", "--to", "new"],
    ] {
        let ended = folder.run(arguments);
        assert_eq!((ended.code, ended.out.as_str()), (Some(4), ""), "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains("version 2 of the language's semantics, and this program has 1"), "{}", ended.err);
        assert!(ended.err.contains("help: use the version of Metroon that wrote it, or a newer one"), "{}", ended.err);
    }
    assert_eq!(frames(&folder.path().join("kb/journal")), found);
}

fn pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().expect("mkfifo can be run");
    assert!(made.success());
}

#[test]
fn pipes_and_endless_files_are_not_read() {
    let folder = facts("bases-pipes", 3);
    let kb = folder.path().join("kb");
    let segment = listing(&kb.join("journal"))[0].0.clone();
    for (file, word) in [(kb.join("MANIFEST"), "MANIFEST"), (segment, ".segment"), (kb.join("LOCK"), "LOCK")] {
        let aside = file.with_extension("aside");
        fs::rename(&file, &aside).expect("it is moved");
        pipe(&file);
        let ended = folder.run(&["run", "--kb", "kb", "-e", "(a)"]);
        assert!(matches!(ended.code, Some(1 | 2)), "{}", ended.err);
        assert!(ended.err.contains(word) && ended.err.contains("a named pipe, not a regular file"), "{}", ended.err);
        fs::remove_file(&file).expect("it goes");
        fs::rename(&aside, &file).expect("it is moved");
    }
    // Three gigabytes that take no room on the disk.
    fs::File::options().write(true).open(kb.join("MANIFEST")).expect("it opens").set_len(3 << 30).expect("it grows");
    assert_eq!(sound_up_to(&folder), 3);
    salvaged(&folder, 3);
}

#[test]
fn a_lock_that_is_a_link_is_refused_and_what_it_leads_to_is_kept() {
    let folder = facts("bases-link", 1);
    let lock = folder.path().join("kb/LOCK");
    for (name, content) in [("mine", "precious"), ("number", "123\n")] {
        folder.write(name, content);
        let _ = fs::remove_file(&lock);
        symlink(format!("../{name}"), &lock).expect("a link is made");
        let ended = folder.run(&["run", "--kb", "kb", "-e", "(a)"]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{}", ended.err);
        assert!(ended.err.contains("kb/LOCK is not a lock: it is a symbolic link"), "{}", ended.err);
        assert_eq!(fs::read_to_string(folder.path().join(name)).expect("it is read"), content);
    }
    fs::remove_file(&lock).expect("it goes");
    fs::write(&lock, "precious").expect("it is written");
    assert_eq!(folder.run(&["run", "--kb", "kb", "-e", "(a)"]).code, Some(2));
    assert_eq!(fs::read_to_string(&lock).expect("it is read"), "precious");
}

#[test]
fn a_lock_that_is_taken_away_lets_no_second_writer_in() {
    let folder = Folder::new("bases-lock");
    folder.write("p.metta", "(= (loop $n) (loop (+ $n 1)))\n!(add-atom &self (first))\n!(loop 0)\n");
    let mut child = folder.command(&["run", "--kb", "kb", "--timeout", "50", "p.metta"]).spawn().expect("it runs");
    let mut out = BufReader::new(child.stdout.take().expect("there is an output"));
    let mut line = String::new();
    out.read_line(&mut line).expect("a line is read");
    assert_eq!(line, "[()]\n");
    for exchanged in [false, true] {
        fs::remove_file(folder.path().join("kb/LOCK")).expect("it goes");
        if exchanged {
            folder.write("kb/LOCK", "");
        }
        let second = folder.run(&["run", "--kb", "kb", "-e", "!(add-atom &self (second))"]);
        assert_eq!((second.code, second.out.as_str()), (Some(2), ""), "{}", second.err);
        assert!(second.err.contains("is being written by another process"), "{}", second.err);
        folder.write("kb/LOCK", "");
    }
    signal(child.id(), "KILL");
    wait(child);
    folder.good(&["run", "--kb", "kb", "-e", "!(add-atom &self (second))"]);
    assert_eq!(folder.atoms(), ["(= (loop $n) (loop (+ $n 1)))", "(first)", "(second)"]);
}

/// Runs `metroon` in a folder under a shell that sets a limit first.
fn limited(folder: &Folder, limit: &str, arguments: &[&str]) -> Ended {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{limit} && exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_metroon")]).args(arguments);
    command.current_dir(folder.path()).env("METROON_DATA_DIR", folder.path().join("data"));
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    wait(command.spawn().expect("a shell is there"))
}

#[test]
fn a_file_that_may_not_grow_is_a_message_and_keeps_what_was_committed() {
    let folder = facts("bases-size", 3);
    let forms: String = (1..=100).map(|n| format!("!(add-atom &self (more {n} {}))\n", "x".repeat(1000))).collect();
    folder.write("more.metta", &forms);
    let ended = limited(&folder, "ulimit -f 64", &["run", "--kb", "kb", "more.metta"]);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    let answered = ended.out.lines().count() as u64;
    assert!(answered > 10, "{}", ended.err);
    assert!(ended.err.contains("File too large") && ended.err.contains("ulimit -f"), "{}", ended.err);
    let verified = folder.good(&["kb", "verify", "kb"]);
    assert!(verified.contains(&format!("sound: {} commits", 3 + answered)), "{verified}");
    // A tape as well.
    let ended = limited(&folder, "ulimit -f 64", &["run", "--record", "t.tape", "more.metta"]);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(ended.err.contains("File too large"), "{}", ended.err);
    // A program that is recorded gets the signal as it would alone.
    let command = ["record", "-o", "n.cassette", "--", "sh", "-c", "head -c 10000000 /dev/zero > big"];
    let ended = limited(&folder, "ulimit -f 4000", &command);
    assert_eq!(ended.code, Some(153), "{}", ended.err);
}
