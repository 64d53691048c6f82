//! `metroon fmt`: files written anew, checked, and left as they are.

use crate::harness::{Folder, run, run_with_input};

const MESSY: &str = "(=  (f $x)\n (g   $x) )\n! (f 1)\n";
const TIDY: &str = "(= (f $x)\n   (g $x))\n!(f 1)\n";

#[test]
fn a_file_is_written_anew_once() {
    let folder = Folder::new("fmt_writes");
    folder.write("a.metta", MESSY);
    let path = folder.path().join("a.metta");
    assert_eq!(folder.run(&["fmt", "a.metta"]).code, Some(0));
    assert_eq!(std::fs::read_to_string(&path).expect("the file is there"), TIDY);
    let changed = std::fs::metadata(&path).and_then(|about| about.modified()).expect("it has a time");
    assert_eq!(folder.good(&["fmt", "a.metta"]), "");
    assert_eq!(std::fs::metadata(&path).and_then(|about| about.modified()).expect("it has a time"), changed);
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder is there").count(), 1, "nothing else is left");
}

#[test]
fn with_check_nothing_is_written() {
    let folder = Folder::new("fmt_checks");
    folder.write("a.metta", MESSY);
    folder.write("b.metta", TIDY);
    let ended = folder.run(&["fmt", "--check", "a.metta", "b.metta"]);
    assert_eq!((ended.out.as_str(), ended.code), ("a.metta\n", Some(1)));
    assert_eq!(ended.err, "1 file would be laid out otherwise; `metroon fmt FILE` does it\n");
    assert_eq!(std::fs::read_to_string(folder.path().join("a.metta")).expect("the file is there"), MESSY);
    assert_eq!(folder.run(&["fmt", "--check", "b.metta"]).code, Some(0));
}

#[test]
fn the_standard_input_is_laid_out_on_the_standard_output() {
    let ended = run_with_input(&["fmt", "-"], MESSY.as_bytes());
    assert_eq!((ended.out.as_str(), ended.code), (TIDY, Some(0)));
    assert_eq!(run_with_input(&["fmt", "-"], b"").out, "");
}

#[test]
fn what_does_not_parse_is_left_as_it_is() {
    let folder = Folder::new("fmt_refuses");
    let text = "(= (f $x\n   1\n";
    folder.write("a.metta", text);
    folder.write("b.metta", MESSY);
    let ended = folder.run(&["fmt", "a.metta", "b.metta"]);
    assert_eq!(ended.code, Some(3));
    assert!(ended.err.starts_with("error[unclosed-expression]"), "{}", ended.err);
    assert_eq!(std::fs::read_to_string(folder.path().join("a.metta")).expect("the file is there"), text);
    assert_eq!(std::fs::read_to_string(folder.path().join("b.metta")).expect("the file is there"), TIDY);
    std::fs::write(folder.path().join("c.metta"), b"(a \xff)\n").expect("a file can be written");
    assert_eq!(folder.run(&["fmt", "c.metta"]).code, Some(3));
    assert_eq!(run(&["fmt", "/no/such/file"]).code, Some(2));
}
