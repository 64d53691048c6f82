//! Packages: what `metroon.toml` says, what is wrong in it, and what a package may do.

use crate::harness::Folder;

const MAIN: &str = "!(import! &self parts)\n!(part one)\n";
const PARTS: &str = "(= (part $x) (found $x))\n";

/// A package with this manifest, an entry and a module.
fn package(test: &str, manifest: &str) -> Folder {
    let folder = Folder::new(test);
    folder.write("metroon.toml", manifest);
    folder.write("main.metta", MAIN);
    folder.write("lib/parts.metta", PARTS);
    folder.write("lib/module.metta", "(= (part $x) (whole $x))\n");
    folder
}

#[test]
fn a_listed_name_means_its_file_or_the_module_of_its_folder() {
    let folder = package("package-listed", "entry = \"main.metta\"\n[modules]\nparts = \"lib/parts.metta\"\n");
    assert_eq!(folder.good(&["run", "."]), "[()]\n[(found one)]\n");
    folder.write("metroon.toml", "entry = \"main.metta\"\nmodules.parts = \"lib/\"\n");
    assert_eq!(folder.good(&["run", "."]), "[()]\n[(whole one)]\n");
    // What is listed comes before what lies beside the program, and its parts lie below it.
    folder.write("parts.metta", "(= (part $x) (beside $x))");
    assert_eq!(folder.good(&["run", "."]), "[()]\n[(whole one)]\n");
    assert_eq!(folder.good(&["run", "main.metta"]), "[()]\n[(beside one)]\n");
    folder.write("main.metta", "!(import! &self parts:parts)\n!(part one)\n");
    assert_eq!(folder.good(&["run", "."]), "[()]\n[(found one)]\n");
}

#[test]
fn folders_are_looked_through_last_and_in_order() {
    let folder = package("package-search", "entry = \"main.metta\"\nsearch = [\"none\", \"lib\", \"other\"]\n");
    folder.write("other/parts.metta", "(= (part $x) (other $x))");
    assert_eq!(folder.good(&["run", "."]), "[()]\n[(found one)]\n");
    folder.write("parts.metta", "(= (part $x) (beside $x))");
    assert_eq!(folder.good(&["run", "."]), "[()]\n[(beside one)]\n");
    // A module that imports is looked for from there too, and one file is one module by whatever name.
    folder.write(
        "main.metta",
        "!(import! &self lib:user)\n!(import! &self parts)\n!(use)\n!(match &self (= (part $x) $y) $y)\n",
    );
    folder.write("lib/user.metta", "!(import! &self more)\n(= (use) (part one))\n");
    folder.write("other/more.metta", "(= (part $x) (more $x))");
    assert_eq!(folder.good(&["run", "."]).lines().nth(2), Some("[(more one), (beside one)]"));
}

#[test]
fn what_is_wrong_in_the_file_is_shown_with_its_place() {
    let folder = package("package-wrong", "");
    for (manifest, expected) in [
        ("entyr = \"main.metta\"\n", ":1:1"),
        ("entry = 3\n", ":1:9"),
        ("entry = \"main.metta\n", ":1:"),
        ("entry = \"\"\n", "metroon.toml:1:9"),
        ("[modules]\n\"a:b\" = \"x\"\n", "cannot be the name of a module: write one word without a colon"),
        ("[modules]\nself = \"x\"\n", "metroon.toml:2:1"),
        ("name = \"p\"\n", "add a line such as entry = \"main.metta\""),
    ] {
        folder.write("metroon.toml", manifest);
        let ended = folder.run(&["run", "."]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(3), ""), "{manifest}: {}", ended.err);
        assert!(ended.err.contains(expected), "{manifest}: {}", ended.err);
        let ended = folder.run(&["check", "."]);
        assert!(manifest.starts_with("name") || ended.code == Some(3), "{manifest}: {}", ended.err);
    }
    folder.write("metroon.toml", "entry = \"gone.metta\"\n");
    let ended = folder.run(&["run", "."]);
    assert!(ended.code == Some(2) && ended.err.contains("gone.metta"), "{}", ended.err);
    let ended = folder.run(&["run", "lib"]);
    assert!(ended.code == Some(2) && ended.err.contains("no metroon.toml in it"), "{}", ended.err);
}

#[test]
fn without_an_entry_other_files_run_with_its_modules() {
    let folder = package("package-no-entry", "modules.parts = \"lib/parts.metta\"\n");
    assert_eq!(folder.good(&["run", ".", "main.metta"]), "[()]\n[(found one)]\n");
    assert_eq!(folder.good(&["run", ".", "-e", "!(import! &self parts) !(part two)"]), "[()]\n[(found two)]\n");
}

#[test]
fn a_tape_needs_no_package_and_a_base_follows_its_modules() {
    let folder = package("package-kept", "entry = \"main.metta\"\nmodules.parts = \"lib/parts.metta\"\n");
    folder.good(&["run", "--record", "p.tape", "."]);
    assert_eq!(folder.good(&["run", "--kb", "kb", "."]), "[()]\n[(found one)]\n");
    folder.write("lib/parts.metta", "(= (part $x) (edited $x))\n");
    assert_eq!(folder.good(&["run", "--kb", "kb", "."]), "[()]\n[(edited one)]\n");
    std::fs::remove_file(folder.path().join("metroon.toml")).expect("it is there");
    std::fs::remove_dir_all(folder.path().join("lib")).expect("it is there");
    assert!(folder.good(&["replay", "p.tape"]).starts_with("[()]\n[(found one)]\n"));
    assert_eq!(folder.good(&["run", "--kb", "kb", "main.metta"]), "[()]\n[(edited one)]\n");
}

#[test]
fn only_its_user_gives_a_package_what_it_asks_for() {
    let manifest = "entry = \"main.metta\"\n[permissions]\nread = [\"notes.txt\"]\nenv = [\"PACKAGE_TEST\"]\n";
    let folder = package("package-permissions", manifest);
    let program =
        "!(import! &self fileio)\n!(import! &self system)\n!(file-read-to-string! (file-open! \"notes.txt\" \"r\"))\n";
    folder.write("main.metta", program);
    folder.write("notes.txt", "pomegranate");
    let refused = folder.run(&["run", "--deny-all", "."]);
    assert_eq!(refused.code, Some(1), "{}", refused.err);
    assert!(refused.out.contains("--allow read=notes.txt"), "{}", refused.out);
    assert!(
        refused.err.contains("asks for read=notes.txt,env=PACKAGE_TEST; --allow package gives it"),
        "{}",
        refused.err
    );
    let given = folder.run(&["run", "--deny-all", "--allow", "package", "."]);
    assert!(given.code == Some(0) && given.out.contains("pomegranate") && given.err.is_empty(), "{}", given.err);
    let none = folder.run(&["run", "--deny-all", "--allow", "package", "main.metta"]);
    assert!(none.code == Some(2) && none.err.contains("there is none among the programs"), "{}", none.err);
}

#[test]
fn each_module_of_a_package_is_checked() {
    let folder = package("package-checked", "entry = \"main.metta\"\nmodules.parts = \"lib/parts.metta\"\n");
    assert_eq!(folder.run(&["check", "."]).code, Some(0));
    folder.write("lib/parts.metta", "(= (part $x) (* $x $factor))\n");
    let ended = folder.run(&["check", "."]);
    assert!(ended.code == Some(1) && ended.err.contains("lib/parts.metta:1:"), "{}", ended.err);
}
