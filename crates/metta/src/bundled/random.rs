//! The module `random`: numbers from generators.

use super::handles::HandleKind;
use super::{Bundle, refused};
use crate::effects::Effects;
use crate::operation::{Call, Compatibility, OperationSpec as Spec, Outcome};
use crate::random::Generator;
use crate::world::{World, WorldError};
use space::{Atom, Grounded, Number};

/// How many generators a program may make.
pub const GENERATORS_MAX: usize = 1 << 20;

/// The number of the generator that `&rng` is.
const DEFAULT: usize = 0;

pub(super) const MODULE: Bundle = Bundle {
    name: "random",
    operations: &[
        Spec::typed("random-int", "(-> RandomGenerator Number Number Number)", random_int)
            .with(Effects::CHANGES.and(Effects::ASKS))
            .documented(
                "Draws an integer; each in the range is as likely as the others.",
                &[
                    "The random generator",
                    "The smallest integer that may be drawn",
                    "The end of the range, one more than the largest",
                ],
                "The integer; the error RangeIsEmpty if the start is not below the end",
            )
            .compared(Compatibility::Differs(
                "a float bound is cut off as in Hyperon; a bound that does not fit 64 bits is an error",
            )),
        Spec::typed("random-float", "(-> RandomGenerator Number Number Number)", random_float)
            .with(Effects::CHANGES.and(Effects::ASKS))
            .documented(
                "Draws a float, uniformly distributed over the range.",
                &[
                    "The random generator",
                    "The start of the range, which may be drawn",
                    "The end of the range, which is never drawn",
                ],
                "The float; the error RangeIsEmpty if the start is not below the end",
            )
            .compared(Compatibility::Differs(
                "`RangeIsInfinite` for a range with an infinite end, where Hyperon ends the process",
            )),
        Spec::typed("set-random-seed", "(-> RandomGenerator Number (->))", set_seed)
            .with(Effects::CHANGES)
            .documented(
                "Gives a random generator a seed: from now on its numbers are those of (new-random-generator seed).",
                &["The random generator", "The seed, an integer of 64 bits"],
                "The unit, ()",
            )
            .compared(Compatibility::Differs(
                "`&rng` keeps its seed; in Hyperon each `&rng` in a source is another generator, so that a seed is \
             forgotten at once. The numbers that follow from a seed are not Hyperon's; they never change. A seed that is a \
             float is an error, in Hyperon it is cut off",
            )),
        Spec::typed("new-random-generator", "(-> Number RandomGenerator)", new_generator)
            .with(Effects::MAKES)
            .documented(
                "Makes a random generator. The same seed gives the same numbers, in every run and on every machine.",
                &["The seed, an integer of 64 bits"],
                "The random generator",
            )
            .compared(Compatibility::Differs(
                "the numbers that follow from a seed are not Hyperon's; they are the same in every run, on every \
             machine and in every version. A seed that is a float is an error, in Hyperon it is cut off",
            )),
        Spec::typed("reset-random-generator", "(-> RandomGenerator (->))", reset)
            .with(Effects::CHANGES)
            .documented(
                "Lets a random generator forget its seed: from now on its numbers come from outside.",
                &["The random generator"],
                "The unit, ()",
            )
            .compared(Compatibility::ERROR_TEXT),
        Spec::typed("flip", "(-> Bool)", flip)
            .with(Effects::ASKS)
            .documented("Flips a coin, with &rng.", &[], "True or False, each as likely as the other")
            .compared(Compatibility::Differs(
                "flips with `&rng`, so that a seed holds for it too; Hyperon uses a hidden generator",
            )),
    ],
    values: &[("&rng", || generator_atom(DEFAULT))],
    source: include_str!("random.metta"),
    yields: false,
};

/// A generator as an atom: its number in the runner's table.
static GENERATOR: HandleKind =
    HandleKind { type_name: "RandomGenerator", identity: "random-generator", is_durable: true };

/// The generator that has this identity.
pub(crate) fn generator_of_identity(identity: &str) -> Option<Atom> {
    generator_number(identity).map(generator_atom)
}

/// The number of the generator that has this identity.
pub(crate) fn generator_number(identity: &str) -> Option<usize> {
    usize::try_from(GENERATOR.number_of_identity(identity)?).ok()
}

/// The generator of this number in the runner's table, as an atom.
pub fn generator_atom(number: usize) -> Atom {
    GENERATOR.atom(number as u64)
}

/// The number of the generator that an argument is.
fn generator_of(call: &Call<'_>, position: usize) -> Option<usize> {
    usize::try_from(GENERATOR.argument(call, position)?).ok()
}

fn number_of<'a>(call: &Call<'a>, position: usize) -> Option<&'a Number> {
    match call.argument(position)? {
        Atom::Grounded(Grounded::Number(number)) => Some(number),
        _ => None,
    }
}

