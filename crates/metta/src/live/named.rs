//! Live queries that a program has given names.
//!
//! Which they are is a setting of the program, so it is part of a commit, undone with a transaction and there when a base is opened again. It
//! is an expression of entries `(NAME PATTERN TEMPLATE OPTIONS FUNCTIONS)` in the order of their registration. Another setting
//! has, for each query that the program has asked for changes, `(NAME EPOCH)`: the commit up to which it was told.

use super::change::AnswerChange;
use super::definition::{Aggregate, LiveDefinition, Top};
use super::error::LiveError;
use super::query::LiveQuery;
use super::rules::LiveRules;
use crate::check::nearest;
use crate::names;
use crate::operation::Operation;
use crate::program::{Program, ProgramSnapshot};
use space::{Atom, Grounded, HostValue as _, Number, Rewrite, Variable, rewrite, variables};

/// The setting that has the live queries of a program.
pub(crate) const QUERIES: &str = "live-queries";

/// The setting that says up to which commit a program was told of them.
pub(crate) const TOLD: &str = "live-told";

/// How many live queries a program may have.
pub const LIVE_QUERIES_MAX: usize = 1_000;

/// The names of the options of a query, as errors list them.
const OPTIONS: &str = "key, count, sum, min, max, greatest, least, within, result";

/// A live query that a program has given a name.
#[derive(Clone, Debug)]
pub struct NamedQuery {
    /// Its name.
    pub name: String,
    /// What it asks.
    pub definition: LiveDefinition,
    /// What is called with each change, in the order in which it was asked for.
    pub functions: Vec<Atom>,
}

/// What happened to the answers of a named query in a commit.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveNews {
    /// The commit.
    pub epoch: u64,
    /// What happened.
    pub kind: LiveNewsKind,
}

/// What happened to the answers of a named query.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LiveNewsKind {
    /// An answer came, went or became another one.
    Change(AnswerChange),
    /// They are not kept up to date any more, for this reason.
    Stopped(String),
    /// What changed from this commit on is not known any more: too much had waited.
    Dropped {
        /// The first commit.
        from: u64,
    },
}

impl LiveNews {
    /// As data, once for each copy: `(added ATOM EPOCH)`, `(removed ATOM EPOCH)`, `(changed OLD NEW EPOCH)`, `(stopped REASON EPOCH)`,
    /// `(dropped FROM EPOCH)`.
    pub fn atoms(&self) -> impl Iterator<Item = Atom> + use<> {
        let epoch = Atom::from(i64::try_from(self.epoch).unwrap_or(i64::MAX));
        let made = |head: &str, parts: Vec<Atom>| {
            Atom::expression(
                std::iter::once(Atom::symbol(head)).chain(parts).chain([epoch.clone()]).collect::<Vec<_>>(),
            )
        };
        let (atom, copies) = match &self.kind {
            LiveNewsKind::Change(AnswerChange { before, after, copies }) => match (before.clone(), after.clone()) {
                (Some(before), Some(after)) => (made("changed", vec![before, after]), *copies),
                (Some(gone), None) => (made("removed", vec![gone]), *copies),
                (None, come) => (made("added", come.into_iter().collect()), *copies),
            },
            LiveNewsKind::Stopped(reason) => (made("stopped", vec![Atom::from(reason.as_str())]), 1),
            LiveNewsKind::Dropped { from } => {
                (made("dropped", vec![Atom::from(i64::try_from(*from).unwrap_or(i64::MAX))]), 1)
            }
        };
        std::iter::repeat_n(atom, usize::try_from(copies).unwrap_or(usize::MAX))
    }
}

impl NamedQuery {
    /// Those of a program, in the order of their registration.
    pub fn all(program: &Program) -> Vec<Self> {
        Self::of_setting(program.setting(QUERIES))
    }

    /// Those of a program as it was.
    pub fn of_snapshot(snapshot: &ProgramSnapshot) -> Vec<Self> {
        Self::of_setting(snapshot.setting(QUERIES))
    }

    /// Those that a setting has.
    pub(crate) fn of_setting(setting: Option<&Atom>) -> Vec<Self> {
        let entries = setting.and_then(Atom::children).unwrap_or_default();
        entries.iter().filter_map(Self::of_atom).collect()
    }

    /// The setting that has these.
    pub(crate) fn setting(all: &[Self]) -> Atom {
        Atom::expression(all.iter().map(Self::to_atom).collect::<Vec<_>>())
    }

