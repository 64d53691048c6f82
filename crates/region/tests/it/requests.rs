//! What the fuzz target `requests` runs, on generated programs: sizes and limits where arithmetic goes wrong.

#[path = "../../../../fuzz/src/requests.rs"]
mod body;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_request_exceeds_a_limit(program in prop::collection::vec(any::<u8>(), 0..400)) {
        body::run(&program);
    }
}

/// Each request alone, with every size, under every limit, first in an empty heap and then in one that is in use.
#[test]
fn every_size_meets_every_limit() {
    // What else a request takes: the branching of a tree.
    for (request, more) in [(2, 0..0), (3, 0..0), (4, 0..0), (5, 0..0), (6, 0..36)] {
        for size in 0..36 {
            for limit in 0..12 {
                let ask = |which: u8| {
                    let asks = more.clone().flat_map(move |more| [request, which, size, more]);
                    if more.is_empty() { vec![request, which, size] } else { asks.collect() }
                };
                let limits = [0, 0, limit, 1, 0, limit];
                let use_some = [0, 0, 10, 1, 0, 11, 2, 0, 200, 7, 0, 1, 5, 1, 20];
                body::run(&[&limits[..], &ask(0), &use_some, &limits, &ask(0), &ask(1)].concat());
            }
        }
    }
}
