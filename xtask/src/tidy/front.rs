//! A crate that other programs use has a small front door: a reader sees all names at its root at once, and finds the rest in modules that say
//! what they are for.
//!
//! [`NAMES_MAX`] has the most names for each such root. Lower a number when names move into a module; do not raise one.

use super::Finding;
use super::tree::Tree;
use syn::{Item, UseTree, Visibility};

/// A crate's root, and how many names it may have.
const NAMES_MAX: &[(&str, usize)] = &[("crates/metroon/src/lib.rs", 40)];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    compared(tree, NAMES_MAX)
}

fn compared(tree: &Tree, most: &[(&str, usize)]) -> Vec<Finding> {
    let of = |&(path, most): &(&str, usize)| {
        let Some((_, source)) = tree.rust().find(|(other, _)| *other == path) else {
            return Some(Finding::new(
                path,
                0,
                "this root is gone: take it out of NAMES_MAX in xtask/src/tidy/front.rs",
            ));
        };
        let names = names(source.file.as_ref()?);
        let message = format!(
            "{} names at this root, {most} are the most: move some into a module: {}",
            names.len(),
            names.join(", ")
        );
        (names.len() > most).then(|| Finding::new(path, 0, message))
    };
    most.iter().filter_map(of).collect()
}

/// The public names of a root, in their order.
fn names(file: &syn::File) -> Vec<String> {
    let mut names = Vec::new();
    for item in &file.items {
        let (visibility, name) = match item {
            Item::Use(item) => {
                if matches!(item.vis, Visibility::Public(_)) {
                    add_names(&item.tree, &mut names);
                }
                continue;
            }
            Item::Mod(item) => (&item.vis, &item.ident),
            Item::Struct(item) => (&item.vis, &item.ident),
            Item::Enum(item) => (&item.vis, &item.ident),
            Item::Union(item) => (&item.vis, &item.ident),
            Item::Trait(item) => (&item.vis, &item.ident),
            Item::Type(item) => (&item.vis, &item.ident),
            Item::Const(item) => (&item.vis, &item.ident),
            Item::Static(item) => (&item.vis, &item.ident),
            Item::Fn(item) => (&item.vis, &item.sig.ident),
            _ => continue,
        };
        if matches!(visibility, Visibility::Public(_)) {
            names.push(name.to_string());
        }
    }
    names
}

fn add_names(tree: &UseTree, names: &mut Vec<String>) {
    match tree {
        UseTree::Path(path) => add_names(&path.tree, names),
        UseTree::Name(name) => names.push(name.ident.to_string()),
        UseTree::Rename(renamed) => names.push(renamed.rename.to_string()),
        UseTree::Glob(_) => names.push("*".to_owned()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| add_names(tree, names)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_names_of_a_root_are_counted() {
        let root = "//! x\npub mod a;\nmod b;\npub use b::{C, d::{E, F as G}};\npub(crate) use b::H;\npub fn i() {}\nfn j() {}\n";
        let tree = Tree::of(&[("crates/a/src/lib.rs", root)]);
        assert_eq!(compared(&tree, &[("crates/a/src/lib.rs", 5)]), []);
        let found = compared(&tree, &[("crates/a/src/lib.rs", 4)]);
        assert!(found[0].to_string().ends_with("move some into a module: a, C, E, G, i"), "{}", found[0]);
        assert_eq!(compared(&tree, &[("crates/b/src/lib.rs", 4)]).len(), 1);
    }
}
