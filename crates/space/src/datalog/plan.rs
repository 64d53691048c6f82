//! Plans of components: which calls there are, and how their rows are found.

use super::matched::Sources;
use super::program::{Operand, Part, Program, Refused, Rule};
use super::step::{Columns, RulePlan, RuleStep};
use crate::atom::Atom;
use std::collections::BTreeMap;

/// Calls of a predicate with some columns known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Calls {
    pub(super) predicate: usize,
    /// The columns that are known, a bit for each.
    pub(super) bound: u64,
}

impl Calls {
    pub(super) fn is_bound(self, column: usize) -> bool {
        self.bound >> column & 1 == 1
    }
}

/// Which value a known column has in all calls.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Origin {
    /// That of the goal, in its place among the known ones.
    Goal(usize),
    /// This one.
    Constant(Atom),
    /// It is not the same in all calls.
    Varies,
}

/// How the rows of a component are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowStrategy {
    /// All calls have the values of the goal.
    Fixed,
    /// One call after the other.
    Walk,
    /// Calls first, then rows.
    Demand,
}

/// What is to be done for a goal.
pub(super) struct ComponentPlan {
    pub(super) way: RowStrategy,
    /// All calls, that of the goal first, and which values they have.
    pub(super) calls: Vec<Calls>,
    pub(super) origins: Vec<Vec<Origin>>,
    /// How many columns the relations have: for each call its rows, then for each its calls, then the answers.
    pub(super) widths: Vec<usize>,
    /// The relation and the columns of each index.
    pub(super) indexes: Vec<(usize, Vec<usize>)>,
    /// The rules: those that find calls, and those that find rows.
    pub(super) demand: Vec<RulePlan>,
    pub(super) rules: Vec<RulePlan>,
}

/// Where calls, rows and answers are among the relations of this many calls.
pub(super) struct Relations(pub(super) usize);

impl Relations {
    pub(super) fn rows(call: usize) -> usize {
        call
    }

    pub(super) fn calls(&self, call: usize) -> usize {
        self.0 + call
    }

    pub(super) fn answers(&self) -> usize {
        2 * self.0
    }
}

/// What is known where a rule is gone through: which variables have values.
fn is_known(operand: &Operand, known: &[bool]) -> bool {
    match operand {
        Operand::Variable(variable) => known[*variable as usize],
        Operand::Constant(_) => true,
    }
}

/// Which variables have values when a rule is begun for a call.
fn known_at_first(rule: &Rule, calls: Calls) -> Vec<bool> {
    let mut known = vec![false; rule.variables as usize];
    rule.fixed.iter().for_each(|&(variable, _)| known[variable as usize] = true);
    for (column, operand) in rule.head.iter().enumerate() {
        if let (true, Operand::Variable(variable)) = (calls.is_bound(column), operand) {
            known[*variable as usize] = true;
        }
    }
    known
}

/// Notes the variables that have values after a part.
fn know(part: &Part, known: &mut [bool]) {
    match part {
        Part::Match { variables, .. } => variables.iter().for_each(|&(_, number)| known[number as usize] = true),
        Part::Call { columns, .. } => columns.iter().for_each(|column| {
            if let Operand::Variable(variable) = column {
                known[*variable as usize] = true;
            }
        }),
        Part::Absent(_) | Part::Test { .. } => {}
    }
}

/// The known columns of a call: arguments only, so that a call has rows of all results.
fn bound_of(columns: &[Operand], arguments: usize, known: &[bool]) -> u64 {
    let bound = columns.iter().take(arguments).enumerate().filter(|(_, column)| is_known(column, known));
    bound.fold(0, |bits, (column, _)| bits | 1 << column)
}

/// Finds out what calls there are.
struct CallFinder<'a> {
    program: &'a Program,
    goal: Calls,
    found: BTreeMap<Calls, Vec<Option<Origin>>>,
    order: Vec<Calls>,
}

