//! Sources are run form by form.
//!
//! A plain atom is added to the module's space; an atom after `!` is evaluated and its answer handed out before the next form is
//! read, because it may change what the words of that form mean. An answer with an error in it ends the run; so does the first form
//! that does not parse, after everything before it has run.

use super::Session;
use super::failures::FailedForm;
use crate::commit::{Cause, CauseKind, CommitTrigger};
use crate::effects::Effects;
use crate::environment::Stop;
use crate::evaluate::{Answer, Evaluate, Evaluator, Evaluators};
use crate::failure::Failure;
use crate::limits::{FormSteps, Halted, LimitReached, WRITTEN_BYTES_MAX};
use crate::names;
use crate::operation::Operation;
use crate::program::Undo;
use crate::program::history::{Event, SourceId};
use crate::program::modules::ModuleId;
use crate::reader::read_atom;
use crate::record::{Begun, Known, RunRecordError, SourceContent, SourceText};
use crate::refusal::EffectRefused;
use crate::stated::Stated;
use crate::syntax::{self, Diagnostic, Form, NodeId, NodeKind, Parsed, Pieces, Severity, Span, SyntaxTree};
use crate::types;
use crate::world::{World, WorldError};
use rustc_hash::FxHashMap;
use space::{Atom, canonical, written_bytes_least};
use std::fmt::{self, Write as _};
use std::rc::Rc;
use std::sync::Arc;

/// What came of one form: an answer of one after `!`, or why a plain one was not added.
pub(crate) struct FormOutcome<'a> {
    /// Counts these forms in their source, from 1.
    pub(crate) number: usize,
    pub(crate) span: Span,
    pub(crate) atom: &'a Atom,
    /// What it came to; an error for a limit that was reached is its last result.
    pub(crate) results: &'a [Atom],
    pub(crate) limit: Option<LimitReached>,
}

/// What there is to hear of a form.
pub(crate) enum FormEvent<'a> {
    /// What came of it.
    Outcome(&'a FormOutcome<'a>),
    /// Why it has failed, after its outcome.
    Failure(&'a Failure),
}

/// Takes what comes of each form, with the world to print it on.
pub(crate) type OnForm<'a> = dyn FnMut(&mut dyn World, FormEvent<'_>) -> Result<(), WorldError> + 'a;

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
    /// A view does not carry out an operation: see [`crate::Session::of_snapshot`].
    Effect(EffectRefused),
    /// The record of the run failed: what follows could not be kept.
    RunRecord(Arc<dyn std::error::Error + Send + Sync>),
}

/// A program to run.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// What it is called in messages.
    pub origin: &'a str,
    /// Its path, if it is a file.
    pub file: Option<&'a str>,
    /// Where its imports are looked for; the empty one is the current directory.
    pub directory: &'a str,
    /// The text.
    pub text: &'a str,
    /// Where the bytes of the text were not UTF-8: see [`crate::syntax::Decoded`]. Nothing from there on is run.
    pub flaw: Option<&'a Diagnostic>,
}

impl<'a> Source<'a> {
    /// A text that is no file, its imports looked for in the current directory.
    pub fn text(text: &'a str) -> Self {
        Self { origin: "text", file: None, directory: "", text, flaw: None }
    }
}

/// The run of a source.
#[derive(Debug)]
pub struct Run {
    /// How it ended.
    pub end: RunEnd,
    /// What the parser had to say, warnings included.
    pub diagnostics: Vec<Diagnostic>,
}

impl Run {
    /// The error of the parser that comes first in the text, if there is one.
    pub(crate) fn first_error(&self) -> Option<&Diagnostic> {
        self.diagnostics.iter().find(|found| found.severity == Severity::Error)
    }
}

/// A source to be run in a module.
pub(crate) struct SourceRun<'a, 'text> {
    pub(crate) module: ModuleId,
    pub(crate) origin: &'a str,
    pub(crate) file: Option<&'a str>,
    pub(crate) pieces: Pieces<'text>,
    /// The atoms of its forms, if they are not to be read: the text is only how they are shown.
    pub(crate) given: Option<&'a [Atom]>,
    /// Whether the person who watches is told what there is to warn of in a piece before it is run.
    pub(crate) traces_warnings: bool,
}

