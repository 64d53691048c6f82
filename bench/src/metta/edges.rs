//! The graph that triangles are looked for in: random, and the same each time.

const EDGES: usize = 300;
const NODES: u64 = 40;

/// The edges, as pairs of nodes; one may come twice.
///
/// Drawn by a linear congruential generator (Knuth's MMIX), whose high bits are good enough for this.
pub(super) fn edges() -> Vec<(u64, u64)> {
    let mut state = 20_u64;
    let mut node = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % NODES
    };
    (0..EDGES).map(|_| (node(), node())).collect()
}
