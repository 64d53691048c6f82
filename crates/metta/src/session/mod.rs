//! A session: everything that an evaluation works on, beside the evaluator itself.
//!
//! 1. The [program](Program) is what sources have made; [transactions](Transactions) commit and undo it.
//! 2. [Sources](sources) are run form by form, and [imports] run the sources of modules.
//! 3. Evaluators get the session as a whole; native functions get it as an [`Environment`](crate::Environment).

mod environment;
mod failures;
mod host;
mod imports;
mod live;
mod profile;
mod query_log;
mod sources;
mod tabling;
mod traces;

use crate::commit::{Cause, CommitTrigger};
use crate::environment::{OpenFile, Stop};
use crate::evaluate::Evaluators;
use crate::failure::texts::Texts;
use crate::limits::{FormSteps, Limits};
use crate::load::Formats;
use crate::program::Program;
use crate::program::modules::ModuleId;
use crate::record::RunRecordError;
use crate::refusal::Viewed;
use crate::tables::Tables;
use crate::transaction::Transactions;
use crate::world::World;
use live::Live;
use profile::Profile;
pub use profile::{Clock, ProfileNode};
pub(crate) use query_log::Execution;
pub use query_log::{LoggedKind, LoggedQuery, LoggedStep, LoggedWay, QueryLog};
pub(crate) use sources::{FormEvent, FormOutcome, SourceRun, text_of_atoms};
pub use sources::{Run, RunEnd, Source};
use space::Atom;
use statistics::Entries;
use std::rc::Rc;
use std::sync::Arc;
use traces::Traced;
pub use traces::{Ask, Step};

/// Counts of what a run did.
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
    /// How often results left the region of their form by joining it,
    pub escapes_joined: u64,
    /// by a copy,
    pub escapes_copied: u64,
    /// and by a copy that kept addresses in a hash map.
    pub escapes_copied_by_map: u64,
    /// The most chunks of 512 bytes that the machine's heap ever had.
    pub chunks_max: usize,
    /// Cells left unused at the ends of chunks.
    pub cells_left: u64,
    /// How often the heap refused memory, at its limit or the system's.
    pub limit_failures: u64,
    /// How often the machine collected garbage.
    pub collections: u64,
    /// How many functions are pure and call themselves at two places, so that their results are remembered.
    pub memoised: u64,
    /// Calls of these whose results were remembered, and those that were looked for in vain.
    pub memo_hits: u64,
    /// See [`Statistics::memo_hits`].
    pub memo_misses: u64,
    /// The most calls whose results were remembered at one time.
    pub memo_entries_max: u64,
    /// How often calls of tabled functions were evaluated, and not read from their tables.
    pub tabled: u64,
    /// How many answers were put into tables.
    pub answers: u64,
    /// How many rounds answered calls of tabled functions over rows.
    pub row_rounds: u64,
    /// How many rows they found.
    pub rows_found: u64,
}

impl Statistics {
    /// Whether the machine evaluated anything.
    fn has_machine(&self) -> bool {
        self.calls + self.interpreted + self.cells + self.regions_joined > 0
    }

