//! `metroon kb` and `metroon why`: asking and looking at a knowledge base, loading files into one, and saving what is sound of a damaged one.
//!
//! Only `load`, `forget`, `live add`, `live remove` and `compact` write to the base, and `index` beside it. The others work while another process writes: they show the commits that exist
//! when they begin. `salvage`, `backup` and `fork` write to a new directory.

use crate::counts;
use crate::derivation::{self, Asked};
use crate::end::End;
use crate::kb_lines::{change_json, change_line, open, parent, place, warn};
use crate::output::{Ended, Out, ProgressLine, counted, fail};
use crate::render;
use crate::run::{base_failed, base_failed_with};
use clap::{Args, Subcommand};
use metroon::history::{Beginning, CommitView, LogEntry, Moment, Origins, ReadAtom, SourceWriter, Unsound};
use metroon::limits::Reason;
use metroon::storage::{
    CheckpointVerdict, CommitJournal, CompactProgress, Compacted, KnowledgeBaseReport, SalvagedKnowledgeBase,
};
use metroon::{Atom, History, KnowledgeBaseError, View, ViewError};
use serde_json::json;
use statistics::{Entries, Statistics};
use std::io;
use std::path::{Path, PathBuf};

/// How many digits of a state hash a line shows.
const HASH_DIGITS: usize = 12;

const ABOUT: &str = "\
DIR is a knowledge base, as `metroon run --kb DIR` makes it. None of these commands but `load`, `forget`, `live add`, `live remove`
and `compact` writes to it, nor beside it but `index`; all others work while another process writes.

Exit code: 0 fine; 1 nothing found, or the output cannot be written; 2 wrong usage, or no knowledge base there; 4 the
knowledge base is damaged.";

#[derive(Debug, Args)]
#[command(after_help = ABOUT)]
pub(crate) struct KbArguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Add the facts of files: MeTTa text, CSV, TSV, N-Triples, JSON lines
    Load(crate::load::LoadArguments),
    /// Print the atoms that match a pattern, or what a template makes of each match
    #[command(after_help = ABOUT_QUERY)]
    Query(QueryArguments),
    /// Print a line for each commit, or for those that changed an atom: number, state hash, date, the form that made it, how many atoms came and went
    #[command(after_help = ABOUT_LOG)]
    Log(LogArguments),
    /// Print the atoms as they were after a commit, as MeTTa source
    #[command(after_help = ABOUT)]
    At(AtArguments),
    /// Print what differs between two commits
    Diff(crate::kb_past::DiffArguments),
    /// Make a new knowledge base of the commits of another, or of the first of them
    Fork(crate::kb_past::ForkArguments),
    /// Print the files that it has run or loaded, and what each states
    Sources(crate::kb_sources::SourcesArguments),
    /// Take out what a file states
    Forget(crate::kb_sources::ForgetArguments),
    /// List, register and end live queries that have names
    Live(crate::kb_live::LiveArguments),
    /// Print counts, the size on disk and the state hash
    #[command(after_help = ABOUT)]
    Stats(StatsArguments),
    /// Print the atoms as they are now, as MeTTa source that `metroon run` reads back
    #[command(after_help = ABOUT)]
    Dump(DirectoryArguments),
    /// Read everything, make each commit happen again, and say whether it comes to its recorded state
    #[command(after_help = ABOUT)]
    Verify(DirectoryArguments),
    /// Write a checkpoint, so that the knowledge base opens at once
    #[command(after_help = ABOUT_COMPACT)]
    Compact(CompactArguments),
    /// Make an index of the history, by which `why` and `log` of one atom read no journal
    Index(crate::kb_past::IndexArguments),
    /// Make a copy, also while another process writes
    #[command(after_help = ABOUT_BACKUP)]
    Backup(BackupArguments),
    /// Make a new knowledge base of the sound commits of a damaged one
    #[command(after_help = ABOUT_SALVAGE)]
    Salvage(SalvageArguments),
}

