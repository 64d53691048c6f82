//! The behaviour of tapes, one file a subject.

mod damage;
mod exchanges;
mod matching;
mod modes;
mod recording;
mod redact;
mod sealing;
