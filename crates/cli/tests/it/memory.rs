//! Limits of memory, as the system sees them: how large a process ever became.

use crate::harness::{Ended, Folder, command, file, run, wait};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const MEBIBYTE: u64 = 1 << 20;

/// What a process takes that evaluates nothing, its code and its library, and what it is not ended for.
const BASE: u64 = 24 * MEBIBYTE;

/// The most memory that a process has had, in bytes, as long as it is there.
fn peak_of(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// Waits for a child, and watches how large it becomes.
fn watched(child: Child) -> (Ended, u64) {
    watched_by(child, peak_of)
}

/// Waits for a child, and watches how large it becomes by what says how large it is.
fn watched_by(child: Child, size_of: fn(u32) -> Option<u64>) -> (Ended, u64) {
    let (id, is_over) = (child.id(), Arc::new(AtomicBool::new(false)));
    let watching = Arc::clone(&is_over);
    let watcher = std::thread::spawn(move || {
        let mut peak = 0;
        while !watching.load(Ordering::Relaxed) {
            peak = size_of(id).unwrap_or(0).max(peak);
            std::thread::sleep(Duration::from_micros(500));
        }
        peak
    });
    let ended = wait(child);
    is_over.store(true, Ordering::Relaxed);
    (ended, watcher.join().expect("the watcher ends"))
}

fn measured(arguments: &[&str]) -> (Ended, u64) {
    watched(command(arguments).spawn().expect("the binary runs"))
}

/// Programs that take all memory there is, each in another way.
const HUNGRY: &[(&str, &str)] = &[
    ("a text that doubles", "(= (d $s) (d (format-args \"{}{}\" ($s $s)))) !(d \"0123456789\")"),
    ("spaces without end", "(= (l $n) (let $s (new-space) (l (+ $n 1)))) !(l 0)"),
    ("results without end", "(= (nat $n) $n) (= (nat $n) (nat (+ $n 1))) !(nat 0)"),
    ("a list of results without end", "(= (nat $n) $n) (= (nat $n) (nat (+ $n 1))) !(let $l (collapse (nat 0)) done)"),
    ("facts without end", "(= (a $n) (let () (add-atom &self (item $n)) (a (+ $n 1)))) !(a 0)"),
    ("rules without end", "(= (a $n) (let () (add-atom &self (item $n $x)) (a (+ $n 1)))) !(a 0)"),
    ("alternatives without end", "(= (h $n) (let $x (superpose (1 2 3)) (h (+ $n $x)))) !(h 0)"),
    ("a list without end", "(= (grow $n $l) (grow (+ $n 1) (Cons (pair $n $n) $l))) !(grow 0 Nil)"),
    ("a recursion without end", "(= (f $n) (+ 1 (f (+ $n 1)))) !(f 0)"),
    ("a list that is copied", "(= (g $l) (g (cons-atom (a $l) $l))) !(g ())"),
    ("a list that doubles", "(= (g $l) (g (union-atom $l $l))) !(g (a b))"),
];

/// An atom of a million million leaves, in forty expressions of the heap.
const SHARED: &str = "(= (double $x $n) (if (== $n 0) $x (double ($x $x) (- $n 1)))) !(double a 40)";

#[test]
#[cfg(target_os = "linux")]
fn what_an_evaluation_takes_stays_within_half_as_much_again_as_its_limit() {
    let mut failures = Vec::new();
    for &(what, program) in HUNGRY {
        // The interpreter is slow: it gets less to fill.
        for (evaluator, name, heap) in [(None, "64M", 64 * MEBIBYTE), (Some("--interpreter"), "2M", 2 * MEBIBYTE)] {
            let mut arguments = vec!["run", "--heap", name, "-e", program];
            arguments.extend(evaluator);
            let (ended, peak) = measured(&arguments);
            let (error, message) = (format!("(HeapLimit {heap})"), format!("heap of {heap} bytes"));
            let is_named = ended.out.contains(&error) || ended.err.contains(&message);
            if ended.code != Some(1) || !is_named || peak > heap / 2 * 3 + BASE {
                let (out, err) = (ended.out.chars().rev().take(200).collect::<String>(), &ended.err);
                let out: String = out.chars().rev().collect();
                failures.push(format!("{what} {evaluator:?}: {} MiB, {:?}: …{out}{err}", peak >> 20, ended.code));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// It is counted before anything is written out, and nothing of it is copied.
#[test]
#[cfg(target_os = "linux")]
fn a_result_that_is_too_long_to_be_written_takes_no_memory() {
    for evaluator in [None, Some("--interpreter")] {
        let arguments: Vec<&str> = ["run", "--heap", "128M", "-e", SHARED].into_iter().chain(evaluator).collect();
        let (ended, peak) = measured(&arguments);
        assert!(ended.code == Some(1) && ended.out.contains("(WrittenLimit 268435456)"), "{}", ended.err);
        assert!(ended.err.contains("-e:1") && ended.err.contains("268435456 bytes"), "{}", ended.err);
        assert!(peak < 64 * MEBIBYTE + BASE, "{} MiB", peak >> 20);
    }
}

/// The list is made by then: each step copies all of it.
#[test]
fn a_long_list_that_grows_is_ended_in_time() {
    let program = "(= (double $l $n) (if (== $n 0) $l (double (union-atom $l $l) (- $n 1)))) \
        (= (grow $l) (grow (cons-atom a $l))) !(let $l (double (a b) 20) (grow $l))";
    let ended = run(&["run", "--timeout", "1.5", "-e", program]);
    assert!(ended.code == Some(1) && ended.out.contains("TimeLimit"), "{}{}", ended.out, ended.err);
}

/// The answers of a join are found in one step.
const JOIN: &str = "!(let $_ (println! ready) (match &self (, (p $x) (p $y) (p $z) (p $w)) ($x $y $z $w)))";

fn facts() -> String {
    (0..1_000).fold(String::new(), |text, i| text + &format!("(p {i})\n"))
}

#[test]
#[cfg(target_os = "linux")]
fn a_pattern_with_very_many_answers_is_ended_in_time_and_in_its_memory() {
    let program = facts() + JOIN;
    let path = file("memory-join", "join.metta", &program);
    let path = path.to_str().expect("paths are UTF-8");
    let (ended, peak) = measured(&["run", "--heap", "48M", path]);
    assert!(peak < 72 * MEBIBYTE + BASE, "{} MiB", peak >> 20);
    assert!(ended.code == Some(1) && ended.out.contains("HeapLimit"), "{}{}", ended.out, ended.err);
    let began = Instant::now();
    let ended = run(&["run", "--timeout", "1", path]);
    assert!(began.elapsed() < Duration::from_millis(2_500), "{:?}", began.elapsed());
    assert_eq!(ended.code, Some(1), "{}{}", ended.out, ended.err);
}

/// Facts of many forms: no `!` adds much, all of them do.
#[test]
#[cfg(target_os = "linux")]
fn the_memory_of_the_process_is_bounded_with_all_its_spaces() {
    let form = "!(let $n (superpose (0 1 2 3 4 5 6 7 8 9)) (fill $n 2000))\n";
    let rules = "(= (fill $k $n) (if (== $n 0) () (let () (add-atom &self (item $k $n (seen (random $n)))) (fill $k (- $n 1)))))\n";
    let rules = rules.replace("(seen (random $n))", "(seen $n $k)");
    let forms: String = (0..200).map(|i| form.replace("(fill $n", &format!("(fill (k{i} $n)"))).collect();
    let path = file("memory-process", "many.metta", rules + &forms);
    let path = path.to_str().expect("paths are UTF-8");
    let (ended, peak) = measured(&["run", "--memory", "64M", path]);
    assert!(peak < 96 * MEBIBYTE + BASE, "{} MiB", peak >> 20);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    let is_named = ended.out.contains("(MemoryLimit 67108864)") || ended.err.contains("memory of 67108864 bytes");
    assert!(is_named && ended.err.contains("--memory"), "{}", ended.err);
}

#[test]
#[cfg(target_os = "linux")]
fn one_long_line_is_refused_before_it_takes_more_than_the_limit() {
    let line = format!("!(quote ({}))", "a ".repeat(10 << 20));
    let path = file("memory-line", "line.metta", line);
    let path = path.to_str().expect("paths are UTF-8");
    for (heap, most) in [("16M", 16), ("64M", 64), ("160M", 160), ("320M", 320)] {
        let most = most * MEBIBYTE;
        let (ended, peak) = measured(&["run", "--heap", heap, path]);
        assert!(peak < most / 2 * 3 + BASE, "{heap}: {} MiB", peak >> 20);
        assert!(ended.code != Some(0) && ended.err.contains("--heap"), "{heap}: {:?}: {}", ended.code, ended.err);
    }
}

/// A limit that the recorded run came to is one of the replay, which has others of its own.
#[test]
fn a_run_that_a_limit_of_memory_ended_replays_as_it_was() {
    let folder = Folder::new("memory-replay");
    for (index, &(what, program)) in HUNGRY.iter().enumerate().filter(|(index, _)| [0, 2, 4, 7, 8].contains(index)) {
        let tape = folder.path().join(format!("{index}.tape"));
        let tape = tape.to_str().expect("paths are UTF-8");
        let effects = format!("!(println! begun) {program}");
        let recorded = run(&["run", "--heap", "8M", "--record", tape, "-e", &effects]);
        assert!(recorded.out.contains("(HeapLimit 8388608)"), "{what}: {}{}", recorded.out, recorded.err);
        let replayed = run(&["replay", tape]);
        assert_eq!((replayed.code, replayed.out.len()), (Some(0), recorded.out.len()), "{what}: {}", replayed.err);
        assert!(replayed.out == recorded.out, "{what}");
    }
}

#[test]
fn a_replay_has_limits_of_its_own() {
    let folder = Folder::new("memory-stranger");
    let tape = folder.path().join("loop.tape");
    let tape = tape.to_str().expect("paths are UTF-8");
    let long = "(= (down $n) (if (== $n 0) done (down (- $n 1)))) !(down 300000)";
    assert_eq!(run(&["run", "--record", tape, "-e", long]).code, Some(0));
    let steps = run(&["replay", tape, "--steps", "5000"]);
    assert_eq!((steps.code, steps.out.as_str()), (Some(1), ""), "{}", steps.err);
    assert!(steps.err.contains("--steps") && steps.err.contains("replayed 0 commits"), "{}", steps.err);
    let grown = folder.path().join("grown.tape");
    let grown = grown.to_str().expect("paths are UTF-8");
    let list = "(= (build $n $l) (if (== $n 0) done (build (- $n 1) (Cons $n $l)))) !(build 400000 Nil)";
    assert_eq!(run(&["run", "--record", grown, "-e", list]).code, Some(0));
    let heap = run(&["replay", grown, "--heap", "4M"]);
    assert_eq!((heap.code, heap.out.as_str()), (Some(1), ""), "{}", heap.err);
    assert!(heap.err.contains("--heap") && heap.err.contains("all the same so far"), "{}", heap.err);
    let time = run(&["replay", tape, "--timeout", "0.000001"]);
    assert!(time.code == Some(1) && time.err.contains("--timeout"), "{}", time.err);
    for fine in [tape, grown] {
        assert_eq!(run(&["replay", fine]).code, Some(0));
    }
}

/// How much of a process is not the content of files, in bytes, as long as it is there.
#[cfg(target_os = "linux")]
fn anonymous_of(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// A base of three times the memory that a process may have answers point queries and joins: its image is mapped, and what the process
/// has beside that stays below the limit, by its own account (`--memory`) and by the system's (`RssAnon`).
#[test]
#[cfg(target_os = "linux")]
fn a_base_of_three_times_the_limit_is_asked() {
    const PEOPLE: u64 = 500_000;
    let folder = Folder::new("memory-base");
    let mut facts = String::new();
    for n in 0..PEOPLE {
        facts += &format!("(parent person-{n} person-{})\n(lives person-{n} town-{})\n", n / 2, n % 1_000);
    }
    folder.write("facts.metta", &facts);
    drop(facts);
    folder.good(&["kb", "load", "kb", "facts.metta"]);
    let compacted = folder.good(&["kb", "compact", "kb", "--json"]);
    let compacted: serde_json::Value = serde_json::from_str(&compacted).expect("JSON");
    let limit = compacted["bytes"].as_u64().expect("a length") / 3;
    assert!(limit > 12 * MEBIBYTE, "an image of three times {limit} bytes is too small to tell");
    let most = limit.to_string();
    let run = ["run", "--read-only", "--kb", "kb", "--memory", &most, "-e"];
    let asked: [(&[&str], &str, usize); 6] = [
        (&["kb", "query", "kb", "(parent person-77777 $x)", "$x"], "person-38888", 1),
        (&["kb", "query", "kb", "(parent $x person-1234)", "$x"], "person-2468", 2),
        (
            &["kb", "query", "kb", "(, (parent $x $y) (parent $y person-55) (lives $x $town))", "($x $town)"],
            "(person-220 town-220)",
            4,
        ),
        (&[&run[..], &["!(match &self (parent person-199999 $x) $x)"]].concat(), "[person-99999]", 1),
        (&[&run[..], &["!(collapse (match &self (lives $x town-7) $x))"]].concat(), "person-499007", 1),
        (
            &[
                &run[..],
                &["!(count-results (match &self (, (lives $x town-7) (parent $x $y) (lives $y $town)) $town))"],
            ]
            .concat(),
            "[500]",
            1,
        ),
    ];
    for (arguments, expected, lines) in asked {
        let child = command(arguments).current_dir(folder.path()).spawn().expect("the binary runs");
        let (ended, peak) = watched_by(child, anonymous_of);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.err);
        assert!(ended.out.contains(expected) && ended.out.lines().count() == lines, "{arguments:?}: {}", ended.out);
        assert!(peak < limit, "{arguments:?}: {peak} bytes of memory where {limit} are allowed");
    }
}
