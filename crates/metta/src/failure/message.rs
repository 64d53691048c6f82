//! What an error atom says, in words.

use crate::bundled::BUNDLES;
use crate::check::nearest_of_all;
use crate::names;
use crate::types;
use space::{Atom, SharedSpace, VariableSource};

/// The most characters of an atom that a message shows.
const SHOWN_CHARACTERS_MAX: usize = 60;

/// What an error says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) help: Vec<String>,
}

/// An atom on one line, not too long, without characters that a terminal would obey.
/// Variables are as they were written.
pub(crate) fn shown(atom: &Atom) -> String {
    let written = |variable: &space::Variable| space::Rewrite::Replace(Atom::variable(variable.name().as_str()));
    let plain = space::rewrite(atom, written);
    let written = space::beginning(plain.as_ref().unwrap_or(atom), SHOWN_CHARACTERS_MAX + 1);
    shorten(&written, SHOWN_CHARACTERS_MAX)
}

/// A text on one line, cut after `most` characters.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    let mut characters = text.chars().map(|one| if one.is_control() { ' ' } else { one });
    let mut short: String = characters.by_ref().take(most).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short
}

/// What an error of a program in this space says.
pub(crate) fn message_of(error: &Atom, space: &SharedSpace, source: &mut VariableSource) -> Message {
    let parts = error.children().unwrap_or_default();
    let (Some(subject), Some(reason)) = (parts.get(1), parts.get(2)) else {
        return Message { code: "failed", message: format!("an error: {}", shown(error)), help: Vec::new() };
    };
    let text = shown(subject);
    let head = shown(subject.head().unwrap_or(subject));
    let (code, message, help) = match (reason.children(), word_of(reason)) {
        (Some([kind, number, expected, actual]), _) if kind.is_symbol(names::BAD_ARG_TYPE) => {
            let message = match same_as_before(subject, number, expected, space, source) {
                Some((before, found)) => format!(
                    "arguments {before} and {number} of `{head}` must be of one type, and they are of types `{}` and `{}`",
                    shown(&found),
                    shown(actual)
                ),
                None => format!(
                    "argument {number} of `{head}` is of type `{}`, and `{}` is expected",
                    shown(actual),
                    shown(expected)
                ),
            };
            let mut help = types_help(&head, subject, space, source);
            help.splice(0..0, other_function(&head, actual));
            ("bad-argument-type", message, help)
        }
        (Some([kind, expected, actual]), _) if kind.is_symbol(names::BAD_TYPE) => {
            let message = format!("`{text}` is of type `{}`, and `{}` is expected", shown(actual), shown(expected));
            ("bad-type", message, Vec::new())
        }
        (_, Some(names::INCORRECT_NUMBER_OF_ARGUMENTS)) => {
            let given = subject.children().map_or(0, |children| children.len() - 1);
            let plural = if given == 1 { "" } else { "s" };
            let takes = numbers_taken(subject, space, source);
            let message = format!("`{head}` is called with {given} argument{plural}, and its type takes {takes}");
            let mut help = types_help(&head, subject, space, source);
            help.splice(0..0, usage(&head, given).map(|usage| format!("write `{usage}`")));
            ("wrong-number-of-arguments", message, help)
        }
        (Some([kind, ..]), _) if kind.is_symbol(names::NOT_STRATIFIED) => not_stratified(&text),
        (_, Some("DivisionByZero")) => ("division-by-zero", "division by zero".to_owned(), Vec::new()),
        (_, Some(names::STACK_OVERFLOW)) => {
            let help = "look for a recursion that does not end, or allow more with `!(pragma! max-stack-depth N)`";
            ("stack-overflow", "the evaluation is nested deeper than is allowed".to_owned(), vec![help.to_owned()])
        }
        (_, Some(names::NO_RETURN)) => no_return(subject, &text),
        (_, Some(said)) if said.starts_with(RESOLVING) => ("module-not-found", said.to_owned(), modules_help(said)),
        (_, Some(said)) => said_by_program(subject, (&text, &head), said),
        (_, None) => ("failed", format!("`{text}` came to the error `{}`", shown(reason)), Vec::new()),
    };
    Message { code, message, help }
}

