//! Calls of tabled functions as goals of programs that were recognized.

use super::answers::{Column, RowAnswers};
use super::naive::Naive;
use super::recognize::{Lookup, leaf, recognize};
use crate::limits::{FormSteps, LimitReached, Limits};
use crate::lowering::Comparison;
use crate::names;
use crate::types;
use rustc_hash::{FxHashMap, FxHashSet};
use space::{Atom, Datalog, Found, Grounded, Refused, SharedSpace, SharedTerms, Symbol, Values, VariableSource, Watch};
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::rc::Rc;

/// What was recognized, and what was found.
#[derive(Default)]
pub(crate) struct Goals {
    values: Option<Rc<RefCell<Values>>>,
    programs: Vec<RowProgram>,
    /// By the space, the name and the number of arguments: the program and the predicate, or why there is none.
    functions: FxHashMap<(u64, Symbol, usize), Result<[usize; 2], &'static str>>,
    /// Functions whose calls have met what rows do not answer, since spaces have changed.
    refused: FxHashSet<(u64, Symbol, usize)>,
    /// For each space how much had changed that rules, types and the names of tabled functions depend on.
    rules: FxHashMap<u64, (Vec<u64>, u32)>,
    counts: [u64; 2],
}

/// With more programs than this, what was recognized is forgotten when rules change.
const PROGRAMS_MAX: usize = 64;

struct RowProgram {
    datalog: Datalog,
    tests: Vec<(Comparison, bool)>,
}

/// Where a call is looked up, and under which limits.
pub(crate) struct Grounds<'a> {
    pub(crate) library: SharedSpace,
    pub(crate) dictionary: SharedTerms,
    pub(crate) source: &'a mut VariableSource,
    pub(crate) limits: &'a Limits,
    pub(crate) form: &'a FormSteps,
    pub(crate) is_tabled: &'a dyn Fn(&Symbol) -> bool,
    /// Another number whenever other functions are tabled.
    pub(crate) tabled: u32,
}

/// A call that is asked for.
pub(crate) struct Asked<'a> {
    pub(crate) call: &'a Atom,
    pub(crate) type_atom: &'a Atom,
    pub(crate) space: &'a SharedSpace,
    /// Whether its answers are found by the definition of their order.
    pub(crate) is_reference: bool,
}

/// Decides for a goal: tests of the library, and limits.
struct GoalWatch<'a> {
    tests: &'a [(Comparison, bool)],
    space: &'a SharedSpace,
    source: RefCell<&'a mut VariableSource>,
    /// Whether symbols have no declared type.
    untyped: RefCell<FxHashMap<Symbol, bool>>,
    limits: &'a Limits,
    form: &'a FormSteps,
    rows: Cell<u64>,
    reached: Cell<Option<LimitReached>>,
}

impl Goals {
    /// What was found holds no more.
    pub(crate) fn forget(&mut self) {
        self.refused.clear();
        self.programs.iter_mut().for_each(|program| program.datalog.forget());
    }

    /// How many rounds there were, and how many rows were found in them.
    pub(crate) fn counts(&self) -> [u64; 2] {
        self.programs
            .iter()
            .map(|program| program.datalog.counts())
            .fold(self.counts, |[rounds, rows], more| [rounds + more.0, rows + more.1])
    }

