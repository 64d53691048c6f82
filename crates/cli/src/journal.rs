//! `metroon journal`: looking at a journal, checking it, and saving what can be read of a damaged one.
//!
//! 1. A path is a folder of segments, a knowledge base (then the journal inside it is meant) or a journal in one file.
//! 2. Only `salvage` writes, and only to the new place. All verbs work while another process writes the journal.

use crate::end::End;
use crate::output::{Ended, Out, counted, fail};
use crate::{counts, render};
use clap::{Args, Subcommand};
use journal::{
    Damage, Directory, Disk, Flaw, Frame, Lost, OpenError, Options, ReadError, Reader, Report, SalvageError, Salvaged,
    SingleFile, VerifyError, Warning, salvage, verify,
};
use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How much of a payload a line shows.
const SHOWN_BYTES_MAX: usize = 48;
/// How many digits of a chain value a line shows.
const CHAIN_DIGITS: usize = 12;
/// How many places of damage are listed.
const DAMAGE_LISTED_MAX: usize = 20;
/// What helps if the disk refuses to read.
const UNREADABLE: &str = "check that the disk works, and that you may read the journal";
/// How every segment's name ends.
const SUFFIX: &str = ".segment";

const ABOUT: &str = "\
PATH is a folder of segments, a knowledge base (its journal is meant), or a journal in one file, such as a tape.

Exit code: 0 fine; 1 a file cannot be read or written; 2 wrong usage, or there is no journal; 4 the journal is damaged.";

#[derive(Debug, Args)]
#[command(after_help = ABOUT)]
pub(crate) struct JournalArguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print a line for each frame: number, segment and offset, length, chain, how the payload begins
    #[command(after_help = ABOUT)]
    Show(ShowArguments),
    /// Print counts: segments, frames, bytes, how much is synced
    #[command(after_help = ABOUT)]
    Stats(StatsArguments),
    /// Read everything and say whether it is sound
    #[command(after_help = ABOUT)]
    Verify(PathArguments),
    /// Carry what can be read of a damaged journal into a new one
    #[command(after_help = ABOUT)]
    Salvage(SalvageArguments),
}

