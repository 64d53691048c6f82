//! From atoms to texts and back: `repr`, `parse`, characters, and files of atoms.
//!
//! A character is a symbol of it in single quotes, such as `'a'`, which prints as Hyperon's characters do.

use crate::effects::Effects;
use crate::environment::Stop;
use crate::names;
use crate::operation::{Call, Compatibility, OperationSpec as Spec, Outcome};
use crate::program::modules::{self, ModuleError};
use crate::reader::read_atom;
use crate::syntax;
use space::Atom;

pub(super) const OPERATIONS: &[Spec] = &[
    Spec::typed("repr", "(-> Atom String)", repr).with(Effects::NONE).documented(
        "Writes an atom as it prints.",
        &["Raw: the atom"],
        "The text, a string with its quotes and escapes",
    ),
    Spec::typed("parse", "(-> String Atom)", parse)
        .with(Effects::READS)
        .at_home()
        .documented(
            "Reads the atom of a text; its words mean what they mean in this module.",
            &["The text"],
            "The atom, not evaluated; an error if the text has no atom, more than one, or what is no atom",
        )
        .compared(Compatibility::Differs(
            "a text with more than one atom is an error, of which Hyperon reads the first; an error says what is wrong",
        )),
    Spec::typed("stringToChars", "(-> String Atom)", to_characters)
        .with(Effects::NONE)
        .documented("The characters of a text.", &["The text"], "The tuple of them, such as ('a' 'b')")
        .compared(Compatibility::Differs("a character is a symbol, not a value of type `Char`; an escape such as `\\\"` is one character, where Hyperon keeps the backslash as another")),
    Spec::typed("charsToString", "(-> Atom String)", to_text)
        .with(Effects::NONE)
        .documented(
            "The text of some characters.",
            &["Raw: a tuple of characters, such as ('a' 'b')"],
            "The text; an error for what is no character",
        )
        .compared(Compatibility::Differs("a character is a symbol, not a value of type `Char`")),
    Spec::typed("load-ascii", "(-> SpaceType Atom (->))", load_text)
        .with(Effects::ASKS.and(Effects::CHANGES_RULES))
        .at_home()
        .documented(
            "Adds the atoms of a file to a space; nothing is evaluated.",
            &["Evaluated: the space", "Raw: the path of the file, beside this module's file if it is relative"],
            "(); an error, with nothing added, if there is no such file, it is no text, or it has a form after !",
        )
        .compared(Compatibility::Differs("the path is relative to the module's file; a form after `!` is an error")),
];

fn repr(call: &mut Call<'_>) -> Outcome {
    match call.argument(0) {
        Some(atom) => super::text::made(call, |text| text.atom(atom)),
        None => Outcome::failure("repr expects an atom"),
    }
}

/// The atoms of a text, read in the module of a call; what is wrong with it if it is not one of atoms alone.
fn atoms(call: &Call<'_>, text: &str) -> Result<Vec<Atom>, String> {
    let parsed = syntax::parse(text);
    if let Some(error) = parsed.first_error() {
        let position = syntax::LineIndex::new(text).position(error.span.start);
        return Err(format!("{} at line {}, column {}", error.message, position.line, position.column));
    }
    let words = call.environment.words(call.home);
    let read = |form: &syntax::Form| match form.bang {
        true => Err("a form after ! is no atom to read".to_owned()),
        false => Ok(read_atom(&parsed.tree, form.node, words)),
    };
    parsed.tree.forms().iter().map(read).collect()
}

fn parse(call: &mut Call<'_>) -> Outcome {
    let Some(text) = call.text(0) else { return Outcome::failure("parse expects a text") };
    // An atom takes up to about thirty times the bytes of its text.
    if let Err(refused) = call.look(text.len().saturating_mul(32)) {
        return refused;
    }
    match atoms(call, text).as_deref() {
        Ok([atom]) => Outcome::one(atom.clone()),
        Ok(atoms) => Outcome::failure(format!("parse expects a text of one atom, and this one has {}", atoms.len())),
        Err(message) => Outcome::failure(message),
    }
}

fn to_characters(call: &mut Call<'_>) -> Outcome {
    let Some(text) = call.text(0) else { return Outcome::failure("stringToChars expects a text") };
    if let Err(refused) = call.look(text.len().saturating_mul(size_of::<Atom>() * 4)) {
        return refused;
    }
    let characters = text.chars().map(|character| Atom::symbol(&format!("'{character}'")));
    Outcome::one(Atom::expression(characters.collect::<Vec<_>>()))
}

fn to_text(call: &mut Call<'_>) -> Outcome {
    let Some(characters) = call.children(0) else { return Outcome::failure("charsToString expects a tuple") };
    let mut text = String::with_capacity(characters.len());
    for atom in characters {
        let inside = atom.as_symbol().and_then(|name| name.strip_prefix('\'')?.strip_suffix('\''));
        let mut inside = inside.unwrap_or_default().chars();
        match (inside.next(), inside.next()) {
            (Some(character), None) => text.push(character),
            _ => {
                return Outcome::failure(format!(
                    "charsToString expects characters such as 'a', and {} is none",
                    names::brief(atom)
                ));
            }
        }
    }
    Outcome::one(text.as_str())
}

fn load_text(call: &mut Call<'_>) -> Outcome {
    let (Some(space), Some(name)) = (call.space(0), call.name(1)) else {
        return Outcome::failure("load-ascii expects a space and the path of a file");
    };
    let path = modules::join(call.environment.module_directory(call.home), &name);
    let bytes = match call.environment.find_source(&name, vec![path.clone()]) {
        Ok(file) => call.environment.world().read_source(&file),
        Err(ModuleError::World(error)) => return Outcome::Stop(Stop::World(error)),
        Err(error) => return Outcome::failure(error.to_string()),
    };
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(error) if error.ends_run() => return Outcome::Stop(Stop::World(error)),
        Err(error) => return Outcome::failure(format!("cannot read {path}: {error}")),
    };
    if let Err(refused) = call.look(bytes.len().saturating_mul(32)) {
        return refused;
    }
    let Ok(text) = std::str::from_utf8(&bytes) else {
        return Outcome::failure(format!("{path} is not a text in UTF-8"));
    };
    let atoms = match atoms(call, text) {
        Ok(atoms) => atoms,
        Err(message) => return Outcome::failure(format!("{path}: {message}")),
    };
    super::spaces::add_to(call, &space, &atoms)
}
