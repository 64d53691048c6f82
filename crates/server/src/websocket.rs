//! x
use crate::exchange::Asked;
use crate::record::Tap;
use crate::reply::After;
use crate::session::Session;
use crate::shared::Shared;
use crate::upstream::Link;
use cassette::Exchange;
use std::sync::Arc;

pub(crate) async fn relay(_shared: &Arc<Shared>, _tap: &mut Tap<'_>, _asked: Asked<'_, '_>, _link: Link) -> After {
    After::Reset
}
pub(crate) async fn replay(
    _shared: &Arc<Shared>,
    _session: &Session,
    _asked: Asked<'_, '_>,
    _exchange: Exchange<'_>,
) -> After {
    After::Reset
}
