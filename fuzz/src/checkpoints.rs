//! Bytes that are said to be the checkpoint of a knowledge base: those of a good one, changed.
//!
//! 1. A small base with a checkpoint is made, once. The input changes some bytes of the checkpoint: where, to what.
//! 2. Checksums would stop everything, so they are put right.
//! 3. The base is opened and asked in every way. Whatever the bytes are, all of this ends, with answers or with an error; what nobody made
//!    up on purpose, which the checksums are for, is found out by other tests.
//!
//! This file is compiled by the fuzz target and by the tests of the engine, which run it on inputs of their own.

use journal::{Disk, MemoryDisk};
use metroon::storage::CommitJournal;
use metroon::{Engine, History, MemoryWorld, View};
use std::sync::{Arc, OnceLock};
use twox_hash::XxHash3_64;

const BLOCK_BYTES: usize = 1 << 16;
const FOOTER_BYTES: usize = 48;
const HEADER_BYTES: usize = 64;
const ENTRY_BYTES: usize = 40;
/// Where (4 bytes, from the end if the highest bit is set), what (1 byte).
const CHANGE_BYTES: usize = 5;
/// What is asked: no program that runs for ever can be made of it.
const STEPS_MAX: u64 = 10_000;

const PROGRAM: &str = "\
(edge a b) (edge b c) (edge c a) (edge a b) (name a \"text\") (size a 1.5) (size b 2) (deep (path (to b)) 3)
(= (twice $x) (+ $x $x)) (pair $x $x)
! (bind! &s (new-state (a b)))
! (bind! &box (new-space))
! (add-atom &box (held &s))
! (remove-atom &self (edge c a))";

/// Changes a checkpoint and asks the base; whether the checkpoint was used.
pub(crate) fn run(bytes: &[u8]) -> bool {
    let (files, name) = good();
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    for (other, content) in files {
        let mut content = content.clone();
        if other == name {
            change(&mut content, bytes);
        }
        disk.create(other).and_then(|file| file.write_full(0, &content)).expect("memory has room");
    }
    // The journal is sound, so it answers whatever the checkpoint says.
    let view = View::on_disk(&disk, "/kb").expect("the journal is sound");
    let is_used = view.warnings().is_empty();
    for (pattern, template) in [
        ("(edge $x $y)", "($x $y)"),
        ("(, (edge $x $y) (edge $y $z))", "($x $z)"),
        ("(size a $n)", "$n"),
        ("(deep (path $p) $n)", "$p"),
        ("($h b $y)", "($h $y)"),
        ("(pair 1 $x)", "$x"),
    ] {
        let _ = view.query(pattern, template);
    }
    let mut reader = view.reader();
    reader.limits_mut().steps_max = Some(STEPS_MAX);
    let _ = reader.evaluate("!(twice 4) !(get-state &s) !(get-atoms &box) !(collapse (get-atoms &self))");
    let history = History::on_disk(&disk, "/kb").expect("the journal is sound");
    let _ = (history.atoms(), history.atoms_at(1));
    let _ = History::verify_on_disk(&disk, "/kb");
    let base = CommitJournal::on_disk(disk, "/kb").expect("the journal is sound");
    let mut engine = Engine::with_base(MemoryWorld::default(), base).expect("the journal is sound");
    engine.limits_mut().steps_max = Some(STEPS_MAX);
    engine.run_text("! (add-atom &self (edge c d)) ! (remove-atom &self (edge a b)) ! (as-of &self 2)", &mut |_, _| {
        Ok(())
    });
    let _ = engine.checkpoint();
    is_used
}

fn change(content: &mut [u8], changes: &[u8]) {
    for change in changes.chunks_exact(CHANGE_BYTES) {
        let place = u32::from_be_bytes([change[0] & 0x7f, change[1], change[2], change[3]]) as usize % content.len();
        let place = if change[0] & 0x80 == 0 { place } else { content.len() - 1 - place };
        content[place] = change[4];
    }
    put_checksums_right(content);
}

/// Files with their names.
type Files = Vec<(String, Vec<u8>)>;

/// The files of a base with a checkpoint of its last commit, and the name of that.
fn good() -> &'static (Files, String) {
    static GOOD: OnceLock<(Files, String)> = OnceLock::new();
    GOOD.get_or_init(|| {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let base = CommitJournal::on_disk(Arc::clone(&disk), "/kb").expect("memory has room");
        let mut engine = Engine::with_base(MemoryWorld::default(), base).expect("memory has room");
        engine.run_text(PROGRAM, &mut |_, _| Ok(()));
        engine.checkpoint().expect("something was committed");
        engine.finish().expect("memory has room");
        let names = disk.list().expect("memory can be read");
        let files = names.iter().map(|name| (name.clone(), disk.map(name).expect("memory can be read").to_vec()));
        let name = names.iter().find(|name| name.ends_with(".checkpoint")).expect("it was written");
        (files.collect(), name.clone())
    })
}

/// Puts the checksums of blocks, directory and footer right, as far as these say where they are.
fn put_checksums_right(bytes: &mut [u8]) {
    let Some(footer_at) = bytes.len().checked_sub(FOOTER_BYTES) else { return };
    let number = |bytes: &[u8], at: usize| {
        bytes
            .get(at..at + 8)
            .map_or(usize::MAX, |found| u64::from_le_bytes(found.try_into().expect("eight bytes")) as usize)
    };
    let (directory, sections) = (number(bytes, footer_at), number(bytes, footer_at + 8));
    let sums_at = sections.saturating_mul(ENTRY_BYTES).saturating_add(directory);
    if directory <= footer_at && sums_at <= footer_at {
        for section in 0..sections {
            let entry = directory + section * ENTRY_BYTES;
            let [offset, length, first] = [8, 16, 32].map(|field| number(bytes, entry + field));
            let Some(content) = bytes.get(offset..offset.saturating_add(length)) else { continue };
            let sums: Vec<u64> = (0_u64..)
                .zip(content.chunks(BLOCK_BYTES))
                .map(|(block, part)| XxHash3_64::oneshot_with_seed((section as u64) << 32 | block, part))
                .collect();
            for (block, sum) in sums.iter().enumerate() {
                let at = first.saturating_add(block).saturating_mul(8).saturating_add(sums_at);
                if at.saturating_add(8) <= footer_at {
                    bytes[at..at + 8].copy_from_slice(&sum.to_le_bytes());
                }
            }
        }
        let sum = XxHash3_64::oneshot(&bytes[directory..footer_at]);
        bytes[footer_at + 32..footer_at + 40].copy_from_slice(&sum.to_le_bytes());
    }
    let covered = [&bytes[..HEADER_BYTES], &bytes[footer_at..footer_at + 40]].concat();
    let sum = XxHash3_64::oneshot(&covered);
    bytes[footer_at + 40..].copy_from_slice(&sum.to_le_bytes());
}
