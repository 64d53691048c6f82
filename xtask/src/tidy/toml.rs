//! The dependencies that a `Cargo.toml` names. Reads just that much of TOML: section headers and `key = value` lines.

/// A dependency: the line it is on, every name it goes by (its key, and `package = "…"` if that differs), and whether
/// only tests, examples and benchmarks see it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dependency {
    pub(super) line: usize,
    pub(super) names: Vec<String>,
    pub(super) is_for_tests: bool,
}

/// The dependencies of all kinds (normal, build, development, by platform).
pub(super) fn dependencies(text: &str) -> Vec<Dependency> {
    let mut found: Vec<Dependency> = Vec::new();
    let (mut section, mut is_for_tests) = (Section::Other, false);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            section = Section::of(header);
            is_for_tests = header.contains("dev-dependencies");
            if let Section::One(name) = &section {
                found.push(Dependency { line: index + 1, names: vec![name.clone()], is_for_tests });
            }
        } else if let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
            let key = unquoted(key.split('.').next().unwrap_or(key));
            match (&section, found.last_mut()) {
                (Section::List, _) => {
                    let names = std::iter::once(key.to_owned()).chain(renamed(value)).collect();
                    found.push(Dependency { line: index + 1, names, is_for_tests });
                }
                (Section::One(_), Some(last)) if key == "package" => last.names.push(unquoted(value).to_owned()),
                _ => {}
            }
        }
    }
    found
}

enum Section {
    /// `[dependencies]`: each line names one.
    List,
    /// `[dependencies.name]`: the lines describe one.
    One(String),
    Other,
}

impl Section {
    fn of(header: &str) -> Section {
        // The condition of `target.'cfg(…)'` may hold dots; what matters is the end.
        let parts: Vec<&str> = header.rsplitn(3, '.').collect();
        match parts.as_slice() {
            [last, ..] if last.ends_with("dependencies") => Section::List,
            [name, kind, ..] if kind.ends_with("dependencies") => Section::One(unquoted(name).to_owned()),
            _ => Section::Other,
        }
    }
}

/// The value of `package = "…"` in an inline table.
fn renamed(value: &str) -> Option<String> {
    let (_, rest) = value.split_once("package")?;
    rest.trim_start().strip_prefix('=')?.trim_start().strip_prefix('"')?.split('"').next().map(str::to_owned)
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(|c| c == '"' || c == '\'')
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
        let read: Vec<(usize, String)> =
            dependencies(text).into_iter().map(|found| (found.line, found.names.join("|"))).collect();
        let expected = [(4, "space"), (6, "m|metroon-metta"), (8, "x"), (9, "y|z")];
        assert_eq!(read, expected.map(|(line, names)| (line, names.to_owned())));
    }
}
