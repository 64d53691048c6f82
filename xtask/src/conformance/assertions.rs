//! The assertions of a script, by the engine's own parser.

use metta::syntax::{LineIndex, NodeKind, SyntaxTree, parse};

/// An assertion: the number of its form among the `!` forms of the file, and its line, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Assertion {
    pub(super) form: usize,
    pub(super) line: usize,
}

pub(super) fn find(source: &str) -> Vec<Assertion> {
    let parsed = parse(source);
    let lines = LineIndex::new(source);
    let asked = parsed.tree.forms().iter().filter(|form| form.bang);
    let numbered = asked.enumerate().map(|(index, form)| (index + 1, form));
    let assertions = numbered.filter(|(_, form)| head(&parsed.tree, form.node).starts_with("assert"));
    assertions
        .map(|(number, form)| Assertion { form: number, line: lines.position(form.span.start).line as usize })
        .collect()
}

/// The first word of an expression; empty for anything else.
fn head(tree: &SyntaxTree, node: metta::syntax::NodeId) -> &str {
    match tree.children(node).next().map(|first| tree.kind(first)) {
        Some(NodeKind::Word(word)) => word,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_evaluated_forms_with_such_a_head_count() {
        let source = "(assertEqual 1 1)\n!(bind! &s 1)\n! ; note\n(assertEqual 1\n 1)\n!assert\n!((assert) 1) !(assertIncludes 1 (1))\n";
        let expected = [Assertion { form: 2, line: 3 }, Assertion { form: 4, line: 7 }];
        assert_eq!(find(source), expected);
    }

    #[test]
    fn text_in_strings_and_comments_is_no_form() {
        assert_eq!(find("; !(assertEqual 1 1)\n\"!(assert True)\"\n!(id \"!(assert x)\")"), []);
    }
}
