//! Leaving: what outlives its region, within its heap or to another one.

use region::{EscapePath, EscapeReport, Ref};

use crate::arguments::{Out, array, array_mut};
use crate::heaps::{Region, moving, moving_to, with};
use crate::status::{Status, guard};

/// How something left: `mnr_report`.
#[repr(C)]
pub(crate) struct Report {
    pub(crate) path: u32,
    pub(crate) cells: u64,
    pub(crate) cells_in_vain: u64,
}

impl Report {
    fn of(report: EscapeReport) -> Report {
        let path = match report.path {
            EscapePath::Spliced => 1,
            EscapePath::Copied => 2,
            EscapePath::CopiedByMap => 3,
            _ => 0,
        };
        Report { path, cells: report.cells, cells_in_vain: report.cells_in_vain }
    }
}

#[unsafe(no_mangle)]
extern "C" fn mnr_splice(from: Region, to: Region) -> Status {
    guard(|| {
        if from.heap != to.heap {
            return Err(Status::NoRegion.into());
        }
        moving(from.heap, |entry| {
            entry.regions.splice(from.handle(), to.handle())?;
            entry.forget_marks(from.handle());
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_transmigrate(from: Region, to: Region, roots: *mut Ref, count: usize, report: Out<Report>) -> Status {
    guard(|| {
        let roots = array_mut(roots, count)?;
        let left = if from.heap == to.heap {
            moving(from.heap, |entry| {
                entry.check_all(from.handle(), &*roots)?;
                let left = entry.regions.leave(from.handle(), to.handle(), roots)?;
                entry.forget_marks(from.handle());
                Ok(left)
            })?
        } else {
            moving_to(from.heap, to.heap, |entry, target| {
                entry.check_all(from.handle(), &*roots)?;
                let target = &mut target.regions;
                let left = entry.regions.leave_for(from.handle(), target, to.handle(), roots, |foreign| foreign)?;
                entry.forget_marks(from.handle());
                Ok(left)
            })?
        };
        report.write(Report::of(left));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_dangling(region: Region, roots: *const Ref, count: usize, found: Out<Ref>) -> Status {
    guard(|| {
        let roots = array(roots, count)?;
        with(region.heap, |entry| {
            let region = entry.regions.region(region.handle())?;
            let Some(dangling) = entry.regions.heap().dangling(&[region], roots) else { return Ok(()) };
            found.write(dangling);
            Err(Status::Dangling.into())
        })
    })
}
