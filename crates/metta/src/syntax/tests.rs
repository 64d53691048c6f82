//! What the front end promises, rule by rule.
//!
//! Readings were compared with `parse_all` of Hyperon Experimental 0.2.10; where Metroon differs on
//! purpose, the test says so. Most tests write a tree as one line: see [`read`].

use super::parser::parse_within;
use super::*;

/// The forms of a text on one line: `!` before a form to evaluate, words as they are, `$name`,
/// strings by their value in the notation of Rust, expressions in brackets.
fn read(text: &str) -> String {
    let parsed = parse(text);
    let forms: Vec<String> = parsed.tree.forms().iter().map(|form| show(&parsed.tree, form)).collect();
    forms.join(" | ")
}

fn show(tree: &SyntaxTree, form: &Form) -> String {
    let mut line = String::from(if form.bang { "! " } else { "" });
    for visit in tree.walk(form.node) {
        let word = match visit {
            Visit::Open(_) => "(".into(),
            Visit::Close(_) => ")".into(),
            Visit::Leaf(node) => show_leaf(tree, node),
        };
        let tight = word == ")" || line.ends_with(['(', ' ']) || line.is_empty();
        line.push_str(if tight { "" } else { " " });
        line.push_str(&word);
    }
    line
}

fn show_leaf(tree: &SyntaxTree, node: NodeId) -> String {
    match tree.kind(node) {
        NodeKind::Word(word) => word.into(),
        NodeKind::Variable(name) => format!("${name}"),
        NodeKind::String(value) => format!("{value:?}"),
        NodeKind::Expression(_) => unreachable!("an expression is no leaf"),
    }
}

/// Each diagnostic as its code and the text under its span.
fn findings(text: &str) -> Vec<(&'static str, String)> {
    let parsed = parse(text);
    assert_eq!(parsed.tree.text(), text);
    parsed.diagnostics.iter().map(|one| (one.code, one.span.slice(text).to_string())).collect()
}

/// The one diagnostic of a text.
fn finding(text: &str) -> Diagnostic {
    let mut diagnostics = parse(text).diagnostics;
    assert_eq!(diagnostics.len(), 1, "{text:?}: {diagnostics:?}");
    diagnostics.remove(0)
}

/// Reads each text as the line beside it, with nothing to say about it.
fn assert_reads(cases: &[(&str, &str)]) {
    for (text, line) in cases {
        assert_eq!(read(text), *line, "{text:?}");
        assert_eq!(findings(text), [], "{text:?}");
    }
}

