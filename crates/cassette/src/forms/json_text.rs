//! Any value of a document, as JSON in one line. A tree of it would take many times its text in memory: 32 bytes for a number of one
//! byte, and more than 600 for an object with one member.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The text of a value; its members are in the order in which they came.
pub(super) struct JsonText(pub(super) String);

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = Vec::new();
        TextWriter(&mut text).deserialize(deserializer)?;
        String::from_utf8(text).map(Self).map_err(D::Error::custom)
    }
}

/// Writes each value behind what is there.
struct TextWriter<'t>(&'t mut Vec<u8>);

impl TextWriter<'_> {
    fn write<E: Error>(self, value: impl Serialize) -> Result<(), E> {
        serde_json::to_writer(self.0, &value).map_err(E::custom)
    }
}

impl<'de> DeserializeSeed<'de> for TextWriter<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TextWriter<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON has")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.write(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.write(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.write(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.write(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.write(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.write(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Self(text) = self;
        text.push(b'[');
        let first = text.len();
        while seq.next_element_seed(Following { text, first })?.is_some() {}
        text.push(b']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(text) = self;
        text.push(b'{');
        let first = text.len();
        while map.next_key_seed(MemberName(Following { text, first }))?.is_some() {
            text.push(b':');
            map.next_value_seed(TextWriter(text))?;
        }
        text.push(b'}');
        Ok(())
    }
}

/// A value in a list that began at `first`: a comma is before it, unless it is the first one.
struct Following<'t> {
    text: &'t mut Vec<u8>,
    first: usize,
}

impl<'t> Following<'t> {
    fn after_comma(self) -> TextWriter<'t> {
        if self.text.len() > self.first {
            self.text.push(b',');
        }
        TextWriter(self.text)
    }
}

impl<'de> DeserializeSeed<'de> for Following<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        // What has no more elements never comes here.
        self.after_comma().deserialize(deserializer)
    }
}

/// The name of a member, which is text.
struct MemberName<'t>(Following<'t>);

impl<'de> DeserializeSeed<'de> for MemberName<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for MemberName<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<(), E> {
        self.0.after_comma().write(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> String {
        serde_json::from_str::<JsonText>(json).unwrap().0
    }

    #[test]
    fn a_value_becomes_one_line_in_its_order() {
        let json = r#"{"z":[0,-1,1.5,[],{}],"a\n\"":"\u0001 é","":{"b":null,"a":[true,false]}}"#;
        assert_eq!(text(json), json);
        assert_eq!(
            text(" { \"b\" : [ 1 , { \"a\" : 18446744073709551615 } ] } "),
            "{\"b\":[1,{\"a\":18446744073709551615}]}"
        );
        assert!(serde_json::from_str::<JsonText>("[1,").is_err());
    }
}
