//! The `metroon` command as a person runs it: what it prints, what it says, how it ends.

mod bases;
mod cassette_changes;
mod cassette_rubbish;
mod cassette_verbs;
mod crash;
mod endurance;
mod explain;
mod harness;
mod input;
mod journal_verbs;
mod kb;
mod limits;
mod load;
mod memory;
mod messages;
mod output;
mod permissions;
mod proxy;
mod reading;
mod recall;
mod replay;
mod sources;
mod store_verbs;
mod tutorial;
