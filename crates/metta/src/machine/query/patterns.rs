//! Writing down what a query asks: its patterns, with what slots hold, and the values that its answers are tested for.

use crate::machine::code::{Query, QueryFilter, QueryPart, Slot, TestedValue};
use crate::machine::terms::Keyed;
use crate::machine::values::Values;
use crate::machine::words::{EMPTY, ERROR, FALSE, NOT_REDUCIBLE, SYMBOL, TERM, TRUE, term_of};
use region::Ref;
use space::{DictionaryReader, FilterValue, KeptPlan, NO_TERM, PatternPart, SharedSpace, SlotValue, Term, Terms};

/// Symbols that are no values of their own where they are arguments.
const RESERVED: [Ref; 3] = [EMPTY, ERROR, NOT_REDUCIBLE];

/// What has more parts is answered by unification.
const PARTS_MAX: usize = 1 << 16;

/// What makes a pattern unfit to be asked for as rows.
pub(super) struct NotRowShaped;

/// What a query sees of the machine: values, and the slots of the frame at hand.
pub(super) struct Seen<'a> {
    pub(super) values: &'a mut Values,
    pub(super) frame: &'a [u32],
}

impl Seen<'_> {
    /// What a slot holds, bindings followed.
    #[inline]
    fn read(&self, slot: Slot) -> Ref {
        self.values.heap.walk(Ref::from_bits(self.frame[usize::from(slot)]))
    }
}

/// What a query is given beside its patterns, as it was read from slots.
#[derive(Default)]
pub(super) struct QueryInputs {
    pub(super) parameters: Vec<Term>,
    /// The variables from outside, in the order in which they are met.
    pub(super) outer: Vec<Ref>,
    /// The values in tests that the query does not bind.
    pub(super) tested: Vec<FilterValue>,
    /// The spaces that are asked beside the first.
    pub(super) others: Vec<SharedSpace>,
}

impl QueryInputs {
    /// Makes the plan of a query ready, and reads the keys in its slots; `false` if its answers cannot all be rows.
    #[inline]
    pub(super) fn plan(
        &mut self,
        query: &mut Query,
        seen: &mut Seen<'_>,
        dictionary: &mut DictionaryReader<'_>,
    ) -> bool {
        let Self { parameters, outer, .. } = self;
        outer.clear();
        let value = |&slot: &Slot| {
            let value = seen.read(slot);
            let known = seen.values.known_key(value);
            match known.unwrap_or_else(|| seen.values.key_of(value, dictionary.terms())) {
                Keyed::Key(key) => SlotValue::Key(key),
                Keyed::Variable(variable) => SlotValue::Variable(number_of(variable, outer)),
                Keyed::Open | Keyed::NotRowShaped => SlotValue::Other,
            }
        };
        if query.kept.serves(query.slots.iter().map(value), parameters) {
            return true;
        }
        self.write(query, seen, dictionary.terms()).is_ok()
    }

    /// Writes down what is asked for. Variables from outside are numbered after the new ones.
    fn write(&mut self, query: &mut Query, seen: &mut Seen<'_>, terms: &Terms) -> Result<(), NotRowShaped> {
        let Query { kept, patterns, fused, filters, fresh, may_join, .. } = query;
        kept.begin();
        self.parameters.clear();
        self.outer.clear();
        let first_outer = fresh.len();
        let Self { parameters, outer, .. } = self;
        let mut writer = Writer { kept, parameters, outer, first_outer, own_after: 0, seen, terms };
        for (number, parts) in patterns.iter().enumerate() {
            parts.iter().try_for_each(|&part| writer.part(part, parts.len() == 1))?;
            writer.kept.plan.end_pattern_in(fused.as_ref().map_or(0, |fused| fused.places[number]));
        }
        if writer.filters(&filters.filters).is_err() {
            kept.serve_once();
            return Err(NotRowShaped);
        }
        let head = kept.plan.head();
        if *may_join && head.is_none_or(|head| head != NO_TERM && terms.atom(head).is_symbol(",")) {
            kept.serve_once();
            return Err(NotRowShaped);
        }
        Ok(())
    }

