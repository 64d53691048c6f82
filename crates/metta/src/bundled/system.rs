//! The module `system`: the clock and the environment.

use super::{Bundle, refused};
use crate::effects::Effects;
use crate::operation::{Call, Compatibility, OperationSpec as Spec, Outcome};
use space::{Atom, Grounded};

const NANOSECONDS_A_SECOND: f64 = 1e9;

pub(super) const MODULE: Bundle = Bundle {
    name: "system",
    operations: &[
        Spec::typed("current-time", "(-> Number)", current_time)
            .with(Effects::ASKS)
            .documented("Reads the clock.", &[], "The seconds since the beginning of 1970 in UTC, a float")
            .compared(Compatibility::MetroonOnly("the seconds since 1970, a float")),
        Spec::typed("environment-variable", "(-> String String)", environment_variable)
            .with(Effects::ASKS)
            .documented(
                "Reads an environment variable.",
                &["Its name, a text"],
                "Its value, a text; the error VariableIsNotSet if there is none",
            )
            .compared(Compatibility::MetroonOnly(
                "the value of a variable, a text; the error `VariableIsNotSet` if there is none",
            )),
    ],
    values: &[],
    source: "",
    yields: true,
};

fn current_time(call: &mut Call<'_>) -> Outcome {
    match call.environment.world().now() {
        Ok(now) => Outcome::one(now as f64 / NANOSECONDS_A_SECOND),
        Err(error) => refused("no time", error),
    }
}

fn environment_variable(call: &mut Call<'_>) -> Outcome {
    let Some(Atom::Grounded(Grounded::Text(name))) = call.argument(0) else {
        return Outcome::failure("environment-variable expects a name (string atom) as an argument");
    };
    match call.environment.world().environment(name) {
        Ok(Some(value)) => Outcome::one(value.as_str()),
        Ok(None) => Outcome::failure("VariableIsNotSet"),
        Err(error) => refused("no value", error),
    }
}
