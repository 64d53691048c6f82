//! Whatever lies in the folder, nothing panics, no frame is invented, and nothing that was synced is cut in silence.
//!
//! Two kinds of edits: blind ones (bytes overwritten, moved, cut, files exchanged), and forged ones, whose checksums are
//! right, so that they get past the first gate with fields that no writer would write.

use crate::history::{payload, payloads, read, shared, short_segments, written};
use crc32c::{crc32c, crc32c_append};
use journal::simulated::SimulatedDisk;
use journal::{Access, Disk, FRAMES_AT, Journal, Reader, salvage, verify};
use proptest::prelude::*;
use proptest::sample::Index;

const FRAMES: u64 = 10;

#[derive(Clone, Debug)]
enum Edit {
    /// Bytes are replaced.
    Overwrite(Index, Index, Vec<u8>),
    /// Bytes are copied from another place, maybe of another segment.
    Copy(Index, Index, Index, Index, usize),
    Cut(Index, Index),
    Remove(Index),
    /// A segment gets the contents of another.
    Exchange(Index, Index),
    /// A file is called as if it began with this frame.
    Rename(Index, u64),
}

#[derive(Clone, Debug)]
enum Forgery {
    Header { version: u32, segment: u64 },
    Slot { which: u64, sequence: u64, offset: u64, frames: u64, is_continued: u32 },
    Frame { payload_bytes: u32, kind: u32, number: u64, synced: u64 },
}

fn edit() -> impl Strategy<Value = Edit> {
    let index = any::<Index>;
    prop_oneof![
        4 => (index(), index(), prop::collection::vec(any::<u8>(), 1..600)).prop_map(|(a, b, c)| Edit::Overwrite(a, b, c)),
        4 => (index(), index(), index(), index(), 1..2000_usize).prop_map(|(a, b, c, d, e)| Edit::Copy(a, b, c, d, e)),
        2 => (index(), index()).prop_map(|(a, b)| Edit::Cut(a, b)),
        1 => index().prop_map(Edit::Remove),
        1 => (index(), index()).prop_map(|(a, b)| Edit::Exchange(a, b)),
        1 => (index(), number()).prop_map(|(a, b)| Edit::Rename(a, b)),
    ]
}

/// Small numbers, and the largest.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..20_u64, FRAMES_AT..FRAMES_AT + 600, (0..3_u64).prop_map(|below| u64::MAX - below), any::<u64>()]
}

fn forgery() -> impl Strategy<Value = Forgery> {
    let small = || prop_oneof![0..3_u32, any::<u32>()];
    prop_oneof![
        (small(), number()).prop_map(|(version, segment)| Forgery::Header { version, segment }),
        (0..2_u64, number(), number(), number(), small()).prop_map(
            |(which, sequence, offset, frames, is_continued)| {
                let sequence = sequence & !1 | which;
                Forgery::Slot { which, sequence, offset, frames, is_continued }
            }
        ),
        (small(), small(), number(), number()).prop_map(|(payload_bytes, kind, number, synced)| Forgery::Frame {
            payload_bytes,
            kind,
            number,
            synced
        }),
    ]
}

fn pick(disk: &SimulatedDisk, index: Index) -> Option<String> {
    let names = disk.names();
    if names.is_empty() { None } else { Some(index.get(&names).clone()) }
}

fn apply(disk: &SimulatedDisk, edit: &Edit) -> Option<()> {
    match edit {
        Edit::Overwrite(file, at, bytes) => {
            let name = pick(disk, *file)?;
            let at = at.index(disk.contents(&name)?.len() + 1);
            disk.open(&name, Access::Write).ok()?.write_full(at as u64, bytes).ok()
        }
        Edit::Copy(from, from_at, to, to_at, length) => {
            let source = disk.contents(&pick(disk, *from)?)?;
            let from = from_at.index(source.len() + 1);
            let bytes = &source[from..source.len().min(from + length)];
            let name = pick(disk, *to)?;
            let at = to_at.index(disk.contents(&name)?.len() + 1);
            disk.open(&name, Access::Write).ok()?.write_full(at as u64, bytes).ok()
        }
        Edit::Cut(file, at) => {
            let name = pick(disk, *file)?;
            let at = at.index(disk.contents(&name)?.len() + 1);
            disk.open(&name, Access::Write).ok()?.set_length(at as u64).ok()
        }
        // An empty folder is a new journal; that it should not be empty, only its owner can know.
        Edit::Remove(_) if disk.names().len() == 1 => None,
        Edit::Remove(file) => disk.remove(&pick(disk, *file)?).ok(),
        Edit::Exchange(from, to) => {
            let bytes = disk.contents(&pick(disk, *from)?)?;
            disk.put(&pick(disk, *to)?, &bytes);
            Some(())
        }
        Edit::Rename(file, number) => disk.rename(&pick(disk, *file)?, &format!("{number:020}.segment")).ok(),
    }
}

