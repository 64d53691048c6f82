//! What is changed in replayed answers: faults that are put in, and templates.
//!
//! A small file in JSON says it:
//!
//! ```json
//! {
//!   "faults": [
//!     {"path": "^/v1/chat", "times": 2, "status": 503, "body": "overloaded"},
//!     {"method": "GET", "path": "^/slow", "delay_ms": 1500},
//!     {"host": "api.example.com", "after": 10, "reset": true}
//!   ],
//!   "templates": [
//!     {"path": "^/session", "find": "2024-01-01T00:00:00Z", "replace": "{{now}}"}
//!   ]
//! }
//! ```
//!
//! Of the faults that concern a request the first one happens that is due. Templates change the text of answers and the values of
//! their headers; in what replaces, `{{now}}` is the time as RFC 3339 has it, `{{unix}}` in seconds since 1970, and `{{env NAME}}`
//! a variable of the environment of the proxy.

use super::error::EditsError;
use cassette::{Header, Request};
use http::{HeaderName, HeaderValue};
use regex::bytes::Regex;
use serde::Deserialize;
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{env, fs};

/// What is changed in replayed answers.
#[derive(Clone, Debug, Default)]
pub struct Edits {
    faults: Arc<[Fault]>,
    templates: Arc<[Template]>,
}

/// Which requests something concerns: those that agree in everything that is said.
#[derive(Clone, Debug)]
struct RequestScope {
    method: Option<String>,
    host: Option<String>,
    path: Option<Regex>,
}

#[derive(Debug)]
struct Fault {
    scope: RequestScope,
    /// How many requests that it concerns come before it happens.
    after: u64,
    /// How many times it happens.
    times: u64,
    seen: AtomicU64,
    does: FaultEffect,
}

/// What happens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FaultEffect {
    /// How much later the answer is there.
    pub(crate) delay: Duration,
    /// The connection ends without an answer.
    pub(crate) is_reset: bool,
    /// Another answer is given, with this status, these headers and this body.
    pub(crate) instead: Option<(u16, Vec<Header<'static>>, String)>,
}

#[derive(Debug)]
struct Template {
    scope: RequestScope,
    find: SearchPattern,
    replace: Vec<TemplatePart>,
}

#[derive(Debug)]
struct SearchPattern(Regex);

/// A part of what replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Now,
    Unix,
    Environment(String),
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditsFile {
    #[serde(default)]
    faults: Vec<FaultEntry>,
    #[serde(default)]
    templates: Vec<TemplateEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultEntry {
    method: Option<String>,
    host: Option<String>,
    path: Option<String>,
    #[serde(default)]
    after: u64,
    times: Option<u64>,
    #[serde(default)]
    delay_ms: u64,
    #[serde(default)]
    reset: bool,
    status: Option<u16>,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default)]
    body: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TemplateEntry {
    method: Option<String>,
    host: Option<String>,
    path: Option<String>,
    find: Option<String>,
    find_regex: Option<String>,
    replace: String,
}

impl Edits {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, or says something that has no meaning.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, EditsError> {
        let path = path.as_ref();
        let failed = |what: String| EditsError::new(path, what);
        let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        Self::parse(&text).map_err(failed)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let file: EditsFile = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let faults = file.faults.into_iter().enumerate();
        let faults = faults.map(|(at, entry)| entry.fault().map_err(|what| format!("fault {}: {what}", at + 1)));
        let templates = file.templates.into_iter().enumerate();
        let templates =
            templates.map(|(at, entry)| entry.template().map_err(|what| format!("template {}: {what}", at + 1)));
        Ok(Self { faults: faults.collect::<Result<_, _>>()?, templates: templates.collect::<Result<_, _>>()? })
    }

