//! Trees from JSON and as JSON.

use super::{DOCUMENT, NODE_BYTES, Node, ParseDocumentError, twice};
use crate::limits::{LimitExceeded, MemoryBudget, ReadOptions};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserializer, Serialize, Serializer};
use std::cell::RefCell;
use std::fmt;

/// Reads JSON. Nesting is limited by `serde_json`.
///
/// # Errors
/// What is wrong, with line and column; or that more would come of it than is allowed.
pub(crate) fn from_json(bytes: &[u8], options: ReadOptions) -> Result<Node, ParseDocumentError> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let state = RefCell::new((MemoryBudget::new(options.most()), None));
    let node = NodeReader { state: &state }.deserialize(&mut reader);
    if let (_, Some(excess)) = state.into_inner() {
        return Err(excess.into());
    }
    let node = node.map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    Ok(node)
}

/// A tree as JSON. Bytes become `{"base64": …}`.
pub(crate) fn to_json(node: &Node, is_indented: bool) -> Result<Vec<u8>, serde_json::Error> {
    if !is_indented {
        return serde_json::to_vec(node);
    }
    let mut json = serde_json::to_vec_pretty(node)?;
    json.push(b'\n');
    Ok(json)
}

/// Reads a node; counts what more may be made, and keeps that it was not enough.
#[derive(Clone, Copy)]
struct NodeReader<'c> {
    state: &'c RefCell<(MemoryBudget, Option<LimitExceeded>)>,
}

impl NodeReader<'_> {
    fn take<E: Error>(self, bytes: usize) -> Result<(), E> {
        let (room, excess) = &mut *self.state.borrow_mut();
        room.take(bytes, DOCUMENT).map_err(|found| {
            let error = E::custom(&found);
            *excess = Some(found);
            error
        })
    }
}

impl<'de> DeserializeSeed<'de> for NodeReader<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        self.take(NODE_BYTES)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NodeReader<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E: Error>(self, is_so: bool) -> Result<Node, E> {
        Ok(Node::Bool(is_so))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Node, E> {
        Ok(number.into())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Node, E> {
        Ok(number.into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Node, E> {
        Ok(number.into())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Node, E> {
        self.take(text.len())?;
        Ok(text.into())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Node, E> {
        self.take(text.len())?;
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = seq.next_element_seed(self)? {
            list.push(element);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut members = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            self.take(name.len())?;
            members.push((name, map.next_value_seed(self)?));
        }
        match twice(&members) {
            Some(name) => Err(A::Error::custom(format_args!("{name:?} is there twice; remove one of them"))),
            None => Ok(Node::Map(members)),
        }
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(is_so) => serializer.serialize_bool(*is_so),
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Plain(plain) => match serde_json::from_str::<serde_json::Number>(plain) {
                _ if self.is_null() => serializer.serialize_unit(),
                Ok(number) => number.serialize(serializer),
                Err(_) => match &**plain {
                    "true" => serializer.serialize_bool(true),
                    "false" => serializer.serialize_bool(false),
                    _ => serializer.serialize_str(plain),
                },
            },
            Self::Bytes(bytes) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("base64", &STANDARD.encode(bytes))?;
                map.end()
            }
            Self::List(list) => {
                let mut seq = serializer.serialize_seq(Some(list.len()))?;
                list.iter().try_for_each(|element| seq.serialize_element(element))?;
                seq.end()
            }
            Self::Map(members) => serializer.collect_map(members.iter().map(|(name, node)| (name, node))),
        }
    }
}
