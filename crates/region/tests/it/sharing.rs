//! Lists that share their ends, beside those of the standard library.

use proptest::prelude::*;
use region::{Bound, Heap, Ref, Words};

use crate::basics::small;

fn read<W: Words>(heap: &Heap<W>, mut list: Ref) -> Vec<u32> {
    let mut elements = Vec::new();
    while list.is_expression() {
        elements.push(heap.child(list, 0).payload());
        list = heap.child(list, 1);
    }
    elements
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Each list stays what it was, whatever was put before it, and a copy shares what was shared.
    #[test]
    fn lists_share_their_ends(steps in proptest::collection::vec((0..50usize, 0..1_000u32), 1..120)) {
        let (mut heap, mut other) = (Heap::new(), Heap::new());
        let (mut region, mut target) = (heap.open(), other.open());
        let (mut lists, mut model) = (vec![small(0)], vec![Vec::new()]);
        for (at, element) in steps {
            let at = at % lists.len();
            lists.push(heap.expression(&mut region, &[small(element), lists[at]]).expect("there is no limit"));
            let mut elements: Vec<u32> = model[at].clone();
            elements.insert(0, element);
            model.push(elements);
        }
        prop_assert_eq!(lists.iter().map(|list| read(&heap, *list)).collect::<Vec<_>>(), model.clone());
        let frozen = heap.freeze(&region, &lists, Bound::Kept, |foreign| foreign).expect("there is no limit");
        prop_assert_eq!(frozen.roots().iter().map(|list| read(&*frozen, *list)).collect::<Vec<_>>(), model.clone());
        let made = lists.len() as u64 - 1;
        heap.copy_to(&mut lists, &region, &mut other, &mut target, |foreign| foreign).expect("there is no limit");
        prop_assert_eq!(other.statistics().cells_copied, 2 * made);
        heap.close(region);
        prop_assert_eq!(lists.iter().map(|list| read(&other, *list)).collect::<Vec<_>>(), model);
        other.close(target);
    }
}
