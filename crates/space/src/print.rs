//! Printing atoms, in the syntax that reads back.
//!
//! What has no syntax prints as Hyperon prints it: a state as `(State content)`, a space and a native function by
//! name. Printing walks with an explicit stack; a state met inside itself prints as `(State ...)`.

use crate::atom::{Atom, Expression, Solution, Symbol, Variable};
use crate::grounded::{Grounded, SharedState};
use crate::sharing::Outcomes;
use rustc_hash::FxHashSet;
use std::fmt::{self, Write};
use std::sync::Arc;

enum PrintStep {
    Atom(Atom),
    Text(&'static str),
    LeaveState(SharedState),
}

/// What is being counted: the atom itself, and its parts where they lie.
enum Counted {
    Expression(Expression),
    Bindings(Arc<Solution>),
    State(SharedState, Atom),
}

impl Counted {
    /// What has parts to count, if an atom is that.
    fn of(atom: &Atom) -> Option<Self> {
        Some(match atom {
            Atom::Expression(expression) if !expression.is_empty() => Self::Expression(expression.clone()),
            Atom::Grounded(Grounded::Bindings(solution)) => Self::Bindings(Arc::clone(solution)),
            Atom::Grounded(Grounded::State(state)) => Self::State(state.clone(), state.value()),
            _ => return None,
        })
    }

    fn place(&self) -> usize {
        match self {
            Self::Expression(expression) => expression.place(),
            Self::Bindings(solution) => Arc::as_ptr(solution) as usize,
            Self::State(state, _) => state.address(),
        }
    }

    fn part(&self, number: usize) -> Option<&Atom> {
        match self {
            Self::Expression(expression) => expression.children().get(number),
            Self::Bindings(solution) => solution.get(number).map(|(_, value)| value),
            Self::State(_, value) => (number == 0).then_some(value),
        }
    }

    /// The bytes around the parts: parentheses and blanks, and a variable with an arrow for each value that is bound.
    fn bytes_around(&self) -> u64 {
        match self {
            Self::Expression(expression) => expression.len() as u64 + 1,
            Self::Bindings(solution) => solution.len() as u64 * 7 + 2,
            Self::State(..) => "(State )".len() as u64,
        }
    }
}

/// How many bytes an atom is written with, at least: of what is not a name or a text one byte is counted. Counts no further than
/// `most`. A part that the atom shares is looked into once, so this tells of an atom that is small in memory whether it can be
/// written at all. What a state holds is written wherever the state is, but for a state inside of itself.
pub fn written_bytes_least(atom: &Atom, most: u64) -> u64 {
    let Some(whole) = Counted::of(atom) else { return bytes_of_leaf(atom).min(most) };
    let mut known: Outcomes<(), u64> = Outcomes::default();
    // States may change as soon as nobody looks, so what was counted of them is kept.
    let mut counted: Vec<Atom> = Vec::new();
    let mut open_states: FxHashSet<usize> = FxHashSet::default();
    let begun = whole.bytes_around();
    let mut open = vec![(whole, 0, begun)];
    loop {
        let (around, next, bytes) = open.last_mut().expect("something is being counted");
        let found = match around.part(*next).map(|part| (Counted::of(part), part)) {
            Some((None, leaf)) => bytes_of_leaf(leaf),
            Some((Some(inside), _)) => match known.of(inside.place()) {
                _ if open_states.contains(&inside.place()) => "(State ...)".len() as u64,
                Some(bytes) => bytes,
                None => {
                    *next += 1;
                    if let Counted::State(state, _) = &inside {
                        open_states.insert(state.address());
                    }
                    let begun = inside.bytes_around();
                    open.push((inside, 0, begun));
                    continue;
                }
            },
            None => {
                let bytes = (*bytes).min(most);
                known.keep(around.place(), &(), &bytes);
                let (done, ..) = open.pop().expect("something is being counted");
                if let Counted::State(state, value) = done {
                    open_states.remove(&state.address());
                    counted.push(value);
                }
                match open.last_mut() {
                    Some((_, _, around)) => *around = around.saturating_add(bytes),
                    None => return bytes,
                }
                continue;
            }
        };
        *next += 1;
        *bytes = bytes.saturating_add(found);
    }
}

fn bytes_of_leaf(leaf: &Atom) -> u64 {
    match leaf {
        Atom::Symbol(symbol) => symbol.as_str().len() as u64,
        Atom::Grounded(Grounded::Text(text)) => text.len() as u64 + 2,
        Atom::Grounded(Grounded::Space(space)) => space.name().len() as u64,
        Atom::Grounded(Grounded::Host(value)) => value.name().len() as u64,
        Atom::Expression(_) => "()".len() as u64,
        Atom::Variable(_) => "$".len() as u64,
        Atom::Grounded(_) => 1,
    }
}

/// The beginning of what an atom is written as: at most as many characters. Nothing of what follows them is written.
pub fn beginning(atom: &Atom, characters: usize) -> String {
    let mut text = Beginning { text: String::new(), left: characters };
    // It ends by an error where it is full.
    _ = write!(text, "{atom}");
    text.text
}

/// An atom as it is written, cut after this number of characters.
pub fn brief(atom: &Atom, characters: usize) -> String {
    let mut text = beginning(atom, characters + 1);
    if let Some((end, _)) = text.char_indices().nth(characters) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// A text that takes a number of characters.
struct Beginning {
    text: String,
    left: usize,
}

impl Write for Beginning {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        for character in more.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(character);
        }
        Ok(())
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut open_states: FxHashSet<usize> = FxHashSet::default();
        let mut steps = vec![PrintStep::Atom(self.clone())];
        while let Some(step) = steps.pop() {
            match step {
                PrintStep::Text(text) => formatter.write_str(text)?,
                PrintStep::LeaveState(state) => {
                    open_states.remove(&state.address());
                    formatter.write_char(')')?;
                }
                PrintStep::Atom(atom) => print_atom(&atom, &mut steps, &mut open_states, formatter)?,
            }
        }
        Ok(())
    }
}

