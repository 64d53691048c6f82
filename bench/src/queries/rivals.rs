//! The peers of a question, and how each uses its answers.

use super::graphs::Form;

/// The use that our program makes of each answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// The values of all variables.
    Tuple,
    /// Nothing: they are counted.
    Count,
}

/// A peer, with what it does with its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rival {
    DuckdbOneThread,
    Duckdb,
    DuckdbTable,
    Ladybug,
    Egglog,
    Clingo,
    Swipl,
}

impl Rival {
    /// All of them in the order of their rows.
    pub(super) const ALL: [Self; 7] = [
        Self::DuckdbOneThread,
        Self::Duckdb,
        Self::DuckdbTable,
        Self::Ladybug,
        Self::Egglog,
        Self::Clingo,
        Self::Swipl,
    ];

    /// Its name in the rows.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::DuckdbOneThread => "DuckDB 2.0.0, 1 thread",
            Self::Duckdb => "DuckDB 2.0.0, all cores",
            Self::DuckdbTable => "DuckDB 2.0.0, 1 thread, into a table",
            Self::Ladybug => "Ladybug 0.22.0, 1 thread",
            Self::Egglog => "egglog 13.2.0",
            Self::Clingo => "clingo 5.8.3",
            Self::Swipl => "swipl -O",
        }
    }

    /// What it does with the answers, for a note.
    pub(super) fn note(self, answer: Answer) -> &'static str {
        match (self, answer) {
            (Self::DuckdbOneThread | Self::Duckdb, _) => "DuckDB counts them",
            (Self::DuckdbTable, _) => "DuckDB puts them into a table in memory",
            (Self::Ladybug, _) => "Ladybug counts them",
            (Self::Egglog, _) => "egglog puts them into a relation",
            (Self::Clingo, _) => "clingo makes an atom of each",
            (Self::Swipl, Answer::Tuple) => "SWI-Prolog gathers them with findall/3",
            (Self::Swipl, Answer::Count) => "SWI-Prolog counts them with aggregate_all/3",
        }
    }

    /// Whether it computes on one thread, as ours does then.
    pub(super) fn has_one_thread(self) -> bool {
        self != Self::Duckdb
    }

    /// The form that it reads.
    pub(super) fn form(self) -> Form {
        if self == Self::Swipl { Form::Prolog } else { Form::Csv }
    }
}
