//! What was found of secrets while a cassette was redacted.

use crate::end::End;
use crate::output::{Ended, Out};
use crate::render;
use cassette::redact::{Finding, Redacted};
use std::collections::BTreeMap;

/// Each finding once, with how often it was made.
fn counted_once(findings: Vec<Finding>) -> BTreeMap<Finding, usize> {
    let mut counts = BTreeMap::new();
    findings.into_iter().for_each(|finding| *counts.entry(finding).or_default() += 1);
    counts
}

/// What was taken out, where and how often.
#[derive(Default)]
pub(super) struct SecretsFound(BTreeMap<(usize, String), usize>, usize);

impl SecretsFound {
    fn add(&mut self, whose: &str, findings: Vec<Finding>) {
        self.1 += 1;
        for finding in findings {
            *self.0.entry((self.1, format!("{whose}: {finding}"))).or_default() += 1;
        }
    }

    /// What was found in the exchange of a number, or in what is known of the cassette.
    pub(super) fn told(&mut self, number: Option<u64>, redacted: Redacted) {
        let whose = number.map_or_else(|| "cassette".to_owned(), |number| format!("exchange {number}"));
        self.add(&whose, redacted.findings);
        for place in redacted.opaque {
            render::say(&format!("warning: {whose}: the {place} could not be looked into"));
        }
        for (Finding { place, what }, times) in counted_once(redacted.stays) {
            let place = crate::journal::escaped(place.as_bytes());
            let times = if times > 1 { format!(" ({times} times)") } else { String::new() };
            render::say(&format!("warning: {whose}: {what} stays in the {place}{times}; --name NAME replaces it"));
        }
        for Finding { place, what } in redacted.kept {
            let place = crate::journal::escaped(place.as_bytes());
            render::say(&format!("warning: {whose}: the {place} is not text; {what} in it stays"));
        }
    }

    /// With an object on the standard output, the lines go to the standard error.
    pub(super) fn print(&self, is_json: bool) -> Ended {
        if is_json {
            self.lines().for_each(|line| render::say(&line));
            return Ok(End::Fine);
        }
        let mut out = Out::new();
        for line in self.lines() {
            out.line(&line)?;
        }
        out.end()
    }

    fn lines(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|((_, what), count)| {
            let what = crate::journal::escaped(what.as_bytes());
            if *count == 1 { what } else { format!("{what} ({count} times)") }
        })
    }
}
