//! Where a long line of text goes on in another one.
//!
//! Lines are broken where something new begins, so that an edit in one place moves no break in another: before a member or an
//! element of JSON, after `\n` in a string of JSON, between tags, between fields of a form. What is long still is cut at a space.

/// Lines up to this length are not broken.
const LINE_BYTES: usize = 100;
/// The pieces of a line that nothing tells apart.
const PIECE_BYTES: usize = 160;

/// The pieces of a line, none of them empty; one piece if the line is.
pub(super) fn pieces(line: &[u8]) -> Vec<&[u8]> {
    if line.len() <= LINE_BYTES {
        return vec![line];
    }
    let is_form = !line.iter().any(|byte| b" {<\"".contains(byte));
    let mut pieces = Vec::new();
    let mut begin = 0;
    for at in 1..line.len() {
        if is_break(line, at, is_form) {
            cut(&line[begin..at], &mut pieces);
            begin = at;
        }
    }
    cut(&line[begin..], &mut pieces);
    pieces
}

/// Whether something new begins here.
fn is_break(line: &[u8], at: usize, is_form: bool) -> bool {
    match (line[at - 1], line[at]) {
        (b'>', b'<') => true,
        (b'&', _) => is_form,
        (b'n', _) => line[..at - 1].ends_with(b"\\") && !line[..at - 1].ends_with(b"\\\\"),
        (b',' | b'{' | b'[', b'"' | b'{' | b'[') => true,
        (b',' | b'{' | b'[', b' ') => {
            let next = line[at..].iter().find(|&&byte| byte != b' ');
            next.is_some_and(|next| b"\"{[".contains(next))
        }
        _ => false,
    }
}

fn cut<'l>(mut rest: &'l [u8], pieces: &mut Vec<&'l [u8]>) {
    while rest.len() > PIECE_BYTES + PIECE_BYTES / 4 {
        let space = rest[PIECE_BYTES / 2..PIECE_BYTES].iter().rposition(|&byte| byte == b' ');
        let is_inside = |at: usize| rest[at] & 0xC0 == 0x80;
        let character = (PIECE_BYTES - 3..=PIECE_BYTES).rev().find(|&at| !is_inside(at));
        // A space begins the next piece: at the end of this one it would have to be escaped.
        let at = space.map_or(character.unwrap_or(PIECE_BYTES), |space| space + PIECE_BYTES / 2);
        let (piece, behind) = rest.split_at(at);
        pieces.push(piece);
        rest = behind;
    }
    pieces.push(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(line: &str) -> Vec<&str> {
        let pieces = pieces(line.as_bytes());
        assert_eq!(pieces.concat(), line.as_bytes());
        pieces.into_iter().map(|piece| std::str::from_utf8(piece).unwrap()).collect()
    }

    #[test]
    fn a_member_is_a_line() {
        let long = "x".repeat(90);
        let json = format!(r#"{{"a":"{long}","b": [1,2,3], "c":[{{"d":"e\nf"}},{{"g":null}}]}}"#);
        let a = format!(r#""a":"{long}","#);
        assert_eq!(
            wrapped(&json),
            ["{", &a, r#""b": [1,2,3],"#, r#" "c":["#, "{", r#""d":"e\n"#, r#"f"},"#, "{", r#""g":null}]}"#]
        );
        assert_eq!(wrapped(r#"{"a":1,"b":2}"#), [r#"{"a":1,"b":2}"#]);
        let html = format!("<p>{long}</p><p>b</p>");
        assert_eq!(wrapped(&html), [&format!("<p>{long}</p>"), "<p>b</p>"]);
        let form = format!("a={long}&b=cccccccccc&d=");
        assert_eq!(wrapped(&form), [&format!("a={long}&"), "b=cccccccccc&", "d="]);
    }

    #[test]
    fn what_has_no_parts_is_cut() {
        let text = "é".repeat(500);
        assert!(wrapped(&text).iter().all(|piece| piece.len() <= 200 && !piece.is_empty()));
        let words = "word ".repeat(100);
        assert!(wrapped(&words).iter().skip(1).all(|piece| piece.starts_with(' ')));
        assert_eq!(wrapped(""), [""]);
        assert!(pieces(&[0x80; 1000]).iter().all(|piece| piece.len() <= 200));
    }
}
