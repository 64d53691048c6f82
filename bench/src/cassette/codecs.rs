//! Encoding, opening, decoding, and sizes.

use super::report::{Clean, MagnetoCassette};
use super::{INTERACTIONS_A_ROUND, ROUNDS, SIZES, SUITE, exchange, sizes, sum};
use crate::compare::{Case, Timed, compare, timed};
use crate::row::Row;
use crate::{Plan, Rows};
use cassette::{Cassette, Content, Exchange, KeyScheme, write_cassette};
use std::error::Error;
use std::hint::black_box;

const MESSAGE_PACK: &str = "rmp-serde, the report's structures";
const JSON: &str = "serde_json, the report's structures";
const POSTCARD: &str = "postcard, clean structures";

/// A cassette of the report in every form.
struct Forms {
    n: u64,
    repeats: u64,
    rounds: usize,
    report: MagnetoCassette,
    clean: Clean,
    content: Content,
    message_pack: Vec<u8>,
    json: Vec<u8>,
    postcard: Vec<u8>,
    our_json: Vec<u8>,
    our_message_pack: Vec<u8>,
    /// The frames of a recording, end to end, and where each ends.
    frames: (Vec<u8>, Vec<usize>),
}

/// One side of a case: what is done once, and what it sums up to.
type Work<'w> = &'w dyn Fn() -> Result<u64, Box<dyn Error>>;

pub(super) fn cases(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    for n in SIZES {
        let forms = Forms::of(plan, n)?;
        rows.extend(forms.encoding()?);
        rows.extend(forms.decoding()?);
        rows.extend(forms.sealed(plan)?);
    }
    Ok(rows)
}

impl Forms {
    fn of(plan: &Plan, n: u64) -> Result<Self, Box<dyn Error>> {
        let (report, clean) = (MagnetoCassette::of(n), Clean::of(n));
        let content = Content { exchanges: (0..n).map(exchange).collect(), meta: Vec::new() };
        let frames = encode(&content);
        Ok(Self {
            n,
            repeats: (plan.scaled(INTERACTIONS_A_ROUND) / n).max(1),
            rounds: plan.rounds(ROUNDS),
            message_pack: rmp_serde::to_vec(&report)?,
            json: serde_json::to_vec(&report)?,
            postcard: postcard::to_stdvec(&clean)?,
            our_json: content.to_json(false)?,
            our_message_pack: content.to_msgpack()?,
            frames,
            report,
            clean,
            content,
        })
    }

    fn compare(
        &self,
        name: &str,
        peer: &'static str,
        note: &str,
        ours: Work<'_>,
        theirs: Work<'_>,
    ) -> Result<Row, Box<dyn Error>> {
        let (n, rounds, note) = (self.n * self.repeats, self.rounds, note.to_owned());
        let case = Case { suite: SUITE, name: format!("{name}, {}", self.n), n, peer, rounds, note };
        compare(case, &mut || self.repeat(ours), &mut || self.repeat(theirs))
    }

    fn repeat(&self, work: Work<'_>) -> Result<Timed, Box<dyn Error>> {
        let (elapsed, checksum) = timed(|| {
            let mut total = 0_u64;
            for _ in 0..self.repeats {
                total = total.wrapping_add(work()?);
            }
            Ok(total)
        })?;
        Ok(Timed { elapsed, checksum })
    }

    /// What is encoded is not summed up: that would take as long. Decoding proves it.
    fn encoding(&self) -> Rows {
        let note = "ours is a frame an exchange, before the journal; bodies are bytes, not lists of numbers";
        let frames: Work<'_> = &|| done(&encode(&self.content).0);
        let json = "indented on neither side; bodies that are text are text, not lists of numbers";
        let packed = "structures are arrays on both sides; bodies are bytes, not lists of numbers";
        Ok(vec![
            self.compare("encode", MESSAGE_PACK, note, frames, &|| done(&rmp_serde::to_vec(&self.report)?))?,
            self.compare("encode", POSTCARD, note, frames, &|| done(&postcard::to_stdvec(&self.clean)?))?,
            self.compare("encode JSON", JSON, json, &|| done(&self.content.to_json(false)?), &|| {
                done(&serde_json::to_vec(&self.report)?)
            })?,
            self.compare("encode MessagePack", MESSAGE_PACK, packed, &|| done(&self.content.to_msgpack()?), &|| {
                done(&rmp_serde::to_vec(&self.report)?)
            })?,
        ])
    }

