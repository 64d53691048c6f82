//! `metroon pages`: what the log of a state says, without the functions that derive its pages.

use crate::harness::Folder;
use reactive::{Clock, FunctionName, Functions, Inputs, Metadata, Options, State, Transaction};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn functions() -> Functions {
    let mut functions = Functions::new();
    for name in ["gross", "total"] {
        functions.add(FunctionName::new(name, 1), |inputs: &Inputs<'_>, page: &mut [u8]| {
            page.iter_mut().zip(inputs.get(0)).for_each(|(byte, input)| *byte = *input);
            Ok(())
        });
    }
    functions
}

/// The state of docs/pages.md that remembers, with a checkpoint.
fn sheet(folder: &Path) -> State {
    let mut state = State::create_in(folder, functions(), Options::default());
    let mut transaction = Transaction::new().source("prices of April");
    let net = transaction.create(&[100.0_f64, 50.0].map(f64::to_le_bytes).concat());
    let rate = transaction.create(&0.5_f64.to_le_bytes());
    let gross = transaction.derive(16, FunctionName::new("gross", 1), [net, rate]);
    let total = transaction.derive(8, FunctionName::new("total", 1), [gross]);
    let kept = |bytes: &[u8], name: &str| Metadata { name: name.to_owned(), bytes: bytes.to_vec() };
    transaction.describe(net, kept(b"{\"dtype\": \"<f8\", \"shape\": [2]}", "net"));
    transaction.describe(total, kept(b"f8", "sum"));
    let net = state.commit(&transaction).unwrap().created[0];
    let mut transaction = Transaction::new();
    transaction.write(net, 0, &10_000.0_f64.to_le_bytes());
    state.commit(&transaction).unwrap();
    state.checkpoint().unwrap();
    state
}

/// The output that the page shows after a command.
fn shown(command: &str) -> String {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/pages.md")).unwrap();
    let (_, rest) = page.split_once(&format!("$ {command}\n")).expect("the page shows the command");
    rest.split("```").next().unwrap().split("\n$ ").next().unwrap().trim_end().to_owned()
}

/// Lengths of files depend on how a journal is laid out.
fn without_files(text: &str) -> Vec<&str> {
    let is_of_files = |line: &&str| !line.starts_with("log bytes") && !line.starts_with("checkpoint bytes");
    text.lines().filter(is_of_files).collect()
}

#[test]
fn the_page_shows_what_the_log_of_its_state_says() {
    let folder = Folder::new("pages-stats");
    // It is read while somebody has it.
    let _held = sheet(&folder.path().join("sheet"));
    let said = folder.good(&["pages", "stats", "sheet"]);
    let shown = shown("metroon pages stats sheet");
    assert_eq!(without_files(said.trim_end()), without_files(&shown));
    assert!(said.lines().count() == shown.lines().count(), "{said}");
}

#[test]
fn a_program_can_read_it_and_a_fork_says_where_it_began() {
    let folder = Folder::new("pages-json");
    let state = sheet(&folder.path().join("sheet"));
    let fork = state.fork_in(1, folder.path().join("fork"), Options::default()).unwrap();
    let read = |name: &str| -> serde_json::Value {
        serde_json::from_str(&folder.good(&["pages", "stats", name, "--json"])).unwrap()
    };
    let (sheet, forked) = (read("sheet"), read("fork"));
    assert_eq!((&sheet["commits"], &sheet["written"], &sheet["bytes_written"]), (&2.into(), &3.into(), &14.into()));
    assert_eq!(sheet["derived"], serde_json::json!({ "gross version 1": 1, "total version 1": 1 }));
    assert!(sheet["log_bytes"].as_u64() > Some(0) && sheet["checkpoint_bytes"].as_u64() > Some(0));
    assert_eq!((&forked["base"], &forked["commits"], &forked["pages"]), (&1.into(), &0.into(), &4.into()));
    assert_eq!(forked["derived"], sheet["derived"]);
    assert_eq!(forked["checkpoints"], serde_json::json!([1]));
    let named = |page: u64, name: &str, kept: serde_json::Value| serde_json::json!({ "page": format!("page {page}"), "slot": page, "generation": 0, "name": name, "metadata": kept });
    let details = |of: &serde_json::Value, page: usize| of["page_details"][page].clone();
    let is_part = |whole: &serde_json::Value, part: &serde_json::Value| {
        part.as_object().expect("it is an object").iter().all(|(key, value)| &whole[key] == value)
    };
    let kept = serde_json::json!({ "dtype": "<f8", "shape": [2] });
    assert!(is_part(&details(&sheet, 0), &named(0, "net", kept)), "{}", details(&sheet, 0));
    assert!(is_part(&details(&sheet, 3), &named(3, "sum", serde_json::Value::Null)), "{}", details(&sheet, 3));
    let said = |epochs: [Option<u64>; 2], written: u64| serde_json::json!({ "created": epochs[0], "changed": epochs[1], "written": written });
    assert!(is_part(&details(&sheet, 0), &said([Some(1), Some(2)], 2)), "{}", details(&sheet, 0));
    assert!(is_part(&details(&sheet, 1), &said([Some(1), Some(1)], 1)), "{}", details(&sheet, 1));
    let derived = serde_json::json!({
        "created": 1, "changed": null, "derived_by": "total version 1", "derived_from": ["page 2"], "bytes": 8,
    });
    assert!(is_part(&details(&sheet, 3), &derived), "{}", details(&sheet, 3));
    // The checkpoint that a fork begins with says when each page was changed.
    assert_eq!(details(&forked, 3)["changed"], 1);
    let commits = serde_json::json!([
        { "epoch": 1, "source": "prices of April", "cause": null, "created": 4, "deleted": 0, "written": 2, "bytes_written": 12 },
        { "epoch": 2, "source": null, "cause": null, "created": 0, "deleted": 0, "written": 1, "bytes_written": 2 },
    ]);
    assert_eq!(sheet["last_commits"], commits);
    assert_eq!(forked["last_commits"], serde_json::json!([]));
    drop((fork, state));
}

