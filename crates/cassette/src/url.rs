//! Paths and queries in a form in which equal ones have equal bytes.

use percent_encoding::percent_decode;
use std::borrow::Cow;

/// A name of a query or a form, and its value if there is a `=`, both without escapes.
pub(crate) type QueryPair<'a> = (Cow<'a, [u8]>, Option<Cow<'a, [u8]>>);

/// The pairs of a query or of a form (`application/x-www-form-urlencoded`), in order. `a` is not `a=`.
pub(crate) fn pairs(query: &[u8]) -> impl Iterator<Item = QueryPair<'_>> {
    query.split(|&byte| byte == b'&').filter(|pair| !pair.is_empty()).map(|pair| {
        match pair.iter().position(|&byte| byte == b'=') {
            Some(at) => (unescaped(&pair[..at]), Some(unescaped(&pair[at + 1..]))),
            None => (unescaped(pair), None),
        }
    })
}

/// The pairs sorted by name. Values of one name stay in their order, since that may mean something.
pub(crate) fn sorted_pairs(query: &[u8]) -> Vec<QueryPair<'_>> {
    let mut sorted: Vec<_> = pairs(query).collect();
    sorted.sort_by(|one, other| one.0.cmp(&other.0));
    sorted
}

/// A piece of a query without escapes; `+` is a space there.
pub(crate) fn unescaped(piece: &[u8]) -> Cow<'_, [u8]> {
    if !piece.contains(&b'+') {
        return percent_decode(piece).into();
    }
    let spaced: Vec<u8> = piece.iter().map(|&byte| if byte == b'+' { b' ' } else { byte }).collect();
    Cow::Owned(percent_decode(&spaced).collect())
}

/// A path with escapes in the one form that RFC 3986, section 6.2.2, prefers: none where none is needed, else capitals.
/// `%2F` stays, since it is not a `/`.
pub(crate) fn normalized_path(path: &[u8]) -> Cow<'_, [u8]> {
    if !path.contains(&b'%') {
        return Cow::Borrowed(path);
    }
    let mut normalized = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, later)) = rest.split_first() {
        // A `%` without two digits after it stands for itself.
        let escape = rest.get(..3).filter(|_| byte == b'%');
        match escape.and_then(|escape| Some((escape, escaped_byte(escape)?))) {
            Some((escape, plain)) => {
                if is_unreserved(plain) {
                    normalized.push(plain);
                } else {
                    normalized.extend(escape.to_ascii_uppercase());
                }
                rest = &rest[3..];
            }
            None => {
                normalized.push(byte);
                rest = later;
            }
        }
    }
    Cow::Owned(normalized)
}

/// The byte that an escape of three bytes stands for.
fn escaped_byte(escape: &[u8]) -> Option<u8> {
    let mut plain = percent_decode(escape);
    let first = plain.next()?;
    plain.next().is_none().then_some(first)
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_mean_what_they_stand_for() {
        for (escaped, plain) in [("a%20b+c", "a b c"), ("%7e%7E", "~~"), ("100%", "100%"), ("%zz%4", "%zz%4"), ("", "")]
        {
            assert_eq!(*unescaped(escaped.as_bytes()), *plain.as_bytes(), "{escaped}");
        }
        for (path, normalized) in [("/%7euser/%2f%c3%a4", "/~user/%2F%C3%A4"), ("/a+b", "/a+b"), ("/%", "/%")] {
            assert_eq!(*normalized_path(path.as_bytes()), *normalized.as_bytes(), "{path}");
        }
    }

    #[test]
    fn values_of_one_name_stay_in_order() {
        let sorted = |query: &'static str| sorted_pairs(query.as_bytes());
        assert_eq!(sorted("b=1&a=2&b=0"), sorted("a=2&&b=1&b=0"));
        assert_ne!(sorted("b=1&b=0"), sorted("b=0&b=1"));
        assert_ne!(sorted("a"), sorted("a="));
    }
}
