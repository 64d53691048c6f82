//! What was found in all of a recording, counted by place.

use super::{Finding, Redacted};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Places that are told apart. What is found in others is counted all the same.
const PLACES_MAX: usize = 1_000;

/// What was found in a recording, or a part of it, and how often.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Findings {
    /// How many secrets were replaced.
    pub replaced: u64,
    /// By place and kind, of the first thousand of them.
    pub places: BTreeMap<Finding, u64>,
    /// How many were found in what is not text, and stay.
    pub kept: u64,
    /// By place and kind, of the first thousand of them.
    pub kept_places: BTreeMap<Finding, u64>,
    /// How many values of secret names stay, since tools are called with them.
    pub stays: u64,
    /// The one that was found first, and whether it stays.
    pub first: Option<(Finding, bool)>,
}

impl Findings {
    /// How many secrets there were.
    pub fn count(&self) -> u64 {
        self.replaced + self.kept
    }

    pub(crate) fn add(&mut self, redacted: &Redacted) {
        redacted.findings.iter().for_each(|finding| self.replaced(finding, 1));
        redacted.kept.iter().for_each(|finding| self.kept(finding, 1));
        self.stays += redacted.stays.len() as u64;
    }

    pub(crate) fn replaced(&mut self, finding: &Finding, times: u64) {
        self.first.get_or_insert_with(|| (finding.clone(), false));
        self.replaced += times;
        count(&mut self.places, finding, times);
    }

    pub(crate) fn kept(&mut self, finding: &Finding, times: u64) {
        self.first.get_or_insert_with(|| (finding.clone(), true));
        self.kept += times;
        count(&mut self.kept_places, finding, times);
    }

    /// Adds what was found elsewhere.
    pub(crate) fn merge(&mut self, other: &Self) {
        other.places.iter().for_each(|(finding, &times)| self.replaced(finding, times));
        other.kept_places.iter().for_each(|(finding, &times)| self.kept(finding, times));
        // Places beyond the thousandth are counted only.
        self.replaced += other.replaced - other.places.values().sum::<u64>();
        self.kept += other.kept - other.kept_places.values().sum::<u64>();
        self.stays += other.stays;
    }
}

fn count(places: &mut BTreeMap<Finding, u64>, finding: &Finding, times: u64) {
    if let Some(before) = places.get_mut(finding) {
        *before += times;
    } else if places.len() < PLACES_MAX {
        places.insert(finding.clone(), times);
    }
}

/// Counts for all of a recording, from any thread.
#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<Findings>);

impl Tally {
    pub(crate) fn add(&self, redacted: &Redacted) {
        if redacted.findings.is_empty() && redacted.kept.is_empty() && redacted.stays.is_empty() {
            return;
        }
        let mut found = Findings::default();
        found.add(redacted);
        self.merge(&found);
    }

    /// Messages are numbered, exchange by exchange; here they are one place.
    pub(crate) fn merge(&self, found: &Findings) {
        if found.count() + found.stays == 0 {
            return;
        }
        let without_numbers = |places: &BTreeMap<Finding, u64>| {
            let mut without = BTreeMap::new();
            for (finding, &times) in places {
                let place = match finding.place.strip_prefix("message of frame ") {
                    Some(rest) => rest.split_once(',').map_or("message".into(), |(_, rest)| format!("message,{rest}")),
                    None => finding.place.clone(),
                };
                *without.entry(Finding { place, what: finding.what.clone() }).or_default() += times;
            }
            without
        };
        let (places, kept_places) = (without_numbers(&found.places), without_numbers(&found.kept_places));
        let found = Findings { places, kept_places, ..found.clone() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).merge(&found);
    }

    pub(crate) fn found(&self) -> Findings {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
