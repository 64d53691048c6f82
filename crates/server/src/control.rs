//! x
use crate::error::ProxyError;
use crate::options::Control;
use crate::shared::Shared;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// x
pub(crate) struct Socket {
    path: PathBuf,
}
impl Socket {
    pub(crate) fn open(_control: &Control, _shared: &Arc<Shared>, folder: &Path) -> Result<Self, ProxyError> {
        Ok(Self { path: folder.to_owned() })
    }
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
