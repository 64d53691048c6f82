//! An image: a dictionary and what spaces hold, as bytes that are used as they lie.
//!
//! [`write_image`] makes it of snapshots, so that the spaces may go on changing meanwhile. [`Image::open`] takes its bytes, mostly those
//! of a mapped file, and gives a dictionary and spaces that begin with what was written, and then change in memory. Terms, rows, sets
//! of rows and indexes are read where they lie, when they are first needed; see [`crate::columns`] for what is checked when.
//!
//! Atoms that are not rows are written in their canonical form, and read one by one: whoever opens an image makes atoms of them, since
//! they may hold spaces and states.
//!
//! Cost: opening takes time for each relation and each of its indexes, and none for rows and terms. Writing walks over the rows once for each column
//! and each index, and holds a table, or the keys of a column, in memory at a time.

mod write;

use crate::atom::Atom;
use crate::columns::{Column, ColumnsReader, ImageDamage, ImageError, catching_damage};
use crate::contents::Contents;
use crate::relation::row_hashes;
use crate::space::Space;
use crate::stored::Stored;
use crate::term::{MappedTerms, ResolveHost, SharedTerms, Terms, term_hashes};
use crate::words::Words;
use bytes::Bytes;
use std::fmt;
use std::sync::{Arc, RwLock};
use twox_hash::XxHash3_64;
pub use write::{ImageSource, write_image};

/// An image that is open.
pub struct Image {
    columns: ColumnsReader,
    terms: Arc<MappedTerms>,
    owner: Column<u8>,
    spaces: Vec<ImageSpace>,
}

/// What an image has of a space.
struct ImageSpace {
    serial: u64,
    contents: Contents,
    patterns: Column<u8>,
}

/// An atom of a space that is not a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePattern {
    /// Its insertion number.
    pub number: u64,
    /// How many copies there are.
    pub copies: u32,
    /// The names of its variables, by number.
    pub names: Vec<String>,
    /// Its canonical bytes.
    pub bytes: Vec<u8>,
}

impl Image {
    /// Opens an image; `resolve` finds host values by identity.
    ///
    /// # Errors
    /// The bytes are no image, of another version, or damaged.
    pub fn open(bytes: Bytes, resolve: ResolveHost) -> Result<Self, ImageError> {
        let columns = ColumnsReader::open(bytes)?;
        let last = columns.last().ok_or(Words::IMPOSSIBLE)?;
        let description: Column<u64> = columns.column(last)?;
        let damaged = |_: ImageDamage| ImageError::Damaged { reason: "its description is damaged" };
        let opened = catching_damage(|| {
            let mut words = Words::new(description.slice(0..description.len()));
            if words.next()? != hash_fingerprint() {
                return Err(ImageError::Hashes);
            }
            let terms = Arc::new(MappedTerms::open(&columns, &mut words, resolve)?);
            let owner = columns.column(words.next()?)?;
            let spaces = (0..words.next()?).map(|_| ImageSpace::open(&columns, &mut words));
            let spaces = spaces.collect::<Result<Vec<ImageSpace>, ImageError>>()?;
            Ok((terms, owner, spaces))
        });
        let (terms, owner, spaces) = opened.map_err(damaged)??;
        Ok(Self { columns, terms, owner, spaces })
    }

    /// What its owner has written beside the spaces.
    pub fn owner(&self) -> &[u8] {
        self.owner.slice(0..self.owner.len())
    }

    /// How long it is, in bytes.
    pub fn length(&self) -> u64 {
        self.columns.length()
    }

    /// A dictionary that begins with its terms. The spaces of one program share one.
    pub fn dictionary(&self) -> SharedTerms {
        Arc::new(RwLock::new(Terms::of_image(Arc::clone(&self.terms))))
    }

    /// The serial numbers of its spaces.
    pub fn spaces(&self) -> impl Iterator<Item = u64> {
        self.spaces.iter().map(|space| space.serial)
    }

    fn space_of(&self, serial: u64) -> Option<&ImageSpace> {
        self.spaces.iter().find(|space| space.serial == serial)
    }

    /// The rows of a space, in a dictionary that began with this image; its other atoms are to be added by
    /// [`Space::restore_pattern`].
    pub fn space(&self, serial: u64, terms: &SharedTerms) -> Option<Space> {
        let contents = self.space_of(serial)?.contents.shared();
        Some(Space::of(SharedTerms::clone(terms), contents))
    }

    /// The atoms of a space that are not rows, in the order of their insertion.
    ///
    /// # Errors
    /// They are not as they were written.
    pub fn patterns(&self, serial: u64) -> Result<Vec<ImagePattern>, ImageError> {
        let Some(space) = self.space_of(serial) else { return Ok(Vec::new()) };
        let mut bytes = space.patterns.slice(0..space.patterns.len());
        let mut patterns = Vec::new();
        while !bytes.is_empty() {
            patterns.push(ImagePattern::take(&mut bytes).ok_or(Words::IMPOSSIBLE)?);
        }
        Ok(patterns)
    }

    /// Checks every block of it.
    ///
    /// # Errors
    /// One is damaged.
    pub fn verify(&self) -> Result<(), ImageDamage> {
        catching_damage(|| self.columns.verify())
    }
}

/// A number that differs if the functions do by which tables are looked into.
fn hash_fingerprint() -> u64 {
    let hashes = term_hashes().into_iter().chain(row_hashes());
    XxHash3_64::oneshot(&hashes.flat_map(u64::to_le_bytes).collect::<Vec<u8>>())
}

impl fmt::Debug for Image {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Image").field("length", &self.length()).finish_non_exhaustive()
    }
}

impl ImageSpace {
    fn open(columns: &ColumnsReader, words: &mut Words<'_>) -> Result<Self, ImageError> {
        let serial = words.next()?;
        let contents = Contents::open(columns, words)?;
        let patterns = columns.column(words.next()?)?;
        Ok(Self { serial, contents, patterns })
    }
}

impl ImagePattern {
    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let number = u64::from_le_bytes(*take(bytes, 8)?.first_chunk()?);
        let [copies, names] = [take_u32(bytes)?, take_u32(bytes)?];
        let names = (0..names).map(|_| text(bytes)).collect::<Option<Vec<String>>>()?;
        let length = take_u32(bytes)? as usize;
        Some(Self { number, copies, names, bytes: take(bytes, length)?.to_vec() })
    }
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(*take(bytes, 4)?.first_chunk()?))
}

fn text(bytes: &mut &[u8]) -> Option<String> {
    let length = take_u32(bytes)? as usize;
    String::from_utf8(take(bytes, length)?.to_vec()).ok()
}

impl Space {
    /// Adds copies of an atom that is not a row to a space that was made of an image, which counts them already.
    pub fn restore_pattern(&mut self, atom: &Atom, copies: u32, number: u64) {
        self.contents_mut().restore_pattern(Stored::new(atom), copies, number);
    }
}
