//! `metroon store`: what is written is found, in order; errors name the thing and the way out. The page on stores has the rest.

use crate::harness::{Folder, run_with_input};
use std::os::unix::fs::FileExt;

#[test]
fn keys_are_found_in_order_and_in_every_form() {
    let folder = Folder::new("store-forms");
    folder.good(&["store", "put", "s", "-5", "five below", "--keys", "number", "--keyspace", "numbers"]);
    folder.good(&["store", "put", "s", "3", "three", "--keys", "number", "--keyspace", "numbers"]);
    folder.good(&["store", "put", "s", "00ff", "-bytes", "--keys", "hex"]);
    let scanned = folder.good(&["store", "scan", "s", "--keys", "number", "--keyspace", "numbers"]);
    assert_eq!(scanned, "-5\tfive below\n3\tthree\n");
    assert_eq!(folder.good(&["store", "scan", "s"]), "\\0\\xff\t-bytes\n");
    assert_eq!(folder.good(&["store", "get", "s", "00FF", "--keys", "hex"]), "-bytes\n");
    for (keys, key, expected) in [
        ("number", "3.5", "`3.5` is not a whole number of 64 bits"),
        ("hex", "0", "`0` is not pairs of hexadecimal digits"),
        ("hex", "xy", "`xy` is not pairs of hexadecimal digits"),
    ] {
        let ended = folder.run(&["store", "get", "s", key, "--keys", keys]);
        assert_eq!(ended.code, Some(2));
        assert!(ended.err.contains(expected) && ended.err.contains("help: --keys says"), "{}", ended.err);
    }
}

#[test]
fn lines_that_are_wrong_are_named() {
    let folder = Folder::new("store-lines");
    let path = folder.path().join("s");
    let store = path.to_str().unwrap();
    let ended = run_with_input(&["store", "load", store, "-"], b"a\t1\nb\t2\nno tab\nc\t3\n");
    assert_eq!(ended.code, Some(3));
    assert!(ended.err.starts_with("2 records loaded before the error\n"), "{}", ended.err);
    assert!(
        ended.err.contains("standard input:3: there is no tab\nhelp: each line is a key, a tab and"),
        "{}",
        ended.err
    );
    assert_eq!(folder.good(&["store", "scan", "s"]), "a\t1\nb\t2\n");
    for input in [&b"x\t1\nx\t2\n"[..], b"y\t1\nx\t2\n", b"x\t1\nno tab\n"] {
        let ended = run_with_input(&["store", "load", store, "-", "--sorted"], input);
        assert_eq!(ended.code, Some(3));
        assert!(ended.err.contains("standard input:2: "), "{}", ended.err);
    }
    assert_eq!(folder.good(&["store", "scan", "s"]), "a\t1\nb\t2\n", "a sorted load is all or nothing");
}

#[test]
fn what_is_no_store_is_said_and_left_alone() {
    let folder = Folder::new("store-absent");
    for verb in ["get", "delete"] {
        let ended = folder.run(&["store", verb, "nothing", "key"]);
        assert_eq!(ended.code, Some(2));
        assert!(ended.err.contains("there is no store in nothing\nhelp: `metroon store put`"), "{}", ended.err);
    }
    folder.write("base/MANIFEST", "metroon base\nformat 1\n");
    for words in [&["store", "put", "base", "a", "b"][..], &["store", "stats", "base"]] {
        let ended = folder.run(words);
        assert_eq!(ended.code, Some(2));
        assert!(ended.err.contains("base is not a store: its file MANIFEST is not that of a store"), "{}", ended.err);
    }
    folder.write("full/letter", "dear all");
    let ended = folder.run(&["store", "put", "full", "a", "b"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("full: the folder is not empty"), "{}", ended.err);
    assert_eq!(std::fs::read_dir(folder.path().join("base")).unwrap().count(), 1, "no lock was left there");
}

#[test]
fn records_of_the_log_are_checked_and_counted_beside_those_of_runs() {
    let folder = Folder::new("store-verify-log");
    folder.write("lines", "a\t1\nb\t2\n");
    folder.good(&["store", "load", "s", "lines", "--sorted"]);
    let verified = |expected: &str| assert_eq!(folder.good(&["store", "verify", "s"]), expected);
    verified("s: sound: 2 records in 1 run, 0 records in the log, 1 batch\n");
    folder.good(&["store", "put", "s", "c", "a value that lies in the log"]);
    folder.good(&["store", "delete", "s", "a"]);
    verified("s: sound: 2 records in 1 run, 2 records in the log, 3 batches\n");
    let logs =
        std::fs::read_dir(folder.path().join("s")).expect("it is there").map(|entry| entry.expect("it is read").path());
    let bytes = |path: &std::path::PathBuf| std::fs::read(path).expect("it is read");
    let value = b"a value that lies in the log";
    let place = |path: &std::path::PathBuf| bytes(path).windows(value.len()).position(|window| window == value);
    let (log, at) = logs.filter_map(|path| place(&path).map(|at| (path, at))).next().expect("the log has it");
    let file = std::fs::OpenOptions::new().write(true).open(log).expect("it is opened");
    file.write_all_at(b"A VALUE", at as u64).expect("it is written");
    let ended = folder.run(&["store", "verify", "s"]);
    assert!(ended.code == Some(4) && ended.out.is_empty(), "{} {}", ended.out, ended.err);
}

#[test]
fn damage_ends_with_code_4_and_what_is_whole_is_saved() {
    let folder = Folder::new("store-damage");
    let lines: String = (0..2000).map(|number| format!("{number:05}\tvalue {number}\n")).collect();
    folder.write("lines", &lines);
    folder.good(&["store", "load", "s", "lines", "--sorted"]);
    let file = std::fs::OpenOptions::new().write(true).open(folder.path().join("s/k0-f0-0.run")).unwrap();
    file.write_all_at(b"damage", 4096 * 3 + 7).unwrap();
    let ended = folder.run(&["store", "verify", "s"]);
    assert_eq!(ended.code, Some(4));
    assert!(ended.err.contains("  k0-f0-0.run at byte 12288: a page of the run is damaged\nhelp: "), "{}", ended.err);
    assert_eq!(folder.run(&["store", "backup", "s", "--to", "copy"]).code, Some(4), "damage is not copied");
    let saved = folder.good(&["store", "salvage", "s", "--to", "new"]);
    assert!(saved.contains("lost: k0-f0-0.run at byte 12288"), "{saved}");
    let kept = folder.good(&["store", "scan", "new"]).lines().count();
    assert!((1500..2000).contains(&kept), "{kept} records");
    assert_eq!(folder.run(&["store", "salvage", "s", "--to", "new"]).code, Some(2), "there is something already");
}
