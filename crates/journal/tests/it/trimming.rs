//! Journals of which old segments were given up: what is kept reads and verifies as before, whatever happens meanwhile.

use crate::history::{append, open, open_clean, payload, payloads, segment, shared, short_segments, written};
use journal::simulated::{Fate, Fault, SimulatedDisk};
use journal::{Beginning, Disk, Durability, Flaw, Journal, OpenError, ReadError, Reader, TrimError, verify};

const FRAMES: u64 = 20;
const NOTE: &str = "beginning";

/// Everything that a journal has, and the number of its first frame.
fn kept(disk: &SimulatedDisk) -> Result<(u64, Vec<Vec<u8>>), ReadError> {
    let mut reader = Reader::from_beginning(shared(disk))?;
    let (first, mut found) = (reader.place().number, Vec::new());
    while let Some(frame) = reader.read_next()? {
        assert_eq!(frame.place.number, first + found.len() as u64);
        found.push(frame.payload.to_vec());
    }
    Ok((first, found))
}

fn assert_sound(disk: &SimulatedDisk, context: &str) -> journal::Chain {
    let report = verify(shared(disk)).unwrap();
    assert!(report.is_sound(), "{context}: {report:?}");
    report.chain.expect("it is known where nothing is damaged")
}

/// Wherever a journal is trimmed, what is kept is what there was, with the same chain, and goes on as if nothing had happened.
#[test]
fn a_trimmed_journal_goes_on_as_the_whole_one() {
    let options = short_segments();
    let whole = written(FRAMES, &options);
    let chain = assert_sound(&whole, "whole");
    for before in 0..FRAMES + 3 {
        let disk = whole.duplicate();
        let journal = open_clean(&disk, &options);
        let trimmed = journal.trim(before).unwrap();
        assert!(trimmed.first <= before, "{before}: {trimmed:?}");
        assert_eq!(trimmed.segments > 0, trimmed.first > 0);
        assert_eq!(disk.names().iter().any(|name| name == NOTE), trimmed.first > 0);
        let first = trimmed.first;
        assert_eq!(kept(&disk).unwrap(), (first, (first..FRAMES).map(payload).collect()), "{before}");
        assert_eq!(assert_sound(&disk, "trimmed"), chain, "{before}");
        assert_eq!(verify(shared(&disk)).unwrap().first, first);
        assert_eq!(Beginning::of(&shared(&disk)).unwrap().frame, first);
        if first > 0 {
            let asked = Reader::from_frame(shared(&disk), first - 1).map(drop);
            assert!(
                matches!(asked, Err(ReadError::Trimmed { number, first: kept }) if number == first - 1 && kept == first)
            );
        }
        // Trimming again gives up nothing more.
        assert_eq!(journal.trim(before).unwrap().segments, 0);
        append(&journal, FRAMES..FRAMES + 9, Durability::Fsync);
        journal.close().unwrap();
        let reopened = open_clean(&disk, &options);
        assert_eq!(reopened.progress().appended, FRAMES + 9);
        let (trimmed_chain, whole_chain) =
            (reopened.chain(), open_clean(&written(FRAMES + 9, &options), &options).chain());
        assert_eq!(trimmed_chain, whole_chain, "{before}");
    }
}

/// The last segment stays, however much is to be given up.
#[test]
fn the_last_segment_is_kept() {
    let options = short_segments();
    let disk = written(FRAMES, &options);
    let journal = open_clean(&disk, &options);
    let first = journal.trim(u64::MAX).unwrap().first;
    assert!(first < FRAMES);
    assert_eq!(disk.names(), [segment(first), NOTE.to_owned()]);
    append(&journal, FRAMES..FRAMES + 1, Durability::Fsync);
    drop(journal);
    assert_eq!(kept(&disk).unwrap().1.len() as u64, FRAMES + 1 - first);
}

#[test]
fn power_loss_while_trimming_loses_nothing_that_is_kept() {
    let options = short_segments();
    let whole = written(FRAMES, &options);
    let trim = |disk: &SimulatedDisk, before| {
        let (journal, _) = Journal::open(shared(disk), options.clone()).ok()?;
        journal.trim(before).ok().map(|trimmed| trimmed.first)
    };
    let steps = |disk: &SimulatedDisk| {
        let done = [trim(disk, 7), trim(disk, 14)];
        done.into_iter().flatten().last().unwrap_or(0)
    };
    let rehearsal = whole.duplicate();
    assert!(steps(&rehearsal) > 7);
    let operations = rehearsal.operations();
    for operation in 0..=operations {
        let disk = whole.duplicate();
        disk.schedule(operation, Fault::PowerLoss);
        let acknowledged = steps(&disk);
        for fate in Fate::ALL {
            let context = format!("operation {operation}, {fate:?}");
            let survivor = disk.power_loss(fate, operation);
            let (first, found) = kept(&survivor).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert!((acknowledged..=14).contains(&first), "{context}: {first}");
            assert_eq!(found, (first..FRAMES).map(payload).collect::<Vec<_>>(), "{context}");
            assert_sound(&survivor, &context);
            let (journal, warnings) = open(&survivor, &options);
            assert_eq!(warnings, [], "{context}");
            append(&journal, FRAMES..FRAMES + 1, Durability::Fsync);
            drop(journal);
            let left = survivor.names().into_iter().filter(|name| name.ends_with(".segment")).min();
            assert_eq!(left, Some(segment(first)), "{context}: what was given up is taken away");
            assert_eq!(
                kept(&survivor.power_loss(Fate::Drop, 0)).unwrap().1.len() as u64,
                FRAMES + 1 - first,
                "{context}"
            );
        }
    }
}

