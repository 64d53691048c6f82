//! A loop that a program can lengthen looks at the limits of the evaluation; the list of loops that do not may only shrink.
//!
//! An evaluation ends by `--steps`, `--timeout`, `--heap` or Ctrl-C only where somebody looks. A native step that goes over all
//! rows of a space, or over an atom that doubled, is as long as the data, so it has to look as well.
//!
//! 1. Loops are looked for in [`FOLDERS`], outside of tests: each `while` and `loop`, and each `for` over something whose name is in
//!    [`DATA`]. Chains of iterators are not seen, nor is what a macro makes of its tokens.
//! 2. A loop looks if a name of [`LOOKS`] is called in it, in each round or in what each round calls by that name.
//! 3. The others are in `xtask/loops-without-budget.txt`, a line `PATH FUNCTION LOOPS` for each function that has some, which must say
//!    exactly what is there. [`LISTED_MAX`] bounds their number: lower it when the list shrinks, never raise it.
//!
//! A loop is on the list for one of two reasons: its length is bounded by the text of the program or by what one step makes, or
//! it is yet to look. Whoever adds a loop to this list says in a comment beside the loop which of both it is.

use proc_macro2::{Ident, TokenStream, TokenTree};
use std::collections::BTreeMap;
use syn::visit::{self, Visit};

use super::Finding;
use super::tree::Tree;

/// The crates in which programs are evaluated.
const FOLDERS: [&str; 2] = ["crates/metta/src/", "crates/space/src/"];

/// Names of what a program makes as long as it likes.
const DATA: [&str; 16] = [
    "answers",
    "atoms",
    "children",
    "columns",
    "elements",
    "facts",
    "found",
    "items",
    "matches",
    "parts",
    "results",
    "rows",
    "solutions",
    "terms",
    "values",
    "variables",
];

/// Names of functions that look at limits, or give up if somebody else has.
const LOOKS: [&str; 23] = [
    "accept_found",
    "advance_search",
    "count_call",
    "count_step",
    "extend_step",
    "follow_strategy",
    "go_unless",
    "hand_over",
    "is_passed",
    "is_stopped",
    "limit_reached",
    "look",
    "look_at",
    "look_at_limits",
    "look_at_memory",
    "look_within",
    "look_without_call",
    "query_unless",
    "replaced_unless",
    "resolve_unless",
    "should_stop",
    "solution_unless",
    "unless_over",
];

pub(super) const LIST: &str = "xtask/loops-without-budget.txt";

/// How many loops the list has. Lower it when the list shrinks; never raise it.
const LISTED_MAX: usize = 364;

/// How many loops of a function do not look, and the line of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unwatched {
    loops: usize,
    line: usize,
}

/// By path and function.
type Listing = BTreeMap<(String, String), Unwatched>;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    compared(tree, LISTED_MAX)
}

/// What is wrong with the loops of a tree whose list is to have `listed_max` of them.
fn compared(tree: &Tree, listed_max: usize) -> Vec<Finding> {
    let there = unwatched(tree);
    let (mut listed, mut found) = list(tree.text(LIST).unwrap_or_default());
    let count: usize = listed.values().map(|entry| entry.loops).sum();
    for ((path, function), Unwatched { loops, line }) in there {
        let entry = listed.remove(&(path.clone(), function.clone())).map_or(0, |entry| entry.loops);
        let message = match loops.cmp(&entry) {
            std::cmp::Ordering::Equal => continue,
            std::cmp::Ordering::Greater => format!(
                "fn {function}: {loops} of its loops do not look at limits, {entry} are listed: a program can make a loop over its data \
                 as long as it likes, so let it look (`Call::look`, `should_stop`, `count_step`)"
            ),
            std::cmp::Ordering::Less => {
                format!(
                    "fn {function}: {loops} of its loops do not look at limits, {entry} are listed in {LIST}: lower its number"
                )
            }
        };
        found.push(Finding::new(&path, line, message));
    }
    found.extend(listed.iter().map(|((path, function), entry)| {
        Finding::new(LIST, entry.line, format!("fn {function} of {path} has no such loop: remove this line"))
    }));
    if count != listed_max && found.is_empty() {
        let message = format!("{count} loops, but LISTED_MAX is {listed_max}: lower it if the list has shrunk");
        found.push(Finding::new(LIST, 0, message));
    }
    found
}

