//! Messages of WebSockets, compared as bodies are.

use crate::matching::canonical::RequestPart;
use crate::matching::json;
use crate::matching::miss::{Difference, differences};
use crate::matching::rules::{MatchRules, PathRule, QueryRule};
use crate::message::{Body, Header, Request};

impl MatchRules {
    /// What differs between a recorded message and the one that came in its place, by the rule for bodies; `None` if that takes them
    /// for the same. Messages have no type: two that are JSON are compared as JSON.
    pub fn message_difference(&self, recorded: &[u8], live: &[u8]) -> Option<String> {
        let is_json = json::read(recorded).is_some() && json::read(live).is_some();
        let as_request = |message: &[u8]| Request {
            headers: if is_json { vec![Header::new("Content-Type", "application/json")] } else { Vec::new() },
            body: Some(Body::new(0, message.to_vec())),
            ..Request::default()
        };
        let (recorded, live) = (as_request(recorded), as_request(live));
        if self.canonical_part(RequestPart::Body, &recorded) == self.canonical_part(RequestPart::Body, &live) {
            return None;
        }
        // Nothing else of these requests is there to differ.
        let bodies = Self { path: PathRule::Ignored, query: QueryRule::Ignored, custom: Vec::new(), ..self.clone() };
        let differences = differences(&bodies, &recorded, &live);
        let of_message = |difference: &Difference| difference.to_string().replacen("body", "message", 1);
        Some(differences.iter().map(of_message).collect::<Vec<_>>().join("; "))
    }
}
