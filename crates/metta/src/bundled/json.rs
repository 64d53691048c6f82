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
use crate::operation::{Call, Compatibility, OperationSpec as Spec, Outcome};
use num_bigint::BigInt;
use serde_json::Value;
use space::{Atom, Grounded, Number, SharedSpace};

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
    let mut text = String::new();
    match write(call, atom, DEPTH_MAX, &mut text) {
        Ok(()) => Outcome::one(text.as_str()),
        Err(refused) => refused,
    }
}

fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

fn write(call: &mut Call<'_>, atom: &Atom, depth: usize, json: &mut String) -> Result<(), Outcome> {
    if json.capacity() - json.len() < 64 {
        call.look(json.capacity().max(64))?;
    }
    match atom {
        Atom::Grounded(Grounded::Number(Number::Float(float))) if !float.is_finite() => {
            return Err(Outcome::failure(format!("{atom} has no JSON: the number is not finite")));
        }
        Atom::Grounded(Grounded::Number(number)) => json.push_str(&number.to_string()),
        Atom::Grounded(Grounded::Bool(value)) => json.push_str(if *value { "true" } else { "false" }),
        Atom::Grounded(Grounded::Text(text)) => json.push_str(&quoted(text)),
        Atom::Symbol(symbol) if symbol.as_str() == "null" => json.push_str("null"),
        Atom::Symbol(symbol) => json.push_str(&quoted(&format!("{SYMBOL}{}", symbol.as_str()))),
        Atom::Expression(_) | Atom::Grounded(Grounded::Space(_)) if depth == 0 => {
            return Err(Outcome::failure(format!("JSON is nested at most {DEPTH_MAX} deep")));
        }
        Atom::Expression(expression) => {
            json.push('[');
            for (position, child) in expression.children().iter().enumerate() {
                json.push_str(if position > 0 { ", " } else { "" });
                write(call, child, depth - 1, json)?;
            }
            json.push(']');
        }
        Atom::Grounded(Grounded::Space(space)) => write_object(call, space, depth - 1, json)?,
        Atom::Variable(variable) => json.push_str(&quoted(&format!("{VARIABLE}{}", &variable.to_string()[1..]))),
        Atom::Grounded(_) => return Err(Outcome::failure(format!("{atom} has no JSON"))),
    }
    Ok(())
}

/// A space of pairs as an object.
fn write_object(call: &mut Call<'_>, space: &SharedSpace, depth: usize, json: &mut String) -> Result<(), Outcome> {
    json.push('{');
    for (position, pair) in space.atoms(call.environment.variables()).iter().enumerate() {
        let Some([Atom::Grounded(Grounded::Text(key)), value]) = pair.children() else {
            let expected = "the space is to hold pairs of a key, a text, and a value, as dict-space makes them";
            return Err(Outcome::failure(format!("{expected}; it holds {pair}")));
        };
        json.push_str(if position > 0 { ", " } else { "" });
        json.push_str(&quoted(key));
        json.push_str(": ");
        write(call, value, depth, json)?;
    }
    json.push('}');
    Ok(())
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
