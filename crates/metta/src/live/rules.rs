//! Calls of functions whose rules are of Datalog shape, followed: their answers are rows that are kept up to date.
//!
//! 1. The rules of the function, and of those that it calls, are [recognized](crate::datalog) as those of tabled functions are. A subscriber to a
//!    call wants each of its answers once, so no function has to be tabled for this.
//! 2. Their rows are kept up to date from the rows that a commit changes ([`LiveDatalog`]).
//! 3. If rules, types or imports have changed, what follows from them is found anew, and compared with what was there.
//! 4. If rows do not answer the rules any more, following *stops*, and it is said why. It goes on as soon as they do, with what has changed since.

use super::definition::LiveDefinition;
use super::error::LiveError;
use super::source::LiveSource;
use crate::datalog::{Lookup, Recognized, leaf, recognize};
use crate::lowering::Comparison;
use crate::names;
use crate::program::Program;
use crate::rules::AskedRules;
use crate::types;
use space::{
    Atom, Filter, FilterPart, Head, LiveDatalog, LiveDatalogStatistics, Refused, SharedSpace, SignedRows, Symbol, Term,
    Variable, VariableSource, canonical,
};
use std::cell::RefCell;

/// A derived space has no number that a program could see.
const DERIVED_SERIAL: u64 = u64::MAX;

/// How many arguments a function may have, for being one that is called.
const ARGUMENTS_MAX: usize = 16;

/// A call that is followed.
pub struct LiveRules {
    name: Symbol,
    /// Its arguments, as far as they are values.
    arguments: Vec<Option<Atom>>,
    space: SharedSpace,
    library: SharedSpace,
    derived: SharedSpace,
    state: RuleState,
    /// What the last commit has changed in the rows of the goal.
    changed: SignedRows,
    statistics: LiveDatalogStatistics,
    was_found_anew: bool,
}

enum RuleState {
    Followed(Box<Followed>),
    /// Following has stopped, for a reason; these were the rows of the goal.
    Stopped(&'static str, Vec<Vec<Term>>),
}

/// Rules that are followed.
struct Followed {
    datalog: LiveDatalog,
    /// The functions, and canonical bytes of their rules.
    functions: Vec<(Symbol, usize)>,
    rules: Vec<u8>,
    /// The space and those that it imports.
    spaces: Vec<SharedSpace>,
}

/// What a commit came to for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveRulesUpdate {
    /// Its answers are the same.
    Same,
    /// Its answers have changed.
    Changed,
    /// Rows do not answer it any more, for this reason.
    Stopped(&'static str),
    /// Rows answer it again.
    GoesOn,
}

impl LiveRules {
    /// The answers of a call, as things are now.
    ///
    /// # Errors
    /// The rules cannot be kept up to date.
    pub fn new(call: &Atom, program: &Program) -> Result<Self, LiveError> {
        let (space, library) = (program.top_space(), program.library_space());
        let refused = |why: &'static str| LiveError::Rules { call: names::brief(call), reason: why };
        let Some([Atom::Symbol(name), arguments @ ..]) = call.children() else {
            return Err(refused("it is not an expression that begins with the name of a function"));
        };
        let is_plain = |argument: &Atom| matches!(argument, Atom::Variable(_)) || leaf(argument).is_some();
        if !arguments.iter().all(is_plain) {
            return Err(refused("an argument is neither a variable nor a symbol, number or text"));
        }
        let derived = SharedSpace::new(DERIVED_SERIAL, "derived rows", program.terms());
        let mut made = Self {
            name: name.clone(),
            arguments: arguments.iter().map(|argument| leaf(argument).cloned()).collect(),
            space,
            library,
            derived,
            state: RuleState::Stopped("", Vec::new()),
            changed: SignedRows::default(),
            statistics: LiveDatalogStatistics::default(),
            was_found_anew: false,
        };
        // No variable that is made here is one of the program.
        let mut source = VariableSource::default();
        source.advance_to(program.variables_numbered());
        let followed = made.follow(&mut source).map_err(refused)?;
        made.state = RuleState::Followed(Box::new(followed));
        Ok(made)
    }

