//! What generated programs may be made of. A class of failures is narrowed by leaving features out.

use crate::Dice;

macro_rules! features {
    ($($name:ident $word:literal $about:literal,)*) => {
        /// A part of the language that a program may use.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Feature {
            $(#[doc = $about] $name,)*
        }

        /// Every feature, with its word.
        pub const FEATURES: &[(Feature, &str)] = &[$((Feature::$name, $word),)*];
    };
}

features! {
    Core "core" "Rules, recursion, `if`, `let`, `let*`, `case`, arithmetic: always there.",
    Alternatives "alternatives" "`superpose`, `empty`, `union`, rules that overlap.",
    Assertions "assertions" "`assertEqual` and its relatives.",
    Collapse "collapse" "`collapse`, where its order cannot be seen.",
    Curried "curried" "Rules whose head is an expression: `(= ((f $x) $y) …)`.",
    Dependent "dependent" "Types that hold values: `(-> (Vec $t (S $n)) $t)`.",
    Errors "errors" "Error values that are passed around.",
    Floats "floats" "Numbers that are not integers.",
    HigherOrder "higher-order" "Functions as arguments.",
    IllTyped "ill-typed" "Arguments of another kind than expected, wrong numbers of them.",
    Match "match" "Facts and queries, conjunctions among them.",
    Metatypes "metatypes" "Parameters and results of type `Atom`.",
    Minimal "minimal" "`eval`, `chain`, `function`, `return`, `unify`, `collapse-bind`.",
    ModuloByZero "modulo-by-zero" "`(% n 0)`.",
    NarrowMetatypes "narrow-metatypes" "Those of type `Expression`, `Symbol`, `Variable`, `Grounded`.",
    Order "order" "Programs that look at the order of alternatives.",
    Parametric "parametric" "Types with variables: `(-> $t $t)`, `(List $t)`.",
    Print "print" "`println!`.",
    Quoting "quoting" "`quote`, `unquote`, `noeval`, `get-type`, `get-metatype`.",
    Relational "relational" "Calls with unbound variables.",
    RuleChanges "rule-changes" "Rules added at run time.",
    RuleRemovals "rule-removals" "Rules removed at run time.",
    Sealed "sealed" "`sealed`, `atom-subst`, `if-equal`, `=alpha`.",
    SeveralTypes "several-types" "Symbols with several types, which are tried in order.",
    Spaces "spaces" "Spaces made at run time.",
    States "states" "`new-state`, `get-state`, `change-state!`.",
    Subtypes "subtypes" "`(:< A B)`.",
    Switch "switch" "`switch`, and `case` with a branch for `Empty`.",
    Tuples "tuples" "`car-atom`, `map-atom`, `foldl-atom` and what else takes an expression apart.",
    Transactions "transactions" "`transaction` and `commit!`.",
    TypeCheckAuto "type-check-auto" "`(pragma! type-check auto)`.",
    TypeChanges "type-changes" "Types added and removed at run time.",
    Types "types" "Declared types.",
    UntypedStates "untyped-states" "States whose values have no type, or several.",
    VariableHeads "variable-heads" "Rules whose head is a variable: `(= ($f $x) …)`.",
    WholeFloats "whole-floats" "Floats that equal an integer, and `-0.0`.",
    WideIntegers "wide-integers" "Integers around and beyond 64 bits.",
    Tables "tables" "`(pragma! table f)`.",
    Siblings "siblings" "Alternatives that see what their siblings changed: rules, states, facts that hold code.",
    Shapes "shapes" "`Error`, `Empty` as data and heads, expressions with types, names of the library misused, arguments that bind.",
    Functional "functional" "Functions passed on and returned, partial application as data, loops over lists with a function.",
    Nested "nested" "`collapse` and `superpose` inside each other, in rules and expressions.",
    SomeResults "some-results" "`once`, `limit`, `has-result`, `count-results`.",
    Texts "texts" "Strings, `format-args`, `sort-strings`.",
    Patterns "patterns" "Atoms with variables as data, matched again and again, with changes between and from within.",
    Queries "queries" "Conjunctions, tests of answers, absence and several spaces, with changes between.",
}

/// A set of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features(u64);

impl Features {
    /// Everything.
    #[must_use]
    pub fn all() -> Self {
        FEATURES.iter().fold(Self(0), |set, (feature, _)| set.with(*feature))
    }

    /// Only what is always there.
    #[must_use]
    pub fn core() -> Self {
        Self(0).with(Feature::Core)
    }

    /// The set with one more.
    #[must_use]
    pub fn with(self, feature: Feature) -> Self {
        Self(self.0 | 1 << feature as u32)
    }

    /// The set without these.
    #[must_use]
    pub fn without(self, features: &[Feature]) -> Self {
        features.iter().fold(self, |set, feature| Self(set.0 & !(1 << *feature as u32))).with(Feature::Core)
    }

    /// Whether a feature is in the set.
    #[must_use]
    pub fn has(self, feature: Feature) -> bool {
        self.0 & (1 << feature as u32) != 0
    }

    /// Reads a list such as `types,match` (these alone) or `-types,-match` (the set without these).
    ///
    /// # Errors
    /// A word that is not a feature; the message lists them.
    pub fn narrowed(self, words: &str) -> Result<Self, String> {
        let words: Vec<&str> = words.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
        let begin = if words.iter().all(|word| word.starts_with('-')) { self } else { Self::core() };
        words.into_iter().try_fold(begin, |set, word| match word.strip_prefix('-') {
            Some(word) => Ok(set.without(&[named(word)?])),
            None => Ok(set.with(named(word)?)),
        })
    }

    /// A part of the set, so that a program is not always about everything: some mistakes show only when something
    /// else is absent.
    pub(crate) fn some(self, dice: &mut Dice) -> Self {
        // These decide by dice of their own.
        let is_left_out = |feature: &Feature| {
            let own_dice = [
                Feature::Tables,
                Feature::Siblings,
                Feature::Shapes,
                Feature::SomeResults,
                Feature::Patterns,
                Feature::Queries,
            ];
            !own_dice.contains(feature) && dice.below(5) < 2
        };
        let left_out: Vec<Feature> = FEATURES.iter().map(|(feature, _)| *feature).filter(is_left_out).collect();
        self.without(&left_out)
    }
}

fn named(word: &str) -> Result<Feature, String> {
    let found = FEATURES.iter().find(|(_, known)| *known == word).map(|(feature, _)| *feature);
    found.ok_or_else(|| {
        let words: Vec<&str> = FEATURES.iter().map(|(_, word)| *word).collect();
        format!("{word} is not a feature of generated programs; they are {}", words.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_narrowed_by_words() {
        let all = Features::all();
        let only = all.narrowed("types, match").unwrap();
        assert_eq!(only, Features::core().with(Feature::Types).with(Feature::Match));
        assert!(!all.narrowed("-types").unwrap().has(Feature::Types));
        assert!(all.narrowed("-types").unwrap().has(Feature::Match));
        assert!(
            all.narrowed("typs").unwrap_err().contains("typs is not a feature") && all.narrowed("").unwrap() == all
        );
        assert!(all.narrowed("-core").unwrap().has(Feature::Core));
    }
}
