//! The choices of the machine: what each keeps to return to, and how they are made, taken away and returned to.

use super::assumptions::{Backtracking, WrongAssumptions};
use super::collected::{CollectedResult, CollectedResults};
use super::frames::Frames;
use crate::datalog::RowAnswers;
use crate::lowering::Wanted;
use crate::machine::code::{Code, HEADER, Instruction, Pc, ReturnPoint};
use crate::machine::halt::Halt;
use crate::machine::matching::Bindings;
use crate::machine::noted_states::ChangedStates;
use crate::machine::notes::Notes;
use crate::machine::query::CandidateTries;
use crate::machine::tables::{Caller, FilledCall, Fillings};
use crate::machine::values::Values;
use crate::machine::words::is_lasting;
use region::{Mark, Ref};
use space::AnswerCursor;
use std::rc::Rc;

/// The alternatives that are left, and what is needed to go back to them.
pub(in crate::machine) struct Choices {
    pub(in crate::machine) stack: Vec<Choice>,
    /// What was bound, which is undone when one is taken up.
    pub(in crate::machine) bindings: Bindings,
    pub(in crate::machine) floor: MemoryFloor,
    pub(in crate::machine) trying: Trying,
    pub(in crate::machine) backtracking: Backtracking,
    /// The calls that are being evaluated and whose answers are kept.
    pub(in crate::machine) fillings: Fillings,
    pub(in crate::machine) changed_states: ChangedStates,
}

impl Choices {
    /// None, with all memory from a mark on free to be given back.
    pub(in crate::machine) fn new(heap: Mark) -> Self {
        Self {
            stack: Vec::new(),
            bindings: Bindings::default(),
            floor: MemoryFloor::at(heap),
            trying: Trying::nothing(heap),
            backtracking: Backtracking::default(),
            fillings: Fillings::default(),
            changed_states: ChangedStates::default(),
        }
    }

    /// Forgets the evaluation before; the next one begins at a mark.
    pub(in crate::machine) fn reset(&mut self, heap: Mark) {
        self.stack.clear();
        self.bindings.trail.clear();
        self.fillings.leave_from(0);
        self.changed_states.clear();
        self.floor = MemoryFloor::at(heap);
        self.backtracking = Backtracking::default();
    }
}

impl Choices {
    /// Makes a choice that goes on in a frame, which begins and ends there.
    pub(in crate::machine) fn push(
        &mut self,
        frames: &mut Frames,
        values: &Values,
        (base, top): (usize, usize),
        kind: ChoiceKind,
    ) {
        let heap = values.heap.mark(&values.region);
        let foreign = values.foreign.len();
        let trail = self.bindings.trail.len();
        self.push_made(frames, Choice { frame_base: base, end: top, top, trail, heap, foreign, kind });
    }

    pub(in crate::machine) fn push_made(&mut self, frames: &mut Frames, mut choice: Choice) {
        choice.top = choice.top.max(frames.protected);
        frames.protected = choice.top;
        self.stack.push(choice);
    }

    /// Takes the last choice away.
    pub(in crate::machine) fn pop(&mut self, frames: &mut Frames) {
        let left = self.stack.len().checked_sub(1).expect("there is a choice");
        // Dropped where it is.
        self.stack.truncate(left);
        frames.protected = self.top();
        self.floor.choices = self.floor.choices.min(left);
    }

    /// The end of what they need of the stack of frames.
    pub(in crate::machine) fn top(&self) -> usize {
        self.stack.last().map_or(0, |choice| choice.top)
    }

    /// What is evaluated for the collector on top, which an instruction has made, backtracks, unless that was wrong here before.
    pub(in crate::machine) fn begin_backtracking(&mut self, wrong: &mut WrongAssumptions, site: Pc) {
        self.backtracking.begin(wrong, self.stack.len() - 1, site);
    }

    /// Takes the choices from a level on away: their alternatives are not tried.
    pub(in crate::machine) fn cut(&mut self, frames: &mut Frames, wrong: &mut WrongAssumptions, level: usize) {
        self.stack.truncate(level);
        self.backtracking.end(wrong, level);
        frames.protected = self.top();
        self.floor.choices = self.floor.choices.min(level);
    }

