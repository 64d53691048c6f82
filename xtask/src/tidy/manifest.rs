//! What the rules ask of a `Cargo.toml`: the dependencies that it names, and its test programs without a harness.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A dependency: the line it is on, every name it goes by (its key, and `package = "…"` if that differs), whether
/// only tests, examples and benchmarks see it, and whether only a feature brings it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dependency {
    pub(super) line: usize,
    pub(super) names: Vec<String>,
    pub(super) is_for_tests: bool,
    pub(super) is_optional: bool,
}

/// The dependencies of all kinds (normal, build, development, by platform, of a workspace), by line.
///
/// # Errors
/// The text is not TOML; the message says where.
pub(super) fn dependencies(text: &str) -> Result<Vec<Dependency>, String> {
    let manifest = parsed(text)?;
    let mut holders = vec![manifest.get_ref()];
    holders.extend(table_of(manifest.get_ref(), "workspace"));
    let platforms = table_of(manifest.get_ref(), "target");
    holders.extend(platforms.into_iter().flat_map(|platforms| platforms.values()).filter_map(as_table));
    let mut found = Vec::new();
    for holder in holders {
        for (key, value) in holder.iter() {
            if let (Some(table), true) = (as_table(value), key.get_ref().ends_with("dependencies")) {
                let is_for_tests = key.get_ref() == "dev-dependencies";
                found.extend(table.iter().map(|(name, value)| dependency(text, name, value, is_for_tests)));
            }
        }
    }
    found.sort_by_key(|dependency| dependency.line);
    Ok(found)
}

fn dependency(
    text: &str,
    name: &Spanned<impl AsRef<str>>,
    value: &Spanned<DeValue<'_>>,
    is_for_tests: bool,
) -> Dependency {
    let said = |key: &str| as_table(value).and_then(|table| table.get(key));
    let package = said("package").and_then(|package| package.get_ref().as_str());
    let is_optional = said("optional").and_then(|optional| optional.get_ref().as_bool()).unwrap_or(false);
    let names = std::iter::once(name.get_ref().as_ref()).chain(package).map(str::to_owned).collect();
    Dependency { line: 1 + text[..name.span().start].matches('\n').count(), names, is_for_tests, is_optional }
}

/// The test programs that run themselves: `[[test]]` with `harness = false`, by name.
///
/// # Errors
/// As [`dependencies`].
pub(super) fn tests_without_harness(text: &str) -> Result<Vec<String>, String> {
    let manifest = parsed(text)?;
    let tests = manifest.get_ref().get("test").and_then(|tests| tests.get_ref().as_array());
    let tables = tests.into_iter().flat_map(|tests| tests.iter()).filter_map(as_table);
    let own = tables.filter(|table| table.get("harness").and_then(|found| found.get_ref().as_bool()) == Some(false));
    Ok(own.filter_map(|table| Some(table.get("name")?.get_ref().as_str()?.to_owned())).collect())
}

fn parsed(text: &str) -> Result<Spanned<DeTable<'_>>, String> {
    DeTable::parse(text).map_err(|error| format!("this is not TOML: {}", error.message()))
}

fn table_of<'a>(table: &'a DeTable<'a>, name: &str) -> Option<&'a DeTable<'a>> {
    table.get(name).and_then(as_table)
}

fn as_table<'a>(value: &'a Spanned<DeValue<'a>>) -> Option<&'a DeTable<'a>> {
    value.get_ref().as_table()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_dependency_is_read() {
        let text = "[package]\nname = \"a\"\n[dependencies]\nspace.workspace = true\n# metta = 1\n\
                    m = { package = \"metroon-metta\", path = \"../metta\" }\n\
                    [target.'cfg(target_os = \"linux\")'.dev-dependencies]\nx = \"1\"\n\
                    [build-dependencies.y]\nversion = \"1\"\npackage = \"z\"\n[lints]\nworkspace = true\n";
        let read: Vec<(usize, String, bool)> = dependencies(text)
            .unwrap()
            .into_iter()
            .map(|found| (found.line, found.names.join("|"), found.is_for_tests))
            .collect();
        let expected = [(4, "space", false), (6, "m|metroon-metta", false), (8, "x", true), (9, "y|z", false)];
        assert_eq!(read, expected.map(|(line, names, is_for_tests)| (line, names.to_owned(), is_for_tests)));
        let read = dependencies("[workspace.dependencies]\nregion = { package = \"metroon-region\" }\n").unwrap();
        assert_eq!(read[0].names, ["region", "metroon-region"]);
        let read =
            dependencies("[dependencies]\na.workspace = true\nb = { version = \"1\", optional = true }\n").unwrap();
        assert_eq!(read.iter().map(|found| found.is_optional).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn what_is_not_toml_is_said() {
        assert!(dependencies("[dependencies\n").unwrap_err().starts_with("this is not TOML: "));
    }

    #[test]
    fn tests_that_run_themselves_are_known() {
        let text = "[[test]]\nname = \"it\"\n[[test]]\nname = \"corpus\"\nharness = false\n";
        assert_eq!(tests_without_harness(text).unwrap(), ["corpus"]);
        assert!(tests_without_harness("[package]\n").unwrap().is_empty());
    }
}
