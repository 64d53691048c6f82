//! The name that was probably meant.

/// The name nearest to a word among others: one slip away in a short word, two in a longer one. Of several equally near ones, the first
/// in the order of the alphabet. `son` and `sons`, `deliver` and `delivered`, `f1` and `f2` are two words and no slip.
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    nearest_of_all(word, names.filter(|name| !is_other_form(word, name)))
}

/// The same where no other names are possible: then `strings` is what `string` was meant to be.
pub(crate) fn nearest_of_all<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.chars().collect();
    let most = match word.len() {
        0..=3 => return None,
        4..=5 => 1,
        _ => 2,
    };
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
