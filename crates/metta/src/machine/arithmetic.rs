//! Numbers that are not small, and what is no number at all.

use super::code::{Arithmetic, Comparison, Logic};
use super::run::compare_words;
use super::values::{FALSE, TRUE, is_small, truth, word};
use super::{Halt, Running};
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
        site: u32,
    ) -> Result<(), Halt> {
        let (Some(a), Some(b)) = (self.m.values.number_of(left), self.m.values.number_of(right)) else {
            return self.native_on(operation.name(), &[left, right], site);
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
                self.resume(site, value)
            }
            Err(_) => self.native_on(operation.name(), &[left, right], site),
        }
    }

    /// Goes on at a site with an integer. A function of its own, so that arithmetic whose results are small, which is most of
    /// it, has nothing to keep on the native stack.
    #[inline(never)]
    pub(super) fn resume_with_integer(&mut self, integer: i64, site: u32) -> Result<(), Halt> {
        let value = self.m.values.integer(integer)?;
        self.resume(site, value)
    }

    /// Compares two values.
    pub(super) fn compare(&mut self, comparison: Comparison, left: Ref, right: Ref, site: u32) -> Result<(), Halt> {
        if is_small(left) && is_small(right) {
            return self.resume(site, truth(compare_words(comparison, word(left), word(right))));
        }
        if comparison == Comparison::Equal {
            let equal = self.equals(left, right)?;
            return self.resume(site, truth(equal));
        }
        let (Some(a), Some(b)) = (self.m.values.number_of(left), self.m.values.number_of(right)) else {
            return self.native_on(comparison.name(), &[left, right], site);
        };
        let holds = a.compare(&b).is_some_and(|order| match comparison {
            Comparison::Less => order.is_lt(),
            Comparison::Greater => order.is_gt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::GreaterOrEqual => order.is_ge(),
            Comparison::Equal => order.is_eq(),
        });
        self.resume(site, truth(holds))
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
    pub(super) fn logic(&mut self, operation: Logic, left: Ref, right: Ref, site: u32) -> Result<(), Halt> {
        let is_bool = |value: Ref| value == TRUE || value == FALSE;
        if !is_bool(left) || !is_bool(right) {
            let arguments: &[Ref] = if operation == Logic::Not { &[left] } else { &[left, right] };
            return self.native_on(operation.name(), arguments, site);
        }
        let (a, b) = (left == TRUE, right == TRUE);
        let result = match operation {
            Logic::And => a && b,
            Logic::Or => a || b,
            Logic::Xor => a != b,
            Logic::Not => !a,
        };
        self.resume(site, truth(result))
    }
}

impl Arithmetic {
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
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
            Self::Not => "not",
        }
    }
}
