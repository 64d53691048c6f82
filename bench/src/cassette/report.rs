//! The structures of the Magneto-Serge optimization report (taciclei/magneto-serge, commit 4efdf2c), by their names and types.

use super::{request_body, response_body, started_ns, weight};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

#[derive(Serialize, Deserialize)]
pub(super) struct MagnetoCassette {
    version: String,
    name: String,
    recorded_at: DateTime<Utc>,
    interactions: Vec<Interaction>,
}

#[derive(Serialize, Deserialize)]
struct Interaction {
    #[serde(flatten)]
    kind: Kind,
    recorded_at: DateTime<Utc>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type")]
enum Kind {
    Http { request: Request, response: Response },
}

#[derive(Serialize, Deserialize)]
struct Request {
    method: String,
    url: String,
    headers: HashMap<String, String>,
    body: Option<Vec<u8>>,
}

#[derive(Serialize, Deserialize)]
struct Response {
    status: u16,
    headers: HashMap<String, String>,
    body: Option<Vec<u8>>,
}

/// The report's cassette without `flatten`, tags, maps, texts for times and lists of numbers for bytes.
#[derive(Serialize, Deserialize)]
pub(super) struct Clean {
    interactions: Vec<CleanInteraction>,
}

#[derive(Serialize, Deserialize)]
struct CleanInteraction {
    recorded_at: i64,
    method: String,
    url: String,
    request_headers: Vec<(String, String)>,
    #[serde(with = "serde_bytes")]
    request_body: Option<Vec<u8>>,
    status: u16,
    response_headers: Vec<(String, String)>,
    #[serde(with = "serde_bytes")]
    response_body: Option<Vec<u8>>,
}

fn time(number: u64) -> DateTime<Utc> {
    DateTime::from_timestamp_nanos(started_ns(number))
}

fn url(number: u64) -> String {
    format!("https://api.example.com/resource/{number}")
}

fn json() -> (String, String) {
    ("Content-Type".to_owned(), "application/json".to_owned())
}

fn authorization(number: u64) -> (String, String) {
    ("Authorization".to_owned(), format!("Bearer token-{number}"))
}

impl MagnetoCassette {
    pub(super) fn of(n: u64) -> Self {
        let interaction = |number| Interaction {
            kind: Kind::Http {
                request: Request {
                    method: "GET".to_owned(),
                    url: url(number),
                    headers: [json(), authorization(number)].into(),
                    body: Some(request_body(number).into_bytes()),
                },
                response: Response {
                    status: 200,
                    headers: [json()].into(),
                    body: Some(response_body(number).into_bytes()),
                },
            },
            recorded_at: time(number),
        };
        let interactions = (0..n).map(interaction).collect();
        Self { version: "1.0".to_owned(), name: "msgpack-bench".to_owned(), recorded_at: time(0), interactions }
    }

    pub(super) fn sum(&self) -> u64 {
        self.interactions.iter().map(Interaction::sum).sum()
    }
}

impl Interaction {
    fn sum(&self) -> u64 {
        let Kind::Http { request, response } = &self.kind;
        let headers = request.headers.values().chain(response.headers.values());
        let headers: u64 = headers.map(|value| weight(value.as_bytes())).sum();
        let bodies = [&request.body, &response.body].into_iter().flatten();
        let bodies: u64 = bodies.map(|body| weight(body)).sum();
        let head = weight(request.method.as_bytes()) + weight(request.url.as_bytes());
        head + headers + bodies + u64::from(response.status)
    }
}

impl Clean {
    pub(super) fn of(n: u64) -> Self {
        let interaction = |number| CleanInteraction {
            recorded_at: started_ns(number),
            method: "GET".to_owned(),
            url: url(number),
            request_headers: vec![json(), authorization(number)],
            request_body: Some(request_body(number).into_bytes()),
            status: 200,
            response_headers: vec![json()],
            response_body: Some(response_body(number).into_bytes()),
        };
        Self { interactions: (0..n).map(interaction).collect() }
    }

    pub(super) fn sum(&self) -> u64 {
        self.interactions.iter().map(CleanInteraction::sum).sum()
    }
}

impl CleanInteraction {
    fn sum(&self) -> u64 {
        let headers = self.request_headers.iter().chain(&self.response_headers);
        let headers: u64 = headers.map(|(_, value)| weight(value.as_bytes())).sum();
        let bodies = [&self.request_body, &self.response_body].into_iter().flatten();
        let bodies: u64 = bodies.map(|body| weight(body)).sum();
        weight(self.method.as_bytes()) + weight(self.url.as_bytes()) + headers + bodies + u64::from(self.status)
    }
}
