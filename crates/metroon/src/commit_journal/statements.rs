//! What the files that a base has run state in it: what is taken out when a file no longer says it, or is forgotten.
//!
//! It is found by going through the commits. Of commits that were given up, the [start](super::start) of the base has kept it.

use super::record::{AtomRecord, CauseRecord, Record, Records};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;

/// What files state, by the number of their source.
#[derive(Default)]
pub(crate) struct Statements {
    files: BTreeMap<u32, StatedByFile>,
    /// The file whose statements follow.
    stating: Option<u32>,
    /// If only one is looked at, its number.
    only: Option<u32>,
}

/// What one file states.
#[derive(Default)]
pub(crate) struct StatedByFile {
    /// In the order in which it was stated; nothing in place of what is not stated any more.
    atoms: Vec<Option<StatedAtom>>,
    places: HashMap<Rc<[u8]>, VecDeque<usize>>,
    /// How many there are.
    pub(crate) count: u64,
    /// The last commit in which it stated or retracted something.
    pub(crate) epoch: u64,
}

/// A stated atom as a record has it.
pub(crate) struct StatedAtom {
    bytes: Rc<[u8]>,
    names: Vec<String>,
}

/// What one file states, as bytes.
#[derive(Serialize, Deserialize)]
struct Written<'a> {
    source: u32,
    epoch: u64,
    /// Records that add the atoms.
    #[serde(borrow, with = "serde_bytes")]
    records: &'a [u8],
}

impl Statements {
    /// Those of one file only.
    pub(crate) fn of(source: u32) -> Self {
        Self { only: Some(source), ..Self::default() }
    }

    /// Takes a record of a commit, or of a note, which has the number of the commit before.
    pub(crate) fn take(&mut self, record: &Record<'_>, epoch: u64) {
        match record {
            Record::SourceBegun { source, file: Some(_), .. } if self.only.is_none_or(|only| only == *source) => {
                self.files.entry(*source).or_default();
            }
            Record::Cause { source, kind, .. } => {
                self.stating = (*kind == CauseRecord::Statement).then_some(*source);
            }
            Record::Count { copies, atom, .. } if *copies > 0 => {
                if let Some(file) = self.stating.and_then(|source| self.files.get_mut(&source)) {
                    file.epoch = file.epoch.max(epoch);
                    (0..*copies).for_each(|_| file.add(atom));
                }
            }
            Record::Unstated { source, atom } => {
                if let Some(file) = self.files.get_mut(source) {
                    file.epoch = file.epoch.max(epoch);
                    file.remove(atom.bytes);
                }
            }
            _ => {}
        }
    }

    /// The commit that follows says anew what causes what.
    pub(crate) fn end_commit(&mut self) {
        self.stating = None;
    }

    /// What a file states.
    pub(crate) fn file(&self, source: u32) -> Option<&StatedByFile> {
        self.files.get(&source)
    }

    /// As bytes, of which [`Statements::restore`] makes the same.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (source, file) in &self.files {
            let mut records = Vec::new();
            for atom in file.atoms() {
                let record = Record::Count { space: super::record::TOP_SPACE, copies: 1, atom: atom.record() };
                records.extend(postcard::to_allocvec(&record).expect("a vector takes every record"));
            }
            let written = Written { source: *source, epoch: file.epoch, records: &records };
            bytes.extend(postcard::to_allocvec(&written).expect("a vector takes everything"));
        }
        bytes
    }

    /// Adds what was written.
    ///
    /// # Errors
    /// The bytes are malformed.
    pub(crate) fn restore(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        let malformed = || "what it says of the statements of files is malformed".to_owned();
        while !bytes.is_empty() {
            let (written, rest) = postcard::take_from_bytes::<Written<'_>>(bytes).map_err(|_| malformed())?;
            bytes = rest;
            if self.only.is_some_and(|only| only != written.source) {
                continue;
            }
            let file = self.files.entry(written.source).or_default();
            file.epoch = written.epoch;
            let mut records = Records::new(written.records);
            while let Some(record) = records.next().map_err(|_| malformed())? {
                let Record::Count { atom, .. } = record else { return Err(malformed()) };
                file.add(&atom);
            }
        }
        Ok(())
    }
}

impl StatedByFile {
    /// The atoms that it states, with copies, in order.
    pub(crate) fn atoms(&self) -> impl Iterator<Item = &StatedAtom> {
        self.atoms.iter().flatten()
    }

    fn add(&mut self, atom: &AtomRecord<'_>) {
        let bytes: Rc<[u8]> = match self.places.get_key_value(atom.bytes) {
            Some((known, _)) => Rc::clone(known),
            None => atom.bytes.into(),
        };
        self.places.entry(Rc::clone(&bytes)).or_default().push_back(self.atoms.len());
        let names = atom.names.iter().map(|&name| name.to_owned()).collect();
        self.atoms.push(Some(StatedAtom { bytes, names }));
        self.count += 1;
    }

    /// The copy that was stated first goes first.
    fn remove(&mut self, bytes: &[u8]) {
        if let Some(first) = self.places.get_mut(bytes).and_then(VecDeque::pop_front) {
            self.atoms[first] = None;
            self.count -= 1;
        }
    }
}

impl StatedAtom {
    pub(crate) fn record(&self) -> AtomRecord<'_> {
        AtomRecord { bytes: &self.bytes, names: self.names.iter().map(String::as_str).collect() }
    }
}
