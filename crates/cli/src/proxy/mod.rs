//! `mnemon record`, and `mnemon replay` with a cassette: a program's traffic through the proxy of `server`.
//!
//! 1. [`arguments`] become options of a proxy, which listens when the program is started.
//! 2. [`child`] runs the program with the variables that its runtime goes by, passes signals on, and gives its exit code.
//!    Without a program, [`stay`] says how the proxy is reached and waits for a signal.
//! 3. The proxy is stopped, which seals the tape, and [`summary`] says on the standard error what it did. The standard output
//!    is the program's.

mod arguments;
mod child;
mod form;
mod secrets;
mod signals;
mod stay;
mod summary;

use crate::output::fail;
use crate::render;
use crate::run::End;
use arguments::UpstreamArguments;
pub(crate) use arguments::{PlayingArguments, RecordArguments, SecretArguments, ServingArguments};
use cassette::{Mode, ReadOptions, RecordError, Tape};
use form::OtherForm;
use server::{Control, Edits, Limits, Proxy, ProxyError, ProxyOptions, Report, Traffic, UpstreamProxy};
use signals::Signals;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use summary::{Before, Summary};

/// What is done, as far as it does not depend on the verb's own words.
struct Job<'a> {
    tape: &'a Path,
    /// The file that the tape stands for, if that has another form.
    other: Option<OtherForm>,
    records: bool,
    before: Before,
    serving: &'a ServingArguments,
    command: &'a [OsString],
}

/// `mnemon record`.
pub(crate) fn record(arguments: &RecordArguments) -> ExitCode {
    let RecordArguments { tape: file, mode, serving, upstream, secrets, playing, command } = arguments;
    let (other, before, used) = match place(file, *mode) {
        Ok(place) => place,
        Err(end) => return end.into(),
    };
    let tape = &other.as_ref().map_or(file.as_path(), OtherForm::tape).to_owned();
    let secrets = known_secrets(secrets, used.as_ref(), tape, mode.may_send(used.is_some()));
    let options = ProxyOptions::new(Traffic::tape(tape, *mode));
    let options = play(options, playing).and_then(|options| reach(options, upstream));
    match options.and_then(|options| hide(options, &secrets?)) {
        Ok(options) => Job { tape, other, records: *mode != Mode::None, before, serving, command }.run(options),
        Err(end) => {
            // Nothing was recorded, so nothing stands for the file.
            let _ = other.map(|other| other.finish(false));
            end.into()
        }
    }
}

/// Where it is recorded to: a tape, be it one that stands for a file of another form, with what lies there.
fn place(file: &Path, mode: Mode) -> Result<(Option<OtherForm>, Before, Option<Tape>), End> {
    let other = OtherForm::of(file, mode)?;
    let (before, used) = there(other.as_ref().map_or(file, OtherForm::tape), mode)?;
    let is_replaced = mode == Mode::All && other.as_ref().is_some_and(|other| other.was_there);
    Ok((other, if is_replaced { Before::Replaced } else { before }, used))
}

/// Looks at what lies where a tape is to be recorded, and gives the tape if it is used. A tape takes the place of a tape, damaged or
/// not, and of nothing else.
fn there(path: &Path, mode: Mode) -> Result<(Before, Option<Tape>), End> {
    if mode == Mode::Passthrough || ![path.to_owned(), recording_of(path)].iter().any(|path| path.exists()) {
        return Ok((Before::Nothing, None));
    }
    match Tape::open(path) {
        Ok(_) if mode == Mode::All => Ok((Before::Replaced, None)),
        Ok(tape) => Ok((Before::Used, Some(tape))),
        Err(error) if mode == Mode::All && crate::tape::is_damaged(path, &error) => Ok((Before::Replaced, None)),
        Err(error) => Err(crate::tape::damaged(path, &error)),
    }
}