    /// Up to which commit a program was told of a query, if it was.
    pub fn told(program: &Program, name: &str) -> Option<u64> {
        let entries = program.setting(TOLD).and_then(Atom::children).unwrap_or_default();
        entries.iter().find_map(|entry| match entry.children()? {
            [known, epoch] if known.is_symbol(name) => whole(epoch),
            _ => None,
        })
    }

    /// The query of an entry.
    pub fn of_atom(entry: &Atom) -> Option<Self> {
        let entry = with_plain_names(entry);
        let [Atom::Symbol(name), pattern, template, options, functions] = entry.children()? else { return None };
        let definition = LiveDefinition::of_options(pattern, template, options.children()?).ok()?;
        Some(Self { name: name.as_str().to_owned(), definition, functions: functions.children()?.to_vec() })
    }

    /// The entry of a query.
    pub fn to_atom(&self) -> Atom {
        let LiveDefinition { pattern, template, .. } = &self.definition;
        let options = Atom::expression(self.definition.options());
        let functions = Atom::expression(self.functions.clone());
        Atom::expression(vec![Atom::symbol(&self.name), pattern.clone(), template.clone(), options, functions])
    }

    /// What there is to say of a name that no query has.
    pub fn unknown(name: &str, all: &[Self]) -> String {
        let known = || all.iter().map(|query| query.name.as_str());
        if all.is_empty() {
            return format!(
                "there is no live query {name}: there are none; (live NAME PATTERN TEMPLATE) registers one"
            );
        }
        match nearest(name, known()) {
            Some(near) => format!("there is no live query {name}; did you mean {near}?"),
            None => format!("there is no live query {name}; there are: {}", known().collect::<Vec<_>>().join(", ")),
        }
    }
}

/// An entry whose variables are those that a source would have, as far as their names tell them apart: those that were read from a
/// journal have other numbers each time.
fn with_plain_names(entry: &Atom) -> Atom {
    let all = variables(entry);
    let is_alone = |name: &Variable| all.iter().filter(|other| other.name() == name.name()).count() == 1;
    let plain = |name: &Variable| match is_alone(name) {
        true => Rewrite::Replace(Atom::Variable(Variable::new(name.name().as_str()))),
        false => Rewrite::Keep,
    };
    rewrite(entry, plain).unwrap_or_else(|| entry.clone())
}

/// The setting that says up to which commit a program was told, with another commit for a query, or none.
pub(crate) fn told_setting(setting: Option<&Atom>, name: &str, epoch: Option<u64>) -> Atom {
    let entries = setting.and_then(Atom::children).unwrap_or_default();
    let is_other = |entry: &&Atom| entry.head().is_none_or(|head| !head.is_symbol(name));
    let own = epoch
        .map(|epoch| Atom::expression(vec![Atom::symbol(name), Atom::from(i64::try_from(epoch).unwrap_or(i64::MAX))]));
    Atom::expression(entries.iter().filter(is_other).cloned().chain(own).collect::<Vec<_>>())
}

