//! Tables of calls, as evaluators ask for them: see [`crate::tables`].

use super::Session;
use crate::limits::LimitReached;
use crate::tables::{CallKey, CallState, RoundEnd, SETTING};
use space::{Atom, Solution, Symbol, Variable};

impl Session {
    /// Says what is known of a call of a tabled function.
    ///
    /// # Errors
    /// Tables take more bytes than the heap may.
    pub(crate) fn ask_table(&mut self, asking: &CallKey) -> Result<CallState, LimitReached> {
        self.tables.ask(asking, self.program.log().stamp(), self.limits.heap_bytes_max)
    }

    /// Adds an answer to the table of the call in progress: a result and what the variables of the call are with it.
    ///
    /// # Errors
    /// Tables take more bytes than the heap may.
    pub(crate) fn add_answer(&mut self, values: Vec<Atom>, result: Atom) -> Result<(), LimitReached> {
        self.tables.add(values, result, self.limits.heap_bytes_max)
    }

    /// Ends a round of the call in progress.
    pub(crate) fn end_round(&mut self) -> RoundEnd {
        self.tables.end_round(self.program.log().stamp())
    }

    /// The next answer for a reader who stays on, and the place behind it. `None` if there is none now: the reader leaves.
    pub(crate) fn follow(
        &mut self,
        table: usize,
        from: usize,
        variables: &[Variable],
    ) -> Option<(usize, Solution, Atom)> {
        for number in from..self.tables.len(table) {
            if let Some((solution, atom)) = self.tables.answer((table, number), variables, self.program.variables()) {
                return Some((number + 1, solution, atom));
            }
        }
        self.tables.leave(table);
        None
    }

    /// What a table says of a call with these variables: each result with what it binds.
    pub(crate) fn answers(&mut self, table: usize, variables: &[Variable]) -> Vec<(Solution, Atom)> {
        let answers = 0..self.tables.len(table);
        answers.filter_map(|number| self.tables.answer((table, number), variables, self.program.variables())).collect()
    }

    /// Tables or stops tabling a function, for the setting `table`.
    pub(super) fn table(&mut self, name: &Symbol, is_tabled: bool) {
        let before = self.program.setting(SETTING).and_then(Atom::children).unwrap_or_default();
        let others = before.iter().filter(|other| !other.is_symbol(name.as_str())).cloned();
        let own = is_tabled.then(|| Atom::Symbol(name.clone()));
        let names = Atom::expression(others.chain(own).collect::<Vec<_>>());
        self.set_setting(SETTING.to_owned(), names);
    }

    /// Tables the functions that the settings name now. What was found so far holds no more.
    pub(super) fn follow_settings(&mut self) {
        let named = self.program.setting(SETTING).and_then(Atom::children).unwrap_or_default();
        self.tables.set_names(named.iter().filter_map(|name| match name {
            Atom::Symbol(name) => Some(name.clone()),
            _ => None,
        }));
    }
}
