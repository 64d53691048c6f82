//! Without the feature `msgpack`: it says so.

use crate::forms::error::FormError;
use serde::Serialize;
use serde::de::DeserializeOwned;

const OFF: &str = "this program was built without the feature `msgpack`";

pub(in crate::forms) fn write(_: &impl Serialize) -> Result<Vec<u8>, FormError> {
    Err(FormError::malformed("MessagePack", &OFF))
}

pub(in crate::forms) fn read<T: DeserializeOwned>(_: &[u8]) -> Result<T, FormError> {
    Err(FormError::malformed("MessagePack", &OFF))
}
