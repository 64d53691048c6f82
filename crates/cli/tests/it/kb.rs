//! Looking at a knowledge base: `kb log`, `at`, `stats`, `dump`, `verify`, and `why`.

use crate::harness::{Folder, counted, wait};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

const FAMILY: &str = "(parent Tom Bob)
(parent Pam Bob)
(= (child $x) (match &self (parent $x $y) $y))
!(child Tom)
  (parent Bob Ann)
!(remove-atom &self (parent Pam Bob))
!(bind! &age (new-state 5))
!(add-atom &self (age Ann &age))
!(change-state! &age 6)
";

fn family(test: &str) -> Folder {
    let folder = Folder::new(test);
    folder.write("family.metta", FAMILY);
    folder.good(&["run", "--kb", "kb", "family.metta"]);
    folder
}

#[test]
fn the_log_has_a_line_for_each_commit() {
    let folder = family("kb-log");
    let log = folder.good(&["kb", "log", "kb"]);
    let lines: Vec<Vec<&str>> = log.lines().map(|line| line.split_whitespace().collect()).collect();
    let expected = [
        &["1", "family.metta:1", "+3", "-0"][..],
        &["2", "family.metta:5", "+1", "-1"],
        &["3", "family.metta:7", "+0", "-0", "~2"],
        &["4", "family.metta:8", "+1", "-0"],
        &["5", "family.metta:9", "+0", "-0", "~1"],
    ];
    assert_eq!(lines.len(), expected.len(), "{log}");
    for (line, expected) in lines.iter().zip(expected) {
        assert_eq!([&line[..1], &line[3..]].concat(), expected, "{log}");
        assert!(line[2].len() == 20 && line[2].ends_with('Z'), "{log}");
        assert_eq!(line[1].len(), 12);
    }
    let some = folder.good(&["kb", "log", "kb", "--from", "2", "--to", "3", "--changes"]);
    let rest: Vec<&str> = some.lines().map(str::trim).collect();
    assert_eq!(rest[1], "+ (parent Bob Ann)  family.metta:5");
    assert_eq!(rest[2], "- (parent Pam Bob)  family.metta:6");
    assert_eq!(rest[4], "~ state 1 made = 5  family.metta:7");
    assert_eq!(rest.len(), 6, "{some}");
}

#[test]
fn every_line_of_the_log_can_be_an_object() {
    let folder = family("kb-json");
    let log = folder.good(&["kb", "log", "kb", "--changes", "--json"]);
    let objects: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let commits: Vec<_> = objects.iter().filter_map(|object| object["state"].as_str()).collect();
    assert_eq!(commits.len(), 5);
    assert!(commits.iter().all(|state| state.len() == 32));
    assert_eq!(objects[1]["atom"], "(parent Tom Bob)");
    assert_eq!((objects[1]["copies"].as_i64(), objects[1]["line"].as_u64()), (Some(1), Some(1)));
    let stats: serde_json::Value = serde_json::from_str(&folder.good(&["kb", "stats", "kb", "--json"])).expect("JSON");
    assert_eq!(
        (stats["commits"].as_u64(), stats["atoms"].as_u64(), stats["states"].as_u64()),
        (Some(5), Some(4), Some(1))
    );
    assert_eq!(stats["state"], *commits[4]);
    assert!(stats["bytes"].as_u64().is_some_and(|bytes| bytes > 100));
}

#[test]
fn a_commit_can_be_seen_as_it_was() {
    let folder = family("kb-at");
    let at = |commit: &str| -> Vec<String> {
        let text = folder.good(&["kb", "at", "kb", commit]);
        text.lines().filter(|line| !line.starts_with(';')).map(str::to_owned).collect()
    };
    assert!(at("0").is_empty());
    let rule = "(= (child $x) (match &self (parent $x $y) $y))";
    assert_eq!(at("1"), ["(parent Tom Bob)", "(parent Pam Bob)", rule]);
    assert_eq!(at("2"), ["(parent Tom Bob)", rule, "(parent Bob Ann)"]);
    let ended = folder.run(&["kb", "at", "kb", "6"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""));
    assert!(ended.err.contains("there is no commit 6"), "{}", ended.err);
}

/// Atoms that are hard to write.
const HARD: &str = r#"(text "a \"quoted\" text,
two lines, a \\ and a \t tab")
(floats 1.0 -0.0 1e300 5e-324 0.1 100000000000000000000.0 1e16)
(integers 0 -7 123456789012345678901234567890)
(same $x $x $y)
$alone
(= (f $x) (if (> $x 0) (f (- $x 1)) $x))
(bang ! !x (! y))
()
((nested (()) ()) &self)
(semi $a;b)
(words True False é 日本 +)
(dots ... . , ,,)
twice
twice
"#;

