//! Formats of files that are loaded.

use super::out::Out;
use super::words::Words;

/// What reads the files of one format. It may read on another thread than the one that adds what it reads.
pub trait Format: Send {
    /// Reads the whole records that these bytes begin with and hands them out; gives how many bytes that were. The rest comes
    /// again, with more behind it. At the end of the file nothing follows, and all is read. Once the [`Out`] is full it
    /// returns before the next record.
    fn read(&mut self, bytes: &[u8], is_end: bool, out: &mut dyn Out) -> usize;

    /// What the atoms depend on beside the bytes: a file that is loaded in another way is another one. Empty for MeTTa text, so that
    /// running and loading a file are the same to a base.
    fn manner(&self) -> String;
}

/// What knows which formats files are in, for `import!`.
pub trait Formats {
    /// The endings of the names of such files, without the dot.
    fn endings(&self) -> &[&'static str];

    /// What reads a file, by its absolute path, if it is in one of these formats; words mean what they mean to the module that imports it.
    ///
    /// # Errors
    /// Why its rows would mean nothing.
    fn of(&self, file: &str, words: Words) -> Result<Option<Box<dyn Format>>, String>;
}
