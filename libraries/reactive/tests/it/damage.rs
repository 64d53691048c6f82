//! Every byte of a log and its checkpoints, changed.

use crate::board::{create, derive, functions, sum, write};
use journal::Durability;
use journal::simulated::SimulatedDisk;
use reactive::{Options, State};
use std::sync::Arc;

fn options() -> Options {
    Options::default().durability(Durability::Fsync).log_hashes(true)
}

/// What every byte of the files is for: the state itself says which do not fit, while it is open.
#[test]
fn verify_names_what_was_changed() {
    let disk = Arc::new(SimulatedDisk::new());
    let mut state = State::create(disk.clone(), functions(), options());
    let source = create(&mut state, &[1; 12]);
    derive(&mut state, 12, sum(), &[source, source]);
    state.checkpoint().unwrap();
    write(&mut state, source, &[2; 5]);
    let sound = state.verify().unwrap();
    assert!(sound.is_sound(), "{:?}", sound.problems);
    assert_eq!((sound.commits, sound.checkpoints, sound.derived), (3, 1, 1));
    for name in disk.names() {
        let length = disk.contents(&name).unwrap().len() as u64;
        let is_padding = |offset: u64| {
            (76..4096).contains(&offset) || (4160..8192).contains(&offset) || (8256..12_288).contains(&offset)
        };
        for offset in (0..length).filter(|&offset| name.ends_with(".pages") || !is_padding(offset)) {
            assert!(disk.flip(&name, offset, 0x41));
            let found = state.verify().unwrap();
            assert!(!found.is_sound(), "{name} {offset}");
            let said: Vec<String> = found.problems.iter().map(ToString::to_string).collect();
            assert!(said.iter().any(|said| said.contains(&name)), "{name} {offset}: {said:?}");
            disk.flip(&name, offset, 0x41);
        }
    }
    assert!(state.verify().unwrap().is_sound());
    assert_eq!(write(&mut state, source, &[3]).epoch, 4, "it goes on");
}

/// A function whose outcome depends on more than what it reads is found, without a log as well.
#[test]
fn verify_runs_functions_once_more() {
    use std::sync::atomic::{AtomicU8, Ordering};
    let counter = Arc::new(AtomicU8::new(0));
    let mut functions = functions();
    let name = reactive::FunctionName::new("count", 1);
    let count = counter.clone();
    functions.add(name.clone(), move |_: &reactive::Inputs<'_>, page: &mut [u8]| {
        page[0] = count.load(Ordering::Relaxed);
        Ok(())
    });
    let mut state = State::new(functions, Options::default());
    let source = create(&mut state, &[1]);
    let page = derive(&mut state, 1, name, &[source]);
    assert!(state.verify().unwrap().is_sound());
    counter.store(1, Ordering::Relaxed);
    let found = state.verify().unwrap();
    assert_eq!(found.derived, 1);
    assert_eq!(
        found.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [format!("{page} holds something other than what its function writes; the function is not pure")]
    );
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
