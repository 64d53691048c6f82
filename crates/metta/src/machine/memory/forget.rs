//! Code that nothing needs any more is forgotten: that of forms, and of rules that have changed.
//!
//! 1. Code is made at the end of the tables, piece by piece; the ends of the pieces are remembered. What a piece refers to
//!    lies in itself or before it.
//! 2. When there is twice as much as the last time, the newest piece is looked for that a frame or a choice will go on in.
//!    What was made later is cut off. Functions that lose code so are compiled again when they are called.
//! 3. A call in the tail of code that is cut off may be in progress: what is known of it is asked for when none of its rules has matched. So
//!    the place behind it becomes one of which the same is known.
//! 4. Between two forms no piece is needed. Within one, a loop is in its oldest frames when it begins again, so little
//!    is found below what is kept. Where a call is entered from within such a loop, it will be the next time, or soon.

use super::pieces::End;
use crate::machine::code::{ANSWER, CHANGED, Code, Kind, Origin, Pc, UNCHANGED};
use crate::machine::control::choices::{ChoiceKind, Choices};
use crate::machine::control::frames::Frames;

/// Instructions below which nothing is forgotten within a form, and between two.
const FORGET_FROM: usize = 5_000;
const FORGET_BETWEEN_FROM: usize = 1 << 14;
/// If all code was made for fewer forms than this, it is that of the program rather than of its forms.
const FORMS_MIN: u32 = 64;
/// After a look that was in vain the next one is at another place of a loop: it comes after a number of steps that no other
/// number divides.
pub(in crate::machine) const STEPS_TO_NEXT: u32 = 251;

impl Code {
    /// A piece of code is complete.
    pub(in crate::machine) fn end_piece(&mut self) {
        let end = self.end();
        if self.pieces.ends.last().is_none_or(|last| last.instructions < end.instructions) {
            self.pieces.ends.push(end);
        }
    }

    fn end(&self) -> End {
        End {
            instructions: self.instructions.len() as u32,
            return_points: self.return_points.len() as u32,
            templates: self.templates.len() as u32,
            data: self.data.len() as u32,
            nested: self.nested.len() as u32,
            shapes: self.shapes.len() as u32,
            queries: self.queries.len() as u32,
            arguments: self.arguments.len() as u32,
            groups: self.groups.len() as u32,
            exclusives: self.exclusives.len() as u32,
            guarded: self.guarded.len() as u32,
            indexes: self.indexes.len() as u32,
            functions: self.functions.len() as u32,
        }
    }

    /// Whether it is time to forget code.
    pub(in crate::machine) fn is_overgrown(&self) -> bool {
        self.instructions.len() > self.pieces.forget_at.max(FORGET_FROM)
    }

    /// The number of pieces up to the one of this place.
    fn pieces_to(&self, pc: Pc) -> usize {
        self.pieces.ends.partition_point(|end| end.instructions <= pc) + 1
    }

    /// Keeps `count` pieces, and functions at least up to this one.
    fn keep_pieces(&mut self, count: usize, function: u32) {
        let Some(&end) = self.pieces.ends.get(count - 1) else { return };
        self.pieces.ends.truncate(count);
        self.instructions.truncate(end.instructions as usize);
        self.return_points.truncate(end.return_points as usize);
        self.templates.truncate(end.templates as usize);
        self.data.truncate(end.data as usize);
        self.nested.truncate(end.nested as usize);
        self.shapes.truncate(end.shapes as usize);
        self.queries.truncate(end.queries as usize);
        self.arguments.truncate(end.arguments as usize);
        self.groups.truncate(end.groups as usize);
        self.exclusives.truncate(end.exclusives as usize);
        self.guarded.truncate(end.guarded as usize);
        self.indexes.truncate(end.indexes as usize);
        self.indexes.iter_mut().for_each(|index| index.retain(|code| !is_lost(code.kind, &end)));
        // What is known of a call is noted at the place behind it.
        self.origins.truncate(end.instructions as usize + 1);
        self.maybes.retain(|place, _| *place <= end.instructions);
        self.child_return_points.retain(|return_point| *return_point < end.return_points);
        self.answer_return_points.retain(|_, return_point| *return_point < end.return_points);
        self.spaces.retain(|miss, place| *miss < end.instructions && *place < end.instructions);
        self.keep_functions(end.functions.max(function + 1), end);
    }

    fn keep_functions(&mut self, count: u32, end: End) {
        self.functions.truncate(count as usize);
        self.index.retain(|_, function| *function < count);
        self.made.retain(|function, _| *function < count);
        self.tabled.retain(|function, tabled| *function < count && tabled.return_point < end.return_points);
        for (index, function) in self.functions.iter_mut().enumerate() {
            let is_lost = match function.kind {
                Kind::Tabled(_) => self.tabled.get(&(index as u32)).is_none_or(|tabled| is_lost(tabled.body, &end)),
                kind => is_lost(kind, &end),
            };
            if is_lost {
                (function.kind, function.version) = (Kind::Stale, 0);
            }
        }
    }
}

