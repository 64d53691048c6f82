//! Executing a plan over a view: patterns one after the other, each for all answers so far.

use super::pattern::{NO_TERM, PatternPart};
use super::plan::{Known, Plan, Step};
use super::project::Projection;
use crate::contents::Contents;
use crate::relation::{Path, Relation, RowSelection};
use crate::term::{Term, Terms};
use std::ops::Range;

/// Says whether the caller of a query has given up. It is called now and then.
pub type ShouldStop<'a> = &'a dyn Fn() -> bool;

/// So many partial answers are extended before it is called.
pub(super) const ANSWERS_BETWEEN_LOOKS: usize = 16;

/// What a query reads: a space and those that it imports, live and locked or as they were once, and their dictionary.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) spaces: &'a [&'a Contents],
    pub(crate) terms: &'a Terms,
}

/// Spaces with more imports are asked by unification: the spaces that may answer a pattern are bits of a word.
const SPACES_MAX: usize = 64;

/// Hands on what a space holds, which comes first, and what its imports hold; `None` if there are too many.
pub(crate) fn with_imports<'a, T>(
    own: &'a Contents,
    imports: impl ExactSizeIterator<Item = &'a Contents>,
    work: impl FnOnce(&[&'a Contents]) -> Option<T>,
) -> Option<T> {
    let (mut room, count) = ([own; SPACES_MAX], imports.len());
    room.iter_mut().skip(1).zip(imports).for_each(|(place, import)| *place = import);
    work(room.get(..=count)?)
}

/// The answers of a query, a term for each variable, and room for finding them.
#[derive(Debug, Default)]
pub struct Answers {
    found: Vec<Term>,
    next: Vec<Term>,
    /// The answer that is being extended.
    current: Vec<Term>,
    rows: Vec<u32>,
    keys: Vec<(Path, Term)>,
    row: Vec<Term>,
    width: usize,
    is_stopped: bool,
}

/// Some of the rows that are listed for the first pattern of a plan, in their order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// How many are left out at the beginning.
    skipped: usize,
    /// How many are taken then.
    taken: usize,
}

impl Window {
    /// Moves on by so many rows; gives which of them are within.
    fn pass(&mut self, rows: usize) -> Range<usize> {
        let skipped = self.skipped.min(rows);
        let taken = self.taken.min(rows - skipped);
        (self.skipped, self.taken) = (self.skipped - skipped, self.taken - taken);
        skipped..skipped + taken
    }
}

/// Room for more terms than this is given back.
const ROOM_TERMS_MAX: usize = 1 << 12;

impl Answers {
    /// The answers one after the other; [`NO_TERM`] stands for a variable without a value, and for an answer without variables.
    pub fn terms(&mut self) -> &mut Vec<Term> {
        &mut self.found
    }

    /// Whether the search was given up before all answers were found: those that there are mean nothing.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Puts other answers into their place.
    pub(super) fn replace(&mut self, found: Vec<Term>) {
        self.found = found;
    }

    /// An answer by its place.
    pub(super) fn get(&self, place: usize) -> &[Term] {
        &self.found[place * self.width..][..self.width]
    }

    /// Forgets answers that took much room.
    pub(super) fn shrink(&mut self) {
        for terms in [&mut self.found, &mut self.next] {
            terms.clear();
            terms.shrink_to(ROOM_TERMS_MAX);
        }
        self.rows.clear();
        self.rows.shrink_to(ROOM_TERMS_MAX);
    }
}

