//! What the answers of a join take in memory where they are counted or limited: as much for many as for few.
//!
//! Cells of 8 bytes that the evaluation takes are counted, in two graphs of which one is four times as large. They are the same in each
//! round.

use super::graphs::{Form, Shape};
use super::{Ours, SUITE};
use crate::row::{Ratio, Row};
use crate::{Plan, Rows};
use std::error::Error;

/// A question, and the rule that asks it.
type Question = (&'static str, &'static str);

const QUESTIONS: &[Question] = &[
    ("two hops, counted: cells", "(= (answers) (count-results (match &self (, (edge $a $b) (edge $b $c)) found)))"),
    (
        "triangles, counted: cells",
        "(= (answers) (count-results (match &self (, (edge $a $b) (edge $b $c) (edge $c $a)) found)))",
    ),
    (
        "two hops, the first ten: cells",
        "(= (answers)\n   (let $found (collapse (limit 10 (match &self (, (edge $a $b) (edge $b $c)) ($a $b $c))))\n     (size-atom $found)))",
    ),
];

pub(super) fn rows(plan: &Plan) -> Rows {
    let nodes = plan.scaled(8_000) as u32;
    QUESTIONS.iter().map(|question| row(nodes, question)).collect()
}

fn row(nodes: u32, &(name, rule): &Question) -> Result<Row, Box<dyn Error>> {
    let [(few, few_cells), (many, many_cells)] = [cells(nodes / 4, rule)?, cells(nodes, rule)?];
    let note = format!(
        "{nodes} nodes and {} edges, the peer a quarter of both; {many} and {few} answers; must be the same number of cells: {}",
        edges(nodes),
        if many_cells == few_cells { "met" } else { "missed" }
    );
    let ratio = few_cells as f64 / many_cells as f64;
    eprintln!("{name:<40} {ratio:>8.2} times {SMALLER}");
    Ok(Row {
        suite: SUITE,
        case: name.to_owned(),
        n: 1,
        ours: Some(many_cells as f64),
        peer: SMALLER,
        peer_figure: Some(few_cells as f64),
        ratio: Some(Ratio { median: ratio, min: ratio, max: ratio }),
        rounds: 1,
        unit: Some("cells"),
        note,
    })
}

const SMALLER: &str = "ours, a quarter of the graph";

/// How many edges a graph has.
fn edges(nodes: u32) -> usize {
    nodes as usize * 10
}

/// How many answers there are in a random graph with `nodes` nodes, and how many cells they take.
fn cells(nodes: u32, rule: &str) -> Result<(u64, u64), Box<dyn Error>> {
    let graph = Shape::Random { nodes, edges: edges(nodes) }.edges();
    let mut ours = Ours::of(&Form::Metta.text(&graph))?;
    ours.run(rule)?;
    // What is made on first use is made before.
    ours.ask_anew()?;
    let before = ours.engine.session().statistics().cells;
    let answers = ours.call("!(answers)")?.checksum;
    Ok((answers, ours.engine.session().statistics().cells - before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cells_of_counted_and_limited_answers_do_not_grow() {
        for (name, rule) in QUESTIONS {
            let [(few, few_cells), (many, many_cells)] = [200, 800].map(|nodes| cells(nodes, rule).unwrap());
            assert_eq!(many_cells, few_cells, "{name}");
            assert!(many > 0 && few > 0, "{name}");
        }
        let gathered = "(= (answers) (let $found (collapse (match &self (, (edge $a $b) (edge $b $c)) ($a $b $c))) (size-atom $found)))";
        assert!(cells(800, gathered).unwrap().1 > 2 * cells(200, gathered).unwrap().1);
    }
}
