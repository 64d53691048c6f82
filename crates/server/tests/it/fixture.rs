//! A folder, a proxy and clients that say exactly what a test wants.

use cassette::Cassette;
use origin::Origin;
use server::{Latency, Proxy, ProxyOptions, Report, Resolve, Traffic};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub(crate) use cassette::Mode;

/// No test waits for longer than this for anything.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until something is so.
pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Says something to who runs the test, or to the test that runs this process.
pub(crate) fn say(what: std::fmt::Arguments<'_>) {
    let mut out = std::io::stdout();
    out.write_fmt(what).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()).unwrap();
}

/// A folder that is gone after the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("metroon-server-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A cassette, and proxies that use it.
pub(crate) struct Trip {
    pub(crate) folder: Folder,
    pub(crate) origin: Option<Origin>,
    plain: SocketAddr,
    tls: SocketAddr,
}

impl Trip {
    pub(crate) fn new() -> Self {
        Self::to(Origin::start())
    }

    /// One on whose cassette the answer of `/json` is.
    pub(crate) fn with_json() -> Self {
        let trip = Self::new();
        let proxy = trip.record();
        assert_eq!(client(&proxy).get("/json").status, 200);
        proxy.stop().unwrap();
        trip
    }

    pub(crate) fn to(origin: Origin) -> Self {
        let folder = Folder::new();
        fs::write(folder.path("origin.pem"), origin.ca_pem()).unwrap();
        let (plain, tls) = (origin.plain(), origin.tls());
        Self { folder, origin: Some(origin), plain, tls }
    }

    pub(crate) fn cassette(&self) -> PathBuf {
        self.folder.path("trip.cassette")
    }

    /// Options of a proxy by which `api.metroon.test` is the origin.
    pub(crate) fn options(&self, mode: Mode) -> ProxyOptions {
        let resolve = |port, to| Resolve { host: origin::NAME.to_owned(), port: Some(port), to };
        ProxyOptions::new(Traffic::cassette(self.cassette(), mode))
            .data_directory(self.folder.path("data"))
            .upstream_roots(self.folder.path("origin.pem"))
            .resolve(resolve(80, self.plain))
            .resolve(resolve(443, self.tls))
            .latency(Latency::None)
            .threads(2)
    }

    pub(crate) fn record(&self) -> Proxy {
        Proxy::start(self.options(Mode::All)).unwrap()
    }

    /// A proxy that answers from the cassette, the origin being stopped.
    pub(crate) fn replay(&mut self) -> Proxy {
        self.stop_origin();
        Proxy::start(self.options(Mode::None)).unwrap()
    }

    /// Does the same while it is recorded and while it is replayed; gives what both came to, and the report of the replay.
    pub(crate) fn twice<T>(&mut self, with: impl Fn(&Proxy) -> T) -> (T, T, Report) {
        self.twice_with(|options| options, with)
    }

    /// Does what `twice` does, with proxies that are told more.
    pub(crate) fn twice_with<T>(
        &mut self,
        more: impl Fn(ProxyOptions) -> ProxyOptions,
        with: impl Fn(&Proxy) -> T,
    ) -> (T, T, Report) {
        let proxy = Proxy::start(more(self.options(Mode::All))).unwrap();
        let recorded = with(&proxy);
        proxy.stop().unwrap();
        self.stop_origin();
        let proxy = Proxy::start(more(self.options(Mode::None))).unwrap();
        let replayed = with(&proxy);
        (recorded, replayed, proxy.stop().unwrap())
    }

    /// Records and replays a request for a URL of `rude.test`, which is at this address; gives what both came to, and the cassette.
    pub(crate) fn twice_at<T>(to: SocketAddr, with: impl Fn(&Proxy) -> T) -> (T, T, Cassette) {
        let mut trip = Self::new();
        let resolve = Resolve { host: "rude.test".to_owned(), port: None, to };
        let (recorded, replayed, report) = trip.twice_with(|options| options.resolve(resolve.clone()), with);
        assert_eq!((report.replayed, report.missed), (1, 0));
        (recorded, replayed, Cassette::open(trip.cassette()).unwrap())
    }

