//! `metroon cassette verify`: whether a cassette is what was written.

use super::{damaged, open, with_recording};
use crate::end::End;
use crate::journal::{list, warn};
use crate::output::{Ended, Out, counted};
use crate::render;
use cassette::{Cassette, Form, ReadOptions, is_gzip};
use clap::Args;
use journal::SingleFile;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// The cassette
    #[arg(value_name = "CASSETTE")]
    pub(super) cassette: PathBuf,
}

pub(super) fn verify(arguments: &VerifyArguments, options: ReadOptions) -> Ended {
    let path = &arguments.cassette;
    // The journal is looked at first: it says more than the reader of what it holds.
    recording(path)?;
    let (cassette, form) = open(path, options)?;
    if let Err(error) = cassette.verify() {
        let end = damaged(path, &error);
        let readable = (0..cassette.len()).filter(|&at| is_readable(&cassette, at)).count();
        render::say(&format!("note: {readable} of {} can be read", counted(cassette.len() as u64, "exchange")));
        return Err(end);
    }
    let what = match form {
        Form::Cassette if cassette.is_sealed() => "sound, sealed".to_owned(),
        Form::Cassette => format!("sound, {} not sealed", cassette.summary().unsealed),
        form if is_gzip(path).unwrap_or(false) => format!("readable as {form} in gzip, with the checksum of that"),
        form => format!("readable as {form}, which has no checksums"),
    };
    let mut out = Out::new();
    out.line(&format!("{}: {what}: {}", path.display(), exchanges(&cassette)))?;
    out.end()
}

/// Whether an exchange and its bodies are there.
fn is_readable(cassette: &Cassette, at: usize) -> bool {
    let Ok(outline) = cassette.outline(at) else { return false };
    let mut bodies = [outline.request_body, outline.response_body].into_iter().flatten();
    bodies.all(|mut body| {
        loop {
            match body.read() {
                Ok(Some(_)) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    })
}

fn exchanges(cassette: &Cassette) -> String {
    counted(cassette.len() as u64, "exchange")
}

/// Looks at every frame of a recording, if there is one.
pub(super) fn recording(path: &Path) -> Result<(), End> {
    let (_, recording) = with_recording(path);
    let Ok(disk) = SingleFile::open(&recording) else { return Ok(()) };
    // What is not a journal at all is told when it is opened.
    let Ok(report) = journal::verify(Arc::new(disk)) else { return Ok(()) };
    warn(&report.warnings);
    if report.is_sound() {
        return Ok(());
    }
    let name = recording.display();
    render::error(&format!("{name} is damaged"), None);
    list(&report.damage);
    render::say(&format!(
        "help: `metroon journal salvage {name} --to NEW.recording` carries what can be read into a new recording"
    ));
    Err(End::Damaged)
}