#[derive(Debug, Args)]
struct StatsArguments {
    /// The journal
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct PathArguments {
    /// The journal
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

#[derive(Debug, Args)]
struct ShowArguments {
    /// The journal
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// Begin with this frame, instead of the first that there is
    #[arg(long, value_name = "N")]
    from: Option<u64>,

    /// End with this frame
    #[arg(long, value_name = "N")]
    to: Option<u64>,

    /// Show how the payload begins in hexadecimal as well
    #[arg(long)]
    bytes: bool,
}

#[derive(Debug, Args)]
struct SalvageArguments {
    /// The damaged journal, which is not touched
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// Where to make the new journal: a folder, or a file if PATH is one
    #[arg(long, value_name = "NEW")]
    to: PathBuf,
}

/// Does what the command line asks for.
pub(crate) fn run(arguments: &JournalArguments) -> End {
    let done = match &arguments.verb {
        Verb::Show(arguments) => show(arguments),
        Verb::Stats(arguments) => stats(&arguments.path, arguments.json),
        Verb::Verify(arguments) => verify_all(&arguments.path),
        Verb::Salvage(arguments) => salvage_to(&arguments.path, &arguments.to),
    };
    done.unwrap_or_else(|end| end)
}

/// A journal that a path leads to.
struct Found {
    disk: Arc<dyn Disk>,
    /// What it is called in messages.
    name: String,
    is_file: bool,
}

fn find(path: &Path) -> Result<Found, End> {
    let name = path.display().to_string();
    let cannot_read = |error: io::Error| fail(&format!("cannot read {name}: {error}"), "check the path", End::Usage);
    let is_file = !std::fs::metadata(path).map_err(cannot_read)?.is_dir();
    let disk: Arc<dyn Disk> = if is_file {
        Arc::new(SingleFile::open(path).map_err(cannot_read)?)
    } else {
        Arc::new(Directory::open(folder_of_segments(path).map_err(cannot_read)?).map_err(cannot_read)?)
    };
    Ok(Found { disk, name, is_file })
}

/// The folder itself if it has segments, else the journal of a knowledge base in it, if that is there.
fn folder_of_segments(path: &Path) -> io::Result<PathBuf> {
    let has_segments = Directory::open(path)?.list()?.iter().any(|name| name.ends_with(SUFFIX));
    let inside = path.join("journal");
    Ok(if !has_segments && inside.is_dir() { inside } else { path.to_owned() })
}

fn show(arguments: &ShowArguments) -> Ended {
    if arguments.to.is_some_and(|to| arguments.from.is_some_and(|from| to < from)) {
        return Err(fail("--to names a frame before --from", "the first frame has number 0", End::Usage));
    }
    let found = find(&arguments.path)?;
    let told = |error| unreadable(&found, error);
    let disk = found.disk.clone();
    let reader = match arguments.from {
        None => Reader::from_beginning(disk),
        Some(from) => Reader::from_frame(disk, from),
    };
    let mut reader = reader.map_err(told)?;
    let mut out = Out::new();
    while reader.place().number <= arguments.to.unwrap_or(u64::MAX) {
        let line = reader.read_next().map(|frame| frame.map(|frame| shown(&frame, arguments.bytes)));
        match line {
            Ok(Some((beginning, payload))) => {
                let chain = reader.chain().map(|chain| chain.to_string()).unwrap_or_default();
                out.line(&format!("{beginning}  {:CHAIN_DIGITS$.CHAIN_DIGITS$}  {payload}", chain))?;
            }
            Ok(None) => break,
            Err(error) => {
                out.end()?;
                return Err(unreadable(&found, error));
            }
        }
    }
    out.end()
}

/// The line of a frame, before and after the chain value.
fn shown(frame: &Frame<'_>, with_bytes: bool) -> (String, String) {
    let place = frame.place;
    let at = format!("{}+{}", place.segment, place.offset);
    let beginning = &frame.payload[..frame.payload.len().min(SHOWN_BYTES_MAX)];
    let is_cut = if beginning.len() < frame.payload.len() { "…" } else { "" };
    let (number, length) = (place.number, frame.payload.len());
    let mut payload = format!("{}{is_cut}", escaped(beginning));
    if with_bytes {
        let _ = write!(payload, "  [{}{is_cut}]", hexadecimal(beginning));
    }
    (format!("{number:>8}  {at:<14}  {length:>8}"), payload)
}

/// Bytes as text on one line. Bytes that are not text are written `\xNN`, characters that cannot be seen as in a Rust string.
pub(crate) fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' | '\'' => text.push(character),
                other => text.extend(other.escape_debug()),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Lists the frames of a journal, or the one of a number.
pub(crate) fn show_frames(path: &Path, number: Option<u64>) -> Ended {
    show(&ShowArguments { path: path.to_owned(), from: number, to: number, bytes: false })
}

pub(crate) fn stats(path: &Path, is_json: bool) -> Ended {
    let (found, report) = verified(path)?;
    let mut out = Out::new();
    counts::print(&mut out, &report, is_json)?;
    out.end()?;
    tell(&found, &report, &way_out(&found))
}

/// The chain up to the last frame, as people read it.
fn chain_of(report: &Report) -> String {
    report.chain.map_or_else(|| "not known behind the damage".to_owned(), |chain| chain.to_string())
}

pub(crate) fn verify_all(path: &Path) -> Ended {
    let (found, report) = verified(path)?;
    if report.is_sound() {
        let bytes: u64 = report.segments.iter().map(|segment| segment.bytes).sum();
        let (frames, segments) = (counted(report.frames, "frame"), counted(report.segments.len() as u64, "segment"));
        let mut out = Out::new();
        out.line(&format!(
            "{}: sound: {frames} in {segments}, {bytes} bytes, chain {}",
            found.name,
            chain_of(&report)
        ))?;
        out.end()?;
    }
    tell(&found, &report, &way_out(&found))
}

/// Says what is damaged in the journal of a knowledge base, if something is.
pub(crate) fn check(path: &Path) -> Ended {
    let (found, report) = verified(path)?;
    tell(
        &found,
        &report,
        &format!("`metroon kb salvage {} --to NEW` makes a knowledge base of what is sound", found.name),
    )
}

/// What a journal is like; an error if there is none.
fn verified(path: &Path) -> Result<(Found, Report), End> {
    let found = find(path)?;
    let report = match verify(found.disk.clone()) {
        Ok(report) => report,
        Err(VerifyError::Empty) => return Err(no_journal(&found)),
        Err(error) => return Err(fail(&format!("{}: {error}", found.name), UNREADABLE, End::Error)),
    };
    if is_foreign(&found, &report) { Err(not_a_journal(&found)) } else { Ok((found, report)) }
}

/// Whether nothing in a file speaks for its being a journal.
fn is_foreign(found: &Found, report: &Report) -> bool {
    let has_magic = !report.damage.iter().any(|lost| matches!(lost.damage.flaw, Flaw::Magic));
    found.is_file && report.frames == 0 && !has_magic
}

/// Tells warnings and damage on the standard error.
fn tell(found: &Found, report: &Report, help: &str) -> Ended {
    warn(&report.warnings);
    if report.is_sound() {
        return Ok(End::Fine);
    }
    render::error(&format!("{} is damaged", found.name), None);
    list(&report.damage);
    render::say(&format!("help: {help}"));
    Err(End::Damaged)
}

pub(crate) fn list(lost: &[Lost]) {
    for lost in lost.iter().take(DAMAGE_LISTED_MAX) {
        render::say(&format!("  {lost}"));
    }
    if lost.len() > DAMAGE_LISTED_MAX {
        render::say(&format!("  and {} more", lost.len() - DAMAGE_LISTED_MAX));
    }
}

pub(crate) fn warn(warnings: &[Warning]) {
    for warning in warnings {
        render::say(&format!("warning: {warning}"));
    }
}

fn salvage_to(path: &Path, to: &Path) -> Ended {
    // Read once before anything is made, so that a wrong path leaves nothing behind.
    let (found, _) = verified(path)?;
    let new = new_place(to, found.is_file)?;
    let salvaged = match salvage(found.disk.clone(), new, Options::default()) {
        Ok(salvaged) => salvaged,
        Err(SalvageError::Open(OpenError::Disk(failure))) => {
            return Err(fail(
                &format!("cannot make {}: {failure}", to.display()),
                "check the path, and that you may write there",
                End::Error,
            ));
        }
        Err(error) => {
            let help = "check that you may read the damaged journal, and that the new one has room and may be written";
            return Err(fail(&format!("{}: {error}", found.name), help, End::Error));
        }
    };
    report_salvage(&salvaged, to)
}

/// An empty place for a journal.
fn new_place(to: &Path, is_file: bool) -> Result<Arc<dyn Disk>, End> {
    let name = to.display().to_string();
    let help = if is_file {
        "name a file that does not exist yet"
    } else {
        "name a folder that is empty or does not exist yet"
    };
    let failed = |error: io::Error| fail(&format!("cannot salvage to {name}: {error}"), help, End::Usage);
    if is_file {
        return Ok(Arc::new(SingleFile::create(to).map_err(failed)?));
    }
    let is_occupied = match std::fs::read_dir(to) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(failed(error)),
    };
    if is_occupied {
        return Err(failed(io::Error::other("it is not empty")));
    }
    Ok(Arc::new(Directory::create(to).map_err(failed)?))
}

fn report_salvage(salvaged: &Salvaged, to: &Path) -> Ended {
    let mut out = Out::new();
    out.line(&format!("{}: {}, chain {}", to.display(), counted(salvaged.frames, "frame"), salvaged.chain))?;
    for kept in &salvaged.kept {
        let (old, new) = (numbers(kept.from, kept.frames), numbers(kept.to, kept.frames));
        out.line(&if old == new { format!("kept {old}") } else { format!("kept {old}, now {new}") })?;
    }
    for lost in &salvaged.lost {
        out.line(&format!("lost {lost}"))?;
    }
    out.end()?;
    warn(&salvaged.warnings);
    Ok(End::Fine)
}

fn numbers(first: u64, count: u64) -> String {
    match count {
        1 => format!("frame {first}"),
        _ => format!("frames {first} to {}", first + count.saturating_sub(1)),
    }
}

fn unreadable(found: &Found, error: ReadError) -> End {
    let name = &found.name;
    match error {
        ReadError::Empty => no_journal(found),
        ReadError::Damaged(Damage { flaw: Flaw::Magic, .. }) if found.is_file => not_a_journal(found),
        ReadError::Damaged(Damage { segment, offset, flaw, .. }) => {
            fail(&format!("{name} is damaged: {segment} at byte {offset}: {flaw}"), &way_out(found), End::Damaged)
        }
        ReadError::NoSuchFrame { .. } => {
            fail(&format!("{name}: {error}"), "`metroon journal stats` counts the frames", End::Usage)
        }
        ReadError::Trimmed { .. } => fail(
            &format!("{name}: {error}"),
            "ask for a later frame, or look into a copy that was made before",
            End::Usage,
        ),
        other => fail(&format!("{name}: {other}"), UNREADABLE, End::Error),
    }
}

fn no_journal(found: &Found) -> End {
    let help = "name a folder of segments, a knowledge base, or a journal in one file";
    fail(&format!("there is no journal in {}", found.name), help, End::Usage)
}

fn not_a_journal(found: &Found) -> End {
    let help = "name a folder of segments, a knowledge base, or a journal in one file";
    fail(&format!("{} is not a journal", found.name), help, End::Usage)
}

fn way_out(found: &Found) -> String {
    format!("`metroon journal salvage {} --to NEW` carries what can be read into a new journal", found.name)
}
