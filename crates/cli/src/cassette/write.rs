//! `metroon cassette convert`, `merge` and `redact`: a cassette from one or more others.

use super::found::SecretsFound;
use super::written::{WrittenReport, tell_untimed};
use super::{damaged, is_recording, open, unreadable, with_recording};
use crate::end::End;
use crate::output::{Ended, Out, ProgressLine, counted, fail};
use crate::render;
use cassette::matching::{JsonPath, MatchRules};
use cassette::redact::{Finding, Redaction, RedactionRules};
use cassette::{
    Cassette, Content, DocumentProgress, Exchange, Form, FormError, KeyScheme, Outline, ReadOptions, RecordError,
    Recorder, RecorderOptions, SealError, SealOptions, SealedDocument, Selection, seal_document,
};
use clap::Args;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) const ABOUT_CONVERT: &str = "\
The form is that of the name: .cassette, .json, .msgpack or .mp, .txt, .har, .yaml or .yml; --to says it otherwise. A name that ends in .gz
after that, such as trip.json.gz, makes a file in gzip; one in gzip is read whatever its name is. What a form has no place for is said and
counted, and is not in it. Without NEW the form of --to is printed, as git wants it to show differences.

Of a JSON file of any length, in gzip or not, one exchange is in memory at a time when it becomes a cassette. Other forms are in memory
whole.

A recording that a crash ended is sealed by converting it to the name of its cassette: `metroon cassette convert trip.cassette trip.cassette`
makes trip.cassette of trip.cassette.recording, which goes then.

A cassette with a secret of a known form is not written. `metroon cassette redact` takes secrets out; --keep-secrets writes them.

Exit code: 0 fine; 1 a secret is in it, or a file cannot be read or written; 2 wrong usage, no cassette there, or something there
already; 3 a file of another form that is not a cassette; 4 the cassette is damaged.";

pub(super) const ABOUT_MERGE: &str = "\
The exchanges of one cassette keep their order; between cassettes, the request that began first comes first. They are numbered anew. An
exchange that is equal to one that is there already, in everything but its number, is left out. Of what is known of the
cassettes, the last value of a name counts.

Exit code: 0 fine; 1 a secret is in it, or a file cannot be read or written; 2 wrong usage, no cassette there, or something there
already; 3 a file of another form that is not a cassette; 4 a cassette is damaged.";

pub(super) const ABOUT_REDACT: &str = "\
Secrets are what a recorder takes for secrets: values of names such as Authorization, Cookie or api_key, and what looks like a
key of a well-known service; and what the options name. Each is replaced by REDACTED, and a line says which was found where.
CASSETTE still holds them: remove it when the new one is as it should be.

Exit code: 0 fine; 1 a secret is left in it, or a file cannot be read or written; 2 wrong usage, no cassette there, or something
there already; 3 a file of another form that is not a cassette; 4 the cassette is damaged.";

#[derive(Debug, Args)]
pub(crate) struct ConvertArguments {
    /// The cassette, in any form
    #[arg(value_name = "CASSETTE")]
    from: PathBuf,

    /// The file to be written
    #[arg(value_name = "NEW", required_unless_present = "form")]
    to: Option<PathBuf>,

    #[command(flatten)]
    how: WriteArguments,
}

#[derive(Debug, Args)]
pub(crate) struct MergeArguments {
    /// The cassettes, in any forms
    #[arg(value_name = "CASSETTE", required = true)]
    from: Vec<PathBuf>,

    /// The file to be written
    #[arg(short = 'o', long = "output", value_name = "NEW")]
    to: PathBuf,

