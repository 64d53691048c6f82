//! What the rules and facts of a base lead to after its last commit, and where these come from.

use super::History;
use super::origins::Causes;
use crate::commit_journal::KnowledgeBaseError;
use crate::commit_journal::load::Loaded;
use crate::commit_journal::record::Record;
use metta::{Derivations, Reason};
use rustc_hash::FxHashMap;
use space::{Atom, canonical};

impl History {
    /// The shortest derivations of an atom, or of `(= CALL RESULT)`, `most` at most: see [`metta::derivations`].
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn derivations(&self, goal: &Atom, most: usize, states_max: usize) -> Result<Derivations, KnowledgeBaseError> {
        let mut base = self.base.reader();
        base.end_at(self.epoch());
        let (mut session, _) = Loaded::from_base(&base)?;
        let space = session.top_space();
        Ok(metta::derivations(goal, most, states_max, &space, session.program_mut().variables()))
    }

    /// For each of these atoms the commit and the form that added the first copy that is still there, in any space; nothing for those of the
    /// library. The origin is empty if that commit was given up, and the commit is the last of these then.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn reasons_of(&self, atoms: &[Atom]) -> Result<Vec<Option<Reason>>, KnowledgeBaseError> {
        let bytes: Vec<Vec<u8>> = atoms.iter().map(canonical::encode).collect();
        let mut found: FxHashMap<&[u8], Vec<(u64, Reason)>> =
            bytes.iter().map(|bytes| (bytes.as_slice(), Vec::new())).collect();
        let mut walk = Causes::default();
        let (start, mut commits) = self.base.commits()?;
        start.each_record(|record| walk.take(&record))?;
        start.each_atom(|space, copies, atom| {
            if let Some(reasons) = found.get_mut(atom.bytes) {
                let (epoch, origin) = (start.epoch, String::new());
                let given_up = Reason { atom: Atom::unit(), epoch, origin, line: 0, column: 0 };
                reasons.extend(std::iter::repeat_n((space, given_up), copies));
            }
            Ok(())
        })?;
        while let Some(committed) = commits.next()? {
            let epoch = committed.header.as_ref().map_or(0, |header| header.epoch);
            committed.each(|record| {
                walk.take(&record);
                let Record::Count { space, copies, atom } = record else { return Ok(()) };
                let Some(reasons) = found.get_mut(atom.bytes) else { return Ok(()) };
                if copies < 0 {
                    // The copies that came last go first.
                    if let Some(place) = reasons.iter().rposition(|(held, _)| *held == space) {
                        reasons.remove(place);
                    }
                    return Ok(());
                }
                let (origin, line, column) = walk.place();
                reasons.push((space, Reason { atom: Atom::unit(), epoch, origin, line, column }));
                Ok::<(), KnowledgeBaseError>(())
            })?;
        }
        let first = |(atom, bytes): (&Atom, &Vec<u8>)| {
            let reason = found.get(bytes.as_slice()).and_then(|reasons| reasons.first());
            reason.map(|(_, reason)| Reason { atom: atom.clone(), ..reason.clone() })
        };
        Ok(atoms.iter().zip(&bytes).map(first).collect())
    }
}
