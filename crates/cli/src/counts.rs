//! How counts are printed: as text, or as one JSON object. `docs/formats.md` has both.

use crate::end::End;
use crate::output::Out;
use serde_json::{Map, Value, json};
use statistics::{Item, Report, Statistics, Value as Counted};

/// Prints what was counted on the standard output.
pub(crate) fn print(out: &mut Out, statistics: &dyn Statistics, is_json: bool) -> Result<(), End> {
    let report = statistics.report();
    match is_json {
        true => out.line(&Value::Object(object(&report)).to_string()),
        false => out.bytes(report.to_string().as_bytes()),
    }
}

/// A report as an object: what counted, the entries and groups by their names, and what each of these is.
pub(crate) fn object(report: &Report) -> Map<String, Value> {
    let mut object = items(&report.items);
    object.insert("what".to_owned(), report.what.into());
    let about = report.about().into_iter().map(|(path, (unit, meaning))| {
        let about = match unit {
            Some(unit) => json!({ "unit": unit.name(), "meaning": meaning }),
            None => json!({ "meaning": meaning }),
        };
        (path, about)
    });
    object.insert("about".to_owned(), Value::Object(about.collect()));
    object
}

fn items(of: &[Item]) -> Map<String, Value> {
    of.iter().map(|item| (item.name().to_owned(), value(item))).collect()
}

fn value(item: &Item) -> Value {
    match item {
        Item::Group(group) => group.items.as_deref().map_or(Value::Null, |of| Value::Object(items(of))),
        Item::Entry(entry) => match &entry.value {
            Counted::Number(number) => (*number).into(),
            Counted::Ratio(ratio) => (*ratio).into(),
            Counted::Text(text) => text.as_str().into(),
            Counted::Unknown => Value::Null,
        },
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

        fn entries(&self, to: &mut statistics::Entries) {
            to.count("frogs", "Frogs that sit in it.", 12);
            to.text("owner", "To whom it belongs.", None);
            to.counts("calls", "How often each call was heard.", [("croak".to_owned(), 3)]);
            to.no_group("island", "What is on the island.");
        }
    }

    #[test]
    fn an_object_has_the_entries_and_says_what_they_are() {
        let object = Value::Object(object(&Pond.report()));
        let expected = json!({
            "what": "pond",
            "frogs": 12,
            "owner": null,
            "calls": { "croak": 3 },
            "island": null,
            "about": {
                "frogs": { "unit": "count", "meaning": "Frogs that sit in it." },
                "owner": { "unit": "text", "meaning": "To whom it belongs." },
                "calls": { "meaning": "How often each call was heard." },
                "calls.*": { "unit": "count", "meaning": "How often each call was heard." },
                "island": { "meaning": "What is on the island." },
            },
        });
        assert_eq!(object, expected);
    }
}
