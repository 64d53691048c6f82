//! What `metroon record` and `metroon replay -- COMMAND` can be told.

use crate::byte_count::byte_count;
use cassette::matching::{BodyRule, HeaderRule, JsonPath, MatchRules, QueryRule, Repeats};
use cassette::{Expired, Expiry, Filter, LeaveOutRule, Mode};
use clap::{Args, ValueEnum};
use server::{Latency, PassedHost, Resolve, UpstreamProxy};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

const ABOUT_RECORDS: &str = "\
COMMAND runs with variables that send its requests through a proxy on this computer: curl, Python, Node, Go, Java and all that
takes HTTPS_PROXY and SSL_CERT_FILE. Each request, and each piece of its answer, is on the disk as it happens, in CASSETTE.recording;
at the end CASSETTE is sealed. The name says its form: .txt, .json, .har or .yaml instead of .cassette, or any of these with .gz after it, records
to CASSETTE.cassette, and writes CASSETTE from it at the end, so that a kill leaves CASSETTE.cassette.recording. Secrets are replaced before they reach the disk. Output and exit code are those of COMMAND; what was
recorded is said on the standard error.

Without COMMAND the proxy stays until Ctrl-C or SIGTERM, and says how programs reach it.

docs/recording.md shows how all of this is used. Exit code: that of COMMAND; 1 something could not be recorded; 2 wrong usage;
4 the cassette is damaged, or it was there already and lacks an answer; 126 COMMAND cannot be run; 127 there is none.";

#[derive(Debug, Args)]
#[command(after_help = ABOUT_RECORDS)]
pub(crate) struct RecordArguments {
    /// The cassette to record to
    #[arg(short = 'o', long = "output", value_name = "CASSETTE")]
    pub(super) cassette: PathBuf,

    /// once: record if there is no cassette yet, else answer from it; new: answer what is on it, record the rest; all: record anew;
    /// none: answer only; passthrough: no cassette, all goes to the network
    #[arg(long, value_name = "MODE", default_value = "once")]
    pub(super) mode: Mode,

    /// Keep a new cassette even if nothing was recorded on it: the next run is answered from it, and finds nothing
    #[arg(long)]
    pub(super) allow_empty: bool,

    /// Make at most this many bytes of memory of a cassette that is there, 1G unless it is said; K, M and G stand for 2^10, 2^20 and
    /// 2^30
    #[arg(long, value_name = "BYTES", value_parser = byte_count)]
    pub(super) max_size: Option<u64>,

    #[command(flatten)]
    pub(super) serving: ServingArguments,

    #[command(flatten)]
    pub(super) network: NetworkArguments,

    #[command(flatten)]
    pub(super) upstream: UpstreamArguments,

    #[command(flatten)]
    pub(super) secrets: SecretArguments,

    #[command(flatten)]
    pub(super) playing: ReplayingArguments,

    /// The program and its words
    #[arg(last = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

/// How the proxy is reached.
#[derive(Debug, Args)]
pub(crate) struct ServingArguments {
    /// Listen here; port 0 is any that is free [default: 127.0.0.1:0]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub(super) listen: Option<SocketAddr>,

    /// Listen on an address that other computers reach: everybody who reaches it can use the proxy
    #[arg(long, requires = "listen")]
    pub(super) public: bool,

    /// When listening, print a line of JSON with the proxy, the certificate and the variables for programs; end when the standard
    /// input ends, and print a line of JSON that counts what was asked
    #[arg(long, conflicts_with = "command")]
    pub(super) ready_json: bool,

    /// Open a socket at this path by which the proxy is asked for its state, told to use another cassette, and stopped
    #[arg(long, value_name = "PATH")]
    pub(super) control: Option<PathBuf>,
}

/// What the program reaches besides the proxy.
#[derive(Debug, Args)]
pub(crate) struct NetworkArguments {
    /// Run COMMAND in a network of its own, in which there is nothing but the proxy: what goes past the proxy is refused and named
    /// [default: auto with replay, off with record; `--isolate` alone is on]
    #[arg(long, value_name = "WHEN", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    #[arg(requires = "command")]
    pub(super) isolate: Option<IsolationMode>,

