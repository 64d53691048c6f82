//! Certificates in the form that Java has always read: JKS, version 2, as `sun.security.provider.JavaKeyStore` describes it.
//!
//! Java reads PKCS #12 as well, but trusts a certificate in it only with an attribute of its own, which libraries do not
//! write. A trust store has no secret in it; the password is the customary one, and Java needs none to read it.

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

const MAGIC: u32 = 0xFEED_FEED;
const VERSION: u32 = 2;
/// An entry that is a certificate to trust.
const TRUSTED: u32 = 2;
const PASSWORD: &str = "changeit";
/// What the digest has between the password and the content.
const SALT: &[u8] = b"Mighty Aphrodite";

/// A store of the certificates in a PEM file; `None` if it is none.
pub(super) fn of(pem: &[u8]) -> Option<Vec<u8>> {
    let certificates: Vec<CertificateDer<'_>> = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().ok()?;
    let mut store = Vec::new();
    store.extend(MAGIC.to_be_bytes());
    store.extend(VERSION.to_be_bytes());
    store.extend(length(certificates.len())?);
    for (number, certificate) in certificates.iter().enumerate() {
        store.extend(TRUSTED.to_be_bytes());
        push_text(&mut store, &format!("metroon-{number}"));
        // When it was added; equal content is to have equal bytes.
        store.extend(0_u64.to_be_bytes());
        push_text(&mut store, "X.509");
        store.extend(length(certificate.len())?);
        store.extend(certificate.iter());
    }
    let mut digest = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    PASSWORD.encode_utf16().for_each(|unit| digest.update(&unit.to_be_bytes()));
    digest.update(SALT);
    digest.update(&store);
    store.extend(digest.finish().as_ref());
    Some(store)
}

fn length(count: usize) -> Option<[u8; 4]> {
    u32::try_from(count).ok().map(u32::to_be_bytes)
}

/// Short ASCII, as `DataOutput.writeUTF` has it.
fn push_text(store: &mut Vec<u8>, text: &str) {
    let length = u16::try_from(text.len()).expect("names are short");
    store.extend(length.to_be_bytes());
    store.extend(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_has_each_certificate() {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::default().self_signed(&key).unwrap();
        let store = of((certificate.pem() + &certificate.pem()).as_bytes()).unwrap();
        assert_eq!(store[..12], [0xFE, 0xED, 0xFE, 0xED, 0, 0, 0, 2, 0, 0, 0, 2]);
        let found = store.windows(certificate.der().len()).filter(|bytes| *bytes == certificate.der().as_ref()).count();
        assert_eq!(found, 2);
    }

    #[test]
    fn what_is_no_certificate_makes_no_store() {
        assert!(of(b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n").is_none());
    }
}