    #[command(flatten)]
    how: WriteArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RedactArguments {
    /// The cassette, in any form; it is not touched
    #[arg(value_name = "CASSETTE")]
    from: PathBuf,

    /// The file to be written
    #[arg(short = 'o', long = "output", value_name = "NEW")]
    to: PathBuf,

    /// The value of this header, parameter, field or member of JSON is a secret; may be given several times
    #[arg(long = "name", value_name = "NAME")]
    names: Vec<String>,

    /// What this expression matches is a secret, or its first group if it has one; may be given several times
    #[arg(long = "pattern", value_name = "REGEX", allow_hyphen_values = true)]
    patterns: Vec<String>,

    /// What is at this place in JSON is a secret, such as `user.email` or `**.id`; may be given several times
    #[arg(long = "json-path", value_name = "PATH", value_parser = json_path)]
    paths: Vec<JsonPath>,

    /// The value of this environment variable is a secret, wherever it stands; may be given several times
    #[arg(long = "secret-from", value_name = "VARIABLE")]
    variables: Vec<String>,

    /// Leave out the usual rules: only what the options name is a secret
    #[arg(long)]
    only: bool,

    #[command(flatten)]
    how: WriteArguments,
}

/// How a cassette is written.
#[derive(Debug, Args)]
struct WriteArguments {
    /// The form of the new file: cassette, json, msgpack, text and others; a wrong name lists all
    #[arg(long = "to", value_name = "FORM")]
    form: Option<Form>,

    /// Put it in the place of what is there
    #[arg(long)]
    force: bool,

    /// Write secrets of known forms as well
    #[arg(long)]
    keep_secrets: bool,

    /// Print what was written as one JSON object
    #[arg(long)]
    json: bool,
}

fn json_path(text: &str) -> Result<JsonPath, String> {
    JsonPath::new(text).map_err(|error| error.to_string())
}

pub(super) fn convert(arguments: &ConvertArguments, options: ReadOptions) -> Ended {
    let ConvertArguments { from, to, how } = arguments;
    let Some(to) = to else { return print(from, how, options) };
    let (cassette, recording) = with_recording(from);
    let is_cassette = how.form.unwrap_or_else(|| Form::of_name(to)) == Form::Cassette;
    if is_cassette && recording.is_file() && is_same(&cassette, to) {
        return seal(to, how, options);
    }
    how.check(to)?;
    if is_cassette && let Some(end) = long_document(from, to, how, options)? {
        return Ok(end);
    }
    let (cassette, form) = open(from, options)?;
    let end = how.write(&all(&cassette, from)?, to, from)?;
    tell_untimed(&cassette, form, from)?;
    how.name_secrets(&cassette, form, from).map(|()| end)
}

/// Makes a cassette of a document that is too long to be in memory, if it is one.
fn long_document(from: &Path, to: &Path, how: &WriteArguments, options: ReadOptions) -> Result<Option<End>, End> {
    // What is not there, or a cassette itself, is told of when it is opened.
    if !from.is_file() || Cassette::open_with(from, options).is_ok() {
        return Ok(None);
    }
    let mut shown = ProgressLine::default();
    let sealed =
        seal_document(from, to, how.options(), options, &mut |progress| shown.show(|| progress_text(from, progress)));
    shown.end();
    let counts = match sealed {
        Ok(SealedDocument::Sealed(counts)) => counts,
        Ok(_) => return Ok(None),
        Err(FormError::Seal(error)) => return Err(not_written(from, to, &error)),
        Err(error) => return Err(unreadable(from, &error)),
    };
    let end = how.report(to, Form::Cassette, &WrittenReport { counts, ..WrittenReport::default() })?;
    let cassette = Cassette::open_with(to, options).map_err(|error| damaged(to, &error))?;
    tell_untimed(&cassette, Form::Json, from)?;
    how.name_secrets(&cassette, Form::Json, from).map(|()| Some(end))
}

fn progress_text(from: &Path, progress: DocumentProgress) -> String {
    let percent = progress.bytes.saturating_mul(100) / progress.bytes_in_all.max(1);
    let megabytes = progress.bytes_in_all >> 20;
    format!("{}: {percent} % of {megabytes} MiB, {}", from.display(), counted(progress.exchanges, "exchange"))
}

fn is_same(one: &Path, other: &Path) -> bool {
    std::path::absolute(one).ok().zip(std::path::absolute(other).ok()).is_some_and(|(one, other)| one == other)
}

fn all<'t>(cassette: &'t Cassette, path: &Path) -> Result<Selection<'t>, End> {
    Selection::of(cassette).map_err(|error| damaged(path, &error))
}

