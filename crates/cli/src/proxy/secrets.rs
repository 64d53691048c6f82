//! What is a secret, by the command line and by what a cassette remembers: the names of rules, never a value.
//!
//! A request is found only if what is a secret is taken out of it as it was when it was recorded, so a cassette keeps the rules that it
//! was recorded with, and a replay goes by them without being told.

use super::arguments::SecretArguments;
use cassette::matching::JsonPath;
use cassette::redact::{Redaction, RedactionRules};
use cassette::{Cassette, Note, ReadError};
use std::ffi::OsString;

/// Notes of a cassette: whether secrets are kept, and lists of rules, an item a line.
const KEPT: &str = "redaction.kept";
const NAMES: &str = "redaction.names";
const JSON_PATHS: &str = "redaction.json_paths";
const VARIABLES: &str = "redaction.variables";

impl SecretArguments {
    /// These rules, and those that a cassette was recorded with. That secrets were kept counts only where nothing is recorded: what
    /// is new has none unless that is asked for. Variables that are not set have nothing to be taken out.
    ///
    /// # Errors
    /// The cassette is not what was written.
    pub(super) fn with_those_of(mut self, cassette: &Cassette, records: bool) -> Result<Self, ReadError> {
        if self.keep_secrets {
            return Ok(self);
        }
        for note in cassette.meta()? {
            let items = || note.value.to_text_lossy().lines().map(str::to_owned).collect::<Vec<_>>();
            match &note.name[..] {
                name if name == KEPT.as_bytes() => self.keep_secrets = !records && self.is_usual(),
                name if name == NAMES.as_bytes() => add(&mut self.secret_name, items()),
                name if name == JSON_PATHS.as_bytes() => add(&mut self.secret_json_path, items()),
                name if name == VARIABLES.as_bytes() => {
                    let is_set = |name: &String| value_of(name).is_some();
                    add(&mut self.secret_from, items().into_iter().filter(is_set).collect());
                }
                _ => {}
            }
        }
        Ok(self)
    }

    /// What a cassette is to remember.
    pub(super) fn notes(&self) -> Vec<Note<'static>> {
        let list = |name, items: &[String]| (!items.is_empty()).then(|| Note::new(name, items.join("\n")));
        let kept = self.keep_secrets.then(|| Note::new(KEPT, "yes"));
        let lists = [
            list(NAMES, &self.secret_name),
            list(JSON_PATHS, &self.secret_json_path),
            list(VARIABLES, &self.secret_from),
        ];
        kept.into_iter().chain(lists.into_iter().flatten()).collect()
    }

    /// What is a secret; `None` if nothing is.
    pub(super) fn redaction(&self) -> Result<Option<Redaction>, String> {
        if self.keep_secrets {
            return Ok(None);
        }
        let value =
            |name: &String| value_of(name).ok_or_else(|| format!("there is no variable {name} to take a secret from"));
        let secrets = self.secret_from.iter().map(value).collect::<Result<_, _>>()?;
        let paths = self.secret_json_path.iter().map(|path| JsonPath::new(path)).collect::<Result<_, _>>();
        let paths = paths.map_err(|error| error.to_string())?;
        let rules = RedactionRules { names: self.secret_name.clone(), paths, secrets, ..RedactionRules::default() };
        rules.compile().map(Some).map_err(|error| error.to_string())
    }

    /// Whether no rule was given.
    fn is_usual(&self) -> bool {
        self.secret_name.is_empty() && self.secret_json_path.is_empty() && self.secret_from.is_empty()
    }
}

fn value_of(variable: &str) -> Option<Vec<u8>> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(OsString::into_encoded_bytes)
}

fn add(rules: &mut Vec<String>, more: Vec<String>) {
    rules.extend(more);
    rules.sort();
    rules.dedup();
}
