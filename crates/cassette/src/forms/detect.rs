//! Which form a document in JSON has.

use super::form::Form;
use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use std::fmt;

/// The form that JSON has, by the names at its top, as far as it can be read.
pub(super) fn form_of_json(bytes: &[u8]) -> Form {
    let mut names = Vec::new();
    // The reader says what is wrong farther on.
    let _ = serde_json::Deserializer::from_slice(bytes).deserialize_map(NameCollector(&mut names));
    let has = |name: &str| names.iter().any(|other| other == name);
    // The cassettes of the Magneto-Serge system have a name.
    if has("log") && !has("format") {
        Form::Har
    } else if has("http_interactions") || has("interactions") && !has("name") && !has("format") {
        Form::VcrJson
    } else {
        Form::Json
    }
}

/// Takes down the names of a map.
struct NameCollector<'n>(&'n mut Vec<String>);

impl<'de> Visitor<'de> for NameCollector<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key()? {
            self.0.push(name);
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}
