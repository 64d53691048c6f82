//! The module `live-queries`: queries of the program's own space that have names, and what commits change in their answers.
//!
//! A query is registered once and is kept up to date from the next commit on ([`crate::live`]). A program asks for what has changed, or has
//! a function called for each change. Which queries there are is a setting, so it is undone with a transaction and kept in a knowledge
//! base; what a program is told depends on its commits alone, so it is the same in each run.

use super::Bundle;
use crate::effects::Effects;
use crate::live::named::{QUERIES, TOLD, told_setting};
use crate::live::{LIVE_QUERIES_MAX, LiveDefinition, NamedQuery};
use crate::names;
use crate::operation::{Call, Compatibility, Native, Operation, OperationSpec as Spec, Outcome};
use space::{Atom, canonical};

const NAME: &str = "Raw: the name, a symbol";

const fn changing(name: &'static str, signature: &'static str, native: Native) -> Spec {
    Spec::typed(name, signature, native).with(Effects::CHANGES.and(Effects::READS)).compared(
        Compatibility::MetroonOnly("of the module `live-queries`; see [live queries](live.md#queries-with-names)"),
    )
}

pub(super) const MODULE: Bundle = Bundle {
    name: "live-queries",
    operations: &[
        changing("live", "(-> Symbol Atom Atom (->))", |call| register(call, &[])).documented(
            "Registers a live query of the program's own space under a name.",
            &[NAME, "Raw: the pattern, or (, P1 P2 …)", "Raw: what there is for each match: data, behind tests"],
            "(); an error if the name is taken, or if the query cannot be kept up to date",
        ),
        changing("live-with", "(-> Symbol Atom Atom Expression (->))", |call| match call.children(3) {
            Some(options) => register(call, options),
            None => Outcome::failure("live-with expects its options as an expression, such as ((sum $x) (key $y))"),
        })
        .documented(
            "Registers a live query with options: (result $x) for what a call comes to, whose pattern is the call; (count $n), (sum $x), (min $x) \
             or (max $x) for an outcome by the other variables of the template; (greatest K $x) or (least K $x), and (within $y) for K each; \
             (key $y) for what changes as one thing.",
            &[NAME, "Raw: the pattern, or the call", "Raw: the template", "Raw: the options, an expression"],
            "(); an error if the name is taken, an option is none, or the query cannot be kept up to date",
        ),
        changing("_changes", "(-> Symbol Atom)", |call| changes(call, None)).documented(
            "What has changed in the answers of a live query since the program asked last.",
            &[NAME],
            "Each change",
        )
        .compared(Compatibility::MetroonOnly("called by `changes`")),
        Spec::typed("_changes-after", "(-> Symbol Number Atom)", |call| match call.size(1) {
            Some(commit) => changes(call, Some(commit as u64)),
            None => refused(call, "changes", "changes expects the number of a commit, from 0 on"),
        })
        .with(Effects::READS)
        .documented(
            "What has changed in the answers of a live query after a commit.",
            &[NAME, "Evaluated: the number of the commit"],
            "Each change",
        )
        .compared(Compatibility::MetroonOnly("called by `changes`")),
        changing("on-change", "(-> Symbol Atom (->))", on_change).documented(
            "Has a function called with each change of the answers of a live query, as `changes` has them, after the commit that caused it. Each \
             call is a commit of its own; what it changes is looked at after it.",
            &[NAME, "Raw: the function, a name"],
            "(); an error if there is no such query, or if it is no name",
        ),
        Spec::typed("live-list", "(-> Atom)", |call| {
            Outcome::one(NamedQuery::setting(&queries(call)))
        })
        .with(Effects::READS)
        .documented(
            "The live queries of the program, in the order of their registration.",
            &[],
            "A tuple of (NAME PATTERN TEMPLATE OPTIONS FUNCTIONS)",
        )
        .compared(Compatibility::MetroonOnly("of the module `live-queries`")),
        changing("live-end", "(-> Symbol (->))", end).documented(
            "Ends a live query: its name is free again, and its functions are not called any more.",
            &[NAME],
            "(); an error if there is no such query",
        ),
    ],
    values: &[],
    source: include_str!("live_queries.metta"),
    yields: true,
};

/// The queries that there are.
fn queries(call: &Call<'_>) -> Vec<NamedQuery> {
    NamedQuery::of_setting(call.environment.setting(QUERIES))
}

