//! Inside a crate arrows point one way, and no type is larger than a reader can know: what does otherwise is on a list, which may only shrink.
//!
//! 1. [`names`] reads the modules of each crate, [`graph`] finds out which file defines what a file uses, and who reaches whom.
//! 2. [`calls`] reads what methods call, and [`methods`] finds the file of each method that is called. Imports and calls together are the arrows of
//!    a second kind of circle: files that imports alone do not tie.
//! 3. The list, `xtask/circles.toml`, has each circle with its files, and each type with more than [`METHODS_MAX`] methods or with methods in more than
//!    [`FILES_MAX`] files. A circle that is not within a listed one is new or has grown.
//! 4. If a circle or a type has become smaller or is gone, the list must say so: `cargo xtask tidy --accept` writes it anew. It
//!    refuses if one is new or has grown. If there is no list, it makes one of all there are.

mod calls;
mod conditions;
mod graph;
mod methods;
mod names;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::Finding;
use super::tree::Tree;
use graph::Arrows;
use methods::Size;

pub(super) const LIST: &str = "xtask/circles.toml";
const HEAD: &str = "\
# Files that import each other in a circle, files that imports and calls of methods tie in one, and types with many methods. This list may only
# shrink: `cargo xtask tidy --accept` takes off what is gone, and `cargo xtask tidy --circles` shows the names that tie each circle.

";
/// How many arrows of a new circle a finding names.
const ARROWS_SHOWN_MAX: usize = 8;
/// A type has at most this many methods of its own,
const METHODS_MAX: usize = 80;
/// and in at most this many files.
const FILES_MAX: usize = 8;

/// Files of a package that reach each other, by their paths in the package's folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Circle {
    #[serde(rename = "crate")]
    package: String,
    files: Vec<String>,
}

/// A type with many methods, or with methods in many files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LargeType {
    #[serde(rename = "crate")]
    package: String,
    name: String,
    /// The file that defines it.
    file: String,
    methods: usize,
    /// How many files have methods of it.
    files: usize,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    /// By imports alone.
    #[serde(default, rename = "circle")]
    circles: Vec<Circle>,
    /// By imports and calls.
    #[serde(default, rename = "call_circle")]
    call_circles: Vec<Circle>,
    #[serde(default, rename = "type")]
    types: Vec<LargeType>,
}

/// What ties the files of a circle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ties {
    Imports,
    ImportsAndCalls,
}

impl Ties {
    const ALL: [Ties; 2] = [Ties::Imports, Ties::ImportsAndCalls];

    fn arrows(self, tree: &Tree, package: &str) -> Arrows {
        let mut arrows = graph::arrows(tree, package);
        if self == Ties::ImportsAndCalls {
            for (ends, names) in methods::methods(tree, package).arrows {
                arrows.entry(ends).or_default().extend(names);
            }
        }
        arrows
    }
}

impl List {
    /// What there is.
    fn of(tree: &Tree) -> List {
        let packages = || tree.under("", "/Cargo.toml").map(|(manifest, _)| manifest.trim_end_matches("/Cargo.toml"));
        let circles = |ties: Ties| {
            let mut found: Vec<Circle> =
                packages().flat_map(|package| circles_of(package, &ties.arrows(tree, package))).collect();
            found.sort();
            found
        };
        let by_imports = circles(Ties::Imports);
        let mut call_circles = circles(Ties::ImportsAndCalls);
        call_circles.retain(|circle| !by_imports.contains(circle));
        let types = packages().flat_map(|package| large_types(package, &methods::methods(tree, package)));
        let mut types: Vec<LargeType> = types.collect();
        types.sort();
        List { circles: by_imports, call_circles, types }
    }

    fn circles(&self, ties: Ties) -> &[Circle] {
        match ties {
            Ties::Imports => &self.circles,
            Ties::ImportsAndCalls => &self.call_circles,
        }
    }

    fn read(text: &str) -> Result<List, String> {
        toml::from_str(text).map_err(|error| format!("the list cannot be read: {}", error.message()))
    }

    fn text(&self) -> Result<String, String> {
        let circles = toml::to_string_pretty(self).map_err(|error| format!("cannot write {LIST}: {error}"))?;
        Ok(format!("{HEAD}{circles}"))
    }

    /// What is wrong with what this has and another list does not.
    fn grown_since(&self, listed: &List, tree: &Tree) -> Vec<Finding> {
        let mut found = Vec::new();
        for ties in Ties::ALL {
            let known = listed.circles(ties);
            let new = self.circles(ties).iter().filter(|circle| !known.iter().any(|known| circle.is_within(known)));
            found.extend(new.map(|circle| circle.finding(tree, ties, known)));
        }
        found.extend(self.types.iter().filter_map(|large| large.finding(&listed.types)));
        found
    }
}

