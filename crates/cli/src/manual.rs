//! `metroon completions` and `metroon man`: what shells and `man` read, made of the flags themselves.

use crate::end::End;
use crate::output::{Ended, Out, fail};
use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use std::path::PathBuf;

/// What `metroon completions` is asked for.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// What `metroon man` is asked for.
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Write the pages of all commands into this folder; without it, the page of `metroon` is printed
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints a script that makes a shell complete commands and flags.
pub(crate) fn completions(arguments: &CompletionsArguments, mut command: Command) -> End {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "metroon", &mut script);
    printed(&script).unwrap_or_else(|end| end)
}

/// Prints the manual, or writes all its pages.
pub(crate) fn man(arguments: &ManArguments, command: Command) -> End {
    let written = match &arguments.out {
        Some(folder) => clap_mangen::generate_to(command, folder).map(|()| Ok(End::Fine)).map_err(|error| {
            fail(&format!("cannot write to {}: {error}", folder.display()), "name a folder that exists", End::Error)
        }),
        None => {
            let mut page = Vec::new();
            // A vector takes all that is written.
            let _ = Man::new(command).render(&mut page);
            Ok(printed(&page))
        }
    };
    written.unwrap_or_else(Err).unwrap_or_else(|end| end)
}

fn printed(bytes: &[u8]) -> Ended {
    let mut out = Out::new();
    out.bytes(bytes)?;
    out.end()
}