    /// Reads the spaces that a query asks beside the first; `false` if something else is there.
    #[inline]
    pub(super) fn read_others(&mut self, query: &Query, seen: &Seen<'_>) -> bool {
        self.others.clear();
        let Some(fused) = &query.fused else { return true };
        let space = |&slot: &Slot| seen.values.space_of(seen.read(slot)).cloned();
        self.others.extend(fused.others.iter().filter_map(space));
        self.others.len() == fused.others.len()
    }

    /// Reads the values in the tests of a query that it does not bind; gives the keys of symbols that no test decides about.
    #[inline]
    pub(super) fn read_tested(
        &mut self,
        query: &Query,
        seen: &mut Seen<'_>,
        dictionary: &mut DictionaryReader<'_>,
    ) -> [Term; RESERVED.len()] {
        if query.filters.filters.is_empty() {
            return [NO_TERM; RESERVED.len()];
        }
        self.tested.clear();
        self.tested.extend(query.filters.values.iter().map(|value| {
            let value = match *value {
                TestedValue::Slot(slot) => seen.read(slot),
                TestedValue::Leaf(leaf) => leaf,
            };
            tested_value(value, seen.values, dictionary.terms())
        }));
        RESERVED.map(|name| match seen.values.key_of(name, dictionary.terms()) {
            Keyed::Key(key) => key,
            _ => NO_TERM,
        })
    }
}

