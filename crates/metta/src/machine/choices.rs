//! The choices of the machine: what each keeps to return to.

use super::assumptions::Backtracking;
use super::code::Pc;
use super::collected::CollectedResults;
use super::noted_states::ChangedStates;
use super::query::CandidateTries;
use super::tables::{Caller, FilledCall, Fillings};
use crate::datalog::RowAnswers;
use crate::lowering::Wanted;
use region::{Mark, Ref};
use space::AnswerCursor;
use std::rc::Rc;

/// The alternatives that are left, and what is needed to go back to them.
pub(super) struct Choices {
    pub(super) stack: Vec<Choice>,
    /// The variables that were bound, in order.
    pub(super) trail: Vec<Ref>,
    /// The end of what choices need of the stack of frames.
    pub(super) protected: usize,
    pub(super) floor: MemoryFloor,
    pub(super) trying: Trying,
    pub(super) backtracking: Backtracking,
    /// The calls that are being evaluated and whose answers are kept.
    pub(super) fillings: Fillings,
    pub(super) changed_states: ChangedStates,
}

impl Choices {
    /// None, with all memory from a mark on free to be given back.
    pub(super) fn new(heap: Mark) -> Self {
        Self {
            stack: Vec::new(),
            trail: Vec::new(),
            protected: 0,
            floor: MemoryFloor::at(heap),
            trying: Trying::nothing(heap),
            backtracking: Backtracking::default(),
            fillings: Fillings::default(),
            changed_states: ChangedStates::default(),
        }
    }

    /// Forgets the evaluation before; the next one begins at a mark.
    pub(super) fn reset(&mut self, heap: Mark) {
        self.stack.clear();
        self.trail.clear();
        self.fillings.leave_from(0);
        self.changed_states.clear();
        self.protected = 0;
        self.floor = MemoryFloor::at(heap);
        self.backtracking = Backtracking::default();
    }
}

impl Choices {
    /// How many tabled calls are in progress below the innermost part of the evaluation that asks for all results: with this depth of all calls
    /// in progress, and this floor where nothing here asks.
    pub(super) fn asks_all_above(&self, depth: usize, floor: usize) -> usize {
        let innermost = self.stack.iter().rev().find_map(|choice| match choice.kind.purpose()? {
            CollectorPurpose::Table(call) => self.fillings.asks_all_above(call),
            purpose => purpose.asks_for_all().then_some(depth),
        });
        innermost.unwrap_or(floor)
    }

    /// Choices were taken away: calls are not evaluated any more whose collectors were among them. Gives the words of the stack that they took
    /// and that were not counted.
    pub(super) fn leave_fillings(&mut self) -> usize {
        let is_of_call = |choice: &&Choice| matches!(choice.kind.purpose(), Some(CollectorPurpose::Table(_)));
        self.fillings.leave_but(|| self.stack.iter().filter(is_of_call).count())
    }
}

/// A choice.
pub(super) struct Choice {
    /// The frame it goes on in.
    pub(super) frame_base: usize,
    /// The end of that frame, as far as it is needed.
    pub(super) end: usize,
    /// The end of the part of the stack that it and those below it need.
    pub(super) top: usize,
    pub(super) trail: usize,
    pub(super) heap: Mark,
    pub(super) foreign: usize,
    pub(super) kind: ChoiceKind,
}

pub(super) enum ChoiceKind {
    /// Further rules of a call, and how much was noted of changed states when it was made.
    Rules { group: u32, list: u32, next: u32, from: Pc, noted: u32 },
    /// Further results for a return point of the frame.
    Results { values: std::vec::IntoIter<Ref>, to: Destination },
    /// Further results, some of which bind something.
    BoundResults(Box<BoundResults>),
    /// The children of a list from here on, each a result for a return point of the frame.
    Children { list: Ref, next: usize, return_point: u32 },
    /// What is at a return point of the frame.
    Alternative { return_point: u32 },
    /// Answers of a space.
    Rows(Box<Rows>),
    /// Atoms of a space that may match.
    Candidates(Box<CandidateTries>),
    /// Answers of a table that is not complete.
    Answers(Box<Followed>),
    /// Answers of a table that are rows: results of the frame at hand.
    TableRows(Box<TableRows>),
    /// The end of an expression's alternatives.
    Collector(Box<Collector>),
}

