//! The rows of `docs/compat.md` about native operations, made from their specifications.
//!
//! The page says where a row stands. The row of an operation that has none yet comes after that of the operation before it in its table.

use std::fs;
use std::path::PathBuf;

use metta::OperationSpec;

use crate::repository;

/// The part of the page that has a row for each name.
const NAMES: &str = "## Every name";

fn page() -> PathBuf {
    repository::root().join("docs").join("compat.md")
}

/// Writes the rows anew.
///
/// # Errors
/// The page cannot be read or written, or it has no row after which that of an operation belongs.
pub(crate) fn write() -> Result<(), String> {
    let path = page();
    let failed = |error| format!("cannot write {}: {error}", repository::shown(&path));
    let before = read()?;
    let after = rendered(&before, metta::stdlib::every_operation())?;
    if after != before {
        fs::write(&path, after).map_err(failed)?;
        println!("{}: rows changed", repository::shown(&path));
    }
    Ok(())
}

fn read() -> Result<String, String> {
    let path = page();
    fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", repository::shown(&path)))
}

/// The page with the rows of these operations as their specifications have them.
fn rendered<'a>(page: &str, operations: impl Iterator<Item = &'a OperationSpec>) -> Result<String, String> {
    let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
    let part = lines.iter().position(|line| line == NAMES).ok_or_else(|| format!("the page has no part {NAMES}"))?;
    let mut before = None;
    for spec in operations {
        let row = spec.compatibility.row(spec.name);
        let start = format!("| `{}` |", spec.name);
        let place = lines.iter().skip(part).position(|line| line.starts_with(&start)).map(|place| part + place);
        before = match (place, before) {
            (Some(place), _) => {
                lines[place] = row;
                Some(place)
            }
            (None, Some(before)) => {
                lines.insert(before + 1, row);
                Some(before + 1)
            }
            (None, None) => {
                return Err(format!("the page has no row for {}, the first operation: write one", spec.name));
            }
        };
    }
    lines.push(String::new());
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use metta::stdlib::every_operation;

    #[test]
    fn the_page_says_what_the_specifications_say() {
        let page = read().unwrap();
        let rendered = rendered(&page, every_operation()).unwrap();
        let differing = page.lines().zip(rendered.lines()).find(|(before, after)| before != after);
        assert!(rendered == page, "run `cargo xtask corpus --accept`: docs/compat.md differs at {differing:?}");
    }

    #[test]
    fn a_row_that_differs_is_replaced_and_one_that_is_missing_comes_after_that_before_it() {
        let page = format!("| `+` | an example |\n{NAMES}\n| `+` | differs | not |\n| `a` | works |  |\n");
        let plus_and_minus = every_operation().take(2);
        let specs: Vec<&OperationSpec> = plus_and_minus.collect();
        let rows = specs.iter().map(|spec| spec.compatibility.row(spec.name)).collect::<Vec<_>>();
        let wanted = format!("| `+` | an example |\n{NAMES}\n{}\n{}\n| `a` | works |  |\n", rows[0], rows[1]);
        assert_eq!(rendered(&page, specs.into_iter()).unwrap(), wanted);
    }

    #[test]
    fn a_page_without_a_place_for_a_row_is_refused() {
        let wrong = rendered(&format!("{NAMES}\n"), every_operation()).unwrap_err();
        assert!(wrong.contains("no row for +"), "{wrong}");
        assert!(rendered("", every_operation()).unwrap_err().contains(NAMES));
    }
}
