//! What is said at the end: one line when all is well.

use crate::output::{counted, shell_word};
use cassette::matching::{Difference, Miss, Reason};
use server::{AmbiguousAnswers, Report};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

/// How many misses, unused exchanges and warnings are shown in full.
const SHOWN_MAX: usize = 5;

/// What there was at the cassette's place when a run began.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CassetteBefore {
    Nothing,
    /// A cassette that answers, and may be added to.
    Used,
    /// A cassette that another one takes the place of, if anything is recorded.
    Replaced,
}

/// In whose words help is given: who starts `metroon` for its own users names their switches, and not those of the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum HelpStyle {
    #[default]
    CommandLine,
    /// The plugin for pytest.
    Pytest,
    /// The helper for Node.
    Node,
    /// A block of a Python script.
    Python,
}

impl HelpStyle {
    /// By its name, as `METROON_HELP_STYLE` has it.
    pub(super) fn named(name: &str) -> Self {
        match name {
            "pytest" => Self::Pytest,
            "node" => Self::Node,
            "python" => Self::Python,
            _ => Self::CommandLine,
        }
    }

    /// How a mode is chosen.
    fn mode(self, mode: &str) -> String {
        match self {
            Self::CommandLine => format!("--mode {mode}"),
            Self::Pytest => format!("--metroon-mode={mode}"),
            Self::Node => format!("mode: '{mode}'"),
            Self::Python => format!("mode=\"{mode}\""),
        }
    }

    /// How options of `metroon` are given.
    fn options(self, options: &BTreeSet<AllowingOption>) -> String {
        let list = |quote: char| {
            let escaped = |text: String| text.replace('\\', r"\\").replace(quote, &format!("\\{quote}"));
            let word = |option: &AllowingOption| format!("{quote}{}{quote}", escaped(option.as_word()));
            options.iter().map(word).collect::<Vec<_>>().join(", ")
        };
        match self {
            Self::CommandLine => options.iter().map(AllowingOption::as_words).collect::<Vec<_>>().join(" "),
            Self::Pytest => format!("@pytest.mark.metroon(options=[{}])", list('"')),
            Self::Node => format!("options: [{}]", list('\'')),
            Self::Python => format!("options=[{}]", list('"')),
        }
    }
}

/// An option that allows requests to differ, and its value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct AllowingOption(&'static str, Option<String>);

impl AllowingOption {
    fn of(option: &'static str, value: &str) -> Self {
        Self(option, Some(value.to_owned()))
    }

    /// As a shell takes it.
    fn as_words(&self) -> String {
        match self {
            Self(option, Some(value)) => format!("{option} {}", shell_word(value)),
            Self(option, None) => (*option).to_owned(),
        }
    }

    /// As one word of a list.
    fn as_word(&self) -> String {
        match self {
            Self(option, Some(value)) => format!("{option}={value}"),
            Self(option, None) => (*option).to_owned(),
        }
    }
}

/// What has become of the recording.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum RecordingResult {
    /// The cassette, with all of it.
    All,
    /// This many exchanges, in a recording of this name, since something failed.
    Unsealed(u64, String),
    /// All of it, in a cassette of this name, since the file of another form could not be written.
    Unwritten(String),
    /// There is no cassette.
    Nothing,
}

/// What a run came to.
pub(super) struct Summary<'a> {
    pub(super) report: &'a Report,
    /// The cassette, as the user named it.
    pub(super) cassette: String,
    /// The file that answers: the cassette, or its recording where that was never sealed.
    pub(super) answers_from: String,
    /// Whether the verb was `record`.
    pub(super) records: bool,
    pub(super) before: CassetteBefore,
    pub(super) kept: RecordingResult,
    pub(super) style: HelpStyle,
    /// The program, if there was one.
    pub(super) program: Option<&'a OsString>,
}

