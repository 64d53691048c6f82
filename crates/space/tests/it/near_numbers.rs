//! Large spaces about numbers that lie close together, or not: dictionaries and indexes list places by number there, and what is found
//! stays what a map finds, whatever order the numbers come in and whatever goes.

use crate::atoms::Base;
use std::collections::BTreeMap;

/// Numbers in an order of their own (a walk with a step that has no factor in common with the count).
fn scattered(count: i64, from: i64) -> impl Iterator<Item = i64> {
    (0..count).map(move |at| from + at * 7_919 % count)
}

/// Rows by key as a map has them.
#[derive(Default)]
struct Pairs {
    /// The order that the keys came in.
    order: &'static str,
    model: BTreeMap<i64, Vec<String>>,
}

impl Pairs {
    fn add(&mut self, base: &Base, key: i64, value: &str) {
        base.add(&format!("(pair {key} {value})"));
        self.model.entry(key).or_default().push(value.to_owned());
    }

    fn remove(&mut self, base: &Base, key: i64) {
        let values = self.model.remove(&key).unwrap_or_default();
        values.iter().for_each(|value| assert!(base.remove(&format!("(pair {key} {value})"))));
    }

    fn check(&self, base: &mut Base, keys: impl IntoIterator<Item = i64>) {
        for key in keys {
            let expected = self.model.get(&key).cloned().unwrap_or_default();
            assert_eq!(base.answers(&format!("(pair {key} $x)"), "$x"), expected, "of {key}, keys {}", self.order);
        }
    }
}

/// More than the words from which on integers are listed by their number.
const MANY: i64 = 40_000;

#[test]
fn what_is_asked_by_number_is_found_whatever_order_the_numbers_came_in() {
    type Order = fn() -> Vec<i64>;
    let orders: [(&'static str, Order); 5] = [
        ("one after the other", || (0..MANY).collect()),
        ("from the last", || (0..MANY).rev().collect()),
        ("scattered", || scattered(MANY, -20_000).collect()),
        ("far apart", || (0..MANY).map(|number| number * 1_001).collect()),
        ("with some far away", || (5..MANY).flat_map(|number| [number, -(number * number)]).collect()),
    ];
    for (order, keys) in orders {
        let (mut base, mut pairs, keys) = (Base::new(), Pairs { order, ..Pairs::default() }, keys());
        let half = keys.len() / 2;
        keys[..half].iter().for_each(|&key| pairs.add(&base, key, "first"));
        // Indexes are made here, and grow with what comes after it.
        pairs.check(&mut base, keys.iter().copied().step_by(97));
        keys[half..].iter().for_each(|&key| pairs.add(&base, key, "late"));
        keys.iter().step_by(5).for_each(|&key| pairs.add(&base, key, "again"));
        pairs.check(&mut base, keys.iter().copied().step_by(31));
        let snapshot = base.space.snapshot();
        keys.iter().step_by(3).for_each(|&key| pairs.remove(&base, key));
        pairs.add(&base, i64::MAX >> 2, "largest-of-a-word");
        pairs.add(&base, i64::MIN, "least");
        keys.iter().step_by(9).for_each(|&key| pairs.add(&base, key, "anew"));
        pairs
            .check(&mut base, keys.iter().copied().step_by(13).chain([i64::MAX >> 2, i64::MIN, i64::MAX, 1 << 40, -7]));
        drop(snapshot);
        pairs.check(&mut base, keys.iter().copied().step_by(41));
    }
}
