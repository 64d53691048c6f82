//! What a program is told so that its requests come to the proxy and it trusts the proxy's certificates.
//!
//! There is no one way: each runtime has its own. Most take variables for the proxy and for a file of certificates. Java
//! takes properties and a store of certificates in a form of its own. Python and Node load a file of ours at their start,
//! which does the rest. These files come with Metroon and are written beside the certificate authority.

mod key_store;

use crate::proxy::error::{AuthorityError, ProxyError};
use crate::{Authority, PassedHost};
use std::ffi::{OsStr, OsString};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::{env, fs};

const PYTHON: [(&str, &str); 2] = [
    ("metroon_preload.py", include_str!("../../../preload/metroon_preload.py")),
    ("sitecustomize.py", include_str!("../../../preload/sitecustomize.py")),
];
const NODE: &str = include_str!("../../../preload/preload.cjs");

/// Where the files of this version lie in the folder of the authority.
const FOLDER: &str = concat!("preload-", env!("CARGO_PKG_VERSION"));

/// Variables that name a proxy, in both cases: some programs read the one, some the other. The last two are what Python's
/// libraries look up for WebSockets.
const PROXIES: [&str; 5] = ["http_proxy", "https_proxy", "all_proxy", "ws_proxy", "wss_proxy"];

/// Variables that name a file with all certificates to trust. OpenSSL and Go take the first, others a name of their own.
const BUNDLES: [&str; 12] = [
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "AWS_CA_BUNDLE",
    "PIP_CERT",
    "CARGO_HTTP_CAINFO",
    "HTTPLIB2_CA_CERTS",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
    "NIX_SSL_CERT_FILE",
    "npm_config_cafile",
];

/// Variables that name a file with certificates to trust besides those that the runtime brings.
const EXTRAS: [&str; 2] = ["NODE_EXTRA_CA_CERTS", "DENO_CERT"];

/// The files that the variables name.
struct EnvironmentFiles {
    certificate: PathBuf,
    bundle: PathBuf,
    key_store: PathBuf,
    python: PathBuf,
    node: PathBuf,
}

/// The variables for a program whose requests are to come to a proxy: curl, Python, Node, Go, Java, and what takes the same.
/// Options that the environment of this process has for a runtime are kept; a proxy that it names, and hosts that it excepts from
/// one, are not. Programs go to the hosts of `direct` without the proxy.
///
/// # Errors
/// A file beside the authority cannot be written or read.
pub fn environment(
    proxy: SocketAddr,
    authority: &Authority,
    direct: &[PassedHost],
) -> Result<Vec<(OsString, OsString)>, ProxyError> {
    let folder = authority.folder().join(FOLDER);
    let files = EnvironmentFiles {
        certificate: authority.certificate().to_owned(),
        bundle: authority.bundle().to_owned(),
        key_store: authority.folder().join("bundle.jks"),
        python: folder.join("python"),
        node: folder.join("node").join("preload.cjs"),
    };
    let bundle = fs::read(&files.bundle).map_err(failed("read", &files.bundle))?;
    let store =
        key_store::of(&bundle).ok_or_else(|| failed("read", &files.bundle)(std::io::ErrorKind::InvalidData.into()))?;
    put(&files.key_store, &store)?;
    PYTHON.iter().try_for_each(|(name, content)| put(&files.python.join(name), content.as_bytes()))?;
    put(&files.node, NODE.as_bytes())?;
    let direct: Vec<_> = direct.iter().flat_map(PassedHost::names).collect();
    Ok(variables(reachable(proxy), &files, &direct, &|name| env::var_os(name)))
}

fn failed(action: &'static str, path: &Path) -> impl Fn(std::io::Error) -> ProxyError {
    move |error| AuthorityError::File { action, path: path.to_owned(), error }.into()
}

/// The address by which a program on this machine reaches a listener.
pub(crate) fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Makes a file have this content. Others may do the same at the same time, and programs may be reading it.
fn put(path: &Path, content: &[u8]) -> Result<(), ProxyError> {
    if fs::read(path).is_ok_and(|known| known == content) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed("make", folder))?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = folder.join(name);
    fs::write(&new, content).and_then(|()| fs::rename(&new, path)).map_err(failed("write", path))
}

fn variables(
    proxy: SocketAddr,
    files: &EnvironmentFiles,
    direct: &[String],
    inherited: &dyn Fn(&str) -> Option<OsString>,
) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<(OsString, OsString)> = Vec::new();
    let mut set = |name: &str, value: &OsStr| variables.push((name.into(), value.to_owned()));
    let url = OsString::from(format!("http://{proxy}"));
    for name in PROXIES {
        set(name, &url);
        set(&name.to_uppercase(), &url);
    }
    // Where none is named, loopback goes through the proxy as well, if a runtime lets it.
    for name in ["no_proxy", "NO_PROXY"] {
        set(name, OsStr::new(&direct.join(",")));
    }
    BUNDLES.iter().for_each(|name| set(name, files.bundle.as_os_str()));
    EXTRAS.iter().for_each(|name| set(name, files.certificate.as_os_str()));
    set("METROON_PROXY", OsStr::new(&proxy.to_string()));
    set("METROON_CA", files.certificate.as_os_str());
    set("METROON_CA_BUNDLE", files.bundle.as_os_str());
    set("METROON_PYTHON", files.python.as_os_str());
    set("METROON_NODE", files.node.as_os_str());
    set("PYTHONPATH", &joined(&files.python, inherited("PYTHONPATH"), ":"));
    set("NODE_OPTIONS", &appended(inherited("NODE_OPTIONS"), &require(&files.node)));
    // Node's own way, from version 24 on, knows neither `ws` nor agents of others, and would be in the way of ours.
    set("NODE_USE_ENV_PROXY", OsStr::new("0"));
    set("JAVA_TOOL_OPTIONS", &appended(inherited("JAVA_TOOL_OPTIONS"), &properties(proxy, &files.key_store, direct)));
    variables
}

