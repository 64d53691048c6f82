//! What the call of a native function touches besides its arguments and its results.
//!
//! Effects are those of the call itself. If evaluation goes on with a result, as with those of `superpose`, what that does is
//! an effect of the operations that it calls.

use std::fmt;

/// A set of effects. The empty set belongs to a function whose results depend on its arguments alone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Effects(u8);

impl Effects {
    /// The results depend on the arguments alone, and nothing is changed.
    pub const NONE: Self = Self(0);
    /// Reads what a space or a state holds, the types that are declared there, a setting, or the modules.
    pub const READS: Self = Self(1);
    /// Makes a space, a state or a generator of random numbers, which has an identity of its own.
    pub const MAKES: Self = Self(1 << 1);
    /// Changes a space, a state, a generator, a setting, a module or the transaction at hand.
    pub const CHANGES: Self = Self(1 << 2);
    /// May change rules, types, imports or tables, so that calls may mean something else afterwards.
    pub const CHANGES_RULES: Self = Self(1 << 3 | Self::CHANGES.0);
    /// Says what the words or the rules of the forms after this one mean.
    pub const DEFINES: Self = Self(1 << 4 | Self::CHANGES.0);
    /// Gets an answer from the world: a time, a random number, a variable of the environment, a file.
    pub const ASKS: Self = Self(1 << 5);
    /// Puts something into the world: a line, a file.
    pub const TELLS: Self = Self(1 << 6);
    /// May do anything, as the source of a module may.
    pub const ANY: Self = Self((1 << 7) - 1);

    /// These effects and others.
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// These effects without others.
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Whether all of these effects are among them.
    pub const fn have(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    /// Whether a call may be repeated or left out, and made where nothing can be changed and nobody be asked: at most it reads.
    pub const fn only_read(self) -> bool {
        self.0 & !Self::READS.0 == 0
    }
}

impl fmt::Debug for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            ("reads", Self::READS),
            ("makes", Self::MAKES),
            ("changes", Self::CHANGES),
            ("changes rules", Self::CHANGES_RULES),
            ("defines", Self::DEFINES),
            ("asks", Self::ASKS),
            ("tells", Self::TELLS),
        ];
        f.debug_set().entries(names.into_iter().filter(|(_, one)| self.have(*one)).map(|(name, _)| name)).finish()
    }
}
