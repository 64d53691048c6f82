//! A knowledge base as it was after a commit, for any thread.
//!
//! 1. A [`View`] shares the contents of spaces with the thread that writes. It never changes, and nobody waits for anybody.
//! 2. A query whose answers are rows is answered from them. For any other one, spaces are made of the view, once: what their rules
//!    lead to is as it was, too.
//! 3. An evaluation needs a [`Reader`], which has an evaluator of its own. A form that changes something or reaches outside is
//!    [refused](ViewError::Effect), and what a form makes is gone when it ends.

use crate::answer::Answer;
use crate::commit_journal::{CommitJournal, KnowledgeBaseError};
use crate::history::{damage_warning, shown};
use crate::no_world::NoWorld;
use journal::Disk;
use metta::syntax::{self, Diagnostic, LineIndex, Position, Severity};
use metta::{
    EffectRefused, Evaluator, LimitReached, Limits, NamedQuery, ProgramSnapshot, RunEnd, Session, SnapshotSpaces,
    WorldError, read_atom,
};
use space::{
    AnswerTable, Atom, Grounded, ImageDamage, Rewrite, SharedSpace, Solution, VariableSource, catching_damage,
    distinct_open_parts, rewrite,
};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// A knowledge base as it was after a commit. Cheap to clone; any thread may ask it.
#[derive(Clone)]
pub struct View(Arc<Viewed>);

struct Viewed {
    snapshot: ProgramSnapshot,
    epoch: u64,
    hash: u128,
    /// Made when a query first needs more than rows.
    spaces: OnceLock<SnapshotSpaces>,
    /// Where it can be read from again.
    origin: Option<Arc<ViewOrigin>>,
    /// What could not be used.
    warnings: Vec<String>,
    /// This view, read from the journal, after damage was met in a checkpoint.
    instead: OnceLock<Result<View, Arc<KnowledgeBaseError>>>,
}

/// The journal of what is viewed.
pub(crate) struct ViewOrigin {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) directory: String,
}

/// Why a view gives no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum ViewError {
    /// The text does not parse.
    NotParsed {
        /// What is wrong.
        diagnostic: Box<Diagnostic>,
        /// Where.
        position: Position,
    },
    /// The text is to be one atom, and is not.
    NotOneAtom {
        /// The text.
        text: String,
    },
    /// The form changes something or reaches outside.
    Effect(EffectRefused),
    /// A limit ended the evaluation.
    Limit {
        /// Which.
        limit: LimitReached,
        /// The answers until then; the last one has the error of the limit at its end.
        answers: Vec<Answer>,
    },
    /// The form asked for something outside in another way.
    World(WorldError),
    /// A checkpoint is damaged, and the journal cannot be read in its place.
    Damaged(Arc<KnowledgeBaseError>),
}

