//! `match`: what a pattern finds in a space, one alternative for each answer.
//!
//! 1. The pattern is planned when it is asked for the first time: what slots hold are the *parameters* of the plan, which is kept
//!    with the code. It is made anew if a slot holds a variable where it held data, or the other way round.
//! 2. If all answers are rows ([`space::Plan`]) they are kept as terms. The code goes on with each in turn:
//!    new variables of the pattern are slots and take the terms as they are, variables from outside are bound.
//! 3. Otherwise, or if plans do not serve again, the pattern is matched with the code of the atoms that may match it
//!    (`candidate_matching.rs`), which is made when it pays and holds until the space changes.
//! 4. If there is no such code the space is asked with the pattern as an atom; new variables are made in the heap first.
//!
//! What the code after it adds is not seen: all answers are found, or all that may match are known, before the first is used.

use super::candidate_code::Candidates;
use super::choices::Choices;
use super::choices::{Choice, ChoiceKind, Destination, Rows};
use super::code::{CachedPlan, HEADER, Query, QueryFilter, QueryPart, Slot, TestedValue};
use super::collected::{CollectedResult, CollectedResults};
use super::frames::Frames;
use super::terms::Keyed;
use super::values::Scope;
use super::words::{EMPTY, ERROR, FALSE, NOT_REDUCIBLE, SYMBOL, TERM, TRUE, term_of};
use super::{Halt, Machine, Running};
use region::Ref;
use space::{Answers, Asked, DictionaryReader, FilterInputs, FilterValue, Given, NO_TERM, PatternPart, Question};
use space::{SharedSpace, SharedTerms, Term, Terms};
use std::rc::Rc;

/// Where atoms with variables answer a query, they mostly do so again.
const LEAPS: u8 = 15;

/// After how many plans in a row that did not serve again the atoms themselves are compiled.
pub(super) const REPLANS_MIN: u8 = 2;

/// Symbols that are no values of their own where they are arguments.
const RESERVED: [Ref; 3] = [EMPTY, ERROR, NOT_REDUCIBLE];

/// What makes a pattern unfit to be asked for as rows.
struct NotRowShaped;

/// What has more parts is answered by unification.
const PARTS_MAX: usize = 1 << 16;

/// Room for a query, kept from one to the next.
pub(super) struct QueryRoom {
    dictionary: SharedTerms,
    answers: Answers,
    parameters: Vec<Term>,
    /// The variables from outside, in the order in which they are met.
    outer: Vec<Ref>,
    /// The values in tests that the query does not bind.
    tested: Vec<FilterValue>,
    /// Whether a test was undecided about an answer.
    was_undecided: bool,
    /// The spaces that are asked beside the first.
    others: Vec<SharedSpace>,
}

impl QueryRoom {
    fn new(dictionary: SharedTerms) -> Self {
        Self {
            dictionary,
            answers: Answers::default(),
            parameters: Vec::new(),
            outer: Vec::new(),
            tested: Vec::new(),
            was_undecided: false,
            others: Vec::new(),
        }
    }

    /// Whether a test was undecided about an answer, which has passed it.
    pub(super) fn was_undecided(&self) -> bool {
        self.was_undecided
    }

    /// The answers, with how they were found.
    pub(super) fn answers(&self) -> &Answers {
        &self.answers
    }

    /// The answers, to write them out if they are grouped, or to read them one after the other.
    pub(super) fn answers_mut(&mut self) -> &mut Answers {
        &mut self.answers
    }

    /// The variables from outside, whose values are the last of each answer.
    pub(super) fn outer(&self) -> &[Ref] {
        &self.outer
    }
}

