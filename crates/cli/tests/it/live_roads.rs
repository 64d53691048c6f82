//! The example of live queries over a road network, at a small size: see `examples/live-roads/run.sh`.

use crate::harness::{Folder, wait};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// How many roads there are.
const EDGES: &str = "5000";

/// The processes of the example, all of which are ended with it.
struct Group(u32);

impl Drop for Group {
    fn drop(&mut self) {
        // There is none any more if the script has ended well.
        let group = format!("-{}", self.0);
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    }
}

#[test]
fn a_closure_and_a_join_are_followed_over_a_writer_that_is_killed() {
    let folder = Folder::new("live-roads");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/live-roads/run.sh");
    let binary = Path::new(env!("CARGO_BIN_EXE_metroon")).parent().expect("it lies in a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("bash");
    command.arg(script).arg(EDGES).arg(folder.path()).env("PATH", path).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("there is a bash");
    let _group = Group(child.id());
    let ended = wait(child);
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    let said: Vec<&str> = ended.out.lines().collect();
    assert_eq!(said[..2], ["== 5000 roads", "== follow what is reached, and triangles"]);
    for line in [
        "2501 answers",
        "2499 answers",
        "- harbour",
        "- (t2 t5 harbour)",
        "every change was told once",
        "(= (reach t0) island)",
    ] {
        assert!(said.contains(&line), "{line} is missing in {}", ended.out);
    }
    assert!(ended.out.contains("(road t6 island)"), "{}", ended.out);
    assert!(ended.err.contains("until both watchers have told"), "{}", ended.err);
}
