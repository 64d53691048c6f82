//! What a proxy is told before it starts.

use super::edits::Edits;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cassette::matching::{MatchRules, Repeats};
use cassette::redact::Redaction;
use cassette::{Cassette, Expiry, Filter, Mode, Note, ReadOptions};
use percent_encoding::percent_decode_str;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// Which cassette is used, and how.
#[derive(Clone, Debug)]
pub struct Traffic {
    pub(crate) source: CassetteSource,
    pub(crate) mode: Mode,
}

/// Where the cassette is.
#[derive(Clone, Debug)]
pub(crate) enum CassetteSource {
    /// At a path, whether there is one already or not.
    Path(PathBuf),
    /// In memory, to be replayed, and read from there.
    Loaded(Arc<Cassette>, PathBuf),
    /// There is none: everything goes to the network.
    Nowhere,
}

impl Traffic {
    /// A cassette at a path.
    pub fn cassette(path: impl Into<PathBuf>, mode: Mode) -> Self {
        match mode {
            Mode::Passthrough => Self::passthrough(),
            mode => Self { source: CassetteSource::Path(path.into()), mode },
        }
    }

    /// A cassette that is open, such as one that was read from another form, and where it was read from. It is replayed.
    pub fn loaded(cassette: Arc<Cassette>, path: impl Into<PathBuf>) -> Self {
        Self { source: CassetteSource::Loaded(cassette, path.into()), mode: Mode::None }
    }

    /// Everything goes to the network, and nothing is recorded.
    pub fn passthrough() -> Self {
        Self { source: CassetteSource::Nowhere, mode: Mode::Passthrough }
    }

    /// How the cassette is used.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Where the cassette is, if it has a path.
    pub fn path(&self) -> Option<&std::path::Path> {
        match &self.source {
            CassetteSource::Path(path) | CassetteSource::Loaded(_, path) => Some(path),
            CassetteSource::Nowhere => None,
        }
    }
}

/// Another address for what is sent to a host, as curl's `--connect-to`. Names on the cassette, in certificates and in headers stay.
///
/// Its text is `HOST:PORT=ADDRESS:PORT`, where `HOST` alone means every port and brackets stand around an IPv6 address:
/// `api.example.com:443=127.0.0.1:8443`, `[::1]:80=[::1]:8080`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolve {
    /// The name or address that clients ask for, in any case, without brackets.
    pub host: String,
    /// The port that they ask for; `None` is every port.
    pub port: Option<u16>,
    /// Where connections go.
    pub to: SocketAddr,
}

impl FromStr for Resolve {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let error =
            || OptionError::new(text, "is not HOST:PORT=ADDRESS:PORT, such as api.example.com:443=127.0.0.1:8443");
        let (from, to) = text.split_once('=').ok_or_else(error)?;
        let to = to.parse().map_err(|_| error())?;
        let (host, port) = split_port(from).ok_or_else(error)?;
        if host.is_empty() { Err(error()) } else { Ok(Self { host: host.to_owned(), port, to }) }
    }
}

/// A host whose requests pass: they go to the network as they are, and neither to a cassette nor are they answered from one.
///
/// Its text is `HOST` or `HOST:PORT`. `*.example.com` is every host below `example.com`, `*` every host, and `localhost` every name and
/// address of loopback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedHost {
    host: String,
    port: Option<u16>,
    /// Whether hosts below it pass as well.
    is_domain: bool,
}

impl PassedHost {
    /// The hosts of a list as in `NO_PROXY`: a name with everything below it, an address, each with a port or without, or `*`.
    pub fn of_no_proxy(list: &str) -> Vec<Self> {
        let items = list.split(',').map(|item| item.trim().trim_start_matches("*.").trim_start_matches('.'));
        let passes = items.filter_map(|item| item.parse::<Self>().ok());
        passes.map(|pass| Self { is_domain: true, ..pass }).collect()
    }

