//! Walking atoms and replacing variables in them.
//!
//! [`rewrite`] is the one walk that builds: it visits every variable, keeps what does not change shared with the
//! original, skips ground parts, looks into a shared part once ([`crate::sharing`]), and uses an explicit stack.

use crate::atom::{Atom, Expression, Symbol, Variable, VariableSource};
use crate::grounded::Grounded;
use crate::parts::distinct_parts_in;
use crate::sharing::Outcomes;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// How many variables are met before somebody is asked whether to go on.
const VARIABLES_BETWEEN_LOOKS: usize = 64;

/// What becomes of a variable.
pub enum Rewrite {
    /// It stays.
    Keep,
    /// This atom takes its place, as it is.
    Replace(Atom),
    /// This atom takes its place, and is rewritten in turn.
    Continue(Atom),
    /// The whole is given up.
    Stop,
}

struct OpenExpression {
    expression: Expression,
    next: usize,
    /// The children built so far, once one of them differs from the original.
    built: Option<Vec<Atom>>,
    /// Whether this expression itself stands for a variable, so that its parent has changed anyway.
    replaces: bool,
}

impl OpenExpression {
    fn new(expression: Expression, replaces: bool) -> Self {
        Self { expression, next: 0, built: None, replaces }
    }

    fn accept(&mut self, child: Atom, changed: bool) {
        if changed && self.built.is_none() {
            let mut built = Vec::with_capacity(self.expression.len());
            built.extend_from_slice(&self.expression.children()[..self.next]);
            self.built = Some(built);
        }
        if let Some(built) = &mut self.built {
            built.push(child);
        }
        self.next += 1;
    }

    /// What it came to, `None` if that is itself.
    fn finish(&mut self) -> Option<Atom> {
        self.built.take().map(Atom::expression)
    }

    fn outcome(self, made: Option<Atom>) -> (Atom, bool) {
        match made {
            Some(made) => (made, true),
            None => (Atom::Expression(self.expression), self.replaces),
        }
    }
}

/// An atom on its way through the walk.
struct Visited {
    atom: Atom,
    /// Whether it stands for a variable of the original.
    changed: bool,
    /// Whether what is inside it is to be visited too.
    open: bool,
}

/// Replaces variables as `decide` says, which is the same each time that it is asked about a variable; `None` when nothing changed,
/// or it was given up.
pub fn rewrite(atom: &Atom, mut decide: impl FnMut(&Variable) -> Rewrite) -> Option<Atom> {
    let mut frames: Vec<OpenExpression> = Vec::new();
    let mut known = Outcomes::default();
    let mut current = atom.clone();
    loop {
        let visited = visit(current, &mut decide)?;
        let (atom, changed) = match visited.atom {
            Atom::Expression(expression) if visited.open => {
                let opened = OpenExpression::new(expression, visited.changed);
                match known.of(opened.expression.place()) {
                    Some(made) => opened.outcome(made),
                    None => {
                        frames.push(opened);
                        match next_child(&mut frames, &mut known) {
                            Ok(child) => current = child,
                            Err((atom, changed)) => return changed.then_some(atom),
                        }
                        continue;
                    }
                }
            }
            atom => (atom, visited.changed),
        };
        match frames.last_mut() {
            Some(parent) => parent.accept(atom, changed),
            None => return changed.then_some(atom),
        }
        match next_child(&mut frames, &mut known) {
            Ok(child) => current = child,
            Err((atom, changed)) => return changed.then_some(atom),
        }
    }
}

/// Decides what becomes of an atom that is a variable, until it is none or stays; `None` if the whole is given up.
fn visit(mut atom: Atom, decide: &mut impl FnMut(&Variable) -> Rewrite) -> Option<Visited> {
    let mut changed = false;
    while let Atom::Variable(variable) = &atom {
        match decide(variable) {
            Rewrite::Keep => break,
            Rewrite::Replace(value) => return Some(Visited { atom: value, changed: true, open: false }),
            Rewrite::Continue(value) => (atom, changed) = (value, true),
            Rewrite::Stop => return None,
        }
    }
    let open = matches!(atom, Atom::Expression(_)) && !atom.is_ground();
    Some(Visited { atom, changed, open })
}

