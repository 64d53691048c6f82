//! The module `reasons`: why a call has a result, and what a missing one lacks, as data.
//!
//! `why` says where a stored atom comes from. These search among the rules and facts of a space for what [leads](crate::derivation) to something, and
//! say of each rule and each fact where it comes from, as `why` does. Nothing is recorded for that.

use super::Bundle;
use crate::derivation::{Derivation, Derivations, Ground, NearMiss, derivations};
use crate::effects::Effects;
use crate::operation::{Call, Compatibility, Native, OperationSpec as Spec, Outcome};
use crate::stdlib::recall::place;
use rustc_hash::FxHashMap;
use space::{Atom, Grounded, Number, SharedSpace, canonical};

const SPACE: &str = "Evaluated: the space";
const GOAL: &str = "Raw: a fact, a conjunction (, FACT …), or (= CALL RESULT); each may have variables";

/// After how many states a search gives up: they take about a second, and a call of a function cannot be interrupted.
const STATES_MAX: usize = 20_000;

const fn reading(name: &'static str, signature: &'static str, native: Native) -> Spec {
    Spec::typed(name, signature, native)
        .with(Effects::READS)
        .compared(Compatibility::MetroonOnly("of the module `reasons`"))
}

pub(super) const MODULE: Bundle = Bundle {
    name: "reasons",
    operations: &[
        reading("why-tree", "(-> SpaceType Atom Atom)", why_tree).documented(
            "The shortest derivation of something, as a tree of the rules and facts that lead to it.",
            &[SPACE, GOAL],
            "(because GOAL (by RULE PLACE…) TREE…), of a fact (because FACT PLACE…), where PLACE… is (commit N) (at file line column), \
             and nothing for what the library holds or no commit has yet; no result if nothing leads to it; an error if the search is \
             given up",
        ),
        reading("why-trees", "(-> SpaceType Atom Number Atom)", why_trees).documented(
            "The shortest derivations of something, so many at most.",
            &[SPACE, GOAL, "Evaluated: how many, 1 or more"],
            "A tree of each, as why-tree gives it, the shortest first",
        ),
        reading("why-not", "(-> SpaceType Atom Atom)", why_not).documented(
            "What something lacks that nothing leads to: where a search for derivations comes nearest.",
            &[SPACE, GOAL],
            "(lacks ATOM (by RULE PLACE…)… (has FACT PLACE…)…) for each of the nearest, from the outermost rule on; no result if something \
             leads to it; an error if the search is given up before it came near",
        ),
    ],
    values: &[],
    source: "",
    yields: true,
};

fn why_tree(call: &mut Call<'_>) -> Outcome {
    trees(call, "why-tree", 1)
}

fn why_trees(call: &mut Call<'_>) -> Outcome {
    let most = match call.argument(2) {
        Some(Atom::Grounded(Grounded::Number(Number::Int(most)))) => usize::try_from(*most).ok(),
        _ => None,
    };
    match most.filter(|most| *most > 0) {
        Some(most) => trees(call, "why-trees", most),
        None => Outcome::failure("why-trees expects a number of derivations, 1 or more, as its third argument"),
    }
}

fn trees(call: &mut Call<'_>, name: &str, most: usize) -> Outcome {
    let told = search(call, name, most).and_then(|(space, found)| {
        if found.found.is_empty() {
            refuse_unfinished(&found)?;
        }
        let mut places = Places { space, known: FxHashMap::default() };
        found.found.iter().map(|derivation| places.tree(call, derivation)).collect()
    });
    told.map_or_else(Outcome::failure, Outcome::Results)
}

fn why_not(call: &mut Call<'_>) -> Outcome {
    let told = search(call, "why-not", 1).and_then(|(space, found)| {
        if found.found.is_empty() && found.misses.is_empty() {
            refuse_unfinished(&found)?;
        }
        let mut places = Places { space, known: FxHashMap::default() };
        found.misses.iter().map(|miss| places.miss(call, miss)).collect()
    });
    told.map_or_else(Outcome::failure, Outcome::Results)
}

/// Searches for derivations; the error is a message.
fn search(call: &mut Call<'_>, name: &str, most: usize) -> Result<(SharedSpace, Derivations), String> {
    let (Some(space), Some(goal)) = (call.space(0), call.argument(1).cloned()) else {
        return Err(format!("{name} expects a space and what is to be explained as arguments"));
    };
    if space.is_frozen() {
        return Err(format!("{} is of the past: run the program with --as-of to ask there", space.name()));
    }
    let found = derivations(&goal, most, STATES_MAX, &space, call.environment.variables());
    Ok((space, found))
}

/// An error if a search that found nothing has left something out.
fn refuse_unfinished(found: &Derivations) -> Result<(), String> {
    if let Some(form) = found.not_looked_into.first() {
        return Err(format!("nothing was found, and this form was not looked into: {form}"));
    }
    if found.is_given_up {
        return Err(format!("the search was given up after {STATES_MAX} states, or where derivations became too long"));
    }
    Ok(())
}

/// Where rules and facts of a space come from.
struct Places {
    space: SharedSpace,
    /// By their canonical bytes, in which names of variables do not count.
    known: FxHashMap<Vec<u8>, Vec<Atom>>,
}

impl Places {
    /// A word, an atom, and where that comes from.
    fn said(&mut self, call: &mut Call<'_>, word: &str, atom: &Atom) -> Result<Vec<Atom>, String> {
        let bytes = canonical::key(atom);
        if !self.known.contains_key(&bytes) {
            let reasons = call.environment.why(&self.space, atom)?;
            // A pattern asks for whatever it matches.
            let first = reasons.iter().find(|reason| canonical::key(&reason.atom) == bytes);
            self.known.insert(bytes.clone(), first.map_or_else(Vec::new, |reason| place(reason).into()));
        }
        Ok([Atom::symbol(word), atom.clone()].into_iter().chain(self.known[&bytes].iter().cloned()).collect())
    }

    /// A derivation; it is nested no deeper than derivations are long.
    fn tree(&mut self, call: &mut Call<'_>, derivation: &Derivation) -> Result<Atom, String> {
        let Derivation { conclusion, ground, premises } = derivation;
        let mut parts = match ground {
            Ground::Fact => self.said(call, "because", conclusion)?,
            _ => vec![Atom::symbol("because"), conclusion.clone()],
        };
        if let Ground::Rule(rule) = ground {
            parts.push(Atom::expression(self.said(call, "by", rule)?));
        }
        for premise in premises {
            parts.push(self.tree(call, premise)?);
        }
        Ok(Atom::expression(parts))
    }

    fn miss(&mut self, call: &mut Call<'_>, miss: &NearMiss) -> Result<Atom, String> {
        let mut parts = vec![Atom::symbol("lacks"), miss.lacking.clone()];
        for (word, atoms) in [("by", &miss.rules), ("has", &miss.found)] {
            for atom in atoms {
                parts.push(Atom::expression(self.said(call, word, atom)?));
            }
        }
        Ok(Atom::expression(parts))
    }
}
