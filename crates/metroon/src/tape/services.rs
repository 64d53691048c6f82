//! What is asked of services, as a tape has it and for people.

use super::{Request, shown_call};
use metta::{PageChange, PagesRequest, ServiceRequest, StoreRequest, shown_page};
use std::borrow::Cow;

impl<'a> From<&'a ServiceRequest> for Request<'a> {
    fn from(request: &'a ServiceRequest) -> Self {
        match request {
            ServiceRequest::Store(request) => Self::Store(Cow::Borrowed(request)),
            ServiceRequest::Pages(request) => Self::Pages(Cow::Borrowed(request)),
        }
    }
}

/// What is asked of a store, for people.
pub(super) fn shown_store(request: &StoreRequest) -> String {
    let atom = |bytes: &[u8]| shown_call(bytes);
    match request {
        StoreRequest::Open { path, for_writing: true } => format!("open the store {path} to write it"),
        StoreRequest::Open { path, .. } => format!("open the store {path} to read it"),
        StoreRequest::Get { store, key } => format!("look {} up in store {}", atom(key), store.0),
        StoreRequest::Commit { store, changes } => {
            let shown = changes.first().map_or_else(String::new, |(key, value)| match value {
                Some(value) => format!(": {} is {}", atom(key), atom(value)),
                None => format!(": {} goes", atom(key)),
            });
            format!("make {} changes in store {}{shown}", changes.len(), store.0)
        }
        StoreRequest::Range { store, from, to, most, .. } => {
            let bound = |key: &Option<Vec<u8>>| key.as_deref().map_or_else(|| "the end".to_owned(), atom);
            format!("read at most {most} entries of store {}, from {} to {}", store.0, bound(from), bound(to))
        }
        StoreRequest::Snapshot { store } => format!("take a snapshot of store {}", store.0),
        StoreRequest::Close { store } => format!("close store {}", store.0),
        _ => "ask a store".to_owned(),
    }
}

/// What is asked of a state of pages, for people.
pub(super) fn shown_pages(request: &PagesRequest) -> String {
    match request {
        PagesRequest::New => "make a state of pages in memory".to_owned(),
        PagesRequest::Open { path } => format!("open the state of pages {path}"),
        PagesRequest::Commit { state, changes, source, cause } => {
            let from = if source.is_empty() { String::new() } else { format!(" from {source:?}") };
            let after = cause.map_or_else(String::new, |cause| format!(" after commit {cause}"));
            let shown = changes.first().map_or_else(String::new, |change| format!(": {}", shown_change(change)));
            format!("make {} changes{from}{after} in state {}{shown}", changes.len(), state.0)
        }
        PagesRequest::List { state } => format!("list the pages of state {}", state.0),
        PagesRequest::Read { state, page, from, most } => {
            format!("read at most {most} numbers of {} of state {}, from number {from} on", shown_page(page), state.0)
        }
        PagesRequest::Epoch { state } => format!("ask for the last commit of state {}", state.0),
        PagesRequest::Changes { state, since } => format!("ask what has changed in state {} since {since}", state.0),
        PagesRequest::History { state, page } => format!("ask what {} of state {} was", shown_page(page), state.0),
        PagesRequest::Snapshot { state } => format!("take a snapshot of state {}", state.0),
        PagesRequest::Fork { state, epoch } => format!("fork state {} at commit {epoch}", state.0),
        PagesRequest::Checkpoint { state } => format!("write a checkpoint of state {}", state.0),
        PagesRequest::Close { state } => format!("close state {}", state.0),
        _ => "ask a state of pages".to_owned(),
    }
}

fn shown_change(change: &PageChange) -> String {
    match change {
        PageChange::Create { name, kind, .. } => format!("page {name:?} of {} is made", kind.name()),
        PageChange::Write { page, from, numbers } => {
            let first = numbers.first().map_or_else(String::new, |number| format!(", {number} first"));
            format!("{} numbers go to {} from number {from} on{first}", numbers.len(), shown_page(page))
        }
        PageChange::Delete { page } => format!("{} goes", shown_page(page)),
        _ => "a page changes".to_owned(),
    }
}
