//! `metroon why --tree` and `--not`: what a result rests on, down to files and lines, and what a missing one would need.

use crate::end::End;
use crate::output::{Ended, Out, fail};
use crate::run::base_failed;
use metroon::limits::Reason;
use metroon::why::{Derivation, Derivations, Ground, NearMiss};
use metroon::{Atom, History};
use serde_json::{Value, json};
use std::path::Path;

/// What is asked.
pub(crate) struct Asked<'a> {
    /// The knowledge base.
    pub(crate) directory: &'a Path,
    /// The atom as it was written.
    pub(crate) atom: &'a str,
    /// How many derivations are wanted.
    pub(crate) derivations: usize,
    /// After how many states the search gives up.
    pub(crate) states: usize,
    /// Whether they are wanted as objects.
    pub(crate) json: bool,
}

/// Prints derivations as trees.
pub(crate) fn tree(arguments: &Asked<'_>, history: &History, asked: &Atom) -> Ended {
    let found = derivations(arguments, history, asked)?;
    if found.found.is_empty() {
        return Err(not_found(arguments, &found));
    }
    let mut atoms = Vec::new();
    found.found.iter().for_each(|derivation| used(derivation, &mut atoms));
    let places = Places::new(arguments, history, atoms)?;
    let mut out = Out::new();
    for (number, derivation) in found.found.iter().enumerate() {
        if arguments.json {
            out.line(&tree_json(derivation, history, &places).to_string())?;
            continue;
        }
        if number > 0 {
            out.line("")?;
        }
        let mut lines = Vec::new();
        write_tree(derivation, history, &places, ["", ""], &mut lines);
        lines.iter().try_for_each(|line| out.line(line))?;
    }
    out.end()
}

/// Prints what is lacking.
pub(crate) fn lacking(arguments: &Asked<'_>, history: &History, asked: &Atom) -> Ended {
    let found = derivations(arguments, history, asked)?;
    if !found.found.is_empty() {
        let help = "`metroon why --tree` shows why";
        return Err(fail(&format!("{} holds", arguments.atom), help, End::Error));
    }
    let Derivations { misses, is_given_up, not_looked_into, .. } = &found;
    let atoms = misses.iter().flat_map(|miss| miss.rules.iter().chain(&miss.found)).cloned().collect();
    let places = Places::new(arguments, history, atoms)?;
    let mut out = Out::new();
    for miss in misses {
        if arguments.json {
            out.line(&miss_json(miss, history, &places).to_string())?;
        } else {
            miss_lines(miss, history, &places).iter().try_for_each(|line| out.line(line))?;
        }
    }
    if misses.is_empty() && !arguments.json {
        out.line(&format!("no rule and no fact leads to {}", arguments.atom))?;
    }
    let ended = out.end()?;
    say_limits(*is_given_up, not_looked_into, arguments.states);
    Ok(ended)
}

/// Derivations of what is asked: of a stored atom or an equation, else of what a call comes to.
fn derivations(arguments: &Asked<'_>, history: &History, asked: &Atom) -> Result<Derivations, End> {
    let find = |goal: &Atom| {
        let found = history.derivations(goal, arguments.derivations, arguments.states);
        found.map_err(|error| base_failed(arguments.directory, &error))
    };
    let is_equation = matches!(asked.children(), Some([head, _, _]) if head.is_symbol("="));
    let found = find(asked)?;
    let is_call =
        asked.children().is_some_and(|children| children.first().is_some_and(|head| head.as_symbol().is_some()));
    if is_equation || !found.found.is_empty() || !is_call {
        return Ok(found);
    }
    let called = find(&Atom::expression([Atom::symbol("="), asked.clone(), Atom::variable("result")]))?;
    // A call without rules comes to itself, which says nothing.
    let is_derived = |derivation: &Derivation| matches!(derivation.ground, Ground::Rule(_));
    let is_of_rules = called.found.iter().any(is_derived) || called.misses.iter().any(|miss| !miss.rules.is_empty());
    Ok(if is_of_rules { called } else { found })
}

fn not_found(arguments: &Asked<'_>, found: &Derivations) -> End {
    say_limits(found.is_given_up, &found.not_looked_into, arguments.states);
    let message = format!("nothing in {} leads to {}", arguments.directory.display(), arguments.atom);
    fail(
        &message,
        "`metroon why DIR ATOM --not` says what is lacking; what a call comes to is asked as '(= (call) result)'",
        End::Error,
    )
}

fn say_limits(is_given_up: bool, not_looked_into: &[String], states: usize) {
    if is_given_up {
        crate::render::say(&format!(
            "note: not all was looked at: derivations of more than 256 steps, or more than {states} states; --states looks at more"
        ));
    }
    for form in not_looked_into {
        crate::render::say(&format!("note: this is not looked into: {form}"));
    }
}

