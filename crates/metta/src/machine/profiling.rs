//! What the machine tells a profile: each function that it enters, with its frame and that of its caller, and which of its rules.

use super::code::Code;
use super::control::frames::Frames;
use super::values::Values;
use super::words::SYMBOL;
use crate::session::Session;

/// What a call is called whose head is no symbol.
const EXPRESSION: &str = "(…)";

/// Tells a profile, if one is wanted, that a function is entered whose frame is made.
pub(super) fn profile_call(session: &mut Session, code: &Code, frames: &Frames, values: &Values, function: u32) {
    let Some(profile) = &mut session.profile else { return };
    let head = code.functions[function as usize].head;
    let name = if head.tag() == SYMBOL { values.symbol_of(head).as_str() } else { EXPRESSION };
    let base = frames.base;
    profile.enter(name, (base, frames.stack[base + 1] as usize));
}

/// Tells a profile which rule the function at hand has entered.
pub(super) fn profile_rule(session: &mut Session, frames: &Frames, rule: u32) {
    let Some(profile) = &mut session.profile else { return };
    let base = frames.base;
    profile.enter_rule(rule, (base, frames.stack[base + 1] as usize));
}
