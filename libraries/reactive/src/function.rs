//! Functions that derive what a page holds from what other pages hold.
//!
//! A function is known by a name and a version, so that a state which is opened again finds it. It is pure: what it writes
//! depends on what it reads, and it reads the pages that were named when the page was made, and nothing else.

use crate::page::{PageId, PageTable};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, LazyLock};

/// A name and a version. Another version is another function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionName {
    pub(crate) name: Arc<str>,
    pub(crate) version: u32,
}

impl FunctionName {
    /// The longest a name may be, in bytes.
    pub const BYTES_MAX: usize = 1 << 10;

    /// A name and a version.
    pub fn new(name: &str, version: u32) -> Self {
        Self { name: name.into(), version }
    }
}

impl fmt::Display for FunctionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} version {}", self.name, self.version)
    }
}

/// Why a function could not derive a page.
pub type FunctionError = Box<dyn Error + Send + Sync>;

/// Derives what a page holds: reads its dependencies, and fills the page, which is all zeros when it gets it unless it needs none.
///
/// Closures `Fn(&Inputs<'_>, &mut [u8]) -> Result<(), FunctionError>` are functions.
pub trait Function: Send + Sync {
    /// Fills the page.
    ///
    /// # Errors
    /// It cannot. The transaction that made it run is refused, with what is said here.
    fn derive(&self, inputs: &Inputs<'_>, page: &mut [u8]) -> Result<(), FunctionError>;

    /// Whether it writes every byte of such a page, so that it needs no zeros: what the page holds when it gets it is not said then. Where
    /// [functions are checked](crate::Options::check_functions), one that leaves a byte is found out.
    fn writes_all(&self, inputs: &Inputs<'_>, length: usize) -> bool {
        let _ = (inputs, length);
        false
    }
}

impl<F: Fn(&Inputs<'_>, &mut [u8]) -> Result<(), FunctionError> + Send + Sync> Function for F {
    fn derive(&self, inputs: &Inputs<'_>, page: &mut [u8]) -> Result<(), FunctionError> {
        self(inputs, page)
    }
}

/// What a function may read: the pages that it depends on.
pub struct Inputs<'a> {
    pages: &'a PageTable,
    dependencies: &'a [PageId],
    undeclared: Cell<Option<PageId>>,
}

impl<'a> Inputs<'a> {
    pub(crate) fn new(pages: &'a PageTable, dependencies: &'a [PageId]) -> Self {
        Self { pages, dependencies, undeclared: Cell::new(None) }
    }

    /// How many pages it depends on.
    pub fn len(&self) -> usize {
        self.dependencies.len()
    }

    /// Whether it depends on none. A derived page depends on at least one.
    pub fn is_empty(&self) -> bool {
        self.dependencies.is_empty()
    }

    /// What the page holds that was named at this place, counted from 0.
    ///
    /// # Panics
    /// Fewer pages were named.
    pub fn get(&self, index: usize) -> &'a [u8] {
        self.held(self.dependencies[index])
    }

    /// What the page holds that was named at this place, to be kept as long as it is wanted, without a copy.
    ///
    /// # Panics
    /// Fewer pages were named.
    pub fn share(&self, index: usize) -> Arc<[u8]> {
        let page = self.pages.get(self.dependencies[index]);
        page.and_then(|page| page.bytes.clone()).expect("what a page depends on is there")
    }

    /// What each of the pages holds, in the order in which they were named.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> {
        self.dependencies.iter().map(|&page| self.held(page))
    }

    /// What a page holds.
    ///
    /// # Errors
    /// It is not among those that were named. The transaction is refused then, whatever the function does about it.
    pub fn page(&self, page: PageId) -> Result<&'a [u8], UndeclaredRead> {
        if self.dependencies.contains(&page) {
            return Ok(self.held(page));
        }
        self.undeclared.set(Some(page));
        Err(UndeclaredRead { page })
    }

    fn held(&self, page: PageId) -> &'a [u8] {
        self.pages.bytes(page).expect("what a page depends on is there")
    }

    /// A page that the function asked for and does not depend on.
    pub(crate) fn undeclared(&self) -> Option<PageId> {
        self.undeclared.get()
    }
}

/// A function has asked for a page that it does not depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndeclaredRead {
    /// The page.
    pub page: PageId,
}

impl fmt::Display for UndeclaredRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it reads {}, which is not among its dependencies; name it when the page is derived", self.page)
    }
}

impl Error for UndeclaredRead {}

/// The functions that a program has, by name and version.
#[derive(Clone)]
pub struct Functions {
    /// Shared until one is added.
    by_name: Arc<BTreeMap<FunctionName, Arc<dyn Function>>>,
}

/// What every program has, made once.
static LIBRARY: LazyLock<Functions> = LazyLock::new(|| {
    let mut functions = Functions { by_name: Arc::default() };
    functions.add(Functions::passthrough(), Passthrough);
    functions
});

/// Copies the first page.
struct Passthrough;

impl Function for Passthrough {
    fn derive(&self, inputs: &Inputs<'_>, page: &mut [u8]) -> Result<(), FunctionError> {
        let shared = page.len().min(inputs.get(0).len());
        page[..shared].copy_from_slice(&inputs.get(0)[..shared]);
        Ok(())
    }

    fn writes_all(&self, inputs: &Inputs<'_>, length: usize) -> bool {
        inputs.get(0).len() >= length
    }
}

impl Functions {
    /// [`Functions::passthrough`] alone.
    pub fn new() -> Self {
        LIBRARY.clone()
    }

    /// The function that copies the first page it depends on, as far as both go.
    pub fn passthrough() -> FunctionName {
        FunctionName::new("passthrough", 1)
    }

    /// Adds a function, in place of one that has this name and version.
    pub fn add(&mut self, name: FunctionName, function: impl Function + 'static) {
        Arc::make_mut(&mut self.by_name).insert(name, Arc::new(function));
    }

    /// The function of this name and version.
    pub(crate) fn get(&self, name: &FunctionName) -> Option<&Arc<dyn Function>> {
        self.by_name.get(name)
    }

    /// The names that are there, for messages.
    pub fn names(&self) -> impl Iterator<Item = &FunctionName> {
        self.by_name.keys()
    }
}

impl Default for Functions {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}