    /// Whether a request for this host and port passes.
    pub fn takes(&self, host: &str, port: u16) -> bool {
        let host = host.to_ascii_lowercase();
        let is_below = || host.strip_suffix(&self.host).is_some_and(|rest| rest.ends_with('.'));
        let is_host = self.host == "*"
            || self.host == host
            || self.is_domain && is_below()
            || self.host == LOCALHOST && is_loopback(&host);
        is_host && self.port.is_none_or(|known| known == port)
    }

    /// Whether it is on loopback.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }

    /// The address on loopback, if it has a port.
    pub fn loopback(&self) -> Option<SocketAddr> {
        let ip = if self.host == LOCALHOST { Ipv4Addr::LOCALHOST.into() } else { self.host.parse().ok()? };
        Some(SocketAddr::new(ip, self.port?)).filter(|address| address.ip().is_loopback())
    }

    /// The addresses as programs take them from `NO_PROXY`.
    pub(crate) fn names(&self) -> Vec<String> {
        let loopback = ["localhost", "127.0.0.1", "::1"];
        let hosts = if self.host == LOCALHOST { loopback.map(str::to_owned).to_vec() } else { vec![self.host.clone()] };
        let dot = if self.is_domain && !self.is_loopback() { "." } else { "" };
        // Programs that know no ports there come to the proxy, which lets them pass.
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        let with_port = |host: &String| match (host.contains(':'), port.as_str()) {
            (true, "") | (false, _) => format!("{dot}{host}{port}"),
            (true, port) => format!("[{host}]{port}"),
        };
        hosts.iter().map(with_port).collect()
    }
}

const LOCALHOST: &str = "localhost";

/// Whether a name or an address is one of loopback.
pub(crate) fn is_loopback(host: &str) -> bool {
    let is_address = host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
    is_address || host.strip_suffix(LOCALHOST).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

impl FromStr for PassedHost {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let error = || OptionError::new(text, "is not a host: write localhost, example.com:8443 or *.example.com");
        let (host, port) = match text.parse::<std::net::Ipv6Addr>() {
            Ok(_) => (text, None),
            Err(_) => split_port(text).ok_or_else(error)?,
        };
        let (host, is_domain) = host.strip_prefix("*.").map_or((host, false), |domain| (domain, true));
        let is_name = |c: char| c.is_alphanumeric() || "-_.:".contains(c);
        if host.is_empty() || host != "*" && !host.chars().all(is_name) {
            return Err(error());
        }
        Ok(Self { host: host.to_ascii_lowercase(), port, is_domain })
    }
}

/// A host without brackets, and a port if one is named.
pub(crate) fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, behind) = rest.split_once(']')?;
        return match behind.strip_prefix(':') {
            Some(port) => Some((host, Some(port.parse().ok()?))),
            None => behind.is_empty().then_some((host, None)),
        };
    }
    match text.rsplit_once(':') {
        Some((host, _)) if host.contains(':') => None,
        Some((host, port)) => Some((host, Some(port.parse().ok()?))),
        None => Some((text, None)),
    }
}

/// A proxy that requests are sent on through: `http://user:password@proxy.example:3128`.
#[derive(Clone, PartialEq, Eq)]
pub struct UpstreamProxy {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) authorization: Option<String>,
    pub(crate) except: Vec<String>,
}

impl UpstreamProxy {
    /// Hosts that are reached without it, as in `no_proxy`: a name with everything below it, an address, or `*`.
    #[must_use]
    pub fn except(mut self, hosts: impl IntoIterator<Item = String>) -> Self {
        let hosts = hosts.into_iter().map(|host| host.trim().trim_start_matches('.').to_ascii_lowercase());
        self.except.extend(hosts.filter(|host| !host.is_empty()));
        self
    }

    /// Whether a host is reached through it.
    pub(crate) fn serves(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let is_below = |name: &str| host.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        !self.except.iter().any(|except| except == "*" || is_below(except))
    }
}

