//! Code as text.