/// `mnemon replay TAPE -- COMMAND`.
pub(crate) fn replay(
    tape: &Path,
    reading: ReadOptions,
    serving: &ServingArguments,
    playing: &PlayingArguments,
    secrets: &SecretArguments,
    command: &[OsString],
) -> ExitCode {
    let opened = match crate::tape::open(tape, reading) {
        Ok((opened, _)) => opened,
        Err(end) => return end.into(),
    };
    let secrets = known_secrets(secrets, Some(&opened), tape, false);
    let options = ProxyOptions::new(Traffic::loaded(Arc::new(opened), tape));
    match play(options, playing).and_then(|options| hide(options, &secrets?)) {
        Ok(options) => Job { tape, other: None, records: false, before: Before::Used, serving, command }.run(options),
        Err(end) => end.into(),
    }
}

fn recording_of(tape: &Path) -> PathBuf {
    let mut name = tape.as_os_str().to_owned();
    name.push(".recording");
    name.into()
}

fn play(options: ProxyOptions, playing: &PlayingArguments) -> Result<ProxyOptions, End> {
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    let mut options = options.latency(playing.latency()).rules(playing.rules()).repeats(playing.repeats());
    if let Some(file) = &playing.edits {
        let help = "\"Faults and times\" in docs/recording.md shows such a file";
        let edits = Edits::read(file).map_err(|error| fail(&error.to_string(), help, End::Usage))?;
        options = options.edits(edits);
    }
    Ok(match playing.expiry(is_ci) {
        Some(expiry) => options.expiry(expiry),
        None => options,
    })
}

/// What is a secret by the command line and by the tape, if there is one.
fn known_secrets(
    secrets: &SecretArguments,
    tape: Option<&Tape>,
    path: &Path,
    records: bool,
) -> Result<SecretArguments, End> {
    let secrets = secrets.clone();
    match tape {
        Some(tape) => secrets.with_those_of(tape, records).map_err(|error| crate::tape::damaged(path, &error)),
        None => Ok(secrets),
    }
}

fn hide(mut options: ProxyOptions, secrets: &SecretArguments) -> Result<ProxyOptions, End> {
    for note in secrets.notes() {
        options = options.note(note);
    }
    match secrets.redaction() {
        Ok(Some(redaction)) => Ok(options.redaction(Arc::new(redaction))),
        Ok(None) => Ok(options.keep_secrets()),
        Err(message) => Err(fail(&message, "set it, or leave it out", End::Usage)),
    }
}

fn reach(mut options: ProxyOptions, upstream: &UpstreamArguments) -> Result<ProxyOptions, End> {
    for resolve in &upstream.resolve {
        options = options.resolve(resolve.clone());
    }
    for file in &upstream.upstream_ca {
        options = options.upstream_roots(file);
    }
    let mut limits = Limits::default();
    limits.body_bytes = upstream.max_body;
    options = options.limits(limits).filter(upstream.filter());
    Ok(match upstream.upstream_proxy.clone().or_else(inherited_proxy) {
        Some(proxy) => options.upstream_proxy(proxy),
        None => options,
    })
}

/// The proxy that the environment says is to be used, with the hosts that it excepts.
fn inherited_proxy() -> Option<UpstreamProxy> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let either = |name: &str| variable(name).or_else(|| variable(&name.to_uppercase()));
    let url = ["https_proxy", "all_proxy", "http_proxy"].into_iter().find_map(either)?;
    match url.parse::<UpstreamProxy>() {
        Ok(proxy) => {
            let except = either("no_proxy").unwrap_or_default();
            Some(proxy.except(except.split(',').map(str::to_owned)))
        }
        Err(error) => {
            render::say(&format!("warning: going without the proxy of the environment: {error}"));
            None
        }
    }
}

