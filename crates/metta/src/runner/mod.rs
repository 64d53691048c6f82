//! The runner: the modules of a program, and the running of sources in them.
//!
//! A source is run form by form. A plain atom is added to the module's space; an atom after `!` is evaluated and its
//! answer handed out before the next form is read, because it may change what the words of that form mean. An answer
//! with an error in it ends the run; so does the first form that does not parse, after everything before it has run.

mod imports;

use crate::bundled;
use crate::effects::Effects;
use crate::interpreter::{self, Answer};
use crate::limits::{FormSteps, LimitReached, Limits};
use crate::load::Formats;
use crate::machine::{self, FrozenResults, Machine};
use crate::memory::{
    Begun, Cause, CauseKind, CommitTrigger, Event, Known, Memory, MemoryError, SourceContent, SourceId, SourceText,
};
use crate::modules::{Module, ModuleId, TOP};
use crate::names;
use crate::operation::{Operation, Stop};
use crate::reader::read_atom;
use crate::refusal::{EffectRefused, Viewed};
use crate::stated::Stated;
use crate::stdlib;
use crate::syntax::{self, Diagnostic, Form, NodeId, NodeKind, Parsed, Span, SyntaxTree};
use crate::tables::{self, Tables};
use crate::tokenizer::Tokenizer;
use crate::transaction::{OnCommit, Pending, Undo};
use crate::types;
use crate::world::{World, WorldError};
use region::FreezeError;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use space::{Atom, ChangeDetail, ChangeLog, SharedSpace, SharedState, SharedTerms, Terms, VariableSource, canonical};
use std::rc::Rc;
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
    /// The results for other threads, without the error of a limit; or why they could not be frozen. `None` if nobody
    /// [asked](Runner::freeze_results), or if it was not the machine that evaluated the form.
    pub frozen: Option<&'a Result<Arc<FrozenResults>, FreezeError>>,
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
    /// A view does not carry out an operation: see [`Runner::of_snapshot`].
    Effect(EffectRefused),
    /// The memory of the run failed: what follows could not be remembered.
    Memory(Arc<dyn std::error::Error + Send + Sync>),
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
    /// Where the bytes of the text were not UTF-8: see [`syntax::Decoded`]. Nothing from there on is run.
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
    /// Calls of functions by the machine.
    pub calls: u64,
    /// Expressions that the machine has left to the interpreter.
    pub interpreted: u64,
    /// Parts that the machine compared to find out whether an expression came to itself.
    pub compared: u64,
    /// The most bytes that the machine's heap ever held.
    pub heap_bytes_peak: usize,
    /// The most bytes that it ever got from the system, tables beside its cells included.
    pub heap_bytes_held: usize,
    /// Cells of eight bytes that the machine took from its heap, given back or not.
    pub cells: u64,
    /// Those of them that are copies: what survived a collection of garbage, and results that left their region.
    pub cells_copied: u64,
    /// How often the region of a form became that of its results.
    pub regions_joined: u64,
    /// How often the heap refused memory, at its limit or the system's.
    pub limit_failures: u64,
    /// How often the machine collected garbage.
    pub collections: u64,
    /// How often calls of tabled functions were evaluated, and not read from their tables.
    pub tabled: u64,
    /// How many answers were put into tables.
    pub answers: u64,
}

/// What evaluates. New ones go to the end: tapes number them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Evaluator {
    /// Rules compiled to code, on region memory.
    #[default]
    Machine,
    /// The reference interpreter: slow, obvious.
    Interpreter,
}

/// Takes each answer as it comes, with the world to print it on.
pub type OnAnswer<'a> = dyn FnMut(&mut dyn World, &FormAnswer<'_>) -> Result<(), WorldError> + 'a;

