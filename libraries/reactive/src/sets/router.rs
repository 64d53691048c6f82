//! Where an operation is done: on the processor, or on a GPU where the sets are resident and large enough.

use super::counts::{Refused, RoutingCounts};
use super::cpu::{self, Neighbor};
use super::set::{PageSet, SetError};

/// Does operations over sets of pages, on the processor or on a GPU, and counts which.
///
/// ```
/// use reactive::{Functions, Options, PageSet, Router, State, Transaction};
///
/// let mut state = State::new(Functions::new(), Options::default());
/// let mut transaction = Transaction::new();
/// let pages = [transaction.create(&[1, 2, 3, 4]), transaction.create(&[5, 6, 7, 8])];
/// let commit = state.commit(&transaction)?;
/// let pages = pages.map(|page| commit.created[page.index()]);
/// let before = PageSet::new(&state.snapshot(), pages)?;
///
/// let mut transaction = Transaction::new();
/// transaction.write(pages[1], 0, &[5, 0, 7, 0]);
/// state.commit(&transaction)?;
/// let after = PageSet::new(&state.snapshot(), pages)?;
///
/// let mut router = Router::cpu();
/// assert_eq!(router.differing(&before, &after)?, [0, 2]);
/// assert_eq!((router.counts().asked, router.counts().routed), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Router {
    counts: RoutingCounts,
    #[cfg(feature = "gpu")]
    gpu: Option<super::gpu::Gpu>,
    /// Why there is no GPU, if one was looked for.
    #[cfg(feature = "gpu")]
    none: Option<super::gpu::NoGpu>,
}

/// What a GPU comes to, if it does the operation.
type Routed<T> = Result<T, Refused>;

impl Router {
    /// A router that has no GPU and looks for none.
    pub fn cpu() -> Self {
        Self::default()
    }

    /// What became of the operations so far.
    pub fn counts(&self) -> RoutingCounts {
        #[cfg(feature = "gpu")]
        if let Some(gpu) = &self.gpu {
            return gpu.counted(self.counts);
        }
        self.counts
    }

    /// How many bytes differ in each page of two sets that have as many pages of one length.
    ///
    /// # Errors
    /// The sets are unlike.
    pub fn differing(&mut self, left: &PageSet, right: &PageSet) -> Result<Vec<u64>, SetError> {
        cpu::alike(left, right)?;
        #[cfg(feature = "gpu")]
        let routed = self.routed(|gpu| gpu.differing(left, right));
        #[cfg(not(feature = "gpu"))]
        let routed = Err(Refused::NoGpu);
        Ok(self.settle(routed, || cpu::differing(left, right)))
    }

    /// The exclusive or of each page with its counterpart in the other set.
    ///
    /// # Errors
    /// The sets are unlike.
    pub fn xor(&mut self, left: &PageSet, right: &PageSet) -> Result<Vec<Vec<u8>>, SetError> {
        cpu::alike(left, right)?;
        #[cfg(feature = "gpu")]
        let routed = self.routed(|gpu| gpu.xor(left, right));
        #[cfg(not(feature = "gpu"))]
        let routed = Err(Refused::NoGpu);
        Ok(self.settle(routed, || cpu::xor(left, right)))
    }

    /// The boolean product of each page with its counterpart. A page is a square matrix of bits of this order: row by row, the bit of
    /// column `j` is bit `j % 8` of byte `j / 8` of the row.
    ///
    /// # Errors
    /// The sets are unlike, the order is not a multiple of 32 above 0, or a page has not `order * order / 8` bytes.
    pub fn boolean_product(&mut self, left: &PageSet, right: &PageSet, order: usize) -> Result<Vec<Vec<u8>>, SetError> {
        cpu::alike(left, right)?;
        let bytes = order.checked_mul(order / 8).filter(|_| order > 0 && order.is_multiple_of(32));
        let needed =
            || format!("matrices of bits of order {order} need {order} * {order} / 8, and an order that 32 divides");
        cpu::shaped(left, bytes, needed)?;
        #[cfg(feature = "gpu")]
        let routed = self.routed(|gpu| gpu.boolean_product(left, right, order));
        #[cfg(not(feature = "gpu"))]
        let routed = Err(Refused::NoGpu);
        Ok(self.settle(routed, || cpu::boolean_product(left, right, order)))
    }

