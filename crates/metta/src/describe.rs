//! What is known of words, for prompts and editors: names, types, documentation, as texts.

use crate::documentation::Documentation;
use crate::failure::message::shown;
use crate::names;
use crate::operation::Operation;
use crate::program::Program;
use crate::program::modules::ModuleId;
use crate::types;
use space::{Atom, Grounded, Symbol};
use std::collections::BTreeSet;

/// The most rules of a program whose names are looked for: a prompt is not to wait for them.
const RULES_MAX: usize = 100_000;

/// The names that the program's own module knows: native functions, and what has rules. Those that begin with `_` are the library's own.
pub fn known_names(program: &mut Program) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = BTreeSet::new();
    if let Some(words) = program.tokenizer_of(ModuleId::TOP) {
        names.extend(words.names().map(str::to_owned));
    }
    let space = program.top_space();
    if space.len() <= RULES_MAX {
        let source = program.variables();
        let [left, right] = ["left", "right"].map(|name| source.fresh(&Symbol::new(name)));
        let rule = Atom::expression([names::equal(), Atom::from(left.clone()), Atom::from(right)]);
        for solution in space.query(&rule, source) {
            let side = solution.iter().find(|(bound, _)| *bound == left).map(|(_, value)| value);
            names.extend(side.and_then(|side| side.head().unwrap_or(side).as_symbol()).map(str::to_owned));
        }
    }
    names.retain(|name| !name.starts_with('_'));
    names
}

/// The type of a word in the program's own module, if one is declared or carried; several with `or` between them.
pub fn type_of(program: &mut Program, word: &str) -> Option<String> {
    let atom = program.tokenizer_of(ModuleId::TOP)?.atom(word);
    let types = known_types(program, &atom);
    (!types.is_empty()).then(|| types.join(" or "))
}

/// The types of an atom that is written as a text, a line each. It is not evaluated.
pub fn types_of_text(program: &mut Program, text: &str) -> Vec<String> {
    let (atoms, _) = program.read(ModuleId::TOP, text);
    let Some(atom) = atoms.first() else { return Vec::new() };
    let space = program.top_space();
    let types = types::types_of(&space, atom, program.variables());
    let line = |found: &types::AtomType| match &found.error {
        None => shown(&found.atom),
        Some(error) => format!("ill-typed: {error}"),
    };
    types.iter().map(line).collect()
}

/// What is documented about a word of the program's own module, with its type, as lines.
pub fn documentation_of(program: &mut Program, word: &str) -> Vec<String> {
    let (atoms, _) = program.read(ModuleId::TOP, word);
    let Some(atom) = atoms.first() else { return Vec::new() };
    let documented = program.documentation(ModuleId::TOP, atom);
    let types = known_types(program, atom);
    if documented.is_empty() && Operation::of(atom).is_none() {
        return Vec::new();
    }
    let mut lines: Vec<String> = types.iter().map(|type_atom| format!("{word} : {type_atom}")).collect();
    documented.iter().for_each(|one| add_lines(one, &mut lines));
    lines
}

fn add_lines(one: &Documentation, lines: &mut Vec<String>) {
    lines.push(plain(&one.description));
    let Some((parameters, result)) = &one.function else { return };
    let of = |atom: &Atom| atom.children().and_then(|parts| parts.get(1)).map_or_else(|| plain(atom), plain);
    lines.extend(parameters.iter().enumerate().map(|(index, about)| format!("  {}. {}", index + 1, of(about))));
    lines.push(format!("  -> {}", plain(result)));
}

/// A text without its quotes.
fn plain(atom: &Atom) -> String {
    match atom {
        Atom::Grounded(Grounded::Text(text)) => text.to_string(),
        other => names::brief(other),
    }
}

fn known_types(program: &mut Program, atom: &Atom) -> Vec<String> {
    let space = program.top_space();
    let types = types::types_of(&space, atom, program.variables());
    let known = types.iter().filter(|found| found.is_valid() && !found.atom.is_symbol(names::UNDEFINED));
    known.map(|found| shown(&found.atom)).collect()
}
