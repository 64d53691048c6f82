//! Every byte of a log and its checkpoints, changed.

use crate::board::{create, derive, functions, sum, write};
use journal::Durability;
use journal::simulated::SimulatedDisk;
use reactive::{Options, State};
use std::sync::Arc;

fn options() -> Options {
    Options::default().durability(Durability::Fsync).log_hashes(true)
}

#[test]
fn verify_detects_tampering() {
    let disk = Arc::new(SimulatedDisk::new());
    let mut state = State::create(disk.clone(), functions(), options());
    let source = create(&mut state, &[1; 12]);
    derive(&mut state, 12, sum(), &[source, source]);
    for value in 2..6 {
        write(&mut state, source, &[value; 5]);
        if value == 3 {
            state.checkpoint().unwrap();
        }
    }
    let hashes: Vec<u128> = (0..=state.epoch()).map(|epoch| state.fork(epoch).unwrap().state_hash()).collect();
    drop(state);
    let mut refused = 0;
    for name in disk.names() {
        let length = disk.contents(&name).unwrap().len() as u64;
        for offset in (0..length).filter(|offset| !(300..12_288).contains(offset)) {
            let copy = disk.duplicate();
            assert!(copy.flip(&name, offset, 0x41));
            match State::open(Arc::new(copy), functions(), options()) {
                Ok((mut opened, _)) => {
                    assert_eq!(hashes[opened.epoch() as usize], opened.state_hash(), "{name} {offset}")
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 100, "{refused} changes were refused");
}
