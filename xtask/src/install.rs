//! `--install`, the flag of every task that can lack something.

// No doc comment: clap would take it for the text of each task that has the flag.
#[derive(Debug, clap::Args)]
pub(crate) struct Install {
    /// Get what is missing into the target folder; what is still missing is a failure (as under CI=true)
    #[arg(long)]
    install: bool,
}

impl Install {
    /// Whether missing things are to be fetched, and are failures if that does not work.
    pub(crate) fn is_wanted(&self) -> bool {
        self.install || is_continuous_integration()
    }
}

/// Whether nothing may be missing: `CI=true`.
pub(crate) fn is_continuous_integration() -> bool {
    std::env::var("CI").is_ok_and(|ci| ci == "true" || ci == "1")
}
