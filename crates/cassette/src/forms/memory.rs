//! How much memory a document of our own forms takes once it is read, before it is read.
//!
//! Documents of others are read into trees, which count their nodes. JSON, MessagePack and text become exchanges at once, and a
//! header of three bytes becomes one of [`VALUE_BYTES`]. So their values are counted first, if the document is long enough to
//! matter; counting makes nothing.

use super::form::Form;
use crate::limits::{LimitExceeded, MemoryBudget, ReadOptions};
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use std::cell::RefCell;
use std::fmt;

/// What a value takes in memory at most, beside its text. A header, a note, a chunk and a frame are made of two values or more.
const VALUE_BYTES: usize = 48;

/// What a number takes at most: it becomes a byte of a body, in a list that grows by halves, or is a part of what its list or object is
/// counted as. No reader of these forms makes a tree of values, in which a number would take 32.
const NUMBER_BYTES: usize = 2;

/// The shortest value: a byte of MessagePack.
const VALUE_BYTES_MIN: usize = 1;

const WHAT: &str = "what the document becomes in memory";

/// Refuses a document from which more would be made than is allowed.
pub(super) fn check(bytes: &[u8], form: Form, options: ReadOptions) -> Result<(), LimitExceeded> {
    let most = options.most();
    let fits = |values: usize| values.saturating_mul(VALUE_BYTES).saturating_add(bytes.len()) <= most;
    if fits(bytes.len() / VALUE_BYTES_MIN) {
        return Ok(());
    }
    let mut room = MemoryBudget::new(most);
    room.take(bytes.len(), WHAT)?;
    let room = RefCell::new(room);
    let excess = RefCell::new(None);
    let count = ValueCounter { room: &room, excess: &excess };
    // The reader says what is wrong with it.
    match form {
        Form::Json => drop(count.deserialize(&mut serde_json::Deserializer::from_slice(bytes))),
        Form::MessagePack => count_msgpack(bytes, count),
        Form::Text => count.take(memchr::memchr_iter(b'\n', bytes).count().saturating_mul(VALUE_BYTES)),
        _ => {}
    }
    excess.into_inner().map_or(Ok(()), Err)
}

#[cfg(feature = "msgpack")]
fn count_msgpack(bytes: &[u8], count: ValueCounter<'_>) {
    drop(count.deserialize(&mut rmp_serde::Deserializer::from_read_ref(bytes)));
}

#[cfg(not(feature = "msgpack"))]
fn count_msgpack(_: &[u8], _: ValueCounter<'_>) {}

/// Counts values, and makes none.
#[derive(Clone, Copy)]
struct ValueCounter<'c> {
    room: &'c RefCell<MemoryBudget>,
    excess: &'c RefCell<Option<LimitExceeded>>,
}

impl ValueCounter<'_> {
    fn take(self, bytes: usize) {
        if let Err(excess) = self.room.borrow_mut().take(bytes, WHAT) {
            *self.excess.borrow_mut() = Some(excess);
        }
    }

    fn value<E: Error>(self) -> Result<(), E> {
        self.bytes(VALUE_BYTES)
    }

    fn number<E: Error>(self) -> Result<(), E> {
        self.bytes(NUMBER_BYTES)
    }

    fn bytes<E: Error>(self, bytes: usize) -> Result<(), E> {
        self.take(bytes);
        if self.excess.borrow().is_some() { Err(E::custom(WHAT)) } else { Ok(()) }
    }
}

impl<'de> DeserializeSeed<'de> for ValueCounter<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueCounter<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.value()
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.value()
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.number()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.number()
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.number()
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        self.value()
    }

    fn visit_bytes<E: Error>(self, _: &[u8]) -> Result<(), E> {
        self.value()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.value()?;
        while seq.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.value()?;
        while map.next_key_seed(self)?.is_some() {
            map.next_value_seed(self)?;
        }
        Ok(())
    }
}
