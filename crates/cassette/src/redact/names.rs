//! Names whose values are secrets, wherever they stand: headers, queries, forms, JSON.
//!
//! Names are compared in small letters and without anything but letters and digits, so that `api_key`, `apiKey` and `Api-Key` are
//! one name. Of `user[password]` and `user.password` the last word counts as well.

use std::collections::BTreeSet;

/// Names of secrets in queries, forms, JSON and headers.
const ANYWHERE: [&str; 16] = [
    "assertion",
    "bottoken",
    "clientassertion",
    "codeverifier",
    "credential",
    "credentials",
    "jwt",
    "pass",
    "passphrase",
    "pwd",
    "securitytoken",
    "sessiontoken",
    "sig",
    "xamzcredential",
    "xamzsignature",
    "xgoogsignature",
];

/// Ends of such names: `clientSecret`, `aws_secret_access_key`, `X-Goog-Api-Key`.
const ENDS: [&str; 20] = [
    "accesskey",
    "accesstoken",
    "apikey",
    "apitoken",
    "applicationkey",
    "authkey",
    "authtoken",
    "bearertoken",
    "functionskey",
    "idtoken",
    "passwd",
    "password",
    "passwordconfirm",
    "passwordconfirmation",
    "privatekey",
    "refreshtoken",
    "secret",
    "secretkey",
    "securitytoken",
    "subscriptionkey",
];

/// Such a name in queries, forms and headers. In JSON it is called that what answers of models are checked by.
const SIGNATURE: &str = "signature";

/// Names of headers that are secrets, beside [`ANYWHERE`] and [`ENDS`].
const HEADERS: [&str; 9] = [
    "authentication",
    "authorization",
    "cookie",
    "csrftoken",
    "proxyauthorization",
    "setcookie",
    "xcsrftoken",
    "xsrftoken",
    "xxsrftoken",
];

/// A name whose value is a secret if it looks like a credential.
const TOKEN: &str = "token";
/// A name whose value is a secret if it comes with what OAuth sends beside a code.
const CODE: &str = "code";

/// Whether the value of a name is a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secrecy {
    Open,
    Secret,
    /// If it [looks like a credential](super::words::is_credential).
    IfCredential,
    /// If it is a code of OAuth.
    IfCode,
}

/// The names whose values are secrets.
#[derive(Clone, Debug, Default)]
pub(crate) struct SecretNames {
    /// Whether the lists above count.
    usual: bool,
    added: BTreeSet<String>,
}

impl SecretNames {
    pub(crate) fn usual() -> Self {
        Self { usual: true, added: BTreeSet::new() }
    }

    pub(crate) fn add(&mut self, name: &str) {
        let name = plain(name.as_bytes());
        if !name.is_empty() {
            self.added.insert(name);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.usual && self.added.is_empty()
    }

    /// The names that the user added.
    pub(crate) fn of_user(&self) -> Self {
        Self { usual: false, added: self.added.clone() }
    }

    /// Whether the user added a name.
    pub(crate) fn is_of_user(&self, name: &[u8]) -> bool {
        let last = name.rsplit(|byte| b"[].".contains(byte)).find(|word| !word.is_empty()).unwrap_or(name);
        self.added.contains(&plain(name)) || self.added.contains(&plain(last))
    }

    /// Whether the value of a name in JSON is a secret.
    pub(crate) fn member(&self, name: &[u8]) -> Secrecy {
        self.secrecy(name, &plain(name))
    }

    /// Whether the value of a name in a query or a form is a secret.
    pub(crate) fn parameter(&self, name: &[u8]) -> Secrecy {
        let plain = plain(name);
        if self.usual && plain == SIGNATURE { Secrecy::Secret } else { self.secrecy(name, &plain) }
    }

    /// Whether the value of a name is a secret, whatever it is.
    pub(crate) fn has(&self, name: &[u8]) -> bool {
        self.member(name) == Secrecy::Secret
    }

    /// By the whole name, or its last word.
    fn secrecy(&self, name: &[u8], plain: &str) -> Secrecy {
        let mut words = name.rsplit(|byte| b"[].".contains(byte)).filter(|word| !word.is_empty());
        let last = words.next().filter(|last| last.len() < name.len()).map(self::plain);
        if self.has_plain(plain) || last.as_ref().is_some_and(|last| self.has_plain(last)) {
            return Secrecy::Secret;
        }
        match last.as_deref().unwrap_or(plain) {
            TOKEN if self.usual => Secrecy::IfCredential,
            CODE if self.usual => Secrecy::IfCode,
            _ => Secrecy::Open,
        }
    }

    fn has_plain(&self, name: &str) -> bool {
        let is_usual = || ANYWHERE.contains(&name) || ENDS.iter().any(|end| name.ends_with(end));
        self.added.contains(name) || self.usual && is_usual()
    }

    /// Whether the value of a header is a secret: also those that are called a token, as long as they are not the token of
    /// a page of results.
    pub(crate) fn has_header(&self, name: &[u8]) -> bool {
        if self.is_empty() {
            return false;
        }
        let plain = plain(name);
        let is_token =
            plain.ends_with("token") && !plain.ends_with("pagetoken") && !plain.ends_with("continuationtoken");
        let is_usual = || is_token || plain == SIGNATURE || HEADERS.contains(&plain.as_str());
        self.secrecy(name, &plain) == Secrecy::Secret || self.usual && is_usual()
    }
}

fn plain(name: &[u8]) -> String {
    let letters = name.iter().filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
    let mut plain = String::with_capacity(name.len());
    plain.extend(letters.map(|byte| char::from(byte.to_ascii_lowercase())));
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_however_they_are_written() {
        let names = SecretNames::usual();
        for name in ["api_key", "apiKey", "X-Goog-Api-Key", "AWS_SECRET_ACCESS_KEY", "client-secret", "password", "sig"]
        {
            assert!(names.has(name.as_bytes()) && names.has_header(name.as_bytes()), "{name}");
        }
        for name in ["user[pwd]", "user[password_confirmation]", "DD-APPLICATION-KEY", "Ocp-Apim-Subscription-Key"] {
            assert!(names.has(name.as_bytes()), "{name}");
        }
        assert!(
            names.parameter(b"Signature") == Secrecy::Secret
                && names.has_header(b"signature")
                && !names.has(b"signature")
        );
        for name in [
            "X-Auth-Key",
            "X-Functions-Key",
            "X-Goog-Signature",
            "Authorization",
            "Set-Cookie",
            "X-Auth-Token",
            "x-amz-security-token",
        ] {
            assert!(names.has_header(name.as_bytes()), "{name}");
        }
        for name in ["key", "token", "max_tokens", "page_token", "secretary", "passenger", "the tests pass"] {
            assert!(!names.has(name.as_bytes()), "{name}");
        }
        for (name, expected) in [
            ("token", Secrecy::IfCredential),
            ("user[token]", Secrecy::IfCredential),
            ("code", Secrecy::IfCode),
            ("next_token", Secrecy::Open),
            ("key", Secrecy::Open),
        ] {
            assert_eq!(
                (names.member(name.as_bytes()), names.parameter(name.as_bytes())),
                (expected, expected),
                "{name}"
            );
        }
        for name in ["x-ratelimit-remaining-tokens", "next-page-token", "content-type"] {
            assert!(!names.has_header(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn names_can_be_added() {
        let mut names = SecretNames::default();
        assert!(names.is_empty() && !names.has(b"password"));
        names.add("Member-Number");
        assert!(names.has(b"member_number") && !names.is_empty());
    }
}
