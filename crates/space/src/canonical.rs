//! The canonical byte form of an atom: the form that leaves a process.
//!
//! Comparing bytes orders atoms: numbers by value, then texts, symbols, variables and expressions child by child.
//! Atoms that differ only in the names of variables have equal bytes, since variables are numbered by first
//! occurrence. Kinds are kept: `1` and `1.0` stand next to each other and are not equal. An atom has one form only:
//! other bytes that say the same are an error.
//!
//! ```text
//! atom   := 0x10 | 0x11                                    False, True
//!         | 0x20 number kind                               kind: 0x00 integer, 0x01 float
//!         | 0x30 bytes                                     text
//!         | 0x40 bytes                                     symbol
//!         | 0x50 bytes                                     host value, by identity
//!         | 0x60 u64                                       space, by serial number
//!         | 0x68 u64                                       state, by serial number
//!         | 0x70 u32                                       variable, by first occurrence
//!         | 0x78 (variable atom)* 0x00                     what `collapse-bind` bound
//!         | 0x80 atom* 0x00                                expression
//! bytes  := UTF-8 in which 0x00 is written 0x00 0xFF, ended by 0x00 0x01
//! number := 0x00                                           -infinity
//!         | 0x01 ~magnitude                                negative, all bytes inverted
//!         | 0x02 | 0x03 | 0x04                             negative zero, zero, …
//!         | 0x05 magnitude                                 positive
//!         | 0x06 | 0x07 u64                                +infinity, NaN with its bits
//! magnitude := i64 with its sign bit inverted              the exponent of the leading one bit
//!              bytes                                       the bits from it on, left-aligned, no zero byte at the end
//! ```
//! Integers on disk are big-endian.

use crate::atom::{Atom, Solution, Variable};
use crate::grounded::Grounded;
use crate::number::Number;
use crate::parts::distinct_parts;
use crate::sharing::{Met, Outcomes};
use num_bigint::{BigInt, BigUint, Sign};
use num_traits::ToPrimitive;
use rustc_hash::FxHashMap;
use std::fmt;
use std::sync::Arc;
use twox_hash::XxHash3_128;

mod tag {
    pub(super) const END: u8 = 0x00;
    pub(super) const FALSE: u8 = 0x10;
    pub(super) const TRUE: u8 = 0x11;
    pub(super) const NUMBER: u8 = 0x20;
    pub(super) const TEXT: u8 = 0x30;
    pub(super) const SYMBOL: u8 = 0x40;
    pub(super) const HOST: u8 = 0x50;
    pub(super) const SPACE: u8 = 0x60;
    pub(super) const STATE: u8 = 0x68;
    pub(super) const VARIABLE: u8 = 0x70;
    pub(super) const BINDINGS: u8 = 0x78;
    pub(super) const EXPRESSION: u8 = 0x80;

    pub(super) const NEGATIVE_INFINITY: u8 = 0x00;
    pub(super) const NEGATIVE: u8 = 0x01;
    pub(super) const NEGATIVE_ZERO: u8 = 0x02;
    pub(super) const ZERO: u8 = 0x03;
    pub(super) const POSITIVE: u8 = 0x05;
    pub(super) const INFINITY: u8 = 0x06;
    pub(super) const NAN: u8 = 0x07;

    pub(super) const INTEGER: u8 = 0x00;
    pub(super) const FLOAT: u8 = 0x01;
}

/// The longest integer that is read back, in bits, as the longest that there is. Bytes that claim a longer one are taken
/// for damaged: a few of them may stand for any number of zeros.
pub const INTEGER_BITS_MAX: i64 = crate::number::INTEGER_BITS_MAX as i64;

/// Why bytes are not the canonical form of an atom.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end inside an atom.
    Truncated {
        /// Where more was expected.
        offset: usize,
    },
    /// A byte that begins nothing.
    UnknownTag {
        /// The byte.
        tag: u8,
        /// Where it stands.
        offset: usize,
    },
    /// A name or text that is not UTF-8.
    NotUtf8 {
        /// Where it begins.
        offset: usize,
    },
    /// Bytes after the end of the atom.
    Trailing {
        /// Where they begin.
        offset: usize,
    },
    /// Bytes that say what other bytes say in the canonical form.
    NotCanonical {
        /// Where what they say begins.
        offset: usize,
    },
    /// An integer of more than [`INTEGER_BITS_MAX`] bits.
    TooLarge {
        /// Where it begins.
        offset: usize,
    },
    /// A value that only the process that made it can resolve.
    Unresolved {
        /// What it is.
        kind: &'static str,
        /// Where it stands.
        offset: usize,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { offset } => write!(formatter, "the atom's bytes end too early, at offset {offset}"),
            Self::UnknownTag { tag, offset } => {
                write!(
                    formatter,
                    "byte {tag:#04x} at offset {offset} begins no kind of atom; the bytes are damaged or from a newer version"
                )
            }
            Self::NotUtf8 { offset } => {
                write!(formatter, "the name at offset {offset} is not UTF-8; the bytes are damaged")
            }
            Self::Trailing { offset } => write!(formatter, "bytes are left over after the atom, from offset {offset}"),
            Self::NotCanonical { offset } => {
                write!(formatter, "what begins at offset {offset} is not in its canonical form; the bytes are damaged")
            }
            Self::TooLarge { offset } => write!(
                formatter,
                "the integer at offset {offset} has more than {INTEGER_BITS_MAX} bits; the bytes are damaged"
            ),
            Self::Unresolved { kind, offset } => {
                write!(formatter, "the {kind} at offset {offset} is known only to the process that made it")
            }
        }
    }
}

