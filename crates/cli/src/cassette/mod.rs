//! `metroon cassette`: looking at cassettes of network traffic, checking them, and making others of them.
//!
//! 1. A path is a sealed cassette, a recording, or a cassette in another form: [`Cassette::open_any`] tells by the content. The name of a
//!    cassette means its recording as well, so what a crash left is looked at as the rest.
//! 2. Nothing is written but what `convert`, `merge` and `redact` are told to make, and that all at once or not at all.

mod clean;
mod diff;
mod folder;
mod found;
mod list;
mod show;
mod stats;
mod verify;
mod write;
mod written;

use crate::byte_count::byte_count;
use crate::end::End;
use crate::output::{Ended, fail};
use cassette::{Cassette, Damage, FileError, Flaw, Form, FormError, LimitExceeded, ReadError, ReadOptions};
use clap::{Args, Subcommand};
use metroon::tape::TapeReader;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub(crate) use write::{gzipped_cassette, is_gzip_name};

const ABOUT: &str = "\
CASSETTE is a sealed cassette, one that is being recorded or whose recording a crash ended, or one in another form: text,
JSON, MessagePack, HAR, VCR, each of these in gzip or not. Which it is, its content says. docs/cassettes.md shows how all of this is used. Of the tape of a run,
`show`, `stats` and `verify` say what `metroon journal` does.

Exit code: 0 fine; 1 cassettes differ, something is not found, or a file cannot be read or written; 2 wrong usage, or no cassette
there; 3 a file of another form that is not a cassette; 4 the cassette is damaged.";

#[derive(Debug, Args)]
#[command(after_help = ABOUT)]
pub(crate) struct CassetteArguments {
    /// Make at most this many bytes of memory of a file, 1G unless it is said; K, M and G stand for 2^10, 2^20 and 2^30
    #[arg(long, global = true, value_name = "BYTES", value_parser = byte_count)]
    max_size: Option<u64>,

    #[command(subcommand)]
    verb: CassetteVerb,
}

#[derive(Debug, Subcommand)]
enum CassetteVerb {
    /// Print a line for each exchange, or all of one
    #[command(after_help = ABOUT)]
    Show(show::ShowArguments),
    /// Print counts: exchanges, bytes, what is shared, times, servers
    #[command(after_help = ABOUT)]
    Stats(stats::StatsArguments),
    /// Read everything, compare it with its checksums, and say whether it is sound
    #[command(after_help = ABOUT)]
    Verify(verify::VerifyArguments),
    /// Write a cassette in another form; seal one whose recording was cut off
    #[command(after_help = write::ABOUT_CONVERT)]
    Convert(write::ConvertArguments),
    /// Say what differs between two cassettes
    #[command(after_help = diff::ABOUT_DIFF)]
    Diff(diff::DiffArguments),
    /// Make one cassette of several, in the order in which requests began
    #[command(after_help = write::ABOUT_MERGE)]
    Merge(write::MergeArguments),
    /// Write a cassette without the secrets that are on it
    #[command(after_help = write::ABOUT_REDACT)]
    Redact(write::RedactArguments),
    /// List the cassettes of a folder: form, exchanges, size, servers, times, and whether each can be read
    #[command(after_help = list::ABOUT_LIST)]
    List(list::ListArguments),
    /// Say what of a folder of cassettes is left over from recordings that broke off, and remove it
    #[command(after_help = clean::ABOUT_CLEAN)]
    Clean(clean::CleanArguments),
}

/// Does what the command line asks for.
pub(crate) fn run(arguments: &CassetteArguments) -> End {
    let options = read_options(arguments.max_size);
    if let Some(done) = of_tape(&arguments.verb, options) {
        return done.unwrap_or_else(|end| end);
    }
    let done = match &arguments.verb {
        CassetteVerb::Show(arguments) => show::show(arguments, options),
        CassetteVerb::Stats(arguments) => stats::stats(arguments, options),
        CassetteVerb::Verify(arguments) => verify::verify(arguments, options),
        CassetteVerb::Convert(arguments) => write::convert(arguments, options),
        CassetteVerb::Diff(arguments) => diff::diff(arguments, options),
        CassetteVerb::Merge(arguments) => write::merge(arguments, options),
        CassetteVerb::Redact(arguments) => write::redact(arguments, options),
        CassetteVerb::List(arguments) => list::list(arguments, options),
        CassetteVerb::Clean(arguments) => clean::clean(arguments, options),
    };
    done.unwrap_or_else(|end| end)
}

/// What a verb says of the tape of a run, which has frames and not exchanges; `None` if it is not one, or the verb says nothing of tapes.
fn of_tape(verb: &CassetteVerb, options: ReadOptions) -> Option<Ended> {
    let (path, is_json) = match verb {
        CassetteVerb::Show(arguments) => (&arguments.cassette, arguments.json),
        CassetteVerb::Stats(arguments) => (&arguments.cassette, arguments.json),
        CassetteVerb::Verify(arguments) => (&arguments.cassette, false),
        _ => return None,
    };
    // A recording is a journal in one file as well.
    let is_tape = TapeReader::open(path).is_ok() && !is_recording(path);
    if !is_tape || Cassette::open_any_with(path, options).is_ok() {
        return None;
    }
    Some(match verb {
        CassetteVerb::Stats(_) => crate::journal::stats(path, is_json),
        _ if is_json => {
            let message = format!("{} is the tape of a run, whose frames are not printed as JSON", path.display());
            Err(fail(&message, "leave --json out", End::Usage))
        }
        CassetteVerb::Show(arguments) => crate::journal::show_frames(path, arguments.number),
        _ => crate::journal::verify_all(path),
    })
}