/// Runs sources in modules.
pub struct Runner {
    pub(crate) variables: VariableSource,
    pub(crate) limits: Limits,
    pub(crate) world: Box<dyn World>,
    pub(crate) modules: Vec<Module>,
    pub(crate) bundled: bundled::State,
    pub(crate) terms: SharedTerms,
    /// Native functions that were looked up by identity.
    pub(crate) operations: FxHashMap<String, Atom>,
    pub(crate) base_tokens: Arc<Tokenizer>,
    pub(crate) names: FxHashMap<String, ModuleId>,
    pub(crate) machine: Option<Box<Machine>>,
    /// What states held before native functions changed them while the machine was at work.
    pub(crate) changed_states: machine::ChangedStates,
    /// Heap bytes from which on the machine looks at every call whether garbage is to be collected, for tests of that.
    pub(crate) collect_from: Option<usize>,
    pub(crate) freezes_results: bool,
    /// Of the form that was evaluated last.
    pub(crate) frozen: Option<Result<FrozenResults, FreezeError>>,
    evaluator: Evaluator,
    only_defines: bool,
    pub(crate) settings: FxHashMap<String, Atom>,
    /// What calls of tabled functions have come to.
    pub(crate) tables: Tables,
    depth_set: Option<usize>,
    /// The modules whose sources are being run, the innermost last.
    pub(crate) running: Vec<ModuleId>,
    /// What reads files that are no MeTTa text, for imports.
    formats: Option<Rc<dyn Formats>>,
    /// How many states were made.
    pub(crate) states: u64,
    /// All states by serial number from 1, if the run is durable: atoms of a knowledge base name them.
    pub(crate) kept_states: Vec<SharedState>,
    /// All spaces by serial number, to be emptied at the end: they may hold each other.
    pub(crate) spaces: Vec<SharedSpace>,
    /// Notes what changes in spaces and states.
    pub(crate) log: ChangeLog,
    /// How much the memory wants to know; inside a `(transaction …)` the log keeps more.
    pub(crate) keeps: ChangeDetail,
    /// Whether each space keeps the hash of its content.
    keeps_hashes: bool,
    pub(crate) pending: Pending,
    pub(crate) memory: Option<Box<dyn Memory>>,
    /// Is told of each commit.
    pub(crate) on_commit: Option<OnCommit>,
    /// Of what it is a view, if it is one.
    pub(crate) view: Option<Viewed>,
    /// The steps of the `!` of the program that is being run.
    pub(crate) form_steps: FormSteps,
    /// Whether the process counts what it allocates, so that all memory of a `!` is known.
    pub(crate) counts_memory: bool,
    /// Why an imported source ended the run, until the form that imports it ends too.
    ended_inside: Option<Stop>,
    statistics: Statistics,
    /// What the machine has left to the interpreter.
    pub(crate) interpreted: machine::Interpreted,
}