    /// Let requests to this host go to the network, and not to the cassette: host=localhost, host=*.example.com, host=db.test:8443;
    /// `no_proxy` is all hosts of NO_PROXY; may be given several times
    #[arg(long, value_name = "host=NAME[:PORT]", value_parser = pass)]
    pub(super) pass: Vec<PassArgument>,
}

/// When a program runs in a network of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IsolationMode {
    /// Always; if the system gives none, COMMAND is not started
    On,
    /// If the system gives one
    Auto,
    /// Never
    Off,
}

/// What passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PassArgument {
    Host(PassedHost),
    /// The hosts of `NO_PROXY`.
    NoProxy,
}

impl NetworkArguments {
    /// The hosts that pass; `no_proxy` is the value of that variable.
    pub(super) fn passes(&self, no_proxy: &str) -> Vec<PassedHost> {
        let of = |passing: &PassArgument| match passing {
            PassArgument::Host(pass) => vec![pass.clone()],
            PassArgument::NoProxy => PassedHost::of_no_proxy(no_proxy),
        };
        self.pass.iter().flat_map(of).collect()
    }
}

impl ServingArguments {
    /// Whether a proxy is asked for that stays without a program.
    pub(crate) fn stays(&self) -> bool {
        self.listen.is_some() || self.ready_json || self.control.is_some()
    }
}

/// How servers are reached.
#[derive(Debug, Args)]
pub(crate) struct UpstreamArguments {
    /// Connect elsewhere for a host, such as api.example.com:443=127.0.0.1:8443; may be given several times
    #[arg(long, value_name = "HOST:PORT=ADDRESS:PORT")]
    pub(super) resolve: Vec<Resolve>,

    /// Trust servers with these certificates (PEM), too
    #[arg(long, value_name = "FILE")]
    pub(super) upstream_ca: Vec<PathBuf>,

    /// Send requests on through this proxy [default: what HTTPS_PROXY and its like say]
    #[arg(long, value_name = "URL")]
    pub(super) upstream_proxy: Option<UpstreamProxy>,

    /// Refuse bodies with more bytes than this; K, M and G stand for 2^10, 2^20 and 2^30
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(super) max_body: Option<u64>,

    /// Do not record what has this: host=*.example.com, type=image/*, method=OPTIONS, path=REGEX, status=404; may be given several
    /// times
    #[arg(long, value_name = "WHAT=VALUE", value_parser = leave_out)]
    pub(super) leave_out: Vec<LeaveOutRule>,
}

impl UpstreamArguments {
    /// What is not recorded.
    pub(super) fn filter(&self) -> Filter {
        self.leave_out.iter().cloned().fold(Filter::default(), Filter::leave_out)
    }
}

/// What is a secret, on the cassette and in the requests that are looked up on it.
#[derive(Clone, Debug, Args)]
pub(crate) struct SecretArguments {
    /// Record secrets as they are; a replay knows by the cassette whether they were
    #[arg(long, conflicts_with_all = ["secret_name", "secret_json_path", "secret_from"])]
    pub(super) keep_secrets: bool,

    /// The value of this header, parameter, field or member of JSON is a secret; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(super) secret_name: Vec<String>,

    /// What is at this place in JSON is a secret; may be given several times
    #[arg(long, value_name = "PATH", value_parser = json_path_text)]
    pub(super) secret_json_path: Vec<String>,

    /// The value of this environment variable is a secret, wherever it stands; may be given several times
    #[arg(long, value_name = "VARIABLE")]
    pub(super) secret_from: Vec<String>,
}