/// The list as it has to be for what is there, if it is no longer than it was.
///
/// # Errors
/// It would grow.
pub(super) fn accepted(tree: &Tree) -> Result<String, String> {
    let there = unwatched(tree);
    let count: usize = there.values().map(|entry| entry.loops).sum();
    let before: usize = list(tree.text(LIST).unwrap_or_default()).0.values().map(|entry| entry.loops).sum();
    if count > before && before > 0 {
        return Err(format!("{LIST} may only shrink: it has {before} loops, and {count} do not look at limits"));
    }
    let lines = there.iter().map(|((path, function), entry)| format!("{path} {function} {}\n", entry.loops));
    Ok(format!("# Loops that do not look at limits: see xtask/src/tidy/budgets.rs.\n{}", lines.collect::<String>()))
}

/// The entries of the list (`line` is their place in it) and what is wrong with it.
fn list(text: &str) -> (Listing, Vec<Finding>) {
    let (mut entries, mut found) = (Listing::new(), Vec::new());
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    for (line, entry) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let words: Vec<&str> = entry.split_whitespace().collect();
        match (words.as_slice(), words.last().and_then(|loops| loops.parse().ok())) {
            ([path, function, _], Some(loops)) => {
                entries.insert(((*path).to_owned(), (*function).to_owned()), Unwatched { loops, line });
            }
            _ => found.push(Finding::new(LIST, line, "expected `PATH FUNCTION LOOPS`")),
        }
    }
    (entries, found)
}

fn unwatched(tree: &Tree) -> Listing {
    let mut all = Listing::new();
    let is_looked_at = |path: &str| {
        FOLDERS.iter().any(|folder| path.starts_with(folder))
            && !path.ends_with("/tests.rs")
            && !path.contains("/tests/")
    };
    for (path, source) in tree.rust().filter(|(path, _)| is_looked_at(path)) {
        let mut loops = Loops::default();
        source.file.iter().for_each(|file| loops.visit_file(file));
        for (function, line) in loops.found {
            let entry = all.entry((path.to_owned(), function)).or_insert(Unwatched { loops: 0, line });
            entry.loops += 1;
        }
    }
    all
}

/// A loop that is being read.
struct Open {
    line: usize,
    /// Whether it may be as long as data.
    is_long: bool,
    looks: bool,
}

/// Reads the loops of a file.
#[derive(Default)]
struct Loops {
    /// The functions around, the innermost last.
    functions: Vec<String>,
    open: Vec<Open>,
    /// The functions and lines of those that do not look.
    found: Vec<(String, usize)>,
}

impl Loops {
    fn within(&mut self, name: &Ident, go_on: impl FnOnce(&mut Self)) {
        // A function inside of a loop's body is no part of the loop.
        let around = std::mem::take(&mut self.open);
        self.functions.push(name.to_string());
        go_on(self);
        self.functions.pop();
        self.open = around;
    }

    fn read(&mut self, line: usize, is_long: bool, go_on: impl FnOnce(&mut Self)) {
        self.open.push(Open { line, is_long, looks: false });
        go_on(self);
        let Some(read) = self.open.pop() else { return };
        if read.is_long && !read.looks {
            let function = self.functions.last().map_or("-", String::as_str).to_owned();
            self.found.push((function, read.line));
        }
    }

    fn meet(&mut self, word: &Ident) {
        if LOOKS.iter().any(|look| word == look) {
            self.open.iter_mut().for_each(|open| open.looks = true);
        }
    }

