//! Atoms for tests, read from text, and a space to put them into.
//!
//! The notation is that of programs, less escapes and comments: `(edge $x b 1 2.5 "text" True)`.

use space::canonical::{decode, encode};
use space::{Atom, Number, SharedSpace, Solution, Terms, Variable, VariableSource, substitute};
use std::iter::Peekable;
use std::str::Chars;

/// The one atom that a text says.
pub(crate) fn atom(text: &str) -> Atom {
    let mut characters = text.chars().peekable();
    let found = read(&mut characters);
    assert_eq!(found.len(), 1, "one atom is expected in {text:?}");
    found.into_iter().next().expect("it was counted")
}

/// The atoms up to a closing parenthesis or the end.
fn read(characters: &mut Peekable<Chars<'_>>) -> Vec<Atom> {
    let mut found = Vec::new();
    while let Some(character) = characters.next() {
        match character {
            '(' => found.push(Atom::expression(read(characters))),
            ')' => break,
            ' ' => {}
            '"' => {
                found.push(Atom::from(characters.by_ref().take_while(|&next| next != '"').collect::<String>().as_str()))
            }
            first => {
                let mut word = String::from(first);
                while let Some(next) = characters.next_if(|next| !"() ".contains(*next)) {
                    word.push(next);
                }
                found.push(leaf(&word));
            }
        }
    }
    found
}

fn leaf(word: &str) -> Atom {
    if let Some(name) = word.strip_prefix('$') {
        return Atom::variable(name);
    }
    let is_number = word.trim_start_matches('-').starts_with(|first: char| first.is_ascii_digit());
    match word {
        "True" => Atom::from(true),
        "False" => Atom::from(false),
        _ if is_number => Number::parse_integer(word)
            .map(Atom::from)
            .unwrap_or_else(|| Atom::from(word.parse::<f64>().expect("a word that begins like a number is one"))),
        _ => Atom::symbol(word),
    }
}

/// An expression of these words and atoms.
pub(crate) fn expression<const N: usize>(children: [Atom; N]) -> Atom {
    Atom::expression(children)
}

/// The variable `$name`, as a variable.
pub(crate) fn variable(name: &str) -> Variable {
    Variable::new(name)
}

/// `(head (head … bottom))`, this many levels deep.
pub(crate) fn nested(head: &str, depth: usize, bottom: Atom) -> Atom {
    let head = Atom::symbol(head);
    (0..depth).fold(bottom, |inner, _| expression([head.clone(), inner]))
}

/// A space and the source of its fresh variables.
pub(crate) struct Base {
    pub(crate) space: SharedSpace,
    pub(crate) source: VariableSource,
}

impl Base {
    pub(crate) fn new() -> Self {
        Self { space: SharedSpace::new(1, "&self", Terms::shared()), source: VariableSource::default() }
    }

    /// A space that holds these atoms.
    pub(crate) fn of(atoms: &[&str]) -> Self {
        let base = Self::new();
        atoms.iter().for_each(|text| base.add(text));
        base
    }

    pub(crate) fn add(&self, text: &str) {
        self.space.add(&atom(text));
    }

    pub(crate) fn remove(&self, text: &str) -> bool {
        self.space.remove(&atom(text))
    }

    pub(crate) fn count(&self, text: &str) -> usize {
        self.space.read(|space| space.count(&atom(text)))
    }

    pub(crate) fn solutions(&mut self, query: &Atom) -> Vec<Solution> {
        self.space.query(query, &mut self.source)
    }

    /// For each solution of a query, the template with the values in it, printed; other variables as `$_0`, `$_1`, …
    pub(crate) fn answers(&mut self, query: &str, template: &str) -> Vec<String> {
        let template = atom(template);
        let solutions = self.solutions(&atom(query));
        solutions.iter().map(|solution| printed(&applied(solution, &template))).collect()
    }

    /// Its atoms, printed in the same way.
    pub(crate) fn contents(&mut self) -> Vec<String> {
        self.space.atoms(&mut self.source).iter().map(printed).collect()
    }
}

/// A template with the values of a solution in it.
pub(crate) fn applied(solution: &Solution, template: &Atom) -> Atom {
    // One after the other, since no value mentions a variable that has a value.
    solution.iter().fold(template.clone(), |made, (name, value)| substitute(&made, name, value))
}

fn printed(atom: &Atom) -> String {
    // The canonical form names variables by first occurrence. States and spaces have no form and need none.
    decode(&encode(atom), |_| None).as_ref().unwrap_or(atom).to_string()
}
