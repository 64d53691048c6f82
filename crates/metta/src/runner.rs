//! The runner: the modules of a program, and the running of sources in them.
//!
//! A source is run form by form. A plain atom is added to the module's space; an atom after `!` is evaluated and its
//! answer handed out before the next form is read, because it may change what the words of that form mean. An answer
//! with an error in it ends the run; so does the first form that does not parse, after everything before it has run.

use crate::bundled;
use crate::interpreter::{self, Answer};
use crate::limits::{LimitReached, Limits};
use crate::modules::{self, IMPORT_DEPTH_MAX, Module, ModuleError, ModuleId, TOP};
use crate::names;
use crate::operation::{Outcome, Stop};
use crate::reader::read_atom;
use crate::stdlib;
use crate::syntax::{self, Diagnostic, LineIndex, Parsed, Severity, Span};
use crate::tokenizer::Tokenizer;
use crate::types;
use crate::world::{World, WorldError};
use rustc_hash::FxHashMap;
use space::{Atom, SharedTerms, SpaceRef, StateRef, Terms, VariableSource};
use std::sync::Arc;

/// What came of one form after `!`.
pub struct FormAnswer<'a> {
    /// Counts the forms after `!` of this source, from 1.
    pub number: usize,
    /// Where the form stands in its source.
    pub span: Span,
    /// The atom that was evaluated.
    pub atom: &'a Atom,
    /// What it came to; an error for a limit that was reached is its last result.
    pub results: &'a [Atom],
    /// The limit that ended it, if one did.
    pub limit: Option<LimitReached>,
}

impl FormAnswer<'_> {
    /// Whether the answer ends the run.
    pub fn is_error(&self) -> bool {
        self.results.iter().any(names::is_error)
    }
}

/// How the run of a source ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunEnd {
    /// All of it ran.
    Finished,
    /// An answer had an error in it.
    Error,
    /// A limit was reached.
    Limit(LimitReached),
    /// A form does not parse; those before it have run. The diagnostics say where.
    NotParsed,
    /// The world failed: the output can take no more.
    World(WorldError),
}

/// The run of a source.
#[derive(Debug)]
pub struct Run {
    /// How it ended.
    pub end: RunEnd,
    /// What the parser had to say, warnings included.
    pub diagnostics: Vec<Diagnostic>,
}

/// Counts of what a runner did.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Forms evaluated.
    pub evaluations: u64,
    /// Steps of all evaluations.
    pub steps: u64,
    /// The deepest stack, in frames.
    pub depth_max: usize,
    /// Atoms added as plain forms.
    pub atoms_added: u64,
}

/// Runs sources in modules.
pub struct Runner {
    pub(crate) variables: VariableSource,
    pub(crate) limits: Limits,
    pub(crate) world: Box<dyn World>,
    pub(crate) modules: Vec<Module>,
    pub(crate) bundled: bundled::State,
    terms: SharedTerms,
    base_tokens: Arc<Tokenizer>,
    names: FxHashMap<String, ModuleId>,
    settings: FxHashMap<String, Atom>,
    depth_set: Option<usize>,
    /// The modules whose sources are being run, the innermost last.
    running: Vec<ModuleId>,
    states: u64,
    /// Spaces made by programs, to be emptied at the end: they may hold each other.
    spaces: Vec<SpaceRef>,
    statistics: Statistics,
}

impl Runner {
    /// A runner with the standard library and an empty program.
    pub fn new(world: Box<dyn World>) -> Self {
        Self::without(world, &[])
    }

