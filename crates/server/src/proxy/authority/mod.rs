//! The certificate authority that clients of the proxy trust.
//!
//! 1. It is made once, in a folder of the user, and lasts ten years. The key is nobody else's to read, and never leaves the folder.
//! 2. Processes that make it at the same time take turns at a lock, so that all have the same.
//! 3. `ca.pem` is its certificate, `bundle.pem` the same beside those that the system trusts, for programs that take one file only.
//! 4. A host gets a certificate when somebody first asks for it. It lasts three months at most and is made anew every day.

mod files;
mod leaves;

pub(crate) use leaves::LeafCertificates;

use crate::proxy::error::AuthorityError;
use files::{AuthorityMaterial, lock_folder, write_private, write_public};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, date_time_ymd};
use rustls::pki_types::CertificateDer;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, fmt};

const DAY: u64 = 24 * 60 * 60;
/// How long a new authority lasts.
const LASTS: u64 = 3650 * DAY;
/// One that ends earlier is made anew.
const RENEWED_BEFORE: u64 = 30 * DAY;

/// The certificate authority that clients of the proxy trust.
pub struct Authority {
    folder: PathBuf,
    certificate: PathBuf,
    bundle: PathBuf,
    issuer: Issuer<'static, KeyPair>,
    der: CertificateDer<'static>,
    expires: u64,
}

/// The folder of the user's data: `$METROON_DATA_DIR`, else `$XDG_DATA_HOME/metroon`, else `~/.local/share/metroon`.
///
/// # Errors
/// None of the variables is set.
pub fn data_directory() -> Result<PathBuf, AuthorityError> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let of_the_user = || variable("HOME").map(|home| home.join(".local/share"));
    // XDG paths that are not absolute are to be ignored.
    let shared = || variable("XDG_DATA_HOME").filter(|path| path.is_absolute()).or_else(of_the_user);
    let folder = variable("METROON_DATA_DIR").or_else(|| shared().map(|shared| shared.join("metroon")));
    folder.ok_or(AuthorityError::NoFolder)
}

