//! What is stored: the facts and rules of the report, and edges, as atoms, as texts, and as the bytes that a trie takes.

use metta::Tokenizer;
use metta::syntax;
use space::Atom;
use std::error::Error;
use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::Path;

/// How many second arguments the edges have.
pub(super) const TARGETS: u64 = 1_000;
/// A prime that divides no number of edges used here: steps of it visit every edge, in no particular order.
const STRIDE: u64 = 7_368_787;

/// The number of the edge at a position.
pub(super) fn number_at(position: u64, edges: u64) -> u64 {
    position * STRIDE % edges
}

/// The atom that a text states.
pub(super) fn atom(text: &str) -> Atom {
    let parsed = syntax::parse(text);
    metta::read_atom(&parsed.tree, parsed.tree.forms()[0].node, &Tokenizer::literals())
}

/// `(fact 7 value-7)`, as the report has it.
pub(super) fn report_fact(number: u64) -> String {
    format!("(fact {number} value-{number})")
}

/// The rule from `(rule 7)` to `result-7`.
pub(super) fn report_rule(number: u64) -> String {
    format!("(= (rule {number}) result-{number})")
}

/// Edge number `number` as an atom.
pub(super) fn edge(number: u64) -> Atom {
    let name = |letter: char, number: u64| Atom::symbol(&format!("{letter}{number}"));
    Atom::expression([Atom::symbol("edge"), name('a', number), name('b', number % TARGETS)])
}

/// How a file writes an edge.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Metta,
    Csv,
    Prolog,
}

impl Form {
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Metta => "metta",
            Self::Csv => "csv",
            Self::Prolog => "pl",
        }
    }

    fn write(self, line: &mut String, number: u64) -> std::fmt::Result {
        let target = number % TARGETS;
        match self {
            Self::Metta => writeln!(line, "(edge a{number} b{target})"),
            Self::Csv => writeln!(line, "a{number},b{target}"),
            Self::Prolog => writeln!(line, "edge(a{number}, b{target})."),
        }
    }
}

/// The edges as a text.
pub(super) fn text(form: Form, edges: u64) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    (0..edges).try_for_each(|position| form.write(&mut text, number_at(position, edges)))?;
    Ok(text)
}

/// Writes the edges to a file.
pub(super) fn write_file(path: &Path, form: Form, edges: u64) -> Result<(), Box<dyn Error>> {
    let mut file = BufWriter::new(std::fs::File::create(path)?);
    let mut line = String::new();
    for position in 0..edges {
        line.clear();
        form.write(&mut line, number_at(position, edges))?;
        file.write_all(line.as_bytes())?;
    }
    Ok(file.flush()?)
}

/// Adds the bytes under which a trie keeps an atom: the form that the facts of MORK describe, with names as texts. A byte
/// says how many children come, or how many bytes of a name.
pub(super) fn trie_bytes(atom: &Atom, bytes: &mut Vec<u8>) {
    const NAME: u8 = 0b1100_0000;
    match atom {
        Atom::Expression(expression) => {
            bytes.push(expression.len() as u8);
            expression.children().iter().for_each(|child| trie_bytes(child, bytes));
        }
        Atom::Symbol(name) => {
            bytes.push(NAME | name.as_str().len() as u8);
            bytes.extend_from_slice(name.as_str().as_bytes());
        }
        other => {
            let start = bytes.len();
            bytes.push(NAME);
            // Writing to memory does not fail.
            let _ = write!(bytes, "{other}");
            bytes[start] |= (bytes.len() - start - 1) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_visit_every_edge() {
        for edges in [1_000, 125_000, 1_000_000] {
            let mut seen = vec![false; edges as usize];
            (0..edges).for_each(|position| seen[number_at(position, edges) as usize] = true);
            assert!(seen.into_iter().all(|seen| seen));
        }
    }

    #[test]
    fn an_atom_is_what_its_text_states() {
        assert_eq!(atom("(edge a7 b7)"), edge(7));
        let mut bytes = Vec::new();
        trie_bytes(&atom(&report_fact(12)), &mut bytes);
        assert_eq!(bytes, b"\x03\xc4fact\xc212\xc8value-12");
    }
}
