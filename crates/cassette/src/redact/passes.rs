//! Looking through a text until nothing more is found.
//!
//! What stands in the place of a secret may show another one: a quote is gone that a string began with, a number of characters is
//! smaller, a value is next to a name. So redacting twice is redacting once only if the first time goes on until it is done.
//!
//! 1. A text is looked through; so is what comes of it; and so on, until nothing is found.
//! 2. What is found later is said of the text as it came. Where it touches what is replaced already, both are one.
//! 3. Each pass replaces more of the text. One that needs more than [`PASSES_MAX`] passes was made for that, and is replaced as a whole.
//!
//! Where nothing is found, this costs one pass; where something is, two as a rule.

use super::text::PLACEHOLDER;
use super::{Replacement, TextFindings, replaced};
use std::ops::Range;

/// More passes are not made: one that finds something and one that finds nothing are enough for what people and programs write.
const PASSES_MAX: usize = 16;

const OF_A_CHAIN: &str = "secrets that show each other without end";

/// What is found in a text and in what comes of it. `look` is told where a place stands in what it looks at.
pub(crate) fn until_done<'r>(
    text: &[u8],
    from: usize,
    look: impl Fn(&[u8], usize) -> TextFindings<'r>,
) -> TextFindings<'r> {
    let mut looked = look(text, from);
    for _ in 1..PASSES_MAX {
        if looked.replacements.is_empty() {
            return looked;
        }
        let moved = moved(from, &looked.replacements);
        let again = look(&replaced(text, &looked.replacements), moved);
        let is_done = again.replacements.is_empty();
        looked = both(looked, again);
        if is_done {
            return looked;
        }
    }
    let all = Replacement { range: 0..text.len(), placeholder: PLACEHOLDER.into(), what: OF_A_CHAIN };
    TextFindings { replacements: vec![all], kept: Vec::new(), ..looked }
}

