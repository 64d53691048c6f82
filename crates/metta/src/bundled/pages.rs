//! The module `pages`: pages of numbers that change together, and what they were after each commit.
//!
//! 1. A state is asked through the [`World`](crate::World), as a store is: permissions hold, a recording has what it answered, and a replay needs
//!    no state.
//! 2. The changes of a commit are made together or not at all. They are on the disk when the call ends, and what precedes it in the program is
//!    committed first.
//! 3. A page has a name, a text, and a place, `(page 0)`. After one was deleted at its place, the next one is `(page 0 1)`.
//! 4. No page is derived by a function of the program: it would have to run inside a commit of the world, and when the world opens a state.

use super::Bundle;
use super::services::{ask, done, handle, id_of};
use crate::effects::Effects;
use crate::names;
use crate::operation::{Call, Compatibility, OperationSpec as Spec, Outcome};
use crate::page_types::{PageKind, PageNumber, PageNumbers};
use crate::pages::{
    ChangedPage, ListedPage, PageChange, PageContent, PageEvent, PageName, PagePlace, PagesAnswer, PagesRequest,
};
use crate::services::{ServiceId, ServiceKind};
use num_bigint::BigInt;
use num_traits::ToPrimitive;
use space::{Atom, Grounded, Number};

const STATE: &str = "A state, or a snapshot of one";
const PAGE: &str = "A page: its name, a text, or its place, as in (page 0)";
const ONLY: Compatibility =
    Compatibility::MetroonOnly("of the module `pages`; see [the page about pages](pages.md#in-metta)");

const fn of_state(name: &'static str, signature: &'static str, native: crate::operation::Native) -> Spec {
    Spec::typed(name, signature, native).with(Effects::ASKS).compared(ONLY)
}

const fn changing(name: &'static str, signature: &'static str, native: crate::operation::Native) -> Spec {
    of_state(name, signature, native).with(Effects::ASKS.and(Effects::TELLS))
}

pub(super) const MODULE: Bundle = Bundle {
    name: "pages",
    operations: &[
        changing("pages-open!", "(-> String Pages)", open).documented(
            "Opens the state in a folder; makes it if there is none. No other process may have it open meanwhile.",
            &["The folder, a text; a relative one starts at the working directory"],
            "The state; an error if the folder holds something else, a page there is derived, or another process has it",
        ),
        of_state("pages-new!", "(-> Pages)", |call| ask(call, PagesRequest::New, opened)).documented(
            "Makes a state without pages in memory.",
            &[],
            "The state, which is gone when it is closed or the program ends",
        ),
        changing("pages-commit!", "(-> Pages %Undefined% Number)", commit).documented(
            "Makes several changes together: all of them or none.",
            &[
                "A state",
                "The changes in their order, a tuple of (create NAME KIND NUMBERS), (create NAME KIND HOW-MANY-ZEROS), (write PAGE FROM NUMBERS) and \
                 (delete PAGE); (source TEXT) says where they come from, and (cause N) which commit they follow from",
            ],
            "The number of the last commit; if nothing differs, there is no commit and the number stays",
        ),
        of_state("pages-list!", "(-> Pages Atom)", list).documented(
            "Which pages there are, in the order of their places.",
            &[STATE],
            "(NAME PLACE KIND SHAPE EPOCH) for each page, one result after the other: EPOCH is the last commit that changed it",
        ),
        of_state("pages-read!", "(-> Pages %Undefined% Atom)", read).documented(
            "Reads the numbers of a page.",
            &[STATE, PAGE],
            "A tuple of all its numbers",
        ),
        of_state("pages-range!", "(-> Pages %Undefined% Number Number Atom)", range).documented(
            "Reads some numbers of a page.",
            &[STATE, PAGE, "The first, counted from 0", "How many at most"],
            "A tuple of numbers",
        ),
        of_state("pages-epoch!", "(-> Pages Number)", |call| asked(call, |state| PagesRequest::Epoch { state })).documented(
            "The number of the last commit.",
            &[STATE],
            "The number; 0 before the first commit",
        ),
        of_state("pages-changes!", "(-> Pages Number Atom)", changes).documented(
            "What has happened to pages since a commit.",
            &[STATE, "The number of the commit, or 0"],
            "(created NAME PLACE), (written NAME PLACE) or (deleted PLACE) for each page, one result after the other. A page that came and went is \
             deleted, and so may be one that went before the commit, if its place is used again",
        ),
        of_state("pages-history!", "(-> Pages %Undefined% Atom)", history).documented(
            "What a page held after each commit that changed it.",
            &["A state with a folder", PAGE],
            "(EPOCH NUMBERS) for each commit, one result after the other",
        ),
        of_state("pages-snapshot!", "(-> Pages Pages)", |call| asked(call, |state| PagesRequest::Snapshot { state })).documented(
            "Keeps a state as it is now.",
            &[STATE],
            "A state that never changes",
        ),
        of_state("pages-fork!", "(-> Pages Number Pages)", fork).documented(
            "Makes another state that is as this one was after a commit.",
            &["A state; only one with a folder has other commits than the last", "The number of the commit, or 0"],
            "A state in memory",
        ),
        changing("pages-checkpoint!", "(-> Pages (->))", |call| asked(call, |state| PagesRequest::Checkpoint { state })).documented(
            "Writes down what all pages hold, so that opening the state reads only what comes after it.",
            &["A state with a folder"],
            "The unit, (), when it is on the disk",
        ),
        of_state("pages-close!", "(-> Pages (->))", |call| asked(call, |state| PagesRequest::Close { state })).documented(
            "Closes a state or a snapshot. What is open when the program ends is closed then.",
            &[STATE],
            "The unit, (); an error if it is closed already",
        ),
    ],
    values: &[],
    source: "",
    yields: true,
};

