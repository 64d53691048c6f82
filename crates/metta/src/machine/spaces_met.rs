//! A rule whose pattern meets a space inside of an argument, after another rule of the call has matched.
//!
//! What has been done for the rules before cannot be taken back, so the interpreter cannot have the whole call. This rule
//! alone is matched as the specification has it, a pattern that meets a space being a query of it; the interpreter evaluates
//! what it says in each of the ways, and the rules that are left are tried after it.

use super::code::{Code, HEADER, REDUCE, TypeId};
use super::control::choices::{ChoiceKind, NONE, Trying};
use super::control::collected::CollectedResults;
use super::values::Scope;
use super::{Halt, Running};
use crate::instructions::is_function;
use crate::interpreter::Task;
use crate::names;
use rustc_hash::FxHashMap;
use space::{Atom, Bindings, Rewrite, Solution, Unifier, Variable, VariableSource, rewrite, variables};

impl Running<'_> {
    /// What the rule at hand comes to, matched as the specification has it; `None` if it does not match. The rules behind it become a choice.
    pub(super) fn rule_with_spaces(&mut self) -> Result<Option<CollectedResults>, Halt> {
        let trying = self.m.choices.trying;
        self.m.undo_to(trying.trail);
        let (call, mut scope) = self.call_tried(&trying)?;
        let ways = ways_of_rule(&self.m.code, self.session.program.variables(), &trying, &call);
        if ways.is_empty() {
            return Ok(None);
        }
        let noted = self.m.choices.changed_states.len() as u32;
        self.go_ways(&trying, &call, ways, &mut scope, noted).map(Some)
    }

    /// What the rule at hand, or the first behind it that matches, comes to, as states were when `noted` contents were noted; `None` if none
    /// matches.
    #[cold]
    #[inline(never)]
    pub(super) fn rules_as_they_were(&mut self, noted: u32) -> Result<Option<CollectedResults>, Halt> {
        loop {
            let trying = self.m.choices.trying;
            let (call, mut scope) = self.call_tried(&trying)?;
            self.m.choices.changed_states.exchange(noted as usize, true);
            let ways = ways_of_rule(&self.m.code, self.session.program.variables(), &trying, &call);
            self.m.choices.changed_states.exchange(noted as usize, false);
            if !ways.is_empty() {
                return self.go_ways(&trying, &call, ways, &mut scope, noted).map(Some);
            }
            let Trying { group, list, next, from, .. } = trying;
            if next == NONE {
                return Ok(None);
            }
            self.m.choices.try_place(
                (&self.m.code, &mut self.m.frames, &self.m.values),
                (group, list, next),
                (from, true),
            );
        }
    }

    /// The call whose rule is being tried, as an atom.
    fn call_tried(&mut self, trying: &Trying) -> Result<(Atom, Scope), Halt> {
        let call = self.m.call_of(self.m.code.groups[trying.group as usize].function)?;
        let mut scope = Scope::default();
        let call = self.m.values.store(call, &mut scope, self.session.program.variables())?;
        Ok((call, scope))
    }

    /// What a rule comes to in each of these ways. The rules behind it become a choice.
    fn go_ways(
        &mut self,
        trying: &Trying,
        call: &Atom,
        ways: Vec<(Solution, Atom)>,
        scope: &mut Scope,
        noted: u32,
    ) -> Result<CollectedResults, Halt> {
        let function = self.m.code.groups[trying.group as usize].function;
        let type_id = self.m.code.functions[function as usize].expected();
        let mut results = CollectedResults::default();
        for (solution, body) in ways {
            self.add_results_of_body(call, (solution, body), type_id, scope, &mut results)?;
        }
        // The rules behind this one become a choice.
        let Trying { group, list, next, from, .. } = *trying;
        if next != NONE {
            let function = self.m.code.groups[group as usize].function;
            let top = self.m.frames.base + HEADER + usize::from(self.m.code.functions[function as usize].arguments);
            let base = self.m.frames.base;
            let kind = ChoiceKind::Rules { group, list, next, from, noted };
            self.m.choices.push(&mut self.m.frames, &self.m.values, (base, top), kind);
        }
        Ok(results)
    }

    /// Adds what the body of a rule comes to, for one way in which it has matched.
    fn add_results_of_body(
        &mut self,
        call: &Atom,
        (solution, body): (Solution, Atom),
        type_id: TypeId,
        scope: &mut Scope,
        results: &mut CollectedResults,
    ) -> Result<(), Halt> {
        let itself = match () {
            () if type_id == REDUCE && !is_function(&body) => Some(&body),
            () if type_id != REDUCE && body.is_symbol(names::NOT_REDUCIBLE) => Some(call),
            () => None,
        };
        if let Some(atom) = itself {
            results.push(self.m.values.load_result(solution, atom, scope)?);
            return Ok(());
        }
        let task = match () {
            () if type_id == REDUCE => Task::Minimal(body),
            () if is_function(&body) => {
                let type_atom = self.types().type_atom(type_id);
                Task::Code { call: call.clone(), code: body, type_atom, changed: true }
            }
            () => Task::Metta(body, self.types().type_atom(type_id)),
        };
        let found = self.hand_over(task, None)?;
        for (further, atom) in self.accept_found(found)? {
            let whole = solution.iter().cloned().chain(further).collect();
            results.push(self.m.values.load_result(whole, &atom, scope)?);
        }
        Ok(())
    }
}

/// The ways in which a call matches the rule, with what the rule says then.
fn ways_of_rule(code: &Code, source: &mut VariableSource, trying: &Trying, call: &Atom) -> Vec<(Solution, Atom)> {
    let group = &code.groups[trying.group as usize];
    let rule = group.lists[trying.list as usize][trying.place as usize].rule;
    let (patterns, body) = group.sources[rule as usize].clone();
    let mut renamed: FxHashMap<Variable, Atom> = FxHashMap::default();
    let mut own = |atom: &Atom| {
        let put_in = |variable: &Variable| {
            let new = || Atom::Variable(source.fresh(variable.name()));
            Rewrite::Replace(renamed.entry(variable.clone()).or_insert_with(new).clone())
        };
        rewrite(atom, put_in).unwrap_or_else(|| atom.clone())
    };
    let (patterns, body) = (own(&Atom::expression(patterns)), own(&body));
    let arguments = Atom::expression(call.children().map_or(Vec::new(), |children| children[1..].to_vec()));
    let wanted = variables(&arguments);
    let mut unifier = Unifier::under(Bindings::default(), source);
    if !unifier.unify(&arguments, &patterns) {
        return Vec::new();
    }
    let ways = unifier.finish();
    ways.iter().map(|bindings| (bindings.solution_for(&wanted), bindings.resolve(&body))).collect()
}