/// A number as a word: a float is cut off, as in Hyperon; a big integer is none.
fn word_of(number: &Number) -> Option<i64> {
    match number {
        Number::Int(word) => Some(*word),
        Number::Float(float) => Some(*float as i64),
        Number::Big(_) => None,
    }
}

/// A seed: an integer of 64 bits.
fn seed_of(number: &Number) -> Option<i64> {
    match number {
        Number::Int(word) => Some(*word),
        Number::Float(_) | Number::Big(_) => None,
    }
}

/// Draws from a generator; what the call comes to instead when that fails.
fn draw<T>(
    call: &mut Call<'_>,
    number: usize,
    draw: impl FnOnce(&mut Generator, &mut dyn World) -> Result<T, WorldError>,
) -> Result<T, Outcome> {
    let Some((generator, world)) = call.environment.generator(number) else {
        return Err(Outcome::failure(format!("there is no random generator with number {number}")));
    };
    draw(generator, world).map_err(|error| refused("no random number", error))
}

fn random_int(call: &mut Call<'_>) -> Outcome {
    let (Some(start), Some(end)) = (number_of(call, 1), number_of(call, 2)) else {
        return Outcome::failure(
            "random-int expects three arguments: random generator, number (start) and number (end)",
        );
    };
    let Some(generator) = generator_of(call, 0) else {
        return Outcome::failure("random-int expects a random generator as its argument");
    };
    let (Some(start), Some(end)) = (word_of(start), word_of(end)) else {
        return Outcome::failure("random-int expects a range from -2^63 to 2^63 - 1");
    };
    if start >= end {
        return Outcome::failure("RangeIsEmpty");
    }
    let width = end.wrapping_sub(start) as u64;
    match draw(call, generator, |generator, world| generator.below(width, world)) {
        Ok(offset) => Outcome::one(Number::Int(start.wrapping_add(offset as i64))),
        Err(outcome) => outcome,
    }
}

fn random_float(call: &mut Call<'_>) -> Outcome {
    let (Some(start), Some(end)) = (number_of(call, 1), number_of(call, 2)) else {
        return Outcome::failure(
            "random-float expects three arguments: random generator, number (start) and number (end)",
        );
    };
    let Some(generator) = generator_of(call, 0) else {
        return Outcome::failure("random-float expects a random generator as its argument");
    };
    let (start, end) = (start.to_f64(), end.to_f64());
    // A NaN on either side makes a range empty too.
    if start.partial_cmp(&end) != Some(std::cmp::Ordering::Less) {
        return Outcome::failure("RangeIsEmpty");
    }
    if !start.is_finite() || !end.is_finite() {
        return Outcome::failure("RangeIsInfinite");
    }
    match draw(call, generator, |generator, world| generator.between(start, end, world)) {
        Ok(value) => Outcome::one(Number::Float(value)),
        Err(outcome) => outcome,
    }
}

/// Puts another generator in the place of one.
fn replace(call: &mut Call<'_>, number: usize, generator: Generator) -> Outcome {
    let put = |place: &mut Generator, _: &mut dyn World| {
        *place = generator;
        Ok(())
    };
    match draw(call, number, put) {
        Ok(()) => Outcome::unit(),
        Err(outcome) => outcome,
    }
}

fn set_seed(call: &mut Call<'_>) -> Outcome {
    let Some(seed) = number_of(call, 1) else {
        return Outcome::failure("set-random-seed expects two arguments: random generator and number (seed)");
    };
    let Some(generator) = generator_of(call, 0) else {
        return Outcome::failure("set-random-seed expects a random generator as its argument");
    };
    match seed_of(seed) {
        Some(seed) => replace(call, generator, Generator::seeded(seed as u64)),
        None => Outcome::failure("set-random-seed expects an integer from -2^63 to 2^63 - 1 as a seed"),
    }
}

fn new_generator(call: &mut Call<'_>) -> Outcome {
    let Some(seed) = number_of(call, 0) else {
        return Outcome::failure("new-random-generator expects one argument: number (seed)");
    };
    let Some(seed) = seed_of(seed) else {
        return Outcome::failure("new-random-generator expects an integer from -2^63 to 2^63 - 1 as a seed");
    };
    if call.environment.generator_count() >= GENERATORS_MAX {
        return Outcome::failure(format!(
            "there are {GENERATORS_MAX} random generators already; give one of them another seed with set-random-seed"
        ));
    }
    Outcome::one(generator_atom(call.environment.add_generator(Generator::seeded(seed as u64))))
}

fn reset(call: &mut Call<'_>) -> Outcome {
    match generator_of(call, 0) {
        Some(generator) => replace(call, generator, Generator::World),
        None => Outcome::failure("reset-random-generator expects a random generator as its argument"),
    }
}

fn flip(call: &mut Call<'_>) -> Outcome {
    match draw(call, DEFAULT, |generator, world| generator.below(2, world)) {
        Ok(side) => Outcome::one(side == 1),
        Err(outcome) => outcome,
    }
}
