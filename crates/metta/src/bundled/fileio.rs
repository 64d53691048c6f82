//! The module `fileio`: files as texts.

use super::handles::{Handle, HandleKind};
use super::{Bundle, refused};
use crate::effects::Effects;
use crate::operation::{Call, Compatibility, OperationSpec as Spec, Outcome};
use crate::world::{FileId, OpenMode, READ_BYTES_MAX};
use space::{Atom, Grounded, HostValue, Number};
use std::sync::{Arc, Weak};

/// How many bytes one call may read as a text.
pub const FILE_TEXT_BYTES_MAX: u64 = 1 << 28;

/// How many files a program may have open.
pub const FILES_OPEN_MAX: usize = 256;

pub(super) const MODULE: Bundle = Bundle {
    name: "fileio",
    operations: &[
        Spec::typed("file-open!", "(-> String String FileHandle)", open)
            .with(Effects::ASKS.and(Effects::TELLS))
            .documented(
                "Opens a file. The options are letters: r reads, w writes, c creates, a appends, t truncates.",
                &[
                    "The path, a text; a relative one starts at the working directory",
                    "The options, a text such as \"rwc\"; c needs w or a, t needs w, and a and t exclude each other",
                ],
                "A handle on the file; an error if there is no such file, or the options are not allowed",
            )
        .compared(Compatibility::Differs(
            "the error goes on to say why; a directory or a named pipe cannot be opened; 256 files may be open. A handle \
             prints as `FileHandle-1`",
        )),
        Spec::typed("file-read-to-string!", "(-> FileHandle String)", read_to_end).with(Effects::ASKS).documented(
            "Reads a file from where it stands to its end.",
            &["A handle on a file opened with r"],
            "What was read, a text; an error if that is not UTF-8",
        )
        .compared(Compatibility::Differs("at most 2^28 bytes")),
        Spec::typed("file-write!", "(-> FileHandle String (->))", write).with(Effects::TELLS).documented(
            "Writes a text where the file stands, or at its end if it was opened with a.",
            &["A handle on a file opened with w or a", "The text"],
            "The unit, ()",
        )
        .compared(Compatibility::Differs(
            "a file that cannot be written is an error, in Hyperon the process ends; the whole text is written; in \
             Hyperon perhaps a part",
        )),
        Spec::typed("file-seek!", "(-> FileHandle Number (->))", seek).with(Effects::ASKS).documented(
            "Goes to a position in a file. It may lie beyond the end: what is written there leaves zeros before it.",
            &["A handle on a file", "The position, in bytes from the beginning"],
            "The unit, ()",
        )
        .compared(Compatibility::Differs("a negative position is an error, in Hyperon nothing happens")),
        Spec::typed("file-read-exact!", "(-> FileHandle Number String)", read_exact).with(Effects::ASKS).documented(
            "Reads bytes of a file from where it stands; fewer than asked for only if it ends before.",
            &["A handle on a file opened with r", "How many bytes"],
            "What was read, a text; an error if that is not UTF-8, as when a character is cut in two",
        )
        .compared(Compatibility::Differs(
            "a file that ends earlier gives a shorter text, in Hyperon one padded with NUL; a negative number is an \
             error, in Hyperon the process ends; at most 2^28 bytes",
        )),
        Spec::typed("file-get-size!", "(-> FileHandle Number)", size).with(Effects::ASKS).documented(
            "Tells how long a file is.",
            &["A handle on a file"],
            "Its length in bytes",
        ),
        Spec::typed("file-close!", "(-> FileHandle (->))", close).with(Effects::ASKS).documented(
            "Closes a file. One whose handle nobody holds any more is closed by itself, sooner or later.",
            &["A handle on a file"],
            "The unit, (); an error if it is closed already",
        )
        .compared(Compatibility::MetroonOnly(
            "closes a file at once; a file whose handle is gone is closed when 256 are open",
        )),
    ],
    values: &[],
    source: "",
    yields: false,
};

/// An open file as an atom.
static FILE: HandleKind = HandleKind { type_name: "FileHandle", identity: "file-handle", is_durable: false };

/// The open file that the first argument is.
fn file_of(call: &Call<'_>) -> Option<FileId> {
    FILE.argument(call, 0).map(FileId)
}

fn text_of<'a>(call: &Call<'a>, position: usize) -> Option<&'a str> {
    match call.argument(position)? {
        Atom::Grounded(Grounded::Text(text)) => Some(text),
        _ => None,
    }
}

/// The second argument as a number of bytes; a float is cut off.
fn bytes_of(call: &Call<'_>) -> Option<u64> {
    match call.argument(1)? {
        Atom::Grounded(Grounded::Number(Number::Int(word))) => u64::try_from(*word).ok(),
        Atom::Grounded(Grounded::Number(Number::Float(float))) if *float >= 0.0 => Some(*float as u64),
        _ => None,
    }
}

/// The letters of the options; others mean nothing, as in Hyperon.
fn mode_of(options: &str) -> OpenMode {
    OpenMode {
        read: options.contains('r'),
        write: options.contains('w'),
        create: options.contains('c'),
        append: options.contains('a'),
        truncate: options.contains('t'),
    }
}

