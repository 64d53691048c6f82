//! Which passes the machine makes over the code of rules.

use std::fmt;
use std::str::FromStr;

/// A pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pass {
    /// A query in the template of a query becomes a part of it, if all they ask is known at once.
    FusedQueries,
    /// Tests of the answers of a query are made while answers are found.
    QueryFilters,
    /// Data around a call in last place is built before the call, which takes the place of the frame.
    DataAroundCalls,
    /// Tests are left out that are known to hold.
    KnownTests,
    /// Types are not looked at again where nothing was evaluated since.
    UnchangedTypes,
    /// A condition that compares small integers is decided at once.
    CompareSmall,
    /// Several tests that small integers pass are one.
    SkipSmall,
    /// A leaf that a form answers with is its value: nothing else is asked of it.
    LeafAnswers,
    /// Data with data inside is built at once.
    DataAtOnce,
}

impl Pass {
    /// All of them, in their order.
    pub const ALL: [Self; 9] = [
        Self::FusedQueries,
        Self::QueryFilters,
        Self::DataAroundCalls,
        Self::KnownTests,
        Self::UnchangedTypes,
        Self::CompareSmall,
        Self::SkipSmall,
        Self::LeafAnswers,
        Self::DataAtOnce,
    ];

    /// The name of the pass, as a command line states it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FusedQueries => "fused-queries",
            Self::QueryFilters => "query-filters",
            Self::DataAroundCalls => "data-around-calls",
            Self::KnownTests => "known-tests",
            Self::UnchangedTypes => "unchanged-types",
            Self::CompareSmall => "compare-small",
            Self::SkipSmall => "skip-small",
            Self::LeafAnswers => "leaf-answers",
            Self::DataAtOnce => "data-at-once",
        }
    }
}

/// Which passes are made, and how many changes they may make in all.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Passes {
    selected: u32,
    changes_max: u64,
}

impl Default for Passes {
    fn default() -> Self {
        Self { selected: Pass::ALL.iter().fold(0, |selected, pass| selected | pass.bit()), changes_max: u64::MAX }
    }
}

impl Pass {
    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

impl Passes {
    /// These passes without one.
    #[must_use]
    pub fn without(self, pass: Pass) -> Self {
        Self { selected: self.selected & !pass.bit(), ..self }
    }

    /// These passes, which make no more changes in all than this.
    #[must_use]
    pub fn up_to(self, changes_max: u64) -> Self {
        Self { changes_max, ..self }
    }

    /// Whether a pass is made.
    pub fn has(self, pass: Pass) -> bool {
        self.selected & pass.bit() != 0
    }

    /// Whether another change may be made after this number of changes.
    pub(crate) fn allow(self, changes: u64) -> bool {
        changes < self.changes_max
    }
}

impl fmt::Debug for Passes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(Pass::ALL.iter().filter(|pass| self.has(**pass)).map(|pass| pass.name())).finish()
    }
}

/// All passes but those that a text names, each as `-NAME`, with commas between them.
impl FromStr for Passes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut passes = Self::default();
        for part in text.split(',') {
            let named = part.strip_prefix('-').and_then(|name| Pass::ALL.into_iter().find(|pass| pass.name() == name));
            let Some(pass) = named else {
                let names: Vec<String> = Pass::ALL.iter().map(|pass| format!("-{}", pass.name())).collect();
                return Err(format!("`{part}` leaves out no pass; there are {}", names.join(", ")));
            };
            passes = passes.without(pass);
        }
        Ok(passes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_left_out_by_name() {
        let all = Passes::default();
        let text = format!("{all:?}");
        assert!(Pass::ALL.iter().all(|pass| all.has(*pass) && text.contains(pass.name())));
        for pass in Pass::ALL {
            let without: Passes = format!("-{}", pass.name()).parse().expect("the name is known");
            assert!(Pass::ALL.iter().all(|other| without.has(*other) == (*other != pass)));
        }
        let wrong = "known-tests".parse::<Passes>().expect_err("nothing is left out");
        assert!(wrong.starts_with("`known-tests` leaves out no pass; there are -fused-queries, "), "{wrong}");
    }

    #[test]
    fn changes_are_counted_up_to_a_limit() {
        assert!(Passes::default().allow(u64::MAX - 1));
        let few = Passes::default().up_to(2);
        assert_eq!([0, 1, 2, 3].map(|changes| few.allow(changes)), [true, true, false, false]);
    }
}
