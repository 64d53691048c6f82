//! `metroon cassette clean`: what is left over in a folder of cassettes.
//!
//! 1. Each file is looked at by itself and by what lies beside it. What is not known to be ours and of no use is not touched.
//! 2. Nothing that somebody may be writing is removed: a recording is locked as long as its recorder lives, and what has no lock must not
//!    have changed for a while.
//! 3. A file is removed only with `--yes`, a recording while its lock is held.

use super::folder::{FileKind, files, kind, lock, says_the_same, within};
use super::{is_gzip_name, is_recording, with_recording};
use crate::byte_count::byte_count;
use crate::end::End;
use crate::journal::escaped;
use crate::output::{Ended, Out, counted};
use crate::proxy::time;
use crate::render;
use cassette::{Cassette, Form, ReadOptions};
use clap::Args;
use journal::{SingleFile, Warning};
use serde_json::json;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub(super) const ABOUT_CLEAN: &str = "\
Of no use are:
  .NAME.sealing, .NAME.writing      a file that was to become NAME, whose writing broke off
  .NAME.recording.unfinished        the beginning of a recording that was never used
  NAME.recording                    if all of it is on the sealed cassette NAME, or it holds no exchange
  FILE.cassette                     beside FILE in another form, if it says the same
With --empty also cassettes without an exchange, which `record --allow-empty` keeps on purpose; with --older-than cassettes whose last request
began longer ago, by what is on them and not by the time of the file; with --larger-than cassettes of more bytes.

What would be removed is printed; --yes removes it. A recording that somebody goes on with is locked, and stays; locks end with their
process, and leave nothing behind. Files that changed within --settled stay. So does every file that is not listed here: what
holds exchanges that are nowhere else is named with what to do. Folders within DIR are looked through as well; links are not followed.

Exit code: 0 fine; 1 something cannot be removed, or the folder cannot be read; 2 wrong usage, or no folder there.";

#[derive(Debug, Args)]
pub(crate) struct CleanArguments {
    /// The folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Remove what is listed
    #[arg(long)]
    yes: bool,

    /// Also cassettes without an exchange
    #[arg(long)]
    empty: bool,

    /// Also cassettes whose last request began longer ago, such as 90d or 12h
    #[arg(long, value_name = "TIME", value_parser = time)]
    older_than: Option<Duration>,

    /// Also cassettes of more bytes than this
    #[arg(long, value_name = "BYTES", value_parser = byte_count)]
    larger_than: Option<u64>,

    /// Leave out what has changed within this time
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "10m")]
    settled: Duration,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

/// What becomes of a file.
enum Verdict {
    /// It is of no use, and why.
    Remove(String),
    /// It stays, and what is to be known of it.
    Keep(String),
    /// Nothing is said of it.
    Ignore,
}

pub(super) fn clean(arguments: &CleanArguments, options: ReadOptions) -> Ended {
    let (mut out, mut files_freed, mut bytes_freed, mut has_failed) = (Out::new(), 0_u64, 0_u64, false);
    for path in files(&arguments.folder)? {
        let judged = JudgedFile::of(&path);
        let bytes = judged.as_of.map_or(0, |(bytes, _)| bytes);
        let (is_removed, why) = match arguments.verdict(&judged, options) {
            Verdict::Ignore => continue,
            Verdict::Keep(why) => (None, why),
            Verdict::Remove(why) if !arguments.yes => (Some(false), why),
            Verdict::Remove(why) => match judged.remove() {
                Ok(()) => (Some(true), why),
                Err(message) => {
                    has_failed = true;
                    render::error(&message, None);
                    continue;
                }
            },
        };
        if is_removed.is_some() {
            (files_freed, bytes_freed) = (files_freed + 1, bytes_freed + bytes);
        }
        let name = within(&path, &arguments.folder);
        let does = match is_removed {
            None => "keeps",
            Some(false) => "would remove",
            Some(true) => "removed",
        };
        out.line(&match arguments.json {
            true => json!({ "file": name, "does": does, "why": why, "bytes": bytes }).to_string(),
            false => format!("{does} {} ({bytes} bytes): {why}", escaped(name.as_bytes())),
        })?;
    }
    out.end()?;
    if !arguments.json {
        arguments.say_freed(files_freed, bytes_freed);
    }
    Ok(if has_failed { End::Error } else { End::Fine })
}

/// A file that is judged. Nobody else writes a recording until it is judged and, if it is of no use, removed.
struct JudgedFile<'p> {
    path: &'p Path,
    /// The lock on a recording; `None` if somebody has it, or if it is another file.
    lock: Option<File>,
    /// Its length and when it was changed, before it was looked at; `None` if that is not known.
    as_of: Option<(u64, SystemTime)>,
}