impl Summary<'_> {
    /// The lines, in order.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = self.differences();
        lines.extend(self.remarks());
        lines.push(self.outcome());
        if self.report.requests == 0 && self.report.bypassed.is_empty() {
            lines.extend(self.nothing_came());
        }
        lines
    }

    /// What makes a replay differ.
    fn differences(&self) -> Vec<String> {
        let report = self.report;
        let mut lines: Vec<String> = Vec::new();
        for (miss, times) in report.misses.iter().take(SHOWN_MAX) {
            lines.push(format!("error: {}", miss.to_string().replace('\n', "\n  ")));
            if *times > 1 {
                lines.push(format!("  it came {times} times"));
            }
        }
        let shown: u64 = report.misses.iter().take(SHOWN_MAX).map(|(_, times)| times).sum();
        push_rest(&mut lines, report.missed, shown, "that nothing answers");
        if report.missed > 0 {
            lines.push(format!("help: {}", self.after_a_miss()));
        }
        if report.expired > 0 {
            let answers = counted(report.expired, "recorded answer");
            lines.push(format!("error: {answers} too old to be given"));
            lines.push(format!("help: {}, or allow more with --max-age", self.again("all")));
        }
        if report.unreadable > 0 {
            lines.push(format!(
                "error: {} not answered, since the cassette cannot be read",
                counted(report.unreadable, "request")
            ));
        }
        if report.too_long > 0 {
            lines.push(format!("error: {} too long to be looked up", counted(report.too_long, "request")));
            lines.push("help: --ignore-body compares requests without their bodies".to_owned());
        }
        if !report.bypassed.is_empty() {
            lines.extend(self.past_the_proxy());
        }
        if report.websocket_differences > 0 {
            let messages = counted(report.websocket_differences, "WebSocket message");
            lines.push(format!("error: {messages} of the program not what was recorded"));
        }
        if !report.allows_ambiguous {
            lines.extend(self.ambiguous_answers("error"));
        }
        lines
    }

    /// Which answers may have gone to another of equal requests.
    fn ambiguous_answers(&self, kind: &str) -> Vec<String> {
        let Report { ambiguous, ambiguous_answers, .. } = self.report;
        let mut lines: Vec<String> =
            ambiguous_answers.iter().take(SHOWN_MAX).map(|answers| ambiguity(kind, answers)).collect();
        let shown = lines.len() as u64;
        push_rest(&mut lines, *ambiguous, shown, "of them");
        if !lines.is_empty() && kind == "error" {
            let allowing = self.style.options(&BTreeSet::from([AllowingOption("--allow-ambiguous", None)]));
            lines.push(format!(
                "help: have each of them say what it is for, in its body or in a header that --match-header names, and record \
                 them again; or allow it with {allowing}"
            ));
        }
        lines
    }

    /// Where the program wanted to go by itself.
    fn past_the_proxy(&self) -> [String; 2] {
        let shown = self.report.bypassed.iter().take(SHOWN_MAX).map(|(place, times)| match times {
            1 => place.clone(),
            times => format!("{place} ({times} times)"),
        });
        let mut shown = shown.collect::<Vec<_>>().join(", ");
        let more = self.report.bypassed.len().saturating_sub(SHOWN_MAX);
        if more > 0 {
            shown.push_str(&format!(" and {more} more"));
        }
        let program = self.program.map_or("the program".to_owned(), |program| program.display().to_string());
        [
            format!("error: {program} went past the proxy, to {shown}; it is isolated, so nothing got there"),
            "help: have its client use the proxy that HTTPS_PROXY names; with --isolate=off it would reach the network"
                .to_owned(),
        ]
    }

    fn after_a_miss(&self) -> String {
        let again = self.again("new");
        match allowing(self.report.misses.iter().take(SHOWN_MAX).map(|(miss, _)| miss)) {
            options if options.is_empty() => again,
            options => format!("{again}, or allow it with {}", self.style.options(&options)),
        }
    }

    fn again(&self, mode: &str) -> String {
        match self.style {
            HelpStyle::CommandLine => format!("record it: `metroon record -o {} --mode {mode} -- …`", self.cassette),
            HelpStyle::Pytest => format!("record it: run pytest with {}", self.style.mode(mode)),
            HelpStyle::Node => format!("record it: start metroon with {}", self.style.mode(mode)),
            HelpStyle::Python => format!("record it: call metroon.cassette with {}", self.style.mode(mode)),
        }
    }

    /// What a user should know besides.
    fn remarks(&self) -> Vec<String> {
        let report = self.report;
        let mut lines: Vec<String> = Vec::new();
        for (kind, count) in &report.failures {
            lines.push(format!("note: {} ended in an error of the network: {kind}", counted(*count, "request")));
        }
        if report.left_out > 0 {
            lines.push(format!("note: {} left out by filters", counted(report.left_out, "request")));
        }
        if !report.telemetry.is_empty() {
            let all = counted(report.telemetry.values().sum(), "request");
            let each: Vec<String> =
                report.telemetry.iter().map(|(name, count)| format!("{count} for {name}")).collect();
            lines.push(format!("note: {all} with telemetry taken and sent nowhere: {}", each.join(", ")));
        }
        if report.abandoned > 0 {
            let exchanges = counted(report.abandoned, "exchange");
            lines.push(format!("note: {exchanges} ended by the program before the answer was complete"));
        }
        if report.allows_ambiguous {
            lines.extend(self.ambiguous_answers("note"));
        }
        lines.extend(self.order());
        lines.extend(self.secrets());
        lines.extend(self.arguments());
        for address in report.unanswered.iter().take(SHOWN_MAX) {
            lines.push(format!(
                "note: nothing answered at {address}, which is the program's own while it is isolated; --pass host={address} \
                 leads to yours"
            ));
        }
        // A run that records as well does not look for what a program has ceased to ask.
        if report.unused > 0 && report.requests > 0 && report.recorded == 0 {
            lines.push(format!("note: {} not asked for:", counted(report.unused, "recorded exchange")));
            let shown = report.unused_requests.iter().take(SHOWN_MAX);
            lines.extend(shown.map(|(number, request)| format!("  {number:>5}  {request}")));
            push_rest(&mut lines, report.unused, report.unused_requests.len().min(SHOWN_MAX) as u64, "of them");
        }
        let warnings = report.warnings.iter().take(SHOWN_MAX);
        lines.extend(warnings.map(|warning| format!("warning: {warning}")));
        lines
    }

    /// Where the order of answers may not be that of the recording.
    fn order(&self) -> Vec<String> {
        let Report { late, untimed, .. } = self.report;
        let mut lines = Vec::new();
        if *late > 0 {
            lines.push(format!(
                "warning: some answers were given before {} that came before them when they were recorded, but not in time now: \
                 the program was slower, or asks in another order",
                counted(*late, "request")
            ));
        }
        if *untimed > 0 {
            lines.push(format!(
                "warning: {} does not say when answers were over, so what was asked at once was answered in the order of the \
                 requests; record it again to have the answers in theirs",
                self.cassette
            ));
        }
        lines
    }

    /// How many secrets were replaced, and where.
    fn secrets(&self) -> Option<String> {
        let found = &self.report.secrets;
        let mut places: BTreeMap<&str, u64> = BTreeMap::new();
        found.places.iter().for_each(|(finding, times)| *places.entry(&finding.place).or_default() += times);
        let more = places.len().saturating_sub(SHOWN_MAX);
        let mut shown: Vec<_> = places.iter().take(SHOWN_MAX).map(|(at, times)| format!("{times} in {at}")).collect();
        shown.extend((more > 0).then(|| format!("the others in {}", counted(more as u64, "more place"))));
        let secrets = counted(found.replaced, "secret");
        (found.replaced > 0).then(|| format!("note: {secrets} replaced by REDACTED: {}", shown.join(", ")))
    }

    /// Which answers call tools with something else than what was recorded.
    fn redacted_calls(&self) -> Option<String> {
        let Report { redacted_calls, redacted_exchanges, .. } = self.report;
        let shown: Vec<_> = redacted_exchanges.iter().take(SHOWN_MAX).map(u64::to_string).collect();
        let more = redacted_calls.saturating_sub(shown.len() as u64);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        let exchanges = if *redacted_calls == 1 { "exchange" } else { "exchanges" };
        (*redacted_calls > 0).then(|| {
            format!(
                "warning: tools are called with REDACTED in place of a secret, in the recorded answers of {exchanges} {}{rest}",
                shown.join(", ")
            )
        })
    }

    /// How many values of secret names stay, and how many secrets are gone, in what tools are called with.
    fn arguments(&self) -> Vec<String> {
        let found = &self.report.secrets;
        let of_tools =
            found.places.iter().filter(|(finding, _)| finding.place.ends_with("in what a tool is called with"));
        let gone: u64 = of_tools.map(|(_, times)| times).sum();
        let stays = (found.stays > 0).then(|| {
            let values = counted(found.stays, "value");
            format!("note: {values} of secret names recorded as they are, in what tools are called with; --secret-name NAME replaces them")
        });
        let gone = (gone > 0).then(|| {
            let secrets = counted(gone, "secret");
            format!(
                "warning: {secrets} replaced in what tools are called with; on replay they are called with REDACTED"
            )
        });
        stays.into_iter().chain(gone).chain(self.redacted_calls()).collect()
    }

    fn outcome(&self) -> String {
        let passed = match self.report.passed {
            0 => String::new(),
            passed => format!("; passed on {}", counted(passed, "request")),
        };
        format!("metroon: {}{passed}", self.what_was_done())
    }

    fn what_was_done(&self) -> String {
        let Self { report, cassette, answers_from, .. } = self;
        let recorded = counted(report.recorded, "exchange");
        let answered = counted(report.replayed, "request");
        match (report.recorded, report.replayed) {
            _ if report.forwarded > 0 && report.recorded == 0 => {
                format!("passed on {}, recorded nothing", counted(report.forwarded, "request"))
            }
            (of, _) if let RecordingResult::Unsealed(left, recording) = &self.kept => {
                format!("{} of {of} recorded, in {recording}, which is not sealed", counted(*left, "exchange"))
            }
            _ if let RecordingResult::Unwritten(sealed) = &self.kept => format!("{recorded} recorded, in {sealed}"),
            (1.., _) if self.kept == RecordingResult::Nothing => {
                format!("nothing could be recorded, so there is no {cassette}")
            }
            _ if self.kept == RecordingResult::Nothing => format!("recorded nothing, so there is no {cassette}"),
            (0, 0) if self.before == CassetteBefore::Replaced => {
                format!("recorded nothing, so {cassette} stays as it was")
            }
            (0, _) if self.records && self.before == CassetteBefore::Used => {
                format!(
                    "answered {answered} from {answers_from}, which was there already; {} records it anew",
                    self.style.mode("all")
                )
            }
            (0, _) if !self.records => format!("answered {answered} from {answers_from}"),
            (_, 0) => format!("recorded {recorded} in {cassette}"),
            _ => format!("recorded {recorded} in {cassette}, answered {answered} from it"),
        }
    }

    /// A program whose requests went past the proxy looks like one that made none.
    fn nothing_came(&self) -> Vec<String> {
        let Some(program) = self.program else { return Vec::new() };
        let what = match self.report.connections {
            0 => format!("warning: {} made no request through the proxy", program.display()),
            _ => format!("warning: {} connected to the proxy and then asked for nothing", program.display()),
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

/// The options with which the requests would have been answered, as far as there are such.
fn allowing<'m>(misses: impl Iterator<Item = &'m Miss>) -> BTreeSet<AllowingOption> {
    let mut options = BTreeSet::new();
    for miss in misses {
        match &miss.reason {
            Reason::AllGiven { .. } => drop(options.insert(AllowingOption::of("--repeats", "last"))),
            Reason::Unlike(nearest) => {
                // Those that allow a part of what differs do not help.
                let all: Option<Vec<_>> = nearest.differences.iter().map(allowed).collect();
                options.extend(all.into_iter().flatten());
            }
            _ => {}
        }
    }
    let is_json = |option: &AllowingOption| option.0 == IGNORE_JSON;
    if options.iter().filter(|option| is_json(option)).count() > JSON_PATHS_MAX {
        options.insert(AllowingOption(IGNORE_BODY, None));
    }
    if options.iter().any(|option| option.0 == IGNORE_BODY) {
        options.retain(|option| !is_json(option));
    }
    options
}

const IGNORE_BODY: &str = "--ignore-body";
const IGNORE_JSON: &str = "--ignore-json";
/// For more places in JSON than these, all of the body is left out.
const JSON_PATHS_MAX: usize = 12;

/// The option that allows a difference.
fn allowed(difference: &Difference) -> Option<AllowingOption> {
    if let Some(path) = &difference.json_path {
        return Some(AllowingOption::of(IGNORE_JSON, path));
    }
    // Of a name that is too long to be shown not all is known.
    let place = Some(difference.place.as_str()).filter(|place| !place.ends_with('…'))?;
    match place.split_once(' ').unwrap_or((place, "")) {
        ("scheme" | "host" | "port", "") => Some(AllowingOption("--ignore-host", None)),
        ("query", name) => Some(AllowingOption::of("--ignore-query", name)),
        ("body" | "form", _) => Some(AllowingOption(IGNORE_BODY, None)),
        _ => None,
    }
}

/// What is said of equal requests with different answers.
fn ambiguity(kind: &str, answers: &AmbiguousAnswers) -> String {
    let AmbiguousAnswers { request, exchanges, difference, .. } = answers;
    format!(
        "{kind}: {} equal requests were made at once and answered differently, so each may have got the answer of another: {request}\n  \
         exchanges {}; the first two that differ: {difference}",
        exchanges.len(),
        ranges(exchanges)
    )
}

/// Numbers in ascending order, those that follow one another as a range: `3, 7-12, 14`.
fn ranges(numbers: &[u64]) -> String {
    let runs = numbers.chunk_by(|one, next| *next == one + 1);
    let mut shown: Vec<_> = runs
        .map(|run| match run {
            [first, .., last] if last - first > 1 => format!("{first}-{last}"),
            run => run.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        })
        .collect();
    if shown.len() > RANGES_MAX {
        shown.truncate(RANGES_MAX);
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

/// How many ranges of numbers are shown.
const RANGES_MAX: usize = 12;

/// Says how many more there are than were shown.
fn push_rest(lines: &mut Vec<String>, count: u64, shown: u64, what: &str) {
    if count > shown {
        lines.push(format!("  … and {} more {what}", count - shown));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(records: bool, before: CassetteBefore, change: impl FnOnce(&mut Report)) -> Vec<String> {
        let mut report = Report::default();
        change(&mut report);
        let program = OsString::from("curl");
        let cassette = "trip.cassette".to_owned();
        Summary {
            report: &report,
            answers_from: cassette.clone(),
            cassette,
            records,
            before,
            kept: RecordingResult::All,
            style: HelpStyle::default(),
            program: Some(&program),
        }
        .lines()
    }

    #[test]
    fn all_well_is_one_line() {
        let some = |report: &mut Report| (report.requests, report.recorded) = (2, 2);
        assert_eq!(lines(true, CassetteBefore::Nothing, some), ["metroon: recorded 2 exchanges in trip.cassette"]);
        let some = |report: &mut Report| (report.requests, report.replayed) = (1, 1);
        assert_eq!(lines(false, CassetteBefore::Used, some), ["metroon: answered 1 request from trip.cassette"]);
        assert!(
            lines(true, CassetteBefore::Used, some)[0].ends_with("which was there already; --mode all records it anew")
        );
    }

    #[test]
    fn secrets_that_were_replaced_are_told_with_their_places() {
        use cassette::redact::Finding;
        let said = lines(true, CassetteBefore::Nothing, |report| {
            (report.requests, report.recorded, report.secrets.replaced) = (1, 1, 4);
            for (place, what, times) in
                [("request target", "a", 1), ("response body", "b", 2), ("response body", "c", 1)]
            {
                let finding = Finding { place: place.to_owned(), what: what.to_owned() };
                report.secrets.places.insert(finding, times);
            }
        });
        assert_eq!(said[0], "note: 4 secrets replaced by REDACTED: 1 in request target, 3 in response body");
    }

    #[test]
    fn a_cassette_that_nothing_takes_the_place_of_is_said_to_stay() {
        assert_eq!(
            lines(true, CassetteBefore::Replaced, |_| ())[0],
            "metroon: recorded nothing, so trip.cassette stays as it was"
        );
        let some = |report: &mut Report| (report.requests, report.recorded) = (2, 2);
        assert_eq!(lines(true, CassetteBefore::Replaced, some), ["metroon: recorded 2 exchanges in trip.cassette"]);
    }

    #[test]
    fn a_program_that_asked_nothing_is_told() {
        let said = lines(true, CassetteBefore::Nothing, |_| ());
        assert_eq!(said[1], "warning: curl made no request through the proxy");
        assert!(said[2].starts_with("help: "), "{said:?}");
        assert!(lines(true, CassetteBefore::Nothing, |report| report.connections = 1)[2].contains("certificate"));
    }

    #[test]
    fn a_miss_is_told_with_what_would_allow_it() {
        use cassette::matching::{MatchRules, Player, Repeats};
        use cassette::{Body, Exchange, Header, Request};
        let request = |host: &'static str, target: &'static str, body: &'static str| Request {
            method: "POST".into(),
            scheme: "https".into(),
            host: host.into(),
            port: 443,
            target: target.into(),
            headers: vec![Header::new("Content-Type", "application/json")],
            body: Some(Body::new(0, body)),
            ..Request::default()
        };
        let recorded = [Exchange { request: request("a.test", "/x?y=1", r#"{"b":{"c":[1]}}"#), ..Exchange::default() }];
        let helps = |live: &Request<'_>| {
            let player = Player::new(&recorded[..], MatchRules::default(), Repeats::Refused).unwrap();
            let missed = (0..2).find_map(|_| player.find(live).err());
            let Some(cassette::matching::NoAnswer::Miss(miss)) = missed else { panic!("it is asked for too often") };
            let miss = *miss;
            [HelpStyle::CommandLine, HelpStyle::Pytest, HelpStyle::Node, HelpStyle::Python]
                .map(|style| style.options(&allowing([&miss].into_iter())))
        };
        let all_helps = helps;
        let helps = |live: &Request<'_>| all_helps(live)[0].clone();
        assert_eq!(helps(&request("a.test", "/x?y=1", r#"{"b":{"c":[1]}}"#)), "--repeats last");
        assert_eq!(helps(&request("b.test", "/x?y=2", r#"{"b":{"c":[1]}}"#)), "--ignore-host --ignore-query y");
        assert_eq!(
            all_helps(&request("a.test", "/x?y=1&it's=2", r#"{"b":{"c":[2]},"d":1}"#)),
            [
                r"--ignore-json b.c.0 --ignore-json d --ignore-query 'it'\''s'",
                r#"@pytest.mark.metroon(options=["--ignore-json=b.c.0", "--ignore-json=d", "--ignore-query=it's"])"#,
                r"options: ['--ignore-json=b.c.0', '--ignore-json=d', '--ignore-query=it\'s']",
                r#"options=["--ignore-json=b.c.0", "--ignore-json=d", "--ignore-query=it's"]"#,
            ]
        );
        assert_eq!(helps(&request("a.test", "/x?y=1", "no JSON")), "--ignore-body");
        // A path cannot be allowed to differ.
        assert_eq!(helps(&request("a.test", "/z?y=2", r#"{"b":{"c":[1]}}"#)), "");
    }

    #[test]
    fn ambiguous_answers_are_told_with_their_numbers() {
        let said = |allows| {
            lines(false, CassetteBefore::Used, |report| {
                (report.requests, report.replayed, report.ambiguous, report.allows_ambiguous) = (4, 4, 1, allows);
                let mut answers = AmbiguousAnswers::default();
                answers.request = "POST https://a.test/".to_owned();
                answers.exchanges = vec![0, 1, 2, 4];
                answers.difference = "response body at id: 1 -> 2".to_owned();
                report.ambiguous_answers = vec![answers];
            })
        };
        let what = "4 equal requests were made at once and answered differently, so each may have got the answer of another: \
                    POST https://a.test/\n  exchanges 0-2, 4; the first two that differ: response body at id: 1 -> 2";
        assert_eq!(said(false)[0], format!("error: {what}"));
        assert!(said(false)[1].ends_with("or allow it with --allow-ambiguous"));
        assert_eq!(said(true)[..1], [format!("note: {what}")]);
        assert_eq!((said(true).len(), ranges(&[1, 2, 5, 7, 8, 9])), (2, "1, 2, 5, 7-9".to_owned()));
    }

    #[test]
    fn what_is_not_there_is_not_said_to_be() {
        let mut report = Report::default();
        (report.requests, report.recorded) = (3, 3);
        let said = |kept| {
            let (cassette, style) = ("trip.cassette".to_owned(), HelpStyle::default());
            let before = CassetteBefore::Nothing;
            let answers_from = cassette.clone();
            Summary { report: &report, cassette, answers_from, records: true, before, kept, style, program: None }
                .lines()
                .remove(0)
        };
        assert_eq!(said(RecordingResult::Nothing), "metroon: nothing could be recorded, so there is no trip.cassette");
        assert_eq!(
            said(RecordingResult::Unsealed(2, "trip.cassette.recording".to_owned())),
            "metroon: 2 exchanges of 3 recorded, in trip.cassette.recording, which is not sealed"
        );
    }

    #[test]
    fn equal_misses_are_told_once_with_their_number() {
        use cassette::matching::Miss;
        let miss = |path: &str| Miss { request: format!("GET https://a.test{path}"), reason: Reason::Empty };
        let said = lines(false, CassetteBefore::Used, |report| {
            (report.requests, report.missed) = (11, 11);
            report.misses = vec![(miss("/a"), 3), (miss("/b"), 1)];
            report.misses.extend((0..5).map(|number| (miss(&format!("/{number}")), 1)));
        });
        assert_eq!(said[0], "error: no recorded exchange answers GET https://a.test/a\n  nothing is recorded");
        assert_eq!(said[1], "  it came 3 times");
        assert!(said[2].contains("/b") && said[3].contains("/0"), "{said:?}");
        assert_eq!(said[6], "  … and 4 more that nothing answers");
    }

    #[test]
    fn telemetry_is_told_once_with_its_services() {
        let said = lines(false, CassetteBefore::Used, |report| {
            (report.requests, report.replayed) = (5, 1);
            report.telemetry = [("OpenTelemetry".to_owned(), 3), ("PostHog".to_owned(), 1)].into();
        });
        assert_eq!(
            said,
            [
                "note: 4 requests with telemetry taken and sent nowhere: 3 for OpenTelemetry, 1 for PostHog",
                "metroon: answered 1 request from trip.cassette"
            ]
        );
    }

    #[test]
    fn unused_exchanges_are_shown_up_to_a_number() {
        let said = lines(false, CassetteBefore::Used, |report| {
            (report.requests, report.replayed, report.unused) = (1, 1, 7);
            report.unused_requests = (0..7).map(|number| (number, format!("GET https://a.test/{number}"))).collect();
        });
        assert_eq!(said[0], "note: 7 recorded exchanges not asked for:");
        assert_eq!(said[5], "      4  GET https://a.test/4");
        assert_eq!(said[6], "  … and 2 more of them");
    }
}
