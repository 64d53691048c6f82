//! What a program holds at one moment, for other threads.
//!
//! 1. [`Program::snapshot`] takes all that an evaluation depends on: the contents of spaces, which it shares with them, words, modules,
//!    settings, the contents of states. What has not changed since the snapshot before is that one's.
//! 2. The atoms of a snapshot lead to the spaces and states of the program, which go on changing. [`SnapshotSpaces`] are spaces and
//!    states as they were, and atoms of theirs lead to each other. They share the rows of the snapshot; atoms with variables, states or
//!    spaces that lead to one are copied.
//! 3. [`Session::of_snapshot`](crate::Session::of_snapshot) makes a session of them, on any thread. It evaluates a form to what the other one would have
//!    evaluated it to at that moment, and [refuses](crate::EffectRefused) what changes something or reaches outside.
//!
//! Cost: a snapshot is one reference count for each space and, for each space that changed, as many as it has segments. A session of
//! a snapshot costs the words of its modules and a walk over the atoms that are not rows.

use super::modules::{Module, ModuleId};
use super::{HostFunctions, Program, Undo};
use crate::bundled::Bundle;
use crate::handles::{exchange, holds_handles};
use crate::random::Generator;
use crate::tokenizer::Tokenizer;
use rustc_hash::{FxHashMap, FxHashSet};
use space::{
    AnswerTable, Atom, CLASSES, ChangeLog, Changes, Classify, Grounded, SharedSpace, SharedState, SharedTerms,
    Snapshot, Solution, Space, Terms,
};
use std::sync::Arc;

/// The serial number of the program's own space.
const TOP_SPACE: usize = 1;

/// What a program held at one moment. Any thread may have it.
#[derive(Clone)]
pub struct ProgramSnapshot {
    /// By serial number.
    spaces: Vec<Arc<SpaceSnapshot>>,
    /// By serial number, from 1.
    states: Arc<[StateSnapshot]>,
    modules: Arc<ModulesSnapshot>,
    generators: Vec<Generator>,
    /// How many variables were numbered.
    variables: u64,
    /// How many terms the dictionary had when the program was empty.
    foundation: u32,
    epoch: Option<u64>,
}

struct SpaceSnapshot {
    /// The space that goes on changing, and how often it had changed.
    live: SharedSpace,
    changes: [u64; CLASSES],
    held: Snapshot,
    /// The serial numbers of the spaces it imports.
    imports: Vec<u64>,
}

struct StateSnapshot {
    value: Atom,
    type_atom: Atom,
}

/// What changes only when a program changes words, modules or settings.
struct ModulesSnapshot {
    modules: Vec<ModuleSnapshot>,
    names: FxHashMap<String, ModuleId>,
    settings: Vec<(String, Atom)>,
    bundles: Vec<(ModuleId, &'static Bundle)>,
    base_tokens: Arc<Tokenizer>,
    host_functions: Arc<HostFunctions>,
}

struct ModuleSnapshot {
    path: String,
    directory: String,
    file: Option<String>,
    /// The serial number of its space.
    space: u64,
    tokenizer: Tokenizer,
    imports: Vec<ModuleId>,
}

impl SpaceSnapshot {
    fn new(space: &SharedSpace) -> Self {
        let imports = space.imports().iter().map(SharedSpace::serial).collect();
        Self { live: space.clone(), changes: space.changes(), held: space.own_snapshot(), imports }
    }

    fn is_of_now(&self, space: &SharedSpace) -> bool {
        self.live.is_same(space) && self.changes == space.changes()
    }
}

impl ModulesSnapshot {
    fn new(program: &Program) -> Self {
        let of_module = |module: &Module| ModuleSnapshot {
            path: module.path.clone(),
            directory: module.directory.clone(),
            file: module.file.clone(),
            space: module.space.serial(),
            tokenizer: module.tokenizer.clone(),
            imports: module.imports.clone(),
        };
        Self {
            modules: program.modules.iter().map(of_module).collect(),
            names: program.names.clone(),
            settings: program.settings.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
            bundles: program.bundles.clone(),
            base_tokens: Arc::clone(&program.base_tokens),
            host_functions: Arc::clone(&program.host_functions),
        }
    }
}

impl ProgramSnapshot {
    /// The number of the last commit before it, if commits were counted.
    pub fn epoch(&self) -> Option<u64> {
        self.epoch
    }

    /// How many variables were numbered before it.
    pub fn variables(&self) -> u64 {
        self.variables
    }

    /// The words of the program's own module. What they mean may be spaces and states that go on changing: see
    /// [`SnapshotSpaces::relinked`].
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.modules.modules[ModuleId::TOP.index()].tokenizer
    }

