//! Values: leaves, variables, and expressions by their heads.

use super::{Lower, Place, Whole};
use crate::lowering::{Form, Lowering};
use crate::machine::code::{Guard, Position, TypeId, WELL_TYPED};
use crate::machine::core::{Core, Evaluator, Guarded, Test, Written};
use crate::machine::depth::DEPTH_MAX;
use crate::machine::types::HeadKind;
use crate::machine::words::EMPTY;
use crate::names;
use crate::operation::{Operation, lowering_of};
use space::{Atom, Variable};

/// Locals have numbers from here downwards.
const LOCALS: u64 = u64::MAX;

/// How many locals there are already, if these variables are known.
pub(in crate::machine) fn locals_among<'v>(variables: impl IntoIterator<Item = &'v Variable>) -> u64 {
    let locals = variables.into_iter().filter(|variable| *variable.name() == *names::asked());
    locals.filter_map(|local| LOCALS.checked_sub(local.id())).map(|number| number + 1).max().unwrap_or(0)
}

impl Lower<'_> {
    /// A new name for a value.
    pub(in crate::machine) fn local(&self) -> Variable {
        let number = self.locals.get();
        self.locals.set(number + 1);
        Variable::with_id(names::asked().clone(), LOCALS - number)
    }

    /// An expression that is evaluated without code of its own.
    pub(super) fn written(&self, atom: &Atom, type_id: TypeId) -> Core {
        let is_answer = self.answer.as_ref() == Some(atom);
        let by = if is_answer { Evaluator::MachineAsAnswer } else { Evaluator::Machine };
        Core::Written(Written { atom: atom.clone(), type_id, by })
    }

    /// What `make` lowers an expression to, if tests hold; else the expression as it is written.
    pub(super) fn guarded(&mut self, tests: Vec<Test>, whole: Whole<'_>, make: impl FnOnce(&mut Self) -> Core) -> Core {
        let mark = self.facts.scope.mark();
        self.facts.scope.learn_from(&tests);
        let fast = make(self);
        self.facts.scope.forget_facts_from(mark);
        let as_written = self.written(whole.atom, whole.type_id);
        Core::guarded(tests, fast, as_written)
    }

    /// An atom that is evaluated to a type.
    pub(in crate::machine) fn value(&mut self, atom: &Atom, type_id: TypeId, place: Place) -> Core {
        if type_id == self.facts.run.machine().types.atom_type {
            return self.quote(atom);
        }
        match atom {
            Atom::Variable(variable) => self.evaluated(variable, type_id, Position::Child),
            Atom::Expression(expression) if !expression.is_empty() => self.nested(atom, type_id, place),
            leaf => self.leaf(leaf, type_id),
        }
    }

    /// An expression. If it is a part of something else, the same variables are known behind it whatever path leads there.
    fn nested(&mut self, atom: &Atom, type_id: TypeId, place: Place) -> Core {
        if self.depth == DEPTH_MAX {
            self.is_too_large = true;
            return Core::Fail;
        }
        self.depth += 1;
        let node = if place == Place::Tail {
            self.expression(atom, type_id, place)
        } else {
            self.apart(atom, |lower| lower.expression(atom, type_id, place))
        };
        self.depth -= 1;
        node
    }

    /// What `make` lowers an atom to, its variables that occur elsewhere as well being made before.
    pub(super) fn apart(&mut self, atom: &Atom, make: impl FnOnce(&mut Self) -> Core) -> Core {
        let shared = self.facts.shared(atom);
        self.facts.scope.learn_each(&shared);
        let mark = self.facts.scope.mark();
        let node = make(self);
        self.facts.scope.forget_from(mark);
        Core::fresh(shared, node)
    }

    /// An atom as it stands.
    pub(in crate::machine) fn quote(&mut self, atom: &Atom) -> Core {
        let unknown = self.facts.unknown(atom);
        self.facts.scope.learn_each(&unknown);
        let node = match atom {
            Atom::Variable(variable) => Core::Variable(variable.clone()),
            // As an argument that is not evaluated `Empty` is an atom like any other.
            atom => match self.facts.run.machine_mut().values.constant_leaf(atom).filter(|&leaf| leaf != EMPTY) {
                Some(leaf) => Core::Leaf(leaf),
                None => Core::Quote(atom.clone()),
            },
        };
        Core::fresh(unknown, node)
    }

    /// What a variable stands for, evaluated.
    pub(super) fn evaluated(&mut self, variable: &Variable, type_id: TypeId, position: Position) -> Core {
        if !self.facts.scope.is_known(variable) {
            self.facts.scope.learn(variable, None);
            let node = Core::Evaluate { variable: variable.clone(), type_id, position };
            return Core::fresh(vec![variable.clone()], node);
        }
        match self.facts.is_normal(variable, type_id) {
            true => Core::Variable(variable.clone()),
            false => Core::Evaluate { variable: variable.clone(), type_id, position },
        }
    }

    fn leaf(&mut self, atom: &Atom, type_id: TypeId) -> Core {
        if atom.children().is_some() {
            return Core::Quote(atom.clone());
        }
        let leaf = self.facts.run.machine_mut().values.constant_leaf(atom).expect("it is a leaf");
        match leaf {
            EMPTY => Core::Fail,
            _ if self.facts.run.types().leaf_has_type(atom, leaf, type_id, false) => Core::Leaf(leaf),
            _ => self.written(atom, type_id),
        }
    }

    /// An argument of a typed function: what is an error as it stands is passed on.
    pub(in crate::machine) fn argument(&mut self, atom: &Atom, type_id: TypeId) -> Core {
        match atom {
            Atom::Variable(variable) => self.evaluated(variable, type_id, Position::Argument),
            Atom::Symbol(name) if name.as_str() == names::EMPTY => Core::Quote(atom.clone()),
            Atom::Expression(_) if names::is_error(atom) => self.quote(atom),
            _ => self.value(atom, type_id, Place::Inside),
        }
    }

    /// An expression that is not empty. The code that is made of it holds as long as types and special forms mean what they do now.
    pub(in crate::machine) fn expression(&mut self, atom: &Atom, type_id: TypeId, place: Place) -> Core {
        if names::is_error(atom) {
            return self.written(atom, type_id);
        }
        let node = if self.is_well_typed_from_here(atom, type_id) {
            self.facts.is_well_typed = true;
            let node = self.by_head(atom, 0, place);
            self.facts.is_well_typed = false;
            node
        } else {
            self.by_head(atom, type_id, place)
        };
        match (node, self.written(atom, type_id)) {
            (Core::Written(written), _) => Core::Written(written),
            (Core::Guarded(mut guarded), Core::Written(whole)) if is_as_written(&guarded, &whole) => {
                guarded.tests.insert(0, Test::Unchanged);
                Core::Guarded(guarded)
            }
            (node, whole) => Core::guarded(vec![Test::Unchanged], node, whole),
        }
    }

    fn by_head(&mut self, atom: &Atom, type_id: TypeId, place: Place) -> Core {
        let children = atom.children().expect("it is an expression");
        let arity = children.len() - 1;
        match &children[0] {
            // As a head it is no result, whatever follows.
            Atom::Symbol(name) if name.as_str() == names::EMPTY => match self.facts.run.types().head_kind(EMPTY, arity)
            {
                HeadKind::Untyped => Core::Fail,
                _ => self.written(atom, type_id),
            },
            head @ Atom::Grounded(_) if Operation::of(head).is_some() => self.operation(atom, type_id, place),
            Atom::Symbol(name) => match self.facts.run.special_form(name.as_str(), arity) {
                Some(form) => self.special(form, atom, type_id, place),
                None => self.named(atom, type_id, place),
            },
            Atom::Variable(_) if self.facts.is_well_typed => self.apply(Whole { atom, type_id }, WELL_TYPED),
            head => {
                let mut tests = Vec::new();
                let may_come_to_itself =
                    self.facts.run.machine().code.is_exact && !children.iter().all(|child| self.facts.is_same(child));
                if may_come_to_itself || !self.facts.head_is_open(head, Guard::Head(arity as u16), &mut tests) {
                    return self.written(atom, type_id);
                }
                self.guarded(tests, Whole { atom, type_id }, |lower| lower.apply(Whole { atom, type_id }, type_id))
            }
        }
    }

    /// Whether an expression without variables of its surroundings is well typed, and the one around it is not known to be.
    fn is_well_typed_from_here(&mut self, atom: &Atom, type_id: TypeId) -> bool {
        if self.facts.is_well_typed || !self.facts.run.machine().types.has_types || type_id == WELL_TYPED {
            return false;
        }
        let Some([head, arguments @ ..]) = atom.children() else { return false };
        let may_be = match head {
            Atom::Symbol(name) => match self.facts.run.special_form(name.as_str(), arguments.len()) {
                Some(form) => matches!(form, Form::If | Form::Let | Form::Case),
                None => {
                    let head = self.facts.run.machine_mut().values.constant_leaf(head).expect("it is a leaf");
                    let kind = self.facts.run.types().head_kind(head, arguments.len());
                    let has_parts = !matches!(kind, HeadKind::Raw { .. }) || arguments.is_empty();
                    has_parts && !matches!(kind, HeadKind::Untyped | HeadKind::Other)
                }
            },
            head => lowering_of(head) == Some(Lowering::LetAll),
        };
        may_be
            && !self.facts.mentions_known(atom)
            && self.facts.run.function_types().is_well_typed_expression(atom, type_id)
    }
}

/// Whether this is what there is if the tests of a node do not hold.
fn is_as_written(guarded: &Guarded, whole: &Written) -> bool {
    matches!(&*guarded.as_written, Core::Written(written)
        if written.atom == whole.atom && written.type_id == whole.type_id && written.by == whole.by)
}
