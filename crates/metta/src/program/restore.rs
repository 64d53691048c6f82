//! Restoring a program from its commits.

use super::Program;
use super::modules::ModuleId;
use crate::bundled::generator_of_identity;
use crate::host;
use crate::program::history::Event;
use crate::stdlib;
use space::canonical::{self, DecodeError, Unresolved};
use space::{Atom, CLASSES, ImagePattern, SharedSpace, SharedState, Space, Symbol};
use std::fmt;

/// Why a commit cannot be applied to a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestoreError {
    /// A space, state or module has another number than the one it is to have.
    OutOfOrder {
        /// What it is.
        kind: &'static str,
        /// The number it is to have.
        expected: u64,
        /// The next number free.
        next: u64,
    },
    /// There is no module of that number.
    NoModule(ModuleId),
    /// A word is not the regular expression it was.
    NotBound {
        /// The word.
        token: String,
        /// Why.
        reason: String,
    },
}

impl fmt::Display for RestoreError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfOrder { kind, expected, next } => {
                write!(formatter, "{kind} {expected} is made, but the next one must be {kind} {next}")
            }
            Self::NoModule(module) => write!(formatter, "there is no module {}", module.0),
            Self::NotBound { token, reason } => write!(formatter, "{token} cannot be bound: {reason}"),
        }
    }
}

impl std::error::Error for RestoreError {}

impl Program {
    /// Makes happen again what happened in another run.
    ///
    /// # Errors
    /// The event does not follow what this run has done.
    pub(crate) fn restore(&mut self, event: Event) -> Result<(), RestoreError> {
        match event {
            Event::SpaceMade { serial } => {
                expect_next("space", serial, self.spaces.len() as u64)?;
                self.new_space();
            }
            Event::StateMade { serial, value, type_atom } => {
                expect_next("state", serial, self.states + 1)?;
                let state = self.new_state(value, type_atom);
                self.kept_states.push(state);
            }
            Event::ModuleMade { serial, path, directory, file } => {
                expect_next("space", serial, self.spaces.len() as u64)?;
                let bundled = file.is_none().then(|| path.clone());
                let id = self.add_module(path, directory, file);
                match bundled {
                    Some(path) => self.restore_bundle(id, &path),
                    None => self.module_mut(id).is_restored = true,
                }
            }
            Event::ModuleNamed { path, module } => {
                self.check_module(module)?;
                self.name_module(path, module);
            }
            Event::ModuleForgotten { module } => {
                self.check_module(module)?;
                self.forget_module(module);
            }
            Event::Imported { into, from } => {
                self.check_module(into)?;
                self.check_module(from)?;
                self.import_module(into, from);
            }
            Event::Bound { module, token, is_pattern, atom } => {
                self.check_module(module)?;
                if let Err(reason) = self.bind(module, &token, is_pattern, atom) {
                    return Err(RestoreError::NotBound { token, reason });
                }
                self.module_mut(module).bound_before.insert(token);
            }
            Event::WordsImported { into, from } => {
                self.check_module(into)?;
                self.import_bundled_words(into, from);
            }
            Event::GeneratorSet { number, generator } => {
                let generators = &mut self.generators;
                match usize::try_from(number).ok().and_then(|number| generators.get_mut(number)) {
                    Some(known) => *known = generator,
                    None => {
                        expect_next("random generator", number, generators.len() as u64)?;
                        generators.push(generator);
                    }
                }
            }
            Event::Set { key, value } => self.set_setting(key, value),
            Event::Unstated { .. } => {}
        }
        Ok(())
    }

    /// Makes an empty space hold rows that were read from an image, and atoms that are no rows, and counts the given number of changes of
    /// each class.
    ///
    /// # Errors
    /// There is no such empty space, or an atom is none of this library.
    pub fn restore_space(
        &mut self,
        serial: u64,
        mut content: Space,
        patterns: &[ImagePattern],
        changes: &[u64; CLASSES],
    ) -> Result<(), String> {
        let space = self.space(serial).filter(SharedSpace::is_empty);
        let space = space.ok_or_else(|| format!("there is no empty space {serial}"))?;
        for pattern in patterns {
            let names: Vec<Symbol> = pattern.names.iter().map(|name| Symbol::new(name)).collect();
            let atom = self.decode(&pattern.bytes, &names).map_err(|error| error.to_string())?;
            content.restore_pattern(&atom, pattern.copies, pattern.number);
        }
        space.fill_counted(content, changes);
        Ok(())
    }

