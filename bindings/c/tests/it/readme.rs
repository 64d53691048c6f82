//! The commands of README.md work.