/// The next child to visit, after closing the frames that are complete; the result when the last one closes.
fn next_child(
    frames: &mut Vec<OpenExpression>,
    known: &mut Outcomes<Expression, Option<Atom>>,
) -> Result<Atom, (Atom, bool)> {
    loop {
        let top = frames.last().expect("a frame is open");
        if let Some(child) = top.expression.children().get(top.next) {
            return Ok(child.clone());
        }
        let mut closed = frames.pop().expect("a frame is open");
        let made = closed.finish();
        known.keep(closed.expression.place(), &closed.expression, &made);
        let (atom, changed) = closed.outcome(made);
        match frames.last_mut() {
            Some(parent) => parent.accept(atom, changed),
            None => return Err((atom, changed)),
        }
    }
}

/// The atom without the evaluator's marks, on itself and on its parts.
pub fn unmarked(atom: &Atom) -> Atom {
    if has_mark(atom) { replace_leaves(atom, Atom::clone) } else { atom.clone() }
}

/// An atom with parts, of which some are built anew.
struct OpenCopy<'a> {
    whole: &'a Atom,
    built: Vec<Atom>,
}

impl<'a> OpenCopy<'a> {
    fn next(&self) -> Option<&'a Atom> {
        match self.whole {
            Atom::Expression(expression) => expression.children().get(self.built.len()),
            Atom::Grounded(Grounded::Bindings(solution)) => solution.get(self.built.len()).map(|(_, value)| value),
            _ => None,
        }
    }

    fn finish(self) -> Atom {
        match self.whole {
            Atom::Grounded(Grounded::Bindings(solution)) => {
                let variables = solution.iter().map(|(variable, _)| variable.clone());
                Atom::Grounded(Grounded::Bindings(Arc::new(variables.zip(self.built).collect())))
            }
            _ => Atom::expression(self.built),
        }
    }
}

/// The atom with each part replaced that has none itself: what is neither an expression nor bindings. It carries no marks of an
/// evaluator. What is shared stays shared.
pub fn replace_leaves(atom: &Atom, mut replace: impl FnMut(&Atom) -> Atom) -> Atom {
    let mut open: Vec<OpenCopy<'_>> = Vec::new();
    let mut known: Outcomes<Expression, Atom> = Outcomes::default();
    let mut current = atom;
    loop {
        let mut made = match current {
            Atom::Expression(expression) if !expression.is_empty() => known.of(expression.place()),
            Atom::Expression(_) => Some(Atom::unit()),
            Atom::Grounded(Grounded::Bindings(_)) => None,
            leaf => Some(replace(leaf)),
        };
        if made.is_none() {
            open.push(OpenCopy { whole: current, built: Vec::new() });
        }
        loop {
            if let Some(made) = made.take() {
                match open.last_mut() {
                    Some(around) => around.built.push(made),
                    None => return made,
                }
            }
            let innermost = open.last().expect("what has no parts around it was returned");
            if let Some(next) = innermost.next() {
                current = next;
                break;
            }
            let closed = open.pop().expect("there is an innermost one");
            let whole = closed.whole;
            let copy = closed.finish();
            if let Atom::Expression(expression) = whole {
                known.keep(expression.place(), expression, &copy);
            }
            made = Some(copy);
        }
    }
}

/// Whether a part of an atom, or all of it, is marked as evaluated.
pub fn has_mark(atom: &Atom) -> bool {
    let is_marked = |part: &Atom| matches!(part, Atom::Expression(expression) if expression.is_evaluated());
    distinct_parts_in(atom, |part| matches!(part, Atom::Expression(_))).any(is_marked)
}

/// The atom with one variable replaced.
pub fn substitute(atom: &Atom, variable: &Variable, value: &Atom) -> Atom {
    let replaced =
        rewrite(atom, |found| if found == variable { Rewrite::Replace(value.clone()) } else { Rewrite::Keep });
    replaced.unwrap_or_else(|| atom.clone())
}

