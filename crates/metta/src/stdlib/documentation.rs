//! Documentation as atoms: `(@doc name …)` facts, and what formats and prints them.
//!
//! A fact documents a function, `(@doc name (@desc d) (@params (p …)) (@return r))`, or any other atom,
//! `(@doc name (@desc d))`. The formal form adds the types that are declared for the name.

use super::text::{plain, print};
use crate::bundled::BUNDLES;
use crate::documentation::{Documentation, list};
use crate::effects::Effects;
use crate::names;
use crate::operation::{Call, Compatibility, OperationSpec as Spec, Outcome};
use crate::program::modules::TOP_PATH;
use crate::types;
use space::{Atom, SharedSpace};

pub(super) const OPERATIONS: &[Spec] = &[
    Spec::typed("get-doc", "(-> SpaceType Atom %Undefined%)", |call| formal(call, Wanted::Any))
        .with(Effects::READS)
        .documented(
            "The documentation of an atom together with its types, as a space holds them.",
            &["The space", "Raw: the documented atom"],
            "A (@doc-formal ...) for each fact and each type it fits; nothing without a fact",
        )
        .compared(Compatibility::Differs(
            "the same form, our own texts. A name with two types and two facts gives each fact with the type that \
             it fits; `PI`, `EXP` and `&self` are documented",
        )),
    Spec::typed("get-doc-single-atom", "(-> SpaceType Atom %Undefined%)", |call| formal(call, Wanted::Any))
        .with(Effects::READS)
        .documented(
            "Does what get-doc does; kept for programs that call it by this name.",
            &["The space", "Raw: the documented atom"],
            "A (@doc-formal ...) for each fact and each type it fits; nothing without a fact",
        )
        .compared(Compatibility::Differs("as `get-doc`")),
    Spec::typed("get-doc-function", "(-> SpaceType Atom Type %Undefined%)", get_doc_function)
        .with(Effects::READS)
        .documented(
            "The documentation of a function, for a type that is given.",
            &["The space", "Raw: the documented function", "The function type to show"],
            "A (@doc-formal ...) for each fact; nothing without a fact",
        )
        .compared(Compatibility::Differs(
            "a type with another number of parameters leaves the parts `%Undefined%`, in Hyperon it is an error",
        )),
    Spec::typed("get-doc-atom", "(-> SpaceType Atom %Undefined%)", |call| formal(call, Wanted::Atom))
        .with(Effects::READS)
        .documented(
            "The documentation of an atom that is taken for no function, whatever its type.",
            &["The space", "Raw: the documented atom"],
            "A (@doc-formal ...) for each fact; nothing without a fact",
        )
        .compared(Compatibility::ERROR_TEXT),
    Spec::typed("get-doc-params", "(-> Expression Atom Expression (Expression Atom))", get_doc_params)
        .with(Effects::NONE)
        .documented(
            "Puts types to the parts of a function's documentation.",
            &[
                "Raw: the tuple of (@param text)",
                "Raw: the (@return text)",
                "Raw: a type for each parameter, and one for the result",
            ],
            "(parameters return), each part with its type; an error if the numbers differ",
        )
        .compared(Compatibility::ERROR_TEXT),
    Spec::typed("undefined-doc-function-type", "(-> Expression Type)", undefined_function_type)
        .with(Effects::NONE)
        .documented(
            "The types to show for a function that has none declared.",
            &["Raw: the tuple of its parameters"],
            "%Undefined% for each parameter and once more for the result",
        )
        .compared(Compatibility::ERROR_TEXT),
    Spec::typed("help-internal!", "(-> Atom (->))", help_internal)
        .with(Effects::READS.and(Effects::TELLS))
        .documented(
            "Like help!, and silent if there is nothing to print.",
            &["Raw: the atom, or the name of a module"],
            "(); nothing if no documentation is found",
        )
        .compared(Compatibility::Differs("it has one type, so a wrong number of arguments gives one error")),
    Spec::typed("help-space!", "(-> SpaceType (->))", help_space)
        .with(Effects::READS.and(Effects::TELLS))
        .documented(
            "Prints the documented names of a space itself, without those that it imports.",
            &["The space"],
            "()",
        )
        .compared(Compatibility::Differs(
            "prints what the space itself documents, without the library; for an argument that is not a space an \
             error, where Hyperon prints nothing",
        )),
    Spec::typed("help-param!", "(-> Atom (->))", help_parameter).with(Effects::TELLS).documented(
        "Prints the line about a parameter.",
        &["Raw: the parameter, (@param (@type type) (@desc text))"],
        "(); nothing for anything else",
    ),
];

