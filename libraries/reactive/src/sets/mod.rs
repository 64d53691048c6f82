//! Work over many pages at once: differences, products of matrices, nearest neighbours.
//!
//! 1. A [`PageSet`] has pages of one length, in an order, as a snapshot had them. It takes over from a later snapshot what has changed.
//! 2. [`cpu`](self) has each operation in its plain form, which says what it comes to.
//! 3. A [`Router`] has the operations as users call them. Built with the feature `gpu` and opened on an adapter, it sends an operation there if
//!    the sets are resident, so that nothing but the result crosses the bus, and large enough by a threshold that was measured. Otherwise the
//!    processor does it, and a counter says why. Results are equal: integers bit for bit; where floats are concerned, the GPU proposes
//!    and the processor decides.
//!
//! Without the feature nothing of a GPU is linked. The report's system routed single deltas and compared sizes that were not alike; data that
//! begins and ends in memory of the host is bound by the transfer, so only resident sets are routed here.

mod counts;
mod cpu;
#[cfg(feature = "gpu")]
mod gpu;
#[cfg(feature = "gpu")]
mod resident;
mod router;
mod set;

pub use counts::{Refused, RoutingCounts};
pub use cpu::Neighbor;
#[cfg(feature = "gpu")]
pub use gpu::{Adapter, GpuOptions, NoGpu, Threshold};
pub use router::Router;
pub use set::{PageSet, SetError};