#[derive(Debug, Args)]
struct DirectoryArguments {
    /// The knowledge base
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

const ABOUT_QUERY: &str = "\
Prints a line for each way in which PATTERN matches atoms of the program's space and of the modules that it imports: TEMPLATE with the
values of the pattern's variables, or PATTERN itself. `(, P1 P2 …)` asks for all of several patterns. The words of both mean what they
mean to the program of the knowledge base. Nothing is evaluated: `metroon run --read-only --kb DIR -e '! …'` does that.

Exit code: 0 fine; 1 nothing found, or the output cannot be written; 2 wrong usage, or no knowledge base there; 3 PATTERN or TEMPLATE
does not parse; 4 the knowledge base is damaged.";

#[derive(Debug, Args)]
struct QueryArguments {
    /// The knowledge base
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// What to look for, in quotes for the shell: '(parent $who Bob)'
    #[arg(value_name = "PATTERN", allow_hyphen_values = true)]
    pattern: String,

    /// What to print for each match, such as '$who'; PATTERN if it is left out
    #[arg(value_name = "TEMPLATE", allow_hyphen_values = true)]
    template: Option<String>,

    /// Look at the atoms as they were after this commit, or at this date
    #[arg(long, value_name = "WHEN")]
    as_of: Option<Moment>,

    /// Print at most this many lines
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

const ABOUT_LOG: &str = "\
With ATOM, the lines are those of the commits that added or took away copies of the atoms that match it, in the program's space and in those of
the modules that it imports; --changes prints what they did to these atoms. The words of ATOM mean what they mean to the program of the
knowledge base. If DIR has an index, which `metroon kb index` makes, an atom without variables is looked up there, and only the commits that the index does not know yet are
read. If copies of the atom are older than the first commit that is kept, that is an error after the lines, unless --from says where to begin.

Exit code: 0 fine; 1 nothing found, or the output cannot be written; 2 wrong usage, or no knowledge base there; 3 ATOM does not parse; 4 the
knowledge base is damaged.";

#[derive(Debug, Args)]
struct LogArguments {
    /// The knowledge base
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Print only the commits that added or took away this atom, in quotes for the shell; it may have variables: '(parent $who Bob)'
    #[arg(value_name = "ATOM", allow_negative_numbers = true)]
    atom: Option<String>,

    /// Print the changes of each commit below it
    #[arg(long)]
    changes: bool,

    /// Begin with this commit, or with the first that was made at this date or later, instead of the first that is kept
    #[arg(long, value_name = "WHEN")]
    from: Option<Beginning>,

    /// End with this commit, or with the last that was made by this date
    #[arg(long, value_name = "WHEN")]
    to: Option<Moment>,

