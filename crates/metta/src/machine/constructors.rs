//! What heads make data: whether nothing reduces an expression whose children are in normal form.

use super::code::{Kind, Slot};
use super::rule_cache::{FEW, InertArities, RuleHeads};
use super::types::{HeadKind, Lack};
use super::values::Values;
use super::words::{COMPOUND, EMPTY, ERROR, FOREIGN, INTEGER, SYMBOL, TERM};
use super::{Halt, Running};
use crate::instructions::is_instruction_name;
use crate::names;
use region::{Ref, tag};
use space::{Atom, Grounded};

impl Running<'_> {
    /// Whether a function is, as things stand, a constructor.
    pub(super) fn is_constructor(&mut self, function: u32) -> Result<bool, Halt> {
        if self.m.code.functions[function as usize].version != self.m.code.version {
            self.compile(function)?;
        }
        Ok(matches!(self.m.code.functions[function as usize].kind, Kind::Constructor))
    }

    /// Whether an expression that nothing reduces, whose head came to this, is in normal form: if that has a function type, evaluating the
    /// expression once more, where it is returned, looks at the types of its arguments.
    pub(super) fn is_certainly_data(&mut self, head: Ref, arity: usize) -> bool {
        match head.tag() {
            SYMBOL => matches!(self.types().head_kind(head, arity), HeadKind::Untyped),
            tag::EXPRESSION | tag::MARKED | TERM => self.types().lacks(head, Lack::FunctionType),
            _ => true,
        }
    }

    /// Whether a list is in normal form though nobody has noted it.
    pub(super) fn is_normal_list(&mut self, list: Ref) -> Result<bool, Halt> {
        let m = &self.m;
        let is_normal = m.values.heap.children(list).iter().all(|&child| m.values.is_normal(child, m.types.notes));
        Ok(is_normal && self.heads_data(list)?)
    }

    /// Whether the head of an expression of children in normal form makes it data.
    pub(super) fn heads_data(&mut self, list: Ref) -> Result<bool, Halt> {
        let head = self.m.values.heap.walk(self.m.values.heap.child(list, 0));
        let arity = self.m.values.heap.length(list) - 1;
        self.makes_data(head, arity)
    }

    /// Whether a symbol with `arity` arguments, whatever its type, has no rules.
    pub(super) fn is_named_constructor(&mut self, head: Ref, arity: usize) -> Result<bool, Halt> {
        if head == ERROR || head == EMPTY || arity > FEW {
            return Ok(false);
        }
        let function = self.m.code.function(head, arity as Slot, 0);
        self.is_constructor(function)
    }

    /// Whether a head makes data of `arity` arguments in normal form.
    pub(super) fn makes_data(&mut self, head: Ref, arity: usize) -> Result<bool, Halt> {
        match head.tag() {
            SYMBOL if head == ERROR || head == EMPTY => Ok(false),
            SYMBOL if arity <= FEW => {
                let is_untyped = matches!(self.types().head_kind(head, arity), HeadKind::Untyped);
                Ok(is_untyped && self.is_named_constructor(head, arity)?)
            }
            SYMBOL => {
                let name = self.m.values.symbol_of(head).as_str();
                let is_open = !is_instruction_name(name) && self.types().is_open(head);
                let heads = self.rule_heads();
                Ok(is_open && !heads.others && !heads.symbols.contains(&head) && is_supported(&self.m.values, head))
            }
            INTEGER | tag::NUMBER => self.is_inert(arity),
            FOREIGN => {
                let is_value = matches!(
                    self.m.values.foreign_of(head),
                    Atom::Grounded(Grounded::Bool(_) | Grounded::Number(_) | Grounded::Text(_))
                );
                Ok(is_value && self.is_inert(arity)?)
            }
            tag::EXPRESSION | tag::MARKED => {
                let first = self.m.values.heap.children(head).first().map(|&first| self.m.values.heap.walk(first));
                let is_number = first.is_some_and(|first| matches!(first.tag(), INTEGER | tag::NUMBER));
                Ok((is_number || self.types().is_open(head)) && self.is_inert(arity)?)
            }
            TERM => Ok(self.types().is_open(head) && self.is_inert(arity)?),
            _ => Ok(false),
        }
    }

    /// Whether no rule reduces an expression whose head is no symbol.
    pub(super) fn is_inert(&mut self, arity: usize) -> Result<bool, Halt> {
        if arity > FEW {
            return Ok(!self.rule_heads().others);
        }
        let inert = &mut self.m.rule_cache.inert_arities;
        if inert.version != self.m.code.version {
            *inert = InertArities { version: self.m.code.version, ..InertArities::default() };
        }
        if let Some(known) = inert.known[arity] {
            return Ok(known);
        }
        let function = self.m.code.function(COMPOUND, arity as Slot, 0);
        let is_inert = self.is_constructor(function)?;
        self.m.rule_cache.inert_arities.known[arity] = Some(is_inert);
        Ok(is_inert)
    }

    /// What has rules as things stand.
    fn rule_heads(&mut self) -> &RuleHeads {
        if self.m.rule_cache.rule_heads.version != self.m.code.version {
            let source = self.session.program.variables();
            let [call, body] = [(); 2].map(|()| source.fresh(names::asked()));
            let rule = Atom::expression([names::equal(), Atom::Variable(call.clone()), Atom::Variable(body)]);
            let found = self.space.query(&rule, source);
            let mut heads = RuleHeads { version: self.m.code.version, ..RuleHeads::default() };
            for solution in found {
                let called = solution.iter().find(|(bound, _)| *bound == call).map(|(_, value)| value);
                match called.map(|called| called.head().unwrap_or(called)) {
                    Some(Atom::Symbol(symbol)) => {
                        heads.symbols.insert(self.m.values.symbol(symbol));
                    }
                    _ => heads.others = true,
                }
            }
            self.m.rule_cache.rule_heads = heads;
        }
        &self.m.rule_cache.rule_heads
    }
}

fn is_supported(values: &Values, head: Ref) -> bool {
    let call = Atom::expression([Atom::Symbol(values.symbol_of(head).clone())]);
    crate::stdlib::not_supported(&call).is_none()
}
