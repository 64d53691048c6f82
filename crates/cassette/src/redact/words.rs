//! Names whose values are secrets in some places and harmless in others: `token`, `code`.
//!
//! `token` is what a service gives a user, the next page of results, a coin, or a word that a model writes. So its value is a
//! secret if it looks like a credential: long, in the alphabet of one, with letters and digits. `code` is what OAuth gives for a
//! token, a postal code, or the number of an error. So its value is a secret only beside what OAuth sends with it.

/// Credentials are seldom shorter.
const CREDENTIAL_BYTES_MIN: usize = 16;
/// Codes of OAuth are seldom shorter.
const CODE_BYTES_MIN: usize = 8;

/// Names that come with a code of OAuth (RFC 6749, sections 4.1.2 and 4.1.3; RFC 7636; OpenID Connect).
const BESIDE_CODE: [&[u8]; 9] = [
    b"authuser",
    b"client_id",
    b"code_verifier",
    b"grant_type",
    b"iss",
    b"redirect_uri",
    b"scope",
    b"session_state",
    b"state",
];

/// Words in a path to which a browser is sent back with a code.
const PATHS_OF_CODE: [&[u8]; 6] = [b"auth", b"callback", b"login", b"redirect", b"signin", b"sso"];

/// How far from a code its neighbours are looked for, before it and after it.
const BESIDE_BYTES: usize = 4 << 10;

/// Whether a value looks like a credential.
pub(crate) fn is_credential(value: &[u8]) -> bool {
    let is_of_one = |byte: &u8| byte.is_ascii_alphanumeric() || b"._~+/=%:-".contains(byte);
    value.len() >= CREDENTIAL_BYTES_MIN
        && value.iter().all(is_of_one)
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
        && memchr::memmem::find(value, b"://").is_none()
}

/// Whether the parameter at a place in a text, or the field of a form, is a code of OAuth: one with others of OAuth beside it.
pub(crate) fn is_code_in_query(text: &[u8], name: usize, value: &std::ops::Range<usize>) -> bool {
    if !is_code(&text[value.clone()]) {
        return false;
    }
    let is_inside = |byte: &&u8| !byte.is_ascii_whitespace() && !b"\"'<>\\{}[]".contains(byte);
    let before = text[..name].iter().rev().take(BESIDE_BYTES).take_while(is_inside).count();
    let behind = text[value.end..].iter().take(BESIDE_BYTES).take_while(is_inside).count();
    let around = &text[name - before..value.end + behind];
    let path = around.split(|byte| b"?#".contains(byte)).next().filter(|path| path.len() < around.len());
    let names = around.split(|byte| b"?&#;".contains(byte));
    let names = names.filter_map(|pair| Some(&pair[..pair.iter().position(|&byte| byte == b'=')?]));
    let is_beside = names.into_iter().any(|name| BESIDE_CODE.contains(&name));
    is_beside || path.is_some_and(|path| PATHS_OF_CODE.iter().any(|word| has_word(path, word)))
}

/// Whether a member of JSON is a code of OAuth: one with others of OAuth beside it.
pub(crate) fn is_code_in_json(text: &[u8], name: usize, value: &std::ops::Range<usize>) -> bool {
    let from = name.saturating_sub(BESIDE_BYTES);
    let to = text.len().min(value.end + BESIDE_BYTES);
    // State and scope alone are in every other answer.
    let names: [&[u8]; 3] = [b"grant_type", b"redirect_uri", b"code_verifier"];
    let is_beside = |name: &[u8]| {
        memchr::memmem::find_iter(&text[from..to], name).any(|at| {
            let behind = text.get(from + at + name.len());
            at > 0 && text[from + at - 1] == b'"' && matches!(behind, Some(b'"' | b'\\'))
        })
    };
    is_code(&text[value.clone()]) && names.into_iter().any(is_beside)
}

fn is_code(value: &[u8]) -> bool {
    value.len() >= CODE_BYTES_MIN && value.iter().any(u8::is_ascii_digit)
}

fn has_word(path: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(&path.to_ascii_lowercase(), word).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_look_like_it() {
        for value in ["0123456789abcdef", "v1.public.eyJ0Ijox.c2ln", "550e8400-e29b-41d4-a716-446655440000"] {
            assert!(is_credential(value.as_bytes()), "{value}");
        }
        for value in
            ["USDT", " the", "................", "_configuration_of", "1234567890123456", "https://a.test/0123456"]
        {
            assert!(!is_credential(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn a_code_has_oauth_beside_it() {
        let in_query = |text: &str| {
            let name = text.find("code=").expect("there is one");
            let end = text[name..].find(['&', '"', ' ']).map_or(text.len(), |end| name + end);
            is_code_in_query(text.as_bytes(), name, &(name + 5..end))
        };
        for text in [
            "/cb?code=4/0AX4XfWh&state=x",
            "see https://a.test/oauth2/callback?code=4/0AX4XfWh now",
            "grant_type=authorization_code&code=4/0AX4XfWh&redirect_uri=x",
        ] {
            assert!(in_query(text), "{text}");
        }
        for text in ["/zip?code=10115-Berlin", "/x?code=404&state=x", "/error?code=E1234567 and state=x"] {
            assert!(!in_query(text), "{text}");
        }
    }
}
