//! Tests of the engine as a library.

mod corpus;
