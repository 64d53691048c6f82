//! Frozen regions: read by any thread, under a tether by number or as what the thread reads right now.

use std::cell::RefCell;

use region::{Bound, FrozenHandle, Reader, Ref, Tether};

use crate::arguments::{Out, array, place, room, write};
use crate::heaps::{Region, moving};
use crate::lanes::View;
use crate::reading::IS_TETHER;
use crate::status::{Outcome, Status, guard};

thread_local! {
    /// What this thread reads without a tether.
    static READER: RefCell<Option<Reader>> = const { RefCell::new(None) };
}

#[unsafe(no_mangle)]
extern "C" fn mnr_freeze(region: Region, roots: *const Ref, count: usize, out: Out<u64>) -> Status {
    guard(|| {
        let (roots, out) = (array(roots, count)?, place(out)?);
        moving(region.heap, |entry| {
            entry.regions.parts(region.handle())?;
            entry.check_all(region.handle(), roots)?;
            let (heap, region) = entry.regions.parts(region.handle())?;
            let frozen = heap.freeze(region, roots, Bound::Kept, |foreign| foreign)?;
            out.write(frozen.into_handle().bits());
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_frozen_close(frozen: u64) -> Status {
    guard(|| Ok(FrozenHandle::from_bits(frozen)?.close()?))
}

#[unsafe(no_mangle)]
extern "C" fn mnr_frozen_tethers(frozen: u64, out: Out<u32>) -> Status {
    guard(|| {
        place(out)?.write(FrozenHandle::from_bits(frozen)?.tethers());
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_tether_start(frozen: u64, out: Out<u64>) -> Status {
    guard(|| {
        let out = place(out)?;
        let number = FrozenHandle::from_bits(frozen)?.tether()?.park()?;
        if number & IS_TETHER != 0 {
            drop(Tether::take(number));
            return Err(Status::TooMany.into());
        }
        out.write(number | IS_TETHER);
        Ok(())
    })
}

/// The number of a tether as the library of regions has it.
fn number(tether: u64) -> Outcome<u64> {
    if tether & IS_TETHER == 0 { Err(Status::NoTether.into()) } else { Ok(tether & !IS_TETHER) }
}

#[unsafe(no_mangle)]
extern "C" fn mnr_tether_end(tether: u64) -> Status {
    guard(|| {
        drop(Tether::take(number(tether)?)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_tether_view(tether: u64, out: Out<View>) -> Status {
    guard(|| {
        let out = place(out)?;
        out.write(Tether::parked(number(tether)?, |tether| View::of(tether))?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_tether_roots(tether: u64, to: *mut Ref, size: usize, count: Out<usize>) -> Status {
    guard(|| {
        let to = room(to, size)?;
        Tether::parked(number(tether)?, |tether| write(tether.roots(), to, count))?
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_thaw(tether: u64, region: Region, to: *mut Ref, size: usize, count: Out<usize>) -> Status {
    guard(|| {
        let (tether, to) = (number(tether)?, room(to, size)?);
        moving(region.heap, |entry| {
            let (heap, region) = entry.regions.parts(region.handle())?;
            let thaw = |tether: &Tether| {
                if tether.roots().len() > to.len() {
                    return write(tether.roots(), to, count);
                }
                let roots = tether.thaw(heap, region, |foreign| foreign)?;
                write(&roots, to, count)
            };
            Tether::parked(tether, thaw)?
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_read(frozen: u64, view: Out<View>, to: *mut Ref, size: usize, count: Out<usize>) -> Status {
    guard(|| {
        let (view, to) = (place(view)?, room(to, size)?);
        with_reader(|reader| {
            let reader = match reader {
                Some(reader) => reader,
                none => none.insert(Reader::new()?),
            };
            let reading = reader.read(FrozenHandle::from_bits(frozen)?)?;
            view.write(View::of(&reading));
            write(reading.roots(), to, count)
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_rest() -> Status {
    guard(|| {
        with_reader(|reader| {
            if let Some(reader) = reader {
                reader.rest();
            }
            region::reclaim();
            Ok(())
        })
    })
}

fn with_reader(work: impl FnOnce(&mut Option<Reader>) -> Outcome) -> Outcome {
    READER.try_with(|reader| work(&mut reader.borrow_mut())).map_err(|_| Status::NoReaders)?
}
