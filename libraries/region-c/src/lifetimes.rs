//! Opening, closing, holding and counting: heaps and regions.

use std::ffi::{CStr, c_char};

use region::{Heap, Ref, RegionHandle, RegionTable, ReleaseOutcome};

use crate::arguments::{Out, given, place};
use crate::heaps::{self, Builder, HeapEntry, Opener, Region, with};
use crate::lanes::View;
use crate::status::{Failed, Outcome, Status, guard};

/// Major, minor and patch, each of them below 1,000.
const VERSION: u32 = 1_000_000 * number(env!("CARGO_PKG_VERSION_MAJOR"))
    + 1_000 * number(env!("CARGO_PKG_VERSION_MINOR"))
    + number(env!("CARGO_PKG_VERSION_PATCH"));
const VERSION_TEXT: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(text) => text,
    Err(_) => c"",
};

const fn number(digits: &str) -> u32 {
    let (mut value, mut at) = (0, 0);
    while at < digits.len() {
        value = value * 10 + (digits.as_bytes()[at] - b'0') as u32;
        at += 1;
    }
    value
}

/// What a heap has done and holds: `mnr_statistics`.
#[repr(C)]
pub(crate) struct Statistics {
    pub(crate) cells_handed_out: u64,
    pub(crate) cells_copied: u64,
    pub(crate) cells_left: u64,
    pub(crate) chunks: u64,
    pub(crate) chunks_free: u64,
    pub(crate) bytes_live: u64,
    pub(crate) bytes_live_peak: u64,
    pub(crate) bytes_held: u64,
    pub(crate) bytes_beside: u64,
    pub(crate) regions: u64,
    pub(crate) splices: u64,
    pub(crate) escapes_spliced: u64,
    pub(crate) escapes_copied: u64,
    pub(crate) escapes_copied_by_map: u64,
    pub(crate) limit_failures: u64,
    pub(crate) cells_ahead: u64,
    pub(crate) tethers: u64,
}

/// What is frozen in this process: `mnr_frozen_counts`.
#[repr(C)]
pub(crate) struct FrozenCounts {
    pub(crate) regions: u64,
    pub(crate) tethers: u64,
    pub(crate) put_off: u64,
}

impl Statistics {
    fn of(regions: &RegionTable) -> Statistics {
        let counts = regions.heap().statistics();
        let (cells_ahead, tethers) = regions.unused_and_tethers();
        Statistics {
            cells_handed_out: counts.cells_handed_out,
            cells_copied: counts.cells_copied,
            cells_left: counts.cells_left,
            chunks: counts.chunks as u64,
            chunks_free: counts.chunks_free as u64,
            bytes_live: counts.bytes_live as u64,
            bytes_live_peak: counts.bytes_live_peak as u64,
            bytes_held: counts.bytes_held as u64,
            bytes_beside: counts.bytes_beside as u64,
            regions: regions.count() as u64,
            splices: counts.splices,
            escapes_spliced: counts.escapes.spliced,
            escapes_copied: counts.escapes.copied,
            escapes_copied_by_map: counts.escapes.copied_by_map,
            limit_failures: counts.limit_failures,
            cells_ahead,
            tethers,
        }
    }
}

/// A limit, of which 0 is none.
fn limit(bytes: usize) -> Option<usize> {
    (bytes > 0).then_some(bytes)
}

#[unsafe(no_mangle)]
extern "C" fn mnr_version() -> u32 {
    VERSION
}