#[test]
fn any_operation_of_a_trim_may_fail() {
    let options = short_segments();
    let whole = written(FRAMES, &options);
    let rehearsal = whole.duplicate();
    let journal = open_clean(&rehearsal, &options);
    let begun = rehearsal.operations();
    journal.trim(14).unwrap();
    for (operation, fault) in (begun..rehearsal.operations()).flat_map(|n| [(n, Fault::Broken), (n, Fault::Full)]) {
        let disk = whole.duplicate();
        let journal = open_clean(&disk, &options);
        disk.schedule(operation, fault);
        let refused = journal.trim(14);
        let context = format!("operation {operation}, {fault:?}: {refused:?}");
        // Nothing that grows is asked of a full disk but the note.
        assert!(fault == Fault::Full || matches!(refused, Err(TrimError::Disk(_))), "{context}");
        drop(journal);
        let (first, found) = kept(&disk).unwrap_or_else(|error| panic!("{context}: {error}"));
        assert_eq!(found, (first..FRAMES).map(payload).collect::<Vec<_>>(), "{context}");
    }
}

/// Each byte of the note is changed: nobody takes the journal for another one.
#[test]
fn a_damaged_note_is_named() {
    let options = short_segments();
    let disk = written(FRAMES, &options);
    open_clean(&disk, &options).trim(10).unwrap();
    let length = disk.contents(NOTE).unwrap().len();
    for offset in 0..length {
        let damaged = disk.duplicate();
        assert!(damaged.flip(NOTE, offset as u64, 1 << (offset % 8)));
        let opened = Journal::open(shared(&damaged), options.clone()).map(drop);
        assert!(
            matches!(&opened, Err(OpenError::Damaged(found)) if found.segment == NOTE),
            "byte {offset}: {opened:?}"
        );
        let read = kept(&damaged);
        assert!(matches!(&read, Err(ReadError::Damaged(found)) if found.segment == NOTE), "byte {offset}: {read:?}");
        let report = verify(shared(&damaged)).unwrap();
        assert!(!report.is_sound() && report.frames > 0, "byte {offset}: {report:?}");
    }
    disk.put(NOTE, &[]);
    assert!(matches!(kept(&disk), Err(ReadError::Damaged(found)) if found.flaw == Flaw::Beginning));
}

/// A note that is gone, a segment that is gone, and a segment of another journal are told from what was given up.
#[test]
fn what_is_missing_is_told_from_what_was_given_up() {
    let options = short_segments();
    let trimmed = written(FRAMES, &options);
    let first = open_clean(&trimmed, &options).trim(10).unwrap().first;
    let without_note = trimmed.duplicate();
    without_note.remove(NOTE).unwrap();
    let opened = Journal::open(shared(&without_note), options.clone()).map(drop);
    assert!(
        matches!(opened, Err(OpenError::Damaged(found)) if found.flaw == Flaw::Missing && found.segment == segment(0))
    );
    let without_segment = trimmed.duplicate();
    without_segment.remove(&segment(first)).unwrap();
    let opened = Journal::open(shared(&without_segment), options.clone()).map(drop);
    assert!(
        matches!(opened, Err(OpenError::Damaged(found)) if found.flaw == Flaw::Missing && found.segment == segment(first))
    );
    let lost = verify(shared(&without_segment)).unwrap().damage;
    assert!(lost.iter().any(|lost| lost.damage.flaw == Flaw::Missing && lost.frames.start == first), "{lost:?}");
}

/// A copy of a trimmed journal begins where that does, and has its chain.
#[test]
fn a_copy_continues_what_was_given_up() {
    let options = short_segments();
    let disk = written(FRAMES, &options);
    open_clean(&disk, &options).trim(10).unwrap();
    let beginning = Beginning::of(&shared(&disk)).unwrap();
    let copy = SimulatedDisk::new();
    let (journal, _) = Journal::open(shared(&copy), options.clone().continues(beginning)).unwrap();
    let (first, found) = kept(&disk).unwrap();
    journal.append_all(&found, Durability::None).unwrap();
    journal.close().unwrap();
    assert_eq!(kept(&copy).unwrap(), (first, found));
    assert_eq!(assert_sound(&copy, "copy"), assert_sound(&disk, "trimmed"));
    assert_eq!(payloads(FRAMES).len() as u64, FRAMES);
}
