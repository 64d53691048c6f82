//! The session as native functions see it.

use super::Session;
use crate::commit::CommitTrigger;
use crate::documentation::Documentation;
use crate::effects::Effects;
use crate::environment::{CarryOut, Environment, HostFunction, OpenFile, Outcome, Refused, Stop};
use crate::host_call::HostCall;
use crate::limits::LimitReached;
use crate::live::LiveNews;
use crate::program::ModuleSearch;
use crate::program::history::Reason;
use crate::program::modules::{ModuleError, ModuleId};
use crate::random::Generator;
use crate::record::NO_HISTORY;
use crate::refusal;
use crate::syntax::Severity;
use crate::tokenizer::{Tokenizer, WordMaker};
use crate::world::World;
use space::{Atom, SharedSpace, SharedState, Solution, Symbol, VariableSource};
use std::cell::Cell;
use std::sync::Arc;

impl Session {
    fn commit_as(&mut self, trigger: CommitTrigger) -> Result<(), Refused> {
        self.commit(trigger).map_err(|error| Refused::Stop(Stop::RunRecord(error.into())))
    }
}

impl Environment for Session {
    fn world(&mut self) -> &mut dyn World {
        &mut *self.world
    }

    fn variables(&mut self) -> &mut VariableSource {
        self.program.variables()
    }

    fn begin_call(&mut self, operation: &str, effects: Effects, arguments: &[Atom]) -> Option<Stop> {
        if let Some(limit) = self.form_steps.act(effects) {
            return Some(Stop::Limit(limit));
        }
        if self.is_rehearsing {
            return refusal::refuse_again(operation, effects).map(Stop::Effect);
        }
        if let Some(profile) = &mut self.profile {
            profile.enter_native(operation);
        }
        self.view?;
        refusal::refuse(operation, effects, arguments).map(Stop::Effect)
    }

    fn limit_reached(&self, more: usize) -> Option<LimitReached> {
        self.limits.reached_inside(&self.form_steps, more)
    }

    fn refuse_call(&mut self, limit: LimitReached) {
        self.form_steps.refuse_act(limit);
    }

    fn query(&mut self, space: &SharedSpace, pattern: &Atom) -> Result<Vec<Solution>, LimitReached> {
        let (limits, form, reached) = (&self.limits, &self.form_steps, Cell::new(None));
        let is_over = || {
            reached.set(limits.reached_inside(form, 0));
            reached.get().is_some()
        };
        let found = match &mut self.query_log {
            None => space.query_unless(pattern, self.program.variables(), &is_over),
            Some(log) => {
                space.query_explained(pattern, self.program.variables(), &is_over).map(|(found, explained)| {
                    log.note(pattern, 0, explained.into());
                    found
                })
            }
        };
        found.ok_or_else(|| reached.get().expect("it was given up for a reason"))
    }

    fn is_durable(&self) -> bool {
        self.program.is_durable()
    }

    fn is_remembered(&self) -> bool {
        self.transactions.is_followed()
    }

    fn is_strict(&self) -> bool {
        self.program.is_strict()
    }

    fn new_space(&mut self) -> SharedSpace {
        self.program.new_space()
    }

    fn new_state(&mut self, value: Atom, type_atom: Atom) -> SharedState {
        self.program.new_state(value, type_atom)
    }

    fn state_changes(&mut self, state: &SharedState) {
        self.evaluators.machine.state_changes(state);
    }

    fn current_module(&self) -> ModuleId {
        Session::current_module(self)
    }

    fn module_space(&self, module: ModuleId) -> SharedSpace {
        self.program.module(module).space.clone()
    }

    fn space_of_path(&self, path: &str) -> Option<SharedSpace> {
        self.program.space_of_path(path)
    }

    fn words(&self, module: ModuleId) -> &Tokenizer {
        &self.program.module(module).tokenizer
    }

    fn module_directory(&self, module: ModuleId) -> &str {
        &self.program.module(module).directory
    }

    fn module_paths(&self) -> Vec<String> {
        self.program.module_paths()
    }

    fn module_search(&self) -> &ModuleSearch {
        self.program.module_search()
    }

    fn documentation(&mut self, space: &SharedSpace, atom: &Atom) -> Vec<Documentation> {
        let here = Session::current_module(self);
        self.program.documentation_in(space, here, atom)
    }

    fn value_word(&self, atom: &Atom) -> Option<Atom> {
        self.program.value_word(Session::current_module(self), atom)
    }

    fn load_module(&mut self, name: &str) -> Result<ModuleId, ModuleError> {
        Session::load_module(self, name)
    }

    fn load_file(&mut self, path: String, file: String) -> Result<ModuleId, ModuleError> {
        Session::load_file(self, path, file)
    }

    fn find_source(&mut self, path: &str, files: Vec<String>) -> Result<String, ModuleError> {
        self.first_source(path, files)
    }

    fn include(&mut self, name: &str) -> Result<Vec<Atom>, ModuleError> {
        Session::include(self, name)
    }

