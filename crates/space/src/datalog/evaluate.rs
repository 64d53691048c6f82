//! Goals, evaluated component by component.

use super::columns::Index;
use super::matched::{Matched, Patterns, Sources};
use super::plan::{Calls, ComponentPlan, Origin, Relations, RowStrategy};
use super::program::{COLUMNS_MAX, Program, Refused};
use super::step::{Columns, RulePlan, RuleStep};
use super::tuples::TupleSet;
use super::values::Values;
use crate::atom::Atom;
use crate::term::SharedTerms;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;

/// After how many rows the caller is asked whether to stop.
const ROWS_BETWEEN_LOOKS: u64 = 1 << 14;

/// What the caller decides while a goal is evaluated.
pub trait Watch {
    /// What a test says of values; `None` if they are not what it is for.
    fn test(&self, test: usize, values: &[Atom]) -> Option<bool>;

    /// Whether to give up, when `rows` more rows have been looked at and `bytes` bytes are taken in all.
    fn should_stop(&self, rows: u64, bytes: usize) -> bool;
}

/// The answers of a goal: rows of its unknown columns.
#[derive(Default)]
pub struct Found {
    /// How many columns there are.
    pub width: usize,
    /// The dense numbers of the rows, one after the other.
    pub numbers: Vec<u32>,
    /// How many rows there are.
    pub count: usize,
}

impl Found {
    /// A row by its place.
    pub fn row(&self, place: usize) -> &[u32] {
        &self.numbers[place * self.width..][..self.width]
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.numbers.len() * size_of::<u32>()
    }
}

/// A goal: the predicate, which columns are known, and what they are.
type Goal = (Calls, Box<[u32]>);

/// A program with what was found of it. It is good as long as the spaces that it asks do not change.
pub struct Datalog {
    program: Program,
    values: Rc<RefCell<Values>>,
    kept: Kept,
}

/// What is kept from one goal to the next.
#[derive(Default)]
struct Kept {
    patterns: Patterns,
    plans: FxHashMap<[u64; 2], Rc<ComponentPlan>>,
    goals: FxHashMap<Goal, Rc<Found>>,
    goals_bytes: usize,
    rounds: u64,
    rows: u64,
}

/// What an evaluation stands on.
struct Ground<'a> {
    program: &'a Program,
    values: &'a mut Values,
    kept: &'a mut Kept,
    watch: &'a dyn Watch,
    /// How many rows were looked at since the caller was asked.
    looked_at: u64,
    /// What the components around the one at hand take.
    bytes_around: usize,
}

impl Values {
    /// Terms of a dictionary, none of which has a number yet.
    pub fn of(dictionary: SharedTerms) -> Rc<RefCell<Self>> {
        Rc::new(RefCell::new(Self::new(dictionary)))
    }
}

impl Datalog {
    /// A program, with numbers for its values.
    pub fn new(program: Program, values: Rc<RefCell<Values>>) -> Self {
        Self { program, values, kept: Kept::default() }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The numbers of its values.
    pub fn values(&self) -> &Rc<RefCell<Values>> {
        &self.values
    }

    /// What was found holds no more, since spaces have changed.
    pub fn forget(&mut self) {
        let Kept { rounds, rows, .. } = self.kept;
        self.kept = Kept { rounds, rows, ..Kept::default() };
    }

    /// How many rounds there were, and how many rows were found in them.
    pub fn counts(&self) -> (u64, u64) {
        (self.kept.rounds, self.kept.rows)
    }

    /// The rows of a predicate whose columns have these values, where there is one.
    ///
    /// # Errors
    /// Rows do not answer it, or the caller has given up.
    pub fn solve(
        &mut self,
        predicate: usize,
        columns: &[Option<Atom>],
        watch: &dyn Watch,
    ) -> Result<Rc<Found>, Refused> {
        let mut values = self.values.borrow_mut();
        let bound = columns.iter().enumerate().filter(|(_, value)| value.is_some());
        let bound = bound.fold(0, |bits, (column, _)| bits | 1 << column);
        let key: Result<Box<[u32]>, Refused> =
            columns.iter().flatten().map(|value| values.number_of_atom(value)).collect();
        let (program, kept) = (&self.program, &mut self.kept);
        let before = (kept.rounds, kept.rows);
        let mut ground = Ground { program, values: &mut values, kept, watch, looked_at: 0, bytes_around: 0 };
        let found = ground.solve(Calls { predicate, bound }, &key?);
        if found.is_err() {
            // What was found for it answers nothing.
            (kept.rounds, kept.rows) = before;
        }
        found
    }
}

impl Ground<'_> {
    fn solve(&mut self, goal: Calls, key: &[u32]) -> Result<Rc<Found>, Refused> {
        let known: Goal = (goal, key.into());
        if let Some(found) = self.kept.goals.get(&known) {
            return Ok(Rc::clone(found));
        }
        let plan_key = [goal.predicate as u64, goal.bound];
        let plan = match self.kept.plans.get(&plan_key) {
            Some(plan) => Rc::clone(plan),
            None => {
                let mut sources = Sources { values: &mut *self.values, patterns: &mut self.kept.patterns };
                let plan = Rc::new(ComponentPlan::new(goal, self.program, &mut sources)?);
                self.kept.plans.insert(plan_key, Rc::clone(&plan));
                plan
            }
        };
        let found = Rc::new(Run::new(self, &plan).solve(&plan, key)?);
        self.kept.goals_bytes += found.bytes();
        self.kept.goals.insert(known, Rc::clone(&found));
        Ok(found)
    }

