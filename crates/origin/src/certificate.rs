//! An authority made at the start, and the one certificate that it signs.

use crate::Protocols;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto};

const NAMES: [&str; 7] =
    ["metroon.test", "*.metroon.test", "localhost", "127.0.0.1", "::1", "example.com", "pond.example"];

pub(crate) struct Certificate {
    pub(crate) ca_pem: String,
    /// The certificate and its key.
    pub(crate) identity_pem: String,
    pub(crate) acceptor: TlsAcceptor,
}

/// # Panics
/// The system has no randomness.
pub(crate) fn make(protocols: Protocols) -> Certificate {
    const MADE: &str = "certificates of known names can be made";
    let mut params = CertificateParams::new(Vec::new()).expect(MADE);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.distinguished_name.push(DnType::CommonName, "Metroon's test origin");
    let key = KeyPair::generate().expect(MADE);
    let ca_pem = params.self_signed(&key).expect(MADE).pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().expect(MADE);
    let mut params = CertificateParams::new(NAMES.map(str::to_owned)).expect(MADE);
    params.distinguished_name.push(DnType::CommonName, crate::NAME);
    params.use_authority_key_identifier_extension = true;
    let certificate = params.signed_by(&key, &issuer).expect(MADE);
    let identity_pem = certificate.pem() + &key.serialize_pem();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().expect("the provider knows TLS 1.2 and 1.3");
    let config = config.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key);
    let mut config = config.expect("the key is the certificate's");
    let h2 = (protocols == Protocols::Both).then_some(b"h2".to_vec());
    config.alpn_protocols = h2.into_iter().chain([b"http/1.1".to_vec()]).collect();
    Certificate { ca_pem, identity_pem, acceptor: TlsAcceptor::from(Arc::new(config)) }
}
