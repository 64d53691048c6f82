//! What commits cost, beside the log, for who looks at the folder later: the file `STATISTICS`.
//!
//! It is text: a first line that says what it is, and then a line for each number, a name and the number. A state that has a clock writes it when it
//! ends, and with a checkpoint, without waiting for the disk. It is no part of what is kept: a crash loses it, and one that is damaged counts as
//! lost.

use crate::statistics::Statistics;
use journal::{Access, Disk};
use std::collections::BTreeMap;
use std::io;

const NAME: &str = "STATISTICS";
/// What the file is named before it takes the place of the one before.
const NAME_NEW: &str = "STATISTICS.new";
const FIRST_LINE: &str = "METROON statistics of a state, version 1";
/// Longer than any that is written.
const BYTES_MAX: usize = 4 << 10;

/// Writes them, in place of what was there.
///
/// # Errors
/// The disk refuses.
pub(crate) fn write(disk: &dyn Disk, statistics: &Statistics) -> io::Result<()> {
    let mut numbers = *statistics;
    let lines = numbers.places().map(|(group, name, number)| format!("{group}.{name} {number}\n"));
    let text = format!("{FIRST_LINE}\n{}", lines.concat());
    disk.create(NAME_NEW)?.write_full(0, text.as_bytes())?;
    disk.rename(NAME_NEW, NAME)
}

/// What was written; none if nothing was, or something else is there.
pub(crate) fn read(disk: &dyn Disk) -> Option<Statistics> {
    let mut bytes = [0; BYTES_MAX];
    let count = disk.open(NAME, Access::Read).ok()?.read_full(0, &mut bytes).ok()?;
    let mut lines = std::str::from_utf8(&bytes[..count]).ok()?.lines();
    lines.next().filter(|line| *line == FIRST_LINE)?;
    let numbers = lines.map(|line| line.split_once(' ').and_then(|(name, number)| Some((name, number.parse().ok()?))));
    let numbers: BTreeMap<&str, u64> = numbers.collect::<Option<_>>()?;
    let mut statistics = Statistics::default();
    for (group, name, place) in statistics.places() {
        *place = *numbers.get(format!("{group}.{name}").as_str())?;
    }
    Some(statistics)
}

#[cfg(test)]
mod tests {
    use super::*;
    use journal::MemoryDisk;

    #[test]
    fn what_is_written_is_read_and_anything_else_is_lost() {
        let disk = MemoryDisk::new();
        assert_eq!(read(&disk), None);
        let mut statistics = Statistics::default();
        for (number, (.., place)) in (1..).zip(statistics.places()) {
            *place = number;
        }
        write(&disk, &statistics).unwrap();
        write(&disk, &statistics).unwrap();
        assert_eq!(read(&disk), Some(statistics));
        let file = disk.create(NAME_NEW).unwrap();
        file.write_full(0, format!("{FIRST_LINE}\ncount.commits 1\n").as_bytes()).unwrap();
        disk.rename(NAME_NEW, NAME).unwrap();
        assert_eq!(read(&disk), None);
    }
}