impl FromStr for UpstreamProxy {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let shown = text.rsplit_once('@').map_or(text, |(_, behind)| behind);
        let error = || {
            OptionError::new(shown, "is not a proxy that requests can go through; write http://USER:PASSWORD@HOST:PORT")
        };
        let rest = match text.split_once("://") {
            Some(("http", rest)) => rest,
            Some(_) => return Err(error()),
            None => text,
        };
        let rest = rest.trim_end_matches('/');
        let (credentials, place) = rest.rsplit_once('@').map_or((None, rest), |(before, place)| (Some(before), place));
        let (host, port) = split_port(place).ok_or_else(error)?;
        if host.is_empty() {
            return Err(error());
        }
        let authorization = credentials.map(|credentials| {
            format!("Basic {}", STANDARD.encode(percent_decode_str(credentials).collect::<Vec<u8>>()))
        });
        Ok(Self { host: host.to_owned(), port: port.unwrap_or(80), authorization, except: Vec::new() })
    }
}

/// Credentials are not shown.
impl fmt::Debug for UpstreamProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamProxy").field("host", &self.host).field("port", &self.port).finish_non_exhaustive()
    }
}

/// A text that an option cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionError {
    text: String,
    what: &'static str,
}

impl OptionError {
    pub(crate) fn new(text: &str, what: &'static str) -> Self {
        Self { text: text.to_owned(), what }
    }
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.text, self.what)
    }
}

impl std::error::Error for OptionError {}

/// When a replayed answer, and each piece of it, is there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Latency {
    /// As it was recorded.
    #[default]
    Recorded,
    /// This many times as fast as it was recorded; 0 is at once, as with [`Latency::None`].
    Scaled(f64),
    /// Its beginning after so long, everything else at once then.
    Fixed(Duration),
    /// At once.
    None,
}

/// How much of everything a proxy takes. What goes beyond is refused with a reason.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of the head of a message, and of its trailers.
    pub head_bytes: usize,
    /// Connections of clients at a time.
    pub connections: usize,
    /// Bytes of the body of a request or a response; `None` is any number.
    pub body_bytes: Option<u64>,
    /// Bytes of the body of a request that is looked up: it is in memory, some times over, until its answer is known.
    pub matched_body_bytes: usize,
    /// How long the head of a request may take from its first byte on.
    pub head_time: Duration,
    /// How long a connection may be without a request.
    pub idle: Duration,
    /// How long a client may neither send nor take the bytes that it is to.
    pub stall: Duration,
    /// How long it may take to reach a server.
    pub connect: Duration,
    /// How long a server may send nothing.
    pub upstream_idle: Duration,
    /// How long stopping waits for what is under way.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes: 256 << 10,
            connections: 8192,
            body_bytes: None,
            matched_body_bytes: 64 << 20,
            head_time: Duration::from_secs(30),
            idle: Duration::from_secs(120),
            stall: Duration::from_secs(120),
            connect: Duration::from_secs(30),
            upstream_idle: Duration::from_secs(15 * 60),
            drain: Duration::from_secs(5),
        }
    }
}

/// How a proxy works.
#[derive(Clone, Debug)]
pub struct ProxyOptions {
    pub(crate) listen: SocketAddr,
    pub(crate) traffic: Traffic,
    pub(crate) resolve: Vec<Resolve>,
    pub(crate) passes: Vec<PassedHost>,
    pub(crate) upstream_proxy: Option<UpstreamProxy>,
    pub(crate) upstream_roots: Vec<PathBuf>,
    pub(crate) limits: Limits,
    pub(crate) playback: Playback,
    pub(crate) keeping: RecordingRules,
    pub(crate) data_directory: Option<PathBuf>,
    pub(crate) control: Option<ControlOptions>,
    pub(crate) threads: Option<usize>,
}

/// What of an exchange goes to a cassette.
#[derive(Clone, Debug)]
pub(crate) struct RecordingRules {
    /// What is a secret; nothing is if secrets are kept.
    pub(crate) redaction: Option<Arc<Redaction>>,
    /// What is not recorded.
    pub(crate) filter: Filter,
    /// What is to be known of the cassette.
    pub(crate) notes: Vec<Note<'static>>,
}

