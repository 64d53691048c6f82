//! No file names a place that exists on one machine only.

use super::Finding;
use super::tree::Tree;

/// Beginnings of a path into somebody's home, written so that this file does not hold them.
const HOMES: &[&str] =
    &[concat!("/ho", "me/"), concat!("/Us", "ers/"), concat!("/ro", "ot/"), concat!("C:\\", "Users\\")];
/// The temporary folder by its name: code asks `std::env::temp_dir` or `mktemp`, documents may mention it.
const TEMPORARY: &str = concat!("/t", "mp/");

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, text) in tree.iter() {
        for (index, line) in text.lines().enumerate() {
            if HOMES.iter().any(|home| starts_a_path(line, home)) {
                found.push(Finding::new(path, index + 1, "a path into one machine's home: make it relative"));
            } else if is_code(path) && starts_a_path(line, TEMPORARY) {
                let message =
                    "the temporary folder by name: ask the system for one (`std::env::temp_dir`, `mktemp -d`)";
                found.push(Finding::new(path, index + 1, message));
            }
        }
    }
    found
}

fn is_code(path: &str) -> bool {
    path.starts_with(".ci/") || path.rsplit_once('.').is_some_and(|(_, end)| matches!(end, "rs" | "sh" | "toml" | "py"))
}

/// Whether `start` occurs in `line` and is the beginning of a path there, not its middle.
fn starts_a_path(line: &str, start: &str) -> bool {
    let before = |at: usize| line[..at].chars().next_back();
    line.match_indices(start)
        .any(|(at, _)| before(at).is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '_' | '.' | '-' | '~')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn homes_are_found_everywhere() {
        for home in HOMES {
            assert_eq!(found("README.md", &format!("see {home}anna/x")), 1, "{home}");
            assert_eq!(found("a.rs", &format!("\"{home}anna/x\"")), 1, "{home}");
        }
        assert_eq!(found("README.md", &format!("https://example.org{}page", HOMES[0])), 0);
        assert_eq!(found("a.rs", "read(\"/usr/share/wordnet\")"), 0);
    }

    #[test]
    fn the_temporary_folder_is_found_in_code_only() {
        let text = format!("open(\"{TEMPORARY}x\")");
        assert_eq!(found("crates/a/src/lib.rs", &text), 1);
        assert_eq!(found("docs/a.md", &text), 0);
    }
}
