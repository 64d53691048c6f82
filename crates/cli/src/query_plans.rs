//! What `--explain-queries` says when a run has ended: for each query how it was answered, and how many answers there were.

use crate::render;
use metroon::observe::{LoggedKind, LoggedQuery, LoggedStep, LoggedWay, QueryLog};
use metroon::run::QueryWay;
use space::brief;

/// Steps are followed by what is said of them in this column, unless they are longer.
const STEP_WIDTH: usize = 40;

/// How many characters of a query are shown.
const CHARACTERS_MAX: usize = 1000;

/// Prints what was noted, on the standard error.
pub(crate) fn print(log: &QueryLog) {
    let queries = log.queries();
    let times: u64 = queries.iter().flat_map(|query| &query.ways).map(|way| way.times).sum();
    render::say(&format!("queries      {}  (asked {})", queries.len(), counted(times + log.left_out(), "time")));
    for query in queries {
        render::say(&headline(query));
        for way in &query.ways {
            render::say(&format!("  {}", way_line(way)));
            way.steps.iter().for_each(|step| render::say(&format!("    {}", step_line(step))));
        }
    }
    if log.left_out() > 0 {
        render::say(&format!("others       {}  (times that queries were asked which are not shown)", log.left_out()));
    }
}

fn headline(query: &LoggedQuery) -> String {
    match query.filters {
        0 => brief(&query.query, CHARACTERS_MAX),
        filters => format!("{}  with {}", brief(&query.query, CHARACTERS_MAX), counted(filters as u64, "test")),
    }
}

fn way_line(way: &LoggedWay) -> String {
    let times = counted(way.times, "time");
    match way.answers {
        Some(answers) => format!("{}, {times}, {}", name(way.way), counted(answers, "answer")),
        None => format!("{}, {times}", name(way.way)),
    }
}

fn step_line(step: &LoggedStep) -> String {
    let expected = step.expected.map(|expected| format!("expected {}", expected.round()));
    let found = step.found.map(|found| format!("found {found}"));
    let said: Vec<String> = expected.into_iter().chain(found).collect();
    format!("{:STEP_WIDTH$}  {}", brief(&step.of, CHARACTERS_MAX), said.join(", ")).trim_end().to_owned()
}

/// The word for a way that `explain-match` has, too.
fn name(way: LoggedKind) -> &'static str {
    match way {
        LoggedKind::Planned(QueryWay::LoopsAsWritten) => "loops-as-written",
        LoggedKind::Planned(QueryWay::LoopsReordered) => "loops-reordered",
        LoggedKind::Planned(QueryWay::Join) => "join",
        LoggedKind::Planned(QueryWay::Unification) => "unification",
        LoggedKind::Code => "code",
    }
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
