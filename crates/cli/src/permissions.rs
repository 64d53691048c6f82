//! `--allow` and `--deny-all`: what a program may reach, from words to [`Permissions`].

use crate::end::End;
use crate::output::fail;
use crate::{package, render};
use clap::Args;
use metroon::Permissions;
use metroon::run::Package;
use std::io;

/// What a program may reach.
#[derive(Debug, Args)]
pub(crate) struct PermissionArguments {
    /// Let the programs read no file, write none and read no environment variable, except what --allow names; for
    /// programs of others. They may import what lies in the folder of their file and below
    #[arg(long)]
    pub(crate) deny_all: bool,

    /// Permit one thing, or several with commas between them: read=PATH and write=PATH a file, or a folder with what
    /// is below it; env=NAME an environment variable; `package` all that the metroon.toml of a package asks for. There is no
    /// net=HOST: no program reaches the network
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
    Package,
}

impl One {
    fn parse(text: &str) -> Option<Self> {
        if text == "package" {
            return Some(Self::Package);
        }
        let (kind, what) = text.split_once('=')?;
        let make = match kind {
            "read" => Self::Read,
            "write" => Self::Write,
            "env" => Self::Variable,
            _ => return None,
        };
        Some(make(what.to_owned()))
    }

    fn what(&mut self) -> Option<&mut String> {
        match self {
            Self::Read(what) | Self::Write(what) | Self::Variable(what) => Some(what),
            Self::Package => None,
        }
    }
}

/// A comma that no kind follows is a part of a path.
fn parse(text: &str) -> Result<Allowed, String> {
    let expected = || "expected read=PATH, write=PATH, env=NAME or package".to_owned();
    let mut all: Vec<One> = Vec::new();
    for part in text.split(',') {
        if let Some(host) = part.strip_prefix("net=") {
            return Err(format!(
                "nothing can permit net={host}: no function of the language reaches the network; leave it out"
            ));
        }
        match (One::parse(part), all.last_mut().and_then(One::what)) {
            (Some(one), _) => all.push(one),
            (None, Some(what)) => {
                what.push(',');
                what.push_str(part);
            }
            (None, None) => return Err(expected()),
        }
    }
    let is_empty = all.iter_mut().filter_map(One::what).any(|what| what.is_empty());
    if is_empty { Err(expected()) } else { Ok(Allowed(all)) }
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
                One::Package => given_by_packages(permissions, files)?,
            };
        }
        if !all().any(|one| *one == One::Package) {
            files.iter().filter(|file| Package::is_file(file)).try_for_each(|file| tell_of_wishes(file))?;
        }
        Ok(permissions)
    }
}

/// What packages among the files ask for.
fn given_by_packages(permissions: Permissions, files: &[String]) -> Result<Permissions, End> {
    let mut packages = files.iter().filter(|file| Package::is_file(file)).peekable();
    if packages.peek().is_none() {
        let help = "name a folder with a metroon.toml, or what they may reach, as in --allow read=PATH";
        return Err(fail("--allow package is for packages, and there is none among the programs", help, End::Usage));
    }
    packages.try_fold(permissions, |permissions, file| {
        let wishes = package::read(file)?.permissions;
        wishes.give(permissions).map_err(|error| {
            let message = format!("cannot tell where what {file} asks for lies: {error}");
            fail(&message, "check the paths in it", End::Usage)
        })
    })
}

/// Says what a package asks for and does not get.
fn tell_of_wishes(file: &str) -> Result<(), End> {
    let wishes = package::read(file)?.permissions;
    if !wishes.is_empty() {
        let named = wishes.named().join(",");
        render::say(&format!("note: {file} asks for {named}; --allow package gives it that"));
    }
    Ok(())
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
        assert_eq!(read("package,env=A"), Ok(vec![One::Package, One::Variable("A".to_owned())]));
        assert_eq!(read("read=internet=b"), Ok(vec![path("internet=b")]));
        for wrong in [
            "",
            "a",
            "read",
            "read=",
            "files=a",
            "a,read=b",
            "read=a,write=",
            "package,",
            "packages",
            "net=a.org",
            "read=a,net=b",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