/// A list that begins with a path and goes on as it was.
fn joined(first: &Path, rest: Option<OsString>, separator: &str) -> OsString {
    let mut all = first.as_os_str().to_owned();
    if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
        all.push(separator);
        all.push(rest);
    }
    all
}

/// Options as they were, and more of them. The last counts.
fn appended(options: Option<OsString>, more: &OsStr) -> OsString {
    let mut all = options.filter(|options| !options.is_empty()).unwrap_or_default();
    if !all.is_empty() {
        all.push(" ");
    }
    all.push(more);
    all
}

/// Node takes a backslash before a quote or a backslash, within quotes.
fn require(path: &Path) -> OsString {
    let path = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("--require \"{path}\"").into()
}

fn properties(proxy: SocketAddr, key_store: &Path, direct: &[String]) -> OsString {
    let mut all = OsString::new();
    for scheme in ["http", "https"] {
        all.push(format!("-D{scheme}.proxyHost={} -D{scheme}.proxyPort={} ", proxy.ip(), proxy.port()));
    }
    // Empty is none; without it loopback is excepted.
    // Java knows no ports there; what has one goes to the proxy, which lets it pass.
    let hosts = direct.iter().filter(|host| host.rsplit_once(':').is_none_or(|(name, _)| name.contains(':')));
    let hosts: Vec<_> =
        hosts.map(|host| if host.starts_with('.') { format!("*{host}") } else { host.clone() }).collect();
    all.push(format!("-Dhttp.nonProxyHosts={} -Djavax.net.ssl.trustStoreType=JKS ", hosts.join("|")));
    // Java takes quotes of either kind around an option, and nothing to escape one.
    let quote = if key_store.to_string_lossy().contains('"') { "'" } else { "\"" };
    all.push(format!("{quote}-Djavax.net.ssl.trustStore="));
    all.push(key_store);
    all.push(quote);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(inherited: &[(&str, &str)]) -> Vec<(String, String)> {
        all_but(&[], inherited)
    }

    fn all_but(direct: &[&str], inherited: &[(&str, &str)]) -> Vec<(String, String)> {
        let path = |name: &str| PathBuf::from("/the data").join(name);
        let (certificate, bundle, key_store) = (path("ca.pem"), path("bundle.pem"), path("bundle.jks"));
        let files =
            EnvironmentFiles { certificate, bundle, key_store, python: path("python"), node: path("preload.cjs") };
        let inherited =
            |name: &str| inherited.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
        let direct: Vec<_> = direct.iter().map(|host| (*host).to_owned()).collect();
        let variables = variables("127.0.0.1:3128".parse().unwrap(), &files, &direct, &inherited);
        variables.into_iter().map(|(name, value)| (name.into_string().unwrap(), value.into_string().unwrap())).collect()
    }

    fn value<'a>(all: &'a [(String, String)], name: &str) -> &'a str {
        all.iter().find(|(known, _)| known == name).map_or("not set", |(_, value)| value)
    }

    #[test]
    fn each_runtime_is_told_in_its_way() {
        let all = all(&[]);
        assert_eq!(value(&all, "https_proxy"), "http://127.0.0.1:3128");
        assert_eq!(value(&all, "HTTP_PROXY"), "http://127.0.0.1:3128");
        assert_eq!(value(&all, "NO_PROXY"), "");
        assert_eq!(value(&all, "SSL_CERT_FILE"), "/the data/bundle.pem");
        assert_eq!(value(&all, "npm_config_cafile"), "/the data/bundle.pem");
        assert_eq!(value(&all, "NODE_EXTRA_CA_CERTS"), "/the data/ca.pem");
        assert_eq!(value(&all, "PYTHONPATH"), "/the data/python");
        assert_eq!(value(&all, "NODE_OPTIONS"), "--require \"/the data/preload.cjs\"");
        let java = value(&all, "JAVA_TOOL_OPTIONS");
        assert!(java.starts_with("-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 -Dhttps.proxyHost="), "{java}");
        assert!(java.ends_with("\"-Djavax.net.ssl.trustStore=/the data/bundle.jks\""), "{java}");
    }

    #[test]
    fn options_that_were_there_are_kept() {
        let before = [("PYTHONPATH", "/mine"), ("NODE_OPTIONS", "--trace-warnings"), ("JAVA_TOOL_OPTIONS", "-Xmx64m")];
        let all = all(&before);
        assert_eq!(value(&all, "PYTHONPATH"), "/the data/python:/mine");
        assert!(value(&all, "NODE_OPTIONS").starts_with("--trace-warnings --require"));
        assert!(value(&all, "JAVA_TOOL_OPTIONS").starts_with("-Xmx64m -Dhttp.proxyHost"));
    }

    #[test]
    fn hosts_that_pass_are_reached_without_the_proxy() {
        let all = all_but(&["localhost", ".corp.test", "a.test:8443"], &[]);
        assert_eq!(value(&all, "NO_PROXY"), "localhost,.corp.test,a.test:8443");
        assert!(value(&all, "JAVA_TOOL_OPTIONS").contains("-Dhttp.nonProxyHosts=localhost|*.corp.test "));
    }

    #[test]
    fn a_listener_everywhere_is_reached_on_loopback() {
        let reached = |text: &str| reachable(text.parse().unwrap()).to_string();
        assert_eq!(reached("0.0.0.0:80"), "127.0.0.1:80");
        assert_eq!(reached("[::]:80"), "[::1]:80");
        assert_eq!(reached("127.0.0.2:80"), "127.0.0.2:80");
    }
}