impl Running<'_> {
    /// Asks a space and goes on with each answer.
    pub(super) fn query(&mut self, query: u32, space: Slot, return_point: u32) -> Result<(), Halt> {
        let space = self.m.read(space);
        if let Some(candidates) = self.m.known_candidates(query, space)
            && self.query_candidates(candidates, query, return_point)?
        {
            return Ok(());
        }
        let Query { leaps, replans, .. } = &mut self.m.code.queries[query as usize];
        if *leaps > 0 {
            *leaps -= 1;
            return self.query_open(query, space, return_point);
        }
        if *replans >= REPLANS_MIN && self.query_compiled(query, space, return_point)? {
            return Ok(());
        }
        if !self.m.code.queries[query as usize].filters.filters.is_empty() {
            self.refresh();
        }
        let mut room = self.m.take_query_room();
        let done = match self.m.ask(query, space, &mut room, Asked::All) {
            Some(_) if room.answers.is_stopped() => return Err(self.m.values.ceiling.passed()),
            None => {
                self.m.leap(query);
                self.m.rooms.query_room = Some(room);
                return self.query_open(query, space, return_point);
            }
            Some(count) => {
                self.note_planned(query, Asked::All, count, &room);
                self.go_through(query, count, &mut room, return_point)
            }
        };
        self.m.rooms.query_room = Some(room);
        done
    }

    /// Goes on with each of the `count` answers that were found.
    #[inline]
    pub(super) fn go_through(
        &mut self,
        query: u32,
        count: usize,
        room: &mut QueryRoom,
        return_point: u32,
    ) -> Result<(), Halt> {
        match count {
            0 => self.fail(),
            1 => self.m.take_answer(query, room.answers.terms(), &room.outer, return_point),
            _ => {
                let (answers, outer) = (std::mem::take(room.answers.terms()), std::mem::take(&mut room.outer));
                let rows = Rows { answers, next: 0, query, outer, return_point };
                let base = self.m.frames.base;
                let top = base + HEADER + usize::from(self.m.return_point(return_point).at);
                self.m.push_choice(base, top, ChoiceKind::Rows(Box::new(rows)));
                self.m.next_row()
            }
        }
    }

    /// Asks a space whose answers are not all rows.
    fn query_open(&mut self, query: u32, space: Ref, return_point: u32) -> Result<(), Halt> {
        if self.query_compiled(query, space, return_point)? { Ok(()) } else { self.query_atoms(query, space) }
    }

    /// Makes code for the atoms that a query finds and goes on with each; `false` if that is not worth it now, or not how it is done.
    fn query_compiled(&mut self, query: u32, space: Ref, return_point: u32) -> Result<bool, Halt> {
        if let Some(asked) = self.m.values.space_of(space).cloned()
            && self.m.code.queries[query as usize].candidates.made.is_none()
            && let Some(made) = self.m.make_candidates(query, &asked)?
        {
            return self.query_candidates(made, query, return_point);
        }
        Ok(false)
    }

    /// Asks with an atom.
    fn query_atoms(&mut self, query: u32, space: Ref) -> Result<(), Halt> {
        for place in 0..self.m.code.queries[query as usize].fresh.len() {
            let (slot, name) = self.m.code.queries[query as usize].fresh[place];
            let made = match self.m.code.queries[query as usize].is_form {
                true => self.m.values.make_form_variable(name)?,
                false => self.m.values.heap.variable(&mut self.m.values.region, name)?,
            };
            self.m.set_slot(slot, made);
        }
        let template = self.m.code.queries[query as usize].template;
        let pattern = self.build(template)?;
        let mut scope = Scope::default();
        self.m.values.name_by_age(pattern, self.session.program.variables());
        let atom = self.m.values.store(pattern, &mut scope, self.session.program.variables())?;
        let space = self.m.values.space_of(space).cloned().expect("a guard stands before a query");
        let ceiling = &self.m.values.ceiling;
        let found = space.query_unless(&atom, self.session.program.variables(), &|| ceiling.is_passed());
        let Some(solutions) = found else { return Err(ceiling.passed()) };
        self.note_open(query, Some(solutions.len()));
        let mut results = CollectedResults::with_capacity(solutions.len());
        for solution in solutions {
            let mut bound = Vec::with_capacity(solution.len());
            for (variable, value) in solution {
                let value = self.m.values.load(&value, &mut scope)?;
                bound.extend(scope.get(&variable).map(|&variable| (variable, value)));
            }
            results.push(CollectedResult { value: TRUE, bound });
        }
        let return_point = self.m.code.queries[query as usize].atoms;
        self.deliver_all(results, Destination::ReturnPoint(return_point))
    }
}

