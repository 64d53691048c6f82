//! The examples in `docs/formats.md` are what is written, byte for byte.

use crate::harness::{Nobody, read, root};
use journal::{Disk, MemoryDisk, Reader};
use metroon::run::RunRequest;
use metroon::storage::CommitJournal;
use metroon::{Engine, MemoryWorld, Tape};
use std::sync::Arc;

/// The bytes of each block of a section whose lines are bytes, two spaces or more, and what they are.
fn shown(section: &str) -> Vec<Vec<u8>> {
    let document = read(&root().join("docs/formats.md"));
    let (_, rest) = document.split_once(&format!("\n### {section}\n")).expect("there is such a section");
    let text = rest.split("\n##").next().expect("it has a text");
    let blocks = text.split("```").skip(1).step_by(2);
    blocks.map(|block| block.lines().flat_map(bytes).collect()).collect()
}

fn bytes(line: &str) -> Vec<u8> {
    let column = line.split("  ").next().unwrap_or_default();
    column.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).expect("two hexadecimal digits")).collect()
}

fn payloads(disk: Arc<dyn Disk>) -> Vec<Vec<u8>> {
    let mut reader = Reader::from_frame(disk, 0).expect("the journal opens");
    let next = || reader.read_next().expect("the journal is whole").map(|frame| frame.payload.to_vec());
    std::iter::from_fn(next).collect()
}

/// Runs a text as `-e` does, in a new base and recorded on a new tape; gives the payloads of both.
fn run(text: &str) -> [Vec<Vec<u8>>; 2] {
    let program = RunRequest { expressions: vec![text.to_owned()], ..RunRequest::default() };
    let disks: [Arc<dyn Disk>; 2] = [Arc::new(MemoryDisk::new()), Arc::new(MemoryDisk::new())];
    let base = CommitJournal::on_disk(Arc::clone(&disks[0]), "/kb").expect("the base opens");
    let tape = Tape::on_disk(Arc::clone(&disks[1])).expect("a tape is made");
    for (base, tape) in [(Some(base), None), (None, Some(tape))] {
        let made = Engine::remembering(MemoryWorld::default(), base, tape, &program);
        let mut engine = made.expect("the run begins");
        engine.run_program(&program, &mut Nobody);
        engine.finish().expect("the run ends");
    }
    disks.map(payloads)
}

#[track_caller]
fn check(section: &str, written: &[Vec<u8>]) {
    let shown = shown(section);
    for (number, (shown, written)) in shown.iter().zip(written).enumerate() {
        assert_eq!(hex(shown), hex(written), "frame {number} of {section}");
    }
    assert_eq!(shown.len(), written.len(), "{section}");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x} ")).collect()
}

#[test]
fn the_example_of_a_base_is_what_is_written() {
    check("A base, byte by byte", &run("(Sam is green)")[0]);
}

#[test]
fn the_example_of_a_tape_is_what_is_written() {
    check("A tape, byte by byte", &run("!(+ 1 2)")[1]);
}

/// The state hash in the example is the hash of what the document says.
#[test]
fn the_state_hash_of_the_example_is_that_of_its_one_atom() {
    let [base, _] = run("(Sam is green)");
    let atom = space::canonical::encode(&metroon::Atom::expression(["Sam", "is", "green"].map(metroon::Atom::symbol)));
    // The leaves of the atom: each is a tag, its name and two more bytes.
    let leaves = [&atom[1..7], &atom[7..12], &atom[12..20]];
    let hashes = leaves.map(|leaf| twox_hash::XxHash3_128::oneshot(leaf).to_le_bytes());
    let content = twox_hash::XxHash3_128::oneshot(&[&[0x80][..], &hashes.concat(), &[0]].concat());
    let item = [&[1][..], &8u64.to_be_bytes(), &1u64.to_be_bytes(), &content.to_le_bytes()].concat();
    assert_eq!(base[1][2..18], twox_hash::XxHash3_128::oneshot(&item).to_le_bytes());
}
