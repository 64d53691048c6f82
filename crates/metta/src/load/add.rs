//! Adding the records of a file, piece by piece, as another thread reads them or as the session's own does.

use super::forms::{Forms, cause_of};
use super::piece::{Piece, Taken};
use super::{COMMIT_RECORDS, Format, Load, LoadError, Out};
use crate::machine::FACT;
use crate::session::Session;
use space::Batch;
use std::panic::resume_unwind;
use std::sync::mpsc;
use std::thread;

/// Of fewer bytes than this, no other thread reads the pieces: starting one takes as long as reading some kilobytes.
const BYTES_AHEAD_MIN: usize = 64 << 10;
/// How many pieces wait to be added at most.
const PIECES_AHEAD_MAX: usize = 64;

/// Adds what a load has read.
pub(super) struct Adder<'a> {
    pub(super) session: &'a mut Session,
    pub(super) load: &'a mut Load,
}

impl Adder<'_> {
    /// Adds the records among some bytes, a slice at a time; gives how many bytes they took.
    pub(super) fn take_slices(
        &mut self,
        format: &mut dyn Format,
        bytes: &[u8],
        is_end: bool,
    ) -> Result<usize, LoadError> {
        if bytes.len() >= BYTES_AHEAD_MIN && self.reads_ahead() {
            return self.take_slices_ahead(format, bytes, is_end);
        }
        let mut piece = self.load.pieces.pop().unwrap_or_default();
        let mut at = 0;
        loop {
            read_piece(format, &bytes[at..], is_end, &mut piece);
            at += piece.bytes;
            self.take_piece(&mut piece)?;
            if !piece.is_full() {
                self.load.pieces.push(piece);
                return Ok(at);
            }
        }
    }

    /// Whether another thread may read pieces. No function of the host is called on a thread of which the host knows nothing.
    fn reads_ahead(&self) -> bool {
        self.session.program.threads.get() > 1 && !self.session.program.module(self.load.module).tokenizer.has_makers()
    }

    /// Adds the records among some bytes, as [`Adder::take_slices`] does, while another thread reads those that follow.
    fn take_slices_ahead(&mut self, format: &mut dyn Format, bytes: &[u8], is_end: bool) -> Result<usize, LoadError> {
        let (send, receive) = mpsc::sync_channel::<Piece>(PIECES_AHEAD_MAX);
        let (give_back, spare) = mpsc::channel::<Piece>();
        let mut kept = std::mem::take(&mut self.load.pieces);
        let read = move || {
            let mut at = 0;
            loop {
                let mut piece = kept.pop().or_else(|| spare.try_recv().ok()).unwrap_or_default();
                read_piece(format, &bytes[at..], is_end, &mut piece);
                at += piece.bytes;
                let is_last = !piece.is_full();
                // If nobody takes it, the load has ended.
                if send.send(piece).is_err() || is_last {
                    kept.extend(spare.try_iter());
                    return (kept, region::memory::hand_over());
                }
            }
        };
        thread::scope(|scope| {
            let reading = scope.spawn(read);
            let mut at = 0;
            let taken = receive.iter().try_for_each(|mut piece| {
                at += piece.bytes;
                self.take_piece(&mut piece)?;
                // If nobody wants its room any more, it is dropped.
                let _ = give_back.send(piece);
                Ok(())
            });
            drop(receive);
            let (kept, allocated) = reading.join().unwrap_or_else(|payload| resume_unwind(payload));
            // What a form has taken does not depend on the thread that took it.
            region::memory::take_over(allocated);
            self.load.pieces = kept;
            taken.map(|()| at)
        })
    }

    /// Adds the records of a piece, and commits if there are many since the last commit.
    fn take_piece(&mut self, piece: &mut Piece) -> Result<(), LoadError> {
        let before = self.load.report.added;
        let is_counted = self.session.program.is_noting() || self.session.program.checks_types();
        if self.session.program.checks_types() || !self.load.stated.is_empty() {
            self.add_forms(piece);
        } else {
            self.add_rows(piece);
        }
        self.load.sizes.bytes_used += piece.bytes as u64;
        if is_counted {
            self.load.uncommitted += self.load.report.added - before;
        }
        if self.load.commits && self.load.uncommitted >= COMMIT_RECORDS {
            self.session.commit_load(self.load)?;
        }
        Ok(())
    }

    /// Adds the records of a piece as atoms.
    fn add_forms(&mut self, piece: &mut Piece) {
        let mut forms = self.forms();
        piece.each(|taken| match taken {
            Taken::Batch { batch, lines, .. } => forms.batch(batch, lines),
            Taken::Atom(line, atom) => forms.atom(line, atom),
            Taken::Skip(left) => forms.report.skip_many(left.line, &left.reason, left.is_error, left.count),
        });
    }

    /// Adds the records of a piece as rows. Those that are no rows are added as atoms, and so are those that may be no facts, if somebody
    /// is told of what changes: each of them is looked at then.
    fn add_rows(&mut self, piece: &mut Piece) {
        let is_followed = self.session.program.is_noting();
        piece.each(|taken| match taken {
            Taken::Batch { batch, lines, is_facts } if is_facts || !is_followed => self.add_batch(batch, lines),
            Taken::Batch { batch, lines, .. } => self.forms().batch(batch, lines),
            Taken::Atom(line, atom) => self.forms().atom(line, atom),
            Taken::Skip(left) => self.load.report.skip_many(left.line, &left.reason, left.is_error, left.count),
        });
    }

    fn add_batch(&mut self, batch: &mut Batch, lines: &[u64]) {
        let (space, added) = (self.session.program.module(self.load.module).space.clone(), self.load.report.added);
        if self.session.program.is_noting() {
            let causes = lines.iter().map(|&line| cause_of(self.load.id, line));
            let first = self.session.transactions.add_causes(&self.session.program, causes);
            space.append_batch(batch, FACT, first);
        } else {
            let sizes = &mut self.load.sizes;
            space.append(|appender| {
                let terms = appender.terms() - *sizes.terms_before.get_or_insert(appender.terms());
                appender.expect(sizes.more(added), sizes.more(terms as u64));
                appender.batch(batch);
                appender.expect(0, 0);
            });
        }
        self.load.report.added += lines.len() as u64;
        self.session.statistics.atoms_added += lines.len() as u64;
    }

    /// What adds records of a load as atoms.
    fn forms(&mut self) -> Forms<'_> {
        let Load { module, id, report, stated, .. } = &mut *self.load;
        Forms { session: self.session, module: *module, source: *id, report, stated }
    }
}

/// Reads the first records of these bytes into a piece, in place of what it holds.
fn read_piece(format: &mut dyn Format, bytes: &[u8], is_end: bool, piece: &mut Piece) {
    piece.clear();
    piece.bytes = format.read(bytes, is_end, piece);
}
