//! Requests of every size under limits that change while in use: growth, oversize and limit arithmetic.
//!
//! 1. Bytes are read as a program: what is asked for, how large it is, and where limits lie, out of tables of sizes at which
//!    arithmetic goes wrong, such as 0, 1, 2^29 ± 1 and `usize::MAX`.
//! 2. After each request the numbers must agree: no limit is exceeded, what was refused has changed nothing and was counted
//!    once, and what was granted is as large as it was asked for.
//! 3. In the end everything is given back.
//!
//! Limits stay below [`CAP`] wherever something could be granted, so that a run takes little memory. This file is compiled by
//! the fuzz target and by the tests of region, which run it on programs of their own.

use region::{BYTES_MAX, ENTRIES_MAX, Full, Heap, LENGTH_MAX, Limit, Mark, Ref, Region};

/// The highest limit under which anything is made, in bytes.
const CAP: usize = 1 << 20;

/// Sizes around the ends of chunks, of headers, of limits and of numbers.
const SIZES: [usize; 36] = [
    0,
    1,
    2,
    3,
    7,
    8,
    62,
    63,
    64,
    125,
    126,
    127,
    128,
    464,
    465,
    1_000,
    8_189,
    8_190,
    8_191,
    65_536,
    ENTRIES_MAX,
    ENTRIES_MAX + 1,
    LENGTH_MAX,
    LENGTH_MAX + 1,
    BYTES_MAX,
    BYTES_MAX + 1,
    (1 << 29) - 1,
    1 << 29,
    (1 << 29) + 1,
    u32::MAX as usize,
    u32::MAX as usize + 1,
    isize::MAX as usize - 63,
    isize::MAX as usize,
    isize::MAX as usize + 1,
    usize::MAX - 1,
    usize::MAX,
];

const LIMITS: [usize; 12] = [0, 1, 511, 512, 513, 1_023, 1_024, 4_096, 65_535, CAP - 1, CAP, usize::MAX];

/// The program that is left.
struct Program<'b>(&'b [u8]);

impl Program<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        self.byte().map(|byte| from[byte as usize % from.len()])
    }

    /// One of the sizes, or any small one.
    fn size(&mut self) -> Option<usize> {
        match self.byte()? {
            byte @ 0..128 => Some(SIZES[byte as usize % SIZES.len()]),
            byte => Some(byte as usize - 128),
        }
    }
}

/// A heap with two regions, and another heap.
struct World {
    heap: Heap,
    limit: usize,
    regions: [Region; 2],
    /// Of each region, where it may be rewound to.
    marks: [Mark; 2],
    quotas: [usize; 2],
    other: Heap,
    far: Region,
}

/// Runs a program. Panics where a number is not what it should be.
pub(crate) fn run(program: &[u8]) {
    let mut heap = Heap::with_limit(CAP);
    let (regions, mut other) = ([heap.open(), heap.open()], Heap::with_limit(CAP));
    let mut world =
        World { heap, limit: CAP, regions, marks: [Mark::START; 2], quotas: [usize::MAX; 2], far: other.open(), other };
    let mut program = Program(program);
    while world.step(&mut program).is_some() {
        world.check();
    }
    world.finish();
}

impl World {
    /// Runs the next request, if the program has one.
    fn step(&mut self, program: &mut Program<'_>) -> Option<()> {
        let (request, which) = (program.byte()? % 14, usize::from(program.byte()?) % 2);
        match request {
            0 => self.limit_heap(program.pick(&LIMITS)?),
            1 => {
                self.quotas[which] = program.pick(&LIMITS)?;
                self.regions[which].set_limit(Some(self.quotas[which]));
            }
            2 => {
                let length = program.size()?;
                let made = self.make(which, |heap, region| heap.reserve(region, length));
                assert!(made.is_none_or(|made| self.heap.children(made).iter().eq(&vec![Ref::from_bits(0); length])));
            }
            3 => {
                let room = program.size()?;
                let made = self.make(which, |heap, region| heap.reserve_array(region, room));
                assert!(made.is_none_or(|made| self.heap.array_room(made) == room));
            }
            4 => {
                let room = program.size()?;
                self.make(which, |heap, region| heap.reserve_map(region, room));
            }
            5 => {
                let length = program.size()?;
                let made = self.make(which, |heap, region| heap.reserve_buffer(region, length));
                assert!(made.is_none_or(|made| self.heap.bytes(made).len() == length));
            }
            6 => {
                let (depth, branching) = (program.size()?.min(u32::MAX as usize) as u32, program.size()?);
                self.make(which, |heap, region| heap.tree(region, depth, branching, |_| Ref::from_bits(0)));
            }
            7 => {
                let label = u32::from(program.byte()?);
                self.make(which, |heap, region| heap.variable(region, label));
                self.make(which, |heap, region| heap.number(region, label % 2, u64::MAX));
            }
            8 => self.marks[which] = self.heap.mark(&self.regions[which]),
            9 => self.heap.rewind(&mut self.regions[which], self.marks[which]),
            10 | 11 => self.leave(which, request == 10),
            12 => {
                let (limit, quota) = (program.pick(&LIMITS)?.min(CAP), program.pick(&LIMITS)?);
                let length = program.size()?;
                if let Some(made) = self.make(which, |heap, region| heap.reserve(region, length)) {
                    self.copy_away(which, made, limit, quota);
                }
            }
            _ => self.give_back(which),
        }
        Some(())
    }

