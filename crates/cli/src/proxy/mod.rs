//! `metroon record`, and `metroon replay` with a cassette: a program's traffic through the proxy of `server`.
//!
//! 1. [`arguments`] become options of a proxy, which listens when the program is started.
//! 2. [`child`] runs the program with the variables that its runtime goes by, passes signals on, and gives its exit code.
//!    Without a program, [`listen`] says how the proxy is reached and waits for a signal.
//! 3. The proxy is stopped, which seals the cassette, and [`summary`] says on the standard error what it did. The standard output
//!    is the program's.

mod arguments;
mod child;
mod converted_file;
mod listen;
mod secrets;
mod signals;
mod summary;

use crate::end::End;
use crate::output::fail;
use crate::render;
pub(crate) use arguments::time;
use arguments::{IsolationMode, UpstreamArguments};
pub(crate) use arguments::{NetworkArguments, RecordArguments, ReplayingArguments, SecretArguments, ServingArguments};
use cassette::{Cassette, Mode, ReadOptions, RecordError, SealError};
use child::ChildProgram;
pub(crate) use child::isolated;
use converted_file::{ConvertedFile, recording_of};
use server::{
    ControlOptions, Edits, Limits, PassedHost, Proxy, ProxyError, ProxyOptions, Report, Traffic, UpstreamProxy,
};
use signals::Signals;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use summary::{CassetteBefore, HelpStyle, RecordingResult, Summary};

/// What is done, as far as it does not depend on the verb's own words.
struct ProxyJob<'a> {
    cassette: &'a Path,
    /// The file that the cassette stands for, if that has another form.
    other: Option<ConvertedFile>,
    records: bool,
    before: CassetteBefore,
    /// Whether a new cassette on which nothing was recorded stays.
    allows_empty: bool,
    serving: &'a ServingArguments,
    network: &'a NetworkArguments,
    command: &'a [OsString],
}

/// `metroon record`.
pub(crate) fn record(arguments: &RecordArguments) -> ExitCode {
    let RecordArguments {
        cassette: file,
        mode,
        allow_empty,
        max_size,
        serving,
        network,
        upstream,
        secrets,
        playing,
        command,
    } = arguments;
    let reading = crate::cassette::read_options(*max_size);
    let (other, before, used) = match place(file, *mode, reading) {
        Ok(place) => place,
        Err(end) => return end.into(),
    };
    let cassette = &other.as_ref().map_or(file.as_path(), ConvertedFile::cassette).to_owned();
    if matches!(mode, Mode::Once | Mode::None) && used.is_some() {
        tell_unsealed(cassette);
    }
    let secrets = known_secrets(secrets, used.as_ref(), cassette, mode.may_send(used.is_some()));
    let options = ProxyOptions::new(Traffic::cassette(cassette, *mode)).reading(reading);
    let options = play(options, playing).and_then(|options| reach(options, upstream));
    match options.and_then(|options| hide(options, &secrets?)) {
        Ok(options) => {
            let (records, allows_empty) = (*mode != Mode::None, *allow_empty);
            ProxyJob { cassette, other, records, before, allows_empty, serving, network, command }.run(options)
        }
        Err(end) => {
            // Nothing was recorded, so nothing stands for the file.
            let _ = other.map(|other| other.finish(false));
            end.into()
        }
    }
}

/// Where it is recorded to: a cassette, be it one that stands for a file of another form, with what lies there.
fn place(
    file: &Path,
    mode: Mode,
    reading: ReadOptions,
) -> Result<(Option<ConvertedFile>, CassetteBefore, Option<Cassette>), End> {
    let other = ConvertedFile::of(file, mode, reading)?;
    let (before, used) = there(other.as_ref().map_or(file, ConvertedFile::cassette), mode, reading)?;
    let is_replaced = mode == Mode::All && other.as_ref().is_some_and(|other| other.was_there);
    Ok((other, if is_replaced { CassetteBefore::Replaced } else { before }, used))
}

