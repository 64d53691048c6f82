//! The module `store`: keys and values on the disk, in the order of keys.
//!
//! 1. Keys and values are atoms, kept in their canonical form: numbers come before texts, texts before symbols, and expressions last, child by
//!    child. An atom with variables, and one that only its process knows, such as a space, is refused.
//! 2. A store is asked through the [`World`](crate::World), as a file is: permissions hold, a recording has what it answered, and a replay needs
//!    no store.
//! 3. Each change is on the disk when its call ends, and what precedes it in the program is committed first.

use super::Bundle;
use super::services::{ask, done, handle, id_of};
use crate::effects::Effects;
use crate::limits::WRITTEN_BYTES_MAX;
use crate::names;
use crate::operation::{Call, Compatibility, OperationSpec as Spec, Outcome};
use crate::services::{ServiceId, ServiceKind};
use crate::stores::{StoreAnswer, StoreChange, StoreRequest};
use space::{Atom, Grounded, Number, canonical};

const STORE: &str = "A store, or a snapshot of one";
const ONLY: Compatibility =
    Compatibility::MetroonOnly("of the module `store`; see [the page about the store](store.md#in-metta)");

const fn of_store(name: &'static str, signature: &'static str, native: crate::operation::Native) -> Spec {
    Spec::typed(name, signature, native).with(Effects::ASKS).compared(ONLY)
}

const fn changing(name: &'static str, signature: &'static str, native: crate::operation::Native) -> Spec {
    of_store(name, signature, native).with(Effects::ASKS.and(Effects::TELLS))
}

pub(super) const MODULE: Bundle = Bundle {
    name: "store",
    operations: &[
        changing("store-open!", "(-> String Store)", |call| open(call, true)).documented(
            "Opens the store in a folder to read and write it; makes it if there is none. No other process may write it meanwhile.",
            &["The folder, a text; a relative one starts at the working directory"],
            "The store; an error if the folder holds something else, or another process writes the store",
        ),
        of_store("store-open-read-only!", "(-> String Store)", |call| open(call, false)).documented(
            "Opens the store in a folder as it is now. Another process may write it meanwhile, which is not seen.",
            &["The folder, a text"],
            "The store, which never changes; an error if there is none",
        ),
        changing("store-put!", "(-> Store %Undefined% %Undefined% (->))", put).documented(
            "Gives a key a value, in place of the one it has.",
            &["A store", "The key, an atom without variables", "The value, an atom without variables"],
            "The unit, (), when it is on the disk",
        ),
        changing("store-delete!", "(-> Store %Undefined% (->))", delete).documented(
            "Takes a key away; whether it is there does not matter.",
            &["A store", "The key"],
            "The unit, (), when it is on the disk",
        ),
        changing("store-batch!", "(-> Store %Undefined% (->))", batch).documented(
            "Makes several changes together: all of them or none. Of several changes of one key the last counts.",
            &["A store", "The changes, a tuple of (put KEY VALUE) and (delete KEY)"],
            "The unit, (), when they are on the disk",
        ),
        of_store("store-get!", "(-> Store %Undefined% Atom)", get).documented(
            "Looks a key up.",
            &[STORE, "The key"],
            "The value; no result if there is none",
        ),
        of_store("store-range!", "(-> Store %Undefined% Atom)", range).documented(
            "The entries of a range of keys, in their order.",
            &[
                STORE,
                "A tuple of options, or () for all entries: (from KEY) begins with that key, (to KEY) ends before it, (most N) ends after N \
                 entries, and backward goes from the last to the first",
            ],
            "(KEY VALUE) for each entry, one result after the other",
        ),
        of_store("store-snapshot!", "(-> Store Store)", snapshot).documented(
            "Keeps a store as it is now.",
            &["A store"],
            "A store that never changes",
        ),
        of_store("store-close!", "(-> Store (->))", close).documented(
            "Closes a store or a snapshot. What is open when the program ends is closed then.",
            &[STORE],
            "The unit, (); an error if it is closed already",
        ),
    ],
    values: &[],
    source: "",
    yields: true,
};

/// The store that the first argument is.
fn store_of(call: &Call<'_>) -> Result<ServiceId, Outcome> {
    id_of(call, ServiceKind::Store)
}

/// The bytes of an atom that a store can keep.
fn bytes_of(atom: Option<&Atom>, what: &str) -> Result<Vec<u8>, Outcome> {
    let Some(atom) = atom else { return Err(Outcome::failure(format!("the {what} is missing"))) };
    if !atom.is_ground() {
        let shown = names::brief(atom);
        return Err(Outcome::failure(format!("the {what} {shown} has variables, and a store cannot keep those")));
    }
    // An atom that shares its parts may be longer than any disk.
    let Some(bytes) = canonical::encode_at_most(atom, WRITTEN_BYTES_MAX as usize) else {
        let shown = names::brief(atom);
        return Err(Outcome::failure(format!(
            "the {what} {shown} is written with more than {WRITTEN_BYTES_MAX} bytes"
        )));
    };
    // What a run knows by a number, such as a space, means nothing to the next one.
    if canonical::decode(&bytes, |_| None).is_err() {
        let shown = names::brief(atom);
        return Err(Outcome::failure(format!(
            "a store cannot keep the {what} {shown}: only this run knows what a part of it is"
        )));
    }
    Ok(bytes)
}

