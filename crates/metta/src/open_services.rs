//! What a program has open of one service, by number, as every world keeps it.

use crate::service_requests::{AsksService, ServiceRequest};
use crate::services::{SERVICES_OPEN_MAX, ServiceId, ServiceKind};
use crate::world::{World, WorldError};
use std::collections::BTreeMap;

/// What is open of one service.
#[derive(Debug)]
pub struct OpenServices<T> {
    kind: ServiceKind,
    open: BTreeMap<ServiceId, T>,
    opened: u64,
}

impl<T> OpenServices<T> {
    /// Nothing is open.
    pub fn new(kind: ServiceKind) -> Self {
        Self { kind, open: BTreeMap::new(), opened: 0 }
    }

    /// That one more may be open. It is asked before something is opened: what is refused has made no folder.
    ///
    /// # Errors
    /// [`SERVICES_OPEN_MAX`] are open.
    pub fn check_room(&self, name: &str) -> Result<(), WorldError> {
        if self.open.len() < SERVICES_OPEN_MAX { Ok(()) } else { Err(WorldError::too_many_open(self.kind, name)) }
    }

    /// Keeps what was opened, after [`OpenServices::check_room`].
    pub fn keep(&mut self, opened: T) -> ServiceId {
        self.opened += 1;
        let id = ServiceId(self.opened);
        self.open.insert(id, opened);
        id
    }

    /// What has this id.
    ///
    /// # Errors
    /// It is not open.
    pub fn at(&self, id: ServiceId) -> Result<&T, WorldError> {
        self.open.get(&id).ok_or_else(|| WorldError::service_not_open(self.kind, id))
    }

    /// What has this id, to be changed.
    ///
    /// # Errors
    /// It is not open.
    pub fn at_mut(&mut self, id: ServiceId) -> Result<&mut T, WorldError> {
        self.open.get_mut(&id).ok_or_else(|| WorldError::service_not_open(self.kind, id))
    }

    /// Takes out what has this id. It is never given again.
    ///
    /// # Errors
    /// It is not open.
    pub fn close(&mut self, id: ServiceId) -> Result<T, WorldError> {
        self.open.remove(&id).ok_or_else(|| WorldError::service_not_open(self.kind, id))
    }

    /// All that is open, in the order of opening.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.open.values()
    }
}

/// Asks a world for a service.
///
/// # Errors
/// What is asked is not open or cannot do it, or this world has no services.
pub fn ask_service<R: AsksService>(world: &mut dyn World, request: R) -> Result<R::Answer, WorldError> {
    answer_of::<R>(world, &request.into())
}

/// The answer of a world to a request that was made of an `R`.
pub(crate) fn answer_of<R: AsksService>(
    world: &mut dyn World,
    request: &ServiceRequest,
) -> Result<R::Answer, WorldError> {
    let mistaken = || WorldError::service_failed(request.kind().noun(), "the world answered what was not asked");
    world.ask_service(request).and_then(|answer| R::answer(answer).ok_or_else(mistaken))
}
