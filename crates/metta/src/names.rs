//! The names that mean something to the evaluator, and the atoms built from them.

use space::{Atom, Symbol};
use std::sync::LazyLock;

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $text;)*
    };
}

names! {
    /// Head of a rule, `(= call body)`.
    EQUAL = "=";
    /// Head of a type assignment, `(: atom type)`.
    HAS_TYPE = ":";
    /// Head of a subtype statement, `(:< type supertype)`.
    SUBTYPE = ":<";
    /// Head of a function type.
    ARROW = "->";
    /// Head of an error.
    ERROR = "Error";
    /// The result that removes its alternative.
    EMPTY = "Empty";
    /// The result of evaluating what no rule reduces.
    NOT_REDUCIBLE = "NotReducible";
    /// The function that puts an element before a list.
    CONS_ATOM = "cons-atom";
    /// Head of what leaves a `function`.
    RETURN = "return";
    /// The type of anything not declared.
    UNDEFINED = "%Undefined%";
    /// The metatype of every atom: takes arguments unevaluated.
    ATOM = "Atom";
    /// The metatype of symbols.
    SYMBOL = "Symbol";
    /// The metatype of variables.
    VARIABLE = "Variable";
    /// The metatype of expressions.
    EXPRESSION = "Expression";
    /// The metatype of grounded atoms.
    GROUNDED = "Grounded";
    /// The type of numbers.
    NUMBER = "Number";
    /// The type of texts.
    STRING = "String";
    /// The type of `True` and `False`.
    BOOL = "Bool";
    /// The type of spaces.
    SPACE_TYPE = "SpaceType";
    /// Head of the type of a state.
    STATE_MONAD = "StateMonad";
    /// The type of errors.
    ERROR_TYPE = "ErrorType";
    /// Error: a `function` ended without `return`.
    NO_RETURN = "NoReturn";
    /// Error: a tabled call depends on all results of calls that depend on it.
    NOT_STRATIFIED = "NotStratified";
    /// Error: the evaluation is nested too deeply.
    STACK_OVERFLOW = "StackOverflow";
    /// Error: a call has another number of arguments than its type.
    INCORRECT_NUMBER_OF_ARGUMENTS = "IncorrectNumberOfArguments";
    /// Error: an argument has another type than the function asks for.
    BAD_ARG_TYPE = "BadArgType";
    /// Error: an atom has another type than is expected of it.
    BAD_TYPE = "BadType";
}

macro_rules! atoms {
    ($($name:ident = $text:expr;)*) => {
        $(pub(crate) fn $name() -> Atom {
            static ATOM: LazyLock<Atom> = LazyLock::new(|| Atom::symbol($text));
            ATOM.clone()
        })*
    };
}

atoms! {
    equal = EQUAL;
    undefined = UNDEFINED;
    empty = EMPTY;
    not_reducible = NOT_REDUCIBLE;
}

/// The name of the variable that a lookup asks for.
pub(crate) fn asked() -> &'static Symbol {
    static ASKED: LazyLock<Symbol> = LazyLock::new(|| Symbol::new("X"));
    &ASKED
}

/// `(Error atom message)`.
pub fn error(atom: Atom, message: Atom) -> Atom {
    Atom::expression([Atom::symbol(ERROR), atom, message])
}

/// `(Error atom message)` with the message as a symbol, as native functions report.
pub fn error_text(atom: Atom, message: &str) -> Atom {
    error(atom, Atom::symbol(message))
}

/// Whether an atom is an error.
pub fn is_error(atom: &Atom) -> bool {
    atom.head().is_some_and(|head| head.is_symbol(ERROR))
}

/// Whether an error says that a type does not agree.
pub(crate) fn is_type_error(error: &Atom) -> bool {
    let reason =
        error.children().filter(|children| children.len() == 3 && is_error(error)).map(|children| &children[2]);
    reason.and_then(Atom::head).is_some_and(|head| head.is_symbol(BAD_TYPE) || head.is_symbol(BAD_ARG_TYPE))
}

/// What an error atom says.
pub fn error_message(error: &Atom) -> Option<String> {
    error.children()?.get(2).map(brief)
}

/// How many characters of an atom the text of an error shows. It is more than a chain of 64 imports says of the one that failed, and less
/// than what an atom that shares its parts may be written as.
const BRIEF_CHARACTERS: usize = 1 << 16;

/// An atom in the text of an error: as it is written, and cut where it is long.
pub(crate) fn brief(atom: &Atom) -> String {
    space::brief(atom, BRIEF_CHARACTERS)
}

/// Whether an atom is an error of two parts, as its constructor asks for.
pub(crate) fn is_whole_error(atom: &Atom) -> bool {
    is_error(atom) && atom.children().is_some_and(|children| children.len() == 3)
}

/// The calls of a cycle, each of which makes the next, if an error says that one of them depends on all results of the next.
pub(crate) fn cycle_of(error: &Atom) -> Option<&[Atom]> {
    match error.children()?.get(2)?.children()? {
        [kind, calls @ ..] if kind.is_symbol(NOT_STRATIFIED) && !calls.is_empty() => Some(calls),
        _ => None,
    }
}

/// What is said of a call whose types do not agree with what was taken for said, and that cannot be evaluated again.
pub(crate) const UNTOLD: &str = "an argument had an effect while its type was not known, so it cannot be told whether types agree: declare the \
    type of the function that the argument calls, or evaluate with --interpreter";

/// Whether no other result hides an error: the depth that the program has set was reached, or it cannot be told what a call comes to.
pub(crate) fn is_never_hidden(error: &Atom) -> bool {
    let message = error.children().and_then(|children| children.get(2));
    message.is_some_and(|message| message.is_symbol(STACK_OVERFLOW) || *message == Atom::from(UNTOLD))
}

/// Whether a result ends its alternative: an error or `Empty`.
pub fn is_empty_or_error(atom: &Atom) -> bool {
    atom.is_symbol(EMPTY) || is_error(atom)
}

/// The metatype of an atom.
pub fn metatype(atom: &Atom) -> &'static str {
    match atom {
        Atom::Symbol(_) => SYMBOL,
        Atom::Variable(_) => VARIABLE,
        Atom::Expression(_) => EXPRESSION,
        Atom::Grounded(_) => GROUNDED,
    }
}

/// Whether a type is one of the metatypes, `Atom` included.
pub fn is_metatype(atom: &Atom) -> bool {
    atom.as_symbol().is_some_and(|name| [ATOM, SYMBOL, VARIABLE, EXPRESSION, GROUNDED].contains(&name))
}

/// The function type of these arguments and result.
pub fn function_type(types: impl IntoIterator<Item = Atom>) -> Atom {
    let children: Vec<Atom> = std::iter::once(Atom::symbol(ARROW)).chain(types).collect();
    Atom::expression(children)
}

/// Why a value cannot be part of a knowledge base.
pub(crate) fn not_durable(value: &Atom) -> String {
    format!("{} means something to this process only and cannot be kept in a knowledge base", brief(value))
}
