//! Programs that ask for several things at once, with threads, tasks and promises: what they see comes in the order of the recording.
//!
//! The order in which the proxy answers is exact, which the tests of the server look at. When a thread that has been answered prints is
//! decided by the system, and on a busy machine one of them may print long after the others. So the tests count how many pairs of lines
//! changed places: a late thread changes few, an order of its own changes half of them.

use super::harness::{Stage, client, has, named, words};
use cassette::Cassette;
use std::ffi::OsString;

/// How many of the 120 pairs of 16 lines may have changed places. One late thread changes 15 at most; the order of asking changes 49, and
/// an order that has nothing to do with the recording about 60.
const CHANGED_PAIRS_MAX: usize = 24;

/// How many pairs of lines come in another order in `after` than in `before`, which have the same lines.
fn changed_pairs(before: &[&str], after: &[&str]) -> usize {
    let places: Vec<usize> = before
        .iter()
        .map(|line| after.iter().position(|other| other == line).unwrap_or_else(|| panic!("{line} is missing")))
        .collect();
    (1..places.len()).map(|end| places[..end].iter().filter(|&&place| place > places[end]).count()).sum()
}

/// Replays a program until what it prints comes in the order of the recording. On a busy machine the proxy may stop waiting for a request,
/// and says so: then nothing is promised of the order. Or a thread has been answered and prints long after, which a proxy cannot see.
/// A proxy that keeps no order is found in each replay.
fn replays_in_order(stage: &Stage, speed: &[&str], program: &[OsString], before: &[&str]) {
    let mut seen = String::new();
    for _ in 0..5 {
        let replayed = stage.replay(speed, program);
        let said = replayed.err.strip_suffix("metroon: answered 21 requests from trip.cassette\n");
        let gave_up = said.is_some_and(|said| said.starts_with("warning: some answers were given before"));
        assert!(replayed.code == Some(0) && (said == Some("") || gave_up), "{:?} {}", replayed.code, replayed.err);
        let now: Vec<&str> = replayed.out.lines().collect();
        assert_eq!(now.len(), before.len(), "{}", replayed.out);
        let changed = changed_pairs(before, &now);
        if !gave_up && changed <= CHANGED_PAIRS_MAX {
            return;
        }
        seen += &format!("replayed, {changed} pairs changed places, gave up: {gave_up}\n{}", replayed.out);
    }
    panic!("{speed:?}: none of five replays is in order\nrecorded\n{}\n{seen}", before.join("\n"));
}

/// Records a program, and replays it twice at once: it must see the same, in the same order.
fn both_ways(name: &str, program: &[OsString]) {
    let mut stage = Stage::new(name);
    let recorded = stage.record(program);
    assert_eq!(recorded.code, Some(0), "{}{}", recorded.out, recorded.err);
    stage.stop_origin();
    assert_eq!(recorded.out.lines().count(), 16, "{}", recorded.out);
    let before: Vec<&str> = recorded.out.lines().collect();
    // The order of asking must not pass for that of the recording.
    let mut asked = before.clone();
    asked.sort_by_key(|line| line.split(' ').nth(1).and_then(|number| number.parse::<u32>().ok()));
    assert!(changed_pairs(&before, &asked) > CHANGED_PAIRS_MAX, "{}", recorded.out);
    for speed in [&["--speed", "0"][..], &["--speed", "0"], &[]] {
        replays_in_order(&stage, speed, program, &before);
    }
}

fn script(python: &std::path::Path, kind: &str) -> Vec<OsString> {
    vec![python.into(), "-B".into(), client("at_once.py").into(), kind.into()]
}

#[test]
fn python_threads_see_the_recorded_order() {
    if has("python3", "--version") {
        both_ways("threads", &script("python3".as_ref(), "threads"));
    }
}

#[test]
fn python_requests_in_threads_see_the_recorded_order() {
    if let Some(python) = named("METROON_CLIENTS_PYTHON") {
        both_ways("requests-threads", &script(&python, "requests"));
    }
}

#[test]
fn python_tasks_with_http2_see_the_recorded_order() {
    if let Some(python) = named("METROON_CLIENTS_PYTHON") {
        both_ways("tasks", &script(&python, "tasks"));
    }
}

#[test]
fn node_promises_see_the_recorded_order() {
    if has("node", "--version") {
        both_ways("promises", &["node".into(), client("at_once.mjs").into()]);
    }
}

/// How many requests are named as equal and made at once.
fn at_once(said: &str, begin: &str) -> u32 {
    let groups =
        said.lines().filter_map(|line| line.strip_prefix(begin)?.split_once(" equal requests were made at once"));
    groups.map(|(number, _)| number.parse::<u32>().expect("it begins with a number")).sum()
}

/// Sixteen samples of one prompt: each has an answer of its own, and which gets which cannot be known.
#[test]
fn equal_questions_at_once_are_named_and_end_with_4() {
    if !has("curl", "--version") {
        return;
    }
    let mut stage = Stage::new("samples");
    let samples: String = (0..16).map(|n| format!(" -o sample-{n} 'https://api.metroon.test/count?ms=400'")).collect();
    let program = words(&["sh", "-c", &format!("curl -sZ --parallel-immediate {samples} 2>/dev/null")]);
    assert_eq!(stage.record(&program).code, Some(0));
    stage.stop_origin();
    let cassette = Cassette::open(stage.folder.path().join("trip.cassette")).expect("it is sealed");
    assert_eq!(cassette.len(), 16);
    for speed in ["0", "1"] {
        let ended = stage.replay(&["--speed", speed], &program);
        let what = "equal requests were made at once and answered differently, so each may have got the answer of another: \
                    GET https://api.metroon.test/count?ms=400\n  exchanges ";
        assert!(ended.code == Some(4) && ended.err.contains(what), "{:?} {}", ended.code, ended.err);
        assert!(ended.err.contains("; the first two that differ: response body"), "{}", ended.err);
        // On a busy machine some have been answered before the last is asked: then there is more than one group.
        assert!(at_once(&ended.err, "error: ") >= 14, "{}", ended.err);
        assert!(ended.err.contains("or allow it with --allow-ambiguous\n"), "{}", ended.err);
        let ended = stage.replay(&["--speed", speed, "--allow-ambiguous"], &program);
        assert!(ended.code == Some(0) && at_once(&ended.err, "note: ") >= 14, "{}", ended.err);
        // Each of the answers went to somebody.
        let mut got: Vec<u32> = (0..16)
            .map(|n| std::fs::read_to_string(stage.folder.path().join(format!("sample-{n}"))).expect("curl got it"))
            .map(|text| text.parse().expect("a count is a number"))
            .collect();
        got.sort_unstable();
        assert_eq!(got, (1..=16).collect::<Vec<_>>());
    }
}