/// A whole number that is not negative.
fn whole(atom: &Atom) -> Option<u64> {
    match atom {
        Atom::Grounded(Grounded::Number(Number::Int(number))) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// A head as a name: the module of a word may be imported that an option is named by.
fn name_of(head: &Atom) -> Option<&str> {
    head.as_symbol().or_else(|| Operation::of(head).map(|operation| operation.name()))
}

impl LiveDefinition {
    /// One with options as data, such as `((sum $p) (key $w))`.
    ///
    /// # Errors
    /// One of them is none; the message says which there are.
    pub fn of_options(pattern: &Atom, template: &Atom, options: &[Atom]) -> Result<Self, String> {
        let (pattern, template) = (pattern.clone(), template.clone());
        let mut made = Self { pattern, result: None, template, aggregate: None, key: Vec::new() };
        let mut within = Vec::new();
        for option in options {
            let children = option.children().unwrap_or_default();
            let variables = |from: usize| -> Option<Vec<Variable>> {
                let named = children.get(from..).filter(|named| !named.is_empty())?;
                named
                    .iter()
                    .map(|atom| if let Atom::Variable(name) = atom { Some(name.clone()) } else { None })
                    .collect()
            };
            let refused = || {
                format!("{} is no option of a live query; write {}", names::brief(option), example(children.first()))
            };
            let head = children.first().and_then(name_of).ok_or_else(refused)?;
            match head {
                "key" => made.key.extend(variables(1).ok_or_else(refused)?),
                "within" => within.extend(variables(1).ok_or_else(refused)?),
                "result" => made.result = Some(only(variables(1)).ok_or_else(refused)?),
                _ => {
                    let aggregate = aggregate_of(head, children, &variables).ok_or_else(refused)?;
                    if made.aggregate.replace(aggregate).is_some() {
                        return Err(format!(
                            "{option} comes after another one of its kind; a live query makes one thing of its matches"
                        ));
                    }
                }
            }
        }
        match &mut made.aggregate {
            Some(Aggregate::Top(top)) => top.within = within,
            _ if !within.is_empty() => {
                return Err(
                    "within says for what greatest or least are wanted; add (greatest K $x) or (least K $x)".to_owned()
                );
            }
            _ => {}
        }
        Ok(made)
    }

    /// The options as data.
    pub fn options(&self) -> Vec<Atom> {
        let option = |head: &str, parts: Vec<Atom>| {
            Atom::expression(std::iter::once(Atom::symbol(head)).chain(parts).collect::<Vec<_>>())
        };
        let one = |head: &str, variable: &Variable| option(head, vec![Atom::Variable(variable.clone())]);
        let all = |variables: &[Variable]| variables.iter().cloned().map(Atom::Variable).collect::<Vec<_>>();
        let mut options: Vec<Atom> = self.result.iter().map(|result| one("result", result)).collect();
        match &self.aggregate {
            None => {}
            Some(Aggregate::Count(variable)) => options.push(one("count", variable)),
            Some(Aggregate::Sum(variable)) => options.push(one("sum", variable)),
            Some(Aggregate::Min(variable)) => options.push(one("min", variable)),
            Some(Aggregate::Max(variable)) => options.push(one("max", variable)),
            Some(Aggregate::Top(Top { most, by, is_greatest, within })) => {
                let most = Atom::from(i64::try_from(*most).unwrap_or(i64::MAX));
                options.push(option(
                    if *is_greatest { "greatest" } else { "least" },
                    vec![most, Atom::Variable(by.clone())],
                ));
                if !within.is_empty() {
                    options.push(option("within", all(within)));
                }
            }
        }
        if !self.key.is_empty() {
            options.push(option("key", all(&self.key)));
        }
        options
    }

    /// Sees to it that it can be kept up to date in a program as it is now.
    ///
    /// # Errors
    /// It cannot.
    pub fn check(&self, program: &Program) -> Result<(), LiveError> {
        match self.result {
            Some(_) => LiveQuery::of_rules(self, &LiveRules::new(&self.pattern, program)?).map(drop),
            None => LiveQuery::check(self, &program.top_space()),
        }
    }
}

fn only(variables: Option<Vec<Variable>>) -> Option<Variable> {
    let mut variables = variables?;
    if variables.len() == 1 { variables.pop() } else { None }
}

/// What an option makes of matches, if it is such a one.
fn aggregate_of(
    head: &str,
    children: &[Atom],
    variables: &dyn Fn(usize) -> Option<Vec<Variable>>,
) -> Option<Aggregate> {
    if let "greatest" | "least" = head {
        let most = usize::try_from(whole(children.get(1)?)?).ok()?;
        let (by, within) = (only(variables(2))?, Vec::new());
        return Some(Aggregate::Top(Top { most, by, is_greatest: head == "greatest", within }));
    }
    let variable = only(variables(1))?;
    match head {
        "count" => Some(Aggregate::Count(variable)),
        "sum" => Some(Aggregate::Sum(variable)),
        "min" => Some(Aggregate::Min(variable)),
        "max" => Some(Aggregate::Max(variable)),
        _ => None,
    }
}

/// How an option is written that is meant, or which there are.
fn example(head: Option<&Atom>) -> String {
    match head.and_then(name_of) {
        Some("greatest") => "(greatest 3 $x)".to_owned(),
        Some("least") => "(least 3 $x)".to_owned(),
        Some(known @ ("key" | "within" | "result" | "count" | "sum" | "min" | "max")) => format!("({known} $x)"),
        Some(other) => match nearest(other, OPTIONS.split(", ")) {
            Some(near) => format!("({near} …)"),
            None => format!("one of {OPTIONS}, with a variable: (sum $x)"),
        },
        None => format!("one of {OPTIONS}, with a variable: (sum $x)"),
    }
}

/// The call of a function with a change.
pub(crate) fn call_of(function: &Atom, change: Atom) -> Atom {
    Atom::expression(vec![function.clone(), change])
}

/// The error of functions that cause changes for each other without an end.
pub(crate) fn endless(call: &Atom, name: &str, rounds: usize) -> Atom {
    let message = format!(
        "the functions of on-change have caused changes for each other {rounds} times in a row, of {name} last; nothing is called any more \
         for these commits: let a function change nothing that its own query, or one that leads back to it, asks for"
    );
    names::error_text(call.clone(), &message)
}
