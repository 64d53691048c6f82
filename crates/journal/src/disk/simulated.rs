//! A disk in memory that loses power, fills up, fails and decays on command. For tests, here and in the crates above.
//!
//! It keeps what a program sees (the live image) apart from what has certainly reached the medium (the durable image),
//! by sectors of [`SECTOR_BYTES`]. Between two syncs every version of a sector is remembered, since any of them may be
//! the one that is left after a power loss.
//!
//! 1. A write changes the live image and remembers the new version of every sector it touches.
//! 2. [`DiskFile::sync`] makes the live image of a file durable; [`Disk::sync_names`] does so for the names.
//! 3. [`SimulatedDisk::schedule`] lets an operation, counted from the first, fail: with an I/O error, for want of space,
//!    or because the power went. A write that fails leaves some of its bytes. A sync that fails leaves its sectors
//!    *clean*: a later sync succeeds without writing them, as kernels do.
//! 4. [`SimulatedDisk::power_loss`] is the disk after the machine has restarted: every unsynced sector, length and name is
//!    kept, dropped, torn or reordered ([`Fate`]), all from one seed, so that a failure can be run again.
//!
//! Invariant: no byte of a sector changes that neither a write nor [`SimulatedDisk::flip`] touched; that is what the
//! trait promises of every disk. Cost: about 600 bytes of memory for each sector written since its last sync.
//!
//! ```
//! use journal::simulated::{Fate, SimulatedDisk};
//! use journal::{Disk, DiskFile};
//!
//! let disk = SimulatedDisk::new();
//! let file = disk.create("a")?;
//! disk.sync_names()?;
//! file.write_full(0, b"kept")?;
//! file.sync()?;
//! file.write_full(4, b" or lost")?;
//! assert_eq!(disk.power_loss(Fate::Drop, 1).contents("a").unwrap(), b"kept");
//! assert_eq!(disk.power_loss(Fate::Keep, 1).contents("a").unwrap(), b"kept or lost");
//! # std::io::Result::Ok(())
//! ```

use super::{Disk, DiskFile};
use crate::access::Access;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// What the medium writes at once.
pub const SECTOR_BYTES: usize = 512;

type Sector = [u8; SECTOR_BYTES];

/// What becomes of unsynced writes when the power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// All of them reached the medium after all.
    Keep,
    /// None did.
    Drop,
    /// They were on their way in order, and the one that was being written is half old, half new.
    Torn,
    /// Any of them did, in any order; space that a file gained may hold garbage.
    Reordered,
}

impl Fate {
    /// Every fate.
    pub const ALL: [Self; 4] = [Self::Keep, Self::Drop, Self::Torn, Self::Reordered];
}

/// What happens to a scheduled operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails with `EIO`; the disk goes on.
    Broken,
    /// It fails with `ENOSPC`; the disk goes on.
    Full,
    /// It fails, and so does everything after it, until [`SimulatedDisk::power_loss`].
    PowerLoss,
}

/// A disk in memory. Clones are the same disk.
#[derive(Clone, Default)]
pub struct SimulatedDisk {
    shared: Arc<Mutex<Machine>>,
}

#[derive(Default)]
struct Machine {
    files: Vec<Contents>,
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    /// Changes of names since they were last synced.
    renames: Vec<NameChange>,
    random: Random,
    operations: u64,
    syncs: u64,
    schedule: BTreeMap<u64, Fault>,
    is_off: bool,
    has_short_writes: bool,
    sync_delay: Duration,
    trace: Vec<String>,
}

#[derive(Clone)]
enum NameChange {
    /// A name now means this file.
    Set(String, usize),
    Unset(String),
}

/// A file: what is seen, what is safe, and every step between.
#[derive(Clone, Default)]
struct Contents {
    live: Vec<u8>,
    durable: Vec<u8>,
    /// Lengths since the last sync, oldest first.
    lengths: Vec<usize>,
    /// Versions of sectors since the last sync, oldest first.
    versions: BTreeMap<usize, Vec<Sector>>,
}

