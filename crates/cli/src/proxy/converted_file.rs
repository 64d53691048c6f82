//! Recording to a file of another form than a cassette's own, such as text for `git`.
//!
//! 1. What happens goes to a cassette beside the file, `FILE.cassette`, and to its journal: a crash loses nothing that was on the disk.
//! 2. A file that is there becomes that cassette first, if its answers are used.
//! 3. When the cassette is sealed, the file is written from it, at once, and the cassette goes. If that fails, or the run ended before, the
//!    cassette stays, and the next recording says what to do with it.

use crate::end::End;
use crate::output::fail;
use crate::render;
use cassette::{Cassette, Form, Mode, ReadError, ReadOptions, SealOptions, Selection};
use std::path::{Path, PathBuf};

/// A file that is not a cassette, and the cassette that stands for it while it is recorded.
pub(super) struct ConvertedFile {
    file: PathBuf,
    form: Form,
    cassette: PathBuf,
    /// Whether the file was there.
    pub(super) was_there: bool,
    reading: ReadOptions,
}

impl ConvertedFile {
    /// What is recorded to a file of this name; `None` if the file is a cassette, or gets the name of one.
    pub(super) fn of(file: &Path, mode: Mode, reading: ReadOptions) -> Result<Option<Self>, End> {
        let named = Form::of_name(file);
        if named == Form::Cassette && crate::cassette::is_gzip_name(file) && mode != Mode::Passthrough {
            return Err(crate::cassette::gzipped_cassette(file));
        }
        let was_there = file.symlink_metadata().is_ok();
        let there = if was_there { Some(crate::cassette::open(file, reading)?) } else { None };
        let form = there.as_ref().map_or(named, |(_, form)| *form);
        if named == Form::Cassette || form == Form::Cassette || mode == Mode::Passthrough {
            return Ok(None);
        }
        let mut cassette = file.as_os_str().to_owned();
        cassette.push(".cassette");
        let other = Self { file: file.to_owned(), form, cassette: cassette.into(), was_there, reading };
        other.check()?;
        if let Some((there, _)) = there.filter(|_| mode != Mode::All) {
            other.take(&there)?;
        }
        Ok(Some(other))
    }

    /// That no recording was left behind.
    fn check(&self) -> Result<(), End> {
        let left = [self.cassette.clone(), recording_of(&self.cassette)].into_iter().find(|path| path.exists());
        let Some(left) = left else { return Ok(()) };
        let message = format!("a recording of {} did not come to its end: {}", self.file.display(), left.display());
        Err(fail(&message, &format!("{}, or remove it", self.by_hand()), End::Usage))
    }

    /// How the file is made of the cassette.
    pub(super) fn by_hand(&self) -> String {
        let (cassette, file, form) = (self.cassette.display(), self.file.display(), self.form);
        format!(
            "`metroon cassette convert --force --to {form} {cassette} {file}` makes {file} of what was recorded; then remove {cassette}"
        )
    }

    /// What was there answers, as a cassette. What is secret in it is there already.
    fn take(&self, there: &Cassette) -> Result<(), End> {
        let written = Selection::of(there).map_err(|error| error.to_string()).and_then(|selection| {
            selection.write(&self.cassette, SealOptions::default().keep_secrets()).map_err(|error| error.to_string())
        });
        written.map_err(|message| fail(&message, "record to a folder that may be written to", End::Error))
    }

    pub(super) fn cassette(&self) -> &Path {
        &self.cassette
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Writes the file, if anything is new, and takes the cassette away.
    pub(super) fn finish(&self, is_new: bool) -> Result<(), End> {
        if !self.cassette.exists() {
            return Ok(());
        }
        if is_new {
            let lost = self.write().map_err(|message| fail(&message, &self.by_hand(), End::Error))?;
            for lost in lost {
                render::say(&format!("warning: {} has no place for this: {lost}", self.form));
            }
        }
        std::fs::remove_file(&self.cassette).map_err(|error| {
            fail(&format!("cannot remove {}: {error}", self.cassette.display()), "remove it yourself", End::Error)
        })
    }

    /// The cassette was looked through for secrets when it was sealed.
    fn write(&self) -> Result<Vec<String>, String> {
        let of_cassette = |error: ReadError| error.to_string();
        let cassette = Cassette::open_with(&self.cassette, self.reading).map_err(of_cassette)?;
        let content = Selection::of(&cassette).and_then(|selection| selection.content()).map_err(of_cassette)?;
        let options = SealOptions::default().keep_secrets();
        let written = content.write_as(self.form, &self.file, options).map_err(|error| error.to_string())?;
        Ok(written.lost)
    }
}

pub(super) fn recording_of(cassette: &Path) -> PathBuf {
    let mut name = cassette.as_os_str().to_owned();
    name.push(".recording");
    name.into()
}
