//! What a rule or a form answers with.
//!
//! 1. An error there is final, also one that is not a whole one.
//! 2. A variable may stand for `NotReducible`: then what was reduced last stands for itself, as if the form had no rule.
//! 3. It may stand for code: where a rule or a native function gives it, the call enters that, and its errors name the call.
//! 4. All of this is checked where the variable is evaluated; a number or a truth value is none of these.
//! 5. `NotReducible` as it is written is an answer too.

use super::{Lower, OddAnswer, Place};
use crate::machine::code::{Guard, TypeId};
use crate::machine::core::{Core, Test};
use crate::names;
use space::Atom;

impl Lower<'_> {
    /// What a rule or a form says.
    pub(in crate::machine) fn reduct(&mut self, atom: &Atom, type_id: TypeId, place: Place) -> Core {
        if names::is_error(atom) {
            let error = self.quote(atom);
            return match place {
                Place::Tail => error,
                Place::Inside | Place::Gathered => Core::Reduct { value: Box::new(error), call: None, type_id },
            };
        }
        let is_doubtful = matches!(atom.head(), Some(Atom::Variable(_)));
        let outer = std::mem::replace(&mut self.answer, is_doubtful.then(|| atom.clone()));
        let node = self.value(atom, type_id, place);
        self.answer = outer;
        node
    }

    /// What a form answers with, in which a variable may stand for anything.
    pub(in crate::machine) fn answered(
        &mut self,
        body: &Atom,
        type_id: TypeId,
        place: Place,
        odd: impl FnOnce(&mut Self) -> OddAnswer,
    ) -> Core {
        match body {
            Atom::Variable(variable)
                if self.facts.scope.is_known(variable) && self.facts.scope.fact(variable).is_none() =>
            {
                let odd = odd(self);
                let node = self.reduct(body, type_id, place);
                let reduct = |call: Option<&Atom>| {
                    let value = Box::new(Core::Variable(variable.clone()));
                    Core::Reduct { value, call: call.cloned(), type_id }
                };
                let test = |guard: Guard| vec![Test::Is(variable.clone(), guard)];
                match &odd {
                    OddAnswer::Fails => Core::guarded(test(Guard::Reducible), node, reduct(None)),
                    OddAnswer::Stands(call) => Core::guarded(test(Guard::Reducible), node, reduct(Some(call))),
                    OddAnswer::Enters(call) => Core::guarded(test(Guard::Answer), node, reduct(Some(call))),
                    OddAnswer::FailsOrEnters(call) => {
                        let enters = Core::guarded(test(Guard::Answer), node, reduct(Some(call)));
                        Core::guarded(test(Guard::Reducible), enters, reduct(None))
                    }
                }
            }
            body if body.is_symbol(names::NOT_REDUCIBLE) => match odd(self) {
                OddAnswer::Stands(call) | OddAnswer::Enters(call) => {
                    let value = Box::new(self.quote(body));
                    Core::Reduct { value, call: Some(call), type_id }
                }
                OddAnswer::Fails | OddAnswer::FailsOrEnters(_) => Core::Fail,
            },
            body => self.reduct(body, type_id, place),
        }
    }
}
