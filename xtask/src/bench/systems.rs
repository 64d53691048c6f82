//! The figures of `docs/systems.md`: what the report of each of five systems published, and what was measured for the same work.

use super::first_page::named;
use super::runs::Run;
use super::tables::{figure, nothing, short};

/// A line about a system.
struct Figure {
    words: &'static str,
    /// As its report states it; nothing if it has no such figure.
    published: &'static str,
    suite: &'static str,
    case: &'static str,
    peer: &'static str,
}

const fn figure_of(words: &'static str, published: &'static str, [suite, case, peer]: [&'static str; 3]) -> Figure {
    Figure { words, published, suite, case, peer }
}

/// The systems by their names on the page, each with its lines.
const SYSTEMS: [(&str, &[Figure]); 5] = [
    (
        "space",
        &[
            figure_of(
                "Add one of 1,000 facts, one by one",
                "9.43 µs",
                ["space", "the report's 1000 facts, one by one", "pathmap 0.3.5"],
            ),
            figure_of(
                "Add one of 1,000 facts, in bulk",
                "10.2 µs",
                ["space", "the report's 1000 facts, in bulk", "ours, one by one"],
            ),
            figure_of(
                "Add one of 1,000 rules, one by one",
                "10.9 µs",
                ["space", "the report's 1000 rules, one by one", "pathmap 0.3.5"],
            ),
            figure_of("Ask whether a fact is there, of 1,000,000", "", ["space", "has fact, 1M", "pathmap 0.3.5"]),
            figure_of(
                "Load a text of 1,000,000 facts, a fact",
                "",
                ["space", "text load of 1M by `Engine::load`, a fact", "DuckDB 1.4.1"],
            ),
        ],
    ),
    (
        "region",
        &[
            figure_of(
                "An object of 1,000, regions in turn",
                "2.12 ns",
                ["region", "small objects 1K: an integer", "RC-G (model)"],
            ),
            figure_of(
                "Open a region, one integer, close it",
                "8.21 ns",
                ["region", "lifecycle: create, 1 integer, exit", "RC-G (model)"],
            ),
            figure_of(
                "Open a region, one object, close it",
                "",
                ["region", "create, 1 object, destroy", "bumpalo, pool of 32"],
            ),
            figure_of("Copy a tree of depth 15", "615 µs", ["region", "transmigrate tree of depth 15", "RC-G (model)"]),
            figure_of(
                "From C: open, a boxed integer, close",
                "8.21 ns",
                ["region", "from C: open, a boxed integer, close", "malloc and free in C"],
            ),
        ],
    ),
    (
        "cassette",
        &[
            figure_of(
                "Write an exchange of 100 as MessagePack",
                "",
                ["cassette", "encode MessagePack, 100", "rmp-serde, the report's structures"],
            ),
            figure_of(
                "Open a cassette of 100, find one exchange; time by 100",
                "",
                ["cassette", "open and find, 100", "rmp-serde, the report's structures"],
            ),
            figure_of(
                "Open a cassette of 500 and decode all, an exchange",
                "",
                ["cassette", "loaded, 500", "cassetter 0.16.1"],
            ),
            figure_of("Answer an HTTPS request from a cassette", "", ["proxy", "replayed, TLS", "mitmproxy 11.0.2"]),
        ],
    ),
    (
        "pages",
        &[
            figure_of(
                "A change and the page that follows, logged",
                "169.5 µs",
                ["reactive", "one hop (single_hop)", "the report (published)"],
            ),
            figure_of(
                "32 pages in a chain, 4 changes, logged",
                "4.02 ms",
                ["reactive", "32 pages, 4 deltas (batch_32x4)", "the report (published)"],
            ),
            figure_of(
                "A state and a page, the log of ours in memory",
                "6.09 µs",
                ["reactive", "a state with a log, and a page", "the report (published)"],
            ),
            figure_of("A change and the page that follows, no log", "", ["reactive", "one hop", "incremental"]),
            figure_of("A change and a chain of 128 pages, no log", "", ["reactive", "chain of 128", "salsa"]),
        ],
    ),
    (
        "store",
        &[
            figure_of(
                "Insert 1,000,000 rows in sequence, a row; ours unsynced",
                "2.70 times SQLite",
                ["store", "the report: insert, a row, sequential, 1M", "SQLite 3.54.1, as in the report"],
            ),
            figure_of(
                "Ask for one of 1,000,000 random keys",
                "1.31 times SQLite",
                ["store", "the report: query, random, 1M", "SQLite 3.54.1, as in the report"],
            ),
            figure_of(
                "Get one of 1,000,000 random keys, all settings fair",
                "",
                ["store", "get, random, 1M", "LMDB 0.9.70 (heed 0.22.1)"],
            ),
            figure_of(
                "Scan 100 entries, random keys",
                "",
                ["store", "scan of 100, random, 1M", "LMDB 0.9.70 (heed 0.22.1)"],
            ),
        ],
    ),
];

fn marks(system: &str) -> [String; 2] {
    ["begin", "end"].map(|place| format!("<!-- figures of {system}: {place} -->"))
}

impl Figure {
    fn row(&self, runs: &[Run]) -> String {
        let Self { words, published, suite, .. } = self;
        let published = if published.is_empty() { nothing() } else { (*published).to_owned() };
        let run = runs.iter().find(|run| run.suite == *suite);
        let found = run.and_then(|run| run.cases.iter().find(|case| case.name == self.case && case.peer == self.peer));
        let peer = named(self.peer);
        let Some(case) = found else {
            return format!("| {words} | {published} | not measured yet | {peer} | – |\n");
        };
        let (ours, theirs) = (figure(case, case.ours), figure(case, case.peer_figure));
        let ratio = case.ratio.map_or_else(nothing, short);
        format!("| {words} | {published} | {ours} | {peer}: {theirs} | {ratio} |\n")
    }
}

/// The page with its tables anew.
///
/// # Errors
/// It lacks the lines between which a table stands.
pub(super) fn page(text: &str, runs: &[Run]) -> Result<String, String> {
    let mut page = text.to_owned();
    for (system, figures) in SYSTEMS {
        let [begin, end] = marks(system);
        let missing = || format!("docs/systems.md lacks the lines {begin} and {end}");
        let (before, rest) = page.split_once(&begin).ok_or_else(missing)?;
        let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
        let mut table = String::from("| work | the report | Metroon | beside | ratio |\n|---|--:|--:|---|--:|\n");
        table.extend(figures.iter().map(|figure| figure.row(runs)));
        let is_outdated = |run: &Run| !run.is_of_this_code && figures.iter().any(|figure| figure.suite == run.suite);
        if runs.iter().any(is_outdated) {
            table.push_str("\nThe code has changed since some of this was measured.\n");
        }
        page = format!("{before}{begin}\n{table}{end}{after}");
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{cases_folder, runs};

    #[test]
    fn each_figure_is_a_case_that_its_suite_makes() {
        for figure in SYSTEMS.iter().flat_map(|(_, figures)| *figures) {
            let made = runs::made(&cases_folder(), figure.suite).unwrap();
            let case = (figure.case.to_owned(), figure.peer.to_owned());
            assert!(made.contains(&case), "the suite {} has no case {case:?}", figure.suite);
        }
    }

    #[test]
    fn what_was_not_measured_says_so() {
        let empty: String = SYSTEMS.iter().map(|(system, _)| marks(system).concat()).collect();
        let text = page(&empty, &[]).unwrap();
        assert!(
            text.contains("| Add one of 1,000 facts, one by one | 9.43 µs | not measured yet | pathmap 0.3.5 | – |"),
            "{text}"
        );
        assert_eq!(page(&text, &[]).unwrap(), text);
        assert!(page("no lines", &[]).unwrap_err().contains("lacks"));
    }
}