#[test]
fn what_commits_cost_is_there_once_their_program_has_ended() {
    let folder = Folder::new("pages-timed");
    let ticks = AtomicU64::new(0);
    let clock: Clock = Arc::new(move || ticks.fetch_add(3, Ordering::Relaxed));
    let read =
        || -> serde_json::Value { serde_json::from_str(&folder.good(&["pages", "stats", "timed", "--json"])).unwrap() };
    let mut state = State::create_in(folder.path().join("timed"), functions(), Options::default().clock(clock));
    let mut transaction = Transaction::new();
    let page = transaction.create(&[1; 8]);
    transaction.derive(8, FunctionName::new("gross", 1), [page]);
    state.commit(&transaction).unwrap();
    assert_eq!(read()["statistics"], serde_json::Value::Null);
    let statistics = state.statistics();
    drop(state);
    let found = read()["statistics"].clone();
    assert_eq!((&found["commits"], &found["ran"]), (&1.into(), &1.into()));
    assert_eq!(found["latency"]["p99"], statistics.latency.p99);
    assert_eq!(found["stages"]["run"], statistics.stages.run);
    assert!(statistics.latency.p99 > 0 && statistics.stages.run > 0, "{statistics:?}");
    // A program that measures nothing leaves them as they are.
    drop(State::open_in(folder.path().join("timed"), functions(), Options::default()).unwrap());
    assert_eq!(read()["statistics"], found);
}

#[test]
fn what_is_no_state_is_said() {
    let folder = Folder::new("pages-absent");
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    folder.write("file", "text");
    for name in ["nothing", "empty", "file"] {
        let ended = folder.run(&["pages", "stats", name]);
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(ended.err.contains(&format!("there is no state in {name}\nhelp: name the folder")), "{}", ended.err);
    }
    folder.good(&["store", "put", "store", "a", "b"]);
    assert_eq!(folder.run(&["pages", "stats", "store"]).code, Some(2));
    drop(sheet(&folder.path().join("sheet")));
    let segment = folder.path().join("sheet/00000000000000000000.segment");
    let mut bytes = std::fs::read(&segment).unwrap();
    let place = bytes.windows(6).position(|bytes| bytes == b"prices").unwrap();
    bytes[place] ^= 1;
    std::fs::write(segment, bytes).unwrap();
    let ended = folder.run(&["pages", "stats", "sheet"]);
    assert_eq!(ended.code, Some(4), "{} {}", ended.out, ended.err);
}

#[test]
fn what_the_system_refuses_to_read_is_not_called_damaged() {
    let folder = Folder::new("pages-refused");
    drop(sheet(&folder.path().join("sheet")));
    let segment = folder.path().join("sheet/00000000000000000000.segment");
    std::fs::remove_file(&segment).unwrap();
    std::fs::create_dir(&segment).unwrap();
    let ended = folder.run(&["pages", "stats", "sheet"]);
    assert_eq!(ended.code, Some(1), "{} {}", ended.out, ended.err);
    assert!(ended.err.contains("check that you may read it"), "{}", ended.err);
}
