//! The grammar of MeTTa for [Tree-sitter](https://tree-sitter.github.io): what editors highlight, fold and select by.
//!
//! [`LANGUAGE`] is what `tree_sitter::Parser::set_language` takes. The queries are what the editor asks of a tree.

use tree_sitter_language::LanguageFn;

unsafe extern "C" {
    fn tree_sitter_metta() -> *const ();
}

/// The grammar.
// SAFETY: the generated function gives a table that lives as long as the program and that nobody writes.
pub const LANGUAGE: LanguageFn = unsafe { LanguageFn::from_raw(tree_sitter_metta) };

/// Which nodes get which colour, by the names that editors share.
pub const HIGHLIGHTS_QUERY: &str = include_str!("../../queries/highlights.scm");

/// Which nodes fold.
pub const FOLDS_QUERY: &str = include_str!("../../queries/folds.scm");
