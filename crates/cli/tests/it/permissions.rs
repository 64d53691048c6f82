//! What a program may reach: `--deny-all`, `--allow`, and that a refusal names the way out and replays the same.

use crate::harness::{Ended, Folder};
use std::fs;
use std::os::unix::fs::symlink;

/// A folder with a stranger's program in `app`, a secret beside it and a folder `data`.
fn folder(test: &str, program: &str) -> Folder {
    let folder = Folder::new(test);
    folder.write("app/p.metta", &format!("!(import! &self fileio)\n!(import! &self system)\n{program}\n"));
    folder.write("secret.txt", "precious");
    folder.write("data/in.txt", "public");
    folder
}

fn run(folder: &Folder, flags: &[&str]) -> Ended {
    folder.run(&[&["run", "app/p.metta"], flags].concat())
}

/// The program ends in an error that says this.
fn refused(folder: &Folder, flags: &[&str], asked: &str, permission: &str) {
    let ended = run(folder, flags);
    let expected = format!("{asked} is not permitted to this program; --allow {permission} permits it");
    assert_eq!(ended.code, Some(1), "{flags:?}: {}{}", ended.out, ended.err);
    assert!(ended.out.contains("(Error ") && ended.out.contains(&expected), "{flags:?}: {}{}", ended.out, ended.err);
}

/// The program ends well with this answer.
fn answers(folder: &Folder, flags: &[&str], answer: &str) {
    let ended = run(folder, flags);
    assert_eq!(ended.code, Some(0), "{flags:?}: {}{}", ended.out, ended.err);
    assert_eq!(ended.out.lines().last(), Some(answer), "{flags:?}");
}

#[test]
fn reading_a_file_is_refused_and_permitted() {
    let text = |path: &str| format!("!(let $f (file-open! \"{path}\" \"r\") (file-read-to-string! $f))");
    let folder = folder("permissions-read", &text("secret.txt"));
    answers(&folder, &[], "[\"precious\"]");
    refused(&folder, &["--deny-all"], "reading secret.txt", "read=secret.txt");
    refused(&folder, &["--deny-all", "--allow", "read=data"], "reading secret.txt", "read=secret.txt");
    refused(&folder, &["--deny-all", "--allow", "write=."], "reading secret.txt", "read=secret.txt");
    for allow in ["read=secret.txt", "read=.", "write=data,read=app/../secret.txt", "read=/"] {
        answers(&folder, &["--deny-all", "--allow", allow], "[\"precious\"]");
    }
    // What is beside a program may be imported, and nothing else be done with it.
    folder.write("app/p.metta", &format!("!(import! &self fileio)\n{}", text("app/p.metta")));
    refused(&folder, &["--deny-all"], "reading app/p.metta", "read=app/p.metta");
    // Whether there is such a file is not said.
    folder.write("app/p.metta", &format!("!(import! &self fileio)\n{}", text("/no/such/file")));
    refused(&folder, &["--deny-all"], "reading /no/such/file", "read=/no/such/file");
}

#[test]
fn links_and_detours_lead_out_of_no_permitted_folder() {
    let folder = folder("permissions-links", "");
    let data = folder.path().join("data");
    symlink("../secret.txt", data.join("link")).expect("a link is made");
    symlink("..", data.join("up")).expect("a link is made");
    symlink("../new.txt", data.join("dangling")).expect("a link is made");
    symlink("in.txt", data.join("inside")).expect("a link is made");
    symlink("loop", data.join("loop")).expect("a link is made");
    let program = |path: &str, options: &str| {
        let form = format!("!(import! &self fileio)\n!(let $f (file-open! \"{path}\" \"{options}\") opened)");
        folder.write("app/p.metta", &form);
    };
    let flags = ["--deny-all", "--allow", "read=data,write=data"];
    for path in ["data/link", "data/../secret.txt", "data/up/secret.txt", "data/no/../../secret.txt", "data/loop"] {
        program(path, "r");
        refused(&folder, &flags, &format!("reading {path}"), &format!("read={path}"));
    }
    for path in ["data/dangling", "data/up/new.txt", "new.txt", "data/../data2/new.txt"] {
        program(path, "wc");
        refused(&folder, &flags, &format!("writing {path}"), &format!("write={path}"));
    }
    assert!(!folder.path().join("new.txt").exists());
    program("data/in.txt", "rw");
    refused(&folder, &["--deny-all"], "reading and writing data/in.txt", "read=data/in.txt,write=data/in.txt");
    for (path, options) in [("data/inside", "r"), ("data/up/data/in.txt", "r"), ("data/new.txt", "wc")] {
        program(path, options);
        answers(&folder, &flags, "[opened]");
    }
    assert!(data.join("new.txt").exists());
}

