//! The arrows between the files of a crate, and its circles.
//!
//! 1. A private import, and a path in code, is an arrow to the file that defines what it names. A module that hands a name on
//!    (`pub use`) is passed through; if what it names cannot be found, the arrow goes to the file of the last module that was.
//! 2. An import that hands on, and one of a module, is no arrow itself: the paths that go through it are.
//! 3. A module may use the modules below it, which may use what it gives them: the way down the tree of modules is no arrow.
//! 4. A circle is a set of files that reach each other, of two files or more.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::names::{Crate, ModuleId};
use crate::tidy::tree::Tree;

/// From file to file, with the names that the first takes from the second.
pub(super) type Arrows = BTreeMap<(String, String), BTreeSet<String>>;

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place<'c> {
    Module(ModuleId),
    /// Something that this file defines.
    File(&'c str),
    OtherCrate,
}

/// The arrows of the package in a folder: of its library, its program and those in `src/bin`.
pub(super) fn arrows(tree: &Tree, package: &str) -> Arrows {
    let mut arrows = Arrows::new();
    for root in roots(tree, package) {
        add_arrows(&Crate::read(tree, &root), &mut arrows);
    }
    arrows
}

/// The root files of the package in a folder.
pub(super) fn roots(tree: &Tree, package: &str) -> Vec<String> {
    let source = format!("{package}/src/");
    let is_root = |path: &str| {
        let file = &path[source.len()..];
        let program = file.strip_prefix("bin/");
        matches!(file, "lib.rs" | "main.rs")
            || program.is_some_and(|name| !name.contains('/') || name.ends_with("/main.rs"))
    };
    tree.under(&source, ".rs").filter(|(path, _)| is_root(path)).map(|(path, _)| path.to_owned()).collect()
}

fn add_arrows(found: &Crate, arrows: &mut Arrows) {
    for (id, module) in found.modules.iter().enumerate() {
        let imports = module.imports.iter().filter(|import| !import.is_public).map(|import| &import.path);
        for path in imports.chain(&module.paths) {
            if let Some((Place::File(file), name)) = found.resolve(id, path, true, &mut HashSet::new())
                && file != module.file
                && !found.is_below(file, &module.file)
            {
                arrows.entry((module.file.clone(), file.to_owned())).or_default().insert(name.to_owned());
            }
        }
    }
}

impl Crate {
    /// Whether a file is that of a module below the module of another file.
    pub(super) fn is_below(&self, file: &str, upper: &str) -> bool {
        let mut above = self.modules.iter().find(|module| module.file == file).and_then(|module| module.parent);
        while let Some(id) = above {
            if self.modules[id].file == upper {
                return true;
            }
            above = self.modules[id].parent;
        }
        false
    }

    /// What a path leads to, as seen from a module, and the word of it that names that. `is_whole`: nothing of the path
    /// follows. `asked` is what is being looked for already: imports may go in circles.
    pub(super) fn resolve<'c>(
        &'c self,
        from: ModuleId,
        path: &'c [String],
        is_whole: bool,
        asked: &mut HashSet<(ModuleId, &'c str, bool)>,
    ) -> Option<(Place<'c>, &'c str)> {
        let (mut place, mut named) = (Place::Module(from), "");
        for (at, name) in path.iter().enumerate() {
            let Place::Module(id) = place else { return Some((place, named)) };
            named = name;
            let module = &self.modules[id];
            let is_last = is_whole && at + 1 == path.len();
            place = match name.as_str() {
                "crate" => Place::Module(0),
                "self" => place,
                "super" => Place::Module(module.parent?),
                name => match self.find(id, name, is_last, asked) {
                    Some(found) => found,
                    // The first word is a crate, or something of the language.
                    None if at == 0 => return None,
                    None => Place::File(&module.file),
                },
            };
        }
        Some((place, named))
    }

    /// What a name is in a module. A last name is something else than a module, if there are both.
    fn find<'c>(
        &'c self,
        id: ModuleId,
        name: &'c str,
        is_last: bool,
        asked: &mut HashSet<(ModuleId, &'c str, bool)>,
    ) -> Option<Place<'c>> {
        if !asked.insert((id, name, is_last)) {
            return None;
        }
        let module = &self.modules[id];
        let child = module.children.get(name).map(|child| Place::Module(*child));
        if !is_last && child.is_some() {
            return child;
        }
        let item = module.items.get(name).map(|file| Place::File(file));
        item.or_else(|| self.imported(id, name, is_last, asked)).or(child).or_else(|| {
            let mut all = module.imports.iter().filter(|import| import.name.is_none());
            all.find_map(|import| match self.resolve(id, &import.path, false, asked)?.0 {
                Place::Module(other) => self.find(other, name, is_last, asked),
                _ => None,
            })
        })
    }

    fn imported<'c>(
        &'c self,
        id: ModuleId,
        name: &'c str,
        is_last: bool,
        asked: &mut HashSet<(ModuleId, &'c str, bool)>,
    ) -> Option<Place<'c>> {
        let mut named = self.modules[id].imports.iter().filter(|import| import.name.as_deref() == Some(name));
        let import = named.next()?;
        Some(self.resolve(id, &import.path, is_last, asked).map_or(Place::OtherCrate, |(place, _)| place))
    }
}