fn failure<T>(message: impl Into<String>) -> Result<T, Outcome> {
    Err(Outcome::failure(message.into()))
}

fn state_of(call: &Call<'_>) -> Result<ServiceId, Outcome> {
    id_of(call, ServiceKind::Pages)
}

/// Asks what the arguments say, and gives the answer as atoms.
fn ask_for(call: &mut Call<'_>, request: Result<PagesRequest, Outcome>) -> Outcome {
    match request {
        Ok(request) => ask(call, request, shown),
        Err(outcome) => outcome,
    }
}

/// Asks something that only needs to know of which state.
fn asked(call: &mut Call<'_>, request: impl FnOnce(ServiceId) -> PagesRequest) -> Outcome {
    let request = state_of(call).map(request);
    ask_for(call, request)
}

fn open(call: &mut Call<'_>) -> Outcome {
    let Some(path) = call.text(0) else { return Outcome::failure("pages-open! expects a path, a text") };
    ask(call, PagesRequest::Open { path: path.to_owned() }, opened)
}

fn opened(call: &mut Call<'_>, answer: PagesAnswer) -> Outcome {
    let PagesAnswer::Opened { state, warnings } = answer else {
        return Outcome::failure("the world did not open a state");
    };
    for warning in warnings {
        call.environment.world().trace(&format!("warning: {warning}"));
    }
    handle(ServiceKind::Pages, state)
}

/// An answer as atoms.
fn shown(call: &mut Call<'_>, answer: PagesAnswer) -> Outcome {
    match answer {
        PagesAnswer::Opened { .. } => opened(call, answer),
        PagesAnswer::Epoch(epoch) => Outcome::one(whole(epoch.into())),
        PagesAnswer::Pages(pages) => Outcome::Results(pages.into_iter().map(listed).collect()),
        PagesAnswer::Changes(changes) => Outcome::Results(changes.into_iter().map(changed).collect()),
        PagesAnswer::Numbers(numbers) => tuple(call, &numbers).map_or_else(|outcome| outcome, Outcome::one),
        PagesAnswer::Versions(versions) => {
            let pair = |(epoch, numbers): &(u64, PageNumbers)| {
                Ok(Atom::expression(vec![whole(i128::from(*epoch)), tuple(call, numbers)?]))
            };
            versions.iter().map(pair).collect::<Result<_, _>>().map_or_else(|outcome| outcome, Outcome::Results)
        }
        PagesAnswer::Done => done(call, ()),
    }
}