/// A source that is being run.
struct Begin<'a> {
    parsed: &'a Parsed,
    module: ModuleId,
    id: SourceId,
    known: Known,
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
        let mut runner = Self::without_modules(world, Arc::new(tokens), missing);
        runner.load_library(missing);
        runner.add_module(TOP.to_owned(), String::new(), None);
        for name in missing {
            runner.modules[1].tokenizer.forget(name);
        }
        runner
    }

    /// A runner that has no module yet, whose words begin with these.
    pub(crate) fn without_modules(world: Box<dyn World>, base_tokens: Arc<Tokenizer>, missing: &[&str]) -> Self {
        Self {
            variables: VariableSource::default(),
            limits: Limits::default(),
            world,
            modules: Vec::new(),
            bundled: bundled::State::without(missing),
            terms: Terms::shared(),
            operations: FxHashMap::default(),
            base_tokens,
            names: FxHashMap::default(),
            machine: None,
            changed_states: machine::ChangedStates::default(),
            collect_from: None,
            freezes_results: false,
            frozen: None,
            evaluator: Evaluator::default(),
            only_defines: false,
            settings: FxHashMap::default(),
            tables: Tables::default(),
            depth_set: None,
            running: Vec::new(),
            formats: None,
            states: 0,
            kept_states: Vec::new(),
            spaces: Vec::new(),
            log: ChangeLog::default(),
            keeps: ChangeDetail::Nothing,
            keeps_hashes: false,
            pending: Pending::default(),
            memory: None,
            on_commit: None,
            view: None,
            form_steps: FormSteps::default(),
            counts_memory: region::memory::is_counted(),
            ended_inside: None,
            statistics: Statistics::default(),
            interpreted: machine::Interpreted::default(),
        }
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

    /// Lets `import!` read files in these formats.
    pub fn set_formats(&mut self, formats: Rc<dyn Formats>) {
        self.formats = Some(formats);
    }

    /// Says what evaluates from now on.
    pub fn set_evaluator(&mut self, evaluator: Evaluator) {
        self.evaluator = evaluator;
    }

    /// Lets the machine look at every call whether garbage is to be collected: whenever the heap has doubled and holds more
    /// than so many bytes; with 0 always. For tests of the collection: it costs much.
    #[doc(hidden)]
    pub fn collect_garbage_from(&mut self, bytes: usize) {
        self.collect_from = Some(bytes);
    }

    /// Says whether the results of each form are frozen as well: see [`FormAnswer::frozen`]. Costs a copy of them.
    pub fn freeze_results(&mut self, freezes: bool) {
        self.freezes_results = freezes;
    }

    /// The space of the library.
    pub(crate) fn library_space(&self) -> SharedSpace {
        self.modules[0].space.clone()
    }

    /// Says whether only those forms after `!` are evaluated that say what words and rules mean, such as `import!`.
    pub fn only_define(&mut self, only_defines: bool) {
        self.only_defines = only_defines;
    }

    /// The code that the machine makes of a function, as its rules stand now, for people; `None` if it has no rules.
    pub fn explain(&mut self, name: &str) -> Option<String> {
        machine::explain(self, name)
    }

    /// The same for each function that the program's own space has rules for, in the order of their first rules.
    pub fn explain_all(&mut self) -> Vec<String> {
        machine::explain_all(self)
    }

    /// Counts of what was done so far, for the machine to add to.
    pub(crate) fn statistics_mut(&mut self) -> &mut Statistics {
        &mut self.statistics
    }

    /// Counts atoms that a load has added.
    pub(crate) fn count_added(&mut self, atoms: u64) {
        self.statistics.atoms_added += atoms;
    }

    /// The world the runner acts in.
    pub fn world(&mut self) -> &mut dyn World {
        &mut *self.world
    }

    /// Counts of what was done so far.
    pub fn statistics(&self) -> Statistics {
        let (tabled, answers) = self.tables.counts();
        Statistics { tabled, answers, ..self.statistics }
    }

    /// What the machine has left to the interpreter so far: the name of its head, or what it is without one, and how often.
    /// The most frequent come first, equally frequent ones by name.
    pub fn interpreted_forms(&self) -> Vec<(String, u64)> {
        self.interpreted.kinds()
    }

    /// The space of the program itself, `&self`.
    pub fn top_space(&self) -> SharedSpace {
        self.modules[1].space.clone()
    }

    /// Gives the runner a memory, which takes all commits from now on. What happened before is not in them.
    pub fn set_memory(&mut self, memory: Box<dyn Memory>) {
        self.begin_noting(if memory.is_durable() { ChangeDetail::Changes } else { ChangeDetail::Counts });
        self.memory = Some(memory);
    }

    /// What remembers the run, if something does.
    pub fn memory(&self) -> Option<&dyn Memory> {
        self.memory.as_deref()
    }

    /// Takes the memory away.
    pub fn take_memory(&mut self) -> Option<Box<dyn Memory>> {
        self.begin_noting(ChangeDetail::Nothing);
        self.memory.take()
    }

    /// Keeps the hash of every space's content up to date from now on; of the library's only what a program changes in it.
    pub fn keep_hashes(&mut self) {
        self.keeps_hashes = true;
        self.spaces[0].keep_hash_of_changes();
        self.spaces[1..].iter().for_each(SharedSpace::keep_hash);
    }

    fn make_space(&mut self, name: String) -> SharedSpace {
        let serial = self.spaces.len() as u64;
        let space = SharedSpace::counting(serial, name, Arc::clone(&self.terms), self.log.clone(), machine::classify);
        if self.keeps_hashes {
            space.keep_hash();
        }
        self.spaces.push(space.clone());
        space
    }

    /// Runs a text in the program's own module, `answer` taking each answer as it comes.
    pub fn run(&mut self, text: &str, answer: &mut OnAnswer<'_>) -> Run {
        self.run_source(&Source::text(text), answer)
    }

    /// Runs a source in the program's own module, `answer` taking each answer as it comes.
    pub fn run_source(&mut self, source: &Source<'_>, answer: &mut OnAnswer<'_>) -> Run {
        source.directory.clone_into(&mut self.modules[1].directory);
        if let Some(limit) = self.limits.reached_by_text(source.text) {
            return Run { end: RunEnd::Limit(limit), diagnostics: Vec::new() };
        }
        self.limits.set_ceiling(2 * source.text.len());
        let parsed = syntax::parse_with_flaw(source.text, source.flaw);
        self.limits.interrupt.set_ceiling(None);
        if self.view.is_some() && parsed.forms_before_error().iter().any(|form| !form.bang) {
            return Run { end: RunEnd::Effect(EffectRefused::STATEMENT), diagnostics: parsed.diagnostics };
        }
        self.run_in(ModuleId(1), source.origin, source.file, &parsed, answer)
    }

    fn run_in(
        &mut self,
        module: ModuleId,
        origin: &str,
        file: Option<&str>,
        parsed: &Parsed,
        answer: &mut OnAnswer<'_>,
    ) -> Run {
        self.running.push(module);
        let cause = self.set_cause(None);
        let is_module = file.is_some() && self.module(module).file.as_deref() == file;
        let end = self.begin_source(module, origin, file, SourceContent::Text(&parsed.tree.shared_text())).and_then(
            |Begun { id, known }| {
                // What an unchanged module did when it was loaded is there already.
                if is_module && matches!(known, Known::Unchanged) {
                    return Ok(RunEnd::Finished);
                }
                let end = self.run_forms(Begin { parsed, module, id, known }, answer)?;
                if matches!(end, RunEnd::Finished)
                    && let Some(memory) = &mut self.memory
                {
                    memory.end_source(id);
                }
                let is_cancelled = matches!(end, RunEnd::Limit(limit) if self.is_cancelled_by(limit));
                if self.running.len() == 1 && !is_cancelled {
                    self.commit(CommitTrigger::EndOfSource)?;
                }
                Ok(end)
            },
        );
        self.set_cause(cause);
        self.running.pop();
        let end = end.unwrap_or_else(|error| RunEnd::Memory(error.into()));
        Run { end, diagnostics: parsed.diagnostics.clone() }
    }

    pub(crate) fn begin_source(
        &mut self,
        module: ModuleId,
        origin: &str,
        file: Option<&str>,
        content: SourceContent<'_>,
    ) -> Result<Begun, MemoryError> {
        let Some(mut memory) = self.memory.take() else {
            return Ok(Begun { id: SourceId::default(), known: Known::New });
        };
        let file = file.map(|file| self.world.absolute_path(file)).transpose();
        let begun = match file {
            Ok(file) => memory.begin_source(self, &SourceText { origin, file: file.as_deref(), content, module }),
            Err(error) => Err(error.into()),
        };
        self.memory = Some(memory);
        begun
    }

    fn run_forms(&mut self, source: Begin<'_>, answer: &mut OnAnswer<'_>) -> Result<RunEnd, MemoryError> {
        let Begin { parsed, module, id, known } = source;
        let cause = |kind, offset| Some(Cause { source: id, kind, offset });
        let skips_statements = matches!(known, Known::Unchanged);
        let mut kept = match known {
            Known::Changed(before) => self.retract_missing(parsed, module, id, before),
            Known::New | Known::Unchanged => Stated::default(),
        };
        let around = self.open_transactions();
        let mut number = 0;
        for form in parsed.forms_before_error() {
            if !form.bang && skips_statements {
                continue;
            }
            let kind = if form.bang { CauseKind::Evaluation } else { CauseKind::Statement };
            let offset = form.bang_span.unwrap_or(form.span).start;
            self.set_cause(cause(kind, offset));
            let (atom, written) = self.read_form(module, &parsed.tree, form);
            if form.bang && self.only_defines && !defines(&atom) {
                continue;
            }
            let found = if form.bang && self.is_bound_before(module, &parsed.tree, form.node) {
                Answer { results: vec![Atom::unit()], ..Answer::default() }
            } else if form.bang {
                self.evaluate_form(module, &atom, written)
            } else if kept.take(&atom) {
                continue;
            } else {
                match self.add_form(module, &atom) {
                    None => continue,
                    Some(errors) => Answer { results: errors, ..Answer::default() },
                }
            };
            number += 1;
            self.close_abandoned_transactions(around);
            self.end_transaction(&found)?;
            match &found.stop {
                Some(Stop::World(error)) => return Ok(RunEnd::World(error.clone())),
                Some(Stop::Effect(refused)) => return Ok(RunEnd::Effect(refused.clone())),
                Some(Stop::Memory(error)) => return Ok(RunEnd::Memory(Arc::clone(error))),
                Some(Stop::Limit(_)) | None => {}
            }
            let (span, limit, results) = (form.span, found.limit, with_limit_error(&atom, found));
            let frozen = self.frozen.take().map(|frozen| frozen.map(Arc::new));
            let frozen = frozen.as_ref();
            let form = FormAnswer { number, span, atom: &atom, results: &results, limit, frozen };
            let answered = answer(&mut *self.world, &form);
            if self.running.len() == 1 {
                self.limits.interrupt.set_ceiling(None);
            }
            if let Err(error) = answered {
                return Ok(RunEnd::World(error));
            }
            match limit {
                Some(limit) => return Ok(RunEnd::Limit(limit)),
                None if form.is_error() => return Ok(RunEnd::Error),
                None => {}
            }
        }
        if parsed.first_error().is_some() {
            return Ok(RunEnd::NotParsed);
        }
        // What was still expected to be stated and was not: a word of it has got another meaning.
        for (count, atom) in kept.into_left() {
            (0..count).for_each(|_| self.retract(module, id, &atom));
        }
        Ok(RunEnd::Finished)
    }

    /// Whether a form binds a word that the knowledge base has bound already. It keeps its meaning, so that what was kept
    /// under it is found again: the form is not evaluated.
    fn is_bound_before(&self, module: ModuleId, tree: &SyntaxTree, form: NodeId) -> bool {
        let bound_before = &self.module(module).bound_before;
        let NodeKind::Expression([head, word, ..]) = tree.kind(form) else { return false };
        match (tree.kind(*head), tree.kind(*word)) {
            (NodeKind::Word("bind!"), NodeKind::Word(word)) => bound_before.contains(word),
            _ => false,
        }
    }

    /// Ends the transaction that a form of the program was; forms of imported sources are part of another.
    fn end_transaction(&mut self, found: &Answer) -> Result<(), MemoryError> {
        if self.running.len() > 1 {
            return Ok(());
        }
        if let Some(halted) = self.form_steps.halted().filter(|halted| found.limit == Some(halted.reason))
            && self.halt(halted)?
        {
            return Ok(());
        }
        if matches!(found.stop, Some(Stop::Memory(_))) { Ok(()) } else { self.commit(CommitTrigger::Answer) }
    }

    /// Whether the form at hand was cancelled: nothing of it is kept then.
    fn is_cancelled_by(&self, limit: LimitReached) -> bool {
        let is_noted = self.form_steps.halted().is_some_and(|halted| halted.reason == limit);
        is_noted && !matches!(limit, LimitReached::Heap(_) | LimitReached::Memory(_))
    }

    /// Removes what an edited source stated before and states no longer; gives what it still states. Nobody knows what a
    /// text states that does not parse to its end, so it removes nothing.
    fn retract_missing(&mut self, parsed: &Parsed, module: ModuleId, id: SourceId, before: Vec<Atom>) -> Stated {
        // What a text states behind its first error is not known, so nothing of what it stated is given up.
        let is_whole = parsed.first_error().is_none();
        let mut wanted: FxHashMap<Vec<u8>, u32> = FxHashMap::default();
        for form in parsed.forms_before_error().iter().filter(|form| !form.bang) {
            let atom = read_atom(&parsed.tree, form.node, &self.modules[module.0 as usize].tokenizer);
            *wanted.entry(canonical::encode(&atom)).or_default() += 1;
        }
        let mut kept = Stated::default();
        for atom in before {
            let bytes = canonical::encode(&atom);
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
        let space = self.module(module).space.clone();
        // An equal atom, a number of the other kind say, is another's.
        if space.read(|space| space.contains_exactly(atom)) {
            space.remove(atom);
        }
        self.note(Event::Unstated { source, atom: atom.clone() }, Undo::Nothing);
    }

    /// Adds a plain form to a module's space; gives its errors instead if types are checked and it has none.
    pub(crate) fn add_form(&mut self, module: ModuleId, atom: &Atom) -> Option<Vec<Atom>> {
        let space = self.modules[module.0 as usize].space.clone();
        if self.checks_types()
            && let Some(errors) = types::type_errors(&space, atom, &mut self.variables)
        {
            return Some(errors);
        }
        if self.is_durable()
            && let Some(value) = canonical::find_opaque(atom)
        {
            return Some(vec![names::error(atom.clone(), Atom::symbol(&not_durable(value)))]);
        }
        self.statistics.atoms_added += 1;
        space.add(atom);
        None
    }

    /// A form as an atom, and the bytes that it takes with the part of the text's tree that it is read from.
    fn read_form(&self, module: ModuleId, tree: &SyntaxTree, form: &Form) -> (Atom, usize) {
        let (read, before) = (tree.bytes_of(form), region::memory::of_thread());
        if form.bang && self.running.len() == 1 {
            self.limits.set_ceiling(read);
        }
        let atom = read_atom(tree, form.node, &self.modules[module.0 as usize].tokenizer);
        (atom, read + usize::try_from(region::memory::of_thread() - before).unwrap_or(0))
    }

    /// Evaluates a form, for which so many bytes were taken when it was read.
    fn evaluate_form(&mut self, module: ModuleId, atom: &Atom, written: usize) -> Answer {
        let space = self.modules[module.0 as usize].space.clone();
        if self.checks_types()
            && let Some(errors) = types::type_errors(&space, atom, &mut self.variables)
        {
            return Answer { results: errors, ..Answer::default() };
        }
        if self.running.len() == 1 {
            self.ended_inside = None;
        }
        let is_minimal = self.setting("interpreter").is_some_and(|value| value.is_symbol("bare-minimal"));
        if self.running.len() == 1 {
            let form = self.current_cause();
            let begun = self.memory.as_mut().map(|memory| memory.begin_evaluation(self.statistics.evaluations, form));
            match begun.transpose() {
                Ok(halted) => {
                    let held = self.machine.as_ref().map_or(0, |machine| machine.heap_bytes_held()) + written;
                    self.form_steps = FormSteps::new(halted.flatten(), held);
                    self.limits.set_ceiling(held);
                }
                Err(error) => return Answer { stop: Some(Stop::Memory(error.into())), ..Answer::default() },
            }
            let limit = self.form_steps.begin(&self.limits);
            if limit.is_some() {
                return Answer { limit, ..Answer::default() };
            }
        }
        let evaluate = match self.evaluator {
            _ if is_minimal => interpreter::evaluate_minimal,
            Evaluator::Machine if self.depth_set.is_none() => machine::evaluate,
            Evaluator::Machine | Evaluator::Interpreter => interpreter::evaluate,
        };
        let around = self.tables.depth();
        let mut answer = evaluate(self, &space, atom);
        self.tables.abandon(around);
        if self.running.len() == 1 {
            self.note_end(&mut answer);
        }
        self.statistics.evaluations += 1;
        self.statistics.steps += answer.steps;
        self.statistics.depth_max = self.statistics.depth_max.max(answer.depth_max);
        answer
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

    pub(crate) fn checks_types(&self) -> bool {
        self.setting("type-check").is_some_and(|value| value.is_symbol("auto"))
    }

    pub(crate) fn setting(&self, key: &str) -> Option<&Atom> {
        self.settings.get(key)
    }

    pub(crate) fn set_setting(&mut self, key: String, value: Atom) {
        let before = self.settings.get(&key).cloned();
        self.restore_setting(&key, Some(value.clone()));
        self.note(Event::Set { key: key.clone(), value }, Undo::Setting { key, before });
    }

    pub(crate) fn restore_setting(&mut self, key: &str, value: Option<Atom>) {
        if key == "max-stack-depth" {
            let depth = value.as_ref().and_then(|value| value.to_string().parse().ok());
            self.depth_set = depth.filter(|&depth| depth > 0);
        }
        if key == tables::SETTING {
            self.table_named(value.as_ref());
        }
        self.tables.reset();
        match value {
            Some(value) => self.settings.insert(key.to_owned(), value),
            None => self.settings.remove(key),
        };
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
    pub(crate) fn new_space(&mut self) -> SharedSpace {
        let serial = self.spaces.len() as u64;
        let space = self.make_space(format!("GroundingSpace-{serial}"));
        self.note(Event::SpaceMade { serial }, Undo::Space);
        space
    }

    /// A state with a serial number of its own.
    pub(crate) fn new_state(&mut self, value: Atom, type_atom: Atom) -> SharedState {
        self.states += 1;
        let serial = self.states;
        if self.is_noting() {
            let event = Event::StateMade { serial, value: value.clone(), type_atom: type_atom.clone() };
            self.note(event, Undo::State);
        }
        let state = SharedState::watched(serial, value, type_atom, self.log.clone());
        if self.is_durable() {
            self.kept_states.push(state.clone());
        }
        state
    }

    pub(crate) fn module(&self, id: ModuleId) -> &Module {
        &self.modules[id.0 as usize]
    }

    /// Makes a word of a module's sources mean an atom; as a regular expression, every word that it covers.
    ///
    /// # Errors
    /// The word is not the regular expression it is to be.
    pub(crate) fn bind(&mut self, module: ModuleId, token: &str, is_pattern: bool, atom: Atom) -> Result<(), String> {
        let tokenizer = &mut self.modules[module.0 as usize].tokenizer;
        let before = (self.log.keeps() != ChangeDetail::Nothing).then(|| Box::new(tokenizer.clone()));
        if is_pattern {
            tokenizer.register_token(token, atom.clone())?;
        } else {
            tokenizer.register_name(token, atom.clone());
        }
        if let Some(before) = before {
            // A word for a value of this process is bound for as long as the process lives.
            let is_durable = canonical::find_opaque(&atom).is_none();
            let event = is_durable.then(|| Event::Bound { module, token: token.to_owned(), is_pattern, atom });
            self.note(event, Undo::Tokens { module, before });
        }
        Ok(())
    }

    /// The module whose source is being run.
    pub(crate) fn current_module(&self) -> ModuleId {
        self.running.last().copied().unwrap_or(ModuleId(1))
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.log.keep(ChangeDetail::Nothing);
        self.spaces.iter().for_each(SharedSpace::clear);
    }
}

/// Whether a form after `!` says what words or rules mean.
fn defines(form: &Atom) -> bool {
    let operation = form.head().and_then(Operation::of);
    operation.is_some_and(|operation| operation.spec().effects.have(Effects::DEFINES))
}

/// Why a value cannot be part of a knowledge base.
pub(crate) fn not_durable(value: &Atom) -> String {
    format!("{value} means something to this process only and cannot be kept in a knowledge base")
}

/// The results of an answer, with the error of the limit it reached at the end.
fn with_limit_error(atom: &Atom, answer: Answer) -> Vec<Atom> {
    let Answer { mut results, limit, .. } = answer;
    results.extend(limit.map(|limit| limit.error(atom)));
    results
}
