//! A method that only calls the method of its name in a part of its object makes a reader open two files for one fact. In the crates of the
//! engine there are at most [`FORWARDING_MAX`].
//!
//! A method forwards if its whole body is `self.part.name(…)`, where `name` is its own and the arguments are the ones it was given, in their order.
//! `len` and `is_empty` are left out, since a type that holds things is expected to have them. So are the methods of traits, and
//! methods that add an argument or turn an error: they join parts.

use super::Finding;
use super::tree::Tree;
use syn::{Expr, FnArg, ImplItem, ImplItemFn, Item, Pat, Stmt};

/// The most forwarding methods in all of [`CRATES`]. Lower it when some go; do not raise it.
const FORWARDING_MAX: usize = 19;
const CRATES: &[&str] = &[
    "crates/journal/src/",
    "crates/metroon/src/",
    "crates/metta/src/",
    "crates/origin/src/",
    "crates/schedule/src/",
    "crates/space/src/",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let of_engine = |path: &str| CRATES.iter().any(|start| path.starts_with(start));
    let files = tree.rust().filter(|(path, _)| of_engine(path));
    let methods: Vec<(String, usize, String)> = files
        .flat_map(|(path, source)| {
            let items = source.file.as_ref().map(|file| file.items.as_slice()).unwrap_or_default();
            forwarding(items).into_iter().map(|(line, name)| (path.to_owned(), line, name)).collect::<Vec<_>>()
        })
        .collect();
    if methods.len() <= FORWARDING_MAX {
        return Vec::new();
    }
    let message = |name: &str| {
        format!(
            "fn {name} only calls the method of its name in a part, and {} methods do so where {FORWARDING_MAX} may: let callers ask the part, or \
             give the method something to do",
            methods.len()
        )
    };
    methods.iter().map(|(path, line, name)| Finding::new(path, *line, message(name))).collect()
}

/// The methods among these items, and in the modules among them, that forward: their lines and names.
fn forwarding(items: &[Item]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for item in items {
        match item {
            Item::Impl(block) if block.trait_.is_none() => {
                found.extend(block.items.iter().filter_map(|item| match item {
                    ImplItem::Fn(method) if forwards(method) => {
                        Some((method.sig.ident.span().start().line, method.sig.ident.to_string()))
                    }
                    _ => None,
                }));
            }
            Item::Mod(module) => {
                found
                    .extend(forwarding(module.content.as_ref().map(|(_, items)| items.as_slice()).unwrap_or_default()));
            }
            _ => {}
        }
    }
    found
}

fn forwards(method: &ImplItemFn) -> bool {
    let name = &method.sig.ident;
    let [Stmt::Expr(body, _)] = method.block.stmts.as_slice() else {
        return false;
    };
    let Expr::MethodCall(call) = bare(body) else {
        return false;
    };
    if name == "len" || name == "is_empty" || call.method != *name || !is_part_of_self(&call.receiver) {
        return false;
    }
    let given: Vec<Option<&syn::Ident>> = method
        .sig
        .inputs
        .iter()
        .filter_map(|input| match input {
            FnArg::Receiver(_) => None,
            FnArg::Typed(typed) => Some(match typed.pat.as_ref() {
                Pat::Ident(pattern) => Some(&pattern.ident),
                _ => None,
            }),
        })
        .collect();
    let passed = call.args.iter().map(|argument| match bare(argument) {
        Expr::Path(path) => path.path.get_ident(),
        _ => None,
    });
    given.into_iter().eq(passed)
}

/// What an expression is without borrows, dereferences, `?` and parentheses around it.
fn bare(expression: &Expr) -> &Expr {
    match expression {
        Expr::Reference(inner) => bare(&inner.expr),
        Expr::Paren(inner) => bare(&inner.expr),
        Expr::Try(inner) => bare(&inner.expr),
        Expr::Unary(inner) if matches!(inner.op, syn::UnOp::Deref(_)) => bare(&inner.expr),
        _ => expression,
    }
}

/// Whether this is `self.a`, `self.a.b` and so on.
fn is_part_of_self(expression: &Expr) -> bool {
    let Expr::Field(field) = bare(expression) else {
        return false;
    };
    match bare(&field.base) {
        Expr::Path(path) => path.path.is_ident("self"),
        base => is_part_of_self(base),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        forwarding(&syn::parse_file(text).unwrap().items).into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn methods_that_only_call_their_namesake_are_found() {
        let text = "impl A {
            fn hash(&self) -> u64 { self.inner.hash() }
            fn find(&mut self, a: &B, b: u8) -> Result<C, D> { &mut self.x.y.find(a, b)? }
            fn len(&self) -> usize { self.inner.len() }
            fn joined(&self, a: u8) -> u8 { self.inner.joined(a, &self.other) }
            fn failed(&self) -> Result<(), E> { self.inner.failed().map_err(E) }
            fn is_open(&self) -> bool { !self.inner.is_open() }
            fn ended(&mut self) { self.inner.ended(); }
            fn other(&self) -> u8 { self.inner.another() }
            fn swapped(&self, a: u8, b: u8) { self.inner.swapped(b, a) }
        }
        impl T for A { fn hash(&self) -> u64 { self.inner.hash() } }
        mod m { impl B { fn deep(&self) { self.0.deep() } } }";
        assert_eq!(names(text), ["hash", "find", "ended", "deep"]);
    }

    #[test]
    fn more_than_the_most_are_refused_in_the_engine_alone() {
        let methods: String = (0..=FORWARDING_MAX).map(|n| format!("fn f{n}(&self) {{ self.a.f{n}() }}\n")).collect();
        let text = format!("impl A {{ {methods} }}");
        assert_eq!(check(&Tree::of(&[("crates/space/src/a.rs", &text)])).len(), FORWARDING_MAX + 1);
        assert_eq!(check(&Tree::of(&[("crates/server/src/a.rs", &text)])), []);
        let fewer = text.replacen("fn f0(&self) { self.a.f0() }", "", 1);
        assert_eq!(check(&Tree::of(&[("crates/space/src/a.rs", &fewer)])), []);
    }
}