    fn look(&mut self, bytes: usize) -> Result<(), Refused> {
        let rows = std::mem::take(&mut self.looked_at);
        let bytes = bytes + self.bytes_around + self.kept.goals_bytes + self.values.bytes();
        if self.watch.should_stop(rows, bytes) { Err(Refused::Stopped) } else { Ok(()) }
    }
}

/// The evaluation of a component for a goal.
struct Run<'g, 'a> {
    ground: &'g mut Ground<'a>,
    relations: Vec<TupleSet>,
    indexes: Vec<Index>,
    /// For rules, and their steps, with which values they were gone through.
    seen: Vec<Vec<Option<TupleSet>>>,
}

/// Values of slots.
struct Key {
    numbers: [u32; COLUMNS_MAX],
    len: usize,
}

impl Key {
    #[inline]
    fn of(slots: &[u32], values: &[u32]) -> Self {
        let mut numbers = [0; COLUMNS_MAX];
        for (place, &slot) in numbers.iter_mut().zip(slots) {
            *place = values[slot as usize];
        }
        Self { numbers, len: slots.len() }
    }

    #[inline]
    fn get(&self) -> &[u32] {
        &self.numbers[..self.len]
    }
}

impl<'g, 'a> Run<'g, 'a> {
    fn new(ground: &'g mut Ground<'a>, plan: &ComponentPlan) -> Self {
        let relations: Vec<TupleSet> = plan.widths.iter().map(|&width| TupleSet::new(width)).collect();
        let mut run = Self { ground, relations, indexes: Vec::new(), seen: Vec::new() };
        run.begin(plan, &plan.rules);
        run
    }

    /// Begins with these rules: indexes are empty, and nothing was gone through.
    fn begin(&mut self, plan: &ComponentPlan, rules: &[RulePlan]) {
        let index = |(relation, keyed): &(usize, Vec<usize>)| Index::new(plan.widths[*relation], keyed.clone());
        self.indexes = plan.indexes.iter().map(index).collect();
        let seen = |needed: &Option<Vec<u32>>| needed.as_ref().map(|slots| TupleSet::new(slots.len()));
        self.seen = rules.iter().map(|rule| rule.needed.iter().map(seen).collect()).collect();
    }

    fn solve(mut self, plan: &ComponentPlan, key: &[u32]) -> Result<Found, Refused> {
        let calls = Relations(plan.calls.len());
        let answers = match plan.way {
            RowStrategy::Fixed => {
                self.rounds(plan, &plan.rules, Some(key))?;
                Relations::rows(0)
            }
            RowStrategy::Walk => {
                self.walk(plan, key)?;
                calls.answers()
            }
            RowStrategy::Demand => {
                if plan.calls[0].bound != 0 {
                    self.relations[calls.calls(0)].insert(key);
                }
                self.begin(plan, &plan.demand);
                self.rounds(plan, &plan.demand, None)?;
                for call in 0..plan.calls.len() {
                    self.relations[call] = TupleSet::new(plan.widths[call]);
                }
                self.begin(plan, &plan.rules);
                self.rounds(plan, &plan.rules, None)?;
                return Ok(self.keep_calls(plan, key));
            }
        };
        let width = plan.widths[answers];
        let (numbers, count) = self.relations.swap_remove(answers).into_tuples();
        self.ground.kept.rows += count as u64;
        Ok(Found { width, numbers, count })
    }

