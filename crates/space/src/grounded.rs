//! Grounded atoms: values with behaviour of their own.
//!
//! The kinds every program uses are variants here; anything a host adds (native functions first of all) is a
//! [`HostValue`]. A state is a cell that programs change, known by its serial number and compared by content.

use crate::atom::{Atom, Solution, free_one};
use crate::number::Number;
use crate::space_handle::SharedSpace;
use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// A value with behaviour of its own.
#[derive(Clone)]
pub enum Grounded {
    /// `True` or `False`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(Arc<str>),
    /// A space.
    Space(SharedSpace),
    /// A changeable cell.
    State(SharedState),
    /// What one alternative of `collapse-bind` bound.
    Bindings(Arc<Solution>),
    /// A value of the host, such as a native function.
    Host(Arc<dyn HostValue>),
}

/// A value that a host program puts into atoms. Its identity decides equality.
pub trait HostValue: Send + Sync {
    /// How it prints.
    fn name(&self) -> &str;
    /// What tells it from every other host value, across processes: equal identities are equal atoms.
    fn identity(&self) -> &str;
    /// Its MeTTa type.
    fn type_atom(&self) -> Atom;
    /// For the host to find its own type again.
    fn as_any(&self) -> &dyn Any;
    /// Whether its identity is enough to make it again in another process.
    fn is_durable(&self) -> bool {
        false
    }
    /// It as a space that the host keeps, if it is one.
    fn space(&self) -> Option<&dyn HostSpace> {
        None
    }
}

/// A space that a host keeps in its own way. Programs ask and change it by name; it is not searched when it lies in another space.
///
/// What goes wrong is said by the message of an error.
pub trait HostSpace: Send + Sync {
    /// Adds an atom.
    ///
    /// # Errors
    /// The host refuses.
    fn add(&self, atom: &Atom) -> Result<(), String>;
    /// Removes one copy of an atom; says whether there was one.
    ///
    /// # Errors
    /// The host refuses.
    fn remove(&self, atom: &Atom) -> Result<bool, String>;
    /// What it holds.
    ///
    /// # Errors
    /// The host cannot list it.
    fn atoms(&self) -> Result<Vec<Atom>, String>;
    /// What each way in which a pattern matches binds the variables of the pattern to.
    ///
    /// # Errors
    /// The host cannot answer.
    fn query(&self, pattern: &Atom) -> Result<Vec<Solution>, String>;
}

/// A value of a host that says itself what it matches: see [`SharedSpace::of_matcher`].
pub trait HostMatcher: Send + Sync {
    /// Its MeTTa type.
    fn type_atom(&self) -> Atom;
    /// For the host to find its own type again.
    fn as_any(&self) -> &dyn Any;
    /// What each way in which an atom matches binds variables to; nothing if it does not match.
    fn matches(&self, atom: &Atom) -> Vec<Solution>;
}

impl Grounded {
    /// Whether it means the same for ever, so that a space may intern it.
    pub(crate) fn is_rigid(&self) -> bool {
        !matches!(self, Self::Space(_) | Self::State(_) | Self::Bindings(_))
    }

    /// Whether it can be made again in another process from its canonical bytes.
    pub(crate) fn is_durable(&self) -> bool {
        match self {
            Self::Space(space) => !space.is_frozen() && space.matcher().is_none(),
            Self::State(state) => !state.is_frozen(),
            Self::Host(value) => value.is_durable(),
            Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::Bindings(_) => true,
        }
    }

    /// Equality of values that hold no atoms; states and bindings are compared by the caller.
    pub(crate) fn equals_leaf(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bool(left), Self::Bool(right)) => left == right,
            (Self::Number(left), Self::Number(right)) => left == right,
            (Self::Text(left), Self::Text(right)) => left == right,
            (Self::Space(left), Self::Space(right)) => left.is_same(right),
            (Self::Host(left), Self::Host(right)) => left.identity() == right.identity(),
            _ => false,
        }
    }

    /// A hash that agrees with equality; states all share one, since their content changes.
    pub(crate) fn hash_leaf<H: Hasher>(&self, hasher: &mut H) {
        std::mem::discriminant(self).hash(hasher);
        match self {
            Self::Bool(value) => value.hash(hasher),
            Self::Number(value) => value.hash(hasher),
            Self::Text(value) => value.hash(hasher),
            Self::Space(space) => space.serial().hash(hasher),
            Self::State(_) | Self::Bindings(_) => {}
            Self::Host(value) => value.identity().hash(hasher),
        }
    }
}

