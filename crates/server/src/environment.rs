//! What a child process is told of the proxy.

use crate::authority::Authority;
use std::ffi::OsString;
use std::net::SocketAddr;

/// Variables by which programs find the proxy and trust its certificates.
pub fn environment(proxy: SocketAddr, authority: &Authority) -> Vec<(OsString, OsString)> {
    let url = format!("http://{proxy}");
    let bundle = authority.bundle().as_os_str().to_owned();
    let places =
        ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"].map(|name| (name.into(), url.clone().into()));
    let trusted = ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"].map(|name| (name.into(), bundle.clone()));
    places.into_iter().chain(trusted).collect()
}