    fn of_machine(&self, to: &mut Entries) {
        to.count("calls", "Calls of functions.", self.calls);
        to.count("interpreted", "Expressions that it left to the interpreter.", self.interpreted);
        to.count(
            "compared",
            "Parts that were compared to find out whether an expression came to itself.",
            self.compared,
        );
        to.bytes("heap_bytes_peak", "The most that its heap held at one time.", self.heap_bytes_peak as u64);
        to.bytes("heap_bytes_held", "The most that its heap got from the system.", self.heap_bytes_held as u64);
        to.count("cells", "Cells of eight bytes that were taken, given back or not.", self.cells);
        to.count("cells_copied", "Those of them that are copies, by collections and as results.", self.cells_copied);
        to.count("cells_left", "Cells left unused at the ends of chunks.", self.cells_left);
        to.count("chunks_max", "The most chunks of 512 bytes that its heap had.", self.chunks_max as u64);
        to.count("regions_joined", "Regions of forms that were joined to those of their results.", self.regions_joined);
        to.group("escapes", "How often results left the region of their form, by the way that they took.", |to| {
            to.count("joined", "By joining it.", self.escapes_joined);
            to.count("copied", "By a copy.", self.escapes_copied);
            to.count("copied_by_map", "By a copy that kept addresses in a hash map.", self.escapes_copied_by_map);
        });
        to.count("collections", "Collections of garbage.", self.collections);
        to.count(
            "limit_failures",
            "How often the heap refused memory, at its limit or the system's.",
            self.limit_failures,
        );
        to.count("memoised", "Functions that are pure and call themselves at two places.", self.memoised);
        to.count("memo_hits", "Calls of these whose results were remembered.", self.memo_hits);
        to.count("memo_misses", "Calls of these that were evaluated.", self.memo_misses);
        to.count("memo_entries_max", "The most calls that were remembered at one time.", self.memo_entries_max);
    }
}

impl statistics::Statistics for Statistics {
    fn what(&self) -> &'static str {
        "evaluation"
    }

    fn entries(&self, to: &mut Entries) {
        to.count("evaluations", "Forms that were evaluated.", self.evaluations);
        to.count("steps", "Steps of all evaluations.", self.steps);
        to.count("depth_max", "The deepest stack, in frames.", self.depth_max as u64);
        to.count("atoms_added", "Atoms that were added as plain forms.", self.atoms_added);
        to.count("tabled", "Evaluations of calls that fill tables.", self.tabled);
        to.count("answers", "Answers that were put into tables.", self.answers);
        to.count("row_rounds", "Rounds that answered calls over rows.", self.row_rounds);
        to.count("rows_found", "Rows that they found.", self.rows_found);
        let meaning = "What the machine did, if it evaluated anything.";
        match self.has_machine() {
            true => to.group("machine", meaning, |to| self.of_machine(to)),
            false => to.no_group("machine", meaning),
        }
    }
}

/// A run of a program: what sources have made, and what evaluates them.
pub struct Session {
    pub(crate) program: Program,
    pub(crate) transactions: Transactions,
    pub(crate) world: Box<dyn World>,
    pub(crate) limits: Limits,
    /// The steps of the `!` of the program that is being run.
    pub(crate) form_steps: FormSteps,
    /// Whether the process counts what it allocates, so that all memory of a `!` is known.
    pub(crate) counts_memory: bool,
    /// What calls of tabled functions have come to.
    pub(crate) tables: Tables,
    pub(crate) statistics: Statistics,
    /// What becomes of its queries, if that is asked for.
    pub(crate) query_log: Option<Box<QueryLog>>,
    pub(crate) evaluators: Evaluators<Session>,
    /// Whether only those forms after `!` are evaluated that say what words and rules mean.
    pub(crate) only_defines: bool,
    /// What reads files that are no MeTTa text, for imports.
    pub(crate) formats: Option<Rc<dyn Formats>>,
    /// The modules whose sources are being run, the innermost last.
    running: Vec<ModuleId>,
    /// Why an imported source ended the run, until the form that imports it ends too.
    ended_inside: Option<Stop>,
    open_files: Vec<OpenFile>,
    /// Of what it is a view, if it is one.
    pub(crate) view: Option<Viewed>,
    /// Whether failures are explained; then the texts that ran are kept.
    pub(crate) explains_failures: bool,
    /// Whether the forms after one that has failed are run.
    pub(crate) keeps_going: bool,
    /// The text and the place in it of the form that is being evaluated.
    form_at: Option<(Arc<str>, u32)>,
    /// Whether a function of the host is being called whose call is recorded, so that it must not use the engine.
    is_off_record: bool,
    /// Whether a form is being evaluated again, so that nothing may be changed and nobody asked.
    is_rehearsing: bool,
    texts: Texts,
    /// The functions whose calls are traced, if some are.
    traced: Option<Traced>,
    /// Whether results of pure functions are remembered while a form is evaluated, unless the program says otherwise.
    pub(crate) memoises: bool,
    /// The passes that the machine makes over the code of rules that are compiled from now on.
    pub passes: crate::passes::Passes,
    /// What is counted of calls, if that is wanted.
    pub(crate) profile: Option<Box<Profile>>,
    /// What follows its named live queries.
    live: Live,
}

