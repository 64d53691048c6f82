//! Which recorded exchange answers a request.
//!
//! 1. Recorded requests with the same key lie in one lane. A lane is looked into when it is first asked for: requests whose
//!    keys are equal by chance are told apart there, so that opening a cassette decodes nothing.
//! 2. Equal requests of a lane are a queue in the order in which they began, which is not that in which they ended. Each is
//!    answered once; what comes then is decided by [`Repeats`].
//! 3. Threads share a player. Only those that ask the same question wait for each other, and for no longer than it takes to
//!    take a turn.

use crate::matching::miss::{Miss, Reason, nearest};
use crate::matching::recorded::RecordedExchanges;
use crate::matching::rules::MatchRules;
use crate::message::Request;
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Mutex, OnceLock, PoisonError};

/// What comes after all recorded answers to a question were given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repeats {
    /// A miss: the program asks more often than it did when it was recorded.
    #[default]
    Refused,
    /// The last of them, again and again.
    Last,
    /// All of them once more, from the first.
    Cycle,
}

/// A recorded exchange that answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundExchange {
    /// Where it is among those that are recorded.
    pub position: usize,
    /// The position of the first recorded exchange that asks the same question, which stands for the question.
    pub question: usize,
    /// How often it was given before.
    pub given_before: u64,
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer<E> {
    /// Nothing that is recorded answers it.
    Miss(Box<Miss>),
    /// What is recorded cannot be read.
    Unreadable(E),
}