    /// What a setting was set to. Its spaces and states are those that go on changing.
    pub fn setting(&self, key: &str) -> Option<&Atom> {
        self.modules.settings.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// What the program's own space held, its imports apart.
    pub fn top_space(&self) -> &Snapshot {
        &self.spaces[TOP_SPACE].held
    }

    /// The program's own space, which goes on changing.
    pub fn live_top_space(&self) -> &SharedSpace {
        &self.spaces[TOP_SPACE].live
    }

    /// What the program's own space held, and those that it imports.
    pub fn top_space_with_imports(&self) -> Snapshot {
        let top = &self.spaces[TOP_SPACE];
        let import =
            |serial: &u64| self.spaces[usize::try_from(*serial).expect("a serial number is a place")].held.clone();
        top.held.importing(top.imports.iter().map(import).collect())
    }

    /// The solutions of a query of the program's own space and those it imports, if rows alone answer it: see
    /// [`Snapshot::query_rows`].
    pub fn query_rows(&self, query: &Atom) -> Option<Vec<Solution>> {
        self.top_space_with_imports().query_rows(query)
    }

    /// The solutions of a query of the program's own space and those it imports as a table, if rows alone answer it: see
    /// [`Snapshot::query_table`].
    pub fn query_table(&self, query: &Atom) -> Option<AnswerTable> {
        self.top_space_with_imports().query_table(query)
    }

    /// What the space of the library held, and all others, by serial number, each with how often it was changed, by class.
    pub fn spaces(&self) -> impl Iterator<Item = (u64, &Snapshot, [u64; CLASSES])> {
        (0..).zip(&self.spaces).map(|(serial, space)| (serial, &space.held, space.changes))
    }

    /// What the states held, by serial number from 1.
    pub fn states(&self) -> impl Iterator<Item = (u64, &Atom)> {
        (1..).zip(self.states.iter().map(|state| &state.value))
    }

    /// How many terms the dictionary had when the program was empty.
    pub fn foundation(&self) -> u32 {
        self.foundation
    }

    /// A dictionary in which the terms of all spaces are what they are.
    pub fn terms(&self) -> &Terms {
        self.newest().terms()
    }

    fn newest(&self) -> &Snapshot {
        let newest = self.spaces.iter().max_by_key(|space| space.held.terms().len());
        &newest.expect("a session has the space of the library").held
    }

    /// A dictionary in which the terms of all spaces are what they are, to grow alone.
    fn dictionary(&self) -> SharedTerms {
        self.newest().dictionary()
    }
}

/// What changed beside the atoms of spaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeExtent {
    /// Whether a state was made or set.
    pub states: bool,
    /// Whether modules, their words or their imports changed, or settings.
    pub modules: bool,
}

impl ChangeExtent {
    /// What changed in the one or the other.
    pub(crate) fn with(self, other: Self) -> Self {
        Self { states: self.states || other.states, modules: self.modules || other.modules }
    }
}

impl Program {
    /// What has changed since the last commit, beside the atoms of spaces; `changes` are those that the log noted.
    pub(crate) fn extent_of(&self, changes: &Changes) -> ChangeExtent {
        let is_of_modules = |undo: &Undo| !matches!(undo, Undo::Nothing | Undo::Space | Undo::State);
        let has_states = self.happened.iter().any(|(_, undo)| matches!(undo, Undo::State));
        ChangeExtent {
            states: has_states || changes.states().next().is_some(),
            modules: self.happened.iter().any(|(_, undo)| is_of_modules(undo)),
        }
    }

    /// What it holds now, after a commit of this number. With the snapshot before and what has changed since, only that is taken anew.
    pub fn snapshot(&self, epoch: Option<u64>, before: Option<(&ProgramSnapshot, ChangeExtent)>) -> ProgramSnapshot {
        let space = |(serial, space): (usize, &SharedSpace)| {
            let known = before.and_then(|(before, _)| before.spaces.get(serial));
            let known = known.filter(|known| known.is_of_now(space));
            known.map_or_else(|| Arc::new(SpaceSnapshot::new(space)), Arc::clone)
        };
        let state = |state: &SharedState| StateSnapshot { value: state.value(), type_atom: state.type_atom().clone() };
        ProgramSnapshot {
            spaces: self.spaces.iter().enumerate().map(space).collect(),
            states: match before {
                Some((before, extent)) if !extent.states => Arc::clone(&before.states),
                _ => self.kept_states.iter().map(state).collect(),
            },
            modules: match before {
                Some((before, extent)) if !extent.modules => Arc::clone(&before.modules),
                _ => Arc::new(ModulesSnapshot::new(self)),
            },
            generators: self.generators.clone(),
            variables: self.variables.last(),
            foundation: self.foundation,
            epoch,
        }
    }

