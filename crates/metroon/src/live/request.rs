//! What a live query asks, as text.

use crate::view::{View, ViewError};
use metta::{Aggregate, LiveDefinition, LiveError, NamedQuery, Program, Top};
use space::{Atom, Symbol, Variable, canonical};
use std::fmt;

/// A query to be kept up to date, as text.
///
/// ```
/// use metroon::LiveRequest;
///
/// // The roads, one by one; what leads from a town is one thing that changes.
/// LiveRequest::new("(road $from $to)").key("$from");
/// // How much each customer has spent, in the place of the price.
/// LiveRequest::new("(order $who $item $price)").template("(spent $who $price)").sum("$price");
/// // The three dearest orders of each.
/// LiveRequest::new("(order $who $item $price)").greatest(3, "$price").within("$who");
/// ```
#[derive(Clone, Debug)]
pub struct LiveRequest {
    /// A query that is there, if one is meant; then the rest says nothing.
    known: Option<Known>,
    pattern: String,
    result: Option<String>,
    template: Option<String>,
    aggregate: Option<AggregateRequest>,
    within: Vec<String>,
    key: Vec<String>,
}

#[derive(Clone, Debug)]
enum AggregateRequest {
    Count(String),
    Sum(String),
    Min(String),
    Max(String),
    Top { most: usize, by: String, is_greatest: bool },
}

/// A query that is there.
#[derive(Clone, Debug)]
enum Known {
    /// The one that the program has given this name.
    Named(String),
    /// One that was found, as bytes, with the names of its variables.
    Encoded { bytes: Vec<u8>, names: Vec<String> },
}

/// Why a text is not a live query.
#[derive(Debug)]
#[non_exhaustive]
pub enum LiveRequestError {
    /// The pattern cannot be read.
    Pattern(ViewError),
    /// The template cannot be read.
    Template(ViewError),
    /// What is to be a variable is something else.
    NotAVariable(String),
    /// It asks for something that cannot be kept up to date.
    Unfit(LiveError),
    /// The program has no live query of this name; the message says which it has.
    Unknown(String),
    /// The query was found, and means nothing as things were after the commit to begin with.
    Later(String),
}

impl fmt::Display for LiveRequestError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern(error) => write!(formatter, "the pattern cannot be read: {error}"),
            Self::Template(error) => write!(formatter, "the template cannot be read: {error}"),
            Self::NotAVariable(text) => {
                write!(formatter, "{text} is to be a variable: write a name after $, such as $x")
            }
            Self::Unfit(error) => error.fmt(formatter),
            Self::Unknown(message) => formatter.write_str(message),
            Self::Later(reason) => {
                write!(formatter, "the query cannot be read as things were after that commit, begin later: {reason}")
            }
        }
    }
}

impl std::error::Error for LiveRequestError {}

impl From<LiveError> for LiveRequestError {
    fn from(error: LiveError) -> Self {
        Self::Unfit(error)
    }
}

/// A definition as an atom, under a name that says nothing.
pub(crate) fn atom_of(definition: &LiveDefinition) -> Atom {
    NamedQuery { name: "_".to_owned(), definition: definition.clone(), functions: Vec::new() }.to_atom()
}

impl LiveRequest {
    /// What matches a pattern, or several: `(, P1 P2 …)`.
    pub fn new(pattern: impl Into<String>) -> Self {
        let (result, template, aggregate, within, key) = Default::default();
        Self { known: None, pattern: pattern.into(), result, template, aggregate, within, key }
    }

    /// The live query that the program of the knowledge base has given a name.
    pub fn named(name: impl Into<String>) -> Self {
        Self { known: Some(Known::Named(name.into())), ..Self::new("") }
    }

    /// One that was read.
    pub(crate) fn of_definition(definition: &LiveDefinition) -> Self {
        let (atom, mut bytes, mut names) = (atom_of(definition), Vec::new(), Vec::new());
        canonical::encode_naming(&atom, &mut bytes, |variable: &Variable| {
            names.push(variable.name().as_str().to_owned());
        });
        Self { known: Some(Known::Encoded { bytes, names }), ..Self::new("") }
    }

    /// Whether it is a name, which means what it means after the last commit.
    pub(crate) fn is_named(&self) -> bool {
        matches!(self.known, Some(Known::Named(_)))
    }

    /// This query, as it is after the last commit, which a view shows.
    ///
    /// # Errors
    /// There is no query of that name.
    pub(crate) fn as_of_now(&self, view: &View) -> Result<Self, LiveRequestError> {
        match &self.known {
            Some(Known::Named(name)) => Ok(Self::of_definition(&named_in(view, name)?)),
            _ => Ok(self.clone()),
        }
    }

    /// What a call comes to, such as `(reach Oslo)` of a function `reach` that may be recursive: each answer once. In the template, the variable
    /// `result` stands for it; it is the template if there is no other. The rules must be of the shape that the page about live queries
    /// says.
    ///
    /// ```
    /// metroon::LiveRequest::call("(reach $from)", "$to").template("($from reaches $to)");
    /// ```
    pub fn call(call: impl Into<String>, result: impl Into<String>) -> Self {
        Self { result: Some(result.into()), ..Self::new(call) }
    }

