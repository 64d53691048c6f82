//! What the fuzz target of the store runs, on inputs that look random and are always the same.

use crate::history::Random;

#[path = "../../../../fuzz/src/stores.rs"]
mod stores;

const INPUTS: u64 = 1500;

#[test]
fn no_changed_bytes_make_it_panic() {
    assert!(stores::run(&[]), "the store that is changed is good");
    let (mut random, mut opened) = (Random(8), 0);
    for _ in 0..INPUTS {
        let changes = 1 + random.below(6);
        let mut input = Vec::new();
        for _ in 0..changes {
            // Places near the ends of files are where indexes and footers lie.
            let near = random.below(3) > 0;
            let place = if near { 0x80_0000 | random.below(1200) } else { random.below(1 << 23) };
            let value = [0, 1, 0x7f, 0x80, 0xff, random.below(256) as u8][random.below(6) as usize];
            input.push(random.below(256) as u8);
            input.extend_from_slice(&(place as u32).to_be_bytes()[1..]);
            input.push(value);
        }
        opened += u64::from(stores::run(&input));
    }
    assert!((INPUTS / 10..INPUTS).contains(&opened), "{opened} of {INPUTS} can be opened");
}