    /// Print one JSON object a line: each commit, and with --changes each change after its commit
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct AtArguments {
    /// The knowledge base
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// The number of the commit, of which 0 is the beginning, or a date, such as 2026-11-20 or 2026-11-20T10:00:00Z
    #[arg(value_name = "WHEN")]
    moment: Moment,
}

#[derive(Debug, Args)]
struct StatsArguments {
    /// The knowledge base
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const ABOUT_SALVAGE: &str = "\
The commits of DIR are made to happen again up to the first that cannot be read, and kept in NEW as they are. What comes after it
is lost. DIR is not changed; it may lack its MANIFEST. Make NEW beside DIR, since a knowledge base knows its source files by
their way from its directory.

Exit code: 0 the new knowledge base is made; 1 a file cannot be read or written; 2 wrong usage, or no knowledge base there; 4 no
commit of DIR is sound.";

#[derive(Debug, Args)]
struct SalvageArguments {
    /// The damaged knowledge base, which is not touched
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Where to make the new knowledge base: a directory that is empty or does not exist yet
    #[arg(long, value_name = "NEW")]
    to: PathBuf,
}

const ABOUT_COMPACT: &str = "\
A checkpoint is what the knowledge base holds after its last commit, as it lies in memory. Whoever opens the knowledge base maps it, and
reads only the commits after it. One is written without this command when much was committed since the last; this one is for a base that
is about to be only read, or whose checkpoint is damaged. It also leaves out the space that removed atoms have taken there. No commit is
lost: the journal stays as it is, and `metroon kb verify` compares both.

With --keep-commits N, the commits before the last N are given up for good: `log`, `at`, `diff`, `fork` and `why` say then that they are
not known any more. What the knowledge base held after the last of them is kept in a file, which is compared with the commits, atom by
atom, before any of them is taken away. The journal is cut by its segments of 8 MiB: if no segment holds only older commits, none is given up.

Exit code: 0 fine; 1 the checkpoint cannot be written; 2 wrong usage, or no knowledge base there; 4 the knowledge base is damaged.";

#[derive(Debug, Args)]
struct CompactArguments {
    /// The knowledge base
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Give up the commits before the last N, for good
    #[arg(long, value_name = "N")]
    keep_commits: Option<u64>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const ABOUT_BACKUP: &str = "\
NEW gets all commits that are complete when the command begins, with the checkpoint, and is a knowledge base like DIR. Another process may
write to DIR meanwhile. Every frame that is copied is checked. Make NEW beside DIR, or move it there before it is used, since a knowledge
base knows its source files by their way from its directory.

Exit code: 0 the copy is made; 1 a file cannot be read or written; 2 wrong usage, or no knowledge base there; 4 DIR is damaged.";

#[derive(Debug, Args)]
struct BackupArguments {
    /// The knowledge base, which is not changed
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Where to make the copy: a directory that is empty or does not exist yet
    #[arg(long, value_name = "NEW")]
    to: PathBuf,
}

const ABOUT_WHY: &str = "\
Prints a line for each copy of each atom that matches and is in the program's space now: the atom, the commit that added
it, and the file, line and column of the form that did. The words of ATOM mean what they mean to the base's program.

With --tree, ATOM may also be a call, or '(= CALL RESULT)': it prints the rules and facts that lead to it, and where each comes from, the
shortest derivation first. With --not, it prints what comes nearest, and what is lacking. Both look at the knowledge base as it was after the
commit of --as-of, if one is named. Derivations are searched for when they are asked for; nothing is recorded for them.

Exit code: 0 fine; 1 nothing found, or the output cannot be written; 2 wrong usage, or no knowledge base there; 3 ATOM
does not parse; 4 the knowledge base is damaged.";

#[derive(Debug, Args)]
#[command(after_help = ABOUT_WHY)]
pub(crate) struct WhyArguments {
    /// The knowledge base
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// The atom, in quotes for the shell; it may have variables: '(parent $who Bob)'
    #[arg(value_name = "ATOM", allow_hyphen_values = true)]
    atom: String,

    /// Print the rules and facts that lead to it
    #[arg(long, conflicts_with = "not")]
    tree: bool,

    /// Print what it lacks
    #[arg(long)]
    not: bool,

    /// Look at the knowledge base as it was after this commit, or at this date
    #[arg(long, value_name = "WHEN")]
    as_of: Option<Moment>,

    /// Print at most K derivations, the shortest first
    #[arg(long, value_name = "K", default_value_t = 1, requires = "tree", value_parser = derivation_count)]
    derivations: usize,

