//! What the machine knows of types, kept until they change: see `types.rs`.

use super::code::{Code, Slot, TypeId};
use super::kept_types::TypedData;
use super::lists::{InertArities, RuleHeads};
use super::notes::Notes;
use super::purity::Callee;
use super::schemes::Schemes;
use super::type_flow::TypeFlow;
use super::types::HeadKind;
use super::well_typed::WellTyped;
use crate::names;
use region::Ref;
use rustc_hash::FxHashMap;
use space::Atom;

/// Answers about types and rules that were asked for.
pub(super) struct TypeCache {
    pub(super) heads: FxHashMap<(Ref, usize), HeadKind>,
    /// Which heads have rules for which numbers of arguments, as far as it was asked since rules last changed.
    pub(super) ruled: FxHashMap<(Ref, Slot), bool>,
    /// Which functions have more rules than are compiled at once, as far as it was asked since rules last changed.
    pub(super) have_many_rules: FxHashMap<Callee, bool>,
    /// By the number of arguments of calls whose head is not a name: whether a rule reduces some of them.
    pub(super) compound_ruled: FxHashMap<Slot, bool>,
    /// Which types agree, inside a type or at its top; the only types of symbols.
    pub(super) agreeing: FxHashMap<(TypeId, TypeId, bool), bool>,
    pub(super) only_types: FxHashMap<Ref, Option<TypeId>>,
    /// Whether types are declared for whole expressions, and for those of which heads and numbers of arguments.
    pub(super) has_whole_types: bool,
    pub(super) whole_types: FxHashMap<(Ref, usize), bool>,
    /// Whether the program declares types, or something else that may say how calls are evaluated.
    pub(super) has_types: bool,
    pub(super) typed: FxHashMap<(Ref, TypeId, bool), bool>,
    pub(super) schemes: Schemes,
    pub(super) well_typed: WellTyped,
    /// Which functions are pure and call themselves at two places.
    pub(super) tree_recursions: FxHashMap<Callee, bool>,
    /// Whether evaluations say a type that their declaration leaves open.
    pub(super) flows: FxHashMap<Callee, TypeFlow>,
    /// Which special forms mean what the library says.
    pub(super) special: FxHashMap<&'static str, bool>,
    pub(super) number_type: TypeId,
    pub(super) bool_type: TypeId,
    pub(super) atom_type: TypeId,
    pub(super) expression_type: TypeId,
    /// The heads that have rules, and whether others than symbols have, as of a version.
    pub(super) rule_heads: RuleHeads,
    pub(super) inert_arities: InertArities,
    /// What expressions in normal form are noted with.
    pub(super) notes: Notes,
    /// The notes of data that got its last child, by the types of all children and the head.
    pub(super) closed: TypedData,
}

impl TypeCache {
    /// Nothing is known but the types that code itself names.
    pub(super) fn new(code: &mut Code) -> Self {
        let mut type_id = |name: &str| code.type_id(&Atom::symbol(name)).expect("the first types fit");
        Self {
            number_type: type_id(names::NUMBER),
            bool_type: type_id(names::BOOL),
            atom_type: type_id(names::ATOM),
            expression_type: type_id(names::EXPRESSION),
            heads: FxHashMap::default(),
            ruled: FxHashMap::default(),
            have_many_rules: FxHashMap::default(),
            compound_ruled: FxHashMap::default(),
            agreeing: FxHashMap::default(),
            only_types: FxHashMap::default(),
            has_whole_types: false,
            whole_types: FxHashMap::default(),
            has_types: false,
            typed: FxHashMap::default(),
            schemes: Schemes::default(),
            well_typed: WellTyped::default(),
            tree_recursions: FxHashMap::default(),
            flows: FxHashMap::default(),
            special: FxHashMap::default(),
            rule_heads: RuleHeads::default(),
            inert_arities: InertArities::default(),
            notes: Notes::default(),
            closed: TypedData::new(None, None),
        }
    }
}
