//! What is left to others: to the interpreter, and to native functions.
//!
//! What they come to is taken over here, as atoms. Nothing is evaluated further: what is done with it is for those who ask.

use super::control::collected::CollectedResults;
use super::values::Scope;
use super::{Halt, Reason, Running};
use crate::interpreter::{Task, TaskOutcome};
use crate::limits::LimitReached;
use crate::operation::{Operation, Outcome};
use crate::{interpreter, names, types};
use region::Ref;
use space::{Atom, Rewrite, Solution, Variable, rewrite};

impl Running<'_> {
    /// Lets the interpreter do a part of the evaluation.
    ///
    /// # Errors
    /// Nobody knows which effects that has, and results are not gathered.
    pub(super) fn hand_over(&mut self, task: Task, most: Option<usize>) -> Result<TaskOutcome, Halt> {
        self.m.choices.must_gather()?;
        self.limits().settle_fuel();
        self.evaluator.interpreted.borrow_mut().note(&task);
        if let Some(profile) = &mut self.session.profile {
            profile.enter_native("interpreted");
        }
        let is_in_table = self.session.tables.depth() > 0;
        let floor = if is_in_table {
            self.m.choices.asks_all_above(self.session.tables.depth(), self.session.tables.floor())
        } else {
            0
        };
        let own = self.session.tables.set_floor(floor);
        let mut found = interpreter::solve(self.session, &self.space, (task, most), self.watch.steps_left());
        self.session.tables.set_floor(own);
        self.watch.count(found.steps);
        if let (Some(LimitReached::Steps(_)), Some(most)) = (found.limit, self.session.limits.steps_max) {
            found.limit = Some(LimitReached::Steps(most));
        }
        let fuel = self.watch.steps_until_look(&self.session.form_steps).min(self.m.counters.fuel);
        (self.m.counters.fuel, self.m.counters.fuel_given) = (fuel, fuel);
        Ok(found)
    }

    /// What the interpreter has found, unless the evaluation ends with it.
    pub(super) fn accept_found(&mut self, found: TaskOutcome) -> Result<Vec<(Solution, Atom)>, Halt> {
        self.m.counters.interpreted += 1;
        self.m.counters.steps += found.steps;
        self.m.counters.depth_max = self.m.counters.depth_max.max(found.depth_max);
        self.refresh();
        match (found.stop, found.limit) {
            (Some(stop), _) => Err(Reason::Stop(stop).into()),
            (None, Some(limit)) => Err(Reason::Limit(limit).into()),
            (None, None) => Ok(found.results),
        }
    }

    /// Calls the Rust side of a native function: the call as an atom, and what came of it.
    ///
    /// # Errors
    /// Its arguments are too much for the limits, or it has effects and results are not gathered.
    pub(super) fn outcome_of(
        &mut self,
        head: &Atom,
        arguments: &[Ref],
        scope: &mut Scope,
    ) -> Result<(Atom, Outcome), Halt> {
        let mut children = Vec::with_capacity(arguments.len() + 1);
        children.push(head.clone());
        for &argument in arguments {
            children.push(self.m.values.store(argument, scope, self.session.program.variables())?);
        }
        let operation = Operation::of(head).expect("it is a native function");
        self.m.choices.must_gather_unless_read(operation.effects())?;
        self.limits().settle_fuel();
        let outcome = operation.call(self.session, head, &children[1..], &self.space);
        self.refresh();
        Ok((Atom::expression(children), outcome))
    }

    /// Lets the interpreter run code that a call was reduced to, in one way.
    pub(super) fn run_function(
        &mut self,
        call: &Atom,
        (bound, body): (Solution, Atom),
        scope: &mut Scope,
        loaded: &mut CollectedResults,
    ) -> Result<(), Halt> {
        let type_atom = match types::types_of(
            &self.space,
            call.head().expect("a call has a head"),
            self.session.program.variables(),
        )
        .as_slice()
        {
            [only] if only.is_function() => types::function_parts(&only.atom).1.clone(),
            _ => names::undefined(),
        };
        let call = with_bound(call, &bound);
        let found = self.hand_over(Task::Code { call, code: body, type_atom, changed: false }, None)?;
        for (mut solution, atom) in self.accept_found(found)? {
            solution.extend(bound.iter().cloned());
            loaded.push(self.m.values.load_result(solution, &atom, scope)?);
        }
        Ok(())
    }
}

/// A call with what a solution binds put in.
pub(super) fn with_bound(call: &Atom, solution: &Solution) -> Atom {
    let value = |variable: &Variable| solution.iter().find(|(known, _)| known == variable).map(|(_, value)| value);
    let put = |variable: &Variable| value(variable).map_or(Rewrite::Keep, |value| Rewrite::Continue(value.clone()));
    rewrite(call, put).unwrap_or_else(|| call.clone())
}

/// A call with what a solution binds put in, which stands for itself because its function has answered so.
pub(super) fn as_evaluated(call: &Atom, solution: &Solution) -> Atom {
    match with_bound(call, solution) {
        Atom::Expression(call) => call.into_evaluated().into(),
        call => call,
    }
}