    /// Why calls of a function are evaluated and not found as rows.
    pub(crate) fn refusal(
        &mut self,
        (name, arguments): (&Symbol, usize),
        space: &SharedSpace,
        grounds: &mut Grounds<'_>,
    ) -> Option<&'static str> {
        self.function(name, arguments, space, grounds).err()
    }

    /// The rules of a space have changed.
    fn forget_rules(&mut self, space: u64) {
        self.functions.retain(|(of, ..), _| *of != space);
        self.refused.clear();
        if self.programs.len() > PROGRAMS_MAX {
            self.counts = self.counts();
            self.programs.clear();
            self.functions.clear();
            self.values = None;
        }
    }

    /// The program and the predicate of a function.
    fn function(
        &mut self,
        name: &Symbol,
        arguments: usize,
        space: &SharedSpace,
        grounds: &mut Grounds<'_>,
    ) -> Result<[usize; 2], &'static str> {
        let imports = space.imports();
        let counts = imports.iter().chain([space]).map(|space| space.changes()[1..].iter().sum()).collect();
        let rules = (counts, grounds.tabled);
        if self.rules.get(&space.serial()) != Some(&rules) {
            self.forget_rules(space.serial());
            self.rules.insert(space.serial(), rules);
        }
        let key = (space.serial(), name.clone(), arguments);
        if let Some(&known) = self.functions.get(&key) {
            return known;
        }
        let Grounds { library, source, is_tabled, .. } = grounds;
        let mut lookup = Lookup { space, library, source, is_tabled: *is_tabled };
        let recognized = match recognize(&mut lookup, name, arguments) {
            Ok(recognized) => recognized,
            Err(why) => {
                self.functions.insert(key, Err(why));
                return Err(why);
            }
        };
        let program = self.programs.len();
        for (predicate, (name, arguments)) in recognized.functions.into_iter().enumerate() {
            self.functions.entry((space.serial(), name, arguments)).or_insert(Ok([program, predicate]));
        }
        let values = self.values.get_or_insert_with(|| Values::of(SharedTerms::clone(&grounds.dictionary)));
        let datalog = Datalog::new(recognized.program, Rc::clone(values));
        self.programs.push(RowProgram { datalog, tests: recognized.tests });
        self.functions[&key]
    }

    /// The answers of a call, if rows give them.
    ///
    /// # Errors
    /// A limit was reached.
    pub(crate) fn answer(
        &mut self,
        asked: &Asked<'_>,
        grounds: &mut Grounds<'_>,
    ) -> Result<Option<RowAnswers>, LimitReached> {
        let Some([Atom::Symbol(name), arguments @ ..]) = asked.call.children() else { return Ok(None) };
        let is_plain = |argument: &Atom| matches!(argument, Atom::Variable(_)) || leaf(argument).is_some();
        if !asked.type_atom.is_symbol(names::UNDEFINED) || !arguments.iter().all(is_plain) {
            return Ok(None);
        }
        let Ok([program, predicate]) = self.function(name, arguments.len(), asked.space, grounds) else {
            return Ok(None);
        };
        let key = (asked.space.serial(), name.clone(), arguments.len());
        if self.refused.contains(&key) {
            return Ok(None);
        }
        let RowProgram { datalog, tests } = &mut self.programs[program];
        let columns: Vec<Option<Atom>> = arguments.iter().map(|argument| leaf(argument).cloned()).collect();
        let watch = GoalWatch {
            tests,
            space: asked.space,
            source: RefCell::new(grounds.source),
            untyped: RefCell::default(),
            limits: grounds.limits,
            form: grounds.form,
            rows: Cell::new(0),
            reached: Cell::new(None),
        };
        let found = match datalog.solve(predicate, &columns, &watch) {
            Ok(found) => found,
            Err(Refused::Stopped) => return Err(watch.reached.get().unwrap_or(LimitReached::Cancelled)),
            Err(Refused::NotRows(_)) => {
                // A value that it met may be the reason: others would meet it as well, until something changes.
                self.refused.insert(key);
                return Ok(None);
            }
        };
        let found = match asked.is_reference {
            true => Rc::new(reference(datalog, predicate, &columns, &watch)?),
            false => found,
        };
        Ok(Some(answers_of(datalog, predicate, arguments, found)))
    }
}

/// The rows that answer a call, found by the definition of their order.
fn reference(
    datalog: &Datalog,
    predicate: usize,
    columns: &[Option<Atom>],
    watch: &GoalWatch<'_>,
) -> Result<Found, LimitReached> {
    let program = datalog.program();
    let mut known = columns.to_vec();
    known.resize(program.predicates[predicate].columns(), None);
    let rows = Naive::new(program, watch, &watch.source).solve(predicate, &known);
    let Some(rows) = rows else { return Err(watch.reached.get().unwrap_or(LimitReached::Cancelled)) };
    let values = datalog.values().borrow();
    let free: Vec<usize> = (0..known.len()).filter(|&column| known[column].is_none()).collect();
    let cells = rows.iter().flat_map(|row| free.iter().map(move |&column| &row[column]));
    let numbers = cells.map(|value| values.number(value).expect("it is a value of the rows")).collect();
    Ok(Found { width: free.len(), numbers, count: rows.len() })
}

