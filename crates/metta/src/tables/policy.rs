//! Policies: what is remembered of calls, and for how long.
//!
//! | | declared | automatic |
//! |---|---|---|
//! | who decides | the program: `(pragma! table name)` | the machine, by what the rules say; `(pragma! memoise off)` forbids it |
//! | which calls | any call, told apart up to the names of variables | those whose arguments are leaves |
//! | equal answers | are one answer | are as many as there are |
//! | a call in progress | answers with what was found so far, in rounds | is evaluated again |
//! | errors | are answers of a call that has no other | a call that comes to one is not kept |
//! | how long | until something changes | until the form ends |
//! | how much | what the heap may take | bytes of its own, of which those go first that were not asked for long; few and small results of each call |
//! | who sees it | the program, whose results may be fewer | nobody: results, their order and their depth are those of the evaluation |

/// What is remembered of the calls of a function. It is as wide as what other kinds of code hold, so that a kind goes into registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Policy {
    /// Answers that the program has asked for.
    Declared,
    /// Results that the machine remembers by itself.
    Automatic,
}

/// The most results of a call that are kept automatically, and the most leaves and expressions that they may have together.
pub(crate) const RESULTS_MAX: usize = 64;
pub(crate) const PARTS_MAX: usize = 256;

/// How many calls of a function are looked for in vain before it is decided whether that is worth it: it costs as much as several that are not.
pub(super) const TRIALS: u32 = 1 << 10;
/// Looking calls up is worth it if one call was found for this many that were not.
pub(super) const MISSES_FOR_A_HIT: u32 = 4;

impl Policy {
    /// The bytes that complete calls take at most, if they are bounded by themselves. What was not asked for long is then forgotten.
    pub(super) const fn bytes_max(self) -> Option<usize> {
        match self {
            Self::Declared => None,
            Self::Automatic => Some(32 << 20),
        }
    }

    /// What an entry takes beside its key and its answers.
    pub(super) const fn bytes_each(self) -> usize {
        match self {
            Self::Declared => 128,
            Self::Automatic => 64,
        }
    }
}
