//! The engine from Python: the module `metroon._engine`, of which the package `metroon` makes what people use.
//!
//! 1. `classes` of atoms are objects of Python; `convert` makes values of Python of them, and atoms of values.
//! 2. An engine lives on a thread of its own. A caller gives up the interpreter lock, waits for it (`asking`), and looks at signals
//!    meanwhile, so that Ctrl-C cancels what the engine does.
//! 3. Functions of Python (`functions`) are called on the thread of the engine. What they ask of that engine is done inside the form
//!    that calls them.
//! 4. `knowledge_base`, `tapes` and `store` are what `metroon` offers, `runner` and `spaces` what `metroon.hyperon` stands on.
//! 5. `pages` is another library, `reactive`, and has nothing to do with engines.
//!
//! No lock of the engine is held while Python runs, and no call that may wait for the engine holds the interpreter lock.
#![forbid(unsafe_code)]

mod asking;
mod atoms;
mod classes;
mod convert;
mod entering;
mod errors;
mod functions;
mod home;
mod knowledge_base;
mod limits;
mod live;
mod log;
mod matching;
mod pages;
mod progress;
mod rows;
mod runner;
mod spaces;
mod statistics;
mod store;
mod table;
mod tapes;
mod values;

use pyo3::prelude::*;

/// Counts what the engine takes, so that limits of memory are seen.
#[global_allocator]
static ALLOCATOR: region::memory::Counting = region::memory::Counting;

/// What the package is made of.
#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    entering::watch_forks(module.py())?;
    module.add_class::<classes::Atom>()?;
    module.add_class::<classes::Symbol>()?;
    module.add_class::<classes::Variable>()?;
    module.add_class::<classes::Expression>()?;
    module.add_class::<classes::Grounded>()?;
    module.add_class::<knowledge_base::KnowledgeBase>()?;
    module.add_class::<knowledge_base::View>()?;
    module.add_class::<knowledge_base::Transaction>()?;
    module.add_class::<rows::Rows>()?;
    module.add_class::<live::Subscription>()?;
    module.add_class::<runner::Runner>()?;
    module.add_class::<spaces::Space>()?;
    module.add_class::<classes::Bindings>()?;
    module.add_class::<store::Store>()?;
    module.add_class::<store::StoreSnapshot>()?;
    module.add_class::<store::StoreRange>()?;
    module.add_function(wrap_pyfunction!(store::atom_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(store::atom_of_bytes, module)?)?;
    pages::add_to(module)?;
    module.add_function(wrap_pyfunction!(matching::equivalent, module)?)?;
    module.add_function(wrap_pyfunction!(runner::opaque, module)?)?;
    module.add_function(wrap_pyfunction!(runner::matching, module)?)?;
    module.add_function(wrap_pyfunction!(runner::object_of, module)?)?;
    module.add_function(wrap_pyfunction!(runner::grounded_type, module)?)?;
    module.add_function(wrap_pyfunction!(atoms::parse, module)?)?;
    module.add_function(wrap_pyfunction!(atoms::expression_of, module)?)?;
    module.add_function(wrap_pyfunction!(convert::atom, module)?)?;
    module.add_function(wrap_pyfunction!(convert::unstorable, module)?)?;
    module.add_function(wrap_pyfunction!(convert::value, module)?)?;
    module.add_function(wrap_pyfunction!(tapes::record, module)?)?;
    module.add_function(wrap_pyfunction!(tapes::replay, module)?)?;
    Ok(())
}
