//! Texts, printing and tracing.

use crate::operation::{Call, OperationSpec as Spec, Outcome, Stop};
use space::{Atom, Grounded};

pub(super) const OPERATIONS: &[Spec] = &[
    Spec::typed("println!", "(-> %Undefined% (->))", println),
    Spec::typed("format-args", "(-> String Expression String)", format_args),
    Spec::typed("trace!", "(-> %Undefined% Atom %Undefined%)", trace),
    Spec::typed("print-alternatives!", "(-> Atom Expression (->))", print_alternatives),
];

/// An atom as people read it: a text without quotes and escapes.
pub(super) fn plain(atom: &Atom) -> String {
    match atom {
        Atom::Grounded(Grounded::Text(text)) => text.to_string(),
        other => other.to_string(),
    }
}

/// Prints lines; a world that takes no more ends the run.
pub(super) fn print(call: &mut Call<'_>, lines: &[String]) -> Outcome {
    for line in lines {
        if let Err(error) = call.runner.world.print(line) {
            return Outcome::Stop(Stop::World(error));
        }
    }
    Outcome::unit()
}

fn println(call: &mut Call<'_>) -> Outcome {
    match call.argument(0).map(plain) {
        Some(line) => print(call, &[line]),
        None => Outcome::failure("println! expects single atom as an argument"),
    }
}

fn trace(call: &mut Call<'_>) -> Outcome {
    match call.arguments {
        [message, value] => {
            call.runner.world.trace(&message.to_string());
            Outcome::one(value.clone())
        }
        _ => Outcome::failure("trace! expects two atoms as arguments"),
    }
}

fn print_alternatives(call: &mut Call<'_>) -> Outcome {
    let (Some(title), Some(alternatives)) = (call.argument(0), call.children(1)) else {
        let expected =
            "print-alternatives! expects format string as a first argument and expression as a second argument";
        return Outcome::failure(expected);
    };
    let mut lines = vec![format!("{} {}:", alternatives.len(), plain(title))];
    lines.extend(alternatives.iter().map(|atom| format!("    {}", plain(atom))));
    print(call, &lines)
}

fn format_args(call: &mut Call<'_>) -> Outcome {
    let (Some(Atom::Grounded(Grounded::Text(format))), Some(arguments)) = (call.argument(0), call.children(1)) else {
        let expected = "format-args expects format string as a first argument and expression as a second argument";
        return Outcome::failure(expected);
    };
    Outcome::one(fill(format, &mut arguments.iter()).as_str())
}

/// The text with each `{}` replaced by the next argument; `{{` and `}}` are braces.
fn fill(format: &str, arguments: &mut dyn Iterator<Item = &Atom>) -> String {
    let mut filled = String::with_capacity(format.len());
    let mut characters = format.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('{', Some('}')) => {
                characters.next();
                filled.extend(arguments.next().map(plain));
            }
            ('{', Some('{')) | ('}', Some('}')) => {
                characters.next();
                filled.push(character);
            }
            _ => filled.push(character),
        }
    }
    filled
}
