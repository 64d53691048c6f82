//! The grammar reads what the engine reads: the same atoms at the same places.

use std::ops::Range;
use std::path::{Path, PathBuf};

use metta::syntax::{NodeKind, Span, SyntaxTree, Visit, parse};
use proptest::prelude::*;
use tree_sitter::{Node, Parser, Query, QueryCursor, StreamingIterator, Tree};
use tree_sitter_metta::{FOLDS_QUERY, HIGHLIGHTS_QUERY, LANGUAGE};

/// The folders whose programs are read.
const PROGRAMS: [&str; 4] =
    ["../../corpus", "../../examples", "../../crates/metta/src/bundled", "../../bench/programs"];

/// An atom, a comment or a `!` of a text: what it is, and where it stands.
type Piece = (&'static str, Range<usize>);

fn read(text: &str) -> Tree {
    let mut parser = Parser::new();
    parser.set_language(&LANGUAGE.into()).expect("the grammar is of a format that this version reads");
    parser.parse(text, None).expect("without a limit, parsing ends with a tree")
}

/// The pieces that the grammar finds, in the order of the text.
fn pieces(tree: &Tree) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut waiting = vec![tree.root_node()];
    while let Some(node) = waiting.pop() {
        if let Some(kind) = piece(&node) {
            found.push((kind, node.byte_range()));
        }
        let children = (0..node.child_count()).rev().filter_map(|number| node.child(number));
        waiting.extend(children);
    }
    found
}

/// What a node is to the engine, which tells words apart by their meaning only.
fn piece(node: &Node<'_>) -> Option<&'static str> {
    match node.kind() {
        "list" => Some("expression"),
        "symbol" | "number" | "boolean" => Some("word"),
        "variable" => Some("variable"),
        "string" => Some("string"),
        "comment" => Some("comment"),
        "!" => Some("bang"),
        _ => None,
    }
}

/// The pieces that the engine finds, in the order of the text; of several `!` before an atom it keeps the last.
fn expected(tree: &SyntaxTree) -> Vec<Piece> {
    let range = |span: Span| span.start as usize..span.end as usize;
    let mut found: Vec<Piece> = tree.comments().iter().map(|span| ("comment", range(*span))).collect();
    for form in tree.forms() {
        found.extend(form.bang_span.map(|span| ("bang", range(span))));
        for visit in tree.walk(form.node) {
            let (Visit::Open(node) | Visit::Leaf(node)) = visit else { continue };
            let kind = match tree.kind(node) {
                NodeKind::Word(_) => "word",
                NodeKind::Variable(_) => "variable",
                NodeKind::String(_) => "string",
                NodeKind::Expression(_) => "expression",
            };
            found.push((kind, range(tree.span(node))));
        }
    }
    found.sort_by_key(|(_, range)| range.start);
    found
}

/// The pieces of the grammar with the last of several `!` alone, as the engine has it.
fn with_last_bangs(pieces: Vec<Piece>) -> Vec<Piece> {
    let next_atom = |from: usize| pieces[from..].iter().map(|(kind, _)| *kind).find(|kind| *kind != "comment");
    let is_kept = |(number, (kind, _)): &(usize, &Piece)| *kind != "bang" || next_atom(number + 1) != Some("bang");
    pieces.iter().enumerate().filter(is_kept).map(|(_, piece)| piece.clone()).collect()
}

fn assert_reads_alike(text: &str, name: &str) {
    let parsed = parse(text);
    assert!(parsed.first_error().is_none(), "{name}: {:?}", parsed.first_error());
    let tree = read(text);
    assert!(!tree.root_node().has_error(), "{name}: {}", tree.root_node().to_sexp());
    assert_eq!(with_last_bangs(pieces(&tree)), expected(&parsed.tree), "{name}: {text:?}");
}

/// The programs below a folder.
fn programs(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("the folder is listed").path();
        if path.is_dir() {
            found.extend(programs(&path));
        } else if path.extension().is_some_and(|end| end == "metta") {
            found.push(path);
        }
    }
    found
}

#[test]
fn programs_are_read_as_the_engine_reads_them() {
    let mut read = 0;
    for folder in PROGRAMS {
        for path in programs(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)) {
            let text = std::fs::read_to_string(&path).expect("programs are text");
            // Some programs are there to be wrong.
            if parse(&text).first_error().is_none() {
                assert_reads_alike(&text, &path.display().to_string());
                read += 1;
            }
        }
    }
    assert!(read > 200, "{read} programs");
}

