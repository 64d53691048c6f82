//! The graph that triangles are looked for in: random, and the same each time.

use crate::random::Random;

const EDGES: usize = 300;
const NODES: usize = 40;

/// The edges, as pairs of nodes; one may come twice.
pub(super) fn edges() -> Vec<(u64, u64)> {
    let mut random = Random::new(20);
    let mut node = || random.below(NODES) as u64;
    (0..EDGES).map(|_| (node(), node())).collect()
}
