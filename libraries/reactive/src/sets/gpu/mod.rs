//! Sets of pages on a GPU, by [wgpu]: Vulkan, Metal or DirectX 12.
//!
//! 1. `device` has the buffers and kernels; an error of the driver marks the device, and nothing is sent to it any more.
//! 2. This file decides what is sent: sets that are resident with this router and current, of the threshold's size or larger.
//! 3. `calibration` measures the threshold.
//!
//! [wgpu]: https://wgpu.rs

mod calibration;
mod device;
#[cfg(test)]
mod tests;

use super::counts::{Refused, RoutingCounts};
use super::cpu::{self, Neighbor};
use super::resident::{Resident, ResidentPage};
use super::set::PageSet;
use crate::Clock;
use device::{Device, Kernel};
use journal::Disk;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// From how many bytes on a GPU does an operation, counted over all pages of its sets.
#[derive(Clone)]
pub enum Threshold {
    /// From this many on, whatever the adapter is.
    Bytes(u64),
    /// Where the GPU becomes faster, measured when it is opened, and 1 MiB at least; never, if the adapter is a processor.
    Measured {
        /// In nanoseconds.
        clock: Clock,
        /// Where what was measured is kept, in the file `GPU`, for the next time that this adapter is opened with this driver.
        kept: Option<Arc<dyn Disk>>,
    },
}

/// How a GPU is opened.
#[derive(Clone)]
pub struct GpuOptions {
    /// From how many bytes on it does an operation.
    pub threshold: Threshold,
}

/// What the GPU is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Adapter {
    /// Its name, as the driver has it.
    pub name: String,
    /// The driver.
    pub driver: String,
    /// The version of the driver.
    pub driver_info: String,
    /// The interface that it is reached by, such as `vulkan`.
    pub backend: String,
    /// Whether it is a processor that does the work of a GPU.
    pub is_cpu: bool,
    /// The longest that a set may be, in bytes.
    pub set_bytes_max: u64,
    /// From how many bytes on operations are routed to it; none if none are.
    pub threshold: Option<u64>,
}

/// Why there is no GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoGpu {
    /// The system has no adapter; the driver says why.
    Adapter(String),
    /// The adapter gives no device.
    Device(String),
}

impl fmt::Display for NoGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Adapter(why) => write!(f, "no adapter was found: {why}"),
            Self::Device(why) => write!(f, "the adapter gives no device: {why}"),
        }
    }
}

impl Error for NoGpu {}

/// The least threshold that is measured.
const THRESHOLD_LEAST: u64 = 1 << 20;
/// How many bytes are copied to a device at once.
const UPLOAD_BYTES: usize = 8 << 20;
/// How many words of a page one thread compares.
const COMPARED_WORDS: usize = 16;
/// The largest float whose squared differences can be added up in 32 bits.
const FLOAT_MAX: f32 = 1e15;
/// The most dimensions for which the error of a sum in 32 bits is known to be small.
const DIMENSIONS_MAX: usize = 1 << 19;

/// A GPU.
#[derive(Debug)]
pub(crate) struct Gpu {
    device: Device,
    adapter: Adapter,
    /// Tells its residents from those of others.
    identity: Arc<()>,
    uploaded_pages: u64,
    uploaded_bytes: u64,
}

impl Gpu {
    pub(super) fn open(options: &GpuOptions) -> Result<Self, NoGpu> {
        let (info, device) = Device::open()?;
        let adapter = Adapter {
            name: info.name,
            driver: info.driver,
            driver_info: info.driver_info,
            backend: info.backend.to_string(),
            is_cpu: info.device_type == wgpu::DeviceType::Cpu,
            set_bytes_max: device.buffer_bytes_max(),
            threshold: None,
        };
        let mut gpu = Self { device, adapter, identity: Arc::default(), uploaded_pages: 0, uploaded_bytes: 0 };
        gpu.adapter.threshold = match &options.threshold {
            Threshold::Bytes(bytes) => Some(*bytes),
            Threshold::Measured { clock, kept } => gpu.measured(clock, kept.as_deref()),
        };
        // What opening took is not what users ask for.
        (gpu.device.calls, gpu.uploaded_pages, gpu.uploaded_bytes) = (0, 0, 0);
        Ok(gpu)
    }

    /// The threshold that was kept for this adapter and driver, or else is measured now and kept.
    fn measured(&mut self, clock: &Clock, kept: Option<&dyn Disk>) -> Option<u64> {
        if self.adapter.is_cpu {
            return None;
        }
        if let Some(threshold) = kept.and_then(|disk| calibration::kept(disk, &self.adapter)) {
            return threshold;
        }
        // What a device that failed was measured at says nothing, and is not kept.
        let threshold = calibration::measure(self, clock).ok()?;
        if let Some(disk) = kept {
            // If it cannot be kept, it is measured again the next time.
            let _ = calibration::keep(disk, &self.adapter, threshold);
        }
        threshold
    }