impl std::error::Error for DecodeError {}

/// The canonical bytes of an atom.
pub fn encode(atom: &Atom) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_into(atom, &mut bytes);
    bytes
}

/// The canonical bytes of an atom; `None` if they are more than `most`, which takes no longer to find out than to write that many.
pub fn encode_at_most(atom: &Atom, most: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let is_whole = encode_within(atom, &mut bytes, most, &mut FxHashMap::default(), |_| {});
    (is_whole && bytes.len() <= most).then_some(bytes)
}

/// What is still to be written of something that has begun.
enum Rest<'a> {
    Children(std::slice::Iter<'a, Atom>),
    /// Pairs, and the value of the one that has begun.
    Pairs(std::slice::Iter<'a, (Variable, Atom)>, Option<&'a Atom>),
}

/// Appends the canonical bytes of an atom.
pub fn encode_into(atom: &Atom, bytes: &mut Vec<u8>) {
    encode_naming(atom, bytes, |_| {});
}

/// Appends the canonical bytes of an atom, and hands out its variables as they get their numbers: what the bytes leave
/// out.
pub fn encode_naming<'a>(atom: &'a Atom, bytes: &mut Vec<u8>, name: impl FnMut(&'a Variable)) {
    let is_whole = encode_within(atom, bytes, usize::MAX, &mut FxHashMap::default(), name);
    debug_assert!(is_whole, "any number of bytes may be written");
}

/// How many bytes of the canonical form tell atoms apart. If an atom has more, its content hash does.
const KEY_BYTES_MAX: usize = 1 << 20;

/// What tells atoms apart, up to the names of variables, as their canonical bytes do: these, and where there are more than a megabyte the
/// first of them and the content hash. So it takes no more than that of an atom that shares its parts.
pub fn key(atom: &Atom) -> Vec<u8> {
    let mut bytes = Vec::new();
    key_naming(atom, &mut bytes, |_| {});
    bytes
}

/// Appends what [`key`] gives, and hands out the variables of the atom, each once.
pub fn key_naming<'a>(atom: &'a Atom, bytes: &mut Vec<u8>, mut name: impl FnMut(&'a Variable)) {
    let mut numbers = FxHashMap::default();
    if encode_within(atom, bytes, bytes.len().saturating_add(KEY_BYTES_MAX), &mut numbers, &mut name) {
        return;
    }
    bytes.extend(hash(atom).to_be_bytes());
    let mut others = |variable: &'a Variable| {
        let next = numbers.len() as u32;
        numbers.entry(variable).or_insert_with(|| {
            name(variable);
            next
        });
    };
    for part in distinct_parts(atom) {
        match part {
            Atom::Variable(variable) => others(variable),
            Atom::Grounded(Grounded::Bindings(solution)) => solution.iter().for_each(|(bound, _)| others(bound)),
            _ => {}
        }
    }
}

/// Appends the canonical bytes of an atom, until `bytes` holds more than `most`; says whether these are all.
pub(crate) fn encode_within<'a>(
    atom: &'a Atom,
    bytes: &mut Vec<u8>,
    most: usize,
    numbers: &mut FxHashMap<&'a Variable, u32>,
    mut name: impl FnMut(&'a Variable),
) -> bool {
    let mut variable = |variable: &'a Variable, bytes: &mut Vec<u8>| {
        let next = numbers.len() as u32;
        let number = *numbers.entry(variable).or_insert_with(|| {
            name(variable);
            next
        });
        bytes.push(tag::VARIABLE);
        bytes.extend(number.to_be_bytes());
    };
    let mut open: Vec<Rest<'_>> = Vec::new();
    let mut rest = Rest::Children(std::slice::from_ref(atom).iter());
    loop {
        let next = match &mut rest {
            Rest::Children(children) => children.next(),
            Rest::Pairs(_, value @ Some(_)) => value.take(),
            Rest::Pairs(pairs, value) => match pairs.next() {
                Some((bound, to)) => {
                    variable(bound, bytes);
                    *value = Some(to);
                    continue;
                }
                None => None,
            },
        };
        let Some(atom) = next else {
            match open.pop() {
                Some(around) => rest = around,
                None => return true,
            }
            bytes.push(tag::END);
            continue;
        };
        let inside = match atom {
            Atom::Variable(found) => {
                variable(found, bytes);
                continue;
            }
            Atom::Symbol(symbol) => {
                encode_bytes(tag::SYMBOL, symbol.as_str().as_bytes(), bytes);
                continue;
            }
            Atom::Grounded(Grounded::Bindings(solution)) => {
                bytes.push(tag::BINDINGS);
                Rest::Pairs(solution.iter(), None)
            }
            Atom::Grounded(value) => {
                encode_value(value, bytes);
                continue;
            }
            Atom::Expression(expression) => {
                bytes.push(tag::EXPRESSION);
                Rest::Children(expression.children().iter())
            }
        };
        open.push(std::mem::replace(&mut rest, inside));
        if bytes.len() > most {
            return false;
        }
    }
}