fn open(call: &mut Call<'_>) -> Outcome {
    let (Some(path), Some(options)) = (text_of(call, 0), text_of(call, 1)) else {
        return Outcome::failure("file-open! expects filepath and options in form of string atoms as an argument");
    };
    if let Err(outcome) = make_room(call) {
        return outcome;
    }
    let mode = mode_of(options);
    if mode.is_outward()
        && let Err(refused) = call.environment.before_outward_effect()
    {
        return refused.into();
    }
    match call.environment.world().open_file(path, mode) {
        Ok(file) => {
            let handle = FILE.handle(file.0);
            let weak: Weak<dyn HostValue> = Arc::<Handle>::downgrade(&handle);
            call.environment.open_files().push((file, weak));
            Outcome::one(Atom::Grounded(Grounded::Host(handle)))
        }
        Err(error) => refused(&format!("Failed to open file with provided path={path} and options={options}"), error),
    }
}

/// Sees to it that one more file may be opened: when there are too many, those whose handles are gone are closed.
fn make_room(call: &mut Call<'_>) -> Result<(), Outcome> {
    let files = call.environment.open_files();
    if files.len() < FILES_OPEN_MAX {
        return Ok(());
    }
    let unreachable: Vec<FileId> =
        files.extract_if(.., |(_, handle)| handle.strong_count() == 0).map(|(file, _)| file).collect();
    for file in &unreachable {
        call.environment.world().close_file(*file).map_err(|error| refused("a file cannot be closed", error))?;
    }
    if unreachable.is_empty() {
        return Err(Outcome::failure(format!("{FILES_OPEN_MAX} files are open; close one with file-close!")));
    }
    Ok(())
}

/// Reads `bytes_max` bytes, fewer only at the end of the file.
fn read(call: &mut Call<'_>, file: FileId, bytes_max: u64, message: &str) -> Result<Vec<u8>, Outcome> {
    let mut bytes: Vec<u8> = Vec::new();
    loop {
        let wanted = (bytes_max - bytes.len() as u64).min(READ_BYTES_MAX);
        if wanted == 0 {
            return Ok(bytes);
        }
        let part = call.environment.world().read_file(file, wanted).map_err(|error| refused(message, error))?;
        if part.is_empty() {
            return Ok(bytes);
        }
        bytes.extend(part);
    }
}

fn read_to_end(call: &mut Call<'_>) -> Outcome {
    let message = "Failed to read file contents";
    let Some(file) = file_of(call) else {
        return Outcome::failure("file-read-to-string! expects filehandle as an argument");
    };
    match read(call, file, FILE_TEXT_BYTES_MAX + 1, message) {
        Ok(bytes) if bytes.len() as u64 > FILE_TEXT_BYTES_MAX => Outcome::failure(format!(
            "{message}: there are more than {FILE_TEXT_BYTES_MAX} bytes; read them in parts with file-read-exact!"
        )),
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Outcome::one(text.as_str()),
            Err(_) => Outcome::failure(format!("{message}: stream did not contain valid UTF-8")),
        },
        Err(outcome) => outcome,
    }
}

fn read_exact(call: &mut Call<'_>) -> Outcome {
    let message = "Read exact failed";
    let (Some(file), Some(bytes)) = (file_of(call), bytes_of(call)) else {
        return Outcome::failure(
            "file-read-exact! expects filehandle and number of bytes to read (number) as an arguments",
        );
    };
    if bytes > FILE_TEXT_BYTES_MAX {
        return Outcome::failure(format!("{message}: {bytes} bytes are more than {FILE_TEXT_BYTES_MAX}"));
    }
    match read(call, file, bytes, message) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Outcome::one(text.as_str()),
            Err(error) => Outcome::failure(format!("{message}: {error}")),
        },
        Err(outcome) => outcome,
    }
}

fn write(call: &mut Call<'_>) -> Outcome {
    let (Some(file), Some(text)) = (file_of(call), text_of(call, 1)) else {
        return Outcome::failure("file-write! expects filehandle and content (string atom) as an arguments");
    };
    if let Err(refused) = call.environment.before_outward_effect() {
        return refused.into();
    }
    match call.environment.world().write_file(file, text.as_bytes()) {
        Ok(()) => Outcome::unit(),
        Err(error) => refused("Failed to write content to file", error),
    }
}

fn seek(call: &mut Call<'_>) -> Outcome {
    let (Some(file), Some(position)) = (file_of(call), bytes_of(call)) else {
        return Outcome::failure("file-seek! expects filehandle and start byte (number) as an arguments");
    };
    match call.environment.world().seek_file(file, position) {
        Ok(()) => Outcome::unit(),
        Err(error) => refused("Seek operation failed", error),
    }
}

fn size(call: &mut Call<'_>) -> Outcome {
    let Some(file) = file_of(call) else {
        return Outcome::failure("file-get-size! expects filehandle as an argument");
    };
    match call.environment.world().file_size(file) {
        Ok(bytes) => Outcome::one(Number::from(bytes as usize)),
        Err(error) => refused("Get size failed", error),
    }
}

fn close(call: &mut Call<'_>) -> Outcome {
    let Some(file) = file_of(call) else {
        return Outcome::failure("file-close! expects filehandle as an argument");
    };
    match call.environment.world().close_file(file) {
        Ok(()) => {
            call.environment.open_files().retain(|(open, _)| *open != file);
            Outcome::unit()
        }
        Err(error) => refused("Failed to close file", error),
    }
}
