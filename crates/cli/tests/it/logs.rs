//! `METROON_LOG`: what the program tells of its work.

use crate::harness::{Folder, wait};

#[test]
fn the_work_of_a_base_is_told_by_level() {
    let folder = Folder::new("logs-by-level");
    let run = |level: &str, arguments: &[&str]| {
        let mut command = folder.command(arguments);
        wait(command.env("METROON_LOG", level).spawn().expect("the binary runs"))
    };
    let told = run("debug", &["run", "--kb", "kb", "-e", "(road Oslo Bergen) (road Oslo Hamar) !(+ 1 2)"]);
    assert_eq!((told.code, told.out.as_str()), (Some(0), "[3]\n"), "{}", told.err);
    // The directory is told as a whole path.
    let place = format!("\"{}/kb\"", folder.path().display());
    assert_eq!(
        told.err.replace(&place, "\"kb\""),
        " INFO metroon::open: opened directory=\"kb\" epoch=0 atoms=0\n\
         DEBUG metroon::commit: commit epoch=1 added=2 removed=0 states=0\n \
         INFO metroon::open: closed directory=\"kb\" epoch=1\n"
    );
    let told = run("info", &["kb", "compact", "kb"]);
    assert!(told.err.contains(" INFO metroon::checkpoint: checkpoint written epoch=1 bytes="), "{}", told.err);
    for quiet in ["", "off", "error"] {
        assert_eq!(run(quiet, &["run", "--kb", "kb", "-e", "!(+ 1 2)"]).err, "", "{quiet:?}");
    }
    let wrong = run("loud", &["run", "-e", "!(+ 1 2)"]);
    assert_eq!((wrong.code, wrong.out.as_str()), (Some(2), ""));
    assert_eq!(
        wrong.err,
        "error: the variable METROON_LOG is `loud`\nhelp: it may be off, error, warn, info, debug or trace\n"
    );
}
