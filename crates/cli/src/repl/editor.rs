//! Inputs from a terminal: a line editor with history, completion, colours and types as hints.

use super::session::Session;
use super::words::Words;
use super::{Next, commands, enter, is_open};
use crate::end::End;
use crate::output::fail;
use crate::render;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

const PROMPT: &str = "metroon> ";

/// How many inputs the history keeps.
const HISTORY_MAX: usize = 10_000;

/// Reads and runs inputs until somebody leaves.
pub(super) fn read(session: &mut Session) -> End {
    let words = Words::default();
    let mut editor = match editor(&words) {
        Ok(editor) => editor,
        Err(error) => {
            return fail(&format!("cannot use the terminal: {error}"), "pipe a program in instead", End::Error);
        }
    };
    let history = history_file().filter(|file| is_own(file));
    if let Some(file) = &history {
        // The first time there is none.
        let _ = editor.load_history(file);
    }
    render::say(concat!("metroon ", env!("CARGO_PKG_VERSION"), "; `:help` lists commands, Ctrl-D leaves"));
    loop {
        words.follow(session.engine.session_mut().program_mut());
        match editor.readline(PROMPT) {
            Ok(input) => {
                let _ = editor.add_history_entry(input.trim_end());
                if let Some(file) = history.as_ref().filter(|file| !is_link(file)) {
                    keep(&mut editor, file);
                }
                if let Next::Ends(end) = enter(session, &input) {
                    return end;
                }
            }
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => return End::Fine,
            Err(error) => return fail(&format!("cannot read from the terminal: {error}"), "", End::Error),
        }
    }
}

fn editor(words: &Words) -> rustyline::Result<Editor<Prompt, DefaultHistory>> {
    let config = Config::builder()
        .max_history_size(HISTORY_MAX)?
        .history_ignore_space(true)
        .completion_type(CompletionType::List)
        .auto_add_history(false)
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(Prompt { words: words.clone(), color: render::uses_color() }));
    Ok(editor)
}

/// The file of the history, in the folder for a user's state. Without a home there is none.
fn history_file() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state = state.or_else(|| {
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty())?;
        Some(PathBuf::from(home).join(".local/state"))
    })?;
    Some(state.join("metroon/history"))
}

/// Whether the history may be written to this file: it is not a link, which could lead to any other file of the user. If it is one, that is
/// said, and nothing is kept.
fn is_own(file: &Path) -> bool {
    if is_link(file) {
        let file = file.display();
        render::say(&format!(
            "warning: the history of the prompt is not kept: {file} is a symbolic link; put a file in its place to have it kept"
        ));
    }
    !is_link(file)
}

fn is_link(file: &Path) -> bool {
    file.symlink_metadata().is_ok_and(|about| about.is_symlink())
}

/// Writes the history after each input: a session that is killed loses none. It is no failure if there is no room for it.
fn keep(editor: &mut Editor<Prompt, DefaultHistory>, file: &PathBuf) {
    if let Some(folder) = file.parent() {
        let _ = std::fs::create_dir_all(folder);
    }
    let _ = editor.append_history(file);
}

/// What helps at the prompt.
struct Prompt {
    words: Words,
    color: bool,
}

impl Helper for Prompt {}

impl Validator for Prompt {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if is_open(context.input()) { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Completer for Prompt {
    type Candidate = String;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let before = &line[..position];
        if before.starts_with(':') && !before.contains(char::is_whitespace) {
            return Ok((0, commands::names().filter(|name| name.starts_with(before)).collect()));
        }
        let start = before.rfind(ends_word).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let beginning = &before[start..];
        if beginning.is_empty() {
            return Ok((start, Vec::new()));
        }
        Ok((start, self.words.beginning_with(beginning)))
    }
}

fn ends_word(character: char) -> bool {
    character.is_whitespace() || "()!\"".contains(character)
}

impl Hinter for Prompt {
    type Hint = String;

