//! The module `dates`: the calendar, as numbers and texts.
//!
//! A time is the number of seconds since the beginning of 1970 in UTC, as `current-time` of the module `system` gives it. All of the
//! calendar is Gregorian and in UTC; only `current-date` and `format-time` with one argument ask the world.

use super::{Bundle, refused};
use crate::effects::Effects;
use crate::operation::{Call, Compatibility, Native, OperationSpec as Spec, Outcome};
use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};
use space::{Atom, Grounded, Number};

const NANOSECONDS_A_SECOND: i128 = 1_000_000_000;
const TIME: &str = "The time, in seconds since the beginning of 1970 in UTC";

const fn of_dates(name: &'static str, signature: &'static str, native: Native) -> Spec {
    Spec::typed(name, signature, native)
        .with(Effects::NONE)
        .compared(Compatibility::MetroonOnly("of the module `dates`"))
}

pub(super) const MODULE: Bundle = Bundle {
    name: "dates",
    operations: &[
        of_dates("current-date", "(-> String)", current_date).with(Effects::ASKS).documented(
            "Reads the clock.",
            &[],
            "The date and time in UTC to the second, as ISO 8601 writes them",
        ),
        of_dates("format-time", "(-> String Number String)", format_time)
            .documented(
                "Writes a time as a text.",
                &["The form, a text: %Y %m %d %H %M %S, %A for the day of the week, %B for the month, and so on", TIME],
                "The text; an error if the form has an unknown part, or the time no date",
            )
            .compared(Compatibility::MetroonOnly(
                "of the module `dates`; that of PeTTa has no second argument and takes the clock's time",
            )),
        of_dates("parse-time", "(-> String Number)", parse_time).documented(
            "Reads a date, or a date and time, as ISO 8601 writes them. Without a zone it is in UTC.",
            &["The text, such as 2024-02-29 or 2024-02-29T12:30:00+01:00"],
            "The time in seconds since the beginning of 1970 in UTC; an error if the text is none",
        ),
        of_dates("date-of", "(-> Number Atom)", date_of).documented(
            "The date and time of day in UTC.",
            &[TIME],
            "(year month day hour minute second), integers; a part of a second is left out",
        ),
        of_dates("time-of", "(-> %Undefined% Number)", time_of).documented(
            "The time of a date in UTC.",
            &["Evaluated: (year month day) or (year month day hour minute second)"],
            "The seconds since the beginning of 1970 in UTC; an error if there is no such date",
        ),
        of_dates("day-of-week", "(-> Number Number)", |call| {
            with_date(call, "day-of-week", |date| {
                Outcome::one(Number::Int(i64::from(date.weekday().to_monday_one_offset())))
            })
        })
        .documented("The day of the week in UTC.", &[TIME], "1 for Monday to 7 for Sunday"),
        of_dates("add-months", "(-> Number Number Number)", add_months).documented(
            "The same day some months later; the last day of that month if it has fewer.",
            &[TIME, "How many months, an integer; before, if it is negative"],
            "The later time",
        ),
    ],
    values: &[],
    source: "",
    yields: true,
};

/// The nanoseconds of a number of seconds.
fn nanoseconds(seconds: &Number) -> Option<i128> {
    match seconds {
        Number::Int(seconds) => Some(i128::from(*seconds) * NANOSECONDS_A_SECOND),
        Number::Float(seconds) if seconds.abs() < 1e18 => Some((seconds * NANOSECONDS_A_SECOND as f64).round() as i128),
        Number::Big(_) | Number::Float(_) => None,
    }
}

/// The date and time of day in UTC of a number of seconds.
fn date(seconds: &Number) -> Option<Zoned> {
    let timestamp = Timestamp::from_nanosecond(nanoseconds(seconds)?).ok()?;
    Some(timestamp.to_zoned(TimeZone::UTC))
}

/// A time in seconds: an integer, unless it has a part of one.
fn seconds(timestamp: Timestamp) -> Number {
    match timestamp.subsec_nanosecond() {
        0 => Number::Int(timestamp.as_second()),
        _ => Number::Float(timestamp.as_nanosecond() as f64 / NANOSECONDS_A_SECOND as f64),
    }
}