    /// Give up the search for derivations after N states
    #[arg(long, value_name = "N", default_value_t = metroon::limits::STATES_MAX_DEFAULT)]
    states: usize,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

/// Does what the command line asks for.
pub(crate) fn run(arguments: &KbArguments) -> End {
    let done = match &arguments.verb {
        Verb::Load(arguments) => crate::load::load(arguments),
        Verb::Query(arguments) => query(arguments),
        Verb::Log(arguments) => log(arguments),
        Verb::At(arguments) => at(&arguments.directory, Some(arguments.moment)),
        Verb::Diff(arguments) => crate::kb_past::diff(arguments),
        Verb::Fork(arguments) => crate::kb_past::fork(arguments),
        Verb::Sources(arguments) => crate::kb_sources::sources(arguments),
        Verb::Forget(arguments) => crate::kb_sources::forget(arguments),
        Verb::Live(arguments) => crate::kb_live::live(arguments),
        Verb::Stats(arguments) => stats(arguments),
        Verb::Dump(arguments) => at(&arguments.directory, None),
        Verb::Verify(arguments) => verify(&arguments.directory),
        Verb::Compact(arguments) => compact(arguments),
        Verb::Index(arguments) => crate::kb_past::index(arguments),
        Verb::Backup(arguments) => backup(arguments),
        Verb::Salvage(arguments) => salvage(arguments),
    };
    done.unwrap_or_else(|end| end)
}

/// Prints what a pattern matches.
fn query(arguments: &QueryArguments) -> Ended {
    let QueryArguments { directory, pattern, template, as_of, limit, json } = arguments;
    let opened = match as_of {
        None => View::open(directory),
        Some(moment) => moment.epoch_in(directory).and_then(|epoch| View::open_at(directory, epoch)),
    };
    let view = opened.map_err(|error| base_failed(directory, &error))?;
    let asked = read(&view, "PATTERN", pattern)?;
    let template = template.as_ref().map(|template| read(&view, "TEMPLATE", template)).transpose()?;
    let found = view.query_atoms(&asked, template.as_ref().unwrap_or(&asked));
    warn(&view.warnings());
    let found =
        found.map_err(|error| fail(&error.to_string(), "restore the knowledge base from a copy", End::Damaged))?;
    if found.is_empty() {
        let message = format!("no atom of {} matches {pattern} after commit {}", directory.display(), view.epoch());
        let help =
            "`metroon kb dump DIR` prints the atoms that are there; a rule is asked for by `metroon run --read-only`";
        return Err(fail(&message, help, End::Error));
    }
    let mut out = Out::new();
    for atom in found.iter().take(limit.unwrap_or(usize::MAX)) {
        let text = view.text(atom);
        out.line(&if *json { json!({ "result": text }).to_string() } else { text })?;
    }
    out.end()
}

/// An argument as an atom.
fn read(view: &View, name: &str, text: &str) -> Result<Atom, End> {
    view.read(text).map_err(|problem| match problem {
        ViewError::NotParsed { diagnostic, .. } => {
            render::diagnostics(name, text, [&*diagnostic]);
            End::NotParsed
        }
        _ => fail(&format!("{name} must be one atom"), "write it in quotes: '(parent $who Bob)'", End::Usage),
    })
}

fn log(arguments: &LogArguments) -> Ended {
    let (asked, last) = log_ends(arguments)?;
    if asked.is_some_and(|from| last < from) {
        return Err(fail("--to names a commit before --from", "the first commit has number 1", End::Usage));
    }
    let directory = &arguments.directory;
    let mut view = open(directory)?;
    let from = asked.unwrap_or(view.first());
    if asked.is_some() && from > view.epoch() && view.epoch() > 0 && from > 1 {
        let message = format!("there is no commit {from}: the last is {}", view.epoch());
        return Err(fail(&message, "choose a smaller number for --from", End::Usage));
    }
    let atom = arguments.atom.as_ref().map(|text| asked_atom(view.read(text), text)).transpose()?;
    let mut out = Out::new();
    let mut written = Ok(());
    let mut commit = 0;
    let mut print = |entry: LogEntry<'_>| {
        let line = match entry {
            LogEntry::Commit(found) => {
                commit = found.epoch;
                if arguments.json { commit_json(found) } else { commit_line(found) }
            }
            LogEntry::Change(change) if arguments.json => change_json(commit, change),
            LogEntry::Change(change) => change_line(change),
        };
        written = out.line(&line);
        written.is_ok()
    };
    let known = view.warnings().len();
    let walked = match &atom {
        None => view.log(from..=last, arguments.changes, &mut print).map(|()| 0),
        Some(atom) => view.log_of(atom, from..=last, arguments.changes, &mut print),
    };
    warn(&view.warnings()[known..]);
    written?;
    let ended = out.end()?;
    let given_up = walked.map_err(|error| base_failed(&arguments.directory, &error))?;
    match &arguments.atom {
        Some(_) if given_up > 0 && asked.is_none() => {
            let first = view.first();
            let error = KnowledgeBaseError::LogGivenUp { copies: given_up, first };
            Err(fail(
                &error.to_string(),
                &format!("`--from {first}` asks only for the commits that are kept"),
                End::Error,
            ))
        }
        Some(text) if commit == 0 => {
            let is_part = asked.is_some() || arguments.to.is_some();
            let (among, help) = match is_part {
                true => ("none of these commits", "leave out --from and --to to look at all of them"),
                false => ("no commit", "`metroon kb log DIR --changes` prints the atoms that came and went"),
            };
            let message = format!("{among} of {} added or took away an atom that matches {text}", directory.display());
            Err(fail(&message, help, End::Error))
        }
        _ => Ok(ended),
    }
}

/// The argument ATOM as an atom.
fn asked_atom(atom: ReadAtom, text: &str) -> Result<Atom, End> {
    atom.map_err(|problem| match problem {
        Some(diagnostic) => {
            render::diagnostics("ATOM", text, [&*diagnostic]);
            End::NotParsed
        }
        None => fail("ATOM must be one atom", "write it in quotes: '(parent $who Bob)'", End::Usage),
    })
}

/// The first commit of a log, if one is asked for, and the last.
fn log_ends(arguments: &LogArguments) -> Result<(Option<u64>, u64), End> {
    let LogArguments { directory, from, to, .. } = arguments;
    let failed = |error: KnowledgeBaseError| base_failed(directory, &error);
    let from = from.map(|from| from.epoch_in(directory)).transpose().map_err(failed)?;
    let to = to.map(|to| to.epoch_in(directory)).transpose().map_err(failed)?;
    Ok((from, to.unwrap_or(u64::MAX)))
}

/// The lines of a log from a commit on, for a prompt.
pub(crate) fn log_lines(directory: &Path, from: u64) -> Result<Vec<String>, End> {
    let mut view = open(directory)?;
    let mut lines = Vec::new();
    let walked = view.log(from..=u64::MAX, false, &mut |entry| {
        if let LogEntry::Commit(found) = entry {
            lines.push(commit_line(found));
        }
        true
    });
    walked.map_err(|error| base_failed(directory, &error))?;
    Ok(lines)
}

fn commit_line(commit: &CommitView) -> String {
    let hash = &format!("{:032x}", commit.hash)[..HASH_DIGITS];
    let place = place(&commit.origin, commit.line);
    let others = if commit.others == 0 { String::new() } else { format!(" ~{}", commit.others) };
    let date = commit.date().map(|date| format!("  {date}")).unwrap_or_default();
    format!("{:>6}  {hash}{date}  {place}  +{} -{}{others}", commit.epoch, commit.added, commit.removed)
}

fn commit_json(commit: &CommitView) -> String {
    json!({
        "commit": commit.epoch,
        "state": format!("{:032x}", commit.hash),
        "time": commit.date(),
        "origin": commit.origin,
        "line": commit.line,
        "added": commit.added,
        "removed": commit.removed,
        "others": commit.others,
    })
    .to_string()
}

/// The history of a base up to a moment, or to its last commit.
fn opened_at(directory: &Path, moment: Option<Moment>) -> Result<History, End> {
    let opened = match moment {
        None => History::open(directory),
        Some(moment) => moment.epoch_in(directory).and_then(|epoch| History::open_at(directory, epoch)),
    };
    opened.map_err(|error| base_failed(directory, &error))
}

/// Writes the atoms after a commit, or after the last, as source.
fn at(directory: &Path, moment: Option<Moment>) -> Ended {
    let view = opened_at(directory, moment)?;
    let commit = view.epoch();
    let atoms = view.atoms().map_err(|error| base_failed(directory, &error));
    warn(&view.warnings());
    let atoms = atoms?;
    let mut out = Out::new();
    let name: String = directory.display().to_string().replace(char::is_control, "?");
    out.line(&format!("; {name} after commit {commit}: {}", counted(atoms.len() as u64, "atom")))?;
    if view.report().others > 0 {
        out.line("; Words, imports, states, settings and other spaces that the base keeps are not written here.")?;
    }
    let unwritten = write_atoms(&atoms, &mut out)?;
    let ended = out.end()?;
    if unwritten > 0 {
        let are = if unwritten == 1 { "is" } else { "are" };
        let atoms = counted(unwritten, "atom");
        render::say(&format!("warning: {atoms} that no source can state {are} in comments: look for `; not written`"));
    }
    Ok(ended)
}

fn write_atoms(atoms: &[Atom], out: &mut Out) -> Result<u64, End> {
    let writer = SourceWriter::default();
    let mut unwritten = 0;
    for atom in atoms {
        match writer.write(atom) {
            Ok(line) => out.line(&line)?,
            Err(found) => {
                unwritten += 1;
                out.line(&format!("; not written, it holds {}: {}", found.reason, found.shown))?;
            }
        }
    }
    Ok(unwritten)
}

/// What a knowledge base has, and its folder.
struct BaseInFolder<'a> {
    report: &'a KnowledgeBaseReport,
    bytes: u64,
}

impl Statistics for BaseInFolder<'_> {
    fn what(&self) -> &'static str {
        self.report.what()
    }