impl Job<'_> {
    fn run(&self, mut options: ProxyOptions) -> ExitCode {
        let signals = match Signals::hold() {
            Ok(signals) => signals,
            Err(error) => return fail(&format!("cannot hold back signals: {error}"), "", End::Error).into(),
        };
        if let Some(address) = self.serving.listen {
            options = options.listen(address);
        }
        if let Some(path) = &self.serving.control {
            options = options.control(Control { socket: Some(path.clone()), tapes: None });
        }
        let proxy = match Proxy::start(options) {
            Ok(proxy) => proxy,
            Err(error) => return not_started(self.tape, &error).into(),
        };
        let variables = match server::environment(proxy.address(), proxy.authority()) {
            Ok(variables) => variables,
            Err(error) => return fail(&error.to_string(), "", End::Error).into(),
        };
        let (code, program) = match self.command {
            [] => (stay::until_told(&proxy, self.serving.ready_json, &self.doing(), &variables, &signals), None),
            [program, ..] => match child::run(self.command, variables, &signals) {
                Ok(code) => (code, Some(program)),
                Err(code) => (code, None),
            },
        };
        self.end(proxy, code, program)
    }

    fn doing(&self) -> String {
        let verb = if self.records { "recording to" } else { "answering from" };
        format!("{verb} {}", self.named().display())
    }

    /// What the user named.
    fn named(&self) -> &Path {
        self.other.as_ref().map_or(self.tape, OtherForm::file)
    }

    /// Seals the tape and says what was done, by the program if one has run.
    fn end(&self, proxy: Proxy, code: u8, program: Option<&OsString>) -> ExitCode {
        let so_far = proxy.report();
        // The control socket may have named another tape since.
        let tape = proxy.tape().filter(|tape| tape != self.tape).unwrap_or_else(|| self.named().to_owned());
        let tape = tape.display().to_string();
        let (report, sealed) = match proxy.stop() {
            Ok(report) => (report, Ok(())),
            Err(error) => (so_far, Err(error)),
        };
        let &Self { records, before, .. } = self;
        let is_kept = sealed.is_err() || !self.is_left_out(&report);
        let is_new = report.recorded > 0 || before == Before::Nothing;
        let written = match (&self.other, &sealed) {
            (Some(other), Ok(())) => other.finish(is_kept && is_new),
            _ => Ok(()),
        };
        let summary = Summary { report: &report, tape, records, before, is_kept, program };
        summary.lines().iter().for_each(|line| render::say(line));
        let differs = report.differs().then_some(End::Damaged.code());
        let failed = self.failure(&report, sealed).or(written.err().map(End::code)).filter(|_| code == 0);
        ExitCode::from(differs.or(failed).unwrap_or(code))
    }

    /// Whether there is no use in a new tape, which is removed then: the next run would answer everything from one that has nothing.
    /// Whoever reads the JSON may want just that, such as a test that asks nothing.
    fn is_left_out(&self, report: &Report) -> bool {
        let is_empty = self.before == Before::Nothing && !self.serving.ready_json && report.recorded == 0;
        is_empty && Tape::open(self.tape).is_ok_and(|tape| tape.is_empty()) && std::fs::remove_file(self.tape).is_ok()
    }

    /// The code of a recording that is not whole, after saying so.
    fn failure(&self, report: &Report, sealed: Result<(), ProxyError>) -> Option<u8> {
        let recording = recording_of(self.tape);
        let (tape, recording) = (self.tape.display(), recording.display());
        let help = match &self.other {
            Some(other) => other.by_hand(),
            None => format!("what was recorded is in {recording}; `mnemon tape convert {tape} {tape}` seals it"),
        };
        match (sealed, &report.recorder_failure) {
            (Err(error), _) => Some(fail(&error.to_string(), &help, End::Error).code()),
            (Ok(()), Some(failure)) => Some(fail(&format!("not all is recorded: {failure}"), "", End::Error).code()),
            (Ok(()), None) => None,
        }
    }
}

fn not_started(tape: &Path, error: &ProxyError) -> End {
    match error {
        ProxyError::NoTape(_) => fail(&error.to_string(), "", End::Usage),
        ProxyError::Unreadable(error) => crate::tape::damaged(tape, error),
        ProxyError::Record(RecordError::Unreadable(error)) => crate::tape::damaged(tape, error),
        ProxyError::Record(RecordError::Journal(_) | RecordError::Disk(_)) => {
            fail(&error.to_string(), "record to a folder that is there and may be written to", End::Error)
        }
        ProxyError::File { error: io, .. } => {
            let end = if io.kind() == ErrorKind::NotFound { End::Usage } else { End::Error };
            fail(&error.to_string(), "name another file", end)
        }
        _ => fail(&error.to_string(), "", End::Error),
    }
}

/// Whether a path is a cassette, as far as can be seen without saying anything.
pub(crate) fn is_cassette(path: &Path) -> bool {
    Tape::open_any(path).is_ok()
}
