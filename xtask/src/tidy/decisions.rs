//! Decision records are `docs/decisions/NNNN-title.md`, numbered from 0001 without gaps or doubles.

use super::Finding;
use super::tree::Tree;

const FOLDER: &str = "docs/decisions/";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut expected = 1;
    for (path, _) in tree.under(FOLDER, "") {
        // Paths come in order, so numbers do.
        match number(&path[FOLDER.len()..]) {
            None => found.push(Finding::new(path, 0, "a decision is called NNNN-title.md, four digits")),
            Some(number) if number == expected => expected += 1,
            Some(number) => {
                let message =
                    format!("number {number:04} where {expected:04} is next: numbers are unique and have no gaps");
                found.push(Finding::new(path, 0, message));
                expected = expected.max(number + 1);
            }
        }
    }
    found
}

fn number(name: &str) -> Option<usize> {
    let (digits, title) = name.strip_suffix(".md")?.split_once('-')?;
    let written = digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_digit());
    if written && !title.is_empty() { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names: &[&str]) -> Vec<String> {
        let paths: Vec<String> = names.iter().map(|name| format!("{FOLDER}{name}")).collect();
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        check(&Tree::of(&files)).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn numbers_are_consecutive_and_unique() {
        assert!(found(&["0001-a.md", "0002-b.md"]).is_empty());
        assert!(found(&["0001-a.md", "0003-b.md", "0004-c.md"])[0].starts_with("number 0003 where 0002 is next"));
        assert_eq!(found(&["0001-a.md", "0001-b.md", "0002-c.md"]).len(), 1);
    }

    #[test]
    fn names_have_four_digits_and_a_title() {
        assert_eq!(found(&["1-a.md"]).len(), 1);
        assert_eq!(found(&["0001.md"]).len(), 1);
        assert_eq!(found(&["notes.md"]).len(), 1);
    }
}
