//! Queries whose answers are rows of terms, and rows that come and go without an atom being built.
//!
//! 1. A pattern is its parts in the order in which it is written: the opening of an expression, the match key of what must
//!    be there, or a variable.
//! 2. If an atom that is no row may match, in the space or in one it imports, the query is not answered here.
//! 3. The patterns of a conjunction are answered one after the other, each for all that was found before: this is the order
//!    in which [`SharedSpace::query`] answers.
//! 4. For each, the shortest index among the paths whose keys are known is walked, as in [`Relation`].
//!
//! All spaces and the dictionary are locked to the end. If one cannot be locked at once the query is not answered here.

use crate::atom::{Atom, Variable};
use crate::bindings::Solution;
use crate::contents::{COLUMNS_INDEXED_MAX, Contents};
use crate::relation::{Path, Relation, RowSelection};
use crate::shared_space::{SharedSpace, conjunction};
use crate::space::Space;
use crate::take::Projection;
use crate::term::{Term, Terms};
use std::cell::Cell;
use std::sync::{Arc, RwLockReadGuard};

/// A part of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowPart {
    /// An expression of so many parts begins.
    Open(u32),
    /// What has this match key.
    Key(Term),
    /// A variable, by its number.
    Variable(u32),
}

/// A match key that nothing has: that of an atom which was never interned.
pub const NO_TERM: Term = Term::new(u32::MAX);

/// Queries of a space with more imports are not answered here.
const SPACES_MAX: usize = 64;

/// A query for rows, and room for answering it.
#[derive(Debug, Default)]
pub struct RowQuery {
    parts: Vec<RowPart>,
    /// Where each pattern ends in `parts`.
    ends: Vec<usize>,
    variables: usize,
    plans: Vec<Plan>,
    /// What is known of the patterns, one after the other.
    known: Vec<(Path, KnownKey)>,
    bound: Vec<bool>,
    answers: Answers,
    is_given_up: bool,
}

/// Whether who asks a space gives up. It is asked now and then.
pub type ShouldStop<'a> = &'a dyn Fn() -> bool;

/// So many partial answers are gone on with until it is asked.
const ANSWERS_BETWEEN_LOOKS: usize = 16;

impl RowQuery {
    /// Takes everything out.
    pub fn clear(&mut self) {
        self.parts.clear();
        self.ends.clear();
        self.variables = 0;
    }

    /// Adds a part to the pattern at hand.
    pub fn push(&mut self, part: RowPart) {
        if let RowPart::Variable(variable) = part {
            self.variables = self.variables.max(variable as usize + 1);
        }
        self.parts.push(part);
    }

    /// Ends a pattern.
    pub fn end_pattern(&mut self) {
        self.ends.push(self.parts.len());
    }

    /// The key that stands first in the first pattern, if that begins with one.
    pub fn head(&self) -> Option<Term> {
        match self.parts.as_slice() {
            [RowPart::Open(_), RowPart::Key(head), ..] => Some(*head),
            _ => None,
        }
    }

    /// The answers that were found: a term for each variable, or [`NO_TERM`] where there is none.
    pub fn answers(&mut self) -> &mut Vec<Term> {
        &mut self.answers.found
    }

    /// Whether it was given up before all answers were found: those that there are mean nothing.
    pub fn is_given_up(&self) -> bool {
        self.is_given_up
    }

    /// How many variables it has.
    pub(crate) fn variables(&self) -> usize {
        self.variables
    }

    /// Looks at what is known in each pattern; says whether all can be rows.
    fn plan(&mut self) -> bool {
        let Self { parts, ends, variables, plans, known, bound, .. } = self;
        plans.clear();
        known.clear();
        bound.clear();
        bound.resize(*variables, false);
        let mut start = 0;
        for &end in ends.iter() {
            let Some(mut plan) = Plan::new(start, end, parts, bound, known) else { return false };
            plan.bind(&parts[start + 1..end], bound);
            plans.push(plan);
            start = end;
        }
        !plans.is_empty()
    }
}