enum Wanted {
    Any,
    Atom,
}

/// The type of each parameter and of the result: undefined unless the function type has as many.
fn types_of_parts(type_atom: &Atom, parameters: usize) -> Vec<Atom> {
    match type_atom.children() {
        Some(children) if types::is_function(type_atom) && children.len() == parameters + 2 => children[1..].to_vec(),
        _ => vec![Atom::symbol(names::UNDEFINED); parameters + 1],
    }
}

/// The text in `(@param text)` or `(@return text)`.
fn text_of(part: &Atom) -> Atom {
    part.children().and_then(|children| children.get(1)).cloned().unwrap_or_else(|| part.clone())
}

fn typed_part(head: &str, type_atom: Atom, part: &Atom) -> Atom {
    list(head, [list("@type", [type_atom]), list("@desc", [text_of(part)])])
}

fn formal_doc(atom: &Atom, type_atom: &Atom, doc: &Documentation) -> Atom {
    let kind = if doc.function.is_some() { "function" } else { "atom" };
    let mut items = vec![
        list("@item", [atom.clone()]),
        list("@kind", [Atom::symbol(kind)]),
        list("@type", [type_atom.clone()]),
        list("@desc", [doc.description.clone()]),
    ];
    if let Some((parameters, result)) = &doc.function {
        let types = types_of_parts(type_atom, parameters.len());
        let result = typed_part("@return", types[parameters.len()].clone(), result);
        let typed = parameters.iter().zip(types).map(|(part, type_atom)| typed_part("@param", type_atom, part));
        items.push(list("@params", [Atom::expression(typed.collect::<Vec<_>>())]));
        items.push(result);
    }
    list("@doc-formal", items)
}

fn declared(call: &mut Call<'_>, space: &SharedSpace, atom: &Atom) -> Vec<Atom> {
    let found = types::types_of(space, atom, call.environment.variables());
    found.into_iter().filter(types::AtomType::is_valid).map(|found| found.atom).collect()
}

/// The formal documentation of an atom: each fact with each type that it fits. A function that is documented with
/// another number of parameters than any of its types has is shown with the types, its parts being undefined.
fn formal_docs(call: &mut Call<'_>, space: &SharedSpace, atom: &Atom, wanted: &Wanted) -> Vec<Atom> {
    let docs = call.environment.documentation(space, atom);
    let found = declared(call, space, atom);
    let as_function = |found: &&Atom| types::is_function(found) && matches!(wanted, Wanted::Any);
    let (functions, others): (Vec<&Atom>, Vec<&Atom>) = found.iter().partition(as_function);
    let name = call.environment.value_word(atom).unwrap_or_else(|| atom.clone());
    let undefined = Atom::symbol(names::UNDEFINED);
    let mut formal = Vec::new();
    for doc in &docs {
        let Some((parameters, _)) = &doc.function else {
            formal.extend(others.iter().map(|found| formal_doc(&name, found, doc)));
            continue;
        };
        let (fitting, unfitting): (Vec<&Atom>, Vec<&Atom>) =
            functions.iter().partition(|found| types::function_parts(found).0.len() == parameters.len());
        let shown = if fitting.is_empty() { unfitting } else { fitting };
        formal.extend(shown.into_iter().map(|found| formal_doc(&name, found, doc)));
        formal.extend(others.iter().map(|_| formal_doc(&name, &undefined, doc)));
    }
    formal
}

fn formal(call: &mut Call<'_>, wanted: Wanted) -> Outcome {
    match (call.space(0), call.argument(1).cloned()) {
        (Some(space), Some(atom)) => Outcome::Results(formal_docs(call, &space, &atom, &wanted)),
        _ => Outcome::failure("a space and the documented atom are expected as arguments"),
    }
}

fn get_doc_function(call: &mut Call<'_>) -> Outcome {
    let (Some(space), [_, atom, type_atom]) = (call.space(0), call.arguments) else {
        return Outcome::failure("a space, the documented function and its type are expected as arguments");
    };
    let docs = call.environment.documentation(&space, atom);
    let functions = docs.iter().filter(|doc| doc.function.is_some());
    Outcome::Results(functions.map(|doc| formal_doc(atom, type_atom, doc)).collect())
}

/// `(get-doc-params params return types)`: each part with its type.
fn get_doc_params(call: &mut Call<'_>) -> Outcome {
    let (Some(parameters), Some(result), Some(types)) = (call.children(0), call.argument(1), call.children(2)) else {
        return Outcome::failure("parameters, return and types are expected as arguments");
    };
    if types.len() != parameters.len() + 1 {
        return Outcome::failure("as many types as parameters are expected, and one for the result");
    }
    let typed = parameters.iter().zip(types).map(|(part, type_atom)| typed_part("@param", type_atom.clone(), part));
    let typed = Atom::expression(typed.collect::<Vec<_>>());
    Outcome::one(Atom::expression([typed, typed_part("@return", types[parameters.len()].clone(), result)]))
}

