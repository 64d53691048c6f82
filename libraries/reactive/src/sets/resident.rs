//! The copy of a set of pages that lies on a device.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A copy of a set on a device.
#[derive(Debug)]
pub(super) struct Resident {
    /// The device that it is on.
    pub(super) owner: Arc<()>,
    /// Whether that has failed or was lost, and the copy with it.
    pub(super) has_failed: Arc<AtomicBool>,
    pub(super) buffer: wgpu::Buffer,
    pub(super) pages: Vec<ResidentPage>,
}

/// The version of a page that was copied. While it is kept, no other version can have its address.
#[derive(Debug)]
pub(super) struct ResidentPage {
    pub(super) bytes: Arc<[u8]>,
    /// Whether all that it holds, taken as floats, can be compared in 32 bits.
    pub(super) is_in_range: bool,
}

impl Resident {
    /// Whether there is a copy of a page, of this version.
    pub(super) fn is_current_at(&self, index: usize, bytes: &Arc<[u8]>) -> bool {
        let is_there = !self.has_failed.load(Ordering::SeqCst);
        is_there && self.pages.get(index).is_some_and(|page| Arc::ptr_eq(&page.bytes, bytes))
    }
}