    /// Under a limit beyond the cap only what can never be had is asked for.
    fn limit_heap(&mut self, limit: usize) {
        self.heap.set_limit(Some(limit));
        if limit > CAP {
            let region = &mut self.regions[0];
            let refused = [LENGTH_MAX + 1, usize::MAX].map(|length| self.heap.reserve(region, length).is_err());
            assert_eq!(refused, [true; 2]);
            self.heap.set_limit(None);
            self.heap.set_limit(Some(CAP));
        }
        self.limit = limit.min(CAP);
    }

    /// Makes something in a region. What is refused has changed nothing, and was counted.
    fn make(&mut self, which: usize, request: impl FnOnce(&mut Heap, &mut Region) -> Result<Ref, Full>) -> Option<Ref> {
        let (before, stood) = (self.heap.statistics(), self.heap.mark(&self.regions[which]));
        let bytes = self.heap.bytes_of(&self.regions[which]);
        let made = request(&mut self.heap, &mut self.regions[which]);
        let (after, region) = (self.heap.statistics(), &self.regions[which]);
        assert!(after.bytes_held <= self.limit.max(before.bytes_held), "the limit of the heap");
        assert!(self.heap.bytes_of(region) <= self.quotas[which].max(bytes), "the limit of the region");
        match made {
            Ok(made) => {
                assert_eq!(after.limit_failures, before.limit_failures);
                assert!(made.is_immediate() || self.heap.holds(region, made), "it lies in its region");
                Some(made)
            }
            Err(full) => {
                let counted = after.limit_failures - before.limit_failures;
                assert_eq!((counted, after.bytes_live), (1, before.bytes_live), "{full}");
                assert_eq!(self.heap.mark(region), stood, "{full}");
                assert_ne!(full.limit(), Limit::Memory, "{full}");
                None
            }
        }
    }

    /// Joins a region to the other one, or lets something small leave it.
    fn leave(&mut self, from: usize, joined: bool) {
        let fresh = self.heap.open();
        let closing = std::mem::replace(&mut self.regions[from], fresh);
        let (bytes, to) = (self.heap.bytes_of(&closing), &mut self.regions[1 - from]);
        let (held, stood) = (self.heap.bytes_of(to), self.heap.mark(to));
        let quota = self.quotas[1 - from];
        let result = match joined {
            true => self.heap.splice(closing, to),
            false => self.heap.transmigrate(&mut [], closing, to).map(|report| assert_eq!(report.cells, 0)),
        };
        match result {
            Ok(()) => {
                (self.marks[from], self.quotas[from]) = (Mark::START, usize::MAX);
                assert!(self.heap.bytes_of(to) <= quota.max(held), "the limit of the region");
            }
            Err(refused) => {
                assert!(held + bytes > quota && self.heap.mark(to) == stood, "{refused}");
                self.regions[from] = refused.region;
            }
        }
    }

    /// Copies something in a region to another heap, and gives that back.
    fn copy_away(&mut self, from: usize, root: Ref, limit: usize, quota: usize) {
        self.other.set_limit(Some(limit));
        self.far.set_limit(Some(quota));
        let before = self.other.statistics();
        let (source, mut roots) = (&self.regions[from], [root]);
        let moved = self.heap.copy_to(&mut roots, source, &mut self.other, &mut self.far, |met| met);
        let after = self.other.statistics();
        assert!(after.bytes_held <= limit.max(before.bytes_held), "the limit of the other heap");
        match moved {
            Ok(_) => {
                assert_eq!(self.other.children(roots[0]), self.heap.children(root));
                assert!(after.bytes_live <= quota, "the limit of the other region");
            }
            Err(full) => {
                assert!(matches!(full.limit(), Limit::Bytes | Limit::Region) && after.bytes_live == 0, "{full}");
            }
        }
        self.other.rewind(&mut self.far, Mark::START);
    }

    fn give_back(&mut self, which: usize) {
        let fresh = self.heap.open();
        self.heap.close(std::mem::replace(&mut self.regions[which], fresh));
        (self.marks[which], self.quotas[which]) = (Mark::START, usize::MAX);
    }

    /// What is counted adds up.
    fn check(&self) {
        let statistics = self.heap.statistics();
        let of_regions: usize = self.regions.iter().map(|region| self.heap.bytes_of(region)).sum();
        assert_eq!((statistics.bytes_live, self.heap.bytes_live()), (of_regions, of_regions));
        assert!(statistics.chunks * 512 <= statistics.bytes_held);
        assert_eq!((statistics.chunks - statistics.chunks_free) * 512, statistics.bytes_live);
        assert!(statistics.bytes_live <= statistics.bytes_live_peak);
    }

    fn finish(mut self) {
        for region in self.regions {
            self.heap.close(region);
        }
        self.other.close(self.far);
        assert_eq!((self.heap.bytes_live(), self.other.bytes_live()), (0, 0));
    }
}
