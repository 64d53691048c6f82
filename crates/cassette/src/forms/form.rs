//! The forms of a cassette: what they are called, and how the names of their files end.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// How the file of a cassette says what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// Sealed or being recorded, as [`Cassette`](crate::Cassette) reads it.
    Cassette,
    /// JSON, indented.
    Json,
    /// MessagePack; with the feature `msgpack` only.
    MessagePack,
    /// Text in lines: for people, differences and edits.
    Text,
    /// HAR 1.2, which browsers write and read.
    Har,
    /// A cassette of VCR in YAML, written as vcrpy does.
    Vcr,
    /// A cassette of VCR in JSON.
    VcrJson,
    /// A cassette of VCR in YAML, written as VCR for Ruby does.
    VcrRuby,
}

/// What each form is called, and how the names of its files end, the longer of two endings comes last. A name that ends otherwise is that of a cassette.
const FORMS: [(Form, &str, &[&str]); 8] = [
    (Form::Cassette, "cassette", &["cassette"]),
    (Form::Json, "json", &["json"]),
    (Form::MessagePack, "msgpack", &["msgpack", "mp"]),
    (Form::Text, "text", &["txt"]),
    (Form::Har, "har", &["har"]),
    (Form::Vcr, "vcr", &["yaml", "yml"]),
    (Form::VcrRuby, "vcr-ruby", &[]),
    (Form::VcrJson, "vcr-json", &["vcr.json"]),
];

impl Form {
    /// The form that a file of this name is to be written in, by its extension: `json`, `msgpack` or `mp`, `txt`, `har`, `yaml` or
    /// `yml`, `vcr.json`; else a cassette. After each of them `gz` may follow: the file is compressed then.
    pub fn of_name(path: &Path) -> Self {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let has = |extension: &&str| name.strip_suffix(extension).is_some_and(|name| name.ends_with('.'));
        let is_its = |extensions: &[&str]| extensions.iter().any(has);
        // From the end, where the longer extension of two is.
        FORMS.iter().rev().find(|(.., extensions)| is_its(extensions)).map_or(Self::Cassette, |(form, ..)| *form)
    }

    /// The names of all forms.
    pub(crate) fn names() -> String {
        FORMS.map(|(_, name, _)| name).join(", ")
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FORMS.iter().find(|(form, ..)| form == self).map_or("cassette", |(_, name, _)| name))
    }
}

impl FromStr for Form {
    type Err = UnknownForm;

    fn from_str(name: &str) -> Result<Self, UnknownForm> {
        let known = FORMS.iter().find(|(_, known, _)| *known == name);
        known.map(|(form, ..)| *form).ok_or_else(|| UnknownForm { name: name.to_owned() })
    }
}

/// A name that is not a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownForm {
    name: String,
}

impl fmt::Display for UnknownForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a form of a cassette; the forms are {}", self.name, Form::names())
    }
}

impl std::error::Error for UnknownForm {}
