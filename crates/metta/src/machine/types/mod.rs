//! Types, as the machine asks about them: those of [`crate::types`], with what was found out before.
//!
//! 1. [`Types`] is the state: the types that code names, each by a number, and answers, which are kept until a type, a subtype or a rule
//!    changes ([`Types::forget`]). It answers what follows from the state alone: what a note tells, and whether types agree.
//! 2. [`TypeChecker`] is the state with the values, the space in which types are declared, and the numbers of variables. It answers what is
//!    asked of an atom or a value.
//! 3. [`FunctionTypes`] answers what the rules of functions decide. It asks for them by the trait [`Rules`].
//!
//! Nothing is evaluated here, and no code is made. What does that stays with the machine, which has these three from `Running::types` and
//! `Running::function_types`.
//!
//! | question | answer |
//! |---|---|
//! | how is a call of a head evaluated? | `head_kind`, `makes_a_tuple`, `declared_result` (`heads`); `is_typed_call` (`certain`) |
//! | which type of its head applies to a call? | `applicable` (`applicable`) |
//! | what has no type? | `is_open`, `makes_open`, `lacks`, `may_have_whole_type` (`untyped`) |
//! | is a value, or an atom, of a type? | `has_type`, `leaf_has_type`, `have_one_type` (`agreement`); `has_no_type_error`, `is_normal_to` (`certain`) |
//! | do two types agree? | `agrees_statically`, `agrees_deeply` (`agreement`) |
//! | what is the only type of an atom? of a value? | `only_type` (`agreement`); `scheme_of` (`value_schemes`, `schemes`) |
//! | what is noted of a value? | `own_result`, `is_told` (`told`); `note_made`, `note_of_made`, `note_closed` (`certain`, `data`) |
//! | what does a constructor change in the type of an argument? | `changed_parameters` (`indexed`) |
//! | what are the types of a call whose function has variables in its type? | `instance_of_call`, `result_of_values` (`calls`) |
//! | does an evaluation say of which type it is? | `type_flow` (`flow`) |
//! | is a function well typed, and what may enter it? | `is_well_typed`, `admits`, `is_callable` (`well_typed`, by `inference`) |

mod agreement;
mod applicable;
mod arrows;
mod calls;
mod certain;
mod data;
mod effects_named;
mod flow;
mod heads;
mod indexed;
mod inference;
mod instances;
pub(super) mod kept_types;
mod rules;
pub(super) mod said;
mod schemes;
mod signatures;
#[cfg(test)]
mod tests;
mod told;
mod type_graph;
mod type_ids;
pub(super) mod type_table;
mod untyped;
mod value_schemes;
mod well_typed;

pub(super) use calls::KnownTypes;
pub(super) use indexed::Changed;
pub(super) use rules::{FunctionTypes, Rule, Rules};
pub(super) use signatures::{Formal, HeadKind, Signature, untyped};
pub(super) use untyped::Lack;

use super::code::{Callee, TypeId};
use super::notes::Notes;
use super::values::Values;
use crate::names;
use flow::TypeFlow;
use kept_types::TypedData;
use region::Ref;
use rustc_hash::FxHashMap;
use schemes::Schemes;
use space::{Atom, SharedSpace, VariableSource};
use type_ids::TypeIds;
use untyped::Lacking;
use well_typed::WellTyped;

/// With more types than this, all are forgotten between two forms.
const TYPES_MAX: usize = 1 << 18;

/// The types that code names, and answers about types that were asked for.
pub(super) struct Types {
    /// The types that code names: they stay.
    pub(super) ids: TypeIds,
    heads: FxHashMap<(Ref, usize), HeadKind>,
    /// Which types agree, inside a type or at its top; the only types of symbols.
    agreeing: FxHashMap<(TypeId, TypeId, bool), bool>,
    only_types: FxHashMap<Ref, Option<TypeId>>,
    /// Whether types are declared for whole expressions, and for those of which heads and numbers of arguments.
    pub(super) has_whole_types: bool,
    whole_types: FxHashMap<(Ref, usize), bool>,
    /// Whether the program declares types, or something else that may say how calls are evaluated.
    pub(super) has_types: bool,
    typed: FxHashMap<(Ref, TypeId, bool), bool>,
    lacking: Lacking,
    schemes: Schemes,
    well_typed: WellTyped,
    /// Whether evaluations say a type that their declaration leaves open.
    flows: FxHashMap<Callee, TypeFlow>,
    /// Whether functions name native functions with effects.
    naming_effects: FxHashMap<Callee, bool>,
    pub(super) number_type: TypeId,
    pub(super) bool_type: TypeId,
    pub(super) atom_type: TypeId,
    pub(super) expression_type: TypeId,
    /// What expressions in normal form are noted with.
    pub(super) notes: Notes,
    /// The notes of data that got its last child, by the types of all children and the head.
    closed: TypedData,
}

impl Default for Types {
    /// Nothing is known but the types that code itself names.
    fn default() -> Self {
        let mut ids = TypeIds::default();
        let mut type_id = |name: &str| ids.id(&Atom::symbol(name)).expect("the first types fit");
        Self {
            number_type: type_id(names::NUMBER),
            bool_type: type_id(names::BOOL),
            atom_type: type_id(names::ATOM),
            expression_type: type_id(names::EXPRESSION),
            ids,
            heads: FxHashMap::default(),
            agreeing: FxHashMap::default(),
            only_types: FxHashMap::default(),
            has_whole_types: false,
            whole_types: FxHashMap::default(),
            has_types: false,
            typed: FxHashMap::default(),
            lacking: Lacking::default(),
            schemes: Schemes::default(),
            well_typed: WellTyped::default(),
            flows: FxHashMap::default(),
            naming_effects: FxHashMap::default(),
            notes: Notes::default(),
            closed: TypedData::new(None, None),
        }
    }
}

impl Types {
    /// Whether there are too many types to keep.
    pub(super) fn are_many(&self) -> bool {
        self.schemes.table.len() > TYPES_MAX
    }

    /// Rules have changed; or types, too. The code of a frame that was entered long before keeps notes as well. Says whether the numbers of
    /// notes begin again, so that those of all expressions are to be taken off.
    pub(super) fn forget<'a>(&'a mut self, is_shape: bool, kept: impl Iterator<Item = &'a mut TypedData>) -> bool {
        self.schemes.noted.clear();
        self.well_typed.clear();
        self.flows.clear();
        self.naming_effects.clear();
        let begins_again = kept_types::next_range(&mut self.notes, kept.chain([&mut self.closed]));
        if is_shape {
            self.heads.clear();
            self.typed.clear();
            self.lacking.clear();
            self.schemes.clear();
            self.only_types.clear();
            self.whole_types.clear();
        }
        begins_again
    }
}

/// The types at hand for questions about atoms and values.
pub(super) struct TypeChecker<'a> {
    types: &'a mut Types,
    values: &'a mut Values,
    /// Where types are declared.
    space: &'a SharedSpace,
    variables: &'a mut VariableSource,
}

impl<'a> TypeChecker<'a> {
    #[inline]
    pub(super) fn new(
        types: &'a mut Types,
        values: &'a mut Values,
        space: &'a SharedSpace,
        variables: &'a mut VariableSource,
    ) -> Self {
        Self { types, values, space, variables }
    }
}
