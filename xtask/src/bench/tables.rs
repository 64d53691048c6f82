//! The page of a suite: a table of all its cases, from its newest run.

use super::runs::{Case, Run};

/// What a suite is about, in a sentence.
const SUITES: &[(&str, &str)] = &[
    ("cassette", "Exchanges with the network in a file, against the layouts of the Magneto-Serge optimization report."),
    (
        "gpu",
        "Operations over sets of pages that are resident on a GPU, beside the processor of the same machine, which does the same work by the same \
         library. Results are compared in every round, bit for bit. On a machine without a card the rows are unmeasured; one script of some \
         minutes, `cargo xtask bench gpu`, measures them where there is one.",
    ),
    ("journal", "The append-only log, against what the system offers without one: `write`, `read`, `fdatasync`."),
    (
        "live",
        "Answers that follow every commit. A graph is stated, a query is followed, and then edges come and go, the same on both sides; a round goes \
         on where the one before ended. Ours commits texts to a knowledge base in memory, with its journal, and takes what each commit \
         changes from a subscription; numbers go into the inputs of differential-dataflow and FlowLog, which keep no journal, and one \
         worker goes on until the answers are up to date. PyMeTTa and DuckDB find all answers again, on a smaller graph where they take \
         seconds. The checksum is how many answers came and went, or how many there are.",
    ),
    (
        "metta",
        "Programs as they are natural in MeTTa and in Prolog, on both the same calls in the same order: SWI-Prolog with default flags \
         and with `-O`, and the Python wheel of Hyperon. Whole processes with the size varied: a time is the slope between the two sizes \
         that the note names, so that starting and loading cancel. Hyperon does smaller sizes and is compared by the operation.",
    ),
    (
        "proxy",
        "HTTP and WebSockets through a proxy that records or replays: `metroon record` and `metroon replay` against mitmproxy, each a process \
         that stays up, and against vcrpy within a program. The client is the same for both sides, has one keep-alive connection and sends \
         one request after the other.",
    ),
    (
        "python",
        "The engine from Python, beside the Python packages hyperon and PyMeTTa. Each side is a process of the same script, which measures \
         itself. Where hyperon is the peer, both sides run the same program through the same names, ours by `metroon.hyperon`, but for \
         frames and functions of Python, where ours is what `metroon` offers. What must take no longer than some time says so in its note. \
         Ours is the wheel as `cargo xtask wheel --profile release` builds it.",
    ),
    (
        "queries",
        "Conjunctions of patterns and recursive programs, beside DuckDB, Ladybug, egglog, clingo, SWI-Prolog and other implementations of \
         MeTTa. Ours is a program: edges as facts, a rule that gathers what `match` finds with `collapse`, or counts it with `count-results`, and its call, which is measured. The peers are processes \
         that measure themselves, with the query prepared before: statements of DuckDB and Ladybug, a rule that egglog runs and clingo \
         grounds, a clause of SWI-Prolog (`-O`) whose goals stand in the best order by hand. All sides have answered the query before, \
         but for first questions. A note says whether a side keeps its answers or only counts them. Numbers of \
         answers are compared in every round. Beside peers that have one thread ours has one core. clingo is left \
         out of two hops, whose 20 million atoms take it most of a minute.\n\nRecursion, WordNet, inference and facts by their keys are \
         programs that each side has a file for, in `bench/programs/queries`: ours tables a function by `(pragma! table NAME)`, \
         SWI-Prolog by `:- table`, DuckDB has `WITH RECURSIVE`, egglog runs rules until nothing is new, and clingo grounds them. Tables are \
         empty at the beginning of each round. The university questions are the fourteen of the Lehigh University Benchmark over a graph \
         of our own making in its proportions: ours has a fact for each triple, DuckDB a table of triples whose rows of one predicate lie \
         together, with an index of subjects and one of objects; subclasses are facts on both sides. hyperon is asked about a small \
         graph only, since it takes minutes for the others. What takes most of a row's time is asked once, without a round before. Cells \
         are counted by `--stats`.",
    ),
    (
        "reactive",
        "Reactive state: pages of 1 KiB that follow from others, beside libraries for incremental computation, which keep values in memory and \
         no log, and beside what the system takes for as many bytes. Both sides write the same images in turn, copy them from page to page, and \
         look at the last page after each write. Beside the report ours runs its workloads as its code has them; its figures are as \
         published, of another machine.",
    ),
    (
        "recall",
        "What users do with the command, as whole processes: run, record, keep, load, reopen. The peer is SQLite or Hyperon where these \
         do the same, else the same run without what the row is about.",
    ),
    (
        "region",
        "Region memory: the loops of the report that `crates/region` is to beat, beside arenas, allocators, counting and hash maps. A \
         note says the bytes of an object on both sides, what the ratio must be, and whether it is. RC-G (model) is a model of the \
         report's runtime written from its description, not that runtime. Of the report's suites are left out: whole programs \
         (quicksort, BFS, memo, pipeline, state machine), which measure themselves; mixed sizes, exhaustion and closures of its inline \
         buffer, which ours has not; reset cycles, allocation of pairs, lists and trees, deep nesting and alternating regions, \
         which rows here do in another name; region splitting, hierarchies and calls across regions, which are splices and \
         references here.",
    ),
    (
        "space",
        "Facts: what adding, loading, finding and keeping them costs. The report's loops make a space, add facts or rules and drop it; \
         the peer of these is `pathmap`, the trie that MORK stands on, which turns the same atoms into its bytes. hyperon, DuckDB and \
         SWI-Prolog are processes that measure themselves. A note says what the ratio must be, and whether it is; figures recorded of \
         MORK, which is no crate, are beside in notes. Where the time of a load goes are the rows of its stages.",
    ),
    (
        "store",
        "An ordered key-value store on disk, beside SQLite, LMDB, redb and fjall, and RocksDB where it was built: `cargo xtask bench store \
         --rocksdb`. All have the same rows: keys of eight bytes, values of 100 that do not compress. SQLite is there twice: as the report \
         has it, and as somebody sets it up who knows it; a row says which. What was loaded is durable at the end of a load, in one \
         transaction or, where batches are the way, in batches with one sync at the end. Lookups are measured by the time that their \
         thread computes, with all pages in memory and everything merged. The rows of the report follow its protocol, insert and query \
         apart: values are `value_` and the key, ours is not synced, as the report's store was not. What decisions are founded on is at \
         the end.",
    ),
];

