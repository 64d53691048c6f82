//! Words for values that a knowledge base cannot keep, such as open stores and files.
//!
//! Such a word means its value for as long as the run lasts. So that nobody is left to guess in a later run:
//!
//! 1. When a word is bound to one, a setting of the program says so, an expression of entries `(WORD MODULE TYPE)`. It is part of a commit, as
//!    every setting is. If an entry is new, the person who watches is told, with the place.
//! 2. A form of a later run that uses the word before it is bound again reads it as a symbol. Then the person is told what it was, once in a run for
//!    each word.
//! 3. If the word is bound to something that is kept, its entry goes.
//!
//! A run without a knowledge base is told nothing and pays for nothing.

use super::Session;
use crate::names;
use crate::program::modules::ModuleId;
use crate::syntax::{LineIndex, Span};
use space::{Atom, Grounded, Number, canonical, distinct_parts, distinct_parts_in};

/// The setting that has the words.
pub(crate) const UNKEPT: &str = "unkept-words";

/// How many words the setting has. A program that binds more is told of each, and the base does not know of them.
const WORDS_MAX: usize = 256;

/// Makes a word mean an atom, and says so if the base does not keep that.
///
/// # Errors
/// The word is not the regular expression it is to be.
pub(super) fn bind(
    session: &mut Session,
    module: ModuleId,
    token: &str,
    is_pattern: bool,
    atom: Atom,
    place: Option<String>,
) -> Result<(), String> {
    let lost = canonical::find_opaque(&atom).filter(|_| session.program.is_durable()).cloned();
    session.program.bind(module, token, is_pattern, atom)?;
    if !session.program.is_durable() {
        return Ok(());
    }
    let mut entries = entries_of(session);
    let known = entries.iter().position(|entry| is_of(entry, module, token));
    let Some(lost) = lost else {
        if let Some(known) = known {
            entries.remove(known);
            session.set_setting(UNKEPT.to_owned(), Atom::expression(entries));
        }
        return Ok(());
    };
    let entry = Atom::expression([Atom::symbol(token), number_of(module), type_of(&lost)]);
    if known.is_some_and(|known| entries[known] == entry) {
        return Ok(());
    }
    let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
    session.world.trace(&format!(
        "note: {place}the knowledge base does not keep what {token} means: {} lasts as long as this run. A later run that uses {token} makes it anew and \
         binds it",
        names::brief(&lost)
    ));
    match known {
        Some(known) => entries[known] = entry,
        None if entries.len() < WORDS_MAX => entries.push(entry),
        None => return Ok(()),
    }
    session.set_setting(UNKEPT.to_owned(), Atom::expression(entries));
    Ok(())
}

/// Tells of words in a form of a source that meant something in an earlier run which the base could not keep.
pub(super) fn tell(session: &mut Session, module: ModuleId, origin: &str, (text, span): (&str, Span), form: &Atom) {
    if !session.program.is_durable() {
        return;
    }
    let entries = entries_of(session);
    let entries: Vec<&Atom> = entries.iter().filter(|entry| is_in(entry, module)).collect();
    if entries.is_empty() {
        return;
    }
    for word in words_of(form) {
        let Some(entry) = entries.iter().find(|entry| is_of(entry, module, word)) else { continue };
        if session.told_unkept.contains(word) {
            continue;
        }
        let what = entry.children().and_then(|entry| entry.get(2)).map(names::brief).unwrap_or_default();
        let line = LineIndex::new(text).position(span.start).line;
        session.world.trace(&format!(
            "warning: {origin}:{line}: {word} means nothing here: an earlier run bound it to a value of type {what}, which ended with that run; make it \
             anew and (bind! {word} …) before this form"
        ));
        session.told_unkept.insert(word.to_owned());
    }
}

/// The symbols of a form but those that it binds.
fn words_of(form: &Atom) -> impl Iterator<Item = &str> {
    let outside = distinct_parts_in(form, |part| bound_by(part).is_none());
    let inside = |part| bound_by(part).into_iter().flat_map(distinct_parts);
    outside.flat_map(move |part| std::iter::once(part).chain(inside(part))).filter_map(Atom::as_symbol)
}

/// What a form binds a word to, if it does.
fn bound_by(form: &Atom) -> Option<&Atom> {
    match form.children()? {
        [Atom::Grounded(Grounded::Host(operation)), _, value] if operation.name() == "bind!" => Some(value),
        _ => None,
    }
}

fn entries_of(session: &Session) -> Vec<Atom> {
    session.program.setting(UNKEPT).and_then(Atom::children).map(<[Atom]>::to_vec).unwrap_or_default()
}

fn is_in(entry: &Atom, module: ModuleId) -> bool {
    matches!(entry.children(), Some([_, number, _]) if *number == number_of(module))
}

fn is_of(entry: &Atom, module: ModuleId, token: &str) -> bool {
    is_in(entry, module) && matches!(entry.children(), Some([word, ..]) if word.is_symbol(token))
}

fn number_of(module: ModuleId) -> Atom {
    Atom::Grounded(Grounded::Number(Number::Int(i64::from(module.0))))
}

/// The type of a value, which is the same in every run.
fn type_of(value: &Atom) -> Atom {
    match value {
        Atom::Grounded(Grounded::Host(value)) => value.type_atom(),
        value => Atom::symbol(&names::brief(value)),
    }
}
