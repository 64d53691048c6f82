//! Facts from synsets, written in the order of the dictionary.
//!
//! A group of lines a synset: the synset, its senses, its pointers. The file appears under its name only when it is
//! complete: it is written beside it and then renamed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::database::{Database, Id, Pointer, Synset};
use super::symbol;

/// What was written: the number of facts by head, and the bytes of the file.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) facts: BTreeMap<&'static str, usize>,
    pub(super) bytes: usize,
}

/// Writes all facts to `path`, making its folder if need be.
///
/// # Errors
/// The file cannot be written, or the dictionary points at something it does not hold.
pub(super) fn write(database: &Database, path: &Path) -> Result<Written, String> {
    let cannot = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(cannot)?;
    }
    let unfinished = path.with_extension("unfinished");
    let mut file = BufWriter::new(fs::File::create(&unfinished).map_err(cannot)?);
    let mut written = Written::default();
    let head = header(database);
    written.bytes += head.len();
    file.write_all(head.as_bytes()).map_err(cannot)?;
    for synset in &database.synsets {
        let group = group(database, synset, &mut written.facts)?;
        written.bytes += group.len();
        file.write_all(group.as_bytes()).map_err(cannot)?;
    }
    file.into_inner().map_err(|error| cannot(error.into_error()))?.sync_all().map_err(cannot)?;
    fs::rename(&unfinished, path).map_err(cannot)?;
    Ok(written)
}

/// What the facts mean, and WordNet's licence, as comments.
fn header(database: &Database) -> String {
    let title = "WordNet 3.0 as MeTTa facts, written by `cargo xtask wordnet`. Do not edit.";
    let about = include_str!("facts.txt").lines().map(str::to_owned);
    let lines = [title.to_owned(), String::new()].into_iter().chain(about);
    let lines = lines.chain([String::new()]).chain(database.licence.iter().cloned());
    let mut text: String = lines.map(|line| format!("; {line}").trim_end().to_owned() + "\n").collect();
    text.push('\n');
    text
}

/// The lines of one synset.
fn group(database: &Database, synset: &Synset, counts: &mut BTreeMap<&'static str, usize>) -> Result<String, String> {
    let id = id(synset.id);
    let first = symbol::word(&synset.words[0].text);
    let mut text = format!("(synset {id} {} {first} {})\n", kind(synset.kind), symbol::string(&synset.gloss));
    let mut count = |head| *counts.entry(head).or_default() += 1;
    count("synset");
    for word in &synset.words {
        let number = database.sense(&word.text, synset.id);
        let number = number.ok_or_else(|| format!("the index does not know {} {id}", word.text))?;
        text.push_str(&format!("(sense {} {id} {number})\n", symbol::word(&word.text)));
        count("sense");
        if let Some(marker) = &word.marker {
            text.push_str(&format!("(position {} {id} {})\n", symbol::word(&word.text), place(marker)));
            count("position");
        }
    }
    for pointer in &synset.pointers {
        if let Some(name) = name(synset.id, &pointer.symbol)? {
            text.push_str(&fact(database, synset, pointer, name)?);
            count(name);
        }
    }
    Ok(text)
}

fn fact(database: &Database, synset: &Synset, pointer: &Pointer, name: &str) -> Result<String, String> {
    let (from, to) = (id(synset.id), id(pointer.to));
    let dangling = || format!("{from} points at {to}, which the dictionary does not hold");
    let target = database.synset(pointer.to).ok_or_else(dangling)?;
    let (source_word, target_word) = pointer.words;
    if (source_word, target_word) == (0, 0) {
        return Ok(format!("({name} {from} {to})\n"));
    }
    let word = |synset: &Synset, number: usize| {
        let word = number.checked_sub(1).and_then(|place| synset.words.get(place));
        word.map(|word| symbol::word(&word.text)).ok_or_else(dangling)
    };
    Ok(format!("({name} {} {from} {} {to})\n", word(synset, source_word)?, word(target, target_word)?))
}

fn id(id: Id) -> String {
    format!("{}{:08}", id.letter, id.offset)
}

fn kind(letter: char) -> &'static str {
    match letter {
        'n' => "noun",
        'v' => "verb",
        'a' => "adjective",
        's' => "satellite",
        _ => "adverb",
    }
}