    /// What collects the results of an expression that begins now.
    pub(in crate::machine) fn collector(
        &self,
        values: &Values,
        purpose: CollectorPurpose,
        return_point: u32,
    ) -> Collector {
        let begun = values.heap.mark(&values.region);
        Collector { purpose, return_point, results: CollectedResults::default(), begun, floor: self.floor }
    }

    /// Collects the results of what follows, for a return point of the frame at hand.
    pub(in crate::machine) fn begin_collecting(
        &mut self,
        frames: &mut Frames,
        values: &Values,
        code: &Code,
        (purpose, return_point): (CollectorPurpose, u32),
    ) {
        let collector = self.collector(values, purpose, return_point);
        let base = frames.base;
        let top = frames.end_at(code, base, return_point);
        self.push(frames, values, (base, top), ChoiceKind::Collector(Box::new(collector)));
    }

    /// Adds a result to a collector.
    pub(in crate::machine) fn keep(
        &mut self,
        values: &mut Values,
        notes: Notes,
        value: Ref,
        level: usize,
    ) -> Result<(), Halt> {
        let Choice { trail, kind: ChoiceKind::Collector(collector), .. } = &self.stack[level] else {
            unreachable!("it is a collector")
        };
        if matches!(collector.purpose, CollectorPurpose::List) {
            return self.keep_child(values, notes, value, level);
        }
        let (trail, begun) = (*trail, collector.begun);
        let mut bound = Vec::new();
        for place in trail..self.bindings.trail.len() {
            let variable = self.bindings.trail[place];
            if values.heap.precedes(variable, &values.region, begun) {
                let value = values.heap.walk(variable);
                bound.push((variable, self.bindings.resolve(values, notes, value)?));
            }
        }
        let value = self.bindings.resolve(values, notes, value)?;
        if !(bound.is_empty() && is_lasting(value)) {
            self.raise_floor(values);
        }
        let ChoiceKind::Collector(collector) = &mut self.stack[level].kind else { unreachable!("it is a collector") };
        collector.results.push(CollectedResult { value, bound });
        Ok(())
    }

    /// Adds a result to a collector whose results become a list: nobody looks at what they have bound.
    pub(in crate::machine) fn keep_child(
        &mut self,
        values: &mut Values,
        notes: Notes,
        value: Ref,
        level: usize,
    ) -> Result<(), Halt> {
        let value = self.bindings.resolve(values, notes, value)?;
        self.keep_memory_of(values, value);
        if let ChoiceKind::Collector(collector) = &mut self.stack[level].kind {
            collector.results.push_value(value);
        }
        Ok(())
    }

    /// What is at a return point of the frame at hand is an alternative to what follows.
    pub(in crate::machine) fn begin_alternative(
        &mut self,
        frames: &mut Frames,
        values: &Values,
        code: &Code,
        return_point: u32,
    ) {
        let base = frames.base;
        let top = frames.end_at(code, base, return_point);
        self.push(frames, values, (base, top), ChoiceKind::Alternative { return_point });
    }

    /// Keeps the memory of a result.
    pub(in crate::machine) fn keep_memory_of(&mut self, values: &Values, value: Ref) {
        if !is_lasting(value) {
            self.raise_floor(values);
        }
    }

    /// Keeps all memory that is in use now.
    pub(in crate::machine) fn raise_floor(&mut self, values: &Values) {
        let heap = values.heap.mark(&values.region);
        self.floor = MemoryFloor { choices: self.stack.len(), heap, foreign: values.foreign.len() };
    }

    /// Binds again what the result at a place binds.
    pub(in crate::machine) fn bind_as(&mut self, values: &mut Values, results: &CollectedResults, place: usize) {
        if results.bind_something() {
            results.bound_at(place).for_each(|(variable, value)| self.bindings.bind_again(values, variable, value));
        }
    }
}