/// A value as tests see it. What is to be evaluated first is not decided about.
fn tested_value(value: Ref, values: &mut Values, terms: &Terms) -> FilterValue {
    if let Some(number) = values.number_of(value) {
        return FilterValue::Number(number);
    }
    match value {
        TRUE => FilterValue::Truth(true),
        FALSE => FilterValue::Truth(false),
        value if RESERVED.contains(&value) => FilterValue::Undecided,
        value if value.tag() == SYMBOL => match values.key_of(value, terms) {
            Keyed::Key(key) if key != NO_TERM => FilterValue::Symbol(key),
            _ => FilterValue::Undecided,
        },
        _ => FilterValue::Undecided,
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
struct Writer<'a, 's> {
    kept: &'a mut KeptPlan,
    parameters: &'a mut Vec<Term>,
    outer: &'a mut Vec<Ref>,
    first_outer: usize,
    /// The first number of what only the patterns of a filter bind.
    own_after: u32,
    seen: &'a mut Seen<'s>,
    terms: &'a Terms,
}

impl Writer<'_, '_> {
    /// A part of a pattern.
    fn part(&mut self, part: QueryPart, is_whole: bool) -> Result<(), NotRowShaped> {
        match part {
            QueryPart::Open(0) if !is_whole => self.unit(),
            QueryPart::Open(length) => self.kept.plan.push(PatternPart::Open(length)),
            QueryPart::New(variable) => {
                let own = (variable as usize).checked_sub(self.first_outer);
                let number = own.map_or(variable, |own| self.own_after + own as u32);
                self.kept.plan.push(PatternPart::Variable(number));
            }
            QueryPart::Leaf(leaf) => self.leaf(leaf)?,
            QueryPart::Slot(slot) if is_whole => self.whole(self.seen.read(slot))?,
            QueryPart::Slot(slot) => self.slot(self.seen.read(slot))?,
        }
        Ok(())
    }

    /// The filters, of which those that look for answers have patterns.
    fn filters(&mut self, filters: &[QueryFilter]) -> Result<(), NotRowShaped> {
        let outer = self.outer.len();
        self.own_after = (self.first_outer + outer) as u32;
        for filter in filters {
            let (patterns, drops) = match filter {
                QueryFilter::Test(test) => {
                    self.kept.plan.filter(test.clone());
                    continue;
                }
                QueryFilter::Absence { patterns, drops } => (patterns, *drops),
            };
            let plan = std::mem::take(&mut self.kept.plan);
            for (place, parts) in patterns {
                let is_unit = matches!(parts[..], [QueryPart::Open(0)]);
                parts.iter().try_for_each(|&part| self.part(part, is_unit))?;
                self.kept.plan.end_pattern_in(*place);
            }
            let looked_for = std::mem::replace(&mut self.kept.plan, plan);
            let is_planned = self.kept.plan.filter_by(&looked_for, self.own_after, drops);
            // What a variable from outside stands for is found by the patterns of the query, or not at all.
            if !is_planned || self.outer.len() > outer {
                return Err(NotRowShaped);
            }
        }
        Ok(())
    }

    /// A leaf of the code. One that was never interned may be later, so the plan serves once.
    fn leaf(&mut self, leaf: Ref) -> Result<(), NotRowShaped> {
        match self.seen.values.key_of(leaf, self.terms) {
            Keyed::Key(key) => self.kept.push_key(key),
            _ => {
                self.kept.serve_once();
                self.value(leaf)?;
            }
        }
        Ok(())
    }

    /// `()`, which is a term like a leaf: rows are found by it.
    fn unit(&mut self) {
        self.kept.push_key(self.terms.find_row(&[]).unwrap_or(NO_TERM));
    }

    /// What a slot holds: a parameter, a variable from outside, or an expression with variables, whose plan serves once.
    fn slot(&mut self, value: Ref) -> Result<(), NotRowShaped> {
        let held = match self.seen.values.key_of(value, self.terms) {
            Keyed::Key(key) => SlotValue::Key(key),
            Keyed::Variable(variable) => SlotValue::Variable(number_of(variable, self.outer)),
            Keyed::Open => SlotValue::Other,
            Keyed::NotRowShaped => return Err(NotRowShaped),
        };
        self.kept.push_slot(held, self.first_outer as u32, self.parameters);
        if held == SlotValue::Other { self.value(value) } else { Ok(()) }
    }

    /// A value that is a pattern by itself: a row has columns, even if all of it is known. The plan serves once.
    fn whole(&mut self, value: Ref) -> Result<(), NotRowShaped> {
        self.kept.serve_once();
        let value = self.seen.values.heap.walk(value);
        if value.tag() == TERM {
            let children = self.terms.children(term_of(value)).unwrap_or_default();
            self.kept.plan.push(PatternPart::Open(children.len() as u32));
            children.iter().for_each(|&child| self.kept.plan.push(PatternPart::Key(self.terms.key(child))));
            return Ok(());
        }
        if !value.is_expression() {
            return self.value(value);
        }
        let length = self.seen.values.heap.length(value);
        self.kept.plan.push(PatternPart::Open(length as u32));
        (0..length).try_for_each(|place| self.value(self.seen.values.heap.child(value, place)))
    }

    /// What a value asks for.
    fn value(&mut self, value: Ref) -> Result<(), NotRowShaped> {
        let (mut work, mut parts) = (vec![value], 0);
        while let Some(value) = work.pop() {
            let value = self.seen.values.heap.walk(value);
            parts += 1;
            match self.seen.values.key_of(value, self.terms) {
                // A part that is shared counts wherever it stands.
                Keyed::Open if parts > PARTS_MAX => return Err(NotRowShaped),
                Keyed::Key(key) => self.kept.plan.push(PatternPart::Key(key)),
                Keyed::NotRowShaped => return Err(NotRowShaped),
                Keyed::Open if self.seen.values.heap.length(value) == 0 => self.unit(),
                Keyed::Open => {
                    let children = self.seen.values.heap.children(value);
                    self.kept.plan.push(PatternPart::Open(children.len() as u32));
                    work.extend(children.iter().rev());
                }
                Keyed::Variable(variable) => {
                    let number = number_of(variable, self.outer);
                    self.kept.plan.push(PatternPart::Variable(self.first_outer as u32 + number));
                }
            }
        }
        Ok(())
    }
}