/// Finds one error in each text, with this code, at this piece of the text.
fn assert_finds(cases: &[(&str, &'static str, &str)]) {
    for (text, code, piece) in cases {
        let one = finding(text);
        assert_eq!((one.code, one.span.slice(text)), (*code, *piece), "{text:?}");
        assert_eq!(one.severity, Severity::Error, "{text:?}");
        assert!(!one.label.is_empty() && one.help.is_some(), "{text:?}");
    }
}

#[test]
fn nothing_is_no_form() {
    assert_reads(&[("", ""), (" \t\r\n ", ""), ("; only a comment", ""), ("\u{FEFF}", ""), ("\u{FEFF};c", "")]);
}

#[test]
fn words_end_at_white_space_brackets_and_semicolons() {
    assert_reads(&[
        ("a b\tc\nd\r\ne\rf", "a | b | c | d | e | f"),
        ("a(b)c", "a | (b) | c"),
        ("a;b\nc", "a | c"),
        ("a\u{B}b\u{C}c\u{85}d", "a | b | c | d"),
        ("a\u{A0}b\u{3000}c\u{2028}d", "a | b | c | d"),
        ("a\u{200B}b", "a\u{200B}b"),
        ("1 -1.5e3 True", "1 | -1.5e3 | True"),
        ("{a} [b c] d,e", "{a} | [b | c] | d,e"),
    ]);
}

#[test]
fn quotes_sigils_and_backslashes_inside_a_word_mean_nothing() {
    assert_reads(&[
        (r#"a"b c"d"#, r#"a"b | c"d"#),
        (r#"(a"b")"#, r#"(a"b")"#),
        ("a#b # a$b $a$b", "a#b | # | a$b | $a$b"),
        ("a!b a! 'a a'b", "a!b | a! | 'a | a'b"),
        (r"\ \a a\;b", r"\ | \a | a\"),
    ]);
}

#[test]
fn words_may_be_of_any_script() {
    assert_reads(&[("⟨wff⟩ ж(名前 $é \"ß\")", "⟨wff⟩ | ж | (名前 $é \"ß\")")]);
}

#[test]
fn expressions_nest_and_may_be_empty() {
    assert_reads(&[
        ("() ( )", "() | ()"),
        ("(a (b ($c)) ())", "(a (b ($c)) ())"),
        ("(a)(b)", "(a) | (b)"),
        ("(= (f $x) (* $x 2))", "(= (f $x) (* $x 2))"),
        ("(a\n(b)\n(c))", "(a (b) (c))"),
    ]);
}

#[test]
fn comments_run_to_the_newline_and_are_kept_apart() {
    assert_reads(&[
        ("(a;b)\nc)", "(a c)"),
        ("(a ; ( \" )\n)", "(a)"),
        (";c\rd\ne", "e"),
        (";c\u{2028}d\ne", "e"),
        (";; a\n;; b\n\n;; c\nd", "d"),
    ]);
    let text = "a;one\r\n(b ; two\n) \"; none\";three";
    let comments: Vec<&str> = parse(text).tree.comments().iter().map(|span| span.slice(text)).collect();
    assert_eq!(comments, [";one\r", "; two", ";three"]);
}

#[test]
fn variables_end_at_white_space_and_brackets() {
    assert_reads(&[
        ("$x $1 $a,b $a\"b $!", "$x | $1 | $a,b | $a\"b | $!"),
        ("$(a) $a(b)", "$ | (a) | $a | (b)"),
        ("($x)", "($x)"),
        ("$a\u{2028}b", "$a | b"),
    ]);
}

#[test]
fn a_lone_sigil_is_a_variable_without_a_name() {
    assert_reads(&[("$", "$"), ("$ a", "$ | a"), ("$$ $$a", "$$ | $$a")]);
    let parsed = parse("$");
    assert_eq!(parsed.tree.kind(parsed.tree.forms()[0].node), NodeKind::Variable(""));
}

#[test]
fn a_semicolon_does_not_end_a_variable_but_earns_a_warning() {
    assert_eq!(read("($a;b c)"), "($a;b c)");
    assert_eq!(read("$;c"), "$;c");
    let one = finding("($a;b c)");
    assert_eq!((one.severity, one.code), (Severity::Warning, "semicolon-in-variable"));
    assert_eq!(one.span.slice("($a;b c)"), "$a;b");
    assert_eq!(one.help.unwrap(), "put a space before `;` if a comment was meant");
}

#[test]
fn the_fresh_variable_mark_is_reserved() {
    assert_finds(&[
        ("$a#", "reserved-in-variable", "$a#"),
        ("(f $x#18 b)", "reserved-in-variable", "$x#18"),
        ("$#", "reserved-in-variable", "$#"),
        ("$a;#", "reserved-in-variable", "$a;#"),
    ]);
    let one = finding("$a#1");
    assert!(one.message.starts_with("'#' char is reserved for internal usage"));
    assert_eq!(one.help.unwrap(), "rename the variable, for example to `$a_1`");
}

#[test]
fn strings_hold_everything_up_to_their_quote() {
    assert_reads(&[
        (r#""" "a b""#, r#""" | "a b""#),
        ("\"a\nb;c(d)\"", r#""a\nb;c(d)""#),
        ("\"a\r\nb\"", r#""a\r\nb""#),
        (r#"("a""b"c"d")"#, r#"("a" "b" c"d")"#),
        (r#""a"b"#, r#""a" | b"#),
    ]);
}

#[test]
fn escapes_stand_for_their_characters() {
    assert_reads(&[
        (r#""\'\"\\\n\r\t""#, r#""'\"\\\n\r\t""#),
        (r#""a\x1b[1mb\x7Fc\x00""#, r#""a\u{1b}[1mb\u{7f}c\0""#),
        (r#""\u{27e8}wff\u{27E9} \u{130ac} \u{00000041}""#, "\"⟨wff⟩ \u{130AC} A\""),
        (r#""\n" "plain" "a\tb""#, r#""\n" | "plain" | "a\tb""#),
    ]);
}

#[test]
fn sloppy_unicode_escapes_read_as_in_hyperon() {
    assert_reads(&[(r#""\u{}""#, r#""\0""#), (r#""\u{{41}""#, r#""A""#), (r#""\u{4{1}""#, r#""A""#)]);
}

#[test]
fn wrong_escapes_are_errors_at_their_place() {
    assert_finds(&[
        (r#""a\qb""#, "invalid-escape", r"\q"),
        (r#""\/""#, "invalid-escape", r"\/"),
        (r#""\é""#, "invalid-escape", r"\é"),
        (r#""\x80""#, "invalid-escape", r"\x80"),
        (r#""\xg0""#, "invalid-escape", r"\x"),
        (r#""\x4""#, "invalid-escape", r"\x4"),
        (r#""\u41""#, "invalid-escape", r"\u"),
        (r#""\u{d800}""#, "invalid-escape", r"\u{d800}"),
        (r#""\u{110000}""#, "invalid-escape", r"\u{110000}"),
        (r#""\u{000000041}""#, "invalid-escape", r"\u{00000004"),
        (r#""\u{4 1}""#, "invalid-escape", r"\u{4"),
        (r#""\u{defg}""#, "invalid-escape", r"\u{def"),
        (r#""\u{41""#, "invalid-escape", r"\u{41"),
    ]);
    assert_eq!(finding(r#""\q""#).message, r"Invalid escape sequence `\q`");
    assert_eq!(finding("\"\\\u{1b}\"").message, r"Invalid escape sequence `\\u{1b}`");
    assert!(finding(r#""\x80""#).help.unwrap().contains("up to 7F"));
    assert!(finding(r#""\u41""#).help.unwrap().contains("in braces"));
    assert!(finding(r#""\q""#).help.unwrap().contains("write it twice"));
}

#[test]
fn every_wrong_escape_of_a_string_is_found() {
    let text = r#"(a "\q \n \w") (b)"#;
    assert_eq!(findings(text), [("invalid-escape", r"\q".into()), ("invalid-escape", r"\w".into())]);
    assert_eq!(read(text), "(b)");
}

#[test]
fn an_unclosed_string_is_an_error_at_its_quote() {
    let text = "(ok) (a \"bc) (d)";
    let parsed = parse(text);
    assert_eq!(read(text), "(ok)");
    assert_eq!(parsed.forms_before_error().len(), 1);
    let one = finding(text);
    assert!(one.message.starts_with("Unclosed String Literal"));
    assert_eq!((one.code, one.span), ("unclosed-string", Span { start: 8, end: 9 }));
    assert_eq!(finding("\"ab\\").code, "unclosed-string");
    assert_eq!(finding("\"").code, "unclosed-string");
}

#[test]
fn an_unclosed_string_shows_the_form_it_swallowed() {
    let text = "(a \"b)\n\n  (c)\n! (d)\n(e)";
    let one = finding(text);
    assert_eq!(one.related.len(), 1);
    assert_eq!(one.related[0].0.start as usize, text.find('!').unwrap());
}

#[test]
fn a_bang_alone_marks_the_next_atom() {
    assert_reads(&[
        ("! a", "! a"),
        ("!(a)", "! (a)"),
        ("!;c\na", "! a"),
        ("!\n\n(a)", "! (a)"),
        ("!\u{A0}a !\tb", "! a | ! b"),
        ("! a ! b c", "! a | ! b | c"),
        ("! \"x\" ! $x", "! \"x\" | ! $x"),
        ("a!\n", "a!"),
    ]);
}

#[test]
fn a_second_bang_says_the_same_again() {
    assert_reads(&[("! !\n(+ 1 2)", "! (+ 1 2)"), ("! ! ! a b", "! a | b")]);
    let form = parse("! ! a").tree.forms()[0];
    assert_eq!((form.bang_span, form.span), (Some(Span::new(2, 3)), Span::new(2, 5)));
}

#[test]
fn inside_an_expression_a_bang_is_a_word() {
    assert_reads(&[("(!)", "(!)"), ("(! a)", "(! a)"), ("(!a !(b))", "(!a ! (b))")]);
}

#[test]
fn a_word_that_begins_with_a_bang_is_a_symbol_with_a_warning() {
    for (text, word) in [("!foo", "!foo"), ("!\"x\"", "!\"x\""), ("!$x", "!$x"), ("!!(a)", "!!"), ("a !b", "!b")] {
        let one = finding(text);
        assert_eq!((one.severity, one.code), (Severity::Warning, "bang-symbol"), "{text}");
        assert_eq!(one.span.slice(text), word);
        assert!(parse(text).tree.forms().iter().all(|form| !form.bang));
    }
    assert_eq!(finding("!foo").help.unwrap(), "write `! foo` to evaluate it, or `foo` if it is meant as a fact");
    assert_eq!(read("!\"a b\""), "!\"a | b\"");
    assert_reads(&[("! !foo", "! !foo")]);
}

#[test]
fn a_bang_at_the_end_is_an_error() {
    assert_finds(&[("!", "bang-without-atom", "!"), ("a ! ; c\n", "bang-without-atom", "!")]);
    assert_eq!(parse("(a) !").forms_before_error().len(), 1);
}

#[test]
fn a_form_spans_from_its_bang_to_its_end() {
    let text = " ! (a b) $c";
    let parsed = parse(text);
    let spans: Vec<&str> = parsed.tree.forms().iter().map(|form| form.span.slice(text)).collect();
    assert_eq!(spans, ["! (a b)", "$c"]);
    assert_eq!(parsed.tree.span(parsed.tree.forms()[0].node).slice(text), "(a b)");
    assert_eq!(parsed.tree.forms()[0].bang_span, Some(Span::new(1, 2)));
    assert_eq!(parsed.tree.forms()[1].bang_span, None);
}

#[test]
fn every_node_spans_its_own_text() {
    let text = "(é $v \"s\\n\" (⟨w⟩))";
    let parsed = parse(text);
    let pieces = |node| parsed.tree.children(node).map(|child| parsed.tree.span(child).slice(text)).collect::<Vec<_>>();
    let root = parsed.tree.forms()[0].node;
    assert_eq!(pieces(root), ["é", "$v", "\"s\\n\"", "(⟨w⟩)"]);
    assert_eq!(pieces(parsed.tree.children(root).next_back().unwrap()), ["⟨w⟩"]);
    assert_eq!(parsed.tree.children(parsed.tree.children(root).next().unwrap()).len(), 0);
}

#[test]
fn an_unexpected_bracket_is_skipped() {
    assert_finds(&[
        (")", "unexpected-close", ")"),
        ("(a))", "unexpected-close", ")"),
        ("! )", "unexpected-close", ")"),
    ]);
    assert_eq!(read("(a)) (b) ) c"), "(a) | (b) | c");
    assert_eq!(findings("a) b)").len(), 2);
    assert!(finding(")").message.starts_with("Unexpected right bracket"));
    assert_eq!(parse("a) b").forms_before_error().len(), 1);
}

#[test]
fn a_missing_bracket_is_an_error_at_the_opener() {
    assert_finds(&[
        ("(", "unclosed-expression", "("),
        ("(a) (b", "unclosed-expression", "("),
        ("!(a", "unclosed-expression", "("),
    ]);
    let text = "(a) (b (c (d) e";
    let one = finding(text);
    assert_eq!(one.message, "Unexpected end of expression: 2 `)` are missing");
    assert_eq!(one.span, Span::new(4, 5));
    assert_eq!(one.related[0].0, Span::new(7, 8));
    assert_eq!(one.help.unwrap(), "add the 2 missing `)` where the expression should end");
    assert_eq!(read(text), "(a)");
    assert_eq!(finding("(a").message, "Unexpected end of expression: a `)` is missing");
}

#[test]
fn a_line_at_the_margin_shows_where_the_bracket_is_missing() {
    let text = "(ok)\n(= (f $x)\n   (g $x)\n\n(= (h) 1)\n! (h)\n";
    let one = finding(text);
    assert_eq!((one.code, one.span), ("unclosed-expression", Span::new(5, 6)));
    let (place, words) = &one.related[0];
    assert_eq!(place.start as usize, text.find("(= (h)").unwrap());
    assert_eq!(words, "this line begins at the margin while the expression is still open");
    assert_eq!(one.help.unwrap(), "add the missing `)` before the line that begins at the margin");
    assert_eq!(read(text), "(ok) | (= (h) 1) | ! (h)");
    assert_eq!(parse(text).forms_before_error().len(), 1);
}

#[test]
fn several_open_expressions_are_found_in_one_text() {
    let text = "(a (b\n(c\n  (d)\n!(e)\n(f (g\n(h)";
    assert_eq!(read(text), "! (e) | (h)");
    let openers: Vec<u32> = parse(text).diagnostics.iter().map(|one| one.span.start).collect();
    assert_eq!(openers, [0, 6, 20]);
    assert_eq!(parse(text).forms_before_error(), []);
}

#[test]
fn recovery_reads_bangs_and_warnings_as_at_the_top_level() {
    assert_eq!(read("(a\n!\n(b) (c)"), "! (b) | (c)");
    let text = "(a\n!b";
    assert_eq!(findings(text), [("unclosed-expression", "(".into()), ("bang-symbol", "!b".into())]);
    assert_eq!(findings("(a\n!").len(), 2);
    assert_eq!(findings("(a\n! (b"), [("unclosed-expression", "(".to_string()), ("unclosed-expression", "(".into())]);
}

#[test]
fn recovery_needs_a_margin() {
    assert_eq!(read("(a\n (b)\n c"), "");
    assert_eq!(read("(a\nb\n(c)"), "(c)");
    assert_eq!(read("(a\r\n(c)"), "(c)");
    assert_eq!(read("(a\n(b) (c)"), "(b) | (c)");
}

#[test]
fn recovered_forms_with_errors_are_dropped() {
    let text = "(a\n(b \"\\q\")\n(c)\n(d $x#)";
    assert_eq!(read(text), "(c)");
    assert_eq!(findings(text).len(), 3);
}

#[test]
fn an_open_expression_before_an_unclosed_string_needs_a_margin_to_be_told() {
    assert_eq!(findings("(a (b \"c").len(), 1);
    assert_eq!(read("(a\n(b)\n(c \"d"), "(b)");
    let codes: Vec<&str> = findings("(a\n(b)\n(c \"d").iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, ["unclosed-expression", "unclosed-string"]);
    assert_eq!(parse("(a\n(b)\n(c \"d").forms_before_error(), []);
}

#[test]
fn forms_with_an_error_inside_are_no_forms() {
    assert_eq!(read("a (b (c \"\\q\") d) ! $x# (e) ! f"), "a | (e) | ! f");
    assert_eq!(parse("a (b (c \"\\q\") d) e").forms_before_error().len(), 1);
}

#[test]
fn without_an_error_all_forms_come_before_it() {
    let parsed = parse("(a) !b $c;d");
    assert!(parsed.first_error().is_none());
    assert_eq!(parsed.diagnostics.len(), 2);
    assert_eq!(parsed.forms_before_error(), parsed.tree.forms());
}

#[test]
fn diagnostics_are_sorted_by_place() {
    let parsed = parse("!a (b \"\\q\" (c $d#) (");
    let starts: Vec<u32> = parsed.diagnostics.iter().map(|one| one.span.start).collect();
    assert_eq!(starts, [0, 3, 7, 14]);
    assert_eq!(parsed.first_error().unwrap().code, "unclosed-expression");
    assert_eq!(parsed.forms_before_error().len(), 1);
}

#[test]
fn nul_bytes_are_errors_everywhere() {
    assert_finds(&[
        ("\0", "nul-byte", "\0"),
        ("a\0b", "nul-byte", "\0"),
        ("$\0", "nul-byte", "\0"),
        ("(a \"b\0c\")", "nul-byte", "\0"),
        ("; c\0\n", "nul-byte", "\0"),
    ]);
    assert_eq!(read("(a ;\0\n b) (c\0) ;\0\n d"), "d");
    assert!(finding("a\0").help.unwrap().contains("UTF-16"));
}

#[test]
fn a_byte_order_mark_is_skipped_and_counts_in_spans() {
    let decoded = decode(b"\xEF\xBB\xBF(a) b");
    let text = &*decoded.text;
    assert_eq!(read(text), "(a) | b");
    assert_eq!(parse(text).tree.forms()[0].span, Span::new(3, 6));
    assert_eq!(read("a \u{FEFF}b"), "a | \u{FEFF}b");
    assert_eq!(read("\u{FEFF}(a\n(b)"), "(b)");
    let lines = LineIndex::new(text);
    assert_eq!(lines.position(3), Position { line: 1, column: 1 });
    assert_eq!(lines.position(0), Position { line: 1, column: 1 });
    assert_eq!(lines.line_span(1).unwrap().slice(text), "(a) b");
}

#[test]
fn bytes_that_are_not_utf8_are_refused_with_their_place() {
    let sound = decode("(é ⟨w⟩)".as_bytes());
    assert_eq!((&*sound.text, sound.flaw), ("(é ⟨w⟩)", None));
    let cases: [(&[u8], u32, &str); 4] = [
        (b"ab\xFFc", 2, "ab\u{FFFD}c"),
        (b"\xE2\x9F", 0, "\u{FFFD}"),
        (b"a\xC3(", 1, "a\u{FFFD}("),
        (b"\xED\xA0\x80", 0, "\u{FFFD}\u{FFFD}\u{FFFD}"),
    ];
    for (bytes, start, text) in cases {
        let decoded = decode(bytes);
        let error = decoded.flaw.unwrap();
        assert_eq!((error.code, error.span.slice(&decoded.text)), ("invalid-utf8", "\u{FFFD}"));
        assert_eq!((error.span.start, &*decoded.text), (start, text));
        assert!(error.help.unwrap().contains("save the file as UTF-8"));
    }
    assert_eq!(decode(b"a\nb\xFF").flaw.unwrap().message, "The source is not valid UTF-8: byte 0xFF at offset 3");
    assert!(decode(b"\xFF\xFEa\0").flaw.unwrap().help.unwrap().contains("UTF-16"));
}

/// What is complete before the first byte that is not UTF-8 runs; a word that goes on with it does not.
#[test]
fn forms_before_a_byte_that_is_not_utf8_are_complete() {
    let cases: [(&[u8], usize); 5] = [
        (b"(a) (b)\xFF", 2),
        (b"(a) b\xFF", 1),
        (b"(a) ; \xFF\n(b)", 1),
        (b"(a) (b \xFF", 1),
        (b"(a) (b \xFF) ) (c", 1),
    ];
    for (bytes, complete) in cases {
        let parsed = decode(bytes).parse();
        assert_eq!(parsed.forms_before_error().len(), complete, "{}", bytes.escape_ascii());
        assert_eq!(parsed.diagnostics.iter().filter(|found| found.code == "invalid-utf8").count(), 1);
    }
}

#[test]
fn a_text_that_is_too_long_is_refused() {
    let parsed = parse_within("(a b)", 4);
    assert_eq!(parsed.first_error().unwrap().code, "source-too-long");
    assert!(parsed.tree.forms().is_empty() && parsed.forms_before_error().is_empty());
    assert!(parse_within("(a b)", 5).first_error().is_none());
}

#[test]
fn lines_and_columns_count_from_one_in_characters() {
    let text = "aé\r\n⟨w⟩ b\n\nlast";
    let lines = LineIndex::new(text);
    let position = |piece: &str| lines.position(text.find(piece).unwrap() as u32);
    assert_eq!(position("a"), Position { line: 1, column: 1 });
    assert_eq!(position("\r"), Position { line: 1, column: 3 });
    assert_eq!(position("⟨"), Position { line: 2, column: 1 });
    assert_eq!(position("b"), Position { line: 2, column: 5 });
    assert_eq!(position("last"), Position { line: 4, column: 1 });
    assert_eq!(lines.position(u32::MAX), Position { line: 4, column: 5 });
    assert_eq!(LineIndex::new("").position(0), Position { line: 1, column: 1 });
    assert_eq!(LineIndex::new("a\n").position(2), Position { line: 2, column: 1 });
}

#[test]
fn a_line_span_leaves_out_the_line_end() {
    let text = "one\r\ntwo\n\nfour";
    let lines = LineIndex::new(text);
    let contents: Vec<Option<&str>> = (0..6).map(|line| lines.line_span(line).map(|span| span.slice(text))).collect();
    assert_eq!(contents, [None, Some("one"), Some("two"), Some(""), Some("four"), None]);
}

#[test]
fn a_span_of_another_text_slices_nothing() {
    assert_eq!(Span::new(0, 9).slice("é"), "");
    assert_eq!(Span::new(1, 2).slice("é"), "");
    assert_eq!(Span::new(2, 1).slice("abc"), "");
    assert_eq!(Span::new(usize::MAX, usize::MAX).start, u32::MAX);
}

#[test]
fn messages_quote_the_source_briefly_and_harmlessly() {
    let long = format!("!{}", "x".repeat(1000));
    let one = finding(&long);
    assert!(one.message.len() < 200 && one.message.contains('…'));
    assert!(!finding("!\u{1b}[2J").message.contains('\u{1b}'));
}

#[test]
fn diagnostics_of_one_kind_are_capped_with_a_note() {
    let many = DIAGNOSTICS_PER_CODE_MAX as usize + 5;
    let text = format!("({} $x#", "\"\\q\" ".repeat(many));
    let parsed = parse(&text);
    let count = |code| parsed.diagnostics.iter().filter(|one| one.code == code).count();
    assert_eq!(count("invalid-escape"), DIAGNOSTICS_PER_CODE_MAX as usize);
    assert_eq!((count("reserved-in-variable"), count("unclosed-expression")), (1, 1));
    let note = parsed.diagnostics.iter().find(|one| one.severity == Severity::Note).unwrap();
    assert_eq!(note.message, "5 more diagnostics of the kind `invalid-escape` are not listed");
    assert_eq!(note.span.slice(&text), "\\q");
    assert_eq!(parsed.first_error().unwrap().span.start, 0);
}

#[test]
fn children_have_smaller_numbers_than_their_parents() {
    let parsed = parse("(a (b (c) d) ()) (e)");
    for form in parsed.tree.forms() {
        for visit in parsed.tree.walk(form.node) {
            let Visit::Close(node) = visit else { continue };
            assert!(parsed.tree.children(node).all(|child| child < node && child.index() < node.index()));
        }
    }
}

/// How deep the nesting in the tests below is: native recursion, or time that grows with the
/// square of the depth, would not come to an end here.
const DEPTH: usize = 1_000_000;

#[test]
fn a_million_nested_expressions_are_read_walked_copied_and_dropped() {
    let text = format!("{}{}", "(".repeat(DEPTH), ")".repeat(DEPTH));
    let parsed = parse(&text);
    assert!(parsed.diagnostics.is_empty());
    let root = parsed.tree.forms()[0].node;
    assert_eq!(parsed.tree.walk(root).count(), 2 * DEPTH);
    assert_eq!(parsed.clone().tree.span(root).slice(&text).len(), 2 * DEPTH);
}

#[test]
fn a_million_open_brackets_are_one_error() {
    let text = "(a ".repeat(DEPTH);
    let one = finding(&text);
    assert_eq!(one.message, "Unexpected end of expression: 1000000 `)` are missing");
    assert_eq!(one.related[0].0.start as usize, 3 * (DEPTH - 1));
}

#[test]
fn a_million_open_brackets_at_the_margin_are_a_short_list() {
    let parsed = parse(&"(a\n".repeat(DEPTH));
    assert_eq!(parsed.diagnostics.len(), DIAGNOSTICS_PER_CODE_MAX as usize + 1);
    assert_eq!(parsed.first_error().unwrap().span.start, 0);
}

#[test]
fn long_runs_of_anything_take_linear_time() {
    for piece in
        [")", "! ", "!a ", "; c\n", "\"", "\"\\\"\n(", "\\", "\"\\u{", "{", "$", "$x# ", "\0", "\u{A0}", "(\n!"]
    {
        for first in ["", "(", "\"", "\"\\u{"] {
            let text = format!("{first}{}", piece.repeat(DEPTH / 4));
            check_invariants(&text);
        }
    }
}

#[test]
fn random_text_keeps_the_invariants() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for _ in 0..20_000 {
        let length = random.below(48);
        let bytes: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        check_invariants(&String::from_utf8_lossy(&bytes));
        let decoded = decode(&bytes);
        if let Some(flaw) = decoded.flaw {
            assert_eq!(flaw.span.slice(&decoded.text), "\u{FFFD}");
        }
    }
}

#[test]
fn random_programs_read_as_the_obvious_reader_does() {
    let mut random = Random(0xD1B5_4A32_D192_ED03);
    for _ in 0..20_000 {
        let text = random_program(&mut random);
        check_invariants(&text);
        let parsed = parse(&text);
        match Obvious::read(&text) {
            Some(line) => assert_eq!((read(&text), parsed.first_error()), (line, None), "{text:?}"),
            None => assert!(parsed.first_error().is_some(), "{text:?}"),
        }
    }
}

#[test]
fn forms_before_an_error_read_the_same_without_the_rest() {
    let mut random = Random(0xA076_1D64_78BD_642F);
    for _ in 0..20_000 {
        let text = random_program(&mut random);
        let parsed = parse(&text);
        let Some(last) = parsed.forms_before_error().last() else {
            continue;
        };
        let cut = &text[..last.span.end as usize];
        assert!(Obvious::read(cut).is_some(), "{text:?}");
        assert_eq!(parse(cut).tree.forms(), parsed.forms_before_error(), "{text:?}");
    }
}

/// Asserts what holds for every text.
fn check_invariants(text: &str) {
    let parsed = parse(text);
    for one in &parsed.diagnostics {
        assert!(!one.message.is_empty() && !one.label.is_empty() && one.help.is_some());
        assert!(one.span.start < one.span.end, "{text:?}");
        check_span(text, one.span);
        one.related.iter().for_each(|(span, _)| check_span(text, *span));
    }
    assert!(parsed.diagnostics.is_sorted_by_key(|one| one.span.start));
    assert!(parsed.tree.forms().is_sorted_by(|one, next| one.span.end <= next.span.start));
    assert!(parsed.forms_before_error().len() <= parsed.tree.forms().len());
    parsed.tree.forms().iter().for_each(|form| check_form(text, &parsed.tree, form));
}

fn check_span(text: &str, span: Span) {
    assert!(text.get(span.start as usize..span.end as usize).is_some(), "{span:?} in {text:?}");
}

fn check_form(text: &str, tree: &SyntaxTree, form: &Form) {
    check_span(text, form.span);
    assert_eq!(form.bang, form.bang_span.is_some());
    assert_eq!(form.span.end, tree.span(form.node).end);
    for visit in tree.walk(form.node) {
        match visit {
            Visit::Leaf(node) => check_leaf(text, tree, node),
            Visit::Open(node) => check_children(text, tree, node),
            Visit::Close(_) => {}
        }
    }
}

fn check_leaf(text: &str, tree: &SyntaxTree, node: NodeId) {
    let piece = tree.span(node).slice(text);
    match tree.kind(node) {
        NodeKind::Word(word) => assert_eq!(piece, word),
        NodeKind::Variable(name) => assert_eq!(piece.strip_prefix('$'), Some(name)),
        NodeKind::String(_) => {
            assert!(piece.len() >= 2 && piece.starts_with('"') && piece.ends_with('"'))
        }
        NodeKind::Expression(_) => unreachable!("an expression is no leaf"),
    }
}

fn check_children(text: &str, tree: &SyntaxTree, node: NodeId) {
    let span = tree.span(node);
    let piece = span.slice(text);
    assert!(piece.starts_with('(') && piece.ends_with(')'));
    let mut end = span.start + 1;
    for child in tree.children(node).map(|child| tree.span(child)) {
        assert!(end <= child.start && child.end < span.end);
        end = child.end;
    }
}

/// A program out of pieces that matter, often well formed.
fn random_program(random: &mut Random) -> String {
    const PIECES: [&str; 24] = [
        "(", ")", "(", ")", "(a ", "(b)", "(c)", "\n(", "\n! ", "!", " ", "\n", "a", "$x", "$y ", "#", ";", ";c\n",
        "\"", "\"s\"", "\"\\n\"", "\\", "u{41}", "é",
    ];
    let count = 1 + random.below(16);
    (0..count).map(|_| PIECES[random.below(PIECES.len())]).collect()
}

/// Marsaglia's xorshift generator: the same texts in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
}

/// The obvious reader: recursive, character by character, and gives up at the first error.
struct Obvious<'text> {
    rest: std::iter::Peekable<std::str::Chars<'text>>,
}

impl Obvious<'_> {
    /// The forms of a text, written as by [`read`]; `None` if there is an error.
    fn read(text: &str) -> Option<String> {
        let mut reader = Obvious { rest: text.chars().peekable() };
        let mut forms = Vec::new();
        let mut bang = "";
        while let Some(atom) = reader.atom()? {
            if atom == "!" {
                bang = "! ";
                continue;
            }
            forms.push(format!("{bang}{atom}"));
            bang = "";
        }
        (reader.rest.next().is_none() && bang.is_empty()).then(|| forms.join(" | "))
    }

    /// The next atom; `Some(None)` before a closing bracket and at the end.
    fn atom(&mut self) -> Option<Option<String>> {
        self.blank();
        match self.rest.peek() {
            None | Some(')') => Some(None),
            Some('(') => self.expression().map(Some),
            Some('"') => self.string().map(Some),
            Some('$') => Some(self.until("")).filter(|name| !name.contains('#')).map(Some),
            Some(_) => Some(Some(self.until(";"))),
        }
    }

    fn blank(&mut self) {
        while let Some(character) = self.rest.next_if(|next| next.is_whitespace() || *next == ';') {
            if character == ';' {
                while self.rest.next_if(|next| *next != '\n').is_some() {}
            }
        }
    }

    fn expression(&mut self) -> Option<String> {
        self.rest.next();
        let mut parts = Vec::new();
        while let Some(atom) = self.atom()? {
            parts.push(atom);
        }
        self.rest.next().map(|_| format!("({})", parts.join(" ")))
    }

    /// A string of the pieces of [`random_program`].
    fn string(&mut self) -> Option<String> {
        self.rest.next();
        let mut value = String::new();
        loop {
            match self.rest.next()? {
                '"' => return Some(format!("{value:?}")),
                '\\' => value.push(self.escape()?),
                character => value.push(character),
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        match self.rest.next()? {
            'n' => Some('\n'),
            'u' => "{41}".chars().all(|wanted| self.rest.next() == Some(wanted)).then_some('A'),
            character => matches!(character, '"' | '\\').then_some(character),
        }
    }

    fn until(&mut self, more_ends: &str) -> String {
        let ends = |next: &char| next.is_whitespace() || *next == '(' || *next == ')' || more_ends.contains(*next);
        std::iter::from_fn(|| self.rest.next_if(|next| !ends(next))).collect()
    }
}