impl RowQuery {
    /// Whether something else than rows may match one of its patterns, which are planned.
    fn is_open<S>(&self, spaces: &[S], contents: impl Fn(&S) -> &Contents, terms: &Terms) -> bool {
        let is_open = |space: &S| {
            let mut patterns = self.plans.iter().map(|plan| &self.parts[plan.parts[0] - 1..plan.parts[1]]);
            patterns.any(|parts| contents(space).patterns().may_match(parts, terms))
        };
        spaces.iter().any(is_open)
    }
}

/// A key that is known at a path of a pattern's rows.
#[derive(Clone, Copy, Debug)]
enum KnownKey {
    Key(Term),
    /// That of what an earlier pattern has bound.
    Variable(u32),
}

/// A pattern, made ready.
#[derive(Clone, Copy, Debug)]
struct Plan {
    length: usize,
    /// Where it is in the parts, without what opens it, and what is known of it.
    parts: [usize; 2],
    known: [usize; 2],
    /// Whether its columns are keys and variables only.
    is_flat: bool,
    /// Whether all of its columns are known, so that it has one row, if any.
    is_known: bool,
    /// How many variables it binds, if each column is known or the place of one of them, so that rows with what is
    /// known match.
    taken: usize,
}

impl Plan {
    /// `bound` says which variables earlier patterns bind; those of this pattern are added. `None` for what is no row.
    fn new(
        start: usize,
        end: usize,
        parts: &[RowPart],
        bound: &mut [bool],
        known: &mut Vec<(Path, KnownKey)>,
    ) -> Option<Self> {
        let [RowPart::Open(length), columns @ ..] = &parts[start..end] else { return None };
        let length = *length as usize;
        let from = known.len();
        let is_flat = columns.len() == length;
        // Of a long row some columns are known that no index goes by.
        let is_long_known =
            length > COLUMNS_INDEXED_MAX && columns.iter().all(|&part| known_part(part, bound).is_some());
        let mut at = 0;
        for column in 0..length {
            let (part, is_indexed) = (columns[at], column < COLUMNS_INDEXED_MAX || is_long_known);
            match part {
                RowPart::Open(inner) if is_indexed => {
                    known_inside(column as u32, &columns[at + 1..], inner, bound, known);
                }
                part if is_indexed && let Some(key) = known_part(part, bound) => {
                    known.push(((column as u32, None), key))
                }
                _ => {}
            }
            at += if let RowPart::Open(_) = part { extent(&columns[at..]) } else { 1 };
        }
        // The head of an expression is its least selective column: it is asked last.
        let own = &mut known[from..];
        let is_known = is_flat && length > 0 && own.len() == length;
        if !is_known && own.first().is_some_and(|&(path, _)| path == (0, None)) {
            own.rotate_left(1);
        }
        Some(Self { length, parts: [start + 1, end], known: [from, known.len()], is_flat, is_known, taken: 0 })
    }

    /// Binds its variables.
    fn bind(&mut self, columns: &[RowPart], bound: &mut [bool]) {
        let mut new = 0;
        for part in columns {
            if let RowPart::Variable(variable) = part {
                let is_bound = &mut bound[*variable as usize];
                new += usize::from(!*is_bound);
                *is_bound = true;
            }
        }
        let is_each = self.is_flat && self.known[1] - self.known[0] + new == self.length;
        self.taken = if is_each && self.length <= COLUMNS_INDEXED_MAX { new } else { 0 };
    }

    /// Whether a relation may have a row for it, going by the keys that the pattern itself has.
    fn may_answer(&self, known: &[(Path, KnownKey)], relation: &Relation, terms: &Terms) -> bool {
        let has = |&(path, known): &(Path, KnownKey)| match known {
            KnownKey::Key(key) => key != NO_TERM && relation.has(path, key, terms),
            KnownKey::Variable(_) => true,
        };
        // The last is the head, which most often rules a relation out. A row that is known whole is found without an index.
        !relation.is_empty() && (self.is_known || known[self.known[0]..self.known[1]].last().is_none_or(has))
    }
}

fn known_part(part: RowPart, bound: &[bool]) -> Option<KnownKey> {
    match part {
        RowPart::Key(key) => Some(KnownKey::Key(key)),
        RowPart::Variable(variable) if bound[variable as usize] => Some(KnownKey::Variable(variable)),
        _ => None,
    }
}

