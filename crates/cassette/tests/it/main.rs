//! The behaviour of tapes, one file a subject.

mod crash;
mod damage;
mod exchanges;
mod forms;
mod golden;
mod recording;
mod report;
mod sealing;
