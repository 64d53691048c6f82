//! Live queries of a knowledge base: who follows one is told what each commit changes in its answers.
//!
//! - `request` is what is asked, as text.
//! - `subscription` follows a knowledge base that is open in this process, `follower` one that any process writes to, by its journal.
//! - `hub` hands commits to the `queries`, nodes of a schedule, and leaves what they say on the `board`.
//! - `named` has the queries that a program has given names, and what it is told of them.
//! - `registry` registers, lists and ends them for those who are no program.
//! - `event` is what is told: the answers at the beginning, their end, and then what each commit changed, in order, each with its
//!   number. A subscriber that begins after a commit it was told of misses nothing and is told nothing twice.
//!
//! What keeps answers up to date is [`metta::LiveQuery`].

mod board;
mod event;
mod follower;
mod hub;
mod named;
mod queries;
mod registry;
mod request;
mod subscription;

pub use board::CHANGES_WAITING_BYTES_DEFAULT;
pub use event::LiveEvent;
pub use follower::{FollowError, LiveFollower};
pub(crate) use hub::LiveHub;
pub use metta::{AnswerChange, LiveError, LiveRulesStatistics, LiveStatistics};
pub use queries::LiveQueriesStatistics;
pub use registry::{LiveNameError, NamedLiveQuery};
pub(crate) use request::atom_of;
pub use request::{LiveRequest, LiveRequestError};
pub(crate) use subscription::LiveFollowing;
pub use subscription::{CHANGES_WAITING_DEFAULT, SubscribeError, Subscription};
