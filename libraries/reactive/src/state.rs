//! A state: pages, how some are derived from others, and the log of what was done.
//!
//! One owner writes, by [`State::commit`]; any number of threads read [`Snapshot`]s. The number of a commit is the **epoch**: it counts
//! the commits of the whole state, so what all pages were after a commit is one thing.

use crate::error::OpenError;
use crate::events::{self, Filter, Notice, Subscribers, Subscription};
use crate::function::{FunctionName, Functions};
use crate::hash::StateHash;
use crate::kept_statistics;
use crate::log::{Log, locked};
use crate::metadata::Metadata;
use crate::node::Node;
use crate::page::{Buffers, PageId, PageTable, Snapshot};
use crate::record::Origin;
use crate::statistics::{Statistics, Times};
use crate::warning::StateWarning;
use crate::work::Work;
use crate::{Epoch, Options};
use journal::{Disk, Durability};
use schedule::Schedule;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

/// Pages, how some are derived from others, and the log of what was done.
///
/// ```
/// use reactive::{Functions, FunctionName, Inputs, Options, State, Transaction};
///
/// let mut functions = Functions::new();
/// let sum = FunctionName::new("sum", 1);
/// functions.add(sum.clone(), |inputs: &Inputs<'_>, page: &mut [u8]| {
///     page[0] = inputs.iter().map(|bytes| bytes[0]).sum();
///     Ok(())
/// });
/// let mut state = State::new(functions, Options::default());
///
/// let mut transaction = Transaction::new().source("an example");
/// let (one, other) = (transaction.create(&[3]), transaction.create(&[4]));
/// let total = transaction.derive(1, sum, [one, other]);
/// let commit = state.commit(&transaction)?;
/// let (one, total) = (commit.created[one.index()], commit.created[total.index()]);
/// assert_eq!(state.read(total), Some(&[7][..]));
///
/// let before = state.snapshot();
/// let mut transaction = Transaction::new();
/// transaction.write(one, 0, &[5]);
/// let commit = state.commit(&transaction)?;
/// assert_eq!((commit.epoch, commit.statistics.ran), (2, 1));
/// assert_eq!((state.read(total), before.read(total)), (Some(&[9][..]), Some(&[7][..])));
/// # Ok::<(), reactive::CommitError>(())
/// ```
pub struct State {
    pub(crate) pages: PageTable,
    pub(crate) nodes: Vec<Node>,
    /// Places without a page, the one that is used next last.
    pub(crate) free: Vec<u32>,
    pub(crate) schedule: Schedule,
    pub(crate) functions: Functions,
    pub(crate) buffers: Buffers,
    pub(crate) epoch: Epoch,
    pub(crate) hash: StateHash,
    pub(crate) log: Log,
    pub(crate) subscribers: Subscribers,
    pub(crate) statistics: Statistics,
    /// How long commits took; none without a clock.
    pub(crate) times: Option<Times>,
    pub(crate) options: Options,
    pub(crate) work: Work,
}

impl State {
    /// A state without pages that keeps no log.
    pub fn new(functions: Functions, options: Options) -> Self {
        Self {
            pages: PageTable::default(),
            nodes: Vec::new(),
            free: Vec::new(),
            schedule: Schedule::new(),
            functions,
            buffers: Buffers::default(),
            epoch: 0,
            hash: StateHash::default(),
            log: Log::default(),
            subscribers: Subscribers::default(),
            statistics: Statistics::default(),
            times: options.clock.as_ref().map(|_| Times::default()),
            options,
            work: Work::default(),
        }
    }

    /// A state without pages that keeps its log on a disk, which must be empty. The log's file is made with the first commit.
    pub fn create(disk: Arc<dyn Disk>, functions: Functions, options: Options) -> Self {
        let log = Log::new(disk, &options, 0);
        let mut state = Self::new(functions, options);
        state.log = log;
        state
    }