impl Choices {
    /// Returns to what was when the last choice was made. If one below it needs what is above its frame, that moves up.
    pub(in crate::machine) fn restore(
        &mut self,
        frames: &mut Frames,
        values: &mut Values,
        code: &Code,
    ) -> Result<(), Halt> {
        let last = self.stack.len() - 1;
        let choice = &self.stack[last];
        let (base, trail, heap, foreign) = (choice.frame_base, choice.trail, choice.heap, choice.foreign);
        self.bindings.undo_to(values, trail);
        let (heap, foreign) =
            if last < self.floor.choices { (self.floor.heap, self.floor.foreign) } else { (heap, foreign) };
        values.heap.rewind(&mut values.region, heap);
        values.forget_given_back();
        values.foreign.truncate(foreign);
        frames.base = base;
        let end = self.stack[last].end;
        if last.checked_sub(1).is_some_and(|below| self.stack[below].top > end) {
            frames.move_up(end, slots_of(&self.stack[last].kind, code))?;
        }
        Ok(())
    }

    /// The place of the collector that lists the results of a frame, if all that is done with them is that: whether such a result has
    /// others beside it makes no difference.
    #[inline]
    pub(in crate::machine) fn list_of_results(
        &self,
        frames: &Frames,
        code: &Code,
        (level, return_point, caller): (usize, u32, u32),
    ) -> Option<usize> {
        let ReturnPoint { pc, dst, .. } = code.return_point(return_point);
        let Instruction::Collected { begun, slot } = code.instructions[*pc as usize] else { return None };
        let list = level.checked_sub(1).filter(|_| slot == *dst)?;
        let noted = Ref::from_bits(frames.stack[caller as usize + HEADER + usize::from(begun)]);
        let ChoiceKind::Collector(collector) = &self.stack[list].kind else { return None };
        let is_list = matches!(collector.purpose, CollectorPurpose::List) && noted.payload() as usize == list;
        is_list.then_some(list)
    }
}

/// How many slots a frame has that a choice goes on in, beside those that it is made with.
fn slots_of(kind: &ChoiceKind, code: &Code) -> usize {
    let return_point = match kind {
        ChoiceKind::Rules { group, .. } => return code.groups[*group as usize].slots,
        ChoiceKind::TableRows(_) => return 0,
        ChoiceKind::Results { to, .. } => return slots_at(*to, code),
        ChoiceKind::BoundResults(left) => return slots_at(left.to, code),
        ChoiceKind::Children { return_point, .. } | ChoiceKind::Alternative { return_point } => *return_point,
        ChoiceKind::Rows(rows) => rows.return_point,
        ChoiceKind::Candidates(tries) => tries.return_point,
        ChoiceKind::Answers(followed) => followed.return_point,
        ChoiceKind::Collector(collector) => collector.return_point,
    };
    usize::from(code.return_point(return_point).slots)
}

fn slots_at(to: Destination, code: &Code) -> usize {
    to.return_point().map_or(0, |return_point| usize::from(code.return_point(return_point).slots))
}

impl Choices {
    /// How many tabled calls are in progress below the innermost part of the evaluation that asks for all results: with this depth of all calls
    /// in progress, and this floor where nothing here asks.
    pub(in crate::machine) fn asks_all_above(&self, depth: usize, floor: usize) -> usize {
        let innermost = self.stack.iter().rev().find_map(|choice| match choice.kind.purpose()? {
            CollectorPurpose::Table(call) => self.fillings.asks_all_above(call),
            purpose => purpose.asks_for_all().then_some(depth),
        });
        innermost.unwrap_or(floor)
    }

    /// Choices were taken away: calls are not evaluated any more whose collectors were among them. Gives the words of the stack that they took
    /// and that were not counted.
    pub(in crate::machine) fn leave_fillings(&mut self) -> usize {
        let is_of_call = |choice: &&Choice| matches!(choice.kind.purpose(), Some(CollectorPurpose::Table(_)));
        self.fillings.leave_but(|| self.stack.iter().filter(is_of_call).count())
    }
}

