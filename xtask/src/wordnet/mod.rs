//! WordNet 3.0 as MeTTa facts: `data/wordnet.metta`, which git ignores.
//!
//! 1. [`source`] finds the dictionary, or gets Debian's package and unpacks it below the target folder.
//! 2. [`database`] reads its `data.*` and `index.*` files.
//! 3. [`facts`] writes one group of facts a synset; `facts.txt` says what each kind means and heads the written file.
//! 4. [`counts`] compares the numbers of synsets, words and senses with those published for WordNet 3.0.
//!
//! Same dictionary, same bytes. Takes about two seconds and 200 MB of memory.

mod counts;
mod database;
mod facts;
mod source;
mod symbol;

use std::path::{Path, PathBuf};
use std::time::Instant;

pub(crate) use source::Fetch;

use crate::install::Install;
use crate::{Outcome, repository};

/// Turn WordNet 3.0 into MeTTa facts, data/wordnet.metta.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("facts.txt"))]
pub(crate) struct Flags {
    /// The folder with data.noun; otherwise it is found or fetched
    #[arg(long, value_name = "DIR")]
    dict: Option<PathBuf>,
    /// Where to write (data/wordnet.metta)
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    install: Install,
}

/// Where the facts go, relative to the root.
pub(crate) const DATA: &str = "data/wordnet.metta";

pub(crate) fn run(flags: &Flags) -> Result<Outcome, String> {
    let fetch = if flags.install.is_wanted() { Fetch::WithLists } else { Fetch::Package };
    let dictionary = match &flags.dict {
        Some(folder) => source::given(folder)?,
        None => source::find(fetch)?,
    };
    let out = flags.out.clone().unwrap_or_else(|| repository::root().join(DATA));
    convert(&dictionary, &out)
}

/// Finds or gets the dictionary and writes the facts where the examples expect them.
///
/// # Errors
/// What is missing and how to get it.
pub(crate) fn prepare(fetch: Fetch) -> Result<Outcome, String> {
    convert(&source::find(fetch)?, &repository::root().join(DATA))
}

fn convert(dictionary: &Path, out: &Path) -> Result<Outcome, String> {
    let started = Instant::now();
    println!("reading {}", repository::shown(dictionary));
    let database = database::read(dictionary)?;
    let written = facts::write(&database, out)?;
    let counts = counts::count(&database);
    print!("{}", counts::table(&counts));
    for (head, number) in &written.facts {
        println!("{number:>9}  {head}");
    }
    println!(
        "{:>9}  facts in {} ({:.1} MB, {:.1} s)",
        written.facts.values().sum::<usize>(),
        repository::shown(out),
        written.bytes as f64 / 1e6,
        started.elapsed().as_secs_f64()
    );
    if counts == counts::PUBLISHED {
        return Ok(Outcome::Good);
    }
    println!("these are not the published numbers: is {} WordNet 3.0?", dictionary.display());
    Ok(Outcome::Bad)
}
