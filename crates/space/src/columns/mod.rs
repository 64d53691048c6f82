//! Columns of numbers in a file, as they lie in memory: what an [image](crate::Image) is made of.
//!
//! ```text
//! header │ section │ section │ … │ directory │ footer
//! ```
//! 1. A section is one column. It begins at a multiple of 64 bytes, so that a mapped file is looked at as a list of numbers. It is
//!    cut into blocks of 64 KiB, and the directory has a checksum of each.
//! 2. Opening checks header, footer and directory. A block is checked when something in it is first read: its checksum, and
//!    that no number in it is above the limit of its section, so that what a program follows leads somewhere.
//! 3. A block that is damaged ends what is being done by an unwinding that [`catching_damage`] ends. Nothing is ever said of a
//!    damaged block, and no caller on the way needs to know that there are files.
//!
//! Numbers are little-endian. On a machine of the other byte order nothing is written or opened.
//!
//! Cost: opening reads the directory, 8 bytes for each 64 KiB of the file; the first look at a block reads all of it; others test a bit.

mod column;
mod damage;
mod file;
mod reader;
mod table;
mod writer;

pub(crate) use column::Column;
pub use damage::{ImageDamage, catching_damage};
pub use file::ImageError;
pub(crate) use file::NO_LIMIT;
pub(crate) use reader::ColumnsReader;
pub(crate) use table::{Table, table_of};
pub(crate) use writer::ColumnsWriter;
