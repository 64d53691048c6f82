//! Where the records of a file go.

use space::Atom;

/// How many records are added with the space locked: somebody who wants a snapshot waits no longer than that takes.
pub(super) const SLICE_RECORDS: u64 = 256;

/// Takes the records of a file, one after the other.
///
/// A record is an expression, whose parts come in order: [`Out::open`], parts, [`Out::close`]; it ends with the bracket that began it.
/// Or it is any atom ([`Out::atom`]).
pub trait Out {
    /// A record begins on this line, counted from 1.
    fn record(&mut self, line: u64);

    /// An expression begins.
    fn open(&mut self);

    /// A symbol, a part of an expression.
    fn symbol(&mut self, name: &str);

    /// A number, a text or a truth value, a part of an expression.
    fn leaf(&mut self, atom: Atom);

    /// The expression that began last ends.
    fn close(&mut self);

    /// The record at hand is this atom.
    fn atom(&mut self, atom: Atom);

    /// The record at hand is not loaded. `is_error` says whether something is wrong with it.
    fn skip(&mut self, reason: &str, is_error: bool);

    /// Whether it has taken enough for now: the format is asked again for what follows.
    fn is_full(&self) -> bool {
        false
    }
}