#[test]
fn a_dump_reads_back_as_an_equal_space() {
    let folder = Folder::new("kb-dump");
    folder.write("hard.metta", HARD);
    folder.good(&["run", "--kb", "kb", "hard.metta", "-e", "!(add-atom &self (infinite (/ 1.0 0.0)))"]);
    let dump = folder.good(&["kb", "dump", "kb"]);
    assert!(!dump.contains("not written"), "{dump}");
    folder.write("dump.metta", &dump);
    folder.good(&["run", "--kb", "copy", "dump.metta"]);
    let state = |base: &str| -> (u64, String) {
        let text = folder.good(&["kb", "stats", base, "--json"]);
        let stats: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        (stats["atoms"].as_u64().expect("a count"), stats["state"].as_str().expect("a hash").to_owned())
    };
    assert_eq!(state("kb"), state("copy"));
    let again = folder.good(&["kb", "dump", "copy"]);
    assert_eq!(again.lines().skip(1).collect::<Vec<_>>(), dump.lines().skip(1).collect::<Vec<_>>());
}

#[test]
fn what_no_source_can_state_is_in_comments() {
    let folder = family("kb-unwritten");
    folder.write(
        "more.metta",
        "!(bind! &s (new-space))\n!(add-atom &self (in &s))\n!(import! &self random)\n(uses random-int)\n",
    );
    folder.good(&["run", "--kb", "kb", "more.metta"]);
    let ended = folder.run(&["kb", "dump", "kb"]);
    assert_eq!(ended.code, Some(0));
    assert!(ended.err.contains("warning: 3 atoms"), "{}", ended.err);
    assert!(ended.out.contains("; not written, it holds a state: (age Ann (State 6))"), "{}", ended.out);
    assert!(ended.out.contains("; not written, it holds a space: (in GroundingSpace-2)"), "{}", ended.out);
    assert!(ended.out.contains("; not written, it holds a word that is known only after an import"), "{}", ended.out);
    folder.write("dump.metta", &ended.out);
    folder.good(&["run", "dump.metta"]);
}

#[test]
fn why_names_commit_and_place() {
    let folder = family("kb-why");
    assert_eq!(folder.good(&["why", "kb", "(parent Tom Bob)"]), "(parent Tom Bob)  commit 1  family.metta:1:1\n");
    let all = "(parent Tom Bob)  commit 1  family.metta:1:1\n(parent Bob Ann)  commit 2  family.metta:5:3\n";
    assert_eq!(folder.good(&["why", "kb", "(parent $x $y)"]), all);
    assert!(folder.good(&["why", "kb", "(= (child $a) $b)"]).ends_with("commit 1  family.metta:3:1\n"));
    // The words of the base are known.
    assert_eq!(folder.good(&["why", "kb", "(age Ann &age)"]), "(age Ann (State 6))  commit 4  family.metta:8:1\n");
    let json: serde_json::Value =
        serde_json::from_str(&folder.good(&["why", "kb", "--json", "(parent Bob $x)"])).expect("JSON");
    assert_eq!((json["atom"].as_str(), json["column"].as_u64()), (Some("(parent Bob Ann)"), Some(3)));
    for (atom, code, word) in [
        ("(parent Pam Bob)", 1, "no atom"),
        ("(nothing)", 1, "no atom"),
        ("(a", 3, "missing"),
        ("a b", 2, "one atom"),
        ("", 2, "one atom"),
    ] {
        let ended = folder.run(&["why", "kb", atom]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(code), ""), "{atom}: {}", ended.err);
        assert!(ended.err.contains(word), "{atom}: {}", ended.err);
    }
}

#[test]
fn a_sound_base_is_said_to_be_in_one_line() {
    let folder = family("kb-verify");
    let ended = folder.run(&["kb", "verify", "kb"]);
    assert_eq!((ended.code, ended.err.as_str(), ended.out.lines().count()), (Some(0), "", 1));
    assert!(ended.out.starts_with("kb: sound: 5 commits, 4 atoms, state "), "{}", ended.out);
}

