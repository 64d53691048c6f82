//! Native functions: operations that MeTTa programs call and Rust carries out.

use crate::effects::Effects;
use crate::environment::{Environment, HostFunction};
use crate::host_call::HostCall;
use crate::limits::LimitReached;
use crate::lowering::Lowering;
pub(crate) use crate::outcome::Outcome;
use crate::outcome::Stop;
use crate::program::modules::ModuleId;
use space::{Atom, Grounded, HostSpace, HostValue, Number, SharedSpace, SharedState};
use std::any::Any;
use std::cmp::Ordering;
use std::sync::Arc;

/// A call of a native function.
pub struct Call<'a> {
    /// What it may ask of the run.
    pub environment: &'a mut dyn Environment,
    /// The head of the call: the function itself, as an atom.
    pub head: &'a Atom,
    /// The arguments.
    pub arguments: &'a [Atom],
    /// The module in whose source the function's name was read.
    pub home: ModuleId,
    /// The space of the evaluation.
    pub context: &'a SharedSpace,
}

impl<'a> Call<'a> {
    /// Looks at the limits, in the middle of a call that may take long or make much; the function gives up then, and must have
    /// done nothing yet. `more` bytes are about to be taken.
    ///
    /// # Errors
    /// A limit is reached.
    pub fn look(&mut self, more: usize) -> Result<(), Outcome> {
        let reached = self.environment.limit_reached(more);
        reached.map_or(Ok(()), |limit| Err(self.refuse(limit)))
    }

    /// Gives the call up since a limit is reached; it must have done nothing yet.
    pub(crate) fn refuse(&mut self, limit: LimitReached) -> Outcome {
        // What the program alone comes to, a replay comes to as well.
        if limit.is_from_outside() {
            self.environment.refuse_call(limit);
        }
        Outcome::Stop(Stop::Limit(limit))
    }

    /// The argument at a position, counted from 0.
    pub fn argument(&self, position: usize) -> Option<&'a Atom> {
        self.arguments.get(position)
    }

    /// The argument as a space.
    pub fn space(&self, position: usize) -> Option<SharedSpace> {
        match self.argument(position)? {
            Atom::Grounded(Grounded::Space(space)) => space.matcher().is_none().then(|| space.clone()),
            _ => None,
        }
    }

    /// The argument as a space that the host keeps.
    pub fn host_space(&self, position: usize) -> Option<&'a dyn HostSpace> {
        match self.argument(position)? {
            Atom::Grounded(Grounded::Host(value)) => value.space(),
            _ => None,
        }
    }

    /// The argument as a state.
    pub fn state(&self, position: usize) -> Option<SharedState> {
        match self.argument(position)? {
            Atom::Grounded(Grounded::State(state)) => Some(state.clone()),
            _ => None,
        }
    }

    /// The argument as an expression's children.
    pub fn children(&self, position: usize) -> Option<&'a [Atom]> {
        self.argument(position)?.children()
    }

    /// The argument as a text.
    pub fn text(&self, position: usize) -> Option<&'a str> {
        match self.argument(position)? {
            Atom::Grounded(Grounded::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The argument as a number.
    pub fn number(&self, position: usize) -> Option<&'a Number> {
        match self.argument(position)? {
            Atom::Grounded(Grounded::Number(number)) => Some(number),
            _ => None,
        }
    }

    /// The argument as an integer of 64 bits.
    pub fn integer(&self, position: usize) -> Option<i64> {
        match self.number(position)? {
            Number::Int(integer) => Some(*integer),
            _ => None,
        }
    }

    /// The argument as a position or a length: an integer that is not negative.
    pub fn size(&self, position: usize) -> Option<usize> {
        usize::try_from(self.integer(position)?).ok()
    }

    /// The argument as a name: a symbol or a text.
    pub fn name(&self, position: usize) -> Option<String> {
        match self.argument(position)? {
            Atom::Symbol(symbol) => Some(symbol.as_str().to_owned()),
            Atom::Grounded(Grounded::Text(text)) => Some(text.to_string()),
            _ => None,
        }
    }
}

