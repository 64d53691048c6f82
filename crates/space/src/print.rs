//! Printing atoms, in the syntax that reads back.
//!
//! What has no syntax prints as Hyperon prints it: a state as `(State content)`, a space and a native function by
//! name. Printing walks with an explicit stack; a state met inside itself prints as `(State ...)`.

use crate::atom::{Atom, Expression, Symbol, Variable};
use crate::grounded::{Grounded, SharedState};
use crate::sharing::Outcomes;
use rustc_hash::FxHashSet;
use std::fmt::{self, Write};

enum Step {
    Atom(Atom),
    Text(&'static str),
    LeaveState(SharedState),
}

/// How many bytes an atom is written with, at least: of what is not a name or a text one byte is counted, and of a state or what has no
/// syntax as well. Counts no further than `most`. A part that the atom shares is looked into once, so this tells of an atom that is
/// small in memory whether it can be written at all.
pub fn written_bytes_least(atom: &Atom, most: u64) -> u64 {
    let leaf = |atom: &Atom| match atom {
        Atom::Symbol(symbol) => symbol.as_str().len() as u64,
        Atom::Grounded(Grounded::Text(text)) => text.len() as u64 + 2,
        _ => 1,
    };
    // A pair of parentheses, and a blank between two children.
    let begun = |expression: &Expression| expression.len().max(1) as u64 + 1;
    let Atom::Expression(whole) = atom else { return leaf(atom).min(most) };
    let mut known: Outcomes<Expression, u64> = Outcomes::default();
    let mut open = vec![(whole, 0, begun(whole))];
    loop {
        let (expression, next, bytes) = open.last_mut().expect("an expression is open");
        let found = match expression.children().get(*next) {
            Some(Atom::Expression(inside)) if !inside.is_empty() => match known.of(inside.place()) {
                Some(bytes) => bytes,
                None => {
                    *next += 1;
                    open.push((inside, 0, begun(inside)));
                    continue;
                }
            },
            Some(Atom::Expression(_)) => 2,
            Some(child) => leaf(child),
            None => {
                let bytes = (*bytes).min(most);
                known.keep(expression.place(), expression, &bytes);
                open.pop();
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

impl fmt::Display for Atom {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut open_states: FxHashSet<usize> = FxHashSet::default();
        let mut steps = vec![Step::Atom(self.clone())];
        while let Some(step) = steps.pop() {
            match step {
                Step::Text(text) => formatter.write_str(text)?,
                Step::LeaveState(state) => {
                    open_states.remove(&state.address());
                    formatter.write_char(')')?;
                }
                Step::Atom(atom) => print_atom(&atom, &mut steps, &mut open_states, formatter)?,
            }
        }
        Ok(())
    }
}

fn print_atom(
    atom: &Atom,
    steps: &mut Vec<Step>,
    open_states: &mut FxHashSet<usize>,
    formatter: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match atom {
        Atom::Symbol(symbol) => write!(formatter, "{symbol}"),
        Atom::Variable(variable) => write!(formatter, "{variable}"),
        Atom::Grounded(Grounded::State(state)) => print_state(state, steps, open_states, formatter),
        Atom::Grounded(Grounded::Bindings(solution)) => {
            steps.push(Step::Text(" }"));
            for (index, (variable, value)) in solution.iter().enumerate().rev() {
                let variable = Step::Atom(Atom::Variable(variable.clone()));
                steps.extend([Step::Atom(value.clone()), Step::Text(" <- "), variable]);
                if index > 0 {
                    steps.push(Step::Text(", "));
                }
            }
            formatter.write_str("{ ")
        }
        Atom::Grounded(value) => write!(formatter, "{value}"),
        Atom::Expression(expression) => {
            steps.push(Step::Text(")"));
            for (index, child) in expression.children().iter().enumerate().rev() {
                steps.push(Step::Atom(child.clone()));
                if index > 0 {
                    steps.push(Step::Text(" "));
                }
            }
            formatter.write_char('(')
        }
    }
}

fn print_state(
    state: &SharedState,
    steps: &mut Vec<Step>,
    open_states: &mut FxHashSet<usize>,
    formatter: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    if !open_states.insert(state.address()) {
        return formatter.write_str("(State ...)");
    }
    steps.push(Step::LeaveState(state.clone()));
    steps.push(Step::Atom(state.value()));
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
    }
}