    fn entries(&self, to: &mut Entries) {
        self.report.entries(to);
        to.bytes("bytes", "All files of its folder.", self.bytes);
    }
}

fn stats(arguments: &StatsArguments) -> Ended {
    let view = open(&arguments.directory)?;
    let bytes = bytes_below(&arguments.directory).map_err(|error| {
        let message = format!("cannot read {}: {error}", arguments.directory.display());
        fail(&message, "check that you may read every file in it", End::Error)
    })?;
    let mut out = Out::new();
    counts::print(&mut out, &BaseInFolder { report: view.report(), bytes }, arguments.json)?;
    out.end()
}

/// How many bytes the files in a folder and below it have.
fn bytes_below(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        bytes += if about.is_dir() { bytes_below(&entry.path())? } else { about.len() };
    }
    Ok(bytes)
}

fn verify(directory: &Path) -> Ended {
    let (report, verdict) = History::verify(directory).map_err(|unsound| tell_unsound(directory, &unsound))?;
    // What the commits do not touch, such as the tail of a journal, is looked at as bytes.
    crate::journal::check(directory)?;
    let mut out = Out::new();
    let (commits, atoms) = (counted(report.commits, "commit"), counted(report.atoms, "atom"));
    out.line(&format!("{}: sound: {commits}, {atoms}, state {:032x}", directory.display(), report.hash))?;
    if report.first > 1 {
        out.line(&format!(
            "the commits before {} were given up, and what is kept begins with what they came to",
            report.first
        ))?;
    }
    match verdict {
        CheckpointVerdict::Sound { epoch } => {
            out.line(&format!("the checkpoint after commit {epoch} is what the journal comes to"))?;
            out.end()
        }
        CheckpointVerdict::Unsound { name, reason } => {
            out.end()?;
            let help = format!(
                "every commit is kept, and nothing but time is lost; `metroon kb compact {}` writes another checkpoint",
                directory.display()
            );
            Err(fail(&format!("the checkpoint {name} is not what the journal comes to: {reason}"), &help, End::Damaged))
        }
        _ => out.end(),
    }
}

/// Writes a checkpoint.
fn compact(arguments: &CompactArguments) -> Ended {
    let directory = &arguments.directory;
    // A directory without a knowledge base does not get one.
    drop(CommitJournal::read(directory).map_err(|error| base_failed(directory, &error))?);
    let mut engine = crate::load::open(directory)?;
    let mut shown = ProgressLine::default();
    let compacted = engine.compact(arguments.keep_commits, &mut |progress| shown.show(|| progress_text(progress)));
    shown.end();
    let compacted = compacted.map_err(|error| base_failed(directory, &error));
    let closed = engine.finish().map_err(|error| crate::run::recall_failed(&error));
    let compacted = compacted?;
    closed?;
    let mut out = Out::new();
    let Compacted { checkpoint, given_up, .. } = compacted;
    if arguments.json {
        let mut object = json!({ "commit": checkpoint.epoch, "bytes": checkpoint.bytes });
        if let Some(given_up) = given_up {
            object["first"] = json!(given_up.first);
            object["given_up"] = json!({ "commits": given_up.commits, "bytes": given_up.bytes });
        }
        out.line(&object.to_string())?;
        return out.end();
    }
    let name = directory.display();
    out.line(&format!("{name}: checkpoint after commit {}", checkpoint.epoch))?;
    if let Some(given_up) = given_up {
        out.line(&match given_up.commits {
            0 => format!(
                "no commit was given up: no segment of the journal holds only commits before {}",
                given_up.first.max((checkpoint.epoch + 1).saturating_sub(arguments.keep_commits.unwrap_or(0)))
            ),
            commits => format!(
                "given up: {}, {} bytes; commit {} is the first that is kept",
                counted(commits, "commit"),
                given_up.bytes,
                given_up.first
            ),
        })?;
    }
    out.end()
}

fn progress_text(progress: CompactProgress) -> String {
    match progress {
        CompactProgress::Written { bytes } => format!("writing a checkpoint: {} MB", bytes / 1_000_000),
        CompactProgress::Compared { epoch, last } => format!("comparing: commit {epoch} of {last}"),
        _ => String::new(),
    }
}

/// Makes a copy.
fn backup(arguments: &BackupArguments) -> Ended {
    let BackupArguments { directory, to } = arguments;
    let copied = CommitJournal::backup(directory, to).map_err(|error| match error {
        KnowledgeBaseError::Occupied { .. } => base_failed(to, &error),
        error => base_failed(directory, &error),
    })?;
    let mut out = Out::new();
    let checkpoint = copied.checkpoint.map_or_else(
        || "without a checkpoint".to_owned(),
        |checkpoint| format!("with the checkpoint after commit {}", checkpoint.epoch),
    );
    out.line(&format!("{}: {}, {checkpoint}", to.display(), counted(copied.epoch, "commit")))?;
    out.end()
}

/// Tells what is sound of a base, what is not, and what to type.
fn tell_unsound(directory: &Path, unsound: &Unsound) -> End {
    let Unsound { sound_up_to, error, .. } = unsound;
    let is_of_later_version = matches!(error, KnowledgeBaseError::Format { .. } | KnowledgeBaseError::Semantics { .. });
    if !error.is_damage() || is_of_later_version {
        return base_failed(directory, error);
    }
    let name = directory.display();
    let sound = match sound_up_to {
        0 if matches!(error, KnowledgeBaseError::NoBeginning { .. }) => {
            "no commit can be made to happen again".to_owned()
        }
        0 => "no commit can be read".to_owned(),
        last if matches!(error, KnowledgeBaseError::NoManifest { .. }) => format!("all commits up to {last} are sound"),
        last => format!("commits up to {last} are sound, commit {} is not", last + 1),
    };
    render::say(&format!("{name}: damaged: {sound}"));
    let help = match sound_up_to {
        0 if matches!(error, KnowledgeBaseError::NoJournal { .. } | KnowledgeBaseError::NoBeginning { .. }) => {
            return base_failed(directory, error);
        }
        0 => format!(
            "restore it from a copy; `metroon journal salvage {name} --to NEW` carries frames that can be read into a new journal"
        ),
        last => format!("`metroon kb salvage {name} --to NEW` makes a knowledge base of the commits up to {last}"),
    };
    base_failed_with(directory, error, Some(&help))
}

/// Makes a base of what is sound in a damaged one.
fn salvage(arguments: &SalvageArguments) -> Ended {
    let SalvageArguments { directory, to } = arguments;
    let salvaged = CommitJournal::salvage(directory, to).map_err(|error| match error {
        KnowledgeBaseError::Occupied { .. } => base_failed(to, &error),
        error => tell_unsound(directory, &Unsound { sound_up_to: 0, error }),
    })?;
    let SalvagedKnowledgeBase { report, lost, .. } = salvaged;
    let mut out = Out::new();
    let (commits, atoms) = (counted(report.commits, "commit"), counted(report.atoms, "atom"));
    out.line(&format!("{}: {commits}, {atoms}, state {:032x}", to.display(), report.hash))?;
    if let Some(error) = lost {
        out.line(&format!("lost what came after commit {}: {error}", report.commits))?;
    }
    out.end()?;
    if parent(directory) != parent(to) {
        render::say(&format!(
            "note: a knowledge base knows its source files by their paths from its directory: move {} to where {} was before \
             you run them again",
            to.display(),
            directory.display()
        ));
    }
    Ok(End::Fine)
}

/// Says where atoms come from.
pub(crate) fn why(arguments: &WhyArguments) -> End {
    why_lines(arguments).unwrap_or_else(|end| end)
}

fn why_lines(arguments: &WhyArguments) -> Ended {
    let directory = &arguments.directory;
    let failed = |error: KnowledgeBaseError| base_failed(directory, &error);
    if arguments.tree || arguments.not {
        let view = opened_at(directory, arguments.as_of)?;
        let pattern = asked_atom(view.read(&arguments.atom), &arguments.atom)?;
        let explain = if arguments.tree { derivation::tree } else { derivation::lacking };
        return explain(&asked(arguments), &view, &pattern);
    }
    let epoch = arguments.as_of.map(|moment| moment.epoch_in(directory)).transpose().map_err(failed)?;
    let (mut view, pattern) = History::open_to_ask(directory, epoch, &arguments.atom).map_err(failed)?;
    let pattern = asked_atom(pattern, &arguments.atom)?;
    let found = view.why_at(&pattern, epoch.unwrap_or(view.epoch()));
    warn(&view.warnings());
    let Origins { reasons, given_up, .. } = found.map_err(failed)?;
    if reasons.is_empty() && given_up == 0 {
        let message = format!("no atom of {} matches {}", arguments.directory.display(), arguments.atom);
        let help = "`metroon kb dump DIR` prints the atoms that are there, `metroon kb log DIR --changes` those that were there before";
        return Err(fail(&message, help, End::Error));
    }
    let mut out = Out::new();
    for reason in &reasons {
        out.line(&if arguments.json { reason_json(&view, reason) } else { reason_line(&view, reason) })?;
    }
    let ended = out.end()?;
    if given_up > 0 {
        let error = KnowledgeBaseError::OriginGivenUp { copies: given_up, first: view.first() };
        render::error(&error.to_string(), error.help());
        return Err(End::Error);
    }
    Ok(ended)
}

/// How many derivations are asked for: one at least.
fn derivation_count(text: &str) -> Result<usize, String> {
    let count: usize = text.parse().map_err(|_| "it is not a number".to_owned())?;
    if count == 0 { Err("one derivation is the least to ask for".to_owned()) } else { Ok(count) }
}

/// What is asked of derivations.
fn asked(arguments: &WhyArguments) -> Asked<'_> {
    let WhyArguments { directory, atom, derivations, states, json, .. } = arguments;
    Asked { directory, atom, derivations: *derivations, states: *states, json: *json }
}

fn reason_line(view: &History, reason: &Reason) -> String {
    let Reason { atom, epoch, origin, line, column } = reason;
    let atom = view.text(atom);
    format!("{atom}  commit {epoch}  {origin}:{line}:{column}")
}

fn reason_json(view: &History, reason: &Reason) -> String {
    json!({
        "atom": view.text(&reason.atom),
        "commit": reason.epoch,
        "origin": reason.origin,
        "line": reason.line,
        "column": reason.column,
    })
    .to_string()
}
