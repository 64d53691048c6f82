//! Messages of HTTP/2 as they are on a cassette, and back.

use super::headers::ForwardedHeaders;
use cassette::{Bytes, Header, HttpVersion, Informational, Request, Response};
use http::{HeaderMap, HeaderName, HeaderValue, Uri, header};

/// The fields of a message. Those of one name stand together.
pub(crate) fn headers(fields: &HeaderMap) -> Vec<Header<'static>> {
    fields.iter().map(|(name, value)| Header::new(name.as_str(), value.as_bytes()).into_owned()).collect()
}

/// Headers as fields; those that no field can be are left out, and those beyond the 24,576 that there can be.
pub(crate) fn fields<'h>(headers: impl Iterator<Item = &'h Header<'h>>) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for header in headers {
        let name = HeaderName::from_bytes(&header.name.to_ascii_lowercase());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(&header.value)) {
            let _ = fields.try_append(name, value);
        }
    }
    fields
}

/// What was asked on a stream, without its body.
pub(crate) fn request(parts: &http::request::Parts, scheme: &str, host: &str, port: u16) -> Request<'static> {
    let target = parts.uri.path_and_query().map_or("*", |target| target.as_str());
    let method = parts.method.as_str();
    let target = if method == "OPTIONS" && target == "/*" { "*" } else { target };
    Request {
        method: method.to_owned().into(),
        scheme: scheme.to_owned().into(),
        host: host.to_owned().into(),
        port,
        target: target.to_owned().into(),
        version: HttpVersion::Http2,
        headers: headers(&parts.headers),
        ..Request::default()
    }
}

/// A request to be sent, without its body; says what is wrong if it can be no request of HTTP/2.
pub(crate) fn request_parts(request: &Request<'_>, authority: &str) -> Result<http::Request<()>, String> {
    let failed = |error: http::Error| format!("the request cannot be sent by HTTP/2: {error}");
    let target = request.target.to_text_lossy();
    let uri = Uri::builder().scheme(&*request.scheme).authority(authority).path_and_query(&*target);
    let uri = uri.build().map_err(failed)?;
    let asked = http::Request::builder().method(&*request.method).uri(uri).version(http::Version::HTTP_2);
    let mut asked = asked.body(()).map_err(failed)?;
    // What belongs to a connection HTTP/2 has no place for (RFC 9113, section 8.2.2), and the host is in the URL.
    *asked.headers_mut() =
        fields(ForwardedHeaders::of(&request.headers, false).iter().filter(|header| !header.is("host")));
    Ok(asked)
}

/// What came back, without its body.
pub(crate) fn response(parts: &http::response::Parts, at_us: u64) -> Response<'static> {
    let (status, headers) = (parts.status.as_u16(), headers(&parts.headers));
    Response { at_us, status, version: HttpVersion::Http2, headers, ..Response::default() }
}

pub(crate) fn informational(response: &http::Response<()>, at_us: u64) -> Informational<'static> {
    let (status, headers) = (response.status().as_u16(), headers(response.headers()));
    Informational { at_us, status, reason: Bytes::EMPTY, headers }
}

/// A head to be sent; says what is wrong if it can be none of HTTP/2.
pub(crate) fn response_parts(status: u16, headers: &[Header<'_>]) -> Result<http::Response<()>, String> {
    let answer = http::Response::builder().status(status).body(());
    let mut answer = answer.map_err(|error| format!("the response cannot be sent by HTTP/2: {error}"))?;
    *answer.headers_mut() = fields(ForwardedHeaders::of(headers, false).iter());
    Ok(answer)
}

/// The length that fields say that a body has.
pub(crate) fn length(fields: &HeaderMap) -> Option<u64> {
    fields.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
