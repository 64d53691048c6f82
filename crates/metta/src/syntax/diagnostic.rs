//! Diagnostics: errors and warnings about a text, as plain values.
//!
//! A diagnostic names the thing, the place and the next step; a terminal, an editor or a test
//! renders it. [`Diagnostics`] gathers them while a text is read.
//!
//! 1. A diagnostic is listed while fewer than [`DIAGNOSTICS_PER_CODE_MAX`] have its code.
//! 2. Later ones are counted. Within one code they come in the order of their places, so the first
//!    of every code is listed, and with it the first error of the text.
//! 3. At the end each code with some left out gets a note, and the list is sorted by place.

use super::{DIAGNOSTICS_PER_CODE_MAX, Span};

/// How much a diagnostic matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// The text is not a program from here on.
    Error,
    /// The text is a program, but probably not the one that was meant.
    Warning,
    /// Good to know.
    Note,
}

/// One finding about a text: a plain value, rendered elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How much it matters.
    pub severity: Severity,
    /// A stable name for this kind of finding, such as `unclosed-string`.
    pub code: &'static str,
    /// What is wrong, in a sentence without a full stop.
    pub message: String,
    /// Where.
    pub span: Span,
    /// A few words to stand beside the span.
    pub label: String,
    /// What to do next.
    pub help: Option<String>,
    /// Other places that matter, each with a few words.
    pub related: Vec<(Span, String)>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, code, span, message.into())
    }

    /// A warning at a place.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, code, span, message.into())
    }

    /// A note at a place.
    pub fn note(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Note, code, span, message.into())
    }

    /// Sets a few words that stand beside the span.
    #[must_use]
    pub fn with_label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = label.into();
        self
    }

    /// Sets what to do next.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Adds another place that matters.
    #[must_use]
    pub fn with_related(mut self, span: Span, words: impl Into<String>) -> Diagnostic {
        self.related.push((span, words.into()));
        self
    }

    fn new(severity: Severity, code: &'static str, span: Span, message: String) -> Diagnostic {
        Diagnostic { severity, code, message, span, label: String::new(), help: None, related: Vec::new() }
    }
}

/// The diagnostics of a text that is being read.
#[derive(Default)]
pub(super) struct Diagnostics {
    listed: Vec<Diagnostic>,
    tallies: Vec<Tally>,
}

/// How many diagnostics of one code came, and where the first one left out is.
struct Tally {
    code: &'static str,
    count: u32,
    first_left_out: Option<Span>,
}

impl Diagnostics {
    /// Lists a diagnostic, or counts it if its code has its share of the list.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        let tally = self.tally(diagnostic.code);
        tally.count += 1;
        if tally.count <= DIAGNOSTICS_PER_CODE_MAX {
            self.listed.push(diagnostic);
        } else {
            tally.first_left_out.get_or_insert(diagnostic.span);
        }
    }

    /// What was listed since this was asked last, sorted by place. What comes of a code after its share of the list is still counted.
    pub(super) fn take(&mut self) -> Vec<Diagnostic> {
        let mut listed = std::mem::take(&mut self.listed);
        listed.sort_by_key(|one| one.span.start);
        listed
    }

    /// All that is listed, sorted by place.
    pub(super) fn finish(self) -> Vec<Diagnostic> {
        let mut listed = self.listed;
        listed.extend(self.tallies.iter().filter_map(Tally::note));
        listed.sort_by_key(|one| one.span.start);
        listed
    }

    fn tally(&mut self, code: &'static str) -> &mut Tally {
        let known = self.tallies.iter().position(|tally| tally.code == code);
        let index = known.unwrap_or_else(|| {
            self.tallies.push(Tally { code, count: 0, first_left_out: None });
            self.tallies.len() - 1
        });
        &mut self.tallies[index]
    }
}

impl Tally {
    fn note(&self) -> Option<Diagnostic> {
        let span = self.first_left_out?;
        let more = self.count - DIAGNOSTICS_PER_CODE_MAX;
        let message = format!("{more} more diagnostics of the kind `{}` are not listed", self.code);
        let note = Diagnostic::note("more-diagnostics", span, message);
        Some(note.with_label("the first of them is here").with_help("mend the ones listed, then check the text again"))
    }
}

/// The most characters of the source that a message quotes at once.
const EXCERPT_CHARACTERS_MAX: usize = 60;

/// A piece of the source as it can stand in a message: on one line, not too long, and without
/// characters that a terminal would obey.
pub(super) fn excerpt(text: &str) -> String {
    let mut characters = text.chars();
    let mut words: String = characters.by_ref().take(EXCERPT_CHARACTERS_MAX).map(visible).collect();
    if characters.next().is_some() {
        words.push('…');
    }
    words
}

fn visible(character: char) -> String {
    if character.is_control() { character.escape_unicode().to_string() } else { character.into() }
}