/// The bytes with which the canonical form of every atom without variables begins that a pattern matches: those before its first variable,
/// or its first number, since `1` and `1.0` are equal and have other bytes. All of them, if there is neither.
pub fn encode_prefix(pattern: &Atom) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut open = vec![std::slice::from_ref(pattern).iter()];
    while let Some(children) = open.last_mut() {
        match children.next() {
            None => {
                open.pop();
                if !open.is_empty() {
                    bytes.push(tag::END);
                }
            }
            Some(Atom::Expression(expression)) => {
                bytes.push(tag::EXPRESSION);
                open.push(expression.children().iter());
            }
            Some(Atom::Symbol(symbol)) => encode_bytes(tag::SYMBOL, symbol.as_str().as_bytes(), &mut bytes),
            Some(Atom::Grounded(value @ (Grounded::Text(_) | Grounded::Bool(_)))) => encode_value(value, &mut bytes),
            // A float may be equal to an integer.
            Some(_) => break,
        }
    }
    bytes
}

/// Appends the canonical bytes of the symbol of this name.
pub(crate) fn encode_symbol(name: &[u8], bytes: &mut Vec<u8>) {
    encode_bytes(tag::SYMBOL, name, bytes);
}

/// Appends the canonical bytes of an integer.
pub(crate) fn encode_integer(value: i64, bytes: &mut Vec<u8>) {
    encode_number(&Number::Int(value), bytes);
}

/// Appends what an expression begins with; its children follow.
pub(crate) fn begin_expression(bytes: &mut Vec<u8>) {
    bytes.push(tag::EXPRESSION);
}

/// Appends what an expression ends with.
pub(crate) fn end_expression(bytes: &mut Vec<u8>) {
    bytes.push(tag::END);
}