    /// Keeps the rows of all calls that were found, and gives those of the goal.
    fn keep_calls(&mut self, plan: &ComponentPlan, key: &[u32]) -> Found {
        let mut goal = Found::default();
        for (place, &calls) in plan.calls.iter().enumerate() {
            let rows = &self.relations[place];
            self.ground.kept.rows += rows.len() as u64;
            let bound = (0..rows.width()).filter(|&column| calls.is_bound(column)).collect();
            let mut index = Index::new(rows.width(), bound);
            index.take(rows);
            let width = index.others.len();
            let asked = &self.relations[Relations(plan.calls.len()).calls(place)];
            let one = [&[][..]];
            let keys: Box<dyn Iterator<Item = &[u32]>> = match calls.bound {
                0 => Box::new(one.into_iter()),
                _ => Box::new((0..asked.len()).map(|call| asked.get(call))),
            };
            for asked in keys {
                let list = index.find(asked).map(|list| index.list(list));
                let numbers = list.map_or_else(Vec::new, |list| list.numbers.clone());
                let found = Found { width, numbers, count: list.map_or(0, |list| list.count) };
                if place == 0 && asked == key {
                    goal = found;
                } else if calls.bound != 0 {
                    self.ground.kept.goals_bytes += found.bytes();
                    self.ground.kept.goals.insert((calls, asked.into()), Rc::new(found));
                }
            }
        }
        goal
    }

    /// Goes through rules in rounds until no row is new.
    fn rounds(&mut self, plan: &ComponentPlan, rules: &[RulePlan], key: Option<&[u32]>) -> Result<(), Refused> {
        let mut begun: Vec<Option<Vec<u32>>> = rules.iter().map(|rule| self.slots_of(plan, rule, key)).collect();
        let mut is_first = true;
        loop {
            for (index, (relation, _)) in self.indexes.iter_mut().zip(&plan.indexes) {
                index.take(&self.relations[*relation]);
            }
            let before: usize = self.relations.iter().map(TupleSet::len).sum();
            self.ground.kept.rounds += 1;
            for (number, (rule, slots)) in rules.iter().zip(&mut begun).enumerate() {
                let is_due = rule.last_recursive.is_some() || is_first;
                if let (true, Some(slots)) = (is_due, slots) {
                    self.extend((number, rule), 0, slots, rule.last_recursive.is_none())?;
                }
            }
            self.look()?;
            if !is_first && before == self.relations.iter().map(TupleSet::len).sum::<usize>() {
                return Ok(());
            }
            is_first = false;
        }
    }

    /// The slots of a rule at the beginning, where all calls have the values of the goal; `None` if the rule is not for them.
    fn slots_of(&mut self, plan: &ComponentPlan, rule: &RulePlan, key: Option<&[u32]>) -> Option<Vec<u32>> {
        let mut slots = rule.slots.clone();
        let Some(key) = key else { return Some(slots) };
        for (origin, entry) in plan.origins[rule.of].iter().zip(&rule.entry) {
            let value = match origin {
                Origin::Goal(place) => key[*place],
                Origin::Constant(value) => self.ground.values.number_of_atom(value).ok()?,
                Origin::Varies => unreachable!("all calls have the same values"),
            };
            if !enter(&mut slots, *entry, value) {
                return None;
            }
        }
        Some(slots)
    }

    /// Goes through calls in the order in which they are found.
    fn walk(&mut self, plan: &ComponentPlan, key: &[u32]) -> Result<(), Refused> {
        let calls = Relations(plan.calls.len());
        self.relations[calls.calls(0)].insert(key);
        let (mut queue, mut next, mut slots) = (vec![(0, 0)], 0, Vec::new());
        while let Some(&(of, place)) = queue.get(next) {
            next += 1;
            for (number, rule) in plan.rules.iter().enumerate().filter(|(_, rule)| rule.of == of) {
                slots.clone_from(&rule.slots);
                let call = self.relations[calls.calls(of)].get(place);
                if !rule.entry.iter().zip(call).all(|(&entry, &value)| enter(&mut slots, entry, value)) {
                    continue;
                }
                let before = self.relations[rule.relation].len();
                self.extend((number, rule), 0, &mut slots, true)?;
                if rule.relation != calls.answers() {
                    let of = rule.relation - calls.0;
                    queue.extend((before..self.relations[rule.relation].len()).map(|place| (of, place)));
                }
            }
        }
        self.look()
    }