/// The circles, each in the order of its files.
pub(super) fn circles(arrows: &Arrows) -> Vec<Vec<String>> {
    let files: BTreeSet<&str> = arrows.keys().flat_map(|(from, to)| [from.as_str(), to.as_str()]).collect();
    let reached: BTreeMap<&str, BTreeSet<&str>> = files.iter().map(|file| (*file, reach(arrows, file))).collect();
    let mut circles = BTreeSet::new();
    for (file, others) in &reached {
        let circle: Vec<String> =
            others.iter().filter(|other| reached[*other].contains(file)).map(|other| (*other).to_owned()).collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

/// The files to which arrows lead from a file, over others as well.
fn reach<'a>(arrows: &'a Arrows, file: &'a str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![file];
    while let Some(from) = open.pop() {
        let first = (from.to_owned(), String::new());
        let leading = arrows.range(first..).take_while(|((start, _), _)| start == from);
        open.extend(leading.map(|((_, to), _)| to.as_str()).filter(|to| reached.insert(*to)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(files: &[(&str, &str)]) -> Vec<String> {
        let arrows = arrows(&Tree::of(files), "a");
        let short = |file: &str| file.trim_start_matches("a/src/").trim_end_matches(".rs").to_owned();
        let names = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(" ");
        arrows.iter().map(|((from, to), used)| format!("{} {}: {}", short(from), short(to), names(used))).collect()
    }

    #[test]
    fn imports_and_paths_are_arrows_to_what_defines_the_name() {
        let files = [
            ("a/src/lib.rs", "mod one;\nmod two;\npub use one::One;\npub use other::Far;\n"),
            (
                "a/src/one.rs",
                "use crate::two::{self, deep::Deep};\npub struct One;\nfn f() { two::g() }\nfn h(x: crate::Far) {}\n",
            ),
            (
                "a/src/two/mod.rs",
                "mod deep;\npub(crate) use deep::*;\npub(crate) fn g() { assert!(vec![self::deep::Deep]) }\n",
            ),
            ("a/src/two/deep.rs", "pub struct Deep;\nimpl super::super::One { fn own(&self) -> Deep { Deep } }\n"),
        ];
        let expected = ["one two/deep: Deep", "one two/mod: g", "two/deep one: One"];
        assert_eq!(shown(&files), expected);
    }

    #[test]
    fn names_come_through_what_hands_them_on() {
        let files = [
            ("a/src/lib.rs", "mod user;\nmod x;\n"),
            (
                "a/src/user.rs",
                "use crate::x::{Y, all, lost};\nuse super::x as other;\nfn f() { other::all(); inner::g(Y) }\nmod inner { use super::*; fn g(y: Y) {} }\n",
            ),
            ("a/src/x/mod.rs", "mod y;\nmod z;\npub use self::y::Y as Y;\npub use z::*;\n"),
            ("a/src/x/y.rs", "pub struct Y;\n"),
            ("a/src/x/z.rs", "pub fn all() {}\n#[macro_export]\nmacro_rules! made { () => { $crate::user::f() } }\n"),
        ];
        assert_eq!(shown(&files), ["user x/mod: lost", "user x/y: Y", "user x/z: all", "x/z user: f"]);
    }

    #[test]
    fn tests_and_the_way_down_are_no_arrows() {
        let files = [
            ("a/src/main.rs", "mod one;\nmod two;\nfn main() { one::one() }\n"),
            ("a/src/two.rs", "fn f() { crate::main() }\n"),
            (
                "a/src/one.rs",
                "pub fn one() {}\nfn two(one: u8) -> u8 { one }\n#[cfg(test)]\nmod tests { use crate::main; }\n#[cfg(all(test, unix))]\nfn t() { super::main() }\n",
            ),
        ];
        assert_eq!(shown(&files), ["two main: main"]);
        let same = [
            ("a/src/lib.rs", "mod work;\npub use work::work;\nmod user;\n"),
            ("a/src/work.rs", "pub fn work() {}\npub struct Part;\n"),
            ("a/src/user.rs", "use super::work;\nfn f(p: work::Part) { work() }\n"),
        ];
        assert_eq!(shown(&same), ["user work: Part work"]);
    }

    #[test]
    fn circles_are_the_files_that_reach_each_other() {
        let arrow = |(from, to): (&str, &str)| ((from.to_owned(), to.to_owned()), BTreeSet::new());
        let arrows: Arrows =
            [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("e", "d"), ("e", "f")].map(arrow).into();
        assert_eq!(circles(&arrows), [vec!["a", "b", "c"], vec!["d", "e"]]);
    }
}