/// The atom of bytes that a store has.
fn atom_of(bytes: &[u8]) -> Result<Atom, Outcome> {
    canonical::decode(bytes, |_| None).map_err(|error| {
        Outcome::failure(format!(
            "the store has an entry that is not an atom: {error}; it was written by something else, such as `metroon store`"
        ))
    })
}

fn opened(_: &mut Call<'_>, answer: StoreAnswer) -> Outcome {
    match answer {
        StoreAnswer::Opened(store) => handle(ServiceKind::Store, store),
        _ => Outcome::failure("the world did not open a store"),
    }
}

fn open(call: &mut Call<'_>, for_writing: bool) -> Outcome {
    let Some(path) = call.text(0) else {
        return Outcome::failure(format!("{} expects a path, a text", names::brief(call.head)));
    };
    ask(call, StoreRequest::Open { path: path.to_owned(), for_writing }, opened)
}

fn commit(call: &mut Call<'_>, changes: Result<Vec<StoreChange>, Outcome>) -> Outcome {
    match (store_of(call), changes) {
        (Ok(store), Ok(changes)) => ask(call, StoreRequest::Commit { store, changes }, done),
        (Err(outcome), _) | (_, Err(outcome)) => outcome,
    }
}

fn put(call: &mut Call<'_>) -> Outcome {
    let change =
        bytes_of(call.argument(1), "key").and_then(|key| Ok(vec![(key, Some(bytes_of(call.argument(2), "value")?))]));
    commit(call, change)
}

fn delete(call: &mut Call<'_>) -> Outcome {
    let change = bytes_of(call.argument(1), "key").map(|key| vec![(key, None)]);
    commit(call, change)
}

fn batch(call: &mut Call<'_>) -> Outcome {
    let Some(changes) = call.children(1) else {
        return Outcome::failure("store-batch! expects a tuple of (put KEY VALUE) and (delete KEY)");
    };
    let changes = changes.iter().map(change).collect();
    commit(call, changes)
}

fn change(atom: &Atom) -> Result<StoreChange, Outcome> {
    match atom.children() {
        Some([verb, key, value]) if verb.is_symbol("put") => {
            Ok((bytes_of(Some(key), "key")?, Some(bytes_of(Some(value), "value")?)))
        }
        Some([verb, key]) if verb.is_symbol("delete") => Ok((bytes_of(Some(key), "key")?, None)),
        _ => {
            let shown = names::brief(atom);
            Err(Outcome::failure(format!("{shown} is not a change: write (put KEY VALUE) or (delete KEY)")))
        }
    }
}

fn get(call: &mut Call<'_>) -> Outcome {
    match (store_of(call), bytes_of(call.argument(1), "key")) {
        (Ok(store), Ok(key)) => ask(call, StoreRequest::Get { store, key }, |_, answer| match answer {
            StoreAnswer::Value(Some(value)) => atom_of(&value).map_or_else(|outcome| outcome, Outcome::one),
            _ => Outcome::Results(Vec::new()),
        }),
        (Err(outcome), _) | (_, Err(outcome)) => outcome,
    }
}

fn range(call: &mut Call<'_>) -> Outcome {
    let request = store_of(call).and_then(|store| Ok((store, call.children(1).ok_or_else(not_options)?)));
    let request = request.and_then(|(store, options)| range_of(store, options));
    match request {
        Ok(request) => ask(call, request, |_, answer| match answer {
            StoreAnswer::Entries(entries) => {
                entries.iter().map(pair).collect::<Result<_, _>>().map_or_else(|outcome| outcome, Outcome::Results)
            }
            _ => Outcome::Results(Vec::new()),
        }),
        Err(outcome) => outcome,
    }
}

fn not_options() -> Outcome {
    Outcome::failure("store-range! expects a tuple of options, such as ((from KEY) (to KEY) (most N) backward), or ()")
}

fn range_of(store: ServiceId, options: &[Atom]) -> Result<StoreRequest, Outcome> {
    let (mut first, mut end, mut backward, mut limit) = (None, None, false, u64::MAX);
    for option in options {
        match option.children() {
            Some([name, key]) if name.is_symbol("from") => first = Some(bytes_of(Some(key), "key")?),
            Some([name, key]) if name.is_symbol("to") => end = Some(bytes_of(Some(key), "key")?),
            Some([name, Atom::Grounded(Grounded::Number(Number::Int(count)))])
                if name.is_symbol("most") && *count >= 0 =>
            {
                limit = count.unsigned_abs();
            }
            None if option.is_symbol("backward") => backward = true,
            _ => {
                let shown = names::brief(option);
                let known = "(from KEY), (to KEY), (most N) and backward";
                return Err(Outcome::failure(format!("{shown} is not an option of store-range!; there are {known}")));
            }
        }
    }
    Ok(StoreRequest::Range { store, from: first, to: end, is_backward: backward, most: limit })
}

fn pair((key, value): &(Vec<u8>, Vec<u8>)) -> Result<Atom, Outcome> {
    Ok(Atom::expression(vec![atom_of(key)?, atom_of(value)?]))
}

fn snapshot(call: &mut Call<'_>) -> Outcome {
    match store_of(call) {
        Ok(store) => ask(call, StoreRequest::Snapshot { store }, opened),
        Err(outcome) => outcome,
    }
}

fn close(call: &mut Call<'_>) -> Outcome {
    match store_of(call) {
        Ok(store) => ask(call, StoreRequest::Close { store }, done),
        Err(outcome) => outcome,
    }
}