impl Authority {
    /// The authority that lies in a folder, which is made if it is not there. It is made anew if it ends within a month.
    /// Programs that are told of its files may work in another folder, so all its paths are absolute.
    ///
    /// # Errors
    /// The system refuses, or what lies there is something else.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, AuthorityError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let folder = folder.as_ref();
        let absolute = std::path::absolute(folder);
        let failed = |error| AuthorityError::File { action: "find", path: folder.to_owned(), error };
        Self::open_at(&absolute.map_err(failed)?, now)
    }

    fn open_at(folder: &Path, now: u64) -> Result<Self, AuthorityError> {
        let _lock = lock_folder(folder)?;
        let private_path = folder.join("ca-key.pem");
        let private = match AuthorityMaterial::read(&private_path)? {
            Some(private) if private.expires > now + RENEWED_BEFORE => private,
            _ => {
                let made = make(now)?;
                write_private(&private_path, &made)?;
                made
            }
        };
        let damaged = || AuthorityError::Damaged(private_path.clone());
        let key = KeyPair::from_pem(&private.key).map_err(|_| damaged())?;
        let issuer = Issuer::new(params(private.made, private.expires), key);
        let der = files::der_of(&private.certificate).ok_or_else(damaged)?;
        let (certificate, bundle) = (folder.join("ca.pem"), folder.join("bundle.pem"));
        write_public(&certificate, &private.certificate)?;
        write_public(&bundle, &bundle_of(&private.certificate))?;
        let expires = private.expires;
        Ok(Self { folder: folder.to_owned(), certificate, bundle, issuer, der: der.into(), expires })
    }

    /// The folder that it lies in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its certificate, in PEM.
    pub fn certificate(&self) -> &Path {
        &self.certificate
    }

    /// Its certificate and those that the system trusts, in PEM.
    pub fn bundle(&self) -> &Path {
        &self.bundle
    }

    /// When it ends, in seconds since 1970.
    pub fn expires(&self) -> u64 {
        self.expires
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// What every certificate of the authority says. The same times give the same, so that only the key has to be kept.
fn params(made: u64, expires: u64) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.not_before = date_time_ymd(1970, 1, 1) + Duration::from_secs(made);
    params.not_after = date_time_ymd(1970, 1, 1) + Duration::from_secs(expires);
    params.distinguished_name.push(DnType::CommonName, "Metroon recording proxy");
    params.distinguished_name.push(DnType::OrganizationName, "Metroon, on this computer only");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn make(now: u64) -> Result<AuthorityMaterial, AuthorityError> {
    // Clocks of others may be a little behind.
    let (made, expires) = (now.saturating_sub(DAY), now + LASTS);
    let failed = |error: rcgen::Error| AuthorityError::Certificate(error.to_string());
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = params(made, expires).self_signed(&key).map_err(failed)?.pem();
    Ok(AuthorityMaterial { made, expires, key: key.serialize_pem(), certificate })
}

fn bundle_of(certificate: &str) -> String {
    let system = rustls_native_certs::load_native_certs().certs;
    system.iter().fold(certificate.to_owned(), |bundle, der| bundle + &files::pem_of(der))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn folder(name: &str) -> PathBuf {
        let folder = env::temp_dir().join(format!("metroon-authority-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn ca_key_is_private() {
        let folder = folder("private");
        let authority = Authority::open(&folder).unwrap();
        let mode = |name| fs::metadata(folder.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("ca-key.pem"), mode("ca.pem"), mode("bundle.pem")), (0o600, 0o644, 0o644));
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        let public = fs::read_to_string(authority.certificate()).unwrap();
        assert!(!public.contains("PRIVATE") && !fs::read_to_string(authority.bundle()).unwrap().contains("PRIVATE"));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_authority_stays_until_it_is_about_to_end() {
        let folder = folder("renewed");
        let certificate = |now| fs::read_to_string(Authority::open_at(&folder, now).unwrap().certificate()).unwrap();
        let first = certificate(1_800_000_000);
        assert_eq!(first, certificate(1_800_000_000 + LASTS - RENEWED_BEFORE - 1));
        assert_ne!(first, certificate(1_800_000_000 + LASTS - RENEWED_BEFORE));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn all_who_make_it_at_once_have_the_same() {
        let folder = folder("at-once");
        let made: Vec<_> = std::thread::scope(|scope| {
            let makers: Vec<_> = (0..8).map(|_| scope.spawn(|| Authority::open(&folder).unwrap().der)).collect();
            makers.into_iter().map(|maker| maker.join().unwrap()).collect()
        });
        assert!(made.windows(2).all(|pair| pair[0] == pair[1]));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn paths_are_absolute() {
        let folder = folder("absolute");
        let up = "../".repeat(env::current_dir().unwrap().components().count() - 1);
        let relative = PathBuf::from(up).join(folder.strip_prefix("/").unwrap());
        let authority = Authority::open(relative).unwrap();
        assert!(authority.certificate().is_absolute() && folder.join("ca.pem").is_file());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_key_that_others_may_read_and_a_folder_that_they_may_write_to_are_refused() {
        let folder = folder("wide");
        let certificate = fs::read(Authority::open(&folder).unwrap().certificate()).unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let key = folder.join("ca-key.pem");
        for mode in [0o604, 0o640, 0o644, 0o660, 0o602] {
            set(&key, mode);
            let error = Authority::open(&folder).unwrap_err();
            assert!(matches!(error, AuthorityError::KeyOfOthers { mode: found, .. } if found == mode), "{error}");
            assert!(error.to_string().contains(&format!("chmod 600 {}", key.display())), "{error}");
        }
        set(&key, 0o600);
        for mode in [0o777, 0o770, 0o702] {
            set(&folder, mode);
            let error = Authority::open(&folder).unwrap_err();
            assert!(matches!(error, AuthorityError::FolderOfOthers { mode: found, .. } if found == mode), "{error}");
            assert!(error.to_string().contains(&format!("chmod go-w {}", folder.display())), "{error}");
        }
        for mode in [0o755, 0o700] {
            set(&folder, mode);
            assert_eq!(fs::read(Authority::open(&folder).unwrap().certificate()).unwrap(), certificate);
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_no_authority_is_left_alone() {
        let folder = folder("damaged");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("ca-key.pem"), "something of mine").unwrap();
        fs::set_permissions(folder.join("ca-key.pem"), fs::Permissions::from_mode(0o600)).unwrap();
        assert!(matches!(Authority::open(&folder), Err(AuthorityError::Damaged(_))));
        assert_eq!(fs::read_to_string(folder.join("ca-key.pem")).unwrap(), "something of mine");
        fs::remove_dir_all(folder).unwrap();
    }
}
