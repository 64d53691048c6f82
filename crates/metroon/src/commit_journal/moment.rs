//! Moments of a base: a commit by its number, or by a time.
//!
//! A commit has the time that the [world](metta::World::commit_time) gave when it was made. A time means the last commit that was made then or
//! before, which is found by going through the commits: times are what a clock said, and a clock may have been set back.
//!
//! A text that names a day means its end, and one that names a second means the end of that, so that the date that a log shows of a commit
//! means that commit. Where something is to begin with a date, it means the beginning.

use super::CommitJournal;
use super::error::KnowledgeBaseError;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::str::FromStr;

/// The last nanosecond of a second.
const SECOND_END: i64 = 999_999_999;

/// A moment of a knowledge base.
///
/// ```
/// use metroon::history::Moment;
///
/// assert_eq!("12".parse(), Ok(Moment::Commit(12)));
/// assert_eq!("1970-01-01T00:00:01Z".parse(), Ok(Moment::Time(1_999_999_999)));
/// assert_eq!("1970-01-02".parse::<Moment>().map(|moment| moment.to_string()), Ok("1970-01-02T23:59:59Z".to_owned()));
/// assert!("yesterday".parse::<Moment>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// After the commit of this number; 0 is the beginning.
    Commit(u64),
    /// After the last commit that was made at this time or before, in nanoseconds since the beginning of 1970 in UTC.
    Time(i64),
}

/// A text that names no moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MomentError {
    text: String,
}

impl fmt::Display for MomentError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{:?} is neither the number of a commit nor a date such as 2026-11-20 or 2026-11-20T10:00:00Z",
            self.text
        )
    }
}

impl std::error::Error for MomentError {}

impl FromStr for Moment {
    type Err = MomentError;

    fn from_str(text: &str) -> Result<Self, MomentError> {
        match named(text)? {
            Named::Commit(epoch) => Ok(Self::Commit(epoch)),
            Named::Times { last, .. } => Ok(Self::Time(last)),
        }
    }
}

/// Where a part of a knowledge base's history begins.
///
/// ```
/// use metroon::history::Beginning;
///
/// assert_eq!("12".parse(), Ok(Beginning::Commit(12)));
/// assert_eq!("1970-01-02".parse(), Ok(Beginning::Time(86_400_000_000_000)));
/// assert!("yesterday".parse::<Beginning>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// With the commit of this number.
    Commit(u64),
    /// With the first commit that was made at this time or later, in nanoseconds since the beginning of 1970 in UTC.
    Time(i64),
}

impl FromStr for Beginning {
    type Err = MomentError;

    fn from_str(text: &str) -> Result<Self, MomentError> {
        match named(text)? {
            Named::Commit(epoch) => Ok(Self::Commit(epoch)),
            Named::Times { first, .. } => Ok(Self::Time(first)),
        }
    }
}

/// What a text names: a commit, or the times from a nanosecond to another one.
enum Named {
    Commit(u64),
    Times { first: i64, last: i64 },
}

fn named(text: &str) -> Result<Named, MomentError> {
    let unknown = || MomentError { text: text.to_owned() };
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().map(Named::Commit).map_err(|_| unknown());
    }
    let nanoseconds = |time: Timestamp| i64::try_from(time.as_nanosecond()).map_err(|_| unknown());
    if let Ok(time) = text.parse::<Timestamp>() {
        let (first, is_whole) = (nanoseconds(time)?, !text.contains(['.', ',']));
        let last = if is_whole { first.saturating_add(SECOND_END) } else { first };
        return Ok(Named::Times { first, last });
    }
    let day = if text.contains(['T', 't', ' ']) { None } else { text.parse::<Date>().ok() };
    let at = |hour: i8, minute: i8, second: i8| {
        let zoned = day.map(|day| day.at(hour, minute, second, 0).to_zoned(TimeZone::UTC));
        nanoseconds(zoned.and_then(Result::ok).ok_or_else(unknown)?.timestamp())
    };
    Ok(Named::Times { first: at(0, 0, 0)?, last: at(23, 59, 59)?.saturating_add(SECOND_END) })
}

impl fmt::Display for Moment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Commit(epoch) => write!(formatter, "commit {epoch}"),
            Self::Time(time) => formatter.write_str(&date(*time)),
        }
    }
}

