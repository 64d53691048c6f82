//! With the feature `msgpack`.

use crate::forms::error::FormError;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(in crate::forms) fn write(value: &impl Serialize) -> Result<Vec<u8>, FormError> {
    rmp_serde::to_vec(value).map_err(|error| FormError::malformed("MessagePack", &error))
}

/// A value of all of these bytes.
pub(in crate::forms) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, FormError> {
    let mut reader = rmp_serde::Deserializer::new(std::io::Cursor::new(bytes));
    let value = T::deserialize(&mut reader).map_err(|error| FormError::malformed("MessagePack", &error))?;
    let is_all = reader.position() == bytes.len() as u64;
    if is_all { Ok(value) } else { Err(FormError::malformed("MessagePack", &"something follows its end")) }
}
