//! The name that was probably meant.

use std::cell::Cell;

/// The name nearest to a word among others: one slip away in a short word, two in a longer one. Of several equally near ones, the first
/// in the order of the alphabet. `son` and `sons`, `deliver` and `delivered`, `f1` and `f2` are two words and no slip.
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    nearest_of_all(word, names.filter(|name| !is_other_form(word, name)))
}

/// How many names are compared letter by letter for the words of one text: after that no more neighbours are looked for.
const COMPARED_MAX: usize = 1 << 18;

/// Names among which the neighbours of many words are looked for: a look at one tells mostly that it is too far away.
pub(super) struct Neighbours<'a> {
    /// Each with its letters as bits, several of which share one, and its length.
    names: Vec<(u64, usize, &'a str)>,
    compared: Cell<usize>,
}

impl<'a> Neighbours<'a> {
    pub(super) fn new(names: impl Iterator<Item = &'a str>) -> Self {
        let names = names.map(|name| (letters(name), name.chars().count(), name)).collect();
        Self { names, compared: Cell::new(0) }
    }

    /// As [`nearest`].
    pub(super) fn nearest(&self, word: &str) -> Option<&'a str> {
        let (own, length) = (letters(word), word.chars().count());
        let most = slips_max(length)?;
        // A letter that was changed makes two bits differ.
        let may_be_near = |(letters, other, _): &&(u64, usize, &str)| {
            other.abs_diff(length) <= most && (letters ^ own).count_ones() as usize <= 2 * most
        };
        let compared = |_: &&str| {
            self.compared.set(self.compared.get() + 1);
            self.compared.get() <= COMPARED_MAX
        };
        nearest(word, self.names.iter().filter(may_be_near).map(|(_, _, name)| *name).take_while(compared))
    }
}

fn letters(name: &str) -> u64 {
    name.chars().fold(0, |bits, letter| bits | 1 << (u32::from(letter) % u64::BITS))
}

/// How many slips a word of this length may have; `None` if it is too short to have neighbours.
fn slips_max(length: usize) -> Option<usize> {
    match length {
        0..=3 => None,
        4..=5 => Some(1),
        _ => Some(2),
    }
}

/// As [`nearest`], where no other names are possible: then `strings` is what `string` was meant to be.
pub(crate) fn nearest_of_all<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.chars().collect();
    let most = slips_max(word.len())?;
    let distance = |name: &'a str| {
        let name: Vec<char> = name.chars().collect();
        // One letter more or less is another word as often as a slip, when all that is left is short.
        let is_near = name.len().abs_diff(word.len()) <= most && name.len() > 2;
        is_near.then(|| slips(&word, &name)).filter(|slips| (1..=most).contains(slips))
    };
    let near = names.filter_map(|name| Some((distance(name)?, name)));
    near.min().map(|(_, name)| name)
}

/// Whether one word is the other with an ending, or with another number.
fn is_other_form(left: &str, right: &str) -> bool {
    let without_digits = |text: &'_ str| -> String { text.chars().filter(|one| !one.is_ascii_digit()).collect() };
    if left.contains(|one: char| one.is_ascii_digit()) && without_digits(left) == without_digits(right) {
        return true;
    }
    let ending = left.strip_prefix(right).or_else(|| right.strip_prefix(left));
    ending.is_some_and(|ending| !ending.is_empty() && ending.chars().all(char::is_alphabetic))
}

/// How many letters were left out, added, changed, or swapped with the next one.
fn slips(left: &[char], right: &[char]) -> usize {
    let width = right.len() + 1;
    let mut before_last: Vec<usize> = vec![0; width];
    let mut last: Vec<usize> = (0..width).collect();
    for row in 1..=left.len() {
        let mut current = vec![row; width];
        for column in 1..width {
            let is_same = left[row - 1] == right[column - 1];
            let changed = last[column - 1] + usize::from(!is_same);
            current[column] = changed.min(last[column] + 1).min(current[column - 1] + 1);
            let is_swapped =
                row > 1 && column > 1 && left[row - 1] == right[column - 2] && left[row - 2] == right[column - 1];
            if is_swapped {
                current[column] = current[column].min(before_last[column - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[width - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted() {
        let count =
            |left: &str, right: &str| slips(&left.chars().collect::<Vec<_>>(), &right.chars().collect::<Vec<_>>());
        for (left, right, slips) in
            [("", "", 0), ("mother", "mother", 0), ("mothr", "mother", 1), ("mohter", "mother", 1), ("abc", "xyz", 3)]
        {
            assert_eq!(count(left, right), slips, "{left} {right}");
            assert_eq!(count(right, left), slips, "{right} {left}");
        }
    }

    #[test]
    fn neighbours_are_the_nearest_names() {
        let names = ["mother", "mothre", "father", "fathers", "bother", "brother", "other", "no-one", "né", "mütter"];
        let neighbours = Neighbours::new(names.into_iter());
        for word in ["mothr", "mohter", "fater", "bothre", "mutter", "on-one", "x", "fathre", "mothers", "othre"] {
            assert_eq!(neighbours.nearest(word), nearest(word, names.into_iter()), "{word}");
        }
        assert_eq!(neighbours.nearest("mohter"), Some("mother"));
    }

    #[test]
    fn a_short_word_has_no_neighbours() {
        let names = ["f", "fo", "foo", "area", "println!", "deliver", "mother-of"];
        assert_eq!(nearest("g", names.into_iter()), None);
        assert_eq!(nearest("fob", names.into_iter()), None);
        assert_eq!(nearest("aera", names.into_iter()), Some("area"));
        assert_eq!(nearest("println", names.into_iter()), Some("println!"));
        assert_eq!(nearest("delivered", names.into_iter()), None, "that is another word");
        assert_eq!(nearest("mothr-of", names.into_iter()), Some("mother-of"));
        assert_eq!(nearest("mother-of", names.into_iter()), None, "it is the name itself");
        assert_eq!(nearest_of_all("delivers", names.into_iter()), Some("deliver"));
    }
}
