//! What variables are bound to, for `metroon.hyperon`: bindings, matching, and where fresh variables come from.

use crate::classes::{Atom, Bindings, object};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use space::{Atom as Native, Bindings as NativeBindings, Solution, Unifier, Variable, VariableSource};
use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};

/// Variables from here on are made outside of programs.
const OUTSIDE: u64 = 1 << 48;
/// How many are for each thread: more than it can make.
const OF_A_THREAD: u64 = 1 << 40;

thread_local! {
    /// Where the variables of this thread come from, unless something that it does at the moment has it.
    static SOURCE: Cell<Option<VariableSource>> = const { Cell::new(None) };
}

/// Where variables come from that no program has made.
pub(crate) struct OutsideSource(VariableSource);

/// The source of this thread. An object that is asked what it matches may ask for it again meanwhile, and gets another one.
pub(crate) fn source() -> OutsideSource {
    static NEXT: AtomicU64 = AtomicU64::new(OUTSIDE);
    let made = || {
        let mut source = VariableSource::default();
        source.advance_to(NEXT.fetch_add(OF_A_THREAD, Ordering::Relaxed));
        source
    };
    OutsideSource(SOURCE.take().unwrap_or_else(made))
}

impl Deref for OutsideSource {
    type Target = VariableSource;

    fn deref(&self) -> &VariableSource {
        &self.0
    }
}

impl DerefMut for OutsideSource {
    fn deref_mut(&mut self) -> &mut VariableSource {
        &mut self.0
    }
}

impl Drop for OutsideSource {
    fn drop(&mut self) {
        SOURCE.set(Some(std::mem::take(&mut self.0)));
    }
}

impl Bindings {
    fn native(&self) -> NativeBindings {
        self.0.iter().cloned().collect()
    }

    fn of(bindings: &NativeBindings, variables: &[Variable]) -> Self {
        Self(bindings.solution_for(variables))
    }

    /// These bindings with pairs of atoms made equal; none if that cannot be.
    fn unified(&self, pairs: &[(Native, Native)]) -> Vec<Self> {
        let mut variables: Vec<Variable> = self.0.iter().map(|(variable, _)| variable.clone()).collect();
        for (left, right) in pairs {
            for found in space::variables(left).into_iter().chain(space::variables(right)) {
                if !variables.contains(&found) {
                    variables.push(found);
                }
            }
        }
        let mut source = source();
        let mut unifier = Unifier::under(self.native(), &mut source);
        if !pairs.iter().all(|(left, right)| unifier.unify(left, right)) {
            return Vec::new();
        }
        unifier.finish().iter().map(|found| Self::of(found, &variables)).collect()
    }
}

#[pymethods]
impl Bindings {
    #[new]
    fn new() -> Self {
        Self(Solution::new())
    }

    /// The ways in which two atoms are equal.
    #[staticmethod]
    #[pyo3(name = "match")]
    fn matching(py: Python<'_>, left: &Atom, right: &Atom) -> Vec<Self> {
        let (left, right) = (left.atom.clone(), right.atom.clone());
        py.detach(|| Self(Solution::new()).unified(&[(left, right)]))
    }

    /// These bindings with an atom equal to another as well; none if that cannot be.
    fn with_equal(&self, py: Python<'_>, left: &Atom, right: &Atom) -> Vec<Self> {
        let (left, right) = (left.atom.clone(), right.atom.clone());
        py.detach(|| self.unified(&[(left, right)]))
    }

    /// All that these and other bindings say, in each way in which that can be.
    fn merge(&self, py: Python<'_>, other: &Self) -> Vec<Self> {
        let pairs: Vec<_> = other.0.iter().map(|(variable, value)| (variable.clone().into(), value.clone())).collect();
        py.detach(|| self.unified(&pairs))
    }

    /// What a variable is bound to.
    fn resolve(&self, py: Python<'_>, variable: &Atom) -> PyResult<Option<Py<PyAny>>> {
        let Native::Variable(wanted) = &variable.atom else { return Ok(None) };
        let found = self.0.iter().find(|(bound, _)| bound == wanted);
        found.map(|(_, value)| object(py, value.clone())).transpose()
    }

    /// Those of some variables only.
    fn narrowed(&self, variables: Vec<PyRef<'_, Atom>>) -> Self {
        let is_wanted = |bound: &Variable| variables.iter().any(|wanted| wanted.atom == Native::from(bound.clone()));
        Self(self.0.iter().filter(|(bound, _)| is_wanted(bound)).cloned().collect())
    }

    /// The value of each variable, by the name of the variable as it is written, without the `$`.
    fn named<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for (variable, value) in &self.0 {
            let value = object(py, value.clone())?;
            match variable.id() {
                0 => found.set_item(variable.name().as_str(), value)?,
                _ => found.set_item(&Native::from(variable.clone()).to_string()[1..], value)?,
            }
        }
        Ok(found)
    }

    /// Each variable with its value.
    fn items(&self, py: Python<'_>) -> PyResult<Vec<(Py<PyAny>, Py<PyAny>)>> {
        let pair = |(variable, value): &(Variable, Native)| {
            Ok((object(py, variable.clone().into())?, object(py, value.clone())?))
        };
        self.0.iter().map(pair).collect()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && self.0.iter().all(|entry| other.0.contains(entry))
    }

    fn __repr__(&self) -> String {
        let entry = |(variable, value): &(Variable, Native)| format!("{} <- {value}", Native::from(variable.clone()));
        format!("{{ {} }}", self.0.iter().map(entry).collect::<Vec<_>>().join(", "))
    }
}

/// Whether two atoms are equal but for the names of their variables.
#[pyfunction]
pub(crate) fn equivalent(left: &Atom, right: &Atom) -> bool {
    space::alpha_equivalent(&left.atom, &right.atom)
}
