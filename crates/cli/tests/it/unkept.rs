//! What a word means that a knowledge base cannot keep is said when it is bound, and when it is used later.

use crate::harness::Folder;

const BIND: &str = "!(import! &self store) !(bind! &s (store-open! \"s\"))";
const NOTE: &str = "note: -e:1: the knowledge base does not keep what &s means: Store-1 lasts as long as this run. A later run that uses &s makes it \
                    anew and binds it\n";

#[test]
fn a_word_for_an_open_store_is_told_once_when_it_is_bound() {
    let folder = Folder::new("unkept-bound");
    let bind = ["run", "--kb", "kb", "-e", BIND, "-e", "!(store-put! &s a 1)"];
    assert_eq!(folder.run(&bind).err, NOTE);
    let again = folder.run(&bind);
    assert_eq!((again.code, again.out.as_str(), again.err.as_str()), (Some(0), "[()]\n[()]\n[()]\n", ""));
    // Without a knowledge base nothing is expected of it.
    assert_eq!(folder.run(&["run", "-e", BIND]).err, "");
}

#[test]
fn a_form_that_uses_the_word_in_a_later_run_is_told_what_it_was() {
    let folder = Folder::new("unkept-used");
    folder.good(&["run", "--kb", "kb", "-e", BIND]);
    folder.write("later.metta", "!(import! &self store)\n!(+ 1 2)\n!(store-get! &s a)\n");
    let later = folder.run(&["run", "--kb", "kb", "later.metta"]);
    let expected = "warning: later.metta:3: &s means nothing here: an earlier run bound it to a value of type Store, which ended with that run; make it \
                    anew and (bind! &s …) before this form\n";
    assert!(later.err.starts_with(expected), "{}", later.err);
    assert_eq!(later.code, Some(1), "{}", later.out);
    assert!(later.out.contains("store-get! expects a store, which store-open! gives"), "{}", later.out);
    // A run that only reads is told, too; nothing in the base changes.
    let epoch = folder.good(&["kb", "log", "kb"]).lines().count();
    let read = folder.run(&["run", "--kb", "kb", "--read-only", "-e", "!(f &s &s)", "-e", "!(g &s)"]);
    assert_eq!(read.err.matches("means nothing here").count(), 1, "{}", read.err);
    assert_eq!(folder.good(&["kb", "log", "kb"]).lines().count(), epoch);
    assert!(folder.good(&["kb", "verify", "kb"]).contains("sound"));
}

#[test]
fn a_word_that_is_bound_to_something_that_is_kept_is_forgotten_to_be_lost() {
    let folder = Folder::new("unkept-kept");
    folder.good(&[
        "run",
        "--kb",
        "kb",
        "-e",
        BIND,
        "-e",
        "!(import! &self fileio) !(bind! &f (file-open! \"letter\" \"wc\"))",
    ]);
    folder.good(&["run", "--kb", "kb", "-e", "!(bind! &s (new-space))"]);
    let later = folder.run(&["run", "--kb", "kb", "-e", "!(add-atom &s (a))", "-e", "!(f &f)"]);
    assert!(!later.err.contains("&s means"), "{}", later.err);
    assert!(
        later.err.contains("&f means nothing here: an earlier run bound it to a value of type FileHandle"),
        "{}",
        later.err
    );
    let refused = folder.run(&["run", "--kb", "kb", "-e", "!(pragma! unkept-words ())"]);
    assert!(refused.out.contains("unkept-words is no setting of pragma!"), "{}", refused.out);
}

#[test]
fn a_recording_of_a_run_that_is_told_is_replayed() {
    let folder = Folder::new("unkept-taped");
    folder.good(&["run", "--kb", "kb", "-e", BIND]);
    folder.good(&[
        "run",
        "--kb",
        "kb",
        "--record",
        "one.tape",
        "-e",
        "!(+ 1 1)",
        "-e",
        BIND,
        "-e",
        "!(store-put! &s a 1)",
    ]);
    folder.good(&["replay", "one.tape"]);
    folder.good(&["run", "--kb", "new", "--record", "two.tape", "-e", BIND]);
    folder.good(&["replay", "two.tape"]);
}
