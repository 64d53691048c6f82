//! One form for what the layers count.
//!
//! 1. A layer has a type with its numbers, and implements [`Statistics`] for it: it names each number once, with its [`Unit`] and a
//!    sentence that says what it means.
//! 2. [`Statistics::report`] makes a [`Report`] of them: entries and groups, in the order in which they were named. Groups may lie in
//!    groups, and statistics of one layer can be a group in those of another one.
//! 3. A report is printed as text by its [`Display`](std::fmt::Display), and made an object of JSON or of Python by those who print
//!    these: a group is an object in an object, an entry is a number, a text, or null.
//!
//! Names are words in lower case with `_` between them. Names that come from data, such as those of keyspaces and servers, are only in
//! groups made by [`Entries::each`] and [`Entries::counts`], so none of them can take the place of a number of the layer.
//!
//! Cost: a report allocates a few dozen bytes for each entry; nothing is made unless somebody asks for it.

#![forbid(unsafe_code)]

mod text;

use std::borrow::Cow;
use std::collections::BTreeMap;

/// What the number of an entry is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A whole number of things or of times.
    Count,
    /// A whole number of bytes.
    Bytes,
    /// A whole number of nanoseconds.
    Nanoseconds,
    /// A number without a unit.
    Ratio,
    /// A text.
    Text,
}

impl Unit {
    /// Its name in objects.
    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Bytes => "bytes",
            Self::Nanoseconds => "nanoseconds",
            Self::Ratio => "ratio",
            Self::Text => "text",
        }
    }
}

/// What an entry says.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number: a count, bytes or nanoseconds.
    Number(u64),
    /// A ratio.
    Ratio(f64),
    /// A text.
    Text(String),
    /// Nobody knows it, or there is nothing that it could be of.
    Unknown,
}

/// A named number or text.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its name, of which there is one in its group.
    pub name: Cow<'static, str>,
    /// What its number is of.
    pub unit: Unit,
    /// What it means, in one sentence.
    pub meaning: &'static str,
    /// What it says.
    pub value: Value,
}

/// Entries that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its name, of which there is one in the group that it lies in.
    pub name: Cow<'static, str>,
    /// What its entries have in common, in one sentence.
    pub meaning: &'static str,
    /// Whether the names in it come from data, and all that is in it is of one shape.
    pub is_of_data: bool,
    /// What is in it, in order; none if what it is about is not there.
    pub items: Option<Vec<Item>>,
}

/// A part of a report.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A number or a text.
    Entry(Entry),
    /// Several.
    Group(Group),
}

impl Item {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Entry(entry) => &entry.name,
            Self::Group(group) => &group.name,
        }
    }

    /// What it means.
    pub fn meaning(&self) -> &'static str {
        match self {
            Self::Entry(entry) => entry.meaning,
            Self::Group(group) => group.meaning,
        }
    }
}

/// What something has counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// What counted, in one or two words.
    pub what: &'static str,
    /// What it counted, in order.
    pub items: Vec<Item>,
}