    fn check_module(&self, module: ModuleId) -> Result<(), RestoreError> {
        if module.index() < self.modules.len() { Ok(()) } else { Err(RestoreError::NoModule(module)) }
    }

    /// The atom of canonical bytes, with these names for its variables, which are fresh.
    ///
    /// # Errors
    /// The bytes are no atom, or one of a library that is not this one.
    pub fn decode(&mut self, bytes: &[u8], names: &[Symbol]) -> Result<Atom, DecodeError> {
        let (spaces, states) = (std::mem::take(&mut self.spaces), std::mem::take(&mut self.kept_states));
        let space = |serial: u64| spaces.get(usize::try_from(serial).ok()?).cloned();
        let state = |serial: u64| states.get(usize::try_from(serial).ok()?.checked_sub(1)?).cloned();
        let atom = self.decode_with(bytes, names, state, space);
        (self.spaces, self.kept_states) = (spaces, states);
        atom
    }

    /// The atom of canonical bytes as [`Program::decode`] has it, with these states and spaces in it.
    ///
    /// # Errors
    /// The bytes are no atom, or one of a library that is not this one.
    pub fn decode_with(
        &mut self,
        bytes: &[u8],
        names: &[Symbol],
        state: impl Fn(u64) -> Option<SharedState>,
        space: impl Fn(u64) -> Option<SharedSpace>,
    ) -> Result<Atom, DecodeError> {
        let unnamed = Symbol::new("_");
        let Self { variables, modules, operations, .. } = self;
        let variable = |number: u32| variables.fresh(names.get(number as usize).unwrap_or(&unnamed));
        canonical::decode_naming(bytes, variable, |unresolved| match *unresolved {
            Unresolved::Space(serial) => space(serial).map(Atom::from),
            Unresolved::State(serial) => state(serial).map(Atom::from),
            Unresolved::Host(identity) => {
                if let Some(known) = operations.get(identity) {
                    return Some(known.clone());
                }
                if let Some(generator) = generator_of_identity(identity) {
                    return Some(generator);
                }
                modules.get(stdlib::split_identity(identity).1.index())?;
                let found = resolve_host(identity)?;
                operations.insert(identity.to_owned(), found.clone());
                Some(found)
            }
        })
    }
}

/// The native function or generator of random numbers that has this identity.
pub fn resolve_host(identity: &str) -> Option<Atom> {
    generator_of_identity(identity).or_else(|| {
        let (name, home) = stdlib::split_identity(identity);
        stdlib::operation(name, home).or_else(|| host::of_identity(identity))
    })
}

fn expect_next(kind: &'static str, expected: u64, next: u64) -> Result<(), RestoreError> {
    if expected == next { Ok(()) } else { Err(RestoreError::OutOfOrder { kind, expected, next }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Operation;

    #[test]
    fn every_operation_is_found_by_its_identity() {
        for spec in stdlib::operations() {
            let home = if spec.has_home { ModuleId(3) } else { ModuleId::LIBRARY };
            let identity = if spec.has_home { format!("{}@3", spec.name) } else { spec.name.to_owned() };
            assert_eq!(stdlib::split_identity(&identity), (spec.name, home));
            let atom = stdlib::operation(spec.name, home).expect("it is an operation");
            let bytes = canonical::encode(&atom);
            let again = canonical::decode(&bytes, |unresolved| match *unresolved {
                Unresolved::Host(found) => (found == identity).then(|| atom.clone()),
                _ => None,
            });
            assert!(Operation::of(&again.expect("it decodes")).is_some(), "{identity}");
        }
    }
}
