//! A client that does no more than HTTP/1.1 needs: one connection, one request after the other.

use super::weight;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A connection to a proxy.
pub(super) struct Client<S: Read + Write> {
    stream: BufReader<S>,
    /// What stands before the path in a request.
    prefix: String,
    host: String,
}

/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(30);

fn connect(proxy: SocketAddr) -> Result<TcpStream, Box<dyn Error>> {
    let stream = TcpStream::connect(proxy)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Asks a proxy for what is not secured.
pub(super) fn plain(proxy: SocketAddr, host: &str) -> Result<Client<TcpStream>, Box<dyn Error>> {
    let stream = BufReader::new(connect(proxy)?);
    Ok(Client { stream, prefix: format!("http://{host}"), host: host.to_owned() })
}

/// Asks through a tunnel of a proxy whose certificates are trusted.
pub(super) fn tls(
    proxy: SocketAddr,
    host: &str,
    authority: &Path,
) -> Result<Client<StreamOwned<ClientConnection, TcpStream>>, Box<dyn Error>> {
    let stream = tunnel(proxy, &format!("{host}:443"))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(authority)? {
        roots.add(certificate?)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let connection = ClientConnection::new(Arc::new(config), ServerName::try_from(host.to_owned())?)?;
    let stream = BufReader::new(StreamOwned::new(connection, stream));
    Ok(Client { stream, prefix: String::new(), host: host.to_owned() })
}

/// A connection through a proxy, which has agreed.
pub(super) fn tunnel(proxy: SocketAddr, target: &str) -> Result<TcpStream, Box<dyn Error>> {
    let mut stream = connect(proxy)?;
    write!(stream, "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    if !head.starts_with(b"HTTP/1.1 200") {
        return Err(format!("the proxy answered {:?}", String::from_utf8_lossy(&head)).into());
    }
    Ok(stream)
}

impl<S: Read + Write> Client<S> {
    /// Sends these requests, and gives the sum of the answers' bytes.
    pub(super) fn get_all(&mut self, count: u64) -> Result<u64, Box<dyn Error>> {
        (0..count).try_fold(0, |sum, number| Ok(sum + weight(&self.get(number)?)))
    }

    fn get(&mut self, number: u64) -> Result<Vec<u8>, Box<dyn Error>> {
        let Self { prefix, host, .. } = self;
        let request = format!("GET {prefix}/resource/{number} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        self.stream.get_mut().write_all(request.as_bytes())?;
        self.stream.get_mut().flush()?;
        let bytes = self.head()?;
        let mut body = vec![0; bytes];
        self.stream.read_exact(&mut body)?;
        Ok(body)
    }

    /// Reads the head of an answer, and gives the length of its body.
    fn head(&mut self) -> Result<usize, Box<dyn Error>> {
        let (mut line, mut length) = (String::new(), None);
        self.stream.read_line(&mut line)?;
        if !line.starts_with("HTTP/1.1 200") {
            return Err(format!("the answer began with {line:?}").into());
        }
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            match line.trim_end().split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = Some(value.trim().parse()?);
                }
                Some(_) => {}
                None => return length.ok_or_else(|| "an answer came without its length".into()),
            }
        }
    }
}