impl<E: fmt::Display> fmt::Display for NoAnswer<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Miss(miss) => miss.fmt(f),
            Self::Unreadable(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for NoAnswer<E> {}

/// Answers requests from what is recorded, which it borrows or shares: `Player<&Cassette>`, `Player<Arc<Cassette>>`.
pub struct Player<P> {
    recorded: P,
    rules: MatchRules,
    repeats: Repeats,
    lanes: HashMap<u32, KeyGroup>,
}

/// Recorded requests whose keys are equal.
struct KeyGroup {
    positions: Vec<usize>,
    /// By the hash of the canonical bytes of their requests.
    queues: OnceLock<HashMap<[u8; 32], RecordedAnswers>>,
}

/// Recorded requests that are the same question, in the order in which they began.
struct RecordedAnswers {
    positions: Vec<usize>,
    turns: Mutex<AnswersGiven>,
}

/// What was given of a queue.
#[derive(Default)]
struct AnswersGiven {
    given: Vec<u64>,
    /// Everything before was given.
    fresh_from: usize,
    /// Where the next round of [`Repeats::Cycle`] goes on.
    next: usize,
}

impl<P: Deref<Target = R>, R: RecordedExchanges + ?Sized> Player<P> {
    /// A player of what is recorded. A cassette is not read for it beyond its index, if the rules are those it was sealed with.
    ///
    /// # Errors
    /// A request cannot be read.
    pub fn new(recorded: P, rules: MatchRules, repeats: Repeats) -> Result<Self, R::Error> {
        let keys = recorded.keys(&rules)?;
        let mut lanes: HashMap<u32, KeyGroup> = HashMap::new();
        for position in recorded.in_order() {
            let lane = lanes.entry(keys[position]);
            let lane = lane.or_insert_with(|| KeyGroup { positions: Vec::new(), queues: OnceLock::new() });
            lane.positions.push(position);
        }
        Ok(Self { recorded, rules, repeats, lanes })
    }

    /// The recorded exchange that answers a request, which then counts as given. The request must be redacted as recorded
    /// ones are.
    ///
    /// # Errors
    /// [`NoAnswer::Miss`] with the nearest recorded exchange, or [`NoAnswer::Unreadable`].
    pub fn find(&self, live: &Request<'_>) -> Result<FoundExchange, NoAnswer<R::Error>> {
        match self.look(live).map_err(NoAnswer::Unreadable)? {
            Some(found) => Ok(found),
            None => Err(self.explain(live)),
        }
    }

    /// As [`Player::find`], but does not look for the nearest recorded exchange if nothing answers.
    ///
    /// # Errors
    /// What is recorded cannot be read.
    pub fn look(&self, live: &Request<'_>) -> Result<Option<FoundExchange>, R::Error> {
        self.queue(live)?.map_or(Ok(None), |queue| self.take_turn(queue, live))
    }

    /// Why nothing answers a request, for which [`Player::look`] found nothing. It looks at up to ten thousand recorded requests.
    pub fn explain(&self, live: &Request<'_>) -> NoAnswer<R::Error> {
        match self.queue(live) {
            Ok(queue) => self.miss(live, queue),
            Err(error) => NoAnswer::Unreadable(error),
        }
    }

    /// What was never given, by position.
    pub fn unused(&self) -> Vec<usize> {
        let given_of = |lane: &KeyGroup| {
            let queues = lane.queues.get().into_iter().flat_map(HashMap::values);
            queues.flat_map(RecordedAnswers::given).collect::<Vec<_>>()
        };
        let mut is_unused = vec![true; self.recorded.count()];
        self.lanes.values().flat_map(given_of).for_each(|position| is_unused[position] = false);
        (0..is_unused.len()).filter(|&position| is_unused[position]).collect()
    }

    /// What was given of each question that was answered by more than one recorded exchange: positions, in order.
    pub fn repeated(&self) -> Vec<Vec<usize>> {
        let queues = |lane: &KeyGroup| {
            let queues = lane.queues.get().into_iter().flat_map(HashMap::values);
            queues.map(|queue| queue.given().collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        let mut repeated: Vec<_> = self.lanes.values().flat_map(queues).filter(|given| given.len() > 1).collect();
        repeated.sort_unstable();
        repeated
    }

    /// The queue of requests that are the same question.
    fn queue(&self, live: &Request<'_>) -> Result<Option<&RecordedAnswers>, R::Error> {
        let Some(lane) = self.lanes.get(&((self.rules.key(live) >> 32) as u32)) else { return Ok(None) };
        let queues = match lane.queues.get() {
            Some(queues) => queues,
            None => {
                let queues = self.told_apart(&lane.positions)?;
                lane.queues.get_or_init(|| queues)
            }
        };
        Ok(queues.get(&self.question(live)))
    }

    fn told_apart(&self, positions: &[usize]) -> Result<HashMap<[u8; 32], RecordedAnswers>, R::Error> {
        let mut apart: HashMap<_, Vec<usize>> = HashMap::new();
        for &position in positions {
            let question = self.question(self.recorded.request(position)?.as_ref());
            apart.entry(question).or_default().push(position);
        }
        Ok(apart.into_iter().map(|(question, positions)| (question, RecordedAnswers::new(positions))).collect())
    }

    /// What stands for a request under the rules: requests are the same question if and only if theirs are equal.
    fn question(&self, request: &Request<'_>) -> [u8; 32] {
        *blake3::hash(&self.rules.canonical(request)).as_bytes()
    }

    /// The next one of a queue whose custom conditions hold.
    fn take_turn(&self, queue: &RecordedAnswers, live: &Request<'_>) -> Result<Option<FoundExchange>, R::Error> {
        let mut turns = queue.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let count = queue.positions.len();
        let fresh = (turns.fresh_from..count).filter(|&place| turns.given[place] == 0);
        let place = match (self.first_that_holds(queue, live, fresh)?, self.repeats) {
            (Some(place), _) => Some(place),
            (None, Repeats::Refused) => None,
            (None, Repeats::Last) => self.first_that_holds(queue, live, (0..count).rev())?,
            (None, Repeats::Cycle) => {
                let round = (0..count).map(|step| (turns.next + step) % count);
                self.first_that_holds(queue, live, round)?
            }
        };
        Ok(place.map(|place| FoundExchange {
            position: queue.positions[place],
            question: queue.positions[0],
            given_before: turns.take(place),
        }))
    }

    fn first_that_holds(
        &self,
        queue: &RecordedAnswers,
        live: &Request<'_>,
        places: impl Iterator<Item = usize>,
    ) -> Result<Option<usize>, R::Error> {
        for place in places {
            if self.holds(queue.positions[place], live)? {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    fn holds(&self, position: usize, live: &Request<'_>) -> Result<bool, R::Error> {
        if self.rules.custom.is_empty() {
            return Ok(true);
        }
        let recorded = self.recorded.request(position)?;
        Ok(self.rules.custom.iter().all(|condition| condition.holds(&recorded, live)))
    }

    /// Explains why there is no answer; the queue is that of the same question, if it was ever asked.
    fn miss(&self, live: &Request<'_>, queue: Option<&RecordedAnswers>) -> NoAnswer<R::Error> {
        let given: Vec<_> = queue.into_iter().flat_map(RecordedAnswers::given).collect();
        let all_given = |last| Ok(Reason::AllGiven { count: given.len(), last: self.recorded.number(last)? });
        let reason = match (given.last(), queue) {
            (Some(&last), Some(queue)) if given.len() == queue.positions.len() => all_given(last),
            _ => nearest(&*self.recorded, &self.rules, live, &given),
        };
        match reason {
            Ok(reason) => NoAnswer::Miss(Box::new(Miss::new(live, reason))),
            Err(error) => NoAnswer::Unreadable(error),
        }
    }
}

impl RecordedAnswers {
    fn new(positions: Vec<usize>) -> Self {
        let turns = AnswersGiven { given: vec![0; positions.len()], ..AnswersGiven::default() };
        Self { positions, turns: Mutex::new(turns) }
    }

    /// What was given of it, in order.
    fn given(&self) -> impl Iterator<Item = usize> {
        let given = self.turns.lock().unwrap_or_else(PoisonError::into_inner).given.clone();
        self.positions.iter().zip(given).filter(|(_, times)| *times > 0).map(|(&position, _)| position)
    }
}

impl AnswersGiven {
    /// Gives what is at a place; gives how often it was given before.
    fn take(&mut self, place: usize) -> u64 {
        let before = self.given[place];
        self.given[place] += 1;
        self.next = (place + 1) % self.given.len();
        while self.given.get(self.fresh_from).is_some_and(|&times| times > 0) {
            self.fresh_from += 1;
        }
        before
    }
}
