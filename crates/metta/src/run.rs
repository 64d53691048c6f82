//! A session as those who run programs use it: with its evaluators, and with what comes of each form.

use crate::commit::{CommitSink, CommitTrigger};
use crate::evaluate::{Evaluate, Evaluator, Evaluators};
use crate::failure::Failure;
use crate::interpreter::{Interpreter, MinimalInterpreter};
use crate::limits::{LimitReached, Limits};
use crate::load::{Formats, Words};
use crate::machine::{self, Explained, FrozenResults, MachineEvaluator};
use crate::names;
use crate::program::history::{Event, Reason};
use crate::program::modules::ModuleId;
use crate::program::{Program, ProgramSnapshot, RestoreError};
use crate::random::Generator;
use crate::record::{RunRecord, RunRecordError};
use crate::refusal::{EffectRefused, Viewed};
use crate::session::{
    Ask, FormEvent, FormOutcome, QueryLog, Run, RunEnd, Session, Source, SourceRun, Statistics, text_of_atoms,
};
use crate::syntax::{Pieces, Span};
use crate::world::{World, WorldError};
use region::FreezeError;
use space::canonical::{self, DecodeError};
use space::{Atom, ChangeDetail, Changes, EncodedRoom, SharedSpace, SharedTerms, unmarked};
use std::any::Any;
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
    /// [asked](Session::freeze_results), or if it was not the machine that evaluated the form.
    pub frozen: Option<&'a Result<Arc<FrozenResults>, FreezeError>>,
}

impl FormAnswer<'_> {
    /// Whether the answer ends the run.
    pub fn is_error(&self) -> bool {
        self.results.iter().any(names::is_error)
    }
}

/// Takes each answer as it comes, with the world to print it on.
pub type OnAnswer<'a> = dyn FnMut(&mut dyn World, &FormAnswer<'_>) -> Result<(), WorldError> + 'a;

/// What there is to hear of a run.
pub enum RunEvent<'a> {
    /// A form has an answer.
    Answer(&'a FormAnswer<'a>),
    /// Why the form has failed whose answer came last.
    Failure(&'a Failure),
}

/// Takes each event as it comes, with the world to print on.
pub type OnEvent<'a> = dyn FnMut(&mut dyn World, RunEvent<'_>) -> Result<(), WorldError> + 'a;

/// The machine of a session: [`Session::with_evaluators`] is called here alone.
fn machine_of(evaluator: &Rc<dyn Evaluate<Session>>) -> &MachineEvaluator {
    let evaluator: &dyn Any = &**evaluator;
    evaluator.downcast_ref().expect("a session has the machine")
}