/// Looks at what lies where a cassette is to be recorded, and gives the cassette if it is used. A cassette takes the place of a cassette, damaged or
/// not, and of nothing else.
fn there(path: &Path, mode: Mode, reading: ReadOptions) -> Result<(CassetteBefore, Option<Cassette>), End> {
    if mode == Mode::Passthrough || ![path.to_owned(), recording_of(path)].iter().any(|path| path.exists()) {
        return Ok((CassetteBefore::Nothing, None));
    }
    match Cassette::open_with(path, reading) {
        Ok(_) if mode == Mode::All => Ok((CassetteBefore::Replaced, None)),
        Ok(cassette) => Ok((CassetteBefore::Used, Some(cassette))),
        Err(error) if mode == Mode::All && crate::cassette::is_damaged(path, &error) => {
            Ok((CassetteBefore::Replaced, None))
        }
        Err(error) => Err(crate::cassette::damaged(path, &error)),
    }
}

/// `metroon replay CASSETTE -- COMMAND`.
pub(crate) fn replay(
    cassette: &Path,
    reading: ReadOptions,
    (serving, network): (&ServingArguments, &NetworkArguments),
    (playing, secrets): (&ReplayingArguments, &SecretArguments),
    command: &[OsString],
) -> ExitCode {
    let opened = match crate::cassette::open(cassette, reading) {
        Ok((opened, _)) => opened,
        Err(end) => return end.into(),
    };
    tell_unsealed(cassette);
    let secrets = known_secrets(secrets, Some(&opened), cassette, false);
    let mut options = ProxyOptions::new(Traffic::loaded(Arc::new(opened), cassette));
    if let Some(proxy) = Some(network).filter(|network| !network.pass.is_empty()).and_then(|_| inherited_proxy()) {
        options = options.upstream_proxy(proxy);
    }
    match play(options, playing).and_then(|options| hide(options, &secrets?)) {
        Ok(options) => {
            let job = ProxyJob {
                cassette,
                other: None,
                records: false,
                before: CassetteBefore::Used,
                allows_empty: false,
                serving,
                network,
                command,
            };
            job.run(options)
        }
        Err(end) => end.into(),
    }
}

/// The file with the exchanges that a cassette's name leads to: its recording, if that was never sealed.
fn file_with_exchanges(cassette: &Path) -> PathBuf {
    let recording = recording_of(cassette);
    if !cassette.exists() && recording.exists() { recording } else { cassette.to_owned() }
}

/// Says that answers come from a recording that was never sealed, and what to type.
fn tell_unsealed(cassette: &Path) {
    let file = file_with_exchanges(cassette);
    if file == cassette {
        return;
    }
    let (cassette, file) = (cassette.display(), file.display());
    render::say(&format!("note: there is no {cassette}: answers come from {file}, which was not sealed"));
    render::say(&format!(
        "help: `metroon cassette convert {cassette} {cassette}` seals it, or says what is in the way; \
         `metroon record -o {cassette} --mode all -- …` records it anew"
    ));
}

