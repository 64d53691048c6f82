//! Printing atoms, in the syntax that reads back.
//!
//! What has no syntax prints as Hyperon prints it: a state as `(State content)`, a space and a native function by
//! name. Printing walks with an explicit stack; a state met inside itself prints as `(State ...)`.

use crate::atom::{Atom, Symbol, Variable};
use crate::grounded::{Grounded, SharedState};
use rustc_hash::FxHashSet;
use std::fmt::{self, Write};

enum Step {
    Atom(Atom),
    Text(&'static str),
    LeaveState(SharedState),
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
