//! The modules of a run: they are found, filled from a file of MeTTa or of data, and made anew when a knowledge base runs its
//! sources again.
//!
//! 1. A name is that of a file, beside the module that asks or where modules are looked for, or of a module that comes with the program.
//! 2. A module is loaded once. If a module imports one that is still being loaded, that is a circle, and the error shows it.
//! 3. If an earlier run in the same knowledge base loaded a module, what was edited in its file since then is applied.

use super::{FormEvent, Run, RunEnd, Session, SourceRun};
use crate::bundled::BUNDLES;
use crate::environment::Stop;
use crate::load::{Format, LoadError, Skipped};
use crate::names;
use crate::program::modules::{self, IMPORT_DEPTH_MAX, ModuleError, ModuleId, TOP_PATH};
use crate::syntax::{self, Decoded, LineIndex, Pieces};
use crate::world::WorldError;
use space::Atom;
use std::sync::Arc;

impl Session {
    /// The module of a name, loaded if need be.
    ///
    /// # Errors
    /// When it cannot be found or its source does not run to its end.
    pub(crate) fn load_module(&mut self, name: &str) -> Result<ModuleId, ModuleError> {
        if matches!(name, "corelib" | "stdlib") {
            return Ok(ModuleId::LIBRARY);
        }
        let from = self.current_module();
        let path = modules::absolute_path(name, &self.program.module(from).path)?;
        if let Some(known) = self.program.module_named(&path) {
            self.check_loaded(known)?;
            return self.refresh_module(known, &path, from);
        }
        if let Some(bundled) = self.program.bundled_before_files(&path) {
            return Ok(bundled);
        }
        let file = match self.find_file(&path, from) {
            Err(error @ ModuleError::NotFound { .. }) => return self.program.bundled_after_files(name, error),
            found => found?,
        };
        self.load_file(path, file)
    }

    /// Loads the file of a module, unless it is loaded under another name.
    pub(crate) fn load_file(&mut self, path: String, file: String) -> Result<ModuleId, ModuleError> {
        if let Some(known) = self.program.module_of_file(&file) {
            self.program.name_module(path, known);
            return self.check_loaded(known);
        }
        if self.running.len() > IMPORT_DEPTH_MAX {
            return Err(ModuleError::TooDeep);
        }
        // A file that cannot be read makes no module.
        let bytes = self.world.read_source(&file).map_err(world_error)?;
        let id = self.program.add_module(path, modules::directory_of(&file), Some(file.clone()));
        let loaded = self.fill_module(id, &file, bytes);
        if loaded.is_err() {
            self.program.forget_module(id);
        }
        loaded.map(|()| id)
    }

    /// Applies what was edited in the files of a module that another process loaded and of those that it imports: an
    /// unchanged module is not run again, and so imports nothing.
    fn refresh_module(&mut self, id: ModuleId, path: &str, from: ModuleId) -> Result<ModuleId, ModuleError> {
        if self.program.module(id).is_restored {
            self.refresh_file(id, path, from)?;
            for import in self.program.module(id).imports.clone() {
                let path = self.program.module(import).path.clone();
                self.refresh_file(import, &path, id)?;
            }
        }
        Ok(id)
    }

    /// Applies what was edited in the file of one such module. A file that is gone changes nothing. That process may have
    /// had another working directory, so the file is looked for as at the first import.
    fn refresh_file(&mut self, id: ModuleId, path: &str, from: ModuleId) -> Result<(), ModuleError> {
        if !self.program.take_restored(id) {
            return Ok(());
        }
        let file = match self.find_file(path, from) {
            Err(ModuleError::NotFound { refused: None, .. }) => return Ok(()),
            found => found?,
        };
        let absolute = self.world.absolute_path(&file).map_err(world_error)?;
        // Another file of the same name, seen from another directory, is no edit of it.
        if self.transactions.record().is_some_and(|record| !record.is_source_of(id, &absolute)) {
            return Ok(());
        }
        let bytes = self.world.read_source(&file).map_err(world_error)?;
        self.program.set_directory(id, modules::directory_of(&file));
        self.program.set_file(id, file.clone());
        self.fill_module(id, &file, bytes)
    }