    /// A runner whose standard library lacks some names, for tests of what depends on them.
    pub fn without(world: Box<dyn World>, missing: &[&str]) -> Self {
        let mut tokens = Tokenizer::literals();
        stdlib::register_shared(&mut tokens);
        for name in missing {
            tokens.forget(name);
        }
        let mut runner = Self {
            variables: VariableSource::default(),
            limits: Limits::default(),
            world,
            modules: Vec::new(),
            bundled: bundled::State::without(missing),
            terms: Terms::shared(),
            base_tokens: Arc::new(tokens),
            names: FxHashMap::default(),
            settings: FxHashMap::default(),
            depth_set: None,
            running: Vec::new(),
            states: 0,
            spaces: Vec::new(),
            statistics: Statistics::default(),
        };
        runner.load_library(missing);
        runner.add_module(TOP.to_owned(), String::new(), None);
        for name in missing {
            runner.modules[1].tokenizer.forget(name);
        }
        runner
    }

    fn load_library(&mut self, missing: &[&str]) {
        self.add_module("corelib".to_owned(), String::new(), None);
        for name in missing {
            self.modules[0].tokenizer.forget(name);
        }
        let rules = self.modules[0].tokenizer.clone();
        let mut words = rules.clone();
        for word in stdlib::VALUE_WORDS {
            words.register_name(word, Atom::symbol(word));
        }
        self.add_library_source(stdlib::PRELUDE, &rules, missing);
        self.add_library_source(stdlib::DOCUMENTATION, &words, missing);
    }

    /// Adds what a part of the library states to the library's space.
    fn add_library_source(&mut self, text: &str, tokenizer: &Tokenizer, missing: &[&str]) {
        let parsed = syntax::parse(text);
        assert!(parsed.first_error().is_none(), "the library parses: {:?}", parsed.first_error());
        for form in parsed.tree.forms() {
            let atom = read_atom(&parsed.tree, form.node, tokenizer);
            if !stdlib::defines_one_of(&atom, missing) {
                self.modules[0].space.add(&atom);
            }
        }
    }

    /// The limits of every evaluation.
    pub fn limits_mut(&mut self) -> &mut Limits {
        &mut self.limits
    }

    /// The world the runner acts in.
    pub fn world(&mut self) -> &mut dyn World {
        &mut *self.world
    }

    /// Counts of what was done so far.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// The space of the program itself, `&self`.
    pub fn top_space(&self) -> SpaceRef {
        self.modules[1].space.clone()
    }

    /// Where imports of the program itself are looked for.
    pub fn set_directory(&mut self, directory: &str) {
        directory.clone_into(&mut self.modules[1].directory);
    }

