//! Inside a crate arrows point one way: files that import each other in a circle are on a list, which may only shrink.
//!
//! 1. [`names`] reads the modules of each crate, [`graph`] finds out which file defines what a file uses, and who reaches whom.
//! 2. The list, `xtask/circles.toml`, has each circle with its files. One that is not within a listed one is new or has grown.
//! 3. If a circle has become smaller or is gone, the list must say so: `cargo xtask tidy --accept` writes it anew. It
//!    refuses if a circle is new or has grown. If there is no list, it makes one of all circles there are.

mod graph;
mod names;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::Finding;
use super::tree::Tree;
use graph::Arrows;

pub(super) const LIST: &str = "xtask/circles.toml";
const HEAD: &str = "\
# Files that import each other in a circle. This list may only shrink: `cargo xtask tidy --accept` takes off what is gone,
# and `cargo xtask tidy --circles` shows the names that tie each circle.

";
/// How many arrows of a new circle a finding names.
const ARROWS_SHOWN_MAX: usize = 8;

/// Files of a package that reach each other, by their paths in the package's folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Circle {
    #[serde(rename = "crate")]
    package: String,
    files: Vec<String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default, rename = "circle")]
    circles: Vec<Circle>,
}

impl List {
    fn read(text: &str) -> Result<List, String> {
        toml::from_str(text).map_err(|error| format!("the list cannot be read: {}", error.message()))
    }

    fn text(&self) -> Result<String, String> {
        let circles = toml::to_string_pretty(self).map_err(|error| format!("cannot write {LIST}: {error}"))?;
        Ok(format!("{HEAD}{circles}"))
    }
}

impl Circle {
    fn is_within(&self, other: &Circle) -> bool {
        self.package == other.package && self.files.iter().all(|file| other.files.contains(file))
    }

    /// The arrows among its files that no listed circle has, as `from -> to (names)`.
    fn ties(&self, tree: &Tree, listed: &[Circle]) -> Vec<String> {
        let is_known = |one: &str, other: &str| {
            let has = |circle: &&Circle, file: &str| circle.files.iter().any(|known| known == file);
            listed
                .iter()
                .filter(|circle| circle.package == self.package)
                .any(|circle| has(&circle, one) && has(&circle, other))
        };
        let prefix = format!("{}/", self.package);
        let arrows = graph::arrows(tree, &self.package);
        let short = arrows
            .iter()
            .map(|((from, to), names)| (from.trim_start_matches(&prefix), to.trim_start_matches(&prefix), names));
        let own: BTreeSet<&str> = self.files.iter().map(String::as_str).collect();
        let ties = short.filter(|(from, to, _)| own.contains(from) && own.contains(to) && !is_known(from, to));
        ties.map(|(from, to, names)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            format!("{from} -> {to} ({})", names.join(", "))
        })
        .collect()
    }
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let circles = circles(tree);
    let Some(text) = tree.text(LIST) else {
        let missing = Finding::new(LIST, 0, "missing: `cargo xtask tidy --accept` makes it of the circles there are");
        return if circles.is_empty() { Vec::new() } else { vec![missing] };
    };
    let listed = match List::read(text) {
        Ok(list) => list.circles,
        Err(message) => return vec![Finding::new(LIST, 0, message)],
    };
    let grown = grown(tree, &circles, &listed);
    if !grown.is_empty() || circles == listed {
        return grown;
    }
    let stale = listed.iter().filter(|circle| !circles.contains(circle));
    let message = |circle: &Circle| {
        let Circle { package, files } = circle;
        let first = files.first().map_or("", String::as_str);
        format!(
            "the circle of {} files of {package} at {first} is smaller or gone: `cargo xtask tidy --accept` says so",
            files.len()
        )
    };
    let stale: Vec<Finding> = stale.map(|circle| Finding::new(LIST, 0, message(circle))).collect();
    if stale.is_empty() {
        return vec![Finding::new(LIST, 0, "not in order: `cargo xtask tidy --accept` writes it anew")];
    }
    stale
}

/// The circles of every package, in order.
fn circles(tree: &Tree) -> Vec<Circle> {
    let mut found: Vec<Circle> = tree
        .under("", "/Cargo.toml")
        .flat_map(|(manifest, _)| {
            let package = manifest.trim_end_matches("/Cargo.toml");
            circles_of(package, &graph::arrows(tree, package))
        })
        .collect();
    found.sort();
    found
}

fn circles_of(package: &str, arrows: &Arrows) -> Vec<Circle> {
    let prefix = format!("{package}/");
    let short = |file: String| file.trim_start_matches(&prefix).to_owned();
    let circles = graph::circles(arrows).into_iter();
    circles.map(|files| Circle { package: package.to_owned(), files: files.into_iter().map(short).collect() }).collect()
}