    fn meet_tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Ident(word) => self.meet(&word),
                TokenTree::Group(group) => self.meet_tokens(group.stream()),
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Loops {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !module.attrs.iter().any(is_test) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if !function.attrs.iter().any(is_test) {
            self.within(&function.sig.ident, |loops| visit::visit_item_fn(loops, function));
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.within(&function.sig.ident, |loops| visit::visit_impl_item_fn(loops, function));
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.within(&function.sig.ident, |loops| visit::visit_trait_item_fn(loops, function));
    }

    fn visit_expr_for_loop(&mut self, this: &'ast syn::ExprForLoop) {
        let mut words = Words::default();
        words.visit_expr(&this.expr);
        let line = this.for_token.span.start().line;
        self.read(line, words.are_data, |loops| visit::visit_expr_for_loop(loops, this));
    }

    fn visit_expr_while(&mut self, this: &'ast syn::ExprWhile) {
        self.read(this.while_token.span.start().line, true, |loops| visit::visit_expr_while(loops, this));
    }

    fn visit_expr_loop(&mut self, this: &'ast syn::ExprLoop) {
        self.read(this.loop_token.span.start().line, true, |loops| visit::visit_expr_loop(loops, this));
    }

    fn visit_ident(&mut self, word: &'ast Ident) {
        self.meet(word);
    }

    fn visit_macro(&mut self, this: &'ast syn::Macro) {
        self.meet_tokens(this.tokens.clone());
    }
}

/// Whether names of data are among the words of an expression.
#[derive(Default)]
struct Words {
    are_data: bool,
}

impl<'ast> Visit<'ast> for Words {
    fn visit_ident(&mut self, word: &'ast Ident) {
        self.are_data |= DATA.iter().any(|data| word == data);
    }
}

/// `#[cfg(test)]` or `#[test]`.
fn is_test(attribute: &syn::Attribute) -> bool {
    let is_configured = |list: &syn::MetaList| list.path.is_ident("cfg") && list.tokens.to_string() == "test";
    attribute.path().is_ident("test") || attribute.meta.require_list().is_ok_and(is_configured)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str, list: &str) -> Vec<String> {
        let tree = Tree::of(&[("crates/space/src/a.rs", source), (LIST, list)]);
        compared(&tree, 0).into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn a_loop_over_data_that_does_not_look_is_found_unless_listed_exactly() {
        let source = "impl A {\n fn sum(&self) {\n for row in self.rows() {\n add(row);\n }\n }\n}\n";
        assert!(found(source, "")[0].starts_with("crates/space/src/a.rs:3: fn sum: 1 of its loops do not look"));
        assert!(found(source, "crates/space/src/a.rs sum 2")[0].contains("lower its number"));
        assert!(found("fn f() {}", "crates/space/src/a.rs sum 1")[0].contains("has no such loop: remove this line"));
        assert!(found("fn f() {}", "crates/space/src/a.rs sum")[0].contains("expected `PATH FUNCTION LOOPS`"));
    }

    #[test]
    fn a_loop_that_looks_or_that_no_program_lengthens_is_none() {
        for source in [
            "fn f(rows: &[u8]) { for row in rows { if should_stop() { break; } } }",
            "fn f(call: &mut Call) { while more() { call.look(0)?; } }",
            "fn f() { loop { assert!(!is_stopped()); } }",
            "fn f() { for side in [left, right] { turn(side); } }",
            "#[cfg(test)]\nmod tests { fn f() { loop {} } }",
        ] {
            assert_eq!(found(source, ""), [""; 0], "{source}");
        }
        // What is inside of a loop that looks has to look itself.
        let nested = "fn f(atoms: &[Atom]) { loop { look(); for atom in atoms { add(atom); } } }";
        assert_eq!(found(nested, "").len(), 1);
    }

    #[test]
    fn the_list_is_made_anew_unless_it_grows() {
        let source = "fn f() { while a() {} }\nfn g() { loop {} }";
        let tree = |list: &str| Tree::of(&[("crates/metta/src/a.rs", source), (LIST, list)]);
        let list = accepted(&tree("")).expect("there was no list");
        assert!(list.ends_with("crates/metta/src/a.rs f 1\ncrates/metta/src/a.rs g 1\n"), "{list}");
        assert!(accepted(&tree("crates/metta/src/a.rs f 1")).is_err_and(|message| message.contains("may only shrink")));
    }
}