impl Machine {
    /// A query was not answered by rows. Unless a leaf of it was never interned, which may change with the next fact, it is not asked again
    /// for a while whether all answers are rows.
    pub(super) fn leap(&mut self, query: u32) {
        let asked = &mut self.code.queries[query as usize];
        if !asked.cached.as_ref().is_some_and(|cached| cached.lacks_key) {
            asked.leaps = LEAPS;
        }
    }

    /// The code for the atoms that a query finds in a space, if it was made and still holds.
    #[inline]
    fn known_candidates(&mut self, query: u32, space: Ref) -> Option<Rc<Candidates>> {
        let Self { values, code, .. } = self;
        let cache = &mut code.queries[query as usize].candidates;
        cache.made.as_ref()?;
        cache.valid(values.space_of(space)?)
    }

    /// Room for a query.
    #[inline]
    pub(super) fn take_query_room(&mut self) -> Box<QueryRoom> {
        let kept = self.rooms.query_room.take();
        kept.unwrap_or_else(|| Box::new(QueryRoom::new(self.values.terms.clone())))
    }

    /// Finds the answers that are asked for, if they are all rows, and gives how many there are.
    #[inline]
    pub(super) fn ask(&mut self, query: u32, space: Ref, room: &mut QueryRoom, asked: Asked) -> Option<usize> {
        let QueryRoom { dictionary, answers, parameters, outer, tested, was_undecided, others } = room;
        let mut dictionary = DictionaryReader::new(dictionary);
        let mut cached = self.code.queries[query as usize].cached.take().unwrap_or_default();
        let is_planned =
            cached.is_valid && self.read_parameters(query, &cached, (&mut *parameters, &mut *outer), &mut dictionary);
        let replans = &mut self.code.queries[query as usize].replans;
        *replans = if is_planned { 0 } else { replans.saturating_add(1) };
        let is_row_shaped =
            is_planned || self.plan(query, &mut cached, (&mut *parameters, &mut *outer), dictionary.terms()).is_ok();
        let reserved = self.tested_values(query, &mut dictionary, tested);
        let is_row_shaped = is_row_shaped && self.other_spaces(query, others);
        let inputs = FilterInputs::new(tested, &reserved, !self.types.has_types);
        let given = Given { parameters, filters: &inputs };
        let ceiling = &self.values.ceiling;
        let question = Question { asked, given, others, should_stop: &|| ceiling.is_passed() };
        let space = self.values.space_of(space).filter(|_| is_row_shaped);
        let count = space.and_then(|space| space.execute(&mut cached.plan, &question, &mut dictionary, answers));
        *was_undecided = inputs.was_undecided();
        self.code.queries[query as usize].cached = Some(cached);
        count
    }

    /// Reads the spaces that a query asks beside the first; `false` if something else is there.
    #[inline]
    fn other_spaces(&self, query: u32, others: &mut Vec<SharedSpace>) -> bool {
        others.clear();
        let Some(fused) = &self.code.queries[query as usize].fused else { return true };
        others.extend(fused.others.iter().filter_map(|&slot| self.values.space_of(self.read(slot)).cloned()));
        others.len() == fused.others.len()
    }

    /// Reads the values in the tests of a query that it does not bind; gives the keys of symbols that no test decides about.
    #[inline]
    fn tested_values(
        &mut self,
        query: u32,
        dictionary: &mut DictionaryReader<'_>,
        tested: &mut Vec<FilterValue>,
    ) -> [Term; RESERVED.len()] {
        if self.code.queries[query as usize].filters.filters.is_empty() {
            return [NO_TERM; RESERVED.len()];
        }
        tested.clear();
        for place in 0..self.code.queries[query as usize].filters.values.len() {
            let value = match self.code.queries[query as usize].filters.values[place] {
                TestedValue::Slot(slot) => self.values.heap.walk(self.read(slot)),
                TestedValue::Leaf(leaf) => leaf,
            };
            tested.push(self.tested_value(value, dictionary.terms()));
        }
        RESERVED.map(|name| match self.values.key_of(name, dictionary.terms()) {
            Keyed::Key(key) => key,
            _ => NO_TERM,
        })
    }

