//! Documents of other recorders, JSON or YAML, as trees.
//!
//! A tree says what is there and nothing about what it means: HAR and VCR are read from it and written as it. An error names the
//! place of what is wrong, as `log.entries[3].request.url`. What two trees of one thing differ in can be taken out and put back, so
//! that a document gives back what an exchange has no field for.
//!
//! Memory: a tree is counted while it is made, [`NODE_BYTES`] for a node and what its texts have, and has a limit; what aliases of
//! YAML may repeat has a lower one.

mod difference;
mod json;
mod resolve;
mod yaml;
mod yaml_out;

pub(super) use difference::{difference, merge};
pub(super) use json::{from_json, to_json};
pub(super) use resolve::as_json;
pub(super) use yaml::from_yaml;
pub(super) use yaml_out::to_yaml;

use super::error::FormError;
use crate::limits::LimitExceeded;
use serde_json::Number;
use std::fmt;

/// What a node takes in memory, in a map with its name.
pub(super) const NODE_BYTES: usize = size_of::<(String, Node)>();

/// What is named if a document does not fit into memory.
const DOCUMENT: &str = "what the document becomes in memory";

/// Why there is no tree.
#[derive(Debug)]
pub(super) enum ParseDocumentError {
    /// It is not a document of its syntax; line and column are said.
    Malformed(String),
    /// More would come of it than is allowed.
    TooMuch(LimitExceeded),
}

impl ParseDocumentError {
    pub(super) fn of(self, form: &'static str) -> FormError {
        match self {
            Self::Malformed(message) => FormError::malformed(form, &message),
            Self::TooMuch(excess) => FormError::TooMuch(excess),
        }
    }
}

impl From<String> for ParseDocumentError {
    fn from(message: String) -> Self {
        Self::Malformed(message)
    }
}

impl From<LimitExceeded> for ParseDocumentError {
    fn from(excess: LimitExceeded) -> Self {
        Self::TooMuch(excess)
    }
}

/// One thing of a document, with all that is in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// Nothing.
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    /// A scalar of YAML without quotes: what it is depends on what is expected.
    Plain(String),
    /// `!!binary` of YAML; JSON has no such thing.
    Bytes(Vec<u8>),
    List(Vec<Node>),
    /// In the order of the document. No name is there twice.
    Map(Vec<(String, Node)>),
}

/// A document says something that cannot be, and where.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SyntaxProblem {
    /// `log.entries[3]`, from the outside in; empty for the whole.
    place: String,
    what: String,
}

impl SyntaxProblem {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self { place: String::new(), what: what.into() }
    }

    /// This problem, seen from the map whose member it is about.
    pub(super) fn of(self, name: &str) -> Self {
        self.within(name)
    }

    /// This problem, seen from the list whose element it is about.
    pub(super) fn at(self, index: usize) -> Self {
        self.within(&format!("[{index}]"))
    }

    fn within(mut self, step: &str) -> Self {
        let separator = if self.place.is_empty() || self.place.starts_with('[') { "" } else { "." };
        self.place = format!("{step}{separator}{}", self.place);
        self
    }
}

impl fmt::Display for SyntaxProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.place {
            "" => f.write_str(&self.what),
            place => write!(f, "{place}: {}", self.what),
        }
    }
}

impl From<&str> for Node {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Node {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Node {
    fn from(number: u64) -> Self {
        Self::Number(number.into())
    }
}

impl From<i64> for Node {
    fn from(number: i64) -> Self {
        Self::Number(number.into())
    }
}

impl From<f64> for Node {
    /// What is not a number of JSON is nothing.
    fn from(number: f64) -> Self {
        Number::from_f64(number).map_or(Self::Null, Self::Number)
    }
}

impl Node {
    /// A map of these members.
    pub(super) fn map<const N: usize>(members: [(&str, Self); N]) -> Self {
        Self::Map(members.into_iter().map(|(name, node)| (name.to_owned(), node)).collect())
    }

    /// What it is, in words.
    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::Plain(_) => "a word without quotes",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }

    fn is_not(&self, expected: &str) -> SyntaxProblem {
        SyntaxProblem::new(format!("{expected} is expected here, and this is {}", self.kind()))
    }

    /// Whether it says nothing: `null`, or left out.
    pub(super) fn is_null(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Plain(plain) => matches!(&**plain, "" | "~" | "null" | "Null" | "NULL"),
            _ => false,
        }
    }

    /// Whether it is a text to everybody, be it without quotes.
    pub(super) fn is_text(&self) -> bool {
        match self {
            Self::Text(_) => true,
            Self::Plain(plain) => !self.is_null() && serde_json::from_str::<serde_json::Value>(plain).is_err(),
            _ => false,
        }
    }

    pub(super) fn text(&self) -> Result<&str, SyntaxProblem> {
        match self {
            Self::Text(text) | Self::Plain(text) => Ok(text),
            _ => Err(self.is_not("a text")),
        }
    }

    pub(super) fn list(&self) -> Result<&[Self], SyntaxProblem> {
        match self {
            Self::List(list) => Ok(list),
            _ => Err(self.is_not("a list")),
        }
    }

    pub(super) fn members(&self) -> Result<&[(String, Self)], SyntaxProblem> {
        match self {
            Self::Map(members) => Ok(members),
            _ => Err(self.is_not("a map")),
        }
    }

    /// A number of any size; no text that looks like one.
    pub(super) fn number(&self) -> Result<f64, SyntaxProblem> {
        let number = match self {
            Self::Number(number) => number.as_f64(),
            Self::Plain(plain) => plain.parse().ok(),
            _ => None,
        };
        number.filter(|number| number.is_finite()).ok_or_else(|| self.is_not("a number"))
    }

    /// A status of HTTP, or what was taken for one.
    pub(super) fn status(&self) -> Result<u16, SyntaxProblem> {
        let number = self.number()?;
        let is_one = (0.0..=65535.0).contains(&number) && number.fract() == 0.0;
        if is_one { Ok(number as u16) } else { Err(SyntaxProblem::new(format!("{number} is not a status of HTTP"))) }
    }

    /// A member that says something.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        let Self::Map(members) = self else { return None };
        members.iter().find(|(other, _)| other == name).map(|(_, node)| node).filter(|node| !node.is_null())
    }

    /// Reads a member that must be there.
    pub(super) fn read<'n, T>(
        &'n self,
        name: &str,
        read: impl FnOnce(&'n Self) -> Result<T, SyntaxProblem>,
    ) -> Result<T, SyntaxProblem> {
        self.members()?;
        self.read_if(name, read)?.ok_or_else(|| SyntaxProblem::new(format!("`{name}` is missing")))
    }

    /// Reads a member that may be there.
    pub(super) fn read_if<'n, T>(
        &'n self,
        name: &str,
        read: impl FnOnce(&'n Self) -> Result<T, SyntaxProblem>,
    ) -> Result<Option<T>, SyntaxProblem> {
        self.get(name).map(|member| read(member).map_err(|wrong| wrong.of(name))).transpose()
    }

    /// Reads every element of a list.
    pub(super) fn each<'n, T>(
        &'n self,
        mut read: impl FnMut(&'n Self) -> Result<T, SyntaxProblem>,
    ) -> Result<Vec<T>, SyntaxProblem> {
        let elements = self.list()?.iter().enumerate();
        elements.map(|(index, element)| read(element).map_err(|wrong| wrong.at(index))).collect()
    }
}

/// The first name that is in a map twice.
fn twice(members: &[(String, Node)]) -> Option<&str> {
    let mut names: Vec<_> = members.iter().map(|(name, _)| &**name).collect();
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}
