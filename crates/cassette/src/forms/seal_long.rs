//! A cassette from a long document of JSON, with one exchange in memory at a time.

use super::error::FormError;
use super::stream::{DocumentProgress, LongDocument};
use crate::counts::ExchangeCounts;
use crate::error::SealError;
use crate::exchange::{Exchange, Note};
use crate::file::folder_and_name;
use crate::limits::ReadOptions;
use crate::record::assemble::Assembler;
use crate::record::event::Event;
use crate::scan::Scanner;
use crate::seal::options::SealOptions;
use crate::seal::write::Sealer;
use std::path::Path;

/// What became of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SealedDocument {
    /// It is a cassette now, on which these are.
    Sealed(ExchangeCounts),
    /// It cannot be read exchange by exchange: it is short, or not JSON of ours or of the Magneto-Serge system, or its exchanges are not in
    /// the order of their numbers. Nothing was written.
    Otherwise,
}

/// Makes a sealed cassette of a long JSON document, in gzip or not, in place of any file of the path, at once and durably. Memory: the
/// longest exchange, and what sealing takes.
///
/// # Errors
/// The document cannot be read, or the cassette cannot be written; what lay there stays then.
pub fn seal_document(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
    options: impl Into<SealOptions>,
    reading: ReadOptions,
    progress: &mut dyn FnMut(DocumentProgress),
) -> Result<SealedDocument, FormError> {
    let Some(document) = LongDocument::at(from.as_ref())? else { return Ok(SealedDocument::Otherwise) };
    let options = options.into();
    let (folder, name) = folder_and_name(to.as_ref())?;
    let mut sealer = Sealer::ascending(&folder, &name, &options)?;
    let mut scanner = (!options.keeps_secrets).then(Scanner::new);
    let (mut counts, mut next) = (ExchangeCounts::default(), 0);
    let mut is_in_order = true;
    let meta = document.exchanges(reading, &mut |exchange, so_far| {
        is_in_order &= exchange.number >= next;
        if !is_in_order {
            return Err(SealError::SameNumber(exchange.number).into());
        }
        next = exchange.number.saturating_add(1);
        counts.count(&exchange);
        progress(so_far);
        Ok(add(&mut sealer, &mut scanner, exchange)?)
    });
    let meta = match meta {
        Ok(Some(meta)) => finish_scan(scanner, &meta, &name).map(|()| meta).map_err(FormError::from),
        Ok(None) => {
            sealer.abandon();
            return Ok(SealedDocument::Otherwise);
        }
        Err(error) => Err(error),
    };
    match meta {
        Ok(meta) => sealer.finish(&meta, [0; 32], 0)?,
        Err(error) => {
            sealer.abandon();
            return if is_in_order { Err(error) } else { Ok(SealedDocument::Otherwise) };
        }
    }
    Ok(SealedDocument::Sealed(counts))
}

fn add(sealer: &mut Sealer<'_>, scanner: &mut Option<Scanner>, exchange: Exchange<'static>) -> Result<(), SealError> {
    let number = exchange.number;
    let whole = Event::Whole(Box::new(exchange));
    if let Some(scanner) = scanner {
        scanner.event(number, &whole);
    }
    let over = Assembler::default().take(number, whole, &mut sealer.keeper())?;
    over.map_or(Ok(()), |draft| sealer.add(draft))
}

fn finish_scan(scanner: Option<Scanner>, meta: &[Note<'_>], shown: &str) -> Result<(), SealError> {
    let Some(mut scanner) = scanner else { return Ok(()) };
    meta.iter().for_each(|note| scanner.event(0, &Event::Meta(note.borrowed())));
    scanner.finish(shown)
}
