//! What the program tells of its work on standard error, if the variable `METROON_LOG` asks for it.
//!
//! The lines have no times: the same run tells the same.

use std::env::VarError;
use tracing_subscriber::filter::LevelFilter;

/// The variable, and what it may be.
const VARIABLE: &str = "METROON_LOG";
const LEVELS: &str = "off, error, warn, info, debug or trace";

/// Begins to print what is asked for.
///
/// # Errors
/// The variable is something else than a level.
pub(crate) fn begin() -> Result<(), String> {
    let wanted = match std::env::var(VARIABLE) {
        Ok(wanted) if wanted.is_empty() => return Ok(()),
        Ok(wanted) => wanted,
        Err(VarError::NotPresent) => return Ok(()),
        Err(VarError::NotUnicode(_)) => return Err(wrong("not a text")),
    };
    let level: LevelFilter = wanted.parse().map_err(|_| wrong(&format!("`{wanted}`")))?;
    let subscriber = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr);
    // Nobody else has begun one.
    let begun = tracing::subscriber::set_global_default(subscriber.without_time().with_ansi(false).finish());
    begun.map_err(|error| format!("error: {VARIABLE}: {error}"))
}

fn wrong(found: &str) -> String {
    format!("error: the variable {VARIABLE} is {found}\nhelp: it may be {LEVELS}")
}
