//! Calls of tabled functions: see [`crate::tables`].
//!
//! 1. A call whose table can be read has its answers as results.
//! 2. If the table is not complete, but something above the call that fills it asks for all results, the form ends with an error.
//!    Otherwise, if the call is all that an expression is, the barrier of that expression is
//!    taken away: the evaluation goes on with each answer, those included that are found meanwhile.
//! 3. Any other call is evaluated inside a barrier of its own. Each result that reaches the barrier becomes an answer.
//! 4. If the table says so, it is evaluated again; else its answers are the results.

use super::frame::{Call, Target, Waiting};
use super::{Alternative, BarrierKind, Choice, Collected, Evaluation, Rest, Work};
use crate::datalog::Asked;
use crate::environment::Stop;
use crate::names;
use crate::rules::AskedRules;
use crate::tables::{Answer, Answers, CallKey, CallState, RoundEnd};
use space::{Atom, SharedSpace, Solution, Variable};

/// A tabled call that is being evaluated.
pub(super) struct Filling {
    call: Call,
    target: Target,
    variables: Vec<Variable>,
}

impl Filling {
    pub(super) fn call(&self) -> &Atom {
        &self.call.atom
    }

    pub(super) fn type_atom(&self) -> &Atom {
        &self.target.type_atom
    }
}

impl Evaluation<'_> {
    /// Whether an atom calls a tabled function: one that has rules for the number of its arguments.
    pub(super) fn is_tabled(&mut self, call: &Atom, space: &SharedSpace) -> bool {
        let Some([Atom::Symbol(name), arguments @ ..]) = call.children() else { return false };
        if !self.session.tables.is_tabled(name) {
            return false;
        }
        let source = self.session.program.variables();
        let asked = AskedRules::of(name, arguments.len(), source);
        !space.query(&asked.rule, source).is_empty()
    }

    pub(super) fn tabled_call(&mut self, call: Call, target: Target) -> Option<Work> {
        let target = self.without_open_type(target)?;
        let type_atom = self.resolve(&target.type_atom)?;
        let Some(asking) = CallKey::new(&call.atom, &type_atom, &target.space) else {
            return self.untabled_call(call, target);
        };
        let is_reference = self.is_reference;
        let wanted = Asked { call: &call.atom, type_atom: &type_atom, space: &target.space, is_reference };
        let asked = match self.session.ask_table(&asking, &wanted) {
            Ok(asked) => asked,
            Err(limit) => {
                self.stop = Some(Stop::Limit(limit));
                return None;
            }
        };
        if let CallState::Follow(table) = asked {
            let innermost = self.barriers.last().expect("the barrier of the whole evaluation is there");
            if let Some(error) = self.session.tables.cycle(table, innermost.asks_all_above) {
                self.stop = Some(Stop::NotStratified(error));
                return None;
            }
        }
        match asked {
            CallState::Read(answers) => self.give_answers(&answers, &asking.variables),
            CallState::Follow(table) if self.is_all_of_an_expression() => {
                let barrier = self.barriers.pop().expect("there is an expression");
                self.frame = barrier.parent;
                let rest = Rest::Answers { table, next: 0, variables: asking.variables };
                self.choices.push(Choice { mark: self.store.mark(), frame: self.frame.clone(), rest });
                self.next_alternative()
            }
            CallState::Follow(table) => {
                let answers = self.session.answers_so_far(table);
                self.give_answers(&answers, &asking.variables)
            }
            CallState::Fill(_) => {
                let call = Call { changed: true, is_reduct: false, ..call };
                self.filling.push(Filling { call, target, variables: asking.variables });
                self.begin_round()
            }
        }
    }

    /// A type that is an unbound variable asks for nothing: two answers that differ in its value only would be one answer
    /// given twice.
    fn without_open_type(&mut self, target: Target) -> Option<Target> {
        Some(match self.resolve(&target.type_atom)? {
            Atom::Variable(_) => Target { type_atom: names::undefined(), ..target },
            _ => target,
        })
    }

    /// Whether what comes next is all that an expression comes to: it ends with it, and has no other alternative.
    fn is_all_of_an_expression(&self) -> bool {
        let is_tail = self.frame.as_ref().is_some_and(|frame| matches!(frame.waiting, Waiting::Barrier));
        let innermost = self.barriers.last().expect("the barrier of the whole evaluation is there");
        let is_only = innermost.results.is_empty() && innermost.choices == self.choices.len();
        is_tail && is_only && innermost.kind == BarrierKind::Expression
    }

    fn begin_round(&mut self) -> Option<Work> {
        let filling = self.filling.last().expect("a call is being evaluated");
        let (call, target) = (filling.call.clone(), filling.target.clone());
        self.raise_barrier(BarrierKind::Table);
        self.untabled_call(call, target)
    }

    /// The call being evaluated has come to a result.
    pub(super) fn add_answer(&mut self, solution: &Solution, result: Atom) {
        let filling = self.filling.last().expect("a call is being evaluated");
        let value = |variable: &Variable| {
            let bound = solution.iter().find(|(bound, _)| bound == variable);
            bound.map_or_else(|| Atom::Variable(variable.clone()), |(_, value)| value.clone())
        };
        let values = filling.variables.iter().map(value).collect();
        if let Err(limit) = self.session.add_answer(Answer::new(result, values)) {
            self.stop = Some(Stop::Limit(limit));
        }
    }

    /// A round has come to its end, and to these errors.
    pub(super) fn end_round(&mut self, errors: Vec<Collected>) -> Option<Work> {
        for Collected { solution, atom, .. } in errors {
            self.add_answer(&solution, atom);
        }
        match self.session.end_round() {
            RoundEnd::Again => self.begin_round(),
            RoundEnd::NotStratified(error) => {
                self.stop = Some(Stop::NotStratified(error));
                None
            }
            RoundEnd::Done(answers) => {
                let filling = self.filling.pop().expect("a call is being evaluated");
                self.give_answers(&answers, &filling.variables)
            }
        }
    }

    /// Each answer is a result.
    fn give_answers(&mut self, answers: &Answers, variables: &[Variable]) -> Option<Work> {
        let answers = answers.given(variables, self.session.program.variables());
        let alternative = |(solution, atom)| Alternative::new(solution, Work::Return(atom));
        self.fork(answers.into_iter().map(alternative).collect())
    }
}