fn with_date(call: &mut Call<'_>, name: &str, of: impl Fn(&Zoned) -> Outcome) -> Outcome {
    match call.number(0).map(date) {
        Some(Some(date)) => of(&date),
        Some(None) => Outcome::failure(format!("{name}: the calendar ends before this time")),
        None => Outcome::failure(format!("{name} expects a time, a number of seconds")),
    }
}

fn current_date(call: &mut Call<'_>) -> Outcome {
    match call.environment.world().now() {
        Ok(now) => match Timestamp::from_nanosecond(i128::from(now)) {
            Ok(now) => Outcome::one(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().as_str()),
            Err(error) => Outcome::failure(error.to_string()),
        },
        Err(error) => refused("no time", error),
    }
}

fn format_time(call: &mut Call<'_>) -> Outcome {
    let (Some(form), Some(time)) = (call.text(0), call.number(1)) else {
        return Outcome::failure("format-time expects a form (text) and a time (number)");
    };
    let Some(date) = date(time) else {
        return Outcome::failure("format-time: the calendar ends before this time");
    };
    match strtime::format(form, &date) {
        Ok(text) => Outcome::one(text.as_str()),
        Err(error) => Outcome::failure(format!("format-time: {error}")),
    }
}

fn parse_time(call: &mut Call<'_>) -> Outcome {
    let Some(text) = call.text(0) else { return Outcome::failure("parse-time expects a text") };
    let zoned = text.parse::<Timestamp>().ok();
    let civil = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|date| date.timestamp());
    match zoned.or_else(civil) {
        Some(timestamp) => Outcome::one(seconds(timestamp)),
        None => Outcome::failure(format!(
            "{} is no date, which is written as in 2024-02-29 or 2024-02-29T12:30:00Z",
            Atom::from(text)
        )),
    }
}

fn date_of(call: &mut Call<'_>) -> Outcome {
    with_date(call, "date-of", |date| {
        let parts = [
            i64::from(date.year()),
            i64::from(date.month()),
            i64::from(date.day()),
            i64::from(date.hour()),
            i64::from(date.minute()),
            i64::from(date.second()),
        ];
        Outcome::one(Atom::expression(parts.map(Atom::from)))
    })
}

fn time_of(call: &mut Call<'_>) -> Outcome {
    let expected = "time-of expects (year month day) or (year month day hour minute second), integers";
    let part = |atom: &Atom| match atom {
        Atom::Grounded(Grounded::Number(Number::Int(part))) => i16::try_from(*part).ok(),
        _ => None,
    };
    let parts: Option<Vec<i16>> = call.children(0).and_then(|parts| parts.iter().map(part).collect());
    let Some(parts) = parts else { return Outcome::failure(expected) };
    let (year, others) = match parts[..] {
        [year, month, day] => (year, [month, day, 0, 0, 0]),
        [year, month, day, hour, minute, second] => (year, [month, day, hour, minute, second]),
        _ => return Outcome::failure(expected),
    };
    // A part that does not fit a byte is no part of a date.
    let [month, day, hour, minute, second] = others.map(|part| i8::try_from(part).unwrap_or(-1));
    let made = DateTime::new(year, month, day, hour, minute, second, 0).and_then(|date| date.to_zoned(TimeZone::UTC));
    match made {
        Ok(date) => Outcome::one(seconds(date.timestamp())),
        Err(error) => Outcome::failure(format!("there is no such date: {error}")),
    }
}

fn add_months(call: &mut Call<'_>) -> Outcome {
    let Some(months) = call.integer(1) else {
        return Outcome::failure("add-months expects a time and a number of months, an integer");
    };
    with_date(call, "add-months", |date| {
        let later = Span::new().try_months(months).and_then(|span| date.checked_add(span));
        match later {
            Ok(later) => Outcome::one(seconds(later.timestamp())),
            Err(_) => Outcome::failure("add-months: the calendar ends before this time"),
        }
    })
}
