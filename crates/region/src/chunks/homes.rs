//! Homes of chunks: which lane a chunk lies in, and where there.

use super::{Chunks, Home, LOOSE_HOME, Link, last_chunk};
use crate::region::{Lane, LanePosition};

impl Chunks {
    /// The segment that a chunk lies in, and its order there.
    pub(super) fn segment(&self, chunk: u32) -> Home {
        self.links[chunk as usize].segment(chunk)
    }

    /// Where a chunk at home here lies in the whole lane.
    #[cold]
    pub(super) fn find(&self, home: Home) -> Home {
        find_in(&self.links, home)
    }

    /// How many chunks precede the one where a place of a lane lies.
    #[inline]
    pub(super) fn order(&self, lane: &Lane, position: LanePosition) -> u32 {
        let home = self.links[last_chunk(position) as usize].home();
        if home.lane == lane.first { home.order } else { self.find_from(lane, home).order }
    }

    /// Where a chunk of a lane at home here lies in it. In most cases the segment was joined to it, and nothing else is looked
    /// at: what was joined long ago is not in the cache.
    fn find_from(&self, lane: &Lane, home: Home) -> Home {
        let above = self.links[home.lane as usize].home();
        if above.lane == lane.first {
            return Home { lane: above.lane, order: home.order.wrapping_add(above.order) };
        }
        self.find(home)
    }

    /// How many chunks a lane has, those ahead included.
    pub(crate) fn length(&self, lane: &Lane) -> u32 {
        self.length_to(lane, lane.position)
    }

    /// How many chunks a lane has up to a place of it.
    pub(crate) fn length_to(&self, lane: &Lane, position: LanePosition) -> u32 {
        if position == LanePosition::START { 0 } else { self.order(lane, position) + 1 }
    }

    /// The chunks of a lane, in its order.
    pub(crate) fn of_lane(&self, lane: &Lane) -> impl Iterator<Item = u32> {
        let count = self.length(lane);
        std::iter::successors(Some(lane.first), |chunk| Some(self.links[*chunk as usize].next)).take(count as usize)
    }
}

/// Where a chunk at home here lies in the whole lane, of the chunks with these links. Nowhere if it was freed, as far as that
/// can be seen.
pub(super) fn find_in(links: &[Link], mut home: Home) -> Home {
    loop {
        let Some(first) = links.get(home.lane as usize).filter(|link| link.is_first) else {
            return LOOSE_HOME;
        };
        let above = first.home();
        if above.lane == home.lane {
            return home;
        }
        let Some(second) = links.get(above.lane as usize) else { return LOOSE_HOME };
        let mut next = above;
        if second.is_first && second.home().lane != above.lane {
            let higher = second.home();
            next = Home { lane: higher.lane, order: above.order.wrapping_add(higher.order) };
            first.set_home(next);
        }
        home = Home { lane: next.lane, order: home.order.wrapping_add(next.order) };
    }
}
