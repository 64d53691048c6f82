//! The closure in FlowLog, which makes a dataflow of Datalog when this package is built. It consolidates what it hands out.

use super::graph::{Change, Edge};
use super::sides::{Follows, Told};
use crate::compare::Clock;
use std::error::Error;

mod closure {
    #![allow(missing_docs, unreachable_pub, dead_code, clippy::all, reason = "FlowLog has written it")]
    include!(concat!(env!("OUT_DIR"), "/closure.rs"));
}

/// FlowLog's engine with one worker.
pub(super) struct Flowlog {
    engine: closure::IncrementalEngine,
    answers: i64,
}

fn pair(&(start, finish): &Edge) -> (i32, i32) {
    (start as i32, finish as i32)
}

impl Flowlog {
    /// The closure of these edges.
    pub(super) fn new(edges: &[Edge]) -> Self {
        let mut made = Self { engine: closure::IncrementalEngine::new(1), answers: 0 };
        made.engine.insert_edge(edges.iter().map(pair).collect());
        let told = told(&made.engine.commit());
        made.answers = told.come as i64;
        made
    }
}

impl Follows for Flowlog {
    fn answers(&self) -> i64 {
        self.answers
    }

    fn apply(&mut self, changes: &[Change], each: usize) -> Result<(Clock, Told), Box<dyn Error>> {
        let mut clock = Clock::default();
        let all = clock.run(|| {
            let mut all = Told::default();
            for changes in changes.chunks(each) {
                let edges = |is_added: bool| {
                    changes
                        .iter()
                        .filter(|change| change.is_added == is_added)
                        .map(|change| pair(&change.edge))
                        .collect()
                };
                self.engine.insert_edge(edges(true));
                self.engine.remove_edge(edges(false));
                let now = told(&self.engine.commit());
                all = Told { come: all.come + now.come, gone: all.gone + now.gone };
            }
            all
        });
        self.answers += all.come as i64 - all.gone as i64;
        Ok((clock, all))
    }
}

fn told(results: &closure::IncrementalResults) -> Told {
    let mut told = Told::default();
    for (_, count) in &results.reach {
        if *count > 0 {
            told.come += u64::from(count.unsigned_abs());
        } else {
            told.gone += u64::from(count.unsigned_abs());
        }
    }
    told
}