/// Adds what is known of the children of a compound column.
fn known_inside(column: u32, parts: &[RowPart], length: u32, bound: &[bool], known: &mut Vec<(Path, KnownKey)>) {
    let mut at = 0;
    let from = known.len();
    for child in 0..length.min(COLUMNS_INDEXED_MAX as u32) {
        known.extend(known_part(parts[at], bound).map(|key| ((column, Some(child)), key)));
        at += extent(&parts[at..]);
    }
    known[from..].reverse();
}

/// How many parts the first subpattern has.
pub(crate) fn extent(parts: &[RowPart]) -> usize {
    let (mut open, mut at) = (1_usize, 0);
    while open > 0 {
        open -= 1;
        if let RowPart::Open(length) = parts[at] {
            open += length as usize;
        }
        at += 1;
    }
    at
}

thread_local! {
    /// Room for the queries of atoms of this thread; who asks takes it out.
    static ROOM: Cell<Option<Box<RowQuery>>> = const { Cell::new(None) };
}

/// Queries of atoms with more variables than this are not answered as rows.
pub(crate) const VARIABLES_MAX: usize = 8;

/// Queries that are nested deeper are not answered as rows.
const DEPTH_MAX: usize = 16;

/// Room for more terms than this is given back.
const ROOM_MAX: usize = 1 << 12;

/// Variables by their numbers.
type Variables<'a> = [Option<&'a Variable>; VARIABLES_MAX];

impl RowQuery {
    /// Makes terms of the names of a pattern, or of a conjunction of patterns, and writes it down; `None` if it asks for more than rows.
    pub(crate) fn interning(query: &Atom, terms: &mut Terms) -> Option<Self> {
        let mut written = Self::default();
        intern_parts(query, 0, terms);
        written.put(query, &mut Variables::default(), terms).then_some(written)
    }

    /// What each column is; `None` if it is not one pattern whose columns are keys and variables only.
    pub(crate) fn flat(&self) -> Option<&[RowPart]> {
        let [RowPart::Open(length), columns @ ..] = self.parts.as_slice() else { return None };
        (self.ends.len() == 1 && !columns.is_empty() && columns.len() == *length as usize).then_some(columns)
    }

    /// Makes this the same query as another one.
    fn take_up(&mut self, other: &Self) {
        self.clear();
        self.parts.extend_from_slice(&other.parts);
        self.ends.extend_from_slice(&other.ends);
        self.variables = other.variables;
    }

    /// Hands the answers of a query to somebody, a term for each variable; `None` if they are not all rows.
    pub(crate) fn answers_of(
        &self,
        contents: &Contents,
        terms: &Terms,
        each: &mut impl FnMut(&[Term]),
    ) -> Option<usize> {
        let mut room = ROOM.take().unwrap_or_default();
        room.take_up(self);
        let count = answer_rows(&mut room, std::slice::from_ref(contents), |contents| contents, terms, &|| false);
        let width = room.variables;
        (0..count.unwrap_or(0)).for_each(|place| each(&room.answers.found[place * width..][..width]));
        room.shrink();
        ROOM.set(Some(room));
        count
    }

    /// Writes down a pattern, or a conjunction of patterns; `false` if they ask for more than rows.
    fn put<'a>(&mut self, query: &'a Atom, variables: &mut Variables<'a>, terms: &Terms) -> bool {
        self.clear();
        match conjunction(query) {
            Some([]) => false,
            Some(patterns) => patterns.iter().all(|pattern| self.put_pattern(pattern, variables, terms)),
            None => self.put_pattern(query, variables, terms),
        }
    }

    fn put_pattern<'a>(&mut self, pattern: &'a Atom, variables: &mut Variables<'a>, terms: &Terms) -> bool {
        let Atom::Expression(expression) = pattern else { return false };
        self.push(RowPart::Open(expression.len() as u32));
        let is_put = self.put_deep(expression.children(), 0, variables, terms);
        self.end_pattern();
        is_put
    }

    /// Writes down what is no expression with variables; `false` if it is one, or what rows do not hold.
    #[inline]
    fn put_leaf<'a>(&mut self, atom: &'a Atom, variables: &mut Variables<'a>, terms: &Terms) -> bool {
        let part = match atom {
            Atom::Variable(variable) => match number_of(variable, variables) {
                Some(number) => RowPart::Variable(number),
                None => return false,
            },
            atom if atom.is_rigid() => RowPart::Key(terms.find_key(atom).unwrap_or(NO_TERM)),
            _ => return false,
        };
        self.push(part);
        true
    }

    /// Writes down all of these; `false` if they are too deep, too.
    fn put_deep<'a>(
        &mut self,
        children: &'a [Atom],
        depth: usize,
        variables: &mut Variables<'a>,
        terms: &Terms,
    ) -> bool {
        children.iter().all(|child| match child {
            Atom::Expression(expression) if !child.is_rigid() => {
                self.push(RowPart::Open(expression.len() as u32));
                depth < DEPTH_MAX && self.put_deep(expression.children(), depth + 1, variables, terms)
            }
            leaf => self.put_leaf(leaf, variables, terms),
        })
    }

    /// Forgets answers that took much room.
    fn shrink(&mut self) {
        for terms in [&mut self.answers.found, &mut self.answers.next] {
            terms.clear();
            terms.shrink_to(ROOM_MAX);
        }
        self.answers.rows.clear();
        self.answers.rows.shrink_to(ROOM_MAX);
    }
}

