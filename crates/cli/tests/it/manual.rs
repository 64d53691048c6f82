//! What shells and `man` read.

use crate::harness::{Folder, run};

#[test]
fn shells_complete_every_command_and_flag() {
    for shell in ["bash", "zsh", "fish"] {
        let ended = run(&["completions", shell]);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{shell}");
        for word in ["run", "repl", "check", "fmt", "lsp", "keep-going", "no-notes"] {
            assert!(ended.out.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(run(&["completions", "nushell-of-tomorrow"]).code, Some(2));
}

#[test]
fn there_is_a_page_for_each_command() {
    let page = run(&["man"]);
    assert!(page.out.contains(".TH metroon 1"), "{}", page.out);
    let folder = Folder::new("manual_pages");
    folder.good(&["man", "--out", "."]);
    let pages = std::fs::read_dir(folder.path()).expect("the folder is there").count();
    assert!(folder.path().join("metroon-run.1").exists() && pages > 10, "{pages}");
    let ended = folder.run(&["man", "--out", "nowhere"]);
    assert!(ended.code == Some(1) && ended.err.contains("name a folder that exists"), "{}", ended.err);
}
