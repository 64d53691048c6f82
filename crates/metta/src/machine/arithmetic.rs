//! Arithmetic on numbers that are not small, and on arguments that are not numbers.

use super::code::{Arithmetic, Comparison, Logic, TypeId, UNCHANGED};
use super::run::compare_words;
use super::values::{FALSE, FOREIGN, TRUE, is_small, small, truth, word};
use super::{Halt, Machine, Running};
use crate::operation::Operation;
use region::{Ref, tag};
use space::Number;

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
        let (Some(a), Some(b)) = (self.m.values.number_of(left), self.m.values.number_of(right)) else {
            return self.native_on(operation.name(), &[left, right], return_point);
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
                    self.collect_soon();
                }
                self.resume(return_point, value)
            }
            Err(_) => self.native_on(operation.name(), &[left, right], return_point),
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
        let call = self.tuple_of(length)?;
        let name = self.m.plain_operation(self.m.values.heap.child(call, 0));
        if let (Some(name), 3) = (name, length) {
            let (left, right) = (self.m.values.heap.child(call, 1), self.m.values.heap.child(call, 2));
            if is_small(left)
                && is_small(right)
                && let Some(result) = on_words(name, word(left), word(right))
            {
                return self.give(result);
            }
        }
        let changed = self.how_children_came(length)? != UNCHANGED;
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
        let (Some(a), Some(b)) = (self.m.values.number_of(left), self.m.values.number_of(right)) else {
            return self.native_on(comparison.name(), &[left, right], return_point);
        };
        let holds = a.compare(&b).is_some_and(|order| match comparison {
            Comparison::Less => order.is_lt(),
            Comparison::Greater => order.is_gt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::GreaterOrEqual => order.is_ge(),
            Comparison::Equal => order.is_eq(),
        });
        self.resume(return_point, truth(holds))
    }

    /// Whether two values are equal: numbers by value, a NaN to none; nothing is bound.
    fn equals(&mut self, left: Ref, right: Ref) -> Result<bool, Halt> {
        let is_nan = |number: Option<Number>| matches!(number, Some(Number::Float(float)) if float.is_nan());
        if left.tag() == tag::NUMBER && is_nan(self.m.values.number_of(left)) {
            return Ok(false);
        }
        self.are_same(left, right, &mut { usize::MAX })
    }

    /// Logic on two values.
    pub(super) fn logic(&mut self, operation: Logic, left: Ref, right: Ref, return_point: u32) -> Result<(), Halt> {
        let is_bool = |value: Ref| value == TRUE || value == FALSE;
        if !is_bool(left) || !is_bool(right) {
            let arguments: &[Ref] = if operation == Logic::Not { &[left] } else { &[left, right] };
            return self.native_on(operation.name(), arguments, return_point);
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

/// What an operation makes of two words, if that is a small value.
fn on_words(name: &str, left: i64, right: i64) -> Option<Ref> {
    match (Arithmetic::of(name), Comparison::of(name)) {
        (Some(Arithmetic::Add), _) => small(left + right),
        (Some(Arithmetic::Subtract), _) => small(left - right),
        (Some(Arithmetic::Multiply), _) => small(left * right),
        (_, Some(comparison)) => Some(truth(compare_words(comparison, left, right))),
        _ => None,
    }
}

impl Machine {
    /// The name of a native function that makes a number or a truth value of its arguments and does nothing else.
    pub(super) fn plain_operation(&self, head: Ref) -> Option<&'static str> {
        let name = match head.tag() {
            FOREIGN => Operation::of(self.values.foreign_of(head)).map(Operation::static_name)?,
            _ => return None,
        };
        let is_plain = Arithmetic::of(name).is_some() || Comparison::of(name).is_some() || Logic::of(name).is_some();
        is_plain.then_some(name)
    }
}

impl Arithmetic {
    /// The operation of a name.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "+" => Self::Add,
            "-" => Self::Subtract,
            "*" => Self::Multiply,
            "/" => Self::Divide,
            "%" => Self::Remainder,
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

impl Comparison {
    /// The comparison of a name.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "<" => Self::Less,
            ">" => Self::Greater,
            "<=" => Self::LessOrEqual,
            ">=" => Self::GreaterOrEqual,
            "==" => Self::Equal,
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::Greater => ">",
            Self::LessOrEqual => "<=",
            Self::GreaterOrEqual => ">=",
            Self::Equal => "==",
        }
    }
}

impl Logic {
    /// The operation of a name.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "and" => Self::And,
            "or" => Self::Or,
            "xor" => Self::Xor,
            "not" => Self::Not,
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
            Self::Not => "not",
        }
    }
}
