//! Writing an image.

use super::{ImagePattern, hash_fingerprint};
use crate::canonical::encode;
use crate::columns::{ColumnsWriter, NO_LIMIT};
use crate::snapshot::Snapshot;
use crate::term::{LiveTerms, Terms, write_terms};
use std::io::{self, Write};

/// What an image is made of.
pub struct ImageSource<'a> {
    /// A dictionary that has the terms of all spaces.
    pub terms: &'a Terms,
    /// How many of its first terms each process makes anew when it begins.
    pub foundation: u32,
    /// Spaces, by serial number.
    pub spaces: &'a [(u64, &'a Snapshot)],
    /// What the owner has to say.
    pub owner: &'a [u8],
}

/// Writes an image; gives how long it is, in bytes.
///
/// # Errors
/// What takes the bytes refuses.
pub fn write_image(source: &ImageSource<'_>, out: &mut dyn Write) -> io::Result<u64> {
    let ImageSource { terms, foundation, spaces, owner } = *source;
    let live = LiveTerms::new(terms, foundation, |mark| {
        for (_, space) in spaces {
            space.contents().each_relation(|relation| {
                relation.all().for_each(|row| row.terms.iter().for_each(|&term| mark(term)));
            });
        }
    });
    let mut writer = ColumnsWriter::begin(out)?;
    let mut words = vec![hash_fingerprint()];
    write_terms(terms, &live, &mut writer, &mut words)?;
    words.push(writer.bytes(|put| put(owner))?);
    words.push(spaces.len() as u64);
    for (serial, space) in spaces {
        words.push(*serial);
        space.contents().write(terms, &live, &mut writer, &mut words)?;
        let patterns = space.contents().patterns().in_order();
        words.push(writer.bytes(|put| {
            patterns.iter().try_for_each(|found| {
                let pattern = ImagePattern {
                    number: found.number,
                    copies: found.copies,
                    names: found.stored.names.iter().map(|name| name.as_str().to_owned()).collect(),
                    bytes: encode(&found.stored.atom),
                };
                put(&pattern.encode())
            })
        })?);
    }
    writer.column(NO_LIMIT, words)?;
    writer.finish()
}

impl ImagePattern {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = self.number.to_le_bytes().to_vec();
        let mut put = |part: &[u8]| bytes.extend_from_slice(part);
        put(&self.copies.to_le_bytes());
        put(&(self.names.len() as u32).to_le_bytes());
        for name in self.names.iter().map(|name| name.as_bytes()).chain([self.bytes.as_slice()]) {
            put(&(name.len() as u32).to_le_bytes());
            put(name);
        }
        bytes
    }
}
