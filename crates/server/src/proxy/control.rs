//! The socket by which a running proxy is asked for its state, told to use another cassette, and told to stop.
//!
//! Each line is a JSON object, and so is each answer: `{"command": "status"}`, `{"command": "use", "cassette": "b.cassette", "mode":
//! "none"}`, `{"command": "stop"}`. An answer has `"ok": true`, or `false` and an `"error"`. Nobody but the user may connect.

use super::client::state;
use super::error::ProxyError;
use super::options::{ControlOptions, Traffic};
use super::shared::ProxyState;
use cassette::Mode;
use serde_json::{Value, json};
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::os::unix::net;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

/// A line with a command is not longer.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// How long a client of the socket may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// The socket, which is gone when this is dropped.
pub(crate) struct ControlSocket {
    path: PathBuf,
}

/// A socket that clients may connect to, and that nobody answers at yet.
pub(crate) struct BoundControlSocket {
    socket: ControlSocket,
    listener: net::UnixListener,
    /// The folder that cassettes must lie in.
    cassettes: Option<PathBuf>,
}

impl BoundControlSocket {
    /// Opens the socket of a proxy at a port.
    pub(crate) fn open(control: &ControlOptions, port: u16, folder: &Path) -> Result<Self, ProxyError> {
        let usual = || folder.join(format!("proxy-{port}.sock"));
        let path = control.socket.clone().unwrap_or_else(usual);
        let failed = |error| ProxyError::File { action: "open the control socket", path: path.clone(), error };
        let cassettes = control.cassettes.as_ref().map(fs::canonicalize).transpose().map_err(failed)?;
        let listener = bind(&path).map_err(failed)?;
        Ok(Self { socket: ControlSocket { path }, listener, cassettes })
    }

    /// Answers what comes to it, from now on, on the thread of the runtime that this is called in.
    pub(crate) fn serve(self, shared: &Arc<ProxyState>) -> Result<ControlSocket, ProxyError> {
        let Self { socket, listener, cassettes } = self;
        let path = &socket.path;
        let failed = |error| ProxyError::File { action: "listen at the control socket", path: path.clone(), error };
        let listener = UnixListener::from_std(listener).map_err(failed)?;
        tokio::spawn(accept(shared.clone(), listener, cassettes.map(Arc::new)));
        Ok(socket)
    }
}

impl ControlSocket {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        // Another may lie there by now only if somebody removed this one.
        let _ = fs::remove_file(&self.path);
    }
}

/// Binds a socket that is the user's alone from the first moment: it is made in a folder of its own and then moved. It takes the
/// place of a socket that nobody answers at, and of nothing else.
fn bind(path: &Path) -> io::Result<net::UnixListener> {
    if path.symlink_metadata().is_ok_and(|there| !there.file_type().is_socket()) {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "something else lies there"));
    }
    if net::UnixStream::connect(path).is_ok() {
        return Err(io::Error::new(io::ErrorKind::AddrInUse, "another proxy answers there"));
    }
    let mut private = path.as_os_str().to_owned();
    private.push(format!(".{}", std::process::id()));
    let private = PathBuf::from(private);
    DirBuilder::new().mode(0o700).create(&private)?;
    let unmoved = private.join("s");
    let bound = net::UnixListener::bind(&unmoved).and_then(|listener| {
        listener.set_nonblocking(true)?;
        fs::set_permissions(&unmoved, Permissions::from_mode(0o600))?;
        fs::rename(&unmoved, path)?;
        Ok(listener)
    });
    if bound.is_err() {
        let _ = fs::remove_file(&unmoved);
    }
    fs::remove_dir(&private)?;
    bound
}

async fn accept(shared: Arc<ProxyState>, listener: UnixListener, cassettes: Option<Arc<PathBuf>>) {
    let stopping = shared.stopping();
    tokio::pin!(stopping);
    loop {
        tokio::select! {
            () = &mut stopping => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(tokio::spawn(serve(shared.clone(), stream, cassettes.clone()))),
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
        }
    }
}

