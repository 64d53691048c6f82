//! Diagnostics for people: the line, a caret under the place, and what to do.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use metroon::syntax::{Diagnostic, Severity, Span};
use std::io::{IsTerminal, Write};

/// Lines longer than this are not shown: a caret far to the right helps nobody.
const LINE_SHOWN_BYTES_MAX: usize = 4096;

/// Writes a line to the standard error.
pub(crate) fn say(text: &str) {
    // Nobody can be told that standard error is closed.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Writes a diagnostic of a source to the standard error.
pub(crate) fn diagnostic(origin: &str, text: &str, diagnostic: &Diagnostic) {
    say(&rendered(origin, text, diagnostic, uses_color()));
}

fn uses_color() -> bool {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    !no_color && !is_dumb && std::io::stderr().is_terminal()
}

/// A message without a place in a source.
pub(crate) fn error(message: &str, help: Option<&str>) {
    say(&format!("error: {message}"));
    if let Some(help) = help {
        say(&format!("help: {help}"));
    }
}

fn rendered(origin: &str, text: &str, diagnostic: &Diagnostic, color: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code);
    let mut group = Group::with_title(title);
    let window = Window::around(text, diagnostic);
    if let Some(window) = &window {
        let mut snippet = Snippet::source(window.text).path(origin).line_start(window.first_line).fold(true);
        let primary = AnnotationKind::Primary.span(window.range(diagnostic.span));
        snippet = snippet.annotation(primary.label(diagnostic.label.as_str()));
        for (span, words) in &diagnostic.related {
            snippet = snippet.annotation(AnnotationKind::Context.span(window.range(*span)).label(words.as_str()));
        }
        group = group.element(snippet);
    }
    let mut report = vec![group];
    if window.is_none() {
        let position = metroon::syntax::LineIndex::new(text).position(diagnostic.span.start);
        let place = format!("at {origin}:{}:{}", position.line, position.column);
        report.push(Group::with_title(Level::NOTE.secondary_title(place)));
    }
    if let Some(help) = &diagnostic.help {
        report.push(Group::with_title(Level::HELP.secondary_title(help.as_str())));
    }
    renderer.render(&report).to_string()
}

/// The lines of a source that a diagnostic talks about: rendering a whole large source would take long.
struct Window<'a> {
    text: &'a str,
    start: usize,
    first_line: usize,
}

impl<'a> Window<'a> {
    /// `None` when the lines are too long to show.
    fn around(text: &'a str, diagnostic: &Diagnostic) -> Option<Self> {
        let spans = std::iter::once(diagnostic.span).chain(diagnostic.related.iter().map(|(span, _)| *span));
        let (mut low, mut high) = (text.len(), 0);
        for span in spans {
            low = low.min(span.start as usize);
            high = high.max(span.end as usize);
        }
        let start = text[..low.min(text.len())].rfind('\n').map_or(0, |newline| newline + 1);
        let high = high.clamp(start, text.len());
        let end = text[high..].find('\n').map_or(text.len(), |newline| high + newline);
        let shown = text[start..end].trim_end_matches('\r');
        if shown.lines().any(|line| line.len() > LINE_SHOWN_BYTES_MAX) {
            return None;
        }
        let first_line = 1 + text[..start].bytes().filter(|&byte| byte == b'\n').count();
        Some(Self { text: shown, start, first_line })
    }

    fn range(&self, span: Span) -> std::ops::Range<usize> {
        let clamp = |offset: u32| (offset as usize).saturating_sub(self.start).min(self.text.len());
        clamp(span.start)..clamp(span.end).max(clamp(span.start))
    }
}