    /// A value as tests see it. What is to be evaluated first is not decided about.
    fn tested_value(&mut self, value: Ref, terms: &Terms) -> FilterValue {
        if let Some(number) = self.values.number_of(value) {
            return FilterValue::Number(number);
        }
        match value {
            TRUE => FilterValue::Truth(true),
            FALSE => FilterValue::Truth(false),
            value if RESERVED.contains(&value) => FilterValue::Undecided,
            value if value.tag() == SYMBOL => match self.values.key_of(value, terms) {
                Keyed::Key(key) if key != NO_TERM => FilterValue::Symbol(key),
                _ => FilterValue::Undecided,
            },
            _ => FilterValue::Undecided,
        }
    }

    /// Reads the keys that the slots hold for a plan that was made; `false` if one holds a variable where it held data then, or the other
    /// way round, or another variable.
    fn read_parameters(
        &mut self,
        query: u32,
        cached: &CachedPlan,
        (parameters, outer): (&mut Vec<Term>, &mut Vec<Ref>),
        dictionary: &mut DictionaryReader<'_>,
    ) -> bool {
        parameters.clear();
        outer.clear();
        let mut before = cached.slots.iter();
        for place in 0..self.code.queries[query as usize].slots.len() {
            let slot = self.code.queries[query as usize].slots[place];
            let value = self.values.heap.walk(self.read(slot));
            let Some(before) = before.next() else { return false };
            let keyed = self.values.known_key(value).unwrap_or_else(|| self.values.key_of(value, dictionary.terms()));
            match (keyed, before) {
                (Keyed::Key(key), None) => parameters.push(key),
                (Keyed::Variable(variable), &Some(number)) if number_of(variable, &mut *outer) == number => {}
                _ => return false,
            }
        }
        true
    }

    /// Plans what is asked for. Variables from outside are numbered after the new ones.
    fn plan(
        &mut self,
        query: u32,
        cached: &mut CachedPlan,
        (parameters, outer): (&mut Vec<Term>, &mut Vec<Ref>),
        terms: &Terms,
    ) -> Result<(), NotRowShaped> {
        cached.plan.clear();
        cached.slots.clear();
        parameters.clear();
        outer.clear();
        (cached.is_valid, cached.lacks_key) = (true, false);
        let first_outer = self.code.queries[query as usize].fresh.len();
        let mut planner = Planner { cached, parameters, outer, first_outer, own_after: 0, terms };
        for pattern in 0..self.code.queries[query as usize].patterns.len() {
            let length = self.code.queries[query as usize].patterns[pattern].len();
            for part in 0..length {
                let part = self.code.queries[query as usize].patterns[pattern][part];
                planner.part(part, length == 1, self)?;
            }
            let fused = self.code.queries[query as usize].fused.as_ref();
            planner.cached.plan.end_pattern_in(fused.map_or(0, |fused| fused.places[pattern]));
        }
        if self.plan_filters(query, &mut planner).is_err() {
            cached.is_valid = false;
            return Err(NotRowShaped);
        }
        let head = cached.plan.head();
        let is_join = self.code.queries[query as usize].may_join
            && head.is_none_or(|head| head != NO_TERM && terms.atom(head).is_symbol(","));
        cached.is_valid &= !is_join;
        if is_join { Err(NotRowShaped) } else { Ok(()) }
    }

