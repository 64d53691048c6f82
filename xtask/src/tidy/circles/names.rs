//! The modules of a crate, with what each defines and which names it uses: what [`super::graph`] makes arrows of.
//!
//! Code for tests alone (`#[cfg(test)]`) is left out. Of macros the tokens are looked at, since syn does not know what they mean.
//! Texts in attributes (`#[serde(with = "…")]`) and links in comments are not looked at.

use std::collections::{BTreeSet, HashMap};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Item, Lit, Meta, UseTree};

use super::calls::{Impl, Struct};
use super::conditions::is_for_tests;
use crate::tidy::tree::Tree;

/// The number of a module in [`Crate::modules`]; the root is the first.
pub(super) type ModuleId = usize;

/// A crate from its root file on.
#[derive(Default)]
pub(super) struct Crate {
    pub(super) modules: Vec<Module>,
}

/// A module: a file, or a part of one in braces.
#[derive(Default)]
pub(super) struct Module {
    pub(super) file: String,
    pub(super) parent: Option<ModuleId>,
    pub(super) children: HashMap<String, ModuleId>,
    /// What it defines, and in which file. Only the root has macros of other files.
    pub(super) items: HashMap<String, String>,
    pub(super) imports: Vec<Import>,
    /// The paths in its code, first words of a length of one included.
    pub(super) paths: BTreeSet<Vec<String>>,
    pub(super) structs: Vec<Struct>,
    /// Its methods, and its functions.
    pub(super) impls: Vec<Impl>,
}

/// A name that `use` brings into a module.
pub(super) struct Import {
    /// None for all names (`*`).
    pub(super) name: Option<String>,
    pub(super) path: Vec<String>,
    /// It hands the name on to others.
    pub(super) is_public: bool,
}

impl Crate {
    /// Reads the crate whose root is this file.
    pub(super) fn read(tree: &Tree, root: &str) -> Crate {
        let mut found = Crate::default();
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        found.add_file(tree, root, folder, None);
        found
    }

    /// Adds a file as a module; `folder` is where the files of its children are.
    fn add_file(&mut self, tree: &Tree, file: &str, folder: &str, parent: Option<ModuleId>) -> ModuleId {
        let id = self.add_module(file, parent);
        if let Some(parsed) = tree.source(file).and_then(|source| source.file.as_ref()) {
            self.add_items(tree, id, folder, &parsed.items);
        }
        id
    }

    fn add_module(&mut self, file: &str, parent: Option<ModuleId>) -> ModuleId {
        self.modules.push(Module { file: file.to_owned(), parent, ..Module::default() });
        self.modules.len() - 1
    }

    fn add_items(&mut self, tree: &Tree, id: ModuleId, folder: &str, items: &[Item]) {
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            match item {
                Item::Mod(module) => {
                    let name = module.ident.to_string();
                    let file = self.modules[id].file.clone();
                    let child = if let Some((_, items)) = &module.content {
                        let child = self.add_module(&file, Some(id));
                        self.add_items(tree, child, &format!("{folder}/{name}"), items);
                        Some(child)
                    } else {
                        file_of(tree, &file, folder, &name, &module.attrs)
                            .map(|(file, folder)| self.add_file(tree, &file, &folder, Some(id)))
                    };
                    self.modules[id].children.extend(child.map(|child| (name, child)));
                }
                item => self.add_item(id, item),
            }
        }
    }

    fn add_item(&mut self, id: ModuleId, item: &Item) {
        let module = &mut self.modules[id];
        let file = module.file.clone();
        if let Some(name) = name_of(item) {
            module.items.insert(name.clone(), file.clone());
            if attributes(item).iter().any(|attribute| attribute.path().is_ident("macro_export")) {
                self.modules[0].items.insert(name, file);
            }
        }
        let module = &mut self.modules[id];
        match item {
            Item::Struct(item) => module.structs.push(Struct::of(item)),
            Item::Impl(item) => module.impls.extend(Impl::of(item)),
            Item::Fn(item) => module.impls.push(Impl::of_function(item)),
            _ => {}
        }
        Names { module, is_within: false }.visit_item(item);
    }
}