/// Makes these the queries that there are.
fn set_queries(call: &mut Call<'_>, all: &[NamedQuery]) {
    call.environment.set_setting(QUERIES.to_owned(), NamedQuery::setting(all));
}

/// The name that a call begins with.
fn name_of(call: &Call<'_>) -> Result<String, Outcome> {
    match call.argument(0) {
        Some(Atom::Symbol(name)) => Ok(name.as_str().to_owned()),
        Some(other) => {
            Err(Outcome::failure(format!("the name of a live query is a symbol, and {} is none", names::brief(other))))
        }
        None => Err(Outcome::failure("the name of a live query is expected")),
    }
}

/// The queries that there are, and the place of the one that a call names.
fn known(call: &Call<'_>) -> Result<(Vec<NamedQuery>, usize), Outcome> {
    let (name, all) = (name_of(call)?, queries(call));
    match all.iter().position(|query| query.name == name) {
        Some(place) => Ok((all, place)),
        None => Err(Outcome::failure(NamedQuery::unknown(&name, &all))),
    }
}

fn told(result: Result<Outcome, Outcome>) -> Outcome {
    result.unwrap_or_else(|refused| refused)
}

/// An error of a function that another one is called by.
fn refused(call: &Call<'_>, function: &str, message: &str) -> Outcome {
    let parts: Vec<Atom> = std::iter::once(Atom::symbol(function)).chain(call.arguments.iter().cloned()).collect();
    Outcome::one(names::error(Atom::expression(parts), Atom::symbol(message)))
}

fn register(call: &mut Call<'_>, options: &[Atom]) -> Outcome {
    let register = |call: &mut Call<'_>| {
        let (name, mut all) = (name_of(call)?, queries(call));
        let (Some(pattern), Some(template)) = (call.argument(1), call.argument(2)) else {
            return Err(Outcome::failure("a live query has a name, a pattern and a template"));
        };
        let definition = LiveDefinition::of_options(pattern, template, options).map_err(Outcome::failure)?;
        if all.iter().any(|query| query.name == name) {
            return Err(Outcome::failure(format!(
                "there is a live query {name} already; choose another name, or end it first: (live-end {name})"
            )));
        }
        if all.len() >= LIVE_QUERIES_MAX {
            return Err(Outcome::failure(format!(
                "a program has at most {LIVE_QUERIES_MAX} live queries; end one by live-end"
            )));
        }
        if call.environment.is_durable()
            && let Some(opaque) = [pattern, template].into_iter().find_map(canonical::find_opaque)
        {
            return Err(Outcome::failure(names::not_durable(opaque)));
        }
        let query = NamedQuery { name, definition, functions: Vec::new() };
        call.environment.check_live(&query.to_atom()).map_err(Outcome::failure)?;
        all.push(query);
        set_queries(call, &all);
        Ok(Outcome::unit())
    };
    told(register(call))
}

fn changes(call: &mut Call<'_>, from: Option<u64>) -> Outcome {
    let name = match name_of(call) {
        Ok(name) => name,
        Err(refused) => return refused,
    };
    let news = match call.environment.live_news(&name, from) {
        Ok(news) => news,
        Err(message) => return refused(call, "changes", &message),
    };
    if let Err(refused) = call.look(news.len() * size_of::<Atom>()) {
        return refused;
    }
    if from.is_none() {
        call.environment.note_told(&name, !news.is_empty());
    }
    Outcome::Results(news)
}

fn on_change(call: &mut Call<'_>) -> Outcome {
    let ask = |call: &mut Call<'_>| {
        let (mut all, place) = known(call)?;
        let function = call.argument(1).filter(|atom| atom.as_symbol().is_some() || Operation::of(atom).is_some());
        let Some(function) = function else {
            return Err(Outcome::failure("on-change expects the name of a function, which is called with each change"));
        };
        if !all[place].functions.contains(function) {
            all[place].functions.push(function.clone());
            set_queries(call, &all);
        }
        Ok(Outcome::unit())
    };
    told(ask(call))
}

fn end(call: &mut Call<'_>) -> Outcome {
    let end = |call: &mut Call<'_>| {
        let (mut all, place) = known(call)?;
        let ended = all.remove(place);
        set_queries(call, &all);
        // A query that gets the name has told nothing.
        if let Some(told) = call.environment.setting(TOLD) {
            let told = told_setting(Some(told), &ended.name, None);
            call.environment.set_setting(TOLD.to_owned(), told);
        }
        Ok(Outcome::unit())
    };
    told(end(call))
}
