//! Whom servers must be certified by.

use crate::proxy::error::ProxyError;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tokio_rustls::TlsConnector;

/// How TLS is spoken to servers. The certificates of the system are read when the first server is connected to.
pub(super) struct TlsConnectors {
    roots: Vec<CertificateDer<'static>>,
    connectors: OnceLock<Result<[TlsConnector; 2], String>>,
}

/// The one implementation of cryptography that is used.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    static PROVIDER: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    PROVIDER.get_or_init(|| Arc::new(rustls::crypto::ring::default_provider())).clone()
}

impl TlsConnectors {
    pub(super) fn new(roots: &[PathBuf]) -> Result<Self, ProxyError> {
        let read = roots.iter().map(|path| certificates(path));
        let roots = read.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        Ok(Self { roots, connectors: OnceLock::new() })
    }

    /// How a server is connected to, HTTP/2 being offered to it or not.
    pub(super) fn connector(&self, may_be_http2: bool) -> Result<&TlsConnector, String> {
        let connectors = self.connectors.get_or_init(|| self.make());
        connectors.as_ref().map(|made| &made[usize::from(may_be_http2)]).map_err(Clone::clone)
    }

    fn make(&self) -> Result<[TlsConnector; 2], String> {
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        store.add_parsable_certificates(self.roots.iter().cloned());
        let config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let config = config.with_root_certificates(store).with_no_client_auth();
        let offering = |protocols: &[&[u8]]| {
            let mut config = config.clone();
            config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
            TlsConnector::from(Arc::new(config))
        };
        Ok([offering(&[b"http/1.1"]), offering(&[b"h2", b"http/1.1"])])
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ProxyError> {
    let failed = |error: io::Error| ProxyError::File { action: "read certificates from", path: path.to_owned(), error };
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = read.map_err(|error| match error {
        rustls::pki_types::pem::Error::Io(error) => failed(error),
        error => failed(io::Error::other(error.to_string())),
    })?;
    if found.is_empty() { Err(failed(io::Error::other("there is no certificate in it"))) } else { Ok(found) }
}