fn commit(call: &mut Call<'_>) -> Outcome {
    let request = state_of(call).and_then(|state| {
        let Some(parts) = call.children(1) else {
            return failure("pages-commit! expects a tuple of changes, such as ((create \"prices\" f8 (1.5 2.0)) (source \"a list\"))");
        };
        let (mut changes, mut source, mut cause) = (Vec::new(), String::new(), None);
        for part in parts {
            call.look(0)?;
            match part.children() {
                Some([word, Atom::Grounded(Grounded::Text(text))]) if word.is_symbol("source") => source = text.to_string(),
                Some([word, number]) if word.is_symbol("cause") => cause = Some(count_of(number)?),
                _ => changes.push(change(part)?),
            }
        }
        Ok(PagesRequest::Commit { state, changes, source, cause })
    });
    ask_for(call, request)
}

fn change(atom: &Atom) -> Result<PageChange, Outcome> {
    match atom.children() {
        Some([verb, Atom::Grounded(Grounded::Text(name)), kind, content]) if verb.is_symbol("create") => {
            let (name, kind) = (name.to_string(), kind_of(kind)?);
            let content = match content.children() {
                Some(numbers) => PageContent::Numbers(numbers_of(numbers)?),
                None => PageContent::Zeros(count_of(content)?),
            };
            Ok(PageChange::Create { name, kind, content })
        }
        Some([verb, page, from, numbers]) if verb.is_symbol("write") => {
            let Some(children) = numbers.children() else {
                return failure(format!("{} is not a tuple of numbers", names::brief(numbers)));
            };
            Ok(PageChange::Write { page: page_of(page)?, from: count_of(from)?, numbers: numbers_of(children)? })
        }
        Some([verb, page]) if verb.is_symbol("delete") => Ok(PageChange::Delete { page: page_of(page)? }),
        _ => failure(format!(
            "{} is not a change: write (create NAME KIND NUMBERS), where NAME is a text, (write PAGE FROM NUMBERS) or (delete PAGE), and beside \
             changes (source TEXT) or (cause N)",
            names::brief(atom)
        )),
    }
}

fn kind_of(atom: &Atom) -> Result<PageKind, Outcome> {
    let found = PageKind::ALL.into_iter().find(|kind| atom.is_symbol(kind.name()));
    found.ok_or_else(|| {
        let known = PageKind::ALL.map(PageKind::name).join(", ");
        Outcome::failure(format!("{} is not a kind of numbers; there are {known}", names::brief(atom)))
    })
}

/// A number of things, or the number of one.
fn count_of(atom: &Atom) -> Result<u64, Outcome> {
    match atom {
        Atom::Grounded(Grounded::Number(Number::Int(count))) if *count >= 0 => Ok(count.unsigned_abs()),
        _ => failure(format!("{} is not a whole number from 0 on", names::brief(atom))),
    }
}

fn numbers_of(atoms: &[Atom]) -> Result<Vec<PageNumber>, Outcome> {
    atoms.iter().map(number_of).collect()
}

fn number_of(atom: &Atom) -> Result<PageNumber, Outcome> {
    let found = match atom {
        Atom::Grounded(Grounded::Number(Number::Int(whole))) => Some(PageNumber::Int(i128::from(*whole))),
        Atom::Grounded(Grounded::Number(Number::Big(whole))) => whole.to_i128().map(PageNumber::Int),
        Atom::Grounded(Grounded::Number(Number::Float(float))) => Some(PageNumber::from(*float)),
        _ => None,
    };
    found.ok_or_else(|| Outcome::failure(format!("{} is not a number that a page can hold", names::brief(atom))))
}