    /// Runs a source in the program's own module, `answer` taking each answer as it comes.
    pub fn run(
        &mut self,
        text: &str,
        answer: &mut dyn FnMut(&mut dyn World, &FormAnswer<'_>) -> Result<(), WorldError>,
    ) -> Run {
        self.run_in(ModuleId(1), &syntax::parse(text), answer)
    }

    fn run_in(
        &mut self,
        module: ModuleId,
        parsed: &Parsed,
        answer: &mut dyn FnMut(&mut dyn World, &FormAnswer<'_>) -> Result<(), WorldError>,
    ) -> Run {
        self.running.push(module);
        let end = self.run_forms(module, parsed, answer);
        self.running.pop();
        Run { end, diagnostics: parsed.diagnostics.clone() }
    }

    fn run_forms(
        &mut self,
        module: ModuleId,
        parsed: &Parsed,
        answer: &mut dyn FnMut(&mut dyn World, &FormAnswer<'_>) -> Result<(), WorldError>,
    ) -> RunEnd {
        let mut number = 0;
        for form in parsed.forms_before_error() {
            let atom = read_atom(&parsed.tree, form.node, &self.modules[module.0 as usize].tokenizer);
            let found = if form.bang {
                self.evaluate_form(module, &atom)
            } else {
                match self.add_form(module, &atom) {
                    None => continue,
                    Some(errors) => Answer { results: errors, ..Answer::default() },
                }
            };
            number += 1;
            let (span, results) = (form.span, with_limit_error(&atom, &found));
            let form = FormAnswer { number, span, atom: &atom, results: &results, limit: found.limit };
            if let Some(Stop::World(error)) = found.stop {
                return RunEnd::World(error);
            }
            if let Err(error) = answer(&mut *self.world, &form) {
                return RunEnd::World(error);
            }
            match found.limit {
                Some(limit) => return RunEnd::Limit(limit),
                None if form.is_error() => return RunEnd::Error,
                None => {}
            }
        }
        if parsed.first_error().is_some() { RunEnd::NotParsed } else { RunEnd::Finished }
    }

    /// Adds a plain form to a module's space; gives its errors instead if types are checked and it has none.
    fn add_form(&mut self, module: ModuleId, atom: &Atom) -> Option<Vec<Atom>> {
        let space = self.modules[module.0 as usize].space.clone();
        if self.checks_types()
            && let Some(errors) = types::type_errors(&space, atom, &mut self.variables)
        {
            return Some(errors);
        }
        self.statistics.atoms_added += 1;
        space.add(atom);
        None
    }

    fn evaluate_form(&mut self, module: ModuleId, atom: &Atom) -> Answer {
        let space = self.modules[module.0 as usize].space.clone();
        if self.checks_types()
            && let Some(errors) = types::type_errors(&space, atom, &mut self.variables)
        {
            return Answer { results: errors, ..Answer::default() };
        }
        let is_minimal = self.setting("interpreter").is_some_and(|value| value.is_symbol("bare-minimal"));
        let evaluate = if is_minimal { interpreter::evaluate_minimal } else { interpreter::evaluate };
        let answer = evaluate(self, &space, atom);
        self.statistics.evaluations += 1;
        self.statistics.steps += answer.steps;
        self.statistics.depth_max = self.statistics.depth_max.max(answer.depth_max);
        answer
    }

    fn checks_types(&self) -> bool {
        self.setting("type-check").is_some_and(|value| value.is_symbol("auto"))
    }

    pub(crate) fn setting(&self, key: &str) -> Option<&Atom> {
        self.settings.get(key)
    }

    pub(crate) fn set_setting(&mut self, key: String, value: Atom) {
        if key == "max-stack-depth" {
            self.depth_set = value.to_string().parse().ok().filter(|&depth| depth > 0);
        }
        self.settings.insert(key, value);
    }

    /// The depth at which `(pragma! max-stack-depth n)` makes an evaluation an error, in frames.
    pub(crate) fn depth_set(&self) -> Option<usize> {
        self.depth_set
    }

    /// Whether `(pragma! semantics strict)` asks for results better than Hyperon's.
    pub(crate) fn is_strict(&self) -> bool {
        self.setting("semantics").is_some_and(|value| value.is_symbol("strict"))
    }

    /// An empty space with a serial number of its own.
    pub(crate) fn new_space(&mut self) -> SpaceRef {
        let serial = (self.modules.len() + self.spaces.len()) as u64;
        let space = SpaceRef::new(serial, format!("GroundingSpace-{serial}"), Arc::clone(&self.terms));
        self.spaces.push(space.clone());
        space
    }

    /// A state with a serial number of its own.
    pub(crate) fn new_state(&mut self, value: Atom, type_atom: Atom) -> StateRef {
        self.states += 1;
        StateRef::new(self.states, value, type_atom)
    }

    pub(crate) fn module(&self, id: ModuleId) -> &Module {
        &self.modules[id.0 as usize]
    }

    pub(crate) fn tokenizer_mut(&mut self, id: ModuleId) -> &mut Tokenizer {
        &mut self.modules[id.0 as usize].tokenizer
    }

    /// The module whose source is being run.
    pub(crate) fn current_module(&self) -> ModuleId {
        self.running.last().copied().unwrap_or(ModuleId(1))
    }

    pub(crate) fn add_module(&mut self, path: String, directory: String, file: Option<String>) -> ModuleId {
        let id = ModuleId(self.modules.len() as u32);
        let serial = (self.modules.len() + self.spaces.len()) as u64;
        let name = format!("ModuleSpace(GroundingSpace-{path})");
        let space = SpaceRef::new(serial, name, Arc::clone(&self.terms));
        let mut tokenizer = Tokenizer::over(Arc::clone(&self.base_tokens));
        stdlib::register_at_home(&mut tokenizer, id, &space);
        let mut imports = Vec::new();
        if id != ModuleId(0) {
            space.import(&self.modules[0].space);
            imports.push(ModuleId(0));
        }
        self.names.insert(path.clone(), id);
        self.modules.push(Module { path, directory, file, space, tokenizer, imports });
        id
    }

    /// The module of a name, loaded if need be.
    ///
    /// # Errors
    /// When it cannot be found or its source does not run to its end.
    pub(crate) fn load_module(&mut self, name: &str) -> Result<ModuleId, ModuleError> {
        if matches!(name, "corelib" | "stdlib") {
            return Ok(ModuleId(0));
        }
        let from = self.current_module();
        let path = modules::absolute_path(name, &self.module(from).path)?;
        if let Some(&known) = self.names.get(&path) {
            return self.check_loaded(known);
        }
        if let Some(bundled) = self.bundled_before_files(&path) {
            return Ok(bundled);
        }
        let file = match self.find_file(&path, from) {
            Err(error @ ModuleError::NotFound { .. }) => return self.bundled_after_files(name, error),
            found => found?,
        };
        self.load_file(path, file)
    }

    /// Loads the file of a module, unless it is loaded under another name.
    pub(crate) fn load_file(&mut self, path: String, file: String) -> Result<ModuleId, ModuleError> {
        if let Some(known) = self.modules.iter().position(|module| module.file.as_ref() == Some(&file)) {
            let known = ModuleId(known as u32);
            self.names.insert(path, known);
            return self.check_loaded(known);
        }
        if self.running.len() > IMPORT_DEPTH_MAX {
            return Err(ModuleError::TooDeep);
        }
        let text = self.read_source(&file)?;
        let id = self.add_module(path, modules::directory_of(&file), Some(file.clone()));
        let loaded = self.run_module(id, &file, &text);
        if loaded.is_err() {
            self.names.retain(|_, known| *known != id);
            self.modules[id.0 as usize].file = None;
        }
        loaded.map(|()| id)
    }

    fn check_loaded(&self, id: ModuleId) -> Result<ModuleId, ModuleError> {
        let Some(position) = self.running.iter().position(|&running| running == id && id != ModuleId(1)) else {
            return Ok(id);
        };
        let cycle = self.running[position..].iter().chain([&id]);
        Err(ModuleError::Circular { cycle: cycle.map(|&id| self.module(id).path.clone()).collect() })
    }

    /// Parses an imported file and tells the person who watches what there is to warn of.
    fn parse_import(&mut self, file: &str, text: &str) -> Parsed {
        let parsed = syntax::parse(text);
        let lines = LineIndex::new(text);
        for warning in parsed.diagnostics.iter().filter(|found| found.severity == Severity::Warning) {
            let position = lines.position(warning.span.start);
            self.world.trace(&format!("warning: {file}:{}:{}: {}", position.line, position.column, warning.message));
        }
        parsed
    }

    fn run_module(&mut self, id: ModuleId, file: &str, text: &str) -> Result<(), ModuleError> {
        let parsed = self.parse_import(file, text);
        let mut failure = None;
        let run = self.run_in(id, &parsed, &mut |_, answer| {
            failure = answer.results.iter().find(|result| names::is_error(result)).map(Atom::to_string);
            Ok(())
        });
        match run.end {
            RunEnd::Finished => Ok(()),
            RunEnd::NotParsed => Err(ModuleError::Source { message: parse_failure(file, text, &parsed) }),
            RunEnd::World(error) => Err(ModuleError::Source { message: error.to_string() }),
            RunEnd::Error | RunEnd::Limit(_) => {
                let error = failure.unwrap_or_else(|| "an evaluation reached a limit".to_owned());
                Err(ModuleError::Failed { path: self.module(id).path.clone(), error })
            }
        }
    }

    /// The file of a module: from the importing module's directory on, else from the program's.
    pub(crate) fn find_file(&mut self, path: &str, from: ModuleId) -> Result<String, ModuleError> {
        let importer = self.module(from);
        let top_directory = self.modules[1].directory.clone();
        let relative = path.strip_prefix(&format!("{}:", importer.path));
        let mut tried: Vec<String> = Vec::new();
        if let Some(relative) = relative {
            tried.extend(modules::candidates(relative, &importer.directory));
            tried.extend(modules::candidates(relative, &top_directory));
        }
        if let Some(relative) = path.strip_prefix("top:") {
            tried.extend(modules::candidates(relative, &top_directory));
            tried.extend(modules::candidates(relative, ""));
        }
        tried.dedup();
        let mut seen = Vec::new();
        tried.retain(|file| {
            !seen.contains(file) && {
                seen.push(file.clone());
                true
            }
        });
        match tried.iter().find(|file| self.world.has_source(file)) {
            Some(file) => Ok(file.clone()),
            None => Err(ModuleError::NotFound { path: path.to_owned(), tried }),
        }
    }

    /// To be called before an effect that is seen outside and cannot be taken back.
    #[expect(clippy::unnecessary_wraps, reason = "transactions will refuse")]
    pub(crate) fn before_outward_effect(&mut self) -> Result<(), Outcome> {
        Ok(())
    }

    /// The text of a source file.
    pub(crate) fn read_source(&mut self, file: &str) -> Result<String, ModuleError> {
        let source = |message: String| ModuleError::Source { message };
        let bytes = self.world.read_source(file).map_err(|error| source(error.to_string()))?;
        let text = syntax::decode(&bytes).map_err(|error| source(format!("{file}: {}", error.message)))?;
        Ok(text.to_owned())
    }

    /// Makes everything in a module answer queries of another.
    pub(crate) fn import_module(&mut self, into: ModuleId, from: ModuleId) {
        let deep = self.module(from).imports.clone();
        for id in std::iter::once(from).chain(deep) {
            if id != into && !self.module(into).imports.contains(&id) {
                let space = self.module(id).space.clone();
                self.module(into).space.import(&space);
                self.modules[into.0 as usize].imports.push(id);
            }
        }
    }

    /// Runs a file's forms in the current module; the results of its last `!`.
    pub(crate) fn include(&mut self, name: &str) -> Result<Vec<Atom>, ModuleError> {
        let from = self.current_module();
        if self.running.len() > IMPORT_DEPTH_MAX {
            return Err(ModuleError::TooDeep);
        }
        let path = modules::absolute_path(name, &self.module(from).path)?;
        let file = self.find_file(&path, from)?;
        let text = self.read_source(&file)?;
        let parsed = self.parse_import(&file, &text);
        let mut last = Vec::new();
        let run = self.run_in(from, &parsed, &mut |_, answer| {
            last = answer.results.to_vec();
            Ok(())
        });
        match run.end {
            RunEnd::NotParsed => Err(ModuleError::Source { message: parse_failure(&file, &text, &parsed) }),
            RunEnd::World(error) => Err(ModuleError::Source { message: error.to_string() }),
            _ => Ok(last),
        }
    }

    /// The loaded modules' paths, in alphabetical order.
    pub(crate) fn module_paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = self.names.keys().cloned().collect();
        paths.sort();
        paths
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.spaces.iter().for_each(SpaceRef::clear);
        self.modules.iter().for_each(|module| module.space.clear());
    }
}

/// The results of an answer, with the error of the limit it reached at the end.
fn with_limit_error(atom: &Atom, answer: &Answer) -> Vec<Atom> {
    let error = answer.limit.map(|limit| limit.error(atom));
    answer.results.iter().cloned().chain(error).collect()
}

/// The first parse error of a file, with its place.
fn parse_failure(file: &str, text: &str, parsed: &Parsed) -> String {
    let Some(error) = parsed.first_error() else { return format!("{file} does not parse") };
    let position = LineIndex::new(text).position(error.span.start);
    format!("{file}:{}:{}: {}", position.line, position.column, error.message)
}
