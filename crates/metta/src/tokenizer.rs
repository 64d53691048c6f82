//! The tokenizer: which words of a source are grounded atoms.
//!
//! A word is a symbol unless a token covers all of it. Tokens are tried from the latest registration to the first,
//! so that `bind!` can give a word another meaning. Most tokens are plain names and are found by hashing; only
//! tokens with a pattern are matched one by one.

use regex::Regex;
use rustc_hash::FxHashMap;
use space::{Atom, Number};
use std::sync::Arc;

type Constructor = fn(&str) -> Option<Atom>;

/// Whether a word is a literal of a kind.
type IsLiteral = fn(&str) -> bool;

/// What makes an atom of each word that a pattern covers; `None` leaves the word to the tokens before.
pub type WordMaker = dyn Fn(&str) -> Option<Atom> + Send + Sync;

#[derive(Clone)]
enum Meaning {
    Atom(Atom),
    Constructor(Constructor),
    Maker(Arc<WordMaker>),
}

impl Meaning {
    /// The atom of a word that it covers, if it makes one.
    fn of(&self, word: &str) -> Option<Atom> {
        match self {
            Self::Atom(atom) => Some(atom.clone()),
            Self::Constructor(make) => make(word),
            Self::Maker(make) => make(word),
        }
    }
}

/// A token that covers every word of a form.
#[derive(Clone)]
struct Pattern {
    order: usize,
    form: Form,
    meaning: Meaning,
}

/// Which words a token covers.
#[derive(Clone)]
enum Form {
    /// Literals: what such words begin with, and whether a word that does is one.
    Literal(&'static str, IsLiteral),
    Regex(Regex),
}

impl Form {
    fn covers(&self, word: &str) -> bool {
        match self {
            // They are ASCII.
            Self::Literal(beginnings, is_literal) => {
                word.bytes().next().is_some_and(|first| beginnings.as_bytes().contains(&first)) && is_literal(word)
            }
            Self::Regex(regex) => regex.is_match(word),
        }
    }
}

/// The tokens of a module: those of the standard library, then its own.
#[derive(Clone, Default)]
pub struct Tokenizer {
    base: Option<Arc<Tokenizer>>,
    names: FxHashMap<String, (usize, Meaning)>,
    patterns: Vec<Pattern>,
    registered: usize,
}

impl Tokenizer {
    /// A tokenizer that begins with the tokens of another.
    pub fn over(base: Arc<Tokenizer>) -> Self {
        Self { registered: base.registered, base: Some(base), ..Self::default() }
    }

    /// The tokenizer of the words that are numbers or truth values.
    pub fn literals() -> Self {
        let mut tokenizer = Self::default();
        const NUMBER: &str = "+-0123456789";
        let literals: [(&str, IsLiteral, Constructor); 3] = [
            (NUMBER, is_integer, |word| Number::parse_integer(word).map(Atom::from)),
            (NUMBER, is_float, |word| Some(Atom::from(word.parse::<f64>().ok()?))),
            ("TF", |word| matches!(word, "True" | "False"), |word| Some(Atom::from(word == "True"))),
        ];
        for (beginnings, is_literal, constructor) in literals {
            tokenizer.register_pattern(Form::Literal(beginnings, is_literal), Meaning::Constructor(constructor));
        }
        tokenizer
    }

    /// Whether the host makes what some words mean.
    pub(crate) fn has_makers(&self) -> bool {
        let is_maker = |meaning: &Meaning| matches!(meaning, Meaning::Maker(_));
        self.names.values().any(|(_, meaning)| is_maker(meaning))
            || self.patterns.iter().any(|pattern| is_maker(&pattern.meaning))
            || self.base.as_ref().is_some_and(|base| base.has_makers())
    }

    /// Makes a word mean an atom.
    pub fn register_name(&mut self, name: &str, atom: Atom) {
        self.registered += 1;
        self.names.insert(name.to_owned(), (self.registered, Meaning::Atom(atom)));
    }

    /// Makes every word that a regular expression covers mean an atom, as `bind!` does.
    ///
    /// # Errors
    /// When the text is not a regular expression; the message says why.
    pub fn register_token(&mut self, token: &str, atom: Atom) -> Result<(), String> {
        if !covers_itself_alone(token) {
            let regex = whole(token).map_err(|error| error.to_string())?;
            self.register_pattern(Form::Regex(regex), Meaning::Atom(atom.clone()));
        }
        self.register_name(token, atom);
        Ok(())
    }

    /// Makes every word that a regular expression covers mean what the host makes of it.
    ///
    /// # Errors
    /// When the text is not a regular expression; the message says why.
    pub fn register_maker(&mut self, token: &str, maker: Arc<WordMaker>) -> Result<(), String> {
        if !covers_itself_alone(token) {
            let regex = whole(token).map_err(|error| error.to_string())?;
            self.register_pattern(Form::Regex(regex), Meaning::Maker(Arc::clone(&maker)));
        }
        self.registered += 1;
        self.names.insert(token.to_owned(), (self.registered, Meaning::Maker(maker)));
        Ok(())
    }

    fn register_pattern(&mut self, form: Form, meaning: Meaning) {
        self.registered += 1;
        self.patterns.push(Pattern { order: self.registered, form, meaning });
    }

