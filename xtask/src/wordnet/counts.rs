//! How many synsets, words and senses there are, to be compared with the numbers published for WordNet 3.0.
//!
//! A word counts once a part of speech whatever its capitals; a sense is such a word in a synset. Source of the
//! published numbers: wnstats(7WN).

use std::collections::HashSet;

use super::database::{Database, PARTS};

/// Synsets, words and senses of one part of speech.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) synsets: usize,
    pub(super) words: usize,
    pub(super) senses: usize,
}

/// Nouns, verbs, adjectives, adverbs.
pub(super) type Counts = [Count; 4];

pub(super) const PUBLISHED: Counts = [
    Count { synsets: 82_115, words: 117_798, senses: 146_312 },
    Count { synsets: 13_767, words: 11_529, senses: 25_047 },
    Count { synsets: 18_156, words: 21_479, senses: 30_002 },
    Count { synsets: 3_621, words: 4_481, senses: 5_580 },
];

pub(super) fn count(database: &Database) -> Counts {
    PARTS.each_ref().map(|part| {
        let mut count = Count::default();
        let mut words = HashSet::new();
        for synset in database.synsets.iter().filter(|synset| synset.id.letter == part.letter) {
            let distinct: HashSet<String> = synset.words.iter().map(|word| word.text.to_lowercase()).collect();
            count.synsets += 1;
            count.senses += distinct.len();
            words.extend(distinct);
        }
        Count { words: words.len(), ..count }
    })
}

/// The counts as a table, each row marked if it is not what was published.
pub(super) fn table(counts: &Counts) -> String {
    let mut text = format!("{:<12}{:>9}{:>9}{:>9}\n", "", "synsets", "words", "senses");
    let names = ["nouns", "verbs", "adjectives", "adverbs"];
    for ((name, count), published) in names.iter().zip(counts).zip(&PUBLISHED) {
        let mark = if count == published { "as published" } else { "not as published" };
        text.push_str(&row(name, count));
        text.push_str(&format!("  {mark}\n"));
    }
    let sum = |part: fn(&Count) -> usize| counts.iter().map(part).sum();
    let total = Count { synsets: sum(|c| c.synsets), words: sum(|c| c.words), senses: sum(|c| c.senses) };
    text.push_str(&row("together", &total));
    text.push('\n');
    text
}

fn row(name: &str, count: &Count) -> String {
    format!("{name:<12}{:>9}{:>9}{:>9}", count.synsets, count.words, count.senses)
}

#[cfg(test)]
mod tests {
    use super::super::database::sample;
    use super::*;

    #[test]
    fn capitals_make_no_second_word() {
        let data = [
            ('n', "00000001 03 n 02 Earth 0 earth 0 000 | the planet"),
            ('n', "00000002 03 n 01 earth 1 000 | soil"),
            ('r', "00000001 02 r 01 down 0 000 | below"),
        ];
        let counts = count(&sample(&data, &[]));
        assert_eq!(counts[0], Count { synsets: 2, words: 1, senses: 2 });
        assert_eq!(counts[3], Count { synsets: 1, words: 1, senses: 1 });
        assert!(table(&counts).contains("nouns               2        1        2  not as published"));
    }

    #[test]
    fn the_published_numbers_add_up() {
        let text = table(&PUBLISHED);
        assert!(text.ends_with("together       117659   155287   206941\n"), "{text}");
    }
}
