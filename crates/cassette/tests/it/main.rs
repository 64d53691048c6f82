//! The behaviour of tapes, one file a subject.

mod comparing;
mod crash;
mod damage;
mod exchanges;
mod forms;
mod golden;
mod matching;
mod modes;
mod outline;
mod recording;
mod recording_mishaps;
mod recording_secrets;
mod redact;
mod report;
mod scan;
mod sealing;
mod text;
