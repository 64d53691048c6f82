//! The tutorial is true, and so is what the README shows: files are saved and commands run, in order, in an empty directory.
//!
//! A block marked `metta NAME`, or with another kind and a name, is a file. In a block marked `console`, a line that begins with `$ ` is a command, and what
//! follows is all that it prints, on both outputs. It ends with exit code 0 unless `echo $?` comes next. The dates that `kb log` prints are
//! those of the run, and any are as good as those of the page. Where the network is asked,
//! `pond.example` and `example.com` are an origin of the test's own.

use crate::proxy::harness::{Pond, has};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Fewer commands than this, and the document is not read as it is meant.
const COMMANDS_MIN: usize = 25;

enum Block {
    File { name: String, content: String },
    Console(Vec<Step>),
}

struct Step {
    command: String,
    output: String,
}

fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn blocks(document: &str) -> Vec<Block> {
    document.split("```").skip(1).step_by(2).filter_map(block).collect()
}

/// A block that has no kind only shows something; `None`.
fn block(text: &str) -> Option<Block> {
    let (kind, content) = text.split_once('\n').expect("a block has a first line");
    if kind.is_empty() {
        return None;
    }
    Some(match kind.split_once(' ') {
        Some((_, name)) => Block::File { name: name.to_owned(), content: content.to_owned() },
        None if kind == "console" => Block::Console(steps(content)),
        _ => panic!("a block of a page is `KIND NAME` or `console`, not {kind:?}"),
    })
}

fn steps(content: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in content.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command: command.to_owned(), output: String::new() }),
            (None, Some(step)) => step.output += &format!("{line}\n"),
            (None, None) => panic!("output before the first command: {line}"),
        }
    }
    steps
}

/// Somebody at a terminal.
struct Reader {
    directory: PathBuf,
    /// How the last command ended, until it was looked at.
    code: Option<i32>,
    commands: usize,
    pond: Option<Pond>,
}

impl Reader {
    fn read(&mut self, block: Block) {
        match block {
            Block::File { name, content } => {
                let path = self.directory.join(name);
                std::fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("a folder can be made");
                std::fs::write(path, content).expect("a file can be written");
            }
            Block::Console(steps) => steps.iter().for_each(|step| self.type_in(step)),
        }
    }

    fn type_in(&mut self, Step { command, output }: &Step) {
        self.commands += 1;
        if command == "echo $?" {
            let code = self.code.take().expect("a command comes before");
            return assert_eq!(format!("{code}\n"), *output, "the exit code before `echo $?`");
        }
        self.expect_success();
        if let Some(directory) = command.strip_prefix("cd ") {
            self.directory.push(directory);
            return assert!(self.directory.is_dir() && output.is_empty(), "{command}");
        }
        let (code, printed) = self.run(command);
        if command.contains("kb log") {
            assert_eq!(undated(&printed), undated(output), "$ {command}");
        } else {
            assert_eq!(printed, *output, "$ {command}");
        }
        self.code = Some(code);
    }

    fn expect_success(&mut self) {
        assert_eq!(
            self.code.take().unwrap_or(0),
            0,
            "a failure is followed by `echo $?`: command {}",
            self.commands - 1
        );
    }

    /// The exit code of a command and what it printed, in the order in which it did.
    fn run(&self, command: &str) -> (i32, String) {
        let binary = Path::new(env!("CARGO_BIN_EXE_metroon")).parent().expect("it lies in a folder");
        let folder = self.pond.as_ref().map_or(binary, Pond::folder);
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("exec 2>&1\n{command}")).current_dir(&self.directory).env("PATH", path);
        let ended = shell.output().expect("there is a shell");
        (ended.status.code().expect("it was not killed"), String::from_utf8(ended.stdout).expect("it prints UTF-8"))
    }
}

/// A text in which all dates of commits are one.
fn undated(text: &str) -> String {
    const DATE: &str = "2026-11-20T10:00:00Z";
    let is_date = |word: &str| {
        let same_kind =
            |(one, other): (u8, u8)| if other.is_ascii_digit() { one.is_ascii_digit() } else { one == other };
        word.len() == DATE.len() && word.bytes().zip(DATE.bytes()).all(same_kind)
    };
    text.split_inclusive([' ', '"', '\n']).fold(String::new(), |undated, piece| {
        let (word, end) = piece.split_at(piece.trim_end_matches([' ', '"', '\n']).len());
        undated + if is_date(word) { DATE } else { word } + end
    })
}

/// Does what the blocks say, in an empty directory; gives how many commands that were.
fn follow(name: &str, blocks: impl IntoIterator<Item = Block>) -> usize {
    follow_beside(name, blocks, None)
}

/// Does it where there is a pond.
fn follow_beside(name: &str, blocks: impl IntoIterator<Item = Block>, pond: Option<Pond>) -> usize {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("a folder can be made");
    let mut reader = Reader { directory, code: None, commands: 0, pond };
    blocks.into_iter().for_each(|block| reader.read(block));
    reader.expect_success();
    reader.commands
}

#[test]
fn the_tutorial_shows_what_happens() {
    let commands = follow("tutorial", blocks(&document("docs/tutorial.md")));
    assert!(commands >= COMMANDS_MIN, "{commands} commands");
}