    /// The type of the function whose call is being written.
    fn hint(&self, line: &str, position: usize, _: &Context<'_>) -> Option<String> {
        if position < line.len() || line.starts_with(':') {
            return None;
        }
        let head = open_head(line)?;
        let type_text = self.words.type_of(head)?;
        Some(format!("  {head} : {type_text}"))
    }
}

/// The head of the innermost call that a line leaves open.
fn open_head(line: &str) -> Option<&str> {
    let mut open = Vec::new();
    let mut in_text = false;
    let mut is_escaped = false;
    for (at, character) in line.char_indices() {
        match character {
            _ if in_text => {
                in_text = is_escaped || character != '"';
                is_escaped = !is_escaped && character == '\\';
            }
            '"' => in_text = true,
            ';' => return None,
            '(' => open.push(at + 1),
            ')' => drop(open.pop()),
            _ => {}
        }
    }
    let call = &line[*open.last()?..];
    let head = call.split(ends_word).next()?;
    // While it is being written it may become another one.
    (!head.is_empty() && head.len() < call.len()).then_some(head)
}

impl Highlighter for Prompt {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        if self.color { Cow::Owned(colored(line, &self.words)) } else { Cow::Borrowed(line) }
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        if self.color { Cow::Owned(format!("\u{1b}[2m{hint}\u{1b}[0m")) } else { Cow::Borrowed(hint) }
    }

    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        if self.color { Cow::Owned(format!("\u{1b}[1m{prompt}\u{1b}[0m")) } else { Cow::Borrowed(prompt) }
    }

    fn highlight_char(&self, _: &str, _: usize, _: CmdKind) -> bool {
        self.color
    }
}

/// A text in colours: comments, texts, variables, numbers and known names.
fn colored(line: &str, words: &Words) -> String {
    let mut out = String::with_capacity(line.len() * 2);
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let (length, color) = piece(rest, first, words);
        let (text, after) = rest.split_at(length);
        match color {
            Some(color) => out.extend(["\u{1b}[", color, "m", text, "\u{1b}[0m"]),
            None => out.push_str(text),
        }
        rest = after;
    }
    out
}

/// The bytes of the first piece of a text, and its colour.
fn piece(text: &str, first: char, words: &Words) -> (usize, Option<&'static str>) {
    let until = |ends: &dyn Fn(char) -> bool| text.find(ends).unwrap_or(text.len());
    match first {
        ';' => (until(&|one| one == '\n'), Some("2")),
        '"' => (length_of_text(text), Some("32")),
        '$' => (until(&|one| one.is_whitespace() || "()".contains(one)), Some("36")),
        _ if first.is_whitespace() || "()!".contains(first) => (first.len_utf8(), None),
        _ => {
            let length = until(&|one| one.is_whitespace() || "();".contains(one));
            let word = &text[..length];
            let is_number = word.parse::<f64>().is_ok() && word.contains(|one: char| one.is_ascii_digit());
            let color = if is_number { Some("33") } else { words.is_known(word).then_some("34") };
            (length, color)
        }
    }
}

/// The bytes of a text in quotes, up to its end or that of the line.
fn length_of_text(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        if character == '"' && !is_escaped {
            return at + 1;
        }
        is_escaped = !is_escaped && character == '\\';
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_that_is_being_written_is_found() {
        for (line, head) in [
            ("!(+ ", Some("+")),
            ("!(+ 1 (size-atom (a b)", Some("size-atom")),
            ("!(+ 1 (size", Some("size").filter(|_| false)),
            ("(+ 1 2)", None),
            ("(say \"(\" ", Some("say")),
            ("; (+ ", None),
            ("", None),
        ] {
            assert_eq!(open_head(line), head, "{line}");
        }
    }

    #[test]
    fn colours_change_no_character() {
        let words = Words::default();
        for line in ["!(+ 1 $x) ; sum", "\"a \\\" b\" c", "\"open", "é ü ;", "-1.5e3", ""] {
            let mut plain = colored(line, &words);
            for color in ["2", "32", "36", "33", "34", "0"] {
                plain = plain.replace(&format!("\u{1b}[{color}m"), "");
            }
            assert_eq!(plain, line);
        }
    }
}
