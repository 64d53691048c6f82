//! The behaviour of tapes, one file a subject.