#[test]
fn the_page_on_tools_shows_what_happens() {
    let commands = follow("tools", blocks(&document("docs/tools.md")));
    assert!(commands >= 8, "{commands} commands");
}

#[test]
fn the_page_on_loading_shows_what_happens() {
    let commands = follow("loading", blocks(&document("docs/loading.md")));
    assert!(commands >= 10, "{commands} commands");
}

#[test]
fn the_page_on_knowledge_bases_shows_what_happens() {
    let commands = follow("knowledge-base", blocks(&document("docs/knowledge-base.md")));
    assert!(commands >= 7, "{commands} commands");
}

#[test]
fn the_page_on_time_shows_what_happens() {
    let commands = follow("time", blocks(&document("docs/time.md")));
    assert!(commands >= 10, "{commands} commands");
}

#[test]
fn the_page_on_live_queries_shows_what_happens() {
    let commands = follow("live", blocks(&document("docs/live.md")));
    assert!(commands >= 10, "{commands} commands");
}

#[test]
fn the_page_on_stores_shows_what_happens() {
    let commands = follow("store", blocks(&document("docs/store.md")));
    assert!(commands >= 15, "{commands} commands");
}

#[test]
fn the_page_on_five_systems_shows_what_happens() {
    let commands = follow("systems", blocks(&document("docs/systems.md")));
    assert!(commands >= 10, "{commands} commands");
}

#[test]
fn the_page_on_pages_is_true_of_metta() {
    let page = document("docs/pages.md");
    let (_, section) = page.split_once("## In MeTTa\n").expect("the page has a part about MeTTa");
    let section = section.split("\n## ").next().expect("it has a beginning");
    assert_eq!(follow("pages", blocks(section)), 2);
}

#[test]
fn the_page_on_cassettes_shows_what_happens() {
    let commands = follow("cassettes", blocks(&document("docs/cassettes.md")));
    assert!(commands >= 15, "{commands} commands");
}

/// Whether everything that pages run beside `metroon` is there.
fn has_clients() -> bool {
    ["curl", "python3", "node"].iter().all(|program| has(program, "--version"))
}

#[test]
fn the_page_on_recording_shows_what_happens() {
    if has_clients() {
        let commands = follow_beside("recording", blocks(&document("docs/recording.md")), Some(Pond::new("recording")));
        assert!(commands >= 15, "{commands} commands");
    }
}

/// What an example asks, it is answered from the cassette of the other: they ask the same.
#[test]
fn the_examples_of_traffic_are_recorded_and_answered() {
    if !has_clients() {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/traffic");
    let script = |name: &str| folder.join(name).display().to_string();
    let (python, node) = (format!("python3 {}", script("visit.py")), format!("node {}", script("visit.mjs")));
    let said = "a frog got 200 24 bytes\na toad got 200 24 bytes\n";
    let step = |command: String, last: &str| Step { command, output: format!("{said}metroon: {last}\n") };
    let steps = vec![
        step(format!("metroon record -o visit.cassette -- {python}"), "recorded 2 exchanges in visit.cassette"),
        step(format!("metroon replay visit.cassette -- {node}"), "answered 2 requests from visit.cassette"),
        step(format!("metroon replay visit.cassette --speed 0 -- {python}"), "answered 2 requests from visit.cassette"),
    ];
    follow_beside("traffic", [Block::Console(steps)], Some(Pond::new("traffic")));
}

/// The README's first program is saved as `services.metta`; its blocks of other kinds are tested elsewhere.
#[test]
fn the_readme_shows_what_happens() {
    let document = document("README.md");
    let (_, program) = document.split_once("```metta\n").expect("the README shows a program");
    let content = program.split("```").next().expect("it ends").to_owned();
    let consoles = document.split("```console\n").skip(1).map(|rest| rest.split("```").next().expect("it ends"));
    // What asks the network needs programs that are not everywhere.
    let has_clients = has_clients();
    let consoles = consoles.filter(|content| has_clients || !content.contains("metroon record"));
    let consoles = consoles.map(|content| Block::Console(steps(content)));
    let blocks = [Block::File { name: "services.metta".to_owned(), content }].into_iter().chain(consoles);
    let commands = follow_beside("readme", blocks, Some(Pond::new("readme")));
    assert!(commands > 0, "the README shows no command");
}

/// A tutorial that shows something else is found out, whichever line it is.
#[test]
#[should_panic(expected = "$ metroon run -e '!(+ 1 2)'")]
fn an_output_that_is_not_printed_fails() {
    let mut reader = Reader { directory: std::env::temp_dir(), code: None, commands: 0, pond: None };
    blocks("```console\n$ metroon run -e '!(+ 1 2)'\n[4]\n```").into_iter().for_each(|block| reader.read(block));
}

#[test]
#[should_panic(expected = "a failure is followed by `echo $?`")]
fn a_failure_that_is_not_shown_fails() {
    let mut reader = Reader { directory: std::env::temp_dir(), code: None, commands: 0, pond: None };
    blocks("```console\n$ false\n```").into_iter().for_each(|block| reader.read(block));
    reader.expect_success();
}

#[test]
fn the_page_on_packages_shows_what_happens() {
    let commands = follow("packages", blocks(&document("docs/packages.md")));
    assert!(commands >= 5, "{commands} commands");
}
