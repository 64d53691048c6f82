//! What `metroon run --json` prints: a JSON object a line, for each result when it is found and for each form's end.
//!
//! ```text
//! {"form":1,"line":3,"result":"(foo bar)"}
//! {"form":1,"line":3,"done":true,"results":1,"error":false}
//! {"form":1,"line":3,"failure":{…}}
//! ```
//!
//! The last one explains an error among the results of its form, and is passed over where only results count.
//!
//! Other lines are what the program itself printed, and are passed over; so are names this file does not know.

use serde_json::Value;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    Result {
        form: usize,
        text: String,
    },
    Done {
        form: usize,
        results: usize,
    },
    /// What there is to say of an error among the results.
    Failure,
}

/// The records among the lines of `output`.
pub(super) fn read(output: &str) -> Vec<Record> {
    output.lines().filter_map(record).collect()
}

/// The record that a line is, if it is one.
pub(crate) fn record(line: &str) -> Option<Record> {
    let value: Value = serde_json::from_str(line).ok()?;
    let number = |name: &str| value[name].as_u64().and_then(|number| usize::try_from(number).ok());
    let form = number("form")?;
    match &value["result"] {
        Value::String(text) => Some(Record::Result { form, text: text.clone() }),
        _ if value["failure"].is_object() => Some(Record::Failure),
        _ => Some(Record::Done { form, results: number("results")? }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_and_ends_are_read() {
        let output = "{\"form\":1,\"line\":3,\"result\":\"(foo \\\"a\\\")\"}\nprinted by the program\n\
                      {\"form\":1,\"line\":3,\"done\":true,\"results\":1,\"error\":false}\n";
        let result = Record::Result { form: 1, text: "(foo \"a\")".to_owned() };
        assert_eq!(read(output), [result, Record::Done { form: 1, results: 1 }]);
    }

    #[test]
    fn escapes_space_and_unknown_names_are_understood() {
        let line = r#"{ "new" : null , "result" : "\u0041\n\ud83d\ude00\\" , "form" : 12 }"#;
        assert_eq!(read(line), [Record::Result { form: 12, text: "A\n😀\\".to_owned() }]);
    }

    #[test]
    fn what_explains_an_error_is_not_taken_for_a_line_of_the_program() {
        assert_eq!(record(r#"{"form":1,"line":3,"failure":{"code":"failed"}}"#), Some(Record::Failure));
    }

    #[test]
    fn other_lines_are_passed_over() {
        for line in
            ["", "{", "{}", "[1]", "{\"form\":1}", "{\"form\":\"x\",\"result\":\"y\"}", "{\"form\":1,\"result\":\"y"]
        {
            assert_eq!(read(line), [], "{line}");
        }
        assert_eq!(read("{\"form\":1,\"result\":\"\\ud83d\"}"), []);
    }
}
