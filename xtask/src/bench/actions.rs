//! What a user does, and the case that measures it: the rows of the first page, in their order.
//!
//! Each is a whole action in plain words, not a part of one. An action names its case by suite, case and peer; a test holds
//! that the suite makes that case.

/// The most rows that a reader takes in on one page.
#[cfg(test)]
const ROWS_MAX: usize = 25;
/// The most letters that the chart has room for.
#[cfg(test)]
const WORDS_MAX: usize = 60;

/// One row of the first page.
pub(super) struct Action {
    pub(super) kind: Kind,
    pub(super) words: &'static str,
    pub(super) suite: &'static str,
    pub(super) case: &'static str,
    pub(super) peer: &'static str,
    pub(super) target: Option<Target>,
    /// Whether the README shows it as well.
    pub(super) is_in_readme: bool,
}

/// What kind of thing a user does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Run,
    Load,
    Ask,
    Record,
    Replay,
    Reopen,
}

impl Kind {
    pub(super) fn shown(self) -> &'static str {
        match self {
            Self::Run => "Run",
            Self::Load => "Load",
            Self::Ask => "Ask",
            Self::Record => "Record and keep",
            Self::Replay => "Replay",
            Self::Reopen => "Reopen",
        }
    }
}

/// What a figure must be, where an issue of the project says so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Target {
    /// The ratio must be this or more.
    RatioMin(f64),
    /// Our time of an operation must be this or less, in nanoseconds.
    NanosecondsMax(f64),
}

impl Action {
    const fn of(kind: Kind, words: &'static str, [suite, case, peer]: [&'static str; 3]) -> Self {
        Self { kind, words, suite, case, peer, target: None, is_in_readme: false }
    }

    const fn must(self, target: Target) -> Self {
        Self { target: Some(target), ..self }
    }

    /// Whether the peer is Metroon without what the action is about, so that the ratio says what that costs.
    pub(super) fn is_beside_itself(&self) -> bool {
        ["the same, ", "the run itself", "ours, "].iter().any(|beginning| self.peer.starts_with(beginning))
    }

    const fn in_readme(self) -> Self {
        Self { is_in_readme: true, ..self }
    }
}

const HYPERON: &str = "hyperon 0.2.6";
const SWIPL: &str = "swipl";
const DUCKDB: &str = "DuckDB 1.4.1";
const SQLITE: &str = "sqlite3";
const MITMPROXY: &str = "mitmproxy 11.0.2";
const VCRPY: &str = "vcrpy 9.4.2";