fn in_memory(selection: &Selection<'_>, path: &Path) -> Result<Content, End> {
    selection.content().map_err(|error| damaged(path, &error))
}

/// Writes a form to the standard output.
fn print(from: &Path, how: &WriteArguments, options: ReadOptions) -> Ended {
    if how.json {
        let what = "--json says what was written to a file, and nothing is written to one";
        return Err(fail(what, "name the file that is to be written, or `--to json` for the form", End::Usage));
    }
    let (cassette, _) = open(from, options)?;
    let content = in_memory(&all(&cassette, from)?, from)?;
    let form = how.form.unwrap_or(Form::Text);
    let encoded = content.encode(form).map_err(|error| match error {
        FormError::NotInMemory => fail("a cassette is not printed", "name the file that is to be written", End::Usage),
        error => fail(&error.to_string(), "", End::Error),
    })?;
    warn_lost(&encoded.lost, form);
    let mut out = Out::new();
    out.bytes(&encoded.bytes)?;
    out.end()
}

/// Seals a recording that nobody goes on with.
fn seal(to: &Path, how: &WriteArguments, options: ReadOptions) -> Ended {
    // This says what is damaged, and what a crash left behind.
    super::verify::recording(to)?;
    let recording = RecorderOptions::default();
    let recording = if how.keep_secrets { recording.keep_secrets() } else { recording };
    let recorder = Recorder::open(to, recording).map_err(|error| not_sealed(to, &error))?;
    recorder.finish().map_err(|error| not_sealed(to, &error))?;
    let cassette = Cassette::open_with(to, options).map_err(|error| damaged(to, &error))?;
    let all = all(&cassette, to)?;
    how.report_cassette(&all, to, to)
}

fn not_sealed(to: &Path, error: &RecordError) -> End {
    match error {
        RecordError::Seal(error) => not_written(to, to, error),
        RecordError::Unreadable(error) => damaged(to, error),
        RecordError::Journal(_) => {
            fail(&error.to_string(), "end the program that records to it, and seal it then", End::Error)
        }
        error => fail(&error.to_string(), "", End::Error),
    }
}

pub(super) fn merge(arguments: &MergeArguments, options: ReadOptions) -> Ended {
    let MergeArguments { from, to, how } = arguments;
    how.check(to)?;
    let opened: Vec<_> = from.iter().map(|from| open(from, options)).collect::<Result<_, End>>()?;
    let merged =
        Selection::merged(opened.iter().map(|(cassette, _)| cassette)).map_err(|error| damaged(&from[0], &error));
    let (merged, duplicates) = merged?;
    if duplicates > 0 {
        let exchanges = counted(duplicates as u64, "exchange");
        render::say(&format!("note: {exchanges} left out: equal to one that is there"));
    }
    let end = how.write(&merged, to, &from[0])?;
    let mut sources = opened.iter().zip(from);
    sources.try_for_each(|((cassette, form), from)| how.name_secrets(cassette, *form, from)).map(|()| end)
}

pub(super) fn redact(arguments: &RedactArguments, options: ReadOptions) -> Ended {
    let RedactArguments { from, to, how, .. } = arguments;
    how.check(to)?;
    let redaction = Arc::new(redaction(arguments)?);
    let (cassette, _) = open(from, options)?;
    let selection = all(&cassette, from)?;
    let mut found = SecretsFound::default();
    if how.form_of(to) != Form::Cassette {
        let mut content = in_memory(&selection, from)?;
        redact_in_memory(&mut content, &redaction, &mut found);
        found.print(how.json)?;
        return how.write_content(&content, to, from);
    }
    let told = |number: Option<u64>, redacted| found.told(number, redacted);
    let written = selection.write_redacted(to, how.options(), &redaction, told);
    found.print(how.json)?;
    written.map_err(|error| not_written(from, to, &error))?;
    how.report_cassette(&selection, to, from)
}