    /// The min-plus product of each page with its counterpart: the shortest of all ways of two steps. A page is a square matrix of this order,
    /// row by row, of lengths of 32 bits in little-endian order; `u32::MAX` is no way, and a sum that is larger is no way either.
    ///
    /// # Errors
    /// The sets are unlike, or a page has not `4 * order * order` bytes.
    pub fn min_plus_product(
        &mut self,
        left: &PageSet,
        right: &PageSet,
        order: usize,
    ) -> Result<Vec<Vec<u8>>, SetError> {
        cpu::alike(left, right)?;
        let bytes = order.checked_mul(order).and_then(|cells| cells.checked_mul(4)).filter(|bytes| *bytes > 0);
        cpu::shaped(left, bytes, || format!("matrices of lengths of order {order} need 4 * {order} * {order}"))?;
        #[cfg(feature = "gpu")]
        let routed = self.routed(|gpu| gpu.min_plus_product(left, right, order));
        #[cfg(not(feature = "gpu"))]
        let routed = Err(Refused::NoGpu);
        Ok(self.settle(routed, || cpu::min_plus_product(left, right, order)))
    }

    /// The rows of a set of embeddings that are nearest to a question, the nearest first; equally near ones by their numbers. A page is rows
    /// of as many floats of 32 bits, in little-endian order, as the question has. What is not a number is farthest.
    ///
    /// # Errors
    /// The question is empty, or a page is not made of whole rows.
    pub fn nearest(&mut self, set: &PageSet, question: &[f32], count: usize) -> Result<Vec<Neighbor>, SetError> {
        let row_bytes = size_of_val(question);
        let whole = Some(set.page_bytes()).filter(|bytes| row_bytes > 0 && bytes.is_multiple_of(row_bytes));
        cpu::shaped(set, whole, || {
            format!("rows of {} floats need a multiple of {row_bytes}, above 0", question.len())
        })?;
        #[cfg(feature = "gpu")]
        let routed = self.routed(|gpu| gpu.nearest(set, question, count));
        #[cfg(not(feature = "gpu"))]
        let routed = Err(Refused::NoGpu);
        Ok(self.settle(routed, || cpu::nearest(set, question, count)))
    }

    /// What the GPU came to, or else what the processor comes to.
    fn settle<T>(&mut self, routed: Routed<T>, compute: impl FnOnce() -> T) -> T {
        self.counts.asked += 1;
        match routed {
            Ok(done) => {
                self.counts.routed += 1;
                done
            }
            Err(why) => {
                self.counts.refused(why);
                compute()
            }
        }
    }
}

#[cfg(feature = "gpu")]
mod with_gpu {
    use super::{PageSet, Refused, Routed, Router};
    use crate::sets::gpu::{Adapter, Gpu, GpuOptions, NoGpu};

    impl Router {
        /// A router that has the GPU which the system prefers, if there is one; [`Router::none`] says why there is none. If the threshold is to
        /// be measured, that happens here.
        pub fn open(options: &GpuOptions) -> Self {
            match Gpu::open(options) {
                Ok(gpu) => Self { gpu: Some(gpu), ..Self::default() },
                Err(none) => Self { none: Some(none), ..Self::default() },
            }
        }

        /// The adapter, and the threshold that is used; none without a GPU.
        pub fn adapter(&self) -> Option<&Adapter> {
            self.gpu.as_ref().map(Gpu::adapter)
        }

        /// Why there is no GPU, if one was looked for.
        pub fn none(&self) -> Option<&NoGpu> {
            self.none.as_ref()
        }

        /// Copies a set to the GPU, where it stays as long as the set lives; of a set that is there already, the pages that have changed since.
        /// Gives how many pages were copied.
        ///
        /// # Errors
        /// There is no GPU, the set is larger than a buffer may be, or the device failed. The set is not resident then.
        pub fn make_resident(&mut self, set: &mut PageSet) -> Result<usize, Refused> {
            self.gpu.as_mut().ok_or(Refused::NoGpu)?.make_resident(set)
        }

        /// Ends the device, as if it was pulled out.
        #[cfg(test)]
        pub(in crate::sets) fn lose_gpu(&mut self) {
            self.gpu.as_ref().expect("a GPU was opened").lose();
        }

        #[cfg(test)]
        pub(in crate::sets) fn gpu_for_tests(self) -> Gpu {
            self.gpu.expect("a GPU was opened")
        }

        pub(super) fn routed<T>(&mut self, work: impl FnOnce(&mut Gpu) -> Routed<T>) -> Routed<T> {
            work(self.gpu.as_mut().ok_or(Refused::NoGpu)?)
        }
    }
}
