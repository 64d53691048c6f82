//! What the first line of a request says where it goes (RFC 9112, section 3.2).

use crate::proxy::options::split_port;
use crate::runtime::http1::InvalidHead;

/// Where a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestTarget<'t> {
    /// A whole URL, as to a proxy.
    Absolute { is_secure: bool, host: &'t str, port: u16, target: &'t str },
    /// A path, or `*`, as to a server.
    Origin(&'t str),
}

impl<'t> RequestTarget<'t> {
    pub(super) fn parse(method: &str, target: &'t str) -> Result<Self, InvalidHead> {
        if target.starts_with('/') || (target == "*" && method == "OPTIONS") {
            return Ok(Self::Origin(target));
        }
        let Some((scheme, rest)) = target.split_once("://") else {
            return Err(InvalidHead::new("the target is neither a path nor a URL"));
        };
        let is_secure = match scheme.to_ascii_lowercase().as_str() {
            "http" | "ws" => false,
            "https" | "wss" => true,
            _ => return Err(InvalidHead::new("the scheme of the URL is neither http nor https")),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        let (host, port) = host_and_port(authority, if is_secure { 443 } else { 80 })?;
        let target = match target {
            "" if method == "OPTIONS" => "*",
            "" => "/",
            target if target.starts_with('/') => target,
            // A URL such as `http://a.test?b` has an empty path, which no first line of a request to a server can say.
            _ => return Err(InvalidHead::new("the URL has a query or a fragment without a path before it")),
        };
        Ok(Self::Absolute { is_secure, host, port, target })
    }
}

/// The host and the port of an authority.
pub(super) fn host_and_port(authority: &str, usual: u16) -> Result<(&str, u16), InvalidHead> {
    let wrong = InvalidHead::new("the target names no host, or a port that is none");
    if authority.contains('@') {
        return Err(InvalidHead::new("the target has credentials in it, which belong into a header"));
    }
    let (host, port) = split_port(authority.strip_suffix(':').unwrap_or(authority)).ok_or(wrong)?;
    let is_host = |byte: u8| byte.is_ascii_graphic() && !b"/\\?#[]<>\"^`{|}".contains(&byte);
    if host.is_empty() || !host.bytes().all(is_host) { Err(wrong) } else { Ok((host, port.unwrap_or(usual))) }
}

/// Whether two hosts are the same.
pub(super) fn is_same_host(one: (&str, u16), other: (&str, u16)) -> bool {
    one.0.eq_ignore_ascii_case(other.0) && one.1 == other.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_say_where_they_go() {
        let of = |method: &str, target: &'static str| RequestTarget::parse(method, target);
        let absolute = |is_secure, host, port, target| Ok(RequestTarget::Absolute { is_secure, host, port, target });
        assert_eq!(of("GET", "http://A.test/x?y"), absolute(false, "A.test", 80, "/x?y"));
        assert_eq!(of("GET", "https://a.test:8443"), absolute(true, "a.test", 8443, "/"));
        assert_eq!(of("GET", "HTTP://[::1]:81/"), absolute(false, "::1", 81, "/"));
        assert_eq!(of("OPTIONS", "http://a.test"), absolute(false, "a.test", 80, "*"));
        assert_eq!(of("GET", "/x"), Ok(RequestTarget::Origin("/x")));
        for wrong in [
            "ftp://a.test/",
            "a.test",
            "http://",
            "http://u:p@a.test/",
            "http://a.test:x/",
            "*",
            "http:///x",
            "http://a b/",
        ] {
            assert!(of("GET", wrong).is_err(), "{wrong}");
        }
    }
}