fn redact_in_memory(content: &mut Content, redaction: &Redaction, found: &mut SecretsFound) {
    for exchange in &mut content.exchanges {
        let redacted = redaction.exchange(exchange);
        found.told(Some(exchange.number), redacted);
    }
    for note in &mut content.meta {
        let mut exchange = Exchange { notes: vec![std::mem::take(note)], ..Exchange::default() };
        found.told(None, redaction.exchange(&mut exchange));
        *note = exchange.notes.into_iter().next().unwrap_or_default();
    }
}

fn redaction(arguments: &RedactArguments) -> Result<Redaction, End> {
    let secret = |name: &String| {
        std::env::var(name).map(String::into_bytes).map_err(|_| {
            fail(&format!("there is no text in the environment variable {name}"), "set it to the secret", End::Usage)
        })
    };
    let rules = RedactionRules {
        without_usual: arguments.only,
        names: arguments.names.clone(),
        patterns: arguments.patterns.clone(),
        paths: arguments.paths.clone(),
        secrets: arguments.variables.iter().map(secret).collect::<Result<_, _>>()?,
    };
    rules.compile().map_err(|error| fail(&error.to_string(), "", End::Usage))
}

impl WriteArguments {
    fn form_of(&self, to: &Path) -> Form {
        self.form.unwrap_or_else(|| Form::of_name(to))
    }

    /// That something may be written there.
    fn check(&self, to: &Path) -> Result<(), End> {
        let name = to.display();
        if to.is_dir() {
            return Err(fail(&format!("{name} is a directory"), "name a file", End::Usage));
        }
        if let Some(folder) = to.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
            return Err(fail(
                &format!("cannot open the folder of {name}: {} is not there", folder.display()),
                "make it, or name another",
                End::Error,
            ));
        }
        // Renaming the new file would take a device away.
        if to.exists() && !to.is_file() {
            return Err(fail(
                &format!("{name} is not an ordinary file"),
                "name a file; `convert` without one prints",
                End::Usage,
            ));
        }
        if self.form_of(to) == Form::Cassette && is_gzip_name(to) {
            return Err(gzipped_cassette(to));
        }
        let (_, recording) = with_recording(to);
        if self.form_of(to) == Form::Cassette && recording.exists() {
            let message = format!("there is a recording of {name} already: {}", recording.display());
            let help = format!("choose another name, or seal it with `metroon cassette convert {name} {name}`");
            return Err(fail(&message, &help, End::Usage));
        }
        if is_recording(to) {
            let message = format!("{name} is the name of a recording, which only a recorder makes");
            return Err(fail(&message, "choose another name", End::Usage));
        }
        if to.symlink_metadata().is_ok() && !self.force {
            return Err(exists(to));
        }
        Ok(())
    }

    /// Names what a recorder would have taken out of what comes from another form: credentials, keys, cookies.
    fn name_secrets(&self, cassette: &Cassette, form: Form, from: &Path) -> Result<(), End> {
        if self.keep_secrets || form == Form::Cassette {
            return Ok(());
        }
        let redaction = Redaction::usual();
        let mut found: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for at in 0..cassette.len() {
            // The cassette does not keep what is read this way.
            let exchange = cassette.outline(at).and_then(Outline::into_exchange);
            let exchange = exchange.map_err(|error| damaged(from, &error))?;
            for Finding { place, what, .. } in redaction.scan(&exchange).findings {
                let numbers = found.entry(format!("the {place} has {what}")).or_default();
                if numbers.last() != Some(&exchange.number) {
                    numbers.push(exchange.number);
                }
            }
        }
        for (what, numbers) in &found {
            let what = crate::journal::escaped(what.as_bytes());
            render::say(&format!("warning: {}: {what} ({})", from.display(), listed(numbers)));
        }
        if !found.is_empty() {
            let from = from.display();
            render::say(&format!(
                "help: `metroon cassette redact {from} -o NEW` takes secrets out; --keep-secrets says that they are to stay"
            ));
        }
        Ok(())
    }

    fn options(&self) -> SealOptions {
        let options = SealOptions::new(KeyScheme::of(&MatchRules::default()));
        let options = if self.keep_secrets { options.keep_secrets() } else { options };
        // It was not there when this began, and reading and writing may take long.
        if self.force { options } else { options.keep_existing() }
    }

    fn write(&self, selection: &Selection<'_>, to: &Path, from: &Path) -> Ended {
        if self.form_of(to) != Form::Cassette {
            return self.write_content(&in_memory(selection, from)?, to, from);
        }
        // Reading may have taken long.
        self.check(to)?;
        selection.write(to, self.options()).map_err(|error| not_written(from, to, &error))?;
        self.report_cassette(selection, to, from)
    }

    fn report_cassette(&self, selection: &Selection<'_>, to: &Path, from: &Path) -> Ended {
        let counts = selection.counts().map_err(|error| damaged(from, &error))?;
        self.report(to, Form::Cassette, &WrittenReport { counts, ..WrittenReport::default() })
    }

    fn write_content(&self, content: &Content, to: &Path, from: &Path) -> Ended {
        self.check(to)?;
        let form = self.form_of(to);
        let written = content.write_as(form, to, self.options()).map_err(|error| match error {
            FormError::Seal(error) => not_written(from, to, &error),
            error => fail(&error.to_string(), "", End::Error),
        })?;
        warn_lost(&written.lost, form);
        self.report(to, form, &WrittenReport { counts: written.counts, left_out: written.left_out, lost: written.lost })
    }

    /// Says what was written.
    fn report(&self, to: &Path, form: Form, written: &WrittenReport) -> Ended {
        let bytes = std::fs::metadata(to).map_or(0, |about| about.len());
        let is_gzip = form != Form::Cassette && is_gzip_name(to);
        let mut out = Out::new();
        if self.json {
            out.line(&written.json(to, form, is_gzip, bytes).to_string())?;
        } else {
            let form = if is_gzip { format!("{form} in gzip") } else { form.to_string() };
            out.line(&format!("{}: {form}, {}, {bytes} bytes", to.display(), written.counted()))?;
        }
        out.end()
    }
}