/// How far a source has been run.
struct Progress {
    id: SourceId,
    /// Whether what it states is there already.
    skips_statements: bool,
    /// What an earlier text of it has stated and this one states too.
    kept: Stated,
    /// How many transactions were open when it began.
    around: usize,
    /// How many forms had an outcome.
    number: usize,
    has_failed: bool,
}

impl Session {
    /// Runs a source, `on_form` taking what comes of each form that has results.
    pub(crate) fn run_in(&mut self, mut source: SourceRun<'_, '_>, on_form: &mut OnForm<'_>) -> Run {
        let (module, file) = (source.module, source.file);
        let cause = self.enter_source(module);
        let is_module = file.is_some() && self.program.module(module).file.as_deref() == file;
        let content = SourceContent::Text(source.pieces.shared_text());
        let end = self.begin_source(module, source.origin, file, content).and_then(|Begun { id, known }| {
            // What an unchanged module did when it was loaded is there already.
            if is_module && matches!(known, Known::Unchanged) {
                return Ok(RunEnd::Finished);
            }
            let end = self.run_pieces(&mut source, id, known, on_form)?;
            if matches!(end, RunEnd::Finished)
                && let Some(record) = self.transactions.record_mut()
            {
                record.end_source(id);
            }
            let is_cancelled = matches!(end, RunEnd::Limit(limit) if self.is_cancelled_by(limit));
            // What somebody does as one transaction is committed at its end.
            if self.is_outermost() && !is_cancelled && self.transactions.depth() == 0 {
                self.commit(CommitTrigger::EndOfSource)?;
            }
            self.call_after_source(&mut source.pieces, end, on_form)
        });
        read_by(self, &mut source.pieces, Pieces::read_rest);
        self.leave_source(cause);
        let end = end.unwrap_or_else(|error| RunEnd::RunRecord(error.into()));
        Run { end, diagnostics: source.pieces.into_diagnostics() }
    }

    /// Calls functions with what the end of a source has changed; gives how its run ends.
    fn call_after_source(
        &mut self,
        pieces: &mut Pieces<'_>,
        end: RunEnd,
        on_form: &mut OnForm<'_>,
    ) -> Result<RunEnd, RunRecordError> {
        if !matches!(end, RunEnd::Finished | RunEnd::Error) {
            return Ok(end);
        }
        read_by(self, pieces, Pieces::read_rest);
        let mut has_failed = matches!(end, RunEnd::Error);
        let ended = self.call_for_changes(pieces.forms(), on_form, &mut has_failed)?;
        Ok(ended.unwrap_or(if has_failed { RunEnd::Error } else { RunEnd::Finished }))
    }

    /// Hands out what came of a form; gives how the run ends if nobody takes it.
    pub(super) fn hand_out(&mut self, outcome: &FormOutcome<'_>, on_form: &mut OnForm<'_>) -> Option<RunEnd> {
        let answered = on_form(&mut *self.world, FormEvent::Outcome(outcome));
        if self.is_outermost() {
            self.limits.interrupt.set_ceiling(None);
        }
        answered.err().map(RunEnd::World)
    }

    pub(crate) fn begin_source(
        &mut self,
        module: ModuleId,
        origin: &str,
        file: Option<&str>,
        content: SourceContent<'_>,
    ) -> Result<Begun, RunRecordError> {
        let file = match file {
            Some(file) if self.transactions.record().is_some() => Some(self.world.absolute_path(file)?),
            _ => None,
        };
        let source = SourceText { origin, file: file.as_deref(), content, module };
        self.transactions.begin_source(&mut self.program, &mut *self.world, &source)
    }

