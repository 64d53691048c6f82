//! What the fuzz target of checkpoints runs, on inputs that look random and are always the same.

use generate::Dice;

#[path = "../../../../fuzz/src/checkpoints.rs"]
mod checkpoints;

const INPUTS: u64 = 300;

#[test]
fn no_changed_checkpoint_makes_a_base_panic() {
    assert!(checkpoints::run(&[]), "the checkpoint that is changed is good");
    let (mut dice, mut used) = (Dice::new(9), 0);
    for _ in 0..INPUTS {
        let mut input = Vec::new();
        for _ in 0..1 + dice.below(6) {
            // What says where things are lies at the end.
            let is_near = dice.below(3) > 0;
            let place = if is_near { 0x8000_0000 | dice.below(6_000) as u32 } else { dice.below(1 << 20) as u32 };
            input.extend_from_slice(&place.to_be_bytes());
            input.push([0, 1, 0x7f, 0x80, 0xff, dice.below(256) as u8][dice.below(6)]);
        }
        used += u64::from(checkpoints::run(&input));
    }
    assert!((INPUTS / 20..INPUTS).contains(&used), "{used} of {INPUTS} are used");
}