/// The form and the number of exchanges of a cassette, or why it cannot be read; `None` if something else lies at the path.
pub(crate) fn found_at(path: &Path) -> Option<Result<(String, u64), String>> {
    match folder::kind(path, ReadOptions::default()) {
        folder::FileKind::Cassette(cassette, form) => Some(Ok((form.to_string(), cassette.len() as u64))),
        folder::FileKind::Damaged(why) | folder::FileKind::Unread(why) => Some(Err(why)),
        folder::FileKind::Other => None,
    }
}

/// Opens a cassette of any form; tells why if it cannot.
pub(crate) fn open(path: &Path, options: ReadOptions) -> Result<(Cassette, Form), End> {
    Cassette::open_any_with(path, options).map_err(|error| unreadable(path, &error))
}

/// How files are read with a limit of `--max-size`.
pub(crate) fn read_options(max_size: Option<u64>) -> ReadOptions {
    let options = ReadOptions::default();
    max_size.map_or(options, |bytes| options.bytes_max(bytes))
}

/// Tells that more would come of a file than is allowed.
fn too_much(path: &Path, LimitExceeded { file, what, most, .. }: &LimitExceeded) -> End {
    // What lies in memory has no name of its own.
    let file = if file.is_empty() { path.display().to_string() } else { file.clone() };
    let itself = std::fs::metadata(&file).map(|about| format!(" (the file itself has {})", about.len()));
    let itself = itself.unwrap_or_default();
    let message = format!("{file}: {what} has more than the {most} bytes that may be made of one file{itself}");
    let help = "if you trust the file, `--max-size 4G` of `metroon cassette`, `metroon record` and `metroon replay` raises the limit";
    fail(&message, help, End::Error)
}

/// Tells why a cassette cannot be read.
fn unreadable(path: &Path, error: &FormError) -> End {
    match error {
        FormError::Disk(failure) => not_opened(failure),
        FormError::Unreadable(error) => damaged(path, error),
        FormError::TooMuch(excess) => too_much(path, excess),
        FormError::Gzip { .. } | FormError::Malformed { form: "MessagePack", .. } => {
            fail(&error.to_string(), "", End::Damaged)
        }
        FormError::Malformed { .. } => fail(&error.to_string(), "", End::NotParsed),
        _ => fail(&error.to_string(), "", End::Usage),
    }
}

fn not_opened(failure: &FileError) -> End {
    let kind = failure.error.kind();
    let is_wrong_path = matches!(
        kind,
        ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory | ErrorKind::InvalidInput
    );
    let (help, end) = match kind {
        ErrorKind::PermissionDenied => ("you may not read it: ask its owner", End::Error),
        _ if is_wrong_path => ("name a file that is a cassette", End::Usage),
        _ => ("", End::Error),
    };
    fail(&failure.to_string(), help, end)
}

/// Tells that something is not a cassette, is damaged, or cannot be read.
pub(crate) fn damaged(path: &Path, error: &ReadError) -> End {
    if let ReadError::Disk(failure) = error {
        return not_opened(failure);
    }
    if let ReadError::TooMuch(excess) = error {
        return too_much(path, excess);
    }
    // The tape of a run is a journal in one file, as a recording of a cassette is.
    if TapeReader::open(path).is_ok() {
        let path = path.display();
        let message = format!("{path} is the tape of a run, not a cassette of network traffic");
        let help = format!("`metroon tape show {path}` lists its frames, `metroon replay {path}` runs it again");
        return fail(&message, &help, End::Usage);
    }
    fail(&error.to_string(), "", if was_none(error) { End::Usage } else { End::Damaged })
}

/// Whether something cannot be read since it never was a cassette of this version.
fn was_none(error: &ReadError) -> bool {
    matches!(error, ReadError::Damaged(Damage { flaw: Flaw::Magic | Flaw::Short | Flaw::Version(_), .. }))
}

/// Whether something that cannot be read is a cassette all the same.
pub(crate) fn is_damaged(path: &Path, error: &ReadError) -> bool {
    matches!(error, ReadError::Damaged(_)) && !was_none(error) && TapeReader::open(path).is_err()
}

/// The path of a cassette and of its recording, of which either may be given.
fn with_recording(path: &Path) -> (PathBuf, PathBuf) {
    if is_recording(path) {
        return (path.with_extension(""), path.to_owned());
    }
    let mut recording = path.as_os_str().to_owned();
    recording.push(".recording");
    (path.to_owned(), recording.into())
}

/// Whether a name is that of a recording: that of its cassette, followed by this.
fn is_recording(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "recording")
}

/// When something began, for people. Forms of others may not know it, and 0 stands for that.
fn timestamp(started_ns: i64, digits: usize) -> String {
    if started_ns == 0 {
        return "unknown time".to_owned();
    }
    match jiff::Timestamp::from_nanosecond(i128::from(started_ns)) {
        Ok(timestamp) => format!("{timestamp:.digits$}"),
        Err(_) => format!("{started_ns} ns"),
    }
}
