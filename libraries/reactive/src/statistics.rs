//! What commits cost, counted.

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

impl Stages {
    /// The stages in their order, by name.
    pub fn named(&self) -> [(&'static str, u64); 6] {
        let Self { apply, diff, schedule, run, log, notify } = *self;
        [("apply", apply), ("diff", diff), ("schedule", schedule), ("run", run), ("log", log), ("notify", notify)]
    }
}

impl Statistics {
    /// What was counted, by name; without the stages.
    pub fn counts(&self) -> [(&'static str, u64); 9] {
        [
            ("commits", self.commits),
            ("written", self.written),
            ("unchanged", self.unchanged),
            ("visited", self.visited),
            ("ran", self.ran),
            ("cut_off", self.cut_off),
            ("heights", self.heights),
            ("bytes_compared", self.bytes_compared),
            ("bytes_logged", self.bytes_logged),
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