impl ChoiceKind {
    /// What results are collected for, if it collects some.
    fn purpose(&self) -> Option<CollectorPurpose> {
        match self {
            Self::Collector(collector) => Some(collector.purpose),
            _ => None,
        }
    }
}

/// Where results go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Destination {
    /// They are results of the frame at hand.
    Frame,
    /// To a return point of it, errors to where it sends errors.
    ReturnPoint(u32),
    /// To a return point of it, errors included.
    Slot(u32),
}

impl Destination {
    /// The return point that they go to, if it is one.
    pub(super) fn return_point(self) -> Option<u32> {
        match self {
            Self::Frame => None,
            Self::ReturnPoint(return_point) | Self::Slot(return_point) => Some(return_point),
        }
    }
}

/// The results of an expression, while its alternatives are tried.
pub(super) struct Collector {
    pub(super) purpose: CollectorPurpose,
    pub(super) return_point: u32,
    pub(super) results: CollectedResults,
    /// What is older than the expression lies before this.
    pub(super) begun: Mark,
    /// The floor as it was before.
    pub(super) floor: MemoryFloor,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CollectorPurpose {
    /// The evaluation goes on with each.
    Expression,
    /// They become a list.
    List,
    /// The evaluation goes on with each, errors included, or with `Empty`; whether it makes a difference that there is none.
    Subjects { asks_for_absence: bool },
    /// The evaluation goes on with each when the transaction of this depth is closed.
    Transaction(usize),
    /// Some of them are wanted: `found` of them were found, and `most` are asked for.
    Some { wanted: Wanted, found: usize, most: usize },
    /// They are those of a call whose answers are kept, or its errors if the others are answers already.
    Table(FilledCall),
}

impl CollectorPurpose {
    /// Whether it makes a difference to what follows if there are further results.
    fn asks_for_all(self) -> bool {
        match self {
            Self::List | Self::Transaction(_) | Self::Some { .. } => true,
            Self::Subjects { asks_for_absence } => asks_for_absence,
            Self::Expression | Self::Table(_) => false,
        }
    }
}

/// Results, some of which bind something, while they are gone through.
pub(super) struct BoundResults {
    pub(super) results: CollectedResults,
    pub(super) next: usize,
    pub(super) to: Destination,
}

/// The memory that choices below this number of choices may not give back.
#[derive(Clone, Copy)]
pub(super) struct MemoryFloor {
    pub(super) choices: usize,
    pub(super) heap: Mark,
    pub(super) foreign: usize,
}

impl MemoryFloor {
    /// Before the first choice.
    pub(super) fn at(heap: Mark) -> Self {
        Self { choices: 0, heap, foreign: 0 }
    }
}

/// Answers that are rows, while they are gone through.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) answers: AnswerCursor,
    pub(super) query: u32,
    /// The variables from outside, bound by the last terms of an answer.
    pub(super) outer: Vec<Ref>,
    pub(super) return_point: u32,
}

/// A reader of a table that is not complete: a choice whose alternatives are the answers from a place on.
pub(super) struct Followed {
    pub(super) table: usize,
    pub(super) next: usize,
    pub(super) caller: Caller,
    pub(super) return_point: u32,
}

/// Answers of a table that are rows, while they are gone through.
pub(super) struct TableRows {
    pub(super) answers: Rc<RowAnswers>,
    pub(super) next: usize,
    /// The variables of the call.
    pub(super) cells: Vec<Ref>,
}

/// What a rule that is being tried needs to know.
#[derive(Clone, Copy)]
pub(super) struct Trying {
    pub(super) group: u32,
    /// The candidates, and the place of the next one; `u32::MAX` when there is none.
    pub(super) list: u32,
    pub(super) next: u32,
    pub(super) trail: usize,
    pub(super) heap: Mark,
    pub(super) foreign: usize,
    /// Behind which place the call was made.
    pub(super) from: Pc,
    /// Its place in the list.
    pub(super) place: u32,
    /// Whether a rule before it has matched.
    pub(super) matched: bool,
}

impl Trying {
    /// Before the first call.
    pub(super) fn nothing(heap: Mark) -> Self {
        Self { group: 0, list: 0, next: NONE, trail: 0, heap, foreign: 0, from: 0, place: 0, matched: false }
    }
}

/// No candidate is left.
pub(super) const NONE: u32 = u32::MAX;