    /// What a query of the answers asks of the rows that are kept.
    pub(super) fn definition(definition: &LiveDefinition) -> LiveDefinition {
        let arguments = definition.pattern.children().unwrap_or_default().iter().skip(1).cloned();
        let result = definition.result.clone().expect("a call that is followed has a name for its result");
        let row = std::iter::once(Atom::from(0)).chain(arguments).chain([Atom::Variable(result)]);
        LiveDefinition { pattern: Atom::expression(row.collect::<Vec<_>>()), result: None, ..definition.clone() }
    }

    /// Where the rows are kept.
    pub(super) fn derived(&self) -> &SharedSpace {
        &self.derived
    }

    /// What says whether two calls are the same, however their variables are named.
    pub fn key(call: &Atom) -> Vec<u8> {
        let mut bytes = Vec::new();
        canonical::key_naming(call, &mut bytes, |_| {});
        bytes
    }

    /// What the answers depend on now.
    pub fn sources(&self) -> Vec<LiveSource> {
        let RuleState::Followed(followed) = &self.state else { return vec![LiveSource::Anything] };
        let Followed { datalog, spaces, .. } = &**followed;
        let all: Vec<SharedSpace> = spaces.iter().chain(datalog.fact_spaces()).cloned().collect();
        LiveSource::of(datalog.heads().chain(heads_of_rules()), &all)
    }

    /// Why following has stopped, if it has.
    pub fn stopped(&self) -> Option<&'static str> {
        if let RuleState::Stopped(why, _) = &self.state { Some(why) } else { None }
    }

    /// Whether the last commit had it read its rules again: what it depends on may be something else now.
    pub fn was_found_anew(&self) -> bool {
        self.was_found_anew
    }

    /// What the last commit has changed in the answers, as rows.
    pub(super) fn changed(&mut self) -> &mut SignedRows {
        &mut self.changed
    }

    /// What was done to keep them up to date.
    pub fn statistics(&self) -> LiveDatalogStatistics {
        let mut all = self.statistics;
        if let RuleState::Followed(followed) = &self.state {
            all.add(&followed.datalog.statistics());
        }
        all
    }

    /// Takes the rows that a commit changed; `variables` is how many variables were numbered.
    pub fn take(&mut self, rows: &SignedRows, has_modules: bool, variables: u64) -> LiveRulesUpdate {
        self.changed = SignedRows::default();
        self.was_found_anew = false;
        let mut source = VariableSource::default();
        source.advance_to(variables);
        let may_differ = has_modules || rows.open_spaces().next().is_some() || touches(rows, &heads_of_rules());
        let is_as_it_was = !may_differ || self.has_rules_as_followed(&mut source);
        let RuleState::Followed(followed) = &mut self.state else { return self.find_anew(&mut source) };
        if !is_as_it_was {
            return self.find_anew(&mut source);
        }
        match followed.datalog.take(rows) {
            Ok(changed) => {
                self.changed = changed;
                if self.changed.is_empty() { LiveRulesUpdate::Same } else { LiveRulesUpdate::Changed }
            }
            Err(_) => self.find_anew(&mut source),
        }
    }

    /// Finds the rows anew, and what they differ in from those that there were.
    fn find_anew(&mut self, source: &mut VariableSource) -> LiveRulesUpdate {
        self.was_found_anew = true;
        let (was_stopped, before) = match &mut self.state {
            RuleState::Followed(followed) => {
                self.statistics.add(&followed.datalog.statistics());
                (false, followed.datalog.goal())
            }
            RuleState::Stopped(_, before) => (true, std::mem::take(before)),
        };
        match self.follow(source) {
            Err(why) => {
                let is_news = self.stopped() != Some(why);
                self.state = RuleState::Stopped(why, before);
                if is_news { LiveRulesUpdate::Stopped(why) } else { LiveRulesUpdate::Same }
            }
            Ok(followed) => {
                let now = followed.datalog.goal();
                self.changed = LiveDatalog::difference(&self.derived, &before, &now);
                self.state = RuleState::Followed(Box::new(followed));
                match (was_stopped, self.changed.is_empty()) {
                    (true, _) => LiveRulesUpdate::GoesOn,
                    (false, true) => LiveRulesUpdate::Same,
                    (false, false) => LiveRulesUpdate::Changed,
                }
            }
        }
    }

