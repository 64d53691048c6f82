//! The methods of a crate's types, and what each calls: what [`super::methods`] makes arrows of.
//!
//! A call is kept as a [`Chain`] from a type: `self.values.heap.reserve(…)` in a method of `Running` begins at `Running`, has the fields `values` and
//! `heap`, and ends at the method `reserve`. A chain begins at `self`, at a parameter of a function, at a local variable whose value is such a
//! chain, or at a path such as `Self::new`. What begins elsewhere, such as at a parameter of a closure, is not seen.

use std::collections::HashMap;

use syn::visit::{self, Visit};
use syn::{Expr, FnArg, GenericArgument, Member, Pat, PathArguments, ReturnType, Type};

use super::conditions::is_for_tests;

/// A path in code, word by word.
pub(super) type Path = Vec<String>;

/// A struct with the types of its fields; those of a tuple are named by their places.
pub(super) struct Struct {
    pub(super) name: String,
    pub(super) fields: HashMap<String, Path>,
}

/// The methods of one `impl`, or a function outside of any, which is of no type.
#[derive(Default)]
pub(super) struct Impl {
    /// The type; empty for a function.
    pub(super) path: Path,
    /// It is the type's own, and not that of a trait.
    pub(super) is_inherent: bool,
    pub(super) methods: Vec<Method>,
}

pub(super) struct Method {
    pub(super) name: String,
    /// The type of its value.
    pub(super) returns: Option<Path>,
    pub(super) calls: Vec<Chain>,
}

/// Where a call begins, and how it goes on from there.
#[derive(Clone)]
pub(super) struct Chain {
    pub(super) root: Path,
    pub(super) steps: Vec<Step>,
}

#[derive(Clone)]
pub(super) enum Step {
    Field(String),
    Method(String),
}

impl Struct {
    pub(super) fn of(item: &syn::ItemStruct) -> Struct {
        let fields = item.fields.iter().enumerate().filter_map(|(place, field)| {
            let name = field.ident.as_ref().map_or_else(|| place.to_string(), ToString::to_string);
            Some((name, path_of(&field.ty)?))
        });
        Struct { name: item.ident.to_string(), fields: fields.collect() }
    }
}

impl Impl {
    pub(super) fn of(item: &syn::ItemImpl) -> Option<Impl> {
        let path = path_of(&item.self_ty)?;
        let functions = item.items.iter().filter_map(|item| match item {
            syn::ImplItem::Fn(function) if !is_for_tests(&function.attrs) => Some(function),
            _ => None,
        });
        let methods = functions.map(|function| Method::of(&path, &function.sig, &function.block)).collect();
        Some(Impl { path, is_inherent: item.trait_.is_none(), methods })
    }

    pub(super) fn of_function(item: &syn::ItemFn) -> Impl {
        Impl { methods: vec![Method::of(&[], &item.sig, &item.block)], ..Impl::default() }
    }
}

impl Method {
    fn of(own: &[String], signature: &syn::Signature, block: &syn::Block) -> Method {
        let mut calls = Calls { own, known: HashMap::new(), calls: Vec::new() };
        for input in &signature.inputs {
            let (name, path) = match input {
                FnArg::Receiver(_) => ("self".to_owned(), Some(own.to_vec())),
                FnArg::Typed(typed) => match typed.pat.as_ref() {
                    Pat::Ident(pattern) => (pattern.ident.to_string(), path_of(&typed.ty)),
                    _ => continue,
                },
            };
            let root = path.map(|path| calls.without_self(path));
            calls.known.extend(root.map(|root| (name, Chain { root, steps: Vec::new() })));
        }
        calls.visit_block(block);
        let returns = match &signature.output {
            ReturnType::Type(_, output) => path_of(output).map(|path| calls.without_self(path)),
            ReturnType::Default => None,
        };
        Method { name: signature.ident.to_string(), returns, calls: calls.calls }
    }
}