/// What an entry or a group is: the unit of an entry, none for a group; and what it means.
pub type About = (Option<Unit>, &'static str);

/// Numbers that a layer has counted.
pub trait Statistics {
    /// What counted them, in one or two words.
    fn what(&self) -> &'static str;

    /// Names them all, in an order that people can read, whatever they are.
    fn entries(&self, to: &mut Entries);

    /// All of them.
    fn report(&self) -> Report {
        let mut entries = Entries::default();
        self.entries(&mut entries);
        Report { what: self.what(), items: entries.items }
    }
}

/// What takes the entries of statistics.
///
/// A value that is not known is `None`.
#[derive(Debug, Default)]
pub struct Entries {
    items: Vec<Item>,
}

impl Entries {
    /// What was named, in order.
    pub fn into_items(self) -> Vec<Item> {
        self.items
    }

    /// A number of things or of times.
    pub fn count(&mut self, name: &'static str, meaning: &'static str, value: impl Into<Option<u64>>) {
        self.number(name, Unit::Count, meaning, value.into());
    }

    /// A number of bytes.
    pub fn bytes(&mut self, name: &'static str, meaning: &'static str, value: impl Into<Option<u64>>) {
        self.number(name, Unit::Bytes, meaning, value.into());
    }

    /// A number of nanoseconds.
    pub fn nanoseconds(&mut self, name: &'static str, meaning: &'static str, value: impl Into<Option<u64>>) {
        self.number(name, Unit::Nanoseconds, meaning, value.into());
    }

    /// A number without a unit.
    pub fn ratio(&mut self, name: &'static str, meaning: &'static str, value: impl Into<Option<f64>>) {
        let value = value.into().filter(|ratio| ratio.is_finite()).map_or(Value::Unknown, Value::Ratio);
        self.entry(name.into(), Unit::Ratio, meaning, value);
    }

    /// A text.
    pub fn text(&mut self, name: &'static str, meaning: &'static str, value: impl Into<Option<String>>) {
        self.entry(name.into(), Unit::Text, meaning, value.into().map_or(Value::Unknown, Value::Text));
    }

    /// Several entries that belong together.
    pub fn group(&mut self, name: &'static str, meaning: &'static str, entries: impl FnOnce(&mut Self)) {
        self.push_group(name.into(), meaning, false, Some(entries_of(entries)));
    }

    /// A group of what is not there.
    pub fn no_group(&mut self, name: &'static str, meaning: &'static str) {
        self.push_group(name.into(), meaning, false, None);
    }

    /// The statistics of another layer as a group, if they are there.
    pub fn part(&mut self, name: &'static str, meaning: &'static str, part: Option<&dyn Statistics>) {
        self.push_group(name.into(), meaning, false, part.map(|part| entries_of(|to| part.entries(to))));
    }

    /// A group with a group for each thing of some kind, by its name.
    pub fn each<T>(
        &mut self,
        name: &'static str,
        meaning: &'static str,
        things: impl IntoIterator<Item = (String, T)>,
        mut entries: impl FnMut(&T, &mut Self),
    ) {
        let group = |(name, thing): (String, T)| {
            let items = entries_of(|to| entries(&thing, to));
            Item::Group(Group { name: name.into(), meaning, is_of_data: false, items: Some(items) })
        };
        let items = things.into_iter().map(group).collect();
        self.push_group(name.into(), meaning, true, Some(items));
    }

    /// A group with a count for each thing of some kind, by its name.
    pub fn counts(
        &mut self,
        name: &'static str,
        meaning: &'static str,
        things: impl IntoIterator<Item = (String, u64)>,
    ) {
        let entry = |(name, count): (String, u64)| {
            Item::Entry(Entry { name: name.into(), unit: Unit::Count, meaning, value: Value::Number(count) })
        };
        let items = things.into_iter().map(entry).collect();
        self.push_group(name.into(), meaning, true, Some(items));
    }

    fn number(&mut self, name: &'static str, unit: Unit, meaning: &'static str, value: Option<u64>) {
        self.entry(name.into(), unit, meaning, value.map_or(Value::Unknown, Value::Number));
    }

    fn entry(&mut self, name: Cow<'static, str>, unit: Unit, meaning: &'static str, value: Value) {
        self.items.push(Item::Entry(Entry { name, unit, meaning, value }));
    }

    fn push_group(
        &mut self,
        name: Cow<'static, str>,
        meaning: &'static str,
        is_of_data: bool,
        items: Option<Vec<Item>>,
    ) {
        self.items.push(Item::Group(Group { name, meaning, is_of_data, items }));
    }
}

fn entries_of(entries: impl FnOnce(&mut Entries)) -> Vec<Item> {
    let mut to = Entries::default();
    entries(&mut to);
    to.items
}

impl Report {
    /// What each entry and group is, by the names that lead to it with `.` between them. `*` stands for all names that come from data,
    /// as in `keyspaces.*.records`.
    pub fn about(&self) -> BTreeMap<String, About> {
        let mut about = BTreeMap::new();
        tell(&self.items, "", false, &mut about);
        about
    }

    /// What is wrong with the names and meanings: nothing, which the tests of each layer ask.
    pub fn defects(&self) -> Vec<String> {
        let mut defects = Vec::new();
        if self.what.is_empty() {
            defects.push("nothing says what counted".to_owned());
        }
        check(&self.items, "", false, &mut defects);
        defects
    }
}

fn tell(items: &[Item], before: &str, are_of_data: bool, about: &mut BTreeMap<String, About>) {
    for item in items {
        let path = format!("{before}{}", if are_of_data { "*" } else { item.name() });
        match item {
            Item::Entry(entry) => {
                about.insert(path, (Some(entry.unit), entry.meaning));
            }
            Item::Group(group) => {
                tell(group.items.as_deref().unwrap_or_default(), &format!("{path}."), group.is_of_data, about);
                about.insert(path, (None, group.meaning));
            }
        }
    }
}

fn check(items: &[Item], before: &str, are_of_data: bool, defects: &mut Vec<String>) {
    let mut names = std::collections::BTreeSet::new();
    for item in items {
        let path = format!("{before}{}", item.name());
        if !names.insert(item.name()) {
            defects.push(format!("{path} is there twice"));
        }
        let is_word = |name: &str| {
            name.starts_with(|first: char| first.is_ascii_lowercase())
                && name.chars().all(|each| each.is_ascii_lowercase() || each.is_ascii_digit() || each == '_')
        };
        if !are_of_data && !is_word(item.name()) {
            defects.push(format!("{path} is not named by words in lower case"));
        }
        if before.is_empty() && ["what", "about"].contains(&item.name()) {
            defects.push(format!("{path} is a name of the report itself"));
        }
        let meaning = item.meaning();
        if !meaning.starts_with(|first: char| first.is_ascii_uppercase() || first == '`') || !meaning.ends_with('.') {
            defects.push(format!("{path} has no sentence that says what it means: {meaning:?}"));
        }
        if let Item::Group(group) = item {
            let items = group.items.as_deref().unwrap_or_default();
            check(items, &format!("{path}."), group.is_of_data, defects);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Pond;

    impl Statistics for Pond {
        fn what(&self) -> &'static str {
            "pond"
        }

        fn entries(&self, to: &mut Entries) {
            to.count("frogs", "Frogs that sit in it.", 12);
            to.bytes("water_bytes", "How much water there is.", 1);
            to.ratio("green", "How many of the frogs are green.", 0.5);
            to.text("owner", "To whom it belongs.", None);
            to.group("times", "How long it was watched.", |to| {
                to.nanoseconds("day", "By day.", 1_234_567);
                to.nanoseconds("night", "By night.", 999);
            });
            to.each(
                "banks",
                "What lies on each side.",
                [("what".to_owned(), 1), ("a b".to_owned(), 2)],
                |stones, to| {
                    to.count("stones", "Stones on it.", *stones);
                },
            );
            to.counts("calls", "How often each call was heard.", [("croak".to_owned(), 3)]);
            to.no_group("island", "What is on the island.");
        }
    }

    #[test]
    fn a_report_is_printed_as_text() {
        let expected = "\
frogs          12           Frogs that sit in it.
water bytes    1 byte       How much water there is.
green          0.50         How many of the frogs are green.
owner          -            To whom it belongs.
times:                      How long it was watched.
  day          1.234567 ms  By day.
  night        999 ns       By night.
banks:                      What lies on each side.
  what:
    stones     1            Stones on it.
  a b:
    stones     2
calls:                      How often each call was heard.
  croak        3
island         none         What is on the island.
";
        assert_eq!(Pond.report().to_string(), expected);
    }

    #[test]
    fn every_entry_says_what_it_is() {
        let report = Pond.report();
        assert_eq!(report.defects(), Vec::<String>::new());
        let about = report.about();
        let stones = (Some(Unit::Count), "Stones on it.");
        assert_eq!(about.get("banks.*.stones"), Some(&stones));
        assert_eq!(about.get("calls.*").map(|about| about.0), Some(Some(Unit::Count)));
        assert_eq!(about.get("island"), Some(&(None, "What is on the island.")));
    }

    #[test]
    fn what_is_wrong_with_names_and_meanings_is_found() {
        struct Wrong;
        impl Statistics for Wrong {
            fn what(&self) -> &'static str {
                ""
            }
            fn entries(&self, to: &mut Entries) {
                to.count("frogs", "Frogs.", 1);
                to.count("frogs", "Frogs.", 2);
                to.count("Big frogs", "frogs", 3);
                to.group("what", "It is the name of the report.", |to| to.text("what", "", None));
            }
        }
        assert_eq!(Wrong.report().defects().len(), 6, "{:#?}", Wrong.report().defects());
    }
}
