//! Three hundred bodies of all kinds, the same each time: executables, archives, images, databases, random bytes, compressed and
//! not, some with a secret. The tests of the proxy compile this file as well.

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::Write;

/// A body, and what goes with it.
pub(crate) struct Sample {
    pub(crate) bytes: Vec<u8>,
    /// `Content-Type` and `Content-Encoding`, as far as the server says them.
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    /// How many bytes of it come at once.
    pub(crate) piece: usize,
    /// A cassette with it is not to be sealed.
    pub(crate) has_secret: bool,
}

/// Numbers that are the same each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> usize {
        (self.next() % end) as usize
    }

    fn noise(&mut self, bytes: usize) -> Vec<u8> {
        (0..bytes).map(|_| (self.next() >> 40) as u8).collect()
    }
}

/// What programs and archives have in them, and is not a secret.
const STRINGS: &str = "usage: %s [options]\0sk-ecdsa-sha2-nistp256-cert-v01@openssh.com\0\
    sk-ssh-ed25519-cert-v01@openssh.com\0https://user:password@host/path\0?password=%s&token=%s\0\
    {\"password\": \"%s\", \"api_key\": \"none\"}\0-----BEGIN RSA PRIVATE KEY-----\0-----END RSA PRIVATE KEY-----\0\
    AKIAIOSFODNN7EXAMPLE\0Authorization: Bearer %s\0<password>x</password>\0password: hunter2\n\0";

/// It has a form that is known, and is nobody's.
const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

fn tar(name: &str, content: &[u8]) -> Vec<u8> {
    let mut header = [0_u8; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[257..262].copy_from_slice(b"ustar");
    let size = format!("{:011o}", content.len());
    header[124..135].copy_from_slice(size.as_bytes());
    let padding = vec![0; content.len().next_multiple_of(512) - content.len() + 1024];
    [&header[..], content, &padding].concat()
}

/// A body of a kind, and the type that says so.
fn body(kind: usize, numbers: &mut Numbers, content: &[u8]) -> (Vec<u8>, &'static str) {
    let length = 1 + numbers.below(60_000);
    let noise = numbers.noise(length);
    match kind {
        0 => ([b"\x7fELF\x02\x01\x01\0", &noise[..], content].concat(), "application/x-executable"),
        1 => ([b"MZ\x90\0", content, &noise].concat(), "application/vnd.microsoft.portable-executable"),
        2 => (tar("secret/password.txt", &[content, &noise].concat()), "application/x-tar"),
        3 => ([b"PK\x03\x04\x14\0\0\0", &noise[..], content].concat(), "application/zip"),
        4 => ([b"SQLite format 3\0", content, &noise].concat(), "application/vnd.sqlite3"),
        5 => ([b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", &noise[..], content].concat(), "image/png"),
        6 => ([b"\xff\xd8\xff\xe0\0\x10JFIF\0", content, &noise].concat(), "image/jpeg"),
        7 => ([b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", content, &noise].concat(), "application/pdf"),
        8 => ([b"\0asm\x01\0\0\0", content, &noise].concat(), "application/wasm"),
        9 => ([&noise[..], content].concat(), "application/octet-stream"),
        10 => ([&[0x81, 0xa8], &b"password"[..], &[0xda, 0, 5], b"abcde", content].concat(), "application/msgpack"),
        11 => ([b"#!/bin/sh\nPASSWORD=hunter2\nexit\n", &noise[..], content].concat(), "application/x-sh"),
        12 => ([&[0xca, 0xfe, 0xba, 0xbe], content, &noise].concat(), "application/java-archive"),
        13 => ([b"\x0a\x08password\x12\x07hunter2", content].concat(), "application/x-protobuf"),
        _ => ([b"OggS\0\x02", content, &noise].concat(), "audio/ogg"),
    }
}

fn encoded(coding: usize, body: &[u8]) -> (Vec<u8>, Option<&'static str>) {
    match coding {
        0 => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            (encoder.write_all(body).and_then(|()| encoder.finish()).expect("memory takes it"), Some("gzip"))
        }
        1 => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
            (encoder.write_all(body).and_then(|()| encoder.finish()).expect("memory takes it"), Some("deflate"))
        }
        _ => (body.to_vec(), None),
    }
}

pub(crate) fn three_hundred() -> impl Iterator<Item = Sample> {
    let mut numbers = Numbers(7);
    (0..300).map(move |number| {
        let has_secret = number % 12 == 5;
        let content = if has_secret { format!("{STRINGS}key={SECRET}\0") } else { STRINGS.to_owned() };
        let (body, kind) = body(number % 15, &mut numbers, content.as_bytes());
        let (bytes, coding) = encoded(numbers.below(4), &body);
        // A server may know what it sends, or may not.
        let kind = [Some(kind), Some("application/octet-stream"), None, Some("text/plain")][number / 15 % 4];
        let kind = kind.map(|kind| ("Content-Type", kind));
        let coding = coding.map(|coding| ("Content-Encoding", coding));
        let headers = kind.into_iter().chain(coding).collect();
        let piece = [1 << 20, 4096, 777, 16 << 10][numbers.below(4)];
        Sample { bytes, headers, piece, has_secret }
    })
}