/// The path of a type, without references to it and what holds one of it.
fn path_of(found: &Type) -> Option<Path> {
    match found {
        Type::Reference(reference) => path_of(&reference.elem),
        Type::Paren(inner) => path_of(&inner.elem),
        Type::Path(path) => {
            let last = path.path.segments.last()?;
            let holds_one = matches!(last.ident.to_string().as_str(), "Box" | "Rc" | "Arc" | "RefMut" | "MutexGuard");
            match &last.arguments {
                PathArguments::AngleBracketed(arguments) if holds_one => {
                    let mut types = arguments.args.iter().filter_map(|argument| match argument {
                        GenericArgument::Type(inner) => Some(inner),
                        _ => None,
                    });
                    path_of(types.next()?)
                }
                _ => Some(words(&path.path)),
            }
        }
        _ => None,
    }
}

fn words(path: &syn::Path) -> Path {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

/// Collects the calls of a body.
struct Calls<'o> {
    own: &'o [String],
    /// Variables by what they stand for.
    known: HashMap<String, Chain>,
    calls: Vec<Chain>,
}

impl Calls<'_> {
    /// A path with the type in the place of `Self`.
    fn without_self(&self, path: Path) -> Path {
        if path.first().is_some_and(|word| word == "Self") {
            self.own.iter().cloned().chain(path.into_iter().skip(1)).collect()
        } else {
            path
        }
    }

    /// What an expression stands for, if it can be followed.
    fn chain(&self, expression: &Expr) -> Option<Chain> {
        match expression {
            Expr::Path(path) => self.known.get(&path.path.get_ident()?.to_string()).cloned(),
            Expr::Reference(inner) => self.chain(&inner.expr),
            Expr::Paren(inner) => self.chain(&inner.expr),
            Expr::Unary(inner) if matches!(inner.op, syn::UnOp::Deref(_)) => self.chain(&inner.expr),
            Expr::Field(field) => {
                let name = match &field.member {
                    Member::Named(name) => name.to_string(),
                    Member::Unnamed(place) => place.index.to_string(),
                };
                self.longer(&field.base, Step::Field(name))
            }
            Expr::MethodCall(call) => self.longer(&call.receiver, Step::Method(call.method.to_string())),
            Expr::Call(call) => {
                let Expr::Path(path) = call.func.as_ref() else { return None };
                let mut root = self.without_self(words(&path.path));
                let name = root.pop().filter(|_| !root.is_empty())?;
                Some(Chain { root, steps: vec![Step::Method(name)] })
            }
            _ => None,
        }
    }

    fn longer(&self, base: &Expr, step: Step) -> Option<Chain> {
        let mut chain = self.chain(base)?;
        chain.steps.push(step);
        Some(chain)
    }
}

impl<'ast> Visit<'ast> for Calls<'_> {
    fn visit_expr(&mut self, expression: &'ast Expr) {
        if matches!(expression, Expr::MethodCall(_) | Expr::Call(_)) {
            self.calls.extend(self.chain(expression));
        }
        visit::visit_expr(self, expression);
    }

    /// A name that is bound anew no longer stands for what it did.
    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        self.known.remove(&pattern.ident.to_string());
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        let chain = local.init.as_ref().and_then(|init| self.chain(&init.expr));
        visit::visit_local(self, local);
        if let (Pat::Ident(pattern), Some(chain)) = (&local.pat, chain) {
            self.known.insert(pattern.ident.to_string(), chain);
        }
    }

    /// The arguments of a macro are expressions in most of them.
    fn visit_macro(&mut self, found: &'ast syn::Macro) {
        let list = syn::punctuated::Punctuated::<Expr, syn::Token![,]>::parse_terminated;
        let arguments = found.parse_body_with(list).unwrap_or_default();
        for argument in &arguments {
            // What is parsed here does not live as long as the file, so its calls are collected by a visitor of its own.
            let mut inner = Calls { own: self.own, known: self.known.clone(), calls: Vec::new() };
            inner.visit_expr(argument);
            self.calls.append(&mut inner.calls);
        }
    }
}
