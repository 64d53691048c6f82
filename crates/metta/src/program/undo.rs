//! What a program has become since the last commit, beside the changes that its log notes, and how that is undone.

use super::Program;
use super::modules::ModuleId;
use crate::bundled::generator_number;
use crate::handles::{exchange, grounded_in};
use crate::program::history::Event;
use crate::random::Generator;
use crate::stdlib;
use crate::tokenizer::Tokenizer;
use rustc_hash::FxHashMap;
use space::{Atom, ChangeDetail, Grounded};

/// How to undo an event.
pub(crate) enum Undo {
    Nothing,
    Space,
    State,
    Module,
    Names(FxHashMap<String, ModuleId>),
    Forgotten {
        names: FxHashMap<String, ModuleId>,
        module: ModuleId,
        file: Option<String>,
    },
    Import {
        into: ModuleId,
        from: ModuleId,
    },
    Tokens {
        module: ModuleId,
        before: Box<Tokenizer>,
    },
    Setting {
        key: String,
        before: Option<Atom>,
    },
    /// A module of a knowledge base was compared with its file.
    Refreshed(ModuleId),
}

impl Program {
    /// Whether what happens is noted: somebody remembers it, or may undo it.
    pub(crate) fn is_noting(&self) -> bool {
        self.log.keeps() != ChangeDetail::Nothing
    }

    /// Notes an event that has happened; the caller asks [`Program::is_noting`] first where that saves work.
    pub(crate) fn note(&mut self, event: impl Into<Option<Event>>, undo: Undo) {
        let event = event.into();
        self.events += u64::from(event.is_some());
        if self.is_noting() {
            self.happened.push((event, undo));
        }
    }

    /// Other numbers whenever something has happened that is part of a commit, or was undone.
    pub(crate) fn happenings(&self) -> (u64, u64) {
        (self.log.stamp(), self.events)
    }

    /// How much has been noted.
    pub(crate) fn noted(&self) -> usize {
        self.happened.len()
    }

    /// The events that were noted; none is from now on.
    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.happened).into_iter().filter_map(|(event, _)| event).collect()
    }

    /// Undoes what came after the first `noted` notes, the changes of the log apart, and gives the random generators back what they were.
    pub(crate) fn undo_to(&mut self, noted: usize, generators: &[Generator]) {
        generators.clone_into(&mut self.generators);
        for (_, undo) in self.happened.split_off(noted).into_iter().rev() {
            self.undo(undo);
        }
    }

    fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Nothing => {}
            Undo::Space => self.forget_space(),
            Undo::State => {
                self.states -= 1;
                self.kept_states.truncate(self.states as usize);
            }
            Undo::Module => {
                self.forget_space();
                if let Some(module) = self.modules.pop() {
                    self.names.remove(&module.path);
                }
                let modules = self.modules.len();
                self.bundles.retain(|(module, _)| module.index() < modules);
            }
            Undo::Names(names) => self.names = names,
            Undo::Forgotten { names, module, file } => {
                self.names = names;
                self.module_mut(module).file = file;
            }
            Undo::Import { into, from } => {
                let space = self.module(from).space.clone();
                self.module(into).space.forget_import(&space);
                self.module_mut(into).imports.retain(|&known| known != from);
            }
            Undo::Tokens { module, before } => self.module_mut(module).tokenizer = *before,
            Undo::Setting { key, before } => self.put_setting(&key, before),
            Undo::Refreshed(module) => self.module_mut(module).is_restored = true,
        }
    }

    /// A result of a transaction that was undone, with symbols for the spaces, states and other things in it that were
    /// made there: they are no more, and their numbers will be given again.
    pub fn without_undone(&self, atom: &Atom) -> Atom {
        let values = grounded_in(atom);
        if values.iter().all(|value| self.is_known(value)) {
            return atom.clone();
        }
        exchange(atom, |value| {
            let atom = Atom::Grounded(value.clone());
            if self.is_known(value) { atom } else { Atom::symbol(&atom.to_string()) }
        })
    }

    /// Whether something that only a run knows was made by this one and is there.
    fn is_known(&self, value: &Grounded) -> bool {
        match value {
            Grounded::Space(space) => space.is_frozen() || space.serial() < self.spaces.len() as u64,
            Grounded::State(state) => state.is_frozen() || state.serial() <= self.states,
            Grounded::Host(value) => match generator_number(value.identity()) {
                Some(number) => number < self.generators.len(),
                None => stdlib::split_identity(value.identity()).1.index() < self.modules.len(),
            },
            _ => true,
        }
    }

    /// Forgets the youngest space; it may hold itself.
    fn forget_space(&mut self) {
        if let Some(space) = self.spaces.pop() {
            space.clear();
        }
    }
}