/// Where atoms come from.
struct Places {
    atoms: Vec<Atom>,
    reasons: Vec<Option<Reason>>,
}

impl Places {
    fn new(arguments: &Asked<'_>, history: &History, atoms: Vec<Atom>) -> Result<Self, End> {
        let reasons = history.reasons_of(&atoms).map_err(|error| base_failed(arguments.directory, &error))?;
        Ok(Self { atoms, reasons })
    }

    fn of(&self, atom: &Atom) -> Option<&Reason> {
        let place = self.atoms.iter().position(|known| known == atom)?;
        self.reasons[place].as_ref()
    }

    /// The atom, and where it comes from.
    fn line(&self, atom: &Atom, history: &History) -> String {
        let text = history.text(atom);
        match self.of(atom) {
            Some(Reason { epoch, origin, .. }) if origin.is_empty() => format!("{text}  commit {epoch} or before"),
            Some(Reason { epoch, origin, line, column, .. }) => {
                format!("{text}  commit {epoch}  {origin}:{line}:{column}")
            }
            None => format!("{text}  of the library"),
        }
    }

    fn json(&self, atom: &Atom, history: &History) -> Value {
        let mut object = json!({ "atom": history.text(atom) });
        if let Some(Reason { epoch, origin, line, column, .. }) = self.of(atom) {
            (object["commit"], object["origin"]) = (json!(epoch), json!(origin));
            (object["line"], object["column"]) = (json!(line), json!(column));
        }
        object
    }
}

/// The facts and rules of a derivation.
fn used(derivation: &Derivation, atoms: &mut Vec<Atom>) {
    let mut work = vec![derivation];
    while let Some(Derivation { conclusion, ground, premises }) = work.pop() {
        let atom = match ground {
            Ground::Fact => Some(conclusion),
            Ground::Rule(rule) => Some(rule),
            _ => None,
        };
        if let Some(atom) = atom.filter(|atom| !atoms.contains(atom)) {
            atoms.push(atom.clone());
        }
        work.extend(premises);
    }
}

/// Writes a tree: what stands before its first line, and before those below it.
fn write_tree(
    derivation: &Derivation,
    history: &History,
    places: &Places,
    [first, below]: [&str; 2],
    lines: &mut Vec<String>,
) {
    let Derivation { conclusion, ground, premises } = derivation;
    match ground {
        Ground::Fact => lines.push(format!("{first}{}", places.line(conclusion, history))),
        Ground::Rule(rule) => {
            lines.push(format!("{first}{}", history.text(conclusion)));
            let bar = if premises.is_empty() { "└─ " } else { "├─ " };
            lines.push(format!("{below}{bar}by {}", places.line(rule, history)));
        }
        _ => lines.push(format!("{first}{}", history.text(conclusion))),
    }
    for (place, premise) in premises.iter().enumerate() {
        let is_last = place + 1 == premises.len();
        let (bar, space) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        write_tree(premise, history, places, [&format!("{below}{bar}"), &format!("{below}{space}")], lines);
    }
}

fn tree_json(derivation: &Derivation, history: &History, places: &Places) -> Value {
    let Derivation { conclusion, ground, premises } = derivation;
    let mut object = match ground {
        Ground::Fact => places.json(conclusion, history),
        _ => json!({ "atom": history.text(conclusion) }),
    };
    if let Ground::Rule(rule) = ground {
        object["rule"] = places.json(rule, history);
    }
    if !premises.is_empty() {
        object["from"] = premises.iter().map(|premise| tree_json(premise, history, places)).collect();
    }
    object
}

fn miss_lines(miss: &NearMiss, history: &History, places: &Places) -> Vec<String> {
    let NearMiss { rules, found, lacking, left, .. } = miss;
    let rules = rules.iter().map(|rule| format!("by {}", places.line(rule, history)));
    let found = found.iter().map(|fact| format!("  has   {}", places.line(fact, history)));
    let rest = if *left > 1 { format!("  (and then {} more)", left - 1) } else { String::new() };
    rules.chain(found).chain([format!("  lacks {}{rest}", history.text(lacking))]).collect()
}

fn miss_json(miss: &NearMiss, history: &History, places: &Places) -> Value {
    let NearMiss { rules, found, lacking, left, .. } = miss;
    let all = |atoms: &[Atom]| atoms.iter().map(|atom| places.json(atom, history)).collect::<Vec<_>>();
    json!({ "rules": all(rules), "has": all(found), "lacks": history.text(lacking), "more": left - 1 })
}