    /// A copy with other atoms as the meanings of tokens where `replace` gives one. Those of the tokenizer that it begins with stay.
    pub(crate) fn with_meanings(&self, replace: impl Fn(&Atom) -> Option<Atom>) -> Self {
        let mut tokens = self.clone();
        let of_names = tokens.names.values_mut().map(|(_, meaning)| meaning);
        let meanings = of_names.chain(tokens.patterns.iter_mut().map(|pattern| &mut pattern.meaning));
        for meaning in meanings {
            if let Meaning::Atom(atom) = meaning
                && let Some(other) = replace(atom)
            {
                *atom = other;
            }
        }
        tokens
    }

    /// Forgets a plain name, as tests do to see what depends on it.
    pub fn forget(&mut self, name: &str) {
        self.names.remove(name);
    }

    /// All plain names, those of the tokenizer that it begins with included.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.layers().flat_map(|tokens| tokens.names.keys().map(String::as_str))
    }

    /// What the words that each pattern covers begin with, if that is known.
    pub(crate) fn beginnings(&self) -> impl Iterator<Item = Option<&'static str>> {
        let beginnings = |pattern: &Pattern| match pattern.form {
            Form::Literal(beginnings, _) => Some(beginnings),
            Form::Regex(_) => None,
        };
        self.layers().flat_map(move |tokens| tokens.patterns.iter().map(beginnings))
    }

    /// Whether a word of digits is an integer, whatever digits they are.
    pub(crate) fn has_plain_numbers(&self) -> bool {
        let is_literal = |pattern: &Pattern| matches!(pattern.meaning, Meaning::Constructor(_));
        let is_number = |name: &str| name.ends_with(|last: char| last.is_ascii_digit());
        self.layers().any(|tokens| !tokens.patterns.is_empty())
            && self.layers().all(|tokens| tokens.patterns.iter().all(is_literal))
            && !self.names().any(is_number)
    }

    fn layers(&self) -> impl Iterator<Item = &Tokenizer> {
        std::iter::successors(Some(self), |tokens| tokens.base.as_deref())
    }

    /// The atom that a word of a source stands for.
    pub fn atom(&self, word: &str) -> Atom {
        let mut tokenizer = Some(self);
        while let Some(tokens) = tokenizer {
            if let Some(atom) = tokens.own_atom(word) {
                return atom;
            }
            tokenizer = tokens.base.as_deref();
        }
        Atom::symbol(word)
    }

    fn own_atom(&self, word: &str) -> Option<Atom> {
        let mut name = self.names.get(word);
        for pattern in self.patterns.iter().rev() {
            if let Some((_, meaning)) = name.take_if(|(order, _)| *order > pattern.order)
                && let Some(atom) = meaning.of(word)
            {
                return Some(atom);
            }
            if pattern.form.covers(word)
                && let Some(atom) = pattern.meaning.of(word)
            {
                return Some(atom);
            }
        }
        name.and_then(|(_, meaning)| meaning.of(word))
    }
}

/// Whether a word is digits with or without a sign: `[-+]?[0-9]+`.
fn is_integer(word: &str) -> bool {
    after_digits(after_sign(word)) == Some("")
}

/// Whether a word is a number with a fraction, an exponent or both: `[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?`, and no integer.
fn is_float(word: &str) -> bool {
    let Some(mut rest) = after_digits(after_sign(word)).filter(|rest| !rest.is_empty()) else { return false };
    if let Some(fraction) = rest.strip_prefix('.') {
        let Some(after) = after_digits(fraction) else { return false };
        rest = after;
    }
    match rest.strip_prefix(['e', 'E']) {
        Some(exponent) => after_digits(after_sign(exponent)) == Some(""),
        None => rest.is_empty(),
    }
}

fn after_sign(text: &str) -> &str {
    text.strip_prefix(['+', '-']).unwrap_or(text)
}

/// What comes after the digits that a text begins with, if it begins with one.
fn after_digits(text: &str) -> Option<&str> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then(|| &text[digits..])
}

/// Whether a regular expression covers one word, itself. `-`, `&`, `#` and `~` mean something inside of brackets only.
fn covers_itself_alone(token: &str) -> bool {
    !token.contains(['\\', '.', '+', '*', '?', '(', ')', '|', '[', ']', '{', '}', '^', '$'])
}

/// The regular expression that must cover a word from end to end.
fn whole(pattern: &str) -> Result<Regex, regex::Error> {
    Regex::new(&format!("^(?:{pattern})$"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_number_characters_are_those_that_the_patterns_cover() {
        let integer = whole(r"[-+]?[0-9]+").expect("it is well formed");
        let float = whole(r"[-+]?[0-9]+(\.[0-9]+|(\.[0-9]+)?[eE][-+]?[0-9]+)").expect("it is well formed");
        let letters = ["", "+", "-", ".", "e", "E", "0", "7", "x"];
        let mut words = vec![String::new()];
        for _ in 0..6 {
            words = words.iter().flat_map(|word| letters.iter().map(move |letter| format!("{word}{letter}"))).collect();
            words.sort_unstable();
            words.dedup();
        }
        assert!(words.len() > 100_000);
        for word in &words {
            assert_eq!(is_integer(word), integer.is_match(word), "{word:?}");
            assert_eq!(is_float(word), float.is_match(word), "{word:?}");
        }
    }
}