    /// What there is for each match, instead of the pattern itself; it may begin with tests, as that of a `match` may.
    #[must_use]
    pub fn template(mut self, template: impl Into<String>) -> Self {
        self.template = Some(template.into());
        self
    }

    /// If what goes and what comes in a commit agree in this variable, and all others that are named so, it is one thing that changed.
    #[must_use]
    pub fn key(mut self, variable: impl Into<String>) -> Self {
        self.key.push(variable.into());
        self
    }

    /// How many matches there are for each value of the other variables of the template, in which this variable stands for the number.
    #[must_use]
    pub fn count(self, variable: impl Into<String>) -> Self {
        self.aggregate(AggregateRequest::Count(variable.into()))
    }

    /// The sum of what a variable is, for each value of the other variables of the template, in which it stands for the sum.
    #[must_use]
    pub fn sum(self, variable: impl Into<String>) -> Self {
        self.aggregate(AggregateRequest::Sum(variable.into()))
    }

    /// The least of what a variable is, in the same way.
    #[must_use]
    pub fn min(self, variable: impl Into<String>) -> Self {
        self.aggregate(AggregateRequest::Min(variable.into()))
    }

    /// The greatest of what a variable is, in the same way.
    #[must_use]
    pub fn max(self, variable: impl Into<String>) -> Self {
        self.aggregate(AggregateRequest::Max(variable.into()))
    }

    /// Only `most` matches: those in which a variable is greatest.
    #[must_use]
    pub fn greatest(self, most: usize, by: impl Into<String>) -> Self {
        self.aggregate(AggregateRequest::Top { most, by: by.into(), is_greatest: true })
    }

    /// Only `most` matches: those in which a variable is least.
    #[must_use]
    pub fn least(self, most: usize, by: impl Into<String>) -> Self {
        self.aggregate(AggregateRequest::Top { most, by: by.into(), is_greatest: false })
    }

    /// That many for each value of this variable, and of all others that are named so.
    #[must_use]
    pub fn within(mut self, variable: impl Into<String>) -> Self {
        self.within.push(variable.into());
        self
    }

    fn aggregate(mut self, aggregate: AggregateRequest) -> Self {
        self.aggregate = Some(aggregate);
        self
    }

    /// This request as atoms of a program, whose words mean what they mean in a view of it.
    pub(crate) fn read(&self, view: &View, program: &mut Program) -> Result<LiveDefinition, LiveRequestError> {
        match &self.known {
            Some(Known::Named(name)) => named_in(view, name),
            Some(Known::Encoded { bytes, names }) => {
                let names: Vec<Symbol> = names.iter().map(|name| Symbol::new(name)).collect();
                let later = |reason: String| LiveRequestError::Later(reason);
                let entry = program.decode(bytes, &names).map_err(|error| later(error.to_string()))?;
                let query = NamedQuery::of_atom(&entry).ok_or_else(|| later(entry.to_string()))?;
                Ok(query.definition)
            }
            None => self.read_texts(view),
        }
    }

    fn read_texts(&self, view: &View) -> Result<LiveDefinition, LiveRequestError> {
        let pattern = view.read(&self.pattern).map_err(LiveRequestError::Pattern)?;
        let template = self.template.as_ref().map(|template| view.read(template).map_err(LiveRequestError::Template));
        let result = self.result.as_ref().map(|name| variable(name)).transpose()?;
        let whole = || result.clone().map_or_else(|| pattern.clone(), Atom::Variable);
        let template = template.transpose()?.unwrap_or_else(whole);
        let within = self.within.iter().map(|name| variable(name)).collect::<Result<_, _>>()?;
        let key = self.key.iter().map(|name| variable(name)).collect::<Result<_, _>>()?;
        let aggregate = match &self.aggregate {
            None => None,
            Some(AggregateRequest::Count(name)) => Some(Aggregate::Count(variable(name)?)),
            Some(AggregateRequest::Sum(name)) => Some(Aggregate::Sum(variable(name)?)),
            Some(AggregateRequest::Min(name)) => Some(Aggregate::Min(variable(name)?)),
            Some(AggregateRequest::Max(name)) => Some(Aggregate::Max(variable(name)?)),
            Some(AggregateRequest::Top { most, by, is_greatest }) => {
                Some(Aggregate::Top(Top { most: *most, by: variable(by)?, is_greatest: *is_greatest, within }))
            }
        };
        Ok(LiveDefinition { pattern, result, template, aggregate, key })
    }
}

/// The query of a name in a view.
fn named_in(view: &View, name: &str) -> Result<LiveDefinition, LiveRequestError> {
    let named = view.named_queries();
    match named.iter().find(|query| query.name == name) {
        Some(query) => Ok(query.definition.clone()),
        None => Err(LiveRequestError::Unknown(NamedQuery::unknown(name, &named))),
    }
}

fn variable(text: &str) -> Result<Variable, LiveRequestError> {
    let name = text.strip_prefix('$').filter(|name| !name.is_empty());
    name.map(Variable::new).ok_or_else(|| LiveRequestError::NotAVariable(text.to_owned()))
}
