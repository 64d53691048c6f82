//! Lists of facts: functions whose rules come to constants.
//!
//! 1. Finding all results of an argument before going on with the first has no effect that could be seen if they are found
//!    without evaluating anything, and none is an error. So they are not gathered: the evaluation goes on with the first, and
//!    the choice stays for later, as in Prolog.
//! 2. The frame that goes on may not write over the frame of the choice: it moves up.
//! 3. A rule may also call another list of facts in last place, on arguments as they stand. That is linked when the code is
//!    made: a choice that is taken up later goes through the rules as they stood when the call was made.

use super::Running;
use super::code::{ArgumentSource, Code, Instruction, Kind, NEXT_RULE, Pc};

/// How many lists of facts may be compiled for a link, one inside the other.
const LINKS_MAX: u32 = 8;

impl Running<'_> {
    /// Whether the code of rules is that of facts; calls are linked then.
    pub(super) fn are_facts(&mut self, starts: impl Iterator<Item = Pc>) -> bool {
        let mut links = Vec::new();
        for start in starts {
            let Some(link) = self.end_of_fact(start) else { return false };
            links.extend(link);
        }
        for (at, group) in links {
            let Instruction::TailCallWith { arguments, .. } = self.m.code.instructions[at] else {
                unreachable!("a call was found there")
            };
            self.m.code.instructions[at] = Instruction::TailCallFacts { group, arguments };
        }
        true
    }

    /// Whether a rule comes to a constant or calls a list of facts; `Some(Some(…))` says where, and which.
    fn end_of_fact(&mut self, start: Pc) -> Option<Option<(usize, u32)>> {
        let mut loaded = None;
        for at in start as usize..self.m.code.instructions.len() {
            match self.m.code.instructions[at] {
                Instruction::MatchLeaf { or: NEXT_RULE, .. }
                | Instruction::MatchShape { or: NEXT_RULE, .. }
                | Instruction::MatchSame { or: NEXT_RULE, .. }
                | Instruction::Commit => {}
                Instruction::Load { dst, .. } => loaded = Some(dst),
                Instruction::Return { slot } if loaded == Some(slot) => return Some(None),
                Instruction::Fail => return Some(None),
                Instruction::TailCallWith { function, arguments } if stand_as_they_are(&self.m.code, arguments) => {
                    return self.facts_of(function).map(|group| Some((at, group)));
                }
                _ => return None,
            }
        }
        None
    }

    /// The rules of a function, if they are facts.
    fn facts_of(&mut self, function: u32) -> Option<u32> {
        if self.m.code.functions[function as usize].version != self.m.code.version {
            if self.m.code.links >= LINKS_MAX || self.m.code.made.contains_key(&function) {
                return None;
            }
            self.m.code.links += 1;
            let compiled = self.compile(function);
            self.m.code.links -= 1;
            compiled.ok()?;
        }
        let group = match self.m.code.functions[function as usize].kind {
            Kind::Group(group) => group,
            Kind::Exclusive(exclusive) => self.m.code.exclusives[exclusive as usize].group,
            _ => return None,
        };
        self.m.code.groups[group as usize].are_facts.then_some(group)
    }
}

fn stand_as_they_are(code: &Code, arguments: u32) -> bool {
    let sources = &code.arguments[arguments as usize].sources;
    sources.iter().all(|source| matches!(source, ArgumentSource::Leaf(_) | ArgumentSource::Slot(_)))
}
