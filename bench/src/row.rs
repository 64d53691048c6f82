//! What a case comes to, and how it is written.
//!
//! A run is a JSON list with an object a line. `ours_ns` and `peer_ns` are medians over the rounds, in nanoseconds for all `n`
//! operations of a round; where there is a `unit`, they are counts of that instead. `ratio` is the median over the rounds
//! of the peer's figure over ours: above 1 we are ahead. `ratio_min` and `ratio_max` are its extremes.

use serde_json::Value;

/// One case.
pub(crate) struct Row {
    pub(crate) suite: &'static str,
    pub(crate) case: String,
    /// Operations in a round.
    pub(crate) n: u64,
    pub(crate) ours: f64,
    pub(crate) peer: &'static str,
    pub(crate) peer_figure: f64,
    pub(crate) ratio: f64,
    pub(crate) ratio_min: f64,
    pub(crate) ratio_max: f64,
    pub(crate) rounds: usize,
    /// What is counted, if not time.
    pub(crate) unit: Option<&'static str>,
    pub(crate) note: &'static str,
}

impl Row {
    fn json(&self) -> String {
        let text = |text: &str| Value::from(text).to_string();
        let (suite, case, peer, note) = (text(self.suite), text(&self.case), text(self.peer), text(self.note));
        let Self { n, ours, peer_figure, ratio, ratio_min, ratio_max, rounds, .. } = self;
        let unit = self.unit.map(|unit| format!(r#","unit":{}"#, text(unit))).unwrap_or_default();
        format!(
            r#"{{"suite":{suite},"case":{case},"n":{n},"ours_ns":{ours:.0},"peer":{peer},"peer_ns":{peer_figure:.0},"ratio":{ratio:.3},"ratio_min":{ratio_min:.3},"ratio_max":{ratio_max:.3},"rounds":{rounds}{unit},"note":{note}}}"#
        )
    }
}

/// The text of a run.
pub(crate) fn json(rows: &[Row]) -> String {
    let lines: Vec<String> = rows.iter().map(Row::json).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}
