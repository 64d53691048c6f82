//! Texts, printing and tracing.

use crate::effects::Effects;
use crate::environment::Stop;
use crate::limits::{LimitReached, WRITTEN_BYTES_MAX};
use crate::names;
use crate::operation::{Call, Compatibility, OperationSpec as Spec, Outcome};
use space::{Atom, Grounded, written_bytes_least};
use std::fmt::{self, Write};

pub(super) const OPERATIONS: &[Spec] = &[
    Spec::typed("println!", "(-> %Undefined% (->))", println)
        .with(Effects::TELLS)
        .documented(
            "Prints a line on the standard output, texts without their quotes.",
            &["Evaluated: what to print; each result is a line"],
            "()",
        )
        .compared(Compatibility::Works("see [printing](#printing-and-exit-codes)")),
    Spec::typed("format-args", "(-> String Expression String)", format_args)
        .with(Effects::NONE)
        .documented(
            "Fills the holes {} of a text in order. {{ and }} stand for braces; a hole too many is dropped.",
            &["Evaluated: the text", "Raw: the tuple of what to put in; texts go in without quotes"],
            "The filled text; an error if the arguments are no text and tuple",
        )
        .compared(Compatibility::Differs(
            "only `{}` is a hole, `{{` and `}}` are braces, anything else stays as it is; Hyperon drops single \
             braces, and an open brace with everything after it",
        )),
    Spec::typed("trace!", "(-> %Undefined% Atom %Undefined%)", trace).with(Effects::TELLS).documented(
        "Prints an atom on the standard error and goes on with another.",
        &["Evaluated: what to print", "Raw: what to go on with"],
        "The results of the second argument",
    ),
    Spec::typed("print-alternatives!", "(-> Atom Expression (->))", print_alternatives)
        .with(Effects::TELLS)
        .documented(
            "Prints how many children a tuple has, and each of them on a line.",
            &["Raw: a title for the first line", "Raw: the tuple"],
            "()",
        )
        .compared(Compatibility::ERROR_TEXT),
];

/// An atom as people read it, in a line about it: a text without quotes and escapes.
pub(super) fn plain(atom: &Atom) -> String {
    match atom {
        Atom::Grounded(Grounded::Text(text)) => text.to_string(),
        other => names::brief(other),
    }
}

/// A text that a call makes. It looks at the limits whenever it needs more room, and after 64 KiB at the latest: a text is
/// made in one step, and a small atom that refers to its parts many times is a long one. What would be too long is refused
/// before it is written.
pub(crate) struct Making<'c, 'a> {
    pub(crate) call: &'c mut Call<'a>,
    text: String,
    /// How long it may become before the limits are looked at again.
    looks_at: usize,
    refused: Option<Outcome>,
}

/// How many bytes of a text are written between two looks at the limits.
const BYTES_BETWEEN_LOOKS: usize = 1 << 16;

impl<'c, 'a> Making<'c, 'a> {
    fn new(call: &'c mut Call<'a>) -> Self {
        Self { call, text: String::new(), looks_at: BYTES_BETWEEN_LOOKS, refused: None }
    }

    /// Writes an atom as it is written in a program.
    pub(crate) fn atom(&mut self, atom: &Atom) -> fmt::Result {
        self.expect(atom)?;
        write!(self, "{atom}")
    }

    /// An atom is to be written, in this form or a longer one.
    pub(crate) fn expect(&mut self, atom: &Atom) -> fmt::Result {
        let left = WRITTEN_BYTES_MAX.saturating_sub(self.text.len() as u64);
        if written_bytes_least(atom, left + 1) > left { self.refuse_length() } else { Ok(()) }
    }

    /// Writes an atom as people read it: a text without quotes and escapes.
    pub(crate) fn plain(&mut self, atom: &Atom) -> fmt::Result {
        match atom {
            Atom::Grounded(Grounded::Text(inside)) => self.write_str(inside),
            other => self.atom(other),
        }
    }

    /// Writes atoms with something between them.
    pub(crate) fn joined<'t>(&mut self, atoms: impl IntoIterator<Item = &'t Atom>, between: &str) -> fmt::Result {
        atoms.into_iter().enumerate().try_for_each(|(place, atom)| {
            self.write_str(if place > 0 { between } else { "" })?;
            self.atom(atom)
        })
    }

    fn refuse_length(&mut self) -> fmt::Result {
        self.refused = Some(self.call.refuse(LimitReached::Written(WRITTEN_BYTES_MAX)));
        Err(fmt::Error)
    }

    /// The text, or why there is none. `copies` copies of it are to be made.
    fn end(mut self, made: fmt::Result, copies: usize) -> Result<String, Outcome> {
        if made.is_ok() && copies > 0 {
            self.refused = self.call.look(copies * self.text.len()).err();
        }
        self.refused.map_or(Ok(self.text), Err)
    }
}