    /// What reads a file that a module is filled from, if it is no program.
    fn format_of(&mut self, id: ModuleId, file: &str) -> Result<Option<Box<dyn Format>>, ModuleError> {
        let Some(formats) = self.formats.clone() else { return Ok(None) };
        if !formats
            .endings()
            .iter()
            .any(|ending| file.rsplit('.').next().is_some_and(|own| own.eq_ignore_ascii_case(ending)))
        {
            return Ok(None);
        }
        let path = self.world.absolute_path(file).map_err(world_error)?;
        formats.of(&path, self.words_of(id)).map_err(|message| ModuleError::Source { message })
    }

    /// Fills a module with what its file holds: a program is run, other data is loaded.
    fn fill_module(&mut self, id: ModuleId, file: &str, bytes: Arc<Vec<u8>>) -> Result<(), ModuleError> {
        match self.format_of(id, file)? {
            Some(mut format) => self.fill_with_data(id, file, bytes, &mut *format),
            None => self.run_module(id, file, &syntax::decode(&bytes)),
        }
    }

    /// Loads the data of a file into a module, and tells the person who watches what was left out.
    fn fill_with_data(
        &mut self,
        id: ModuleId,
        file: &str,
        bytes: Arc<Vec<u8>>,
        format: &mut dyn Format,
    ) -> Result<(), ModuleError> {
        let report = match self.load_module_data(id, file, bytes, format) {
            Ok(report) => report,
            Err(LoadError::World(error)) => return Err(world_error(error)),
            Err(LoadError::Limit(limit)) => {
                self.note_end_inside(&RunEnd::Limit(limit));
                return Err(ModuleError::Source { message: format!("{file}: {}", LoadError::Limit(limit)) });
            }
            Err(error) => return Err(ModuleError::Source { message: format!("{file}: {error}") }),
        };
        for skipped in report.skipped.iter().filter(|skipped| skipped.is_error) {
            let Skipped { reason, count, line, .. } = skipped;
            self.world.trace(&format!("warning: {file}:{line}: {reason}; not loaded: {count} such"));
        }
        Ok(())
    }

    fn check_loaded(&self, id: ModuleId) -> Result<ModuleId, ModuleError> {
        let Some(position) = self.running.iter().position(|&running| running == id && id != ModuleId::TOP) else {
            return Ok(id);
        };
        if position + 1 == self.running.len()
            && let Some(name) =
                self.program.module(id).path.strip_prefix(TOP_PATH).and_then(|path| path.strip_prefix(':'))
            && BUNDLES.iter().any(|bundle| bundle.name == name)
        {
            return Err(ModuleError::HidesLibrary { name: name.to_owned() });
        }
        let cycle = self.running[position..].iter().chain([&id]);
        Err(ModuleError::Circular { cycle: cycle.map(|&id| self.program.module(id).path.clone()).collect() })
    }

    fn run_module(&mut self, id: ModuleId, file: &str, source: &Decoded<'_>) -> Result<(), ModuleError> {
        let mut failure = None;
        let run = self.run_in(source_of(id, file, Some(file), source), &mut |_, event| {
            let FormEvent::Outcome(answer) = event else { return Ok(()) };
            failure = answer.results.iter().find(|result| names::is_error(result)).map(names::brief);
            Ok(())
        });
        self.note_end_inside(&run.end);
        match run.end {
            RunEnd::Finished => Ok(()),
            RunEnd::NotParsed => Err(ModuleError::Source { message: parse_failure(file, &source.text, &run) }),
            RunEnd::World(error) => Err(world_error(error)),
            RunEnd::Effect(refused) => Err(ModuleError::Source { message: refused.to_string() }),
            RunEnd::RunRecord(error) => Err(ModuleError::Source { message: error.to_string() }),
            RunEnd::Error | RunEnd::Limit(_) => {
                let error = failure.unwrap_or_else(|| "an evaluation reached a limit".to_owned());
                Err(ModuleError::Failed { path: self.program.module(id).path.clone(), error })
            }
        }
    }

    /// Remembers that a source inside another ended for a reason that ends the other too.
    pub(super) fn note_end_inside(&mut self, end: &RunEnd) {
        let stop = match end {
            RunEnd::Limit(limit) if limit.is_from_outside() => Stop::Limit(*limit),
            RunEnd::World(error) => Stop::World(error.clone()),
            RunEnd::Effect(refused) => Stop::Effect(refused.clone()),
            RunEnd::RunRecord(error) => Stop::RunRecord(Arc::clone(error)),
            _ => return,
        };
        self.ended_inside.get_or_insert(stop);
    }