impl fmt::Display for ViewError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotParsed { diagnostic, position } => {
                let Position { line, column } = position;
                write!(formatter, "the text does not parse at line {line}, column {column}: {}", diagnostic.message)?;
                diagnostic.help.as_ref().map_or(Ok(()), |help| write!(formatter, "; {help}"))
            }
            Self::NotOneAtom { text } => {
                write!(formatter, "{text:?} is to be one atom, without !; put several into one expression")
            }
            Self::Effect(refused) => write!(formatter, "{refused}, with KnowledgeBase::run"),
            Self::Limit { limit, .. } => write!(formatter, "a limit ended the evaluation: {limit}"),
            Self::World(error) => error.fmt(formatter),
            Self::Damaged(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for ViewError {}

impl ViewError {
    fn not_parsed(text: &str, diagnostic: Diagnostic) -> Self {
        let position = LineIndex::new(text).position(diagnostic.span.start);
        Self::NotParsed { diagnostic: Box::new(diagnostic), position }
    }
}

impl View {
    /// Of what was written to a journal, while another process may go on writing: the last commit that is complete now.
    ///
    /// # Errors
    /// There is no knowledge base in the directory, or it is damaged.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, KnowledgeBaseError> {
        Self::up_to(CommitJournal::read(directory)?, u64::MAX)
    }

    /// Of what was written to a journal, after an earlier commit; what follows it is not read.
    ///
    /// # Errors
    /// There is no knowledge base in the directory or no such commit, or it is damaged.
    pub fn open_at(directory: impl AsRef<Path>, epoch: u64) -> Result<Self, KnowledgeBaseError> {
        let view = Self::up_to(CommitJournal::read(directory)?, epoch)?;
        let last = view.epoch();
        if epoch > last { Err(KnowledgeBaseError::NoEpoch { epoch, last }) } else { Ok(view) }
    }

    /// Of what was written to a journal that lies on a disk.
    ///
    /// # Errors
    /// It is damaged.
    pub fn on_disk(disk: &Arc<dyn Disk>, directory: &str) -> Result<Self, KnowledgeBaseError> {
        Self::up_to(CommitJournal::read_on_disk(Arc::clone(disk), directory), u64::MAX)
    }

    /// After a commit, or the last one before it.
    pub(crate) fn up_to(mut journal: CommitJournal, last: u64) -> Result<Self, KnowledgeBaseError> {
        let (snapshot, epoch, hash) = journal.snapshot_at(last)?;
        let origin = ViewOrigin { disk: Arc::clone(&journal.disk), directory: journal.directory().to_owned() };
        Ok(Self::made(snapshot, epoch, hash, Some(Arc::new(origin)), journal.warnings()))
    }

    pub(crate) fn new(snapshot: ProgramSnapshot, epoch: u64, hash: u128, origin: Option<Arc<ViewOrigin>>) -> Self {
        Self::made(snapshot, epoch, hash, origin, Vec::new())
    }

    fn made(
        snapshot: ProgramSnapshot,
        epoch: u64,
        hash: u128,
        origin: Option<Arc<ViewOrigin>>,
        warnings: Vec<String>,
    ) -> Self {
        let (spaces, instead) = Default::default();
        Self(Arc::new(Viewed { snapshot, epoch, hash, spaces, origin, warnings, instead }))
    }

    /// Where it can be read from again.
    pub(crate) fn origin(&self) -> Option<Arc<ViewOrigin>> {
        self.0.origin.clone()
    }

    /// What could not be used so far, such as a checkpoint that is damaged: what the view is asked is answered all the same.
    pub fn warnings(&self) -> Vec<String> {
        let later = self.0.instead.get().and_then(|view| view.as_ref().ok()).map(Self::warnings);
        self.0.warnings.iter().cloned().chain(later.unwrap_or_default()).collect()
    }

    /// Does something with this view, or, if it meets damage in a checkpoint, with the same one read from the journal.
    pub(crate) fn undamaged<T>(&self, work: impl Fn(&Self) -> T) -> Result<T, ViewError> {
        if self.0.instead.get().is_none() {
            match catching_damage(|| work(self)) {
                Ok(done) => return Ok(done),
                Err(damage) => drop(self.0.instead.get_or_init(|| self.read_again(&damage))),
            }
        }
        match self.0.instead.get() {
            Some(Ok(view)) => Ok(work(view)),
            Some(Err(error)) => Err(ViewError::Damaged(Arc::clone(error))),
            None => unreachable!("it was read again"),
        }
    }

    fn read_again(&self, damage: &ImageDamage) -> Result<Self, Arc<KnowledgeBaseError>> {
        let lost = || KnowledgeBaseError::Checkpoint {
            name: "that it was read from".to_owned(),
            reason: damage.to_string(),
            is_removed: false,
        };
        let origin = self.0.origin.as_ref().ok_or_else(lost)?;
        let journal = CommitJournal::read_on_disk(Arc::clone(&origin.disk), &origin.directory);
        let (snapshot, epoch, hash) = journal.without_checkpoints().snapshot_at(self.epoch())?;
        Ok(Self::made(snapshot, epoch, hash, self.origin(), vec![damage_warning(damage)]))
    }

    pub(crate) fn snapshot(&self) -> &ProgramSnapshot {
        &self.0.snapshot
    }

    /// The program's own space, which goes on changing.
    pub(crate) fn live_space(&self) -> &SharedSpace {
        self.0.snapshot.live_top_space()
    }

    /// The live queries that the program has given names, with its own spaces in them.
    pub(crate) fn named_queries(&self) -> Vec<NamedQuery> {
        NamedQuery::of_snapshot(&self.0.snapshot)
    }

    /// The number of the last commit that it shows; 0 before the first.
    pub fn epoch(&self) -> u64 {
        self.0.epoch
    }

    /// The state hash after that commit.
    pub fn hash(&self) -> u128 {
        self.0.hash
    }

    /// How many atoms the program's space holds, copies counted.
    pub fn atom_count(&self) -> usize {
        self.0.snapshot.top_space().len()
    }

    /// What a text says as an atom; its words mean what they mean to the program.
    ///
    /// # Errors
    /// It is not one atom.
    pub fn read(&self, text: &str) -> Result<Atom, ViewError> {
        let parsed = syntax::parse(text);
        if let Some(error) = parsed.first_error() {
            return Err(ViewError::not_parsed(text, error.clone()));
        }
        match parsed.tree.forms() {
            [form] if !form.bang => Ok(read_atom(&parsed.tree, form.node, self.0.snapshot.tokenizer())),
            _ => Err(ViewError::NotOneAtom { text: text.to_owned() }),
        }
    }

    /// What `(match &self pattern template)` finds, with nothing evaluated.
    ///
    /// # Errors
    /// One of the texts is not one atom.
    pub fn query(&self, pattern: &str, template: &str) -> Result<Vec<Atom>, ViewError> {
        self.query_atoms(&self.read(pattern)?, &self.read(template)?)
    }

    /// What `(match &self pattern template)` finds for these atoms. Spaces in an answer can be asked as long as the view is there.
    ///
    /// # Errors
    /// A checkpoint is damaged, and so is the journal.
    pub fn query_atoms(&self, pattern: &Atom, template: &Atom) -> Result<Vec<Atom>, ViewError> {
        self.undamaged(|view| view.found(pattern, template))
    }

    /// What `(match &self pattern …)` finds, as a table of the variables of the pattern, with nothing evaluated.
    ///
    /// # Errors
    /// A checkpoint is damaged, and so is the journal.
    pub fn query_table(&self, pattern: &Atom) -> Result<AnswerTable, ViewError> {
        self.undamaged(|view| {
            let by_rows = if holds_handles(pattern) { None } else { view.0.snapshot.query_table(pattern) };
            by_rows.unwrap_or_else(|| {
                let (pattern, solutions) = view.unified(pattern);
                AnswerTable::of_solutions(&pattern, &solutions)
            })
        })
    }

    fn found(&self, pattern: &Atom, template: &Atom) -> Vec<Atom> {
        let solutions = if holds_handles(pattern) || holds_handles(template) { None } else { self.rows(pattern) };
        if let Some(solutions) = solutions {
            return solutions.iter().map(|solution| filled(template, solution)).collect();
        }
        let (_, solutions) = self.unified(pattern);
        let template = self.spaces().relinked(template);
        solutions.iter().map(|solution| filled(&template, solution)).collect()
    }

    fn spaces(&self) -> &SnapshotSpaces {
        self.0.spaces.get_or_init(|| SnapshotSpaces::new(&self.0.snapshot))
    }

    /// A pattern whose spaces are those of the snapshot, and its solutions by unification.
    fn unified(&self, pattern: &Atom) -> (Atom, Vec<Solution>) {
        let pattern = self.spaces().relinked(pattern);
        let mut variables = VariableSource::default();
        variables.advance_to(self.0.snapshot.variables());
        let solutions = self.spaces().top_space().query(&pattern, &mut variables);
        (pattern, solutions)
    }

    fn rows(&self, pattern: &Atom) -> Option<Vec<Solution>> {
        self.0.snapshot.query_rows(pattern)
    }

    /// An atom as a source of the program would have it, as far as it can be written.
    pub fn text(&self, atom: &Atom) -> String {
        shown(atom)
    }

    /// What evaluates forms as they would have been evaluated after the commit. Making one costs the words of the program and a walk
    /// over its rules, so somebody who asks again keeps it.
    pub fn reader(&self) -> Reader {
        let reader = |view: &Self, session| {
            let (view, evaluator) = (view.clone(), Evaluator::default());
            Reader { view, session, evaluator, freezes: false }
        };
        let made = self.undamaged(|view| reader(view, Session::of_snapshot(Box::new(NoWorld), &view.0.snapshot)));
        // One that cannot be made says so when it is asked.
        made.unwrap_or_else(|_| reader(self, Session::new(Box::new(NoWorld))))
    }

    /// What the `!` forms of a text come to, by a [`Reader`] for this text alone.
    ///
    /// # Errors
    /// See [`Reader::evaluate`].
    pub fn evaluate(&self, text: &str) -> Result<Vec<Answer>, ViewError> {
        self.undamaged(|view| view.reader().evaluate_unguarded(text))?
    }
}

