//! Many registered queries: a commit costs what it touches.

use super::base::Base;
use super::{ROUNDS, SUITE};
use crate::compare::{Case, contest, judged};
use crate::row::{Ratio, Row};
use crate::{Plan, Rows};
use metroon::LiveRequest;
use std::error::Error;

const QUERIES: u64 = 1_000;
const TOUCHED: u64 = 3;
const COMMITS: u64 = 2_000;

pub(super) fn rows(plan: &Plan) -> Rows {
    Ok(vec![touching_three(plan)?, touching_none(plan)?, looked_at(plan)?])
}

/// A base that follows `queries` queries, each of a relation of its own.
fn followed(queries: u64) -> Result<Base, Box<dyn Error>> {
    let requests = (0..queries).map(|number| {
        LiveRequest::new(format!("(, (edge{number} $a $b) (edge{number} $b $c))")).template("($a $b $c)")
    });
    Base::new("(known fact)", &requests.collect::<Vec<_>>())
}

/// Commits that touch the first queries.
fn touching(commits: u64, first: u64) -> Vec<String> {
    let commit = |number: u64| {
        (0..TOUCHED).map(|query| format!("(edge{query} {} {})\n", first + number, first + number + 1)).collect()
    };
    (0..commits).map(commit).collect()
}

fn touching_three(plan: &Plan) -> Result<Row, Box<dyn Error>> {
    let (mut many, mut few) = (followed(QUERIES)?, followed(TOUCHED)?);
    let (rounds, n) = (plan.rounds(ROUNDS), plan.scaled(COMMITS));
    let case = Case {
        suite: SUITE,
        name: "1,000 queries, a commit that touches three".to_owned(),
        n,
        peer: "the same, three queries",
        rounds,
        note: "each query joins a relation of its own".to_owned(),
    };
    let run = |base: &mut Base, round: &mut u64| {
        *round += 1;
        let (clock, told) = base.commit_groups(touching(n, *round * (n + 1)))?;
        Ok(clock.done(told.checksum()))
    };
    let (mut left, mut right) = (0, 0);
    contest(case, Some((0.8, "the cost of three")), &mut || run(&mut many, &mut left), &mut || {
        run(&mut few, &mut right)
    })
}

fn touching_none(plan: &Plan) -> Result<Row, Box<dyn Error>> {
    let (mut many, mut none) = (followed(QUERIES)?, followed(0)?);
    let (rounds, n) = (plan.rounds(ROUNDS), plan.scaled(COMMITS));
    let case = Case {
        suite: SUITE,
        name: "1,000 queries, a commit that touches none".to_owned(),
        n,
        peer: "the same, no queries",
        rounds,
        note: "a row of another relation a commit".to_owned(),
    };
    let run = |base: &mut Base, round: &mut u64| {
        *round += 1;
        let texts = (0..n).map(|number| format!("(other {})", *round * n + number)).collect();
        let (clock, _) = base.commit_each(texts)?;
        Ok(clock.done(n))
    };
    let (mut left, mut right) = (0, 0);
    contest(case, Some((0.8, "nobody waits for what others follow")), &mut || run(&mut many, &mut left), &mut || {
        run(&mut none, &mut right)
    })
}

/// How many queries a commit makes look at what changed.
fn looked_at(plan: &Plan) -> Result<Row, Box<dyn Error>> {
    let mut base = followed(QUERIES)?;
    let n = plan.scaled(COMMITS);
    base.commit_groups(touching(n, 0))?;
    let ran = base.statistics()?.ran;
    let (ours, theirs) = (ran as f64, (n * TOUCHED) as f64);
    let ratio = theirs / ours;
    Ok(Row {
        suite: SUITE,
        case: "1,000 queries, looks at a query for a commit that touches three".to_owned(),
        n,
        ours: Some(ours),
        peer: "three a commit",
        peer_figure: Some(theirs),
        ratio: Some(Ratio { median: ratio, min: ratio, max: ratio }),
        rounds: 1,
        unit: Some("looks"),
        note: judged("counted", Some((1.0, "the issue")), Some(ratio)),
    })
}