    /// A state without pages that keeps its log in a folder. Nothing is asked of the disk before the first commit: that makes the folder if
    /// it is not there, locks it as long as the state lives, so that no other process writes there, and begins the log. Until then a state
    /// costs what one in memory costs, and leaves nothing.
    ///
    /// The first commit is refused, with [`CommitError::Log`](crate::CommitError::Log), if the folder holds a state already, another process
    /// has it, or the system refuses. [`State::claim`] finds that out before.
    pub fn create_in(folder: impl AsRef<Path>, functions: Functions, options: Options) -> Self {
        let log = Log::awaiting(folder.as_ref(), &options);
        let mut state = Self::new(functions, options);
        state.log = log;
        state
    }

    /// Makes and locks the folder of [`State::create_in`] now, and waits for the disk. The log begins with the first commit all the same.
    /// A state that has its folder, or needs none, stays as it is.
    ///
    /// # Errors
    /// The folder holds a state already, another process has it, or the system refuses.
    pub fn claim(&mut self) -> Result<(), OpenError> {
        self.log.claim()
    }

    /// The state that a folder holds, to be continued, as [`State::open`] does; one without pages if it holds none. The folder is locked as
    /// long as the state lives.
    ///
    /// # Errors
    /// As [`State::open`]; another process has the folder, or the system refuses.
    pub fn open_in(
        folder: impl AsRef<Path>,
        functions: Functions,
        options: Options,
    ) -> Result<(Self, Vec<StateWarning>), OpenError> {
        let (disk, lock) = locked(folder.as_ref())?;
        let (mut state, warnings) = Self::open(disk, functions, options)?;
        state.log.hold(lock);
        Ok((state, warnings))
    }

    /// The state as it was made, but for its functions, options and memory, which it keeps: it commits as a new one does, also to the
    /// log. Subscriptions end.
    ///
    /// The log, if it keeps one, is begun anew on `disk`.
    pub fn reset(&mut self, disk: Option<Arc<dyn Disk>>) {
        self.keep_statistics();
        for (_, page) in std::mem::take(&mut self.pages).into_pages() {
            page.bytes.into_iter().for_each(|bytes| self.buffers.give(bytes));
        }
        self.nodes.clear();
        self.free.clear();
        self.schedule = Schedule::new();
        self.epoch = 0;
        self.hash = StateHash::default();
        self.subscribers = Subscribers::default();
        self.statistics = Statistics::default();
        self.times = self.options.clock.as_ref().map(|_| Times::default());
        self.log = disk.map_or_else(Log::default, |disk| Log::new(disk, &self.options, 0));
    }

    /// The number of the last commit; 0 before the first.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// What a page holds; none if it is not there.
    pub fn read(&self, page: PageId) -> Option<&[u8]> {
        self.pages.bytes(page)
    }

    /// What a page holds now, to be kept as long as it is wanted, without a copy: later commits write elsewhere. None if it is not there.
    pub fn share(&self, page: PageId) -> Option<Arc<[u8]>> {
        self.pages.get(page)?.bytes.clone()
    }

    /// What a page was [described](crate::Transaction::describe) as; none if it was not, or is not there.
    pub fn metadata(&self, page: PageId) -> Option<&Metadata> {
        self.pages.get(page)?;
        self.nodes[page.slot as usize].metadata.as_deref()
    }

    /// The first page that has this name, in the order of their places. It takes a look at each page.
    pub fn find(&self, name: &str) -> Option<PageId> {
        self.pages().find(|&page| self.metadata(page).is_some_and(|metadata| metadata.name == name))
    }

    /// The last commit that changed a page; none if it is not there.
    pub fn changed(&self, page: PageId) -> Option<Epoch> {
        Some(self.pages.get(page)?.changed)
    }

    /// The pages that are there, in the order of their places.
    pub fn pages(&self) -> impl Iterator<Item = PageId> {
        self.pages.iter().map(|(id, _)| id)
    }