impl fmt::Debug for View {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("View").field("epoch", &self.epoch()).finish_non_exhaustive()
    }
}

/// Whether an atom holds a space or state, as far as that can be told without a look at all of it.
fn holds_handles(atom: &Atom) -> bool {
    let is_handle =
        |part: &Atom| matches!(part, Atom::Grounded(Grounded::Space(_) | Grounded::State(_) | Grounded::Bindings(_)));
    distinct_open_parts(atom).any(is_handle)
}

/// A template with a solution put in.
pub(crate) fn filled(template: &Atom, solution: &Solution) -> Atom {
    let filled = rewrite(template, |variable| {
        let value = solution.iter().find(|(bound, _)| bound == variable);
        value.map_or(Rewrite::Keep, |(_, value)| Rewrite::Replace(value.clone()))
    });
    filled.unwrap_or_else(|| template.clone())
}

/// Evaluates forms in a view, on the thread that made it.
pub struct Reader {
    view: View,
    session: Session,
    evaluator: Evaluator,
    freezes: bool,
}

impl Reader {
    /// What it reads.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The limits of every evaluation.
    pub fn limits_mut(&mut self) -> &mut Limits {
        self.session.limits_mut()
    }

    /// Says what evaluates: the machine, unless told otherwise.
    pub fn set_evaluator(&mut self, evaluator: Evaluator) {
        self.evaluator = evaluator;
        self.session.set_evaluator(evaluator);
    }