/// What is wrong with circles that the list does not have.
fn grown(tree: &Tree, circles: &[Circle], listed: &[Circle]) -> Vec<Finding> {
    let new = circles.iter().filter(|circle| !listed.iter().any(|known| circle.is_within(known)));
    new.map(|circle| {
        let ties = circle.ties(tree, listed);
        let shown: Vec<&str> = ties.iter().take(ARROWS_SHOWN_MAX).map(String::as_str).collect();
        let place = format!("{}/{}", circle.package, circle.files[0]);
        let message = format!(
            "this file is in a circle of {} files that is new or has grown, by {}{}: let arrows point one way",
            circle.files.len(),
            shown.join(", "),
            if ties.len() > shown.len() { ", …" } else { "" }
        );
        Finding::new(&place, 0, message)
    })
    .collect()
}

/// The text of the list as it is to be.
///
/// # Errors
/// A circle is new or has grown, or the list cannot be read.
pub(super) fn accepted(tree: &Tree) -> Result<String, String> {
    let circles = circles(tree);
    if let Some(text) = tree.text(LIST) {
        let listed = List::read(text).map_err(|message| format!("{LIST}: {message}"))?.circles;
        let grown = grown(tree, &circles, &listed);
        if !grown.is_empty() {
            let lines: Vec<String> = grown.iter().map(Finding::to_string).collect();
            return Err(format!(
                "{LIST} may only shrink.\n{}\nIf files were renamed or moved, remove {LIST} first: then it is made anew.",
                lines.join("\n")
            ));
        }
    }
    List { circles }.text()
}

/// Every circle with the arrows that tie it.
pub(super) fn shown(tree: &Tree) -> String {
    let mut text = String::new();
    for circle in circles(tree) {
        let ties = circle.ties(tree, &[]);
        let _ = writeln!(text, "{}: {} files, {} arrows", circle.package, circle.files.len(), ties.len());
        for tie in ties {
            let _ = writeln!(text, "  {tie}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: (&str, &str) = ("crates/a/Cargo.toml", "");
    const ROOT: (&str, &str) = ("crates/a/src/lib.rs", "mod b;\nmod c;\nmod d;\n");

    /// A crate in which `b` and `c` import each other, and `d` is what is given.
    fn tree(d: &str, list: Option<&str>) -> Tree {
        let mut files = vec![
            MANIFEST,
            ROOT,
            ("crates/a/src/b.rs", "use crate::c::C;\npub struct B;\n"),
            ("crates/a/src/c.rs", "use crate::b::B;\nuse crate::d::D;\npub struct C;\n"),
            ("crates/a/src/d.rs", d),
        ];
        files.extend(list.map(|list| (LIST, list)));
        Tree::of(&files)
    }

    const ALONE: &str = "pub struct D;\n";
    const TIED: &str = "use crate::b::B;\npub struct D;\n";

    #[test]
    fn a_list_of_what_is_there_is_good() {
        for d in [ALONE, TIED] {
            let list = accepted(&tree(d, None)).unwrap();
            assert!(check(&tree(d, Some(&list))).is_empty(), "{list}");
        }
        assert_eq!(check(&tree(ALONE, None)).len(), 1);
        let list = accepted(&tree(ALONE, None)).unwrap();
        assert!(
            list.ends_with("[[circle]]\ncrate = \"crates/a\"\nfiles = [\n    \"src/b.rs\",\n    \"src/c.rs\",\n]\n"),
            "{list}"
        );
    }

    #[test]
    fn a_circle_that_grows_is_found_and_not_accepted() {
        let list = accepted(&tree(ALONE, None)).unwrap();
        let grown = tree(TIED, Some(&list));
        let found: Vec<String> = check(&grown).iter().map(Finding::to_string).collect();
        assert_eq!(
            found,
            ["crates/a/src/b.rs:1: this file is in a circle of 3 files that is new or has grown, by \
              src/c.rs -> src/d.rs (D), src/d.rs -> src/b.rs (B): let arrows point one way"]
        );
        let refused = accepted(&grown).unwrap_err();
        assert!(refused.contains("may only shrink") && refused.contains("src/d.rs -> src/b.rs (B)"), "{refused}");
        assert!(!check(&tree(ALONE, Some(""))).is_empty(), "a new circle");
    }

    #[test]
    fn a_circle_that_shrinks_is_taken_off() {
        let list = accepted(&tree(TIED, None)).unwrap();
        let shrunk = tree(ALONE, Some(&list));
        assert!(check(&shrunk)[0].message.contains("smaller or gone: `cargo xtask tidy --accept`"));
        let list = accepted(&shrunk).unwrap();
        assert!(check(&tree(ALONE, Some(&list))).is_empty());
        assert!(check(&tree(ALONE, Some("[[circle]]\nfile = 1\n")))[0].message.contains("cannot be read"));
    }

    #[test]
    fn what_ties_a_circle_is_shown() {
        let text = shown(&tree(ALONE, None));
        assert_eq!(text, "crates/a: 2 files, 2 arrows\n  src/b.rs -> src/c.rs (C)\n  src/c.rs -> src/b.rs (B)\n");
    }
}