/// A tabled call whose results depend on whether it has results.
fn not_stratified(text: &str) -> (&'static str, String, Vec<String>) {
    let message = format!("`{text}` is asked for all of its results while they are being found");
    let help = "a tabled function may ask for absence, for a number or for a list of results only of calls that do not lead back to it";
    ("not-stratified", message, vec![help.to_owned()])
}

/// A function that ends without a result, and how it gets one.
fn no_return(call: &Atom, text: &str) -> (&'static str, String, Vec<String>) {
    let parts = call.children().unwrap_or_default();
    if let [head, _, _, test] = parts
        && names::brief(head) == "filter-atom"
    {
        let message = "the test of `filter-atom` gave neither True nor False for some child".to_owned();
        let is_evaluated = test.head().is_some_and(|head| head.is_symbol("eval"));
        let help = match is_evaluated {
            true => "see what the test comes to for each child".to_owned(),
            false => format!("write the test as `(eval {})`, or use `keep-if` of the module `tuples`", shown(test)),
        };
        return ("no-return", message, vec![help]);
    }
    let help = "end every way through it with `(return …)`";
    ("no-return", format!("the `function` of `{text}` ends without `return`"), vec![help.to_owned()])
}

/// What there is to import when a module was not found.
fn modules_help(said: &str) -> Vec<String> {
    let path = said.trim_start_matches(RESOLVING).split(": ").next().unwrap_or_default();
    let name = path.rsplit(':').next().unwrap_or(path);
    let mut modules = BUNDLES.map(|bundle| bundle.name);
    modules.sort_unstable();
    let meant = nearest_of_all(name, modules.into_iter()).map(|near| format!("did you mean `{near}`?"));
    let all = format!("modules are files beside the program, such as `NAME.metta`, and {}", modules.join(", "));
    meant.into_iter().chain([all]).collect()
}

/// The function that does with texts what was meant.
fn other_function(head: &str, actual: &Atom) -> Option<String> {
    let joins = head == "+" && actual.is_symbol("String");
    joins.then(|| "`string-append` of the module `strings` joins texts".to_owned())
}

/// What an assertion says, as one note: what is missing, and what is too much, only if the rest does not show it.
fn said_by_assertion(head: &str, lines: Vec<String>) -> (&'static str, String, Vec<String>) {
    let is_cut = lines.iter().any(|line| line.ends_with('…'));
    let is_rest = |line: &&String| line.starts_with("Missed results: ") || line.starts_with("Excessive results: ");
    let told: Vec<&str> = lines.iter().filter(|line| is_cut || !is_rest(line)).map(String::as_str).collect();
    let note = (!told.is_empty()).then(|| told.join("\n"));
    ("assertion-failed", format!("an assertion failed: `{head}`"), note.into_iter().collect())
}

/// A text or a symbol that says why. Those of assertions have several lines.
fn said_by_program(call: &Atom, (subject, head): (&str, &str), said: &str) -> (&'static str, String, Vec<String>) {
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty()).map(|line| shorten(line, 200));
    if head.starts_with("assert") {
        return said_by_assertion(head, lines.collect());
    }
    let first = lines.next().unwrap_or_default();
    let mut help: Vec<String> = lines.collect();
    let given = call.children().and_then(|parts| parts.get(1));
    match given {
        Some(Atom::Symbol(name)) if first.contains("expects a space") => {
            let name = name.as_str();
            help.push(match name.trim_start_matches('&') {
                "self" => format!("`{name}` is a symbol here; write `&self` for the space of the program"),
                bare => format!("`{name}` is a symbol here; `!(bind! &{bare} (new-space))` makes a space of that name"),
            });
        }
        _ if head == "pragma!" && first == "UnsignedIntegerIsExpected" => {
            help.push("give a whole number, 0 or more".to_owned());
        }
        _ => help.extend(
            usage(head, usize::MAX).filter(|_| first.contains(" is expected")).map(|usage| format!("write `{usage}`")),
        ),
    }
    ("failed", format!("`{subject}` came to an error: {first}"), help)
}