impl<'p> JudgedFile<'p> {
    fn of(path: &'p Path) -> Self {
        let has_lock = is_recording(path) || path.extension().is_some_and(|extension| extension == "unfinished");
        Self { path, lock: has_lock.then(|| lock(path)).flatten(), as_of: length_and_time(path) }
    }

    /// Removes it, if it is what was judged.
    fn remove(self) -> Result<(), String> {
        let path = self.path.display();
        if self.as_of.is_none() || self.as_of != length_and_time(self.path) {
            return Err(format!("{path} has changed while it was looked at; run `metroon cassette clean` again"));
        }
        // The lock is held up to here.
        fs::remove_file(self.path).map_err(|error| format!("cannot remove {path}: {error}"))
    }
}

fn length_and_time(path: &Path) -> Option<(u64, SystemTime)> {
    let about = fs::symlink_metadata(path).ok()?;
    Some((about.len(), about.modified().ok()?))
}

impl CleanArguments {
    fn say_freed(&self, files: u64, bytes: u64) {
        render::say(&match (files, self.yes) {
            (0, _) => "nothing to remove".to_owned(),
            (files, true) => format!("removed {} of {bytes} bytes", counted(files, "file")),
            (files, false) => format!("--yes removes {} of {bytes} bytes", counted(files, "file")),
        });
    }

    fn verdict(&self, judged: &JudgedFile<'_>, options: ReadOptions) -> Verdict {
        let path = judged.path;
        let verdict = match unfinished(judged) {
            Some(why) => Verdict::Remove(why),
            None if is_recording(path) && judged.lock.is_none() => Verdict::Keep("it is being recorded".to_owned()),
            None if is_recording(path) => of_recording(path, options),
            None => self.of_cassette(path, options),
        };
        match verdict {
            Verdict::Remove(_) if !self.is_settled(path) => {
                Verdict::Keep("it has changed just now; somebody may be writing it".to_owned())
            }
            verdict => verdict,
        }
    }

    /// Whether nobody can be writing a file any more: it has not changed for a while.
    fn is_settled(&self, path: &Path) -> bool {
        let changed = fs::metadata(path).and_then(|about| about.modified());
        changed.is_ok_and(|changed| SystemTime::now().duration_since(changed).is_ok_and(|age| age >= self.settled))
    }

    fn of_cassette(&self, path: &Path, options: ReadOptions) -> Verdict {
        let (_, recording) = with_recording(path);
        // What somebody may add to, or what was never sealed, is looked at with its recording.
        let FileKind::Cassette(cassette, form) = kind(path, options) else { return Verdict::Ignore };
        if recording.exists() && (!cassette.is_sealed() || lock(&recording).is_none()) {
            return Verdict::Ignore;
        }
        if let Some(of) = stands_for(path).filter(|_| form == Form::Cassette) {
            return of_stand_in(path, &cassette, &of);
        }
        let bytes = fs::metadata(path).map_or(0, |about| about.len());
        if self.larger_than.is_some_and(|most| bytes > most) {
            return Verdict::Remove("it is larger than --larger-than says".to_owned());
        }
        if cassette.is_empty() {
            return match self.empty {
                true => Verdict::Remove("it has no exchange".to_owned()),
                false => Verdict::Keep("it has no exchange; --empty removes it".to_owned()),
            };
        }
        match self.older_than.map(|age| is_older(&cassette, age)) {
            Some(Some(true)) => Verdict::Remove("its last request is older than --older-than says".to_owned()),
            Some(None) => Verdict::Keep("it does not say when it was recorded".to_owned()),
            _ => Verdict::Ignore,
        }
    }
}

/// Why a file that was to get another name is of no use; `None` if it is not known to be one.
fn unfinished(judged: &JudgedFile<'_>) -> Option<String> {
    let path = judged.path;
    let name = path.file_name()?.to_str()?.strip_prefix('.')?;
    if let Some(name) = name.strip_suffix(".sealing") {
        let is_ours = !name.is_empty() && begins_as(path, b"METROON");
        return is_ours.then(|| format!("it was to become {name}, and was never complete"));
    }
    if let Some(name) = name.strip_suffix(".recording.unfinished") {
        // Its recorder has the lock until it has its name.
        let is_ours = !name.is_empty() && begins_as(path, b"METROON") && judged.lock.is_some();
        return is_ours.then(|| format!("the recording of {name} was to begin in it"));
    }
    let name = name.strip_suffix(".writing")?;
    let is_ours = written_beginnings(Path::new(name)).iter().any(|beginning| begins_as(path, beginning));
    is_ours.then(|| format!("it was to become {name}, and was never complete"))
}

