//! Functions of the host: what a program that links the engine lets MeTTa programs call.
//!
//! 1. A [`HostFunction`](crate::HostFunction) is what carries a call out, in whatever language the host is written.
//! 2. A *named* function is known to a program by its name: the atom of it holds name, type and effects, and no code. So it can be
//!    stored, and decoded where nobody has registered it; a call there is an error that says so. A call of one that has effects goes
//!    through the [`World`](crate::World), so that a recording has its answer and a replay needs no host.
//! 3. A *held* function is a value of the process: an atom that holds the code itself, equal to nothing but itself, and never stored.
//!
//! The identity of a named function is `host:EFFECTS:NAME TYPE`, which is all that there is to know of it.

use crate::effects::Effects;
use crate::environment::{Environment, HostFunction, Outcome};
use crate::host_call::HostCall;
use crate::operation::Operation;
use crate::reader::read_atom;
use crate::syntax;
use crate::tokenizer::Tokenizer;
use space::Atom;
use std::sync::Arc;

/// What a call of a named function touches besides its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostEffects {
    /// Nothing: equal arguments give equal results, so a call is not recorded, and a view may make it.
    Pure,
    /// It looks at something outside: a call is recorded with what it came to.
    Asks,
    /// It changes something outside, too: what precedes a call is committed first, and a `(transaction …)` refuses it.
    Acts,
}

impl HostEffects {
    fn letter(self) -> char {
        match self {
            Self::Pure => 'p',
            Self::Asks => 'a',
            Self::Acts => 'o',
        }
    }

    fn of_letter(letter: &str) -> Option<Self> {
        [Self::Pure, Self::Asks, Self::Acts].into_iter().find(|effects| letter == effects.letter().to_string())
    }

    /// As those of a native function.
    pub fn effects(self) -> Effects {
        match self {
            Self::Pure => Effects::NONE,
            Self::Asks => Effects::ASKS,
            Self::Acts => Effects::ASKS.and(Effects::TELLS),
        }
    }
}

/// What is known of a named function besides its code.
#[derive(Clone, Debug, PartialEq)]
pub struct HostSignature {
    name: String,
    type_atom: Atom,
    effects: HostEffects,
}

const PREFIX: &str = "host:";

impl HostSignature {
    /// The signature of a function of this name; its type is written in MeTTa syntax.
    ///
    /// # Errors
    /// The name is not one word, or the type is not one atom; the message says which.
    pub fn new(name: &str, type_text: &str, effects: HostEffects) -> Result<Self, String> {
        let words = syntax::parse(name);
        let is_word = match words.tree.forms() {
            [form] => {
                !form.bang && words.first_error().is_none() && read(name).is_some_and(|atom| atom.is_symbol(name))
            }
            _ => false,
        };
        if !is_word {
            return Err(format!("{name:?} is not the name of a function: write one word, without spaces or brackets"));
        }
        let type_atom = read(type_text)
            .ok_or_else(|| format!("{type_text:?} is not a type: write one atom, such as (-> Number Number)"))?;
        Ok(Self { name: name.to_owned(), type_atom, effects })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All that is known of it, as one text.
    pub fn identity(&self) -> String {
        format!("{PREFIX}{}:{} {}", self.effects.letter(), self.name, self.type_atom)
    }

    /// The signature that an identity says.
    pub fn of_identity(identity: &str) -> Option<Self> {
        let (effects, rest) = identity.strip_prefix(PREFIX)?.split_once(':')?;
        let (name, type_text) = rest.split_once(' ')?;
        Self::new(name, type_text, HostEffects::of_letter(effects)?).ok()
    }

    /// The function as an atom.
    pub fn atom(&self) -> Atom {
        let function = Named { effects: self.effects };
        let effects = self.effects.effects();
        let (name, type_atom) = (self.name.clone(), self.type_atom.clone());
        Operation::of_host(name, self.identity(), type_atom, (effects, true), Arc::new(function)).into_atom()
    }
}

/// The atom that a text without words of its own stands for, if it is one.
fn read(text: &str) -> Option<Atom> {
    let parsed = syntax::parse(text);
    match parsed.tree.forms() {
        [form] if !form.bang && parsed.first_error().is_none() => {
            Some(read_atom(&parsed.tree, form.node, &Tokenizer::default()))
        }
        _ => None,
    }
}

/// The named function of an identity, as an atom.
pub(crate) fn of_identity(identity: &str) -> Option<Atom> {
    HostSignature::of_identity(identity).map(|signature| signature.atom())
}

/// A function of the process as an atom. Equal identities are equal atoms, so that of each function has to be its own.
pub fn held_function(
    name: &str,
    identity: &str,
    type_atom: Atom,
    effects: Effects,
    function: Arc<dyn HostFunction>,
) -> Atom {
    Operation::of_host(name.to_owned(), identity.to_owned(), type_atom, (effects, false), function).into_atom()
}

/// A function that its program has by name.
struct Named {
    effects: HostEffects,
}

impl HostFunction for Named {
    fn call(&self, environment: &mut dyn Environment, call: &HostCall<'_>) -> Outcome {
        if self.effects == HostEffects::Pure {
            return carry_out(environment, call);
        }
        if self.effects == HostEffects::Acts
            && let Err(refused) = environment.before_outward_effect()
        {
            return refused.into();
        }
        environment.ask_host(call, &mut |environment| carry_out(environment, call))
    }
}

fn carry_out(environment: &mut dyn Environment, call: &HostCall<'_>) -> Outcome {
    match environment.host_function(call.name) {
        Some(function) => function.call(environment, call),
        None => Outcome::failure(format!(
            "{} is a function of the host that is not registered in this process: register it, and run this again",
            call.name
        )),
    }
}
