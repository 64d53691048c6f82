//! What the engine and its bases count has names, units and meanings.

use journal::{Disk, MemoryDisk};
use metroon::observe::Metrics;
use metroon::storage::{CommitJournal, KnowledgeBaseReport};
use metroon::{Engine, History, MemoryWorld};
use statistics::{Report, Statistics};
use std::sync::Arc;

fn is_sound(report: &Report) {
    assert_eq!(report.defects(), Vec::<String>::new(), "{}", report.what);
}

#[test]
fn every_count_has_a_name_and_a_meaning() {
    is_sound(&Metrics::default().report());
    is_sound(&KnowledgeBaseReport::default().report());
    is_sound(&Engine::new(MemoryWorld::default()).statistics().report());
    is_sound(&Engine::new(MemoryWorld::default()).live_statistics().report());
    is_sound(&space::LiveDatalogStatistics::default().report());
}

#[test]
fn a_run_in_a_base_counts_all_that_takes_part() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let base = CommitJournal::on_disk(Arc::clone(&disk), "/b").expect("it is made");
    let mut engine = Engine::with_base(MemoryWorld::default(), base).expect("it begins");
    engine.run_text("(a 1) (a 2) !(match &self (a $x) $x)", &mut |_, _| Ok(()));
    let report = engine.statistics().report();
    is_sound(&report);
    let text = report.to_string();
    for name in ["evaluations", "machine:", "space:", "base:", "tape "] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name}: {text}");
    }
    engine.finish().expect("it ends");
    is_sound(&History::on_disk(&disk, "/b").expect("it is read").report().report());
}
