//! How the parts of an exchange are written by serde, for JSON and MessagePack.
//!
//! 1. Where people read (JSON), fields have names, and those that say nothing are left out. Elsewhere (MessagePack) fields have
//!    places, and all of them are there: nothing moves because something is missing.
//! 2. Bytes are text where people read, if they are UTF-8, else `{"base64": …}`; elsewhere they are bytes.
//! 3. A body that is one chunk at time 0 is its bytes. Any other is `{"chunks": [[time, bytes], …]}`.

use crate::bytes::Bytes;
use crate::exchange::{Exchange, Note};
use crate::message::{Body, Header, HttpVersion, Informational, Request, Response};
use crate::websocket::{Opcode, WsFrame};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Error, MapAccess, Unexpected, Visitor};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// Writes fields: by name, without those that say nothing; or all of them by place.
struct FieldWriter<T> {
    target: T,
    is_named: bool,
}

impl<T: SerializeStruct> FieldWriter<T> {
    fn new<S: Serializer<SerializeStruct = T>>(
        serializer: S,
        name: &'static str,
        count: usize,
    ) -> Result<Self, S::Error> {
        let is_named = serializer.is_human_readable();
        Ok(Self { target: serializer.serialize_struct(name, count)?, is_named })
    }

    fn put<V: Serialize>(&mut self, name: &'static str, value: &V) -> Result<(), T::Error> {
        self.target.serialize_field(name, value)
    }

    fn put_unless<V: Serialize>(&mut self, says_nothing: bool, name: &'static str, value: &V) -> Result<(), T::Error> {
        if self.is_named && says_nothing { self.target.skip_field(name) } else { self.put(name, value) }
    }

    fn put_list<V: Serialize>(&mut self, name: &'static str, list: &Vec<V>) -> Result<(), T::Error> {
        self.put_unless(list.is_empty(), name, list)
    }

    fn put_option<V: Serialize>(&mut self, name: &'static str, value: &Option<V>) -> Result<(), T::Error> {
        self.put_unless(value.is_none(), name, value)
    }
}

impl Serialize for Exchange<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = FieldWriter::new(serializer, "Exchange", 9)?;
        fields.put("number", &self.number)?;
        fields.put("started_ns", &self.started_ns)?;
        fields.put_option("ended_us", &self.ended_us)?;
        fields.put("request", &self.request)?;
        fields.put_list("informational", &self.informational)?;
        fields.put_option("response", &self.response)?;
        fields.put_option("frames", &self.frames)?;
        fields.put_unless(self.outcome == crate::Outcome::Complete, "outcome", &self.outcome)?;
        fields.put_list("notes", &self.notes)?;
        fields.target.end()
    }
}

impl Serialize for Request<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = FieldWriter::new(serializer, "Request", 9)?;
        fields.put("method", &self.method)?;
        fields.put("scheme", &self.scheme)?;
        fields.put("host", &self.host)?;
        fields.put("port", &self.port)?;
        fields.put("target", &self.target)?;
        fields.put_unless(self.version == HttpVersion::Http11, "version", &self.version)?;
        fields.put_list("headers", &self.headers)?;
        fields.put_option("body", &self.body)?;
        fields.put_list("trailers", &self.trailers)?;
        fields.target.end()
    }
}

impl Serialize for Response<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = FieldWriter::new(serializer, "Response", 7)?;
        fields.put_unless(self.at_us == 0, "at_us", &self.at_us)?;
        fields.put("status", &self.status)?;
        fields.put_unless(self.reason.is_empty(), "reason", &self.reason)?;
        fields.put_unless(self.version == HttpVersion::Http11, "version", &self.version)?;
        fields.put_list("headers", &self.headers)?;
        fields.put_option("body", &self.body)?;
        fields.put_list("trailers", &self.trailers)?;
        fields.target.end()
    }
}

impl Serialize for Informational<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = FieldWriter::new(serializer, "Informational", 4)?;
        fields.put_unless(self.at_us == 0, "at_us", &self.at_us)?;
        fields.put("status", &self.status)?;
        fields.put_unless(self.reason.is_empty(), "reason", &self.reason)?;
        fields.put_list("headers", &self.headers)?;
        fields.target.end()
    }
}

impl Serialize for WsFrame<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = FieldWriter::new(serializer, "WsFrame", 6)?;
        fields.put("at_us", &self.at_us)?;
        fields.put("direction", &self.direction)?;
        fields.put("opcode", &self.opcode)?;
        fields.put_unless(self.is_final, "is_final", &self.is_final)?;
        fields.put_unless(self.reserved == 0, "reserved", &self.reserved)?;
        fields.put("payload", &self.payload)?;
        fields.target.end()
    }
}

/// A name and a value: `["Accept", "text/plain"]`.
impl Serialize for Header<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.name, &self.value).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Header<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (name, value) = Deserialize::deserialize(deserializer)?;
        Ok(Self { name, value })
    }
}