/// The file of `mod name;`, and the folder of its children.
fn file_of(tree: &Tree, file: &str, folder: &str, name: &str, attributes: &[Attribute]) -> Option<(String, String)> {
    let beside = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let named = attributes.iter().find(|attribute| attribute.path().is_ident("path")).and_then(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else { return None };
        let Expr::Lit(value) = &pair.value else { return None };
        let Lit::Str(text) = &value.lit else { return None };
        Some((format!("{beside}/{}", text.value()), beside.to_owned()))
    });
    let inner = format!("{folder}/{name}");
    let usual = [(format!("{inner}.rs"), inner.clone()), (format!("{inner}/mod.rs"), inner)];
    named.into_iter().chain(usual).find(|(file, _)| tree.source(file).is_some())
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// Collects the names that an item of a module uses.
struct Names<'m> {
    module: &'m mut Module,
    /// Within an item: what is defined there is not the module's.
    is_within: bool,
}

impl Visit<'_> for Names<'_> {
    fn visit_item(&mut self, item: &Item) {
        if !self.is_within || !is_for_tests(attributes(item)) {
            self.is_within = true;
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &syn::ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, item: &syn::ItemUse) {
        let is_public = !matches!(item.vis, syn::Visibility::Inherited);
        if item.leading_colon.is_none() {
            add_imports(&item.tree, &mut Vec::new(), is_public, &mut self.module.imports);
        }
    }

    fn visit_path(&mut self, path: &syn::Path) {
        if path.leading_colon.is_none() {
            self.module.paths.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, found: &syn::Macro) {
        self.visit_path(&found.path);
        add_paths(found.tokens.clone(), &mut self.module.paths);
    }

    fn visit_visibility(&mut self, _: &syn::Visibility) {}

    fn visit_attribute(&mut self, _: &Attribute) {}
}

fn add_imports(tree: &UseTree, above: &mut Vec<String>, is_public: bool, imports: &mut Vec<Import>) {
    let mut add = |name: Option<String>, last: Option<String>| {
        let path: Vec<String> = above.iter().cloned().chain(last).collect();
        imports.push(Import { name, path, is_public });
    };
    match tree {
        UseTree::Path(path) => {
            above.push(path.ident.to_string());
            add_imports(&path.tree, above, is_public, imports);
            above.pop();
        }
        UseTree::Name(name) if name.ident == "self" => {
            let name = above.last().cloned();
            add(name, None);
        }
        UseTree::Name(name) => add(Some(name.ident.to_string()), Some(name.ident.to_string())),
        UseTree::Rename(rename) if rename.ident == "self" => add(Some(rename.rename.to_string()), None),
        UseTree::Rename(rename) => add(Some(rename.rename.to_string()), Some(rename.ident.to_string())),
        UseTree::Glob(_) => add(None, None),
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| add_imports(tree, above, is_public, imports));
        }
    }
}

/// The paths among the tokens of a macro: words joined by `::` that do not follow a dot.
fn add_paths(tokens: TokenStream, paths: &mut BTreeSet<Vec<String>>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_sign =
        |at: usize, sign: char| matches!(tokens.get(at), Some(TokenTree::Punct(found)) if found.as_char() == sign);
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Group(group) => add_paths(group.stream(), paths),
            TokenTree::Ident(first) => {
                let follows_dot = at > 0 && is_sign(at - 1, '.');
                let follows_colons = at > 1 && is_sign(at - 1, ':') && is_sign(at - 2, ':');
                let mut path = vec![first.to_string()];
                while is_sign(at + 1, ':')
                    && is_sign(at + 2, ':')
                    && let Some(TokenTree::Ident(next)) = tokens.get(at + 3)
                {
                    path.push(next.to_string());
                    at += 3;
                }
                if !follows_dot && !follows_colons {
                    paths.insert(path);
                }
            }
            _ => {}
        }
        at += 1;
    }
}