impl From<bool> for Grounded {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<Number> for Grounded {
    fn from(value: Number) -> Self {
        Self::Number(value)
    }
}

impl From<i64> for Grounded {
    fn from(value: i64) -> Self {
        Self::Number(value.into())
    }
}

impl From<f64> for Grounded {
    fn from(value: f64) -> Self {
        Self::Number(value.into())
    }
}

impl From<&str> for Grounded {
    fn from(value: &str) -> Self {
        Self::Text(value.into())
    }
}

impl From<SharedSpace> for Grounded {
    fn from(value: SharedSpace) -> Self {
        Self::Space(value)
    }
}

impl From<SharedState> for Grounded {
    fn from(value: SharedState) -> Self {
        Self::State(value)
    }
}

/// Notes the changes of states.
pub(crate) trait StateLog: Send + Sync {
    /// Notes that a state was set which had this content before.
    fn note_set(&self, state: &SharedState, before: Atom);
}

/// What each change asks of the log: without a call of it, since most runs keep none.
#[derive(Debug, Default)]
pub(crate) struct LogSwitch {
    /// How much the log keeps; 0 is nothing.
    pub(crate) keeps: AtomicU8,
    /// How often anything changed, noted or not, undone or not.
    pub(crate) stamp: AtomicU64,
}

/// Where a state notes that it was set.
pub(crate) struct StateLogHandle {
    pub(crate) switch: Arc<LogSwitch>,
    pub(crate) log: Arc<dyn StateLog>,
}

/// A cell whose content programs change. Its type is fixed when it is made.
#[derive(Clone)]
pub struct SharedState(Arc<Cell>);

struct Cell {
    serial: u64,
    type_atom: Atom,
    value: RwLock<Atom>,
    log: Option<StateLogHandle>,
    is_frozen: AtomicBool,
}

impl SharedState {
    /// A state with this serial number, content and type.
    pub fn new(serial: u64, value: Atom, type_atom: Atom) -> Self {
        Self::logged(serial, value, type_atom, None)
    }

    /// A state whose changes are noted here.
    pub(crate) fn logged(serial: u64, value: Atom, type_atom: Atom, log: Option<StateLogHandle>) -> Self {
        Self(Arc::new(Cell { serial, type_atom, value: RwLock::new(value), log, is_frozen: AtomicBool::new(false) }))
    }

    /// From now on nothing may change it: callers that change states ask [`SharedState::is_frozen`] first.
    pub fn freeze(&self) {
        self.0.is_frozen.store(true, Ordering::Relaxed);
    }

    /// Whether it is of the past, and nothing may change it.
    pub fn is_frozen(&self) -> bool {
        self.0.is_frozen.load(Ordering::Relaxed)
    }

    /// Its serial number: states are numbered in program order.
    pub fn serial(&self) -> u64 {
        self.0.serial
    }

    /// Its type, `(StateMonad T)`.
    pub fn type_atom(&self) -> &Atom {
        &self.0.type_atom
    }

    /// Its content now.
    pub fn value(&self) -> Atom {
        self.0.value.read().expect("no panic while a state is locked").clone()
    }

    /// Its content, if that is an integer of 64 bits.
    pub fn integer(&self) -> Option<i64> {
        match &*self.0.value.read().expect("no panic while a state is locked") {
            Atom::Grounded(Grounded::Number(Number::Int(value))) => Some(*value),
            _ => None,
        }
    }

    /// Replaces its content.
    pub fn set(&self, value: Atom) {
        debug_assert!(!self.is_frozen(), "a frozen state is changed");
        let before = self.replace(value);
        if let Some(StateLogHandle { switch, log }) = &self.0.log
            && switch.keeps.load(Ordering::Relaxed) != 0
        {
            log.note_set(self, before);
        }
    }

    /// Replaces its content, unnoted; gives what it was.
    pub fn replace(&self, value: Atom) -> Atom {
        if let Some(log) = &self.0.log {
            log.switch.stamp.fetch_add(1, Ordering::Relaxed);
        }
        let mut content = self.0.value.write().expect("no panic while a state is locked");
        std::mem::replace(&mut *content, value)
    }

    /// Whether both are the same cell.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Where it lies: what tells it from every other state alive.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// The content, if this was the last handle.
    pub(crate) fn into_value(self) -> Option<Atom> {
        Some(Arc::into_inner(self.0)?.take())
    }
}

impl Cell {
    fn take(&mut self) -> Atom {
        let value = self.value.get_mut().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(value, Atom::from(false))
    }
}

impl Drop for Cell {
    /// States that hold states cost heap and not native stack.
    fn drop(&mut self) {
        free_one(self.take());
    }
}

impl fmt::Debug for SharedSpace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl fmt::Debug for SharedState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "state {}", self.serial())
    }
}

impl fmt::Debug for Atom {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}