    fn take_end_inside(&mut self) -> Option<Stop> {
        self.ended_inside.take()
    }

    fn import_module(&mut self, into: ModuleId, from: ModuleId) {
        self.program.import_module(into, from);
        self.program.import_bundled_words(into, from);
    }

    fn bind(&mut self, module: ModuleId, token: &str, is_pattern: bool, atom: Atom) -> Result<(), String> {
        self.program.bind(module, token, is_pattern, atom)
    }

    fn set_setting(&mut self, key: String, value: Atom) {
        Session::set_setting(self, key, value);
    }

    fn form_place(&self) -> Option<String> {
        let (text, offset) = self.form_at.as_ref()?;
        let place = self.texts.place_in(text, *offset)?;
        Some(format!("{}:{}", place.origin, place.position().line))
    }

    fn setting(&self, key: &str) -> Option<&Atom> {
        self.program.setting(key)
    }

    fn check_live(&self, entry: &Atom) -> Result<(), String> {
        Session::check_live(self, entry)
    }

    fn live_news(&mut self, name: &str, from: Option<u64>) -> Result<Vec<Atom>, String> {
        let news = Session::live_news(self, name, from)?;
        Ok(news.iter().flat_map(LiveNews::atoms).collect())
    }

    fn note_told(&mut self, name: &str, has_news: bool) {
        Session::note_told(self, name, has_news);
    }

    fn set_tabled(&mut self, name: &Symbol, is_tabled: bool) {
        self.table(name, is_tabled);
    }

    fn has_library_rules(&mut self, name: &str) -> bool {
        self.program.has_library_rules(name)
    }

    fn before_outward_effect(&mut self) -> Result<(), Refused> {
        if self.transactions.depth() > 0 {
            let message = "this reaches outside and cannot be undone: it is not allowed inside a transaction";
            return Err(Refused::InTransaction(message));
        }
        self.commit_as(CommitTrigger::OutwardEffect)
    }

    fn commit_early(&mut self) -> Result<(), Refused> {
        if self.transactions.depth() > 0 {
            let message = "commit! is not allowed inside a transaction, which commits as a whole or not at all";
            return Err(Refused::InTransaction(message));
        }
        self.commit_as(CommitTrigger::Asked)
    }

    fn open_transaction(&mut self) -> usize {
        Session::open_transaction(self)
    }

    fn close_transaction(&mut self, depth: usize, keep: bool) {
        Session::close_transaction(self, depth, keep);
    }

    fn without_undone(&self, atom: &Atom) -> Atom {
        self.program.without_undone(atom)
    }

    fn epoch(&self) -> Result<u64, String> {
        match self.view {
            Some(view) => view.epoch.ok_or_else(|| NO_HISTORY.to_owned()),
            None => self.transactions.epoch(),
        }
    }

    fn as_of(&mut self, space: &SharedSpace, epoch: u64) -> Result<SharedSpace, String> {
        self.transactions.as_of(&mut self.program, space, epoch)
    }

    fn why(&mut self, space: &SharedSpace, pattern: &Atom) -> Result<Vec<Reason>, String> {
        self.transactions.why(&mut self.program, space, pattern, None)
    }

    fn generator(&mut self, number: usize) -> Option<(&mut Generator, &mut dyn World)> {
        Some((self.program.generators_mut().get_mut(number)?, &mut *self.world))
    }

    fn generator_count(&self) -> usize {
        self.program.generators().len()
    }

    fn add_generator(&mut self, generator: Generator) -> usize {
        let generators = self.program.generators_mut();
        generators.push(generator);
        generators.len() - 1
    }

    fn host_function(&self, name: &str) -> Option<Arc<dyn HostFunction>> {
        self.program.host_function(name)
    }

    fn ask_host(&mut self, call: &HostCall<'_>, carry_out: &mut CarryOut<'_>) -> Outcome {
        Session::ask_host(self, call, carry_out)
    }

    fn run_inside(&mut self, text: &str) -> Result<Vec<Vec<Atom>>, ModuleError> {
        Session::run_inside(self, text)
    }

    fn evaluate_inside(&mut self, atom: &Atom) -> Result<Vec<Atom>, ModuleError> {
        Session::evaluate_inside(self, atom)
    }

    fn read_inside(&self, text: &str) -> Result<Vec<Atom>, ModuleError> {
        let (atoms, diagnostics) = self.program.read(Session::current_module(self), text);
        match diagnostics.into_iter().find(|found| found.severity == Severity::Error) {
            Some(error) => Err(ModuleError::Source { message: error.message }),
            None => Ok(atoms),
        }
    }

    fn bind_maker(&mut self, module: ModuleId, token: &str, maker: Arc<WordMaker>) -> Result<(), String> {
        self.program.bind_maker(module, token, maker)
    }

    fn open_files(&mut self) -> &mut Vec<OpenFile> {
        &mut self.open_files
    }
}
