//! A Rust file as syn reads it, with what the rules ask of its tokens.
//!
//! Items come from [`Source::file`]. What may stand inside a macro as well (functions of `proptest!`, paths in `assert!`) is looked for
//! in [`Source::levels`]: syn does not look into macros, but their tokens have places as others have.

use proc_macro2::{Delimiter, Ident, LexError, TokenStream, TokenTree};

/// A file that was read. Without `file` it is not Rust, and `error` says where.
pub(super) struct Source {
    pub(super) file: Option<syn::File>,
    pub(super) error: Option<Error>,
    /// The tokens of the file, and those between each pair of brackets, each as a sequence without what is nested deeper.
    levels: Vec<Vec<TokenTree>>,
}

/// Why a file is not Rust, and on which line.
pub(super) struct Error {
    pub(super) line: usize,
    pub(super) message: String,
}

/// A function with a body: from the line with `fn` to that with the closing brace.
pub(super) struct Function {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) lines: usize,
}

impl Source {
    pub(super) fn read(text: &str) -> Source {
        // A script may begin with `#!`, which is not a token; `#![…]` is one.
        let is_script = text.starts_with("#!") && !text.starts_with("#![");
        let text = if is_script { text.split_once('\n').map_or("", |(_, rest)| rest) } else { text };
        let tokens: TokenStream = match text.parse() {
            Ok(tokens) => tokens,
            Err(error) => return Source { file: None, error: Some(Error::of_tokens(&error)), levels: Vec::new() },
        };
        let mut levels = Vec::new();
        add_levels(tokens.clone(), &mut levels);
        let (file, error) = match syn::parse2(tokens) {
            Ok(file) => (Some(file), None),
            Err(error) => (None, Some(Error { line: error.span().start().line, message: error.to_string() })),
        };
        Source { file, error, levels }
    }

    /// The names that `mod name` declares, with their lines.
    pub(super) fn declared_modules(&self) -> Vec<(usize, String)> {
        let pairs = self.pairs().filter(|(word, _)| *word == "mod");
        pairs.map(|(_, name)| (line(name), name.to_string())).collect()
    }

    /// Two words in a row.
    fn pairs(&self) -> impl Iterator<Item = (&Ident, &Ident)> {
        let windows = self.levels.iter().flat_map(|level| level.windows(2));
        windows.filter_map(|pair| match pair {
            [TokenTree::Ident(one), TokenTree::Ident(other)] => Some((one, other)),
            _ => None,
        })
    }

    /// Every function with a body.
    pub(super) fn functions(&self) -> Vec<Function> {
        let mut functions = Vec::new();
        for level in &self.levels {
            for (at, token) in level.iter().enumerate() {
                if let (TokenTree::Ident(word), Some(TokenTree::Ident(name))) = (token, level.get(at + 1))
                    && word == "fn"
                    && let Some(end) = end_of_body(&level[at + 2..])
                {
                    let line = line(word);
                    functions.push(Function { name: name.to_string(), line, lines: end - line + 1 });
                }
            }
        }
        functions
    }

    /// The first words of paths, with their lines: words before `::` that nothing precedes in their path.
    pub(super) fn path_roots(&self) -> Vec<(usize, String)> {
        let mut roots = Vec::new();
        for level in &self.levels {
            for (at, token) in level.iter().enumerate() {
                if let TokenTree::Ident(word) = token
                    && are_colons(level.get(at + 1..at + 3))
                    && !(at >= 2 && are_colons(level.get(at - 2..at)))
                {
                    roots.push((line(word), word.to_string()));
                }
            }
        }
        roots
    }

    /// Whether there is an unsafe block or an unsafe implementation.
    pub(super) fn has_unsafe(&self) -> bool {
        self.levels.iter().flat_map(|level| level.windows(2)).any(|pair| {
            let is_unsafe = matches!(&pair[0], TokenTree::Ident(word) if word == "unsafe");
            is_unsafe
                && match &pair[1] {
                    TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                    TokenTree::Ident(word) => word == "impl",
                    _ => false,
                }
        })
    }