impl Write for Making<'_, '_> {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let length = self.text.len() + more.len();
        if length as u64 > WRITTEN_BYTES_MAX {
            return self.refuse_length();
        }
        let is_full = length > self.text.capacity();
        if is_full || length > self.looks_at {
            // Where there is no room it grows to twice its size.
            let taken = if is_full { more.len().max(self.text.capacity()) } else { 0 };
            self.refused = self.call.look(taken).err();
            self.looks_at = length + BYTES_BETWEEN_LOOKS;
        }
        if self.refused.is_some() {
            return Err(fmt::Error);
        }
        self.text.push_str(more);
        Ok(())
    }
}

/// A text that is written piece by piece, as long as the limits let it be.
pub(crate) fn made(call: &mut Call<'_>, write: impl FnOnce(&mut Making<'_, '_>) -> fmt::Result) -> Outcome {
    match text_of(call, 1, write) {
        Ok(text) => Outcome::one(text.as_str()),
        Err(refused) => refused,
    }
}

/// The text itself. `copies` says how many copies of it are to be made.
pub(crate) fn text_of(
    call: &mut Call<'_>,
    copies: usize,
    write: impl FnOnce(&mut Making<'_, '_>) -> fmt::Result,
) -> Result<String, Outcome> {
    let mut making = Making::new(call);
    let made = write(&mut making);
    making.end(made, copies)
}

/// An atom as people read it, as long as the limits let it be.
pub(super) fn line(call: &mut Call<'_>, atom: &Atom) -> Result<String, Outcome> {
    text_of(call, 0, |text| text.plain(atom))
}

/// Prints lines; a world that takes no more ends the run.
pub(crate) fn print(call: &mut Call<'_>, lines: &[String]) -> Outcome {
    for line in lines {
        if let Err(error) = call.environment.world().print(line) {
            return Outcome::Stop(Stop::World(error));
        }
    }
    Outcome::unit()
}

fn println(call: &mut Call<'_>) -> Outcome {
    let Some(atom) = call.argument(0) else {
        return Outcome::failure("println! expects single atom as an argument");
    };
    match line(call, atom) {
        Ok(line) => print(call, &[line]),
        Err(refused) => refused,
    }
}

fn trace(call: &mut Call<'_>) -> Outcome {
    let [message, value] = call.arguments else {
        return Outcome::failure("trace! expects two atoms as arguments");
    };
    match text_of(call, 0, |text| text.atom(message)) {
        Ok(message) => {
            call.environment.world().trace(&message);
            Outcome::one(value.clone())
        }
        Err(refused) => refused,
    }
}

fn print_alternatives(call: &mut Call<'_>) -> Outcome {
    let (Some(title), Some(alternatives)) = (call.argument(0), call.children(1)) else {
        let expected =
            "print-alternatives! expects format string as a first argument and expression as a second argument";
        return Outcome::failure(expected);
    };
    let mut lines = Vec::with_capacity(alternatives.len() + 1);
    for atom in std::iter::once(title).chain(alternatives) {
        match line(call, atom) {
            Ok(line) if lines.is_empty() => lines.push(format!("{} {line}:", alternatives.len())),
            Ok(line) => lines.push(format!("    {line}")),
            Err(refused) => return refused,
        }
    }
    print(call, &lines)
}

fn format_args(call: &mut Call<'_>) -> Outcome {
    let (Some(Atom::Grounded(Grounded::Text(format))), Some(arguments)) = (call.argument(0), call.children(1)) else {
        let expected = "format-args expects format string as a first argument and expression as a second argument";
        return Outcome::failure(expected);
    };
    made(call, |text| fill(format, arguments, text))
}

/// The text with each `{}` replaced by the next argument; `{{` and `}}` are braces.
fn fill(format: &str, arguments: &[Atom], filled: &mut Making<'_, '_>) -> fmt::Result {
    let mut arguments = arguments.iter();
    let mut characters = format.char_indices().peekable();
    // What is written as it stands begins here.
    let mut from = 0;
    while let Some((at, character)) = characters.next() {
        let next = characters.peek().map(|&(_, next)| next);
        match (character, next) {
            ('{', Some('}')) => {
                characters.next();
                filled.write_str(&format[from..at])?;
                arguments.next().map_or(Ok(()), |argument| filled.plain(argument))?;
                from = at + 2;
            }
            ('{', Some('{')) | ('}', Some('}')) => {
                characters.next();
                filled.write_str(&format[from..=at])?;
                from = at + 2;
            }
            _ => {}
        }
    }
    filled.write_str(&format[from..])
}