impl Session {
    pub(crate) fn with_evaluators(world: Box<dyn World>, program: Program, evaluators: Evaluators<Session>) -> Self {
        let mut transactions = Transactions::default();
        transactions.begin_counting(&program);
        Self {
            program,
            transactions,
            world,
            limits: Limits::default(),
            form_steps: FormSteps::default(),
            counts_memory: region::memory::is_counted(),
            tables: Tables::default(),
            statistics: Statistics::default(),
            query_log: None,
            evaluators,
            only_defines: false,
            formats: None,
            running: Vec::new(),
            ended_inside: None,
            open_files: Vec::new(),
            view: None,
            explains_failures: false,
            keeps_going: false,
            form_at: None,
            is_off_record: false,
            is_rehearsing: false,
            texts: Texts::default(),
            traced: None,
            memoises: true,
            passes: Default::default(),
            profile: None,
            live: Live::default(),
        }
    }

    /// The module whose source is being run.
    pub(crate) fn current_module(&self) -> ModuleId {
        self.running.last().copied().unwrap_or(ModuleId::TOP)
    }

    /// Whether the source that is being run is the program's own, and no import of it.
    pub(crate) fn is_outermost(&self) -> bool {
        self.running.len() == 1
    }

    /// Begins to run a source of a module, or to load its data; gives what [`Session::leave_source`] wants.
    pub(crate) fn enter_source(&mut self, module: ModuleId) -> Option<Cause> {
        self.running.push(module);
        self.set_cause(None)
    }

    /// Ends what began last.
    pub(crate) fn leave_source(&mut self, cause: Option<Cause>) {
        self.set_cause(cause);
        self.running.pop();
    }

    /// Says what causes the changes to come; gives what caused those before.
    pub(crate) fn set_cause(&mut self, cause: Option<Cause>) -> Option<Cause> {
        self.transactions.set_cause(&self.program, cause)
    }

    /// Ends the transaction and hands it to the sinks.
    ///
    /// # Errors
    /// A sink cannot keep it.
    pub(crate) fn commit(&mut self, trigger: CommitTrigger) -> Result<(), RunRecordError> {
        self.transactions.commit(&mut self.program, &mut *self.world, trigger)?;
        self.follow_live_queries();
        Ok(())
    }

    /// Opens a transaction: what is run from now on is committed at its end, and not before. Gives how many are open then.
    pub fn open_transaction(&mut self) -> usize {
        self.transactions.open(&self.program)
    }

    /// Closes the `(transaction …)` that was opened as this one of those open, and all inside it; undoes what they did
    /// unless it is to be kept.
    pub(crate) fn close_transaction(&mut self, depth: usize, keep: bool) {
        if self.transactions.close(&mut self.program, depth, keep) {
            self.follow_settings();
        }
    }

    /// Changes a setting of the program.
    pub(crate) fn set_setting(&mut self, key: String, value: Atom) {
        self.program.set_setting(key, value);
        self.follow_settings();
    }
}

#[cfg(test)]
mod tests {
    use super::Statistics;
    use crate::live::LiveStatistics;
    use statistics::Statistics as _;

    #[test]
    fn every_count_has_a_name_and_a_meaning() {
        let of_machine = Statistics { calls: 1, ..Statistics::default() };
        for report in [Statistics::default().report(), of_machine.report(), LiveStatistics::default().report()] {
            assert_eq!(report.defects(), Vec::<String>::new(), "{}", report.what);
        }
        assert!(of_machine.report().about().contains_key("machine.escapes.joined"));
    }
}