#[unsafe(no_mangle)]
extern "C" fn mnr_version_text() -> *const c_char {
    VERSION_TEXT.as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn mnr_heap_open(bytes: usize, out: Out<u64>) -> Status {
    guard(|| {
        let out = place(out)?;
        let mut heap = Heap::try_new()?;
        heap.set_limit(limit(bytes));
        out.write(heaps::open(heap)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_heap_close(heap: u64) -> Status {
    guard(|| heaps::close(heap))
}

#[unsafe(no_mangle)]
extern "C" fn mnr_heap_set_limit(heap: u64, bytes: usize) -> Status {
    guard(|| {
        with(heap, |entry| {
            entry.regions.heap_mut().set_limit(limit(bytes));
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_heap_statistics(heap: u64, out: Out<Statistics>) -> Status {
    guard(|| {
        let out = place(out)?;
        with(heap, |entry| {
            out.write(Statistics::of(&entry.regions));
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_frozen_statistics(out: Out<FrozenCounts>) -> Status {
    guard(|| {
        let counts = region::frozen_statistics();
        place(out)?.write(FrozenCounts {
            regions: counts.regions as u64,
            tethers: counts.tethers,
            put_off: counts.put_off as u64,
        });
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_heap_view(heap: u64, out: Out<*const View>) -> Status {
    guard(|| {
        let out = place(out)?;
        with(heap, |entry| {
            out.write(entry.view());
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_region_open(heap: u64, out: Out<Region>) -> Status {
    guard(|| {
        let out = place(out)?;
        with(heap, |entry| {
            out.write(Region::new(heap, entry.regions.open()?));
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_region_open_within(parent: Region, out: Out<Region>) -> Status {
    guard(|| {
        let out = place(out)?;
        with(parent.heap, |entry| {
            out.write(Region::new(parent.heap, entry.regions.open_within(parent.handle())?));
            Ok(())
        })
    })
}

/// Does what may free a region, and says whether it did.
fn ending(
    region: Region,
    freed: Out<bool>,
    end: impl FnOnce(&mut RegionTable, RegionHandle) -> Result<ReleaseOutcome, region::HandleError>,
) -> Status {
    guard(|| {
        with(region.heap, |entry| {
            let fate = end(&mut entry.regions, region.handle())?;
            if fate == ReleaseOutcome::Freed {
                entry.forget_marks(region.handle());
            }
            freed.write(fate == ReleaseOutcome::Freed);
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_region_close(region: Region, freed: Out<bool>) -> Status {
    ending(region, freed, RegionTable::close)
}

#[unsafe(no_mangle)]
extern "C" fn mnr_region_release(region: Region, freed: Out<bool>) -> Status {
    ending(region, freed, RegionTable::release)
}

#[unsafe(no_mangle)]
extern "C" fn mnr_region_untether(region: Region, freed: Out<bool>) -> Status {
    ending(region, freed, RegionTable::untether)
}

/// Works on the region of a handle.
fn on(region: Region, work: impl FnOnce(&mut HeapEntry, RegionHandle) -> Outcome) -> Status {
    guard(|| with(region.heap, |entry| work(entry, region.handle())))
}

#[unsafe(no_mangle)]
extern "C" fn mnr_region_retain(region: Region) -> Status {
    on(region, |entry, handle| entry.regions.retain(handle).map_err(Failed::from))
}

#[unsafe(no_mangle)]
extern "C" fn mnr_region_tether(region: Region) -> Status {
    on(region, |entry, handle| entry.regions.tether(handle).map_err(Failed::from))
}

#[unsafe(no_mangle)]
extern "C" fn mnr_region_refer(from: Region, to: Region) -> Status {
    if from.heap != to.heap {
        return guard(|| Err(Status::NoRegion.into()));
    }
    on(from, |entry, handle| entry.regions.refer(handle, to.handle()).map_err(Failed::from))
}

#[unsafe(no_mangle)]
extern "C" fn mnr_region_set_limit(region: Region, bytes: usize) -> Status {
    on(region, |entry, handle| {
        let (_, region) = entry.regions.parts(handle)?;
        region.set_limit(limit(bytes));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_region_bytes(region: Region, out: Out<u64>) -> Status {
    on(region, |entry, handle| {
        let bytes = entry.regions.heap().bytes_of(entry.regions.region(handle)?);
        place(out)?.write(bytes as u64);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_region_check(region: Region, value: Ref) -> Status {
    on(region, |entry, handle| entry.regions.check(handle, value).map_err(Failed::from))
}

/// Writes a builder, or one that refuses everything.
fn built(out: Out<Builder>, heap: u64, work: impl FnOnce(&mut HeapEntry) -> Outcome<Builder>) -> Status {
    guard(|| {
        let out = place(out)?;
        let (builder, outcome) = match with(heap, work) {
            Ok(builder) => (builder, Ok(())),
            Err(failed) => (Builder::NOTHING, Err(failed)),
        };
        out.write(builder);
        outcome
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_builder_open(region: Region, out: Out<Builder>) -> Status {
    built(out, region.heap, |entry| entry.lend(region))
}

#[unsafe(no_mangle)]
extern "C" fn mnr_opener_open(heap: u64, out: Out<Opener>) -> Status {
    guard(|| {
        let out = place(out)?;
        with(heap, |entry| {
            out.write(entry.opener());
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_open_slowly(opener: Option<&Opener>, out: Out<Builder>) -> Status {
    match given(opener) {
        Ok(opener) => built(out, opener.heap, HeapEntry::open_ready),
        Err(failed) => guard(|| Err(failed)),
    }
}
