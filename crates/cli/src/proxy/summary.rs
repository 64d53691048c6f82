//! What is said at the end: one line when all is well.

use crate::output::counted;
use server::Report;
use std::ffi::OsString;

/// How many misses, unused exchanges and warnings are shown in full.
const SHOWN_MAX: usize = 5;

/// What a run came to.
pub(super) struct Summary<'a> {
    pub(super) report: &'a Report,
    /// The tape, as the user named it.
    pub(super) tape: String,
    /// Whether the verb was `record`.
    pub(super) records: bool,
    /// Whether there was a tape when the run began.
    pub(super) existed: bool,
    /// Whether there is a tape now.
    pub(super) is_kept: bool,
    /// The program, if there was one.
    pub(super) program: Option<&'a OsString>,
}

impl Summary<'_> {
    /// The lines, in order.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = self.differences();
        lines.extend(self.remarks());
        lines.push(self.outcome());
        if self.report.requests == 0 {
            lines.extend(self.nothing_came());
        }
        lines
    }

    /// What makes a replay differ.
    fn differences(&self) -> Vec<String> {
        let report = self.report;
        let mut lines: Vec<String> = Vec::new();
        for miss in report.misses.iter().take(SHOWN_MAX) {
            lines.push(format!("error: {}", miss.to_string().replace('\n', "\n  ")));
        }
        push_rest(&mut lines, report.missed, report.misses.len(), "request that nothing answers");
        if report.missed > 0 {
            lines.push(format!("help: {}", self.after_a_miss()));
        }
        if report.expired > 0 {
            let answers = counted(report.expired, "recorded answer");
            lines.push(format!("error: {answers} too old to be given"));
            lines.push(format!("help: {}, or allow more with --max-age", self.again("all")));
        }
        if report.websocket_differences > 0 {
            let messages = counted(report.websocket_differences, "WebSocket message");
            lines.push(format!("error: {messages} of the program not what was recorded"));
        }
        lines
    }

    fn after_a_miss(&self) -> String {
        let options = "or say what requests may differ in: --ignore-query, --ignore-json, --ignore-body, --repeats";
        format!("{}, {options}", self.again("new"))
    }

    fn again(&self, mode: &str) -> String {
        format!("record it: `mnemon record -o {} --mode {mode} -- …`", self.tape)
    }

    /// What a user should know besides.
    fn remarks(&self) -> Vec<String> {
        let report = self.report;
        let mut lines: Vec<String> = Vec::new();
        for (kind, count) in &report.failures {
            lines.push(format!("note: {} ended in an error of the network: {kind}", counted(*count, "request")));
        }
        // What a warning says more of is not said twice.
        if report.refused > 0 && report.warnings.is_empty() {
            lines.push(format!("warning: refused {} of what came, such as for a limit", report.refused));
        }
        if report.left_out > 0 {
            lines.push(format!("note: {} left out by filters", counted(report.left_out, "request")));
        }
        if report.abandoned > 0 {
            let exchanges = counted(report.abandoned, "exchange");
            lines.push(format!("note: {exchanges} ended by the program before the answer was complete"));
        }
        // Whoever records as well does not look for what a program has ceased to ask.
        if report.unused > 0 && report.requests > 0 && report.recorded == 0 {
            lines.push(format!("note: {} not asked for:", counted(report.unused, "recorded exchange")));
            let shown = report.unused_requests.iter().take(SHOWN_MAX);
            lines.extend(shown.map(|(number, request)| format!("  {number:>5}  {request}")));
            push_rest(&mut lines, report.unused, report.unused_requests.len(), "of them");
        }
        let warnings = report.warnings.iter().take(SHOWN_MAX);
        lines.extend(warnings.map(|warning| format!("warning: {warning}")));
        lines
    }

    fn outcome(&self) -> String {
        let Self { report, tape, .. } = self;
        let recorded = counted(report.recorded, "exchange");
        let answered = counted(report.replayed, "request");
        match (report.recorded, report.replayed) {
            _ if report.forwarded > 0 && report.recorded == 0 => {
                format!("mnemon: passed on {}, recorded nothing", counted(report.forwarded, "request"))
            }
            _ if !self.is_kept => format!("mnemon: recorded nothing, so there is no {tape}"),
            (0, _) if self.records && self.existed => {
                format!("mnemon: answered {answered} from {tape}, which was there already; --mode all records it anew")
            }
            (0, _) if !self.records => format!("mnemon: answered {answered} from {tape}"),
            (_, 0) => format!("mnemon: recorded {recorded} in {tape}"),
            _ => format!("mnemon: recorded {recorded} in {tape}, answered {answered} from it"),
        }
    }

    /// A program whose requests went past the proxy looks like one that made none.
    fn nothing_came(&self) -> Vec<String> {
        let Some(program) = self.program else { return Vec::new() };
        let what = match self.report.connections {
            0 => format!("warning: {} made no request through the proxy", program.display()),
            _ => format!("warning: {} came to the proxy and then asked for nothing", program.display()),
        };
        let help = match self.report.connections {
            0 => {
                "help: if it should have, it takes no proxy from HTTPS_PROXY: look for a setting of its own, and see \
                 \"When nothing is recorded\" in docs/recording.md"
            }
            _ => {
                "help: most likely it does not trust the proxy's certificate: see \"When nothing is recorded\" in \
                 docs/recording.md"
            }
        };
        vec![what, help.to_owned()]
    }
}

/// Says how many more there are than were shown.
fn push_rest(lines: &mut Vec<String>, count: u64, known: usize, what: &str) {
    let shown = known.min(SHOWN_MAX) as u64;
    if count > shown {
        lines.push(format!("  … and {} more {what}", count - shown));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(records: bool, existed: bool, change: impl FnOnce(&mut Report)) -> Vec<String> {
        let mut report = Report::default();
        change(&mut report);
        let program = OsString::from("curl");
        let tape = "trip.tape".to_owned();
        Summary { report: &report, tape, records, existed, is_kept: true, program: Some(&program) }.lines()
    }

    #[test]
    fn all_well_is_one_line() {
        let some = |report: &mut Report| (report.requests, report.recorded) = (2, 2);
        assert_eq!(lines(true, false, some), ["mnemon: recorded 2 exchanges in trip.tape"]);
        let some = |report: &mut Report| (report.requests, report.replayed) = (1, 1);
        assert_eq!(lines(false, true, some), ["mnemon: answered 1 request from trip.tape"]);
        assert!(lines(true, true, some)[0].ends_with("which was there already; --mode all records it anew"));
    }

    #[test]
    fn a_program_that_asked_nothing_is_told() {
        let said = lines(true, false, |_| ());
        assert_eq!(said[1], "warning: curl made no request through the proxy");
        assert!(said[2].starts_with("help: "), "{said:?}");
        assert!(lines(true, false, |report| report.connections = 1)[2].contains("certificate"));
    }

    #[test]
    fn unused_exchanges_are_shown_up_to_a_number() {
        let said = lines(false, true, |report| {
            (report.requests, report.replayed, report.unused) = (1, 1, 7);
            report.unused_requests = (0..7).map(|number| (number, format!("GET https://a.test/{number}"))).collect();
        });
        assert_eq!(said[0], "note: 7 recorded exchanges not asked for:");
        assert_eq!(said[5], "      4  GET https://a.test/4");
        assert_eq!(said[6], "  … and 2 more of them");
    }
}
