//! The date of today, in the form YYYY-MM-DD, by Coordinated Universal Time.

use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_A_DAY: u64 = 24 * 60 * 60;

pub(super) fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    date(since.as_secs() / SECONDS_A_DAY)
}

/// The date so many days after 1 January 1970.
///
/// Years are taken to begin in March, so that the odd day of a leap year is its last (Howard Hinnant, `civil_from_days`).
fn date(days: u64) -> String {
    /// From 1 March of the year 0 to 1 January 1970.
    const BEFORE_1970: u64 = 719_468;
    const DAYS_IN_400_YEARS: u64 = 146_097;
    let days = days + BEFORE_1970;
    let (era, day) = (days / DAYS_IN_400_YEARS, days % DAYS_IN_400_YEARS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, is_next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year + is_next_year)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (58, "1970-02-28"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (19_722, "2023-12-31"),
            (19_723, "2024-01-01"),
            (47_541, "2100-03-01"),
        ] {
            assert_eq!(date(days), expected);
        }
    }
}