impl CallFinder<'_> {
    /// The calls of a rule to its own component, each with its place among the parts.
    fn calls_of(&self, calls: Calls, rule: &Rule) -> Vec<(usize, Calls)> {
        let component = &self.program.components[calls.predicate];
        let (mut known, mut found) = (known_at_first(rule, calls), Vec::new());
        for (place, part) in rule.parts.iter().enumerate() {
            if let Part::Call { predicate, columns } = part
                && component.contains(predicate)
            {
                let bound = bound_of(columns, self.program.predicates[*predicate].arguments, &known);
                found.push((place, Calls { predicate: *predicate, bound }));
            }
            know(part, &mut known);
        }
        found
    }

    fn find(&mut self) {
        let mut next = 0;
        self.order.push(self.goal);
        while let Some(&calls) = self.order.get(next) {
            next += 1;
            for rule in &self.program.predicates[calls.predicate].rules {
                for (_, called) in self.calls_of(calls, rule) {
                    if !self.order.contains(&called) {
                        self.order.push(called);
                    }
                }
            }
        }
        // Where all rows are found, those of calls are among them.
        let all = self.order.clone();
        self.order.retain(|calls| calls.bound == 0 || !all.contains(&Calls { bound: 0, ..*calls }));
    }

    /// Which values the known columns have, found from the goal on.
    fn find_origins(&mut self) {
        let goal = self.order[0];
        let first = (0..goal.bound.count_ones() as usize).map(|place| Some(Origin::Goal(place))).collect();
        self.found = self.order.iter().map(|&calls| (calls, vec![None; calls.bound.count_ones() as usize])).collect();
        self.found.insert(goal, first);
        loop {
            let before = self.found.clone();
            for calls in self.order.clone() {
                for rule in &self.program.predicates[calls.predicate].rules {
                    for (place, called) in self.calls_of(calls, rule) {
                        self.merge(calls, rule, place, called);
                    }
                }
            }
            if before == self.found {
                return;
            }
        }
    }

    fn merge(&mut self, calls: Calls, rule: &Rule, place: usize, called: Calls) {
        let Part::Call { columns, .. } = &rule.parts[place] else { unreachable!("it is a call") };
        let bound = columns.iter().enumerate().filter(|(column, _)| called.is_bound(*column));
        let origins: Vec<Option<Origin>> = bound.map(|(_, column)| self.origin_of(calls, rule, column)).collect();
        let Some(merged) = self.found.get_mut(&called) else { return };
        for (known, origin) in merged.iter_mut().zip(origins) {
            *known = match (known.take(), origin) {
                (None, origin) => origin,
                (known, None) => known,
                (Some(known), Some(origin)) => Some(if known == origin { known } else { Origin::Varies }),
            };
        }
    }

    /// The value of an operand in a rule of a call.
    fn origin_of(&self, calls: Calls, rule: &Rule, operand: &Operand) -> Option<Origin> {
        let variable = match operand {
            Operand::Constant(value) => return Some(Origin::Constant(value.clone())),
            Operand::Variable(variable) => variable,
        };
        let bound = rule.head.iter().enumerate().filter(|(column, _)| calls.is_bound(*column));
        let place = bound.map(|(_, column)| column).position(|column| column == operand);
        if let Some(place) = place {
            return self.found[&calls][place].clone();
        }
        let fixed = rule.fixed.iter().find(|(fixed, _)| fixed == variable);
        Some(fixed.map_or(Origin::Varies, |(_, value)| Origin::Constant(value.clone())))
    }

    /// Whether each recursive call is the last part of its rule, and its rows are those of the rule.
    fn is_walk(&self) -> bool {
        self.order.iter().all(|&calls| {
            self.program.predicates[calls.predicate].rules.iter().all(|rule| {
                let found = self.calls_of(calls, rule);
                match found.as_slice() {
                    [] => true,
                    [(place, called)] => {
                        let is_last = *place + 1 == rule.parts.len() && self.order.contains(called);
                        is_last && is_passed_on(calls, rule, *called)
                    }
                    _ => false,
                }
            })
        })
    }
}

/// Whether the free columns of a rule's last part are those of its head.
fn is_passed_on(calls: Calls, rule: &Rule, called: Calls) -> bool {
    let Some(Part::Call { columns, .. }) = rule.parts.last() else { return false };
    let free = |operands: &[Operand], calls: Calls| -> Vec<Operand> {
        let free = operands.iter().enumerate().filter(|(column, _)| !calls.is_bound(*column));
        free.map(|(_, operand)| operand.clone()).collect()
    };
    let (own, passed) = (free(&rule.head, calls), free(columns, called));
    let mut known = known_at_first(rule, calls);
    rule.parts[..rule.parts.len() - 1].iter().for_each(|part| know(part, &mut known));
    let is_new = |operand: &Operand| !is_known(operand, &known);
    let are_distinct = own.iter().enumerate().all(|(place, operand)| !own[..place].contains(operand));
    own == passed && own.iter().all(is_new) && are_distinct
}

