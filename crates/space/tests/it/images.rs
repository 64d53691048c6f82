//! Images: what is written of spaces is what they held, whatever is done with it afterwards; and bytes that are not what was written
//! are never taken for an answer. [`segments`](crate::segments) reopens spaces in the middle of generated histories.

use crate::atoms::atom;
use crate::generated::{config, stored};
use crate::tree::Tree;
use proptest::collection::vec;
use proptest::prelude::*;
use space::{
    Atom, ChangeLog, Image, ImageSource, SharedSpace, SharedTerms, Snapshot, Space, Terms, Variable, VariableSource,
    canonical, catching_damage, write_image,
};

/// The bytes of an image of snapshots of one dictionary.
pub(crate) fn image_of(snapshots: &[Snapshot], foundation: u32) -> Vec<u8> {
    let newest = snapshots.iter().max_by_key(|snapshot| snapshot.terms().len()).expect("there is a space");
    let spaces: Vec<(u64, &Snapshot)> = (0..).zip(snapshots).collect();
    let source = ImageSource { terms: newest.terms(), foundation, spaces: &spaces, owner: b"the owner's" };
    let mut bytes = Vec::new();
    let length = write_image(&source, &mut bytes).expect("a vector takes everything");
    assert_eq!(length, bytes.len() as u64);
    bytes
}

fn open(bytes: Vec<u8>) -> Result<Image, space::ImageError> {
    Image::open(bytes.into(), |_| None)
}

/// The space of a serial number, whole.
fn space_of(image: &Image, serial: u64, terms: &SharedTerms) -> Space {
    let mut space = image.space(serial, terms).expect("it was written");
    for pattern in image.patterns(serial).expect("it was written so") {
        let variable = |number: u32| Variable::new(&pattern.names[number as usize]);
        let atom = canonical::decode_naming(&pattern.bytes, variable, |_| None).expect("it was written so");
        space.restore_pattern(&atom, pattern.copies, pattern.number);
    }
    space
}

/// These spaces, opened from an image of them.
pub(crate) fn reopened(spaces: &[&SharedSpace]) -> Vec<SharedSpace> {
    let snapshots: Vec<Snapshot> = spaces.iter().map(|space| space.own_snapshot()).collect();
    let image = open(image_of(&snapshots, 3)).expect("it was written so");
    assert_eq!(image.owner(), b"the owner's");
    assert_eq!(image.verify(), Ok(()));
    let terms = image.dictionary();
    let made = |serial| {
        let space = space_of(&image, serial, &terms);
        SharedSpace::holding(serial, "reopened", space, ChangeLog::default(), |_| 0)
    };
    (0..spaces.len() as u64).map(made).collect()
}

/// A space with something of each kind.
fn of_all_kinds() -> SharedSpace {
    let space = SharedSpace::new(1, "s", Terms::shared());
    let texts = [
        "(edge a b)",
        "(edge b a)",
        "(edge b a)",
        "(edge 1 1.0)",
        "(edge 1.0 1)",
        "(a-name-that-is-long (f 1 (g 2.5)) \"text\")",
        "(a-name-that-is-long (f 1 (g 2.5)) \"other\")",
        "leaf",
        "170141183460469231731687303715884105727",
        "4611686018427387904",
        "(= (double $x) (+ $x $x))",
        "(= (double $y) (+ $y $y))",
        "(Same $x $y $x)",
        "()",
        "(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17)",
        "(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18)",
    ];
    texts.iter().for_each(|text| space.add(&atom(text)));
    (0..200).for_each(|number| space.add(&atom(&format!("(edge n{} m{number})", number % 3))));
    (0..200).for_each(|number| space.add(&atom(&format!("(road n{} m{number})", number % 3))));
    space.remove(&atom("(edge n1 m1)"));
    space.read(|_| ());
    space
}

const QUERIES: [&str; 10] = [
    "(edge n1 $x)",
    "(edge $x m7)",
    "(road n2 $x)",
    "(a-name-that-is-long (f 1 $x) $y)",
    "(, (edge $x $y) (edge $y $x))",
    "(= (double 4) $x)",
    "(edge 1 $x)",
    "$x",
    "(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 $x)",
    "(edge nobody $x)",
];

fn answers(space: &SharedSpace) -> Vec<String> {
    let source = &mut VariableSource::default();
    let all = space.atoms(source).into_iter().map(|atom| atom.to_string());
    let shown =
        |solution: &space::Solution| format!("{:?}", solution.iter().map(|(_, v)| v.to_string()).collect::<Vec<_>>());
    let mut found: Vec<String> = all.collect();
    for query in QUERIES {
        found.extend(space.query(&atom(query), &mut VariableSource::default()).iter().map(shown));
    }
    found
}

#[test]
fn a_reopened_space_answers_as_before() {
    let space = of_all_kinds();
    space.keep_hash();
    let opened = reopened(&[&space]).remove(0);
    assert_eq!(answers(&opened), answers(&space));
    assert_eq!(opened.read(Space::hash), space.read(Space::hash));
    // From here on both change alike.
    for space in [&space, &opened] {
        space.add(&atom("(edge n1 m1)"));
        space.add(&atom("(edge b a)"));
        assert!(space.remove(&atom("(edge 1 1)")));
        assert!(space.remove(&atom("(a-name-that-is-long (f 1 (g 2.5)) \"text\")")));
        assert!(!space.remove(&atom("(edge nobody m1)")));
        space.add(&atom("(a-name-that-is-long (f 1 (new 2.5)) \"text\")"));
        (0..150).for_each(|number| assert!(space.remove(&atom(&format!("(road n{} m{number})", number % 3)))));
    }
    assert_eq!(answers(&opened), answers(&space));
    assert_eq!(opened.read(Space::hash), space.read(Space::hash));
    let again = reopened(&[&opened]).remove(0);
    assert_eq!(answers(&again), answers(&space));
    assert_eq!(again.read(Space::hash), space.read(Space::hash));
}

