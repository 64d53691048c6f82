//! Tables of calls, as evaluators ask for them: see [`crate::tables`].

use super::Session;
use crate::datalog::{Asked, Goals, Grounds};
use crate::limits::LimitReached;
use crate::tables::{Answer, Answers, CallKey, CallState, RoundEnd, SETTING};
use space::{Atom, SharedSpace, Solution, Symbol, Variable};

impl Session {
    /// Says what is known of a call of a tabled function. If nothing is, and rows answer it, it is answered.
    ///
    /// # Errors
    /// Tables take more bytes than the heap may, or a limit was reached.
    pub(crate) fn ask_table(&mut self, asking: &CallKey, asked: &Asked<'_>) -> Result<CallState, LimitReached> {
        let (changes, most) = (self.program.log().stamp(), self.limits.heap_bytes_max);
        let state = self.tables.ask(asking, changes, most)?;
        let CallState::Fill(table) = state else { return Ok(state) };
        let answered = self.with_goals(|goals, grounds| goals.answer(asked, grounds))?;
        match answered {
            Some(rows) => Ok(CallState::Read(self.tables.complete_with(table, rows, changes, most)?)),
            None => {
                self.tables.fill(table, asked.call, changes);
                Ok(state)
            }
        }
    }

    /// Why calls of a tabled function are not answered over rows, if they are not.
    pub(crate) fn refused_as_rows(
        &mut self,
        name: &Symbol,
        arguments: usize,
        space: &SharedSpace,
    ) -> Option<&'static str> {
        self.with_goals(|goals, grounds| goals.refusal((name, arguments), space, grounds))
    }

    fn with_goals<T>(&mut self, work: impl FnOnce(&mut Goals, &mut Grounds<'_>) -> T) -> T {
        // They are lent out: what they ask of tables is which functions have one.
        let mut goals = std::mem::take(&mut self.tables.goals);
        let (library, dictionary) = (self.program.library_space(), self.program.terms());
        let tables = &self.tables;
        let is_tabled = |name: &Symbol| tables.is_tabled(name);
        let mut grounds = Grounds {
            library,
            dictionary,
            source: self.program.variables(),
            limits: &self.limits,
            form: &self.form_steps,
            is_tabled: &is_tabled,
            tabled: tables.version(),
        };
        let done = work(&mut goals, &mut grounds);
        self.tables.goals = goals;
        done
    }

    /// Adds an answer to the table of the call in progress.
    ///
    /// # Errors
    /// Tables take more bytes than the heap may.
    pub(crate) fn add_answer(&mut self, answer: Answer) -> Result<(), LimitReached> {
        self.tables.add(answer, self.limits.heap_bytes_max)
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
            if let Some(answer) = self.tables.answer(table, number) {
                let (solution, atom) = answer.given(variables, self.program.variables());
                return Some((number + 1, solution, atom));
            }
        }
        self.tables.leave(table);
        None
    }

    /// The answers that a table has now, for a reader who leaves.
    pub(crate) fn answers_so_far(&mut self, table: usize) -> Answers {
        self.tables.leave(table);
        self.tables.answers_so_far(table)
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
    pub(crate) fn follow_settings(&mut self) {
        let named = self.program.setting(SETTING).and_then(Atom::children).unwrap_or_default();
        self.tables.set_names(named.iter().filter_map(|name| match name {
            Atom::Symbol(name) => Some(name.clone()),
            _ => None,
        }));
    }
}
