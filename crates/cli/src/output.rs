//! The standard output of verbs that only look, and their exit codes.

use crate::end::End;
use crate::render;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::time::{Duration, Instant};

/// How a verb ended; an error has been told already.
pub(crate) type Ended = Result<End, End>;

/// The standard output.
pub(crate) struct Out(BufWriter<io::StdoutLock<'static>>);

impl Out {
    pub(crate) fn new() -> Self {
        Self(BufWriter::new(io::stdout().lock()))
    }

    pub(crate) fn line(&mut self, text: &str) -> Result<(), End> {
        writeln!(self.0, "{text}").map_err(|error| not_written(&error))
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), End> {
        self.0.write_all(bytes).map_err(|error| not_written(&error))
    }

    pub(crate) fn end(&mut self) -> Ended {
        self.0.flush().map(|()| End::Fine).map_err(|error| not_written(&error))
    }
}

fn not_written(error: &io::Error) -> End {
    // A reader that has seen enough is not a failure.
    if error.kind() == ErrorKind::BrokenPipe {
        return End::Fine;
    }
    fail(&format!("cannot write the output: {error}"), "", End::Error)
}

/// Tells an error; gives how the command ends.
pub(crate) fn fail(message: &str, help: &str, end: End) -> End {
    render::error(message, Some(help).filter(|help| !help.is_empty()));
    end
}

/// How often the progress of long work is shown.
const SHOWN_EVERY: Duration = Duration::from_millis(200);

/// The progress of long work: a line on the standard error, if that is a terminal, in the place of the one before.
pub(crate) struct ProgressLine {
    is_terminal: bool,
    last: Instant,
    has_shown: bool,
}

impl Default for ProgressLine {
    fn default() -> Self {
        Self { is_terminal: io::stderr().is_terminal(), last: Instant::now(), has_shown: false }
    }
}

impl ProgressLine {
    pub(crate) fn show(&mut self, text: impl FnOnce() -> String) {
        if !self.is_terminal || self.last.elapsed() < SHOWN_EVERY {
            return;
        }
        (self.last, self.has_shown) = (Instant::now(), true);
        // Nobody can be told that standard error is closed.
        let _ = io::stderr().write_all(format!("\r{}\x1b[K", text()).as_bytes());
    }

    pub(crate) fn end(&self) {
        if self.has_shown {
            let _ = io::stderr().write_all(b"\r\x1b[K");
        }
    }
}

pub(crate) fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// A word as a shell takes it, and a terminal shows it.
pub(crate) fn shell_word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./,:+@%=".contains(letter);
    match word {
        word if !word.is_empty() && word.chars().all(is_plain) => word.to_owned(),
        word if word.contains(char::is_control) => format!("$'{}'", word.escape_debug()),
        word => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
