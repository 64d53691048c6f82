//! What bindings to other languages need, and no program in Rust: a feature of the crate, `bindings`, off unless asked for.
//!
//! 1. [`object`]: strings, buffers, arrays and maps (the modules `bytes`, `array` and `map`) as values of a region, and [`lists`] and
//!    trees that are made as a whole.
//! 2. [`region_table`]: regions by handles, for languages that cannot hold a region as a value.
//! 3. [`copies`]: what roots lead to, copied to another region or another heap by one call.
//! 4. [`intact`] and [`dangling`]: checks of references that come from outside.
//! 5. [`inline_writing`]: expressions that code in another language writes into a region itself.
//! 6. [`parked_tethers`]: tethers by number.

mod array;
mod bytes;
mod copies;
mod dangling;
pub mod graph;
mod inline_writing;
mod intact;
mod lists;
mod map;
mod object;
mod parked_tethers;
mod region_table;
pub mod shared_map;

pub use bytes::Bytes;
pub use map::Entries;
pub use object::Object;
pub use parked_tethers::{NoParking, NotParked};
pub use region_table::{HandleError, RegionHandle, RegionTable, ReleaseOutcome};

pub(crate) use bytes::{RUN, run_cells};
pub(crate) use map::TABLE;
pub(crate) use object::{ARRAY, BYTES};