/// Writes fields with the checksums that belong to them into the segment that begins with frame 0.
fn forge(disk: &SimulatedDisk, forgery: &Forgery) {
    let Some(name) = disk.names().first().cloned() else { return };
    let first: u64 = name[..20].parse().unwrap();
    let salt = |place: u64| crc32c_append(crc32c_append(crc32c(&[0; 16]), &first.to_le_bytes()), &place.to_le_bytes());
    let (place, bytes) = match forgery {
        Forgery::Header { version, segment } => (0, header(*version, *segment)),
        Forgery::Slot { which, sequence, offset, frames, is_continued } => {
            let numbers = [sequence.to_le_bytes(), offset.to_le_bytes(), frames.to_le_bytes()].concat();
            let mut bytes = [numbers.as_slice(), &[7; 32], &is_continued.to_le_bytes()].concat();
            let place = 4096 * (1 + which);
            bytes.extend(crc32c_append(salt(place), &bytes).to_le_bytes());
            (place, bytes)
        }
        Forgery::Frame { payload_bytes, kind, number, synced } => {
            let (length, kind) = (payload_bytes.to_le_bytes(), kind.to_le_bytes());
            let mut bytes = [&length[..], &kind, &number.to_le_bytes(), &synced.to_le_bytes()].concat();
            let fields = crc32c_append(salt(FRAMES_AT), &bytes);
            let rest = vec![7; (*payload_bytes as usize).min(5000) + 32];
            bytes.extend(fields.to_le_bytes());
            bytes.extend(crc32c_append(fields, &rest).to_le_bytes());
            (FRAMES_AT, [bytes, rest].concat())
        }
    };
    disk.open(&name, Access::Write).unwrap().write_full(place, &bytes).unwrap();
}

fn header(version: u32, segment: u64) -> Vec<u8> {
    let mut bytes =
        [b"METROONJ".as_slice(), &version.to_le_bytes(), &[0; 20], &segment.to_le_bytes(), &[7; 32]].concat();
    bytes.extend(crc32c(&bytes).to_le_bytes());
    bytes
}

/// Everything that can be asked of a folder; how many frames could be read, and whether reading reached the end.
fn use_all(disk: &SimulatedDisk) -> (Vec<Vec<u8>>, bool) {
    let (found, ended) = read(disk);
    for number in [0, 1, FRAMES, u64::MAX] {
        if let Ok(mut reader) = Reader::from_frame(shared(disk), number) {
            let place = reader.place();
            let _ = reader.read_next();
            let _ = Reader::from_place(shared(disk), place).map(|mut reader| reader.read_next().is_ok());
        }
    }
    let _ = verify(shared(disk)).map(|report| format!("{report:?}"));
    if let Ok((journal, warnings)) = Journal::open(shared(&disk.duplicate()), short_segments()) {
        drop((journal, format!("{warnings:?}")));
    }
    (found, ended.is_ok())
}

/// Salvaged frames are frames that were written, under the numbers they had.
fn check_salvage(disk: &SimulatedDisk) {
    let saved = SimulatedDisk::new();
    let Ok(salvaged) = salvage(shared(disk), shared(&saved), short_segments()) else { return };
    let (found, ended) = read(&saved);
    ended.unwrap();
    let expected: Vec<Vec<u8>> =
        salvaged.kept.iter().flat_map(|run| (run.from..run.from + run.frames).map(payload)).collect();
    assert_eq!(found, expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn edits_never_invent_or_lose_frames(edits in prop::collection::vec(edit(), 1..6)) {
        let disk = written(FRAMES, &short_segments());
        for edit in &edits {
            apply(&disk, edit);
        }
        let (found, is_whole) = use_all(&disk);
        prop_assert!(payloads(FRAMES).starts_with(&found), "a frame that was never written");
        prop_assert!(!is_whole || found.len() as u64 == FRAMES, "a silent cut after {} frames", found.len());
        if let Ok((journal, _)) = Journal::open(shared(&disk.duplicate()), short_segments()) {
            // Frames of sealed segments are checked when they are read.
            prop_assert_eq!(journal.progress().appended, FRAMES);
        }
        check_salvage(&disk);
    }

    #[test]
    fn forgeries_never_panic(forgeries in prop::collection::vec(forgery(), 1..4), edit in proptest::option::of(edit())) {
        let disk = written(FRAMES, &short_segments());
        if let Some(edit) = &edit {
            apply(&disk, edit);
        }
        for forgery in &forgeries {
            forge(&disk, forgery);
        }
        use_all(&disk);
        let _ = salvage(shared(&disk), shared(&SimulatedDisk::new()), short_segments());
    }
}