/// The content hash of an atom: equal for atoms with equal canonical bytes, and for no others that anybody will meet.
///
/// A leaf's is the XXH3 of its canonical bytes, with 128 bits; an expression's that of its tag, the hashes of its children,
/// little-endian, and the end tag. So what is hashed once, such as a long text, is not hashed again with all that holds it. It
/// finds differences; it is no defence against somebody who makes them.
pub fn hash(atom: &Atom) -> u128 {
    let mut numbers: FxHashMap<&Variable, u32> = FxHashMap::default();
    let mut hash_of_variable = |variable| {
        let next = numbers.len() as u32;
        let number = *numbers.entry(variable).or_insert(next);
        let [a, b, c, d] = number.to_be_bytes();
        XxHash3_128::oneshot(&[tag::VARIABLE, a, b, c, d])
    };
    let mut hashes: Vec<u128> = Vec::new();
    // What has a hash already has all its variables numbered, so it has the same one wherever else it stands.
    let mut known: Outcomes<(), u128> = Outcomes::default();
    let mut open: Vec<(&Atom, Rest<'_>, usize)> = Vec::new();
    let mut current = atom;
    loop {
        match current {
            Atom::Variable(variable) => hashes.push(hash_of_variable(variable)),
            Atom::Expression(expression) => match known.of(expression.place()) {
                Some(hash) if !expression.is_empty() => hashes.push(hash),
                _ => open.push((current, Rest::Children(expression.children().iter()), hashes.len())),
            },
            Atom::Grounded(Grounded::Bindings(solution)) => {
                open.push((current, Rest::Pairs(solution.iter(), None), hashes.len()))
            }
            leaf => hashes.push(hash_of_leaf(leaf)),
        }
        loop {
            let Some((whole, rest, from)) = open.last_mut() else { return hashes[0] };
            let next = match rest {
                Rest::Children(children) => children.next(),
                Rest::Pairs(pairs, _) => pairs.next().map(|(variable, value)| {
                    hashes.push(hash_of_variable(variable));
                    value
                }),
            };
            if let Some(next) = next {
                current = next;
                break;
            }
            let tag = if matches!(rest, Rest::Children(_)) { tag::EXPRESSION } else { tag::BINDINGS };
            let hash = hash_of_node(tag, hashes[*from..].iter().copied());
            hashes.truncate(*from);
            hashes.push(hash);
            if let Atom::Expression(expression) = whole {
                known.keep(expression.place(), &(), &hash);
            }
            open.pop();
        }
    }
}

/// The content hash of the atom that has these canonical bytes, without making it.
///
/// # Errors
/// The bytes are no atom's.
pub fn hash_of_bytes(bytes: &[u8]) -> Result<u128, DecodeError> {
    let nameless = Variable::new("_");
    let mut reader = Reader { bytes, offset: 0, variables: Vec::new(), variable: |_| nameless.clone() };
    let mut hashes: Vec<u128> = Vec::new();
    let mut open: Vec<(u8, usize)> = Vec::new();
    loop {
        let start = reader.offset;
        match reader.item(&mut |_| Some(Atom::unit()))? {
            Item::Open(tag) => open.push((tag, hashes.len())),
            Item::Atom(_) => hashes.push(XxHash3_128::oneshot(&bytes[start..reader.offset])),
            Item::Close => {
                let (tag, from) = open.pop().ok_or(DecodeError::UnknownTag { tag: tag::END, offset: start })?;
                let hash = hash_of_node(tag, hashes[from..].iter().copied());
                hashes.truncate(from);
                hashes.push(hash);
            }
        }
        match (open.is_empty(), hashes.as_slice()) {
            (true, [hash]) if reader.offset == bytes.len() => return Ok(*hash),
            (true, _) => return Err(DecodeError::Trailing { offset: reader.offset }),
            _ => {}
        }
    }
}

/// The content hash of an atom that holds no others.
pub(crate) fn hash_of_leaf(leaf: &Atom) -> u128 {
    match leaf {
        Atom::Symbol(symbol) => hash_of_symbol(symbol.as_str().as_bytes()),
        Atom::Grounded(Grounded::Text(text)) => hash_of_name(tag::TEXT, text.as_bytes()),
        leaf => XxHash3_128::oneshot(&encode(leaf)),
    }
}

/// The content hash of the symbol of this name.
pub(crate) fn hash_of_symbol(name: &[u8]) -> u128 {
    hash_of_name(tag::SYMBOL, name)
}

fn hash_of_name(tag: u8, name: &[u8]) -> u128 {
    /// What the canonical bytes have beside those of a name without zeros.
    const AROUND: usize = 3;
    /// As long as most names are, and as most texts are, with what is around them.
    const SHORT: usize = 32;
    const MEDIUM: usize = 128;
    match name.len() + AROUND {
        ..=SHORT if first_zero(name).is_none() => hash_in_room::<SHORT>(tag, name),
        ..=MEDIUM if first_zero(name).is_none() => hash_in_room::<MEDIUM>(tag, name),
        _ => {
            let mut long = Vec::new();
            encode_bytes(tag, name, &mut long);
            XxHash3_128::oneshot(&long)
        }
    }
}

/// The content hash of a name that has no zeros and fits into `ROOM` bytes.
#[inline]
fn hash_in_room<const ROOM: usize>(tag: u8, name: &[u8]) -> u128 {
    let mut room = [0; ROOM];
    room[0] = tag;
    room[1..=name.len()].copy_from_slice(name);
    room[name.len() + 2] = 0x01;
    XxHash3_128::oneshot(&room[..name.len() + 3])
}

/// Where the first zero is. Most names are so short that a loop is done before a search with vectors has begun.
#[inline]
fn first_zero(bytes: &[u8]) -> Option<usize> {
    /// The most bytes for the loop.
    const LOOP_BYTES: usize = 16;
    if bytes.len() > LOOP_BYTES {
        return memchr::memchr(0x00, bytes);
    }
    bytes.iter().position(|&byte| byte == 0x00)
}

/// The content hash of an integer; its canonical bytes are written to `bytes`, in place of what is there.
pub(crate) fn hash_of_integer(value: i64, bytes: &mut Vec<u8>) -> u128 {
    bytes.clear();
    encode_integer(value, bytes);
    XxHash3_128::oneshot(bytes)
}

/// The content hash of an expression, from those of its children.
pub(crate) fn hash_of_expression(children: impl Iterator<Item = u128>) -> u128 {
    hash_of_node(tag::EXPRESSION, children)
}

fn hash_of_node(tag: u8, children: impl Iterator<Item = u128>) -> u128 {
    /// As much as most expressions need.
    const SHORT: usize = 1 + 8 * 16 + 1;
    let mut short = [0; SHORT];
    let mut length = 1;
    short[0] = tag;
    let mut children = children;
    while let Some(child) = children.next() {
        if length + 17 > SHORT {
            let mut long = short[..length].to_vec();
            long.extend_from_slice(&child.to_le_bytes());
            children.for_each(|child| long.extend_from_slice(&child.to_le_bytes()));
            long.push(tag::END);
            return XxHash3_128::oneshot(&long);
        }
        short[length..length + 16].copy_from_slice(&child.to_le_bytes());
        length += 16;
    }
    short[length] = tag::END;
    XxHash3_128::oneshot(&short[..=length])
}

/// The first value in an atom that no other process can make again from the atom's canonical bytes.
pub fn find_opaque(atom: &Atom) -> Option<&Atom> {
    let is_opaque = |part: &&Atom| match part {
        Atom::Grounded(Grounded::Bindings(_)) => false,
        Atom::Grounded(value) => !value.is_durable(),
        _ => false,
    };
    distinct_parts(atom).find(is_opaque)
}

/// Whether two atoms have equal canonical bytes, when variables are compared by number.
pub(crate) fn same_form(left: &Atom, right: &Atom) -> bool {
    let (mut pairs, mut met) = (vec![(left, right)], Met::default());
    // It is no longer than what an atom takes in memory that was just made.
    while let Some((left, right)) = pairs.pop() {
        let is_same = match (left, right) {
            (Atom::Variable(left), Atom::Variable(right)) => left.id() == right.id(),
            (Atom::Symbol(left), Atom::Symbol(right)) => left == right,
            (Atom::Expression(left), Atom::Expression(right)) => {
                if !left.shares_storage(right) && met.is_new((left.place(), right.place())) {
                    pairs.extend(left.children().iter().zip(right.children()));
                }
                left.len() == right.len()
            }
            (Atom::Grounded(Grounded::Bindings(left)), Atom::Grounded(Grounded::Bindings(right))) => {
                let both = left.iter().zip(&**right);
                pairs.extend(both.clone().map(|(left, right)| (&left.1, &right.1)));
                left.len() == right.len() && both.clone().all(|(left, right)| left.0.id() == right.0.id())
            }
            (Atom::Grounded(Grounded::Bindings(_)), _) | (_, Atom::Grounded(Grounded::Bindings(_))) => false,
            (Atom::Grounded(_), Atom::Grounded(_)) => encode(left) == encode(right),
            _ => false,
        };
        if !is_same {
            return false;
        }
    }
    true
}

fn encode_value(value: &Grounded, bytes: &mut Vec<u8>) {
    match value {
        Grounded::Bool(false) => bytes.push(tag::FALSE),
        Grounded::Bool(true) => bytes.push(tag::TRUE),
        Grounded::Number(number) => encode_number(number, bytes),
        Grounded::Text(text) => encode_bytes(tag::TEXT, text.as_bytes(), bytes),
        Grounded::Host(value) => encode_bytes(tag::HOST, value.identity().as_bytes(), bytes),
        Grounded::Space(space) => encode_serial(tag::SPACE, space.serial(), bytes),
        Grounded::State(state) => encode_serial(tag::STATE, state.serial(), bytes),
        Grounded::Bindings(_) => unreachable!("bindings are written with the atoms in them"),
    }
}

fn encode_serial(tag: u8, serial: u64, bytes: &mut Vec<u8>) {
    bytes.push(tag);
    bytes.extend(serial.to_be_bytes());
}

fn encode_bytes(tag: u8, text: &[u8], bytes: &mut Vec<u8>) {
    let mut rest = text;
    bytes.reserve(rest.len() + 3);
    bytes.push(tag);
    while let Some(zero) = first_zero(rest) {
        bytes.extend_from_slice(&rest[..=zero]);
        bytes.push(0xFF);
        rest = &rest[zero + 1..];
    }
    bytes.extend_from_slice(rest);
    bytes.extend_from_slice(&[0x00, 0x01]);
}

fn encode_number(number: &Number, bytes: &mut Vec<u8>) {
    bytes.push(tag::NUMBER);
    match number {
        Number::Float(float) => encode_float(*float, bytes),
        Number::Int(word) => encode_word(*word, bytes),
        Number::Big(big) => encode_exact(big, 0, bytes),
    }
    bytes.push(if number.is_float() { tag::FLOAT } else { tag::INTEGER });
}

fn encode_float(float: f64, bytes: &mut Vec<u8>) {
    if float.is_nan() {
        bytes.push(tag::NAN);
        bytes.extend(float.to_bits().to_be_bytes());
    } else if float.is_infinite() {
        bytes.push(if float > 0.0 { tag::INFINITY } else { tag::NEGATIVE_INFINITY });
    } else if float == 0.0 {
        bytes.push(if float.is_sign_negative() { tag::NEGATIVE_ZERO } else { tag::ZERO });
    } else {
        let (mantissa, exponent) = decompose(float);
        encode_exact(&mantissa, exponent, bytes);
    }
}

/// A finite float as an integer times a power of two.
fn decompose(float: f64) -> (BigInt, i64) {
    let bits = float.to_bits();
    let biased = (bits >> 52 & 0x7FF) as i64;
    let fraction = bits & ((1 << 52) - 1);
    let (mantissa, exponent) = if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) };
    let magnitude = BigInt::from(mantissa);
    (if float.is_sign_negative() { -magnitude } else { magnitude }, exponent)
}

