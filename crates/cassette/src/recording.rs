//! Recordings: journals of what happens, and what they come to.
//!
//! While a tape `trip.tape` is recorded, its journal is `trip.tape.recording` beside it. Sealing goes through it twice: once for
//! the numbers of its exchanges, and once for the exchanges. The sealed tape keeps the chain of the journal, so a recording that
//! a crash left behind after it was sealed is known for what it is.

use crate::error::{Damage, Flaw, Malformed, ReadError, SealError};
use crate::exchange::{Exchange, Note};
use crate::record::assemble::{Assembler, Draft, KeepNothing};
use crate::record::event::Event;
use crate::scan::Scanner;
use crate::seal::read::Sealed;
use crate::seal::write::Sealer;
use crate::tape::SealOptions;
use journal::{Chain, Disk, Reader};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the recording of a tape lies.
pub(crate) fn recording_path(tape: &Path) -> PathBuf {
    let mut path = tape.as_os_str().to_owned();
    path.push(".recording");
    path.into()
}

/// The frames of a recording, as events.
struct Events {
    reader: Reader,
    shown: String,
}

impl Events {
    fn open(disk: Arc<dyn Disk>, shown: &str) -> Result<Self, ReadError> {
        let reader = Reader::from_frame(disk, 0).map_err(|error| unreadable(shown, &error))?;
        Ok(Self { reader, shown: shown.to_owned() })
    }

    /// Hands out every event with the number of its exchange.
    fn each<E: From<ReadError>>(&mut self, mut take: impl FnMut(u64, Event<'_>) -> Result<(), E>) -> Result<Chain, E> {
        loop {
            let frame = self.reader.read_next().map_err(|error| unreadable(&self.shown, &error))?;
            let Some(frame) = frame else { return Ok(self.reader.chain()) };
            let decoded = Event::decode(frame.payload);
            let (number, event) = decoded.map_err(|malformed| damaged(&self.shown, frame.place.offset, malformed))?;
            take(number, event)?;
        }
    }
}

fn unreadable(shown: &str, error: &journal::ReadError) -> ReadError {
    ReadError::Recording(format!("cannot read the recording {shown}: {error}"))
}

fn damaged(shown: &str, offset: u64, malformed: Malformed) -> ReadError {
    ReadError::Damaged(Damage { file: shown.to_owned(), offset, flaw: Flaw::Record(malformed) })
}

/// What a recording holds, in memory.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    /// In the order of their numbers. Those that were not over are partial.
    pub(crate) exchanges: Vec<Exchange<'static>>,
    pub(crate) meta: Vec<Note<'static>>,
    pub(crate) next_number: u64,
    /// `None` if the journal has not begun.
    pub(crate) chain: Option<[u8; 32]>,
}

/// Reads a recording, be it that of a crashed program.
pub(crate) fn read(disk: Arc<dyn Disk>, shown: &str) -> Result<Recorded, ReadError> {
    let mut assembler = Assembler::default();
    let mut drafts: Vec<Draft> = Vec::new();
    let broken = |what| damaged(shown, 0, Malformed { what, at: 0 });
    let chain = Events::open(disk, shown)?.each(|number, event| {
        drafts.extend(assembler.take(number, event, &mut KeepNothing).map_err(broken)?);
        Ok::<(), ReadError>(())
    })?;
    drafts.extend(assembler.unfinished());
    let mut exchanges: Vec<_> = drafts.into_iter().map(Draft::into_exchange).collect();
    exchanges.sort_by_key(|exchange| exchange.number);
    Ok(Recorded {
        exchanges,
        meta: assembler.meta().collect(),
        next_number: assembler.next_number(),
        chain: Some(*chain.as_bytes()),
    })
}

/// What is known of a recording without its bodies.
pub(crate) struct Survey {
    pub(crate) numbers: BTreeSet<u64>,
    pub(crate) next_number: u64,
    pub(crate) chain: Chain,
}

/// Looks at what a recording holds, and for secrets on request. That two of its exchanges have one number is an error.
pub(crate) fn survey(disk: Arc<dyn Disk>, shown: &str, mut scanner: Option<&mut Scanner>) -> Result<Survey, SealError> {
    let (mut numbers, mut not_begun) = (BTreeSet::new(), BTreeSet::new());
    let chain = Events::open(disk, shown)?.each(|number, event| {
        if let Some(scanner) = &mut scanner {
            scanner.event(number, &event);
        }
        match event {
            Event::Meta(_) => {}
            Event::Begin { .. } | Event::Whole(_) if numbers.insert(number) => {}
            Event::Begin { .. } | Event::Whole(_) => return Err(SealError::SameNumber(number)),
            // What happens before an exchange begins, if it ever does, belongs to it.
            _ if numbers.contains(&number) => {}
            _ => drop(not_begun.insert(number)),
        }
        Ok(())
    })?;
    numbers.append(&mut not_begun);
    let next_number = numbers.last().map_or(0, |last| last.saturating_add(1));
    Ok(Survey { numbers, next_number, chain })
}

/// Seals a recording, after what an older tape of the name holds. Exchanges that are not over become partial. Secrets are
/// looked for in the recording: what is sealed already was looked through then.
pub(crate) fn seal(
    recording: &Arc<dyn Disk>,
    shown: &str,
    disk: &dyn Disk,
    name: &str,
    options: SealOptions,
    older: Option<&Sealed>,
) -> Result<(), SealError> {
    let mut scanner = (!options.keeps_secrets).then(Scanner::new);
    let survey = survey(recording.clone(), shown, scanner.as_mut())?;
    scanner.map_or(Ok(()), |scanner| scanner.finish(shown))?;
    let mut sealer = Sealer::new(disk, name, options.key, older, survey.numbers.into_iter().collect())?;
    let filled = fill(&mut sealer, recording.clone(), shown, older);
    match filled {
        Ok(meta) => sealer.finish(&meta, *survey.chain.as_bytes(), survey.next_number),
        Err(error) => {
            sealer.abandon();
            Err(error)
        }
    }
}

fn fill(
    sealer: &mut Sealer<'_>,
    recording: Arc<dyn Disk>,
    shown: &str,
    older: Option<&Sealed>,
) -> Result<Vec<Note<'static>>, SealError> {
    let mut assembler = Assembler::default();
    if let Some(older) = older {
        for note in older.meta()? {
            assembler.take(0, Event::Meta(note), &mut KeepNothing)?;
        }
    }
    Events::open(recording, shown)?.each(|number, event| {
        let over = assembler.take(number, event, &mut sealer.keeper())?;
        over.map_or(Ok(()), |draft| sealer.add(draft))
    })?;
    for draft in assembler.unfinished() {
        sealer.add(draft)?;
    }
    Ok(assembler.meta().collect())
}