/// Makes terms of what has no variables inside a query, as deep as [`RowQuery::put`] goes.
fn intern_parts(query: &Atom, depth: usize, terms: &mut Terms) {
    for child in query.children().unwrap_or_default() {
        if child.is_rigid() {
            terms.intern(child);
        } else if depth <= DEPTH_MAX {
            intern_parts(child, depth + 1, terms);
        }
    }
}

/// The number of a variable, which is the next one if it is new; `None` if there are too many.
fn number_of<'a>(variable: &'a Variable, variables: &mut Variables<'a>) -> Option<u32> {
    let place = variables.iter().position(|known| known.is_none_or(|known| known == variable))?;
    variables[place] = Some(variable);
    Some(place as u32)
}

/// Whether only rows of these spaces match a pattern.
pub(crate) fn are_rows<S>(pattern: &Atom, spaces: &[S], contents: impl Fn(&S) -> &Contents, terms: &Terms) -> bool {
    let mut room = ROOM.take().unwrap_or_default();
    let mut variables = Variables::default();
    let are_rows = room.put(pattern, &mut variables, terms) && room.plan() && !room.is_open(spaces, contents, terms);
    ROOM.set(Some(room));
    are_rows
}

/// The solutions of a query that rows answer, in the order of [`SharedSpace::query`]; `None` if that is to be asked. None are
/// inside if it was given up.
pub(crate) fn solutions<S>(
    query: &Atom,
    spaces: &[S],
    contents: impl Fn(&S) -> &Contents,
    terms: &Terms,
    is_over: ShouldStop<'_>,
) -> Option<Option<Vec<Solution>>> {
    let mut room = ROOM.take().unwrap_or_default();
    let mut variables = Variables::default();
    let is_put = room.put(query, &mut variables, terms);
    let count = if is_put { answer_rows(&mut room, spaces, contents, terms, is_over) } else { None };
    let solutions = count.map(|count| {
        let width = room.variables;
        let names = &variables[..width];
        let solution = |place: usize| {
            let answer = &room.answers.found[place * width..][..width];
            let mut solution = Vec::with_capacity(width);
            for (name, &term) in names.iter().zip(answer) {
                solution.extend(name.map(|name| (name.clone(), terms.atom(term).clone())));
            }
            solution
        };
        let all = (0..count).map(|place| {
            let goes_on = place % (64 * ANSWERS_BETWEEN_LOOKS) != 0 || place == 0 || !is_over();
            goes_on.then(|| solution(place))
        });
        if room.is_given_up { None } else { all.collect() }
    });
    room.shrink();
    ROOM.set(Some(room));
    solutions
}

/// Answers that are being made.
#[derive(Debug, Default)]
struct Answers {
    found: Vec<Term>,
    next: Vec<Term>,
    /// The answer at hand.
    current: Vec<Term>,
    rows: Vec<u32>,
    keys: Vec<(Path, Term)>,
    row: Vec<Term>,
}

