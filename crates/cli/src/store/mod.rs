//! `metroon store`: an ordered key-value store in a folder: writing to it, looking at it, checking it, copying it.
//!
//! 1. `put`, `delete`, `load` and `compact` write; the others work while another process writes.
//! 2. Keys are written as text, as whole numbers or in hexadecimal ([`text`]); values are bytes as they are.

mod arguments;
mod look;
mod text;
mod write;

pub(crate) use arguments::StoreArguments;

use crate::end::End;
use arguments::Verb;

/// Does what the command line asks for.
pub(crate) fn run(arguments: &StoreArguments) -> End {
    let done = match &arguments.verb {
        Verb::Get(arguments) => look::get(arguments),
        Verb::Scan(arguments) => look::scan(arguments),
        Verb::Stats(arguments) => look::stats(arguments),
        Verb::Verify(arguments) => look::verify(&arguments.path),
        Verb::Put(arguments) => write::put(arguments),
        Verb::Delete(arguments) => write::delete(arguments),
        Verb::Load(arguments) => write::load(arguments),
        Verb::Compact(arguments) => write::compact(&arguments.path),
        Verb::Backup(arguments) => write::backup(&arguments.path, &arguments.to),
        Verb::Salvage(arguments) => write::salvage_to(&arguments.path, &arguments.to),
    };
    done.unwrap_or_else(|end| end)
}