/// Terms that nothing needs any more are not written.
#[test]
fn an_image_has_no_dead_terms() {
    let space = SharedSpace::new(1, "s", Terms::shared());
    let fact = |number: u32| atom(&format!("(edge a-name-that-is-long-{number} b)"));
    (0..1_000).for_each(|number| space.add(&fact(number)));
    let full = image_of(&[space.own_snapshot()], 0).len();
    (1..1_000).for_each(|number| assert!(space.remove(&fact(number))));
    let bytes = image_of(&[space.own_snapshot()], 0);
    assert!(bytes.len() < full / 20, "{} of {full} bytes are left", bytes.len());
    assert_eq!(open(bytes).expect("it was written so").dictionary().read().expect("unharmed").len(), 3);
}

/// What an image says if it can be opened: all its answers, or that it is damaged.
fn looked_at(bytes: Vec<u8>) -> Option<Vec<String>> {
    let image = open(bytes).ok()?;
    let looked = catching_damage(|| {
        let terms = image.dictionary();
        if image.owner() != b"the owner's" {
            return None;
        }
        let mut space = image.space(0, &terms)?;
        for pattern in image.patterns(0).ok()? {
            let variable = |number: u32| Variable::new(pattern.names.get(number as usize).map_or("_", |name| name));
            let atom = canonical::decode_naming(&pattern.bytes, variable, |_| None).ok()?;
            space.restore_pattern(&atom, pattern.copies, pattern.number);
        }
        Some(answers(&SharedSpace::holding(1, "s", space, ChangeLog::default(), |_| 0)))
    });
    looked.ok().flatten()
}

/// One byte after the other is changed: what is said is what was written, or nothing.
#[test]
fn a_changed_byte_is_never_an_answer() {
    let space = of_all_kinds();
    let expected = answers(&space);
    let bytes = image_of(&[space.own_snapshot()], 2);
    assert_eq!(looked_at(bytes.clone()).as_ref(), Some(&expected));
    let mut told = 0;
    for place in (0..bytes.len()).step_by(3) {
        let mut changed = bytes.clone();
        changed[place] ^= 1 << (place % 8);
        match looked_at(changed) {
            Some(found) => assert_eq!(found, expected, "byte {place}"),
            None => told += 1,
        }
    }
    assert!(told > bytes.len() / 6, "most bytes count");
    for length in (0..bytes.len()).step_by(97) {
        assert_eq!(looked_at(bytes[..length].to_vec()), None, "{length} bytes");
    }
}

/// A question about a part of a compound, where no row has a compound, is answered without a look at the rows: one byte in each block is
/// changed in turn, and hardly any of them matters.
#[test]
fn a_path_that_no_row_reaches_is_not_looked_for() {
    let space = SharedSpace::new(1, "s", Terms::shared());
    (0..50_000).for_each(|number| space.add(&atom(&format!("(edge n{} m{})", number % 5_000, number % 7_001))));
    let bytes = image_of(&[space.own_snapshot()], 0);
    let query = atom("(edge (n1 $y) $x)");
    let blocks: Vec<usize> = (30_000..bytes.len()).step_by(65_536).collect();
    let is_told = |&place: &usize| {
        let mut changed = bytes.clone();
        changed[place] ^= 1;
        let Ok(image) = open(changed) else { return true };
        let asked = catching_damage(|| {
            let space = image.space(0, &image.dictionary()).expect("it was written");
            let space = SharedSpace::holding(1, "s", space, ChangeLog::default(), |_| 0);
            space.query(&query, &mut VariableSource::default()).len()
        });
        asked.map(|answers| assert_eq!(answers, 0)).is_err()
    };
    let told = blocks.iter().filter(|place| is_told(place)).count();
    assert!(blocks.len() > 20 && told * 4 < blocks.len(), "{told} of {} blocks were looked at", blocks.len());
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn what_is_written_is_what_was_held(trees in vec(stored(), 0..60), removed in vec(any::<prop::sample::Index>(), 0..20)) {
        let space = SharedSpace::new(1, "s", Terms::shared());
        let atoms: Vec<Atom> = trees.iter().map(Tree::to_atom).collect();
        space.add_many(&atoms);
        for index in removed.iter().filter(|_| !atoms.is_empty()) {
            space.remove(index.get(&atoms));
        }
        let opened = reopened(&[&space]).remove(0);
        let source = &mut VariableSource::default();
        let texts = |space: &SharedSpace, source: &mut VariableSource| {
            space.atoms(source).iter().map(canonical::encode).collect::<Vec<_>>()
        };
        prop_assert_eq!(texts(&opened, source), texts(&space, source));
        for tree in &trees {
            let atom = tree.to_atom();
            prop_assert_eq!(opened.read(|space| space.count(&atom)), space.read(|space| space.count(&atom)));
        }
    }

    /// Any bytes where a program expects an image are refused, and those of an image in which some are changed, with checksums made
    /// right again, end in an answer or in damage, not in a panic.
    #[test]
    fn any_bytes_are_taken(bytes in vec(any::<u8>(), 0..300)) {
        prop_assert!(open(bytes).is_err());
    }
}
