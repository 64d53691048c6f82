//! What is asked of services, and what they answer.
//!
//! 1. A request and its answer are plain data, so that a recording holds both and a replay needs no service.
//! 2. All services go the same way: through [`World::ask_service`](crate::World::ask_service), where a world permits, records or replays without
//!    knowing what is asked. What it has to know is said here: the folder that a request opens, whether it changes something outside, and which
//!    bytes go out and come in.

use crate::pages::{PagesAnswer, PagesRequest};
use crate::services::{ServiceId, ServiceKind};
use crate::stores::{StoreAnswer, StoreRequest};
use serde::Serialize;

/// What is asked of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceRequest {
    /// Of stores.
    Store(StoreRequest),
    /// Of states of pages.
    Pages(PagesRequest),
}

impl ServiceRequest {
    /// To close something.
    pub fn close(kind: ServiceKind, id: ServiceId) -> Self {
        match kind {
            ServiceKind::Store => Self::Store(StoreRequest::Close { store: id }),
            ServiceKind::Pages => Self::Pages(PagesRequest::Close { state: id }),
        }
    }

    /// Which service is asked.
    pub fn kind(&self) -> ServiceKind {
        match self {
            Self::Store(_) => ServiceKind::Store,
            Self::Pages(_) => ServiceKind::Pages,
        }
    }

    /// The folder that it opens, and whether that is to be written; none if it opens no folder.
    pub fn folder(&self) -> Option<(&str, bool)> {
        match self {
            Self::Store(StoreRequest::Open { path, for_writing }) => Some((path, *for_writing)),
            Self::Pages(PagesRequest::Open { path }) => Some((path, true)),
            _ => None,
        }
    }

    /// This request for another folder; as it is if it opens none.
    #[must_use]
    pub fn in_folder(mut self, folder: &str) -> Self {
        if let Self::Store(StoreRequest::Open { path, .. }) | Self::Pages(PagesRequest::Open { path }) = &mut self {
            folder.clone_into(path);
        }
        self
    }

    /// Whether it changes what lies outside.
    pub fn is_outward(&self) -> bool {
        match self {
            Self::Store(request) => request.is_outward(),
            Self::Pages(request) => request.is_outward(),
        }
    }

    /// The bytes that it hands over.
    pub fn contents(&self) -> Vec<&[u8]> {
        match self {
            Self::Store(request) => request.contents(),
            Self::Pages(request) => request.contents(),
        }
    }
}

/// What a service answers. It is written as the answer of its service is: who reads it knows what was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ServiceAnswer {
    /// A store does.
    Store(StoreAnswer),
    /// A state of pages does.
    Pages(PagesAnswer),
}

impl ServiceAnswer {
    /// What was opened, if something was.
    pub fn opened(&self) -> Option<ServiceId> {
        match self {
            Self::Store(StoreAnswer::Opened(id)) | Self::Pages(PagesAnswer::Opened { state: id, .. }) => Some(*id),
            _ => None,
        }
    }

    /// The bytes that it brings.
    pub fn contents(&self) -> Vec<&[u8]> {
        match self {
            Self::Store(answer) => answer.contents(),
            Self::Pages(answer) => answer.contents(),
        }
    }
}

/// A request whose answer has a type of its own.
pub trait AsksService: Into<ServiceRequest> {
    /// The answer.
    type Answer;

    /// The answer, if it is one to such a request.
    fn answer(answer: ServiceAnswer) -> Option<Self::Answer>;
}

impl From<StoreRequest> for ServiceRequest {
    fn from(request: StoreRequest) -> Self {
        Self::Store(request)
    }
}

impl AsksService for StoreRequest {
    type Answer = StoreAnswer;

    fn answer(answer: ServiceAnswer) -> Option<StoreAnswer> {
        if let ServiceAnswer::Store(answer) = answer { Some(answer) } else { None }
    }
}

impl From<PagesRequest> for ServiceRequest {
    fn from(request: PagesRequest) -> Self {
        Self::Pages(request)
    }
}

impl AsksService for PagesRequest {
    type Answer = PagesAnswer;

    fn answer(answer: ServiceAnswer) -> Option<PagesAnswer> {
        if let ServiceAnswer::Pages(answer) = answer { Some(answer) } else { None }
    }
}
