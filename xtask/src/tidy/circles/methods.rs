//! Arrows by calls of methods, and how large types are.
//!
//! Imports do not show that a type is in pieces: if `impl Machine` in one file calls a method of `impl Machine` in another, neither imports the
//! other. Here such a call is an arrow from the file that calls to the file that has the method, and so is a call of another type's method. The type that
//! a chain of fields and methods comes to is found by the fields of structs and by what methods return; a chain that leaves the crate's own
//! types has no arrow.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::calls::{Chain, Path, Step};
use super::graph::{self, Arrows, Place};
use super::names::{Crate, ModuleId};
use crate::tidy::tree::Tree;

/// A type: the file that defines it, and its name there.
type TypeId<'c> = (&'c str, &'c str);

/// How many methods of its own a type has, and in how many files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) methods: usize,
    pub(super) files: usize,
}

/// What the methods of a package show.
#[derive(Default)]
pub(super) struct Methods {
    pub(super) arrows: Arrows,
    /// By the name of the type and the file that defines it.
    pub(super) sizes: BTreeMap<(String, String), Size>,
}

struct Defined<'c> {
    file: &'c str,
    module: ModuleId,
    returns: Option<&'c Path>,
}

struct Types<'c> {
    found: &'c Crate,
    methods: HashMap<TypeId<'c>, HashMap<&'c str, Defined<'c>>>,
    fields: HashMap<TypeId<'c>, (ModuleId, &'c HashMap<String, Path>)>,
}

pub(super) fn methods(tree: &Tree, package: &str) -> Methods {
    let mut methods = Methods::default();
    for root in graph::roots(tree, package) {
        add(&Crate::read(tree, &root), &mut methods);
    }
    methods
}

fn add(found: &Crate, methods: &mut Methods) {
    let types = Types::of(found);
    for (id, defined) in &types.methods {
        let files: BTreeSet<&str> = defined.values().map(|method| method.file).collect();
        let size = Size { methods: defined.len(), files: files.len() };
        methods.sizes.insert((id.1.to_owned(), id.0.to_owned()), size);
    }
    for (module, chain) in found.modules.iter().enumerate().flat_map(|(id, module)| {
        let methods = module.impls.iter().flat_map(|block| &block.methods);
        methods.flat_map(|method| &method.calls).map(move |chain| (id, chain))
    }) {
        let from = &found.modules[module].file;
        if let Some((file, name)) = types.called(module, chain)
            && file != from
            && !found.is_below(file, from)
        {
            methods.arrows.entry((from.clone(), file.to_owned())).or_default().insert(format!("{name}()"));
        }
    }
}

impl<'c> Types<'c> {
    fn of(found: &'c Crate) -> Self {
        let mut types = Types { found, methods: HashMap::new(), fields: HashMap::new() };
        for (id, module) in found.modules.iter().enumerate() {
            for defined in &module.structs {
                types.fields.insert((&module.file, &defined.name), (id, &defined.fields));
            }
            for block in module.impls.iter().filter(|block| block.is_inherent) {
                let Some(of) = types.resolve(id, &block.path) else { continue };
                let methods = types.methods.entry(of).or_default();
                for method in &block.methods {
                    let returns = method.returns.as_ref();
                    methods.insert(&method.name, Defined { file: &module.file, module: id, returns });
                }
            }
        }
        types
    }

    fn resolve(&self, from: ModuleId, path: &'c [String]) -> Option<TypeId<'c>> {
        match self.found.resolve(from, path, true, &mut HashSet::new())? {
            (Place::File(file), name) => Some((file, name)),
            _ => None,
        }
    }

    /// The file and the name of the method that a chain ends at.
    fn called(&self, from: ModuleId, chain: &'c Chain) -> Option<(&'c str, &'c str)> {
        let mut at = self.resolve(from, &chain.root)?;
        let (last, steps) = chain.steps.split_last()?;
        for step in steps {
            let (module, path) = match step {
                Step::Field(name) => {
                    let (module, fields) = self.fields.get(&at)?;
                    (*module, fields.get(name)?)
                }
                Step::Method(name) => {
                    let method = self.methods.get(&at)?.get(name.as_str())?;
                    (method.module, method.returns?)
                }
            };
            at = self.resolve(module, path)?;
        }
        let Step::Method(name) = last else { return None };
        Some((self.methods.get(&at)?.get(name.as_str())?.file, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arrows of a crate with these files below `crates/a/src`, as `from -> to (names)`.
    fn arrows(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> =
            files.iter().map(|(name, text)| (format!("crates/a/src/{name}"), *text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
        let found = methods(&Tree::of(&files), "crates/a").arrows;
        let short = |path: &str| path.trim_start_matches("crates/a/src/").trim_end_matches(".rs").to_owned();
        let names = |names: &BTreeSet<String>| names.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        found.iter().map(|((from, to), all)| format!("{} -> {} ({})", short(from), short(to), names(all))).collect()
    }

    const ROOT: (&str, &str) = ("lib.rs", "mod run;\nmod heap;\nmod more;\n");
    const HEAP: (&str, &str) = (
        "heap.rs",
        "pub struct Heap;\nimpl Heap { pub fn new() -> Self { Heap } pub fn take(&self) {} pub fn part(&self) -> &Heap { self } }\n",
    );

    #[test]
    fn chains_of_fields_and_methods_are_followed() {
        let bodies = [
            ("self.values.0.take()", "take()"),
            ("self.heap().take()", "take()"),
            ("(&*self.values.0).part().take()", "part() take()"),
            ("let heap = self.heap(); heap.take()", "take()"),
            ("assert!(true, \"{}\", self.heap().take())", "take()"),
            ("let a = Heap::new();", "new()"),
            ("if true { self.given(|| self.values.0.take()) }", "take()"),
        ];
        for (body, called) in bodies {
            let run = format!(
                "use crate::heap::Heap;\nstruct Values(Box<Heap>);\npub struct Run<'a> {{ values: &'a mut Values }}\n\
                 impl Run<'_> {{ fn heap(&mut self) -> &Heap {{ &self.values.0 }} fn at(&self) {{ {body} }} }}\n"
            );
            assert_eq!(arrows(&[ROOT, HEAP, ("run.rs", &run)]), [format!("run -> heap ({called})")], "{body}");
        }
    }

    #[test]
    fn what_is_not_known_is_no_arrow() {
        let bodies = [
            "let heap = other(); heap.take()",
            "let self_ = 1; self_.take()",
            "unknown(|heap| heap.take())",
            "self.take()",
        ];
        for body in bodies {
            let run = format!(
                "use crate::heap::Heap;\npub struct Run;\nimpl Run {{ fn at(&self, heap: u8) {{ {body} }} }}\n"
            );
            assert_eq!(arrows(&[ROOT, HEAP, ("run.rs", &run)]), Vec::<String>::new(), "{body}");
        }
    }

    #[test]
    fn a_module_may_call_what_lies_below_it() {
        let root =
            ("lib.rs", "mod more;\npub struct Run;\nimpl Run { fn down(&self) { self.up() } fn at(&self) {} }\n");
        let more = ("more.rs", "use crate::Run;\nimpl Run { pub(crate) fn up(&self) { self.at() } }\n");
        assert_eq!(arrows(&[root, more]), ["more -> lib (at())"]);
    }
}
