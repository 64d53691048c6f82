//! The repository's rules, each a function from the tree of files to what it finds wrong.
//!
//! 1. [`tree`] reads every file that git would commit (tracked or new, not ignored).
//! 2. Each rule of [`RULES`] looks at that tree alone, so that its tests need no files.
//! 3. Findings are sorted by place and printed as `path:line: message`.
//!
//! The rules run in `cargo xtask tidy` and in this package's own tests.

mod budgets;
mod circles;
mod decisions;
mod dependencies;
mod english;
mod forwarding;
mod front;
mod functions;
mod integration;
mod layers;
mod licences;
mod links;
mod locks;
mod manifest;
mod modules;
mod paths;
mod root;
mod rust;
mod tree;
mod unsafety;

use std::fmt;

use crate::{Outcome, repository};
use tree::Tree;

/// Check the rules of the repository.
#[derive(Debug, clap::Args)]
#[command(after_help = "Prints `path:line: message` for everything a rule objects to, and fails if there is anything.")]
pub(crate) struct Flags {
    /// Write xtask/circles.toml, xtask/loops-without-budget.txt and xtask/plain-english.txt anew; they may only shrink, but hold all if
    /// there is none
    #[arg(long)]
    accept: bool,
    /// Show every circle with the names that tie it, and check nothing
    #[arg(long)]
    circles: bool,
    /// Refuse figures in docs/benchmarks.md that are older than the code they measure, as a release does
    #[arg(long)]
    figures: bool,
}

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
    ("Rust can be read", unreadable),
    ("imports point down", layers::check),
    ("arrows inside a crate point one way", circles::check),
    ("functions stay short", functions::check),
    ("loops over data look at limits", budgets::check),
    ("comments say what they mean", english::check),
    ("front doors are small", front::check),
    ("methods do something", forwarding::check),
    ("integration tests are mounted", integration::check),
    ("the root shows the architecture", root::check),
    ("unsafe code is forbidden", unsafety::check),
    ("documents name what is unsafe", unsafety::check_documents),
    ("modules say what they are", modules::check),
    ("no path of one machine", paths::check),
    ("decisions are numbered", decisions::check),
    ("dependencies have reasons", dependencies::check),
    ("links lead somewhere", links::check),
    ("licences are there", licences::check),
    ("locks name what is needed", locks::check),
];

pub(crate) fn run(flags: &Flags) -> Result<Outcome, String> {
    let root = repository::root();
    if flags.circles {
        print!("{}", circles::shown(&Tree::read(&root)?));
        return Ok(Outcome::Good);
    }
    if flags.accept {
        let tree = Tree::read(&root)?;
        let lists = [
            (circles::LIST, circles::accepted(&tree)?),
            (budgets::LIST, budgets::accepted(&tree)?),
            (english::LIST, english::accepted(&tree)?),
        ];
        for (path, list) in lists {
            std::fs::write(root.join(path), list).map_err(|error| format!("cannot write {path}: {error}"))?;
        }
    }
    let checked = check()?;
    if !flags.figures {
        return Ok(checked);
    }
    let outdated = crate::bench::outdated()?;
    for suite in &outdated {
        println!(
            "docs/benchmarks/{suite}.md:1: the code has changed since this run: `cargo xtask bench {suite}` makes a new one"
        );
    }
    Ok(if outdated.is_empty() { checked } else { Outcome::Bad })
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

/// A file that syn cannot read would pass every rule about code.
fn unreadable(tree: &Tree) -> Vec<Finding> {
    let errors = tree.rust().filter_map(|(path, source)| Some((path, source.error.as_ref()?)));
    errors.map(|(path, error)| Finding::new(path, error.line, format!("this is not Rust: {}", error.message))).collect()
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
