//! `--allow` and `--deny-all`: what a program may reach, from words to [`Permissions`].

use crate::end::End;
use crate::output::fail;
use clap::Args;
use metroon::Permissions;
use std::io;

/// What a program may reach.
#[derive(Debug, Args)]
pub(crate) struct PermissionArguments {
    /// Let the programs read no file, write none and read no environment variable, except what --allow names; for
    /// programs of others. They may import what lies in the folder of their file and below
    #[arg(long)]
    pub(crate) deny_all: bool,

    /// Permit one thing, or several with commas between them: read=PATH and write=PATH a file, or a folder with what
    /// is below it; env=NAME an environment variable. There is no net=HOST: no program reaches the network
    #[arg(long, value_name = "KIND=WHAT", value_parser = parse)]
    pub(crate) allow: Vec<Allowed>,
}

/// The permissions of one `--allow`.
#[derive(Clone, Debug)]
pub(crate) struct Allowed(Vec<One>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum One {
    Read(String),
    Write(String),
    Variable(String),
}

impl One {
    fn parse(text: &str) -> Option<Self> {
        let (kind, what) = text.split_once('=')?;
        let make = match kind {
            "read" => Self::Read,
            "write" => Self::Write,
            "env" => Self::Variable,
            _ => return None,
        };
        Some(make(what.to_owned()))
    }

    fn what(&mut self) -> &mut String {
        match self {
            Self::Read(what) | Self::Write(what) | Self::Variable(what) => what,
        }
    }
}

/// A comma that no kind follows is a part of a path.
fn parse(text: &str) -> Result<Allowed, String> {
    let expected = || "expected read=PATH, write=PATH or env=NAME".to_owned();
    let mut all: Vec<One> = Vec::new();
    for part in text.split(',') {
        if let Some(host) = part.strip_prefix("net=") {
            return Err(format!(
                "nothing can permit net={host}: no function of the language reaches the network; leave it out"
            ));
        }
        match (One::parse(part), all.last_mut()) {
            (Some(one), _) => all.push(one),
            (None, Some(last)) => {
                let what = last.what();
                what.push(',');
                what.push_str(part);
            }
            (None, None) => return Err(expected()),
        }
    }
    if all.iter_mut().any(|one| one.what().is_empty()) { Err(expected()) } else { Ok(Allowed(all)) }
}

impl PermissionArguments {
    /// What programs in these files may reach.
    pub(crate) fn permissions(&self, files: &[String]) -> Result<Permissions, End> {
        let all = || self.allow.iter().flat_map(|allowed| &allowed.0);
        if !self.deny_all {
            if all().next().is_some() {
                let help = "add --deny-all, so that they may reach nothing else, or leave --allow out";
                let message = "--allow names what programs may reach, and without --deny-all they may reach every file and variable";
                return Err(fail(message, help, End::Usage));
            }
            return Ok(Permissions::everything());
        }
        let failed = |what: &str, error: io::Error| {
            fail(&format!("cannot tell where {what} lies: {error}"), "check the path", End::Usage)
        };
        let mut permissions = Permissions::nothing();
        for file in files.iter().filter(|file| *file != "-") {
            permissions = permissions.program(file).map_err(|error| failed(file, error))?;
        }
        for one in all() {
            permissions = match one {
                One::Read(path) => permissions.read(path).map_err(|error| failed(path, error))?,
                One::Write(path) => permissions.write(path).map_err(|error| failed(path, error))?,
                One::Variable(name) => permissions.variable(name),
            };
        }
        Ok(permissions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_read_one_by_one_or_with_commas() {
        let read = |text: &str| parse(text).map(|allowed| allowed.0);
        let path = |text: &str| One::Read(text.to_owned());
        assert_eq!(read("read=a"), Ok(vec![path("a")]));
        assert_eq!(read("read=a,b=c,write=d"), Ok(vec![path("a,b=c"), One::Write("d".to_owned())]));
        assert_eq!(read("env=HOME,read=a"), Ok(vec![One::Variable("HOME".to_owned()), path("a")]));
        assert_eq!(read("read=internet=b"), Ok(vec![path("internet=b")]));
        for wrong in ["", "a", "read", "read=", "files=a", "a,read=b", "read=a,write=", "net=a.org", "read=a,net=b"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