fn undefined_function_type(call: &mut Call<'_>) -> Outcome {
    match call.children(0) {
        Some(parameters) => Outcome::one(Atom::expression(vec![Atom::symbol(names::UNDEFINED); parameters.len() + 1])),
        None => Outcome::failure("the parameters are expected as the argument"),
    }
}

fn help_internal(call: &mut Call<'_>) -> Outcome {
    let Some(atom) = call.argument(0).cloned() else { return Outcome::failure("an atom is expected as the argument") };
    match help_lines(call, &atom) {
        Some(lines) => print(call, &lines),
        None => Outcome::Results(Vec::new()),
    }
}

/// The lines about an atom, or about the module of that name.
fn help_lines(call: &mut Call<'_>, atom: &Atom) -> Option<Vec<String>> {
    let here = call.environment.current_module();
    let space = call.environment.module_space(here);
    let docs = formal_docs(call, &space, atom, &Wanted::Any);
    if !docs.is_empty() {
        return Some(docs.iter().flat_map(doc_lines).collect());
    }
    let name = atom.as_symbol()?;
    let is_bundled = BUNDLES.iter().any(|bundle| bundle.name == name);
    let space = call.environment.space_of_path(name);
    let bundled = || call.environment.space_of_path(&format!("{TOP_PATH}:{name}")).filter(|_| is_bundled);
    match space.or_else(bundled) {
        Some(space) => Some(overview(call, &space)),
        None if is_bundled => Some(vec![format!(
            "{name} is a module of the library: after !(import! &self {name}), !(help! {name}) lists what it has"
        )]),
        None => None,
    }
}

/// The value after a head in a formal documentation.
fn part<'a>(doc: &'a Atom, head: &str) -> Option<&'a Atom> {
    let item = doc.children()?.iter().find(|item| item.head().is_some_and(|found| found.is_symbol(head)))?;
    item.children()?.get(1)
}

fn doc_lines(doc: &Atom) -> Vec<String> {
    let shown = |head| part(doc, head).map(plain).unwrap_or_default();
    let kind = if part(doc, "@kind").is_some_and(|kind| kind.is_symbol("function")) { "Function" } else { "Atom" };
    let mut lines = vec![format!("{kind} {}: {} {}", shown("@item"), shown("@type"), shown("@desc"))];
    if let Some(parameters) = part(doc, "@params").and_then(Atom::children) {
        lines.push("Parameters:".to_owned());
        lines.extend(parameters.iter().map(parameter_line));
    }
    let result =
        doc.children().into_iter().flatten().find(|item| item.head().is_some_and(|head| head.is_symbol("@return")));
    lines.extend(result.map(|result| format!("Return: {}", typed_text(result))));
    lines
}

fn parameter_line(parameter: &Atom) -> String {
    format!("  {}", typed_text(parameter))
}

/// `(type T) description`, of `(@param (@type T) (@desc description))`.
fn typed_text(item: &Atom) -> String {
    let shown = |head| part(item, head).map(plain).unwrap_or_default();
    format!("(type {}) {}", shown("@type"), shown("@desc"))
}

fn help_parameter(call: &mut Call<'_>) -> Outcome {
    let is_formal = |atom: &&Atom| part(atom, "@type").is_some() && part(atom, "@desc").is_some();
    match call.argument(0).filter(is_formal).map(parameter_line) {
        Some(line) => print(call, &[line]),
        None => Outcome::Results(Vec::new()),
    }
}

fn help_space(call: &mut Call<'_>) -> Outcome {
    match call.space(0) {
        Some(space) => {
            let lines = overview(call, &space);
            print(call, &lines)
        }
        None => Outcome::failure("a space is expected as the argument"),
    }
}

/// A name and its description for each documentation fact of a space.
fn overview(call: &mut Call<'_>, space: &SharedSpace) -> Vec<String> {
    let facts = space.without_imports().atoms(call.environment.variables());
    let docs = facts.iter().filter(|fact| fact.head().is_some_and(|head| head.is_symbol("@doc")));
    let line = |fact: &Atom| {
        let name = fact.children()?.get(1)?.clone();
        Some([plain(&name), format!("\t{}", part(fact, "@desc").map(plain)?)])
    };
    docs.filter_map(line).flatten().collect()
}
