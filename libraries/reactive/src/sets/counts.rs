//! What a router counts, and why it leaves work to the processor.

use std::fmt;

/// What became of the operations of a router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoutingCounts {
    /// Operations that were asked for and have a result.
    pub asked: u64,
    /// Those that a GPU did.
    pub routed: u64,
    /// Those that the processor did because the router has no GPU,
    pub no_gpu: u64,
    /// because a set is not resident, or is resident with another router,
    pub not_resident: u64,
    /// because a page has changed since the set was made resident,
    pub stale: u64,
    /// because the adapter is a processor, which the threshold refuses,
    pub adapter_is_cpu: u64,
    /// because the sets are smaller than the threshold,
    pub below_threshold: u64,
    /// because a buffer would be larger than the device allows,
    pub too_large: u64,
    /// because a float is not a number, or so large that the square of a difference might not be one,
    pub out_of_range: u64,
    /// because the device failed or was lost; nothing is sent to it any more.
    pub failed: u64,
    /// How often the driver of a GPU was called, beside opening it.
    pub gpu_calls: u64,
    /// Pages that were copied to a GPU.
    pub uploaded_pages: u64,
    /// Bytes that were copied to a GPU.
    pub uploaded_bytes: u64,
}

/// Why a GPU does not do an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// The router has no GPU.
    NoGpu,
    /// A set is not resident there.
    NotResident,
    /// A page has changed since the set was made resident.
    Stale,
    /// The adapter is a processor.
    AdapterIsCpu,
    /// The sets are smaller than the threshold.
    BelowThreshold,
    /// A buffer would be larger than the device allows.
    TooLarge,
    /// A float is not a number, or too large.
    OutOfRange,
    /// The device failed or was lost.
    Failed,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoGpu => "there is no GPU",
            Self::NotResident => "a set of pages is not resident on the GPU: make it resident first",
            Self::Stale => "a page has changed since the set was made resident: make it resident again",
            Self::AdapterIsCpu => "the adapter is a processor, which is never faster than the processor",
            Self::BelowThreshold => "the sets are smaller than the threshold",
            Self::TooLarge => "a buffer would be larger than the device allows",
            Self::OutOfRange => "a float is not a number, or too large for 32 bits to hold the square of a difference",
            Self::Failed => "the device failed or was lost",
        })
    }
}

impl RoutingCounts {
    pub(super) fn refused(&mut self, why: Refused) {
        let count = match why {
            Refused::NoGpu => &mut self.no_gpu,
            Refused::NotResident => &mut self.not_resident,
            Refused::Stale => &mut self.stale,
            Refused::AdapterIsCpu => &mut self.adapter_is_cpu,
            Refused::BelowThreshold => &mut self.below_threshold,
            Refused::TooLarge => &mut self.too_large,
            Refused::OutOfRange => &mut self.out_of_range,
            Refused::Failed => &mut self.failed,
        };
        *count += 1;
    }
}