impl ComponentPlan {
    /// Plans a goal.
    pub(super) fn new(goal: Calls, program: &Program, sources: &mut Sources<'_>) -> Result<Self, Refused> {
        let mut finder = CallFinder { program, goal, found: BTreeMap::new(), order: Vec::new() };
        finder.find();
        let has_all = finder.order[0] != goal;
        if has_all {
            // All rows are found for a call of the goal: it is a part of those.
            return Err(Refused::NotRows("a call with known arguments asks for all rows"));
        }
        for calls in &finder.order {
            if calls.bound != 0 && !program.predicates[calls.predicate].is_total {
                return Err(Refused::NotRows("a call may match no rule"));
            }
        }
        finder.find_origins();
        let origins: Vec<Vec<Origin>> = finder
            .order
            .iter()
            .map(|calls| finder.found[calls].iter().map(|origin| origin.clone().unwrap_or(Origin::Varies)).collect())
            .collect();
        let is_fixed = origins.iter().flatten().all(|origin| *origin != Origin::Varies);
        let way = match () {
            () if is_fixed => RowStrategy::Fixed,
            () if finder.is_walk() => RowStrategy::Walk,
            () => RowStrategy::Demand,
        };
        let calls = finder.order;
        let mut plan = Self {
            way,
            origins,
            widths: Vec::new(),
            indexes: Vec::new(),
            demand: Vec::new(),
            rules: Vec::new(),
            calls,
        };
        plan.set_widths(program);
        plan.make_rules(program, sources)?;
        Ok(plan)
    }

    fn set_widths(&mut self, program: &Program) {
        let width = |calls: &Calls| program.predicates[calls.predicate].columns();
        let known = |calls: &Calls| calls.bound.count_ones() as usize;
        let rows = self.calls.iter().map(|calls| match self.way {
            RowStrategy::Fixed => width(calls) - known(calls),
            RowStrategy::Walk | RowStrategy::Demand => width(calls),
        });
        let answers = width(&self.calls[0]) - known(&self.calls[0]);
        self.widths = rows.chain(self.calls.iter().map(known)).chain([answers]).collect();
    }

    fn make_rules(&mut self, program: &Program, sources: &mut Sources<'_>) -> Result<(), Refused> {
        let mut needs_rows = false;
        for of in 0..self.calls.len() {
            let predicate = self.calls[of].predicate;
            for rule in 0..program.predicates[predicate].rules.len() {
                if self.way == RowStrategy::Demand {
                    for end in 0..program.predicates[predicate].rules[rule].parts.len() {
                        let made = RuleBuilder::new(self, program, sources, of, rule)?.demand(end)?;
                        needs_rows |= made.as_ref().is_some_and(|made| self.reads_rows(made));
                        self.demand.extend(made);
                    }
                }
                let made = RuleBuilder::new(self, program, sources, of, rule)?.rows(false)?;
                self.rules.push(made);
            }
        }
        if needs_rows {
            for of in 0..self.calls.len() {
                for rule in 0..program.predicates[self.calls[of].predicate].rules.len() {
                    let made = RuleBuilder::new(self, program, sources, of, rule)?.rows(true)?;
                    self.demand.push(made);
                }
            }
        }
        Ok(())
    }

    /// Whether a rule that finds calls looks at rows of its component. One whose own calls have no known column begins with them.
    fn reads_rows(&self, rule: &RulePlan) -> bool {
        let rows = 0..self.calls.len();
        rule.steps.iter().any(|step| matches!(step, RuleStep::Known { relation, .. } if rows.contains(relation)))
    }

    /// The number of an index.
    fn index(&mut self, relation: usize, keyed: Vec<usize>) -> usize {
        let wanted = (relation, keyed);
        let known = self.indexes.iter().position(|known| *known == wanted);
        known.unwrap_or_else(|| {
            self.indexes.push(wanted);
            self.indexes.len() - 1
        })
    }
}

/// Makes a rule ready.
struct RuleBuilder<'p, 'g, 'a> {
    plan: &'p mut ComponentPlan,
    sources: &'g mut Sources<'a>,
    program: &'p Program,
    rule: &'p Rule,
    /// Which predicate and rule it is.
    place: [usize; 2],
    known: Vec<bool>,
    made: RulePlan,
}