fn page_of(atom: &Atom) -> Result<PageName, Outcome> {
    let number = |atom: &Atom| match atom {
        Atom::Grounded(Grounded::Number(Number::Int(number))) => u32::try_from(*number).ok(),
        _ => None,
    };
    let found = match (atom, atom.children()) {
        (Atom::Grounded(Grounded::Text(name)), _) => Some(PageName::Named(name.to_string())),
        (_, Some([word, slot])) if word.is_symbol("page") => {
            number(slot).map(|slot| PageName::At(PagePlace { slot, generation: 0 }))
        }
        (_, Some([word, slot, generation])) if word.is_symbol("page") => {
            number(slot).zip(number(generation)).map(|(slot, generation)| PageName::At(PagePlace { slot, generation }))
        }
        _ => None,
    };
    found.ok_or_else(|| {
        let shown = names::brief(atom);
        Outcome::failure(format!("{shown} is not a page: write its name, a text, or its place, as in (page 0)"))
    })
}

fn list(call: &mut Call<'_>) -> Outcome {
    asked(call, |state| PagesRequest::List { state })
}

fn read(call: &mut Call<'_>) -> Outcome {
    let request = state_of(call).and_then(|state| {
        Ok(PagesRequest::Read { state, page: page_of(argument(call, 1)?)?, from: 0, most: u64::MAX })
    });
    ask_for(call, request)
}

fn range(call: &mut Call<'_>) -> Outcome {
    let request = state_of(call).and_then(|state| {
        let (first, limit) = (count_of(argument(call, 2)?)?, count_of(argument(call, 3)?)?);
        Ok(PagesRequest::Read { state, page: page_of(argument(call, 1)?)?, from: first, most: limit })
    });
    ask_for(call, request)
}

fn argument<'a>(call: &Call<'a>, place: usize) -> Result<&'a Atom, Outcome> {
    call.argument(place).ok_or_else(|| Outcome::failure("an argument is missing"))
}

fn changes(call: &mut Call<'_>) -> Outcome {
    let request =
        state_of(call).and_then(|state| Ok(PagesRequest::Changes { state, since: count_of(argument(call, 1)?)? }));
    ask_for(call, request)
}

fn history(call: &mut Call<'_>) -> Outcome {
    let request =
        state_of(call).and_then(|state| Ok(PagesRequest::History { state, page: page_of(argument(call, 1)?)? }));
    ask_for(call, request)
}

fn fork(call: &mut Call<'_>) -> Outcome {
    let request =
        state_of(call).and_then(|state| Ok(PagesRequest::Fork { state, epoch: count_of(argument(call, 1)?)? }));
    ask_for(call, request)
}

fn whole(number: i128) -> Atom {
    let number = i64::try_from(number).map_or_else(|_| Number::from_big(BigInt::from(number)), Number::Int);
    Atom::Grounded(Grounded::Number(number))
}

/// Numbers as a tuple, if there is room for it.
fn tuple(call: &mut Call<'_>, numbers: &PageNumbers) -> Result<Atom, Outcome> {
    call.look(numbers.iter().len() * size_of::<Atom>())?;
    let atom = |number| match number {
        PageNumber::Int(number) => whole(number),
        PageNumber::Float(bits) => Atom::Grounded(Grounded::Number(Number::Float(f64::from_bits(bits)))),
    };
    Ok(Atom::expression(numbers.iter().map(atom).collect::<Vec<_>>()))
}

fn placed(PagePlace { slot, generation }: PagePlace) -> Atom {
    let mut parts = vec![Atom::symbol("page"), whole(slot.into())];
    parts.extend((generation > 0).then(|| whole(generation.into())));
    Atom::expression(parts)
}

fn text(text: &str) -> Atom {
    Atom::Grounded(Grounded::Text(text.into()))
}

fn listed(page: ListedPage) -> Atom {
    let ListedPage { place, name, kind, shape, changed } = page;
    let shape: Vec<Atom> = shape.into_iter().map(|count| whole(count.into())).collect();
    let parts = [text(&name), placed(place), Atom::symbol(kind.name()), Atom::expression(shape), whole(changed.into())];
    Atom::expression(parts.to_vec())
}

fn changed(change: ChangedPage) -> Atom {
    let ChangedPage { place, name, event } = change;
    let parts = match event {
        PageEvent::Created => vec![Atom::symbol("created"), text(&name), placed(place)],
        PageEvent::Written => vec![Atom::symbol("written"), text(&name), placed(place)],
        PageEvent::Deleted => vec![Atom::symbol("deleted"), placed(place)],
    };
    Atom::expression(parts)
}