async fn serve(shared: Arc<ProxyState>, stream: UnixStream, cassettes: Option<Arc<PathBuf>>) {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read);
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut lines).take(LINE_BYTES_MAX);
        let read = tokio::time::timeout(SILENCE_MAX, limited.read_until(b'\n', &mut line)).await;
        if !matches!(read, Ok(Ok(1..))) {
            return;
        }
        let answer = match serde_json::from_slice(&line) {
            Ok(command) => answer(&shared, &command, cassettes.as_deref()).await,
            Err(error) => Err(format!("a command is a line with a JSON object: {error}")),
        };
        let stops = matches!(&answer, Ok(answer) if answer.get("stopping").is_some());
        let mut answer = answer.unwrap_or_else(|error| json!({"error": error}));
        answer["ok"] = (answer.get("error").is_none()).into();
        let sent = write.write_all(format!("{answer}\n").as_bytes()).await;
        if stops {
            shared.stops.send_replace(true);
        }
        if sent.is_err() {
            return;
        }
    }
}

async fn answer(shared: &Arc<ProxyState>, command: &Value, cassettes: Option<&PathBuf>) -> Result<Value, String> {
    let text = |name: &str| command.get(name).and_then(Value::as_str);
    match text("command") {
        Some("status") => Ok(state(shared)),
        Some("stop") => Ok(json!({"stopping": true})),
        Some("use") => {
            let mode: Mode = text("mode").unwrap_or("once").parse().map_err(|error| format!("{error}"))?;
            let traffic = match text("cassette") {
                None if mode == Mode::Passthrough => Traffic::passthrough(),
                None => return Err("`use` wants a cassette".to_owned()),
                Some(name) => Traffic::cassette(confined(name, cassettes.map(PathBuf::as_path))?, mode),
            };
            let switching = shared.clone();
            let switched = tokio::task::spawn_blocking(move || switching.switch(&traffic)).await;
            switched.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
            Ok(state(shared))
        }
        _ => Err("there are the commands `status`, `use` and `stop`".to_owned()),
    }
}

/// The path of a cassette that was named, which does not lead out of the folder that it is named in.
fn confined(name: &str, folder: Option<&Path>) -> Result<PathBuf, String> {
    let Some(folder) = folder else { return Ok(PathBuf::from(name)) };
    let refused = || format!("`{name}` is not in the folder of the cassettes");
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let relative = Path::new(name);
    if name.is_empty() || !relative.components().all(is_plain) {
        return Err(refused());
    }
    let path = folder.join(relative);
    // A link in the folder may lead out of it.
    let there = [path.parent(), path.exists().then_some(path.as_path())];
    for part in there.into_iter().flatten() {
        let real = fs::canonicalize(part).map_err(|error| format!("`{name}`: {error}"))?;
        if !real.starts_with(folder) {
            return Err(refused());
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cassette_name_is_confined() {
        let folder = std::env::temp_dir().join(format!("metroon-confined-{}", std::process::id()));
        fs::create_dir_all(folder.join("cassettes/sub")).unwrap();
        fs::write(folder.join("secret"), "").unwrap();
        let cassettes = fs::canonicalize(folder.join("cassettes")).unwrap();
        std::os::unix::fs::symlink(&folder, cassettes.join("link")).unwrap();
        std::os::unix::fs::symlink(folder.join("secret"), cassettes.join("file-link")).unwrap();
        for name in ["a.cassette", "sub/a.cassette", "./a.cassette"] {
            assert_eq!(confined(name, Some(&cassettes)), Ok(cassettes.join(name)), "{name}");
        }
        for name in ["../a.cassette", "sub/../../secret", "/etc/passwd", "", "link/secret", "file-link", ".."] {
            assert!(confined(name, Some(&cassettes)).is_err(), "{name}");
        }
        assert_eq!(confined("../a.cassette", None), Ok(PathBuf::from("../a.cassette")));
        fs::remove_dir_all(folder).unwrap();
    }
}