/// From how many elements on, of all lists together, limits are looked at before a native function is called with them: what it makes of
/// them may be as long.
const LONG: usize = 1 << 12;

/// How many results of a goal a program asks for, if an atom says so: a whole number that is not negative.
pub(crate) fn results_wanted(most: &Atom) -> Option<usize> {
    match most {
        Atom::Grounded(Grounded::Number(Number::Int(most))) => usize::try_from(*most).ok(),
        // More than there can be.
        Atom::Grounded(Grounded::Number(most @ Number::Big(_))) => {
            (most.compare(&Number::Int(0)) == Some(Ordering::Greater)).then_some(usize::MAX)
        }
        _ => None,
    }
}

/// The Rust side of a native function.
pub type Native = fn(&mut Call<'_>) -> Outcome;

/// What is documented about a native function: its `@doc` fact in parts.
#[derive(Clone, Copy, Debug)]
pub struct OperationDocumentation {
    /// What it does.
    pub description: &'static str,
    /// What each parameter is.
    pub parameters: &'static [&'static str],
    /// What it gives.
    pub result: &'static str,
}

/// How a native function compares with that of Hyperon, with what `docs/compat.md` notes about it.
#[derive(Clone, Copy, Debug)]
pub enum Compatibility {
    /// Every answer is the same.
    Works(&'static str),
    /// Some answers differ.
    Differs(&'static str),
    /// It is missing and says so.
    NotYet(&'static str),
    /// Hyperon has no such function.
    MetroonOnly(&'static str),
}

impl Compatibility {
    /// Only the texts of errors differ.
    pub const ERROR_TEXT: Self = Self::Works("the text of the error for wrong arguments");

    /// The row of `docs/compat.md` about a name.
    pub fn row(self, name: &str) -> String {
        let (says, note) = match self {
            Self::Works(note) => ("works", note),
            Self::Differs(note) => ("differs", note),
            Self::NotYet(note) => ("not yet", note),
            Self::MetroonOnly(note) => ("Metroon only", note),
        };
        format!("| `{name}` | {says} | {note} |")
    }
}

/// Everything that is known of a native function, in one place.
pub struct OperationSpec {
    /// Its name.
    pub name: &'static str,
    /// Its type, in MeTTa syntax; `None` leaves it undeclared.
    pub signature: Option<&'static str>,
    /// What a call touches besides its arguments.
    pub effects: Effects,
    /// What the machine makes of a call.
    pub lowering: Lowering,
    /// Whether it means another thing in each module.
    pub has_home: bool,
    /// What `help!` and `get-doc` show of it.
    pub documentation: Option<OperationDocumentation>,
    /// How it compares with Hyperon's.
    pub compatibility: Compatibility,
    /// What carries it out.
    pub native: Native,
}

impl OperationSpec {
    /// A function with a declared type, which may do anything.
    pub const fn typed(name: &'static str, signature: &'static str, native: Native) -> Self {
        Self { signature: Some(signature), ..Self::untyped(name, native) }
    }

    /// A function without a type: its arguments are evaluated like the children of a tuple.
    pub const fn untyped(name: &'static str, native: Native) -> Self {
        Self {
            name,
            signature: None,
            effects: Effects::ANY,
            lowering: Lowering::Call,
            has_home: false,
            documentation: None,
            compatibility: Compatibility::Works(""),
            native,
        }
    }

    /// Says that the function has no effects but these.
    pub const fn with(self, effects: Effects) -> Self {
        Self { effects, ..self }
    }

    /// Says that the machine has code of its own for the function.
    pub const fn lowered(self, lowering: Lowering) -> Self {
        Self { lowering, ..self }
    }

    /// Says that the function means another thing in each module.
    pub const fn at_home(self) -> Self {
        Self { has_home: true, ..self }
    }

    /// Says how the function compares with Hyperon's.
    pub const fn compared(self, compatibility: Compatibility) -> Self {
        Self { compatibility, ..self }
    }

    /// Adds the documentation of the function.
    pub const fn documented(
        self,
        description: &'static str,
        parameters: &'static [&'static str],
        result: &'static str,
    ) -> Self {
        Self { documentation: Some(OperationDocumentation { description, parameters, result }), ..self }
    }
}

/// A native function as an atom.
pub struct Operation {
    body: Body,
    identity: String,
    type_atom: Atom,
    home: ModuleId,
}

/// What carries out the calls of a native function.
enum Body {
    /// A function of the library.
    Library(&'static OperationSpec),
    /// A function of the host.
    Host { name: String, effects: Effects, is_durable: bool, function: Arc<dyn HostFunction> },
}

impl Operation {
    /// The function of a specification with its type, read in a module.
    pub fn new(spec: &'static OperationSpec, type_atom: Atom, home: ModuleId) -> Self {
        let identity = if spec.has_home { format!("{}@{}", spec.name, home.0) } else { spec.name.to_owned() };
        Self { body: Body::Library(spec), identity, type_atom, home }
    }

    /// A function of the host of this name and identity.
    pub(crate) fn of_host(
        name: String,
        identity: String,
        type_atom: Atom,
        (effects, is_durable): (Effects, bool),
        function: Arc<dyn HostFunction>,
    ) -> Self {
        let body = Body::Host { name, effects, is_durable, function };
        Self { body, identity, type_atom, home: ModuleId::LIBRARY }
    }

    /// As an atom.
    pub fn into_atom(self) -> Atom {
        Atom::Grounded(Grounded::Host(Arc::new(self)))
    }

    /// The native function that an atom is.
    pub fn of(atom: &Atom) -> Option<&Self> {
        match atom {
            Atom::Grounded(Grounded::Host(value)) => value.as_any().downcast_ref(),
            _ => None,
        }
    }

    /// The module in which its name was read.
    pub(crate) fn home(&self) -> ModuleId {
        self.home
    }

    /// What a call touches besides its arguments.
    pub fn effects(&self) -> Effects {
        match &self.body {
            Body::Library(spec) => spec.effects,
            Body::Host { effects, .. } => *effects,
        }
    }

    /// What the machine makes of a call.
    pub fn lowering(&self) -> Lowering {
        match &self.body {
            Body::Library(spec) => spec.lowering,
            Body::Host { .. } => Lowering::Call,
        }
    }

    /// What the host has as this function, if it is the host's.
    pub fn host_function(&self) -> Option<&Arc<dyn HostFunction>> {
        match &self.body {
            Body::Library(_) => None,
            Body::Host { function, .. } => Some(function),
        }
    }

    /// Calls it.
    pub fn call(
        &self,
        environment: &mut dyn Environment,
        head: &Atom,
        arguments: &[Atom],
        context: &SharedSpace,
    ) -> Outcome {
        if let Some(stop) = environment.begin_call(self.name(), self.effects(), arguments) {
            return Outcome::Stop(stop);
        }
        let mut call = Call { environment, head, arguments, home: self.home, context };
        let elements: usize = arguments.iter().filter_map(Atom::children).map(<[Atom]>::len).sum();
        if elements >= LONG
            && let Err(refused) = call.look(elements * size_of::<Atom>())
        {
            return refused;
        }
        match &self.body {
            Body::Library(spec) => (spec.native)(&mut call),
            Body::Host { name, function, .. } => function.call(call.environment, &HostCall { name, arguments }),
        }
    }
}

/// What is made of a call whose head is this native function.
pub(crate) fn lowering_of(head: &Atom) -> Option<Lowering> {
    Operation::of(head).map(Operation::lowering)
}

impl HostValue for Operation {
    fn name(&self) -> &str {
        match &self.body {
            Body::Library(spec) => spec.name,
            Body::Host { name, .. } => name,
        }
    }

    fn identity(&self) -> &str {
        &self.identity
    }

    fn type_atom(&self) -> Atom {
        self.type_atom.clone()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_durable(&self) -> bool {
        match &self.body {
            Body::Library(_) => true,
            Body::Host { is_durable, .. } => *is_durable,
        }
    }
}