    fn stop_origin(&mut self) {
        if let Some(origin) = self.origin.take() {
            origin.stop();
        }
    }
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The first line and the headers, as they came.
    pub(crate) head: Vec<u8>,
    pub(crate) status: u16,
    /// The body, of which chunks are put together.
    pub(crate) body: Vec<u8>,
    /// The chunks, if it came in such.
    pub(crate) chunks: Vec<Vec<u8>>,
    pub(crate) trailers: Vec<u8>,
    /// Whether it came to its end.
    pub(crate) is_whole: bool,
}

impl Answer {
    /// All values of a header.
    pub(crate) fn headers(&self, name: &str) -> Vec<Vec<u8>> {
        let lines = self.head.split(|&byte| byte == b'\n').skip(1);
        let values = lines.filter_map(|line| {
            let at = line.iter().position(|&byte| byte == b':')?;
            let (found, value) = line.split_at(at);
            found.eq_ignore_ascii_case(name.as_bytes()).then(|| value[1..].trim_ascii().to_vec())
        });
        values.collect()
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.headers(name).first().map(|value| String::from_utf8_lossy(value).into_owned())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

/// A client that writes what it is told and reads HTTP/1, on any connection.
pub(crate) struct Client<S> {
    pub(crate) stream: S,
    pub(crate) buffer: Vec<u8>,
}

/// A client of a proxy.
pub(crate) fn client(proxy: &Proxy) -> Client<TcpStream> {
    client_of(proxy.address())
}

pub(crate) fn client_of(address: SocketAddr) -> Client<TcpStream> {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    Client { stream, buffer: Vec::new() }
}

impl Client<TcpStream> {
    /// This client within a tunnel, with TLS, which trusts the authority of the proxy only.
    pub(crate) fn secure(mut self, proxy: &Proxy, host: &str) -> Client<Secure> {
        self.connect(host, 443);
        let config = trusting(proxy.authority().certificate(), &[b"http/1.1"]);
        let name = rustls::pki_types::ServerName::try_from(host.to_owned()).unwrap();
        let connection = rustls::ClientConnection::new(config, name).unwrap();
        Client { stream: rustls::StreamOwned::new(connection, self.stream), buffer: Vec::new() }
    }

    /// Opens a tunnel.
    pub(crate) fn connect(&mut self, host: &str, port: u16) {
        self.send(format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n"));
        let answer = self.answer("CONNECT");
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}

pub(crate) type Secure = rustls::StreamOwned<rustls::ClientConnection, TcpStream>;

/// How TLS is spoken by a client that trusts these certificates only.
pub(crate) fn trusting(pem: &Path, protocols: &[&[u8]]) -> Arc<rustls::ClientConfig> {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_file_iter(pem).unwrap().map(Result::unwrap));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Arc::new(config)
}

impl<S: Read + Write> Client<S> {
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
        self.stream.flush().unwrap();
    }

    /// Asks for a path of the origin by its URL, as clients of a proxy do.
    pub(crate) fn get(&mut self, target: &str) -> Answer {
        self.ask("GET", target, "", b"")
    }

    /// Asks with headers, each ended by CR LF, and a body.
    pub(crate) fn ask(&mut self, method: &str, target: &str, headers: &str, body: &[u8]) -> Answer {
        let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        let name = origin::NAME;
        let head = format!("{method} http://{name}{target} HTTP/1.1\r\nHost: {name}\r\n{headers}{length}\r\n");
        self.send([head.as_bytes(), body].concat());
        self.answer(method)
    }

    /// Asks within a tunnel, with headers, each ended by CR LF, and a body.
    pub(crate) fn ask_inside(&mut self, method: &str, target: &str, headers: &str, body: &[u8]) -> Answer {
        let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        let head = format!("{method} {target} HTTP/1.1\r\nHost: {}\r\n{headers}{length}\r\n", origin::NAME);
        self.send([head.as_bytes(), body].concat());
        self.answer(method)
    }

    /// Reads more; whether there was something.
    pub(crate) fn fill(&mut self) -> bool {
        let mut bytes = [0; 64 << 10];
        match self.stream.read(&mut bytes) {
            Ok(count) => {
                self.buffer.extend_from_slice(&bytes[..count]);
                count > 0
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("nothing came for {PATIENCE:?}; so far: {}", self.buffer.escape_ascii())
            }
            Err(_) => false,
        }
    }

    /// Everything until the connection ends.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        while self.fill() {}
        std::mem::take(&mut self.buffer)
    }

    /// A head, its empty line included.
    pub(crate) fn head(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(at) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                return Some(self.buffer.drain(..at + 4).collect());
            }
            if !self.fill() {
                return None;
            }
        }
    }

    pub(crate) fn answer(&mut self, method: &str) -> Answer {
        self.try_answer(method).unwrap_or_else(|| panic!("no answer, but {}", self.buffer.escape_ascii()))
    }

    /// The next answer; `None` if the connection ended before it.
    pub(crate) fn try_answer(&mut self, method: &str) -> Option<Answer> {
        let head = self.head()?;
        let status = std::str::from_utf8(&head[9..12]).unwrap().parse().unwrap();
        let mut answer =
            Answer { head, status, body: Vec::new(), chunks: Vec::new(), trailers: Vec::new(), is_whole: true };
        if method == "HEAD" || method == "CONNECT" || status < 200 || matches!(status, 204 | 304) {
            return Some(answer);
        }
        if answer.header("transfer-encoding").as_deref() == Some("chunked") {
            self.chunks(&mut answer);
        } else if let Some(length) = answer.header("content-length") {
            let length = length.parse().unwrap();
            while self.buffer.len() < length && answer.is_whole {
                answer.is_whole = self.fill();
            }
            answer.body = self.buffer.drain(..length.min(self.buffer.len())).collect();
        } else {
            answer.body = self.rest();
        }
        Some(answer)
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(at) = self.buffer.windows(2).position(|two| two == b"\r\n") {
                return Some(self.buffer.drain(..at + 2).collect());
            }
            if !self.fill() {
                return None;
            }
        }
    }

    fn chunks(&mut self, answer: &mut Answer) {
        while let Some(chunk) = self.chunk() {
            if chunk.is_empty() {
                loop {
                    match self.line() {
                        Some(line) if line == b"\r\n" => return,
                        Some(line) => answer.trailers.extend(line),
                        None => break,
                    }
                }
                break;
            }
            answer.body.extend_from_slice(&chunk);
            answer.chunks.push(chunk);
        }
        answer.is_whole = false;
    }

    /// The next chunk; the last one is empty. `None` if the connection ended in it.
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        let line = self.line()?;
        let size = usize::from_str_radix(std::str::from_utf8(&line).unwrap().trim(), 16).unwrap();
        if size == 0 {
            return Some(Vec::new());
        }
        while self.buffer.len() < size + 2 {
            if !self.fill() {
                return None;
            }
        }
        let chunk = self.buffer.drain(..size).collect();
        self.buffer.drain(..2);
        Some(chunk)
    }
}

/// A server that says the same to everybody, whatever they say: for what no library would send.
pub(crate) struct Rude {
    pub(crate) address: SocketAddr,
}

impl Rude {
    /// Answers each head with this, and ends the connection if it says so.
    pub(crate) fn start(answer: &'static [u8]) -> Self {
        Self::with(move |stream| {
            let mut client = Client { stream, buffer: Vec::new() };
            while client.head().is_some() {
                if client.stream.write_all(answer).is_err() || answer.windows(5).any(|five| five == b"close") {
                    return;
                }
            }
        })
    }

    /// Does something with each connection, on a thread of its own.
    pub(crate) fn with(each: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let each = Arc::new(each);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let each = each.clone();
                std::thread::spawn(move || each(stream));
            }
        });
        Self { address }
    }
}