    /// Runs the forms of a source, each piece of which is read when those before it have run.
    fn run_pieces(
        &mut self,
        source: &mut SourceRun<'_, '_>,
        id: SourceId,
        known: Known,
        on_form: &mut OnForm<'_>,
    ) -> Result<RunEnd, RunRecordError> {
        let skips_statements = matches!(known, Known::Unchanged);
        let kept = match known {
            Known::Changed(before) => self.retract_missing(source.pieces.again(), source.module, id, before),
            Known::New | Known::Unchanged => Stated::default(),
        };
        let around = self.transactions.depth();
        let mut progress = Progress { id, skips_statements, kept, around, number: 0, has_failed: false };
        // As long as the text; each form that is evaluated looks.
        while let Some(parsed) = read_by(self, &mut source.pieces, Iterator::next) {
            self.begin_piece(source, &parsed);
            if let Some(end) = self.run_forms(source, &parsed, &mut progress, on_form)? {
                return Ok(end);
            }
            if parsed.first_error().is_some() {
                return Ok(RunEnd::NotParsed);
            }
        }
        // What was still expected to be stated and was not: a word of it has got another meaning.
        for (count, atom) in progress.kept.into_left() {
            (0..count).for_each(|_| self.retract(source.module, id, &atom));
        }
        Ok(if progress.has_failed { RunEnd::Error } else { RunEnd::Finished })
    }

    /// Keeps the text for those who ask where something is written, and tells what there is to warn of.
    fn begin_piece(&mut self, source: &SourceRun<'_, '_>, parsed: &Parsed) {
        if self.explains_failures || self.traced.is_some() {
            self.texts.add(source.origin, &parsed.tree, source.module);
        }
        if !source.traces_warnings {
            return;
        }
        let warnings = parsed.diagnostics.iter().filter(|found| found.severity == Severity::Warning);
        warnings.for_each(|warning| {
            let lines = parsed.tree.line_starts().index(parsed.tree.text());
            let (origin, position) = (source.origin, lines.position(warning.span.start));
            self.world.trace(&format!("warning: {origin}:{}:{}: {}", position.line, position.column, warning.message));
        });
    }