/// A time in nanoseconds as a date of RFC 3339, in UTC and whole seconds.
pub(crate) fn date(time: i64) -> String {
    let time = Timestamp::from_nanosecond(i128::from(time)).expect("every such time has a date");
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

impl Beginning {
    /// The number of the commit that it means in the base of a directory. A number is not looked up.
    ///
    /// # Errors
    /// No commit was made at that time or later, the commits have no times, or they cannot be read.
    pub fn epoch_in(self, directory: impl AsRef<Path>) -> Result<u64, KnowledgeBaseError> {
        match self {
            Self::Commit(epoch) => Ok(epoch),
            Self::Time(time) => CommitJournal::read(directory)?.epoch_from(time),
        }
    }
}

impl CommitJournal {
    /// The number of the commit that a moment means. A number is not looked up.
    ///
    /// # Errors
    /// No commit was made by then, the commits have no times, or they cannot be read.
    pub(crate) fn epoch_at(&self, moment: Moment) -> Result<u64, KnowledgeBaseError> {
        match moment {
            Moment::Commit(epoch) => Ok(epoch),
            Moment::Time(time) => self.epoch_by(time),
        }
    }

    /// The last commit that was made at a time or before.
    fn epoch_by(&self, time: i64) -> Result<u64, KnowledgeBaseError> {
        let (mut found, mut first) = (None, None);
        self.each_time(|epoch, made| {
            first.get_or_insert((epoch, made));
            if made <= time {
                found = Some(epoch);
            }
            ControlFlow::Continue(())
        })?;
        match (found, first) {
            (Some(epoch), _) => Ok(epoch),
            (None, None) => Err(KnowledgeBaseError::NoTimes),
            (None, Some((epoch, made))) => {
                Err(KnowledgeBaseError::BeforeTimes { asked: date(time), epoch, made: date(made) })
            }
        }
    }

    /// The first commit that was made at a time or later.
    fn epoch_from(&self, time: i64) -> Result<u64, KnowledgeBaseError> {
        let (mut found, mut last) = (None, None);
        self.each_time(|epoch, made| {
            last = Some((epoch, made));
            if made < time {
                return ControlFlow::Continue(());
            }
            found = Some(epoch);
            ControlFlow::Break(())
        })?;
        match (found, last) {
            (Some(epoch), _) => Ok(epoch),
            (None, None) => Err(KnowledgeBaseError::NoTimes),
            (None, Some((epoch, made))) => {
                Err(KnowledgeBaseError::AfterTimes { asked: date(time), epoch, made: date(made) })
            }
        }
    }

    /// Hands out the commits that have times, in order: the number of each, and its time.
    fn each_time(&self, mut take: impl FnMut(u64, i64) -> ControlFlow<()>) -> Result<(), KnowledgeBaseError> {
        let (_, mut commits) = self.commits()?;
        while let Some(committed) = commits.next()? {
            let Some(header) = &committed.header else { continue };
            if header.time.is_some_and(|made| take(header.epoch, made).is_break()) {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Result<String, String> {
        text.parse().map(|moment: Moment| moment.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_moment_is_a_number_a_day_or_a_second() {
        for (text, expected) in [
            ("0", "commit 0"),
            ("18446744073709551615", "commit 18446744073709551615"),
            ("2026-11-20", "2026-11-20T23:59:59Z"),
            ("2026-11-20T10:00:00Z", "2026-11-20T10:00:00Z"),
            ("2026-11-20T10:00:00.5Z", "2026-11-20T10:00:00Z"),
            ("2026-11-20T10:00:00+02:00", "2026-11-20T08:00:00Z"),
            ("2024-02-29", "2024-02-29T23:59:59Z"),
        ] {
            assert_eq!(shown(text).as_deref(), Ok(expected), "{text}");
        }
        assert_eq!("1970-01-01T00:00:00.25Z".parse(), Ok(Moment::Time(250_000_000)));
        assert_eq!("1970-01-01T00:00:00Z".parse(), Ok(Moment::Time(SECOND_END)));
        assert_eq!("1970-01-01T00:00:00Z".parse(), Ok(Beginning::Time(0)));
        assert_eq!("1970-01-02".parse(), Ok(Beginning::Time(24 * 60 * 60 * 1_000_000_000)));
    }

    #[test]
    fn what_is_neither_is_told() {
        for text in [
            "",
            "-1",
            "18446744073709551616",
            "yesterday",
            "2026-13-01",
            "2026-02-30",
            "2026-11-20T10:00:00",
            "9999-01-01",
        ] {
            let error = shown(text).expect_err(text);
            assert!(error.contains("neither the number of a commit nor a date"), "{text}: {error}");
        }
    }
}
