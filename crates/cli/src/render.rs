//! Diagnostics for people: the line, a caret under the place, and what to do.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use metroon::syntax::{Diagnostic, LineIndex, Severity, Span};
use metroon::why::{Certainty, Failure, Place};
use std::io::{IsTerminal, Write};

/// Lines longer than this are not shown: a caret far to the right helps nobody.
const LINE_SHOWN_BYTES_MAX: usize = 4096;

/// Writes a line to the standard error.
pub(crate) fn say(text: &str) {
    // Nobody can be told that standard error is closed.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Writes a diagnostic of a source, of which the lines are known, to the standard error.
pub(crate) fn diagnostic(origin: &str, lines: &LineIndex<'_>, diagnostic: &Diagnostic) {
    say(&rendered(origin, lines, diagnostic, uses_color()));
}

/// Writes all diagnostics of a source to the standard error.
pub(crate) fn diagnostics<'a>(origin: &str, text: &str, all: impl IntoIterator<Item = &'a Diagnostic>) {
    let lines = LineIndex::new(text);
    all.into_iter().for_each(|one| diagnostic(origin, &lines, one));
}

/// Whether messages are coloured.
pub(crate) fn uses_color() -> bool {
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

/// Writes why a form has failed to the standard error.
pub(crate) fn failure(failure: &Failure) {
    say(&rendered_failure(failure, uses_color()));
}

fn renderer(color: bool) -> Renderer {
    if color { Renderer::styled() } else { Renderer::plain() }
}

fn rendered(origin: &str, lines: &LineIndex<'_>, diagnostic: &Diagnostic, color: bool) -> String {
    renderer(color).render(&report(origin, lines, diagnostic)).to_string()
}

fn report<'a>(origin: &'a str, lines: &LineIndex<'a>, diagnostic: &'a Diagnostic) -> Vec<Group<'a>> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code);
    let mut group = Group::with_title(title);
    let window = Window::around(lines, diagnostic);
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
        let position = lines.position(diagnostic.span.start);
        let place = format!("at {origin}:{}:{}", position.line, position.column);
        report.push(Group::with_title(Level::NOTE.secondary_title(place)));
    }
    if let Some(help) = &diagnostic.help {
        report.push(Group::with_title(Level::HELP.secondary_title(help.as_str())));
    }
    report
}

fn rendered_failure(failure: &Failure, color: bool) -> String {
    let lines = failure.place.lines();
    let mut shown = Diagnostic::error(failure.code, failure.place.span, failure.message.as_str());
    // What is written there is seen there.
    if failure.label != failure.place.slice() {
        shown = shown.with_label(failure.label.as_str());
    }
    let mut report = report(&failure.place.origin, &lines, &shown);
    let notes = [calls(failure), others(failure)];
    report.extend(notes.into_iter().flatten().map(|note| Group::with_title(Level::NOTE.secondary_title(note))));
    // What an assertion says is no advice.
    let level = if failure.code == "assertion-failed" { Level::NOTE } else { Level::HELP };
    let help = failure.help.iter().map(String::as_str);
    report.extend(help.map(|help| Group::with_title(level.clone().secondary_title(help))));
    renderer(color).render(&report).to_string()
}

/// How many calls of a chain are shown.
const CALLS_SHOWN_MAX: usize = 8;

/// The calls that an error was made under, a line each, from the innermost.
fn calls(failure: &Failure) -> Option<String> {
    let form = format!("the form at {}", line_of(&failure.form));
    match failure.certainty {
        Certainty::Unknown => return None,
        Certainty::OnlyPlace => {
            let rule = &failure.calls.first()?.name;
            return Some(format!(
                "`{rule}` is the only rule with such an expression; the calls from {form} are not known, since it has effects or is long"
            ));
        }
        Certainty::Seen if failure.calls.is_empty() => return None,
        Certainty::Seen => {}
    }
    let mut lines: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(call) = failure.calls.get(at) {
        if lines.len() == CALLS_SHOWN_MAX {
            let more = failure.calls.len() - at + failure.calls_left_out.map_or(0, |(_, count)| count);
            lines.push(format!("{more} calls more"));
            break;
        }
        let rule = call.rule.as_ref().map_or("the library".to_owned(), line_of);
        lines.push(format!("`{}`, {rule}", call.call));
        let same = failure.calls[at + 1..].iter().take_while(|other| other.name == call.name).count();
        at += 1;
        if same > 1 {
            let last = at + same;
            let left_out = failure.calls_left_out.filter(|(after, _)| (at..last).contains(after));
            let more = same - 1 + left_out.map_or(0, |(_, count)| count);
            lines.push(format!("{more} calls more of `{}`", call.name));
            at = last - 1;
        }
    }
    lines.push(form);
    Some(format!("in {}", lines.join("\ncalled by ")))
}

fn line_of(place: &Place) -> String {
    format!("{}:{}", place.origin, place.position().line)
}

/// What else came of the form, and what was not run.
fn others(failure: &Failure) -> Option<String> {
    let others = match failure.others {
        0 => None,
        1 => Some("the form came to 1 error more".to_owned()),
        count => Some(format!("the form came to {count} errors more")),
    };
    let not_run = match failure.not_run {
        0 => None,
        1 => Some("1 later form was not run; --keep-going runs it".to_owned()),
        count => Some(format!("{count} later forms were not run; --keep-going runs them")),
    };
    let notes: Vec<String> = [others, not_run].into_iter().flatten().collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// The lines of a source that a diagnostic talks about: rendering a whole large source would take long.
struct Window<'a> {
    text: &'a str,
    start: usize,
    first_line: usize,
}

impl<'a> Window<'a> {
    /// `None` when the lines are too long to show.
    fn around(lines: &LineIndex<'a>, diagnostic: &Diagnostic) -> Option<Self> {
        let text = lines.text();
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
        let first_line = lines.position(start as u32).line as usize;
        Some(Self { text: shown, start, first_line })
    }

    fn range(&self, span: Span) -> std::ops::Range<usize> {
        let clamp = |offset: u32| (offset as usize).saturating_sub(self.start).min(self.text.len());
        clamp(span.start)..clamp(span.end).max(clamp(span.start))
    }
}