impl<'p, 'g, 'a> RuleBuilder<'p, 'g, 'a> {
    fn new(
        plan: &'p mut ComponentPlan,
        program: &'p Program,
        sources: &'g mut Sources<'a>,
        of: usize,
        number: usize,
    ) -> Result<Self, Refused> {
        let calls = plan.calls[of];
        let rule = &program.predicates[calls.predicate].rules[number];
        let made = RulePlan {
            of,
            slots: vec![0; rule.variables as usize],
            entry: Vec::new(),
            steps: Vec::new(),
            needed: Vec::new(),
            last_recursive: None,
            relation: of,
            head: Vec::new(),
        };
        let known = vec![false; rule.variables as usize];
        let mut builder = Self { plan, sources, program, rule, place: [calls.predicate, number], known, made };
        for (variable, value) in &rule.fixed {
            builder.made.slots[*variable as usize] = builder.sources.number_of(value)?;
            builder.known[*variable as usize] = true;
        }
        let bound = rule.head.iter().enumerate().filter(|(column, _)| calls.is_bound(*column));
        for (_, operand) in bound {
            let is_known = is_known(operand, &builder.known);
            let slot = builder.slot(operand)?;
            builder.made.entry.push((slot, is_known));
            if let Operand::Variable(variable) = operand {
                builder.known[*variable as usize] = true;
            }
        }
        Ok(builder)
    }

    fn calls(&self) -> Calls {
        self.plan.calls[self.made.of]
    }

    /// The slot of an operand: that of its variable, or of a value.
    fn slot(&mut self, operand: &Operand) -> Result<u32, Refused> {
        match operand {
            Operand::Variable(variable) => Ok(*variable),
            Operand::Constant(value) => {
                let number = self.sources.number_of(value)?;
                self.made.slots.push(number);
                Ok(self.made.slots.len() as u32 - 1)
            }
        }
    }

    /// The rule as one that finds the calls of one of its parts; `None` if that part does not call its component.
    fn demand(mut self, end: usize) -> Result<Option<RulePlan>, Refused> {
        let Part::Call { predicate, columns } = &self.rule.parts[end] else { return Ok(None) };
        if !self.program.components[self.calls().predicate].contains(predicate) {
            return Ok(None);
        }
        self.begin_with_call(true);
        for place in 0..end {
            self.part(place, true)?;
        }
        let bound = bound_of(columns, self.program.predicates[*predicate].arguments, &self.known);
        let Some(called) = self.place_of(Calls { predicate: *predicate, bound }) else { return Ok(None) };
        if self.plan.calls[called].bound == 0 {
            return Ok(None);
        }
        self.made.relation = Relations(self.plan.calls.len()).calls(called);
        self.made.head = self.bound_slots(columns, self.plan.calls[called])?;
        self.made.find_needed();
        Ok(Some(self.made))
    }

    /// The place of calls, or of those that ask for all rows.
    fn place_of(&self, wanted: Calls) -> Option<usize> {
        let find = |wanted: Calls| self.plan.calls.iter().position(|&calls| calls == wanted);
        find(Calls { bound: 0, ..wanted }).or_else(|| find(wanted))
    }

    /// The slots of the columns that are known in a call.
    fn bound_slots(&mut self, columns: &[Operand], calls: Calls) -> Result<Vec<u32>, Refused> {
        let bound = columns.iter().enumerate().filter(|(column, _)| calls.is_bound(*column));
        bound.map(|(_, column)| self.slot(column)).collect()
    }

    /// Where calls are found first, a rule begins with them.
    fn begin_with_call(&mut self, is_recursive: bool) {
        if self.calls().bound == 0 {
            return;
        }
        let relation = Relations(self.plan.calls.len()).calls(self.made.of);
        let index = self.plan.index(relation, Vec::new());
        let mut columns = Columns { key: Vec::new(), outputs: Vec::new(), equal: Vec::new() };
        for (slot, has_value) in std::mem::take(&mut self.made.entry) {
            let output = if has_value { self.spare_slot() } else { slot };
            columns.outputs.push(output);
            if has_value {
                columns.equal.push([output, slot]);
            }
        }
        self.made.steps.push(RuleStep::Known { index, relation, is_recursive, columns });
    }

    fn spare_slot(&mut self) -> u32 {
        self.made.slots.push(0);
        self.made.slots.len() as u32 - 1
    }

    /// The rule as one that finds rows, or answers, or the next call; `true` while calls are still found.
    fn rows(mut self, finds_calls: bool) -> Result<RulePlan, Refused> {
        let calls = self.calls();
        let mut parts = self.rule.parts.len();
        let mut head: Vec<Operand> = self.rule.head.clone();
        match self.plan.way {
            RowStrategy::Demand => self.begin_with_call(finds_calls),
            RowStrategy::Fixed => head = free(&head, calls),
            RowStrategy::Walk => {
                self.made.relation = Relations(self.plan.calls.len()).answers();
                head = free(&head, calls);
                let component = &self.program.components[calls.predicate];
                if let Some(Part::Call { predicate, .. }) = self.rule.parts.last()
                    && component.contains(predicate)
                {
                    parts -= 1;
                }
            }
        }
        for place in 0..parts {
            self.part(place, true)?;
        }
        if parts < self.rule.parts.len() {
            let Some(Part::Call { predicate, columns }) = self.rule.parts.last() else { unreachable!("it is a call") };
            let bound = bound_of(columns, self.program.predicates[*predicate].arguments, &self.known);
            let called = self.place_of(Calls { predicate: *predicate, bound }).expect("calls were found");
            self.made.relation = Relations(self.plan.calls.len()).calls(called);
            self.made.head = self.bound_slots(columns, self.plan.calls[called])?;
        } else {
            if !head.iter().all(|operand| is_known(operand, &self.known)) {
                return Err(Refused::NotRows("a rule leaves a variable of its head without a value"));
            }
            self.made.head = head.iter().map(|operand| self.slot(operand)).collect::<Result<_, _>>()?;
        }
        self.made.find_needed();
        Ok(self.made)
    }

