//! How a program asks a service of the world: what it has open is an atom, and each request goes through the [`World`](crate::World).

use super::refused;
use crate::names;
use crate::open_services::answer_of;
use crate::operation::{Call, Outcome};
use crate::service_requests::AsksService;
use crate::services::{ServiceId, ServiceKind};
use space::{Atom, Grounded, HostValue};
use std::any::Any;
use std::sync::Arc;

/// Something open, as an atom.
struct Handle {
    kind: ServiceKind,
    id: ServiceId,
    name: String,
    identity: String,
}

impl HostValue for Handle {
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> &str {
        &self.identity
    }

    fn type_atom(&self) -> Atom {
        Atom::symbol(self.kind.type_name())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// What was opened, as an atom.
pub(super) fn handle(kind: ServiceKind, id: ServiceId) -> Outcome {
    let name = format!("{}-{}", kind.type_name(), id.0);
    let identity = name.to_lowercase();
    Outcome::one(Atom::Grounded(Grounded::Host(Arc::new(Handle { kind, id, name, identity }))))
}

/// What the first argument is, of this service.
pub(super) fn id_of(call: &Call<'_>, kind: ServiceKind) -> Result<ServiceId, Outcome> {
    let found = match call.argument(0) {
        Some(Atom::Grounded(Grounded::Host(value))) => value.as_any().downcast_ref::<Handle>(),
        _ => None,
    };
    found.filter(|handle| handle.kind == kind).map(|handle| handle.id).ok_or_else(|| {
        let (name, noun, open) = (names::brief(call.head), kind.noun(), kind.opened_by());
        Outcome::failure(format!("{name} expects a {noun}, which {open} gives"))
    })
}

/// Asks the world, and makes something of the answer.
pub(super) fn ask<R: AsksService>(
    call: &mut Call<'_>,
    request: R,
    then: impl FnOnce(&mut Call<'_>, R::Answer) -> Outcome,
) -> Outcome {
    let request = request.into();
    if request.is_outward()
        && let Err(refused) = call.environment.before_outward_effect()
    {
        return refused.into();
    }
    match answer_of::<R>(call.environment.world(), &request) {
        Ok(answer) => then(call, answer),
        Err(error) => refused(&names::brief(call.head), error),
    }
}

/// What is made of the answer to something that is only done.
pub(super) fn done<A>(_: &mut Call<'_>, _: A) -> Outcome {
    Outcome::unit()
}
