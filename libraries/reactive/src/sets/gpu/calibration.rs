//! From how many bytes on a GPU is faster than the processor, measured by what costs least for each byte: comparing pages.
//!
//! Both compare sets of three sizes, five rounds each. A line is laid through the medians of each side, by least squares; where the lines cross
//! is the threshold. Products do more for each byte, so they pay off earlier than that.

use super::{Adapter, Gpu, THRESHOLD_LEAST};
use crate::Clock;
use crate::sets::counts::Refused;
use crate::sets::cpu;
use crate::sets::set::PageSet;
use journal::{Access, Disk};
use std::io;
use std::sync::Arc;

const SIZES: [usize; 3] = [1 << 20, 4 << 20, 16 << 20];
const ROUNDS: usize = 5;
const PAGE_BYTES: usize = 4 << 10;

const NAME: &str = "GPU";
/// What the file is named before it takes the place of the one before.
const NAME_NEW: &str = "GPU.new";
const FIRST_LINE: &str = "METROON threshold of a GPU, version 1";
const NEVER: &str = "never";
/// Longer than any that is written.
const BYTES_MAX: usize = 4 << 10;

/// Measures; none if the GPU never is the faster one.
///
/// # Errors
/// The device failed, or came to something else than the processor: nothing is sent to it any more.
pub(super) fn measure(gpu: &mut Gpu, clock: &Clock) -> Result<Option<u64>, Refused> {
    // While it is measured all is routed.
    gpu.adapter.threshold = Some(0);
    let (mut processor, mut device) = (Vec::new(), Vec::new());
    for size in SIZES {
        let mut sets = [0, 1].map(|value| {
            PageSet::of_bytes(
                (0..size / PAGE_BYTES).map(|page| Arc::from(vec![(page as u8) & !value; PAGE_BYTES])).collect(),
            )
        });
        for set in &mut sets {
            gpu.make_resident(set)?;
        }
        let [left, right] = &sets;
        let (mut times, mut device_times) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let began = clock();
            let expected = std::hint::black_box(cpu::differing(left, right));
            let between = clock();
            let found = gpu.differing(left, right)?;
            device_times.push(clock().saturating_sub(between));
            times.push(between.saturating_sub(began));
            if found != expected {
                gpu.device.distrust();
                return Err(Refused::Failed);
            }
        }
        let bytes = (2 * size) as f64;
        processor.push((bytes, median(times)));
        device.push((bytes, median(device_times)));
    }
    Ok(crossing(&processor, &device))
}

fn median(mut times: Vec<u64>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2] as f64
}

/// A line through points, by least squares: where it begins, and how steep it is.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let count = points.len() as f64;
    let mean = |value: fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let above: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let below: f64 = points.iter().map(|point| (point.0 - x) * (point.0 - x)).sum();
    let slope = above / below;
    (y - slope * x, slope)
}

/// From how many bytes on the second line is below the first; none if it never is.
fn crossing(processor: &[(f64, f64)], device: &[(f64, f64)]) -> Option<u64> {
    let ((begin, slope), (device_begin, device_slope)) = (line(processor), line(device));
    if device_slope >= slope {
        return None;
    }
    let bytes = (device_begin - begin) / (slope - device_slope);
    Some((bytes.max(0.0).ceil() as u64).max(THRESHOLD_LEAST))
}

/// The lines of the file that say what was measured.
fn about(adapter: &Adapter) -> String {
    let plain = |text: &str| text.replace(char::is_control, " ");
    let Adapter { name, driver, driver_info, backend, .. } = adapter;
    let [name, driver, driver_info, backend] = [name, driver, driver_info, backend].map(|text| plain(text));
    format!("{FIRST_LINE}\nadapter {name}\ndriver {driver}\ndriver-version {driver_info}\nbackend {backend}\n")
}

/// Keeps a threshold.
///
/// # Errors
/// The disk refuses.
pub(super) fn keep(disk: &dyn Disk, adapter: &Adapter, threshold: Option<u64>) -> io::Result<()> {
    let shown = threshold.map_or_else(|| NEVER.to_owned(), |bytes| bytes.to_string());
    disk.create(NAME_NEW)?.write_full(0, format!("{}threshold {shown}\n", about(adapter)).as_bytes())?;
    disk.rename(NAME_NEW, NAME)
}

/// The threshold that was kept of this adapter with this driver; none if there is none, or of another.
pub(super) fn kept(disk: &dyn Disk, adapter: &Adapter) -> Option<Option<u64>> {
    let mut bytes = [0; BYTES_MAX];
    let count = disk.open(NAME, Access::Read).ok()?.read_full(0, &mut bytes).ok()?;
    let text = std::str::from_utf8(&bytes[..count]).ok()?;
    let shown = text.strip_prefix(&about(adapter))?.strip_prefix("threshold ")?.strip_suffix('\n')?;
    if shown == NEVER { Some(None) } else { shown.parse().ok().map(Some) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use journal::MemoryDisk;

    fn adapter(driver: &str) -> Adapter {
        Adapter {
            name: "a card".to_owned(),
            driver: driver.to_owned(),
            driver_info: "1.0\n2".to_owned(),
            backend: "vulkan".to_owned(),
            is_cpu: false,
            set_bytes_max: 1 << 30,
            threshold: None,
        }
    }

    #[test]
    fn a_threshold_is_where_the_lines_cross() {
        let line = |begin: f64, slope: f64| SIZES.map(|size| (size as f64, begin + slope * size as f64));
        assert_eq!(crossing(&line(0.0, 1.0), &line(8e6, 0.5)), Some(16_000_000));
        assert_eq!(crossing(&line(0.0, 1.0), &line(1000.0, 0.5)), Some(THRESHOLD_LEAST));
        assert_eq!(crossing(&line(0.0, 1.0), &line(0.0, 1.0)), None);
        assert_eq!(crossing(&line(0.0, 1.0), &line(-5.0, 2.0)), None);
    }

    #[test]
    fn what_was_kept_is_of_one_adapter_and_driver() {
        let disk = MemoryDisk::new();
        assert_eq!(kept(&disk, &adapter("a")), None);
        for threshold in [None, Some(1 << 20), Some(u64::MAX)] {
            keep(&disk, &adapter("a"), threshold).unwrap();
            assert_eq!(kept(&disk, &adapter("a")), Some(threshold));
            assert_eq!(kept(&disk, &adapter("b")), None);
        }
    }
}