    /// Says whether results are frozen as well: see [`Answer::frozen`].
    pub fn freeze_results(&mut self, freezes: bool) {
        self.freezes = freezes;
        self.session.freeze_results(freezes);
    }

    /// What the `!` forms of a text come to. A form with an error among its results is the last one that is evaluated, as in a
    /// program. Spaces and states that a form makes are gone when the text ends, and stand as symbols in the results.
    ///
    /// # Errors
    /// A form does not parse, changes something, reaches outside, or reaches a limit. No form has left anything behind.
    pub fn evaluate(&mut self, text: &str) -> Result<Vec<Answer>, ViewError> {
        let view = self.view.clone();
        if view.0.instead.get().is_none() {
            match catching_damage(|| self.evaluate_unguarded(text)) {
                Ok(answers) => return answers,
                Err(damage) => drop(view.0.instead.get_or_init(|| view.read_again(&damage))),
            }
        }
        match view.0.instead.get() {
            Some(Ok(view)) => {
                let (limits, evaluator, freezes) = (self.limits_mut().clone(), self.evaluator, self.freezes);
                *self = view.reader();
                *self.limits_mut() = limits;
                self.set_evaluator(evaluator);
                self.freeze_results(freezes);
                self.evaluate_unguarded(text)
            }
            Some(Err(error)) => Err(ViewError::Damaged(Arc::clone(error))),
            None => unreachable!("it was read again"),
        }
    }

    fn evaluate_unguarded(&mut self, text: &str) -> Result<Vec<Answer>, ViewError> {
        let mut answers = Vec::new();
        let run = self.session.undoing(|session| {
            session.run(text, &mut |_, answer| {
                answers.push(Answer::of(answer));
                Ok(())
            })
        });
        for result in answers.iter_mut().flat_map(|answer| &mut answer.results) {
            *result = self.session.program().without_undone(result);
        }
        match run.end {
            RunEnd::Finished | RunEnd::Error => Ok(answers),
            RunEnd::Effect(refused) => Err(ViewError::Effect(refused)),
            RunEnd::Limit(limit) => Err(ViewError::Limit { limit, answers }),
            RunEnd::World(error) => Err(ViewError::World(error)),
            RunEnd::NotParsed => {
                let error = run.diagnostics.into_iter().find(|found| found.severity == Severity::Error);
                Err(ViewError::not_parsed(text, error.expect("a text that does not parse has an error")))
            }
            end => unreachable!("a view has no memory that could fail: {end:?}"),
        }
    }
}
