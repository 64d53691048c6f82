//! What the machine tells a profile: each function that it enters, with its frame and that of its caller, and which of its rules.

use super::Running;
use super::words::SYMBOL;

/// What a call is called whose head is no symbol.
const EXPRESSION: &str = "(…)";

impl Running<'_> {
    /// Tells a profile, if one is wanted, that a function is entered whose frame is made.
    pub(super) fn profile_call(&mut self, function: u32) {
        let Some(profile) = &mut self.session.profile else { return };
        let head = self.m.code.functions[function as usize].head;
        let name = if head.tag() == SYMBOL { self.m.values.symbol_of(head).as_str() } else { EXPRESSION };
        let base = self.m.frames.base;
        profile.enter(name, (base, self.m.frames.stack[base + 1] as usize));
    }

    /// Tells a profile which rule the function at hand has entered.
    pub(super) fn profile_rule(&mut self, rule: u32) {
        let Some(profile) = &mut self.session.profile else { return };
        let base = self.m.frames.base;
        profile.enter_rule(rule, (base, self.m.frames.stack[base + 1] as usize));
    }
}
