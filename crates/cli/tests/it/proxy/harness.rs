//! An origin, a folder, and `metroon` between a client and the origin.

use crate::harness::{Ended, Folder, wait};
use origin::{Origin, Protocols};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Variables that would send requests elsewhere, or say what is to be trusted.
const INHERITED: [&str; 10] = [
    "http_proxy",
    "HTTP_PROXY",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "PYTHONPATH",
    "NODE_OPTIONS",
];

/// A place to record and replay in.
pub(super) struct Stage {
    pub(super) folder: Folder,
    pub(super) origin: Option<Origin>,
    /// What the recording is told of the origin.
    reach: Vec<String>,
    /// A further server, which ends with its standard input.
    server: Option<Child>,
}

impl Stage {
    pub(super) fn new(name: &str) -> Self {
        Self::with(name, Protocols::Both)
    }

    pub(super) fn with(name: &str, protocols: Protocols) -> Self {
        let folder = Folder::new(&format!("proxy-{name}"));
        let origin = Origin::with(protocols);
        folder.write("origin.pem", origin.ca_pem());
        let resolve = |port: u16, to| format!("--resolve={}:{port}={to}", origin::NAME);
        let certificate = format!("--upstream-ca={}", folder.path().join("origin.pem").display());
        let reach = vec![resolve(443, origin.tls()), resolve(80, origin.plain()), certificate];
        Self { folder, origin: Some(origin), reach, server: None }
    }

    /// Starts a further server at `more.metroon.test`, of a kind that `serves.py` knows.
    pub(super) fn serve(&mut self, python: &Path, kind: &str) {
        let identity = self.origin.as_ref().expect("it is there").identity_pem();
        self.folder.write("identity.pem", identity);
        let mut command = Command::new(python);
        command.arg("-B").arg(client("serves.py")).args([kind, "identity.pem"]).current_dir(self.folder.path());
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python runs");
        let mut port = String::new();
        let out = server.stdout.take().expect("it is piped");
        BufReader::new(out).read_line(&mut port).expect("it says its port");
        let port: u16 = port.trim().parse().expect("a port is a number");
        self.reach.push(format!("--resolve=more.metroon.test:443=127.0.0.1:{port}"));
        self.server = Some(server);
    }

    /// Nothing is there any more that could answer but the cassette.
    pub(super) fn stop_origin(&mut self) {
        if let Some(origin) = self.origin.take() {
            origin.stop();
        }
        if let Some(mut server) = self.server.take() {
            server.kill().and_then(|()| server.wait()).expect("a server can be ended");
        }
    }

    /// `metroon` in the folder, with an authority that the tests share.
    pub(super) fn metroon(&self, words: &[&str]) -> Command {
        let mut command = self.folder.command(words);
        command.env("METROON_DATA_DIR", data_folder());
        for name in INHERITED {
            command.env_remove(name);
        }
        command
    }

    /// `metroon record -o trip.cassette WORDS`, which knows the origin.
    pub(super) fn recording(&self, words: &[&str]) -> Command {
        let mut command = self.metroon(&["record"]);
        if !words.contains(&"-o") {
            command.args(["-o", "trip.cassette"]);
        }
        command.args(&self.reach).args(words);
        command
    }

    /// Records a program.
    pub(super) fn record(&self, program: &[OsString]) -> Ended {
        let mut command = self.recording(&["--"]);
        run(command.args(program))
    }

    /// Answers a program from what was recorded.
    pub(super) fn replay(&self, words: &[&str], program: &[OsString]) -> Ended {
        let mut command = self.metroon(&["replay", "trip.cassette"]);
        run(command.args(words).arg("--").args(program))
    }
}

pub(super) fn run(command: &mut Command) -> Ended {
    wait(command.stdin(Stdio::null()).spawn().expect("the binary runs"))
}

pub(super) fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// The authority of all tests: making one for each would take longer.
pub(super) fn data_folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("proxy-data")
}

/// A file of the folder of clients.
pub(super) fn client(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/proxy/clients").join(name)
}

/// The world of documents: an origin that answers for `pond.example` and `example.com`, and a `metroon` that is told so.
pub(crate) struct Pond {
    origin: Origin,
    folder: PathBuf,
}

/// The names that documents use.
const POND: [&str; 2] = ["pond.example", "example.com"];

impl Pond {
    pub(crate) fn new(name: &str) -> Self {
        let origin = Origin::start();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("pond-{name}"));
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        let pond = Self { origin, folder };
        std::fs::write(pond.folder.join("origin.pem"), pond.origin.ca_pem()).expect("a file can be written");
        pond.write_program();
        pond
    }

    /// The options by which a recording finds the origin.
    pub(crate) fn options(&self) -> String {
        let (tls, plain) = (self.origin.tls(), self.origin.plain());
        let resolve = POND.map(|name| format!("--resolve={name}:443={tls} --resolve={name}:80={plain}"));
        format!("{} --upstream-ca={}", resolve.join(" "), self.folder.join("origin.pem").display())
    }

    /// A folder with the program, to be the first of `PATH`.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn write_program(&self) {
        let binary = env!("CARGO_BIN_EXE_metroon");
        let unset = INHERITED.join(" ");
        let data = data_folder();
        let text = format!(
            "#!/bin/sh\nunset {unset} CI\nexport METROON_DATA_DIR='{}'\nif [ \"$1\" = record ]; then\n  shift\n  \
             exec '{binary}' record {} \"$@\"\nfi\nexec '{binary}' \"$@\"\n",
            data.display(),
            self.options()
        );
        let path = self.folder.join("metroon");
        std::fs::write(&path, text).expect("a file can be written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("it can be made a program");
    }
}

/// Whether a program is there. If not, the test that needs it is skipped, which fails where nothing may be.
pub(crate) fn has(program: &str, version: &str) -> bool {
    let asked = Command::new(program).arg(version).stdout(Stdio::null()).stderr(Stdio::null()).status();
    asked.is_ok_and(|status| status.success()) || skipped(program)
}

/// What a variable names; `cargo xtask test` sets it.
pub(super) fn named(variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from);
    path.or_else(|| {
        skipped(&format!("what {variable} names"));
        None
    })
}

/// Says that a test is skipped, and gives `false`.
fn skipped(missing: &str) -> bool {
    assert!(std::env::var_os("METROON_CLIENTS_ALL").is_none(), "{missing} is missing, and no client may be");
    let text =
        format!("skipped: {missing} is missing; `cargo xtask test --only clients` gets what package managers have\n");
    std::io::stderr().write_all(text.as_bytes()).expect("it can be said");
    false
}