impl View<'_> {
    /// Whether an atom that is not a row may match one of the patterns of a plan; without `parameters` the
    /// answer holds whatever they are.
    pub(super) fn may_match_others(self, plan: &Plan, parameters: Option<&[Term]>) -> bool {
        let mut trees = self.spaces.iter().map(|contents| contents.patterns()).filter(|tree| !tree.is_empty());
        let mut room = Vec::new();
        trees.any(|tree| {
            plan.each_pattern().any(|parts| match parameters {
                Some(parameters) if parts.iter().any(|part| matches!(part, PatternPart::Parameter(_))) => {
                    room.clear();
                    room.extend(parts.iter().map(|&part| match part {
                        PatternPart::Parameter(parameter) => PatternPart::Key(parameters[parameter as usize]),
                        part => part,
                    }));
                    tree.may_match(&room, self.terms)
                }
                _ => tree.may_match(parts, self.terms),
            })
        })
    }

    /// Whether a space has rows that may answer one of the patterns of a plan, whatever its parameters are.
    pub(super) fn may_answer(self, plan: &Plan) -> bool {
        self.spaces.iter().any(|contents| {
            plan.steps.iter().any(|step| {
                let relation = contents.relation_of_length(step.length);
                step.may_answer(&plan.known, None, relation, self.terms)
            })
        })
    }

    /// Whether rows alone answer a plan, whose steps are made then.
    #[inline]
    pub(super) fn is_answered(self, plan: &mut Plan, parameters: &[Term]) -> bool {
        plan.make() && !self.may_match_others(plan, Some(parameters))
    }

    /// Finds the answers of a plan; `None` if they are not all rows.
    pub(super) fn execute(
        self,
        plan: &mut Plan,
        parameters: &[Term],
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> Option<usize> {
        self.is_answered(plan, parameters).then(|| self.find_rows(plan, parameters, answers, should_stop))
    }

    /// Finds the rows that answer a plan whose steps are made; gives how many answers there are.
    pub(super) fn find_rows(
        self,
        plan: &Plan,
        parameters: &[Term],
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> usize {
        if let ([step], [contents]) = (plan.steps.as_slice(), self.spaces)
            && step.taken > 0
        {
            return answers.take_only(step, plan, parameters, contents.relation_of_length(step.length), self.terms);
        }
        self.find_within(None, plan, parameters, answers, should_stop)
    }

    /// Finds those answers that begin with some of the rows that are listed for the first pattern: so many, from a place on. Gives how
    /// many answers there are, and whether rows may be left. Only what does not change meanwhile lists the same rows each time.
    pub(super) fn find_batch(
        self,
        [from, rows]: [usize; 2],
        plan: &Plan,
        parameters: &[Term],
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> (usize, bool) {
        let mut window = Window { skipped: from, taken: rows };
        let count = self.find_within(Some(&mut window), plan, parameters, answers, should_stop);
        (count, window.taken == 0)
    }

    fn find_within(
        self,
        mut window: Option<&mut Window>,
        plan: &Plan,
        parameters: &[Term],
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> usize {
        answers.begin(plan.variables());
        let mut count = 1;
        for step in &plan.steps {
            let (mut made, mut window) = (0, window.take());
            answers.next.clear();
            // A space without such rows is passed over, whatever was found so far. One answer and one space are as soon asked.
            let asked = match self.spaces {
                [_] if count == 1 => 1,
                spaces => {
                    let relations = spaces.iter().map(|contents| contents.relation_of_length(step.length)).enumerate();
                    let asked = relations
                        .filter(|(_, relation)| step.may_answer(&plan.known, Some(parameters), relation, self.terms));
                    asked.fold(0_u64, |asked, (place, _)| asked | 1 << place)
                }
            };
            for place in 0..count {
                if place % ANSWERS_BETWEEN_LOOKS == ANSWERS_BETWEEN_LOOKS - 1 && should_stop() {
                    answers.is_stopped = true;
                    answers.found.clear();
                    return 0;
                }
                answers.take_up(place);
                for (_, contents) in self.spaces.iter().enumerate().filter(|(place, _)| asked >> place & 1 == 1) {
                    let relation = contents.relation_of_length(step.length);
                    made += answers.extend((step, window.as_deref_mut()), plan, parameters, relation, self.terms);
                }
            }
            std::mem::swap(&mut answers.found, &mut answers.next);
            count = made;
        }
        if answers.width == 0 {
            answers.found.resize(count, NO_TERM);
        }
        count
    }
}

impl Answers {
    /// One answer, in which nothing is bound yet.
    pub(super) fn begin(&mut self, width: usize) {
        self.is_stopped = false;
        self.width = width;
        self.found.clear();
        self.found.resize(width, NO_TERM);
    }

    /// Takes the answers of the only pattern, each of whose columns is known or the place of a variable, from one relation.
    fn take_only(
        &mut self,
        step: &Step,
        plan: &Plan,
        parameters: &[Term],
        relation: &Relation,
        terms: &Terms,
    ) -> usize {
        let Self { found, current, rows, keys, is_stopped, width, .. } = self;
        (*is_stopped, *width) = (false, plan.variables());
        found.clear();
        current.clear();
        current.resize(*width, NO_TERM);
        keys.clear();
        for &(path, known) in &plan.known[step.known[0]..step.known[1]] {
            let key = known.key(parameters, current, terms);
            if key == NO_TERM {
                return 0;
            }
            keys.push((path, key));
        }
        let parts = &plan.patterns.parts[step.parts[0]..step.parts[1]];
        let projection = Projection { parts, count: step.taken, keys, current, terms };
        let mut made = 0;
        relation.walk(keys, terms, rows, &mut |selected| made += projection.take(&selected, found));
        made
    }

    /// Makes an answer that was found the current one.
    fn take_up(&mut self, place: usize) {
        self.current.clear();
        self.current.extend_from_slice(&self.found[place * self.width..][..self.width]);
    }

    /// Adds what the rows of a relation make of the current answer; gives how many answers that are.
    /// Of the rows that are listed only those within the window are looked at, if there is one.
    fn extend(
        &mut self,
        (step, mut window): (&Step, Option<&mut Window>),
        plan: &Plan,
        parameters: &[Term],
        relation: &Relation,
        terms: &Terms,
    ) -> usize {
        let Self { next, current, rows, keys, row, .. } = self;
        let parts = &plan.patterns.parts[step.parts[0]..step.parts[1]];
        let known = &plan.known[step.known[0]..step.known[1]];
        let key_of = |known: Known| known.key(parameters, current, terms);
        rows.clear();
        if step.is_known {
            row.clear();
            row.extend(known.iter().map(|&(_, known)| key_of(known)));
            if !row.contains(&NO_TERM) {
                relation.find_rows(row, terms, rows);
            }
            let within = window.map_or(0..rows.len(), |window| window.pass(rows.len()));
            let copies: usize = rows[within].iter().map(|&row| relation.row(row).1 as usize).sum();
            (0..copies).for_each(|_| next.extend_from_slice(current));
            return copies;
        }
        keys.clear();
        keys.extend(known.iter().map(|&(path, known)| (path, key_of(known))));
        if keys.iter().any(|&(_, key)| key == NO_TERM) {
            return 0;
        }
        let mut made = 0;
        let projection = Projection { parts, count: step.taken, keys, current, terms };
        relation.walk(keys, terms, rows, &mut |selected| {
            let selected = match &mut window {
                Some(window) => &selected.slice(window.pass(selected.len())),
                None => &selected,
            };
            made += if step.taken > 0 {
                projection.take(selected, next)
            } else {
                match_all(step, (parts, parameters), selected, current, next, terms)
            };
        });
        made
    }
}

/// Adds what rows make of an answer, each looked at as a whole; gives how many answers that are.
fn match_all(
    step: &Step,
    (parts, parameters): (&[PatternPart], &[Term]),
    selected: &RowSelection<'_>,
    current: &[Term],
    next: &mut Vec<Term>,
    terms: &Terms,
) -> usize {
    let mut made = 0;
    selected.each_row(|row, copies| {
        let start = next.len();
        next.extend_from_slice(current);
        if row.len() != step.length
            || !matches(step, parts, row, &mut Match { answer: &mut next[start..], parameters, terms })
        {
            return next.truncate(start);
        }
        made += copies as usize;
        (1..copies).for_each(|_| next.extend_from_within(start..start + current.len()));
    });
    made
}

/// An answer while a row is matched against a pattern.
struct Match<'a> {
    answer: &'a mut [Term],
    parameters: &'a [Term],
    terms: &'a Terms,
}

/// Whether a row matches a pattern; what its variables are is put into the answer.
#[inline]
fn matches(step: &Step, parts: &[PatternPart], row: &[Term], found: &mut Match<'_>) -> bool {
    if step.is_flat {
        return parts.iter().zip(row).all(|(&part, &term)| found.leaf(part, term));
    }
    found.compound(parts, row)
}

impl Match<'_> {
    #[inline(always)]
    fn leaf(&mut self, part: PatternPart, term: Term) -> bool {
        let terms = self.terms;
        let has_key = |key: Term| term == key || terms.key(term) == key;
        match part {
            PatternPart::Key(key) => has_key(key),
            PatternPart::Parameter(parameter) => has_key(self.parameters[parameter as usize]),
            PatternPart::Variable(variable) => {
                let known = &mut self.answer[variable as usize];
                if *known == NO_TERM {
                    *known = term;
                    return true;
                }
                *known == term || terms.key(*known) == terms.key(term)
            }
            PatternPart::Any => true,
            PatternPart::Open(_) => false,
        }
    }

    fn compound(&mut self, parts: &[PatternPart], row: &[Term]) -> bool {
        let mut open = vec![row.iter()];
        for &part in parts {
            let term = loop {
                let siblings = open.last_mut().expect("a pattern has as many parts as it opens");
                match siblings.next() {
                    Some(&term) => break term,
                    None => drop(open.pop()),
                }
            };
            match part {
                PatternPart::Open(length) => match self.terms.children(term) {
                    Some(children) if children.len() == length as usize => open.push(children.iter()),
                    _ => return false,
                },
                part if !self.leaf(part, term) => return false,
                _ => {}
            }
        }
        true
    }
}
