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

/// What makes an atom of each word that a pattern covers; `None` leaves the word to the tokens before.
pub type WordMaker = dyn Fn(&str) -> Option<Atom> + Send + Sync;

#[derive(Clone)]
enum Meaning {
    Atom(Atom),
    Constructor(Constructor),
    Maker(Arc<WordMaker>),
}

/// A token that covers every word of a form.
#[derive(Clone)]
struct Pattern {
    order: usize,
    regex: Regex,
    /// What such words begin with, if that is known: most words are told apart by their first character.
    beginnings: Option<&'static str>,
    meaning: Meaning,
}

impl Pattern {
    fn covers(&self, word: &str) -> bool {
        let may_cover = |beginnings: &str| word.chars().next().is_some_and(|first| beginnings.contains(first));
        self.beginnings.is_none_or(may_cover) && self.regex.is_match(word)
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
        let literals: [(&str, &str, Constructor); 4] = [
            (NUMBER, r"[-+]?[0-9]+", |word| Number::parse_integer(word).map(Atom::from)),
            (NUMBER, r"[-+]?[0-9]+\.[0-9]+", |word| Some(Atom::from(word.parse::<f64>().ok()?))),
            (NUMBER, r"[-+]?[0-9]+(\.[0-9]+)?[eE][-+]?[0-9]+", |word| Some(Atom::from(word.parse::<f64>().ok()?))),
            ("TF", "True|False", |word| Some(Atom::from(word == "True"))),
        ];
        for (beginnings, pattern, constructor) in literals {
            let regex = whole(pattern).expect("the patterns of literals are well formed");
            tokenizer.register_pattern(regex, Some(beginnings), Meaning::Constructor(constructor));
        }
        tokenizer
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
            self.register_pattern(regex, None, Meaning::Atom(atom.clone()));
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
            self.register_pattern(regex, None, Meaning::Maker(Arc::clone(&maker)));
        }
        self.registered += 1;
        self.names.insert(token.to_owned(), (self.registered, Meaning::Maker(maker)));
        Ok(())
    }

    fn register_pattern(&mut self, regex: Regex, beginnings: Option<&'static str>, meaning: Meaning) {
        self.registered += 1;
        self.patterns.push(Pattern { order: self.registered, regex, beginnings, meaning });
    }

    /// The same tokens, with other atoms as their meanings where `replace` gives one. Those of the tokenizer that it begins with stay.
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
        self.layers().flat_map(|tokens| tokens.patterns.iter().map(|pattern| pattern.beginnings))
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
        let name = self.names.get(word);
        let patterns = self.patterns.iter().rev().filter(|pattern| pattern.covers(word));
        let mut found: Vec<(usize, &Meaning)> = patterns.map(|pattern| (pattern.order, &pattern.meaning)).collect();
        found.extend(name.map(|(order, meaning)| (*order, meaning)));
        found.sort_unstable_by_key(|(order, _)| std::cmp::Reverse(*order));
        found.iter().find_map(|(_, meaning)| match meaning {
            Meaning::Atom(atom) => Some(atom.clone()),
            Meaning::Constructor(make) => make(word),
            Meaning::Maker(make) => make(word),
        })
    }
}

/// Whether a regular expression covers one word, itself. `-`, `&`, `#` and `~` mean something inside of brackets only.
fn covers_itself_alone(token: &str) -> bool {
    !token.contains(['\\', '.', '+', '*', '?', '(', ')', '|', '[', ']', '{', '}', '^', '$'])
}

/// The regular expression that must cover a word from end to end.
fn whole(pattern: &str) -> Result<Regex, regex::Error> {
    Regex::new(&format!("^(?:{pattern})$"))
}
