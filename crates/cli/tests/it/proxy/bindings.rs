//! The plugin for pytest and the helper for Node, by their own tests, with this `metroon`.

use super::harness::{Pond, data_folder, has, named};
use std::path::Path;
use std::process::Command;

fn bindings(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bindings").join(name)
}

fn passes(command: &mut Command, pond: &Pond) {
    command.env("METROON", env!("CARGO_BIN_EXE_metroon")).env("METROON_DATA_DIR", data_folder());
    command.env("METROON_TEST_OPTIONS", pond.options()).env_remove("CI");
    for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(name);
    }
    let output = command.output().expect("it runs");
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{}{}", said[0], said[1]);
}

#[test]
fn the_plugin_for_pytest() {
    let Some(python) = named("METROON_CLIENTS_PYTHON") else { return };
    let Some(package) = named("METROON_CLIENTS_PACKAGE") else { return };
    let folder = bindings("python-pytest");
    let path = std::env::join_paths([folder.join("src"), package]).expect("no folder has a colon in its name");
    let mut command = Command::new(python);
    command.args(["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]).current_dir(&folder);
    passes(command.env("PYTHONPATH", path), &Pond::new("pytest"));
}

#[test]
fn the_helper_for_node() {
    if has("node", "--version") {
        let mut command = Command::new("node");
        passes(command.args(["--test"]).current_dir(bindings("node")), &Pond::new("node"));
    }
}

/// Otherwise whoever installs the plugin from a checkout commits what that leaves.
#[test]
fn what_installing_leaves_is_not_committed() {
    if !has("git", "--version") {
        return;
    }
    for left in
        ["build/lib/x.py", "src/pytest_metroon.egg-info/PKG-INFO", "src/pytest_metroon/__pycache__/x.pyc", "dist/x.whl"]
    {
        let mut command = Command::new("git");
        command.args(["check-ignore", "--quiet", left]).current_dir(bindings("python-pytest"));
        // The code is 128 where there is no repository, as in an archive of the source.
        assert_ne!(command.status().expect("git runs").code(), Some(1), "{left}");
    }
}
