//! Paths and queries in a form in which equal ones have equal bytes.

use std::borrow::Cow;

/// A name of a query or a form, and its value if there is a `=`, both without escapes.
pub(crate) type Pair<'a> = (Cow<'a, [u8]>, Option<Cow<'a, [u8]>>);

/// The pairs of a query or of a form (`application/x-www-form-urlencoded`), in order. `a` is not `a=`.
pub(crate) fn pairs(query: &[u8]) -> impl Iterator<Item = Pair<'_>> {
    query.split(|&byte| byte == b'&').filter(|pair| !pair.is_empty()).map(|pair| {
        match pair.iter().position(|&byte| byte == b'=') {
            Some(at) => (unescaped(&pair[..at]), Some(unescaped(&pair[at + 1..]))),
            None => (unescaped(pair), None),
        }
    })
}

/// The pairs sorted by name. Values of one name stay in their order, since that may mean something.
pub(crate) fn sorted_pairs(query: &[u8]) -> Vec<Pair<'_>> {
    let mut sorted: Vec<_> = pairs(query).collect();
    sorted.sort_by(|one, other| one.0.cmp(&other.0));
    sorted
}

/// A piece of a query without escapes; `+` is a space there.
pub(crate) fn unescaped(piece: &[u8]) -> Cow<'_, [u8]> {
    if !piece.iter().any(|byte| matches!(byte, b'%' | b'+')) {
        return Cow::Borrowed(piece);
    }
    let mut plain = Vec::with_capacity(piece.len());
    let mut rest = piece;
    while let Some((&byte, later)) = rest.split_first() {
        rest = later;
        match (byte, escape(later)) {
            (b'%', Some(escaped)) => {
                plain.push(escaped);
                rest = &later[2..];
            }
            (b'+', _) => plain.push(b' '),
            _ => plain.push(byte),
        }
    }
    Cow::Owned(plain)
}

/// A path with escapes in the one form that RFC 3986, section 6.2.2, prefers: none where none is needed, else capitals.
/// `%2F` stays, since it is no `/`.
pub(crate) fn normalized_path(path: &[u8]) -> Cow<'_, [u8]> {
    if !path.contains(&b'%') {
        return Cow::Borrowed(path);
    }
    let mut normalized = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, later)) = rest.split_first() {
        rest = later;
        match (byte, escape(later)) {
            (b'%', Some(escaped)) => {
                if escaped.is_ascii_alphanumeric() || matches!(escaped, b'-' | b'.' | b'_' | b'~') {
                    normalized.push(escaped);
                } else {
                    normalized.push(b'%');
                    normalized.extend(later[..2].to_ascii_uppercase());
                }
                rest = &later[2..];
            }
            _ => normalized.push(byte),
        }
    }
    Cow::Owned(normalized)
}

/// What two hexadecimal digits stand for.
fn escape(digits: &[u8]) -> Option<u8> {
    let digit = |at: usize| digits.get(at).and_then(|&byte| char::from(byte).to_digit(16));
    Some((digit(0)? * 16 + digit(1)?) as u8)
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