/// Whether a file of this name is written in gzip.
pub(crate) fn is_gzip_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

/// Tells that a cassette is not compressed twice.
pub(crate) fn gzipped_cassette(path: &Path) -> End {
    let message = format!("{} would be a cassette in gzip, but a cassette is compressed already", path.display());
    fail(&message, "leave .gz out, or name a form before it, such as .json.gz", End::Usage)
}

/// Numbers of exchanges, the first of them only if there are many.
fn listed(numbers: &[u64]) -> String {
    const SHOWN_MAX: usize = 5;
    let shown: Vec<_> = numbers.iter().take(SHOWN_MAX).map(u64::to_string).collect();
    let more = match numbers.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let noun = if numbers.len() == 1 { "exchange" } else { "exchanges" };
    format!("{noun} {}{more}", shown.join(", "))
}

fn warn_lost(lost: &[String], form: Form) {
    for lost in lost {
        render::say(&format!("warning: {form} has no place for this: {lost}"));
    }
}

fn exists(to: &Path) -> End {
    let message = format!("there is something at {} already", to.display());
    fail(&message, "--force puts the new one in its place", End::Usage)
}

fn not_written(from: &Path, to: &Path, error: &SealError) -> End {
    match error {
        SealError::Secret(exposed) if exposed.is_kept => {
            let help = "--keep-secrets writes it as it is; `record --leave-out` keeps such exchanges off a cassette";
            fail(&exposed.to_string(), help, End::Error)
        }
        SealError::Secret(exposed) => {
            let help = format!(
                "`metroon cassette redact {} -o NEW` takes secrets out; --keep-secrets writes them as they are",
                from.display()
            );
            fail(&exposed.to_string(), &help, End::Error)
        }
        SealError::Unreadable(error) => damaged(from, error),
        SealError::Exists(_) => exists(to),
        SealError::SameNumber(_) | SealError::Broken(_) => {
            fail(&format!("{}: {error}", from.display()), "", End::Damaged)
        }
        SealError::TooLarge(_) => fail(&format!("{}: {error}", to.display()), "", End::Error),
        error => fail(&error.to_string(), "", End::Error),
    }
}
