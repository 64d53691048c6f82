//! The tutorial is true: its files are saved and its commands run, in order, in an empty directory.
//!
//! A block marked `metta NAME` is a file. In a block marked `console`, a line that begins with `$ ` is a command, and what
//! follows is all that it prints, on both outputs. It ends with exit code 0 unless `echo $?` comes next.

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

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorial.md");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn blocks(document: &str) -> Vec<Block> {
    document.split("```").skip(1).step_by(2).map(block).collect()
}

fn block(text: &str) -> Block {
    let (kind, content) = text.split_once('\n').expect("a block has a first line");
    match kind.split_once(' ') {
        Some(("metta", name)) => Block::File { name: name.to_owned(), content: content.to_owned() },
        None if kind == "console" => Block::Console(steps(content)),
        _ => panic!("a block of the tutorial is `metta NAME` or `console`, not {kind:?}"),
    }
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
}

impl Reader {
    fn read(&mut self, block: Block) {
        match block {
            Block::File { name, content } => {
                std::fs::write(self.directory.join(name), content).expect("a file can be written");
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
        assert_eq!(printed, *output, "$ {command}");
        self.code = Some(code);
    }

    fn expect_success(&mut self) {
        assert_eq!(self.code.take().unwrap_or(0), 0, "a failure is followed by `echo $?`: command {}", self.commands - 1);
    }

    /// The exit code of a command and what it printed, in the order in which it did.
    fn run(&self, command: &str) -> (i32, String) {
        let binary = Path::new(env!("CARGO_BIN_EXE_mnemon")).parent().expect("it lies in a folder");
        let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("exec 2>&1\n{command}")).current_dir(&self.directory).env("PATH", path);
        let ended = shell.output().expect("there is a shell");
        (ended.status.code().expect("it was not killed"), String::from_utf8(ended.stdout).expect("it prints UTF-8"))
    }
}

#[test]
fn the_tutorial_shows_what_happens() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("tutorial");
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("a folder can be made");
    let mut reader = Reader { directory, code: None, commands: 0 };
    blocks(&document()).into_iter().for_each(|block| reader.read(block));
    reader.expect_success();
    assert!(reader.commands >= COMMANDS_MIN, "{} commands", reader.commands);
}

/// A tutorial that shows something else is found out, whichever line it is.
#[test]
#[should_panic(expected = "$ mnemon run -e '!(+ 1 2)'")]
fn an_output_that_is_not_printed_fails() {
    let mut reader = Reader { directory: std::env::temp_dir(), code: None, commands: 0 };
    blocks("```console\n$ mnemon run -e '!(+ 1 2)'\n[4]\n```").into_iter().for_each(|block| reader.read(block));
}

#[test]
#[should_panic(expected = "a failure is followed by `echo $?`")]
fn a_failure_that_is_not_shown_fails() {
    let mut reader = Reader { directory: std::env::temp_dir(), code: None, commands: 0 };
    blocks("```console\n$ false\n```").into_iter().for_each(|block| reader.read(block));
    reader.expect_success();
}