impl SimulatedDisk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets an operation fail. Operations are counted from 0, reads included; see [`SimulatedDisk::operations`].
    pub fn schedule(&self, operation: u64, fault: Fault) {
        self.machine().schedule.insert(operation, fault);
    }

    /// Lets every write stop somewhere before its end, as a write may.
    pub fn shorten_writes(&self, seed: u64) {
        let mut machine = self.machine();
        machine.has_short_writes = true;
        machine.random = Random(seed);
    }

    /// Lets every sync of a file take this long.
    pub fn delay_syncs(&self, delay: Duration) {
        self.machine().sync_delay = delay;
    }

    /// How many operations there have been.
    pub fn operations(&self) -> u64 {
        self.machine().operations
    }

    /// How many times a file was synced.
    pub fn syncs(&self) -> u64 {
        self.machine().syncs
    }

    /// The changes made so far, one line each, such as `write a 0 +12`.
    pub fn trace(&self) -> Vec<String> {
        self.machine().trace.clone()
    }

    /// The disk as it is found when the machine has lost power now (or when it did, by [`Fault::PowerLoss`]) and is on
    /// again. Nothing is scheduled on it.
    pub fn power_loss(&self, fate: Fate, seed: u64) -> Self {
        let machine = self.machine();
        let mut random = Random(seed);
        let names = surviving_names(&machine, fate, &mut random);
        let files: Vec<Contents> = machine.files.iter().map(|file| file.survivor(fate, &mut random)).collect();
        let machine = Machine { files, durable_names: names.clone(), names, random, ..Machine::default() };
        Self { shared: Arc::new(Mutex::new(machine)) }
    }

    /// A copy that shares nothing with this one: the same files, seen and safe alike, nothing scheduled.
    pub fn duplicate(&self) -> Self {
        let machine = self.machine();
        let copy = Machine {
            files: machine.files.clone(),
            names: machine.names.clone(),
            durable_names: machine.durable_names.clone(),
            renames: machine.renames.clone(),
            ..Machine::default()
        };
        Self { shared: Arc::new(Mutex::new(copy)) }
    }

    /// The names of the files, in order.
    pub fn names(&self) -> Vec<String> {
        self.machine().names.keys().cloned().collect()
    }

    /// What a file holds.
    pub fn contents(&self, name: &str) -> Option<Vec<u8>> {
        let machine = self.machine();
        machine.names.get(name).map(|&file| machine.files[file].live.clone())
    }

    /// Puts a file there, durably, in place of any that has the name.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let mut machine = self.machine();
        let file = machine.files.len();
        machine.files.push(Contents { live: bytes.to_vec(), durable: bytes.to_vec(), ..Contents::default() });
        machine.names.insert(name.to_owned(), file);
        machine.durable_names.insert(name.to_owned(), file);
    }

    /// Flips the bits of `mask` in a byte, seen and safe alike. Whether there is such a byte.
    pub fn flip(&self, name: &str, offset: u64, mask: u8) -> bool {
        let mut machine = self.machine();
        let Some(&file) = machine.names.get(name) else { return false };
        let (contents, offset) = (&mut machine.files[file], offset as usize);
        if let Some(byte) = contents.durable.get_mut(offset) {
            *byte ^= mask;
        }
        contents.live.get_mut(offset).map(|byte| *byte ^= mask).is_some()
    }

    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.shared.lock().expect("no thread panics while it uses the simulated disk")
    }

    fn file(&self, file: usize) -> Box<dyn DiskFile> {
        Box::new(SimulatedFile { disk: self.clone(), file })
    }
}

/// An open file of a [`SimulatedDisk`].
struct SimulatedFile {
    disk: SimulatedDisk,
    file: usize,
}

impl Machine {
    /// Counts an operation; an error if it is to fail.
    fn begin(&mut self) -> io::Result<()> {
        if self.is_off {
            return Err(io::Error::other("the power is off"));
        }
        let operation = self.operations;
        self.operations += 1;
        match self.schedule.get(&operation) {
            None => Ok(()),
            Some(Fault::Broken) => Err(io::Error::other(format!("operation {operation} is broken (simulated EIO)"))),
            Some(Fault::Full) => Err(io::ErrorKind::StorageFull.into()),
            Some(Fault::PowerLoss) => {
                self.is_off = true;
                Err(io::Error::other("the power went off"))
            }
        }
    }

    fn set_name(&mut self, name: &str, file: usize) {
        self.names.insert(name.to_owned(), file);
        self.renames.push(NameChange::Set(name.to_owned(), file));
    }

