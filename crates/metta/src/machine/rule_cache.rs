//! What the machine found out about rules, kept until they change.

use super::code::{Callee, Slot};
use region::Ref;
use rustc_hash::{FxHashMap, FxHashSet};

/// Up to how many arguments it is asked whether a head has rules for exactly that number.
pub(super) const FEW: usize = 8;

/// Whether data has no rules if its head is no symbol, by the number of its arguments, as far as it was asked: as of a version.
#[derive(Default)]
pub(super) struct InertArities {
    pub(super) version: u32,
    pub(super) known: [Option<bool>; FEW + 1],
}

/// The heads that have rules for any number of arguments, as of a version.
#[derive(Default)]
pub(super) struct RuleHeads {
    pub(super) version: u32,
    pub(super) symbols: FxHashSet<Ref>,
    /// Whether something else than a symbol has.
    pub(super) others: bool,
}

/// Answers about rules that were asked for.
#[derive(Default)]
pub(super) struct RuleCache {
    /// Which heads have rules for which numbers of arguments.
    pub(super) ruled: FxHashMap<(Ref, Slot), bool>,
    /// Which functions have more rules than are compiled at once.
    pub(super) have_many_rules: FxHashMap<Callee, bool>,
    /// By the number of arguments of calls whose head is not a name: whether a rule reduces some of them.
    pub(super) compound_ruled: FxHashMap<Slot, bool>,
    /// Which functions are pure and call themselves at two places.
    pub(super) tree_recursions: FxHashMap<Callee, bool>,
    /// Which special forms mean what the library says.
    pub(super) special: FxHashMap<&'static str, bool>,
    /// The heads that have rules, and whether others than symbols have, as of a version.
    pub(super) rule_heads: RuleHeads,
    pub(super) inert_arities: InertArities,
}

impl RuleCache {
    /// Rules have changed; or types and special forms, too.
    pub(super) fn forget(&mut self, is_shape: bool) {
        self.ruled.clear();
        self.have_many_rules.clear();
        self.tree_recursions.clear();
        if is_shape {
            self.compound_ruled.clear();
            self.special.clear();
        }
    }
}