    pub(super) fn adapter(&self) -> &Adapter {
        &self.adapter
    }

    #[cfg(test)]
    pub(super) fn lose(&self) {
        self.device.lose();
    }

    pub(super) fn counted(&self, counts: RoutingCounts) -> RoutingCounts {
        RoutingCounts {
            gpu_calls: self.device.calls,
            uploaded_pages: self.uploaded_pages,
            uploaded_bytes: self.uploaded_bytes,
            ..counts
        }
    }

    /// Copies a set, or what has changed of it.
    pub(super) fn make_resident(&mut self, set: &mut PageSet) -> Result<usize, Refused> {
        let resident = set.resident.take().filter(|resident| Arc::ptr_eq(&resident.owner, &self.identity));
        self.device.check()?;
        let page_bytes = words_of(set.page_bytes()) * 4;
        let resident = match resident {
            Some(resident) => resident,
            None => {
                let bytes = page_bytes.checked_mul(set.len()).ok_or(Refused::TooLarge)?;
                let buffer = self.device.storage(bytes as u64)?;
                let (owner, has_failed) = (Arc::clone(&self.identity), self.device.failure());
                Resident { owner, has_failed, buffer, pages: Vec::new() }
            }
        };
        let mut upload = Upload { resident, page_bytes, at: 0, waiting: Vec::new() };
        let mut copied = 0;
        for (index, bytes) in set.shared().enumerate() {
            if upload.resident.is_current_at(index, bytes) {
                upload.flush(&mut self.device)?;
                continue;
            }
            upload.add(&mut self.device, index, bytes)?;
            copied += 1;
            self.uploaded_pages += 1;
            self.uploaded_bytes += page_bytes as u64;
        }
        upload.flush(&mut self.device)?;
        set.resident = Some(upload.resident);
        Ok(copied)
    }

    /// The copies of sets that may be used, if an operation over them is to be done here.
    fn residents<'s, const N: usize>(&self, sets: [&'s PageSet; N]) -> Result<[&'s Resident; N], Refused> {
        self.device.check()?;
        let mut bytes = 0;
        for set in sets {
            bytes += set.bytes() as u64;
            let resident = set.resident.as_ref().filter(|resident| Arc::ptr_eq(&resident.owner, &self.identity));
            let resident = resident.ok_or(Refused::NotResident)?;
            if !set.shared().enumerate().all(|(index, bytes)| resident.is_current_at(index, bytes)) {
                return Err(Refused::Stale);
            }
        }
        match self.adapter.threshold {
            None if self.adapter.is_cpu => Err(Refused::AdapterIsCpu),
            Some(threshold) if bytes >= threshold => {
                Ok(sets.map(|set| set.resident.as_ref().expect("it was found above")))
            }
            _ => Err(Refused::BelowThreshold),
        }
    }

    /// The two buffers of an operation over two sets.
    fn buffers<'s>(&self, left: &'s PageSet, right: &'s PageSet) -> Result<[&'s wgpu::Buffer; 2], Refused> {
        Ok(self.residents([left, right])?.map(|resident| &resident.buffer))
    }

    pub(super) fn differing(&mut self, left: &PageSet, right: &PageSet) -> Result<Vec<u64>, Refused> {
        let buffers = self.buffers(left, right)?;
        let page_words = words_of(left.page_bytes());
        let page_threads = page_words.div_ceil(COMPARED_WORDS);
        let parameters = numbers([left.len() * page_threads, page_words, COMPARED_WORDS, page_threads])?;
        let counts = self.device.run(Kernel::Differing, buffers, parameters, left.len() as u64)?;
        Ok(counts.into_iter().map(u64::from).collect())
    }

    pub(super) fn xor(&mut self, left: &PageSet, right: &PageSet) -> Result<Vec<Vec<u8>>, Refused> {
        let buffers = self.buffers(left, right)?;
        let page_words = words_of(left.page_bytes());
        let words = left.len() * page_words;
        let written = self.device.run(Kernel::Xor, buffers, numbers([words, 0, 0, 0])?, words as u64)?;
        Ok(pages_of(&written, page_words, left.page_bytes()))
    }

    pub(super) fn boolean_product(
        &mut self,
        left: &PageSet,
        right: &PageSet,
        order: usize,
    ) -> Result<Vec<Vec<u8>>, Refused> {
        self.product(Kernel::Boolean, left, right, order / 32)
    }

    pub(super) fn min_plus_product(
        &mut self,
        left: &PageSet,
        right: &PageSet,
        order: usize,
    ) -> Result<Vec<Vec<u8>>, Refused> {
        self.product(Kernel::MinPlus, left, right, order)
    }

    /// A product of square matrices whose rows have `row_words` words.
    fn product(
        &mut self,
        kernel: Kernel,
        left: &PageSet,
        right: &PageSet,
        row_words: usize,
    ) -> Result<Vec<Vec<u8>>, Refused> {
        let buffers = self.buffers(left, right)?;
        let page_words = words_of(left.page_bytes());
        let words = left.len() * page_words;
        let written = self.device.run(kernel, buffers, numbers([words, row_words, page_words, 0])?, words as u64)?;
        Ok(pages_of(&written, page_words, left.page_bytes()))
    }

    /// The GPU proposes: all rows whose distance in 32 bits is not larger than that of the last one wanted, and what error such a sum can
    /// have. The processor finds out the distances of these.
    ///
    /// A sum of `n` squares in 32 bits, in any order, fused or not, is off by less than the part `(n + 8) / 2^23` of it, and where it is so small that
    /// the device takes it for 0, by less than `SMALL`.
    pub(super) fn nearest(&mut self, set: &PageSet, question: &[f32], count: usize) -> Result<Vec<Neighbor>, Refused> {
        const SMALL: f64 = 1e-30;
        let [resident] = self.residents([set])?;
        let are_in_range =
            resident.pages.iter().all(|page| page.is_in_range) && question.iter().all(|value| is_in_range(*value));
        if !are_in_range || question.len() > DIMENSIONS_MAX {
            return Err(Refused::OutOfRange);
        }
        let rows = set.bytes() / size_of_val(question);
        let parameters = numbers([rows, question.len(), 0, 0])?;
        let asked: Vec<u8> = question.iter().flat_map(|value| value.to_le_bytes()).collect();
        let asked_buffer = self.device.storage(asked.len() as u64)?;
        self.device.write(&asked_buffer, 0, &asked)?;
        let found = self.device.run(Kernel::Distances, [&resident.buffer, &asked_buffer], parameters, rows as u64)?;
        let distances: Vec<f32> = found.into_iter().map(f32::from_bits).collect();
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut sorted = distances.clone();
        let (_, last, _) = sorted.select_nth_unstable_by(count.min(rows) - 1, f32::total_cmp);
        let error = (question.len() + 8) as f64 / f64::from(1 << 23);
        let most = (f64::from(*last) + SMALL) * (1.0 + 3.0 * error) + SMALL;
        let proposed = distances.iter().zip(cpu::rows(set, question.len())).enumerate();
        let candidates = proposed.filter(|(_, (distance, _))| distance.is_nan() || f64::from(**distance) <= most);
        Ok(cpu::nearest_of(
            candidates.map(|(row, (_, values))| Neighbor { row, distance: cpu::distance(values, question) }),
            count,
        ))
    }
}

