//! The behaviour of tapes, one file a subject.

mod matching;
mod modes;
mod redact;
