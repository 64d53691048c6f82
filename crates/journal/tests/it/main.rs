//! Tests of the journal: against a list of frames, against crashes, against damage, against other threads.
//!
//! 1. [`model`] compares any sequence of calls with a list; [`limits`] and [`rollover`] go to the edges of it.
//! 2. [`crash`] lets the power fail at every operation, [`faults`] lets every operation fail, [`kill`] ends a real process;
//!    [`protocol`] pins what is written and synced in which order.
//! 3. [`damage`] flips and cuts every byte; [`salvaging`] saves the rest; [`fixture`] reads what version 1 wrote.
//!    [`hostile`] does both at random, and forges. [`trimming`] does all of it to journals of which old segments were given up.
//! 4. [`commit`] and [`reading`] have many threads at work; [`film`] tries every phase of one against the other.
//! 5. [`directory`] and [`single_file`] are on real files, [`regular`] on what is none; [`messages`] pins what people get to read.
//!
//! [`history`] makes the frames and reads them back.
#![forbid(unsafe_code)]

mod commit;
mod crash;
mod damage;
mod directory;
mod faults;
mod film;
mod fixture;
mod folder;
mod history;
mod hostile;
mod kill;
mod limits;
mod messages;
mod model;
mod protocol;
mod reading;
mod regular;
mod rollover;
mod salvaging;
mod single_file;
mod trimming;
mod write_back;
