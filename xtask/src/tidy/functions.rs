//! A function longer than [`LINES_MAX`] lines is on a list, and the list may only shrink.
//!
//! The list is `xtask/long-functions.txt`, a line `PATH NAME LINES` for each such function. It must say exactly what
//! is there: a listed function that got shorter has its number lowered, or its line removed. [`LISTED_MAX`] is the
//! length of the list, so that adding a line means raising a number in this file, which a reviewer will see.
//!
//! A length runs from the line with `fn` to the line with the closing brace. One `match` in it is not counted if it names every case: no arm
//! takes what the others leave, so the compiler finds a case that was forgotten, and each arm has at most [`ARM_LINES_MAX`] lines. An
//! instruction loop and a renderer are such functions: in pieces they would hand each other what is left.

use std::collections::HashMap;

use super::Finding;
use super::rust::{self, Source};
use super::tree::Tree;
use syn::Pat;
use syn::visit::{self, Visit};

const LINES_MAX: usize = 70;
/// The longest arm of a `match` that is not counted.
const ARM_LINES_MAX: usize = 12;
/// How many lines the list has. Lower it when the list shrinks; never raise it.
const LISTED_MAX: usize = 0;
const LIST: &str = "xtask/long-functions.txt";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Function {
    path: String,
    name: String,
    lines: usize,
    /// Where it starts; 0 for one that is only listed.
    line: usize,
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut long: Vec<Function> = tree.rust().flat_map(|(path, source)| functions(path, source)).collect();
    long.retain(|function| function.lines > LINES_MAX);
    let (mut listed, mut found) = list(tree.text(LIST).unwrap_or_default());
    let count = listed.len();
    for function in &long {
        let entry = listed.iter().position(|entry| entry.path == function.path && entry.name == function.name);
        found.extend(compare(function, entry.map(|entry| listed.swap_remove(entry))));
    }
    found.extend(listed.iter().map(gone));
    if count != LISTED_MAX && found.is_empty() {
        let message = format!("{count} entries, but LISTED_MAX is {LISTED_MAX}: lower it if the list has shrunk");
        found.push(Finding::new(LIST, 0, message));
    }
    found
}

fn compare(function: &Function, entry: Option<Function>) -> Option<Finding> {
    let Function { path, name, lines, line } = function;
    let at = |message| Some(Finding::new(path, *line, message));
    match entry {
        None => at(format!("fn {name} has {lines} lines; {LINES_MAX} is the most: give its parts names of their own")),
        Some(entry) if *lines > entry.lines => {
            at(format!("fn {name} grew from {} to {lines} lines; the list may only shrink", entry.lines))
        }
        Some(entry) if *lines < entry.lines => {
            at(format!("fn {name} shrank from {} to {lines} lines: lower its number in {LIST}", entry.lines))
        }
        Some(_) => None,
    }
}

fn gone(entry: &Function) -> Finding {
    let message = format!("fn {} of {} is short or gone: remove this line", entry.name, entry.path);
    Finding::new(LIST, entry.line, message)
}

/// The entries of the list (`line` is their place in it) and what is wrong with it.
fn list(text: &str) -> (Vec<Function>, Vec<Finding>) {
    let (mut entries, mut found) = (Vec::new(), Vec::new());
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    for (line, entry) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let words: Vec<&str> = entry.split_whitespace().collect();
        match words.as_slice() {
            [path, name, lines] if lines.parse::<usize>().is_ok() => entries.push(Function {
                path: (*path).to_owned(),
                name: (*name).to_owned(),
                lines: lines.parse().unwrap_or_default(),
                line,
            }),
            _ => found.push(Finding::new(LIST, line, "expected `PATH NAME LINES`")),
        }
    }
    (entries, found)
}

/// Every function with a body, with the lines that count.
fn functions(path: &str, source: &Source) -> Vec<Function> {
    let mut matches = WholeMatches::default();
    source.file.iter().for_each(|file| matches.visit_file(file));
    let functions = source.functions().into_iter();
    functions
        .map(|rust::Function { name, line, lines }| {
            let lines = lines - matches.lines.get(&line).copied().unwrap_or(0);
            Function { path: path.to_owned(), name, lines, line }
        })
        .collect()
}

/// Finds in each function the longest `match` that names every case.
#[derive(Default)]
struct WholeMatches {
    /// Where the function at hand begins.
    function: usize,
    /// The lines of that `match`, by the line of its function.
    lines: HashMap<usize, usize>,
}

