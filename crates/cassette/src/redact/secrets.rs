//! Secrets that a user names, however they may be written: escaped for a URL, for JSON, for both, or not at all, each character
//! by itself, since what is escaped differs from one writer to the next.

use regex::bytes::Regex;

/// An expression that finds a secret.
///
/// # Errors
/// It is too long to be compiled.
pub(crate) fn expression(secret: &[u8]) -> Result<Regex, regex::Error> {
    let each: String = match std::str::from_utf8(secret) {
        Ok(text) => text.chars().map(of_char).collect(),
        Err(_) => secret.iter().map(|&byte| format!("(?:{})", of_bytes(&[byte]))).collect(),
    };
    Regex::new(&format!("(?-u){each}"))
}

fn of_char(char: char) -> String {
    let mut ways = vec![of_bytes(char.encode_utf8(&mut [0; 4]).as_bytes())];
    let units = char.encode_utf16(&mut [0; 2]).iter().map(|unit| format!(r"\\+u(?i:{unit:04x})")).collect::<String>();
    ways.push(units);
    ways.extend(
        match char {
            ' ' => Some(r"\+"),
            '"' => Some("\\\\+\""),
            '/' => Some(r"\\+/"),
            '\\' => Some(r"\\+"),
            '\n' => Some(r"\\+n"),
            '\r' => Some(r"\\+r"),
            '\t' => Some(r"\\+t"),
            '\x08' => Some(r"\\+b"),
            '\x0c' => Some(r"\\+f"),
            _ => None,
        }
        .map(str::to_owned),
    );
    // A longer way first: a backslash is also the beginning of an escape.
    ways.reverse();
    format!("(?:{})", ways.join("|"))
}

/// Bytes as they are, or each with the escape of a URL, which may be escaped again.
fn of_bytes(bytes: &[u8]) -> String {
    let plain: String = bytes.iter().map(|byte| format!(r"\x{byte:02x}")).collect();
    let in_url: String = bytes.iter().map(|byte| format!("%(?:25)*(?i:{byte:02x})")).collect();
    format!("{plain}|{in_url}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_however_it_is_written() {
        let secret = "p&s/w!o \"d\\é\n😀";
        let expression = expression(secret.as_bytes()).expect("it is short");
        let in_json = serde_json::to_string(secret).expect("it is a text");
        let in_json = &in_json[1..in_json.len() - 1];
        let twice = serde_json::to_string(in_json).expect("it is a text");
        for text in [
            secret,
            in_json,
            &twice[1..twice.len() - 1],
            "p%26s%2Fw!o%20%22d%5C%C3%A9%0A%F0%9F%98%80",
            "p%26s%2fw%21o+%22d%5c%c3%a9%0a%f0%9f%98%80",
            "p%2526s%252Fw!o%2520%2522d%255C%25C3%25A9%250A%25F0%259F%2598%2580",
            r#"p\u0026s\/w!o \u0022d\\\u00E9\n\ud83d\uDE00"#,
        ] {
            assert_eq!(expression.find(text.as_bytes()).map(|hit| hit.range()), Some(0..text.len()), "{text}");
        }
        assert!(!expression.is_match(b"p&s/w!o \"d\\e\n"));
        let bytes = self::expression(b"\xff\xfe[.]*").expect("it is short");
        assert!(bytes.is_match(b"a\xff\xfe[.]*") && bytes.is_match(b"%ff%FE[.]*") && !bytes.is_match(b"\xff\xfe..."));
    }
}