    fn unset_name(&mut self, name: &str) -> io::Result<usize> {
        let file = self.names.remove(name).ok_or(io::ErrorKind::NotFound)?;
        self.renames.push(NameChange::Unset(name.to_owned()));
        Ok(file)
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let file = self.unset_name(from)?;
        self.set_name(to, file);
        self.trace.push(format!("rename {from} {to}"));
        Ok(())
    }

    fn name_of(&self, file: usize) -> &str {
        self.names.iter().find(|(_, named)| **named == file).map_or("(removed)", |(name, _)| name.as_str())
    }

    fn write(&mut self, file: usize, offset: usize, bytes: &[u8]) {
        let line = format!("write {} {offset} +{}", self.name_of(file), bytes.len());
        self.trace.push(line);
        self.files[file].write(offset, bytes);
    }
}

impl Disk for SimulatedDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut machine = self.machine();
        machine.begin()?;
        Ok(machine.names.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut machine = self.machine();
        machine.begin()?;
        let file = machine.files.len();
        machine.files.push(Contents::default());
        machine.set_name(name, file);
        machine.trace.push(format!("create {name}"));
        Ok(self.file(file))
    }

    fn open(&self, name: &str, _access: Access) -> io::Result<Box<dyn DiskFile>> {
        let mut machine = self.machine();
        machine.begin()?;
        let file = *machine.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(self.file(file))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut machine = self.machine();
        let was_off = machine.is_off;
        let outcome = machine.begin();
        // Power that goes meanwhile may have let it happen.
        if outcome.is_ok() || machine.is_off && !was_off {
            machine.rename(from, to)?;
        }
        outcome
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut machine = self.machine();
        machine.begin()?;
        machine.unset_name(name)?;
        machine.trace.push(format!("remove {name}"));
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut machine = self.machine();
        machine.begin()?;
        machine.durable_names = machine.names.clone();
        machine.renames.clear();
        machine.trace.push("sync names".to_owned());
        Ok(())
    }
}

impl DiskFile for SimulatedFile {
    fn length(&self) -> io::Result<u64> {
        let mut machine = self.disk.machine();
        machine.begin()?;
        Ok(machine.files[self.file].live.len() as u64)
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        let mut machine = self.disk.machine();
        machine.begin()?;
        let line = format!("cut {} {length}", machine.name_of(self.file));
        machine.trace.push(line);
        machine.files[self.file].set_length(length as usize);
        Ok(())
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut machine = self.disk.machine();
        machine.begin()?;
        let live = &machine.files[self.file].live;
        let from = live.len().min(offset as usize);
        let count = into.len().min(live.len() - from);
        into[..count].copy_from_slice(&live[from..from + count]);
        Ok(count)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let mut machine = self.disk.machine();
        let was_off = machine.is_off;
        let outcome = machine.begin();
        let count = match &outcome {
            Err(_) if was_off => 0,
            Err(_) => machine.random.below(bytes.len() + 1),
            Ok(()) if machine.has_short_writes => 1 + machine.random.below(bytes.len().max(1)),
            Ok(()) => bytes.len(),
        };
        let count = count.min(bytes.len());
        if count > 0 {
            machine.write(self.file, offset as usize, &bytes[..count]);
        }
        outcome.map(|()| count)
    }

    fn sync(&self) -> io::Result<()> {
        let delay = self.disk.machine().sync_delay;
        if !delay.is_zero() {
            std::thread::sleep(delay);
        }
        let mut machine = self.disk.machine();
        let outcome = machine.begin();
        match (&outcome, machine.is_off) {
            (Ok(()), _) => {
                let line = format!("sync {}", machine.name_of(self.file));
                machine.trace.push(line);
                machine.syncs += 1;
                machine.files[self.file].sync();
            }
            (Err(_), false) => machine.files[self.file].forget_unsynced(),
            // Whatever was on its way is the business of `power_loss`.
            (Err(_), true) => {}
        }
        outcome
    }
}

impl Contents {
    fn write(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        if end > self.live.len() {
            self.live.resize(end, 0);
            self.lengths.push(end);
        }
        self.live[offset..end].copy_from_slice(bytes);
        self.remember(offset, end);
    }

    fn set_length(&mut self, length: usize) {
        let before = self.live.len();
        self.live.resize(length, 0);
        self.lengths.push(length);
        // What lies beyond a cut is gone; the sector of the cut, and what an extension adds, have a new version.
        self.versions.retain(|&sector, _| sector * SECTOR_BYTES < length);
        self.remember(length.min(before), length.max(before).min(length + SECTOR_BYTES));
    }