/// Changes a letter of a word where it stands first in the journal of the base.
fn damage(folder: &Folder, word: &[u8]) {
    let segment = std::fs::read_dir(folder.path().join("kb/journal")).expect("it is listed").next();
    let path = segment.expect("there is one").expect("it is read").path();
    let mut bytes = std::fs::read(&path).expect("it is read");
    let at = bytes.windows(word.len()).position(|window| window == word).expect("it is there");
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).expect("it is written");
}

#[test]
fn damage_is_said_with_its_commit_and_place() {
    let folder = family("kb-damage");
    damage(&folder, b"Ann");
    let verified = folder.run(&["kb", "verify", "kb"]);
    assert_eq!((verified.code, verified.out.as_str()), (Some(4), ""));
    assert!(verified.err.contains("commits up to 1 are sound, commit 2 is not"), "{}", verified.err);
    assert!(verified.err.contains("error: ") && verified.err.contains("help: "), "{}", verified.err);
    for verb in ["dump", "log", "stats"] {
        assert_eq!(folder.run(&["kb", verb, "kb"]).code, Some(4), "{verb}");
    }
    assert_eq!(folder.run(&["why", "kb", "x"]).code, Some(4));
    assert_eq!(folder.run(&["run", "--kb", "kb", "-e", "(a)"]).code, Some(4));
}

#[test]
fn what_is_no_base_is_a_wrong_use() {
    let folder = Folder::new("kb-none");
    folder.write("file", "");
    for path in ["missing", ".", "file"] {
        for arguments in [vec!["kb", "log"], vec!["kb", "stats"], vec!["kb", "dump"], vec!["kb", "verify"], vec!["why"]]
        {
            let mut all = arguments.clone();
            all.push(path);
            if arguments == ["why"] {
                all.push("x");
            }
            let ended = folder.run(&all);
            assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{all:?}: {}", ended.err);
            assert!(
                ended.err.contains("there is no knowledge base in") && ended.err.contains("help: "),
                "{}",
                ended.err
            );
        }
    }
    assert_eq!(folder.run(&["kb"]).code, Some(2));
    assert_eq!(folder.run(&["kb", "log"]).code, Some(2));
    assert!(folder.good(&["kb", "--help"]).contains("verify"));
}

/// The most memory a process has used, in kibibytes.
#[cfg(target_os = "linux")]
fn peak(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("the process is there");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("its peak is there");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("it is a number")
}