    fn look(&mut self) -> Result<(), Refused> {
        let relations = self.relations.iter().chain(self.seen.iter().flatten().flatten()).map(TupleSet::bytes);
        let indexes = self.indexes.iter().map(Index::bytes);
        let matched = self.ground.kept.patterns.all.iter().map(Matched::bytes);
        let bytes = relations.chain(indexes).chain(matched).sum();
        self.ground.look(bytes)
    }

    /// Counts `rows` more rows as looked at.
    #[inline]
    fn count(&mut self, rows: usize) -> Result<(), Refused> {
        self.ground.looked_at += rows as u64 + 1;
        if self.ground.looked_at >= ROWS_BETWEEN_LOOKS { self.look() } else { Ok(()) }
    }

    /// Goes on with a rule from a step on. `has_new` says whether a row that is new in this round was used, or none is needed.
    fn extend(
        &mut self,
        (number, rule): (usize, &RulePlan),
        at: usize,
        slots: &mut Vec<u32>,
        has_new: bool,
    ) -> Result<(), Refused> {
        let Some(step) = rule.steps.get(at) else {
            let row = Key::of(&rule.head, slots);
            self.relations[rule.relation].insert(row.get());
            return Ok(());
        };
        if let (Some(needed), Some(seen)) = (&rule.needed[at], &mut self.seen[number][at])
            && !seen.insert(Key::of(needed, slots).get())
        {
            return Ok(());
        }
        let rule = (number, rule);
        match step {
            RuleStep::Rows { matched, key, outputs } => {
                self.extend_matched(rule, at, (*matched, key, outputs), slots, has_new)
            }
            RuleStep::Known { index, relation, is_recursive, columns } => {
                let columns = (*index, *relation, *is_recursive, columns);
                self.extend_known(rule, at, columns, slots, has_new)
            }
            RuleStep::Goal { predicate, bound, columns } => {
                let goal = Calls { predicate: *predicate, bound: *bound };
                let found = self.goal(goal, columns, slots)?;
                self.count(found.count)?;
                for place in 0..found.count {
                    if fill(slots, columns, found.row(place)) {
                        self.extend(rule, at + 1, slots, has_new)?;
                    }
                }
                Ok(())
            }
            RuleStep::Absent(step) => match self.is_there(step, slots)? {
                true => Ok(()),
                false => self.extend(rule, at + 1, slots, has_new),
            },
            RuleStep::Test { test, operands } => match self.test(*test, operands, slots)? {
                true => self.extend(rule, at + 1, slots, has_new),
                false => Ok(()),
            },
        }
    }

    fn test(&mut self, test: usize, operands: &[u32], slots: &[u32]) -> Result<bool, Refused> {
        let values: Vec<Atom> = operands.iter().map(|&slot| self.ground.values.atom(slots[slot as usize])).collect();
        let refused = Refused::NotRows("a test is not for such values");
        self.ground.watch.test(test, &values).ok_or(refused)
    }

    /// The rows of a goal of another component.
    fn goal(&mut self, goal: Calls, columns: &Columns, slots: &[u32]) -> Result<Rc<Found>, Refused> {
        let around = self.ground.bytes_around;
        self.ground.bytes_around += self.relations.iter().map(TupleSet::bytes).sum::<usize>();
        let found = self.ground.solve(goal, Key::of(&columns.key, slots).get());
        self.ground.bytes_around = around;
        found
    }

    /// Whether a step finds anything.
    fn is_there(&mut self, step: &RuleStep, slots: &mut [u32]) -> Result<bool, Refused> {
        match step {
            RuleStep::Rows { matched, key, .. } => {
                let [from, to] = self.find_matched(*matched, key, slots)?;
                Ok(to > from)
            }
            RuleStep::Goal { predicate, bound, columns } => {
                let goal = Calls { predicate: *predicate, bound: *bound };
                let found = self.goal(goal, columns, slots)?;
                Ok((0..found.count).any(|place| fill(slots, columns, found.row(place))))
            }
            _ => Err(Refused::NotRows("an absence is part of a recursion")),
        }
    }