    /// Plans the filters, of which those that look for answers have patterns.
    fn plan_filters(&mut self, query: u32, planner: &mut Planner<'_>) -> Result<(), NotRowShaped> {
        let outer = planner.outer.len();
        planner.own_after = (planner.first_outer + outer) as u32;
        for filter in 0..self.code.queries[query as usize].filters.filters.len() {
            let (patterns, drops) = match &self.code.queries[query as usize].filters.filters[filter] {
                QueryFilter::Test(test) => {
                    planner.cached.plan.filter(test.clone());
                    continue;
                }
                QueryFilter::Absence { patterns, drops } => (patterns.clone(), *drops),
            };
            let plan = std::mem::take(&mut planner.cached.plan);
            for (place, parts) in &patterns {
                let is_unit = matches!(parts[..], [QueryPart::Open(0)]);
                parts.iter().try_for_each(|&part| planner.part(part, is_unit, self))?;
                planner.cached.plan.end_pattern_in(*place);
            }
            let looked_for = std::mem::replace(&mut planner.cached.plan, plan);
            let is_planned = planner.cached.plan.filter_by(&looked_for, planner.own_after, drops);
            // What a variable from outside stands for is found by the patterns of the query, or not at all.
            if !is_planned || planner.outer.len() > outer {
                return Err(NotRowShaped);
            }
        }
        Ok(())
    }

    /// Goes on with the next answer of the choice on top.
    pub(super) fn next_row(&mut self) -> Result<(), Halt> {
        let last = self.choices.stack.last_mut().expect("there is a choice");
        let ChoiceKind::Rows(rows) = &mut last.kind else { unreachable!("it is a choice of rows") };
        // It is lent out while its answer is put where it belongs.
        let mut rows = std::mem::take(&mut **rows);
        let width = self.code.queries[rows.query as usize].fresh.len() + rows.outer.len();
        let from = rows.next;
        rows.next += width.max(1);
        self.take_answer(rows.query, &rows.answers[from..rows.next], &rows.outer, rows.return_point)?;
        if rows.next >= rows.answers.len() {
            self.pop_choice();
        } else if let Some(Choice { kind: ChoiceKind::Rows(place), .. }) = self.choices.stack.last_mut() {
            **place = rows;
        }
        Ok(())
    }

    /// Goes on at a return point with an answer: new variables are slots, those from outside are bound.
    fn take_answer(&mut self, query: u32, answer: &[Term], outer: &[Ref], return_point: u32) -> Result<(), Halt> {
        let Self { values, code, frames: Frames { stack, base, pc, .. }, choices: Choices { trail, .. }, .. } = self;
        values.open_data.forget();
        let fresh = &code.queries[query as usize].fresh;
        for (&(slot, _), &term) in fresh.iter().zip(answer) {
            stack[*base + HEADER + usize::from(slot)] = values.load_term(term)?.bits();
        }
        for (&variable, &term) in outer.iter().zip(answer.iter().skip(fresh.len())) {
            let value = values.load_term(term)?;
            trail.push(variable);
            values.heap.bind(variable, value);
        }
        *pc = code.return_points[return_point as usize].pc;
        Ok(())
    }
}

/// The number of a variable from outside, which is the next one if it is new.
fn number_of(variable: Ref, outer: &mut Vec<Ref>) -> u32 {
    let known = outer.iter().position(|&known| known == variable);
    known.unwrap_or_else(|| {
        outer.push(variable);
        outer.len() - 1
    }) as u32
}

/// Writes down what is asked for.
struct Planner<'a> {
    cached: &'a mut CachedPlan,
    parameters: &'a mut Vec<Term>,
    outer: &'a mut Vec<Ref>,
    first_outer: usize,
    /// The first number of what only the patterns of a filter bind.
    own_after: u32,
    terms: &'a Terms,
}