/// What a suite is about; nothing if nobody has said it.
pub(super) fn about(suite: &str) -> &'static str {
    SUITES.iter().find(|(name, _)| *name == suite).map_or("", |(_, about)| about)
}

/// The page of a suite.
pub(super) fn page(run: &Run) -> String {
    let about = about(&run.suite);
    format!(
        "# Benchmarks: {}\n\nGenerated by `cargo xtask bench`; do not edit it. [The first page](../benchmarks.md) says how \
         to read the columns.\n\n{about}\n\nRun `{}`.{}\n\n{}",
        run.suite,
        run.name,
        since(run),
        table(run)
    )
}

/// What has changed in the suite since the run.
fn since(run: &Run) -> String {
    let cases = |count: usize, one: &str, many: &str| match count {
        0 => String::new(),
        1 => format!(" 1 case {one}"),
        _ => format!(" {count} cases {many}"),
    };
    let changed = if run.is_of_this_code { "" } else { " The code has changed since." };
    changed.to_owned()
        + &cases(
            run.retired,
            "is left out, since the suite does not make it any more.",
            "are left out, since the suite does not make them any more.",
        )
        + &cases(run.missing, "of the suite is newer than the run.", "of the suite are newer than the run.")
}

/// The table of one run, with its notes below.
pub(super) fn table(run: &Run) -> String {
    let mut text =
        String::from("| case | ours | peer | the peer's | ratio | range | rounds |\n|---|--:|---|--:|--:|--:|--:|\n");
    let mut notes: Vec<&str> = Vec::new();
    for case in &run.cases {
        let Case { name, peer, ratio, ratio_min, ratio_max, rounds, .. } = case;
        let (ours, theirs) = (figure(case, case.ours), figure(case, case.peer_figure));
        let mark = noted(&mut notes, &case.note);
        let ratio = ratio.map_or_else(nothing, short);
        let range = range(*ratio_min, *ratio_max);
        text.push_str(&format!("| {name}{mark} | {ours} | {peer} | {theirs} | {ratio} | {range} | {rounds} |\n"));
    }
    for (index, note) in notes.iter().enumerate() {
        text.push_str(&format!("\n({}) {note}.\n", index + 1));
    }
    text
}