impl WholeMatches {
    fn within(&mut self, keyword: proc_macro2::Span, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.function, keyword.start().line);
        visit(self);
        self.function = outer;
    }
}

impl<'ast> Visit<'ast> for WholeMatches {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.within(item.sig.fn_token.span, |found| visit::visit_item_fn(found, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.within(item.sig.fn_token.span, |found| visit::visit_impl_item_fn(found, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.within(item.sig.fn_token.span, |found| visit::visit_trait_item_fn(found, item));
    }

    fn visit_expr_match(&mut self, found: &'ast syn::ExprMatch) {
        let end = found.brace_token.span.close().end().line;
        // An arm is measured from its arrow to the next one.
        let arrows = found.arms.iter().map(|arm| arm.fat_arrow_token.spans[0].start().line);
        let ends = arrows.clone().skip(1).chain([end]);
        let are_short = arrows.zip(ends).all(|(arrow, end)| end - arrow <= ARM_LINES_MAX);
        if are_short && !found.arms.iter().any(|arm| takes_the_rest(&arm.pat)) {
            let longest = self.lines.entry(self.function).or_default();
            *longest = (*longest).max(end - found.match_token.span.start().line + 1);
        }
        visit::visit_expr_match(self, found);
    }
}

/// Whether a pattern is `_`, or a name for whatever comes.
fn takes_the_rest(pattern: &Pat) -> bool {
    match pattern {
        Pat::Wild(_) => true,
        // A name in upper case is a constant or a variant.
        Pat::Ident(name) => name.subpat.is_none() && !name.ident.to_string().starts_with(char::is_uppercase),
        Pat::Or(either) => either.cases.iter().any(takes_the_rest),
        Pat::Paren(inner) => takes_the_rest(&inner.pat),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sized(name: &str, lines: usize) -> String {
        format!("fn {name}() {{\n{}}}\n", "    step();\n".repeat(lines - 2))
    }

    #[test]
    fn a_long_function_is_found_unless_listed_exactly() {
        let check_with = |list: &str, lines: usize| {
            let tree = Tree::of(&[("a.rs", &sized("big", lines)), (LIST, list)]);
            check(&tree).into_iter().map(|finding| finding.to_string()).collect::<Vec<_>>()
        };
        assert!(check_with("", 70).is_empty());
        assert!(check_with("", 71)[0].starts_with("a.rs:1: fn big has 71 lines"));
        assert!(check_with("a.rs big 80", 90)[0].contains("grew from 80 to 90"));
        assert!(check_with("a.rs big 80", 75)[0].contains("shrank from 80 to 75"));
        assert!(
            check_with("# note\na.rs big 80", 20)[0].contains("long-functions.txt:2: fn big of a.rs is short or gone")
        );
        assert!(check_with("a.rs big", 20)[0].contains("expected `PATH NAME LINES`"));
    }

    #[test]
    fn one_match_that_names_every_case_is_not_counted() {
        let of = |last: &str, arm: usize| {
            let arms: String = (0..80).map(|number| format!("        A::B{number} => one(),\n")).collect();
            let long = "            step();\n".repeat(arm - 2);
            let text = format!(
                "fn run() {{\n    match a {{\n{arms}        A::Long => {{\n{long}        }}\n{last}    }}\n}}\n"
            );
            check(&Tree::of(&[("a.rs", &text)])).len()
        };
        assert_eq!(of("", 12), 0);
        assert_eq!(of("", 13), 1, "an arm is long");
        assert_eq!(of("        _ => two(),\n", 3), 1, "an arm takes the rest");
        assert_eq!(of("        A::C | other => two(),\n", 3), 1);
        assert_eq!(of("        A::C | Self::D { .. } => two(),\n", 3), 0);
        let two = format!("fn run() {{\n{0}{0}}}\n", format!("match a {{\n{}}}\n", "A => 1,\n".repeat(80)));
        assert_eq!(check(&Tree::of(&[("a.rs", &two)])).len(), 1, "two of them");
    }

    #[test]
    fn the_list_may_not_grow() {
        let list = format!("{}a.rs big 80\n", "# comment\n".repeat(3));
        let found = check(&Tree::of(&[("a.rs", &sized("big", 80)), (LIST, &list)]));
        assert_eq!(found.len(), usize::from(LISTED_MAX != 1));
    }
}
