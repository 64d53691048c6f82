//! The layout of sources: what it looks like, that it is its own layout, and that it means the same.

use metta::format;
use metta::syntax::{NodeKind, Parsed, Visit, parse};
use proptest::prelude::*;

/// What a text means: its forms and comments, without the space between.
fn meaning(parsed: &Parsed) -> Vec<String> {
    let tree = &parsed.tree;
    let mut words = Vec::new();
    for form in tree.forms() {
        words.push(if form.bang { "!".to_owned() } else { "+".to_owned() });
        words.extend(tree.walk(form.node).map(|visit| match visit {
            Visit::Open(_) => "(".to_owned(),
            Visit::Close(_) => ")".to_owned(),
            Visit::Leaf(leaf) => match tree.kind(leaf) {
                NodeKind::Word(word) => format!("word {word}"),
                NodeKind::Variable(name) => format!("variable {name}"),
                NodeKind::String(text) => format!("text {text}"),
                NodeKind::Expression(_) => unreachable!("it is a leaf"),
            },
        }));
    }
    words.extend(tree.comments().iter().map(|comment| comment.slice(tree.text()).trim_end().to_owned()));
    words
}

/// The layout of a text that parses, which must mean the same and be its own layout.
fn laid_out(text: &str) -> String {
    let parsed = parse(text);
    let once = format(&parsed);
    let again = parse(&once);
    assert_eq!(meaning(&parsed), meaning(&again), "{text:?} became {once:?}");
    assert_eq!(format(&again), once, "the layout of a layout of {text:?}");
    once
}

#[test]
fn spaces_and_brackets_are_set_and_breaks_are_kept() {
    let text = "\
(= (fact   $n)
     (if (== $n 0)   ; the end
   1
 (* $n
(fact (- $n 1))
)
))



!  ( fact 5 )
! foo
(a)(b)   (c) ; three facts
";
    let expected = "\
(= (fact $n)
   (if (== $n 0)  ; the end
       1
       (* $n
          (fact (- $n 1)))))

!(fact 5)
! foo
(a) (b) (c)  ; three facts
";
    assert_eq!(laid_out(text), expected);
}

#[test]
fn forms_with_a_body_are_indented_by_two() {
    let text = "(= (f $x)\n(let* (($a 1)\n($b 2))\n(case $x\n((1 one)\n(2 two)))))";
    let expected = "\
(= (f $x)
   (let* (($a 1)
          ($b 2))
     (case $x
       ((1 one)
        (2 two)))))
";
    assert_eq!(laid_out(text), expected);
}

#[test]
fn a_line_that_is_too_long_is_broken() {
    let text = format!("(= (long $x) (if (> $x 10) (some-function {}) (another-function $x)))", "argument ".repeat(6));
    let expected = "\
(= (long $x)
   (if (> $x 10)
       (some-function argument argument argument argument argument argument)
       (another-function $x)))
";
    assert_eq!(laid_out(&text), expected);
}

#[test]
fn comments_stay_between_the_same_words() {
    let text = "; first\n\n\n; second\n(a ; one\n  ; two\n  b\n  ; last\n  )\n; end";
    let expected = "; first\n\n; second\n(a  ; one\n  ; two\n  b\n  ; last\n  )\n; end\n";
    assert_eq!(laid_out(text), expected);
    assert_eq!(laid_out("! ; why\n(f)"), "!  ; why\n(f)\n");
    assert_eq!(laid_out("(; c\na)"), "(; c\n a)\n");
}

#[test]
fn texts_of_several_lines_and_odd_words_are_left_as_they_are() {
    assert_eq!(laid_out("(say \"a\n   b\"   c)"), "(say \"a\n   b\" c)\n");
    assert_eq!(laid_out("($x;y  z)"), "($x;y z)\n");
    assert_eq!(laid_out(""), "");
    assert_eq!(laid_out("\u{feff}(a)\r\n(b)\r\n"), "(a)\n(b)\n");
}

#[test]
fn nesting_takes_no_native_stack() {
    let depth = 100_000;
    let text = format!("{}x{}", "(a ".repeat(depth), ")".repeat(depth));
    let handle = std::thread::Builder::new().stack_size(256 << 10).spawn(move || format(&parse(&text)).len());
    assert!(handle.expect("a thread").join().expect("no overflow") > depth);
}

#[test]
fn the_corpus_and_the_examples_keep_their_meaning() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut files = 0;
    for folder in ["corpus", "examples"] {
        for entry in std::fs::read_dir(format!("{root}/{folder}")).expect("the folder is there") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|ending| ending == "metta") {
                let text = std::fs::read_to_string(&path).expect("a source is text");
                if parse(&text).first_error().is_none() {
                    laid_out(&text);
                    files += 1;
                }
            }
        }
    }
    assert!(files > 80, "{files}");
}

proptest! {
    #[test]
    fn any_text_that_parses_keeps_its_meaning(pieces in prop::collection::vec(piece(), 0..60)) {
        let text: String = pieces.concat();
        // What does not parse is not laid out.
        if parse(&text).first_error().is_none() {
            laid_out(&text);
        }
    }

    #[test]
    fn any_nested_text_keeps_its_meaning(text in nested()) {
        prop_assume!(parse(&text).first_error().is_none());
        laid_out(&text);
    }
}

fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "(", ")", "()", " ", "\n", "\n\n\n", "a", "=", "let", "$x", "!", "; c\n", ";\n", "\"t\"", "\"a\nb\"", "\t",
        "match", "\r\n", "1",
    ])
}

/// Expressions with heads of each style, breaks and comments anywhere, and words long enough to break lines.
fn nested() -> impl Strategy<Value = String> {
    let leaf =
        prop::sample::select(vec!["a", "$x", "42", "\"t\"", "\"a\nb\"", "a-word-that-is-rather-long-for-a-word"]);
    let leaf = leaf.prop_map(str::to_owned);
    let expression = leaf.prop_recursive(5, 60, 6, |inner| {
        let head =
            prop::sample::select(vec!["=", "let", "let*", "if", "match", "f", "foldl-atom", "()", "$f", "collapse"]);
        let gap = prop::sample::select(vec![" ", " ", " ", "\n", "  \n\n", " ; c\n", "\n; c\n"]);
        (head, prop::collection::vec((gap.clone(), inner), 0..6), prop::sample::select(vec!["", "", "\n", " ; c\n"]))
            .prop_map(|(head, parts, end)| {
                let parts: String = parts.into_iter().map(|(gap, part)| format!("{gap}{part}")).collect();
                format!("({head}{parts}{end})")
            })
    });
    let bang = prop::sample::select(vec!["", "!", "! ", "!\n"]);
    let gap = prop::sample::select(vec![" ", "\n", "\n\n\n", " ; c\n"]);
    prop::collection::vec((bang, expression, gap), 0..4)
        .prop_map(|forms| forms.into_iter().map(|(bang, form, gap)| format!("{bang}{form}{gap}")).collect())
}
