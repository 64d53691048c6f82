//! The module `json`: atoms as JSON and back, as in Hyperon.
//!
//! | JSON | atom |
//! |---|---|
//! | a number, `true`, `false` | the same |
//! | a text | a text; one that begins with `sym!:` or `var!:` the symbol or the variable of what follows |
//! | `null` | the symbol `null` |
//! | a list | a tuple |
//! | an object | a new space of `("key" value)`, in the order of the keys |
//!
//! Both ways are without recursion of ours for what comes from JSON, which is nested at most 128 deep; atoms that are nested deeper than
//! that are an error when they are written.

use super::Bundle;
use crate::effects::Effects;
use crate::names;
use crate::operation::{Call, Compatibility, OperationSpec as Spec, Outcome};
use crate::stdlib::text::{Making, text_of};
use num_bigint::BigInt;
use serde_json::Value;
use space::{Atom, Grounded, Number, SharedSpace, named_as_in_source};
use std::fmt::{self, Write};

/// What the texts of symbols and variables begin with.
const SYMBOL: &str = "sym!:";
const VARIABLE: &str = "var!:";

/// How deep JSON may be nested, both ways: `serde_json` reads so deep.
const DEPTH_MAX: usize = 127;

pub(super) const MODULE: Bundle = Bundle {
    name: "json",
    operations: &[
        Spec::typed("json-encode", "(-> Atom String)", encode)
            .with(Effects::READS)
            .documented(
                "Writes an atom as JSON: a number, a truth value, a text, a symbol, a tuple of such atoms, or a space of (key value).",
                &["Raw: the atom"],
                "The JSON, a text; an error for what has no JSON, such as a state",
            )
            .compared(Compatibility::Differs(
                "an error for what has no JSON, such as a function or a number that is not finite, and for what is nested more than 127 deep",
            )),
        Spec::typed("json-decode", "(-> String Atom)", decode)
            .with(Effects::MAKES)
            .documented(
                "Reads JSON. A list is a tuple, an object a new space of (key value), null the symbol null.",
                &["The JSON, a text"],
                "The atom, not evaluated; an error that says where the text is not JSON",
            )
            .compared(Compatibility::Differs(
                "a text is the text; in Hyperon it has its quotes in it. Integers of 64 bits are read",
            )),
    ],
    values: &[],
    source: include_str!("json.metta"),
    yields: false,
};

fn encode(call: &mut Call<'_>) -> Outcome {
    let Some(atom) = call.argument(0) else {
        return Outcome::failure("json-encode expects an atom to encode as input");
    };
    let mut why = None;
    let text = text_of(call, 1, |json| {
        json.expect(atom)?;
        write(json, atom, DEPTH_MAX, &mut why)
    });
    match (why, text) {
        (Some(refused), _) | (None, Err(refused)) => refused,
        (None, Ok(text)) => Outcome::one(text.as_str()),
    }
}

fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

/// Writes the JSON of an atom. Where it fails without a reason (`why`), a limit is reached.
fn write(json: &mut Making<'_, '_>, atom: &Atom, depth: usize, why: &mut Option<Outcome>) -> fmt::Result {
    match atom {
        Atom::Grounded(Grounded::Number(Number::Float(float))) if !float.is_finite() => {
            refuse(why, format!("{atom} has no JSON: the number is not finite"))
        }
        Atom::Grounded(Grounded::Number(number)) => write!(json, "{number}"),
        Atom::Grounded(Grounded::Bool(value)) => json.write_str(if *value { "true" } else { "false" }),
        Atom::Grounded(Grounded::Text(text)) => json.write_str(&quoted(text)),
        Atom::Symbol(symbol) if symbol.as_str() == "null" => json.write_str("null"),
        Atom::Symbol(symbol) => json.write_str(&quoted(&format!("{SYMBOL}{}", symbol.as_str()))),
        Atom::Expression(_) | Atom::Grounded(Grounded::Space(_)) if depth == 0 => {
            refuse(why, format!("JSON is nested at most {DEPTH_MAX} deep"))
        }
        Atom::Expression(expression) => {
            json.write_str("[")?;
            for (position, child) in expression.children().iter().enumerate() {
                json.write_str(if position > 0 { ", " } else { "" })?;
                write(json, child, depth - 1, why)?;
            }
            json.write_str("]")
        }
        Atom::Grounded(Grounded::Space(space)) => write_object(json, space, depth - 1, why),
        Atom::Variable(variable) => json.write_str(&quoted(&format!("{VARIABLE}{}", &variable.to_string()[1..]))),
        Atom::Grounded(_) => refuse(why, format!("{} has no JSON", names::brief(atom))),
    }
}

/// Gives up with a reason.
fn refuse(why: &mut Option<Outcome>, message: String) -> fmt::Result {
    *why = Some(Outcome::failure(message));
    Err(fmt::Error)
}

/// A space of pairs as an object. The variables of each pair are its own, so they are named as where it was stated.
fn write_object(
    json: &mut Making<'_, '_>,
    space: &SharedSpace,
    depth: usize,
    why: &mut Option<Outcome>,
) -> fmt::Result {
    json.write_str("{")?;
    for (position, pair) in space.atoms(json.call.environment.variables()).iter().enumerate() {
        let pair = named_as_in_source(pair);
        let Some([Atom::Grounded(Grounded::Text(key)), value]) = pair.children() else {
            let expected = "the space is to hold pairs of a key, a text, and a value, as dict-space makes them";
            return refuse(why, format!("{expected}; it holds {}", names::brief(&pair)));
        };
        json.write_str(if position > 0 { ", " } else { "" })?;
        json.write_str(&quoted(key))?;
        json.write_str(": ")?;
        json.expect(value)?;
        write(json, value, depth, why)?;
    }
    json.write_str("}")
}

fn decode(call: &mut Call<'_>) -> Outcome {
    let Some(text) = call.text(0) else { return Outcome::failure("json-decode expects string to decode as input") };
    // What is made of a text takes up to about thirty times its bytes.
    if let Err(refused) = call.look(text.len().saturating_mul(32)) {
        return refused;
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value) => Outcome::one(read(call, value)),
        Err(error) => Outcome::failure(format!("Failed to decode string. Reason: {error}")),
    }
}

fn read(call: &mut Call<'_>, value: Value) -> Atom {
    match value {
        Value::Null => Atom::symbol("null"),
        Value::Bool(value) => Atom::from(value),
        Value::Number(number) => Atom::from(read_number(&number)),
        Value::String(text) => match (text.strip_prefix(SYMBOL), text.strip_prefix(VARIABLE)) {
            (Some(name), _) => Atom::symbol(name),
            (_, Some(name)) => Atom::variable(name),
            _ => Atom::from(text.as_str()),
        },
        Value::Array(values) => Atom::expression(values.into_iter().map(|value| read(call, value)).collect::<Vec<_>>()),
        Value::Object(pairs) => {
            let pair = |(key, value): (String, Value)| Atom::expression([Atom::from(key.as_str()), read(call, value)]);
            let pairs: Vec<Atom> = pairs.into_iter().map(pair).collect();
            let space = call.environment.new_space();
            space.add_many(&pairs);
            Atom::from(space)
        }
    }
}

fn read_number(number: &serde_json::Number) -> Number {
    match (number.as_i64(), number.as_u64()) {
        (Some(integer), _) => Number::Int(integer),
        (None, Some(integer)) => Number::from_big(BigInt::from(integer)),
        (None, None) => Number::Float(number.as_f64().unwrap_or(f64::NAN)),
    }
}