    fn decoding(&self) -> Rows {
        let note = "ours borrows from the frames";
        let theirs: Work<'_> = &|| Ok(rmp_serde::from_slice::<MagnetoCassette>(&self.message_pack)?.sum());
        let json = "ours has every exchange on its own, bodies from text";
        Ok(vec![
            self.compare("decode frames", MESSAGE_PACK, note, &|| self.decode(), theirs)?,
            self.compare("decode frames", POSTCARD, note, &|| self.decode(), &|| {
                Ok(postcard::from_bytes::<Clean>(&self.postcard)?.sum())
            })?,
            self.compare("decode JSON", JSON, json, &|| Ok(total(&Content::from_json(&self.our_json)?)), &|| {
                Ok(serde_json::from_slice::<MagnetoCassette>(&self.json)?.sum())
            })?,
            self.compare(
                "decode MessagePack",
                MESSAGE_PACK,
                "structures are arrays on both sides",
                &|| Ok(total(&Content::from_msgpack(&self.our_message_pack)?)),
                theirs,
            )?,
            sizes(format!("size of JSON, {}", self.n), self.n, self.our_json.len(), JSON, self.json.len(), ""),
            sizes(
                format!("size of MessagePack, {}", self.n),
                self.n,
                self.our_message_pack.len(),
                MESSAGE_PACK,
                self.message_pack.len(),
                "",
            ),
        ])
    }

    fn decode(&self) -> Result<u64, Box<dyn Error>> {
        let (bytes, ends) = &self.frames;
        let mut total = 0;
        let mut begin = 0;
        for &end in ends {
            total += sum(&Exchange::decode(&bytes[begin..end])?);
            begin = end;
        }
        Ok(total)
    }

    fn sealed(&self, plan: &Plan) -> Rows {
        let path = plan.scratch.join("report.cassette");
        write_cassette(&path, &self.content.exchanges, &[], KeyScheme::target())?;
        let last = &self.content.exchanges[self.n as usize - 1];
        let expected = sum(last);
        let find = || -> Result<u64, Box<dyn Error>> {
            let cassette = Cassette::open(&path)?;
            let found = cassette.find(&KeyScheme::target(), &last.request)?;
            Ok(if found == [self.n as usize - 1] { expected } else { 0 })
        };
        let load = || -> Result<u64, Box<dyn Error>> {
            black_box(rmp_serde::from_slice::<MagnetoCassette>(&self.message_pack)?.sum());
            Ok(expected)
        };
        let open_note = "ours opens a file, checks its index and finds a request in it; the peer decodes bytes in memory, \
                         which is what it has to do before it can look";
        let bytes = std::fs::metadata(&path)?.len() as usize;
        let rows = vec![
            self.compare("open and find", MESSAGE_PACK, open_note, &find, &load)?,
            self.compare(
                "open and decode all",
                MESSAGE_PACK,
                "ours opens a file, checks and decompresses it; the peer decodes bytes in memory",
                &|| {
                    let cassette = Cassette::open(&path)?;
                    cassette.exchanges().try_fold(0, |total, exchange| Ok(total + sum(&exchange?)))
                },
                &|| Ok(rmp_serde::from_slice::<MagnetoCassette>(&self.message_pack)?.sum()),
            )?,
            sizes(
                format!("size sealed, {}", self.n),
                self.n,
                bytes,
                MESSAGE_PACK,
                self.message_pack.len(),
                "ours is compressed and has an index; the peer has neither",
            ),
        ];
        std::fs::remove_file(path)?;
        Ok(rows)
    }
}

fn encode(content: &Content) -> (Vec<u8>, Vec<usize>) {
    let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(content.exchanges.len()));
    for exchange in &content.exchanges {
        exchange.encode(&mut bytes);
        ends.push(bytes.len());
    }
    (bytes, ends)
}

fn total(content: &Content) -> u64 {
    content.exchanges.iter().map(sum).sum()
}

/// For what is only to be made: nothing to sum up.
fn done(bytes: &[u8]) -> Result<u64, Box<dyn Error>> {
    black_box(bytes);
    Ok(0)
}