#[test]
fn variables_are_refused_and_permitted() {
    let folder = folder("permissions-env", "!(environment-variable \"SECRET_OF_MINE\")");
    let run = |flags: &[&str]| {
        let mut command = folder.command(&[&["run", "app/p.metta"], flags].concat());
        command.env("SECRET_OF_MINE", "precious");
        crate::harness::wait(command.spawn().expect("the binary runs"))
    };
    assert!(run(&[]).out.contains("precious"));
    for flags in [&["--deny-all"][..], &["--deny-all", "--allow", "env=OTHER,read=/"]] {
        let ended = run(flags);
        assert_eq!(ended.code, Some(1));
        assert!(!ended.out.contains("precious"), "{}", ended.out);
        let expected = "reading the environment variable SECRET_OF_MINE is not permitted to this program; --allow \
                        env=SECRET_OF_MINE permits it";
        assert!(ended.out.contains(expected), "{}", ended.out);
    }
    assert!(run(&["--deny-all", "--allow", "env=SECRET_OF_MINE"]).out.contains("precious"));
}

#[test]
fn a_program_may_import_what_lies_beside_it() {
    let folder = folder("permissions-import", "");
    folder.write("app/lib/near.metta", "(near)");
    folder.write("far.metta", "(far)");
    folder.write("app/cities.csv", "name,size\nRome,3\n");
    symlink("../far.metta", folder.path().join("app/linked.metta")).expect("a link is made");
    let program = |text: &str| folder.write("app/p.metta", text);
    program("!(import! &self lib:near)\n!(import! &self cities.csv)\n!(match &self (near) found)");
    answers(&folder, &["--deny-all"], "[found]");
    for (form, path) in [("(import! &self far)", "far.metta"), ("(register-module! ../far.metta)", "app/../far.metta")]
    {
        program(&format!("!{form}\n!(match &self (far) found)"));
        refused(&folder, &["--deny-all"], &format!("reading {path}"), &format!("read={path}"));
    }
    program("!(import! &self linked)");
    refused(&folder, &["--deny-all"], "reading app/linked.metta", "read=app/linked.metta");
    program("!(import! &self far)\n!(match &self (far) found)");
    answers(&folder, &["--deny-all", "--allow", "read=."], "[found]");
    answers(&folder, &[], "[found]");
    // A text of the command line has no folder of its own.
    let ended = folder.run(&["run", "--deny-all", "-e", "!(import! &self far)"]);
    assert!(ended.out.contains("--allow read=far.metta"), "{}", ended.out);
}

#[test]
fn a_refusal_is_recorded_and_replays_the_same() {
    let program = "!(file-open! \"victim.txt\" \"wc\")";
    let folder = folder("permissions-replay", program);
    folder.write(
        "app/q.metta",
        "!(import! &self fileio)\n!(case (file-open! \"secret.txt\" \"r\") (((Error $a $b) no)))",
    );
    let recorded = folder.run(&["run", "--deny-all", "--record", "t.tape", "app/q.metta", "app/p.metta"]);
    assert_eq!(recorded.code, Some(1), "{}", recorded.err);
    assert!(recorded.out.contains("--allow write=victim.txt"), "{}", recorded.out);
    let replayed = folder.run(&["replay", "t.tape"]);
    assert_eq!((replayed.code, &replayed.out), (Some(0), &recorded.out), "{}", replayed.err);
    assert!(replayed.err.ends_with(": all the same\n"), "{}", replayed.err);
    // A replay writes nothing, even where the recorded run did.
    let recorded = folder.run(&["run", "--record", "w.tape", "app/p.metta"]);
    assert_eq!(recorded.code, Some(0), "{}", recorded.out);
    fs::remove_file(folder.path().join("victim.txt")).expect("the program made it");
    let replayed = folder.run(&["replay", "w.tape"]);
    assert_eq!((replayed.code, &replayed.out), (Some(0), &recorded.out), "{}", replayed.err);
    assert!(!folder.path().join("victim.txt").exists());
}

#[test]
fn a_base_is_kept_whatever_its_program_may_reach() {
    let folder = folder("permissions-kb", "(kept)\n!(file-open! \"secret.txt\" \"r\")");
    for _ in 0..2 {
        let ended = run(&folder, &["--deny-all", "--kb", "kb"]);
        assert_eq!(ended.code, Some(1), "{}", ended.err);
        assert!(ended.out.contains("--allow read=secret.txt"), "{}{}", ended.out, ended.err);
    }
    assert_eq!(folder.atoms(), ["(kept)"]);
}

#[test]
fn what_would_permit_nothing_is_a_wrong_use() {
    let folder = folder("permissions-usage", "!(+ 1 1)");
    for (flags, word) in [
        (&["--allow", "read=data"][..], "add --deny-all"),
        (&["--deny-all", "--allow", "data"], "expected read=PATH"),
        (&["--deny-all", "--allow", "read="], "expected read=PATH"),
        (&["--deny-all", "--allow", "write"], "expected read=PATH"),
        (&["--deny-all", "--allow", "net=example.org"], "no function of the language reaches the network"),
        (&["--deny-all", "--allow", "env=HOME,net=example.org"], "nothing can permit net=example.org"),
        (&["--allow", "net=example.org"], "no function of the language reaches the network"),
    ] {
        let ended = run(&folder, flags);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{flags:?}: {}", ended.err);
        assert!(ended.err.contains(word), "{flags:?}: {}", ended.err);
    }
}
