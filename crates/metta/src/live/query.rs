//! A live query: what each commit changes in its answers.
//!
//! 1. If rows answer it, what changed is found from the rows that changed ([`space::DeltaQuery`]), and no answer is held.
//! 2. If an atom that is not a row may match, or the spaces that are asked change, it is asked again, and compared with the answers
//!    before: this is counted. As soon as rows answer it again, they do.
//! 3. What is made of the answers is kept by [key](super::groups).

use super::change::{AnswerChange, SignedTuple, filled_with, identity, paired};
use super::definition::{DefinitionShape, LiveDefinition, patterns_of};
use super::error::LiveError;
use super::groups::Groups;
use super::held::Held;
use super::rules::LiveRules;
use super::source::LiveSource;
use crate::names;
use space::{
    AnswersAt, Atom, Rewrite, SharedSpace, SignedAnswers, SignedRows, Snapshot, Solution, Terms, Variable,
    VariableSource, rewrite, variables,
};

/// What a live query has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveStatistics {
    /// How many commits were looked at because they may have changed its answers.
    pub commits: u64,
    /// For how many of them it was asked again.
    pub recomputed: u64,
    /// How many rows were looked at for the others.
    pub rows: u64,
    /// How many changes of its answers it has said.
    pub changes: u64,
}

impl statistics::Statistics for LiveStatistics {
    fn what(&self) -> &'static str {
        "live query"
    }

    fn entries(&self, to: &mut statistics::Entries) {
        to.count("commits", "Commits that may have changed its answers.", self.commits);
        to.count("recomputed", "Those of them for which it was asked again.", self.recomputed);
        to.count("rows", "Rows that were looked at for the others.", self.rows);
        to.count("changes", "Changes of its answers.", self.changes);
    }
}

/// A query whose answers are kept up to date.
pub struct LiveQuery {
    shape: DefinitionShape,
    space: SharedSpace,
    /// The spaces that its answers are from: the space and those that it imports.
    spaces: Vec<SharedSpace>,
    /// Which of the values that are asked for make the key.
    key: Vec<usize>,
    /// Whether its answers are those of a call that is followed.
    is_of_rules: bool,
    /// The answers, if rows do not answer it.
    held: Option<Held>,
    groups: Option<Groups>,
    statistics: LiveStatistics,
}

impl LiveQuery {
    /// One of a space, which knows its answers as they are now; `variables` is how many variables were numbered.
    ///
    /// # Errors
    /// It asks for something that cannot be kept up to date.
    pub fn new(definition: &LiveDefinition, space: &SharedSpace, variables: u64) -> Result<Self, LiveError> {
        let spaces = looked_at(space);
        let mut query = Self::of_shape(DefinitionShape::of(definition, space)?, definition, (space, spaces));
        let found = query.find(AnswersAt::Now, &mut SignedRows::default());
        if found.is_none() {
            query.held = Some(Held::of(query.asked_again(variables)));
        }
        query.begin_groups(found);
        Ok(query)
    }

    /// Sees to it that one of a space can be kept up to date.
    ///
    /// # Errors
    /// It cannot.
    pub(super) fn check(definition: &LiveDefinition, space: &SharedSpace) -> Result<(), LiveError> {
        DefinitionShape::of(definition, space).map(drop)
    }

    /// Its answers as they were before these rows changed, which no commit has yet.
    pub fn known_before(&mut self, rows: &mut SignedRows) -> Vec<AnswerChange> {
        if !self.is_by_rows() {
            return self.known();
        }
        let found = self.find(AnswersAt::Before, rows).unwrap_or_default();
        let DefinitionShape { body, wanted, .. } = &self.shape;
        found
            .into_iter()
            .map(|(values, count)| AnswerChange::signed(filled_with(body, wanted, values), count))
            .collect()
    }

    /// One of the answers of a call that is followed, as they are now.
    ///
    /// # Errors
    /// It asks for something that cannot be kept up to date.
    pub fn of_rules(definition: &LiveDefinition, rules: &LiveRules) -> Result<Self, LiveError> {
        if let Some(reason) = rules.stopped() {
            return Err(LiveError::Rules { call: names::brief(&definition.pattern), reason });
        }
        let (definition, derived) = (LiveRules::definition(definition), rules.derived());
        let mut query =
            Self::of_shape(DefinitionShape::of(&definition, derived)?, &definition, (derived, vec![derived.clone()]));
        query.is_of_rules = true;
        let found = query.in_order();
        query.begin_groups(Some(found));
        Ok(query)
    }