/// The argument before one that must be of the same type, whatever that is, and its type: the type of the function has one variable for both.
fn same_as_before(
    call: &Atom,
    number: &Atom,
    expected: &Atom,
    space: &SharedSpace,
    source: &mut VariableSource,
) -> Option<(usize, Atom)> {
    let (function, arguments) = call.children()?.split_first()?;
    let place = names::brief(number).parse::<usize>().ok()?.checked_sub(1)?;
    let types = types::types_of(space, function, source);
    let [only] = types.as_slice() else { return None };
    if !only.is_function() {
        return None;
    }
    let (formals, _) = types::function_parts(&only.atom);
    let formal = formals.get(place).filter(|formal| matches!(formal, Atom::Variable(_)))?;
    for before in (0..place).filter(|&before| formals[before] == *formal) {
        let found = types::types_of(space, arguments.get(before)?, source).first()?.atom.clone();
        if !found.is_symbol(names::UNDEFINED) {
            let agrees = matches!(expected, Atom::Variable(_)) || *expected == found;
            return agrees.then_some((before + 1, found));
        }
    }
    None
}

/// How many arguments the types of a function take.
fn numbers_taken(call: &Atom, space: &SharedSpace, source: &mut VariableSource) -> String {
    let types = call.head().map(|function| types::types_of(space, function, source)).unwrap_or_default();
    let functions = types.iter().filter(|found| found.is_function());
    let numbers: std::collections::BTreeSet<usize> =
        functions.map(|found| types::function_parts(&found.atom).0.len()).collect();
    match numbers.len() {
        0 => "another number".to_owned(),
        _ => numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(" or "),
    }
}

/// How a form is written that is often written otherwise.
fn usage(head: &str, given: usize) -> Option<&'static str> {
    Some(match (head, given) {
        ("if", _) => "(if CONDITION THEN ELSE)",
        ("let", _) => "(let PATTERN VALUE BODY)",
        ("let*", _) => "(let* ((PATTERN VALUE) …) BODY)",
        ("match", _) => "(match &self PATTERN TEMPLATE)",
        ("case", _) => "(case VALUE ((PATTERN BODY) …))",
        ("unify", _) => "(unify ATOM PATTERN THEN ELSE)",
        ("superpose", _) => "(superpose (A B …))",
        ("println!", _) => "(println! (A B …))",
        ("bind!", _) => "(bind! &NAME VALUE)",
        ("import!", _) => "(import! &self MODULE)",
        ("add-atom", _) => "(add-atom &self ATOM)",
        ("remove-atom", _) => "(remove-atom &self ATOM)",
        ("get-atoms", _) => "(get-atoms &self)",
        ("-", 1) => "(- 0 A)",
        ("+", 3..) => "(+ A (+ B C))",
        ("*", 3..) => "(* A (* B C))",
        ("and", 3..) => "(and A (and B C))",
        ("or", 3..) => "(or A (or B C))",
        _ => return None,
    })
}

/// How errors about modules that are not found begin.
const RESOLVING: &str = "Failed to resolve module ";

/// The word or text that an error gives as its reason.
fn word_of(reason: &Atom) -> Option<&str> {
    match reason {
        Atom::Symbol(name) => Some(name.as_str()),
        Atom::Grounded(space::Grounded::Text(text)) => Some(text),
        _ => None,
    }
}

/// The types that are known of the head of a call.
fn types_help(head: &str, call: &Atom, space: &SharedSpace, source: &mut VariableSource) -> Vec<String> {
    let Some(function) = call.head() else { return Vec::new() };
    let known = types::types_of(space, function, source);
    let known = known.iter().filter(|found| found.is_function()).map(|found| shown(&found.atom));
    known.map(|type_atom| format!("the type of `{head}` is `{type_atom}`")).collect()
}
