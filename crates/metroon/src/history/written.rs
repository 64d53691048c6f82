//! Writing atoms as source that reads back.
//!
//! An atom is written and read again by the words of a fresh program; only what comes back equal counts as written. So a
//! symbol that would be read as a number, a space, or a word that is known only after an import is found out, whatever
//! the reason.

use crate::commit_journal::record::TOP_SPACE;
use metta::syntax;
use metta::{ModuleId, Program, Tokenizer, read_atom};
use space::{Atom, Grounded, Number, Rewrite, Variable, beginning, canonical, named_as_in_source, rewrite};

/// How much of an atom that cannot be written is shown, in bytes.
const SHOWN_BYTES_MAX: usize = 200;

/// Writes atoms as source.
pub struct SourceWriter {
    tokenizer: Tokenizer,
}

/// Why an atom has no source, with how it prints, on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwritten {
    /// What in it cannot be written.
    pub reason: &'static str,
    /// How the atom prints, cut if it is long.
    pub shown: String,
}

impl Default for SourceWriter {
    fn default() -> Self {
        Self { tokenizer: Program::new().tokenizer_of(ModuleId::TOP).expect("the program has words").clone() }
    }
}

impl SourceWriter {
    /// A line that a program reads as a form that states this atom.
    ///
    /// # Errors
    /// There is none.
    pub fn write(&self, atom: &Atom) -> Result<String, Unwritten> {
        let text = source_text(&named_as_in_source(atom));
        if self.reads_back(&text, atom) {
            return Ok(text);
        }
        // Names that no source can have, or that came to be equal, are not what matters about variables.
        let text = source_text(&with_numbered_variables(atom));
        if self.reads_back(&text, atom) {
            return Ok(text);
        }
        Err(Unwritten { reason: self.reason(atom), shown: shown(atom) })
    }

    fn reads_back(&self, text: &str, atom: &Atom) -> bool {
        let parsed = syntax::parse(text);
        let [form] = parsed.tree.forms() else { return false };
        parsed.first_error().is_none()
            && !form.bang
            && canonical::encode(&read_atom(&parsed.tree, form.node, &self.tokenizer)) == canonical::encode(atom)
    }

    /// What the first leaf is that cannot be written.
    fn reason(&self, atom: &Atom) -> &'static str {
        let mut atoms = vec![atom];
        while let Some(atom) = atoms.pop() {
            match atom {
                Atom::Expression(expression) => atoms.extend(expression.children().iter().rev()),
                // Within an expression even `!` is a word.
                leaf if self.reads_back(&format!("({})", source_text(leaf)), &Atom::expression([leaf.clone()])) => {}
                Atom::Symbol(_) => return "a symbol that no word is read as",
                Atom::Variable(_) => return "a variable",
                Atom::Grounded(Grounded::Number(_)) => return "a number that no word is read as",
                Atom::Grounded(Grounded::Space(_)) => return "a space",
                Atom::Grounded(Grounded::State(_)) => return "a state",
                Atom::Grounded(Grounded::Bindings(_)) => return "bindings",
                Atom::Grounded(Grounded::Host(_)) => return "a word that is known only after an import",
                Atom::Grounded(_) => return "a value without a literal",
            }
        }
        "a symbol that begins an evaluation"
    }
}

/// How an atom is written if it can be; what cannot is written as it prints.
pub(super) fn source_text(atom: &Atom) -> String {
    enum Step<'a> {
        Atom(&'a Atom),
        Text(&'static str),
    }
    let mut text = String::new();
    let mut steps = vec![Step::Atom(atom)];
    while let Some(step) = steps.pop() {
        match step {
            Step::Text(piece) => text.push_str(piece),
            Step::Atom(Atom::Expression(expression)) => {
                text.push('(');
                steps.push(Step::Text(")"));
                for (index, child) in expression.children().iter().enumerate().rev() {
                    steps.push(Step::Atom(child));
                    if index > 0 {
                        steps.push(Step::Text(" "));
                    }
                }
            }
            Step::Atom(Atom::Grounded(Grounded::Space(space))) if space.serial() == TOP_SPACE => {
                text.push_str("&self");
            }
            Step::Atom(Atom::Grounded(Grounded::Number(Number::Float(float)))) if float.is_infinite() => {
                // The only literal that is read as infinity is one that is too large.
                text.push_str(if *float > 0.0 { "1e999" } else { "-1e999" });
            }
            Step::Atom(leaf) => text.push_str(&leaf.to_string()),
        }
    }
    text
}

fn with_numbered_variables(atom: &Atom) -> Atom {
    let mut known: Vec<Variable> = Vec::new();
    let renamed = rewrite(atom, |variable| {
        let number = known.iter().position(|known| known == variable).unwrap_or_else(|| {
            known.push(variable.clone());
            known.len() - 1
        });
        Rewrite::Replace(Atom::variable(&format!("v{}", number + 1)))
    });
    renamed.unwrap_or_else(|| atom.clone())
}

fn shown(atom: &Atom) -> String {
    let mut text = beginning(&named_as_in_source(atom), SHOWN_BYTES_MAX + 1);
    if text.len() > SHOWN_BYTES_MAX {
        text.truncate(text.floor_char_boundary(SHOWN_BYTES_MAX));
        text.push('…');
    }
    text.chars().map(|character| if character.is_control() { '\u{fffd}' } else { character }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(atom: &Atom) -> Result<String, &'static str> {
        SourceWriter::default().write(atom).map_err(|unwritten| unwritten.reason)
    }

    #[test]
    fn what_reads_back_is_written() {
        let float = |value: f64| Atom::from(Number::from(value));
        for (atom, expected) in [
            (Atom::symbol("a-b"), "a-b"),
            (Atom::from("say \"hi\"\n\t\\ \u{0} é"), "\"say \\\"hi\\\"\\n\\t\\\\ \\u{0} é\""),
            (Atom::expression([Atom::symbol("!"), Atom::variable("x")]), "(! $x)"),
            (float(1.0), "1.0"),
            (float(-0.0), "-0.0"),
            (float(1e300), "1e300"),
            (float(5e-324), "5e-324"),
            (float(f64::INFINITY), "1e999"),
            (float(f64::NEG_INFINITY), "-1e999"),
            (Atom::expression([Atom::variable("a b"), Atom::variable("c")]), "($v1 $v2)"),
            (Atom::unit(), "()"),
        ] {
            assert_eq!(written(&atom).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn what_would_read_as_something_else_is_not() {
        for (atom, reason) in [
            (Atom::symbol("1"), "a symbol that no word is read as"),
            (Atom::symbol("a b"), "a symbol that no word is read as"),
            (Atom::symbol(""), "a symbol that no word is read as"),
            (Atom::symbol("a;b"), "a symbol that no word is read as"),
            (Atom::symbol("+"), "a symbol that no word is read as"),
            (Atom::symbol("!"), "a symbol that begins an evaluation"),
            (Atom::from(Number::from(f64::NAN)), "a number that no word is read as"),
        ] {
            assert_eq!(written(&atom), Err(reason), "{atom}");
            let inside = Atom::expression([Atom::symbol("f"), atom]);
            assert!(written(&inside).is_err() || reason.contains("evaluation"), "{inside}");
        }
    }
}
