//! What commits cost, counted.

use ::statistics::Entries;

/// What one commit, or all commits of a state, came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Commits that changed something.
    pub commits: u64,
    /// Pages that were written and hold other bytes now.
    pub written: u64,
    /// Pages that were written and hold the same bytes as before.
    pub unchanged: u64,
    /// How often a derived page was reached from a page that had changed.
    pub visited: u64,
    /// Derived pages whose functions ran.
    pub ran: u64,
    /// Those of them that hold the same bytes as before, so that nothing went on from them.
    pub cut_off: u64,
    /// Heights at which functions ran.
    pub heights: u64,
    /// Bytes that were compared.
    pub bytes_compared: u64,
    /// Bytes of the commits in the log, without what the journal adds.
    pub bytes_logged: u64,
    /// How long the stages took, if the state has a clock.
    pub stages: Stages,
    /// How long commits took from their first step to the last subscriber, if the state has a clock.
    pub latency: Latency,
}

/// How long the stages of commits took, in the unit of the state's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stages {
    /// Applying the steps.
    pub apply: u64,
    /// Finding out what differs.
    pub diff: u64,
    /// Finding out which functions have to run, and when.
    pub schedule: u64,
    /// Running functions, and comparing what they wrote.
    pub run: u64,
    /// Writing the log.
    pub log: u64,
    /// Telling subscribers.
    pub notify: u64,
}

/// How long commits took, in the unit of the state's clock: those that changed something and are no replay. All 0 without a clock. What a
/// [`SharedState`](crate::SharedState) waits for the disk without the lock is not part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Latency {
    /// How many were measured.
    pub commits: u64,
    /// The shortest.
    pub min: u64,
    /// All together, divided by how many there were.
    pub mean: u64,
    /// Half of them took no longer. At most an eighth too much, since times are counted in classes.
    pub p50: u64,
    /// 99 of a hundred took no longer. At most an eighth too much.
    pub p99: u64,
    /// The longest.
    pub max: u64,
}

impl Latency {
    /// That of one commit.
    pub(crate) fn of_one(took: u64) -> Self {
        Self { commits: 1, min: took, mean: took, p50: took, p99: took, max: took }
    }
}

/// How many classes of times there are for each power of two.
const PARTS: u64 = 8;
/// How many classes there are in all: a class of its own for each time below [`PARTS`], and the parts of each power of two above.
const CLASSES: usize = ((64 - 3) * PARTS + PARTS) as usize;

/// Times, counted in classes that are an eighth of a power of two wide: always as much memory, however many there are.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    classes: Box<[u64; CLASSES]>,
    sum: u128,
    count: u64,
    min: u64,
    max: u64,
}

impl Default for Times {
    fn default() -> Self {
        Self { classes: Box::new([0; CLASSES]), sum: 0, count: 0, min: u64::MAX, max: 0 }
    }
}

/// The class of a time.
fn class_of(time: u64) -> usize {
    let Some(power) = time.checked_ilog2().filter(|&power| power >= 3) else { return time as usize };
    let part = (time >> (power - 3)) - PARTS;
    (u64::from(power - 2) * PARTS + part) as usize
}

/// The longest time of a class.
fn end_of(class: usize) -> u64 {
    let class = class as u64;
    if class < PARTS {
        return class;
    }
    let (power, part) = (class / PARTS + 2, class % PARTS);
    let width = 1_u64 << (power - 3);
    (PARTS + part) * width + (width - 1)
}

impl Times {
    pub(crate) fn add(&mut self, time: u64) {
        self.classes[class_of(time)] += 1;
        self.sum += u128::from(time);
        self.count += 1;
        self.min = self.min.min(time);
        self.max = self.max.max(time);
    }

    /// Whether a commit was measured.
    pub(crate) fn has_some(&self) -> bool {
        self.count > 0
    }

    pub(crate) fn latency(&self) -> Latency {
        if self.count == 0 {
            return Latency::default();
        }
        let mean = u64::try_from(self.sum / u128::from(self.count)).expect("a mean is no longer than the longest");
        Latency { commits: self.count, min: self.min, mean, p50: self.part(50), p99: self.part(99), max: self.max }
    }

    /// The time that a part of all, in percent, does not exceed.
    fn part(&self, percent: u128) -> u64 {
        let wanted = (u128::from(self.count) * percent).div_ceil(100);
        let mut seen = 0;
        let reached = self.classes.iter().position(|&count| {
            seen += u128::from(count);
            seen >= wanted
        });
        reached.map_or(self.max, |class| end_of(class).min(self.max))
    }
}

