//! JSON Web Tokens whose shape is kept: a program that takes one apart finds a header and claims, and no signature.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

/// A token with its header and its claims, and without its signature (RFC 7519, section 3); `claims` says what the claims become.
/// `None` if this is not one token and nothing else.
pub(crate) fn without_signature(token: &[u8], claims: impl FnOnce(&[u8]) -> Option<Vec<u8>>) -> Option<String> {
    let token = std::str::from_utf8(token).ok()?;
    let mut parts = token.split('.');
    let (Some(header), Some(said), Some(_), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return None;
    };
    object(header)?;
    let said = match claims(&object(said)?) {
        Some(changed) => URL_SAFE_NO_PAD.encode(changed),
        None => said.to_owned(),
    };
    Some(format!("{header}.{said}."))
}

/// The bytes of a part that is an object.
fn object(part: &str) -> Option<Vec<u8>> {
    let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
    serde_json::from_slice::<Map<String, Value>>(&bytes).is_ok().then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_and_claims_stay() {
        let token = format!("{}.{}.c2ln", URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#), URL_SAFE_NO_PAD.encode("{}"));
        let kept = without_signature(token.as_bytes(), |_| None);
        assert_eq!(kept.as_deref(), token.strip_suffix("c2ln"));
        let changed = without_signature(token.as_bytes(), |_| Some(b"{\"a\":1}".to_vec()));
        assert!(changed.is_some_and(|changed| changed.ends_with(".eyJhIjoxfQ.")));
        for other in ["eyJ.eyJ.x", "a.b", "e30.e30.x.y", "e30.W10.x"] {
            assert_eq!(without_signature(other.as_bytes(), |_| None), None, "{other}");
        }
    }
}
