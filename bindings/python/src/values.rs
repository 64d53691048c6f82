//! Values of Python inside an engine: objects that MeTTa has no kind of atom for, spaces that are written in Python, and what exceptions
//! come to.

use crate::classes::{Atom, Bindings, object};
use metroon::host::Outcome;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use space::{Atom as Native, Grounded, HostMatcher, HostSpace, HostValue, SharedSpace, Solution};
use std::any::Any;
use std::sync::{Arc, OnceLock};

/// What an exception comes to.
pub(crate) fn failure(py: Python<'_>, error: &PyErr) -> Outcome {
    let told = || -> PyResult<Option<String>> {
        let tell = py.import("metroon._functions")?.getattr("told")?;
        tell.call1((error.value(py), error.traceback(py)))?.extract()
    };
    match told() {
        Ok(Some(text)) => Outcome::Failure(Native::from(text.as_str())),
        Ok(None) => Outcome::NotReducible,
        Err(other) => Outcome::Failure(Native::from(other.to_string().as_str())),
    }
}

/// A value of Python that MeTTa has no kind of atom for.
///
/// Values of kinds that never change and are written as what they are, such as dates, are equal if they are written alike; any other one
/// is equal to itself alone.
pub(crate) struct PythonValue {
    object: Py<PyAny>,
    identity: String,
    name: OnceLock<String>,
    type_atom: Native,
    is_space: bool,
}

/// The kinds whose values are equal if they are written alike.
const WRITTEN: [&str; 10] =
    ["bytes", "complex", "date", "datetime", "time", "timedelta", "timezone", "Decimal", "Fraction", "UUID"];

impl PythonValue {
    /// The atom of a value.
    pub(crate) fn atom(object: &Bound<'_, PyAny>) -> PyResult<Native> {
        Self::typed(object, Native::symbol("%Undefined%"))
    }

    /// The atom of a value, with a type.
    pub(crate) fn typed(object: &Bound<'_, PyAny>, type_atom: Native) -> PyResult<Native> {
        let class = object.get_type();
        let name = class.qualname()?.to_string();
        let is_written = WRITTEN.contains(&name.as_str())
            && matches!(
                class.module()?.to_string().as_str(),
                "builtins" | "datetime" | "decimal" | "fractions" | "uuid"
            );
        // While the atom is there, so is the object, and nothing else has its address.
        let identity = match is_written {
            true => format!("python:{name}:{}", object.repr()?),
            false => format!("python:{:x}:{type_atom}", object.as_ptr() as usize),
        };
        let is_space = object.hasattr("query_native")?;
        let value = Self { object: object.clone().unbind(), identity, name: OnceLock::new(), type_atom, is_space };
        Ok(Native::Grounded(Grounded::Host(Arc::new(value))))
    }

    /// The value itself.
    pub(crate) fn object(&self, py: Python<'_>) -> Py<PyAny> {
        self.object.clone_ref(py)
    }
}

impl HostValue for PythonValue {
    fn name(&self) -> &str {
        self.name.get_or_init(|| {
            Python::attach(|py| {
                let written = self.object.bind(py).repr().map(|text: Bound<'_, PyString>| text.to_string());
                written.unwrap_or_else(|error| format!("<a value that cannot be written: {error}>"))
            })
        })
    }

    fn identity(&self) -> &str {
        &self.identity
    }

    fn type_atom(&self) -> Native {
        self.type_atom.clone()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn space(&self) -> Option<&dyn HostSpace> {
        self.is_space.then_some(self)
    }
}

/// A value of Python that says itself what it matches.
pub(crate) struct PythonMatcher {
    object: Py<PyAny>,
    /// Asks the object, with an atom of the engine; gives a list of pairs of such atoms for each way.
    ask: Py<PyAny>,
    type_atom: Native,
}

impl PythonMatcher {
    /// The atom of a value.
    pub(crate) fn atom(object: &Bound<'_, PyAny>, ask: Py<PyAny>, type_atom: Native) -> PyResult<Native> {
        let name = object.repr()?.to_string();
        let matcher = Self { object: object.clone().unbind(), ask, type_atom };
        Ok(SharedSpace::of_matcher(crate::spaces::next_serial(), name, Arc::new(matcher)).into())
    }

    /// The value of an atom, if it is one.
    pub(crate) fn of(py: Python<'_>, atom: &Native) -> Option<Py<PyAny>> {
        let Native::Grounded(Grounded::Space(space)) = atom else { return None };
        let matcher = space.matcher()?.as_any().downcast_ref::<Self>()?;
        Some(matcher.object.clone_ref(py))
    }
}

impl HostMatcher for PythonMatcher {
    fn type_atom(&self) -> Native {
        self.type_atom.clone()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn matches(&self, atom: &Native) -> Vec<Solution> {
        Python::attach(|py| {
            let found = object(py, atom.clone()).and_then(|atom| self.ask.bind(py).call1((&self.object, atom)));
            // An object that fails is told of, and matches nothing.
            found.and_then(|ways| ways_of(&ways)).map_err(|error| error.print(py)).unwrap_or_default()
        })
    }
}

/// The ways that an object has named.
fn ways_of(ways: &Bound<'_, PyAny>) -> PyResult<Vec<Solution>> {
    let mut found = Vec::new();
    for way in ways.try_iter()? {
        let mut solution = Solution::new();
        for pair in way?.try_iter()? {
            let (variable, value): (Atom, Atom) = pair?.extract()?;
            let Native::Variable(variable) = variable.atom else {
                return Err(PyTypeError::new_err(format!("{} is no variable that could be bound", variable.atom)));
            };
            solution.push((variable, value.atom));
        }
        found.push(solution);
    }
    Ok(found)
}

/// A space that is an object of Python: the methods of the object are given atoms of the engine, and give such.
impl HostSpace for PythonValue {
    fn add(&self, atom: &Native) -> Result<(), String> {
        self.asked("add_native", atom, |_| Ok(()))
    }

    fn remove(&self, atom: &Native) -> Result<bool, String> {
        self.asked("remove_native", atom, |removed| removed.is_truthy())
    }

    fn atoms(&self) -> Result<Vec<Native>, String> {
        self.asked("atoms_native", &Native::unit(), |found| {
            found.try_iter()?.map(|atom| Ok(atom?.cast::<Atom>()?.get().atom.clone())).collect()
        })
    }

    fn query(&self, pattern: &Native) -> Result<Vec<Solution>, String> {
        self.asked("query_native", pattern, |found| {
            found.try_iter()?.map(|bindings| Ok(bindings?.cast::<Bindings>()?.get().0.clone())).collect()
        })
    }
}

impl PythonValue {
    fn asked<T>(
        &self,
        method: &str,
        atom: &Native,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T, String> {
        Python::attach(|py| {
            let atom = object(py, atom.clone());
            let asked = atom.and_then(|atom| self.object.bind(py).call_method1(method, (atom,)));
            asked.and_then(|found| read(&found)).map_err(|error| match failure(py, &error) {
                Outcome::Failure(Native::Grounded(Grounded::Text(text))) => text.to_string(),
                _ => error.to_string(),
            })
        })
    }
}