    fn remember(&mut self, from: usize, to: usize) {
        for sector in from / SECTOR_BYTES..to.div_ceil(SECTOR_BYTES) {
            let version = sector_of(&self.live, sector);
            self.versions.entry(sector).or_default().push(version);
        }
    }

    fn sync(&mut self) {
        self.durable.resize(self.live.len(), 0);
        for (sector, versions) in std::mem::take(&mut self.versions) {
            put_sector(&mut self.durable, sector, versions.last().expect("a changed sector has a version"));
        }
        self.lengths.clear();
    }

    /// A sync failed: what it did not write counts as written from now on.
    fn forget_unsynced(&mut self) {
        self.versions.clear();
    }

    /// The file after a power loss.
    fn survivor(&self, fate: Fate, random: &mut Random) -> Contents {
        let mut image = match fate {
            Fate::Keep => self.kept(),
            Fate::Drop => self.durable.clone(),
            Fate::Torn => self.torn(random),
            Fate::Reordered => self.reordered(random),
        };
        image.shrink_to_fit();
        Contents { live: image.clone(), durable: image, ..Contents::default() }
    }

    fn kept(&self) -> Vec<u8> {
        let mut file = self.clone();
        file.sync();
        file.durable
    }

    /// Sectors in order up to some point, where one is partly old and partly new.
    fn torn(&self, random: &mut Random) -> Vec<u8> {
        let mut image = self.durable.clone();
        image.resize(random.one_of(&self.lengths).unwrap_or(image.len()), 0);
        let reached = random.below(self.versions.len() + 1);
        for (index, (&sector, versions)) in self.versions.iter().enumerate().take(reached + 1) {
            let mut version = *versions.last().expect("a changed sector has a version");
            if index == reached {
                let cut = random.below(SECTOR_BYTES);
                version[cut..].copy_from_slice(&sector_of(&image, sector)[cut..]);
            }
            put_sector(&mut image, sector, &version);
        }
        image
    }

    /// Any version of any sector; garbage, now and then, where the file gained space.
    fn reordered(&self, random: &mut Random) -> Vec<u8> {
        let mut image = self.durable.clone();
        let length = if random.below(3) == 0 { Some(image.len()) } else { random.one_of(&self.lengths) };
        image.resize(length.unwrap_or(image.len()), 0);
        for (&sector, versions) in &self.versions {
            let is_new = sector * SECTOR_BYTES >= self.durable.len();
            match random.below(versions.len() + 1).checked_sub(1) {
                Some(version) => put_sector(&mut image, sector, &versions[version]),
                None if is_new && random.below(2) == 0 => put_sector(&mut image, sector, &random.sector()),
                None => {}
            }
        }
        image
    }
}

/// A sector of an image, zeros beyond its end.
fn sector_of(image: &[u8], sector: usize) -> Sector {
    let mut bytes = [0; SECTOR_BYTES];
    let from = image.len().min(sector * SECTOR_BYTES);
    let to = image.len().min(from + SECTOR_BYTES);
    bytes[..to - from].copy_from_slice(&image[from..to]);
    bytes
}

/// Replaces as much of a sector as the image has.
fn put_sector(image: &mut [u8], sector: usize, bytes: &Sector) {
    let from = image.len().min(sector * SECTOR_BYTES);
    let to = image.len().min(from + SECTOR_BYTES);
    image[from..to].copy_from_slice(&bytes[..to - from]);
}

fn surviving_names(machine: &Machine, fate: Fate, random: &mut Random) -> BTreeMap<String, usize> {
    let changes = &machine.renames;
    let happened: Vec<bool> = match fate {
        Fate::Keep => vec![true; changes.len()],
        Fate::Drop => vec![false; changes.len()],
        Fate::Torn => {
            let reached = random.below(changes.len() + 1);
            (0..changes.len()).map(|index| index < reached).collect()
        }
        Fate::Reordered => changes.iter().map(|_| random.below(2) == 0).collect(),
    };
    let mut names = machine.durable_names.clone();
    for (change, _) in changes.iter().zip(happened).filter(|(_, happened)| *happened) {
        match change {
            NameChange::Set(name, file) => drop(names.insert(name.clone(), *file)),
            NameChange::Unset(name) => drop(names.remove(name)),
        }
    }
    names
}