impl Circle {
    fn is_within(&self, other: &Circle) -> bool {
        self.package == other.package && self.files.iter().all(|file| other.files.contains(file))
    }

    /// The arrows among its files that no listed circle has, as `from -> to (names)`.
    fn ties(&self, tree: &Tree, ties: Ties, listed: &[Circle]) -> Vec<String> {
        let is_known = |one: &str, other: &str| {
            let has = |circle: &&Circle, file: &str| circle.files.iter().any(|known| known == file);
            listed
                .iter()
                .filter(|circle| circle.package == self.package)
                .any(|circle| has(&circle, one) && has(&circle, other))
        };
        let prefix = format!("{}/", self.package);
        let arrows = ties.arrows(tree, &self.package);
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

    /// This circle is new or has grown since the listed ones.
    fn finding(&self, tree: &Tree, ties: Ties, listed: &[Circle]) -> Finding {
        let arrows = self.ties(tree, ties, listed);
        let shown: Vec<&str> = arrows.iter().take(ARROWS_SHOWN_MAX).map(String::as_str).collect();
        let place = format!("{}/{}", self.package, self.files[0]);
        let message = format!(
            "this file is in a circle of {} files that is new or has grown, by {}{}: let arrows point one way",
            self.files.len(),
            shown.join(", "),
            if arrows.len() > shown.len() { ", …" } else { "" }
        );
        Finding::new(&place, 0, message)
    }
}

impl LargeType {
    /// What is wrong if this type is not listed, or has grown since.
    fn finding(&self, listed: &[LargeType]) -> Option<Finding> {
        let LargeType { package, name, file, methods, files } = self;
        let is_same = |other: &&LargeType| (&other.package, &other.name, &other.file) == (package, name, file);
        let place = format!("{package}/{file}");
        let message = match listed.iter().find(is_same) {
            None => format!(
                "{name} has {methods} methods in {files} files, where {METHODS_MAX} in {FILES_MAX} are the most: give a part of its state, with what \
                 it does, a type of its own"
            ),
            Some(known) if *methods > known.methods || *files > known.files => format!(
                "{name} grew from {} methods in {} files to {methods} in {files}; the list may only shrink",
                known.methods, known.files
            ),
            Some(_) => return None,
        };
        Some(Finding::new(&place, 0, message))
    }
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let there = List::of(tree);
    let Some(text) = tree.text(LIST) else {
        let missing = Finding::new(LIST, 0, "missing: `cargo xtask tidy --accept` makes it of the circles there are");
        return if there == List::default() { Vec::new() } else { vec![missing] };
    };
    let listed = match List::read(text) {
        Ok(list) => list,
        Err(message) => return vec![Finding::new(LIST, 0, message)],
    };
    let grown = there.grown_since(&listed, tree);
    if !grown.is_empty() || there == listed {
        return grown;
    }
    let stale: Vec<Finding> = stale(&there, &listed).into_iter().map(|what| Finding::new(LIST, 0, what)).collect();
    if stale.is_empty() {
        return vec![Finding::new(LIST, 0, "not in order: `cargo xtask tidy --accept` writes it anew")];
    }
    stale
}

/// What the list has and there is no longer.
fn stale(there: &List, listed: &List) -> Vec<String> {
    let circles = Ties::ALL.into_iter().flat_map(|ties| {
        let gone = listed.circles(ties).iter().filter(move |circle| !there.circles(ties).contains(circle));
        gone.map(|Circle { package, files }| {
            let first = files.first().map_or("", String::as_str);
            format!("the circle of {} files of {package} at {first}", files.len())
        })
    });
    let types = listed.types.iter().filter(|large| !there.types.contains(large));
    let types = types.map(|LargeType { name, package, .. }| format!("the type {name} of {package}"));
    circles.chain(types).map(|what| format!("{what} is smaller or gone: `cargo xtask tidy --accept` says so")).collect()
}

fn circles_of(package: &str, arrows: &Arrows) -> Vec<Circle> {
    let prefix = format!("{package}/");
    let short = |file: String| file.trim_start_matches(&prefix).to_owned();
    let circles = graph::circles(arrows).into_iter();
    circles.map(|files| Circle { package: package.to_owned(), files: files.into_iter().map(short).collect() }).collect()
}

fn large_types(package: &str, found: &methods::Methods) -> Vec<LargeType> {
    let large = found.sizes.iter().filter(|(_, size)| size.methods > METHODS_MAX || size.files > FILES_MAX);
    large
        .map(|((name, file), &Size { methods, files })| LargeType {
            package: package.to_owned(),
            name: name.clone(),
            file: file.trim_start_matches(&format!("{package}/")).to_owned(),
            methods,
            files,
        })
        .collect()
}

/// The text of the list as it is to be.
///
/// # Errors
/// A circle or a type is new or has grown, or the list cannot be read.
pub(super) fn accepted(tree: &Tree) -> Result<String, String> {
    let there = List::of(tree);
    if let Some(text) = tree.text(LIST) {
        let listed = List::read(text).map_err(|message| format!("{LIST}: {message}"))?;
        let grown = there.grown_since(&listed, tree);
        if !grown.is_empty() {
            let lines: Vec<String> = grown.iter().map(Finding::to_string).collect();
            return Err(format!(
                "{LIST} may only shrink.\n{}\nIf files were renamed or moved, remove {LIST} first: then it is made anew.",
                lines.join("\n")
            ));
        }
    }
    there.text()
}

/// Every circle with the arrows that tie it, and every large type.
pub(super) fn shown(tree: &Tree) -> String {
    let there = List::of(tree);
    let mut text = String::new();
    for ties in Ties::ALL {
        for circle in there.circles(ties) {
            let arrows = circle.ties(tree, ties, &[]);
            let _ = writeln!(text, "{}: {} files, {} arrows", circle.package, circle.files.len(), arrows.len());
            for arrow in arrows {
                let _ = writeln!(text, "  {arrow}");
            }
        }
    }
    for LargeType { package, name, methods, files, .. } in &there.types {
        let _ = writeln!(text, "{package}: {name} has {methods} methods in {files} files");
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

    /// `Knot` has methods in two files, which call each other and import neither.
    fn knot(calls_back: &str, more: usize, list: Option<&str>) -> Tree {
        let more: String = (0..more).map(|number| format!("fn m{number}(&self) {{}} ")).collect();
        let b = format!("use super::Knot;\nimpl Knot {{ pub fn one(&self) {{ self.two() }} {more} }}\n");
        let c = format!("use super::Knot;\nimpl Knot {{ pub fn two(&self) {{ {calls_back} }} }}\n");
        let mut files = vec![
            MANIFEST,
            ("crates/a/src/lib.rs", "mod b;\nmod c;\npub struct Knot;\n"),
            ("crates/a/src/b.rs", &b),
            ("crates/a/src/c.rs", &c),
        ];
        files.extend(list.map(|list| (LIST, list)));
        Tree::of(&files)
    }

    #[test]
    fn calls_of_methods_tie_files_that_do_not_import_each_other() {
        assert_eq!(check(&knot("", 0, None)), []);
        let tied = knot("let knot = self; knot.one()", 0, Some(""));
        let found = check(&tied)[0].to_string();
        assert!(found.contains("a circle of 2 files") && found.contains("src/b.rs -> src/c.rs (two())"), "{found}");
        let list = accepted(&knot("self.one()", 0, None)).unwrap();
        assert!(list.contains("[[call_circle]]"), "{list}");
        assert_eq!(check(&knot("self.one()", 0, Some(&list))), []);
        assert!(check(&knot("", 0, Some(&list)))[0].message.contains("smaller or gone"));
    }

    #[test]
    fn a_type_of_many_methods_is_listed_and_may_only_shrink() {
        assert_eq!(check(&knot("", METHODS_MAX - 2, Some(""))), []);
        let found = check(&knot("", METHODS_MAX - 1, Some("")))[0].to_string();
        assert!(found.starts_with("crates/a/src/lib.rs:1: Knot has 81 methods in 2 files"), "{found}");
        let list = accepted(&knot("", 90, None)).unwrap();
        assert_eq!(check(&knot("", 90, Some(&list))), []);
        assert!(check(&knot("", 91, Some(&list)))[0].message.contains("grew from 92 methods in 2 files to 93"));
        assert!(check(&knot("", 89, Some(&list)))[0].message.contains("the type Knot of crates/a is smaller"));
        assert!(accepted(&knot("", 91, Some(&list))).unwrap_err().contains("may only shrink"));
    }

    #[test]
    fn what_ties_a_circle_is_shown() {
        let text = shown(&tree(ALONE, None));
        assert_eq!(text, "crates/a: 2 files, 2 arrows\n  src/b.rs -> src/c.rs (C)\n  src/c.rs -> src/b.rs (B)\n");
    }
}