    /// Whether the file as a whole has the attribute `#![name(argument)]`.
    pub(super) fn has_attribute(&self, name: &str, argument: &str) -> bool {
        let attributes = self.file.iter().flat_map(|file| &file.attrs);
        attributes.filter_map(|attribute| attribute.meta.require_list().ok()).any(|list| {
            let mut words = list.tokens.clone().into_iter();
            list.path.is_ident(name) && words.any(|word| word.to_string() == argument)
        })
    }
}

impl Error {
    fn of_tokens(error: &LexError) -> Error {
        Error { line: error.span().start().line, message: error.to_string() }
    }
}

fn add_levels(tokens: TokenStream, levels: &mut Vec<Vec<TokenTree>>) {
    let level: Vec<TokenTree> = tokens.into_iter().collect();
    for token in &level {
        if let TokenTree::Group(group) = token {
            add_levels(group.stream(), levels);
        }
    }
    levels.push(level);
}

fn line(word: &Ident) -> usize {
    word.span().start().line
}

/// The last line of the body of a function, given what follows its name; none if the signature ends in `;`.
fn end_of_body(tokens: &[TokenTree]) -> Option<usize> {
    let is_sign = |at: usize, sign: char| matches!(&tokens[at], TokenTree::Punct(found) if found.as_char() == sign);
    for (at, token) in tokens.iter().enumerate() {
        match token {
            // A constant argument of a type, as in `Array<{ N }>`, is not a body.
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && !is_sign(at - 1, '<') => {
                return Some(group.span_close().end().line);
            }
            TokenTree::Punct(sign) if sign.as_char() == ';' => return None,
            _ => {}
        }
    }
    None
}

fn are_colons(tokens: Option<&[TokenTree]>) -> bool {
    let is_colon = |token: &TokenTree| matches!(token, TokenTree::Punct(sign) if sign.as_char() == ':');
    tokens.is_some_and(|tokens| tokens.iter().all(is_colon))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_in_macros_too_and_text_is_not_code() {
        let source = "fn one() {\n  let a = \"}\"; // }\n  let b = '}';\n}\nfn two(f: fn(u8) -> u8) -> Vec<u8> { vec![] }\n\
                      trait T { fn none(&self) -> [u8; 4]; }\nfn some<const N: usize>(a: A<{ N }>, b: [u8; { N }])\nwhere\n  T: B,\n{\n}\n\
                      fn raw() -> A<{ 1 }> {\n  r#\"fn no() {\"#; \"fn no() {\"\n}\nproptest! {\n  fn drawn(n in 0..9) {\n  }\n}\n";
        let found: Vec<(String, usize, usize)> =
            Source::read(source).functions().into_iter().map(|found| (found.name, found.line, found.lines)).collect();
        let mut expected = [("one", 1, 4), ("two", 5, 1), ("some", 7, 5), ("raw", 12, 3), ("drawn", 16, 2)];
        expected.sort();
        let mut found: Vec<(&str, usize, usize)> = found.iter().map(|found| (&*found.0, found.1, found.2)).collect();
        found.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn modules_and_roots_of_paths_are_found() {
        let source =
            Source::read("pub mod one;\nmod two { } // mod three;\nuse a::b;\nfn f() { g!(c::d::<e::F>()) }\n");
        let mut modules = source.declared_modules();
        modules.sort();
        assert_eq!(modules, [(1, "one".to_owned()), (2, "two".to_owned())]);
        let mut roots = source.path_roots();
        roots.sort();
        assert_eq!(roots, [(3, "a"), (4, "c"), (4, "e")].map(|(line, word)| (line, word.to_owned())));
    }

    #[test]
    fn what_is_not_rust_has_a_line() {
        for (text, line) in [("fn f() {}\nfn g( {\n", 2), ("fn f() {}\n\nfn fn\n", 3)] {
            let source = Source::read(text);
            assert_eq!(source.error.map(|error| error.line), Some(line), "{text}");
            assert!(source.file.is_none());
        }
        assert!(Source::read("#!/usr/bin/env run\nfn f() {}").file.is_some());
    }
}
