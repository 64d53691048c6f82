//! The words that references are: what their tags and payloads mean.
//!
//! | tag | is | payload |
//! |---|---|---|
//! | 0 | a small integer | 29 bits, signed |
//! | 1 | a symbol | its place in the machine's table of symbols |
//! | 2 | an interned compound | its term in the dictionary of the spaces, and a bit when it is marked as evaluated |
//! | 3 | any other grounded value | its place in a table: constants of code (even), values made on the way (odd) |
//! | 4 | a number | a 64-bit integer or float in the heap's number lane |
//! | 5 | a variable | a cell with its binding and its label |
//! | 6, 7 | an expression | its header in the heap; 7 when it is marked as evaluated |

use crate::lowering::Comparison;
use region::{Ref, tag};
use space::{Atom, Grounded, Number, Term};

/// A small integer.
pub(super) const INTEGER: u32 = tag::IMMEDIATE_0;
/// A symbol.
pub(super) const SYMBOL: u32 = tag::IMMEDIATE_1;
/// A compound that the dictionary of the spaces holds.
pub(super) const TERM: u32 = tag::IMMEDIATE_2;
/// Any other value.
pub(super) const FOREIGN: u32 = tag::IMMEDIATE_3;

/// Terms have smaller numbers; the bit says of one that it is marked as evaluated, with all that is in it.
pub(super) const EVALUATED_TERM: u32 = 1 << 28;

const INTEGER_MIN: i64 = -(1 << 28);
const INTEGER_MAX: i64 = (1 << 28) - 1;

/// From here on a label is the number of a variable that is known by name and number; below, the name alone.
pub(super) const NAMED: u32 = 1 << 31;

/// What an expression that holds variables is noted with when it counts as evaluated, until one of them is bound.
pub(super) const EVALUATED_OPEN: u16 = u16::MAX;

/// What an expression is noted with that is not what the program says, since a part of it was evaluated, and not known to be in normal form.
pub(super) const CHANGED_DATA: u16 = EVALUATED_OPEN - 1;

/// `True`.
pub(super) const TRUE: Ref = Ref::new(FOREIGN, 0);
/// `False`.
pub(super) const FALSE: Ref = Ref::new(FOREIGN, 2);

macro_rules! symbols {
    ($($name:ident = $index:literal, $text:expr;)*) => {
        $(pub(super) const $name: Ref = Ref::new(SYMBOL, $index);)*
        pub(super) const WELL_KNOWN: &[&str] = &[$($text),*];
    };
}

symbols! {
    EMPTY = 0, crate::names::EMPTY;
    ERROR = 1, crate::names::ERROR;
    NOT_REDUCIBLE = 2, crate::names::NOT_REDUCIBLE;
    RETURN = 3, crate::names::RETURN;
    // Stands for every expression at the head of a call; no source can write it.
    COMPOUND = 4, "(";
    FUNCTION = 5, "function";
}

/// In a question about heads: any, as an unbound variable may be.
pub(super) const ANY: Ref = Ref::new(tag::VARIABLE, 0);

/// The small integer of a word, if it is one.
pub(super) fn small(word: i64) -> Option<Ref> {
    (INTEGER_MIN..=INTEGER_MAX).contains(&word).then(|| Ref::new(INTEGER, word as u32 & (u32::MAX >> 3)))
}

/// The word of a small integer.
#[inline]
pub(super) fn word(integer: Ref) -> i64 {
    i64::from(integer.bits() as i32 >> 3)
}

/// Whether a reference is a small integer.
#[inline]
pub(super) fn is_small(reference: Ref) -> bool {
    reference.tag() == INTEGER
}

/// The term that a reference is.
#[inline]
pub(super) fn term_of(reference: Ref) -> Term {
    debug_assert!(reference.tag() == TERM, "it is a term");
    Term::new(reference.payload() & !EVALUATED_TERM)
}

/// Whether a value is a term that is marked as evaluated.
#[inline]
pub(super) fn is_evaluated_term(value: Ref) -> bool {
    value.tag() == TERM && value.payload() & EVALUATED_TERM != 0
}

/// A term, marked as evaluated.
#[inline]
pub(super) fn evaluated_term(term: Ref) -> Ref {
    debug_assert!(term.tag() == TERM, "it is a term");
    Ref::new(TERM, term.payload() | EVALUATED_TERM)
}

/// A value without a mark: equal words are equal values.
#[inline]
pub(super) fn plain(value: Ref) -> Ref {
    if is_evaluated_term(value) { Ref::new(TERM, value.payload() & !EVALUATED_TERM) } else { value.unmarked() }
}

/// The tags of values that are their own results whatever the rules are, a bit for each.
pub(super) const ALWAYS_NORMAL: u32 = NUMBERS | 1 << FOREIGN | 1 << tag::MARKED;

/// The tags that only numbers have.
pub(super) const NUMBERS: u32 = 1 << INTEGER | 1 << tag::NUMBER;

/// Whether a value is its own result whatever the rules are.
#[inline]
pub(super) fn is_always_normal(value: Ref) -> bool {
    ALWAYS_NORMAL >> value.tag() & 1 == 1
}

/// A truth value.
pub(super) fn truth(value: bool) -> Ref {
    if value { TRUE } else { FALSE }
}

/// A small integer as a word of a slot, for what the machine itself keeps there.
pub(super) fn raw(value: usize) -> Ref {
    Ref::new(INTEGER, value as u32)
}

/// Whether a value lives outside of the heap, or is as old as the code.
pub(super) fn is_lasting(value: Ref) -> bool {
    is_small(value) || value.is_immediate() && (value.tag() != FOREIGN || value.payload() & 1 == 0)
}

/// Whether nothing equals a leaf but the same word.
pub(super) fn is_plain_word(leaf: Ref) -> bool {
    leaf.tag() == SYMBOL || leaf == TRUE || leaf == FALSE
}

/// The key of a shape in a switch.
pub(super) fn shape_key(length: u32, head: Ref) -> u64 {
    u64::from(length) << 33 | 1 << 32 | u64::from(head.bits())
}

/// What a grounded value takes, without its text or digits: itself, and what it refers to.
const FOREIGN_BYTES: usize = 64;

/// About how many bytes a grounded value takes beside the heap.
pub(super) fn bytes_of(value: &Atom) -> usize {
    let inside = match value {
        Atom::Grounded(Grounded::Number(Number::Big(big))) => (big.bits() / 8) as usize,
        Atom::Grounded(Grounded::Text(text)) => text.len(),
        _ => 0,
    };
    FOREIGN_BYTES + inside
}

/// Compares two integers.
#[inline]
pub(super) fn compare_words(comparison: Comparison, left: i64, right: i64) -> bool {
    match comparison {
        Comparison::Less => left < right,
        Comparison::Greater => left > right,
        Comparison::LessOrEqual => left <= right,
        Comparison::GreaterOrEqual => left >= right,
        Comparison::Equal => left == right,
    }
}