    fn of_shape(
        shape: DefinitionShape,
        definition: &LiveDefinition,
        (space, spaces): (&SharedSpace, Vec<SharedSpace>),
    ) -> Self {
        let key = definition.key.iter().filter_map(|name| shape.wanted.iter().position(|known| known == name));
        let key = key.collect();
        let groups = definition.aggregate.as_ref().map(|aggregate| Groups::new(aggregate, &shape.body, &shape.wanted));
        let (space, statistics) = (space.clone(), LiveStatistics::default());
        Self { shape, space, spaces, key, is_of_rules: false, held: None, groups, statistics }
    }

    fn begin_groups(&mut self, found: Option<Vec<SignedTuple>>) {
        if let Some(groups) = &mut self.groups {
            let answers = found.or_else(|| self.held.as_ref().map(|held| held.answers().to_vec()));
            groups.take(answers.unwrap_or_default());
        }
    }

    /// Whether its answers are found by rows of a snapshot: then [`LiveQuery::answers_in`] gives them.
    pub fn is_by_rows(&self) -> bool {
        self.held.is_none() && self.groups.is_none() && !self.is_of_rules
    }

    /// What it knows of its answers now; nothing if they are found by rows of a snapshot.
    pub fn known(&mut self) -> Vec<AnswerChange> {
        match (&self.groups, &self.held) {
            (Some(groups), _) => groups.all(),
            (None, Some(held)) => self.changes(held.answers().to_vec()),
            (None, None) if self.is_of_rules => {
                let found = self.in_order();
                self.changes(found)
            }
            (None, None) => Vec::new(),
        }
    }

    /// Its answers now, if they are those of a call, in an order that does not depend on how they were found.
    fn in_order(&mut self) -> Vec<SignedTuple> {
        let mut found = self.find(AnswersAt::Now, &mut SignedRows::default()).unwrap_or_default();
        found.sort_by_cached_key(|(values, _)| identity(values));
        found
    }

    /// What a commit changes in the answers, after the call that they are of took it.
    pub fn take_rules(&mut self, rules: &mut LiveRules) -> Vec<AnswerChange> {
        self.take(rules.changed(), 0)
    }

    /// All answers in a snapshot of its space, as the query of a definition finds them; `None` if rows do not answer it there.
    ///
    /// # Errors
    /// It asks for something that cannot be kept up to date.
    pub fn answers_in(
        definition: &LiveDefinition,
        space: &SharedSpace,
        snapshot: &Snapshot,
    ) -> Result<Option<Vec<AnswerChange>>, LiveError> {
        let mut shape = DefinitionShape::of(definition, space)?;
        let mut answers = SignedAnswers::default();
        let found = shape.query.as_mut().and_then(|query| query.find_all(snapshot, &mut answers));
        let made = |(values, count): (Vec<Atom>, i64)| {
            AnswerChange::signed(filled_with(&shape.body, &shape.wanted, values), count)
        };
        Ok(found.map(|_| tuples(&answers, snapshot.terms()).into_iter().map(made).collect()))
    }

    /// What its answers depend on now. It is another thing once it has been asked again, or need not be any more.
    pub fn sources(&self) -> Vec<LiveSource> {
        match self.shape.query.as_ref().filter(|_| self.held.is_none()) {
            Some(query) => LiveSource::of(query.heads(), &self.spaces),
            None => vec![LiveSource::Anything],
        }
    }

    /// Whether it is asked again after each commit.
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Whether its answers are from these spaces.
    fn has_spaces(&self, spaces: &[SharedSpace]) -> bool {
        spaces.len() == self.spaces.len() && spaces.iter().zip(&self.spaces).all(|(now, before)| now.is_same(before))
    }

    /// What it has done.
    pub fn statistics(&self) -> LiveStatistics {
        self.statistics
    }