/// Numbers that look random and come from a seed (SplitMix64, by Steele, Lea and Flood).
#[derive(Clone, Copy, Debug, Default)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn one_of(&mut self, choices: &[usize]) -> Option<usize> {
        if choices.is_empty() { None } else { Some(choices[self.below(choices.len())]) }
    }

    fn sector(&mut self) -> Sector {
        std::array::from_fn(|_| self.next() as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of one durable sector of `a`, then two unsynced ones of `b`.
    fn half_written() -> SimulatedDisk {
        let disk = SimulatedDisk::new();
        let file = disk.create("f").unwrap();
        disk.sync_names().unwrap();
        file.write_full(0, &[b'a'; SECTOR_BYTES]).unwrap();
        file.sync().unwrap();
        file.write_full(SECTOR_BYTES as u64 / 2, &[b'b'; SECTOR_BYTES * 2]).unwrap();
        disk
    }

    #[test]
    fn unsynced_writes_are_kept_or_dropped() {
        let disk = half_written();
        let kept = disk.power_loss(Fate::Keep, 0).contents("f").unwrap();
        assert_eq!(kept, disk.contents("f").unwrap());
        assert_eq!(disk.power_loss(Fate::Drop, 0).contents("f").unwrap(), [b'a'; SECTOR_BYTES]);
    }

    #[test]
    fn no_fate_touches_synced_bytes_that_were_not_written_again() {
        let disk = half_written();
        for (fate, seed) in Fate::ALL.into_iter().flat_map(|fate| (0..100).map(move |seed| (fate, seed))) {
            let found = disk.power_loss(fate, seed).contents("f").unwrap();
            assert!(found[..SECTOR_BYTES / 2].iter().all(|&byte| byte == b'a'), "{fate:?} {seed}");
            let tail = &found[SECTOR_BYTES / 2..SECTOR_BYTES];
            assert!(tail.iter().all(|&byte| byte == b'a' || byte == b'b'), "{fate:?} {seed}");
        }
    }

    #[test]
    fn torn_and_reordered_differ_from_seed_to_seed() {
        for fate in [Fate::Torn, Fate::Reordered] {
            let images: std::collections::BTreeSet<Vec<u8>> =
                (0..50).map(|seed| half_written().power_loss(fate, seed).contents("f").unwrap()).collect();
            assert!(images.len() > 5, "{fate:?} gave {} images", images.len());
        }
    }

    #[test]
    fn unsynced_names_may_vanish() {
        let disk = SimulatedDisk::new();
        disk.create("f").unwrap().sync().unwrap();
        assert!(disk.power_loss(Fate::Drop, 0).names().is_empty());
        disk.sync_names().unwrap();
        disk.rename("f", "g").unwrap();
        assert_eq!(disk.power_loss(Fate::Drop, 0).names(), ["f"]);
        assert_eq!(disk.power_loss(Fate::Keep, 0).names(), ["g"]);
    }

    #[test]
    fn a_failed_sync_is_not_made_good_by_a_second() {
        let disk = half_written();
        let file = disk.open("f", Access::Write).unwrap();
        disk.schedule(disk.operations(), Fault::Broken);
        assert!(file.sync().is_err());
        file.sync().unwrap();
        let lost = disk.power_loss(Fate::Keep, 0).contents("f").unwrap();
        assert!(!lost.contains(&b'b'));
    }

    #[test]
    fn a_cut_is_durable_when_synced() {
        let disk = half_written();
        let file = disk.open("f", Access::Write).unwrap();
        file.set_length(10).unwrap();
        assert_eq!(disk.power_loss(Fate::Drop, 0).contents("f").unwrap().len(), SECTOR_BYTES);
        file.sync().unwrap();
        assert_eq!(disk.power_loss(Fate::Drop, 0).contents("f").unwrap(), [b'a'; 10]);
    }

    #[test]
    fn nothing_works_without_power() {
        let disk = half_written();
        disk.schedule(disk.operations(), Fault::PowerLoss);
        assert!(disk.list().is_err());
        assert!(disk.create("g").is_err());
        assert_eq!(disk.power_loss(Fate::Keep, 0).names(), ["f"]);
    }
}