    /// Reads the rules as they are now, and finds their rows.
    fn follow(&self, source: &mut VariableSource) -> Result<Followed, &'static str> {
        let recognized = self.recognized(source)?;
        let rules = self.rules_of(&recognized.functions, source);
        let Recognized { functions, tests, program } = recognized;
        let filter = |test: usize, parts: Vec<FilterPart>| filter_of(tests[test], parts);
        let goal = (0, &self.arguments[..]);
        let datalog = LiveDatalog::new(&program, goal, &self.derived, &filter).map_err(|refused| match refused {
            Refused::NotRows(why) => why,
            Refused::Stopped => unreachable!("nobody asks it to stop"),
        })?;
        Ok(Followed { datalog, functions, rules, spaces: looked_at(&self.space) })
    }

    fn recognized(&self, source: &mut VariableSource) -> Result<Recognized, &'static str> {
        let known = RefCell::new(VariableSource::default());
        let has_rules = |name: &Symbol| {
            let mut source = known.borrow_mut();
            (0..=ARGUMENTS_MAX).any(|arguments| {
                let asked = AskedRules::of(name, arguments, &mut source);
                !self.space.query(&asked.rule, &mut source).is_empty()
            })
        };
        let mut lookup = Lookup { space: &self.space, library: &self.library, source, is_tabled: &has_rules };
        recognize(&mut lookup, &self.name, self.arguments.len())
    }
}

impl LiveRules {
    /// Whether rules, declared types and imports are those that are followed.
    fn has_rules_as_followed(&self, source: &mut VariableSource) -> bool {
        let RuleState::Followed(followed) = &self.state else { return false };
        followed.has_spaces(&self.space) && followed.rules == self.rules_of(&followed.functions, source)
    }

    /// Canonical bytes of the rules of functions, and of their declared types, which decide whether rules are followed.
    fn rules_of(&self, functions: &[(Symbol, usize)], source: &mut VariableSource) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, arguments) in functions {
            let asked = AskedRules::of(name, *arguments, source);
            for (mut rule, body) in asked.all_in(&self.space, source) {
                rule.extend([Atom::Symbol(name.clone()), body]);
                canonical::key_naming(&Atom::expression(rule), &mut bytes, |_| {});
            }
            for found in types::types_of(&self.space, &Atom::Symbol(name.clone()), source) {
                canonical::key_naming(&found.atom, &mut bytes, |_| {});
            }
        }
        bytes
    }
}

impl Followed {
    /// Whether it was found from the spaces that are asked now.
    fn has_spaces(&self, space: &SharedSpace) -> bool {
        let now = looked_at(space);
        let are_same = now.len() == self.spaces.len();
        are_same && now.iter().zip(&self.spaces).all(|(now, before)| now.is_same(before)) && self.datalog.has_spaces()
    }
}

/// A space and those that it imports.
fn looked_at(space: &SharedSpace) -> Vec<SharedSpace> {
    std::iter::once(space.clone()).chain(space.imports()).collect()
}

/// The heads of rules and of declared types.
fn heads_of_rules() -> [Head; 2] {
    let any = || Atom::Variable(Variable::new("any"));
    [names::equal(), Atom::symbol(names::HAS_TYPE)].map(|head| Head::of(&Atom::expression(vec![head, any(), any()])))
}

/// Whether some rows have one of these heads.
fn touches(rows: &SignedRows, heads: &[Head]) -> bool {
    let is_one = |source: &LiveSource| matches!(source, LiveSource::Rows(head) if heads.contains(head));
    LiveSource::changed_by(rows, false).iter().any(is_one)
}

/// A comparison as a filter, which drops what it does not hold for.
fn filter_of((comparison, wanted): (Comparison, bool), mut parts: Vec<FilterPart>) -> Option<Filter> {
    parts.push(match comparison {
        Comparison::Equal => FilterPart::Equal,
        other => FilterPart::Compare(other.holds()),
    });
    Filter::of_parts(parts, !wanted)
}
