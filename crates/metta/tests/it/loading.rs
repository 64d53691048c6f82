//! MeTTa text that is loaded: the oracle is the parser, which reads it whole.

use metta::syntax::{self, Severity};
use metta::{Format, LoadSource, MemoryWorld, MettaText, Out, Session, read_atom};
use proptest::prelude::*;
use space::{Atom, VariableSource};

/// The atoms of records, and why others were left out.
#[derive(Debug, Default, PartialEq)]
struct Records {
    atoms: Vec<String>,
    skipped: Vec<(u64, String, bool)>,
    line: u64,
    open: Vec<Vec<Atom>>,
}

impl Records {
    fn part(&mut self, atom: Atom) {
        match self.open.last_mut() {
            Some(siblings) => siblings.push(atom),
            None => self.atom(atom),
        }
    }
}

impl Out for Records {
    fn record(&mut self, line: u64) {
        assert!(self.open.is_empty() && line >= self.line);
        self.line = line;
    }

    fn open(&mut self) {
        self.open.push(Vec::new());
    }

    fn symbol(&mut self, name: &str) {
        self.part(Atom::symbol(name));
    }

    fn leaf(&mut self, atom: Atom) {
        self.part(atom);
    }

    fn close(&mut self) {
        let children = self.open.pop().expect("what is closed was opened");
        self.part(Atom::expression(children));
    }

    fn atom(&mut self, atom: Atom) {
        self.atoms.push(shown(&atom));
    }

    fn skip(&mut self, reason: &str, is_error: bool) {
        self.skipped.push((self.line, reason.to_owned(), is_error));
    }
}

/// An atom with its kinds told apart: a string that looks like a symbol is none.
fn shown(atom: &Atom) -> String {
    let kind = if matches!(atom, Atom::Grounded(_)) { "grounded " } else { "" };
    format!("{kind}{atom}")
}

/// What the loader reads of a text that comes in pieces of a size.
fn loaded(text: &[u8], piece: usize) -> Records {
    let mut format = MettaText::new(Session::new(Box::new(MemoryWorld::default())).words());
    let (mut records, mut buffer) = (Records::default(), Vec::new());
    for piece in text.chunks(piece.max(1)) {
        buffer.extend_from_slice(piece);
        let used = format.read(&buffer, false, &mut records);
        buffer.drain(..used);
    }
    let used = format.read(&buffer, true, &mut records);
    assert_eq!(used, buffer.len(), "all is read at the end");
    records
}

/// What the parser reads of it, if it parses.
fn parsed(text: &str) -> Option<Vec<String>> {
    let parsed = syntax::parse(text);
    if parsed.diagnostics.iter().any(|found| found.severity == Severity::Error) {
        return None;
    }
    let session = Session::new(Box::new(MemoryWorld::default()));
    let plain = parsed.tree.forms().iter().filter(|form| !form.bang);
    Some(plain.map(|form| shown(&session.words().read_atom(&parsed.tree, form.node))).collect())
}

fn check(text: &str) {
    let whole = loaded(text.as_bytes(), usize::MAX);
    for piece in [1, 2, 3, 7] {
        assert_eq!(loaded(text.as_bytes(), piece), whole, "{text:?} in pieces of {piece}");
    }
    if let Some(expected) = parsed(text) {
        assert_eq!(whole.atoms, expected, "{text:?}");
        assert!(whole.skipped.iter().all(|(.., is_error)| !is_error), "{text:?}: {whole:?}");
    } else {
        assert!(whole.skipped.iter().any(|(.., is_error)| *is_error), "{text:?} does not parse, and nobody says so");
    }
}

#[test]
fn a_text_is_read_as_the_parser_reads_it() {
    for text in [
        "",
        "(edge a b)\n(edge b c)",
        "\u{feff}(a)",
        "a b c ; d\n e",
        "(a ; comment ) \" (\n b)",
        "!(a) (b) ! (c) !foo (d)",
        "(a \"x\" \"y\\n\\\"z\" \"\" 'q')",
        "(1 -2 +3 007 1.5 1e3 True False 123456789012345678901234567890 -)",
        "($x (f $y) $x;y)",
        "(a\u{a0}b é\u{2003}(λ))",
        "(+ 1 (car-atom (a b)) &self)",
        "(()(())())",
        "\"lone\" 7 $v",
        "(a",
        "a)",
        "(a))(b)",
        "(\"a",
        "(a \\ b)",
        "(a $b#c) (d)",
        "!",
        "(nul \0) (b)",
        "a;b\n\"s\"t",
        "(s\"t u\"v\")",
    ] {
        check(text);
    }
}

#[test]
fn bytes_that_are_no_text_are_left_out_with_their_form() {
    let records = loaded(b"(a)\n(b \xff)\n(c)", 1);
    assert_eq!(records.atoms, ["(a)", "(c)"]);
    assert_eq!(records.skipped, [(2, "not UTF-8".to_owned(), true)]);
}

