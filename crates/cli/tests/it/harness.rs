//! Running the binary with bounded time.

use std::io::Write;
use std::path::PathBuf;
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
    let mut command = Command::new(env!("CARGO_BIN_EXE_mnemon"));
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

/// Runs `mnemon` with a text on its standard input.
pub(crate) fn run_with_input(arguments: &[&str], input: &[u8]) -> Ended {
    let mut child = command(arguments).spawn().expect("the binary runs");
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
