//! Rules, made ready to be gone through: variables are slots, values of the program as well.

/// What a rule does, one step after the other; each goes through what it finds.
pub(super) enum RuleStep {
    /// Answers of a pattern.
    Rows {
        /// Which pattern.
        matched: usize,
        /// The slots of what is known.
        key: Vec<u32>,
        /// The slots of what is found.
        outputs: Vec<u32>,
    },
    /// Rows of the component.
    Known {
        /// Which index, and of which relation.
        index: usize,
        relation: usize,
        /// Whether rows are found meanwhile.
        is_recursive: bool,
        /// What is known and found.
        columns: Columns,
    },
    /// Rows of a goal of another component.
    Goal {
        /// Which predicate.
        predicate: usize,
        /// Which of its columns are known, a bit for each.
        bound: u64,
        /// What is known and found.
        columns: Columns,
    },
    /// There is nothing of the kind.
    Absent(Box<RuleStep>),
    /// A test of the caller.
    Test {
        /// Its number.
        test: usize,
        /// What it looks at.
        operands: Vec<u32>,
    },
}

/// What is known of rows and what is found.
pub(super) struct Columns {
    /// The slots of what is known.
    pub(super) key: Vec<u32>,
    /// The slots of what is found.
    pub(super) outputs: Vec<u32>,
    /// Slots that must be equal then.
    pub(super) equal: Vec<[u32; 2]>,
}

/// A rule.
pub(super) struct RulePlan {
    /// Which calls it is a rule of.
    pub(super) of: usize,
    /// The slots at the beginning: values of the program are there.
    pub(super) slots: Vec<u32>,
    /// Where the known values of a call go, in their order; `true` if that slot has a value, which must be the same.
    pub(super) entry: Vec<(u32, bool)>,
    pub(super) steps: Vec<RuleStep>,
    /// For each step the slots that it and those after it need, if others were found before it: then they are gone through once
    /// for the same values.
    pub(super) needed: Vec<Option<Vec<u32>>>,
    /// The last step through rows that are found meanwhile.
    pub(super) last_recursive: Option<usize>,
    /// Where its rows go, and their slots.
    pub(super) relation: usize,
    pub(super) head: Vec<u32>,
}

/// With more slots than this that are needed, it is not kept for which values the rest of a rule was gone through.
const NEEDED_MAX: usize = 2;

impl RuleStep {
    /// The slots that it looks at, and those that it fills.
    fn slots(&self) -> (Vec<u32>, &[u32]) {
        match self {
            Self::Rows { key, outputs, .. } => (key.clone(), outputs),
            Self::Known { columns, .. } | Self::Goal { columns, .. } => {
                let equal = columns.equal.iter().flatten().filter(|slot| !columns.outputs.contains(slot));
                (columns.key.iter().chain(equal).copied().collect(), &columns.outputs)
            }
            Self::Absent(step) => (step.slots().0, &[]),
            Self::Test { operands, .. } => (operands.clone(), &[]),
        }
    }
}

impl RulePlan {
    /// Finds out before which steps something that was found is not needed any more.
    pub(super) fn find_needed(&mut self) {
        self.last_recursive =
            self.steps.iter().rposition(|step| matches!(step, RuleStep::Known { is_recursive: true, .. }));
        let mut varying: Vec<u32> = self.entry.iter().map(|&(slot, _)| slot).collect();
        self.needed = self.steps.iter().map(|_| None).collect();
        for at in 1..self.steps.len() {
            varying.extend(self.steps[at - 1].slots().1);
            let is_between = self.last_recursive.is_none_or(|last| at > last);
            let goes_on = self.steps[at..].iter().any(|step| !step.slots().1.is_empty());
            if !is_between || !goes_on {
                continue;
            }
            let later = self.steps[at..].iter().flat_map(|step| step.slots().0);
            let mut needed: Vec<u32> = later.chain(self.head.iter().copied()).collect();
            needed.sort_unstable();
            needed.dedup();
            needed.retain(|slot| varying.contains(slot));
            let drops = varying.iter().any(|slot| !needed.contains(slot));
            self.needed[at] = (drops && needed.len() <= NEEDED_MAX).then_some(needed);
        }
    }
}