pub(super) const ACTIONS: &[Action] = &[
    Action::of(
        Kind::Run,
        "Run a small program, the whole process",
        ["recall", "a small program, from start to end", HYPERON],
    )
    .in_readme(),
    Action::of(
        Kind::Run,
        "Compute a Fibonacci number by a recursive rule, a call",
        ["metta", "fib 30, a call", HYPERON],
    )
    .must(Target::RatioMin(1000.0))
    .in_readme(),
    Action::of(Kind::Run, "Compute a Fibonacci number by a recursive rule, a call", ["metta", "fib 30, a call", SWIPL])
        .must(Target::RatioMin(1.0))
        .in_readme(),
    Action::of(Kind::Run, "Solve the zebra puzzle", ["metta", "zebra, a solution", SWIPL]).must(Target::RatioMin(1.0)),
    Action::of(Kind::Run, "Search for proofs over typed rules, a proof", ["metta", "proofs, a proof", SWIPL]),
    Action::of(Kind::Run, "State a fact while a program runs", ["metta", "add-atom 1000000, an atom", SWIPL])
        .must(Target::RatioMin(1.0)),
    Action::of(
        Kind::Load,
        "Run a text of 1,000,000 facts, a fact",
        ["space", "text load of 1M by `metroon run`, a fact", HYPERON],
    ),
    Action::of(
        Kind::Load,
        "Load a text of 1,000,000 facts as data into memory, a fact",
        ["space", "text load of 1M by `Engine::load`, a fact", DUCKDB],
    )
    .must(Target::RatioMin(1.0))
    .in_readme(),
    Action::of(
        Kind::Load,
        "Load it into a base on disk, the peer into memory, a fact",
        ["space", "text load of 1M by `metroon kb load`, a fact", DUCKDB],
    ),
    Action::of(
        Kind::Load,
        "Load 500,000 facts into a new base, the whole process",
        ["recall", "500,000 facts loaded into a new base", SQLITE],
    ),
    Action::of(
        Kind::Ask,
        "Ask for one of 500,000 facts, known or unknown, in a loop",
        ["space", "a program asks by the first argument, 500k", SWIPL],
    )
    .must(Target::NanosecondsMax(100.0)),
    Action::of(
        Kind::Ask,
        "Ask which facts have a second argument, a result",
        ["space", "a program asks by the second argument, 500k", DUCKDB],
    )
    .in_readme(),
    Action::of(
        Kind::Ask,
        "Ask for all of 500,000 facts, a result",
        ["space", "a program asks for all facts, 500k", SWIPL],
    ),
    Action::of(
        Kind::Ask,
        "Ask a question that comes as a text",
        ["space", "a text asks by the first argument, 500k", HYPERON],
    ),
    Action::of(
        Kind::Ask,
        "Ask while another thread adds facts, 99th percentile",
        ["space", "a question while another thread loads, p99", "ours, idle"],
    )
    .must(Target::RatioMin(0.5)),
    Action::of(
        Kind::Record,
        "Record the run of a program that states 500,000 facts",
        ["recall", "500,000 facts run, recorded", "the same, not recorded"],
    )
    .must(Target::RatioMin(0.952)),
    Action::of(
        Kind::Record,
        "Keep what the same program does in a new base",
        ["recall", "500,000 facts run, kept in a new base", "the same, not kept"],
    )
    .must(Target::RatioMin(0.769)),
    Action::of(
        Kind::Record,
        "Add 1,000 facts to a base, each on the disk before the next",
        ["recall", "1,000 facts added, each durable", SQLITE],
    )
    .in_readme(),
    Action::of(
        Kind::Record,
        "Record a program's HTTP traffic through the proxy, a request",
        ["proxy", "recorded, plain", MITMPROXY],
    )
    .must(Target::RatioMin(20.0))
    .in_readme(),
    Action::of(
        Kind::Replay,
        "Replay the run of a program on WordNet, each answer checked",
        ["recall", "WordNet program, replayed", "the run itself"],
    ),
    Action::of(
        Kind::Replay,
        "Replay a session of 500 requests in Python, a request",
        ["proxy", "replayed, requests", VCRPY],
    )
    .must(Target::RatioMin(2.0))
    .in_readme(),
    Action::of(Kind::Replay, "Answer HTTPS requests from a cassette, a request", ["proxy", "replayed, TLS", MITMPROXY])
        .must(Target::RatioMin(20.0)),
    Action::of(
        Kind::Reopen,
        "Open a base of 500,000 facts and ask one question",
        ["recall", "a base of 500,000 facts asked by `metroon kb query`", SQLITE],
    ),
    Action::of(
        Kind::Reopen,
        "Open a base of 500,000 facts and ask; the peer reads text",
        ["recall", "a base of 500,000 facts opened, one question", HYPERON],
    )
    .in_readme(),
    Action::of(
        Kind::Reopen,
        "Open a cassette of 500 exchanges and read all, an exchange",
        ["cassette", "loaded, 500", "vcrpy 9.4.2, YAML"],
    )
    .must(Target::RatioMin(1.0))
    .in_readme(),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_first_page_is_short_and_no_row_comes_twice() {
        assert!(ACTIONS.len() <= ROWS_MAX, "{} rows", ACTIONS.len());
        assert!(ACTIONS.iter().all(|action| action.words.len() <= WORDS_MAX), "the chart has no room for longer words");
        let cases: HashSet<_> = ACTIONS.iter().map(|action| [action.suite, action.case, action.peer]).collect();
        let words: HashSet<_> = ACTIONS.iter().map(|action| (action.words, action.peer)).collect();
        assert_eq!((cases.len(), words.len()), (ACTIONS.len(), ACTIONS.len()));
    }

    #[test]
    fn the_rows_of_a_kind_stand_together() {
        let mut kinds: Vec<Kind> = ACTIONS.iter().map(|action| action.kind).collect();
        kinds.dedup();
        assert_eq!(kinds, [Kind::Run, Kind::Load, Kind::Ask, Kind::Record, Kind::Replay, Kind::Reopen]);
    }
}
