//! What all layers have counted of a run, as one report.

use crate::live::LiveQueriesStatistics;
use crate::recall::entries_of_keeping;
use metta::Session;
use statistics::{Entries, Statistics};
use std::time::Duration;

/// How many kinds of interpreted expressions are named.
const INTERPRETED_MAX: usize = 10;

/// What the layers of an engine have counted.
pub struct RunStatistics<'a> {
    session: &'a Session,
    live: LiveQueriesStatistics,
    elapsed: Option<Duration>,
}

impl<'a> RunStatistics<'a> {
    pub(crate) fn of(session: &'a Session, live: LiveQueriesStatistics) -> Self {
        Self { session, live, elapsed: None }
    }

    /// Says how long the run took: the engine itself has no clock.
    #[must_use]
    pub fn elapsed(self, elapsed: Duration) -> Self {
        Self { elapsed: Some(elapsed), ..self }
    }

    /// What was left to the interpreter, the most frequent first; all behind the tenth kind together.
    fn interpreted(&self) -> Vec<(String, u64)> {
        let mut forms = self.session.interpreted_forms();
        if forms.len() > INTERPRETED_MAX + 1 {
            let others = forms.split_off(INTERPRETED_MAX);
            let count = others.iter().map(|(_, count)| count).sum();
            forms.push((format!("{} other kinds", others.len()), count));
        }
        forms
    }
}

impl Statistics for RunStatistics<'_> {
    fn what(&self) -> &'static str {
        "run"
    }

    fn entries(&self, to: &mut Entries) {
        let session = self.session;
        let elapsed = self.elapsed.map(|elapsed| u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX));
        to.nanoseconds("elapsed", "How long it took from the first step to these counts.", elapsed);
        session.statistics().entries(to);
        to.counts(
            "interpreted_forms",
            "What the machine left to the interpreter, the most frequent first.",
            self.interpreted(),
        );
        to.group("space", "What the program holds at the end.", |to| {
            to.count("atoms", "Atoms in its own space, copies counted.", session.top_space().len() as u64);
            // The library and the program have one each.
            to.count("spaces", "Spaces beside it.", session.program().space_count().saturating_sub(2) as u64);
            to.count("states", "States.", session.program().state_count() as u64);
        });
        let frozen = region::frozen_statistics();
        to.part("frozen", "Frozen regions of the process at the end.", Some(&frozen));
        to.part("live", "What the live queries of the run did.", Some(&self.live));
        match session.record() {
            Some(record) => record.entries(to),
            None => entries_of_keeping(None, None, to),
        }
    }
}
