//! Every dependency on others' code has its line, with its reason, in `docs/dependencies.md`.

use super::Finding;
use super::layers::{WITHOUT_CODE, library};
use super::manifest;
use super::tree::Tree;

const MANIFEST: &str = "Cargo.toml";
const DECISION: &str = "docs/dependencies.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let (Some(manifest), Some(decision)) = (tree.text(MANIFEST), tree.text(DECISION)) else {
        return vec![Finding::new(DECISION, 0, "missing: it says why each dependency in Cargo.toml is there")];
    };
    let dependencies = match manifest::dependencies(manifest) {
        Ok(dependencies) => dependencies,
        Err(message) => return vec![Finding::new(MANIFEST, 0, message)],
    };
    let is_ours = |name: &String| name == WITHOUT_CODE || library(name).is_some();
    let others = dependencies.into_iter().filter(|found| !found.names.iter().any(is_ours));
    let unexplained = others.filter(|found| !decision.contains(&format!("`{}`", found.names[0])));
    unexplained
        .map(|found| {
            Finding::new(
                MANIFEST,
                found.line,
                format!("say in {DECISION} why `{}` is here and what was rejected", found.names[0]),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_without_a_reason_is_found() {
        let manifest = "[workspace.dependencies]\nspace = { package = \"metroon-space\", path = \"crates/space\" }\nlibm = \"1\"\nregex = \"1\"\n";
        let found = check(&Tree::of(&[(MANIFEST, manifest), (DECISION, "- `libm`: same digits everywhere.\n")]));
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().starts_with("Cargo.toml:4: say in docs/dependencies.md why `regex`"));
    }
}