impl SharedSpace {
    /// Finds the solutions of a query in the order in which [`SharedSpace::query`] finds them; gives how many there are, and
    /// leaves them in [`RowQuery::answers`]. `None` if they are not all rows: then [`SharedSpace::query`] is to be asked.
    pub fn rows(&self, query: &mut RowQuery) -> Option<usize> {
        self.rows_unless(query, &|| false)
    }

    /// The same, which is given up as soon as that is said: see [`RowQuery::is_given_up`].
    pub fn rows_unless(&self, query: &mut RowQuery, is_over: ShouldStop<'_>) -> Option<usize> {
        self.with_spaces(|spaces, terms| answer_rows(query, spaces, |space| space.contents(), terms, is_over))
    }

    /// Hands on the space, those it imports and their dictionary, all locked; `None` if one cannot be locked at once, or has
    /// terms of its own.
    pub(crate) fn with_spaces<T>(
        &self,
        work: impl FnOnce(&[RwLockReadGuard<'_, Space>], &Terms) -> Option<T>,
    ) -> Option<T> {
        let imports = self.imports_guard();
        // Nothing is waited for while a lock is held.
        let own = self.try_guard()?;
        if imports.is_empty() {
            let terms = own.terms().try_read().ok()?;
            return work(std::slice::from_ref(&own), &terms);
        }
        if imports.len() >= SPACES_MAX {
            return None;
        }
        let mut spaces = Vec::with_capacity(1 + imports.len());
        spaces.push(own);
        for space in imports.iter() {
            let space = space.try_guard()?;
            if !Arc::ptr_eq(space.terms(), spaces[0].terms()) {
                return None;
            }
            spaces.push(space);
        }
        let terms = spaces[0].terms().try_read().ok()?;
        work(&spaces, &terms)
    }

    /// Adds an expression of which `intern` makes the row of terms; says whether it was one. `class` is what its class of
    /// changes is.
    pub fn add_row(
        &self,
        class: usize,
        row: &mut Vec<Term>,
        intern: impl FnOnce(&mut Terms, &mut Vec<Term>) -> bool,
    ) -> bool {
        debug_assert!(!self.is_frozen(), "a frozen space is changed");
        if !self.write(|space| space.add_row(row, intern)) {
            return false;
        }
        self.count_class(class);
        self.note_added_row(row);
        true
    }
}

/// Finds the solutions of a query in spaces one after the other; `None` if they are not all rows.
pub(crate) fn answer_rows<S>(
    query: &mut RowQuery,
    spaces: &[S],
    contents: impl Fn(&S) -> &Contents,
    terms: &Terms,
    is_over: ShouldStop<'_>,
) -> Option<usize> {
    query.is_given_up = false;
    if !query.plan() {
        return None;
    }
    if query.is_open(spaces, &contents, terms) {
        return None;
    }
    Some(answer(query, spaces, contents, terms, is_over))
}

fn answer<S>(
    query: &mut RowQuery,
    spaces: &[S],
    contents: impl Fn(&S) -> &Contents,
    terms: &Terms,
    is_over: ShouldStop<'_>,
) -> usize {
    let RowQuery { parts, plans, known: all_known, answers, variables: width, is_given_up, .. } = query;
    answers.begin(*width);
    let mut count = 1;
    for plan in plans.iter() {
        let (parts, known) = (&parts[plan.parts[0]..plan.parts[1]], &all_known[plan.known[0]..plan.known[1]]);
        let mut made = 0;
        answers.next.clear();
        // A space without such rows is passed over, whatever was found so far.
        let relations = spaces.iter().map(|space| contents(space).relation_of_length(plan.length)).enumerate();
        // One answer and one space are as soon asked.
        let is_asked =
            |relation: &Relation| (spaces.len() == 1 && count == 1) || plan.may_answer(all_known, relation, terms);
        let asked = relations.filter(|(_, relation)| is_asked(relation));
        let asked = asked.fold(0_u64, |asked, (place, _)| asked | 1 << place);
        for place in 0..count {
            if place % ANSWERS_BETWEEN_LOOKS == ANSWERS_BETWEEN_LOOKS - 1 && is_over() {
                *is_given_up = true;
                answers.found.clear();
                return 0;
            }
            answers.take_up(place, *width);
            let asked = spaces.iter().enumerate().filter(|(place, _)| asked >> place & 1 == 1);
            for (_, space) in asked {
                made += answers.extend(plan, parts, known, contents(space).relation_of_length(plan.length), terms);
            }
        }
        std::mem::swap(&mut answers.found, &mut answers.next);
        count = made;
    }
    if *width == 0 {
        answers.found.resize(count, NO_TERM);
    }
    count
}

impl Answers {
    /// One answer, in which nothing is bound yet.
    fn begin(&mut self, width: usize) {
        self.found.clear();
        self.found.resize(width, NO_TERM);
    }

    /// Makes an answer that was found the one at hand.
    fn take_up(&mut self, place: usize, width: usize) {
        self.current.clear();
        self.current.extend_from_slice(&self.found[place * width..][..width]);
    }

    /// Adds what the rows of a relation make of the answer at hand; gives how many answers that are.
    fn extend(
        &mut self,
        plan: &Plan,
        parts: &[RowPart],
        known: &[(Path, KnownKey)],
        relation: &Relation,
        terms: &Terms,
    ) -> usize {
        let Self { next, current, rows, keys, row, .. } = self;
        let key_of = |known: KnownKey| match known {
            KnownKey::Key(key) => key,
            KnownKey::Variable(variable) => terms.key(current[variable as usize]),
        };
        rows.clear();
        if plan.is_known {
            row.clear();
            row.extend(known.iter().map(|&(_, known)| key_of(known)));
            if !row.contains(&NO_TERM) {
                relation.find_rows(row, terms, rows);
            }
            let copies: usize = rows.iter().map(|&row| relation.row(row).1 as usize).sum();
            (0..copies).for_each(|_| next.extend_from_slice(current));
            return copies;
        }
        keys.clear();
        keys.extend(known.iter().map(|&(path, known)| (path, key_of(known))));
        if keys.iter().any(|&(_, key)| key == NO_TERM) {
            return 0;
        }
        let mut made = 0;
        let taking = Projection { parts, count: plan.taken, keys, current, terms };
        relation.walk(keys, terms, rows, &mut |piece| {
            made += if plan.taken > 0 {
                taking.take(&piece, next)
            } else {
                match_all(plan, parts, &piece, current, next, terms)
            };
        });
        made
    }
}

/// Adds what rows make of an answer, each looked at as a whole; gives how many answers that are.
fn match_all(
    plan: &Plan,
    parts: &[RowPart],
    piece: &RowSelection<'_>,
    current: &[Term],
    next: &mut Vec<Term>,
    terms: &Terms,
) -> usize {
    let mut made = 0;
    piece.each_row(|row, copies| {
        let start = next.len();
        next.extend_from_slice(current);
        if !matches(plan, parts, row, &mut next[start..], terms) {
            return next.truncate(start);
        }
        made += copies as usize;
        (1..copies).for_each(|_| next.extend_from_within(start..start + current.len()));
    });
    made
}

/// Whether a row matches a pattern; what its variables are is put into the answer.
#[inline]
fn matches(plan: &Plan, parts: &[RowPart], row: &[Term], answer: &mut [Term], terms: &Terms) -> bool {
    if row.len() != plan.length {
        return false;
    }
    if plan.is_flat {
        return parts.iter().zip(row).all(|(&part, &term)| matches_leaf(part, term, answer, terms));
    }
    matches_deeply(parts, row, answer, terms)
}

#[inline(always)]
pub(crate) fn matches_leaf(part: RowPart, term: Term, answer: &mut [Term], terms: &Terms) -> bool {
    match part {
        RowPart::Key(key) => term == key || terms.key(term) == key,
        RowPart::Variable(variable) => {
            let known = &mut answer[variable as usize];
            if *known == NO_TERM {
                *known = term;
                return true;
            }
            *known == term || terms.key(*known) == terms.key(term)
        }
        RowPart::Open(_) => false,
    }
}

fn matches_deeply(parts: &[RowPart], row: &[Term], answer: &mut [Term], terms: &Terms) -> bool {
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
            RowPart::Open(length) => match terms.children(term) {
                Some(children) if children.len() == length as usize => open.push(children.iter()),
                _ => return false,
            },
            part if !matches_leaf(part, term, answer, terms) => return false,
            _ => {}
        }
    }
    true
}