/// Where a place stands after replacements; at the beginning of one that goes over it.
fn moved(from: usize, replacements: &[Replacement<'_>]) -> usize {
    let before = replacements.iter().filter(|replacement| replacement.range.start < from);
    let after = before.fold(from as isize, |at, Replacement { range, placeholder, .. }| {
        at + placeholder.len() as isize - (range.end.min(from) - range.start) as isize
    });
    after as usize
}

/// What becomes of a value, until nothing more does.
pub(crate) fn until_same(value: &[u8], become_of: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let mut value = value.to_vec();
    for _ in 0..PASSES_MAX {
        let next = become_of(&value);
        if next == value {
            return value;
        }
        value = next;
    }
    PLACEHOLDER.into()
}

/// What was found in a text, and then in what came of it, as places in the text.
fn both<'r>(looked: TextFindings<'r>, again: TextFindings<'r>) -> TextFindings<'r> {
    let places = PlaceholderMap::of(&looked.replacements);
    let TextFindings { mut replacements, mut members, mut held, arguments, stays, .. } = looked;
    let later = again.held.from.map(|from| places.before(&(from..from)).start);
    held.from = held.from.into_iter().chain(later).min();
    held.cut.extend(again.held.cut);
    members.extend(again.members.into_iter().map(|member| places.before(&member)));
    let kept = again.kept.into_iter().map(|(range, what)| (places.before(&range), what)).collect();
    let later = again.replacements.into_iter();
    replacements.extend(later.map(|later| Replacement { range: places.before(&later.range), ..later }));
    TextFindings { replacements: joined(replacements), kept, members, arguments, stays, held }
}

/// Replacements in order; where some overlap, one that has all of them.
fn joined(mut replacements: Vec<Replacement<'_>>) -> Vec<Replacement<'_>> {
    replacements.sort_by_key(|replacement| replacement.range.start);
    let mut apart: Vec<Replacement<'_>> = Vec::with_capacity(replacements.len());
    for next in replacements {
        match apart.last_mut().filter(|last| next.range.start < last.range.end) {
            Some(last) => {
                last.range.end = last.range.end.max(next.range.end);
                last.placeholder = PLACEHOLDER.into();
            }
            None => apart.push(next),
        }
    }
    apart
}

/// Where placeholders stand, and what they stand for.
struct PlaceholderMap(Vec<(Range<usize>, Range<usize>)>);

impl PlaceholderMap {
    fn of(replacements: &[Replacement<'_>]) -> Self {
        let (mut before, mut after) = (0, 0);
        let place = |replacement: &Replacement<'_>| {
            let begin = after + replacement.range.start - before;
            before = replacement.range.end;
            after = begin + replacement.placeholder.len();
            (begin..after, replacement.range.clone())
        };
        Self(replacements.iter().map(place).collect())
    }

    /// A place in the text as it was: all of what a placeholder stands for, if a part of it is in it.
    fn before(&self, place: &Range<usize>) -> Range<usize> {
        let moved = |at: usize, count: usize| {
            let last = count.checked_sub(1).map(|last| &self.0[last]);
            last.map_or(at, |(after, before)| at - after.end + before.end)
        };
        let begun = self.0.partition_point(|(after, _)| after.end <= place.start);
        let begin = self.0.get(begun).filter(|(after, _)| after.start < place.start);
        let ended = self.0.partition_point(|(after, _)| after.end < place.end);
        let end = self.0.get(ended).filter(|(after, _)| after.start < place.end);
        begin.map_or_else(|| moved(place.start, begun), |(_, before)| before.start)
            ..end.map_or_else(|| moved(place.end, ended), |(_, before)| before.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look_for(wanted: &'static [u8]) -> impl Fn(&[u8]) -> TextFindings<'static> {
        move |text| {
            let at = memchr::memmem::find(text, wanted);
            let range = at.map(|at| at..at + wanted.len());
            let hit = |range| Replacement { range, placeholder: "-".into(), what: "a" };
            TextFindings { replacements: range.map(hit).into_iter().collect(), ..TextFindings::default() }
        }
    }

    fn ranges(text: &[u8], wanted: &'static [u8]) -> Vec<Range<usize>> {
        until_done(text, 0, |text, _| look_for(wanted)(text)).replacements.into_iter().map(|hit| hit.range).collect()
    }

    #[test]
    fn later_finds_are_places_in_the_text_as_it_came() {
        assert_eq!(ranges(b"..abc..abc.abc", b"abc"), [2..5, 7..10, 11..14]);
        assert!(ranges(b"none", b"abc").is_empty());
    }

    #[test]
    fn a_find_that_touches_a_placeholder_has_all_it_stands_for() {
        let looked = TextFindings {
            replacements: vec![
                Replacement { range: 2..5, placeholder: "12345".into(), what: "a" },
                Replacement { range: 8..9, placeholder: "1".into(), what: "a" },
            ],
            ..TextFindings::default()
        };
        let places = PlaceholderMap::of(&looked.replacements);
        for (after, before) in [(0..2, 0..2), (1..3, 1..5), (6..7, 2..5), (7..8, 5..6), (4..11, 2..9), (10..12, 8..10)]
        {
            assert_eq!(places.before(&after), before, "{after:?}");
        }
        let later = Replacement { range: 6..8, placeholder: "0".into(), what: "b" };
        let again = TextFindings { replacements: vec![later], ..TextFindings::default() };
        let both = both(looked, again).replacements;
        assert_eq!(both.iter().map(|hit| hit.range.clone()).collect::<Vec<_>>(), [2..6, 8..9]);
        assert_eq!((&*both[0].placeholder, &*both[1].placeholder), (PLACEHOLDER, "1"));
    }

    #[test]
    fn a_text_that_is_never_done_is_replaced_as_a_whole() {
        assert_eq!(ranges(&b"abc".repeat(PASSES_MAX - 1), b"abc").len(), PASSES_MAX - 1);
        let text = b"abc".repeat(PASSES_MAX);
        assert_eq!(ranges(&text, b"abc").first(), Some(&(0..text.len())));
    }
}
