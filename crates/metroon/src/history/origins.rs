//! Where atoms come from, as the journal says: the commits are gone through, and of each copy that is still there it is known which form of which
//! source added it.

use super::Origins;
use crate::commit_journal::load::decode;
use crate::commit_journal::record::{AtomRecord, CauseRecord, Record};
use crate::commit_journal::{CommitJournal, Committed, KnowledgeBaseError};
use metta::{Program, Reason};
use rustc_hash::FxHashMap;
use space::{Atom, SharedSpace, Terms, canonical, conjunction};

/// The spaces whose atoms a query of a space finds.
pub(super) fn serials_of(space: &SharedSpace) -> Vec<u64> {
    std::iter::once(space).chain(&space.imports()).map(SharedSpace::serial).collect()
}

/// Where the copies of atoms come from that a query of a space finds now, those of its imports among them, in the order
/// of the commits.
pub(super) fn origins(
    base: &CommitJournal,
    program: &mut Program,
    space: &SharedSpace,
    pattern: &Atom,
    last: u64,
) -> Result<Origins, KnowledgeBaseError> {
    let asked = Asked::of(serials_of(space), pattern);
    let mut found: Vec<(u64, Vec<u8>, Reason)> = Vec::new();
    let mut walk = Causes::default();
    let (start, mut commits) = base.commits()?;
    start.each_record(|record| walk.take(&record))?;
    start.each_atom(|serial, copies, atom| {
        if let Some(found_atom) = asked.find(program, serial, &atom)? {
            let (epoch, origin) = (start.epoch, String::new());
            let given_up = Reason { atom: found_atom, epoch, origin, line: 0, column: 0 };
            found.extend(std::iter::repeat_n((serial, atom.bytes.to_vec(), given_up), copies));
        }
        Ok(())
    })?;
    // Records of a commit come before its number is known.
    while let Some(committed) = commits.next()? {
        let Some(header) = &committed.header else {
            walk.take_all(&committed)?;
            continue;
        };
        if header.epoch > last {
            break;
        }
        committed.each(|record| {
            walk.take(&record);
            let Record::Count { space, copies, atom } = record else { return Ok(()) };
            if !asked.may_be(space, &atom) {
                return Ok(());
            }
            if copies < 0 {
                // The copies that came last go first.
                for _ in 0..copies.unsigned_abs() {
                    if let Some(index) =
                        found.iter().rposition(|(held, bytes, _)| *held == space && bytes == atom.bytes)
                    {
                        found.remove(index);
                    }
                }
                return Ok(());
            }
            let bytes = atom.bytes.to_vec();
            let atom = asked.find(program, space, &atom).map_err(|reason| committed.damaged(reason))?;
            let Some(atom) = atom else { return Ok(()) };
            let (origin, line, column) = walk.place();
            let reason = Reason { atom, epoch: header.epoch, origin, line, column };
            found.extend(std::iter::repeat_n((space, bytes, reason), copies as usize));
            Ok::<(), KnowledgeBaseError>(())
        })?;
    }
    let reasons = found.into_iter().map(|(_, _, reason)| reason);
    let (reasons, given_up): (Vec<Reason>, Vec<Reason>) = reasons.partition(|reason| reason.epoch > start.epoch);
    Ok(Origins { reasons, given_up: given_up.len() as u64 })
}

/// The atoms of some spaces that a pattern asks for.
pub(super) struct Asked<'a> {
    serials: Vec<u64>,
    pattern: &'a Atom,
    wanted: Wanted,
}

impl<'a> Asked<'a> {
    pub(super) fn of(serials: Vec<u64>, pattern: &'a Atom) -> Self {
        Self { serials, pattern, wanted: Wanted::of(pattern) }
    }

    /// Whether an atom of a space may be one of them, before it is decoded.
    pub(super) fn may_be(&self, space: u64, atom: &AtomRecord<'_>) -> bool {
        self.serials.contains(&space) && self.wanted.may_be(atom)
    }

    /// An atom of a space, if it is one of them.
    pub(super) fn find(
        &self,
        program: &mut Program,
        space: u64,
        atom: &AtomRecord<'_>,
    ) -> Result<Option<Atom>, String> {
        if !self.may_be(space, atom) {
            return Ok(None);
        }
        let atom = decode(program, atom)?;
        Ok(matches(program, self.pattern, &atom).then_some(atom))
    }
}

/// What the bytes of an atom say of whether it is asked for, before it is decoded.
enum Wanted {
    /// An atom without variables asks for itself.
    Exactly(Vec<u8>),
    /// What a pattern matches begins with these, if it has no variables.
    BeginningWith(Vec<u8>),
}

impl Wanted {
    fn of(pattern: &Atom) -> Self {
        if pattern.is_ground() {
            return Self::Exactly(canonical::encode(pattern));
        }
        // The patterns of a conjunction match other atoms than it.
        let has_patterns = conjunction(pattern).is_some();
        Self::BeginningWith(if has_patterns { Vec::new() } else { canonical::encode_prefix(pattern) })
    }

    fn may_be(&self, atom: &AtomRecord<'_>) -> bool {
        match self {
            Self::Exactly(bytes) => bytes == atom.bytes,
            Self::BeginningWith(bytes) => !atom.names.is_empty() || atom.bytes.starts_with(bytes),
        }
    }
}

/// Whether a pattern matches an atom as a query of a space that holds it would.
pub(super) fn matches(program: &mut Program, pattern: &Atom, atom: &Atom) -> bool {
    let space = SharedSpace::new(u64::MAX, "one", Terms::shared());
    space.add(atom);
    !space.query(pattern, program.variables()).is_empty()
}

/// Follows a base's records to know what causes the next one.
#[derive(Clone, Default)]
pub(super) struct Causes {
    /// What sources are called, by their numbers.
    origins: FxHashMap<u32, String>,
    source: u32,
    line: u32,
    column: u32,
}

impl Causes {
    pub(super) fn take(&mut self, record: &Record<'_>) {
        match record {
            // A form that an edited source no longer has stands nowhere.
            Record::Cause { source, kind: CauseRecord::Retraction, .. } => {
                (self.source, self.line, self.column) = (*source, 0, 0);
            }
            Record::Cause { source, line, column, .. } => {
                (self.source, self.line, self.column) = (*source, *line, *column);
            }
            Record::SourceBegun { source, origin, .. } => {
                self.name(*source, origin);
            }
            _ => {}
        }
    }

    pub(super) fn take_all(&mut self, committed: &Committed) -> Result<(), KnowledgeBaseError> {
        committed.each(|record| {
            self.take(&record);
            Ok(())
        })
    }

    /// What sources are called, by their numbers.
    pub(super) fn name(&mut self, source: u32, origin: &str) {
        origin.clone_into(self.origins.entry(source).or_default());
    }

    /// The source, line and column of the present cause.
    pub(super) fn at(&self) -> [u32; 3] {
        [self.source, self.line, self.column]
    }

    /// Goes on from the source, line and column of a cause.
    pub(super) fn go_to(&mut self, [source, line, column]: [u32; 3]) {
        (self.source, self.line, self.column) = (source, line, column);
    }

    /// What the source of the present cause is called, and the line and column of its form.
    pub(super) fn place(&self) -> (String, u32, u32) {
        let origin = self.origins.get(&self.source).cloned();
        // A checkpoint does not name texts that have ended.
        let origin = origin.unwrap_or_else(|| "text".to_owned());
        (origin, self.line, self.column)
    }
}