/// Whether code is behind the end.
fn is_lost(kind: Kind, end: &End) -> bool {
    match kind {
        Kind::Rule(pc) => pc >= end.instructions,
        Kind::Group(group) => group >= end.groups,
        Kind::Exclusive(exclusive) => exclusive >= end.exclusives,
        Kind::Guarded(guarded) => guarded >= end.guarded,
        Kind::Indexed(index) => index >= end.indexes,
        Kind::Stale | Kind::Constructor | Kind::Interpreted | Kind::Tabled(_) => false,
    }
}

/// A walk over the frames and choices that code is needed for.
struct Needed<'a> {
    code: &'a Code,
    frames: &'a Frames,
    seen: Vec<u64>,
    /// The newest place that one of them goes on at.
    newest: Pc,
}

impl Needed<'_> {
    /// The place behind a call: it is needed if the arguments have to be compared with what is written there.
    fn behind_call(&mut self, place: Pc) {
        if self.code.origin(place) == Origin::Uncertain {
            self.newest = self.newest.max(place.saturating_sub(1));
        }
    }

    fn return_point(&mut self, return_point: u32) {
        self.newest = self.newest.max(self.code.return_points[return_point as usize].pc);
    }

    fn group(&mut self, group: u32) {
        let rules = &self.code.groups[group as usize].rules;
        self.newest = rules.iter().map(|rule| rule.pc).fold(self.newest, Pc::max);
    }

    /// The frames that wait for a frame's result.
    fn frames(&mut self, mut base: usize) {
        while self.seen[base / 64] & 1 << (base % 64) == 0 {
            self.seen[base / 64] |= 1 << (base % 64);
            let return_point = self.frames.stack[base];
            if return_point == ANSWER {
                return;
            }
            self.return_point(return_point);
            base = self.frames.stack[base + 1] as usize;
        }
    }

    fn choice(&mut self, kind: &ChoiceKind) {
        match kind {
            ChoiceKind::Rules { group, from, .. } => {
                self.group(*group);
                self.behind_call(*from);
            }
            ChoiceKind::TableRows(_) => {}
            ChoiceKind::Results { to, .. } => to.return_point().into_iter().for_each(|place| self.return_point(place)),
            ChoiceKind::BoundResults(left) => {
                left.to.return_point().into_iter().for_each(|place| self.return_point(place));
            }
            ChoiceKind::Children { return_point, .. } | ChoiceKind::Alternative { return_point } => {
                self.return_point(*return_point)
            }
            ChoiceKind::Rows(rows) => self.return_point(rows.return_point),
            ChoiceKind::Candidates(tries) => self.return_point(tries.return_point),
            ChoiceKind::Answers(followed) => self.return_point(followed.return_point),
            ChoiceKind::Collector(collector) => self.return_point(collector.return_point),
        }
    }
}

impl Code {
    /// Forgets code that no frame and no choice goes on in, where a function is entered; says whether there was little.
    #[cold]
    pub(in crate::machine) fn forget(&mut self, frames: &mut Frames, choices: &mut Choices, function: u32) -> bool {
        let before = self.instructions.len();
        let newest = newest_needed(self, frames, choices);
        let count = self.pieces_to(newest);
        self.move_places_of_calls(frames, choices, count);
        self.keep_pieces(count, function);
        let after = self.instructions.len();
        let is_little = after > before / 2;
        self.pieces.forget_at = if is_little { before + before / 8 } else { 2 * after };
        is_little
    }

    /// Forgets all code between two forms, if that was made for many of them.
    pub(in crate::machine) fn forget_forms(&mut self) {
        self.pieces.forms += 1;
        if self.instructions.len() <= self.pieces.forget_between_at.max(FORGET_BETWEEN_FROM) {
            return;
        }
        if self.pieces.forms < FORMS_MIN {
            self.pieces.forget_between_at = 2 * self.instructions.len();
        } else {
            self.keep_pieces(1, 0);
            self.pieces.forget_at = 0;
        }
        self.pieces.forms = 0;
    }

    /// Lets calls in progress be noted elsewhere than behind the first `count` pieces.
    fn move_places_of_calls(&self, frames: &mut Frames, choices: &mut Choices, count: usize) {
        let Some(&end) = self.pieces.ends.get(count - 1) else { return };
        let kept = |place: Pc| match self.origin(place) {
            _ if place <= end.instructions => place,
            Origin::Unchanged => UNCHANGED,
            Origin::Changed | Origin::Uncertain => CHANGED,
        };
        frames.pc = kept(frames.pc);
        choices.trying.from = kept(choices.trying.from);
        for choice in &mut choices.stack {
            if let ChoiceKind::Rules { from, .. } = &mut choice.kind {
                *from = kept(*from);
            }
        }
    }
}

/// The newest place that a frame or a choice goes on at, or that a call is compared with.
fn newest_needed(code: &Code, frames: &Frames, choices: &Choices) -> Pc {
    let mut needed = Needed { code, frames, seen: vec![0; frames.stack.len() / 64 + 1], newest: 0 };
    needed.frames(frames.base);
    needed.behind_call(frames.pc);
    if let Some(group) = code.entered {
        needed.group(group);
        needed.behind_call(choices.trying.from);
    }
    for choice in &choices.stack {
        needed.choice(&choice.kind);
        needed.frames(choice.frame_base);
    }
    needed.newest
}