    /// The fault that happens to a request, which then counts as one that it concerns.
    pub(crate) fn fault(&self, request: &Request<'_>) -> Option<&FaultEffect> {
        let mut due = None;
        for fault in self.faults.iter().filter(|fault| fault.scope.concerns(request)) {
            // Once one happens, those after it have not seen the request.
            let seen = fault.seen.fetch_add(1, Ordering::Relaxed);
            if seen >= fault.after && seen - fault.after < fault.times {
                due = Some(&fault.does);
                break;
            }
        }
        due
    }

    /// Whether the answer to a request may be changed.
    pub(crate) fn concern(&self, request: &Request<'_>) -> bool {
        self.templates.iter().any(|template| template.scope.concerns(request))
    }

    /// A text as the templates have it, in an answer to a request that they concern.
    pub(crate) fn edited<'t>(&self, request: &Request<'_>, text: &'t [u8]) -> Cow<'t, [u8]> {
        let concerned = self.templates.iter().filter(|template| template.scope.concerns(request));
        concerned.fold(Cow::Borrowed(text), |text, template| match template.find.0.is_match(&text) {
            true => {
                let replacement = template.replacement();
                Cow::Owned(template.find.0.replace_all(&text, regex::bytes::NoExpand(&replacement)).into_owned())
            }
            false => text,
        })
    }
}

impl RequestScope {
    fn new(method: Option<String>, host: Option<String>, path: Option<&str>) -> Result<Self, String> {
        let path = path.map(Regex::new).transpose().map_err(|error| format!("path: {error}"))?;
        Ok(Self { method, host, path })
    }

    fn concerns(&self, request: &Request<'_>) -> bool {
        self.method.as_ref().is_none_or(|method| request.method == *method.as_str())
            && self.host.as_ref().is_none_or(|host| request.host.eq_ignore_ascii_case(host.as_bytes()))
            && self.path.as_ref().is_none_or(|path| path.is_match(&request.target))
    }
}

impl FaultEntry {
    fn fault(self) -> Result<Fault, String> {
        let scope = RequestScope::new(self.method, self.host, self.path.as_deref())?;
        if self.reset && self.status.is_some() {
            return Err("a reset has no status".to_owned());
        }
        if !self.reset && self.status.is_none() && self.delay_ms == 0 {
            return Err("it does nothing: say `status`, `delay_ms` or `reset`".to_owned());
        }
        if self.status.is_some_and(|status| !(200..=999).contains(&status)) {
            return Err("a status is a number from 200 to 999".to_owned());
        }
        if matches!(self.status, Some(204 | 304)) && !self.body.is_empty() {
            return Err("an answer with status 204 or 304 has no body".to_owned());
        }
        let headers = self.headers.into_iter().map(header).collect::<Result<Vec<_>, _>>()?;
        let instead = self.status.map(|status| (status, headers, self.body));
        let does = FaultEffect { delay: Duration::from_millis(self.delay_ms), is_reset: self.reset, instead };
        let times = self.times.unwrap_or(u64::MAX);
        Ok(Fault { scope, after: self.after, times, seen: AtomicU64::new(0), does })
    }
}

fn header((name, value): (String, String)) -> Result<Header<'static>, String> {
    let is_header = HeaderName::from_bytes(name.as_bytes()).is_ok() && HeaderValue::from_str(&value).is_ok();
    if is_header { Ok(Header::new(name, value)) } else { Err(format!("{name:?}: {value:?} can be no header")) }
}

impl TemplateEntry {
    fn template(self) -> Result<Template, String> {
        let scope = RequestScope::new(self.method, self.host, self.path.as_deref())?;
        let find = match (self.find, self.find_regex) {
            (Some(text), None) if !text.is_empty() => Regex::new(&regex::escape(&text)),
            (None, Some(expression)) => Regex::new(&expression),
            _ => return Err("say what is found: `find` or `find_regex`".to_owned()),
        };
        let find = SearchPattern(find.map_err(|error| format!("find_regex: {error}"))?);
        Ok(Template { scope, find, replace: parts(&self.replace)? })
    }
}