    /// The file of a module: the one that a package lists for it, or else from the importing module's directory on, then from the
    /// program's, then in the folders that a package names.
    pub(crate) fn find_file(&mut self, path: &str, from: ModuleId) -> Result<String, ModuleError> {
        let importer = self.program.module(from);
        let top_directory = self.program.module(ModuleId::TOP).directory.clone();
        let own = path.strip_prefix(&format!("{}:", importer.path));
        let of_top = path.strip_prefix("top:");
        let search = self.program.module_search();
        if let Some(listed) = own.into_iter().chain(of_top).find_map(|relative| search.listed(relative)) {
            return self.first_source(path, listed);
        }
        let mut tried: Vec<String> = Vec::new();
        if let Some(relative) = own {
            tried.extend(self.candidates(relative, &importer.directory));
            tried.extend(self.candidates(relative, &top_directory));
        }
        if let Some(relative) = of_top {
            tried.extend(self.candidates(relative, &top_directory));
            tried.extend(self.candidates(relative, ""));
        }
        for folder in search.folders() {
            own.into_iter().chain(of_top).for_each(|relative| tried.extend(self.candidates(relative, folder)));
        }
        let mut seen = Vec::new();
        tried.retain(|file| {
            !seen.contains(file) && {
                seen.push(file.clone());
                true
            }
        });
        self.first_source(path, tried)
    }

    /// The first of these files that there is. One that the program may not look for is passed over.
    pub(crate) fn first_source(&mut self, path: &str, files: Vec<String>) -> Result<String, ModuleError> {
        let (mut tried, mut refused) = (Vec::new(), None);
        for file in files {
            match self.world.has_source(&file) {
                Ok(true) => return Ok(file),
                Ok(false) => tried.push(file),
                Err(error) if error.ends_run() => return Err(ModuleError::World(error)),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(ModuleError::NotFound { path: path.to_owned(), tried, refused })
    }

    /// The files that a name may mean, looked for from a directory.
    fn candidates(&self, relative: &str, directory: &str) -> Vec<String> {
        let endings = self.formats.as_ref().map_or(&[][..], |formats| formats.endings());
        let data = modules::data_candidate(relative, directory, endings);
        data.into_iter().chain(modules::candidates(relative, directory)).collect()
    }

    /// Runs a file's forms in the current module; the results of its last `!`.
    pub(crate) fn include(&mut self, name: &str) -> Result<Vec<Atom>, ModuleError> {
        let from = self.current_module();
        if self.running.len() > IMPORT_DEPTH_MAX {
            return Err(ModuleError::TooDeep);
        }
        let path = modules::absolute_path(name, &self.program.module(from).path)?;
        let file = self.find_file(&path, from)?;
        let bytes = self.world.read_source(&file).map_err(world_error)?;
        let source = syntax::decode(&bytes);
        let mut last = Vec::new();
        // What is included is a part of the form that includes it: it is stated as often as that is evaluated.
        let run = self.run_in(source_of(from, &file, None, &source), &mut |_, event| {
            let FormEvent::Outcome(answer) = event else { return Ok(()) };
            last = answer.results.to_vec();
            Ok(())
        });
        self.note_end_inside(&run.end);
        match run.end {
            RunEnd::NotParsed => Err(ModuleError::Source { message: parse_failure(&file, &source.text, &run) }),
            RunEnd::World(error) => Err(world_error(error)),
            RunEnd::RunRecord(error) => Err(ModuleError::Source { message: error.to_string() }),
            _ => Ok(last),
        }
    }
}

/// A failure of the world while a source is loaded: the end of the run, or the error of the import.
fn world_error(error: WorldError) -> ModuleError {
    if error.ends_run() { ModuleError::World(error) } else { ModuleError::Source { message: error.to_string() } }
}

/// What a module imports, of which the person who watches is told what there is to warn of.
fn source_of<'a, 'text>(
    module: ModuleId,
    origin: &'a str,
    file: Option<&'a str>,
    text: &'text Decoded<'_>,
) -> SourceRun<'a, 'text> {
    let pieces = Pieces::new(&text.text, text.flaw.as_ref());
    SourceRun { module, origin, file, pieces, given: None, traces_warnings: true }
}

/// The first parse error of a file, with its place.
fn parse_failure(file: &str, text: &str, run: &Run) -> String {
    let Some(error) = run.first_error() else { return format!("{file} does not parse") };
    let position = LineIndex::new(text).position(error.span.start);
    format!("{file}:{}:{}: {}", position.line, position.column, error.message)
}