fn play(options: ProxyOptions, playing: &ReplayingArguments) -> Result<ProxyOptions, End> {
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    let mut options = options.latency(playing.latency()).rules(playing.rules()).repeats(playing.repeats());
    if playing.allow_ambiguous {
        options = options.allow_ambiguous();
    }
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

/// What is a secret by the command line and by the cassette, if there is one.
fn known_secrets(
    secrets: &SecretArguments,
    cassette: Option<&Cassette>,
    path: &Path,
    records: bool,
) -> Result<SecretArguments, End> {
    let secrets = secrets.clone();
    match cassette {
        Some(cassette) => {
            secrets.with_those_of(cassette, records).map_err(|error| crate::cassette::damaged(path, &error))
        }
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
    let named = upstream.upstream_proxy.clone().map(excepting);
    Ok(match named.or_else(inherited_proxy) {
        Some(proxy) => options.upstream_proxy(proxy),
        None => options,
    })
}

/// The proxy that the environment says is to be used, with the hosts that it excepts.
fn inherited_proxy() -> Option<UpstreamProxy> {
    let url = ["https_proxy", "all_proxy", "http_proxy"].into_iter().find_map(either_case)?;
    match url.parse::<UpstreamProxy>() {
        Ok(proxy) => Some(excepting(proxy)),
        Err(error) => {
            render::say(&format!("warning: going without the proxy of the environment: {error}"));
            None
        }
    }
}

/// A proxy, except for the hosts that the environment leaves out.
fn excepting(proxy: UpstreamProxy) -> UpstreamProxy {
    proxy.except(no_proxy().split(',').map(str::to_owned))
}

fn no_proxy() -> String {
    either_case("no_proxy").unwrap_or_default()
}

/// A variable that is named in small or in capital letters.
fn either_case(name: &str) -> Option<String> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    variable(name).or_else(|| variable(&name.to_uppercase()))
}

impl ProxyJob<'_> {
    fn run(&self, mut options: ProxyOptions) -> ExitCode {
        let signals = match Signals::hold() {
            Ok(signals) => signals,
            Err(error) => return fail(&format!("cannot hold back signals: {error}"), "", End::Error).into(),
        };
        if self.command.is_empty() && self.network.isolate.is_some_and(|when| when != IsolationMode::Off) {
            return not_isolated().into();
        }
        if let Some(address) = self.serving.listen {
            if !address.ip().is_loopback() && !self.serving.public {
                return not_public(address).into();
            }
            options = options.listen(address);
        }
        if let Some(path) = &self.serving.control {
            options = options.control(ControlOptions { socket: Some(path.clone()), cassettes: None });
        }
        let passes = self.network.passes(&no_proxy());
        options = passes.iter().cloned().fold(options, ProxyOptions::pass);
        let proxy = match Proxy::start(options) {
            Ok(proxy) => proxy,
            Err(error) => return not_started(self.cassette, &error).into(),
        };
        let (code, program) = match self.command {
            [] => (self.stay(&proxy, &passes, &signals), None),
            [name, ..] => {
                let usual = if self.records { IsolationMode::Off } else { IsolationMode::Auto };
                let isolate = self.network.isolate.unwrap_or(usual);
                let program = ChildProgram { command: self.command, proxy: &proxy, passes: &passes, isolate };
                match child::run(&program, &signals) {
                    Ok(code) => (code, Some(name)),
                    Err(code) => (code, None),
                }
            }
        };
        self.end(proxy, code, program)
    }

    fn stay(&self, proxy: &Proxy, passes: &[PassedHost], signals: &Signals) -> u8 {
        match child::variables(proxy, passes) {
            Ok(variables) => listen::until_told(proxy, self.serving.ready_json, &self.doing(), &variables, signals),
            Err(end) => end.code(),
        }
    }

    fn doing(&self) -> String {
        let verb = if self.records { "recording to" } else { "answering from" };
        format!("{verb} {}", self.named().display())
    }

    /// What the user named.
    fn named(&self) -> &Path {
        self.other.as_ref().map_or(self.cassette, ConvertedFile::file)
    }

    /// Seals the cassette and says what was done, by the program if one has run.
    fn end(&self, proxy: Proxy, code: u8, program: Option<&OsString>) -> ExitCode {
        let so_far = proxy.report();
        // The control socket may have named another cassette since.
        let cassette =
            proxy.cassette().filter(|cassette| cassette != self.cassette).unwrap_or_else(|| self.named().to_owned());
        let (report, sealed) = match proxy.stop() {
            Ok(report) => (report, Ok(())),
            Err(error) => (so_far, Err(error)),
        };
        let Self { records, before, .. } = *self;
        let answers_from = file_with_exchanges(&cassette).display().to_string();
        let cassette = cassette.display().to_string();
        let kept = match sealed.is_ok() && report.recorder_failure.is_none() {
            true if self.is_left_out(&report) => RecordingResult::Nothing,
            true => RecordingResult::All,
            false => self.unsealed(),
        };
        let (kept, not_written) = self.write_other(&report, kept);
        let style = std::env::var("METROON_HELP_STYLE").ok().filter(|_| self.serving.ready_json);
        let style = style.map_or(HelpStyle::default(), |name| HelpStyle::named(&name));
        let summary = Summary { report: &report, cassette, answers_from, records, before, kept, style, program };
        summary.lines().iter().for_each(|line| render::say(line));
        if self.serving.ready_json {
            listen::say_done(&report, summary.kept != RecordingResult::Nothing);
        }
        let failed =
            self.failure(&report, sealed).or(not_written).or(report.bypassed.first().map(|_| End::Error.code()));
        let differs = report.differs() || !records && !report.bypassed.is_empty();
        let code = if code == 0 { failed.unwrap_or(code) } else { code };
        ExitCode::from(if differs { End::Damaged.code() } else { code })
    }

    /// Writes the file of another form that the cassette stands for. Gives what there is then, and the code if it could not be written.
    fn write_other(&self, report: &Report, kept: RecordingResult) -> (RecordingResult, Option<u8>) {
        let Some(other) = self.other.as_ref().filter(|_| !matches!(kept, RecordingResult::Unsealed(..))) else {
            return (kept, None);
        };
        let is_new = kept == RecordingResult::All && (report.recorded > 0 || self.before == CassetteBefore::Nothing);
        match other.finish(is_new) {
            Ok(()) => (kept, None),
            Err(end) => (RecordingResult::Unwritten(other.cassette().display().to_string()), Some(end.code())),
        }
    }

    /// Whether there is no use in a new cassette, which is removed then: the next run would answer everything from one that has nothing.
    /// A user who wants just that says `--allow-empty`, such as for a test that asks nothing.
    fn is_left_out(&self, report: &Report) -> bool {
        let is_empty = self.before == CassetteBefore::Nothing && !self.allows_empty && report.recorded == 0;
        is_empty
            && Cassette::open(self.cassette).is_ok_and(|cassette| cassette.is_empty())
            && std::fs::remove_file(self.cassette).is_ok()
    }

    /// Where it was recorded to: a cassette that is recorded anew stays until the new one is complete.
    fn recorded_to(&self) -> PathBuf {
        let mut name = self.cassette.as_os_str().to_owned();
        if self.before == CassetteBefore::Replaced {
            name.push(".new");
        }
        name.into()
    }

    /// What there is of a recording that was not sealed.
    fn unsealed(&self) -> RecordingResult {
        let (cassette, recording) = (self.recorded_to(), recording_of(&self.recorded_to()));
        match Cassette::open(cassette) {
            Ok(left) if recording.exists() => {
                RecordingResult::Unsealed(left.len() as u64, recording.display().to_string())
            }
            Ok(_) => RecordingResult::All,
            Err(_) => RecordingResult::Nothing,
        }
    }

    /// The code of a recording that is not whole, after saying so.
    fn failure(&self, report: &Report, sealed: Result<(), ProxyError>) -> Option<u8> {
        let recording = recording_of(self.cassette);
        let secret = matches!(&sealed, Err(ProxyError::Record(RecordError::Seal(SealError::Secret(_)))));
        let what = match (sealed, &report.recorder_failure) {
            (Err(error), _) => error.to_string(),
            (Ok(()), Some(failure)) => format!("not all is recorded: {failure}"),
            (Ok(()), None) => return None,
        };
        let help = if let Some(other) = &self.other {
            other.by_hand()
        } else if recording.exists() {
            let (cassette, recording) = (self.cassette.display(), recording.display());
            let keeping = if secret { " --keep-secrets" } else { "" };
            format!(
                "what was recorded is in {recording}; `metroon cassette convert {cassette} {cassette}{keeping}` seals it"
            )
        } else {
            "make room on the disk, or record to another one, and record it again".to_owned()
        };
        Some(fail(&what, &help, End::Error).code())
    }
}

/// `--ready-json` has no program, which clap takes for a reason to forget that `--isolate` needs one.
fn not_isolated() -> End {
    let what =
        "--isolate is for a program that this command starts: one that only asks the proxy stays in its own network";
    fail(what, "name the program after `--`, such as `-- pytest`, or leave --isolate out", End::Usage)
}

fn not_public(address: SocketAddr) -> End {
    let what = format!(
        "everybody who reaches this computer at {address} could use the proxy, and the network that it reaches"
    );
    let help = format!("listen on 127.0.0.1:{}, or add --public if others are to use it", address.port());
    fail(&what, &help, End::Usage)
}

fn not_started(cassette: &Path, error: &ProxyError) -> End {
    match error {
        ProxyError::NoCassette(_) => fail(&error.to_string(), "", End::Usage),
        ProxyError::Unreadable(error) => crate::cassette::damaged(cassette, error),
        ProxyError::Record(RecordError::Unreadable(error)) => crate::cassette::damaged(cassette, error),
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
    Cassette::open_any(path).is_ok()
}
