//! Reading, or writing as well.

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading only; the file may lie where nothing can be written.
    Read,
    /// Reading and writing.
    Write,
}