    /// The state as it is now, for any thread to read while this one goes on.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { pages: self.pages.clone(), epoch: self.epoch }
    }

    /// The sum, modulo 2^128, of a hash for each page and each derivation: equal states have equal ones. It is not a secret: whoever can
    /// write pages can make two states with one hash.
    pub fn state_hash(&mut self) -> u128 {
        self.hash.get(&self.pages, &self.nodes)
    }

    /// What all commits together cost, since the state was made or opened. Those of its log that opening made again are counted, and not timed.
    pub fn statistics(&self) -> Statistics {
        let latency = self.times.as_ref().map(Times::latency).unwrap_or_default();
        Statistics { latency, ..self.statistics }
    }

    /// Writes the statistics beside the log, if the state has a clock and has committed something. Nothing else depends on them, so it does not matter
    /// whether the disk takes them.
    pub(crate) fn keep_statistics(&self) {
        let Some(disk) = self.log.disk().filter(|_| self.times.as_ref().is_some_and(Times::has_some)) else { return };
        // What the process counts is worth no failure: the log says all that is to be kept.
        _ = kept_statistics::write(&**disk, &self.statistics());
    }

    /// The functions that pages can be derived by, to add to them.
    pub fn functions(&mut self) -> &mut Functions {
        &mut self.functions
    }

    /// Tells of the commits from now on. The queue has room for `capacity` notices, at least one.
    pub fn subscribe(&mut self, filter: Filter, capacity: usize) -> Subscription {
        self.subscribers.add(filter, capacity, None)
    }

    /// Tells of the commits after an epoch. The first notice says which pages have changed since, in one piece.
    pub fn subscribe_from(&mut self, epoch: Epoch, filter: Filter, capacity: usize) -> Subscription {
        let first = (epoch < self.epoch).then(|| self.changes_since(epoch));
        self.subscribers.add(filter, capacity, first)
    }

    /// Which pages have changed after an epoch, in one piece. Of a page that took the place of another one it is known that the other one was
    /// deleted, and not whether that was after the epoch.
    pub fn changes_since(&self, epoch: Epoch) -> Notice {
        events::since(&self.pages, epoch, self.epoch)
    }

    /// Makes all commits as durable as asked; one call serves any number of commits that were made with less.
    ///
    /// # Errors
    /// The log has failed, or fails now.
    pub fn sync(&self, durability: Durability) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.log.sync(durability)
    }

    /// Why a page holds what it holds: the page first, then what it is derived from, each once, down to what was written.
    /// None if it is not there.
    pub fn why(&self, page: PageId) -> Option<Vec<Why>> {
        self.pages.get(page)?;
        let mut seen = std::collections::BTreeSet::from([page]);
        let mut pages = vec![page];
        let mut reasons = Vec::new();
        while let Some(&page) = pages.get(reasons.len()) {
            let node = &self.nodes[page.slot as usize];
            let changed = self.pages.get(page).map_or(0, |page| page.changed);
            let reason = match &node.derivation {
                Some(derivation) => {
                    pages.extend(derivation.dependencies.iter().filter(|&&page| seen.insert(page)));
                    let dependencies = derivation.dependencies.to_vec();
                    Reason::Derived { function: derivation.name.clone(), ran: derivation.ran, dependencies }
                }
                None => {
                    let Origin { source, cause } = &node.origin;
                    Reason::Written { source: source.as_deref().map(str::to_owned), cause: *cause }
                }
            };
            reasons.push(Why { page, changed, reason });
        }
        Some(reasons)
    }

    /// The time of the state's clock; always 0 without one.
    pub(crate) fn now(&self) -> u64 {
        self.options.clock.as_ref().map_or(0, |clock| clock())
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.keep_statistics();
    }
}

/// Why a page holds what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// The page.
    pub page: PageId,
    /// The last commit that changed it.
    pub changed: Epoch,
    /// How.
    pub reason: Reason,
}

/// How a page came to hold what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A transaction wrote it.
    Written {
        /// Where that says that it came from.
        source: Option<String>,
        /// The commit that it says that it follows from.
        cause: Option<Epoch>,
    },
    /// A function derived it.
    Derived {
        /// Which.
        function: FunctionName,
        /// The last commit in which it ran. It has read of each dependency what that held after this commit.
        ran: Epoch,
        /// What it may read.
        dependencies: Vec<PageId>,
    },
}
