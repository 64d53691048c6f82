//! Comments are read by people who come from elsewhere: some ways to begin or to say something tell them nothing.
//!
//! 1. A comment that begins with "The same" refers to what stands above it, which an editor or a page of documentation does not show.
//! 2. "so many", "so much" and "so often" name no number: a parameter or a constant has a name.
//! 3. A sentence that begins with "Who" and is no question has no subject: "Who waits is told" is "A caller that waits is told".
//! 4. Comments that still do so are counted in `xtask/plain-english.txt`, a line `PATH COMMENTS` for each file, which must say exactly what is
//!    there. [`LISTED_MAX`] bounds their number: lower it when the list shrinks, never raise it.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::Finding;
use super::tree::Tree;

pub(super) const LIST: &str = "xtask/plain-english.txt";

/// How many comments the list has. Lower it when the list shrinks; never raise it.
const LISTED_MAX: usize = 0;

/// What no comment says, in lower case.
const PHRASES: [&str; 3] = ["so many", "so much", "so often"];

/// How many lines of comments of a file say such a thing, and the first of these lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Said {
    comments: usize,
    line: usize,
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    compared(tree, LISTED_MAX)
}

/// What is wrong with the comments of a tree whose list is to have `listed_max` of them.
fn compared(tree: &Tree, listed_max: usize) -> Vec<Finding> {
    let (mut listed, mut found) = list(tree.text(LIST).unwrap_or_default());
    let count: usize = listed.values().map(|entry| entry.comments).sum();
    for (path, Said { comments, line }) in said(tree) {
        let entry = listed.remove(path).map_or(0, |entry| entry.comments);
        let message = match comments.cmp(&entry) {
            Ordering::Equal => continue,
            Ordering::Greater => format!(
                "{comments} comments begin with \"The same\", say \"so many\" or have a sentence that begins with \"Who\", {entry} are listed: \
                 say what this item does, name the number and the one who does it"
            ),
            Ordering::Less => {
                format!("{comments} such comments, {entry} are listed in {LIST}: run `cargo xtask tidy --accept`")
            }
        };
        found.push(Finding::new(path, line, message));
    }
    found.extend(
        listed.iter().map(|(path, entry)| {
            Finding::new(LIST, entry.line, format!("{path} has no such comment: remove this line"))
        }),
    );
    if count != listed_max && found.is_empty() {
        let message = format!("{count} comments, but LISTED_MAX is {listed_max}: lower it if the list has shrunk");
        found.push(Finding::new(LIST, 0, message));
    }
    found
}

/// The list as it has to be for what is there, if it is no longer than it was.
///
/// # Errors
/// It would grow.
pub(super) fn accepted(tree: &Tree) -> Result<String, String> {
    let there = said(tree);
    let count: usize = there.values().map(|entry| entry.comments).sum();
    let before: usize = list(tree.text(LIST).unwrap_or_default()).0.values().map(|entry| entry.comments).sum();
    if count > before && tree.holds(LIST) {
        return Err(format!("{LIST} may only shrink: it has {before} comments, and there are {count}"));
    }
    let lines = there.iter().map(|(path, entry)| format!("{path} {}\n", entry.comments));
    Ok(format!("# Comments that say too little: see xtask/src/tidy/english.rs.\n{}", lines.collect::<String>()))
}

/// The entries of the list (`line` is their place in it) and what is wrong with it.
fn list(text: &str) -> (BTreeMap<&str, Said>, Vec<Finding>) {
    let (mut entries, mut found) = (BTreeMap::new(), Vec::new());
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    for (line, entry) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        match entry.split_once(' ').and_then(|(path, count)| Some((path, count.parse().ok()?))) {
            Some((path, comments)) => drop(entries.insert(path, Said { comments, line })),
            None => found.push(Finding::new(LIST, line, "expected `PATH COMMENTS`")),
        }
    }
    (entries, found)
}

fn said(tree: &Tree) -> BTreeMap<&str, Said> {
    let mut all = BTreeMap::new();
    for (path, text) in tree.iter().filter(|(path, _)| path.ends_with(".rs") && *path != "xtask/src/tidy/english.rs") {
        let lines = text.lines().zip(1..).filter(|(line, _)| says_too_little(line));
        for (_, line) in lines {
            all.entry(path).or_insert(Said { comments: 0, line }).comments += 1;
        }
    }
    all
}

/// Whether a line is a comment, or ends in one, that says such a thing.
fn says_too_little(line: &str) -> bool {
    let Some((before, comment)) = line.split_once("//") else { return false };
    if before.contains('"') {
        return false;
    }
    let comment = comment.trim_start_matches(['/', '!']).trim_start();
    let has_no_subject = (comment.starts_with("Who ") || comment.contains(". Who ")) && !comment.contains('?');
    let comment = comment.to_lowercase();
    let begins =
        comment.starts_with("the same ") || comment.starts_with("the same,") || comment.starts_with("the same.");
    begins
        || has_no_subject
        || PHRASES.iter().any(|phrase| comment.split(phrase).skip(1).any(|rest| !rest.starts_with(char::is_alphabetic)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_that_refers_to_the_one_above_is_found() {
        assert!(says_too_little("    /// The same for a list."));
        assert!(says_too_little("let a = 1; // after so many steps"));
        assert!(says_too_little("/// It is full. Who waits is told."));
        assert!(says_too_little("//! Who has an answer finds it."));
        assert!(!says_too_little("/// Who has an answer?"));
        assert!(!says_too_little("/// The thread who waits is told."));
        assert!(!says_too_little("/// All have the same type, so that nothing differs."));
        assert!(!says_too_little("println!(\"// so many\");"));
        assert!(!says_too_little("let address = \"https://so many\";"));
    }

    #[test]
    fn the_list_says_what_is_there() {
        let one = "//! A file.\n\n/// The same again.\nfn a() {}\n";
        let tree = |list: &'static str| Tree::of(&[("crates/a/src/lib.rs", one), (LIST, list)]);
        assert_eq!(compared(&tree("crates/a/src/lib.rs 1\n"), 1), []);
        assert_eq!(compared(&tree(""), 0).len(), 1);
        assert_eq!(compared(&tree("crates/a/src/lib.rs 2\n"), 2).len(), 1);
        assert_eq!(compared(&tree("crates/a/src/lib.rs 1\ncrates/b/src/lib.rs 1\n"), 2).len(), 1);
        assert_eq!(compared(&tree("crates/a/src/lib.rs 1\n"), 0).len(), 1);
        assert!(accepted(&tree("")).is_err());
    }
}
