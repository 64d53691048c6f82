//! What patterns find: each is asked once for given values, and its answers are kept as dense numbers.

use super::columns::Keys;
use super::program::Refused;
use super::values::Values;
use crate::atom::{Atom, Variable};
use crate::query::{Executor, NO_TERM, PatternPart, Plan, Question, ShouldStop, conjunction};
use crate::space_handle::SharedSpace;
use crate::term::{DictionaryReader, Term, Terms};
use rustc_hash::FxHashMap;

/// A pattern, or a conjunction, some of whose variables are known when it is asked.
pub(super) struct Matched {
    space: SharedSpace,
    plan: Plan,
    /// How many values an answer has.
    pub(super) width: usize,
    keys: Keys,
    ranges: Vec<[u32; 2]>,
    numbers: Vec<u32>,
    parameters: Vec<Term>,
    executor: Executor,
}

/// A predicate, a rule, a part of it, and which of its variables are known.
type Place = ([usize; 3], Vec<u32>);

/// The patterns of a program, each by its predicate, its rule and its part, and by which of its variables are known.
#[derive(Default)]
pub(super) struct Patterns {
    pub(super) all: Vec<Matched>,
    places: FxHashMap<Place, (usize, Vec<u32>)>,
}

/// What rules are made ready from.
pub(super) struct Sources<'a> {
    pub(super) values: &'a mut Values,
    pub(super) patterns: &'a mut Patterns,
}

impl Sources<'_> {
    /// The number of a value.
    pub(super) fn number_of(&mut self, value: &Atom) -> Result<u32, Refused> {
        self.values.number_of_atom(value)
    }

    /// The pattern at a place of the program, with these variables known, and which variables it finds.
    pub(super) fn matched(
        &mut self,
        place: [usize; 3],
        asked: (&SharedSpace, &Atom),
        names: &[(Variable, u32)],
        known: &[u32],
    ) -> Result<(usize, Vec<u32>), Refused> {
        let key = (place, known.to_vec());
        let Patterns { all, places } = &mut *self.patterns;
        if let Some(made) = places.get(&key) {
            return Ok(made.clone());
        }
        let (matched, outputs) = Matched::new(asked, names, known, self.values)?;
        all.push(matched);
        let made = (all.len() - 1, outputs);
        places.insert(key, made.clone());
        Ok(made)
    }
}

/// A pattern of more parts, each counted wherever it stands, is not asked for as rows.
const PARTS_MAX: usize = 1 << 16;

/// Writes a query down for a plan: known variables are parameters, the others are numbered as they occur.
struct Writer<'a> {
    plan: &'a mut Plan,
    parameters: &'a [u32],
    outputs: Vec<u32>,
    terms: &'a Terms,
}

impl Writer<'_> {
    fn pattern(&mut self, pattern: &Atom, names: &[(Variable, u32)]) -> Result<(), Refused> {
        let (mut work, mut parts) = (vec![pattern], 0);
        while let Some(atom) = work.pop() {
            parts += 1;
            match atom {
                Atom::Variable(variable) => {
                    let number = names.iter().find(|(name, _)| name == variable).expect("it has a number").1;
                    let part = match self.parameters.iter().position(|&known| known == number) {
                        Some(place) => PatternPart::Parameter(place as u32),
                        None => PatternPart::Variable(self.output(number)),
                    };
                    self.plan.push(part);
                }
                // A row has columns, even if all of it is known.
                Atom::Expression(_) if parts > PARTS_MAX => return Err(Refused::NotRows("a pattern is too long")),
                Atom::Expression(inner) if !atom.is_ground() || std::ptr::eq(atom, pattern) => {
                    self.plan.push(PatternPart::Open(inner.len() as u32));
                    work.extend(inner.children().iter().rev());
                }
                atom if atom.is_rigid() => {
                    self.plan.push(PatternPart::Key(self.terms.find_key(atom).unwrap_or(NO_TERM)));
                }
                _ => return Err(Refused::NotRows("a pattern holds a space or a state")),
            }
        }
        self.plan.end_pattern();
        Ok(())
    }

    fn output(&mut self, variable: u32) -> u32 {
        let known = self.outputs.iter().position(|&known| known == variable);
        known.unwrap_or_else(|| {
            self.outputs.push(variable);
            self.outputs.len() - 1
        }) as u32
    }
}

impl Matched {
    /// A query whose variables have numbers; those that are parameters are known when it is asked. Also gives the numbers of the
    /// others, in the order of an answer.
    pub(super) fn new(
        (space, query): (&SharedSpace, &Atom),
        names: &[(Variable, u32)],
        parameters: &[u32],
        values: &Values,
    ) -> Result<(Self, Vec<u32>), Refused> {
        let mut plan = Plan::default();
        let terms = values.dictionary().read().expect("no panic while terms are locked");
        let mut writer = Writer { plan: &mut plan, parameters, outputs: Vec::new(), terms: &terms };
        match conjunction(query) {
            Some(patterns) => patterns.iter().try_for_each(|pattern| writer.pattern(pattern, names))?,
            None => writer.pattern(query, names)?,
        }
        let outputs = writer.outputs;
        let made = Self {
            space: space.clone(),
            plan,
            width: outputs.len(),
            keys: Keys::new(parameters.len()),
            ranges: Vec::new(),
            numbers: Vec::new(),
            parameters: Vec::new(),
            executor: Executor::default(),
        };
        Ok((made, outputs))
    }

    /// Where the answers for these values are: from one answer to another.
    #[inline]
    pub(super) fn find(&mut self, key: &[u32], values: &mut Values, stop: ShouldStop<'_>) -> Result<[u32; 2], Refused> {
        match self.keys.get(key) {
            Some(range) => Ok(self.ranges[range as usize]),
            None => self.ask(key, values, stop),
        }
    }

    /// The values of all answers, one after the other.
    #[inline]
    pub(super) fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    pub(super) fn bytes(&self) -> usize {
        self.numbers.len() * size_of::<u32>() + self.ranges.len() * size_of::<[u32; 2]>()
    }

    fn ask(&mut self, key: &[u32], values: &mut Values, stop: ShouldStop<'_>) -> Result<[u32; 2], Refused> {
        self.parameters.clear();
        self.parameters.extend(key.iter().map(|&number| values.term(number)));
        let shared = values.dictionary().clone();
        let mut dictionary = DictionaryReader::new(&shared);
        let question = Question::new(&self.parameters, stop);
        let outcome = self.space.execute(&mut self.plan, &question, &mut dictionary, &mut self.executor);
        let outcome = outcome.ok_or(Refused::NotRows("atoms with variables may match a pattern"))?;
        let count = outcome.count().ok_or(Refused::Stopped)?;
        let from = match self.width {
            0 => 0,
            width => self.numbers.len() / width,
        };
        if self.width > 0 {
            for &term in self.executor.answers().each().flatten() {
                self.numbers.push(values.number_of(term, dictionary.terms())?);
            }
        }
        let range = [from as u32, (from + count) as u32];
        self.keys.set(key, self.ranges.len() as u32);
        self.ranges.push(range);
        Ok(range)
    }
}
