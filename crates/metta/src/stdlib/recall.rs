//! Transactions and the past: `commit!`, `transaction`, `epoch`, `as-of`, `why`.

use crate::effects::Effects;
use crate::names;
use crate::operation::{Call, Compatibility, OperationSpec as Spec, Outcome};
use crate::program::history::Reason;
use crate::program::modules::ModuleId;
use space::{Atom, Grounded, Number, SharedSpace};

pub(super) const OPERATIONS: &[Spec] = &[
    Spec::typed("commit!", "(-> (->))", commit)
        .with(Effects::CHANGES_RULES)
        .documented(
            "Ends the transaction here, and begins another: what was done so far stays, even if the rest is cancelled.",
            &[],
            "(); an error inside (transaction ...)",
        )
        .compared(Compatibility::MetroonOnly("keeps what was done so far, see [transactions](#recall)")),
    Spec::typed("_open-transaction", "(-> Number)", open)
        .with(Effects::CHANGES)
        .at_home()
        .documented(
            "Begins a transaction, for transaction.",
            &[],
            "How many are open then; an error if a program calls it itself",
        )
        .compared(Compatibility::MetroonOnly("called by `transaction`, and by nothing else")),
    Spec::typed("_close-transaction", "(-> Number Expression Expression)", close)
        .with(Effects::CHANGES)
        .at_home()
        .documented(
            "Ends a transaction, for transaction: undoes what it did if one of its results is an error.",
            &["Evaluated: what _open-transaction gave", "Evaluated: its results with their bindings"],
            "The results with their bindings; an error if a program calls it itself",
        )
        .compared(Compatibility::MetroonOnly("called by `transaction`, and by nothing else")),
    Spec::typed("epoch", "(-> SpaceType Number)", epoch)
        .with(Effects::READS)
        .documented(
            "The number of the last commit. Each transaction that changes something is one, counted from 1.",
            &["Evaluated: a space; all spaces of a knowledge base have the same commits"],
            "A number, 0 before the first commit; an error without a knowledge base",
        )
        .compared(Compatibility::MetroonOnly("the number of the last commit of a knowledge base")),
    Spec::typed("as-of", "(-> SpaceType Number SpaceType)", as_of)
        .with(Effects::READS.and(Effects::MAKES))
        .documented(
            "A space as it was after a commit, its states and imports included. It can be matched and cannot be \
             changed.",
            &["Evaluated: the space", "Evaluated: the number of the commit; 0 for the beginning"],
            "A space; an error if there was no such commit, no such space then, or no knowledge base",
        )
        .compared(Compatibility::MetroonOnly(
            "a space as it was after a commit; without a knowledge base it is an error that says so",
        )),
    Spec::typed("why", "(-> SpaceType Atom Atom)", why)
        .with(Effects::READS)
        .documented(
            "Where the atoms come from that a match in a space finds. What the library holds has no place to show.",
            &["Evaluated: the space", "Raw: an atom or pattern"],
            "(because atom (commit number) (at file line column)) for each copy of each committed atom",
        )
        .compared(Compatibility::MetroonOnly("which commit and which form of which file put an atom there")),
];

fn commit(call: &mut Call<'_>) -> Outcome {
    call.environment.commit_early().map_or_else(Outcome::from, |()| Outcome::unit())
}

/// What a call comes to that is not written in the library: a program that ended the transaction around it would keep what that undoes.
fn refuse_outside(call: &Call<'_>) -> Option<Outcome> {
    (call.home != ModuleId::LIBRARY).then(|| Outcome::failure("only transaction opens and closes transactions"))
}

fn open(call: &mut Call<'_>) -> Outcome {
    refuse_outside(call).unwrap_or_else(|| Outcome::one(Number::from(call.environment.open_transaction())))
}

/// Keeps what a transaction did, unless one of its results is an error; they come with their bindings.
fn close(call: &mut Call<'_>) -> Outcome {
    if let Some(refused) = refuse_outside(call) {
        return refused;
    }
    let (Some(depth), Some(results)) = (number(call, 0), call.children(1)) else {
        return Outcome::failure("_close-transaction expects a number and a tuple of results");
    };
    let is_error = |result: &Atom| result.children().and_then(<[Atom]>::first).is_some_and(names::is_error);
    let keep = !results.iter().any(is_error);
    call.environment.close_transaction(depth as usize, keep);
    if keep {
        return Outcome::one(call.arguments[1].clone());
    }
    let left: Vec<Atom> = results.iter().map(|result| call.environment.without_undone(result)).collect();
    Outcome::one(Atom::expression(left))
}

fn epoch(call: &mut Call<'_>) -> Outcome {
    if call.space(0).is_none() {
        return Outcome::failure("epoch expects a space as its argument");
    }
    match call.environment.epoch() {
        Ok(epoch) => Outcome::one(Number::from(epoch as usize)),
        Err(message) => Outcome::failure(message),
    }
}

fn as_of(call: &mut Call<'_>) -> Outcome {
    let (Some(space), Some(epoch)) = (call.space(0), number(call, 1)) else {
        return Outcome::failure("as-of expects a space and the number of a commit as arguments");
    };
    if let Some(refused) = refuse_past(&space) {
        return refused;
    }
    match call.environment.as_of(&space, epoch) {
        Ok(space) => Outcome::one(space),
        Err(message) => Outcome::failure(message),
    }
}

/// One `(because ATOM (commit N) (at "file" line column))` for each copy of each atom that matches.
fn why(call: &mut Call<'_>) -> Outcome {
    let (Some(space), Some(pattern)) = (call.space(0), call.argument(1)) else {
        return Outcome::failure("why expects a space and an atom as arguments");
    };
    if let Some(refused) = refuse_past(&space) {
        return refused;
    }
    let reasons = match call.environment.why(&space, pattern) {
        Ok(reasons) => reasons,
        Err(message) => return Outcome::failure(message),
    };
    let reason = |reason: Reason| {
        let [commit, place] = place(&reason);
        Atom::expression([Atom::symbol("because"), reason.atom, commit, place])
    };
    Outcome::Results(reasons.into_iter().map(reason).collect())
}

/// Where an atom comes from: `(commit N)` and `(at "file" line column)`.
pub(crate) fn place(reason: &Reason) -> [Atom; 2] {
    let commit = Atom::expression([Atom::symbol("commit"), Number::from(reason.epoch as usize).into()]);
    let [line, column] = [reason.line, reason.column].map(|place| Number::from(place as usize).into());
    [commit, Atom::expression([Atom::symbol("at"), Atom::from(reason.origin.as_str()), line, column])]
}

fn number(call: &Call<'_>, position: usize) -> Option<u64> {
    match call.argument(position)? {
        Atom::Grounded(Grounded::Number(Number::Int(number))) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// Why a space has no past, if that is so.
fn refuse_past(space: &SharedSpace) -> Option<Outcome> {
    let refuse = || Outcome::failure(format!("{} is of the past already: name the space that it was", space.name()));
    space.is_frozen().then(refuse)
}

/// Why a space must not be changed, if that is so.
pub(super) fn refuse_frozen(space: &SharedSpace) -> Option<Outcome> {
    space.is_frozen().then(|| Outcome::failure(format!("{} is of the past: it cannot change", space.name())))
}
