//! The standard library: native functions, and the rules of the prelude written in MeTTa.
//!
//! Each module of this folder lists its functions as [`OperationSpec`]s: name, type, effects, documentation, what carries
//! it out. A function is a grounded atom, known to the tokenizer by its name. Functions that mean another thing in each
//! module (`get-type` asks that module's space) are registered for each module; all others once.

mod arithmetic;
mod assertions;
mod control;
mod documentation;
#[cfg(test)]
mod effects;
mod expressions;
mod facts;
pub(crate) mod forms;
mod math;
mod modules;
mod reading;
pub(crate) mod recall;
mod spaces;
#[cfg(test)]
mod tests;
pub(crate) mod text;
mod typing;

pub(crate) use facts::documentation_facts;

use crate::bundled::BUNDLES;
use crate::lowering::Lowering;
use crate::names;
use crate::operation::{Operation, OperationSpec};
use crate::program::modules::ModuleId;
use crate::reader::read_atom;
use crate::syntax;
use crate::tokenizer::Tokenizer;
use space::{Atom, SharedSpace};

/// The part of the library that is written in MeTTa.
pub const PRELUDE: &str = include_str!("prelude.metta");

/// What is documented about the library: a `@doc` fact or two for each name that is not an operation, and the places of the facts
/// about operations.
pub const DOCUMENTATION: &str = include_str!("documentation.metta");

/// The words that stand for values; the library, or the module that has one, documents them as symbols.
pub(crate) const VALUE_WORDS: [&str; 4] = ["&self", "PI", "EXP", "&rng"];

/// Every native function.
pub fn operations() -> impl Iterator<Item = &'static OperationSpec> {
    let lists: [&'static [OperationSpec]; 12] = [
        arithmetic::OPERATIONS,
        assertions::OPERATIONS,
        control::OPERATIONS,
        documentation::OPERATIONS,
        expressions::OPERATIONS,
        math::OPERATIONS,
        modules::OPERATIONS,
        reading::OPERATIONS,
        recall::OPERATIONS,
        spaces::OPERATIONS,
        text::OPERATIONS,
        typing::OPERATIONS,
    ];
    lists.into_iter().flatten()
}

/// Every native function, those of the modules that come with the program included.
pub fn every_operation() -> impl Iterator<Item = &'static OperationSpec> {
    operations().chain(bundled_operations().map(|(_, spec)| spec))
}

/// The native functions of the modules that come with the program, each with the name of its module.
pub fn bundled_operations() -> impl Iterator<Item = (&'static str, &'static OperationSpec)> {
    BUNDLES.iter().flat_map(|bundle| bundle.operations.iter().map(|spec| (bundle.name, spec)))
}

/// Registers the functions that mean the same in every module, and the constants.
pub(crate) fn register_shared(tokenizer: &mut Tokenizer) {
    for spec in operations().filter(|spec| !spec.has_home) {
        tokenizer.register_name(spec.name, operation_atom(spec, ModuleId::LIBRARY));
    }
    tokenizer.register_name("PI", Atom::from(std::f64::consts::PI));
    tokenizer.register_name("EXP", Atom::from(std::f64::consts::E));
}

/// Registers the functions of one module, and its `&self`.
pub(crate) fn register_at_home(tokenizer: &mut Tokenizer, home: ModuleId, space: &SharedSpace) {
    for spec in operations().filter(|spec| spec.has_home) {
        tokenizer.register_name(spec.name, operation_atom(spec, home));
    }
    tokenizer.register_name("&self", Atom::from(space.clone()));
}

/// The native function of a name, as it is known in a module.
pub(crate) fn operation(name: &str, home: ModuleId) -> Option<Atom> {
    every_operation().find(|spec| spec.name == name).map(|spec| operation_atom(spec, home))
}

/// The native function that the machine makes this of.
pub(crate) fn lowered(lowering: Lowering) -> &'static OperationSpec {
    operations().find(|spec| spec.lowering == lowering).expect("each lowering is that of a function of the library")
}

/// A native function's identity as its name and home.
pub(crate) fn split_identity(identity: &str) -> (&str, ModuleId) {
    let parts = identity.rsplit_once('@').and_then(|(name, home)| Some((name, ModuleId(home.parse().ok()?))));
    parts.unwrap_or((identity, ModuleId::LIBRARY))
}

/// A native function as an atom, read in a module.
pub(crate) fn operation_atom(spec: &'static OperationSpec, home: ModuleId) -> Atom {
    let type_atom = spec.signature.map_or_else(|| Atom::symbol(names::UNDEFINED), read_type);
    Operation::new(spec, type_atom, home).into_atom()
}

/// A type written in MeTTa syntax.
fn read_type(text: &str) -> Atom {
    let parsed = syntax::parse(text);
    let form = parsed.tree.forms().first().expect("a signature is an atom");
    read_atom(&parsed.tree, form.node, &Tokenizer::default())
}

/// Whether a form of the prelude says something about one of these names.
pub(crate) fn defines_one_of(form: &Atom, names: &[&str]) -> bool {
    let Some([_, subject, ..]) = form.children() else { return false };
    let name = names::brief(subject.head().unwrap_or(subject));
    names.contains(&name.as_str())
}

/// The names of Hyperon's library that Metroon does not have yet, by where they come from.
pub const NOT_SUPPORTED: [(&str, &[&str]); 2] = [
    ("the Python host", &["py-atom", "py-dot", "py-tuple", "py-list", "py-dict", "py-chain"]),
    (
        "the module das",
        &[
            "new-das!",
            "das-join-network!",
            "das-services!",
            "das-service-status!",
            "das-create-context!",
            "das-evolution!",
            "das-link-creation!",
            "das-get-params!",
            "das-set-param!",
            "das-helpers!",
        ],
    ),
];

/// What to say of a call that no rule reduces, when its name belongs to a part of Hyperon that is not here yet.
pub(crate) fn not_supported(call: &Atom) -> Option<String> {
    let name = call.head()?.as_symbol()?;
    let (origin, _) = NOT_SUPPORTED.iter().find(|(_, names)| names.contains(&name))?;
    Some(format!("{name} (of {origin}) is not supported yet"))
}
