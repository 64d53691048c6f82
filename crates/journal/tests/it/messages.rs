//! What people get to read: what happened, where, and what to do.

use crate::history::{open_clean, payload, segment, shared, short_segments, written};
use journal::simulated::{Fault, SimulatedDisk};
use journal::{Disk, Durability, Journal, MemoryDisk, Options, Reader, salvage, verify};
use std::sync::Arc;

fn opening(disk: &SimulatedDisk) -> String {
    match Journal::open(shared(disk), Options::default()) {
        Ok(_) => panic!("it opens"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn damage_is_named_with_its_place_and_the_way_out() {
    let disk = written(3, &Options::default());
    disk.flip(&segment(0), 12328, 1);
    assert_eq!(
        opening(&disk),
        "the journal is damaged: 00000000000000000000.segment at byte 12320: the header of a synced frame is damaged; \
         restore the file from a copy, or salvage what can be read into a new journal"
    );
    assert_eq!(
        verify(shared(&disk)).unwrap().damage[0].to_string(),
        "00000000000000000000.segment at byte 12320: the header of a synced frame is damaged (69 bytes, frame 1)"
    );
}

#[test]
fn a_refusing_disk_is_named_with_the_file() {
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, &Options::default());
    disk.schedule(disk.operations(), Fault::Full);
    assert_eq!(
        journal.append(&payload(1), Durability::Os).unwrap_err().to_string(),
        "frame 0 may or may not have been kept (cannot write 00000000000000000000.segment: no storage space); \
         mend the cause and open the journal again to see"
    );
    assert_eq!(
        journal.append(&payload(1), Durability::Os).unwrap_err().to_string(),
        "the journal has failed (cannot write 00000000000000000000.segment: no storage space) and takes no more frames; \
         mend the cause and open it again"
    );
    assert_eq!(
        journal.sync(Durability::Os).unwrap_err().to_string(),
        "unacknowledged frames may be lost (cannot write 00000000000000000000.segment: no storage space); \
         mend the cause and open the journal again to see"
    );
}

#[test]
fn a_missing_segment_is_named() {
    let disk = written(12, &short_segments());
    let names = disk.names();
    Disk::remove(&disk, names.last().unwrap()).unwrap();
    assert_eq!(
        opening(&disk),
        format!(
            "the journal is damaged: {} at byte 0: the segment is missing; restore the file from a copy, or salvage what \
             can be read into a new journal",
            names.last().unwrap()
        )
    );
}

#[test]
fn readers_say_what_there_is() {
    let disk = written(3, &Options::default());
    let error = Reader::from_frame(shared(&disk), 9).err().unwrap();
    assert_eq!(error.to_string(), "there is no frame 9: the journal has 3, numbered from 0");
    let empty = SimulatedDisk::new();
    let error = Reader::from_frame(shared(&empty), 0).err().unwrap();
    assert_eq!(error.to_string(), "there is no journal here: open one for writing to make it");
    let error = salvage(shared(&disk), shared(&disk), Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is already a journal where the salvaged one should go: name a place that is empty"
    );
}

#[test]
fn every_count_of_a_journal_has_a_name_and_a_meaning() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let (journal, _) = Journal::open(Arc::clone(&disk), Options::default()).expect("it is made");
    journal.append(b"a frame", Durability::Fsync).expect("it is written");
    let report = statistics::Statistics::report(&verify(disk).expect("it is read"));
    assert_eq!(report.defects(), Vec::<String>::new());
    assert!(report.to_string().lines().any(|line| line.starts_with("frames  ")), "{report}");
}
