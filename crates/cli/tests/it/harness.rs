//! Running the binary with bounded time.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A command that has not ended after this long never will.
const LIMIT: Duration = Duration::from_secs(60);

/// What a command printed and how it ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_metroon"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits for a child and ends it when it takes too long.
pub(crate) fn wait(mut child: Child) -> Ended {
    let began = Instant::now();
    let id = child.id();
    drop(child.stdin.take());
    let watcher = std::thread::spawn(move || child.wait_with_output().expect("the output can be read"));
    while !watcher.is_finished() {
        if began.elapsed() > LIMIT {
            signal(id, "KILL");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = watcher.join().expect("the output was read");
    assert!(began.elapsed() <= LIMIT, "the command did not end");
    Ended {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

pub(crate) fn signal(process: u32, name: &str) {
    let status = Command::new("kill").args([format!("-{name}"), process.to_string()]).status();
    assert!(status.is_ok(), "`kill` can be run");
}

/// Runs `metroon` with a text on its standard input.
pub(crate) fn run_with_input(arguments: &[&str], input: &[u8]) -> Ended {
    feed(command(arguments), input)
}

/// Runs a command with a text on its standard input.
pub(crate) fn feed(mut command: Command, input: &[u8]) -> Ended {
    let mut child = command.spawn().expect("the binary runs");
    let mut stdin = child.stdin.take().expect("there is a standard input");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let ended = wait(child);
    writer.join().expect("the input was written");
    ended
}

pub(crate) fn run(arguments: &[&str]) -> Ended {
    run_with_input(arguments, b"")
}

/// A file with this content in a folder of this test's own.
pub(crate) fn file(test: &str, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let path = folder.join(name);
    std::fs::write(&path, content).expect("a file can be written");
    path
}

/// A folder of a test's own, empty at the beginning and gone at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder can be made");
        std::fs::write(path, content).expect("a file can be written");
    }

    /// A command that runs in this folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.current_dir(&self.0);
        command
    }

    /// Runs `metroon` in this folder.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        wait(self.command(arguments).spawn().expect("the binary runs"))
    }

    /// Runs `metroon` in this folder, which must end well; gives its output.
    pub(crate) fn good(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}{}", ended.out, ended.err);
        ended.out
    }

    /// The atoms of the base `kb` in this folder, as source, without comments.
    pub(crate) fn atoms(&self) -> Vec<String> {
        let dump = self.good(&["kb", "dump", "kb"]);
        dump.lines().filter(|line| !line.starts_with(';')).map(str::to_owned).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The value of the first entry of a name in counts that are printed as text, without what it means.
pub(crate) fn counted<'a>(text: &'a str, name: &str) -> &'a str {
    let values = text.lines().filter_map(|line| line.trim_start().split_once("  "));
    let mut found = values.filter(|(found, _)| *found == name).map(|(_, rest)| rest.trim_start());
    let rest = found.next().unwrap_or_else(|| panic!("there is no {name} in\n{text}"));
    rest.split_once("  ").map_or(rest, |(value, _)| value)
}