/// What answers a request, and when.
#[derive(Debug, Args)]
pub(crate) struct ReplayingArguments {
    /// Answer X times as fast as it was recorded; 0 answers at once
    #[arg(long, value_name = "X", value_parser = speed)]
    pub(super) speed: Option<f64>,

    /// Answer after this time, such as 200ms, and not as it was recorded
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "speed")]
    pub(super) latency: Option<Duration>,

    /// When all recorded answers to a request were given: refuse, give the last again, or begin anew
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    pub(super) repeats: RepeatsArgument,

    /// Equal requests that are made at once may get each other's answers: they are named, and the exit code is not 4 for them
    #[arg(long)]
    pub(super) allow_ambiguous: bool,

    /// Requests may differ in this parameter of the query, or `*` for all of it; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(super) ignore_query: Vec<String>,

    /// Requests may differ at this place of a JSON body, such as `metadata.id`; may be given several times
    #[arg(long, value_name = "PATH", value_parser = json_path, conflicts_with = "ignore_body")]
    pub(super) ignore_json: Vec<JsonPath>,

    /// Requests may differ in their bodies
    #[arg(long)]
    pub(super) ignore_body: bool,

    /// Requests may go to another scheme, host or port
    #[arg(long)]
    pub(super) ignore_host: bool,

    /// Requests must agree in this header; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(super) match_header: Vec<String>,

    /// Change answers as this file says: status, delay, reset, templates
    #[arg(long, value_name = "FILE")]
    pub(super) edits: Option<PathBuf>,

    /// How old recorded answers may be, such as 30d, 12h or 90s
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) max_age: Option<Duration>,

    /// What is done with answers that are older [default: refuse if CI is set, else warn]
    #[arg(long, value_name = "HOW", value_enum, requires = "max_age")]
    pub(super) expired: Option<ExpiredArgument>,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum RepeatsArgument {
    /// A request that comes more often than it was recorded is a miss
    #[default]
    Refuse,
    /// The last answer again and again
    Last,
    /// All answers once more, from the first
    Cycle,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ExpiredArgument {
    /// As if it were not there
    Refuse,
    /// Given, with a warning at the end
    Warn,
    /// Recorded again, in the mode `new`
    Record,
}

impl ReplayingArguments {
    pub(super) fn latency(&self) -> Latency {
        match (self.speed, self.latency) {
            (_, Some(time)) => Latency::Fixed(time),
            (Some(speed), None) => Latency::Scaled(speed),
            (None, None) => Latency::Recorded,
        }
    }

    pub(super) fn rules(&self) -> MatchRules {
        let mut rules = MatchRules::default();
        if self.ignore_query.iter().any(|name| name == "*") {
            rules.query = QueryRule::Ignored;
        } else if !self.ignore_query.is_empty() {
            rules.query = QueryRule::Without(self.ignore_query.clone());
        }
        if self.ignore_body {
            rules.body = BodyRule::Ignored;
        } else if !self.ignore_json.is_empty() {
            rules.body = BodyRule::JsonWithout(self.ignore_json.clone());
        }
        if self.ignore_host {
            (rules.scheme, rules.host, rules.port) = (false, false, false);
        }
        if !self.match_header.is_empty() {
            rules.headers = HeaderRule::Only(self.match_header.clone());
        }
        rules
    }

    pub(super) fn repeats(&self) -> Repeats {
        match self.repeats {
            RepeatsArgument::Refuse => Repeats::Refused,
            RepeatsArgument::Last => Repeats::Last,
            RepeatsArgument::Cycle => Repeats::Cycle,
        }
    }

    /// `is_ci` is whether nobody looks at warnings.
    pub(super) fn expiry(&self, is_ci: bool) -> Option<Expiry> {
        let max_age = self.max_age?.as_secs();
        let then = match self.expired {
            Some(ExpiredArgument::Refuse) => Expired::Refuse,
            Some(ExpiredArgument::Warn) => Expired::Warn,
            Some(ExpiredArgument::Record) => Expired::Record,
            None if is_ci => Expired::Refuse,
            None => Expired::Warn,
        };
        Some(Expiry { max_age, then })
    }
}

fn address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "expected an address and a port, such as 127.0.0.1:8888; port 0 is any that is free")
}