fn print_atom(
    atom: &Atom,
    steps: &mut Vec<PrintStep>,
    open_states: &mut FxHashSet<usize>,
    formatter: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match atom {
        Atom::Symbol(symbol) => write!(formatter, "{symbol}"),
        Atom::Variable(variable) => write!(formatter, "{variable}"),
        Atom::Grounded(Grounded::State(state)) => print_state(state, steps, open_states, formatter),
        Atom::Grounded(Grounded::Bindings(solution)) => {
            steps.push(PrintStep::Text(" }"));
            for (index, (variable, value)) in solution.iter().enumerate().rev() {
                let variable = PrintStep::Atom(Atom::Variable(variable.clone()));
                steps.extend([PrintStep::Atom(value.clone()), PrintStep::Text(" <- "), variable]);
                if index > 0 {
                    steps.push(PrintStep::Text(", "));
                }
            }
            formatter.write_str("{ ")
        }
        Atom::Grounded(value) => write!(formatter, "{value}"),
        Atom::Expression(expression) => {
            steps.push(PrintStep::Text(")"));
            for (index, child) in expression.children().iter().enumerate().rev() {
                steps.push(PrintStep::Atom(child.clone()));
                if index > 0 {
                    steps.push(PrintStep::Text(" "));
                }
            }
            formatter.write_char('(')
        }
    }
}

fn print_state(
    state: &SharedState,
    steps: &mut Vec<PrintStep>,
    open_states: &mut FxHashSet<usize>,
    formatter: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    if !open_states.insert(state.address()) {
        return formatter.write_str("(State ...)");
    }
    steps.push(PrintStep::LeaveState(state.clone()));
    steps.push(PrintStep::Atom(state.value()));
    formatter.write_str("(State ")
}

impl fmt::Display for Symbol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.id() {
            0 => write!(formatter, "${}", self.name()),
            id => write!(formatter, "${}#{id}", self.name()),
        }
    }
}

impl fmt::Debug for Variable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for Grounded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(true) => formatter.write_str("True"),
            Self::Bool(false) => formatter.write_str("False"),
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Text(text) => print_text(text, formatter),
            Self::Space(space) => formatter.write_str(space.name()),
            Self::State(_) | Self::Bindings(_) => write!(formatter, "{}", Atom::Grounded(self.clone())),
            Self::Host(value) => formatter.write_str(value.name()),
        }
    }
}

impl fmt::Debug for Grounded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// A text in double quotes with the escapes that the parser reads.
fn print_text(text: &str, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    formatter.write_char('"')?;
    for character in text.chars() {
        match character {
            '\0' => formatter.write_str("\\u{0}")?,
            '\'' => formatter.write_char('\'')?,
            _ => write!(formatter, "{}", character.escape_debug())?,
        }
    }
    formatter.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_counted_without_writing_it() {
        let mut atom = Atom::symbol("abc");
        for depth in 0..40 {
            let least = written_bytes_least(&atom, u64::MAX);
            if depth < 12 {
                assert_eq!(least, atom.to_string().len() as u64);
            }
            atom = Atom::expression([Atom::from("t x"), atom.clone(), Atom::unit(), atom]);
        }
        assert_eq!(written_bytes_least(&atom, 1 << 30), 1 << 30);
        assert!(written_bytes_least(&atom, u64::MAX) > 1 << 40);
        assert_eq!(written_bytes_least(&Atom::unit(), 10), 2);
        assert_eq!(beginning(&atom, 12), "(\"t x\" (\"t x");
        assert_eq!(beginning(&Atom::symbol("ab"), 3), "ab");
    }

    #[test]
    fn what_states_and_bindings_hold_is_counted() {
        let made = |value: Atom| SharedState::new(0, value, Atom::unit());
        let state = made(Atom::symbol("abc"));
        let pair = Atom::expression([Atom::Grounded(state.clone().into()), Atom::symbol("b")]);
        assert_eq!(written_bytes_least(&pair, u64::MAX), pair.to_string().len() as u64);
        let solution = vec![(Variable::new("x"), pair.clone()), (Variable::new("y"), Atom::unit())];
        let bindings = Atom::Grounded(Grounded::Bindings(Arc::new(solution)));
        assert!(written_bytes_least(&bindings, u64::MAX) <= bindings.to_string().len() as u64);
        assert!(written_bytes_least(&bindings, u64::MAX) > pair.to_string().len() as u64);
        // A state in itself is written once.
        state.set(pair.clone());
        assert_eq!(written_bytes_least(&pair, u64::MAX), pair.to_string().len() as u64);
        // Each state holds the one before it twice.
        let mut whole = pair;
        for _ in 0..60 {
            let state = Atom::Grounded(made(whole).into());
            whole = Atom::expression([state.clone(), state]);
        }
        assert_eq!(written_bytes_least(&whole, 1 << 30), 1 << 30);
        state.set(Atom::unit());
    }
}