    /// Adds the step of a part.
    fn part(&mut self, place: usize, is_recursive: bool) -> Result<(), Refused> {
        let part = &self.rule.parts[place];
        let step = self.step(part, place, is_recursive)?;
        self.made.steps.push(step);
        know(part, &mut self.known);
        Ok(())
    }

    fn step(&mut self, part: &Part, place: usize, is_recursive: bool) -> Result<RuleStep, Refused> {
        match part {
            Part::Match { space, query, variables } => {
                let numbers = variables.iter().map(|&(_, number)| number);
                let key: Vec<u32> = numbers.filter(|&number| self.known[number as usize]).collect();
                let [predicate, rule] = self.place;
                let (matched, outputs) =
                    self.sources.matched([predicate, rule, place], (space, query), variables, &key)?;
                Ok(RuleStep::Rows { matched, key, outputs })
            }
            Part::Call { predicate, columns } => {
                let component = &self.program.components[self.calls().predicate];
                let bound = bound_of(columns, self.program.predicates[*predicate].arguments, &self.known);
                let called = Calls { predicate: *predicate, bound };
                match component.contains(predicate) {
                    true => self.known_step(called, columns, is_recursive),
                    false => {
                        let columns = self.columns(columns, &|column| called.is_bound(column))?;
                        Ok(RuleStep::Goal { predicate: *predicate, bound, columns })
                    }
                }
            }
            Part::Absent(inner) => Ok(RuleStep::Absent(Box::new(self.step(inner, place, false)?))),
            Part::Test { test, operands } => {
                if !operands.iter().all(|operand| is_known(operand, &self.known)) {
                    return Err(Refused::NotRows("a test looks at a variable without a value"));
                }
                let operands = operands.iter().map(|operand| self.slot(operand)).collect::<Result<_, _>>()?;
                Ok(RuleStep::Test { test: *test, operands })
            }
        }
    }

    /// A step through the rows of a call of the component.
    fn known_step(&mut self, called: Calls, columns: &[Operand], is_recursive: bool) -> Result<RuleStep, Refused> {
        let place = self.place_of(called).expect("calls were found");
        let calls = self.plan.calls[place];
        // Rows of calls that all have the same values do not hold these.
        let kept: Vec<Operand> =
            if self.plan.way == RowStrategy::Fixed { free(columns, calls) } else { columns.to_vec() };
        let keyed: Vec<usize> = (0..kept.len()).filter(|&column| is_known(&kept[column], &self.known)).collect();
        let relation = Relations::rows(place);
        let index = self.plan.index(relation, keyed.clone());
        let columns = self.columns(&kept, &|column| keyed.contains(&column))?;
        Ok(RuleStep::Known { index, relation, is_recursive, columns })
    }

    /// What is known and what is found of columns.
    fn columns(&mut self, operands: &[Operand], is_key: &dyn Fn(usize) -> bool) -> Result<Columns, Refused> {
        let mut columns = Columns { key: Vec::new(), outputs: Vec::new(), equal: Vec::new() };
        for (column, operand) in operands.iter().enumerate() {
            let slot = self.slot(operand)?;
            if is_key(column) {
                columns.key.push(slot);
            } else if is_known(operand, &self.known) || columns.outputs.contains(&slot) {
                let spare = self.spare_slot();
                columns.outputs.push(spare);
                columns.equal.push([spare, slot]);
            } else {
                columns.outputs.push(slot);
            }
        }
        Ok(columns)
    }
}

/// The operands of columns that are not known in a call.
fn free(operands: &[Operand], calls: Calls) -> Vec<Operand> {
    let free = operands.iter().enumerate().filter(|(column, _)| !calls.is_bound(*column));
    free.map(|(_, operand)| operand.clone()).collect()
}