#[test]
fn lines_are_counted_through_forms_comments_and_strings() {
    let records = loaded(b"; one\n(a\n b)\n\"x\ny\" (c \"\n\")\n!(d)\n(bad $a#b)", 2);
    let lines: Vec<u64> = records.skipped.iter().map(|(line, ..)| *line).collect();
    assert_eq!(lines, [7, 8]);
}

const TOKENS: &[&str] = &[
    "(", ")", "(", ")", " ", "\n", "a", "edge", "12", "-3.5", "\"", "\"b c\"", "\\", ";", "; c\n", "$", "$x", "!",
    "! ", "é", "\u{a0}", "#", "\0", "True", "&self", "+", "\\n",
];

proptest! {
    #[test]
    fn any_text_is_read_as_the_parser_reads_it(tokens in proptest::collection::vec(proptest::sample::select(TOKENS), 0..40)) {
        check(&tokens.concat());
    }
}

fn load(session: &mut Session, path: &str) -> metta::LoadReport {
    let mut format = MettaText::new(session.words());
    session.load(&LoadSource { origin: path, file: Some(path) }, &mut format, &mut |_| {}).expect("it is loaded")
}

#[test]
fn a_loaded_file_is_what_a_run_of_it_adds() {
    let text = "(edge a b) (edge a b) (= (f $x) (edge $x b)) x 7 (n 1) (n 1.0) (deep (er (and er)) \"t\")";
    let world = MemoryWorld::default().with_source("f.metta", text);
    let mut loads = Session::new(Box::new(world));
    let report = load(&mut loads, "f.metta");
    assert_eq!((report.added, report.skipped.len()), (8, 0));
    let mut runs = Session::new(Box::new(MemoryWorld::default()));
    runs.run(text, &mut |_, _| Ok(()));
    let atoms = |session: &Session| -> Vec<String> {
        let plain = |atom: Atom| atom.to_string().split('#').next().unwrap_or_default().to_owned();
        session.top_space().atoms(&mut VariableSource::default()).into_iter().map(plain).collect()
    };
    assert_eq!(atoms(&loads), atoms(&runs));
    assert_eq!(loads.statistics().atoms_added, 8);
    let mut answers = Vec::new();
    loads.run("!(f a)", &mut |_, answer| {
        answers.extend(answer.results.iter().map(ToString::to_string));
        Ok(())
    });
    assert_eq!(answers, ["(edge a b)"]);
}

#[test]
fn rules_that_are_loaded_replace_compiled_ones() {
    let world = MemoryWorld::default().with_source("more.metta", "(= (f) 2) (fact 2)");
    let mut session = Session::new(Box::new(world));
    let mut answers = Vec::new();
    let mut ask = |session: &mut Session| {
        session.run("!(f) !(match &self (fact $x) $x)", &mut |_, answer| {
            answers.push(answer.results.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
            Ok(())
        });
    };
    session.run("(= (f) 1) (fact 1)", &mut |_, _| Ok(()));
    ask(&mut session);
    load(&mut session, "more.metta");
    ask(&mut session);
    assert_eq!(answers, ["1", "1", "1 2", "1 2"]);
}

#[test]
fn types_are_checked_where_a_program_asks_for_that() {
    let world = MemoryWorld::default().with_source("f.metta", "(foo bad)\n(foo 1)");
    let mut session = Session::new(Box::new(world));
    session.run("(: foo (-> Number Type)) (: bad String) !(pragma! type-check auto)", &mut |_, _| Ok(()));
    let report = load(&mut session, "f.metta");
    assert_eq!(report.added, 1);
    assert!(report.skipped[0].is_error && report.skipped[0].line == 1, "{report:?}");
}

#[test]
fn symbols_of_a_mebibyte_and_wide_expressions_are_loaded() {
    let name = "n".repeat(1 << 20);
    let wide = " c".repeat(100_000);
    let world =
        MemoryWorld::default().with_source("f.metta", format!("(big {name})\n(wide{wide})\n(x{})", " $v".repeat(200)));
    let mut session = Session::new(Box::new(world));
    assert_eq!(load(&mut session, "f.metta").added, 3);
    let lengths: Vec<usize> = session
        .top_space()
        .atoms(&mut VariableSource::default())
        .iter()
        .map(|atom| atom.children().unwrap().len())
        .collect();
    assert_eq!(lengths, [2, 100_001, 201]);
}

/// Whatever is read, a literal is what the tokenizer says.
#[test]
fn the_reader_of_atoms_is_that_of_programs() {
    let parsed = syntax::parse("(a 1 &self)");
    let session = Session::new(Box::new(MemoryWorld::default()));
    let literal = read_atom(&parsed.tree, parsed.tree.forms()[0].node, &metta::Tokenizer::literals());
    assert_ne!(literal.to_string(), session.words().read_atom(&parsed.tree, parsed.tree.forms()[0].node).to_string());
}