fn place(marker: &str) -> &'static str {
    match marker {
        "p" => "predicate",
        "a" => "prenominal",
        _ => "postnominal",
    }
}

/// The head for a pointer symbol of wninput(5WN); none for the inverse of another.
fn name(from: Id, symbol: &str) -> Result<Option<&'static str>, String> {
    Ok(Some(match symbol {
        "@" => "hypernym",
        "@i" => "instance-hypernym",
        "%p" => "part-meronym",
        "%m" => "member-meronym",
        "%s" => "substance-meronym",
        "!" => "antonym",
        "+" => "derivation",
        "\\" if from.letter == 'r' => "derived-from",
        "\\" => "pertainym",
        "<" => "participle",
        "=" => "attribute",
        "&" => "similar",
        "*" => "entailment",
        ">" => "cause",
        "^" => "also-see",
        "$" => "verb-group",
        ";c" => "domain-topic",
        ";r" => "domain-region",
        ";u" => "domain-usage",
        "~" | "~i" | "#p" | "#m" | "#s" | "-c" | "-r" | "-u" => return Ok(None),
        _ => {
            return Err(format!("{} has a pointer of an unknown kind, {symbol}", id(from)));
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::super::database::sample;
    use super::*;

    fn hot_and_cold() -> Database {
        let data = [
            ('a', "01247240 00 a 01 hot 0 002 ! 01251128 a 0101 & 01247910 a 0000 | used of \"heat\"  "),
            ('a', "01251128 00 a 01 cold 0 001 ! 01247240 a 0101 | having a low temperature  "),
            ('a', "01247910 00 s 01 baking(p) 1 001 & 01247240 a 0000 | as hot as if in an oven  "),
            ('n', "13742573 23 n 02 seven 0 7 0 001 ~ 13742573 n 0000 | a cardinal number  "),
        ];
        let index = [
            ('a', "hot a 1 2 ! & 1 1 01247240"),
            ('a', "cold a 1 1 ! 1 1 01251128"),
            ('a', "baking a 2 1 & 2 1 00000001 01247910"),
            ('n', "seven n 1 1 ~ 1 1 13742573"),
            ('n', "7 n 1 1 ~ 1 1 13742573"),
        ];
        sample(&data, &index)
    }

    fn groups(database: &Database) -> Vec<String> {
        let mut counts = BTreeMap::new();
        database.synsets.iter().map(|synset| group(database, synset, &mut counts).unwrap()).collect()
    }

    #[test]
    fn a_synset_becomes_a_group_of_facts() {
        let expected = "(synset a01247240 adjective hot \"used of \\\"heat\\\"\")\n(sense hot a01247240 1)\n\
                        (antonym hot a01247240 cold a01251128)\n(similar a01247240 a01247910)\n";
        assert_eq!(groups(&hot_and_cold())[0], expected);
    }

    #[test]
    fn markers_senses_and_numbers_are_written() {
        let groups = groups(&hot_and_cold());
        assert!(groups[2].starts_with("(synset a01247910 satellite baking "));
        assert!(groups[2].contains("(sense baking a01247910 2)\n(position baking a01247910 predicate)\n"));
        assert!(groups[3].ends_with("(sense seven n13742573 1)\n(sense \"7\" n13742573 1)\n"), "inverses are left out");
    }

    #[test]
    fn a_pointer_into_nothing_is_an_error() {
        let database =
            sample(&[('n', "00000001 03 n 01 a 0 001 @ 00000002 n 0000 | x")], &[('n', "a n 1 0 1 0 00000001")]);
        let error = group(&database, &database.synsets[0], &mut BTreeMap::new()).unwrap_err();
        assert_eq!(error, "n00000001 points at n00000002, which the dictionary does not hold");
        let odd = name(Id { letter: 'n', offset: 1 }, "?").unwrap_err();
        assert_eq!(odd, "n00000001 has a pointer of an unknown kind, ?");
    }

    #[test]
    fn the_header_explains_and_carries_the_licence() {
        let text = header(&hot_and_cold());
        assert!(text.lines().all(|line| line.is_empty() || line.starts_with(';')));
        assert!(text.contains("; A licence.\n") && text.contains("hypernym"));
    }
}
