//! A program on its way: what was declared so far, what is in scope, and the forms written.
//!
//! Programs terminate by construction, except for what ill-typed arguments and rules changed at run time can do:
//! 1. Functions are numbered; the body of one calls functions of lower numbers only, and itself in one of the ways in
//!    [`functions`](crate::functions), each on something smaller.
//! 2. A call with unbound variables is to a function that does not recur, or carries fuel.
//! 3. What a rule added at run time may call is what the first rules of its function may call.
//!
//! What an alternative writes no sibling reads: effects stand where there is one alternative, as
//! [`changes`](crate::changes) says.

use crate::Dice;
use crate::features::{Feature, Features};
use crate::functions::Function;
use crate::kinds::Kind;

pub(crate) struct Writer {
    pub(crate) dice: Dice,
    features: Features,
    pub(crate) functions: Vec<Function>,
    /// How many of the functions may be called here.
    pub(crate) level: usize,
    /// The variables that may stand here.
    pub(crate) scope: Vec<(String, Kind)>,
    pub(crate) made: usize,
    pub(crate) states: Vec<String>,
    pub(crate) spaces: Vec<String>,
    /// The rules and types that a change may remove.
    pub(crate) rules: Vec<String>,
    pub(crate) types: Vec<String>,
    lines: Vec<String>,
}

/// How deep an expression of a question is nested, and the body of a rule.
pub(crate) const DEPTH: usize = 3;

impl Writer {
    pub(crate) fn new(dice: Dice, features: Features) -> Self {
        Self {
            dice,
            features,
            functions: Vec::new(),
            level: 0,
            scope: Vec::new(),
            made: 0,
            states: Vec::new(),
            spaces: Vec::new(),
            rules: Vec::new(),
            types: Vec::new(),
            lines: Vec::new(),
        }
    }

    pub(crate) fn has(&self, feature: Feature) -> bool {
        self.features.has(feature)
    }

    pub(crate) fn line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    /// A name that nothing bears yet.
    pub(crate) fn fresh(&mut self, stem: &str) -> String {
        self.made += 1;
        format!("{stem}{}", self.made)
    }

    /// Writes something whose variables nobody else sees.
    pub(crate) fn scoped<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let visible = self.scope.len();
        let written = write(self);
        self.scope.truncate(visible);
        written
    }

    /// The program: declarations and functions, then questions and changes.
    pub(crate) fn program(mut self, size: usize) -> String {
        if self.has(Feature::TypeCheckAuto) && self.dice.one_in(3) {
            self.line("!(pragma! type-check auto)");
        }
        self.declarations();
        for _ in 0..2 + self.dice.below(size.max(1)) {
            self.declare_function();
        }
        self.level = self.functions.len();
        for _ in 0..2 + self.dice.below(2 * size.max(1)) {
            match self.dice.below(4) {
                0 | 1 => self.question(),
                _ => self.change(),
            }
        }
        self.question();
        self.lines.join("\n") + "\n"
    }
}
