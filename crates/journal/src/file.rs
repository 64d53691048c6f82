//! Disks and files that say, when they fail, what was asked of them and where.

use crate::access::Access;
use crate::disk::{Disk, DiskFile};
use crate::error::{Action, Failure};
use std::io;
use std::sync::{Arc, Mutex};

/// How much is read at once to find out where data ends.
const DATA_BYTES: usize = 64 << 10;

/// A folder whose failures are explained.
#[derive(Clone)]
pub(crate) struct Folder(Arc<dyn Disk>);

/// A file whose failures are explained. A clone is the same open file.
#[derive(Clone)]
pub(crate) struct NamedFile {
    name: String,
    /// What people know it by.
    shown: String,
    file: Arc<dyn DiskFile>,
    /// Held while it is synced. Why that failed: the system tells it once, to whoever asks first, and what was written before may never get to the
    /// disk, so that a sync which succeeds after that says nothing.
    failure: Arc<Mutex<Option<Failure>>>,
}

impl Folder {
    pub(crate) fn new(disk: Arc<dyn Disk>) -> Self {
        Self(disk)
    }

    pub(crate) fn list(&self) -> Result<Vec<String>, Failure> {
        self.0.list().map_err(failed(Action::List, ""))
    }

    pub(crate) fn create(&self, name: &str) -> Result<NamedFile, Failure> {
        let file = self.0.create(name).map_err(failed(Action::Create, self.shown(name)))?;
        Ok(self.named(name, file))
    }

    pub(crate) fn open(&self, name: &str, access: Access) -> Result<NamedFile, Failure> {
        let file = self.0.open(name, access).map_err(failed(Action::Open, self.shown(name)))?;
        Ok(self.named(name, file))
    }

    fn named(&self, name: &str, file: Box<dyn DiskFile>) -> NamedFile {
        let (name, shown) = (name.to_owned(), self.shown(name).to_owned());
        NamedFile { name, shown, file: Arc::from(file), failure: Arc::default() }
    }

    fn shown<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.only_file().unwrap_or(name)
    }

    /// Whether there is room for one segment only, however long it gets.
    pub(crate) fn has_one_segment(&self) -> bool {
        self.0.only_file().is_some()
    }

    /// Renames an open file, which goes on under the new name.
    pub(crate) fn rename(&self, file: &mut NamedFile, to: &str) -> Result<(), Failure> {
        self.0.rename(&file.name, to).map_err(failed(Action::Rename, &file.shown))?;
        to.clone_into(&mut file.name);
        self.shown(to).clone_into(&mut file.shown);
        Ok(())
    }

    pub(crate) fn remove(&self, name: &str) -> Result<(), Failure> {
        self.0.remove(name).map_err(failed(Action::Remove, self.shown(name)))
    }

    /// Takes an open file away.
    pub(crate) fn discard(&self, file: NamedFile) -> Result<(), Failure> {
        let NamedFile { name, shown, file, .. } = file;
        self.0.discard(&name, file).map_err(failed(Action::Remove, &shown))
    }

    pub(crate) fn sync_names(&self) -> Result<(), Failure> {
        self.0.sync_names().map_err(failed(Action::SyncNames, ""))
    }
}

impl NamedFile {
    /// What people know it by.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    pub(crate) fn length(&self) -> Result<u64, Failure> {
        self.file.length().map_err(failed(Action::Measure, &self.shown))
    }

    /// The first place from an offset on that was ever written, as far as the file system tells.
    pub(crate) fn data_from(&self, offset: u64) -> Result<u64, Failure> {
        self.file.data_from(offset).map_err(failed(Action::Measure, &self.shown))
    }

    pub(crate) fn cut(&self, length: u64) -> Result<(), Failure> {
        self.file.set_length(length).map_err(failed(Action::Cut, &self.shown))
    }

    /// Makes it longer, with zeros.
    pub(crate) fn extend(&self, length: u64) -> Result<(), Failure> {
        self.file.set_length(length).map_err(failed(Action::Extend, &self.shown))
    }

    /// Where what was written from an offset on ends: after it there are only zeros.
    pub(crate) fn end_of_data(&self, from: u64) -> Result<u64, Failure> {
        let (mut at, mut end) = (from, from);
        loop {
            at = self.data_from(at)?;
            let bytes = self.read(at, DATA_BYTES)?;
            if bytes.is_empty() {
                return Ok(end);
            }
            if let Some(last) = bytes.iter().rposition(|&byte| byte != 0) {
                end = at + last as u64 + 1;
            }
            at += bytes.len() as u64;
        }
    }

    /// Reads up to `bytes` bytes; fewer if the file ends before.
    pub(crate) fn read(&self, offset: u64, bytes: usize) -> Result<Vec<u8>, Failure> {
        let mut read = vec![0; bytes];
        let count = self.file.read_full(offset, &mut read).map_err(failed(Action::Read, &self.shown))?;
        read.truncate(count);
        Ok(read)
    }

    /// Fills `into` as far as the file goes, and cuts it there; empties it if reading fails.
    pub(crate) fn read_into(&self, offset: u64, into: &mut Vec<u8>) -> Result<(), Failure> {
        match self.file.read_full(offset, into) {
            Ok(count) => into.truncate(count),
            Err(error) => {
                // What could not be read must not be taken for zeros.
                into.clear();
                return Err(failed(Action::Read, &self.shown)(error));
            }
        }
        Ok(())
    }

    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), Failure> {
        self.file.write_full(offset, bytes).map_err(failed(Action::Write, &self.shown))
    }

    pub(crate) fn sync(&self) -> Result<(), Failure> {
        let mut failure = self.failure.lock().expect("no thread panics while it syncs");
        if let Some(failure) = &*failure {
            return Err(failure.clone());
        }
        let outcome = self.file.sync().map_err(failed(Action::Sync, &self.shown));
        *failure = outcome.as_ref().err().cloned();
        outcome
    }
}

fn failed(action: Action, file: &str) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure { action, file: file.to_owned(), error: Arc::new(error) }
}