impl Planner<'_> {
    /// A part of a pattern.
    fn part(&mut self, part: QueryPart, is_whole: bool, machine: &mut Machine) -> Result<(), NotRowShaped> {
        match part {
            QueryPart::Open(0) if !is_whole => self.unit(),
            QueryPart::Open(length) => self.cached.plan.push(PatternPart::Open(length)),
            QueryPart::New(variable) => {
                let own = (variable as usize).checked_sub(self.first_outer);
                let number = own.map_or(variable, |own| self.own_after + own as u32);
                self.cached.plan.push(PatternPart::Variable(number));
            }
            QueryPart::Leaf(leaf) => self.leaf(leaf, machine)?,
            QueryPart::Slot(slot) if is_whole => self.whole(machine.read(slot), machine)?,
            QueryPart::Slot(slot) => self.slot(machine.read(slot), machine)?,
        }
        Ok(())
    }

    /// A leaf of the code. One that was never interned may be later, so the plan serves once.
    fn leaf(&mut self, leaf: Ref, machine: &mut Machine) -> Result<(), NotRowShaped> {
        match machine.values.key_of(leaf, self.terms) {
            Keyed::Key(key) => self.key(key),
            _ => {
                self.cached.is_valid = false;
                self.value(leaf, machine)?;
            }
        }
        Ok(())
    }

    /// What is known when code is made. What was never interned may be later, so the plan serves once then.
    fn key(&mut self, key: Term) {
        self.cached.lacks_key |= key == NO_TERM;
        self.cached.is_valid &= key != NO_TERM;
        self.cached.plan.push(PatternPart::Key(key));
    }

    /// `()`, which is a term like a leaf: rows are found by it.
    fn unit(&mut self) {
        self.key(self.terms.find_row(&[]).unwrap_or(NO_TERM));
    }

    /// What a slot holds: a parameter, a variable from outside, or an expression with variables, whose plan serves once.
    fn slot(&mut self, value: Ref, machine: &mut Machine) -> Result<(), NotRowShaped> {
        let value = machine.values.heap.walk(value);
        match machine.values.key_of(value, self.terms) {
            Keyed::Key(key) => {
                let number = self.parameters.len() as u32;
                self.parameters.push(key);
                self.cached.slots.push(None);
                self.cached.plan.push(PatternPart::Parameter(number));
                Ok(())
            }
            Keyed::Variable(variable) => {
                let number = number_of(variable, self.outer);
                self.cached.slots.push(Some(number));
                self.cached.plan.push(PatternPart::Variable(self.first_outer as u32 + number));
                Ok(())
            }
            Keyed::Open => {
                self.cached.is_valid = false;
                self.value(value, machine)
            }
            Keyed::NotRowShaped => Err(NotRowShaped),
        }
    }

    /// A value that is a pattern by itself: a row has columns, even if all of it is known. The plan serves once.
    fn whole(&mut self, value: Ref, machine: &mut Machine) -> Result<(), NotRowShaped> {
        self.cached.is_valid = false;
        let value = machine.values.heap.walk(value);
        if value.tag() == TERM {
            let children = self.terms.children(term_of(value)).unwrap_or_default();
            self.cached.plan.push(PatternPart::Open(children.len() as u32));
            children.iter().for_each(|&child| self.cached.plan.push(PatternPart::Key(self.terms.key(child))));
            return Ok(());
        }
        if !value.is_expression() {
            return self.value(value, machine);
        }
        let length = machine.values.heap.length(value);
        self.cached.plan.push(PatternPart::Open(length as u32));
        (0..length).try_for_each(|place| self.value(machine.values.heap.child(value, place), machine))
    }

    /// What a value asks for.
    fn value(&mut self, value: Ref, machine: &mut Machine) -> Result<(), NotRowShaped> {
        let (mut work, mut parts) = (vec![value], 0);
        while let Some(value) = work.pop() {
            let value = machine.values.heap.walk(value);
            parts += 1;
            match machine.values.key_of(value, self.terms) {
                // A part that is shared counts wherever it stands.
                Keyed::Open if parts > PARTS_MAX => return Err(NotRowShaped),
                Keyed::Key(key) => self.cached.plan.push(PatternPart::Key(key)),
                Keyed::NotRowShaped => return Err(NotRowShaped),
                Keyed::Open if machine.values.heap.length(value) == 0 => self.unit(),
                Keyed::Open => {
                    let children = machine.values.heap.children(value);
                    self.cached.plan.push(PatternPart::Open(children.len() as u32));
                    work.extend(children.iter().rev());
                }
                Keyed::Variable(variable) => {
                    let number = number_of(variable, self.outer);
                    self.cached.plan.push(PatternPart::Variable(self.first_outer as u32 + number));
                }
            }
        }
        Ok(())
    }
}
