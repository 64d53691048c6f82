//! What two requests must share to be the same question.

use crate::matching::json::JsonPath;
use crate::message::Request;
use regex::bytes::Regex;
use std::fmt;
use std::sync::Arc;

/// What two requests must share to be the same question.
///
/// By default method, scheme, host, port, path, query and body; headers are left out, since they change from one version of
/// a client to the next. Change single fields, or begin with [`MatchRules::lenient`].
///
/// What is compared is compared in one form: hosts in small letters, escapes as RFC 3986 prefers them, queries and forms as
/// pairs sorted by name, JSON with sorted members and without space, multipart bodies without their random boundary.
#[derive(Clone, Debug)]
pub struct MatchRules {
    /// `GET` is not `POST`, nor `get`.
    pub method: bool,
    /// `http` is not `https`.
    pub scheme: bool,
    /// The name or address of the server.
    pub host: bool,
    /// The port of the server.
    pub port: bool,
    /// The target before the `?`.
    pub path: PathRule,
    /// The target after the `?`.
    pub query: QueryRule,
    /// Headers, by name in any case; all values of a name, in order.
    pub headers: HeaderRule,
    /// The body. One that is absent equals one that is empty.
    pub body: BodyRule,
    /// Further conditions, looked at among recorded requests that agree in all of the above.
    pub custom: Vec<Arc<dyn Condition>>,
}

/// How paths are compared.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum PathRule {
    /// All of them.
    #[default]
    Exact,
    /// Not at all.
    Ignored,
    /// What the groups of an expression capture in them (all of the match if it has no groups). Paths that it does not match
    /// are compared as they are: they are not equal for having that in common.
    Captures(Regex),
}

/// How queries are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueryRule {
    /// As pairs, sorted by name: `a=1&b=2` is `b=2&a=1`, but `a=1&a=2` is neither `a=2&a=1` nor `a=2`.
    #[default]
    Pairs,
    /// As they were sent, byte by byte.
    AsSent,
    /// Not at all.
    Ignored,
    /// As pairs, without those of these names.
    Without(Vec<String>),
}

/// How headers are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderRule {
    /// Not at all.
    #[default]
    Ignored,
    /// Those of these names. One that neither request has is equal.
    Only(Vec<String>),
    /// All but these, and but those that belong to a connection and not to a request, such as `Transfer-Encoding`.
    Without(Vec<String>),
}

/// How bodies are compared.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum BodyRule {
    /// By what their `Content-Type` says that they are: JSON, a form, multipart; else byte by byte.
    #[default]
    Content,
    /// Byte by byte.
    Bytes,
    /// Not at all.
    Ignored,
    /// By their length.
    Length,
    /// As JSON, whatever their `Content-Type`, without what is at these paths. What is not JSON is compared byte by byte.
    JsonWithout(Vec<JsonPath>),
    /// As JSON, and only what is at these paths. A body that has nothing at one of them equals only the same bytes.
    JsonAt(Vec<JsonPath>),
    /// What the groups of an expression capture in them, as with [`PathRule::Captures`].
    Captures(Regex),
}

/// A condition of a user's own.
pub trait Condition: Send + Sync {
    /// What it is called where a difference is explained.
    fn name(&self) -> &str;

    /// Whether a recorded request answers a live one, as far as this condition goes. Secrets are redacted in both.
    fn holds(&self, recorded: &Request<'_>, live: &Request<'_>) -> bool;
}

impl fmt::Debug for dyn Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Condition({:?})", self.name())
    }
}

impl Default for MatchRules {
    fn default() -> Self {
        Self {
            method: true,
            scheme: true,
            host: true,
            port: true,
            path: PathRule::default(),
            query: QueryRule::default(),
            headers: HeaderRule::default(),
            body: BodyRule::default(),
            custom: Vec::new(),
        }
    }
}

impl MatchRules {
    /// Rules that leave out query and body.
    pub fn lenient() -> Self {
        Self { query: QueryRule::Ignored, body: BodyRule::Ignored, ..Self::default() }
    }
}