#[test]
fn what_looks_odd_is_read_as_the_engine_reads_it() {
    let texts = [
        "",
        "\u{feff}(a b)",
        "!a !(b !) ! (c)",
        "! ; why\n!! ! x",
        "(a\"b\" c\"d)",
        "$x;y ($) $",
        "(-> 1 -1 +1.5 1e5 -2.5E-3 1. .5 1e 1x True Trues)",
        r#"("a;b" "\"" "\\" "\n\r\t\'" "\x41\u{1F600}\u{}\u{{4{1}")"#,
        "\"two\nlines\" ; and a comment\r\n(x)\r\n",
        "(a\u{3000}b\u{a0}c\u{85}d\u{200b}e)",
        "((((()))))",
        "(= (f $x) (+ $x 1)) !(f 2)",
    ];
    for text in texts {
        assert_reads_alike(text, "a text");
    }
}

#[test]
fn numbers_and_truth_values_are_told_from_symbols() {
    let kinds = |text: &str| -> Vec<String> {
        let tree = read(text);
        let mut cursor = tree.walk();
        tree.root_node().named_children(&mut cursor).map(|node| node.kind().to_owned()).collect()
    };
    assert!(kinds("1 -1 +007 +1.5 1e5 -2.5E-3 1.0e+9").iter().all(|kind| kind == "number"));
    assert!(kinds("1. .5 1e 1x - + 1e5.0 --1 Trues true 1/2 x1").iter().all(|kind| kind == "symbol"));
    assert_eq!(kinds("True False"), ["boolean", "boolean"]);
}

#[test]
fn a_text_with_an_error_has_its_sound_parts() {
    for (text, sound) in
        [("(a b)) (c d)", "(c d)"), ("(a \"x\\q\" b) (c d)", "(c d)"), ("(a b", "a"), ("(f \"open", "f")]
    {
        let tree = read(text);
        assert!(tree.root_node().has_error(), "{text}");
        let found = pieces(&tree).into_iter().any(|(_, range)| &text[range] == sound);
        assert!(found, "{text}: {}", tree.root_node().to_sexp());
    }
}

/// What a query captures: names and texts, in order; of several names the later stands.
fn captures<'text>(source: &str, text: &'text str) -> Vec<(String, &'text str)> {
    let query = Query::new(&LANGUAGE.into(), source).expect("the query is sound");
    let tree = read(text);
    let mut cursor = QueryCursor::new();
    let mut found: Vec<(Range<usize>, usize, u32)> = Vec::new();
    let mut matches = cursor.matches(&query, tree.root_node(), text.as_bytes());
    while let Some(one) = matches.next() {
        found
            .extend(one.captures().iter().map(|capture| (capture.node.byte_range(), one.pattern_index, capture.index)));
    }
    found.sort_by_key(|(range, pattern, _)| (range.start, range.end, *pattern));
    let mut named: Vec<(Range<usize>, u32)> = Vec::new();
    for (range, _, name) in found {
        if named.last().is_some_and(|(before, _)| *before == range) {
            named.pop();
        }
        named.push((range, name));
    }
    named.into_iter().map(|(range, name)| (query.capture_names()[name as usize].to_owned(), &text[range])).collect()
}

#[test]
fn nodes_have_their_colours() {
    let text = "; twice\n(: twice (-> Number Number))\n(= (twice $x) (if True (* 2 $x) (other \"a\\n\")))\n!(twice 4)";
    let found: Vec<String> = captures(HIGHLIGHTS_QUERY, text)
        .into_iter()
        .filter(|(name, _)| name != "punctuation.bracket")
        .map(|(name, text)| format!("{name} {}", text.escape_debug()))
        .collect();
    let expected = [
        "comment ; twice",
        "keyword :",
        "function twice",
        "operator ->",
        "keyword =",
        "function twice",
        "variable $x",
        "keyword if",
        "boolean True",
        "operator *",
        "number 2",
        "variable $x",
        "function.call other",
        "string \\\"a\\\\n\\\"",
        "string.escape \\\\n",
        "operator !",
        "function.call twice",
        "number 4",
    ];
    assert_eq!(found, expected);
}

#[test]
fn forms_fold() {
    let found: Vec<&str> = captures(FOLDS_QUERY, "(a (b)) !(c) d").into_iter().map(|(_, text)| text).collect();
    assert_eq!(found, ["(a (b))", "(c)"]);
}

/// Texts of what matters to a lexer, in all orders.
fn texts() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "(",
        ")",
        "()",
        "!",
        "\"",
        "\\",
        ";",
        "\n",
        " ",
        "$",
        "#",
        "a",
        "1",
        "-",
        "+",
        ".",
        "e",
        "True",
        "=",
        "\u{a0}",
        "\u{e9}",
        "\\n",
        "\"s\"",
        "; c\n",
        "$x",
        "\r\n",
        "1.5e3",
        "(f $x)",
        "\u{1f600}",
    ];
    proptest::collection::vec(proptest::sample::select(PIECES), 0..24).prop_map(|chosen| chosen.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, max_global_rejects: 2_000_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sound_texts_are_read_alike(text in texts()) {
        let sound = parse(&text).first_error().is_none();
        prop_assume!(sound);
        assert_reads_alike(&text, "a text");
    }
}
