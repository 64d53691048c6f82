//! Sets of pages, and the router without a GPU. What the operations come to is tested beside them.

use reactive::{Functions, Location, Options, PageId, PageSet, Router, SetError, State, Transaction};
use std::process::Command;

fn state(pages: &[&[u8]]) -> (State, Vec<PageId>) {
    let mut state = State::new(Functions::new(), Options::default());
    let mut transaction = Transaction::new();
    pages.iter().for_each(|bytes| {
        transaction.create(bytes);
    });
    let commit = state.commit(&transaction).unwrap();
    (state, commit.created)
}

#[test]
fn a_set_has_pages_of_one_length_that_are_there() {
    let (mut state, pages) = state(&[&[1; 8], &[2; 8], &[3; 4]]);
    let before = state.snapshot();
    assert_eq!(PageSet::new(&before, []).unwrap_err(), SetError::Empty);
    let error = PageSet::new(&before, pages.iter().copied()).unwrap_err();
    assert_eq!(error, SetError::Lengths { page: pages[2], bytes: 4, expected: 8 });
    assert!(error.to_string().starts_with("page 2 has 4 bytes and the first page of the set 8"), "{error}");
    let mut set = PageSet::new(&before, pages[..2].iter().copied()).unwrap();
    assert_eq!((set.len(), set.page_bytes(), set.bytes()), (2, 8, 16));
    assert_eq!(set.ids().collect::<Vec<_>>(), pages[..2]);
    assert_eq!(set.contents().map(|page| page[0]).collect::<Vec<_>>(), [1, 2]);

    let mut transaction = Transaction::new();
    transaction.write(pages[0], 0, &[9]);
    state.commit(&transaction).unwrap();
    assert_eq!((set.follow(&state.snapshot()), set.follow(&state.snapshot())), (Ok(1), Ok(0)));
    assert_eq!(set.changed().collect::<Vec<_>>(), [2, 1]);
    assert_eq!(set.follow(&before), Ok(1));

    let mut transaction = Transaction::new();
    transaction.delete(pages[1]);
    state.commit(&transaction).unwrap();
    assert_eq!(set.follow(&state.snapshot()), Err(SetError::NoSuchPage(pages[1])));
    assert_eq!(set.contents().map(|page| page[0]).collect::<Vec<_>>(), [1, 2]);
    assert_eq!((set.location(1), set.location(2)), (Some(Location::Memory), None));
}

#[test]
fn what_an_operation_does_not_take_is_an_error_that_says_what_it_needs() {
    let (state, pages) = state(&[&[1; 8], &[2; 8], &[3; 16]]);
    let snapshot = state.snapshot();
    let set = |pages: &[PageId]| PageSet::new(&snapshot, pages.iter().copied()).unwrap();
    let (two, one, other) = (set(&pages[..2]), set(&pages[..1]), set(&pages[2..]));
    let mut router = Router::cpu();
    let unlike = router.differing(&two, &one).unwrap_err();
    assert_eq!(unlike, SetError::Unlike { left: (2, 8), right: (1, 8) });
    assert_eq!(unlike.to_string(), "the sets are unlike: 2 pages of 8 bytes, and 1 pages of 8 bytes");
    assert!(router.xor(&one, &other).is_err());
    for order in [0, 8, 31, 64, usize::MAX & !31] {
        let error = router.boolean_product(&one, &one, order).unwrap_err();
        assert!(error.to_string().contains("that 32 divides"), "{error}");
    }
    assert!(router.min_plus_product(&one, &one, 3).is_err() && router.min_plus_product(&one, &one, 0).is_err());
    assert!(router.min_plus_product(&one, &one, usize::MAX).is_err());
    assert!(router.nearest(&one, &[], 1).is_err() && router.nearest(&one, &[1.0; 3], 1).is_err());
    assert_eq!(router.counts().asked, 0);
    assert_eq!(router.min_plus_product(&other, &other, 2).unwrap().len(), 1);
    assert_eq!(router.nearest(&two, &[0.0, 0.0], 5).unwrap().len(), 2);
    let counts = router.counts();
    assert_eq!((counts.asked, counts.routed, counts.no_gpu, counts.gpu_calls), (2, 0, 2, 0));
}

/// Neither the library as others have it, nor the command.
#[test]
fn without_the_feature_nothing_of_a_gpu_is_linked() {
    for package in ["metroon-reactive", "metroon-cli"] {
        let tree = Command::new(env!("CARGO"))
            .args(["tree", "--offline", "--locked", "--edges", "normal", "--prefix", "none", "--package", package])
            .output()
            .unwrap();
        let listed = String::from_utf8_lossy(&tree.stdout);
        assert!(
            tree.status.success() && listed.contains("metroon-journal"),
            "{}",
            String::from_utf8_lossy(&tree.stderr)
        );
        assert!(
            !listed.lines().any(|line| line.starts_with("wgpu") || line.starts_with("ash ")),
            "{package}: {listed}"
        );
    }
}