/// The mark of a note, which is listed once however often it is used.
fn noted<'a>(notes: &mut Vec<&'a str>, note: &'a str) -> String {
    if note.is_empty() {
        return String::new();
    }
    let index = notes.iter().position(|known| *known == note).unwrap_or_else(|| {
        notes.push(note);
        notes.len() - 1
    });
    format!(" ({})", index + 1)
}

/// A count, or the time of one operation.
pub(super) fn figure(case: &Case, figure: Option<f64>) -> String {
    match (figure, &case.unit) {
        (None, _) => nothing(),
        (Some(figure), Some(unit)) => format!("{} {unit}", with_commas(&figure.to_string())),
        (Some(figure), None) => time(figure / case.n.max(1.0)),
    }
}

/// The smallest and the largest ratio of the rounds.
pub(super) fn range(min: Option<f64>, max: Option<f64>) -> String {
    min.zip(max).map_or_else(nothing, |(min, max)| format!("{} to {}", short(min), short(max)))
}

/// What could not be measured.
pub(super) fn nothing() -> String {
    "–".to_owned()
}

/// A time with its unit.
pub(super) fn time(nanoseconds: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    let (divisor, unit) = units.into_iter().find(|(divisor, _)| nanoseconds >= *divisor).unwrap_or((1.0, "ns"));
    format!("{} {unit}", short(nanoseconds / divisor))
}

/// Three digits that count, or all before the point.
pub(super) fn short(number: f64) -> String {
    let digits = match number.abs() {
        number if number >= 99.95 => 0,
        number if number >= 9.995 => 1,
        number if number >= 0.1 => 2,
        _ => 3,
    };
    with_commas(&format!("{number:.digits$}"))
}

/// A number with commas between its thousands: 25,546.
pub(super) fn with_commas(number: &str) -> String {
    let (whole, rest) = number.split_at(number.find('.').unwrap_or(number.len()));
    let mut shown = String::new();
    for (index, digit) in whole.char_indices() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) && !shown.ends_with('-') {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str, unit: Option<&str>, note: &str) -> Case {
        Case {
            name: name.to_owned(),
            n: 10.0,
            ours: Some(12_340.0),
            peer: "p".to_owned(),
            peer_figure: Some(24_680.0),
            ratio: Some(2.0),
            ratio_min: Some(1.5),
            ratio_max: Some(123.4),
            rounds: 5.0,
            unit: unit.map(str::to_owned),
            note: note.to_owned(),
        }
    }

    #[test]
    fn a_table_has_a_line_a_case_and_each_note_once() {
        let unfinished =
            Case { ours: None, ratio: None, ratio_min: None, ratio_max: None, ..case("d", None, "not in 60 s") };
        let cases = vec![case("a", None, "same"), case("b", Some("fsyncs"), ""), case("c", None, "same"), unfinished];
        let run =
            Run { suite: "s".to_owned(), name: "d".to_owned(), cases, retired: 1, missing: 2, is_of_this_code: true };
        assert!(
            page(&run)
                .contains("Run `d`. 1 case is left out, since the suite does not make it any more. 2 cases of the")
        );
        let text = table(&run);
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| a (1) | 1.23 µs | p | 2.47 µs | 2.00 | 1.50 to 123 | 5 |",
                "| b | 12,340 fsyncs | p | 24,680 fsyncs | 2.00 | 1.50 to 123 | 5 |",
                "| c (1) | 1.23 µs | p | 2.47 µs | 2.00 | 1.50 to 123 | 5 |",
                "| d (2) | – | p | 2.47 µs | – | – | 5 |",
                "",
                "(1) same.",
                "",
                "(2) not in 60 s.",
            ]
        );
    }

    #[test]
    fn thousands_have_commas() {
        let shown = ["25546", "1000000", "999", "-1000", "12.3456", "0.001"].map(with_commas);
        assert_eq!(shown, ["25,546", "1,000,000", "999", "-1,000", "12.3456", "0.001"]);
    }

    #[test]
    fn times_have_units() {
        for (nanoseconds, expected) in [(9.994, "9.99 ns"), (99.96, "100 ns"), (1500.0, "1.50 µs"), (2.5e6, "2.50 ms")]
        {
            assert_eq!(time(nanoseconds), expected);
        }
    }
}
