//! The repository's rules, each a function from the tree of files to what it finds wrong.
//!
//! 1. [`tree`] reads every file that git would commit (tracked or new, not ignored).
//! 2. Each rule of [`RULES`] looks at that tree alone, so that its tests need no files.
//! 3. Findings are sorted by place and printed as `path:line: message`.
//!
//! The rules run in `cargo xtask tidy` and in this package's own tests.

mod decisions;
mod dependencies;
mod functions;
mod integration;
mod layers;
mod licences;
mod links;
mod modules;
mod paths;
mod root;
mod rust;
mod toml;
mod tree;
mod unsafety;

use std::fmt;

use crate::arguments::Arguments;
use crate::{Outcome, Task, repository};
use tree::Tree;

pub(crate) const TASK: Task = Task {
    name: "tidy",
    about: "Check the rules of the repository.",
    details: "Prints `path:line: message` for everything a rule objects to, and fails if there is anything.",
    word: None,
    flags: &[],
    run,
};

/// A place and what is wrong there. Line 0 stands for the file as a whole.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Finding { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line.max(1), self.message)
    }
}

type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: &[(&str, Rule)] = &[
    ("imports point down", layers::check),
    ("functions stay short", functions::check),
    ("integration tests are mounted", integration::check),
    ("the root shows the architecture", root::check),
    ("unsafe code is forbidden", unsafety::check),
    ("modules say what they are", modules::check),
    ("no path of one machine", paths::check),
    ("decisions are numbered", decisions::check),
    ("dependencies have reasons", dependencies::check),
    ("links lead somewhere", links::check),
    ("licences are there", licences::check),
];

fn run(_: &Arguments) -> Result<Outcome, String> {
    check()
}

/// Checks the repository this program belongs to and prints what the rules object to.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn check() -> Result<Outcome, String> {
    let tree = Tree::read(&repository::root())?;
    let found = findings(&tree);
    for finding in &found {
        println!("{finding}");
    }
    println!("tidy: {} rules, {} files, {} findings", RULES.len(), tree.len(), found.len());
    Ok(if found.is_empty() { Outcome::Good } else { Outcome::Bad })
}

/// Everything any rule objects to, by place.
fn findings(tree: &Tree) -> Vec<Finding> {
    let mut found: Vec<Finding> = RULES.iter().flat_map(|(_, rule)| rule(tree)).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_a_place_and_a_message() {
        assert_eq!(Finding::new("a/b.rs", 3, "too long").to_string(), "a/b.rs:3: too long");
        assert_eq!(Finding::new("a/b.rs", 0, "missing").to_string(), "a/b.rs:1: missing");
    }

    #[test]
    fn this_repository_is_tidy() {
        let tree = Tree::read(&repository::root()).unwrap();
        let found: Vec<String> = findings(&tree).iter().map(Finding::to_string).collect();
        assert!(found.is_empty(), "\n{}\n", found.join("\n"));
    }
}
