//! The command at a terminal: the prompt, keys, Ctrl-C, colours, notes. Python's `pty` is the terminal; without it nothing is tested here.

use crate::harness::Folder;
use crate::proxy::harness::has;
use std::io::Write;
use std::process::{Command, Stdio};

/// Runs a command with a terminal of 60 columns; waits for each text, then types what is beside it. Prints all that came, and ends as the
/// command does.
const TERMINAL: &str = r#"
import fcntl, json, os, pty, select, struct, sys, termios, time

steps = json.loads(sys.argv[1])
child, terminal = pty.fork()
if child == 0:
    time.sleep(0.05)
    os.execv(sys.argv[2], sys.argv[2:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
seen, unread, end = "", "", time.time() + 50

def read():
    if time.time() > end or not select.select([terminal], [], [], 1)[0]:
        return time.time() <= end
    try:
        part = os.read(terminal, 65536).decode("utf-8", "replace")
    except OSError:
        return False
    globals()["seen"] += part
    globals()["unread"] += part
    return part != ""

for wanted, typed in steps:
    while wanted not in unread:
        if not read():
            sys.exit("waited for %r and saw %r" % (wanted, seen))
    unread = unread.split(wanted, 1)[1]
    os.write(terminal, typed.encode())
while read():
    pass
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
sys.stdout.write(seen.replace("\r\n", "\n"))
sys.exit(code if code >= 0 else 128 - code)
"#;

/// What a session at a terminal showed; it must end with this code.
fn session(folder: &Folder, arguments: &[&str], steps: &[(&str, &str)], code: i32) -> Option<String> {
    if !has("python3", "--version") {
        return None;
    }
    let steps = serde_json::to_string(steps).expect("texts are JSON");
    let mut python = Command::new("python3");
    python.args(["-c", TERMINAL, &steps, env!("CARGO_BIN_EXE_metroon")]).args(arguments);
    python.current_dir(folder.path()).env("XDG_STATE_HOME", folder.path().join("state"));
    python.env("TERM", "xterm-256color").env_remove("NO_COLOR");
    let ended = python.stdin(Stdio::null()).output().expect("python3 runs");
    let _ = std::io::stderr().write_all(&ended.stderr);
    let shown = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert_eq!(ended.status.code(), Some(code), "{shown}");
    Some(shown)
}

/// What comes once before each prompt, which is drawn anew at every key.
const PROMPT: &str = "\u{1b}[?2004h";

#[test]
fn the_prompt_answers_completes_and_remembers() {
    let folder = Folder::new("terminal_prompt");
    let steps = [
        (PROMPT, "(= (grandmother-of $x)\r"),
        ("grandmother", "$x)\r"),
        (PROMPT, "!(grandm\t Ann)\r"),
        ("[Ann]", ""),
        (PROMPT, "!(size-atom "),
        ("size-atom : (-> Expression Number)", "(a b c))\r"),
        ("[3]", ""),
        (PROMPT, ":undo\r"),
        (PROMPT, ":quit\r"),
    ];
    if session(&folder, &[], &steps, 0).is_none() {
        return;
    }
    // The next session knows what was entered: up, past `:quit` and `:undo`.
    let steps = [(PROMPT, "\u{1b}[A\u{1b}[A\u{1b}[A\r"), ("[3]", ""), (PROMPT, "\u{4}")];
    session(&folder, &["repl"], &steps, 0);
    let history = std::fs::read_to_string(folder.path().join("state/metroon/history")).expect("it is kept");
    assert!(history.contains(":quit"), "{history}");
}

#[test]
fn the_history_is_not_written_through_a_link() {
    let folder = Folder::new("terminal_history_link");
    folder.write("precious", "precious\n");
    folder.write("state/metroon/other", "");
    std::os::unix::fs::symlink("../../precious", folder.path().join("state/metroon/history")).expect("a link is made");
    let steps = [("is not kept", ""), (PROMPT, "!(+ 20 22)\r"), ("[42]", ""), (PROMPT, "\u{4}")];
    if session(&folder, &["repl"], &steps, 0).is_none() {
        return;
    }
    let precious = std::fs::read_to_string(folder.path().join("precious")).expect("it is there");
    assert_eq!(precious, "precious\n");
}

#[test]
fn ctrl_c_ends_the_evaluation_and_drops_a_line() {
    let folder = Folder::new("terminal_cancel");
    let steps = [
        (PROMPT, "(= (loop) (loop))\r"),
        (PROMPT, "!(println! started) !(loop)\r"),
        ("started\r\n[()]", "\u{3}"),
        ("was cancelled", ""),
        (PROMPT, "!(never finished\u{3}"),
        (PROMPT, "!(+ 20 22)\r"),
        ("[42]", ""),
        (PROMPT, "\u{4}"),
    ];
    session(&folder, &["repl"], &steps, 0);
}

#[test]
fn a_run_at_a_terminal_tells_of_likely_mistakes() {
    let folder = Folder::new("terminal_notes");
    folder.write("a.metta", "(= (double $x) (* 2 $x))\n!(duoble 2)\n");
    let Some(shown) = session(&folder, &["run", "a.metta"], &[("[(duoble 2)]", "")], 0) else { return };
    assert!(shown.contains("no rule for `duoble`; did you mean `double`?"), "{shown}");
    let shown = session(&folder, &["run", "--no-notes", "a.metta"], &[], 0).expect("it ran before");
    assert_eq!(shown, "[(duoble 2)]\n");
    let shown = session(&folder, &["a.metta"], &[], 0).expect("it ran before");
    assert!(shown.contains("did you mean"), "{shown}");
}
