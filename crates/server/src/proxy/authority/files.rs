//! The files of an authority. Each is there in whole or not at all.
//!
//! A key that others may read is refused, and so is a folder in which others may exchange it: whoever has the key can pretend to be
//! any host towards programs that trust the authority. Nobody knows whether it was read, so it is not mended in silence.

use crate::proxy::error::AuthorityError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use journal::{Access, open_regular};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The key of an authority and its certificate, with the times that the certificate says, in seconds since 1970.
pub(super) struct AuthorityMaterial {
    pub(super) made: u64,
    pub(super) expires: u64,
    pub(super) key: String,
    pub(super) certificate: String,
}

/// What group and others may do with a file; and that they may change it.
const OTHERS: u32 = 0o077;
const OTHERS_WRITE: u32 = 0o022;
/// No key and certificate are longer.
const BYTES_MAX: u64 = 1 << 20;

const FIRST_LINE: &str = "metroon certificate authority 1";
const CERTIFICATE_BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const CERTIFICATE_END: &str = "-----END CERTIFICATE-----";

impl AuthorityMaterial {
    /// What lies at a path; `None` if nothing does.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, AuthorityError> {
        let file = match open_regular(path, Access::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("read", path)(error)),
        };
        let mode = file.metadata().map_err(failed("look at", path))?.mode() & 0o777;
        if mode & OTHERS != 0 {
            return Err(AuthorityError::KeyOfOthers { path: path.to_owned(), mode });
        }
        let mut bytes = Vec::new();
        file.take(BYTES_MAX).read_to_end(&mut bytes).map_err(failed("read", path))?;
        let parsed = String::from_utf8(bytes).ok().and_then(|text| Self::parse(&text));
        parsed.map(Some).ok_or_else(|| AuthorityError::Damaged(path.to_owned()))
    }

    fn parse(text: &str) -> Option<Self> {
        let (head, rest) = text.strip_prefix(FIRST_LINE)?.strip_prefix('\n')?.split_once('\n')?;
        let (made, expires) = head.strip_prefix("from ")?.split_once(" to ")?;
        let (key, certificate) = rest.split_at(rest.find(CERTIFICATE_BEGIN)?);
        let (made, expires) = (made.parse().ok()?, expires.parse().ok()?);
        Some(Self { made, expires, key: key.to_owned(), certificate: certificate.to_owned() })
    }

    fn text(&self) -> String {
        let Self { made, expires, key, certificate } = self;
        format!("{FIRST_LINE}\nfrom {made} to {expires}\n{key}{certificate}")
    }
}

/// Makes the folder, which is nobody else's, and locks it against other processes until the lock is dropped.
pub(super) fn lock_folder(folder: &Path) -> Result<File, AuthorityError> {
    let parents = folder.parent().map_or(Ok(()), fs::create_dir_all);
    parents.map_err(failed("make", folder))?;
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed("make", folder)(error)),
        _ => {}
    }
    let mode = fs::metadata(folder).map_err(failed("look at", folder))?.mode() & 0o777;
    if mode & OTHERS_WRITE != 0 {
        return Err(AuthorityError::FolderOfOthers { path: folder.to_owned(), mode });
    }
    let path = folder.join("ca.lock");
    let mut options = OpenOptions::new();
    let lock = options.write(true).create(true).truncate(false).mode(0o600).open(&path);
    let lock = lock.and_then(|lock| lock.lock().map(|()| lock));
    lock.map_err(failed("lock", &path))
}

pub(super) fn write_private(path: &Path, private: &AuthorityMaterial) -> Result<(), AuthorityError> {
    write(path, &private.text(), 0o600)
}

/// Writes what anybody may read, unless it is there already.
pub(super) fn write_public(path: &Path, text: &str) -> Result<(), AuthorityError> {
    if fs::read_to_string(path).is_ok_and(|found| found == text) {
        return Ok(());
    }
    write(path, text, 0o644)
}

/// Puts a file in place at once. The holder of the folder's lock is the only one who writes.
fn write(path: &Path, text: &str, mode: u32) -> Result<(), AuthorityError> {
    let unfinished = with_ending(path, ".new");
    let put = || {
        let _ = fs::remove_file(&unfinished);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&unfinished)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, path)
    };
    put().map_err(failed("write", path))
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn failed(action: &'static str, path: &Path) -> impl Fn(io::Error) -> AuthorityError {
    let path = path.to_owned();
    move |error| AuthorityError::File { action, path: path.clone(), error }
}

/// The bytes of a certificate in PEM.
pub(super) fn der_of(pem: &str) -> Option<Vec<u8>> {
    let (_, rest) = pem.split_once(CERTIFICATE_BEGIN)?;
    let (text, _) = rest.split_once(CERTIFICATE_END)?;
    STANDARD.decode(text.split_ascii_whitespace().collect::<String>()).ok()
}

/// A certificate in PEM (RFC 7468).
pub(super) fn pem_of(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines = text.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line).into_owned() + "\n");
    format!("{CERTIFICATE_BEGIN}\n{}{CERTIFICATE_END}\n", lines.collect::<String>())
}