impl Serialize for Note<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.name, &self.value).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Note<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (name, value) = Deserialize::deserialize(deserializer)?;
        Ok(Self { name, value })
    }
}

pub(super) const VERSIONS: [(HttpVersion, &str); 5] = [
    (HttpVersion::Http09, "HTTP/0.9"),
    (HttpVersion::Http10, "HTTP/1.0"),
    (HttpVersion::Http11, "HTTP/1.1"),
    (HttpVersion::Http2, "HTTP/2"),
    (HttpVersion::Http3, "HTTP/3"),
];

impl Serialize for HttpVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let index = VERSIONS.iter().position(|(version, _)| version == self).expect("every version has a name");
        if serializer.is_human_readable() {
            return serializer.serialize_str(VERSIONS[index].1);
        }
        serializer.serialize_u8(index as u8)
    }
}

impl<'de> Deserialize<'de> for HttpVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let name = <Cow<'_, str>>::deserialize(deserializer)?;
            let known = VERSIONS.iter().find(|(_, known)| *known == name);
            return known
                .map(|(version, _)| *version)
                .ok_or_else(|| D::Error::invalid_value(Unexpected::Str(&name), &"a version such as HTTP/1.1"));
        }
        let number = u8::deserialize(deserializer)?;
        let known = VERSIONS.get(usize::from(number)).map(|(version, _)| *version);
        known.ok_or_else(|| D::Error::invalid_value(Unexpected::Unsigned(number.into()), &"a number below 5"))
    }
}

impl Serialize for Opcode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.number())
    }
}

impl<'de> Deserialize<'de> for Opcode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u8::deserialize(deserializer)?;
        let unexpected = Unexpected::Unsigned(number.into());
        Self::new(number).ok_or_else(|| D::Error::invalid_value(unexpected, &"an opcode below 16"))
    }
}

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return serializer.serialize_bytes(self);
        }
        match self.as_text() {
            Some(text) => serializer.serialize_str(text),
            None => {
                let mut fields = serializer.serialize_struct("Bytes", 1)?;
                fields.serialize_field("base64", &STANDARD.encode(self))?;
                fields.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Bytes<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_any(BytesVisitor)
        } else {
            deserializer.deserialize_byte_buf(BytesVisitor)
        }
    }
}

struct BytesVisitor;

impl<'de> Visitor<'de> for BytesVisitor {
    type Value = Bytes<'static>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, bytes or {\"base64\": …}")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(text.to_owned().into())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
        Ok(text.into())
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(bytes.to_vec().into())
    }

    fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Self::Value, E> {
        Ok(bytes.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        match map.next_entry::<Cow<'_, str>, Cow<'_, str>>()? {
            Some((name, text)) if name == "base64" => decode_base64(&text),
            _ => Err(A::Error::custom("the bytes are neither a text nor {\"base64\": …}")),
        }
    }
}

fn decode_base64<E: Error>(text: &str) -> Result<Bytes<'static>, E> {
    STANDARD.decode(text).map(Bytes::from).map_err(|error| E::custom(format_args!("no base64: {error}")))
}

/// The chunks of a body that is not simply its bytes.
#[derive(Serialize)]
struct ChunksOut<'b> {
    chunks: Vec<(u64, Bytes<'b>)>,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if matches!(self.chunks(), [only] if only.at_us == 0) {
            return self.bytes().serialize(serializer);
        }
        let chunks = self.pieces().map(|(at_us, piece)| (at_us, Bytes::from(piece))).collect();
        ChunksOut { chunks }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Body<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BodyVisitor)
    }
}

struct BodyVisitor;

impl BodyVisitor {
    fn of(chunks: Vec<(u64, Bytes<'static>)>) -> Body<'static> {
        let mut body = Body::default();
        chunks.iter().for_each(|(at_us, bytes)| body.push(*at_us, bytes));
        body
    }
}

impl<'de> Visitor<'de> for BodyVisitor {
    type Value = Body<'static>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, bytes, {\"base64\": …} or {\"chunks\": …}")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Body::new(0, text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
        Ok(Body::new(0, text))
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Body::new(0, bytes.to_vec()))
    }

    fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Self::Value, E> {
        Ok(Body::new(0, bytes))
    }

    /// As MessagePack has a structure of one field.
    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let chunks = seq.next_element()?.ok_or_else(|| A::Error::custom("a body without its chunks"))?;
        Ok(Self::of(chunks))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let name = map.next_key::<Cow<'_, str>>()?;
        match name.as_deref() {
            Some("chunks") => map.next_value().map(Self::of),
            Some("base64") => decode_base64(&map.next_value::<Cow<'_, str>>()?).map(|bytes| Body::new(0, bytes)),
            _ => Err(A::Error::custom("a body is neither a text nor {\"base64\": …} nor {\"chunks\": …}")),
        }
    }
}