/// The atom with every variable replaced by its value and the variables of that in turn; `None` if the caller has given up. No value
/// may mention its own variable, through any number of others.
pub fn replaced_unless<'v>(
    atom: &Atom,
    value_of: impl Fn(&Variable) -> Option<&'v Atom>,
    should_stop: &dyn Fn() -> bool,
) -> Option<Atom> {
    if atom.is_ground() {
        return Some(atom.clone());
    }
    let (mut met, mut is_given_up) = (0_usize, false);
    let rewritten = rewrite(atom, |variable| {
        met += 1;
        is_given_up = met.is_multiple_of(VARIABLES_BETWEEN_LOOKS) && should_stop();
        match value_of(variable) {
            _ if is_given_up => Rewrite::Stop,
            Some(value) => Rewrite::Continue(value.clone()),
            None => Rewrite::Keep,
        }
    });
    (!is_given_up).then(|| rewritten.unwrap_or_else(|| atom.clone()))
}

/// The variables of an atom, each once, in the order of their first occurrence.
pub fn variables(atom: &Atom) -> Vec<Variable> {
    let mut seen: FxHashSet<Variable> = FxHashSet::default();
    let mut found = Vec::new();
    if atom.is_ground() {
        return found;
    }
    for part in distinct_parts_in(atom, |part| matches!(part, Atom::Expression(_)) && !part.is_ground()) {
        if let Atom::Variable(variable) = part
            && seen.insert(variable.clone())
        {
            found.push(variable.clone());
        }
    }
    found
}

/// The atom with every variable that `keep` does not hold replaced by a fresh one of the same name.
pub fn make_fresh(atom: &Atom, keep: &[Variable], source: &mut VariableSource) -> Atom {
    let mut renamed: FxHashMap<Variable, Variable> = FxHashMap::default();
    let fresh = rewrite(atom, |variable| {
        if keep.contains(variable) {
            return Rewrite::Keep;
        }
        let entry = renamed.entry(variable.clone()).or_insert_with(|| source.fresh(variable.name()));
        Rewrite::Replace(Atom::Variable(entry.clone()))
    });
    fresh.unwrap_or_else(|| atom.clone())
}

/// An atom whose variables are written as in a source: by their names, without numbers.
pub fn as_written(atom: &Atom) -> Atom {
    let plain = rewrite(atom, |variable| Rewrite::Replace(Atom::variable(variable.name().as_str())));
    plain.unwrap_or_else(|| atom.clone())
}

/// An atom whose variables are named as in a source; where two have one name, those but the first get a number (`$x`, `$x-2`).
pub fn named_as_in_source(atom: &Atom) -> Atom {
    let mut positions: FxHashMap<Variable, usize> = FxHashMap::default();
    let mut namesakes: FxHashMap<Symbol, usize> = FxHashMap::default();
    let named = rewrite(atom, |variable| {
        let position = *positions.entry(variable.clone()).or_insert_with(|| {
            let next = namesakes.entry(variable.name().clone()).or_default();
            *next += 1;
            *next - 1
        });
        let name = variable.name().as_str();
        let plain = if position == 0 { name.to_owned() } else { format!("{name}-{}", position + 1) };
        Rewrite::Replace(Atom::variable(&plain))
    });
    named.unwrap_or_else(|| atom.clone())
}

/// The atom with slot variables (numbered from 0) replaced by the slots' values; an empty slot is filled with a
/// fresh variable first.
pub fn instantiate(atom: &Atom, slots: &mut [Option<Atom>], source: &mut VariableSource) -> Atom {
    let made = rewrite(atom, |variable| {
        let slot = usize::try_from(variable.id()).ok().and_then(|index| slots.get_mut(index));
        let slot = slot.expect("a stored atom has a slot for each of its variables");
        let value = slot.get_or_insert_with(|| Atom::Variable(source.fresh(variable.name())));
        Rewrite::Replace(value.clone())
    });
    made.unwrap_or_else(|| atom.clone())
}
