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
    Hyperon,
    /// A later release, which is faster and gives wrong answers above 1,024 symbols.
    HyperonLater,
    Pymetta,
}

impl Rival {
    /// All of them in the order of their rows.
    pub(super) const ALL: [Self; 10] = [
        Self::DuckdbOneThread,
        Self::Duckdb,
        Self::DuckdbTable,
        Self::Ladybug,
        Self::Egglog,
        Self::Clingo,
        Self::Swipl,
        Self::Hyperon,
        Self::HyperonLater,
        Self::Pymetta,
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
            Self::Hyperon => "hyperon 0.2.6",
            Self::HyperonLater => "hyperon 0.2.10",
            Self::Pymetta => "PyMeTTa 0.9.4",
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
            (Self::Hyperon | Self::HyperonLater | Self::Pymetta, _) => "the peer runs the same text",
        }
    }

    /// What it does with a program of its own, for a note.
    pub(super) fn note_of_program(self) -> &'static str {
        match self {
            Self::DuckdbOneThread | Self::Duckdb => "ours tables a function, DuckDB counts the rows of WITH RECURSIVE",
            Self::DuckdbTable | Self::Ladybug => "the peer counts rows",
            Self::Egglog => "ours tables a function, egglog runs rules until nothing is new",
            Self::Clingo => "ours tables a function, clingo grounds rules",
            Self::Swipl => "SWI-Prolog counts with aggregate_all/3; both table where the program says so",
            Self::Hyperon | Self::HyperonLater | Self::Pymetta => "the peer runs the same text",
        }
    }

    /// The ending of the name of a file with a program for it.
    pub(super) fn language(self) -> &'static str {
        match self {
            Self::DuckdbOneThread | Self::Duckdb | Self::DuckdbTable => "sql",
            Self::Ladybug => "cypher",
            Self::Egglog => "egg",
            Self::Clingo => "lp",
            Self::Swipl => "pl",
            Self::Hyperon | Self::HyperonLater | Self::Pymetta => "metta",
        }
    }

    /// Whether it computes on one thread, as ours does then.
    pub(super) fn has_one_thread(self) -> bool {
        self != Self::Duckdb
    }

    /// The form that it reads.
    pub(super) fn form(self) -> Form {
        match self {
            Self::Swipl => Form::Prolog,
            Self::Hyperon | Self::HyperonLater | Self::Pymetta => Form::Metta,
            _ => Form::Csv,
        }
    }
}