/// Says what the columns of rows are for a call: those with one variable twice must be equal.
fn answers_of(datalog: &Datalog, predicate: usize, arguments: &[Atom], found: Rc<Found>) -> RowAnswers {
    let free: Vec<&Atom> = arguments.iter().filter(|argument| matches!(argument, Atom::Variable(_))).collect();
    let first = |variable: &Atom| free.iter().position(|known| *known == variable).expect("it is one of them");
    let is_first = |(column, variable): &(usize, &&Atom)| first(variable) == *column;
    let variables = free.iter().enumerate().filter(is_first).map(|(column, _)| Column::Row(column)).collect();
    let twice: Vec<[usize; 2]> = free
        .iter()
        .enumerate()
        .map(|(column, variable)| [column, first(variable)])
        .filter(|[column, first]| column != first)
        .collect();
    let result = match &datalog.program().predicates[predicate].result {
        Some(result) => Column::Constant(result.clone()),
        None => Column::Row(free.len()),
    };
    let found = if twice.is_empty() { found } else { Rc::new(with_equal(&found, &twice)) };
    RowAnswers { found, values: Rc::clone(datalog.values()), variables, result }
}

/// The rows in which these columns are equal.
fn with_equal(found: &Found, columns: &[[usize; 2]]) -> Found {
    let mut kept = Found { width: found.width, ..Found::default() };
    for row in (0..found.count).map(|place| found.row(place)) {
        if columns.iter().all(|&[one, other]| row[one] == row[other]) {
            kept.numbers.extend_from_slice(row);
            kept.count += 1;
        }
    }
    kept
}

impl Watch for GoalWatch<'_> {
    fn test(&self, test: usize, values: &[Atom]) -> Option<bool> {
        let (comparison, wanted) = self.tests[test];
        let [left, right] = values else { return None };
        let is_true = match (left, right) {
            (Atom::Grounded(Grounded::Number(left)), Atom::Grounded(Grounded::Number(right))) => {
                let order = left.compare(right)?;
                match comparison {
                    Comparison::Less => order == Ordering::Less,
                    Comparison::Greater => order == Ordering::Greater,
                    Comparison::LessOrEqual => order != Ordering::Greater,
                    Comparison::GreaterOrEqual => order != Ordering::Less,
                    Comparison::Equal => order == Ordering::Equal,
                }
            }
            _ if comparison != Comparison::Equal => return None,
            (Atom::Symbol(one), Atom::Symbol(other)) if self.is_untyped(one) && self.is_untyped(other) => one == other,
            (Atom::Grounded(Grounded::Text(one)), Atom::Grounded(Grounded::Text(other))) => one == other,
            _ => return None,
        };
        Some(is_true == wanted)
    }

    fn should_stop(&self, rows: u64, bytes: usize) -> bool {
        self.rows.set(self.rows.get() + rows);
        let steps = self.limits.steps_max.filter(|most| self.rows.get() > *most).map(LimitReached::Steps);
        let heap = self.limits.heap_bytes_max.filter(|most| bytes > *most).map(|most| LimitReached::Heap(most as u64));
        let reached = steps.or(heap).or_else(|| self.limits.reached_inside(self.form, 0));
        self.reached.set(reached);
        reached.is_some()
    }
}

impl GoalWatch<'_> {
    /// Whether a symbol has no declared type, so that it is compared with any other.
    fn is_untyped(&self, name: &Symbol) -> bool {
        *self.untyped.borrow_mut().entry(name.clone()).or_insert_with(|| {
            let found = types::types_of(self.space, &Atom::Symbol(name.clone()), &mut self.source.borrow_mut());
            found.iter().all(|found| found.atom.is_symbol(names::UNDEFINED))
        })
    }
}