fn parts(text: &str) -> Result<Vec<TemplatePart>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("{{") {
        let (name, behind) = behind.split_once("}}").ok_or("`{{` without `}}`")?;
        parts.push(TemplatePart::Text(before.to_owned()));
        parts.push(match name.trim().split_once(' ').unwrap_or((name.trim(), "")) {
            ("now", "") => TemplatePart::Now,
            ("unix", "") => TemplatePart::Unix,
            ("env", variable) if !variable.trim().is_empty() => TemplatePart::Environment(variable.trim().to_owned()),
            _ => return Err(format!("`{{{{{name}}}}}` is none of now, unix and env NAME")),
        });
        rest = behind;
    }
    parts.push(TemplatePart::Text(rest.to_owned()));
    Ok(parts)
}

impl Template {
    fn replacement(&self) -> Vec<u8> {
        let now = jiff::Timestamp::now();
        let parts = self.replace.iter().map(|part| match part {
            TemplatePart::Text(text) => text.clone(),
            TemplatePart::Now => jiff::Timestamp::from_second(now.as_second()).unwrap_or(now).to_string(),
            TemplatePart::Unix => now.as_second().to_string(),
            TemplatePart::Environment(name) => env::var_os(name).unwrap_or_default().to_string_lossy().into_owned(),
        });
        parts.collect::<String>().into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(target: &'static str) -> Request<'static> {
        Request { method: "GET".into(), host: "a.test".into(), target: target.into(), ..Request::default() }
    }

    #[test]
    fn faults_happen_when_they_are_due() {
        let edits = Edits::parse(
            r#"{"faults": [{"path": "^/a", "after": 1, "times": 2, "status": 503}, {"host": "A.test", "delay_ms": 5}]}"#,
        );
        let edits = edits.unwrap();
        let happens = |target| edits.fault(&request(target)).map(|does| does.instead.is_some());
        assert_eq!([(); 4].map(|()| happens("/a")), [Some(false), Some(true), Some(true), Some(false)]);
        assert_eq!(happens("/b"), Some(false));
    }

    #[test]
    fn texts_are_changed_as_templates_say() {
        let edits = Edits::parse(
            r#"{"templates": [{"path": "^/a", "find": "T0", "replace": "[{{unix}}|{{env NO_SUCH_VARIABLE}}]"},
                {"find_regex": "x+", "replace": "$0{{now}}"}]}"#,
        );
        let edits = edits.unwrap();
        let edited = |target, text: &'static str| {
            String::from_utf8(edits.edited(&request(target), text.as_bytes()).into_owned()).unwrap()
        };
        assert!(edited("/a", "at T0.").starts_with("at [1") && edited("/a", "at T0.").ends_with("|]."));
        assert_eq!(edited("/b", "at T0."), "at T0.");
        assert!(edited("/b", "-xx-").starts_with("-$02") && edited("/b", "-xx-").ends_with("Z-"));
    }

    #[test]
    fn what_has_no_meaning_is_said() {
        for (text, what) in [
            ("{", "EOF"),
            (r#"{"fault": []}"#, "unknown field"),
            (r#"{"faults": [{"path": "("}]}"#, "fault 1: path"),
            (r#"{"faults": [{}]}"#, "does nothing"),
            (r#"{"faults": [{"status": 99}]}"#, "from 200"),
            (r#"{"faults": [{"status": 204, "body": "x"}]}"#, "no body"),
            (r#"{"faults": [{"status": 503, "headers": [["a b", "c"]]}]}"#, "no header"),
            (r#"{"faults": [{"status": 503, "headers": [["a", "c\r\nd: e"]]}]}"#, "no header"),
            (r#"{"templates": [{"replace": "x"}]}"#, "template 1: say what"),
            (r#"{"templates": [{"find": "a", "replace": "{{uuid}}"}]}"#, "none of now"),
        ] {
            let error = Edits::parse(text).unwrap_err();
            assert!(error.contains(what), "{text}: {error}");
        }
    }
}
