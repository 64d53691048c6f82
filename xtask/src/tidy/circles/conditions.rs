//! Which code is for tests alone.

use proc_macro2::{TokenStream, TokenTree};
use syn::Attribute;

/// Whether an item with these attributes is compiled for tests only.
pub(super) fn is_for_tests(attributes: &[Attribute]) -> bool {
    let conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    conditions.filter_map(|attribute| attribute.meta.require_list().ok()).any(|list| needs_test(list.tokens.clone()))
}

/// Whether a condition is `test`, or `all(…)` with that in it.
fn needs_test(condition: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = condition.into_iter().collect();
    tokens.iter().enumerate().any(|(at, token)| match token {
        TokenTree::Ident(word) => word == "test",
        TokenTree::Group(group) => {
            let is_all = at > 0 && matches!(&tokens[at - 1], TokenTree::Ident(word) if word == "all");
            is_all && needs_test(group.stream())
        }
        _ => false,
    })
}