/// Encodes an integer as [`encode_exact`] does, without making a big one of it.
fn encode_word(word: i64, bytes: &mut Vec<u8>) {
    if word == 0 {
        return bytes.push(tag::ZERO);
    }
    bytes.push(if word < 0 { tag::NEGATIVE } else { tag::POSITIVE });
    let start = bytes.len();
    let magnitude = word.unsigned_abs();
    let exponent = u64::from(magnitude.ilog2());
    bytes.extend_from_slice(&(exponent ^ (1 << 63)).to_be_bytes());
    let aligned = (magnitude << magnitude.leading_zeros()).to_be_bytes();
    let length = 8 - (magnitude << magnitude.leading_zeros()).trailing_zeros() as usize / 8;
    let mut rest = &aligned[..length];
    while let Some(zero) = first_zero(rest) {
        bytes.extend_from_slice(&rest[..=zero]);
        bytes.push(0xFF);
        rest = &rest[zero + 1..];
    }
    bytes.extend_from_slice(rest);
    bytes.extend_from_slice(&[0x00, 0x01]);
    if word < 0 {
        bytes[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// Encodes `value` times two to the power of `shift`.
fn encode_exact(value: &BigInt, shift: i64, bytes: &mut Vec<u8>) {
    if value.sign() == Sign::NoSign {
        return bytes.push(tag::ZERO);
    }
    bytes.push(if value.sign() == Sign::Minus { tag::NEGATIVE } else { tag::POSITIVE });
    let start = bytes.len();
    let magnitude = value.magnitude();
    let exponent = magnitude.bits() as i64 - 1 + shift;
    bytes.extend(((exponent as u64) ^ (1 << 63)).to_be_bytes());
    for byte in left_aligned(magnitude) {
        bytes.push(byte);
        if byte == 0x00 {
            bytes.push(0xFF);
        }
    }
    bytes.extend([0x00, 0x01]);
    if value.sign() == Sign::Minus {
        bytes[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// The bits of a number from its leading one on, padded with zeros to whole bytes, without zero bytes at the end.
fn left_aligned(magnitude: &BigUint) -> Vec<u8> {
    let significant = magnitude >> magnitude.trailing_zeros().unwrap_or(0);
    let padding = (8 - significant.bits() % 8) % 8;
    (significant << padding).to_bytes_be()
}

/// The atom of canonical bytes. Variables come back as `$_0`, `$_1`, …; a value that only its own process knows
/// (a host value, space or state) is resolved by the caller.
///
/// # Errors
/// Says what is wrong and at which offset.
pub fn decode(bytes: &[u8], resolve: impl FnMut(&Unresolved<'_>) -> Option<Atom>) -> Result<Atom, DecodeError> {
    decode_naming(bytes, |number| Variable::new(&format!("_{number}")), resolve)
}

/// The atom of canonical bytes, its variables made by the caller from their numbers, which come in ascending order.
///
/// # Errors
/// Says what is wrong and at which offset.
pub fn decode_naming(
    bytes: &[u8],
    variable: impl FnMut(u32) -> Variable,
    mut resolve: impl FnMut(&Unresolved<'_>) -> Option<Atom>,
) -> Result<Atom, DecodeError> {
    let mut reader = Reader { bytes, offset: 0, variables: Vec::new(), variable };
    let mut open: Vec<Open> = Vec::new();
    loop {
        let offset = reader.offset;
        let done = match reader.item(&mut resolve)? {
            Item::Open(tag) => {
                open.push(Open { tag, offset, children: Vec::new() });
                continue;
            }
            Item::Close => open.pop().ok_or(DecodeError::UnknownTag { tag: tag::END, offset })?.close()?,
            Item::Atom(atom) => atom,
        };
        match open.last_mut() {
            Some(parent) => parent.children.push(done),
            None if reader.offset == bytes.len() => return Ok(done),
            None => return Err(DecodeError::Trailing { offset: reader.offset }),
        }
    }
}

/// An atom that has begun.
struct Open {
    tag: u8,
    offset: usize,
    children: Vec<Atom>,
}

impl Open {
    fn close(self) -> Result<Atom, DecodeError> {
        if self.tag == tag::EXPRESSION {
            return Ok(Atom::expression(self.children));
        }
        let damaged = DecodeError::NotCanonical { offset: self.offset };
        let mut solution = Solution::new();
        let mut children = self.children.into_iter();
        while let Some(variable) = children.next() {
            match (variable, children.next()) {
                (Atom::Variable(variable), Some(value)) => solution.push((variable, value)),
                _ => return Err(damaged),
            }
        }
        Ok(Atom::Grounded(Grounded::Bindings(Arc::new(solution))))
    }
}

/// The name of the symbol that canonical bytes begin with, after the tag of an expression: its head. `None` if there is none that
/// can be read as it lies.
pub fn head_symbol(bytes: &[u8]) -> Option<&str> {
    let [tag::EXPRESSION, tag::SYMBOL, rest @ ..] = bytes else { return None };
    plain_name(rest).map(|(name, _)| name)
}

/// A name that lies in its escaped form as it is, and how many bytes that form takes.
fn plain_name(bytes: &[u8]) -> Option<(&str, usize)> {
    let end = memchr::memchr(0x00, bytes)?;
    if bytes.get(end + 1) != Some(&0x01) {
        return None;
    }
    Some((std::str::from_utf8(&bytes[..end]).ok()?, end + 2))
}

/// A part of an atom that has no variables, spaces, states or values of a process in it.
pub(crate) enum RigidPart<'a> {
    /// An expression begins.
    Open,
    /// The expression that began last ends.
    Close,
    Symbol(&'a str),
    Integer(i64),
    /// A leaf of another kind.
    Leaf(Atom),
    /// Something that a rigid atom is not made of.
    Other,
}

/// Reads the canonical bytes of a rigid atom part by part.
pub(crate) struct RigidReader<'a>(Reader<'a, fn(u32) -> Variable>);

impl<'a> RigidReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let variable = |_| unreachable!("no variable is read");
        Self(Reader { bytes, offset: 0, variables: Vec::new(), variable })
    }

    /// Whether all bytes were read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.0.offset == self.0.bytes.len()
    }

    /// Where the next part begins.
    pub(crate) fn offset(&self) -> usize {
        self.0.offset
    }

    /// The next part.
    ///
    /// # Errors
    /// Says what is wrong and at which offset.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<RigidPart<'a>, DecodeError> {
        let reader = &mut self.0;
        let (bytes, offset) = (reader.bytes, reader.offset);
        let after = bytes.get(offset + 1..).unwrap_or(&[]);
        match bytes.get(offset).copied() {
            Some(tag::SYMBOL) if let Some((name, length)) = plain_name(after) => {
                reader.offset += 1 + length;
                return Ok(RigidPart::Symbol(name));
            }
            Some(tag::VARIABLE | tag::BINDINGS | tag::HOST | tag::SPACE | tag::STATE) => return Ok(RigidPart::Other),
            _ => {}
        }
        Ok(match reader.item(&mut |_| None)? {
            Item::Open(_) => RigidPart::Open,
            Item::Close => RigidPart::Close,
            Item::Atom(Atom::Grounded(Grounded::Number(Number::Int(value)))) => RigidPart::Integer(value),
            Item::Atom(atom) => RigidPart::Leaf(atom),
        })
    }
}

/// A value in canonical bytes that only the process it belongs to can give back.
#[derive(Debug, PartialEq, Eq)]
pub enum Unresolved<'a> {
    /// A host value, by identity.
    Host(&'a str),
    /// A space, by serial number.
    Space(u64),
    /// A state, by serial number.
    State(u64),
}

enum Item {
    Atom(Atom),
    Open(u8),
    Close,
}

struct Reader<'a, V> {
    bytes: &'a [u8],
    offset: usize,
    /// The variables met so far.
    variables: Vec<Variable>,
    variable: V,
}

impl<V: FnMut(u32) -> Variable> Reader<'_, V> {
    fn item(&mut self, resolve: &mut impl FnMut(&Unresolved<'_>) -> Option<Atom>) -> Result<Item, DecodeError> {
        let offset = self.offset;
        let unresolved = |kind| DecodeError::Unresolved { kind, offset };
        Ok(Item::Atom(match self.byte()? {
            tag::END => return Ok(Item::Close),
            tag @ (tag::EXPRESSION | tag::BINDINGS) => return Ok(Item::Open(tag)),
            tag::FALSE => Atom::from(false),
            tag::TRUE => Atom::from(true),
            tag::NUMBER => Atom::from(self.number()?),
            tag::TEXT => Atom::from(self.text()?.as_str()),
            tag::SYMBOL => Atom::symbol(&self.text()?),
            tag::VARIABLE => self.variable(offset)?,
            tag::HOST => resolve(&Unresolved::Host(&self.text()?)).ok_or_else(|| unresolved("host value"))?,
            tag::SPACE => resolve(&Unresolved::Space(self.serial()?)).ok_or_else(|| unresolved("space"))?,
            tag::STATE => resolve(&Unresolved::State(self.serial()?)).ok_or_else(|| unresolved("state"))?,
            tag => return Err(DecodeError::UnknownTag { tag, offset }),
        }))
    }

    fn byte(&mut self) -> Result<u8, DecodeError> {
        let byte = *self.bytes.get(self.offset).ok_or(DecodeError::Truncated { offset: self.offset })?;
        self.offset += 1;
        Ok(byte)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let rest = &self.bytes[self.offset..];
        let array = rest.first_chunk::<N>().ok_or(DecodeError::Truncated { offset: self.bytes.len() })?;
        self.offset += N;
        Ok(*array)
    }

    fn serial(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_be_bytes)
    }

    /// Escaped bytes up to their terminator, each passed through `invert`.
    fn escaped(&mut self, invert: u8) -> Result<Vec<u8>, DecodeError> {
        let mut found = Vec::new();
        loop {
            let rest = &self.bytes[self.offset..];
            let stop = memchr::memchr(invert, rest).ok_or(DecodeError::Truncated { offset: self.bytes.len() })?;
            found.extend_from_slice(&rest[..stop]);
            self.offset += stop + 1;
            match self.byte()? ^ invert {
                0xFF => found.push(invert),
                0x01 => break,
                tag => return Err(DecodeError::UnknownTag { tag, offset: self.offset - 1 }),
            }
        }
        if invert != 0 {
            found.iter_mut().for_each(|byte| *byte ^= invert);
        }
        Ok(found)
    }

    fn text(&mut self) -> Result<String, DecodeError> {
        let offset = self.offset;
        String::from_utf8(self.escaped(0)?).map_err(|_| DecodeError::NotUtf8 { offset })
    }

    /// A variable; the first of each number comes after those of all smaller numbers.
    fn variable(&mut self, offset: usize) -> Result<Atom, DecodeError> {
        let number = u32::from_be_bytes(self.array()?);
        match self.variables.get(number as usize) {
            Some(known) => return Ok(Atom::Variable(known.clone())),
            None if number as usize > self.variables.len() => return Err(DecodeError::NotCanonical { offset }),
            None => {}
        }
        let variable = (self.variable)(number);
        self.variables.push(variable.clone());
        Ok(Atom::Variable(variable))
    }

    /// A number; it must have the bytes that the encoder gives it.
    fn number(&mut self) -> Result<Number, DecodeError> {
        let offset = self.offset;
        let number = self.number_unchecked()?;
        let mut bytes = Vec::with_capacity(self.offset + 1 - offset);
        encode_number(&number, &mut bytes);
        if bytes[1..] == self.bytes[offset..self.offset] {
            Ok(number)
        } else {
            Err(DecodeError::NotCanonical { offset })
        }
    }

    fn number_unchecked(&mut self) -> Result<Number, DecodeError> {
        let offset = self.offset;
        let class = self.byte()?;
        let exact = match class {
            tag::NEGATIVE => Some(self.exact(0xFF)?),
            tag::POSITIVE => Some(self.exact(0x00)?),
            _ => None,
        };
        let special = match class {
            tag::NEGATIVE_INFINITY => f64::NEG_INFINITY,
            tag::NEGATIVE_ZERO => -0.0,
            tag::INFINITY => f64::INFINITY,
            tag::NAN => f64::from_bits(self.serial()?),
            tag::ZERO | tag::NEGATIVE | tag::POSITIVE => 0.0,
            tag => return Err(DecodeError::UnknownTag { tag, offset }),
        };
        match (self.byte()?, exact) {
            (tag::INTEGER, Some((value, shift))) => {
                let bits = shift.saturating_add(value.bits() as i64);
                if bits > INTEGER_BITS_MAX {
                    return Err(DecodeError::TooLarge { offset });
                }
                Ok(Number::from_big(value << shift.max(0) >> shift.saturating_neg().max(0)))
            }
            (tag::INTEGER, None) => Ok(Number::Int(0)),
            (tag::FLOAT, Some((value, shift))) => Ok(Number::Float(compose(&value, shift))),
            (tag::FLOAT, None) => Ok(Number::Float(special)),
            (tag, _) => Err(DecodeError::UnknownTag { tag, offset: self.offset - 1 }),
        }
    }

    /// An integer and the power of two it is multiplied with.
    fn exact(&mut self, invert: u8) -> Result<(BigInt, i64), DecodeError> {
        let mut exponent = self.array::<8>()?;
        exponent.iter_mut().for_each(|byte| *byte ^= invert);
        let exponent = (u64::from_be_bytes(exponent) ^ (1 << 63)) as i64;
        let aligned = BigUint::from_bytes_be(&self.escaped(invert)?);
        let shift = exponent.saturating_sub(aligned.bits() as i64 - 1);
        let magnitude = BigInt::from(aligned);
        Ok((if invert == 0 { magnitude } else { -magnitude }, shift))
    }
}

/// The float that is an integer of at most 53 significant bits times a power of two.
fn compose(value: &BigInt, shift: i64) -> f64 {
    let trailing = value.trailing_zeros().unwrap_or(0);
    let mut float = (value >> trailing).to_f64().unwrap_or(f64::NAN);
    let mut exponent = shift.saturating_add(trailing as i64);
    // Scaled in steps, since two to the power of the whole exponent may not be a float.
    while exponent != 0 && float.is_finite() && float != 0.0 {
        let step = exponent.clamp(-1000, 1000);
        float *= f64::from_bits(((1023 + step) as u64) << 52);
        exponent -= step;
    }
    float
}
