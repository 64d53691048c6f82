//! How a cassette is sealed.

use crate::key::KeyScheme;
use crate::matching::rules::MatchRules;
use journal::Durability;

/// How a cassette is sealed. A [`KeyScheme`] alone is made into this.
#[derive(Clone, Debug)]
pub struct SealOptions {
    pub(crate) key: KeyScheme,
    pub(crate) keeps_secrets: bool,
    pub(crate) keeps_existing: bool,
    pub(crate) durability: Durability,
}

impl SealOptions {
    /// With request keys of this scheme.
    pub fn new(key: KeyScheme) -> Self {
        Self { key, keeps_secrets: false, keeps_existing: false, durability: Durability::Fsync }
    }

    /// How durable the cassette is when sealing returns: on the disk, unless less is asked for. Then nobody waits for a cassette that
    /// takes no other's place, and a loss of power within the next seconds may leave one that is not whole.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// A file that has the name of the cassette stays, and the cassette is not sealed. That is looked at last of all, when the cassette
    /// gets its name: sealing may take long. Otherwise the cassette takes its place.
    #[must_use]
    pub fn keep_existing(mut self) -> Self {
        self.keeps_existing = true;
        self
    }

    /// Nobody looks for known forms of secrets; otherwise a cassette that has one is not sealed.
    #[must_use]
    pub fn keep_secrets(mut self) -> Self {
        self.keeps_secrets = true;
        self
    }
}

impl Default for SealOptions {
    /// With request keys of the default rules of matching.
    fn default() -> Self {
        Self::new(KeyScheme::of(&MatchRules::default()))
    }
}

impl From<KeyScheme> for SealOptions {
    fn from(key: KeyScheme) -> Self {
        Self::new(key)
    }
}
