//! The server of names in a network of a program's own (RFC 1035).
//!
//! Every name has an address of this network, at which nobody answers, so that a program goes on to the connection that it wants
//! the name for, and the connection can be named. Names of addresses, and records of other types, there are none.

use super::watch::BypassWatch;
use std::net::Ipv4Addr;
use std::sync::Arc;
use tokio::net::UdpSocket;

/// A question by UDP is not longer.
const MESSAGE_BYTES_MAX: usize = 4096;
const HEAD_BYTES: usize = 12;
/// A name, and a part of it, are not longer.
const NAME_BYTES_MAX: usize = 255;
const PART_BYTES_MAX: usize = 63;

const ADDRESS: u16 = 1;
const NAME_OF_ADDRESS: u16 = 12;
const INTERNET: u16 = 1;

const FINE: u8 = 0;
const FAILED: u8 = 2;
const NO_SUCH_NAME: u8 = 3;

/// Answers questions until the proxy ends.
pub(super) async fn serve(socket: UdpSocket, watch: Arc<BypassWatch>) {
    let mut question = [0; MESSAGE_BYTES_MAX];
    while let Ok((count, from)) = socket.recv_from(&mut question).await {
        if let Some(answer) = answer(&question[..count], |name| watch.address_of(name)) {
            // A client that has gone needs no answer.
            let _ = socket.send_to(&answer, from).await;
        }
    }
}

/// The answer to a question; `None` if it is none.
fn answer(question: &[u8], address_of: impl FnOnce(&str) -> Option<Ipv4Addr>) -> Option<Vec<u8>> {
    let word = |at: usize| Some(u16::from_be_bytes(question.get(at..at + 2)?.try_into().ok()?));
    let is_question = word(4)? == 1 && question[2] & 0x80 == 0;
    let (name, end) = is_question.then(|| name(question)).flatten()?;
    let (kind, class) = (word(end)?, word(end + 2)?);
    let (outcome, address) = match (kind, class) {
        (ADDRESS, INTERNET) => match address_of(&name) {
            Some(address) => (FINE, Some(address)),
            None => (FAILED, None),
        },
        (NAME_OF_ADDRESS, _) => (NO_SUCH_NAME, None),
        _ => (FINE, None),
    };
    // It answers, as one that looks names up anywhere; what the question wanted of that is repeated.
    let mut out = vec![question[0], question[1], 0x80 | question[2] & 0x79, 0x80 | outcome, 0, 1];
    out.extend([0, u8::from(address.is_some()), 0, 0, 0, 0]);
    out.extend(&question[HEAD_BYTES..end + 4]);
    if let Some(address) = address {
        // The name is the one at the beginning of the question; the answer is good for no time.
        out.extend([0xc0, HEAD_BYTES as u8, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
        out.extend(address.octets());
    }
    Some(out)
}

/// The name in a question, in small letters, and where it ends.
fn name(question: &[u8]) -> Option<(String, usize)> {
    let (mut name, mut at) = (String::new(), HEAD_BYTES);
    loop {
        let length = usize::from(*question.get(at)?);
        let part = question.get(at + 1..at + 1 + length).filter(|_| length <= PART_BYTES_MAX)?;
        at += 1 + length;
        if length == 0 {
            return Some((name, at));
        }
        if !name.is_empty() {
            name.push('.');
        }
        name.push_str(&String::from_utf8_lossy(part).to_ascii_lowercase().escape_default().to_string());
        if name.len() > NAME_BYTES_MAX {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(kind: u8) -> Vec<u8> {
        let mut bytes = vec![7, 8, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        bytes.extend(b"\x04Frog\x04test\x00");
        bytes.extend([0, kind, 0, 1]);
        bytes
    }

    fn asked(bytes: &[u8]) -> (Option<Vec<u8>>, String) {
        let mut asked = String::new();
        let answer = answer(bytes, |name| {
            name.clone_into(&mut asked);
            Some(Ipv4Addr::new(198, 18, 0, 1))
        });
        (answer, asked)
    }

    #[test]
    fn a_name_has_an_address() {
        let (answer, name) = asked(&question(1));
        let answer = answer.unwrap();
        assert_eq!(name, "frog.test");
        assert_eq!((&answer[..4], answer[7]), (&[7, 8, 0x81, 0x80][..], 1));
        assert!(answer.ends_with(&[0, 4, 198, 18, 0, 1]));
        // No other address, and no name of an address.
        assert_eq!(asked(&question(28)).0.unwrap()[3..8], [0x80, 0, 1, 0, 0]);
        assert_eq!(asked(&question(12)).0.unwrap()[3], 0x83);
    }

    #[test]
    fn what_is_no_question_is_not_answered() {
        let whole = question(1);
        assert!((0..whole.len()).all(|end| asked(&whole[..end]).0.is_none()));
        let mut answer = whole.clone();
        answer[2] |= 0x80;
        assert_eq!(asked(&answer).0, None);
        let mut pointer = whole;
        pointer[HEAD_BYTES] = 0xc0;
        assert_eq!(asked(&pointer).0, None);
    }
}