/// How files of a name begin when they are written here; none if they are written in another way.
fn written_beginnings(name: &Path) -> &'static [&'static [u8]] {
    let form = Form::of_name(name);
    if form != Form::Cassette && is_gzip_name(name) {
        return &[b"\x1F\x8B"];
    }
    match form {
        Form::Json => &[b"{\n  \"format\": \"metroon-cassette\""],
        Form::MessagePack => &[b"\x94\xB0metroon-cassette"],
        Form::Text => &[b"metroon-cassette text "],
        Form::Har => &[b"{\n  \"log\": {\n    \"version\": "],
        Form::VcrJson => &[b"{\n  \"interactions\": ["],
        // The ending does not say which of the two it is.
        Form::Vcr | Form::VcrRuby => &[b"interactions:", b"http_interactions:"],
        _ => &[],
    }
}

/// Whether a file begins so, as far as it goes, or has nothing in it but zeros: what a loss of power leaves.
fn begins_as(path: &Path, beginning: &[u8]) -> bool {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(beginning.len() as u64).read_to_end(&mut bytes));
    read.is_ok() && (beginning.starts_with(&bytes) || is_blank(path))
}

fn is_blank(path: &Path) -> bool {
    let Ok(mut file) = File::open(path) else { return false };
    let mut some = [0; 4096];
    loop {
        match file.read(&mut some) {
            Ok(0) => return true,
            Ok(count) if some[..count].iter().all(|&byte| byte == 0) => {}
            _ => return false,
        }
    }
}

fn of_recording(path: &Path, options: ReadOptions) -> Verdict {
    let (cassette, _) = with_recording(path);
    let name = cassette.display();
    let is_sealed_too = cassette.is_file();
    let verdict = match Cassette::open_with(if is_sealed_too { &cassette } else { path }, options) {
        Ok(opened) if is_sealed_too && opened.is_sealed() => Verdict::Remove(format!("all of it is on {name}")),
        Ok(opened) if opened.summary().unsealed == 0 => Verdict::Remove("it holds no exchange".to_owned()),
        Ok(opened) => Verdict::Keep(format!(
            "it holds {} that nothing else has; `metroon cassette convert {name} {name}` seals it",
            counted(opened.summary().unsealed as u64, "exchange")
        )),
        Err(_) if is_blank(path) => Verdict::Remove("it holds no exchange".to_owned()),
        Err(error) => Verdict::Keep(format!("it cannot be compared with its cassette: {error}; {}", salvage(path))),
    };
    match verdict {
        Verdict::Remove(_) if !is_read_to_its_end(path) => Verdict::Keep(format!(
            "it has bytes that are not whole frames, and frames may follow them; {}",
            salvage(path)
        )),
        verdict => verdict,
    }
}

fn salvage(recording: &Path) -> String {
    format!(
        "`metroon journal salvage {} --to NEW.recording` saves what can be read of it",
        escaped(recording.display().to_string().as_bytes())
    )
}

/// Whether nothing but zeros follows the frames of a recording. Where a frame is torn, its reader ends, whatever comes after it.
fn is_read_to_its_end(recording: &Path) -> bool {
    if is_blank(recording) {
        return true;
    }
    let report = SingleFile::open(recording).ok().and_then(|disk| journal::verify(Arc::new(disk)).ok());
    report.is_some_and(|report| {
        report.is_sound() && !report.warnings.iter().any(|warning| matches!(warning, Warning::TornTail { .. }))
    })
}

/// The file of another form that a cassette stands for while it is recorded, if it is there.
fn stands_for(path: &Path) -> Option<PathBuf> {
    let of = path.with_extension("");
    let is_cassette = path.extension().is_some_and(|extension| extension == "cassette");
    (is_cassette && Form::of_name(&of) != Form::Cassette && of.is_file()).then_some(of)
}

fn of_stand_in(path: &Path, cassette: &Cassette, of: &Path) -> Verdict {
    if says_the_same(cassette, of) {
        return Verdict::Remove(format!("all of it is in {}", of.display()));
    }
    let (path, of, form) = (path.display(), of.display(), Form::of_name(of));
    Verdict::Keep(format!(
        "it is not what {of} says; `metroon cassette convert --force --to {form} {path} {of}` makes {of} of it"
    ))
}

/// Whether the last request began longer ago; `None` if that is not known, since an exchange cannot be read or does not say when it began.
fn is_older(cassette: &Cassette, age: Duration) -> Option<bool> {
    let mut last_ns = None;
    for at in 0..cassette.len() {
        let started_ns = cassette.outline(at).ok()?.exchange.started_ns;
        if started_ns == 0 {
            return None;
        }
        last_ns = last_ns.max(Some(started_ns));
    }
    let now_ns = jiff::Timestamp::now().as_nanosecond();
    Some(now_ns - i128::from(last_ns?) > i128::try_from(age.as_nanos()).unwrap_or(i128::MAX))
}
