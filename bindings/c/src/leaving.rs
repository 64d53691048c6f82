//! Leaving: what outlives its region, within its heap or to another one.

use region::{Ref, Report as Left, Way};

use crate::arguments::{Out, array, array_mut};
use crate::heaps::{Region, moving, moving_to, with};
use crate::status::{Status, guard};

/// How something left: `mnr_report`.
#[repr(C)]
pub(crate) struct Report {
    way: u32,
    cells: u64,
    cells_in_vain: u64,
}

impl Report {
    fn of(report: Left) -> Report {
        let way = match report.way {
            Way::Spliced => 1,
            Way::Copied => 2,
            Way::Mapped => 3,
            _ => 0,
        };
        Report { way, cells: report.cells, cells_in_vain: report.cells_in_vain }
    }
}

#[unsafe(no_mangle)]
extern "C" fn mnr_splice(from: Region, to: Region) -> Status {
    guard(|| {
        if from.heap != to.heap {
            return Err(Status::NoRegion.into());
        }
        moving(from.heap, |kept| {
            kept.regions.splice(from.handle(), to.handle())?;
            kept.forget_marks(from.handle());
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_transmigrate(from: Region, to: Region, roots: *mut Ref, count: usize, report: Out<Report>) -> Status {
    guard(|| {
        let roots = array_mut(roots, count)?;
        let left = if from.heap == to.heap {
            moving(from.heap, |kept| {
                kept.check_all(from.handle(), &*roots)?;
                let left = kept.regions.leave(from.handle(), to.handle(), roots)?;
                kept.forget_marks(from.handle());
                Ok(left)
            })?
        } else {
            moving_to(from.heap, to.heap, |kept, target| {
                kept.check_all(from.handle(), &*roots)?;
                let target = &mut target.regions;
                let left = kept.regions.leave_for(from.handle(), target, to.handle(), roots, |foreign| foreign)?;
                kept.forget_marks(from.handle());
                Ok(left)
            })?
        };
        report.write(Report::of(left));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_stray(region: Region, roots: *const Ref, count: usize, found: Out<Ref>) -> Status {
    guard(|| {
        let roots = array(roots, count)?;
        with(region.heap, |kept| {
            let region = kept.regions.region(region.handle())?;
            let Some(stray) = kept.regions.heap().stray(&[region], roots) else { return Ok(()) };
            found.write(stray);
            Err(Status::Stray.into())
        })
    })
}
