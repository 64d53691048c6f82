//! The files of a WordNet dictionary, read into memory.
//!
//! `data.POS` has a line a synset (format: wndb(5WN)):
//!
//! ```text
//! offset lex_filenum ss_type w_cnt word lex_id [word lex_id …] p_cnt [symbol offset pos source/target …] [frames] | gloss
//! ```
//!
//! `w_cnt` and the two halves of `source/target` are hexadecimal; `0000` there means a pointer between whole synsets,
//! otherwise between word number `source` of this one and word number `target` of the other. An adjective may end in a
//! marker: `asleep(p)`. `index.POS` has a line a lower-case word, ending in the offsets of its senses, commonest first.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// The parts of speech, each with the letter of its ids, its name in file names, and its place in the written file.
pub(super) const PARTS: [Part; 4] = [
    Part { letter: 'n', file: "noun" },
    Part { letter: 'v', file: "verb" },
    Part { letter: 'a', file: "adj" },
    Part { letter: 'r', file: "adv" },
];

/// All files that are read.
pub(super) const FILES: [&str; 8] =
    ["data.noun", "data.verb", "data.adj", "data.adv", "index.noun", "index.verb", "index.adj", "index.adv"];

#[derive(Debug)]
pub(super) struct Part {
    pub(super) letter: char,
    file: &'static str,
}

/// Letter of the part of speech and offset in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Id {
    pub(super) letter: char,
    pub(super) offset: u32,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Synset {
    pub(super) id: Id,
    /// `n`, `v`, `a`, `s` (satellite adjective) or `r`.
    pub(super) kind: char,
    pub(super) words: Vec<Word>,
    pub(super) pointers: Vec<Pointer>,
    pub(super) gloss: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// `p`, `a` or `ip`, for an adjective that may stand in one place only.
    pub(super) marker: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pointer {
    pub(super) symbol: String,
    pub(super) to: Id,
    /// Which word of the source and of the target, from 1; both 0 for the synsets as wholes.
    pub(super) words: (usize, usize),
}

#[derive(Debug, Default)]
pub(super) struct Database {
    /// In the order of [`PARTS`], then of the files.
    pub(super) synsets: Vec<Synset>,
    places: HashMap<Id, usize>,
    /// Sense numbers by part of speech, lower-case word and offset.
    senses: HashMap<(String, Id), usize>,
    /// The comment lines that head `data.noun`: WordNet's licence.
    pub(super) licence: Vec<String>,
}

impl Database {
    pub(super) fn synset(&self, id: Id) -> Option<&Synset> {
        self.places.get(&id).map(|place| &self.synsets[*place])
    }

    /// The number of the sense that `word` has in synset `id`, from 1.
    pub(super) fn sense(&self, word: &str, id: Id) -> Option<usize> {
        self.senses.get(&(word.to_lowercase(), id)).copied()
    }

    fn add(&mut self, synset: Synset) {
        self.places.insert(synset.id, self.synsets.len());
        self.synsets.push(synset);
    }
}

/// Reads the dictionary in `folder`.
///
/// # Errors
/// A file cannot be read or a line does not have the form above; the message names file and line.
pub(super) fn read(folder: &Path) -> Result<Database, String> {
    let mut database = Database::default();
    for part in &PARTS {
        let name = format!("data.{}", part.file);
        for (line, text) in lines(folder, &name)?.iter().enumerate() {
            if let Some(licence) = text.strip_prefix("  ") {
                if part.letter == 'n' {
                    database.licence.push(unnumbered(licence).to_owned());
                }
                continue;
            }
            let synset = synset(part.letter, text);
            database.add(synset.ok_or_else(|| unexpected(&name, line))?);
        }
        let name = format!("index.{}", part.file);
        for (line, text) in lines(folder, &name)?.iter().enumerate().filter(|(_, text)| !text.starts_with("  ")) {
            let (word, offsets) = senses(text).ok_or_else(|| unexpected(&name, line))?;
            for (number, offset) in offsets.into_iter().enumerate() {
                database.senses.insert((word.to_owned(), Id { letter: part.letter, offset }), number + 1);
            }
        }
    }
    Ok(database)
}

/// A licence line without its number.
fn unnumbered(line: &str) -> &str {
    let text = line.trim_start_matches(|c: char| c.is_ascii_digit());
    text.trim()
}

fn lines(folder: &Path, name: &str) -> Result<Vec<String>, String> {
    let path = folder.join(name);
    let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(text.lines().map(str::to_owned).collect())
}

fn unexpected(name: &str, line: usize) -> String {
    format!("{name}:{}: not a line of a WordNet 3.0 dictionary", line + 1)
}

/// A line of `data.POS`.
fn synset(letter: char, line: &str) -> Option<Synset> {
    let (fields, gloss) = line.split_once(" | ")?;
    let mut fields = fields.split(' ');
    let offset = fields.next()?.parse().ok()?;
    let kind = fields.nth(1)?.chars().next()?;
    let count = usize::from_str_radix(fields.next()?, 16).ok()?;
    let words = (0..count).map(|_| word(&mut fields)).collect::<Option<_>>()?;
    let count: usize = fields.next()?.parse().ok()?;
    let pointers = (0..count).map(|_| pointer(&mut fields)).collect::<Option<_>>()?;
    Some(Synset { id: Id { letter, offset }, kind, words, pointers, gloss: gloss.trim_end().to_owned() })
}

fn word<'a>(fields: &mut impl Iterator<Item = &'a str>) -> Option<Word> {
    let (written, _lex_id) = (fields.next()?, fields.next()?);
    for marker in ["p", "a", "ip"] {
        if let Some(text) = written.strip_suffix(&format!("({marker})")) {
            return Some(Word { text: text.to_owned(), marker: Some(marker.to_owned()) });
        }
    }
    Some(Word { text: written.to_owned(), marker: None })
}