fn leave_out(text: &str) -> Result<LeaveOutRule, String> {
    let nothing = LeaveOutRule::for_reason(text);
    let (what, value) = text.split_once('=').unwrap_or((text, ""));
    let values = vec![value.to_owned()];
    match what {
        _ if value.is_empty() => Err("expected what and which, such as host=*.example.com".to_owned()),
        "host" => Ok(LeaveOutRule { hosts: values, ..nothing }),
        "type" => Ok(LeaveOutRule { content_types: values, ..nothing }),
        "method" => Ok(LeaveOutRule { methods: values, ..nothing }),
        "path" => {
            let path = value.parse().map_err(|error| format!("no expression for paths: {error}"))?;
            Ok(LeaveOutRule { path: Some(path), ..nothing })
        }
        "status" => {
            let status = value.parse().map_err(|_| "a status is a number, such as 404".to_owned())?;
            Ok(LeaveOutRule { status: Some(status..=status), ..nothing })
        }
        _ => Err("there are host, type, method, path and status".to_owned()),
    }
}

fn pass(text: &str) -> Result<PassArgument, String> {
    match text.split_once('=') {
        Some(("host", host)) => {
            host.parse().map(PassArgument::Host).map_err(|error: server::OptionError| error.to_string())
        }
        None if text == "no_proxy" => Ok(PassArgument::NoProxy),
        _ => Err("expected a host, such as host=localhost or host=*.example.com, or no_proxy".to_owned()),
    }
}

fn json_path(text: &str) -> Result<JsonPath, String> {
    JsonPath::new(text).map_err(|error| error.to_string())
}

fn json_path_text(text: &str) -> Result<String, String> {
    json_path(text).map(|_| text.to_owned())
}

fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse().ok().filter(|speed: &f64| speed.is_finite() && *speed >= 0.0);
    speed.ok_or_else(|| "expected how many times as fast, such as 2 or 0.5, or 0 for at once".to_owned())
}

const UNITS: [(&str, f64); 5] = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3_600.0), ("d", 86_400.0)];

pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let expected = || "expected a number with ms, s, m, h or d, such as 200ms or 30d".to_owned();
    let (digits, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(expected)?);
    let seconds = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, seconds)| seconds).ok_or_else(expected)?;
    let number: f64 = digits.parse().map_err(|_| expected())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| expected())
}

fn bytes(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 10),
        Some((at, 'm' | 'M')) => (&text[..at], 20),
        Some((at, 'g' | 'G')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let bytes = digits.parse().ok().and_then(|number: u64| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| "expected a number of bytes, such as 512K, 2G or 1000000".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(time("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(time("1.5s"), Ok(Duration::from_millis(1_500)));
        assert_eq!(time("30d"), Ok(Duration::from_secs(30 * 86_400)));
        for wrong in ["200", "s", "-1s", "5y", "1e300d", "nans"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_left_out_has_a_kind() {
        assert_eq!(leave_out("host=*.a.test").map(|out| out.hosts), Ok(vec!["*.a.test".to_owned()]));
        assert_eq!(leave_out("status=404").map(|out| out.status), Ok(Some(404..=404)));
        for wrong in ["host", "host=", "size=3", "path=(", "status=x"] {
            assert!(leave_out(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn bytes_and_speeds_are_numbers() {
        assert_eq!(bytes("2K"), Ok(2_048));
        assert_eq!(bytes("7"), Ok(7));
        assert!(bytes("99999999999G").is_err() && bytes("x").is_err() && bytes("").is_err());
        assert_eq!(speed("0.5"), Ok(0.5));
        assert!(speed("-1").is_err() && speed("inf").is_err() && speed("fast").is_err());
    }
}