/// How recorded answers are given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Playback {
    pub(crate) latency: Latency,
    pub(crate) rules: MatchRules,
    pub(crate) repeats: Repeats,
    pub(crate) allows_ambiguous: bool,
    pub(crate) expiry: Option<Expiry>,
    pub(crate) edits: Edits,
    /// How much is made of a cassette.
    pub(crate) reading: ReadOptions,
}

/// The socket by which a running proxy is asked for its state and told to use another cassette.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlOptions {
    /// Where it lies; `None` is `proxy-PORT.sock` in the data directory.
    pub socket: Option<PathBuf>,
    /// The folder that cassettes are named in; a name does not lead out of it. `None` is the folder that the process works in,
    /// and names are paths.
    pub cassettes: Option<PathBuf>,
}

impl ProxyOptions {
    /// A proxy on any free port of 127.0.0.1.
    pub fn new(traffic: Traffic) -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            traffic,
            resolve: Vec::new(),
            passes: Vec::new(),
            upstream_proxy: None,
            upstream_roots: Vec::new(),
            limits: Limits::default(),
            playback: Playback::default(),
            keeping: RecordingRules {
                redaction: Some(Redaction::usual()),
                filter: Filter::default(),
                notes: Vec::new(),
            },
            data_directory: None,
            control: None,
            threads: None,
        }
    }

    /// Where it listens; port 0 is any that is free.
    #[must_use]
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// Another address for a host. Of several that fit, the first counts.
    #[must_use]
    pub fn resolve(mut self, resolve: Resolve) -> Self {
        self.resolve.push(resolve);
        self
    }

    /// Requests for this host go to the network, whatever the mode, and not to the cassette.
    #[must_use]
    pub fn pass(mut self, pass: PassedHost) -> Self {
        self.passes.push(pass);
        self
    }

    /// Requests are sent on through this proxy.
    #[must_use]
    pub fn upstream_proxy(mut self, proxy: UpstreamProxy) -> Self {
        self.upstream_proxy = Some(proxy);
        self
    }

    /// Certificates in PEM that servers may be certified by, beside those that the system trusts.
    #[must_use]
    pub fn upstream_roots(mut self, pem: impl Into<PathBuf>) -> Self {
        self.upstream_roots.push(pem.into());
        self
    }

    /// How much of everything it takes.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How much memory is made of a cassette that is read.
    #[must_use]
    pub fn reading(mut self, reading: ReadOptions) -> Self {
        self.playback.reading = reading;
        self
    }

    /// When replayed answers are there.
    #[must_use]
    pub fn latency(mut self, latency: Latency) -> Self {
        self.playback.latency = latency;
        self
    }

    /// What a request must share with a recorded one to be answered by it.
    #[must_use]
    pub fn rules(mut self, rules: MatchRules) -> Self {
        self.playback.rules = rules;
        self
    }

    /// What comes after all recorded answers to a question were given.
    #[must_use]
    pub fn repeats(mut self, repeats: Repeats) -> Self {
        self.playback.repeats = repeats;
        self
    }

    /// Equal requests that are made at once and have different answers are no [difference](crate::Report::differs). They are reported all the
    /// same.
    #[must_use]
    pub fn allow_ambiguous(mut self) -> Self {
        self.playback.allows_ambiguous = true;
        self
    }

    /// How old recorded answers may be.
    #[must_use]
    pub fn expiry(mut self, expiry: Expiry) -> Self {
        self.playback.expiry = Some(expiry);
        self
    }

    /// What is changed in replayed answers: faults that are put in, and templates.
    #[must_use]
    pub fn edits(mut self, edits: Edits) -> Self {
        self.playback.edits = edits;
        self
    }

    /// What is a secret, on the cassette and in live requests, in place of the usual rules.
    #[must_use]
    pub fn redaction(mut self, redaction: Arc<Redaction>) -> Self {
        self.keeping.redaction = Some(redaction);
        self
    }

    /// Secrets are recorded, and compared, as everything else.
    #[must_use]
    pub fn keep_secrets(mut self) -> Self {
        self.keeping.redaction = None;
        self
    }

    /// What goes to the network and is not recorded. It is counted in the report and on the cassette.
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        self.keeping.filter = filter;
        self
    }

    /// Something to be known of a cassette that is recorded, such as its name. The last value of a name counts.
    #[must_use]
    pub fn note(mut self, note: Note<'static>) -> Self {
        self.keeping.notes.push(note);
        self
    }

    /// Where the certificate authority and the control socket lie, in place of [`data_directory`](crate::data_directory).
    #[must_use]
    pub fn data_directory(mut self, folder: impl Into<PathBuf>) -> Self {
        self.data_directory = Some(folder.into());
        self
    }

    /// Opens a control socket.
    #[must_use]
    pub fn control(mut self, control: ControlOptions) -> Self {
        self.control = Some(control);
        self
    }

    /// How many threads serve, in place of one for each core.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_mapped_to_addresses() {
        let to = "127.0.0.1:8443".parse().unwrap();
        let parsed = |text: &str| text.parse::<Resolve>();
        assert_eq!(parsed("a.test:443=127.0.0.1:8443"), Ok(Resolve { host: "a.test".into(), port: Some(443), to }));
        assert_eq!(parsed("a.test=127.0.0.1:8443"), Ok(Resolve { host: "a.test".into(), port: None, to }));
        assert_eq!(parsed("[::1]:80=127.0.0.1:8443"), Ok(Resolve { host: "::1".into(), port: Some(80), to }));
        for wrong in ["a.test", "a.test:x=127.0.0.1:1", "=127.0.0.1:1", "::1:80=127.0.0.1:1", "a=b"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn hosts_that_pass_have_names_ports_and_domains() {
        let takes = |text: &str, host: &str, port| text.parse::<PassedHost>().unwrap().takes(host, port);
        assert!(takes("a.test", "A.test", 80) && !takes("a.test", "b.a.test", 80) && !takes("a.test:81", "a.test", 80));
        assert!(takes("*.a.test", "b.a.test", 80) && !takes("*.a.test", "ba.test", 80) && takes("*", "b.test", 1));
        for host in ["localhost", "127.0.0.1", "127.0.0.2", "::1", "app.localhost"] {
            assert!(takes("localhost", host, 8080), "{host}");
        }
        assert!(!takes("127.0.0.1", "localhost", 80) && takes("::1", "::1", 80) && takes("[::1]:80", "::1", 80));
        for wrong in ["", "a b", "http://a.test", "a.test:x", "*a.test"] {
            assert!(wrong.parse::<PassedHost>().is_err(), "{wrong}");
        }
        let listed = PassedHost::of_no_proxy("localhost, .corp.test,a.test:8443,");
        assert!(listed[1].takes("b.corp.test", 1) && listed[1].takes("corp.test", 1) && listed.len() == 3);
        assert_eq!(listed[0].names(), ["localhost", "127.0.0.1", "::1"]);
        assert_eq!((listed[1].names(), listed[2].names()), (vec![".corp.test".into()], vec![".a.test:8443".into()]));
        let of = |text: &str| text.parse::<PassedHost>().unwrap().loopback().map(|address| address.to_string());
        assert_eq!(of("localhost:5432").as_deref(), Some("127.0.0.1:5432"));
        assert_eq!((of("localhost"), of("a.test:1"), of("[::1]:9").as_deref()), (None, None, Some("[::1]:9")));
    }

    #[test]
    fn proxies_have_credentials_and_exceptions() {
        let proxy: UpstreamProxy = "http://me:p%40ss@proxy.test:3128/".parse().unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("proxy.test", 3128));
        assert_eq!(proxy.authorization.as_deref(), Some("Basic bWU6cEBzcw=="));
        assert!(!format!("{proxy:?}").contains("bWU"));
        let proxy = proxy.except([".internal.test".to_owned(), "::1".to_owned()]);
        assert!(proxy.serves("a.test") && !proxy.serves("a.INTERNAL.test") && !proxy.serves("::1"));
        assert!(proxy.serves("notinternal.test"));
        let error = "socks5://u:secret@proxy.test".parse::<UpstreamProxy>().unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
