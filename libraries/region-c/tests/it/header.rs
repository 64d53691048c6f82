//! The header and the libraries have the same functions.

use std::collections::BTreeSet;
use std::process::Command;

use crate::tools;

/// The functions that the header declares and does not define.
fn declared() -> BTreeSet<String> {
    let header = include_str!("../../include/metroon_region.h");
    let declarations = header.split("MNR_API ").skip(1).filter_map(|rest| rest.split_once('(').map(|(head, _)| head));
    let name = |head: &str| head.rsplit([' ', '*']).next().unwrap_or_default().to_owned();
    declarations.map(name).filter(|name| name.starts_with("mnr_")).collect()
}

/// Symbols of text that begin with the prefix.
fn exported(library: &str, options: &[&str]) -> BTreeSet<String> {
    let path = tools::libraries().join(library);
    let listed = tools::expect(Command::new("nm").args(options).arg(path));
    let texts = listed.lines().filter_map(|line| line.split_once(" T ").map(|(_, name)| name.to_owned()));
    texts.filter(|name| name.starts_with("mnr_")).collect()
}

#[test]
fn what_is_declared_is_exported() {
    assert!(declared().len() > 50, "{:?}", declared());
    if tools::has("nm", "binutils") {
        assert_eq!(exported("libmetroon_region.so", &["-D", "--defined-only"]), declared());
        assert_eq!(exported("libmetroon_region.a", &["-g", "--defined-only"]), declared());
    }
}

/// The shared library exports nothing else that is ours.
#[test]
fn nothing_else_is_exported() {
    if !tools::has("nm", "binutils") {
        return;
    }
    let path = tools::libraries().join("libmetroon_region.so");
    let listed = tools::expect(Command::new("nm").args(["-D", "--defined-only"]).arg(path));
    let others: Vec<&str> = listed.lines().filter(|line| line.contains(" T ") && !line.contains(" T mnr_")).collect();
    assert!(others.iter().all(|line| line.ends_with("rust_eh_personality")), "{others:?}");
}

#[test]
fn the_version_is_that_of_the_package() {
    let [major, minor, patch] =
        [env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"), env!("CARGO_PKG_VERSION_PATCH")]
            .map(|part| part.parse::<u32>().expect("a number"));
    let version = format!("#define MNR_VERSION {}\n", major * 1_000_000 + minor * 1_000 + patch);
    assert!(include_str!("../../include/metroon_region.h").contains(&version), "{version}");
}
