//! How a program asks a service of the world: what it has open is an atom, and each request goes through the [`World`](crate::World).

use super::handles::HandleKind;
use super::refused;
use crate::names;
use crate::open_services::answer_of;
use crate::operation::{Call, Outcome};
use crate::service_requests::AsksService;
use crate::services::{ServiceId, ServiceKind};

static STORE: HandleKind =
    HandleKind { type_name: ServiceKind::Store.type_name(), identity: "store", is_durable: false };
static PAGES: HandleKind =
    HandleKind { type_name: ServiceKind::Pages.type_name(), identity: "pages", is_durable: false };

fn handles_of(kind: ServiceKind) -> &'static HandleKind {
    match kind {
        ServiceKind::Store => &STORE,
        ServiceKind::Pages => &PAGES,
    }
}

/// What was opened, as an atom.
pub(super) fn handle(kind: ServiceKind, id: ServiceId) -> Outcome {
    Outcome::one(handles_of(kind).atom(id.0))
}

/// What the first argument is, of this service.
pub(super) fn id_of(call: &Call<'_>, kind: ServiceKind) -> Result<ServiceId, Outcome> {
    handles_of(kind).argument(call, 0).map(ServiceId).ok_or_else(|| {
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