#[cfg(target_os = "linux")]
#[test]
fn a_huge_commit_is_shown_without_holding_it_in_memory() {
    let folder = Folder::new("kb-huge");
    let facts: String = (0..250_000).map(|n| format!("(fact {n} (of some size and some more words {n}))\n")).collect();
    folder.write("p.metta", &facts);
    folder.good(&["run", "--kb", "kb", "p.metta"]);
    let mut child = folder.command(&["kb", "log", "kb", "--changes"]).spawn().expect("the binary runs");
    let mut out = BufReader::new(child.stdout.take().expect("there is an output"));
    let mut line = String::new();
    let mut lines = 0;
    while lines < 200_000 {
        line.clear();
        assert!(out.read_line(&mut line).expect("a line can be read") > 0, "only {lines} lines");
        lines += 1;
    }
    let used = peak(child.id());
    assert!(used < 40_000, "{used} KiB");
    // A reader that has seen enough is no failure.
    drop(out);
    let ended = wait(child);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_fails_is_an_error_of_every_verb() {
    let folder = family("kb-full");
    for arguments in [
        vec!["kb", "log", "kb"],
        vec!["kb", "dump", "kb"],
        vec!["kb", "stats", "kb"],
        vec!["kb", "verify", "kb"],
        vec!["why", "kb", "$x"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("the full device is there");
        let child = folder.command(&arguments).stdout(Stdio::from(full)).spawn().expect("the binary runs");
        let ended = wait(child);
        assert_eq!(ended.code, Some(1), "{arguments:?}: {}", ended.err);
        assert!(ended.err.starts_with("error: cannot write the output: No space left"), "{arguments:?}: {}", ended.err);
    }
}

#[test]
fn what_was_before_damage_can_still_be_seen() {
    let folder = family("kb-before-damage");
    let before = folder.good(&["kb", "at", "kb", "1"]);
    damage(&folder, b"Ann");
    assert_eq!(folder.good(&["kb", "at", "kb", "1"]), before);
    assert_eq!(folder.run(&["kb", "at", "kb", "2"]).code, Some(4));
}

fn checkpoint_of(folder: &Folder) -> std::path::PathBuf {
    let entries = std::fs::read_dir(folder.path().join("kb/journal")).expect("it is listed");
    let mut paths = entries.map(|entry| entry.expect("it is read").path());
    paths.find(|path| path.extension().is_some_and(|ending| ending == "checkpoint")).expect("there is one")
}

#[test]
fn a_compacted_base_says_so_and_is_what_its_journal_comes_to() {
    let folder = family("kb-compact");
    let dumped = folder.good(&["kb", "dump", "kb"]);
    assert_eq!(counted(&folder.good(&["kb", "stats", "kb"]), "checkpoint"), "none");
    assert_eq!(folder.good(&["kb", "compact", "kb"]), "kb: checkpoint after commit 5\n");
    assert_eq!(counted(&folder.good(&["kb", "stats", "kb"]), "commit"), "5");
    let stats: serde_json::Value = serde_json::from_str(&folder.good(&["kb", "stats", "kb", "--json"])).expect("JSON");
    assert_eq!(stats["checkpoint"]["commit"], 5);
    let verified = folder.good(&["kb", "verify", "kb"]);
    assert!(verified.ends_with("the checkpoint after commit 5 is what the journal comes to\n"), "{verified}");
    assert_eq!(folder.good(&["kb", "dump", "kb"]), dumped);
    assert_eq!(folder.good(&["run", "--kb", "kb", "-e", "!(get-state &age) !(child Tom)"]), "[6]\n[Bob]\n");
    assert_eq!(folder.good(&["kb", "query", "kb", "(parent $who Ann)", "$who"]), "Bob\n");
    for path in ["missing", "."] {
        assert_eq!(folder.run(&["kb", "compact", path]).code, Some(2), "{path}");
    }
}

#[test]
fn a_damaged_checkpoint_is_named_and_costs_no_answer() {
    let folder = family("kb-compact-damage");
    folder.good(&["kb", "compact", "kb"]);
    let path = checkpoint_of(&folder);
    let mut bytes = std::fs::read(&path).expect("it is read");
    // The middle of the words of the library, and the end of the file.
    for place in [bytes.len() / 3, bytes.len() - 5] {
        bytes[place] ^= 1;
        std::fs::write(&path, &bytes).expect("it is written");
        let asked = folder.run(&["kb", "query", "kb", "(parent $who Ann)", "$who"]);
        assert_eq!((asked.code, asked.out.as_str()), (Some(0), "Bob\n"), "{}", asked.err);
        let verified = folder.run(&["kb", "verify", "kb"]);
        assert_eq!(verified.code, Some(4), "{}", verified.out);
        assert!(verified.out.contains("sound: 5 commits"), "{}", verified.out);
        assert!(verified.err.contains(".checkpoint is not") && verified.err.contains("kb compact"), "{}", verified.err);
    }
    let asked = folder.run(&["kb", "query", "kb", "(parent $who Ann)", "$who"]);
    assert!(asked.err.contains("warning: the checkpoint 00000000000000000005.checkpoint is not used"), "{}", asked.err);
    folder.good(&["kb", "compact", "kb"]);
    assert!(folder.good(&["kb", "verify", "kb"]).contains("is what the journal comes to"));
}

#[test]
fn a_backup_is_the_base() {
    let folder = family("kb-backup");
    assert_eq!(folder.good(&["kb", "backup", "kb", "--to", "plain"]), "plain: 5 commits, without a checkpoint\n");
    folder.good(&["kb", "compact", "kb"]);
    let said = "copy: 5 commits, with the checkpoint after commit 5\n";
    assert_eq!(folder.good(&["kb", "backup", "kb", "--to", "copy"]), said);
    let rest = |name: &str| {
        let dumped = folder.good(&["kb", "dump", name]);
        dumped.split_once('\n').map(|(_, rest)| rest.to_owned()).expect("there is a first line")
    };
    for copy in ["plain", "copy"] {
        assert_eq!(rest(copy), rest("kb"));
        assert_eq!(folder.good(&["kb", "log", copy]), folder.good(&["kb", "log", "kb"]));
    }
    assert!(folder.good(&["kb", "verify", "copy"]).contains("the checkpoint after commit 5"));
    assert_eq!(folder.run(&["kb", "backup", "kb", "--to", "copy"]).code, Some(2));
    folder.good(&["run", "--kb", "copy", "-e", "(parent Ann Eve)"]);
    assert_eq!(folder.run(&["kb", "query", "kb", "(parent Ann $x)"]).code, Some(1), "the base is another one");
}