/// A choice.
pub(in crate::machine) struct Choice {
    /// The frame it goes on in.
    pub(in crate::machine) frame_base: usize,
    /// The end of that frame, as far as it is needed.
    pub(in crate::machine) end: usize,
    /// The end of the part of the stack that it and those below it need.
    pub(in crate::machine) top: usize,
    pub(in crate::machine) trail: usize,
    pub(in crate::machine) heap: Mark,
    pub(in crate::machine) foreign: usize,
    pub(in crate::machine) kind: ChoiceKind,
}

pub(in crate::machine) enum ChoiceKind {
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
pub(in crate::machine) enum Destination {
    /// They are results of the frame at hand.
    Frame,
    /// To a return point of it, errors to where it sends errors.
    ReturnPoint(u32),
    /// To a return point of it, errors included.
    Slot(u32),
}

impl Destination {
    /// The return point that they go to, if it is one.
    pub(in crate::machine) fn return_point(self) -> Option<u32> {
        match self {
            Self::Frame => None,
            Self::ReturnPoint(return_point) | Self::Slot(return_point) => Some(return_point),
        }
    }
}

/// The results of an expression, while its alternatives are tried.
pub(in crate::machine) struct Collector {
    pub(in crate::machine) purpose: CollectorPurpose,
    pub(in crate::machine) return_point: u32,
    pub(in crate::machine) results: CollectedResults,
    /// What is older than the expression lies before this.
    pub(in crate::machine) begun: Mark,
    /// The floor as it was before.
    pub(in crate::machine) floor: MemoryFloor,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::machine) enum CollectorPurpose {
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
pub(in crate::machine) struct BoundResults {
    pub(in crate::machine) results: CollectedResults,
    pub(in crate::machine) next: usize,
    pub(in crate::machine) to: Destination,
}

/// The memory that choices below this number of choices may not give back.
#[derive(Clone, Copy)]
pub(in crate::machine) struct MemoryFloor {
    pub(in crate::machine) choices: usize,
    pub(in crate::machine) heap: Mark,
    pub(in crate::machine) foreign: usize,
}

impl MemoryFloor {
    /// Before the first choice.
    pub(in crate::machine) fn at(heap: Mark) -> Self {
        Self { choices: 0, heap, foreign: 0 }
    }
}

/// Answers that are rows, while they are gone through.
#[derive(Default)]
pub(in crate::machine) struct Rows {
    pub(in crate::machine) answers: AnswerCursor,
    pub(in crate::machine) query: u32,
    /// The variables from outside, bound by the last terms of an answer.
    pub(in crate::machine) outer: Vec<Ref>,
    pub(in crate::machine) return_point: u32,
}

/// A reader of a table that is not complete: a choice whose alternatives are the answers from a place on.
pub(in crate::machine) struct Followed {
    pub(in crate::machine) table: usize,
    pub(in crate::machine) next: usize,
    pub(in crate::machine) caller: Caller,
    pub(in crate::machine) return_point: u32,
}

/// Answers of a table that are rows, while they are gone through.
pub(in crate::machine) struct TableRows {
    pub(in crate::machine) answers: Rc<RowAnswers>,
    pub(in crate::machine) next: usize,
    /// The variables of the call.
    pub(in crate::machine) cells: Vec<Ref>,
}

/// What a rule that is being tried needs to know.
#[derive(Clone, Copy)]
pub(in crate::machine) struct Trying {
    pub(in crate::machine) group: u32,
    /// The candidates, and the place of the next one; `u32::MAX` when there is none.
    pub(in crate::machine) list: u32,
    pub(in crate::machine) next: u32,
    pub(in crate::machine) trail: usize,
    pub(in crate::machine) heap: Mark,
    pub(in crate::machine) foreign: usize,
    /// Behind which place the call was made.
    pub(in crate::machine) from: Pc,
    /// Its place in the list.
    pub(in crate::machine) place: u32,
    /// Whether a rule before it has matched.
    pub(in crate::machine) matched: bool,
}

impl Trying {
    /// Before the first call.
    pub(in crate::machine) fn nothing(heap: Mark) -> Self {
        Self { group: 0, list: 0, next: NONE, trail: 0, heap, foreign: 0, from: 0, place: 0, matched: false }
    }
}

/// No candidate is left.
pub(in crate::machine) const NONE: u32 = u32::MAX;
