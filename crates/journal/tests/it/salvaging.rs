//! What is whole around damage goes into a new journal, and the rest is listed.

use crate::history::{payload, payloads, read_all, segment, shared, short_segments, written};
use journal::simulated::{Fault, SimulatedDisk};
use journal::{Access, Disk, Flaw, Identity, Journal, Kept, Options, SalvageError, Salvaged, salvage, verify};

const FRAMES: u64 = 12;

fn saved(disk: &SimulatedDisk) -> (SimulatedDisk, Salvaged) {
    let to = SimulatedDisk::new();
    let before: Vec<_> = disk.names().into_iter().map(|name| disk.contents(&name)).collect();
    let salvaged = salvage(shared(disk), shared(&to), short_segments()).unwrap();
    let after: Vec<_> = disk.names().into_iter().map(|name| disk.contents(&name)).collect();
    assert_eq!(before, after, "the damaged journal is not touched");
    assert!(verify(shared(&to)).unwrap().is_sound());
    (to, salvaged)
}

/// The frames that the report says were kept are the frames that are there.
fn check(disk: &SimulatedDisk) -> Salvaged {
    let (to, salvaged) = saved(disk);
    let mut expected = Vec::new();
    for run in &salvaged.kept {
        assert_eq!(run.to, expected.len() as u64);
        expected.extend((run.from..run.from + run.frames).map(payload));
    }
    assert_eq!(read_all(&to), expected);
    assert_eq!(salvaged.frames, expected.len() as u64);
    salvaged
}

fn numbers(kept: &[Kept]) -> Vec<(u64, u64)> {
    kept.iter().map(|run| (run.from, run.from + run.frames)).collect()
}

#[test]
fn a_sound_journal_is_copied() {
    let disk = written(FRAMES, &short_segments());
    let salvaged = check(&disk);
    assert!(salvaged.lost.is_empty() && salvaged.warnings.is_empty());
    assert_eq!(Some(salvaged.chain), verify(shared(&disk)).unwrap().chain);
}

#[test]
fn any_flipped_byte_costs_one_frame_at_most() {
    let disk = written(FRAMES, &short_segments());
    for name in disk.names() {
        let length = disk.contents(&name).unwrap().len() as u64;
        for offset in (0..80).chain(4090..4170).chain(8190..8260).chain(12280..length) {
            disk.flip(&name, offset, 4);
            let salvaged = check(&disk);
            assert!(salvaged.frames >= FRAMES - 1, "byte {offset} of {name}: {salvaged:?}");
            let lost: u64 = salvaged.lost.iter().map(|lost| lost.frames.end - lost.frames.start).sum();
            assert_eq!(salvaged.frames + lost, FRAMES, "byte {offset} of {name}");
            disk.flip(&name, offset, 4);
        }
    }
}

#[test]
fn a_hole_costs_the_frames_in_it() {
    let disk = written(FRAMES, &Options::default());
    let file = disk.open(&segment(0), Access::Write).unwrap();
    file.write_full(12_500, &[0xee; 300]).unwrap();
    let salvaged = check(&disk);
    let [lost] = salvaged.lost.as_slice() else { panic!("{salvaged:?}") };
    assert_eq!(lost.damage.flaw, Flaw::FrameHeader);
    assert_eq!(numbers(&salvaged.kept), [(0, lost.frames.start), (lost.frames.end, FRAMES)]);
    assert!(lost.bytes >= 300 && lost.frames.end - lost.frames.start >= 2);
}

#[test]
fn a_cut_costs_what_lay_behind_it() {
    let disk = written(FRAMES, &Options::default());
    disk.open(&segment(0), Access::Write).unwrap().set_length(12_600).unwrap();
    let salvaged = check(&disk);
    assert_eq!(salvaged.lost.len(), 1);
    assert_eq!(salvaged.lost[0].frames.end, FRAMES, "the slots know how many there were");
}

#[test]
fn missing_segments_are_listed() {
    let disk = written(FRAMES, &short_segments());
    let names = disk.names();
    let firsts: Vec<u64> = names.iter().map(|name| name[..20].parse().unwrap()).collect();
    for index in 0..names.len() {
        let disk = disk.duplicate();
        disk.remove(&names[index]).unwrap();
        let salvaged = check(&disk);
        assert_eq!(salvaged.lost.len(), 1, "{salvaged:?}");
        assert_eq!((salvaged.lost[0].damage.flaw, &salvaged.lost[0].damage.segment), (Flaw::Missing, &names[index]));
        if let Some(&next) = firsts.get(index + 1) {
            assert_eq!(salvaged.lost[0].frames, firsts[index]..next);
        }
    }
}

/// All checksums start from the journal's identity, which only headers tell.
#[test]
fn a_journal_whose_only_header_is_damaged_is_not_lost() {
    let disk = written(FRAMES, &Options::default().identity(Identity(*b"known to headers")));
    for offset in [0, 8, 16, 40, 72] {
        disk.flip(&segment(0), offset, 4);
        assert_eq!(check(&disk).frames, FRAMES, "byte {offset}");
        // A slot or the first frame may be damaged as well.
        for other in [4096, 8192, 12288] {
            disk.flip(&segment(0), other, 4);
            assert!(check(&disk).frames >= FRAMES - 1, "bytes {offset} and {other}");
            disk.flip(&segment(0), other, 4);
        }
        disk.flip(&segment(0), offset, 4);
    }
}

#[test]
fn a_foreign_version_is_left_alone() {
    let disk = written(FRAMES, &short_segments());
    let name = disk.names()[1].clone();
    let mut bytes = disk.contents(&name).unwrap();
    bytes[8] = 2;
    let checksum = crc32c::crc32c(&bytes[..72]).to_le_bytes();
    bytes[72..76].copy_from_slice(&checksum);
    disk.put(&name, &bytes);
    let salvaged = check(&disk);
    assert_eq!(salvaged.lost[0].damage.flaw, Flaw::Version(2));
    assert!(salvaged.frames > 0 && salvaged.frames < FRAMES);
    let error = Journal::open(shared(&disk), Options::default()).err().unwrap().to_string();
    assert!(
        error.ends_with("format version 2, but this program knows 1 and before; use a newer version of this program")
    );
}

#[test]
fn a_salvage_needs_a_journal_and_an_empty_place() {
    let (empty, disk) = (SimulatedDisk::new(), written(1, &Options::default()));
    let outcome = salvage(shared(&empty), shared(&SimulatedDisk::new()), Options::default());
    assert!(matches!(outcome, Err(SalvageError::Empty)));
    let outcome = salvage(shared(&disk), shared(&disk), Options::default());
    assert!(matches!(outcome, Err(SalvageError::Occupied)));
    assert_eq!(read_all(&disk), payloads(1));
    let broken = SimulatedDisk::new();
    broken.schedule(0, Fault::Broken);
    let error = salvage(shared(&disk), shared(&broken), Options::default()).unwrap_err().to_string();
    assert!(error.starts_with("the salvaged frames cannot be kept: "), "{error}");
}