    #[inline]
    fn find_matched(&mut self, matched: usize, key: &[u32], slots: &[u32]) -> Result<[u32; 2], Refused> {
        let Ground { kept, values, watch, .. } = &mut *self.ground;
        kept.patterns.all[matched].find(Key::of(key, slots).get(), values, &|| watch.should_stop(0, 0))
    }

    fn extend_matched(
        &mut self,
        (number, rule): (usize, &RulePlan),
        at: usize,
        (matched, key, outputs): (usize, &[u32], &[u32]),
        slots: &mut Vec<u32>,
        has_new: bool,
    ) -> Result<(), Refused> {
        let [from, to] = self.find_matched(matched, key, slots)?.map(|place| place as usize);
        self.count(to - from)?;
        if let ([output], true) = (outputs, at + 1 == rule.steps.len()) {
            let found = &self.ground.kept.patterns.all[matched].numbers()[from..to];
            add_all(&mut self.relations[rule.relation], &rule.head, *output, slots, found);
            return Ok(());
        }
        let width = outputs.len();
        for place in from..to {
            let found = &self.ground.kept.patterns.all[matched].numbers()[place * width..][..width];
            for (&output, &value) in outputs.iter().zip(found) {
                slots[output as usize] = value;
            }
            self.extend((number, rule), at + 1, slots, has_new)?;
        }
        Ok(())
    }

    fn extend_known(
        &mut self,
        (number, rule): (usize, &RulePlan),
        at: usize,
        (index, read, is_recursive, columns): (usize, usize, bool, &Columns),
        slots: &mut Vec<u32>,
        has_new: bool,
    ) -> Result<(), Refused> {
        let Some(list) = self.indexes[index].find(Key::of(&columns.key, slots).get()) else { return Ok(()) };
        let (count, new_from) = (self.indexes[index].list(list).count, self.indexes[index].new_from(list));
        let needs_new = is_recursive && !has_new && rule.last_recursive == Some(at);
        let from = if needs_new { new_from } else { 0 };
        self.count(count - from)?;
        if let ([output], [], true) = (&columns.outputs[..], &columns.equal[..], at + 1 == rule.steps.len()) {
            let found = &self.indexes[index].list(list).numbers[from..];
            let relation = &mut self.relations[rule.relation];
            if let ([first, second], [key]) = (&rule.head[..], &columns.key[..])
                && self.indexes[index].keyed == [0]
                && rule.relation == read
                && second == output
                && first != output
                && relation.covers([slots[*key as usize], slots[*first as usize]], found.len())
            {
                return Ok(());
            }
            add_all(relation, &rule.head, *output, slots, found);
            return Ok(());
        }
        let width = columns.outputs.len();
        for place in from..count {
            let found = &self.indexes[index].list(list).numbers[place * width..][..width];
            if fill(slots, columns, found) {
                let is_new = has_new || (is_recursive && place >= new_from);
                self.extend((number, rule), at + 1, slots, is_new)?;
            }
        }
        Ok(())
    }
}

/// Puts what was found into its slots; says whether it is equal where it must be.
#[inline]
fn fill(slots: &mut [u32], columns: &Columns, found: &[u32]) -> bool {
    for (&output, &value) in columns.outputs.iter().zip(found) {
        slots[output as usize] = value;
    }
    columns.equal.iter().all(|&[one, other]| slots[one as usize] == slots[other as usize])
}

/// Puts a value of a call into its slot; says whether it is the one that must be there.
fn enter(slots: &mut [u32], (slot, has_value): (u32, bool), value: u32) -> bool {
    let place = &mut slots[slot as usize];
    if has_value {
        return *place == value;
    }
    *place = value;
    true
}

/// Adds the rows of a head for each value of one of its slots.
fn add_all(relation: &mut TupleSet, head: &[u32], output: u32, slots: &mut [u32], found: &[u32]) {
    match *head {
        [only] if only == output => relation.insert_numbers(found),
        [first, second] if second == output && first != output => {
            relation.insert_pairs(slots[first as usize], found);
        }
        _ => {
            for &value in found {
                slots[output as usize] = value;
                relation.insert(Key::of(head, slots).get());
            }
        }
    }
}