    /// What the rows that a commit changed, and whatever else it changed, change in the answers; `variables` is how many variables were
    /// numbered. To be called after each commit that changes a source of the query.
    pub fn take(&mut self, rows: &mut SignedRows, variables: u64) -> Vec<AnswerChange> {
        self.statistics.commits += 1;
        let spaces = looked_at(&self.space);
        let changed =
            if self.held.is_none() && self.has_spaces(&spaces) { self.find(AnswersAt::Difference, rows) } else { None };
        let changed = changed.unwrap_or_else(|| self.compare(spaces, rows, variables));
        let changes = match &mut self.groups {
            Some(groups) => groups.take(changed),
            None => self.changes(changed),
        };
        self.statistics.changes += changes.len() as u64;
        changes
    }

    /// Asks again, and compares with what there was.
    fn compare(&mut self, spaces: Vec<SharedSpace>, rows: &mut SignedRows, variables: u64) -> Vec<SignedTuple> {
        self.statistics.recomputed += 1;
        let before = match self.held.take() {
            Some(held) => held,
            None => Held::of(self.find(AnswersAt::Before, rows).unwrap_or_default()),
        };
        self.spaces = spaces;
        let by_rows = self.find(AnswersAt::Now, rows);
        let is_by_rows = by_rows.is_some();
        let now = Held::of(by_rows.unwrap_or_else(|| self.asked_again(variables)));
        let changed = now.since(&before);
        self.held = (!is_by_rows).then_some(now);
        changed
    }

    /// What rows say; `None` if they do not answer.
    fn find(&mut self, asked: AnswersAt, rows: &mut SignedRows) -> Option<Vec<SignedTuple>> {
        let mut answers = SignedAnswers::default();
        let looked_at = self.shape.query.as_mut()?.find(asked, &self.spaces, rows, &mut answers)?;
        self.statistics.rows += looked_at;
        let dictionary = self.space.dictionary();
        let terms = dictionary.read().expect("no panic while terms are locked");
        Some(tuples(&answers, &terms))
    }

    /// The answers, by a query of atoms.
    fn asked_again(&self, numbered: u64) -> Vec<SignedTuple> {
        let mut source = VariableSource::default();
        source.advance_to(numbered);
        let DefinitionShape { pattern, absences, tests, wanted, .. } = &self.shape;
        let bound = variables(pattern);
        let mut found = Vec::new();
        for solution in self.space.query(pattern, &mut source) {
            let value = |name: &Variable| value_of(&solution, name);
            let all: Vec<Atom> = bound.iter().map(value).collect();
            let mut holds = |(patterns, is_absence): &(Atom, bool)| {
                let patterns = patterns_of(patterns).iter().map(|pattern| put_in(pattern, &solution));
                let asked: Vec<Atom> = std::iter::once(Atom::symbol(",")).chain(patterns).collect();
                self.space.query(&Atom::expression(asked), &mut source).is_empty() == *is_absence
            };
            if tests.pass(&all) && absences.iter().all(&mut holds) {
                found.push((wanted.iter().map(value).collect(), 1));
            }
        }
        found
    }

    fn changes(&self, changed: Vec<SignedTuple>) -> Vec<AnswerChange> {
        let DefinitionShape { body, wanted, .. } = &self.shape;
        paired(changed, &self.key, |values| filled_with(body, wanted, values))
    }
}

/// What a solution binds a variable to; itself if it binds it to nothing.
fn value_of(solution: &Solution, name: &Variable) -> Atom {
    let bound = solution.iter().find(|(bound, _)| bound == name);
    bound.map_or_else(|| Atom::Variable(name.clone()), |(_, value)| value.clone())
}

fn put_in(pattern: &Atom, solution: &Solution) -> Atom {
    let is_bound = |name: &Variable| solution.iter().any(|(bound, _)| bound == name);
    let put = rewrite(
        pattern,
        |name| {
            if is_bound(name) { Rewrite::Replace(value_of(solution, name)) } else { Rewrite::Keep }
        },
    );
    put.unwrap_or_else(|| pattern.clone())
}

/// A space and those that it imports.
fn looked_at(space: &SharedSpace) -> Vec<SharedSpace> {
    std::iter::once(space.clone()).chain(space.imports()).collect()
}

fn tuples(answers: &SignedAnswers, terms: &Terms) -> Vec<SignedTuple> {
    let atoms = |answer: &[space::Term]| answer.iter().map(|&term| terms.atom(term).clone()).collect();
    answers.each().map(|(answer, count)| (atoms(answer), count)).collect()
}