fn pointer<'a>(fields: &mut impl Iterator<Item = &'a str>) -> Option<Pointer> {
    let symbol = fields.next()?.to_owned();
    let offset = fields.next()?.parse().ok()?;
    let letter = fields.next()?.chars().next()?;
    let (source, target) = fields.next()?.split_at_checked(2)?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    Some(Pointer { symbol, to: Id { letter, offset }, words: (number(source)?, number(target)?) })
}

/// A line of `index.POS`: the word and the offsets of its senses.
fn senses(line: &str) -> Option<(&str, Vec<u32>)> {
    let mut fields = line.split_whitespace();
    let word = fields.next()?;
    let count: usize = fields.nth(1)?.parse().ok()?;
    let rest: Vec<&str> = fields.collect();
    let offsets = rest.get(rest.len().checked_sub(count)?..)?;
    Some((word, offsets.iter().map(|offset| offset.parse().ok()).collect::<Option<_>>()?))
}

/// A dictionary for tests: `lines` of `data.*` by letter, and sense numbers.
#[cfg(test)]
pub(super) fn sample(data: &[(char, &str)], index: &[(char, &str)]) -> Database {
    let mut database = Database { licence: vec!["A licence.".to_owned()], ..Database::default() };
    for (letter, line) in data {
        database.add(synset(*letter, line).unwrap());
    }
    for (letter, line) in index {
        let (word, offsets) = senses(line).unwrap();
        for (number, offset) in offsets.into_iter().enumerate() {
            database.senses.insert((word.to_owned(), Id { letter: *letter, offset }), number + 1);
        }
    }
    database
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_synset_line_is_read() {
        let line = "00095873 00 s 02 asleep(p) 0 at_rest 2 002 & 00095280 a 0000 ! 09994943 n 0102 | dead; \"he is\"  ";
        let synset = synset('a', line).unwrap();
        assert_eq!((synset.id, synset.kind), (Id { letter: 'a', offset: 95_873 }, 's'));
        assert_eq!(synset.words[0], Word { text: "asleep".to_owned(), marker: Some("p".to_owned()) });
        assert_eq!(synset.words[1], Word { text: "at_rest".to_owned(), marker: None });
        let to = Id { letter: 'n', offset: 9_994_943 };
        assert_eq!(synset.pointers[1], Pointer { symbol: "!".to_owned(), to, words: (1, 2) });
        assert_eq!(synset.gloss, "dead; \"he is\"");
    }

    #[test]
    fn a_verb_line_has_frames_and_hexadecimal_counts() {
        let words = "w 0 ".repeat(10);
        let synset = synset('v', &format!("00001740 29 v 0a {words}000 02 + 02 00 + 08 00 | draw air")).unwrap();
        assert_eq!((synset.words.len(), synset.pointers.len()), (10, 0));
    }

    #[test]
    fn an_index_line_gives_senses_in_order() {
        let line = "dog n 2 5 @ ~ #m #p %p 2 1 02084071 10114209  ";
        assert_eq!(senses(line), Some(("dog", vec![2_084_071, 10_114_209])));
    }

    #[test]
    fn licence_lines_lose_their_numbers() {
        assert_eq!(unnumbered("14 WordNet 3.0 Copyright 2006  "), "WordNet 3.0 Copyright 2006");
    }

    #[test]
    fn a_line_of_another_form_is_refused() {
        for line in ["", "00001740", "00001740 03 n 01 entity 0 001 @ | x", "x 03 n 01 entity 0 000 | x"] {
            assert_eq!(synset('n', line), None, "{line:?}");
        }
        assert_eq!(senses("dog n x"), None);
        assert_eq!(unexpected("data.noun", 29), "data.noun:30: not a line of a WordNet 3.0 dictionary");
    }
}
