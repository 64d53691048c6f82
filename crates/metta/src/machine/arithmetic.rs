//! Arithmetic on numbers that are not small, and on arguments that are not numbers.

use super::code::{TypeId, UNCHANGED};
use super::normal_calls::are_same;
use super::values::Values;
use super::words::{FALSE, FOREIGN, INTEGER, TRUE, compare_words, is_small, small, truth, word};
use super::{Halt, Running};
use crate::lowering::{Arithmetic, Comparison, Logic, Lowering};
use crate::operation::Operation;
use region::{Ref, tag};
use space::Number;
use std::cmp::Ordering;

impl Running<'_> {
    /// Arithmetic on what is not two small integers.
    #[cold]
    pub(super) fn slow_arithmetic(
        &mut self,
        operation: Arithmetic,
        left: Ref,
        right: Ref,
        return_point: u32,
    ) -> Result<(), Halt> {
        if let Some((a, b)) = floats_of(&self.m.values, left, right) {
            let value = self.m.values.float(on_floats(operation, a, b))?;
            return self.resume(return_point, value);
        }
        let (Some(a), Some(b)) = (self.m.values.number_of(left), self.m.values.number_of(right)) else {
            return self.native_on(Lowering::Arithmetic(operation), &[left, right], return_point);
        };
        let result = match operation {
            Arithmetic::Add => a.add(&b),
            Arithmetic::Subtract => a.subtract(&b),
            Arithmetic::Multiply => a.multiply(&b),
            Arithmetic::Divide => a.divide(&b),
            Arithmetic::Remainder => a.remainder(&b),
        };
        match result {
            Ok(number) => {
                let value = self.m.values.number(&number)?;
                if matches!(number, Number::Big(_)) {
                    self.limits().collect_soon();
                }
                self.resume(return_point, value)
            }
            Err(_) => self.native_on(Lowering::Arithmetic(operation), &[left, right], return_point),
        }
    }

    /// Goes on at a return point with an integer. A function of its own, so that arithmetic whose results are small, which is most of
    /// it, has nothing to keep on the native stack.
    #[inline(never)]
    pub(super) fn resume_with_integer(&mut self, integer: i64, return_point: u32) -> Result<(), Halt> {
        let value = self.m.values.integer(integer)?;
        self.resume(return_point, value)
    }

    /// Makes the call of a native function whose arguments are in the frame at hand, as the result of that.
    pub(super) fn operate_here(&mut self, length: usize, type_id: TypeId) -> Result<(), Halt> {
        let call = self.m.tuple_of(length)?;
        let plain = plain_operation(&self.m.values, self.m.values.heap.child(call, 0));
        if let (Some(lowering), 3) = (plain, length) {
            let (left, right) = (self.m.values.heap.child(call, 1), self.m.values.heap.child(call, 2));
            if is_small(left)
                && is_small(right)
                && let Some(result) = on_words(lowering, word(left), word(right))
                && (type_id == 0 || self.types().has_type(result, type_id, false))
            {
                return self.give(result);
            }
        }
        let changed = self.m.unchanged_calls().how_children_came(length)? != UNCHANGED;
        let children = self.m.values.heap.children(call).to_vec();
        self.operate_on(children[0], &children[1..], changed, type_id)
    }

    /// Compares two values.
    pub(super) fn compare(
        &mut self,
        comparison: Comparison,
        left: Ref,
        right: Ref,
        return_point: u32,
    ) -> Result<(), Halt> {
        if is_small(left) && is_small(right) {
            return self.resume(return_point, truth(compare_words(comparison, word(left), word(right))));
        }
        if comparison == Comparison::Equal {
            let equal = self.equals(left, right)?;
            return self.resume(return_point, truth(equal));
        }
        if let Some((a, b)) = floats_of(&self.m.values, left, right) {
            return self.resume(return_point, truth(holds(comparison, a.partial_cmp(&b))));
        }
        let (Some(a), Some(b)) = (self.m.values.number_of(left), self.m.values.number_of(right)) else {
            return self.native_on(Lowering::Comparison(comparison), &[left, right], return_point);
        };
        self.resume(return_point, truth(holds(comparison, a.compare(&b))))
    }

    /// Whether two values are equal: numbers by value, a NaN to none; nothing is bound.
    fn equals(&mut self, left: Ref, right: Ref) -> Result<bool, Halt> {
        let is_nan = |number: Option<Number>| matches!(number, Some(Number::Float(float)) if float.is_nan());
        if left.tag() == tag::NUMBER && is_nan(self.m.values.number_of(left)) {
            return Ok(false);
        }
        Ok(are_same(&mut self.m.values, &mut self.m.counters.compared, (left, right), &mut { usize::MAX })?)
    }

    /// Logic on two values.
    pub(super) fn logic(&mut self, operation: Logic, left: Ref, right: Ref, return_point: u32) -> Result<(), Halt> {
        let is_bool = |value: Ref| value == TRUE || value == FALSE;
        if !is_bool(left) || !is_bool(right) {
            let arguments: &[Ref] = if operation == Logic::Not { &[left] } else { &[left, right] };
            return self.native_on(Lowering::Logic(operation), arguments, return_point);
        }
        let (a, b) = (left == TRUE, right == TRUE);
        let result = match operation {
            Logic::And => a && b,
            Logic::Or => a || b,
            Logic::Xor => a != b,
            Logic::Not => !a,
        };
        self.resume(return_point, truth(result))
    }
}

/// Whether numbers of this order compare so; a NaN has none.
fn holds(comparison: Comparison, order: Option<Ordering>) -> bool {
    order.is_some_and(|order| match comparison {
        Comparison::Less => order.is_lt(),
        Comparison::Greater => order.is_gt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::GreaterOrEqual => order.is_ge(),
        Comparison::Equal => order.is_eq(),
    })
}

/// What an operation makes of two numbers of which one is a float.
fn on_floats(operation: Arithmetic, left: f64, right: f64) -> f64 {
    match operation {
        Arithmetic::Add => left + right,
        Arithmetic::Subtract => left - right,
        Arithmetic::Multiply => left * right,
        Arithmetic::Divide => left / right,
        Arithmetic::Remainder => left % right,
    }
}

/// What an operation makes of two words, if that is a small value.
fn on_words(lowering: Lowering, left: i64, right: i64) -> Option<Ref> {
    match lowering {
        Lowering::Arithmetic(Arithmetic::Add) => small(left + right),
        Lowering::Arithmetic(Arithmetic::Subtract) => small(left - right),
        Lowering::Arithmetic(Arithmetic::Multiply) => small(left * right),
        Lowering::Comparison(comparison) => Some(truth(compare_words(comparison, left, right))),
        _ => None,
    }
}

/// A native function that makes a number or a truth value of its arguments and does nothing else.
fn plain_operation(values: &Values, head: Ref) -> Option<Lowering> {
    let operation = if head.tag() == FOREIGN { Operation::of(values.foreign_of(head))? } else { return None };
    Some(operation.lowering()).filter(|lowering| lowering.is_plain())
}

/// Two numbers as floats, if one is a float and the other a float or a small integer: that loses nothing.
#[inline]
fn floats_of(values: &Values, left: Ref, right: Ref) -> Option<(f64, f64)> {
    let float = |value: Ref| match value.tag() {
        tag::NUMBER if value.payload() & 1 == 1 => Some(f64::from_bits(values.heap.number_bits(value))),
        INTEGER => Some(word(value) as f64),
        _ => None,
    };
    // Both are small integers only where an operation has no small result: that is not one of floats.
    if is_small(left) && is_small(right) { None } else { Some((float(left)?, float(right)?)) }
}
