//! Headers that belong to a connection and not to a message (RFC 9110, section 7.6.1), and others that a proxy looks at.

use cassette::{Header, Request};

/// Headers of a connection, whether `Connection` names them or not.
const OF_A_CONNECTION: [&str; 7] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "transfer-encoding",
    "upgrade",
];

/// The headers of a message that are sent on.
pub(crate) struct ForwardedHeaders<'h> {
    headers: &'h [Header<'h>],
    named: Vec<&'h [u8]>,
    is_upgrade: bool,
}

impl<'h> ForwardedHeaders<'h> {
    pub(crate) fn of(headers: &'h [Header<'h>], is_upgrade: bool) -> Self {
        let connection = headers.iter().filter(|header| header.is("connection"));
        let named = connection.flat_map(|header| header.value.split(|&byte| byte == b',')).map(<[u8]>::trim_ascii);
        // Nobody can have a message lose what says where it ends or whom it is for.
        let may_be_dropped =
            |name: &&[u8]| !["content-length", "host"].iter().any(|kept| name.eq_ignore_ascii_case(kept.as_bytes()));
        let named = named.filter(may_be_dropped).collect();
        Self { headers, named, is_upgrade }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &'h Header<'h>> {
        self.headers.iter().filter(|header| self.is_kept(header))
    }

    fn is_kept(&self, header: &Header<'_>) -> bool {
        if self.is_upgrade && (header.is("connection") || header.is("upgrade")) {
            return true;
        }
        // Whether trailers are taken concerns the whole way.
        if header.is("te") {
            return header.value.eq_ignore_ascii_case(b"trailers");
        }
        !OF_A_CONNECTION.iter().any(|name| header.is(name))
            && !self.named.iter().any(|name| header.name.eq_ignore_ascii_case(name))
    }
}

/// The host that a request names, as it names it.
pub(crate) fn host_of(request: &Request<'_>) -> Option<String> {
    let host = request.headers.iter().find(|header| header.is("host"))?;
    host.value.as_text().map(str::to_owned)
}

/// HTTP/2 has a field for each cookie; HTTP/1 wants them in one (RFC 9113, section 8.2.3).
pub(crate) fn with_one_cookie<'h>(headers: impl Iterator<Item = &'h Header<'h>>) -> Vec<Header<'h>> {
    let mut joined: Vec<Header<'h>> = Vec::new();
    for header in headers {
        match joined.iter_mut().find(|earlier| earlier.is("cookie")).filter(|_| header.is("cookie")) {
            Some(cookies) => cookies.value = [&*cookies.value, b"; ", &*header.value].concat().into(),
            None => joined.push(header.borrowed()),
        }
    }
    joined
}

/// Whether a list of tokens in headers of a name has this one.
pub(crate) fn lists(headers: &[Header<'_>], name: &str, token: &str) -> bool {
    let values = headers.iter().filter(|header| header.is(name));
    let mut tokens = values.flat_map(|header| header.value.split(|&byte| byte == b','));
    tokens.any(|one| one.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(headers: &[(&'static str, &'static str)], is_upgrade: bool) -> Vec<String> {
        let headers: Vec<_> = headers.iter().map(|(name, value)| Header::new(*name, *value)).collect();
        let kept = ForwardedHeaders::of(&headers, is_upgrade);
        kept.iter().map(|header| header.name.to_text_lossy().into_owned()).collect()
    }

    #[test]
    fn what_belongs_to_a_connection_ends_there() {
        let headers = [
            ("Connection", "X-Hop, content-length"),
            ("x-hop", "1"),
            ("Keep-Alive", "5"),
            ("Content-Length", "1"),
            ("TE", "gzip"),
        ];
        assert_eq!(names(&headers, false), ["Content-Length"]);
        assert_eq!(names(&[("TE", "trailers"), ("Upgrade", "websocket")], false), ["TE"]);
        assert_eq!(names(&[("Connection", "Upgrade"), ("Upgrade", "websocket")], true), ["Connection", "Upgrade"]);
    }

    #[test]
    fn cookies_are_put_together() {
        let headers = [Header::new("cookie", "a=1"), Header::new("x", "y"), Header::new("cookie", "b=2")];
        assert_eq!(with_one_cookie(headers.iter()), [Header::new("cookie", "a=1; b=2"), Header::new("x", "y")]);
    }
}