    /// A program that holds what another one held at that moment, frozen.
    pub(crate) fn of_snapshot(snapshot: &ProgramSnapshot, classify: Classify) -> Self {
        let held = &*snapshot.modules;
        let mut program = Self::without_modules(Arc::clone(&held.base_tokens), &[], classify);
        program.terms = snapshot.dictionary();
        let links = Links::new(snapshot, &program.terms, &program.log, classify);
        for module in &held.modules {
            program.modules.push(Module {
                path: module.path.clone(),
                directory: module.directory.clone(),
                file: module.file.clone(),
                space: links.spaces[module.space as usize].clone(),
                tokenizer: module.tokenizer.with_meanings(|meaning| links.relinked(meaning)),
                imports: module.imports.clone(),
                is_restored: false,
                bound_before: FxHashSet::default(),
            });
        }
        program.host_functions = Arc::clone(&held.host_functions);
        program.names.clone_from(&held.names);
        program.bundles.clone_from(&held.bundles);
        program.generators.clone_from(&snapshot.generators);
        for (key, value) in &held.settings {
            program.put_setting(key, Some(links.relinked(value).unwrap_or_else(|| value.clone())));
        }
        program.variables.advance_to(snapshot.variables);
        program.states = links.states.len() as u64;
        (program.spaces, program.kept_states) = (links.spaces, links.states);
        program
    }
}

/// Spaces and states as a snapshot has them, by serial number.
struct Links {
    spaces: Vec<SharedSpace>,
    states: Vec<SharedState>,
}

impl Links {
    /// Spaces whose terms are those of a dictionary that was made for the snapshot.
    fn new(snapshot: &ProgramSnapshot, terms: &SharedTerms, log: &ChangeLog, classify: Classify) -> Self {
        let mut links = Self { spaces: Vec::new(), states: Vec::new() };
        for space in &snapshot.spaces {
            let (live, terms, log) = (&space.live, SharedTerms::clone(terms), log.clone());
            links.spaces.push(SharedSpace::counting(live.serial(), live.name(), terms, log, classify));
        }
        for module in &snapshot.modules.modules {
            // The handle is the same; see `add_module`.
            let space = links.spaces[module.space as usize].clone();
            drop(space.with_bare_name(format!("GroundingSpace-{}", module.path)));
        }
        for (serial, state) in (1..).zip(&*snapshot.states) {
            let (value, type_atom) = (state.value.clone(), state.type_atom.clone());
            links.states.push(SharedState::watched(serial, value, type_atom, log.clone()));
        }
        for state in &links.states {
            if let Some(value) = links.relinked(&state.value()) {
                state.replace(value);
            }
            state.freeze();
        }
        for (into, space) in links.spaces.iter().zip(&snapshot.spaces) {
            let mut content = Space::of_snapshot(&space.held, SharedTerms::clone(terms));
            content.replace_patterns(|atom| links.relinked(atom));
            into.fill_with(content, std::slice::from_ref(&space.live));
            let imports = space.imports.iter().filter_map(|&serial| links.spaces.get(usize::try_from(serial).ok()?));
            imports.for_each(|import| into.import(import));
            into.freeze();
        }
        links
    }

    /// The atom with these spaces and states in the place of those that go on changing; `None` if it holds none.
    fn relinked(&self, atom: &Atom) -> Option<Atom> {
        holds_handles(atom).then(|| exchange(atom, |value| self.other(value)))
    }

    fn other(&self, value: &Grounded) -> Atom {
        let index = |serial: u64| usize::try_from(serial).ok();
        let other = match value {
            Grounded::Space(space) => {
                index(space.serial()).and_then(|serial| self.spaces.get(serial)).cloned().map(Atom::from)
            }
            Grounded::State(state) => {
                let place = index(state.serial()).and_then(|serial| serial.checked_sub(1));
                place.and_then(|place| self.states.get(place)).cloned().map(Atom::from)
            }
            _ => None,
        };
        other.unwrap_or_else(|| Atom::Grounded(value.clone()))
    }
}

/// The spaces and states of a snapshot, which nothing changes, for queries on any thread. Their atoms can be asked as long as this is
/// there.
pub struct SnapshotSpaces(Links);

impl SnapshotSpaces {
    /// Those of a snapshot.
    pub fn new(snapshot: &ProgramSnapshot) -> Self {
        Self(Links::new(snapshot, &snapshot.dictionary(), &ChangeLog::default(), |_| 0))
    }

    /// The program's own space, with its imports.
    pub fn top_space(&self) -> &SharedSpace {
        &self.0.spaces[TOP_SPACE]
    }

    /// An atom that was read with the words of the snapshot, with these spaces and states in it.
    pub fn relinked(&self, atom: &Atom) -> Atom {
        self.0.relinked(atom).unwrap_or_else(|| atom.clone())
    }
}

impl Drop for SnapshotSpaces {
    /// Spaces may hold each other.
    fn drop(&mut self) {
        self.0.spaces.iter().for_each(SharedSpace::clear);
    }
}
