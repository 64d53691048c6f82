//! What words mean, looked up fast enough for millions of them.
//!
//! Nearly every word of a file of facts is a symbol or a small number. Which words may be anything else is known by their first byte
//! (for tokens with a pattern) or by a table of bits (for names); only those ask the tokenizer.

use crate::reader::read_atom;
use crate::syntax::{NodeId, SyntaxTree};
use crate::tokenizer::Tokenizer;
use space::Atom;

/// Bits of the table. A module knows a few hundred names, so a symbol that is none finds its bit set now and then.
const BITS: usize = 1 << 16;

/// The meanings of words, as a module has them.
pub struct Words {
    tokenizer: Tokenizer,
    /// Which words may be names: a bit for the length, the first and the last bytes.
    names: Box<[u64]>,
    /// Which bytes words with a meaning by pattern begin with.
    beginnings: [bool; 256],
    /// Whether digits mean integers.
    has_plain_numbers: bool,
}

/// What a word of a source stands for.
pub enum Meaning {
    /// The symbol of that name.
    Symbol,
    /// Another atom.
    Atom(Atom),
}

impl Words {
    pub(crate) fn of(tokenizer: &Tokenizer) -> Self {
        let mut names = vec![0; BITS / 64].into_boxed_slice();
        for name in tokenizer.names() {
            let bit = bit_of(name.as_bytes());
            names[bit / 64] |= 1 << (bit % 64);
        }
        let mut beginnings = [false; 256];
        for beginning in tokenizer.beginnings() {
            match beginning {
                Some(bytes) => bytes.bytes().for_each(|byte| beginnings[usize::from(byte)] = true),
                None => beginnings = [true; 256],
            }
        }
        let has_plain_numbers = tokenizer.has_plain_numbers();
        Self { tokenizer: tokenizer.clone(), names, beginnings, has_plain_numbers }
    }

    /// What a word of a source stands for.
    pub fn meaning(&self, word: &str) -> Meaning {
        let bytes = word.as_bytes();
        let Some(&first) = bytes.first() else { return Meaning::Symbol };
        let bit = bit_of(bytes);
        if !self.beginnings[usize::from(first)] && self.names[bit / 64] >> (bit % 64) & 1 == 0 {
            return Meaning::Symbol;
        }
        if self.has_plain_numbers
            && let Some(number) = small_integer(bytes)
        {
            return Meaning::Atom(Atom::from(number));
        }
        match self.tokenizer.atom(word) {
            Atom::Symbol(name) if name.as_str() == word => Meaning::Symbol,
            atom => Meaning::Atom(atom),
        }
    }

    /// The atom of a node of a tree.
    pub fn read_atom(&self, tree: &SyntaxTree, node: NodeId) -> Atom {
        read_atom(tree, node, &self.tokenizer)
    }

    /// Whether a text can stand in a source and means the symbol of that name. A word of more than a thousand digits cannot: what it means
    /// would take time with the square of its length to find out.
    pub fn is_symbol(&self, text: &str) -> bool {
        let is_one_word = !text.is_empty()
            && !text.starts_with(['$', '"', '!'])
            && !text.contains(|character: char| character.is_whitespace() || "();\0".contains(character));
        is_one_word && !is_long_integer(text) && matches!(self.meaning(text), Meaning::Symbol)
    }
}

fn is_long_integer(word: &str) -> bool {
    const DIGITS_MAX: usize = 1_000;
    word.len() > DIGITS_MAX && word.trim_start_matches(['-', '+']).bytes().all(|byte| byte.is_ascii_digit())
}

fn bit_of(word: &[u8]) -> usize {
    let last = |back: usize| word.len().checked_sub(back).map_or(0, |at| usize::from(word[at]));
    let first = usize::from(word.first().copied().unwrap_or_default());
    (word.len() * 0x9e37 + first * 0x85eb + last(1) * 0xc2b2 + last(2) * 0x27d4) % BITS
}

/// The integer that a few digits mean.
fn small_integer(word: &[u8]) -> Option<i64> {
    const DIGITS_MAX: usize = 18;
    let (is_negative, digits) = match word {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > DIGITS_MAX || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
    Some(if is_negative { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_what_the_tokenizer_says() {
        let mut tokenizer = Tokenizer::literals();
        tokenizer.register_name("edge", Atom::from(7));
        let words = Words::of(&tokenizer);
        let texts = [
            "a",
            "edge",
            "egde",
            "7",
            "-7",
            "+7",
            "007",
            "1.5",
            "1e3",
            "True",
            "Tree",
            "-",
            "1234567890123456789012",
            "λ",
        ];
        for text in texts {
            let expected = tokenizer.atom(text);
            let found = match words.meaning(text) {
                Meaning::Symbol => Atom::symbol(text),
                Meaning::Atom(atom) => atom,
            };
            assert!(found == expected && found.to_string() == expected.to_string(), "{text}");
        }
    }

    #[test]
    fn a_pattern_over_all_words_is_asked_each_time() {
        let mut tokenizer = Tokenizer::literals();
        tokenizer.register_token("[a-z]x", Atom::from(1)).unwrap();
        tokenizer.register_token("[0-9]", Atom::symbol("digit")).unwrap();
        let words = Words::of(&tokenizer);
        assert!(matches!(words.meaning("ax"), Meaning::Atom(_)));
        assert!(matches!(words.meaning("7"), Meaning::Atom(Atom::Symbol(_))));
        assert!(matches!(words.meaning("77"), Meaning::Atom(_)));
    }

    #[test]
    fn a_symbol_is_a_text_that_reads_back() {
        let words = Words::of(&Tokenizer::literals());
        for (text, is_symbol) in [
            ("Boston", true),
            ("New York", false),
            ("", false),
            ("$x", false),
            ("a;b", false),
            ("7", false),
            ("a(b", false),
            ("a\"b", true),
        ] {
            assert_eq!(words.is_symbol(text), is_symbol, "{text}");
        }
        // Beyond the longest integer, which no source can hold.
        let digits = "7".repeat(space::INTEGER_DIGITS_MAX + 1);
        assert!(!words.is_symbol(&digits) && !words.is_symbol(&format!("-{digits}")));
        assert!(words.is_symbol(&format!("{digits}x")));
    }
}
