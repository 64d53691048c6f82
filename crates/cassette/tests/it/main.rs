//! The behaviour of tapes, one file a subject.

mod damage;
mod exchanges;
mod recording;
mod sealing;