/// Pages on their way to a device: neighbours are copied together.
struct Upload {
    resident: Resident,
    page_bytes: usize,
    /// Where what is waiting goes.
    at: usize,
    waiting: Vec<u8>,
}

impl Upload {
    fn add(&mut self, device: &mut Device, index: usize, bytes: &Arc<[u8]>) -> Result<(), Refused> {
        if self.waiting.is_empty() {
            self.at = index * self.page_bytes;
        }
        self.waiting.extend_from_slice(bytes);
        self.waiting.resize(self.waiting.len().next_multiple_of(4), 0);
        let floats = bytes.as_chunks().0.iter().map(|float| f32::from_le_bytes(*float));
        let page = ResidentPage {
            bytes: Arc::clone(bytes),
            is_in_range: floats.fold(true, |all, float| all & is_in_range(float)),
        };
        match self.resident.pages.get_mut(index) {
            Some(place) => *place = page,
            None => self.resident.pages.push(page),
        }
        if self.waiting.len() >= UPLOAD_BYTES { self.flush(device) } else { Ok(()) }
    }

    fn flush(&mut self, device: &mut Device) -> Result<(), Refused> {
        if !self.waiting.is_empty() {
            device.write(&self.resident.buffer, self.at as u64, &self.waiting)?;
            self.waiting.clear();
        }
        Ok(())
    }
}

/// Whether the square of a difference from such a float can be a float.
fn is_in_range(value: f32) -> bool {
    value.abs() <= FLOAT_MAX
}

/// How many words a page takes.
fn words_of(page_bytes: usize) -> usize {
    page_bytes.div_ceil(4)
}

/// What a kernel is told, if it can be told.
fn numbers(values: [usize; 4]) -> Result<[u32; 4], Refused> {
    let [threads, first, second, third] = values.map(|value| u32::try_from(value).map_err(|_| Refused::TooLarge));
    Ok([threads?, first?, second?, third?])
}

/// Words as pages.
fn pages_of(words: &[u32], page_words: usize, page_bytes: usize) -> Vec<Vec<u8>> {
    let page = |words: &[u32]| {
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.truncate(page_bytes);
        bytes
    };
    words.chunks_exact(page_words).map(page).collect()
}
