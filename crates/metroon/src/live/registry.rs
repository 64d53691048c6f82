//! The live queries of a knowledge base that have names, as those see and change them who are no program of it.

use super::request::{LiveRequest, LiveRequestError};
use crate::engine::Engine;
use crate::history::shown;
use crate::view::View;
use crate::writer::WriterError;
use metta::{NamedQuery, RunEnd, names, resolve_host};
use space::Atom;
use std::fmt;

/// What a commit that registers or ends a query says of where it comes from.
const ORIGIN: &str = "live queries";

/// A live query with its name, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamedLiveQuery {
    /// Its name.
    pub name: String,
    /// What must match; a call, if there is an option `(result $x)`.
    pub pattern: String,
    /// What there is for each match.
    pub template: String,
    /// Its options, such as `(sum $price)`.
    pub options: Vec<String>,
    /// The functions that are called with each change.
    pub functions: Vec<String>,
}

/// Why a live query was not registered under a name, or not ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum LiveNameError {
    /// The query is none.
    Request(LiveRequestError),
    /// The name is no symbol.
    NoName(String),
    /// The program refuses it: the name is taken, or there is no such query.
    Refused(String),
    /// It could not be committed.
    Run(RunEnd),
    /// The thread that writes did not take it.
    Writer(WriterError),
}

impl fmt::Display for LiveNameError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(error) => error.fmt(formatter),
            Self::NoName(name) => {
                write!(
                    formatter,
                    "{name:?} cannot be the name of a live query: write a word that means nothing else, such as shops"
                )
            }
            Self::Refused(message) => formatter.write_str(message),
            Self::Run(RunEnd::RunRecord(error)) => error.fmt(formatter),
            Self::Writer(error) => error.fmt(formatter),
            Self::Run(end) => write!(formatter, "it could not be committed: {end:?}"),
        }
    }
}

impl std::error::Error for LiveNameError {}

impl From<LiveRequestError> for LiveNameError {
    fn from(error: LiveRequestError) -> Self {
        Self::Request(error)
    }
}

impl NamedLiveQuery {
    fn of(query: &NamedQuery) -> Self {
        let texts = |atoms: &[Atom]| atoms.iter().map(shown).collect();
        let definition = &query.definition;
        Self {
            name: query.name.clone(),
            pattern: shown(&definition.pattern),
            template: shown(&definition.template),
            options: texts(&definition.options()),
            functions: texts(&query.functions),
        }
    }
}

impl View {
    /// The live queries that have names, in the order of their registration.
    pub fn live_queries(&self) -> Vec<NamedLiveQuery> {
        self.named_queries().iter().map(NamedLiveQuery::of).collect()
    }
}

impl Engine {
    /// Registers a live query of the program's own space under a name, as `(live-with …)` of the module `live-queries` does.
    ///
    /// # Errors
    /// The query is none or cannot be kept up to date, or the name is taken.
    pub fn add_live_query(&mut self, name: &str, request: &LiveRequest) -> Result<(), LiveNameError> {
        let view = self.view_of_now();
        let name = symbol(&view, name)?;
        let definition = request.read(&view, self.session_mut().program_mut())?;
        let options = Atom::expression(definition.options());
        self.call_live("live-with", vec![name, definition.pattern, definition.template, options])
    }

    /// Ends the live query of a name.
    ///
    /// # Errors
    /// There is none.
    pub fn end_live_query(&mut self, name: &str) -> Result<(), LiveNameError> {
        let name = symbol(&self.view_of_now(), name)?;
        self.call_live("live-end", vec![name])
    }

    /// The live queries that have names, in the order of their registration.
    pub fn live_queries(&mut self) -> Vec<NamedLiveQuery> {
        NamedQuery::all(self.session_mut().program_mut()).iter().map(NamedLiveQuery::of).collect()
    }

    fn view_of_now(&mut self) -> View {
        let epoch = self.epoch().unwrap_or_default();
        View::new(self.session_mut().program_mut().snapshot(Some(epoch), None), epoch, 0, None)
    }

    /// Calls a function of the module, whether the program has imported it or not.
    fn call_live(&mut self, function: &str, arguments: Vec<Atom>) -> Result<(), LiveNameError> {
        let function = resolve_host(function).expect("the module has it");
        let call = Atom::expression(std::iter::once(function).chain(arguments).collect::<Vec<_>>());
        let mut refused = None;
        let run = self.run_atoms(ORIGIN, &[call], true, &mut |_, answer| {
            let error = answer.results.iter().find(|result| names::is_error(result));
            refused = refused
                .take()
                .or_else(|| error.map(|error| names::error_message(error).unwrap_or_else(|| shown(error))));
            Ok(())
        });
        match (run.end, refused) {
            (_, Some(message)) => Err(LiveNameError::Refused(message)),
            (RunEnd::Finished, None) => Ok(()),
            (end, None) => Err(LiveNameError::Run(end)),
        }
    }
}

/// A name as a symbol.
fn symbol(view: &View, name: &str) -> Result<Atom, LiveNameError> {
    match view.read(name) {
        Ok(symbol @ Atom::Symbol(_)) => Ok(symbol),
        _ => Err(LiveNameError::NoName(name.to_owned())),
    }
}
