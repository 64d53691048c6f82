//! The behaviour of tapes, one file a subject.

mod comparing;
mod crash;
mod damage;
mod earlier;
mod exchanges;
mod filtering;
mod forms;
mod fuzzed;
mod golden;
mod har;
mod hostile;
mod matching;
mod modes;
mod outline;
mod plain;
mod recording;
mod recording_mishaps;
mod recording_secrets;
mod redact;
mod report;
mod scan;
mod sealing;
mod selecting;
mod text;
mod vcr;
mod vcrpy;
