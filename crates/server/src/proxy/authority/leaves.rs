//! Certificates of hosts, made when somebody asks for them.

use super::{Authority, DAY};
use crate::proxy::error::AuthorityError;
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, date_time_ymd};
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::PrivateKeyDer;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a certificate lasts: clients refuse those that last too long.
const LASTS: u64 = 90 * DAY;
/// One that is older is made anew.
const MADE_ANEW_AFTER: u64 = DAY;
/// How many hosts are kept. When there are more, all are made anew.
const HOSTS_MAX: usize = 4096;

/// Makes certificates of hosts and keeps them. One key serves all of them.
pub(crate) struct LeafCertificates {
    authority: Arc<Authority>,
    provider: Arc<CryptoProvider>,
    key: KeyPair,
    made: Mutex<HashMap<String, (u64, Arc<ServerConfig>)>>,
}

impl LeafCertificates {
    pub(crate) fn new(authority: Arc<Authority>, provider: Arc<CryptoProvider>) -> Result<Self, AuthorityError> {
        let key = KeyPair::generate().map_err(|error| AuthorityError::Certificate(error.to_string()))?;
        Ok(Self { authority, provider, key, made: Mutex::default() })
    }

    /// How a connection to a host is answered.
    pub(crate) fn of(&self, host: &str) -> Result<Arc<ServerConfig>, AuthorityError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, config)) = made.get(host)
            && now.saturating_sub(*at) < MADE_ANEW_AFTER
        {
            return Ok(config.clone());
        }
        let config = Arc::new(self.make(host, now)?);
        if made.len() >= HOSTS_MAX {
            made.clear();
        }
        made.insert(host.to_owned(), (now, config.clone()));
        Ok(config)
    }

    fn make(&self, host: &str, now: u64) -> Result<ServerConfig, AuthorityError> {
        let failed = |what: String| AuthorityError::Certificate(format!("{host}: {what}"));
        let mut params = CertificateParams::new([host.to_owned()]).map_err(|error| failed(error.to_string()))?;
        let expires = (now + LASTS).min(self.authority.expires);
        params.not_before = date_time_ymd(1970, 1, 1) + Duration::from_secs(now.saturating_sub(DAY));
        params.not_after = date_time_ymd(1970, 1, 1) + Duration::from_secs(expires);
        // A common name has 64 characters at most; the name that counts is the other one.
        params.distinguished_name.push(DnType::CommonName, host.chars().take(64).collect::<String>());
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let leaf = params.signed_by(&self.key, &self.authority.issuer).map_err(|error| failed(error.to_string()))?;
        let key = PrivateKeyDer::Pkcs8(self.key.serialize_der().into());
        let chain = vec![leaf.der().clone(), self.authority.der.clone()];
        let config = ServerConfig::builder_with_provider(self.provider.clone())
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
        let mut config = config.map_err(|error| failed(error.to_string()))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}