impl ::statistics::Statistics for Statistics {
    fn what(&self) -> &'static str {
        "commits of pages"
    }

    fn entries(&self, to: &mut Entries) {
        to.count("commits", "Commits that changed something.", self.commits);
        to.count("written", "Pages that were written and hold other bytes now.", self.written);
        to.count("unchanged", "Pages that were written and hold the bytes that they held before.", self.unchanged);
        to.count("visited", "How often a derived page was reached from a page that had changed.", self.visited);
        to.count("ran", "Derived pages whose functions ran.", self.ran);
        to.count("cut_off", "Those of them that hold the bytes that they held before.", self.cut_off);
        to.count("heights", "Heights at which functions ran.", self.heights);
        to.bytes("bytes_compared", "What was compared.", self.bytes_compared);
        to.bytes("bytes_logged", "Commits in the log, without what the journal adds.", self.bytes_logged);
        let meaning = "How long the stages of commits took, by a clock of nanoseconds; 0 without a clock.";
        to.group("stages", meaning, |to| self.stages.entries(to));
        let meaning = "How long commits took, by a clock of nanoseconds; 0 without a clock.";
        to.group("latency", meaning, |to| self.latency.entries(to));
    }
}

impl Stages {
    fn entries(&self, to: &mut Entries) {
        to.nanoseconds("apply", "Applying the steps.", self.apply);
        to.nanoseconds("diff", "Finding out what differs.", self.diff);
        to.nanoseconds("schedule", "Finding out which functions have to run, and when.", self.schedule);
        to.nanoseconds("run", "Running functions, and comparing what they wrote.", self.run);
        to.nanoseconds("log", "Writing the log.", self.log);
        to.nanoseconds("notify", "Telling subscribers.", self.notify);
    }
}

impl Latency {
    fn entries(&self, to: &mut Entries) {
        to.count("commits", "Commits that were measured.", self.commits);
        to.nanoseconds("min", "The shortest.", self.min);
        to.nanoseconds("mean", "The mean of all.", self.mean);
        to.nanoseconds("p50", "Half of them took no longer.", self.p50);
        to.nanoseconds("p99", "Of a hundred, 99 took no longer.", self.p99);
        to.nanoseconds("max", "The longest.", self.max);
    }
}

impl Statistics {
    /// Each number, with the group it belongs to and its name, as the file of a state has them.
    pub(crate) fn places(&mut self) -> [(&'static str, &'static str, &mut u64); 21] {
        let Self {
            commits,
            written,
            unchanged,
            visited,
            ran,
            cut_off,
            heights,
            bytes_compared,
            bytes_logged,
            stages,
            latency,
        } = self;
        let Stages { apply, diff, schedule, run, log, notify } = stages;
        let Latency { commits: measured, min, mean, p50, p99, max } = latency;
        [
            ("count", "commits", commits),
            ("count", "written", written),
            ("count", "unchanged", unchanged),
            ("count", "visited", visited),
            ("count", "ran", ran),
            ("count", "cut_off", cut_off),
            ("count", "heights", heights),
            ("count", "bytes_compared", bytes_compared),
            ("count", "bytes_logged", bytes_logged),
            ("stage", "apply", apply),
            ("stage", "diff", diff),
            ("stage", "schedule", schedule),
            ("stage", "run", run),
            ("stage", "log", log),
            ("stage", "notify", notify),
            ("latency", "commits", measured),
            ("latency", "min", min),
            ("latency", "mean", mean),
            ("latency", "p50", p50),
            ("latency", "p99", p99),
            ("latency", "max", max),
        ]
    }

    /// Adds those of a commit.
    pub(crate) fn add(&mut self, other: &Self) {
        self.commits += other.commits;
        self.written += other.written;
        self.unchanged += other.unchanged;
        self.visited += other.visited;
        self.ran += other.ran;
        self.cut_off += other.cut_off;
        self.heights += other.heights;
        self.bytes_compared += other.bytes_compared;
        self.bytes_logged += other.bytes_logged;
        self.stages.apply += other.stages.apply;
        self.stages.diff += other.stages.diff;
        self.stages.schedule += other.stages.schedule;
        self.stages.run += other.stages.run;
        self.stages.log += other.stages.log;
        self.stages.notify += other.stages.notify;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_has_a_name_and_a_meaning() {
        let report = ::statistics::Statistics::report(&Statistics::default());
        assert_eq!(report.defects(), Vec::<String>::new());
        assert_eq!(
            report.about().values().filter(|about| about.0.is_some()).count(),
            Statistics::default().places().len()
        );
    }

    #[test]
    fn classes_follow_each_other_and_are_an_eighth_wide() {
        for class in 0..CLASSES {
            let end = end_of(class);
            assert_eq!(class_of(end), class);
            let begins = if class == 0 { 0 } else { end_of(class - 1) + 1 };
            assert_eq!(class_of(begins), class);
            assert!(end - begins <= begins / 8, "{begins} to {end}");
        }
        assert_eq!(end_of(CLASSES - 1), u64::MAX);
    }

    #[test]
    fn parts_of_times_are_at_most_an_eighth_too_long() {
        let mut times = Times::default();
        assert_eq!(times.latency(), Latency::default());
        (1..=1_000).rev().for_each(|time| times.add(time * 10));
        let Latency { commits, min, mean, p50, p99, max } = times.latency();
        assert_eq!((commits, min, mean, max), (1_000, 10, 5_005, 10_000));
        assert!((5_000..=5_625).contains(&p50) && (9_900..=10_000).contains(&p99), "{p50} {p99}");
        times.add(7);
        assert_eq!(times.latency().min, 7);
    }
}
