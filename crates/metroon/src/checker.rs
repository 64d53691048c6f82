//! Sources are checked without being run: what they and their imports define is read, and likely mistakes are looked for.
//!
//! 1. The source runs with only those forms evaluated that say what words and rules mean: `import!`, `bind!` and the like.
//! 2. Its world reads sources, and nothing else: nothing is printed, written or asked.
//! 3. What the parser said, what could not be imported, and what [`metta::check`] finds are told together, by place.

use crate::no_world::NoWorld;
use metta::syntax::{Diagnostic, Severity, parse};
use metta::{
    FileId, ModuleId, ModuleSearch, OpenMode, Program, RunEnd, RunEvent, Session, Source, World, WorldError, check,
    names,
};
use space::Atom;
use std::sync::Arc;

/// The steps that a form which defines something may take.
const STEPS_MAX: u64 = 1_000_000;

/// A source that was checked, with the program that has read it.
pub struct Checked {
    /// What was found, sorted by place.
    pub diagnostics: Vec<Diagnostic>,
    session: Session,
}

impl Checked {
    /// The program as the source and its imports have defined it, to ask for types and documentation.
    pub fn program(&mut self) -> &mut Program {
        self.session.program_mut()
    }

    /// Whether the source does not parse.
    pub fn is_unparsed(&self) -> bool {
        let mut errors = self.diagnostics.iter().filter(|found| found.severity == Severity::Error);
        errors.any(|found| found.code != IMPORT_FAILED)
    }
}

/// The code of a form that could not define what it says.
const IMPORT_FAILED: &str = "cannot-define";

/// Checks a source. The world is asked for sources only.
pub fn check_source(world: impl World + 'static, source: &Source<'_>) -> Checked {
    check_source_in(world, source, ModuleSearch::default())
}

/// Checks a source of a package, whose modules are looked for in these places as well. The world is asked for sources only.
pub fn check_source_in(world: impl World + 'static, source: &Source<'_>, search: ModuleSearch) -> Checked {
    let mut session = Session::new(Box::new(SourceWorld { inner: world }));
    session.program_mut().search_modules(search);
    session.only_define(true);
    session.keep_going(true);
    session.limits_mut().steps_max = Some(STEPS_MAX);
    let mut failed = Vec::new();
    let run = session.run_explaining(source, false, &mut |_, event| {
        if let RunEvent::Answer(answer) = event
            && is_import(answer.atom)
        {
            let error = answer.results.iter().find(|result| names::is_error(result));
            let said = error.and_then(names::error_message);
            failed.extend(said.map(|said| {
                let said = said.trim_matches('"').to_owned();
                Diagnostic::error(IMPORT_FAILED, answer.span, said).with_label("what this defines is not known")
            }));
        }
        Ok(())
    });
    let mut diagnostics = run.diagnostics;
    if let RunEnd::Limit(limit) = run.end {
        diagnostics.retain(|known| known.severity == Severity::Error);
        let message = format!("a form that defines something does not end: {limit}");
        diagnostics.push(Diagnostic::warning("not-checked", metta::syntax::Span { start: 0, end: 0 }, message));
    }
    let is_known = failed.is_empty();
    diagnostics.append(&mut failed);
    let tree = parse(source.text).tree;
    let mut findings = check(session.program_mut(), ModuleId::TOP, &tree);
    // What an import would have defined is not known.
    let may_be_imported = |code| matches!(code, "unknown-function" | "missing-import" | "unknown-space");
    findings.retain(|finding| is_known || !may_be_imported(finding.code));
    diagnostics.append(&mut findings);
    diagnostics.sort_by_key(|found| found.span.start);
    Checked { diagnostics, session }
}

/// Whether a form brings in what others have written. What a form such as `bind!` has asked of the world was refused here, and would not
/// be where the source runs.
fn is_import(form: &Atom) -> bool {
    let head = form.head().map(Atom::to_string);
    head.is_some_and(|head| {
        matches!(head.as_str(), "import!" | "include" | "mod-space!" | "register-module!" | "git-module!")
    })
}

/// A world that has sources, and nothing else.
struct SourceWorld<W> {
    inner: W,
}

impl<W: World> World for SourceWorld<W> {
    fn print(&mut self, _: &str) -> Result<(), WorldError> {
        Ok(())
    }

    fn trace(&mut self, _: &str) {}

    fn read_source(&mut self, path: &str) -> Result<Arc<Vec<u8>>, WorldError> {
        self.inner.read_source(path)
    }

    fn has_source(&mut self, path: &str) -> Result<bool, WorldError> {
        self.inner.has_source(path)
    }

    fn read_standard_input(&mut self) -> Result<Vec<u8>, WorldError> {
        self.inner.read_standard_input()
    }

    fn absolute_path(&mut self, path: &str) -> Result<String, WorldError> {
        self.inner.absolute_path(path)
    }

    fn now(&mut self) -> Result<i64, WorldError> {
        NoWorld.now()
    }

    fn random(&mut self) -> Result<u64, WorldError> {
        NoWorld.random()
    }

    fn environment(&mut self, name: &str) -> Result<Option<String>, WorldError> {
        NoWorld.environment(name)
    }

    fn open_file(&mut self, path: &str, mode: OpenMode) -> Result<FileId, WorldError> {
        NoWorld.open_file(path, mode)
    }

    fn read_file(&mut self, file: FileId, bytes_max: u64) -> Result<Vec<u8>, WorldError> {
        NoWorld.read_file(file, bytes_max)
    }

    fn write_file(&mut self, file: FileId, bytes: &[u8]) -> Result<(), WorldError> {
        NoWorld.write_file(file, bytes)
    }

    fn seek_file(&mut self, file: FileId, position: u64) -> Result<(), WorldError> {
        NoWorld.seek_file(file, position)
    }

    fn file_size(&mut self, file: FileId) -> Result<u64, WorldError> {
        NoWorld.file_size(file)
    }

    fn close_file(&mut self, file: FileId) -> Result<(), WorldError> {
        NoWorld.close_file(file)
    }
}