    /// Runs the forms of a piece; gives how the run ends if it does.
    fn run_forms(
        &mut self,
        source: &mut SourceRun<'_, '_>,
        parsed: &Parsed,
        progress: &mut Progress,
        on_form: &mut OnForm<'_>,
    ) -> Result<Option<RunEnd>, RunRecordError> {
        let module = source.module;
        let forms = parsed.forms_before_error();
        let first = source.pieces.forms().0 - forms.len();
        for (index, form) in forms.iter().enumerate() {
            if !form.bang && progress.skips_statements {
                continue;
            }
            let kind = if form.bang { CauseKind::Evaluation } else { CauseKind::Statement };
            let offset = form.bang_span.unwrap_or(form.span).start;
            self.set_cause(Some(Cause { source: progress.id, kind, offset }));
            self.form_at = form.bang.then(|| (parsed.tree.shared_text(), offset));
            let (atom, written) = match source.given.and_then(|atoms| atoms.get(first + index)) {
                Some(atom) => (atom.clone(), 0),
                None => self.read_form(module, &parsed.tree, form),
            };
            if form.bang && self.only_defines && !defines(&atom) {
                continue;
            }
            let before = self.program.log().stamp();
            let answer = match form.bang {
                true if self.is_bound_before(module, &parsed.tree, form.node) => Some(vec![Atom::unit()].into()),
                true => Some(self.evaluate_form(module, &atom, written)),
                false if progress.kept.take(&atom) => None,
                false => self.add_form(module, &atom).map(Answer::from),
            };
            let Some(found) = answer else { continue };
            let changed_nothing = self.program.log().stamp() == before;
            progress.number += 1;
            // Those that the form left open, because a limit ended it.
            self.close_transaction(progress.around + 1, false);
            self.end_form(&found)?;
            if let Some(end) = found.stop.as_ref().and_then(end_of) {
                return Ok(Some(end));
            }
            let (number, span, limit) = (progress.number, form.span, found.limit);
            let results = with_limit_error(&atom, found);
            let outcome = FormOutcome { number, span, atom: &atom, results: &results, limit };
            if let Some(end) = self.hand_out(&outcome, on_form) {
                return Ok(Some(end));
            }
            if let Some(limit) = limit {
                return Ok(Some(RunEnd::Limit(limit)));
            }
            if results.iter().any(names::is_error) {
                let read = if self.goes_on() {
                    first + index + 1
                } else {
                    read_by(self, &mut source.pieces, Pieces::forms_in_all)
                };
                let later = read - first - index - 1;
                let (origin, tree, atom, results) = (source.origin, &parsed.tree, &atom, &results[..]);
                let failed = FailedForm { module, origin, tree, form, number, atom, results, changed_nothing, later };
                if let Some(end) = self.end_of_failed(&failed, on_form) {
                    return Ok(Some(end));
                }
                progress.has_failed = true;
            }
            if let Some(end) = self.call_for_changes((number, span), on_form, &mut progress.has_failed)? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    /// Tells why a form of the program has failed, if somebody wants to hear it; gives how the run ends, unless it goes on.
    fn end_of_failed(&mut self, failed: &FailedForm<'_>, on_form: &mut OnForm<'_>) -> Option<RunEnd> {
        if self.explains_failures
            && self.is_outermost()
            && let Some(failure) = self.explain_failure(failed)
            && let Err(error) = on_form(&mut *self.world, FormEvent::Failure(&failure))
        {
            return Some(RunEnd::World(error));
        }
        (!self.goes_on()).then_some(RunEnd::Error)
    }

    /// Whether the forms after one that has failed are run.
    pub(super) fn goes_on(&self) -> bool {
        self.keeps_going && self.is_outermost()
    }

    /// Whether a form binds a word that the knowledge base has bound already. It keeps its meaning, so that what was kept
    /// under it is found again: the form is not evaluated.
    fn is_bound_before(&self, module: ModuleId, tree: &SyntaxTree, form: NodeId) -> bool {
        let bound_before = &self.program.module(module).bound_before;
        let NodeKind::Expression([head, word, _]) = tree.kind(form) else { return false };
        match (tree.kind(*head), tree.kind(*word)) {
            (NodeKind::Word("bind!"), NodeKind::Word(word)) => bound_before.contains(word),
            _ => false,
        }
    }

    /// Ends the transaction that a form of the program was; forms of imported sources are part of another.
    pub(super) fn end_form(&mut self, found: &Answer) -> Result<(), RunRecordError> {
        if !self.is_outermost() || self.transactions.depth() > 0 {
            return Ok(());
        }
        if let Some(halted) = self.form_steps.halted().filter(|halted| found.limit == Some(halted.reason))
            && self.halt(halted)?
        {
            return Ok(());
        }
        if matches!(found.stop, Some(Stop::RunRecord(_))) {
            return Ok(());
        }
        // What sinks take to keep a commit is not the form's, which has ended: a process that ended here would lose what it did.
        self.limits.interrupt.set_ceiling(None);
        let taken = self.commit(CommitTrigger::Answer);
        self.limits.set_ceiling(0);
        taken
    }

    /// Notes that a form was ended from outside; says whether it was cancelled, so that nothing of it is kept.
    fn halt(&mut self, halted: Halted) -> Result<bool, RunRecordError> {
        let is_cancelled = self.transactions.halt(&mut self.program, halted);
        self.follow_settings();
        is_cancelled
    }

    /// Whether the form at hand was cancelled: nothing of it is kept then.
    fn is_cancelled_by(&self, limit: LimitReached) -> bool {
        let is_noted = self.form_steps.halted().is_some_and(|halted| halted.reason == limit);
        is_noted && !matches!(limit, LimitReached::Heap(_) | LimitReached::Memory(_))
    }

    /// Removes what an edited source stated before and states no longer; gives what it still states. Nobody knows what a
    /// text states that does not parse to its end, so it removes nothing.
    fn retract_missing(&mut self, mut text: Pieces<'_>, module: ModuleId, id: SourceId, before: Vec<Atom>) -> Stated {
        let mut wanted: FxHashMap<Vec<u8>, u32> = FxHashMap::default();
        for parsed in text.by_ref() {
            for form in parsed.forms_before_error().iter().filter(|form| !form.bang) {
                let atom = read_atom(&parsed.tree, form.node, &self.program.module(module).tokenizer);
                *wanted.entry(canonical::key(&atom)).or_default() += 1;
            }
        }
        // What a text states behind its first error is not known, so nothing of what it stated is given up.
        let is_whole = !text.has_error();
        let mut kept = Stated::default();
        for atom in before {
            let bytes = canonical::key(&atom);
            let is_wanted = wanted.get_mut(&bytes).filter(|count| **count > 0).map(|count| *count -= 1).is_some();
            if is_wanted || !is_whole {
                kept.put(bytes, atom);
            } else {
                self.retract(module, id, &atom);
            }
        }
        kept
    }

    /// Removes an atom that a source stated, unless a program has done so.
    pub(crate) fn retract(&mut self, module: ModuleId, source: SourceId, atom: &Atom) {
        self.set_cause(Some(Cause { source, kind: CauseKind::Retraction, offset: 0 }));
        let space = self.program.module(module).space.clone();
        // An equal atom, a number of the other kind say, is another's.
        if space.read(|space| space.contains_exactly(atom)) {
            space.remove(atom);
        }
        self.program.note(Event::Unstated { source, atom: atom.clone() }, Undo::Nothing);
    }

    /// Adds a plain form to a module's space; gives its errors instead if types are checked and it has none.
    pub(crate) fn add_form(&mut self, module: ModuleId, atom: &Atom) -> Option<Vec<Atom>> {
        let space = self.program.module(module).space.clone();
        if self.program.checks_types()
            && let Some(errors) = types::type_errors(&space, atom, self.program.variables())
        {
            return Some(errors);
        }
        if self.program.is_durable()
            && let Some(value) = canonical::find_opaque(atom)
        {
            return Some(vec![names::error(atom.clone(), Atom::symbol(&names::not_durable(value)))]);
        }
        self.statistics.atoms_added += 1;
        space.add(atom);
        None
    }

    /// A form as an atom, and the bytes that it takes with the part of the text's tree that it is read from.
    fn read_form(&self, module: ModuleId, tree: &SyntaxTree, form: &Form) -> (Atom, usize) {
        let (read, before) = (tree.bytes_of(form), region::memory::of_thread());
        if form.bang && self.is_outermost() {
            self.limits.set_ceiling(read);
        }
        let atom = read_atom(tree, form.node, &self.program.module(module).tokenizer);
        (atom, read + usize::try_from(region::memory::of_thread() - before).unwrap_or(0))
    }

    /// Evaluates a form, for which `written` bytes were taken when it was read.
    pub(super) fn evaluate_form(&mut self, module: ModuleId, atom: &Atom, written: usize) -> Answer {
        let space = self.program.module(module).space.clone();
        if self.program.checks_types()
            && let Some(errors) = types::type_errors(&space, atom, self.program.variables())
        {
            return Answer { results: errors, ..Answer::default() };
        }
        if self.is_outermost() {
            self.ended_inside = None;
            let (form, evaluations) = (self.transactions.current_cause(), self.statistics.evaluations);
            match self.transactions.begin_evaluation(evaluations, form) {
                Ok(halted) => {
                    let held = self.evaluators.machine.bytes_held() + written;
                    self.form_steps = FormSteps::new(halted, held);
                    self.limits.set_ceiling(held);
                }
                Err(error) => return Answer { stop: Some(Stop::RunRecord(error.into())), ..Answer::default() },
            }
            let limit = self.form_steps.begin(&self.limits);
            if limit.is_some() {
                return Answer { limit, ..Answer::default() };
            }
        }
        let evaluator = self.evaluator();
        let around = self.tables.depth();
        // All results of a form are wanted.
        let floor = self.tables.set_floor(around);
        let is_outermost = self.is_outermost();
        if let Some(profile) = self.profile.as_mut().filter(|_| is_outermost) {
            profile.begin_form();
        }
        let mut answer = evaluator.evaluate(self, &space, atom);
        if let Some(profile) = self.profile.as_mut().filter(|_| is_outermost) {
            profile.end_form();
        }
        self.tables.abandon(around);
        self.tables.set_floor(floor);
        if let Some(Stop::NotStratified(error)) = &answer.stop {
            // What was found so far depends on the order in which it was.
            answer.results = vec![error.clone()];
            answer.stop = None;
        }
        if is_outermost {
            keep_writable(&mut answer);
            self.note_end(&mut answer);
        }
        self.statistics.evaluations += 1;
        self.statistics.steps += answer.steps;
        self.statistics.depth_max = self.statistics.depth_max.max(answer.depth_max);
        answer
    }

    /// What evaluates the next form, as the settings are now.
    fn evaluator(&self) -> Rc<dyn Evaluate<Session>> {
        let Evaluators { chosen, machine, interpreter, minimal } = &self.evaluators;
        Rc::clone(match chosen {
            _ if self.program.is_minimal() => minimal,
            Evaluator::Machine if self.program.depth_set().is_none() => machine,
            Evaluator::Machine | Evaluator::Interpreter => interpreter,
        })
    }

    /// Notes where a form of the program has ended, if that is no matter of the program alone. A replay has as many results of
    /// it as there were.
    fn note_end(&mut self, answer: &mut Answer) {
        let from_outside = answer.limit.filter(|limit| limit.is_from_outside() || self.form_steps.halted().is_some());
        if let Some(limit) = from_outside
            && let Some(recorded) = self.form_steps.end(limit, answer.results.len())
        {
            answer.results.truncate(recorded);
        }
    }
}

/// A text with a form for each of these atoms, as it is read: they stand there as they are written if that can be read, else a word in the
/// place of each.
pub(crate) fn text_of_atoms(atoms: &[Atom], bang: bool) -> String {
    let text = text_of_forms(atoms, bang, |text, atom| write!(text, "{atom}"));
    let parsed = syntax::parse(&text);
    let is_read = parsed.first_error().is_none() && parsed.tree.forms().len() == atoms.len();
    if is_read && parsed.tree.forms().iter().all(|form| form.bang == bang) {
        return text;
    }
    text_of_forms(atoms, bang, |text, _| text.write_char('_'))
}

/// A line for each atom.
fn text_of_forms(atoms: &[Atom], bang: bool, write: impl Fn(&mut String, &Atom) -> fmt::Result) -> String {
    let mut text = String::new();
    for atom in atoms {
        text.push_str(if bang { "! " } else { "" });
        write(&mut text, atom).expect("a text takes whatever is written to it");
        text.push('\n');
    }
    text
}

/// Reads more of a source. What the text of the program takes meanwhile is bounded; what others take is part of the form that runs them.
fn read_by<'text, T>(session: &Session, pieces: &mut Pieces<'text>, read: impl FnOnce(&mut Pieces<'text>) -> T) -> T {
    if !session.is_outermost() {
        return read(pieces);
    }
    session.limits.while_reading(pieces.shared_text().len(), || read(pieces))
}

/// How a run ends that must, unless it is for a limit.
pub(super) fn end_of(stop: &Stop) -> Option<RunEnd> {
    match stop {
        Stop::World(error) => Some(RunEnd::World(error.clone())),
        Stop::Effect(refused) => Some(RunEnd::Effect(refused.clone())),
        Stop::RunRecord(error) => Some(RunEnd::RunRecord(Arc::clone(error))),
        Stop::Limit(_) | Stop::NotStratified(_) => None,
    }
}

/// Whether a form after `!` says what words or rules mean.
fn defines(form: &Atom) -> bool {
    let operation = form.head().and_then(Operation::of);
    operation.is_some_and(|operation| operation.effects().have(Effects::DEFINES))
}

/// Ends an answer before the first result with which it would be too long to be written.
fn keep_writable(answer: &mut Answer) {
    let mut left = WRITTEN_BYTES_MAX;
    let is_too_long = |result: &Atom| match left.checked_sub(written_bytes_least(result, WRITTEN_BYTES_MAX + 1)) {
        Some(rest) => {
            left = rest;
            false
        }
        None => true,
    };
    if let Some(number) = answer.results.iter().position(is_too_long) {
        answer.results.truncate(number);
        answer.limit = Some(LimitReached::Written(WRITTEN_BYTES_MAX));
    }
}

/// The results of an answer, with the error of the limit it reached at the end.
pub(super) fn with_limit_error(atom: &Atom, answer: Answer) -> Vec<Atom> {
    let Answer { mut results, limit, .. } = answer;
    results.extend(limit.map(|limit| limit.error(atom)));
    results
}