/// Hands out what comes of each form to those who run programs.
fn handing_out<'a>(
    machine: &'a MachineEvaluator,
    on_event: &'a mut OnEvent<'_>,
) -> impl FnMut(&mut dyn World, FormEvent<'_>) -> Result<(), WorldError> + 'a {
    |world, event| match event {
        FormEvent::Failure(failure) => on_event(world, RunEvent::Failure(failure)),
        FormEvent::Outcome(&FormOutcome { number, span, atom, results, limit }) => {
            let frozen = machine.take_frozen().map(|frozen| frozen.map(Arc::new));
            let frozen = frozen.as_ref();
            on_event(world, RunEvent::Answer(&FormAnswer { number, span, atom, results, limit, frozen }))
        }
    }
}

impl Session {
    /// A session with the standard library and an empty program.
    pub fn new(world: Box<dyn World>) -> Self {
        Self::without(world, &[])
    }

    /// A session whose standard library lacks some names, for tests of what depends on them.
    pub fn without(world: Box<dyn World>, missing: &[&str]) -> Self {
        Self::of_program(world, Program::without(missing, machine::classify))
    }

    /// A session with the standard library and an empty program, whose dictionary may have terms already, as that of an image.
    pub fn with_dictionary(world: Box<dyn World>, terms: SharedTerms) -> Self {
        Self::of_program(world, Program::with_dictionary(terms, &[], machine::classify))
    }

    /// Acts in another world from now on.
    pub fn set_world(&mut self, world: Box<dyn World>) {
        self.world = world;
    }

    /// A session that holds what another one held at that moment. It answers `!` forms, and carries out no operation that changes what
    /// it began with or reaches outside: such a form ends with [`RunEnd::Effect`]. The world is asked for nothing.
    pub fn of_snapshot(world: Box<dyn World>, snapshot: &ProgramSnapshot) -> Self {
        let mut session = Self::of_program(world, Program::of_snapshot(snapshot, machine::classify));
        session.follow_settings();
        session.view = Some(Viewed { epoch: snapshot.epoch() });
        session
    }

    fn of_program(world: Box<dyn World>, program: Program) -> Self {
        let evaluators = Evaluators {
            chosen: Evaluator::default(),
            machine: Rc::new(MachineEvaluator::default()),
            interpreter: Rc::new(Interpreter),
            minimal: Rc::new(MinimalInterpreter),
        };
        Self::with_evaluators(world, program, evaluators)
    }

    /// The program that is run.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The program that is run, to ask what takes fresh variables.
    pub fn program_mut(&mut self) -> &mut Program {
        &mut self.program
    }

    /// The world the session acts in.
    pub fn world(&mut self) -> &mut dyn World {
        &mut *self.world
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
        self.evaluators.chosen = evaluator;
    }

    /// Says whether the machine remembers what calls of pure functions come to while a form is evaluated, if they call themselves at two places. It
    /// does unless told otherwise here, or by the program: `(pragma! memoise off)`. Results and their order are the same; steps are fewer.
    pub fn memoise(&mut self, memoises: bool) {
        self.memoises = memoises;
    }

    /// Lets the machine look at every call whether garbage is to be collected: whenever the heap has doubled and holds more
    /// than `bytes` bytes; with 0 always. For tests of the collection: it costs much.
    #[doc(hidden)]
    pub fn collect_garbage_from(&mut self, bytes: usize) {
        machine_of(&self.evaluators.machine).collect_garbage_from(bytes);
    }

    /// Says whether the results of each form are frozen as well: see [`FormAnswer::frozen`]. Costs a copy of them.
    pub fn freeze_results(&mut self, freezes: bool) {
        machine_of(&self.evaluators.machine).freeze_results(freezes);
    }

    /// Says whether only those forms after `!` are evaluated that say what words and rules mean, such as `import!`.
    pub fn only_define(&mut self, only_defines: bool) {
        self.only_defines = only_defines;
    }

    /// The code that the machine makes of a function, as its rules stand now, for people; `None` if it has no rules.
    pub fn explain(&mut self, name: &str, what: Explained) -> Option<String> {
        let machine = Rc::clone(&self.evaluators.machine);
        machine_of(&machine).explain(self, name, what)
    }

    /// The code that the machine makes of each function that the program's own space has rules for, in the order of their first rules.
    pub fn explain_all(&mut self, what: Explained) -> Vec<String> {
        let machine = Rc::clone(&self.evaluators.machine);
        machine_of(&machine).explain_all(self, what)
    }

    /// From now on it is noted how queries are answered.
    pub fn log_queries(&mut self) {
        self.query_log = Some(Box::default());
    }

    /// How the queries were answered since it is noted, if it is.
    pub fn query_log(&self) -> Option<&QueryLog> {
        self.query_log.as_deref()
    }

    /// Counts of what was done so far.
    pub fn statistics(&self) -> Statistics {
        let (tabled, answers) = self.tables.counts();
        let [row_rounds, rows_found] = self.tables.goals.counts();
        Statistics { tabled, answers, row_rounds, rows_found, ..self.statistics }
    }

    /// What the machine has left to the interpreter so far: the name of its head, or what it is without one, and how often.
    /// The most frequent come first, equally frequent ones by name.
    pub fn interpreted_forms(&self) -> Vec<(String, u64)> {
        machine_of(&self.evaluators.machine).interpreted_forms()
    }

    /// The space of the program itself, `&self`.
    pub fn top_space(&self) -> SharedSpace {
        self.program.top_space()
    }

    /// Puts the run on record: `record` hears of its sources and forms, and the sinks take all commits from now on. What happened
    /// before is not in them.
    pub fn set_record(&mut self, record: Box<dyn RunRecord>, sinks: Vec<Box<dyn CommitSink>>) {
        self.transactions.set_record(&mut self.program, record, sinks);
    }

    /// Adds a sink, which takes each commit from now on after the sinks that are there.
    pub fn add_sink(&mut self, sink: Box<dyn CommitSink>) {
        self.transactions.add_sink(&mut self.program, sink);
    }

    /// Does something in a transaction that is undone: spaces and states that are made inside are gone afterwards.
    pub fn undoing<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let depth = self.open_transaction();
        let done = work(self);
        self.close_transaction(depth, false);
        done
    }

    /// Ends the transaction that was opened as this one of those open, and commits what it did, or undoes it. What one inside another
    /// did is committed with that.
    ///
    /// # Errors
    /// A sink cannot take the commit; or it is kept, and a function of on-change failed that was called with what it changed.
    pub fn end_transaction(&mut self, depth: usize, keeps: bool) -> Result<(), RunRecordError> {
        self.close_transaction(depth, keeps);
        if self.transactions.depth() > 0 {
            return Ok(());
        }
        self.commit(CommitTrigger::Asked)?;
        let cause = self.enter_source(ModuleId::TOP);
        let called = self.call_apart();
        self.leave_source(cause);
        match called? {
            Some((call, results)) => {
                Err(format!("the transaction is committed, and {call}, which on-change asked for, came to {results}")
                    .into())
            }
            None => Ok(()),
        }
    }

    /// Notes from now on what it takes to undo what happens, unless the run is on record.
    pub fn begin_undoable(&mut self) {
        self.transactions.begin_undoable(&mut self.program);
    }

    /// Undoes what has changed in the program since [`Session::begin_undoable`]; says whether something has.
    pub fn undo(&mut self) -> bool {
        let is_undone = self.transactions.undo(&mut self.program);
        self.follow_settings();
        is_undone
    }

    /// What is on record of the run, if something is.
    pub fn record(&self) -> Option<&dyn RunRecord> {
        self.transactions.record()
    }

    /// Takes the record away, and drops the sinks.
    pub fn take_record(&mut self) -> Option<Box<dyn RunRecord>> {
        self.transactions.take_record(&mut self.program)
    }

    /// Takes up generators of random numbers stored before, by number. If there is none, `&rng` draws from the world.
    pub fn set_generators(&mut self, generators: Vec<Generator>) {
        let known = self.program.generators_mut();
        *known = generators;
        if known.is_empty() {
            known.push(Generator::World);
        }
    }

    /// Makes happen again what happened in another run. No sink takes it.
    ///
    /// # Errors
    /// The event does not follow what this run has done.
    pub fn restore(&mut self, event: Event) -> Result<(), RestoreError> {
        match event {
            Event::Set { key, value } => self.set_setting(key, value),
            event => self.program.restore(event)?,
        }
        Ok(())
    }

    /// Notes each change from now on, for [`Session::take_changes`]: for a run that has no sinks.
    pub fn note_changes(&mut self) {
        self.program.log().keep(ChangeDetail::Changes);
    }

    /// What changed since it was noted first, or taken last.
    pub fn take_changes(&mut self) -> Changes {
        self.program.log().take()
    }

    /// Whether an atom of these canonical bytes is a fact: no rule and no statement of types, as its head says.
    pub fn is_fact(bytes: &[u8]) -> bool {
        canonical::head_symbol(bytes).is_some_and(|head| machine::classify_head(head).is_some())
    }

    /// Adds the facts of these canonical bytes to a space, in order; no atoms are made of those that are rows.
    ///
    /// # Errors
    /// The bytes are no atom, or one of a library that is not this one. Facts before it were added.
    pub fn add_facts<'a>(
        &mut self,
        space: &SharedSpace,
        facts: impl IntoIterator<Item = &'a [u8]>,
        room: &mut EncodedRoom,
    ) -> Result<(), DecodeError> {
        let mut facts = facts.into_iter();
        loop {
            let other = space.append_of_class(machine::FACT, |appender| {
                for bytes in facts.by_ref() {
                    debug_assert!(Self::is_fact(bytes), "other atoms are of other classes");
                    if !appender.encoded(bytes, room, |name| !machine::is_word_of_code(name))? {
                        return Ok(Some(bytes));
                    }
                }
                Ok(None)
            })?;
            let Some(bytes) = other else { return Ok(()) };
            space.add(&self.program.decode(bytes, &[])?);
        }
    }

    /// Where the atoms come from that match a pattern and that a space has now, or had after a commit, with the modules that it imports now.
    ///
    /// # Errors
    /// A message that says why that is not known.
    pub fn why(&mut self, space: &SharedSpace, pattern: &Atom, epoch: Option<u64>) -> Result<Vec<Reason>, String> {
        self.transactions.why(&mut self.program, space, pattern, epoch)
    }

    /// Runs a text in the program's own module, `answer` taking each answer as it comes.
    pub fn run(&mut self, text: &str, answer: &mut OnAnswer<'_>) -> Run {
        self.run_source(&Source::text(text), answer)
    }

    /// Runs a source in the program's own module, `answer` taking each answer as it comes.
    pub fn run_source(&mut self, source: &Source<'_>, answer: &mut OnAnswer<'_>) -> Run {
        self.run_explaining(source, false, &mut |world, event| match event {
            RunEvent::Answer(found) => answer(world, found),
            RunEvent::Failure(_) => Ok(()),
        })
    }

    /// Runs a source in the program's own module. `on_event` hears of each answer, and if `explains` also of each form that has failed,
    /// where its error was made.
    pub fn run_explaining(&mut self, source: &Source<'_>, explains: bool, on_event: &mut OnEvent<'_>) -> Run {
        let (machine, session) = (Rc::clone(&self.evaluators.machine), self);
        session.explains_failures = explains;
        session.program.set_directory(ModuleId::TOP, source.directory.to_owned());
        if let Some(limit) = session.limits.reached_by_text(source.text) {
            return Run { end: RunEnd::Limit(limit), diagnostics: Vec::new() };
        }
        let pieces = Pieces::new(source.text, source.flaw);
        if session.view.is_some() {
            let states = || pieces.again().state_something();
            if session.limits.while_reading(source.text.len(), states) {
                return Run { end: RunEnd::Effect(EffectRefused::STATEMENT), diagnostics: pieces.into_diagnostics() };
            }
        }
        let &Source { origin, file, .. } = source;
        let source = SourceRun { module: ModuleId::TOP, origin, file, pieces, given: None, traces_warnings: false };
        session.run_in(source, &mut handing_out(machine_of(&machine), on_event))
    }

    /// Runs atoms as the forms of a source: evaluates each, or states each. `origin` is what the source is called.
    pub fn run_atoms(&mut self, origin: &str, atoms: &[Atom], evaluates: bool, on_event: &mut OnEvent<'_>) -> Run {
        let (machine, session) = (Rc::clone(&self.evaluators.machine), self);
        if session.view.is_some() && !evaluates {
            return Run { end: RunEnd::Effect(EffectRefused::STATEMENT), diagnostics: Vec::new() };
        }
        let text = text_of_atoms(atoms, evaluates);
        // What another evaluation came to is a question here.
        let asked: Option<Vec<Atom>> = evaluates.then(|| atoms.iter().map(unmarked).collect());
        let (pieces, given) = (Pieces::new(&text, None), Some(asked.as_deref().unwrap_or(atoms)));
        let source = SourceRun { module: ModuleId::TOP, origin, file: None, pieces, given, traces_warnings: false };
        session.run_in(source, &mut handing_out(machine_of(&machine), on_event))
    }

    /// Traces the calls of these functions from now on, of all that the texts so far have rules for if none is named, where `trace!` goes; with
    /// `None` those of none any more. Forms are evaluated by the interpreter meanwhile.
    pub fn trace_calls(&mut self, names: Option<Vec<String>>) {
        self.trace_functions(names, None);
    }

    /// Traces the calls of all functions that the texts so far have rules for, and asks after each line how to go on.
    pub fn step_calls(&mut self, ask: Ask) {
        self.trace_functions(Some(Vec::new()), Some(ask));
    }

    /// Says whether the forms after one that has failed are run.
    pub fn keep_going(&mut self, keeps_going: bool) {
        self.keeps_going = keeps_going;
    }

    /// What words mean to the program's own module.
    pub fn words(&self) -> Words {
        self.words_of(ModuleId::TOP)
    }
}
